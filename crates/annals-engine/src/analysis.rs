//! A session as it was meant, and what Claude Code would make of it: what `check` reports and `repair` puts right.
//!
//! [`Analysis::of`] mends the links between entries in memory and finds the conversation that should be sent;
//! [`Analysis::evaluate`] compares it with what Claude Code would send.

mod evaluation;
pub(crate) mod graph;
mod order;
pub(crate) mod wanted;

use annals_transcript::session::{Id, Node, Session};
use annals_transcript::{Flag, Kind};

pub(crate) use evaluation::{Evaluation, loaded_lines};
pub use evaluation::{MissingMessage, View};
use graph::{Graph, ItemIndex, Places};
use wanted::Wanted;

/// A session and the conversation that it should resume with.
#[derive(Debug)]
pub(crate) struct Analysis<'s> {
    pub(crate) session: &'s Session,
    /// The entries with their parents.
    pub(crate) graph: Graph<'s>,
    /// The conversation.
    pub(crate) wanted: Wanted,
    /// The entries from the beginning of the file to the last message.
    pub(crate) path: Vec<ItemIndex>,
    /// The messages that should be sent, in order.
    pub(crate) messages: Vec<ItemIndex>,
    /// Entries outside of the conversation that have the same content as one of its messages.
    copies: Vec<ItemIndex>,
}

/// A conversation that ends elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The uuid of its last message.
    pub uuid: String,
    /// The line of its last message.
    pub line: u64,
    /// How many messages it has that the conversation does not have.
    pub messages: usize,
    /// Whether it has messages that are newer than the first message that only the conversation has, as if two clients wrote at the same
    /// time. What a rewind left is older.
    pub is_newer: bool,
}

impl<'s> Analysis<'s> {
    /// Analyses a session. `branch` is the beginning of the uuid of the last message; without it, the newest is the last. `None` if there is no
    /// message.
    pub(crate) fn of(session: &'s Session, places: &Places, branch: Option<&str>) -> Option<Self> {
        let graph = Graph::of(session, places);
        let leaf = leaf(session, &graph, places, branch)?;
        let wanted = Wanted::of(&graph, leaf);
        let path = graph.path(leaf);
        let messages: Vec<ItemIndex> =
            wanted.entries.iter().copied().filter(|&item| !wanted::is_unsent(&graph, item)).collect();
        let mut is_wanted = vec![false; graph.items.len()];
        wanted.entries.iter().for_each(|&item| is_wanted[item] = true);
        let copies = (0..graph.items.len())
            .filter(|item| {
                let twin = graph.twin(*item);
                !is_wanted[*item] && twin.is_some_and(|twin| is_wanted[twin])
            })
            .collect();
        Some(Self { session, graph, wanted, path, messages, copies })
    }

    /// Returns whether the conversation has a message with the same content.
    fn is_copy(&self, item: ItemIndex) -> bool {
        self.copies.binary_search(&item).is_ok()
    }

    /// Returns the other conversations of the file, newest first. The end of a copy of this one is none.
    pub(crate) fn branches(&self) -> Vec<Branch> {
        let count = self.graph.items.len();
        let (mut is_own, mut on_path) = (vec![false; count], vec![None; count]);
        for &item in self.path.iter().chain(&self.wanted.entries) {
            is_own[item] = true;
        }
        for (index, &item) in self.path.iter().enumerate() {
            on_path[item] = Some(index);
        }
        // For each entry: how many messages there are from the conversation down to it, and where it left the path.
        let (mut messages, mut left_at) = (vec![0; count], vec![None; count]);
        for &item in &self.graph.sequence {
            let parent = self.graph.items[item].parent.item();
            left_at[item] = on_path[item].or_else(|| left_at[parent?]);
            if !is_own[item] {
                messages[item] =
                    parent.map_or(0, |parent| messages[parent]) + usize::from(self.graph.is_message(item));
            }
        }
        let is_tip = wanted::tips(&self.graph);
        let tips = self.graph.sequence.iter().rev().copied();
        let tips = tips.filter(|&item| is_tip[item] && !is_own[item] && !self.is_copy(item));
        tips.map(|tip| {
            // Without a common beginning, such as after a compaction, only a later end is suspicious.
            let leaf = [self.wanted.leaf];
            let rest = left_at[tip].map_or(&leaf[..], |left: usize| &self.path[left + 1..]);
            let own = rest.iter().find(|&&item| self.graph.is_message(item));
            Branch {
                uuid: self.graph.uuid(tip),
                line: self.graph.node(tip).at.line,
                messages: messages[tip],
                is_newer: own.is_none_or(|&own| self.graph.position(own) < self.graph.position(tip)),
            }
        })
        .collect()
    }
}

/// Returns the message that the conversation ends with.
fn leaf(session: &Session, graph: &Graph<'_>, places: &Places, branch: Option<&str>) -> Option<ItemIndex> {
    if let Some(branch) = branch {
        let [id] = session.ids_beginning(branch)[..] else { return None };
        return graph.item(id).and_then(|item| wanted::nearest_message(graph, item));
    }
    if let Some(rewound) = rewound_to(session) {
        return rewound
            .to
            .and_then(|id| graph.item(id))
            .and_then(|item| wanted::nearest_message(graph, item));
    }
    wanted::newest_leaf(graph, repeated_last_line(session, graph, places))
}

/// A rewind at the end of a session.
struct Rewind {
    /// The entry that the user went back to; `None` is the state before the first message.
    to: Option<Id>,
}

/// Returns the entry that the user went back to at the end of the session, if the last record says so.
fn rewound_to(session: &Session) -> Option<Rewind> {
    let nodes = session.nodes();
    let last =
        nodes.iter().rposition(|node| node.kind == Kind::LastPrompt && node.is_read_by_claude_code())?;
    let node = &nodes[last];
    let is_final = node.has(Flag::Explicit) && !nodes[last + 1..].iter().any(is_main);
    let names_entry = session.leaf(node).is_some() || node.has(Flag::NullLeaf);
    (is_final && names_entry).then_some(Rewind { to: session.leaf(node) })
}

/// Returns the entry of the last line, if the line repeats an earlier one: repairs end so. Entries with a place of their own are at the end
/// only because this repair is about to write them again.
fn repeated_last_line(session: &Session, graph: &Graph<'_>, places: &Places) -> Option<ItemIndex> {
    let lines = session.nodes().iter().rev().filter(|node| is_main(node));
    let mut lines =
        lines.filter(|node| node.id.is_none_or(|id| !places.contains_key(&session.id_texts().get(id))));
    let (last, before) = (lines.next()?, lines.next());
    let item = graph.item(last.id?)?;
    let is_repeated = graph.items[item].place != last.at.offset;
    let is_end_of_copy = before.is_some_and(|before| is_copied_pair(session, before, last));
    (is_repeated && !is_end_of_copy).then_some(item)
}

/// Returns whether two lines at the end of a file follow each other, unchanged, where they first occur, too. Then the
/// beginning of the file was written again. A repair repeats a line before the last one only with a change.
fn is_copied_pair(session: &Session, before: &Node, last: &Node) -> bool {
    let mut lines = session.nodes().iter().filter(|node| is_main(node));
    let first = lines.find(|node| node.id == before.id);
    let next = lines.next();
    first.is_some_and(|first| is_unchanged(first, before))
        && next.is_some_and(|next| is_unchanged(next, last))
}

/// Returns whether a line repeats another one. The copy may have lost its time since.
fn is_unchanged(first: &Node, again: &Node) -> bool {
    first.at.offset != again.at.offset
        && (first.id, first.parent) == (again.id, again.parent)
        && (first.length == again.length || first.time() != again.time())
}

/// Returns whether Claude Code loads an entry as a part of the main conversation.
fn is_main(node: &Node) -> bool {
    node.is_loaded_by_claude_code() && !node.has(Flag::Sidechain)
}
