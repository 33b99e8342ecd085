//! Sessions that have entries in common: which they are, from what is stored of each transcript.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use super::folder::{Folder, FoundTranscript};
use super::loader::Loader;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::TranscriptFile;

/// So many files are read before it is asked whether to go on.
const BATCH: usize = 64;

/// Groups of sessions that have entries in common.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Copies {
    /// The sessions of each group, at least two.
    pub groups: Vec<Vec<TranscriptFile>>,
    /// Folders that could not be read.
    pub errors: Vec<Error>,
}

/// Finds the groups of all sessions in the config folders. A file that has not changed since it was read is not read again.
pub(crate) fn copies(engine: &Engine, mut go_on: impl FnMut() -> ControlFlow<()>) -> Copies {
    let mut errors = Vec::new();
    let folders = engine.project_folders(&mut errors);
    let (mut transcripts, _) = Folder::read_all(&folders, &mut errors);
    let mut guard = engine.symlink_guard();
    transcripts.retain(|transcript| guard.allows_file(&transcript.path, transcript.is_link));
    let mut loader = Loader::open(engine.home().path(), false);
    let mut families = Families::default();
    for batch in transcripts.chunks(BATCH) {
        for activity in loader.activities(batch) {
            families.add(activity.roots);
        }
        if go_on().is_break() {
            break;
        }
    }
    let groups = families.groups().into_iter().map(|group| {
        let found = group.iter().filter_map(|&index| transcripts.get(index).cloned());
        found.map(FoundTranscript::into_transcript).collect()
    });
    Copies { groups: groups.collect(), errors }
}

/// Joins sessions by the roots that they have in common.
#[derive(Default)]
struct Families {
    /// Of each session one of its family, or itself.
    towards: Vec<usize>,
    by_root: HashMap<String, usize>,
}

impl Families {
    fn add(&mut self, roots: impl IntoIterator<Item = String>) {
        let new = self.towards.len();
        self.towards.push(new);
        for root in roots {
            let known = *self.by_root.entry(root).or_insert(new);
            let (one, other) = (self.first(known), self.first(new));
            self.towards[one.max(other)] = one.min(other);
        }
    }

    /// Returns the first session of a family.
    fn first(&mut self, mut session: usize) -> usize {
        while self.towards[session] != session {
            // The next search is shorter.
            self.towards[session] = self.towards[self.towards[session]];
            session = self.towards[session];
        }
        session
    }

    fn groups(&mut self) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for session in 0..self.towards.len() {
            groups.entry(self.first(session)).or_default().push(session);
        }
        groups.into_values().filter(|group| group.len() > 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_joined_by_any_root_that_they_share() {
        let mut families = Families::default();
        for roots in [&["a"][..], &["b", "c"], &[], &["d"], &["c", "e"], &["e", "a"], &["f"], &["d"]] {
            families.add(roots.iter().map(ToString::to_string));
        }
        assert_eq!(families.groups(), [vec![0, 1, 4, 5], vec![3, 7]]);
    }
}
