//! The request, section 6 of `docs/CHAIN.md`: its steps in their order.

mod calls;
mod merge;
mod pair;
mod sent;

use serde_json::Value;

use self::{
    calls::{regrouped, with_interrupted_calls_answered, without_unanswered_calls},
    merge::{Draft, merged, sort_blocks},
    pair::paired,
    sent::{as_sent, is_unsent, without_empty_replies},
};
use super::{
    Message,
    entry::{Entry, is_blank, is_text, made_entry, made_text, text},
};

/// Returns the messages that are made of the gathered entries.
pub(super) fn messages(gathered: &[&Entry]) -> Vec<Message> {
    let entries: Vec<Entry> = gathered.iter().filter_map(|entry| as_sent(entry)).collect();
    let entries = without_empty_replies(&entries);
    let entries = regrouped(&entries);
    let entries = without_unanswered_calls(&entries);
    let entries = with_interrupted_calls_answered(entries);
    let entries = without_empty_replies(&entries);
    let entries = with_last_prompt_answered(entries);
    let entries = behind_last_boundary(entries);
    let entries: Vec<Entry> = entries.into_iter().filter(|entry| !is_unsent(entry)).collect();
    let mut drafts = merged(with_attachments_moved_up(entries));
    for draft in drafts.iter_mut().filter(|draft| draft.role == "assistant") {
        // Only a reply of one line keeps blank text (6.12).
        let is_one_line = draft.entries.len() == 1;
        draft.blocks.retain(|block| is_one_line || !is_blank(block));
        sort_blocks(draft);
    }
    paired(drafts).iter().map(in_short).collect()
}

/// Adds "No response requested." after the last prompt if the list ends in one (6.7).
fn with_last_prompt_answered(mut entries: Vec<Entry>) -> Vec<Entry> {
    if ends_in_prompt(&entries) {
        let end = entries.iter().rposition(|entry| entry.kind() != "system").map_or(0, |last| last + 1);
        entries.insert(end, made_entry("assistant", &made_text("No response requested.")));
    }
    entries
}

/// Returns whether the last message is the user's. A compact summary does not count if the list ends with an attachment,
/// and neither do local commands after a caveat. Attachments without any message count as a prompt.
fn ends_in_prompt(entries: &[Entry]) -> bool {
    let ends_with_attachment = entries.last().is_some_and(Entry::is_attachment);
    match entries.iter().rfind(|entry| entry.is_message()) {
        Some(last) => {
            last.kind() == "user"
                && !(last.flag("isCompactSummary") && ends_with_attachment)
                && !ends_in_local_commands(entries)
        }
        None => entries.iter().any(Entry::is_attachment),
    }
}

/// Returns whether the messages at the end are a caveat and nothing but local commands after it.
fn ends_in_local_commands(entries: &[Entry]) -> bool {
    for entry in entries.iter().rev().filter(|entry| entry.is_message()) {
        let content = entry.content();
        let only_text = match &content[..] {
            [block] if entry.kind() == "user" => text(&block["text"]),
            _ => "",
        };
        if entry.flag("isMeta") && only_text.starts_with("<local-command-caveat>") {
            return true;
        }
        let tags = ["<command-name>", "<local-command-stdout>", "<local-command-stderr>"];
        if !tags.iter().any(|tag| only_text.starts_with(tag)) {
            return false;
        }
    }
    false
}

/// Returns the entries after the last compact boundary (6.8).
fn behind_last_boundary(mut entries: Vec<Entry>) -> Vec<Entry> {
    let start = entries.iter().rposition(Entry::is_boundary).map_or(0, |last| last + 1);
    entries.split_off(start)
}

/// Moves each attachment of which something is sent up to the reply or the result that it follows, and drops the others
/// (6.9a).
fn with_attachments_moved_up(entries: Vec<Entry>) -> Vec<Entry> {
    let mut moved: Vec<Entry> = Vec::new();
    for entry in entries {
        if !entry.is_attachment() {
            moved.push(entry);
        } else if !entry.content().is_empty() {
            let place = moved.iter().rposition(|other| stops(&entry, other)).map_or(0, |last| last + 1);
            moved.insert(place, entry);
        }
    }
    moved
}

/// Returns whether an attachment that moves up stays after another entry. Context goes before queued prompts.
fn stops(attachment: &Entry, other: &Entry) -> bool {
    let keeps_order = is_queued_prompt(attachment) || !is_queued_prompt(other);
    other.kind() == "assistant"
        || other.is_result()
        || other.is_made_result()
        || other.is_attachment() && keeps_order
}

/// Returns whether an attachment is a queued prompt of the user. It begins with text; of other context only images are
/// sent.
fn is_queued_prompt(entry: &Entry) -> bool {
    entry.is_attachment() && entry.content().first().is_some_and(is_text)
}

/// Returns a finished message with its blocks in a short spelling.
fn in_short(draft: &Draft) -> Message {
    Message { role: draft.role, parts: draft.blocks.iter().map(block_in_short).collect() }
}

fn block_in_short(block: &Value) -> String {
    let is_made = block["made"] == true;
    match text(&block["type"]) {
        "text" if is_made => format!("made {}", text(&block["text"]).chars().take(20).collect::<String>()),
        "text" if block["wrapped"] == true => format!("wrapped {}", text(&block["text"])),
        "text" => format!("text {}", text(&block["text"])),
        "tool_use" => format!("call {}", text(&block["id"])),
        "tool_result" if is_made => format!("made result {}", text(&block["tool_use_id"])),
        "tool_result" => format!("result {}", text(&block["tool_use_id"])),
        other => other.to_owned(),
    }
}
