//! Generates ids.

use uuid::{Builder, Uuid};

/// Returns a new id, for an entry or a session.
pub fn new_id() -> String {
    Uuid::new_v4().to_string()
}

/// The number of random bytes in an id.
const LENGTH: usize = 16;

/// Random bytes are requested from the system for this many ids at once.
const BATCH: usize = 256;

/// Generates ids for the entries of a batch. It requests random bytes for many ids at once, because the request costs more than
/// all other work for a short entry. Unused bytes are dropped with the batch: a process that forks must not use them twice.
#[derive(Debug)]
pub(super) struct NewIds {
    random: Vec<u8>,
    /// The number of ids that may still be needed beyond those that `random` suffices for.
    left: usize,
}

impl NewIds {
    /// Prepares for `count` ids; further ones are generated one by one.
    pub(super) fn at_most(count: usize) -> Self {
        Self { random: Vec::new(), left: count }
    }

    pub(super) fn next_id(&mut self) -> String {
        if self.random.is_empty() {
            self.refill();
        }
        match self.random.split_last_chunk::<LENGTH>() {
            Some((rest, &bytes)) => {
                self.random.truncate(rest.len());
                Builder::from_random_bytes(bytes).into_uuid().to_string()
            }
            None => new_id(),
        }
    }

    fn refill(&mut self) {
        let count = self.left.min(BATCH);
        self.left -= count;
        self.random.resize(count * LENGTH, 0);
        if getrandom::fill(&mut self.random).is_err() {
            self.random.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_random_and_none_comes_twice() {
        let mut ids = NewIds::at_most(2 * BATCH + 3);
        let made: HashSet<String> = (0..2 * BATCH + 10).map(|_| ids.next_id()).collect();
        assert_eq!(made.len(), 2 * BATCH + 10);
        let is_random = |id: &String| Uuid::parse_str(id).unwrap().get_version_num() == 4;
        assert!(made.iter().all(is_random));
    }
}
