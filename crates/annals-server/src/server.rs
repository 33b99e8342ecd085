//! The server: what all its clients share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use annals_engine::Engine;
use annals_proto::ErrorCode;
use tokio::sync::{Notify, Semaphore};

use crate::desk::Desk;
use crate::rpc::Error;

/// How a server is set up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether changes are refused.
    pub read_only: bool,
    /// Whether to look at all files now and then, instead of waiting for the system's notice: for network drives.
    pub poll: bool,
}

/// Answers requests, whoever asks and however. It remembers nothing about who asks: a request carries all it needs.
#[derive(Debug)]
pub struct Server {
    pub(crate) engine: Engine,
    pub(crate) options: Options,
    pub(crate) desk: Desk,
    /// How many requests are worked on at once.
    pub(crate) working: Arc<Semaphore>,
}

impl Server {
    /// Sets a server up.
    pub fn new(engine: Engine, options: Options) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let working = Arc::new(Semaphore::new(cores.clamp(2, 8)));
        Arc::new(Self { engine, options, desk: Desk::default(), working })
    }
}

/// Whether a request was taken back. Work on it asks now and then.
#[derive(Clone, Debug, Default)]
pub struct Cancelled(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    is_set: AtomicBool,
    waiting: Notify,
}

impl Cancelled {
    /// Takes the request back.
    pub fn cancel(&self) {
        self.0.is_set.store(true, Ordering::Relaxed);
        self.0.waiting.notify_one();
    }

    /// Fails if the request was taken back.
    pub fn check(&self) -> Result<(), Error> {
        if self.0.is_set.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorCode::Cancelled, "the request was taken back"));
        }
        Ok(())
    }

    /// Waits until the request is taken back.
    pub(crate) async fn wait(&self) {
        while self.check().is_ok() {
            self.0.waiting.notified().await;
        }
    }
}
