//! Where a token stands, read from the tables in which FTS5 stores it.
//!
//! FTS5 has no function that says how often a document has a phrase, and finds a phrase three times to rank its documents. A list of
//! documents is quick to decode, so that annals reads the lists of the tokens itself, each once ([`TermMatches`] compares them).
//!
//! The format is described in the source of SQLite ([fts5_index.c](https://sqlite.org/src/file?name=ext/fts5/fts5_index.c)). In short:
//!
//! ```text
//! text_data 10       the structure: the segments, each with the numbers of its first and its last page
//! text_idx           by segment and the beginning of a term: the page that has the term
//! text_data (page)   [first document: 2 bytes] [end of the terms: 2 bytes] terms with their documents … [places of the terms on the page]
//! documents          number, length of the positions × 2, positions; the next number is a difference, except for the first of a page
//! positions          difference + 2 in the first column; 1 and the number of a column before those in another one
//! text_data (tombstones)   documents of a segment that were removed
//! ```
//!
//! [`TermMatches`]: super::term_matches::TermMatches

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, ffi, params};

/// The documents that have a token, in order, each with its positions.
#[derive(Debug, Default)]
pub(super) struct Postings {
    documents: Vec<Posting>,
    /// The positions of all documents, as FTS5 has them.
    positions: Vec<u8>,
}

/// A document, and which bytes of the positions are its own.
#[derive(Clone, Copy, Debug)]
struct Posting {
    document: i64,
    start: u32,
    end: u32,
}

impl Postings {
    /// Reads the documents of a token in one state of the index.
    pub(super) fn of(connection: &Connection, token: &str) -> rusqlite::Result<Self> {
        let mut postings = Self::default();
        // FTS5 has this byte before the terms that are no prefixes.
        let term = [b"0", token.as_bytes()].concat();
        for segment in segments(connection)? {
            let first = postings.documents.len();
            segment.read(connection, &term, &mut postings)?;
            let removed = segment.removed(connection)?;
            if !removed.is_empty() {
                let added = postings.documents.split_off(first).into_iter();
                let left = added.filter(|posting| removed.binary_search(&posting.document).is_err());
                postings.documents.extend(left);
            }
        }
        // A segment has later documents than another one, but the order of segments is that of their sizes.
        postings.documents.sort_by_key(|posting| posting.document);
        Ok(postings)
    }

    /// Returns how many documents there are.
    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns the document at an index.
    pub(super) fn document(&self, index: usize) -> Option<i64> {
        self.documents.get(index).map(|posting| posting.document)
    }

    /// Returns the index of the first document from an index on whose number is not smaller than another one.
    pub(super) fn seek(&self, from: usize, document: i64) -> usize {
        // It is mostly near: twice as many are skipped in each step.
        let mut step = 1;
        while self.document(from + step).is_some_and(|found| found < document) {
            step *= 2;
        }
        let end = self.len().min(from + step + 1);
        let start = (from + step / 2).min(end);
        start + self.documents[start..end].partition_point(|posting| posting.document < document)
    }

    /// Returns the positions of the document at an index.
    pub(super) fn positions(&self, index: usize) -> Positions<'_> {
        let Posting { start, end, .. } = self.documents[index];
        Positions { numbers: Varints(&self.positions[start as usize..end as usize]), column: 0, last: 0 }
    }

    /// Adds documents from a part of a page. Returns how many bytes of the positions of the last one are on the next page.
    fn add(&mut self, part: &[u8], mut missing: usize) -> rusqlite::Result<usize> {
        let mut rest = part;
        // The first number of a page is not a difference.
        let mut document = 0_i64;
        loop {
            let (positions, others) = rest.split_at(missing.min(rest.len()));
            self.positions.extend_from_slice(positions);
            missing -= positions.len();
            rest = others;
            if rest.is_empty() {
                return Ok(missing);
            }
            let mut numbers = Varints(rest);
            let (Some(number), Some(length)) = (numbers.next(), numbers.next()) else {
                return Err(damaged());
            };
            rest = numbers.0;
            missing = usize::try_from(length / 2).map_err(|_| damaged())?;
            document = document.saturating_add(number.cast_signed());
            let start = self.positions.len();
            let [start, end] = [start, start + missing].map(u32::try_from);
            let (Ok(start), Ok(end)) = (start, end) else { return Err(damaged()) };
            self.documents.push(Posting { document, start, end });
        }
    }
}

/// The positions of a token in a document: columns and places in them, in order.
pub(super) struct Positions<'p> {
    numbers: Varints<'p>,
    column: u64,
    last: u64,
}

impl Iterator for Positions<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let mut number = self.numbers.next()?;
        if number == 1 {
            self.column = self.numbers.next()?;
            self.last = 0;
            number = self.numbers.next()?;
        }
        self.last = self.last.saturating_add(number.saturating_sub(2));
        Some((self.column, self.last))
    }
}

/// A part of the index that FTS5 wrote at once.
#[derive(Debug)]
struct Segment {
    id: i64,
    pages: Range<i64>,
    /// How many pages of removed documents it has.
    tombstones: i64,
}

impl Segment {
    /// Adds the documents of a term.
    fn read(&self, connection: &Connection, term: &[u8], postings: &mut Postings) -> rusqlite::Result<()> {
        let page = "SELECT pgno / 2 FROM text_idx WHERE segid = ?1 AND term <= ?2 ORDER BY term DESC LIMIT 1";
        let page = connection.prepare_cached(page)?.query_row(params![self.id, term], |row| row.get(0));
        let first = page.optional()?.unwrap_or(0).max(self.pages.start);
        let mut pages = connection
            .prepare_cached("SELECT block FROM text_data WHERE id >= ?1 AND id < ?2 ORDER BY id")?;
        let mut pages = pages.query([row(self.id, first), row(self.id, self.pages.end)])?;
        let mut missing = None;
        while let Some(row) = pages.next()? {
            let page = Page::parse(row.get_ref(0)?.as_blob()?).ok_or_else(damaged)?;
            let (part, is_last) = match missing {
                None => match page.documents_of(term) {
                    Some(found) => found,
                    None => return Ok(()),
                },
                Some(_) => page.further_documents(),
            };
            let part = page.bytes.get(part).ok_or_else(damaged)?;
            missing = Some(postings.add(part, missing.unwrap_or_default())?);
            if is_last {
                break;
            }
        }
        if missing.unwrap_or_default() > 0 { Err(damaged()) } else { Ok(()) }
    }

    /// Returns the documents that were removed, in order.
    fn removed(&self, connection: &Connection) -> rusqlite::Result<Vec<i64>> {
        let mut removed = Vec::new();
        let first = row(self.id + (1 << 16), 0);
        let mut pages =
            connection.prepare_cached("SELECT block FROM text_data WHERE id >= ?1 AND id < ?2")?;
        let mut pages = pages.query([first, first.saturating_add(self.tombstones)])?;
        while let Some(row) = pages.next()? {
            let page = row.get_ref(0)?.as_blob()?;
            let (header, slots) = page.split_at_checked(8).ok_or_else(damaged)?;
            let width = if header[0] == 4 { 4 } else { 8 };
            let slots = slots
                .chunks_exact(width)
                .map(|slot| slot.iter().fold(0_i64, |number, byte| number << 8 | i64::from(*byte)));
            removed.extend(slots.filter(|document| *document != 0));
        }
        removed.sort_unstable();
        Ok(removed)
    }
}

/// Returns the number of the row that has a page of a segment.
fn row(segment: i64, page: i64) -> i64 {
    (segment << 37).saturating_add(page)
}

/// Returns the segments of the index.
fn segments(connection: &Connection) -> rusqlite::Result<Vec<Segment>> {
    let structure = "SELECT block FROM text_data WHERE id = 10";
    let structure: Vec<u8> = connection.prepare_cached(structure)?.query_row([], |row| row.get(0))?;
    parse_structure(&structure).ok_or_else(damaged)
}

/// What the structure of a table that can remove documents without their contents has behind its first four bytes.
const STRUCTURE_VERSION: [u8; 4] = [0xff, 0, 0, 1];

fn parse_structure(structure: &[u8]) -> Option<Vec<Segment>> {
    let numbers = structure.get(4..)?.strip_prefix(&STRUCTURE_VERSION)?;
    let mut numbers = Varints(numbers).map(|number| i64::try_from(number).unwrap_or(i64::MAX));
    let (levels, _segments, _writes) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let mut segments = Vec::new();
    for _ in 0..levels {
        let (_merging, number) = (numbers.next()?, numbers.next()?);
        for _ in 0..number {
            let (id, first, last) = (numbers.next()?, numbers.next()?, numbers.next()?);
            let (_origins, tombstones) = ((numbers.next()?, numbers.next()?), numbers.next()?);
            let _entries = (numbers.next()?, numbers.next()?);
            let is_possible = (1..1 << 16).contains(&id) && last < 1 << 31 && tombstones < 1 << 31;
            segments.push(Segment { id, pages: first..last + 1, tombstones });
            is_possible.then_some(())?;
        }
    }
    Some(segments)
}

/// A page of a segment.
struct Page<'p> {
    bytes: &'p [u8],
    /// Where the terms and their documents end.
    end: usize,
    /// Where each term is: the differences between their places.
    places: &'p [u8],
}

/// The bytes of documents on a page, and whether no others follow on the next one.
type PartOfPage = (Range<usize>, bool);

impl<'p> Page<'p> {
    /// The places of terms and documents begin behind it.
    const HEADER: usize = 4;

    fn parse(bytes: &'p [u8]) -> Option<Self> {
        let end = u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]).into();
        (end >= Self::HEADER).then_some(())?;
        Some(Self { bytes, end, places: bytes.get(end..)? })
    }

    /// Returns where the documents of a term are; `None` if the page does not have the term.
    fn documents_of(&self, term: &[u8]) -> Option<PartOfPage> {
        let mut places = Varints(self.places);
        let mut known: Vec<u8> = Vec::with_capacity(2 * term.len());
        let mut at = usize::try_from(places.next()?).ok()?;
        let mut is_first = true;
        loop {
            let mut numbers = Varints(self.bytes.get(at..self.end)?);
            let kept = if is_first { 0 } else { usize::try_from(numbers.next()?).ok()? };
            let length = usize::try_from(numbers.next()?).ok()?;
            known.truncate(kept);
            known.extend_from_slice(numbers.0.get(..length)?);
            let documents = self.end - numbers.0.len() + length;
            let next = places.next().map(usize::try_from).transpose().ok()?;
            if known == term {
                let end = next.map_or(self.end, |next| at.saturating_add(next));
                return Some((documents..end, next.is_some()));
            }
            at = at.checked_add(next?)?;
            is_first = false;
        }
    }

    /// Returns where the documents are that belong to the last term of the page before.
    fn further_documents(&self) -> PartOfPage {
        let first_term = Varints(self.places).next().and_then(|place| usize::try_from(place).ok());
        (Self::HEADER..first_term.unwrap_or(self.end), first_term.is_some())
    }
}

/// The error of an index that has something else than FTS5 writes.
fn damaged() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None)
}

/// The numbers of SQLite that have as many bytes as they need: seven bits in each byte, the highest first, and eight in the ninth.
pub(super) struct Varints<'b>(pub(super) &'b [u8]);

impl Iterator for Varints<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if let [byte @ ..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Some((*byte).into());
        }
        self.long()
    }
}

impl Varints<'_> {
    /// Returns a number of several bytes.
    fn long(&mut self) -> Option<u64> {
        let mut number = 0;
        for length in 1..=9 {
            let byte = *self.0.get(length - 1)?;
            if length == 9 {
                number = number << 8 | u64::from(byte);
            } else {
                number = number << 7 | u64::from(byte & 0x7f);
            }
            if byte < 0x80 || length == 9 {
                self.0 = &self.0[length..];
                return Some(number);
            }
        }
        None
    }
}
