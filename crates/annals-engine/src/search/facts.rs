//! What filters and ranking ask about documents: who said what, when, where, with which tool and about which files.
//!
//! A row of the table `facts` is a block: it has the records of [`BLOCK`] documents whose numbers follow each other, and their files. A
//! frequent word is in some documents of nearly every block, so that filtering its documents takes one look-up for each block, not for
//! each document. Blocks stay in memory between searches.

use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use annals_search::{Part, Role};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::index::{part_at, part_number, role_at, role_number};

/// A block has the records of so many documents, whose numbers in it have a byte. They fit into a page of the database.
const BLOCK: u16 = if cfg!(test) { 4 } else { 192 };

/// The bytes of a record.
const WIDTH: usize = 36;

/// What stands in the first byte of a record. A record without [`EXISTS`] is that of no document.
const EXISTS: u8 = 1;
const IS_ERROR: u8 = 2;
const HAS_COPIES: u8 = 4;

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
        let &[[flags, part, role, _], file, tokens, tool, project, branch, model]: &[[u8; 4]; 7] =
            words.as_chunks().0.try_into().ok()?;
        let time = i64::from_le_bytes(time.try_into().ok()?);
        (flags & EXISTS > 0).then(|| Self {
            file: u32::from_le_bytes(file).into(),
            part: part_at(part.into()),
            role: role_at(role.into()),
            is_error: flags & IS_ERROR > 0,
            has_copies: flags & HAS_COPIES > 0,
            time: Some(time).filter(|time| *time != NO_TIME),
            tokens: u32::from_le_bytes(tokens),
            tool: parse_name(tool),
            project: parse_name(project),
            branch: parse_name(branch),
            model: parse_name(model),
        })
    }

    /// Writes a record. Fails if a number of the index does not fit.
    fn write(&self, record: &mut [u8; WIDTH]) -> rusqlite::Result<()> {
        let Self { is_error, has_copies, tool, project, branch, model, .. } = *self;
        let flags = EXISTS | (u8::from(is_error) * IS_ERROR) | (u8::from(has_copies) * HAS_COPIES);
        let (part, role) = (self.part.map(part_number), self.role.map(role_number));
        record[..4].copy_from_slice(&[flags, number_or_none(part), number_or_none(role), 0]);
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

/// Returns the number of a name; 0 is none.
fn parse_name(bytes: [u8; 4]) -> Option<i64> {
    Some(i64::from(u32::from_le_bytes(bytes))).filter(|name| *name > 0)
}

/// Returns a small number as it is stored; the largest is none.
fn number_or_none(number: Option<usize>) -> u8 {
    number.and_then(|number| u8::try_from(number).ok()).unwrap_or(u8::MAX)
}

/// Returns the block of a document, and its number in the block.
fn place(document: i64) -> (i64, u8) {
    let number = u8::try_from(document.rem_euclid(BLOCK.into())).unwrap_or_default();
    (document.div_euclid(BLOCK.into()), number)
}

/// What is known of documents whose numbers follow each other.
#[derive(Clone, Debug, Default)]
struct Block {
    records: Vec<u8>,
    /// The files that documents are about, by the number of the document in the block and that of the name, in order.
    files: Vec<(u8, u32)>,
}

impl Block {
    /// A file takes so many bytes.
    const FILE: usize = 5;

    /// Reads a block; an empty one if the index has none with this number.
    fn read(connection: &Connection, number: i64) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare_cached("SELECT records, files FROM facts WHERE block = ?1")?;
        Ok(statement.query_row([number], Self::of_row).optional()?.unwrap_or_default())
    }

    fn of_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let files = row.get_ref(1)?.as_blob()?.as_chunks::<{ Self::FILE }>().0.iter();
        let files = files.map(|[number, name @ ..]| (*number, u32::from_le_bytes(*name))).collect();
        Ok(Self { records: row.get(0)?, files })
    }

    /// Stores a block. One without documents is removed.
    fn store(&self, connection: &Connection, number: i64) -> rusqlite::Result<()> {
        if self.records.iter().all(|byte| *byte == 0) {
            connection.prepare_cached("DELETE FROM facts WHERE block = ?1")?.execute([number])?;
            return Ok(());
        }
        let mut files = Vec::with_capacity(self.files.len() * Self::FILE);
        for (number, name) in &self.files {
            files.push(*number);
            files.extend(name.to_le_bytes());
        }
        let store = "INSERT OR REPLACE INTO facts (block, records, files) VALUES (?1, ?2, ?3)";
        connection.prepare_cached(store)?.execute(params![number, self.records, files])?;
        Ok(())
    }

    fn facts(&self, number: u8) -> Option<Facts> {
        let start = usize::from(number) * WIDTH;
        self.records.get(start..start + WIDTH).and_then(Facts::parse)
    }

    fn set_facts(&mut self, number: u8, facts: Option<&Facts>) -> rusqlite::Result<()> {
        let mut record = [0; WIDTH];
        if let Some(facts) = facts {
            facts.write(&mut record)?;
        } else {
            self.remove_files(number);
        }
        self.records.resize(usize::from(BLOCK) * WIDTH, 0);
        let start = usize::from(number) * WIDTH;
        self.records[start..start + WIDTH].copy_from_slice(&record);
        Ok(())
    }

    fn files(&self, number: u8) -> impl Iterator<Item = i64> {
        let first = self.files.partition_point(|(document, _)| *document < number);
        let files = self.files[first..].iter().take_while(move |(document, _)| *document == number);
        files.map(|(_, name)| i64::from(*name))
    }

    fn add_file(&mut self, number: u8, name: u32) {
        if let Err(at) = self.files.binary_search(&(number, name)) {
            self.files.insert(at, (number, name));
        }
    }

    fn remove_files(&mut self, number: u8) {
        self.files.retain(|(document, _)| *document != number);
    }
}

/// Blocks that were read, and that nobody changed since.
#[derive(Debug, Default)]
pub(super) struct KnownBlocks {
    /// What SQLite says to notice changes by others.
    version: i64,
    blocks: HashMap<i64, Arc<Block>>,
}

impl KnownBlocks {
    /// More blocks are not kept in memory: these are about 31 MB.
    const MOST: usize = if cfg!(test) { 2 } else { 4_096 };

    /// Forgets all blocks if another connection changed the index since they were read.
    pub(super) fn refresh(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached("PRAGMA data_version")?;
        let version = statement.query_row([], |row| row.get(0))?;
        if self.version != version {
            *self = Self { version, blocks: HashMap::new() };
        }
        Ok(())
    }

    fn read(&mut self, connection: &Connection, number: i64) -> rusqlite::Result<Arc<Block>> {
        if let Some(known) = self.blocks.get(&number) {
            return Ok(Arc::clone(known));
        }
        let block = Arc::new(Block::read(connection, number)?);
        if self.blocks.len() >= Self::MOST {
            self.blocks.clear();
        }
        self.blocks.insert(number, Arc::clone(&block));
        Ok(block)
    }
}

/// Reads facts in one state of the index. A block is read as a whole and kept: reading a record from the database takes nearly as long.
pub(super) struct FactsReader<'c> {
    pub(super) connection: &'c Connection,
    known: &'c RefCell<KnownBlocks>,
    /// The block that was asked for last, with its number.
    last: RefCell<(i64, Arc<Block>)>,
}

impl<'c> FactsReader<'c> {
    /// Reads in the state that the connection sees; what is known is of the same state.
    pub(super) fn new(connection: &'c Connection, known: &'c RefCell<KnownBlocks>) -> Self {
        let last = RefCell::new((i64::MIN, Arc::default()));
        Self { connection, known, last }
    }

    /// Returns what is known of a document; `None` if there is no such document.
    #[inline]
    pub(super) fn of(&self, document: i64) -> rusqlite::Result<Option<Facts>> {
        let (block, number) = place(document);
        self.select(block)?;
        Ok(self.last.borrow().1.facts(number))
    }

    /// Returns whether a document is about a file that fulfils a condition.
    pub(super) fn has_file(
        &self,
        document: i64,
        is_wanted: impl FnMut(i64) -> bool,
    ) -> rusqlite::Result<bool> {
        let (block, number) = place(document);
        self.select(block)?;
        Ok(self.last.borrow().1.files(number).any(is_wanted))
    }

    /// Makes a block the last one.
    #[inline]
    fn select(&self, number: i64) -> rusqlite::Result<()> {
        if self.last.borrow().0 != number {
            let block = self.known.borrow_mut().read(self.connection, number)?;
            self.last.replace((number, block));
        }
        Ok(())
    }

    /// Calls `each` with all documents up to one, in order.
    pub(super) fn each_up_to(
        &self,
        last: i64,
        mut each: impl FnMut(i64, &Facts) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        // A cursor that a peer made up may name any last document.
        let last_block = "SELECT coalesce(max(block), -1) FROM facts";
        let last_block: i64 = self.connection.prepare_cached(last_block)?.query_row([], |row| row.get(0))?;
        for block in 0..=place(last).0.min(last_block) {
            self.select(block)?;
            let records = Arc::clone(&self.last.borrow().1);
            let documents = block * i64::from(BLOCK)..=last;
            for (document, record) in documents.zip(records.records.chunks_exact(WIDTH)) {
                if let Some(facts) = Facts::parse(record) {
                    each(document, &facts)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the names that documents have.
pub(super) fn used_names(connection: &Connection) -> rusqlite::Result<BTreeSet<i64>> {
    let mut names = BTreeSet::new();
    let mut numbers = connection.prepare("SELECT block FROM facts")?;
    for number in numbers.query_map([], |row| row.get(0))? {
        let block = Block::read(connection, number?)?;
        names.extend(block.files.iter().map(|(_, name)| i64::from(*name)));
        for Facts { tool, project, branch, model, .. } in block.records.chunks(WIDTH).filter_map(Facts::parse)
        {
            names.extend([tool, project, branch, model].into_iter().flatten());
        }
    }
    Ok(names)
}

/// Facts that a transaction changed and that are not stored yet: whole blocks, since neighbours are changed together.
#[derive(Debug, Default)]
pub(super) struct ChangedFacts(BTreeMap<i64, Block>);

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
        let (block, number) = place(document);
        let block = self.block(connection, block)?;
        let mut facts = block.facts(number);
        change(&mut facts);
        block.set_facts(number, facts.as_ref())
    }

    /// Adds a file that a document is about.
    pub(super) fn add_file(
        &mut self,
        connection: &Connection,
        document: i64,
        name: i64,
    ) -> rusqlite::Result<()> {
        let (block, number) = place(document);
        let name = u32::try_from(name).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, name))?;
        self.block(connection, block)?.add_file(number, name);
        Ok(())
    }

    /// Removes the files that a document is about.
    pub(super) fn remove_files(&mut self, connection: &Connection, document: i64) -> rusqlite::Result<()> {
        let (block, number) = place(document);
        self.block(connection, block)?.remove_files(number);
        Ok(())
    }

    /// Returns a block with the changes of the transaction.
    fn block(&mut self, connection: &Connection, number: i64) -> rusqlite::Result<&mut Block> {
        if self.0.len() >= Self::MOST && !self.0.contains_key(&number) {
            self.store(connection)?;
        }
        Ok(match self.0.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Block::read(connection, number)?),
        })
    }

    /// Stores what was changed.
    pub(super) fn store(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        std::mem::take(&mut self.0)
            .into_iter()
            .try_for_each(|(number, block)| block.store(connection, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE facts (block INTEGER PRIMARY KEY, records BLOB, files BLOB)")
            .unwrap();
        connection
    }

    fn facts(number: i64) -> Facts {
        Facts {
            file: number,
            part: Some(Part::Summary),
            role: Some(Role::Assistant),
            is_error: number % 2 == 1,
            has_copies: number % 3 == 1,
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
        let known = RefCell::default();
        let reader = FactsReader::new(&connection, &known);
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
        let known = RefCell::default();
        let reader = FactsReader::new(&connection, &known);
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
        let known = RefCell::default();
        let reader = FactsReader::new(&connection, &known);
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
        connection.execute("INSERT INTO facts VALUES (0, x'0101', x'')", []).unwrap();
        let known = RefCell::default();
        let reader = FactsReader::new(&connection, &known);
        assert_eq!(reader.of(0).unwrap(), None);
    }
}
