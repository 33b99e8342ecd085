//! Loading (section 1): which entries count, and what each hangs on.

use crate::entry::{Flag, Kind};
use crate::groups::Groups;
use crate::place::Place;
use crate::session::{Id, Node, Session};

/// The entries that the client loads, one slot per id.
#[derive(Debug)]
pub(super) struct Loaded {
    /// In the order in which their ids first stand in the file.
    pub(super) slots: Vec<Slot>,
    /// The slot of each id, by the id's index.
    slot_of: Vec<Option<Place>>,
    /// Where the conversation was last said to end.
    pub(super) last_prompt: Option<LastPrompt>,
    /// Whether that was said anywhere in the file.
    pub(super) has_last_prompt: bool,
    /// Whether messages that a compaction kept were re-linked, and whether all else before it was forgotten.
    pub(super) relinked: bool,
    pub(super) pruned: bool,
}

/// A loaded entry.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The entry: the last one of its id.
    pub(super) node: Place,
    /// What it hangs on, legacy progress bridged and kept messages re-linked.
    pub(super) parent: Option<Id>,
    /// Whether a compaction made the client forget it.
    pub(super) forgotten: bool,
}

/// The newest `last-prompt` that still counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastPrompt {
    pub(super) leaf: Id,
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
            last_prompt: None,
            has_last_prompt: false,
            relinked: false,
            pruned: false,
        };
        let mut bridges = Bridges::new();
        for (index, node) in session.nodes().iter().enumerate() {
            if !node.is_seen_by_client() {
                continue;
            }
            match (node.kind, node.id) {
                (Kind::Progress, Some(id)) => {
                    let beyond = bridged(node, &bridges);
                    bridges.resize(session.id_count(), None);
                    bridges[id.index()] = Some(beyond);
                }
                (Kind::LastPrompt, _) => loaded.add_last_prompt(node),
                (kind, Some(id)) if kind.is_message() => {
                    loaded.note_message(node, session.boundary(node).is_some());
                    loaded.add(
                        id,
                        Slot { node: Place::at(index), parent: bridged(node, &bridges), forgotten: false },
                    );
                }
                _ => {}
            }
        }
        loaded
    }

    /// Returns the slot of an id, unless it is unknown or forgotten.
    pub(super) fn slot(&self, id: Id) -> Option<usize> {
        let slot = self.slot_of[id.index()]?.index();
        (!self.slots[slot].forgotten).then_some(slot)
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

    /// A duplicate takes the place of the first and the content of the last.
    fn add(&mut self, id: Id, slot: Slot) {
        if let Some(place) = self.slot_of[id.index()] {
            self.slots[place.index()] = slot;
        } else {
            self.slot_of[id.index()] = Some(Place::at(self.slots.len()));
            self.slots.push(slot);
        }
    }

    fn add_last_prompt(&mut self, node: &Node) {
        if let Some(leaf) = node.leaf {
            self.has_last_prompt = true;
            self.last_prompt =
                Some(LastPrompt { leaf, explicit: node.has(Flag::Explicit), overtaken: false });
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

/// What stands in for the id of a progress entry, by the id's index: what that entry hangs on. Only old files have any.
type Bridges = Vec<Option<Option<Id>>>;

/// Returns what an entry hangs on; in place of a progress entry read before, what that hangs on.
fn bridged(node: &Node, bridges: &Bridges) -> Option<Id> {
    let parent = node.parent?;
    bridges.get(parent.index()).copied().flatten().unwrap_or(Some(parent))
}
