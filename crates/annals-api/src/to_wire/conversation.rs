//! Messages, history items, turns and calls.

use std::borrow::Cow;

use annals_engine::{Conversation, Error, Snapshot, TranscriptFile, call_error};
use annals_proto::{self as wire, ItemBody};
use annals_transcript::chain::NodeIndex;
use annals_transcript::content::Content;
use annals_transcript::entry::view::{Assistant, Attachment, System, SystemKind};
use annals_transcript::full_view::{Cause, Step};
use annals_transcript::item::Item;
use annals_transcript::json::{Value, quote};
use annals_transcript::model::{Message, Part, block_as_sent, text_with_newline};
use annals_transcript::prompt::{Input, InputKind};
use annals_transcript::session::{BlockKind, BlockSpan, Id, IdTexts, Node, Session};
use annals_transcript::tool::{self, Call};
use annals_transcript::turn::{Tokens, Turn, prompt_of};
use annals_transcript::{Entry, Flag, Kind};
use serde_json::value::RawValue;

use super::{record, time_of_ms, utf8, word};
use crate::mask::Masking;

/// Converts the entries, turns and calls of one transcript to wire types.
#[derive(Debug)]
pub struct ToWire<'a> {
    file: &'a TranscriptFile,
    session: &'a Session,
    bodies: Bodies<'a>,
    ids: IdTexts<'a>,
    /// Longer items are cut.
    longest: u64,
    /// Whether entries have the numbers of their turns.
    has_turns: bool,
}

/// Where the bytes of entries are.
#[derive(Debug)]
enum Bodies<'a> {
    OnDisk(&'a Snapshot),
    InMemory(&'a [u8]),
}

/// How much of a part that is too long is sent.
const BEGINNING: u64 = 2048;

impl<'a> ToWire<'a> {
    /// Converts a whole transcript.
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let (file, session) = (snapshot.file(), snapshot.session());
        Self::new(file, session, Bodies::OnDisk(snapshot))
    }

    /// Converts some lines of a transcript that are in memory.
    pub fn of_lines(file: &'a TranscriptFile, session: &'a Session, lines: &'a [u8]) -> Self {
        Self::new(file, session, Bodies::InMemory(lines))
    }

    fn new(file: &'a TranscriptFile, session: &'a Session, bodies: Bodies<'a>) -> Self {
        Self { file, session, bodies, ids: session.id_texts(), longest: u64::MAX, has_turns: true }
    }

    /// Cuts the parts of an item that exceed this many bytes together.
    #[must_use]
    pub fn cut_above(self, longest: u64) -> Self {
        Self { longest, ..self }
    }

    /// Leaves out the numbers of turns, for a subagent that is shown with its session.
    #[must_use]
    pub fn without_turns(self) -> Self {
        Self { has_turns: false, ..self }
    }

    /// Reads some bytes of the transcript.
    pub(crate) fn span(&self, offset: u64, length: u64) -> Result<Cow<'a, [u8]>, Error> {
        match self.bodies {
            Bodies::OnDisk(snapshot) => snapshot.span(offset, length).map(Cow::Owned),
            Bodies::InMemory(lines) => {
                let start = index_of(offset).min(lines.len());
                let end = index_of(offset.saturating_add(length)).min(lines.len());
                Ok(Cow::Borrowed(&lines[start..end]))
            }
        }
    }

    /// Returns a message of the model view.
    pub fn message(&self, message: Message<'_>) -> Result<wire::ModelMessage, Error> {
        let parts = message.parts.iter().map(|part| self.part(part)).collect::<Result<_, _>>()?;
        let entries = message.entries.iter().filter_map(|&index| self.uuid(index)).collect();
        Ok(wire::ModelMessage { role: word::role(message.role), parts, entries })
    }

    fn part(&self, part: &Part<'_>) -> Result<Box<RawValue>, Error> {
        match part {
            Part::Block(block) => Ok(raw(&block_as_sent(&self.span(block.offset, block.length)?))),
            Part::BlockWithNewline(block) => {
                Ok(raw(&text_with_newline(&self.span(block.offset, block.length)?)))
            }
            Part::Wrapped { blocks, wrapper } => {
                let text = quote(&self.text_of(blocks)?);
                Ok(raw(&format!(r#"{{"type":"text","text":{text},"wrapped":{}}}"#, quote(wrapper.name()))))
            }
            Part::Placeholder(made) => {
                Ok(raw(&format!(r#"{{"type":"text","text":{},"synthetic":true}}"#, quote(made.text()))))
            }
            Part::PlaceholderResult { call, text } => {
                let id = call.tool.map_or_else(String::new, |id| self.ids.get(id));
                let (id, text) = (quote(&id), quote(text.text()));
                Ok(raw(&format!(
                    r#"{{"type":"tool_result","tool_use_id":{id},"content":{text},"is_error":true,"synthetic":true}}"#
                )))
            }
        }
    }

    /// Returns the texts of an entry, joined by line breaks.
    pub(crate) fn text_of(&self, blocks: &[BlockSpan]) -> Result<String, Error> {
        let mut texts = Vec::new();
        for block in blocks.iter().filter(|block| block.kind.is_text()) {
            let bytes = self.span(block.offset, block.length)?;
            texts.push(Content::new(Value::new(&bytes)).text().into_owned());
        }
        Ok(texts.join("\n"))
    }

    /// Returns a step of the full view.
    pub fn item(&self, conversation: &Conversation<'_>, step: &Step) -> Result<wire::HistoryItem, Error> {
        match *step {
            Step::Entry { node, live } => self.entry_in(conversation, node, live),
            Step::Branch { cause, from, entries, last } => Ok(wire::HistoryItem {
                parent: from.and_then(|from| self.uuid(from.index())),
                sidechain: cause == Cause::Subagent || self.agent().is_some(),
                ..self.marker(
                    ItemBody::Branch(wire::Branch {
                        leaf: self.uuid(last as usize),
                        entries: entries as usize,
                    }),
                    false,
                )
            }),
            Step::Gap { missing } => Ok(wire::HistoryItem {
                parent: Some(self.ids.get(missing)),
                ..self.marker(ItemBody::Gap, false)
            }),
            Step::Root { kind, live } => Ok(self.marker(ItemBody::Root(word::root_cause(kind)), live)),
        }
    }

    /// Returns an item that stands for no entry.
    fn marker(&self, body: ItemBody, live: bool) -> wire::HistoryItem {
        wire::HistoryItem {
            visibility: wire::Visibility::Conversation,
            parent: None,
            live: Some(live),
            sidechain: self.agent().is_some(),
            agent_id: self.agent(),
            masked: 0,
            body,
        }
    }

    /// Returns an entry with what the whole conversation says about it.
    fn entry_in(
        &self,
        conversation: &Conversation<'_>,
        index: NodeIndex,
        live: bool,
    ) -> Result<wire::HistoryItem, Error> {
        let node = self.node(index);
        let bytes = self.span(node.at.offset, node.length)?;
        let entry = Entry::new(&bytes);
        let item = Item::of(&entry);
        let call = conversation.call_of(index);
        let other_lines = conversation.duplicates().others(index);
        let mut left = self.longest;
        let record = if has_record_part(node) { self.record_in(conversation, index, &entry)? } else { None };
        let body = self.entry_body(node, &entry, &item, record, &mut left);
        let body = wire::EntryBody {
            turn: conversation.turn_of(index).filter(|_| self.has_turns),
            tool: call.map(|call| self.tool(conversation, call, index, &entry)).transpose()?,
            line: Some(node.at.line),
            other_lines: other_lines.map(|line| self.node(line).at.line).collect(),
            superseded: self.superseded(conversation, index, &mut left)?,
            ..body
        };
        Ok(wire::HistoryItem { live: Some(live), ..self.entry_item(node, &entry, &item, body) })
    }

    /// Returns an entry by itself: what needs the whole conversation is `None`, and its call has no result yet.
    pub fn entry_alone(&self, index: NodeIndex) -> Result<wire::HistoryItem, Error> {
        let node = self.node(index);
        let bytes = self.span(node.at.offset, node.length)?;
        let entry = Entry::new(&bytes);
        let item = Item::of(&entry);
        let tool = self.pending_tool(node)?;
        let record = if has_record_part(node) { record::part(&entry) } else { None };
        let body = self.entry_body(node, &entry, &item, record, &mut { self.longest });
        let body = wire::EntryBody { tool, ..body };
        Ok(self.entry_item(node, &entry, &item, body))
    }

    /// Returns the first call that an entry makes, without its result.
    fn pending_tool(&self, node: &Node) -> Result<Option<wire::HistoryTool>, Error> {
        let mut blocks = self.session.blocks(node).iter();
        let call = blocks.find(|block| block.kind == BlockKind::ToolUse && block.tool.is_some());
        let Some(block) = call else { return Ok(None) };
        Ok(Some(wire::HistoryTool {
            id: block.tool.map(|id| self.ids.get(id)),
            name: tool_name(&self.span(block.offset, block.length)?),
            state: wire::ToolState::Pending,
            result_uuid: None,
        }))
    }

    /// Puts an item together from an entry and its body.
    fn entry_item(
        &self,
        node: &Node,
        entry: &Entry<'_>,
        item: &Item<'_>,
        body: wire::EntryBody,
    ) -> wire::HistoryItem {
        wire::HistoryItem {
            visibility: word::visibility(item.visibility()),
            parent: node.parent.map(|id| self.ids.get(id)),
            live: None,
            sidechain: entry.has(Flag::Sidechain),
            agent_id: entry.head().agent.map(|agent| agent.decode().into_owned()).or_else(|| self.agent()),
            masked: 0,
            body: self.kind_of(node)(body),
        }
    }

    /// Returns what an entry says by itself; `left` is how many bytes of its content are still sent.
    fn entry_body(
        &self,
        node: &Node,
        entry: &Entry<'_>,
        item: &Item<'_>,
        record: Option<wire::RecordPart>,
        left: &mut u64,
    ) -> wire::EntryBody {
        let reply = entry.view::<Assistant>();
        let message = reply.map(|reply| reply.message_fields()).unwrap_or_default();
        let has_inputs = node.length <= self.longest && !entry.has(Flag::Meta);
        let stops_at_sequence = message.stop_reason.as_deref() == Some("stop_sequence");
        wire::EntryBody {
            role: item.role.map(word::role),
            entry_type: entry.head().type_name.map(|name| name.decode().into_owned()),
            subtype: entry.head().subtype.map(|name| name.decode().into_owned()),
            uuid: node.id.map(|id| self.ids.get(id)),
            timestamp: node.time().and_then(time_of_ms).or_else(|| record::time_in_payload(entry)),
            turn: None,
            parts: match record {
                Some(part) => vec![record_part(&part, entry, left)],
                None => self.parts(node, entry, left),
            },
            inputs: if has_inputs { inputs(item) } else { Vec::new() },
            tool: None,
            usage: message.usage.map(|usage| value_as_found(usage.value())),
            model: message.model.map(Cow::into_owned),
            forked_from: fork_origin(entry),
            compaction: compaction(entry),
            problem: node.problem.map(|problem| problem.to_string()),
            line: None,
            other_lines: Vec::new(),
            superseded: Vec::new(),
            stop_reason: message.stop_reason.map(Cow::into_owned),
            stop_sequence: message.stop_sequence.filter(|_| stops_at_sequence).map(Cow::into_owned),
            request_id: reply.and(entry.head().request).map(|id| id.decode().into_owned()),
            slug: if mentions(entry, "slug") { entry.slug().map(Cow::into_owned) } else { None },
            level: entry.view::<System>().and_then(|system| system.level()).map(Cow::into_owned),
            is_meta: entry.has(Flag::Meta),
            attribution: reply.filter(|_| mentions(entry, "attribution")).and_then(attribution),
        }
    }

    /// Returns the kind of item that an entry is.
    fn kind_of(&self, node: &Node) -> fn(wire::EntryBody) -> ItemBody {
        match (node.kind, node.problem) {
            (Kind::Noise, _) => ItemBody::Damage,
            (_, Some(_)) => ItemBody::Salvaged,
            _ if self.session.boundary(node).is_some() => ItemBody::Compaction,
            (Kind::User | Kind::Assistant, _) if !node.has(Flag::Meta) => ItemBody::Message,
            (Kind::Attachment, _) if !self.session.blocks(node).is_empty() => ItemBody::Message,
            _ => ItemBody::Meta,
        }
    }

    /// Returns the lines of an entry whose content differs from the item, each content once.
    fn superseded(
        &self,
        conversation: &Conversation<'_>,
        node: NodeIndex,
        left: &mut u64,
    ) -> Result<Vec<wire::SupersededLine>, Error> {
        let mut different = Vec::new();
        for line in conversation.differing_lines(node)? {
            let node = self.node(line);
            let body = self.span(node.at.offset, node.length)?;
            let entry = Entry::new(&body);
            different.push(wire::SupersededLine {
                line: node.at.line,
                entry_type: entry.head().type_name.map(|name| name.decode().into_owned()),
                timestamp: node.time().and_then(time_of_ms),
                parts: self.parts(node, &entry, left),
            });
        }
        Ok(different)
    }

    /// Returns the content of an entry: blocks of messages, the text of notices, the payload of attachments.
    fn parts(&self, node: &Node, entry: &Entry<'_>, left: &mut u64) -> Vec<Box<RawValue>> {
        let blocks = self.session.blocks(node);
        if !blocks.is_empty() {
            return blocks.iter().map(|block| block_part(block, entry, node, left)).collect();
        }
        let value = match entry.kind() {
            Kind::System => entry.body().and_then(|body| body.get("content")),
            Kind::Attachment => entry.view::<Attachment>().and_then(|attachment| attachment.payload()),
            _ => None,
        };
        let value = value.filter(|value| value.is_valid() && value.bytes().len() as u64 <= self.longest);
        value.map(|value| block_as_found(value.bytes())).into_iter().collect()
    }

    /// Returns the call of an entry. If several entries repeat it, it is that of the first one.
    fn tool(
        &self,
        conversation: &Conversation<'_>,
        call: &Call,
        index: NodeIndex,
        entry: &Entry<'_>,
    ) -> Result<wire::HistoryTool, Error> {
        let block = if call.node == index {
            Cow::Borrowed(block_bytes(entry, self.node(index), &call.block, call.block.length))
        } else {
            self.span(call.block.offset, call.block.length)?
        };
        Ok(wire::HistoryTool {
            id: call.block.tool.map(|id| self.ids.get(id)),
            name: tool_name(&block),
            state: word::tool_state(conversation.state(call)?),
            result_uuid: call.result.and_then(|(index, _)| self.uuid(index)),
        })
    }

    /// Returns a tool call. Its arguments are masked before the subject is taken from them, because the name of an
    /// argument may tell that it is secret.
    pub fn call(
        &self,
        conversation: &Conversation<'_>,
        call: &Call,
        masking: Option<&Masking>,
    ) -> Result<wire::ToolCall, Error> {
        let node = self.node(call.node);
        let block = self.span(call.block.offset, call.block.length)?;
        let (block, masked) = masking.map_or((Cow::Borrowed(&*block), 0), |masking| masking.entry(&block));
        let read = tool::read(&block);
        let file = self.file;
        Ok(wire::ToolCall {
            session: file.session.clone(),
            agent_id: file.agent.clone(),
            id: call.block.tool.map(|id| self.ids.get(id)),
            name: read.and_then(|call| call.name()).map(Cow::into_owned),
            subject: read.as_ref().map(tool::subject).unwrap_or_default(),
            state: word::tool_state(conversation.state(call)?),
            error: call_error(conversation, call)?.map(|(_, line)| line).filter(|line| !line.is_empty()),
            duration_ms: call.duration_ms(self.session),
            files: read.as_ref().map(tool::files).unwrap_or_default(),
            timestamp: node.time().and_then(time_of_ms),
            uuid: self.uuid(call.node),
            result_uuid: call.result.and_then(|(index, _)| self.uuid(index)),
            line: node.at.line,
            input: read
                .and_then(|call| call.input())
                .filter(|input| input.is_valid())
                .map(|input| self.input(input)),
            masked,
        })
    }

    /// Returns the arguments of a call, cut if they are too long to be sent.
    fn input(&self, input: Value<'_>) -> Box<RawValue> {
        let length = input.bytes().len() as u64;
        if length <= self.longest { value_as_found(input) } else { cut_value("input", input.bytes(), length) }
    }

    /// Returns a turn, with its whole prompt.
    pub fn turn(&self, turn: &Turn) -> Result<wire::Turn, Error> {
        let mut wire = wire::Turn { uuid: self.uuid(turn.node), ..wire_turn(turn) };
        if turn.prompt_is_cut {
            let node = self.node(turn.node);
            let body = self.span(node.at.offset, node.length)?;
            wire.prompt = prompt_of(&Entry::new(&body)).unwrap_or(wire.prompt);
        }
        Ok(wire)
    }

    /// Returns the ids of the calls that an entry makes.
    pub fn calls(&self, index: NodeIndex) -> Vec<String> {
        let blocks = self.session.blocks(self.node(index)).iter();
        let calls = blocks.filter(|block| block.kind == BlockKind::ToolUse).filter_map(|block| block.tool);
        calls.map(|id| self.ids.get(id)).collect()
    }

    /// Returns the subagent that the transcript belongs to.
    fn agent(&self) -> Option<String> {
        self.file.agent.clone()
    }

    /// Returns the text of an id.
    pub fn id(&self, id: Id) -> String {
        self.ids.get(id)
    }

    /// Returns the node of an entry.
    pub fn node(&self, index: NodeIndex) -> &'a Node {
        &self.session.nodes()[index]
    }

    /// Returns the uuid of an entry.
    pub fn uuid(&self, index: NodeIndex) -> Option<String> {
        self.node(index).id.map(|id| self.ids.get(id))
    }
}

/// Returns an offset as an index. One that is too large for this system becomes the largest index, which is in no text.
fn index_of(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// Returns a block of an entry, cut if it is longer than what is `left` to be sent.
fn block_part(block: &BlockSpan, entry: &Entry<'_>, node: &Node, left: &mut u64) -> Box<RawValue> {
    match left.checked_sub(block.length) {
        Some(rest) => {
            *left = rest;
            block_as_found(block_bytes(entry, node, block, block.length))
        }
        None => cut_value(
            block.kind.name(),
            block_bytes(entry, node, block, block.length.min(BEGINNING)),
            block.length,
        ),
    }
}

/// Returns the first bytes of a block of an entry.
fn block_bytes<'a>(entry: &Entry<'a>, node: &Node, block: &BlockSpan, length: u64) -> &'a [u8] {
    let start = index_of(block.offset.saturating_sub(node.at.offset));
    entry.bytes().get(start..start.saturating_add(index_of(length))).unwrap_or_default()
}

/// Returns whether an entry is a record whose payload may be a part. Damaged ones have none.
fn has_record_part(node: &Node) -> bool {
    !node.kind.is_message() && node.problem.is_none()
}

/// Returns the payload of a record as a part, cut if the record is too long to be sent.
fn record_part(part: &wire::RecordPart, entry: &Entry<'_>, left: &mut u64) -> Box<RawValue> {
    let length = entry.bytes().len() as u64;
    match left.checked_sub(length) {
        Some(rest) => {
            *left = rest;
            serde_json::value::to_raw_value(part).expect("a part of text and numbers is JSON")
        }
        None => cut_value("record", entry.bytes(), length),
    }
}

/// Returns a placeholder for a value that is too long to be sent.
fn cut_value(of: &str, value: &[u8], bytes: u64) -> Box<RawValue> {
    let end = value.len().min(usize::try_from(BEGINNING).unwrap_or(usize::MAX));
    let beginning = quote(&String::from_utf8_lossy(&value[..end]));
    raw(&format!(r#"{{"type":"cut","of":"{of}","bytes":{bytes},"beginning":{beginning}}}"#))
}

/// Returns whether a text stands anywhere in an entry. This is faster than to look for a field that few entries have.
fn mentions(entry: &Entry<'_>, text: &str) -> bool {
    memchr::memmem::find(entry.bytes(), text.as_bytes()).is_some()
}

/// Returns who a reply is charged to.
fn attribution(reply: Assistant<'_>) -> Option<wire::Attribution> {
    let attribution = wire::Attribution {
        skill: reply.attribution_skill().map(Cow::into_owned),
        agent: reply.attribution_agent().map(Cow::into_owned),
        plugin: reply.attribution_plugin().map(Cow::into_owned),
        mcp_server: reply.attribution_mcp_server().map(Cow::into_owned),
        mcp_tool: reply.attribution_mcp_tool().map(Cow::into_owned),
    };
    Some(attribution).filter(|attribution| *attribution != wire::Attribution::default())
}

fn tool_name(block: &[u8]) -> Option<String> {
    tool::read(block).and_then(|call| call.name()).map(Cow::into_owned)
}

fn wire_turn(turn: &Turn) -> wire::Turn {
    wire::Turn {
        turn: turn.number,
        uuid: None,
        kind: word::turn_kind(turn.kind),
        started_by: word::started_by(turn.started_by),
        prompt: turn.prompt.clone(),
        started_at: turn.started_at.and_then(time_of_ms),
        duration_ms: turn.duration_ms(),
        messages: turn.messages,
        tool_calls: turn.tool_calls,
        errors: turn.errors,
        usage: tokens(turn.usage),
        compacted: turn.compacted,
        resumed_after_ms: turn.resumed_after_ms,
        sessions: Vec::new(),
        masked: 0,
    }
}

/// Returns numbers of tokens.
pub(super) fn tokens(tokens: Tokens) -> wire::Tokens {
    wire::Tokens {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cache_creation_tokens: tokens.cache_creation,
        cache_read_tokens: tokens.cache_read,
    }
}

/// Returns the inputs of an entry, unless a person typed all of it.
fn inputs(item: &Item<'_>) -> Vec<wire::Input> {
    if item.inputs().all(|input| input.kind == InputKind::Prompt) {
        return Vec::new();
    }
    item.inputs().map(input).collect()
}

/// Returns one input.
pub(crate) fn input(input: &Input<'_>) -> wire::Input {
    let mut wire = wire::Input {
        command: input.command.clone(),
        ..text_input(word::input_kind(input.kind), input.text.to_string())
    };
    if input.kind == InputKind::Teammate {
        wire.teammate_id = input.sender().map(str::to_owned);
        wire.color = input.attribute("color").map(str::to_owned);
        wire.summary = input.attribute("summary").map(str::to_owned);
    }
    wire
}

/// Returns an input that has nothing but a text.
pub(crate) fn text_input(kind: wire::InputKind, text: String) -> wire::Input {
    wire::Input { kind, text, command: None, teammate_id: None, color: None, summary: None }
}

fn fork_origin(entry: &Entry<'_>) -> Option<wire::ForkOrigin> {
    if !mentions(entry, "forkedFrom") {
        return None;
    }
    let from = entry.body()?.get("forkedFrom")?;
    let (session_id, message_uuid) =
        (from.text("sessionId")?.into_owned(), from.text("messageUuid")?.into_owned());
    Some(wire::ForkOrigin { session_id, message_uuid })
}

fn compaction(entry: &Entry<'_>) -> Option<wire::Compaction> {
    let SystemKind::CompactBoundary(boundary) = entry.view::<System>()?.kind() else { return None };
    Some(wire::Compaction {
        trigger: boundary.trigger().map(Cow::into_owned),
        pre_tokens: boundary.pre_tokens(),
        post_tokens: boundary.post_tokens(),
        preserved: boundary.preserved_messages().map_or(0, |messages| messages.ids().len()),
    })
}

/// Returns a block with every byte that is in the file.
pub(crate) fn block_as_found(bytes: &[u8]) -> Box<RawValue> {
    block(bytes, &utf8::as_text(bytes))
}

/// Returns a block as it is; a plain string becomes a text block, as in the API.
fn block(found: &[u8], json: &str) -> Box<RawValue> {
    if found.starts_with(b"\"") { raw(&format!(r#"{{"type":"text","text":{json}}}"#)) } else { raw(json) }
}

/// Returns JSON as it is. Blocks with broken syntax are quoted as text.
fn raw(json: &str) -> Box<RawValue> {
    let found = RawValue::from_string(json.to_owned());
    found.or_else(|_| RawValue::from_string(quote(json))).expect("a string is JSON")
}

/// Returns a value with every byte that is in the file.
pub fn value_as_found(value: Value<'_>) -> Box<RawValue> {
    raw(&utf8::as_text(value.bytes()))
}
