//! Room: how many bytes may be in memory at once that nobody has taken yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What has no more bytes than this needs no room where there are few of its kind: it never waits for what is large.
pub(crate) const SMALL: usize = 64 << 10;

/// Room for so many bytes, shared by all who have it. Who finds none waits, and whoever waited longest is next.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    kib: Arc<Semaphore>,
    all: u32,
    waiting: Arc<AtomicUsize>,
}

/// Somebody who waits for room.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn among(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A part of a room. It is given back when this is dropped.
#[derive(Debug)]
pub struct Taken {
    _permit: OwnedSemaphorePermit,
}

/// Text that takes room until it is sent.
pub(crate) struct Roomy {
    pub(crate) text: String,
    pub(crate) _taken: Option<Taken>,
}

impl AsRef<[u8]> for Roomy {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Room {
    /// Makes room for so many KiB.
    pub(crate) fn of(all: u32) -> Self {
        Self { kib: Arc::new(Semaphore::new(all as usize)), all, waiting: Arc::default() }
    }

    /// Takes room for so many bytes; what is larger than all of it has it alone.
    pub(crate) async fn take(&self, bytes: usize) -> Taken {
        let _waiting = Waiting::among(&self.waiting);
        let taken = self.kib.clone().acquire_many_owned(kib(bytes).min(self.all)).await;
        Taken { _permit: taken.expect("a room is never closed") }
    }

    /// Returns whether somebody waits for room.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Takes room for what is large; what is small needs none.
    pub(crate) async fn take_if_large(&self, bytes: usize) -> Option<Taken> {
        if bytes > SMALL { Some(self.take(bytes).await) } else { None }
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
    async fn room_is_taken_and_given_back() {
        let room = Room::of(8);
        let left = || room.kib.available_permits();
        let taken = room.take(5000).await;
        assert_eq!(left(), 3);
        assert!(room.take_if_large(SMALL).await.is_none());
        drop(taken);
        let all = room.take_if_large(usize::MAX).await;
        assert_eq!((left(), room.is_wanted()), (0, false));
        {
            let mut next = std::pin::pin!(room.take(1));
            let waits = tokio::time::timeout(std::time::Duration::from_millis(1), next.as_mut()).await;
            assert!(waits.is_err() && room.is_wanted());
        }
        assert!(!room.is_wanted(), "who gives up waits no more");
        drop(all);
        assert_eq!(left(), 8);
    }
}
