//! What Claude Code reads of a large file (CHAIN.md 2.0, 2.0a).

use super::reply;
use crate::entry::{Flag, Kind};
use crate::session::{Id, LARGE, Node, Session};
use crate::small_index::SmallIndex;

/// The length of a UUID. Claude Code recognises no other ids in a large file before it parses the lines.
const UUID_LENGTH: usize = 36;

/// Returns whether Claude Code leaves out parts of a file because of its size.
pub(super) fn is_large(session: &Session) -> bool {
    session.size() > LARGE
}

/// Returns for each entry of a large file whether it belongs to the branch that Claude Code reads (CHAIN 2.0a); `None` if
/// Claude Code reads all branches.
pub(super) fn read_branch(session: &Session) -> Option<Vec<bool>> {
    if !is_large(session) {
        return None;
    }
    let start = start(session)?;
    let branch = Branch::ending_in(session, start)?;
    Some(branch.members())
}

/// Returns the first entry that counts: the last boundary without kept messages, or else the first entry of the file. `None`
/// if a boundary after it keeps messages.
fn start(session: &Session) -> Option<usize> {
    let nodes = session.nodes().iter().enumerate();
    let read = nodes.filter(|(_, node)| node.is_read_by_claude_code());
    let boundaries = read.filter_map(|(index, node)| Some((index, session.boundary(node)?)));
    let last = boundaries.clone().rfind(|(_, boundary)| !boundary.keeps_messages());
    let start = last.map_or(0, |(index, _)| index);
    let keeps_messages = boundaries
        .rev()
        .take_while(|(index, _)| *index >= start)
        .any(|(_, boundary)| boundary.keeps_messages());
    (!keeps_messages).then_some(start)
}

/// The entries from the tips back to their roots.
struct Branch<'s> {
    session: &'s Session,
    start: usize,
    /// The last entry of each id that is linked, by the index of the id.
    node_of: Vec<Option<SmallIndex>>,
    /// Whether an entry is on the way from a tip to its root, by its index.
    is_on_path: Vec<bool>,
}

/// What is known about an entry that is read because of its place in the branch.
#[derive(Clone, Copy)]
struct BranchEntry {
    /// The reply of the nearest assistant entry at or above it.
    reply: Option<Id>,
    /// Whether it is context or progress, below which anything is read.
    is_context: bool,
}

impl<'s> Branch<'s> {
    /// Follows the parents of the last entry and of the last prompt's leaf. `None` if they do not lead to a root.
    fn ending_in(session: &'s Session, start: usize) -> Option<Self> {
        let nodes = session.nodes();
        let mut node_of = vec![None; session.id_count()];
        for (index, node) in nodes.iter().enumerate().skip(start) {
            if let Some(id) = node.id.filter(|_| is_linked(node)) {
                node_of[id.index()] = Some(SmallIndex::new(index));
            }
        }
        let mut branch = Self { session, start, node_of, is_on_path: vec![false; nodes.len()] };
        let last =
            (start..nodes.len()).rfind(|&index| is_linked(&nodes[index]) && !nodes[index].is_side())?;
        let leaf = nodes[start..]
            .iter()
            .rev()
            .find(|node| node.kind == Kind::LastPrompt && session.leaf(node).is_some());
        let leaf = leaf.and_then(|node| branch.known(session.leaf(node)?));
        branch.follow(last)?;
        if let Some(leaf) = leaf {
            branch.follow(leaf)?;
        }
        Some(branch)
    }

    /// Returns the entry that Claude Code finds by an id.
    fn known(&self, id: Id) -> Option<usize> {
        let is_uuid = self.session.id_texts().get(id).len() == UUID_LENGTH;
        self.node_of[id.index()].filter(|_| is_uuid).map(SmallIndex::index)
    }

    /// Follows the parents of an entry to a root, or to an entry that leads to one. `None` if one is missing or comes again.
    fn follow(&mut self, tip: usize) -> Option<()> {
        let mut passed = Vec::new();
        let mut at = Some(tip);
        while let Some(index) = at.filter(|&index| !self.is_on_path[index]) {
            self.is_on_path[index] = true;
            passed.push(index);
            at = match self.session.nodes()[index].parent {
                Some(parent) => Some(self.known(parent)?),
                None => None,
            };
        }
        let is_cycle = at.is_some_and(|index| passed.contains(&index));
        (!is_cycle).then_some(())
    }

    /// Returns for each entry whether Claude Code reads it: those on the path, those that continue them, and those that are
    /// not linked.
    fn members(&self) -> Vec<bool> {
        let mut read: Vec<Option<BranchEntry>> = vec![None; self.session.nodes().len()];
        let nodes = self.session.nodes().iter().enumerate();
        nodes
            .map(|(index, node)| {
                if !is_linked(node) || index < self.start {
                    return !is_linked(node);
                }
                // An entry whose parent comes later in the file is read only if it is on the path.
                let above = node.parent.and_then(|parent| self.known(parent)).and_then(|parent| read[parent]);
                let reply = above.and_then(|above| above.reply);
                if !self.is_on_path[index] {
                    let Some(above) = above else { return false };
                    if node.kind != Kind::Progress && !reply::continues(self.session, node, reply) {
                        return above.is_context;
                    }
                }
                let reply = if node.kind == Kind::Assistant { node.message_id } else { reply };
                let is_context = node.kind == Kind::Progress || reply::is_context(self.session, node);
                read[index] = Some(BranchEntry { reply, is_context });
                true
            })
            .collect()
    }
}

/// Returns whether Claude Code finds an entry by its id before it parses the lines.
fn is_linked(node: &Node) -> bool {
    let names_parent = node.parent.is_some() || node.has(Flag::NullParent);
    node.is_read_by_claude_code() && node.id.is_some() && names_parent
}
