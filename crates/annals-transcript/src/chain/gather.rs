//! Adds what the walk misses (CHAIN.md 5): the other lines of a reply, the results of its calls, and their children that
//! lead to no other message.

use std::collections::BTreeSet;

use super::load::LoadedEntries;
use crate::entry::{Flag, Kind};
use crate::groups::Groups;
use crate::session::{BlockKind, Id, Node, Session, index};
use crate::small_index::SmallIndex;

/// Returns a path with the missing lines, results and context of its replies inserted.
pub(super) fn with_siblings(
    session: &Session,
    loaded: &LoadedEntries,
    children: &Groups,
    path: &[usize],
) -> Vec<usize> {
    let replies = Replies::on(session, loaded, children, path);
    let mut added = replies.insertions();
    added.sort_by_key(|(point, _)| *point);
    let mut whole = Vec::with_capacity(path.len() + added.len());
    let mut added = added.into_iter().peekable();
    for (index, &slot) in path.iter().enumerate() {
        while let Some((_, before)) = added.next_if(|(point, _)| *point == (index, Side::Before)) {
            whole.push(before);
        }
        whole.push(slot);
        while let Some((_, after)) = added.next_if(|(point, _)| *point == (index, Side::After)) {
            whole.push(after);
        }
    }
    whole
}

/// Returns the parallel calls of the replies on a path: lines with calls other than the last line of the reply on the path,
/// their results, and the context below those. A leaf among these does not start a branch of its own.
pub(super) fn parallel_calls(
    session: &Session,
    loaded: &LoadedEntries,
    children: &Groups,
    path: &[usize],
) -> Vec<usize> {
    let mut last_lines = vec![None; session.id_count()];
    for &slot in path {
        if let Some(id) = reply(loaded.node(session, slot)) {
            last_lines[id.index()] = Some(SmallIndex::new(slot));
        }
    }
    let mut found: Vec<usize> =
        loaded.kept().filter(|&slot| is_parallel_call(session, loaded, slot, &last_lines)).collect();
    let mut next = found.len();
    let below = found.iter().flat_map(|&call| children.members(call));
    let answers: Vec<usize> = below.filter(|&slot| is_result(session, loaded.node(session, slot))).collect();
    found.extend(answers);
    while let Some(&slot) = found.get(next) {
        found
            .extend(children.members(slot).filter(|&child| is_context(session, loaded.node(session, child))));
        next += 1;
    }
    found
}

/// Returns whether a slot has a call and belongs to a reply on a path, but is not its last line there. `last_lines` has that
/// line for each reply, by the index of its id.
fn is_parallel_call(
    session: &Session,
    loaded: &LoadedEntries,
    slot: usize,
    last_lines: &[Option<SmallIndex>],
) -> bool {
    let node = loaded.node(session, slot);
    let last_line = reply(node).and_then(|id| last_lines[id.index()]);
    last_line.is_some_and(|last| last.index() != slot) && calls(session, node).next().is_some()
}

/// An index on the path, and the side of the entry there.
type InsertionPoint = (usize, Side);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Before,
    After,
}

/// The replies on a path, and everything in the file that belongs to them.
struct Replies<'a> {
    session: &'a Session,
    loaded: &'a LoadedEntries,
    path: &'a [usize],
    /// The index of each slot on the path, if it is there.
    path_index_of: Vec<Option<SmallIndex>>,
    /// The lines of each reply and the results of each call, in file order, by the index of the id.
    lines: Groups,
    answering: Groups,
    /// Whether a call has a result on the path, by the index of its id.
    is_answered: Vec<bool>,
    /// The children of each slot, and what is below each context entry.
    children: &'a Groups,
    leads: Vec<Lead>,
}

impl<'a> Replies<'a> {
    fn on(session: &'a Session, loaded: &'a LoadedEntries, children: &'a Groups, path: &'a [usize]) -> Self {
        let mut path_index_of = vec![None; loaded.slots.len()];
        let mut is_answered = vec![false; session.id_count()];
        for (index, &slot) in path.iter().enumerate() {
            path_index_of[slot] = Some(SmallIndex::new(index));
            results(session, loaded.node(session, slot)).for_each(|call| is_answered[call.index()] = true);
        }
        let line = |slot| Some((reply(loaded.node(session, slot))?.index(), slot));
        let answers =
            |slot| results(session, loaded.node(session, slot)).map(move |call| (call.index(), slot));
        Self {
            session,
            loaded,
            path,
            path_index_of,
            lines: Groups::of(session.id_count(), loaded.kept().filter_map(line)),
            answering: Groups::of(session.id_count(), loaded.kept().flat_map(answers)),
            is_answered,
            children,
            leads: leads(session, loaded, children),
        }
    }

    /// Returns the missing entries of all replies on the path, reply by reply, each with its insertion point.
    fn insertions(&self) -> Vec<(InsertionPoint, usize)> {
        let mut is_done = vec![false; self.session.id_count()];
        let mut added = Vec::new();
        for &slot in self.path {
            if let Some(id) = reply(self.node(slot))
                && !std::mem::replace(&mut is_done[id.index()], true)
            {
                self.insert_missing(id, &mut added);
            }
        }
        added
    }

    /// Adds the missing entries of a reply and their insertion points: in file order among the lines and results of the reply
    /// on the path, but never before its first line.
    fn insert_missing(&self, id: Id, added: &mut Vec<(InsertionPoint, usize)>) {
        let missing = self.missing(id);
        if missing.is_empty() {
            return;
        }
        let indices = self.path_indices(id);
        // Slots are in file order. The running maximum makes it possible to search for the first entry of the path that comes
        // later in the file.
        let running_maximum: Vec<usize> = indices
            .iter()
            .skip(1)
            .scan(0, |greatest, &index| {
                *greatest = self.path[index].max(*greatest);
                Some(*greatest)
            })
            .collect();
        for slot in missing {
            let later = running_maximum.partition_point(|&greatest| greatest <= slot) + 1;
            let point = match indices.get(later) {
                Some(&later) => (later, Side::Before),
                None => (indices[indices.len() - 1], Side::After),
            };
            added.push((point, slot));
        }
    }

    /// Returns the entries that belong to a reply and are not on the path, in file order.
    fn missing(&self, id: Id) -> BTreeSet<usize> {
        let belonging = self.lines(id).chain(self.child_results(id)).chain(self.dead_ends_below(id));
        let mut missing: BTreeSet<usize> =
            belonging.filter(|&slot| self.path_index_of[slot].is_none()).collect();
        self.add_results_elsewhere(id, &mut missing);
        missing
    }

    fn lines(&self, id: Id) -> impl Iterator<Item = usize> + Clone + '_ {
        self.lines.members(id.index())
    }

    fn child_results(&self, id: Id) -> impl Iterator<Item = usize> + '_ {
        let children = self.lines(id).flat_map(|line| self.children.members(line));
        children.filter(|&slot| self.is_result(slot))
    }

    /// Returns context and injected text below a reply with calls, or below its results, that leads to no other message.
    fn dead_ends_below(&self, id: Id) -> Vec<usize> {
        let mut found = Vec::new();
        if !self.lines(id).any(|line| calls(self.session, self.node(line)).next().is_some()) {
            return found;
        }
        let is_dead_end = |&child: &usize| self.leads[child].is_dead_end_for(id);
        let dead_ends = |slot| self.children.members(slot).filter(is_dead_end);
        found.extend(self.lines(id).chain(self.child_results(id)).flat_map(dead_ends));
        let mut next = 0;
        while let Some(&slot) = found.get(next) {
            found.extend(dead_ends(slot));
            next += 1;
        }
        found
    }

    /// Adds, for each call without a result on the path or among the missing entries, its first result anywhere in the file. A
    /// call in a sidechain is only answered by a result in a sidechain, and a main call by a main result.
    fn add_results_elsewhere(&self, id: Id, missing: &mut BTreeSet<usize>) {
        // A call may be in several lines of a reply; it is looked up once for the main line and once for sidechains.
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

    /// Returns the indices on the path of the lines of a reply, each with the results and the context directly after it.
    fn path_indices(&self, id: Id) -> Vec<usize> {
        let mut lines: Vec<usize> =
            self.lines(id).filter_map(|line| self.path_index_of[line]).map(SmallIndex::index).collect();
        lines.sort_unstable();
        let goes_with_line = |slot: usize| self.is_result(slot) || is_context(self.session, self.node(slot));
        let behind =
            |line: usize| (line + 1..self.path.len()).take_while(|&index| goes_with_line(self.path[index]));
        lines.into_iter().flat_map(|line| std::iter::once(line).chain(behind(line))).collect()
    }

    fn is_result(&self, slot: usize) -> bool {
        is_result(self.session, self.node(slot))
    }

    fn node(&self, slot: usize) -> &'a Node {
        self.loaded.node(self.session, slot)
    }
}

/// The messages below an entry, context and injected text aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    Nothing,
    /// Lines of one reply.
    Reply(Id),
    /// Other messages, or a cycle.
    Elsewhere,
}

impl Lead {
    /// Combines the messages below two entries.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Lead::Nothing, lead) | (lead, Lead::Nothing) => lead,
            (one, other) if one == other => one,
            _ => Lead::Elsewhere,
        }
    }

    /// Returns whether no message follows that is not a part of the reply itself.
    fn is_dead_end_for(self, id: Id) -> bool {
        self == Lead::Nothing || self == Lead::Reply(id)
    }
}

/// Returns whether an entry is context or injected text.
fn is_context(session: &Session, node: &Node) -> bool {
    let is_injected = node.kind == Kind::User && node.has(Flag::Meta) && !is_result(session, node);
    !node.is_side() && (matches!(node.kind, Kind::System | Kind::Attachment) || is_injected)
}

/// Returns the messages below each context entry; all other entries get [`Lead::Elsewhere`]. Children are visited before
/// their parents.
fn leads(session: &Session, loaded: &LoadedEntries, children: &Groups) -> Vec<Lead> {
    let slots = loaded.slots.len();
    let is_context = |slot: usize| is_context(session, loaded.node(session, slot));
    let mut leads = vec![Lead::Elsewhere; slots];
    // What was found below each slot so far, and the number of children that were not yet visited.
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

/// Returns whether an entry has a result.
fn is_result(session: &Session, node: &Node) -> bool {
    results(session, node).next().is_some()
}

/// Returns the calls that an entry answers.
fn results<'a>(session: &'a Session, node: &'a Node) -> impl Iterator<Item = Id> + Clone + 'a {
    let blocks = if node.kind == Kind::User { session.blocks(node) } else { &[] };
    blocks
        .iter()
        .filter(|block| matches!(block.kind, BlockKind::ToolResult(_)))
        .filter_map(|block| block.tool)
}
