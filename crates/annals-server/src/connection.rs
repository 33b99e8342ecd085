//! One peer: its requests, and what is sent to it.
//!
//! A transport hands over lines and takes messages. Both directions are bounded in bytes: a peer that sends requests
//! faster than they are answered is not read any further, and one that does not read delays only its own requests. What
//! the messages mean is up to the [`Protocol`]s of the connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use annals_api::Cancelled;
use annals_api::rpc::{self, Error, Frame, Id, Incoming, LONGEST_FRAME, Params, Request};
use annals_proto::{CANCEL, ErrorCode};
use serde::Deserialize;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::acp::Acp;
use crate::budget::{ByteBudget, Reservation};
use crate::history::History;
use crate::protocol::{Accepted, Answer, Peer, Protocol};
use crate::server::Server;

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
    queue: Sender<(String, Reservation)>,
    waiting: ByteBudget,
    making: ByteBudget,
}

/// Where a transport takes them from.
#[derive(Debug)]
pub struct Outbox(Receiver<(String, Reservation)>);

/// The peer has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// Makes a way for messages to a peer.
pub fn outgoing() -> (Outgoing, Outbox) {
    let (queue, waiting) = mpsc::channel(MOST_WAITING);
    let outgoing =
        Outgoing { queue, waiting: ByteBudget::of_kib(WAITING_KIB), making: ByteBudget::of_kib(MAKING_KIB) };
    (outgoing, Outbox(waiting))
}

impl Outgoing {
    /// Sends a message; waits for room.
    pub async fn send(&self, message: String) -> Result<(), Gone> {
        let reservation = tokio::select! {
            reservation = self.waiting.reserve(message.len()) => reservation,
            () = self.queue.closed() => return Err(Gone),
        };
        self.queue.send((message, reservation)).await.map_err(|_| Gone)
    }

    /// Returns the room that has to be taken before something is made that nobody waits for.
    pub(crate) fn making(&self) -> &ByteBudget {
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
    pub async fn next(&mut self) -> Option<(String, Reservation)> {
        self.0.recv().await
    }

    /// Does the same from a thread that may wait.
    pub fn next_blocking(&mut self) -> Option<(String, Reservation)> {
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
    outgoing: Outgoing,
    in_flight: Arc<InFlight>,
    protocols: Vec<Arc<dyn Protocol>>,
    /// Bounds the bytes of requests that are not answered yet.
    unanswered: ByteBudget,
    tasks: JoinSet<()>,
}

/// The requests that are not answered yet.
#[derive(Debug, Default)]
struct InFlight(Mutex<HashMap<Id, Cancelled>>);

#[derive(Deserialize)]
struct CancelParams {
    id: Id,
}

impl Connection {
    /// Opens a connection that speaks every protocol of the server.
    pub fn new(server: Arc<Server>, outgoing: Outgoing) -> Self {
        Self {
            outgoing,
            in_flight: Arc::default(),
            protocols: vec![Arc::new(History::new(server.clone())), Arc::new(Acp::new(server))],
            unanswered: ByteBudget::of_kib(TAKEN_KIB),
            tasks: JoinSet::new(),
        }
    }

    /// Takes a line; waits for room. Fails when the peer has gone.
    pub async fn receive(&mut self, frame: Frame) -> Result<(), Gone> {
        // Tasks that have ended are removed.
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
                self.protocols.iter().for_each(|protocol| protocol.answered(&line));
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

    /// Waits until all requests are answered.
    pub async fn finish(mut self) {
        let protocols = self.protocols.clone();
        let close = move || protocols.iter().for_each(|protocol| protocol.close());
        let _ = tokio::task::spawn_blocking(close).await;
        while self.tasks.join_next().await.is_some() {}
    }

    /// Cancels the requests that are not answered yet.
    pub fn cancel_all(&self) {
        self.in_flight.lock().values().for_each(Cancelled::cancel);
    }

    /// Handles a notification. Unknown ones are ignored.
    fn notified(&mut self, method: &str, params: &Params) {
        self.protocols.iter().for_each(|protocol| protocol.notified(method, params));
        if method == CANCEL
            && let Ok(CancelParams { id }) = params.read()
            && let Some(cancelled) = self.in_flight.lock().get(&id)
        {
            cancelled.cancel();
        }
    }

    async fn requested(&mut self, request: Request, size: usize) -> Result<(), Gone> {
        let id = request.id.clone();
        let Some(cancelled) = self.in_flight.add(&id) else {
            let error = Error::new(ErrorCode::InvalidRequest, "a request of the same id is not answered yet");
            return self.refuse(&id, error).await;
        };
        // While this waits for room, no cancellation is read, which could make room: so it does not wait for long.
        let reservation = timeout(PATIENCE, self.unanswered.reserve(size)).await;
        let peer = Peer { outgoing: self.outgoing.clone(), cancelled };
        let accepted = if reservation.is_ok() {
            self.accept(request, peer)
        } else {
            let message = "too much is not answered yet: ask again later";
            Accepted::Refused(Error::new(ErrorCode::TooMany, message))
        };
        let work = match accepted {
            Accepted::Work(work) => work,
            Accepted::Refused(error) => {
                self.in_flight.remove(&id);
                return self.refuse(&id, error).await;
            }
            // As work, so that a peer that reads no answers before it has sent all its requests is still read.
            Accepted::NotMine(..) => Box::pin(async { Answer::from(Error::method_not_found()) }),
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

    /// Offers a request to one protocol after the other.
    fn accept(&self, request: Request, peer: Peer) -> Accepted {
        self.protocols.iter().fold(Accepted::NotMine(request, peer), |accepted, protocol| match accepted {
            Accepted::NotMine(request, peer) => protocol.clone().accept(request, peer),
            accepted => accepted,
        })
    }

    async fn refuse(&self, id: &Id, error: Error) -> Result<(), Gone> {
        self.outgoing.send(rpc::answer(id, &Err(error))).await
    }
}

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Cancelled>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request; returns `None` if there is one of that id already.
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
