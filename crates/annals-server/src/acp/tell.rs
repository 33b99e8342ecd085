//! From entries of a transcript to what a client is told of them.
//!
//! One entry after the other, in the order of the conversation; what is remembered between them is small. The same way
//! is gone for what was said long ago and for what is being said now.

use std::borrow::Cow;
use std::collections::HashMap;

use annals_proto as wire;
use annals_proto::acp::{
    Chunk, CompactionSummaryChunk, CompactionUpdate, ContentBlock, Meta, Origin, ToolCall, ToolContent,
    ToolStatus, Update, UsageUpdate,
};
use annals_transcript::content::{Block, Media, ToolResult, ToolUse};
use annals_transcript::entry::view::{Assistant, ToolUseResult, User};
use annals_transcript::item::{Item, Notice, Part, Visibility};
use annals_transcript::json::Value;
use annals_transcript::prompt::{Input, InputKind};
use annals_transcript::tool::{ResultStates, State};
use annals_transcript::{Entry, Flag};
use serde_json::value::RawValue;

use super::plan::{self, TaskChange, Tasks};
use super::tool;
use annals_api::to_wire::{input_kind, time, tool_state, value_as_found};

/// Longer texts are told in pieces of so many bytes; longer results and changes are cut, longer arguments left out.
const LONGEST_TEXT: usize = 1 << 20;
/// Longer images are left out.
const LONGEST_IMAGE: usize = 8 << 20;
/// How many calls may wait for their results. Those that never get one are few.
const MOST_OPEN: usize = 200_000;
/// How many tokens a model usually has room for, and how many the larger ones.
const CONTEXT: u64 = 200_000;
const LARGE_CONTEXT: u64 = 1_000_000;

/// Tells a conversation to a client.
#[derive(Debug, Default)]
pub(super) struct Teller {
    /// Whether the client knows what compactions are.
    knows_compactions: bool,
    /// Whether calls may have been made of which the client was not told here.
    came_late: bool,
    /// The reply that is being told: the id that its lines share, and the name of its message.
    reply: Option<(String, String)>,
    /// The last compaction.
    compaction: Option<String>,
    /// Calls without a result so far.
    open: HashMap<String, OpenCall>,
    tasks: Tasks,
    usage: Option<UsageUpdate>,
    updates: Vec<Update>,
}

/// What is remembered of a call until its result comes.
#[derive(Debug, Default)]
struct OpenCall {
    is_edit: bool,
    task: Option<TaskChange>,
}

impl Teller {
    /// Begins to tell from the start.
    pub(super) fn new(knows_compactions: bool) -> Self {
        Self { knows_compactions, ..Self::default() }
    }

    /// Begins to tell in the middle.
    pub(super) fn in_the_middle(knows_compactions: bool) -> Self {
        Self { came_late: true, ..Self::new(knows_compactions) }
    }

    /// Returns what is to be told, and forgets it.
    pub(super) fn take(&mut self) -> Vec<Update> {
        std::mem::take(&mut self.updates)
    }

    /// Returns how much of the context is taken, if that is known.
    pub(super) fn usage(&self) -> Option<UsageUpdate> {
        self.usage
    }

    /// Adds the updates of an entry. Lines of subagents, context and records have none.
    pub(super) fn entry(&mut self, entry: &Entry<'_>) {
        if entry.has(Flag::Sidechain) {
            return;
        }
        let source = self.source_of(entry);
        let item = Item::of(entry);
        for part in item.parts.iter().filter(|part| item.visibility_of(part) <= Visibility::Folded) {
            self.part(part, &source);
        }
    }

    fn source_of<'a>(&mut self, entry: &Entry<'a>) -> Source<'a> {
        let origin = origin(entry);
        let reply = entry.view::<Assistant>();
        let user = entry.view::<User>();
        if let Some(usage) = reply.as_ref().and_then(usage) {
            self.usage = Some(usage);
        }
        let message = match &reply {
            Some(reply) => self.message_of(reply, &origin),
            None => origin.uuid.clone(),
        };
        let cwd = reply.as_ref().and_then(Assistant::cwd).or_else(|| user.and_then(|user| user.cwd()));
        let results = user.and_then(|user| ResultFacts::of(entry, &user));
        Source { is_reply: reply.is_some(), origin, message, cwd, results }
    }

    fn part(&mut self, part: &Part<'_>, source: &Source<'_>) {
        let (origin, message) = (&source.origin, source.message.as_deref());
        let cwd = source.cwd.as_deref();
        match part {
            Part::Input(input) if input.kind == InputKind::CompactSummary => {
                self.summary(origin, &input.text);
            }
            Part::Input(input) => self.input(input, message, origin),
            Part::Text(text) | Part::RequestError(text) => {
                self.chunks(&text.text(), message, origin, Update::AgentMessageChunk);
            }
            Part::Thinking(thinking) => {
                let text = thinking.thinking().unwrap_or_default();
                self.chunks(&text, message, origin, Update::AgentThoughtChunk);
            }
            Part::Call(call) => self.call(call, cwd, origin, None),
            // The reply that makes the call has the result, too.
            Part::ServerCall(call) => self.call(call, cwd, origin, Some(ToolStatus::Completed)),
            Part::Result(result) => {
                if let Some(facts) = &source.results {
                    self.result(facts, result);
                }
            }
            Part::Image(media) | Part::Document(media) => {
                let update =
                    if source.is_reply { Update::AgentMessageChunk } else { Update::UserMessageChunk };
                self.media(media, message, origin, update);
            }
            Part::Notice(notice @ Notice::Compaction(_)) => self.compaction(origin, &notice.text()),
            Part::Notice(notice) => {
                let origin = Origin { input: Some(wire::InputKind::Notice), ..origin.clone() };
                self.chunks(&notice.text(), message, &origin, Update::AgentMessageChunk);
            }
            _ => {}
        }
    }

    /// Tells that nothing will come of a call any more.
    pub(super) fn given_up(&mut self, id: &str) {
        if self.open.remove(id).is_some() {
            let origin = Origin { state: Some(wire::ToolState::Interrupted), ..Origin::default() };
            self.updates.push(Update::ToolCallUpdate(ToolCall {
                tool_call_id: id.to_owned(),
                status: Some(ToolStatus::Failed),
                meta: Meta { annals: origin },
                ..ToolCall::default()
            }));
        }
    }

    /// Returns the name of the message that a line of a reply belongs to: that of the reply's first line.
    fn message_of(&mut self, reply: &Assistant<'_>, origin: &Origin) -> Option<String> {
        let shared = reply.message_id().map(Cow::into_owned);
        if let Some((id, message)) = &self.reply
            && shared.as_ref() == Some(id)
        {
            return Some(message.clone());
        }
        self.reply = shared.zip(origin.uuid.clone());
        origin.uuid.clone()
    }

    /// Adds something that came in.
    fn input(&mut self, input: &Input<'_>, message: Option<&str>, origin: &Origin) {
        let kind = input.kind;
        let wire_kind = Some(input_kind(kind)).filter(|_| kind != InputKind::Prompt);
        let teammate_id = input.sender().filter(|_| kind == InputKind::Teammate).map(str::to_owned);
        let origin = Origin { input: wire_kind, teammate_id, ..origin.clone() };
        match kind {
            InputKind::Output => self.chunks(input.text.trim(), message, &origin, Update::AgentMessageChunk),
            _ => self.chunks(&input.typed(), message, &origin, Update::UserMessageChunk),
        }
    }

    fn chunks(&mut self, text: &str, message: Option<&str>, origin: &Origin, update: fn(Chunk) -> Update) {
        for piece in pieces(text) {
            let content = ContentBlock::Text { text: piece.to_owned() };
            self.updates.push(update(chunk(content, message, origin.clone())));
        }
    }

    fn media(
        &mut self,
        media: &Media<'_>,
        message: Option<&str>,
        origin: &Origin,
        update: fn(Chunk) -> Update,
    ) {
        let mut origin = origin.clone();
        let content = shown(media, &mut origin);
        self.updates.push(update(chunk(content, message, origin)));
    }

    fn call(&mut self, call: &ToolUse<'_>, cwd: Option<&str>, origin: &Origin, status: Option<ToolStatus>) {
        let Some(id) = call.id().map(Cow::into_owned) else { return };
        // A line that is written again makes no other call.
        if self.open.contains_key(&id) {
            return;
        }
        let mut origin = origin.clone();
        let (input, diffs) = (call.input(), tool::diffs(call, cwd));
        let diffs = within(diffs, &mut origin);
        let name = call.name().map(Cow::into_owned);
        self.updates.push(Update::ToolCall(ToolCall {
            tool_call_id: id.clone(),
            title: Some(tool::title(call)),
            kind: Some(tool::kind(name.as_deref().unwrap_or_default())),
            name,
            status: Some(status.unwrap_or(ToolStatus::InProgress)),
            content: Some(diffs.clone()).filter(|diffs| !diffs.is_empty()),
            locations: Some(tool::locations(call, cwd)).filter(|places| !places.is_empty()),
            raw_input: input.and_then(|input| raw(input, &mut origin)),
            raw_output: None,
            meta: Meta { annals: origin },
        }));
        if let Some(plan) = plan::todos(call) {
            self.updates.push(Update::Plan(plan));
        }
        if status.is_none() && self.open.len() < MOST_OPEN {
            self.open.insert(id, OpenCall { is_edit: !diffs.is_empty(), task: TaskChange::of(call) });
        }
    }

    fn result(&mut self, facts: &ResultFacts<'_>, result: &ToolResult<'_>) {
        let Some(id) = result.tool_use_id().map(Cow::into_owned) else { return };
        let call = match self.open.remove(&id) {
            Some(call) => call,
            None if self.came_late => OpenCall::default(),
            // It is known already what came of it.
            None => return,
        };
        let state = facts.states.get(result.is_error());
        let is_ok = state == State::Ok;
        let mut origin = Origin { state: Some(tool_state(state)), ..facts.origin.clone() };
        let (object, cwd) = (facts.object, facts.cwd.as_deref());
        let written = object.and_then(|object| tool::written(object, cwd));
        let content = match written {
            // The change that the call asked for stands.
            None if call.is_edit && is_ok => None,
            Some(diff) if call.is_edit && is_ok => {
                Some(within(vec![diff], &mut origin)).filter(|diffs| !diffs.is_empty())
            }
            _ => Some(returned(result, &mut origin)),
        };
        let changed = object.filter(|_| call.is_edit && is_ok);
        let changed = changed.and_then(|object| tool::changed_line(object, cwd));
        let output = object.or_else(|| result.content().value());
        self.updates.push(Update::ToolCallUpdate(ToolCall {
            tool_call_id: id,
            status: Some(if is_ok { ToolStatus::Completed } else { ToolStatus::Failed }),
            content,
            locations: changed.map(|place| vec![place]),
            raw_output: output.and_then(|output| raw(output, &mut origin)),
            meta: Meta { annals: origin },
            ..ToolCall::default()
        }));
        let task = call.task.filter(|_| is_ok);
        if let Some(plan) = task.and_then(|task| self.tasks.change(task, object)) {
            self.updates.push(Update::Plan(plan));
        }
    }

    fn compaction(&mut self, origin: &Origin, text: &str) {
        self.compaction.clone_from(&origin.uuid);
        match origin.uuid.clone().filter(|_| self.knows_compactions) {
            Some(id) => self.begin_compaction(id, origin.clone()),
            None => self.chunks(text, origin.uuid.as_deref(), origin, Update::AgentMessageChunk),
        }
    }

    fn begin_compaction(&mut self, compaction_id: String, origin: Origin) {
        self.updates.push(Update::CompactionUpdate(CompactionUpdate {
            compaction_id,
            status: "completed",
            meta: Meta { annals: origin },
        }));
    }

    /// Tells the summary that stands for what was compacted away.
    fn summary(&mut self, origin: &Origin, text: &str) {
        let origin = Origin { summary: true, ..origin.clone() };
        let message = origin.uuid.clone();
        if !self.knows_compactions {
            return self.chunks(text, message.as_deref(), &origin, Update::UserMessageChunk);
        }
        let compaction = self.compaction.take();
        let is_known = compaction.is_some();
        let Some(id) = compaction.or(message) else { return };
        if !is_known {
            self.begin_compaction(id.clone(), origin.clone());
        }
        for piece in pieces(text) {
            self.updates.push(Update::CompactionSummaryChunk(CompactionSummaryChunk {
                compaction_id: id.clone(),
                content: ContentBlock::Text { text: piece.to_owned() },
                meta: Meta { annals: origin.clone() },
            }));
        }
    }
}

/// What the parts of one entry share.
struct Source<'a> {
    is_reply: bool,
    origin: Origin,
    /// The message that the parts belong to.
    message: Option<String>,
    cwd: Option<Cow<'a, str>>,
    results: Option<ResultFacts<'a>>,
}

/// What the results in one entry share. It is read once, because an entry may hold thousands of results.
struct ResultFacts<'a> {
    states: ResultStates,
    /// `toolUseResult`, where it is an object and the entry has one result that it can belong to.
    object: Option<Value<'a>>,
    cwd: Option<Cow<'a, str>>,
    origin: Origin,
}

impl<'a> ResultFacts<'a> {
    /// Reads the facts of an entry; `None` if it holds no result.
    fn of(entry: &Entry<'a>, user: &User<'a>) -> Option<Self> {
        let results = entry.content().blocks().filter(|block| matches!(block, Block::ToolResult(_)));
        let count = results.take(2).count();
        if count == 0 {
            return None;
        }
        let result = user.tool_use_result();
        let object = match result {
            Some(ToolUseResult::Object(object)) if count == 1 => Some(object),
            _ => None,
        };
        let agent_id = result.and_then(ToolUseResult::agent_id).map(Cow::into_owned);
        let origin = Origin { agent_id, ..origin(entry) };
        Some(Self { states: ResultStates::of(entry), object, cwd: user.cwd(), origin })
    }
}

fn chunk(content: ContentBlock, message: Option<&str>, origin: Origin) -> Chunk {
    Chunk { content, message_id: message.map(str::to_owned), meta: Meta { annals: origin } }
}

fn origin(entry: &Entry<'_>) -> Origin {
    let head = entry.head();
    Origin {
        uuid: head.id.map(|id| id.decode().into_owned()),
        timestamp: head.time().map(time),
        ..Origin::default()
    }
}

/// Returns how much of the context a reply has taken. Replies that the client made up have taken none.
fn usage(reply: &Assistant<'_>) -> Option<UsageUpdate> {
    let usage = reply.usage()?;
    let counters = [
        usage.input_tokens(),
        usage.cache_creation_tokens(),
        usage.cache_read_tokens(),
        usage.output_tokens(),
    ];
    let used = counters.into_iter().flatten().fold(0, u64::saturating_add);
    let is_large = used > CONTEXT || reply.model().is_some_and(|model| model.ends_with("[1m]"));
    let size = if is_large { LARGE_CONTEXT.max(used) } else { CONTEXT };
    (used > 0).then_some(UsageUpdate { used, size })
}

/// Returns what a tool returned, to be shown.
fn returned(result: &ToolResult<'_>, origin: &mut Origin) -> Vec<ToolContent> {
    let mut shown_so_far = Vec::new();
    for block in result.content().blocks() {
        let content = match block {
            Block::Text(text) => {
                let (all, text) = (text.text().len(), beginning(&text.text()).to_owned());
                origin.cut |= text.len() < all;
                ContentBlock::Text { text }
            }
            Block::Image(media) | Block::Document(media) => shown(&media, origin),
            Block::ToolReference(found) => {
                ContentBlock::Text { text: found.tool_name().unwrap_or_default().into_owned() }
            }
            _ => continue,
        };
        shown_so_far.push(ToolContent::Content { content });
    }
    shown_so_far
}

/// Returns an image, or a word about what cannot be shown.
fn shown(media: &Media<'_>, origin: &mut Origin) -> ContentBlock {
    let (kind, data) = (media.media_type().unwrap_or_default(), media.data().unwrap_or_default());
    match media.source_type().as_deref() {
        Some("base64") if kind.starts_with("image/") && data.len() <= LONGEST_IMAGE => {
            ContentBlock::Image { data: data.into_owned(), mime_type: kind.into_owned() }
        }
        Some("url") if !data.is_empty() && data.len() <= LONGEST_TEXT => {
            let name = media.title().unwrap_or(Cow::Borrowed("image")).into_owned();
            ContentBlock::ResourceLink { name, uri: data.into_owned() }
        }
        _ => {
            origin.cut = true;
            let what = media.title().filter(|title| !title.is_empty() && title.len() <= LONGEST_TEXT);
            ContentBlock::Text { text: format!("[{}]", what.as_deref().unwrap_or("image or document")) }
        }
    }
}

/// Splits a text that is too long for one message. An empty one has no pieces.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, behind) = rest.split_at(beginning(rest).len());
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns as much of a text as one message may have, in whole characters.
fn beginning(text: &str) -> &str {
    let end = (0..=LONGEST_TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// Keeps changes that are not too long to be told; the first that is too long ends them.
fn within(diffs: Vec<ToolContent>, origin: &mut Origin) -> Vec<ToolContent> {
    let mut left = LONGEST_TEXT;
    let count = diffs.len();
    let size = |diff: &ToolContent| match diff {
        ToolContent::Diff { old_text, new_text, .. } => {
            old_text.as_ref().map_or(0, String::len) + new_text.len()
        }
        ToolContent::Content { .. } => 0,
    };
    let fits = |diff: &ToolContent| {
        let rest = left.checked_sub(size(diff));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let kept: Vec<_> = diffs.into_iter().take_while(fits).collect();
    origin.cut |= kept.len() < count;
    kept
}

/// Returns a value as it stands in the transcript, unless it is too long.
fn raw(value: Value<'_>, origin: &mut Origin) -> Option<Box<RawValue>> {
    let is_too_long = value.bytes().len() > LONGEST_TEXT;
    origin.cut |= is_too_long;
    (!is_too_long).then(|| value_as_found(value))
}

#[cfg(test)]
mod tests;
