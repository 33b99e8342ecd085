//! What each entry hangs on, and what stands before it in the file.

use crate::chain::NodeIndex;
use crate::duplicate::Duplicates;
use crate::entry::Flag;
use crate::groups::Groups;
use crate::session::{Id, Node, Session};
use crate::small_index::SmallIndex;

/// Every entry with what it hangs on, as far as that is in the file. An entry of several lines goes by the first one.
pub(crate) struct Links<'a> {
    pub(crate) session: &'a Session,
    pub(crate) duplicates: Duplicates,
    /// The entry of each id, by the id's index.
    by_id: Vec<Option<SmallIndex>>,
    pub(crate) children: Groups,
    /// The last message before an entry in the file, subagents' aside: what a gap is bridged to.
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
        for (place, node) in session.nodes().iter().enumerate() {
            links.before.push(last_message);
            if !links.duplicates.is_first(place) {
                continue;
            }
            if node.kind.is_message() && !node.has(Flag::Sidechain) {
                last_message = Some(SmallIndex::new(place));
            }
            if let Some(id) = node.id {
                links.by_id[id.index()] = Some(SmallIndex::new(place));
            }
        }
        let entries = (0..count).filter(|&index| links.duplicates.is_first(index));
        let parents = entries.filter_map(|index| Some((links.parent(index)?, index)));
        links.children = Groups::of(count, parents);
        links
    }

    /// Returns what an entry hangs on, if that is in the file.
    pub(crate) fn parent(&self, index: NodeIndex) -> Option<NodeIndex> {
        let parent = self.by_id[self.named_parent(index)?.index()]?.index();
        Some(parent).filter(|&parent| parent != index)
    }

    /// Returns the parent that an entry names and that is not in the file.
    pub(crate) fn missing(&self, index: NodeIndex) -> Option<Id> {
        self.named_parent(index).filter(|_| self.parent(index).is_none())
    }

    /// Returns the last message that stands before an entry in the file, subagents' aside.
    pub(crate) fn before(&self, index: NodeIndex) -> Option<NodeIndex> {
        self.before[index].map(SmallIndex::index)
    }

    fn named_parent(&self, index: NodeIndex) -> Option<Id> {
        let node = self.node(index);
        node.parent.or(node.logical_parent)
    }

    /// Returns the line of an entry whose content counts.
    pub(crate) fn node(&self, index: NodeIndex) -> &'a Node {
        &self.session.nodes()[self.duplicates.content(index)]
    }
}
