//! What hangs on what, in two flat lists: a session may have millions of entries.

use std::ops::Index;

/// The children of every entry, in the order of entries.
#[derive(Debug)]
pub(crate) struct Children {
    /// Where the children of each entry start in `all`; one more than there are entries.
    starts: Vec<usize>,
    all: Vec<usize>,
}

impl Children {
    /// Turns parents into children. `parents` tells the parent of each entry from 0 on.
    pub(crate) fn of(parents: &[Option<usize>]) -> Self {
        let mut starts = vec![0; parents.len() + 1];
        for &parent in parents.iter().flatten() {
            starts[parent + 1] += 1;
        }
        for index in 0..parents.len() {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut all = vec![0; starts[parents.len()]];
        for (child, &parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                all[next[parent]] = child;
                next[parent] += 1;
            }
        }
        Self { starts, all }
    }

    /// Returns how many children each entry has.
    pub(crate) fn counts(&self) -> Vec<usize> {
        self.starts.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

impl Index<usize> for Children {
    type Output = [usize];

    fn index(&self, entry: usize) -> &[usize] {
        &self.all[self.starts[entry]..self.starts[entry + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_stand_under_their_parents_in_order() {
        let children = Children::of(&[None, Some(0), Some(3), Some(0), Some(4), Some(0)]);
        let found: Vec<&[usize]> = (0..6).map(|entry| &children[entry]).collect();
        let expected: [&[usize]; 6] = [&[1, 3, 5], &[], &[], &[2], &[4], &[]];
        assert_eq!(found, expected);
        assert_eq!(children.counts(), [3, 0, 0, 1, 1, 0]);
    }
}
