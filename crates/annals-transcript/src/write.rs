//! Writes transcripts that Claude Code can resume: [`Recorder`] appends entries, [`rewrite`] replaces whole files.
//!
//! Every change goes through [`fs::Disk`], so that tests can make any operation fail. `docs/RELIABILITY.md` states what
//! holds after a failure or a crash.

mod append;
mod builder;
mod draft;
mod error;
pub mod fs;
mod id;
mod lines;
mod locking;
mod removal;
pub mod rewrite;
mod target;
mod transcript_index;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

pub use append::{append_lines, append_records};
pub use builder::RecorderBuilder;
pub use draft::{Compaction, Draft, DraftError, Envelope};
pub use error::Error;
pub use id::new_id;
pub use locking::{Access, lock_file};
pub use target::{Agent, Target};

use crate::entry::Kind;
use crate::file_state::FileState;
use crate::line::read_span;
use append::is_torn;
use draft::{Parent, RecorderFields};
use error::ErrorKind;
use fs::{Disk, Handle};
use id::NewIds;
use lines::Lines;
pub(crate) use locking::{OpenMode, lock};
use transcript_index::{EntryLocation, TranscriptIndex};

/// Appends to the transcript of one session, or of one of its subagents.
///
/// The recorder keeps drafts in memory until [`flush`](Self::flush) or until its buffer is full, and then writes them as
/// whole lines in one operation. It adds ids, parents and all other fields that Claude Code writes, and skips entries that
/// the file already holds. Several recorders, in one process or in many, may write to one session.
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
    index: TranscriptIndex,
    pending: Vec<QueuedDraft>,
    pending_bytes: usize,
    /// The index in `pending` of each draft with an id.
    pending_ids: HashMap<String, usize>,
    /// The parents of the progress drafts that were dropped, by id.
    collapsed_parents: HashMap<String, Parent>,
    written: usize,
    /// The time of the last draft.
    newest: Timestamp,
    /// The open lock file of the session, if there is one.
    session_lock: Option<Box<dyn Handle>>,
}

/// How a recorder writes.
#[derive(Clone, Debug)]
pub struct Options {
    /// When written lines are synced to disk.
    pub sync: Sync,
    /// The recorder writes when more bytes than this wait in memory.
    pub buffer: usize,
    /// The recorder refuses drafts with more bytes than this.
    pub longest_line: usize,
    /// How long to wait for a lock that another process holds.
    pub lock_timeout: Duration,
    /// The clock.
    pub now: fn() -> Timestamp,
    /// A lock file that the recorder locks, shared, during each write and before the transcript's own lock. Operations that
    /// move or replace the session lock it exclusively.
    pub session_lock: Option<PathBuf>,
    /// Refuse a draft whose uuid is recorded with other content. Otherwise it is skipped, as Claude Code does.
    pub strict: bool,
    /// Drop progress that Claude Code shows only while a tool runs ([`Progress::is_ephemeral`]). Children of such a draft
    /// become children of its parent.
    ///
    /// [`Progress::is_ephemeral`]: crate::entry::view::Progress::is_ephemeral
    pub collapse_progress: bool,
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
            strict: false,
            collapse_progress: false,
        }
    }
}

/// When written lines are synced to disk, so that they survive a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// The operating system decides.
    Never,
    /// Before `flush` returns.
    #[default]
    Flush,
    /// Before `append` returns: every batch is written at once.
    Always,
}

/// What [`Recorder::append`] did with a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppendSummary {
    /// The number of entries that are new.
    pub written: usize,
    /// The number of entries that the transcript already had.
    pub skipped: usize,
    /// The number of progress entries that were dropped, see [`Options::collapse_progress`].
    pub collapsed: usize,
    /// The id that the next message should name as its parent.
    pub last: Option<String>,
}

/// A draft that is not yet on disk.
#[derive(Debug)]
struct QueuedDraft {
    draft: Draft,
    id: Option<String>,
    parent: Parent,
    time: Timestamp,
}

impl QueuedDraft {
    /// Returns whether a new file is created for the draft, as Claude Code does for prompts and replies.
    fn creates_file(&self) -> bool {
        self.draft.kind.is_prompt_or_reply()
    }

    /// Returns the parent and the logical parent; `tip` is the last entry of the conversation before the draft. A boundary
    /// has only a logical parent.
    fn parents<'a>(&'a self, tip: Option<&'a str>) -> (Option<&'a str>, Option<&'a str>) {
        let parent = match &self.parent {
            Parent::Last => tip,
            Parent::Nothing => None,
            Parent::Entry(id) => Some(id.as_str()),
        };
        if self.draft.boundary { (None, parent.or(tip)) } else { (parent, None) }
    }
}

impl Recorder {
    /// Returns a builder for a recorder; [`RecorderBuilder::open`] opens it.
    pub fn builder(target: Target) -> RecorderBuilder {
        RecorderBuilder::new(target)
    }

    fn open(
        disk: Arc<dyn Disk>,
        target: Target,
        envelope: Envelope,
        options: Options,
    ) -> Result<Self, Error> {
        let index = TranscriptIndex::new(target.agent().is_some());
        let mut recorder = Self {
            disk,
            target,
            envelope,
            options,
            index,
            pending: Vec::new(),
            pending_bytes: 0,
            pending_ids: HashMap::new(),
            collapsed_parents: HashMap::new(),
            written: 0,
            newest: Timestamp::MIN,
            session_lock: None,
        };
        recorder.update_index()?;
        Ok(recorder)
    }

    /// Returns the transcript that the recorder appends to.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the id of the entry that becomes the parent of the next message.
    pub fn last(&self) -> Option<&str> {
        let message = self.pending.iter().rev().find(|pending| pending.draft.kind.is_message());
        message.map_or(self.index.tip(), |pending| pending.id.as_deref())
    }

    /// Returns the number of drafts written so far, also after an error.
    pub fn written(&self) -> usize {
        self.written
    }

    /// Returns the number of drafts that are not yet written.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Queues a batch of drafts: all of them, or none if one is refused.
    ///
    /// A draft that names its parent keeps it. Otherwise the parent of the first new message is the last entry of the
    /// conversation or, if the batch begins with entries that are already recorded, the last of those; the parent of each
    /// further message is the message before it. A `progress` entry becomes a parent only if a draft names it, and then Claude
    /// Code reads its parent instead.
    ///
    /// A draft whose uuid is recorded already is skipped, also if its content has changed since, such as the usage of a reply
    /// that was still being written; with [`Options::strict`], changed content is refused.
    pub fn append(&mut self, batch: Vec<Draft>) -> Result<AppendSummary, Error> {
        let (appended, refused) = self.enqueue(batch, false)?;
        match refused.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(appended),
        }
    }

    /// Queues the valid drafts of a batch; returns an error for each of the others.
    pub fn append_valid(&mut self, batch: Vec<Draft>) -> Result<(AppendSummary, Vec<Error>), Error> {
        self.enqueue(batch, true)
    }

    /// Records a compaction: the summary replaces everything before it except the messages that are kept.
    pub fn compact(&mut self, compaction: &Compaction) -> Result<AppendSummary, Error> {
        if let Some(id) = compaction.kept.iter().find(|id| !self.is_message(id)) {
            return Err(Error::new(ErrorKind::NoEntry { id: id.clone() }));
        }
        self.append(compaction.drafts(&new_id()))
    }

    /// Writes all queued drafts. A new file is only created for a prompt or reply: other drafts stay queued until there is one.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_pending(self.options.sync != Sync::Never)
    }

    /// Writes all queued drafts and continues with another session.
    pub fn switch(&mut self, target: Target, envelope: Envelope) -> Result<(), Error> {
        self.flush()?;
        let next = Self::open(Arc::clone(&self.disk), target, envelope, self.options.clone())?;
        *self = next;
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // An error cannot be reported here. Callers that need it call `flush` themselves.
        let _ = self.flush();
    }
}

/// Queueing drafts.
impl Recorder {
    fn enqueue(&mut self, batch: Vec<Draft>, keep_going: bool) -> Result<(AppendSummary, Vec<Error>), Error> {
        let before = self.pending.len();
        let (mut skipped, mut collapsed, mut refused) = (0, 0, Vec::new());
        // The last message of the batch that is already recorded and comes before all new ones.
        let mut prefix = None;
        let mut last_new = None;
        let mut file = None;
        let mut ids = NewIds::at_most(batch.len());
        for (index, mut draft) in batch.into_iter().enumerate() {
            if self.options.collapse_progress {
                self.skip_collapsed_parents(&mut draft);
                if draft.is_ephemeral_progress() {
                    collapsed += 1;
                    self.collapsed_parents.extend(draft.id.map(|id| (id, draft.parent)));
                    continue;
                }
            }
            let is_message = draft.kind.is_message();
            match self.check(&draft, &mut file).inspect_err(|_| self.truncate_queue(before))? {
                Ok(DraftStatus::Recorded) => {
                    skipped += 1;
                    // The recorded entry counts: the draft may be of another kind.
                    if last_new.is_none() && draft.id.as_deref().is_some_and(|id| self.is_message(id)) {
                        prefix.clone_from(&draft.id);
                    }
                }
                Ok(DraftStatus::New) => {
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
                        self.truncate_queue(before);
                        break;
                    }
                }
            }
        }
        let written = self.pending.len() - before;
        let last = last_new.or(prefix).or_else(|| self.last().map(str::to_owned));
        self.write_if_due(before)?;
        Ok((AppendSummary { written, skipped, collapsed, last }, refused))
    }

    /// Replaces a parent that was dropped as progress by its own parent.
    fn skip_collapsed_parents(&self, draft: &mut Draft) {
        while let Parent::Entry(id) = &draft.parent
            && let Some(parent) = self.collapsed_parents.get(id)
        {
            // In a damaged input an entry may be its own ancestor; parents that were stored earlier have been replaced.
            let is_own = matches!(parent, Parent::Entry(parent) if parent == id);
            draft.parent = if is_own { Parent::Last } else { parent.clone() };
        }
    }

    /// Returns whether a draft is new, or why it is refused. Opens the file if the draft has to be compared with a line.
    fn check(
        &mut self,
        draft: &Draft,
        file: &mut Option<Box<dyn Handle>>,
    ) -> Result<Result<DraftStatus, DraftError>, Error> {
        let (length, limit) = (draft.length(), self.options.longest_line);
        if length > limit {
            return Ok(Err(DraftError::TooLong { length, limit }));
        }
        if self.target.agent().is_none() && draft::is_sidechain(draft) {
            return Ok(Err(DraftError::Sidechain));
        }
        if let Some(id) = &draft.id
            && self.is_known(id)
        {
            let is_taken = self.options.strict && !self.is_same_as_recorded(draft, id, file)?;
            return Ok(if is_taken {
                Err(DraftError::IdTaken(id.clone()))
            } else {
                Ok(DraftStatus::Recorded)
            });
        }
        if let Parent::Entry(parent) = &draft.parent
            && draft.kind.joins_chain()
            && !self.can_be_parent(parent)
        {
            // Another process may have recorded the parent since the index was last updated.
            self.update_index()?;
            if !self.can_be_parent(parent) {
                let error =
                    if self.is_known(parent) { DraftError::NotAMessage } else { DraftError::NoParent };
                return Ok(Err(error(parent.clone())));
            }
        }
        Ok(Ok(DraftStatus::New))
    }

    /// Returns whether there is an entry with an id, in the queue or in the file.
    fn is_known(&self, id: &str) -> bool {
        self.pending_ids.contains_key(id) || self.index.location(id).is_some()
    }

    /// Returns whether the entry with the id of a draft has its content.
    fn is_same_as_recorded(
        &self,
        draft: &Draft,
        id: &str,
        file: &mut Option<Box<dyn Handle>>,
    ) -> Result<bool, Error> {
        if let Some(&index) = self.pending_ids.get(id) {
            return Ok(draft.has_same_content_as(self.pending[index].draft.body()));
        }
        let location = self.index.location(id);
        location.map_or(Ok(false), |location| self.is_recorded_at(draft, location, file))
    }

    /// Returns whether the entry at a location has the content of a draft.
    fn is_recorded_at(
        &self,
        draft: &Draft,
        location: EntryLocation,
        file: &mut Option<Box<dyn Handle>>,
    ) -> Result<bool, Error> {
        let path = self.target.path();
        let file = match file {
            Some(file) => file,
            None => file.insert(self.disk.open(&path).map_err(Error::disk("read", &path))?),
        };
        let bytes = read_span(file, location.offset, location.length).map_err(Error::disk("read", &path))?;
        Ok(crate::Entry::new(&bytes).body().is_some_and(|recorded| draft.has_same_content_as(recorded)))
    }

    /// Returns whether an id is that of a message.
    fn is_message(&self, id: &str) -> bool {
        self.kind(id).is_some_and(Kind::is_message)
    }

    /// Returns whether a draft may name an entry as its parent. Claude Code replaces a parent that is progress by the parent of
    /// that progress.
    fn can_be_parent(&self, id: &str) -> bool {
        self.kind(id).is_some_and(|kind| kind.is_message() || kind == Kind::Progress)
    }

    /// Returns the kind of the entry with an id, in the queue or in the file.
    fn kind(&self, id: &str) -> Option<Kind> {
        match self.pending_ids.get(id) {
            Some(&index) => Some(self.pending[index].draft.kind),
            None => self.index.location(id).map(|location| location.kind),
        }
    }

    fn push(&mut self, draft: Draft, parent: Parent, ids: &mut NewIds) -> Option<String> {
        let id = draft.id.clone().or_else(|| draft.kind.joins_chain().then(|| ids.next_id()));
        if let Some(id) = &id {
            self.pending_ids.insert(id.clone(), self.pending.len());
        }
        self.pending_bytes += draft.length();
        // Times increase even if the clock does not: where a parent is missing, Claude Code continues with the entry before
        // it in time, and with the first of several entries of the same time.
        self.newest = (self.options.now)().max(self.newest + SignedDuration::from_millis(1));
        self.pending.push(QueuedDraft { draft, id: id.clone(), parent, time: self.newest });
        id
    }

    /// Removes all queued drafts but the first `length`.
    fn truncate_queue(&mut self, length: usize) {
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
            self.truncate_queue(before);
            return Err(Error::new(ErrorKind::NoMessage { waiting }));
        }
        Ok(())
    }
}

/// Whether a draft has to be written.
enum DraftStatus {
    New,
    /// The file, or the queue, has an entry with its id.
    Recorded,
}

/// Writing.
impl Recorder {
    /// Reads what was added to the file, if it exists.
    fn update_index(&mut self) -> Result<(), Error> {
        let path = self.target.path();
        match self.disk.open(&path) {
            Ok(mut file) => self.index.update(&mut *file).map_err(Error::disk("read", &path)),
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
            // Closing the file releases the lock in any case.
            self.session_lock = None;
        }
        written
    }

    /// Locks the session. The lock file stays open between writes: it is never replaced, and opening it again would cost
    /// more than the lock itself.
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
        if state.is_none() && !self.pending.iter().any(QueuedDraft::creates_file) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        if state.is_none() && !folder.is_dir() {
            self.disk.create_folder(folder).map_err(Error::disk("make the folder", folder))?;
        }
        let mut file = lock(&*self.disk, &path, OpenMode::OrCreate, self.options.lock_timeout)?;
        is_torn(&mut *file, |file| self.index.update(file).map(|()| self.index.end().is_none()))
            .map_err(Error::disk("read", &path))?;
        self.write_lines(&mut *file).map_err(Error::disk("write to", &path))?;
        if sync {
            file.sync().map_err(Error::disk("sync", &path))?;
            if state.is_none() {
                self.disk.sync_folder(folder).map_err(Error::disk("sync", folder))?;
            }
        }
        Ok(())
    }

    /// Writes all queued drafts to the locked file.
    fn write_lines(&mut self, file: &mut dyn Handle) -> io::Result<()> {
        // Another recorder may have written the same entries.
        let index = &self.index;
        self.pending.retain(|pending| pending.id.as_ref().is_none_or(|id| index.location(id).is_none()));
        let rendered = self.render();
        let end = self.index.end();
        let progress = rendered.lines.append_to(file, end.is_none());
        let written = rendered.pending[..progress.lines].iter().flatten().count();
        if progress.result.is_ok() && progress.start.is_some() && progress.start == end {
            self.add_to_index(&rendered);
        }
        self.pending.drain(..written);
        self.written += written;
        self.pending_bytes = self.pending.iter().map(|pending| pending.draft.length()).sum();
        let ids =
            self.pending.iter().enumerate().filter_map(|(index, pending)| Some((pending.id.clone()?, index)));
        self.pending_ids = ids.collect();
        progress.result?;
        // Claude Code does not take the lock: it may have appended lines as well.
        self.index.update(file)
    }

    /// Returns the lines for all queued drafts.
    fn render(&self) -> LineBatch {
        let mut rendered =
            LineBatch { lines: Lines::default(), pending: Vec::new(), tip: None, leaf_named: false };
        rendered.leaf_named = self.index.leaf_is_named();
        let mut tip = self.index.tip();
        for (index, pending) in self.pending.iter().enumerate() {
            let draft = &pending.draft;
            let (parent, logical_parent) = pending.parents(tip);
            let added = RecorderFields {
                session: self.target.session_id(),
                agent: self.target.agent().map(Agent::id),
                envelope: &self.envelope,
                id: pending.id.as_deref(),
                parent,
                logical_parent,
                time: pending.time,
            };
            let starts_branch = draft.kind.is_message() && !draft.boundary && !draft.answers && parent != tip;
            // Otherwise Claude Code would resume at the leaf that the `last-prompt` names, not at the new branch.
            if starts_branch && rendered.leaf_named {
                rendered.lines.push(|out| Draft::no_last_prompt().render(&added, out));
                rendered.pending.push(None);
                rendered.leaf_named = false;
            }
            rendered.lines.push(|out| draft.render(&added, out));
            rendered.pending.push(Some(index));
            let entry = crate::Entry::new(draft.body().bytes());
            rendered.leaf_named = transcript_index::names_leaf(&entry).unwrap_or(rendered.leaf_named);
            if draft.kind.is_message() {
                tip = pending.id.as_deref();
            }
        }
        rendered.tip = tip.map(str::to_owned);
        rendered
    }

    /// Adds the lines that were just written to the index, without reading them again.
    fn add_to_index(&mut self, rendered: &LineBatch) {
        for (line, index) in rendered.lines.iter().zip(&rendered.pending) {
            let pending = index.map(|index| &self.pending[index]);
            let id = pending.and_then(|pending| Some((pending.id.as_deref()?, pending.draft.kind)));
            self.index.add_written_line(id, line);
        }
        if let Some(tip) = &rendered.tip {
            self.index.set_tip(tip);
        }
        self.index.set_leaf_named(rendered.leaf_named);
    }
}

/// The queued drafts as lines.
struct LineBatch {
    lines: Lines,
    /// The index of the draft of each line; `None` for lines that the recorder adds itself.
    pending: Vec<Option<usize>>,
    /// The last entry of the conversation once all lines are written.
    tip: Option<String>,
    /// Whether a `last-prompt` names the leaf once all lines are written.
    leaf_named: bool,
}
