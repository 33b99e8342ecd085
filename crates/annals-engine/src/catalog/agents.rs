//! Subagents of listed sessions: those in a session's own folder, and those of old versions that lie beside it.

use std::collections::HashMap;
use std::path::PathBuf;

use super::Listed;
use super::folder::Candidate;
use super::memory::Memory;
use crate::files::{Selection, TranscriptFile};

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
        let mut found = self.beside(listed, memory).to_vec();
        if listed.has_folder {
            found.extend(below(&listed.file).iter().filter_map(|file| Candidate::of(&file.path)));
        }
        found
    }

    /// Returns those subagents of a session that lie beside it.
    pub(super) fn beside(&mut self, listed: &Listed, memory: &mut Memory) -> &[Candidate] {
        let are_beside = !self.beside.is_empty() || !self.known.is_empty();
        let Some(folder) = listed.file.path.parent().filter(|_| are_beside) else { return &[] };
        if let Some(beside) = self.beside.remove(folder) {
            self.known.insert(folder.to_owned(), by_session(beside, memory));
        }
        let session = listed.file.session.as_deref().unwrap_or_default();
        let beside = self.known.get(folder).and_then(|known| known.get(session));
        beside.map(Vec::as_slice).unwrap_or_default()
    }
}

/// Returns the transcripts of subagents in a session's own folder.
pub(super) fn below(session: &TranscriptFile) -> Vec<TranscriptFile> {
    let mut found = Selection::default();
    found.add_subagents_below(session);
    found.files
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
