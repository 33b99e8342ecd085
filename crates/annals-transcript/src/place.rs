//! Where something stands in a list, in four bytes: a session may have millions of entries.

use std::num::NonZeroU32;

/// An index. `Option<Place>` takes no more room than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place(NonZeroU32);

impl Place {
    /// Takes an index as one that is small enough; files with more entries than that do not exist.
    pub(crate) fn at(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("a transcript has fewer than four billion entries"))
    }

    /// Returns the index.
    pub(crate) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}
