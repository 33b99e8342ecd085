//! Reads what was appended to a transcript, in large pieces, and counts it.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use annals_transcript::checkpoint::{Change, Checkpoint};
use annals_transcript::entry::Problem;
use annals_transcript::file_state::FileState;
use annals_transcript::json::Value;
use annals_transcript::{Position, Reader};
use annals_usage::FileCount;

use super::line::LineCounter;
use crate::files::open_regular;
use crate::fold::{FoldPosition, end_of};

/// So many bytes are read at a time: enough for nearly every line, and few enough to stay in the processor's cache.
const CHUNK: usize = 256 * 1024;
/// A line that is longer may be a hole, of which only the reader of entries takes a part at a time.
const LONGEST: usize = 64 * 1024 * 1024;

thread_local! {
    /// A buffer for each thread, because thousands of files are read.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What was counted of a file, and how far it was read for that.
#[derive(Clone, Debug, Default)]
pub(super) struct FileProgress {
    pub(super) count: FileCount,
    pub(super) position: FoldPosition,
}

/// Reads a transcript on from where it was read before. If it was replaced, it is read anew, and what it had before stays counted.
/// `session` is the session that its path names.
pub(super) fn update(
    path: &Path,
    session: Option<&str>,
    earlier: FileProgress,
) -> io::Result<(FileProgress, FileState)> {
    let mut file = open_regular(path)?;
    let state = FileState::from(file.metadata()?);
    let is_replaced = earlier.position.checkpoint.compare(&mut file, &state)? == Change::Replaced;
    let (mut progress, before) =
        if is_replaced { (FileProgress::default(), Some(earlier.count)) } else { (earlier, None) };
    let start = progress.position;
    let mut counter = LineCounter { count: &mut progress.count, session };
    let end = read_on(&mut file, &state, start, &mut counter)?;
    let checkpoint = if end.offset == start.checkpoint.offset() && end.offset > 0 {
        start.checkpoint
    } else {
        Checkpoint::at(&mut file, state.identity, end.offset)?
    };
    progress.position = FoldPosition { checkpoint, lines: end.line - 1 };
    if let Some(before) = before {
        progress.count.keep_from(&before);
    }
    Ok((progress, state))
}

/// Counts the lines from a position on. Returns where the lines end; an unfinished one waits for its end.
fn read_on(
    file: &mut File,
    state: &FileState,
    start: FoldPosition,
    counter: &mut LineCounter<'_>,
) -> io::Result<Position> {
    let mut at = Position { offset: start.checkpoint.offset(), line: start.lines + 1 };
    if at.offset >= state.length {
        return Ok(at);
    }
    file.seek(SeekFrom::Start(at.offset))?;
    let is_regular =
        BUFFER.with_borrow_mut(|buffer| read_lines(file, state.length, buffer, &mut at, counter))?;
    if is_regular { Ok(at) } else { read_entries(file, state.length, at, counter) }
}

/// Counts lines up to the first one that is not one object. Returns whether there was none.
fn read_lines(
    file: &mut File,
    end: u64,
    buffer: &mut Vec<u8>,
    at: &mut Position,
    counter: &mut LineCounter<'_>,
) -> io::Result<bool> {
    buffer.resize(buffer.len().max(CHUNK), 0);
    let mut source = file.take(end - at.offset);
    let mut filled = 0;
    loop {
        let read = source.read(&mut buffer[filled..])?;
        filled += read;
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &buffer[start..filled]) {
            if counter.add_line(&buffer[start..start + length], at.line).is_err() {
                return Ok(false);
            }
            start += length + 1;
            at.offset += length as u64 + 1;
            at.line += 1;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
        if read == 0 {
            break;
        }
        if filled == buffer.len() {
            if filled >= LONGEST {
                return Ok(false);
            }
            buffer.resize(2 * filled, 0);
        }
    }
    // An object may be complete before its newline is written.
    let rest = &buffer[..filled];
    if let Some(object) = Value::new(rest).filter(|rest| rest.is_object()) {
        counter.add(object, at.line);
        at.offset += filled as u64;
    }
    buffer.truncate(4 * CHUNK);
    buffer.shrink_to(4 * CHUNK);
    Ok(true)
}

/// Counts the rest of a file by its entries, which may be glued together, span lines or be torn.
fn read_entries(
    file: &mut File,
    length: u64,
    start: Position,
    counter: &mut LineCounter<'_>,
) -> io::Result<Position> {
    file.seek(SeekFrom::Start(start.offset))?;
    let mut reader = Reader::resume(file.take(length - start.offset), start);
    let mut end = start;
    while let Some(entry) = reader.read()? {
        if entry.problem() == Some(Problem::Torn) {
            break;
        }
        if let Some(body) = entry.body() {
            counter.add(body, entry.at().line);
        }
        end = end_of(&entry);
    }
    Ok(end)
}

#[cfg(test)]
mod tests;
