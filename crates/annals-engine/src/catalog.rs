//! The catalogue: what every session is, newest first, without reading whole files.
//!
//! A list reads the two ends of each file, and more only where they leave a question open. With a limit it stops as soon
//! as no file that is left can belong among the first: a file was written when its last entry was, or later.

mod activity;
mod agents;
mod facts;
mod folder;
mod loader;
mod project;
mod store;

use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use annals_transcript::project::is_session_id;
use jiff::Timestamp;
use rayon::prelude::*;

use crate::engine::Engine;
use crate::error::Error;
use crate::files::{TranscriptFile, project_folders};

use activity::Activity;
use agents::Agents;
pub use facts::{Facts, Title, TitleSource, TranscriptKind};
use folder::{Candidate, Folder};
use loader::Loader;
pub use project::{Project, ProjectFilter, Worktree};

/// Which sessions to list, and in which order.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Only sessions of this working directory.
    pub project: Option<PathBuf>,
    /// Only sessions with something said at this time or later.
    pub since: Option<Timestamp>,
    /// Only sessions that began before this time.
    pub until: Option<Timestamp>,
    /// Only sessions whose title has this text in it, whatever its case.
    pub title: Option<String>,
    /// Only sessions whose title or first prompt has this text in it, whatever its case.
    pub text: Option<String>,
    /// Only sessions on this branch.
    pub branch: Option<String>,
    /// Only sessions that used this tool, whatever the case of its name. Their subagents count.
    pub tool: Option<String>,
    /// Only sessions that touched this file, or a file in this folder; a path that is not from the root may be the end or
    /// a part of a longer one. Their subagents count.
    pub file: Option<String>,
    /// Also files that hold no conversation.
    pub all: bool,
    /// Only sessions that really lie in the client's folders, wherever links lead.
    pub inside: bool,
    /// The order.
    pub sort: Sort,
    /// At most so many.
    pub limit: Option<usize>,
    /// Only sessions that come behind this place; for lists in the order of their last entries.
    pub after: Option<ListPosition>,
}

/// A place in a list that is in the order of last entries. Sessions that are added or go on change no place behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPosition {
    /// When something was said last.
    pub updated: Option<Timestamp>,
    /// The session.
    pub session: Option<String>,
    /// The name of the folder that it lies in.
    pub project_key: String,
}

impl ListOptions {
    /// Returns whether transcripts have to be read whole to answer.
    fn asks_what_was_done(&self) -> bool {
        self.tool.is_some() || self.file.is_some()
    }

    /// Returns whether a list may be whole before all files were looked at.
    fn may_have_enough(&self) -> bool {
        self.limit.is_some()
    }

    /// Returns how many files are looked at together: in a short list few, after which it asks whether it has enough.
    fn together(&self) -> usize {
        let most = if self.asks_what_was_done() { 64 } else { 1024 };
        self.limit.map_or(most, |limit| limit.clamp(16, 64))
    }
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
pub struct SessionRow {
    /// Its transcript.
    pub file: TranscriptFile,
    /// The name of the folder that it lies in.
    pub project_key: String,
    /// How many bytes the transcript has.
    pub size: u64,
    /// When the transcript was written last.
    pub modified: Option<SystemTime>,
    /// What is in it: in a box, since lists are sorted and passed on.
    pub facts: Box<Facts>,
    /// How many subagents have a transcript.
    pub subagents: u64,
    /// Whether a client has it open.
    pub is_live: bool,
    /// Whether it is in the client's archive.
    pub is_archived: bool,
    /// Why it could not be read; nothing is known then of what is in it.
    pub error: Option<String>,
    /// Whether it has a folder of its own.
    has_folder: bool,
}

/// A list of sessions.
#[derive(Debug, Default)]
pub struct Listing {
    /// The sessions, in the order asked for.
    pub sessions: Vec<SessionRow>,
    /// Files and folders that could not be read.
    pub errors: Vec<Error>,
    /// How many files were left out because they hold no conversation.
    pub without_conversation: usize,
}

/// A folder of the client.
#[derive(Debug)]
pub struct ConfigFolder {
    /// Its path.
    pub path: PathBuf,
    /// How many projects it has.
    pub projects: usize,
    /// How many transcripts of sessions they have.
    pub sessions: usize,
    /// What could not be read.
    pub errors: Vec<Error>,
}

impl ConfigFolder {
    fn look_at(path: &Path) -> Self {
        let mut errors = Vec::new();
        let projects = path.join("projects");
        let folders =
            if projects.is_dir() { project_folders(&projects) } else { Err(Error::no_projects(path)) };
        let folders = folders.unwrap_or_else(|error| {
            errors.push(error);
            Vec::new()
        });
        let (sessions, _) = Folder::read_all(&folders, &mut errors);
        Self { path: path.to_owned(), projects: folders.len(), sessions: sessions.len(), errors }
    }
}

impl Engine {
    /// Lists sessions.
    pub fn list(&self, wanted: &ListOptions) -> Listing {
        self.list_with_progress(wanted, |_, _| ControlFlow::Continue(()))
    }

    /// Lists sessions, and tells how many bytes of transcripts are done, of how many. Who is told may end it: then the list
    /// is what was found so far.
    pub fn list_with_progress(
        &self,
        wanted: &ListOptions,
        tell: impl Fn(u64, u64) -> ControlFlow<()>,
    ) -> Listing {
        let mut listing = Listing::default();
        let folders = match &wanted.project {
            Some(path) => self.folders_of(path, &mut listing.errors),
            None => self.project_folders(&mut listing.errors),
        };
        let is_whole = wanted.limit.is_none() && wanted.project.is_none();
        let ((mut candidates, beside), mut loader) = rayon::join(
            || Folder::read_all(&folders, &mut listing.errors),
            || Loader::open(self.home().path(), is_whole),
        );
        if wanted.inside {
            let mut inside = self.inside();
            candidates.retain(|candidate| inside.holds_file(&candidate.path, candidate.is_link));
        }
        match wanted.sort {
            Sort::Updated if wanted.may_have_enough() => {
                candidates.sort_by_key(|candidate| Reverse(candidate.state.modified));
            }
            Sort::Size if wanted.may_have_enough() => {
                candidates.sort_by_key(|candidate| Reverse(candidate.state.length));
            }
            _ => {}
        }
        let mut agents = Agents::new(beside);
        let total = candidates.iter().map(|candidate| candidate.state.length).sum();
        let mut done = 0;
        let together = wanted.together();
        let asked = wanted.project.as_deref().map(ProjectFilter::new);
        let mut candidates = candidates.into_iter();
        while let Some(next) = candidates.as_slice().first() {
            if listing.has_enough(wanted, next) {
                break;
            }
            let some: Vec<_> = candidates.by_ref().take(together).collect();
            done += some.iter().map(|candidate| candidate.state.length).sum::<u64>();
            let facts = loader.facts(&some);
            let facts: Vec<_> =
                some.iter().zip(facts).map(|(file, facts)| listing.noting(file, facts)).collect();
            let read =
                some.into_par_iter().zip(facts).map(|(candidate, facts)| SessionRow::new(candidate, facts));
            let mut listed: Vec<_> = read.collect();
            listed.retain(|listed| {
                listing.has_place_for(listed, wanted)
                    && asked.as_ref().is_none_or(|asked| asked.includes(listed))
            });
            if wanted.asks_what_was_done() {
                listed = those_that_did(listed, wanted, &mut agents, &mut loader);
            }
            listing.sessions.extend(listed);
            if tell(done, total).is_break() {
                return listing;
            }
        }
        listing.sort(wanted.sort);
        listing.sessions.truncate(wanted.limit.unwrap_or(usize::MAX));
        let live = self.live_sessions();
        for listed in &mut listing.sessions {
            listed.subagents = agents.beside(listed, &mut loader).len() as u64;
            listed.is_live = listed.file.session.as_ref().is_some_and(|session| live.contains(session));
        }
        listing.sessions.par_iter_mut().for_each(SessionRow::look_into_folder);
        loader.remove_missing();
        listing
    }

    /// Returns one session as it stands in lists.
    pub fn session_row(&self, file: &TranscriptFile) -> Result<SessionRow, Error> {
        let failed = |source| Error::read(&file.path, source);
        let missing = || failed(std::io::ErrorKind::NotFound.into());
        let mut candidate = Candidate::of(&file.path).ok_or_else(missing)?;
        candidate.has_folder = file.path.with_extension("").is_dir();
        let mut loader = Loader::open(self.home().path(), false);
        let facts =
            loader.facts(std::slice::from_ref(&candidate)).pop().ok_or_else(missing)?.map_err(failed)?;
        let mut listed = SessionRow::new(candidate, Ok(facts));
        let beside = file.path.parent().map(Folder::agents_in);
        listed.subagents =
            Agents::new(beside.into_iter().collect()).beside(&listed, &mut loader).len() as u64;
        listed.is_live = file.session.as_ref().is_some_and(|session| self.live_sessions().contains(session));
        listed.look_into_folder();
        Ok(listed)
    }

    /// Returns the transcripts of all sessions, without looking into them.
    pub(crate) fn sessions(&self) -> Vec<TranscriptFile> {
        let folders = self.project_folders(&mut Vec::new());
        let (candidates, _) = Folder::read_all(&folders, &mut Vec::new());
        candidates.into_iter().map(Candidate::into_transcript).collect()
    }

    /// Returns the transcripts of a session: there may be copies in several projects.
    pub(crate) fn sessions_with_id(&self, id: &str) -> Vec<TranscriptFile> {
        if !is_session_id(id) {
            return Vec::new();
        }
        let folders = self.project_folders(&mut Vec::new());
        let paths = folders.iter().map(|folder| folder.join(format!("{id}.jsonl")));
        paths.filter(|path| path.is_file()).map(|path| TranscriptFile::at(&path)).collect()
    }

    /// Returns the sessions that are called exactly so.
    pub(crate) fn sessions_with_title(&self, title: &str) -> Vec<TranscriptFile> {
        let mut listing =
            self.list(&ListOptions { title: Some(title.to_owned()), all: true, ..ListOptions::default() });
        listing.sessions.retain(|listed| listed.facts.title.as_ref().is_some_and(|it| it.text == title));
        listing.sessions.into_iter().map(|listed| listed.file).collect()
    }

    /// Returns the client's folders, with how much there is in each.
    pub fn config_folders(&self) -> Vec<ConfigFolder> {
        self.roots().named().map(ConfigFolder::look_at).collect()
    }

    /// Returns the client's folders, without a look into them.
    pub fn root_folders(&self) -> impl Iterator<Item = &Path> {
        self.roots().named()
    }

    /// Returns the folders of all projects.
    pub(crate) fn project_folders(&self, errors: &mut Vec<Error>) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for projects in self.roots().projects() {
            match project_folders(&projects) {
                Ok(found) => folders.extend(found),
                Err(error) => errors.push(error),
            }
        }
        folders
    }
}

impl SessionRow {
    fn new(candidate: Candidate, facts: Result<Box<Facts>, String>) -> Self {
        let key = candidate.path.parent().and_then(Path::file_name).unwrap_or_default();
        let project_key = key.to_string_lossy().into_owned();
        let (mut facts, error) = match facts {
            Ok(facts) => (facts, None),
            Err(error) => (Box::default(), Some(error)),
        };
        if candidate.has_folder {
            facts.take_title_beside(&candidate.path);
        }
        Self {
            project_key,
            size: candidate.state.length,
            modified: candidate.state.modified,
            facts,
            subagents: 0,
            is_live: false,
            is_archived: false,
            error,
            has_folder: candidate.has_folder,
            file: candidate.into_transcript(),
        }
    }

    /// Looks into its own folder for what only lists that show it need: subagents, and whether it is archived.
    fn look_into_folder(&mut self) {
        if self.has_folder {
            self.subagents += agents::below(&self.file.path).len() as u64;
            self.is_archived = facts::is_archived(&self.file.path);
        }
    }

    /// Returns the path of the project that it belongs to.
    pub fn project_path(&self) -> Option<String> {
        project::project_path(self)
    }

    /// Returns its place in a list that is in the order of last entries.
    pub fn position(&self) -> ListPosition {
        ListPosition {
            updated: self.updated(),
            session: self.file.session.clone(),
            project_key: self.project_key.clone(),
        }
    }

    /// Returns when something was said last; where no entry tells, when the file was written.
    fn updated(&self) -> Option<Timestamp> {
        self.facts.updated_at.or_else(|| Timestamp::try_from(self.modified?).ok())
    }

    /// Returns when something was said first; where no entry tells, when the file was written.
    fn created(&self) -> Option<Timestamp> {
        self.facts.created_at.or_else(|| self.updated())
    }

    /// Returns whether what was done in it is what is asked for.
    fn did(&self, activity: &Activity, wanted: &ListOptions) -> bool {
        wanted.tool.as_ref().is_none_or(|tool| activity.has_tool(tool))
            && wanted.file.as_ref().is_none_or(|file| activity.has_file(file, self.facts.cwd.as_deref()))
    }
}

/// Keeps the sessions in which was done what is asked for, by themselves or by their subagents.
fn those_that_did(
    mut sessions: Vec<SessionRow>,
    wanted: &ListOptions,
    agents: &mut Agents,
    loader: &mut Loader,
) -> Vec<SessionRow> {
    let mut transcripts = Vec::new();
    let mut counts = Vec::new();
    for listed in &sessions {
        let before = transcripts.len();
        transcripts.extend(Candidate::of(&listed.file.path));
        transcripts.extend(agents.of(listed, loader));
        counts.push(transcripts.len() - before);
    }
    let mut activities = loader.activities(&transcripts).into_iter();
    let mut counts = counts.into_iter();
    sessions.retain_mut(|listed| {
        let mut own = activities.by_ref().take(counts.next().unwrap_or(0));
        let Some(mut done) = own.next() else { return false };
        listed.facts.messages = Some(done.messages);
        own.for_each(|agent| done.include(&agent));
        listed.did(&done, wanted)
    });
    sessions
}

impl ListPosition {
    fn order(&self) -> (Reverse<Option<Timestamp>>, &Option<String>, &str) {
        (Reverse(self.updated), &self.session, &self.project_key)
    }
}

impl Listing {
    /// Notes why a file could not be read.
    fn noting<T>(&mut self, file: &Candidate, known: std::io::Result<T>) -> Result<T, String> {
        known.map_err(|source| {
            let error = Error::read(&file.path, source);
            let text = error.to_string();
            self.errors.push(error);
            text
        })
    }

    /// Returns whether a session is among those asked for, by what its ends tell.
    fn has_place_for(&mut self, listed: &SessionRow, wanted: &ListOptions) -> bool {
        let facts = &listed.facts;
        let has_title = |text: &String| {
            let title = facts.title.as_ref().map(|title| title.text.to_lowercase());
            title.is_some_and(|title| title.contains(&text.to_lowercase()))
        };
        let has_text = |text: &String| {
            let prompt = facts.first_prompt.as_ref().map(|prompt| prompt.to_lowercase());
            has_title(text) || prompt.is_some_and(|prompt| prompt.contains(&text.to_lowercase()))
        };
        let fits = wanted.after.as_ref().is_none_or(|position| listed.position().order() > position.order())
            && wanted.text.as_ref().is_none_or(has_text)
            && wanted.since.is_none_or(|since| listed.updated() >= Some(since))
            && wanted.until.is_none_or(|until| listed.created().is_some_and(|created| created < until))
            && wanted.title.as_ref().is_none_or(has_title)
            && wanted.branch.as_ref().is_none_or(|branch| facts.git_branch.as_ref() == Some(branch));
        if fits && facts.kind != TranscriptKind::Conversation && !wanted.all {
            self.without_conversation += usize::from(!wanted.asks_what_was_done());
            return false;
        }
        fits
    }

    /// Returns whether no file from `next` on can belong to what was asked for.
    fn has_enough(&self, wanted: &ListOptions, next: &Candidate) -> bool {
        match wanted.sort {
            _ if !wanted.may_have_enough() => false,
            Sort::Created => false,
            Sort::Size => {
                let larger = || self.sessions.iter().filter(|listed| listed.size > next.state.length).count();
                wanted.limit.is_some_and(|limit| larger() >= limit)
            }
            Sort::Updated => {
                let Some(latest) = next.latest() else { return false };
                let newer = || self.sessions.iter().filter(|listed| listed.updated() > Some(latest)).count();
                wanted.limit.is_some_and(|limit| newer() >= limit)
            }
        }
    }

    fn sort(&mut self, sort: Sort) {
        let key = |listed: &SessionRow| match sort {
            Sort::Updated => (listed.updated(), 0),
            Sort::Created => (listed.created(), 0),
            Sort::Size => (None, listed.size),
        };
        self.sessions.sort_by_cached_key(|listed| Reverse(key(listed)));
        for equal in self.sessions.chunk_by_mut(|one, other| key(one) == key(other)) {
            equal.sort_by(|one, other| {
                let by_session = one.file.session.cmp(&other.file.session);
                let by_project = || one.project_key.cmp(&other.project_key);
                by_session.then_with(by_project).then_with(|| one.file.path.cmp(&other.file.path))
            });
        }
    }
}
