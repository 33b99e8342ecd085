//! How the messages that Claude Code restores change with a repair.
//!
//! Each line of the transcript that is restored counts as one message. Messages are compared by their uuid and their content, and then by their
//! content alone: one that is only linked to another parent is the same, so is a copy that takes its place, and one that loses its reasoning is
//! removed and added.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::ops::Range;

use annals_transcript::chain::Chain;
use annals_transcript::content::Block;
use annals_transcript::json::Value;
use annals_transcript::model::{self, Messages, Part, Role};
use annals_transcript::session::{BlockSpan, Session};
use annals_transcript::tool;

/// How many messages that stay the same are shown beside changed ones.
const CONTEXT: usize = 3;
/// How many messages are shown at both ends of a long run of removed or added ones.
const ENDS: usize = 3;
/// At most this many rows are shown.
const MOST_ROWS: usize = 200;
/// At most this many parts of a message are shown.
const MOST_PARTS: usize = 8;
/// At most this many bytes of a part are kept: enough to recognise a secret in them, such as a JSON web key, before they are cut to a line.
const LONGEST_BEGINNING: usize = 4096;

/// The difference between what Claude Code restores before and after a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewDiff {
    /// How many messages are the same.
    pub same: usize,
    /// How many messages are only there before the repair.
    pub removed: usize,
    /// How many messages are only there after the repair.
    pub added: usize,
    /// The changed messages with some that stay beside them, in order; long runs are folded.
    pub rows: Vec<DiffRow>,
    /// How many removed and added messages have no row, because there would be too many.
    pub left_out: usize,
}

/// A row of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffRow {
    /// One message.
    Message(DiffChange, DiffMessage),
    /// Several messages in a row that are not shown.
    Folded(DiffChange, usize),
}

/// What happens to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffChange {
    /// It is restored before and after the repair.
    Same,
    /// It is restored before the repair only.
    Removed,
    /// It is restored after the repair only.
    Added,
}

/// A message of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffMessage {
    /// Who speaks.
    pub role: Role,
    /// The uuid of its entry; `None` if Claude Code makes it up.
    pub uuid: Option<String>,
    /// The line of the entry before the repair; `None` for a new entry.
    pub line: Option<u64>,
    /// The first parts.
    pub parts: Vec<DiffPart>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffPart {
    /// What it is.
    pub kind: DiffPartKind,
    /// The beginning of its text; of a call the tool and what it is about; of other blocks their type.
    pub beginning: String,
}

/// The kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffPartKind {
    /// Text.
    Text,
    /// Reasoning, of which no text is shown.
    Thinking,
    /// A call of a tool.
    Call,
    /// The result of a call.
    Result,
    /// Something else, such as an image.
    Other,
    /// Text that Claude Code makes up.
    MadeUp,
}

impl ViewDiff {
    /// Compares what is restored of a file before and after a repair.
    pub(super) fn between(before: &[u8], after: &[u8]) -> Self {
        let old_session = Session::read(before).unwrap_or_default();
        let grown = after.strip_prefix(before).and_then(|appended| old_session.with_lines(appended));
        let new_session = grown.unwrap_or_else(|| Session::read(after).unwrap_or_default());
        let (old_messages, new_messages) = (restored(&old_session), restored(&new_session));
        let old = RestoredView::of(before, &old_session, &old_messages);
        let new = RestoredView::of(after, &new_session, &new_messages);
        Rows { lines: lines_of(&old_session), old: &old, new: &new, diff: Self::default() }.finish()
    }

    /// Returns whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removed == 0 && self.added == 0
    }
}

/// Returns the messages that Claude Code would send; none if it does not resume the session.
fn restored(session: &Session) -> Messages<'_> {
    let chain = Chain::build(session);
    if chain.obstacle().is_some() { Messages::default() } else { model::messages(&chain) }
}

/// Returns the last line of each uuid.
fn lines_of(session: &Session) -> HashMap<String, u64> {
    let ids = session.id_texts();
    session.nodes().iter().filter_map(|node| Some((ids.get(node.id?), node.at.line))).collect()
}

/// What is restored of a file.
struct RestoredView<'m> {
    file: &'m [u8],
    messages: Vec<Restored<'m>>,
    identities: Vec<Identity>,
}

/// Hashes of a message: two are the same if these are equal.
#[derive(Clone, Copy, Debug)]
struct Identity {
    /// Of its uuid and its content.
    entry: u64,
    /// Of its content.
    content: u64,
}

/// What one entry is restored as.
struct Restored<'m> {
    role: Role,
    uuid: Option<String>,
    parts: &'m [Part<'m>],
}

impl<'m> RestoredView<'m> {
    fn of(file: &'m [u8], session: &'m Session, messages: &'m Messages<'_>) -> Self {
        let mut view = Self { file, messages: Vec::new(), identities: Vec::new() };
        for message in messages.iter() {
            for parts in message.parts.chunk_by(|one, next| entry_of(session, one) == entry_of(session, next))
            {
                let node = entry_of(session, &parts[0]).map(|entry| &session.nodes()[entry]);
                let uuid = node.and_then(|node| node.id).map(|id| session.id_texts().get(id));
                let restored = Restored { role: message.role, uuid, parts };
                view.identities.push(view.identity(&restored));
                view.messages.push(restored);
            }
        }
        view
    }

    fn identity(&self, message: &Restored<'_>) -> Identity {
        let mut hasher = DefaultHasher::new();
        (message.role == Role::User, message.parts.len()).hash(&mut hasher);
        for part in message.parts {
            made_up(part).hash(&mut hasher);
            for block in blocks_of(part) {
                self.bytes(block).hash(&mut hasher);
            }
        }
        let content = hasher.finish();
        message.uuid.hash(&mut hasher);
        Identity { entry: hasher.finish(), content }
    }

    fn bytes(&self, block: &BlockSpan) -> &'m [u8] {
        let from = usize::try_from(block.offset).unwrap_or(usize::MAX);
        let length = usize::try_from(block.length).unwrap_or(usize::MAX);
        self.file.get(from..from.saturating_add(length)).unwrap_or_default()
    }

    /// Returns a message as it is shown. `lines` has the line of each uuid.
    fn shown(&self, index: usize, lines: &HashMap<String, u64>) -> DiffMessage {
        let Restored { role, uuid, parts } = &self.messages[index];
        let parts = parts.iter().flat_map(|part| self.shown_parts(part)).take(MOST_PARTS).collect();
        let line = uuid.as_ref().and_then(|uuid| lines.get(uuid).copied());
        DiffMessage { role: *role, uuid: uuid.clone(), line, parts }
    }

    fn shown_parts(&self, part: &Part<'_>) -> Vec<DiffPart> {
        if let Some(text) = made_up(part) {
            return vec![DiffPart { kind: DiffPartKind::MadeUp, beginning: text.to_owned() }];
        }
        let blocks = blocks_of(part).iter().take(MOST_PARTS);
        blocks.filter_map(|block| Some(shown_block(Block::new(Value::new(self.bytes(block))?)))).collect()
    }
}

/// Returns the index of the entry that a part comes from; `None` if it comes from none.
fn entry_of(session: &Session, part: &Part<'_>) -> Option<usize> {
    let offset = blocks_of(part).first()?.offset;
    session.nodes().partition_point(|node| node.at.offset <= offset).checked_sub(1)
}

/// Returns the blocks of the file that a part consists of. For a result that Claude Code makes up there are none.
fn blocks_of<'p>(part: &'p Part<'_>) -> &'p [BlockSpan] {
    match part {
        Part::Block(block) | Part::BlockWithNewline(block) => std::slice::from_ref(*block),
        Part::Wrapped { blocks, .. } => blocks,
        Part::Placeholder(_) | Part::PlaceholderResult { .. } => &[],
    }
}

/// Returns the text of a part that Claude Code makes up.
fn made_up(part: &Part<'_>) -> Option<&'static str> {
    match part {
        Part::Placeholder(text) | Part::PlaceholderResult { text, .. } => Some(text.text()),
        Part::Block(_) | Part::BlockWithNewline(_) | Part::Wrapped { .. } => None,
    }
}

fn shown_block(block: Block<'_>) -> DiffPart {
    let (kind, text) = match block {
        Block::Text(text) => (DiffPartKind::Text, text.beginning(LONGEST_BEGINNING).into_owned()),
        Block::Thinking(_) | Block::RedactedThinking(_) => (DiffPartKind::Thinking, String::new()),
        Block::ToolUse(call) | Block::ServerToolUse(call) => {
            let (name, subject) = (call.name().unwrap_or_default(), tool::subject(&call));
            (
                DiffPartKind::Call,
                if subject.is_empty() { name.into_owned() } else { format!("{name}: {subject}") },
            )
        }
        Block::ToolResult(result) | Block::ServerToolResult(result) => {
            (DiffPartKind::Result, result.content().beginning(LONGEST_BEGINNING).into_owned())
        }
        Block::ToolReference(_) | Block::Image(_) | Block::Document(_) | Block::Other(_) => {
            (DiffPartKind::Other, block.type_name().unwrap_or_default().into_owned())
        }
    };
    let longest = LONGEST_BEGINNING.min(text.len());
    let end = (0..=longest).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    DiffPart { kind, beginning: text[..end].to_owned() }
}

/// Messages in a row that all stay, or are all removed or added.
struct Run {
    change: DiffChange,
    /// Their indices: in the view before the repair for those that are removed, otherwise in the one after it.
    messages: Range<usize>,
}

/// The rows of a difference while they are made.
struct Rows<'a, 'm> {
    lines: HashMap<String, u64>,
    old: &'a RestoredView<'m>,
    new: &'a RestoredView<'m>,
    diff: ViewDiff,
}

impl Rows<'_, '_> {
    fn finish(mut self) -> ViewDiff {
        let runs = runs(&self.old.identities, &self.new.identities);
        let last = runs.len().saturating_sub(1);
        for (index, run) in runs.iter().enumerate() {
            let messages = run.messages.len();
            let (first, end) = match run.change {
                DiffChange::Same => (CONTEXT * usize::from(index > 0), CONTEXT * usize::from(index < last)),
                DiffChange::Removed | DiffChange::Added => (ENDS, ENDS),
            };
            match run.change {
                DiffChange::Same => self.diff.same += messages,
                DiffChange::Removed => self.diff.removed += messages,
                DiffChange::Added => self.diff.added += messages,
            }
            // Without a change there is nothing to show.
            if last > 0 || run.change != DiffChange::Same {
                self.add(run, first, end);
            }
        }
        self.diff
    }

    /// Adds the first and the last messages of a run, and a row for those between them.
    fn add(&mut self, run: &Run, first: usize, last: usize) {
        let Range { start, end } = run.messages.clone();
        if self.diff.rows.len() >= MOST_ROWS {
            self.diff.left_out += if run.change == DiffChange::Same { 0 } else { end - start };
            return;
        }
        // One message takes as much room as the row that would count it.
        let folded = if end - start > first + last + 1 { start + first..end - last } else { end..end };
        let view = if run.change == DiffChange::Removed { self.old } else { self.new };
        for index in start..folded.start {
            self.diff.rows.push(DiffRow::Message(run.change, view.shown(index, &self.lines)));
        }
        if !folded.is_empty() {
            self.diff.rows.push(DiffRow::Folded(run.change, folded.len()));
        }
        for index in folded.end..end {
            self.diff.rows.push(DiffRow::Message(run.change, view.shown(index, &self.lines)));
        }
    }
}

/// Returns the runs of a difference, in order. Between two runs that stay, what is removed comes before what is added.
fn runs(old: &[Identity], new: &[Identity]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for (in_old, in_new) in common(old, new).into_iter().chain([(old.len(), new.len())]) {
        let changed = [(DiffChange::Removed, old_at..in_old), (DiffChange::Added, new_at..in_new)];
        runs.extend(
            changed
                .into_iter()
                .filter(|(_, messages)| !messages.is_empty())
                .map(|(change, messages)| Run { change, messages }),
        );
        if in_new == new.len() {
            break;
        }
        match runs.last_mut().filter(|run| run.change == DiffChange::Same) {
            Some(run) => run.messages.end = in_new + 1,
            None => runs.push(Run { change: DiffChange::Same, messages: in_new..in_new + 1 }),
        }
        (old_at, new_at) = (in_old + 1, in_new + 1);
    }
    runs
}

/// Finds for each new message that has no old one yet the first old one with the same key that belongs to none.
fn pair(
    old: &[Identity],
    new: &[Identity],
    key: impl Fn(&Identity) -> u64,
    old_of_new: &mut [Option<usize>],
) {
    let taken: HashSet<usize> = old_of_new.iter().copied().flatten().collect();
    let mut free: HashMap<u64, VecDeque<usize>> = HashMap::new();
    for (index, message) in old.iter().enumerate().filter(|(index, _)| !taken.contains(index)) {
        free.entry(key(message)).or_default().push_back(index);
    }
    for (message, found) in new.iter().zip(old_of_new).filter(|(_, found)| found.is_none()) {
        *found = free.get_mut(&key(message)).and_then(VecDeque::pop_front);
    }
}

/// Returns the indices of a longest sequence that two lists have in common. Of equal messages the first belong together, so that the work grows
/// as a sort does.
fn common(old: &[Identity], new: &[Identity]) -> Vec<(usize, usize)> {
    let mut old_of_new = vec![None; new.len()];
    pair(old, new, |message| message.entry, &mut old_of_new);
    // A copy under another uuid says the same.
    pair(old, new, |message| message.content, &mut old_of_new);
    // The last element of the best sequence of each length, and for each element the one before it in its best sequence.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; new.len()];
    for (index, place) in old_of_new.iter().enumerate().filter(|(_, place)| place.is_some()) {
        let length = ends.partition_point(|&end| old_of_new[end] < *place);
        before[index] = length.checked_sub(1).map(|last| ends[last]);
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut pairs: Vec<(usize, usize)> = std::iter::successors(ends.last().copied(), |&index| before[index])
        .filter_map(|index| Some((old_of_new[index]?, index)))
        .collect();
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use testkit::transcript::Transcript;

    use super::*;
    use crate::repair::{RepairOptions, plan};

    fn diff_of(file: &str) -> ViewDiff {
        plan(file.as_bytes(), &RepairOptions::default()).diff
    }

    /// Returns rows as `+4 assistant: text`; folded ones as `+… 5`.
    fn rows(diff: &ViewDiff) -> Vec<String> {
        diff.rows.iter().map(row).collect()
    }

    fn row(row: &DiffRow) -> String {
        match row {
            DiffRow::Folded(change, messages) => format!("{}… {messages}", sign(*change)),
            DiffRow::Message(change, message) => {
                let line = message.line.unwrap_or_default();
                let parts: Vec<&str> = message.parts.iter().map(words).collect();
                format!("{}{line} {}: {}", sign(*change), message.role.name(), parts.join(", "))
            }
        }
    }

    fn words(part: &DiffPart) -> &str {
        if part.kind == DiffPartKind::Thinking { "[thinking]" } else { &part.beginning }
    }

    fn sign(change: DiffChange) -> char {
        match change {
            DiffChange::Same => ' ',
            DiffChange::Removed => '-',
            DiffChange::Added => '+',
        }
    }

    /// Adds prompts with replies.
    fn talk(lines: Transcript, numbers: Range<usize>) -> Transcript {
        numbers.fold(lines, |lines, number| {
            let lines = lines.user(&format!("u{number}"), format!("Prompt {number}"));
            lines.assistant(&format!("a{number}"), |reply| reply.text(&format!("Reply {number}")))
        })
    }

    #[test]
    fn messages_that_come_back_are_added_before_those_that_stay() {
        let lines = talk(Transcript::session("s"), 0..2).at("2026-03-02T10:00:00Z");
        let lines = lines.after("gone").assistant("a8", |reply| {
            reply.thinking("Hm").text("Yes.").tool("t1", "Bash", serde_json::json!({"command": "ls"}))
        });
        let lines = lines.result("u9", "t1", "tea.rs");
        let diff = diff_of(&lines.assistant("a9", |reply| reply.text("One file.")).to_string());
        assert_eq!(
            rows(&diff),
            [
                "-5 assistant: [thinking], Yes., Bash: ls",
                "+1 user: Prompt 0",
                "+2 assistant: Reply 0",
                "+3 user: Prompt 1",
                "+4 assistant: Reply 1",
                "+5 assistant: Yes., Bash: ls",
                " 6 user: tea.rs",
                " 7 assistant: One file.",
            ],
            "{diff:?}"
        );
        assert_eq!((diff.same, diff.removed, diff.added, diff.left_out), (2, 1, 5, 0));
    }

    #[test]
    fn long_runs_are_folded_and_counted() {
        let lines = talk(Transcript::session("s"), 0..40).at("2026-03-02T10:00:00Z").after("gone");
        let diff = diff_of(&talk(lines, 40..80).to_string());
        assert_eq!(
            rows(&diff),
            [
                "+1 user: Prompt 0",
                "+2 assistant: Reply 0",
                "+3 user: Prompt 1",
                "+… 74",
                "+78 assistant: Reply 38",
                "+79 user: Prompt 39",
                "+80 assistant: Reply 39",
                " 81 user: Prompt 40",
                " 82 assistant: Reply 40",
                " 83 user: Prompt 41",
                " … 77",
            ]
        );
    }

    #[test]
    fn a_session_that_needs_no_repair_has_no_difference() {
        let diff = diff_of(&talk(Transcript::session("s"), 0..3).to_string());
        assert_eq!(diff, ViewDiff::default());
    }

    #[test]
    fn the_number_of_rows_is_bounded_and_the_rest_is_counted() {
        let file = (0..300).fold(Transcript::session("s"), |lines, number| {
            let lines = lines.user(&format!("u{number}"), "Go on");
            lines.assistant(&format!("a{number}"), |reply| reply.thinking("Hm").text("Yes."))
        });
        let options = RepairOptions { strip_thinking: true, ..RepairOptions::default() };
        let diff = plan(file.to_string().as_bytes(), &options).diff;
        assert_eq!((diff.same, diff.removed, diff.added), (300, 300, 300));
        assert!(diff.rows.len() < MOST_ROWS + 10, "{}", diff.rows.len());
        let shown =
            diff.rows.iter().filter(|row| !matches!(row, DiffRow::Message(DiffChange::Same, _))).count();
        assert_eq!(shown + diff.left_out, 600);
    }

    #[test]
    fn beginnings_are_cut_between_characters() {
        let lines =
            Transcript::session("s").user("u1", "天".repeat(LONGEST_BEGINNING)).at("2026-03-02T10:00:00Z");
        let lines = lines.after("gone").assistant("a1", |reply| reply.text("Yes."));
        let diff = diff_of(&lines.to_string());
        let DiffRow::Message(DiffChange::Added, message) = &diff.rows[0] else { panic!("{diff:?}") };
        assert_eq!(message.parts[0].beginning, "天".repeat(LONGEST_BEGINNING / 3));
    }

    /// Returns messages with these uuids and contents.
    fn messages(hashes: &[(u64, u64)]) -> Vec<Identity> {
        hashes.iter().map(|&(entry, content)| Identity { entry, content }).collect()
    }

    fn check_common(old: &[(u64, u64)], new: &[(u64, u64)], expected: &[(usize, usize)]) {
        assert_eq!(common(&messages(old), &messages(new)), expected, "{old:?} {new:?}");
    }

    #[test]
    fn what_two_views_have_in_common_is_found_whatever_else_they_have() {
        let [a, b, c, d] = [(1, 1), (2, 2), (3, 3), (4, 4)];
        check_common(&[], &[a], &[]);
        check_common(&[a, b, c], &[a, b, c], &[(0, 0), (1, 1), (2, 2)]);
        check_common(&[b, c], &[a, b, d, c], &[(0, 1), (1, 3)]);
        check_common(&[a, b, c, d], &[d, a, b, c], &[(0, 1), (1, 2), (2, 3)]);
        check_common(&[a, a, b], &[a, a, a, b], &[(0, 0), (1, 1), (2, 3)]);
    }

    #[test]
    fn a_message_is_compared_by_its_uuid_first_and_a_copy_takes_its_place() {
        let (first, last) = ((1, 7), (2, 7));
        check_common(&[last], &[first, last], &[(0, 1)]);
        check_common(&[(5, 7), (6, 8)], &[(1, 7), (2, 8)], &[(0, 0), (1, 1)]);
    }
}
