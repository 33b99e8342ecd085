//! Appends whole lines to a file that other processes may append to at the same time.

use std::io;

use super::fs::Handle;

/// Lines that are written in one operation.
#[derive(Debug, Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// The offset in `bytes` at which each line ends.
    ends: Vec<usize>,
}

/// How many lines were written.
#[derive(Debug)]
pub(super) struct AppendResult {
    /// The number of complete lines on disk.
    pub(super) lines: usize,
    /// The offset of the first line, if all lines follow each other without a gap.
    pub(super) start: Option<u64>,
    pub(super) result: io::Result<()>,
}

impl Lines {
    /// Adds a line; `write` writes it together with its newline.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Returns the lines.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        self.ends.iter().zip(starts).map(|(&end, start)| &self.bytes[start..end])
    }

    /// Appends the lines to a file, in one operation if the disk accepts all bytes at once.
    ///
    /// With `heal`, the file ends in a line without newline, so a newline is written first. If the disk accepts only a part
    /// of the bytes, the rest is written next. If another process has appended in between, the incomplete line is written
    /// again, on a new line.
    pub(super) fn append_to(&self, file: &mut dyn Handle, heal: bool) -> AppendResult {
        let mut writing = AppendOperation { lines: self, done: 0, heal, start: None, in_one_piece: true };
        let result = loop {
            if writing.done == self.bytes.len() {
                break Ok(());
            }
            if let Err(error) = writing.step(file) {
                break Err(error);
            }
        };
        let lines = self.ends.iter().filter(|end| **end <= writing.done).count();
        AppendResult { lines, start: writing.start.filter(|_| writing.in_one_piece), result }
    }
}

/// The state of [`Lines::append_to`].
struct AppendOperation<'a> {
    lines: &'a Lines,
    /// The number of bytes on disk.
    done: usize,
    /// Whether a newline has to be written first.
    heal: bool,
    start: Option<u64>,
    in_one_piece: bool,
}

impl AppendOperation<'_> {
    fn step(&mut self, file: &mut dyn Handle) -> io::Result<()> {
        let rest = &self.lines.bytes[self.done..];
        let written =
            if self.heal { append(file, &[b"\n", rest].concat())? - 1 } else { append(file, rest)? };
        self.heal = false;
        self.done += written;
        let end = file.stream_position()?;
        self.start.get_or_insert(end - written as u64);
        if written < rest.len() && file.state()?.length != end {
            self.done = self.lines.ends.iter().copied().filter(|end| *end <= self.done).max().unwrap_or(0);
            (self.heal, self.in_one_piece) = (true, false);
        }
        Ok(())
    }
}

/// Writes as many bytes as the disk accepts; it is an error if it accepts none.
fn append(file: &mut dyn Handle, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.append(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
