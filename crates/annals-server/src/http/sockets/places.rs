//! Places for connections. When all are taken, a new connection gets that of whoever has gone longest without a request that
//! was let in: who sends nothing, or a byte now and then, keeps nobody out.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The places, and who waits in them.
pub(super) struct Places {
    free: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
    /// Is told when somebody begins to wait.
    news: Notify,
}

/// Who may be asked to leave, by a number that grows: who waits longest is first.
#[derive(Default)]
struct Waiting {
    last: u64,
    leave: BTreeMap<u64, Arc<Notify>>,
}

/// The place of one connection.
pub(in crate::http) struct Place {
    places: Arc<Places>,
    state: Mutex<State>,
    leave: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

enum State {
    /// For a request that is let in, with this number.
    Waits(u64),
    Answers,
    /// But not all of the answer is sent.
    Answered,
}

impl Places {
    pub(super) fn new(count: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(count));
        Arc::new(Self { free, waiting: Mutex::default(), news: Notify::new() })
    }

    /// Takes a place: a free one, else that of whoever waits longest, else the first that becomes free.
    pub(super) async fn take(self: &Arc<Self>) -> Arc<Place> {
        let permit = loop {
            if let Ok(permit) = self.free.clone().try_acquire_owned() {
                break permit;
            }
            let is_coming = self.make_room();
            tokio::select! {
                permit = self.free.clone().acquire_owned() => break permit.expect("it is never closed"),
                () = self.news.notified(), if !is_coming => {}
            }
        };
        let leave = Arc::new(Notify::new());
        let state = Mutex::new(State::Waits(self.enter(leave.clone())));
        Arc::new(Place { places: self.clone(), state, leave, _permit: permit })
    }

    /// Asks whoever waits longest to leave; returns whether there is somebody.
    pub(super) fn make_room(&self) -> bool {
        let longest = lock(&self.waiting).leave.pop_first();
        longest.is_some_and(|(_, leave)| {
            leave.notify_one();
            true
        })
    }

    fn enter(&self, leave: Arc<Notify>) -> u64 {
        let mut waiting = lock(&self.waiting);
        waiting.last += 1;
        let number = waiting.last;
        waiting.leave.insert(number, leave);
        drop(waiting);
        self.news.notify_one();
        number
    }
}

impl Place {
    /// Waits until it is asked to leave.
    pub(super) async fn is_asked_to_leave(&self) {
        self.leave.notified().await;
    }

    /// Keeps the place as long as a request that was let in is answered.
    pub(in crate::http) fn keep(self: Arc<Self>) -> Kept {
        if let State::Waits(number) = std::mem::replace(&mut *lock(&self.state), State::Answers) {
            lock(&self.places.waiting).leave.remove(&number);
        }
        Kept(self)
    }

    /// Takes note that all is sent that there was to send.
    pub(super) fn is_sent(&self) {
        let mut state = lock(&self.state);
        if matches!(*state, State::Answered) {
            *state = State::Waits(self.places.enter(self.leave.clone()));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let State::Waits(number) = *lock(&self.state) {
            lock(&self.places.waiting).leave.remove(&number);
        }
    }
}

/// A place that is kept until an answer is complete.
pub(in crate::http) struct Kept(Arc<Place>);

impl Kept {
    /// Keeps the place until this answer is complete.
    pub(in crate::http) fn until(self, answer: Response) -> Response {
        answer.map(|body| Body::new(Answer { body, _kept: self }))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        *lock(&self.0.state) = State::Answered;
    }
}

/// The body of an answer, as it is.
struct Answer {
    body: Body,
    _kept: Kept,
}

impl hyper::body::Body for Answer {
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
    async fn who_waits_longest_is_asked_to_leave_and_who_is_answered_is_not() {
        let places = Places::new(3);
        let (first, second, third) = (places.take().await, places.take().await, places.take().await);
        let kept = second.clone().keep();
        assert!(places.make_room());
        first.is_asked_to_leave().await;
        assert!(places.make_room());
        third.is_asked_to_leave().await;
        assert!(!places.make_room(), "one is kept, and the others are leaving");

        // It waits again when the answer is complete and sent.
        second.is_sent();
        assert!(!places.make_room());
        drop(kept);
        assert!(!places.make_room());
        second.is_sent();
        assert!(places.make_room());
        second.is_asked_to_leave().await;
    }

    #[tokio::test]
    async fn a_place_that_is_needed_is_taken_from_who_waits_as_soon_as_somebody_does() {
        let places = Places::new(1);
        let place = places.take().await;
        let kept = place.clone().keep();
        let leaves = async {
            tokio::task::yield_now().await;
            drop(kept);
            place.is_sent();
            place.is_asked_to_leave().await;
            drop(place);
        };
        tokio::join!(places.take(), leaves);
    }
}
