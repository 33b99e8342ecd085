//! Notices of the system: which paths were touched.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use notify::{EventKind, RecursiveMode, Watcher};

/// Notices are handed over no more often than this: the first at once, those that follow together.
const GATHER: Duration = Duration::from_millis(5);
/// How many paths are gathered; when there are more, all files are looked at instead.
const MANY: usize = 16_384;
/// Whether the system watches one folder at a time. There, each is watched before it is read, so that nothing falls
/// between; elsewhere one watch covers all that lies below.
const FOLDER_BY_FOLDER: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// The paths that were touched.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) paths: BTreeSet<PathBuf>,
    /// Whether others may have been.
    pub(super) are_lost: bool,
}

/// Waits for notices.
pub(super) struct Notices {
    inbox: Arc<Inbox>,
    /// Ends the notices when it is dropped.
    watcher: Box<dyn Watcher + Send>,
    watched: BTreeSet<PathBuf>,
    /// Folders that are watched for what may appear in them.
    above: BTreeSet<PathBuf>,
    are_partial: bool,
    handed_over: Option<Instant>,
}

/// Where the thread that gets the notices leaves them: each path once, however often it is touched.
#[derive(Default)]
pub(super) struct Inbox {
    touched: Mutex<Touched>,
    arrived: Condvar,
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notices").field("watched", &self.watched.len()).finish_non_exhaustive()
    }
}

impl Notices {
    /// Asks the system for notices; none if it gives none.
    pub(super) fn start() -> Option<Self> {
        let inbox = Arc::new(Inbox::default());
        let leave = Arc::clone(&inbox);
        let watcher = notify::recommended_watcher(move |notice| leave.put(notice)).ok()?;
        Some(Self::with(Box::new(watcher), inbox))
    }

    pub(super) fn with(watcher: Box<dyn Watcher + Send>, inbox: Arc<Inbox>) -> Self {
        Self {
            inbox,
            watcher,
            watched: BTreeSet::new(),
            above: BTreeSet::new(),
            are_partial: false,
            handed_over: None,
        }
    }

    /// Returns whether some folder can be read but not watched: the system's watches are counted.
    pub(super) fn are_partial(&self) -> bool {
        self.are_partial
    }

    /// Watches a folder.
    pub(super) fn watch(&mut self, folder: &Path) {
        let is_watched = |folder: &Path| self.watched.contains(folder);
        if if FOLDER_BY_FOLDER { is_watched(folder) } else { folder.ancestors().any(is_watched) } {
            return;
        }
        let mode = if FOLDER_BY_FOLDER { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
        let is_told = self.watcher.watch(folder, mode).is_ok();
        if is_told || fs::read_dir(folder).is_ok() {
            self.are_partial |= !is_told;
            self.watched.insert(folder.to_owned());
        }
    }

    /// Watches the folder that something lies in, or the nearest one that is there, to learn when it appears.
    pub(super) fn watch_above(&mut self, path: &Path) {
        for folder in path.ancestors().skip(1).filter(|folder| folder.is_dir()) {
            if self.above.contains(folder) {
                return;
            }
            if self.watcher.watch(folder, RecursiveMode::NonRecursive).is_ok() {
                self.above.insert(folder.to_owned());
                return;
            }
        }
        self.are_partial = true;
    }

    /// Forgets that a folder and those below are watched: they may be others now.
    pub(super) fn forget(&mut self, folder: &Path) {
        for set in [&mut self.watched, &mut self.above] {
            let from = (Bound::Included(folder), Bound::Unbounded);
            let below = set.range::<Path, _>(from).take_while(|path| path.starts_with(folder));
            for path in below.cloned().collect::<Vec<_>>() {
                set.remove(&path);
            }
        }
    }

    /// Waits for notices until then, and hands over those that there are.
    pub(super) fn wait(&mut self, until: Instant) -> Touched {
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        let waiting = self.inbox.touched();
        let arrived =
            self.inbox.arrived.wait_timeout_while(waiting, left(until), |touched| touched.is_empty());
        drop(arrived.unwrap_or_else(PoisonError::into_inner));
        if let Some(handed_over) = self.handed_over {
            thread::sleep(left(until.min(handed_over + GATHER)));
        }
        let touched = std::mem::take(&mut *self.inbox.touched());
        if touched.are_lost {
            self.forget(Path::new(""));
        }
        self.handed_over = Some(Instant::now());
        touched
    }
}

impl Inbox {
    pub(super) fn put(&self, notice: notify::Result<notify::Event>) {
        // That a file was opened is no news; by following, least of all.
        if notice.as_ref().is_ok_and(|notice| matches!(notice.kind, EventKind::Access(_))) {
            return;
        }
        let mut touched = self.touched();
        match notice {
            Ok(notice) => {
                touched.are_lost |= notice.need_rescan();
                touched.paths.extend(notice.paths);
            }
            Err(_) => touched.are_lost = true,
        }
        if touched.paths.len() > MANY {
            *touched = Touched { paths: BTreeSet::new(), are_lost: true };
        }
        self.arrived.notify_one();
    }

    fn touched(&self) -> MutexGuard<'_, Touched> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Touched {
    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.are_lost
    }
}
