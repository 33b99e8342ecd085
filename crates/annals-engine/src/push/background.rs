//! Pushes while a recorder goes on: a slow server delays no local line.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use super::{PushError, PushOutcome, Pusher};

/// Pushes a transcript on a thread of its own whenever [`wake`](Self::wake) is called.
#[derive(Debug)]
pub struct BackgroundPusher {
    wakes: SyncSender<()>,
    thread: JoinHandle<PushReport>,
}

/// What was pushed, also if it was not everything.
#[derive(Debug)]
#[non_exhaustive]
pub struct PushReport {
    /// What was sent, and what is pending.
    pub outcome: PushOutcome,
    /// Why something is pending.
    pub error: Option<PushError>,
}

impl BackgroundPusher {
    /// Starts the thread. It first sends what earlier pushes left.
    pub fn start(pusher: Pusher) -> Self {
        // One wake that waits is enough: a push sends everything.
        let (wakes, waiting) = mpsc::sync_channel(1);
        let thread = thread::spawn(move || run(pusher, &waiting));
        let pusher = Self { wakes, thread };
        pusher.wake();
        pusher
    }

    /// Says that lines were appended. Returns at once.
    pub fn wake(&self) {
        let _ = self.wakes.try_send(());
    }

    /// Waits until everything is sent, or until the last push has given up.
    pub fn finish(self) -> PushReport {
        // A wake that was not received yet is still received.
        drop(self.wakes);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Pushes for each wake. After a failure that may pass, the next wake tries again.
fn run(mut pusher: Pusher, wakes: &Receiver<()>) -> PushReport {
    let mut report = PushReport { outcome: PushOutcome::default(), error: None };
    while let Ok(()) = wakes.recv() {
        if !report.error.as_ref().is_some_and(PushError::is_final) {
            report = pusher.push_and_report();
        }
    }
    report.outcome.sent = pusher.sent();
    report
}
