//! Groups of indices in two flat lists: a session may have millions of entries, so a list per group would be too large.

use std::ops::Range;

use crate::session::index;

/// The members of every group, in the order in which they were added.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Where the members of each group start in `members`, and where those of the last group end.
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Groups {
    /// Builds `groups` groups from pairs of a group and a member.
    pub(crate) fn of(groups: usize, pairs: impl Iterator<Item = (usize, usize)> + Clone) -> Self {
        // A counting sort. Counts are stored two elements ahead, so that after summing up `starts[group + 1]` is where the next
        // member of the group goes and, at the end, where the group ends.
        let mut starts = vec![0; groups + 2];
        let mut count = 0;
        for (group, _) in pairs.clone() {
            starts[group + 2] += 1;
            count += 1;
        }
        for group in 0..groups {
            starts[group + 2] += starts[group + 1];
        }
        let mut members = vec![0; count];
        for (group, member) in pairs {
            let next = &mut starts[group + 1];
            members[*next as usize] = index(member);
            *next += 1;
        }
        starts.pop();
        Self { starts, members }
    }

    /// Returns the members of a group.
    pub(crate) fn members(&self, group: usize) -> impl DoubleEndedIterator<Item = usize> + Clone + '_ {
        self.members[self.range(group)].iter().map(|&member| member as usize)
    }

    /// Returns the number of members of a group.
    pub(crate) fn count(&self, group: usize) -> usize {
        self.range(group).len()
    }

    fn range(&self, group: usize) -> Range<usize> {
        self.starts[group] as usize..self.starts[group + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_in_their_groups_in_order() {
        let pairs = [(0, 1), (3, 2), (0, 3), (4, 4), (0, 5), (0, 1)];
        let groups = Groups::of(6, pairs.into_iter());
        let found: Vec<Vec<usize>> = (0..6).map(|group| groups.members(group).collect()).collect();
        assert_eq!(found, [vec![1, 3, 5, 1], vec![], vec![], vec![2], vec![4], vec![]]);
        assert_eq!((groups.count(0), groups.count(1), groups.count(4)), (4, 0, 1));
    }
}
