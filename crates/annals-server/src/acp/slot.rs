//! The slot of a session: requests that open, close or delete a session, or are forwarded to an agent, lock it one after
//! the other, in the order in which they arrive.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::follow::FollowTask;
use crate::server::cancellation;
use annals_api::CancelToken;
use annals_api::rpc::Error;

/// The task that follows the session, if the session is open.
pub(super) type Slot = Option<FollowTask>;

/// A slot that several requests wait for.
pub(super) type SharedSlot = Arc<Mutex<Slot>>;

/// A locked slot.
pub(super) type SlotGuard = OwnedMutexGuard<Slot>;

/// A request's place in the queue for the lock of a slot.
pub(super) enum QueuedLock {
    Locked(SlotGuard),
    Waiting(Pin<Box<dyn Future<Output = SlotGuard> + Send>>),
}

impl QueuedLock {
    /// Joins the queue.
    pub(super) fn enqueue(slot: SharedSlot) -> Self {
        let mut lock: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(slot.lock_owned());
        // tokio's mutex is fair, but a future joins its queue only when it is first polled. Polling it here keeps the order
        // of requests.
        match lock.as_mut().poll(&mut task::Context::from_waker(Waker::noop())) {
            Poll::Ready(guard) => QueuedLock::Locked(guard),
            Poll::Pending => QueuedLock::Waiting(lock),
        }
    }

    /// Waits for the lock.
    pub(super) async fn wait(self, cancelled: &CancelToken) -> Result<SlotGuard, Error> {
        match self {
            QueuedLock::Locked(guard) => Ok(guard),
            QueuedLock::Waiting(lock) => tokio::select! {
                guard = lock => Ok(guard),
                () = cancellation(cancelled) => Err(Error::cancelled()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slot_is_locked_in_the_order_of_requests() {
        let (slot, cancelled) = (SharedSlot::default(), CancelToken::default());
        let first = QueuedLock::enqueue(slot.clone());
        let second = QueuedLock::enqueue(slot.clone());
        let third = QueuedLock::enqueue(slot);
        assert!(matches!(first, QueuedLock::Locked(_)));
        drop(first);
        let mut third = Box::pin(third.wait(&cancelled));
        assert!(third.as_mut().poll(&mut task::Context::from_waker(Waker::noop())).is_pending());
        drop(second.wait(&cancelled).await.unwrap());
        assert!(third.await.is_ok());
    }
}
