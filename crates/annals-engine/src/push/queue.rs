//! The entries of a transcript in the order of the file, and which of them the server has.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use annals_transcript::checkpoint::{Change, Checkpoint};
use annals_transcript::file_state::FileState;
use annals_transcript::json::JsonStr;
use annals_transcript::line::{Position, read_span};
use annals_transcript::{Entry, Reader};

use super::progress::PushProgress;
use crate::remote::is_visible;

/// An id that is longer is not sent in a header.
const LONGEST_ID: usize = 256;

/// The entries of a transcript that can be sent.
///
/// An entry whose uuid occurred before is not sent: a server stores each uuid once. An entry whose uuid cannot be the value of a
/// header counts as a record without one.
#[derive(Debug)]
pub(super) struct Queue {
    session: String,
    /// Whether records are sent, too.
    all: bool,
    items: Vec<QueuedEntry>,
    /// The index of the item with each id.
    ids: HashMap<Box<str>, usize>,
    /// The server has all entries with a uuid before this index …
    entries_stored: usize,
    /// … and all records before this one.
    records_stored: usize,
    /// The item with a uuid that the server has stored last.
    head: Option<usize>,
    /// Every item before this index is stored or not sent.
    cursor: usize,
    stored: usize,
    /// The end of the last whole line that was read.
    end: Position,
    checkpoint: Checkpoint,
}

/// An entry or record.
#[derive(Debug)]
struct QueuedEntry {
    offset: u64,
    length: u64,
    hash: u64,
    /// `None` for a record without a uuid.
    id: Option<Box<str>>,
    /// Whether it has a uuid that cannot be the value of a header.
    has_other_id: bool,
}

impl QueuedEntry {
    fn end(&self) -> u64 {
        self.offset + self.length
    }
}

impl Queue {
    pub(super) fn new(session: &str, all: bool) -> Self {
        Self {
            session: session.to_owned(),
            all,
            items: Vec::new(),
            ids: HashMap::new(),
            entries_stored: 0,
            records_stored: 0,
            head: None,
            cursor: 0,
            stored: 0,
            end: Position { offset: 0, line: 1 },
            checkpoint: Checkpoint::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Reads the whole lines that were added to the transcript. Returns `false` if it is another file than before, or was
    /// rewritten.
    pub(super) fn read(&mut self, file: &mut File, state: &FileState) -> io::Result<bool> {
        if self.checkpoint.compare(file, state)? == Change::Replaced {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(self.end.offset))?;
        let mut reader =
            Reader::resume((&*file).take(state.length - self.end.offset), self.end).with_grammar_check();
        // A line may have several entries; they count once the line is complete.
        let mut line = Vec::new();
        while let Some(entry) = reader.read()? {
            line.extend(item(&entry));
            if entry.ends_in_newline() {
                line.drain(..).for_each(|item| add(&mut self.items, &mut self.ids, item));
                self.end = reader.position();
            }
        }
        self.checkpoint = Checkpoint::at(file, state.identity, self.end.offset)?;
        Ok(true)
    }

    /// Returns which file the items were read from.
    pub(super) fn identity(&self) -> (u64, u64) {
        self.checkpoint.identity()
    }

    /// Returns the next item to be sent. As long as the server is not known to have an entry of the transcript, this is an entry
    /// with a uuid, and records wait: the server would add a record to any log.
    pub(super) fn next(&mut self) -> Option<usize> {
        let next = (self.cursor..self.items.len()).find(|index| self.is_pending(*index));
        self.cursor = next.unwrap_or(self.items.len());
        if self.head.is_some() {
            return next;
        }
        (self.cursor..self.items.len())
            .find(|&index| self.items[index].id.is_some() && self.is_pending(index))
    }

    /// Returns how many items the server does not have.
    pub(super) fn pending(&self) -> usize {
        (0..self.items.len()).filter(|index| self.is_pending(*index)).count()
    }

    /// Returns how many records wait for the first entry with a uuid.
    pub(super) fn waiting(&self) -> usize {
        if self.ids.is_empty() { self.pending() } else { 0 }
    }

    /// Returns how many entries are not sent because their uuid cannot be the value of a header.
    pub(super) fn skipped(&self) -> usize {
        self.items.iter().filter(|item| item.has_other_id && !self.all).count()
    }

    /// Returns whether there are uuids, but none that can be the value of a header.
    pub(super) fn has_unusable_ids_only(&self) -> bool {
        self.ids.is_empty() && self.items.iter().any(|item| item.has_other_id)
    }

    fn is_pending(&self, index: usize) -> bool {
        match self.items[index].id {
            Some(_) => index >= self.entries_stored,
            None => self.all && index >= self.records_stored,
        }
    }

    /// Returns how far the server is: it increases with every entry that it stores.
    pub(super) fn position(&self) -> (usize, usize) {
        (self.entries_stored, self.records_stored)
    }

    /// Returns how many items were stored since the queue was made.
    pub(super) fn stored_count(&self) -> usize {
        self.stored
    }

    /// Returns the uuid of the last entry that the server has.
    pub(super) fn last_stored(&self) -> Option<&str> {
        self.id(self.head?)
    }

    /// Returns the uuid of an item.
    pub(super) fn id(&self, index: usize) -> Option<&str> {
        self.items[index].id.as_deref()
    }

    /// Returns where an item begins in the transcript.
    pub(super) fn offset(&self, index: usize) -> u64 {
        self.items[index].offset
    }

    /// Returns the item with a uuid.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.ids.get(id).copied()
    }

    /// Returns the key of a record without a uuid: it is the same whenever the same line is sent.
    pub(super) fn key(&self, index: usize) -> Option<String> {
        let QueuedEntry { offset, hash, id, .. } = &self.items[index];
        id.is_none().then(|| format!("{}-{offset:x}-{hash:016x}", self.session))
    }

    /// Reads an item. Returns `None` if the transcript no longer has it. What is not UTF-8 becomes U+FFFD, as Claude Code reads it:
    /// a server would not take it for JSON.
    pub(super) fn body(&self, file: &mut File, index: usize) -> io::Result<Option<Vec<u8>>> {
        let item = &self.items[index];
        match read_span(file, item.offset, item.length) {
            // The file was cut off.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            body => Ok(Some(body?).filter(|body| hash(body) == item.hash).map(into_utf8)),
        }
    }

    /// Notes that the server has an item.
    pub(super) fn mark_stored(&mut self, index: usize) {
        self.stored += 1;
        if self.items[index].id.is_some() {
            (self.head, self.entries_stored) = (Some(index), index + 1);
        } else {
            self.records_stored = index + 1;
        }
    }

    /// Notes that an item is the last one with a uuid that the server has. Records after it are sent again, if it was thought
    /// to have more: the server recognises those that it has by their keys.
    pub(super) fn continue_behind(&mut self, index: usize) {
        if index + 1 < self.entries_stored {
            self.records_stored = self.records_stored.min(index + 1);
        }
        (self.head, self.entries_stored) = (Some(index), index + 1);
        self.cursor = self.entries_stored.min(self.records_stored);
    }

    /// Notes that the server has nothing, or that it is not known what it has.
    pub(super) fn start_over(&mut self) {
        (self.head, self.entries_stored, self.records_stored, self.cursor) = (None, 0, 0, 0);
    }

    /// Continues where an earlier push ended. Returns `false` if the transcript is not the one that was pushed.
    pub(super) fn continue_at(&mut self, progress: &PushProgress) -> bool {
        let [entries, records] = [progress.checkpoint.offset(), progress.records]
            .map(|offset| self.items.partition_point(|item| item.offset < offset));
        let head = (0..entries).rev().find(|index| self.items[*index].id.is_some());
        if head.and_then(|head| self.id(head)) != Some(&progress.last) {
            return false;
        }
        (self.head, self.entries_stored, self.records_stored) = (head, entries, records);
        self.cursor = entries.min(records);
        true
    }

    /// Returns the progress to be saved; `None` if the server is not known to have an entry of the transcript.
    pub(super) fn progress(&self, file: &mut File) -> io::Result<Option<PushProgress>> {
        let (Some(head), Some(last)) = (self.head, self.last_stored()) else { return Ok(None) };
        let records = self.records_stored.checked_sub(1).map_or(0, |last| self.items[last].end());
        let checkpoint = Checkpoint::at(file, self.checkpoint.identity(), self.items[head].end())?;
        Ok(Some(PushProgress { checkpoint, records, last: last.to_owned() }))
    }
}

/// Returns an entry as an item, if it is a JSON object that annals can read.
fn item(entry: &Entry<'_>) -> Option<QueuedEntry> {
    if entry.verify().is_some_and(|problem| !problem.is_readable()) {
        return None;
    }
    let body = entry.body().filter(|body| body.is_object())?;
    let given = entry.head().id.map(JsonStr::decode).filter(|id| !id.is_empty());
    let id = given.as_deref().filter(|id| id.len() <= LONGEST_ID && is_visible(id)).map(Box::from);
    let has_other_id = given.is_some() && id.is_none();
    let (offset, bytes) = (entry.at().offset + entry.offset_of(body), body.bytes());
    Some(QueuedEntry { offset, length: bytes.len() as u64, hash: hash(bytes), id, has_other_id })
}

fn into_utf8(bytes: Vec<u8>) -> Vec<u8> {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        .into_bytes()
}

/// Adds an item, unless an earlier one has its uuid.
fn add(items: &mut Vec<QueuedEntry>, ids: &mut HashMap<Box<str>, usize>, item: QueuedEntry) {
    if let Some(id) = &item.id {
        if ids.contains_key(id) {
            return;
        }
        ids.insert(id.clone(), items.len());
    }
    items.push(item);
}

/// Returns the FNV-1a hash of bytes. Servers keep it as a part of keys, so it must be the same in every version of annals,
/// which the hashers of the standard library do not promise.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
