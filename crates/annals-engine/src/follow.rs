//! Following: what is written to transcripts, as it is written.
//!
//! The system tells which files were touched, or a look at all of them now and then where it does not; what came of it is
//! found by comparing each with how far it was read. So nothing is lost when a thousand files change at once, and a
//! notice too many costs nothing.

mod notices;
mod progress;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use annals_transcript::write::fs::State;

use crate::engine::Engine;
use crate::files::{Met, TranscriptFile, role_below, walk, walk_projects};

use notices::{Notices, Touched};
use progress::Progress;

/// How often all files are looked at where the system gives no notice.
const LOOK: Duration = Duration::from_millis(500);
/// How often they are looked at although it does: notices may be lost, and some file systems give none.
const LOOK_ANYWAY: Duration = Duration::from_secs(10);

/// What to follow.
#[derive(Clone, Debug, Default)]
pub struct FollowOptions {
    /// One transcript; all of the client's if there is none.
    pub only: Option<TranscriptFile>,
    /// Whether to look at all files now and then, even where the system would tell: for file systems on a network.
    pub poll: bool,
}

/// Something that happened to a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// It is new.
    Created,
    /// It has this entry more.
    Entry {
        /// Where the entry starts in the file.
        offset: u64,
        /// Its bytes, with the newline.
        bytes: &'a [u8],
    },
    /// Its title is this now.
    Title {
        /// The title.
        title: &'a str,
    },
    /// It was replaced or cut off, and is read from its start again.
    Replaced,
    /// It is gone.
    Removed,
}

/// Whom to tell what happened to which transcript.
type Tell<'a> = &'a mut dyn FnMut(&TranscriptFile, Event<'_>);

/// Follows transcripts.
#[derive(Debug)]
pub struct Follower {
    what: What,
    files: BTreeMap<PathBuf, Progress>,
    /// None where all files are looked at now and then.
    notices: Option<Notices>,
    looked: Instant,
}

/// What is followed, by whole paths, which the system gives notice of.
#[derive(Debug)]
enum What {
    One(PathBuf),
    /// `projects` folders, whether they are there yet or not.
    All(Vec<PathBuf>),
}

impl Engine {
    /// Starts to follow: what is there already is taken as read.
    pub fn follow(&self, following: &FollowOptions) -> Follower {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let what = match &following.only {
            Some(file) => What::One(whole(&file.path)),
            None => What::All(self.roots().projects_to_come().map(|projects| whole(&projects)).collect()),
        };
        let notices = if following.poll { None } else { Notices::start() };
        let mut follower = Follower { what, files: BTreeMap::new(), notices, looked: Instant::now() };
        for path in follower.paths() {
            if let Found::File(state) = Found::at(&path) {
                let progress = Progress::at_end(&path, state);
                follower.files.insert(path, progress);
            }
        }
        follower
    }
}

impl Follower {
    /// Waits until something happens, or for so long, and hands over everything that did, file by file in order.
    /// Returns how much that was.
    pub fn wait(
        &mut self,
        patience: Duration,
        mut happened: impl FnMut(&TranscriptFile, Event<'_>),
    ) -> usize {
        let deadline = Instant::now() + patience;
        let count = Cell::new(0);
        let mut tell = |file: &TranscriptFile, happening: Event<'_>| {
            count.set(count.get() + 1);
            happened(file, happening);
        };
        loop {
            self.look(deadline, &mut tell);
            if count.get() > 0 || Instant::now() >= deadline {
                return count.get();
            }
        }
    }

    /// Waits for notices until the deadline, or until it is time to look at everything, and looks.
    fn look(&mut self, deadline: Instant, tell: Tell<'_>) {
        let is_told = self.notices.as_ref().is_some_and(|notices| !notices.are_partial());
        let next = self.looked + if is_told { LOOK_ANYWAY } else { LOOK };
        let until = deadline.min(next);
        let touched = if let Some(notices) = &mut self.notices {
            notices.wait(until)
        } else {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
            Touched::default()
        };
        for path in touched.paths {
            self.look_at(&path, tell);
        }
        if touched.are_lost || Instant::now() >= next {
            self.look_at_all(tell);
        }
    }

    fn look_at_all(&mut self, tell: Tell<'_>) {
        self.looked = Instant::now();
        let paths = self.paths();
        // What is gone comes first: a session that was moved is there in the end.
        self.files.retain(|path, progress| match Found::at(path) {
            Found::File(state) => {
                progress.look(path, &state, tell);
                true
            }
            Found::Unknown => true,
            Found::Folder | Found::Nothing => {
                tell(&progress.file(path), Event::Removed);
                false
            }
        });
        for path in paths {
            if !self.files.contains_key(&path) {
                self.look_at_file(&path, tell);
            }
        }
    }

    /// Finds out what happened to a path that was touched.
    fn look_at(&mut self, path: &Path, tell: Tell<'_>) {
        if self.is_transcript(path) {
            return self.look_at_file(path, tell);
        }
        let (is_on_the_way, is_project, is_below) = match &self.what {
            What::One(one) => (one.starts_with(path), false, false),
            What::All(all) => (
                all.iter().any(|projects| projects.starts_with(path)),
                all.iter().any(|projects| path.parent() == Some(projects)),
                all.iter().any(|projects| path.starts_with(projects)),
            ),
        };
        // Which of several links to a folder counts is known when all are looked at.
        let is_link = path.is_symlink();
        if is_on_the_way || (is_project && is_link) {
            self.forget(path);
            self.look_at_all(tell);
        } else if is_below && !is_link {
            self.look_at_folder(path, tell);
        }
    }

    /// Forgets that a folder and those below are watched: they may be others now.
    fn forget(&mut self, folder: &Path) {
        if let Some(notices) = &mut self.notices {
            notices.forget(folder);
        }
    }

    /// Looks at what lies below a folder, which may be new or gone.
    fn look_at_folder(&mut self, folder: &Path, tell: Tell<'_>) {
        self.forget(folder);
        let mut paths = Vec::new();
        if folder.is_dir() {
            walk(folder, &mut |met| self.meet(&met, &mut paths));
        }
        paths.retain(|path| !self.files.contains_key(path));
        let known = self.files.range(folder.to_owned()..).map(|(path, _)| path);
        paths.extend(known.take_while(|path| path.starts_with(folder)).cloned());
        for path in paths {
            self.look_at_file(&path, tell);
        }
    }

    /// Finds out what happened to a transcript.
    fn look_at_file(&mut self, path: &Path, tell: Tell<'_>) {
        match Found::at(path) {
            Found::File(state) => {
                let progress = self.files.entry(path.to_owned()).or_insert_with(|| {
                    let mut progress = Progress::default();
                    tell(&progress.file(path), Event::Created);
                    progress
                });
                progress.look(path, &state, tell);
            }
            // What cannot be looked at now is looked at again when it is touched again.
            Found::Unknown => {}
            Found::Folder | Found::Nothing => {
                if let Some(mut progress) = self.files.remove(path) {
                    tell(&progress.file(path), Event::Removed);
                }
            }
        }
    }

    /// Returns the paths of all transcripts that may be there.
    fn paths(&mut self) -> Vec<PathBuf> {
        let (places, is_one) = match &self.what {
            What::One(path) => (vec![path.clone()], true),
            What::All(all) => (all.clone(), false),
        };
        let mut paths = Vec::new();
        for place in places {
            if let Some(notices) = &mut self.notices {
                notices.watch_above(&place);
            }
            if is_one {
                paths.push(place);
            } else {
                walk_projects(&place, &mut |met| self.meet(&met, &mut paths));
            }
        }
        paths
    }

    /// Keeps the transcripts that a walk comes across. Folders are watched before they are read.
    fn meet(&mut self, met: &Met<'_>, paths: &mut Vec<PathBuf>) {
        match met {
            Met::Folder(folder) => {
                if let Some(notices) = &mut self.notices {
                    notices.watch(folder);
                }
            }
            Met::File(path) => paths.extend(self.is_transcript(path).then(|| path.to_path_buf())),
            Met::Unreadable(_) => {}
        }
    }

    /// Returns whether the place of a file makes it a transcript that is followed.
    fn is_transcript(&self, path: &Path) -> bool {
        match &self.what {
            What::One(one) => one == path,
            What::All(all) => all.iter().any(|projects| role_below(projects, path).is_transcript()),
        }
    }
}

/// What is found at a path.
enum Found {
    File(State),
    Folder,
    Nothing,
    /// It cannot be told now.
    Unknown,
}

impl Found {
    fn at(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Found::File(metadata.into()),
            Ok(metadata) if metadata.is_dir() => Found::Folder,
            Ok(_) => Found::Nothing,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Found::Nothing,
                _ => Found::Unknown,
            },
        }
    }
}

#[cfg(test)]
mod tests;
