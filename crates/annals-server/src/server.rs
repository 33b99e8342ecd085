//! The server: the state that all connections share.

use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use annals_api::rpc::{Error, Outcome, Params};
use annals_api::{Api, CancelToken, Masking, serialize, session_id, workspace};
use annals_engine::Engine;
use annals_proto::{Method, WatchParams};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::{Connection, Outgoing};
use crate::protocol;
use crate::queue::SessionQueues;
use crate::watch::{Hub, Subscription, Topic};

/// The options of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether methods that change sessions are refused.
    pub read_only: bool,
    /// Whether requests may ask for text without masked secrets.
    pub allow_reveal: bool,
    /// Whether to check all files periodically. Network drives need it, because they send no notifications of changes.
    pub poll: bool,
}

/// Runs requests on threads that may block, a bounded number at a time, and owns the subscriptions.
#[derive(Debug)]
pub struct Server {
    pub(crate) api: Arc<Api>,
    pub(crate) hub: Arc<Hub>,
    /// The command that starts an agent which continues sessions.
    pub(crate) agent: OnceLock<String>,
    /// One permit for each request that may run at the same time.
    pub(crate) permits: Arc<Semaphore>,
    permit_count: usize,
    #[cfg(feature = "search")]
    poll: bool,
    /// A session answers one request after the other. Requests for a slow session wait here without a permit, so that the
    /// session takes only one of the permits and leaves the others to other sessions.
    queues: SessionQueues,
}

/// The parameter that names a session, of any method that reads one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedSession {
    session_id: String,
}

impl Server {
    /// Creates a server that masks secrets by the built-in rules.
    pub fn new(engine: Engine, options: Options) -> Arc<Self> {
        Self::with_masking(engine, options, Masking::default())
    }

    /// Opens a connection to a peer. It speaks every protocol of the server.
    pub fn connect(self: &Arc<Self>, outgoing: Outgoing) -> Connection {
        Connection::new(protocol::all(self), outgoing)
    }

    /// Creates a server that masks secrets by other rules.
    pub fn with_masking(engine: Engine, options: Options, masking: Masking) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let permit_count = cores.clamp(2, 8);
        let permits = Arc::new(Semaphore::new(permit_count));
        let hub = Hub::new(engine.clone(), options.poll);
        let Options { read_only, allow_reveal, .. } = options;
        let api = Api::new(engine, annals_api::Options { read_only, allow_reveal }).with_masking(masking);
        let api = Arc::new(api);
        let (agent, queues) = (OnceLock::new(), SessionQueues::default());
        Arc::new(Self {
            api,
            hub,
            agent,
            permits,
            permit_count,
            #[cfg(feature = "search")]
            poll: options.poll,
            queues,
        })
    }

    /// Keeps the search index up to date in the background, until the result is dropped.
    #[cfg(feature = "search")]
    pub fn keep_index(&self) -> std::io::Result<crate::indexer::IndexKeeper> {
        let masking = self.api.masking(None).ok().flatten().unwrap_or_default();
        crate::indexer::IndexKeeper::start(self.api.engine().clone(), masking, self.poll)
    }

    /// Returns the API, which other protocols share with this server.
    pub fn api(&self) -> Arc<Api> {
        self.api.clone()
    }

    /// Sets the command line that starts an agent, which continues sessions for clients of the Agent Client Protocol.
    pub fn set_agent(&self, command: String) {
        // Only the first call sets it.
        let _ = self.agent.set(command);
    }

    /// Answers a request. It reads and writes files, so it must be called on a thread that may block.
    pub fn dispatch(&self, method: &str, params: &Params, cancelled: &CancelToken) -> Outcome {
        match Method::from_name(method) {
            // The API has no subscriptions, so their number is added here.
            Some(Method::HistoryStatus) => serialize(&self.api.status(self.hub.count())),
            _ => self.api.dispatch(method, params, cancelled),
        }
    }

    /// Answers a request on a thread that may block, when a permit is free. The caller keeps the permit until the answer is
    /// queued for sending, which bounds the number of answers in memory.
    pub async fn work(
        self: Arc<Self>,
        method: String,
        params: Params,
        cancelled: CancelToken,
    ) -> (Outcome, Option<OwnedSemaphorePermit>) {
        let known = Method::from_name(&method);
        if known == Some(Method::HistoryStatus) {
            return (self.dispatch(&method, &params, &cancelled), None);
        }
        // A change is not cancelled once it has begun, so that its answer says whether it was made.
        let is_change = known.is_some_and(Method::is_change);
        let waits_for = if is_change { CancelToken::default() } else { cancelled.clone() };
        let session = known.filter(|method| method.reads_one_session()).and_then(|_| params.read().ok());
        let session = session.map(|NamedSession { session_id }| session_id);
        self.work_on(session.as_deref(), &waits_for, move |server| {
            server.dispatch(&method, &params, &cancelled)
        })
        .await
    }

    /// Runs a piece of work in the same way; `session` is the session that it reads. If it is cancelled, this returns at
    /// once, and the permit is released when the work has ended.
    pub(crate) async fn work_on<T: Send + 'static>(
        self: Arc<Self>,
        session: Option<&str>,
        cancelled: &CancelToken,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> (Result<T, Error>, Option<OwnedSemaphorePermit>) {
        let session = session.and_then(|id| session_id(id).ok());
        let waited = async {
            let turn = match session {
                Some(session) => Some(self.queues.wait(session).await),
                None => None,
            };
            (turn, self.permits.clone().acquire_owned().await.ok())
        };
        let (turn, permit) = tokio::select! {
            waited = waited => waited,
            () = cancellation(cancelled) => (None, None),
        };
        if let Err(error) = cancelled.check() {
            return (Err(error), None);
        }
        let work = tokio::task::spawn_blocking(move || {
            let done = work(&self);
            drop(turn);
            (done, permit)
        });
        tokio::select! {
            done = work => done.unwrap_or_else(|_| (Err(Error::broken_off()), None)),
            () = cancellation(cancelled) => (Err(Error::cancelled()), None),
        }
    }

    /// Takes all permits, so that requests wait until they are released. Only tests use it.
    #[doc(hidden)]
    pub async fn pause(&self) -> OwnedSemaphorePermit {
        let all = u32::try_from(self.permit_count).expect("there are few permits");
        self.permits.clone().acquire_many_owned(all).await.expect("the semaphore is never closed")
    }

    /// Returns how many permits are free. Only tests use it.
    #[doc(hidden)]
    pub fn free_permits(&self) -> usize {
        self.permits.available_permits()
    }

    /// Subscribes to one session, to those of a working directory, or to all. It reads files, so it must be called on a thread
    /// that may block.
    pub fn subscribe(&self, params: &WatchParams) -> Result<Subscription, Error> {
        let masking = self.api.masking(params.reveal)?;
        let (workspace_path, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let Some(id) = params.session_id.as_deref() else {
            if agent.is_some() {
                return Err(Error::invalid_params(
                    "`agentId` names an agent of a session: give its `sessionId` too",
                ));
            }
            let workspace = workspace(workspace_path)?;
            return self.hub.subscribe(Topic::Sessions { workspace: workspace.as_deref() }, masking);
        };
        let file = self.api.transcript(id, workspace_path, agent)?;
        self.hub.subscribe(Topic::Session { file, offset: params.offset }, masking)
    }
}

/// Waits until a request is cancelled.
pub(crate) async fn cancellation(cancelled: &CancelToken) {
    poll_fn(|context| if cancelled.check_or_wake(context.waker()) { Poll::Ready(()) } else { Poll::Pending })
        .await;
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Mutex, mpsc};

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
    async fn requests_for_a_slow_session_leave_permits_to_other_sessions() {
        let folder = tempfile::tempdir().unwrap();
        let server = server(folder.path());
        // The slow session works on its first request until the gate opens.
        let (open_gate, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let cancelled = CancelToken::default();
        let mut waiting = Vec::new();
        for _ in 0..=server.permit_count {
            let gate = gate.clone();
            let mut request = Box::pin(server.clone().work_on(Some(SLOW), &cancelled, move |server| {
                let file = server.api.session(SLOW, None)?;
                server.api.with_session(&file, None, move |_| {
                    let _ = gate.lock().unwrap().recv();
                    Ok(())
                })
            }));
            assert!(poll_fn(|context| Poll::Ready(request.as_mut().poll(context).is_pending())).await);
            waiting.push(request);
        }
        assert_eq!(server.free_permits(), server.permit_count - 1, "the slow session takes one permit");
        let params = Params::of(&json!({"sessionId": QUICK})).unwrap();
        let (answer, _) =
            server.clone().work("history/load".to_owned(), params, CancelToken::default()).await;
        assert!(answer.unwrap().get().contains("Boil"));
        drop(open_gate);
        for request in waiting {
            request.await.0.unwrap();
        }
        assert_eq!(server.free_permits(), server.permit_count);
    }
}
