//! The server: what all its clients share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use annals_engine::Engine;
use annals_proto::{Method, WatchParams};
use serde::Deserialize;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::desk::Desk;
use crate::dispatch::{Context, session_id};
use crate::queue::SessionQueues;
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
    /// A session answers one request after the other. Requests that wait for a slow session wait here, so that it takes
    /// one of the places and leaves the others to other sessions.
    queues: SessionQueues,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedSession {
    session_id: String,
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
            queues: SessionQueues::default(),
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
        let session = known.filter(|method| reads_session(*method)).and_then(|_| params.read().ok());
        let session = session.map(|NamedSession { session_id }| session_id);
        self.work_on(session.as_deref(), &cancelled, move |server| {
            server.dispatch(&method, &params, &context)
        })
        .await
    }

    /// Does a piece of work in the same way; `session` is the session that is read for it. If the work is taken back,
    /// nobody waits for it, but its place is free only when it is done.
    pub(crate) async fn work_on<T: Send + 'static>(
        self: Arc<Self>,
        session: Option<&str>,
        cancelled: &Cancelled,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> (Result<T, Error>, Option<OwnedSemaphorePermit>) {
        let session = session.and_then(|id| session_id(id).ok());
        let waited = async {
            let turn = match session {
                Some(session) => Some(self.queues.wait(session).await),
                None => None,
            };
            (turn, self.working.clone().acquire_owned().await.ok())
        };
        let (turn, place) = tokio::select! {
            waited = waited => waited,
            () = cancelled.wait() => (None, None),
        };
        if let Err(error) = cancelled.check() {
            return (Err(error), None);
        }
        let work = tokio::task::spawn_blocking(move || {
            let done = work(&self);
            drop(turn);
            (done, place)
        });
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

/// Returns whether a method reads the transcript of one session, which takes long where that is large.
fn reads_session(method: Method) -> bool {
    matches!(
        method,
        Method::HistoryLoad
            | Method::HistoryRead
            | Method::HistoryTurns
            | Method::HistoryTools
            | Method::HistoryStats
    )
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

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::path::Path;
    use std::sync::{Mutex, mpsc};
    use std::task::Poll;

    use annals_engine::{Home, Roots};
    use serde_json::json;

    use super::*;

    const SLOW: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    const QUICK: &str = "7b0c2f9e-1111-4222-8333-abcdefabcdef";

    fn server(folder: &Path) -> Arc<Server> {
        let project = folder.join("projects/-home-mia-tea");
        std::fs::create_dir_all(&project).unwrap();
        for id in [SLOW, QUICK] {
            let prompt = json!({"type": "user", "uuid": "u", "message": {"content": "Boil"}});
            std::fs::write(project.join(format!("{id}.jsonl")), format!("{prompt}\n")).unwrap();
        }
        let roots = Roots::given(vec![folder.to_owned()]).unwrap();
        Server::new(Engine::open(roots, Home::at(folder.join("annals"))), Options::default())
    }

    #[tokio::test]
    async fn requests_for_a_slow_session_leave_places_for_other_sessions() {
        let folder = tempfile::tempdir().unwrap();
        let server = server(folder.path());
        // The slow session works on its first request until the gate opens.
        let (open_gate, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let cancelled = Cancelled::default();
        let mut waiting = Vec::new();
        for _ in 0..=server.places {
            let gate = gate.clone();
            let wait_for_gate = move |server: &Server| {
                let file = server.session(SLOW, None)?;
                server.desk.read(&server.engine, &file, None, move |_| {
                    let _ = gate.lock().unwrap().recv();
                    Ok(())
                })
            };
            let mut request = Box::pin(server.clone().work_on(Some(SLOW), &cancelled, wait_for_gate));
            assert!(poll_fn(|context| Poll::Ready(request.as_mut().poll(context).is_pending())).await);
            waiting.push(request);
        }
        assert_eq!(server.places_free(), server.places - 1, "the slow session takes one place");
        let params = Params::of(&json!({"sessionId": QUICK})).unwrap();
        let (answer, _) = server.clone().work("history/load".to_owned(), params, Context::default()).await;
        assert!(answer.unwrap().get().contains("Boil"));
        drop(open_gate);
        for request in waiting {
            request.await.0.unwrap();
        }
        assert_eq!(server.places_free(), server.places);
    }
}
