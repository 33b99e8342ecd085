//! The rules of the Messages API that a resumed conversation can break.
//!
//! Claude Code does not check what it sends. A request that breaks one of these rules is refused, and so is every later one of
//! the same session. The rules are applied to the model view: what Claude Code would send.

mod image;
mod usual;

use annals_transcript::json::Value;
use annals_transcript::model::{Message, Messages, Part, Role, block_as_sent};
use annals_transcript::session::{BlockKind, BlockSpan, Session};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(crate) use usual::FileVerdicts;

/// A rule of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The first message is the user's.
    FirstUser,
    /// A text has a visible character.
    BlankText,
    /// A block has a type that its role may have.
    BlockType,
    /// A document has a source.
    DocumentSource,
    /// The id of a call has letters, digits, `_` and `-` only.
    CallId,
    /// The name of a tool has letters, digits, `_` and `-` only.
    CallName,
    /// The input of a call is an object.
    CallInput,
    /// A failed result has content.
    EmptyError,
    /// The content of a result is text or an array.
    ResultContent,
    /// Reasoning has a signature.
    Signature,
    /// Hidden reasoning has data.
    Redacted,
    /// Reasoning is not the last block of a reply.
    ThinkingLast,
    /// An image has data of a known type that can be decoded.
    ImageData,
    /// The media type of an image is that of its data.
    ImageType,
    /// An image has at most 5 MB.
    ImageSize,
    /// An image has at most 8000 pixels on a side, or 2000 if there are more than 20 images.
    ImageDimensions,
    /// A request has at most 32 MB.
    RequestSize,
}

impl Rule {
    /// Returns the name of the rule.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns what is wrong, in words.
    pub fn title(self) -> &'static str {
        self.row().1
    }

    /// The table of all rules: name, what breaks it.
    fn row(self) -> (&'static str, &'static str) {
        match self {
            Rule::FirstUser => ("first-user", "the conversation begins with a reply"),
            Rule::BlankText => ("blank-text", "text without a visible character"),
            Rule::BlockType => ("block-type", "block of a type that the API does not know"),
            Rule::DocumentSource => ("document-source", "document without a source"),
            Rule::CallId => ("call-id", "id of a call with characters that the API refuses"),
            Rule::CallName => ("call-name", "name of a tool with characters that the API refuses"),
            Rule::CallInput => ("call-input", "input of a call that is no object"),
            Rule::EmptyError => ("error-result-empty", "failed result without content"),
            Rule::ResultContent => ("result-content", "result that is neither text nor blocks"),
            Rule::Signature => ("thinking-signature", "reasoning without a valid signature"),
            Rule::Redacted => ("redacted-data", "hidden reasoning without data"),
            Rule::ThinkingLast => ("thinking-last", "reply that ends with reasoning"),
            Rule::ImageData => ("image-data", "image that cannot be decoded"),
            Rule::ImageType => ("image-media-type", "image of another type than it says"),
            Rule::ImageSize => ("image-size", "image of more than 5 MB"),
            Rule::ImageDimensions => ("image-dimensions", "image with too many pixels"),
            Rule::RequestSize => ("request-size", "request of more than 32 MB"),
        }
    }
}

/// A block that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The index of the entry in the session.
    pub node: usize,
    /// The offset of the block in the file; `None` if the whole message breaks the rule.
    pub block: Option<u64>,
}

/// Returns what would be refused in a request with these messages. `read` returns the bytes of a block.
pub fn check(
    session: &Session,
    messages: &Messages<'_>,
    mut read: impl FnMut(&BlockSpan) -> Vec<u8>,
) -> Vec<Violation> {
    check_verdicts(session, messages, |block, role, _| Verdict::of(role, &read(block)))
}

/// Returns what would be refused in a request with these messages. `verdict` returns what the rules say about a block of a message; it is also
/// told whether the block is one of an entry. The others are made by Claude Code for attachments.
pub(crate) fn check_verdicts(
    session: &Session,
    messages: &Messages<'_>,
    mut verdict: impl FnMut(&BlockSpan, Role, bool) -> Verdict,
) -> Vec<Violation> {
    let mut checker =
        Checker { owners: Owners::of(session, messages), found: Vec::new(), images: Vec::new(), size: 0 };
    for (index, message) in messages.iter().enumerate() {
        checker.add_message(index, message, &mut verdict);
    }
    checker.finish(messages)
}

/// What the rules say about one block, whatever else is in the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// How many bytes of a request it takes.
    size: usize,
    /// The rules that it breaks.
    broken: Vec<Rule>,
    /// The longest side of each of its images.
    images: Vec<u32>,
}

impl Verdict {
    /// Applies the rules to the bytes of a block.
    pub(crate) fn of(role: Role, bytes: &[u8]) -> Self {
        let json = block_as_sent(bytes);
        let size = json.len();
        let Some(block) = Value::new(json.as_bytes()) else { return Self { size, ..Self::default() } };
        let sources = image_sources(block).into_iter();
        let images = sources.filter_map(|source| STANDARD.decode(source.as_bytes()).ok());
        let longest =
            |image: Vec<u8>| image::kind_and_size(&image).map_or(0, |(_, width, height)| width.max(height));
        Self { size, broken: broken_rules(role, block), images: images.map(longest).collect() }
    }

    /// Returns the verdict on a block that breaks no rule, has no image and is sent as it is.
    pub(crate) fn sound(block: &BlockSpan) -> Self {
        Self { size: usize::try_from(block.length).unwrap_or(usize::MAX), ..Self::default() }
    }
}

/// The entries of the blocks that are sent, by the offsets of the blocks.
struct Owners(Vec<(u64, usize)>);

impl Owners {
    fn of(session: &Session, messages: &Messages<'_>) -> Self {
        let mut owners = Vec::new();
        for &node in messages.iter().flat_map(|message| message.entries) {
            let blocks = session.blocks(&session.nodes()[node]).iter();
            // Nothing is asked about most texts, which are half of most requests.
            let asked_for = blocks.filter(|block| block.kind != BlockKind::Text);
            owners.extend(asked_for.map(|block| (block.offset, node)));
        }
        // Nearly all are in order already.
        owners.sort_unstable();
        Self(owners)
    }

    fn get(&self, block: &BlockSpan) -> Option<usize> {
        let found = self.0.binary_search_by_key(&block.offset, |(offset, _)| *offset).ok()?;
        Some(self.0[found].1)
    }
}

const LARGEST_IMAGE: usize = 5 << 20;
const LARGEST_REQUEST: usize = 32 << 20;
const LONGEST_NAME: usize = 200;

struct Checker {
    owners: Owners,
    found: Vec<Violation>,
    /// The images: entry, block, longest side.
    images: Vec<(usize, u64, u32)>,
    size: usize,
}

impl Checker {
    fn add_message(
        &mut self,
        index: usize,
        message: Message<'_>,
        verdict: &mut impl FnMut(&BlockSpan, Role, bool) -> Verdict,
    ) {
        let first = message.entries.first().copied();
        if index == 0
            && message.role == Role::Assistant
            && let Some(node) = first
        {
            self.found.push(Violation { rule: Rule::FirstUser, node, block: None });
        }
        for part in message.parts {
            let (Part::Block(block) | Part::BlockWithNewline(block)) = part else { continue };
            // Such a text has a visible character, and there is nothing else to break. Texts are half of most requests.
            if block.kind == BlockKind::Text {
                self.size += usize::try_from(block.length).unwrap_or(usize::MAX);
                continue;
            }
            let owner = self.owners.get(block);
            let verdict = verdict(block, message.role, owner.is_some());
            self.size += verdict.size;
            // Blocks of attachments are made by Claude Code; they belong to no entry that could be changed.
            let Some(node) = owner else { continue };
            let images = verdict.images.into_iter();
            self.images.extend(images.map(|longest| (node, block.offset, longest)));
            verdict.broken.into_iter().for_each(|rule| self.report(rule, node, block.offset));
        }
        if message.role == Role::Assistant
            && let Some(Part::Block(last)) = message.parts.last()
            && last.kind == BlockKind::Thinking
            && let Some(node) = self.owners.get(last)
        {
            self.found.push(Violation { rule: Rule::ThinkingLast, node, block: Some(last.offset) });
        }
    }

    fn report(&mut self, rule: Rule, node: usize, block: u64) {
        self.found.push(Violation { rule, node, block: Some(block) });
    }

    fn finish(mut self, messages: &Messages<'_>) -> Vec<Violation> {
        let limit = if self.images.len() > MANY_IMAGES { 2000 } else { 8000 };
        let large: Vec<(usize, u64)> = self
            .images
            .iter()
            .filter(|(.., longest)| *longest > limit)
            .map(|(node, at, _)| (*node, *at))
            .collect();
        for (node, at) in large {
            self.report(Rule::ImageDimensions, node, at);
        }
        if self.size > LARGEST_REQUEST
            && let Some(node) = messages.iter().next().and_then(|first| first.entries.first().copied())
        {
            self.found.push(Violation { rule: Rule::RequestSize, node, block: None });
        }
        self.found
    }
}

/// With more images than this, each may only have 2000 pixels on a side.
const MANY_IMAGES: usize = 20;

const USER_BLOCKS: [&str; 6] =
    ["text", "image", "document", "tool_result", "search_result", "container_upload"];
const REPLY_BLOCKS: [&str; 17] = [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "container_upload",
    "compaction",
    "fallback",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_result",
    "advisor_tool_result",
];
const RESULT_BLOCKS: [&str; 5] = ["text", "image", "document", "search_result", "tool_reference"];

/// Returns the rules that a block breaks.
pub(crate) fn broken_rules(role: Role, block: Value<'_>) -> Vec<Rule> {
    let kind = block.text("type").unwrap_or_default();
    let allowed: &[&str] = if role == Role::User { &USER_BLOCKS } else { &REPLY_BLOCKS };
    if !allowed.contains(&&*kind) {
        return vec![Rule::BlockType];
    }
    match &*kind {
        "tool_use" | "server_tool_use" | "mcp_tool_use" => broken_by_call(block),
        "tool_result" => broken_by_result(block),
        "thinking" => (!has_signature(block)).then_some(Rule::Signature).into_iter().collect(),
        "redacted_thinking" => {
            let has_data = block.text("data").is_some_and(|data| !data.is_empty());
            (!has_data).then_some(Rule::Redacted).into_iter().collect()
        }
        kind => broken_by_simple(kind, block).into_iter().collect(),
    }
}

/// Returns the rule that a block of text, an image or a document breaks, in a message or in a result.
pub(crate) fn broken_by_simple(kind: &str, block: Value<'_>) -> Option<Rule> {
    match kind {
        "text" => block.text("text").is_none_or(|text| text.trim().is_empty()).then_some(Rule::BlankText),
        "image" => broken_by_image(block),
        "document" => {
            let source = block.get("source").and_then(|source| source.text("type"));
            let is_known =
                source.is_some_and(|kind| ["base64", "text", "content", "url", "file"].contains(&&*kind));
            (!is_known).then_some(Rule::DocumentSource)
        }
        _ => None,
    }
}

/// Returns whether all characters are letters, digits, `_` or `-`.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn broken_by_call(block: Value<'_>) -> Vec<Rule> {
    let (id, name) = (block.text("id").unwrap_or_default(), block.text("name").unwrap_or_default());
    let rules = [
        (Rule::CallId, is_plain_name(&id)),
        (Rule::CallName, is_plain_name(&name) && name.len() <= LONGEST_NAME),
        (Rule::CallInput, block.get("input").is_some_and(Value::is_object)),
    ];
    rules.into_iter().filter(|(_, holds)| !holds).map(|(rule, _)| rule).collect()
}

fn broken_by_result(block: Value<'_>) -> Vec<Rule> {
    let content = block.get("content").filter(|content| !content.is_null());
    let is_empty = content.is_none_or(|content| match content.as_text() {
        Some(text) => text.is_empty(),
        None => content.is_array() && content.items().next().is_none(),
    });
    if is_empty {
        let is_error = block.get("is_error").is_some_and(Value::is_truthy);
        return is_error.then_some(Rule::EmptyError).into_iter().collect();
    }
    let Some(content) = content.filter(|content| content.as_str().is_none()) else { return Vec::new() };
    if !content.is_array() {
        return vec![Rule::ResultContent];
    }
    content.items().filter_map(broken_by_inner).collect()
}

/// Returns the rule that a block inside a result breaks.
pub(crate) fn broken_by_inner(inner: Value<'_>) -> Option<Rule> {
    let kind = inner.text("type").unwrap_or_default();
    if !RESULT_BLOCKS.contains(&&*kind) {
        return Some(Rule::BlockType);
    }
    broken_by_simple(&kind, inner)
}

fn has_signature(block: Value<'_>) -> bool {
    let is_base64 = |text: &str| !text.is_empty() && STANDARD.decode(text).is_ok();
    block.text("thinking").is_some() && block.text("signature").is_some_and(|text| is_base64(&text))
}

fn broken_by_image(block: Value<'_>) -> Option<Rule> {
    let source = block.get("source");
    let kind = source.and_then(|source| source.text("type")).unwrap_or_default();
    if kind == "url" || kind == "file" {
        return None;
    }
    let source = source.filter(|_| kind == "base64");
    let Some(source) = source else { return Some(Rule::ImageData) };
    let bytes = STANDARD.decode(source.text("data").unwrap_or_default().as_bytes());
    let Some(bytes) = bytes.ok().filter(|bytes| !bytes.is_empty()) else { return Some(Rule::ImageData) };
    if bytes.len() > LARGEST_IMAGE || source.text("data").is_some_and(|data| data.len() > LARGEST_IMAGE) {
        return Some(Rule::ImageSize);
    }
    match image::kind_and_size(&bytes) {
        None => Some(Rule::ImageData),
        Some((kind, ..)) if source.text("media_type").is_none_or(|said| said != kind) => {
            Some(Rule::ImageType)
        }
        Some(_) => None,
    }
}

/// Returns the media type that the data of an image says.
pub(crate) fn image_kind(block: Value<'_>) -> Option<&'static str> {
    let data = block.get("source")?.text("data")?;
    let bytes = STANDARD.decode(data.as_bytes()).ok()?;
    image::kind_and_size(&bytes).map(|(kind, ..)| kind)
}

/// Returns the data of the images in a block: itself, or those in a result.
fn image_sources(block: Value<'_>) -> Vec<String> {
    match block.get("content").filter(|content| content.is_array()) {
        Some(content) => content.items().filter_map(image_data).collect(),
        None => image_data(block).into_iter().collect(),
    }
}

/// Returns the data of a block, if it is an image.
fn image_data(block: Value<'_>) -> Option<String> {
    let source = block.get("source").filter(|_| block.text("type").is_some_and(|kind| kind == "image"))?;
    source.text("data").map(std::borrow::Cow::into_owned)
}
