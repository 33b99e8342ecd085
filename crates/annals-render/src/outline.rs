//! Which rows a conversation has: a few bytes for each, so that a session of any size can be scrolled through.
//!
//! A row is a part of an entry, or a mark between entries. The result of a call belongs to the row of the call.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::num::NonZeroU64;
use std::sync::Arc;

use annals_proto::ViewRowKind;
use annals_transcript::chain::NodeIndex;
use annals_transcript::conversation::{Conversation, Transcript};
use annals_transcript::full_view::Step;
use annals_transcript::item::{self, Item, Notice, Part, Visibility};
use annals_transcript::session::{BlockKind, BlockSpan, Id, Node, Session};
use annals_transcript::tool::{self, Call, State};
use annals_transcript::turn::LONG_PAUSE_MS;
use annals_transcript::{Entry, Flag, Kind};

use crate::FIRST_LINES;

/// About how many characters a line of a viewer has.
const LINE_LENGTH: usize = 90;

/// One row, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowRef {
    /// What it is.
    pub kind: ViewRowKind,
    /// The step of the full view that it belongs to.
    pub step: u32,
    /// The first part of the entry that it shows.
    pub part: u32,
    /// About how many lines of text it has when it is open; 1 if that was not estimated.
    pub lines: u32,
}

/// The row of a call.
#[derive(Clone, Copy, Debug)]
struct CallRow {
    id: Id,
    /// The offset of its block, if that is known. No block stands at the start of a file.
    offset: Option<NonZeroU64>,
    row: u32,
}

impl CallRow {
    fn offset(&self) -> Option<u64> {
        self.offset.map(NonZeroU64::get)
    }
}

/// The first row of each call, by the index of its id; [`NO_ROW`] for other ids.
#[derive(Clone, Debug, Default)]
struct FirstRows(Vec<u32>);

const NO_ROW: u32 = u32::MAX;

impl FirstRows {
    fn of(session: &Session, calls: &[CallRow]) -> Self {
        let mut rows = Self(vec![NO_ROW; session.id_count()]);
        for call in calls {
            rows.add(call.id, call.row);
        }
        rows
    }

    fn add(&mut self, id: Id, row: u32) {
        let first = &mut self.0[id.index()];
        *first = (*first).min(row);
    }

    fn get(&self, id: Id) -> Option<u32> {
        self.0.get(id.index()).copied().filter(|&row| row != NO_ROW)
    }
}

/// The rows of a conversation.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    steps: Arc<Vec<Step>>,
    rows: Vec<RowRef>,
    /// The first row of each step.
    first_rows: Vec<u32>,
    /// The row of each call, in order, and the first row of each id.
    calls: Vec<CallRow>,
    row_by_call: FirstRows,
    server_calls: HashMap<Id, Call>,
    /// The calls whose ids other calls have, too, by the offsets of their blocks; and those of them that have a row.
    calls_of_shared_ids: HashMap<u64, Call>,
    shown: HashSet<u64>,
    /// How many entries the file had. The last line may have been half written.
    nodes: usize,
    /// Whether the lines of rows are not estimated, which decodes most texts.
    is_unmeasured: bool,
}

impl Outline {
    /// Finds the rows of a conversation.
    pub fn of<T: Transcript>(conversation: &Conversation<'_, T>) -> Result<Self, T::Error> {
        Self::default().extended(conversation)
    }

    /// Finds the rows of a conversation without their lengths, which only a viewer needs.
    pub fn unmeasured<T: Transcript>(conversation: &Conversation<'_, T>) -> Result<Self, T::Error> {
        Self { is_unmeasured: true, ..Self::default() }.extended(conversation)
    }

    /// Finds the rows of a conversation after its file grew: steps that are still the same are not read again.
    pub fn extended<T: Transcript>(&self, conversation: &Conversation<'_, T>) -> Result<Self, T::Error> {
        let steps = conversation.steps_once();
        let session = conversation.session();
        let server_calls = tool::server_calls(session);
        let settled = self.nodes.saturating_sub(1);
        let is_settled = |step: &Step| !matches!(step, Step::Entry { node, .. } if *node >= settled);
        let same =
            steps.iter().zip(&*self.steps).take_while(|(new, old)| new == old && is_settled(new)).count();
        let kept = self.first_rows.get(same).map_or(self.rows.len(), |&row| row as usize);
        let mut calls: Vec<CallRow> = Vec::with_capacity(conversation.calls().len() + server_calls.len());
        calls.extend(self.calls.iter().filter(|call| (call.row as usize) < kept));
        let mut rows = Vec::with_capacity(most_rows(session, &steps).max(kept));
        rows.extend_from_slice(&self.rows[..kept]);
        let mut first_rows = Vec::with_capacity(steps.len());
        first_rows.extend_from_slice(&self.first_rows[..same]);
        let calls_of_shared_ids = tool::calls_of_shared_ids(conversation)?;
        let shown = calls.iter().filter_map(|call| calls_of_shared_ids.get(&call.offset()?));
        let shown = shown.map(|call| call.block.offset).collect();
        let mut outline = Outline {
            rows,
            first_rows,
            row_by_call: FirstRows::of(session, &calls),
            calls,
            calls_of_shared_ids,
            shown,
            server_calls: server_calls
                .into_iter()
                .filter_map(|call| Some((call.block.tool?, call)))
                .collect(),
            steps,
            nodes: session.nodes().len(),
            is_unmeasured: self.is_unmeasured,
        };
        let turns: HashMap<NodeIndex, i64> =
            conversation.turns().iter().filter_map(|turn| Some((turn.node, turn.idle_ms?))).collect();
        for at in same..outline.steps.len() {
            outline.first_rows.push(index(outline.rows.len()));
            outline.add_step(conversation, at, &turns)?;
        }
        Ok(outline)
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[RowRef] {
        &self.rows
    }

    /// Returns the step of a row.
    pub fn step(&self, row: &RowRef) -> &Step {
        &self.steps[row.step as usize]
    }

    /// Returns the parts of the entry that a row shows: up to the next row of the same entry.
    pub(crate) fn parts(&self, number: usize) -> std::ops::Range<usize> {
        let row = &self.rows[number];
        let next = self.rows.get(number + 1).filter(|next| next.step == row.step);
        row.part as usize..next.map_or(usize::MAX, |next| next.part as usize)
    }

    /// Returns the call of a tool, also of one on the server.
    pub(crate) fn call<T: Transcript>(&self, conversation: &Conversation<'_, T>, id: Id) -> Option<Call> {
        conversation.call(id).or_else(|| self.server_calls.get(&id)).copied()
    }

    /// Returns the call of a block, if its id is known.
    pub(crate) fn call_of_block<T: Transcript>(
        &self,
        conversation: &Conversation<'_, T>,
        id: Id,
        offset: Option<u64>,
    ) -> Option<Call> {
        let of_block = offset.and_then(|offset| self.calls_of_shared_ids.get(&offset).copied());
        of_block.or_else(|| self.call(conversation, id))
    }

    /// Returns the first row of an entry; of an entry that only has results, the row of the first call.
    pub fn row_of<T: Transcript>(
        &self,
        conversation: &Conversation<'_, T>,
        node: NodeIndex,
    ) -> Option<usize> {
        let node = conversation.duplicates().content(node);
        let step = self
            .steps
            .iter()
            .position(|step| matches!(step, Step::Entry { node: found, .. } if *found == node))?;
        let row = *self.first_rows.get(step)? as usize;
        let has_row = |row: usize| self.rows.get(row).is_some_and(|found| found.step as usize == step);
        // The row before an entry may say that nothing happened for a while.
        let is_idle = self.rows.get(row).is_some_and(|found| found.kind == ViewRowKind::Idle);
        let row = row + usize::from(is_idle);
        if has_row(row) {
            return Some(row);
        }
        let session = conversation.session();
        let mut ids = session.blocks(&session.nodes()[node]).iter().filter_map(|block| block.tool);
        ids.find_map(|id| self.row_of_call(id))
    }

    /// Returns the first row of a call with an id.
    pub fn row_of_call(&self, id: Id) -> Option<usize> {
        self.row_by_call.get(id).map(|row| row as usize)
    }

    /// Returns the rows at which turns begin, from turn 1 on.
    pub fn turns<T: Transcript>(&self, conversation: &Conversation<'_, T>) -> Vec<usize> {
        let mut wanted = conversation.turns().iter().peekable();
        let mut rows = Vec::with_capacity(conversation.turns().len());
        for (step, &row) in self.steps.iter().zip(&self.first_rows) {
            let Step::Entry { node, live: true } = *step else { continue };
            if wanted.next_if(|turn| turn.node == node).is_some() {
                let is_idle =
                    self.rows.get(row as usize).is_some_and(|found| found.kind == ViewRowKind::Idle);
                rows.push(row as usize + usize::from(is_idle));
            }
        }
        rows
    }

    /// Returns the rows of calls that did not succeed.
    pub fn failed<T: Transcript>(&self, conversation: &Conversation<'_, T>) -> Result<Vec<usize>, T::Error> {
        let mut failed = Vec::new();
        for made in &self.calls {
            let Some(call) = self.call_of_block(conversation, made.id, made.offset()) else { continue };
            if !matches!(conversation.state(&call)?, State::Ok | State::Pending) {
                failed.push(made.row as usize);
            }
        }
        Ok(failed)
    }

    /// Returns the rows that are not on the live conversation, as ranges.
    pub fn left(&self) -> Vec<(usize, usize)> {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            if matches!(
                self.step(row),
                Step::Entry { live: true, .. } | Step::Root { live: true, .. } | Step::Gap { .. }
            ) {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if last.1 == number => last.1 += 1,
                _ => ranges.push((number, number + 1)),
            }
        }
        ranges
    }

    /// Adds a row that is no part of an entry.
    fn add_mark(&mut self, step: u32, kind: ViewRowKind) {
        self.rows.push(RowRef { kind, step, part: 0, lines: 1 });
    }

    fn has_call<T: Transcript>(&self, conversation: &Conversation<'_, T>, id: Option<Id>) -> bool {
        id.is_some_and(|id| self.call(conversation, id).is_some())
    }

    fn add_step<T: Transcript>(
        &mut self,
        conversation: &Conversation<'_, T>,
        at: usize,
        turns: &HashMap<NodeIndex, i64>,
    ) -> Result<(), T::Error> {
        let step = index(at);
        let node = match self.steps[at] {
            Step::Entry { node, .. } => node,
            Step::Branch { .. } => {
                self.add_mark(step, ViewRowKind::Branch);
                return Ok(());
            }
            Step::Gap { .. } => {
                self.add_mark(step, ViewRowKind::Gap);
                return Ok(());
            }
            Step::Root { .. } => {
                self.add_mark(step, ViewRowKind::Root);
                return Ok(());
            }
        };
        if turns.get(&node).is_some_and(|&idle| idle >= LONG_PAUSE_MS) {
            self.add_mark(step, ViewRowKind::Idle);
        }
        let entry = &conversation.session().nodes()[node];
        if !item::may_have_parts(entry.kind) {
            let is_damage = entry.kind == Kind::Noise;
            self.add_mark(step, if is_damage { ViewRowKind::Damage } else { ViewRowKind::Record });
            return Ok(());
        }
        // Results are shown with their calls. Most bytes of a session are in results, so these are not read for nothing.
        let session = conversation.session();
        if entry.problem.is_none()
            && session.has_only_results(entry)
            && session.blocks(entry).iter().all(|block| self.has_call(conversation, block.tool))
        {
            return Ok(());
        }
        if self.is_unmeasured && blocks_name_rows(session, entry) {
            self.add_blocks(step, session.blocks(entry));
            return Ok(());
        }
        let body = conversation.transcript().body(entry)?;
        let item = Item::of(&Entry::new(&body));
        let ids = calls_of(conversation.session(), entry, &item);
        let offsets = offsets_of(session, entry, &item, &ids);
        self.add_parts(conversation, step, &item, &ids, &offsets);
        Ok(())
    }

    fn add_parts<T: Transcript>(
        &mut self,
        conversation: &Conversation<'_, T>,
        step: u32,
        item: &Item<'_>,
        ids: &[Option<Id>],
        offsets: &[Option<u64>],
    ) {
        let first = self.rows.len();
        let mut is_empty = true;
        for (number, part) in item.parts.iter().enumerate() {
            is_empty = false;
            let id = ids[number];
            let kind = match part {
                Part::Result(_) | Part::ServerResult(_) if self.has_call(conversation, id) => continue,
                Part::Call(_) | Part::ServerCall(_) if self.has_row(id, offsets[number]) => continue,
                part => match kind_of(item, part) {
                    Some(kind) => kind,
                    None => continue,
                },
            };
            let is_media = matches!(part, Part::Image(_) | Part::Document(_));
            let lines = if self.is_unmeasured { 1 } else { lines_of(part) };
            match self.rows[first..].last_mut() {
                // An image belongs to the words that it came with.
                Some(last) if is_media && last.kind == kind => last.lines += lines,
                _ => self.add_row(RowRef { kind, step, part: index(number), lines }, id, offsets[number]),
            }
        }
        if is_empty {
            self.rows.push(RowRef { kind: ViewRowKind::Record, step, part: 0, lines: 1 });
        }
    }

    /// Adds the rows of an entry whose blocks say which they are; each block is a part of it.
    fn add_blocks(&mut self, step: u32, blocks: &[BlockSpan]) {
        for (number, block) in blocks.iter().enumerate() {
            let kind = match block.kind {
                BlockKind::Text => ViewRowKind::Reply,
                BlockKind::Thinking => ViewRowKind::Thinking,
                _ if self.has_row(block.tool, Some(block.offset)) => continue,
                _ => ViewRowKind::Call,
            };
            self.add_row(
                RowRef { kind, step, part: index(number), lines: 1 },
                block.tool,
                Some(block.offset),
            );
        }
    }

    /// Returns whether a call has a row: several lines may repeat it. Another call with the same id is not it.
    fn has_row(&self, id: Option<Id>, offset: Option<u64>) -> bool {
        match offset.and_then(|offset| self.calls_of_shared_ids.get(&offset)) {
            Some(call) => self.shown.contains(&call.block.offset),
            None => id.is_some_and(|id| self.row_by_call.get(id).is_some()),
        }
    }

    fn add_row(&mut self, row: RowRef, call: Option<Id>, offset: Option<u64>) {
        if let (ViewRowKind::Call, Some(id)) = (row.kind, call) {
            let number = index(self.rows.len());
            self.calls.push(CallRow { id, offset: offset.and_then(NonZeroU64::new), row: number });
            self.row_by_call.add(id, number);
            let shared = offset.and_then(|offset| self.calls_of_shared_ids.get(&offset));
            self.shown.extend(shared.map(|call| call.block.offset));
        }
        self.rows.push(row);
    }
}

/// Returns about how many rows steps have, and seldom fewer: a list that grows leaves copies in memory.
fn most_rows(session: &Session, steps: &[Step]) -> usize {
    let of_step = |step: &Step| match step {
        Step::Entry { node, .. } => {
            let node = &session.nodes()[*node];
            if session.has_only_results(node) { 0 } else { session.blocks(node).len().max(1) }
        }
        _ => 1,
    };
    steps.iter().map(of_step).sum()
}

/// Returns whether the blocks of a reply say which rows it has, so that it need not be read.
fn blocks_name_rows(session: &Session, entry: &Node) -> bool {
    let blocks = session.blocks(entry);
    // The text of a reply that says why a request failed is a notice.
    let is_sound = entry.problem.is_none() && entry.kind == Kind::Assistant && !entry.has(Flag::ApiError);
    is_sound && !blocks.is_empty() && blocks.iter().all(names_row)
}

/// Returns whether the kind of a block says which row it is.
fn names_row(block: &BlockSpan) -> bool {
    use BlockKind::{ServerToolUse, Text, Thinking, ToolUse};
    matches!(block.kind, Text | Thinking | ToolUse | ServerToolUse) && !block.is_bare
}

/// Returns the kind of row that a part is; `None` if it has none.
fn kind_of(item: &Item<'_>, part: &Part<'_>) -> Option<ViewRowKind> {
    let is_user = item.role == Some(annals_transcript::model::Role::User);
    Some(match part {
        _ if item.visibility_of(part) == Visibility::Hidden => return None,
        _ if item.visibility_of(part) == Visibility::Context => ViewRowKind::Context,
        Part::Input(input) if input.kind.is_typed() => ViewRowKind::Prompt,
        Part::Text(text) if text.is_blank() => return None,
        Part::Thinking(_) | Part::RedactedThinking => ViewRowKind::Thinking,
        Part::Call(_) | Part::ServerCall(_) => ViewRowKind::Call,
        Part::Image(_) | Part::Document(_) if is_user => ViewRowKind::Prompt,
        Part::Text(_) | Part::Image(_) | Part::Document(_) => ViewRowKind::Reply,
        Part::Notice(Notice::Compaction(_)) => ViewRowKind::Compaction,
        // Blocks of other types, results without a call, and what Claude Code says.
        _ => ViewRowKind::Notice,
    })
}

/// Returns the call that each part of an entry makes or answers. The blocks of the session have it; looking up an id by its text takes
/// longer the more ids there are.
pub(crate) fn calls_of(session: &Session, node: &Node, item: &Item<'_>) -> Vec<Option<Id>> {
    let blocks: Vec<_> = session.blocks(node).iter().filter(|block| is_of_tool(block.kind)).collect();
    let parts = item.parts.iter().filter(|part| is_call_or_result(part)).count();
    let mut ids = blocks.iter().map(|block| block.tool);
    if blocks.len() == parts {
        let id = |part: &Part<'_>| if is_call_or_result(part) { ids.next().flatten() } else { None };
        return item.parts.iter().map(id).collect();
    }
    let texts = session.id_texts();
    let known: HashMap<String, Id> = ids.flatten().map(|id| (texts.get(id), id)).collect();
    let id = |part: &Part<'_>| {
        let text = is_call_or_result(part).then(|| id_text(part))??;
        known.get(&*text).copied().or_else(|| session.id(&text))
    };
    item.parts.iter().map(id).collect()
}

/// Returns the offsets of the blocks with the calls among the parts of an entry; `ids` are those of [`calls_of`].
pub(crate) fn offsets_of(
    session: &Session,
    node: &Node,
    item: &Item<'_>,
    ids: &[Option<Id>],
) -> Vec<Option<u64>> {
    let mut blocks: HashMap<Id, VecDeque<u64>> = HashMap::new();
    for block in session.blocks(node).iter().filter(|block| block.kind == BlockKind::ToolUse) {
        if let Some(id) = block.tool {
            blocks.entry(id).or_default().push_back(block.offset);
        }
    }
    let offset = |(part, id): (&Part<'_>, &Option<Id>)| match part {
        Part::Call(_) => blocks.get_mut(id.as_ref()?)?.pop_front(),
        _ => None,
    };
    item.parts.iter().zip(ids).map(offset).collect()
}

fn is_of_tool(kind: BlockKind) -> bool {
    matches!(
        kind,
        BlockKind::ToolUse
            | BlockKind::ToolResult(_)
            | BlockKind::ServerToolUse
            | BlockKind::ServerToolResult
            | BlockKind::AdvisorResult
    )
}

fn is_call_or_result(part: &Part<'_>) -> bool {
    matches!(part, Part::Call(_) | Part::ServerCall(_) | Part::Result(_) | Part::ServerResult(_))
}

fn id_text<'a>(part: &Part<'a>) -> Option<Cow<'a, str>> {
    match part {
        Part::Call(call) | Part::ServerCall(call) => call.id(),
        Part::Result(result) | Part::ServerResult(result) => result.tool_use_id(),
        _ => None,
    }
}

/// Returns about how many lines a text has.
fn lines_of_text(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + text.len() / LINE_LENGTH + 1
}

/// Returns how many lines a card has that shows the beginning of so many.
fn lines_of_card(lines: usize) -> usize {
    lines.min(FIRST_LINES) + 1
}

/// Returns about how many lines a part has when its row is open.
fn lines_of(part: &Part<'_>) -> u32 {
    let lines = match part {
        Part::Text(found) | Part::RequestError(found) => lines_of_text(&found.text()),
        Part::Input(input) if input.kind.is_typed() => lines_of_text(&input.text),
        Part::Input(input) => lines_of_card(lines_of_text(&input.text)),
        Part::Thinking(thinking) => lines_of_card(lines_of_text(&thinking.thinking().unwrap_or_default())),
        Part::Call(call) | Part::ServerCall(call) => {
            let input = call.input().map_or(0, |input| input.bytes().len());
            lines_of_card(input / LINE_LENGTH) + FIRST_LINES / 2
        }
        Part::Image(_) | Part::Document(_) => FIRST_LINES,
        _ => 1,
    };
    u32::try_from(lines).unwrap_or(u32::MAX)
}

/// Rows and steps are counted in 32 bits: a file with more of them has hundreds of gigabytes.
fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
