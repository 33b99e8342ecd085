//! Bringing in what the walk misses (section 5): the other lines of a reply, and the results of its calls.

use std::collections::{HashMap, HashSet};

use super::load::Loaded;
use crate::entry::Kind;
use crate::session::{BlockKind, Id, Node, Session};

/// Returns a path with the lines of the same replies and the results of their calls put in their places.
pub(super) fn with_siblings(session: &Session, loaded: &Loaded, path: &[usize]) -> Vec<usize> {
    let replies = Replies::on(session, loaded, path);
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
    /// Where each slot stands on the path.
    place_of: HashMap<usize, usize>,
    /// The replies in the order of the path.
    order: Vec<Id>,
    /// The lines of each reply that stand on the path, and all its lines.
    lines: HashMap<Id, (Vec<usize>, Vec<usize>)>,
    /// The results that hang on each slot, and those that answer each call, in file order.
    hanging_on: HashMap<usize, Vec<usize>>,
    answering: HashMap<Id, Vec<usize>>,
}

impl<'a> Replies<'a> {
    fn on(session: &'a Session, loaded: &'a Loaded, path: &'a [usize]) -> Self {
        let mut replies = Self {
            session,
            loaded,
            path,
            place_of: path.iter().enumerate().map(|(place, &slot)| (slot, place)).collect(),
            order: Vec::new(),
            lines: HashMap::new(),
            hanging_on: HashMap::new(),
            answering: HashMap::new(),
        };
        for &slot in path {
            if let Some(id) = replies.reply(slot) {
                let lines = replies.lines.entry(id).or_default();
                if lines.0.is_empty() {
                    replies.order.push(id);
                }
                lines.0.push(slot);
            }
        }
        for slot in loaded.kept() {
            replies.note(slot);
        }
        replies
    }

    fn note(&mut self, slot: usize) {
        if let Some(id) = self.reply(slot)
            && let Some(lines) = self.lines.get_mut(&id)
        {
            lines.1.push(slot);
        }
        let mut calls = results(self.session, self.node(slot)).peekable();
        if calls.peek().is_none() {
            return;
        }
        for call in calls {
            self.answering.entry(call).or_default().push(slot);
        }
        if let Some(parent) = self.loaded.parent(slot) {
            self.hanging_on.entry(parent).or_default().push(slot);
        }
    }

    /// Says where the missing lines and results of a reply go: in file order among its lines and their results on the
    /// path, but never before its first line.
    fn place(
        &self,
        id: Id,
        before: &mut HashMap<usize, Vec<usize>>,
        behind: &mut HashMap<usize, Vec<usize>>,
    ) {
        let (on_path, all) = &self.lines[&id];
        let mut missing: Vec<usize> =
            all.iter().copied().filter(|slot| !self.place_of.contains_key(slot)).collect();
        missing.extend(self.missing_results(all));
        missing.sort_unstable();
        let spots = self.spots(on_path);
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

    /// Returns the results that hang on a line of the reply; and for each call still without, the first one anywhere.
    fn missing_results(&self, lines: &[usize]) -> Vec<usize> {
        let hanging = lines.iter().flat_map(|slot| self.hanging_on.get(slot).into_iter().flatten().copied());
        let mut missing: Vec<usize> = hanging.filter(|slot| !self.place_of.contains_key(slot)).collect();
        let mut taken: HashSet<usize> = missing.iter().copied().collect();
        for call in lines.iter().flat_map(|&slot| calls(self.session, self.node(slot))) {
            let answers = self.answering.get(&call).map_or(&[][..], |answers| answers);
            let answered =
                answers.iter().any(|slot| self.place_of.contains_key(slot) || taken.contains(slot));
            if let Some(&first) = answers.first().filter(|_| !answered) {
                taken.insert(first);
                missing.push(first);
            }
        }
        missing
    }

    /// Returns the lines of a reply on the path, each with the results that stand directly behind it.
    fn spots(&self, lines: &[usize]) -> Vec<usize> {
        let mut spots = Vec::new();
        for slot in lines {
            spots.push(*slot);
            let behind = self.path[self.place_of[slot] + 1..].iter();
            spots.extend(behind.take_while(|&&slot| results(self.session, self.node(slot)).next().is_some()));
        }
        spots
    }

    fn reply(&self, slot: usize) -> Option<Id> {
        let node = self.node(slot);
        if node.kind == Kind::Assistant { node.message_id } else { None }
    }

    fn node(&self, slot: usize) -> &'a Node {
        self.loaded.node(self.session, slot)
    }
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
