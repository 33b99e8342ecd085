//! A buffer of the lines that were read last from a file, shared by the subscriptions of that file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use annals_transcript::checkpoint::Checkpoint;
use annals_transcript::file_state::FileState;

/// Longer batches of lines are not buffered. The bound is per file, and 1000 subscriptions can have 500 files with two
/// subscriptions each.
const MAX_BUFFERED_BYTES: usize = 16 << 10;

/// The buffers of all files that have subscriptions.
#[derive(Debug, Default)]
pub(super) struct LineBuffers(BTreeMap<PathBuf, Weak<LineBuffer>>);

impl LineBuffers {
    /// Returns the buffer of a file, which its subscriptions share.
    pub(super) fn of(&mut self, path: &Path) -> Arc<LineBuffer> {
        self.0.retain(|_, buffer| buffer.strong_count() > 0);
        if let Some(buffer) = self.0.get(path).and_then(Weak::upgrade) {
            return buffer;
        }
        let buffer = Arc::default();
        self.0.insert(path.to_owned(), Arc::downgrade(&buffer));
        buffer
    }
}

/// The lines of a file that were read last. A subscription that keeps up takes them from here instead of opening the file;
/// one that has fallen behind, or finds the file changed since, reads the file.
#[derive(Debug, Default)]
pub(super) struct LineBuffer(Mutex<Option<Batch>>);

/// Lines between two checkpoints of a file.
#[derive(Debug)]
struct Batch {
    /// The state of the file when the lines were read.
    state: FileState,
    from: Checkpoint,
    until: Checkpoint,
    lines: Vec<u8>,
}

/// What follows a checkpoint, according to a buffer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Buffered {
    /// These lines follow, up to another checkpoint.
    Lines(Vec<u8>, Checkpoint),
    /// The file ends at the checkpoint.
    End,
}

impl LineBuffer {
    /// Returns what follows a checkpoint in a file that is in this state; `None` if the file has to be read.
    pub(super) fn next(&self, state: &FileState, checkpoint: &Checkpoint) -> Option<Buffered> {
        let batch = self.batch();
        let batch = batch.as_ref().filter(|batch| batch.state == *state)?;
        if batch.from == *checkpoint {
            return Some(Buffered::Lines(batch.lines.clone(), batch.until));
        }
        let is_end = batch.until == *checkpoint && checkpoint.offset() == state.length;
        is_end.then_some(Buffered::End)
    }

    /// Replaces the buffered lines by lines that were read from a file in this state.
    pub(super) fn put(&self, state: &FileState, from: Checkpoint, until: Checkpoint, lines: &[u8]) {
        let is_kept = lines.len() <= MAX_BUFFERED_BYTES;
        *self.batch() = is_kept.then(|| Batch { state: *state, from, until, lines: lines.to_vec() });
    }

    fn batch(&self) -> MutexGuard<'_, Option<Batch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
