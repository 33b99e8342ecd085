//! What is known of transcripts: remembered where they have not changed, read where they have.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::cache::{Cache, Freshness, Remembered};
use super::contents::Contents;
use super::facts::Facts;
use super::folder::Candidate;

/// What the catalogue remembers: all of it for a whole list, piece by piece for a short one.
pub(super) struct Memory {
    cache: Option<Cache>,
    all: Option<HashMap<OsString, Remembered<Box<Facts>>>>,
}

/// Something about a transcript, and whether the catalogue has yet to learn it.
struct Known<T> {
    what: T,
    is_new: bool,
}

impl Memory {
    pub(super) fn open(folder: &Path, whole_list: bool) -> Self {
        let cache = Cache::open(folder);
        let all = cache.as_ref().filter(|_| whole_list).map(Cache::all);
        Self { cache, all }
    }

    /// Returns what transcripts are.
    pub(super) fn facts(&mut self, candidates: &[Candidate]) -> Vec<io::Result<Box<Facts>>> {
        let remembered = candidates.iter().map(|candidate| match &mut self.all {
            Some(all) => all.remove(candidate.path.as_os_str()),
            None => self.cache.as_ref()?.facts(&candidate.path),
        });
        let known = know(candidates, remembered.collect(), |candidate, older| {
            let facts = match older {
                _ if candidate.is_agent() => Facts::of_ends(candidate),
                Some(facts) => facts.read_again(candidate),
                None => Facts::read(candidate),
            };
            facts.map(Box::new)
        });
        if let Some(cache) = &mut self.cache {
            cache.keep_facts(new(candidates, &known).map(|(candidate, facts)| (candidate, &**facts)));
        }
        known.into_iter().map(|known| Ok(known?.what)).collect()
    }

    /// Returns what was done in transcripts. One that cannot be read tells nothing.
    pub(super) fn contents(&mut self, candidates: &[Candidate]) -> Vec<Contents> {
        let remembered =
            candidates.iter().map(|candidate| self.cache.as_ref()?.contents(&candidate.path)).collect();
        let known = know(candidates, remembered, |candidate, older| {
            older.unwrap_or_default().read_on(&candidate.path)
        });
        if let Some(cache) = &mut self.cache {
            cache.keep_contents(new(candidates, &known));
        }
        known.into_iter().map(|known| known.map(|known| known.what).unwrap_or_default()).collect()
    }

    /// Forgets files that were not come across and are no longer there.
    pub(super) fn forget_what_is_gone(self) {
        if let (Some(mut cache), Some(left)) = (self.cache, self.all) {
            cache.forget(left.into_keys().filter(|path| !Path::new(path).exists()));
        }
    }
}

/// Finds out about transcripts on all cores. `read` gets what was true of a file before it grew.
fn know<T: Send>(
    candidates: &[Candidate],
    remembered: Vec<Option<Remembered<T>>>,
    read: impl Fn(&Candidate, Option<T>) -> io::Result<T> + Sync,
) -> Vec<io::Result<Known<T>>> {
    let known = candidates.par_iter().zip(remembered).map(|(candidate, remembered)| {
        let freshness = remembered.as_ref().map(|remembered| remembered.freshness(&candidate.state));
        let older = match (remembered, freshness) {
            (Some(remembered), Some(Freshness::Same)) => {
                return Ok(Known { what: remembered.what, is_new: false });
            }
            (Some(remembered), Some(Freshness::Grown)) => Some(remembered.what),
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
