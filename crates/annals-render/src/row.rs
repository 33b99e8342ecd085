//! The rows of a conversation with their content.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use annals_proto::{
    Compaction, Tokens, ToolState, ViewFactKind, ViewInline, ViewMark, ViewNode, ViewRow, ViewRowKind,
    ViewTool,
};
use annals_transcript::Entry;
use annals_transcript::chain::NodeIndex;
use annals_transcript::content::{Block, ToolResult, ToolUse};
use annals_transcript::conversation::{Conversation, Transcript};
use annals_transcript::entry::view::{Assistant, SpilledOutput, ToolUseResult};
use annals_transcript::full_view::Step;
use annals_transcript::item::{Item, Notice, Part};
use annals_transcript::json::{JsonStr, Value};
use annals_transcript::prompt::{Input, InputKind};
use annals_transcript::session::{BlockKind, BlockSpan, Id, IdTexts};
use annals_transcript::tool::{Call, State};

use crate::assembled::{Signs, Source};
use crate::card::{CallParts, Fact, image_node};
use crate::long::{self, Form, LongText, Piece};
use crate::outline::{Outline, RowRef, calls_of, offsets_of};
use crate::prose::prose_for;
use crate::{
    FIRST_BYTES, FIRST_LINES, Keep, Target, cut, inline, json, media, note, one_line, one_line_of, plain,
    visible,
};

/// The longest summary of a row, in characters.
const LONGEST_SUMMARY: usize = 200;
/// The longest word of a transcript that a row shows, such as what triggered a compaction.
const LONGEST_WORD: usize = 80;
/// How many bytes of a text [`one_line`] reads for a summary.
const MOST_OF_SUMMARY: usize = 16 * LONGEST_SUMMARY;
/// How many bytes are mostly enough for it.
const LIKELY_SUMMARY: usize = 3 * LONGEST_SUMMARY;
/// How much of a prompt or a reply a row shows.
const LONG_TEXT: (usize, usize) = (500, 64 << 10);
/// Longer entries are not rendered as a whole: viewers show them in pieces, and documents say how long they are.
pub const LONGEST_ENTRY: u64 = 16 << 20;

/// Masks secrets: in lines of a transcript before anything of them is rendered, and in what a reader sees of them.
pub trait Filter {
    /// Returns the line to render, and how many values were changed in it.
    fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize);

    /// Returns the ranges of a text that must not be shown, in order and apart, each with what is shown in its place.
    fn visible(&self, text: &str) -> Vec<(Range<usize>, String)>;
}

/// Output of a tool that was too long for the transcript, from the file in which Claude Code stored it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeOutput {
    /// Its text, or the beginning of it.
    pub text: String,
    /// How many bytes follow.
    pub left: u64,
}

/// Reads such output; `None` if its file is gone or cannot be read.
pub type ReadOutput<'r> = &'r dyn Fn(&SpilledOutput<'_>) -> Option<WholeOutput>;

/// Output of a tool that was too long for the transcript, in the file in which Claude Code stored it.
pub trait StoredText {
    /// Returns the length of the file.
    fn length(&self) -> u64;

    /// Reads so many bytes from an offset on, and fewer at the end of the file.
    fn read(&self, offset: u64, length: usize) -> std::io::Result<Vec<u8>>;
}

/// Opens such a file; `None` if it is gone or cannot be read.
pub type OpenStored<'r> = &'r dyn Fn(&SpilledOutput<'_>) -> Option<Box<dyn StoredText>>;

/// So much of a file with output is shown; what follows is counted.
const LONGEST_STORED: u64 = 256 << 20;
/// How many bytes of a block may follow the text that is shown of it without being mentioned.
const MOST_BEHIND: u64 = 128;

/// How much of a row is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// The summary alone; prompts and replies have their content.
    Folded,
    /// The first lines.
    First,
    /// Everything.
    Whole,
}

/// A part of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Content.
    Nodes(Vec<ViewNode>),
    /// An image: its media type and its base64.
    Image(&'static str, String),
}

/// Renders the rows of a conversation.
pub struct Rows<'r, 's, T> {
    conversation: &'r Conversation<'s, T>,
    outline: &'r Outline,
    filter: Option<&'r dyn Filter>,
    read_output: Option<ReadOutput<'r>>,
    open_stored: Option<OpenStored<'r>>,
    target: Target,
    ids: IdTexts<'s>,
    /// The entry that was shown last, and the entry with the last result: an entry with many calls would otherwise be read and masked
    /// once for each of them.
    shown: RefCell<Option<Rc<ReadLine>>>,
    answer: RefCell<Option<Rc<Answer>>>,
}

/// The line of an entry, masked.
struct ReadLine {
    node: NodeIndex,
    bytes: Vec<u8>,
    /// How many values were masked in it.
    masked: usize,
    signs: Signs,
}

impl ReadLine {
    fn source(&self) -> Source<'_> {
        Source::new(&self.bytes, &self.signs)
    }
}

/// A row of a conversation; rows of the same entry share what is read of it.
pub struct EntryRow<'e, 'l, T> {
    rows: &'e Rows<'e, 'e, T>,
    number: usize,
    entry: &'e ReadEntry<'l>,
}

impl<T: Transcript> EntryRow<'_, '_, T> {
    /// Returns its number.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Renders the row.
    pub fn row(&self, open: Open) -> Result<ViewRow, T::Error> {
        self.rows.row_of(self.number, self.entry, open)
    }

    /// Renders a part of the row, like [`Rows::part`].
    pub fn part(&self, part: usize) -> Result<Option<Found>, T::Error> {
        self.rows.part_of(self.number, self.entry, part)
    }
}

/// An entry that is read and parsed when its first row needs it, and once for all of its rows.
struct ReadEntry<'l> {
    line: &'l OnceCell<Rc<ReadLine>>,
    parsed: OnceCell<Parsed<'l>>,
}

impl<'l> ReadEntry<'l> {
    fn new(line: &'l OnceCell<Rc<ReadLine>>) -> Self {
        Self { line, parsed: OnceCell::new() }
    }

    fn get<T: Transcript>(&self, rows: &Rows<'_, '_, T>, node: NodeIndex) -> Result<&Parsed<'l>, T::Error> {
        if self.parsed.get().is_none() {
            let line = rows.kept(node)?;
            let line = self.line.get_or_init(|| line);
            let parsed = Parsed::of(line, rows.conversation, node);
            return Ok(self.parsed.get_or_init(|| parsed));
        }
        Ok(self.parsed.get().expect("it was just there"))
    }
}

/// What the rows of an entry have in common.
struct Parsed<'l> {
    line: &'l ReadLine,
    entry: Entry<'l>,
    item: Item<'l>,
    /// The call that each part makes or answers.
    ids: Vec<Option<Id>>,
    /// The offset of the block of each part that is a call.
    offsets: Vec<Option<u64>>,
}

impl<'l> Parsed<'l> {
    fn of<T: Transcript>(line: &'l ReadLine, conversation: &Conversation<'_, T>, node: NodeIndex) -> Self {
        count_parsed(&line.bytes);
        let entry = Entry::new(&line.bytes);
        let item = Item::of(&entry);
        let session = conversation.session();
        let ids = calls_of(session, &session.nodes()[node], &item);
        let offsets = offsets_of(session, &session.nodes()[node], &item, &ids);
        Self { line, entry, item, ids, offsets }
    }

    fn cwd(&self) -> Option<Cow<'l, str>> {
        self.entry.head().cwd.map(JsonStr::decode)
    }
}

/// An entry with results of calls, and where they are in its line: each is parsed with its call alone.
struct Answer {
    line: ReadLine,
    /// The results of each id.
    results: HashMap<String, Vec<Range<usize>>>,
    /// What the tool returned besides (`toolUseResult`), if it is an object and the line has one result that it can belong to.
    output: Option<Range<usize>>,
    /// How many results of the same call stand before the one in each block, by the offsets of the blocks in the file.
    number_of_block: HashMap<u64, usize>,
}

impl Answer {
    fn of(line: ReadLine, blocks: &[BlockSpan]) -> Self {
        count_parsed(&line.bytes);
        let entry = Entry::new(&line.bytes);
        let place = |value: Value<'_>| {
            let start = value.bytes().as_ptr().addr() - line.bytes.as_ptr().addr();
            start..start + value.bytes().len()
        };
        let mut results: HashMap<_, Vec<_>> = HashMap::new();
        for part in Item::of(&entry).parts {
            if let Part::Result(result) | Part::ServerResult(result) = part
                && let Some(id) = result.tool_use_id()
            {
                results.entry(id.into_owned()).or_default().push(place(Block::ToolResult(result).value()));
            }
        }
        let has_one = results.values().map(Vec::len).sum::<usize>() == 1;
        let output = match entry.tool_use_result() {
            Some(ToolUseResult::Object(object)) if has_one => Some(place(object)),
            _ => None,
        };
        let mut counts: HashMap<Option<Id>, usize> = HashMap::new();
        let number_of_block = blocks.iter().filter(|block| !is_call(block.kind)).map(|block| {
            let count = counts.entry(block.tool).or_default();
            *count += 1;
            (block.offset, *count - 1)
        });
        let number_of_block = number_of_block.collect();
        Self { line, results, output, number_of_block }
    }

    fn value(&self, place: &Range<usize>) -> Value<'_> {
        let bytes = &self.line.bytes[place.clone()];
        count_parsed(bytes);
        Value::trusted(bytes)
    }

    /// Returns one of the results that have the id of a call.
    fn result(&self, call: &ToolUse<'_>, number: usize) -> Option<ToolResult<'_>> {
        match Block::new(self.value(self.results.get(&*call.id()?)?.get(number)?)) {
            Block::ToolResult(result) | Block::ServerToolResult(result) => Some(result),
            _ => None,
        }
    }
}

/// Returns a text with ranges of it replaced.
fn replaced<'t>(text: &'t str, found: &[(Range<usize>, String)]) -> Cow<'t, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut written = 0;
    for (range, mark) in found {
        out.extend([&text[written..range.start], mark]);
        written = range.end;
    }
    out.push_str(&text[written..]);
    Cow::Owned(out)
}

#[cfg(not(test))]
fn count_parsed(_: &[u8]) {}

#[cfg(test)]
fn count_parsed(bytes: &[u8]) {
    tests::PARSED.set(tests::PARSED.get() + bytes.len());
}

impl<'r, 's, T: Transcript> Rows<'r, 's, T> {
    /// Renders rows; secrets are masked by `filter`, if it is given.
    pub fn new(
        conversation: &'r Conversation<'s, T>,
        outline: &'r Outline,
        filter: Option<&'r dyn Filter>,
    ) -> Self {
        let target = Target::default();
        let ids = conversation.session().id_texts();
        Self {
            conversation,
            outline,
            filter,
            read_output: None,
            open_stored: None,
            target,
            ids,
            shown: RefCell::default(),
            answer: RefCell::default(),
        }
    }

    /// Renders rows for something else than a viewer.
    #[must_use]
    pub fn with_target(self, target: Target) -> Self {
        Self { target, ..self }
    }

    /// Shows output that was too long for the transcript from its file, as far as `read_output` reads it.
    #[must_use]
    pub fn with_outputs(self, read_output: ReadOutput<'r>) -> Self {
        Self { read_output: Some(read_output), ..self }
    }

    /// Shows output that was too long for the transcript in pieces, from the files that `open_stored` opens.
    #[must_use]
    pub fn with_stored_outputs(self, open_stored: OpenStored<'r>) -> Self {
        Self { open_stored: Some(open_stored), ..self }
    }

    /// Renders a row.
    pub fn row(&self, number: usize, open: Open) -> Result<ViewRow, T::Error> {
        self.row_of(number, &ReadEntry::new(&OnceCell::new()), open)
    }

    /// Calls `visit` with rows in order. An entry is read and parsed once for all of its rows that follow each other.
    pub fn each<E>(
        &self,
        numbers: impl IntoIterator<Item = usize>,
        mut visit: impl FnMut(&EntryRow<'_, '_, T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let step = |number: usize| self.outline.rows()[number].step;
        let mut numbers = numbers.into_iter().peekable();
        while let Some(&first) = numbers.peek() {
            let line = OnceCell::new();
            let entry = ReadEntry::new(&line);
            while let Some(number) = numbers.next_if(|&number| step(number) == step(first)) {
                visit(&EntryRow { rows: self, number, entry: &entry })?;
            }
        }
        Ok(())
    }

    fn row_of(&self, number: usize, entry: &ReadEntry<'_>, open: Open) -> Result<ViewRow, T::Error> {
        let row = &self.outline.rows()[number];
        match *self.outline.step(row) {
            Step::Entry { node, live } => self.entry_row(number, entry, node, live, open),
            Step::Branch { from, entries, last, .. } => Ok(ViewRow {
                parent: from.and_then(|from| self.uuid(from.index())),
                leaf: self.uuid(last as usize),
                entries: Some(entries as usize),
                summary: format!(
                    "{entries} {} beside the conversation",
                    if entries == 1 { "entry" } else { "entries" }
                ),
                ..empty(number, row.kind, false)
            }),
            Step::Gap { missing } => Ok(ViewRow {
                parent: Some(self.ids.get(missing)),
                summary: "the entry that the next one follows is not in the file".to_owned(),
                ..empty(number, row.kind, true)
            }),
            Step::Root { kind, live } => Ok(ViewRow {
                cause: Some(kind.name().to_owned()),
                summary: format!("the conversation begins again: {}", kind.name().replace('_', " ")),
                ..empty(number, row.kind, live)
            }),
        }
    }

    /// Renders a part of a row as a whole: of a call, 0 are the arguments, 1 is the result, and images follow; of another row, 0 is
    /// its text, and images follow.
    pub fn part(&self, number: usize, part: usize) -> Result<Option<Found>, T::Error> {
        self.part_of(number, &ReadEntry::new(&OnceCell::new()), part)
    }

    /// Renders some lines of a part that is too long to be rendered as a whole; `None` for every other part.
    pub fn piece(
        &self,
        number: usize,
        part: usize,
        from: usize,
        count: usize,
    ) -> Result<Option<Piece>, T::Error> {
        let row = &self.outline.rows()[number];
        let Step::Entry { node, .. } = *self.outline.step(row) else { return Ok(None) };
        if part == 0 && self.is_long(node) {
            return self.with_line(node, |text| self.piece_of(text, from, count)).map(Some);
        }
        if part != 1 || row.kind != ViewRowKind::Call || self.is_long(node) {
            return Ok(None);
        }
        let line = OnceCell::new();
        let entry = ReadEntry::new(&line);
        let parsed = entry.get(self, node)?;
        let parts = self.parts_of(number, &parsed.item);
        let Some(Part::Call(call) | Part::ServerCall(call)) = parts.first() else { return Ok(None) };
        let found = self.call_of(row, parsed);
        let of_file = self.with_result(parsed, call, found.as_ref(), |parts, _| {
            self.with_stored(&parts, |text, _| self.piece_of(text, from, count))
        })?;
        if of_file.is_some() {
            return Ok(of_file);
        }
        let Some(result) = found.and_then(|found| self.long_result(&found)) else { return Ok(None) };
        self.with_long_result(result, |text, _| self.piece_of(text, from, count))
    }

    fn piece_of<E>(&self, text: &LongText<'_, E>, from: usize, count: usize) -> Result<Piece, E> {
        text.piece(&text.count()?, from, count, self.filter, self.target)
    }

    /// Returns whether an entry is shown in pieces.
    fn is_long(&self, node: NodeIndex) -> bool {
        self.target == Target::Viewer && self.conversation.session().nodes()[node].length > LONGEST_ENTRY
    }

    /// Returns the entry and the block with a result that is shown in pieces.
    fn long_result(&self, found: &Call) -> Option<(NodeIndex, BlockSpan)> {
        found.result.filter(|(node, block)| self.is_long(*node) && block.length > LONGEST_ENTRY)
    }

    /// Works with the bytes of an entry.
    fn with_line<R>(
        &self,
        node: NodeIndex,
        work: impl FnOnce(&LongText<'_, T::Error>) -> Result<R, T::Error>,
    ) -> Result<R, T::Error> {
        let node = &self.conversation.session().nodes()[node];
        let read = |offset, length| self.conversation.transcript().part(node, offset, length);
        work(&LongText { form: Form::Plain, range: 0..node.length, read: &read })
    }

    /// Works with the text of a result, and with how long its block is; `None` if the result does not begin with text.
    fn with_long_result<R>(
        &self,
        (node, block): (NodeIndex, BlockSpan),
        work: impl FnOnce(&LongText<'_, T::Error>, u64) -> Result<R, T::Error>,
    ) -> Result<Option<R>, T::Error> {
        let node = &self.conversation.session().nodes()[node];
        let read = |offset, length| self.conversation.transcript().part(node, offset, length);
        let start = block.offset - node.at.offset;
        let beginning = read(start, long::BEGINNING)?;
        let Some(text) = long::text_of_result(&beginning) else { return Ok(None) };
        let range = start + text as u64..start + block.length;
        work(&LongText { form: Form::Json, range: range.clone(), read: &read }, range.end).map(Some)
    }

    /// Works with the output of a call that Claude Code stored in a file, and with how long the file is; `None` if there is none.
    fn with_stored<R>(
        &self,
        parts: &CallParts<'_>,
        work: impl FnOnce(&LongText<'_, std::io::Error>, u64) -> std::io::Result<R>,
    ) -> Option<R> {
        let stored = parts.stored(self.open_stored?)?;
        let length = stored.length();
        let read = |offset, length| stored.read(offset, length);
        work(&LongText { form: Form::Plain, range: 0..length.min(LONGEST_STORED), read: &read }, length).ok()
    }

    /// Renders the beginning or the end of a long text, and says what follows it: up to `end`, the block or the file that it is in.
    fn first_of<E>(
        &self,
        text: &LongText<'_, E>,
        parts: &CallParts<'_>,
        end: u64,
    ) -> Result<(Vec<ViewNode>, usize), E> {
        let (mut nodes, masked, shown) = text.first(parts.kept_end(), 1, self.filter, self.target)?;
        let left = end.saturating_sub(shown);
        if left > MOST_BEHIND {
            nodes.push(note("left", &format!("{left} bytes follow, which are not shown here.")));
        }
        nodes.extend(parts.images());
        Ok((nodes, masked))
    }

    fn part_of(&self, number: usize, entry: &ReadEntry<'_>, part: usize) -> Result<Option<Found>, T::Error> {
        let row = &self.outline.rows()[number];
        let Step::Entry { node, .. } = *self.outline.step(row) else { return Ok(None) };
        let parsed = entry.get(self, node)?;
        let parts = self.parts_of(number, &parsed.item);
        if row.kind == ViewRowKind::Call {
            let Some(Part::Call(call) | Part::ServerCall(call)) = parts.first() else { return Ok(None) };
            let made = self.call_of(row, parsed);
            return self.with_result(parsed, call, made.as_ref(), |parts, answer| match part {
                0 => Some(Found::Nodes(self.masked(parts.input(), Some(parsed.line)).0)),
                1 => Some(Found::Nodes(self.masked(parts.output().0, answer).0)),
                _ => parts.image(part).map(|image| Found::Image(image.media, image.data.into_owned())),
            });
        }
        if part == 0 {
            let nodes = content(row, &parsed.entry, &parts, self.target);
            return Ok(Some(Found::Nodes(self.masked(nodes, Some(parsed.line)).0)));
        }
        let mut images = parts.iter().filter_map(|part| match part {
            Part::Image(image) | Part::Document(image) => Some(image),
            _ => None,
        });
        let image = images.nth(part - 1).and_then(media);
        Ok(image.map(|image| Found::Image(image.media, image.data.into_owned())))
    }

    /// Returns the call that a row shows.
    fn call_of(&self, row: &RowRef, parsed: &Parsed<'_>) -> Option<Call> {
        let id = parsed.ids.get(row.part as usize).copied().flatten()?;
        let offset = parsed.offsets.get(row.part as usize).copied().flatten();
        self.outline.call_of_block(self.conversation, id, offset)
    }

    fn uuid(&self, node: NodeIndex) -> Option<String> {
        self.conversation.session().nodes()[node].id.map(|id| self.ids.get(id))
    }

    /// Returns the line of an entry: the one that was shown last, or it is read.
    fn kept(&self, node: NodeIndex) -> Result<Rc<ReadLine>, T::Error> {
        if let Some(kept) = self.shown.borrow().as_ref().filter(|kept| kept.node == node) {
            return Ok(kept.clone());
        }
        // The last line is dropped before the next one is read, so that both are never in memory.
        self.shown.take();
        let read = Rc::new(self.line(node)?);
        self.shown.replace(Some(read.clone()));
        Ok(read)
    }

    /// Returns the line with results: the last one, or it is read.
    fn kept_answer(&self, node: NodeIndex) -> Result<Rc<Answer>, T::Error> {
        if let Some(kept) = self.answer.borrow().as_ref().filter(|kept| kept.line.node == node) {
            return Ok(kept.clone());
        }
        self.answer.take();
        let session = self.conversation.session();
        let read = Rc::new(Answer::of(self.line(node)?, session.blocks(&session.nodes()[node])));
        self.answer.replace(Some(read.clone()));
        Ok(read)
    }

    /// Reads the line of an entry and masks it.
    fn line(&self, node: NodeIndex) -> Result<ReadLine, T::Error> {
        let (bytes, masked) = self.bytes_of(node)?;
        Ok(ReadLine { node, bytes, masked, signs: Signs::default() })
    }

    /// Reads the line of an entry, masked; and how many values were masked. Too long a line is replaced by a remark.
    fn bytes_of(&self, node: NodeIndex) -> Result<(Vec<u8>, usize), T::Error> {
        let node = &self.conversation.session().nodes()[node];
        if node.length > LONGEST_ENTRY {
            let text = format!(
                "This entry has {} bytes and is not shown here; `annals show --view raw` prints it.",
                node.length
            );
            let kind = node.kind.name().unwrap_or("system");
            let line = format!(
                r#"{{"type":"{kind}","message":{{"content":[{{"type":"text","text":"{text}"}}]}},"content":"{text}"}}"#
            );
            return Ok((line.into_bytes(), 0));
        }
        let line = self.conversation.transcript().body(node)?;
        Ok(match self.filter.map(|filter| filter.entry(&line)) {
            Some((Cow::Owned(masked), count)) => (masked, count),
            Some((Cow::Borrowed(_), count)) => (line, count),
            None => (line, 0),
        })
    }

    /// Masks what rendering has put together from a line; returns how many secrets were masked, too.
    fn masked(&self, mut nodes: Vec<ViewNode>, line: Option<&ReadLine>) -> (Vec<ViewNode>, usize) {
        let count = match self.filter.filter(|_| !nodes.is_empty()) {
            Some(filter) => line.map_or(Source::NOTHING, ReadLine::source).mask(&mut nodes, filter),
            None => 0,
        };
        (nodes, count)
    }

    /// Returns the parts of an entry that a row shows.
    fn parts_of<'i, 'a>(&self, number: usize, item: &'i Item<'a>) -> Vec<&'i Part<'a>> {
        let range = self.outline.parts(number);
        let kind = self.outline.rows()[number].kind;
        let parts = item.parts.iter().skip(range.start).take(range.end.saturating_sub(range.start));
        // Images join a row; other parts after the first belong to other rows or to none.
        let joins =
            |part: &Part<'_>| matches!(part, Part::Image(_) | Part::Document(_)) && kind != ViewRowKind::Call;
        parts.enumerate().filter(|(at, part)| *at == 0 || joins(part)).map(|(_, part)| part).collect()
    }

    fn entry_row(
        &self,
        number: usize,
        entry: &ReadEntry<'_>,
        index: NodeIndex,
        is_live: bool,
        open: Open,
    ) -> Result<ViewRow, T::Error> {
        let row = &self.outline.rows()[number];
        let node = &self.conversation.session().nodes()[index];
        let mut made = ViewRow {
            uuid: node.id.map(|id| self.ids.get(id)),
            line: Some(node.at.line),
            turn: self.conversation.turn_of(index),
            timestamp: node.time().and_then(time),
            ..empty(number, row.kind, is_live)
        };
        match row.kind {
            ViewRowKind::Idle => {
                let number = self.conversation.turn_of(index);
                let turn = number.and_then(|number| self.conversation.turns().get(number.checked_sub(1)?));
                let turn = turn.filter(|turn| turn.node == index);
                made.idle_ms = turn.and_then(|turn| u64::try_from(turn.idle_ms?).ok());
                made.summary =
                    made.idle_ms.map(|idle| format!("{} later", duration(idle))).unwrap_or_default();
                return Ok(made);
            }
            ViewRowKind::Record if open == Open::Folded => {
                made.cause = node.kind.name().map(str::to_owned);
                made.summary = made.cause.clone().unwrap_or_default();
                return Ok(made);
            }
            _ => {}
        }
        if self.is_long(index) {
            return self.long_row(made, index, open);
        }
        let parsed = entry.get(self, index)?;
        made.masked = parsed.line.masked;
        let parts = self.parts_of(number, &parsed.item);
        if let Some(problem) = node.problem {
            made.cause = Some(problem.to_string());
        }
        if row.part == 0 && self.target == Target::Viewer {
            let reply = parsed.entry.view::<Assistant>().map(|reply| reply.message_fields());
            made.model =
                reply.as_ref().and_then(|reply| reply.model.as_deref()).map(|model| one_line(model, 80));
            made.usage = reply.and_then(|reply| reply.usage).map(|usage| Tokens {
                input_tokens: usage.input_tokens().unwrap_or_default(),
                output_tokens: usage.output_tokens().unwrap_or_default(),
                cache_creation_tokens: usage.cache_creation_tokens().unwrap_or_default(),
                cache_read_tokens: usage.cache_read_tokens().unwrap_or_default(),
            });
        }
        if row.kind == ViewRowKind::Call {
            if let Some(Part::Call(call) | Part::ServerCall(call)) = parts.first() {
                let found = self.call_of(row, parsed);
                self.add_call(&mut made, parsed, call, found.as_ref(), open)?;
            }
            return Ok(made);
        }
        add_words(&mut made, row, &parsed.entry, &parts, self.target);
        let is_text = matches!(row.kind, ViewRowKind::Prompt | ViewRowKind::Reply);
        let limits = if is_text { LONG_TEXT } else { (FIRST_LINES, FIRST_BYTES) };
        if open == Open::Folded && !is_text {
            return Ok(made);
        }
        let nodes = content(row, &parsed.entry, &parts, self.target);
        let (nodes, count) = self.masked(nodes, Some(parsed.line));
        made.masked += count;
        made.nodes = Some(match open {
            Open::Whole => nodes,
            _ => cut(nodes, Keep::First, limits.0, limits.1, 0),
        });
        Ok(made)
    }

    /// Renders a row of an entry that is too long to be parsed: its bytes, in pieces.
    fn long_row(&self, mut made: ViewRow, index: NodeIndex, open: Open) -> Result<ViewRow, T::Error> {
        made.cause = self.conversation.session().nodes()[index].kind.name().map(str::to_owned);
        let (nodes, masked, _) =
            self.with_line(index, |text| text.first(Keep::First, 0, self.filter, self.target))?;
        let mut words = String::new();
        crate::text::nodes(&nodes[..nodes.len().min(1)], "", &mut words);
        made.summary = one_line(&words, LONGEST_SUMMARY);
        made.masked = masked;
        if open != Open::Folded || matches!(made.kind, ViewRowKind::Prompt | ViewRowKind::Reply) {
            made.nodes = Some(nodes);
        }
        Ok(made)
    }

    fn add_call(
        &self,
        made: &mut ViewRow,
        parsed: &Parsed<'_>,
        call: &ToolUse<'_>,
        found: Option<&Call>,
        open: Open,
    ) -> Result<(), T::Error> {
        let session = self.conversation.session();
        let state = found.map_or(Ok(State::Pending), |found| self.conversation.state(found))?;
        let duration_ms = found.and_then(|found| found.duration_ms(session));
        let id = call.id().map(Cow::into_owned);
        let long = found.and_then(|found| self.long_result(found));
        self.with_result(parsed, call, found, |parts, answer| {
            let mut card = parts.card();
            card.facts.extend(long.map(|(_, block)| Fact::Known(ViewFactKind::Bytes, Some(block.length))));
            made.masked += answer.map_or(0, |line| line.masked);
            made.summary = one_line(&format!("{} {}", card.name, card.title), LONGEST_SUMMARY);
            let (added, removed) = card.changes.unzip();
            made.tool = Some(ViewTool {
                id,
                name: card.name,
                title: card.title,
                state: tool_state(state),
                duration_ms,
                facts: card.facts.iter().map(Fact::words).collect(),
                subject: card.subject,
                more_lines: card.more_lines,
                known_facts: if self.target == Target::Viewer {
                    card.facts.iter().map(Fact::view).collect()
                } else {
                    Vec::new()
                },
                added,
                removed,
                file: card.file,
                agent_id: card.agent,
            });
            if open != Open::Folded {
                let stored = self.with_stored(&parts, |text, end| self.first_of(text, &parts, end));
                let in_pieces = match (stored, long) {
                    (None, Some(result)) => {
                        self.with_long_result(result, |text, end| self.first_of(text, &parts, end))?
                    }
                    (stored, _) => stored,
                };
                let is_cut = in_pieces.is_some();
                let (output, keep) = match in_pieces.or_else(|| self.whole_output(&parts)) {
                    Some((nodes, count)) => {
                        made.masked += count;
                        (nodes, parts.kept_end())
                    }
                    None => parts.output(),
                };
                let (input, in_input) = self.masked(parts.input(), Some(parsed.line));
                let (output, in_output) = self.masked(output, answer);
                made.masked += in_input + in_output;
                let cut = |nodes, keep, part| match open {
                    Open::Whole => nodes,
                    _ => cut(nodes, keep, FIRST_LINES, FIRST_BYTES, part),
                };
                made.input = Some(cut(input, Keep::First, 0));
                made.output = Some(if is_cut { output } else { cut(output, keep, 1) });
            }
            if open != Open::Folded
                && made.output.as_ref().is_some_and(Vec::is_empty)
                && state == State::Pending
            {
                made.output = Some(vec![note("pending", "The file has no result of this call.")]);
            }
            Ok(())
        })?
    }

    /// Renders output that was too long for the transcript, if it can be read. Returns how many values were masked in it, too.
    fn whole_output(&self, parts: &CallParts<'_>) -> Option<(Vec<ViewNode>, usize)> {
        let WholeOutput { text, left } = parts.spilled(self.read_output?)?;
        let found = self.filter.map(|filter| filter.visible(&text)).unwrap_or_default();
        let text = replaced(&text, &found);
        let mut nodes = vec![self.target.ansi(&text)];
        let signs = Signs::of_text(&text);
        let assembled =
            self.filter.map_or(0, |filter| Source::new(text.as_bytes(), &signs).mask(&mut nodes, filter));
        if left > 0 {
            nodes.push(note(
                "cut",
                &format!("The output goes on for {left} bytes, which are not shown here."),
            ));
        }
        nodes.extend(parts.images());
        Some((nodes, found.len() + assembled))
    }

    /// Reads the result of a call and passes both on, with the line of the result.
    fn with_result<R>(
        &self,
        parsed: &Parsed<'_>,
        call: &ToolUse<'_>,
        found: Option<&Call>,
        work: impl FnOnce(CallParts<'_>, Option<&ReadLine>) -> R,
    ) -> Result<R, T::Error> {
        let cwd = parsed.cwd();
        let cwd = cwd.as_deref();
        let Some((node, result)) = found.and_then(|found| found.result) else {
            return Ok(work(CallParts::new(*call, None, None, cwd, self.target), None));
        };
        if self.conversation.session().nodes()[node].length > LONGEST_ENTRY {
            return self.with_block(parsed, call, (node, result), work);
        }
        let answer = self.kept_answer(node)?;
        let output = answer.output.as_ref().map(|place| answer.value(place));
        let number = answer.number_of_block.get(&result.offset).copied().unwrap_or_default();
        let parts = CallParts::new(*call, answer.result(call, number), output, cwd, self.target);
        Ok(work(parts, Some(&answer.line)))
    }
}

impl<T: Transcript> Rows<'_, '_, T> {
    /// Reads the result of a call out of an entry that is too long to be read as a whole.
    fn with_block<R>(
        &self,
        parsed: &Parsed<'_>,
        call: &ToolUse<'_>,
        (node, block): (NodeIndex, BlockSpan),
        work: impl FnOnce(CallParts<'_>, Option<&ReadLine>) -> R,
    ) -> Result<R, T::Error> {
        let cwd = parsed.cwd();
        let alone = |result| CallParts::new(*call, result, None, cwd.as_deref(), self.target);
        let found = &self.conversation.session().nodes()[node];
        let (Ok(length), true) = (usize::try_from(block.length), block.length <= LONGEST_ENTRY) else {
            return Ok(work(alone(None), None));
        };
        let bytes = self.conversation.transcript().part(found, block.offset - found.at.offset, length)?;
        let (bytes, masked) = match self.filter.map(|filter| filter.entry(&bytes)) {
            Some((Cow::Owned(changed), count)) => (changed, count),
            Some((Cow::Borrowed(_), count)) => (bytes, count),
            None => (bytes, 0),
        };
        let line = ReadLine { node, bytes, masked, signs: Signs::default() };
        let result = match Block::new(Value::trusted(&line.bytes)) {
            Block::ToolResult(result) | Block::ServerToolResult(result) => Some(result),
            _ => None,
        };
        Ok(work(alone(result), Some(&line)))
    }
}

fn is_call(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::ToolUse | BlockKind::ServerToolUse)
}

/// Adds the summary of a row and the word that says more about it.
fn add_words(made: &mut ViewRow, row: &RowRef, entry: &Entry<'_>, parts: &[&Part<'_>], target: Target) {
    if let Some(Part::Notice(Notice::Compaction(boundary))) = parts.first() {
        made.compaction = Some(Compaction {
            trigger: boundary.trigger().map(|word| visible(&one_line(&word, LONGEST_WORD)).into_owned()),
            pre_tokens: boundary.pre_tokens(),
            post_tokens: boundary.post_tokens(),
            preserved: boundary.preserved_messages().map_or(0, |messages| messages.ids().len()),
        });
    }
    if made.cause.is_none() && row.kind != ViewRowKind::Reply && row.kind != ViewRowKind::Thinking {
        let cause = parts.first().map_or(entry.kind().name(), |part| word_of(part));
        made.cause = cause.map(str::to_owned);
    }
    if target.has_summary(row.kind) {
        let words = |most| match parts.first() {
            None => Cow::Borrowed(entry.kind().name().unwrap_or("damaged line")),
            Some(part) => words_of(part, most),
        };
        // Most texts need not be decoded further.
        let (summary, is_cut) = one_line_of(&words(LIKELY_SUMMARY), LONGEST_SUMMARY);
        made.summary = if is_cut { summary } else { one_line(&words(MOST_OF_SUMMARY), LONGEST_SUMMARY) };
    }
}

/// Renders all of what a row shows.
fn content(row: &RowRef, entry: &Entry<'_>, parts: &[&Part<'_>], target: Target) -> Vec<ViewNode> {
    if parts.is_empty() || matches!(row.kind, ViewRowKind::Record | ViewRowKind::Damage) {
        return vec![match row.kind {
            ViewRowKind::Damage => plain(String::from_utf8_lossy(entry.bytes()).trim_end()),
            _ => json(&String::from_utf8_lossy(entry.bytes())),
        }];
    }
    let mut images = 0;
    let mut nodes = Vec::new();
    for part in parts {
        match part {
            Part::Image(image) | Part::Document(image) => {
                images += 1;
                nodes.push(image_node(image, images));
            }
            part => nodes.extend(part_nodes(part, target)),
        }
    }
    nodes
}

/// Returns one word about a part.
fn word_of(part: &Part<'_>) -> Option<&'static str> {
    match part {
        Part::Input(input) => Some(input.kind.name()),
        Part::RequestError(_) => Some("request_error"),
        Part::Image(_) => Some("image"),
        Part::Document(_) => Some("document"),
        Part::Notice(notice) => Some(notice_word(notice)),
        Part::Context(_) => Some("context"),
        Part::Result(_) | Part::ServerResult(_) => Some("tool_result"),
        Part::Call(_) | Part::ServerCall(_) => Some("call"),
        Part::Other(_) => Some("block"),
        _ => None,
    }
}

/// Returns what a part says, or the beginning of it with at least so many bytes.
fn words_of<'p>(part: &'p Part<'_>, most: usize) -> Cow<'p, str> {
    match part {
        Part::Input(input) => input_words(input),
        Part::Text(text) | Part::RequestError(text) => text.beginning(most),
        Part::Thinking(thinking) => {
            let text = thinking.thinking().filter(|text| !text.trim().is_empty());
            text.unwrap_or(Cow::Borrowed("not stored"))
        }
        Part::RedactedThinking => Cow::Borrowed("not stored"),
        Part::Image(_) => Cow::Borrowed("image"),
        Part::Document(media) => media.title().unwrap_or(Cow::Borrowed("document")),
        Part::Notice(notice) => notice.text(),
        Part::Context(context) => Cow::Borrowed(&context.name),
        Part::Result(result) | Part::ServerResult(result) => result.content().beginning(most),
        Part::Call(call) | Part::ServerCall(call) => call.name().unwrap_or_default(),
        Part::Other(block) => block.type_name().unwrap_or(Cow::Borrowed("block")),
        _ => Cow::Borrowed(""),
    }
}

fn notice_word(notice: &Notice<'_>) -> &'static str {
    match notice {
        Notice::Compaction(_) => "compaction",
        Notice::Retry(_) => "retry",
        Notice::Hook { .. } => "hook",
        Notice::Replaced(_) => "replaced",
        _ => "notice",
    }
}

/// Returns what one line says of an input. A notification is written for the model, between tags: its summary says what happened.
fn input_words<'i>(input: &'i Input<'_>) -> Cow<'i, str> {
    let summary = match input.kind {
        InputKind::TaskNotification => text_between(&input.text, "<summary>", "</summary>"),
        _ => None,
    };
    summary.map_or_else(|| input_text(input), Cow::Borrowed)
}

/// Returns the text between two others; `None` if it is blank.
fn text_between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    let (inside, _) = rest.split_once(end)?;
    Some(inside.trim()).filter(|inside| !inside.is_empty())
}

/// Returns an input as a person typed it: a command with its arguments.
fn input_text<'i>(input: &'i Input<'_>) -> Cow<'i, str> {
    match (&input.command, input.kind) {
        (Some(command), _) => format!("{command} {}", input.text).into(),
        (None, InputKind::Bash) => format!("! {}", input.text).into(),
        _ => Cow::Borrowed(&input.text),
    }
}

/// Renders a part that is no call and no image.
fn part_nodes(part: &Part<'_>, target: Target) -> Vec<ViewNode> {
    match part {
        Part::Input(input) => input_nodes(input, target),
        Part::Text(text) => prose_for(&text.text(), target),
        Part::Thinking(thinking) => match thinking.thinking().filter(|text| !text.trim().is_empty()) {
            Some(text) => prose_for(&text, target),
            None => {
                vec![note("not-stored", "The file has only the signature of this reasoning, not its text.")]
            }
        },
        Part::RedactedThinking => {
            vec![note("not-stored", "The file has this reasoning in encrypted form only.")]
        }
        Part::RequestError(text) => vec![plain(&text.text())],
        Part::Notice(notice) => vec![plain(&notice.text())],
        Part::Context(context) => {
            let text = context.text();
            let is_json = context.payload.is_some_and(|payload| payload.bytes() == text.as_bytes());
            if text.is_empty() {
                vec![note("context", &context.name)]
            } else if is_json {
                vec![json(&text)]
            } else {
                vec![plain(&text)]
            }
        }
        Part::Result(result) | Part::ServerResult(result) => vec![target.ansi(&result.content().text())],
        Part::Other(block) => vec![json(&String::from_utf8_lossy(block.value().bytes()))],
        _ => Vec::new(),
    }
}

fn input_nodes(input: &Input<'_>, target: Target) -> Vec<ViewNode> {
    match input.kind {
        InputKind::Command | InputKind::Bash => {
            let command = ViewMark::Code { c: vec![inline(input_text(input).trim_end())] };
            vec![ViewNode::P { c: vec![ViewInline::Mark(command)] }]
        }
        InputKind::Output => vec![target.ansi(&input.text)],
        InputKind::CompactSummary | InputKind::Skill | InputKind::Teammate => prose_for(&input.text, target),
        // What a person typed keeps its lines, unless it is written as Markdown.
        _ if input.text.contains("```") => prose_for(&input.text, target),
        _ => vec![plain(input.text.trim_end())],
    }
}

/// Returns how a call ended, as a word of the protocol.
pub fn tool_state(state: State) -> ToolState {
    match state {
        State::Ok => ToolState::Ok,
        State::Error => ToolState::Error,
        State::Pending => ToolState::Pending,
        State::Interrupted => ToolState::Interrupted,
        State::Denied => ToolState::Denied,
        State::Cancelled => ToolState::Cancelled,
    }
}

fn time(ms: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(ms).ok().map(|time| format!("{time:.3}"))
}

/// Returns a length of time in words.
pub fn duration(ms: u64) -> String {
    match ms / 1000 {
        0 => format!("{ms} ms"),
        seconds @ 1..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds @ 3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        seconds => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

fn empty(row: usize, kind: ViewRowKind, live: bool) -> ViewRow {
    ViewRow {
        row,
        kind,
        uuid: None,
        line: None,
        turn: None,
        timestamp: None,
        model: None,
        usage: None,
        summary: String::new(),
        live,
        masked: 0,
        tool: None,
        nodes: None,
        input: None,
        output: None,
        compaction: None,
        idle_ms: None,
        cause: None,
        parent: None,
        leaf: None,
        entries: None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use annals_transcript::conversation::TranscriptBytes;

    use super::*;

    thread_local! {
        /// How many bytes of lines and of blocks were parsed.
        pub(super) static PARSED: Cell<usize> = const { Cell::new(0) };
    }

    /// Returns an entry with many calls and one with their results.
    fn with_calls(count: usize) -> String {
        let call = |n: usize| {
            format!(
                r#"{{"type":"tool_use","id":"t{n:04}","name":"Bash","input":{{"command":"echo {n:04}"}}}}"#
            )
        };
        let result = |n: usize| {
            format!(r#"{{"type":"tool_result","tool_use_id":"t{n:04}","content":"printed {n:04}"}}"#)
        };
        let blocks = |block: &dyn Fn(usize) -> String| (0..count).map(block).collect::<Vec<_>>().join(",");
        format!(
            r#"{{"type":"assistant","uuid":"a","message":{{"id":"m","content":[{}]}},"cwd":"/tea"}}
{{"type":"user","uuid":"b","parentUuid":"a","message":{{"content":[{}]}},"cwd":"/tea"}}
"#,
            blocks(&call),
            blocks(&result)
        )
    }

    /// Claude Code writes it for one result; nobody knows which of several it belongs to.
    #[test]
    fn what_a_tool_returned_besides_is_not_shown_for_several_results() {
        let output = r#","cwd":"/tea","toolUseResult":{"stdout":"BESIDES"}}"#;
        for (count, expected) in [(1, "BESIDES\n"), (2, "printed 0000\n")] {
            let transcript = TranscriptBytes::new(with_calls(count).replace(r#","cwd":"/tea"}"#, output));
            let conversation = Conversation::of(&transcript).unwrap();
            let outline = Outline::unmeasured(&conversation).unwrap();
            let row = Rows::new(&conversation, &outline, None).row(0, Open::Whole).unwrap();
            let mut text = String::new();
            crate::text::nodes(row.output.as_deref().unwrap_or_default(), "", &mut text);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn the_work_grows_with_the_calls_of_an_entry_and_not_with_their_square() {
        let parsed = |count: usize| {
            let besides =
                format!(r#","cwd":"/tea","toolUseResult":{{"stdout":"{}"}}}}"#, "x".repeat(50 * count));
            let transcript = TranscriptBytes::new(with_calls(count).replace(r#","cwd":"/tea"}"#, &besides));
            let conversation = Conversation::of(&transcript).unwrap();
            let outline = Outline::unmeasured(&conversation).unwrap();
            let rows = Rows::new(&conversation, &outline, None);
            PARSED.set(0);
            let mut shown = 0;
            rows.each(0..outline.rows().len(), |row| {
                let row = row.row(Open::Whole)?;
                let mut text = String::new();
                crate::text::nodes(row.output.as_deref().unwrap_or_default(), "", &mut text);
                assert_eq!(text, format!("printed {shown:04}\n"));
                shown += 1;
                Ok::<_, std::convert::Infallible>(())
            })
            .unwrap();
            assert_eq!(shown, count);
            PARSED.get()
        };
        let (few, many) = (parsed(40), parsed(160));
        assert!(few > 0 && many < 5 * few, "{few} bytes for 40 calls, {many} bytes for 160");
    }
}
