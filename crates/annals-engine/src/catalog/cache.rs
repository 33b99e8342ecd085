//! What the catalogue remembers: facts of files that have not changed since. Derived, and made anew when it is gone, of
//! another version or damaged.
//!
//! Every row has a checksum of its values, so that a damaged one is noticed. That a row is missing needs no check: lists take
//! their files from the folders, and a file that has no row is read.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use annals_transcript::checkpoint::{Checkpoint, Fingerprint};
use annals_transcript::write::fs::{Disk, RealDisk, State};
use foldhash::fast::{FixedState, FoldHasher};
use jiff::Timestamp;
use rusqlite::types::{FromSql, Value, ValueRef};
use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Row, Transaction, TransactionBehavior, params, params_from_iter,
};

use super::contents::Contents;
use super::facts::{Cwds, Facts, Standing, Title, TitleSource};
use super::folder::Candidate;

/// The version of what is kept. One that differs is thrown away.
const VERSION: i64 = 12;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS facts (
  path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, device INTEGER, inode INTEGER,
  standing INTEGER, title TEXT, title_source INTEGER, first_prompt TEXT, created INTEGER, updated INTEGER,
  first_cwd TEXT, git_branch TEXT, version TEXT, entrypoint TEXT, permission_mode TEXT, tag TEXT, forked_from TEXT,
  session TEXT, messages INTEGER, fingerprint INTEGER, other_cwd TEXT, moved_to TEXT, checksum INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS contents (
  path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, device INTEGER, inode INTEGER,
  messages INTEGER, tools BLOB, files BLOB, end INTEGER, fingerprint INTEGER, messages_checksum INTEGER, checksum INTEGER
) WITHOUT ROWID";

/// Where the checksums stand in rows. Each is of the values before it; in `contents`, the first one is of the state of the
/// file and the number of messages, which are also read without the rest.
const FACTS_CHECKSUM: usize = 23;
const MESSAGES_CHECKSUM: usize = 10;
const CONTENTS_CHECKSUM: usize = 11;
/// Where the number of messages that the other table has stands behind a row of facts.
const COUNTED: usize = FACTS_CHECKSUM + 1;
/// How many values say which file a row is about, and in which state.
const KEY: usize = 5;

/// What is remembered of files, with the number of messages if all of the file was read, for whatever reason.
const FACTS: &str = "
SELECT facts.*, contents.messages, contents.messages_checksum FROM facts LEFT JOIN contents
ON facts.messages IS NULL AND contents.path = facts.path AND contents.size = facts.size AND contents.modified = facts.modified
AND contents.inode = facts.inode AND contents.device = facts.device";

/// A file of remembered facts. What goes wrong with it is no error: it is only a cache.
#[derive(Debug)]
pub(super) struct Cache {
    connection: Connection,
    path: PathBuf,
    /// Whether it is left alone from now on: it is broken, or somebody else keeps it busy.
    is_given_up: Cell<bool>,
}

/// What is remembered of a file, and of which state of it.
#[derive(Clone, Debug)]
pub(super) struct Remembered<T> {
    pub(super) what: T,
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
    /// The file is longer. Whether it begins as it did is not known before it is read.
    Grown,
    /// The file is another one.
    Stale,
}

impl<T> Remembered<T> {
    pub(super) fn freshness(&self, state: &State) -> Freshness {
        let now = Key::of(state);
        if now == self.key {
            return Freshness::Same;
        }
        let is_longer = now.identity == self.key.identity && now.size > self.key.size;
        if is_longer { Freshness::Grown } else { Freshness::Stale }
    }
}

impl Cache {
    /// Opens the cache in a folder; without one, lists are made without it.
    pub(super) fn open(folder: &Path) -> Option<Self> {
        // Prompts and titles are their owner's alone, as the transcripts are.
        RealDisk.create_folder(folder).ok()?;
        let path = folder.join("catalog.sqlite");
        let opened = Self::at(&path);
        if opened.as_ref().is_err_and(is_broken) {
            remove(&path);
            return Self::at(&path).ok();
        }
        opened.ok()
    }

    fn at(path: &Path) -> rusqlite::Result<Self> {
        // SQLite would let others read what it makes.
        drop(RealDisk.open_or_create(path).map_err(|_| rusqlite::Error::InvalidPath(path.to_owned()))?);
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(1))?;
        // Takes effect when it is made: fewer and larger pages are written faster.
        connection.pragma_update(None, "page_size", 16 * 1024)?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        let version = |connection: &Connection| -> rusqlite::Result<i64> {
            connection.pragma_query_value(None, "user_version", |row| row.get(0))
        };
        if version(&connection)? == 0 {
            // Somebody else may be making it at this moment.
            let making = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            making.execute_batch(&format!("{SCHEMA}; PRAGMA user_version = {VERSION}"))?;
            making.commit()?;
        }
        match version(&connection)? {
            VERSION => Ok(Self { connection, path: path.to_owned(), is_given_up: Cell::new(false) }),
            other => Err(rusqlite::Error::IntegralValueOutOfRange(0, other)),
        }
    }

    /// Does something with the cache. After a failure it is left alone, and removed if it is broken.
    fn attempt<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        if self.is_given_up.get() {
            return None;
        }
        work(&self.connection).inspect_err(|error| self.give_up(error)).ok()
    }

    fn give_up(&self, error: &rusqlite::Error) {
        self.is_given_up.set(true);
        if is_broken(error) {
            remove(&self.path);
        }
    }

    /// Returns all facts that are remembered.
    pub(super) fn all(&self) -> HashMap<OsString, Remembered<Box<Facts>>> {
        let read = |connection: &Connection| {
            let mut statement = connection.prepare(FACTS)?;
            let rows = statement
                .query_map([], |row| Ok((path_in(row)?.into_owned().into_os_string(), facts(row)?)))?;
            rows.collect::<rusqlite::Result<HashMap<_, _>>>()
        };
        self.attempt(read).unwrap_or_default()
    }

    /// Returns the facts that are remembered of one file.
    pub(super) fn facts(&self, path: &Path) -> Option<Remembered<Box<Facts>>> {
        self.one(&format!("{FACTS} WHERE facts.path = ?1"), path, facts)
    }

    /// Returns what is remembered of what was done in one file.
    pub(super) fn contents(&self, path: &Path) -> Option<Remembered<Contents>> {
        self.one("SELECT * FROM contents WHERE path = ?1", path, contents)
    }

    fn one<T>(
        &self,
        query: &str,
        path: &Path,
        read: fn(&Row<'_>) -> rusqlite::Result<Remembered<T>>,
    ) -> Option<Remembered<T>> {
        let look_up = |connection: &Connection| {
            let mut statement = connection.prepare_cached(query)?;
            statement.query_row(params![bytes(path)], read).optional()
        };
        self.attempt(look_up)?
    }

    /// Remembers facts. If that fails, they are found out again next time.
    pub(super) fn keep_facts<'a>(&mut self, rows: impl Iterator<Item = (&'a Candidate, &'a Facts)>) {
        self.keep("facts", rows, |key, facts| {
            let mut row = key.to_vec();
            row.extend(values_of_facts(facts));
            row.push(Checksum::of(&row).into());
            row
        });
    }

    /// Remembers what was done in files.
    pub(super) fn keep_contents<'a>(&mut self, rows: impl Iterator<Item = (&'a Candidate, &'a Contents)>) {
        self.keep("contents", rows, |key, contents| {
            let messages = i64::try_from(contents.messages).unwrap_or(i64::MAX);
            let mut row = key.to_vec();
            row.push(messages.into());
            let of_messages = Checksum::of(&row);
            row.push(joined(&contents.tools).into());
            row.push(joined(&contents.files).into());
            row.push(i64::try_from(contents.checkpoint.offset()).unwrap_or(i64::MAX).into());
            row.push(fingerprint_value(&contents.checkpoint));
            row.push(of_messages.into());
            row.push(Checksum::of(&row).into());
            row
        });
    }

    /// Puts rows into a table; `row` gets the first values of each and adds the others.
    fn keep<'a, T: 'a>(
        &mut self,
        table: &str,
        rows: impl Iterator<Item = (&'a Candidate, &'a T)>,
        row: impl Fn([Value; KEY], &T) -> Vec<Value>,
    ) {
        let mut rows = rows.map(|(candidate, what)| row(key_values(candidate), what)).peekable();
        let Some(columns) = rows.peek().map(Vec::len) else { return };
        let insert = format!("INSERT OR REPLACE INTO {table} VALUES (?{})", ",?".repeat(columns - 1));
        self.change(|transaction| {
            let mut statement = transaction.prepare(&insert)?;
            for row in rows {
                statement.execute(params_from_iter(row))?;
            }
            Ok(())
        });
    }

    /// Forgets files that are gone.
    pub(super) fn forget<P: AsRef<Path>>(&mut self, paths: impl Iterator<Item = P>) {
        let paths: Vec<_> = paths.collect();
        if !paths.is_empty() {
            self.change(|transaction| {
                for table in ["facts", "contents"] {
                    let mut delete = transaction.prepare(&format!("DELETE FROM {table} WHERE path = ?1"))?;
                    for path in &paths {
                        delete.execute(params![bytes(path.as_ref())])?;
                    }
                }
                Ok(())
            });
        }
    }

    /// Changes the cache, all or nothing.
    fn change(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) {
        if self.is_given_up.get() {
            return;
        }
        let changed = self.connection.transaction().and_then(|transaction| {
            work(&transaction)?;
            transaction.commit()
        });
        if let Err(error) = changed {
            self.give_up(&error);
        }
    }
}

/// Returns whether a cache is of no use any more: not one at all, damaged, of another version, or with tables and values
/// that are not ours.
fn is_broken(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnIndex, InvalidColumnType,
    };

    let is_not_ours = matches!(
        error,
        IntegralValueOutOfRange(..)
            | InvalidColumnIndex(..)
            | InvalidColumnType(..)
            | FromSqlConversionFailure(..)
    );
    let is_useless = |code| {
        // The last is said of statements that do not go with the tables.
        matches!(code, ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown)
    };
    is_not_ours || error.sqlite_error_code().is_some_and(is_useless)
}

/// Removes a cache with the files that are put beside it while it is used.
fn remove(path: &Path) {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = fs::remove_file(name);
    }
}

/// A checksum of values, one after the other.
struct Checksum(FoldHasher);

impl Checksum {
    fn new() -> Self {
        Self(FixedState::default().build_hasher())
    }

    fn of(values: &[Value]) -> i64 {
        let mut checksum = Self::new();
        for value in values {
            checksum.add(value.into());
        }
        checksum.finish()
    }

    fn add(&mut self, value: ValueRef<'_>) {
        let hasher = &mut self.0;
        // The type counts: nothing, zero and an empty text are different values.
        hasher.write_u8(value.data_type() as u8);
        match value {
            ValueRef::Null => {}
            ValueRef::Integer(number) => hasher.write_i64(number),
            ValueRef::Real(number) => hasher.write_u64(number.to_bits()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                hasher.write_usize(bytes.len());
                hasher.write(bytes);
            }
        }
    }

    fn finish(&self) -> i64 {
        self.0.finish().cast_signed()
    }
}

/// The values of a row, each read once.
struct Values<'a, const COUNT: usize>([ValueRef<'a>; COUNT]);

impl<'a, const COUNT: usize> Values<'a, COUNT> {
    fn of(row: &'a Row<'_>) -> rusqlite::Result<Self> {
        let mut values = [ValueRef::Null; COUNT];
        for (index, value) in values.iter_mut().enumerate() {
            *value = row.get_ref(index)?;
        }
        Ok(Self(values))
    }

    fn get<T: FromSql>(&self, index: usize) -> rusqlite::Result<T> {
        Ok(T::column_result(self.0[index])?)
    }

    fn key(&self) -> rusqlite::Result<Key> {
        Ok(Key { size: self.get(1)?, modified: self.get(2)?, identity: (self.get(3)?, self.get(4)?) })
    }

    /// Returns a checkpoint of the file that the row is about.
    fn checkpoint(&self, offset_at: usize, fingerprint_at: usize) -> rusqlite::Result<Checkpoint> {
        let (device, inode) = self.key()?.identity;
        let offset: i64 = self.get(offset_at)?;
        let fingerprint: Option<i64> = self.get(fingerprint_at)?;
        Ok(Checkpoint::new(
            (device.cast_unsigned(), inode.cast_unsigned()),
            offset.try_into().unwrap_or(0),
            fingerprint.and_then(Fingerprint::from_number),
        ))
    }

    /// Fails if the first values, and one more, do not have the checksum that stands in the row.
    fn check(&self, first: usize, more: Option<usize>, checksum_at: usize) -> rusqlite::Result<()> {
        let mut checksum = Checksum::new();
        for index in (0..first).chain(more) {
            checksum.add(self.0[index]);
        }
        let kept: i64 = self.get(checksum_at)?;
        if checksum.finish() == kept {
            return Ok(());
        }
        Err(rusqlite::Error::IntegralValueOutOfRange(checksum_at, kept))
    }
}

/// Returns the first values of a row: which file it is about, and in which state.
fn key_values(candidate: &Candidate) -> [Value; KEY] {
    let Key { size, modified, identity: (device, inode) } = Key::of(&candidate.state);
    let path = Value::from(bytes(&candidate.path).to_vec());
    [path, size.into(), modified.into(), device.into(), inode.into()]
}

fn values_of_facts(facts: &Facts) -> [Value; FACTS_CHECKSUM - KEY] {
    let text = |text: &Option<String>| Value::from(text.clone());
    let time = |time: Option<Timestamp>| Value::from(time.map(Timestamp::as_millisecond));
    // A title that is the first prompt stands there already.
    let title = facts.title.as_ref();
    let title_text =
        title.filter(|title| title.source != TitleSource::Prompt).map(|title| title.text.clone());
    [
        (facts.standing as i64).into(),
        title_text.into(),
        title.map(|title| title.source as i64).into(),
        text(&facts.first_prompt),
        time(facts.created_at),
        time(facts.updated_at),
        text(&facts.cwds.first),
        text(&facts.git_branch),
        text(&facts.version),
        text(&facts.entrypoint),
        text(&facts.permission_mode),
        text(&facts.tag),
        text(&facts.forked_from),
        text(&facts.session),
        facts.messages.and_then(|messages| i64::try_from(messages).ok()).into(),
        fingerprint_value(&facts.checkpoint),
        text(&facts.cwds.elsewhere),
        text(&facts.cwds.moved_to),
    ]
}

fn fingerprint_value(checkpoint: &Checkpoint) -> Value {
    checkpoint.fingerprint().map(Fingerprint::number).into()
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn path_in<'a>(row: &'a Row<'_>) -> rusqlite::Result<Cow<'a, Path>> {
    let bytes = row.get_ref(0)?.as_blob()?;
    #[cfg(unix)]
    let path = {
        use std::os::unix::ffi::OsStrExt;
        Cow::Borrowed(Path::new(std::ffi::OsStr::from_bytes(bytes)))
    };
    #[cfg(not(unix))]
    let path = Cow::Owned(PathBuf::from(String::from_utf8_lossy(bytes).into_owned()));
    Ok(path)
}

fn facts(row: &Row<'_>) -> rusqlite::Result<Remembered<Box<Facts>>> {
    let values = Values::<{ COUNTED + 2 }>::of(row)?;
    values.check(FACTS_CHECKSUM, None, FACTS_CHECKSUM)?;
    if values.0[COUNTED] != ValueRef::Null {
        values.check(KEY, Some(COUNTED), COUNTED + 1)?;
    }
    let time = |index: usize| -> rusqlite::Result<Option<Timestamp>> {
        let ms: Option<i64> = values.get(index)?;
        Ok(ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()))
    };
    let number = |index: usize| -> rusqlite::Result<Option<u64>> {
        let number: Option<i64> = values.get(index)?;
        Ok(number.and_then(|number| number.try_into().ok()))
    };
    let first_prompt: Option<String> = values.get(8)?;
    let source: Option<i64> = values.get(7)?;
    let source = source.and_then(|source| TitleSource::ALL.into_iter().find(|one| *one as i64 == source));
    let title: Option<String> = match source {
        Some(TitleSource::Prompt) => first_prompt.clone(),
        _ => values.get(6)?,
    };
    let standing: i64 = values.get(5)?;
    let cwds = Cwds { first: values.get(11)?, elsewhere: values.get(21)?, moved_to: values.get(22)? };
    let counted = number(19)?;
    let facts = Facts {
        standing: Standing::ALL.into_iter().find(|one| *one as i64 == standing).unwrap_or_default(),
        title: title.zip(source).map(|(text, source)| Title { text, source }),
        first_prompt,
        created_at: time(9)?,
        updated_at: time(10)?,
        cwd: cwds.of_session(&path_in(row)?),
        cwds,
        git_branch: values.get(12)?,
        version: values.get(13)?,
        entrypoint: values.get(14)?,
        permission_mode: values.get(15)?,
        tag: values.get(16)?,
        forked_from: values.get(17)?,
        session: values.get(18)?,
        messages: counted.or(number(COUNTED)?),
        checkpoint: values.checkpoint(1, 20)?,
        is_whole: counted.is_some(),
    };
    Ok(Remembered { what: Box::new(facts), key: values.key()? })
}

fn contents(row: &Row<'_>) -> rusqlite::Result<Remembered<Contents>> {
    let values = Values::<{ CONTENTS_CHECKSUM + 1 }>::of(row)?;
    values.check(KEY, Some(KEY), MESSAGES_CHECKSUM)?;
    values.check(CONTENTS_CHECKSUM, None, CONTENTS_CHECKSUM)?;
    let contents = Contents {
        messages: values.get::<i64>(5)?.try_into().unwrap_or(0),
        tools: split(&values.get::<Vec<u8>>(6)?),
        files: split(&values.get::<Vec<u8>>(7)?),
        checkpoint: values.checkpoint(8, 9)?,
    };
    Ok(Remembered { what: contents, key: values.key()? })
}

/// Names one behind the other, each with a byte at its end that no path has.
fn joined(names: &BTreeSet<String>) -> Vec<u8> {
    let ended = |name: &String| [name.replace('\0', "").as_bytes(), b"\0"].concat();
    names.iter().flat_map(ended).collect()
}

fn split(joined: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(joined);
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_values_that_are_not_ours_are_made_anew() {
        for odd in [
            "DROP TABLE facts",
            "DROP TABLE facts; CREATE TABLE facts (path)",
            "UPDATE facts SET size = 'large'",
            "UPDATE facts SET tag = 'other'",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.jsonl");
            fs::write(&path, "").unwrap();
            let candidate = Candidate::of(&path).unwrap();
            let open = || Cache::open(folder.path()).unwrap();
            let keep = || open().keep_facts([(&candidate, &Facts::default())].into_iter());
            keep();
            assert_eq!(open().all().len(), 1);
            open().connection.execute_batch(odd).unwrap();
            assert_eq!(open().all().len(), 0, "{odd}");
            keep();
            assert_eq!(open().all().len(), 1, "{odd}");
        }
    }

    #[test]
    fn what_stood_beside_a_broken_cache_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let beside = ["-journal", "-wal", "-shm"].map(|suffix| format!("catalog.sqlite{suffix}"));
        for name in beside.iter().map(String::as_str).chain(["catalog.sqlite"]) {
            fs::write(folder.path().join(name), "not a database").unwrap();
        }
        assert!(Cache::open(folder.path()).is_some());
        let left: Vec<_> = beside.iter().filter(|name| folder.path().join(name).exists()).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_made_anew_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;

        for before in ["", "not a database", "PRAGMA user_version = 1"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("catalog.sqlite");
            if before.starts_with("PRAGMA") {
                Connection::open(&path).unwrap().execute_batch(before).unwrap();
            } else if !before.is_empty() {
                fs::write(&path, before).unwrap();
            }
            assert!(Cache::open(folder.path()).is_some(), "{before}");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{before}");
        }
    }
}
