//! Bringing in what the walk misses: the other lines of a reply, and the results of its calls.

use std::collections::{HashMap, HashSet};

use super::load::Loaded;
use crate::entry::Kind;
use crate::session::{BlockKind, Id, Node, Session};

/// Returns a path with the lines of the same replies and the results of their calls put in their places.
pub(super) fn with_siblings(session: &Session, loaded: &Loaded, path: &[usize]) -> Vec<usize> {
    let replies = Replies::new(session, loaded, path);
    let mut before: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut after: HashMap<usize, Vec<usize>> = HashMap::new();
    for id in &replies.order {
        replies.place(*id, &mut before, &mut after);
    }
    let mut whole = Vec::with_capacity(path.len());
    for &slot in path {
        whole.extend(before.remove(&slot).unwrap_or_default());
        whole.push(slot);
        whole.extend(after.remove(&slot).unwrap_or_default());
    }
    whole
}

/// The replies on a path, with everything in the file that belongs to them.
struct Replies<'a> {
    session: &'a Session,
    loaded: &'a Loaded,
    on_path: HashSet<usize>,
    path: &'a [usize],
    /// The replies in the order of the path.
    order: Vec<Id>,
    /// The lines of each reply that stand on the path, and all its lines.
    lines: HashMap<Id, (Vec<usize>, Vec<usize>)>,
    /// The results of each call, in file order.
    results: HashMap<Id, Vec<usize>>,
}

impl<'a> Replies<'a> {
    fn new(session: &'a Session, loaded: &'a Loaded, path: &'a [usize]) -> Self {
        let on_path = path.iter().copied().collect();
        let mut replies = Self {
            session,
            loaded,
            on_path,
            path,
            order: Vec::new(),
            lines: HashMap::new(),
            results: HashMap::new(),
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
            if let Some(id) = replies.reply(slot)
                && let Some(lines) = replies.lines.get_mut(&id)
            {
                lines.1.push(slot);
            }
            for call in results(session, replies.node(slot)) {
                replies.results.entry(call).or_default().push(slot);
            }
        }
        replies
    }

    /// Says where the missing lines and results of a reply go.
    fn place(&self, id: Id, before: &mut HashMap<usize, Vec<usize>>, after: &mut HashMap<usize, Vec<usize>>) {
        let (on_path, all) = &self.lines[&id];
        let Some(&last_line) = on_path.last() else { return };
        let missing = all.iter().filter(|slot| !self.on_path.contains(slot));
        after.entry(last_line).or_default().extend(missing);
        let calls: Vec<Id> = all.iter().flat_map(|&slot| calls(self.session, self.node(slot))).collect();
        let mut brought: Vec<usize> = calls.iter().filter_map(|call| self.missing_result(*call)).collect();
        brought.sort_unstable();
        brought.dedup();
        if brought.is_empty() {
            return;
        }
        let calls: HashSet<Id> = calls.into_iter().collect();
        let answered: Vec<usize> = self.results_on_path(&calls);
        for result in brought {
            match answered.iter().find(|&&slot| slot > result) {
                Some(&later) => before.entry(later).or_default().push(result),
                None => after.entry(answered.last().copied().unwrap_or(last_line)).or_default().push(result),
            }
        }
    }

    /// Returns the first result of a call, if none of its results stands on the path.
    fn missing_result(&self, call: Id) -> Option<usize> {
        let results = self.results.get(&call)?;
        if results.iter().any(|slot| self.on_path.contains(slot)) { None } else { results.first().copied() }
    }

    fn results_on_path(&self, wanted: &HashSet<Id>) -> Vec<usize> {
        let answers =
            |slot: &&usize| results(self.session, self.node(**slot)).any(|call| wanted.contains(&call));
        self.path.iter().filter(answers).copied().collect()
    }

    fn reply(&self, slot: usize) -> Option<Id> {
        let node = self.node(slot);
        if node.kind == Kind::Assistant { node.message_id } else { None }
    }

    fn node(&self, slot: usize) -> &'a Node {
        &self.session.nodes()[self.loaded.slots[slot].node]
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
