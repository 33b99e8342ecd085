//! What the catalogue remembers: facts of files that have not changed since. Derived, and made anew when it is gone or of
//! another version.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use annals_transcript::write::fs::{Disk, RealDisk, State};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::facts::{Facts, Standing, Title, TitleSource};

/// The version of what is kept. One that differs is thrown away.
const VERSION: i64 = 3;

const SCHEMA: &str = "
CREATE TABLE facts (
  path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, device INTEGER, inode INTEGER,
  standing INTEGER, title TEXT, title_source INTEGER, first_prompt TEXT, created INTEGER, updated INTEGER,
  cwd TEXT, git_branch TEXT, version TEXT, entrypoint TEXT, permission_mode TEXT, tag TEXT, forked_from TEXT
) WITHOUT ROWID";

/// A file of remembered facts.
#[derive(Debug)]
pub(super) struct Cache(Connection);

/// What is remembered of a file, and of which state of it.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    pub(super) facts: Facts,
    key: Key,
}

/// What has to be the same for facts to be true still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    size: i64,
    modified: i64,
    identity: (i64, i64),
}

impl Key {
    fn of(state: &State) -> Self {
        let since_1970 = state.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let nanoseconds = since_1970.map_or(0, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
        let (device, inode) = state.identity;
        Self {
            size: i64::try_from(state.length).unwrap_or(i64::MAX),
            modified: nanoseconds,
            identity: (device.cast_signed(), inode.cast_signed()),
        }
    }
}

/// How what is remembered relates to a file as it is now.
pub(super) enum Freshness {
    /// It is true still.
    Same,
    /// The file has grown behind this offset.
    Grown(u64),
    /// The file is another one.
    Stale,
}

impl Remembered {
    pub(super) fn freshness(&self, state: &State) -> Freshness {
        let now = Key::of(state);
        if now == self.key {
            return Freshness::Same;
        }
        match u64::try_from(self.key.size) {
            Ok(size) if now.identity == self.key.identity && now.size > self.key.size => {
                Freshness::Grown(size)
            }
            _ => Freshness::Stale,
        }
    }
}

impl Cache {
    /// Opens the cache in a folder; without one, lists are made without it.
    pub(super) fn open(folder: &Path) -> Option<Self> {
        // Prompts and titles are their owner's alone, as the transcripts are.
        RealDisk.create_folder(folder).ok()?;
        let path = folder.join("catalog.sqlite");
        drop(RealDisk.open_or_create(&path).ok()?);
        Self::at(&path).or_else(|| {
            // Of another version, or broken: it is only a cache.
            fs::remove_file(&path).ok()?;
            Self::at(&path)
        })
    }

    fn at(path: &Path) -> Option<Self> {
        let connection = Connection::open(path).ok()?;
        connection.busy_timeout(Duration::from_secs(1)).ok()?;
        connection.pragma_update(None, "journal_mode", "WAL").ok()?;
        connection.pragma_update(None, "synchronous", "OFF").ok()?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).ok()?;
        if version == 0 {
            connection
                .execute_batch(&format!("BEGIN; {SCHEMA}; PRAGMA user_version = {VERSION}; COMMIT"))
                .ok()?;
        } else if version != VERSION {
            return None;
        }
        Some(Self(connection))
    }

    /// Returns everything that is remembered.
    pub(super) fn all(&self) -> HashMap<PathBuf, Remembered> {
        let read = || {
            let mut statement = self.0.prepare("SELECT * FROM facts")?;
            let rows = statement.query_map([], |row| Ok((path_of(row)?, remembered(row)?)))?;
            rows.collect::<rusqlite::Result<HashMap<_, _>>>()
        };
        read().unwrap_or_default()
    }

    /// Returns what is remembered of one file.
    pub(super) fn one(&self, path: &Path) -> Option<Remembered> {
        let mut statement = self.0.prepare_cached("SELECT * FROM facts WHERE path = ?1").ok()?;
        statement.query_row(params![bytes(path)], remembered).optional().ok()?
    }

    /// Remembers facts. If that fails, they are found out again next time.
    pub(super) fn keep<'a>(&mut self, rows: impl Iterator<Item = (&'a Path, &'a State, &'a Facts)>) {
        let _ = self.try_keep(rows);
    }

    fn try_keep<'a>(
        &mut self,
        rows: impl Iterator<Item = (&'a Path, &'a State, &'a Facts)>,
    ) -> rusqlite::Result<()> {
        let transaction = self.0.transaction()?;
        {
            let mut statement = transaction.prepare_cached(
                "INSERT OR REPLACE INTO facts VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)",
            )?;
            for (path, state, facts) in rows {
                let key = Key::of(state);
                let title = facts.title.as_ref();
                statement.execute(params![
                    bytes(path),
                    key.size,
                    key.modified,
                    key.identity.0,
                    key.identity.1,
                    facts.standing as i64,
                    title.map(|title| &title.text),
                    title.map(|title| title.source as i64),
                    facts.first_prompt,
                    facts.created_at.map(Timestamp::as_millisecond),
                    facts.updated_at.map(Timestamp::as_millisecond),
                    facts.cwd,
                    facts.git_branch,
                    facts.version,
                    facts.entrypoint,
                    facts.permission_mode,
                    facts.tag,
                    facts.forked_from,
                ])?;
            }
        }
        transaction.commit()
    }

    /// Forgets files that are gone.
    pub(super) fn forget(&self, paths: impl Iterator<Item = PathBuf>) {
        for path in paths {
            let _ = self.0.execute("DELETE FROM facts WHERE path = ?1", params![bytes(&path)]);
        }
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn path_of(row: &Row<'_>) -> rusqlite::Result<PathBuf> {
    let bytes: Vec<u8> = row.get(0)?;
    #[cfg(unix)]
    let path = {
        use std::os::unix::ffi::OsStringExt;
        std::ffi::OsString::from_vec(bytes).into()
    };
    #[cfg(not(unix))]
    let path = String::from_utf8_lossy(&bytes).into_owned().into();
    Ok(path)
}

fn remembered(row: &Row<'_>) -> rusqlite::Result<Remembered> {
    let time = |index: usize| -> rusqlite::Result<Option<Timestamp>> {
        let ms: Option<i64> = row.get(index)?;
        Ok(ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()))
    };
    let title: Option<String> = row.get(6)?;
    let source: Option<i64> = row.get(7)?;
    let source = source.and_then(|source| TitleSource::ALL.into_iter().find(|one| *one as i64 == source));
    let standing: i64 = row.get(5)?;
    let facts = Facts {
        standing: Standing::ALL.into_iter().find(|one| *one as i64 == standing).unwrap_or_default(),
        title: title.zip(source).map(|(text, source)| Title { text, source }),
        first_prompt: row.get(8)?,
        created_at: time(9)?,
        updated_at: time(10)?,
        cwd: row.get(11)?,
        git_branch: row.get(12)?,
        version: row.get(13)?,
        entrypoint: row.get(14)?,
        permission_mode: row.get(15)?,
        tag: row.get(16)?,
        forked_from: row.get(17)?,
    };
    let key = Key { size: row.get(1)?, modified: row.get(2)?, identity: (row.get(3)?, row.get(4)?) };
    Ok(Remembered { facts, key })
}
