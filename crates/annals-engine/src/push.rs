//! Sends the entries of a transcript to a server, in order and each once. `docs/PUSH.md` describes what is sent.
//!
//! The file on disk is the truth: [`Pusher::push`] reads what is in it, syncs it, and sends what the server does not have yet.
//! Every entry names the one before it, and a server stores it only after that one. So an entry that is sent twice, because an
//! answer was lost or because one of the two sides was killed, is stored once; and the server says where to continue.

mod background;
mod progress;
mod queue;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use annals_transcript::checkpoint::Change;
use annals_transcript::file_state::FileState;
use annals_transcript::project::is_session_id;
use annals_transcript::write::fs::Handle;
use annals_transcript::write::{Access, Options, lock_file};

pub use background::{BackgroundPusher, PushReport};
pub use progress::without_secrets;

use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, open_regular};
use crate::remote::{Ingress, PutAnswer, PutEntry};
use progress::PushProgress;
use queue::Queue;

/// Progress is saved after this many entries. What was stored since is found by asking the server.
const SAVE_INTERVAL: usize = 64;

/// How a transcript is pushed.
#[derive(Clone, Copy, Debug, Default)]
pub struct PushOptions {
    /// Also send records without a uuid, such as titles. Each has a key, by which the server must recognise it.
    pub all: bool,
    /// Forget the progress of earlier pushes, and continue after the last entry that the server has. If the push fails before
    /// that entry is known, everything is pending, and the earlier progress stays.
    pub restart: bool,
    /// How often to try.
    pub retry: Retry,
}

/// How often an entry is sent until the server answers, and how long to wait in between.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// The first pause; each further one is twice as long.
    pub first_pause: Duration,
    /// No pause is longer than this, unless the server asks for it.
    pub longest_pause: Duration,
    /// The number of times that an entry is sent.
    pub tries: u32,
    /// Waits for a time.
    pub wait: fn(Duration),
    /// Is called before each retry, with the reason of the failure and the pause.
    pub announce: fn(&str, Duration),
}

impl Default for Retry {
    fn default() -> Self {
        let (first_pause, longest_pause) = (Duration::from_millis(500), Duration::from_secs(8));
        Self { first_pause, longest_pause, tries: 10, wait: thread::sleep, announce: |_, _| {} }
    }
}

impl Retry {
    /// Returns the pause after a number of failures in a row, from 1.
    fn pause(&self, failures: u32) -> Duration {
        self.first_pause.saturating_mul(2_u32.saturating_pow(failures - 1)).min(self.longest_pause)
    }
}

/// What a push did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushOutcome {
    /// The number of entries that were stored.
    pub sent: usize,
    /// The number of entries that the server does not have yet.
    pub pending: usize,
    /// How many of these are records that wait for the first entry with a uuid: without one, it cannot be found out whether the
    /// log of the server is that of the transcript.
    pub waiting: usize,
    /// The number of entries that are not sent because their uuid cannot be the value of a header. With [`PushOptions::all`] they
    /// are sent as records.
    pub skipped: usize,
    /// The uuid of the last entry that the server has, as far as it is known.
    pub last: Option<String>,
}

/// Why a push ended before everything was sent. The transcript is unchanged, and what is pending can be pushed later.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The server does not accept the token, or requires one.
    #[error("the server does not accept the token, or requires one (401)")]
    Unauthorized,
    /// The last entry of the server is not in the transcript.
    #[error(
        "the last entry on the server, `{head}`, is not in the transcript: another transcript was pushed there, or this one was rewritten"
    )]
    UnknownHead {
        /// The uuid of that entry.
        head: String,
    },
    /// The transcript was rewritten, replaced or deleted since entries of it were sent.
    #[error("{} was rewritten, replaced or deleted since entries of it were sent; the server still has the earlier version", path.display())]
    Rewritten {
        /// The transcript.
        path: PathBuf,
    },
    /// The server refuses an entry.
    #[error("the entry at byte {offset} was refused: {reason}")]
    Refused {
        /// The offset of the entry in the transcript.
        offset: u64,
        /// The reason.
        reason: String,
    },
    /// The server could not be reached, or gave no useful answer, too often.
    #[error("gave up after {tries} tries: {reason}")]
    Unavailable {
        /// The number of tries.
        tries: u32,
        /// The reason of the last failure.
        reason: String,
    },
    /// The transcript has entries, but none with a uuid that can be sent.
    #[error(
        "no entry of the transcript has a uuid that can be the value of an HTTP header: at most 256 visible ASCII characters"
    )]
    NoUsableId,
    /// Another process pushes the same transcript to the same address.
    #[error("another annals process is pushing this transcript to this address")]
    Busy,
    /// A file could not be read or written.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl PushError {
    /// Returns whether a later push cannot succeed unless something other than an appended line changes: the token, the address
    /// or the transcript.
    pub fn is_final(&self) -> bool {
        let may_pass = matches!(
            self,
            PushError::NoUsableId | PushError::Unavailable { .. } | PushError::Busy | PushError::Engine(_)
        );
        !may_pass
    }
}

/// Pushes one transcript to one address.
#[derive(Debug)]
pub struct Pusher {
    engine: Engine,
    path: PathBuf,
    session: String,
    address: String,
    /// The file with the progress.
    progress: PathBuf,
    ingress: Box<dyn Ingress>,
    options: PushOptions,
    /// How long to wait for another process that pushes the same.
    lock_timeout: Duration,
    queue: Queue,
}

pub(crate) fn pusher(
    engine: &Engine,
    file: &TranscriptFile,
    address: &str,
    ingress: Box<dyn Ingress>,
    options: PushOptions,
) -> Result<Pusher, Error> {
    let session = file.session.clone().filter(|session| is_session_id(session));
    let session = session.ok_or_else(|| Error::new(ErrorKind::NotASession { path: file.path.clone() }))?;
    Ok(Pusher {
        progress: progress::path(engine.home(), &session, file.agent.as_deref(), address),
        engine: engine.clone(),
        path: file.path.clone(),
        queue: Queue::new(&session, options.all),
        session,
        address: address.to_owned(),
        ingress,
        options,
        lock_timeout: Options::default().lock_timeout,
    })
}

impl Pusher {
    /// Sends everything that is in the transcript and not yet on the server. A transcript that does not exist yet has nothing.
    pub fn push(&mut self) -> Result<PushOutcome, PushError> {
        let _lock = self.lock()?;
        let Some(mut file) = self.update()? else { return Ok(PushOutcome::default()) };
        self.sync()?;
        let before = self.queue.stored_count();
        let pushed = self.send_pending(&mut file);
        let saved = self.save(&mut file);
        pushed?;
        saved?;
        Ok(PushOutcome { sent: self.queue.stored_count() - before, ..self.outcome() })
    }

    /// Returns what a push would have to send, by the progress of earlier ones. The server is not asked.
    pub fn pending(&mut self) -> Result<PushOutcome, PushError> {
        self.update()?;
        Ok(self.outcome())
    }

    /// Pushes like [`push`](Self::push), and also says what is pending after a failure.
    pub fn push_and_report(&mut self) -> PushReport {
        let before = self.sent();
        match self.push() {
            Ok(outcome) => PushReport { outcome, error: None },
            Err(error) => {
                // A push that had to give way to another one has not read the transcript.
                let outcome = self.pending().unwrap_or_else(|_| self.outcome());
                let sent = self.sent() - before;
                PushReport { outcome: PushOutcome { sent, ..outcome }, error: Some(error) }
            }
        }
    }

    /// Returns what a push would have to send, like [`pending`](Self::pending), or why that is not known.
    pub fn pending_and_report(&mut self) -> PushReport {
        match self.pending() {
            Ok(outcome) => PushReport { outcome, error: None },
            Err(error) => PushReport { outcome: self.outcome(), error: Some(error) },
        }
    }

    fn outcome(&self) -> PushOutcome {
        PushOutcome {
            sent: 0,
            pending: self.queue.pending(),
            waiting: self.queue.waiting(),
            skipped: self.queue.skipped(),
            last: self.queue.last_stored().map(str::to_owned),
        }
    }

    /// Returns the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Returns whether a restart is still to be done: it was requested, and no progress has replaced the earlier one yet.
    pub fn is_restart_pending(&self) -> bool {
        self.options.restart
    }

    /// Returns the number of entries that were stored since the pusher was made.
    pub fn sent(&self) -> usize {
        self.queue.stored_count()
    }

    /// Makes this process the only one that pushes the transcript to the address.
    fn lock(&self) -> Result<Box<dyn Handle>, PushError> {
        self.engine.make_folder(&self.engine.home().locks())?;
        let name = self.progress.with_extension("push.lock");
        let path = self.engine.home().locks().join(name.file_name().unwrap_or_default());
        let lock = lock_file(&**self.engine.disk(), &path, Access::Exclusive, self.lock_timeout);
        lock.map_err(|error| if error.is_busy() { PushError::Busy } else { Error::from(error).into() })
    }

    /// Reads what was added to the transcript, and how far it was pushed. Returns `None` if there is no transcript.
    fn update(&mut self) -> Result<Option<File>, PushError> {
        let mut file = match open_regular(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.queue.is_empty() => {
                return Ok(None);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.rewritten()),
            file => file.map_err(|error| Error::read(&self.path, error))?,
        };
        let failed = Error::reading(&self.path);
        let state = FileState::from(file.metadata().map_err(failed)?);
        if !self.queue.read(&mut file, &state).map_err(failed)? {
            return Err(self.rewritten());
        }
        let progress = if self.options.restart {
            None
        } else {
            let progress = PushProgress::load(&self.progress, &self.session, &self.address);
            progress.map_err(|error| Error::read(&self.progress, error))?
        };
        let Some(progress) = progress else {
            self.queue.start_over();
            if self.queue.has_unusable_ids_only() {
                return Err(PushError::NoUsableId);
            }
            return Ok(Some(file));
        };
        let change = progress.checkpoint.compare(&mut file, &state).map_err(failed)?;
        if change == Change::Replaced || !self.queue.continue_at(&progress) {
            return Err(self.rewritten());
        }
        Ok(Some(file))
    }

    fn rewritten(&self) -> PushError {
        PushError::Rewritten { path: self.path.clone() }
    }

    /// Syncs the transcript: the server must not have entries that a loss of power takes from this machine.
    fn sync(&self) -> Result<(), Error> {
        let synced = self.engine.disk().open(&self.path).and_then(|mut file| file.sync());
        match synced {
            // Another user's file cannot be written to, and is not synced.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            synced => synced.map_err(|error| Error::write(&self.path, error)),
        }
    }

    /// Saves how far the server is known to be. A restart ends here: only now there is a progress that replaces the earlier one.
    fn save(&mut self, file: &mut File) -> Result<(), Error> {
        let Some(progress) = self.queue.progress(file).map_err(|error| Error::read(&self.path, error))?
        else {
            return Ok(());
        };
        self.engine.make_folder(self.progress.parent().unwrap_or(self.engine.home().path()))?;
        progress.save(&**self.engine.disk(), &self.progress, &self.session, &self.address)?;
        self.options.restart = false;
        Ok(())
    }

    fn send_pending(&mut self, file: &mut File) -> Result<(), PushError> {
        let Retry { tries, .. } = self.options.retry;
        let mut farthest = self.queue.position();
        // By the progress, the next push sees that the transcript was rewritten. So the first one is saved at once.
        let mut unsaved = if farthest == (0, 0) { SAVE_INTERVAL - 1 } else { 0 };
        let (mut failures, mut rewinds) = (0, 0);
        while let Some(index) = self.queue.next() {
            match self.put(file, index)? {
                Step::Stored | Step::Moved => {
                    failures = 0;
                    unsaved += 1;
                }
                Step::Rewound => {
                    rewinds += 1;
                    if rewinds >= tries {
                        let reason = "the server loses entries, or contradicts itself".to_owned();
                        return Err(PushError::Unavailable { tries, reason });
                    }
                }
                Step::Failed { reason, retry_after } => {
                    failures += 1;
                    if failures >= tries {
                        return Err(PushError::Unavailable { tries, reason });
                    }
                    let pause = self.options.retry.pause(failures).max(retry_after.unwrap_or_default());
                    (self.options.retry.announce)(&reason, pause);
                    (self.options.retry.wait)(pause);
                }
            }
            if self.queue.position() > farthest {
                (farthest, rewinds) = (self.queue.position(), 0);
            }
            if unsaved >= SAVE_INTERVAL {
                self.save(file)?;
                unsaved = 0;
            }
        }
        Ok(())
    }

    /// Sends one entry and takes in the answer.
    fn put(&mut self, file: &mut File, index: usize) -> Result<Step, PushError> {
        // What a rewrite or a deletion has just removed must not be sent from the file that is still open.
        let current = FileState::of(&self.path).map_err(Error::reading(&self.path))?;
        if current.is_none_or(|current| current.identity != self.queue.identity()) {
            return Err(self.rewritten());
        }
        let body = self.queue.body(file, index).map_err(Error::reading(&self.path))?;
        let Some(body) = body else { return Err(self.rewritten()) };
        let key = self.queue.key(index);
        let entry = PutEntry { body: &body, after: self.queue.last_stored(), key: key.as_deref() };
        match self.ingress.put(&self.address, &entry) {
            PutAnswer::Stored => {
                self.queue.mark_stored(index);
                Ok(Step::Stored)
            }
            PutAnswer::Conflict { head } => self.continue_behind(index, head),
            PutAnswer::Unauthorized => Err(PushError::Unauthorized),
            PutAnswer::Refused { reason } => {
                Err(PushError::Refused { offset: self.queue.offset(index), reason })
            }
            PutAnswer::Unavailable { reason, retry_after } => Ok(Step::Failed { reason, retry_after }),
        }
    }

    /// Continues after the last entry of the server.
    fn continue_behind(&mut self, index: usize, head: Option<String>) -> Result<Step, PushError> {
        if head.is_some() && head.as_deref() == self.queue.id(index) {
            self.queue.mark_stored(index);
            return Ok(Step::Stored);
        }
        if head.as_deref() == self.queue.last_stored() {
            let reason = "the server refuses an entry that follows its last one (409)".to_owned();
            return Ok(Step::Failed { reason, retry_after: None });
        }
        let before = self.queue.position();
        match head {
            None => self.queue.start_over(),
            Some(head) => {
                let Some(known) = self.queue.find(&head) else { return Err(PushError::UnknownHead { head }) };
                self.queue.continue_behind(known);
            }
        }
        Ok(if self.queue.position() < before { Step::Rewound } else { Step::Moved })
    }
}

/// What sending one entry led to.
enum Step {
    /// The entry is on the server.
    Stored,
    /// The server has later entries, too.
    Moved,
    /// The server does not have entries that were thought to be there.
    Rewound,
    /// It is not known whether the server has the entry.
    Failed { reason: String, retry_after: Option<Duration> },
}

#[cfg(test)]
mod tests;
