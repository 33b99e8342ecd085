//! What was counted, in `usage.sqlite`.
//!
//! It is not a cache: it has responses whose transcripts Claude Code has deleted. So it is never removed and never rebuilt; a file that
//! cannot be used is left alone, and counting goes on without it. It has no text of transcripts: hashes of ids, counters, times, and the names of
//! models, branches and working directories.
//!
//! Every change has a revision, so that what was made of the rows at one revision can be brought up to date from those that changed since.

use std::path::{Path, PathBuf};
use std::time::Duration;

use annals_transcript::checkpoint::Checkpoint;
use annals_transcript::file_state::{FileStamp, FileState};
use annals_transcript::write::fs::{Disk, RealDisk};
use annals_usage::{DecodeError, FileCount};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::read::FileProgress;
use crate::database::version;
use crate::fold::FoldPosition;

/// The version of the layout. Older ones are migrated, in [`migrate`].
const VERSION: i64 = 2;
/// The version of the rules by which lines are read. Files that were read by other rules are read again, as long as they exist.
pub(super) const RULES: i64 = 1;

/// The database.
#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
}

/// Which rows the database has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Revision {
    /// Another one whenever rows are removed.
    pub(super) generation: i64,
    /// Higher whenever rows are added or changed.
    pub(super) number: i64,
}

/// What is stored of a file.
#[derive(Debug)]
pub(super) struct StoredFile {
    pub(super) path: PathBuf,
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    /// The state of the file when it was read to its end.
    pub(super) stamp: FileStamp,
    rules: i64,
    checkpoint: String,
    lines: i64,
    counted: Vec<u8>,
}

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("a newer version of annals wrote it")]
    Newer,
    #[error("it was changed by something else than annals")]
    Changed,
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// A file to store.
#[derive(Debug)]
pub(super) struct NewFile<'a> {
    pub(super) path: &'a Path,
    pub(super) session: Option<&'a str>,
    pub(super) agent: Option<&'a str>,
    pub(super) state: &'a FileState,
    pub(super) position: FoldPosition,
    /// What was counted, as bytes.
    pub(super) counted: &'a [u8],
    /// What was stored of it before, as bytes, when it was read.
    pub(super) before: Option<&'a [u8]>,
}

impl Store {
    /// Opens the database, which is created if there is none.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            RealDisk.create_folder(folder)?;
        }
        // SQLite would create a file that others can read.
        drop(RealDisk.open_or_create(path)?);
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "page_size", 16 * 1024)?;
        // A crash of the machine may lose the last changes, which are counted again then, but it damages nothing.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // What was forgotten is overwritten.
        connection.pragma_update(None, "secure_delete", true)?;
        migrate(&mut connection)?;
        Ok(Self { connection })
    }

    /// Begins to read: until [`end_reading`](Self::end_reading), everything that is read is of the revision that is returned.
    pub(super) fn begin_reading(&self) -> Result<Revision, StoreError> {
        self.connection.execute_batch("BEGIN")?;
        self.revision()
    }

    /// Returns which rows the database has now.
    pub(super) fn revision(&self) -> Result<Revision, StoreError> {
        Ok(revision(&self.connection)?)
    }

    pub(super) fn end_reading(&self) -> Result<(), StoreError> {
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    /// Returns all files.
    pub(super) fn files(&self) -> Result<Vec<StoredFile>, StoreError> {
        self.files_since(-1)
    }

    /// Returns the files that were added or changed after a revision.
    pub(super) fn files_since(&self, number: i64) -> Result<Vec<StoredFile>, StoreError> {
        let mut statement =
            self.connection.prepare(&format!("SELECT {COLUMNS} FROM file WHERE revision > ?1"))?;
        let rows = statement.query_map([number], stored_file)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the file at a path.
    pub(super) fn file(&self, path: &Path) -> Result<Option<StoredFile>, StoreError> {
        let mut statement =
            self.connection.prepare_cached(&format!("SELECT {COLUMNS} FROM file WHERE path = ?1"))?;
        Ok(statement.query_row([path_bytes(path)], stored_file).optional()?)
    }

    /// Stores files. One that another process has changed since it was read is left as it is: its own count and its own
    /// checkpoint belong together, and the next count goes on from there. Returns the revisions before and after.
    pub(super) fn save<'a>(
        &mut self,
        files: impl Iterator<Item = NewFile<'a>>,
    ) -> Result<(Revision, Revision), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let before = revision(&transaction)?;
        transaction.execute("UPDATE store SET revision = revision + 1", [])?;
        {
            let mut insert = transaction.prepare(
                "INSERT OR IGNORE INTO file (path, session, agent, length, modified, device, inode, rules, checkpoint, lines, counted, revision) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?;
            let mut update = transaction.prepare(
                "UPDATE file SET session = ?2, agent = ?3, length = ?4, modified = ?5, device = ?6, inode = ?7, rules = ?8, \
                 checkpoint = ?9, lines = ?10, counted = ?11, revision = ?12 WHERE path = ?1 AND counted = ?13",
            )?;
            for file in files {
                let checkpoint = file.position.checkpoint.to_string();
                let (path, lines) = (path_bytes(file.path), file.position.lines.cast_signed());
                let FileStamp { length, modified, device, inode } = FileStamp::of(file.state);
                let values = params![
                    path,
                    file.session,
                    file.agent,
                    length,
                    modified,
                    device,
                    inode,
                    RULES,
                    checkpoint,
                    lines,
                    file.counted,
                    before.number + 1
                ];
                match file.before {
                    Some(before) => update.execute(&[values, params![before]].concat()[..])?,
                    None => insert.execute(values)?,
                };
            }
        }
        transaction.commit()?;
        Ok((before, Revision { number: before.number + 1, ..before }))
    }

    /// Removes files, and replaces what is counted of others, in one transaction. Returns how many; those that another process has
    /// changed since they were read are left as they are.
    pub(super) fn forget(
        &mut self,
        gone: &[&StoredFile],
        changed: &[(&StoredFile, FileCount)],
    ) -> Result<usize, StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut done = 0;
        for file in gone {
            let row = params![path_bytes(&file.path), file.counted];
            done += transaction.execute("DELETE FROM file WHERE path = ?1 AND counted = ?2", row)?;
        }
        for (file, count) in changed {
            let row = params![path_bytes(&file.path), file.counted, count.encode()];
            let update = "UPDATE file SET counted = ?3 WHERE path = ?1 AND counted = ?2";
            done += transaction.execute(update, row)?;
        }
        if done > 0 {
            transaction.execute("UPDATE store SET generation = random()", [])?;
        }
        transaction.commit()?;
        Ok(done)
    }
}

impl StoredFile {
    /// Returns whether a file has not changed since it was read.
    pub(super) fn is_current(&self, state: &FileState) -> bool {
        self.rules == RULES && self.stamp == FileStamp::of(state)
    }

    /// Returns what was counted.
    pub(super) fn count(&self) -> Result<FileCount, DecodeError> {
        FileCount::decode(&self.counted)
    }

    /// Returns the bytes of what was counted.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.counted
    }

    /// Returns what was counted and where to read on. If the rules have changed, or what was counted cannot be read, that is the start of
    /// the file.
    pub(super) fn progress(&self) -> FileProgress {
        let Ok(count) = self.count() else { return FileProgress::default() };
        match Checkpoint::parse(&self.checkpoint).filter(|_| self.rules == RULES) {
            Some(checkpoint) => FileProgress {
                count,
                position: FoldPosition { checkpoint, lines: self.lines.cast_unsigned() },
            },
            None => FileProgress { count: count.only_left(), position: FoldPosition::default() },
        }
    }
}

/// For each version, the changes that make its layout of the one before.
const LAYOUTS: [&str; 2] = [
    "CREATE TABLE file (
         id INTEGER PRIMARY KEY,
         path BLOB NOT NULL UNIQUE,
         session TEXT,
         agent TEXT,
         length INTEGER NOT NULL,
         modified INTEGER NOT NULL,
         device INTEGER NOT NULL,
         inode INTEGER NOT NULL,
         rules INTEGER NOT NULL,
         checkpoint TEXT NOT NULL,
         lines INTEGER NOT NULL,
         counted BLOB NOT NULL
     );",
    "ALTER TABLE file ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
     CREATE INDEX file_revision ON file (revision);
     CREATE TABLE store (generation INTEGER NOT NULL, revision INTEGER NOT NULL);
     INSERT INTO store VALUES (random(), 0);",
];

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    match version(connection)? {
        VERSION => return Ok(()),
        newer if newer > VERSION => return Err(StoreError::Newer),
        _ => {}
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it already.
    let found = usize::try_from(version(&transaction)?).unwrap_or(0);
    for changes in LAYOUTS.iter().skip(found) {
        transaction.execute_batch(changes)?;
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

fn revision(connection: &Connection) -> rusqlite::Result<Revision> {
    connection.query_row("SELECT generation, revision FROM store", [], |row| {
        Ok(Revision { generation: row.get(0)?, number: row.get(1)? })
    })
}

const COLUMNS: &str =
    "path, session, agent, length, modified, device, inode, rules, checkpoint, lines, counted";

fn stored_file(row: &Row<'_>) -> rusqlite::Result<StoredFile> {
    Ok(StoredFile {
        path: path_of(row.get_ref(0)?.as_blob()?),
        session: row.get(1)?,
        agent: row.get(2)?,
        stamp: FileStamp {
            length: row.get(3)?,
            modified: row.get(4)?,
            device: row.get(5)?,
            inode: row.get(6)?,
        },
        rules: row.get(7)?,
        checkpoint: row.get(8)?,
        lines: row.get(9)?,
        counted: row.get(10)?,
    })
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}
