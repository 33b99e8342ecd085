//! Following: reports what is written to transcripts, as it is written.
//!
//! The operating system notifies which paths changed; where it does not, all files are checked periodically. What happened to
//! a file is found by comparing it with how far it was read. So nothing is lost when a thousand files change at once, and a
//! needless notification does no harm.

mod progress;
mod watcher;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use annals_transcript::file_state::FileState;

use crate::engine::Engine;
use crate::files::{TranscriptFile, WalkItem, role_below, walk, walk_projects};

use progress::Progress;
use watcher::{ChangedPaths, FileWatcher};

/// How often all files are checked where there are no notifications.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How often all files are checked although there are: notifications may be lost, and some file systems send none.
const SAFETY_INTERVAL: Duration = Duration::from_secs(10);

/// What to follow.
#[derive(Clone, Debug, Default)]
pub struct FollowOptions {
    /// One transcript; `None` for all transcripts of Claude Code.
    pub only: Option<TranscriptFile>,
    /// Whether to check all files periodically instead of waiting for notifications: for network file systems.
    pub poll: bool,
}

/// Something that happened to a transcript.
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
        /// The title.
        title: &'a str,
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
    files: BTreeMap<PathBuf, Progress>,
    /// `None` where all files are checked periodically.
    watcher: Option<FileWatcher>,
    checked_at: Instant,
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
        let mut count_event = |file: &TranscriptFile, event: Event<'_>| {
            count.set(count.get() + 1);
            on_event(file, event);
        };
        loop {
            self.wait_and_check(deadline, &mut count_event);
            if count.get() > 0 || Instant::now() >= deadline {
                return count.get();
            }
        }
    }

    /// Waits for notifications until the deadline, or until it is time to check all files, and checks what changed.
    fn wait_and_check(&mut self, deadline: Instant, on_event: OnEvent<'_>) {
        let is_watched = self.watcher.as_ref().is_some_and(|watcher| !watcher.is_partial());
        let next = self.checked_at + if is_watched { SAFETY_INTERVAL } else { POLL_INTERVAL };
        let until = deadline.min(next);
        let changed = if let Some(watcher) = &mut self.watcher {
            watcher.wait(until)
        } else {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
            ChangedPaths::default()
        };
        for path in changed.paths {
            self.check_path(&path, on_event);
        }
        if changed.are_lost || Instant::now() >= next {
            self.check_all(on_event);
        }
    }

    fn check_all(&mut self, on_event: OnEvent<'_>) {
        self.checked_at = Instant::now();
        let paths = self.paths();
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
        for path in paths {
            if !self.files.contains_key(&path) {
                self.check_file(&path, on_event);
            }
        }
    }

    /// Checks a path that changed: a transcript, or a folder on the way to transcripts.
    fn check_path(&mut self, path: &Path, on_event: OnEvent<'_>) {
        if self.is_transcript(path) {
            return self.check_file(path, on_event);
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
        let mut paths = Vec::new();
        if folder.is_dir() {
            walk(folder, &mut |item| self.collect(&item, &mut paths));
        }
        paths.retain(|path| !self.files.contains_key(path));
        let known = self.files.range(folder.to_owned()..).map(|(path, _)| path);
        paths.extend(known.take_while(|path| path.starts_with(folder)).cloned());
        for path in paths {
            self.check_file(&path, on_event);
        }
    }

    /// Checks a transcript, and reports what happened to it.
    fn check_file(&mut self, path: &Path, on_event: OnEvent<'_>) {
        match PathState::at(path) {
            PathState::File(state) => {
                let progress = self.files.entry(path.to_owned()).or_insert_with(|| {
                    let mut progress = Progress::default();
                    on_event(&progress.file(path), Event::Created);
                    progress
                });
                progress.check(path, &state, on_event);
            }
            // A file that cannot be examined now is checked again when it changes again.
            PathState::Unknown => {}
            PathState::Folder | PathState::Nothing => {
                if let Some(mut progress) = self.files.remove(path) {
                    on_event(&progress.file(path), Event::Removed);
                }
            }
        }
    }

    /// Returns the paths of all transcripts that may exist.
    fn paths(&mut self) -> Vec<PathBuf> {
        let (starts, is_one) = match &self.target {
            Target::One(path) => (vec![path.clone()], true),
            Target::All(all) => (all.clone(), false),
        };
        let mut paths = Vec::new();
        for start in starts {
            if let Some(watcher) = &mut self.watcher {
                watcher.watch_above(&start);
            }
            if is_one {
                paths.push(start);
            } else {
                walk_projects(&start, &mut |item| self.collect(&item, &mut paths));
            }
        }
        paths
    }

    /// Collects the transcripts that a walk finds. Folders are watched before they are read.
    fn collect(&mut self, item: &WalkItem<'_>, paths: &mut Vec<PathBuf>) {
        match item {
            WalkItem::Folder(folder) => {
                if let Some(watcher) = &mut self.watcher {
                    watcher.watch(folder);
                }
            }
            WalkItem::File(path) => paths.extend(self.is_transcript(path).then(|| path.to_path_buf())),
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
    let mut follower = Follower { target, files: BTreeMap::new(), watcher, checked_at: Instant::now() };
    for path in follower.paths() {
        if let PathState::File(state) = PathState::at(&path) {
            let progress = Progress::at_end(&path, state);
            follower.files.insert(path, progress);
        }
    }
    follower
}

#[cfg(test)]
mod tests;
