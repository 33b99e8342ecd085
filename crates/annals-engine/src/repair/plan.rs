//! Decides which lines to append so that Claude Code resumes a session with everything that can still be read.
//!
//! Every plan is tried in memory: the lines are appended to a copy of the bytes, and the copy is read as Claude Code would
//! read it. A plan that does not make the session better is not made.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::io::Read;

use annals_transcript::Entry;
use annals_transcript::chain::Chain;
use annals_transcript::json::Value;
use annals_transcript::session::{BlockSpan, Node, Session};

use super::edits::{Change, ChangeKind, Changes, Edits, on_one_line};
use super::linking::Level;
use super::{in_place, unnamed};
use crate::analysis::graph::{Graph, ItemIndex, Places};
use crate::analysis::wanted::Wanted;
use crate::analysis::{Analysis, Branch, Evaluation, View};

/// How a session is repaired.
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// The last message of the conversation to keep, by the beginning of its uuid. `None` is the newest.
    pub branch: Option<String>,
    /// Remove all reasoning.
    pub strip_thinking: bool,
    /// Write the file anew if that makes it smaller, instead of appending to it.
    pub in_place: bool,
}

/// What a repair would do.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The changes, in the order in which they are written.
    pub changes: Vec<Change>,
    /// The bytes to append to the file.
    pub appended: Vec<u8>,
    /// The bytes that take the place of the file, if it is repaired in place.
    pub rewritten: Option<Vec<u8>>,
    /// What Claude Code would restore from the file as it is.
    pub before: View,
    /// What it would restore after the repair.
    pub after: View,
    /// How many messages that Claude Code restores now are left out, because the user chose another branch.
    pub left_out: usize,
    /// The other conversations of the file.
    pub branches: Vec<Branch>,
}

impl Plan {
    /// Returns whether nothing has to be repaired.
    pub fn is_empty(&self) -> bool {
        self.appended.is_empty() && self.rewritten.is_none()
    }
}

/// After this many repairs of its own result, a plan is taken as it is.
const MAX_ROUNDS: usize = 4;

/// Plans the repair of a transcript.
pub fn plan(file: &[u8], options: &RepairOptions) -> Plan {
    let mut bytes = file.to_vec();
    let mut changes = Changes::default();
    let mut first: Option<Plan> = None;
    let mut after = View::default();
    for _ in 0..MAX_ROUNDS {
        let step = Planner::new(&bytes, options).plan();
        bytes.extend_from_slice(&step.appended);
        step.changes.iter().for_each(|change| changes.add_of_round(change.clone()));
        after.clone_from(&step.after);
        let is_done = step.is_empty();
        first.get_or_insert(step);
        if is_done {
            break;
        }
    }
    let first = first.unwrap_or_default();
    let rewritten = options.in_place.then(|| in_place::rewritten(&bytes, file.len())).flatten();
    let appended = bytes.split_off(file.len());
    Plan { changes: changes.list, appended, rewritten, after, ..first }
}

/// One attempt to repair a file.
pub(super) struct Planner<'b> {
    /// The file, and behind it entries that had no uuid or no type.
    pub(super) bytes: Cow<'b, [u8]>,
    file: &'b [u8],
    pub(super) named: Edits,
    places: Places,
    pub(super) options: &'b RepairOptions,
}

impl<'b> Planner<'b> {
    fn new(file: &'b [u8], options: &'b RepairOptions) -> Self {
        let (named, places) = unnamed::named(file);
        let appended = named.appended(file, None);
        let bytes = if appended.is_empty() { file.into() } else { [file, &appended].concat().into() };
        Self { bytes, file, named, places, options }
    }

    fn plan(&self) -> Plan {
        let session = read(&self.bytes, &[]);
        let Some(analysis) = Analysis::of(&session, &self.places, self.options.branch.as_deref()) else {
            let view = View { obstacle: Chain::build(&session).obstacle(), ..View::default() };
            return Plan { before: view.clone(), after: view, ..Plan::default() };
        };
        let attempt = Attempt::new(self, &analysis);
        let before = attempt.evaluate(&[]);
        let (edits, after) = attempt.best(&before);
        let present = self.present(&session, &analysis);
        let (present, left_out) = present.unwrap_or_else(|| (analysis.view(&before), 0));
        Plan {
            changes: edits.changes().to_vec(),
            appended: attempt.appended(&edits),
            rewritten: None,
            before: present,
            after: analysis.view(&after),
            left_out,
            branches: analysis.branches(),
        }
    }

    /// Returns what Claude Code restores now, if the user chose another branch, and how many of these messages the branch does not have.
    fn present(&self, session: &Session, chosen: &Analysis<'_>) -> Option<(View, usize)> {
        self.options.branch.as_ref()?;
        let present = Analysis::of(session, &self.places, None)?;
        let evaluation = Attempt::new(self, &present).evaluate(&[]);
        // Both analyses have the same graph: only the last message differs.
        let is_chosen: HashSet<ItemIndex> = chosen.messages.iter().copied().collect();
        let restored = present.messages.iter().filter(|item| evaluation.restored.contains(item));
        let left_out = restored.filter(|item| !is_chosen.contains(item)).count();
        Some((present.view(&evaluation), left_out))
    }
}

/// Reads a file with lines behind it as Claude Code would, and compares with the conversation that is wanted. `uuids` are those of all items.
pub(super) fn evaluation_of(
    analysis: &Analysis<'_>,
    uuids: &[String],
    file: &[u8],
    appended: &[u8],
) -> Evaluation {
    let session = read(file, appended);
    let mut line_of: HashMap<String, usize> = HashMap::with_capacity(uuids.len());
    for (index, node) in session.nodes().iter().enumerate() {
        if let Some(id) = node.id.filter(|_| node.is_loaded_by_claude_code()) {
            line_of.insert(session.id_texts().get(id), index);
        }
    }
    let lines: Vec<_> = uuids.iter().map(|uuid| line_of.get(uuid).copied()).collect();
    let block = |block: &BlockSpan| match block.offset.checked_sub(file.len() as u64) {
        None => span(file, block.offset, block.length).to_vec(),
        Some(offset) => span(appended, offset, block.length).to_vec(),
    };
    analysis.evaluate_as(&session, &lines, block)
}

/// Reads a file with lines behind it.
fn read(file: &[u8], appended: &[u8]) -> Session {
    Session::read(file.chain(appended)).unwrap_or_default()
}

/// Returns the object of an entry, on one line.
pub(super) fn json_of(bytes: &[u8], node: &Node) -> Vec<u8> {
    let entry = Entry::new(span(bytes, node.at.offset, node.length));
    on_one_line(entry.body().map_or(&[][..], Value::bytes))
}

fn span(bytes: &[u8], offset: u64, length: u64) -> &[u8] {
    let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    let to = from.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)).min(bytes.len());
    &bytes[from..to]
}

/// The search for the best lines: `linking.rs` links messages, `mend.rs` changes their content, `thinking.rs` removes reasoning.
pub(super) struct Attempt<'a, 's> {
    pub(super) planner: &'a Planner<'a>,
    pub(super) analysis: &'a Analysis<'s>,
    /// The uuid of each item.
    uuids: Vec<String>,
    /// The item of each uuid.
    items: HashMap<String, ItemIndex>,
}

impl<'a, 's> Attempt<'a, 's> {
    fn new(planner: &'a Planner<'a>, analysis: &'a Analysis<'s>) -> Self {
        let uuids: Vec<String> =
            (0..analysis.graph.items.len()).map(|item| analysis.graph.uuid(item)).collect();
        let items = uuids.iter().cloned().enumerate().map(|(item, uuid)| (uuid, item)).collect();
        Self { planner, analysis, uuids, items }
    }

    /// Returns the best plan: the one that misses the fewest messages with the fewest changes.
    fn best(&self, before: &Evaluation) -> (Edits, Evaluation) {
        let mut best = self.mend_content((Edits::default(), before.clone()));
        let has_unnamed = !self.planner.named.is_empty();
        if !best.1.is_complete() || has_unnamed {
            let mut tried: HashSet<Vec<u8>> = HashSet::new();
            for (level, names_leaf) in
                Level::ALL.into_iter().flat_map(|level| [(level, false), (level, true)])
            {
                let edits = self.linked(level, names_leaf);
                let appended = self.appended(&edits);
                // An attempt reads the whole file several times, and in most files the levels differ in nothing.
                if tried.contains(&appended) {
                    continue;
                }
                let after = self.evaluate(&appended);
                tried.insert(appended);
                let mended = self.mend_content((edits, after));
                if mended.1.score() < best.1.score() && !self.loses_messages(before, &mended.1) {
                    best = mended;
                }
                if best.1.is_complete() {
                    break;
                }
            }
        }
        self.without_thinking(best)
    }

    pub(super) fn evaluate_edits(&self, edits: &Edits) -> Evaluation {
        self.evaluate(&self.appended(edits))
    }

    /// Returns whether a session that Claude Code can continue now would lose messages without winning more, or as many newer ones. Only a
    /// user who names a branch may want that. Messages that the last compaction summarised are not lost.
    fn loses_messages(&self, before: &Evaluation, after: &Evaluation) -> bool {
        let can_continue = before.obstacle.is_none() && before.refused.is_empty();
        if !can_continue || self.planner.options.branch.is_some() {
            return false;
        }
        let start = self.wanted().compaction.map_or(0, |start| self.graph().position(start));
        let position = |&item: &ItemIndex| self.graph().position(item);
        let lost: Vec<usize> = before.restored.difference(&after.restored).map(position).collect();
        let lost: Vec<usize> = lost.into_iter().filter(|&position| position >= start).collect();
        let won: Vec<usize> = after.restored.difference(&before.restored).map(position).collect();
        match won.len().cmp(&lost.len()) {
            Ordering::Less => true,
            Ordering::Equal => won.iter().min() < lost.iter().max(),
            Ordering::Greater => false,
        }
    }

    /// Reads the file with lines behind it as Claude Code would, and compares with the conversation that is wanted.
    fn evaluate(&self, appended: &[u8]) -> Evaluation {
        evaluation_of(self.analysis, &self.uuids, self.planner.file, appended)
    }

    /// Returns the bytes that edits append to the file.
    fn appended(&self, edits: &Edits) -> Vec<u8> {
        let leaf = edits.leaf.as_ref().map(|_| self.json(edits, self.wanted().leaf));
        edits.appended(self.planner.file, leaf.as_deref())
    }

    /// Puts the leaf behind the other lines.
    pub(super) fn end(&self, edits: &mut Edits) {
        let leaf = self.wanted().leaf;
        edits.end_with(self.uuid(leaf), self.line_of(leaf));
    }

    /// Replaces the line of an item.
    pub(super) fn change(&self, edits: &mut Edits, item: ItemIndex, json: Vec<u8>, kind: ChangeKind) {
        edits.put(self.uuid(item), json, kind, self.line_of(item));
    }

    /// Returns the object of an item as it is after the edits.
    pub(super) fn json(&self, edits: &Edits, item: ItemIndex) -> Vec<u8> {
        let changed = edits.get(self.uuid(item)).map(<[u8]>::to_vec);
        changed.unwrap_or_else(|| json_of(&self.planner.bytes, self.node(item)))
    }

    /// Returns the line of an item in the file.
    pub(super) fn line_of(&self, item: ItemIndex) -> Option<u64> {
        let node = self.node(item);
        (node.at.offset < self.planner.file.len() as u64).then_some(node.at.line)
    }

    pub(super) fn item(&self, uuid: &str) -> Option<ItemIndex> {
        self.items.get(uuid).copied()
    }

    pub(super) fn uuid(&self, item: ItemIndex) -> &str {
        &self.uuids[item]
    }

    pub(super) fn node(&self, item: ItemIndex) -> &'s Node {
        self.analysis.graph.node(item)
    }

    pub(super) fn graph(&self) -> &'a Graph<'s> {
        &self.analysis.graph
    }

    pub(super) fn wanted(&self) -> &'a Wanted {
        &self.analysis.wanted
    }

    pub(super) fn session(&self) -> &'s Session {
        self.analysis.session
    }
}
