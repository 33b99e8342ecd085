//! Taking an entry out of a transcript, so that the rest still hangs together.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use serde_json::{Map, Value as Json};

use crate::json::{Value, quote};
use crate::line::Reader;
use crate::{Entry, patch};

/// An entry to be taken out, and what depends on it.
#[derive(Debug)]
pub(super) struct Removal<'i> {
    id: &'i str,
    /// What it hangs on.
    parent: Option<String>,
    /// What comes before it behind a compaction that keeps it, and the line of that compaction.
    kept_behind: Option<(u64, String)>,
    /// What hangs on it.
    children: Vec<String>,
    /// Whether another entry names it.
    is_named: bool,
    /// Where it stands, if it is the last line of the file and the only one of its id.
    last_line_at: Option<u64>,
    /// Whether it begins a compaction.
    pub(super) is_boundary: bool,
}

impl<'i> Removal<'i> {
    /// Finds the entry in a transcript.
    pub(super) fn find(source: impl Read, id: &'i str) -> io::Result<Option<Self>> {
        let mut removal = Self {
            id,
            parent: None,
            kept_behind: None,
            children: Vec::new(),
            is_named: false,
            last_line_at: None,
            is_boundary: false,
        };
        let mut reader = Reader::new(source);
        let (mut found, mut is_behind_newline) = (0, true);
        while let Some(entry) = reader.read()? {
            let begins_line = std::mem::replace(&mut is_behind_newline, entry.ends_in_newline());
            removal.last_line_at = None;
            if removal.is_meant(&entry) {
                found += 1;
                removal.is_boundary |= entry.head().is_boundary();
                removal.parent = entry.head().parent.map(|parent| parent.decode().into_owned());
                let has_its_line = found == 1 && begins_line && entry.ends_in_newline();
                removal.last_line_at = has_its_line.then_some(entry.at().offset);
            } else if removal.names_it(&entry) {
                removal.is_named = true;
                let behind = removal.before_it_in(&entry).map(|id| (entry.at().line, id));
                removal.kept_behind = behind.or(removal.kept_behind);
                let hangs_on_it = entry.head().parent.is_some_and(|parent| parent == *id);
                let child = entry.head().id.filter(|_| hangs_on_it);
                removal.children.extend(child.map(|child| child.decode().into_owned()));
            }
        }
        // An entry may name itself in a circle.
        removal.parent = removal.parent.filter(|parent| parent != id);
        Ok((found > 0).then_some(removal))
    }

    /// Returns where the file can be cut to take the entry out, if nothing depends on it.
    pub(super) fn cut_at(&self) -> Option<u64> {
        self.last_line_at.filter(|_| !self.is_named)
    }

    /// Copies a transcript without the entry. The newline of a line that it shares with others stays.
    pub(super) fn copy(&self, source: impl Read, out: &mut dyn Write) -> io::Result<()> {
        let mut reader = Reader::new(source);
        let mut is_behind_newline = true;
        while let Some(entry) = reader.read()? {
            let begins_line = std::mem::replace(&mut is_behind_newline, entry.ends_in_newline());
            if !self.is_meant(&entry) {
                out.write_all(&self.relinked(&entry))?;
            } else if !begins_line {
                out.write_all(&entry.bytes()[entry.bytes().trim_ascii_end().len()..])?;
            }
        }
        Ok(())
    }

    fn is_meant(&self, entry: &Entry<'_>) -> bool {
        entry.head().id.is_some_and(|id| id == *self.id)
    }

    fn names_it(&self, entry: &Entry<'_>) -> bool {
        let head = entry.head();
        let links = [head.parent, head.logical_parent, head.leaf];
        links.into_iter().flatten().any(|link| link == *self.id)
            || head.is_boundary() && self.is_kept_by(entry)
    }

    fn is_kept_by(&self, entry: &Entry<'_>) -> bool {
        let metadata = entry.body().and_then(|body| body.get("compactMetadata"));
        let part = |key: &str| metadata.and_then(|metadata| metadata.get(key));
        let (messages, segment) = (part("preservedMessages"), part("preservedSegment"));
        let lists = ["uuids", "allUuids"].into_iter().filter_map(|key| Some(messages?.texts(key))).flatten();
        let ends = ["headUuid", "anchorUuid", "tailUuid"].into_iter().filter_map(|key| segment?.text(key));
        let anchor = messages.and_then(|messages| messages.text("anchorUuid"));
        lists.chain(ends).chain(anchor).any(|id| id == self.id)
    }

    /// Returns the message that comes before the entry behind a compaction: the one kept before it, or the anchor.
    fn before_it_in(&self, entry: &Entry<'_>) -> Option<String> {
        let kept = entry.body()?.get("compactMetadata")?.get("preservedMessages")?;
        let ids: Vec<_> = kept.texts("uuids").collect();
        let place = ids.iter().position(|id| *id == self.id)?;
        let before = place.checked_sub(1).map(|place| ids[place].clone().into_owned());
        before.or_else(|| kept.text("anchorUuid").map(Cow::into_owned))
    }

    /// Returns what takes the place of the entry for one that names it.
    fn stand_in(&self, for_entry: &Entry<'_>) -> Option<&str> {
        match &self.kept_behind {
            Some((line, id)) if for_entry.at().line > *line => Some(id),
            _ => self.parent.as_deref(),
        }
    }

    /// Returns an entry in which what named the one that is gone names what takes its place.
    fn relinked<'e>(&self, entry: &Entry<'e>) -> Cow<'e, [u8]> {
        if !self.names_it(entry) {
            return Cow::Borrowed(entry.bytes());
        }
        let mut line = entry.bytes().to_vec();
        let mut set = |key: &str, value: &str| {
            // A line that holds several objects stays as it is: the client loses what is behind the first anyway.
            if let Ok(changed) = patch::set(&line, key, value) {
                line = changed;
            }
        };
        let stand_in = self.stand_in(entry);
        let parent = stand_in.map_or_else(|| "null".to_owned(), quote);
        let head = entry.head();
        for (key, link) in [("parentUuid", head.parent), ("logicalParentUuid", head.logical_parent)] {
            if link.is_some_and(|link| link == *self.id) {
                set(key, &parent);
            }
        }
        if stand_in.is_some() && head.leaf.is_some_and(|leaf| leaf == *self.id) {
            set("leafUuid", &parent);
        }
        let metadata = entry.body().and_then(|body| body.get("compactMetadata"));
        if head.is_boundary() && self.is_kept_by(entry) {
            let metadata = metadata.and_then(|metadata| self.kept_without(metadata));
            set("compactMetadata", &metadata.unwrap_or_else(|| "{}".to_owned()));
        }
        Cow::Owned(line)
    }

    /// Returns what a compaction keeps, without the entry: the client takes all that is named, or nothing at all.
    fn kept_without(&self, metadata: Value<'_>) -> Option<String> {
        let mut metadata: Map<String, Json> = serde_json::from_slice(metadata.bytes()).ok()?;
        let mut kept: Option<Vec<String>> = None;
        if let Some(messages) = metadata.get_mut("preservedMessages") {
            for list in ["uuids", "allUuids"] {
                if let Some(list) = messages.get_mut(list).and_then(Json::as_array_mut) {
                    list.retain(|id| id != self.id);
                }
            }
            self.replace(messages.get_mut("anchorUuid"), self.parent.as_deref());
            let list = messages.get("uuids").and_then(Json::as_array);
            kept = list.map(|list| list.iter().filter_map(Json::as_str).map(str::to_owned).collect());
        }
        if let Some(segment) = metadata.get_mut("preservedSegment") {
            // Without a list, what hung on the entry is the next of the run.
            let (first, last) = match &kept {
                Some(kept) => (kept.first(), kept.last()),
                None => (self.children.first(), self.parent.as_ref()),
            };
            self.replace(segment.get_mut("headUuid"), first.map(String::as_str));
            self.replace(segment.get_mut("tailUuid"), last.map(String::as_str));
            self.replace(segment.get_mut("anchorUuid"), self.parent.as_deref());
        }
        if kept.is_some_and(|kept| kept.is_empty()) {
            metadata.retain(|key, _| !key.starts_with("preserved"));
        }
        Some(Json::from(metadata).to_string())
    }

    fn replace(&self, value: Option<&mut Json>, by: Option<&str>) {
        if let Some(value) = value.filter(|value| **value == self.id) {
            *value = by.into();
        }
    }
}
