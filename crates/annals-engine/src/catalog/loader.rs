//! Facts and activity of transcripts: loaded from the store where a file is unchanged, read from the file where it is not.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

#[cfg(feature = "search")]
use annals_transcript::file_state::FileState;
use annals_transcript::lite::ScanBound;
use rayon::prelude::*;

use super::activity::Activity;
use super::facts::Facts;
use super::folder::FoundTranscript;
use super::store::{self, Freshness, Store, StoredValue};
use crate::fold::{self, FileFold};

/// Loads what is stored about transcripts, reads the rest, and saves what was read.
pub(super) struct Loader {
    store: Option<Box<dyn Store>>,
    /// All facts of the store, for a list of all sessions; those of a file are taken out when they are used.
    all_facts: Option<HashMap<OsString, StoredValue<Box<Facts>>>>,
}

/// A value of a transcript.
struct Lookup<T> {
    value: T,
    /// Whether it was read from the file, and is to be saved.
    is_new: bool,
}

impl Loader {
    /// Opens the store in a folder. For a list of all sessions, all facts are loaded at once.
    pub(super) fn open(folder: &Path, is_whole_list: bool) -> Self {
        let store = store::open(folder);
        let all_facts = store.as_ref().filter(|_| is_whole_list).map(|store| store.all_facts());
        Self { store, all_facts }
    }

    /// Returns the facts of transcripts.
    pub(super) fn facts(&mut self, transcripts: &[FoundTranscript]) -> Vec<io::Result<Box<Facts>>> {
        let stored = transcripts.iter().map(|transcript| match &mut self.all_facts {
            Some(all_facts) => all_facts.remove(transcript.path.as_os_str()),
            None => self.store.as_ref()?.facts(&transcript.path),
        });
        let lookups = look_up(transcripts, stored.collect(), read_facts);
        if let Some(store) = &mut self.store {
            let new = to_save(transcripts, &lookups).map(|(transcript, facts)| (transcript, &**facts));
            store.save_facts(&new.collect::<Vec<_>>());
        }
        lookups.into_iter().map(|lookup| Ok(lookup?.value)).collect()
    }

    /// Returns what was done in transcripts: nothing in one that cannot be read.
    pub(super) fn activities(&mut self, transcripts: &[FoundTranscript]) -> Vec<Activity> {
        let stored = transcripts.iter().map(|transcript| self.store.as_ref()?.activity(&transcript.path));
        let lookups = look_up(transcripts, stored.collect(), read_activity);
        if let Some(store) = &mut self.store {
            store.save_activity(&to_save(transcripts, &lookups).collect::<Vec<_>>());
        }
        lookups
            .into_iter()
            .map(|lookup| lookup.map(|lookup| lookup.value.state).unwrap_or_default())
            .collect()
    }

    /// Removes from the store what the list of all sessions did not use, if the files no longer exist.
    pub(super) fn remove_missing(self) {
        if let (Some(mut store), Some(unused)) = (self.store, self.all_facts) {
            let missing = unused.keys().map(Path::new).filter(|path| !path.exists());
            store.remove(&missing.collect::<Vec<_>>());
        }
    }
}

/// Removes what the store in a folder has of files, and of those in folders with these paths, with its text. A store that
/// cannot be opened, such as one that another process keeps busy, is removed: it is only a cache.
pub(crate) fn forget(folder: &Path, paths: &[&Path]) {
    match store::open(folder) {
        Some(mut store) => store.forget(paths),
        None => store::remove(folder),
    }
}

/// What was done in transcripts, for a pass over them that feeds other folds as well.
#[cfg(feature = "search")]
pub(crate) struct Activities {
    store: Option<Box<dyn Store>>,
    /// What is not saved yet.
    new: Vec<(FoundTranscript, FileFold<Activity>)>,
}

#[cfg(feature = "search")]
impl Activities {
    /// Opens the store in a folder.
    pub(crate) fn open(folder: &Path) -> Self {
        Self { store: store::open(folder), new: Vec::new() }
    }

    /// Returns the fold of a file, as far as it was read before.
    pub(crate) fn load(&self, path: &Path) -> FileFold<Activity> {
        let stored = self.store.as_ref().and_then(|store| store.activity(path));
        stored.map(|stored| stored.value).unwrap_or_default()
    }

    /// Takes the fold of a file that was read to its end.
    pub(crate) fn add(&mut self, path: &Path, state: FileState, activity: FileFold<Activity>) {
        let transcript = FoundTranscript { path: path.to_owned(), state, has_folder: false, is_link: false };
        self.new.push((transcript, activity));
    }

    /// Saves what was taken.
    pub(crate) fn save(&mut self) {
        let new = std::mem::take(&mut self.new);
        if let Some(store) = &mut self.store {
            store.save_activity(&new.iter().map(|(file, activity)| (file, activity)).collect::<Vec<_>>());
        }
    }
}

fn read_facts(transcript: &FoundTranscript, older: Option<Box<Facts>>) -> io::Result<Box<Facts>> {
    let facts = match older {
        _ if transcript.is_agent() => Facts::of_ends(transcript),
        Some(facts) => facts.read_again(transcript, ScanBound::default()),
        None => Facts::read(transcript, ScanBound::default()),
    };
    facts.map(Box::new)
}

fn read_activity(
    transcript: &FoundTranscript,
    older: Option<FileFold<Activity>>,
) -> io::Result<FileFold<Activity>> {
    let mut activity = older.unwrap_or_default();
    fold::update(&transcript.path, &mut [&mut activity])?;
    Ok(activity)
}

/// Returns values of transcripts: the stored one of a file that is unchanged, or else what `read` returns. It gets the stored
/// value of a file that has grown. Files are read on all cores.
fn look_up<T: Send>(
    transcripts: &[FoundTranscript],
    stored: Vec<Option<StoredValue<T>>>,
    read: impl Fn(&FoundTranscript, Option<T>) -> io::Result<T> + Sync,
) -> Vec<io::Result<Lookup<T>>> {
    let lookups = transcripts.par_iter().zip(stored).map(|(transcript, stored)| {
        let freshness = stored.as_ref().map(|stored| stored.freshness(&transcript.state));
        let older = match (stored, freshness) {
            (Some(stored), Some(Freshness::Same)) => {
                return Ok(Lookup { value: stored.value, is_new: false });
            }
            (Some(stored), Some(Freshness::Grown)) => Some(stored.value),
            _ => None,
        };
        Ok(Lookup { value: read(transcript, older)?, is_new: true })
    });
    lookups.collect()
}

/// Returns the values that were read.
fn to_save<'a, T>(
    transcripts: &'a [FoundTranscript],
    lookups: &'a [io::Result<Lookup<T>>],
) -> impl Iterator<Item = (&'a FoundTranscript, &'a T)> {
    transcripts.iter().zip(lookups).filter_map(|(transcript, lookup)| match lookup {
        Ok(Lookup { value, is_new: true }) => Some((transcript, value)),
        _ => None,
    })
}
