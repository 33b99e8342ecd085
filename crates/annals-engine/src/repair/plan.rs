//! Decides which lines to append so that Claude Code resumes a session with everything that can still be read.
//!
//! Every plan is tried in memory: the lines are appended to a copy of the bytes, and the copy is read as Claude Code would
//! read it. A plan that does not make the session better is not made.

use std::collections::{HashMap, HashSet};

use annals_transcript::chain::{Chain, Obstacle};
use annals_transcript::json::{Value, quote};
use annals_transcript::model::{self, Part};
use annals_transcript::session::{BlockKind, Id, Node, Session};
use annals_transcript::write::new_id;
use annals_transcript::{Entry, Flag, Kind};
use jiff::Timestamp;

use super::content;
use super::edits::{Change, ChangeKind, Edits, new_user_entry, on_one_line, set, set_in_message};
use super::graph::{Break, Graph, ItemIndex, Link, Places};
use super::unnamed;
use super::wanted::{self, Wanted};
use crate::request_rules::{self, Rule, Violation};

/// How a session is repaired.
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// The last message of the conversation to keep, by the beginning of its uuid. `None` is the newest.
    pub branch: Option<String>,
    /// Remove all reasoning.
    pub strip_thinking: bool,
}

/// What a repair would do.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The changes, in the order in which they are written.
    pub changes: Vec<Change>,
    /// The bytes to append to the file.
    pub appended: Vec<u8>,
    /// What Claude Code would restore from the file as it is.
    pub before: View,
    /// What it would restore after the repair.
    pub after: View,
    /// The other conversations of the file.
    pub branches: Vec<Branch>,
}

/// What Claude Code would restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Why it would restore nothing.
    pub obstacle: Option<Obstacle>,
    /// The messages of the conversation that it would send.
    pub sent: usize,
    /// The messages that can be read and would not be sent.
    pub missing: Vec<MissingMessage>,
    /// What the API would refuse the request for.
    pub violations: Vec<(Rule, u64)>,
}

/// A message that would not be sent, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingMessage {
    /// Its uuid.
    pub uuid: String,
    /// Its line; 0 if Claude Code cannot read it.
    pub line: u64,
}

/// A conversation that ends elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The uuid of its last message.
    pub uuid: String,
    /// The line of its last message.
    pub line: u64,
    /// How many messages it has that the repaired conversation does not have.
    pub messages: usize,
}

impl Plan {
    /// Returns whether nothing has to be repaired.
    pub fn is_empty(&self) -> bool {
        self.appended.is_empty()
    }
}

/// After this many repairs of its own result, a plan is taken as it is.
const MAX_ROUNDS: usize = 4;

/// Plans the repair of a transcript.
pub fn plan(file: &[u8], options: &RepairOptions) -> Plan {
    let mut bytes = file.to_vec();
    let mut changes: Vec<Change> = Vec::new();
    let mut first: Option<Plan> = None;
    let mut last: Option<Plan> = None;
    for _ in 0..MAX_ROUNDS {
        let step = Planner::new(&bytes, options).plan();
        bytes.extend_from_slice(&step.appended);
        changes.extend(
            step.changes.iter().filter(|change| !changes.contains(change)).cloned().collect::<Vec<_>>(),
        );
        let is_done = step.is_empty();
        first.get_or_insert_with(|| step.clone());
        last = Some(step);
        if is_done {
            break;
        }
    }
    let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
    let appended = bytes.split_off(file.len());
    Plan { changes, appended, before: first.before, after: last.after, branches: first.branches }
}

/// One attempt to repair a file.
struct Planner<'b> {
    /// The file, and behind it entries that had no uuid or no type.
    bytes: Vec<u8>,
    file: &'b [u8],
    named: Edits,
    places: Places,
    options: &'b RepairOptions,
}

impl<'b> Planner<'b> {
    fn new(file: &'b [u8], options: &'b RepairOptions) -> Self {
        let (named, places) = unnamed::named(file);
        let bytes = named.applied_to(file, None);
        Self { bytes, file, named, places, options }
    }

    fn plan(&self) -> Plan {
        let session = read(&self.bytes);
        let graph = Graph::of(&session, &self.places);
        let nothing = || Plan {
            changes: Vec::new(),
            appended: Vec::new(),
            before: View { obstacle: Chain::build(&session).obstacle(), ..View::default() },
            after: View { obstacle: Chain::build(&session).obstacle(), ..View::default() },
            branches: Vec::new(),
        };
        let Some(leaf) = self.leaf(&session, &graph) else { return nothing() };
        let wanted = Wanted::of(&graph, leaf);
        let mut attempt = Attempt {
            planner: self,
            session: &session,
            graph: &graph,
            wanted: &wanted,
            uuids: wanted
                .entries
                .iter()
                .filter(|&&item| !wanted::is_unsent(&graph, item))
                .map(|&item| graph.uuid(item))
                .collect(),
        };
        let before = attempt.evaluate(self.file);
        let (edits, after) = attempt.best(&before);
        let appended = attempt.appended(&edits);
        Plan {
            changes: edits.changes.clone(),
            appended,
            before: before.view(),
            after: after.view(),
            branches: attempt.branches(),
        }
    }

    /// Returns the message that the conversation ends with.
    fn leaf(&self, session: &Session, graph: &Graph<'_>) -> Option<ItemIndex> {
        if let Some(branch) = &self.options.branch {
            let [id] = session.ids_beginning(branch)[..] else { return None };
            return graph.item(id).and_then(|item| wanted::nearest_message(graph, item));
        }
        if let Some(rewound) = rewound_to(session) {
            return rewound
                .to
                .and_then(|id| graph.item(id))
                .and_then(|item| wanted::nearest_message(graph, item));
        }
        wanted::newest_leaf(graph, repeated_last_line(session, graph))
    }
}

/// A rewind at the end of a session.
struct Rewind {
    /// The entry that the user went back to; `None` is the state before the first message.
    to: Option<Id>,
}

/// Returns the entry that the user went back to at the end of the session, if the last record says so.
fn rewound_to(session: &Session) -> Option<Rewind> {
    let nodes = session.nodes();
    let is_main = |node: &Node| node.is_loaded_by_claude_code() && !node.has(Flag::Sidechain);
    let last =
        nodes.iter().rposition(|node| node.kind == Kind::LastPrompt && node.is_read_by_claude_code())?;
    let node = &nodes[last];
    let is_final = node.has(Flag::Explicit) && !nodes[last + 1..].iter().any(is_main);
    let names_entry = node.leaf.is_some() || node.has(Flag::NullLeaf);
    (is_final && names_entry).then_some(Rewind { to: node.leaf })
}

/// Returns the entry of the last line, if the line repeats an earlier one: repairs end so.
fn repeated_last_line(session: &Session, graph: &Graph<'_>) -> Option<ItemIndex> {
    let is_main = |node: &&Node| node.is_loaded_by_claude_code() && !node.has(Flag::Sidechain);
    let last = session.nodes().iter().rfind(is_main)?;
    let item = graph.item(last.id?)?;
    (graph.items[item].place != last.at.offset).then_some(item)
}

fn read(bytes: &[u8]) -> Session {
    Session::read(bytes).unwrap_or_default()
}

/// Returns the object of an entry, on one line.
fn json_of(bytes: &[u8], node: &Node) -> Vec<u8> {
    let from = usize::try_from(node.at.offset).unwrap_or(usize::MAX).min(bytes.len());
    let to = from.saturating_add(usize::try_from(node.length).unwrap_or(0)).min(bytes.len());
    let entry = Entry::new(&bytes[from..to]);
    on_one_line(entry.body().map_or(&[][..], Value::bytes))
}

/// What a file would be restored as.
#[derive(Clone, Debug, Default)]
struct Evaluation {
    obstacle: Option<Obstacle>,
    sent: usize,
    /// The entries with blocks that are not sent, and these blocks by their index.
    missing: Vec<(String, u64, Vec<usize>)>,
    /// How often an entry is sent before one that stands before it.
    disorder: usize,
    /// How many texts of copies are sent twice.
    copies: Vec<String>,
    violations: Vec<(Rule, String, u64, Option<usize>)>,
}

impl Evaluation {
    fn score(&self) -> (bool, usize, usize, usize, usize) {
        let blocks = self.missing.iter().map(|(_, _, blocks)| blocks.len().max(1)).sum();
        (self.obstacle.is_some(), blocks, self.violations.len(), self.copies.len(), self.disorder)
    }

    /// Returns whether everything is sent.
    fn is_complete(&self) -> bool {
        self.obstacle.is_none() && self.missing.is_empty() && self.violations.is_empty()
    }

    fn view(&self) -> View {
        View {
            obstacle: self.obstacle,
            sent: self.sent,
            missing: self
                .missing
                .iter()
                .map(|(uuid, line, _)| MissingMessage { uuid: uuid.clone(), line: *line })
                .collect(),
            violations: self.violations.iter().map(|(rule, _, line, _)| (*rule, *line)).collect(),
        }
    }
}

/// How far a plan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Only broken links are mended.
    Links,
    /// All messages of the conversation are put into one line.
    Line,
    /// The messages that a compaction kept are in this line, too, and the compaction no longer names them.
    WithoutKept,
}

impl Level {
    /// All levels, the least first.
    const ALL: [Level; 3] = [Level::Links, Level::Line, Level::WithoutKept];
}

struct Attempt<'a, 's> {
    planner: &'a Planner<'a>,
    session: &'s Session,
    graph: &'a Graph<'s>,
    wanted: &'a Wanted,
    /// The uuids of all messages that should be sent, in order.
    uuids: Vec<String>,
}

impl Attempt<'_, '_> {
    /// Returns the best plan: the one that misses the fewest messages with the fewest changes.
    fn best(&mut self, before: &Evaluation) -> (Edits, Evaluation) {
        let mut best = self.mend_content((Edits::default(), before.clone()));
        let has_unnamed = !self.planner.named.is_empty();
        if !best.1.is_complete() || has_unnamed {
            for (level, names_leaf) in
                Level::ALL.into_iter().flat_map(|level| [(level, false), (level, true)])
            {
                let edits = self.edits(level, names_leaf);
                let after = self.evaluate_edits(&edits);
                let mended = self.mend_content((edits, after));
                if mended.1.score() < best.1.score() {
                    best = mended;
                }
                if best.1.is_complete() {
                    break;
                }
            }
        }
        self.without_thinking(best)
    }

    /// Returns the lines that link the conversation.
    fn edits(&self, level: Level, names_leaf: bool) -> Edits {
        let mut edits = self.planner.named.clone();
        let line = self.line(level);
        let on_path: HashSet<ItemIndex> = self.graph.path(self.wanted.leaf).into_iter().collect();
        let mut before: Option<ItemIndex> =
            line.first().and_then(|&first| self.graph.items[first].parent.item());
        for (index, &item) in line.iter().enumerate() {
            if !self.graph.items[item].is_loaded {
                edits.put(
                    &self.graph.uuid(item),
                    self.json(&edits, item),
                    ChangeKind::Salvage,
                    self.line_of(item),
                );
            }
            match level {
                Level::Links => {
                    if on_path.contains(&item)
                        || !matches!(self.graph.items[item].parent, Link::Written(_) | Link::Root)
                    {
                        self.relink(&mut edits, item);
                    }
                }
                Level::Line | Level::WithoutKept if index > 0 => self.relink_to(&mut edits, item, before),
                Level::Line | Level::WithoutKept => self.relink(&mut edits, item),
            }
            if self.graph.items[item].is_flagged {
                let json = set(&self.json(&edits, item), "isSidechain", "false");
                edits.put(&self.graph.uuid(item), json, ChangeKind::Sidechain, self.line_of(item));
            }
            before = Some(item);
        }
        if level == Level::WithoutKept {
            self.drop_kept(&mut edits);
        }
        self.give_time(&mut edits, self.wanted.leaf);
        edits.leaf = Some(self.graph.uuid(self.wanted.leaf));
        let leaf = self.graph.uuid(self.wanted.leaf);
        edits.changes.push(Change {
            kind: ChangeKind::Leaf,
            uuid: leaf.clone(),
            line: self.line_of(self.wanted.leaf),
        });
        if names_leaf {
            edits.last_prompt = Some(self.last_prompt(&leaf));
        }
        edits
    }

    /// Returns the entries of the conversation in one line, with the boundary before them.
    fn line(&self, level: Level) -> Vec<ItemIndex> {
        let mut line: Vec<ItemIndex> = self.wanted.boundary.into_iter().collect();
        line.extend(&self.wanted.entries);
        if level == Level::Links {
            return line;
        }
        // Lines of a reply that were added behind it come before what follows it, and the leaf stays last.
        if let Some(at) = line.iter().position(|&item| item == self.wanted.leaf) {
            let after: Vec<ItemIndex> = line.drain(at + 1..).collect();
            line.splice(at..at, after);
        }
        line
    }

    fn json(&self, edits: &Edits, item: ItemIndex) -> Vec<u8> {
        let uuid = self.graph.uuid(item);
        edits.get(&uuid).map_or_else(|| json_of(&self.planner.bytes, self.graph.node(item)), <[u8]>::to_vec)
    }

    fn line_of(&self, item: ItemIndex) -> Option<u64> {
        let node = self.graph.node(item);
        (node.at.offset < self.planner.file.len() as u64).then_some(node.at.line)
    }

    /// Gives an entry the parent that it is meant to have.
    fn relink(&self, edits: &mut Edits, item: ItemIndex) {
        if self.graph.is_parent_written(item) {
            return;
        }
        let reason = match self.graph.items[item].parent {
            Link::Mended(_, Break::Missing) => {
                "its parent is not in the file; it continues the message before it"
            }
            Link::Mended(_, Break::NoParent) => "it names no parent; it continues the message before it",
            Link::Mended(_, Break::Circle) => {
                "it hangs on a later message; it continues the message before it"
            }
            Link::Written(_) => "its parent is a progress line that Claude Code does not find",
            Link::Root | Link::Lost => {
                if !self.node(item).has(Flag::CompactSummary) {
                    return;
                }
                "the compaction that it begins with is lost"
            }
        };
        let parent = self.graph.items[item].parent.item();
        self.set_parent(edits, item, parent, reason);
    }

    fn relink_to(&self, edits: &mut Edits, item: ItemIndex, parent: Option<ItemIndex>) {
        let named = self.node(item).parent;
        if named.is_some() && named == parent.map(|parent| self.graph.items[parent].id) {
            return;
        }
        self.set_parent(edits, item, parent, "it is put behind the message before it, so that it is sent");
    }

    fn set_parent(
        &self,
        edits: &mut Edits,
        item: ItemIndex,
        parent: Option<ItemIndex>,
        reason: &'static str,
    ) {
        let parent = parent.map_or_else(|| "null".to_owned(), |parent| quote(&self.graph.uuid(parent)));
        let json = set(&self.json(edits, item), "parentUuid", &parent);
        edits.put(&self.graph.uuid(item), json, ChangeKind::Relink { reason }, self.line_of(item));
    }

    fn node(&self, item: ItemIndex) -> &Node {
        self.graph.node(item)
    }

    /// Gives the last message a time, without which Claude Code refuses the session.
    fn give_time(&self, edits: &mut Edits, item: ItemIndex) {
        if self.node(item).time.is_some() {
            return;
        }
        let before = self.graph.path(item).into_iter().rev().find_map(|one| self.node(one).time);
        let any = before.or_else(|| self.session.nodes().iter().filter_map(|node| node.time).max());
        let time = any.map_or(0, |time| time + 1);
        let json = set(&self.json(edits, item), "timestamp", &quote(&time_text(time)));
        edits.put(&self.graph.uuid(item), json, ChangeKind::Time, self.line_of(item));
    }

    /// Removes from all compactions the list of messages that they kept.
    fn drop_kept(&self, edits: &mut Edits) {
        for item in (0..self.graph.items.len()).filter(|&item| self.graph.is_boundary(item)) {
            let keeps = self
                .session
                .boundary(self.node(item))
                .is_some_and(|kept| kept.segment.is_some() || kept.messages.is_some());
            if !keeps {
                continue;
            }
            let json = self.json(edits, item);
            let Some(metadata) = Value::new(&json).and_then(|entry| entry.get("compactMetadata")) else {
                continue;
            };
            let members: Vec<String> = metadata
                .members()
                .filter(|(key, _)| !matches!(&*key.decode(), "preservedSegment" | "preservedMessages"))
                .map(|(key, value)| {
                    format!("{}:{}", quote(&key.decode()), String::from_utf8_lossy(value.bytes()))
                })
                .collect();
            let json = set(&json, "compactMetadata", &format!("{{{}}}", members.join(",")));
            edits.put(&self.graph.uuid(item), json, ChangeKind::Boundary, self.line_of(item));
        }
    }

    /// Returns a `last-prompt` that names the leaf: a copy of the last one of the file.
    fn last_prompt(&self, leaf: &str) -> Vec<u8> {
        let is_last_prompt = |node: &&Node| node.kind == Kind::LastPrompt && node.is_read_by_claude_code();
        let old =
            self.session.nodes().iter().rfind(is_last_prompt).map(|node| json_of(&self.planner.bytes, node));
        let old = old.unwrap_or_else(|| {
            let json = self.json(&Edits::default(), self.wanted.leaf);
            let session = Value::new(&json).and_then(|entry| entry.text("sessionId")).unwrap_or_default();
            format!("{{\"type\":\"last-prompt\",\"sessionId\":{}}}", quote(&session)).into_bytes()
        });
        let json = set(&old, "leafUuid", &quote(leaf));
        if Value::new(&json).is_some_and(|record| record.flag("explicit")) {
            set(&json, "explicit", "false")
        } else {
            json
        }
    }

    fn leaf_line(&self, edits: &Edits) -> Option<Vec<u8>> {
        edits.leaf.as_ref()?;
        Some(self.json(edits, self.wanted.leaf))
    }

    fn appended(&self, edits: &Edits) -> Vec<u8> {
        edits.appended(self.planner.file, self.leaf_line(edits).as_deref())
    }

    fn evaluate_edits(&self, edits: &Edits) -> Evaluation {
        self.evaluate(&edits.applied_to(self.planner.file, self.leaf_line(edits).as_deref()))
    }

    /// Reads bytes as Claude Code would, and compares with the conversation that is wanted.
    fn evaluate(&self, bytes: &[u8]) -> Evaluation {
        let session = read(bytes);
        let chain = Chain::build(&session);
        let obstacle = chain.obstacle();
        let messages = if obstacle.is_some() { model::Messages::default() } else { model::messages(&chain) };
        let mut sent: HashMap<u64, usize> = HashMap::new();
        for part in messages.iter().flat_map(|message| message.parts.to_vec()) {
            match part {
                Part::Block(block) | Part::BlockWithNewline(block) => {
                    let count = sent.len();
                    sent.entry(block.offset).or_insert(count);
                }
                Part::Wrapped { blocks, .. } => {
                    let count = sent.len();
                    for block in blocks {
                        sent.entry(block.offset).or_insert(count);
                    }
                }
                Part::Placeholder(_) | Part::PlaceholderResult { .. } => {}
            }
        }
        let mut found = Evaluation { obstacle, ..Evaluation::default() };
        self.compare(&session, &sent, &mut found);
        let restored: HashSet<usize> = messages.iter().flat_map(|message| message.entries.to_vec()).collect();
        found.copies = self.copies(&session, &restored);
        let read = |block: &annals_transcript::session::BlockSpan| {
            let from = usize::try_from(block.offset).unwrap_or(0);
            bytes[from..from + usize::try_from(block.length).unwrap_or(0)].to_vec()
        };
        let violations = request_rules::check(&session, &messages, read);
        found.violations = violations.into_iter().map(|violation| named(&session, violation)).collect();
        found
    }

    /// Compares the blocks of all wanted messages with those that are sent.
    fn compare(&self, session: &Session, sent: &HashMap<u64, usize>, found: &mut Evaluation) {
        let lines = loaded_lines(session);
        let nodes: Vec<Option<&Node>> = self
            .uuids
            .iter()
            .map(|uuid| session.id(uuid).and_then(|id| lines[id.index()]).map(|line| &session.nodes()[line]))
            .collect();
        let mut calls: HashSet<Id> = HashSet::new();
        for node in nodes.iter().flatten() {
            calls.extend(
                session
                    .blocks(node)
                    .iter()
                    .filter(|block| block.kind == BlockKind::ToolUse)
                    .filter_map(|block| block.tool),
            );
        }
        let mut answered: HashSet<Id> = HashSet::new();
        let mut last_place = 0;
        for (uuid, node) in self.uuids.iter().zip(nodes) {
            let Some(node) = node else {
                found.missing.push((uuid.clone(), 0, Vec::new()));
                continue;
            };
            let mut missing = Vec::new();
            let mut place = None;
            for (index, block) in session.blocks(node).iter().enumerate() {
                let is_demanded = match block.kind {
                    BlockKind::Text | BlockKind::ToolUse | BlockKind::Image | BlockKind::Other => true,
                    BlockKind::ToolResult(_) => {
                        block.tool.is_some_and(|id| calls.contains(&id) && answered.insert(id))
                    }
                    _ => false,
                };
                if !is_demanded {
                    continue;
                }
                match sent.get(&block.offset) {
                    Some(&at) => place = place.or(Some(at)),
                    None => missing.push(index),
                }
            }
            found.sent += usize::from(missing.is_empty());
            if !missing.is_empty() {
                found.missing.push((uuid.clone(), node.at.line, missing));
            }
            if let Some(place) = place {
                found.disorder += usize::from(place < last_place);
                last_place = last_place.max(place);
            }
        }
    }

    /// Returns entries outside of the conversation that are sent although a message of the conversation has the same content.
    fn copies(&self, session: &Session, restored: &HashSet<usize>) -> Vec<String> {
        let wanted: HashSet<ItemIndex> = self.wanted.entries.iter().copied().collect();
        let texts = session.id_texts();
        let is_sent = |uuid: &String| {
            restored.iter().any(|&node| session.nodes()[node].id.is_some_and(|id| texts.get(id) == *uuid))
        };
        let items = 0..self.graph.items.len();
        let copies = items.filter(|item| {
            let twin = self.graph.twin(*item);
            !wanted.contains(item) && twin.is_some_and(|twin| wanted.contains(&twin))
        });
        copies.map(|item| self.graph.uuid(item)).filter(is_sent).collect()
    }

    /// Changes content until the request would be accepted and nothing is dropped from it.
    fn mend_content(&mut self, mut best: (Edits, Evaluation)) -> (Edits, Evaluation) {
        for _ in 0..8 {
            let mut improved = false;
            for fix in [
                Self::fix_copies,
                Self::fix_calls,
                Self::fix_results,
                Self::fix_blocks,
                Self::fix_images,
                Self::fix_first,
            ] {
                let mut edits = best.0.clone();
                if !fix(self, &mut edits, &best.1) {
                    continue;
                }
                self.end(&mut edits);
                let after = self.evaluate_edits(&edits);
                if after.score() < best.1.score() {
                    best = (edits, after);
                    improved = true;
                }
            }
            if !improved {
                break;
            }
        }
        best
    }

    /// Puts the leaf behind the other lines.
    fn end(&self, edits: &mut Edits) {
        if edits.leaf.is_none() {
            let with_leaf = self.edits(Level::Links, false);
            edits.leaf = with_leaf.leaf;
            edits
                .changes
                .extend(with_leaf.changes.into_iter().filter(|change| change.kind == ChangeKind::Leaf));
        }
    }

    fn line_json(&self, edits: &Edits, uuid: &str) -> Option<(ItemIndex, Vec<u8>)> {
        let item = self.session.id(uuid).and_then(|id| self.graph.item(id))?;
        Some((item, self.json(edits, item)))
    }

    /// Gives copies another reply id.
    fn fix_copies(&mut self, edits: &mut Edits, now: &Evaluation) -> bool {
        for uuid in &now.copies {
            let Some((item, json)) = self.line_json(edits, uuid) else { continue };
            let Some(id) = Value::new(&json)
                .and_then(|entry| entry.get("message")?.text("id").map(|id| format!("{id}_copy")))
            else {
                continue;
            };
            edits.put(uuid, set_in_message(&json, "id", &quote(&id)), ChangeKind::Copy, self.line_of(item));
        }
        !now.copies.is_empty()
    }

    /// Gives calls whose id another call has an id of their own, together with their results.
    fn fix_calls(&mut self, edits: &mut Edits, now: &Evaluation) -> bool {
        let is_missing = |kind: fn(BlockKind) -> bool| {
            now.missing.iter().any(|(uuid, _, blocks)| {
                let node =
                    self.session.id(uuid).and_then(|id| self.graph.item(id)).map(|item| self.node(item));
                node.is_some_and(|node| {
                    let spans = self.session.blocks(node);
                    blocks.iter().any(|&block| spans.get(block).is_some_and(|span| kind(span.kind)))
                })
            })
        };
        if !is_missing(|kind| matches!(kind, BlockKind::ToolUse | BlockKind::ToolResult(_))) {
            return false;
        }
        let mut taken: HashMap<String, usize> = HashMap::new();
        let mut open: HashMap<String, Vec<Option<String>>> = HashMap::new();
        let mut has_changed = false;
        for &item in &self.wanted.entries {
            let spans = self.session.blocks(self.node(item));
            if !spans.iter().any(|span| matches!(span.kind, BlockKind::ToolUse | BlockKind::ToolResult(_))) {
                continue;
            }
            let uuid = self.graph.uuid(item);
            for (index, span) in spans.iter().enumerate() {
                let json = self.json(edits, item);
                let Some(content) = Value::new(&json).and_then(|entry| entry.get("message")?.get("content"))
                else {
                    continue;
                };
                let Some(block) = content.items().nth(index) else { continue };
                let new = match span.kind {
                    BlockKind::ToolUse => {
                        let Some(id) = block.text("id").map(std::borrow::Cow::into_owned) else { continue };
                        let count = taken.entry(id.clone()).or_default();
                        *count += 1;
                        let new = (*count > 1).then(|| format!("{id}_{count}"));
                        open.entry(id).or_default().push(new.clone());
                        new
                    }
                    BlockKind::ToolResult(_) => {
                        let Some(id) = block.text("tool_use_id").map(std::borrow::Cow::into_owned) else {
                            continue;
                        };
                        // The latest call without a result is the one that it answers.
                        open.get_mut(&id)
                            .and_then(
                                |calls| if calls.len() > 1 { calls.pop() } else { calls.first().cloned() },
                            )
                            .flatten()
                    }
                    _ => None,
                };
                let Some(new) = new else { continue };
                if let Some(content) = content::with_call_id(content, index, &new) {
                    edits.put(
                        &uuid,
                        set_in_message(&json, "content", &content),
                        ChangeKind::Content { rule: "call-id-unique" },
                        self.line_of(item),
                    );
                    has_changed = true;
                }
            }
        }
        has_changed
    }

    /// Adds a result for every call that is left out because its result is lost.
    fn fix_results(&mut self, edits: &mut Edits, now: &Evaluation) -> bool {
        let mut has_changed = false;
        for (uuid, _, blocks) in &now.missing {
            let Some((item, json)) = self.line_json(edits, uuid) else { continue };
            if self.node(item).kind != Kind::Assistant {
                continue;
            }
            for &block in blocks {
                let Some(span) = self
                    .session
                    .blocks(self.node(item))
                    .get(block)
                    .filter(|span| span.kind == BlockKind::ToolUse)
                else {
                    continue;
                };
                let Some(content) = Value::new(&json).and_then(|entry| entry.get("message")?.get("content"))
                else {
                    continue;
                };
                let Some(id) = content.items().nth(block).and_then(|call| call.text("id")) else { continue };
                if self.has_result(edits, &id, span.tool) {
                    continue;
                }
                self.add_result(edits, item, &json, &id);
                has_changed = true;
            }
        }
        has_changed
    }

    fn has_result(&self, edits: &Edits, id: &str, old: Option<Id>) -> bool {
        let answers = |item: &ItemIndex| {
            let spans = self.session.blocks(self.node(*item)).iter();
            if !spans.clone().any(|span| matches!(span.kind, BlockKind::ToolResult(_)) && span.tool == old) {
                return false;
            }
            let json = self.json(edits, *item);
            let content = Value::new(&json).and_then(|entry| entry.get("message")?.get("content"));
            content.is_some_and(|content| {
                content.items().any(|block| block.text("tool_use_id").is_some_and(|one| one == id))
            })
        };
        self.wanted.entries.iter().any(answers)
    }

    fn add_result(&self, edits: &mut Edits, call: ItemIndex, json: &[u8], id: &str) {
        let text = "[The result of this call was lost.]";
        let block = format!(
            "[{{\"tool_use_id\":{},\"type\":\"tool_result\",\"content\":{},\"is_error\":true}}]",
            quote(id),
            quote(text)
        );
        let path = self.graph.path(self.wanted.leaf);
        let reply = self.node(call).message_id;
        let next = path.iter().position(|&item| item == call).and_then(|at| path.get(at + 1)).copied();
        let follower = next.filter(|&next| reply.is_none() || self.node(next).message_id != reply);
        let time = self.node(call).time.map(|time| time + 1);
        let next_time = follower.and_then(|next| self.node(next).time);
        let time = match (time, next_time) {
            (Some(time), Some(next)) => Some(time.min(next)),
            (time, next) => time.or(next),
        };
        let uuid = new_id();
        let call_uuid = self.graph.uuid(call);
        let entry =
            new_user_entry(json, &uuid, Some(&call_uuid), &time_text(time.unwrap_or(0)), &block, false);
        edits.put(&uuid, entry, ChangeKind::Result, None);
        if let Some(next) = follower
            .filter(|&next| self.node(next).kind != Kind::User || !self.session.has_results(self.node(next)))
        {
            let changed = set(&self.json(edits, next), "parentUuid", &quote(&uuid));
            let reason = "it follows the result that takes the place of a lost one";
            edits.put(&self.graph.uuid(next), changed, ChangeKind::Relink { reason }, self.line_of(next));
        }
    }

    /// Replaces blocks that the API refuses.
    fn fix_blocks(&mut self, edits: &mut Edits, now: &Evaluation) -> bool {
        let mut has_changed = false;
        let mut renamed: HashSet<String> = HashSet::new();
        for (rule, uuid, ..) in &now.violations {
            if matches!(rule, Rule::FirstUser | Rule::RequestSize | Rule::ImageDimensions) {
                continue;
            }
            let Some((item, json)) = self.line_json(edits, uuid) else { continue };
            let Some(content) = Value::new(&json).and_then(|entry| entry.get("message")?.get("content"))
            else {
                continue;
            };
            if *rule == Rule::CallId {
                renamed.extend(
                    content.items().filter_map(|block| block.text("id").map(std::borrow::Cow::into_owned)),
                );
            }
            let Some((new, rule)) =
                content::mended(self.node(item).kind, content, *rule == Rule::ThinkingLast)
            else {
                continue;
            };
            edits.put(
                uuid,
                set_in_message(&json, "content", &new),
                ChangeKind::Content { rule: rule.name() },
                self.line_of(item),
            );
            has_changed = true;
        }
        for id in renamed.iter().filter(|id| !request_rules::is_plain_name(id)) {
            self.rename_results(edits, id);
        }
        has_changed
    }

    /// Makes results name the new id of a call.
    fn rename_results(&self, edits: &mut Edits, old: &str) {
        for &item in &self.wanted.entries {
            let json = self.json(edits, item);
            let Some(content) = Value::new(&json).and_then(|entry| entry.get("message")?.get("content"))
            else {
                continue;
            };
            let found =
                content.items().position(|block| block.text("tool_use_id").is_some_and(|id| id == old));
            if let Some(new) =
                found.and_then(|at| content::with_call_id(content, at, &content::plain_name(old)))
            {
                let rule = Rule::CallId.name();
                edits.put(
                    &self.graph.uuid(item),
                    set_in_message(&json, "content", &new),
                    ChangeKind::Content { rule },
                    self.line_of(item),
                );
            }
        }
    }

    /// Replaces the first image that has too many pixels.
    fn fix_images(&mut self, edits: &mut Edits, now: &Evaluation) -> bool {
        let large = now.violations.iter().filter(|(rule, ..)| *rule == Rule::ImageDimensions);
        let mut has_changed = false;
        for (rule, uuid, _, block) in large {
            let Some((item, json)) = self.line_json(edits, uuid) else { continue };
            let Some(content) = Value::new(&json).and_then(|entry| entry.get("message")?.get("content"))
            else {
                continue;
            };
            let Some(at) = block.and_then(|block| content.items().nth(block)) else { continue };
            let at = at.bytes().as_ptr().addr() - content.bytes().as_ptr().addr();
            if let Some(new) = content::without_image(content, at, "[image removed: it had too many pixels]")
            {
                edits.put(
                    uuid,
                    set_in_message(&json, "content", &new),
                    ChangeKind::Content { rule: rule.name() },
                    self.line_of(item),
                );
                has_changed = true;
            }
        }
        has_changed
    }

    /// Puts a prompt before a conversation that begins with a reply.
    fn fix_first(&mut self, edits: &mut Edits, now: &Evaluation) -> bool {
        let Some((_, uuid, ..)) = now.violations.iter().find(|(rule, ..)| *rule == Rule::FirstUser) else {
            return false;
        };
        let first = self.wanted.entries.first().copied();
        let Some(item) = first.or_else(|| self.line_json(edits, uuid).map(|(item, _)| item)) else {
            return false;
        };
        let json = self.json(edits, item);
        let parent = self.wanted.boundary.map(|boundary| self.graph.uuid(boundary));
        let time = self.wanted.entries.iter().find_map(|&one| self.node(one).time).map_or(0, |time| time - 1);
        let prompt = new_id();
        let text = quote("[The beginning of this conversation was lost.]");
        let entry = new_user_entry(&json, &prompt, parent.as_deref(), &time_text(time), &text, true);
        edits.put(&prompt, entry, ChangeKind::FirstPrompt, None);
        let reason = "it follows the note about the lost beginning";
        edits.put(
            &self.graph.uuid(item),
            set(&json, "parentUuid", &quote(&prompt)),
            ChangeKind::Relink { reason },
            self.line_of(item),
        );
        true
    }

    /// Removes reasoning behind the first change: it is only accepted while everything before it is as it was.
    fn without_thinking(&mut self, best: (Edits, Evaluation)) -> (Edits, Evaluation) {
        let Some(from) = self.first_changed(&best.0) else { return best };
        let mut edits = best.0.clone();
        let mut has_changed = false;
        for &item in &self.wanted.entries[from..] {
            if self.node(item).kind != Kind::Assistant
                || !self.session.blocks(self.node(item)).iter().any(|block| block.kind == BlockKind::Thinking)
            {
                continue;
            }
            let json = self.json(&edits, item);
            let content = Value::new(&json).and_then(|entry| entry.get("message")?.get("content"));
            if let Some(content) = content.and_then(content::without_thinking) {
                edits.put(
                    &self.graph.uuid(item),
                    set_in_message(&json, "content", &content),
                    ChangeKind::Thinking,
                    self.line_of(item),
                );
                has_changed = true;
            }
        }
        if !has_changed {
            return best;
        }
        self.end(&mut edits);
        let after = self.evaluate_edits(&edits);
        if after.score() <= best.1.score() { (edits, after) } else { best }
    }

    /// Returns the position of the first message that is not what the model saw, or that follows a lost one.
    fn first_changed(&self, edits: &Edits) -> Option<usize> {
        if self.planner.options.strip_thinking {
            return Some(0);
        }
        if edits.is_empty() {
            return None;
        }
        let changed: HashSet<&str> = edits
            .changes
            .iter()
            .filter(|change| {
                matches!(
                    change.kind,
                    ChangeKind::Content { .. } | ChangeKind::Result | ChangeKind::FirstPrompt
                )
            })
            .map(|change| &*change.uuid)
            .collect();
        let has_new = edits
            .changes
            .iter()
            .any(|change| matches!(change.kind, ChangeKind::Result | ChangeKind::FirstPrompt));
        self.wanted.entries.iter().position(|&item| {
            let uuid = self.graph.uuid(item);
            let follows_new = has_new && edits.changes.iter().any(|change| change.uuid == uuid && matches!(change.kind, ChangeKind::Relink { reason } if reason.starts_with("it follows the")));
            changed.contains(&*uuid) || follows_new || wanted::follows_a_gap(self.graph, item)
        })
    }

    fn branches(&self) -> Vec<Branch> {
        let on_path: HashSet<ItemIndex> = self
            .graph
            .path(self.wanted.leaf)
            .into_iter()
            .chain(self.wanted.entries.iter().copied())
            .collect();
        wanted::other_leaves(self.graph, self.wanted)
            .into_iter()
            .map(|leaf| {
                let own = self
                    .graph
                    .path(leaf)
                    .into_iter()
                    .filter(|item| !on_path.contains(item) && self.graph.is_message(*item));
                Branch {
                    uuid: self.graph.uuid(leaf),
                    line: self.line_of(leaf).unwrap_or(0),
                    messages: own.count(),
                }
            })
            .collect()
    }
}

fn named(session: &Session, violation: Violation) -> (Rule, String, u64, Option<usize>) {
    let node = &session.nodes()[violation.node];
    let uuid = node.id.map(|id| session.id_texts().get(id)).unwrap_or_default();
    let block =
        violation.block.and_then(|at| session.blocks(node).iter().position(|block| block.offset == at));
    (violation.rule, uuid, node.at.line, block)
}

/// Returns the line that counts of each entry that Claude Code loads, by the index of its id.
fn loaded_lines(session: &Session) -> Vec<Option<usize>> {
    let mut lines = vec![None; session.id_count()];
    for (index, node) in session.nodes().iter().enumerate() {
        if let Some(id) = node.id.filter(|_| node.is_loaded_by_claude_code()) {
            lines[id.index()] = Some(index);
        }
    }
    lines
}

fn time_text(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map_or_else(|_| "1970-01-01T00:00:00.000Z".to_owned(), |time| format!("{time:.3}"))
}
