//! Subagents of sessions in a list: those in the session's own folder, and those beside it, where old versions of Claude
//! Code put them (LISTS 6.3).

use std::collections::HashMap;
use std::path::PathBuf;

use super::SessionRow;
use super::folder::FoundTranscript;
use super::loader::Loader;
use crate::files::agents_below;

/// Transcripts of subagents.
#[derive(Debug)]
pub(super) struct AgentTranscripts {
    /// Those beside sessions, by folder, whose sessions were not read yet.
    unread: HashMap<PathBuf, Vec<FoundTranscript>>,
    /// Those beside sessions, by folder and session.
    by_session: HashMap<PathBuf, HashMap<String, Vec<FoundTranscript>>>,
}

impl AgentTranscripts {
    pub(super) fn new(beside: HashMap<PathBuf, Vec<FoundTranscript>>) -> Self {
        Self { unread: beside, by_session: HashMap::new() }
    }

    /// Returns the subagents of a session.
    pub(super) fn of(&mut self, row: &SessionRow, loader: &mut Loader) -> Vec<FoundTranscript> {
        let mut found = self.beside(row, loader).to_vec();
        if row.has_folder {
            found.extend(agents_below(&row.file.path).iter().filter_map(|path| FoundTranscript::of(path)));
        }
        found
    }

    /// Returns the subagents of a session that are beside it.
    pub(super) fn beside(&mut self, row: &SessionRow, loader: &mut Loader) -> &[FoundTranscript] {
        let are_beside = !self.unread.is_empty() || !self.by_session.is_empty();
        let Some(folder) = row.file.path.parent().filter(|_| are_beside) else { return &[] };
        if let Some(beside) = self.unread.remove(folder) {
            self.by_session.insert(folder.to_owned(), by_session(beside, loader));
        }
        let session = row.file.session.as_deref().unwrap_or_default();
        let beside = self.by_session.get(folder).and_then(|by_session| by_session.get(session));
        beside.map(Vec::as_slice).unwrap_or_default()
    }
}

/// Groups subagents by the session that their entries name.
fn by_session(agents: Vec<FoundTranscript>, loader: &mut Loader) -> HashMap<String, Vec<FoundTranscript>> {
    let facts = loader.facts(&agents);
    let mut sorted: HashMap<_, Vec<_>> = HashMap::new();
    for (agent, facts) in agents.into_iter().zip(facts) {
        if let Some(session) = facts.ok().and_then(|facts| facts.session) {
            sorted.entry(session).or_default().push(agent);
        }
    }
    sorted
}
