//! Messages as people see them: prompts, and replies with their calls and what came of them.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

use annals_engine::{Conversation, Error as Unread};
use annals_proto::{self as wire, ChatBlock, ErrorCode, View};
use annals_transcript::chain::NodeIndex;
use annals_transcript::content::Block;
use annals_transcript::entry::view::Assistant;
use annals_transcript::history::Step;
use annals_transcript::json::Value;
use annals_transcript::model::{self, Messages, Part};
use annals_transcript::prompt::{self, Input, InputKind};
use annals_transcript::session::{BlockKind, BlockSpan, Id, Node, Session};
use annals_transcript::tool::{self, Call, State};
use annals_transcript::{Entry, Flag, Kind};

use super::page::forward;
use super::{Api, LONGEST_ITEM, limit};
use crate::cancel::Cancelled;
use crate::cursor::PageCursor;
use crate::open_sessions::OpenSession;
use crate::rpc::Error;
use crate::to_wire::{self, value_as_found};

/// How many messages a page has at most.
const MOST_MESSAGES: usize = 10_000;

/// The messages of a session, found when they are asked for.
#[derive(Debug, Default)]
pub(crate) struct Chat<'a> {
    spoken: OnceCell<Spoken>,
    sent: OnceCell<Messages<'a>>,
}

/// What was said in one place: a message, what other agents of a team said, or both.
pub(super) struct Said {
    pub(super) message: Option<wire::ChatMessage>,
    pub(super) team: Vec<wire::TeamMessage>,
}

impl From<wire::ChatMessage> for Said {
    fn from(message: wire::ChatMessage) -> Self {
        Self { message: Some(message), team: Vec::new() }
    }
}

/// Which entries are one message.
#[derive(Debug)]
struct Spoken {
    nodes: Vec<NodeIndex>,
    messages: Vec<Range<usize>>,
}

impl Api {
    pub(super) fn load(
        &self,
        params: &wire::LoadParams,
        cancelled: &Cancelled,
    ) -> Result<wire::LoadResult, Error> {
        let limit = limit(params.limit, MOST_MESSAGES, MOST_MESSAGES)?;
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        let (view, all) = (params.view.unwrap_or_default(), params.all.unwrap_or_default());
        let list = match view {
            View::Full => 'l',
            View::Model => 'm',
        };
        let cursor = params.cursor.as_deref().map(|cursor| PageCursor::read(cursor, list)).transpose()?;
        let start = cursor.as_ref().map_or(0, |cursor| cursor.at);
        let cancelled = cancelled.clone();
        self.with_session(&file, cursor.as_ref(), move |reading| {
            let (page, count) = match view {
                View::Full => {
                    let spoken = reading.chat.spoken(&reading.conversation);
                    let count = spoken.messages.len();
                    let message = |place: usize| spoken.message(reading, place, all);
                    (forward(start, count, limit, &cancelled, message)?, count)
                }
                View::Model => {
                    if let Some(obstacle) = reading.conversation.chain().obstacle() {
                        let message = format!("the client would not resume this session: {obstacle}");
                        return Err(Error::new(ErrorCode::NotResumable, &message));
                    }
                    let sent =
                        reading.chat.sent.get_or_init(|| model::messages(reading.conversation.chain()));
                    let mut messages = sent.iter().skip(start);
                    let next = |_| {
                        let message = messages.next().map(|message| sent_message(reading, message));
                        message.transpose().map(|message| message.flatten().map(Said::from))
                    };
                    (forward(start, sent.len(), limit, &cancelled, next)?, sent.len())
                }
            };
            let next_cursor = (page.end < count).then(|| reading.cursor(list, page.end, false));
            let mut result = wire::LoadResult { next_cursor, ..wire::LoadResult::default() };
            for said in page.things {
                result.messages.extend(said.message);
                result.team_messages.extend(said.team);
            }
            Ok(result)
        })
    }
}

impl Chat<'_> {
    fn spoken(&self, conversation: &Conversation<'_>) -> &Spoken {
        self.spoken.get_or_init(|| Spoken::of(conversation))
    }
}

impl Spoken {
    /// Finds out which entries of the live conversation are one message. A reply goes on through the results of its calls.
    fn of(conversation: &Conversation<'_>) -> Self {
        let session = conversation.snapshot().session();
        let mut spoken = Spoken { nodes: Vec::new(), messages: Vec::new() };
        let mut reply = None;
        for step in conversation.steps() {
            let Step::Entry { node: index, live: true } = *step else { continue };
            let node = &session.nodes()[index];
            if node.has(Flag::Sidechain) || !speaks(session, node) {
                continue;
            }
            let is_same_reply =
                node.kind == Kind::Assistant && node.message_id.is_some() && node.message_id == reply;
            reply = node.message_id.filter(|_| node.kind == Kind::Assistant);
            let end = spoken.nodes.len() + 1;
            spoken.nodes.push(index);
            match spoken.messages.last_mut().filter(|_| is_same_reply) {
                Some(message) => message.end = end,
                None => spoken.messages.push(end - 1..end),
            }
        }
        spoken
    }

    fn message(&self, reading: &OpenSession<'_>, place: usize, all: bool) -> Result<Option<Said>, Error> {
        let nodes = &self.nodes[self.messages[place].clone()];
        let session = reading.snapshot.session();
        let Some(first) = nodes.first().map(|&index| &session.nodes()[index]) else { return Ok(None) };
        let role = if first.kind == Kind::Assistant { "assistant" } else { "user" };
        let mut composer = Composer::new(reading, role, nodes);
        for &index in nodes {
            for block in session.blocks(&session.nodes()[index]) {
                composer.block(block, "")?;
            }
        }
        composer.message.summary = first.has(Flag::CompactSummary);
        let is_whole = !composer.message.summary && !composer.message.cut;
        let Some(message) = composer.finish()? else { return Ok(None) };
        if role == "assistant" || !is_whole {
            return Ok(Some(message.into()));
        }
        Ok(came_in(message, &Entry::new(&reading.snapshot.body(first)?), all))
    }
}

/// Tells a prompt as it was typed, and what the client has put around it or in its place for what it is; none if nobody
/// wants to see it.
fn came_in(message: wire::ChatMessage, entry: &Entry<'_>, all: bool) -> Option<Said> {
    let inputs = prompt::inputs_besides_results(entry);
    if inputs.iter().all(|input| input.kind == InputKind::Prompt) {
        return Some(message.into());
    }
    let (team, mut inputs): (Vec<_>, Vec<_>) =
        inputs.into_iter().partition(|input| input.kind == InputKind::Teammate && !all);
    inputs.retain(|input| all || !matches!(input.kind, InputKind::Injected | InputKind::Output));
    let team: Vec<_> = team.iter().map(|input| team_message(input, message.timestamp.clone())).collect();
    if inputs.is_empty() {
        return Some(Said { message: None, team }).filter(|said| !said.team.is_empty());
    }
    let content: Vec<_> = inputs.iter().map(Input::typed).collect();
    let content = content.join("\n");
    let inputs = inputs.iter().map(to_wire::came_in).collect();
    Some(Said { message: Some(wire::ChatMessage { content, inputs, ..message }), team })
}

fn team_message(input: &Input<'_>, timestamp: Option<String>) -> wire::TeamMessage {
    let wire::CameIn { teammate_id, color, summary, text, .. } = to_wire::came_in(input);
    let content = text.trim().to_owned();
    wire::TeamMessage { teammate_id: teammate_id.unwrap_or_default(), color, summary, content, timestamp }
}

/// Returns whether an entry says something to people: results stand with their calls.
fn speaks(session: &Session, node: &Node) -> bool {
    let blocks = session.blocks(node);
    let is_result = |block: &BlockSpan| matches!(block.kind, BlockKind::ToolResult(_));
    match node.kind {
        Kind::Assistant => !blocks.is_empty(),
        Kind::User | Kind::Attachment => !node.has(Flag::Meta) && !blocks.iter().all(is_result),
        _ => false,
    }
}

/// A message as the client would send it.
fn sent_message(
    reading: &OpenSession<'_>,
    message: model::Message<'_>,
) -> Result<Option<wire::ChatMessage>, Error> {
    let is_result = |part: &Part<'_>| match part {
        Part::Found(block) => matches!(block.kind, BlockKind::ToolResult(_)),
        Part::MadeResult { .. } => true,
        Part::Joined(_) | Part::Wrapped { .. } | Part::MadeText(_) => false,
    };
    if message.parts.iter().all(is_result) {
        return Ok(None);
    }
    let mut composer = Composer::new(reading, message.role.name(), message.entries);
    for part in message.parts {
        match part {
            Part::Found(block) => composer.block(block, "")?,
            Part::Joined(block) => composer.block(block, "\n")?,
            Part::Wrapped { blocks, .. } => composer.text(&reading.to_wire.text_of(blocks)?),
            Part::MadeText(made) => composer.text(made.text()),
            Part::MadeResult { .. } => {}
        }
    }
    Ok(composer.finish()?)
}

/// Puts a message together, block by block.
struct Composer<'r, 'a> {
    reading: &'r OpenSession<'a>,
    nodes: &'r [NodeIndex],
    message: wire::ChatMessage,
    /// The calls in the message.
    calls: HashSet<Id>,
    /// How many bytes it may still take.
    left: u64,
}

impl<'r, 'a> Composer<'r, 'a> {
    fn new(reading: &'r OpenSession<'a>, role: &str, nodes: &'r [NodeIndex]) -> Self {
        let message = wire::ChatMessage { role: role.to_owned(), ..wire::ChatMessage::default() };
        Self { reading, nodes, message, calls: HashSet::new(), left: LONGEST_ITEM }
    }

    /// Reads a block, unless the message is too long by now.
    fn read(&mut self, block: &BlockSpan) -> Result<Option<Vec<u8>>, Unread> {
        let Some(left) = self.left.checked_sub(block.length) else {
            self.message.cut = true;
            return Ok(None);
        };
        self.left = left;
        Ok(Some(self.reading.snapshot.span(block.offset, block.length)?))
    }

    /// Adds a block, and to its text something behind it.
    fn block(&mut self, block: &BlockSpan, behind: &str) -> Result<(), Unread> {
        let is_wanted =
            block.kind.is_text() || matches!(block.kind, BlockKind::Thinking | BlockKind::ToolUse);
        let Some(bytes) = (if is_wanted { self.read(block)? } else { None }) else { return Ok(()) };
        let Some(value) = Value::new(&bytes) else { return Ok(()) };
        match Block::new(value) {
            Block::Text(text) => self.text(&(text.text() + behind)),
            Block::Thinking(thinking) => self.thinking(&thinking.thinking().unwrap_or_default()),
            Block::ToolUse(_) => self.call(block, &bytes)?,
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

    fn call(&mut self, block: &BlockSpan, bytes: &[u8]) -> Result<(), Unread> {
        let (Some(read), Some(id)) = (tool::read(bytes), block.tool) else { return Ok(()) };
        // A line that is written again makes no other call.
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
            status: "pending".to_owned(),
            id: id.clone(),
        };
        let made = call.map_or(Ok(made.clone()), |call| self.ended(made, call))?;
        self.message.tool_calls.push(made);
        match self.message.content_blocks.last_mut() {
            Some(ChatBlock::Tools { tool_call_ids }) => tool_call_ids.push(id),
            _ => self.message.content_blocks.push(ChatBlock::Tools { tool_call_ids: vec![id] }),
        }
        Ok(())
    }

    /// Says what came of a call.
    fn ended(&mut self, made: wire::ChatToolCall, call: &Call) -> Result<wire::ChatToolCall, Unread> {
        let state = self.reading.conversation.state(call)?;
        let status = match state {
            State::Ok => "completed",
            State::Error | State::Denied | State::Interrupted => "failed",
            State::Pending => "pending",
        };
        let made = wire::ChatToolCall { status: status.to_owned(), ..made };
        let Some((_, block)) = call.result else { return Ok(made) };
        let Some(bytes) = self.read(&block)? else { return Ok(made) };
        let Some(Block::ToolResult(result)) = Value::new(&bytes).map(Block::new) else { return Ok(made) };
        let content = result.content();
        let error = (status == "failed").then(|| content.text().into_owned());
        // What failed says why in words; they are not said twice.
        let is_said = error.is_some() && content.value().is_some_and(|value| value.as_str().is_some());
        let value = content.value().filter(|value| value.is_valid() && !is_said);
        Ok(wire::ChatToolCall { result: value.map(value_as_found), error, ..made })
    }

    /// Returns the message, if anything is in it.
    fn finish(mut self) -> Result<Option<wire::ChatMessage>, Unread> {
        let session = self.reading.snapshot.session();
        let message = &mut self.message;
        let is_reply = message.role == "assistant";
        if is_reply && !message.cut && message.content_blocks.is_empty() {
            return Ok(None);
        }
        if let Some(&index) = self.nodes.first() {
            let node = &session.nodes()[index];
            let uuid = self.reading.to_wire.uuid(index);
            message.id = uuid.unwrap_or_else(|| format!("line-{}", node.at.line));
            message.timestamp = node.time.and_then(crate::to_wire::time_of_ms);
            if is_reply && node.length <= LONGEST_ITEM {
                let body = self.reading.snapshot.body(node)?;
                let model =
                    Entry::new(&body).view::<Assistant>().and_then(|reply| reply.model().map(String::from));
                message.model = model;
            }
        }
        if !is_reply {
            message.content_blocks.clear();
        }
        Ok(Some(self.message))
    }
}

fn join(all: &mut String, more: &str) {
    if !all.is_empty() && !all.ends_with('\n') {
        all.push('\n');
    }
    all.push_str(more);
}
