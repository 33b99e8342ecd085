//! Results before their calls, and calls without a result: rules 6.4 to 6.6 of `docs/CHAIN.md`.

use super::merge::{Draft, merged};
use super::sent::says_nothing;
use crate::naive::entry::{Entry, made_entry, made_result};

/// Moves each result that stands before its call behind the last line of the call's reply; several keep their order (6.4).
pub(super) fn with_results_behind_calls(entries: &[Entry]) -> Vec<Entry> {
    let mut list = entries.to_vec();
    let mut moved: Vec<&str> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.is_result()) {
        let place = place_of(&list, entry).expect("entries move, and none is removed");
        let Some(last_line) = last_line_of_later_call(entries, &list, place) else { continue };
        let mut target = last_line + 1;
        while list.get(target).is_some_and(|other| moved.contains(&other.id.as_str())) {
            target += 1;
        }
        list.insert(target, entry.clone());
        list.remove(place);
        moved.push(&entry.id);
    }
    list
}

/// Returns the last line of the reply with the calls that the results at `place` answer too early; `None` if there is no
/// such reply, or if an entry between them ends the turn. `entries` is the list before any result was moved: it decides
/// which lines are one message.
fn last_line_of_later_call(entries: &[Entry], list: &[Entry], place: usize) -> Option<usize> {
    let called_before: Vec<String> = list[..place].iter().flat_map(Entry::calls).collect();
    let results = list[place].results();
    if results.iter().any(|call| called_before.contains(call)) {
        return None;
    }
    let mut calls = Vec::new();
    for result in &results {
        let later = list[place + 1..].iter().position(|entry| entry.calls().contains(result))?;
        calls.push(place + 1 + later);
    }
    let messages = messages_of(entries);
    let message_of = |call: usize| {
        let at = place_of(entries, &list[call]).expect("entries move, and none is removed");
        messages.iter().position(|message| message.contains(&at))
    };
    if calls.iter().any(|call| message_of(*call) != message_of(calls[0])) {
        return None;
    }
    let call = *calls.iter().min()?;
    // The call is sent with the first line of its reply.
    let (result_at, call_at) = (place_of(entries, &list[place])?, place_of(entries, &list[call])?);
    if messages.iter().any(|message| message.contains(&call_at) && message[0] < result_at) {
        return None;
    }
    let last_line = list.iter().rposition(|entry| entry.is_of_reply(&list[call])).unwrap_or(call);
    let reaches_call = list[place + 1..call].iter().all(|entry| continues_turn(entry) || entry.is_boundary());
    let reaches_end = list[call..last_line].iter().all(continues_turn);
    (reaches_call && reaches_end).then_some(last_line)
}

fn place_of(list: &[Entry], entry: &Entry) -> Option<usize> {
    list.iter().position(|other| other.id == entry.id)
}

/// Returns whether an entry between a result and its call leaves the two in one turn.
fn continues_turn(entry: &Entry) -> bool {
    entry.kind() == "assistant" || entry.is_attachment() || entry.is_result()
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

/// Returns the places of the entries that each message of the request would be made of.
fn messages_of(entries: &[Entry]) -> Vec<Vec<usize>> {
    drafts_of(entries).into_iter().map(|draft| draft.entries).collect()
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
