//! Reading the two ends of a file (LISTS section 1).

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Read, Seek};

use super::{Lite, fast};
use crate::entry::view::{AiTitle, CustomTitle};
use crate::line::{fill, first_line, read_into, read_span};

/// How much of each end is read (LISTS 1.3).
pub(super) const CHUNK: usize = 64 * 1024;

/// How much of each end is read first; enough if the tail repeats the records (LISTS 4.2).
pub(super) const SMALL_CHUNK: usize = 16 * 1024;

/// How far an end grows (LISTS 1.4, 1.5). A longer line is read as a truncated one (LISTS 1.6).
const LIMIT: usize = 8 * 1024 * 1024;

/// Reads a file of this length: all of it if it is not longer than both ends.
pub(super) fn read(file: &mut (impl Read + Seek), size: u64) -> io::Result<Lite> {
    with_buffer(|buffer| match buffer.get_mut(..usize::try_from(size).unwrap_or(usize::MAX)) {
        Some(whole) => read_whole(file, whole),
        None => read_ends(file, size, buffer),
    })
}

/// Reads a file that is as long as the buffer (LISTS 1.2).
fn read_whole(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<Lite> {
    let bytes = fill(file, buffer)?;
    let mut lite = Lite { whole: true, ..Lite::with_ends(bytes, bytes, bytes.len() as u64) };
    lite.add_lines(bytes);
    // A summary is not needed if there is a title.
    if lite.last::<CustomTitle>().is_none() && lite.last::<AiTitle>().is_none() {
        lite.summaries.verify_in(bytes);
    }
    Ok(lite)
}

/// Reads both ends of a file that is longer than the two together (LISTS 1.3).
fn read_ends(file: &mut (impl Read + Seek), size: u64, buffer: &mut [u8]) -> io::Result<Lite> {
    let (head_buffer, tail_buffer) = buffer.split_at_mut(CHUNK);
    // The byte before the tail says whether the tail starts with a line.
    let tail = read_last(file, size, &mut tail_buffer[..=SMALL_CHUNK])?;
    if fast::repeats_records(tail) {
        let head = read_into(file, 0, &mut head_buffer[..SMALL_CHUNK])?;
        if fast::has_reply(head)
            && let Some(lite) = fast::read(head, tail, size)
        {
            return Ok(lite);
        }
    }
    let head = read_into(file, 0, head_buffer)?;
    let tail = read_last(file, size, tail_buffer)?;
    if let Some(lite) = fast::read(head, tail, size) {
        return Ok(lite);
    }
    let mut lite = Lite::with_ends(head, tail, size);
    let head_end = lite.read_head(file, head)?;
    lite.read_tail(file, tail, head_end)?;
    Ok(lite)
}

impl Lite {
    /// Adds every complete line of the head. If the first prompt is not among them, more of the file is read. Returns the
    /// offset of the first line that was not added.
    fn read_head(&mut self, file: &mut (impl Read + Seek), head: &[u8]) -> io::Result<u64> {
        let lines = last_line_end(head);
        self.add_lines(&head[..lines]);
        if self.first_prompt.is_some() && lines > 0 {
            self.verify_first_summaries(head);
            return Ok(lines as u64);
        }
        let head = extend_head(file, head, self.size)?;
        let all_lines = last_line_end(&head);
        if all_lines > lines {
            self.add_lines(&head[lines..all_lines]);
        } else {
            self.add_line_without_end(&head[lines..]);
        }
        Ok(all_lines as u64)
    }

    /// Adds every line of the tail that starts at `head_end` or after. `tail` also has the byte before the tail. If it has
    /// no time or no complete message, more of the file is read (LISTS 1.5).
    fn read_tail(&mut self, file: &mut (impl Read + Seek), tail: &[u8], head_end: u64) -> io::Result<()> {
        let mut length = CHUNK;
        let mut bytes = Cow::Borrowed(tail);
        loop {
            let start = self.size.saturating_sub(length as u64 + 1);
            let meets_head = start <= head_end;
            let overlap = usize::try_from(head_end.saturating_sub(start)).unwrap_or(usize::MAX);
            let unread = bytes.get(overlap..).unwrap_or_default();
            let cut = if meets_head { 0 } else { first_line(unread).len() };
            let mut tail = Lite::default();
            tail.add_lines(&unread[cut..]);
            tail.add_line_without_beginning(&unread[..cut], self);
            let is_enough = tail.last_at.is_some() && tail.has_messages;
            if is_enough || meets_head || length >= LIMIT {
                self.add_tail(tail, unread, meets_head);
                return Ok(());
            }
            length *= 2;
            let earlier = self.size.saturating_sub(length as u64 + 1);
            let mut longer = read_span(file, earlier, start - earlier)?;
            longer.extend_from_slice(&bytes);
            bytes = Cow::Owned(longer);
        }
    }
}

/// Reads the line that the head cuts to its end, and a chunk after it (LISTS 1.4). Returns the head with both.
fn extend_head(file: &mut (impl Read + Seek), head: &[u8], size: u64) -> io::Result<Vec<u8>> {
    let mut head = head.to_vec();
    let mut target = LIMIT;
    while head.len() < target && (head.len() as u64) < size {
        let start = head.len();
        head.extend(read_span(file, start as u64, CHUNK.min(target - start) as u64)?);
        if head.len() == start {
            break;
        }
        if target == LIMIT
            && let Some(newline) = memchr::memchr(b'\n', &head[start..])
        {
            target = start + newline + 1 + CHUNK;
        }
    }
    Ok(head)
}

/// Calls `work` with a buffer that holds both ends of a file and one byte more. Each thread has one buffer, because a list
/// reads thousands of files.
pub(super) fn with_buffer<T>(work: impl FnOnce(&mut [u8]) -> T) -> T {
    thread_local! {
        static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut buffer = BUFFER.take();
    buffer.resize(2 * CHUNK + 1, 0);
    let done = work(&mut buffer);
    BUFFER.set(buffer);
    done
}

/// Reads the last bytes of a file, as many as the buffer holds.
fn read_last<'b>(file: &mut (impl Read + Seek), size: u64, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    read_into(file, size.saturating_sub(buffer.len() as u64), buffer)
}

/// Returns the offset after the last newline.
pub(super) fn last_line_end(bytes: &[u8]) -> usize {
    memchr::memrchr(b'\n', bytes).map_or(0, |newline| newline + 1)
}
