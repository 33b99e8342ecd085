//! Families of sessions: a session with its subagents and its copies.

use std::collections::HashMap;

/// Sets of numbers that are joined step by step.
#[derive(Debug)]
pub(crate) struct Sets(Vec<u32>);

impl Sets {
    /// Returns as many sets as numbers.
    pub(crate) fn new(length: usize) -> Self {
        Self((0..u32::try_from(length).unwrap_or(u32::MAX)).collect())
    }

    /// Returns the smallest number of the set that a number is in.
    pub(crate) fn find(&mut self, number: u32) -> u32 {
        let mut root = number;
        while self.0[root as usize] != root {
            root = self.0[root as usize];
        }
        let mut at = number;
        while at != root {
            at = std::mem::replace(&mut self.0[at as usize], root);
        }
        root
    }

    /// Returns the smallest number of the set of each number.
    pub(crate) fn all(&mut self) -> Vec<u32> {
        (0..u32::try_from(self.0.len()).unwrap_or(u32::MAX)).map(|number| self.find(number)).collect()
    }

    /// Joins the sets of two numbers.
    pub(crate) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}

/// Joins numbers that have the same property.
#[derive(Debug)]
pub(crate) struct Joiner<K> {
    first: HashMap<K, u32>,
}

impl<K: Eq + std::hash::Hash> Joiner<K> {
    pub(crate) fn new() -> Self {
        Self { first: HashMap::new() }
    }

    /// Joins a number with the first one that had this property.
    pub(crate) fn join(&mut self, sets: &mut Sets, key: K, number: u32) {
        let first = *self.first.entry(key).or_insert(number);
        sets.join(first, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_joined_in_any_order() {
        let mut sets = Sets::new(5);
        sets.join(3, 4);
        sets.join(1, 3);
        assert_eq!(sets.all(), [0, 1, 2, 1, 1]);
    }
}
