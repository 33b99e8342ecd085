//! Reads whole lines as they are appended to a file.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, SeekFrom};

use annals_transcript::checkpoint::{Change, Checkpoint, Fingerprint};
use annals_transcript::file_state::FileState;
use annals_transcript::line::read_span;

use crate::line_end::{PIECE, last_line_end};

/// An unfinished line up to this length is searched again from its start when more of it arrives: reading it again costs no
/// more than comparing it with a fingerprint.
const SHORT: u64 = 4 * 1024;

/// Reads whole lines as they are appended to a file. A line without its newline waits until it is complete.
///
/// A tail does not keep the file open, and it is small, because a follower keeps one for every file.
///
/// ```
/// use annals_engine::Tail;
/// use annals_transcript::file_state::FileState;
///
/// let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// std::fs::write(&path, "{}\n{\"type\":")?;
/// let mut file = std::fs::File::open(&path)?;
/// let state = FileState::from(file.metadata()?);
/// let mut tail = Tail::at_start(&state);
/// tail.compare(&mut file, &state)?;
/// let mut lines = tail.find_lines(&mut file, state.length, 1 << 20)?.expect("there is a whole line");
/// assert_eq!(lines.read(&mut file)?, b"{}\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Tail {
    /// The end of the last line that was read.
    checkpoint: Checkpoint,
    /// How far a long unfinished line was searched for its newline.
    searched: Option<Box<SearchedSpan>>,
}

/// A span without a newline, from the checkpoint to this offset. It holds as long as the file matches the fingerprint.
#[derive(Debug)]
struct SearchedSpan {
    offset: u64,
    fingerprint: Fingerprint,
}

/// Whole lines that were found in a file.
#[derive(Debug)]
pub struct Lines {
    start: u64,
    end: u64,
    /// The lines if they were read already, otherwise empty.
    bytes: Vec<u8>,
}

impl Tail {
    /// Continues from a checkpoint. A checkpoint without a fingerprint may lie within a line; then the tail starts with that
    /// line.
    pub fn new(checkpoint: Checkpoint) -> Self {
        Self { checkpoint, searched: None }
    }

    /// Starts at an offset of a file. Returns `None` if no line starts there.
    pub fn at_line(file: &mut File, state: &FileState, offset: u64) -> io::Result<Option<Self>> {
        let is_line_start = offset == 0 || offset <= state.length && read_span(file, offset - 1, 1)? == b"\n";
        if is_line_start { Self::at(file, state, offset).map(Some) } else { Ok(None) }
    }

    fn at(file: &mut File, state: &FileState, offset: u64) -> io::Result<Self> {
        Ok(Self::new(Checkpoint::at(file, state.identity, offset)?))
    }

    /// Starts at the end of the last whole line of a file.
    pub fn at_end(file: &mut File, state: &FileState) -> io::Result<Self> {
        let end = last_line_end(file, 0, state.length)?.unwrap_or(0);
        Self::at(file, state, end)
    }

    /// Starts at the start of a file.
    pub fn at_start(state: &FileState) -> Self {
        Self::new(Checkpoint::new(state.identity, 0, None))
    }

    /// Returns how far the file was read.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Compares the file with the checkpoint. If it was replaced, the tail starts again at its start.
    pub fn compare(&mut self, file: &mut File, state: &FileState) -> io::Result<Change> {
        let change = self.checkpoint.compare(file, state)?;
        if change == Change::Replaced {
            *self = Self::at_start(state);
        }
        if self.checkpoint.fingerprint().is_none() {
            let end = last_line_end(file, 0, self.checkpoint.offset())?.unwrap_or(0);
            *self = Self::at(file, state, end)?;
        }
        Ok(change)
    }

    /// Finds the next whole lines of a file of this length: all lines within `at_most` bytes, or a single line that is longer.
    /// The caller has just called [`compare`](Self::compare).
    pub fn find_lines(&mut self, file: &mut File, length: u64, at_most: u64) -> io::Result<Option<Lines>> {
        let start = self.checkpoint.offset();
        let from = self.search_start(file, length)?;
        let bound = length.min(start.saturating_add(at_most));
        if from == start && bound.saturating_sub(start) <= PIECE {
            let mut bytes = read_span(file, start, bound.saturating_sub(start))?;
            if let Some(newline) = memchr::memrchr(b'\n', &bytes) {
                bytes.truncate(newline + 1);
                return Ok(Some(Lines { start, end: start + bytes.len() as u64, bytes }));
            }
        } else if let Some(end) = last_line_end(file, from, bound)? {
            return Ok(Some(Lines { start, end, bytes: Vec::new() }));
        }
        if let Some(end) = first_line_end(file, from.max(bound), length)? {
            return Ok(Some(Lines { start, end, bytes: Vec::new() }));
        }
        self.searched = None;
        if length > start + SHORT {
            let fingerprint = self.checkpoint.advance(file, length)?.fingerprint();
            self.searched =
                fingerprint.map(|fingerprint| Box::new(SearchedSpan { offset: length, fingerprint }));
        }
        Ok(None)
    }

    /// Returns the offset at which the search for a newline begins.
    fn search_start(&self, file: &mut File, length: u64) -> io::Result<u64> {
        let start = self.checkpoint.offset();
        let Some(searched) = &self.searched else { return Ok(start) };
        // The caller has just compared the file up to the checkpoint.
        let is_same = searched.offset <= length && searched.fingerprint.matches_end(file, searched.offset)?;
        Ok(if is_same { searched.offset } else { start })
    }

    /// Moves the checkpoint to the end of lines that the caller has processed. `state` is the state of the file before they were
    /// read, `hash` is their hash by [`DefaultHasher`]. Returns whether the file still has these lines; if not, the next
    /// comparison reports it as replaced.
    pub fn advance(
        &mut self,
        file: &mut File,
        state: &FileState,
        lines: &Lines,
        hash: u64,
    ) -> io::Result<bool> {
        let before = self.checkpoint;
        self.skip_to(lines.end);
        // Another program may have overwritten the lines while they were read.
        let now = FileState::from(file.metadata()?);
        let is_unchanged = now == *state
            || before.compare(file, &now)? != Change::Replaced
                && hash_between(file, lines.start, lines.end)? == hash;
        if is_unchanged {
            self.checkpoint = match before.advance_over(&lines.bytes) {
                Some(checkpoint) if checkpoint.offset() == lines.end => checkpoint,
                _ => before.advance(file, lines.end)?,
            };
        } else {
            // No file is this long, so the next comparison reports a replaced file.
            self.skip_to(u64::MAX);
        }
        Ok(is_unchanged)
    }

    /// Moves the checkpoint to the end of lines that the caller has processed, without reading them.
    pub fn skip_to(&mut self, offset: u64) {
        *self = Self::new(self.checkpoint.without_fingerprint(offset));
    }
}

impl Lines {
    /// Returns the offset of the first line.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Returns how many bytes the lines have. It is never zero.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one line")]
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Returns a reader of the lines, which need not fit into memory.
    pub fn open<'a>(&'a self, file: &'a mut File) -> io::Result<impl Read + 'a> {
        let rest = self.len() - self.bytes.len() as u64;
        if rest > 0 {
            file.seek(SeekFrom::Start(self.end - rest))?;
        }
        Ok(self.bytes.chain(file.take(rest)))
    }

    /// Reads the lines into memory, unless that was done already.
    pub fn read(&mut self, file: &mut File) -> io::Result<&[u8]> {
        if self.bytes.is_empty() {
            self.bytes = read_span(file, self.start, self.len())?;
        }
        Ok(&self.bytes)
    }

    /// Returns the lines that were read into memory.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Returns the end of the first line that ends between two offsets of a file.
fn first_line_end(file: &mut File, from: u64, to: u64) -> io::Result<Option<u64>> {
    let mut start = from;
    while start < to {
        let bytes = read_span(file, start, PIECE.min(to - start))?;
        if let Some(newline) = memchr::memchr(b'\n', &bytes) {
            return Ok(Some(start + newline as u64 + 1));
        }
        if bytes.is_empty() {
            break;
        }
        start += bytes.len() as u64;
    }
    Ok(None)
}

/// Returns the hash of a part of a file by [`DefaultHasher`], which is the same for pieces of any length.
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

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use super::*;

    /// A file, and a tail of it.
    struct Fixture {
        path: tempfile::TempPath,
        tail: Tail,
    }

    impl Fixture {
        fn new(text: &str) -> Self {
            let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
            std::fs::write(&path, text).unwrap();
            let mut file = File::open(&path).unwrap();
            let state = FileState::from(file.metadata().unwrap());
            let tail = Tail::at_end(&mut file, &state).unwrap();
            Self { path, tail }
        }

        fn append(&self, bytes: &[u8]) {
            OpenOptions::new().append(true).open(&self.path).unwrap().write_all(bytes).unwrap();
        }

        /// Returns what happened to the file, and the next lines.
        fn read(&mut self, at_most: u64) -> (Change, Option<Vec<u8>>) {
            let mut file = File::open(&self.path).unwrap();
            let state = FileState::from(file.metadata().unwrap());
            let change = self.tail.compare(&mut file, &state).unwrap();
            let Some(mut lines) = self.tail.find_lines(&mut file, state.length, at_most).unwrap() else {
                return (change, None);
            };
            let mut streamed = Vec::new();
            lines.open(&mut file).unwrap().read_to_end(&mut streamed).unwrap();
            let mut hasher = DefaultHasher::new();
            hasher.write(&streamed);
            assert_eq!(lines.read(&mut file).unwrap(), streamed);
            assert!(self.tail.advance(&mut file, &state, &lines, hasher.finish()).unwrap());
            (change, Some(lines.into_bytes()))
        }
    }

    #[test]
    fn lines_are_whole_whatever_the_pieces_and_the_bound() {
        let lengths = [0, 1, 10, 255, 300, 5000, 70_000, 3, 140_000, 2];
        let text: Vec<u8> = lengths
            .iter()
            .flat_map(|length| "x".repeat(*length).into_bytes().into_iter().chain([b'\n']))
            .collect();
        for piece in [100, 4096, 30_000, 65_536, text.len()] {
            for at_most in [1, 64, 4096, PIECE, u64::MAX] {
                let mut fixture = Fixture::new("old\ntorn");
                fixture.append(b"\n");
                assert_eq!(fixture.read(at_most), (Change::Grown, Some(b"torn\n".to_vec())));
                let mut read = Vec::new();
                for piece in text.chunks(piece) {
                    fixture.append(piece);
                    while let (change, Some(lines)) = fixture.read(at_most) {
                        assert_eq!(change, Change::Grown);
                        assert!(lines.ends_with(b"\n"));
                        let is_one = !lines[..lines.len() - 1].contains(&b'\n');
                        assert!(is_one || lines.len() as u64 <= at_most, "{} bytes", lines.len());
                        read.extend(lines);
                    }
                }
                assert!(read == text, "{piece} {at_most}");
                assert_eq!(fixture.read(at_most), (Change::Same, None));
            }
        }
    }

    #[test]
    fn an_unfinished_line_that_is_replaced_hides_nothing() {
        for length in [10, 10_000, 100_000] {
            let mut fixture = Fixture::new("one\n");
            fixture.append("x".repeat(length).as_bytes());
            assert_eq!(fixture.read(u64::MAX), (Change::Grown, None));
            std::fs::write(&fixture.path, format!("one\ntwo\n{}", "y".repeat(length))).unwrap();
            assert_eq!(fixture.read(u64::MAX), (Change::Grown, Some(b"two\n".to_vec())), "{length}");
        }
    }

    #[test]
    fn a_file_that_was_replaced_is_read_from_its_start() {
        let mut fixture = Fixture::new("one\ntwo\n");
        for text in ["one\n", "ONE\nTWO\n", "three\nfour\n"] {
            std::fs::write(&fixture.path, text).unwrap();
            assert_eq!(fixture.read(u64::MAX), (Change::Replaced, Some(text.as_bytes().to_vec())));
        }
    }

    #[test]
    fn lines_that_were_written_over_while_they_were_read_are_replaced() {
        let mut fixture = Fixture::new("");
        fixture.append(b"one\ntwo\n");
        let mut file = File::open(&fixture.path).unwrap();
        let state = FileState::from(file.metadata().unwrap());
        let lines = fixture.tail.find_lines(&mut file, state.length, u64::MAX).unwrap().unwrap();
        std::fs::write(&fixture.path, "ONE\ntwo\nthree\n").unwrap();
        let mut hasher = DefaultHasher::new();
        hasher.write(b"one\ntwo\n");
        assert!(!fixture.tail.advance(&mut file, &state, &lines, hasher.finish()).unwrap());
        assert_eq!(fixture.read(u64::MAX), (Change::Replaced, Some(b"ONE\ntwo\nthree\n".to_vec())));
    }

    #[test]
    fn a_checkpoint_within_a_line_goes_back_to_its_start() {
        let mut fixture = Fixture::new("one\ntw");
        let identity = FileState::of(&fixture.path).unwrap().unwrap().identity;
        fixture.tail = Tail::new(Checkpoint::new(identity, 6, None));
        fixture.append(b"o\n");
        assert_eq!(fixture.read(u64::MAX), (Change::Grown, Some(b"two\n".to_vec())));
    }
}
