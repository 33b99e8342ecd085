//! What was counted, in `usage.sqlite`.
//!
//! It is not a cache: it has responses whose transcripts Claude Code has deleted. So it is never removed and never rebuilt; a file that
//! cannot be used is left alone, and counting goes on without it. It has no text of transcripts: hashes of ids, counters, times, and the names of
//! models, branches and working directories.

use std::path::{Path, PathBuf};
use std::time::Duration;

use annals_transcript::checkpoint::Checkpoint;
use annals_transcript::file_state::{FileStamp, FileState};
use annals_transcript::write::fs::{Disk, RealDisk};
use annals_usage::{DecodeError, FileCount};
use rusqlite::{Connection, TransactionBehavior, params};

use super::read::FileProgress;
use crate::database::version;
use crate::fold::FoldPosition;

/// The version of the layout. Older ones are migrated, in [`migrate`].
const VERSION: i64 = 1;
/// The version of the rules by which lines are read. Files that were read by other rules are read again, as long as they exist.
const RULES: i64 = 1;

/// The database.
#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
}

/// What is stored of a file.
#[derive(Debug)]
pub(super) struct StoredFile {
    pub(super) path: PathBuf,
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    /// The state of the file when it was read to its end.
    stamp: FileStamp,
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

    /// Returns all files.
    pub(super) fn files(&self) -> Result<Vec<StoredFile>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT path, session, agent, length, modified, device, inode, rules, checkpoint, lines, counted FROM file",
        )?;
        let rows = statement.query_map([], |row| {
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
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Stores files. One that another process has changed since it was read is left as it is: its own count and its own
    /// checkpoint belong together, and the next count goes on from there.
    pub(super) fn save<'a>(&mut self, files: impl Iterator<Item = NewFile<'a>>) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert = transaction.prepare(
                "INSERT OR IGNORE INTO file (path, session, agent, length, modified, device, inode, rules, checkpoint, lines, counted) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?;
            let mut update = transaction.prepare(
                "UPDATE file SET session = ?2, agent = ?3, length = ?4, modified = ?5, device = ?6, inode = ?7, rules = ?8, \
                 checkpoint = ?9, lines = ?10, counted = ?11 WHERE path = ?1 AND counted = ?12",
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
                    file.counted
                ];
                match file.before {
                    Some(before) => update.execute(&[values, params![before]].concat()[..])?,
                    None => insert.execute(values)?,
                };
            }
        }
        Ok(transaction.commit()?)
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

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    match version(connection)? {
        VERSION => return Ok(()),
        newer if newer > VERSION => return Err(StoreError::Newer),
        _ => {}
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it already.
    if version(&transaction)? == 0 {
        transaction.execute_batch(&format!(
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
             );
             PRAGMA user_version = {VERSION}"
        ))?;
    }
    Ok(transaction.commit()?)
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
