//! The Agent Client Protocol: the same sessions for editors that know agents.
//!
//! A connection that has said `initialize` may list sessions and open them. An open session is told from its start, or
//! from now on, and then followed until it is closed. Nobody thinks here: what asks the model is refused with the command
//! that goes on with the session, or passed on to an agent that was named.

mod agent;
mod follow;
mod plan;
mod replay;
mod sessions;
mod tell;
mod tool;
mod turn;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use annals_api::rpc::{Error, Id, Outcome, Params, Request};
use annals_api::{Cancelled, session_id, spell};
use annals_proto::ErrorCode;
use annals_proto::acp::{
    AgentCapabilities, Empty, Implementation, InitializeParams, InitializeResult, Method, OpenParams,
    OpenResult, PROTOCOL_VERSION, PromptCapabilities, SessionCapabilities, SessionParams,
};
use tokio::sync::oneshot;

use crate::protocol::{Accepted, Answer, Peer, Protocol};
use crate::server::Server;
use agent::{Agent, Link};
use follow::Following;
use replay::Opening;
use turn::Turn;

/// What one client has told of itself, and the sessions that it has open.
#[derive(Debug)]
pub(crate) struct Acp {
    server: Arc<Server>,
    client: Mutex<Option<Client>>,
    /// Sessions that are being opened, by the requests that ask for it.
    opening: Mutex<HashMap<Id, (String, Cancelled)>>,
    open: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Slot>>>>,
    /// Who goes on with sessions, if anybody was asked to.
    agent: OnceLock<Agent>,
}

/// What a client can do.
#[derive(Clone, Debug)]
struct Client {
    knows_compactions: bool,
    /// What it has said of itself, for others.
    said: Params,
}

/// A session that is open, or is being opened or closed: whoever does that holds it.
type Slot = Option<Following>;

impl Protocol for Acp {
    fn accept(self: Arc<Self>, request: Request, peer: Peer) -> Accepted {
        let Some(method) = Method::from_name(&request.method) else {
            return Accepted::NotMine(request, peer);
        };
        match self.turn_of(method, &request, &peer.cancelled) {
            Ok(turn) => Accepted::work(async move { self.answer(method, request, turn, peer).await }),
            Err(error) => Accepted::Refused(error),
        }
    }

    fn handle_notification(&self, method: &str, params: &Params) {
        if method == annals_proto::acp::CANCEL {
            self.cancel(params);
            self.cancel_elsewhere(params);
        }
    }

    fn handle_response(&self, line: &[u8]) {
        // Only the agent may have sent the request.
        if let Some(link) = self.running() {
            link.answer(line);
        }
    }

    fn close(&self) {
        // Nobody answers any more what an agent may ask, so it is ended, and none is started from now on.
        self.agent.get_or_init(|| Agent::new(Vec::new())).end();
    }
}

impl Acp {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        let (client, opening, open) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { server, client, opening, open, agent: OnceLock::new() }
    }

    /// Gives a request its turn at the session that it names, if it needs one, in the order in which requests arrive. Fails
    /// if it comes before `initialize`.
    fn turn_of(
        &self,
        method: Method,
        request: &Request,
        cancelled: &Cancelled,
    ) -> Result<Option<Turn>, Error> {
        if method == Method::Initialize {
            let params: InitializeParams = request.params.read()?;
            let compactions = params.client_capabilities.pointer("/session/compaction");
            let knows_compactions = compactions.is_some_and(serde_json::Value::is_object);
            *lock(&self.client) = Some(Client { knows_compactions, said: request.params.clone() });
            return Ok(None);
        }
        if lock(&self.client).is_none() {
            return Err(Error::new(ErrorCode::InvalidRequest, "`initialize` comes first"));
        }
        let Ok(session) = named(&request.params) else { return Ok(None) };
        Ok(match method {
            Method::Load | Method::Resume => {
                let turn = self.queue_up(&session);
                lock(&self.opening).insert(request.id.clone(), (session, cancelled.clone()));
                Some(turn)
            }
            Method::Close => {
                let turn = lock(&self.open).get(&session).cloned().map(Turn::at);
                self.cancel(&request.params);
                turn
            }
            Method::Delete | Method::Prompt | Method::SetMode | Method::SetConfigOption => {
                Some(self.queue_up(&session))
            }
            _ => None,
        })
    }

    /// Stops what is being done for a session.
    fn cancel(&self, params: &Params) {
        let Ok(session) = named(params) else { return };
        let opening = lock(&self.opening);
        opening.values().filter(|(opened, _)| *opened == session).for_each(|(_, request)| request.cancel());
    }

    /// Answers a request.
    async fn answer(&self, method: Method, request: Request, turn: Option<Turn>, peer: Peer) -> Answer {
        match method {
            Method::Initialize => spell(&initialize(&self.server)).into(),
            Method::Authenticate | Method::Logout => spell(&Empty {}).into(),
            Method::Load | Method::Resume => {
                let opened = self.open(method == Method::Load, &request.params, turn, &peer).await;
                lock(&self.opening).remove(&request.id);
                self.tidy_up();
                opened.unwrap_or_else(Answer::from)
            }
            Method::Close => match self.link_of(&request.params) {
                Some(link) => {
                    let closed = self.close_elsewhere(&link, &request, turn, &peer).await;
                    closed.unwrap_or_else(Answer::from)
                }
                None => self.close(turn, &peer.cancelled).await.into(),
            },
            Method::New | Method::Prompt | Method::SetMode | Method::SetConfigOption
                if self.server.agent.get().is_some() =>
            {
                let passed_on = self.pass_on(method, &request, turn, &peer).await;
                self.tidy_up();
                passed_on.unwrap_or_else(Answer::from)
            }
            Method::Delete => {
                let deleted = self.delete(request.params, turn, &peer.cancelled).await;
                deleted.unwrap_or_else(Answer::from)
            }
            Method::List => self.work(&peer.cancelled, move |server| server.acp_list(&request.params)).await,
            Method::New => sessions::begins_elsewhere(&request.params).into(),
            Method::Prompt | Method::SetMode | Method::SetConfigOption => {
                drop(turn);
                self.tidy_up();
                self.work(&peer.cancelled, move |server| server.acp_goes_on_elsewhere(&request.params)).await
            }
        }
    }

    /// Opens a session: tells what was said in it, if that is asked for, and follows it. One that is open already is opened
    /// anew.
    async fn open(
        &self,
        from_start: bool,
        params: &Params,
        turn: Option<Turn>,
        peer: &Peer,
    ) -> Result<Answer, Error> {
        let params: OpenParams = params.read()?;
        let session = session_id(&params.session_id)?.to_owned();
        let knows_compactions = lock(&self.client).as_ref().is_some_and(|client| client.knows_compactions);
        let turn = turn.unwrap_or_else(|| self.queue_up(&session));
        let mut held = turn.come(&peer.cancelled).await?;
        if self.running().is_some_and(|link| link.is_at_work_on(&session)) {
            return Err(Error::new(ErrorCode::Busy, "the agent works on the session: cancel that first"));
        }
        // What cannot be opened changes nothing.
        let opening = Opening { server: self.server.clone(), params, knows_compactions, peer: peer.clone() };
        opening.file().await?;
        if let Some(following) = held.take() {
            following.end().await;
        }
        // From now on it is told from here.
        if let Some(link) = self.running() {
            link.note(&session, false);
        }
        let (follow, opened) = if from_start { opening.load().await? } else { opening.resume().await? };
        peer.cancelled.check()?;
        let (begin, start) = oneshot::channel();
        *held = Some(Following::begin(follow, peer.outgoing.clone(), start));
        let outcome = spell(&OpenResult { meta: annals_proto::acp::Meta { annals: opened } });
        Ok(Answer { begin: Some(begin), ..outcome.into() }.holding(held))
    }

    /// Closes a session. Nothing more is told of it once this is done.
    async fn close(&self, turn: Option<Turn>, cancelled: &Cancelled) -> Outcome {
        let turn = turn.ok_or_else(|| Error::new(ErrorCode::NotFound, "the session is not open"))?;
        let mut held = turn.come(cancelled).await?;
        if let Some(following) = held.take() {
            following.end().await;
        }
        drop(held);
        self.tidy_up();
        spell(&Empty {})
    }

    /// Moves a session to the trash, and closes it if that is done.
    async fn delete(
        &self,
        params: Params,
        turn: Option<Turn>,
        cancelled: &Cancelled,
    ) -> Result<Answer, Error> {
        let held = match turn {
            Some(turn) => Some(turn.come(cancelled).await?),
            None => None,
        };
        // A change that has begun is not cancelled.
        let done = self.work(&Cancelled::default(), move |server| server.acp_delete(&params)).await;
        if let Some(following) = held.filter(|_| done.is_ok()).and_then(|mut held| held.take()) {
            following.end().await;
        }
        self.tidy_up();
        Ok(done)
    }

    /// Passes a request on to the agent. A session that the agent does not know yet it is asked to open first; from then on
    /// the agent tells what happens in it.
    async fn pass_on(
        &self,
        method: Method,
        request: &Request,
        turn: Option<Turn>,
        peer: &Peer,
    ) -> Result<Answer, Error> {
        let client = lock(&self.client).clone().ok_or_else(Error::broken_off)?;
        let command = self.server.agent.get().map(|command| agent::words(command)).unwrap_or_default();
        let agent = self.agent.get_or_init(|| Agent::new(command));
        let link = agent.link(&client.said, &peer.outgoing, &peer.cancelled).await?;
        // Held until the agent is asked, so that it hears of a session what comes in the order in which it came.
        let (held, _work) = if method == Method::New {
            (None, None)
        } else {
            let params: SessionParams = request.params.read()?;
            let turn = turn.unwrap_or_else(|| self.queue_up(&params.session_id));
            let mut held = turn.come(&peer.cancelled).await?;
            let refused = self.hand_over(&link, &params.session_id, &mut held, &peer.cancelled).await?;
            if let Some(reply) = refused {
                return Ok(Answer::message(reply.spell(&request.id)?));
            }
            (Some(held), Some(link.work_on(params.session_id)))
        };
        let reply = link.ask(method.name(), &request.params, held, &peer.cancelled).await?;
        if let Some(session) = reply.session().filter(|_| method == Method::New) {
            link.note(&session, true);
        }
        Ok(Answer::message(reply.spell(&request.id)?))
    }

    /// Has the agent open a session that it does not have, and that nobody else opens or closes meanwhile. Returns its answer
    /// if it cannot.
    async fn hand_over(
        &self,
        link: &Arc<Link>,
        session: &str,
        slot: &mut Slot,
        cancelled: &Cancelled,
    ) -> Result<Option<agent::Reply>, Error> {
        if link.has(session) {
            return Ok(None);
        }
        let (server, asked) = (self.server.clone(), session.to_owned());
        let find = move || server.acp_place(&asked);
        let cwd = tokio::task::spawn_blocking(find).await.unwrap_or_else(|_| Err(Error::broken_off()))?;
        if let Some(following) = slot.take() {
            following.end().await;
        }
        link.open(session, &cwd, cancelled).await
    }

    /// Has the agent close a session that it has open.
    async fn close_elsewhere(
        &self,
        link: &Arc<Link>,
        request: &Request,
        turn: Option<Turn>,
        peer: &Peer,
    ) -> Result<Answer, Error> {
        let params: SessionParams = request.params.read()?;
        let turn = turn.unwrap_or_else(|| self.queue_up(&params.session_id));
        let held = turn.come(&peer.cancelled).await?;
        link.note(&params.session_id, false);
        let reply = link.ask(Method::Close.name(), &request.params, Some(held), &peer.cancelled).await;
        self.tidy_up();
        Ok(Answer::message(reply?.spell(&request.id)?))
    }

    /// Returns the agent if it has the session open.
    fn link_of(&self, params: &Params) -> Option<Arc<Link>> {
        let params: SessionParams = params.read().ok()?;
        self.running().filter(|link| link.has(&params.session_id))
    }

    /// Runs work on a thread that may block, when a permit is free.
    async fn work(
        &self,
        cancelled: &Cancelled,
        work: impl FnOnce(&Server) -> Outcome + Send + 'static,
    ) -> Answer {
        let (outcome, permit) = self.server.clone().work_on(None, cancelled, work).await;
        Answer::from(outcome).holding(permit)
    }

    /// Stops what the agent does for a session.
    fn cancel_elsewhere(&self, params: &Params) {
        if let Some(link) = self.running() {
            let _ = link.tell(annals_proto::acp::CANCEL, params);
        }
    }

    fn running(&self) -> Option<Arc<Link>> {
        self.agent.get().and_then(Agent::running)
    }

    /// Queues up for a session, behind all who came before.
    fn queue_up(&self, session: &str) -> Turn {
        Turn::at(lock(&self.open).entry(session.to_owned()).or_default().clone())
    }

    /// Forgets places that nobody holds or wants.
    fn tidy_up(&self) {
        let is_taken = |slot: &Arc<tokio::sync::Mutex<Slot>>| {
            Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|slot| slot.is_some())
        };
        lock(&self.open).retain(|_, slot| is_taken(slot));
    }
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

/// Reads which session is meant.
fn named(params: &Params) -> Result<String, Error> {
    let params: SessionParams = params.read()?;
    session_id(&params.session_id).map(str::to_owned)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Spells something that is said of a session.
fn message(session: &str, update: annals_proto::acp::Update) -> Result<String, Error> {
    let params = annals_proto::acp::UpdateParams { session_id: session, update };
    annals_api::rpc::notification(annals_proto::acp::UPDATE, &params)
        .map_err(|_| annals_api::rpc::Error::broken_off())
}
