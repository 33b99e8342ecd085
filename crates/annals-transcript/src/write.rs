//! Writing transcripts that the client resumes: [`Recorder`] appends, [`rewrite`] replaces whole files or not at all.
//!
//! Every change goes through [`fs::Disk`], so that tests can make any operation fail. What holds after a failure or a
//! crash is stated in `docs/RELIABILITY.md`.

mod builder;
mod draft;
mod error;
pub mod fs;
mod id;
mod known;
mod lines;
mod removal;
pub mod rewrite;
mod target;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

pub use builder::RecorderBuilder;
pub use draft::{Compaction, Draft, DraftError, Envelope};
pub use error::Error;
pub use id::new_id;
pub use target::{Agent, Target};

use crate::entry::Kind;
use crate::file_state::FileState;
use crate::line::read_span;
use draft::{Parent, Place};
use error::ErrorKind;
use fs::{Disk, Handle};
use id::NewIds;
use known::Known;
use lines::Lines;

/// How long to wait whether more comes of a line without its end, and how often.
const MOMENT: Duration = Duration::from_millis(5);
const MOMENTS: usize = 100;

/// Appends to the transcript of one session, or of one of its subagents.
///
/// What is appended is kept in memory until [`flush`](Self::flush) or until the buffer is full, and then written as
/// whole lines in one operation. Ids, parents and everything else that the client writes are filled in; entries that
/// the file already holds are passed over. Several recorders, in one process or in many, may write to one session.
///
/// ```
/// use annals_transcript::write::{Draft, Envelope, Recorder, Sync, Target};
///
/// let project = tempfile::tempdir()?;
/// let target = Target::session(project.path(), "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55")?;
/// let envelope = Envelope { cwd: "/home/dev/work".into(), ..Envelope::default() };
/// let mut recorder = Recorder::builder(target).envelope(envelope).sync(Sync::Never).open()?;
/// let hello = recorder.append(vec![Draft::user("Hello")])?;
/// recorder.flush()?;
/// assert_eq!((hello.written, hello.skipped), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    disk: Arc<dyn Disk>,
    target: Target,
    envelope: Envelope,
    options: Options,
    known: Known,
    pending: Vec<Pending>,
    pending_bytes: usize,
    /// Which of `pending` has an id.
    pending_ids: HashMap<String, usize>,
    written: usize,
    /// The newest time that a draft was given.
    newest: Timestamp,
    /// The open lock file of the session, if there is one.
    session_lock: Option<Box<dyn Handle>>,
}

/// How a recorder writes.
#[derive(Clone, Debug)]
pub struct Options {
    /// When what was written is made to survive a loss of power.
    pub sync: Sync,
    /// How many bytes are kept in memory before they are written.
    pub buffer: usize,
    /// How many bytes a line may have.
    pub longest_line: usize,
    /// How long to wait for others that write to the same session.
    pub lock_timeout: Duration,
    /// Where times come from.
    pub now: fn() -> Timestamp,
    /// A lock file that is taken, shared, for the time of each write and before the transcript's own lock. It keeps
    /// operations away that move or replace the session.
    pub session_lock: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sync: Sync::Flush,
            buffer: 1024 * 1024,
            longest_line: 50 * 1024 * 1024,
            lock_timeout: Duration::from_secs(10),
            now: Timestamp::now,
            session_lock: None,
        }
    }
}

/// When what was written is made to survive a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// Whenever the system gets round to it.
    Never,
    /// Before `flush` returns.
    #[default]
    Flush,
    /// Before `append` returns, which then writes at once.
    Always,
}

/// What became of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppendSummary {
    /// How many entries were new.
    pub written: usize,
    /// How many were there already.
    pub skipped: usize,
    /// The entry that the next message should hang on.
    pub last: Option<String>,
}

/// A draft that is not on disk yet.
#[derive(Debug)]
struct Pending {
    draft: Draft,
    id: Option<String>,
    parent: Parent,
    time: Timestamp,
}

impl Recorder {
    /// Names the session to record to; [`RecorderBuilder::open`] opens it.
    pub fn builder(target: Target) -> RecorderBuilder {
        RecorderBuilder::new(target)
    }

    fn open(
        disk: Arc<dyn Disk>,
        target: Target,
        envelope: Envelope,
        options: Options,
    ) -> Result<Self, Error> {
        let known = Known::nothing(target.agent().is_some());
        let mut recorder = Self {
            disk,
            target,
            envelope,
            options,
            known,
            pending: Vec::new(),
            pending_bytes: 0,
            pending_ids: HashMap::new(),
            written: 0,
            newest: Timestamp::MIN,
            session_lock: None,
        };
        recorder.look()?;
        Ok(recorder)
    }

    /// Returns what is recorded to.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the entry that the next message hangs on.
    pub fn last(&self) -> Option<&str> {
        let message = self.pending.iter().rev().find(|pending| pending.draft.kind.is_message());
        message.map_or(self.known.tip(), |pending| pending.id.as_deref())
    }

    /// Returns how many drafts were written so far, whatever came after.
    pub fn written(&self) -> usize {
        self.written
    }

    /// Returns how many drafts wait to be written.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Takes a batch of drafts, all or none of them.
    ///
    /// The first new message hangs on the last entry of the conversation or, where entries that are there already stand
    /// at the front of the batch, on the last of those; each further one on the one before. A draft that names its
    /// parent hangs there. Nothing ever hangs on `progress`.
    pub fn append(&mut self, batch: Vec<Draft>) -> Result<AppendSummary, Error> {
        let (appended, refused) = self.take(batch, false)?;
        match refused.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(appended),
        }
    }

    /// Takes those drafts of a batch that are sound; returns why each of the others was refused.
    pub fn append_valid(&mut self, batch: Vec<Draft>) -> Result<(AppendSummary, Vec<Error>), Error> {
        self.take(batch, true)
    }

    /// Records a compaction: everything before is replaced by the summary, but for the messages that are kept.
    pub fn compact(&mut self, compaction: &Compaction) -> Result<AppendSummary, Error> {
        if let Some(id) = compaction.kept.iter().find(|id| !self.is_message(id)) {
            return Err(Error::new(ErrorKind::NoEntry { id: id.clone() }));
        }
        self.append(compaction.drafts(&new_id()))
    }

    /// Writes what waits, if there is a message among it or the file is there already.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_pending(self.options.sync != Sync::Never)
    }

    /// Goes on in another session: what waits is written to the old one, the next message goes to the new one.
    pub fn switch(&mut self, target: Target, envelope: Envelope) -> Result<(), Error> {
        self.flush()?;
        let next = Self::open(Arc::clone(&self.disk), target, envelope, self.options.clone())?;
        *self = next;
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // There is nobody left to tell; who wants to know calls `flush`.
        let _ = self.flush();
    }
}

/// Taking drafts.
impl Recorder {
    fn take(&mut self, batch: Vec<Draft>, keep_going: bool) -> Result<(AppendSummary, Vec<Error>), Error> {
        let before = self.pending.len();
        let (mut skipped, mut refused) = (0, Vec::new());
        // The last entry of the batch that is there already, as long as nothing new came before it.
        let mut prefix = None;
        let mut last_new = None;
        let mut file = None;
        let mut ids = NewIds::at_most(batch.len());
        for (index, draft) in batch.into_iter().enumerate() {
            let is_message = draft.kind.is_message();
            match self.judge(&draft, &mut file).inspect_err(|_| self.take_back(before))? {
                Ok(Verdict::Known) => {
                    skipped += 1;
                    if is_message && last_new.is_none() {
                        prefix.clone_from(&draft.id);
                    }
                }
                Ok(Verdict::New) => {
                    let parent = match (&draft.parent, &prefix) {
                        (Parent::Last, Some(id)) if last_new.is_none() => Parent::Entry(id.clone()),
                        (parent, _) => parent.clone(),
                    };
                    let id = self.push(draft, parent, &mut ids);
                    if is_message {
                        last_new = id;
                    }
                }
                Err(source) => {
                    refused.push(Error::new(ErrorKind::Draft { number: index + 1, source }));
                    if !keep_going {
                        self.take_back(before);
                        break;
                    }
                }
            }
        }
        let written = self.pending.len() - before;
        let last = last_new.or(prefix).or_else(|| self.last().map(str::to_owned));
        self.write_if_due(before)?;
        Ok((AppendSummary { written, skipped, last }, refused))
    }

    /// Says whether a draft is new, and whether it may be recorded at all. The file is opened if it is needed.
    fn judge(
        &mut self,
        draft: &Draft,
        file: &mut Option<Box<dyn Handle>>,
    ) -> Result<Result<Verdict, DraftError>, Error> {
        let (length, limit) = (draft.length(), self.options.longest_line);
        if length > limit {
            return Ok(Err(DraftError::TooLong { length, limit }));
        }
        if self.target.agent().is_none() && draft::is_sidechain(draft) {
            return Ok(Err(DraftError::Sidechain));
        }
        if let Some(id) = &draft.id {
            if let Some(&index) = self.pending_ids.get(id) {
                let same = draft.says_the_same_as(self.pending[index].draft.body());
                return Ok(if same { Ok(Verdict::Known) } else { Err(DraftError::IdTaken(id.clone())) });
            }
            if let Some(place) = self.known.place(id) {
                let same = self.is_recorded_at(draft, place, file)?;
                return Ok(if same { Ok(Verdict::Known) } else { Err(DraftError::IdTaken(id.clone())) });
            }
        }
        if let Parent::Entry(parent) = &draft.parent
            && draft.kind.joins_chain()
            && !self.is_message(parent)
        {
            // Somebody else may have recorded it a moment ago.
            self.look()?;
            if !self.is_message(parent) {
                let is_there = self.known.place(parent).is_some() || self.pending_ids.contains_key(parent);
                let error = if is_there { DraftError::NotAMessage } else { DraftError::NoParent };
                return Ok(Err(error(parent.clone())));
            }
        }
        Ok(Ok(Verdict::New))
    }

    fn is_recorded_at(
        &self,
        draft: &Draft,
        place: known::Place,
        file: &mut Option<Box<dyn Handle>>,
    ) -> Result<bool, Error> {
        let path = self.target.path();
        let mut read = || {
            let file = match file {
                Some(file) => file,
                None => file.insert(self.disk.open(&path)?),
            };
            read_span(file, place.offset, place.length)
        };
        let bytes = read().map_err(Error::disk("read", &path))?;
        Ok(crate::Entry::new(&bytes).body().is_some_and(|recorded| draft.says_the_same_as(recorded)))
    }

    /// Returns whether there is an entry that others can hang on.
    fn is_message(&self, id: &str) -> bool {
        match self.pending_ids.get(id) {
            Some(&index) => self.pending[index].draft.kind.is_message(),
            None => self.known.place(id).is_some_and(|place| place.is_message),
        }
    }

    fn push(&mut self, draft: Draft, parent: Parent, ids: &mut NewIds) -> Option<String> {
        let id = draft.id.clone().or_else(|| draft.kind.joins_chain().then(|| ids.next_id()));
        if let Some(id) = &id {
            self.pending_ids.insert(id.clone(), self.pending.len());
        }
        self.pending_bytes += draft.length();
        // Each is later than the one before, whatever the clock says: where a parent is lost, the client takes the entry
        // that comes before in time, and of several at the same time the first.
        self.newest = (self.options.now)().max(self.newest + SignedDuration::from_millis(1));
        self.pending.push(Pending { draft, id: id.clone(), parent, time: self.newest });
        id
    }

    /// Forgets what waits, but for the first so many.
    fn take_back(&mut self, length: usize) {
        for pending in self.pending.drain(length..) {
            self.pending_bytes -= pending.draft.length();
            if let Some(id) = pending.id {
                self.pending_ids.remove(&id);
            }
        }
    }

    fn write_if_due(&mut self, before: usize) -> Result<(), Error> {
        match self.options.sync {
            Sync::Always => self.write_pending(true)?,
            _ if self.pending_bytes > self.options.buffer => self.write_pending(false)?,
            _ => {}
        }
        if self.pending_bytes > self.options.buffer {
            let waiting = self.pending.len();
            self.take_back(before);
            return Err(Error::new(ErrorKind::NoMessage { waiting }));
        }
        Ok(())
    }
}

enum Verdict {
    Known,
    New,
}

/// Writing.
impl Recorder {
    /// Learns what the file holds, if it is there.
    fn look(&mut self) -> Result<(), Error> {
        let path = self.target.path();
        match self.disk.open(&path) {
            Ok(mut file) => self.known.catch_up(&mut *file).map_err(Error::disk("read", &path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::disk("open", &path)(error)),
        }
    }

    fn write_pending(&mut self, sync: bool) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.lock_session()?;
        let written = self.write_to_transcript(sync);
        if let Some(lock) = &mut self.session_lock
            && lock.unlock().is_err()
        {
            // Closing the file gives the lock back in any case.
            self.session_lock = None;
        }
        written
    }

    /// Takes the lock of the session. Its file stays open from one write to the next: it is never replaced, and opening
    /// it again would cost more than the lock.
    fn lock_session(&mut self) -> Result<(), Error> {
        let Some(path) = self.options.session_lock.as_deref() else { return Ok(()) };
        if let Some(lock) = &mut self.session_lock
            && lock.try_lock_shared().map_err(Error::disk("lock", path))?
        {
            return Ok(());
        }
        self.session_lock = Some(lock_file(&*self.disk, path, Access::Shared, self.options.lock_timeout)?);
        Ok(())
    }

    fn write_to_transcript(&mut self, sync: bool) -> Result<(), Error> {
        let path = self.target.path();
        let state = FileState::of(&path).map_err(Error::disk("read", &path))?;
        let speaks = |pending: &Pending| matches!(pending.draft.kind, Kind::User | Kind::Assistant);
        if state.is_none() && !self.pending.iter().any(speaks) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        if state.is_none() && !folder.is_dir() {
            self.disk.create_folder(folder).map_err(Error::disk("make the folder", folder))?;
        }
        let mut file = lock(&*self.disk, &path, Open::OrCreate, self.options.lock_timeout)?;
        let read = |file: &mut dyn Handle| self.known.catch_up(file).map(|()| self.known.end().is_none());
        is_torn(&mut *file, read).map_err(Error::disk("read", &path))?;
        self.write_lines(&mut *file).map_err(Error::disk("write to", &path))?;
        if sync {
            file.sync().map_err(Error::disk("sync", &path))?;
            if state.is_none() {
                self.disk.sync_folder(folder).map_err(Error::disk("sync", folder))?;
            }
        }
        Ok(())
    }

    /// Writes what waits to a file that nobody else of ours writes to.
    fn write_lines(&mut self, file: &mut dyn Handle) -> io::Result<()> {
        // Another recorder may have been faster.
        let known = &self.known;
        self.pending.retain(|pending| pending.id.as_ref().is_none_or(|id| known.place(id).is_none()));
        let rendered = self.render();
        let end = self.known.end();
        let progress = rendered.lines.append_to(file, end.is_none());
        let written = rendered.pending[..progress.lines].iter().flatten().count();
        if progress.result.is_ok() && progress.start.is_some() && progress.start == end {
            self.note_written(&rendered);
        }
        self.pending.drain(..written);
        self.written += written;
        self.pending_bytes = self.pending.iter().map(|pending| pending.draft.length()).sum();
        let ids =
            self.pending.iter().enumerate().filter_map(|(index, pending)| Some((pending.id.clone()?, index)));
        self.pending_ids = ids.collect();
        progress.result?;
        // Reads what others have written in between, if anything.
        self.known.catch_up(file)
    }

    fn render(&self) -> Rendered {
        let mut rendered =
            Rendered { lines: Lines::default(), pending: Vec::new(), tip: None, leaf_named: false };
        rendered.leaf_named = self.known.leaf_is_named();
        let mut tip = self.known.tip();
        for (index, pending) in self.pending.iter().enumerate() {
            let draft = &pending.draft;
            let (mut parent, mut logical_parent) = match &pending.parent {
                Parent::Last => (tip, None),
                Parent::Nothing => (None, None),
                Parent::Entry(id) => (Some(id.as_str()), None),
            };
            if draft.boundary {
                (parent, logical_parent) = (None, parent.or(tip));
            }
            let place = Place {
                session: self.target.session_id(),
                agent: self.target.agent().map(Agent::id),
                envelope: &self.envelope,
                id: pending.id.as_deref(),
                parent,
                logical_parent,
                time: pending.time,
            };
            let leaves_the_line =
                draft.kind.is_message() && !draft.boundary && !draft.answers && parent != tip;
            if leaves_the_line && rendered.leaf_named {
                rendered.lines.push(|out| Draft::no_last_prompt().render(&place, out));
                rendered.pending.push(None);
                rendered.leaf_named = false;
            }
            rendered.lines.push(|out| draft.render(&place, out));
            rendered.pending.push(Some(index));
            let entry = crate::Entry::new(draft.body().bytes());
            rendered.leaf_named = known::names_leaf(&entry).unwrap_or(rendered.leaf_named);
            if draft.kind.is_message() {
                tip = pending.id.as_deref();
            }
        }
        rendered.tip = tip.map(str::to_owned);
        rendered
    }

    /// Notes what stands in the file now, without reading it.
    fn note_written(&mut self, rendered: &Rendered) {
        for (line, index) in rendered.lines.iter().zip(&rendered.pending) {
            let pending = index.map(|index| &self.pending[index]);
            let is_message = pending.is_some_and(|pending| pending.draft.kind.is_message());
            self.known.wrote(pending.and_then(|pending| pending.id.as_deref()), is_message, line);
        }
        if let Some(tip) = &rendered.tip {
            self.known.go_on_from(tip);
        }
        self.known.set_leaf_named(rendered.leaf_named);
    }
}

/// What waits, as lines.
struct Rendered {
    lines: Lines,
    /// Which of the drafts that wait each line is; none for lines of our own.
    pending: Vec<Option<usize>>,
    /// The entry that the conversation ends with when all are written.
    tip: Option<String>,
    /// Whether a `last-prompt` counts when all are written.
    leaf_named: bool,
}

/// Appends records to a transcript that is there, without reading it: titles, tags and others that have no place in the
/// conversation.
pub fn append_records(
    disk: &dyn Disk,
    target: &Target,
    records: &[Draft],
    options: &Options,
) -> Result<(), Error> {
    let path = target.path();
    let mut file = lock(disk, &path, Open::IfThere, options.lock_timeout)?;
    let ends_in_line = |mut file: &mut dyn Handle| {
        let length = file.state()?.length;
        Ok(length > 0 && read_span(&mut file, length - 1, 1)? != b"\n")
    };
    let heal = is_torn(&mut *file, ends_in_line).map_err(Error::disk("read", &path))?;
    let mut lines = Lines::default();
    for record in records.iter().filter(|record| !record.kind.joins_chain()) {
        let place = Place {
            session: target.session_id(),
            agent: None,
            envelope: &Envelope::default(),
            id: None,
            parent: None,
            logical_parent: None,
            time: (options.now)(),
        };
        lines.push(|out| record.render(&place, out));
    }
    lines.append_to(&mut *file, heal).result.map_err(Error::disk("write to", &path))?;
    file.sync().map_err(Error::disk("sync", &path))
}

/// Returns whether a file ends in a line without newline, and nobody is just writing it: systems let others see half of
/// what one operation writes.
fn is_torn(
    file: &mut dyn Handle,
    mut ends_in_line: impl FnMut(&mut dyn Handle) -> io::Result<bool>,
) -> io::Result<bool> {
    let mut before = file.state()?.length;
    for _ in 0..MOMENTS {
        if !ends_in_line(file)? {
            return Ok(false);
        }
        thread::sleep(MOMENT);
        let now = file.state()?.length;
        if std::mem::replace(&mut before, now) == now {
            break;
        }
    }
    ends_in_line(file)
}

/// Whether a file that is not there is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    IfThere,
    OrCreate,
}

/// With whom a lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// With all others that take it shared.
    Shared,
    /// With nobody.
    Exclusive,
}

/// Takes a lock file, which is made if it is not there, until the handle is dropped.
pub fn lock_file(
    disk: &dyn Disk,
    path: &Path,
    access: Access,
    lock_timeout: Duration,
) -> Result<Box<dyn Handle>, Error> {
    acquire(disk, path, Open::OrCreate, access, lock_timeout)
}

/// Opens a file and takes it for us among all annals processes.
pub(crate) fn lock(
    disk: &dyn Disk,
    path: &Path,
    open: Open,
    lock_timeout: Duration,
) -> Result<Box<dyn Handle>, Error> {
    acquire(disk, path, open, Access::Exclusive, lock_timeout)
}

fn acquire(
    disk: &dyn Disk,
    path: &Path,
    open: Open,
    access: Access,
    lock_timeout: Duration,
) -> Result<Box<dyn Handle>, Error> {
    let failed = || Error::disk("open", path);
    let deadline = Instant::now() + lock_timeout;
    let try_lock = |file: &mut Box<dyn Handle>| match access {
        Access::Shared => file.try_lock_shared(),
        Access::Exclusive => file.try_lock(),
    };
    loop {
        let mut file = match open {
            Open::IfThere => disk.open(path),
            Open::OrCreate => disk.open_or_create(path),
        }
        .map_err(failed())?;
        while !try_lock(&mut file).map_err(Error::disk("lock", path))? {
            if Instant::now() >= deadline {
                return Err(Error::new(ErrorKind::Locked { path: path.to_owned() }));
            }
            thread::sleep(Duration::from_millis(1));
        }
        // While we waited, the one before us may have put another file in its place.
        let state = file.state().map_err(failed())?;
        if FileState::of(path).map_err(failed())?.is_some_and(|there| there.identity == state.identity) {
            return Ok(file);
        }
    }
}
