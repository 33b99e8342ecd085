//! What the work was, for the wire.

use annals_engine::{DayWork, ERROR_CLASSES_VERSION, ErrorCount, ErrorExample, FileWork, Insight, ToolWork};
use annals_proto as wire;
use jiff::civil::Date;

use super::time_of_ms;

/// Returns what the work was. `timezone` is the zone that its days and hours were counted in.
pub fn insight(insight: Insight, timezone: String) -> wire::Insight {
    wire::Insight {
        sessions: insight.sessions,
        turns: insight.turns,
        active_ms: insight.active_ms,
        days: insight.days.into_iter().map(day).collect(),
        hours: insight.hours.iter().map(|hours| hours.to_vec()).collect(),
        timezone,
        tools: insight.tools.into_iter().map(|(name, work)| (name, tool(&work))).collect(),
        errors: insight.errors.into_iter().map(error).collect(),
        error_classes_version: ERROR_CLASSES_VERSION,
        files: insight.files.into_iter().map(|(path, work)| (path, file(&work))).collect(),
        branches: insight.branches,
        commands: insight.commands,
        skills: insight.skills,
        agents: insight.agents,
        mcp_servers: insight.mcp_servers,
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
    wire::ErrorCount { class: error.class.name().to_owned(), count: error.count, examples }
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
