//! Sessions that are being read: a few of them stay open, so that the next page does not read everything again.
//!
//! Each lies open in a thread of its own, which owns the nodes and the conversation found in them, and works on one page
//! after the other. Nothing here is needed: what was put away is opened again.

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use annals_engine::{Conversation, Engine, Snapshot, TranscriptFile};
use annals_proto::ErrorCode;
use annals_transcript::line::read_span;
use annals_transcript::write::fs::State;

use crate::cursor::{self, PageCursor};
use crate::dispatch::chat::Chat;
use crate::rpc::Error;
use crate::to_wire::ToWire;

/// How many sessions stay open.
const MOST: usize = 8;
/// How many entries they may have together; the last one stays open whatever its size.
const MOST_ENTRIES: usize = 1_000_000;
/// After how long a session that nobody reads is put away.
const IDLE: Duration = Duration::from_secs(300);
/// How many bytes before its end tell a file from another one.
const MARKED: u64 = 256;

/// The sessions that lie open.
#[derive(Debug, Default)]
pub(crate) struct Desk(Mutex<Vec<Open>>);

#[derive(Clone, Debug)]
struct Open {
    path: PathBuf,
    state: State,
    entries: Arc<AtomicUsize>,
    jobs: Sender<Job>,
}

type Job = Box<dyn FnOnce(Result<&Reading<'_>, &Error>) + Send>;

/// A session that lies open: as it was when its file had so many bytes.
pub(crate) struct Reading<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) conversation: Conversation<'a>,
    pub(crate) to_wire: ToWire<'a>,
    pub(crate) chat: Chat<'a>,
    pub(crate) length: u64,
    mark: u64,
}

impl Desk {
    /// Works on a session as it is now, or as it was when a cursor was given.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        engine: &Engine,
        file: &TranscriptFile,
        cursor: Option<&PageCursor>,
        work: impl FnOnce(&Reading<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let unreadable = |source| annals_engine::Error::read(&file.path, source);
        let state = State::of(&file.path).map_err(unreadable)?;
        let mut state = state.ok_or_else(|| unreadable(std::io::ErrorKind::NotFound.into()))?;
        if let Some(cursor) = cursor {
            let is_long_enough = state.length >= cursor.length;
            state.length = cursor.length;
            // Where it lies open already, it may have been written anew since.
            if !is_long_enough || mark(&file.path, &state).map_err(unreadable)? != cursor.mark {
                return Err(cursor::stale());
            }
        }
        let (sender, receiver) = channel();
        let job: Job = Box::new(move |reading| {
            let done = match reading {
                Err(error) => Err(error.clone()),
                Ok(reading) => work(reading),
            };
            // Nobody waits any more if the request was given up.
            let _ = sender.send(done);
        });
        self.hand_over(engine, file, &state, cursor.is_some(), job)?;
        receiver.recv().map_err(|_| Error::broken_off())?
    }

    /// Gives a job to the thread in which the session lies open; opens it if there is none.
    fn hand_over(
        &self,
        engine: &Engine,
        file: &TranscriptFile,
        state: &State,
        any_time: bool,
        mut job: Job,
    ) -> Result<(), Error> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A file that has grown since is the same up to the length that is wanted.
        let is_meant = |one: &Open| {
            one.path == file.path
                && one.state.identity == state.identity
                && one.state.length == state.length
                && (any_time || one.state.modified == state.modified)
        };
        if let Some(place) = open.iter().position(is_meant) {
            let one = open.remove(place);
            match one.jobs.send(job) {
                Ok(()) => {
                    open.push(one);
                    return Ok(());
                }
                // It was put away.
                Err(refused) => job = refused.0,
            }
        }
        let entries = Arc::new(AtomicUsize::new(0));
        let (jobs, waiting) = channel::<Job>();
        let (engine, its_file, its_state, counted) = (engine.clone(), file.clone(), *state, entries.clone());
        let work = move || {
            let next = || waiting.recv_timeout(IDLE).ok();
            let read = |snapshot: &Snapshot| {
                let reading = Reading::of(snapshot, &its_state)?;
                counted.store(snapshot.session().nodes().len(), Ordering::Relaxed);
                while let Some(job) = next() {
                    job(Ok(&reading));
                }
                Ok(())
            };
            let snapshot = engine.snapshot_inside(its_file, its_state.length);
            let outcome: Result<(), Error> =
                snapshot.map_err(Error::from).and_then(|snapshot| read(&snapshot));
            // Who has asked already is told; who asks later has it tried again.
            if let Err(error) = outcome {
                while let Ok(job) = waiting.try_recv() {
                    job(Err(&error));
                }
            }
        };
        jobs.send(job).map_err(|_| Error::new(ErrorCode::Internal, "a channel broke"))?;
        let thread = std::thread::Builder::new().name("session".to_owned());
        thread.spawn(work).map_err(|_| Error::new(ErrorCode::Internal, "no thread could be started"))?;
        open.push(Open { path: file.path.clone(), state: *state, entries, jobs });
        put_away(&mut open);
        Ok(())
    }
}

/// Puts away what has not been read for longest, until there is room.
fn put_away(open: &mut Vec<Open>) {
    let all = |open: &[Open]| open.iter().map(|one| one.entries.load(Ordering::Relaxed)).sum::<usize>();
    while open.len() > MOST || open.len() > 1 && all(open) > MOST_ENTRIES {
        open.remove(0);
    }
}

/// Returns what tells a file of some length from another one: which it is, and its last bytes.
fn mark(path: &Path, state: &State) -> io::Result<u64> {
    let start = state.length.saturating_sub(MARKED);
    let end = read_span(&mut File::open(path)?, start, state.length - start)?;
    let mut hasher = DefaultHasher::new();
    (state.identity, state.length, end).hash(&mut hasher);
    Ok(hasher.finish())
}

impl<'a> Reading<'a> {
    fn of(snapshot: &'a Snapshot, state: &State) -> Result<Self, Error> {
        let unreadable = |source| annals_engine::Error::read(snapshot.path(), source);
        Ok(Self {
            snapshot,
            conversation: Conversation::of(snapshot)?,
            to_wire: ToWire::of(snapshot).cut_above(crate::dispatch::LONGEST_ITEM),
            chat: Chat::default(),
            length: state.length,
            mark: mark(snapshot.path(), state).map_err(unreadable)?,
        })
    }

    /// Returns a cursor to a place in this session, as it is now.
    pub(crate) fn cursor(&self, list: char, at: usize, back: bool) -> String {
        PageCursor { list, length: self.length, mark: self.mark, at, back }.write()
    }
}
