//! What is known of transcripts: remembered where they have not changed, read where they have.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::activity::Activity;
use super::facts::Facts;
use super::folder::Candidate;
use super::store::{self, Freshness, Store, Stored};
use crate::fold::{self, FileFold};

/// What the catalogue remembers: all of it for a whole list, piece by piece for a short one.
pub(super) struct Memory {
    store: Option<Box<dyn Store>>,
    all: Option<HashMap<OsString, Stored<Box<Facts>>>>,
}

/// Something about a transcript, and whether the catalogue has yet to learn it.
struct Known<T> {
    what: T,
    is_new: bool,
}

impl Memory {
    pub(super) fn open(folder: &Path, whole_list: bool) -> Self {
        let store = store::open(folder);
        let all = store.as_ref().filter(|_| whole_list).map(|store| store.all_facts());
        Self { store, all }
    }

    /// Returns what transcripts are.
    pub(super) fn facts(&mut self, candidates: &[Candidate]) -> Vec<io::Result<Box<Facts>>> {
        let remembered = candidates.iter().map(|candidate| match &mut self.all {
            Some(all) => all.remove(candidate.path.as_os_str()),
            None => self.store.as_ref()?.facts(&candidate.path),
        });
        let known = know(candidates, remembered.collect(), |candidate, older| {
            let facts = match older {
                _ if candidate.is_agent() => Facts::of_ends(candidate),
                Some(facts) => facts.read_again(candidate),
                None => Facts::read(candidate),
            };
            facts.map(Box::new)
        });
        if let Some(store) = &mut self.store {
            let new = new(candidates, &known).map(|(candidate, facts)| (candidate, &**facts));
            store.save_facts(&new.collect::<Vec<_>>());
        }
        known.into_iter().map(|known| Ok(known?.what)).collect()
    }

    /// Returns what was done in transcripts: nothing in one that cannot be read.
    pub(super) fn activities(&mut self, candidates: &[Candidate]) -> Vec<Activity> {
        let remembered =
            candidates.iter().map(|candidate| self.store.as_ref()?.activity(&candidate.path)).collect();
        let known = know(candidates, remembered, read_activity);
        if let Some(store) = &mut self.store {
            store.save_activity(&new(candidates, &known).collect::<Vec<_>>());
        }
        known.into_iter().map(|known| known.map(|known| known.what.state).unwrap_or_default()).collect()
    }

    /// Forgets files that were not come across and are no longer there.
    pub(super) fn forget_what_is_gone(self) {
        if let (Some(mut store), Some(left)) = (self.store, self.all) {
            let gone = left.keys().map(Path::new).filter(|path| !path.exists());
            store.remove(&gone.collect::<Vec<_>>());
        }
    }
}

fn read_activity(candidate: &Candidate, older: Option<FileFold<Activity>>) -> io::Result<FileFold<Activity>> {
    let mut activity = older.unwrap_or_default();
    fold::update(&candidate.path, &mut [&mut activity])?;
    Ok(activity)
}

/// Finds out about transcripts on all cores. `read` gets what was true of a file before it grew.
fn know<T: Send>(
    candidates: &[Candidate],
    remembered: Vec<Option<Stored<T>>>,
    read: impl Fn(&Candidate, Option<T>) -> io::Result<T> + Sync,
) -> Vec<io::Result<Known<T>>> {
    let known = candidates.par_iter().zip(remembered).map(|(candidate, remembered)| {
        let freshness = remembered.as_ref().map(|remembered| remembered.freshness(&candidate.state));
        let older = match (remembered, freshness) {
            (Some(remembered), Some(Freshness::Same)) => {
                return Ok(Known { what: remembered.value, is_new: false });
            }
            (Some(remembered), Some(Freshness::Grown)) => Some(remembered.value),
            _ => None,
        };
        Ok(Known { what: read(candidate, older)?, is_new: true })
    });
    known.collect()
}

/// Returns what the catalogue has yet to learn.
fn new<'a, T>(
    candidates: &'a [Candidate],
    known: &'a [io::Result<Known<T>>],
) -> impl Iterator<Item = (&'a Candidate, &'a T)> {
    let new = |known: &'a io::Result<Known<T>>| Some(&known.as_ref().ok().filter(|known| known.is_new)?.what);
    candidates.iter().zip(known).filter_map(move |(candidate, known)| Some((candidate, new(known)?)))
}
