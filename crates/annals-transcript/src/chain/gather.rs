//! Bringing in what the walk misses (section 5): the other lines of a reply, the results of its calls, and what hangs
//! on these without leading anywhere.

use std::collections::BTreeSet;

use super::load::Loaded;
use crate::entry::{Flag, Kind};
use crate::groups::Groups;
use crate::session::{BlockKind, Id, Node, Session, index};
use crate::small_index::SmallIndex;

/// Returns a path with what belongs to its replies put in its place.
pub(super) fn with_siblings(
    session: &Session,
    loaded: &Loaded,
    children: &Groups,
    path: &[usize],
) -> Vec<usize> {
    let replies = Replies::on(session, loaded, children, path);
    let mut added = replies.missing_with_spots();
    added.sort_by_key(|(spot, _)| *spot);
    let mut whole = Vec::with_capacity(path.len() + added.len());
    let mut added = added.into_iter().peekable();
    for (place, &slot) in path.iter().enumerate() {
        while let Some((_, before)) = added.next_if(|(spot, _)| *spot == (place, Side::Before)) {
            whole.push(before);
        }
        whole.push(slot);
        while let Some((_, behind)) = added.next_if(|(spot, _)| *spot == (place, Side::Behind)) {
            whole.push(behind);
        }
    }
    whole
}

/// Returns the calls that replies on a path made beside or before the last line that is on it, with the results that hang on
/// these and the context below those: a turn in the middle of such calls is not a branch of its own.
pub(super) fn parallel_calls(
    session: &Session,
    loaded: &Loaded,
    children: &Groups,
    path: &[usize],
) -> Vec<usize> {
    let mut last_lines = vec![None; session.id_count()];
    for &slot in path {
        if let Some(id) = reply(loaded.node(session, slot)) {
            last_lines[id.index()] = Some(SmallIndex::new(slot));
        }
    }
    let is_call_beside = |&slot: &usize| {
        let node = loaded.node(session, slot);
        let last_line = reply(node).and_then(|id| last_lines[id.index()]);
        last_line.is_some_and(|last| last.index() != slot) && calls(session, node).next().is_some()
    };
    let mut found: Vec<usize> = loaded.kept().filter(is_call_beside).collect();
    let mut next = found.len();
    let is_result = |&slot: &usize| results(session, loaded.node(session, slot)).next().is_some();
    let answers: Vec<usize> =
        found.iter().flat_map(|&call| children.members(call)).filter(is_result).collect();
    found.extend(answers);
    while let Some(&slot) = found.get(next) {
        found
            .extend(children.members(slot).filter(|&child| is_context(session, loaded.node(session, child))));
        next += 1;
    }
    found
}

/// Where something goes: a place on the path, and on which side of what stands there.
type Spot = (usize, Side);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Before,
    Behind,
}

/// The replies on a path, with everything in the file that belongs to them.
struct Replies<'a> {
    session: &'a Session,
    loaded: &'a Loaded,
    path: &'a [usize],
    /// Where each slot stands on the path, if it does.
    place_of: Vec<Option<SmallIndex>>,
    /// The lines of each reply and the results that answer each call, in file order, by the id's index.
    lines: Groups,
    answering: Groups,
    /// Whether a result on the path answers a call, by the id's index.
    is_answered: Vec<bool>,
    /// What hangs on each slot, and where context leads.
    children: &'a Groups,
    leads: Vec<Lead>,
}

impl<'a> Replies<'a> {
    fn on(session: &'a Session, loaded: &'a Loaded, children: &'a Groups, path: &'a [usize]) -> Self {
        let mut place_of = vec![None; loaded.slots.len()];
        let mut is_answered = vec![false; session.id_count()];
        for (place, &slot) in path.iter().enumerate() {
            place_of[slot] = Some(SmallIndex::new(place));
            results(session, loaded.node(session, slot)).for_each(|call| is_answered[call.index()] = true);
        }
        let line = |slot| Some((reply(loaded.node(session, slot))?.index(), slot));
        let answers =
            |slot| results(session, loaded.node(session, slot)).map(move |call| (call.index(), slot));
        Self {
            session,
            loaded,
            path,
            place_of,
            lines: Groups::of(session.id_count(), loaded.kept().filter_map(line)),
            answering: Groups::of(session.id_count(), loaded.kept().flat_map(answers)),
            is_answered,
            children,
            leads: leads(session, loaded, children),
        }
    }

    /// Returns what is missing of the replies, in the order of these, and where it goes.
    fn missing_with_spots(&self) -> Vec<(Spot, usize)> {
        let mut is_done = vec![false; self.session.id_count()];
        let mut added = Vec::new();
        for &slot in self.path {
            if let Some(id) = reply(self.node(slot))
                && !std::mem::replace(&mut is_done[id.index()], true)
            {
                self.place(id, &mut added);
            }
        }
        added
    }

    /// Says where what is missing of a reply goes: in file order among its lines and their results on the path, but
    /// never before its first line.
    fn place(&self, id: Id, added: &mut Vec<(Spot, usize)>) {
        let missing = self.missing(id);
        if missing.is_empty() {
            return;
        }
        let places = self.places(id);
        // The first place that stands later in the file is where the greatest so far first exceeds the slot.
        let greatest_so_far: Vec<usize> = places
            .iter()
            .skip(1)
            .scan(0, |greatest, &place| {
                *greatest = self.path[place].max(*greatest);
                Some(*greatest)
            })
            .collect();
        for slot in missing {
            let later = greatest_so_far.partition_point(|&greatest| greatest <= slot) + 1;
            let spot = match places.get(later) {
                Some(&later) => (later, Side::Before),
                None => (places[places.len() - 1], Side::Behind),
            };
            added.push((spot, slot));
        }
    }

    /// Returns what belongs to a reply and is not on the path, in file order.
    fn missing(&self, id: Id) -> BTreeSet<usize> {
        let belonging = self.lines(id).chain(self.results_hanging_on(id)).chain(self.dead_ends_below(id));
        let mut missing: BTreeSet<usize> = belonging.filter(|&slot| self.place_of[slot].is_none()).collect();
        self.add_results_elsewhere(id, &mut missing);
        missing
    }

    fn lines(&self, id: Id) -> impl Iterator<Item = usize> + Clone + '_ {
        self.lines.members(id.index())
    }

    fn results_hanging_on(&self, id: Id) -> impl Iterator<Item = usize> + '_ {
        let hanging = self.lines(id).flat_map(|line| self.children.members(line));
        hanging.filter(|&slot| self.is_result(slot))
    }

    /// Returns context and injected text that hangs on a reply with calls, or on its results, and leads nowhere.
    fn dead_ends_below(&self, id: Id) -> Vec<usize> {
        let mut found = Vec::new();
        if !self.lines(id).any(|line| calls(self.session, self.node(line)).next().is_some()) {
            return found;
        }
        let is_dead_end = |&child: &usize| self.leads[child].is_dead_end_for(id);
        let dead_ends = |slot| self.children.members(slot).filter(is_dead_end);
        found.extend(self.lines(id).chain(self.results_hanging_on(id)).flat_map(dead_ends));
        let mut next = 0;
        while let Some(&slot) = found.get(next) {
            found.extend(dead_ends(slot));
            next += 1;
        }
        found
    }

    /// Adds the first result anywhere of each call that has none on the path or among the missing ones. A subagent's
    /// result answers a subagent's call, a main one a main call.
    fn add_results_elsewhere(&self, id: Id, missing: &mut BTreeSet<usize>) {
        // A call that stands in several lines of a reply is looked up once for each side.
        let mut asked = BTreeSet::new();
        for line in self.lines(id) {
            let is_side = self.node(line).is_side();
            for call in calls(self.session, self.node(line)) {
                if self.is_answered[call.index()] || !asked.insert((call, is_side)) {
                    continue;
                }
                let mut answers = self.answering.members(call.index());
                if !answers.clone().any(|slot| missing.contains(&slot)) {
                    missing.extend(answers.find(|&slot| self.node(slot).is_side() == is_side));
                }
            }
        }
    }

    /// Returns where the lines of a reply stand on the path, each with the results and the context directly behind it.
    fn places(&self, id: Id) -> Vec<usize> {
        let mut lines: Vec<usize> =
            self.lines(id).filter_map(|line| self.place_of[line]).map(SmallIndex::index).collect();
        lines.sort_unstable();
        let goes_with_line = |slot: usize| self.is_result(slot) || is_context(self.session, self.node(slot));
        let behind =
            |line: usize| (line + 1..self.path.len()).take_while(|&place| goes_with_line(self.path[place]));
        lines.into_iter().flat_map(|line| std::iter::once(line).chain(behind(line))).collect()
    }

    fn is_result(&self, slot: usize) -> bool {
        results(self.session, self.node(slot)).next().is_some()
    }

    fn node(&self, slot: usize) -> &'a Node {
        self.loaded.node(self.session, slot)
    }
}

/// What hangs below an entry besides context and injected text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    Nothing,
    /// Lines of one reply.
    Reply(Id),
    /// Something else, or a circle.
    Elsewhere,
}

impl Lead {
    /// Returns what two entries lead to together.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Lead::Nothing, lead) | (lead, Lead::Nothing) => lead,
            (one, other) if one == other => one,
            _ => Lead::Elsewhere,
        }
    }

    /// Returns whether nothing follows that is not a part of the reply itself.
    fn is_dead_end_for(self, id: Id) -> bool {
        self == Lead::Nothing || self == Lead::Reply(id)
    }
}

/// Returns whether an entry is context or injected text.
fn is_context(session: &Session, node: &Node) -> bool {
    let is_injected =
        node.kind == Kind::User && node.has(Flag::Meta) && results(session, node).next().is_none();
    !node.is_side() && (matches!(node.kind, Kind::System | Kind::Attachment) || is_injected)
}

/// Returns where each entry that is context leads; all others lead elsewhere.
fn leads(session: &Session, loaded: &Loaded, children: &Groups) -> Vec<Lead> {
    let slots = loaded.slots.len();
    let is_context = |slot: usize| is_context(session, loaded.node(session, slot));
    let mut leads = vec![Lead::Elsewhere; slots];
    // What is known so far of what hangs below, and how many children are left to look at.
    let mut below = vec![Lead::Nothing; slots];
    let mut open_children: Vec<u32> = (0..slots).map(|slot| index(children.count(slot))).collect();
    let mut ready: Vec<usize> =
        loaded.kept().filter(|&slot| !is_context(slot) || children.count(slot) == 0).collect();
    while let Some(slot) = ready.pop() {
        let lead = if is_context(slot) {
            leads[slot] = below[slot];
            below[slot]
        } else {
            reply(loaded.node(session, slot)).map_or(Lead::Elsewhere, Lead::Reply)
        };
        if let Some(parent) = loaded.parent(slot) {
            below[parent] = below[parent].with(lead);
            open_children[parent] -= 1;
            if open_children[parent] == 0 && is_context(parent) {
                ready.push(parent);
            }
        }
    }
    leads
}

/// Returns the reply that an entry is a line of.
fn reply(node: &Node) -> Option<Id> {
    node.message_id.filter(|_| node.kind == Kind::Assistant)
}

/// Returns the calls that an entry makes.
fn calls<'a>(session: &'a Session, node: &'a Node) -> impl Iterator<Item = Id> + 'a {
    let blocks = if node.kind == Kind::Assistant { session.blocks(node) } else { &[] };
    blocks.iter().filter(|block| block.kind == BlockKind::ToolUse).filter_map(|block| block.tool)
}

/// Returns the calls that an entry answers.
fn results<'a>(session: &'a Session, node: &'a Node) -> impl Iterator<Item = Id> + Clone + 'a {
    let blocks = if node.kind == Kind::User { session.blocks(node) } else { &[] };
    blocks
        .iter()
        .filter(|block| matches!(block.kind, BlockKind::ToolResult(_)))
        .filter_map(|block| block.tool)
}
