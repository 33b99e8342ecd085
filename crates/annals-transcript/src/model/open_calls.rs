//! Calls without result (CHAIN 6.5, 6.6).

use super::fragment::{Fragment, Speaker};
use super::merge;
use super::part::{Part, Placeholder};
use crate::session::{BlockSpan, Session};

/// Returns whether there is a result for a call, by the index of its id.
pub(super) fn answered(session: &Session, fragments: &[Fragment<'_>]) -> Vec<bool> {
    let mut answered = vec![false; session.id_count()];
    fragments.iter().flat_map(Fragment::results).for_each(|id| answered[id.index()] = true);
    answered
}

/// Drops entries none of whose calls has a result, except in the last reply; and nothing of the last turn if that is in its
/// tool loop (CHAIN 6.5).
pub(super) fn drop_unanswered(session: &Session, fragments: &mut Vec<Fragment<'_>>, answered: &[bool]) {
    let turn = fragments.iter().rposition(Fragment::is_prompt).map_or(0, |prompt| prompt + 1);
    let mut is_last_reply = vec![false; fragments.len()];
    for position in merge::last_reply(session, fragments) {
        is_last_reply[position] = true;
    }
    let is_running = is_in_tool_loop(&fragments[turn..], &is_last_reply[turn..]);
    let mut positions = 0..fragments.len();
    fragments.retain(|fragment| {
        let in_turn = positions.next().filter(|&position| position >= turn);
        in_turn.is_some_and(|position| is_running || is_last_reply[position])
            || !has_only_open_calls(fragment, answered)
    });
}

/// Adds a result at the end for every call of the last reply that has none (CHAIN 6.6).
pub(super) fn answer_last(session: &Session, fragments: &mut Vec<Fragment<'_>>, answered: &[bool]) {
    let lines = merge::last_reply(session, fragments);
    let calls = lines.into_iter().flat_map(|position| fragments[position].calls());
    let open: Vec<&BlockSpan> = calls.filter(|call| is_open(call, answered)).collect();
    fragments.extend(open.into_iter().map(interrupted));
}

/// Returns the result that Claude Code makes up for a call that was running when the session ended.
fn interrupted(call: &BlockSpan) -> Fragment<'_> {
    Fragment::made_up(Speaker::User, Part::PlaceholderResult { call, text: Placeholder::Interrupted })
}

fn is_open(call: &BlockSpan, answered: &[bool]) -> bool {
    call.tool.is_none_or(|id| !answered[id.index()])
}

/// Returns whether an entry has calls, none of which has a result.
fn has_only_open_calls(fragment: &Fragment<'_>, answered: &[bool]) -> bool {
    let mut calls = fragment.calls().peekable();
    calls.peek().is_some() && calls.all(|call| is_open(call, answered))
}

/// Returns whether a turn is in its tool loop (CHAIN 6.5): something came back already, and either the last thing is a
/// result, or the last reply has a call and the model did nothing but think and call tools since something came back.
fn is_in_tool_loop(turn: &[Fragment<'_>], is_last_reply: &[bool]) -> bool {
    if !turn.iter().any(came_back) {
        return false;
    }
    let mut last_reply = turn.iter().zip(is_last_reply).filter(|(_, is_last)| **is_last);
    turn.last().is_some_and(Fragment::has_results)
        || last_reply.any(|(fragment, _)| fragment.has_calls())
            && !last_run(turn).iter().any(speaks_without_call)
}

/// Returns the end of a turn after the last thing that came back, attachments at its very end aside.
fn last_run<'t, 's>(turn: &'t [Fragment<'s>]) -> &'t [Fragment<'s>] {
    let end = turn.iter().rposition(|fragment| !fragment.is_attachment()).map_or(0, |last| last + 1);
    let start = turn[..end].iter().rposition(came_back).map_or(0, |last| last + 1);
    &turn[start..end]
}

/// Returns whether a fragment answers calls, or is context that Claude Code adds after such answers.
fn came_back(fragment: &Fragment<'_>) -> bool {
    fragment.has_results() || fragment.is_attachment()
}

/// Returns whether an entry of a reply says something and calls nothing.
fn speaks_without_call(fragment: &Fragment<'_>) -> bool {
    fragment.speaker == Speaker::Assistant && !fragment.has_calls() && !fragment.is_silent_reply()
}
