//! Messages as people see them: prompts, and replies with their tool calls and results.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::Range;

use annals_engine::{Conversation, Error as ReadError, TranscriptFile};
use annals_proto::{self as wire, ChatBlock, ChatRole, ChatToolStatus, ErrorCode, View};
use annals_transcript::chain::NodeIndex;
use annals_transcript::checkpoint::Checkpoint;
use annals_transcript::content::{Block, Media, ToolResult, ToolUse};
use annals_transcript::entry::view::Assistant;
use annals_transcript::full_view::Step;
use annals_transcript::item::{self, Item, Part, Visibility};
use annals_transcript::json::Value;
use annals_transcript::model::{self, Messages, block_as_sent};
use annals_transcript::prompt::{Input, InputKind};
use annals_transcript::session::{BlockKind, BlockSpan, Id, Node, Session};
use annals_transcript::tool::{self, Call};
use annals_transcript::{Entry, Flag, Kind};

use super::page::forward;
use super::{Api, LONGEST_ITEM, LONGEST_PAGE, limit};
use crate::cancel::CancelToken;
use crate::cursor::PageCursor;
use crate::open_sessions::OpenSession;
use crate::rpc::Error;
use crate::to_wire::{self, value_as_found};

/// The most messages of a page.
const MOST_MESSAGES: usize = 10_000;

/// The messages of a session, in both views; each is built when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Chat<'a> {
    groups: OnceCell<MessageGroups>,
    model: OnceCell<Messages<'a>>,
}

/// One message of a page, the messages of other agents that its entry holds, or both.
pub(super) struct LoadedMessage {
    pub(super) message: Option<wire::ChatMessage>,
    pub(super) team: Vec<wire::TeamMessage>,
}

impl From<wire::ChatMessage> for LoadedMessage {
    fn from(message: wire::ChatMessage) -> Self {
        Self { message: Some(message), team: Vec::new() }
    }
}

/// Which entries are one message.
#[derive(Debug)]
struct MessageGroups {
    nodes: Vec<NodeIndex>,
    messages: Vec<Range<usize>>,
}

impl Api {
    pub(super) fn load(
        &self,
        params: &wire::LoadParams,
        cancelled: &CancelToken,
    ) -> Result<wire::LoadResult, Error> {
        let limit = limit(params.limit, MOST_MESSAGES, MOST_MESSAGES)?;
        let (workspace, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let file = self.transcript(&params.session_id, workspace, agent)?;
        let (view, all) = (params.view.unwrap_or_default(), params.all.unwrap_or_default());
        let list = match view {
            View::Full => 'l',
            View::Model => 'm',
        };
        let cursor = match (params.cursor.as_deref(), params.last_line) {
            (Some(cursor), _) => Some(PageCursor::read(cursor, list)?),
            (None, Some(line)) => Some(self.cursor_at_line(&file, list, line)?),
            (None, None) => None,
        };
        let start = cursor.as_ref().map_or(0, |cursor| cursor.at);
        let cancelled = cancelled.clone();
        self.with_session(&file, cursor.as_ref(), move |reading| {
            let (page, count) = match view {
                View::Full => {
                    let groups = reading.chat.groups(&reading.conversation);
                    let count = groups.messages.len();
                    let message = |index: usize| groups.message(reading, index, all);
                    (forward(start, count, limit, &cancelled, message)?, count)
                }
                View::Model => {
                    if let Some(obstacle) = reading.conversation.obstacle() {
                        let message = format!("Claude Code would not resume this session: {obstacle}");
                        return Err(Error::new(ErrorCode::NotResumable, &message));
                    }
                    let sent =
                        reading.chat.model.get_or_init(|| model::messages(&reading.conversation.chain()));
                    let mut messages = sent.iter().skip(start);
                    let next = |_| {
                        let message = messages.next().map(|message| sent_message(reading, message));
                        message.transpose().map(|message| message.flatten().map(LoadedMessage::from))
                    };
                    (forward(start, sent.len(), limit, &cancelled, next)?, sent.len())
                }
            };
            let next_cursor = (page.end < count).then(|| reading.cursor(list, page.end, false));
            let is_last = next_cursor.is_none();
            let mut result = wire::LoadResult { next_cursor, ..wire::LoadResult::default() };
            if is_last {
                result.queued = reading.to_wire.queued(&reading.conversation, LONGEST_PAGE)?;
            }
            for loaded in page.items {
                result.messages.extend(loaded.message);
                result.team_messages.extend(loaded.team);
            }
            Ok(result)
        })
    }

    /// Returns the start of a list of a session as it was when its file ended with a line.
    fn cursor_at_line(&self, file: &TranscriptFile, list: char, line: u64) -> Result<PageCursor, Error> {
        self.with_session(file, None, move |reading| {
            let nodes = reading.snapshot.session().nodes();
            let next = nodes.iter().find(|node| node.at.line > line);
            let end = next.map_or(reading.length, |node| node.at.offset);
            let path = reading.snapshot.path();
            let checkpoint = File::open(path)
                .and_then(|mut file| Checkpoint::at(&mut file, reading.checkpoint.identity(), end))
                .map_err(|source| ReadError::read(path, source))?;
            Ok(PageCursor { list, checkpoint, at: 0, back: false })
        })
    }
}

impl Chat<'_> {
    fn groups(&self, conversation: &Conversation<'_>) -> &MessageGroups {
        self.groups.get_or_init(|| MessageGroups::of(conversation))
    }
}

impl MessageGroups {
    /// Groups the entries of the live conversation into messages. A reply continues after the results of its calls; context
    /// between its lines follows it.
    fn of(conversation: &Conversation<'_>) -> Self {
        let session = conversation.session();
        let mut groups = MessageGroups { nodes: Vec::new(), messages: Vec::new() };
        let mut reply = None;
        let mut context = Vec::new();
        for step in conversation.steps() {
            let Step::Entry { node: index, live: true } = *step else { continue };
            let node = &session.nodes()[index];
            if node.has(Flag::Sidechain) || !item::may_have_parts(node.kind) || session.has_only_results(node)
            {
                continue;
            }
            if !may_be_conversation(session, node) {
                context.push(index);
                continue;
            }
            let is_same_reply =
                node.kind == Kind::Assistant && node.message_id.is_some() && node.message_id == reply;
            reply = node.message_id.filter(|_| node.kind == Kind::Assistant);
            if is_same_reply {
                groups.extend_last(index);
            } else {
                for index in context.drain(..) {
                    groups.push(index);
                }
                groups.push(index);
            }
        }
        for index in context {
            groups.push(index);
        }
        groups
    }

    fn push(&mut self, index: NodeIndex) {
        self.nodes.push(index);
        self.messages.push(self.nodes.len() - 1..self.nodes.len());
    }

    fn extend_last(&mut self, index: NodeIndex) {
        self.nodes.push(index);
        if let Some(message) = self.messages.last_mut() {
            message.end = self.nodes.len();
        }
    }

    /// Returns a message, or `None` if its visibility excludes it from this view.
    fn message(
        &self,
        open: &OpenSession<'_>,
        index: usize,
        all: bool,
    ) -> Result<Option<LoadedMessage>, Error> {
        let nodes = &self.nodes[self.messages[index].clone()];
        let session = open.snapshot.session();
        let Some(first) = nodes.first().map(|&index| &session.nodes()[index]) else { return Ok(None) };
        if !all && !may_be_conversation(session, first) {
            return Ok(None);
        }
        if first.kind != Kind::Assistant {
            return user_message(open, nodes, &Entry::new(&open.snapshot.body(first)?), all);
        }
        let mut composer = Composer::new(open, ChatRole::Assistant, nodes);
        for &index in nodes {
            for block in session.blocks(&session.nodes()[index]) {
                composer.block(block, "")?;
            }
        }
        Ok(Some(composer.finish()?.into()))
    }
}

/// Returns a message that the model did not write. Its content is what a person typed; what came with it is among the inputs.
/// If nothing was typed, the content is the text that Claude Code sends in place of a prompt, such as the notification of a task.
fn user_message(
    open: &OpenSession<'_>,
    nodes: &[NodeIndex],
    entry: &Entry<'_>,
    all: bool,
) -> Result<Option<LoadedMessage>, Error> {
    let item = Item::of(entry);
    let limit = if all { Visibility::Context } else { Visibility::Conversation };
    // Results are shown with their calls, so the other parts decide.
    let mut besides_results = item.parts.iter().filter(|part| !matches!(part, Part::Result(_))).peekable();
    let is_shown = match besides_results.peek() {
        Some(_) => besides_results.any(|part| item.visibility_of(part) <= limit),
        None => item.visibility() <= limit,
    };
    let limit = if all { Visibility::Context } else { Visibility::Folded };
    let mut composer = Composer::new(open, to_wire::chat_role(item.role), nodes);
    let is_typed = item.inputs().any(|input| input.kind.is_typed());
    let mut inputs = Vec::new();
    let mut team = Vec::new();
    for part in item.parts.iter().filter(|part| item.visibility_of(part) <= limit) {
        match part {
            Part::Input(input) if !composer.fits(input_length(input)) => {
                let is_teammate = input.kind == InputKind::Teammate && !all;
                team.extend(is_teammate.then(|| (Input { text: "".into(), ..input.clone() }, true)));
            }
            Part::Notice(notice) if !composer.fits_twice(&notice.text()) => {}
            Part::Context(context) if !composer.fits_twice(&context.name) => {}
            Part::Image(media) | Part::Document(media)
                if !composer.fits(media.data().map_or(0, |data| data.len())) => {}
            Part::Input(input) if input.kind == InputKind::Teammate && !all => {
                team.push((input.clone(), false));
            }
            Part::Input(input) => {
                if is_content(input.kind, is_typed) {
                    composer.text(&input.typed());
                }
                inputs.push(to_wire::input(input));
            }
            Part::Image(media) | Part::Document(media) => composer.image(media),
            Part::Notice(notice) => {
                let text = notice.text().into_owned();
                composer.text(&text);
                inputs.push(to_wire::text_input(wire::InputKind::Notice, text));
            }
            Part::Context(context) => {
                composer.text(&context.name);
                inputs.push(to_wire::text_input(wire::InputKind::Context, context.name.clone()));
            }
            _ => {}
        }
    }
    let mut message = composer.finish()?;
    message.summary = entry.has(Flag::CompactSummary);
    if !message.summary && inputs.iter().any(|input| input.kind != wire::InputKind::Prompt) {
        message.inputs = inputs;
    }
    let team = team.iter().map(|(input, cut)| team_message(input, *cut, message.timestamp.clone())).collect();
    let loaded = LoadedMessage { message: Some(message).filter(|_| is_shown), team };
    Ok(Some(loaded).filter(|loaded| loaded.message.is_some() || !loaded.team.is_empty()))
}

/// Returns what another agent said. If it was cut, its text and its summary are left out.
fn team_message(input: &Input<'_>, cut: bool, timestamp: Option<String>) -> wire::TeamMessage {
    let wire::Input { teammate_id, color, summary, text, .. } = to_wire::input(input);
    wire::TeamMessage {
        teammate_id: teammate_id.unwrap_or_default(),
        color,
        summary: summary.filter(|_| !cut),
        content: text.trim().to_owned(),
        timestamp,
        cut,
        masked: 0,
    }
}

/// Returns whether an input belongs to the content of its message; `is_typed` says whether a person typed some of the message.
fn is_content(kind: InputKind, is_typed: bool) -> bool {
    if is_typed { kind.is_typed() } else { !kind.is_editor_context() }
}

/// Returns whether an entry may be conversation, without reading it. [`Item::visibility`] has the final say.
fn may_be_conversation(session: &Session, node: &Node) -> bool {
    // Of attachments, only queued prompts are conversation, and only these have blocks.
    let has_words = node.kind != Kind::Attachment || !session.blocks(node).is_empty();
    has_words && item::most_visible(node.kind, |flag| node.has(flag)) == Visibility::Conversation
}

/// Returns a message as Claude Code would send it.
fn sent_message(
    reading: &OpenSession<'_>,
    message: model::Message<'_>,
) -> Result<Option<wire::ChatMessage>, Error> {
    let is_result = |part: &model::Part<'_>| match part {
        model::Part::Block(block) => matches!(block.kind, BlockKind::ToolResult(_)),
        model::Part::PlaceholderResult { .. } => true,
        model::Part::BlockWithNewline(_) | model::Part::Wrapped { .. } | model::Part::Placeholder(_) => false,
    };
    if message.parts.iter().all(is_result) {
        return Ok(None);
    }
    let mut composer = Composer::new(reading, to_wire::chat_role(Some(message.role)), message.entries);
    for part in message.parts {
        match part {
            model::Part::Block(block) => composer.sent_block(block)?,
            model::Part::BlockWithNewline(block) => composer.block(block, "\n")?,
            model::Part::Wrapped { blocks, .. } => {
                let length = blocks.iter().map(|block| block.length).sum::<u64>();
                if composer.fits(usize::try_from(length).unwrap_or(usize::MAX)) {
                    composer.text(&reading.to_wire.text_of(blocks)?);
                }
            }
            model::Part::Placeholder(made) => composer.text(made.text()),
            model::Part::PlaceholderResult { .. } => {}
        }
    }
    Ok(Some(composer.finish()?))
}

/// Returns how many bytes an input has as JSON. A prompt stands in the content; anything else stands there and again among the
/// inputs.
fn input_length(input: &Input<'_>) -> usize {
    let copies = if input.kind == InputKind::Prompt { 1 } else { 2 };
    let command = input.command.as_deref().map_or(0, json_length);
    copies * (json_length(&input.text) + command) + json_length(&input.attributes)
}

/// Returns how many bytes a text has as a JSON string.
fn json_length(text: &str) -> usize {
    let escaped = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0..0x20 => 5,
        _ => 0,
    });
    text.len() + escaped.sum::<usize>() + 2
}

/// Builds a message, block by block.
struct Composer<'r, 'a> {
    reading: &'r OpenSession<'a>,
    nodes: &'r [NodeIndex],
    message: wire::ChatMessage,
    /// The calls in the message.
    calls: HashSet<Id>,
    /// The indices of server tool calls among the calls of the message, by their ids.
    server_calls: HashMap<String, usize>,
    /// How many more bytes fit into it.
    left: u64,
}

impl<'r, 'a> Composer<'r, 'a> {
    fn new(reading: &'r OpenSession<'a>, role: ChatRole, nodes: &'r [NodeIndex]) -> Self {
        let message = wire::ChatMessage {
            id: String::new(),
            role,
            content: String::new(),
            thought: None,
            tool_calls: Vec::new(),
            content_blocks: Vec::new(),
            timestamp: None,
            model: None,
            inputs: Vec::new(),
            summary: false,
            cut: false,
            masked: 0,
        };
        Self {
            reading,
            nodes,
            message,
            calls: HashSet::new(),
            server_calls: HashMap::new(),
            left: LONGEST_ITEM,
        }
    }

    /// Returns whether this many more bytes fit into the message, and reserves them. If they do not fit, the message is cut.
    fn fits(&mut self, length: usize) -> bool {
        let left = self.left.checked_sub(length as u64);
        self.message.cut |= left.is_none();
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// Returns whether a text fits that stands in the content and again among the inputs, as JSON spells it.
    fn fits_twice(&mut self, text: &str) -> bool {
        self.fits(2 * json_length(text))
    }

    /// Reads a block, unless it does not fit into the message any more.
    fn read(&mut self, block: &BlockSpan) -> Result<Option<Vec<u8>>, ReadError> {
        if !self.fits(usize::try_from(block.length).unwrap_or(usize::MAX)) {
            return Ok(None);
        }
        Ok(Some(self.reading.snapshot.span(block.offset, block.length)?))
    }

    /// Adds a block as Claude Code sends it.
    fn sent_block(&mut self, block: &BlockSpan) -> Result<(), ReadError> {
        let Some(bytes) = (if is_shown(block.kind) { self.read(block)? } else { None }) else {
            return Ok(());
        };
        self.add(block, block_as_sent(&bytes).as_bytes(), "")
    }

    /// Adds a block, and `suffix` to its text.
    fn block(&mut self, block: &BlockSpan, suffix: &str) -> Result<(), ReadError> {
        let Some(bytes) = (if is_shown(block.kind) { self.read(block)? } else { None }) else {
            return Ok(());
        };
        self.add(block, &bytes, suffix)
    }

    fn add(&mut self, block: &BlockSpan, bytes: &[u8], suffix: &str) -> Result<(), ReadError> {
        let Some(value) = Value::new(bytes) else { return Ok(()) };
        match Block::new(value) {
            Block::Text(text) => self.text(&(text.text() + suffix)),
            Block::Thinking(thinking) => self.thinking(&thinking.thinking().unwrap_or_default()),
            Block::ToolUse(_) => self.call(block, bytes)?,
            Block::ServerToolUse(call) => self.server_call(&call),
            Block::ServerToolResult(result) => self.server_result(&result),
            Block::Image(media) | Block::Document(media) => self.image(&media),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        join(&mut self.message.content, text);
        match self.message.content_blocks.last_mut() {
            Some(ChatBlock::Text { content }) => join(content, text),
            _ => self.message.content_blocks.push(ChatBlock::Text { content: text.to_owned() }),
        }
    }

    fn thinking(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        join(self.message.thought.get_or_insert_default(), text);
        if let Some(ChatBlock::Thought { content, .. }) = self.message.content_blocks.last_mut() {
            return join(content, text);
        }
        let thought = ChatBlock::Thought { content: text.to_owned(), is_complete: true };
        self.message.content_blocks.push(thought);
    }

    fn image(&mut self, media: &Media<'_>) {
        let data = media.data().map(Cow::into_owned);
        let (data, url) =
            if media.source_type().as_deref() == Some("url") { (None, data) } else { (data, None) };
        let mime_type = media.media_type().map(Cow::into_owned);
        self.message.content_blocks.push(ChatBlock::Image { mime_type, data, url });
    }

    /// Adds a call of a tool that runs on the server of the model. Its result follows in the same reply.
    fn server_call(&mut self, call: &ToolUse<'_>) {
        let id = call.id().unwrap_or_default().into_owned();
        // A line that was written twice makes one call.
        if self.server_calls.contains_key(&id) {
            return;
        }
        self.server_calls.insert(id.clone(), self.message.tool_calls.len());
        self.add_call(wire::ChatToolCall {
            id,
            name: call.name().unwrap_or_default().into_owned(),
            input: call.input().filter(|input| input.is_valid()).map(value_as_found),
            result: None,
            error: None,
            status: ChatToolStatus::Pending,
        });
    }

    fn server_result(&mut self, result: &ToolResult<'_>) {
        let index = self.server_calls.get(&*result.tool_use_id().unwrap_or_default());
        let Some(call) = index.map(|&index| &mut self.message.tool_calls[index]) else { return };
        let failed = tool::server_call_failed(result);
        call.status = if failed { ChatToolStatus::Failed } else { ChatToolStatus::Completed };
        call.result = result.content().value().filter(|value| value.is_valid()).map(value_as_found);
    }

    fn add_call(&mut self, call: wire::ChatToolCall) {
        let id = call.id.clone();
        self.message.tool_calls.push(call);
        match self.message.content_blocks.last_mut() {
            Some(ChatBlock::Tools { tool_call_ids }) => tool_call_ids.push(id),
            _ => self.message.content_blocks.push(ChatBlock::Tools { tool_call_ids: vec![id] }),
        }
    }

    fn call(&mut self, block: &BlockSpan, bytes: &[u8]) -> Result<(), ReadError> {
        let (Some(read), Some(id)) = (tool::read(bytes), block.tool) else { return Ok(()) };
        // A line that was written twice makes one call.
        if !self.calls.insert(id) {
            return Ok(());
        }
        let call = self.reading.conversation.call(id);
        let id = self.reading.to_wire.id(id);
        let made = wire::ChatToolCall {
            name: read.name().unwrap_or_default().into_owned(),
            input: read.input().filter(|input| input.is_valid()).map(value_as_found),
            result: None,
            error: None,
            status: ChatToolStatus::Pending,
            id,
        };
        let made = call.map_or(Ok(made.clone()), |call| self.with_result(made, call))?;
        self.add_call(made);
        Ok(())
    }

    /// Adds the result of a call.
    fn with_result(
        &mut self,
        made: wire::ChatToolCall,
        call: &Call,
    ) -> Result<wire::ChatToolCall, ReadError> {
        let status = to_wire::chat_tool_status(self.reading.conversation.state(call)?);
        let made = wire::ChatToolCall { status, ..made };
        let Some((_, block)) = call.result else { return Ok(made) };
        let Some(bytes) = self.read(&block)? else { return Ok(made) };
        let Some(Block::ToolResult(result)) = Value::new(&bytes).map(Block::new) else { return Ok(made) };
        let content = result.content();
        let error = (status == ChatToolStatus::Failed).then(|| content.text().into_owned());
        // A result that is plain text is already the error text; it is not repeated.
        let is_repeated = error.is_some() && content.value().is_some_and(|value| value.as_str().is_some());
        let value = content.value().filter(|value| value.is_valid() && !is_repeated);
        Ok(wire::ChatToolCall { result: value.map(value_as_found), error, ..made })
    }

    /// Returns the message.
    fn finish(mut self) -> Result<wire::ChatMessage, ReadError> {
        let session = self.reading.snapshot.session();
        let message = &mut self.message;
        let is_reply = message.role == ChatRole::Assistant;
        if let Some(&index) = self.nodes.first() {
            let node = &session.nodes()[index];
            let uuid = self.reading.to_wire.uuid(index);
            message.id = uuid.unwrap_or_else(|| format!("line-{}", node.at.line));
            message.timestamp = node.time().and_then(crate::to_wire::time_of_ms);
            if is_reply && node.length <= LONGEST_ITEM {
                let body = self.reading.snapshot.body(node)?;
                let model =
                    Entry::new(&body).view::<Assistant>().and_then(|reply| reply.model().map(String::from));
                message.model = model;
            }
        }
        let has_image = message.content_blocks.iter().any(|block| matches!(block, ChatBlock::Image { .. }));
        if !is_reply && !has_image {
            message.content_blocks.clear();
        }
        Ok(self.message)
    }
}

/// Returns whether messages show blocks of this kind.
fn is_shown(kind: BlockKind) -> bool {
    kind.is_text()
        || matches!(
            kind,
            BlockKind::Thinking
                | BlockKind::ToolUse
                | BlockKind::ServerToolUse
                | BlockKind::ServerToolResult
                | BlockKind::Image
        )
}

fn join(all: &mut String, more: &str) {
    if !all.is_empty() && !all.ends_with('\n') {
        all.push('\n');
    }
    all.push_str(more);
}
