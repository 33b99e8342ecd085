//! Removes an entry from a transcript and relinks the entries that refer to it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read, Seek, SeekFrom, Write};

use serde_json::{Map, Value as Json};

use crate::json::{Value, quote};
use crate::line::Reader;
use crate::{Entry, patch};

/// An entry to be removed, and what depends on it.
#[derive(Debug)]
pub(super) struct Removal<'i> {
    id: &'i str,
    /// Its parent.
    parent: Option<String>,
    /// If a compaction keeps the entry: the line of that compaction, and the message that comes before the entry after it.
    preserved_after: Option<(u64, String)>,
    /// The segments of compactions that begin with it, by their tails: the message that follows it in each.
    followers: BTreeMap<String, Option<String>>,
    /// Whether another entry refers to it.
    is_referenced: bool,
    /// Its offset, if it is the last line of the file and the only one with its id.
    last_line_at: Option<u64>,
    /// Whether it is a compaction boundary.
    pub(super) is_boundary: bool,
}

impl<'i> Removal<'i> {
    /// Finds the entry in a transcript.
    pub(super) fn find(mut source: impl Read + Seek, id: &'i str) -> io::Result<Option<Self>> {
        let mut removal = Self {
            id,
            parent: None,
            preserved_after: None,
            followers: BTreeMap::new(),
            is_referenced: false,
            last_line_at: None,
            is_boundary: false,
        };
        let mut reader = Reader::new(&mut source);
        let (mut found, mut is_behind_newline) = (0, true);
        while let Some(entry) = reader.read()? {
            let begins_line = std::mem::replace(&mut is_behind_newline, entry.ends_in_newline());
            removal.last_line_at = None;
            if removal.is_target(&entry) {
                found += 1;
                removal.is_boundary |= entry.head().is_boundary();
                removal.parent = entry.head().parent.map(|parent| parent.decode().into_owned());
                let has_its_line = found == 1 && begins_line && entry.ends_in_newline();
                removal.last_line_at = has_its_line.then_some(entry.at().offset);
            } else if removal.refers_to_target(&entry) {
                removal.is_referenced = true;
                let behind = removal.predecessor_in(&entry).map(|id| (entry.at().line, id));
                removal.preserved_after = behind.or(removal.preserved_after);
                removal.followers.extend(removal.tail_of_segment_in(&entry).map(|tail| (tail, None)));
            }
        }
        // In a damaged file an entry may be its own parent.
        removal.parent = removal.parent.filter(|parent| parent != id);
        if !removal.followers.is_empty() {
            source.seek(SeekFrom::Start(0))?;
            removal.find_followers(&parents(source)?);
        }
        Ok((found > 0).then_some(removal))
    }

    /// Finds the message that follows the entry in each segment. The entry may have other children, such as an attachment or
    /// the first message of another branch, so this follows the parents from the tail.
    fn find_followers(&mut self, parents: &HashMap<String, String>) {
        // What a walk from each id finds. A hostile file may have as many segments as entries, so no entry is walked twice.
        let mut found_from: HashMap<&str, Option<&str>> = HashMap::new();
        for (tail, follower) in &mut self.followers {
            let mut walked = Vec::new();
            let mut id = tail.as_str();
            let found = loop {
                if let Some(found) = found_from.get(id) {
                    break *found;
                }
                // In a damaged file parents may form a circle; a walk that comes back to its own ids finds nothing.
                found_from.insert(id, None);
                walked.push(id);
                match parents.get(id) {
                    Some(parent) if parent == self.id => break Some(id),
                    Some(parent) => id = parent,
                    None => break None,
                }
            };
            found_from.extend(walked.into_iter().map(|id| (id, found)));
            *follower = found.map(str::to_owned);
        }
    }

    /// Returns the offset at which the file can be truncated to remove the entry, if nothing depends on it.
    pub(super) fn cut_at(&self) -> Option<u64> {
        self.last_line_at.filter(|_| !self.is_referenced)
    }

    /// Copies a transcript without the entry. If the entry shares its line with others, the newline stays.
    pub(super) fn copy(&self, source: impl Read, out: &mut dyn Write) -> io::Result<()> {
        let mut reader = Reader::new(source);
        let mut is_behind_newline = true;
        while let Some(entry) = reader.read()? {
            let begins_line = std::mem::replace(&mut is_behind_newline, entry.ends_in_newline());
            if !self.is_target(&entry) {
                out.write_all(&self.with_new_links(&entry))?;
            } else if !begins_line {
                out.write_all(&entry.bytes()[entry.bytes().trim_ascii_end().len()..])?;
            }
        }
        Ok(())
    }

    fn is_target(&self, entry: &Entry<'_>) -> bool {
        entry.head().id.is_some_and(|id| id == *self.id)
    }

    fn refers_to_target(&self, entry: &Entry<'_>) -> bool {
        let head = entry.head();
        let links = [head.parent, head.logical_parent, head.leaf];
        links.into_iter().flatten().any(|link| link == *self.id)
            || head.is_boundary() && self.is_preserved_by(entry)
    }

    fn is_preserved_by(&self, entry: &Entry<'_>) -> bool {
        let metadata = entry.body().and_then(|body| body.get("compactMetadata"));
        let [messages, segment] = ["preservedMessages", "preservedSegment"].map(|key| metadata?.get(key));
        let lists = ["uuids", "allUuids"].into_iter().filter_map(|key| Some(messages?.texts(key))).flatten();
        let ends = ["headUuid", "anchorUuid", "tailUuid"].into_iter().filter_map(|key| segment?.text(key));
        let anchor = messages.and_then(|messages| messages.text("anchorUuid"));
        lists.chain(ends).chain(anchor).any(|id| id == self.id)
    }

    /// Returns the message that comes before the entry after a compaction: the one kept before it, or the anchor.
    fn predecessor_in(&self, entry: &Entry<'_>) -> Option<String> {
        let metadata = entry.body()?.get("compactMetadata")?;
        let Some(kept) = metadata.get("preservedMessages") else {
            // In a segment, the message before an entry is its parent, except for the first one.
            let segment = metadata.get("preservedSegment")?;
            let is_first = segment.text("headUuid").is_some_and(|head| head == self.id);
            return segment.text("anchorUuid").filter(|_| is_first).map(Cow::into_owned);
        };
        let ids: Vec<_> = kept.texts("uuids").collect();
        let index = ids.iter().position(|id| *id == self.id)?;
        let before = index.checked_sub(1).map(|index| ids[index].clone().into_owned());
        before.or_else(|| kept.text("anchorUuid").map(Cow::into_owned))
    }

    /// Returns the tail of the segment that a compaction keeps, if the segment begins with the entry and its messages are not
    /// listed.
    fn tail_of_segment_in(&self, entry: &Entry<'_>) -> Option<String> {
        let metadata = entry.body()?.get("compactMetadata")?;
        let segment =
            metadata.get("preservedSegment").filter(|_| metadata.get("preservedMessages").is_none())?;
        segment.text("headUuid").filter(|head| head == self.id)?;
        segment.text("tailUuid").map(Cow::into_owned)
    }

    /// Returns the id that an entry should name instead of the removed one.
    fn replacement(&self, for_entry: &Entry<'_>) -> Option<&str> {
        match &self.preserved_after {
            Some((line, id)) if for_entry.at().line > *line => Some(id),
            _ => self.parent.as_deref(),
        }
    }

    /// Returns the bytes of an entry with all references to the removed one replaced.
    fn with_new_links<'e>(&self, entry: &Entry<'e>) -> Cow<'e, [u8]> {
        if !self.refers_to_target(entry) {
            return Cow::Borrowed(entry.bytes());
        }
        let mut line = entry.bytes().to_vec();
        let replacement = self.replacement(entry);
        let parent = replacement.map_or_else(|| "null".to_owned(), quote);
        let head = entry.head();
        for (key, link) in [("parentUuid", head.parent), ("logicalParentUuid", head.logical_parent)] {
            if link.is_some_and(|link| link == *self.id) {
                set(&mut line, key, &parent);
            }
        }
        if replacement.is_some() && head.leaf.is_some_and(|leaf| leaf == *self.id) {
            set(&mut line, "leafUuid", &parent);
        }
        let metadata = entry.body().and_then(|body| body.get("compactMetadata"));
        if head.is_boundary() && self.is_preserved_by(entry) {
            let metadata = metadata.and_then(|metadata| self.metadata_without_target(metadata));
            set(&mut line, "compactMetadata", &metadata.unwrap_or_else(|| "{}".to_owned()));
        }
        Cow::Owned(line)
    }

    /// Returns the metadata of a compaction without the entry. Claude Code keeps either all messages that are listed or, if one
    /// of them is missing, none.
    fn metadata_without_target(&self, metadata: Value<'_>) -> Option<String> {
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
        let is_only = kept.as_ref().map_or_else(|| self.is_whole_segment(&metadata), Vec::is_empty);
        if let Some(segment) = metadata.get_mut("preservedSegment") {
            let tail = segment.get("tailUuid").and_then(Json::as_str);
            let (first, last) = match &kept {
                Some(kept) => (kept.first(), kept.last()),
                None => (tail.and_then(|tail| self.followers.get(tail)?.as_ref()), self.parent.as_ref()),
            };
            self.replace(segment.get_mut("headUuid"), first.map(String::as_str));
            self.replace(segment.get_mut("tailUuid"), last.map(String::as_str));
            self.replace(segment.get_mut("anchorUuid"), self.parent.as_deref());
        }
        if is_only {
            metadata.retain(|key, _| !key.starts_with("preserved"));
        }
        Some(Json::from(metadata).to_string())
    }

    /// Returns whether the entry is the only message of the segment that a compaction keeps.
    fn is_whole_segment(&self, metadata: &Map<String, Json>) -> bool {
        let segment = metadata.get("preservedSegment");
        let mut ends = ["headUuid", "tailUuid"].into_iter().map(|key| segment?.get(key));
        ends.all(|end| end.is_some_and(|id| *id == self.id))
    }

    fn replace(&self, value: Option<&mut Json>, by: Option<&str>) {
        if let Some(value) = value.filter(|value| **value == self.id) {
            *value = by.into();
        }
    }
}

/// Sets a member of an entry. A line with several objects stays as it is: Claude Code loses those after the first anyway.
fn set(line: &mut Vec<u8>, key: &str, value: &str) {
    if let Ok(changed) = patch::set(line, key, value) {
        *line = changed;
    }
}

/// Returns the parents of all entries of a transcript that have one. Of entries with one id, the last counts.
fn parents(source: impl Read) -> io::Result<HashMap<String, String>> {
    let mut parents = HashMap::new();
    let mut reader = Reader::new(source);
    while let Some(entry) = reader.read()? {
        if let (Some(id), Some(parent)) = (entry.head().id, entry.head().parent) {
            parents.insert(id.decode().into_owned(), parent.decode().into_owned());
        }
    }
    Ok(parents)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the followers of `0`, for segments with these tails.
    fn followers(parents: &HashMap<String, String>, tails: &[String]) -> BTreeMap<String, Option<String>> {
        let mut removal = Removal {
            id: "0",
            parent: None,
            preserved_after: None,
            followers: tails.iter().map(|tail| (tail.clone(), None)).collect(),
            is_referenced: true,
            last_line_at: None,
            is_boundary: false,
        };
        removal.find_followers(parents);
        removal.followers
    }

    /// Walking each of these segments to its beginning would take 20 billion steps, which no test run survives.
    #[test]
    fn followers_of_very_many_segments_are_found_in_linear_time() {
        let ids: Vec<_> = (0..200_000).map(|number| number.to_string()).collect();
        let parents = ids.windows(2).map(|pair| (pair[1].clone(), pair[0].clone())).collect();
        let found = followers(&parents, &ids[1..]);
        assert_eq!(found.len(), ids.len() - 1);
        assert!(found.values().all(|follower| follower.as_deref() == Some("1")));
    }

    #[test]
    fn each_segment_has_the_follower_on_its_own_branch() {
        let links = [("1", "0"), ("2", "1"), ("a", "0"), ("b", "a"), ("x", "y"), ("y", "x"), ("z", "y")];
        let parents = links.map(|(id, parent)| (id.to_owned(), parent.to_owned())).into();
        let tails = ["2", "b", "1", "x", "z", "lost"].map(str::to_owned);
        let found = followers(&parents, &tails);
        for (tail, follower) in
            [("2", Some("1")), ("1", Some("1")), ("b", Some("a")), ("x", None), ("z", None), ("lost", None)]
        {
            assert_eq!(found[tail].as_deref(), follower, "{tail}");
        }
    }
}
