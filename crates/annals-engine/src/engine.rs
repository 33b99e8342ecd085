//! The engine: everything annals can do with sessions on disk, one method each. Read this first; the methods delegate to the
//! modules that do the work.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals_transcript::write::fs::{Disk, RealDisk};
use annals_transcript::write::rewrite::RemovalMethod;
use annals_transcript::write::{Recorder, Target};
use jiff::Timestamp;

use crate::belongings::{self, Belonging};
use crate::catalog::{
    self, Copies, ListOptions, Listing, Project, RootSummary, SessionRow, SessionTitle, Workspace,
};
use crate::check::{self, CheckedFile, FolderFinding};
use crate::context::{self, ContextUse};
use crate::error::Error;
use crate::file_history::{self, FileHistory};
use crate::files::{Selection, TranscriptFile};
#[cfg(feature = "follow")]
use crate::follow::{self, FollowOptions, Follower};
use crate::fork::{self, Fork, ForkOptions};
use crate::home::Home;
use crate::insight::{self, Insight, InsightOptions};
use crate::labels;
use crate::lineage::{self, Relation};
use crate::live::{self, LiveWriter, Liveness, ProcessView};
use crate::lookup;
use crate::prompts::{self, Ghost, PromptHistory};
use crate::push::{self, PushOptions, Pusher};
use crate::recording::{self, Recording};
use crate::remote::Ingress;
use crate::repair::{self, Plan, RepairOptions, RepairOutcome, Undone};
use crate::report::{self, Report};
use crate::resume::{self, Resumption};
use crate::rewrite::{self, HydrateOptions, HydrateOutcome};
use crate::roots::Roots;
#[cfg(feature = "search")]
use crate::search::{
    self, IndexOptions, IndexProgress, IndexReport, IndexStatus, Pattern, SearchAnswer, SearchOptions,
    TextFilter,
};
use crate::snapshot::{Conversation, Snapshot};
use crate::status_line::{self, PlanRecords, StatusInput};
use crate::subagent::{self, Agents, Meta};
use crate::symlink_guard::SymlinkGuard;
use crate::trash::{self, TrashEntry};
use crate::usage::{self, RecentCosts, Usage};

/// Finds sessions in the config folders of Claude Code, answers questions about them and changes them.
#[derive(Clone, Debug)]
pub struct Engine {
    roots: Roots,
    home: Home,
    disk: Arc<dyn Disk>,
    processes: Option<ProcessView>,
    #[cfg(feature = "search")]
    open_indexes: Arc<search::OpenIndexes>,
}

/// Opening.
impl Engine {
    /// Opens config folders of Claude Code. `home` is where annals keeps its own files.
    pub fn open(roots: Roots, home: Home) -> Self {
        Self {
            roots,
            home,
            disk: Arc::new(RealDisk),
            processes: None,
            #[cfg(feature = "search")]
            open_indexes: Arc::default(),
        }
    }

    /// Returns the engine with another disk to write to.
    #[must_use]
    pub fn with_disk(self, disk: Arc<dyn Disk>) -> Self {
        Self { disk, ..self }
    }

    /// Returns the engine with another view of the processes of the machine.
    #[must_use]
    pub fn with_processes(self, processes: ProcessView) -> Self {
        Self { processes: Some(processes), ..self }
    }

    /// Returns the folder of annals itself.
    pub fn home(&self) -> &Home {
        &self.home
    }

    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    #[cfg(feature = "search")]
    pub(crate) fn open_indexes(&self) -> &search::OpenIndexes {
        &self.open_indexes
    }

    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub(crate) fn processes(&self) -> ProcessView {
        self.processes.unwrap_or_else(ProcessView::of_machine)
    }
}

/// Finding sessions by name.
impl Engine {
    /// Returns every transcript in the config folders, subagents' included.
    pub fn transcripts(&self) -> Selection {
        Selection::of_projects(self.roots.projects())
    }

    /// Returns the transcripts that an argument names: a file, all below a folder, or a session.
    pub fn select(&self, selector: &OsStr) -> Result<Selection, Error> {
        lookup::select(self, selector)
    }

    /// Returns the one transcript that an argument names: a file, an id, the beginning of an id, a title, or `latest`.
    ///
    /// ```
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let file = engine.session("3e11".as_ref())?;
    /// assert_eq!(file.session.as_deref(), Some("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55"));
    /// assert!(engine.session("no such title".as_ref()).unwrap_err().is_not_found());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn session(&self, selector: &OsStr) -> Result<TranscriptFile, Error> {
        lookup::session(self, selector)
    }

    /// Returns the session that a command reads. Here a name may also be what a person remembers: a title in another case, a part
    /// of a title, or words of the first prompt. The error of a name that is too vague has [`Error::candidates`]; that of a name
    /// that no session has has [`Error::nearest`].
    pub fn session_to_read(&self, selector: &OsStr) -> Result<TranscriptFile, Error> {
        lookup::session_to_read(self, selector)
    }

    /// Returns the session that a name means, as [`session_to_read`](Self::session_to_read) does, for callers that are not trusted with paths
    /// and see masked texts: a path names nothing, sessions that only links out of the config folders lead to are unknown, and titles and
    /// prompts are compared as `mask` returns them, so that nobody can guess what is masked.
    pub fn session_by_name(
        &self,
        name: &str,
        mask: &dyn Fn(&str) -> String,
    ) -> Result<TranscriptFile, Error> {
        lookup::session_by_name(self, name, mask)
    }

    /// Returns the transcript of the session with exactly this id, for callers that are not trusted with paths: only the
    /// config folders are searched, and no link out of them is followed.
    ///
    /// `project` is a working directory, which selects one of several sessions with this id, or the path of a transcript. The
    /// path of a session's transcript means that session and no other, even if it is the only one with this id; that of an
    /// agent's transcript selects the session that the agent belongs to.
    pub fn session_with_id(&self, id: &str, project: Option<&Path>) -> Result<TranscriptFile, Error> {
        lookup::session_with_id(self, id, project)
    }

    /// Returns the one transcript that an argument names: that of a session, or if no session has the name, that of an agent
    /// by its id or the beginning of it, with or without `agent-` before it, or else that of a session whose title or first
    /// prompt a person remembers, see [`session_to_read`](Self::session_to_read).
    ///
    /// ```
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let agents = folder.path().join("projects/-src/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55/subagents");
    /// # std::fs::create_dir_all(&agents)?;
    /// # std::fs::write(agents.join("agent-a1b2c3d.jsonl"), "{}\n")?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// assert_eq!(engine.transcript("a1b2".as_ref())?.agent.as_deref(), Some("a1b2c3d"));
    /// assert!(engine.session("a1b2".as_ref()).unwrap_err().is_agent());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transcript(&self, selector: &OsStr) -> Result<TranscriptFile, Error> {
        lookup::transcript(self, selector)
    }

    /// Returns the transcript of the agent of a session with exactly this id, for callers that are not trusted with paths: the
    /// id is compared with the agents that the session has, and no link out of the config folders is followed. If `project` is
    /// the path of a transcript of an agent with this id, it means that agent and no other.
    pub fn agent_with_id(
        &self,
        session: &TranscriptFile,
        agent: &str,
        project: Option<&Path>,
    ) -> Result<TranscriptFile, Error> {
        lookup::agent_with_id(self, session, agent, project)
    }

    /// Returns the transcripts of all sessions with exactly this id: there may be copies in several projects.
    pub fn transcripts_with_id(&self, id: &str) -> Vec<TranscriptFile> {
        lookup::sessions_with_id(self, id)
    }

    /// Returns the ids of all sessions, sorted. One that is in several projects is there several times.
    pub fn session_ids(&self) -> Vec<String> {
        catalog::session_ids(self)
    }

    /// Returns whether a text is the id of a session or the beginning of one, at least 4 characters of it.
    pub fn is_session_prefix(&self, text: &str) -> bool {
        lookup::is_session_prefix(self, text)
    }

    /// Returns the session that an operation is to change. If restoring it was interrupted, that is finished first.
    pub fn session_to_change(&self, selector: &OsStr) -> Result<TranscriptFile, Error> {
        lookup::session_to_change(self, selector)
    }

    /// Returns the id of the session to record to: a UUID as it is, whether such a session exists or not; any other text
    /// names an existing session; without a name, the id is new.
    pub fn session_to_record(&self, selector: Option<&OsStr>) -> Result<String, Error> {
        lookup::session_to_record(self, selector)
    }

    /// Returns the guard that keeps callers inside the config folders, wherever symbolic links lead.
    pub fn symlink_guard(&self) -> SymlinkGuard {
        SymlinkGuard::new(&self.roots)
    }
}

/// Lists.
impl Engine {
    /// Lists sessions.
    ///
    /// ```
    /// use annals_engine::ListOptions;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let listing = engine.list(&ListOptions { title: Some("plants".into()), ..ListOptions::default() });
    /// let [session] = &listing.sessions[..] else { panic!("one session matches") };
    /// assert_eq!(session.facts.first_prompt.as_deref(), Some("Water the plants"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(&self, options: &ListOptions) -> Listing {
        catalog::list(self, options)
    }

    /// Lists sessions, and calls `progress(done, total)` with numbers of bytes after each batch of files. `Break` stops and
    /// returns a partial list.
    pub fn list_with_progress(
        &self,
        options: &ListOptions,
        progress: impl Fn(u64, u64) -> ControlFlow<()>,
    ) -> Listing {
        catalog::list_with_progress(self, options, progress)
    }

    /// Returns one session as a list shows it.
    pub fn session_row(&self, file: &TranscriptFile) -> Result<SessionRow, Error> {
        catalog::session_row(self, file)
    }

    /// Returns the titles and projects of sessions with these transcripts; `None` for those that cannot be read.
    pub fn session_titles(&self, paths: &[PathBuf]) -> Vec<Option<SessionTitle>> {
        catalog::session_titles(self, paths)
    }

    /// Returns a working directory, to decide which sessions belong to it as they change.
    pub fn workspace(&self, path: &Path) -> Workspace {
        catalog::workspace(self, path)
    }

    /// Returns the projects of sessions, most recent first with worktrees after their repository, and what could not be read.
    pub fn projects(&self, options: &ListOptions) -> (Vec<Project>, Vec<Error>) {
        catalog::projects(self, options)
    }

    /// Returns the config folders, with how many projects and sessions each has.
    pub fn root_summaries(&self) -> Vec<RootSummary> {
        catalog::root_summaries(self)
    }

    /// Returns the paths of the config folders, without reading them.
    pub fn root_folders(&self) -> impl Iterator<Item = &Path> {
        self.roots.named()
    }
}

/// Following.
#[cfg(feature = "follow")]
impl Engine {
    /// Starts to report changes of transcripts as they happen. What the files contain already is not reported. If all
    /// transcripts are followed, changes of titles, the archive, the trash and the sessions that are open are reported, too.
    ///
    /// ```
    /// use annals_engine::FollowOptions;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let mut follower = engine.follow(&FollowOptions::default());
    /// engine.rename(&engine.session(id.as_ref())?, "Plants")?;
    /// let mut lines = 0;
    /// while lines == 0 {
    ///     follower.wait(std::time::Duration::from_millis(100), |_file, event| {
    ///         lines += usize::from(matches!(event, annals_engine::Event::Entry { .. }));
    ///     });
    /// }
    /// assert_eq!(lines, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn follow(&self, options: &FollowOptions) -> Follower {
        follow::follow(self, options)
    }
}

/// Counting.
impl Engine {
    /// Counts the responses of all transcripts in the config folders, and of those that were there before. Only what is new since the
    /// last time is read.
    ///
    /// ```
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"assistant","uuid":"u","message":{"id":"m","model":"x","usage":{"input_tokens":1,"output_tokens":2}}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let usage = engine.usage();
    /// assert_eq!(usage.ledger.responses().next().unwrap().count.counters.output, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn usage(&self) -> Usage {
        usage::count(self, false)
    }

    /// Does the same for callers that are not trusted: no link out of the config folders is followed.
    pub fn usage_inside(&self) -> Usage {
        usage::count(self, true)
    }

    /// Counts the responses of some transcripts. Nothing is stored.
    pub fn usage_of(&self, files: &[TranscriptFile]) -> Usage {
        usage::count_files(files)
    }

    /// Removes what was counted in transcripts that do not exist any more. Returns how many transcripts that were.
    pub fn forget_usage(&self) -> Result<usize, Error> {
        usage::forget(self)
    }

    /// Returns the prices of models: those that annals knows, and the user's own.
    pub fn prices(&self) -> Result<annals_usage::Prices, Error> {
        usage::prices(self)
    }
}

/// Searching.
#[cfg(feature = "search")]
impl Engine {
    /// Finds messages by their words. The texts of the index and of the hits passed through `filter`.
    ///
    /// ```
    /// use annals_engine::{IndexOptions, SearchOptions, Unfiltered};
    /// use annals_search::Query;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// engine.update_index(&Unfiltered, &IndexOptions::default(), |_| std::ops::ControlFlow::Continue(()))?;
    /// let query = Query::parse("plant* role:user")?;
    /// let answer = engine.search(&query, &Unfiltered, &SearchOptions::default())?;
    /// assert_eq!((answer.total, &*answer.hits[0].snippet.text), (1, "Water the plants"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn search(
        &self,
        query: &annals_search::Query,
        filter: &dyn TextFilter,
        options: &SearchOptions,
    ) -> Result<SearchAnswer, Error> {
        search::search(self, query, filter, options)
    }

    /// Finds messages by a pattern, without the index: all transcripts are read. `filters` is a query whose filters say which
    /// messages are searched; its words are ignored. The pattern is looked for in texts that passed through `filter`.
    ///
    /// ```
    /// use annals_engine::{Pattern, SearchOptions, Unfiltered};
    /// use annals_search::Query;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let pattern = Pattern::regex("plants?$")?;
    /// let answer = engine.scan(&pattern, &Query::parse("role:user")?, &Unfiltered, &SearchOptions::default())?;
    /// assert_eq!((answer.total, &*answer.hits[0].snippet.text), (1, "Water the plants"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(
        &self,
        pattern: &Pattern,
        filters: &annals_search::Query,
        filter: &dyn TextFilter,
        options: &SearchOptions,
    ) -> Result<SearchAnswer, Error> {
        search::scan(self, pattern, filters, filter, options)
    }

    /// Brings the index of search up to date with the transcripts, and calls `progress` after each step; `Break` ends the
    /// update, and what was indexed stays. An index that cannot be used is rebuilt.
    pub fn update_index(
        &self,
        filter: &dyn TextFilter,
        options: &IndexOptions,
        mut progress: impl FnMut(IndexProgress) -> ControlFlow<()>,
    ) -> Result<IndexReport, Error> {
        search::update(self, filter, options, &mut progress)
    }

    /// Brings the index of search up to date with some transcripts that were created, changed or removed, given by their paths in
    /// the config folders. No other file is looked at, so this takes milliseconds. Fails with
    /// [`Error::is_no_index`] if there is no index yet; [`Engine::update_index`] makes one.
    pub fn update_index_files(
        &self,
        filter: &dyn TextFilter,
        options: &IndexOptions,
        paths: &[PathBuf],
    ) -> Result<IndexReport, Error> {
        search::update_files(self, filter, options, paths)
    }

    /// Returns the paths that messages of a working directory may record: as it is written, with links resolved, and those of
    /// its worktrees.
    pub fn paths_of_project(&self, path: &Path) -> Vec<String> {
        crate::catalog::paths_of_project(path)
    }

    /// Returns what the index of search has, and how much it lacks.
    pub fn index_status(&self, filter: &dyn TextFilter) -> Result<IndexStatus, Error> {
        search::status(self, filter)
    }

    /// Removes the index of search.
    pub fn clear_index(&self) -> Result<(), Error> {
        search::clear(self)
    }
}

/// Reading one session.
impl Engine {
    /// Opens a transcript: its entries are in memory, their bodies on disk.
    ///
    /// ```
    /// use annals_engine::Conversation;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let snapshot = engine.snapshot(engine.session("latest".as_ref())?)?;
    /// let conversation = Conversation::of(&snapshot)?;
    /// assert_eq!(conversation.turns().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&self, file: TranscriptFile) -> Result<Snapshot, Error> {
        Snapshot::take(file)
    }

    /// Opens the first `length` bytes of a transcript, for callers that are not trusted with paths: the file that was opened
    /// must be inside the config folders, even if links change meanwhile.
    pub fn snapshot_inside(&self, file: TranscriptFile, length: u64) -> Result<Snapshot, Error> {
        Snapshot::take_inside(file, length, &self.symlink_guard())
    }

    /// Reads one transcript and counts it.
    ///
    /// ```
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let report = engine.read(engine.session("latest".as_ref())?)?;
    /// assert_eq!((report.stats.lines, report.stats.turns), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, file: TranscriptFile) -> Result<Report, Error> {
        report::read(file)
    }

    /// Reads transcripts on all cores, largest first, and calls `done` with the bytes of each as it is finished. Returns
    /// the reports in the order of `files`; a file that cannot be read does not end the work.
    pub fn read_all(
        &self,
        files: Vec<TranscriptFile>,
        done: impl Fn(u64) + Sync,
    ) -> Vec<Result<Report, Error>> {
        report::read_all(files, done)
    }

    /// Checks one transcript: what is wrong with its lines, what Claude Code would lose of it, and what helps.
    ///
    /// ```
    /// use annals_engine::{Issue, Severity};
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = |kind: &str, id: &str, parent: &str, hour: u8| format!(r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},"cwd":"/src","timestamp":"2026-01-01T{hour}:00:00.000Z","message":{{"role":"{kind}","content":[{{"type":"text","text":"Water the plants"}}]}}}}"#);
    /// # let lines = [line("user", "u1", "null", 10), line("assistant", "a1", "\"u1\"", 11), line("user", "u2", "\"gone\"", 12)];
    /// # std::fs::write(project.join(format!("{id}.jsonl")), lines.join("\n") + "\n")?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let checked = engine.check(engine.session("latest".as_ref())?)?;
    /// assert_eq!(checked.findings[0].issue, Issue::Lost { messages: 2, to: 2 });
    /// assert_eq!(checked.findings[0].severity(), Severity::Error);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self, file: TranscriptFile) -> Result<CheckedFile, Error> {
        check::check(self, file, true)
    }

    /// Does the same for callers that are not trusted with paths: the file must be inside the config folders.
    pub fn check_inside(&self, file: TranscriptFile) -> Result<CheckedFile, Error> {
        check::check_inside(self, file)
    }

    /// Checks transcripts on all cores, and calls `each` with every result, in the order of `files`, while others are still being checked. What most
    /// transcripts have is not reported for each if `is_alone` is false: see [`Engine::check_folders`].
    pub fn check_all(
        &self,
        files: Vec<TranscriptFile>,
        is_alone: bool,
        each: impl FnMut(Result<CheckedFile, Error>),
    ) {
        check::check_all(self, files, is_alone, each);
    }

    /// Returns what is wrong with the config folders as a whole: folders that several working directories share, transcripts that all users can
    /// read, and how many sessions Claude Code will delete.
    pub fn check_folders(&self) -> Vec<FolderFinding> {
        check::check_folders(self)
    }

    /// Returns the agents of the session that a transcript belongs to: type, task, the call that started each, and how it ended. The call is known from the
    /// agent's metadata, or else from a result in the transcripts of the session and of its agents that names the agent.
    ///
    /// ```
    /// use annals_engine::AgentState;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # std::fs::create_dir_all(project.join(id).join("subagents"))?;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), "{\"type\":\"user\",\"uuid\":\"u\"}\n")?;
    /// # std::fs::write(project.join(id).join("subagents/agent-a1b2c3d.jsonl"), "{\"type\":\"user\",\"uuid\":\"v\"}\n")?;
    /// # std::fs::write(project.join(id).join("subagents/agent-a1b2c3d.meta.json"), "{\"agentType\":\"Explore\",\"finished\":true}")?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let agents = engine.agents(&engine.session("latest".as_ref())?)?;
    /// let [agent] = &agents.local[..] else { panic!("one agent") };
    /// assert_eq!((agent.meta.agent_type.as_deref(), agent.state), (Some("Explore"), AgentState::Done));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn agents(&self, file: &TranscriptFile) -> Result<Agents, Error> {
        subagent::agents(self, file, None)
    }

    /// Does the same for callers that are not trusted with paths: files outside of the config folders are left out.
    pub fn agents_inside(&self, file: &TranscriptFile) -> Result<Agents, Error> {
        subagent::agents(self, file, Some(&self.symlink_guard()))
    }

    /// Returns the files that a session and its subagents changed, with the versions that Claude Code keeps.
    ///
    /// ```
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let lines = r#"{"type":"file-history-snapshot","messageId":"u","snapshot":{"messageId":"u","trackedFileBackups":{"plants.txt":{"backupFileName":"0a1b2c3d4e5f6071@v2","version":2}}}}
    /// # {"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{lines}\n"))?;
    /// # let backups = folder.path().join("file-history").join(id);
    /// # std::fs::create_dir_all(&backups)?;
    /// # std::fs::write(backups.join("0a1b2c3d4e5f6071@v2"), "fern\n")?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let history = engine.file_history(&engine.session(id.as_ref())?)?;
    /// let (file, version) = history.version_at("plants.txt", "u")?;
    /// assert_eq!((&*file.path, version.number), ("/src/plants.txt", 2));
    /// assert_eq!(history.content(version)?.as_deref(), Some(&b"fern\n"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file_history(&self, file: &TranscriptFile) -> Result<FileHistory, Error> {
        file_history::file_history(self, file, false)
    }

    /// Returns the same for callers that are not trusted with paths: no subagent's transcript outside of the config folders
    /// is read.
    pub fn file_history_inside(&self, file: &TranscriptFile) -> Result<FileHistory, Error> {
        file_history::file_history(self, file, true)
    }

    /// Returns what is at a path where a version of a file is to be restored; `None` if there is nothing. Fails if it is not
    /// a regular file: a link is not followed.
    pub fn before_restoring(&self, target: &Path) -> Result<Option<Vec<u8>>, Error> {
        file_history::before_restoring(target)
    }

    /// Writes a restored version of a file, completely or not at all. `expected` is what the caller has seen at the path; if
    /// something else is there by now, nothing is written. A new file gets the permissions of its backup.
    pub fn write_restored(
        &self,
        target: &Path,
        expected: Option<&[u8]>,
        content: &[u8],
        backup: Option<&Path>,
    ) -> Result<(), Error> {
        file_history::write_restored(self, target, expected, content, backup)
    }

    /// Returns the sessions of the same project that are related to a session, the closest first.
    pub fn lineage(&self, file: &TranscriptFile) -> Result<Vec<Relation>, Error> {
        lineage::lineage(file)
    }

    /// Returns groups of sessions that have entries in common, such as copies and forks, for callers that are not trusted with paths.
    /// Files are read the first time; `go_on` is asked from time to time.
    pub fn copies_inside(&self, go_on: impl FnMut() -> ControlFlow<()>) -> Copies {
        catalog::copies(self, go_on)
    }

    /// Returns the sessions of any project that have entries in common with a session, the closest first, for callers that are not
    /// trusted with paths: of a session that lies outside of the config folders there are none.
    pub fn copies_of_inside(
        &self,
        file: &TranscriptFile,
        go_on: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Vec<Relation>, Error> {
        lineage::copies_of(self, file, go_on)
    }
}

/// What the work was.
impl Engine {
    /// Reads transcripts and adds up what they say about the work: days and hours, tools and errors, edited files. `done` is called with
    /// the size of each transcript after it was read, and may end the reading. What could not be read is returned as errors.
    ///
    /// ```
    /// use annals_engine::InsightOptions;
    /// use jiff::tz::TimeZone;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"assistant","uuid":"a","parentUuid":null,"timestamp":"2026-01-01T10:00:00.000Z","message":{"id":"m","model":"claude-x","usage":{"input_tokens":900,"output_tokens":2},"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let options = InsightOptions { since: None, until: None, zone: TimeZone::UTC };
    /// let (insight, errors) = engine.insight(engine.transcripts().files, &options, |_| std::ops::ControlFlow::Continue(()));
    /// assert_eq!((insight.tools["Bash"].calls, errors.len()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insight(
        &self,
        files: Vec<TranscriptFile>,
        options: &InsightOptions,
        done: impl Fn(u64) -> ControlFlow<()> + Sync,
    ) -> (Insight, Vec<Error>) {
        insight::insight(files, options, done)
    }

    /// Returns how full the context of a conversation was, what filled it, and what compactions saved.
    ///
    /// ```
    /// use annals_engine::Conversation;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"assistant","uuid":"a","parentUuid":null,"timestamp":"2026-01-01T10:00:00.000Z","message":{"id":"m","model":"claude-x","usage":{"input_tokens":900,"output_tokens":2},"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let snapshot = engine.snapshot(engine.session("latest".as_ref())?)?;
    /// let context = engine.context_use(&Conversation::of(&snapshot)?)?;
    /// assert_eq!(context.tokens, Some(900));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn context_use(&self, conversation: &Conversation<'_>) -> Result<ContextUse, Error> {
        context::context_use(conversation)
    }

    /// Returns a session's transcript with those of its subagents.
    pub fn with_subagents(&self, file: TranscriptFile) -> Selection {
        Selection::with_subagents(file)
    }

    /// Returns all transcripts, without those that links lead to from outside of the config folders.
    pub fn transcripts_inside(&self) -> Selection {
        self.transcripts().inside(self.symlink_guard())
    }
}

/// The history of prompts.
impl Engine {
    /// Returns the prompts that were typed.
    pub fn prompts(&self) -> PromptHistory {
        prompts::prompts(self)
    }

    /// Returns the sessions that the prompt history names and whose transcripts are gone, most recent first.
    pub fn ghosts(&self, options: &ListOptions) -> (Vec<Ghost>, Vec<Error>) {
        prompts::ghosts(self, options)
    }
}

/// Status lines.
impl Engine {
    /// Records what a status line of Claude Code says that is recorded nowhere else, if it is new: how much of the plan was used, and
    /// what the session cost by Claude Code's own count. Returns whether something was written.
    pub fn record_status(&self, input: &StatusInput, now: Timestamp) -> io::Result<bool> {
        status_line::record(&*self.disk, &self.home, input, now)
    }

    /// Returns what status lines recorded about the plan: whether there is one, and when its five-hour windows end.
    pub fn plan_records(&self) -> PlanRecords {
        status_line::plan_records(&self.home)
    }

    /// Returns what the day that began at `day_start` and the present five-hour window cost, as they were last counted, with what was
    /// appended to a transcript since; `None` if nothing was counted yet. No database is opened, and at most 1 MiB of the transcript is
    /// read. `window_end` is the end of the window in milliseconds since 1970, if it is known.
    pub fn recent_costs(
        &self,
        transcript: Option<&Path>,
        day_start: i64,
        window_end: Option<i64>,
        now: Timestamp,
    ) -> Option<RecentCosts> {
        usage::recent_costs(self, transcript, day_start, window_end, now)
    }

    /// Returns whether [`Engine::update_recent_costs`] should be called: at most once a minute.
    pub fn claim_cost_update(&self, now: Timestamp) -> bool {
        usage::claim_update(self, now)
    }

    /// Counts what [`Engine::recent_costs`] returns, unless another process does so or did so within a minute. Returns whether it did.
    pub fn update_recent_costs(&self, now: Timestamp) -> Result<bool, Error> {
        usage::update_recent(self, now)
    }
}

/// Sessions that are open elsewhere.
impl Engine {
    /// Returns the Claude Code that has a session open, by its registry of running processes.
    pub fn registered_writer(&self, file: &TranscriptFile) -> Option<LiveWriter> {
        live::registered_writer(self, file)
    }

    /// Returns the ids of the sessions that are open in Claude Code, each with the number of processes that have it open.
    pub fn live_sessions(&self) -> HashMap<String, usize> {
        live::live_sessions(self)
    }

    /// Returns whether any process writes to a session: a Claude Code that has it open, or one that makes it grow. If it was
    /// written a moment ago, this waits to see whether it grows.
    pub fn liveness(&self, file: &TranscriptFile) -> Result<Liveness, Error> {
        live::liveness(self, file)
    }
}

/// Continuing.
impl Engine {
    /// Returns how Claude Code continues a session: in which folder, with which config folder, and what prevents it.
    pub fn resumption(&self, file: &TranscriptFile) -> Result<Resumption, Error> {
        resume::resumption(self, file)
    }
}

/// Recording.
impl Engine {
    /// Opens a session for recording: the existing one, wherever it lies, or else a new one in the folder of its project.
    /// The file is created when the first message is written.
    ///
    /// ```
    /// use annals_engine::Recording;
    /// use annals_transcript::write::Draft;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let recording = Recording {
    ///     project: Some("/src".into()),
    ///     session: id.to_owned(),
    ///     entrypoint: "example".to_owned(),
    ///     ..Recording::default()
    /// };
    /// let mut recorder = engine.recorder(&recording)?;
    /// recorder.append(vec![Draft::user("And the herbs")])?;
    /// recorder.flush()?;
    /// assert_eq!(engine.read(engine.session(id.as_ref())?)?.stats.lines, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recorder(&self, recording: &Recording) -> Result<Recorder, Error> {
        recording::recorder(self, recording)
    }

    /// Returns where a recording is written.
    pub fn target(&self, recording: &Recording) -> Result<Target, Error> {
        recording::target(self, recording)
    }

    /// Writes metadata of a subagent beside its transcript. Existing fields stay unless `meta` has them.
    pub fn describe_agent(&self, target: &Target, meta: &Meta) -> Result<(), Error> {
        recording::describe_agent(self, target, meta)
    }
}

/// Sending.
impl Engine {
    /// Opens a transcript for pushing: [`Pusher::push`] sends its entries to the log at an address, in order and each once.
    ///
    /// ```
    /// use annals_engine::{Ingress, PushOptions, PutAnswer, PutEntry};
    ///
    /// /// A server that stores whatever it gets.
    /// #[derive(Debug)]
    /// struct Store;
    ///
    /// impl Ingress for Store {
    ///     fn put(&self, _address: &str, _entry: &PutEntry<'_>) -> PutAnswer {
    ///         PutAnswer::Stored
    ///     }
    /// }
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let file = engine.session(id.as_ref())?;
    /// let address = "https://logs.example/v1/session";
    /// let mut pusher = engine.pusher(&file, address, Box::new(Store), PushOptions::default())?;
    /// assert_eq!(pusher.push()?.sent, 1);
    /// assert_eq!(pusher.push()?.sent, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pusher(
        &self,
        file: &TranscriptFile,
        address: &str,
        ingress: Box<dyn Ingress>,
        options: PushOptions,
    ) -> Result<Pusher, Error> {
        push::pusher(self, file, address, ingress, options)
    }
}

/// Changing a session.
impl Engine {
    /// Gives a session a title. It is appended to the transcript and, so that no amount of later text hides it, written to
    /// a small file beside it, which Claude Code reads too (LISTS 3.2).
    pub fn rename(&self, file: &TranscriptFile, title: &str) -> Result<(), Error> {
        labels::rename(self, file, title)
    }

    /// Gives a session a tag, or removes it.
    pub fn tag(&self, file: &TranscriptFile, tag: Option<&str>) -> Result<(), Error> {
        labels::tag(self, file, tag)
    }

    /// Puts a session into the archive of Claude Code, or takes it out.
    pub fn set_archived(&self, file: &TranscriptFile, archived: bool) -> Result<(), Error> {
        labels::set_archived(self, file, archived)
    }

    /// Copies a session. The copied entries get new ids and name the session and the entry that they come from.
    ///
    /// ```
    /// use annals_engine::ForkOptions;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let fork = engine.fork(&engine.session(id.as_ref())?, &ForkOptions { title: Some("Herbs".into()), ..ForkOptions::default() })?;
    /// assert_eq!((fork.entries, fork.title.as_str()), (1, "Herbs"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fork(&self, file: &TranscriptFile, options: &ForkOptions) -> Result<Fork, Error> {
        fork::fork(self, file, options)
    }

    /// Returns the id of the one entry whose id begins with a text.
    pub fn entry_id(&self, file: &TranscriptFile, beginning: &str) -> Result<String, Error> {
        rewrite::entry_id(file, beginning)
    }

    /// Removes one entry from a transcript. The last line is cut off; for any other line the file is rewritten, unless it
    /// is larger than `limit`.
    pub fn remove_entry(
        &self,
        file: &TranscriptFile,
        id: &str,
        limit: u64,
        force: bool,
    ) -> Result<RemovalMethod, Error> {
        rewrite::remove_entry(self, file, id, limit, force)
    }

    /// Returns how [`remove_entry`](Self::remove_entry) would remove an entry, or why it would not. Changes nothing.
    pub fn rehearse_removal(
        &self,
        file: &TranscriptFile,
        id: &str,
        limit: u64,
    ) -> Result<RemovalMethod, Error> {
        rewrite::rehearse_removal(file, id, limit)
    }

    /// Returns what would be done to repair a session.
    pub fn repair_plan(&self, file: &TranscriptFile, options: &RepairOptions) -> Result<Plan, Error> {
        repair::planned(file, options)
    }

    /// Does the same for callers that are not trusted with paths: the file must be inside the config folders.
    pub fn repair_plan_inside(&self, file: &TranscriptFile, options: &RepairOptions) -> Result<Plan, Error> {
        repair::planned_inside(self, file, options)
    }

    /// Repairs a session: appends lines after which Claude Code restores everything that can still be read.
    ///
    /// ```
    /// use annals_engine::RepairOptions;
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = |kind: &str, id: &str, parent: &str, hour: u8| format!(r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},"cwd":"/src","timestamp":"2026-01-01T{hour}:00:00.000Z","message":{{"role":"{kind}","content":[{{"type":"text","text":"Water the plants"}}]}}}}"#);
    /// # let lines = [line("user", "u1", "null", 10), line("assistant", "a1", "\"u1\"", 11), line("user", "u2", "\"gone\"", 12)];
    /// # std::fs::write(project.join(format!("{id}.jsonl")), lines.join("\n") + "\n")?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// // The parent of the last message is gone, so Claude Code would restore that message alone.
    /// let file = engine.session("latest".as_ref())?;
    /// let repaired = engine.repair(&file, &RepairOptions::default(), true)?;
    /// assert!(!repaired.plan.before.missing.is_empty() && repaired.plan.after.missing.is_empty());
    /// engine.undo_repair(&file, true)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repair(
        &self,
        file: &TranscriptFile,
        options: &RepairOptions,
        force: bool,
    ) -> Result<RepairOutcome, Error> {
        repair::repair(self, file, options, force)
    }

    /// Undoes the last repair of a session.
    pub fn undo_repair(&self, file: &TranscriptFile, force: bool) -> Result<Undone, Error> {
        repair::undo(self, file, force)
    }

    /// Replaces or creates a session from a log of entries, completely or not at all. A transcript that is replaced moves to
    /// the trash.
    ///
    /// ```
    /// use annals_engine::{HydrateOptions, Recording};
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let recording = Recording { project: Some("/src".into()), session: id.to_owned(), ..Recording::default() };
    /// let log = [r#"{"type":"user","uuid":"v","parentUuid":null,"message":{"role":"user","content":"Water the herbs"}}"#];
    /// let log = log.map(|entry| Ok(entry.as_bytes().to_vec()));
    /// let options = HydrateOptions { force: true, ..HydrateOptions::default() };
    /// let hydrated = engine.hydrate(&engine.target(&recording)?, log, options)?;
    /// // The transcript that was replaced is in the trash.
    /// assert_eq!((hydrated.entries, hydrated.replaced.is_some()), (1, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hydrate(
        &self,
        target: &Target,
        log: impl IntoIterator<Item = io::Result<Vec<u8>>>,
        options: HydrateOptions,
    ) -> Result<HydrateOutcome, Error> {
        rewrite::hydrate(self, target, log, options)
    }

    /// Reads a log as [`hydrate`](Self::hydrate) would and changes nothing. Returns how many entries it has.
    pub fn rehearse_hydrate(
        &self,
        target: &Target,
        log: impl IntoIterator<Item = io::Result<Vec<u8>>>,
        options: HydrateOptions,
    ) -> Result<usize, Error> {
        rewrite::rehearse_hydrate(target, log, options)
    }
}

/// The trash.
impl Engine {
    /// Returns everything on disk that belongs to a session alone, the transcript last. Files that Claude Code keeps by the
    /// id of a session are left out while another transcript has the same id.
    pub fn belongings(&self, file: &TranscriptFile) -> Result<Vec<Belonging>, Error> {
        belongings::belongings(file)
    }

    /// Moves a session with everything that belongs to it to a new entry of the trash. If that fails, the session stays
    /// where it is.
    ///
    /// ```
    /// # use annals_engine::{Engine, Home, Roots};
    /// # let folder = tempfile::tempdir()?;
    /// # let project = folder.path().join("projects/-src");
    /// # std::fs::create_dir_all(&project)?;
    /// # let id = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    /// # let line = r#"{"type":"user","uuid":"u","parentUuid":null,"cwd":"/src","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"Water the plants"}}"#;
    /// # std::fs::write(project.join(format!("{id}.jsonl")), format!("{line}\n"))?;
    /// # let engine = Engine::open(Roots::given(vec![folder.path().into()])?, Home::at(folder.path().join("annals")));
    /// let file = engine.session(id.as_ref())?;
    /// let entry = engine.delete(&file, true)?;
    /// assert!(engine.session(id.as_ref()).unwrap_err().is_not_found());
    /// assert_eq!(engine.restore(&entry)?, file.path);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&self, file: &TranscriptFile, force: bool) -> Result<TrashEntry, Error> {
        trash::delete(self, file, force)
    }

    /// Returns the entries of the trash, most recently deleted first.
    pub fn trash_entries(&self) -> Vec<TrashEntry> {
        trash::trash_entries(self)
    }

    /// Returns the folders in the trash whose manifests cannot be read. Their files stay there.
    pub fn unreadable_entries(&self) -> Vec<PathBuf> {
        trash::unreadable_entries(self)
    }

    /// Finds a session in the trash by its id, the beginning of it, or its title: its newest entry unless `entry` names one.
    /// Entries of other config folders, whose sessions may have the same id, are found only if these folders have none.
    pub fn in_trash(&self, selector: &str, entry: Option<&str>) -> Result<TrashEntry, Error> {
        trash::in_trash(self, selector, entry)
    }

    /// Returns whether the files of a session are being moved to the trash or from it, or are no longer there: then what is
    /// beside the transcript says nothing about the session.
    pub fn is_moving(&self, file: &TranscriptFile) -> bool {
        trash::is_moving(self, file)
    }

    /// Returns whether a session in the trash was deleted from one of these config folders.
    pub fn is_from_roots(&self, trashed: &TrashEntry) -> bool {
        trash::is_from_roots(self, trashed)
    }

    /// Fails unless an entry can be restored: all of it is there, and no other file is in its place.
    pub fn ensure_restorable(&self, trashed: &TrashEntry) -> Result<(), Error> {
        trash::ensure_restorable(self, trashed)
    }

    /// Moves an entry of the trash back to where it was. If another file is in the place of one of its files,
    /// nothing is moved; a file that another program creates there meanwhile keeps its counterpart in the trash.
    pub fn restore(&self, trashed: &TrashEntry) -> Result<PathBuf, Error> {
        trash::restore(self, trashed)
    }

    /// Fails unless an entry can be restored in place of the transcript on disk.
    pub fn ensure_replaceable(&self, trashed: &TrashEntry) -> Result<(), Error> {
        trash::ensure_replaceable(self, trashed)
    }

    /// Copies the transcript of an entry over the one on disk, which moves to a trash entry of its own; returns that entry,
    /// or `None` if there was no transcript on disk. The restored entry stays in the trash: a program that had the file open
    /// when it was replaced may still append to it. Only an entry that holds a transcript and nothing else can be restored
    /// in this way: `hydrate` makes such entries, because it leaves the side files of a session where they are.
    pub fn restore_over(&self, trashed: &TrashEntry, force: bool) -> Result<Option<TrashEntry>, Error> {
        trash::restore_over(self, trashed, force)
    }

    /// Removes an entry from the trash for good.
    pub fn purge(&self, trashed: &TrashEntry) -> Result<(), Error> {
        trash::purge(self, trashed)
    }

    /// Finishes interrupted operations on the sessions that a name may mean; returns whether there were any. A session whose
    /// restoring was interrupted is on disk afterwards.
    pub fn finish_interrupted(&self, selector: &str) -> Result<bool, Error> {
        trash::finish_interrupted(self, selector)
    }
}

#[cfg(test)]
mod tests;
