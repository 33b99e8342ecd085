//! The conversation in a transcript, as the client resolves it.
//!
//! The rules are stated in `docs/CHAIN.md`, section by section as the modules here. Everything works on nodes: bodies
//! are not needed to say which entries a conversation is made of and in which order.

mod gather;
mod leaf;
mod load;
mod preserve;
mod walk;

use crate::session::Session;
use gather::Reach;
use load::Loaded;

/// The conversation that the client would go on with, and the graph it was found in.
#[derive(Debug)]
pub struct Chain<'s> {
    session: &'s Session,
    loaded: Loaded,
    leaf: Option<usize>,
}

/// An entry's place in [`Session::nodes`].
pub type NodeIndex = usize;

impl<'s> Chain<'s> {
    /// Resolves the conversation of a session. Any graph will do: cycles, missing parents, duplicates.
    pub fn build(session: &'s Session) -> Self {
        let mut loaded = Loaded::from(session);
        preserve::relink(session, &mut loaded);
        let leaf = leaf::choose(session, &loaded);
        Self { session, loaded, leaf }
    }

    /// Resolves the conversation that ends in a given entry, if the client knows one of that id.
    pub fn ending_in(session: &'s Session, id: &str) -> Option<Self> {
        let chain = Self::build(session);
        let leaf = chain.loaded.slot(session.id(id)?)?;
        Some(Self { leaf: Some(leaf), ..chain })
    }

    /// Returns the session.
    pub fn session(&self) -> &'s Session {
        self.session
    }

    /// Returns the entry that the conversation ends with.
    pub fn leaf(&self) -> Option<NodeIndex> {
        self.leaf.map(|slot| self.loaded.slots[slot].node)
    }

    /// Returns why the client would not resume the session; none if it would.
    pub fn obstacle(&self) -> Option<Obstacle> {
        let Some(leaf) = self.leaf else { return Some(Obstacle::NoConversation) };
        let last = self.loaded.node(self.session, leaf::last_message(self.session, &self.loaded, leaf));
        if last.is_side() {
            Some(Obstacle::Sidechain)
        } else if last.time.is_none() {
            Some(Obstacle::NoTime)
        } else {
            None
        }
    }

    /// Returns the entries that the client restores, in order. What stands before the last compaction boundary among
    /// them is not sent.
    pub fn entries(&self) -> Vec<NodeIndex> {
        let Some(leaf) = self.leaf else { return Vec::new() };
        let last = leaf::last_message(self.session, &self.loaded, leaf);
        let mut path = walk::from(self.session, &self.loaded, last);
        path.extend(walk::trailers(self.session, &self.loaded, last));
        let path = gather::with_siblings(self.session, &self.loaded, &path, Reach::Anywhere);
        path.into_iter().map(|slot| self.loaded.slots[slot].node).collect()
    }
}

/// Why a session cannot be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// There is no message to go on from.
    NoConversation,
    /// The last message is a subagent's.
    Sidechain,
    /// The last message has no valid time.
    NoTime,
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
