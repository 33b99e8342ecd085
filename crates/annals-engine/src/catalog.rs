//! The catalogue: what every session is, newest first, without reading whole files.
//!
//! A list reads the two ends of each file, and more only where they leave a question open. With a limit it stops as soon
//! as no file that is left can belong among the first: a file was written when its last entry was, or later.

mod cache;
mod facts;
mod project;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use annals_transcript::project::is_session_id;
use annals_transcript::write::fs::State;
use jiff::Timestamp;
use rayon::prelude::*;

use crate::engine::Engine;
use crate::error::Error;
use crate::files::{Selection, TranscriptFile, agents_beside};

use cache::{Cache, Freshness, Remembered};
pub use facts::{Facts, Standing, Title, TitleSource};
pub use project::{Project, Worktree};

/// How many files are looked at together before the list asks whether it has enough.
const TOGETHER: usize = 64;

/// Which sessions to list, and in which order.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only sessions of this working directory.
    pub project: Option<PathBuf>,
    /// Only sessions with something said at this time or later.
    pub since: Option<Timestamp>,
    /// Only sessions that began before this time.
    pub until: Option<Timestamp>,
    /// Only sessions whose title has this text in it, whatever its case.
    pub title: Option<String>,
    /// Only sessions on this branch.
    pub branch: Option<String>,
    /// Also files that hold no conversation.
    pub all: bool,
    /// The order.
    pub sort: Sort,
    /// At most so many.
    pub limit: Option<usize>,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The last entry's time, newest first.
    #[default]
    Updated,
    /// The first entry's time, newest first.
    Created,
    /// The largest first.
    Size,
}

/// A session in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its transcript.
    pub file: TranscriptFile,
    /// The name of the folder that it lies in.
    pub project_key: String,
    /// How many bytes the transcript has.
    pub size: u64,
    /// When the transcript was written last.
    pub modified: Option<SystemTime>,
    /// What is in it.
    pub facts: Facts,
    /// How many subagents have a transcript.
    pub subagents: u64,
}

/// A list of sessions.
#[derive(Debug, Default)]
pub struct Listing {
    /// The sessions, in the order asked for.
    pub sessions: Vec<Listed>,
    /// Files and folders that could not be read.
    pub errors: Vec<Error>,
    /// How many files were left out because they hold no conversation.
    pub without_conversation: usize,
}

/// A file that may be listed, by its name and state alone.
#[derive(Clone, Debug)]
struct Candidate {
    path: PathBuf,
    session: String,
    state: State,
}

impl Engine {
    /// Lists sessions.
    pub fn list(&self, wanted: &Wanted) -> Listing {
        let mut listing = Listing::default();
        let folders = match &wanted.project {
            Some(path) => self.folders_of(path),
            None => self.project_folders(&mut listing.errors),
        };
        let mut candidates: Vec<_> =
            folders.iter().flat_map(|folder| candidates_in(folder, &mut listing.errors)).collect();
        match wanted.sort {
            Sort::Updated => candidates.sort_by_key(|candidate| Reverse(candidate.state.modified)),
            Sort::Created => {}
            Sort::Size => candidates.sort_by_key(|candidate| Reverse(candidate.state.length)),
        }
        let mut memory = Memory::open(self.home().path(), wanted.limit.is_none());
        for (number, together) in candidates.chunks(TOGETHER).enumerate() {
            let remembered: Vec<_> = together.iter().map(|candidate| memory.of(&candidate.path)).collect();
            let read: Vec<_> = together
                .par_iter()
                .zip(remembered)
                .map(|(candidate, remembered)| candidate.read(remembered))
                .collect();
            memory.keep(together.iter().zip(&read));
            for (candidate, read) in together.iter().zip(read) {
                match read {
                    Err(error) => listing.errors.push(error),
                    Ok(read) => listing.take(candidate.listed(read.facts), wanted),
                }
            }
            let next = candidates.get((number + 1) * TOGETHER);
            if next.is_none_or(|next| listing.has_enough(wanted, next)) {
                break;
            }
        }
        memory.forget_what_is_gone();
        listing.sort(wanted.sort);
        listing.sessions.truncate(wanted.limit.unwrap_or(usize::MAX));
        listing.count_subagents();
        listing
    }

    /// Returns the client's folders that are looked at.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        self.roots().paths()
    }

    /// Returns the folders of all projects.
    pub(crate) fn project_folders(&self, errors: &mut Vec<Error>) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for projects in self.roots().projects() {
            match fs::read_dir(&projects) {
                Ok(entries) => {
                    folders.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()));
                }
                Err(source) => errors.push(Error::read(&projects, source)),
            }
        }
        folders.sort();
        folders
    }
}

fn candidates_in(folder: &Path, errors: &mut Vec<Error>) -> Vec<Candidate> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) => {
            errors.push(Error::read(folder, source));
            return Vec::new();
        }
    };
    let candidate = |path: PathBuf| {
        let session =
            path.file_name()?.to_str()?.strip_suffix(".jsonl").filter(|id| is_session_id(id))?.to_owned();
        let state = State::of(&path).ok().flatten()?;
        Some(Candidate { path, session, state })
    };
    entries.flatten().filter_map(|entry| candidate(entry.path())).collect()
}

/// What the catalogue remembers: all of it for a whole list, piece by piece for a short one.
struct Memory {
    cache: Option<Cache>,
    all: Option<HashMap<PathBuf, Remembered>>,
}

impl Memory {
    fn open(folder: &Path, whole_list: bool) -> Self {
        let cache = Cache::open(folder);
        let all = cache.as_ref().filter(|_| whole_list).map(Cache::all);
        Self { cache, all }
    }

    fn of(&mut self, path: &Path) -> Option<Remembered> {
        match &mut self.all {
            Some(all) => all.remove(path),
            None => self.cache.as_ref()?.one(path),
        }
    }

    fn keep<'a>(&mut self, read: impl Iterator<Item = (&'a Candidate, &'a Result<Read, Error>)>) {
        let new = read.filter_map(|(candidate, read)| {
            let read = read.as_ref().ok().filter(|read| read.is_new)?;
            Some((candidate.path.as_path(), &candidate.state, &read.facts))
        });
        let new: Vec<_> = new.collect();
        if let Some(cache) = self.cache.as_mut().filter(|_| !new.is_empty()) {
            cache.keep(new.into_iter());
        }
    }
}

impl Memory {
    /// Forgets files that were not come across and are no longer there.
    fn forget_what_is_gone(self) {
        if let (Some(cache), Some(left)) = (self.cache, self.all) {
            cache.forget(left.into_keys().filter(|path| !path.exists()));
        }
    }
}

/// Facts, and whether the catalogue has yet to learn them.
struct Read {
    facts: Facts,
    is_new: bool,
}

impl Candidate {
    fn read(&self, remembered: Option<Remembered>) -> Result<Read, Error> {
        let freshness = remembered.as_ref().map(|remembered| remembered.freshness(&self.state));
        let read = match (remembered, freshness) {
            (Some(remembered), Some(Freshness::Same)) => {
                return Ok(Read { facts: remembered.facts, is_new: false });
            }
            (Some(remembered), Some(Freshness::Grown(from))) => remembered.facts.read_again(&self.path, from),
            _ => Facts::read(&self.path),
        };
        let facts = read.map_err(|source| Error::read(&self.path, source))?;
        Ok(Read { facts, is_new: true })
    }

    fn listed(&self, facts: Facts) -> Listed {
        let key = self.path.parent().and_then(Path::file_name).unwrap_or_default();
        Listed {
            file: TranscriptFile {
                path: self.path.clone(),
                session: Some(self.session.clone()),
                agent: None,
            },
            project_key: key.to_string_lossy().into_owned(),
            size: self.state.length,
            modified: self.state.modified,
            facts: facts.with_title_beside(&self.path),
            subagents: 0,
        }
    }

    /// Returns the latest time that an entry of the file can have.
    fn latest(&self) -> Option<Timestamp> {
        Timestamp::try_from(self.state.modified?).ok()
    }
}

impl Listed {
    /// Returns whether it is in the client's archive.
    pub fn is_archived(&self) -> bool {
        facts::is_archived(&self.file.path)
    }

    /// Returns the path of the project that it belongs to.
    pub fn project_path(&self) -> Option<String> {
        project::project_path(self)
    }

    /// Returns when something was said last; where no entry tells, when the file was written.
    fn updated(&self) -> Option<Timestamp> {
        self.facts.updated_at.or_else(|| Timestamp::try_from(self.modified?).ok())
    }
}

impl Listing {
    fn take(&mut self, listed: Listed, wanted: &Wanted) {
        let facts = &listed.facts;
        if facts.standing != Standing::Conversation && !wanted.all {
            self.without_conversation += 1;
            return;
        }
        let has_title = |text: &String| {
            let title = facts.title.as_ref().map(|title| title.text.to_lowercase());
            title.is_some_and(|title| title.contains(&text.to_lowercase()))
        };
        let fits = wanted.since.is_none_or(|since| listed.updated() >= Some(since))
            && wanted.until.is_none_or(|until| facts.created_at.or(listed.updated()) < Some(until))
            && wanted.title.as_ref().is_none_or(has_title)
            && wanted.branch.as_ref().is_none_or(|branch| facts.git_branch.as_ref() == Some(branch));
        if fits {
            self.sessions.push(listed);
        }
    }

    /// Returns whether no file from `next` on can belong to what was asked for.
    fn has_enough(&self, wanted: &Wanted, next: &Candidate) -> bool {
        match wanted.sort {
            Sort::Created => false,
            Sort::Size => wanted.limit.is_some_and(|limit| self.sessions.len() >= limit),
            Sort::Updated => {
                let Some(latest) = next.latest() else { return false };
                let newer = || self.sessions.iter().filter(|listed| listed.updated() >= Some(latest)).count();
                wanted.since.is_some_and(|since| latest < since)
                    || wanted.limit.is_some_and(|limit| newer() >= limit)
            }
        }
    }

    /// Counts the subagents of each session: those in its own folder, and those of old versions beside it.
    fn count_subagents(&mut self) {
        let mut beside: HashMap<PathBuf, HashMap<Option<String>, u64>> = HashMap::new();
        for listed in &mut self.sessions {
            let Some(folder) = listed.file.path.parent() else { continue };
            let of_folder = beside.entry(folder.to_owned()).or_insert_with(|| {
                let mut counts = HashMap::new();
                for agent in agents_beside(folder) {
                    *counts.entry(agent.session).or_default() += 1;
                }
                counts
            });
            let mut below = Selection::default();
            below.add_subagents_below(&listed.file);
            listed.subagents =
                below.files.len() as u64 + of_folder.get(&listed.file.session).copied().unwrap_or(0);
        }
    }

    fn sort(&mut self, sort: Sort) {
        match sort {
            Sort::Updated => self
                .sessions
                .sort_by_cached_key(|listed| (Reverse(listed.updated()), listed.file.session.clone())),
            Sort::Created => {
                self.sessions.sort_by_key(|listed| Reverse(listed.facts.created_at.or(listed.updated())));
            }
            Sort::Size => self.sessions.sort_by_key(|listed| Reverse(listed.size)),
        }
    }
}
