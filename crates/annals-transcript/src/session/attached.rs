//! What Claude Code sends of attachments in the user's messages (6.9), beside text that it makes up at every request.

use super::BlockKind;
use crate::content::Content;
use crate::entry::Entry;
use crate::entry::view::{Attachment, AttachmentKind, QueuedCommand};
use crate::json::Value;

/// How Claude Code begins a queued prompt, which follows with an empty line behind it.
const QUEUED: &str = "The user sent a new message while you were working:\n";

/// Returns the prompt in an attachment. Other attachments, which may be long, are told by their head alone.
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

/// Returns the blocks that an attachment sends in place of its content.
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

/// Returns the texts that Claude Code made of an attachment when it first sent it, if it takes them as such. It makes new
/// ones where one of them is empty or an object has members that it does not know.
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
    let is_said = |value: &Value<'_>| match value.as_str().or(value.get("text").and_then(Value::as_str)) {
        Some(text) => !text.raw().is_empty(),
        None => false,
    };
    (!texts.is_empty() && texts.iter().all(is_said)).then_some(texts)
}

/// Returns an object unless it has other members than these.
fn only_members<'a>(value: Value<'a>, known: &[&str]) -> Option<Value<'a>> {
    let is_known = value.members().all(|(key, _)| known.iter().any(|known| key == **known));
    (value.is_object() && is_known).then_some(value)
}

/// Returns the texts that were made of a prompt of the user's. Those that were made of other attachments are context,
/// which is not part of the model view; and what Claude Code says of a prompt anyway is left to be wrapped.
fn texts_of_human_turn<'a>(
    attachment: &Attachment<'a>,
    texts: Vec<Value<'a>>,
) -> Vec<(Value<'a>, BlockKind)> {
    let Some(queued) = attachment.queued_command().filter(is_human_turn) else {
        return Vec::new();
    };
    let is_usual = |text: &str| {
        let words = text.strip_prefix(QUEUED).and_then(|rest| rest.strip_prefix(&*queued.text()));
        words.is_some_and(|words| words.starts_with("\n\n"))
    };
    if matches!(texts[..], [text] if is_usual(&Content::new(Some(text)).text()))
        && images_of_prompt(queued).is_empty()
    {
        return Vec::new();
    }
    texts.into_iter().map(|text| (text, kind_of_text(text))).collect()
}

fn kind_of_text(text: Value<'_>) -> BlockKind {
    text.as_str().map_or_else(|| BlockKind::of_block(text).0, BlockKind::of_text)
}

/// Returns the images of a queued prompt; its text is made up.
fn images_of_prompt(queued: QueuedCommand<'_>) -> Vec<(Value<'_>, BlockKind)> {
    let blocks =
        queued.prompt().value().filter(|prompt| prompt.is_array()).into_iter().flat_map(Value::items);
    let kinds = blocks.map(|block| (block, BlockKind::of_block(block).0));
    kinds.filter(|(_, kind)| *kind == BlockKind::Image).collect()
}

/// Returns the images of a file that was read for the user: the file itself, or the output of a notebook's cells. Claude Code
/// sends each as an image block, which is spelled only when it is shown.
fn images_of_file<'a>(attachment: &Attachment<'a>) -> Vec<(Value<'a>, BlockKind)> {
    if attachment.kind() != AttachmentKind::File {
        return Vec::new();
    }
    let Some(content) = attachment.payload().and_then(|payload| payload.get("content")) else {
        return Vec::new();
    };
    let is_open = |file: &Value<'_>| file.is_object() || file.is_array();
    let Some(file) = content.get("file").filter(is_open) else { return Vec::new() };
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
