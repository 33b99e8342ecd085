//! Subscriptions to one session or to all of them.
//!
//! While there are subscriptions, one follower thread watches all files. It only wakes subscriptions: each keeps the offset
//! up to which it has reported its file, and reads on from there when its peer can take more. So a slow peer costs no
//! memory, each line is reported exactly once, and a peer that reconnects with an offset continues exactly there.
//!
//! Subscriptions of one file share the lines that were read last, so those that keep up do not open the file.

mod changes;
mod members;
mod recent;
mod tail;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use annals_engine::{Engine, Event, FollowOptions, TranscriptFile, TrashChange, TrashEntry};
use annals_proto::{AppendedNotice, ChangedNotice, ErrorCode, notification};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep_until};

use crate::budget::{ByteBudget, Reservation};
use annals_api::rpc::{self, Error, Outcome};
use annals_api::{Masking, serialize_masked};
use changes::PendingChanges;
use members::Members;
use recent::LineBuffers;
use tail::SessionTail;
pub(crate) use tail::TailEvent;

/// How many subscriptions there may be.
const MAX_SUBSCRIPTIONS: usize = 1000;
/// How many subscriptions may read files at the same time.
const MAX_CONCURRENT_READS: usize = 2;
/// How often the follower checks whether there are still subscriptions.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// The least time between two notices of a subscription to all sessions. Changes in between are reported together.
const CHANGED_NOTICE_INTERVAL: Duration = Duration::from_millis(100);

/// All subscriptions of a server.
#[derive(Debug)]
pub(crate) struct Hub {
    engine: Engine,
    poll: bool,
    state: Mutex<HubState>,
    /// Is notified when the follower leaves [`FollowerState::Starting`].
    follower_started: Condvar,
    read_permits: Semaphore,
}

#[derive(Debug, Default)]
struct HubState {
    follower: FollowerState,
    last_number: u64,
    watchers: BTreeMap<u64, Arc<Watcher>>,
    buffers: LineBuffers,
}

/// Whether the follower thread runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FollowerState {
    #[default]
    Stopped,
    /// It is reading which files there are and how long they are.
    Starting,
    Running,
}

/// What the follower knows of a subscription.
#[derive(Debug)]
struct Watcher {
    target: Target,
    woken: Notify,
}

/// What a subscription reports.
#[derive(Debug)]
enum Target {
    /// Lines appended to a file.
    File {
        path: PathBuf,
        /// Whether something was changed that lists show and that is not in the file, such as a title beside it.
        has_new_description: AtomicBool,
    },
    /// Sessions that were added, changed or removed; the follower collects them here.
    Sessions(Mutex<PendingChanges>),
}

/// What to subscribe to.
#[derive(Debug)]
pub(crate) enum Topic<'a> {
    /// A session, from an offset on.
    Session { file: TranscriptFile, offset: Option<u64> },
    /// All sessions, or those of a working directory.
    Sessions { workspace: Option<&'a Path> },
}

/// A subscription. It ends when it is dropped.
#[derive(Debug)]
pub struct Subscription {
    hub: Arc<Hub>,
    number: u64,
    watcher: Arc<Watcher>,
    /// Is `None` until the follower runs, and while a thread reads from it.
    source: Option<Source>,
    last_notice: Option<Instant>,
    /// How its notices are masked; `None` if the subscriber may see everything.
    masking: Option<Masking>,
}

/// What a subscription reads its notices from.
#[derive(Debug)]
enum Source {
    File(Box<SessionTail>),
    Sessions { engine: Engine, watcher: Arc<Watcher>, subscription: String, members: Option<Box<Members>> },
}

/// What a read with a limit of bytes returned.
#[derive(Debug)]
enum ReadOutcome<T> {
    /// There is nothing to report.
    Nothing,
    /// What comes next takes this many bytes, which is more than the limit. Nothing was read.
    OverLimit(u64),
    Ready(T),
}

/// A notification to a subscriber.
#[derive(Clone, Debug)]
pub enum Notice {
    /// Sessions were added, updated or removed.
    Changed(ChangedNotice),
    /// A session has new entries.
    Appended(AppendedNotice),
}

impl Notice {
    /// Returns the name of the notification.
    pub fn method(&self) -> &'static str {
        match self {
            Notice::Changed(_) => notification::CHANGED,
            Notice::Appended(_) => notification::APPENDED,
        }
    }

    /// Returns the offset at which a subscriber that got this notice resumes; `None` for all sessions.
    pub fn next_offset(&self) -> Option<u64> {
        match self {
            Notice::Changed(_) => None,
            Notice::Appended(notice) => Some(notice.next_offset),
        }
    }

    /// Returns the notice as JSON, masked unless the subscriber may see everything.
    pub(crate) fn data(&self, masking: Option<&Masking>) -> Outcome {
        match self {
            Notice::Changed(notice) => serialize_masked(notice, masking),
            Notice::Appended(notice) => serialize_masked(notice, masking),
        }
    }

    /// Returns the notification as a JSON-RPC message, masked in the same way.
    pub(crate) fn message(&self, masking: Option<&Masking>) -> Result<String, Error> {
        rpc::notification(self.method(), &self.data(masking)?).map_err(|_| Error::broken_off())
    }
}

impl Hub {
    pub(crate) fn new(engine: Engine, poll: bool) -> Arc<Self> {
        let (state, follower_started) = (Mutex::default(), Condvar::new());
        let read_permits = Semaphore::new(MAX_CONCURRENT_READS);
        Arc::new(Self { engine, poll, state, follower_started, read_permits })
    }

    /// Returns how many subscriptions there are.
    pub(crate) fn count(&self) -> usize {
        self.state().watchers.len()
    }

    /// Subscribes to a session or to several. Waits until the follower runs, so that every change after this call is
    /// reported. Notices are masked, unless `masking` is `None`; events are lines as they are.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        topic: Topic<'_>,
        masking: Option<Masking>,
    ) -> Result<Subscription, Error> {
        let target = match &topic {
            Topic::Session { file, .. } => Target::File {
                // The follower reports absolute paths.
                path: std::path::absolute(&file.path).unwrap_or_else(|_| file.path.clone()),
                has_new_description: AtomicBool::new(false),
            },
            Topic::Sessions { .. } => Target::Sessions(Mutex::default()),
        };
        let watcher = Arc::new(Watcher { target, woken: Notify::new() });
        let number = self.add(watcher.clone())?;
        let mut subscription =
            Subscription { hub: self.clone(), number, watcher, source: None, last_notice: None, masking };
        self.ensure_follower()?;
        subscription.source = Some(match topic {
            Topic::Session { file, offset } => {
                let buffer = self.state().buffers.of(&file.path);
                let mut tail =
                    SessionTail::new(file, self.engine.symlink_guard(), subscription.name(), offset)?;
                tail.share(buffer);
                Source::File(Box::new(tail))
            }
            Topic::Sessions { workspace } => Source::Sessions {
                engine: self.engine.clone(),
                watcher: subscription.watcher.clone(),
                subscription: subscription.name(),
                // They are listed after the follower runs: what is added or removed since is reported.
                members: workspace.map(|path| Box::new(Members::list(&self.engine, path))),
            },
        });
        // Lines after the offset are reported at once, not at the next change of the file.
        subscription.watcher.woken.notify_one();
        Ok(subscription)
    }

    fn state(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, watcher: Arc<Watcher>) -> Result<u64, Error> {
        let mut state = self.state();
        if state.watchers.len() == MAX_SUBSCRIPTIONS {
            return Err(Error::new(ErrorCode::TooMany, "there are too many subscriptions"));
        }
        state.last_number += 1;
        let number = state.last_number;
        state.watchers.insert(number, watcher);
        Ok(number)
    }

    /// Starts the follower unless it runs, and waits until it has recorded the files that are there, whose contents are not
    /// reported.
    fn ensure_follower(self: &Arc<Self>) -> Result<(), Error> {
        let mut state = self.state();
        if state.follower == FollowerState::Stopped {
            let hub = self.clone();
            let thread = std::thread::Builder::new().name("follower".to_owned());
            thread
                .spawn(move || hub.follow())
                .map_err(|_| Error::new(ErrorCode::Internal, "no thread could be started"))?;
            state.follower = FollowerState::Starting;
        }
        while state.follower == FollowerState::Starting {
            state = self.follower_started.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.follower == FollowerState::Running { Ok(()) } else { Err(Error::broken_off()) }
    }

    /// Follows all files and wakes subscriptions until there are none. This is the follower thread.
    fn follow(&self) {
        let stop_on_panic = StopOnDrop(self);
        let mut follower = self.engine.follow(&FollowOptions { only: None, poll: self.poll });
        self.state().follower = FollowerState::Running;
        self.follower_started.notify_all();
        loop {
            let mut events = Events::default();
            follower.wait(IDLE_CHECK_INTERVAL, |file, event| record(&mut events, file, &event));
            let mut state = self.state();
            if state.watchers.is_empty() {
                state.follower = FollowerState::Stopped;
                // As soon as the state is unlocked, another follower may start, whose state must not be reset.
                std::mem::forget(stop_on_panic);
                return;
            }
            let watchers: Vec<_> = state.watchers.values().cloned().collect();
            drop(state);
            for watcher in watchers {
                watcher.wake_for(&events);
            }
        }
    }
}

/// Marks the follower as stopped if its thread panics, so that no subscriber waits forever for it to start.
struct StopOnDrop<'a>(&'a Hub);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.state().follower = FollowerState::Stopped;
        self.0.follower_started.notify_all();
    }
}

/// What happened to a file, as far as subscriptions need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileEvent {
    Created,
    /// Lines were appended, or the file was replaced.
    Modified,
    /// Something was changed that lists show and that need not be in the file: its title, whether it is archived, whether
    /// Claude Code has it open.
    DescriptionChanged,
    Removed,
}

/// What happened since subscriptions were last woken.
#[derive(Debug, Default)]
struct Events {
    files: Vec<(TranscriptFile, FileEvent)>,
    trash: Vec<(TrashChange, TrashEntry)>,
}

/// Adds what happened to a file. Several entries of one file in a row are one event.
fn record(events: &mut Events, file: &TranscriptFile, event: &Event) {
    let event = match event {
        Event::Created => FileEvent::Created,
        Event::Entry { .. } | Event::Replaced => FileEvent::Modified,
        Event::Title { .. } | Event::Archived { .. } | Event::Opened | Event::Closed => {
            FileEvent::DescriptionChanged
        }
        Event::Removed => FileEvent::Removed,
        Event::Trash { change, entry } => return events.trash.push((*change, (*entry).clone())),
    };
    let last = events.files.last();
    if last.is_none_or(|(last_file, last_event)| last_file != file || *last_event != event) {
        events.files.push((file.clone(), event));
    }
}

impl Watcher {
    /// Wakes the subscription if the events concern it.
    fn wake_for(&self, events: &Events) {
        let is_concerned = match &self.target {
            Target::File { path, has_new_description } => {
                let mut own = events.files.iter().filter(|(file, _)| file.path == *path).peekable();
                let is_concerned = own.peek().is_some();
                if own.any(|(_, event)| *event == FileEvent::DescriptionChanged) {
                    has_new_description.store(true, Ordering::Release);
                }
                is_concerned
            }
            Target::Sessions(changes) => {
                let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
                for (file, event) in &events.files {
                    changes.record(file, *event);
                }
                for (change, entry) in &events.trash {
                    changes.record_trash(*change, entry);
                }
                !changes.is_empty()
            }
        };
        if is_concerned {
            self.woken.notify_one();
        }
    }
}

impl Watcher {
    /// Returns whether something that lists show was changed beside its file since the last call.
    fn take_described_anew(&self) -> bool {
        match &self.target {
            Target::File { has_new_description, .. } => has_new_description.swap(false, Ordering::Acquire),
            Target::Sessions(_) => false,
        }
    }
}

impl Subscription {
    /// Returns the name that the peer knows it by.
    pub fn name(&self) -> String {
        format!("s{}", self.number)
    }

    /// Returns how its notices are masked; `None` if the subscriber may see everything.
    pub(crate) fn masking(&self) -> Option<&Masking> {
        self.masking.as_ref()
    }

    /// Returns the offset up to which the file was reported; `None` for all sessions.
    pub fn offset(&self) -> Option<u64> {
        match &self.source {
            Some(Source::File(tail)) => Some(tail.offset()),
            _ => None,
        }
    }

    /// Waits for the next notice and reserves its bytes; the caller keeps the reservation until the notice is sent. Returns
    /// `None` if reading panicked, which ends the subscription.
    pub(crate) async fn next(&mut self, budget: &ByteBudget) -> Option<(Notice, Option<Reservation>)> {
        loop {
            if matches!(self.watcher.target, Target::Sessions(_)) {
                self.watcher.woken.notified().await;
                if let Some(last_notice) = self.last_notice {
                    sleep_until(last_notice + CHANGED_NOTICE_INTERVAL).await;
                }
            }
            if let (Some(notice), reservation) = self.read(budget, Source::read_notice).await? {
                self.last_notice = Some(Instant::now());
                return Some((notice, reservation));
            }
            if matches!(self.watcher.target, Target::File { .. }) {
                self.watcher.woken.notified().await;
            }
        }
    }

    /// Waits in the same way for the next event of its file, with lines as they are in the file. A subscription to all
    /// sessions has no such events.
    pub(crate) async fn next_event(
        &mut self,
        budget: &ByteBudget,
    ) -> Option<(TailEvent, Option<Reservation>)> {
        loop {
            if let (Some(event), reservation) = self.read(budget, Source::read_event).await? {
                return Some((event, reservation));
            }
            if self.watcher.take_described_anew() {
                return Some((TailEvent::DescriptionChanged, None));
            }
            self.watcher.woken.notified().await;
        }
    }

    /// Reads on a thread that may block, after the bytes are reserved.
    async fn read<T: Send + 'static>(
        &mut self,
        budget: &ByteBudget,
        read: impl Fn(&mut Source, u64) -> ReadOutcome<T> + Copy + Send + 'static,
    ) -> Option<(Option<T>, Option<Reservation>)> {
        let mut length = tail::BATCH_BYTES;
        loop {
            let reservation = budget.reserve_if_large(usize::try_from(length).unwrap_or(usize::MAX)).await;
            let _permit = self.hub.read_permits.acquire().await.ok()?;
            let mut source = self.source.take()?;
            let done = tokio::task::spawn_blocking(move || (read(&mut source, length), source)).await;
            let (outcome, source) = done.ok()?;
            self.source = Some(source);
            match outcome {
                ReadOutcome::Nothing => return Some((None, reservation)),
                ReadOutcome::OverLimit(needed) => length = needed,
                ReadOutcome::Ready(value) => return Some((Some(value), reservation)),
            }
        }
    }
}

impl Source {
    /// Reads the next notice, if the lines that it is built from have no more than `limit` bytes.
    fn read_notice(&mut self, limit: u64) -> ReadOutcome<Notice> {
        let (engine, watcher, subscription, members) = match self {
            Source::File(tail) => return tail.read(limit).map(Notice::Appended),
            Source::Sessions { engine, watcher, subscription, members } => {
                (engine, watcher, subscription, members)
            }
        };
        let Target::Sessions(changes) = &watcher.target else { return ReadOutcome::Nothing };
        let pending = changes.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (notice, remainder) =
            changes::build_notice(engine, subscription.clone(), pending, members.as_deref_mut());
        if changes.lock().unwrap_or_else(PoisonError::into_inner).put_back(remainder) {
            watcher.woken.notify_one();
        }
        notice.map_or(ReadOutcome::Nothing, |notice| ReadOutcome::Ready(Notice::Changed(notice)))
    }

    /// Reads the next event of the file in the same way.
    fn read_event(&mut self, limit: u64) -> ReadOutcome<TailEvent> {
        match self {
            Source::File(tail) => tail.read_event(limit),
            Source::Sessions { .. } => ReadOutcome::Nothing,
        }
    }
}

impl<T> ReadOutcome<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> ReadOutcome<U> {
        match self {
            ReadOutcome::Nothing => ReadOutcome::Nothing,
            ReadOutcome::OverLimit(length) => ReadOutcome::OverLimit(length),
            ReadOutcome::Ready(value) => ReadOutcome::Ready(change(value)),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.state().watchers.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use annals_engine::{Home, Roots};

    use super::*;

    fn line(text: &str) -> String {
        format!("{{\"type\":\"user\",\"uuid\":\"u\",\"message\":{{\"content\":\"{text}\"}}}}\n")
    }

    /// Returns where the lines of a notice end.
    fn end(notice: &Notice) -> usize {
        usize::try_from(notice.next_offset().unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_long_notice_waits_for_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("projects/-tea");
        fs::create_dir_all(&project).unwrap();
        let path = project.join("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl");
        let (short, long) = (line("茶"), line(&"天".repeat(100 << 10)));
        fs::write(&path, short.clone() + &long).unwrap();
        let roots = Roots::given(vec![folder.path().to_owned()]).unwrap();
        let hub = Hub::new(Engine::open(roots, Home::at(folder.path().join("home"))), true);
        let [mut first, mut second] = [(); 2].map(|()| {
            let topic = Topic::Session { file: TranscriptFile::at(&path), offset: Some(0) };
            hub.subscribe(topic, None).unwrap()
        });
        // The budget is enough for one long line, but not for two.
        let budget = ByteBudget::of_kib(512);
        let (notice, reservation) = first.next(&budget).await.unwrap();
        assert_eq!((end(&notice), reservation.is_none()), (short.len(), true));
        let (notice, reservation) = first.next(&budget).await.unwrap();
        assert_eq!((end(&notice), reservation.is_some()), (short.len() + long.len(), true));
        let (notice, _reservation) = second.next(&budget).await.unwrap();
        assert_eq!(end(&notice), short.len(), "a short line does not wait");

        let waits = tokio::time::timeout(Duration::from_millis(300), second.next(&budget)).await;
        assert!(waits.is_err(), "{waits:?}");
        drop(reservation);
        let (notice, _reservation) = second.next(&budget).await.unwrap();
        assert_eq!(end(&notice), short.len() + long.len());
    }
}
