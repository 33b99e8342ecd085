//! New ids.

use uuid::{Builder, Uuid};

/// Returns a new id, for an entry or a session.
pub fn new_id() -> String {
    Uuid::new_v4().to_string()
}

/// How many random bytes an id has.
const LENGTH: usize = 16;

/// For how many ids the system is asked for random bytes at once.
const AT_ONCE: usize = 256;

/// New ids for the entries of a batch. The system is asked for the randomness of many at once, since that costs more than all
/// else that is done for a short entry. What is left over is dropped with the batch: a process that forks must not use it twice.
#[derive(Debug)]
pub(super) struct NewIds {
    random: Vec<u8>,
    /// How many ids there may still be, but for those that `random` suffices for.
    left: usize,
}

impl NewIds {
    /// Prepares so many ids; any more are made one by one.
    pub(super) fn at_most(count: usize) -> Self {
        Self { random: Vec::new(), left: count }
    }

    pub(super) fn next_id(&mut self) -> String {
        if self.random.is_empty() {
            self.ask();
        }
        match self.random.split_last_chunk::<LENGTH>() {
            Some((rest, &bytes)) => {
                self.random.truncate(rest.len());
                Builder::from_random_bytes(bytes).into_uuid().to_string()
            }
            None => new_id(),
        }
    }

    fn ask(&mut self) {
        let count = self.left.min(AT_ONCE);
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
        let mut ids = NewIds::at_most(2 * AT_ONCE + 3);
        let made: HashSet<String> = (0..2 * AT_ONCE + 10).map(|_| ids.next_id()).collect();
        assert_eq!(made.len(), 2 * AT_ONCE + 10);
        let is_random = |id: &String| Uuid::parse_str(id).unwrap().get_version_num() == 4;
        assert!(made.iter().all(is_random));
    }
}
