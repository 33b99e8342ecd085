//! Walking (section 4): from the last message to the root, and what trails behind the message.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use super::load::Loaded;
use crate::groups::Groups;
use crate::session::Session;

/// How long before an entry without parent the one may be that takes its parent's place.
const BRIDGE_MS: i64 = 5000;

/// Returns the chain that ends in a slot, root first, by written parents only.
pub(super) fn written(loaded: &Loaded, leaf: usize) -> Vec<usize> {
    let mut path: Vec<usize> = back(loaded, leaf).collect();
    path.reverse();
    path
}

/// Returns the same chain, leaf first.
pub(super) fn back(loaded: &Loaded, leaf: usize) -> impl Iterator<Item = usize> + '_ {
    let mut seen = vec![false; loaded.slots.len()];
    let chain = std::iter::successors(Some(leaf), |&slot| loaded.parent(slot));
    chain.take_while(move |&slot| !std::mem::replace(&mut seen[slot], true))
}

/// Returns the chain that ends in a slot, root first. A parent that is not in the file, or that was walked already, is
/// bridged in time.
pub(super) fn from(session: &Session, loaded: &Loaded, last: usize) -> Vec<usize> {
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

/// The entries not yet walked, by time; main and side entries apart.
struct ByTime([BTreeSet<(i64, Reverse<usize>)>; 2]);

impl ByTime {
    fn of(session: &Session, loaded: &Loaded, walked: &[bool]) -> Self {
        let mut by_time = Self([BTreeSet::new(), BTreeSet::new()]);
        for slot in loaded.kept().filter(|&slot| !walked[slot]) {
            let node = loaded.node(session, slot);
            if let Some(time) = node.time {
                by_time.0[usize::from(node.is_side())].insert((time, Reverse(slot)));
            }
        }
        by_time
    }

    fn remove(&mut self, session: &Session, loaded: &Loaded, slot: usize) {
        let node = loaded.node(session, slot);
        if let Some(time) = node.time {
            self.0[usize::from(node.is_side())].remove(&(time, Reverse(slot)));
        }
    }

    /// Returns the entry with the greatest time not after that of `slot`, if it is close enough; of several, the first
    /// line.
    fn bridge(&self, session: &Session, loaded: &Loaded, slot: usize) -> Option<usize> {
        let node = loaded.node(session, slot);
        let time = node.time?;
        let range = ..=(time, Reverse(0));
        let &(before, Reverse(slot)) = self.0[usize::from(node.is_side())].range(range).next_back()?;
        (time - before <= BRIDGE_MS).then_some(slot)
    }
}

/// Returns the entries that hang below the last message and are none themselves, reached through such entries only,
/// by time.
pub(super) fn trailers(session: &Session, loaded: &Loaded, children: &Groups, last: usize) -> Vec<usize> {
    let mut seen = vec![false; loaded.slots.len()];
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([last]);
    while let Some(slot) = waiting.pop_front() {
        for child in children.members(slot) {
            let trails = !loaded.node(session, child).speaks();
            if trails && child != last && !std::mem::replace(&mut seen[child], true) {
                found.push(child);
                waiting.push_back(child);
            }
        }
    }
    found.sort_by_key(|&slot| loaded.node(session, slot).time.unwrap_or(-1));
    found
}
