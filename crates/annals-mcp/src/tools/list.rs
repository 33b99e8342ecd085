//! `list_sessions`.

use annals_proto::{ListParams, ListResult, Method, Session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limit;
use crate::excerpt::{AnswerBudget, id, line};
use crate::history::{History, Refusal};

/// How many sessions are returned by default and at most.
const SESSIONS: (usize, usize) = (20, 100);
/// What stands around the sessions of an answer.
const KEPT: usize = 2_000;
/// The most problems that are reported, and the longest.
const PROBLEMS: (usize, usize) = (5, 200);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Arguments {
    /// Only sessions of this working directory; an absolute path.
    project: Option<String>,
    /// Only sessions with this text in their title or first prompt, in any case. To search contents, use `search_sessions`.
    query: Option<String>,
    /// Only sessions that called this tool, such as `Bash`.
    tool: Option<String>,
    /// Only sessions whose tools read or wrote this file.
    file: Option<String>,
    /// Only sessions active at this time or later: RFC 3339, a day such as 2026-11-02 in UTC, or how long ago, such as 7d.
    since: Option<String>,
    /// Only sessions that began before this time, or up to the end of this day.
    until: Option<String>,
    /// How many sessions to return: 20 by default, at most 100.
    limit: Option<usize>,
    /// `next_cursor` of the previous answer, with the same arguments.
    cursor: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SessionPage {
    sessions: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

/// A session as a model sees it.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    subagents: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<String>,
    /// Whether Claude Code has it open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    live: bool,
    /// Whether only the prompt history mentions it, so that it cannot be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    without_transcript: bool,
}

pub(crate) fn run(history: &History<'_>, arguments: Arguments) -> Result<SessionPage, Refusal> {
    let mut wanted = ListParams {
        workspace_path: arguments.project,
        query: arguments.query,
        tool_name: arguments.tool,
        file_path: arguments.file,
        date_from: arguments.since,
        date_to: arguments.until,
        limit: Some(limit(arguments.limit, SESSIONS.0, SESSIONS.1)?),
        cursor: arguments.cursor,
        ..ListParams::default()
    };
    loop {
        let result: ListResult = history.get(Method::HistoryList, &wanted)?;
        let found = result.sessions.len();
        let mut budget = AnswerBudget::new(KEPT);
        let sessions: Vec<_> = result
            .sessions
            .into_iter()
            .map(|session| row(history, session))
            .take_while(|row| budget.take(row))
            .collect();
        // The cursor of a shorter page continues exactly after what fits.
        if sessions.len() < found {
            wanted.limit = Some(sessions.len().max(1));
            continue;
        }
        let problems =
            result.problems.iter().take(PROBLEMS.0).map(|problem| line(problem, PROBLEMS.1)).collect();
        return Ok(SessionPage { sessions, next_cursor: result.next_cursor, problems });
    }
}

pub(super) fn row(history: &History<'_>, session: Session) -> Row {
    Row {
        id: id(&session.id),
        title: session.title.as_deref().map(|title| line(title, 200)),
        first_prompt: session.first_prompt.as_deref().map(|prompt| line(prompt, 300)),
        project: session.project_path.or(session.cwd).as_deref().map(|path| history.path(path, 400)),
        branch: session.git_branch.as_deref().map(|branch| line(branch, 100)),
        created_at: session.created_at,
        updated_at: session.updated_at,
        messages: session.messages,
        subagents: session.subagents,
        tag: session.tag.as_deref().map(|tag| line(tag, 100)),
        forked_from: session.forked_from.as_deref().map(id),
        live: session.live,
        without_transcript: session.ghost,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
