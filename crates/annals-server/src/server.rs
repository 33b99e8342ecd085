//! The server: what all its clients share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use annals_engine::Engine;
use annals_proto::{Method, WatchParams};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::desk::Desk;
use crate::dispatch::Context;
use crate::rpc::{Error, Outcome, Params};
use crate::watch::{Hub, Subscription};

/// How a server is set up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether changes are refused.
    pub read_only: bool,
    /// Whether to look at all files now and then, instead of waiting for the system's notice: for network drives.
    pub poll: bool,
}

/// Answers requests, whoever asks and however. It remembers nothing about who asks: a request carries all it needs.
#[derive(Debug)]
pub struct Server {
    pub(crate) engine: Engine,
    pub(crate) options: Options,
    pub(crate) desk: Desk,
    pub(crate) hub: Arc<Hub>,
    /// The command of an agent that goes on with sessions.
    pub(crate) agent: OnceLock<String>,
    /// How many requests are worked on at once.
    pub(crate) working: Arc<Semaphore>,
    places: usize,
}

impl Server {
    /// Sets a server up.
    pub fn new(engine: Engine, options: Options) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let places = cores.clamp(2, 8);
        let working = Arc::new(Semaphore::new(places));
        let hub = Hub::new(engine.clone(), options.poll);
        Arc::new(Self {
            engine,
            options,
            desk: Desk::default(),
            hub,
            agent: OnceLock::new(),
            working,
            places,
        })
    }

    /// Has an agent go on with sessions, for clients that ask for it in the Agent Client Protocol: the command that starts
    /// it, as it would be typed.
    pub fn set_agent(&self, command: String) {
        // Whoever comes second changes nothing.
        let _ = self.agent.set(command);
    }

    /// Answers a request when it is its turn, in a thread that may wait. Whoever sends the answer keeps its place until that
    /// has found room, so that no more answers are made than are taken.
    pub async fn work(
        self: Arc<Self>,
        method: String,
        params: Params,
        context: Context,
    ) -> (Outcome, Option<OwnedSemaphorePermit>) {
        let known = Method::from_name(&method);
        if known == Some(Method::HistoryStatus) {
            return (self.dispatch(&method, &params, &context), None);
        }
        // A change that has begun is not taken back: its answer says whether it was made.
        let is_change = known.is_some_and(Method::is_change);
        let cancelled = if is_change { Cancelled::default() } else { context.cancelled.clone() };
        self.work_on(&cancelled, move |server| server.dispatch(&method, &params, &context)).await
    }

    /// Does a piece of work in the same way. If it is taken back, nobody waits for it, but its place is free only when it is
    /// done.
    pub(crate) async fn work_on<T: Send + 'static>(
        self: Arc<Self>,
        cancelled: &Cancelled,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> (Result<T, Error>, Option<OwnedSemaphorePermit>) {
        let place = tokio::select! {
            place = self.working.clone().acquire_owned() => place.ok(),
            () = cancelled.wait() => None,
        };
        if let Err(error) = cancelled.check() {
            return (Err(error), None);
        }
        let work = tokio::task::spawn_blocking(move || (work(&self), place));
        tokio::select! {
            done = work => done.unwrap_or_else(|_| (Err(Error::broken_off()), None)),
            () = cancelled.wait() => (Err(Error::taken_back()), None),
        }
    }

    /// Takes all places where work is done, so that requests wait until they are given back: for tests.
    #[doc(hidden)]
    pub async fn pause(&self) -> OwnedSemaphorePermit {
        let all = u32::try_from(self.places).expect("there are few places");
        self.working.clone().acquire_many_owned(all).await.expect("it is never closed")
    }

    /// Returns how many places are free: for tests.
    #[doc(hidden)]
    pub fn places_free(&self) -> usize {
        self.working.available_permits()
    }

    /// Subscribes to what happens to sessions. It reads files: to be called from a thread that may wait.
    pub fn subscribe(&self, params: &WatchParams) -> Result<Subscription, Error> {
        let session =
            params.session_id.as_deref().map(|id| self.session(id, params.workspace_path.as_deref()));
        self.hub.subscribe(session.transpose()?, params.offset)
    }
}

/// Whether a request was taken back. Work on it asks now and then.
#[derive(Clone, Debug, Default)]
pub struct Cancelled(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    is_set: AtomicBool,
    waiting: Notify,
}

impl Cancelled {
    /// Takes the request back.
    pub fn cancel(&self) {
        self.0.is_set.store(true, Ordering::Relaxed);
        self.0.waiting.notify_one();
    }

    /// Fails if the request was taken back.
    pub fn check(&self) -> Result<(), Error> {
        if self.0.is_set.load(Ordering::Relaxed) {
            return Err(Error::taken_back());
        }
        Ok(())
    }

    /// Waits until the request is taken back.
    pub(crate) async fn wait(&self) {
        while self.check().is_ok() {
            self.0.waiting.notified().await;
        }
    }
}
