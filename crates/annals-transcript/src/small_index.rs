//! Indices into lists, in four bytes each: a session may have millions of entries.

use std::num::NonZeroU32;

/// An index into a list. `Option<SmallIndex>` takes four bytes as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SmallIndex(NonZeroU32);

impl SmallIndex {
    /// Stores an index, which must be less than four billion: no transcript has so many entries.
    pub(crate) fn new(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("a transcript has fewer than four billion entries"))
    }

    /// Returns the index.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}
