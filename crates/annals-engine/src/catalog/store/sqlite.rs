//! The store in a file of SQLite, `catalog.sqlite`: one table for each kind of value, one row for each transcript.
//!
//! Every row has a checksum of its values, so that a damaged row is noticed. A missing row needs no check: lists take their
//! files from the folders, and a file without a row is read. A file that is damaged or of another version is removed.

mod checksum;
mod columns;
mod table;

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use annals_transcript::checkpoint::Checkpoint;
use annals_transcript::file_state::FileStamp;
use annals_transcript::write::fs::{Disk, RealDisk};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::{Store, StoredValue};
use crate::catalog::activity::Activity;
use crate::catalog::facts::Facts;
use crate::catalog::folder::FoundTranscript;
use crate::database::{is_broken, remove_file, version};
use crate::fold::{FileFold, Fold};

use columns::{Key, path_bytes};
use table::{RowReader, Table};

/// The version of the layout. A file of another version is removed.
const VERSION: i64 = 18;

const FACTS: Table<Facts> = Table { name: "facts", columns: columns::FACTS };
const ACTIVITY: Table<FileFold<Activity>> = Table { name: Activity::NAME, columns: columns::ACTIVITY };

/// A store in a file of SQLite.
#[derive(Debug)]
pub(super) struct SqliteStore {
    connection: Connection,
    path: PathBuf,
    /// Set after a failure: the file is broken, or another program keeps it busy.
    is_disabled: Cell<bool>,
    queries: Queries,
}

/// A row that was read.
type RowResult<T> = rusqlite::Result<(Key, StoredValue<T>)>;

/// Queries that are built once, since lists run some of them for every file.
#[derive(Debug)]
struct Queries {
    all_facts: String,
    facts: String,
    activity: String,
}

impl Queries {
    fn new() -> Self {
        // Facts from the ends of a file have no number of messages; its activity may have it.
        let all_facts = format!(
            "SELECT {}, activity.messages, activity.messages_checksum FROM facts LEFT JOIN activity \
             ON facts.messages IS NULL AND activity.path = facts.path AND activity.size = facts.size \
             AND activity.modified = facts.modified AND activity.inode = facts.inode \
             AND activity.device = facts.device AND activity.version = {}",
            FACTS.column_list(),
            Activity::VERSION
        );
        let facts = format!("{all_facts} WHERE facts.path = ?1");
        let activity = format!(
            "SELECT {} FROM activity WHERE path = ?1 AND version = {}",
            ACTIVITY.column_list(),
            Activity::VERSION
        );
        Self { all_facts, facts, activity }
    }
}

impl Store for SqliteStore {
    fn all_facts(&self) -> HashMap<OsString, StoredValue<Box<Facts>>> {
        let facts = self.attempt(|connection| {
            let mut statement = connection.prepare(&self.queries.all_facts)?;
            let rows = statement.query_map([], read_facts)?;
            rows.map(|row| row.map(|(key, facts)| (key.path.into_os_string(), facts))).collect()
        });
        facts.unwrap_or_default()
    }

    fn facts(&self, path: &Path) -> Option<StoredValue<Box<Facts>>> {
        self.one(&self.queries.facts, path, read_facts)
    }

    fn activity(&self, path: &Path) -> Option<StoredValue<FileFold<Activity>>> {
        self.one(&self.queries.activity, path, read_activity)
    }

    fn save_facts(&mut self, rows: &[(&FoundTranscript, &Facts)]) {
        self.save(&FACTS, rows);
    }

    fn save_activity(&mut self, rows: &[(&FoundTranscript, &FileFold<Activity>)]) {
        self.save(&ACTIVITY, rows);
    }

    fn remove(&mut self, paths: &[&Path]) {
        if paths.is_empty() {
            return;
        }
        self.change(|transaction| {
            for table in [FACTS.name, ACTIVITY.name] {
                let mut delete = transaction.prepare(&format!("DELETE FROM {table} WHERE path = ?1"))?;
                for path in paths {
                    delete.execute(params![path_bytes(path)])?;
                }
            }
            Ok(())
        });
    }

    fn forget(&mut self, paths: &[&Path]) {
        self.change(|transaction| {
            for table in [FACTS.name, ACTIVITY.name] {
                // Paths are bytes, and so are their beginnings.
                let sql = format!("DELETE FROM {table} WHERE path = ?1 OR substr(path, 1, length(?2)) = ?2");
                let mut delete = transaction.prepare(&sql)?;
                for path in paths {
                    let folder = path.join("");
                    delete.execute(params![path_bytes(path), path_bytes(&folder)])?;
                }
            }
            Ok(())
        });
        // Everything is derived from transcripts, so that the file may go if a row in it could not.
        if self.is_disabled.get() {
            remove_file(&self.path);
        }
    }
}

impl SqliteStore {
    /// Opens the store in a folder; one that is broken or of another version is rebuilt.
    pub(super) fn open(folder: &Path) -> Option<Self> {
        // Prompts and titles are for their owner alone, as the transcripts are.
        RealDisk.create_folder(folder).ok()?;
        let path = Self::path(folder);
        let opened = Self::at(&path);
        if opened.as_ref().is_err_and(is_broken) {
            remove_file(&path);
            return Self::at(&path).ok();
        }
        opened.ok()
    }

    /// Removes the database in a folder.
    pub(super) fn remove_from(folder: &Path) {
        remove_file(&Self::path(folder));
    }

    fn path(folder: &Path) -> PathBuf {
        folder.join("catalog.sqlite")
    }

    fn at(path: &Path) -> rusqlite::Result<Self> {
        // SQLite would create a file that others can read.
        drop(RealDisk.open_or_create(path).map_err(|_| rusqlite::Error::InvalidPath(path.to_owned()))?);
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(1))?;
        // Takes effect when the file is created: fewer and larger pages are written faster.
        connection.pragma_update(None, "page_size", 16 * 1024)?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        // What was removed or replaced is overwritten.
        connection.pragma_update(None, "secure_delete", true)?;
        if version(&connection)? == 0 {
            create_tables(&mut connection)?;
        }
        match version(&connection)? {
            VERSION => Ok(Self {
                connection,
                path: path.to_owned(),
                is_disabled: Cell::new(false),
                queries: Queries::new(),
            }),
            other => Err(rusqlite::Error::IntegralValueOutOfRange(0, other)),
        }
    }

    /// Runs work on the database. After a failure the store is disabled, and its file is removed if it is broken.
    fn attempt<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        if self.is_disabled.get() {
            return None;
        }
        work(&self.connection).inspect_err(|error| self.disable(error)).ok()
    }

    fn disable(&self, error: &rusqlite::Error) {
        self.is_disabled.set(true);
        if is_broken(error) {
            remove_file(&self.path);
        }
    }

    fn one<T>(&self, query: &str, path: &Path, read: fn(&Row<'_>) -> RowResult<T>) -> Option<StoredValue<T>> {
        let row = self.attempt(|connection| {
            let mut statement = connection.prepare_cached(query)?;
            statement.query_row(params![path_bytes(path)], read).optional()
        });
        row?.map(|(_, stored)| stored)
    }

    fn save<T: Default>(&mut self, table: &Table<T>, rows: &[(&FoundTranscript, &T)]) {
        if rows.is_empty() {
            return;
        }
        self.change(|transaction| {
            let mut statement = transaction.prepare(&table.insert_statement())?;
            for (transcript, value) in rows {
                let key = Key { path: transcript.path.clone(), stamp: FileStamp::of(&transcript.state) };
                statement.execute(rusqlite::params_from_iter(table.row(&key, value)))?;
            }
            Ok(())
        });
    }

    /// Changes the database, all or nothing.
    fn change(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) {
        if self.is_disabled.get() {
            return;
        }
        let changed = self.connection.transaction().and_then(|transaction| {
            work(&transaction)?;
            transaction.commit()
        });
        if let Err(error) = changed {
            self.disable(&error);
        }
    }
}

/// Creates the tables, unless another process is doing so at this moment.
fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let statements = [FACTS.create_statement(), ACTIVITY.create_statement()].join(";");
    transaction.execute_batch(&format!("{statements}; PRAGMA user_version = {VERSION}"))?;
    transaction.commit()
}

fn read_facts(row: &Row<'_>) -> RowResult<Box<Facts>> {
    let mut reader = RowReader::new(row);
    let key: Key = reader.read(columns::KEY)?;
    let mut activity_checksum = reader.checksum();
    activity_checksum.add(ValueRef::Integer(Activity::VERSION));
    let mut facts: Facts = reader.read(FACTS.columns)?;
    let messages = reader.read_joined(activity_checksum)?;
    facts.messages = facts.messages.or(messages.and_then(|messages| messages.try_into().ok()));
    facts.cwd = facts.cwds.of_session(&key.path);
    let (identity, length) = (key.stamp.identity(), key.stamp.length.cast_unsigned());
    facts.checkpoint = Checkpoint::new(identity, length, facts.checkpoint.fingerprint());
    let stored = StoredValue { value: Box::new(facts), stamp: key.stamp };
    Ok((key, stored))
}

fn read_activity(row: &Row<'_>) -> RowResult<FileFold<Activity>> {
    let mut reader = RowReader::new(row);
    let key: Key = reader.read(columns::KEY)?;
    let stored = StoredValue { value: reader.read(ACTIVITY.columns)?, stamp: key.stamp };
    Ok((key, stored))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use annals_transcript::checkpoint::Fingerprint;

    use super::*;
    use crate::catalog::facts::{Cwds, Title, TitleSource, TranscriptKind};
    use crate::catalog::store::Freshness;
    use crate::fold::FoldPosition;

    fn transcript(folder: &Path) -> FoundTranscript {
        let path = folder.join("a.jsonl");
        fs::write(&path, "").unwrap();
        FoundTranscript::of(&path).unwrap()
    }

    /// Facts with another value in every field.
    fn facts_of(transcript: &FoundTranscript, title: &str, source: TitleSource) -> Facts {
        let text = |text: &str| Some(text.to_owned());
        let cwds =
            Cwds { first: text("first cwd"), elsewhere: text("other cwd"), moved_to: text("moved to") };
        Facts {
            kind: TranscriptKind::SidechainOnly,
            title: Some(Title { text: title.to_owned(), source }),
            first_prompt: text("prompt"),
            created_at: Some(jiff::Timestamp::from_millisecond(1).unwrap()),
            updated_at: Some(jiff::Timestamp::from_millisecond(2).unwrap()),
            cwd: cwds.of_session(&transcript.path),
            git_branch: text("branch"),
            version: text("version"),
            entrypoint: text("entrypoint"),
            permission_mode: text("mode"),
            tag: text("tag"),
            forked_from: text("forked from"),
            session: text("session"),
            messages: Some(3),
            queued: Some(1),
            cwds,
            checkpoint: Checkpoint::new(
                transcript.state.identity,
                transcript.state.length,
                Fingerprint::from_number(4),
            ),
            is_partial: true,
            can_grow: true,
        }
    }

    #[test]
    fn every_fact_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let transcript = transcript(folder.path());
        let mut store = SqliteStore::open(folder.path()).unwrap();
        let titled = TitleSource::ALL.iter().map(|source| facts_of(&transcript, "title", *source));
        let prompt = facts_of(&transcript, "prompt", TitleSource::Prompt);
        for facts in titled.chain([prompt, Facts::default()]) {
            store.save_facts(&[(&transcript, &facts)]);
            let stored = store.facts(&transcript.path).unwrap();
            assert!(matches!(stored.freshness(&transcript.state), Freshness::Same));
            let all = store.all_facts();
            assert_eq!(all.len(), 1);
            let expected = Facts { checkpoint: stored.value.checkpoint, ..facts.clone() };
            assert_eq!(*stored.value, expected);
            assert_eq!(stored.value.checkpoint.fingerprint(), facts.checkpoint.fingerprint());
            assert_eq!(*all[transcript.path.as_os_str()].value, expected);
        }
        store.remove(&[&transcript.path]);
        assert!(store.facts(&transcript.path).is_none());
    }

    #[test]
    fn activity_comes_back_and_tells_the_number_of_messages() {
        let folder = tempfile::tempdir().unwrap();
        let transcript = transcript(folder.path());
        let mut store = SqliteStore::open(folder.path()).unwrap();
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let checkpoint = Checkpoint::new((1, 2), 3, Fingerprint::from_number(-4));
        let activity = FileFold {
            state: Activity {
                messages: 5,
                tools: names(&["Bash", "Read"]),
                files: names(&["/a b", "/天气"]),
                roots: names(&["r1", "r2"]),
            },
            progress: FoldPosition { checkpoint, lines: 6 },
        };
        let messages = |store: &SqliteStore| store.facts(&transcript.path).map(|facts| facts.value.messages);
        store.save_activity(&[(&transcript, &activity)]);
        store.save_facts(&[(&transcript, &Facts::default())]);
        assert_eq!(store.activity(&transcript.path).unwrap().value, activity);
        assert_eq!(messages(&store), Some(Some(5)));
        // What another version of the fold wrote is not used.
        store.connection.execute("UPDATE activity SET version = version + 1", []).unwrap();
        assert!(store.activity(&transcript.path).is_none());
        assert_eq!(messages(&store), Some(None));
        store.save_activity(&[(&transcript, &activity)]);
        assert_eq!(messages(&store), Some(Some(5)));
        // A number that was changed is noticed, wherever it is read.
        store.connection.execute("UPDATE activity SET messages = 7", []).unwrap();
        assert_eq!(messages(&store), None);
        assert!(SqliteStore::open(folder.path()).unwrap().activity(&transcript.path).is_none());
    }

    #[test]
    fn tables_and_values_that_are_not_ours_are_made_anew() {
        for odd in [
            "DROP TABLE facts",
            "DROP TABLE facts; CREATE TABLE facts (path)",
            "UPDATE facts SET size = 'large'",
            "UPDATE facts SET tag = 'other'",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let transcript = transcript(folder.path());
            let open = || SqliteStore::open(folder.path()).unwrap();
            let keep = || open().save_facts(&[(&transcript, &Facts::default())]);
            keep();
            assert_eq!(open().all_facts().len(), 1);
            open().connection.execute_batch(odd).unwrap();
            assert_eq!(open().all_facts().len(), 0, "{odd}");
            keep();
            assert_eq!(open().all_facts().len(), 1, "{odd}");
        }
    }

    #[test]
    fn what_stood_beside_a_broken_cache_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let beside = ["-journal", "-wal", "-shm"].map(|suffix| format!("catalog.sqlite{suffix}"));
        for name in beside.iter().map(String::as_str).chain(["catalog.sqlite"]) {
            fs::write(folder.path().join(name), "not a database").unwrap();
        }
        assert!(SqliteStore::open(folder.path()).is_some());
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
            assert!(SqliteStore::open(folder.path()).is_some(), "{before}");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{before}");
        }
    }
}
