//! Loading (section 1): which entries count, and what each hangs on.

use crate::entry::{Flag, Kind};
use crate::groups::Groups;
use crate::session::{Id, Node, Session};
use crate::small_index::SmallIndex;

/// The entries that the client loads, one slot per id.
#[derive(Debug)]
pub(super) struct Loaded {
    /// In the order in which their ids first stand in the file.
    pub(super) slots: Vec<Slot>,
    /// The slot of each id, by the id's index.
    slot_of: Vec<Option<SmallIndex>>,
    /// The slot of all entries without id: they replace each other as if they had the same one.
    nameless: Option<SmallIndex>,
    /// Where the conversation was last said to end.
    pub(super) last_prompt: Option<LastPrompt>,
    /// The leaf that the last `last-prompt` of the file names, whether it still counts or not.
    pub(super) last_named_leaf: Option<Id>,
    /// Whether messages that a compaction kept were re-linked.
    pub(super) relinked: bool,
}

/// A loaded entry.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The entry: the last one of its id.
    pub(super) node: SmallIndex,
    /// What it hangs on, legacy progress bridged and kept messages re-linked.
    pub(super) parent: Option<Id>,
    /// Whether a compaction made the client forget it.
    pub(super) forgotten: bool,
}

/// The newest `last-prompt` that still counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastPrompt {
    /// None if the conversation was rewound to before its first message.
    pub(super) leaf: Option<Id>,
    pub(super) explicit: bool,
    /// Whether an entry of the chain was written after it.
    pub(super) overtaken: bool,
}

impl Node {
    /// Returns whether it is a user or assistant entry: one that speaks.
    pub(super) fn speaks(&self) -> bool {
        matches!(self.kind, Kind::User | Kind::Assistant)
    }

    /// Returns whether it is a subagent's.
    pub(super) fn is_side(&self) -> bool {
        self.has(Flag::Sidechain)
    }
}

impl Loaded {
    /// Reads all entries in file order.
    pub(super) fn from(session: &Session) -> Self {
        let mut loaded = Self {
            slots: Vec::new(),
            slot_of: vec![None; session.id_count()],
            nameless: None,
            last_prompt: None,
            last_named_leaf: None,
            relinked: false,
        };
        let (mut progress, mut contentless) = (Bridges::default(), Bridges::default());
        for (index, node) in session.nodes().iter().enumerate() {
            if !node.is_read_by_claude_code() {
                continue;
            }
            let parent = progress.beyond(node.parent);
            match (node.kind, node.id) {
                (Kind::Progress, Some(id)) => progress.add(id, parent, session),
                (Kind::LastPrompt, _) => loaded.add_last_prompt(node),
                (_, id) if node.is_loaded_by_claude_code() => {
                    loaded.note_message(node, session.boundary(node).is_some());
                    loaded.add(id, Slot { node: SmallIndex::new(index), parent, forgotten: false });
                }
                (kind, Some(id)) if kind.is_message() => contentless.add(id, parent, session),
                _ => {}
            }
        }
        loaded.bridge_contentless(contentless);
        loaded
    }

    /// Hangs what hangs on a message without content, and on no other entry of that id, on what that message hangs on. In a
    /// circle of such messages it hangs on nothing.
    fn bridge_contentless(&mut self, mut contentless: Bridges) {
        let mut passed = Vec::new();
        for slot in 0..self.slots.len() {
            let mut parent = self.slots[slot].parent;
            while let Some(id) = parent.filter(|&id| !self.knows(id))
                && !matches!(contentless.get(id), Bridge::Absent)
            {
                parent = contentless.beyond(parent);
                // Until the end of the chain is known, it ends where it closes a circle.
                contentless.ends[id.index()] = Bridge::Root;
                passed.push(id);
            }
            // The next entry that comes by takes one step, so that the work stays linear.
            for id in passed.drain(..) {
                contentless.ends[id.index()] = Bridge::to(parent);
            }
            self.slots[slot].parent = parent;
        }
    }

    /// Returns the slot of an id, unless it is unknown or forgotten.
    pub(super) fn slot(&self, id: Id) -> Option<usize> {
        let slot = self.slot_of[id.index()]?.index();
        (!self.slots[slot].forgotten).then_some(slot)
    }

    /// Returns the slot that an entry was read into, unless it is forgotten.
    pub(super) fn slot_of(&self, node: &Node) -> Option<usize> {
        match node.id {
            Some(id) => self.slot(id),
            None => self.nameless.map(SmallIndex::index).filter(|&slot| !self.slots[slot].forgotten),
        }
    }

    /// Returns whether the conversation was rewound to before its first message, and not gone on with.
    pub(super) fn is_rewound_to_start(&self) -> bool {
        self.last_prompt.is_some_and(|last| last.leaf.is_none() && !last.overtaken)
    }

    /// Returns whether an entry of this id was read, even if it is forgotten.
    pub(super) fn knows(&self, id: Id) -> bool {
        self.slot_of[id.index()].is_some()
    }

    /// Returns the slot of what a slot hangs on, by written parents.
    pub(super) fn parent(&self, slot: usize) -> Option<usize> {
        self.slots[slot].parent.and_then(|id| self.slot(id))
    }

    /// Returns the slots that are not forgotten.
    pub(super) fn kept(&self) -> impl DoubleEndedIterator<Item = usize> + Clone + '_ {
        (0..self.slots.len()).filter(|&slot| !self.slots[slot].forgotten)
    }

    /// Returns the entry in a slot.
    pub(super) fn node<'s>(&self, session: &'s Session, slot: usize) -> &'s Node {
        &session.nodes()[self.slots[slot].node.index()]
    }

    /// Returns for every slot those that hang on it, by written parents.
    pub(super) fn children(&self) -> Groups {
        Groups::of(self.slots.len(), self.kept().filter_map(|slot| Some((self.parent(slot)?, slot))))
    }

    /// Takes everything before a slot as not read, so that not even its ids are known.
    pub(super) fn unread_before(&mut self, end: usize) {
        for slot in &mut self.slots[..end] {
            slot.forgotten = true;
        }
        for place in self.slot_of.iter_mut().chain([&mut self.nameless]) {
            *place = place.filter(|place| place.index() >= end);
        }
    }

    /// A duplicate takes the place of the first and the content of the last.
    fn add(&mut self, id: Option<Id>, slot: Slot) {
        let place = match id {
            Some(id) => &mut self.slot_of[id.index()],
            None => &mut self.nameless,
        };
        if let Some(place) = *place {
            self.slots[place.index()] = slot;
        } else {
            *place = Some(SmallIndex::new(self.slots.len()));
            self.slots.push(slot);
        }
    }

    fn add_last_prompt(&mut self, node: &Node) {
        let explicit = node.has(Flag::Explicit);
        if node.leaf.is_some() || explicit && node.has(Flag::NullLeaf) {
            self.last_named_leaf = node.leaf.or(self.last_named_leaf);
            self.last_prompt = Some(LastPrompt { leaf: node.leaf, explicit, overtaken: false });
        }
    }

    /// A boundary clears the last prompt; any other main entry of the chain overtakes it.
    fn note_message(&mut self, node: &Node, is_boundary: bool) {
        if is_boundary {
            self.last_prompt = None;
        } else if let Some(last) = &mut self.last_prompt {
            last.overtaken |= !node.is_side();
        }
    }
}

/// Entries that others hang on but that are not loaded. Most files have none.
#[derive(Debug, Default)]
struct Bridges {
    /// What each of them hangs on, by its id's index.
    ends: Vec<Bridge>,
}

/// What hangs on an entry that is not loaded hangs on this instead.
#[derive(Clone, Copy, Debug, Default)]
enum Bridge {
    /// There is no such entry.
    #[default]
    Absent,
    /// It hangs on nothing.
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

    /// Returns a parent, or in place of one of these entries what that hangs on.
    fn beyond(&self, parent: Option<Id>) -> Option<Id> {
        match parent.map(|parent| self.get(parent)) {
            None | Some(Bridge::Absent) => parent,
            Some(Bridge::Root) => None,
            Some(Bridge::Parent(beyond)) => Some(beyond),
        }
    }
}
