//! Brings what is counted up to date: only what was appended since the last time is read.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::file_state::FileState;
use annals_transcript::paths::ConfigFolder;
use annals_usage::{CountedFile, DecodeError, FileCount, Ledger};
use rayon::prelude::*;

use super::Usage;
use super::read::{self, FileProgress};
use super::store::{NewFile, Store, StoreError, StoredFile};
use super::walk::{self, DiskTranscript, Transcripts};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::fold::FoldPosition;

/// Counts all transcripts of the config folders, and those that were there before. If it is to stay inside of the folders, no link that
/// leads out of them is followed.
pub(crate) fn count(engine: &Engine, is_inside: bool) -> Usage {
    let path = engine.home().usage_store();
    let (transcripts, opened) = rayon::join(|| walk::transcripts(engine, is_inside), || open(&path));
    let Transcripts { found, outside, errors } = transcripts;
    let mut usage = Usage { errors, ..Usage::default() };
    let failed = |error: &StoreError| store_error(&path, error);
    let (mut store, stored) = match opened {
        Ok((store, stored)) => (Some(store), stored),
        Err(error) => {
            usage.store_error = Some(failed(&error));
            (None, Vec::new())
        }
    };
    let mut work = tasks(engine, found, stored, &outside);
    // The largest parts first, so that no core is left with one of them at the end.
    work.sort_by_key(|work| std::cmp::Reverse(work.bytes()));
    let done: Vec<_> = work.into_par_iter().map(FileTask::run).collect();
    let (mut counted, mut new) = (Vec::with_capacity(done.len()), Vec::new());
    for done in done {
        usage.errors.extend(done.error);
        new.extend(done.new);
        counted.extend(done.counted);
    }
    let save = || {
        store
            .as_mut()
            .filter(|_| !new.is_empty())
            .map_or(Ok(()), |store| store.save(new.iter().map(New::row)))
    };
    let (ledger, saved) = rayon::join(|| Ledger::build(counted), save);
    usage.ledger = ledger;
    usage.store_error = usage.store_error.or_else(|| saved.err().map(|error| failed(&error)));
    usage
}

/// Removes what was counted in transcripts that are gone, and in earlier versions of those that exist.
pub(crate) fn forget(engine: &Engine) -> Result<usize, Error> {
    let path = engine.home().usage_store();
    if !path.exists() {
        return Ok(0);
    }
    let failed = |error: StoreError| store_error(&path, &error);
    let (mut store, stored) = open(&path).map_err(failed)?;
    let stored: Vec<_> = stored.into_iter().filter(|file| is_inside(engine, &file.path)).collect();
    let (gone, present): (Vec<_>, Vec<_>) = stored.iter().partition(|file| is_gone(&file.path));
    let changed: Vec<(&StoredFile, FileCount)> = present
        .into_iter()
        .filter_map(|file| {
            let mut count = file.count().ok()?;
            (count.forget_left() > 0).then_some((file, count))
        })
        .collect();
    store.forget(&gone, &changed).map_err(failed)
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
struct FileResult {
    counted: Option<CountedFile>,
    new: Option<New>,
    error: Option<Error>,
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

fn tasks(
    engine: &Engine,
    found: Vec<DiskTranscript>,
    stored: Vec<StoredFile>,
    outside: &HashSet<PathBuf>,
) -> Vec<FileTask> {
    let is_wanted = |file: &StoredFile| is_inside(engine, &file.path) && !outside.contains(&file.path);
    let stored = stored.into_iter().filter(is_wanted);
    let mut stored: HashMap<_, _> = stored.map(|file| (file.path.clone(), file)).collect();
    let mut work = Vec::with_capacity(found.len());
    for found in found {
        work.push(match stored.remove(&found.path) {
            Some(file) if file.is_current(&found.state) => FileTask::Stored { file, is_gone: false },
            stored => FileTask::Read { found, stored },
        });
    }
    let mut gone: Vec<_> = stored.into_values().collect();
    gone.sort_by(|one, other| one.path.cmp(&other.path));
    work.extend(gone.into_iter().map(|file| FileTask::Stored { is_gone: is_gone(&file.path), file }));
    work
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
    let StoredFile { path, session, agent, .. } = file;
    CountedFile { path, session, agent, is_gone, count }
}

/// Returns what counts of a transcript that has not changed, or is gone.
fn counted(file: StoredFile, is_gone: bool) -> FileResult {
    match file.count() {
        Ok(count) => FileResult { counted: Some(with_count(file, count, is_gone)), new: None, error: None },
        // It is counted again from its start.
        Err(_) if !is_gone => read(file.path.clone(), file.session.clone(), file.agent.clone(), Some(file)),
        Err(error) => {
            FileResult { counted: None, new: None, error: Some(unreadable_count(&file.path, error)) }
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
            let counted = CountedFile { path, session, agent, is_gone: false, count };
            // What a newer version of annals has stored is left as it is.
            let new = Some(new).filter(|_| undecodable != Some(DecodeError::Newer));
            FileResult { counted: Some(counted), new, error }
        }
        Err(error) => {
            let error = Some(Error::read(&path, error));
            let before = stored.and_then(|stored| {
                let count = stored.count().ok()?;
                Some(with_count(stored, count, false))
            });
            FileResult { counted: before, new: None, error }
        }
    }
}
