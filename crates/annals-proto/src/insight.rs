//! What the work of many sessions was: `annals insight`, `history/insight`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::UsageSums;

/// Parameters of `history/insight`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct InsightParams {
    /// The time zone of days and hours, such as `Europe/Berlin`; by default UTC.
    pub timezone: Option<String>,
    /// Only what happened at this time or later: RFC 3339, or a day in the time zone.
    pub date_from: Option<String>,
    /// Only what happened before this time: RFC 3339, or a day in the time zone, which is included.
    pub date_to: Option<String>,
    /// Only this session and its subagents: its id, with or without the prefix `claude:`.
    pub session_id: Option<String>,
    /// Only sessions that began in this directory, or in one below it; an absolute path.
    pub workspace_path: Option<String>,
    /// The most rows of each table, those with the largest numbers: 1000 by default, at most 10000.
    pub limit: Option<usize>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// What the work of many sessions was: the result of `history/insight` and the object of `annals insight --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Insight {
    /// Sessions with at least one turn or call.
    pub sessions: u64,
    /// Turns of sessions; those of subagents do not count.
    pub turns: u64,
    /// How long they were worked on: the time between their entries, without pauses of more than half an hour.
    pub active_ms: u64,
    /// By day, the earliest first.
    pub days: Vec<DayWork>,
    /// How many turns started, by weekday from Monday and by hour: seven lists of 24 numbers.
    pub hours: Vec<Vec<u64>>,
    /// The zone of days and hours.
    pub timezone: String,
    /// Tokens and costs, as `history/usage` counts them.
    pub usage: UsageSums,
    /// The same for each model.
    pub models: BTreeMap<String, UsageSums>,
    /// Which part of all prompt tokens was read from the cache, in percent; null without prompts.
    pub cache_hit_percent: Option<f64>,
    /// By tool.
    pub tools: BTreeMap<String, ToolWork>,
    /// Calls that failed or were stopped by class, the most frequent first.
    pub errors: Vec<ErrorCount>,
    /// The version of the rules that give errors their classes.
    pub error_classes_version: u32,
    /// By file that was edited.
    pub files: BTreeMap<String, FileWork>,
    /// Turns by the branch that was checked out.
    pub branches: BTreeMap<String, u64>,
    /// Slash commands.
    pub commands: BTreeMap<String, u64>,
    /// Skills that the model used.
    pub skills: BTreeMap<String, u64>,
    /// Subagents that were started, by type.
    pub agents: BTreeMap<String, u64>,
    /// Calls by MCP server.
    pub mcp_servers: BTreeMap<String, u64>,
    /// How many rows of tables are left out because of the limit.
    pub rows_left_out: u64,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// The work of a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DayWork {
    /// The day, `2026-11-18`.
    pub date: String,
    /// Sessions in which a turn started.
    pub sessions: u64,
    /// Turns that started.
    pub turns: u64,
    /// How long these turns were worked on.
    pub active_ms: u64,
}

/// Calls of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolWork {
    /// How often it was called.
    pub calls: u64,
    /// How many calls failed.
    pub errors: u64,
    /// How many calls were denied, interrupted or cancelled.
    pub stopped: u64,
    /// The time that the calls with a known duration took together.
    pub total_ms: u64,
    /// How many calls have a known duration.
    pub timed: u64,
}

/// Calls that failed or were stopped, of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ErrorCount {
    /// The class, such as `timeout` or `file_not_found`.
    pub class: String,
    /// How many calls failed in this way.
    pub count: u64,
    /// Some of the most recent ones.
    pub examples: Vec<ErrorExample>,
    /// Errors of no known class by their first words, the most frequent first; only in the class `other`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<ErrorSignature>,
}

/// Errors of no known class that begin with the same words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ErrorSignature {
    /// The first words.
    pub text: String,
    /// How many calls failed in this way.
    pub count: u64,
}

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ErrorExample {
    /// The session.
    pub session: Option<String>,
    /// The subagent that made the call.
    pub agent_id: Option<String>,
    /// The entry that made the call.
    pub uuid: Option<String>,
    /// The tool.
    pub tool: String,
    /// When.
    pub timestamp: Option<String>,
    /// The first line of the error.
    pub text: String,
}

/// Edits of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileWork {
    /// Calls that changed it.
    pub edits: u64,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
    /// Sessions that changed it.
    pub sessions: u64,
}
