//! From the entries of a transcript to `session/update` notifications.
//!
//! The builder takes one entry after the other, in the order of the conversation, and keeps little state between them.
//! Replayed and new entries go through the same code.

use std::borrow::Cow;
use std::collections::HashMap;

use annals_engine::context_window;
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
use annals_api::Masking;
use annals_api::to_wire::{input_kind, time, tool_state, value_as_found};

/// Longer texts are split into several updates; longer results and diffs are cut, and longer arguments are left out.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Longer images, in base64, are left out.
const MAX_IMAGE_BYTES: usize = 8 << 20;
/// How many calls without a result are kept. Few calls never get a result, so this is reached only by damaged transcripts.
const MAX_OPEN_CALLS: usize = 200_000;

/// Builds the updates of a conversation.
#[derive(Debug, Default)]
pub(super) struct UpdateBuilder {
    /// Whether the client has announced support for compactions.
    knows_compactions: bool,
    /// How entries are masked; `None` if the client may see everything.
    masking: Option<Masking>,
    /// Whether earlier calls were not added here, so that results without a call are reported as well.
    starts_midway: bool,
    /// The last reply: the message id that its entries share, and the uuid of its first entry, which updates carry.
    reply: Option<(String, String)>,
    /// The uuid of the last compaction, until its summary follows.
    compaction: Option<String>,
    /// Calls without a result so far, by their id.
    open_calls: HashMap<String, OpenCall>,
    tasks: Tasks,
    usage: Option<UsageUpdate>,
    updates: Vec<Update>,
}

/// What is kept of a call until its result follows.
#[derive(Debug, Default)]
struct OpenCall {
    is_edit: bool,
    task: Option<TaskChange>,
}

impl UpdateBuilder {
    /// Creates a builder for a conversation from its start. Entries are masked unless `masking` is `None`.
    pub(super) fn new(knows_compactions: bool, masking: Option<Masking>) -> Self {
        Self { knows_compactions, masking, ..Self::default() }
    }

    /// Creates a builder for a conversation whose earlier entries the client has from elsewhere.
    pub(super) fn starting_midway(knows_compactions: bool, masking: Option<Masking>) -> Self {
        Self { starts_midway: true, ..Self::new(knows_compactions, masking) }
    }

    /// Returns how entries are masked; `None` if the client may see everything.
    pub(super) fn masking(&self) -> Option<&Masking> {
        self.masking.as_ref()
    }

    /// Takes the updates that were built since the last call.
    pub(super) fn take(&mut self) -> Vec<Update> {
        std::mem::take(&mut self.updates)
    }

    /// Returns how much of the context window is used, if a reply has reported it.
    pub(super) fn usage(&self) -> Option<UsageUpdate> {
        self.usage
    }

    /// Adds the updates of the entry on a line. Lines of subagents, context and records have none.
    ///
    /// The line is masked before anything is read from it, because texts are split and cut afterwards.
    pub(super) fn add_entry(&mut self, line: &[u8]) {
        let masked = self.masking.as_ref().map(|masking| masking.entry(line));
        let (line, masked) = masked.unwrap_or((Cow::Borrowed(line), 0));
        let entry = Entry::new(&line);
        if entry.has(Flag::Sidechain) {
            return;
        }
        let context = self.context_of(&entry).with_masked(masked);
        let item = Item::of(&entry);
        for part in item.parts.iter().filter(|part| item.visibility_of(part) <= Visibility::Folded) {
            self.add_part(part, &context);
        }
    }

    /// Reads what the updates of all parts of an entry need, and keeps the usage that a reply reports.
    fn context_of<'a>(&mut self, entry: &Entry<'a>) -> EntryContext<'a> {
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
        EntryContext { is_reply: reply.is_some(), origin, message, cwd, results }
    }

    fn add_part(&mut self, part: &Part<'_>, context: &EntryContext<'_>) {
        let (origin, message) = (&context.origin, context.message.as_deref());
        let cwd = context.cwd.as_deref();
        match part {
            Part::Input(input) if input.kind == InputKind::CompactSummary => {
                self.add_summary(origin, &input.text);
            }
            Part::Input(input) => self.add_input(input, message, origin),
            Part::Text(text) | Part::RequestError(text) => {
                self.add_text(&text.text(), message, origin, Update::AgentMessageChunk);
            }
            Part::Thinking(thinking) => {
                let text = thinking.thinking().unwrap_or_default();
                self.add_text(&text, message, origin, Update::AgentThoughtChunk);
            }
            Part::Call(call) => self.add_call(call, cwd, origin, None),
            // The reply that makes a server call has its result, too.
            Part::ServerCall(call) => self.add_call(call, cwd, origin, Some(ToolStatus::Completed)),
            Part::Result(result) => {
                if let Some(facts) = &context.results {
                    self.add_result(facts, result);
                }
            }
            Part::Image(media) | Part::Document(media) => {
                let update =
                    if context.is_reply { Update::AgentMessageChunk } else { Update::UserMessageChunk };
                self.add_media(media, message, origin, update);
            }
            Part::Notice(notice @ Notice::Compaction(_)) => self.add_compaction(origin, notice),
            Part::Notice(notice) => self.add_notice(origin, message, notice),
            _ => {}
        }
    }

    /// Reports a call as failed that will get no result.
    pub(super) fn abandon_call(&mut self, id: &str) {
        if self.open_calls.remove(id).is_some() {
            let origin = Origin { state: Some(wire::ToolState::Interrupted), ..Origin::default() };
            self.updates.push(Update::ToolCallUpdate(ToolCall {
                tool_call_id: id.to_owned(),
                status: Some(ToolStatus::Failed),
                meta: Meta { annals: origin },
                ..ToolCall::default()
            }));
        }
    }

    /// Returns the message id for updates of an entry of a reply: the uuid of the first entry of that reply.
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

    /// Adds a prompt, or what else Claude Code has recorded as input.
    fn add_input(&mut self, input: &Input<'_>, message: Option<&str>, origin: &Origin) {
        let kind = input.kind;
        let wire_kind = Some(input_kind(kind)).filter(|_| kind != InputKind::Prompt);
        let teammate_id = input.sender().filter(|_| kind == InputKind::Teammate).map(str::to_owned);
        let origin = Origin { input: wire_kind, teammate_id, ..origin.clone() };
        match kind {
            InputKind::Output => {
                self.add_text(input.text.trim(), message, &origin, Update::AgentMessageChunk);
            }
            _ => self.add_text(&input.typed(), message, &origin, Update::UserMessageChunk),
        }
    }

    fn add_text(&mut self, text: &str, message: Option<&str>, origin: &Origin, update: fn(Chunk) -> Update) {
        for piece in split_text(text) {
            let content = ContentBlock::Text { text: piece.to_owned() };
            self.updates.push(update(chunk(content, message, origin.clone())));
        }
    }

    fn add_media(
        &mut self,
        media: &Media<'_>,
        message: Option<&str>,
        origin: &Origin,
        update: fn(Chunk) -> Update,
    ) {
        let mut origin = origin.clone();
        let content = media_block(media, &mut origin);
        self.updates.push(update(chunk(content, message, origin)));
    }

    fn add_call(
        &mut self,
        call: &ToolUse<'_>,
        cwd: Option<&str>,
        origin: &Origin,
        status: Option<ToolStatus>,
    ) {
        let Some(id) = call.id().map(Cow::into_owned) else { return };
        // A call that is recorded twice is one call.
        if self.open_calls.contains_key(&id) {
            return;
        }
        let mut origin = origin.clone();
        let (input, diffs) = (call.input(), tool::diffs(call, cwd));
        let diffs = cap_diffs(diffs, &mut origin);
        let name = call.name().map(Cow::into_owned);
        self.updates.push(Update::ToolCall(ToolCall {
            tool_call_id: id.clone(),
            title: Some(tool::title(call)),
            kind: Some(tool::kind(name.as_deref().unwrap_or_default())),
            name,
            status: Some(status.unwrap_or(ToolStatus::InProgress)),
            content: Some(diffs.clone()).filter(|diffs| !diffs.is_empty()),
            locations: Some(tool::locations(call, cwd)).filter(|locations| !locations.is_empty()),
            raw_input: input.and_then(|input| raw_unless_long(input, &mut origin)),
            raw_output: None,
            meta: Meta { annals: origin },
        }));
        if let Some(plan) = plan::todo_plan(call) {
            self.updates.push(Update::Plan(plan));
        }
        if status.is_none() && self.open_calls.len() < MAX_OPEN_CALLS {
            self.open_calls.insert(id, OpenCall { is_edit: !diffs.is_empty(), task: TaskChange::of(call) });
        }
    }

    fn add_result(&mut self, facts: &ResultFacts<'_>, result: &ToolResult<'_>) {
        let Some(id) = result.tool_use_id().map(Cow::into_owned) else { return };
        let call = match self.open_calls.remove(&id) {
            Some(call) => call,
            None if self.starts_midway => OpenCall::default(),
            // The result was recorded before, or the call never was.
            None => return,
        };
        let state = facts.states.get(result);
        let is_ok = state == State::Ok;
        let mut origin = Origin { state: Some(tool_state(state)), ..facts.origin.clone() };
        let (object, cwd) = (facts.object, facts.cwd.as_deref());
        let written = object.and_then(|object| tool::overwrite_diff(object, cwd));
        let content = match written {
            // The client keeps the diff that the call has sent.
            None if call.is_edit && is_ok => None,
            Some(diff) if call.is_edit && is_ok => {
                Some(cap_diffs(vec![diff], &mut origin)).filter(|diffs| !diffs.is_empty())
            }
            _ => Some(result_content(result, &mut origin)),
        };
        let changed = object.filter(|_| call.is_edit && is_ok);
        let changed = changed.and_then(|object| tool::first_changed_line(object, cwd));
        let output = object.or_else(|| result.content().value());
        self.updates.push(Update::ToolCallUpdate(ToolCall {
            tool_call_id: id,
            status: Some(if is_ok { ToolStatus::Completed } else { ToolStatus::Failed }),
            content,
            locations: changed.map(|location| vec![location]),
            raw_output: output.and_then(|output| raw_unless_long(output, &mut origin)),
            meta: Meta { annals: origin },
            ..ToolCall::default()
        }));
        let task = call.task.filter(|_| is_ok);
        if let Some(plan) = task.and_then(|task| self.tasks.apply(task, object)) {
            self.updates.push(Update::Plan(plan));
        }
    }

    fn add_notice(&mut self, origin: &Origin, message: Option<&str>, notice: &Notice<'_>) {
        let origin = Origin { input: Some(wire::InputKind::Notice), ..origin.clone() };
        self.add_text(&notice.text(), message, &origin, Update::AgentMessageChunk);
    }

    fn add_compaction(&mut self, origin: &Origin, notice: &Notice<'_>) {
        self.compaction.clone_from(&origin.uuid);
        match origin.uuid.clone().filter(|_| self.knows_compactions) {
            Some(id) => self.push_compaction(id, origin.clone()),
            None => self.add_notice(origin, origin.uuid.as_deref(), notice),
        }
    }

    fn push_compaction(&mut self, compaction_id: String, origin: Origin) {
        self.updates.push(Update::CompactionUpdate(CompactionUpdate {
            compaction_id,
            status: "completed",
            meta: Meta { annals: origin },
        }));
    }

    /// Adds the summary that replaces what was compacted.
    fn add_summary(&mut self, origin: &Origin, text: &str) {
        let origin = Origin { summary: true, ..origin.clone() };
        let message = origin.uuid.clone();
        if !self.knows_compactions {
            return self.add_text(text, message.as_deref(), &origin, Update::UserMessageChunk);
        }
        let compaction = self.compaction.take();
        let is_known = compaction.is_some();
        let Some(id) = compaction.or(message) else { return };
        if !is_known {
            self.push_compaction(id.clone(), origin.clone());
        }
        for piece in split_text(text) {
            self.updates.push(Update::CompactionSummaryChunk(CompactionSummaryChunk {
                compaction_id: id.clone(),
                content: ContentBlock::Text { text: piece.to_owned() },
                meta: Meta { annals: origin.clone() },
            }));
        }
    }
}

/// What the updates of all parts of an entry need.
struct EntryContext<'a> {
    is_reply: bool,
    origin: Origin,
    /// The id of the message that the parts belong to.
    message: Option<String>,
    cwd: Option<Cow<'a, str>>,
    results: Option<ResultFacts<'a>>,
}

impl EntryContext<'_> {
    /// Says in all updates how many values were masked in the entry.
    fn with_masked(mut self, masked: usize) -> Self {
        self.origin.masked = masked;
        if let Some(results) = &mut self.results {
            results.origin.masked = masked;
        }
        self
    }
}

/// What the updates of all results in an entry need. It is read once, because an entry may hold thousands of results.
struct ResultFacts<'a> {
    states: ResultStates,
    /// `toolUseResult`, where it is an object and the entry has one result that it can belong to.
    object: Option<Value<'a>>,
    cwd: Option<Cow<'a, str>>,
    origin: Origin,
}

impl<'a> ResultFacts<'a> {
    /// Reads the facts from an entry; `None` if it holds no result.
    fn of(entry: &Entry<'a>, user: &User<'a>) -> Option<Self> {
        let results = entry.content().blocks().filter(|block| matches!(block, Block::ToolResult(_)));
        let count = results.take(2).count();
        if count == 0 {
            return None;
        }
        let result = entry.tool_use_result();
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

/// Returns how much of the context window a reply has used. Replies that Claude Code itself has written report zero, which
/// is no measurement.
fn usage(reply: &Assistant<'_>) -> Option<UsageUpdate> {
    let usage = reply.usage()?;
    let counters = [
        usage.input_tokens(),
        usage.cache_creation_tokens(),
        usage.cache_read_tokens(),
        usage.output_tokens(),
    ];
    let used = counters.into_iter().flatten().fold(0, u64::saturating_add);
    let size = context_window(reply.model().as_deref(), used);
    (used > 0).then_some(UsageUpdate { used, size })
}

/// Returns the contents of a tool result that clients can show.
fn result_content(result: &ToolResult<'_>, origin: &mut Origin) -> Vec<ToolContent> {
    let mut contents = Vec::new();
    for block in result.content().blocks() {
        let content = match block {
            Block::Text(text) => {
                let (all, text) = (text.text().len(), text_prefix(&text.text()).to_owned());
                origin.cut |= text.len() < all;
                ContentBlock::Text { text }
            }
            Block::Image(media) | Block::Document(media) => media_block(&media, origin),
            Block::ToolReference(found) => {
                ContentBlock::Text { text: found.tool_name().unwrap_or_default().into_owned() }
            }
            _ => continue,
        };
        contents.push(ToolContent::Content { content });
    }
    contents
}

/// Returns an image or a link to one, or a placeholder in brackets for what clients cannot show.
fn media_block(media: &Media<'_>, origin: &mut Origin) -> ContentBlock {
    let (kind, data) = (media.media_type().unwrap_or_default(), media.data().unwrap_or_default());
    match media.source_type().as_deref() {
        Some("base64") if kind.starts_with("image/") && data.len() <= MAX_IMAGE_BYTES => {
            ContentBlock::Image { data: data.into_owned(), mime_type: kind.into_owned() }
        }
        Some("url") if !data.is_empty() && data.len() <= MAX_TEXT_BYTES => {
            let name = media.title().unwrap_or(Cow::Borrowed("image")).into_owned();
            ContentBlock::ResourceLink { name, uri: data.into_owned() }
        }
        _ => {
            origin.cut = true;
            let what = media.title().filter(|title| !title.is_empty() && title.len() <= MAX_TEXT_BYTES);
            ContentBlock::Text { text: format!("[{}]", what.as_deref().unwrap_or("image or document")) }
        }
    }
}

/// Splits a text into pieces of at most [`MAX_TEXT_BYTES`]. An empty text has none.
fn split_text(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, behind) = rest.split_at(text_prefix(rest).len());
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the first [`MAX_TEXT_BYTES`] of a text, in whole characters.
fn text_prefix(text: &str) -> &str {
    let end = (0..=MAX_TEXT_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// Keeps diffs up to the first with which they would have more than [`MAX_TEXT_BYTES`] together.
fn cap_diffs(diffs: Vec<ToolContent>, origin: &mut Origin) -> Vec<ToolContent> {
    let count = diffs.len();
    let mut bytes = 0;
    let kept: Vec<_> = diffs
        .into_iter()
        .take_while(|diff| {
            bytes += diff_bytes(diff);
            bytes <= MAX_TEXT_BYTES
        })
        .collect();
    origin.cut |= kept.len() < count;
    kept
}

fn diff_bytes(diff: &ToolContent) -> usize {
    match diff {
        ToolContent::Diff { old_text, new_text, .. } => {
            old_text.as_ref().map_or(0, String::len) + new_text.len()
        }
        ToolContent::Content { .. } => 0,
    }
}

/// Returns a value exactly as in the transcript; `None` if it has more than [`MAX_TEXT_BYTES`].
fn raw_unless_long(value: Value<'_>, origin: &mut Origin) -> Option<Box<RawValue>> {
    let is_too_long = value.bytes().len() > MAX_TEXT_BYTES;
    origin.cut |= is_too_long;
    (!is_too_long).then(|| value_as_found(value))
}

#[cfg(test)]
mod tests;
