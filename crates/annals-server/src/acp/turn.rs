//! Turns at a session: what opens, closes or deletes it, or is passed on to an agent, has its turn in the order in which it
//! came.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use tokio::sync::OwnedMutexGuard;

use super::Slot;
use crate::server::cancellation;
use annals_api::Cancelled;
use annals_api::rpc::Error;

/// The turn of a request at a session.
pub(super) enum Turn {
    Now(OwnedMutexGuard<Slot>),
    Later(Pin<Box<dyn Future<Output = OwnedMutexGuard<Slot>> + Send>>),
}

impl Turn {
    /// Queues up.
    pub(super) fn at(slot: Arc<tokio::sync::Mutex<Slot>>) -> Self {
        let mut turn: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(slot.lock_owned());
        // A lock has a queue, in which one stands once one has asked.
        match turn.as_mut().poll(&mut task::Context::from_waker(Waker::noop())) {
            Poll::Ready(held) => Turn::Now(held),
            Poll::Pending => Turn::Later(turn),
        }
    }

    /// Waits for it.
    pub(super) async fn come(self, cancelled: &Cancelled) -> Result<OwnedMutexGuard<Slot>, Error> {
        match self {
            Turn::Now(held) => Ok(held),
            Turn::Later(turn) => tokio::select! {
                held = turn => Ok(held),
                () = cancellation(cancelled) => Err(Error::cancelled()),
            },
        }
    }
}
