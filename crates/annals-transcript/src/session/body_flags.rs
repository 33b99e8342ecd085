//! The flags of a node that depend on the body of its entry, which the head does not include.

use std::borrow::Cow;

use super::{BlockKind, BlockSpan, attached};
use crate::entry::{Entry, Flag, Head, Kind};
use crate::json::Value;

/// Returns the flags that depend on the body of an entry, which its head does not include.
pub(super) fn flags_of_body(entry: &Entry<'_>, is_synthetic: bool, blocks: &[BlockSpan]) -> u32 {
    let head = entry.head();
    let flags: &[(Flag, bool)] = match entry.kind() {
        Kind::User => {
            let text = sole_text(head, blocks);
            &[
                (Flag::NoBlocks, has_no_blocks(head, blocks)),
                (Flag::Contentless, is_contentless(head, blocks)),
                (Flag::Notification, head.origin.is_some_and(|kind| kind == *"task-notification")),
                (
                    Flag::Caveat,
                    entry.has(Flag::Meta) && begins_with_any(text.as_deref(), &["<local-command-caveat>"]),
                ),
                (Flag::CommandText, begins_with_any(text.as_deref(), &COMMAND_TAGS)),
                // CHAIN 6.4.
                (Flag::Companion, entry.has(Flag::TurnCompanion) || entry.has(Flag::FromTool)),
            ]
        }
        Kind::Assistant => &[
            (Flag::NoBlocks, has_no_blocks(head, blocks)),
            (Flag::Contentless, is_contentless(head, blocks) || is_empty_string(blocks)),
            (Flag::Synthetic, entry.has(Flag::ApiError) && is_synthetic),
        ],
        Kind::System => &[(Flag::LocalCommand, is_local_command(entry))],
        Kind::Attachment => {
            let queued = attached::queued_command(entry);
            &[(Flag::HumanTurn, queued.is_some_and(|queued| attached::is_human_turn(&queued)))]
        }
        _ => &[],
    };
    flags.iter().filter(|(_, holds)| *holds).fold(0, |bits, (flag, _)| bits | flag.bit())
}

fn begins_with_any(text: Option<&str>, tags: &[&str]) -> bool {
    text.is_some_and(|text| tags.iter().any(|tag| text.starts_with(tag)))
}

fn has_no_blocks(head: &Head<'_>, blocks: &[BlockSpan]) -> bool {
    blocks.is_empty() && head.has(Flag::MessageObject) && head.content.is_some_and(Value::is_array)
}

/// Returns whether a message has no content that Claude Code can read. An empty array is content (CHAIN 1.2a).
fn is_contentless(head: &Head<'_>, blocks: &[BlockSpan]) -> bool {
    let is_readable = blocks.iter().any(|block| block.kind != BlockKind::Malformed);
    !(head.has(Flag::MessageObject) && is_readable || has_no_blocks(head, blocks))
}

fn is_empty_string(blocks: &[BlockSpan]) -> bool {
    matches!(blocks, [BlockSpan { kind: BlockKind::EmptyText, is_bare: true, .. }])
}

/// The tags at the beginning of user entries with the name or the output of a local command.
const COMMAND_TAGS: [&str; 3] = ["<command-name>", "<local-command-stdout>", "<local-command-stderr>"];

/// Returns the text of a message that consists of one text, if it begins with a tag.
fn sole_text<'a>(head: &Head<'a>, blocks: &[BlockSpan]) -> Option<Cow<'a, str>> {
    let &[BlockSpan { kind: BlockKind::Text, is_bare, .. }] = blocks else { return None };
    let content = head.content?;
    let text = if is_bare { content } else { content.items().next()?.get("text")? }.as_str()?;
    text.raw().first().is_some_and(|first| matches!(first, b'<' | b'\\')).then(|| text.decode())
}

/// Returns whether an entry is a local command or its output.
pub(super) fn is_local_command(entry: &Entry<'_>) -> bool {
    entry.kind() == Kind::System && entry.head().subtype.is_some_and(|subtype| subtype == *"local_command")
}
