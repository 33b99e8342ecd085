//! The lines of a file that one subscription has read last, for the others of the same file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use annals_transcript::checkpoint::Checkpoint;
use annals_transcript::file_state::FileState;

/// More bytes are not kept: a thousand subscriptions have five hundred files of two subscriptions each.
const LONGEST: usize = 16 << 10;

/// The buffers of all files that have subscriptions.
#[derive(Debug, Default)]
pub(super) struct Buffers(BTreeMap<PathBuf, Weak<LineBuffer>>);

impl Buffers {
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
    to: Checkpoint,
    lines: Vec<u8>,
}

/// What follows a checkpoint, as far as a buffer knows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// These lines, up to another checkpoint.
    Lines(Vec<u8>, Checkpoint),
    /// Nothing: the file ends there.
    End,
}

impl LineBuffer {
    /// Returns what follows a checkpoint in a file that is in this state; `None` if only the file tells.
    pub(super) fn next(&self, state: &FileState, checkpoint: &Checkpoint) -> Option<Next> {
        let batch = self.batch();
        let batch = batch.as_ref().filter(|batch| batch.state == *state)?;
        if batch.from == *checkpoint {
            return Some(Next::Lines(batch.lines.clone(), batch.to));
        }
        let is_end = batch.to == *checkpoint && checkpoint.offset() == state.length;
        is_end.then_some(Next::End)
    }

    /// Keeps lines that were read from a file in this state, in place of those before.
    pub(super) fn put(&self, state: &FileState, from: Checkpoint, to: Checkpoint, lines: &[u8]) {
        let is_kept = lines.len() <= LONGEST;
        *self.batch() = is_kept.then(|| Batch { state: *state, from, to, lines: lines.to_vec() });
    }

    fn batch(&self) -> MutexGuard<'_, Option<Batch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
