//! Applies compactions (CHAIN.md 2): the messages that the last boundary keeps are linked after its summary, and everything
//! else before it is discarded.

use super::large::is_large;
use super::load::LoadedEntries;
use crate::session::{Boundary, Id, Session};

/// Applies the last compaction to the loaded entries.
pub(super) fn relink(session: &Session, loaded: &mut LoadedEntries) {
    if is_large(session) {
        discard_unread(session, loaded);
    }
    let boundaries = boundaries(session, loaded);
    let Some(&(slot, last)) = boundaries.last() else { return };
    if !boundaries.iter().any(|(_, boundary)| boundary.keeps_messages()) {
        return;
    }
    let Some((anchor, kept)) = kept_messages(loaded, last) else { return };
    let mut is_kept = vec![false; loaded.slots.len()];
    for slot in kept.iter().filter_map(|&id| loaded.slot(id)) {
        is_kept[slot] = true;
    }
    link_after(loaded, anchor, &kept);
    discard_before(session, loaded, slot, &kept, &is_kept);
    loaded.relinked = !kept.is_empty();
}

impl Boundary {
    /// Returns whether a compaction names messages to keep.
    pub(super) fn keeps_messages(&self) -> bool {
        self.segment.is_some() || self.messages.is_some()
    }
}

/// Returns the boundaries that are loaded, each with its slot.
fn boundaries<'s>(session: &'s Session, loaded: &LoadedEntries) -> Vec<(usize, &'s Boundary)> {
    let kept = loaded.kept();
    kept.filter_map(|slot| Some((slot, session.boundary(loaded.node(session, slot))?))).collect()
}

/// Discards what Claude Code does not read of a large file: everything before the last boundary without kept messages.
fn discard_unread(session: &Session, loaded: &mut LoadedEntries) {
    let last = boundaries(session, loaded).into_iter().rfind(|(_, boundary)| !boundary.keeps_messages());
    loaded.discard_before(last.map_or(0, |(slot, _)| slot));
}

/// Returns the kept messages in order and their anchor; `None` if one of them is missing.
fn kept_messages(loaded: &LoadedEntries, boundary: &Boundary) -> Option<(Option<Id>, Vec<Id>)> {
    let (anchor, kept) = match (&boundary.messages, boundary.segment) {
        (Some((anchor, kept)), _) => (*anchor, kept.clone()),
        (None, Some([head, anchor, tail])) => (anchor, segment(loaded, head?, tail?)?),
        (None, None) => (None, Vec::new()),
    };
    kept.iter().all(|&id| loaded.slot(id).is_some()).then_some((anchor, kept))
}

/// Returns the entries from `head` to `tail`, found by walking back from the tail.
fn segment(loaded: &LoadedEntries, head: Id, tail: Id) -> Option<Vec<Id>> {
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

/// Links the kept messages after the anchor: the first gets the anchor as its parent, each further one the message before
/// it. The other children of the anchor get the last kept message as their parent. If the anchor itself is kept, the messages
/// kept before it are cut off.
fn link_after(loaded: &mut LoadedEntries, anchor: Option<Id>, kept: &[Id]) {
    let (Some(&first), Some(&last)) = (kept.first(), kept.last()) else { return };
    let mut before = anchor;
    for &id in kept {
        if let Some(slot) = loaded.slot(id) {
            loaded.slots[slot].parent = before;
        }
        before = Some(id);
    }
    let first = loaded.slot(first);
    for (index, slot) in loaded.slots.iter_mut().enumerate() {
        // Without an anchor, this applies to all entries without a parent.
        if slot.parent == anchor && Some(index) != first {
            slot.parent = Some(last);
        }
    }
}

/// Discards the entries before the boundary that are not kept. Messages whose parent is discarded get the last kept message
/// as their parent; other entries keep the discarded parent.
fn discard_before(
    session: &Session,
    loaded: &mut LoadedEntries,
    boundary: usize,
    kept: &[Id],
    is_kept: &[bool],
) {
    for (slot, is_kept) in loaded.slots.iter_mut().zip(is_kept).take(boundary) {
        slot.discarded = !is_kept;
    }
    let Some(&last) = kept.last() else { return };
    let orphans: Vec<usize> = loaded
        .kept()
        .filter(|&slot| {
            loaded.node(session, slot).is_user_or_assistant()
                && loaded.slots[slot].parent.is_some_and(|parent| loaded.has_discarded(parent))
        })
        .collect();
    for slot in orphans {
        loaded.slots[slot].parent = Some(last);
    }
}
