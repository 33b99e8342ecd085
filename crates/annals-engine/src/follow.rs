//! Following: what is written to transcripts, as it is written.
//!
//! The system tells which files were touched, or a look at all of them now and then where it does not; what came of it is
//! found by comparing each with where it was read last. So nothing is lost when a thousand files change at once, and a
//! notice too many costs nothing.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use annals_transcript::entry::view::{AiTitle, CustomTitle};
use annals_transcript::project::Role;
use annals_transcript::write::fs::State;
use annals_transcript::{Entry, Position, Reader};
use notify::{EventKind, RecursiveMode, Watcher};

use crate::engine::Engine;
use crate::files::{Selection, TranscriptFile};

/// How long notices are gathered before files are looked at.
const GATHER: Duration = Duration::from_millis(5);
/// In a storm of notices, how long they are gathered at most.
const GATHER_LONGEST: Duration = Duration::from_millis(100);
/// How often all files are looked at where the system gives no notice.
const LOOK: Duration = Duration::from_millis(500);
/// How often they are looked at although it does: notices may be lost, and some file systems give none.
const LOOK_ANYWAY: Duration = Duration::from_secs(10);

/// What to follow.
#[derive(Clone, Debug, Default)]
pub struct Following {
    /// One transcript; all of the client's if there is none.
    pub only: Option<TranscriptFile>,
    /// Whether to look at all files now and then, even where the system would tell: for file systems on a network.
    pub poll: bool,
}

/// Something that happened to a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// It is new.
    Created,
    /// It has this entry more.
    Entry {
        /// Where the entry starts in the file.
        offset: u64,
        /// Its bytes, with the newline.
        bytes: Vec<u8>,
    },
    /// Its title is this now.
    Title {
        /// The title.
        title: String,
    },
    /// It was replaced or cut off, and is read from its start again.
    Replaced,
    /// It is gone.
    Removed,
}

/// Follows transcripts.
#[derive(Debug)]
pub struct Follower {
    folders: Vec<PathBuf>,
    only: Option<PathBuf>,
    seen: HashMap<PathBuf, Seen>,
    notices: Option<Notices>,
    looked: Instant,
}

/// How far a transcript was read.
#[derive(Debug)]
struct Seen {
    file: TranscriptFile,
    identity: (u64, u64),
    /// Behind the last whole line.
    end: u64,
    /// The title that was recorded last, since it is followed.
    title: Option<String>,
}

impl Seen {
    fn new(file: TranscriptFile, identity: (u64, u64), end: u64) -> Self {
        Self { file, identity, end, title: None }
    }
}

/// Notices of the system: paths that were touched.
struct Notices {
    receiver: Receiver<notify::Result<notify::Event>>,
    /// Ends the notices when it is dropped.
    _watcher: Box<dyn Watcher + Send>,
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notices")
    }
}

impl Engine {
    /// Starts to follow: what is there already is taken as read.
    pub fn follow(&self, following: &Following) -> Follower {
        // The system gives notice of whole paths only.
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let only = following.only.as_ref().map(|file| whole(&file.path));
        let folders: Vec<PathBuf> = match &only {
            Some(path) => path.parent().map(Path::to_owned).into_iter().collect(),
            None => self.roots().projects().map(|projects| whole(&projects)).collect(),
        };
        let notices = if following.poll { None } else { Notices::of(&folders, only.is_none()) };
        let mut follower = Follower { folders, only, seen: HashMap::new(), notices, looked: Instant::now() };
        for file in follower.files() {
            follower.take_as_read(file);
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
        mut happened: impl FnMut(&TranscriptFile, Happening),
    ) -> usize {
        let deadline = Instant::now() + patience;
        let mut count = 0;
        while count == 0 {
            let paths = self.touched(deadline);
            let out_of_time = Instant::now() >= deadline;
            for path in paths {
                count += self.look_at(&path, &mut happened);
            }
            if out_of_time {
                break;
            }
        }
        count
    }

    /// Returns the paths that may have changed; waits for some until the deadline.
    fn touched(&mut self, deadline: Instant) -> BTreeSet<PathBuf> {
        let every = if self.notices.is_some() { LOOK_ANYWAY } else { LOOK };
        let until = deadline.min(self.looked + every);
        let touched = if let Some(notices) = &self.notices {
            notices.gather(until)
        } else {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
            Some(BTreeSet::new())
        };
        match touched {
            Some(paths) if Instant::now() < self.looked + every => paths,
            _ => self.all(),
        }
    }

    /// Returns all transcripts, those that are gone included.
    fn all(&mut self) -> BTreeSet<PathBuf> {
        self.looked = Instant::now();
        let there = self.files().into_iter().map(|file| file.path);
        there.chain(self.seen.keys().cloned()).collect()
    }

    fn files(&self) -> Vec<TranscriptFile> {
        if let Some(path) = &self.only {
            return path.exists().then(|| TranscriptFile::at(path)).into_iter().collect();
        }
        let mut found = Selection::default();
        self.folders.iter().for_each(|projects| found.add_projects(projects));
        found.files
    }

    /// Takes a transcript as read up to its last whole line.
    fn take_as_read(&mut self, file: TranscriptFile) {
        let Ok(Some(state)) = State::of(&file.path) else { return };
        let offset = end_of_lines(&file.path, state.length).unwrap_or(0);
        self.seen.insert(file.path.clone(), Seen::new(file, state.identity, offset));
    }

    /// Finds out what happened to a file; returns how much it was.
    fn look_at(&mut self, path: &Path, happened: &mut impl FnMut(&TranscriptFile, Happening)) -> usize {
        if self.only.as_ref().is_some_and(|only| only != path) {
            return 0;
        }
        let state = State::of(path).ok().flatten();
        let Some(state) = state else {
            let Some(seen) = self.seen.remove(path) else { return 0 };
            happened(&seen.file, Happening::Removed);
            return 1;
        };
        let mut count = 0;
        if !self.seen.contains_key(path) {
            let Some(file) = self.transcript(path) else { return 0 };
            happened(&file, Happening::Created);
            count += 1;
            self.seen.insert(path.to_owned(), Seen::new(file, state.identity, 0));
        }
        let Some(seen) = self.seen.get_mut(path) else { return count };
        if seen.identity != state.identity || state.length < seen.end {
            happened(&seen.file, Happening::Replaced);
            count += 1;
            (seen.identity, seen.end) = (state.identity, 0);
        }
        // A file that cannot be read now is looked at again when it is touched again.
        count + seen.read(state.length, happened).unwrap_or(0)
    }

    /// Returns the transcript at a path, if its place makes it one.
    fn transcript(&self, path: &Path) -> Option<TranscriptFile> {
        if self.only.is_some() {
            return Some(TranscriptFile::at(path));
        }
        let below = self.folders.iter().find_map(|projects| path.strip_prefix(projects).ok())?;
        let in_project: PathBuf = below.components().skip(1).collect();
        Role::of(&in_project).is_transcript().then(|| TranscriptFile::at(path))
    }
}

impl Seen {
    /// Hands over the entries behind what was read; a line without its end waits.
    fn read(
        &mut self,
        length: u64,
        happened: &mut impl FnMut(&TranscriptFile, Happening),
    ) -> io::Result<usize> {
        if length <= self.end {
            return Ok(0);
        }
        let mut source = File::open(&self.file.path)?;
        source.seek(SeekFrom::Start(self.end))?;
        let mut reader = Reader::resume(source, Position { offset: self.end, line: 1 });
        let mut count = 0;
        // Entries of a line are handed over together, when its end is there.
        let mut line: Vec<(u64, Vec<u8>)> = Vec::new();
        while let Some(entry) = reader.read()? {
            let is_last = entry.ends_in_newline();
            line.push((entry.at().offset, entry.bytes().to_vec()));
            if is_last {
                for (offset, bytes) in line.drain(..) {
                    let title = title_in(&bytes).filter(|title| self.title.as_ref() != Some(title));
                    happened(&self.file, Happening::Entry { offset, bytes });
                    count += 1;
                    if let Some(title) = title {
                        self.title = Some(title.clone());
                        happened(&self.file, Happening::Title { title });
                    }
                }
                self.end = reader.position().offset;
            }
        }
        Ok(count)
    }
}

/// Returns the title that an entry gives its session. Clients record it again after every turn.
fn title_in(bytes: &[u8]) -> Option<String> {
    let entry = Entry::new(bytes);
    let custom = || entry.view::<CustomTitle>()?.title();
    custom().or_else(|| entry.view::<AiTitle>()?.title()).map(std::borrow::Cow::into_owned)
}

/// Returns where the last whole line among the first `length` bytes of a file ends.
pub fn end_of_lines(path: &Path, length: u64) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(64 * 1024);
        let bytes = annals_transcript::line::read_span(&mut file, start, end - start)?;
        if let Some(newline) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

impl Notices {
    /// Asks the system for notices; none if it gives none.
    fn of(folders: &[PathBuf], recursive: bool) -> Option<Self> {
        let (sender, receiver) = channel();
        let mut watcher = notify::recommended_watcher(sender).ok()?;
        let mode = if recursive { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        for folder in folders {
            watcher.watch(folder, mode).ok()?;
        }
        Some(Self { receiver, _watcher: Box::new(watcher) })
    }

    /// Waits for notices and gathers those that come together. Returns none if some were lost.
    fn gather(&self, until: Instant) -> Option<BTreeSet<PathBuf>> {
        let mut paths = BTreeSet::new();
        let mut wait = until.saturating_duration_since(Instant::now());
        let mut lost = false;
        let mut enough = None;
        while enough.is_none_or(|enough| Instant::now() < enough) {
            match self.receiver.recv_timeout(wait) {
                Ok(Ok(event)) if matches!(event.kind, EventKind::Access(_)) => {}
                Ok(Ok(event)) => {
                    lost |= event.need_rescan() || is_new_folder(&event);
                    paths.extend(event.paths);
                    wait = GATHER;
                    enough.get_or_insert_with(|| Instant::now() + GATHER_LONGEST);
                }
                Ok(Err(_)) => lost = true,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        if lost { None } else { Some(paths) }
    }
}

/// What lies in a folder that has just been made may have been written before it was watched.
fn is_new_folder(event: &notify::Event) -> bool {
    matches!(event.kind, EventKind::Create(_) | EventKind::Modify(notify::event::ModifyKind::Name(_)))
        && event.paths.iter().any(|path| path.is_dir())
}
