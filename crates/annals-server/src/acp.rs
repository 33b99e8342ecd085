//! The Agent Client Protocol: the same sessions for editors that can talk to agents.
//!
//! After `initialize`, a client may list sessions and open them. An open session is replayed from its start (`session/load`)
//! or not (`session/resume`), and then followed until it is closed. annals asks no model: prompts are refused with the
//! command that continues the session, or forwarded to an agent if the user has named one.

mod agent;
mod follow;
mod plan;
mod replay;
mod sessions;
mod slot;
mod tool;
mod updates;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use annals_api::rpc::{Error, Id, Outcome, Params, Request};
use annals_api::{CancelToken, serialize, session_id};
use annals_proto::ErrorCode;
use annals_proto::acp::{
    AgentCapabilities, Empty, Implementation, InitializeParams, InitializeResult, Method, OpenParams,
    OpenResult, PROTOCOL_VERSION, PromptCapabilities, SessionCapabilities, SessionParams,
};
use tokio::sync::oneshot;

use crate::protocol::{Answer, Handling, Peer, Protocol};
use crate::server::Server;
use agent::{Agent, AgentProcess};
use follow::FollowTask;
use replay::SessionOpener;
use slot::{QueuedLock, SharedSlot, Slot};

/// The protocol for one client, with the sessions that it has open.
#[derive(Debug)]
pub(crate) struct Acp {
    server: Arc<Server>,
    /// Is `None` before `initialize`.
    client: Mutex<Option<Client>>,
    /// Sessions that are being opened, by the id of the request.
    opening: Mutex<HashMap<Id, (String, CancelToken)>>,
    /// Sessions that are open, and those that requests wait for, by session id.
    slots: Mutex<HashMap<String, SharedSlot>>,
    /// The agent that continues sessions, from the first request that needs it.
    agent: OnceLock<Agent>,
}

/// What a client has said in `initialize`.
#[derive(Clone, Debug)]
struct Client {
    knows_compactions: bool,
    /// All of its parameters, for the agent.
    initialize_params: Params,
}

impl Protocol for Acp {
    fn accept(self: Arc<Self>, request: Request, peer: Peer) -> Handling {
        let Some(method) = Method::from_name(&request.method) else {
            return Handling::PassOn(request, peer);
        };
        match self.prepare(method, &request, &peer.cancelled) {
            Ok(queued) => Handling::work(async move { self.answer(method, request, queued, peer).await }),
            Err(error) => Handling::Refuse(error),
        }
    }

    fn handle_notification(&self, method: &str, params: &Params) {
        if method == annals_proto::acp::CANCEL {
            self.cancel(params);
            self.cancel_in_agent(params);
        }
    }

    fn handle_response(&self, line: &[u8]) {
        // annals sends no requests, so the answer is to a request of the agent.
        if let Some(process) = self.running_agent() {
            process.forward_response(line);
        }
    }

    fn close(&self) {
        // The client answers no more requests of the agent, which would wait forever. So the agent is ended, and it starts
        // no process for requests that still run.
        self.agent.get_or_init(|| Agent::new(Vec::new())).end();
    }
}

impl Acp {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        let (client, opening, slots) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { server, client, opening, slots, agent: OnceLock::new() }
    }

    /// Does what depends on the order in which requests arrive: records what the client says in `initialize`, and queues the
    /// other requests for the slot of their session, if they need it. Fails before `initialize`.
    fn prepare(
        &self,
        method: Method,
        request: &Request,
        cancelled: &CancelToken,
    ) -> Result<Option<QueuedLock>, Error> {
        if method == Method::Initialize {
            self.record_client(&request.params)?;
            return Ok(None);
        }
        if lock(&self.client).is_none() {
            return Err(Error::new(ErrorCode::InvalidRequest, "`initialize` comes first"));
        }
        let Ok(session) = named_session(&request.params) else { return Ok(None) };
        Ok(match method {
            Method::Load | Method::Resume => {
                let queued = self.enqueue_for(&session);
                lock(&self.opening).insert(request.id.clone(), (session, cancelled.clone()));
                Some(queued)
            }
            Method::Close => {
                let queued = lock(&self.slots).get(&session).cloned().map(QueuedLock::enqueue);
                self.cancel(&request.params);
                queued
            }
            Method::Delete | Method::Prompt | Method::SetMode | Method::SetConfigOption => {
                Some(self.enqueue_for(&session))
            }
            _ => None,
        })
    }

    fn record_client(&self, initialize_params: &Params) -> Result<(), Error> {
        let params: InitializeParams = initialize_params.read()?;
        let compactions = params.client_capabilities.pointer("/session/compaction");
        let knows_compactions = compactions.is_some_and(serde_json::Value::is_object);
        let initialize_params = initialize_params.clone();
        *lock(&self.client) = Some(Client { knows_compactions, initialize_params });
        Ok(())
    }

    /// Cancels the requests that are opening a session.
    fn cancel(&self, params: &Params) {
        let Ok(session) = named_session(params) else { return };
        let opening = lock(&self.opening);
        opening.values().filter(|(opened, _)| *opened == session).for_each(|(_, request)| request.cancel());
    }

    /// Answers a request.
    async fn answer(
        &self,
        method: Method,
        request: Request,
        queued: Option<QueuedLock>,
        peer: Peer,
    ) -> Answer {
        match method {
            Method::Initialize => serialize(&initialize(&self.server)).into(),
            Method::Authenticate | Method::Logout => serialize(&Empty {}).into(),
            Method::Load | Method::Resume => {
                let opened = self.open(method == Method::Load, &request.params, queued, &peer).await;
                lock(&self.opening).remove(&request.id);
                self.remove_unused_slots();
                opened.unwrap_or_else(Answer::from)
            }
            Method::Close => match self.agent_with(&request.params) {
                Some(process) => {
                    let closed = self.close_in_agent(&process, &request, queued, &peer).await;
                    closed.unwrap_or_else(Answer::from)
                }
                None => self.close(queued, &peer.cancelled).await.into(),
            },
            Method::New | Method::Prompt | Method::SetMode | Method::SetConfigOption
                if self.server.agent.get().is_some() =>
            {
                let forwarded = self.forward(method, &request, queued, &peer).await;
                self.remove_unused_slots();
                forwarded.unwrap_or_else(Answer::from)
            }
            Method::Delete => {
                let deleted = self.delete(request.params, queued, &peer.cancelled).await;
                deleted.unwrap_or_else(Answer::from)
            }
            Method::List => self.work(&peer.cancelled, move |server| server.acp_list(&request.params)).await,
            Method::New => sessions::refuse_new_session(&request.params).into(),
            Method::Prompt | Method::SetMode | Method::SetConfigOption => {
                drop(queued);
                self.remove_unused_slots();
                self.work(&peer.cancelled, move |server| server.acp_refuse_to_continue(&request.params)).await
            }
        }
    }

    /// Opens a session: replays it if `from_start`, and follows it. A session that is open already is opened again.
    async fn open(
        &self,
        from_start: bool,
        params: &Params,
        queued: Option<QueuedLock>,
        peer: &Peer,
    ) -> Result<Answer, Error> {
        let params: OpenParams = params.read()?;
        let session = session_id(&params.session_id)?.to_owned();
        let knows_compactions = lock(&self.client).as_ref().is_some_and(|client| client.knows_compactions);
        let queued = queued.unwrap_or_else(|| self.enqueue_for(&session));
        let mut slot = queued.wait(&peer.cancelled).await?;
        if self.running_agent().is_some_and(|process| process.is_busy_with(&session)) {
            return Err(Error::new(ErrorCode::Busy, "the agent works on the session: cancel that first"));
        }
        // If the session cannot be opened, it stays open as it was.
        let session_opener =
            SessionOpener { server: self.server.clone(), params, knows_compactions, peer: peer.clone() };
        session_opener.file().await?;
        if let Some(follow_task) = slot.take() {
            follow_task.end().await;
        }
        // annals reports its updates from now on, not the agent.
        if let Some(process) = self.running_agent() {
            process.mark_closed(&session);
        }
        let (follower, opened) =
            if from_start { session_opener.load().await? } else { session_opener.resume().await? };
        peer.cancelled.check()?;
        let (begin, start) = oneshot::channel();
        *slot = Some(FollowTask::spawn(follower, peer.outgoing.clone(), start));
        let outcome = serialize(&OpenResult { meta: annals_proto::acp::Meta { annals: opened } });
        Ok(Answer { begin: Some(begin), ..outcome.into() }.holding(slot))
    }

    /// Closes a session. No update of it is sent after the answer.
    async fn close(&self, queued: Option<QueuedLock>, cancelled: &CancelToken) -> Outcome {
        let queued = queued.ok_or_else(|| Error::new(ErrorCode::NotFound, "the session is not open"))?;
        let mut slot = queued.wait(cancelled).await?;
        if let Some(follow_task) = slot.take() {
            follow_task.end().await;
        }
        drop(slot);
        self.remove_unused_slots();
        serialize(&Empty {})
    }

    /// Moves a session to the trash, and closes it if that succeeded.
    async fn delete(
        &self,
        params: Params,
        queued: Option<QueuedLock>,
        cancelled: &CancelToken,
    ) -> Result<Answer, Error> {
        let slot = match queued {
            Some(queued) => Some(queued.wait(cancelled).await?),
            None => None,
        };
        // A change is not cancelled once it has begun, so that its answer says whether it was made.
        let answer = self.work(&CancelToken::default(), move |server| server.acp_delete(&params)).await;
        if let Some(follow_task) = slot.filter(|_| answer.is_ok()).and_then(|mut slot| slot.take()) {
            follow_task.end().await;
        }
        self.remove_unused_slots();
        Ok(answer)
    }

    /// Forwards a request to the agent. If the agent does not have the session open, it is asked to open it first; from then
    /// on the agent reports its updates.
    async fn forward(
        &self,
        method: Method,
        request: &Request,
        queued: Option<QueuedLock>,
        peer: &Peer,
    ) -> Result<Answer, Error> {
        let client = lock(&self.client).clone().ok_or_else(Error::broken_off)?;
        let command =
            self.server.agent.get().map(|command| agent::split_command(command)).unwrap_or_default();
        let agent = self.agent.get_or_init(|| Agent::new(command));
        let process =
            agent.running_or_start(&client.initialize_params, &peer.outgoing, &peer.cancelled).await?;
        // The slot is locked until the request is sent, so that the agent gets the requests for a session in order.
        let (slot, _busy) = if method == Method::New {
            (None, None)
        } else {
            let params: SessionParams = request.params.read()?;
            let queued = queued.unwrap_or_else(|| self.enqueue_for(&params.session_id));
            let mut slot = queued.wait(&peer.cancelled).await?;
            let refused = self.hand_over(&process, &params.session_id, &mut slot, &peer.cancelled).await?;
            if let Some(reply) = refused {
                return Ok(Answer::message(reply.to_answer(&request.id)?));
            }
            (Some(slot), Some(process.mark_busy(params.session_id)))
        };
        let reply = process.request(method.name(), &request.params, slot, &peer.cancelled).await?;
        if let Some(session) = reply.new_session().filter(|_| method == Method::New) {
            process.mark_open(&session);
        }
        Ok(Answer::message(reply.to_answer(&request.id)?))
    }

    /// Makes the agent open a session, unless it has it open. The caller has locked the slot. Returns the answer of the agent
    /// if that is an error.
    async fn hand_over(
        &self,
        process: &Arc<AgentProcess>,
        session: &str,
        slot: &mut Slot,
        cancelled: &CancelToken,
    ) -> Result<Option<agent::Reply>, Error> {
        if process.has_open(session) {
            return Ok(None);
        }
        let (server, id) = (self.server.clone(), session.to_owned());
        let found = tokio::task::spawn_blocking(move || server.acp_working_directory(&id)).await;
        let cwd = found.unwrap_or_else(|_| Err(Error::broken_off()))?;
        if let Some(follow_task) = slot.take() {
            follow_task.end().await;
        }
        process.open(session, &cwd, cancelled).await
    }

    /// Makes the agent close a session that it has open.
    async fn close_in_agent(
        &self,
        process: &Arc<AgentProcess>,
        request: &Request,
        queued: Option<QueuedLock>,
        peer: &Peer,
    ) -> Result<Answer, Error> {
        let params: SessionParams = request.params.read()?;
        let queued = queued.unwrap_or_else(|| self.enqueue_for(&params.session_id));
        let slot = queued.wait(&peer.cancelled).await?;
        process.mark_closed(&params.session_id);
        let reply = process.request(Method::Close.name(), &request.params, Some(slot), &peer.cancelled).await;
        self.remove_unused_slots();
        Ok(Answer::message(reply?.to_answer(&request.id)?))
    }

    /// Returns the agent if it has the session of these parameters open.
    fn agent_with(&self, params: &Params) -> Option<Arc<AgentProcess>> {
        let params: SessionParams = params.read().ok()?;
        self.running_agent().filter(|process| process.has_open(&params.session_id))
    }

    /// Runs work on a thread that may block, when a permit is free.
    async fn work(
        &self,
        cancelled: &CancelToken,
        work: impl FnOnce(&Server) -> Outcome + Send + 'static,
    ) -> Answer {
        let (outcome, permit) = self.server.clone().work_on(None, cancelled, work).await;
        Answer::from(outcome).holding(permit)
    }

    /// Forwards the cancellation of a prompt to the agent.
    fn cancel_in_agent(&self, params: &Params) {
        if let Some(process) = self.running_agent() {
            let _ = process.notify(annals_proto::acp::CANCEL, params);
        }
    }

    fn running_agent(&self) -> Option<Arc<AgentProcess>> {
        self.agent.get().and_then(Agent::running)
    }

    /// Queues a request for the slot of a session, after all earlier ones.
    fn enqueue_for(&self, session: &str) -> QueuedLock {
        QueuedLock::enqueue(lock(&self.slots).entry(session.to_owned()).or_default().clone())
    }

    /// Removes the slots of sessions that are not open and that no request has locked or waits for.
    fn remove_unused_slots(&self) {
        lock(&self.slots).retain(|_, slot| is_in_use(slot));
    }
}

fn is_in_use(slot: &SharedSlot) -> bool {
    Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|slot| slot.is_some())
}

fn initialize(server: &Server) -> InitializeResult {
    InitializeResult {
        protocol_version: PROTOCOL_VERSION,
        agent_capabilities: AgentCapabilities {
            load_session: true,
            prompt_capabilities: PromptCapabilities::default(),
            session_capabilities: SessionCapabilities {
                list: Empty {},
                resume: Empty {},
                close: Empty {},
                delete: (!server.api.options().read_only).then_some(Empty {}),
            },
        },
        agent_info: Implementation { name: "annals", version: env!("CARGO_PKG_VERSION") },
        auth_methods: [],
    }
}

/// Returns the id of the session that parameters name.
fn named_session(params: &Params) -> Result<String, Error> {
    let params: SessionParams = params.read()?;
    session_id(&params.session_id).map(str::to_owned)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns an update of a session as a JSON-RPC message.
fn update_message(session: &str, update: annals_proto::acp::Update) -> Result<String, Error> {
    let params = annals_proto::acp::UpdateParams { session_id: session, update };
    annals_api::rpc::notification(annals_proto::acp::UPDATE, &params)
        .map_err(|_| annals_api::rpc::Error::broken_off())
}
