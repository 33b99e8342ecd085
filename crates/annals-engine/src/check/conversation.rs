//! What Claude Code would lose of a conversation, and what the API would refuse.

use annals_transcript::session::{BlockKind, BlockSpan, Id};

use super::{BrokenLink, Finding, Issue};
use crate::analysis::graph::{Break, ItemIndex, Link};
use crate::analysis::{Analysis, Evaluation, wanted};
use crate::error::Error;
use crate::request_rules::{FileVerdicts, Verdict};
use crate::snapshot::Snapshot;

/// Returns what Claude Code would send of a session. `verdicts` are those on all blocks of its entries; others are read.
pub(super) fn evaluation(
    analysis: &Analysis<'_>,
    snapshot: &Snapshot,
    verdicts: &FileVerdicts,
) -> Result<Evaluation, Error> {
    let mut failure = None;
    let evaluation = analysis.evaluate(analysis.session, |block, role, is_of_entry| {
        let known = verdicts.of(block, role).filter(|_| is_of_entry);
        known.unwrap_or_else(|| {
            let bytes = snapshot.span(block.offset, block.length).unwrap_or_else(|error| {
                failure.get_or_insert(error);
                Vec::new()
            });
            Verdict::of(role, &bytes)
        })
    });
    failure.map_or(Ok(evaluation), Err)
}

/// Returns what is wrong with the conversation of a session.
pub(super) fn findings(analysis: &Analysis<'_>, evaluation: &Evaluation) -> Vec<Finding> {
    let mut found = Found { analysis, findings: Vec::new() };
    let losses = Losses::of(analysis, evaluation);
    if let Some(obstacle) = evaluation.obstacle {
        found.add(analysis.wanted.leaf, Issue::NotResumable(obstacle));
    } else {
        found.add_lost(&losses);
        found.add_links(&losses);
    }
    for (item, issue) in &losses.calls {
        found.add(*item, issue.clone());
    }
    found.add_results();
    if let Some(&first) = evaluation.copies.first() {
        found.add(first, Issue::SentTwice { messages: evaluation.copies.len() });
    }
    for refused in &evaluation.refused {
        found.findings.push(Finding::at(refused.line, Issue::Refused(refused.rule)));
    }
    for branch in analysis.branches().into_iter().filter(|branch| branch.is_newer) {
        let issue = Issue::NewerBranch { messages: branch.messages, leaf: branch.uuid };
        found.findings.push(Finding::at(branch.line, issue));
    }
    found.add_backward_times();
    found.findings
}

/// Why messages of the conversation are not sent.
struct Losses {
    /// Whether an item is lost as a whole or in part for another reason than its calls.
    is_lost: Vec<bool>,
    /// Whether an item is left out because of its calls.
    is_dropped: Vec<bool>,
    /// What is wrong with calls that are left out.
    calls: Vec<(ItemIndex, Issue)>,
}

impl Losses {
    fn of(analysis: &Analysis<'_>, evaluation: &Evaluation) -> Self {
        let count = analysis.graph.items.len();
        let mut losses =
            Self { is_lost: vec![false; count], is_dropped: vec![false; count], calls: Vec::new() };
        let tools = Tools::of(analysis);
        for missing in &evaluation.missing {
            let spans = analysis.session.blocks(analysis.graph.node(missing.item));
            let mut is_explained = !missing.blocks.is_empty();
            for span in missing.blocks.iter().filter_map(|&block| spans.get(block)) {
                match (span.kind, span.tool) {
                    (BlockKind::ToolUse, Some(id)) if !tools.is_answered[id.index()] => {
                        losses.calls.push((missing.item, Issue::CallWithoutResult));
                    }
                    (BlockKind::ToolUse, Some(id)) if tools.is_repeated(id) => {
                        losses.calls.push((missing.item, Issue::RepeatedCall));
                    }
                    (BlockKind::ToolResult(_), Some(id)) if tools.is_repeated(id) => {}
                    _ => is_explained = false,
                }
            }
            losses.is_dropped[missing.item] = is_explained;
            losses.is_lost[missing.item] = !is_explained;
        }
        losses
    }
}

/// The calls and results of a conversation.
struct Tools {
    /// How often each call is made, by the index of its id.
    calls: Vec<u32>,
    /// Whether a call has a result, by the index of its id.
    is_answered: Vec<bool>,
}

impl Tools {
    fn of(analysis: &Analysis<'_>) -> Self {
        let ids = analysis.session.id_count();
        let mut tools = Self { calls: vec![0; ids], is_answered: vec![false; ids] };
        for &item in &analysis.messages {
            for block in analysis.session.blocks(analysis.graph.node(item)) {
                match (block.kind, block.tool) {
                    (BlockKind::ToolUse, Some(id)) => tools.calls[id.index()] += 1,
                    (BlockKind::ToolResult(_), Some(id)) => tools.is_answered[id.index()] = true,
                    _ => {}
                }
            }
        }
        tools
    }

    fn is_repeated(&self, call: Id) -> bool {
        self.calls[call.index()] > 1
    }
}

struct Found<'a, 's> {
    analysis: &'a Analysis<'s>,
    findings: Vec<Finding>,
}

impl Found<'_, '_> {
    fn add(&mut self, item: ItemIndex, issue: Issue) {
        let node = self.analysis.graph.node(item);
        self.findings.push(Finding::of_lines(node.at.line, 1, node.length, issue));
    }

    fn blocks(&self, item: ItemIndex) -> &[BlockSpan] {
        self.analysis.session.blocks(self.analysis.graph.node(item))
    }

    /// Returns whether a message has more than reasoning.
    fn has_content(&self, item: ItemIndex) -> bool {
        self.blocks(item).iter().any(|block| block.kind != BlockKind::Thinking)
    }

    /// Reports messages in a row that are lost.
    fn add_lost(&mut self, losses: &Losses) {
        // A message that is left out for another reason, or has nothing but reasoning, does not end a row.
        let messages = self.analysis.messages.iter().copied();
        let messages: Vec<ItemIndex> = messages
            .filter(|&item| losses.is_lost[item] || !losses.is_dropped[item] && self.has_content(item))
            .collect();
        for run in messages.chunk_by(|&one, &next| losses.is_lost[one] == losses.is_lost[next]) {
            if let [first, .., last] | [first @ last] = run
                && losses.is_lost[*first]
            {
                let to = self.analysis.graph.node(*last).at.line;
                self.add(*first, Issue::Lost { messages: run.len(), to });
            }
        }
    }

    /// Reports messages whose parent is not the message that they continue.
    fn add_links(&mut self, losses: &Losses) {
        let graph = &self.analysis.graph;
        for item in (0..graph.items.len()).filter(|&item| graph.is_message(item)) {
            let (broken, parent) = match graph.items[item].parent {
                Link::Mended(parent, Break::Missing) => (BrokenLink::Missing, Some(parent)),
                Link::Mended(parent, Break::NoParent) => (BrokenLink::NoParent, Some(parent)),
                Link::Mended(parent, Break::Circle) if graph.is_own_parent(item) => {
                    (BrokenLink::Own, Some(parent))
                }
                Link::Mended(parent, Break::Circle) => (BrokenLink::Circle, Some(parent)),
                Link::Lost => (BrokenLink::Missing, None),
                Link::Written(parent) if !graph.is_parent_written(item) => {
                    (BrokenLink::Progress, Some(parent))
                }
                Link::Written(_) | Link::Root => continue,
            };
            let before = parent.and_then(|parent| wanted::nearest_message(graph, parent));
            let costs = before.is_some_and(|before| losses.is_lost[before]);
            self.add(item, Issue::Link { broken, costs });
        }
    }

    /// Reports results whose call is nowhere in the file, and second results.
    fn add_results(&mut self) {
        let graph = &self.analysis.graph;
        let ids = self.analysis.session.id_count();
        let (mut is_called, mut is_answered) = (vec![false; ids], vec![false; ids]);
        let all = (0..graph.items.len()).flat_map(|item| self.blocks(item));
        let calls = all.filter(|block| block.kind == BlockKind::ToolUse);
        calls.filter_map(|block| block.tool).for_each(|call| is_called[call.index()] = true);
        let mut found = Vec::new();
        for &item in &self.analysis.messages {
            for block in
                self.blocks(item).iter().filter(|block| matches!(block.kind, BlockKind::ToolResult(_)))
            {
                match block.tool {
                    Some(call) if !is_called[call.index()] => found.push((item, Issue::ResultWithoutCall)),
                    Some(call) if std::mem::replace(&mut is_answered[call.index()], true) => {
                        found.push((item, Issue::RepeatedResult));
                    }
                    _ => {}
                }
            }
        }
        for (item, issue) in found {
            self.add(item, issue);
        }
    }

    fn add_backward_times(&mut self) {
        let graph = &self.analysis.graph;
        let path = self.analysis.path.iter().filter(|&&item| graph.is_message(item));
        let timed: Vec<(ItemIndex, i64)> =
            path.filter_map(|&item| Some((item, graph.node(item).time()?))).collect();
        let mut backward = timed.windows(2).filter(|pair| pair[1].1 < pair[0].1 - LARGEST_STEP_BACK_MS);
        if let Some(first) = backward.next() {
            let messages = 1 + backward.count() as u64;
            self.add(first[1].0, Issue::BackwardTimes { messages });
        }
    }
}

/// Lines that are written at the same time may differ by a little.
const LARGEST_STEP_BACK_MS: i64 = 60 * 60 * 1000;
