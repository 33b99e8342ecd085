//! A queue for each session, because a session answers one request after the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

/// The queues of the sessions that requests read or wait for, by session id. tokio's mutex is fair, so it serves as a
/// queue.
#[derive(Debug, Default)]
pub(crate) struct SessionQueues(Mutex<HashMap<String, Weak<Queue<()>>>>);

impl SessionQueues {
    /// Waits until all earlier requests for a session are done. The next request goes on when the guard is dropped.
    pub(crate) async fn wait(&self, session: &str) -> OwnedMutexGuard<()> {
        self.queue_of(session).lock_owned().await
    }

    fn queue_of(&self, session: &str) -> Arc<Queue<()>> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(session).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        queues.insert(session.to_owned(), Arc::downgrade(&queue));
        queue
    }
}
