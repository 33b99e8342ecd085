//! Facts about a session from the two ends of its file, so that lists need not read what lies between.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::LazyLock;

use jiff::Timestamp;
use memchr::memmem::{self, Finder};

use crate::checkpoint::Fingerprint;
use crate::entry::view::{AiTitle, CustomTitle, Summary, View};
use crate::entry::{Entry, Flag, Kind, time};
use crate::json::{JsonStr, Step, Value, Walk, quote, skip_space, value_end};
use crate::line::{Entries, Reader, fill, first_line, read_into, read_span};
use crate::prompt;

/// How much of each end is read, unless less is enough or more is needed.
const CHUNK: usize = 64 * 1024;

/// How much of each end is enough where the client wrote again at the end what there is to tell.
const NEAR: usize = 16 * 1024;

/// How far an end grows for one long line. A line longer than this is read as far as it goes.
const LIMIT: usize = 8 * 1024 * 1024;

/// Attempts at finding a key in a line without beginning: bounds the work on hostile lines.
const ATTEMPTS: usize = 32;

/// How many summaries are kept: more than any client wrote into one file.
const SUMMARIES: usize = 64;

/// How the client begins records that tell a title.
const TITLES: [&[u8]; 2] = [b"{\"type\":\"custom-title\"", b"{\"type\":\"ai-title\""];

static LAST_PROMPT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\n{\"type\":\"last-prompt\""));
static REPLY: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"role\":\"assistant\""));
static PERMISSION_MODE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"permissionMode\""));
static TIMESTAMP: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"timestamp\""));
static TYPED_OBJECT: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("{\"type\":\""));

/// What the ends of a file tell about its session.
#[derive(Clone, Debug, Default)]
pub struct Lite {
    /// The length of the file.
    pub size: u64,
    /// Whether all of the file was read, so that nothing was missed.
    pub whole: bool,
    /// `sessionId` where it stands first.
    pub session: Option<String>,
    /// `cwd` where it stands first: the project's path.
    pub cwd: Option<String>,
    /// `cwd` where it stands last.
    pub last_cwd: Option<String>,
    /// `gitBranch` where it stands last.
    pub git_branch: Option<String>,
    /// `version` where it stands last.
    pub version: Option<String>,
    /// `entrypoint` where it stands first.
    pub entrypoint: Option<String>,
    /// `permissionMode` where it stands last; none if the end of a file that was not read whole tells none.
    pub permission_mode: Option<String>,
    /// The session that the first message was copied from.
    pub forked_from: Option<String>,
    /// The first words of a person, see [`prompt::own_words`].
    pub first_prompt: Option<String>,
    /// The earliest time seen.
    pub first_at: Option<Timestamp>,
    /// The latest time seen; none if the end of a file that was not read whole tells none.
    pub last_at: Option<Timestamp>,
    /// How many messages of the user and the model were seen that are not a subagent's.
    pub messages: u64,
    /// Whether a message was seen.
    pub has_messages: bool,
    /// Whether a message was seen that is not a subagent's.
    pub has_main_messages: bool,
    /// The last record of each type.
    records: BTreeMap<Kind, Vec<u8>>,
    /// Those of `records` that stand at the end of the file.
    at_end: BTreeSet<Kind>,
    /// Titles as old clients wrote them, in order, that may be of other sessions.
    summaries: Vec<Vec<u8>>,
    /// The last of those that are known to be of this session; older than the others.
    own_summary: Option<String>,
    /// The fingerprint of the file at its length, for a [`Checkpoint`](crate::checkpoint::Checkpoint); `None` if nothing was
    /// read.
    pub fingerprint: Option<Fingerprint>,
}

impl Lite {
    /// Reads both ends of a file that is so long, from its beginning on. What was written since it was so long is left alone.
    pub fn read(file: &mut (impl Read + Seek), size: u64) -> io::Result<Self> {
        with_buffer(|buffer| match buffer.get_mut(..usize::try_from(size).unwrap_or(usize::MAX)) {
            Some(whole) => Self::read_whole(file, whole),
            None => Self::read_ends(file, size, buffer),
        })
    }

    fn read_whole(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<Self> {
        let bytes = fill(file, buffer)?;
        let mut lite = Self { whole: true, ..Self::between(bytes, bytes, bytes.len() as u64) };
        lite.add_lines(bytes);
        if lite.last::<CustomTitle>().is_none() && lite.last::<AiTitle>().is_none() {
            lite.settle_summaries(bytes);
        }
        Ok(lite)
    }

    /// Reads both ends of a file that is longer than they are together.
    fn read_ends(file: &mut (impl Read + Seek), size: u64, buffer: &mut [u8]) -> io::Result<Self> {
        // The byte before the last ones tells whether a line starts with them.
        let (head_buffer, tail_buffer) = buffer.split_at_mut(CHUNK);
        let tail = read_last(file, size, &mut tail_buffer[..=NEAR])?;
        if is_told_again(tail) {
            let head = read_into(file, 0, &mut head_buffer[..NEAR])?;
            // What the client puts in behind the first prompt may be older than that; the reply is not.
            let has_begun = REPLY.find(head).is_some();
            if has_begun && let Some(lite) = Self::between(head, tail, size).glance(head, tail) {
                return Ok(lite);
            }
        }
        let head = read_into(file, 0, head_buffer)?;
        let tail = read_last(file, size, tail_buffer)?;
        if let Some(lite) = Self::between(head, tail, size).glance(head, tail) {
            return Ok(lite);
        }
        let mut lite = Self::between(head, tail, size);
        let read = lite.read_head(file, head)?;
        lite.read_tail(file, tail, read)?;
        Ok(lite)
    }

    /// Knows nothing but the length and the fingerprint of a file with these ends.
    fn between(head: &[u8], tail: &[u8], size: u64) -> Self {
        Self { size, fingerprint: Some(Fingerprint::of_ends(head, tail)), ..Self::default() }
    }

    /// Takes all that the ends of a file tell, without a close look at the messages in between that tell nothing new. None if
    /// it takes a closer look: the beginning does not tell how the session began, or the end not how it was left.
    fn glance(mut self, head: &[u8], tail: &[u8]) -> Option<Self> {
        let (cut, last_lines) = tail.split_at(first_line(tail).len());
        let last = last_message(last_lines)?;
        let told = *Entry::new(last).head();
        told.cwd.and(told.git_branch).and(told.version).filter(|_| told.kind.is_message())?;
        let last_at = told.time()?;
        // Old clients do not tell how they were started. If the last one does, it has to be found where it is told first.
        let knows_start = |lite: &Lite| lite.entrypoint.is_some() || told.entrypoint.is_none();
        let mut first_lines = Entries::of(&head[..last_line_end(head)]);
        while let Some(entry) = first_lines.next() {
            self.add(&entry);
            first_lines.pass_over(|line| knows_start(&self) && self.knows(line, last_at));
        }
        if !self.is_begun() || !knows_start(&self) {
            return None;
        }
        self.settle_first_summaries(head);
        let mut rest = Lite::default();
        let mut entries = Entries::of(last_lines);
        loop {
            entries.pass_over(|line| !std::ptr::eq(line, last) && self.knows(line, last_at));
            let Some(entry) = entries.next() else { break };
            rest.add(&entry);
        }
        if !self.knows_times_of(cut, last_at) {
            rest.add_line_without_beginning(cut, &self);
        }
        self.go_on_with(rest, tail, false);
        Some(self)
    }

    /// Returns whether all that a line tells is known, given when the last message was written: it is a message, and how the
    /// session began is known.
    fn knows(&self, line: &[u8], last_at: Timestamp) -> bool {
        let is_known = || self.knows_times_of(line, last_at) && PERMISSION_MODE.find(line).is_none();
        self.is_begun() && is_one_message(line) && is_known()
    }

    /// Returns whether a line tells no time that is earlier or later than those known.
    fn knows_times_of(&self, line: &[u8], last_at: Timestamp) -> bool {
        let Some(first_at) = self.first_at else { return false };
        let is_between =
            |time: Option<Timestamp>| time.is_some_and(|time| (first_at..=last_at).contains(&time));
        times_in(line).all(is_between)
    }

    /// Returns whether all is known that the first messages tell, but for how the client was started: old ones do not say.
    fn is_begun(&self) -> bool {
        self.has_main_messages
            && self.first_at.is_some()
            && [&self.first_prompt, &self.session, &self.cwd].into_iter().all(Option::is_some)
    }

    /// Reads all of a file that is so long, for what its ends do not tell.
    pub fn read_all(file: &mut (impl Read + Seek), size: u64) -> io::Result<Self> {
        Self::read_from(file, 0, size)
    }

    /// Reads all of a file that is so long from the beginning of a line on.
    pub fn read_from(file: &mut (impl Read + Seek), offset: u64, size: u64) -> io::Result<Self> {
        let fingerprint = Some(Fingerprint::at(file, size)?);
        let mut lite = Lite { size, whole: true, fingerprint, ..Lite::default() };
        file.seek(SeekFrom::Start(offset))?;
        let mut reader = Reader::new(file.take(size.saturating_sub(offset)));
        while let Some(entry) = reader.read()? {
            lite.add(&entry);
        }
        Ok(lite)
    }

    /// Returns the last summary that was seen whose leaf is an entry of the file: a title, as old clients wrote them.
    /// Summaries of other sessions stand in the same places.
    pub fn summary(&self, file: &mut (impl Read + Seek)) -> io::Result<Option<String>> {
        for line in self.summaries.iter().rev() {
            if let Some((summary, leaf)) = summary_of(line)
                && contains(file, leaf.as_bytes())?
            {
                return Ok(Some(summary));
            }
        }
        Ok(self.own_summary.clone())
    }

    /// Settles which of the summaries seen so far counts by what is in memory: the last whose leaf is in it.
    fn settle_summaries(&mut self, bytes: &[u8]) {
        let is_own = |leaf: &String| memmem::find(bytes, leaf.as_bytes()).is_some();
        let summaries = self.summaries.drain(..).rev().filter_map(|line| summary_of(&line));
        let own = summaries.filter(|(_, leaf)| is_own(leaf)).map(|(summary, _)| summary).next();
        self.own_summary = own.or(self.own_summary.take());
    }

    /// Settles which of the summaries at the beginning of a file counts by what stands around them, if the client that wrote
    /// it speaks of nothing else.
    fn settle_first_summaries(&mut self, head: &[u8]) {
        if self.version.as_deref().is_some_and(|version| !is_before(version, STAYS_IN_ITS_FILE)) {
            self.settle_summaries(head);
        }
    }

    /// Returns the last record of a type that was seen: the one that counts, for types of which the last counts.
    pub fn last<'a, V: View<'a>>(&'a self) -> Option<V> {
        self.records.get(&V::KIND).map(|body| V::over(Value::trusted(body)))
    }

    /// Returns the last record of a type, if there can be no later one in what was not read.
    pub fn newest<'a, V: View<'a>>(&'a self) -> Option<V> {
        if self.whole || self.at_end.contains(&V::KIND) { self.last() } else { None }
    }

    /// Takes the first lines from the first chunk and returns how far they go. If the prompt is not among them, the line
    /// that the chunk cuts is read to its end, and as much behind it as a chunk holds.
    fn read_head(&mut self, file: &mut (impl Read + Seek), head: &[u8]) -> io::Result<u64> {
        let lines = last_line_end(head);
        self.add_lines(&head[..lines]);
        if self.first_prompt.is_some() && lines > 0 {
            self.settle_first_summaries(head);
            return Ok(lines as u64);
        }
        let mut head = head.to_vec();
        let mut wanted = LIMIT;
        while head.len() < wanted && (head.len() as u64) < self.size {
            let start = head.len();
            head.extend(read_span(file, start as u64, CHUNK.min(wanted - start) as u64)?);
            if head.len() == start {
                break;
            }
            if wanted == LIMIT
                && let Some(newline) = memchr::memchr(b'\n', &head[start..])
            {
                wanted = start + newline + 1 + CHUNK;
            }
        }
        let whole = last_line_end(&head);
        if whole > lines {
            self.add_lines(&head[lines..whole]);
        } else {
            self.add_line_without_end(&head[lines..]);
        }
        Ok(whole as u64)
    }

    /// Takes the last lines from the last chunk and the byte before it, but nothing before `read`; goes as far back as needed
    /// to see a whole line and a time.
    fn read_tail(&mut self, file: &mut (impl Read + Seek), chunk: &[u8], read: u64) -> io::Result<()> {
        let mut length = CHUNK;
        let mut bytes = Cow::Borrowed(chunk);
        loop {
            let from = self.size.saturating_sub(length as u64 + 1);
            let nothing_between = from <= read;
            let seen = usize::try_from(read.saturating_sub(from)).unwrap_or(usize::MAX);
            let unseen = bytes.get(seen..).unwrap_or_default();
            let cut = if nothing_between { 0 } else { first_line(unseen).len() };
            let mut tail = Lite::default();
            tail.add_lines(&unseen[cut..]);
            tail.add_line_without_beginning(&unseen[..cut], self);
            let is_enough = tail.last_at.is_some() && cut < unseen.len();
            if is_enough || nothing_between || length >= LIMIT {
                self.go_on_with(tail, unseen, nothing_between);
                return Ok(());
            }
            length *= 2;
            let from = self.size.saturating_sub(length as u64 + 1);
            bytes = Cow::Owned(read_span(file, from, self.size - from)?);
        }
    }

    /// Takes over what stands further down in the file, in these lines. The first prompt there is the session's first only
    /// if nothing lies between.
    fn go_on_with(&mut self, tail: Lite, lines: &[u8], nothing_between: bool) {
        if !nothing_between && is_told_again(lines) {
            self.records.retain(|kind, _| *kind == Kind::Relocated);
        }
        self.session = self.session.take().or(tail.session);
        self.cwd = self.cwd.take().or(tail.cwd);
        self.entrypoint = self.entrypoint.take().or(tail.entrypoint);
        self.last_cwd = tail.last_cwd.or(self.last_cwd.take());
        self.git_branch = tail.git_branch.or(self.git_branch.take());
        self.version = tail.version.or(self.version.take());
        self.messages += tail.messages;
        self.has_messages |= tail.has_messages;
        self.has_main_messages |= tail.has_main_messages;
        self.at_end = tail.records.keys().copied().collect();
        self.records.extend(tail.records);
        self.summaries.extend(tail.summaries);
        if tail.last_at.is_none() && !nothing_between {
            self.last_at = None;
        }
        [tail.first_at, tail.last_at].into_iter().flatten().for_each(|time| self.add_time(time));
        // Each prompt may have another.
        self.permission_mode =
            tail.permission_mode.or(self.permission_mode.take().filter(|_| nothing_between));
        if nothing_between {
            self.whole = true;
            self.first_prompt = self.first_prompt.take().or(tail.first_prompt);
        }
    }

    fn add_lines(&mut self, lines: &[u8]) {
        Entries::of(lines).for_each(|entry| self.add(&entry));
    }

    fn add(&mut self, entry: &Entry<'_>) {
        let head = entry.head();
        if let Some(time) = head.time() {
            self.add_time(time);
        }
        if (head.kind.last_one_wins() || head.kind == Kind::PrLink)
            && let Some(body) = entry.body()
        {
            self.records.insert(head.kind, body.bytes().to_vec());
        }
        if head.kind == Kind::Summary && self.summaries.len() < SUMMARIES {
            self.summaries.push(entry.bytes().to_vec());
        }
        keep_first(&mut self.session, head.session);
        keep_last(&mut self.permission_mode, head.permission_mode);
        if !head.kind.is_message() {
            return;
        }
        keep_first(&mut self.cwd, head.cwd);
        keep_first(&mut self.entrypoint, head.entrypoint);
        keep_last(&mut self.last_cwd, head.cwd);
        keep_last(&mut self.git_branch, head.git_branch);
        keep_last(&mut self.version, head.version);
        if !self.has_messages {
            self.forked_from = head.forked_from.map(|origin| origin.decode().into_owned());
        }
        let is_main = !entry.has(Flag::Sidechain);
        self.has_messages = true;
        self.has_main_messages |= is_main;
        self.messages += u64::from(is_main && matches!(head.kind, Kind::User | Kind::Assistant));
        if self.first_prompt.is_none() {
            self.first_prompt = prompt::own_words(entry).map(Cow::into_owned);
        }
    }

    fn add_time(&mut self, time: Timestamp) {
        self.first_at = Some(self.first_at.map_or(time, |first| first.min(time)));
        self.last_at = Some(self.last_at.map_or(time, |last| last.max(time)));
    }

    /// Takes what can be had from a line whose end was not read.
    fn add_line_without_end(&mut self, line: &[u8]) {
        let field = |key| field_without_end(line, key);
        if let Some(time) = field("timestamp").and_then(|time| time.parse().ok()) {
            self.add_time(time);
        }
        let texts = [
            (&mut self.session, "sessionId"),
            (&mut self.cwd, "cwd"),
            (&mut self.entrypoint, "entrypoint"),
            (&mut self.git_branch, "gitBranch"),
            (&mut self.version, "version"),
        ];
        for (slot, key) in texts {
            *slot = slot.take().or_else(|| field(key).map(Cow::into_owned));
        }
        let is = |flag| cut_member(line, skip_space(line, 0), flag) == Some(b"true");
        let is_user = field_without_end(line, "type").as_deref() == Some("user");
        self.has_messages |= is_user;
        self.has_main_messages |= is_user && !is("isSidechain");
        if self.first_prompt.is_none() && is_user && !is("isSidechain") && !is("isMeta") {
            let text = cut_prompt(line);
            self.first_prompt = text.as_deref().and_then(prompt::strip_wrappers).map(str::to_owned);
        }
    }

    /// Takes what can be had from a line whose beginning was not read: what neither tells that stands `before` it nor, where
    /// the last counts, what was taken already, which stands behind it.
    fn add_line_without_beginning(&mut self, line: &[u8], before: &Lite) {
        let field = |key| field_without_beginning(line, key);
        if let Some(time) = field("timestamp").and_then(|time| time.parse().ok()) {
            self.add_time(time);
        }
        let first = [
            (&mut self.session, &before.session, "sessionId"),
            (&mut self.cwd, &before.cwd, "cwd"),
            (&mut self.entrypoint, &before.entrypoint, "entrypoint"),
        ];
        for (slot, before, key) in first {
            if before.is_none() {
                *slot = field(key).map(Cow::into_owned).or(slot.take());
            }
        }
        for (slot, key) in [(&mut self.git_branch, "gitBranch"), (&mut self.version, "version")] {
            *slot = slot.take().or_else(|| field(key).map(Cow::into_owned));
        }
    }
}

/// Returns whether a line is a message and no record, as far as a glance tells. So the client begins messages; it begins
/// records with their type, and one that stands on the same line, behind a message or what is left of one, is not part of it
/// as blocks are.
fn is_one_message(line: &[u8]) -> bool {
    let is_part = |at: usize| at > 0 && matches!(line[at - 1], b'[' | b',' | b':');
    line.starts_with(b"{\"parentUuid\":") && TYPED_OBJECT.find_iter(line).all(is_part)
}

/// Returns whether the last lines of a file hold all records that count, a title among them. As a file grows, a client that
/// knows `last-prompt` writes it and, behind it, all that it knows: title, tag, mode. What was taken away it leaves out; what
/// others wrote it has learnt from the end of the file. A title may also stand right before it.
fn is_told_again(lines: &[u8]) -> bool {
    let Some(at) = LAST_PROMPT.find_iter(lines).last() else { return false };
    let is_record = |line: &&[u8]| line.starts_with(b"{\"type\":\"");
    let before = lines[..at].rsplit(|byte| *byte == b'\n').take_while(is_record);
    let behind = lines[at + 1..].split(|byte| *byte == b'\n').take_while(is_record);
    let is_title = |line: &[u8]| TITLES.iter().any(|title| line.starts_with(title));
    before.chain(behind).any(is_title)
}

/// Returns the last line that is a message.
fn last_message(mut lines: &[u8]) -> Option<&[u8]> {
    while !lines.is_empty() {
        let last = last_line_end(&lines[..lines.len() - 1]);
        if is_one_message(&lines[last..]) {
            return Some(&lines[last..]);
        }
        lines = &lines[..last];
    }
    None
}

/// Returns the times in a line, nested ones too; none for one that is not spelled as the client spells it.
fn times_in(line: &[u8]) -> impl Iterator<Item = Option<Timestamp>> {
    TIMESTAMP.find_iter(line).map(|at| {
        let value = line[at..].strip_prefix(b"\"timestamp\":\"")?;
        time::as_the_client_writes(value.first_chunk::<24>()?)
    })
}

/// Keeps what the first entry tells that tells it.
fn keep_first(slot: &mut Option<String>, told: Option<JsonStr<'_>>) {
    if slot.is_none() {
        *slot = told.map(|text| text.decode().into_owned());
    }
}

/// Keeps what the last entry tells that tells it.
fn keep_last(slot: &mut Option<String>, told: Option<JsonStr<'_>>) {
    if let Some(text) = told
        && slot.as_ref().is_none_or(|kept| text != **kept)
    {
        *slot = Some(text.decode().into_owned());
    }
}

/// The version from which on a session stays in its file. Older clients copied it into a new one to go on, behind summaries
/// that may speak of any entry; since then, a summary at the beginning speaks of what stands around it, or elsewhere.
const STAYS_IN_ITS_FILE: [u32; 3] = [1, 0, 128];

/// Returns whether a version of the client came before another. What is not a version did not.
///
/// ```
/// use annals_transcript::lite::is_before;
///
/// assert!(is_before("2.1.9", [2, 1, 23]));
/// assert!(!is_before("2.1.23", [2, 1, 23]));
/// ```
pub fn is_before(version: &str, other: [u32; 3]) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let numbers = [numbers.next(), numbers.next(), numbers.next()].map(Option::flatten);
    matches!(numbers, [Some(major), Some(minor), Some(patch)] if [major, minor, patch] < other)
}

/// Returns what a summary says, and how its leaf is spelled in the entry that it is.
fn summary_of(line: &[u8]) -> Option<(String, String)> {
    let summary: Summary<'_> = Entry::new(line).view()?;
    Some((summary.summary()?.into_owned(), format!("\"uuid\":{}", quote(&summary.leaf()?))))
}

/// Works with a buffer that holds both ends of a file and one byte more. Each thread has one: lists read thousands of files.
fn with_buffer<T>(work: impl FnOnce(&mut [u8]) -> T) -> T {
    thread_local! {
        static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut buffer = BUFFER.take();
    buffer.resize(2 * CHUNK + 1, 0);
    let done = work(&mut buffer);
    BUFFER.set(buffer);
    done
}

/// Reads the last bytes of a file, as many as a buffer holds.
fn read_last<'b>(file: &mut (impl Read + Seek), size: u64, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    read_into(file, size.saturating_sub(buffer.len() as u64), buffer)
}

/// Returns whether a file has these bytes in it, of which there are few.
fn contains(file: &mut (impl Read + Seek), wanted: &[u8]) -> io::Result<bool> {
    let finder = Finder::new(wanted);
    with_buffer(|buffer| {
        let (mut offset, mut kept) = (0, 0);
        while wanted.len() <= CHUNK {
            let read = read_into(file, offset, &mut buffer[kept..])?.len();
            if finder.find(&buffer[..kept + read]).is_some() {
                return Ok(true);
            }
            if read < buffer.len() - kept {
                break;
            }
            offset += read as u64;
            kept = wanted.len() - 1;
            buffer.copy_within(buffer.len() - kept.., 0);
        }
        Ok(false)
    })
}

/// Returns the string that a top-level key holds in a line whose end may be missing.
///
/// Keys inside other values are never mistaken for it. A string that is itself cut off is returned as far as it
/// goes.
///
/// ```
/// use annals_transcript::lite::field_without_end;
///
/// let begun = br#"{"cwd":"C:\\work","message":{"cwd":"no","content":"and then"#;
/// assert_eq!(field_without_end(begun, "cwd").unwrap(), r"C:\work");
/// ```
pub fn field_without_end<'a>(line: &'a [u8], key: &str) -> Option<Cow<'a, str>> {
    let start = skip_space(line, 0);
    if line.get(start) == Some(&b'{') { cut_member(line, start, key).and_then(cut_text) } else { None }
}

/// Returns the string that a top-level key holds in a line whose beginning is missing.
///
/// ```
/// use annals_transcript::lite::field_without_beginning;
///
/// let ended = br#""id":"no"}]},"uuid":"u1","timestamp":"2026-01-02T03:04:05.000Z"}"#;
/// assert_eq!(field_without_beginning(ended, "uuid").unwrap(), "u1");
/// assert_eq!(field_without_beginning(ended, "id"), None);
/// ```
pub fn field_without_beginning<'a>(line: &'a [u8], key: &str) -> Option<Cow<'a, str>> {
    let quoted = format!("\"{key}\"");
    // That it stands nowhere is found out faster from the front.
    memmem::find(line, quoted.as_bytes())?;
    let candidates = memmem::rfind_iter(line, quoted.as_bytes());
    candidates.take(ATTEMPTS).find_map(|at| field_to_the_end(line, at, key))
}

/// Reads the members from `at` on; if a key stands there and they run to the end of the line, they are top-level
/// ones.
fn field_to_the_end<'a>(line: &'a [u8], at: usize, key: &str) -> Option<Cow<'a, str>> {
    if !line[..at].trim_ascii_end().ends_with(b",") {
        return None;
    }
    let mut members = Walk::at_key(line, at);
    let mut text = None;
    while let Some((name, value)) = members.next_member() {
        if name == *key {
            text = value.as_text();
        }
    }
    let end = members.position();
    let closed = end > 0 && line.get(end - 1) == Some(&b'}') && skip_space(line, end) == line.len();
    if closed { text } else { None }
}

/// Returns the member `key` of the object at `at`, as far as it goes in a line without end.
fn cut_member<'a>(line: &'a [u8], at: usize, key: &str) -> Option<&'a [u8]> {
    let mut walk = Walk::at_key(line, at + 1);
    let mut found = None;
    while let Step::At((name, value)) = walk.next_key() {
        let end = value_end(line, value).unwrap_or(line.len());
        if name == *key {
            found = Some(&line[value..end]);
        }
        walk.move_to(end);
    }
    found
}

/// Returns the text of a string that may lack its closing quote.
fn cut_text(value: &[u8]) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix(b"\"")?;
    if value_end(value, 0).is_some() {
        return Some(JsonStr::new(&inner[..inner.len() - 1]).decode());
    }
    let text = JsonStr::new(without_cut_escape(inner)).decode();
    Some(Cow::Owned(text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned()))
}

/// Takes off an escape that the end of the string cuts in two.
fn without_cut_escape(string: &[u8]) -> &[u8] {
    let mut at = 0;
    while let Some(slash) = memchr::memchr(b'\\', &string[at..]) {
        let escape = at + slash;
        at = escape + if string.get(escape + 1) == Some(&b'u') { 6 } else { 2 };
        if at > string.len() {
            return &string[..escape];
        }
    }
    string
}

/// Returns the first text of a message in a line without end.
fn cut_prompt(line: &[u8]) -> Option<Cow<'_, str>> {
    let message = cut_member(line, skip_space(line, 0), "message")?;
    let content = cut_member(message, 0, "content")?;
    match content.first()? {
        b'[' => cut_member(content, skip_space(content, 1), "text").and_then(cut_text),
        _ => cut_text(content),
    }
}

/// Returns the position behind the last newline.
fn last_line_end(bytes: &[u8]) -> usize {
    memchr::memrchr(b'\n', bytes).map_or(0, |newline| newline + 1)
}

#[cfg(test)]
mod tests;
