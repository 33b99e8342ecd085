//! Calls and results paired, message by message, and text for messages of which nothing is left: rules 6.12 and 6.13 of
//! `docs/CHAIN.md`.

use serde_json::Value;

use super::merge::{Draft, ReplyKey};
use crate::naive::entry::{
    calls_in, is_blank, is_call, is_result, is_text, is_thinking, made_result, made_text, text,
};

/// Puts every call directly before its result and every result directly after its call (6.13).
pub(super) fn paired(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut out: Vec<Draft> = Vec::new();
    let mut called: Vec<String> = Vec::new();
    for draft in drafts {
        let is_behind_reply = out.last().is_some_and(|last| last.role == "assistant");
        let open = if is_behind_reply { open_calls(&out) } else { Vec::new() };
        if draft.role == "user" {
            let count = draft.blocks.len();
            let blocks = answering(&open, draft.blocks);
            let is_orphan = out.is_empty() && blocks.len() < count;
            let blocks = or_placeholder(without_blank_text(blocks), is_orphan);
            out.push(Draft { blocks, ..draft });
        } else {
            out.extend(missing_results(&open));
            let blocks = first_calls(&mut called, &draft.blocks);
            out.push(Draft { blocks, ..draft });
        }
    }
    let open = open_calls(&out);
    out.extend(missing_results(&open));
    out
}

/// Returns the blocks of a reply without empty text and without calls whose id was called before; a placeholder if
/// nothing is left.
fn first_calls(called: &mut Vec<String>, blocks: &[Value]) -> Vec<Value> {
    let blocks = without_empty_text(blocks);
    if blocks.is_empty() {
        return vec![made_text("(no content)")];
    }
    let mut kept = Vec::new();
    for (place, block) in blocks.iter().enumerate() {
        let id = text(&block["id"]).to_owned();
        if is_call(block) && called.contains(&id) {
            let separates = place > 0
                && is_thinking(&blocks[place - 1])
                && blocks.get(place + 1).is_some_and(is_thinking);
            kept.extend(separates.then(|| made_text("[Tool use removed]")));
            continue;
        }
        if is_call(block) {
            called.push(id);
        }
        kept.push(block.clone());
    }
    if kept.is_empty() { vec![made_text("[Tool use interrupted]")] } else { kept }
}

/// Returns the blocks of a reply without empty text, which a placeholder replaces between reasoning if the reply says
/// anything (6.12).
fn without_empty_text(blocks: &[Value]) -> Vec<Value> {
    let says_something = blocks.iter().any(|block| !is_empty(block) && !is_thinking(block));
    let mut kept = Vec::new();
    for (place, block) in blocks.iter().enumerate() {
        let next = blocks[place..].iter().find(|block| !is_empty(block));
        let is_between = place > 0 && is_thinking(&blocks[place - 1]) && next.is_some_and(is_thinking);
        if !is_empty(block) {
            kept.push(block.clone());
        } else if says_something && is_between {
            kept.push(made_text("[Empty text removed]"));
        }
    }
    kept
}

fn is_empty(block: &Value) -> bool {
    is_text(block) && block["text"] == ""
}

/// Returns the calls of the last message, if it is a reply.
fn open_calls(drafts: &[Draft]) -> Vec<String> {
    let last = drafts.last().filter(|last| last.role == "assistant");
    last.map(|last| calls_in(&last.blocks)).unwrap_or_default()
}

/// Returns a user message of made-up results; `None` if no call is open.
fn missing_results(open: &[String]) -> Option<Draft> {
    let blocks: Vec<Value> = open.iter().map(|call| made_result(call)).collect();
    let draft = Draft { role: "user", reply: ReplyKey::Alone, blocks, entries: Vec::new(), has_prompt: true };
    (!open.is_empty()).then_some(draft)
}

/// Returns blocks with the first result of each open call, made up if it is missing, and without other results.
fn answering(open: &[String], blocks: Vec<Value>) -> Vec<Value> {
    let mut answered: Vec<String> = Vec::new();
    let mut kept = Vec::new();
    for block in blocks {
        if is_result(&block) {
            let call = text(&block["tool_use_id"]).to_owned();
            if !open.contains(&call) || answered.contains(&call) {
                continue;
            }
            answered.push(call);
        }
        kept.push(block);
    }
    let missing = open.iter().filter(|call| !answered.contains(call));
    missing.map(|call| made_result(call)).chain(kept).collect()
}

/// Returns the blocks of a user message without blank text, unless a string that is not in an array is all of it (6.12).
fn without_blank_text(blocks: Vec<Value>) -> Vec<Value> {
    if blocks.len() == 1 && blocks[0]["bare"] == true {
        return blocks;
    }
    blocks.into_iter().filter(|block| !is_blank(block)).collect()
}

/// Returns the blocks, or a placeholder if there are none.
fn or_placeholder(blocks: Vec<Value>, is_orphan: bool) -> Vec<Value> {
    if !blocks.is_empty() {
        return blocks;
    }
    let orphaned = "[Orphaned tool result removed due to conversation resume]";
    vec![made_text(if is_orphan { orphaned } else { "(no content)" })]
}
