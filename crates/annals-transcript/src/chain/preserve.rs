//! Compaction: messages that the last boundary keeps are hung behind its summary, and all else before it is
//! forgotten.

use super::load::Loaded;
use crate::session::{Boundary, Id, Session};

pub(super) fn relink(session: &Session, loaded: &mut Loaded) {
    let is_boundary = |slot: &usize| session.boundary(&session.nodes()[loaded.slots[*slot].node]).is_some();
    let Some(last) = (0..loaded.slots.len()).rfind(is_boundary) else { return };
    let Some(boundary) = session.boundary(&session.nodes()[loaded.slots[last].node]) else { return };
    let Some((anchor, kept)) = kept_messages(loaded, boundary) else { return };
    hang_behind(loaded, anchor, &kept);
    for slot in 0..last {
        loaded.slots[slot].forgotten = !kept.iter().any(|&id| loaded.slot(id) == Some(slot));
    }
}

/// Returns the kept messages in order and what they are hung on, if all of them are there.
fn kept_messages(loaded: &Loaded, boundary: &Boundary) -> Option<(Option<Id>, Vec<Id>)> {
    let (anchor, kept) = match (&boundary.messages, boundary.segment) {
        (Some((anchor, kept)), _) => (*anchor, kept.clone()),
        (None, Some([Some(head), anchor, Some(tail)])) => (anchor, segment(loaded, head, tail)?),
        _ => return None,
    };
    let complete = !kept.is_empty() && kept.iter().all(|&id| loaded.slot(id).is_some());
    complete.then_some((anchor, kept))
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

/// Hangs the first on the anchor, each on the one before, and what hung on the anchor on the last.
fn hang_behind(loaded: &mut Loaded, anchor: Option<Id>, kept: &[Id]) {
    let is_kept = |loaded: &Loaded, slot: usize| kept.iter().any(|&id| loaded.slot(id) == Some(slot));
    for slot in 0..loaded.slots.len() {
        if loaded.slots[slot].parent == anchor && anchor.is_some() && !is_kept(loaded, slot) {
            loaded.slots[slot].parent = kept.last().copied();
        }
    }
    let mut before = anchor;
    for &id in kept {
        if let Some(slot) = loaded.slot(id) {
            loaded.slots[slot].parent = before;
        }
        before = Some(id);
    }
}
