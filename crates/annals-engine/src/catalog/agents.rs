//! Subagents of listed sessions: those in a session's own folder, and those of old versions that lie beside it.

use std::collections::HashMap;
use std::path::PathBuf;

use super::Listed;
use super::folder::Candidate;
use super::memory::Memory;
use crate::files::Selection;

/// Transcripts of subagents.
#[derive(Debug)]
pub(super) struct Agents {
    /// Those beside sessions, by folder, until somebody asks whose they are.
    beside: HashMap<PathBuf, Vec<Candidate>>,
    /// Those beside sessions, by folder and session.
    known: HashMap<PathBuf, HashMap<String, Vec<Candidate>>>,
}

impl Agents {
    pub(super) fn new(beside: HashMap<PathBuf, Vec<Candidate>>) -> Self {
        Self { beside, known: HashMap::new() }
    }

    /// Returns the subagents of a session.
    pub(super) fn of(&mut self, listed: &Listed, memory: &mut Memory) -> Vec<Candidate> {
        let mut found = Vec::new();
        if listed.has_folder {
            let mut below = Selection::default();
            below.add_subagents_below(&listed.file);
            found.extend(below.files.iter().filter_map(|file| Candidate::of(&file.path)));
        }
        let are_beside = !self.beside.is_empty() || !self.known.is_empty();
        if let Some(folder) = listed.file.path.parent().filter(|_| are_beside) {
            if let Some(beside) = self.beside.remove(folder) {
                self.known.insert(folder.to_owned(), by_session(beside, memory));
            }
            let session = listed.file.session.as_deref().unwrap_or_default();
            let beside = self.known.get(folder).and_then(|known| known.get(session));
            found.extend(beside.into_iter().flatten().cloned());
        }
        found
    }
}

/// Sorts subagents by the session that their lines name.
fn by_session(agents: Vec<Candidate>, memory: &mut Memory) -> HashMap<String, Vec<Candidate>> {
    let facts = memory.facts(&agents);
    let mut sorted: HashMap<_, Vec<_>> = HashMap::new();
    for (agent, facts) in agents.into_iter().zip(facts) {
        if let Some(session) = facts.ok().and_then(|facts| facts.session) {
            sorted.entry(session).or_default().push(agent);
        }
    }
    sorted
}
