//! What Claude Code would send of a session, compared with the conversation that it should send.

use annals_transcript::chain::{Chain, Obstacle};
use annals_transcript::model::{self, Messages, Part, Role};
use annals_transcript::session::{BlockKind, BlockSpan, Node, Session};

use super::Analysis;
use super::graph::ItemIndex;
use crate::request_rules::{self, Rule, Verdict, Violation};

/// What Claude Code would restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Why it would restore nothing.
    pub obstacle: Option<Obstacle>,
    /// The messages of the conversation that it would send.
    pub sent: usize,
    /// The messages that can be read and would not be sent.
    pub missing: Vec<MissingMessage>,
    /// What the API would refuse the request for, and the line.
    pub violations: Vec<(Rule, u64)>,
}

/// A message that would not be sent, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingMessage {
    /// Its uuid.
    pub uuid: String,
    /// Its line.
    pub line: u64,
}

/// A message with blocks that are not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) item: ItemIndex,
    /// The line; 0 if Claude Code cannot read the message.
    pub(crate) line: u64,
    /// The indices of the blocks; none if Claude Code cannot read the message.
    pub(crate) blocks: Vec<usize>,
}

/// A block that the API refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) rule: Rule,
    /// `None` if the block is not one of an entry of the file.
    pub(crate) item: Option<ItemIndex>,
    pub(crate) line: u64,
    /// The index of the block; `None` if the whole message breaks the rule.
    pub(crate) block: Option<usize>,
}

/// What a file would be restored as.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evaluation {
    pub(crate) obstacle: Option<Obstacle>,
    /// How many messages are sent wholly.
    sent: usize,
    /// The messages that are not, in the order of the conversation.
    pub(crate) missing: Vec<Missing>,
    /// For each item whether it is restored, wanted or not. Those that are there twice are left out.
    pub(crate) restored: Vec<bool>,
    /// How often an entry is sent before one that comes before it.
    disorder: usize,
    /// The entries that are sent although a message of the conversation has the same content.
    pub(crate) copies: Vec<ItemIndex>,
    pub(crate) refused: Vec<Refused>,
}

impl Evaluation {
    /// Returns how bad it is: the smaller, the better.
    pub(crate) fn score(&self) -> (bool, usize, usize, usize, usize) {
        let blocks = self.missing.iter().map(|missing| missing.blocks.len().max(1)).sum();
        (self.obstacle.is_some(), blocks, self.refused.len(), self.copies.len(), self.disorder)
    }

    /// Returns whether everything is sent.
    pub(crate) fn is_complete(&self) -> bool {
        self.obstacle.is_none() && self.missing.is_empty() && self.refused.is_empty()
    }
}

impl Analysis<'_> {
    /// Returns what Claude Code would send of the session itself, or of the session with lines appended to it, as
    /// [`Session::with_lines`] returns it. `verdict` returns what the rules of the API say about a block.
    pub(crate) fn evaluate(
        &self,
        session: &Session,
        verdict: impl FnMut(&BlockSpan, Role, bool) -> Verdict,
    ) -> Evaluation {
        let lines = loaded_lines(session);
        let of_items: Vec<_> = self.graph.items.iter().map(|item| lines[item.id.index()]).collect();
        self.evaluate_as(session, &of_items, verdict)
    }

    /// Returns how many messages Claude Code would not restore, without a look at their content.
    pub(crate) fn lost_messages(&self) -> usize {
        let lines = loaded_lines(self.session);
        let of_items = self.graph.items.iter().map(|item| lines[item.id.index()]);
        let nodes: Vec<_> = of_items.map(|line| Some(&self.session.nodes()[line?])).collect();
        let chain = Chain::build(self.session);
        let mut found = Evaluation::default();
        if chain.obstacle().is_none() {
            self.compare(self.session, &nodes, &SentBlocks::of(&model::messages(&chain)), &mut found);
        }
        found.missing.len()
    }

    /// Returns what Claude Code would send of another version of the session, in which each item has the given line.
    pub(crate) fn evaluate_as(
        &self,
        session: &Session,
        lines: &[Option<usize>],
        verdict: impl FnMut(&BlockSpan, Role, bool) -> Verdict,
    ) -> Evaluation {
        let chain = Chain::build(session);
        let obstacle = chain.obstacle();
        let messages = if obstacle.is_some() { Messages::default() } else { model::messages(&chain) };
        let mut found = Evaluation { obstacle, ..Evaluation::default() };
        let nodes: Vec<_> = lines.iter().map(|line| line.map(|line| &session.nodes()[line])).collect();
        self.compare(session, &nodes, &SentBlocks::of(&messages), &mut found);
        let item_of = items_of(session, &nodes);
        let mut is_restored = vec![false; nodes.len()];
        for &node in messages.iter().flat_map(|message| message.entries) {
            if let Some(item) = session.nodes()[node].id.and_then(|id| item_of[id.index()]) {
                is_restored[item] = true;
            }
        }
        found.copies = self.copies.iter().copied().filter(|&item| is_restored[item]).collect();
        self.copies.iter().for_each(|&item| is_restored[item] = false);
        found.restored = is_restored;
        let violations = request_rules::check_verdicts(session, &messages, verdict);
        found.refused =
            violations.into_iter().map(|violation| refused(session, &item_of, violation)).collect();
        found
    }

    /// Returns an evaluation as it is shown.
    pub(crate) fn view(&self, evaluation: &Evaluation) -> View {
        let missing = evaluation.missing.iter();
        View {
            obstacle: evaluation.obstacle,
            sent: evaluation.sent,
            missing: missing
                .map(|missing| MissingMessage {
                    uuid: self.graph.uuid(missing.item),
                    line: if missing.line == 0 { self.line_in_file(missing.item) } else { missing.line },
                })
                .collect(),
            violations: evaluation.refused.iter().map(|refused| (refused.rule, refused.line)).collect(),
        }
    }

    /// Returns the line where an entry that Claude Code cannot read is in the file.
    fn line_in_file(&self, item: ItemIndex) -> u64 {
        let nodes = self.session.nodes();
        let after = nodes.partition_point(|node| node.at.offset <= self.graph.items[item].place);
        nodes[..after].last().map_or(0, |node| node.at.line)
    }

    /// Compares the blocks of all messages with those that are sent.
    fn compare(&self, session: &Session, nodes: &[Option<&Node>], sent: &SentBlocks, found: &mut Evaluation) {
        // Whether a call is made, and whether one of its results was looked at, by the index of its id.
        let mut is_called = vec![false; session.id_count()];
        for node in self.messages.iter().filter_map(|&item| nodes[item]) {
            let calls = session.blocks(node).iter().filter(|block| block.kind == BlockKind::ToolUse);
            calls.filter_map(|block| block.tool).for_each(|call| is_called[call.index()] = true);
        }
        let mut is_answered = vec![false; session.id_count()];
        let mut last_place = 0;
        for &item in &self.messages {
            let Some(node) = nodes[item] else {
                found.missing.push(Missing { item, line: 0, blocks: Vec::new() });
                continue;
            };
            // Of a message that was written twice, Claude Code may send the other one.
            let twin = self.graph.twin(item).and_then(|twin| nodes[twin]);
            let of_twin = twin.map_or(&[][..], |twin| session.blocks(twin));
            let mut missing = Vec::new();
            let mut place = None;
            for (index, block) in session.blocks(node).iter().enumerate() {
                let is_demanded = match block.kind {
                    BlockKind::Text | BlockKind::ToolUse | BlockKind::Image | BlockKind::Other => true,
                    BlockKind::ToolResult(_) => block.tool.is_some_and(|call| {
                        is_called[call.index()] && !std::mem::replace(&mut is_answered[call.index()], true)
                    }),
                    _ => false,
                };
                if !is_demanded {
                    continue;
                }
                match sent.place(block) {
                    Some(at) => place = place.or(Some(at)),
                    None if of_twin.get(index).is_some_and(|block| sent.place(block).is_some()) => {}
                    None => missing.push(index),
                }
            }
            if missing.is_empty() {
                found.sent += 1;
            } else {
                found.missing.push(Missing { item, line: node.at.line, blocks: missing });
            }
            if let Some(place) = place {
                found.disorder += usize::from(place < last_place);
                last_place = last_place.max(place);
            }
        }
    }
}

/// The blocks that are sent, by their offsets: the place of each in the request.
struct SentBlocks(Vec<(u64, usize)>);

impl SentBlocks {
    fn of(messages: &Messages<'_>) -> Self {
        let mut sent: Vec<(u64, usize)> = Vec::new();
        for part in messages.iter().flat_map(|message| message.parts) {
            let place = sent.len();
            match part {
                Part::Block(block) | Part::BlockWithNewline(block) => sent.push((block.offset, place)),
                Part::Wrapped { blocks, .. } => sent.extend(blocks.iter().map(|block| (block.offset, place))),
                Part::Placeholder(_) | Part::PlaceholderResult { .. } => {}
            }
        }
        // A block that is sent twice counts where it is sent first. Nearly all blocks are in order already.
        sent.sort_by_key(|&(offset, _)| offset);
        sent.dedup_by_key(|(offset, _)| *offset);
        Self(sent)
    }

    /// Returns where a block is sent.
    fn place(&self, block: &BlockSpan) -> Option<usize> {
        let found = self.0.binary_search_by_key(&block.offset, |(offset, _)| *offset).ok()?;
        Some(self.0[found].1)
    }
}

/// Returns the item of each id of a session, in which each item has the given entry.
fn items_of(session: &Session, nodes: &[Option<&Node>]) -> Vec<Option<ItemIndex>> {
    let mut items = vec![None; session.id_count()];
    for (item, node) in nodes.iter().enumerate() {
        if let Some(id) = node.and_then(|node| node.id) {
            items[id.index()] = Some(item);
        }
    }
    items
}

fn refused(session: &Session, item_of: &[Option<ItemIndex>], violation: Violation) -> Refused {
    let node = &session.nodes()[violation.node];
    let item = node.id.and_then(|id| item_of[id.index()]);
    let block =
        violation.block.and_then(|at| session.blocks(node).iter().position(|block| block.offset == at));
    Refused { rule: violation.rule, item, line: node.at.line, block }
}

/// Returns the line that counts of each entry that Claude Code loads, by the index of its id.
pub(crate) fn loaded_lines(session: &Session) -> Vec<Option<usize>> {
    let mut lines = vec![None; session.id_count()];
    for (index, node) in session.nodes().iter().enumerate() {
        if let Some(id) = node.id.filter(|_| node.is_loaded_by_claude_code()) {
            lines[id.index()] = Some(index);
        }
    }
    lines
}
