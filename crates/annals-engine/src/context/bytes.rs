//! How many bytes of which kind an entry adds to the context.

use std::collections::HashMap;

use annals_transcript::Entry;
use annals_transcript::content::{Block, Content};
use annals_transcript::entry::view::{Assistant, Attachment, AttachmentKind};
use annals_transcript::json::Value;

use super::{Key, PartKind};

/// About how many tokens an image has.
const IMAGE_TOKENS: u64 = 1_600;

/// How much of something is in the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    /// Bytes of text. A character has about as many bytes as it makes tokens, times a factor: one if it is ASCII, three if it is Chinese.
    pub(super) bytes: u64,
    /// Tokens that are known without the text.
    pub(super) tokens: u64,
}

impl Amount {
    fn of_bytes(bytes: usize) -> Self {
        Self { bytes: bytes as u64, tokens: 0 }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.tokens += other.tokens;
    }

    pub(super) fn subtract(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_sub(other.bytes);
        self.tokens = self.tokens.saturating_sub(other.tokens);
    }

    pub(super) fn sum<'a>(amounts: impl Iterator<Item = &'a Self>) -> Self {
        amounts.fold(Self::default(), |mut sum, amount| {
            sum.add(*amount);
            sum
        })
    }

    /// Returns an estimate of its tokens.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate needs few digits, and bytes are not negative"
    )]
    pub(super) fn estimate(self, tokens_per_byte: f64) -> u64 {
        self.tokens.saturating_add((self.bytes as f64 * tokens_per_byte).round() as u64)
    }
}

/// What an entry adds.
pub(super) type Pieces = Vec<(Key, Amount)>;

/// Returns what an entry adds to the context. `tools` has the names of tools by the ids of calls, and gets those of this entry.
pub(super) fn pieces(entry: &Entry<'_>, is_summary: bool, tools: &mut HashMap<String, String>) -> Pieces {
    let mut pieces = Pieces::new();
    if let Some(attachment) = entry.view::<Attachment<'_>>() {
        pieces.extend(attachment_piece(&attachment));
    } else if let Some(reply) = entry.view::<Assistant<'_>>() {
        add_reply(&mut pieces, entry, &reply, tools);
    } else if entry.kind().is_prompt_or_reply() {
        let kind = if is_summary { PartKind::Summary } else { PartKind::Prompt };
        for block in entry.content().blocks() {
            let (key, amount) = match block {
                Block::ToolResult(result) | Block::ServerToolResult(result) => {
                    let id = result.tool_use_id().unwrap_or_default();
                    let name = tools.get(&*id).cloned().unwrap_or_default();
                    ((PartKind::ToolResult, name), content_amount(result.content()))
                }
                other => ((kind, String::new()), block_amount(other)),
            };
            add(&mut pieces, key, amount);
        }
    }
    pieces
}

fn add(pieces: &mut Pieces, key: Key, amount: Amount) {
    if amount != Amount::default() {
        pieces.push((key, amount));
    }
}

fn add_reply(
    pieces: &mut Pieces,
    entry: &Entry<'_>,
    reply: &Assistant<'_>,
    tools: &mut HashMap<String, String>,
) {
    for block in entry.content().blocks() {
        let (key, amount) = match block {
            Block::Thinking(thinking) => (
                (PartKind::Thinking, String::new()),
                thinking_amount(
                    reply,
                    &thinking.thinking().unwrap_or_default(),
                    thinking.signature().unwrap_or_default().len(),
                ),
            ),
            Block::RedactedThinking(thinking) => {
                let data = thinking.data().unwrap_or_default().len();
                ((PartKind::Thinking, String::new()), thinking_amount(reply, "", data))
            }
            Block::ToolUse(call) | Block::ServerToolUse(call) => {
                let name = call.name().unwrap_or_default().into_owned();
                if let Some(id) = call.id() {
                    tools.insert(id.into_owned(), name.clone());
                }
                let input = call.input().map_or(0, |input| input.bytes().len());
                ((PartKind::ToolCall, String::new()), Amount::of_bytes(name.len() + input))
            }
            Block::ServerToolResult(result) => {
                let id = result.tool_use_id().unwrap_or_default();
                let name = tools.get(&*id).cloned().unwrap_or_default();
                ((PartKind::ToolResult, name), content_amount(result.content()))
            }
            other => ((PartKind::Reply, String::new()), block_amount(other)),
        };
        add(pieces, key, amount);
    }
}

/// Returns how much a block of reasoning is. New versions record its tokens. Otherwise it is its text, or if that was not recorded, the
/// length of the encrypted one, which is in base64.
fn thinking_amount(reply: &Assistant<'_>, text: &str, encrypted: usize) -> Amount {
    let details = reply.usage().and_then(|usage| usage.value().get("output_tokens_details"));
    match details.and_then(|details| details.number("thinking_tokens")).filter(|tokens| *tokens > 0) {
        Some(tokens) => Amount { bytes: 0, tokens },
        None if text.is_empty() => Amount::of_bytes(encrypted / 4 * 3),
        None => Amount::of_bytes(text.len()),
    }
}

fn attachment_piece(attachment: &Attachment<'_>) -> Option<(Key, Amount)> {
    let kind = attachment.kind();
    let name = kind.name().unwrap_or("other").to_owned();
    if let Some(queued) = attachment.queued_command() {
        return Some(((PartKind::Prompt, String::new()), content_amount(queued.prompt())));
    }
    let part = match kind {
        AttachmentKind::PromptSnapshot
        | AttachmentKind::Instructions
        | AttachmentKind::SkillListing
        | AttachmentKind::DeferredToolsDelta
        | AttachmentKind::McpInstructionsDelta
        | AttachmentKind::AgentListingDelta
        | AttachmentKind::SessionContext => PartKind::System,
        _ => PartKind::Attachment,
    };
    let amount = match attachment.rendered().filter(|pieces| pieces.is_array()) {
        Some(rendered) => {
            let pieces = rendered.items().map(|piece| content_amount(Content::new(piece.get("content"))));
            Amount::sum(pieces.collect::<Vec<_>>().iter())
        }
        None => payload_amount(attachment.payload()?),
    };
    (amount != Amount::default()).then_some(((part, name), amount))
}

/// Returns how much the payload of an attachment is of which no rendered text was recorded: its content, or else all of it.
fn payload_amount(payload: Value<'_>) -> Amount {
    let content = payload.present("content");
    match content {
        Some(content) if content.is_object() => Amount::of_bytes(content.bytes().len()),
        Some(content) => content_amount(Content::new(Some(content))),
        None => Amount::of_bytes(payload.bytes().len()),
    }
}

fn content_amount(content: Content<'_>) -> Amount {
    let blocks: Vec<_> = content.blocks().map(block_amount).collect();
    Amount::sum(blocks.iter())
}

fn block_amount(block: Block<'_>) -> Amount {
    match block {
        Block::Text(text) => Amount::of_bytes(text.text().len()),
        Block::Image(_) => Amount { bytes: 0, tokens: IMAGE_TOKENS },
        // A document is sent as text and images, of which base64 tells little more than the size.
        Block::Document(document) => Amount::of_bytes(document.data().map_or(0, |data| data.len() / 4)),
        other => Amount::of_bytes(other.value().bytes().len()),
    }
}
