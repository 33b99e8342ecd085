//! Walking from the leaf to the root.

use std::collections::BTreeMap;

use super::load::Loaded;
use crate::session::Session;

/// How long before an entry without parent the one may be that takes its parent's place.
const BRIDGE_MS: i64 = 5000;

/// Returns the chain that ends in `leaf`, root first, by written parents only.
pub(super) fn written(loaded: &Loaded, leaf: usize) -> Vec<usize> {
    follow(loaded, leaf, |slot| loaded.parent(slot))
}

/// Returns the chain that ends in `leaf`, root first; a parent that is not in the file is bridged in time.
pub(super) fn from(session: &Session, loaded: &Loaded, leaf: usize) -> Vec<usize> {
    let mut bridges = None;
    follow(loaded, leaf, |slot| {
        let written = loaded.parent(slot);
        let dangling = written.is_none() && loaded.slots[slot].parent.is_some();
        if dangling { bridges.get_or_insert_with(|| in_time(session, loaded))[slot] } else { written }
    })
}

/// Follows parents until there is none or they come round again.
fn follow(loaded: &Loaded, leaf: usize, mut parent: impl FnMut(usize) -> Option<usize>) -> Vec<usize> {
    let mut seen = vec![false; loaded.slots.len()];
    let mut path = Vec::new();
    let mut at = Some(leaf);
    while let Some(slot) = at.filter(|&slot| !seen[slot]) {
        seen[slot] = true;
        path.push(slot);
        at = parent(slot);
    }
    path.reverse();
    path
}

/// Returns for every entry the one before it in the file with the greatest time not after its own, if that is close
/// enough; of several, the later line.
fn in_time(session: &Session, loaded: &Loaded) -> Vec<Option<usize>> {
    let mut latest_at = BTreeMap::new();
    let mut bridges = vec![None; loaded.slots.len()];
    for slot in loaded.kept() {
        let Some(time) = session.nodes()[loaded.slots[slot].node].time else { continue };
        let before = latest_at.range(..=time).next_back();
        bridges[slot] = before.filter(|(before, _)| time - **before <= BRIDGE_MS).map(|(_, slot)| *slot);
        latest_at.insert(time, slot);
    }
    bridges
}
