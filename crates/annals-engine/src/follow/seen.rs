//! How far a transcript was read, and what has come since.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use annals_transcript::entry::Problem;
use annals_transcript::line::read_span;
use annals_transcript::write::fs::State;
use annals_transcript::{Entry, Kind, Position, Reader};

use super::{Happening, Tell};
use crate::engine::title;
use crate::files::{TranscriptFile, is_hollow};

/// How far a transcript was read. There are as many as files that are followed: it is small.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// What the file was when it was read; none if it has yet to be.
    state: Option<State>,
    /// Behind the last whole line.
    lines: Mark,
    /// Behind that, as far as no line ends: a long line is not searched again each time that a piece of it comes.
    searched: Mark,
    /// Known once something was told.
    told: Option<Box<Told>>,
}

#[derive(Debug)]
struct Told {
    file: TranscriptFile,
    /// The title that was reported last.
    title: Option<String>,
}

/// A place in a file, and what stood before it: a file that was cut off may have grown again since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark {
    offset: u64,
    /// None if it is not known; then the mark may lie within a line.
    before: Option<u32>,
}

/// A file that was not written for so long is not about to be, as far as one can tell.
const AT_REST: Duration = Duration::from_secs(24 * 60 * 60);
/// A file of so many bytes is looked at before all of it is searched.
const LARGE: u64 = 64 << 20;
/// How many bytes before a mark are compared.
const COMPARED: u64 = 64;
/// How much is searched for the end of a line at once.
const PIECE: u64 = 64 * 1024;

impl Seen {
    /// Takes a transcript as read up to its last whole line. One that has been at rest for long is not opened: of ten
    /// thousand, most are. Nor is one searched that has nothing in it for the most part.
    pub(super) fn taken_as_read(path: &Path, state: State) -> Self {
        let at_end = Mark { offset: state.length, before: None };
        let mut seen = Self { state: None, lines: at_end, searched: at_end, told: None };
        let age = state.modified.and_then(|modified| modified.elapsed().ok());
        if age.is_none_or(|age| age < AT_REST) {
            let find = |mut file: File| {
                let is_searched = state.length <= LARGE || !is_hollow(&file);
                if is_searched { seen.find_marks(&mut file, state.length) } else { Ok(()) }
            };
            let _ = File::open(path).and_then(find);
        }
        seen.state = Some(state);
        seen
    }

    /// Finds the marks of a file that was taken as read without opening it.
    fn find_marks(&mut self, file: &mut File, length: u64) -> io::Result<()> {
        let end = end_of_lines(file, 0, self.lines.offset.min(length))?.unwrap_or(0);
        self.lines = Mark::at(file, end)?;
        self.searched = self.lines;
        Ok(())
    }

    /// Returns the transcript.
    pub(super) fn file(&mut self, path: &Path) -> TranscriptFile {
        self.told(path).file.clone()
    }

    fn told(&mut self, path: &Path) -> &mut Told {
        let told = || Box::new(Told { file: TranscriptFile::at(path), title: None });
        self.told.get_or_insert_with(told)
    }

    /// Tells what happened to the file. One that cannot be read now is read when it is looked at again.
    pub(super) fn look(&mut self, path: &Path, state: &State, tell: Tell<'_>) {
        if self.state.as_ref() != Some(state) {
            let _ = self.read(path, tell);
        }
    }

    /// Tells the entries behind what was read; a line without its end waits.
    fn read(&mut self, path: &Path, tell: Tell<'_>) -> io::Result<()> {
        let mut file = File::open(path)?;
        let state = State::from(file.metadata()?);
        let is_same = self.state.as_ref().is_none_or(|before| before.identity == state.identity);
        if !is_same || !self.lines.holds(&mut file, state.length)? {
            tell(&self.told(path).file, Happening::Replaced);
            (self.lines, self.searched) = (Mark::default(), Mark::default());
        }
        self.state = None;
        if self.lines.before.is_none() {
            self.find_marks(&mut file, state.length)?;
        }
        let is_searched = self.searched.holds(&mut file, state.length)?;
        let from = if is_searched { self.searched.offset } else { self.lines.offset };
        if let Some(end) = end_of_lines(&mut file, from, state.length)? {
            let before = self.lines;
            let told = self.read_lines(path, &mut file, end, tell)?;
            // Somebody may have written over it meanwhile.
            let is_as_told = State::from(file.metadata()?) == state
                || before.holds(&mut file, end)? && hash_between(&mut file, before.offset, end)? == told;
            self.lines = if is_as_told { Mark::at(&mut file, end)? } else { Mark::LOST };
        }
        self.searched = self.lines.or_at(&mut file, state.length)?;
        self.state = Some(state).filter(|_| self.lines != Mark::LOST);
        Ok(())
    }

    /// Tells the entries of the lines up to `end`, one at a time. Returns the hash of what was read.
    fn read_lines(&mut self, path: &Path, file: &mut File, end: u64, tell: Tell<'_>) -> io::Result<u64> {
        let start = self.lines.offset;
        file.seek(SeekFrom::Start(start))?;
        let mut reader = Reader::resume(file.take(end - start), Position { offset: start, line: 1 });
        let mut hasher = DefaultHasher::new();
        while let Some(entry) = reader.read()? {
            let (offset, bytes) = (entry.at().offset, entry.bytes());
            hasher.write(bytes);
            self.lines = Mark { offset: offset + bytes.len() as u64, before: None };
            // A hole is nothing that anybody wrote.
            if entry.problem() == Some(Problem::Nul) {
                continue;
            }
            let told = self.told(path);
            tell(&told.file, Happening::Entry { offset, bytes });
            // Claude Code records titles again after every turn, so only a title that differs is reported. Which of several
            // titles counts is decided as in lists.
            if gives_title(bytes)
                && let Some(title) = title(path).map(|title| title.text)
                && told.title.as_ref() != Some(&title)
            {
                tell(&told.file, Happening::Title { title: &title });
                told.title = Some(title);
            }
        }
        Ok(hasher.finish())
    }
}

/// Returns the hash of a part of a file.
fn hash_between(file: &mut File, start: u64, end: u64) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    let mut from = start;
    while from < end {
        let piece = read_span(file, from, PIECE.min(end - from))?;
        if piece.is_empty() {
            break;
        }
        hasher.write(&piece);
        from += piece.len() as u64;
    }
    Ok(hasher.finish())
}

impl Mark {
    /// A place that no file has: what was read is no longer there.
    const LOST: Self = Self { offset: u64::MAX, before: None };

    fn at(file: &mut File, offset: u64) -> io::Result<Self> {
        let length = offset.min(COMPARED);
        let mut hasher = DefaultHasher::new();
        read_span(file, offset - length, length)?.hash(&mut hasher);
        #[expect(clippy::cast_possible_truncation, reason = "half of the hash is enough")]
        Ok(Self { offset, before: Some(hasher.finish() as u32) })
    }

    /// Returns the mark at another place, or this one if it is the same.
    fn or_at(self, file: &mut File, offset: u64) -> io::Result<Self> {
        if self.offset == offset { Ok(self) } else { Self::at(file, offset) }
    }

    /// Returns whether the file of this length still has the same before the mark.
    fn holds(self, file: &mut File, length: u64) -> io::Result<bool> {
        Ok(self.offset <= length && (self.before.is_none() || Self::at(file, self.offset)? == self))
    }
}

/// Returns whether an entry may change the title of its session.
fn gives_title(bytes: &[u8]) -> bool {
    matches!(Entry::new(bytes).kind(), Kind::CustomTitle | Kind::AiTitle | Kind::AgentName | Kind::Summary)
}

/// Returns where the last line that ends in a part of a file does so.
pub(super) fn end_of_lines(file: &mut File, from: u64, to: u64) -> io::Result<Option<u64>> {
    let (mut end, mut length) = (to, COMPARED);
    while end > from {
        let start = end.saturating_sub(length).max(from);
        let bytes = read_span(file, start, end - start)?;
        if let Some(newline) = memchr::memrchr(b'\n', &bytes) {
            return Ok(Some(start + newline as u64 + 1));
        }
        (end, length) = (start, PIECE);
    }
    Ok(None)
}
