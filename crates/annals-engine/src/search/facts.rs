//! What filters and ranking ask about documents: who said what, when, where and with which tool.
//!
//! A row of the table `facts` is a block: it has the records of [`BLOCK`] documents whose numbers follow each other. A frequent word
//! is in some documents of nearly every block, so that filtering its documents takes one look-up for each block, not for each document.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use annals_search::{Part, Role};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::index::{part_at, part_number, role_at, role_number};

/// A block has the records of so many documents, and fits into a page of the database.
const BLOCK: u16 = if cfg!(test) { 4 } else { 224 };

/// The bytes of a record.
const WIDTH: usize = 36;

/// What stands in the first byte of a record. A record without [`EXISTS`] is that of no document.
const EXISTS: u8 = 1;
const IS_ERROR: u8 = 2;
const HAS_COPIES: u8 = 4;
const HAS_FILES: u8 = 8;

/// The time of documents that have none.
const NO_TIME: i64 = i64::MIN;

/// What is known of a document. Names and files are numbers of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The transcript of its first place.
    pub(super) file: i64,
    pub(super) part: Option<Part>,
    pub(super) role: Option<Role>,
    pub(super) is_error: bool,
    /// Whether `copies` has ever had further places of it.
    pub(super) has_copies: bool,
    /// Whether `touched` has files that it is about.
    pub(super) has_files: bool,
    /// Milliseconds since 1970.
    pub(super) time: Option<i64>,
    /// How many tokens FTS5 has of it, in both columns.
    pub(super) tokens: u32,
    pub(super) tool: Option<i64>,
    pub(super) project: Option<i64>,
    pub(super) branch: Option<i64>,
    pub(super) model: Option<i64>,
}

impl Facts {
    /// Reads a record; `None` if there is no such document.
    fn parse(record: &[u8]) -> Option<Self> {
        let record: &[u8; WIDTH] = record.try_into().ok()?;
        let (words, time) = record.split_at(WIDTH - 8);
        let mut words = words.as_chunks::<4>().0.iter();
        let [flags, part, role, _] = *words.next()?;
        let mut number = || words.next().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let (file, tokens) = (number().into(), number());
        let mut name = || Some(i64::from(number())).filter(|name| *name > 0);
        let time = Some(i64::from_le_bytes(time.try_into().ok()?));
        (flags & EXISTS > 0).then(|| Self {
            file,
            part: part_at(part.into()),
            role: role_at(role.into()),
            is_error: flags & IS_ERROR > 0,
            has_copies: flags & HAS_COPIES > 0,
            has_files: flags & HAS_FILES > 0,
            time: time.filter(|time| *time != NO_TIME),
            tokens,
            tool: name(),
            project: name(),
            branch: name(),
            model: name(),
        })
    }

    /// Writes a record. Fails if a number of the index does not fit.
    fn write(&self, record: &mut [u8; WIDTH]) -> rusqlite::Result<()> {
        let Self { is_error, has_copies, has_files, tool, project, branch, model, .. } = *self;
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags =
            EXISTS | flag(is_error, IS_ERROR) | flag(has_copies, HAS_COPIES) | flag(has_files, HAS_FILES);
        let small = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        let part = small(self.part.map_or(usize::MAX, part_number));
        let role = small(self.role.map_or(usize::MAX, role_number));
        record[..4].copy_from_slice(&[flags, part, role, 0]);
        let names = [tool, project, branch, model].map(Option::unwrap_or_default);
        let numbers = [self.file, self.tokens.into()].into_iter().chain(names);
        for (number, bytes) in numbers.zip(record[4..].as_chunks_mut::<4>().0) {
            let number = u32::try_from(number);
            *bytes =
                number.map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, self.file))?.to_le_bytes();
        }
        record[WIDTH - 8..].copy_from_slice(&self.time.unwrap_or(NO_TIME).to_le_bytes());
        Ok(())
    }
}

/// Returns the block of a document, and the bytes of its record in the block.
fn place(document: i64) -> (i64, Range<usize>) {
    let number = usize::try_from(document.rem_euclid(BLOCK.into())).unwrap_or_default();
    (document.div_euclid(BLOCK.into()), number * WIDTH..(number + 1) * WIDTH)
}

const READ: &str = "SELECT records FROM facts WHERE block = ?1";
const READ_ALL: &str = "SELECT block, records FROM facts WHERE block BETWEEN 0 AND ?1 ORDER BY block";
const READ_ONE: &str = "SELECT substr(records, ?2 + 1, ?3) FROM facts WHERE block = ?1";

/// Reads facts. SQLite copies what it reads, so that a block is read as a whole only if several of its documents are asked for one
/// after the other, and a single record otherwise.
pub(super) struct FactsReader<'c> {
    connection: &'c Connection,
    read_block: CachedStatement<'c>,
    read_one: CachedStatement<'c>,
    /// The block of which something was read last.
    last: Option<i64>,
    /// The block that was read last as a whole, with its records; there are none if the index has no such block.
    block: Option<i64>,
    records: Vec<u8>,
}

impl<'c> FactsReader<'c> {
    pub(super) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        let (read_block, read_one) = (connection.prepare_cached(READ)?, connection.prepare_cached(READ_ONE)?);
        Ok(Self { connection, read_block, read_one, last: None, block: None, records: Vec::new() })
    }

    /// Returns what is known of a document; `None` if there is no such document.
    #[inline]
    pub(super) fn of(&mut self, document: i64) -> rusqlite::Result<Option<Facts>> {
        let (block, bytes) = place(document);
        if self.block != Some(block) {
            if self.last.replace(block) != Some(block) {
                return self.read_one(block, &bytes);
            }
            self.read(block)?;
        }
        Ok(self.records.get(bytes).and_then(Facts::parse))
    }

    fn read_one(&mut self, block: i64, bytes: &Range<usize>) -> rusqlite::Result<Option<Facts>> {
        let read = |row: &Row<'_>| Ok(row.get_ref(0)?.as_blob_or_null()?.and_then(Facts::parse));
        Ok(self.read_one.query_row(params![block, bytes.start, WIDTH], read).optional()?.flatten())
    }

    fn read(&mut self, block: i64) -> rusqlite::Result<()> {
        self.block = None;
        self.records.clear();
        let records = &mut self.records;
        let read = |row: &Row<'_>| {
            records.extend_from_slice(row.get_ref(0)?.as_blob()?);
            Ok(())
        };
        self.read_block.query_row([block], read).optional()?;
        self.block = Some(block);
        Ok(())
    }

    /// Calls `each` with all documents up to one, in order.
    pub(super) fn each_up_to(
        &mut self,
        last: i64,
        mut each: impl FnMut(i64, &Facts) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        // One statement ends with the table, whatever `last` is, and can be interrupted.
        let mut blocks = self.connection.prepare_cached(READ_ALL)?;
        let mut blocks = blocks.query([place(last).0])?;
        while let Some(row) = blocks.next()? {
            let first = row.get::<_, i64>(0)?.saturating_mul(i64::from(BLOCK));
            for (document, record) in (first..=last).zip(row.get_ref(1)?.as_blob()?.chunks_exact(WIDTH)) {
                if let Some(facts) = Facts::parse(record) {
                    each(document, &facts)?;
                }
            }
        }
        Ok(())
    }
}

/// Facts that a transaction changed and that are not stored yet: whole blocks, since neighbours are changed together.
#[derive(Debug, Default)]
pub(super) struct ChangedFacts(BTreeMap<i64, Vec<u8>>);

impl ChangedFacts {
    /// More blocks are not kept in memory.
    const MOST: usize = if cfg!(test) { 2 } else { 256 };

    /// Changes what is known of a document; `None` is no document.
    pub(super) fn change(
        &mut self,
        connection: &Connection,
        document: i64,
        change: impl FnOnce(&mut Option<Facts>),
    ) -> rusqlite::Result<()> {
        let (block, bytes) = place(document);
        if self.0.len() >= Self::MOST && !self.0.contains_key(&block) {
            self.store(connection)?;
        }
        let records = match self.0.entry(block) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut statement = connection.prepare_cached(READ)?;
                let stored = statement.query_row([block], |row| row.get(0)).optional()?;
                let mut records: Vec<u8> = stored.unwrap_or_default();
                records.resize(usize::from(BLOCK) * WIDTH, 0);
                new.insert(records)
            }
        };
        let record = &mut records[bytes];
        let mut facts = Facts::parse(record);
        change(&mut facts);
        let mut written = [0; WIDTH];
        if let Some(facts) = facts {
            facts.write(&mut written)?;
        }
        record.copy_from_slice(&written);
        Ok(())
    }

    /// Stores what was changed. A block without documents is removed.
    pub(super) fn store(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for (block, records) in std::mem::take(&mut self.0) {
            if records.iter().all(|byte| *byte == 0) {
                connection.prepare_cached("DELETE FROM facts WHERE block = ?1")?.execute([block])?;
            } else {
                let store = "INSERT OR REPLACE INTO facts (block, records) VALUES (?1, ?2)";
                connection.prepare_cached(store)?.execute(params![block, records])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE facts (block INTEGER PRIMARY KEY, records BLOB)").unwrap();
        connection
    }

    fn facts(number: i64) -> Facts {
        Facts {
            file: number,
            part: Some(Part::Summary),
            role: Some(Role::Assistant),
            is_error: number % 2 == 1,
            has_copies: number % 3 == 1,
            has_files: number % 5 == 1,
            time: (number % 7 > 0).then_some(-number),
            tokens: u32::MAX,
            tool: (number % 2 == 1).then_some(u32::MAX.into()),
            project: (number % 3 == 1).then_some(2),
            branch: Some(number),
            model: None,
        }
    }

    fn set(connection: &Connection, changed: &mut ChangedFacts, document: i64, new: Option<Facts>) {
        changed.change(connection, document, |facts| *facts = new).unwrap();
    }

    /// A cursor that a peer made up may name any last document.
    #[test]
    fn reading_ends_with_the_table_whatever_the_last_document_is() {
        let connection = table();
        let mut reader = FactsReader::new(&connection).unwrap();
        reader.each_up_to(i64::MAX, |document, _| panic!("{document}")).unwrap();
    }

    #[test]
    fn facts_are_read_as_they_were_written() {
        let connection = table();
        let mut changed = ChangedFacts::default();
        let documents = [1, 2, 3, 4, 5, 6, 7, 8, 100, 1_000_000_007];
        for document in documents {
            set(&connection, &mut changed, document, Some(facts(document)));
        }
        changed.store(&connection).unwrap();
        let mut reader = FactsReader::new(&connection).unwrap();
        for document in documents {
            assert_eq!(reader.of(document).unwrap(), Some(facts(document)));
        }
        assert_eq!([0, 9, 101, -1].map(|document| reader.of(document).unwrap()), [None; 4]);
        let mut found = Vec::new();
        let mut each = |document, found_facts: &Facts| {
            assert_eq!(*found_facts, facts(document));
            found.push(document);
            Ok(())
        };
        reader.each_up_to(6, &mut each).unwrap();
        reader.each_up_to(0, &mut each).unwrap();
        reader.each_up_to(200, &mut each).unwrap();
        assert_eq!(found, [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8, 100]);
    }

    #[test]
    fn stored_facts_are_changed_and_blocks_without_documents_are_removed() {
        let connection = table();
        let mut changed = ChangedFacts::default();
        for document in [8, 9, 70] {
            set(&connection, &mut changed, document, Some(facts(document)));
            changed.store(&connection).unwrap();
        }
        set(&connection, &mut changed, 8, None);
        changed.change(&connection, 9, |facts| facts.as_mut().unwrap().file = 7).unwrap();
        set(&connection, &mut changed, 70, None);
        changed.store(&connection).unwrap();
        let mut reader = FactsReader::new(&connection).unwrap();
        let files = [8, 9, 70].map(|document| reader.of(document).unwrap().map(|facts| facts.file));
        assert_eq!(files, [None, Some(7), None]);
        let blocks: i64 = connection.query_row("SELECT count(*) FROM facts", [], |row| row.get(0)).unwrap();
        assert_eq!(blocks, 1);
    }

    #[test]
    fn a_number_that_does_not_fit_is_an_error_and_a_damaged_block_has_no_documents() {
        let connection = table();
        let mut changed = ChangedFacts::default();
        let too_large = Facts { file: 1 << 32, ..facts(1) };
        assert!(changed.change(&connection, 1, |facts| *facts = Some(too_large)).is_err());
        connection.execute("INSERT INTO facts VALUES (0, x'0101')", []).unwrap();
        let mut reader = FactsReader::new(&connection).unwrap();
        assert_eq!(reader.of(0).unwrap(), None);
    }
}
