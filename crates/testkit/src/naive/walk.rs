//! The walk from the last message to the root, section 4 of `docs/CHAIN.md`.

use super::{
    entry::{Entry, holds},
    load::File,
};

/// How much earlier than an entry the one may be that takes the place of its missing parent.
const BRIDGE_MILLISECONDS: i64 = 5000;

impl File {
    /// Returns the chain that ends in an entry, root first. A parent that is missing or was walked already is bridged (4.1,
    /// 4.2).
    pub(super) fn walk<'f>(&'f self, last: &'f Entry) -> Vec<&'f Entry> {
        let mut path = Vec::new();
        let mut at = Some(last);
        while let Some(entry) = at {
            path.push(entry);
            at = match self.parent(entry) {
                Some(parent) if !holds(&path, parent) => Some(parent),
                _ if entry.parent.is_some() => self.bridge(entry, &path),
                _ => None,
            };
        }
        path.reverse();
        path
    }

    /// Returns the newest entry that is not walked yet and not newer than the given one, if it is close enough; of several,
    /// the first line (4.2). A sidechain entry is bridged to sidechain entries only, and a main one to main ones (4.3).
    fn bridge(&self, entry: &Entry, walked: &[&Entry]) -> Option<&Entry> {
        let time = entry.time()?;
        let mut best: Option<(i64, &Entry)> = None;
        for other in &self.entries {
            let Some(before) = other.time() else { continue };
            let is_candidate = other.is_side() == entry.is_side() && !holds(walked, other) && before <= time;
            if is_candidate && best.is_none_or(|(best, _)| before > best) {
                best = Some((before, other));
            }
        }
        best.filter(|(before, _)| time - before <= BRIDGE_MILLISECONDS).map(|(_, other)| other)
    }
}
