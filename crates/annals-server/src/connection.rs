//! One peer: its requests, and what is sent to it.
//!
//! A transport hands over lines and takes messages. Both ways have bounds in bytes: a peer that asks faster than it can be
//! answered is not read any further, and one that does not read holds up its own requests and nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use annals_proto::{CANCEL, ErrorCode, Method, UnwatchParams, UnwatchResult, WatchParams, WatchResult, acp};
use serde::Deserialize;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::acp::{Acp, Slot};
use crate::dispatch::{Context, Notifier, spell};
use crate::room::{Room, Taken};
use crate::rpc::{self, Error, Frame, Id, Incoming, LONGEST_FRAME, Outcome, Params, Request};
use crate::server::{Cancelled, Server};

/// How many messages wait to be sent.
const MOST_WAITING: usize = 256;
/// How many KiB of messages wait to be sent; a longer one waits alone.
const WAITING_KIB: u32 = 32 << 10;
/// How many KiB of what the peer is told unasked, or before an answer, are being made into messages.
const MAKING_KIB: u32 = 8 << 10;
/// How many KiB of requests are taken before the first is answered.
const TAKEN_KIB: u32 = 64 << 10;
/// How long a request waits for room before it is refused.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a request takes besides its text.
const REQUEST: usize = 4 << 10;

/// Where messages to a peer go.
#[derive(Clone, Debug)]
pub struct Outgoing {
    queue: Sender<(String, Taken)>,
    waiting: Room,
    making: Room,
}

/// Where a transport takes them from.
#[derive(Debug)]
pub struct Outbox(Receiver<(String, Taken)>);

/// The peer has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// Makes a way for messages to a peer.
pub fn outgoing() -> (Outgoing, Outbox) {
    let (queue, waiting) = mpsc::channel(MOST_WAITING);
    let outgoing = Outgoing { queue, waiting: Room::of(WAITING_KIB), making: Room::of(MAKING_KIB) };
    (outgoing, Outbox(waiting))
}

impl Outgoing {
    /// Sends a message; waits for room.
    pub async fn send(&self, message: String) -> Result<(), Gone> {
        let room = tokio::select! {
            room = self.waiting.take(message.len()) => room,
            () = self.queue.closed() => return Err(Gone),
        };
        self.queue.send((message, room)).await.map_err(|_| Gone)
    }

    /// Returns the room that has to be taken before something is made that nobody waits for.
    pub(crate) fn making(&self) -> &Room {
        &self.making
    }

    /// Waits until the peer has gone.
    pub async fn gone(&self) {
        self.queue.closed().await;
    }
}

impl Outbox {
    /// Returns the next message, without a line end; none when nobody can send any more. What it takes is free again when
    /// what comes with it is dropped.
    pub async fn next(&mut self) -> Option<(String, Taken)> {
        self.0.recv().await
    }

    /// Does the same from a thread that may wait.
    pub fn next_blocking(&mut self) -> Option<(String, Taken)> {
        self.0.blocking_recv()
    }

    /// Returns how many messages wait.
    pub fn waiting(&self) -> usize {
        self.0.len()
    }
}

/// One peer.
#[derive(Debug)]
pub struct Connection {
    server: Arc<Server>,
    outgoing: Outgoing,
    in_flight: Arc<InFlight>,
    subscriptions: Arc<Subscriptions>,
    acp: Arc<Acp>,
    /// How much may be taken before something is answered.
    room: Room,
    tasks: JoinSet<()>,
}

/// The requests that are not answered yet.
#[derive(Debug, Default)]
struct InFlight(Mutex<HashMap<Id, Cancelled>>);

/// What the peer is told unasked: each subscription has a task that waits for it.
#[derive(Debug, Default)]
struct Subscriptions(Mutex<HashMap<String, JoinHandle<()>>>);

#[derive(Deserialize)]
struct CancelParams {
    id: Id,
}

impl Connection {
    /// Meets a peer.
    pub fn new(server: Arc<Server>, outgoing: Outgoing) -> Self {
        Self {
            server,
            outgoing,
            in_flight: Arc::default(),
            subscriptions: Arc::default(),
            acp: Arc::default(),
            room: Room::of(TAKEN_KIB),
            tasks: JoinSet::new(),
        }
    }

    /// Takes a line; waits for room. Fails when the peer has gone.
    pub async fn receive(&mut self, frame: Frame) -> Result<(), Gone> {
        // What is done is forgotten.
        while self.tasks.try_join_next().is_some() {}
        let line = match frame {
            Frame::Line(line) => line,
            Frame::TooLong => {
                let message = format!("a message has at most {LONGEST_FRAME} bytes");
                return self.tell(&Id::Null, Err(Error::new(ErrorCode::TooLarge, &message))).await;
            }
        };
        match Incoming::read(&line) {
            Err((id, error)) => self.tell(&id, Err(error)).await,
            Ok(Incoming::Response) => {
                self.acp.answered(&line);
                Ok(())
            }
            Ok(Incoming::Notification { method, params }) => {
                self.notified(&method, &params);
                Ok(())
            }
            Ok(Incoming::Request(request)) => {
                let size = line.len() + REQUEST;
                drop(line);
                self.requested(request, size).await
            }
        }
    }

    /// Waits until everything that was asked is answered, and ends the subscriptions.
    pub async fn finish(mut self) {
        // Nobody answers any more what an agent may ask.
        let acp = self.acp.clone();
        let _ = tokio::task::spawn_blocking(move || acp.end_agent()).await;
        while self.tasks.join_next().await.is_some() {}
    }

    /// Gives up what is not answered yet.
    pub fn cancel_all(&self) {
        self.in_flight.lock().values().for_each(Cancelled::cancel);
    }

    /// Hears something that wants no answer. What nobody knows is passed over.
    fn notified(&mut self, method: &str, params: &Params) {
        if method == acp::CANCEL {
            self.acp.cancel(params);
            self.acp.cancel_elsewhere(params);
        }
        if method == CANCEL
            && let Ok(CancelParams { id }) = params.read()
            && let Some(cancelled) = self.in_flight.lock().get(&id)
        {
            cancelled.cancel();
        }
    }

    async fn requested(&mut self, request: Request, size: usize) -> Result<(), Gone> {
        let Some(cancelled) = self.in_flight.add(&request.id) else {
            let error = Error::new(ErrorCode::InvalidRequest, "a request of the same id is not answered yet");
            return self.tell(&request.id, Err(error)).await;
        };
        // Who waits for room keeps others from being heard, who may be about to make some: not for long.
        let heard = match timeout(PATIENCE, self.room.take(size)).await {
            Ok(taken) => self.acp.hear(&request, &cancelled).map(|turn| (taken, turn)),
            Err(_) => Err(Error::new(ErrorCode::TooMany, "too much is not answered yet: ask again later")),
        };
        let (taken, turn) = match heard {
            Ok(heard) => heard,
            Err(error) => {
                self.in_flight.remove(&request.id);
                return self.tell(&request.id, Err(error)).await;
            }
        };
        let context = Context { cancelled, notifier: Some(Notifier::new(self.outgoing.clone())) };
        let (server, outgoing) = (self.server.clone(), self.outgoing.clone());
        let (in_flight, subscriptions) = (self.in_flight.clone(), self.subscriptions.clone());
        let acp = self.acp.clone();
        self.tasks.spawn(async move {
            let id = request.id.clone();
            let done = match Method::from_name(&request.method) {
                Some(Method::HistoryWatch) => subscriptions.add(server, &request.params, &outgoing).await,
                Some(Method::HistoryUnwatch) => Done::only(subscriptions.remove(&request.params).await),
                Some(_) => dispatched(server, request, context).await,
                None => match acp::Method::from_name(&request.method) {
                    Some(method) => acp.answer(server, method, request, turn, context).await,
                    None => dispatched(server, request, context).await,
                },
            };
            in_flight.remove(&id);
            // Who does not read what he has asked for is given no more.
            let answer = done.spelled.unwrap_or_else(|| rpc::answer(&id, &done.outcome));
            let _ = outgoing.send(answer).await;
            // Only now does the peer know the name of the subscription.
            if let Some(begin) = done.begin {
                let _ = begin.send(());
            }
            drop((done.working, done.held, taken));
        });
        Ok(())
    }

    async fn tell(&self, id: &Id, outcome: Outcome) -> Result<(), Gone> {
        self.outgoing.send(rpc::answer(id, &outcome)).await
    }
}

/// What came of a request, and what is to be done once it is answered.
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    /// The answer as somebody else has spelled it.
    pub(crate) spelled: Option<String>,
    /// The place among the requests that are worked on: kept until the answer has found room.
    pub(crate) working: Option<OwnedSemaphorePermit>,
    /// Gives a subscription the word.
    pub(crate) begin: Option<oneshot::Sender<()>>,
    /// A session that nobody else may open or close before the answer is sent.
    pub(crate) held: Option<OwnedMutexGuard<Slot>>,
}

impl Done {
    pub(crate) fn only(outcome: Outcome) -> Self {
        Self { outcome, spelled: None, working: None, begin: None, held: None }
    }
}

async fn dispatched(server: Arc<Server>, request: Request, context: Context) -> Done {
    let (outcome, working) = server.work(request.method, request.params, context).await;
    Done { working, ..Done::only(outcome) }
}

/// Works on a request in a thread that may wait, when it is its turn.
pub(crate) async fn work(
    server: Arc<Server>,
    context: Context,
    work: impl FnOnce(&Server) -> Outcome + Send + 'static,
) -> Done {
    let (outcome, working) = server.work_on(None, &context.cancelled, work).await;
    Done { working, ..Done::only(outcome) }
}

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes. Nothing is told before the word is given.
    async fn add(&self, server: Arc<Server>, params: &Params, outgoing: &Outgoing) -> Done {
        let subscribed = match params.read::<WatchParams>() {
            Ok(params) => tokio::task::spawn_blocking(move || server.subscribe(&params)).await,
            Err(error) => Ok(Err(error)),
        };
        let mut subscription = match subscribed.unwrap_or_else(|_| Err(Error::broken_off())) {
            Ok(subscription) => subscription,
            Err(error) => return Done::only(Err(error)),
        };
        let result = WatchResult { subscription: subscription.name(), offset: subscription.offset() };
        let (begin, word) = oneshot::channel();
        let outgoing = outgoing.clone();
        let task = tokio::spawn(async move {
            if word.await.is_err() {
                return;
            }
            while let Some((notice, _making)) = subscription.next(outgoing.making()).await {
                let Ok(message) = notice.message() else { continue };
                if outgoing.send(message).await.is_err() {
                    return;
                }
            }
        });
        self.lock().insert(result.subscription.clone(), task);
        Done { begin: Some(begin), ..Done::only(spell(&result)) }
    }

    /// Ends a subscription. Nothing more is told once this is done.
    async fn remove(&self, params: &Params) -> Outcome {
        let UnwatchParams { subscription } = params.read()?;
        let task = self.lock().remove(&subscription);
        let task = task.ok_or_else(|| Error::new(ErrorCode::NotFound, "there is no such subscription"))?;
        task.abort();
        let _ = task.await;
        spell(&UnwatchResult { unwatched: true })
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        self.lock().values().for_each(JoinHandle::abort);
    }
}

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Cancelled>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request; none if there is one of that id.
    fn add(&self, id: &Id) -> Option<Cancelled> {
        let mut requests = self.lock();
        if requests.contains_key(id) {
            return None;
        }
        let cancelled = Cancelled::default();
        requests.insert(id.clone(), cancelled.clone());
        Some(cancelled)
    }

    fn remove(&self, id: &Id) {
        self.lock().remove(id);
    }
}
