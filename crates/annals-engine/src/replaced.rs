//! Tool results that the model no longer sees as they were: how large they are, and where the originals lie.

use std::path::PathBuf;

use annals_transcript::content::Block;
use annals_transcript::entry::view::{ContentReplacement, Replacement, SpilledOutput};
use annals_transcript::json::Value;
use annals_transcript::session::BlockSpan;
use annals_transcript::tool;

use crate::error::Error;
use crate::snapshot::Conversation;

/// The most results of one record that are looked up.
const MOST_RESULTS: usize = 1000;

/// A result that names the file of its output is not longer than this.
const LONGEST_NOTICE: u64 = 16 * 1024;

/// A tool result that was replaced. What is not known is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplacedResult<'a> {
    /// The replacement.
    pub replacement: Replacement<'a>,
    /// The name of the tool.
    pub tool: Option<String>,
    /// The original in the transcript: the index of its entry, and its block.
    pub original: Option<(usize, BlockSpan)>,
    /// The size of the original in the transcript: of its text or, if it has none, of its block.
    pub original_bytes: Option<u64>,
    /// The file with the original and its size, if the original was too long for the transcript.
    pub file: Option<(PathBuf, u64)>,
}

impl<'a> ReplacedResult<'a> {
    /// Finds the results that a record replaces, at most 1000 of them.
    pub fn of(conversation: &Conversation<'_>, record: &ContentReplacement<'a>) -> Result<Vec<Self>, Error> {
        record.replacements().take(MOST_RESULTS).map(|replacement| find(conversation, replacement)).collect()
    }
}

fn find<'a>(
    conversation: &Conversation<'_>,
    replacement: Replacement<'a>,
) -> Result<ReplacedResult<'a>, Error> {
    let snapshot = conversation.transcript();
    let id = replacement.tool_use_id();
    let call = id.as_ref().and_then(|id| conversation.call(snapshot.session().id(id)?));
    let original = call.and_then(|call| call.result);
    let tool = match call {
        Some(call) => {
            let bytes = snapshot.span(call.block.offset, call.block.length.min(LONGEST_NOTICE))?;
            tool::read(&bytes).and_then(|call| call.name()).map(std::borrow::Cow::into_owned)
        }
        None => None,
    };
    let file = spilled_file(conversation, replacement, original.map(|(_, block)| block))?;
    let original_bytes = original.map(|(_, block)| size(conversation, block)).transpose()?;
    Ok(ReplacedResult { replacement, tool, original, original_bytes, file })
}

/// Returns the size of the text of a result or, if it has none, of its block.
fn size(conversation: &Conversation<'_>, block: BlockSpan) -> Result<u64, Error> {
    let bytes = conversation.transcript().span(block.offset, block.length)?;
    let text = tool::read_result(&bytes).map_or(0, |result| result.content().text().len() as u64);
    Ok(if text == 0 { block.length } else { text })
}

/// Finds the file with the original: the one that the result or its replacement names, or the one named after the call.
fn spilled_file(
    conversation: &Conversation<'_>,
    replacement: Replacement<'_>,
    result: Option<BlockSpan>,
) -> Result<Option<(PathBuf, u64)>, Error> {
    let snapshot = conversation.transcript();
    let mut names = Vec::new();
    if let Some(block) = result.filter(|block| block.length <= LONGEST_NOTICE) {
        let bytes = snapshot.span(block.offset, block.length)?;
        if let Some(Block::ToolResult(result)) = Value::new(&bytes).map(Block::new) {
            let text = result.content().text();
            names.extend(SpilledOutput::in_text(&text).map(|spilled| spilled.path.into_owned()));
        }
    }
    let text = replacement.replacement().unwrap_or_default();
    names.extend(SpilledOutput::in_text(&text).map(|spilled| spilled.path.into_owned()));
    names.extend(replacement.tool_use_id().map(|id| format!("{id}.txt")));
    let paths = names
        .into_iter()
        .filter_map(|path| snapshot.spilled_file(&SpilledOutput { path: path.into(), size: None }));
    let mut files = paths.filter_map(|path| {
        let length = path.metadata().ok()?.len();
        Some((path, length))
    });
    Ok(files.next())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use annals_transcript::Entry;

    use super::*;
    use crate::files::TranscriptFile;
    use crate::snapshot::Snapshot;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn originals_are_found_in_the_transcript_and_in_files_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join(SESSION).join("tool-results");
        fs::create_dir_all(&results).unwrap();
        for name in ["toolu_2.txt", "b1.txt"] {
            fs::write(results.join(name), "茶".repeat(100)).unwrap();
        }
        fs::write(folder.path().join(SESSION).join("secret.txt"), "x").unwrap();
        let calls: Vec<_> = (1..=3)
            .map(|n| format!(r#"{{"type":"tool_use","id":"toolu_{n}","name":"Bash","input":{{}}}}"#))
            .collect();
        let result = |n: u8, text: &str| {
            format!(
                r#"{{"type":"user","uuid":"r{n}","message":{{"content":[{{"type":"tool_result","tool_use_id":"toolu_{n}","content":"{text}"}}]}}}}"#
            )
        };
        let record = r#"{"type":"content-replacement","replacements":[{"kind":"tool-result","toolUseId":"toolu_1","replacement":"gone"},{"toolUseId":"toolu_2"},{"toolUseId":"toolu_3"},{"toolUseId":"../secret"},{"a":1},7]}"#;
        let lines = [
            format!(r#"{{"type":"assistant","uuid":"a","message":{{"content":[{}]}}}}"#, calls.join(",")),
            result(1, "one"),
            result(2, "two"),
            result(
                3,
                r"<persisted-output>\nOutput too large. Full output saved to: /elsewhere/b1.txt\n\nPreview",
            ),
            record.to_owned(),
        ];
        let path = folder.path().join(format!("{SESSION}.jsonl"));
        fs::write(&path, lines.join("\n")).unwrap();
        let snapshot = Snapshot::take(TranscriptFile::at(&path)).unwrap();
        let conversation = Conversation::of(&snapshot).unwrap();
        let entry = Entry::new(record.as_bytes());
        let found = ReplacedResult::of(&conversation, &entry.view().unwrap()).unwrap();
        let places: Vec<_> = found
            .iter()
            .map(|found| {
                let file = found.file.as_ref().map(|(path, length)| {
                    (path.file_name().unwrap().to_string_lossy().into_owned(), *length)
                });
                (found.tool.as_deref(), found.original.map(|(node, _)| node), file)
            })
            .collect();
        assert_eq!(
            places,
            [
                (Some("Bash"), Some(1), None),
                (Some("Bash"), Some(2), Some(("toolu_2.txt".to_owned(), 300))),
                (Some("Bash"), Some(3), Some(("b1.txt".to_owned(), 300))),
                (None, None, None),
                (None, None, None),
                (None, None, None),
            ]
        );
    }
}
