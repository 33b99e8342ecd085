//! The index in a file of SQLite, `search.sqlite`.
//!
//! | table | a row for |
//! |---|---|
//! | `files` | each transcript: how far it was indexed, in the same transaction as what was found there |
//! | `projects` | each folder of a project that has one of them, and what was in it when all of them were indexed ([`Listing`]) |
//! | `documents` | each part of a message, once, with one place where it stands: a file, and the bytes of the entry in it; later documents have larger numbers |
//! | `facts` | some hundred documents, with what filters and ranking ask about them ([`Facts`]), and their files |
//! | `copies` | each further place of a document |
//! | `text` | the tokens of a document (FTS5, without the text) |
//! | `names` | each tool, project, branch, model, file and root: documents have their numbers |
//! | `terms` | each word, to correct misspelt ones |
//! | `settings` | one row: what the index depends on |
//!
//! Everything is derived from transcripts. A database that is damaged, or that was made by another version or with other settings, is made anew. One process writes, and holds
//! a lock file while it does; others read what is committed.
//!
//! FTS5 stores words in segments, one more with each transaction, and merges them from time to time. A document that is
//! removed is not found any more, but its words stay in their segment until it is merged; [`Index::compact`] does that at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use annals_search::{Part, Role, TOKENIZER};
use annals_transcript::checkpoint::Checkpoint;
use annals_transcript::file_state::FileState;
use annals_transcript::write::fs::{Disk, RealDisk};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params,
};

use super::document::Subject;
use super::facts::{ChangedFacts, Facts, KnownBlocks, used_names};
use super::listing::{Listing, Stamp, stamp};
use crate::database::{move_away, move_back, remove_file, version};
use crate::files::TranscriptFile;
use crate::fold::FoldPosition;

/// The version of the layout and of everything that decides what is stored: documents, tokens, identities.
const VERSION: i64 = 8;

/// How many KiB of the database stay in memory between two searches, at most.
const READ_CACHE: i64 = 32 << 10;

/// How long a statement waits for another process.
const BUSY: Duration = Duration::from_secs(10);

/// The index.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) connection: Connection,
    pub(super) settings: Settings,
    /// The numbers of names that were stored or looked up before.
    names: Names,
    /// Transcripts that were looked up before, by their numbers: no number ever means another one.
    transcripts: RefCell<HashMap<i64, Arc<TranscriptFile>>>,
    counted: RefCell<Counted>,
    /// What was read of `facts` before.
    pub(super) known_blocks: RefCell<KnownBlocks>,
    /// Which files are open, to notice that others took their places; `None` if their identity is unknown.
    open_files: Option<[FileIdentity; 2]>,
}

type FileIdentity = (u64, u64);

/// Expressions whose documents were counted before.
#[derive(Debug, Default)]
struct Counted {
    /// The largest number of a document at that time, and how many documents had been removed.
    state: (i64, i64),
    /// Whether expressions have many documents.
    have_many: HashMap<String, bool>,
}

impl Counted {
    /// More expressions are not remembered.
    const MOST: usize = 1_024;

    /// Forgets what may have changed: an expression that has many documents keeps them until documents are removed.
    fn take_state(&mut self, state: (i64, i64)) {
        if self.state.1 != state.1 || self.have_many.len() >= Self::MOST {
            self.have_many.clear();
        } else if self.state.0 != state.0 {
            self.have_many.retain(|_, has_many| *has_many);
        }
        self.state = state;
    }
}

/// The numbers of names, by what they name.
type Names = HashMap<NameKind, HashMap<String, i64>>;

/// What the whole index depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The rules by which text was filtered before it was indexed.
    pub(super) rules: u64,
    /// How many bytes of each text are indexed.
    pub(super) text_limit: usize,
    /// A number that no other index has.
    pub(super) generation: u64,
}

/// A transcript as the index knows it.
#[derive(Clone, Debug)]
pub(super) struct IndexedFile {
    /// The state of the file when it was indexed to its end; other text if it was not.
    pub(super) state: String,
    pub(super) progress: FoldPosition,
    /// Calls whose results were not found yet.
    pub(super) calls: String,
}

/// Documents of one transcript that are to be stored, and how far it was read for them.
#[derive(Debug)]
pub(super) struct FilePart {
    pub(super) file: TranscriptFile,
    pub(super) root: PathBuf,
    /// Whether the file was read from its start, so that what the index has of it goes.
    pub(super) is_restarted: bool,
    pub(super) indexed: IndexedFile,
    pub(super) documents: Vec<NewDocument>,
}

/// A document that is to be stored.
#[derive(Debug)]
pub(super) struct NewDocument {
    pub(super) identity: i64,
    pub(super) part: Part,
    pub(super) role: Role,
    pub(super) is_error: bool,
    pub(super) subject: Subject,
    pub(super) project: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) model: Option<String>,
    pub(super) time: Option<i64>,
    /// Where its entry is in the file, and which part of it.
    pub(super) offset: u64,
    pub(super) length: usize,
    pub(super) number: usize,
    /// Its tokens.
    pub(super) words: String,
    pub(super) parts: String,
}

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NameKind {
    Tool,
    Project,
    Branch,
    Model,
    File,
    Root,
}

/// The parts and roles, by the numbers that are stored.
const PARTS: [Part; 8] = [
    Part::Prompt,
    Part::Reply,
    Part::Thinking,
    Part::ToolInput,
    Part::ToolOutput,
    Part::Title,
    Part::Summary,
    Part::Notification,
];
const ROLES: [Role; 3] = [Role::User, Role::Assistant, Role::System];

pub(super) fn part_number(part: Part) -> usize {
    PARTS.iter().position(|known| *known == part).unwrap_or(PARTS.len())
}

pub(super) fn role_number(role: Role) -> usize {
    ROLES.iter().position(|known| *known == role).unwrap_or(ROLES.len())
}

pub(super) fn part_at(number: usize) -> Option<Part> {
    PARTS.get(number).copied()
}

pub(super) fn role_at(number: usize) -> Option<Role> {
    ROLES.get(number).copied()
}

impl Index {
    /// Opens the index to read it. Returns `None` if there is none, or one of another version.
    pub(super) fn open(path: &Path) -> rusqlite::Result<Option<Self>> {
        if !path.is_file() {
            return Ok(None);
        }
        match Self::open_shared(path) {
            Err(error) if is_write_protected(&error) => Self::open_write_protected(path),
            opened => opened,
        }
    }

    /// Returns whether an index can only be read as it is on disk.
    pub(super) fn is_write_protected(path: &Path) -> bool {
        Self::open_shared(path).is_err_and(|error| is_write_protected(&error))
    }

    /// Opens the index while another process may write to it. SQLite writes to a file beside the database, even to read.
    fn open_shared(path: &Path) -> rusqlite::Result<Option<Self>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "cache_size", -READ_CACHE)?;
        let Some(index) = Self::of_this_version(connection)? else { return Ok(None) };
        index.prepare_to_search();
        index.connection.pragma_update(None, "query_only", true)?;
        Ok(Some(Self { open_files: Self::files_at(path), ..index }))
    }

    /// Returns which files are at a path: the database, and the file that processes share while one of them has it open.
    fn files_at(path: &Path) -> Option<[FileIdentity; 2]> {
        Some([identity(path)?, identity(&path.with_extension("sqlite-shm"))?])
    }

    /// Returns whether the open files are still those at the path, so that a new connection would see the same.
    pub(super) fn is_current(&self, path: &Path) -> bool {
        self.open_files.is_some() && self.open_files == Self::files_at(path)
    }

    /// Opens an index in a folder that this process cannot write to. Nothing may be written to it meanwhile; hits are compared
    /// with their transcripts, so that even then no wrong text is shown.
    pub(super) fn open_write_protected(path: &Path) -> rusqlite::Result<Option<Self>> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let mut uri = "file:".to_owned();
        for &byte in path_bytes(path) {
            if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
                uri.push(char::from(byte));
            } else {
                let _ = write!(uri, "%{byte:02x}");
            }
        }
        uri.push_str("?immutable=1");
        let index = Self::of_this_version(Connection::open_with_flags(uri, flags)?)?;
        Ok(index.inspect(Self::prepare_to_search))
    }

    /// Makes what searches need of a connection.
    fn prepare_to_search(&self) {
        self.connection.set_prepared_statement_cache_capacity(32);
    }

    fn of_this_version(connection: Connection) -> rusqlite::Result<Option<Self>> {
        match version(&connection)? {
            VERSION => Self::new(connection).map(Some),
            _ => Ok(None),
        }
    }

    /// Opens an index that exists, whatever its settings are, to remove documents from it. Returns `None` if there is none of
    /// this version. Only the holder of the lock calls this.
    pub(super) fn open_to_remove(path: &Path) -> rusqlite::Result<Option<Self>> {
        if !path.is_file() {
            return Ok(None);
        }
        Self::of_this_version(writing_connection(path)?)
    }

    /// Opens the index to write to it; one that does not exist is created. Returns `None` if there is one of another version
    /// or with other settings. Only the holder of the lock calls this.
    pub(super) fn open_to_write(
        path: &Path,
        rules: u64,
        text_limit: usize,
    ) -> rusqlite::Result<Option<Self>> {
        // SQLite would create a file that others can read. It gives the files beside it the same permissions. A file that exists is
        // not opened: closing it would release the locks of all connections of this process.
        if !path.exists() {
            drop(RealDisk.open_or_create(path).map_err(|_| rusqlite::Error::InvalidPath(path.to_owned()))?);
        }
        let mut connection = writing_connection(path)?;
        if version(&connection)? == 0 {
            let generation = RandomState::new().hash_one(std::process::id());
            create_tables(&mut connection, Settings { rules, text_limit, generation })?;
        }
        if version(&connection)? != VERSION {
            return Ok(None);
        }
        let index = Self::new(connection)?;
        let is_same = (index.settings.rules, index.settings.text_limit) == (rules, text_limit);
        Ok(is_same.then_some(index))
    }

    /// Puts the index at [`Index::beside`], which nobody has open, into the place of this one, which stays if that fails. Only
    /// the holder of the lock calls this.
    pub(super) fn replace(disk: &dyn Disk, path: &Path) -> rusqlite::Result<()> {
        let (new, old) = (Self::beside(path), Self::aside(path));
        // What is in the log would be lost. SQLite removes the log when the database is closed, unless that fails.
        let connection = writing_connection(&new)?;
        write_log_back(&connection)?;
        connection.close().map_err(|(_, error)| error)?;
        kill_point();
        // Those who search the old one have its files open, and go on with them.
        let replaced = move_away(disk, path, &old).and_then(|()| disk.rename(&new, path));
        if replaced.is_err() {
            // If this fails as well, the next update tries it again.
            let _ = move_back(disk, path, &old);
            return Err(rusqlite::Error::InvalidPath(path.to_owned()));
        }
        remove_file(&old);
        Ok(())
    }

    /// Where an index is made anew.
    pub(super) fn beside(path: &Path) -> PathBuf {
        path.with_extension("new.sqlite")
    }

    /// Where an index is while a new one takes its place.
    fn aside(path: &Path) -> PathBuf {
        path.with_extension("old.sqlite")
    }

    /// Returns whether there is an index, or something that a process left that made it anew and was killed.
    pub(super) fn exists(path: &Path) -> bool {
        [path, &Self::beside(path), &Self::aside(path)].into_iter().any(Path::exists)
    }

    /// Removes what a process left that made the index anew and was killed. If the old one was not replaced yet, it goes back to its
    /// place. Only the holder of the lock calls this.
    pub(super) fn clean_up(disk: &dyn Disk, path: &Path) {
        remove_file(&Self::beside(path));
        if !path.exists() {
            let _ = move_back(disk, path, &Self::aside(path));
        }
        if path.exists() {
            remove_file(&Self::aside(path));
        }
    }

    fn new(connection: Connection) -> rusqlite::Result<Self> {
        connection.pragma_update(None, "cell_size_check", true)?;
        let settings = "SELECT rules, text_limit, generation FROM settings";
        let settings = connection.query_row(settings, [], |row| {
            let (rules, generation): (i64, i64) = (row.get(0)?, row.get(2)?);
            Ok(Settings {
                rules: rules.cast_unsigned(),
                text_limit: row.get(1)?,
                generation: generation.cast_unsigned(),
            })
        })?;
        Ok(Self {
            connection,
            settings,
            names: Names::default(),
            transcripts: RefCell::default(),
            counted: RefCell::default(),
            known_blocks: RefCell::default(),
            open_files: None,
        })
    }

    /// Returns the transcripts that the index knows.
    pub(super) fn files(&self) -> rusqlite::Result<HashMap<PathBuf, IndexedFile>> {
        let mut statement = self.connection.prepare(&format!("SELECT {FILE_COLUMNS} FROM files"))?;
        statement.query_map([], named_file)?.collect()
    }

    /// Returns the transcripts below a folder that the index knows.
    pub(super) fn files_below(&self, folder: &Path) -> rusqlite::Result<HashMap<PathBuf, IndexedFile>> {
        let sql = format!("SELECT {FILE_COLUMNS} FROM files WHERE path > ?1 AND path < ?2");
        let mut statement = self.connection.prepare_cached(&sql)?;
        statement.query_map(range_below(folder), named_file)?.collect()
    }

    /// Returns how many transcripts the index knows.
    pub(super) fn number_of_files(&self) -> rusqlite::Result<usize> {
        self.connection.query_row("SELECT count(*) FROM files", [], |row| row.get(0))
    }

    /// Returns the projects whose transcripts the index knows, each with what it had when all of them were indexed.
    pub(super) fn projects(&self) -> rusqlite::Result<HashMap<PathBuf, Option<Listing>>> {
        let mut statement = self.connection.prepare("SELECT path, listing FROM projects")?;
        let rows = statement.query_map([], |row| {
            let listing = row.get_ref(1)?.as_blob_or_null()?.and_then(Listing::parse);
            Ok((stored_path(row.get_ref(0)?.as_blob()?), listing))
        })?;
        rows.collect()
    }

    /// Returns the states of the transcripts below a folder; `None` if one of them is not indexed to its end.
    pub(super) fn states_below(&self, folder: &Path) -> rusqlite::Result<Option<Vec<(PathBuf, Stamp)>>> {
        let sql = "SELECT path, state FROM files WHERE path > ?1 AND path < ?2 ORDER BY path";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(range_below(folder), |row| {
            let path = stored_path(row.get_ref(0)?.as_blob()?);
            Ok(parse_state(row.get_ref(1)?.as_str()?).map(|state| (path, state)))
        })?;
        rows.collect()
    }

    /// Returns a transcript, if the index knows it.
    pub(super) fn file(&self, path: &Path) -> rusqlite::Result<Option<IndexedFile>> {
        let sql = format!("SELECT {FILE_COLUMNS} FROM files WHERE path = ?1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        statement.query_row([path_bytes(path)], indexed_file).optional()
    }

    /// Returns a transcript by its number.
    pub(super) fn transcript(&self, number: i64) -> rusqlite::Result<Arc<TranscriptFile>> {
        if let Some(known) = self.transcripts.borrow().get(&number) {
            return Ok(known.clone());
        }
        let sql = "SELECT path, session, agent FROM files WHERE id = ?1";
        let file = self.connection.prepare_cached(sql)?.query_row([number], |row| {
            let path = stored_path(row.get_ref(0)?.as_blob()?);
            Ok(Arc::new(TranscriptFile { path, session: row.get(1)?, agent: row.get(2)? }))
        })?;
        self.transcripts.borrow_mut().insert(number, file.clone());
        Ok(file)
    }

    /// Returns a name by its number, if there is such a name.
    pub(super) fn name(&self, number: i64) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT name FROM names WHERE id = ?1";
        self.connection.prepare_cached(sql)?.query_row([number], |row| row.get(0)).optional()
    }

    /// Returns whether at least `many` documents match an expression of FTS5. They are counted once, not in each search.
    pub(super) fn has_many(&self, expression: String, many: u64) -> rusqlite::Result<bool> {
        let state = "SELECT last_document, last_document - documents FROM settings";
        let mut state = self.connection.prepare_cached(state)?;
        let mut counted = self.counted.borrow_mut();
        counted.take_state(state.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?);
        if let Some(known) = counted.have_many.get(&expression) {
            return Ok(*known);
        }
        let bounded = "SELECT count(*) FROM (SELECT 1 FROM text WHERE text MATCH ?1 LIMIT ?2)";
        let mut bounded = self.connection.prepare_cached(bounded)?;
        let count: u64 = bounded.query_row(params![expression, many], |row| row.get(0))?;
        counted.have_many.insert(expression, count == many);
        Ok(count == many)
    }

    /// Returns how many documents there are.
    pub(super) fn documents(&self) -> rusqlite::Result<u64> {
        self.connection.query_row("SELECT documents FROM settings", [], |row| row.get(0))
    }

    /// Removes everything that stands only in these files, all or nothing.
    pub(super) fn remove(&mut self, paths: &[PathBuf]) -> rusqlite::Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        self.change(|change| {
            for path in paths {
                if let Some(file) = change.file(path)? {
                    change.remove_documents(file)?;
                    change.execute("DELETE FROM files WHERE id = ?1", [file])?;
                    change.forget_listing(path)?;
                }
            }
            Ok(())
        })
    }

    /// Changes the index, all or nothing.
    pub(super) fn change<T>(
        &mut self,
        work: impl FnOnce(&mut Change<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        // The numbers of new names are those of a transaction that may fail.
        let names = std::mem::take(&mut self.names);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let last = transaction.query_row("SELECT last_document FROM settings", [], |row| row.get(0))?;
        let facts = ChangedFacts::default();
        let mut change = Change { transaction: &transaction, last, added: 0, removed: 0, names, facts };
        let result = work(&mut change)?;
        change.store_facts()?;
        change.execute(
            "UPDATE settings SET last_document = ?1, removed = removed + ?2, documents = documents + ?3 - ?2 \
             WHERE ?1 > last_document OR ?2 > 0",
            params![change.last, change.removed, change.added],
        )?;
        let names = change.names;
        kill_point();
        transaction.commit()?;
        self.names = names;
        Ok(result)
    }

    /// Returns how many documents were removed since the words of removed documents were removed.
    pub(super) fn removed(&self) -> rusqlite::Result<u64> {
        self.connection.query_row("SELECT removed FROM settings", [], |row| row.get(0))
    }

    /// Sets whether FTS5 merges segments as they come. It does not while much is indexed: all of them are merged at the end.
    pub(super) fn set_merging(&self, is_on: bool) -> rusqlite::Result<()> {
        if self.merges()? != is_on {
            let pages = if is_on { SEGMENTS_TO_MERGE } else { 0 };
            self.connection
                .execute("INSERT INTO text (text, rank) VALUES ('automerge', ?1)", params![pages])?;
        }
        Ok(())
    }

    /// Returns whether FTS5 merges segments as they come. It does not if an update that indexed much was interrupted.
    pub(super) fn merges(&self) -> rusqlite::Result<bool> {
        let pages = "SELECT v FROM text_config WHERE k = 'automerge'";
        let pages: Option<i64> = self.connection.query_row(pages, [], |row| row.get(0)).optional()?;
        Ok(pages != Some(0))
    }

    /// Merges all segments to one, in steps of their own transactions.
    pub(super) fn merge_all(&self) -> rusqlite::Result<()> {
        // A negative number says that everything is merged; FTS5 goes on with positive ones.
        let mut pages = -MERGED_PAGES;
        loop {
            let before = self.connection.total_changes();
            kill_point();
            self.connection.execute("INSERT INTO text (text, rank) VALUES ('merge', ?1)", params![pages])?;
            // The command itself is one change.
            if self.connection.total_changes() - before < 2 {
                return self.shrink();
            }
            pages = MERGED_PAGES;
        }
    }

    /// Gives pages that are not used any more back to the file system.
    fn shrink(&self) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare("PRAGMA incremental_vacuum")?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    }

    /// Removes the words, the names and the terms of documents that were removed from the file itself.
    pub(super) fn compact(&mut self) -> rusqlite::Result<()> {
        self.merge_all()?;
        self.names.clear();
        kill_point();
        let vocabulary =
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, text, row)";
        self.connection.execute_batch(vocabulary)?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(
            "DELETE FROM terms WHERE NOT EXISTS (SELECT 1 FROM temp.vocabulary v WHERE v.term = terms.term);
             UPDATE settings SET removed = 0",
        )?;
        remove_unused_names(&transaction)?;
        transaction.commit()?;
        kill_point();
        // The log has earlier states of pages. If another process reads at this moment, it goes with the next update.
        write_log_back(&self.connection)
    }
}

/// Removes the names that no document and no file has.
fn remove_unused_names(connection: &Connection) -> rusqlite::Result<()> {
    let used = used_names(connection)?;
    let mut names = connection
        .prepare("SELECT id FROM names WHERE id NOT IN (SELECT root FROM files WHERE root IS NOT NULL)")?;
    let names: Vec<i64> = names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut remove = connection.prepare("DELETE FROM names WHERE id = ?1")?;
    names.iter().filter(|name| !used.contains(name)).try_for_each(|name| remove.execute([name]).map(drop))
}

/// The columns of [`indexed_file`], behind the path.
const FILE_COLUMNS: &str = "path, state, checkpoint, lines, calls";

fn named_file(row: &Row<'_>) -> rusqlite::Result<(PathBuf, IndexedFile)> {
    Ok((stored_path(row.get_ref(0)?.as_blob()?), indexed_file(row)?))
}

/// Returns the two paths between which everything below a folder lies.
fn range_below(folder: &Path) -> [Vec<u8>; 2] {
    let separator = u8::try_from(std::path::MAIN_SEPARATOR).unwrap_or(b'/');
    [separator, separator + 1].map(|end| [path_bytes(folder), &[end]].concat())
}

fn indexed_file(row: &Row<'_>) -> rusqlite::Result<IndexedFile> {
    let checkpoint: String = row.get(2)?;
    let checkpoint = Checkpoint::parse(&checkpoint).unwrap_or_default();
    let progress = FoldPosition { checkpoint, lines: row.get(3)? };
    Ok(IndexedFile { state: row.get(1)?, progress, calls: row.get(4)? })
}

/// Opens a database to write to it.
fn writing_connection(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.pragma_update(None, "page_size", PAGE_SIZE)?;
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    connection.pragma_update(None, "cache_size", -(16 << 10))?;
    // What was removed is overwritten.
    connection.pragma_update(None, "secure_delete", true)?;
    bound_size(&connection)?;
    Ok(connection)
}

/// Copies what is in the write-ahead log into the database, and empties the log.
fn write_log_back(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Returns which file is at a path, if that is known.
fn identity(path: &Path) -> Option<FileIdentity> {
    FileState::of(path).ok().flatten().map(|state| state.identity)
}

/// Returns whether SQLite could not write to the folder of a database: it is write-protected, or its disk is full, which is an
/// error of input and output for the file that processes share.
fn is_write_protected(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};

    let code = error.sqlite_error_code();
    code.is_some_and(|code| matches!(code, ReadOnly | CannotOpen | DiskFull | SystemIoFailure))
}

/// The size of a page of SQLite, and of a page of FTS5, which fits into one with its row.
const PAGE_SIZE: usize = 8 * 1024;
const WORD_PAGE_SIZE: usize = PAGE_SIZE - 64;

/// FTS5 merges so many segments of about the same size, which is its default.
const SEGMENTS_TO_MERGE: i64 = 4;

/// So many pages are merged in one transaction.
const MERGED_PAGES: i64 = if cfg!(test) { 2 } else { 500 };

fn create_tables(connection: &mut Connection, settings: Settings) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(&format!(
        "CREATE TABLE settings (
             rules INTEGER, text_limit INTEGER, generation INTEGER, last_document INTEGER, removed INTEGER,
             documents INTEGER);
         CREATE TABLE files (
             id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB UNIQUE, root INTEGER, session TEXT, agent TEXT,
             state TEXT, checkpoint TEXT, lines INTEGER, calls TEXT);
         CREATE TABLE projects (path BLOB UNIQUE, listing BLOB);
         CREATE TABLE documents (
             id INTEGER PRIMARY KEY, identity INTEGER UNIQUE, file INTEGER, offset INTEGER, length INTEGER,
             number INTEGER, has_subject INTEGER);
         CREATE TABLE facts (block INTEGER PRIMARY KEY, records BLOB, files BLOB);
         CREATE INDEX documents_of_file ON documents (file);
         CREATE TABLE copies (
             document INTEGER, file INTEGER, offset INTEGER, length INTEGER, has_subject INTEGER,
             PRIMARY KEY (document, file, offset)) WITHOUT ROWID;
         CREATE INDEX copies_of_file ON copies (file);
         CREATE TABLE names (id INTEGER PRIMARY KEY, kind INTEGER, name TEXT, UNIQUE (kind, name));
         CREATE TABLE terms (length INTEGER, term TEXT, PRIMARY KEY (length, term)) WITHOUT ROWID;
         CREATE VIRTUAL TABLE text USING fts5(
             words, parts, content='', contentless_delete=1, tokenize='{TOKENIZER}');
         INSERT INTO text(text, rank) VALUES ('crisismerge', 1000);
         INSERT INTO text(text, rank) VALUES ('hashsize', {HASH_SIZE});
         INSERT INTO text(text, rank) VALUES ('pgsz', {WORD_PAGE_SIZE});
         PRAGMA user_version = {VERSION}"
    ))?;
    transaction.execute(
        "INSERT INTO settings VALUES (?1, ?2, ?3, 0, 0, 0)",
        params![settings.rules.cast_signed(), settings.text_limit, settings.generation.cast_signed()],
    )?;
    transaction.commit()
}

/// How many bytes of tokens FTS5 keeps in memory before it writes a segment. It writes one at the end of each transaction
/// as well. By default it would merge everything it has inside of one commit after some hundred small ones (`crisismerge`).
const HASH_SIZE: usize = 8 << 20;

/// A transaction that changes the index.
pub(super) struct Change<'t> {
    transaction: &'t Transaction<'t>,
    /// The largest number that a document ever had.
    last: i64,
    /// How many documents are new.
    pub(super) added: u64,
    removed: u64,
    names: Names,
    facts: ChangedFacts,
}

impl Change<'_> {
    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> rusqlite::Result<usize> {
        kill_point();
        self.transaction.prepare_cached(sql)?.execute(parameters)
    }

    fn one<T: rusqlite::types::FromSql>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> rusqlite::Result<Option<T>> {
        self.transaction.prepare_cached(sql)?.query_row(parameters, |row| row.get(0)).optional()
    }

    /// Returns the number of a file.
    fn file(&self, path: &Path) -> rusqlite::Result<Option<i64>> {
        self.one("SELECT id FROM files WHERE path = ?1", [path_bytes(path)])
    }

    /// Stores what the folder of a project had when all of its transcripts were indexed.
    pub(super) fn set_listing(&self, project: &Path, listing: &Listing) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO projects (path, listing) VALUES (?1, ?2) ON CONFLICT (path) DO UPDATE SET listing = ?2",
            params![path_bytes(project), listing.to_bytes()],
        )?;
        Ok(())
    }

    /// Removes the listing that names a transcript, and its project if the index knows no other transcript of it.
    fn forget_listing(&self, path: &Path) -> rusqlite::Result<()> {
        for folder in path.ancestors().skip(1) {
            let sql = "UPDATE projects SET listing = NULL WHERE path = ?1";
            if self.execute(sql, [path_bytes(folder)])? > 0 {
                let [after, before] = range_below(folder);
                let sql = "DELETE FROM projects WHERE path = ?1 \
                           AND NOT EXISTS (SELECT 1 FROM files WHERE path > ?2 AND path < ?3)";
                self.execute(sql, params![path_bytes(folder), after, before])?;
            }
        }
        Ok(())
    }

    /// Stores the documents of a file, and how far it was read.
    pub(super) fn add_part(&mut self, part: &FilePart) -> rusqlite::Result<()> {
        let file = self.keep_file(part)?;
        if part.is_restarted {
            self.remove_documents(file)?;
        }
        for document in &part.documents {
            self.add_document(file, document)?;
        }
        Ok(())
    }

    /// Stores how far a file was read. Returns its number.
    fn keep_file(&mut self, part: &FilePart) -> rusqlite::Result<i64> {
        let root = self.name(NameKind::Root, &part.root.to_string_lossy())?;
        let IndexedFile { state, progress, calls } = &part.indexed;
        let TranscriptFile { path, session, agent } = &part.file;
        if let Some(project) = project_of(&part.root, path) {
            // Its files are compared even if it does not exist any more.
            self.execute("INSERT OR IGNORE INTO projects (path) VALUES (?1)", [path_bytes(&project)])?;
        }
        self.execute(
            "INSERT INTO files (path, root, session, agent, state, checkpoint, lines, calls) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
             ON CONFLICT (path) DO UPDATE SET root = ?2, session = ?3, agent = ?4, state = ?5, checkpoint = ?6, \
             lines = ?7, calls = ?8",
            params![
                path_bytes(path),
                root,
                session,
                agent,
                state,
                progress.checkpoint.to_string(),
                progress.lines,
                calls
            ],
        )?;
        self.file(path)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    /// Stores a document, or another place of one that is known.
    fn add_document(&mut self, file: i64, document: &NewDocument) -> rusqlite::Result<()> {
        let tool = self.optional_name(NameKind::Tool, document.subject.tool.as_deref())?;
        let id = match self.insert_document(file, document, tool)? {
            Some(id) => id,
            None => self.add_copy(file, document, tool)?,
        };
        for file in &document.subject.files {
            let name = self.name(NameKind::File, file)?;
            self.facts.add_file(self.transaction, id, name)?;
        }
        Ok(())
    }

    /// Changes what is known of a document.
    fn change_facts(&mut self, document: i64, change: impl FnOnce(&mut Facts)) -> rusqlite::Result<()> {
        self.facts.change(self.transaction, document, |facts| {
            // Only a damaged index has a document without facts.
            change(facts.get_or_insert_default());
        })
    }

    fn store_facts(&mut self) -> rusqlite::Result<()> {
        kill_point();
        self.facts.store(self.transaction)
    }

    /// Stores a document and returns its number; `None` if it is known.
    fn insert_document(
        &mut self,
        file: i64,
        document: &NewDocument,
        tool: Option<i64>,
    ) -> rusqlite::Result<Option<i64>> {
        let id = self.last + 1;
        let project = self.optional_name(NameKind::Project, document.project.as_deref())?;
        let branch = self.optional_name(NameKind::Branch, document.branch.as_deref())?;
        let model = self.optional_name(NameKind::Model, document.model.as_deref())?;
        let inserted = self.execute(
            "INSERT INTO documents (id, identity, file, offset, length, number, has_subject) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (identity) DO NOTHING",
            params![
                id,
                document.identity,
                file,
                document.offset,
                document.length,
                document.number,
                document.subject != Subject::default()
            ],
        )?;
        if inserted == 0 {
            return Ok(None);
        }
        self.last = id;
        self.added += 1;
        self.execute(
            "INSERT INTO text (rowid, words, parts) VALUES (?1, ?2, ?3)",
            params![id, document.words, document.parts],
        )?;
        let NewDocument { part, role, is_error, time, .. } = *document;
        let tokens = tokens_in(&document.words) + tokens_in(&document.parts);
        let facts = Facts {
            file,
            part: Some(part),
            role: Some(role),
            is_error,
            has_copies: false,
            time,
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
            tool,
            project,
            branch,
            model,
        };
        self.facts.change(self.transaction, id, |stored| *stored = Some(facts))?;
        Ok(Some(id))
    }

    /// Stores another place of a document, and its tool, which only a transcript that has the call knows. Returns its number.
    fn add_copy(&mut self, file: i64, document: &NewDocument, tool: Option<i64>) -> rusqlite::Result<i64> {
        let known = self.one("SELECT id FROM documents WHERE identity = ?1", [document.identity])?;
        let id: i64 = known.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        self.execute(
            "INSERT OR REPLACE INTO copies (document, file, offset, length, has_subject) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![id, file, document.offset, document.length, document.subject != Subject::default()],
        )?;
        self.change_facts(id, |facts| {
            facts.has_copies = true;
            facts.tool = facts.tool.or(tool);
        })?;
        Ok(id)
    }

    fn optional_name(&mut self, kind: NameKind, name: Option<&str>) -> rusqlite::Result<Option<i64>> {
        name.map(|name| self.name(kind, name)).transpose()
    }

    /// Returns the number of a name, which is stored if it is new.
    fn name(&mut self, kind: NameKind, name: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.names.get(&kind).and_then(|names| names.get(name)) {
            return Ok(*id);
        }
        let find = "SELECT id FROM names WHERE kind = ?1 AND name = ?2";
        let known = self.one(find, params![kind as i64, name])?;
        let id = if let Some(id) = known {
            id
        } else {
            self.execute("INSERT INTO names (kind, name) VALUES (?1, ?2)", params![kind as i64, name])?;
            self.transaction.last_insert_rowid()
        };
        self.names.entry(kind).or_default().insert(name.to_owned(), id);
        Ok(id)
    }

    /// Removes a file from the places of documents, and the documents that stand nowhere else.
    fn remove_documents(&mut self, file: i64) -> rusqlite::Result<()> {
        let copied = self.numbers("SELECT document FROM copies WHERE file = ?1", file)?;
        self.execute("DELETE FROM copies WHERE file = ?1", [file])?;
        for document in copied {
            self.forget_lost_subject(document)?;
        }
        for document in self.numbers("SELECT id FROM documents WHERE file = ?1", file)? {
            if self.move_to_copy(document)? {
                self.forget_lost_subject(document)?;
                continue;
            }
            self.removed += 1;
            self.facts.change(self.transaction, document, |facts| *facts = None)?;
            for sql in ["DELETE FROM documents WHERE id = ?1", "DELETE FROM text WHERE rowid = ?1"] {
                self.execute(sql, [document])?;
            }
        }
        Ok(())
    }

    fn numbers(&self, sql: &str, parameter: i64) -> rusqlite::Result<Vec<i64>> {
        self.transaction.prepare_cached(sql)?.query_map([parameter], |row| row.get(0))?.collect()
    }

    /// Removes the tool and the files of a document if no place that is left knows them: a result does not name its call, and a
    /// transcript may have the one without the other.
    fn forget_lost_subject(&mut self, document: i64) -> rusqlite::Result<()> {
        let known = "SELECT EXISTS (SELECT 1 FROM documents WHERE id = ?1 AND has_subject) \
                     OR EXISTS (SELECT 1 FROM copies WHERE document = ?1 AND has_subject)";
        if self.one(known, [document])? == Some(false) {
            self.change_facts(document, |facts| facts.tool = None)?;
            self.facts.remove_files(self.transaction, document)?;
        }
        Ok(())
    }

    /// Makes the first copy of a document its place. Returns whether there is one.
    fn move_to_copy(&mut self, document: i64) -> rusqlite::Result<bool> {
        let copy = "SELECT file, offset, length, has_subject FROM copies WHERE document = ?1 \
                    ORDER BY file, offset LIMIT 1";
        let copy = self
            .transaction
            .prepare_cached(copy)?
            .query_row([document], |row| Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?]));
        let Some([file, offset, length, has_subject]) = copy.optional()? else { return Ok(false) };
        self.execute(
            "UPDATE documents SET file = ?2, offset = ?3, length = ?4, has_subject = ?5 WHERE id = ?1",
            [document, file, offset, length, has_subject],
        )?;
        self.change_facts(document, |facts| facts.file = file)?;
        self.execute(
            "DELETE FROM copies WHERE document = ?1 AND file = ?2 AND offset = ?3",
            [document, file, offset],
        )?;
        Ok(true)
    }

    /// Stores words.
    pub(super) fn add_terms(&self, terms: &[String]) -> rusqlite::Result<()> {
        for term in terms {
            self.execute(
                "INSERT OR IGNORE INTO terms (length, term) VALUES (?1, ?2)",
                params![term.chars().count(), term],
            )?;
        }
        Ok(())
    }
}

/// Returns how many tokens stand in a column, with a blank between each two.
fn tokens_in(column: &str) -> usize {
    memchr::memchr_iter(b' ', column.as_bytes()).count() + usize::from(!column.is_empty())
}

/// Returns the folder of the project that a transcript is in.
fn project_of(root: &Path, transcript: &Path) -> Option<PathBuf> {
    let project = transcript.strip_prefix(root).ok()?.components().next()?;
    Some(root.join(project))
}

/// Returns the state of a file as it is stored and compared.
pub(super) fn spell_state(state: &FileState) -> String {
    let [length, modified, device, inode] = stamp(state);
    format!("{length:x}.{modified:x}.{device:x}.{inode:x}")
}

/// Reads a state that was stored; `None` for other text.
fn parse_state(text: &str) -> Option<Stamp> {
    let mut numbers = text.split('.').map(|number| u64::from_str_radix(number, 16).ok());
    let state = [numbers.next()??, numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(state)
}

/// Returns a path as it is stored.
pub(super) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Returns a path that was stored.
pub(super) fn stored_path(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).into();
    #[cfg(not(unix))]
    return String::from_utf8_lossy(bytes).into_owned().into();
}

/// A point at which tests kill the process.
#[cfg(not(test))]
fn kill_point() {}

#[cfg(test)]
use super::tests::kill_point;

/// Bounds a database in tests, as a full disk does.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in tests it may fail")]
fn bound_size(_connection: &Connection) -> rusqlite::Result<()> {
    Ok(())
}

#[cfg(test)]
use super::tests::bound_size;
