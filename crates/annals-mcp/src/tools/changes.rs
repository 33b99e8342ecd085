//! `get_changes`: the files that a session changed, and its edits as diffs.

use annals_proto::{FilesResult, Method, OneSessionParams, ToolCall, ToolState, ToolsParams, ToolsResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use similar::TextDiff;

use super::limit;
use crate::excerpt::{AnswerBudget, excerpt, id, line};
use crate::history::{History, Refusal};

/// How many edits are returned by default and at most.
const EDITS: (usize, usize) = (30, 200);
/// How many bytes of each diff are returned by default and at most.
const DIFF: (usize, usize) = (3_000, 20_000);
/// The longest text that is compared line by line. Longer ones are shown as removed and added.
const LONGEST_COMPARED: usize = 32 << 10;
/// How many files are listed, and how long their paths are at most.
const FILES: (usize, usize) = (60, 200);
/// What stands around the edits of an answer: the files.
const KEPT: usize = 19_000;
/// How many equal lines are shown around changed ones.
const CONTEXT: usize = 2;
/// How many calls are read at once.
const PAGE: usize = 500;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The session: its id or the beginning of it, its title or a part of it, or words of its first prompt.
    session: String,
    /// The id of one of its subagents, to see the edits of that.
    #[serde(default)]
    agent: Option<String>,
    /// Selects among several sessions with the same id: the working directory.
    #[serde(default)]
    project: Option<String>,
    /// Only files whose path contains this.
    #[serde(default)]
    file: Option<String>,
    /// Only edits after the one with this number: the `more_after` of the previous answer.
    #[serde(default)]
    after: Option<usize>,
    /// How many edits to return: 30 by default, at most 200; 0 lists the files alone.
    #[serde(default)]
    limit: Option<usize>,
    /// How many bytes of each diff to return: 3000 by default, at most 20000.
    #[serde(default)]
    text_limit: Option<usize>,
    /// Return diffs from this byte on: the `continue_at` of a diff that was cut. Use it with `after` and `limit` 1.
    #[serde(default)]
    text_offset: Option<usize>,
}

impl Arguments {
    /// Returns whether edits of a file are asked for.
    fn includes(&self, path: &str) -> bool {
        self.file.as_ref().is_none_or(|file| path.contains(file.as_str()))
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Changes {
    /// The files that the session and its subagents changed, by path.
    files: Vec<File>,
    edits: Vec<Edit>,
    /// `after` for the rest of the edits.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_after: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct File {
    path: String,
    edits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_edit_at: Option<String>,
}

#[derive(Debug, Serialize)]
struct Edit {
    /// Its number among all edits of the transcript, from 1.
    number: usize,
    file: String,
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    /// How the call ended, unless it succeeded: then nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<ToolState>,
    diff: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    continue_at: Option<usize>,
}

#[expect(clippy::needless_pass_by_value, reason = "every tool is called in this form")]
pub(crate) fn run(history: &History<'_>, arguments: Arguments) -> Result<Changes, Refusal> {
    let limit = match arguments.limit {
        Some(0) => 0,
        given => limit(given, EDITS.0, EDITS.1)?,
    };
    let text_limit = arguments.text_limit.unwrap_or(DIFF.0);
    if !(1..=DIFF.1).contains(&text_limit) {
        return Err(Refusal::new(format!("`text_limit` is from 1 to {}", DIFF.1)));
    }
    let mut notes = Vec::new();
    let files = files(history, &arguments, &mut notes)?;
    let after = arguments.after.unwrap_or_default();
    let mut edits = Vec::new();
    let mut more_after = None;
    let mut budget = AnswerBudget::new(KEPT);
    let mut number = 0;
    let mut see = |call: ToolCall| {
        let Some(changed) = FileEdit::by(&call) else { return true };
        number += 1;
        if number <= after || !arguments.includes(&changed.path) {
            return true;
        }
        let edit = changed.edit(number, &call, arguments.text_offset.unwrap_or_default(), text_limit.max(4));
        let fits = edits.len() < limit && budget.take(&edit);
        if fits {
            edits.push(edit);
        } else {
            more_after = Some(number - 1);
        }
        fits
    };
    if limit > 0 {
        each_call(history, &arguments, &mut see)?;
    }
    Ok(Changes { files, edits, more_after, notes })
}

/// Returns the files that the session changed, as far as they are asked for and fit.
fn files(
    history: &History<'_>,
    arguments: &Arguments,
    notes: &mut Vec<String>,
) -> Result<Vec<File>, Refusal> {
    let wanted = OneSessionParams {
        session_id: arguments.session.clone(),
        workspace_path: arguments.project.clone(),
        reveal: None,
    };
    let found: FilesResult = history.get(Method::HistoryFiles, &wanted)?;
    let mut files: Vec<_> = found.files.into_iter().filter(|file| arguments.includes(&file.path)).collect();
    if found.cut || files.len() > FILES.0 {
        notes.push(format!(
            "{} files are listed, and there are more; give `file` to see others",
            files.len().min(FILES.0)
        ));
        files.truncate(FILES.0);
    }
    let files = files.into_iter().map(|file| File {
        path: history.path(&file.path, FILES.1),
        edits: file.edits,
        last_edit_at: file.last_edit_at,
    });
    Ok(files.collect())
}

/// Calls `see` with each tool call of a transcript, until it returns `false`.
fn each_call(
    history: &History<'_>,
    arguments: &Arguments,
    see: &mut impl FnMut(ToolCall) -> bool,
) -> Result<(), Refusal> {
    let mut wanted = ToolsParams {
        session_id: arguments.session.clone(),
        workspace_path: arguments.project.clone(),
        agent_id: arguments.agent.clone(),
        limit: Some(PAGE),
        ..ToolsParams::default()
    };
    loop {
        let page: ToolsResult = history.get(Method::HistoryTools, &wanted)?;
        for call in page.calls {
            if !see(call) {
                return Ok(());
            }
        }
        match page.next_cursor {
            Some(cursor) => wanted.cursor = Some(cursor),
            None => return Ok(()),
        }
    }
}

/// What a call changes, by its arguments: pieces of a file, each before and after.
struct FileEdit {
    path: String,
    pieces: Vec<(String, String)>,
}

impl FileEdit {
    /// Returns what a call changes; `None` if its tool changes no file.
    fn by(call: &ToolCall) -> Option<Self> {
        let tool = call.name.as_deref()?;
        if !["Edit", "MultiEdit", "Write", "NotebookEdit"].contains(&tool) {
            return None;
        }
        let input: Value = serde_json::from_str(call.input.as_ref()?.get()).ok()?;
        let path = ["file_path", "notebook_path"].iter().find_map(|key| input[*key].as_str())?.to_owned();
        let pieces = match tool {
            "Write" => vec![(String::new(), text_of(&input["content"]))],
            "NotebookEdit" => vec![(String::new(), text_of(&input["new_source"]))],
            "MultiEdit" => input["edits"].as_array().into_iter().flatten().map(piece).collect(),
            _ => vec![piece(&input)],
        };
        Some(Self { path, pieces })
    }

    fn edit(&self, number: usize, call: &ToolCall, offset: usize, budget: usize) -> Edit {
        let diff: String = self.pieces.iter().map(|(old, new)| diff(old, new)).collect();
        let diff = excerpt(&diff, offset, budget);
        Edit {
            number,
            file: line(&self.path, FILES.1),
            tool: call.name.as_deref().map(id).unwrap_or_default(),
            uuid: call.uuid.as_deref().map(id),
            time: call.timestamp.clone(),
            state: Some(call.state).filter(|state| *state != ToolState::Ok),
            diff: diff.text,
            continue_at: diff.continues_at,
        }
    }
}

/// Returns the difference between two texts, with lines that begin with `-`, `+` or a blank.
fn diff(old: &str, new: &str) -> String {
    if old.len() + new.len() <= LONGEST_COMPARED {
        return TextDiff::from_lines(old, new)
            .unified_diff()
            .context_radius(CONTEXT)
            .missing_newline_hint(false)
            .to_string();
    }
    let removed = old.lines().map(|line| format!("-{line}\n"));
    removed.chain(new.lines().map(|line| format!("+{line}\n"))).collect()
}

/// Returns the old and the new text of an edit.
fn piece(edit: &Value) -> (String, String) {
    (text_of(&edit["old_string"]), text_of(&edit["new_string"]))
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
