//! Brings what is counted up to date: only what was appended since the last time is read.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::file_state::{FileStamp, FileState};
use annals_transcript::paths::ConfigFolder;
use annals_usage::{CountedFile, DecodeError, FileCount, Ledger, LedgerFile};
use foldhash::fast::FixedState;
use rayon::prelude::*;

use super::Usage;
use super::cache::{self, CachedLedger};
use super::read::{self, FileProgress};
use super::store::{NewFile, Revision, Store, StoreError, StoredFile};
use super::walk::{self, DiskTranscript, Transcripts};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::fold::FoldPosition;

/// Counts all transcripts of the config folders, and those that were there before. If it is to stay inside of the folders, no link that
/// leads out of them is followed.
pub(crate) fn count(engine: &Engine, is_inside: bool) -> Usage {
    count_from(engine, is_inside, Known::read)
        // What was merged before does not fit the store.
        .or_else(|_| count_from(engine, is_inside, Known::read_store))
        .unwrap_or_else(|error| failed_count(engine, &error))
}

fn failed_count(engine: &Engine, error: &StoreError) -> Usage {
    Usage { store_error: Some(store_error(&engine.home().usage_store(), error)), ..Usage::default() }
}

fn count_from(
    engine: &Engine,
    is_inside: bool,
    read: fn(&Engine) -> Result<Known, StoreError>,
) -> Result<Usage, StoreError> {
    let (transcripts, known) = rayon::join(|| walk::transcripts(engine, is_inside), || read(engine));
    let Transcripts { found, outside, errors } = transcripts;
    // Later counts would miss what was left out: it is not among what was stored since then.
    let is_whole = outside.is_empty();
    let mut usage = Usage { errors, ..Usage::default() };
    let mut known = known.unwrap_or_else(|error| {
        usage.store_error = failed_count(engine, &error).store_error;
        Known::default()
    });
    let Plan { mut tasks, outdated } = Plan::new(engine, &mut known, found, &outside)?;
    // The largest parts first, so that no core is left with one of them at the end.
    tasks.sort_by_key(|task| std::cmp::Reverse(task.bytes()));
    let done: Vec<_> = tasks.into_par_iter().map(FileTask::run).collect();
    let (mut counted, mut new) = (Vec::with_capacity(done.len()), Vec::new());
    let is_store_readable = done.iter().all(|done| !done.is_unreadable);
    for done in done {
        usage.errors.extend(done.error);
        new.extend(done.new);
        counted.extend(done.counted);
    }
    let affected = known.ledger.affected(&outdated, &counted);
    counted.extend(known.stored_counts(&affected, &outdated)?);
    known.end_reading()?;
    let merged = counted.iter().map(|file| file.count.replies().len()).sum();
    let Known { mut store, revision, mut ledger, is_cached, .. } = known;
    let ((), saved) =
        rayon::join(|| ledger.update(&affected, counted), || save(store.as_mut(), revision, &new));
    match saved {
        Ok(Some(revision))
            if is_store_readable && is_whole && is_worth_caching(is_cached, merged, ledger.len()) =>
        {
            write_cache(engine, &ledger, store.as_ref(), revision);
        }
        Ok(_) => {}
        Err(error) => usage.store_error = failed_count(engine, &error).store_error,
    }
    usage.ledger = ledger;
    Ok(usage)
}

/// Stores what was counted. Returns the revision that has just that; `None` if there is no store, or another process has changed it.
fn save(store: Option<&mut Store>, read: Revision, new: &[New]) -> Result<Option<Revision>, StoreError> {
    let Some(store) = store else { return Ok(None) };
    if new.is_empty() {
        return Ok(Some(read));
    }
    let (before, after) = store.save(new.iter().map(New::row))?;
    Ok((before == read).then_some(after))
}

/// Writes the cache, and removes it again if rows were forgotten meanwhile: it may have names that only those had. Without the cache, the next
/// count takes more time, so that a failure is no error.
fn write_cache(engine: &Engine, ledger: &Ledger, store: Option<&Store>, revision: Revision) {
    let _ = cache::write(engine, ledger, revision);
    let now = store.and_then(|store| store.revision().ok());
    if now.is_none_or(|now| now.generation != revision.generation) {
        let _ = cache::remove(engine);
    }
}

/// Returns whether the cache is to be written, when so many of all replies were merged that it does not have: to merge some of them each
/// time takes less time than to write all.
fn is_worth_caching(is_cached: bool, merged: usize, all: usize) -> bool {
    !is_cached || merged > 1000 + all / 32
}

/// What is known before a transcript is read.
#[derive(Default)]
struct Known {
    store: Option<Store>,
    revision: Revision,
    /// What was merged before, of the same or an earlier revision.
    ledger: Ledger,
    is_cached: bool,
    /// What was stored since then.
    newer: Vec<StoredFile>,
}

impl Known {
    fn read(engine: &Engine) -> Result<Self, StoreError> {
        let path = engine.home().usage_store();
        let (cached, store) = rayon::join(|| cache::read(engine), || Store::open(&path));
        Self::of(store?, cached)
    }

    fn read_store(engine: &Engine) -> Result<Self, StoreError> {
        Self::of(Store::open(&engine.home().usage_store())?, None)
    }

    fn of(store: Store, cached: Option<CachedLedger>) -> Result<Self, StoreError> {
        let revision = store.begin_reading()?;
        let cached = cached.filter(|cached| {
            cached.revision.generation == revision.generation && cached.revision.number <= revision.number
        });
        let is_cached = cached.is_some();
        let (ledger, since) =
            cached.map_or_else(|| (Ledger::default(), -1), |cached| (cached.ledger, cached.revision.number));
        let newer = store.files_since(since)?;
        Ok(Self { store: Some(store), revision, ledger, is_cached, newer })
    }

    /// Returns what is stored of a file that is not among the newer ones.
    fn stored(&self, path: &Path) -> Result<Option<StoredFile>, StoreError> {
        match &self.store {
            Some(store) if self.is_cached => store.file(path),
            _ => Ok(None),
        }
    }

    /// Returns what is stored of the files that have not changed, but have to be merged again.
    fn stored_counts(&self, affected: &[u32], outdated: &[u32]) -> Result<Vec<CountedFile>, StoreError> {
        let outdated: HashSet<_> = outdated.iter().collect();
        let unchanged = affected.iter().filter(|file| !outdated.contains(file));
        unchanged
            .map(|file| {
                let file = &self.ledger.files[*file as usize];
                let stored = self.stored(&file.path)?.ok_or(StoreError::Changed)?;
                let count = stored.count().map_err(|_| StoreError::Changed)?;
                Ok(with_count(stored, count, file.is_gone))
            })
            .collect()
    }

    fn end_reading(&self) -> Result<(), StoreError> {
        self.store.as_ref().map_or(Ok(()), Store::end_reading)
    }
}

/// Removes what was counted in transcripts that are gone, and in earlier versions of those that exist.
pub(crate) fn forget(engine: &Engine) -> Result<usize, Error> {
    let path = engine.home().usage_store();
    if !path.exists() {
        return Ok(0);
    }
    // It has names of models and branches that may be forgotten.
    cache::remove(engine)?;
    let forgotten = forget_stored(engine, &path).map_err(|error| store_error(&path, &error))?;
    // Another process may have written it before the store has changed. One that writes it later sees that, see `write_cache`.
    cache::remove(engine)?;
    Ok(forgotten)
}

fn forget_stored(engine: &Engine, path: &Path) -> Result<usize, StoreError> {
    let (mut store, stored) = open(path)?;
    let stored: Vec<_> = stored.into_iter().filter(|file| is_inside(engine, &file.path)).collect();
    let (gone, present): (Vec<_>, Vec<_>) = stored.iter().partition(|file| is_gone(&file.path));
    let changed: Vec<(&StoredFile, FileCount)> = present
        .into_iter()
        .filter_map(|file| {
            let mut count = file.count().ok()?;
            (count.forget_left() > 0).then_some((file, count))
        })
        .collect();
    store.forget(&gone, &changed)
}

fn open(path: &Path) -> Result<(Store, Vec<StoredFile>), StoreError> {
    let store = Store::open(path)?;
    let files = store.files()?;
    Ok((store, files))
}

fn store_error(path: &Path, error: &StoreError) -> Error {
    Error::new(ErrorKind::UsageStore { path: path.to_owned(), reason: error.to_string() })
}

/// Returns whether a path is in a config folder of this engine: the store has files of others, too.
fn is_inside(engine: &Engine, path: &Path) -> bool {
    engine.roots().named().any(|root| path.starts_with(ConfigFolder::new(root).projects()))
}

fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// What is to be done for a transcript.
enum FileTask {
    /// It has not changed, or it is gone: what is stored of it counts.
    Stored { file: StoredFile, is_gone: bool },
    /// It is new or has grown.
    Read { found: DiskTranscript, stored: Option<StoredFile> },
}

/// What was done for a transcript.
#[derive(Default)]
struct FileResult {
    counted: Option<CountedFile>,
    new: Option<New>,
    error: Option<Error>,
    /// Whether what is stored of it cannot be read.
    is_unreadable: bool,
}

/// What is to be stored of a transcript.
struct New {
    path: PathBuf,
    session: Option<String>,
    agent: Option<String>,
    state: FileState,
    position: FoldPosition,
    counted: Vec<u8>,
    /// What was stored of it before.
    before: Option<Vec<u8>>,
}

impl New {
    fn row(&self) -> NewFile<'_> {
        NewFile {
            path: &self.path,
            session: self.session.as_deref(),
            agent: self.agent.as_deref(),
            state: &self.state,
            position: self.position,
            counted: &self.counted,
            before: self.before.as_deref(),
        }
    }
}

/// What is to be done, and which files of the ledger do not count any more as they were.
#[derive(Default)]
struct Plan {
    tasks: Vec<FileTask>,
    outdated: Vec<u32>,
}

impl Plan {
    fn new(
        engine: &Engine,
        known: &mut Known,
        found: Vec<DiskTranscript>,
        outside: &HashSet<PathBuf>,
    ) -> Result<Self, StoreError> {
        let newer = std::mem::take(&mut known.newer).into_iter();
        let mut newer: ByPath<OsString, StoredFile> =
            newer.map(|file| (file.path.clone().into_os_string(), file)).collect();
        let files = (0_u32..).zip(&known.ledger.files);
        let mut merged: ByPath<&OsStr, u32> = files.map(|(at, file)| (file.path.as_os_str(), at)).collect();
        let mut plan = Self::default();
        for found in found {
            let path = found.path.as_os_str();
            let (at, stored) = (merged.remove(path), newer.remove(path));
            if stored.is_none() && at.is_some_and(|at| is_current(&known.ledger.files[at as usize], &found)) {
                continue;
            }
            plan.outdated.extend(at);
            let stored = stored.map_or_else(|| known.stored(&found.path), |stored| Ok(Some(stored)))?;
            plan.tasks.push(match stored {
                Some(file) if file.is_current(&found.state) => FileTask::Stored { file, is_gone: false },
                stored => FileTask::Read { found, stored },
            });
        }
        // All others are not found any more.
        let is_wanted = |path: &Path| is_inside(engine, path) && !outside.contains(path);
        for at in merged.into_values() {
            let file = &known.ledger.files[at as usize];
            let stored = newer.remove(file.path.as_os_str());
            let is_gone = is_gone(&file.path);
            if !is_wanted(&file.path) {
                plan.outdated.push(at);
            } else if stored.is_some() || is_gone != file.is_gone {
                plan.outdated.push(at);
                let stored = stored.map_or_else(|| known.stored(&file.path), |stored| Ok(Some(stored)))?;
                plan.tasks.extend(stored.map(|file| FileTask::Stored { file, is_gone }));
            }
        }
        let newer = newer.into_values().filter(|file| is_wanted(&file.path));
        plan.tasks.extend(newer.map(|file| FileTask::Stored { is_gone: is_gone(&file.path), file }));
        Ok(plan)
    }
}

/// A map by paths as they are spelled: to compare them by their components takes more time.
type ByPath<K, V> = HashMap<K, V, FixedState>;

/// Returns whether a transcript has not changed since it was merged.
fn is_current(file: &LedgerFile, found: &DiskTranscript) -> bool {
    !file.is_gone && file.state == state_of(FileStamp::of(&found.state))
}

fn state_of(stamp: FileStamp) -> [i64; 4] {
    let FileStamp { length, modified, device, inode } = stamp;
    [length, modified, device, inode]
}

impl FileTask {
    /// Returns how much there is to read.
    fn bytes(&self) -> u64 {
        match self {
            FileTask::Stored { .. } => 0,
            FileTask::Read { found, .. } => found.state.length,
        }
    }

    fn run(self) -> FileResult {
        match self {
            FileTask::Stored { file, is_gone } => counted(file, is_gone),
            FileTask::Read { found, stored } => read(found.path, found.session, found.agent, stored),
        }
    }
}

/// Says that what is stored of a transcript cannot be read. Responses that only the store had are missing then.
fn unreadable_count(transcript: &Path, reason: DecodeError) -> Error {
    Error::new(ErrorKind::UsageStore { path: transcript.to_owned(), reason: reason.to_string() })
}

fn with_count(file: StoredFile, count: FileCount, is_gone: bool) -> CountedFile {
    let StoredFile { path, session, agent, stamp, .. } = file;
    CountedFile { path, session, agent, is_gone, state: state_of(stamp), count }
}

/// Returns what counts of a transcript that has not changed, or is gone.
fn counted(file: StoredFile, is_gone: bool) -> FileResult {
    match file.count() {
        Ok(count) => FileResult { counted: Some(with_count(file, count, is_gone)), ..FileResult::default() },
        // It is counted again from its start.
        Err(_) if !is_gone => read(file.path.clone(), file.session.clone(), file.agent.clone(), Some(file)),
        Err(error) => {
            let error = Some(unreadable_count(&file.path, error));
            FileResult { error, is_unreadable: true, ..FileResult::default() }
        }
    }
}

/// Reads what is new in a transcript. If it cannot be read, what is stored of it counts.
fn read(
    path: PathBuf,
    session: Option<String>,
    agent: Option<String>,
    stored: Option<StoredFile>,
) -> FileResult {
    let earlier = stored.as_ref().map_or_else(FileProgress::default, StoredFile::progress);
    let undecodable = stored.as_ref().and_then(|stored| stored.count().err());
    let error = undecodable.map(|reason| unreadable_count(&path, reason));
    match read::update(&path, session.as_deref(), earlier) {
        Ok((FileProgress { count, position }, state)) => {
            let new = New {
                path: path.clone(),
                session: session.clone(),
                agent: agent.clone(),
                state,
                position,
                counted: count.encode(),
                before: stored.map(|stored| stored.bytes().to_vec()),
            };
            let stamp = FileStamp::of(&state);
            let counted = CountedFile { path, session, agent, is_gone: false, state: state_of(stamp), count };
            // What a newer version of annals has stored is left as it is.
            let new = Some(new).filter(|_| undecodable != Some(DecodeError::Newer));
            FileResult { counted: Some(counted), new, error, is_unreadable: undecodable.is_some() }
        }
        Err(error) => {
            let error = Some(Error::read(&path, error));
            let before = stored.and_then(|stored| {
                let count = stored.count().ok()?;
                Some(with_count(stored, count, false))
            });
            FileResult { counted: before, error, is_unreadable: undecodable.is_some(), new: None }
        }
    }
}
