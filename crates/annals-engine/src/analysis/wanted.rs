//! The conversation that a session should resume with: everything that can still be read, in order.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use annals_transcript::session::{BlockKind, Id};
use annals_transcript::{Flag, Kind};

use super::graph::{Break, Calls, Graph, ItemIndex, Link, members};

/// The conversation as it was meant.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The last message.
    pub(crate) leaf: ItemIndex,
    /// The entries from the last compaction on, or from the beginning, in order, with the lines and results of replies that do
    /// not be on the path itself.
    pub(crate) entries: Vec<ItemIndex>,
    /// The boundary before them.
    pub(crate) boundary: Option<ItemIndex>,
    /// Where the last compaction is: its boundary, or its summary if the boundary is lost.
    pub(crate) compaction: Option<ItemIndex>,
}

impl Wanted {
    /// Finds the conversation that ends in a given entry, or the newest one.
    pub(crate) fn of(graph: &Graph<'_>, leaf: ItemIndex) -> Self {
        let path = graph.path(leaf);
        let cut = path.iter().rposition(|&item| graph.is_boundary(item));
        let boundary = cut.map(|cut| path[cut]);
        let mut line: Vec<ItemIndex> = path[cut.map_or(0, |cut| cut + 1)..].to_vec();
        if let Some((anchor, kept)) = boundary.and_then(|boundary| kept(graph, boundary)) {
            let on_line: HashSet<ItemIndex> = line.iter().copied().collect();
            // A copy of a compaction under new uuids still names the summary and the messages that it was copied from.
            let anchors = [anchor, anchor.and_then(|anchor| graph.twin(anchor))];
            let at = line.iter().position(|&item| anchors.contains(&Some(item))).map_or(0, |at| at + 1);
            let kept = kept.into_iter().filter(|item| {
                !on_line.contains(item) && graph.twin(*item).is_none_or(|twin| !on_line.contains(&twin))
            });
            line.splice(at..at, kept);
        }
        let first = line.first().copied();
        let summary = first.filter(|&item| graph.node(item).has(Flag::CompactSummary));
        let compaction = boundary.or(summary);
        let entries = with_replies(graph, &line);
        Self { leaf, entries, boundary, compaction }
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

/// Adds the lines and results of replies that are not on the path: parallel calls branch.
fn with_replies(graph: &Graph<'_>, line: &[ItemIndex]) -> Vec<ItemIndex> {
    let replies = Replies::of(graph);
    let mut on_line = vec![false; graph.items.len()];
    for &item in line {
        on_line[item] = true;
    }
    let mut is_added = vec![false; graph.items.len()];
    // What is inserted before each index of the line.
    let mut inserted: Vec<(usize, ItemIndex)> = Vec::new();
    for (reply, stretch) in stretches(graph, line) {
        let mut missing = replies.missing(graph, reply, &on_line);
        missing.retain(|&item| !std::mem::replace(&mut is_added[item], true));
        missing.sort_by_key(|&item| graph.position(item));
        let mut at = stretch.start + 1;
        for item in missing {
            while at < stretch.end && graph.position(line[at]) < graph.position(item) {
                at += 1;
            }
            inserted.push((at, item));
        }
    }
    inserted.sort_by_key(|&(at, item)| (at, graph.position(item)));
    let mut inserted = inserted.into_iter().peekable();
    let mut entries = Vec::with_capacity(line.len() + inserted.len());
    for (index, &item) in line.iter().enumerate() {
        entries.extend(std::iter::from_fn(|| inserted.next_if(|&(at, _)| at == index)).map(|(_, one)| one));
        entries.push(item);
    }
    entries.extend(inserted.map(|(_, one)| one));
    entries
}

/// Returns the stretch of each reply in a line: from its first entry to its last one and the results after that.
fn stretches(graph: &Graph<'_>, line: &[ItemIndex]) -> Vec<(Id, Range<usize>)> {
    let mut stretches: Vec<(Id, Range<usize>)> = Vec::new();
    let mut index_of = vec![None; graph.session.id_count()];
    for (at, &item) in line.iter().enumerate() {
        let node = graph.node(item);
        let Some(reply) = node.message_id.filter(|_| node.kind == Kind::Assistant) else { continue };
        let index = *index_of[reply.index()].get_or_insert(stretches.len());
        match stretches.get_mut(index) {
            Some((_, stretch)) => stretch.end = at + 1,
            None => stretches.push((reply, at..at + 1)),
        }
    }
    for (_, stretch) in &mut stretches {
        let results = line[stretch.end..].iter();
        stretch.end += results.take_while(|&&item| graph.session.has_results(graph.node(item))).count();
    }
    stretches
}

/// The entries that make each call, in the order of the conversation.
pub(crate) struct Callers {
    calls: Calls,
    /// For the results of calls whose id several entries have: the entry whose call each result answers.
    of_repeated: HashMap<(Id, ItemIndex), Option<ItemIndex>>,
}

impl Callers {
    pub(crate) fn of(graph: &Graph<'_>) -> Self {
        let mut callers = Self { calls: graph.calls(), of_repeated: HashMap::new() };
        let mut is_answered: HashSet<(Id, ItemIndex)> = HashSet::new();
        for &item in graph.sequence.iter().filter(|&&item| !graph.items[item].is_side) {
            let results = graph.session.blocks(graph.node(item)).iter();
            let results = results.filter(|block| matches!(block.kind, BlockKind::ToolResult(_)));
            for call in results.filter_map(|block| block.tool) {
                if callers.calls.callers(call).len() > 1 && !callers.of_repeated.contains_key(&(call, item)) {
                    let caller = callers.of_repeated_call(graph, call, item, &is_answered);
                    is_answered.extend(caller.map(|caller| (call, caller)));
                    callers.of_repeated.insert((call, item), caller);
                }
            }
        }
        callers
    }

    /// Returns the entry whose call a result answers. Of several calls with the same id, it is the parent of the result, or else the
    /// last one before it. If that has a result already, it is another line of the same reply that has none.
    pub(crate) fn of_result(&self, call: Id, result: ItemIndex) -> Option<ItemIndex> {
        match self.calls.callers(call) {
            [(_, only)] => Some(*only),
            _ => self.of_repeated.get(&(call, result)).copied().flatten(),
        }
    }

    fn of_repeated_call(
        &self,
        graph: &Graph<'_>,
        call: Id,
        result: ItemIndex,
        is_answered: &HashSet<(Id, ItemIndex)>,
    ) -> Option<ItemIndex> {
        let callers = self.calls.callers(call);
        let parent = graph.items[result].parent.item();
        let parent = parent.filter(|&parent| graph.makes_call(parent, call));
        let nearest = parent.or_else(|| self.calls.last_before(graph, call, graph.position(result)))?;
        if !is_answered.contains(&(call, nearest)) {
            return Some(nearest);
        }
        let reply = graph.node(nearest).message_id;
        // Lines of a reply are next to each other: those of other replies end the search. No reply has many calls with one id.
        let at = callers.partition_point(|&(_, one)| graph.position(one) < graph.position(nearest));
        let of_reply = callers[..at].iter().rev().take(64).map(|&(_, one)| one);
        let mut of_reply = of_reply.take_while(|&one| reply.is_some() && graph.node(one).message_id == reply);
        Some(of_reply.find(|&one| !is_answered.contains(&(call, one))).unwrap_or(nearest))
    }
}

/// The lines of each reply, and the results of the calls of each line, in the order of the conversation.
struct Replies {
    lines: Vec<(Id, ItemIndex)>,
    results: Vec<((Id, Option<ItemIndex>), ItemIndex)>,
}

impl Replies {
    fn of(graph: &Graph<'_>) -> Self {
        let mut replies = Self { lines: Vec::new(), results: Vec::new() };
        let callers = Callers::of(graph);
        for &item in &graph.sequence {
            if graph.items[item].is_side {
                continue;
            }
            let node = graph.node(item);
            if let Some(id) = node.message_id.filter(|_| node.kind == Kind::Assistant) {
                replies.lines.push((id, item));
            }
            let blocks = graph.session.blocks(node).iter().filter(|_| node.kind == Kind::User);
            let results = blocks.filter(|block| matches!(block.kind, BlockKind::ToolResult(_)));
            for call in results.filter_map(|block| block.tool) {
                let caller = callers.of_result(call, item);
                replies.results.push(((call, caller), item));
            }
        }
        replies.lines.sort_by_key(|&(reply, _)| reply);
        replies.results.sort_by_key(|&(call, _)| call);
        replies
    }

    /// Returns the results of the call that a line, or a copy of it, makes.
    fn results_of(&self, graph: &Graph<'_>, call: Id, line: ItemIndex) -> impl Iterator<Item = ItemIndex> {
        let callers = [Some(line), graph.twin(line)].into_iter().flatten().map(Some).chain([None]);
        callers.flat_map(move |caller| members(&self.results, &(call, caller))).map(|&(_, result)| result)
    }

    /// Returns the lines of a reply that are not on the path, and the results of its calls that have none there.
    fn missing(&self, graph: &Graph<'_>, reply: Id, on_line: &[bool]) -> Vec<ItemIndex> {
        let (own, missing): (Vec<ItemIndex>, Vec<ItemIndex>) = members(&self.lines, &reply)
            .iter()
            .map(|&(_, line)| line)
            .filter(|&item| on_line[item] || !is_copy(graph, item, on_line))
            .partition(|&item| on_line[item]);
        let mut missing = missing;
        for item in own.into_iter().chain(missing.clone()) {
            let blocks = graph.session.blocks(graph.node(item)).iter();
            for call in blocks.filter(|block| block.kind == BlockKind::ToolUse).filter_map(|block| block.tool)
            {
                if self.results_of(graph, call, item).any(|result| on_line[result]) {
                    continue;
                }
                let mut results = self.results_of(graph, call, item);
                missing.extend(results.next().filter(|&result| !is_copy(graph, result, on_line)));
            }
        }
        missing
    }
}

/// Returns whether the path has a copy of an item.
fn is_copy(graph: &Graph<'_>, item: ItemIndex, on_line: &[bool]) -> bool {
    graph.twin(item).is_some_and(|twin| on_line[twin])
}

/// Returns the message that the conversation ends with: the last one that is the parent of no other.
pub(crate) fn newest_leaf(graph: &Graph<'_>, last_line: Option<ItemIndex>) -> Option<ItemIndex> {
    let mut is_tip = tips(graph);
    let repeated = last_line.and_then(|last| nearest_message(graph, last)).filter(|&item| is_tip[item]);
    repeated.or_else(|| {
        let any = newest(graph, &is_tip);
        drop_answered(graph, &mut is_tip);
        newest(graph, &is_tip).or(any)
    })
}

/// Returns the last tip in the order of the conversation.
fn newest(graph: &Graph<'_>, is_tip: &[bool]) -> Option<ItemIndex> {
    graph.sequence.iter().rev().copied().find(|&item| is_tip[item])
}

/// Takes results from the tips that belong to a reply with which the conversation went on elsewhere. Of parallel calls only one result has
/// something below it, and lines of the others may have been moved to the end of the file.
fn drop_answered(graph: &Graph<'_>, is_tip: &mut [bool]) {
    // The reply that each entry is a line of, or a descendant of.
    let mut reply_of: Vec<Option<Id>> = vec![None; graph.items.len()];
    let mut goes_on = vec![false; graph.session.id_count()];
    for &item in &graph.sequence {
        let node = graph.node(item);
        let above = graph.items[item].parent.item().and_then(|parent| reply_of[parent]);
        let own = node.message_id.filter(|_| node.kind == Kind::Assistant);
        reply_of[item] = own.or(above);
        // Another line of the reply, or a result.
        let is_part = if own.is_some() { own == above } else { graph.session.has_results(node) };
        if let Some(above) = above.filter(|_| graph.is_message(item) && !is_part) {
            goes_on[above.index()] = true;
        }
    }
    for (item, is_tip) in is_tip.iter_mut().enumerate().filter(|(_, is_tip)| **is_tip) {
        let is_answered = reply_of[item].is_some_and(|reply| goes_on[reply.index()]);
        *is_tip = !(is_answered && graph.session.has_only_results(graph.node(item)));
    }
}

/// Returns the message that an entry belongs to: itself, or the nearest one above it.
pub(crate) fn nearest_message(graph: &Graph<'_>, item: ItemIndex) -> Option<ItemIndex> {
    graph.upwards(item).find(|&one| graph.is_message(one))
}

/// Returns for each item whether it is a message below which there is no other one.
pub(crate) fn tips(graph: &Graph<'_>) -> Vec<bool> {
    let mut has_message_below = vec![false; graph.items.len()];
    for &item in graph.sequence.iter().rev() {
        let parent = graph.items[item].parent.item();
        if let Some(parent) = parent.filter(|_| graph.is_message(item) || has_message_below[item]) {
            has_message_below[parent] = true;
        }
    }
    (0..graph.items.len()).map(|item| graph.is_message(item) && !has_message_below[item]).collect()
}

/// Returns whether an entry is never sent, so that it cannot be missed.
pub(crate) fn is_unsent(graph: &Graph<'_>, item: ItemIndex) -> bool {
    let node = graph.node(item);
    node.has(Flag::Synthetic) || node.has(Flag::Virtual) || !node.kind.is_prompt_or_reply()
}

/// Returns whether the message names a parent that is lost.
pub(crate) fn follows_a_gap(graph: &Graph<'_>, item: ItemIndex) -> bool {
    matches!(graph.items[item].parent, Link::Lost | Link::Mended(_, Break::Missing))
}
