//! One peer: its requests, and what is sent to it.
//!
//! A transport passes on the lines that it reads and sends the messages that it gets. Both directions are bounded in bytes:
//! a peer that sends requests faster than they are answered is not read any further, and a peer that does not read delays
//! only its own requests. What the messages mean is up to the [`Protocol`]s of the connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use annals_api::CancelToken;
use annals_api::rpc::{self, Error, Frame, Id, Incoming, LONGEST_FRAME, Params, Request};
use annals_proto::{CANCEL, ErrorCode};
use serde::Deserialize;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::budget::{ByteBudget, Reservation};
use crate::protocol::{Answer, Handling, Peer, Protocol};

/// How many messages may be queued for sending.
const MAX_QUEUED_MESSAGES: usize = 256;
/// How many KiB of messages may be queued for sending; a longer message is queued alone.
const MAX_QUEUED_KIB: u32 = 32 << 10;
/// How many KiB of transcripts may be in memory to build notifications from. Answers are bounded by the permits of
/// [`Server`](crate::server::Server) instead.
const MAX_BUILDING_KIB: u32 = 8 << 10;
/// How many KiB of requests may be unanswered.
const MAX_UNANSWERED_KIB: u32 = 64 << 10;
/// How long a request waits for earlier ones to be answered before it is refused.
const BUDGET_TIMEOUT: Duration = Duration::from_secs(5);
/// The memory that a request takes besides its text.
const REQUEST_OVERHEAD_BYTES: usize = 4 << 10;

/// The sending end of the queue of messages to a peer.
#[derive(Clone, Debug)]
pub struct Outgoing {
    queue: Sender<(String, Reservation)>,
    queued: ByteBudget,
    building: ByteBudget,
}

/// The receiving end of that queue, which a transport empties.
#[derive(Debug)]
pub struct Outbox(Receiver<(String, Reservation)>);

/// The peer has closed the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnected;

/// Creates a queue of messages to a peer.
pub fn outgoing() -> (Outgoing, Outbox) {
    let (queue, outbox) = mpsc::channel(MAX_QUEUED_MESSAGES);
    let (queued, building) = (ByteBudget::of_kib(MAX_QUEUED_KIB), ByteBudget::of_kib(MAX_BUILDING_KIB));
    (Outgoing { queue, queued, building }, Outbox(outbox))
}

impl Outgoing {
    /// Queues a message. Waits while too many bytes are queued.
    pub async fn send(&self, message: String) -> Result<(), Disconnected> {
        let reservation = tokio::select! {
            reservation = self.queued.reserve(message.len()) => reservation,
            () = self.queue.closed() => return Err(Disconnected),
        };
        self.queue.send((message, reservation)).await.map_err(|_| Disconnected)
    }

    /// Returns the budget to reserve from before a notification is built.
    pub(crate) fn build_budget(&self) -> &ByteBudget {
        &self.building
    }

    /// Waits until the peer has closed the connection.
    pub async fn disconnected(&self) {
        self.queue.closed().await;
    }
}

impl Outbox {
    /// Returns the next message, without a line end, and the reservation of its bytes, to be dropped once it is sent.
    /// Returns `None` when every [`Outgoing`] is dropped.
    pub async fn next(&mut self) -> Option<(String, Reservation)> {
        self.0.recv().await
    }

    /// Does the same on a thread that may block.
    pub fn next_blocking(&mut self) -> Option<(String, Reservation)> {
        self.0.blocking_recv()
    }

    /// Returns how many messages are queued.
    pub fn queued(&self) -> usize {
        self.0.len()
    }
}

/// One peer.
#[derive(Debug)]
pub struct Connection {
    outgoing: Outgoing,
    in_flight: Arc<InFlight>,
    protocols: Vec<Arc<dyn Protocol>>,
    /// Bounds the bytes of requests that are not answered yet.
    unanswered: ByteBudget,
    tasks: JoinSet<()>,
}

/// The requests that are not answered yet.
#[derive(Debug, Default)]
struct InFlight(Mutex<HashMap<Id, CancelToken>>);

#[derive(Deserialize)]
struct CancelParams {
    id: Id,
}

impl Connection {
    /// Opens a connection that speaks some protocols. The first that knows the method of a request answers it.
    pub(crate) fn new(protocols: Vec<Arc<dyn Protocol>>, outgoing: Outgoing) -> Self {
        Self {
            outgoing,
            in_flight: Arc::default(),
            protocols,
            unanswered: ByteBudget::of_kib(MAX_UNANSWERED_KIB),
            tasks: JoinSet::new(),
        }
    }

    /// Handles a line from the peer. Waits while too many bytes of requests are unanswered.
    pub async fn receive(&mut self, frame: Frame) -> Result<(), Disconnected> {
        // Finished tasks stay in the set until they are joined.
        while self.tasks.try_join_next().is_some() {}
        let line = match frame {
            Frame::Line(line) => line,
            Frame::TooLong => {
                let message = format!("a message has at most {LONGEST_FRAME} bytes");
                return self.refuse(&Id::Null, Error::new(ErrorCode::TooLarge, &message)).await;
            }
        };
        match Incoming::read(&line) {
            Err((id, error)) => self.refuse(&id, error).await,
            Ok(Incoming::Response) => {
                self.protocols.iter().for_each(|protocol| protocol.handle_response(&line));
                Ok(())
            }
            Ok(Incoming::Notification { method, params }) => {
                self.handle_notification(&method, &params);
                Ok(())
            }
            Ok(Incoming::Request(request)) => {
                let size = line.len() + REQUEST_OVERHEAD_BYTES;
                drop(line);
                self.handle_request(request, size).await
            }
        }
    }

    /// Waits until all requests are answered.
    pub async fn finish(mut self) {
        let protocols = self.protocols.clone();
        let closed =
            tokio::task::spawn_blocking(move || protocols.iter().for_each(|protocol| protocol.close()));
        let _ = closed.await;
        while self.tasks.join_next().await.is_some() {}
    }

    /// Cancels the requests that are not answered yet.
    pub fn cancel_all(&self) {
        self.in_flight.lock().values().for_each(CancelToken::cancel);
    }

    /// Handles a notification. Unknown ones are ignored.
    fn handle_notification(&mut self, method: &str, params: &Params) {
        self.protocols.iter().for_each(|protocol| protocol.handle_notification(method, params));
        if method == CANCEL
            && let Ok(CancelParams { id }) = params.read()
            && let Some(cancelled) = self.in_flight.lock().get(&id)
        {
            cancelled.cancel();
        }
    }

    async fn handle_request(&mut self, request: Request, size: usize) -> Result<(), Disconnected> {
        let id = request.id.clone();
        let Some(cancelled) = self.in_flight.add(&id) else {
            let error = Error::new(ErrorCode::InvalidRequest, "a request of the same id is not answered yet");
            return self.refuse(&id, error).await;
        };
        // No cancellation is read while this waits, and a cancellation could release bytes, so the wait is short.
        let reservation = timeout(BUDGET_TIMEOUT, self.unanswered.reserve(size)).await;
        let peer = Peer { outgoing: self.outgoing.clone(), cancelled };
        let handling = if reservation.is_ok() {
            self.accept(request, peer)
        } else {
            let message = "too much is not answered yet: ask again later";
            Handling::Refuse(Error::new(ErrorCode::TooMany, message))
        };
        let work = match handling {
            Handling::Work(work) => work,
            Handling::Refuse(error) => {
                self.in_flight.remove(&id);
                return self.refuse(&id, error).await;
            }
            // This is answered by a task, so that a peer that sends all its requests before it reads an answer is not
            // blocked here.
            Handling::PassOn(..) => Box::pin(async { Answer::from(Error::method_not_found()) }),
        };
        let (in_flight, outgoing) = (self.in_flight.clone(), self.outgoing.clone());
        self.tasks.spawn(async move {
            let answer = work.await;
            in_flight.remove(&id);
            answer.send(&id, &outgoing).await;
            drop(reservation);
        });
        Ok(())
    }

    /// Offers a request to one protocol after the other until one accepts or refuses it.
    fn accept(&self, request: Request, peer: Peer) -> Handling {
        self.protocols.iter().fold(Handling::PassOn(request, peer), |handling, protocol| match handling {
            Handling::PassOn(request, peer) => protocol.clone().accept(request, peer),
            handling => handling,
        })
    }

    async fn refuse(&self, id: &Id, error: Error) -> Result<(), Disconnected> {
        self.outgoing.send(rpc::answer(id, &Err(error))).await
    }
}

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CancelToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request. Returns `None` if a request with that id is not answered yet.
    fn add(&self, id: &Id) -> Option<CancelToken> {
        let mut requests = self.lock();
        if requests.contains_key(id) {
            return None;
        }
        let cancelled = CancelToken::default();
        requests.insert(id.clone(), cancelled.clone());
        Some(cancelled)
    }

    fn remove(&self, id: &Id) {
        self.lock().remove(id);
    }
}
