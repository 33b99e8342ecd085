//! Facts about a session from the two ends of its file, so that lists need not read what lies between.
//!
//! `docs/LISTS.md` states the rules. [`Lite`] holds the facts and takes them from one entry at a time (section 2). `ends`
//! decides which bytes are read (section 1), `scan` reads more of a file where its ends leave a question open (1.7), `fast`
//! skips messages that change no fact (section 4), `truncated` reads lines that are cut off (section 5), and `summary` finds
//! the titles of old versions (3.3).

mod ends;
mod fast;
mod scan;
mod summary;
#[cfg(test)]
mod tests;
mod truncated;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use jiff::Timestamp;

use crate::checkpoint::Fingerprint;
use crate::entry::view::View;
use crate::entry::{Entry, Flag, Head, Kind};
use crate::json::{JsonStr, Value};
use crate::line::{Entries, Reader};
use crate::prompt;
use crate::queue::Queue;
pub use scan::ScanBound;
use summary::Summaries;
pub use summary::VerifiedSummary;
pub use truncated::{field_without_beginning, field_without_end};

/// Facts about a session, from the entries of its file that were read.
///
/// ```
/// use annals_transcript::lite::Lite;
///
/// let file = concat!(
///     r#"{"type":"user","uuid":"a","cwd":"/src","message":{"role":"user","content":"Hello"}}"#, "\n",
///     r#"{"type":"custom-title","customTitle":"Greetings"}"#, "\n",
/// );
/// let lite = Lite::read(&mut std::io::Cursor::new(file), file.len() as u64)?;
/// assert_eq!((lite.cwd.as_deref(), lite.first_prompt.as_deref()), (Some("/src"), Some("Hello")));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Lite {
    /// The length of the file.
    pub size: u64,
    /// Whether all of the file was read, so that nothing was missed.
    pub whole: bool,
    /// Whether the bound of a scan left a part of the file unread (LISTS 1.8).
    pub partial: bool,
    /// The first `sessionId`.
    pub session: Option<String>,
    /// The first `cwd` of a message: the project's path.
    pub cwd: Option<String>,
    /// The last `cwd` of a message.
    pub last_cwd: Option<String>,
    /// The last `gitBranch` of a message.
    pub git_branch: Option<String>,
    /// The last `version` of a message.
    pub version: Option<String>,
    /// The first `entrypoint` of a message.
    pub entrypoint: Option<String>,
    /// The last `permissionMode`; none if the file was not read whole and its tail has none.
    pub permission_mode: Option<String>,
    /// The session that the first message was copied from.
    pub forked_from: Option<String>,
    /// The first words of a person, see [`prompt::own_words`].
    pub first_prompt: Option<String>,
    /// The first words of the model, if no prompt is before them (LISTS 3.6).
    pub first_reply: Option<String>,
    /// The earliest time.
    pub first_at: Option<Timestamp>,
    /// The latest time; none if the file was not read whole and its tail has none.
    pub last_at: Option<Timestamp>,
    /// The number of messages of the user and the model that were read, without those of subagents.
    pub messages: u64,
    /// Whether there is a message.
    pub has_messages: bool,
    /// Whether there is a message that is not a subagent's.
    pub has_main_messages: bool,
    /// Whether the tail has a message, so that the last branch and the last version are known (LISTS 2.3).
    pub tail_has_messages: bool,
    /// The last record of each type.
    records: BTreeMap<Kind, Vec<u8>>,
    /// Types of records that are in the tail of the file.
    in_tail: BTreeSet<Kind>,
    summaries: Summaries,
    queue: QueueInEntries,
    /// The fingerprint of the file at its length, for a [`Checkpoint`](crate::checkpoint::Checkpoint); `None` if nothing was
    /// read.
    pub fingerprint: Option<Fingerprint>,
}

impl Lite {
    /// Reads both ends of a file up to `size`, its length. Bytes that were appended since are not read (LISTS 1.1).
    pub fn read(file: &mut (impl Read + Seek), size: u64) -> io::Result<Self> {
        ends::read(file, size)
    }

    /// Reads a file up to `size` for facts that its ends do not have: all of it, or as much as the bound allows (LISTS 1.7,
    /// LISTS 1.8).
    pub fn scan(file: &mut (impl Read + Seek), size: u64, bound: ScanBound) -> io::Result<Self> {
        scan::read(file, size, bound)
    }

    /// Reads all of a file from `offset`, the start of a line, up to `size` (LISTS 1.9).
    pub fn read_from(file: &mut (impl Read + Seek), offset: u64, size: u64) -> io::Result<Self> {
        let fingerprint = Some(Fingerprint::at(file, size)?);
        let mut lite = Self { size, whole: true, fingerprint, ..Self::default() };
        lite.add_span(file, offset..size)?;
        Ok(lite)
    }

    /// Returns the last record of a type that was read.
    pub fn last<'a, V: View<'a>>(&'a self) -> Option<V> {
        self.records.get(&V::KIND).map(|body| V::over(Value::trusted(body)))
    }

    /// Returns the last record of a type if there can be no later one in bytes that were not read.
    pub fn newest<'a, V: View<'a>>(&'a self) -> Option<V> {
        if self.whole || self.in_tail.contains(&V::KIND) { self.last() } else { None }
    }

    /// Returns the last summary of this session, which old versions wrote as its title (LISTS 3.3). This may search the file,
    /// as much of it as the bound of a scan allows.
    pub fn summary(&self, file: &mut (impl Read + Seek), bound: ScanBound) -> io::Result<VerifiedSummary> {
        self.summaries.last_of_session(file, &bound.spans(self.size))
    }

    /// Returns how many prompts wait in the queue (LISTS 2.11); `None` if that is not known because not all of the file was
    /// read. `before` is how many waited before the first entry that was read.
    pub fn queued_after(&self, before: Option<u64>) -> Option<u64> {
        match before {
            _ if !self.whole || self.queue.is_unknown => None,
            Some(0) => Some(self.queue.waiting.len() as u64),
            // Which prompts an operation takes depends on their texts, which are not known.
            before => before.filter(|_| !self.queue.has_operations),
        }
    }

    /// Creates the facts of a file with these ends, of which no entry was read yet.
    fn with_ends(head: &[u8], tail: &[u8], size: u64) -> Self {
        Self { size, fingerprint: Some(Fingerprint::of_ends(head, tail)), ..Self::default() }
    }

    /// Adds the entries of a part of a file that begins with a line.
    fn add_span(&mut self, file: &mut (impl Read + Seek), span: Range<u64>) -> io::Result<()> {
        file.seek(SeekFrom::Start(span.start))?;
        let mut reader = Reader::new(file.take(span.end.saturating_sub(span.start)));
        while let Some(entry) = reader.read()? {
            self.add(&entry);
        }
        Ok(())
    }

    fn add_lines(&mut self, lines: &[u8]) {
        Entries::of(lines).for_each(|entry| self.add(&entry));
    }

    /// Adds what the next entry of the file says.
    fn add(&mut self, entry: &Entry<'_>) {
        let head = entry.head();
        if let Some(time) = head.time() {
            self.add_time(time);
        }
        // LISTS 2.10
        if (head.kind.last_one_wins() || head.kind == Kind::PrLink)
            && let Some(body) = entry.body()
        {
            self.records.insert(head.kind, body.bytes().to_vec());
        }
        if head.kind == Kind::Summary {
            self.summaries.add(entry.bytes());
        }
        // LISTS 2.11
        self.queue.add(entry);
        set_first(&mut self.session, head.session); // LISTS 2.1
        set_last(&mut self.permission_mode, head.permission_mode); // LISTS 2.5
        if head.kind.is_message() {
            self.add_message(entry, head);
        }
    }

    fn add_message(&mut self, entry: &Entry<'_>, head: &Head<'_>) {
        set_first(&mut self.cwd, head.cwd); // LISTS 2.2
        set_last(&mut self.last_cwd, head.cwd);
        set_last(&mut self.git_branch, head.git_branch); // LISTS 2.3
        set_last(&mut self.version, head.version);
        set_first(&mut self.entrypoint, head.entrypoint); // LISTS 2.4
        // LISTS 2.8
        if !self.has_messages {
            self.forked_from = head.forked_from.map(|origin| origin.decode().into_owned());
        }
        let is_main = !entry.has(Flag::Sidechain);
        self.has_messages = true;
        self.has_main_messages |= is_main;
        // LISTS 2.9
        self.messages += u64::from(is_main && head.kind.is_prompt_or_reply());
        // LISTS 2.7
        if self.first_prompt.is_none() {
            self.first_prompt = prompt::own_words(entry).map(Cow::into_owned);
        }
        // LISTS 3.6
        if self.first_prompt.is_none() && self.first_reply.is_none() {
            self.first_reply = prompt::reply_words(entry).map(Cow::into_owned);
        }
    }

    /// Extends the range of times (LISTS 2.6).
    fn add_time(&mut self, time: Timestamp) {
        self.first_at = Some(self.first_at.map_or(time, |first| first.min(time)));
        self.last_at = Some(self.last_at.map_or(time, |last| last.max(time)));
    }

    /// Adds the facts of the tail to those of the head. `meets_head` says whether no bytes lie between the two.
    fn add_tail(&mut self, tail: Lite, tail_bytes: &[u8], meets_head: bool) {
        if !meets_head {
            self.forget_what_the_tail_replaces(&tail, tail_bytes);
        }
        self.session = self.session.take().or(tail.session);
        self.cwd = self.cwd.take().or(tail.cwd);
        self.entrypoint = self.entrypoint.take().or(tail.entrypoint);
        self.last_cwd = tail.last_cwd.or(self.last_cwd.take());
        self.git_branch = tail.git_branch.or(self.git_branch.take());
        self.version = tail.version.or(self.version.take());
        self.permission_mode = tail.permission_mode.or(self.permission_mode.take());
        self.messages += tail.messages;
        self.has_messages |= tail.has_messages;
        self.tail_has_messages = tail.has_messages;
        self.has_main_messages |= tail.has_main_messages;
        self.in_tail = tail.records.keys().copied().collect();
        self.records.extend(tail.records);
        self.summaries.append(tail.summaries);
        self.queue.add_tail(tail.queue);
        [tail.first_at, tail.last_at].into_iter().flatten().for_each(|time| self.add_time(time));
        if meets_head {
            self.whole = true;
            self.first_prompt = self.first_prompt.take().or(tail.first_prompt);
            self.first_reply = self.first_reply.take().or(tail.first_reply);
        }
    }

    /// Forgets facts of the head that may be outdated, since bytes between head and tail were not read.
    fn forget_what_the_tail_replaces(&mut self, tail: &Lite, tail_bytes: &[u8]) {
        // LISTS 4.1
        if fast::repeats_records(tail_bytes) {
            self.records.retain(|kind, _| *kind == Kind::Relocated);
        }
        // LISTS 2.5
        self.permission_mode = None;
        // LISTS 2.6
        if tail.last_at.is_none() {
            self.last_at = None;
        }
    }
}

/// The prompts that wait in the queue, according to the entries that were read.
#[derive(Clone, Debug, Default)]
struct QueueInEntries {
    waiting: Queue,
    /// Whether there is an entry about the queue.
    has_operations: bool,
    /// Whether the queue is not known, because head and tail were read apart and both have entries about it.
    is_unknown: bool,
}

impl QueueInEntries {
    fn add(&mut self, entry: &Entry<'_>) {
        self.has_operations |= entry.kind() == Kind::QueueOperation;
        if self.waiting.concerns(entry.kind()) {
            self.waiting.add(0, entry);
        }
    }

    /// Adds the entries of the tail. If nothing waited before them, they decide alone.
    fn add_tail(&mut self, tail: QueueInEntries) {
        self.is_unknown = !self.waiting.is_empty() && tail.has_operations;
        self.has_operations |= tail.has_operations;
        if self.waiting.is_empty() {
            self.waiting = tail.waiting;
        }
    }
}

/// Sets `slot` unless it is already set: the first value wins.
fn set_first(slot: &mut Option<String>, value: Option<JsonStr<'_>>) {
    if slot.is_none() {
        *slot = value.map(|text| text.decode().into_owned());
    }
}

/// Sets `slot` if there is a value: the last value wins. A value that does not change is not copied.
fn set_last(slot: &mut Option<String>, value: Option<JsonStr<'_>>) {
    if let Some(text) = value
        && slot.as_ref().is_none_or(|current| text != **current)
    {
        *slot = Some(text.decode().into_owned());
    }
}
