//! Results that stand before their calls (CHAIN 6.4).

use super::fragment::{Fragment, Speaker};
use super::merge;
use crate::groups::Groups;
use crate::session::{Id, Session, index};

/// Moves each result that stands before its call behind the last line of the call's reply, unless something that interrupts
/// a turn stands between.
pub(super) fn move_behind_calls(session: &Session, fragments: &mut Vec<Fragment<'_>>) {
    let layout = Layout::of(session, fragments);
    let positions = 0..fragments.len();
    let moves =
        positions.filter_map(|result| Some(Move { result, behind: layout.target(fragments, result)? }));
    let moves: Vec<Move> = moves.collect();
    if !moves.is_empty() {
        *fragments = reordered(fragments, moves);
    }
}

/// A fragment with results that moves, and the one that it moves behind.
struct Move {
    result: usize,
    behind: usize,
}

/// Where calls, replies and interruptions stand in the list of fragments.
struct Layout {
    /// The positions of calls, in ascending order, by the index of the call's id.
    calls: Groups,
    /// The position of the last line of each reply, by the index of the reply's id.
    last_lines: Vec<u32>,
    /// For each position, how many fragments before it interrupt a turn: prompts and local commands.
    interrupts: Vec<u32>,
    /// For each position, how many boundaries stand before it.
    boundaries: Vec<u32>,
    /// The position of the first fragment of the message that a fragment will be part of.
    message_starts: Vec<usize>,
}

impl Layout {
    fn of(session: &Session, fragments: &[Fragment<'_>]) -> Self {
        let mut last_lines = vec![0; session.id_count()];
        let (mut interrupts, mut boundaries) = (vec![0_u32], vec![0_u32]);
        for (position, fragment) in fragments.iter().enumerate() {
            if let Some(id) = fragment.reply_id() {
                last_lines[id.index()] = index(position);
            }
            interrupts.push(interrupts[position] + u32::from(interrupts_turn(fragment)));
            boundaries.push(boundaries[position] + u32::from(fragment.speaker == Speaker::Boundary));
        }
        let message_starts = merge::message_starts(session, fragments);
        Self { calls: calls_by_id(session, fragments), last_lines, interrupts, boundaries, message_starts }
    }

    /// Returns the fragment that the results at a position move behind; none if they stay.
    fn target(&self, fragments: &[Fragment<'_>], position: usize) -> Option<usize> {
        let call = self.later_reply(fragments[position].results(), position)?;
        // A call is sent with the first line of its message. If that stands before the result, the result stays.
        if self.message_starts[call] < position {
            return None;
        }
        let last_line = fragments[call].reply_id().map_or(call, |id| self.last_lines[id.index()] as usize);
        let is_uninterrupted = self.interrupts[last_line] == self.interrupts[position + 1]
            && self.boundaries[last_line] == self.boundaries[call];
        is_uninterrupted.then_some(last_line)
    }

    /// Returns the first call behind a position that results answer; none unless all of them answer calls of one reply there.
    fn later_reply(&self, results: impl Iterator<Item = Id>, position: usize) -> Option<usize> {
        let mut first: Option<usize> = None;
        for id in results {
            let call = self.later_call(id.index(), position)?;
            let first = first.get_or_insert(call);
            if self.message_starts[call] != self.message_starts[*first] {
                return None;
            }
            *first = call.min(*first);
        }
        first
    }

    /// Returns the first call with an id behind a position. A result whose call stands before it stays, even if the id is
    /// called again later.
    fn later_call(&self, id: usize, position: usize) -> Option<usize> {
        let is_called_before = self.calls.members(id).next().is_some_and(|first| first < position);
        if is_called_before { None } else { self.calls.first_above(id, position) }
    }
}

fn interrupts_turn(fragment: &Fragment<'_>) -> bool {
    match fragment.speaker {
        Speaker::User => !fragment.has_results(),
        Speaker::LocalCommand => true,
        Speaker::Assistant | Speaker::Attachment | Speaker::Boundary => false,
    }
}

fn calls_by_id(session: &Session, fragments: &[Fragment<'_>]) -> Groups {
    let calls = fragments.iter().enumerate().flat_map(|(position, fragment)| {
        fragment.calls().filter_map(|call| call.tool).map(move |id| (id.index(), position))
    });
    Groups::of(session.id_count(), calls)
}

/// Returns the fragments in their new order. Several that move behind the same one keep their order.
fn reordered<'s>(fragments: &[Fragment<'s>], mut moves: Vec<Move>) -> Vec<Fragment<'s>> {
    let mut is_moved = vec![false; fragments.len()];
    for one in &moves {
        is_moved[one.result] = true;
    }
    moves.sort_by_key(|one| one.behind);
    let mut moves = moves.into_iter().peekable();
    let mut ordered = Vec::with_capacity(fragments.len());
    for (position, fragment) in fragments.iter().enumerate() {
        if !is_moved[position] {
            ordered.push(*fragment);
        }
        while let Some(one) = moves.next_if(|one| one.behind == position) {
            ordered.push(fragments[one.result]);
        }
    }
    ordered
}
