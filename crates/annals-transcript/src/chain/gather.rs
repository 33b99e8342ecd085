//! Bringing in what the walk misses (section 5): the other lines of a reply, the results of its calls, and what hangs
//! on these without leading anywhere.

use std::collections::{HashMap, HashSet};

use super::load::Loaded;
use crate::children::Children;
use crate::entry::{Flag, Kind};
use crate::session::{BlockKind, Id, Node, Session};

/// How far results are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Only those that hang on a line of the reply.
    Hanging,
    /// Wherever a result of one of its calls stands.
    Anywhere,
}

/// Returns a path with what belongs to its replies put in its place.
pub(super) fn with_siblings(session: &Session, loaded: &Loaded, path: &[usize], reach: Reach) -> Vec<usize> {
    let replies = Replies::on(session, loaded, path, reach);
    let mut before: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut behind: HashMap<usize, Vec<usize>> = HashMap::new();
    for id in &replies.order {
        replies.place(*id, &mut before, &mut behind);
    }
    let mut whole = Vec::with_capacity(path.len());
    for &slot in path {
        whole.extend(before.remove(&slot).unwrap_or_default());
        whole.push(slot);
        whole.extend(behind.remove(&slot).unwrap_or_default());
    }
    whole
}

/// The replies on a path, with everything in the file that belongs to them.
struct Replies<'a> {
    session: &'a Session,
    loaded: &'a Loaded,
    path: &'a [usize],
    reach: Reach,
    /// Where each slot stands on the path, if it does.
    place_of: Vec<Option<usize>>,
    /// The replies in the order of the path.
    order: Vec<Id>,
    lines: HashMap<Id, Lines>,
    /// The results that answer each call, in file order.
    answering: HashMap<Id, Vec<usize>>,
    /// What hangs on each slot, and which slots lead to nothing but context.
    children: Children,
    is_dead_end: Vec<bool>,
}

/// The lines of a reply, in file order.
#[derive(Default)]
struct Lines {
    on_path: Vec<usize>,
    all: Vec<usize>,
}

impl<'a> Replies<'a> {
    fn on(session: &'a Session, loaded: &'a Loaded, path: &'a [usize], reach: Reach) -> Self {
        let children = loaded.children();
        let mut place_of = vec![None; loaded.slots.len()];
        for (place, &slot) in path.iter().enumerate() {
            place_of[slot] = Some(place);
        }
        let mut replies = Self {
            session,
            loaded,
            path,
            reach,
            place_of,
            order: Vec::new(),
            lines: HashMap::new(),
            answering: HashMap::new(),
            is_dead_end: dead_ends(session, loaded, &children),
            children,
        };
        for &slot in path {
            if let Some(id) = replies.reply(slot) {
                let lines = replies.lines.entry(id).or_default();
                if lines.on_path.is_empty() {
                    replies.order.push(id);
                }
                lines.on_path.push(slot);
            }
        }
        for slot in loaded.kept() {
            if let Some(id) = replies.reply(slot)
                && let Some(lines) = replies.lines.get_mut(&id)
            {
                lines.all.push(slot);
            }
            for call in results(session, replies.node(slot)) {
                replies.answering.entry(call).or_default().push(slot);
            }
        }
        replies
    }

    /// Says where what is missing of a reply goes: in file order among its lines and their results on the path, but
    /// never before its first line.
    fn place(
        &self,
        id: Id,
        before: &mut HashMap<usize, Vec<usize>>,
        behind: &mut HashMap<usize, Vec<usize>>,
    ) {
        let lines = &self.lines[&id];
        let missing = self.missing(&lines.all);
        if missing.is_empty() {
            return;
        }
        let spots = self.spots(&lines.on_path);
        // The first spot that stands later in the file is where the greatest so far first exceeds the slot.
        let greatest_so_far: Vec<usize> = spots
            .iter()
            .skip(1)
            .scan(0, |greatest, &spot| {
                *greatest = spot.max(*greatest);
                Some(*greatest)
            })
            .collect();
        for slot in missing {
            let later = greatest_so_far.partition_point(|&greatest| greatest <= slot) + 1;
            match spots.get(later) {
                Some(&later) => before.entry(later).or_default().push(slot),
                None => behind.entry(spots[spots.len() - 1]).or_default().push(slot),
            }
        }
    }

    /// Returns what belongs to a reply and is not on the path, in file order.
    fn missing(&self, lines: &[usize]) -> Vec<usize> {
        let belonging =
            lines.iter().copied().chain(self.results_hanging_on(lines)).chain(self.dead_ends_below(lines));
        let mut missing: HashSet<usize> = belonging.filter(|&slot| self.place_of[slot].is_none()).collect();
        if self.reach == Reach::Anywhere {
            self.add_results_elsewhere(lines, &mut missing);
        }
        let mut missing: Vec<usize> = missing.into_iter().collect();
        missing.sort_unstable();
        missing
    }

    fn results_hanging_on<'r>(&'r self, lines: &'r [usize]) -> impl Iterator<Item = usize> + 'r {
        let hanging = lines.iter().flat_map(|&line| self.children[line].iter().copied());
        hanging.filter(|&slot| self.is_result(slot))
    }

    /// Returns context and injected text that hangs on a reply with calls, or on its results, and leads nowhere.
    fn dead_ends_below(&self, lines: &[usize]) -> Vec<usize> {
        if !lines.iter().any(|&line| calls(self.session, self.node(line)).next().is_some()) {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut waiting: Vec<usize> = lines.to_vec();
        waiting.extend(self.results_hanging_on(lines));
        while let Some(slot) = waiting.pop() {
            let dead_ends = self.children[slot].iter().copied().filter(|&child| self.is_dead_end[child]);
            for child in dead_ends {
                found.push(child);
                waiting.push(child);
            }
        }
        found
    }

    /// Adds the first result anywhere of each call that has none on the path or among the missing ones. A subagent's
    /// result answers a subagent's call, a main one a main call.
    fn add_results_elsewhere(&self, lines: &[usize], missing: &mut HashSet<usize>) {
        // A call that stands in several lines of a reply is looked up once for each side.
        let mut asked = HashSet::new();
        for &line in lines {
            let is_side = self.node(line).is_side();
            for call in calls(self.session, self.node(line)) {
                if !asked.insert((call, is_side)) {
                    continue;
                }
                let answers = self.answering.get(&call).map_or(&[][..], |answers| answers);
                let taken = |slot: &usize| self.place_of[*slot].is_some() || missing.contains(slot);
                if !answers.iter().any(taken) {
                    missing
                        .extend(answers.iter().copied().find(|&slot| self.node(slot).is_side() == is_side));
                }
            }
        }
    }

    /// Returns the lines of a reply on the path, each with the results that stand directly behind it.
    fn spots(&self, lines: &[usize]) -> Vec<usize> {
        let mut spots = Vec::new();
        for slot in lines {
            spots.push(*slot);
            let place = self.place_of[*slot].expect("a line of the path stands on it");
            let behind = self.path[place + 1..].iter();
            spots.extend(behind.take_while(|&&slot| self.is_result(slot)));
        }
        spots
    }

    fn is_result(&self, slot: usize) -> bool {
        results(self.session, self.node(slot)).next().is_some()
    }

    fn reply(&self, slot: usize) -> Option<Id> {
        let node = self.node(slot);
        if node.kind == Kind::Assistant { node.message_id } else { None }
    }

    fn node(&self, slot: usize) -> &'a Node {
        self.loaded.node(self.session, slot)
    }
}

/// Returns which entries are context or injected text with nothing else below them. Entries in a circle are not.
fn dead_ends(session: &Session, loaded: &Loaded, children: &Children) -> Vec<bool> {
    let is_candidate = |slot: usize| {
        let node = loaded.node(session, slot);
        let injected =
            node.kind == Kind::User && node.has(Flag::Meta) && results(session, node).next().is_none();
        !node.is_side() && (matches!(node.kind, Kind::System | Kind::Attachment) || injected)
    };
    let mut is_dead_end = vec![false; loaded.slots.len()];
    let mut open_children = children.counts();
    let mut ready: Vec<usize> = loaded.kept().filter(|&slot| children[slot].is_empty()).collect();
    while let Some(slot) = ready.pop() {
        if !is_candidate(slot) {
            continue;
        }
        is_dead_end[slot] = true;
        if let Some(parent) = loaded.parent(slot) {
            open_children[parent] -= 1;
            if open_children[parent] == 0 {
                ready.push(parent);
            }
        }
    }
    is_dead_end
}

/// Returns the calls that an entry makes.
fn calls<'a>(session: &'a Session, node: &'a Node) -> impl Iterator<Item = Id> + 'a {
    let blocks = if node.kind == Kind::Assistant { session.blocks(node) } else { &[] };
    blocks.iter().filter(|block| block.kind == BlockKind::ToolUse).filter_map(|block| block.tool)
}

/// Returns the calls that an entry answers.
fn results<'a>(session: &'a Session, node: &'a Node) -> impl Iterator<Item = Id> + 'a {
    let blocks = if node.kind == Kind::User { session.blocks(node) } else { &[] };
    blocks
        .iter()
        .filter(|block| matches!(block.kind, BlockKind::ToolResult(_)))
        .filter_map(|block| block.tool)
}
