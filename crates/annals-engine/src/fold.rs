//! Folds: what is accumulated over the entries of a transcript, read on as the transcript grows.
//!
//! A [`Fold`] gets every entry once. A [`FileFold`] is the state of a fold over one file together with how far the file was
//! read for it; whoever stores one stores both at the same time, so that no entry is counted twice or left out.
//! [`update`] reads what was appended to a file once and feeds several folds, each from where it was.
//!
//! Usage is no fold: it has checkpoints of the same type and reads lines by itself (`usage/read.rs`), because it needs few of them
//! and keeps what a file had that was replaced.
//!
//! ```
//! use std::io::Write;
//!
//! use annals_engine::fold::{self, FileFold, Fold};
//! use annals_transcript::{Entry, Kind};
//!
//! #[derive(Default)]
//! struct Prompts(usize);
//!
//! impl Fold for Prompts {
//!     const NAME: &'static str = "prompts";
//!     const VERSION: i64 = 1;
//!
//!     fn add(&mut self, entry: &Entry<'_>) {
//!         self.0 += usize::from(entry.kind() == Kind::User);
//!     }
//! }
//!
//! let mut file = tempfile::NamedTempFile::new()?;
//! let mut prompts = FileFold::<Prompts>::default();
//! writeln!(file, r#"{{"type":"user"}}"#)?;
//! fold::update(file.path(), &mut [&mut prompts])?;
//! // Only what was appended is read.
//! writeln!(file, r#"{{"type":"user"}}"#)?;
//! fold::update(file.path(), &mut [&mut prompts])?;
//! assert_eq!((prompts.state.0, prompts.progress.lines), (2, 2));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use annals_transcript::checkpoint::{Change, Checkpoint};
use annals_transcript::entry::Problem;
use annals_transcript::file_state::FileState;
use annals_transcript::{Entry, Position, Reader};

/// Something that is accumulated over the entries of a transcript, one after the other.
pub trait Fold: Default {
    /// The name that the fold is stored under.
    const NAME: &'static str;
    /// Raised whenever the same entries would give another state. A stored state of another version is not used.
    const VERSION: i64;

    /// Adds the next entry.
    fn add(&mut self, entry: &Entry<'_>);
}

/// A fold over one file: what was accumulated so far, and how far the file was read for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFold<F> {
    /// What was accumulated.
    pub state: F,
    /// How far the file was read.
    pub progress: FoldPosition,
}

/// How far a file was read for a fold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoldPosition {
    /// Behind the last entry that was added.
    pub checkpoint: Checkpoint,
    /// The number of lines that end before the checkpoint.
    pub lines: u64,
}

/// A [`FileFold`] of any fold, so that one pass over a file can feed different ones.
pub trait AnyFold {
    /// Returns how far the file was read for this fold.
    fn progress(&mut self) -> &mut FoldPosition;

    /// Adds the next entry.
    fn add(&mut self, entry: &Entry<'_>);

    /// Starts again with nothing.
    fn restart(&mut self);

    /// Returns whether so much was accumulated that it should be stored before more comes. [`update_part`] then stops.
    fn is_full(&self) -> bool {
        false
    }
}

impl<F: Fold> AnyFold for FileFold<F> {
    fn progress(&mut self) -> &mut FoldPosition {
        &mut self.progress
    }

    fn add(&mut self, entry: &Entry<'_>) {
        self.state.add(entry);
    }

    fn restart(&mut self) {
        *self = Self { state: F::default(), progress: FoldPosition::default() };
    }
}

/// Reads what was appended to a file and feeds it to folds, each from its own checkpoint.
///
/// A fold of a file that was replaced starts again. An unfinished last line waits for its end. If reading fails, all of the
/// folds start again: some may have got entries after their checkpoint.
///
/// If only some lines of a multi-line object are in the file yet, they become damaged entries and stay so.
pub fn update(path: &Path, folds: &mut [&mut dyn AnyFold]) -> io::Result<()> {
    update_part(path, folds, u64::MAX).map(drop)
}

/// Does the same, but stops after the line with which `limit` bytes were read or a fold is full, so that whoever stores what was
/// accumulated can do so in steps. The next call goes on from there.
pub fn update_part(path: &Path, folds: &mut [&mut dyn AnyFold], limit: u64) -> io::Result<UpdatedPart> {
    let mut file = File::open(path)?;
    let state = FileState::from(file.metadata()?);
    let is_end = update_from(&mut file, &state, folds, limit)?;
    Ok(UpdatedPart { state, is_end })
}

/// What [`update_part`] has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdatedPart {
    /// The state of the file when it was opened.
    pub state: FileState,
    /// Whether everything was read that the file had then.
    pub is_end: bool,
}

fn update_from(
    file: &mut (impl Read + Seek),
    state: &FileState,
    folds: &mut [&mut dyn AnyFold],
    limit: u64,
) -> io::Result<bool> {
    let updated = restart_replaced(file, state, folds).and_then(|()| feed(file, state, folds, limit));
    if updated.is_err() {
        for fold in folds {
            fold.restart();
        }
    }
    updated
}

fn restart_replaced(
    file: &mut (impl Read + Seek),
    state: &FileState,
    folds: &mut [&mut dyn AnyFold],
) -> io::Result<()> {
    for fold in folds {
        if fold.progress().checkpoint.compare(file, state)? == Change::Replaced {
            fold.restart();
        }
    }
    Ok(())
}

/// Feeds entries from the earliest checkpoint on, and moves the checkpoints of the folds that got them. A fold that is further on is not
/// reached if the others pause before it: what they accumulate is bounded, however far behind they are. Returns whether the end of the
/// file was reached.
fn feed(
    file: &mut (impl Read + Seek),
    state: &FileState,
    folds: &mut [&mut dyn AnyFold],
    limit: u64,
) -> io::Result<bool> {
    let progresses = folds.iter_mut().map(|fold| *fold.progress());
    let Some(earliest) = progresses.min_by_key(|progress| progress.checkpoint.offset()) else {
        return Ok(true);
    };
    let mut end = Position { offset: earliest.checkpoint.offset(), line: earliest.lines + 1 };
    let pause = end.offset.saturating_add(limit);
    // An entry never crosses a checkpoint, so that each fold gets every byte once: an object may be complete before its
    // newline, and a fold may stand between the two.
    let offsets: BTreeSet<_> = folds.iter_mut().map(|fold| fold.progress().checkpoint.offset()).collect();
    for offset in offsets {
        if offset == end.offset {
            continue;
        }
        let start = end.offset;
        let stop = Stop { end: offset, pause };
        let is_there;
        (end, is_there) = feed_up_to(file, end, stop, LastLine::Take, folds)?;
        if !is_there {
            set_progress(file, state, folds, start, end)?;
            return Ok(false);
        }
        if end.offset < offset {
            // The file was truncated after it was compared.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let start = end.offset;
    let stop = Stop { end: state.length, pause };
    let (end, is_end) = feed_up_to(file, end, stop, LastLine::Leave, folds)?;
    set_progress(file, state, folds, start, end)?;
    Ok(is_end)
}

/// Moves the checkpoints of the folds that got the entries after an offset to where these end. Others are further on.
fn set_progress(
    file: &mut (impl Read + Seek),
    state: &FileState,
    folds: &mut [&mut dyn AnyFold],
    start: u64,
    end: Position,
) -> io::Result<()> {
    let checkpoint = Checkpoint::at(file, state.identity, end.offset)?;
    for fold in folds {
        if fold.progress().checkpoint.offset() <= start {
            *fold.progress() = FoldPosition { checkpoint, lines: end.line - 1 };
        }
    }
    Ok(())
}

/// Where reading stops: at the end, or after the line that reaches the offset to pause at.
#[derive(Clone, Copy)]
struct Stop {
    end: u64,
    pause: u64,
}

impl Stop {
    fn may_pause(self) -> bool {
        self.pause < u64::MAX
    }
}

/// What to do with an unfinished line: it is taken where another fold has taken it, and left at the end of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastLine {
    Take,
    Leave,
}

/// Feeds the entries between two offsets to the folds whose checkpoint is at the first offset or before it. Returns where the
/// entries end, and whether reading did not pause before.
fn feed_up_to(
    file: &mut (impl Read + Seek),
    start: Position,
    stop: Stop,
    last_line: LastLine,
    folds: &mut [&mut dyn AnyFold],
) -> io::Result<(Position, bool)> {
    let mut end = start;
    file.seek(SeekFrom::Start(start.offset))?;
    let mut reader = Reader::resume(file.take(stop.end.saturating_sub(start.offset)), start);
    while let Some(entry) = reader.read()? {
        if last_line == LastLine::Leave && entry.problem() == Some(Problem::Torn) {
            break;
        }
        for fold in folds.iter_mut() {
            if fold.progress().checkpoint.offset() <= start.offset {
                fold.add(&entry);
            }
        }
        end = end_of(&entry);
        let should_pause =
            || end.offset >= stop.pause || stop.may_pause() && folds.iter().any(|fold| fold.is_full());
        if entry.ends_in_newline() && should_pause() {
            return Ok((end, false));
        }
    }
    Ok((end, true))
}

/// Returns where the next entry starts. An object may be complete before its newline is written; what follows then is
/// still on the same line.
pub(crate) fn end_of(entry: &Entry<'_>) -> Position {
    let ends_line = entry.bytes().ends_with(b"\n");
    Position {
        offset: entry.at().offset + entry.bytes().len() as u64,
        line: entry.last_line() + u64::from(ends_line),
    }
}

#[cfg(test)]
mod tests;
