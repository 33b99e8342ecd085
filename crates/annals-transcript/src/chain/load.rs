//! Decides which entries are loaded, and the parent of each (CHAIN.md 1).

use super::large;
use crate::entry::{Flag, Kind};
use crate::groups::Groups;
use crate::session::{Id, Node, Session};
use crate::small_index::SmallIndex;

/// The entries that Claude Code loads, one slot per id.
#[derive(Debug)]
pub(super) struct LoadedEntries {
    /// The slots, in the order in which their ids first occur in the file.
    pub(super) slots: Vec<Slot>,
    /// The slot of each id, by the index of the id.
    slot_of: Vec<Option<SmallIndex>>,
    /// The slot of all entries without id: each replaces the one before, as if they had the same id.
    nameless: Option<SmallIndex>,
    /// What the `last-prompt` records say.
    pub(super) last_prompt: LastPrompt,
    /// Whether the file has a `last-prompt` with a `leafUuid`, even if that record no longer applies.
    pub(super) has_last_prompt: bool,
    /// Whether messages that a compaction kept were re-linked.
    pub(super) relinked: bool,
}

/// A loaded entry.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The last entry with the id.
    pub(super) node: SmallIndex,
    /// The parent, after `progress` entries were bridged and kept messages relinked.
    pub(super) parent: Option<Id>,
    /// Whether a compaction made Claude Code discard it.
    pub(super) discarded: bool,
}

/// What the last `last-prompt` of the file says, unless a compaction boundary follows it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastPrompt {
    pub(super) leaf: Option<Id>,
    /// Whether it is explicit, or repeats the leaf of an explicit one, and no main message follows it.
    pub(super) explicit: bool,
    /// The same, whatever follows it.
    pub(super) was_explicit: bool,
    /// Whether the conversation was rewound to before its first message and not continued since.
    pub(super) is_rewound_to_start: bool,
}

impl Node {
    /// Returns whether it is a user or assistant entry.
    pub(super) fn is_user_or_assistant(&self) -> bool {
        self.kind.is_prompt_or_reply()
    }

    /// Returns whether it belongs to a sidechain.
    pub(super) fn is_side(&self) -> bool {
        self.has(Flag::Sidechain)
    }
}

impl LoadedEntries {
    /// Reads all entries in file order.
    pub(super) fn from(session: &Session) -> Self {
        let mut loaded = Self {
            slots: Vec::new(),
            slot_of: vec![None; session.id_count()],
            nameless: None,
            last_prompt: LastPrompt::default(),
            has_last_prompt: false,
            relinked: false,
        };
        loaded.slots.reserve_exact(session.message_count());
        let (mut progress, mut contentless) = (Bridges::default(), Bridges::default());
        let branch = large::read_branch(session);
        for (index, node) in session.nodes().iter().enumerate() {
            if !node.is_read_by_claude_code() || branch.as_ref().is_some_and(|branch| !branch[index]) {
                continue;
            }
            let parent = progress.resolve(node.parent);
            match (node.kind, node.id) {
                (Kind::Progress, Some(id)) => progress.add(id, parent, session),
                (Kind::LastPrompt, _) => loaded.add_last_prompt(session, node),
                (_, id) if node.is_loaded_by_claude_code() => {
                    loaded.note_message(node, session.boundary(node).is_some());
                    loaded.add(id, Slot { node: SmallIndex::new(index), parent, discarded: false });
                }
                (kind, Some(id)) if kind.is_message() => contentless.add(id, parent, session),
                _ => {}
            }
        }
        loaded.bridge_contentless(contentless);
        loaded
    }

    /// Replaces parents that are messages without content, which are not loaded, by the nearest loaded ancestor. Entries
    /// below a cycle of such messages get no parent.
    fn bridge_contentless(&mut self, mut contentless: Bridges) {
        let mut passed = Vec::new();
        for slot in 0..self.slots.len() {
            let mut parent = self.slots[slot].parent;
            while let Some(id) = parent.filter(|&id| !self.has_read(id))
                && !matches!(contentless.get(id), Bridge::Absent)
            {
                parent = contentless.resolve(parent);
                // Until the end of the chain is known, a cycle ends it.
                contentless.ends[id.index()] = Bridge::Root;
                passed.push(id);
            }
            // The result is stored for all passed messages, so that the work stays linear.
            for id in passed.drain(..) {
                contentless.ends[id.index()] = Bridge::to(parent);
            }
            self.slots[slot].parent = parent;
        }
    }

    /// Returns the slot of an id, unless it was not read or is discarded.
    pub(super) fn slot(&self, id: Id) -> Option<usize> {
        let slot = self.slot_of[id.index()]?.index();
        (!self.slots[slot].discarded).then_some(slot)
    }

    /// Returns whether an entry of this id was read, even if it is discarded.
    pub(super) fn has_read(&self, id: Id) -> bool {
        self.slot_of[id.index()].is_some()
    }

    /// Returns whether an entry of this id was read and then discarded.
    pub(super) fn has_discarded(&self, id: Id) -> bool {
        self.has_read(id) && self.slot(id).is_none()
    }

    /// Returns the slot of the parent, if it is loaded.
    pub(super) fn parent(&self, slot: usize) -> Option<usize> {
        self.slots[slot].parent.and_then(|id| self.slot(id))
    }

    /// Returns the slots that are not discarded.
    pub(super) fn kept(&self) -> impl DoubleEndedIterator<Item = usize> + Clone + '_ {
        (0..self.slots.len()).filter(|&slot| !self.slots[slot].discarded)
    }

    /// Returns the entry in a slot.
    pub(super) fn node<'s>(&self, session: &'s Session, slot: usize) -> &'s Node {
        &session.nodes()[self.slots[slot].node.index()]
    }

    /// Returns the children of every slot.
    pub(super) fn children(&self) -> Groups {
        Groups::of(self.slots.len(), self.kept().filter_map(|slot| Some((self.parent(slot)?, slot))))
    }

    /// Discards everything before a slot as if it had never been read: not even the ids remain.
    pub(super) fn discard_before(&mut self, end: usize) {
        for slot in &mut self.slots[..end] {
            slot.discarded = true;
        }
        for slot in self.slot_of.iter_mut().chain([&mut self.nameless]) {
            *slot = slot.filter(|slot| slot.index() >= end);
        }
    }

    /// Adds an entry. A duplicate keeps the slot of the first entry with its id and replaces the content.
    fn add(&mut self, id: Option<Id>, slot: Slot) {
        let existing = match id {
            Some(id) => &mut self.slot_of[id.index()],
            None => &mut self.nameless,
        };
        if let Some(existing) = *existing {
            self.slots[existing.index()] = slot;
        } else {
            *existing = Some(SmallIndex::new(self.slots.len()));
            self.slots.push(slot);
        }
    }

    fn add_last_prompt(&mut self, session: &Session, node: &Node) {
        let leaf = session.leaf(node);
        let explicit = node.has(Flag::Explicit);
        self.has_last_prompt |= leaf.is_some() || node.has(Flag::NullLeaf);
        if leaf.is_some() {
            let before = Some(self.last_prompt).filter(|before| before.leaf == leaf).unwrap_or_default();
            self.last_prompt = LastPrompt {
                leaf,
                explicit: explicit || before.explicit,
                was_explicit: explicit || before.was_explicit,
                is_rewound_to_start: false,
            };
        } else if explicit && node.has(Flag::NullLeaf) {
            self.last_prompt = LastPrompt { is_rewound_to_start: true, ..LastPrompt::default() };
        }
    }

    /// Updates the `last-prompt` for a message after it: a boundary cancels it, any other main message overtakes it.
    fn note_message(&mut self, node: &Node, is_boundary: bool) {
        if !node.is_side() {
            self.last_prompt.explicit = false;
            self.last_prompt.is_rewound_to_start = false;
        }
        if is_boundary {
            let is_rewound_to_start = self.last_prompt.is_rewound_to_start;
            self.last_prompt = LastPrompt { is_rewound_to_start, ..LastPrompt::default() };
        }
    }
}

/// Entries that are parents of others but are not loaded. Most files have none.
#[derive(Debug, Default)]
struct Bridges {
    /// The parent of each of them, by the index of its id.
    ends: Vec<Bridge>,
}

/// The parent that replaces an entry that is not loaded.
#[derive(Clone, Copy, Debug, Default)]
enum Bridge {
    /// The entry is loaded, or not in the file.
    #[default]
    Absent,
    /// It has no parent.
    Root,
    Parent(Id),
}

impl Bridge {
    fn to(parent: Option<Id>) -> Self {
        parent.map_or(Bridge::Root, Bridge::Parent)
    }
}

impl Bridges {
    fn add(&mut self, id: Id, parent: Option<Id>, session: &Session) {
        self.ends.resize(session.id_count(), Bridge::Absent);
        self.ends[id.index()] = Bridge::to(parent);
    }

    fn get(&self, id: Id) -> Bridge {
        self.ends.get(id.index()).copied().unwrap_or_default()
    }

    /// Returns a parent, or its replacement if it is one of these entries.
    fn resolve(&self, parent: Option<Id>) -> Option<Id> {
        match parent.map(|parent| self.get(parent)) {
            None | Some(Bridge::Absent) => parent,
            Some(Bridge::Root) => None,
            Some(Bridge::Parent(ancestor)) => Some(ancestor),
        }
    }
}
