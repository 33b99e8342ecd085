//! Opens recorders.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::fs::{Disk, RealDisk};
use super::{Envelope, Error, Options, Recorder, Sync, Target};

/// Opens a [`Recorder`]. Everything except the target has a default.
#[derive(Clone, Debug)]
#[must_use]
pub struct RecorderBuilder {
    disk: Arc<dyn Disk>,
    target: Target,
    envelope: Envelope,
    options: Options,
}

impl RecorderBuilder {
    pub(super) fn new(target: Target) -> Self {
        Self { disk: Arc::new(RealDisk), target, envelope: Envelope::default(), options: Options::default() }
    }

    /// Sets the fields that the recorder writes into every message.
    pub fn envelope(self, envelope: Envelope) -> Self {
        Self { envelope, ..self }
    }

    /// Sets all options at once.
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Sets when written lines are synced to disk.
    pub fn sync(mut self, sync: Sync) -> Self {
        self.options.sync = sync;
        self
    }

    /// Sets how many bytes may wait in memory before the recorder writes them.
    pub fn buffer(mut self, bytes: usize) -> Self {
        self.options.buffer = bytes;
        self
    }

    /// Sets how long to wait for a lock that another process holds.
    pub fn lock_timeout(mut self, lock_timeout: Duration) -> Self {
        self.options.lock_timeout = lock_timeout;
        self
    }

    /// Sets a lock file that the recorder locks, shared, during each write and before the transcript's own lock.
    pub fn session_lock(mut self, path: PathBuf) -> Self {
        self.options.session_lock = Some(path);
        self
    }

    /// Sets whether a draft is refused if its uuid is recorded with other content.
    pub fn strict(mut self, strict: bool) -> Self {
        self.options.strict = strict;
        self
    }

    /// Sets whether progress that is shown only while a tool runs is dropped.
    pub fn collapse_progress(mut self, collapse_progress: bool) -> Self {
        self.options.collapse_progress = collapse_progress;
        self
    }

    /// Sets the disk to write to.
    pub fn disk(self, disk: Arc<dyn Disk>) -> Self {
        Self { disk, ..self }
    }

    /// Opens the session for recording. Its file is created when the first message is written.
    pub fn open(self) -> Result<Recorder, Error> {
        Recorder::open(self.disk, self.target, self.envelope, self.options)
    }
}
