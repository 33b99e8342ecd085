//! Notifications of the operating system: which paths changed.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use notify::{EventKind, RecursiveMode, Watcher};

/// Changed paths are returned no more often than this: the first at once, those that follow together.
const GATHER: Duration = Duration::from_millis(5);
/// The number of changed paths that are kept; when there are more, all files are checked instead.
const MANY: usize = 16_384;
/// Whether the system watches one folder at a time. Each folder is watched before it is read then, so that no change is missed
/// in between; elsewhere one watch covers everything below a folder.
const FOLDER_BY_FOLDER: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// The paths that changed.
#[derive(Debug, Default)]
pub(super) struct ChangedPaths {
    pub(super) paths: BTreeSet<PathBuf>,
    /// Whether notifications were lost, so that other paths may have changed.
    pub(super) are_lost: bool,
}

/// Watches folders and waits for notifications.
pub(super) struct FileWatcher {
    inbox: Arc<Inbox>,
    /// Ends the notifications when it is dropped.
    watcher: Box<dyn Watcher + Send>,
    watched: BTreeSet<PathBuf>,
    /// Folders that are watched because a missing path may appear in them.
    above: BTreeSet<PathBuf>,
    is_partial: bool,
    returned_at: Option<Instant>,
}

/// Where the thread of the watcher leaves changed paths: each once, however often it changes.
#[derive(Default)]
pub(super) struct Inbox {
    changed: Mutex<ChangedPaths>,
    arrived: Condvar,
}

impl std::fmt::Debug for FileWatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileWatcher").field("watched", &self.watched.len()).finish_non_exhaustive()
    }
}

impl FileWatcher {
    /// Starts a watcher. Returns `None` if the system has none.
    pub(super) fn start() -> Option<Self> {
        let inbox = Arc::new(Inbox::default());
        let leave = Arc::clone(&inbox);
        let watcher = notify::recommended_watcher(move |notification| leave.put(notification)).ok()?;
        Some(Self::with(Box::new(watcher), inbox))
    }

    pub(super) fn with(watcher: Box<dyn Watcher + Send>, inbox: Arc<Inbox>) -> Self {
        Self {
            inbox,
            watcher,
            watched: BTreeSet::new(),
            above: BTreeSet::new(),
            is_partial: false,
            returned_at: None,
        }
    }

    /// Returns whether some folder can be read but not watched: the system limits the number of watches.
    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Watches a folder.
    pub(super) fn watch(&mut self, folder: &Path) {
        let levels = if FOLDER_BY_FOLDER { 1 } else { usize::MAX };
        if folder.ancestors().take(levels).any(|folder| self.watched.contains(folder)) {
            return;
        }
        let mode = if FOLDER_BY_FOLDER { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
        let is_watched = self.watcher.watch(folder, mode).is_ok();
        if is_watched || fs::read_dir(folder).is_ok() {
            self.is_partial |= !is_watched;
            self.watched.insert(folder.to_owned());
        }
    }

    /// Watches the nearest existing folder above a path, to be notified when the path appears.
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
        self.is_partial = true;
    }

    /// Forgets that a folder and those below are watched, since there may be other folders at these paths now.
    pub(super) fn forget(&mut self, folder: &Path) {
        for set in [&mut self.watched, &mut self.above] {
            let from = (Bound::Included(folder), Bound::Unbounded);
            let below = set.range::<Path, _>(from).take_while(|path| path.starts_with(folder));
            for path in below.cloned().collect::<Vec<_>>() {
                set.remove(&path);
            }
        }
    }

    /// Waits for notifications, at most until `until`, and returns the paths that changed.
    pub(super) fn wait(&mut self, until: Instant) -> ChangedPaths {
        let waiting = self.inbox.changed();
        let arrived =
            self.inbox.arrived.wait_timeout_while(waiting, time_until(until), |changed| changed.is_empty());
        drop(arrived.unwrap_or_else(PoisonError::into_inner));
        if let Some(returned_at) = self.returned_at {
            thread::sleep(time_until(until.min(returned_at + GATHER)));
        }
        let changed = std::mem::take(&mut *self.inbox.changed());
        if changed.are_lost {
            self.forget(Path::new(""));
        }
        self.returned_at = Some(Instant::now());
        changed
    }
}

fn time_until(moment: Instant) -> Duration {
    moment.saturating_duration_since(Instant::now())
}

impl Inbox {
    pub(super) fn put(&self, notification: notify::Result<notify::Event>) {
        // Opening a file changes nothing, and following opens files itself.
        if notification.as_ref().is_ok_and(|notification| matches!(notification.kind, EventKind::Access(_))) {
            return;
        }
        let mut changed = self.changed();
        match notification {
            Ok(notification) => {
                changed.are_lost |= notification.need_rescan();
                changed.paths.extend(notification.paths);
            }
            Err(_) => changed.are_lost = true,
        }
        if changed.paths.len() > MANY {
            *changed = ChangedPaths { paths: BTreeSet::new(), are_lost: true };
        }
        self.arrived.notify_one();
    }

    fn changed(&self) -> MutexGuard<'_, ChangedPaths> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChangedPaths {
    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.are_lost
    }
}
