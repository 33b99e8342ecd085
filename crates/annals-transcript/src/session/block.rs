//! Content blocks without their content: the kind of each and the range of its bytes.

use super::Id;
use crate::content::BlockMembers;
use crate::json::JsonStr;

/// The kind of a content block and the range of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockSpan {
    /// The kind of block.
    pub kind: BlockKind,
    /// Whether it is the whole content: a string instead of an array of blocks.
    pub is_bare: bool,
    /// The call that a `tool_use` makes or a `tool_result` answers.
    pub tool: Option<Id>,
    /// The offset of its value in the file.
    pub offset: u64,
    /// The number of bytes of the value.
    pub length: u64,
}

impl BlockSpan {
    pub(crate) fn is_result(&self) -> bool {
        self.kind.is_result()
    }
}

/// The kinds of content blocks that the chain and the model view distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Text.
    Text,
    /// Text of white space only.
    BlankText,
    /// Text without a character.
    EmptyText,
    /// The text `(no content)`, with which Claude Code fills a reply that has none.
    NoContentText,
    /// Reasoning, readable or not.
    Thinking,
    /// A call.
    ToolUse,
    /// A result; `true` if it says that the call failed.
    ToolResult(bool),
    /// A call of a tool that runs on the server.
    ServerToolUse,
    /// The result of such a call.
    ServerToolResult,
    /// The result of the advisor, a tool on the server.
    AdvisorResult,
    /// A note that another model took over.
    Fallback,
    /// An image.
    Image,
    /// A value that Claude Code does not accept as a block: not an object, without `type`, or a text block without `text`.
    Malformed,
    /// Anything else.
    Other,
}

impl BlockKind {
    /// Returns its name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            BlockKind::Text | BlockKind::BlankText | BlockKind::EmptyText | BlockKind::NoContentText => {
                "text"
            }
            BlockKind::Thinking => "thinking",
            BlockKind::ToolUse => "tool_use",
            BlockKind::ToolResult(_) => "tool_result",
            BlockKind::ServerToolUse
            | BlockKind::ServerToolResult
            | BlockKind::AdvisorResult
            | BlockKind::Fallback
            | BlockKind::Image
            | BlockKind::Malformed
            | BlockKind::Other => "other",
        }
    }

    /// Returns whether it is text.
    pub fn is_text(self) -> bool {
        self.name() == "text"
    }

    /// Returns whether it is the result of a call.
    pub(crate) fn is_result(self) -> bool {
        matches!(self, BlockKind::ToolResult(_))
    }

    /// Returns what kind of text it is.
    pub(super) fn of_text(text: JsonStr<'_>) -> Self {
        // Nearly every text begins with a visible character and need not be decoded.
        if text.raw().first().is_some_and(|first| first.is_ascii_graphic() && !matches!(first, b'\\' | b'('))
        {
            return BlockKind::Text;
        }
        let text = text.decode();
        match text.trim_matches(is_javascript_space) {
            "" if text.is_empty() => BlockKind::EmptyText,
            "" => BlockKind::BlankText,
            "(no content)" => BlockKind::NoContentText,
            _ => BlockKind::Text,
        }
    }
}

/// Returns the kind of a content block with these members, and the id of the call that it makes or answers.
pub(super) fn kind_of<'a>(block: &BlockMembers<'a>) -> (BlockKind, Option<JsonStr<'a>>) {
    let Some(name) = block.type_name else { return (BlockKind::Malformed, None) };
    match &*name.decode_bytes() {
        b"text" => (block.text.map_or(BlockKind::Malformed, BlockKind::of_text), None),
        b"thinking" | b"redacted_thinking" => (BlockKind::Thinking, None),
        b"tool_use" => (BlockKind::ToolUse, block.id),
        b"tool_result" => (BlockKind::ToolResult(block.is_error), block.tool_use_id),
        b"server_tool_use" | b"mcp_tool_use" => (BlockKind::ServerToolUse, block.id),
        b"advisor_tool_result" => (BlockKind::AdvisorResult, block.tool_use_id),
        b"fallback" => (BlockKind::Fallback, None),
        b"image" => (BlockKind::Image, None),
        _ if block.tool_use_id.is_some() => (BlockKind::ServerToolResult, block.tool_use_id),
        _ => (BlockKind::Other, None),
    }
}

/// Returns whether JavaScript's `trim` removes a character.
fn is_javascript_space(character: char) -> bool {
    character == '\u{feff}' || character != '\u{85}' && character.is_whitespace()
}
