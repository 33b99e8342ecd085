//! Reading what the two ends of a file leave open, up to a bound (LISTS 1.7, LISTS 1.8).

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use super::Lite;
use super::ends::CHUNK;
use crate::checkpoint::Fingerprint;
use crate::line::{Reader, read_span};

/// How much of a file is read if its ends leave a question open (LISTS 1.8).
///
/// What is read depends on the length alone, and changes only where the length passes a multiple of the part. So the facts of
/// a file that has grown can be joined from those of its beginning and those of the new lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanBound {
    part: u64,
}

impl Default for ScanBound {
    /// Parts of 8 MiB.
    fn default() -> Self {
        Self { part: 8 * 1024 * 1024 }
    }
}

impl ScanBound {
    /// Makes a bound with parts of another length, for tests.
    pub const fn with_part(part: u64) -> Self {
        Self { part }
    }

    /// Returns the bytes between the parts that are read; `None` if all of the file is read.
    pub fn gap(self, size: u64) -> Option<Range<u64>> {
        let Self { part } = self;
        if size <= 3 * part { None } else { Some(part..size / part * part - part) }
    }

    /// Returns the parts of a file that are read.
    pub(super) fn spans(self, size: u64) -> Vec<Range<u64>> {
        match self.gap(size) {
            Some(gap) => vec![0..gap.start, gap.end..size],
            None => std::iter::once(0..size).collect(),
        }
    }
}

/// Reads a file up to its length: whole, or the parts that the bound allows.
pub(super) fn read(file: &mut (impl Read + Seek), size: u64, bound: ScanBound) -> io::Result<Lite> {
    let Some(gap) = bound.gap(size) else { return Lite::read_from(file, 0, size) };
    let fingerprint = Some(Fingerprint::at(file, size)?);
    let mut lite = Lite { size, partial: true, fingerprint, ..Lite::default() };
    lite.add_first_part(file, gap.start)?;
    let last = last_part(file, gap.end..size, &lite)?;
    // The latest time is after the gap, and the first message before it, if there is one.
    lite.last_at = None;
    if !lite.has_messages {
        lite.forked_from.clone_from(&last.forked_from);
    }
    lite.add_tail(last, b"", false);
    Ok(lite)
}

impl Lite {
    /// Adds the first bytes of a file, which may end inside a line.
    fn add_first_part(&mut self, file: &mut (impl Read + Seek), end: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(0))?;
        let mut reader = Reader::new(file.take(end));
        while let Some(entry) = reader.read()? {
            let is_last = entry.at().offset + entry.bytes().len() as u64 == end;
            if is_last && entry.problem().is_some() {
                self.add_line_without_end(entry.bytes());
            } else {
                self.add(&entry);
            }
        }
        Ok(())
    }
}

/// Returns the facts of the last bytes of a file, which may begin inside a line.
fn last_part(file: &mut (impl Read + Seek), span: Range<u64>, first_part: &Lite) -> io::Result<Lite> {
    let mut last = Lite::default();
    let cut = rest_of_line(file, span.clone())?;
    last.add_span(file, span.start + cut.len() as u64..span.end)?;
    last.add_line_without_beginning(&cut, first_part);
    Ok(last)
}

/// Returns the bytes up to the next start of a line: none if a line starts where the span does.
fn rest_of_line(file: &mut (impl Read + Seek), span: Range<u64>) -> io::Result<Vec<u8>> {
    if read_span(file, span.start - 1, 1)? == b"\n" {
        return Ok(Vec::new());
    }
    let mut rest = Vec::new();
    loop {
        let at = span.start + rest.len() as u64;
        let chunk = read_span(file, at, (span.end - at).min(CHUNK as u64))?;
        let newline = memchr::memchr(b'\n', &chunk);
        rest.extend_from_slice(&chunk[..newline.map_or(chunk.len(), |at| at + 1)]);
        if newline.is_some() || chunk.is_empty() {
            return Ok(rest);
        }
    }
}
