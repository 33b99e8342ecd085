//! Cancellation of requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use crate::rpc::Error;

/// Whether a request was cancelled. Clones share the flag; work on the request checks it between steps.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    is_set: AtomicBool,
    /// Tasks of an async transport that wait for the cancellation.
    wakers: Mutex<Vec<Waker>>,
}

impl CancelToken {
    /// Cancels the request.
    pub fn cancel(&self) {
        self.0.is_set.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut *self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns an error if the request was cancelled.
    pub fn check(&self) -> Result<(), Error> {
        if self.0.is_set.load(Ordering::SeqCst) { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// Returns whether the request was cancelled; if it was not, `waker` is woken when it is. A transport builds a future
    /// from this, so that this crate needs no runtime.
    pub fn check_or_wake(&self, waker: &Waker) -> bool {
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        // The flag is read under the lock: `cancel` sets it before it takes the lock, so no waker is missed.
        let is_set = self.0.is_set.load(Ordering::SeqCst);
        if !is_set && !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
        is_set
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn whoever_waits_is_woken_once() {
        let (cancelled, counter) = (CancelToken::default(), Arc::new(Counter::default()));
        let waker = Waker::from(counter.clone());
        assert!(!cancelled.check_or_wake(&waker) && !cancelled.check_or_wake(&waker));
        cancelled.check().unwrap();
        cancelled.clone().cancel();
        assert_eq!(counter.0.load(Ordering::SeqCst), 1);
        assert!(cancelled.check_or_wake(&waker));
        assert!(cancelled.check().is_err());
    }
}
