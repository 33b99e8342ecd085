//! Reads entries one at a time; the memory is bounded by the longest line.

mod buffer;
mod spanning;

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use crate::entry::{Entry, Grammar, LineState, Problem};
use buffer::{Buffer, CHUNK};
use spanning::{LinesAhead, LookAhead, spanned_lines};

/// The start of an entry in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The number of bytes before it.
    pub offset: u64,
    /// The number of its line, counted from 1.
    pub line: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)
    }
}

/// Reads entries from any source.
///
/// Every byte belongs to exactly one entry, so the entries' bytes, concatenated, give the source back. Content
/// never makes reading fail: the only errors are those of the source. A hole, which is a long run of NUL bytes, becomes
/// several entries, so that it is never in memory as a whole.
///
/// ```
/// use annals_transcript::{Kind, Reader};
///
/// let file = b"{\"type\":\"user\",\"uuid\":\"a\"}\nnot json\n";
/// let mut reader = Reader::new(&file[..]);
/// let mut kinds = Vec::new();
/// while let Some(entry) = reader.read()? {
///     kinds.push(entry.kind());
/// }
/// assert_eq!(kinds, [Kind::User, Kind::Noise]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Reader<R> {
    source: R,
    buffer: Buffer,
    /// The unread part of the current line, in `buffer`.
    line: Range<usize>,
    /// The state of the current line.
    state: LineState,
    /// Whether the current line is a line, several lines or a part of a hole.
    piece: Piece,
    /// The number of bytes of the source in `buffer`.
    filled: usize,
    /// The start of the next entry.
    at: Position,
    looked_ahead: LookAhead,
    grammar: Grammar,
}

/// NUL bytes to compare a hole with.
static NULS: [u8; CHUNK / 4] = [0; CHUNK / 4];

/// The kinds of pieces in which a source is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// A line with its newline, or the last line of the source without one.
    Line,
    /// The lines of an object that spans several.
    Lines,
    /// The part of a line before a hole.
    BeforeHole,
    /// A part of a hole.
    Hole,
}

impl<R: Read> Reader<R> {
    /// Reads from the start of a source.
    pub fn new(source: R) -> Self {
        Self::resume(source, Position { offset: 0, line: 1 })
    }

    /// Reads from a source whose next byte is at `at`, the start of a line.
    pub fn resume(source: R, at: Position) -> Self {
        Self {
            source,
            buffer: Buffer::default(),
            line: 0..0,
            state: LineState::default(),
            piece: Piece::Line,
            filled: 0,
            at,
            looked_ahead: LookAhead::default(),
            grammar: Grammar::Unchecked,
        }
    }

    /// Checks the grammar of each object while its head is read. The entries are the same; [`Entry::verify`] then takes no time
    /// for nearly all of them.
    #[must_use]
    pub fn with_grammar_check(self) -> Self {
        Self { grammar: Grammar::Checked, ..self }
    }

    /// Returns the next entry, or `None` at the end of the source.
    pub fn read(&mut self) -> io::Result<Option<Entry<'_>>> {
        if self.line.is_empty() {
            if !self.read_line()? {
                return Ok(None);
            }
            self.state = LineState::default();
            let line = &self.buffer[self.line.clone()];
            if self.piece == Piece::Line
                && self.looked_ahead.is_allowed(self.at)
                && begins_unclosed_object(line, self.at)
            {
                self.extend_over_lines()?;
            }
        }
        let line = &self.buffer[self.line.clone()];
        let entry = match self.piece {
            Piece::Hole => Entry::of_hole(line, self.at),
            Piece::Line | Piece::Lines | Piece::BeforeHole => {
                Entry::first_in(line, self.at, self.grammar, &mut self.state)
            }
        };
        let length = entry.bytes().len();
        self.line.start += length;
        self.at.offset += length as u64;
        self.at.line += match self.piece {
            Piece::Line => u64::from(self.line.is_empty()),
            Piece::Lines => newlines(entry.bytes()),
            Piece::BeforeHole | Piece::Hole => 0,
        };
        Ok(Some(entry))
    }

    /// Extends the current line over the following ones if it begins an object that ends in one of them.
    fn extend_over_lines(&mut self) -> io::Result<()> {
        let mut looked_ahead = std::mem::take(&mut self.looked_ahead);
        let length = spanned_lines(self, self.line.len(), &mut looked_ahead);
        self.looked_ahead = looked_ahead;
        if let Some(length) = length? {
            self.line.end = self.line.start + length;
            self.piece = Piece::Lines;
        }
        Ok(())
    }

    /// Returns the start of the next entry. At the end of the source it is the length and the number of lines plus one.
    pub fn position(&self) -> Position {
        self.at
    }

    /// Makes the next line current; returns whether there is one.
    fn read_line(&mut self) -> io::Result<bool> {
        self.piece = Piece::Line;
        let mut start = self.line.end;
        let mut searched = start;
        loop {
            if let Some(newline) = memchr::memchr(b'\n', &self.buffer[searched..self.filled]) {
                self.line = start..searched + newline + 1;
                return Ok(true);
            }
            // The rest moves to the front, so that the buffer only grows for a long line.
            self.buffer.copy_within(start..self.filled, 0);
            self.filled -= start;
            (start, searched) = (0, self.filled);
            self.line = 0..0;
            if self.buffer[..self.filled].ends_with(&NULS) {
                let hole = self.buffer[..self.filled].iter().rposition(|byte| *byte != 0);
                (self.line, self.piece) = match hole {
                    Some(last) => (0..last + 1, Piece::BeforeHole),
                    None => (0..self.filled, Piece::Hole),
                };
                return Ok(true);
            }
            if self.fill()? == 0 {
                self.line = 0..self.filled;
                return Ok(self.filled > 0);
            }
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        if self.buffer.is_empty() {
            self.buffer = Buffer::of_a_chunk();
        } else if self.filled == self.buffer.len() {
            // A quarter at a time keeps the buffer close to the longest line.
            let length = self.filled + self.filled / 4;
            self.buffer.reserve_exact(length - self.filled);
            self.buffer.resize(length, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.filled..]) {
                Ok(count) => {
                    self.filled += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl<R: Read> LinesAhead for Reader<R> {
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[self.line.start..][range]
    }

    fn line_end(&mut self, from: usize) -> io::Result<Option<usize>> {
        let mut searched = from;
        loop {
            let unsearched = &self.buffer[self.line.start + searched..self.filled];
            if let Some(newline) = memchr::memchr(b'\n', unsearched) {
                return Ok(Some(searched + newline + 1));
            }
            searched += unsearched.len();
            // The current line moves to the front, as in `read_line`.
            self.buffer.copy_within(self.line.start..self.filled, 0);
            self.filled -= self.line.start;
            self.line = 0..self.line.len();
            if self.fill()? == 0 {
                return Ok((searched > from).then_some(searched));
            }
        }
    }
}

/// The entries of bytes in memory: the same as [`Reader`] would read, without a copy.
#[derive(Debug)]
pub struct Entries<'a> {
    /// The bytes after the current line.
    rest: &'a [u8],
    /// The unread part of the current line.
    line: &'a [u8],
    /// Whether the current line is an object that spans several.
    spans_lines: bool,
    /// The state of the current line.
    state: LineState,
    at: Position,
    looked_ahead: LookAhead,
    grammar: Grammar,
}

impl<'a> Entries<'a> {
    /// Reads from the start of a file's bytes.
    pub fn of(bytes: &'a [u8]) -> Self {
        let at = Position { offset: 0, line: 1 };
        let (state, looked_ahead) = (LineState::default(), LookAhead::default());
        let grammar = Grammar::Unchecked;
        Self { rest: bytes, line: &[], spans_lines: false, state, at, looked_ahead, grammar }
    }

    /// Checks the grammar of each object while its head is read, as [`Reader::with_grammar_check`] does.
    #[must_use]
    pub fn with_grammar_check(self) -> Self {
        Self { grammar: Grammar::Checked, ..self }
    }

    /// Returns the length of the next line, or of all lines of an object that spans several.
    fn next_length(&mut self) -> usize {
        self.spans_lines = false;
        let line = first_line(self.rest).len();
        if !self.looked_ahead.is_allowed(self.at) || !begins_unclosed_object(&self.rest[..line], self.at) {
            return line;
        }
        let spanned = spanned_lines(&mut self.rest, line, &mut self.looked_ahead);
        // Bytes in memory are always read without an error.
        let spanned = spanned.ok().flatten();
        self.spans_lines = spanned.is_some();
        spanned.unwrap_or(line)
    }

    /// Skips the next lines as long as `is_skipped` returns `true` for them.
    pub(crate) fn skip_lines_while(&mut self, is_skipped: impl Fn(&[u8]) -> bool) {
        while self.line.is_empty() && !self.rest.is_empty() {
            let line = first_line(self.rest);
            if !is_skipped(line) {
                return;
            }
            self.rest = &self.rest[line.len()..];
            self.at.offset += line.len() as u64;
            self.at.line += 1;
        }
    }
}

/// Returns whether a line begins an object that does not end in it.
fn begins_unclosed_object(line: &[u8], at: Position) -> bool {
    let begins = line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    // A valid line ends in a brace. Only other lines have to be parsed to decide.
    begins
        && line.trim_ascii_end().last() != Some(&b'}')
        && matches!(
            Entry::first_in(line, at, Grammar::Unchecked, &mut LineState::default()).problem(),
            Some(Problem::Torn | Problem::Unclosed)
        )
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Returns the first line with its newline.
pub(crate) fn first_line(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr::memchr(b'\n', bytes).map_or(bytes.len(), |newline| newline + 1)]
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        if self.line.is_empty() {
            (self.line, self.rest) = self.rest.split_at(self.next_length());
            self.state = LineState::default();
            if self.line.is_empty() {
                return None;
            }
        }
        let entry = Entry::first_in(self.line, self.at, self.grammar, &mut self.state);
        let length = entry.bytes().len();
        let is_last = length == self.line.len();
        self.line = &self.line[length..];
        self.at.offset += length as u64;
        // Only an object that spans lines has newlines inside.
        let inner = if self.spans_lines { newlines(entry.bytes()) } else { 0 };
        self.at.line += inner.max(u64::from(is_last));
        Some(entry)
    }
}

/// The most bytes that [`read_span`] allocates at once. A range may be longer than the file.
const SPAN: u64 = 1 << 20;

/// Reads a range of a file; the result is shorter if the file ends before the range does.
pub fn read_span(file: &mut (impl Read + Seek), offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(SPAN)).unwrap_or_default());
    file.seek(SeekFrom::Start(offset))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a range of a file into a buffer of its length; the result is shorter if the file ends early.
pub(crate) fn read_into<'b>(
    file: &mut (impl Read + Seek),
    offset: u64,
    buffer: &'b mut [u8],
) -> io::Result<&'b [u8]> {
    file.seek(SeekFrom::Start(offset))?;
    fill(file, buffer)
}

/// Reads from a file until the buffer is full or the file ends.
pub(crate) fn fill<'b>(file: &mut impl Read, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(&buffer[..filled])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    /// Returns offset, line and bytes of every entry, read in pieces of `piece` bytes.
    fn entries(file: &[u8], piece: usize) -> Vec<(u64, u64, Vec<u8>)> {
        struct Pieces<'a>(&'a [u8], usize);
        impl Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let limit = buffer.len().min(self.1);
                self.0.read(&mut buffer[..limit])
            }
        }
        let mut reader = Reader::new(Pieces(file, piece));
        let mut entries = Vec::new();
        while let Some(entry) = reader.read().unwrap() {
            entries.push((entry.at().offset, entry.at().line, entry.bytes().to_vec()));
        }
        entries
    }

    #[test]
    fn positions_count_bytes_and_lines() {
        let file = b"{}\n\n{\"a\":1}{\"b\":2}\r\ntail";
        let expected: [(u64, u64, &[u8]); 5] = [
            (0, 1, b"{}\n"),
            (3, 2, b"\n"),
            (4, 3, b"{\"a\":1}"),
            (11, 3, b"{\"b\":2}\r\n"),
            (20, 4, b"tail"),
        ];
        for piece in [1, 2, 3, 7, 1000] {
            let found = entries(file, piece);
            let found: Vec<_> =
                found.iter().map(|(offset, line, bytes)| (*offset, *line, &bytes[..])).collect();
            assert_eq!(found, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn an_object_that_spans_lines_is_one_entry() {
        let file = b"{}\n{\n  \"type\": \"user\",\n  \"x\": [\n    1\n  ]\n}{\"b\":2}\n{\"a\":\n{}\n\ntail";
        let expected: [(u64, u64, &[u8]); 7] = [
            (0, 1, b"{}\n"),
            (3, 2, b"{\n  \"type\": \"user\",\n  \"x\": [\n    1\n  ]\n}"),
            (43, 7, b"{\"b\":2}\n"),
            (51, 8, b"{\"a\":\n"),
            (57, 9, b"{}\n"),
            (60, 10, b"\n"),
            (61, 11, b"tail"),
        ];
        for piece in [1, 2, 3, 7, 1000] {
            let found = entries(file, piece);
            let found: Vec<_> =
                found.iter().map(|(offset, line, bytes)| (*offset, *line, &bytes[..])).collect();
            assert_eq!(found, expected, "in pieces of {piece}");
        }
        let in_memory: Vec<_> =
            Entries::of(file).map(|entry| (entry.at().offset, entry.at().line, entry.bytes())).collect();
        assert_eq!(in_memory, expected);
    }

    /// Lines that begin an object and never end it are looked at a bounded number of times each.
    #[test]
    fn a_torn_line_swallows_no_good_one() {
        let good = b"{\"type\":\"user\",\"uuid\":\"a\"}\n";
        for torn in [&b"{\"a\":\n"[..], b"{\"a\":[\n", b"{\"a\":\"x\n", b"{\n"] {
            let file = [torn, good, torn, torn, good, good].concat();
            let kinds: Vec<Kind> = Entries::of(&file).map(|entry| entry.kind()).collect();
            let expected = [Kind::Noise, Kind::User, Kind::Noise, Kind::Noise, Kind::User, Kind::User];
            assert_eq!(kinds, expected);
        }
    }

    #[test]
    fn reading_goes_on_where_it_stopped() {
        let file = b"{}\n{\"type\":\"mode\"}\n";
        let mut reader = Reader::resume(&file[3..], Position { offset: 3, line: 2 });
        let entry = reader.read().unwrap().unwrap();
        assert_eq!((entry.at(), entry.kind()), (Position { offset: 3, line: 2 }, crate::Kind::Mode));
        assert_eq!(reader.position(), Position { offset: file.len() as u64, line: 3 });
    }

    #[test]
    fn lines_longer_than_the_buffer_are_read_whole() {
        let long = format!("{{\"type\":\"user\",\"text\":\"{}\"}}\n", "x".repeat(1_000_000));
        let file = format!("{{}}\n{long}{{}}\n");
        let found = entries(file.as_bytes(), 100_000);
        assert_eq!(found.iter().map(|entry| entry.2.len()).collect::<Vec<_>>(), [3, long.len(), 3]);
    }

    #[test]
    fn the_buffer_stays_close_to_the_longest_line() {
        let file = format!("{}\n{{}}\n", "x".repeat(10_000_000));
        let mut reader = Reader::new(file.as_bytes());
        while reader.read().unwrap().is_some() {}
        assert!(reader.buffer.capacity() < 13_000_000, "{}", reader.buffer.capacity());
    }

    #[test]
    fn an_interrupted_source_is_asked_again_and_a_failing_one_is_an_error() {
        struct Flaky(u32);
        impl Read for Flaky {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                match self.0 {
                    1 => Err(io::ErrorKind::Interrupted.into()),
                    2 => {
                        buffer[..3].copy_from_slice(b"{}\n");
                        Ok(3)
                    }
                    _ => Err(io::ErrorKind::PermissionDenied.into()),
                }
            }
        }
        let mut reader = Reader::new(Flaky(0));
        assert_eq!(reader.read().unwrap().unwrap().bytes(), b"{}\n");
        assert_eq!(reader.read().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_hole_is_read_in_pieces_and_is_one_line() {
        let line = b"{\"type\":\"user\",\"uuid\":\"a\"}\n";
        for torn in [&b""[..], b"{\"type\":\"assistant\",\"mess"] {
            check_hole(&[&line[..], torn, &vec![0; 5 * CHUNK + 7], line, line].concat());
        }
    }

    fn check_hole(hole: &[u8]) {
        let mut reader = Reader::new(hole);
        let (mut read, mut lines) = (Vec::new(), Vec::new());
        while let Some(entry) = reader.read().unwrap() {
            assert_eq!(entry.at().offset, read.len() as u64);
            read.extend_from_slice(entry.bytes());
            lines.push((entry.at().line, entry.kind()));
        }
        assert!(read == hole, "every byte belongs to an entry");
        assert!(reader.buffer.len() < 2 * CHUNK, "no more than a piece of it is in memory");
        let conversation: Vec<_> = lines.iter().filter(|(_, kind)| *kind != Kind::Noise).collect();
        assert_eq!(conversation, [&(1, Kind::User), &(2, Kind::User), &(3, Kind::User)]);
        assert!(lines.iter().all(|(line, kind)| *kind != Kind::Noise || *line == 2), "{lines:?}");
        assert_eq!(reader.position(), Position { offset: hole.len() as u64, line: 4 });
    }
}
