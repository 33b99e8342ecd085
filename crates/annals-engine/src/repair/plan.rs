//! Decides which lines to append so that Claude Code resumes a session with everything that can still be read.
//!
//! Every plan is tried in memory: the lines are appended to a copy of the bytes, and the copy is read as Claude Code would
//! read it. A plan that does not make the session better is not made.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::io::Read;

use annals_transcript::chain::Chain;
use annals_transcript::json::Value;
use annals_transcript::model::Role;
use annals_transcript::session::{BlockSpan, Node, Session};
use annals_transcript::{Entry, Kind};

use super::edits::{Change, ChangeKind, Changes, Edits, on_one_line};
use super::linking::Level;
use super::view_diff::ViewDiff;
use super::{in_place, unnamed};
use crate::analysis::graph::{Graph, ItemIndex, Places};
use crate::analysis::wanted::Wanted;
use crate::analysis::{Analysis, Branch, Evaluation, View};
use crate::request_rules::{FileVerdicts, Verdict};

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
    /// How the messages change that Claude Code restores.
    pub diff: ViewDiff,
}

impl Plan {
    /// Returns whether nothing has to be repaired.
    pub fn is_empty(&self) -> bool {
        self.appended.is_empty() && self.rewritten.is_none()
    }
}

/// How many entries each fix changes where it only has to be known whether fixes help.
const SOME_CHANGES: usize = 16;

/// After this many repairs of its own result, a plan is taken as it is.
const MAX_ROUNDS: usize = 4;

/// Plans the repair of a transcript.
pub fn plan(file: &[u8], options: &RepairOptions) -> Plan {
    let plan = plan_without_diff(file, options);
    let after = match &plan.rewritten {
        _ if plan.is_empty() => return plan,
        Some(rewritten) => Cow::Borrowed(&rewritten[..]),
        None => Cow::Owned([file, &plan.appended].concat()),
    };
    Plan { diff: ViewDiff::between(file, &after), ..plan }
}

/// Plans the repair of a transcript for callers that show no difference.
pub(crate) fn plan_without_diff(file: &[u8], options: &RepairOptions) -> Plan {
    let mut bytes = file.to_vec();
    let mut changes = Changes::default();
    let mut first: Option<Plan> = None;
    let mut after = View::default();
    for _ in 0..MAX_ROUNDS {
        let step = planned(&bytes, options);
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

/// Plans one round.
fn planned(file: &[u8], options: &RepairOptions) -> Plan {
    let session = Session::read(file).unwrap_or_default();
    let planner = Planner::of_any(&file, &session, options);
    if planner.named_lines.is_empty() {
        return planner.plan(&session);
    }
    planner.plan(&read(file, &planner.named_lines))
}

/// Reads a file with lines appended to it.
fn read(file: &[u8], appended: &[u8]) -> Session {
    Session::read(file.chain(appended)).unwrap_or_default()
}

/// Returns whether the plan of a repair would not be empty, without making the plan. `evaluation` is that of the analysis, whose session is the whole
/// transcript. `None` if only a plan can decide: then there are entries that Claude Code does not read.
pub(crate) fn has_work(
    source: &dyn Source,
    analysis: &Analysis<'_>,
    evaluation: &Evaluation,
    verdicts: &FileVerdicts,
) -> Option<bool> {
    if unnamed::may_have_any(analysis.session) {
        return None;
    }
    let options = RepairOptions::default();
    let planner = Planner { known: Some(verdicts), ..Planner::of(source, &options) };
    // A file may need thousands of changes. Nearly always the first of them help by themselves.
    let some = Attempt { most_changes: SOME_CHANGES, ..Attempt::new(&planner, analysis) };
    Some(some.improves(evaluation) || Attempt::new(&planner, analysis).improves(evaluation))
}

/// A transcript that is repaired: its bytes in memory, or on disk.
pub(crate) trait Source {
    /// Returns how many bytes it has.
    fn length(&self) -> u64;

    /// Returns a part of it.
    fn span(&self, offset: u64, length: u64) -> Cow<'_, [u8]>;
}

impl Source for &[u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn span(&self, offset: u64, length: u64) -> Cow<'_, [u8]> {
        span(self, offset, length).into()
    }
}

#[cfg(test)]
thread_local! {
    /// How many bytes of entries plans have read, to test that the work grows with the size of a file only.
    pub(super) static BYTES_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// One attempt to repair a file.
pub(super) struct Planner<'b> {
    file: &'b dyn Source,
    /// The lines of entries that had no uuid or no type. They follow the file.
    named_lines: Vec<u8>,
    pub(super) named: Edits,
    places: Places,
    pub(super) options: &'b RepairOptions,
    /// What the rules of the API say about the blocks of the file, if that is known.
    known: Option<&'b FileVerdicts>,
    /// What the rules say about the blocks of the file that were looked at, by their offsets.
    verdicts: RefCell<HashMap<u64, (Role, Verdict)>>,
}

impl<'b> Planner<'b> {
    /// Plans for a file in which all messages have a uuid and a type.
    fn of(file: &'b dyn Source, options: &'b RepairOptions) -> Self {
        Self {
            file,
            named_lines: Vec::new(),
            named: Edits::default(),
            places: Places::new(),
            options,
            known: None,
            verdicts: RefCell::default(),
        }
    }

    /// Plans for any file. `session` is what can be read in it.
    fn of_any(file: &'b &'b [u8], session: &Session, options: &'b RepairOptions) -> Self {
        let planner = Self::of(file, options);
        if !unnamed::may_have_any(session) {
            return planner;
        }
        let (named, places) = unnamed::named(file);
        let named_lines = named.appended(ends_in_newline(file), None);
        Self { named_lines, named, places, ..planner }
    }

    fn plan(&self, session: &Session) -> Plan {
        let Some(analysis) = Analysis::of(session, &self.places, self.options.branch.as_deref()) else {
            let view = View { obstacle: Chain::build(session).obstacle(), ..View::default() };
            return Plan { before: view.clone(), after: view, ..Plan::default() };
        };
        let attempt = Attempt::new(self, &analysis);
        let before = attempt.evaluate(&[]);
        let (edits, after) = attempt.best(&before);
        let present = self.present(session, &analysis);
        let (present, left_out) = present.unwrap_or_else(|| (analysis.view(&before), 0));
        Plan {
            changes: edits.changes().to_vec(),
            appended: attempt.appended(&edits),
            rewritten: None,
            before: present,
            after: analysis.view(&after),
            left_out,
            branches: analysis.branches(),
            diff: ViewDiff::default(),
        }
    }

    /// Returns what Claude Code restores now, if the user chose another branch, and how many of these messages the branch does not have.
    fn present(&self, session: &Session, chosen: &Analysis<'_>) -> Option<(View, usize)> {
        self.options.branch.as_ref()?;
        let present = Analysis::of(session, &self.places, None)?;
        let evaluation = Attempt::new(self, &present).evaluate(&[]);
        // Both analyses have the same graph: only the last message differs.
        let is_chosen: HashSet<ItemIndex> = chosen.messages.iter().copied().collect();
        let restored = present.messages.iter().filter(|item| evaluation.restored[**item]);
        let left_out = restored.filter(|item| !is_chosen.contains(item)).count();
        Some((present.view(&evaluation), left_out))
    }

    /// Returns a part of the file, or of the lines after it.
    fn span(&self, offset: u64, length: u64) -> Cow<'_, [u8]> {
        match offset.checked_sub(self.file.length()) {
            None => self.file.span(offset, length),
            Some(offset) => span(&self.named_lines, offset, length).into(),
        }
    }

    /// Returns the object of an entry, on one line.
    pub(super) fn json_of(&self, node: &Node) -> Vec<u8> {
        let bytes = self.span(node.at.offset, node.length);
        on_one_line(Entry::new(&bytes).body().map_or(&[][..], Value::bytes))
    }

    /// Returns what the rules say about a block of the file or of lines after it. Every plan asks for the blocks of the file again.
    fn verdict(&self, appended: &[u8], block: &BlockSpan, role: Role, is_of_entry: bool) -> Verdict {
        if let Some(offset) = block.offset.checked_sub(self.file.length()) {
            return Verdict::of(role, span(appended, offset, block.length));
        }
        let known = self.known.filter(|_| is_of_entry).and_then(|known| known.of(block, role));
        if let Some(verdict) = known {
            return verdict;
        }
        let mut verdicts = self.verdicts.borrow_mut();
        match verdicts.get(&block.offset) {
            Some((own, verdict)) if *own == role => verdict.clone(),
            _ => {
                let verdict = Verdict::of(role, &self.file.span(block.offset, block.length));
                verdicts.insert(block.offset, (role, verdict.clone()));
                verdict
            }
        }
    }
}

/// Reads a file as Claude Code would, and compares with the conversation that is wanted. `uuids` are those of all items.
pub(super) fn evaluation_of(analysis: &Analysis<'_>, uuids: &[&str], file: &[u8]) -> Evaluation {
    let session = Session::read(file).unwrap_or_default();
    let lines = lines_of(&session, uuids);
    analysis.evaluate_as(&session, &lines, |block, role, _| {
        Verdict::of(role, span(file, block.offset, block.length))
    })
}

/// Returns the line that counts of each uuid.
fn lines_of(session: &Session, uuids: &[&str]) -> Vec<Option<usize>> {
    let mut line_of: HashMap<String, usize> = HashMap::with_capacity(uuids.len());
    for (index, node) in session.nodes().iter().enumerate() {
        if let Some(id) = node.id.filter(|_| node.is_loaded_by_claude_code()) {
            line_of.insert(session.id_texts().get(id), index);
        }
    }
    uuids.iter().map(|&uuid| line_of.get(uuid).copied()).collect()
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

/// Returns whether lines can be appended to a file as they are.
fn ends_in_newline(file: &dyn Source) -> bool {
    let length = file.length();
    length == 0 || file.span(length - 1, 1).last() == Some(&b'\n')
}

/// The search for the best lines: `linking.rs` links messages, `mend.rs` changes their content, `thinking.rs` removes reasoning.
pub(super) struct Attempt<'a, 's> {
    pub(super) planner: &'a Planner<'a>,
    pub(super) analysis: &'a Analysis<'s>,
    /// The most entries whose content each fix changes.
    pub(super) most_changes: usize,
    /// The uuids of items, as far as they were asked for.
    uuids: Vec<OnceCell<String>>,
}

impl<'a, 's> Attempt<'a, 's> {
    fn new(planner: &'a Planner<'a>, analysis: &'a Analysis<'s>) -> Self {
        let uuids = vec![OnceCell::new(); analysis.graph.items.len()];
        Self { planner, analysis, most_changes: usize::MAX, uuids }
    }

    /// Returns whether there is a plan that is better than none.
    fn improves(&self, before: &Evaluation) -> bool {
        let unchanged = (Edits::default(), before.clone());
        self.can_mend_content(&unchanged) || self.best_linked(before, unchanged).1.score() < before.score()
    }

    /// Returns the best plan: the one that misses the fewest messages with the fewest changes.
    fn best(&self, before: &Evaluation) -> (Edits, Evaluation) {
        let best = self.mend_content((Edits::default(), before.clone()));
        self.without_thinking(self.best_linked(before, best))
    }

    /// Returns the best plan that links messages, if it is better than `best`.
    fn best_linked(&self, before: &Evaluation, mut best: (Edits, Evaluation)) -> (Edits, Evaluation) {
        let has_unnamed = !self.planner.named.is_empty();
        if best.1.is_complete() && !has_unnamed {
            return best;
        }
        let mut tried: HashSet<Vec<u8>> = HashSet::new();
        for (level, names_leaf) in Level::ALL.into_iter().flat_map(|level| [(level, false), (level, true)]) {
            let edits = self.linked(level, names_leaf);
            let appended = self.appended(&edits);
            // In most files the levels differ in nothing.
            if tried.contains(&appended) {
                continue;
            }
            let after = self.evaluate(&appended);
            tried.insert(appended);
            let is_better =
                |now: &Evaluation| now.score() < best.1.score() && !self.loses_messages(before, now);
            if self.is_trial() && is_better(&after) {
                return (edits, after);
            }
            let mended = self.mend_content((edits, after));
            if is_better(&mended.1) {
                best = mended;
            }
            if best.1.is_complete() {
                break;
            }
        }
        best
    }

    /// Returns whether it only has to be known whether changes help.
    pub(super) fn is_trial(&self) -> bool {
        self.most_changes < usize::MAX
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
        let mut lost = self.restored_only_in(before, after);
        lost.retain(|&position| position >= start);
        let won = self.restored_only_in(after, before);
        match won.len().cmp(&lost.len()) {
            Ordering::Less => true,
            Ordering::Equal => won.iter().min() < lost.iter().max(),
            Ordering::Greater => false,
        }
    }

    /// Returns the positions of the messages that one evaluation restores and the other does not.
    fn restored_only_in(&self, one: &Evaluation, other: &Evaluation) -> Vec<usize> {
        let items = (0..one.restored.len()).filter(|&item| one.restored[item] && !other.restored[item]);
        items.map(|item| self.graph().position(item)).collect()
    }

    /// Reads the file with lines appended to it as Claude Code would, and compares with the conversation that is wanted.
    fn evaluate(&self, appended: &[u8]) -> Evaluation {
        let verdict = |block: &BlockSpan, role: Role, is_of_entry: bool| {
            self.planner.verdict(appended, block, role, is_of_entry)
        };
        if self.planner.named_lines.is_empty() {
            if appended.is_empty() {
                return self.analysis.evaluate(self.session(), verdict);
            }
            if let Some(session) = self.session().with_lines(appended) {
                return self.analysis.evaluate(&session, verdict);
            }
        }
        let file = self.planner.file.span(0, self.planner.file.length());
        let session = read(&file, appended);
        let uuids: Vec<&str> = (0..self.uuids.len()).map(|item| self.uuid(item)).collect();
        self.analysis.evaluate_as(&session, &lines_of(&session, &uuids), verdict)
    }

    /// Returns the bytes that edits append to the file.
    fn appended(&self, edits: &Edits) -> Vec<u8> {
        let leaf = edits.leaf.as_ref().map(|_| self.json(edits, self.wanted().leaf));
        edits.appended(ends_in_newline(self.planner.file), leaf.as_deref())
    }

    /// Puts the leaf after the other lines.
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
        let json = changed.unwrap_or_else(|| self.planner.json_of(self.node(item)));
        #[cfg(test)]
        BYTES_READ.set(BYTES_READ.get() + json.len());
        json
    }

    /// Returns whether an item answers a call.
    pub(super) fn is_result(&self, item: ItemIndex) -> bool {
        self.node(item).kind == Kind::User && self.session().has_results(self.node(item))
    }

    /// Returns the line of an item in the file. That of a message without a uuid is the line that the repair names.
    pub(super) fn line_of(&self, item: ItemIndex) -> Option<u64> {
        let node = self.node(item);
        if node.at.offset < self.planner.file.length() {
            return Some(node.at.line);
        }
        self.planner.named.line_of(self.uuid(item))
    }

    pub(super) fn uuid(&self, item: ItemIndex) -> &str {
        self.uuids[item].get_or_init(|| self.graph().uuid(item))
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
