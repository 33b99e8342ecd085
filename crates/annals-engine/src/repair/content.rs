//! Content that a request would be refused for: what takes its place.

use std::collections::HashMap;

use annals_transcript::Kind;
use annals_transcript::json::{Value, quote};
use annals_transcript::model::Role;

use super::edits::set;
use crate::request_rules::{self, Rule};

/// Returns the content of a message without what breaks the rules of the API; `None` if nothing does.
pub(super) fn mended(kind: Kind, content: Value<'_>, drop_last_thinking: bool) -> Option<(String, Rule)> {
    let role = if kind == Kind::Assistant { Role::Assistant } else { Role::User };
    if let Some(text) = content.as_text() {
        return text.trim().is_empty().then(|| (quote("(empty)"), Rule::BlankText));
    }
    let mut first = None;
    let mut kept: Vec<String> = Vec::new();
    for block in content.items() {
        match request_rules::broken_rules(role, block).first() {
            None => kept.push(String::from_utf8_lossy(block.bytes()).into_owned()),
            Some(&broken) => {
                first.get_or_insert(broken);
                kept.extend(mended_block(role, block));
            }
        }
    }
    if drop_last_thinking && kept.last().is_some_and(|block| is_thinking(block)) {
        first.get_or_insert(Rule::ThinkingLast);
        kept.pop();
    }
    let broken = first?;
    if kept.is_empty() && role == Role::User {
        kept.push(text_block("(empty)"));
    }
    Some((format!("[{}]", kept.join(",")), broken))
}

/// Returns the content of a reply without its reasoning; `None` if it has none.
pub(super) fn without_thinking(content: Value<'_>) -> Option<String> {
    if !content.is_array() {
        return None;
    }
    let blocks: Vec<String> =
        content.items().map(|block| String::from_utf8_lossy(block.bytes()).into_owned()).collect();
    let kept: Vec<&String> = blocks.iter().filter(|block| !is_thinking(block)).collect();
    (kept.len() < blocks.len())
        .then(|| format!("[{}]", kept.into_iter().map(String::as_str).collect::<Vec<_>>().join(",")))
}

/// Returns the content of a message with an image replaced by a note.
pub(super) fn without_image(content: Value<'_>, at: usize, note: &str) -> Option<String> {
    let base = content.bytes().as_ptr().addr();
    let mut found = false;
    let blocks: Vec<String> = content
        .items()
        .map(|block| {
            if block.bytes().as_ptr().addr() - base != at {
                return String::from_utf8_lossy(block.bytes()).into_owned();
            }
            found = true;
            replace_images(block, note)
        })
        .collect();
    found.then(|| format!("[{}]", blocks.join(",")))
}

fn replace_images(block: Value<'_>, note: &str) -> String {
    match block.get("content").filter(|content| content.is_array()) {
        None => text_block(note),
        Some(content) => {
            let inner: Vec<String> = content.items().map(|inner| replaced_if_image(inner, note)).collect();
            changed(block, "content", &format!("[{}]", inner.join(",")))
        }
    }
}

fn replaced_if_image(inner: Value<'_>, note: &str) -> String {
    if inner.text("type").is_some_and(|kind| kind == "image") {
        return text_block(note);
    }
    String::from_utf8_lossy(inner.bytes()).into_owned()
}

/// Returns the content of a message with ids of calls replaced, in calls and results, by the indices of blocks; `None` if there are none.
pub(super) fn with_call_ids(content: Value<'_>, new_ids: &HashMap<usize, String>) -> Option<String> {
    if new_ids.is_empty() || !content.is_array() {
        return None;
    }
    let blocks: Vec<String> = content
        .items()
        .enumerate()
        .map(|(index, value)| {
            let Some(new) = new_ids.get(&index) else {
                return String::from_utf8_lossy(value.bytes()).into_owned();
            };
            let key = if value.text("type").is_some_and(|kind| kind == "tool_result") {
                "tool_use_id"
            } else {
                "id"
            };
            changed(value, key, &quote(new))
        })
        .collect();
    Some(format!("[{}]", blocks.join(",")))
}

/// Returns an id or a name with other characters replaced.
pub(super) fn plain_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    if plain.is_empty() { "unnamed".to_owned() } else { plain.chars().take(200).collect() }
}

fn is_thinking(block: &str) -> bool {
    let kind = Value::new(block.as_bytes()).and_then(|block| block.text("type"));
    kind.is_some_and(|kind| kind == "thinking" || kind == "redacted_thinking")
}

fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(text))
}

fn changed(block: Value<'_>, key: &str, value: &str) -> String {
    String::from_utf8_lossy(&set(block.bytes(), key, value)).into_owned()
}

/// Returns what takes the place of a block that breaks rules; `None` if it is left out.
fn mended_block(role: Role, block: Value<'_>) -> Option<String> {
    let mut json = String::from_utf8_lossy(block.bytes()).into_owned();
    for rule in request_rules::broken_rules(role, block) {
        let value = Value::new(json.as_bytes())?;
        json = match rule {
            Rule::BlankText | Rule::BlockType
                if value.text("type").is_none_or(|kind| kind != "tool_result") =>
            {
                return None;
            }
            Rule::Signature | Rule::Redacted => return None,
            Rule::CallId => changed(value, "id", &quote(&plain_name(&value.text("id").unwrap_or_default()))),
            Rule::CallName => {
                changed(value, "name", &quote(&plain_name(&value.text("name").unwrap_or_default())))
            }
            Rule::CallInput => changed(value, "input", &object_with(value.get("input"))),
            Rule::EmptyError => changed(value, "content", &quote("(no output)")),
            Rule::ResultContent => changed(value, "content", &quote("(not readable)")),
            _ if value.text("type").is_some_and(|kind| kind == "tool_result") => mended_result(value),
            _ => mended_simple(value, rule)?,
        };
    }
    Some(json)
}

fn object_with(input: Option<Value<'_>>) -> String {
    match input.filter(|input| !input.is_null()) {
        Some(input) => format!("{{\"_raw\":{}}}", String::from_utf8_lossy(input.bytes())),
        None => "{}".to_owned(),
    }
}

/// Returns what takes the place of a text, an image or a document.
fn mended_simple(block: Value<'_>, rule: Rule) -> Option<String> {
    match rule {
        Rule::ImageType => {
            let kind = request_rules::image_kind(block)?;
            let source = block.get("source")?;
            let source = changed(source, "media_type", &quote(kind));
            Some(changed(block, "source", &source))
        }
        Rule::ImageData => Some(text_block("[image removed: it could not be decoded]")),
        Rule::ImageSize => Some(text_block("[image removed: it was larger than 5 MB]")),
        Rule::DocumentSource => Some(text_block("[document removed: it had no source]")),
        _ => None,
    }
}

/// Returns a result whose inner blocks break no rules.
fn mended_result(result: Value<'_>) -> String {
    let Some(content) = result.get("content").filter(|content| content.is_array()) else {
        return String::from_utf8_lossy(result.bytes()).into_owned();
    };
    let inner: Vec<String> = content
        .items()
        .filter_map(|inner| match request_rules::broken_by_inner(inner) {
            None => Some(String::from_utf8_lossy(inner.bytes()).into_owned()),
            Some(rule) => mended_simple(inner, rule),
        })
        .collect();
    let is_error = result.get("is_error").is_some_and(Value::is_truthy);
    let content =
        if inner.is_empty() && is_error { quote("(no output)") } else { format!("[{}]", inner.join(",")) };
    changed(result, "content", &content)
}
