//! What Claude Code reads of a large file (CHAIN.md 2.0, 2.0a).

use crate::entry::{Flag, Kind};
use crate::session::{BlockKind, Boundary, Id, Node, Session};
use crate::small_index::SmallIndex;

/// Claude Code leaves out parts of files that are larger than this.
const LARGE: u64 = 5 * 1024 * 1024;

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
    Some(branch.members(start))
}

/// Returns the first entry that counts: the last boundary without kept messages, or else the first entry of the file. `None`
/// if a boundary behind it keeps messages.
fn start(session: &Session) -> Option<usize> {
    let boundary = |index: usize| session.boundary(&session.nodes()[index]);
    let indices = 0..session.nodes().len();
    let start = indices.clone().rfind(|&index| boundary(index).is_some_and(|it| !it.keeps_messages()));
    let start = start.unwrap_or(0);
    let keeps_messages = |index: usize| boundary(index).is_some_and(Boundary::keeps_messages);
    (!indices.skip(start).any(keeps_messages)).then_some(start)
}

/// The entries from a tip back to its root.
struct Branch<'s> {
    session: &'s Session,
    /// The last entry of each id that is linked, by the index of the id.
    node_of: Vec<Option<SmallIndex>>,
    /// Whether an id is on the way from the tip to the root, by the index of the id.
    is_on_path: Vec<bool>,
}

impl<'s> Branch<'s> {
    /// Follows the parents of the last prompt's leaf, or else of the last entry. `None` if they do not lead to a root.
    fn ending_in(session: &'s Session, start: usize) -> Option<Self> {
        let nodes = session.nodes();
        let mut node_of = vec![None; session.id_count()];
        for (index, node) in nodes.iter().enumerate().skip(start) {
            if let Some(id) = node.id.filter(|_| is_linked(node)) {
                node_of[id.index()] = Some(SmallIndex::new(index));
            }
        }
        let texts = session.id_texts();
        let is_uuid = |id: Id| texts.get(id).len() == UUID_LENGTH;
        let known = |id: Id| node_of[id.index()].filter(|_| is_uuid(id)).map(SmallIndex::index);
        let mut tips = (start..nodes.len()).rev().filter_map(|index| match &nodes[index] {
            node if is_linked(node) => Some(index),
            Node { kind: Kind::LastPrompt, leaf: Some(leaf), .. } => known(*leaf),
            _ => None,
        });
        let mut node = &nodes[tips.next()?];
        let mut is_on_path = vec![false; session.id_count()];
        loop {
            // A path that meets itself does not lead to a root.
            if std::mem::replace(&mut is_on_path[node.id?.index()], true) {
                return None;
            }
            let Some(parent) = node.parent else { break };
            node = &nodes[known(parent)?];
        }
        Some(Self { session, node_of, is_on_path })
    }

    /// Returns for each entry whether Claude Code reads it: those on the path, those that continue them, and those that are
    /// not linked.
    fn members(&self, start: usize) -> Vec<bool> {
        let mut is_read = vec![false; self.session.id_count()];
        let nodes = self.session.nodes().iter().enumerate();
        nodes
            .map(|(index, node)| {
                let Some(id) = node.id.filter(|_| index >= start && is_linked(node)) else { return true };
                let is_member = self.is_on_path[id.index()]
                    || node
                        .parent
                        .is_some_and(|parent| is_read[parent.index()] && self.continues(node, parent));
                is_read[id.index()] |= is_member;
                is_member
            })
            .collect()
    }

    /// Returns whether an entry continues its parent instead of beginning another branch: a result, another line of the same
    /// reply, or anything that is not said.
    fn continues(&self, node: &Node, parent: Id) -> bool {
        let parent = self.node_of[parent.index()].map(|parent| &self.session.nodes()[parent.index()]);
        match node.kind {
            Kind::User => {
                self.session.blocks(node).iter().any(|block| matches!(block.kind, BlockKind::ToolResult(_)))
            }
            Kind::Assistant => {
                node.message_id.is_some() && parent.is_some_and(|parent| parent.message_id == node.message_id)
            }
            _ => true,
        }
    }
}

/// Returns whether Claude Code finds an entry by its id before it parses the lines.
fn is_linked(node: &Node) -> bool {
    let names_parent = node.parent.is_some() || node.has(Flag::NullParent);
    node.is_read_by_claude_code() && node.id.is_some() && names_parent && !node.is_side()
}
