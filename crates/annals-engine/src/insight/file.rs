//! What one transcript tells about the work in it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use annals_transcript::content::{Block, ToolUse};
use annals_transcript::entry::view::{ToolUseResult, User};
use annals_transcript::json::Value;
use annals_transcript::prompt::InputKind;
use annals_transcript::session::{IdTexts, Session};
use annals_transcript::tool::{self, Call, State};
use annals_transcript::turn::{StartedBy, Turn};
use annals_transcript::{Entry, Kind};

use super::ErrorClass;
use crate::error::Error;
use crate::files::TranscriptFile;
use crate::fork::cut_between_words;
use crate::snapshot::{Conversation, Snapshot};

/// The first line of an error has at most this many characters.
const LONGEST_ERROR: usize = 200;

/// Pauses of more than half an hour inside a turn are not counted as work.
const LONGEST_PAUSE_MS: i64 = 30 * 60 * 1000;

/// What one transcript tells.
pub(super) struct FileFacts {
    pub(super) file: TranscriptFile,
    /// The time of the first entry that has one.
    pub(super) first_time: Option<i64>,
    pub(super) turns: Vec<TurnFact>,
    pub(super) calls: Vec<CallFact>,
}

/// A turn.
pub(super) struct TurnFact {
    pub(super) uuid: Option<String>,
    pub(super) time: Option<i64>,
    pub(super) active_ms: u64,
    pub(super) branch: Option<String>,
    /// The slash command that started it.
    pub(super) command: Option<String>,
}

/// A call of a tool.
pub(super) struct CallFact {
    pub(super) id: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) name: String,
    pub(super) state: State,
    pub(super) time: Option<i64>,
    pub(super) duration_ms: Option<u64>,
    pub(super) changed_file: Option<String>,
    pub(super) added: u64,
    pub(super) removed: u64,
    pub(super) skill: Option<String>,
    pub(super) agent_type: Option<String>,
    /// The class and the first line of the error.
    pub(super) error: Option<(ErrorClass, String)>,
}

impl CallFact {
    /// Returns the MCP server of the tool: `mcp__SERVER__TOOL`.
    pub(super) fn mcp_server(&self) -> Option<String> {
        let (server, _) = self.name.strip_prefix("mcp__")?.split_once("__")?;
        Some(server.to_owned())
    }
}

/// What the line of a call tells.
#[derive(Default)]
struct CallLine {
    name: String,
    changed_file: Option<String>,
    skill: Option<String>,
    agent_type: Option<String>,
}

impl FileFacts {
    /// Reads a transcript.
    pub(super) fn read(file: TranscriptFile) -> Result<Self, Error> {
        let mut lines = Lines::default();
        let snapshot = Snapshot::take_with(file, |entry, _, _| lines.add(entry))?;
        let conversation = Conversation::of(&snapshot)?;
        let session = snapshot.session();
        let ids = session.id_texts();
        let active = active_times(&conversation);
        let mut turns = Vec::with_capacity(conversation.turns().len());
        for turn in conversation.turns() {
            let active_ms = active.get(&turn.number).copied().unwrap_or(0);
            turns.push(turn_fact(turn, active_ms, session, ids, &lines));
        }
        let mut calls = Vec::with_capacity(conversation.calls().len());
        for call in conversation.calls() {
            calls.push(call_fact(call, &snapshot, &conversation, ids, &mut lines)?);
        }
        let first_time = session.nodes().iter().find_map(annals_transcript::session::Node::time);
        Ok(Self { file: snapshot.file().clone(), first_time, turns, calls })
    }
}

/// What is collected while the lines are read.
#[derive(Default)]
struct Lines {
    /// Calls by id.
    calls: HashMap<String, CallLine>,
    /// Lines that a result added and removed, by the id of its call.
    changes: HashMap<String, (u64, u64)>,
    /// The lines from which on another branch was checked out.
    branches: Vec<(u64, String)>,
}

impl Lines {
    fn add(&mut self, entry: &Entry<'_>) {
        match entry.kind() {
            Kind::Assistant => {
                for block in entry.content().blocks() {
                    if let Block::ToolUse(call) = block
                        && let Some(id) = call.id()
                    {
                        self.calls.entry(id.into_owned()).or_insert_with(|| call_line(&call));
                    }
                }
            }
            Kind::User => {
                self.add_branch(entry);
                self.add_result(entry);
            }
            _ => {}
        }
    }

    fn add_branch(&mut self, entry: &Entry<'_>) {
        let branch = entry.view::<User<'_>>().and_then(|user| user.git_branch()).unwrap_or_default();
        if !branch.is_empty() && self.branches.last().is_none_or(|(_, last)| *last != branch) {
            self.branches.push((entry.at().line, branch.into_owned()));
        }
    }

    /// Counts the lines that an edit added and removed. An entry with the result of an edit has no other result.
    fn add_result(&mut self, entry: &Entry<'_>) {
        self.changes.extend(changed_lines_of(entry));
    }

    /// Returns the branch that was checked out at a line.
    fn branch_at(&self, line: u64) -> Option<String> {
        let after = self.branches.partition_point(|(first, _)| *first <= line);
        self.branches.get(after.checked_sub(1)?).map(|(_, branch)| branch.clone())
    }
}

fn input(call: &ToolUse<'_>, key: &str) -> Option<String> {
    call.input()?.text(key).map(Cow::into_owned)
}

fn call_line(call: &ToolUse<'_>) -> CallLine {
    let name = call.name().unwrap_or_default().into_owned();
    let skill = (name == "Skill").then(|| input(call, "skill").or_else(|| input(call, "command")));
    let agent_type = (name == "Task" || name == "Agent").then(|| input(call, "subagent_type"));
    let (skill, agent_type) = (skill.flatten(), agent_type.flatten());
    CallLine { changed_file: tool::changed_file(call), skill, agent_type, name }
}

/// Returns the call that an entry answers, if it is an edit, with how many lines that added and removed.
pub(crate) fn changed_lines_of(entry: &Entry<'_>) -> Option<(String, (u64, u64))> {
    let Some(ToolUseResult::Object(output)) = entry.tool_use_result() else { return None };
    let changes = changed_lines(output)?;
    let call = entry.content().blocks().find_map(|block| match block {
        Block::ToolResult(result) => result.tool_use_id().map(Cow::into_owned),
        _ => None,
    });
    Some((call?, changes))
}

/// Returns how many lines an edit added and removed, from the patch in its result. A new file has no patch, but its content.
fn changed_lines(output: Value<'_>) -> Option<(u64, u64)> {
    let patch = output.get("structuredPatch")?;
    let lines = patch.items().flat_map(|hunk| hunk.texts("lines").collect::<Vec<_>>());
    let (mut added, mut removed) = (0, 0);
    for line in lines {
        added += u64::from(line.starts_with('+'));
        removed += u64::from(line.starts_with('-'));
    }
    if output.text("type").as_deref() == Some("create") {
        added = output.text("content").map_or(0, |content| content.lines().count() as u64);
    }
    Some((added, removed))
}

/// Returns how long each turn was worked on, by its number: the time between its entries, up to the last one that belongs to its work. A
/// longer pause is a machine that slept, or a question that waited for its answer.
fn active_times(conversation: &Conversation<'_>) -> HashMap<usize, u64> {
    let turns = conversation.turns().iter();
    let ends: HashMap<_, _> = turns.filter_map(|turn| Some((turn.number, turn.ended_at?))).collect();
    let mut active = HashMap::new();
    let mut last: Option<(usize, i64)> = None;
    let mut seen = HashSet::new();
    for (index, node) in conversation.session().nodes().iter().enumerate() {
        // A line that another one replaces, as a repair does, is no second piece of work.
        if node.id.is_some_and(|id| !seen.insert(id)) {
            continue;
        }
        let Some((turn, time)) = conversation.turn_of(index).zip(node.time()) else { continue };
        if ends.get(&turn).is_none_or(|end| time > *end) {
            continue;
        }
        if let Some((last_turn, last_time)) = last
            && last_turn == turn
            && (0..=LONGEST_PAUSE_MS).contains(&(time - last_time))
        {
            *active.entry(turn).or_default() += (time - last_time).unsigned_abs();
        }
        last = Some((turn, time));
    }
    active
}

fn turn_fact(turn: &Turn, active_ms: u64, session: &Session, ids: IdTexts<'_>, lines: &Lines) -> TurnFact {
    let node = &session.nodes()[turn.node];
    let is_command = turn.started_by == StartedBy::Input(InputKind::Command);
    let command = is_command.then(|| turn.prompt.split_whitespace().next().map(str::to_owned)).flatten();
    TurnFact {
        uuid: node.id.map(|id| ids.get(id)),
        time: turn.started_at,
        active_ms,
        branch: lines.branch_at(node.at.line),
        command,
    }
}

fn call_fact(
    call: &Call,
    snapshot: &Snapshot,
    conversation: &Conversation<'_>,
    ids: IdTexts<'_>,
    lines: &mut Lines,
) -> Result<CallFact, Error> {
    let session = conversation.session();
    let node = &session.nodes()[call.node];
    let id = call.block.tool.map(|id| ids.get(id));
    let line = id.as_ref().and_then(|id| lines.calls.remove(id)).unwrap_or_default();
    let (added, removed) = id.as_ref().and_then(|id| lines.changes.get(id)).copied().unwrap_or_default();
    let state = conversation.state(call)?;
    Ok(CallFact {
        uuid: node.id.map(|id| ids.get(id)),
        name: line.name,
        state,
        time: node.time(),
        duration_ms: call.duration_ms(session),
        changed_file: line.changed_file,
        added,
        removed,
        skill: line.skill,
        agent_type: line.agent_type,
        error: error_of(call, state, snapshot)?,
        id,
    })
}

/// Returns the class and the first line of the error of a call that failed or was stopped; `None` for all others. The line is not masked.
pub fn call_error(
    conversation: &Conversation<'_>,
    call: &Call,
) -> Result<Option<(ErrorClass, String)>, Error> {
    error_of(call, conversation.state(call)?, conversation.transcript())
}

fn error_of(call: &Call, state: State, snapshot: &Snapshot) -> Result<Option<(ErrorClass, String)>, Error> {
    if matches!(state, State::Ok | State::Pending) {
        return Ok(None);
    }
    let text = match call.result {
        Some((_, block)) => {
            let bytes = snapshot.span(block.offset, block.length)?;
            tool::read_result(&bytes).map(|result| result.content().text().into_owned()).unwrap_or_default()
        }
        None => String::new(),
    };
    // It is masked where it is shown, and there nobody would recognise a part of a secret.
    let shown = cut_between_words(&first_line(&text), LONGEST_ERROR, false);
    let shown = if shown.is_empty() && !text.trim().is_empty() { "…".to_owned() } else { shown };
    Ok(ErrorClass::of(state, &text).map(|class| (class, shown)))
}

/// Returns the first line of an error that says something. An exit code says little, so the line behind it is added.
fn first_line(text: &str) -> String {
    let text = text.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    match lines.next().filter(|_| first.starts_with("Exit code ")) {
        Some(second) => format!("{first}: {second}"),
        None => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_an_error_says_something() {
        assert_eq!(first_line("\n<tool_use_error>File is gone\nmore</tool_use_error>"), "File is gone");
        assert_eq!(first_line("Exit code 1\n\nerror: 天气\nmore"), "Exit code 1: error: 天气");
        assert_eq!((&*first_line("Exit code 1"), &*first_line(" \n ")), ("Exit code 1", ""));
    }
}
