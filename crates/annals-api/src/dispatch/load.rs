//! Messages as people see them: prompts, and replies with their tool calls and results.

mod composer;

use std::cell::OnceCell;
use std::fs::File;
use std::ops::Range;

use annals_engine::{Conversation, Error as ReadError, TranscriptFile};
use annals_proto::{self as wire, ChatRole, ErrorCode, View};
use annals_transcript::chain::NodeIndex;
use annals_transcript::checkpoint::Checkpoint;
use annals_transcript::full_view::Step;
use annals_transcript::item::{self, Item, Part, Visibility};
use annals_transcript::model::{self, Messages};
use annals_transcript::prompt::{Input, InputKind};
use annals_transcript::session::{BlockKind, Node, Session};
use annals_transcript::{Entry, Flag, Kind};

use composer::{Composer, json_length};

use super::page::forward;
use super::{Api, LONGEST_PAGE, limit};
use crate::cancel::CancelToken;
use crate::cursor::PageCursor;
use crate::open_sessions::OpenSession;
use crate::rpc::Error;
use crate::to_wire;

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
                    let page = forward(start, count, limit, &cancelled, |index| {
                        groups.message(reading, index, all)
                    })?;
                    (page, count)
                }
                View::Model => {
                    if let Some(obstacle) = reading.conversation.obstacle() {
                        let message = format!("Claude Code would not resume this session: {obstacle}");
                        return Err(Error::new(ErrorCode::NotResumable, &message));
                    }
                    let sent =
                        reading.chat.model.get_or_init(|| model::messages(&reading.conversation.chain()));
                    let mut messages = sent.iter().skip(start);
                    let page = forward(start, sent.len(), limit, &cancelled, |_| {
                        let message = messages.next().map(|message| sent_message(reading, message));
                        message.transpose().map(|message| message.flatten().map(LoadedMessage::from))
                    })?;
                    (page, sent.len())
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

/// Returns whether a part is the result of a call, which is shown with the call.
fn is_result(part: &model::Part<'_>) -> bool {
    match part {
        model::Part::Block(block) => matches!(block.kind, BlockKind::ToolResult(_)),
        model::Part::PlaceholderResult { .. } => true,
        model::Part::BlockWithNewline(_) | model::Part::Wrapped { .. } | model::Part::Placeholder(_) => false,
    }
}

/// Returns how many bytes an input has as JSON. A prompt stands in the content; anything else stands there and again among the
/// inputs.
fn input_length(input: &Input<'_>) -> usize {
    let copies = if input.kind == InputKind::Prompt { 1 } else { 2 };
    let command = input.command.as_deref().map_or(0, json_length);
    copies * (json_length(&input.text) + command) + json_length(&input.attributes)
}
