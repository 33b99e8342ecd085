//! What belongs to what, in two flat lists: a session may have millions of entries.

use std::ops::Range;

use crate::session::index;

/// The members of every group, in the order in which they were named.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Where the members of each group start in `members`, and where those of the last end.
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Groups {
    /// Sorts members into so many groups. `pairs` names a group and a member of it each time.
    pub(crate) fn of(groups: usize, pairs: impl Iterator<Item = (usize, usize)> + Clone) -> Self {
        // Counted two places ahead: after summing up, the place between says where the next member of a group goes,
        // and at the end where the group ends.
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

    /// Returns the first member of a group above a bound, if the group was named in ascending order.
    pub(crate) fn first_above(&self, group: usize, bound: usize) -> Option<usize> {
        let members = &self.members[self.range(group)];
        let place = members.partition_point(|&member| member as usize <= bound);
        members.get(place).map(|&member| member as usize)
    }

    /// Returns how many members a group has.
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
    fn members_stand_in_their_groups_in_order() {
        let pairs = [(0, 1), (3, 2), (0, 3), (4, 4), (0, 5), (0, 1)];
        let groups = Groups::of(6, pairs.into_iter());
        let found: Vec<Vec<usize>> = (0..6).map(|group| groups.members(group).collect()).collect();
        assert_eq!(found, [vec![1, 3, 5, 1], vec![], vec![], vec![2], vec![4], vec![]]);
        assert_eq!((groups.count(0), groups.count(1), groups.count(4)), (4, 0, 1));
        assert_eq!((groups.first_above(3, 1), groups.first_above(3, 2)), (Some(2), None));
    }
}
