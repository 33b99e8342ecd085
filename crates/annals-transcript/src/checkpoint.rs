//! How far a file was read, and whether it is still the same file.
//!
//! Everything that reads a growing file in steps keeps a [`Checkpoint`] between two steps and compares it with the file
//! before it reads on.
//!
//! ```
//! use std::io::Cursor;
//! use annals_transcript::checkpoint::{Change, Checkpoint};
//! use annals_transcript::file_state::FileState;
//!
//! let state = |length| FileState { length, modified: None, identity: (1, 2) };
//! let checkpoint = Checkpoint::at(&mut Cursor::new("one\n"), (1, 2), 4)?;
//! assert_eq!(checkpoint.compare(&mut Cursor::new("one\n"), &state(4))?, Change::Same);
//! assert_eq!(checkpoint.compare(&mut Cursor::new("one\ntwo\n"), &state(8))?, Change::Grown);
//! assert_eq!(checkpoint.compare(&mut Cursor::new("two\ntwo\n"), &state(8))?, Change::Replaced);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fmt;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Seek};
use std::num::NonZeroU64;
use std::path::Path;

use foldhash::quality::FixedState;

use crate::file_state::FileState;
use crate::line::read_span;

/// A fingerprint covers this many bytes at the start of the file, and this many before the offset. In lines that Claude
/// Code writes, either holds an id or a time, which no other file has.
const COVERED: u64 = 256;
/// The same number as a length in memory.
const COVERED_IN_MEMORY: usize = 256;

// There may be one checkpoint for each of ten thousand files.
const _: () = assert!(size_of::<Checkpoint>() == 32);

/// The offset up to which a file was read, and a fingerprint that says whether the file still begins with those bytes.
///
/// The default checkpoint is at the start of any file: nothing was read yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    identity: (u64, u64),
    offset: u64,
    /// `None` if the bytes before the offset were not read.
    fingerprint: Option<Fingerprint>,
}

/// A hash of the bytes at the start of a file and of those before an offset.
///
/// The upper half is the hash of the start, which stays the same as the offset moves on; the lower half is the hash of
/// the bytes before the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(NonZeroU64);

/// What happened to a file since a checkpoint was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file ends at the checkpoint.
    Same,
    /// The file has bytes after the checkpoint, and those before it are unchanged.
    Grown,
    /// There is another file, or this one was truncated or rewritten.
    Replaced,
    /// There is no file.
    Gone,
}

impl Checkpoint {
    /// Builds a checkpoint from its parts, which may have been stored. Without a fingerprint, only the identity and the length
    /// of a file are compared.
    pub fn new(identity: (u64, u64), offset: u64, fingerprint: Option<Fingerprint>) -> Self {
        Self { identity, offset, fingerprint }
    }

    /// Reads the checkpoint at an offset of a file with this identity.
    pub fn at(file: &mut (impl Read + Seek), identity: (u64, u64), offset: u64) -> io::Result<Self> {
        Ok(Self::new(identity, offset, Some(Fingerprint::at(file, offset)?)))
    }

    /// Reads the checkpoint at a later offset of the same file. The start of the file is not read again.
    pub fn advance(&self, file: &mut (impl Read + Seek), offset: u64) -> io::Result<Self> {
        match self.fingerprint {
            Some(fingerprint) if self.offset >= COVERED && offset >= self.offset => {
                let end = hash(&bytes_before(file, offset)?);
                Ok(Self { offset, fingerprint: Some(Fingerprint::join(fingerprint.start(), end)), ..*self })
            }
            _ => Self::at(file, self.identity, offset),
        }
    }

    /// Returns the checkpoint after `bytes`, which follow this checkpoint in the file; `None` if they are too few to compute
    /// the fingerprint.
    pub fn advance_over(&self, bytes: &[u8]) -> Option<Self> {
        let start = self.fingerprint.filter(|_| self.offset >= COVERED)?.start();
        let end = bytes.last_chunk::<COVERED_IN_MEMORY>()?;
        let fingerprint = Some(Fingerprint::join(start, hash(end)));
        Some(Self { offset: self.offset + bytes.len() as u64, fingerprint, ..*self })
    }

    /// Returns a checkpoint of the same file at another offset, if the bytes before that offset are not known.
    #[must_use]
    pub fn without_fingerprint(&self, offset: u64) -> Self {
        Self { offset, fingerprint: None, ..*self }
    }

    /// Returns which file was read.
    pub fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// Returns how many bytes were read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the fingerprint, if the bytes before the offset are known.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// Compares the checkpoint with an open file. A file that is not replaced is either [`Change::Same`] or
    /// [`Change::Grown`].
    pub fn compare(&self, file: &mut (impl Read + Seek), state: &FileState) -> io::Result<Change> {
        let is_continued = *self == Self::default()
            || self.identity == state.identity && self.offset <= state.length && self.matches(file)?;
        Ok(match is_continued {
            false => Change::Replaced,
            true if self.offset == state.length => Change::Same,
            true => Change::Grown,
        })
    }

    /// Compares the checkpoint with the file at a path.
    pub fn compare_path(&self, path: &Path) -> io::Result<Change> {
        // Opening a FIFO would block, so the path is examined first.
        if FileState::of(path)?.is_none() {
            return Ok(Change::Gone);
        }
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Change::Gone),
            file => file?,
        };
        let state = FileState::from(file.metadata()?);
        self.compare(&mut file, &state)
    }

    fn matches(&self, file: &mut (impl Read + Seek)) -> io::Result<bool> {
        self.fingerprint.map_or(Ok(true), |fingerprint| fingerprint.matches(file, self.offset))
    }

    /// Reads a checkpoint as [`Display`](fmt::Display) spells it.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.split('.').map(|number| u64::from_str_radix(number, 16).ok());
        let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
        let [device, inode, offset, fingerprint] = numbers[..] else { return None };
        Some(Self::new((device, inode), offset, NonZeroU64::new(fingerprint).map(Fingerprint)))
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (device, inode) = self.identity;
        let fingerprint = self.fingerprint.map_or(0, |fingerprint| fingerprint.0.get());
        write!(formatter, "{device:x}.{inode:x}.{:x}.{fingerprint:x}", self.offset)
    }
}

impl Fingerprint {
    /// Reads the fingerprint that a file has at an offset.
    pub fn at(file: &mut (impl Read + Seek), offset: u64) -> io::Result<Self> {
        let end = bytes_before(file, offset)?;
        if offset <= COVERED {
            return Ok(Self::of_ends(&end, &end));
        }
        Ok(Self::of_ends(&read_span(file, 0, COVERED)?, &end))
    }

    /// Computes the fingerprint from the first bytes of a file and the last bytes before an offset. Both may be longer than
    /// the fingerprint covers.
    pub fn of_ends(start: &[u8], end: &[u8]) -> Self {
        let covered_start = &start[..start.len().min(COVERED_IN_MEMORY)];
        let covered_end = &end[end.len().saturating_sub(COVERED_IN_MEMORY)..];
        Self::join(hash(covered_start), hash(covered_end))
    }

    /// Returns whether a file has this fingerprint at an offset. The end is compared first: it differs more often.
    fn matches(self, file: &mut (impl Read + Seek), offset: u64) -> io::Result<bool> {
        let end = bytes_before(file, offset)?;
        if !self.has_end(&end) {
            return Ok(false);
        }
        let start = if offset <= COVERED { end } else { read_span(file, 0, COVERED)? };
        Ok(hash(&start) == self.start())
    }

    /// Returns whether a file has the covered bytes before an offset. Its start is not compared.
    pub fn matches_end(self, file: &mut (impl Read + Seek), offset: u64) -> io::Result<bool> {
        Ok(self.has_end(&bytes_before(file, offset)?))
    }

    fn has_end(self, end: &[u8]) -> bool {
        Self::join(self.start(), hash(end)) == self
    }

    /// Returns the fingerprint as a number that can be stored.
    pub fn number(self) -> i64 {
        self.0.get().cast_signed()
    }

    /// Returns a fingerprint that was stored as a number.
    pub fn from_number(number: i64) -> Option<Self> {
        NonZeroU64::new(number.cast_unsigned()).map(Self)
    }

    fn join(start: u32, end: u32) -> Self {
        let joined = u64::from(start) << 32 | u64::from(end);
        Self(NonZeroU64::new(joined).unwrap_or(NonZeroU64::MIN))
    }

    fn start(self) -> u32 {
        (self.0.get() >> 32) as u32
    }
}

/// Reads the covered bytes before an offset.
fn bytes_before(file: &mut (impl Read + Seek), offset: u64) -> io::Result<Vec<u8>> {
    let length = offset.min(COVERED);
    read_span(file, offset - length, length)
}

fn hash(bytes: &[u8]) -> u32 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(bytes);
    // The length is part of the hash, because a file that ends early yields fewer bytes.
    hasher.write_usize(bytes.len());
    #[expect(clippy::cast_possible_truncation, reason = "half of the hash is enough")]
    let half = hasher.finish() as u32;
    half
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    const FILE: (u64, u64) = (1, 2);

    fn state(bytes: &[u8]) -> FileState {
        FileState { length: bytes.len() as u64, modified: None, identity: FILE }
    }

    fn at(bytes: &[u8], offset: usize) -> Checkpoint {
        Checkpoint::at(&mut Cursor::new(bytes), FILE, offset as u64).unwrap()
    }

    fn compare(checkpoint: &Checkpoint, bytes: &[u8]) -> Change {
        checkpoint.compare(&mut Cursor::new(bytes), &state(bytes)).unwrap()
    }

    #[test]
    fn any_file_continues_the_default() {
        let start = Checkpoint::default();
        assert_eq!(compare(&start, b""), Change::Same);
        assert_eq!(compare(&start, b"x"), Change::Grown);
        // An empty file has an identity as well.
        let empty = at(b"", 0);
        let other = FileState { identity: (1, 3), ..state(b"x") };
        assert_eq!(empty.compare(&mut Cursor::new(b"x"), &other).unwrap(), Change::Replaced);
        assert_eq!(compare(&empty, b"x"), Change::Grown);
    }

    #[test]
    fn without_fingerprint_the_identity_and_the_length_decide() {
        let checkpoint = at(b"one\ntwo\n", 8).without_fingerprint(4);
        assert_eq!(compare(&checkpoint, b"ONE\nTWO\n"), Change::Grown);
        assert_eq!(compare(&checkpoint, b"one"), Change::Replaced);
        let other = FileState { identity: (1, 3), ..state(b"one\n") };
        assert_eq!(checkpoint.compare(&mut Cursor::new(b"one\n"), &other).unwrap(), Change::Replaced);
    }

    #[test]
    fn a_path_is_compared_with_the_file_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one\n").unwrap();
        let mut file = File::open(&path).unwrap();
        let identity = FileState::from(file.metadata().unwrap()).identity;
        let checkpoint = Checkpoint::at(&mut file, identity, 4).unwrap();
        let change = || checkpoint.compare_path(&path).unwrap();
        assert_eq!(change(), Change::Same);
        fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(change(), Change::Grown);
        fs::write(&path, "one").unwrap();
        assert_eq!(change(), Change::Replaced);
        let beside = folder.path().join("b");
        fs::write(&beside, "one\n").unwrap();
        fs::rename(&beside, &path).unwrap();
        #[cfg(unix)]
        assert_eq!(change(), Change::Replaced);
        fs::remove_file(&path).unwrap();
        assert_eq!(change(), Change::Gone);
    }

    /// Something that a program may do to a file.
    #[derive(Clone, Debug)]
    enum Edit {
        Append(Vec<u8>),
        Truncate(usize),
        Overwrite(usize, Vec<u8>),
        Replace(Vec<u8>),
    }

    impl Edit {
        fn apply(self, bytes: &mut Vec<u8>) {
            match self {
                Edit::Append(more) => bytes.extend(more),
                Edit::Truncate(at) => bytes.truncate(at % (bytes.len() + 1)),
                Edit::Overwrite(at, with) => {
                    let at = at % (bytes.len() + 1);
                    let end = bytes.len().min(at + with.len());
                    bytes.splice(at..end, with);
                }
                Edit::Replace(with) => *bytes = with,
            }
        }
    }

    /// Few different bytes, so that edits often leave what was there.
    fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(b"ab\n".to_vec()), 0..700)
    }

    fn edit() -> impl Strategy<Value = Edit> {
        let few = || prop::collection::vec(prop::sample::select(b"ab\n".to_vec()), 0..4);
        prop_oneof![
            some_bytes().prop_map(Edit::Append),
            any::<usize>().prop_map(Edit::Truncate),
            (any::<usize>(), few()).prop_map(|(at, with)| Edit::Overwrite(at, with)),
            some_bytes().prop_map(Edit::Replace),
        ]
    }

    proptest! {
        #[test]
        fn a_file_continues_exactly_if_the_covered_bytes_are_as_they_were(
            before in some_bytes(),
            at_most in 0..700_usize,
            edits in prop::collection::vec(edit(), 0..4),
        ) {
            let offset = at_most.min(before.len());
            let checkpoint = at(&before, offset);
            let mut after = before.clone();
            for edit in edits {
                edit.apply(&mut after);
            }
            let covered = |bytes: &[u8]| {
                let bytes = bytes.get(..offset)?;
                let length = offset.min(COVERED_IN_MEMORY);
                Some([&bytes[..length], &bytes[offset - length..]].concat())
            };
            let expected = match covered(&after) {
                Some(bytes) if Some(&bytes) == covered(&before).as_ref() => {
                    if after.len() == offset { Change::Same } else { Change::Grown }
                }
                _ => Change::Replaced,
            };
            prop_assert_eq!(compare(&checkpoint, &after), expected);
        }

        #[test]
        fn advancing_is_the_same_as_reading_anew(bytes in some_bytes(), first in 0..700_usize, then in 0..700_usize) {
            let (first, then) = (first.min(bytes.len()), then.min(bytes.len()));
            let advanced = at(&bytes, first).advance(&mut Cursor::new(&bytes), then as u64).unwrap();
            prop_assert_eq!(advanced, at(&bytes, then));
            let over = at(&bytes, first.min(then)).advance_over(&bytes[first.min(then)..first.max(then)]);
            prop_assert!(over.is_none_or(|over| over == at(&bytes, first.max(then))));
        }

        #[test]
        fn what_is_in_memory_has_the_fingerprint_of_the_file(bytes in some_bytes()) {
            prop_assert_eq!(Some(Fingerprint::of_ends(&bytes, &bytes)), at(&bytes, bytes.len()).fingerprint());
        }

        #[test]
        fn spelled_and_stored_checkpoints_come_back(
            device in any::<u64>(), inode in any::<u64>(), offset in any::<u64>(), number in any::<i64>(),
        ) {
            let checkpoint = Checkpoint::new((device, inode), offset, Fingerprint::from_number(number));
            prop_assert_eq!(Checkpoint::parse(&checkpoint.to_string()), Some(checkpoint));
            prop_assert_eq!(checkpoint.fingerprint().map_or(0, Fingerprint::number), number);
        }

        #[test]
        fn other_text_is_no_checkpoint(text in "[0-9a-f.]{0,20}|.{0,20}") {
            if let Some(checkpoint) = Checkpoint::parse(&text) {
                prop_assert_eq!(Checkpoint::parse(&checkpoint.to_string()), Some(checkpoint));
            }
        }
    }
}
