//! A message, composed block by block and bounded in size: its text, its reasoning, its images, and its calls with their results.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use annals_engine::Error as ReadError;
use annals_proto::{self as wire, ChatBlock, ChatRole, ChatToolStatus};
use annals_transcript::Entry;
use annals_transcript::chain::NodeIndex;
use annals_transcript::content::{Block, Media, ToolResult, ToolUse};
use annals_transcript::entry::view::Assistant;
use annals_transcript::json::Value;
use annals_transcript::model::block_as_sent;
use annals_transcript::session::{BlockKind, BlockSpan, Id};
use annals_transcript::tool::{self, Call};

use crate::dispatch::LONGEST_ITEM;
use crate::open_sessions::OpenSession;
use crate::to_wire::{self, value_as_found};

/// Builds a message, block by block.
pub(super) struct Composer<'r, 'a> {
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
    pub(super) fn new(reading: &'r OpenSession<'a>, role: ChatRole, nodes: &'r [NodeIndex]) -> Self {
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
    pub(super) fn fits(&mut self, length: usize) -> bool {
        let left = self.left.checked_sub(length as u64);
        self.message.cut |= left.is_none();
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// Returns whether a text fits that stands in the content and again among the inputs, as JSON spells it.
    pub(super) fn fits_twice(&mut self, text: &str) -> bool {
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
    pub(super) fn sent_block(&mut self, block: &BlockSpan) -> Result<(), ReadError> {
        let Some(bytes) = (if is_shown(block.kind) { self.read(block)? } else { None }) else {
            return Ok(());
        };
        self.add(block, block_as_sent(&bytes).as_bytes(), "")
    }

    /// Adds a block, and `suffix` to its text.
    pub(super) fn block(&mut self, block: &BlockSpan, suffix: &str) -> Result<(), ReadError> {
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

    pub(super) fn text(&mut self, text: &str) {
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

    pub(super) fn image(&mut self, media: &Media<'_>) {
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
    pub(super) fn finish(mut self) -> Result<wire::ChatMessage, ReadError> {
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

/// Returns how many bytes a text has as a JSON string.
pub(super) fn json_length(text: &str) -> usize {
    let escaped = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0..0x20 => 5,
        _ => 0,
    });
    text.len() + escaped.sum::<usize>() + 2
}
