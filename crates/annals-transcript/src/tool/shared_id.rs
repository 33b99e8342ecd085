//! Calls whose id several calls of a session have. An API gives each call an id of its own, but proxies and other models do not always.

use std::collections::{HashMap, HashSet};

use super::{Call, mark_given_up};
use crate::chain::NodeIndex;
use crate::conversation::{Conversation, Transcript, block_bytes};
use crate::entry::Kind;
use crate::session::{BlockKind, BlockSpan, Id, Node};

/// The parent of a result is its call, or another result or line of the same reply. So many entries are looked at.
const MOST_PARENTS: usize = 1_000;

/// Returns the calls whose ids several calls have, by the offsets of their blocks. Each has its own result, or none: the one that is a child of it, or
/// else one that is after it. A block that the same reply has again in another line leads to the first of them. Calls of tools on the
/// server are not looked at.
pub fn calls_of_shared_ids<T: Transcript>(
    conversation: &Conversation<'_, T>,
) -> Result<HashMap<u64, Call>, T::Error> {
    let ids = shared_ids(conversation);
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let mut calls = Calls::read(conversation, &ids)?;
    calls.add_results(conversation, &ids);
    mark_given_up(conversation.session(), &mut calls.all);
    Ok(calls.by_offset.into_iter().map(|(offset, place)| (offset, calls.all[place])).collect())
}

/// Returns the entries of a kind with the blocks that have calls and results. Of the lines of one entry, only that with its content counts.
fn entries<'c, T: Transcript>(
    conversation: &'c Conversation<'_, T>,
    kind: Kind,
) -> impl Iterator<Item = (NodeIndex, &'c Node, &'c [BlockSpan])> {
    let session = conversation.session();
    let nodes = session.nodes().iter().enumerate();
    let nodes =
        nodes.filter(move |(at, node)| node.kind == kind && conversation.duplicates().content(*at) == *at);
    nodes.map(|(at, node)| (at, node, session.blocks(node)))
}

/// Returns the ids that several blocks with calls have.
fn shared_ids<T: Transcript>(conversation: &Conversation<'_, T>) -> HashSet<Id> {
    let mut ids = HashSet::new();
    for (_, _, blocks) in entries(conversation, Kind::Assistant) {
        for block in blocks.iter().filter(|block| block.kind == BlockKind::ToolUse) {
            let Some(id) = block.tool else { continue };
            if conversation.call(id).is_none_or(|call| call.block.offset != block.offset) {
                ids.insert(id);
            }
        }
    }
    ids
}

/// The calls of shared ids.
#[derive(Default)]
struct Calls {
    /// All of them in file order.
    all: Vec<Call>,
    by_offset: HashMap<u64, usize>,
    by_entry: HashMap<(NodeIndex, Id), Vec<usize>>,
    by_id: HashMap<Id, Vec<usize>>,
}

impl Calls {
    fn read<T: Transcript>(conversation: &Conversation<'_, T>, ids: &HashSet<Id>) -> Result<Self, T::Error> {
        let mut calls = Self::default();
        let mut in_replies: HashMap<(Id, Id, Vec<u8>), usize> = HashMap::new();
        for (node, entry, blocks) in entries(conversation, Kind::Assistant) {
            let calls_in = blocks.iter().filter(|block| block.kind == BlockKind::ToolUse);
            let mut blocks = calls_in.filter(|block| has_one_of(block, ids)).peekable();
            if blocks.peek().is_none() {
                continue;
            }
            let body = conversation.transcript().body(entry)?;
            for (block, id) in blocks.filter_map(|block| Some((block, block.tool?))) {
                let bytes = block_bytes(&body, entry, block).unwrap_or_default().to_vec();
                let next = calls.all.len();
                let first =
                    entry.message_id.map(|reply| *in_replies.entry((id, reply, bytes)).or_insert(next));
                // Two such blocks in one line are two calls.
                let repeated = first.filter(|&place| place < next && calls.all[place].node != node);
                let place = repeated.unwrap_or(next);
                if place == next {
                    calls.all.push(Call { node, block: *block, result: None, given_up: false });
                    calls.by_id.entry(id).or_default().push(place);
                }
                calls.by_offset.insert(block.offset, place);
                calls.by_entry.entry((node, id)).or_default().push(place);
            }
        }
        Ok(calls)
    }

    fn add_results<T: Transcript>(&mut self, conversation: &Conversation<'_, T>, ids: &HashSet<Id>) {
        let nodes = conversation.session().nodes().iter().enumerate();
        let node_by_id: HashMap<Id, NodeIndex> =
            nodes.filter_map(|(at, node)| Some((node.id?, conversation.duplicates().content(at)))).collect();
        for (node, entry, blocks) in entries(conversation, Kind::User) {
            let results = blocks.iter().filter(|block| block.is_result() && has_one_of(block, ids));
            let mut results: Vec<BlockSpan> = results.copied().collect();
            results.sort_by_key(|block| block.tool.map(Id::index));
            for results in results.chunk_by(|one, next| one.tool == next.tool) {
                let Some(id) = results[0].tool else { continue };
                let mut made = self.above(conversation, &node_by_id, (entry, id), results.len());
                if made.is_empty() {
                    made.extend(self.last_before(id, entry.at.offset));
                }
                let open = made.into_iter().filter(|&place| self.all[place].result.is_none());
                let pairs: Vec<_> = open.zip(results.iter().copied()).collect();
                for (place, result) in pairs {
                    self.all[place].result = Some((node, result));
                }
            }
        }
    }

    /// Returns the calls of an id among the ancestors of an entry with so many results, in file order: those of the closest entry that makes any, and if
    /// there are more results, of the other lines of that reply.
    fn above<T: Transcript>(
        &self,
        conversation: &Conversation<'_, T>,
        node_by_id: &HashMap<Id, NodeIndex>,
        (entry, id): (&Node, Id),
        results: usize,
    ) -> Vec<usize> {
        let nodes = conversation.session().nodes();
        let mut found: Vec<usize> = Vec::new();
        let mut reply = None;
        let mut parent = entry.parent;
        for _ in 0..MOST_PARENTS {
            let next = parent.and_then(|parent| node_by_id.get(&parent).copied());
            let Some(at) = next.filter(|_| found.len() < results) else { break };
            if let Some(places) = self.by_entry.get(&(at, id)) {
                if reply.is_some_and(|reply| nodes[at].message_id != reply) {
                    break;
                }
                reply = Some(nodes[at].message_id);
                found.extend(places);
            }
            if reply == Some(None) {
                break;
            }
            parent = nodes[at].parent;
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the last call of an id before an offset.
    fn last_before(&self, id: Id, offset: u64) -> Option<usize> {
        let places = self.by_id.get(&id)?;
        let end = places.partition_point(|&place| self.all[place].block.offset < offset);
        places[..end].last().copied()
    }
}

/// Returns whether a block makes or answers a call with one of these ids.
fn has_one_of(block: &BlockSpan, ids: &HashSet<Id>) -> bool {
    block.tool.is_some_and(|id| ids.contains(&id))
}
