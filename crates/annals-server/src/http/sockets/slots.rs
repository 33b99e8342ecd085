//! A bounded number of slots for connections. When all are taken, a new connection evicts the one that has been idle
//! longest, so that peers that send nothing, or a byte now and then, keep nobody out.
//!
//! A connection is idle from its start, and from the end of an answer, to its next request that is authorized.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// All slots, and which connections are idle.
pub(super) struct ConnectionSlots {
    free: Arc<Semaphore>,
    idle: Mutex<IdleConnections>,
    /// Is notified when a connection becomes idle.
    became_idle: Notify,
}

/// The connections that may be evicted, by an increasing number, so that the one that has been idle longest is first.
#[derive(Default)]
struct IdleConnections {
    last_number: u64,
    by_number: BTreeMap<u64, Arc<Notify>>,
}

/// The slot of one connection.
pub(in crate::http) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    state: Mutex<SlotState>,
    eviction: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

enum SlotState {
    /// No authorized request has arrived; the number is the key in [`IdleConnections`].
    Idle(u64),
    Answering,
    /// The answer is complete, but not all of it is written to the socket.
    Sending,
}

impl ConnectionSlots {
    pub(super) fn new(count: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(count));
        Arc::new(Self { free, idle: Mutex::default(), became_idle: Notify::new() })
    }

    /// Takes a slot: a free one, else that of the connection that has been idle longest, else the first that becomes free.
    pub(super) async fn take(self: &Arc<Self>) -> Arc<ConnectionSlot> {
        let permit = loop {
            if let Ok(permit) = self.free.clone().try_acquire_owned() {
                break permit;
            }
            let is_evicting = self.evict_longest_idle();
            tokio::select! {
                permit = self.free.clone().acquire_owned() => break permit.expect("the semaphore is never closed"),
                () = self.became_idle.notified(), if !is_evicting => {}
            }
        };
        let eviction = Arc::new(Notify::new());
        let state = Mutex::new(SlotState::Idle(self.add_idle(eviction.clone())));
        Arc::new(ConnectionSlot { slots: self.clone(), state, eviction, _permit: permit })
    }

    /// Tells the connection that has been idle longest to close. Returns `false` if none is idle.
    pub(super) fn evict_longest_idle(&self) -> bool {
        let longest = lock(&self.idle).by_number.pop_first();
        longest.is_some_and(|(_, eviction)| {
            eviction.notify_one();
            true
        })
    }

    fn add_idle(&self, eviction: Arc<Notify>) -> u64 {
        let mut idle = lock(&self.idle);
        idle.last_number += 1;
        let number = idle.last_number;
        idle.by_number.insert(number, eviction);
        drop(idle);
        self.became_idle.notify_one();
        number
    }
}

impl ConnectionSlot {
    /// Waits until the connection has to close.
    pub(super) async fn evicted(&self) {
        self.eviction.notified().await;
    }

    /// Protects the connection from eviction while an authorized request is answered.
    pub(in crate::http) fn mark_busy(self: Arc<Self>) -> BusySlot {
        if let SlotState::Idle(number) = std::mem::replace(&mut *lock(&self.state), SlotState::Answering) {
            lock(&self.slots.idle).by_number.remove(&number);
        }
        BusySlot(self)
    }

    /// Records that everything was written to the socket. If an answer was complete, the connection is idle again.
    pub(super) fn all_sent(&self) {
        let mut state = lock(&self.state);
        if matches!(*state, SlotState::Sending) {
            *state = SlotState::Idle(self.slots.add_idle(self.eviction.clone()));
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        if let SlotState::Idle(number) = *lock(&self.state) {
            lock(&self.slots.idle).by_number.remove(&number);
        }
    }
}

/// A slot whose connection cannot be evicted until this is dropped.
pub(in crate::http) struct BusySlot(Arc<ConnectionSlot>);

impl BusySlot {
    /// Keeps the slot busy until the body of this answer is complete.
    pub(in crate::http) fn until_complete(self, answer: Response) -> Response {
        answer.map(|body| Body::new(AnswerBody { body, _busy: self }))
    }
}

impl Drop for BusySlot {
    fn drop(&mut self) {
        *lock(&self.0.state) = SlotState::Sending;
    }
}

/// The unchanged body of an answer, with the slot that is busy until it ends.
struct AnswerBody {
    body: Body,
    _busy: BusySlot,
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_longest_idle_connection_is_evicted_and_a_busy_one_is_not() {
        let slots = ConnectionSlots::new(3);
        let (first, second, third) = (slots.take().await, slots.take().await, slots.take().await);
        let busy = second.clone().mark_busy();
        assert!(slots.evict_longest_idle());
        first.evicted().await;
        assert!(slots.evict_longest_idle());
        third.evicted().await;
        assert!(!slots.evict_longest_idle(), "one is busy, and the others are evicted already");

        // It is idle again when the answer is complete and sent.
        second.all_sent();
        assert!(!slots.evict_longest_idle());
        drop(busy);
        assert!(!slots.evict_longest_idle());
        second.all_sent();
        assert!(slots.evict_longest_idle());
        second.evicted().await;
    }

    #[tokio::test]
    async fn a_new_connection_evicts_the_first_connection_that_becomes_idle() {
        let slots = ConnectionSlots::new(1);
        let slot = slots.take().await;
        let busy = slot.clone().mark_busy();
        let serve_and_close = async {
            tokio::task::yield_now().await;
            drop(busy);
            slot.all_sent();
            slot.evicted().await;
            drop(slot);
        };
        tokio::join!(slots.take(), serve_and_close);
    }
}
