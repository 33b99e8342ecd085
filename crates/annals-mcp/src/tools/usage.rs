//! `usage` and `insight`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use annals_proto::{
    ErrorCount, FileWork, Insight, InsightParams, Method, ToolWork, UsageBy, UsageParams, UsageResult,
    UsageRow, UsageSums,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limit;
use crate::excerpt::{AnswerBudget, id, line};
use crate::history::{History, Refusal};

/// How many rows `usage` returns by default and at most.
const ROWS: (usize, usize) = (30, 200);
/// What stands around the rows of `usage`.
const KEPT: usize = 6_000;
/// How many rows each table of `insight` has.
const INSIGHT_ROWS: usize = 12;
/// How many days `insight` has: the latest.
const DAYS: usize = 31;
/// The longest name of a model, tool, branch and so on, and the longest path.
const NAME: usize = 100;
const PATH: usize = 250;
/// The most problems that are reported, and the longest.
const PROBLEMS: (usize, usize) = (5, 200);

/// What a row of `usage` stands for.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum By {
    #[default]
    Day,
    Week,
    Month,
    Session,
    Project,
    Branch,
    Model,
    Block,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Arguments {
    /// What a row stands for: a day by default; `block` is a five-hour window.
    by: By,
    /// Only responses at this time or later: RFC 3339, or a day such as 2026-11-02.
    since: Option<String>,
    /// Only responses before this time, or up to the end of this day.
    until: Option<String>,
    /// Only this session and its subagents: its id or the beginning of it, its title or a part of it, or words of its first prompt.
    session: Option<String>,
    /// Only sessions that began in this working directory or below; an absolute path.
    project: Option<String>,
    /// The time zone of days, such as `Asia/Shanghai`: UTC by default.
    timezone: Option<String>,
    /// How many rows to return, of days and other times the latest: 30 by default, at most 200.
    limit: Option<usize>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    rows: Vec<Row>,
    total: Row,
    /// How many rows there are; the total has all of them.
    row_count: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unpriced_models: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    note: &'static str,
}

/// Tokens and costs.
#[derive(Debug, Serialize)]
struct Row {
    key: String,
    replies: u64,
    input_tokens: u64,
    output_tokens: u64,
    cache_write_tokens: u64,
    cache_read_tokens: u64,
    total_tokens: u64,
    cost_usd: Option<f64>,
    /// Whether output and cost are lower bounds, because some responses are unfinished.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
    #[serde(skip_serializing_if = "is_zero")]
    replies_without_a_price: u64,
    #[serde(skip_serializing_if = "is_zero")]
    replies_of_subagents: u64,
}

pub(crate) fn usage(history: &History<'_>, arguments: Arguments) -> Result<Answer, Refusal> {
    let limit = limit(arguments.limit, ROWS.0, ROWS.1)?;
    let by = match arguments.by {
        By::Day => UsageBy::Day,
        By::Week => UsageBy::Week,
        By::Month => UsageBy::Month,
        By::Session => UsageBy::Session,
        By::Project => UsageBy::Project,
        By::Branch => UsageBy::Branch,
        By::Model => UsageBy::Model,
        By::Block => UsageBy::Block,
    };
    let wanted = UsageParams {
        by: Some(by),
        timezone: arguments.timezone,
        date_from: arguments.since,
        date_to: arguments.until,
        session_id: arguments.session,
        workspace_path: arguments.project,
        limit: Some(limit),
        ..UsageParams::default()
    };
    let result: UsageResult = history.get(Method::HistoryUsage, &wanted)?;
    let mut budget = AnswerBudget::new(KEPT);
    let is_of_time = matches!(by, UsageBy::Day | UsageBy::Week | UsageBy::Month | UsageBy::Block);
    let mut rows: Vec<_> = result.rows.iter().map(row).collect();
    // If not all of them fit, the latest days and the most expensive sessions do.
    if is_of_time {
        rows.reverse();
    }
    let mut rows: Vec<_> = rows.into_iter().take_while(|row| budget.take(row)).collect();
    if is_of_time {
        rows.reverse();
    }
    let unpriced = result.total.unpriced_models.iter().take(INSIGHT_ROWS);
    Ok(Answer {
        rows,
        total: row(&result.total),
        row_count: result.row_count,
        unpriced_models: unpriced.map(|model| line(model, NAME)).collect(),
        problems: problems(&result.problems),
        note: "costs are list prices of the API, and a lower bound: requests without a line in a transcript are missing",
    })
}

fn row(row: &UsageRow) -> Row {
    Row { replies_of_subagents: row.subagents.replies, ..sums(line(&row.key, PATH), &row.sums) }
}

fn sums(key: String, sums: &UsageSums) -> Row {
    Row {
        key,
        replies: sums.replies,
        input_tokens: sums.input_tokens,
        output_tokens: sums.output_tokens,
        cache_write_tokens: sums.cache_creation_tokens,
        cache_read_tokens: sums.cache_read_tokens,
        total_tokens: sums.total_tokens,
        cost_usd: sums.cost_usd,
        at_least: sums.output_at_least,
        replies_without_a_price: sums.unpriced_replies,
        replies_of_subagents: 0,
    }
}

fn problems(problems: &[String]) -> Vec<String> {
    problems.iter().take(PROBLEMS.0).map(|problem| line(problem, PROBLEMS.1)).collect()
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InsightArguments {
    /// Only what happened at this time or later: RFC 3339, or a day such as 2026-11-02.
    since: Option<String>,
    /// Only what happened before this time, or up to the end of this day.
    until: Option<String>,
    /// Only this session and its subagents: its id or the beginning of it, its title or a part of it, or words of its first prompt.
    session: Option<String>,
    /// Only sessions that began in this working directory or below; an absolute path.
    project: Option<String>,
    /// The time zone of days and hours, such as `Asia/Shanghai`: UTC by default.
    timezone: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct InsightAnswer {
    sessions: u64,
    turns: u64,
    active_ms: u64,
    tokens: u64,
    cost_usd: Option<f64>,
    cache_hit_percent: Option<f64>,
    /// Turns and time of the latest days.
    days: BTreeMap<String, (u64, u64)>,
    /// How many turns started in each hour of the day.
    turns_by_hour: Vec<u64>,
    models: Vec<Row>,
    tools: BTreeMap<String, ToolWork>,
    errors: Vec<ErrorRow>,
    edited_files: BTreeMap<String, FileWork>,
    branches: BTreeMap<String, u64>,
    slash_commands: BTreeMap<String, u64>,
    skills: BTreeMap<String, u64>,
    agent_types: BTreeMap<String, u64>,
    mcp_servers: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    note: &'static str,
}

/// Calls that failed for the same reason.
#[derive(Debug, Serialize)]
struct ErrorRow {
    class: String,
    calls: u64,
    /// The most recent one: `get_messages` with `session` and `around` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    around: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
}

pub(crate) fn insight(history: &History<'_>, arguments: InsightArguments) -> Result<InsightAnswer, Refusal> {
    let wanted = InsightParams {
        timezone: arguments.timezone,
        date_from: arguments.since,
        date_to: arguments.until,
        session_id: arguments.session,
        workspace_path: arguments.project,
        limit: Some(DAYS),
        reveal: None,
    };
    let found: Insight = history.get(Method::HistoryInsight, &wanted)?;
    let mut models: Vec<_> = found.models.iter().map(|(name, model)| sums(line(name, NAME), model)).collect();
    models.sort_by_key(|model| Reverse(model.total_tokens));
    models.truncate(INSIGHT_ROWS);
    let turns_by_hour =
        (0..24).map(|hour| found.hours.iter().filter_map(|day| day.get(hour)).sum()).collect();
    Ok(InsightAnswer {
        sessions: found.sessions,
        turns: found.turns,
        active_ms: found.active_ms,
        tokens: found.usage.total_tokens,
        cost_usd: found.usage.cost_usd,
        cache_hit_percent: found.cache_hit_percent.map(f64::round),
        days: found.days.into_iter().map(|day| (day.date, (day.turns, day.active_ms))).collect(),
        turns_by_hour,
        models,
        tools: largest(found.tools, NAME, |work| work.calls),
        errors: found.errors.into_iter().take(INSIGHT_ROWS).map(error_row).collect(),
        edited_files: largest(found.files, PATH, |work| work.edits),
        branches: largest(found.branches, NAME, |count| *count),
        slash_commands: largest(found.commands, NAME, |count| *count),
        skills: largest(found.skills, NAME, |count| *count),
        agent_types: largest(found.agents, NAME, |count| *count),
        mcp_servers: largest(found.mcp_servers, NAME, |count| *count),
        problems: problems(&found.problems),
        note: "each table has its 12 largest rows; a day has its turns and the milliseconds of work in them",
    })
}

fn error_row(error: ErrorCount) -> ErrorRow {
    let row = ErrorRow {
        class: error.class,
        calls: error.count,
        session: None,
        agent: None,
        around: None,
        text: String::new(),
    };
    let Some(example) = error.examples.into_iter().next() else { return row };
    ErrorRow {
        session: example.session.as_deref().map(id),
        agent: example.agent_id.as_deref().map(id),
        around: example.uuid.as_deref().map(id),
        text: line(&example.text, 160),
        ..row
    }
}

/// Returns the rows of a table with the largest numbers, with names that are not too long.
fn largest<T>(table: BTreeMap<String, T>, longest: usize, number: impl Fn(&T) -> u64) -> BTreeMap<String, T> {
    let mut rows: Vec<_> = table.into_iter().collect();
    rows.sort_by_key(|(_, value)| Reverse(number(value)));
    rows.truncate(INSIGHT_ROWS);
    rows.into_iter().map(|(name, value)| (line(&name, longest), value)).collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
