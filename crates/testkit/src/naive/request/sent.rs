//! What is sent of each entry: rules 6.1 to 6.3, 6.9 and 6.9b of `docs/CHAIN.md`.

use serde_json::{Value, json};

use crate::naive::entry::{Entry, is_blank, is_text, is_thinking, made_text, text};

/// Returns an entry with the content that is sent of it; `None` if the entry is dropped (6.1).
pub(super) fn as_sent(entry: &Entry) -> Option<Entry> {
    match entry.kind() {
        "attachment" => Some(with_content(entry, &sent_of_attachment(&entry.value))),
        "assistant" => Some(with_content(entry, &sent_of_reply(entry))),
        "user" => Some(entry.clone()),
        "system" if entry.is_boundary() => Some(entry.clone()),
        "system" if entry.value["subtype"] == "local_command" && !entry.flag("isDisplayOnly") => {
            Some(with_content(entry, &sent_of_local_command(&entry.value)))
        }
        _ => None,
    }
}

/// Returns an entry with other content. Id and model of its message stay.
fn with_content(entry: &Entry, content: &Value) -> Entry {
    let mut sent = entry.clone();
    let mut message = json!({"content": content});
    for key in ["id", "model"] {
        if let Some(found) = entry.value["message"].get(key) {
            message[key] = found.clone();
        }
    }
    sent.value["message"] = message;
    sent
}

/// Returns the text of a local command (6.2).
fn sent_of_local_command(entry: &Value) -> Value {
    match &entry["content"] {
        Value::String(text) if !text.is_empty() => json!(text),
        _ => json!([made_text("(no content)")]),
    }
}

/// Returns what is sent of an attachment: of a user's queued prompt the text, as it was rendered or in one piece, and of
/// every prompt that was not rendered the images (6.9a, 6.9b).
fn sent_of_attachment(entry: &Value) -> Value {
    let attachment = &entry["attachment"];
    let is_queued = attachment["type"] == "queued_command";
    let is_human = is_queued
        && attachment["humanTurn"] == true
        && attachment["commandMode"] == "prompt"
        && attachment["origin"]["kind"] == "human";
    if let Some(rendered) = rendered(&entry["rendered"]) {
        return rendered.into_iter().filter(|_| is_human).collect();
    }
    let blocks = blocks_of(if is_queued { &attachment["prompt"] } else { &Value::Null });
    if is_human {
        return wrapped_prompt(&blocks);
    }
    blocks.into_iter().filter(|block| block["type"] == "image").collect()
}

/// Returns the blocks of a queued prompt with all its texts as one, which Claude Code wraps in words of its own.
fn wrapped_prompt(blocks: &[Value]) -> Value {
    let texts: Vec<&str> =
        blocks.iter().filter(|block| is_text(block)).map(|block| text(&block["text"])).collect();
    let wrapped = json!({"type": "text", "text": texts.join("\n"), "wrapped": true});
    let others = blocks.iter().filter(|block| !is_text(block)).cloned();
    std::iter::once(wrapped).chain(others).collect()
}

/// Returns the text blocks of `rendered`; `None` if one of its objects is not as Claude Code writes them (6.9b).
fn rendered(pieces: &Value) -> Option<Vec<Value>> {
    let mut blocks = Vec::new();
    for piece in pieces.as_array().filter(|pieces| !pieces.is_empty())? {
        let content = piece.as_object().filter(|piece| piece.len() == 1)?.get("content")?;
        let is_valid = match content {
            Value::Array(texts) => !texts.is_empty() && texts.iter().all(is_rendered_text),
            content => !text(content).is_empty(),
        };
        if !is_valid {
            return None;
        }
        blocks.extend(blocks_of(content));
    }
    Some(blocks)
}

/// Returns whether a block has text and no other members than `type` and `text`.
fn is_rendered_text(block: &Value) -> bool {
    let members = block.as_object().map_or(0, serde_json::Map::len);
    is_text(block) && members == 2 && !text(&block["text"]).is_empty()
}

/// Returns the blocks of content that is not in a message.
fn blocks_of(content: &Value) -> Vec<Value> {
    let value = json!({"message": {"content": content}});
    Entry { id: String::new(), parent: None, order: 0, value }.content()
}

/// Returns what is sent of a reply: blank text beside nothing but reasoning is dropped (6.3).
fn sent_of_reply(entry: &Entry) -> Value {
    let content = entry.content();
    let is_reasoning = content.first().is_some_and(is_thinking)
        && has_reasoning_first(&content)
        && content.iter().all(|block| is_thinking(block) || is_blank(block));
    content.into_iter().filter(|block| !is_reasoning || is_thinking(block)).collect()
}

/// Drops replies of blank text, and lines of reasoning and placeholders whose reply has nothing else (6.3).
pub(super) fn without_empty_replies(entries: &[Entry]) -> Vec<Entry> {
    entries.iter().filter(|entry| !is_empty_reply(entries, entry)).cloned().collect()
}

fn is_empty_reply(entries: &[Entry], entry: &Entry) -> bool {
    let content = entry.content();
    if entry.kind() != "assistant" || content.is_empty() {
        return false;
    }
    let mut lines = entries.iter().filter(|line| line.is_of_reply(entry));
    let is_alone = lines.all(|line| line.content().is_empty() || says_nothing(line));
    content.iter().all(is_blank) || says_nothing(entry) && is_alone
}

/// Returns whether an entry has blocks, none of them says anything to the user, and reasoning comes first.
pub(super) fn says_nothing(entry: &Entry) -> bool {
    let content = entry.content();
    !content.is_empty() && content.iter().all(is_hollow) && has_reasoning_first(&content)
}

/// Returns whether no reasoning is after another block.
fn has_reasoning_first(content: &[Value]) -> bool {
    content.iter().skip_while(|block| is_thinking(block)).all(|block| !is_thinking(block))
}

/// Returns whether a block says nothing to the user: reasoning, blank text, or the text "(no content)".
fn is_hollow(block: &Value) -> bool {
    let is_placeholder = is_text(block) && text(&block["text"]).trim() == "(no content)";
    is_thinking(block) || is_blank(block) || is_placeholder
}

/// Returns whether an entry that the earlier steps have counted is not sent: an API error of Claude Code, a virtual message,
/// or a message of the user without blocks (6.9).
pub(super) fn is_unsent(entry: &Entry) -> bool {
    let is_error = entry.flag("isApiErrorMessage") && entry.value["message"]["model"] == "<synthetic>";
    let is_empty = entry.kind() == "user" && entry.content().is_empty();
    entry.kind() == "assistant" && is_error || is_empty || entry.is_message() && entry.flag("isVirtual")
}
