//! `get_session` and `session_stats`.

use std::collections::BTreeMap;

use annals_proto::Tokens;
use annals_proto::{
    AgentState, AgentsParams, AgentsResult, Method, OneSessionParams, Session, StartedBy, Stats, StatsParams,
    ToolCount, Turn, TurnsParams, TurnsResult,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::{Row, row};
use super::{limit, to_json};
use crate::excerpt::{AnswerBudget, id, line};
use crate::history::{History, Refusal};

/// How many turns are returned by default and at most.
const TURNS: (usize, usize) = (100, 500);
/// How many agents are returned.
const AGENTS: usize = 20;
/// What stands around the turns of an answer: the session and its agents.
const KEPT: usize = 14_000;
/// The longest prompt of a turn in the outline.
const LONGEST_PROMPT: usize = 240;
/// The most rows of a table of figures.
const ROWS: usize = 40;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The session: its id or the beginning of it, its title or a part of it, or words of its first prompt.
    session: String,
    /// The id of one of its subagents, to see the outline of what that did.
    #[serde(default)]
    agent: Option<String>,
    /// Selects among several sessions with the same id: the working directory.
    #[serde(default)]
    project: Option<String>,
    /// The first turn to return: 1 by default.
    #[serde(default)]
    from_turn: Option<usize>,
    /// How many turns to return: 100 by default, at most 500.
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatsArguments {
    /// The session: its id or the beginning of it, its title or a part of it, or words of its first prompt.
    session: String,
    /// The id of one of its subagents.
    #[serde(default)]
    agent: Option<String>,
    /// Selects among several sessions with the same id: the working directory.
    #[serde(default)]
    project: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Outline {
    session: Row,
    turns: Vec<OutlineTurn>,
    /// `from_turn` for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_turn: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<OutlineAgent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
}

#[derive(Debug, Serialize)]
struct OutlineTurn {
    turn: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    started_by: StartedBy,
    prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    messages: u64,
    tool_calls: u64,
    errors: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    compacted: bool,
}

#[derive(Debug, Serialize)]
struct OutlineAgent {
    agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    state: AgentState,
    entries: u64,
}

/// Returns the outline of a session as JSON.
pub(crate) fn outline_of(history: &History<'_>, id: &str) -> Result<String, Refusal> {
    to_json(outline(history, Arguments { session: id.to_owned(), ..Arguments::default() })?)
}

pub(crate) fn outline(history: &History<'_>, arguments: Arguments) -> Result<Outline, Refusal> {
    let limit = limit(arguments.limit, TURNS.0, TURNS.1)?;
    let from_turn = arguments.from_turn.unwrap_or(1);
    let described = OneSessionParams {
        session_id: arguments.session.clone(),
        workspace_path: arguments.project.clone(),
        reveal: None,
    };
    let session: Session = history.get(Method::HistorySession, &described)?;
    let mut turns = Vec::new();
    let mut next_turn = None;
    let mut budget = AnswerBudget::new(KEPT);
    let lost = each_turn(
        history,
        &arguments.session,
        arguments.project.as_deref(),
        arguments.agent.as_deref(),
        |turn| {
            if turn.turn < from_turn {
                return true;
            }
            let turn = outline_turn(turn);
            let fits = turns.len() < limit && budget.take(&turn);
            if fits {
                turns.push(turn);
            } else {
                next_turn = Some(turn.turn);
            }
            fits
        },
    )?;
    let session_id = arguments.session.clone();
    let agents = match arguments.agent {
        None => Some(agents(history, arguments.session, arguments.project)?),
        Some(_) => None,
    };
    let (agents, total) = agents.unwrap_or_default();
    let unlisted = total - agents.len();
    let unlisted = (unlisted > 0)
        .then(|| format!("{unlisted} more subagents are not listed; search_sessions finds what they did"));
    let lost = (lost > 0).then(|| {
        let session = id(&session_id);
        format!("Claude Code would lose {lost} messages here; `annals repair {session}` shows how to get them back")
    });
    let notes: Vec<String> = unlisted.into_iter().chain(lost).collect();
    let notes = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(Outline { session: row(history, session), turns, next_turn, agents, notes })
}

/// Calls `see` with each turn of a transcript, until it returns `false`. Returns how many messages Claude Code would not restore.
pub(super) fn each_turn(
    history: &History<'_>,
    session: &str,
    project: Option<&str>,
    agent: Option<&str>,
    mut see: impl FnMut(Turn) -> bool,
) -> Result<usize, Refusal> {
    let mut wanted = TurnsParams {
        session_id: session.to_owned(),
        workspace_path: project.map(str::to_owned),
        agent_id: agent.map(str::to_owned),
        ..TurnsParams::default()
    };
    let mut lost = 0;
    loop {
        let page: TurnsResult = history.get(Method::HistoryTurns, &wanted)?;
        lost += page.lost_messages.unwrap_or(0);
        for turn in page.turns {
            if !see(turn) {
                return Ok(lost);
            }
        }
        match page.next_cursor {
            Some(cursor) => wanted.cursor = Some(cursor),
            None => return Ok(lost),
        }
    }
}

fn outline_turn(turn: Turn) -> OutlineTurn {
    OutlineTurn {
        turn: turn.turn,
        uuid: turn.uuid.as_deref().map(id),
        at: turn.started_at,
        started_by: turn.started_by,
        prompt: line(&turn.prompt, LONGEST_PROMPT),
        duration_ms: turn.duration_ms,
        messages: turn.messages,
        tool_calls: turn.tool_calls,
        errors: turn.errors,
        compacted: turn.compacted,
    }
}

/// Returns the first agents of a session, and how many it has.
fn agents(
    history: &History<'_>,
    session: String,
    project: Option<String>,
) -> Result<(Vec<OutlineAgent>, usize), Refusal> {
    let wanted =
        AgentsParams { session_id: session, workspace_path: project, limit: Some(AGENTS), cursor: None };
    let found: AgentsResult = history.get(Method::HistoryAgents, &wanted)?;
    Ok((found.agents.iter().map(outline_agent).collect(), found.total))
}

fn outline_agent(agent: &annals_proto::Agent) -> OutlineAgent {
    OutlineAgent {
        agent: id(&agent.agent_id),
        kind: agent.agent_type.as_deref().map(|kind| line(kind, 60)),
        task: agent.description.as_deref().map(|task| line(task, 160)),
        state: agent.state,
        entries: agent.entries,
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    session: Option<String>,
    lines: u64,
    bytes: u64,
    turns: u64,
    entries_by_type: BTreeMap<String, u64>,
    models: BTreeMap<String, u64>,
    tools: BTreeMap<String, ToolCount>,
    tokens: Tokens,
    first_at: Option<String>,
    last_at: Option<String>,
    duration_ms: Option<u64>,
    active_ms: u64,
    compactions: u64,
    branches: u64,
    subagents: u64,
    claude_code_versions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

pub(crate) fn stats(history: &History<'_>, arguments: StatsArguments) -> Result<Figures, Refusal> {
    let StatsArguments { session, agent, project } = arguments;
    let wanted = StatsParams { session_id: session, workspace_path: project, agent_id: agent };
    let stats: Stats = history.get(Method::HistoryStats, &wanted)?;
    let mut notes = Vec::new();
    Ok(Figures {
        session: stats.session.as_deref().map(id),
        lines: stats.lines,
        bytes: stats.bytes,
        turns: stats.turns,
        entries_by_type: largest("types of entries", stats.types, |count| *count, &mut notes),
        models: largest("models", stats.models, |count| *count, &mut notes),
        tools: largest("tools", stats.tools, |count| count.calls, &mut notes),
        tokens: stats.usage,
        first_at: stats.first_at,
        last_at: stats.last_at,
        duration_ms: stats.duration_ms,
        active_ms: stats.active_ms,
        compactions: stats.compactions,
        branches: stats.branches,
        subagents: stats.subagents,
        claude_code_versions: stats.versions.iter().take(ROWS).map(|version| line(version, 40)).collect(),
        notes,
    })
}

/// Returns the rows of a table with the largest numbers, and notes how many were left out.
fn largest<T>(
    what: &str,
    table: BTreeMap<String, T>,
    number: impl Fn(&T) -> u64,
    notes: &mut Vec<String>,
) -> BTreeMap<String, T> {
    let mut rows: Vec<_> = table.into_iter().collect();
    rows.sort_by_key(|(_, value)| std::cmp::Reverse(number(value)));
    if let Some(left_out) = rows.len().checked_sub(ROWS).filter(|left_out| *left_out > 0) {
        notes.push(format!("{left_out} {what} with the smallest numbers are left out"));
        rows.truncate(ROWS);
    }
    rows.into_iter().map(|(name, value)| (line(&name, 100), value)).collect()
}
