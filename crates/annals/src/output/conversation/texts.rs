//! Short texts in a conversation: names, what is printed in place of something else, and texts cut to one line.

use annals_transcript::content::{Block, Media};
use annals_transcript::prompt::{Input, InputKind};

use crate::output::{self, clean, cut, cut_start, number, size, without_escapes};

/// Returns names once each, in the order in which they first occur, with the number of times if there are several.
pub(super) fn counted(names: &[String]) -> Vec<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let texts = counts.into_iter().map(|(name, count)| match count {
        1 => name.to_owned(),
        _ => format!("{name} ×{count}"),
    });
    texts.collect()
}

/// Returns the name of an input that is folded or only named.
pub(super) fn input_name(input: &Input<'_>) -> &'static str {
    match input.kind {
        InputKind::Output => "output",
        InputKind::CompactSummary => "summary of what was compacted",
        InputKind::Skill => "skill",
        InputKind::IdeSelection => "selection in the editor",
        InputKind::IdeOpenedFile => "file opened in the editor",
        InputKind::TaskNotification => "notification of a task",
        InputKind::Teammate => "message of another agent",
        InputKind::Hook => "hook",
        _ => "added by Claude Code",
    }
}

/// Returns a line that stands for an image or a document.
pub(super) fn media_line(name: &str, media: &Media<'_>) -> String {
    let kind = media.media_type().unwrap_or("?".into());
    let bytes = media.data().map_or(0, |data| data.len() as u64 * 3 / 4);
    format!("[{name} {kind}, {}]", size(bytes))
}

/// Returns a line that stands for a block that cannot be printed.
pub(in crate::output) fn placeholder(block: &Block<'_>) -> Option<String> {
    match block {
        Block::Image(image) => Some(media_line("image", image)),
        Block::Document(document) => Some(media_line("document", document)),
        Block::ServerToolUse(call) => Some(format!("[server tool {}]", call.name().unwrap_or_default())),
        Block::ToolReference(tool) => Some(format!("[tool {}]", tool.tool_name().unwrap_or_default())),
        Block::Other(_) => Some(format!("[{}]", block.type_name().unwrap_or("block".into()))),
        _ => None,
    }
}

/// Returns `line 3`, `lines 3 and 5`, `lines 3, 5, 8 and 20 more`.
pub(super) fn lines_named(lines: &[u64]) -> String {
    let named: Vec<_> = lines.iter().take(3).map(u64::to_string).collect();
    match (lines.len() - named.len(), &named[..]) {
        (0, [line]) => format!("line {line}"),
        (0, [first @ .., last]) => format!("lines {} and {last}", first.join(", ")),
        (more, _) => format!("lines {} and {} more", named.join(", "), number(more as u64)),
    }
}

/// Returns the beginning of a text on one line.
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    cut(&flat(text), longest)
}

/// Returns whether a text looks like a path, whose end says most about it.
pub(in crate::output) fn is_like_path(text: &str) -> bool {
    !text.contains(char::is_whitespace) && text.contains(['/', '\\'])
}

/// Returns what a call is about on one line: of a path, its end.
pub(crate) fn subject_line(subject: &str, longest: usize) -> String {
    if is_like_path(subject) { cut_start(&flat(subject), longest) } else { one_line(subject, longest) }
}

/// Returns a text on one line. A secret may be recognised only before lines are joined, or only after that.
fn flat(text: &str) -> String {
    clean(&output::one_line(&without_escapes(text))).into_owned()
}
