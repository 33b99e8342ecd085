//! The memory that lines are read into, which a thread uses again for the next file.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

/// The initial size of the buffer: enough for nearly every line, and small enough to stay in the processor's cache.
pub(super) const CHUNK: usize = 256 * 1024;

/// The memory that lines are read into. To fill a new one with zeros takes longer than to read a short file, so that each thread keeps one.
#[derive(Default)]
pub(super) struct Buffer(Vec<u8>);

thread_local! {
    static KEPT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Buffer {
    /// Returns a buffer of the initial size.
    pub(super) fn of_a_chunk() -> Self {
        let kept = KEPT.take();
        Self(if kept.len() == CHUNK { kept } else { vec![0; CHUNK] })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.0.len() == CHUNK {
            // A thread that ends keeps nothing.
            let _ = KEPT.try_with(|kept| kept.set(std::mem::take(&mut self.0)));
        }
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}
