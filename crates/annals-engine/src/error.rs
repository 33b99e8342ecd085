//! The errors of the engine.

use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::write;
use jiff::Timestamp;

use crate::catalog::SessionRow;
use crate::files::TranscriptFile;
use crate::live::{LiveWriter, UnknownReason};

/// An error of the engine. The content of a transcript never causes one.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("cannot read {}: {}", path.display(), reason(source))]
    Read { path: PathBuf, source: io::Error },
    #[error("no session `{selector}`")]
    NotFound { selector: String, nearest: Vec<Candidate> },
    #[error(
        "session `{session}` has no transcript of an agent `{agent}`{}",
        if *is_remote { ": it runs on another machine, and only its metadata is here" } else { "" }
    )]
    NoAgent { session: String, agent: String, is_remote: bool },
    #[error("`{agent}` is an agent of session `{session}`, not a session")]
    IsAgent { agent: String, session: String },
    #[error("the transcript of `{session}` is a link that leads out of the folders of Claude Code")]
    Outside { session: String },
    #[error("no session `{selector}` in the trash")]
    NotInTrash { selector: String },
    #[error("session `{selector}` has no entry `{entry}` in the trash")]
    NoTrashEntry { selector: String, entry: String },
    #[error("{} was changed by somebody else while it was copied; what was changed was left where it is", path.display())]
    ChangedWhileCopied { path: PathBuf },
    #[error("this trash entry of `{session}` has no transcript")]
    HalfPurged { session: String },
    #[error(
        "the manifest of `{session}` in the trash names files outside of its config folder; nothing was moved"
    )]
    StrayManifest { session: String },
    #[error("no entry begins with `{id}`")]
    NoEntry { id: String },
    #[error("{found} entries begin with `{id}`; give more of the uuid")]
    AmbiguousEntry { id: String, found: usize },
    #[error("the entry `{id}` is not a message of the conversation")]
    NotAMessage { id: String },
    #[error("no message from `{id}` back to the first has a snapshot of files")]
    NoSnapshot { id: String },
    #[error("the session changed no file whose path ends with `{path}`")]
    NoChangedFile { path: String },
    #[error("the session changed {} files whose paths end with `{path}`", candidates.len())]
    AmbiguousFile { path: String, candidates: Vec<String> },
    #[error("no version of {path} is recorded: Claude Code kept no backup of it")]
    NoVersion { path: String },
    #[error(
        "the transcript names a backup that is not a file in the backup folder of the session; it was not opened"
    )]
    StrayBackup,
    #[error("the backup of this version is gone")]
    BackupGone,
    #[error("the backup {} is damaged; nothing was written", path.display())]
    DamagedBackup { path: PathBuf },
    #[error("{} was changed meanwhile; nothing was written", path.display())]
    ChangedMeanwhile { path: PathBuf },
    #[error("{} is not a regular file; nothing was written", path.display())]
    NotReplaceable { path: PathBuf },
    #[error("`{selector}` may be any of {} {}", candidates.len(), kinds(candidates))]
    Ambiguous { selector: String, candidates: Vec<Candidate> },
    #[error("{} {reason}", path.display())]
    NoProjects { path: PathBuf, reason: &'static str },
    #[error("no config folder of Claude Code to write into: there is no home folder")]
    NoRoot,
    #[error("cannot write {}: {}", path.display(), reason(source))]
    Write { path: PathBuf, source: io::Error },
    #[error("{} was not changed: {writer}", path.display())]
    Live { path: PathBuf, writer: LiveWriter },
    #[error("{} was not changed: {reason}", path.display())]
    LivenessUnknown { path: PathBuf, reason: UnknownReason },
    #[error("a title cannot be empty")]
    NoTitle,
    #[error("{} is not the transcript of a session where Claude Code would find it", path.display())]
    NotASession { path: PathBuf },
    #[error("{} is a different file at the original path; nothing was moved", path.display())]
    PathTaken { path: PathBuf },
    #[error("{} is a different file at the original path; its old version stays in the trash, all others were restored", path.display())]
    PartlyRestored { path: PathBuf },
    #[error("{} has a name that is not UTF-8 and could not be restored; nothing was moved", path.display())]
    NotUtf8 { path: PathBuf },
    #[cfg(feature = "search")]
    #[error("there is no search index for these settings yet")]
    NoIndex,
    #[cfg(feature = "search")]
    #[error("another process is updating the search index")]
    IndexBusy,
    #[cfg(feature = "search")]
    #[error("the search index {} cannot be used: {reason}", path.display())]
    Index { path: PathBuf, reason: String },
    #[cfg(feature = "search")]
    #[error("the search index was made anew; search again from the first page")]
    StaleCursor,
    #[cfg(feature = "search")]
    #[error("{reason}")]
    Query { reason: String },
    #[cfg(feature = "search")]
    #[error("the search was stopped at its time limit, before anything was found")]
    OutOfTime,
    #[cfg_attr(not(feature = "catalog"), expect(dead_code, reason = "only a store has it"))]
    #[error("the usage database {} cannot be used: {reason}", path.display())]
    UsageStore { path: PathBuf, reason: String },
    #[error("{}: {reason}", path.display())]
    Prices { path: PathBuf, reason: String },
    #[error(transparent)]
    Writer(#[from] write::Error),
}

/// Returns the cause in words: ours for the usual ones, those of the operating system for all others.
fn reason(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => source.to_string(),
    }
}

/// Returns what an ambiguous name may mean.
fn kinds(candidates: &[Candidate]) -> &'static str {
    let has_sessions = candidates.iter().any(|candidate| candidate.agent.is_none());
    let has_agents = candidates.iter().any(|candidate| candidate.agent.is_some());
    match (has_sessions, has_agents) {
        (true, true) => "sessions and agents",
        (false, true) => "agents",
        _ => "sessions",
    }
}

/// A session or an agent that an ambiguous name may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The session.
    pub session: String,
    /// The agent of the session; `None` if the session itself is meant.
    pub agent: Option<String>,
    /// The transcript.
    pub path: PathBuf,
    /// The title of a session, or its first prompt.
    pub title: Option<String>,
    /// The first prompt of a session.
    pub first_prompt: Option<String>,
    /// The project of a session.
    pub project: Option<String>,
    /// When a session was active last.
    pub updated_at: Option<Timestamp>,
}

impl Candidate {
    /// Returns a transcript as a candidate, without anything that would have to be read.
    pub(crate) fn file(file: &TranscriptFile) -> Self {
        Self {
            session: file.session.clone().unwrap_or_default(),
            agent: file.agent.clone(),
            path: file.path.clone(),
            title: None,
            first_prompt: None,
            project: None,
            updated_at: None,
        }
    }

    /// Returns a session as a candidate, with what a list shows of it.
    pub(crate) fn row(row: &SessionRow) -> Self {
        let title = row.facts.title.as_ref().map(|title| title.text.clone());
        Self {
            title: title.or_else(|| row.facts.first_prompt.clone()),
            first_prompt: row.facts.first_prompt.clone(),
            project: row.project_path(),
            updated_at: row.facts.updated_at,
            ..Self::file(&row.file)
        }
    }
}

impl From<write::Error> for Error {
    fn from(error: write::Error) -> Self {
        Self::new(ErrorKind::Writer(error))
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }

    /// Creates the error that a file or folder could not be read.
    pub fn read(path: &Path, source: io::Error) -> Self {
        Self::new(ErrorKind::Read { path: path.to_owned(), source })
    }

    /// Creates the error that a folder is not a config folder of Claude Code, with the reason.
    pub(crate) fn no_projects(path: &Path) -> Self {
        let reason = match path.metadata() {
            Ok(metadata) if metadata.is_dir() => "has no `projects` folder",
            Ok(_) => "is a file, not a config folder of Claude Code",
            Err(_) => "is not there",
        };
        Self::new(ErrorKind::NoProjects { path: path.to_owned(), reason })
    }

    pub(crate) fn ambiguous(
        selector: &str,
        candidates: impl Iterator<Item = (impl Into<String>, impl Into<PathBuf>)>,
    ) -> Self {
        let file = |(session, path): (_, _)| TranscriptFile {
            session: Some(Into::into(session)),
            agent: None,
            path: Into::into(path),
        };
        Self::one_of(selector, candidates.map(file).map(|file| Candidate::file(&file)).collect())
    }

    /// Creates the error that a name may mean any of several sessions or agents.
    pub(crate) fn one_of(selector: &str, candidates: Vec<Candidate>) -> Self {
        Self::new(ErrorKind::Ambiguous { selector: selector.to_owned(), candidates })
    }

    /// Creates the error that a selection found several sessions where one is needed.
    pub fn several_sessions(selector: &str, rows: &[SessionRow]) -> Self {
        Self::one_of(selector, rows.iter().map(Candidate::row).collect())
    }

    pub(crate) fn ambiguous_agents(selector: &str, files: &[TranscriptFile]) -> Self {
        Self::one_of(selector, files.iter().map(Candidate::file).collect())
    }

    /// Adds agents to what an ambiguous name may mean.
    pub(crate) fn or_agents(mut self, files: &[TranscriptFile]) -> Self {
        if let ErrorKind::Ambiguous { candidates, .. } = &mut *self.0 {
            candidates.extend(files.iter().map(Candidate::file));
        }
        self
    }

    /// Creates the error that a file or folder could not be written.
    /// Says that a file is not the transcript of a session.
    pub(crate) fn not_a_session(file: &TranscriptFile) -> Self {
        Self::new(ErrorKind::NotASession { path: file.path.clone() })
    }

    /// Returns what makes an error of one that a file could not be read with.
    pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::read(path, source)
    }

    /// Returns what makes an error of one that a file could not be written with.
    pub(crate) fn writing(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::write(path, source)
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::new(ErrorKind::Write { path: path.to_owned(), source })
    }

    /// Creates the error that the database of search failed. What SQLite says has no text of transcripts.
    #[cfg(feature = "search")]
    pub(crate) fn index(path: &Path, error: rusqlite::Error) -> Self {
        let reason = match error {
            rusqlite::Error::SqliteFailure(code, message) => message.unwrap_or_else(|| code.to_string()),
            rusqlite::Error::InvalidPath(_) => "its file cannot be opened".to_owned(),
            _ => "it is damaged".to_owned(),
        };
        Self::new(ErrorKind::Index { path: path.to_owned(), reason })
    }

    /// Returns whether there is no search index that can be searched: it was never made, or it is damaged, of another version
    /// or made by other rules. An update makes it.
    #[cfg(feature = "search")]
    pub fn is_no_index(&self) -> bool {
        matches!(*self.0, ErrorKind::NoIndex)
    }

    /// Returns whether another process is updating the search index.
    #[cfg(feature = "search")]
    pub fn is_index_busy(&self) -> bool {
        matches!(*self.0, ErrorKind::IndexBusy)
    }

    /// Returns whether a page cannot be continued because the search index was rebuilt.
    #[cfg(feature = "search")]
    pub fn is_stale_cursor(&self) -> bool {
        matches!(*self.0, ErrorKind::StaleCursor)
    }

    /// Returns whether a query cannot be answered as it is written.
    #[cfg(feature = "search")]
    pub fn is_query(&self) -> bool {
        matches!(*self.0, ErrorKind::Query { .. })
    }

    /// Returns whether a search was stopped at its deadline.
    #[cfg(feature = "search")]
    pub fn is_out_of_time(&self) -> bool {
        matches!(*self.0, ErrorKind::OutOfTime)
    }

    /// Returns whether nothing was done because another process writes to the session, or may do so.
    pub fn is_live(&self) -> bool {
        match &*self.0 {
            ErrorKind::Live { .. }
            | ErrorKind::LivenessUnknown { .. }
            | ErrorKind::ChangedWhileCopied { .. } => true,
            ErrorKind::Writer(error) => error.is_busy(),
            _ => false,
        }
    }

    /// Returns the error of the recorder or the rewriter, if it is one.
    pub fn writer(&self) -> Option<&write::Error> {
        match &*self.0 {
            ErrorKind::Writer(error) => Some(error),
            _ => None,
        }
    }

    /// Returns whether a session has no such file, no version of it, or no backup of that version any more.
    pub fn is_no_version(&self) -> bool {
        matches!(
            *self.0,
            ErrorKind::NoSnapshot { .. }
                | ErrorKind::NoChangedFile { .. }
                | ErrorKind::NoVersion { .. }
                | ErrorKind::BackupGone
        )
    }

    /// Returns the changed files that the end of a path may mean, if there are several.
    pub fn changed_files(&self) -> &[String] {
        match &*self.0 {
            ErrorKind::AmbiguousFile { candidates, .. } => candidates,
            _ => &[],
        }
    }

    /// Returns whether there is no such session.
    pub fn is_not_found(&self) -> bool {
        matches!(*self.0, ErrorKind::NotFound { .. })
    }

    /// Returns whether a session has no transcript of an agent.
    pub fn is_no_agent(&self) -> bool {
        matches!(*self.0, ErrorKind::NoAgent { .. })
    }

    /// Returns whether a name was refused because it is an agent's, and not a session's.
    pub fn is_agent(&self) -> bool {
        matches!(*self.0, ErrorKind::IsAgent { .. })
    }

    /// Returns whether a transcript was not opened because it lies outside of the config folders.
    pub fn is_outside(&self) -> bool {
        matches!(*self.0, ErrorKind::Outside { .. })
    }

    /// Returns whether a title was refused because it is empty.
    pub fn is_no_title(&self) -> bool {
        matches!(*self.0, ErrorKind::NoTitle)
    }

    /// Returns whether a file or folder could not be read.
    pub fn is_unreadable(&self) -> bool {
        matches!(*self.0, ErrorKind::Read { .. })
    }

    /// Returns whether there is no such session in the trash.
    pub fn is_not_in_trash(&self) -> bool {
        matches!(*self.0, ErrorKind::NotInTrash { .. } | ErrorKind::NoTrashEntry { .. })
    }

    /// Returns whether only a part of a session is left in the trash.
    pub fn is_half_purged(&self) -> bool {
        matches!(*self.0, ErrorKind::HalfPurged { .. })
    }

    /// Returns whether a session cannot be restored completely because another file has one of its paths.
    pub fn is_path_taken(&self) -> bool {
        matches!(*self.0, ErrorKind::PathTaken { .. } | ErrorKind::PartlyRestored { .. })
    }

    /// Creates the error that not one but `found` entries have an id that begins with a text.
    pub(crate) fn not_one_entry(beginning: &str, found: usize) -> Self {
        let id = beginning.to_owned();
        Self::new(if found == 0 {
            ErrorKind::NoEntry { id }
        } else {
            ErrorKind::AmbiguousEntry { id, found }
        })
    }

    /// Returns whether there is no such entry, or not only one.
    pub fn is_no_entry(&self) -> bool {
        matches!(
            *self.0,
            ErrorKind::NoEntry { .. } | ErrorKind::AmbiguousEntry { .. } | ErrorKind::NotAMessage { .. }
        )
    }

    /// Returns whether a given folder is not a config folder of Claude Code.
    pub fn is_no_projects(&self) -> bool {
        matches!(*self.0, ErrorKind::NoProjects { .. })
    }

    /// Returns the sessions whose names are nearest to one that no session has, the nearest first. The list is empty for
    /// other errors.
    pub fn nearest(&self) -> &[Candidate] {
        match &*self.0 {
            ErrorKind::NotFound { nearest, .. } => nearest,
            _ => &[],
        }
    }

    /// Returns the sessions or agents that an ambiguous name may mean. The list is empty for other errors.
    pub fn candidates(&self) -> &[Candidate] {
        match &*self.0 {
            ErrorKind::Ambiguous { candidates, .. } => candidates,
            _ => &[],
        }
    }
}
