//! Messages that a compaction keeps, section 2 of `docs/CHAIN.md`.

use serde_json::Value;

use super::{
    entry::{Entry, text},
    load::File,
};

impl File {
    /// Re-links the messages that the last boundary preserves and forgets all other entries before it, if any boundary of
    /// the file names preserved messages (2.1, 2.4).
    pub(super) fn keep_preserved(&mut self) {
        let boundaries: Vec<&Entry> = self.entries.iter().filter(|entry| entry.is_boundary()).collect();
        if !boundaries.iter().any(|boundary| names_preserved(boundary)) {
            return;
        }
        let Some(boundary) = boundaries.last() else { return };
        let Some((anchor, preserved)) = self.preserved_by(boundary) else { return };
        let place = boundary.order;
        if preserved.iter().any(|id| self.entry(id).is_none()) {
            return;
        }
        self.relink(anchor.as_ref(), &preserved);
        self.forget_before(place, &preserved);
        self.relinked = !preserved.is_empty();
    }

    /// Returns the anchor and the ids of the messages that a boundary preserves; `None` if the walk from tail to head is
    /// broken (2.2).
    fn preserved_by(&self, boundary: &Entry) -> Option<(Option<String>, Vec<String>)> {
        let metadata = &boundary.value["compactMetadata"];
        let (messages, segment) = (&metadata["preservedMessages"], &metadata["preservedSegment"]);
        if messages.is_object() {
            let ids = messages["uuids"].as_array().cloned().unwrap_or_default();
            let ids = ids.iter().map(|id| text(id).to_owned()).collect();
            Some((anchor(messages), ids))
        } else if segment.is_object() {
            let ids = self.segment(text(&segment["headUuid"]), text(&segment["tailUuid"]))?;
            Some((anchor(segment), ids))
        } else {
            Some((None, Vec::new()))
        }
    }

    /// Returns the ids from `head` to `tail`; `None` if the chain of `tail` does not reach `head`.
    fn segment(&self, head: &str, tail: &str) -> Option<Vec<String>> {
        let chain = self.written_chain(self.entry(tail)?);
        let length = chain.iter().position(|entry| entry.id == head)? + 1;
        Some(chain[..length].iter().rev().map(|entry| entry.id.clone()).collect())
    }

    /// Makes the anchor the parent of the first preserved message, and each of them the parent of the next. Other children of
    /// the anchor become children of the last one (2.3).
    fn relink(&mut self, anchor: Option<&String>, preserved: &[String]) {
        let (Some(first), Some(last)) = (preserved.first(), preserved.last()) else { return };
        let mut before = anchor.cloned();
        for id in preserved {
            if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == *id) {
                entry.parent = before;
            }
            before = Some(id.clone());
        }
        for entry in
            self.entries.iter_mut().filter(|entry| entry.id != *first && entry.parent.as_ref() == anchor)
        {
            entry.parent = Some(last.clone());
        }
    }

    /// Forgets the entries before a place that are not preserved (2.4). Messages whose parent is forgotten become children of
    /// the last preserved one (2.5).
    fn forget_before(&mut self, place: usize, preserved: &[String]) {
        let (rest, forgotten): (Vec<_>, Vec<_>) =
            self.entries.drain(..).partition(|entry| entry.order >= place || preserved.contains(&entry.id));
        self.entries = rest;
        let Some(last) = preserved.last() else { return };
        for entry in &mut self.entries {
            let lost_parent = forgotten.iter().any(|other| entry.parent.as_ref() == Some(&other.id));
            if entry.is_message() && lost_parent {
                entry.parent = Some(last.clone());
            }
        }
    }
}

fn anchor(preserved: &Value) -> Option<String> {
    preserved["anchorUuid"].as_str().map(str::to_owned)
}

/// Returns whether a boundary names preserved messages, if only an empty list of them.
fn names_preserved(boundary: &Entry) -> bool {
    let metadata = &boundary.value["compactMetadata"];
    metadata["preservedMessages"].is_object() || metadata["preservedSegment"].is_object()
}
