//! A session in memory: one small node per entry, with the offset of its bytes. Bodies stay on disk.

mod attached;
mod block;
mod body_flags;
mod ids;

use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::LazyLock;

use jiff::Timestamp;
use memchr::memmem::Finder;

pub use block::{BlockKind, BlockSpan};
pub use ids::{Id, IdTexts};

use crate::content::{Block, BlockMembers, Content};
use crate::entry::view::{Attachment, CompactBoundary, SYNTHETIC, System, SystemKind};
use crate::entry::{Entry, Flag, Head, Kind, Problem};
use crate::json::{JsonStr, Value};
use crate::line::{Position, Reader};
use crate::second_root::Sign;
use crate::tool::ResultStates;
use crate::turn::{self, Tokens};
use block::kind_of;
use body_flags::{flags_of_body, is_local_command};
use ids::IdInterner;

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
#[derive(Clone, Debug, Default)]
pub struct Session {
    nodes: Vec<Node>,
    blocks: Vec<BlockSpan>,
    /// What compactions kept, each with the offset of its entry, in file order; few entries are compactions.
    boundaries: Vec<(u64, Boundary)>,
    /// Evidence for why roots around an entry have no parent, in file order; few entries have any.
    signs: Vec<(usize, Sign)>,
    /// Further links of entries, each with the offset of its entry, in file order.
    links: Vec<(u64, Links)>,
    /// The blocks that Claude Code sends for an attachment, in file order; few attachments have any.
    attached: Vec<(usize, Range<u32>)>,
    /// The tokens of every line of a reply, in file order.
    tokens: Vec<(u32, SmallTokens)>,
    /// Those that do not fit there, by the index of the entry.
    large_tokens: HashMap<u32, Tokens>,
    ids: IdInterner,
    /// The end of the file: its length, and the line after the last one.
    end: Position,
    ends_in_newline: bool,
    names_messages: bool,
}

/// One entry, without its body.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node {
    /// The position at which it starts.
    pub at: Position,
    /// The number of its bytes.
    pub length: u64,
    /// The kind of entry.
    pub kind: Kind,
    /// `uuid`.
    pub id: Option<Id>,
    /// `parentUuid`.
    pub parent: Option<Id>,
    /// `message.id`.
    pub message_id: Option<Id>,
    /// The time, in milliseconds since 1970; [`NO_TIME`] if it has none.
    time: i64,
    /// The problem with its bytes, if there is one.
    pub problem: Option<Problem>,
    /// Whether it belongs to the work of the turn that is running, if it starts no turn itself.
    pub(crate) is_work: bool,
    /// Whether its line may tell more than its blocks about how the calls ended that it answers.
    pub(crate) tells_states: bool,
    /// Whether [`Session::links`] has more links of it.
    has_links: bool,
    layout: Layout,
    flags: u32,
    blocks: Range<u32>,
}

/// The layout of an entry in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    OneLine,
    /// It is an object that spans lines.
    SeveralLines,
    /// It is one in a file that Claude Code reads line by line.
    InPieces,
}

/// The time of entries without one. Times end in the year 9999.
const NO_TIME: i64 = i64::MIN;

/// Links that few entries have.
#[derive(Clone, Copy, Debug)]
struct Links {
    /// `logicalParentUuid`.
    logical_parent: Option<Id>,
    /// `leafUuid`.
    leaf: Option<Id>,
}

impl Node {
    /// Returns the time, in milliseconds since 1970.
    pub fn time(&self) -> Option<i64> {
        Some(self.time).filter(|&time| time != NO_TIME)
    }

    /// Returns whether a flag is set.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags & flag.bit() != 0
    }

    /// Returns whether Claude Code reads the entry. It does not read the damaged lines that annals salvages, and in a large file no
    /// objects that span lines (CHAIN 2.0).
    pub fn is_read_by_claude_code(&self) -> bool {
        self.kind != Kind::Noise && self.problem.is_none() && self.layout != Layout::InPieces
    }

    /// Returns whether Claude Code loads the entry as a message, so that it can be part of the conversation.
    pub fn is_loaded_by_claude_code(&self) -> bool {
        self.is_read_by_claude_code() && self.kind.is_message() && !self.has(Flag::Contentless)
    }
}

/// The ids of the messages that a compaction kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Boundary {
    /// A segment of kept messages: its head, anchor and tail.
    pub segment: Option<[Option<Id>; 3]>,
    /// The anchor, which is the parent of the first kept message, and the kept messages.
    pub messages: Option<(Option<Id>, Vec<Id>)>,
}

/// Numbers of tokens in four bytes each: every line of a reply has them.
#[derive(Clone, Copy, Debug, Default)]
struct SmallTokens([u32; 4]);

impl SmallTokens {
    /// Returns `None` if a number is too large.
    fn of(tokens: Tokens) -> Option<Self> {
        let Tokens { input, output, cache_creation, cache_read } = tokens;
        let mut small = [0; 4];
        for (small, number) in small.iter_mut().zip([input, output, cache_creation, cache_read]) {
            *small = u32::try_from(number).ok()?;
        }
        Some(Self(small))
    }

    fn tokens(self) -> Tokens {
        let [input, output, cache_creation, cache_read] = self.0.map(u64::from);
        Tokens { input, output, cache_creation, cache_read }
    }
}

impl Session {
    /// Reads a whole transcript.
    pub fn read(source: impl Read) -> io::Result<Self> {
        Self::read_with(source, |_, _, _| {})
    }

    /// Reads a whole transcript and calls `visit` with each entry, its problem and its content blocks. The calls that blocks name are not
    /// to be compared yet.
    pub fn read_with(
        source: impl Read,
        visit: impl FnMut(&Entry<'_>, Option<Problem>, &[BlockSpan]),
    ) -> io::Result<Self> {
        Self::read_sized(source, 0, visit)
    }

    /// Does the same with a source of about so many bytes: then lists need not grow step by step, which leaves copies in memory.
    pub fn read_sized(
        source: impl Read,
        bytes: u64,
        visit: impl FnMut(&Entry<'_>, Option<Problem>, &[BlockSpan]),
    ) -> io::Result<Self> {
        let mut session = Self::default();
        session.read_on(Reader::new(source), bytes, visit)?;
        Ok(session)
    }

    /// Returns the session with further lines after it; its ids are the same. `None` if the file ends within a line or has a damaged one:
    /// then the lines may change how it is read.
    ///
    /// ```
    /// use annals_transcript::session::Session;
    ///
    /// let file = b"{\"type\":\"user\",\"uuid\":\"a\"}\n";
    /// let session = Session::read(&file[..])?;
    /// let longer = session.with_lines(b"{\"type\":\"user\",\"uuid\":\"b\",\"parentUuid\":\"a\"}\n").unwrap();
    /// assert_eq!(longer.nodes()[1].parent, session.nodes()[0].id);
    /// assert!(Session::read(&b"{\"type\":\"us"[..])?.with_lines(b"").is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn with_lines(&self, lines: &[u8]) -> Option<Self> {
        let has_damage = self.nodes.iter().any(|node| node.problem.is_some() || node.kind == Kind::Noise);
        if !self.ends_in_newline || has_damage {
            return None;
        }
        let mut session = self.clone();
        session.read_on(Reader::resume(lines, self.end), 0, |_, _, _| {}).ok()?;
        Some(session)
    }

    fn read_on(
        &mut self,
        reader: Reader<impl Read>,
        bytes: u64,
        mut visit: impl FnMut(&Entry<'_>, Option<Problem>, &[BlockSpan]),
    ) -> io::Result<()> {
        let mut reader = reader.with_grammar_check();
        while let Some(entry) = reader.read()? {
            let problem = entry.verify();
            self.note_span(entry.at().line - u64::from(self.ends_in_newline));
            self.reserve(entry.at().offset, bytes);
            let blocks = self.add(&entry, problem);
            visit(&entry, problem, &self.blocks[blocks]);
            self.ends_in_newline = entry.ends_in_newline();
        }
        self.end = reader.position();
        self.note_span(self.end.line - 1);
        let is_large = self.size() > LARGE;
        for node in self.nodes.iter_mut().filter(|node| node.layout != Layout::OneLine) {
            node.layout = if is_large { Layout::InPieces } else { Layout::SeveralLines };
        }
        self.unify_ids();
        Ok(())
    }

    /// Notes whether the last entry spans lines: `last_line` is the one that it ends in.
    fn note_span(&mut self, last_line: u64) {
        if let Some(last) = self.nodes.last_mut() {
            let spans_lines = last.at.line < last_line;
            last.layout = if spans_lines { Layout::SeveralLines } else { Layout::OneLine };
        }
    }

    /// Treats the sidechain as the main conversation: a subagent's own transcript has no other.
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

    /// Returns whether an entry holds results of calls.
    pub fn has_results(&self, node: &Node) -> bool {
        self.blocks(node).iter().any(BlockSpan::is_result)
    }

    /// Returns whether a user entry holds nothing but results, which are shown with their calls.
    pub fn has_only_results(&self, node: &Node) -> bool {
        let blocks = self.blocks(node);
        node.kind == Kind::User && !blocks.is_empty() && blocks.iter().all(BlockSpan::is_result)
    }

    /// Returns the blocks that Claude Code sends in a user message for an attachment instead of its own blocks: images, or the
    /// text of a queued prompt. Text that Claude Code generates for each request is not among them.
    pub(crate) fn attached(&self, node: usize) -> &[BlockSpan] {
        let found = self.attached.binary_search_by_key(&node, |(node, _)| *node);
        found.map_or(&[], |found| {
            let Range { start, end } = self.attached[found].1;
            &self.blocks[start as usize..end as usize]
        })
    }

    /// Returns the content block of an entry whose value starts at an offset in the file.
    pub fn block_at(&self, node: &Node, offset: u64) -> Option<&BlockSpan> {
        let blocks = self.blocks(node);
        let index = blocks.binary_search_by_key(&offset, |block| block.offset).ok()?;
        Some(&blocks[index])
    }

    /// Returns what a `compact_boundary` kept; `None` for other entries.
    pub fn boundary(&self, node: &Node) -> Option<&Boundary> {
        if node.kind != Kind::System {
            return None;
        }
        let found = self.boundaries.binary_search_by_key(&node.at.offset, |(offset, _)| *offset).ok()?;
        Some(&self.boundaries[found].1)
    }

    /// Returns `logicalParentUuid` of an entry.
    pub fn logical_parent(&self, node: &Node) -> Option<Id> {
        self.links(node)?.logical_parent
    }

    /// Returns `leafUuid` of an entry.
    pub fn leaf(&self, node: &Node) -> Option<Id> {
        self.links(node)?.leaf
    }

    fn links(&self, node: &Node) -> Option<Links> {
        if !node.has_links {
            return None;
        }
        let found = self.links.binary_search_by_key(&node.at.offset, |(offset, _)| *offset).ok()?;
        Some(self.links[found].1)
    }

    /// Returns the number of messages.
    pub(crate) fn message_count(&self) -> usize {
        self.nodes.iter().filter(|node| node.kind.is_message()).count()
    }

    /// Returns the entries with evidence about the roots around them, in file order.
    pub(crate) fn signs(&self) -> &[(usize, Sign)] {
        &self.signs
    }

    /// Returns whether the type of a message occurs anywhere in the file, even in a line that cannot be read. Claude Code does
    /// not find other files.
    pub(crate) fn names_messages(&self) -> bool {
        self.names_messages
    }

    /// Returns the tokens of a line of a reply.
    pub(crate) fn tokens(&self, node: usize) -> Tokens {
        let node = index(node);
        let found = self.tokens.binary_search_by_key(&node, |(node, _)| *node);
        let small = found.map_or_else(|_| Tokens::default(), |found| self.tokens[found].1.tokens());
        self.large_tokens.get(&node).copied().unwrap_or(small)
    }

    /// Returns the length of the file.
    pub fn size(&self) -> u64 {
        self.end.offset
    }

    /// Returns the number of interned ids; every [`Id::index`] is smaller.
    pub fn id_count(&self) -> usize {
        self.ids.len()
    }

    /// Returns the handle of an id, if it occurs anywhere in the file. This compares all ids: call it once per request, not
    /// once per entry.
    pub fn id(&self, text: &str) -> Option<Id> {
        self.ids.get(text)
    }

    /// Returns the ids of entries that begin with a text. If one is equal to the text, it is the only one.
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

    /// Adds an entry. Returns the range of its blocks.
    fn add(&mut self, entry: &Entry<'_>, problem: Option<Problem>) -> Range<usize> {
        let head = *entry.head();
        let start = index(self.blocks.len());
        self.names_messages = self.names_messages || names_message(entry.bytes());
        let answered = self.add_blocks(entry, problem != Some(Problem::Syntax));
        let is_synthetic = self.add_tokens(entry);
        let [id, parent, logical_parent, message_id, leaf] =
            [head.id, head.parent, head.logical_parent, head.message_id, head.leaf].map(|id| self.intern(id));
        let node = Node {
            at: entry.at(),
            length: entry.bytes().len() as u64,
            kind: head.kind,
            id,
            parent,
            message_id,
            time: head.time().map_or(NO_TIME, Timestamp::as_millisecond),
            problem,
            is_work: turn::is_work(entry, is_synthetic, answered),
            tells_states: answered.is_some() && ResultStates::may_differ_from_blocks(entry),
            has_links: logical_parent.is_some() || leaf.is_some(),
            layout: Layout::OneLine,
            flags: head.flags() | flags_of_body(entry, is_synthetic, &self.blocks[start as usize..]),
            blocks: start..index(self.blocks.len()),
        };
        if node.has_links {
            self.links.push((node.at.offset, Links { logical_parent, leaf }));
        }
        self.add_boundary(entry, &head);
        let sign = Sign::of(entry, &self.blocks[start as usize..]);
        self.signs.extend(sign.map(|sign| (self.nodes.len(), sign)));
        self.add_attached(entry);
        let blocks = node.blocks.start as usize..node.blocks.end as usize;
        self.nodes.push(node);
        blocks
    }

    /// Makes room for the rest of a file of which the first `read` bytes of `all` were read.
    fn reserve(&mut self, read: u64, all: u64) {
        if all > read {
            reserve_for_rest(&mut self.nodes, read, all);
            reserve_for_rest(&mut self.blocks, read, all);
            reserve_for_rest(&mut self.tokens, read, all);
            self.ids.reserve(read, all);
        }
    }

    fn add_attached(&mut self, entry: &Entry<'_>) {
        // Other attachments have no such blocks and may be long, so they are not read.
        if !entry.head().subtype.is_some_and(attached::may_have_blocks) {
            return;
        }
        let Some(attachment) = entry.view::<Attachment>() else { return };
        let start = index(self.blocks.len());
        for (value, kind) in attached::blocks(&attachment) {
            self.add_block(entry, value, (kind, None), value.as_str().is_some());
        }
        let end = index(self.blocks.len());
        if end > start {
            self.attached.push((self.nodes.len(), start..end));
        }
    }

    /// Adds the tokens of a line of a reply. Returns whether Claude Code wrote the reply itself.
    fn add_tokens(&mut self, entry: &Entry<'_>) -> bool {
        if entry.kind() != Kind::Assistant {
            return false;
        }
        let head = entry.head();
        let (node, tokens) = (index(self.nodes.len()), Tokens::of_counters(head.usage));
        let small = SmallTokens::of(tokens);
        self.tokens.push((node, small.unwrap_or_default()));
        if small.is_none() {
            self.large_tokens.insert(node, tokens);
        }
        head.model.is_some_and(|model| model == *SYNTHETIC)
    }

    /// Adds the content blocks of an entry. Returns whether one of its results is the output of a tool; `None` if it has none.
    fn add_blocks(&mut self, entry: &Entry<'_>, is_valid: bool) -> Option<bool> {
        let content = match entry.kind() {
            Kind::User | Kind::Assistant => entry.head().content,
            Kind::Attachment => attached::queued_command(entry).and_then(|queued| queued.prompt().value()),
            Kind::System if is_local_command(entry) => entry.body().and_then(|body| body.get("content")),
            _ => None,
        };
        let content = content.filter(|content| !content.is_null())?;
        if !content.is_array() {
            let kind = content.as_str().map_or(BlockKind::Malformed, BlockKind::of_text);
            self.add_block(entry, content, (kind, None), true);
            return bare_result(content).map(turn::is_output);
        }
        let mut answered = None;
        let mut add = |block: Value<'_>, members: &BlockMembers<'_>| {
            let (kind, tool) = kind_of(members);
            if let BlockKind::ToolResult(_) = kind {
                answered = Some(answered == Some(true) || turn::is_output(Content::new(members.content)));
            }
            self.add_block(entry, block, (kind, tool), false);
        };
        if is_valid {
            // Results may be megabytes long, so the end of a block is found while its members are read.
            content.walk_valid_items(BlockMembers::add, |block, members| add(block, &members));
        } else {
            content.items().for_each(|block| add(block, &BlockMembers::of(block)));
        }
        answered
    }

    fn add_block(
        &mut self,
        entry: &Entry<'_>,
        value: Value<'_>,
        (kind, tool): (BlockKind, Option<JsonStr<'_>>),
        is_bare: bool,
    ) {
        let bytes = value.bytes();
        let offset = entry.at().offset + (bytes.as_ptr().addr() - entry.bytes().as_ptr().addr()) as u64;
        let tool = self.intern(tool);
        self.blocks.push(BlockSpan { kind, is_bare, tool, offset, length: bytes.len() as u64 });
    }

    fn add_boundary(&mut self, entry: &Entry<'_>, head: &Head<'_>) {
        if !head.is_boundary() {
            return;
        }
        let Some(SystemKind::CompactBoundary(metadata)) = entry.view::<System>().map(|system| system.kind())
        else {
            return;
        };
        let boundary = self.read_boundary(&metadata);
        self.boundaries.push((entry.at().offset, boundary));
    }

    fn read_boundary(&mut self, metadata: &CompactBoundary<'_>) -> Boundary {
        let segment = metadata.preserved_segment().map(|segment| {
            [segment.head(), segment.anchor(), segment.tail()].map(|id| id.map(|id| self.ids.intern(&id)))
        });
        let messages = metadata.preserved_messages().map(|messages| {
            let kept = messages.ids().iter().map(|id| self.ids.intern(id)).collect();
            (messages.anchor().map(|anchor| self.ids.intern(&anchor)), kept)
        });
        Boundary { segment, messages }
    }

    /// Gives equal ids equal handles: the interner may have created several handles for one id.
    fn unify_ids(&mut self) {
        let handles = self.ids.unify();
        let unify = |id: &mut Id| *id = handles[id.index()];
        for node in &mut self.nodes {
            let Node { id, parent, message_id, .. } = node;
            [id, parent, message_id].into_iter().flatten().for_each(unify);
        }
        for (_, Links { logical_parent, leaf }) in &mut self.links {
            [logical_parent, leaf].into_iter().flatten().for_each(unify);
        }
        self.blocks.iter_mut().filter_map(|block| block.tool.as_mut()).for_each(unify);
        for (_, boundary) in &mut self.boundaries {
            boundary.segment.iter_mut().flatten().flatten().for_each(unify);
            if let Some((anchor, kept)) = &mut boundary.messages {
                anchor.iter_mut().chain(kept).for_each(unify);
            }
        }
    }

    fn intern(&mut self, text: Option<crate::json::JsonStr<'_>>) -> Option<Id> {
        text.map(|text| self.ids.intern(&text.decode()))
    }
}

/// Returns whether the type of a message occurs in the bytes of a line, in the spelling of Claude Code.
fn names_message(line: &[u8]) -> bool {
    static USER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(br#""type":"user""#));
    static REPLY: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(br#""type":"assistant""#));
    USER.find(line).is_some() || REPLY.find(line).is_some()
}

/// Returns the content of a result that is in place of an array of blocks.
fn bare_result(content: Value<'_>) -> Option<Content<'_>> {
    match Block::new(content) {
        Block::ToolResult(result) => Some(result.content()),
        _ => None,
    }
}

/// Claude Code reads only parts of files that are larger than this, and these line by line (CHAIN 2.0).
pub(crate) const LARGE: u64 = 5 * 1024 * 1024;

/// Makes room in a list that is nearly full for what the rest of a file will add if it is like the part that was read.
fn reserve_for_rest<T>(list: &mut Vec<T>, read: u64, all: u64) {
    /// Shorter lists grow as usual.
    const LEAST: usize = 1024;
    /// No more bytes than this are reserved, and no more than half of what the list has, if that is more: the rest may be different.
    const MOST: usize = 64 << 20;
    let length = list.len();
    if length < LEAST || list.capacity() - length > 64 {
        return;
    }
    let expected = length as u128 * u128::from(all) / u128::from(read.max(1));
    let rest = usize::try_from(expected).unwrap_or(usize::MAX).saturating_sub(length);
    let most = (MOST / size_of::<T>()).max(length / 2);
    list.reserve_exact((rest / 16 * 17).clamp((length / 8).max(LEAST), most));
}

/// The id in a `last-prompt` that means: no entry.
pub(crate) const NO_ENTRY: &str = "00000000-0000-0000-0000-000000000000";

/// Converts a count to an index of four bytes: no transcript has more entries than that.
pub(crate) fn index(count: usize) -> u32 {
    u32::try_from(count).expect("a transcript has fewer than four billion entries")
}
