//! The blocks that Claude Code sends for attachments in user messages (CHAIN.md 6.9). Text that it generates for each
//! request is not among them.

use super::{BlockKind, kind_of};
use crate::content::BlockMembers;
use crate::content::Content;
use crate::entry::Entry;
use crate::entry::view::{Attachment, AttachmentKind, QueuedCommand};
use crate::json::{JsonStr, Value};

/// The text that Claude Code puts before a queued prompt; an empty line follows the prompt.
const QUEUED: &str = "The user sent a new message while you were working:\n";

/// Returns whether attachments of a type can have blocks that are sent.
pub(super) fn may_have_blocks(subtype: JsonStr<'_>) -> bool {
    subtype == *"queued_command" || subtype == *"file"
}

/// Returns the queued prompt in an attachment. The head is enough to rule out others, which may be long.
pub(super) fn queued_command<'a>(entry: &Entry<'a>) -> Option<QueuedCommand<'a>> {
    let is_queued = entry.head().subtype.is_some_and(|subtype| subtype == *"queued_command");
    if is_queued { entry.view::<Attachment>()?.queued_command() } else { None }
}

/// Returns whether a queued prompt is sent as the user's own words.
pub(super) fn is_human_turn(queued: &QueuedCommand<'_>) -> bool {
    let is_human = queued.origin().and_then(|origin| origin.kind()).is_some_and(|kind| kind == "human");
    let is_injected = queued.0.get("isMeta").is_some_and(Value::is_truthy);
    queued.human_turn().and_then(Value::as_bool) == Some(true)
        && queued.mode().is_some_and(|mode| mode == "prompt")
        && is_human
        && !is_injected
}

/// Returns the blocks that are sent for an attachment instead of its content.
pub(super) fn blocks<'a>(attachment: &Attachment<'a>) -> Vec<(Value<'a>, BlockKind)> {
    if let Some(texts) = rendered(attachment) {
        return texts_of_human_turn(attachment, texts);
    }
    match attachment.queued_command() {
        Some(queued) if !is_human_turn(&queued) => images_of_prompt(queued),
        Some(_) => Vec::new(),
        None => images_of_file(attachment),
    }
}

/// Returns the texts that Claude Code recorded for an attachment when it first sent it, if it would use them again. It
/// generates new ones if a recorded text is empty or an object has unknown members (CHAIN 6.9b).
fn rendered<'a>(attachment: &Attachment<'a>) -> Option<Vec<Value<'a>>> {
    let mut texts = Vec::new();
    for piece in attachment.rendered().filter(|pieces| pieces.is_array())?.items() {
        let content = only_members(piece, &["content"])?.get("content")?;
        if !content.is_array() {
            texts.push(content);
            continue;
        }
        let before = texts.len();
        for block in content.items() {
            let is_text = block.text("type").is_some_and(|name| name == "text");
            texts.push(only_members(block, &["type", "text"]).filter(|_| is_text)?);
        }
        if texts.len() == before {
            return None;
        }
    }
    (!texts.is_empty() && texts.iter().all(has_text)).then_some(texts)
}

/// Returns whether a string or a text block is not empty.
fn has_text(value: &Value<'_>) -> bool {
    let text = value.as_str().or(value.get("text").and_then(Value::as_str));
    text.is_some_and(|text| !text.raw().is_empty())
}

/// Returns an object unless it has other members than the known ones.
fn only_members<'a>(value: Value<'a>, known: &[&str]) -> Option<Value<'a>> {
    let is_known = value.members().all(|(key, _)| known.iter().any(|known| key == **known));
    (value.is_object() && is_known).then_some(value)
}

/// Returns the recorded texts of a prompt that is sent as the user's own words. Recorded texts of other attachments are
/// context, which is not part of the model view. Texts that only wrap the prompt in the usual way are left out: the model view
/// wraps it again.
fn texts_of_human_turn<'a>(
    attachment: &Attachment<'a>,
    texts: Vec<Value<'a>>,
) -> Vec<(Value<'a>, BlockKind)> {
    let Some(queued) = attachment.queued_command().filter(is_human_turn) else {
        return Vec::new();
    };
    if matches!(texts[..], [text] if is_usual_wrapping(&Content::new(Some(text)).text(), &queued))
        && images_of_prompt(queued).is_empty()
    {
        return Vec::new();
    }
    texts.into_iter().map(|text| (text, kind_of_text(text))).collect()
}

/// Returns whether a text is what Claude Code usually writes around a queued prompt.
fn is_usual_wrapping(text: &str, queued: &QueuedCommand<'_>) -> bool {
    let after_prompt = text.strip_prefix(QUEUED).and_then(|rest| rest.strip_prefix(&*queued.text()));
    after_prompt.is_some_and(|rest| rest.starts_with("\n\n"))
}

fn kind_of_text(text: Value<'_>) -> BlockKind {
    text.as_str().map_or_else(|| kind_of(&BlockMembers::of(text)).0, BlockKind::of_text)
}

/// Returns the images of a queued prompt. Its text is generated for each request.
fn images_of_prompt(queued: QueuedCommand<'_>) -> Vec<(Value<'_>, BlockKind)> {
    let blocks =
        queued.prompt().value().filter(|prompt| prompt.is_array()).into_iter().flat_map(Value::items);
    let kinds = blocks.map(|block| (block, kind_of(&BlockMembers::of(block)).0));
    kinds.filter(|(_, kind)| *kind == BlockKind::Image).collect()
}

/// Returns the images of an attached file: the file itself, or the output of a notebook's cells. Claude Code sends each as an
/// image block; that block is only built when it is shown.
fn images_of_file<'a>(attachment: &Attachment<'a>) -> Vec<(Value<'a>, BlockKind)> {
    if attachment.kind() != AttachmentKind::File {
        return Vec::new();
    }
    let Some(content) = attachment.payload().and_then(|payload| payload.get("content")) else {
        return Vec::new();
    };
    let Some(file) = content.get("file").filter(|file| file.is_object() || file.is_array()) else {
        return Vec::new();
    };
    match content.text("type").as_deref() {
        Some("image") => vec![(content, BlockKind::Image)],
        Some("notebook") => images_of_cells(file).map(|image| (image, BlockKind::Image)).collect(),
        _ => Vec::new(),
    }
}

fn images_of_cells(notebook: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let cells = notebook.get("cells").into_iter().flat_map(Value::items);
    let outputs = cells.filter_map(|cell| cell.get("outputs")).flat_map(Value::items);
    outputs.filter_map(|output| output.get("image")).filter(|image| image.is_object())
}
