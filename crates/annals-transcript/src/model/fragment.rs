//! What each entry contributes to the messages (CHAIN 6.1, 6.2, 6.9).

use super::part::{Part, Placeholder, Wrapper, is_blank_text};
use crate::chain::NodeIndex;
use crate::entry::{Flag, Kind};
use crate::session::{BlockKind, BlockSpan, Id, Node, Session};
use crate::small_index::SmallIndex;

/// What one entry contributes to a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'s> {
    pub(super) speaker: Speaker,
    /// The entry; none if Claude Code makes the fragment up.
    pub(super) node: Option<SmallIndex>,
    /// The reply that it is a line of.
    pub(super) reply: Option<ReplyKey>,
    /// What is sent in place of blocks. It comes before the blocks that are sent as they are.
    replacement: Option<Part<'s>>,
    /// The blocks of the file.
    pub(super) blocks: &'s [BlockSpan],
    sent_blocks: SentBlocks,
    /// Whether it counts in the conversation but is not sent: an error that Claude Code made up, or a virtual message.
    pub(super) is_unsent: bool,
    is_meta: bool,
    pub(super) is_compact_summary: bool,
    pub(super) local_command: LocalCommand,
}

/// Which blocks of an entry are sent as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SentBlocks {
    All,
    AllButText,
    None,
}

/// What an entry of the user says about local commands (CHAIN 6.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LocalCommand {
    Nothing,
    /// The commands after it are not meant for the model.
    Caveat,
    /// The name of a command, or its output.
    Text,
}

/// Who contributes a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Assistant,
    /// A command that ran in Claude Code: sent as the user's, but no message until then (CHAIN 6.2).
    LocalCommand,
    /// Context: not sent as a message, but it tells a running turn from a finished one (CHAIN 6.5).
    Attachment,
    /// A compaction: nothing before it is sent (CHAIN 6.8).
    Boundary,
}

/// What the lines of one reply have in common (CHAIN 6.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyKey {
    /// `message.id`.
    Id(Id),
    /// No id, but a request. All such lines count as lines of one reply.
    Nameless,
}

impl ReplyKey {
    /// Returns a small number for it, from 0 to the number of ids.
    pub(super) fn index(self) -> usize {
        match self {
            ReplyKey::Nameless => 0,
            ReplyKey::Id(id) => id.index() + 1,
        }
    }

    fn of(node: &Node) -> Option<Self> {
        let nameless = node.has(Flag::Request).then_some(ReplyKey::Nameless);
        node.message_id.map(ReplyKey::Id).or(nameless)
    }
}

impl Speaker {
    /// Returns who contributes an entry; none for entries that Claude Code drops (CHAIN 6.1).
    fn of(session: &Session, node: &Node) -> Option<Self> {
        match node.kind {
            Kind::User => Some(Speaker::User),
            Kind::Assistant => Some(Speaker::Assistant),
            Kind::System if session.boundary(node).is_some() => Some(Speaker::Boundary),
            Kind::System if node.has(Flag::LocalCommand) && !node.has(Flag::DisplayOnly) => {
                Some(Speaker::LocalCommand)
            }
            Kind::Attachment => Some(Speaker::Attachment),
            _ => None,
        }
    }
}

impl LocalCommand {
    fn of(node: &Node) -> Self {
        match () {
            () if node.has(Flag::Caveat) => LocalCommand::Caveat,
            () if node.has(Flag::CommandText) => LocalCommand::Text,
            () => LocalCommand::Nothing,
        }
    }
}

impl<'s> Fragment<'s> {
    /// Returns what an entry contributes; nothing for entries that Claude Code drops (CHAIN 6.1).
    pub(super) fn of(session: &'s Session, index: NodeIndex) -> Option<Self> {
        let node = &session.nodes()[index];
        let speaker = Speaker::of(session, node)?;
        let attached = session.attached(index);
        let is_queued_prompt = node.has(Flag::HumanTurn) && attached.is_empty();
        let blocks = match speaker {
            Speaker::Attachment if !is_queued_prompt => attached,
            _ => session.blocks(node),
        };
        let (replacement, sent_blocks) = match speaker {
            Speaker::Attachment if is_queued_prompt => wrapped(blocks, Wrapper::Queued),
            _ => replacement(speaker, node, blocks),
        };
        Some(Self {
            speaker,
            node: Some(SmallIndex::new(index)),
            reply: if speaker == Speaker::Assistant { ReplyKey::of(node) } else { None },
            replacement,
            blocks,
            sent_blocks,
            is_unsent: is_unsent(speaker, node),
            is_meta: node.has(Flag::Meta),
            is_compact_summary: node.has(Flag::CompactSummary),
            local_command: LocalCommand::of(node),
        })
    }

    /// Returns a fragment that Claude Code makes up.
    pub(super) fn made_up(speaker: Speaker, part: Part<'s>) -> Self {
        Self {
            speaker,
            node: None,
            reply: None,
            replacement: Some(part),
            blocks: &[],
            sent_blocks: SentBlocks::All,
            is_unsent: false,
            is_meta: false,
            is_compact_summary: false,
            local_command: LocalCommand::Nothing,
        }
    }

    /// Returns the parts that are sent.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'s>> + Clone + use<'s> {
        let sent_blocks = self.sent_blocks;
        let sent = self.blocks.iter().filter(move |block| match sent_blocks {
            SentBlocks::All => block.kind != BlockKind::Malformed,
            SentBlocks::AllButText => block.kind != BlockKind::Malformed && !block.kind.is_text(),
            SentBlocks::None => false,
        });
        self.replacement.into_iter().chain(sent.map(Part::Block))
    }

    /// Returns the calls of the model.
    pub(super) fn calls(&self) -> impl Iterator<Item = &'s BlockSpan> + Clone + use<'s> {
        let is_models = self.speaker == Speaker::Assistant;
        self.parts().filter(move |_| is_models).filter_map(Part::call)
    }

    pub(super) fn has_calls(&self) -> bool {
        self.calls().next().is_some()
    }

    /// Returns the ids of the calls that the user's results answer.
    pub(super) fn results(&self) -> impl Iterator<Item = Id> + use<'s> {
        let is_users = self.speaker == Speaker::User;
        self.parts().filter(move |_| is_users).filter_map(Part::result)
    }

    pub(super) fn has_results(&self) -> bool {
        self.results().next().is_some()
    }

    /// Returns whether it starts a turn: it is the user's and no result, or was injected (CHAIN 6.5).
    pub(super) fn is_prompt(&self) -> bool {
        self.speaker == Speaker::User && (self.is_meta || !self.has_results())
    }

    /// Returns whether it is a message of the user or the model.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.speaker, Speaker::User | Speaker::Assistant)
    }

    pub(super) fn is_attachment(&self) -> bool {
        self.speaker == Speaker::Attachment
    }

    /// Returns the reply that it is a line of, if that has an id.
    pub(super) fn reply_id(&self) -> Option<Id> {
        match self.reply {
            Some(ReplyKey::Id(id)) => Some(id),
            _ => None,
        }
    }

    /// Returns whether it is a reply of blank text only.
    pub(super) fn is_blank_reply(&self) -> bool {
        self.is_reply_of_only(is_blank_text)
    }

    /// Returns whether it is a reply that says nothing by itself: reasoning, blank text and placeholders only.
    pub(super) fn is_silent_reply(&self) -> bool {
        self.is_reply_of_only(says_nothing) && begins_with_thinking(self.blocks)
    }

    /// Returns whether it is a reply that has blocks, all of them of certain kinds.
    fn is_reply_of_only(&self, is_kind: impl Fn(BlockKind) -> bool) -> bool {
        let mut blocks = self.blocks.iter().filter(|block| block.kind != BlockKind::Malformed).peekable();
        self.speaker == Speaker::Assistant
            && blocks.peek().is_some()
            && blocks.all(|block| is_kind(block.kind))
    }
}

/// Returns whether blocks of a kind say nothing by themselves.
fn says_nothing(kind: BlockKind) -> bool {
    is_blank_text(kind) || matches!(kind, BlockKind::Thinking | BlockKind::NoContentText)
}

/// Returns what Claude Code sends in place of blocks of an entry, and which blocks it sends as they are.
fn replacement<'s>(speaker: Speaker, node: &Node, blocks: &'s [BlockSpan]) -> (Option<Part<'s>>, SentBlocks) {
    match speaker {
        Speaker::User if node.has(Flag::Notification) && has_text(blocks) => {
            wrapped(blocks, Wrapper::Notification)
        }
        Speaker::Assistant if is_thinking_and_blank(blocks) => (None, SentBlocks::AllButText),
        Speaker::LocalCommand if !is_nonempty_string(blocks) => {
            (Some(Part::Placeholder(Placeholder::NoContent)), SentBlocks::None)
        }
        _ => (None, SentBlocks::All),
    }
}

/// Returns all text of an entry as one part; the other blocks are sent as they are.
fn wrapped(blocks: &[BlockSpan], wrapper: Wrapper) -> (Option<Part<'_>>, SentBlocks) {
    (Some(Part::Wrapped { blocks, wrapper }), SentBlocks::AllButText)
}

/// Returns whether an entry counts in the conversation but is not sent (CHAIN 6.9).
fn is_unsent(speaker: Speaker, node: &Node) -> bool {
    match speaker {
        Speaker::User => node.has(Flag::Virtual) || node.has(Flag::NoBlocks),
        Speaker::Assistant => {
            node.has(Flag::Virtual) || node.has(Flag::ApiError) && node.has(Flag::Synthetic)
        }
        Speaker::LocalCommand | Speaker::Attachment | Speaker::Boundary => false,
    }
}

fn has_text(blocks: &[BlockSpan]) -> bool {
    blocks.iter().any(|block| block.kind.is_text())
}

/// Returns whether a reply has reasoning and after it only blank text, which Claude Code drops then (CHAIN 6.3).
fn is_thinking_and_blank(blocks: &[BlockSpan]) -> bool {
    blocks.iter().all(|block| block.kind == BlockKind::Thinking || is_blank_text(block.kind))
        && blocks.first().is_some_and(|block| block.kind == BlockKind::Thinking)
        && begins_with_thinking(blocks)
}

/// Returns whether all reasoning of a reply is before its other blocks.
fn begins_with_thinking(blocks: &[BlockSpan]) -> bool {
    blocks.is_sorted_by_key(|block| block.kind != BlockKind::Thinking)
}

/// Returns whether the content of a local command is a string that is not empty (CHAIN 6.2).
fn is_nonempty_string(blocks: &[BlockSpan]) -> bool {
    matches!(blocks, [block] if block.is_bare && block.kind.is_text() && block.kind != BlockKind::EmptyText)
}
