//! `get_messages`: a window of messages that grows from where it is asked for, until it has enough of them or enough bytes.

use std::collections::VecDeque;

use annals_proto::{EntryRef, HistoryItem, ItemKind, Method, ReadParams, ReadResult, Role, Visibility};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::limit;
use super::session::each_turn;
use crate::excerpt::{AnswerBudget, Excerpt, excerpt, id};
use crate::history::{History, Refusal};

/// How many messages are returned by default and at most.
const MESSAGES: (usize, usize) = (20, 100);
/// How many bytes of each text are returned by default and at most.
const TEXT: (usize, usize) = (2_000, 20_000);
/// The most bytes of text of one message, so that one fits into every answer.
const LONGEST_MESSAGE: usize = 30_000;
/// The most parts of one message.
const PARTS: usize = 40;
/// What stands around the messages of an answer.
const KEPT: usize = 1_000;
/// How many items are read at once, and how many at most in each direction: most of those that are not shown are short.
const PAGE: usize = 50;
const MOST_READ: usize = 3_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The session: its id or the beginning of it, its title or a part of it, or words of its first prompt.
    session: String,
    /// The id of one of its subagents, to read what that did.
    #[serde(default)]
    agent: Option<String>,
    /// Selects among several sessions with the same id: the working directory.
    #[serde(default)]
    project: Option<String>,
    /// Return this message and those on both sides of it: its uuid, or the number of its line.
    #[serde(default)]
    around: Option<String>,
    /// Return the messages of this turn and the following ones, see `to_turn`.
    #[serde(default)]
    turn: Option<usize>,
    /// With `turn`: the last turn to return.
    #[serde(default)]
    to_turn: Option<usize>,
    /// Return the messages after this one: its uuid, or the number of its line.
    #[serde(default)]
    after: Option<String>,
    /// Return the messages before this one: its uuid, or the number of its line.
    #[serde(default)]
    before: Option<String>,
    /// Return the last messages.
    #[serde(default)]
    last: Option<bool>,
    /// How many messages to return: 20 by default, at most 100.
    #[serde(default)]
    limit: Option<usize>,
    /// How many bytes of each text to return: 2000 by default, at most 20000.
    #[serde(default)]
    text_limit: Option<usize>,
    /// Return texts from this byte on: the `continue_at` of a text that was cut. Use it with `around` and `limit` 1.
    #[serde(default)]
    text_offset: Option<usize>,
    /// Skip so many parts of each message, to read those that `parts_left_out` counts.
    #[serde(default)]
    part_offset: Option<usize>,
    /// Whether to return tool calls and their output; by default true.
    #[serde(default)]
    tools: Option<bool>,
    /// Whether to return the thinking of the model; by default false.
    #[serde(default)]
    thinking: Option<bool>,
    /// Whether to return what Claude Code added or recorded for itself, too; by default false.
    #[serde(default)]
    all: Option<bool>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Window {
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    messages: Vec<Message>,
    /// `before` for the messages that come before.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_before: Option<String>,
    /// `after` for the messages that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_after: Option<String>,
}

#[derive(Debug, Serialize)]
struct Message {
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    /// What it is, unless it is a prompt, a reply or a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Whether it is on a branch that a rewind left behind.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    abandoned: bool,
    parts: Vec<Part>,
    #[serde(skip_serializing_if = "is_zero")]
    parts_left_out: usize,
}

#[derive(Debug, Default, Serialize)]
struct Part {
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continue_at: Option<usize>,
    #[serde(skip_serializing_if = "is_zero")]
    bytes_left_out: usize,
}

/// Which texts of messages are returned.
struct Selection {
    text_limit: usize,
    text_offset: usize,
    part_offset: usize,
    tools: bool,
    thinking: bool,
    all: bool,
}

/// The items of a transcript in one direction, page by page.
struct Stream {
    next: Option<ReadParams>,
    items: VecDeque<HistoryItem>,
    is_back: bool,
    read: usize,
    /// The last item that was taken, as an argument; what follows it is left.
    taken: Option<String>,
}

impl Stream {
    /// Continues at a cursor, after the item that was `taken`; without a cursor there is nothing more.
    fn from_cursor(cursor: Option<String>, base: &ReadParams, taken: Option<String>, is_back: bool) -> Self {
        let next =
            cursor.map(|cursor| ReadParams { cursor: Some(cursor), limit: Some(PAGE), ..base.clone() });
        Self { next, items: VecDeque::new(), is_back, read: 0, taken }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "every tool is called in this form")]
pub(crate) fn run(history: &History<'_>, arguments: Arguments) -> Result<Window, Refusal> {
    let limit = limit(arguments.limit, MESSAGES.0, MESSAGES.1)?;
    let selection = Selection::of(&arguments)?;
    let start = start(history, &arguments)?;
    let to_turn = arguments.turn.map(|turn| arguments.to_turn.unwrap_or(turn));
    let base = base(&arguments);
    let mut budget = AnswerBudget::new(KEPT);
    let mut messages = VecDeque::new();
    let mut streams = Vec::new();
    let is_back = matches!(start, Start::Before(_) | Start::Last);
    let first = ReadParams { limit: Some(PAGE), ..start.params(base.clone()) };
    if let Start::At(_) | Start::Around(_) = &start {
        let page: ReadResult = history.get(Method::HistoryRead, &ReadParams { limit: Some(1), ..first })?;
        let mut taken = None;
        for item in &page.items {
            taken = reference(item);
            // The message that was asked for is returned whatever it is.
            let message = selection.message(item, true);
            messages.extend(message.filter(|message| budget.take(message)));
        }
        streams.push(Stream::from_cursor(page.next_cursor, &base, taken.clone(), false));
        if let Start::Around(_) = start {
            streams.push(Stream::from_cursor(page.previous_cursor, &base, taken, true));
        }
    } else {
        let taken = arguments.after.clone().or(arguments.before.clone());
        streams.push(Stream { next: Some(first), items: VecDeque::new(), is_back, read: 0, taken });
    }
    let mut left = [None, None];
    let mut open = vec![true; streams.len()];
    while open.contains(&true) {
        for (stream, open) in streams.iter_mut().zip(&mut open).filter(|(_, open)| **open) {
            let before = stream.taken.clone();
            let next = stream.next(history, |item| {
                let is_beyond = to_turn.is_some_and(|to| item_turn(item).is_some_and(|turn| turn > to));
                if is_beyond {
                    Step::End
                } else {
                    selection.message(item, false).map_or(Step::Skip, Step::Take)
                }
            })?;
            match next {
                Next::End => *open = false,
                Next::More => {
                    left[usize::from(stream.is_back)].clone_from(&stream.taken);
                    *open = false;
                }
                Next::Message(message) if messages.len() < limit && budget.take(&message) => {
                    if stream.is_back {
                        messages.push_front(message);
                    } else {
                        messages.push_back(message);
                    }
                }
                Next::Message(_) => {
                    left[usize::from(stream.is_back)] = before;
                    *open = false;
                }
            }
        }
    }
    let [more_after, more_before] = left;
    Ok(Window {
        session: id(&arguments.session),
        agent: arguments.agent.as_deref().map(id),
        messages: messages.into(),
        more_before,
        more_after,
    })
}

/// Where a window starts.
enum Start {
    Beginning,
    Last,
    Around(EntryRef),
    At(EntryRef),
    After(EntryRef),
    Before(EntryRef),
}

impl Start {
    fn params(&self, base: ReadParams) -> ReadParams {
        match self {
            Start::Beginning => base,
            Start::Last => ReadParams { last: Some(true), ..base },
            Start::Around(entry) | Start::At(entry) => ReadParams { around: Some(entry.clone()), ..base },
            Start::After(entry) => ReadParams { after: Some(entry.clone()), ..base },
            Start::Before(entry) => ReadParams { before: Some(entry.clone()), ..base },
        }
    }
}

fn start(history: &History<'_>, arguments: &Arguments) -> Result<Start, Refusal> {
    if arguments.to_turn.is_some() && arguments.to_turn < arguments.turn.or(Some(usize::MAX)) {
        return Err(Refusal::new("`to_turn` is given with `turn`, and is not before it"));
    }
    let turn = arguments.turn.map(|turn| start_of_turn(history, arguments, turn)).transpose()?;
    let given = [
        arguments.around.as_deref().map(|entry| Start::Around(entry_ref(entry))),
        turn.map(Start::At),
        arguments.after.as_deref().map(|entry| Start::After(entry_ref(entry))),
        arguments.before.as_deref().map(|entry| Start::Before(entry_ref(entry))),
        arguments.last.filter(|last| *last).map(|_| Start::Last),
    ];
    let mut given = given.into_iter().flatten();
    let start = given.next().unwrap_or(Start::Beginning);
    match given.next() {
        None => Ok(start),
        Some(_) => Err(Refusal::new("only one of `around`, `turn`, `after`, `before` and `last` is given")),
    }
}

/// Returns the entry that a turn starts with.
fn start_of_turn(history: &History<'_>, arguments: &Arguments, number: usize) -> Result<EntryRef, Refusal> {
    let (project, agent) = (arguments.project.as_deref(), arguments.agent.as_deref());
    let mut found = None;
    let mut count = 0;
    each_turn(history, &arguments.session, project, agent, |turn| {
        count = turn.turn;
        if turn.turn == number {
            found = turn.uuid;
        }
        turn.turn < number
    })?;
    found
        .map(EntryRef::Uuid)
        .ok_or_else(|| Refusal::new(format!("there is no turn {number}: the last one is {count}")))
}

/// Reads an argument that names an entry.
fn entry_ref(entry: &str) -> EntryRef {
    entry.parse().map_or_else(|_| EntryRef::Uuid(entry.to_owned()), EntryRef::Line)
}

/// Returns the argument that names an item.
fn reference(item: &HistoryItem) -> Option<String> {
    let entry = item.body.entry()?;
    entry.line.map(|line| line.to_string()).or_else(|| entry.uuid.as_deref().map(id))
}

fn item_turn(item: &HistoryItem) -> Option<usize> {
    item.body.entry()?.turn
}

fn base(arguments: &Arguments) -> ReadParams {
    ReadParams {
        session_id: arguments.session.clone(),
        workspace_path: arguments.project.clone(),
        agent_id: arguments.agent.clone(),
        ..ReadParams::default()
    }
}

/// What happens to an item of a stream.
enum Step {
    Take(Message),
    Skip,
    End,
}

/// What a stream has next.
enum Next {
    Message(Message),
    /// Nothing was found in the items that may be read at once; there are more.
    More,
    End,
}

impl Stream {
    fn next(&mut self, history: &History<'_>, judge: impl Fn(&HistoryItem) -> Step) -> Result<Next, Refusal> {
        loop {
            let item = if self.is_back { self.items.pop_back() } else { self.items.pop_front() };
            if let Some(item) = item {
                let step = judge(&item);
                self.taken = reference(&item).or(self.taken.take());
                match step {
                    Step::Take(message) => return Ok(Next::Message(message)),
                    Step::Skip => continue,
                    Step::End => return Ok(Next::End),
                }
            }
            let Some(wanted) = self.next.take() else { return Ok(Next::End) };
            if self.read >= MOST_READ {
                return Ok(Next::More);
            }
            let page: ReadResult = history.get(Method::HistoryRead, &wanted)?;
            self.read += page.items.len();
            self.items = page.items.into();
            let cursor = if self.is_back { page.previous_cursor } else { page.next_cursor };
            let rest = ReadParams { around: None, before: None, after: None, last: None, ..wanted };
            self.next = cursor.map(|cursor| ReadParams { cursor: Some(cursor), ..rest });
        }
    }
}

impl Selection {
    fn of(arguments: &Arguments) -> Result<Self, Refusal> {
        let text_limit = arguments.text_limit.unwrap_or(TEXT.0);
        if !(1..=TEXT.1).contains(&text_limit) {
            return Err(Refusal::new(format!("`text_limit` is from 1 to {}", TEXT.1)));
        }
        Ok(Self {
            // A character takes up to four bytes, and there must be progress.
            text_limit: text_limit.max(4),
            text_offset: arguments.text_offset.unwrap_or_default(),
            part_offset: arguments.part_offset.unwrap_or_default(),
            tools: arguments.tools.unwrap_or(true),
            thinking: arguments.thinking.unwrap_or_default(),
            all: arguments.all.unwrap_or_default(),
        })
    }

    /// Returns an item as a message; `None` if it is not to be shown.
    fn message(&self, item: &HistoryItem, is_asked_for: bool) -> Option<Message> {
        let entry = item.body.entry()?;
        let is_visible = matches!(item.visibility, Visibility::Conversation | Visibility::Folded);
        if !is_visible && !self.all && !is_asked_for {
            return None;
        }
        let mut left = LONGEST_MESSAGE;
        let mut parts = Vec::new();
        let mut parts_left_out = 0;
        for part in entry.parts.iter().skip(self.part_offset) {
            // What is nested too deep to be read is returned as it is.
            let part = serde_json::from_str(part.get()).unwrap_or_else(|_| Value::from(part.get()));
            let kind = part["type"].as_str().unwrap_or_default();
            let is_wanted = match kind {
                "tool_use" | "tool_result" => self.tools,
                "thinking" | "redacted_thinking" => self.thinking,
                _ => true,
            };
            if !is_wanted && !is_asked_for {
                continue;
            }
            if parts.len() == PARTS || left < 4 {
                parts_left_out += 1;
                continue;
            }
            let part = self.part(kind, &part, self.text_limit.min(left));
            left -= part.text.as_ref().map_or(0, |text| text.len().min(left));
            parts.push(part);
        }
        if parts.is_empty() && !is_asked_for {
            return None;
        }
        let kind = item.body.kind();
        let kind = match (kind, &entry.subtype, &entry.entry_type) {
            (ItemKind::Message, ..) => None,
            (_, Some(subtype), _) => Some(id(subtype)),
            (_, None, Some(entry_type)) => Some(id(entry_type)),
            (kind, None, None) => Some(kind.word().to_owned()),
        };
        Some(Message {
            uuid: entry.uuid.as_deref().map(id),
            line: entry.line,
            turn: entry.turn,
            time: entry.timestamp.clone(),
            role: entry.role,
            kind,
            abandoned: item.live == Some(false),
            parts,
            parts_left_out,
        })
    }

    fn part(&self, kind: &str, part: &Value, budget: usize) -> Part {
        let text = match kind {
            "text" => part["text"].as_str().map(str::to_owned),
            "thinking" => part["thinking"].as_str().map(str::to_owned),
            "tool_use" => Some(part["input"].to_string()),
            "tool_result" => Some(result_text(&part["content"])),
            "image" | "document" | "redacted_thinking" => None,
            _ => Some(part.as_str().map_or_else(|| part.to_string(), str::to_owned)),
        };
        let text = text.map(|text| excerpt(&text, self.text_offset, budget));
        let (text, continue_at, bytes_left_out) = match text {
            Some(Excerpt { text, continues_at, left_out }) => (Some(text), continues_at, left_out),
            None => (None, None, 0),
        };
        Part {
            r#type: id(kind),
            tool: part["name"].as_str().map(id),
            error: part["is_error"].as_bool().unwrap_or_default(),
            text,
            continue_at,
            bytes_left_out,
        }
    }
}

/// Returns the text of a tool's output. Images are named, not returned.
fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match block["text"].as_str() {
                Some(text) => text.to_owned(),
                None => format!("[{}]", block["type"].as_str().unwrap_or("block")),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
