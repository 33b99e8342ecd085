//! Byte budgets: they bound how many bytes are in memory and not yet sent or answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Messages up to this size may bypass a budget, so that small ones never wait behind large ones.
pub(crate) const MAX_UNBUDGETED_BYTES: usize = 64 << 10;

/// A number of bytes that all clones share. Reservations that do not fit wait, first come, first served.
#[derive(Clone, Debug)]
pub(crate) struct ByteBudget {
    kib: Arc<Semaphore>,
    total_kib: u32,
    waiters: Arc<AtomicUsize>,
}

/// Counts a waiter, also if its future is dropped before the bytes are free.
struct Waiter<'a>(&'a AtomicUsize);

impl<'a> Waiter<'a> {
    fn count_in(waiters: &'a AtomicUsize) -> Self {
        waiters.fetch_add(1, Ordering::Relaxed);
        Self(waiters)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A part of a budget. It is released on drop.
#[derive(Debug)]
pub struct Reservation {
    _permit: OwnedSemaphorePermit,
}

/// Text that keeps its reservation until it is sent.
pub(crate) struct BudgetedText {
    pub(crate) text: String,
    pub(crate) _reservation: Option<Reservation>,
}

impl AsRef<[u8]> for BudgetedText {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl ByteBudget {
    pub(crate) fn of_kib(total_kib: u32) -> Self {
        Self { kib: Arc::new(Semaphore::new(total_kib as usize)), total_kib, waiters: Arc::default() }
    }

    /// Waits until `bytes` are free and reserves them. A size above the whole budget reserves the whole budget.
    pub(crate) async fn reserve(&self, bytes: usize) -> Reservation {
        let _waiter = Waiter::count_in(&self.waiters);
        let permit = self.kib.clone().acquire_many_owned(kib(bytes).min(self.total_kib)).await;
        Reservation { _permit: permit.expect("the semaphore of a budget is never closed") }
    }

    /// Reserves bytes, or nothing if there are no more than [`MAX_UNBUDGETED_BYTES`].
    pub(crate) async fn reserve_if_large(&self, bytes: usize) -> Option<Reservation> {
        if bytes > MAX_UNBUDGETED_BYTES { Some(self.reserve(bytes).await) } else { None }
    }

    /// Returns whether a reservation is waiting for bytes to be released.
    pub(crate) fn has_waiters(&self) -> bool {
        self.waiters.load(Ordering::Relaxed) > 0
    }
}

/// Returns a length in KiB, at least one.
fn kib(length: usize) -> u32 {
    u32::try_from(length >> 10).unwrap_or(u32::MAX - 1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_are_reserved_and_released() {
        let budget = ByteBudget::of_kib(8);
        let reservation = budget.reserve(5000).await;
        assert_eq!(budget.kib.available_permits(), 3);
        assert!(budget.reserve_if_large(MAX_UNBUDGETED_BYTES).await.is_none());
        drop(reservation);
        let all = budget.reserve_if_large(usize::MAX).await;
        assert_eq!((budget.kib.available_permits(), budget.has_waiters()), (0, false));
        {
            let mut next = std::pin::pin!(budget.reserve(1));
            let waits = tokio::time::timeout(std::time::Duration::from_millis(1), next.as_mut()).await;
            assert!(waits.is_err() && budget.has_waiters());
        }
        assert!(!budget.has_waiters(), "a waiter that gave up is not counted");
        drop(all);
        assert_eq!(budget.kib.available_permits(), 8);
    }
}
