//! A cache of open sessions, so that the next page of a session does not read the whole file again.
//!
//! Each open session has a thread of its own, which owns the nodes and the conversation that was built from them and
//! works on one request after the other. An evicted session is opened again when it is needed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use annals_engine::{Conversation, Engine, Error as ReadError, Snapshot, TranscriptFile};
use annals_proto::ErrorCode;
use annals_transcript::checkpoint::{Change, Checkpoint};
use annals_transcript::file_state::FileState;

use crate::cursor::{self, PageCursor};
use crate::dispatch::LONGEST_ITEM;
use crate::dispatch::load::Chat;
use crate::rpc::Error;
use crate::to_wire::ToWire;

/// The most sessions that stay open.
const MAX_SESSIONS: usize = 8;
/// The most entries that open sessions have together; the most recent session stays open whatever its size.
const MAX_ENTRIES: usize = 1_000_000;
/// A session that was not read for this long is evicted.
const IDLE: Duration = Duration::from_secs(300);

/// The open sessions, the least recently used first.
#[derive(Debug, Default)]
pub(crate) struct OpenSessions(Mutex<Vec<SessionThread>>);

#[derive(Clone, Debug)]
struct SessionThread {
    path: PathBuf,
    state: FileState,
    entries: Arc<AtomicUsize>,
    jobs: Sender<Job>,
}

type Job = Box<dyn FnOnce(Result<&OpenSession<'_>, &Error>) + Send>;

/// An open session, as it was when its file had `length` bytes.
pub struct OpenSession<'a> {
    /// The transcript.
    pub snapshot: &'a Snapshot,
    /// Its conversation.
    pub conversation: Conversation<'a>,
    /// Converts its entries to wire types.
    pub to_wire: ToWire<'a>,
    pub(crate) chat: Chat<'a>,
    /// How many bytes of the file were read.
    pub length: u64,
    pub(crate) checkpoint: Checkpoint,
}

impl OpenSessions {
    /// Works with a session as it is now, or as it was when a cursor was made.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        engine: &Engine,
        file: &TranscriptFile,
        cursor: Option<&PageCursor>,
        work: impl FnOnce(&OpenSession<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let state = requested_state(file, cursor)?;
        // The channel only wakes this thread: one for the result would be compiled for each type of result.
        let result = Arc::new(Mutex::new(None));
        let (done, is_done) = channel::<()>();
        let job: Job = Box::new({
            let result = result.clone();
            move |reading| {
                let answer = match reading {
                    Err(error) => Err(error.clone()),
                    Ok(reading) => work(reading),
                };
                *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
                // Nobody waits for the result of a cancelled request.
                let _ = done.send(());
            }
        });
        self.enqueue(engine, file, &state, cursor.is_some(), job)?;
        is_done.recv().map_err(|_| Error::broken_off())?;
        let answer = result.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer.ok_or_else(Error::broken_off)?
    }

    /// Sends a job to the thread of a session; opens the session if it is not open.
    fn enqueue(
        &self,
        engine: &Engine,
        file: &TranscriptFile,
        state: &FileState,
        any_time: bool,
        mut job: Job,
    ) -> Result<(), Error> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = open.iter().rposition(|one| one.is_of(file, state, any_time)) {
            let one = open.remove(place);
            match one.jobs.send(job) {
                Ok(()) => {
                    open.push(one);
                    return Ok(());
                }
                // The session was evicted meanwhile.
                Err(refused) => job = refused.0,
            }
        }
        let entries = Arc::new(AtomicUsize::new(0));
        let (jobs, waiting) = channel::<Job>();
        let worker = Worker { state: *state, entries: entries.clone(), jobs: waiting };
        let (engine, its_file) = (engine.clone(), file.clone());
        jobs.send(job).map_err(|_| Error::new(ErrorCode::Internal, "a channel broke"))?;
        let thread = std::thread::Builder::new().name("session".to_owned());
        let started = thread.spawn(move || worker.run(&engine, its_file));
        started.map_err(|_| Error::new(ErrorCode::Internal, "no thread could be started"))?;
        open.push(SessionThread { path: file.path.clone(), state: *state, entries, jobs });
        evict(&mut open);
        Ok(())
    }
}

/// What the thread of an open session works with.
struct Worker {
    state: FileState,
    /// Where the number of entries is stored once the session is read.
    entries: Arc<AtomicUsize>,
    jobs: Receiver<Job>,
}

impl Worker {
    /// Opens the session and does all jobs. If it cannot be opened, the jobs that are already queued get the error; a later job opens
    /// the session again.
    fn run(&self, engine: &Engine, file: TranscriptFile) {
        let snapshot = engine.snapshot_inside(file, self.state.length).map_err(Error::from);
        if let Err(error) = snapshot.and_then(|snapshot| self.work(&snapshot)) {
            while let Ok(job) = self.jobs.try_recv() {
                job(Err(&error));
            }
        }
    }

    /// Does jobs until none has come for a while, or the session is evicted.
    fn work(&self, snapshot: &Snapshot) -> Result<(), Error> {
        let reading = OpenSession::of(snapshot, &self.state)?;
        self.entries.store(snapshot.session().nodes().len(), Ordering::Relaxed);
        while let Ok(job) = self.jobs.recv_timeout(IDLE) {
            job(Ok(&reading));
        }
        Ok(())
    }
}

impl SessionThread {
    /// Returns whether it has a session in a state. A file that has grown since is the same up to the requested length, so at
    /// `any_time` its time does not matter.
    fn is_of(&self, file: &TranscriptFile, state: &FileState, any_time: bool) -> bool {
        self.path == file.path
            && self.state.identity == state.identity
            && self.state.length == state.length
            && (any_time || self.state.modified == state.modified)
    }
}

/// Returns the state of a file as it is now, with the length that it had when a cursor was made.
fn requested_state(file: &TranscriptFile, cursor: Option<&PageCursor>) -> Result<FileState, Error> {
    let path = &file.path;
    let state = FileState::of(path).map_err(|source| ReadError::read(path, source))?;
    let mut state = state.ok_or_else(|| gone(path))?;
    let Some(cursor) = cursor else { return Ok(state) };
    match cursor.checkpoint.compare_path(path).map_err(|source| ReadError::read(path, source))? {
        Change::Same | Change::Grown => state.length = cursor.checkpoint.offset(),
        Change::Replaced => return Err(cursor::stale()),
        Change::Gone => return Err(gone(path).into()),
    }
    Ok(state)
}

fn gone(path: &Path) -> ReadError {
    ReadError::read(path, std::io::ErrorKind::NotFound.into())
}

/// Evicts the least recently used sessions until the rest is within the limits.
fn evict(open: &mut Vec<SessionThread>) {
    while open.len() > MAX_SESSIONS || open.len() > 1 && entry_count(open) > MAX_ENTRIES {
        open.remove(0);
    }
}

fn entry_count(open: &[SessionThread]) -> usize {
    open.iter().map(|one| one.entries.load(Ordering::Relaxed)).sum()
}

impl<'a> OpenSession<'a> {
    fn of(snapshot: &'a Snapshot, state: &FileState) -> Result<Self, Error> {
        let checkpoint = File::open(snapshot.path())
            .and_then(|mut file| Checkpoint::at(&mut file, state.identity, state.length));
        Ok(Self {
            snapshot,
            conversation: Conversation::of(snapshot)?,
            to_wire: ToWire::of(snapshot).cut_above(LONGEST_ITEM),
            chat: Chat::default(),
            length: state.length,
            checkpoint: checkpoint.map_err(|source| ReadError::read(snapshot.path(), source))?,
        })
    }

    /// Returns a cursor to a position in a list of this session, at its length.
    pub fn cursor(&self, list: char, at: usize, back: bool) -> String {
        PageCursor { list, checkpoint: self.checkpoint, at, back }.write()
    }
}
