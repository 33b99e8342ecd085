//! Parts of messages: blocks of the file, and what Claude Code puts in their place.

use crate::session::{BlockKind, BlockSpan, Id};

/// One block of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'s> {
    /// A block of the file.
    Block(&'s BlockSpan),
    /// A block of text with a newline after it, because the text of the next user entry follows (CHAIN 6.10).
    BlockWithNewline(&'s BlockSpan),
    /// All text of an entry, in words of Claude Code that are not reproduced here.
    Wrapped {
        /// The blocks of the entry, text and other.
        blocks: &'s [BlockSpan],
        /// What the words say about the text.
        wrapper: Wrapper,
    },
    /// Text that Claude Code makes up.
    Placeholder(Placeholder),
    /// A result that Claude Code makes up for a call of the file.
    PlaceholderResult {
        /// The call.
        call: &'s BlockSpan,
        /// What the result says.
        text: Placeholder,
    },
}

/// What Claude Code says about a text that it wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// It reports what a background task did; the user did not write it (CHAIN 6.9).
    Notification,
    /// The user sent it while a turn was running (CHAIN 6.9a).
    Queued,
}

impl Wrapper {
    /// Returns its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Wrapper::Notification => "notification",
            Wrapper::Queued => "queued",
        }
    }
}

/// Text that Claude Code puts where nothing of the file can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The reply to a prompt that was never answered (CHAIN 6.7).
    NoResponse,
    /// The result of a call that was running when the session ended (CHAIN 6.6).
    Interrupted,
    /// A reply whose calls cannot all be sent: their ids were called before, or they ran on the server and have no result
    /// (CHAIN 6.12, 6.13).
    InterruptedCall,
    /// A call that cannot be sent, between reasoning, which must not become one (CHAIN 6.13).
    RemovedCall,
    /// Empty text between reasoning (CHAIN 6.12).
    RemovedText,
    /// A reply that has nothing but the advisor's answer (CHAIN 6.12).
    AdvisorResponse,
    /// A result that is not in the file (CHAIN 6.13).
    MissingResult,
    /// A first message that had nothing but results without calls (CHAIN 6.13).
    OrphanedResult,
    /// A message of which nothing is left (CHAIN 6.2, 6.12, 6.13).
    NoContent,
}

impl Placeholder {
    /// Returns its words.
    pub fn text(self) -> &'static str {
        match self {
            Placeholder::NoResponse => "No response requested.",
            Placeholder::Interrupted => {
                "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is \
                 unknown. Check whether it took effect before relying on it or running it again.]"
            }
            Placeholder::InterruptedCall => "[Tool use interrupted]",
            Placeholder::RemovedCall => "[Tool use removed]",
            Placeholder::RemovedText => "[Empty text removed]",
            Placeholder::AdvisorResponse => "[Advisor response]",
            Placeholder::MissingResult => "[Tool result missing due to internal error]",
            Placeholder::OrphanedResult => "[Orphaned tool result removed due to conversation resume]",
            Placeholder::NoContent => "(no content)",
        }
    }
}

impl<'s> Part<'s> {
    /// Returns the call, if the part is one.
    #[inline]
    pub(super) fn call(self) -> Option<&'s BlockSpan> {
        match self {
            Part::Block(block) if block.kind == BlockKind::ToolUse => Some(block),
            _ => None,
        }
    }

    /// Returns the id of the call that the part answers.
    #[inline]
    pub(super) fn result(self) -> Option<Id> {
        match self {
            Part::Block(block) if matches!(block.kind, BlockKind::ToolResult(_)) => block.tool,
            Part::PlaceholderResult { call, .. } => call.tool,
            _ => None,
        }
    }

    /// Returns whether the part is a result, be it one that names no call.
    #[inline]
    pub(super) fn is_result(self) -> bool {
        match self {
            Part::Block(block) => matches!(block.kind, BlockKind::ToolResult(_)),
            Part::PlaceholderResult { .. } => true,
            Part::BlockWithNewline(_) | Part::Wrapped { .. } | Part::Placeholder(_) => false,
        }
    }

    #[inline]
    pub(super) fn is_text(self) -> bool {
        match self {
            Part::Block(block) | Part::BlockWithNewline(block) => block.kind.is_text(),
            Part::Wrapped { .. } | Part::Placeholder(_) => true,
            Part::PlaceholderResult { .. } => false,
        }
    }

    /// Returns whether the part is a block of the file with text but no visible character.
    #[inline]
    pub(super) fn is_blank_text(self) -> bool {
        self.kind().is_some_and(is_blank_text)
    }

    /// Returns the kind of the block, if the part is a block of the file.
    #[inline]
    pub(super) fn kind(self) -> Option<BlockKind> {
        match self {
            Part::Block(block) | Part::BlockWithNewline(block) => Some(block.kind),
            Part::Wrapped { .. } | Part::Placeholder(_) | Part::PlaceholderResult { .. } => None,
        }
    }
}

/// Returns whether a block is text without a visible character.
#[inline]
pub(super) fn is_blank_text(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::BlankText | BlockKind::EmptyText)
}
