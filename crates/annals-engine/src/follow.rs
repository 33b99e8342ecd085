//! Following: reports what is written to transcripts, as it is written. If all transcripts are followed, also what changes
//! around them: titles and archive marks in files of their own, the trash, and which sessions Claude Code has open.
//!
//! The operating system notifies which paths changed; where it does not, all files are checked periodically. What happened to
//! a file is found by comparing it with how far it was read. So nothing is lost when a thousand files change at once, and a
//! needless notification does no harm.

mod progress;
mod registry;
mod side_files;
mod watcher;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use annals_transcript::file_state::FileState;
use annals_transcript::paths::ConfigFolder;

use crate::engine::Engine;
use crate::files::{TranscriptFile, WalkItem, role_below, walk, walk_projects};
use crate::trash::observer::TrashObserver;
use crate::trash::{TrashChange, TrashEntry};

use progress::ReportProgress;
use registry::RegisteredSessions;
use side_files::{SideFiles, described_transcript};
use watcher::{ChangedPaths, FileWatcher};

/// How often all files are checked where there are no notifications.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How often all files are checked although there are: notifications may be lost, and some file systems send none.
const SAFETY_INTERVAL: Duration = Duration::from_secs(10);
/// How often the processes that have sessions open are checked: one that dies changes no file.
const PROCESS_INTERVAL: Duration = Duration::from_secs(2);

/// What to follow.
#[derive(Clone, Debug, Default)]
pub struct FollowOptions {
    /// One transcript; `None` for all transcripts of Claude Code.
    pub only: Option<TranscriptFile>,
    /// Whether to check all files periodically instead of waiting for notifications: for network file systems.
    pub poll: bool,
}

/// Something that happened to a transcript, or to the session that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// It is new.
    Created,
    /// An entry was appended.
    Entry {
        /// Where the entry starts in the file.
        offset: u64,
        /// Its bytes, with the newline.
        bytes: &'a [u8],
    },
    /// Its title changed.
    Title {
        /// The title; empty if it has none any more.
        title: &'a str,
    },
    /// The session was put into the archive of Claude Code, or taken out of it.
    Archived {
        /// Whether it is archived now.
        is_archived: bool,
    },
    /// Claude Code has opened the session.
    Opened,
    /// No Claude Code has the session open any more: it has closed it, or its process has ended.
    Closed,
    /// Something happened to a trash entry of the session.
    Trash {
        /// What happened.
        change: TrashChange,
        /// The entry.
        entry: &'a TrashEntry,
    },
    /// It was replaced or truncated, and is read from its start again.
    Replaced,
    /// It was removed.
    Removed,
}

/// Gets the events, with the transcript of each.
type OnEvent<'a> = &'a mut dyn FnMut(&TranscriptFile, Event<'_>);

/// Follows transcripts.
#[derive(Debug)]
pub struct Follower {
    target: Target,
    files: BTreeMap<PathBuf, ReportProgress>,
    /// What is followed besides transcripts; `None` if only one transcript is followed.
    around: Option<Surroundings>,
    /// `None` where all files are checked periodically.
    watcher: Option<FileWatcher>,
    checked_at: Instant,
}

/// What is around transcripts and is followed with them.
#[derive(Debug)]
struct Surroundings {
    engine: Engine,
    /// What is beside those transcripts that have something beside them.
    beside: BTreeMap<PathBuf, SideFiles>,
    /// Transcripts whose side files are missing while the session is moved: what that means is known after the move.
    postponed: BTreeSet<PathBuf>,
    open: RegisteredSessions,
    trash: TrashObserver,
    processes_checked_at: Instant,
}

/// What a walk found.
#[derive(Debug, Default)]
struct WalkResult {
    transcripts: Vec<PathBuf>,
    /// Transcripts, or their future paths, that have a title or an archive mark beside them.
    described: BTreeSet<PathBuf>,
}

/// What is followed, by absolute paths, as in notifications.
#[derive(Debug)]
enum Target {
    One(PathBuf),
    /// `projects` folders, whether they are there yet or not.
    All(Vec<PathBuf>),
}

impl Follower {
    /// Waits until something happens, at most as long as `patience`, and reports all events, file by file in order.
    /// Returns their number.
    pub fn wait(
        &mut self,
        patience: Duration,
        mut on_event: impl FnMut(&TranscriptFile, Event<'_>),
    ) -> usize {
        let deadline = Instant::now() + patience;
        let count = Cell::new(0);
        loop {
            self.wait_and_check(deadline, &mut |file, event| {
                count.set(count.get() + 1);
                on_event(file, event);
            });
            if count.get() > 0 || Instant::now() >= deadline {
                return count.get();
            }
        }
    }

    /// Waits for notifications until the deadline, or until it is time to check all files, and checks what changed.
    fn wait_and_check(&mut self, deadline: Instant, on_event: OnEvent<'_>) {
        let is_watched = self.watcher.as_ref().is_some_and(|watcher| !watcher.is_partial());
        let next = self.checked_at + if is_watched { SAFETY_INTERVAL } else { POLL_INTERVAL };
        let next_processes = self.around.as_ref().and_then(Surroundings::next_process_check);
        let until = deadline.min(next).min(next_processes.unwrap_or(next));
        let changed = if let Some(watcher) = &mut self.watcher {
            watcher.wait(until)
        } else {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
            ChangedPaths::default()
        };
        let (mut registry, mut trash) = (false, false);
        for path in changed.paths {
            registry |= self.around.as_ref().is_some_and(|around| around.is_in_registry(&path));
            trash |= self.around.as_ref().is_some_and(|around| around.is_in_trash(&path));
            self.check_path(&path, on_event);
        }
        if changed.are_lost || Instant::now() >= next {
            return self.check_all(on_event);
        }
        if registry || next_processes.is_some_and(|next| Instant::now() >= next) {
            self.check_open(on_event);
        }
        if trash {
            self.check_trash(on_event);
        }
    }

    fn check_all(&mut self, on_event: OnEvent<'_>) {
        self.checked_at = Instant::now();
        let WalkResult { transcripts: paths, mut described } = self.find();
        // Removed files come first, so that a session that was moved is there in the end.
        self.files.retain(|path, progress| match PathState::at(path) {
            PathState::File(state) => {
                progress.check(path, &state, on_event);
                true
            }
            PathState::Unknown => true,
            PathState::Folder | PathState::Nothing => {
                on_event(&progress.file(path), Event::Removed);
                false
            }
        });
        if let Some(around) = &mut self.around {
            around.beside.retain(|path, _| self.files.contains_key(path));
        }
        for path in paths {
            if !self.files.contains_key(&path) {
                self.check_file(&path, on_event);
            }
        }
        described.extend(self.around.iter().flat_map(|around| around.beside.keys()).cloned());
        for transcript in described {
            self.check_beside(&transcript, on_event);
        }
        self.watch_around();
        self.check_open(on_event);
        self.check_trash(on_event);
    }

    /// Checks a path that changed: a transcript, a file beside one, or a folder on the way to these.
    fn check_path(&mut self, path: &Path, on_event: OnEvent<'_>) {
        if self.is_transcript(path) {
            return self.check_file(path, on_event);
        }
        if let Some(transcript) = self.described_by(path) {
            return self.check_beside(&transcript, on_event);
        }
        let around = self.around.as_ref();
        if around.is_some_and(|around| around.folders().any(|folder| folder.starts_with(path))) {
            self.forget(path);
            return self.check_all(on_event);
        }
        let (is_on_the_way, is_project, is_below) = match &self.target {
            Target::One(one) => (one.starts_with(path), false, false),
            Target::All(all) => (
                all.iter().any(|projects| projects.starts_with(path)),
                all.iter().any(|projects| path.parent() == Some(projects)),
                all.iter().any(|projects| path.starts_with(projects)),
            ),
        };
        // Which of several links to a folder counts is decided when all files are checked.
        let is_link = path.is_symlink();
        if is_on_the_way || (is_project && is_link) {
            self.forget(path);
            self.check_all(on_event);
        } else if is_below && !is_link {
            self.check_folder(path, on_event);
        }
    }

    /// Forgets that a folder and those below are watched, since there may be other folders at these paths now.
    fn forget(&mut self, folder: &Path) {
        if let Some(watcher) = &mut self.watcher {
            watcher.forget(folder);
        }
    }

    /// Checks the transcripts below a folder that may be new or removed.
    fn check_folder(&mut self, folder: &Path, on_event: OnEvent<'_>) {
        self.forget(folder);
        let mut found = WalkResult::default();
        if folder.is_dir() {
            walk(folder, &mut |item| self.collect(&item, &mut found));
        }
        let WalkResult { transcripts: mut paths, mut described } = found;
        paths.retain(|path| !self.files.contains_key(path));
        let known = self.files.range(folder.to_owned()..).map(|(path, _)| path);
        paths.extend(known.take_while(|path| path.starts_with(folder)).cloned());
        for path in paths {
            self.check_file(&path, on_event);
        }
        described.extend(self.around.iter().flat_map(|around| around.described_below(folder)));
        for transcript in described {
            self.check_beside(&transcript, on_event);
        }
    }

    /// Checks a transcript, and reports what happened to it.
    fn check_file(&mut self, path: &Path, on_event: OnEvent<'_>) {
        match PathState::at(path) {
            PathState::File(state) => {
                let is_new = !self.files.contains_key(path);
                let progress = self.files.entry(path.to_owned()).or_default();
                if is_new {
                    let file = progress.file(path);
                    on_event(&file, Event::Created);
                    if let Some(around) = &mut self.around {
                        around.report_new(&file, on_event);
                    }
                }
                progress.check(path, &state, on_event);
            }
            // A file that cannot be examined now is checked again when it changes again.
            PathState::Unknown => {}
            PathState::Folder | PathState::Nothing => {
                if let Some(mut progress) = self.files.remove(path) {
                    on_event(&progress.file(path), Event::Removed);
                }
                if let Some(around) = &mut self.around {
                    around.beside.remove(path);
                }
            }
        }
    }

    /// Returns the transcript that a changed path describes.
    fn described_by(&self, path: &Path) -> Option<PathBuf> {
        match &self.target {
            Target::One(_) => None,
            Target::All(all) => all.iter().find_map(|projects| described_transcript(projects, path)),
        }
    }

    /// Checks the files beside a transcript, and reports a new title and whether the session was archived.
    fn check_beside(&mut self, transcript: &Path, on_event: OnEvent<'_>) {
        let (Some(around), Some(progress)) = (&mut self.around, self.files.get_mut(transcript)) else {
            return;
        };
        let Some((before, now)) = around.read_beside(transcript) else { return };
        progress.check_title_beside(transcript, before.title.as_deref(), now.title.as_deref(), on_event);
        if before.is_archived != now.is_archived {
            let is_archived = now.is_archived;
            on_event(&progress.file(transcript), Event::Archived { is_archived });
        }
    }

    /// Checks which sessions Claude Code has open.
    fn check_open(&mut self, on_event: OnEvent<'_>) {
        let Some(around) = &mut self.around else { return };
        around.processes_checked_at = Instant::now();
        let changes = around.open.check();
        for (sessions, event) in [(changes.closed, Event::Closed), (changes.opened, Event::Opened)] {
            for session in sessions {
                for (path, progress) in &mut self.files {
                    if path.file_stem().is_some_and(|stem| stem == &session[..]) {
                        on_event(&progress.file(path), event);
                    }
                }
            }
        }
    }

    /// Checks the trash. A session that is not moved any more is described by what is beside it now.
    fn check_trash(&mut self, on_event: OnEvent<'_>) {
        let Some(around) = &mut self.around else { return };
        for (change, entry) in around.trash.check(&around.engine) {
            let (path, session) = (entry.transcript.clone(), Some(entry.session.clone()));
            let file = TranscriptFile { path, session, agent: None };
            on_event(&file, Event::Trash { change, entry: &entry });
        }
        for transcript in std::mem::take(&mut around.postponed) {
            self.check_beside(&transcript, on_event);
        }
    }

    /// Watches the trash and the registries of running processes, or the folders in which they will appear.
    fn watch_around(&mut self) {
        let (Some(around), Some(watcher)) = (&self.around, &mut self.watcher) else { return };
        for folder in around.folders() {
            watcher.watch_above(folder);
            if folder.is_dir() {
                watcher.watch(folder);
            }
        }
    }

    /// Returns the paths of all transcripts that may exist, and which of them have files beside them.
    fn find(&mut self) -> WalkResult {
        let (starts, is_one) = match &self.target {
            Target::One(path) => (vec![path.clone()], true),
            Target::All(all) => (all.clone(), false),
        };
        let mut found = WalkResult::default();
        for start in starts {
            if let Some(watcher) = &mut self.watcher {
                watcher.watch_above(&start);
            }
            if is_one {
                found.transcripts.push(start);
            } else {
                walk_projects(&start, &mut |item| self.collect(&item, &mut found));
            }
        }
        found
    }

    /// Collects what a walk finds. Folders are watched before they are read.
    fn collect(&mut self, item: &WalkItem<'_>, found: &mut WalkResult) {
        match item {
            WalkItem::Folder(folder) => {
                if let Some(watcher) = &mut self.watcher {
                    watcher.watch(folder);
                }
            }
            WalkItem::File(path) if self.is_transcript(path) => found.transcripts.push(path.to_path_buf()),
            WalkItem::File(path) => found.described.extend(self.described_by(path)),
            WalkItem::Unreadable(_) => {}
        }
    }

    /// Returns whether the path of a file is that of a transcript that is followed.
    fn is_transcript(&self, path: &Path) -> bool {
        match &self.target {
            Target::One(one) => one == path,
            Target::All(all) => all.iter().any(|projects| role_below(projects, path).is_transcript()),
        }
    }
}

impl Surroundings {
    fn start(engine: &Engine) -> Self {
        let registries = engine.root_folders().map(|root| absolute(&ConfigFolder::new(root).running()));
        Self {
            engine: engine.clone(),
            beside: BTreeMap::new(),
            postponed: BTreeSet::new(),
            open: RegisteredSessions::read(registries.collect()),
            trash: TrashObserver::start(engine, absolute(&engine.home().trash())),
            processes_checked_at: Instant::now(),
        }
    }

    /// Returns the folders that are followed besides those of projects, whether they exist or not.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.open.folders().iter().map(PathBuf::as_path).chain([self.trash.folder()])
    }

    fn is_in_registry(&self, path: &Path) -> bool {
        self.open.folders().iter().any(|folder| path.starts_with(folder))
    }

    fn is_in_trash(&self, path: &Path) -> bool {
        path.starts_with(self.trash.folder())
    }

    /// Returns when the processes that have sessions open are to be checked; `None` if there are none.
    fn next_process_check(&self) -> Option<Instant> {
        (!self.open.is_empty()).then(|| self.processes_checked_at + PROCESS_INTERVAL)
    }

    /// Reads what is beside a transcript that is new, and reports whether Claude Code has the session open.
    fn report_new(&mut self, file: &TranscriptFile, on_event: OnEvent<'_>) {
        if file.agent.is_some() {
            return;
        }
        self.set_beside(&file.path, SideFiles::read(&file.path).unwrap_or_default());
        if file.session.as_ref().is_some_and(|session| self.open.contains(session)) {
            on_event(file, Event::Opened);
        }
    }

    fn set_beside(&mut self, transcript: &Path, beside: SideFiles) -> SideFiles {
        let before = if beside.is_empty() {
            self.beside.remove(transcript)
        } else {
            self.beside.insert(transcript.to_owned(), beside)
        };
        before.unwrap_or_default()
    }

    /// Reads what is beside a transcript, and returns what was there before and what is there now. Returns `None` if that
    /// cannot be said now, because a file is being written or the session is being moved.
    fn read_beside(&mut self, transcript: &Path) -> Option<(SideFiles, SideFiles)> {
        let mut now = SideFiles::read(transcript)?;
        let before = self.beside.get(transcript).cloned().unwrap_or_default();
        if now.lacks(&before) {
            let session = transcript.file_stem().unwrap_or_default().to_string_lossy();
            if self.trash.is_moving(&session) {
                self.postponed.insert(transcript.to_owned());
                return None;
            }
            // A session that was deleted meanwhile is reported as removed.
            if !transcript.exists() {
                return None;
            }
            now = SideFiles::read(transcript)?;
        }
        self.set_beside(transcript, now.clone());
        Some((before, now))
    }

    /// Returns the transcripts with something beside them whose side files may be in a folder.
    fn described_below(&self, folder: &Path) -> Vec<PathBuf> {
        let of_folder = folder.with_extension("jsonl");
        let below = self.beside.range(folder.to_owned()..).map(|(path, _)| path);
        let below = below.take_while(|path| path.starts_with(folder)).cloned();
        below.chain(self.beside.contains_key(&of_folder).then_some(of_folder)).collect()
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What is at a path.
enum PathState {
    File(FileState),
    Folder,
    Nothing,
    /// It cannot be examined now.
    Unknown,
}

impl PathState {
    fn at(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => PathState::File(metadata.into()),
            Ok(metadata) if metadata.is_dir() => PathState::Folder,
            Ok(_) => PathState::Nothing,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => PathState::Nothing,
                _ => PathState::Unknown,
            },
        }
    }
}

pub(crate) fn follow(engine: &Engine, options: &FollowOptions) -> Follower {
    let target = match &options.only {
        Some(file) => Target::One(absolute(&file.path)),
        None => Target::All(engine.roots().projects_to_come().map(|projects| absolute(&projects)).collect()),
    };
    let watcher = if options.poll { None } else { FileWatcher::start() };
    let around = options.only.is_none().then(|| Surroundings::start(engine));
    let mut follower =
        Follower { target, files: BTreeMap::new(), around, watcher, checked_at: Instant::now() };
    let found = follower.find();
    for path in found.transcripts {
        if let PathState::File(state) = PathState::at(&path) {
            let progress = ReportProgress::at_end(&path, state);
            follower.files.insert(path, progress);
        }
    }
    // The trash and the registries are read again once they are watched, so that no change is missed in between.
    follower.watch_around();
    if let Some(around) = &mut follower.around {
        for transcript in found.described.iter().filter(|path| follower.files.contains_key(*path)) {
            around.set_beside(transcript, SideFiles::read(transcript).unwrap_or_default());
        }
        around.open.check();
        around.trash.check(engine);
    }
    follower
}

#[cfg(test)]
mod tests;
