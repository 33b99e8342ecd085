//! Walks from the last message to the root and collects the trailing entries after the message (CHAIN.md 4).

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::load::LoadedEntries;
use crate::groups::Groups;
use crate::session::Session;

/// A missing parent is replaced by an earlier entry that is at most this much older.
const BRIDGE_MS: i64 = 5000;

/// Returns a slot and its ancestors, nearest first. In a cycle each is returned once.
pub(super) fn ancestors(loaded: &LoadedEntries, leaf: usize) -> impl Iterator<Item = usize> + '_ {
    let mut seen = vec![false; loaded.slots.len()];
    let chain = std::iter::successors(Some(leaf), |&slot| loaded.parent(slot));
    chain.take_while(move |&slot| !std::mem::replace(&mut seen[slot], true))
}

/// Returns the chain that ends in a slot, root first. If a parent is not in the file, or is already on the chain, the chain
/// continues with the entry before it in time (CHAIN 4.1, 4.2).
pub(super) fn bridged_chain(session: &Session, loaded: &LoadedEntries, last: usize) -> Vec<usize> {
    let mut walked = vec![false; loaded.slots.len()];
    let mut by_time: Option<ByTime> = None;
    let mut path = Vec::new();
    let mut at = Some(last);
    while let Some(slot) = at {
        walked[slot] = true;
        path.push(slot);
        if let Some(by_time) = &mut by_time {
            by_time.remove(session, loaded, slot);
        }
        let written = loaded.parent(slot).filter(|&parent| !walked[parent]);
        at = if written.is_some() || loaded.slots[slot].parent.is_none() {
            written
        } else {
            let by_time = by_time.get_or_insert_with(|| ByTime::of(session, loaded, &walked));
            by_time.bridge(session, loaded, slot)
        };
    }
    path.reverse();
    path
}

/// The entries that are not yet on the chain, by time; main entries and sidechains separately.
struct ByTime([BTreeSet<(i64, Reverse<usize>)>; 2]);

impl ByTime {
    fn of(session: &Session, loaded: &LoadedEntries, walked: &[bool]) -> Self {
        let mut by_time = Self([BTreeSet::new(), BTreeSet::new()]);
        for slot in loaded.kept().filter(|&slot| !walked[slot]) {
            let node = loaded.node(session, slot);
            if let Some(time) = node.time() {
                by_time.0[usize::from(node.is_side())].insert((time, Reverse(slot)));
            }
        }
        by_time
    }

    fn remove(&mut self, session: &Session, loaded: &LoadedEntries, slot: usize) {
        let node = loaded.node(session, slot);
        if let Some(time) = node.time() {
            self.0[usize::from(node.is_side())].remove(&(time, Reverse(slot)));
        }
    }

    /// Returns the latest entry that is not later than `slot` and at most [`BRIDGE_MS`] earlier; the first line wins a tie
    /// (CHAIN 4.2 to 4.4).
    fn bridge(&self, session: &Session, loaded: &LoadedEntries, slot: usize) -> Option<usize> {
        let node = loaded.node(session, slot);
        let time = node.time()?;
        let range = ..=(time, Reverse(0));
        let &(before, Reverse(slot)) = self.0[usize::from(node.is_side())].range(range).next_back()?;
        (time - before <= BRIDGE_MS).then_some(slot)
    }
}

/// Returns the system and attachment entries below the last message that are reached without passing another message: each
/// entry is followed by those below it, and the children of one entry are in the order of time. Slots that are taken are left out
/// with everything below them (CHAIN 3.13).
pub(super) fn trailers(
    session: &Session,
    loaded: &LoadedEntries,
    children: &Groups,
    last: usize,
    is_taken: &mut [bool],
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut waiting = vec![last];
    while let Some(slot) = waiting.pop() {
        if slot != last {
            if std::mem::replace(&mut is_taken[slot], true) {
                continue;
            }
            found.push(slot);
        }
        let is_trailer =
            |&child: &usize| !is_taken[child] && !loaded.node(session, child).is_user_or_assistant();
        let mut below: Vec<usize> = children.members(slot).filter(is_trailer).collect();
        below.sort_by_key(|&child| loaded.node(session, child).time().unwrap_or(-1));
        waiting.extend(below.into_iter().rev());
    }
    found
}
