//! The parent and the children of each entry, and the message before it in the file.

use crate::chain::NodeIndex;
use crate::duplicate::Duplicates;
use crate::entry::Flag;
use crate::groups::Groups;
use crate::session::{Id, Node, Session};
use crate::small_index::SmallIndex;

/// The links between the entries of a session. An entry that several lines hold is identified by its first line.
pub(crate) struct Links<'a> {
    pub(crate) session: &'a Session,
    pub(crate) duplicates: Duplicates,
    /// The entry of each id, by the index of the id.
    by_id: Vec<Option<SmallIndex>>,
    pub(crate) children: Groups,
    /// The last main message before each entry in the file: the full view continues there where a parent is missing.
    before: Vec<Option<SmallIndex>>,
}

impl<'a> Links<'a> {
    pub(crate) fn of(session: &'a Session) -> Self {
        let count = session.nodes().len();
        let mut links = Self {
            session,
            duplicates: Duplicates::of(session),
            by_id: vec![None; session.id_count()],
            children: Groups::of(0, std::iter::empty()),
            before: Vec::with_capacity(count),
        };
        let mut last_message = None;
        for (index, node) in session.nodes().iter().enumerate() {
            links.before.push(last_message);
            if !links.duplicates.is_first(index) {
                continue;
            }
            if node.kind.is_message() && !node.has(Flag::Sidechain) {
                last_message = Some(SmallIndex::new(index));
            }
            if let Some(id) = node.id {
                links.by_id[id.index()] = Some(SmallIndex::new(index));
            }
        }
        let entries = (0..count).filter(|&index| links.duplicates.is_first(index));
        let parents = entries.filter_map(|index| Some((links.parent(index)?, index)));
        links.children = Groups::of(count, parents);
        links
    }

    /// Returns the parent of an entry, if it is in the file.
    pub(crate) fn parent(&self, index: NodeIndex) -> Option<NodeIndex> {
        let parent = self.by_id[self.named_parent(index)?.index()]?.index();
        Some(parent).filter(|&parent| parent != index)
    }

    /// Returns the parent that an entry names, if it is not in the file.
    pub(crate) fn missing(&self, index: NodeIndex) -> Option<Id> {
        self.named_parent(index).filter(|_| self.parent(index).is_none())
    }

    /// Returns the last main message before an entry in the file.
    pub(crate) fn before(&self, index: NodeIndex) -> Option<NodeIndex> {
        self.before[index].map(SmallIndex::index)
    }

    fn named_parent(&self, index: NodeIndex) -> Option<Id> {
        let node = self.node(index);
        node.parent.or_else(|| self.session.logical_parent(node))
    }

    /// Returns the node of the line whose content counts for an entry.
    pub(crate) fn node(&self, index: NodeIndex) -> &'a Node {
        &self.session.nodes()[self.duplicates.content(index)]
    }
}
