//! The conversation that a session should resume with: everything that can still be read, in order.

use std::collections::{HashMap, HashSet};

use annals_transcript::session::{BlockKind, Id};
use annals_transcript::{Flag, Kind};

use super::graph::{Graph, ItemIndex, Link};

/// The conversation as it was meant.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The last message.
    pub(super) leaf: ItemIndex,
    /// The entries from the last compaction on, or from the beginning, in order, with the lines and results of replies that do
    /// not stand on the path itself.
    pub(super) entries: Vec<ItemIndex>,
    /// The boundary before them.
    pub(super) boundary: Option<ItemIndex>,
}

impl Wanted {
    /// Finds the conversation that ends in a given entry, or the newest one.
    pub(super) fn of(graph: &Graph<'_>, leaf: ItemIndex) -> Self {
        let path = graph.path(leaf);
        let cut = path.iter().rposition(|&item| graph.is_boundary(item));
        let boundary = cut.map(|cut| path[cut]);
        let mut line: Vec<ItemIndex> = path[cut.map_or(0, |cut| cut + 1)..].to_vec();
        if let Some((anchor, kept)) = boundary.and_then(|boundary| kept(graph, boundary)) {
            let on_line: HashSet<ItemIndex> = line.iter().copied().collect();
            let at =
                anchor.and_then(|anchor| line.iter().position(|&item| item == anchor)).map_or(0, |at| at + 1);
            line.splice(at..at, kept.into_iter().filter(|item| !on_line.contains(item)));
        }
        let entries = with_replies(graph, &line);
        Self { leaf, entries, boundary }
    }
}

/// Returns the messages that a compaction kept, and the entry that they follow.
fn kept(graph: &Graph<'_>, boundary: ItemIndex) -> Option<(Option<ItemIndex>, Vec<ItemIndex>)> {
    let data = graph.session.boundary(graph.node(boundary))?;
    if let Some((anchor, ids)) = &data.messages {
        let kept = ids.iter().filter_map(|&id| graph.item(id)).collect();
        return Some((anchor.and_then(|id| graph.item(id)), kept));
    }
    let [head, anchor, tail] = data.segment?;
    let anchor = anchor.and_then(|id| graph.item(id));
    let Some(tail) = tail.and_then(|id| graph.item(id)) else { return Some((anchor, Vec::new())) };
    let head = head.and_then(|id| graph.item(id));
    let path = graph.path(tail);
    let from = head.and_then(|head| path.iter().position(|&item| item == head));
    Some((anchor, from.map_or_else(Vec::new, |from| path[from..].to_vec())))
}

/// Adds the lines and results of replies that do not stand on the path: parallel calls branch.
fn with_replies(graph: &Graph<'_>, line: &[ItemIndex]) -> Vec<ItemIndex> {
    let replies = Replies::of(graph);
    let on_line: HashSet<ItemIndex> = line.iter().copied().collect();
    let mut entries = line.to_vec();
    let mut done: HashSet<Id> = HashSet::new();
    for &item in line {
        let node = graph.node(item);
        let Some(id) = node.message_id.filter(|_| node.kind == Kind::Assistant) else { continue };
        if done.insert(id) {
            let mut missing = replies.missing(graph, id, &on_line);
            missing.retain(|added| !entries.contains(added));
            insert(graph, &mut entries, id, missing);
        }
    }
    entries
}

/// Inserts entries into the stretch of a reply: its lines on the path, and the results behind them.
fn insert(graph: &Graph<'_>, entries: &mut Vec<ItemIndex>, reply: Id, mut added: Vec<ItemIndex>) {
    let is_line = |item: &ItemIndex| {
        graph.node(*item).kind == Kind::Assistant && graph.node(*item).message_id == Some(reply)
    };
    let (Some(first), Some(last)) = (entries.iter().position(is_line), entries.iter().rposition(is_line))
    else {
        return;
    };
    let mut end = last + 1;
    while entries.get(end).is_some_and(|&item| graph.session.has_results(graph.node(item))) {
        end += 1;
    }
    added.sort_by_key(|&item| graph.position(item));
    for item in added {
        let later =
            entries[first + 1..end].iter().position(|&one| graph.position(one) > graph.position(item));
        entries.insert(later.map_or(end, |later| first + 1 + later), item);
        end += 1;
    }
}

/// The lines of each reply, and the results of each call.
struct Replies {
    lines: HashMap<Id, Vec<ItemIndex>>,
    results: HashMap<Id, Vec<ItemIndex>>,
}

impl Replies {
    fn of(graph: &Graph<'_>) -> Self {
        let (mut lines, mut results) = (HashMap::new(), HashMap::new());
        for &item in &graph.sequence {
            if graph.items[item].is_side {
                continue;
            }
            let node = graph.node(item);
            if let Some(id) = node.message_id.filter(|_| node.kind == Kind::Assistant) {
                lines.entry(id).or_insert_with(Vec::new).push(item);
            }
            if node.kind == Kind::User {
                let blocks = graph.session.blocks(node).iter();
                for call in blocks
                    .filter(|block| matches!(block.kind, BlockKind::ToolResult(_)))
                    .filter_map(|block| block.tool)
                {
                    results.entry(call).or_insert_with(Vec::new).push(item);
                }
            }
        }
        Self { lines, results }
    }

    /// Returns the lines of a reply that are not on the path, and the results of its calls that have none there.
    fn missing(&self, graph: &Graph<'_>, reply: Id, on_line: &HashSet<ItemIndex>) -> Vec<ItemIndex> {
        let lines = self.lines.get(&reply).map_or(&[][..], Vec::as_slice);
        let is_copy = |item: ItemIndex| graph.twin(item).is_some_and(|twin| on_line.contains(&twin));
        let mut missing: Vec<ItemIndex> =
            lines.iter().copied().filter(|&item| !on_line.contains(&item) && !is_copy(item)).collect();
        for &item in
            lines.iter().filter(|item| on_line.contains(item) || missing.contains(item)).collect::<Vec<_>>()
        {
            let blocks = graph.session.blocks(graph.node(item)).iter();
            for call in blocks.filter(|block| block.kind == BlockKind::ToolUse).filter_map(|block| block.tool)
            {
                let results = self.results.get(&call).map_or(&[][..], Vec::as_slice);
                if results.iter().any(|result| on_line.contains(result)) {
                    continue;
                }
                missing.extend(results.first().filter(|result| !is_copy(**result)));
            }
        }
        missing
    }
}

/// Returns the message that the conversation ends with: the last one on which nothing else hangs.
pub(super) fn newest_leaf(graph: &Graph<'_>, last_line: Option<ItemIndex>) -> Option<ItemIndex> {
    let mut has_message_below = vec![false; graph.items.len()];
    for &item in graph.sequence.iter().rev() {
        if (graph.is_message(item) || has_message_below[item])
            && let Some(parent) = graph.items[item].parent.item()
        {
            has_message_below[parent] = true;
        }
    }
    let is_tip = |item: ItemIndex| graph.is_message(item) && !has_message_below[item];
    let repeated = last_line.and_then(|last| nearest_message(graph, last)).filter(|&item| is_tip(item));
    repeated.or_else(|| graph.sequence.iter().rev().copied().find(|&item| is_tip(item)))
}

/// Returns the message that an entry belongs to: itself, or the nearest one above it.
pub(super) fn nearest_message(graph: &Graph<'_>, item: ItemIndex) -> Option<ItemIndex> {
    graph.path(item).into_iter().rev().find(|&one| graph.is_message(one))
}

/// Returns the other conversations of the file: the last messages of branches that were not taken, newest first.
pub(super) fn other_leaves(graph: &Graph<'_>, wanted: &Wanted) -> Vec<ItemIndex> {
    let path: HashSet<ItemIndex> =
        graph.path(wanted.leaf).into_iter().chain(wanted.entries.iter().copied()).collect();
    let mut has_below = vec![false; graph.items.len()];
    for &item in graph.sequence.iter().rev() {
        if let Some(parent) =
            graph.items[item].parent.item().filter(|_| graph.is_message(item) || has_below[item])
        {
            has_below[parent] = true;
        }
    }
    let is_tip = |item: &ItemIndex| graph.is_message(*item) && !has_below[*item] && !path.contains(item);
    graph.sequence.iter().rev().copied().filter(is_tip).collect()
}

/// Returns whether an entry is never sent, so that it cannot be missed.
pub(super) fn is_unsent(graph: &Graph<'_>, item: ItemIndex) -> bool {
    let node = graph.node(item);
    node.has(Flag::Synthetic) || node.has(Flag::Virtual) || !node.kind.is_prompt_or_reply()
}

/// Returns whether the message names a parent that is lost.
pub(super) fn follows_a_gap(graph: &Graph<'_>, item: ItemIndex) -> bool {
    use super::graph::Break;
    matches!(graph.items[item].parent, Link::Lost | Link::Mended(_, Break::Missing))
}
