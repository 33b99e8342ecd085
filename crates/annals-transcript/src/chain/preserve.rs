//! Compaction (section 2): messages that the last boundary keeps are hung behind its summary, and all else before it
//! is forgotten.

use super::load::Loaded;
use crate::session::{Boundary, Id, Session};

/// In files larger than this, Claude Code reads nothing before the last boundary without kept messages.
const LARGE: u64 = 5 * 1024 * 1024;

pub(super) fn relink(session: &Session, loaded: &mut Loaded) {
    if session.size() > LARGE {
        forget_unread(session, loaded);
    }
    let boundaries = boundaries(session, loaded);
    let Some(&(place, last)) = boundaries.last() else { return };
    if !boundaries.iter().any(|(_, boundary)| boundary.segment.is_some() || boundary.messages.is_some()) {
        return;
    }
    let Some((anchor, kept)) = kept_messages(loaded, last) else { return };
    let mut is_kept = vec![false; loaded.slots.len()];
    for slot in kept.iter().filter_map(|&id| loaded.slot(id)) {
        is_kept[slot] = true;
    }
    hang_behind(loaded, anchor, &kept);
    forget_before(session, loaded, place, &kept, &is_kept);
    loaded.relinked = !kept.is_empty();
}

/// Returns the boundaries that are loaded, each with its slot.
fn boundaries<'s>(session: &'s Session, loaded: &Loaded) -> Vec<(usize, &'s Boundary)> {
    let boundary = |slot: usize| session.boundary(loaded.node(session, slot));
    loaded.kept().filter_map(|slot| Some((slot, boundary(slot)?))).collect()
}

/// Forgets what Claude Code does not read of a large file: all that stands before the last boundary without kept
/// messages.
fn forget_unread(session: &Session, loaded: &mut Loaded) {
    let is_plain = |boundary: &Boundary| boundary.segment.is_none() && boundary.messages.is_none();
    let last = boundaries(session, loaded).into_iter().rfind(|(_, boundary)| is_plain(boundary));
    loaded.unread_before(last.map_or(0, |(place, _)| place));
}

/// Returns the kept messages in order and what they are hung on; nothing if one of them is missing.
fn kept_messages(loaded: &Loaded, boundary: &Boundary) -> Option<(Option<Id>, Vec<Id>)> {
    let (anchor, kept) = match (&boundary.messages, boundary.segment) {
        (Some((anchor, kept)), _) => (*anchor, kept.clone()),
        (None, Some([head, anchor, tail])) => (anchor, segment(loaded, head?, tail?)?),
        (None, None) => (None, Vec::new()),
    };
    kept.iter().all(|&id| loaded.slot(id).is_some()).then_some((anchor, kept))
}

/// Returns the entries from `head` to `tail`, found by walking back from the tail.
fn segment(loaded: &Loaded, head: Id, tail: Id) -> Option<Vec<Id>> {
    let mut run = vec![tail];
    let mut id = tail;
    while id != head {
        id = loaded.slots[loaded.slot(id)?].parent?;
        run.push(id);
        if run.len() > loaded.slots.len() {
            return None;
        }
    }
    run.reverse();
    Some(run)
}

/// Hangs the first on the anchor and each on the one before; then what hangs on the anchor, but for the first, on the last.
/// An anchor that is itself kept thus cuts off what was kept before it.
fn hang_behind(loaded: &mut Loaded, anchor: Option<Id>, kept: &[Id]) {
    let (Some(&first), Some(&last)) = (kept.first(), kept.last()) else { return };
    let mut before = anchor;
    for &id in kept {
        if let Some(slot) = loaded.slot(id) {
            loaded.slots[slot].parent = before;
        }
        before = Some(id);
    }
    let first = loaded.slot(first);
    for (place, slot) in loaded.slots.iter_mut().enumerate() {
        // Without an anchor, this takes in what hangs on nothing.
        if slot.parent == anchor && Some(place) != first {
            slot.parent = Some(last);
        }
    }
}

/// Forgets what stands before the boundary and is not kept. Messages that hung on it hang on the last kept one; other
/// entries are left dangling.
fn forget_before(session: &Session, loaded: &mut Loaded, boundary: usize, kept: &[Id], is_kept: &[bool]) {
    for (slot, is_kept) in loaded.slots.iter_mut().zip(is_kept).take(boundary) {
        slot.forgotten = !is_kept;
    }
    let Some(&last) = kept.last() else { return };
    let is_forgotten = |id: Id| loaded.slot(id).is_none() && loaded.knows(id);
    let orphans: Vec<usize> = loaded
        .kept()
        .filter(|&slot| {
            loaded.node(session, slot).speaks() && loaded.slots[slot].parent.is_some_and(is_forgotten)
        })
        .collect();
    for slot in orphans {
        loaded.slots[slot].parent = Some(last);
    }
}
