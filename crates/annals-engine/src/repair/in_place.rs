//! Files that are too large are written anew, without what a resumed session does not need.
//!
//! Each entry is in the new file once, where it was first and as it was written last. Damaged lines are left out, and so are messages
//! before the last compaction that it did not keep: Claude Code does not send them. Records, such as titles, messages without a uuid, and
//! everything after the compaction, branches too, are kept. The old file is kept as a backup.

use std::collections::HashSet;

use annals_transcript::json::Value;
use annals_transcript::session::{Node, Session};

use super::plan::{evaluation_of, json_of};
use crate::analysis::Analysis;
use crate::analysis::graph::{ItemIndex, Places};

/// Returns the bytes of a smaller file of which Claude Code restores as much; `None` if there is none.
pub(super) fn rewritten(repaired: &[u8], old_length: usize) -> Option<Vec<u8>> {
    let session = Session::read(repaired).ok()?;
    let analysis = Analysis::of(&session, &Places::new(), None)?;
    let bytes = without_ballast(repaired, &analysis);
    let uuids: Vec<String> = (0..analysis.graph.items.len()).map(|item| analysis.graph.uuid(item)).collect();
    let uuids: Vec<&str> = uuids.iter().map(String::as_str).collect();
    let before = evaluation_of(&analysis, &uuids, repaired);
    let after = evaluation_of(&analysis, &uuids, &bytes);
    (bytes.len() < old_length && after.score() <= before.score()).then_some(bytes)
}

fn without_ballast(repaired: &[u8], analysis: &Analysis<'_>) -> Vec<u8> {
    let graph = &analysis.graph;
    let is_kept = kept_items(analysis);
    let mut is_written = vec![false; graph.items.len()];
    let last_of_leaf = last_line(analysis, analysis.wanted.leaf);
    let kept_from = analysis.wanted.boundary.map_or(0, |boundary| graph.node(boundary).at.offset);
    let named = contents_of_named_messages(repaired, analysis);
    let mut bytes = Vec::new();
    for (index, node) in analysis.session.nodes().iter().enumerate() {
        let item = node.id.filter(|_| node.kind.is_message()).and_then(|id| graph.item(id));
        let json = match item {
            // The last message stays after the others, because Claude Code continues from the last line.
            Some(item) if item == analysis.wanted.leaf && Some(index) != last_of_leaf => continue,
            Some(item) if is_kept[item] && !std::mem::replace(&mut is_written[item], true) => {
                json_of(repaired, graph.node(item))
            }
            None if node.is_read_by_claude_code() && !node.kind.is_message() => json_of(repaired, node),
            // Claude Code does not send messages without a uuid, but somebody wrote them. A repair may have written them again.
            None if node.id.is_none() && node.at.offset >= kept_from && node.kind.is_prompt_or_reply() => {
                let json = json_of(repaired, node);
                if named.contains(&content_of(&json)) {
                    continue;
                }
                json
            }
            Some(_) | None => continue,
        };
        bytes.extend_from_slice(&json);
        bytes.push(b'\n');
    }
    bytes
}

/// Returns the contents of all messages that have a uuid, if there are messages without one.
fn contents_of_named_messages(repaired: &[u8], analysis: &Analysis<'_>) -> HashSet<Vec<u8>> {
    let messages = analysis.session.nodes().iter().filter(|node| node.kind.is_prompt_or_reply());
    let (named, unnamed): (Vec<&Node>, Vec<&Node>) = messages.partition(|node| node.id.is_some());
    if unnamed.is_empty() {
        return HashSet::new();
    }
    named.into_iter().map(|node| content_of(&json_of(repaired, node))).collect()
}

/// Returns what identifies a message besides its uuid: its time and its `message`.
fn content_of(json: &[u8]) -> Vec<u8> {
    let Some(entry) = Value::new(json) else { return Vec::new() };
    let time = entry.text("timestamp").unwrap_or_default();
    let message = entry.get("message").map_or(&[][..], |message| message.bytes());
    [time.as_bytes(), message].concat()
}

/// Returns which items are kept: the conversation, and everything after its last compaction.
fn kept_items(analysis: &Analysis<'_>) -> Vec<bool> {
    let graph = &analysis.graph;
    let start = analysis.wanted.boundary.map_or(0, |boundary| graph.position(boundary));
    let mut is_kept: Vec<bool> = (0..graph.items.len()).map(|item| graph.position(item) >= start).collect();
    for &item in &analysis.wanted.entries {
        is_kept[item] = true;
    }
    is_kept
}

/// Returns the index of the last line of an item.
fn last_line(analysis: &Analysis<'_>, item: ItemIndex) -> Option<usize> {
    let id = analysis.graph.items[item].id;
    analysis.session.nodes().iter().rposition(|node| node.id == Some(id) && node.kind.is_message())
}
