//! A session in memory: one small node per entry, and where its bytes lie. Bodies stay on disk.

mod ids;

use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;

use jiff::Timestamp;

pub use ids::{Id, IdTexts};

use crate::content::{self, Content};
use crate::entry::view::{Assistant, Attachment, CompactBoundary, System, SystemKind};
use crate::entry::{Entry, Flag, Head, Kind, Problem};
use crate::json::Value;
use crate::line::{Position, Reader};
use ids::Ids;

/// The entries of one transcript, in file order.
///
/// ```
/// use annals_transcript::session::Session;
///
/// let file = br#"{"type":"user","uuid":"a","parentUuid":null,"message":{"content":"Hi"}}"#;
/// let session = Session::read(&file[..])?;
/// assert_eq!(session.nodes().len(), 1);
/// assert_eq!(session.blocks(&session.nodes()[0]).len(), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Session {
    nodes: Vec<Node>,
    blocks: Vec<BlockSpan>,
    boundaries: Vec<Boundary>,
    ids: Ids,
    size: u64,
}

/// One entry, without its body.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it starts.
    pub at: Position,
    /// How many bytes it has.
    pub length: u64,
    /// What it is.
    pub kind: Kind,
    /// `uuid`.
    pub id: Option<Id>,
    /// `parentUuid`.
    pub parent: Option<Id>,
    /// `logicalParentUuid`.
    pub logical_parent: Option<Id>,
    /// `message.id`.
    pub message_id: Option<Id>,
    /// `leafUuid`.
    pub leaf: Option<Id>,
    /// The time, in milliseconds since 1970.
    pub time: Option<i64>,
    /// What is wrong with its bytes.
    pub problem: Option<Problem>,
    flags: u16,
    blocks: Range<u32>,
    boundary: Option<u32>,
}

impl Node {
    /// Returns whether the fact holds.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags & flag.bit() != 0
    }

    /// Returns whether the client reads the entry. It loses what annals salvages.
    pub fn is_seen_by_client(&self) -> bool {
        self.kind != Kind::Noise && self.problem.is_none()
    }
}

/// A content block, by where its bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSpan {
    /// What it is.
    pub kind: BlockKind,
    /// The call that a `tool_use` makes or a `tool_result` answers.
    pub tool: Option<Id>,
    /// Where its value starts in the file.
    pub offset: u64,
    /// How many bytes the value has.
    pub length: u64,
}

/// What the chain needs to know about a content block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Text.
    Text,
    /// Text of white space only.
    BlankText,
    /// Reasoning, readable or not.
    Thinking,
    /// A call.
    ToolUse,
    /// A result; `true` if it says that the call failed.
    ToolResult(bool),
    /// Anything else.
    Other,
}

impl BlockKind {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            BlockKind::Text | BlockKind::BlankText => "text",
            BlockKind::Thinking => "thinking",
            BlockKind::ToolUse => "tool_use",
            BlockKind::ToolResult(_) => "tool_result",
            BlockKind::Other => "other",
        }
    }
}

/// What a compaction kept, by ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// The ends of a run of kept messages: head, anchor, tail.
    pub segment: Option<[Option<Id>; 3]>,
    /// The kept messages, and the message that they hang on.
    pub messages: Option<(Option<Id>, Vec<Id>)>,
}

impl Session {
    /// Reads a whole transcript.
    pub fn read(source: impl Read) -> io::Result<Self> {
        Self::read_with(source, |_, _| {})
    }

    /// Reads a whole transcript and shows each entry as it passes, with what is wrong with it.
    pub fn read_with(
        source: impl Read,
        mut seen: impl FnMut(&Entry<'_>, Option<Problem>),
    ) -> io::Result<Self> {
        let mut session = Self::default();
        let mut reader = Reader::new(source);
        while let Some(entry) = reader.read()? {
            let problem = entry.verify();
            session.add(&entry, problem);
            seen(&entry, problem);
        }
        session.size = reader.position().offset;
        session.settle_ids();
        Ok(session)
    }

    /// Takes the side line as the main one: in a subagent's own transcript there is no other.
    pub fn follow_sidechain(&mut self) {
        for node in &mut self.nodes {
            node.flags &= !Flag::Sidechain.bit();
        }
    }

    /// Returns all entries in file order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the content blocks of an entry: of messages, queued prompts and local commands.
    pub fn blocks(&self, node: &Node) -> &[BlockSpan] {
        &self.blocks[node.blocks.start as usize..node.blocks.end as usize]
    }

    /// Returns what a `compact_boundary` kept; none for other entries.
    pub fn boundary(&self, node: &Node) -> Option<&Boundary> {
        node.boundary.map(|index| &self.boundaries[index as usize])
    }

    /// Returns the length of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number that the indices of all ids lie below.
    pub fn id_count(&self) -> usize {
        self.ids.len()
    }

    /// Returns the handle of an id, if it stands anywhere in the file.
    pub fn id(&self, text: &str) -> Option<Id> {
        self.ids.get(text)
    }

    /// Returns the entries whose id begins with a text; only one, if it is that text.
    pub fn ids_beginning(&self, text: &str) -> Vec<Id> {
        let texts = self.id_texts();
        let exact = self.nodes.iter().filter_map(|node| node.id).find(|id| texts.get(*id) == text);
        if let Some(exact) = exact {
            return vec![exact];
        }
        let mut ids: Vec<Id> = self
            .nodes
            .iter()
            .filter_map(|node| node.id)
            .filter(|id| texts.get(*id).starts_with(text))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Returns the texts of all ids.
    pub fn id_texts(&self) -> IdTexts<'_> {
        self.ids.texts()
    }

    fn add(&mut self, entry: &Entry<'_>, problem: Option<Problem>) {
        let head = *entry.head();
        let start = index(self.blocks.len());
        self.add_blocks(entry);
        let node = Node {
            at: entry.at(),
            length: entry.bytes().len() as u64,
            kind: head.kind,
            id: self.intern(head.id),
            parent: self.intern(head.parent),
            logical_parent: self.intern(head.logical_parent),
            message_id: self.intern(head.message_id),
            leaf: self.intern(head.leaf),
            time: head.time().map(Timestamp::as_millisecond),
            problem,
            flags: head.flags() | facts_inside(entry),
            blocks: start..index(self.blocks.len()),
            boundary: self.add_boundary(entry, &head),
        };
        self.nodes.push(node);
    }

    fn add_blocks(&mut self, entry: &Entry<'_>) {
        let content = match entry.kind() {
            Kind::User | Kind::Assistant => Some(Content::new(entry.head().content)),
            Kind::Attachment => {
                entry.view::<Attachment>().and_then(|it| it.queued_command()).map(|it| it.prompt())
            }
            Kind::System if entry.head().subtype.is_some_and(|subtype| subtype == *"local_command") => {
                entry.body().map(|body| Content::new(body.get("content")))
            }
            _ => None,
        };
        for block in content.into_iter().flat_map(Content::blocks) {
            let (kind, tool) = match block {
                content::Block::Text(text) if text.text().trim().is_empty() => (BlockKind::BlankText, None),
                content::Block::Text(_) => (BlockKind::Text, None),
                content::Block::Thinking(_) | content::Block::RedactedThinking(_) => {
                    (BlockKind::Thinking, None)
                }
                content::Block::ToolUse(call) => (BlockKind::ToolUse, call.id()),
                content::Block::ToolResult(result) => {
                    (BlockKind::ToolResult(result.is_error()), result.tool_use_id())
                }
                _ => (BlockKind::Other, None),
            };
            let bytes = block.value().bytes();
            let offset = entry.at().offset + (bytes.as_ptr().addr() - entry.bytes().as_ptr().addr()) as u64;
            let tool = tool.map(|id| self.ids.intern(&id));
            self.blocks.push(BlockSpan { kind, tool, offset, length: bytes.len() as u64 });
        }
    }

    fn add_boundary(&mut self, entry: &Entry<'_>, head: &Head<'_>) -> Option<u32> {
        if !head.is_boundary() {
            return None;
        }
        let SystemKind::CompactBoundary(metadata) = entry.view::<System>()?.kind() else { return None };
        let boundary = self.read_boundary(&metadata);
        self.boundaries.push(boundary);
        Some(index(self.boundaries.len() - 1))
    }

    fn read_boundary(&mut self, metadata: &CompactBoundary<'_>) -> Boundary {
        let ids = &mut self.ids;
        let mut intern = |text: Option<Cow<'_, str>>| text.map(|text| ids.intern(&text));
        let segment = metadata
            .preserved_segment()
            .map(|segment| [intern(segment.head()), intern(segment.anchor()), intern(segment.tail())]);
        let messages = metadata.preserved_messages().map(|messages| {
            let kept = messages.ids().into_iter().filter_map(|id| intern(Some(id))).collect();
            (intern(messages.anchor()), kept)
        });
        Boundary { segment, messages }
    }

    /// Gives equal ids equal handles, wherever they stand.
    fn settle_ids(&mut self) {
        let firsts = self.ids.firsts();
        let settle = |id: &mut Id| *id = firsts[id.index()];
        for node in &mut self.nodes {
            let Node { id, parent, logical_parent, message_id, leaf, .. } = node;
            [id, parent, logical_parent, message_id, leaf].into_iter().flatten().for_each(settle);
        }
        self.blocks.iter_mut().filter_map(|block| block.tool.as_mut()).for_each(settle);
        for boundary in &mut self.boundaries {
            boundary.segment.iter_mut().flatten().flatten().for_each(settle);
            if let Some((anchor, kept)) = &mut boundary.messages {
                anchor.iter_mut().chain(kept).for_each(settle);
            }
        }
    }

    fn intern(&mut self, text: Option<crate::json::JsonStr<'_>>) -> Option<Id> {
        text.map(|text| self.ids.intern(&text.decode()))
    }
}

/// Returns the facts that stand deeper in an entry than its head is read.
fn facts_inside(entry: &Entry<'_>) -> u16 {
    let is_synthetic = || {
        entry.view::<Assistant>().and_then(|reply| reply.model()).is_some_and(|model| model == "<synthetic>")
    };
    let queued = || entry.view::<Attachment>().and_then(|attachment| attachment.queued_command());
    let is_human_turn =
        || queued().and_then(|queued| queued.human_turn()).and_then(Value::as_bool) == Some(true);
    let is_local_command = entry.kind() == Kind::System
        && entry.head().subtype.is_some_and(|subtype| subtype == *"local_command");
    let mut facts = 0;
    if is_local_command {
        facts |= Flag::LocalCommand.bit();
    }
    if entry.has(Flag::ApiError) && is_synthetic() {
        facts |= Flag::Synthetic.bit();
    }
    if entry.kind() == Kind::Attachment && is_human_turn() {
        facts |= Flag::HumanTurn.bit();
    }
    facts
}

/// Returns a count as an index; files with more entries than that do not exist.
pub(crate) fn index(count: usize) -> u32 {
    u32::try_from(count).expect("a transcript has fewer than four billion entries")
}
