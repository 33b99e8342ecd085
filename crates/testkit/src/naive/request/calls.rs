//! Results before their calls, and calls without a result: rules 6.4 to 6.6 of `docs/CHAIN.md`.

use super::merge::{Draft, merged};
use super::sent::says_nothing;
use crate::naive::entry::{Entry, made_entry, made_result};

/// Moves lines of a reply together if only context and results are between them, and results that are before their calls
/// after the last line of the reply, with the context directly after them (6.4).
pub(super) fn regrouped(entries: &[Entry]) -> Vec<Entry> {
    let mut order: Vec<usize> = Vec::new();
    let early: Vec<(usize, String)> =
        (0..entries.len()).filter_map(|place| Some((place, early_for(entries, place)?))).collect();
    for place in 0..entries.len() {
        if order.contains(&place) || early.iter().any(|(early, _)| *early == place) {
            continue;
        }
        let Some(reply) = line_of(&entries[place]) else {
            order.push(place);
            continue;
        };
        let (_, last) = span(entries, reply);
        let waiting: Vec<usize> =
            early.iter().filter(|(_, id)| id == reply).map(|(place, _)| *place).collect();
        let is_whole = waiting.is_empty() && !is_split(entries, reply);
        let end = if is_whole { place } else { last };
        let free = (place..=end).filter(|other| !early.iter().any(|(early, _)| early == other));
        let (lines, others): (Vec<usize>, Vec<usize>) =
            free.partition(|&other| !is_split(entries, reply) || line_of(&entries[other]) == Some(reply));
        for other in lines.into_iter().chain(waiting).chain(others) {
            if !order.contains(&other) {
                order.push(other);
            }
        }
    }
    order.into_iter().map(|place| entries[place].clone()).collect()
}

/// Returns the reply after which an entry moves because it has only results of its calls, or is context directly after such
/// an entry, and is before the first line; `None` if it stays.
fn early_for(entries: &[Entry], place: usize) -> Option<String> {
    if is_context(&entries[place]) {
        return early_for(entries, place.checked_sub(1)?);
    }
    let mut callers: Vec<Option<&str>> =
        entries[place].results().iter().map(|call| caller(entries, call)).collect();
    callers.dedup();
    let [Some(reply)] = callers[..] else { return None };
    let (first, _) = span(entries, reply);
    let moves =
        place < first && !is_fenced(entries, reply) && !entries[place + 1..first].iter().any(interrupts);
    moves.then(|| reply.to_owned())
}

/// Returns the only reply that makes a call.
fn caller<'e>(entries: &'e [Entry], call: &String) -> Option<&'e str> {
    let lines = entries.iter().filter(|entry| entry.calls().contains(call));
    let mut replies: Vec<&str> = lines.filter_map(line_of).collect();
    replies.dedup();
    match replies[..] {
        [only] => Some(only),
        _ => None,
    }
}

/// Returns the reply of a line. A virtual line belongs to none.
fn line_of(entry: &Entry) -> Option<&str> {
    entry.reply().filter(|_| !entry.flag("isVirtual"))
}

/// Returns the places of the first and the last line of a reply.
fn span(entries: &[Entry], reply: &str) -> (usize, usize) {
    let mut lines = (0..entries.len()).filter(|&place| line_of(&entries[place]) == Some(reply));
    (lines.clone().next().unwrap_or(0), lines.next_back().unwrap_or(0))
}

/// Returns whether something other than its own lines, results and context is between the lines of a reply.
fn is_fenced(entries: &[Entry], reply: &str) -> bool {
    let (first, last) = span(entries, reply);
    entries[first..=last]
        .iter()
        .any(|entry| entry.kind() == "assistant" && line_of(entry) != Some(reply) || interrupts(entry))
}

/// Returns whether context is between the lines of a reply, and nothing else but results.
fn is_split(entries: &[Entry], reply: &str) -> bool {
    let (first, last) = span(entries, reply);
    !is_fenced(entries, reply) && entries[first..=last].iter().any(is_context)
}

/// Returns whether an entry ends what a reply does: a prompt, a local command, a boundary.
fn interrupts(entry: &Entry) -> bool {
    match entry.kind() {
        "user" => !entry.is_result() && !is_companion(entry),
        "system" => true,
        _ => false,
    }
}

/// Returns whether an entry is delivered with a reply.
fn is_context(entry: &Entry) -> bool {
    entry.is_attachment() || entry.kind() == "user" && !entry.is_result() && is_companion(entry)
}

fn is_companion(entry: &Entry) -> bool {
    entry.flag("turnCompanion") || entry.value["sourceToolUseID"].is_string()
}

/// Drops entries whose calls all have no result, except in the last reply, and except in the last turn while that is in
/// its tool loop (6.5).
pub(super) fn without_unanswered_calls(entries: &[Entry]) -> Vec<Entry> {
    let turn = entries.iter().rposition(Entry::is_prompt).map_or(0, |prompt| prompt + 1);
    let last_reply = last_reply(entries);
    let in_tool_loop = is_in_tool_loop(entries, turn, &last_reply);
    let mut kept = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let is_exempt = place >= turn && (in_tool_loop || last_reply.contains(&place));
        if is_exempt || !is_unanswered(entries, entry) {
            kept.push(entry.clone());
        }
    }
    kept
}

/// Returns whether an entry has calls, and none of them has a result.
fn is_unanswered(entries: &[Entry], entry: &Entry) -> bool {
    let calls = entry.calls();
    !calls.is_empty() && !calls.iter().any(|call| is_answered(entries, call))
}

/// Returns whether any entry holds a result of a call.
fn is_answered(entries: &[Entry], call: &String) -> bool {
    entries.iter().any(|entry| entry.results().contains(call))
}

/// Returns whether the turn that begins at `start` is in its tool loop (6.5): it holds a result or an attachment, and either
/// its last entry is a result, or the last reply has a call and the last run of assistant entries nothing but calls
/// and entries that say nothing.
fn is_in_tool_loop(entries: &[Entry], start: usize, last_reply: &[usize]) -> bool {
    let turn = &entries[start..];
    if !turn.iter().any(is_result_or_attachment) {
        return false;
    }
    let end = turn.iter().rposition(|entry| !entry.is_attachment()).map_or(0, |last| last + 1);
    let run = turn[..end].iter().rposition(is_result_or_attachment).map_or(0, |last| last + 1);
    let has_text =
        |entry: &Entry| entry.kind() == "assistant" && entry.calls().is_empty() && !says_nothing(entry);
    let in_turn = last_reply.iter().filter(|place| **place >= start);
    let calls_last = in_turn.copied().any(|place| !entries[place].calls().is_empty());
    turn.last().is_some_and(Entry::is_result) || calls_last && !turn[run..end].iter().any(has_text)
}

fn is_result_or_attachment(entry: &Entry) -> bool {
    entry.is_result() || entry.is_attachment()
}

/// Adds a made-up result for every call of the last reply that has none (6.6).
pub(super) fn with_interrupted_calls_answered(mut entries: Vec<Entry>) -> Vec<Entry> {
    let calls: Vec<String> =
        last_reply(&entries).into_iter().flat_map(|place| entries[place].calls()).collect();
    let open = calls.iter().filter(|call| !is_answered(&entries, call));
    let results: Vec<Entry> = open.map(|call| made_entry("user", &made_result(call))).collect();
    entries.extend(results);
    entries
}

/// Returns the places of the entries that the last reply of the request would be made of.
fn last_reply(entries: &[Entry]) -> Vec<usize> {
    let mut replies = drafts_of(entries).into_iter().filter(|draft| draft.role == "assistant");
    replies.next_back().map(|last| last.entries).unwrap_or_default()
}

/// Merges entries as for the request, with their places in the list as their order.
fn drafts_of(entries: &[Entry]) -> Vec<Draft> {
    let mut numbered: Vec<Entry> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        if !entry.is_attachment() && !entry.is_boundary() {
            numbered.push(Entry { order: place, ..entry.clone() });
        }
    }
    merged(numbered)
}
