//! Appending whole lines to a file that others may append to as well.

use std::io;

use super::fs::Handle;

/// Lines that are written together.
#[derive(Debug, Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// Where each line ends.
    ends: Vec<usize>,
}

/// How far writing came.
#[derive(Debug)]
pub(super) struct Progress {
    /// How many lines are on disk, whole.
    pub(super) lines: usize,
    /// Where the first line begins, if all stand in one piece behind each other.
    pub(super) start: Option<u64>,
    pub(super) result: io::Result<()>,
}

impl Lines {
    /// Adds a line, which `write` ends in a newline.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Returns the lines.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        self.ends.iter().zip(starts).map(|(&end, start)| &self.bytes[start..end])
    }

    /// Writes the lines at the end of a file, in one operation if the disk takes them so.
    ///
    /// With `heal`, the file ends in a line without newline: ours begin on a new one. If only a part finds room, the
    /// rest follows, unless somebody else has written behind that part: then the broken line is written again, whole,
    /// on a new line.
    pub(super) fn append_to(&self, file: &mut dyn Handle, heal: bool) -> Progress {
        let mut writing = Writing { lines: self, done: 0, heal, start: None, in_one_piece: true };
        let result = loop {
            if writing.done == self.bytes.len() {
                break Ok(());
            }
            if let Err(error) = writing.step(file) {
                break Err(error);
            }
        };
        let lines = self.ends.iter().filter(|end| **end <= writing.done).count();
        Progress { lines, start: writing.start.filter(|_| writing.in_one_piece), result }
    }
}

struct Writing<'a> {
    lines: &'a Lines,
    /// How many bytes are on disk.
    done: usize,
    /// Whether a newline has to be written first.
    heal: bool,
    start: Option<u64>,
    in_one_piece: bool,
}

impl Writing<'_> {
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

/// Writes what fits; that nothing does is an error.
fn append(file: &mut dyn Handle, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.append(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
