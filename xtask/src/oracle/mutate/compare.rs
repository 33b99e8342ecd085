//! What Claude Code and annals send to the model, in one form, and how the two differ.
//!
//! Left out on both sides: messages of the role `system`, texts that begin with `<system-reminder>`, `cache_control`, and the
//! content of reasoning. A text that Claude Code wraps in words of its own is compared as the inner text with `wrapped`.

use serde_json::{Value as Json, json};

use super::super::claude_code::MODEL;
use super::super::trial::PROBE;
use super::file::{Line, Record};

/// Messages with their role and their content blocks, in the form that is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Messages(pub(crate) Vec<Json>);

/// How two answers differ.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Equal,
    /// They differ only by these entries of [`NAMED`].
    Named(Vec<&'static str>),
    /// They differ by something that has no name.
    Different(Difference),
}

/// The first difference between two answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// What stands on either side: `user text / assistant tool_use`. While a file is reduced the kind must stay, or any
    /// difference ends as one about files that hold almost nothing.
    pub(crate) kind: String,
    /// Both messages, shortened.
    pub(crate) shown: String,
}

/// A difference that is known and explained.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    /// Why annals does not send the same.
    pub(crate) reason: &'static str,
    /// Returns whether the difference can occur in a file.
    applies: fn(&[Line]) -> bool,
    /// Changes a block so that the difference is gone; `None` leaves the block out.
    without: fn(Json) -> Option<Json>,
}

pub(crate) const NAMED: &[Named] = &[
    Named {
        name: "tool references",
        reason: "Claude Code removes references to tools that it does not have at the moment and says \"Tool loaded.\" for \
                 others; which tools it has is not in the transcript.",
        applies: has_tool_references,
        without: without_tool_references,
    },
    Named {
        name: "SendMessage input",
        reason: "Claude Code strips fields from the input of SendMessage that the tool's current schema does not have; the \
                 schema is not in the transcript.",
        applies: |_| true,
        without: |block| Some(without_old_message_fields(block)),
    },
    Named {
        name: "unfinished background tasks",
        reason: "On resume Claude Code adds a notice about background tasks that ended with the previous process; the notice \
                 is not in the transcript.",
        applies: |_| true,
        without: |block| (!is_notice_of_unfinished_tasks(&block)).then_some(block),
    },
    Named {
        name: "reasoning of another model",
        reason: "Claude Code leaves out reasoning of replies that name another model than the one in use, which a transcript \
                 does not tell.",
        applies: has_another_model,
        without: |block| (!is_reasoning(&block)).then_some(block),
    },
];

impl Messages {
    /// Reads the messages of a request, without the probe and what Claude Code adds to every request.
    pub(crate) fn of_claude_code(messages: &[Json]) -> Self {
        Self::of(messages, "content", |block| (block["text"] != PROBE).then(|| unwrapped(block)))
    }

    /// Reads the lines of `annals show --view model --json`.
    pub(crate) fn of_annals(messages: &[Json]) -> Self {
        Self::of(messages, "parts", Some)
    }

    fn of(messages: &[Json], content: &str, read: fn(Json) -> Option<Json>) -> Self {
        let spoken = messages.iter().filter(|message| message["role"] != "system");
        let mut read = Self(
            spoken
                .map(|message| {
                    let blocks = blocks(&message[content]).into_iter().filter_map(read).filter_map(form);
                    json!({"role": message["role"], "content": blocks.collect::<Vec<_>>()})
                })
                .collect(),
        );
        read.drop_what_is_empty();
        read
    }

    fn without(&self, named: &[&Named]) -> Self {
        let mut changed = self.clone();
        for message in &mut changed.0 {
            let left = |block| named.iter().try_fold(block, |block, named| (named.without)(block));
            message["content"] = blocks(&message["content"]).into_iter().filter_map(left).collect();
        }
        changed.drop_what_is_empty();
        changed
    }

    /// Drops messages without blocks, and the line break that joined the probe to the last text.
    fn drop_what_is_empty(&mut self) {
        self.0.retain(|message| message["content"].as_array().is_some_and(|blocks| !blocks.is_empty()));
        let Some(last) = self.0.last_mut().filter(|last| last["role"] == "user") else { return };
        let Some(last) = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) else { return };
        if let Some(Json::String(text)) = last.get_mut("text") {
            text.truncate(text.trim_end_matches('\n').len());
        }
    }
}

/// Compares what Claude Code sends for a file with what annals says it sends.
pub(crate) fn compare(file: &[Line], claude_code: &Messages, annals: &Messages) -> Verdict {
    if claude_code == annals {
        return Verdict::Equal;
    }
    let applying: Vec<_> = NAMED.iter().filter(|named| (named.applies)(file)).collect();
    let (claude_code_left, annals_left) = (claude_code.without(&applying), annals.without(&applying));
    if claude_code_left != annals_left {
        return Verdict::Different(first_difference(&claude_code_left.0, &annals_left.0));
    }
    let is_needed = |named: &&Named| {
        let others: Vec<_> = applying.iter().copied().filter(|other| other.name != named.name).collect();
        claude_code.without(&others) != annals.without(&others)
    };
    Verdict::Named(applying.iter().copied().filter(is_needed).map(|named| named.name).collect())
}

fn first_difference(claude_code: &[Json], annals: &[Json]) -> Difference {
    let same =
        claude_code.iter().zip(annals).take_while(|(claude_code, annals)| claude_code == annals).count();
    let (of_claude_code, of_annals) = (claude_code.get(same), annals.get(same));
    let shown = |message: Option<&Json>| match message {
        Some(message) => message.to_string().chars().take(600).collect(),
        None => "(nothing)".to_owned(),
    };
    let shown = format!(
        "message {} (Claude Code {}, annals {} messages)\n    Claude Code  {}\n    annals       {}",
        same + 1,
        claude_code.len(),
        annals.len(),
        shown(of_claude_code),
        shown(of_annals)
    );
    let kind = match (of_claude_code, of_annals) {
        (Some(of_claude_code), Some(of_annals)) => kind_of_difference(of_claude_code, of_annals),
        _ => format!("{} / {}", kind_of_end(claude_code, of_claude_code), kind_of_end(annals, of_annals)),
    };
    Difference { kind, shown }
}

/// Returns what stands where one of two answers has no more messages.
fn kind_of_end(messages: &[Json], message: Option<&Json>) -> String {
    match message {
        Some(message) => kind_of_block(message, 0),
        None if messages.is_empty() => "nothing at all".to_owned(),
        None => "nothing more".to_owned(),
    }
}

fn kind_of_difference(claude_code: &Json, annals: &Json) -> String {
    let (of_claude_code, of_annals) = (blocks(&claude_code["content"]), blocks(&annals["content"]));
    let same = of_claude_code
        .iter()
        .zip(&of_annals)
        .take_while(|(claude_code, annals)| claude_code == annals)
        .count();
    format!("{} / {}", kind_of_block(claude_code, same), kind_of_block(annals, same))
}

/// Returns the role and the type of a block; a sentence of Claude Code is a type of its own.
fn kind_of_block(message: &Json, index: usize) -> String {
    let block = &message["content"][index];
    let said = block["text"].as_str().or(block["content"].as_str()).unwrap_or_default();
    let sentence = SENTENCES.iter().find(|sentence| **sentence == said);
    let kind = sentence.copied().or(block["type"].as_str()).unwrap_or("end of the message");
    format!("{} {kind}", message["role"].as_str().unwrap_or_default())
}

/// What Claude Code says where something is missing.
const SENTENCES: [&str; 6] = [
    "(no content)",
    "No response requested.",
    "[Tool result missing due to internal error]",
    "[Orphaned tool result removed due to conversation resume]",
    "[Tool use interrupted]",
    "[Advisor response]",
];

/// Returns the blocks of a content, which may be a mere string.
pub(crate) fn blocks(content: &Json) -> Vec<Json> {
    match content {
        Json::Array(blocks) => blocks.clone(),
        Json::String(text) => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    }
}

/// Brings a block into the form that is compared; `None` if it is not compared.
fn form(mut block: Json) -> Option<Json> {
    if block["type"] == "text" {
        let is_reminder = block["text"].as_str().is_some_and(|text| text.starts_with("<system-reminder>"));
        return (!is_reminder).then(|| text_form(&block));
    }
    if is_reasoning(&block) {
        return Some(json!({"type": block["type"]}));
    }
    let Some(members) = block.as_object_mut() else { return Some(block) };
    members.remove("cache_control");
    members.remove("synthetic");
    if members.get("is_error").is_some_and(Json::is_null) {
        members.remove("is_error");
    }
    match members.get_mut("content") {
        Some(Json::String(text)) => text.truncate(without_reminders(text).len()),
        Some(Json::Array(content)) => {
            for part in content.iter_mut().filter_map(Json::as_object_mut) {
                part.remove("cache_control");
                if let Some(Json::String(text)) = part.get_mut("text") {
                    text.truncate(without_reminders(text).len());
                }
            }
        }
        _ => {}
    }
    Some(block)
}

/// Returns the text of a result without the reminders that Claude Code puts behind it.
fn without_reminders(text: &str) -> &str {
    let mut left = text;
    while let Some(start) = left.rfind("\n\n<system-reminder>\n")
        && left.ends_with("\n</system-reminder>")
    {
        left = &left[..start];
    }
    left
}

/// Returns a text block without members such as `citations`.
fn text_form(block: &Json) -> Json {
    let mut form = json!({"type": "text", "text": block["text"]});
    if !block["wrapped"].is_null() {
        form["wrapped"] = block["wrapped"].clone();
    }
    form
}

/// Replaces a text that Claude Code wrapped in its own words by the inner text, with `wrapped`.
fn unwrapped(block: Json) -> Json {
    let text = block["text"].as_str().unwrap_or_default();
    let inner = notification(text).map(|inner| (inner, "notification"));
    match inner.or_else(|| queued(text).map(|inner| (inner, "queued"))) {
        Some((inner, how)) => json!({"type": "text", "text": inner, "wrapped": how}),
        None => block,
    }
}

fn notification(text: &str) -> Option<&str> {
    let text = text.strip_prefix("<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\n")?;
    let text = text.trim_end_matches('\n').strip_suffix("\n</system-reminder>")?;
    text.split_once("\n\n").map(|(_, inner)| inner)
}

fn queued(text: &str) -> Option<&str> {
    let text = text.strip_prefix("The user sent a new message while you were working:\n")?;
    let text = text.trim_end_matches('\n').strip_suffix("as you continue this turn.")?;
    text.rsplit_once("\n\nThis is how Claude Code surfaces messages ").map(|(inner, _)| inner)
}

fn has_tool_references(file: &[Line]) -> bool {
    file.iter().any(|line| memchr::memmem::find(line, b"tool_reference").is_some())
}

/// Leaves out "Tool loaded.", and what stands in its place if the result is removed and nothing else is left of the message.
fn without_tool_references(mut block: Json) -> Option<Json> {
    const INSTEAD: [&str; 3] =
        ["Tool loaded.", "(no content)", "[Orphaned tool result removed due to conversation resume]"];
    if block["text"].as_str().is_some_and(|text| INSTEAD.contains(&text.trim_end_matches('\n'))) {
        return None;
    }
    let is_reference = |part: &Json| {
        let text = part["text"].as_str().unwrap_or_default();
        part["type"] == "tool_reference" || text.starts_with("[Tool references removed")
    };
    if block["content"].as_array().is_some_and(|parts| parts.iter().any(is_reference)) {
        block["content"] = "tool references".into();
    }
    Some(block)
}

fn without_old_message_fields(mut block: Json) -> Json {
    let is_message = block["type"] == "tool_use" && block["name"] == "SendMessage";
    if let Some(Json::Object(input)) = block.get_mut("input").filter(|_| is_message) {
        input.retain(|key, _| !matches!(key.as_str(), "type" | "recipient" | "content"));
    }
    block
}

fn is_notice_of_unfinished_tasks(block: &Json) -> bool {
    let text = block["text"].as_str().unwrap_or_default();
    text.starts_with("<task-notification>")
        && text.contains("didn't finish before the previous session ended")
}

fn is_reasoning(block: &Json) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

fn has_another_model(file: &[Line]) -> bool {
    file.iter().filter_map(|line| Record::parse(line)).any(|record| {
        let model = record.get("message")["model"].clone();
        record.text("type").as_deref() == Some("assistant") && model != MODEL && model != "<synthetic>"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude_code(content: &Json) -> Messages {
        Messages::of_claude_code(&[json!({"role": "user", "content": content})])
    }

    fn annals(parts: &Json) -> Messages {
        Messages::of_annals(&[json!({"role": "user", "parts": parts})])
    }

    #[test]
    fn probe_reminders_and_cache_marks_are_left_out() {
        let sent = json!([
            {"type": "text", "text": "Hello\n", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "<system-reminder>Today</system-reminder>"},
            {"type": "text", "text": PROBE},
        ]);
        assert_eq!(claude_code(&sent), annals(&json!([{"type": "text", "text": "Hello"}])));
    }

    #[test]
    fn wrapped_texts_are_compared_by_their_inner_text() {
        let queued = "The user sent a new message while you were working:\nwait\n\nThis is how Claude Code surfaces \
                      messages of users as you continue this turn.\n";
        let wrapped = json!([{"type": "text", "text": "wait", "wrapped": "queued"}]);
        assert_eq!(claude_code(&json!(queued)), annals(&wrapped));
        let note = "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\nWords.\n\ndone\n\nso\n</system-reminder>\n";
        let wrapped = json!([{"type": "text", "text": "done\n\nso", "wrapped": "notification"}]);
        assert_eq!(claude_code(&json!(note)), annals(&wrapped));
        assert_ne!(claude_code(&json!(note)), annals(&json!([{"type": "text", "text": "done\n\nso"}])));
    }

    #[test]
    fn only_what_a_text_says_is_compared() {
        let sent = json!([{"type": "text", "text": "Hello", "citations": []}, {"type": "image"}]);
        assert_eq!(
            claude_code(&sent).0[0]["content"],
            json!([{"type": "text", "text": "Hello"}, {"type": "image"}])
        );
        let unchanged = claude_code(&sent).without(&NAMED.iter().collect::<Vec<_>>());
        assert_eq!(unchanged, claude_code(&sent));
    }

    #[test]
    fn blocks_are_compared_to_the_last_character() {
        let result = |text: &str| json!([{"type": "tool_result", "tool_use_id": "1", "content": text}]);
        assert_eq!(compare(&[], &claude_code(&result("a")), &annals(&result("a"))), Verdict::Equal);
        let Verdict::Different(difference) = compare(&[], &claude_code(&result("a")), &annals(&result("a ")))
        else {
            panic!("a space is a difference");
        };
        assert!(difference.shown.starts_with("message 1 "), "{difference:?}");
        assert_eq!(difference.kind, "user tool_result / user tool_result");
    }

    #[test]
    fn reminders_behind_a_result_are_not_compared() {
        let result = |text: &str| json!([{"type": "tool_result", "tool_use_id": "1", "content": text}]);
        let reminder = "\n\n<system-reminder>\nx\n</system-reminder>";
        assert_eq!(claude_code(&result(&format!("a{reminder}{reminder}"))), annals(&result("a")));
        assert_ne!(claude_code(&result(&format!("a{reminder} b"))), annals(&result("a")));
    }

    #[test]
    fn the_kind_of_a_difference_tells_what_stands_on_either_side() {
        let kind = |claude_code: &Messages, annals: &Messages| match compare(&[], claude_code, annals) {
            Verdict::Different(difference) => difference.kind,
            other => panic!("{other:?}"),
        };
        let (hello, none) = (json!("Hello"), json!("(no content)"));
        assert_eq!(kind(&claude_code(&hello), &Messages::default()), "user text / nothing at all");
        assert_eq!(kind(&claude_code(&hello), &annals(&none)), "user text / user (no content)");
        let more = json!([{"type": "text", "text": "Hello"}, {"type": "image"}]);
        assert_eq!(kind(&claude_code(&hello), &annals(&more)), "user end of the message / user image");
    }

    #[test]
    fn a_named_difference_is_told_by_its_name() {
        let removed = json!([{"type": "tool_result", "tool_use_id": "1", "content": [
            {"type": "text", "text": "[Tool references removed - tools no longer available]"}]}]);
        let kept = json!([{"type": "tool_result", "tool_use_id": "1", "content": [
            {"type": "tool_reference", "tool_name": "X"}]}]);
        let file = [kept.to_string().into_bytes()];
        let verdict = compare(&file, &claude_code(&removed), &annals(&kept));
        assert_eq!(verdict, Verdict::Named(vec!["tool references"]));
        let orphaned = json!("[Orphaned tool result removed due to conversation resume]");
        let verdict = compare(&file, &claude_code(&json!("Tool loaded.\n")), &annals(&orphaned));
        assert_eq!(verdict, Verdict::Named(vec!["tool references"]));
        assert_eq!(compare(&[], &claude_code(&removed), &annals(&removed)), Verdict::Equal);

        let call =
            |input: Json| json!([{"type": "tool_use", "id": "1", "name": "SendMessage", "input": input}]);
        let (short, long) = (call(json!({"to": "a"})), call(json!({"to": "a", "recipient": "a"})));
        let verdict = compare(&[], &claude_code(&short), &annals(&long));
        assert_eq!(verdict, Verdict::Named(vec!["SendMessage input"]));

        let notice =
            "<task-notification>x didn't finish before the previous session ended</task-notification>";
        let noticed = json!([{"type": "text", "text": "Hi\n"}, {"type": "text", "text": notice}]);
        let verdict = compare(&[], &claude_code(&noticed), &annals(&json!([{"type": "text", "text": "Hi"}])));
        assert_eq!(verdict, Verdict::Named(vec!["unfinished background tasks"]));
    }

    #[test]
    fn reasoning_may_be_missing_only_where_another_model_is_named() {
        let reply =
            |model: &str| json!({"type": "assistant", "message": {"model": model}}).to_string().into_bytes();
        let thought = json!([{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "a"}]);
        let (claude_code, annals) = (claude_code(&json!("a")), annals(&thought));
        let verdict = compare(&[reply("other")], &claude_code, &annals);
        assert_eq!(verdict, Verdict::Named(vec!["reasoning of another model"]));
        assert!(matches!(compare(&[reply(MODEL)], &claude_code, &annals), Verdict::Different(_)));
    }
}
