//! The catalogue: lists of sessions, most recent first, without reading whole files.
//!
//! A list reads the two ends of each file, and more only where they do not give all facts. With a limit it stops as soon as
//! no remaining file can be among the first: a file was last modified when its last entry was written, or later.

mod activity;
mod agents;
mod copies;
mod facts;
mod folder;
mod loader;
mod project;
mod store;
mod workspace;

use std::cmp::Reverse;
use std::io::ErrorKind;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use annals_transcript::Reader;
use annals_transcript::paths::{ConfigFolder, SessionPaths};
use jiff::Timestamp;
use rayon::prelude::*;

use crate::engine::Engine;
use crate::error::Error;
use crate::files::{TranscriptFile, agents_below, open_regular, project_folders};

use activity::Activity;
pub use activity::FileFilter;
pub(crate) use activity::is_from_root;
use agents::AgentTranscripts;
pub use copies::Copies;
pub(crate) use copies::copies;
pub(crate) use facts::listed_title;
pub use facts::{Facts, LONGEST_PROMPT, Title, TitleSource, TranscriptKind};
#[cfg(feature = "follow")]
pub(crate) use facts::{is_archived, title_beside};
use folder::{Folder, FoundTranscript};
#[cfg(feature = "search")]
pub(crate) use loader::Activities;
use loader::Loader;
pub(crate) use loader::forget;
#[cfg(feature = "search")]
pub(crate) use project::paths_of_project;
pub(crate) use project::projects;
pub use project::{Project, ProjectFilter, Worktree, with_upper_drive};
pub use workspace::Workspace;
pub(crate) use workspace::workspace;

/// Which sessions to list, and in which order.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Only sessions of this working directory.
    pub project: Option<PathBuf>,
    /// Only sessions with something said at this time or later.
    pub since: Option<Timestamp>,
    /// Only sessions that began before this time.
    pub until: Option<Timestamp>,
    /// Only sessions with an entry in this period. A file that began before it and ends after it is read.
    pub active_in: Option<Range<Timestamp>>,
    /// Only sessions with nothing said at this time or later.
    pub inactive_since: Option<Timestamp>,
    /// Only sessions whose title has this text in it, whatever its case.
    pub title: Option<String>,
    /// Only sessions whose title or first prompt has this text in it, whatever its case.
    pub text: Option<String>,
    /// Only sessions on this branch.
    pub branch: Option<String>,
    /// Only sessions that used this tool, whatever the case of its name. Their subagents count.
    pub tool: Option<String>,
    /// Only sessions that touched this file, or a file in this folder; a relative path may be the end or a
    /// part of a recorded one. Their subagents count.
    pub file: Option<String>,
    /// Also files that hold no conversation (LISTS 6.2).
    pub all: bool,
    /// What to do with sessions in the archive of Claude Code.
    pub archived: ArchiveFilter,
    /// Only sessions whose file is really in a config folder of Claude Code, after resolving links.
    pub inside: bool,
    /// The order.
    pub sort: Sort,
    /// At most this many sessions.
    pub limit: Option<usize>,
    /// Only sessions after this position; for lists that are sorted by [`Sort::Updated`].
    pub after: Option<ListPosition>,
}

/// A position in a list that is sorted by [`Sort::Updated`]. Sessions that are added or continued later do not change what
/// comes after it.
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
    /// Returns whether whole transcripts have to be read.
    fn needs_activity(&self) -> bool {
        self.tool.is_some() || self.file.is_some()
    }

    /// Returns whether a list may be complete before all files were read.
    fn may_stop_early(&self) -> bool {
        self.limit.is_some()
    }

    /// Returns how many files are read at a time. In a short list they are few, since it may be complete after them.
    fn batch_size(&self) -> usize {
        let most = if self.needs_activity() { 64 } else { 1024 };
        self.limit.map_or(most, |limit| limit.clamp(16, 64))
    }
}

/// Which sessions a list has, by whether they are archived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchiveFilter {
    /// Archived sessions and others.
    #[default]
    Include,
    /// No archived sessions.
    Exclude,
    /// Archived sessions alone.
    Only,
}

impl ArchiveFilter {
    fn includes(self, is_archived: bool) -> bool {
        match self {
            ArchiveFilter::Include => true,
            ArchiveFilter::Exclude => !is_archived,
            ArchiveFilter::Only => is_archived,
        }
    }
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The time of the last entry, most recent first.
    #[default]
    Updated,
    /// The time of the first entry, most recent first.
    Created,
    /// The size of the transcript, largest first.
    Size,
}

impl Sort {
    /// Returns what sessions are compared by; the largest comes first.
    fn key(self, row: &SessionRow) -> (Option<Timestamp>, u64) {
        match self {
            Sort::Updated => (row.updated(), 0),
            Sort::Created => (row.created(), 0),
            Sort::Size => (None, row.size),
        }
    }
}

/// A session in a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionRow {
    /// Its transcript.
    pub file: TranscriptFile,
    /// The name of the folder that it lies in.
    pub project_key: String,
    /// How many bytes the transcript has.
    pub size: u64,
    /// When the transcript was written last.
    pub modified: Option<SystemTime>,
    /// What is in it. Boxed, because rows are moved when a list is sorted.
    pub facts: Box<Facts>,
    /// How many subagents have a transcript.
    pub subagents: u64,
    /// How many processes of Claude Code have it open.
    pub writers: usize,
    /// Whether it is archived in Claude Code.
    pub is_archived: bool,
    /// Why it could not be read; the facts are empty then.
    pub error: Option<String>,
    /// Whether it has a folder of its own.
    has_folder: bool,
}

/// A list of sessions.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// The sessions, in the order asked for.
    pub sessions: Vec<SessionRow>,
    /// Files and folders that could not be read.
    pub errors: Vec<Error>,
    /// How many files were left out because they hold no conversation.
    pub without_conversation: usize,
    /// How many sessions were left out because they are archived. With a limit, only files that had to be read are counted.
    pub archived_left_out: usize,
}

/// A config folder of Claude Code.
#[derive(Debug)]
#[non_exhaustive]
pub struct RootSummary {
    /// Its path.
    pub path: PathBuf,
    /// How many projects it has.
    pub projects: usize,
    /// How many transcripts of sessions they have.
    pub sessions: usize,
    /// What could not be read.
    pub errors: Vec<Error>,
}

impl RootSummary {
    fn read(path: &Path) -> Self {
        let mut errors = Vec::new();
        let projects = ConfigFolder::new(path).projects();
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

pub(crate) fn list(engine: &Engine, options: &ListOptions) -> Listing {
    engine.list_with_progress(options, |_, _| ControlFlow::Continue(()))
}

pub(crate) fn list_with_progress(
    engine: &Engine,
    options: &ListOptions,
    progress: impl Fn(u64, u64) -> ControlFlow<()>,
) -> Listing {
    let mut listing = Listing::default();
    let folders = match &options.project {
        Some(path) => engine.folders_of(path, &mut listing.errors),
        None => engine.project_folders(&mut listing.errors),
    };
    let is_whole = options.limit.is_none() && options.project.is_none();
    let ((mut transcripts, beside), mut loader) = rayon::join(
        || Folder::read_all(&folders, &mut listing.errors),
        || Loader::open(engine.home().path(), is_whole),
    );
    if options.inside {
        let mut guard = engine.symlink_guard();
        transcripts.retain(|transcript| guard.allows_file(&transcript.path, transcript.is_link));
    }
    if options.may_stop_early() {
        sort_transcripts(&mut transcripts, options.sort);
    }
    let mut agents = AgentTranscripts::new(beside);
    let total = transcripts.iter().map(|transcript| transcript.state.length).sum();
    let mut done = 0;
    let batch_size = options.batch_size();
    let filter = options.project.as_deref().map(ProjectFilter::new);
    let mut transcripts = transcripts.into_iter();
    while let Some(next) = transcripts.as_slice().first() {
        if listing.is_complete(options, next) {
            break;
        }
        let batch: Vec<_> = transcripts.by_ref().take(batch_size).collect();
        done += batch.iter().map(|transcript| transcript.state.length).sum::<u64>();
        let facts = loader.facts(&batch);
        let facts: Vec<_> =
            batch.iter().zip(facts).map(|(file, facts)| listing.noting(file, facts)).collect();
        let read =
            batch.into_par_iter().zip(facts).map(|(transcript, facts)| SessionRow::new(transcript, facts));
        let mut rows: Vec<_> = read.collect();
        rows.retain(|row| {
            listing.includes(row, options) && filter.as_ref().is_none_or(|filter| filter.includes(row))
        });
        if let Some(period) = &options.active_in {
            rows = rows.into_par_iter().filter(|row| row.is_active_in(period)).collect();
        }
        if options.needs_activity() {
            rows = filter_by_activity(rows, options, &mut agents, &mut loader);
        }
        listing.add_by_archive(rows, options.archived);
        if progress(done, total).is_break() {
            return listing;
        }
    }
    listing.sort(options.sort);
    listing.sessions.truncate(options.limit.unwrap_or(usize::MAX));
    let live = engine.live_sessions();
    for row in &mut listing.sessions {
        row.subagents = agents.beside(row, &mut loader).len() as u64;
        row.writers = row.file.session.as_ref().and_then(|session| live.get(session)).copied().unwrap_or(0);
    }
    listing.sessions.par_iter_mut().for_each(SessionRow::read_folder);
    loader.remove_missing();
    listing
}

pub(crate) fn session_row(engine: &Engine, file: &TranscriptFile) -> Result<SessionRow, Error> {
    let failed = Error::reading(&file.path);
    let mut transcript = FoundTranscript::of(&file.path).ok_or_else(|| failed(ErrorKind::NotFound.into()))?;
    transcript.has_folder = SessionPaths::of(&file.path).folder().is_dir();
    let mut loader = Loader::open(engine.home().path(), false);
    let facts = loader.facts(std::slice::from_ref(&transcript)).pop();
    let facts = facts.ok_or_else(|| failed(ErrorKind::NotFound.into()))?.map_err(failed)?;
    let mut row = SessionRow::new(transcript, Ok(facts));
    let beside = file.path.parent().map(Folder::agents_in);
    row.subagents =
        AgentTranscripts::new(beside.into_iter().collect()).beside(&row, &mut loader).len() as u64;
    row.writers =
        file.session.as_ref().and_then(|session| engine.live_sessions().get(session).copied()).unwrap_or(0);
    row.read_folder();
    Ok(row)
}

/// What others say about a session to name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionTitle {
    /// The title that lists show.
    pub title: Option<String>,
    /// The path of the project that it belongs to.
    pub project_path: Option<String>,
}

/// Returns how sessions are named; `None` for those that cannot be read. Only their rows in the catalogue are read, and the files whose
/// rows are missing or old.
pub(crate) fn session_titles(engine: &Engine, paths: &[PathBuf]) -> Vec<Option<SessionTitle>> {
    let found: Vec<_> = paths.iter().map(|path| FoundTranscript::of(path)).collect();
    let mut transcripts: Vec<_> = found.iter().flatten().cloned().collect();
    for transcript in &mut transcripts {
        transcript.has_folder = SessionPaths::of(&transcript.path).folder().is_dir();
    }
    let mut facts = Loader::open(engine.home().path(), false).facts(&transcripts).into_iter();
    let mut transcripts = transcripts.into_iter();
    let titles = found.into_iter().map(|found| {
        found?;
        let row = SessionRow::new(transcripts.next()?, Ok(facts.next()?.ok()?));
        let project_path = row.project_path();
        Some(SessionTitle { title: row.facts.title.map(|title| title.text), project_path })
    });
    titles.collect()
}

pub(crate) fn root_summaries(engine: &Engine) -> Vec<RootSummary> {
    engine.roots().named().map(RootSummary::read).collect()
}

/// Returns the ids of all sessions, sorted, from the names of files alone.
pub(crate) fn session_ids(engine: &Engine) -> Vec<String> {
    let folders = engine.project_folders(&mut Vec::new());
    let mut ids: Vec<_> = folders.iter().flat_map(|folder| Folder::session_ids(folder)).collect();
    ids.sort();
    ids
}

impl Engine {
    /// Returns the transcripts of all sessions, without reading them.
    pub(crate) fn sessions(&self) -> Vec<TranscriptFile> {
        let folders = self.project_folders(&mut Vec::new());
        let (transcripts, _) = Folder::read_all(&folders, &mut Vec::new());
        transcripts.into_iter().map(FoundTranscript::into_transcript).collect()
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
    fn new(transcript: FoundTranscript, facts: Result<Box<Facts>, String>) -> Self {
        let key = transcript.path.parent().and_then(Path::file_name).unwrap_or_default();
        let project_key = key.to_string_lossy().into_owned();
        let (mut facts, error) = match facts {
            Ok(facts) => (facts, None),
            Err(error) => (Box::default(), Some(error)),
        };
        if transcript.has_folder {
            facts.take_title_beside(&transcript.path);
        }
        Self {
            project_key,
            size: transcript.state.length,
            modified: transcript.state.modified,
            facts,
            subagents: 0,
            writers: 0,
            is_archived: false,
            error,
            has_folder: transcript.has_folder,
            file: transcript.into_transcript(),
        }
    }

    /// Reads from its own folder what only sessions that are shown need: subagents, and whether it is archived.
    fn read_folder(&mut self) {
        if self.has_folder {
            self.subagents += agents_below(&self.file.path).len() as u64;
            self.read_archived();
        }
    }

    /// Reads whether it is archived.
    fn read_archived(&mut self) {
        self.is_archived = self.has_folder && facts::is_archived(&self.file.path);
    }

    /// Returns the path of the project that it belongs to.
    pub fn project_path(&self) -> Option<String> {
        project::project_path(self)
    }

    /// Returns its position in a list that is sorted by [`Sort::Updated`].
    pub fn position(&self) -> ListPosition {
        ListPosition {
            updated: self.updated(),
            session: self.file.session.clone(),
            project_key: self.project_key.clone(),
        }
    }

    /// Returns the time of the last entry, or when the file was modified if no entry has a time (LISTS 6.4).
    fn updated(&self) -> Option<Timestamp> {
        self.facts.updated_at.or_else(|| Timestamp::try_from(self.modified?).ok())
    }

    /// Returns the time of the first entry, or when the file was modified if no entry has a time.
    fn created(&self) -> Option<Timestamp> {
        self.facts.created_at.or_else(|| self.updated())
    }

    /// Returns whether it began before a period ended, and has an entry that is as late as the start of the period.
    fn may_be_active_in(&self, period: &Range<Timestamp>) -> bool {
        self.updated() >= Some(period.start) && self.created().is_some_and(|created| created < period.end)
    }

    /// Returns whether one of its entries is in a period. The file is read if that does not follow from its first and last entry; one that
    /// cannot be read is left out.
    fn is_active_in(&self, period: &Range<Timestamp>) -> bool {
        let ends = [self.created(), self.updated()];
        ends.into_iter().flatten().any(|time| period.contains(&time))
            || has_entry_in(&self.file.path, period).unwrap_or(false)
    }

    /// Returns whether the tool and the file of the options were used in it.
    fn has_activity(&self, activity: &Activity, options: &ListOptions) -> bool {
        options.tool.as_ref().is_none_or(|tool| activity.has_tool(tool))
            && options.file.as_ref().is_none_or(|file| activity.has_file(file, self.facts.cwd.as_deref()))
    }
}

/// Sorts files so that a short list can stop early: those that may come first are read first.
fn sort_transcripts(transcripts: &mut [FoundTranscript], sort: Sort) {
    match sort {
        Sort::Updated => transcripts.sort_by_key(|transcript| Reverse(transcript.state.modified)),
        Sort::Size => transcripts.sort_by_key(|transcript| Reverse(transcript.state.length)),
        Sort::Created => {}
    }
}

/// Keeps the sessions that used the tool and the file of the options, themselves or by their subagents.
fn filter_by_activity(
    mut sessions: Vec<SessionRow>,
    options: &ListOptions,
    agents: &mut AgentTranscripts,
    loader: &mut Loader,
) -> Vec<SessionRow> {
    let mut transcripts = Vec::new();
    let mut counts = Vec::new();
    for row in &sessions {
        let before = transcripts.len();
        transcripts.extend(FoundTranscript::of(&row.file.path));
        transcripts.extend(agents.of(row, loader));
        counts.push(transcripts.len() - before);
    }
    let mut activities = loader.activities(&transcripts).into_iter();
    let mut counts = counts.into_iter();
    sessions.retain_mut(|row| {
        let mut own = activities.by_ref().take(counts.next().unwrap_or(0));
        let Some(mut done) = own.next() else { return false };
        row.facts.messages = Some(done.messages);
        own.for_each(|agent| done.include(&agent));
        row.has_activity(&done, options)
    });
    sessions
}

/// Returns whether an entry of a transcript is in a period.
fn has_entry_in(path: &Path, period: &Range<Timestamp>) -> std::io::Result<bool> {
    let mut reader = Reader::new(open_regular(path)?);
    while let Some(entry) = reader.read()? {
        if entry.head().time().is_some_and(|time| period.contains(&time)) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl ListPosition {
    fn order(&self) -> (Reverse<Option<Timestamp>>, &Option<String>, &str) {
        (Reverse(self.updated), &self.session, &self.project_key)
    }
}

impl Listing {
    /// Adds the reason why a file could not be read to the errors of the list.
    fn noting<T>(&mut self, file: &FoundTranscript, read: std::io::Result<T>) -> Result<T, String> {
        read.map_err(|source| {
            let error = Error::read(&file.path, source);
            let text = error.to_string();
            self.errors.push(error);
            text
        })
    }

    /// Returns whether a session is selected by its facts.
    fn includes(&mut self, row: &SessionRow, options: &ListOptions) -> bool {
        let facts = &row.facts;
        let fits = options.after.as_ref().is_none_or(|position| row.position().order() > position.order())
            && options.text.as_ref().is_none_or(|text| facts.has_in_title(text) || facts.has_in_prompt(text))
            && options.since.is_none_or(|since| row.updated() >= Some(since))
            && options.until.is_none_or(|until| row.created().is_some_and(|created| created < until))
            && options.active_in.as_ref().is_none_or(|period| row.may_be_active_in(period))
            && options
                .inactive_since
                .is_none_or(|since| row.updated().is_some_and(|updated| updated < since))
            && options.title.as_ref().is_none_or(|text| facts.has_in_title(text))
            && options.branch.as_ref().is_none_or(|branch| facts.git_branch.as_ref() == Some(branch));
        if fits && facts.kind != TranscriptKind::Conversation && !options.all {
            self.without_conversation += usize::from(!options.needs_activity());
            return false;
        }
        fits
    }

    /// Adds the sessions that a filter includes, and counts archived ones that it leaves out.
    fn add_by_archive(&mut self, mut rows: Vec<SessionRow>, filter: ArchiveFilter) {
        if filter != ArchiveFilter::Include {
            rows.par_iter_mut().for_each(SessionRow::read_archived);
            if filter == ArchiveFilter::Exclude {
                self.archived_left_out += rows.iter().filter(|row| row.is_archived).count();
            }
            rows.retain(|row| filter.includes(row.is_archived));
        }
        self.sessions.extend(rows);
    }

    /// Returns whether no file from `next` on can be among the first sessions that the limit allows (LISTS 6.4).
    fn is_complete(&self, options: &ListOptions, next: &FoundTranscript) -> bool {
        let Some(limit) = options.limit else { return false };
        let before_next = match options.sort {
            Sort::Created => return false,
            Sort::Size => self.sessions.iter().filter(|row| row.size > next.state.length).count(),
            Sort::Updated => {
                let Some(latest) = next.latest() else { return false };
                self.sessions.iter().filter(|row| row.updated() > Some(latest)).count()
            }
        };
        before_next >= limit
    }

    fn sort(&mut self, sort: Sort) {
        self.sessions.sort_by_cached_key(|row| Reverse(sort.key(row)));
        for equal in self.sessions.chunk_by_mut(|one, other| sort.key(one) == sort.key(other)) {
            equal.sort_by(|one, other| {
                let by_session = one.file.session.cmp(&other.file.session);
                let by_project = by_session.then_with(|| one.project_key.cmp(&other.project_key));
                by_project.then_with(|| one.file.path.cmp(&other.file.path))
            });
        }
    }
}
