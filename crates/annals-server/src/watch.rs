//! Subscriptions: what happens to sessions, told to whoever asked.
//!
//! One follower watches all files, from the first subscription to the last. It only wakes subscriptions: each knows up to
//! where in its file it has told, and reads on from there when its client has room. So a slow client costs no memory,
//! nothing is lost or told twice, and who comes back with an offset goes on exactly there.
//!
//! Subscriptions of one file share the lines that were read last: those that keep up do not open the file.

mod changes;
mod recent;
mod tail;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use annals_engine::{Engine, Following, Happening, TranscriptFile};
use annals_proto::{AppendedNotice, ChangedNotice, ErrorCode, notification};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep_until};

use crate::budget::{ByteBudget, Reservation};
use annals_api::rpc::{self, Error};
use changes::Changes;
use recent::Buffers;
pub(crate) use tail::Growth;
use tail::SessionTail;

/// How many subscriptions there may be.
const MOST: usize = 1000;
/// How many subscriptions read at once.
const READING: usize = 2;
/// How often the follower looks whether anybody still listens.
const PATIENCE: Duration = Duration::from_millis(500);
/// Changes of sessions that come within this time are told together.
const TOGETHER: Duration = Duration::from_millis(100);

/// All subscriptions of a server.
#[derive(Debug)]
pub(crate) struct Hub {
    engine: Engine,
    poll: bool,
    state: Mutex<State>,
    /// Tells that the follower has begun.
    begun: Condvar,
    reading: Semaphore,
}

#[derive(Debug, Default)]
struct State {
    follower: Follower,
    last_number: u64,
    watchers: BTreeMap<u64, Arc<Watcher>>,
    buffers: Buffers,
}

/// Whether somebody follows the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Follower {
    #[default]
    None,
    Beginning,
    Following,
}

/// What the follower knows of a subscription.
#[derive(Debug)]
struct Watcher {
    wants: Wants,
    woken: Notify,
}

#[derive(Debug)]
enum Wants {
    /// What is written to this file.
    File(PathBuf),
    /// What happens to all sessions.
    Sessions(Mutex<Changes>),
}

/// A subscription. It ends when it is dropped.
#[derive(Debug)]
pub struct Subscription {
    hub: Arc<Hub>,
    number: u64,
    watcher: Arc<Watcher>,
    source: Option<Source>,
    told: Option<Instant>,
}

/// Where it comes from what a subscription tells.
#[derive(Debug)]
enum Source {
    File(Box<SessionTail>),
    Sessions { engine: Engine, watcher: Arc<Watcher>, subscription: String },
}

/// What there is to tell.
#[derive(Debug)]
enum Told<T> {
    Nothing,
    /// Something that takes more bytes than there was room for.
    Longer(u64),
    Something(T),
}

/// Something that a subscriber is told.
#[derive(Clone, Debug)]
pub enum Notice {
    /// Sessions were added, went on or are gone.
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

    /// Returns where a subscription goes on that ends here; none for all sessions.
    pub fn next_offset(&self) -> Option<u64> {
        match self {
            Notice::Changed(_) => None,
            Notice::Appended(notice) => Some(notice.next_offset),
        }
    }

    /// Spells it as a message.
    pub fn message(&self) -> serde_json::Result<String> {
        match self {
            Notice::Changed(notice) => rpc::notification(self.method(), notice),
            Notice::Appended(notice) => rpc::notification(self.method(), notice),
        }
    }
}

impl Hub {
    pub(crate) fn new(engine: Engine, poll: bool) -> Arc<Self> {
        let (state, begun, reading) = (Mutex::default(), Condvar::new(), Semaphore::new(READING));
        Arc::new(Self { engine, poll, state, begun, reading })
    }

    /// Returns how many subscriptions there are.
    pub(crate) fn count(&self) -> usize {
        self.state().watchers.len()
    }

    /// Subscribes to a session from an offset on, or to all of them. Whatever happens from now on is told. Waits until the
    /// follower has begun.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        session: Option<TranscriptFile>,
        offset: Option<u64>,
    ) -> Result<Subscription, Error> {
        let wants = match &session {
            // The follower speaks of whole paths.
            Some(file) => Wants::File(std::path::absolute(&file.path).unwrap_or_else(|_| file.path.clone())),
            None => Wants::Sessions(Mutex::default()),
        };
        let watcher = Arc::new(Watcher { wants, woken: Notify::new() });
        let number = self.add(watcher.clone())?;
        let mut subscription = Subscription { hub: self.clone(), number, watcher, source: None, told: None };
        self.ensure_follower()?;
        subscription.source = Some(match session {
            Some(file) => {
                let buffer = self.state().buffers.of(&file.path);
                let mut tail =
                    SessionTail::new(file, self.engine.symlink_guard(), subscription.name(), offset)?;
                tail.share(buffer);
                Source::File(Box::new(tail))
            }
            None => Source::Sessions {
                engine: self.engine.clone(),
                watcher: subscription.watcher.clone(),
                subscription: subscription.name(),
            },
        });
        // What lies behind the offset is told without anything having to happen.
        subscription.watcher.woken.notify_one();
        Ok(subscription)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, watcher: Arc<Watcher>) -> Result<u64, Error> {
        let mut state = self.state();
        if state.watchers.len() == MOST {
            return Err(Error::new(ErrorCode::TooMany, "there are too many subscriptions"));
        }
        state.last_number += 1;
        let number = state.last_number;
        state.watchers.insert(number, watcher);
        Ok(number)
    }

    /// Starts to follow, if nobody does, and waits until what is there already has been taken as read.
    fn ensure_follower(self: &Arc<Self>) -> Result<(), Error> {
        let mut state = self.state();
        if state.follower == Follower::None {
            let hub = self.clone();
            let thread = std::thread::Builder::new().name("follower".to_owned());
            let failed = |_| Error::new(ErrorCode::Internal, "no thread could be started");
            thread.spawn(move || hub.follow()).map_err(failed)?;
            state.follower = Follower::Beginning;
        }
        while state.follower == Follower::Beginning {
            state = self.begun.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.follower == Follower::Following { Ok(()) } else { Err(Error::broken_off()) }
    }

    /// Follows all files and wakes subscriptions, until there are none.
    fn follow(&self) {
        let broken_off = EndOfFollowing(self);
        let mut follower = self.engine.follow(&Following { only: None, poll: self.poll });
        self.state().follower = Follower::Following;
        self.begun.notify_all();
        loop {
            let mut happened = Vec::new();
            follower.wait(PATIENCE, |file, happening| note(&mut happened, file, &happening));
            let mut state = self.state();
            if state.watchers.is_empty() {
                state.follower = Follower::None;
                // From here on somebody else may begin.
                std::mem::forget(broken_off);
                return;
            }
            let watchers: Vec<_> = state.watchers.values().cloned().collect();
            drop(state);
            for watcher in watchers {
                watcher.hear(&happened);
            }
        }
    }
}

/// If following breaks off, nobody waits for it to begin.
struct EndOfFollowing<'a>(&'a Hub);

impl Drop for EndOfFollowing<'_> {
    fn drop(&mut self) {
        self.0.state().follower = Follower::None;
        self.0.begun.notify_all();
    }
}

/// What happened to a file, as far as subscriptions ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Created,
    Grown,
    Removed,
}

/// Notes what happened, once for all entries of a file that came together.
fn note(happened: &mut Vec<(TranscriptFile, What)>, file: &TranscriptFile, happening: &Happening) {
    let what = match happening {
        Happening::Created => What::Created,
        Happening::Entry { .. } | Happening::Title { .. } | Happening::Replaced => What::Grown,
        Happening::Removed => What::Removed,
    };
    if happened.last().is_none_or(|(last, was)| last != file || *was != what) {
        happened.push((file.clone(), what));
    }
}

impl Watcher {
    fn hear(&self, happened: &[(TranscriptFile, What)]) {
        let is_concerned = match &self.wants {
            Wants::File(path) => happened.iter().any(|(file, _)| file.path == *path),
            Wants::Sessions(changes) => {
                let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
                for (file, what) in happened {
                    changes.note(file, *what);
                }
                !changes.is_empty()
            }
        };
        if is_concerned {
            self.woken.notify_one();
        }
    }
}

impl Subscription {
    /// Returns its name.
    pub fn name(&self) -> String {
        format!("s{}", self.number)
    }

    /// Returns where in its file it stands; none for all sessions.
    pub fn offset(&self) -> Option<u64> {
        match &self.source {
            Some(Source::File(tail)) => Some(tail.offset()),
            _ => None,
        }
    }

    /// Waits for what is to be told next, and for room for it, which is to be kept until it is sent; none if it broke.
    pub(crate) async fn next(&mut self, budget: &ByteBudget) -> Option<(Notice, Option<Reservation>)> {
        loop {
            if matches!(self.watcher.wants, Wants::Sessions(_)) {
                self.watcher.woken.notified().await;
                if let Some(told) = self.told {
                    sleep_until(told + TOGETHER).await;
                }
            }
            if let (Some(notice), reservation) = self.read(budget, Source::notice).await? {
                self.told = Some(Instant::now());
                return Some((notice, reservation));
            }
            if matches!(self.watcher.wants, Wants::File(_)) {
                self.watcher.woken.notified().await;
            }
        }
    }

    /// Waits for what is written to its file next, as it stands there; none if it broke, or is one to all sessions.
    pub(crate) async fn next_growth(&mut self, budget: &ByteBudget) -> Option<(Growth, Option<Reservation>)> {
        loop {
            if let (Some(growth), reservation) = self.read(budget, Source::growth).await? {
                return Some((growth, reservation));
            }
            self.watcher.woken.notified().await;
        }
    }

    /// Reads what there is to tell once there is room for it, in a thread that may wait.
    async fn read<T: Send + 'static>(
        &mut self,
        budget: &ByteBudget,
        read: impl Fn(&mut Source, u64) -> Told<T> + Copy + Send + 'static,
    ) -> Option<(Option<T>, Option<Reservation>)> {
        let mut length = tail::TOGETHER;
        loop {
            let reservation = budget.reserve_if_large(usize::try_from(length).unwrap_or(usize::MAX)).await;
            let _turn = self.hub.reading.acquire().await.ok()?;
            let mut source = self.source.take()?;
            let work = move || (read(&mut source, length), source);
            let (told, source) = tokio::task::spawn_blocking(work).await.ok()?;
            self.source = Some(source);
            match told {
                Told::Nothing => return Some((None, reservation)),
                Told::Longer(longer) => length = longer,
                Told::Something(told) => return Some((Some(told), reservation)),
            }
        }
    }
}

impl Source {
    /// Reads what there is to tell, if it takes no more than so many bytes.
    fn notice(&mut self, room: u64) -> Told<Notice> {
        let (engine, watcher, subscription) = match self {
            Source::File(tail) => return tail.read(room).map(Notice::Appended),
            Source::Sessions { engine, watcher, subscription } => (engine, watcher, subscription),
        };
        let Wants::Sessions(changes) = &watcher.wants else { return Told::Nothing };
        let taken = changes.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (notice, left) = changes::tell(engine, subscription.clone(), taken);
        if changes.lock().unwrap_or_else(PoisonError::into_inner).put_back(left) {
            watcher.woken.notify_one();
        }
        notice.map_or(Told::Nothing, |notice| Told::Something(Notice::Changed(notice)))
    }

    /// Reads what was written to its file, in the same way.
    fn growth(&mut self, room: u64) -> Told<Growth> {
        match self {
            Source::File(tail) => tail.read_growth(room),
            Source::Sessions { .. } => Told::Nothing,
        }
    }
}

impl<T> Told<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Told<U> {
        match self {
            Told::Nothing => Told::Nothing,
            Told::Longer(length) => Told::Longer(length),
            Told::Something(told) => Told::Something(change(told)),
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

    #[tokio::test]
    async fn a_long_notice_waits_for_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("projects/-tea");
        fs::create_dir_all(&project).unwrap();
        let path = project.join("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl");
        let line = |text: &str| {
            format!("{{\"type\":\"user\",\"uuid\":\"u\",\"message\":{{\"content\":\"{text}\"}}}}\n")
        };
        let (short, long) = (line("茶"), line(&"天".repeat(100 << 10)));
        fs::write(&path, short.clone() + &long).unwrap();
        let roots = Roots::given(vec![folder.path().to_owned()]).unwrap();
        let hub = Hub::new(Engine::open(roots, Home::at(folder.path().join("home"))), true);
        let subscribe = || hub.subscribe(Some(TranscriptFile::at(&path)), Some(0)).unwrap();
        let (mut first, mut second) = (subscribe(), subscribe());
        let end = |notice: &Notice| usize::try_from(notice.next_offset().unwrap()).unwrap();
        // The budget is enough for one long line, but not for two.
        let budget = ByteBudget::of_kib(512);
        let (notice, reservation) = first.next(&budget).await.unwrap();
        assert_eq!((end(&notice), reservation.is_none()), (short.len(), true));
        let (notice, reservation) = first.next(&budget).await.unwrap();
        assert_eq!((end(&notice), reservation.is_some()), (short.len() + long.len(), true));
        let (notice, _reservation) = second.next(&budget).await.unwrap();
        assert_eq!(end(&notice), short.len(), "what is small does not wait");
        let waits = tokio::time::timeout(Duration::from_millis(300), second.next(&budget)).await;
        assert!(waits.is_err(), "{waits:?}");
        drop(reservation);
        let (notice, _reservation) = second.next(&budget).await.unwrap();
        assert_eq!(end(&notice), short.len() + long.len());
    }
}
