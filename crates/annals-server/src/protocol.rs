//! The trait through which a connection knows its protocols.

use std::pin::Pin;
use std::sync::Arc;

use annals_api::CancelToken;
use annals_api::rpc::{Error, Outcome, Params, Request};
use tokio::sync::oneshot;

use crate::acp::Acp;
use crate::connection::{Disconnected, Outgoing};
use crate::history_protocol::History;
use crate::server::{Server, cancellation};

/// A set of methods and notifications on a connection, with the state that it keeps for one peer.
pub(crate) trait Protocol: std::fmt::Debug + Send + Sync {
    /// Accepts a request. Connections call this in the order in which requests arrive, so whatever must keep that order
    /// is decided here, and the work that is returned may run beside other work.
    fn accept(self: Arc<Self>, request: Request, peer: Peer) -> Handling;

    /// Handles a notification; those of other protocols are ignored.
    fn handle_notification(&self, _method: &str, _params: &Params) {}

    /// Handles a response of the peer. Every protocol gets every response, and ignores those to requests that it has not sent.
    fn handle_response(&self, _line: &[u8]) {}

    /// Ends whatever would keep unanswered requests from finishing. It is called on a thread that may block, when the peer
    /// sends no more requests.
    fn close(&self) {}
}

/// Returns the protocols of a new connection, each with its own state.
pub(crate) fn all(server: &Arc<Server>) -> Vec<Arc<dyn Protocol>> {
    vec![Arc::new(History::new(server.clone())), Arc::new(Acp::new(server.clone()))]
}

/// What a protocol does with a request.
pub(crate) enum Handling {
    /// The method belongs to another protocol.
    PassOn(Request, Peer),
    /// The request is answered with this error at once.
    Refuse(Error),
    /// The request is answered by this future.
    Work(Pin<Box<dyn Future<Output = Answer> + Send>>),
}

impl Handling {
    pub(crate) fn work(work: impl Future<Output = Answer> + Send + 'static) -> Self {
        Handling::Work(Box::pin(work))
    }
}

/// The answer to a request, with what is released and started once it is queued for sending.
pub(crate) struct Answer {
    pub(crate) content: AnswerContent,
    /// Locks and permits to release when the answer is queued.
    pub(crate) held: Vec<Box<dyn Send>>,
    /// Starts a subscription when the answer that names it is queued.
    pub(crate) begin: Option<oneshot::Sender<()>>,
}

pub(crate) enum AnswerContent {
    Outcome(Outcome),
    /// A complete JSON-RPC message that another program has written.
    Message(String),
}

impl Answer {
    /// Queues the answer, then starts its subscription and releases what it holds.
    pub(crate) async fn send(self, id: &annals_api::rpc::Id, outgoing: &Outgoing) {
        let message = match self.content {
            AnswerContent::Outcome(outcome) => annals_api::rpc::answer(id, &outcome),
            AnswerContent::Message(message) => message,
        };
        // If the peer has disconnected, the answer is dropped.
        let _ = outgoing.send(message).await;
        // Notifications name the subscription, and the peer learns that name from the answer.
        if let Some(begin) = self.begin {
            let _ = begin.send(());
        }
        drop(self.held);
    }

    /// Keeps a lock or a permit until the answer is queued.
    pub(crate) fn holding(mut self, held: impl Send + 'static) -> Self {
        self.held.push(Box::new(held));
        self
    }

    /// Answers with a complete JSON-RPC message.
    pub(crate) fn message(message: String) -> Self {
        Self { content: AnswerContent::Message(message), held: Vec::new(), begin: None }
    }

    pub(crate) fn is_ok(&self) -> bool {
        matches!(&self.content, AnswerContent::Outcome(Ok(_)) | AnswerContent::Message(_))
    }
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        Self { content: AnswerContent::Outcome(outcome), held: Vec::new(), begin: None }
    }
}

impl From<Error> for Answer {
    fn from(error: Error) -> Self {
        Err(error).into()
    }
}

/// The peer that sent a request: the queue of messages to it, and whether it has cancelled the request.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) outgoing: Outgoing,
    pub(crate) cancelled: CancelToken,
}

impl Peer {
    /// Queues a message ahead of the answer. Fails if the request is cancelled meanwhile.
    pub(crate) async fn send(&self, message: String) -> Result<(), Error> {
        self.cancelled.check()?;
        tokio::select! {
            sent = self.outgoing.send(message) => sent.map_err(|Disconnected| Error::gone()),
            () = cancellation(&self.cancelled) => Err(Error::cancelled()),
        }
    }
}
