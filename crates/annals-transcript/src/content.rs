//! Content blocks: the parts of a message.
//!
//! ```
//! use annals_transcript::Entry;
//! use annals_transcript::content::Block;
//!
//! let line = br#"{"type":"assistant","message":{"content":[{"type":"text","text":"Hi"},{"type":"tool_use","name":"Bash"}]}}"#;
//! let entry = Entry::new(line);
//! assert_eq!(entry.content().text(), "Hi");
//! let [Block::Text(_), Block::ToolUse(call)] = entry.content().blocks().collect::<Vec<_>>()[..] else { panic!() };
//! assert_eq!(call.name().unwrap(), "Bash");
//! ```

use std::borrow::Cow;

use crate::entry::view::view;
use crate::json::{JsonStr, Value};

/// The content of a message or tool result: a string, or an array of blocks.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a>(Option<Value<'a>>);

/// One content block.
#[derive(Clone, Copy, Debug)]
pub enum Block<'a> {
    /// `text`, or a bare string.
    Text(Text<'a>),
    /// `thinking`; its text is empty since 2.1.7x, the signature is not.
    Thinking(Thinking<'a>),
    /// `redacted_thinking`.
    RedactedThinking(RedactedThinking<'a>),
    /// `tool_use`.
    ToolUse(ToolUse<'a>),
    /// `server_tool_use` or `mcp_tool_use`: a call of a tool that runs on the model's server.
    ServerToolUse(ToolUse<'a>),
    /// The result of such a call: `web_search_tool_result`, `mcp_tool_result` …
    ServerToolResult(ToolResult<'a>),
    /// `tool_result`.
    ToolResult(ToolResult<'a>),
    /// `tool_reference`: a tool that a search has found.
    ToolReference(ToolReference<'a>),
    /// `image`.
    Image(Media<'a>),
    /// `document`.
    Document(Media<'a>),
    /// A block of another type.
    Other(Value<'a>),
}

impl<'a> Content<'a> {
    /// Reads content from a value that may be missing.
    pub fn new(value: Option<Value<'a>>) -> Self {
        Self(value)
    }

    /// Returns the JSON value.
    pub fn value(self) -> Option<Value<'a>> {
        self.0
    }

    /// Returns the blocks in order; a string is one text block.
    pub fn blocks(self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let (one, many) = match self.0 {
            Some(value) if value.is_array() => (None, Some(value.items())),
            other => (other.filter(|value| !value.is_null()), None),
        };
        one.into_iter().chain(many.into_iter().flatten()).map(Block::new)
    }

    /// Returns whether its [`text`](Self::text) is a short one. Long texts are not decoded for this.
    pub(crate) fn is_text(self, short: &str) -> bool {
        match self.0.and_then(Value::as_str) {
            Some(text) => text == *short,
            None => !self.blocks().any(|block| block.is_longer_than(short)) && self.text() == short,
        }
    }

    /// Returns the text: the string, or all text blocks joined by newlines.
    pub fn text(self) -> Cow<'a, str> {
        let mut texts = self.blocks().filter_map(|block| match block {
            Block::Text(text) => Some(text.text()),
            _ => None,
        });
        let Some(first) = texts.next() else { return Cow::Borrowed("") };
        texts.fold(first, |all, text| all + "\n" + text)
    }

    /// Returns its [`text`](Self::text) if that has at most so many bytes, and otherwise its beginning, which has at least so many.
    pub fn beginning(self, bytes: usize) -> Cow<'a, str> {
        let mut beginning: Option<Cow<'a, str>> = None;
        for block in self.blocks() {
            let Block::Text(text) = block else { continue };
            let text = text.beginning(bytes);
            beginning = Some(match beginning {
                Some(all) => all + "\n" + text,
                None => text,
            });
            if beginning.as_ref().is_some_and(|all| all.len() >= bytes) {
                break;
            }
        }
        beginning.unwrap_or_default()
    }
}

impl<'a> Block<'a> {
    /// Reads a block from a value.
    pub fn new(value: Value<'a>) -> Self {
        if value.as_str().is_some() {
            return Block::Text(Text { value, raw: value.as_str() });
        }
        let members = BlockMembers::of(value);
        let BlockMembers { text, id, tool_use_id, name, input, content, is_error, .. } = members;
        let call = ToolUse { value, id, name, input };
        let result = ToolResult { value, tool_use_id, content, is_error };
        match members.type_name.map(JsonStr::decode).as_deref() {
            Some("text") => Block::Text(Text { value, raw: text }),
            Some("thinking") => Block::Thinking(Thinking(value)),
            Some("redacted_thinking") => Block::RedactedThinking(RedactedThinking(value)),
            Some("tool_use") => Block::ToolUse(call),
            Some("server_tool_use" | "mcp_tool_use") => Block::ServerToolUse(call),
            Some("tool_result") => Block::ToolResult(result),
            Some("tool_reference") => Block::ToolReference(ToolReference(value)),
            Some("image") => Block::Image(Media(value)),
            Some("document") => Block::Document(Media(value)),
            Some(name) if name.ends_with("_tool_result") => Block::ServerToolResult(result),
            _ => Block::Other(value),
        }
    }

    /// Returns whether it is text that is certainly longer than another one, without decoding it.
    fn is_longer_than(self, other: &str) -> bool {
        // An escape of six bytes stands for one byte of text or more.
        matches!(self, Block::Text(Text { raw: Some(raw), .. }) if raw.raw().len() > 6 * other.len())
    }

    /// Returns the JSON value of the block.
    pub fn value(self) -> Value<'a> {
        match self {
            Block::Text(Text { value, .. })
            | Block::Thinking(Thinking(value))
            | Block::RedactedThinking(RedactedThinking(value))
            | Block::ToolUse(ToolUse { value, .. })
            | Block::ServerToolUse(ToolUse { value, .. })
            | Block::ToolResult(ToolResult { value, .. })
            | Block::ServerToolResult(ToolResult { value, .. })
            | Block::ToolReference(ToolReference(value))
            | Block::Image(Media(value))
            | Block::Document(Media(value))
            | Block::Other(value) => value,
        }
    }

    /// Returns the `type` of the block; `None` for a string or an object without one.
    pub fn type_name(self) -> Option<Cow<'a, str>> {
        self.value().text("type")
    }
}

/// The members of a block that its views and its kind need, found in one pass: a result may be megabytes long. Of several members with the
/// same key, the last one counts.
#[derive(Clone, Copy, Default)]
pub(crate) struct BlockMembers<'a> {
    pub(crate) type_name: Option<JsonStr<'a>>,
    pub(crate) text: Option<JsonStr<'a>>,
    pub(crate) id: Option<JsonStr<'a>>,
    pub(crate) tool_use_id: Option<JsonStr<'a>>,
    pub(crate) is_error: bool,
    pub(crate) content: Option<Value<'a>>,
    name: Option<JsonStr<'a>>,
    input: Option<Value<'a>>,
}

/// The key of such a member.
#[derive(Clone, Copy)]
enum BlockKey {
    Type,
    Text,
    Id,
    ToolUseId,
    IsError,
    Content,
    Name,
    Input,
}

impl<'a> BlockMembers<'a> {
    pub(crate) fn of(block: Value<'a>) -> Self {
        let mut members = Self::default();
        block.members().for_each(|(key, value)| members.add(key, value));
        members
    }

    pub(crate) fn add(&mut self, key: JsonStr<'a>, value: Value<'a>) {
        let key = key.named(|key| {
            Some(match key {
                b"type" => BlockKey::Type,
                b"text" => BlockKey::Text,
                b"id" => BlockKey::Id,
                b"tool_use_id" => BlockKey::ToolUseId,
                b"is_error" => BlockKey::IsError,
                b"content" => BlockKey::Content,
                b"name" => BlockKey::Name,
                b"input" => BlockKey::Input,
                _ => return None,
            })
        });
        match key {
            Some(BlockKey::Type) => self.type_name = value.as_str(),
            Some(BlockKey::Text) => self.text = value.as_str(),
            Some(BlockKey::Id) => self.id = value.as_str(),
            Some(BlockKey::ToolUseId) => self.tool_use_id = value.as_str(),
            Some(BlockKey::IsError) => self.is_error = value.as_bool() == Some(true),
            Some(BlockKey::Content) => self.content = Some(value),
            Some(BlockKey::Name) => self.name = value.as_str(),
            Some(BlockKey::Input) => self.input = Some(value).filter(|input| !input.is_null()),
            None => {}
        }
    }
}

/// Text of a message.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    value: Value<'a>,
    raw: Option<JsonStr<'a>>,
}

impl<'a> Text<'a> {
    /// Returns the text; empty if the block has none.
    pub fn text(&self) -> Cow<'a, str> {
        self.raw.map(JsonStr::decode).unwrap_or_default()
    }

    /// Returns the text if it has at most so many bytes, and otherwise its beginning, which has at least so many.
    pub fn beginning(&self, bytes: usize) -> Cow<'a, str> {
        self.raw.map(|raw| raw.decode_beginning(bytes)).unwrap_or_default()
    }

    /// Returns whether the text is white space only, or empty. Nearly every text begins with a visible character and need not be decoded.
    pub fn is_blank(&self) -> bool {
        !self.raw.is_some_and(begins_visibly) && self.text().trim().is_empty()
    }
}

/// Returns whether the first character of a text is visible and not escaped.
fn begins_visibly(text: JsonStr<'_>) -> bool {
    text.raw().first().is_some_and(|&first| first.is_ascii_graphic() && first != b'\\')
}

view!(part:
    /// Reasoning of the model.
    Thinking {
        /// Returns the reasoning; empty in most files since 2.1.7x.
        thinking: text "thinking",
        /// Returns the signature with which it can be sent again.
        signature: text "signature",
    }
);

view!(part:
    /// Reasoning that is only recorded in encrypted form.
    RedactedThinking {
        /// Returns the encrypted text.
        data: text "data",
    }
);

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolUse<'a> {
    value: Value<'a>,
    id: Option<JsonStr<'a>>,
    name: Option<JsonStr<'a>>,
    input: Option<Value<'a>>,
}

impl<'a> ToolUse<'a> {
    /// Returns the id of the call, which the result refers to.
    pub fn id(&self) -> Option<Cow<'a, str>> {
        self.id.map(JsonStr::decode)
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> Option<Cow<'a, str>> {
        self.name.map(JsonStr::decode)
    }

    /// Returns the arguments.
    pub fn input(&self) -> Option<Value<'a>> {
        self.input
    }

    /// Returns who made the call.
    pub fn caller(&self) -> Option<Value<'a>> {
        self.value.present("caller")
    }
}

/// The result of a tool call.
#[derive(Clone, Copy, Debug)]
pub struct ToolResult<'a> {
    value: Value<'a>,
    tool_use_id: Option<JsonStr<'a>>,
    content: Option<Value<'a>>,
    is_error: bool,
}

impl<'a> ToolResult<'a> {
    /// Returns the id of the call.
    pub fn tool_use_id(&self) -> Option<Cow<'a, str>> {
        self.tool_use_id.map(JsonStr::decode)
    }

    /// Returns the content: text, or blocks with text, images and tool references.
    pub fn content(&self) -> Content<'a> {
        Content::new(self.content)
    }

    /// Returns whether the tool failed.
    pub fn is_error(&self) -> bool {
        self.is_error
    }
}

view!(part:
    /// A tool that a search has found.
    ToolReference {
        /// Returns the name of the tool.
        tool_name: text "tool_name",
    }
);

view!(part:
    /// An image or a document.
    Media {
        /// Returns the title of a document.
        title: text "title",
    }
);

impl<'a> Media<'a> {
    /// Returns `base64`, `url`, `file` or `text`.
    pub fn source_type(&self) -> Option<Cow<'a, str>> {
        self.0.get("source")?.text("type")
    }

    /// Returns the media type.
    pub fn media_type(&self) -> Option<Cow<'a, str>> {
        self.0.get("source")?.text("media_type")
    }

    /// Returns the encoded data, the address or the file id, whichever the source has.
    pub fn data(&self) -> Option<Cow<'a, str>> {
        let source = self.0.get("source")?;
        source.text("data").or_else(|| source.text("url")).or_else(|| source.text("file_id"))
    }
}
