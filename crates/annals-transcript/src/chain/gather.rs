//! Adds what the walk misses (CHAIN.md 5): the other lines of a reply, the results of its calls, and context that leads to no
//! other message.

use std::collections::{BTreeMap, BTreeSet};

use super::load::LoadedEntries;
use super::reply::{self, is_context};
use crate::groups::Groups;
use crate::session::{Id, Node, Session};
use crate::small_index::SmallIndex;

/// Returns a path with the missing lines, results and context of its replies inserted. `is_taken` says which slots are on the
/// path; inserted ones are added to it.
pub(super) fn with_siblings(
    session: &Session,
    loaded: &LoadedEntries,
    children: &Groups,
    path: &[usize],
    is_taken: &mut [bool],
) -> Vec<usize> {
    let stretches = Replies::on(session, loaded, children, path).stretches(is_taken);
    let mut whole = Vec::with_capacity(path.len());
    let mut done = 0;
    for mut stretch in joined(stretches) {
        stretch.missing.sort_unstable();
        let mut missing = stretch.missing.into_iter().peekable();
        whole.extend(&path[done..=stretch.start]);
        for &slot in &path[stretch.start + 1..stretch.end] {
            while let Some(Insertion { slot: before, .. }) = missing.next_if(|it| it.place < place_of(slot)) {
                whole.push(before);
            }
            whole.push(slot);
            whole.extend(stretch.behind.remove(&slot).unwrap_or_default());
        }
        whole.extend(missing.map(|it| it.slot));
        done = stretch.end;
    }
    whole.extend(&path[done..]);
    whole
}

/// A stretch of the path into which entries are inserted: from the first line of a reply to the end of what belongs to its
/// last line there.
#[derive(Debug)]
struct Stretch {
    start: usize,
    end: usize,
    missing: Vec<Insertion>,
    /// Context that goes directly after context on the path, by the slot of the latter.
    behind: BTreeMap<usize, Vec<usize>>,
}

/// An entry that is not on the path. It is inserted before the first entry of the stretch with a greater place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Insertion {
    place: usize,
    slot: usize,
}

/// Returns the place of a slot in line order. Between two of these there is room for one more.
fn place_of(slot: usize) -> usize {
    2 * slot
}

/// Joins stretches that overlap.
fn joined(mut stretches: Vec<Stretch>) -> Vec<Stretch> {
    stretches.sort_by_key(|stretch| stretch.start);
    let mut joined: Vec<Stretch> = Vec::new();
    for stretch in stretches {
        match joined.last_mut().filter(|last| stretch.start < last.end) {
            Some(last) => {
                last.end = last.end.max(stretch.end);
                last.missing.extend(stretch.missing);
                for (slot, context) in stretch.behind {
                    last.behind.entry(slot).or_default().extend(context);
                }
            }
            None => joined.push(stretch),
        }
    }
    joined
}

/// The replies on a path, and everything in the file that belongs to them.
struct Replies<'a> {
    session: &'a Session,
    loaded: &'a LoadedEntries,
    children: &'a Groups,
    path: &'a [usize],
    /// The index of each slot on the path, if it is there.
    path_index_of: Vec<Option<SmallIndex>>,
    /// The lines of each reply, in file order, by the index of its id.
    lines: Groups,
    /// The line that makes a call, by the index of its id; `None` if there is none or if several replies make it.
    caller_of: Vec<Option<SmallIndex>>,
    /// The results that have another parent, in file order, by the slot of the line that makes the call.
    results_elsewhere: Groups,
    /// Whether a call has a result on the path, by the index of its id.
    is_answered: Vec<bool>,
}

impl<'a> Replies<'a> {
    fn on(session: &'a Session, loaded: &'a LoadedEntries, children: &'a Groups, path: &'a [usize]) -> Self {
        let mut path_index_of = vec![None; loaded.slots.len()];
        let mut is_answered = vec![false; session.id_count()];
        for (index, &slot) in path.iter().enumerate() {
            path_index_of[slot] = Some(SmallIndex::new(index));
            reply::results(session, loaded.node(session, slot))
                .for_each(|call| is_answered[call.index()] = true);
        }
        let lines =
            loaded.kept().filter_map(|slot| Some((reply::of(loaded.node(session, slot))?.index(), slot)));
        let caller_of = callers(session, loaded);
        let elsewhere = results_elsewhere(session, loaded, &caller_of);
        Self {
            session,
            loaded,
            children,
            path,
            path_index_of,
            lines: Groups::of(session.id_count(), lines),
            caller_of,
            results_elsewhere: Groups::of(loaded.slots.len(), elsewhere.into_iter()),
            is_answered,
        }
    }

    /// Returns the stretches of all replies on the path that miss something.
    fn stretches(&self, is_taken: &mut [bool]) -> Vec<Stretch> {
        let mut is_done = vec![false; self.session.id_count()];
        // The indices of context on the path below which was not searched yet.
        let mut context: BTreeSet<usize> = (0..self.path.len())
            .filter(|&index| is_context(self.session, self.node(self.path[index])))
            .collect();
        let mut stretches = Vec::new();
        for (start, &slot) in self.path.iter().enumerate() {
            if let Some(id) = reply::of(self.node(slot))
                && !std::mem::replace(&mut is_done[id.index()], true)
            {
                let stretch = self.stretch(id, start, &mut context, is_taken);
                stretches.extend(Some(stretch).filter(|it| !it.missing.is_empty() || !it.behind.is_empty()));
            }
        }
        stretches
    }

    /// Returns what a reply misses, and where that goes (CHAIN 5.1 to 5.4).
    fn stretch(&self, id: Id, start: usize, context: &mut BTreeSet<usize>, is_taken: &mut [bool]) -> Stretch {
        let mut missing: Vec<Insertion> = self
            .lines(id)
            .chain(self.child_results(id))
            .filter(|&slot| !is_taken[slot])
            .map(|slot| Insertion { place: place_of(slot), slot })
            .collect();
        missing.extend(self.missing_results_elsewhere(id, &missing, is_taken));
        for it in &missing {
            is_taken[it.slot] = true;
        }
        let end = self.end(id, start);
        let mut behind = BTreeMap::new();
        if self.lines(id).any(|line| reply::calls(self.session, self.node(line)).next().is_some()) {
            let moved: BTreeMap<usize, usize> = missing.iter().map(|it| (it.slot, it.place)).collect();
            for source in self.sources(id, is_taken) {
                let least =
                    moved.get(&source).copied().filter(|&place| place != place_of(source)).unwrap_or(0);
                let found = self.dead_ends_on(source, is_taken);
                missing.extend(
                    found.into_iter().map(|slot| Insertion { place: place_of(slot).max(least), slot }),
                );
            }
            let searched: Vec<usize> = context.range(start + 1..end).copied().collect();
            for index in searched {
                context.remove(&index);
                let found = self.dead_ends_on(self.path[index], is_taken);
                if !found.is_empty() {
                    behind.insert(self.path[index], found);
                }
            }
        }
        Stretch { start, end, missing, behind }
    }

    /// Returns the path index after the last line of a reply and what continues it.
    fn end(&self, id: Id, start: usize) -> usize {
        let last = self.lines(id).filter_map(|line| self.path_index_of[line]).map(SmallIndex::index).max();
        let end = last.unwrap_or(start) + 1;
        let behind = self.path[end..].iter();
        end + behind.take_while(|&&slot| reply::continues(self.session, self.node(slot), Some(id))).count()
    }

    fn lines(&self, id: Id) -> impl Iterator<Item = usize> + Clone + '_ {
        self.lines.members(id.index())
    }

    fn child_results(&self, id: Id) -> impl Iterator<Item = usize> + '_ {
        let children = self.lines(id).flat_map(|line| self.children.members(line));
        children.filter(|&slot| reply::has_result(self.session, self.node(slot)))
    }

    /// Returns results of calls of a reply that have another parent, as long as the call has no result. They go after the last
    /// line of the reply in file order (CHAIN 5.2).
    fn missing_results_elsewhere(&self, id: Id, missing: &[Insertion], is_taken: &[bool]) -> Vec<Insertion> {
        let candidates = self.lines(id).flat_map(|line| self.results_elsewhere.members(line));
        let is_hanging =
            |slot: usize| self.loaded.parent(slot).is_some_and(|parent| self.is_line(parent, id));
        let candidates: BTreeSet<usize> =
            candidates.filter(|&slot| !is_taken[slot] && !is_hanging(slot)).collect();
        if candidates.is_empty() {
            return Vec::new();
        }
        let mut answered: BTreeSet<Id> = missing.iter().flat_map(|it| self.results(it.slot)).collect();
        let behind_lines = self.lines(id).last().map_or(0, place_of) + 1;
        let mut found = Vec::new();
        for slot in candidates {
            if self.results(slot).any(|call| !answered.contains(&call) && self.is_open_call_of(call, id)) {
                answered.extend(self.results(slot));
                found.push(Insertion { place: place_of(slot).max(behind_lines), slot });
            }
        }
        found
    }

    /// Returns the calls that an entry answers.
    fn results(&self, slot: usize) -> impl Iterator<Item = Id> + use<'a> {
        reply::results(self.session, self.node(slot))
    }

    /// Returns whether a line of a reply makes a call, and no entry on the path answers it.
    fn is_open_call_of(&self, call: Id, reply: Id) -> bool {
        let caller = self.caller_of[call.index()].map(SmallIndex::index);
        !self.is_answered[call.index()] && caller.is_some_and(|caller| self.is_line(caller, reply))
    }

    fn is_line(&self, slot: usize, id: Id) -> bool {
        reply::of(self.node(slot)) == Some(id)
    }

    /// Returns the entries of a reply below which context is looked for: its lines and the results that were taken.
    fn sources(&self, id: Id, is_taken: &[bool]) -> Vec<usize> {
        let elsewhere = self.lines(id).flat_map(|line| self.results_elsewhere.members(line));
        let results = self.child_results(id).chain(elsewhere).filter(|&slot| is_taken[slot]);
        let mut seen = BTreeSet::new();
        self.lines(id).chain(results).filter(|&slot| seen.insert(slot)).collect()
    }

    /// Takes and returns the context that is a child of an entry in runs that lead to nothing else (CHAIN 5.3).
    fn dead_ends_on(&self, source: usize, is_taken: &mut [bool]) -> Vec<usize> {
        let mut found = Vec::new();
        for child in self.children.members(source) {
            let run = self.dead_end(child, source, is_taken).unwrap_or_default();
            for &slot in &run {
                is_taken[slot] = true;
            }
            found.extend(run);
        }
        found
    }

    /// Returns an entry and its descendants, one after the other; `None` if that forks or has anything but context.
    fn dead_end(&self, top: usize, source: usize, is_taken: &[bool]) -> Option<Vec<usize>> {
        let is_side = self.node(source).is_side();
        let mut run = Vec::new();
        let mut at = Some(top);
        while let Some(slot) = at {
            let node = self.node(slot);
            if is_taken[slot] || node.is_side() != is_side || !is_context(self.session, node) {
                return None;
            }
            run.push(slot);
            let mut below = self.children.members(slot).filter(|&child| !is_taken[child]);
            at = below.next();
            if below.next().is_some() {
                return None;
            }
        }
        Some(run)
    }

    fn node(&self, slot: usize) -> &'a Node {
        self.loaded.node(self.session, slot)
    }
}

/// Returns the last line that makes each call, by the index of its id; `None` if several replies make it.
fn callers(session: &Session, loaded: &LoadedEntries) -> Vec<Option<SmallIndex>> {
    let mut callers: Vec<Option<SmallIndex>> = vec![None; session.id_count()];
    let mut is_shared = vec![false; session.id_count()];
    for slot in loaded.kept() {
        let node = loaded.node(session, slot);
        let Some(id) = reply::of(node) else { continue };
        for call in reply::calls(session, node) {
            let caller = callers[call.index()].map(|caller| loaded.node(session, caller.index()));
            is_shared[call.index()] |= caller.is_some_and(|caller| reply::of(caller) != Some(id));
            callers[call.index()] = Some(SmallIndex::new(slot));
        }
    }
    callers.into_iter().zip(is_shared).map(|(caller, is_shared)| caller.filter(|_| !is_shared)).collect()
}

/// Returns results that have another parent than the lines that make their calls: those lines, each with the result. A call in
/// a sidechain is only answered by a result in a sidechain, and a main call by a main result (CHAIN 5.2).
fn results_elsewhere(
    session: &Session,
    loaded: &LoadedEntries,
    caller_of: &[Option<SmallIndex>],
) -> Vec<(usize, usize)> {
    let mut all_calls: Vec<(SmallIndex, Id)> = Vec::new();
    for slot in loaded.kept() {
        let calls = reply::calls(session, loaded.node(session, slot));
        all_calls.extend(calls.map(|call| (SmallIndex::new(slot), call)));
    }
    all_calls.sort_unstable();
    let mut found = Vec::new();
    for slot in loaded.kept() {
        let node = loaded.node(session, slot);
        let parent = loaded.parent(slot);
        let answers_parent = reply::results(session, node).all(|call| {
            parent.is_some_and(|parent| all_calls.binary_search(&(SmallIndex::new(parent), call)).is_ok())
        });
        if answers_parent {
            continue;
        }
        let callers = reply::results(session, node).filter_map(|call| caller_of[call.index()]);
        let mut callers: Vec<usize> = callers.map(SmallIndex::index).collect();
        callers.sort_unstable();
        callers.dedup();
        let is_elsewhere =
            |line: usize| Some(line) != parent && loaded.node(session, line).is_side() == node.is_side();
        found.extend(callers.into_iter().filter(|&line| is_elsewhere(line)).map(|line| (line, slot)));
    }
    found
}
