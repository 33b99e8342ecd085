//! The parts of each message: their order, and a result for every call (CHAIN 6.10 to 6.13).

use std::collections::BTreeSet;

use super::fragment::Fragment;
use super::merge::MessageGroups;
use super::part::{Part, Placeholder};
use super::{Messages, Role};
use crate::session::{BlockKind, BlockSpan, Id, Session};

/// Builds the messages. Each call is directly before its result, and each result directly after its call.
pub(super) fn messages<'s>(
    session: &Session,
    fragments: &[Fragment<'s>],
    groups: &MessageGroups,
) -> Messages<'s> {
    let mut messages = Messages::default();
    let mut calls = Calls::of(session);
    let mut parts = Vec::new();
    for (message, &role) in groups.roles.iter().enumerate() {
        let members = groups.members.members(message).map(|member| &fragments[member]);
        parts.clear();
        match role {
            Role::Assistant => {
                push_missing_results(&mut messages, &mut calls);
                add_reply(&mut parts, members.clone());
                calls.keep_sendable(&mut parts);
            }
            Role::User => {
                join(&mut parts, members.clone());
                answer(&mut parts, &mut calls, messages.is_empty());
            }
        }
        messages.push(role, &parts, members.filter_map(|fragment| fragment.node));
    }
    push_missing_results(&mut messages, &mut calls);
    messages
}

/// Adds a message of made-up results if a reply with calls is followed by no user message (CHAIN 6.13).
fn push_missing_results<'s>(messages: &mut Messages<'s>, calls: &mut Calls<'s>) {
    let results = calls.close();
    if !results.is_empty() {
        messages.push(Role::User, &results, std::iter::empty());
    }
}

/// Adds the parts of a reply that are sent, in their order.
fn add_reply<'s: 'd, 'd>(
    parts: &mut Vec<Part<'s>>,
    mut lines: impl Iterator<Item = &'d Fragment<'s>> + Clone,
) {
    parts.extend(lines.clone().flat_map(Fragment::parts));
    // Only a reply of one line keeps blank text (CHAIN 6.12).
    if lines.nth(1).is_some() {
        parts.retain(|part| !part.is_blank_text());
    }
    sort_reply(parts);
    drop_unsendable(parts);
}

/// Puts the calls of a reply after all other parts, unless reasoning and calls alternate (CHAIN 6.11).
fn sort_reply(parts: &mut [Part<'_>]) {
    if !alternates(parts) {
        parts.sort_by_key(|part| part.call().is_some());
    }
}

/// Returns whether reasoning is directly before and directly after a run of calls.
fn alternates(parts: &[Part<'_>]) -> bool {
    let mut others = parts.iter().enumerate().filter(|(_, part)| part.call().is_none()).peekable();
    while let Some((position, part)) = others.next() {
        let Some(&(next, behind)) = others.peek() else { return false };
        if next > position + 1 && [part, behind].iter().all(|part| part.kind() == Some(BlockKind::Thinking)) {
            return true;
        }
    }
    false
}

/// Drops what Claude Code does not send of a reply (CHAIN 6.12). If nothing is left, a placeholder says so.
fn drop_unsendable(parts: &mut Vec<Part<'_>>) {
    parts.retain(|part| part.kind() != Some(BlockKind::Fallback));
    drop_empty_text(parts);
    if parts.is_empty() {
        parts.push(Part::Placeholder(Placeholder::NoContent));
        return;
    }
    let advised = answered_by(BlockKind::AdvisorResult, parts);
    parts.retain(|part| {
        part.kind() != Some(BlockKind::AdvisorResult) && !is_server_call_among(*part, &advised)
    });
    if parts.is_empty() {
        parts.push(Part::Placeholder(Placeholder::AdvisorResponse));
    }
}

/// Drops empty text of a reply. Between reasoning a placeholder takes its place, if the reply says anything.
fn drop_empty_text(parts: &mut Vec<Part<'_>>) {
    if !parts.iter().any(is_empty) {
        return;
    }
    let says_something = parts.iter().any(|part| !is_empty(part) && !is_reasoning(part));
    let all = std::mem::take(parts);
    for (position, part) in all.iter().enumerate() {
        if !is_empty(part) {
            parts.push(*part);
        } else if says_something && is_between_reasoning(&all, position) {
            parts.push(Part::Placeholder(Placeholder::RemovedText));
        }
    }
}

/// Returns whether reasoning is directly before a part, and next after it apart from empty text.
fn is_between_reasoning(parts: &[Part<'_>], position: usize) -> bool {
    let next = parts[position + 1..].iter().find(|part| !is_empty(part));
    position > 0 && is_reasoning(&parts[position - 1]) && next.is_some_and(is_reasoning)
}

fn is_empty(part: &Part<'_>) -> bool {
    part.kind() == Some(BlockKind::EmptyText)
}

fn is_reasoning(part: &Part<'_>) -> bool {
    part.kind() == Some(BlockKind::Thinking)
}

/// Returns the calls that results of a kind answer.
fn answered_by(kind: BlockKind, parts: &[Part<'_>]) -> BTreeSet<Option<Id>> {
    let calls = parts.iter().filter_map(|part| match part {
        Part::Block(block) if block.kind == kind => Some(block.tool),
        _ => None,
    });
    calls.collect()
}

/// Returns whether a part is a call of a tool on the server, and one of these.
fn is_server_call_among(part: Part<'_>, calls: &BTreeSet<Option<Id>>) -> bool {
    matches!(part, Part::Block(block) if block.kind == BlockKind::ServerToolUse && calls.contains(&block.tool))
}

/// Joins the parts of user entries that follow each other (CHAIN 6.10): with each entry the results come to the front, and
/// where text meets text a newline is put between them.
fn join<'s: 'd, 'd>(parts: &mut Vec<Part<'s>>, fragments: impl Iterator<Item = &'d Fragment<'s>>) {
    let mut is_sorted = false;
    for (position, fragment) in fragments.enumerate() {
        if fragment.parts().next().is_some_and(Part::is_text) {
            end_with_newline(parts, is_sorted);
        }
        parts.extend(fragment.parts());
        is_sorted = position > 0;
    }
    if is_sorted {
        parts.sort_by_key(|part| !part.is_result());
    }
}

/// Puts a newline after the last part if it is text. From the third entry on, the parts before count as sorted: text
/// is after all results.
fn end_with_newline(parts: &mut [Part<'_>], is_sorted: bool) {
    let mut from_end = parts.iter_mut().rev();
    let last = if is_sorted { from_end.find(|part| !part.is_result()) } else { from_end.next() };
    if let Some(last) = last
        && let Part::Block(text) = *last
        && text.kind.is_text()
    {
        *last = Part::BlockWithNewline(text);
    }
}

/// Makes a user message answer the calls of the reply before it, each once (CHAIN 6.12, 6.13).
fn answer<'s>(parts: &mut Vec<Part<'s>>, calls: &mut Calls<'s>, is_first_message: bool) {
    let count = parts.len();
    calls.keep_results(parts);
    let is_orphaned = parts.len() < count;
    drop_blank_text(parts);
    if parts.is_empty() {
        let text = if is_orphaned && is_first_message {
            Placeholder::OrphanedResult
        } else {
            Placeholder::NoContent
        };
        parts.push(Part::Placeholder(text));
    }
}

/// Drops text without a visible character, unless a bare string is all of the message (CHAIN 6.12).
fn drop_blank_text(parts: &mut Vec<Part<'_>>) {
    let is_bare = matches!(parts[..], [Part::Block(BlockSpan { is_bare: true, .. })]);
    if !is_bare {
        parts.retain(|part| !part.is_blank_text());
    }
}

/// The calls made so far.
struct Calls<'s> {
    /// The calls of the last message.
    last: Vec<&'s BlockSpan>,
    /// Whether a call of the last message has no result yet, by the index of its id.
    is_open: Vec<bool>,
    /// Whether a call was made, by the index of its id.
    is_made: Vec<bool>,
}

impl<'s> Calls<'s> {
    fn of(session: &Session) -> Self {
        let ids = session.id_count();
        Self { last: Vec::new(), is_open: vec![false; ids], is_made: vec![false; ids] }
    }

    /// Opens the calls of a reply and drops those whose id was called before, calls of the server without a result, and
    /// results. A placeholder takes the place of one that separates reasoning, and of a reply of which nothing is left.
    fn keep_sendable(&mut self, parts: &mut Vec<Part<'s>>) {
        let answered = answered_by(BlockKind::ServerToolResult, parts);
        let all = std::mem::take(parts);
        for (position, part) in all.iter().enumerate() {
            let is_sendable = match part.kind() {
                Some(BlockKind::ServerToolUse) => is_server_call_among(*part, &answered),
                Some(BlockKind::ToolResult(_)) => false,
                _ => part.call().is_none_or(|call| self.open(call)),
            };
            if is_sendable {
                parts.push(*part);
            } else if position > 0
                && is_reasoning(&all[position - 1])
                && all.get(position + 1).is_some_and(is_reasoning)
            {
                parts.push(Part::Placeholder(Placeholder::RemovedCall));
            }
        }
        if parts.is_empty() {
            parts.push(Part::Placeholder(Placeholder::InterruptedCall));
        }
    }

    /// Opens a call, unless its id was called before.
    fn open(&mut self, call: &'s BlockSpan) -> bool {
        let is_first = call.tool.is_none_or(|id| !std::mem::replace(&mut self.is_made[id.index()], true));
        if is_first {
            self.last.push(call);
            if let Some(id) = call.tool {
                self.is_open[id.index()] = true;
            }
        }
        is_first
    }

    /// Keeps the first result of each open call, makes up those that are missing, and drops all others.
    fn keep_results(&mut self, parts: &mut Vec<Part<'s>>) {
        parts.retain(|part| match part.result() {
            Some(id) => std::mem::take(&mut self.is_open[id.index()]),
            // A result that Claude Code made up stays, even if its call has no id.
            None => !matches!(part, Part::Block(block) if matches!(block.kind, BlockKind::ToolResult(_))),
        });
        parts.splice(0..0, self.close());
    }

    /// Closes the open calls and makes up results for those that have none.
    fn close(&mut self) -> Vec<Part<'s>> {
        let is_open = &mut self.is_open;
        let unanswered = self
            .last
            .drain(..)
            .filter(|call| call.tool.is_none_or(|id| std::mem::take(&mut is_open[id.index()])));
        unanswered.map(|call| Part::PlaceholderResult { call, text: Placeholder::MissingResult }).collect()
    }
}
