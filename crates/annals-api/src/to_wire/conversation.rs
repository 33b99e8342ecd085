//! Messages, history items, turns and calls.

use std::borrow::Cow;

use annals_engine::{Conversation, Error, Snapshot, TranscriptFile};
use annals_proto as wire;
use annals_transcript::chain::NodeIndex;
use annals_transcript::content::Content;
use annals_transcript::entry::view::{Assistant, Attachment, System, SystemKind};
use annals_transcript::history::{Cause, Step};
use annals_transcript::item::{Item, Visibility};
use annals_transcript::json::{Value, quote};
use annals_transcript::model::{Message, Part, block_as_sent, text_with_newline};
use annals_transcript::prompt::{Input, InputKind};
use annals_transcript::session::{BlockKind, BlockSpan, Id, IdTexts, Node, Session};
use annals_transcript::tool::{self, Call, State};
use annals_transcript::turn::{Turn, prompt_of};
use annals_transcript::{Entry, Flag, Kind};
use serde_json::value::RawValue;

use super::{time_of_ms, utf8};

/// Turns what is found in one transcript into wire types.
#[derive(Debug)]
pub struct ToWire<'a> {
    file: &'a TranscriptFile,
    session: &'a Session,
    bodies: Bodies<'a>,
    ids: IdTexts<'a>,
    /// Longer items are cut.
    longest: u64,
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
    /// Takes a whole transcript.
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let (file, session) = (snapshot.file(), snapshot.session());
        Self { file, session, bodies: Bodies::OnDisk(snapshot), ids: session.id_texts(), longest: u64::MAX }
    }

    /// Takes some lines of a transcript, and what was read from them.
    pub fn of_lines(file: &'a TranscriptFile, session: &'a Session, lines: &'a [u8]) -> Self {
        Self { file, session, bodies: Bodies::InMemory(lines), ids: session.id_texts(), longest: u64::MAX }
    }

    /// Cuts parts of items once an item has so many bytes.
    #[must_use]
    pub fn cut_above(self, longest: u64) -> Self {
        Self { longest, ..self }
    }

    /// Reads some bytes of the transcript.
    pub(crate) fn span(&self, offset: u64, length: u64) -> Result<Cow<'a, [u8]>, Error> {
        match self.bodies {
            Bodies::OnDisk(snapshot) => snapshot.span(offset, length).map(Cow::Owned),
            Bodies::InMemory(lines) => {
                let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(lines.len());
                Ok(Cow::Borrowed(&lines[at(offset)..at(offset.saturating_add(length))]))
            }
        }
    }

    /// A message of the model view.
    pub fn message(&self, message: Message<'_>) -> Result<wire::ModelMessage, Error> {
        let parts = message.parts.iter().map(|part| self.part(part)).collect::<Result<_, _>>()?;
        let entries = message.entries.iter().filter_map(|&index| self.uuid(index)).collect();
        Ok(wire::ModelMessage { role: message.role.name().to_owned(), parts, entries })
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

    /// The texts of an entry, a line each.
    pub(crate) fn text_of(&self, blocks: &[BlockSpan]) -> Result<String, Error> {
        let mut texts = Vec::new();
        for block in blocks.iter().filter(|block| block.kind.is_text()) {
            let bytes = self.span(block.offset, block.length)?;
            texts.push(Content::new(Value::new(&bytes)).text().into_owned());
        }
        Ok(texts.join("\n"))
    }

    /// A step of the full view.
    pub fn item(&self, conversation: &Conversation<'_>, step: &Step) -> Result<wire::HistoryItem, Error> {
        match *step {
            Step::Entry { node, live } => {
                let call = conversation.call_of(node);
                let other_lines = conversation.duplicates().others(node);
                let mut left = self.longest;
                let item = self.entry(node, &mut left)?;
                Ok(wire::HistoryItem {
                    turn: conversation.turn_of(node),
                    live: Some(live),
                    tool: call.map(|call| self.tool(conversation, call)).transpose()?,
                    line: Some(self.node(node).at.line),
                    other_lines: other_lines.map(|line| self.node(line).at.line).collect(),
                    superseded: self.superseded(conversation, node, &mut left)?,
                    ..item
                })
            }
            Step::Branch { cause, from, entries, last } => Ok(wire::HistoryItem {
                leaf: self.uuid(last),
                kind: "branch".to_owned(),
                visibility: Visibility::Conversation.name().to_owned(),
                sidechain: cause == Cause::Subagent || self.agent().is_some(),
                agent_id: self.agent(),
                parent: from.and_then(|index| self.uuid(index)),
                entries: Some(entries),
                live: Some(false),
                ..wire::HistoryItem::default()
            }),
            Step::Gap { missing } => Ok(wire::HistoryItem {
                kind: "gap".to_owned(),
                visibility: Visibility::Conversation.name().to_owned(),
                sidechain: self.agent().is_some(),
                agent_id: self.agent(),
                parent: Some(self.ids.get(missing)),
                live: Some(false),
                ..wire::HistoryItem::default()
            }),
            Step::Root { kind, live } => Ok(wire::HistoryItem {
                kind: "root".to_owned(),
                visibility: Visibility::Conversation.name().to_owned(),
                subtype: Some(kind.name().to_owned()),
                sidechain: self.agent().is_some(),
                agent_id: self.agent(),
                live: Some(live),
                ..wire::HistoryItem::default()
            }),
        }
    }

    /// An entry by itself: what only the whole conversation tells is left open, and its call has no result yet.
    pub fn entry_alone(&self, index: NodeIndex) -> Result<wire::HistoryItem, Error> {
        let mut blocks = self.session.blocks(self.node(index)).iter();
        let call = blocks.find(|block| block.kind == BlockKind::ToolUse && block.tool.is_some());
        let tool = call.map(|block| {
            Ok::<_, Error>(wire::HistoryTool {
                id: block.tool.map(|id| self.ids.get(id)),
                name: tool_name(&self.span(block.offset, block.length)?),
                state: State::Pending.name().to_owned(),
                result_uuid: None,
            })
        });
        Ok(wire::HistoryItem { tool: tool.transpose()?, ..self.entry(index, &mut { self.longest })? })
    }

    /// An entry; `left` is how many bytes of its content are still sent.
    fn entry(&self, index: NodeIndex, left: &mut u64) -> Result<wire::HistoryItem, Error> {
        let node = self.node(index);
        let body = self.span(node.at.offset, node.length)?;
        let entry = Entry::new(&body);
        let reply = entry.view::<Assistant>();
        let item = Item::of(&entry);
        let usage = reply.and_then(|reply| reply.usage()).map(|usage| usage.value());
        Ok(wire::HistoryItem {
            kind: item_kind(self, node).to_owned(),
            role: item.role.map(|role| role.name().to_owned()),
            visibility: item.visibility().name().to_owned(),
            entry_type: entry.head().type_name.map(|name| name.decode().into_owned()),
            subtype: entry.head().subtype.map(|name| name.decode().into_owned()),
            uuid: node.id.map(|id| self.ids.get(id)),
            parent: node.parent.map(|id| self.ids.get(id)),
            timestamp: node.time.and_then(time_of_ms),
            turn: None,
            live: None,
            sidechain: entry.has(Flag::Sidechain),
            agent_id: entry.head().agent.map(|agent| agent.decode().into_owned()).or_else(|| self.agent()),
            parts: self.parts(node, &entry, left)?,
            inputs: if node.length <= self.longest && !entry.has(Flag::Meta) {
                inputs(&item)
            } else {
                Vec::new()
            },
            tool: None,
            usage: usage.map(|usage| raw(&utf8::as_text(usage.bytes()))),
            model: reply.and_then(|reply| reply.model()).map(Cow::into_owned),
            forked_from: forked_from(&entry),
            compaction: compaction(&entry),
            problem: node.problem.map(|problem| problem.to_string()),
            leaf: None,
            entries: None,
            line: None,
            other_lines: Vec::new(),
            superseded: Vec::new(),
        })
    }

    /// What other lines of an entry say, each content once.
    fn superseded(
        &self,
        conversation: &Conversation<'_>,
        node: NodeIndex,
        left: &mut u64,
    ) -> Result<Vec<wire::Superseded>, Error> {
        let mut different = Vec::new();
        for line in conversation.differing_lines(node)? {
            let node = self.node(line);
            let body = self.span(node.at.offset, node.length)?;
            let entry = Entry::new(&body);
            different.push(wire::Superseded {
                line: node.at.line,
                entry_type: entry.head().type_name.map(|name| name.decode().into_owned()),
                timestamp: node.time.and_then(time_of_ms),
                parts: self.parts(node, &entry, left)?,
            });
        }
        Ok(different)
    }

    /// The content of an entry: blocks of messages, the text of notices, the payload of attachments.
    fn parts(&self, node: &Node, entry: &Entry<'_>, left: &mut u64) -> Result<Vec<Box<RawValue>>, Error> {
        let blocks = self.session.blocks(node);
        if !blocks.is_empty() {
            let part = |block: &BlockSpan| match left.checked_sub(block.length) {
                Some(rest) => {
                    *left = rest;
                    Ok(block_as_found(&self.span(block.offset, block.length)?))
                }
                None => self.cut(block),
            };
            return blocks.iter().map(part).collect();
        }
        let value = match entry.kind() {
            Kind::System => entry.body().and_then(|body| body.get("content")),
            Kind::Attachment => entry.view::<Attachment>().and_then(|attachment| attachment.payload()),
            _ => None,
        };
        let value = value.filter(|value| value.is_valid() && value.bytes().len() as u64 <= self.longest);
        Ok(value.map(|value| block_as_found(value.bytes())).into_iter().collect())
    }

    /// Stands for a part that is too long to be sent.
    fn cut(&self, block: &BlockSpan) -> Result<Box<RawValue>, Error> {
        let beginning = self.span(block.offset, block.length.min(BEGINNING))?;
        let (of, beginning) = (block.kind.name(), quote(&String::from_utf8_lossy(&beginning)));
        let bytes = block.length;
        Ok(raw(&format!(r#"{{"type":"cut","of":"{of}","bytes":{bytes},"beginning":{beginning}}}"#)))
    }

    fn tool(&self, conversation: &Conversation<'_>, call: &Call) -> Result<wire::HistoryTool, Error> {
        let block = self.span(call.block.offset, call.block.length)?;
        Ok(wire::HistoryTool {
            id: call.block.tool.map(|id| self.ids.get(id)),
            name: tool_name(&block),
            state: conversation.state(call)?.name().to_owned(),
            result_uuid: call.result.and_then(|(index, _)| self.uuid(index)),
        })
    }

    /// A line of `annals tools`.
    pub fn call(&self, conversation: &Conversation<'_>, call: &Call) -> Result<wire::ToolCall, Error> {
        let node = self.node(call.node);
        let block = self.span(call.block.offset, call.block.length)?;
        let read = tool::read(&block);
        let file = self.file;
        Ok(wire::ToolCall {
            session: file.session.clone(),
            agent_id: file.agent.clone(),
            id: call.block.tool.map(|id| self.ids.get(id)),
            name: read.and_then(|call| call.name()).map(Cow::into_owned),
            subject: read.as_ref().map(tool::subject).unwrap_or_default(),
            state: conversation.state(call)?.name().to_owned(),
            duration_ms: call.duration_ms(self.session),
            files: read.as_ref().map(tool::files).unwrap_or_default(),
            timestamp: node.time.and_then(time_of_ms),
            uuid: self.uuid(call.node),
            result_uuid: call.result.and_then(|(index, _)| self.uuid(index)),
            line: node.at.line,
        })
    }

    /// A line of `annals turns`.
    pub fn turn(&self, turn: &Turn) -> Result<wire::Turn, Error> {
        let mut told = told_turn(turn);
        if turn.prompt_is_cut {
            let node = self.node(turn.node);
            let body = self.span(node.at.offset, node.length)?;
            told.prompt = prompt_of(&Entry::new(&body)).unwrap_or(told.prompt);
        }
        Ok(told)
    }

    /// Returns the ids of the calls that an entry makes.
    pub fn calls(&self, index: NodeIndex) -> Vec<String> {
        let blocks = self.session.blocks(self.node(index)).iter();
        let calls = blocks.filter(|block| block.kind == BlockKind::ToolUse).filter_map(|block| block.tool);
        calls.map(|id| self.ids.get(id)).collect()
    }

    /// Returns the subagent whose transcript it is.
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

fn tool_name(block: &[u8]) -> Option<String> {
    tool::read(block).and_then(|call| call.name()).map(Cow::into_owned)
}

fn told_turn(turn: &Turn) -> wire::Turn {
    let duration = turn.started_at.zip(turn.ended_at).map(|(start, end)| end - start);
    wire::Turn {
        turn: turn.number,
        kind: turn.kind.name().to_owned(),
        started_by: turn.started_by.name().to_owned(),
        prompt: turn.prompt.clone(),
        started_at: turn.started_at.and_then(time_of_ms),
        duration_ms: duration.and_then(|duration| u64::try_from(duration).ok()),
        messages: turn.messages,
        tool_calls: turn.tool_calls,
        errors: turn.errors,
        usage: wire::Tokens {
            input_tokens: turn.usage.input,
            output_tokens: turn.usage.output,
            cache_creation_tokens: turn.usage.cache_creation,
            cache_read_tokens: turn.usage.cache_read,
        },
        compacted: turn.compacted,
        resumed_after_ms: turn.resumed_after_ms,
    }
}

fn item_kind(wire: &ToWire<'_>, node: &Node) -> &'static str {
    match (node.kind, node.problem) {
        (Kind::Noise, _) => "damage",
        (_, Some(_)) => "salvaged",
        _ if wire.session.boundary(node).is_some() => "compaction",
        (Kind::User | Kind::Assistant, _) if !node.has(Flag::Meta) => "message",
        (Kind::Attachment, _) if !wire.session.blocks(node).is_empty() => "message",
        _ => "meta",
    }
}

/// What came in with an entry, if it is not just what a person typed.
fn inputs(item: &Item<'_>) -> Vec<wire::CameIn> {
    if item.inputs().all(|input| input.kind == InputKind::Prompt) {
        return Vec::new();
    }
    item.inputs().map(came_in).collect()
}

/// One thing that came in.
pub(crate) fn came_in(input: &Input<'_>) -> wire::CameIn {
    let is_of_team = input.kind == InputKind::Teammate;
    let attribute = |name| input.attribute(name).filter(|_| is_of_team).map(str::to_owned);
    wire::CameIn {
        kind: input.kind.name().to_owned(),
        text: input.text.to_string(),
        teammate_id: input.sender().filter(|_| is_of_team).map(str::to_owned),
        color: attribute("color"),
        summary: attribute("summary"),
        command: input.command.clone(),
    }
}

/// Something that Claude Code added, by its kind.
pub(crate) fn added(kind: &str, text: &str) -> wire::CameIn {
    wire::CameIn {
        kind: kind.to_owned(),
        text: text.to_owned(),
        teammate_id: None,
        color: None,
        summary: None,
        command: None,
    }
}

fn forked_from(entry: &Entry<'_>) -> Option<wire::ForkedFrom> {
    let from = entry.body()?.get("forkedFrom")?;
    let (session_id, message_uuid) =
        (from.text("sessionId")?.into_owned(), from.text("messageUuid")?.into_owned());
    Some(wire::ForkedFrom { session_id, message_uuid })
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

/// A block with every byte that stands in the file.
pub(crate) fn block_as_found(bytes: &[u8]) -> Box<RawValue> {
    block(bytes, &utf8::as_text(bytes))
}

/// A block goes out as it is; a plain string becomes the text block that it stands for.
fn block(found: &[u8], json: &str) -> Box<RawValue> {
    if found.starts_with(b"\"") { raw(&format!(r#"{{"type":"text","text":{json}}}"#)) } else { raw(json) }
}

/// Blocks of an entry whose grammar is broken are quoted as text.
fn raw(json: &str) -> Box<RawValue> {
    let found = RawValue::from_string(json.to_owned());
    found.or_else(|_| RawValue::from_string(quote(json))).expect("a string is JSON")
}

/// A value with every byte that stands in the file.
pub fn value_as_found(value: Value<'_>) -> Box<RawValue> {
    raw(&utf8::as_text(value.bytes()))
}
