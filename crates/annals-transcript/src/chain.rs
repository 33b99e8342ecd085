//! The conversation in a transcript, as Claude Code resolves it.
//!
//! `docs/CHAIN.md` states the rules; each module here implements one of its sections. Only nodes are needed to decide which
//! entries a conversation consists of and in which order, so no bodies are read.
//!
//! ```
//! use annals_transcript::chain::Chain;
//! use annals_transcript::session::Session;
//!
//! let file = br#"{"type":"user","uuid":"a","parentUuid":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"content":"Hi"}}
//! {"type":"user","uuid":"b","parentUuid":"a","timestamp":"2026-01-02T03:05:05.000Z","message":{"content":"Left"}}
//! {"type":"user","uuid":"c","parentUuid":"a","timestamp":"2026-01-02T03:06:05.000Z","message":{"content":"Taken"}}"#;
//! let session = Session::read(&file[..])?;
//! let chain = Chain::build(&session);
//! assert_eq!(chain.entries(), [0, 2], "the conversation was rewound to the first prompt");
//! assert_eq!(chain.obstacle(), None);
//! # Ok::<(), std::io::Error>(())
//! ```

mod gather;
mod large;
mod leaf;
mod load;
mod preserve;
mod reply;
mod walk;

use crate::groups::Groups;
use crate::session::{Id, Session};
use load::LoadedEntries;

/// The conversation that Claude Code would continue, and the graph of all loaded entries.
#[derive(Debug)]
pub struct Chain<'s> {
    session: &'s Session,
    loaded: LoadedEntries,
    /// The children of each slot.
    children: Groups,
    leaf: Option<usize>,
    /// The entry that it was made to end in.
    end: Option<Id>,
}

/// The index of an entry in [`Session::nodes`].
pub type NodeIndex = usize;

impl<'s> Chain<'s> {
    /// Resolves the conversation of a session. Any graph is accepted: cycles, missing parents, duplicates.
    pub fn build(session: &'s Session) -> Self {
        let mut loaded = LoadedEntries::from(session);
        preserve::relink(session, &mut loaded);
        let children = loaded.children();
        let is_rewound = loaded.last_prompt.is_rewound_to_start;
        let leaf = if is_rewound { None } else { leaf::choose(session, &loaded, &children) };
        Self { session, loaded, children, leaf, end: None }
    }

    /// Resolves the conversation that ends in a given entry, if Claude Code reads an entry with that id. If the entry is one
    /// that a compaction discarded, all discarded entries are taken into account again.
    pub fn ending_in(session: &'s Session, id: Id) -> Option<Self> {
        let chain = Self::build(session);
        if let Some(leaf) = chain.loaded.slot(id) {
            return Some(Self { leaf: Some(leaf), end: Some(id), ..chain });
        }
        let loaded = LoadedEntries::from(session);
        let leaf = loaded.slot(id)?;
        let children = loaded.children();
        Some(Self { session, loaded, children, leaf: Some(leaf), end: Some(id) })
    }

    /// Resolves the chain of which [`Chain::end`] is known.
    pub(crate) fn with_end(session: &'s Session, end: Option<Id>) -> Self {
        end.and_then(|end| Self::ending_in(session, end)).unwrap_or_else(|| Self::build(session))
    }

    /// Returns the entry that it was made to end in; `None` if it is the one that Claude Code would continue.
    pub(crate) fn end(&self) -> Option<Id> {
        self.end
    }

    /// Returns the session.
    pub fn session(&self) -> &'s Session {
        self.session
    }

    /// Returns the last entry of the conversation.
    pub fn leaf(&self) -> Option<NodeIndex> {
        self.leaf.map(|slot| self.loaded.slots[slot].node.index())
    }

    /// Returns the entry that should be the parent of the next message: the last entry that Claude Code restores.
    ///
    /// Claude Code itself chooses an earlier parent where it does not send the last entry (a reply that is only thinking or
    /// blank). It resumes both in the same way.
    pub fn tip(&self) -> Option<NodeIndex> {
        self.entries().last().copied()
    }

    /// Returns why Claude Code would not resume the session; `None` if it would.
    pub fn obstacle(&self) -> Option<Obstacle> {
        let Some(leaf) = self.leaf else {
            return (!self.loaded.last_prompt.is_rewound_to_start).then_some(Obstacle::NoConversation);
        };
        let last = self.loaded.node(self.session, leaf::last_message(self.session, &self.loaded, leaf));
        if last.is_side() {
            Some(Obstacle::Sidechain)
        } else if last.time().is_none() {
            Some(Obstacle::NoTime)
        } else {
            None
        }
    }

    /// Returns the entries that Claude Code restores, in order. It does not send those before the last compaction boundary.
    pub fn entries(&self) -> Vec<NodeIndex> {
        let Some(leaf) = self.leaf else { return Vec::new() };
        let last = leaf::last_message(self.session, &self.loaded, leaf);
        let path = walk::bridged_chain(self.session, &self.loaded, last);
        let mut is_taken = vec![false; self.loaded.slots.len()];
        for &slot in &path {
            is_taken[slot] = true;
        }
        let mut path =
            gather::with_siblings(self.session, &self.loaded, &self.children, &path, &mut is_taken);
        path.extend(walk::trailers(self.session, &self.loaded, &self.children, last, &mut is_taken));
        path.into_iter().map(|slot| self.loaded.slots[slot].node.index()).collect()
    }
}

/// Why a session cannot be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// There is no message to continue from.
    NoConversation,
    /// The last message is a subagent's.
    Sidechain,
    /// The last message has no valid time.
    NoTime,
}

impl Obstacle {
    /// Returns its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Obstacle::NoConversation => "no_conversation",
            Obstacle::Sidechain => "sidechain",
            Obstacle::NoTime => "no_time",
        }
    }
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Obstacle::NoConversation => "there is no message to go on from",
            Obstacle::Sidechain => "the last message is a subagent's",
            Obstacle::NoTime => "the last message has no valid timestamp",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the uuids of the conversation of a file.
    fn conversation(lines: &[String]) -> Vec<String> {
        let session = Session::read(lines.join("\n").as_bytes()).unwrap();
        let chain = Chain::build(&session);
        let ids = session.id_texts();
        let uuids = chain.entries().into_iter().filter_map(|node| session.nodes()[node].id);
        uuids.map(|id| ids.get(id)).collect()
    }

    fn line(kind: &str, uuid: &str, parent: &str, second: usize) -> String {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"timestamp":"2026-01-01T00:00:{second:02}Z","message":{{"content":"x"}}}}"#
        )
    }

    /// The oracle's cases are small; this rule was measured at 5,242,880 and 5,242,881 bytes.
    #[test]
    fn a_large_file_is_not_read_before_its_last_boundary() {
        let boundary =
            line("system", "b", "", 3).replace("\"uuid\"", "\"subtype\":\"compact_boundary\",\"uuid\"");
        let old_branch = [
            line("user", "u1", "", 1),
            line("assistant", "a1", "u1", 2),
            boundary,
            line("user", "sum", "b", 4),
            line("user", "u2", "a1", 5),
        ];
        assert_eq!(conversation(&old_branch), ["u1", "a1", "u2"]);
        let filler = format!("{{\"type\":\"filler\",\"x\":\"{}\"}}", "y".repeat(5 * 1024 * 1024));
        let large: Vec<String> = std::iter::once(filler).chain(old_branch).collect();
        assert_eq!(conversation(&large), ["b", "sum", "u2"], "the lost parent is bridged in time");
    }

    /// Tried with Claude Code at 6 MB: of the descendants of such a message, nothing before it is sent.
    #[test]
    fn an_object_that_spans_lines_is_not_read_in_a_large_file() {
        let mut lines =
            vec![line("user", "u1", "", 1), line("assistant", "a1", "u1", 12), line("user", "u2", "a1", 23)];
        lines[1] = lines[1].replacen(',', ",\n  ", 2);
        assert_eq!(conversation(&lines), ["u1", "a1", "u2"]);
        lines.push(format!("{{\"type\":\"filler\",\"x\":\"{}\"}}", "y".repeat(5 * 1024 * 1024)));
        assert_eq!(conversation(&lines), ["u2"]);
        let session = Session::read(lines.join("\n").as_bytes()).unwrap();
        assert_eq!(session.nodes().iter().filter(|node| !node.is_read_by_claude_code()).count(), 1);
    }

    #[test]
    fn a_given_leaf_ends_the_conversation() {
        let lines =
            [line("user", "u1", "", 1), line("assistant", "a1", "u1", 2), line("user", "u2", "a1", 3)];
        let file = lines.join("\n");
        let session = Session::read(file.as_bytes()).unwrap();
        assert_eq!(Chain::ending_in(&session, session.id("a1").unwrap()).unwrap().entries(), [0, 1]);
    }

    #[test]
    fn what_cannot_be_resumed_says_why() {
        fn obstacle(line: &str) -> Option<Obstacle> {
            Chain::build(&Session::read(line.as_bytes()).unwrap()).obstacle()
        }

        assert_eq!(obstacle(""), Some(Obstacle::NoConversation));
        assert_eq!(obstacle(&line("user", "u", "", 1).replace("2026", "yesterday")), Some(Obstacle::NoTime));
        assert_eq!(obstacle(&line("user", "u", "", 1)), None);
    }
}
