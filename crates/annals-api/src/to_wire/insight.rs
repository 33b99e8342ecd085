//! What the work was, for the wire.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use annals_engine::{DayWork, ERROR_CLASSES_VERSION, ErrorCount, ErrorExample, FileWork, Insight, ToolWork};
use annals_proto as wire;
use annals_usage::{Report, Tokens};
use jiff::civil::Date;

use super::usage::usage_models;
use super::{time_of_ms, usage_sums};

/// Returns what the work was, with the tokens and costs of a report on the same sessions. `timezone` is the zone that days and hours were
/// counted in, `limit` the most rows of each table.
pub fn insight(
    insight: Insight,
    usage: &Report,
    timezone: String,
    limit: usize,
    problems: Vec<String>,
) -> wire::Insight {
    let mut rows = Rows { limit, left_out: 0 };
    let mut days: Vec<_> = insight.days.into_iter().map(day).collect();
    let old_days = days.len().saturating_sub(limit);
    rows.left_out += old_days as u64;
    days.drain(..old_days);
    wire::Insight {
        sessions: insight.sessions,
        turns: insight.turns,
        active_ms: insight.active_ms,
        days,
        hours: insight.hours.iter().map(|hours| hours.to_vec()).collect(),
        timezone,
        usage: usage_sums(&usage.total.cells),
        models: rows.largest(usage_models(&usage.total), |sums| sums.total_tokens),
        cache_hit_percent: cache_hit_percent(&usage.total.cells.tokens),
        tools: rows
            .largest(insight.tools, |work| work.calls)
            .into_iter()
            .map(|(name, work)| (name, tool(&work)))
            .collect(),
        errors: insight.errors.into_iter().map(error).collect(),
        error_classes_version: ERROR_CLASSES_VERSION,
        files: rows
            .largest(insight.files, |work| work.edits)
            .into_iter()
            .map(|(path, work)| (path, file(&work)))
            .collect(),
        branches: rows.largest(insight.branches, |count| *count),
        commands: rows.largest(insight.commands, |count| *count),
        skills: rows.largest(insight.skills, |count| *count),
        agents: rows.largest(insight.agents, |count| *count),
        mcp_servers: rows.largest(insight.mcp_servers, |count| *count),
        rows_left_out: rows.left_out,
        problems,
    }
}

/// Returns which part of all prompt tokens was read from the cache, in percent; `None` without prompts.
#[expect(clippy::cast_precision_loss, reason = "a percentage needs few digits")]
pub fn cache_hit_percent(tokens: &Tokens) -> Option<f64> {
    let prompts = tokens.input + tokens.writes() + tokens.read;
    (prompts > 0).then(|| tokens.read as f64 * 100.0 / prompts as f64)
}

/// Limits the rows of tables.
struct Rows {
    limit: usize,
    left_out: u64,
}

impl Rows {
    /// Returns the rows of a table with the largest numbers.
    fn largest<T>(&mut self, table: BTreeMap<String, T>, number: impl Fn(&T) -> u64) -> BTreeMap<String, T> {
        let Some(left_out) = table.len().checked_sub(self.limit).filter(|left_out| *left_out > 0) else {
            return table;
        };
        self.left_out += left_out as u64;
        let mut rows: Vec<_> = table.into_iter().collect();
        rows.sort_by_key(|(_, value)| Reverse(number(value)));
        rows.truncate(self.limit);
        rows.into_iter().collect()
    }
}

fn day((date, work): (Date, DayWork)) -> wire::DayWork {
    let DayWork { sessions, turns, active_ms, .. } = work;
    wire::DayWork { date: date.to_string(), sessions, turns, active_ms }
}

fn tool(work: &ToolWork) -> wire::ToolWork {
    let &ToolWork { calls, errors, stopped, total_ms, timed, .. } = work;
    wire::ToolWork { calls, errors, stopped, total_ms, timed }
}

fn file(work: &FileWork) -> wire::FileWork {
    let &FileWork { edits, added, removed, sessions, .. } = work;
    wire::FileWork { edits, added, removed, sessions }
}

fn error(error: ErrorCount) -> wire::ErrorCount {
    let examples = error.examples.into_iter().map(example).collect();
    let signatures = error.signatures.into_iter().map(|(text, count)| wire::ErrorSignature { text, count });
    wire::ErrorCount {
        class: error.class.name().to_owned(),
        count: error.count,
        examples,
        signatures: signatures.collect(),
    }
}

fn example(example: ErrorExample) -> wire::ErrorExample {
    wire::ErrorExample {
        session: example.file.session,
        agent_id: example.file.agent,
        uuid: example.uuid,
        tool: example.tool,
        timestamp: example.time.and_then(time_of_ms),
        text: example.text,
    }
}
