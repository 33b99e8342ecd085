//! The rows of a conversation with their content.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use annals_proto::{
    Compaction, Tokens, ToolState, ViewInline, ViewMark, ViewNode, ViewRow, ViewRowKind, ViewTool,
};
use annals_transcript::Entry;
use annals_transcript::chain::NodeIndex;
use annals_transcript::content::{ToolResult, ToolUse};
use annals_transcript::conversation::{Conversation, Transcript};
use annals_transcript::entry::view::{Assistant, ToolUseResult, User};
use annals_transcript::full_view::Step;
use annals_transcript::item::{Item, Notice, Part};
use annals_transcript::prompt::{Input, InputKind};
use annals_transcript::session::IdTexts;
use annals_transcript::tool::{Call, State};

use crate::assembled::Source;
use crate::card::{CallParts, Fact, image_node};
use crate::outline::{Outline, RowRef, calls_of};
use crate::prose::prose_for;
use crate::{FIRST_BYTES, FIRST_LINES, Keep, Target, cut, inline, json, media, note, one_line, plain};

/// The longest summary of a row, in characters.
const LONGEST_SUMMARY: usize = 200;
/// How much of a prompt or a reply a row shows.
const LONG_TEXT: (usize, usize) = (500, 64 << 10);
/// Longer entries are not rendered: they say how long they are.
pub const LONGEST_ENTRY: u64 = 16 << 20;

/// Masks secrets: in lines of a transcript before anything of them is rendered, and in what a reader sees of them.
pub trait Filter {
    /// Returns the line to render, and how many values were changed in it.
    fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize);

    /// Returns the ranges of a text that must not be shown, in order and apart, each with what is shown in its place.
    fn visible(&self, text: &str) -> Vec<(Range<usize>, String)>;
}

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
    target: Target,
    ids: IdTexts<'s>,
    /// The entry that was shown last, and the entry with the last result: an entry with many calls would otherwise be read and masked
    /// once for each of them.
    shown: RefCell<Option<ReadLine>>,
    answer: RefCell<Option<ReadLine>>,
}

/// The line of an entry, masked, and how many values were masked in it.
#[derive(Clone)]
struct ReadLine {
    node: NodeIndex,
    line: Rc<Vec<u8>>,
    masked: usize,
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

    /// Renders a row.
    pub fn row(&self, number: usize, open: Open) -> Result<ViewRow, T::Error> {
        let row = &self.outline.rows()[number];
        match *self.outline.step(row) {
            Step::Entry { node, live } => self.entry_row(number, row, node, live, open),
            Step::Branch { from, entries, last, .. } => Ok(ViewRow {
                parent: from.and_then(|node| self.uuid(node)),
                leaf: self.uuid(last),
                entries: Some(entries),
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
        let row = &self.outline.rows()[number];
        let Step::Entry { node, .. } = *self.outline.step(row) else { return Ok(None) };
        let ReadLine { line, .. } = self.kept(&self.shown, node)?;
        let entry = Entry::new(&line);
        let item = Item::of(&entry);
        let parts = self.parts_of(number, &item);
        if row.kind == ViewRowKind::Call {
            let Some(Part::Call(call) | Part::ServerCall(call)) = parts.first() else { return Ok(None) };
            let made = self.call_of(row, node, &item);
            return self.with_result(&entry, call, made.as_ref(), |parts, answer| match part {
                0 => Some(Found::Nodes(self.masked(parts.input(), &line).0)),
                1 => Some(Found::Nodes(self.masked(parts.output().0, answer.line).0)),
                _ => parts.image(part).map(|image| Found::Image(image.media, image.data.into_owned())),
            });
        }
        if part == 0 {
            let nodes = content(row, &entry, &parts, self.target);
            return Ok(Some(Found::Nodes(self.masked(nodes, &line).0)));
        }
        let mut images = parts.iter().filter_map(|part| match part {
            Part::Image(image) | Part::Document(image) => Some(image),
            _ => None,
        });
        let image = images.nth(part - 1).and_then(media);
        Ok(image.map(|image| Found::Image(image.media, image.data.into_owned())))
    }

    /// Returns the call that a row shows.
    fn call_of(&self, row: &RowRef, node: NodeIndex, item: &Item<'_>) -> Option<Call> {
        let session = self.conversation.session();
        let ids = calls_of(session, &session.nodes()[node], item);
        let id = ids.get(row.part as usize).copied().flatten()?;
        self.outline.call(self.conversation, id)
    }

    fn uuid(&self, node: NodeIndex) -> Option<String> {
        self.conversation.session().nodes()[node].id.map(|id| self.ids.get(id))
    }

    /// Returns the line of an entry from where the last one is kept, or reads it.
    fn kept(&self, last: &RefCell<Option<ReadLine>>, node: NodeIndex) -> Result<ReadLine, T::Error> {
        if let Some(kept) = last.borrow().as_ref().filter(|kept| kept.node == node) {
            return Ok(kept.clone());
        }
        // The last line is dropped before the next one is read, so that both are never in memory.
        last.take();
        let (line, masked) = self.line(node)?;
        let read = ReadLine { node, line: Rc::new(line), masked };
        last.replace(Some(read.clone()));
        Ok(read)
    }

    /// Reads the line of an entry, masked; and how many values were masked. Too long a line is replaced by a remark.
    fn line(&self, node: NodeIndex) -> Result<(Vec<u8>, usize), T::Error> {
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
    fn masked(&self, mut nodes: Vec<ViewNode>, line: &[u8]) -> (Vec<ViewNode>, usize) {
        let count = match self.filter.filter(|_| !nodes.is_empty()) {
            Some(filter) => Source::new(line).mask(&mut nodes, filter),
            None => 0,
        };
        (nodes, count)
    }

    /// Returns the parts of an entry that a row shows.
    fn parts_of<'i, 'a>(&self, number: usize, item: &'i Item<'a>) -> Vec<&'i Part<'a>> {
        let range = self.outline.parts(number);
        let kind = self.outline.rows()[number].kind;
        let parts = item.parts.iter().skip(range.start).take(range.end.saturating_sub(range.start));
        // Images join a row; other parts behind the first belong to other rows or to none.
        let joins =
            |part: &Part<'_>| matches!(part, Part::Image(_) | Part::Document(_)) && kind != ViewRowKind::Call;
        parts.enumerate().filter(|(at, part)| *at == 0 || joins(part)).map(|(_, part)| part).collect()
    }

    fn entry_row(
        &self,
        number: usize,
        row: &RowRef,
        index: NodeIndex,
        is_live: bool,
        open: Open,
    ) -> Result<ViewRow, T::Error> {
        let node = &self.conversation.session().nodes()[index];
        let mut made = ViewRow {
            uuid: node.id.map(|id| self.ids.get(id)),
            line: Some(node.at.line),
            turn: self.conversation.turn_of(index),
            timestamp: node.time.and_then(time),
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
        let ReadLine { line, masked, .. } = self.kept(&self.shown, index)?;
        made.masked = masked;
        let entry = Entry::new(&line);
        let item = Item::of(&entry);
        let parts = self.parts_of(number, &item);
        if let Some(problem) = node.problem {
            made.cause = Some(problem.to_string());
        }
        if row.part == 0 && self.target == Target::Viewer {
            let reply = entry.view::<Assistant>().map(|reply| reply.message_fields());
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
                let found = self.call_of(row, index, &item);
                self.add_call(&mut made, &entry, call, found.as_ref(), open)?;
            }
            return Ok(made);
        }
        add_words(&mut made, row, &entry, &parts);
        let is_text = matches!(row.kind, ViewRowKind::Prompt | ViewRowKind::Reply);
        let limits = if is_text { LONG_TEXT } else { (FIRST_LINES, FIRST_BYTES) };
        if open == Open::Folded && !is_text {
            return Ok(made);
        }
        let (nodes, count) = self.masked(content(row, &entry, &parts, self.target), &line);
        made.masked += count;
        made.nodes = Some(match open {
            Open::Whole => nodes,
            _ => cut(nodes, Keep::First, limits.0, limits.1, 0),
        });
        Ok(made)
    }

    fn add_call(
        &self,
        made: &mut ViewRow,
        entry: &Entry<'_>,
        call: &ToolUse<'_>,
        found: Option<&Call>,
        open: Open,
    ) -> Result<(), T::Error> {
        let session = self.conversation.session();
        let state = found.map_or(Ok(State::Pending), |found| self.conversation.state(found))?;
        let duration_ms = found.and_then(|found| found.duration_ms(session));
        let id = call.id().map(Cow::into_owned);
        self.with_result(entry, call, found, |parts, answer| {
            let card = parts.card();
            made.masked += answer.masked;
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
                let (output, keep) = parts.output();
                let (input, in_input) = self.masked(parts.input(), entry.bytes());
                let (output, in_output) = self.masked(output, answer.line);
                made.masked += in_input + in_output;
                let cut = |nodes, keep, part| match open {
                    Open::Whole => nodes,
                    _ => cut(nodes, keep, FIRST_LINES, FIRST_BYTES, part),
                };
                made.input = Some(cut(input, Keep::First, 0));
                made.output = Some(cut(output, keep, 1));
            }
            if open != Open::Folded
                && made.output.as_ref().is_some_and(Vec::is_empty)
                && state == State::Pending
            {
                made.output = Some(vec![note("pending", "The file has no result of this call.")]);
            }
        })
    }

    /// Reads the result of a call and passes both on.
    fn with_result<R>(
        &self,
        entry: &Entry<'_>,
        call: &ToolUse<'_>,
        found: Option<&Call>,
        work: impl FnOnce(CallParts<'_>, Answer<'_>) -> R,
    ) -> Result<R, T::Error> {
        let cwd = entry.body().and_then(|body| body.text("cwd"));
        let cwd = cwd.as_deref();
        let Some((node, _)) = found.and_then(|found| found.result) else {
            return Ok(work(
                CallParts::new(*call, None, None, cwd, self.target),
                Answer { line: b"", masked: 0 },
            ));
        };
        let ReadLine { line, masked, .. } = self.kept(&self.answer, node)?;
        let answer = Entry::new(&line);
        let result = result_of(&answer, call);
        let output = match answer.view::<User>().and_then(|user| user.tool_use_result()) {
            Some(ToolUseResult::Object(object)) => Some(object),
            _ => None,
        };
        Ok(work(CallParts::new(*call, result, output, cwd, self.target), Answer { line: &line, masked }))
    }
}

/// The line with the result of a call, and how many values were masked in it.
#[derive(Clone, Copy)]
struct Answer<'l> {
    line: &'l [u8],
    masked: usize,
}

/// Adds the summary of a row and the word that tells more about it.
fn add_words(made: &mut ViewRow, row: &RowRef, entry: &Entry<'_>, parts: &[&Part<'_>]) {
    let (cause, summary) = match parts.first() {
        None => (entry.kind().name(), entry.kind().name().unwrap_or("damaged line").to_owned()),
        Some(part) => words_of(part),
    };
    if let Some(Part::Notice(Notice::Compaction(boundary))) = parts.first() {
        made.compaction = Some(Compaction {
            trigger: boundary.trigger().map(Cow::into_owned),
            pre_tokens: boundary.pre_tokens(),
            post_tokens: boundary.post_tokens(),
            preserved: boundary.preserved_messages().map_or(0, |messages| messages.ids().len()),
        });
    }
    if made.cause.is_none() && row.kind != ViewRowKind::Reply && row.kind != ViewRowKind::Thinking {
        made.cause = cause.map(str::to_owned);
    }
    made.summary = one_line(&summary, LONGEST_SUMMARY);
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

/// Finds the result of a call in an entry.
fn result_of<'a>(entry: &Entry<'a>, call: &ToolUse<'_>) -> Option<ToolResult<'a>> {
    let id = call.id()?;
    Item::of(entry).parts.into_iter().find_map(|part| match part {
        Part::Result(result) | Part::ServerResult(result) => {
            result.tool_use_id().is_some_and(|answers| answers == id).then_some(result)
        }
        _ => None,
    })
}

/// Returns one word about a part, and what it says.
fn words_of(part: &Part<'_>) -> (Option<&'static str>, String) {
    match part {
        Part::Input(input) => (Some(input.kind.name()), input_text(input)),
        Part::Text(text) => (None, text.text().into_owned()),
        Part::RequestError(text) => (Some("request_error"), text.text().into_owned()),
        Part::Thinking(thinking) => {
            let text = thinking.thinking().filter(|text| !text.trim().is_empty());
            (None, text.map_or_else(|| "not stored".to_owned(), Cow::into_owned))
        }
        Part::RedactedThinking => (None, "not stored".to_owned()),
        Part::Image(_) => (Some("image"), "image".to_owned()),
        Part::Document(media) => {
            (Some("document"), media.title().map_or_else(|| "document".to_owned(), Cow::into_owned))
        }
        Part::Notice(notice) => (Some(notice_word(notice)), notice.text().into_owned()),
        Part::Context(context) => (Some("context"), context.name.clone()),
        Part::Result(result) | Part::ServerResult(result) => {
            (Some("tool_result"), result.content().text().into_owned())
        }
        Part::Call(call) | Part::ServerCall(call) => {
            (Some("call"), call.name().unwrap_or_default().into_owned())
        }
        Part::Other(block) => {
            (Some("block"), block.type_name().unwrap_or(Cow::Borrowed("block")).into_owned())
        }
        _ => (None, String::new()),
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

/// Returns an input as a person typed it: a command with its arguments.
fn input_text(input: &Input<'_>) -> String {
    match (&input.command, input.kind) {
        (Some(command), _) => format!("{command} {}", input.text),
        (None, InputKind::Bash) => format!("! {}", input.text),
        _ => input.text.to_string(),
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
