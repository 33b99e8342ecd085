//! Replies whose lines or results are out of order (CHAIN 6.4).

use std::collections::BTreeMap;

use super::fragment::{Fragment, Speaker};
use crate::entry::Flag;
use crate::session::{Id, Session};

/// Moves lines of a reply together if only context is between them, and results that are before their calls after the
/// last line of the reply, unless something else is between.
pub(super) fn regroup(session: &Session, fragments: &mut Vec<Fragment<'_>>) {
    let layout = Layout::of(session, fragments);
    let early = layout.early(fragments);
    if early.is_empty() && !layout.replies.values().any(|reply| reply.is_split) {
        return;
    }
    // What is moved is added with its reply.
    let mut is_done = vec![false; fragments.len()];
    early.values().flatten().for_each(|&position| is_done[position] = true);
    let mut order = Vec::with_capacity(fragments.len());
    for position in 0..fragments.len() {
        if std::mem::replace(&mut is_done[position], true) {
            continue;
        }
        order.push(position);
        let id = line_of(session, &fragments[position]);
        let Some((id, reply)) = id.and_then(|id| Some((id, layout.replies.get(&id)?))) else { continue };
        let early = early.get(&id).filter(|_| reply.first == position).map_or(&[][..], Vec::as_slice);
        if early.is_empty() && !reply.is_split {
            continue;
        }
        let after = (position + 1..=reply.last).filter(|&other| !is_done[other]);
        let (lines, others): (Vec<usize>, Vec<usize>) =
            after.partition(|&other| !reply.is_split || line_of(session, &fragments[other]) == Some(id));
        lines.iter().chain(&others).for_each(|&other| is_done[other] = true);
        order.extend(lines);
        order.extend(early);
        order.extend(others);
    }
    *fragments = order.into_iter().map(|position| fragments[position]).collect();
}

/// Where the lines of a reply are.
#[derive(Clone, Copy, Debug)]
struct Reply {
    first: usize,
    last: usize,
    lines: usize,
    /// Whether something other than its own lines, results and context is between its lines.
    is_fenced: bool,
    /// Whether context is between its lines, and nothing else but results.
    is_split: bool,
}

/// Where replies, and what is between them, are in the list of fragments.
struct Layout<'s> {
    session: &'s Session,
    replies: BTreeMap<Id, Reply>,
    /// The reply that makes a call, by the index of the call's id; `None` if there is none or if several replies make it.
    caller_of: Vec<Option<Id>>,
    /// For each position, how many fragments before it interrupt a turn: prompts, local commands, boundaries.
    interrupts: Vec<u32>,
}

impl<'s> Layout<'s> {
    fn of(session: &'s Session, fragments: &[Fragment<'_>]) -> Self {
        let mut replies: BTreeMap<Id, Reply> = BTreeMap::new();
        let (mut interrupts, mut assistants, mut context) = (vec![0_u32], vec![0_usize], vec![0_u32]);
        for (position, fragment) in fragments.iter().enumerate() {
            if let Some(id) = line_of(session, fragment) {
                let new =
                    Reply { first: position, last: position, lines: 0, is_fenced: false, is_split: false };
                let reply = replies.entry(id).or_insert(new);
                reply.last = position;
                reply.lines += 1;
            }
            interrupts.push(interrupts[position] + u32::from(interrupts_turn(session, fragment)));
            assistants.push(assistants[position] + usize::from(fragment.speaker == Speaker::Assistant));
            context.push(context[position] + u32::from(is_context(session, fragment)));
        }
        for reply in replies.values_mut() {
            let Reply { first, last, lines, .. } = *reply;
            reply.is_fenced =
                interrupts[last] > interrupts[first] || assistants[last + 1] - assistants[first] > lines;
            reply.is_split = !reply.is_fenced && context[last] > context[first];
        }
        Self { session, replies, caller_of: callers(session, fragments), interrupts }
    }

    /// Returns the results that are before the first line of their reply and move after its last, each with the context
    /// directly after it, in their order by reply.
    fn early(&self, fragments: &[Fragment<'_>]) -> BTreeMap<Id, Vec<usize>> {
        let mut early: BTreeMap<Id, Vec<usize>> = BTreeMap::new();
        for (position, fragment) in fragments.iter().enumerate() {
            let Some((id, first)) = self.later_reply(fragment, position) else { continue };
            let moved = early.entry(id).or_default();
            moved.push(position);
            moved
                .extend((position + 1..first).take_while(|&next| is_context(self.session, &fragments[next])));
        }
        early
    }

    /// Returns the reply that results at a position wait for, and its first line; none if they stay.
    fn later_reply(&self, fragment: &Fragment<'_>, position: usize) -> Option<(Id, usize)> {
        let mut results = fragment.results();
        let id = self.caller_of[results.next()?.index()]?;
        if results.any(|call| self.caller_of[call.index()] != Some(id)) {
            return None;
        }
        let reply = self.replies.get(&id)?;
        let is_early = position < reply.first
            && !reply.is_fenced
            && self.interrupts[reply.first] == self.interrupts[position + 1];
        is_early.then_some((id, reply.first))
    }
}

/// Returns the reply that a fragment is a line of. A virtual line belongs to none.
fn line_of(session: &Session, fragment: &Fragment<'_>) -> Option<Id> {
    fragment.reply_id().filter(|_| !has(session, fragment, Flag::Virtual))
}

/// Returns whether the entry of a fragment has a flag.
fn has(session: &Session, fragment: &Fragment<'_>, flag: Flag) -> bool {
    fragment.node.is_some_and(|node| session.nodes()[node.index()].has(flag))
}

fn interrupts_turn(session: &Session, fragment: &Fragment<'_>) -> bool {
    match fragment.speaker {
        Speaker::User => !fragment.has_results() && !has(session, fragment, Flag::Companion),
        Speaker::LocalCommand | Speaker::Boundary => true,
        Speaker::Assistant | Speaker::Attachment => false,
    }
}

/// Returns whether a fragment is delivered with a reply and moves with what is around it.
fn is_context(session: &Session, fragment: &Fragment<'_>) -> bool {
    match fragment.speaker {
        Speaker::User => !fragment.has_results() && has(session, fragment, Flag::Companion),
        Speaker::Attachment => true,
        Speaker::Assistant | Speaker::LocalCommand | Speaker::Boundary => false,
    }
}

fn callers(session: &Session, fragments: &[Fragment<'_>]) -> Vec<Option<Id>> {
    let mut callers: Vec<Option<Id>> = vec![None; session.id_count()];
    let mut is_shared = vec![false; session.id_count()];
    for fragment in fragments {
        let Some(id) = line_of(session, fragment) else { continue };
        for call in fragment.calls().filter_map(|call| call.tool) {
            is_shared[call.index()] |= callers[call.index()].is_some_and(|other| other != id);
            callers[call.index()] = Some(id);
        }
    }
    callers.into_iter().zip(is_shared).map(|(caller, is_shared)| caller.filter(|_| !is_shared)).collect()
}
