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

/// The documents that have a token, one after the other, each with its positions. There is one of them at each moment.
pub(super) struct Postings<'c> {
    segments: Vec<SegmentPostings<'c>>,
    /// The segment with the document.
    first: usize,
}

impl<'c> Postings<'c> {
    /// Finds the first document of a token in one state of the index.
    pub(super) fn of(connection: &'c Connection, token: &str) -> rusqlite::Result<Self> {
        // FTS5 has this byte before the terms that are no prefixes.
        let term = [b"0", token.as_bytes()].concat();
        let mut postings = Self { segments: Vec::new(), first: 0 };
        for segment in segments(connection)? {
            postings.segments.extend(SegmentPostings::of(connection, &segment, &term)?);
        }
        postings.seek(i64::MIN)?;
        Ok(postings)
    }

    /// Returns the document; `None` after the last one.
    #[inline]
    pub(super) fn document(&self) -> Option<i64> {
        self.segments.get(self.first)?.document
    }

    /// Goes on to the first document whose number is not smaller than this one, unless it is there.
    #[inline]
    pub(super) fn seek(&mut self, document: i64) -> rusqlite::Result<()> {
        for segment in &mut self.segments {
            segment.seek(document)?;
        }
        if self.segments.len() > 1 {
            let documents = self.segments.iter().map(|segment| segment.document.unwrap_or(i64::MAX));
            self.first = documents.enumerate().min_by_key(|(_, document)| *document).map_or(0, |(at, _)| at);
        }
        Ok(())
    }

    /// Returns the positions of the document.
    #[inline]
    pub(super) fn positions(&self) -> Positions<'_> {
        let bytes = self.segments.get(self.first).map_or(&[][..], SegmentPostings::positions);
        Positions { numbers: Varints(bytes), column: 0, last: 0 }
    }
}

/// No position in a column is larger.
const LAST_POSITION: u64 = u32::MAX as u64;

/// The positions of a token in a document, in order: the number of the column in the upper half, that of the word in the lower one.
pub(super) struct Positions<'p> {
    numbers: Varints<'p>,
    column: u64,
    last: u64,
}

impl Iterator for Positions<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let mut number = self.numbers.next()?;
        if number == 1 {
            self.column = self.numbers.next()?.min(1) << 32;
            self.last = 0;
            number = self.numbers.next()?;
        }
        // Only a damaged index has larger ones.
        self.last = self.last.saturating_add(number.saturating_sub(2)).min(LAST_POSITION);
        Some(self.column | self.last)
    }
}

/// The documents that a segment has of a term.
struct SegmentPostings<'c> {
    connection: &'c Connection,
    /// The rows of the pages that follow.
    rows: Range<i64>,
    /// Documents that were removed, in order.
    removed: Vec<i64>,
    page: Vec<u8>,
    /// The bytes of the page that were not read and belong to the term.
    rest: Range<usize>,
    /// Whether the documents end on this page.
    is_last: bool,
    /// The number to which the next one is added.
    base: i64,
    document: Option<i64>,
    /// Where the positions of the document are on the page.
    positions: Range<usize>,
    /// The positions of a document for which one page was not enough.
    long: Vec<u8>,
}

impl<'c> SegmentPostings<'c> {
    /// Finds the first document of a term; `None` if the segment does not have the term.
    fn of(connection: &'c Connection, segment: &Segment, term: &[u8]) -> rusqlite::Result<Option<Self>> {
        let page = "SELECT pgno / 2 FROM text_idx WHERE segid = ?1 AND term <= ?2 ORDER BY term DESC LIMIT 1";
        let page = connection.prepare_cached(page)?.query_row(params![segment.id, term], |row| row.get(0));
        let first = page.optional()?.unwrap_or(0).max(segment.pages.start);
        let rows = row(segment.id, first)..row(segment.id, segment.pages.end);
        let removed = segment.removed(connection)?;
        let (page, long) = Default::default();
        let mut postings = Self {
            connection,
            rows,
            removed,
            page,
            rest: 0..0,
            is_last: false,
            base: 0,
            document: None,
            positions: 0..0,
            long,
        };
        postings.read_page()?;
        let page = Page::parse(&postings.page).ok_or_else(damaged)?;
        let Some((documents, is_last)) = page.documents_of(term) else { return Ok(None) };
        (postings.rest, postings.is_last) = (documents, is_last);
        postings.advance()?;
        Ok(Some(postings))
    }

    #[inline]
    fn seek(&mut self, document: i64) -> rusqlite::Result<()> {
        while self.document.is_some_and(|found| found < document) {
            self.advance()?;
        }
        Ok(())
    }

    fn positions(&self) -> &[u8] {
        if self.long.is_empty() { &self.page[self.positions.clone()] } else { &self.long }
    }

    /// Goes on to the next document that was not removed.
    #[inline]
    fn advance(&mut self) -> rusqlite::Result<()> {
        loop {
            self.advance_to_any()?;
            let Some(document) = self.document.filter(|_| !self.removed.is_empty()) else { return Ok(()) };
            if self.removed.binary_search(&document).is_err() {
                return Ok(());
            }
        }
    }

    #[inline]
    fn advance_to_any(&mut self) -> rusqlite::Result<()> {
        while self.rest.is_empty() {
            if self.is_last || self.rows.is_empty() {
                self.document = None;
                return Ok(());
            }
            self.turn()?;
        }
        let mut numbers = Varints(self.page.get(self.rest.clone()).ok_or_else(damaged)?);
        let (Some(number), Some(length)) = (numbers.next(), numbers.next()) else { return Err(damaged()) };
        let length = usize::try_from(length / 2).map_err(|_| damaged())?;
        let start = self.rest.end - numbers.0.len();
        self.base = self.base.checked_add(number.cast_signed()).ok_or_else(damaged)?;
        self.document = Some(self.base);
        self.long.clear();
        self.positions = start..self.rest.end.min(start.saturating_add(length));
        self.rest.start = self.positions.end;
        if self.positions.len() < length { self.read_long(length) } else { Ok(()) }
    }

    /// Reads the positions of a document that go on on the next pages.
    #[cold]
    fn read_long(&mut self, length: usize) -> rusqlite::Result<()> {
        self.long.extend_from_slice(&self.page[self.positions.clone()]);
        while self.long.len() < length {
            if self.is_last || self.rows.is_empty() {
                return Err(damaged());
            }
            self.turn()?;
            let part = self.page.get(self.rest.clone()).ok_or_else(damaged)?;
            let part = &part[..part.len().min(length - self.long.len())];
            self.long.extend_from_slice(part);
            self.rest.start += part.len();
        }
        Ok(())
    }

    /// Goes on to the next page.
    #[cold]
    fn turn(&mut self) -> rusqlite::Result<()> {
        self.read_page()?;
        let page = Page::parse(&self.page).ok_or_else(damaged)?;
        (self.rest, self.is_last) = page.further_documents();
        // The first number of a page is not a difference.
        self.base = 0;
        Ok(())
    }

    /// Reads the next page.
    fn read_page(&mut self) -> rusqlite::Result<()> {
        self.page.clear();
        let page = "SELECT block FROM text_data WHERE id = ?1";
        let mut page = self.connection.prepare_cached(page)?;
        let mut rows = page.query([self.rows.start])?;
        let row = rows.next()?.ok_or_else(damaged)?;
        self.page.extend_from_slice(row.get_ref(0)?.as_blob()?);
        self.rows.start += 1;
        Ok(())
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
        match self.0 {
            [byte @ ..0x80, rest @ ..] => {
                self.0 = rest;
                Some((*byte).into())
            }
            [high, low @ ..0x80, rest @ ..] => {
                self.0 = rest;
                Some(u64::from(high & 0x7f) << 7 | u64::from(*low))
            }
            _ => self.long(),
        }
    }
}

impl Varints<'_> {
    /// Returns a number of more bytes.
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
