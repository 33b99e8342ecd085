//! Entries merged into messages, and the order of blocks in a message: rules 6.10 and 6.11 of `docs/CHAIN.md`.

use serde_json::Value;

use crate::naive::entry::{Entry, is_call, is_result, is_text, is_thinking, text};

/// A message of the request that is not finished.
pub(super) struct Draft {
    pub(super) role: &'static str,
    pub(super) reply: ReplyKey,
    pub(super) blocks: Vec<Value>,
    /// The orders of the entries that it is made of.
    pub(super) entries: Vec<usize>,
    /// Whether it is made of more than attachments.
    pub(super) has_prompt: bool,
}

/// What the lines of one reply share.
#[derive(PartialEq)]
pub(super) enum ReplyKey {
    Id(String),
    /// All lines without an id that have a `requestId` are one reply.
    Nameless,
    /// A line without both is a reply of its own.
    Alone,
}

impl ReplyKey {
    fn of(entry: &Entry) -> Self {
        match entry.reply() {
            Some(id) => ReplyKey::Id(id.to_owned()),
            None if entry.value["requestId"].is_string() => ReplyKey::Nameless,
            None => ReplyKey::Alone,
        }
    }
}

/// Merges user entries that follow each other, and the lines of each reply (6.10).
pub(super) fn merged(entries: Vec<Entry>) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for entry in entries {
        let role = if entry.kind() == "assistant" { "assistant" } else { "user" };
        let reply = ReplyKey::of(&entry);
        let target = match role {
            "assistant" => draft_of_reply(&mut drafts, &reply),
            _ => drafts.last_mut().filter(|last| last.role == "user"),
        };
        match target {
            Some(draft) => join(draft, &entry),
            None => drafts.push(Draft {
                role,
                reply,
                blocks: entry.content(),
                entries: vec![entry.order],
                has_prompt: !entry.is_attachment(),
            }),
        }
    }
    drafts
}

/// Returns the message that further lines of a reply join. The search goes backwards, past other replies and past user
/// messages that hold a result or nothing but attachments.
fn draft_of_reply<'d>(drafts: &'d mut [Draft], reply: &ReplyKey) -> Option<&'d mut Draft> {
    for draft in drafts.iter_mut().rev() {
        let is_same = draft.role == "assistant" && draft.reply == *reply && *reply != ReplyKey::Alone;
        if is_same {
            return Some(draft);
        }
        if draft.role == "user" && draft.has_prompt && !draft.blocks.iter().any(is_result) {
            return None;
        }
    }
    None
}

/// Adds an entry to a message of the same role.
fn join(draft: &mut Draft, entry: &Entry) {
    let next = entry.content();
    if draft.role == "user" {
        add_newline(&mut draft.blocks, &next);
    }
    draft.blocks.extend(next);
    draft.entries.push(entry.order);
    draft.has_prompt |= !entry.is_attachment();
    if draft.role == "user" {
        sort_blocks(draft);
    }
}

/// Ends the last text with a newline if text follows it.
fn add_newline(blocks: &mut [Value], next: &[Value]) {
    if let Some(last) = blocks.last_mut().filter(|last| is_text(last) && next.first().is_some_and(is_text))
        && last["wrapped"] != true
        && last["made"] != true
    {
        last["text"] = format!("{}\n", text(&last["text"])).into();
    }
}

/// Puts the results of a user message before all other blocks (6.10), and the calls of a reply after them (6.11).
pub(super) fn sort_blocks(draft: &mut Draft) {
    if draft.role == "user" {
        draft.blocks.sort_by_key(|block| !is_result(block));
    } else if !has_calls_between_reasoning(&draft.blocks) {
        draft.blocks.sort_by_key(is_call);
    }
}

/// Returns whether reasoning is directly before and directly after a run of calls.
fn has_calls_between_reasoning(blocks: &[Value]) -> bool {
    let kinds = blocks.iter().map(|block| match () {
        () if is_call(block) => 'c',
        () if is_thinking(block) => 't',
        () => '-',
    });
    let mut kinds: String = kinds.collect();
    while kinds.contains("cc") {
        kinds = kinds.replace("cc", "c");
    }
    kinds.contains("tct")
}
