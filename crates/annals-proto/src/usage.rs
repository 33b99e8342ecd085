//! Tokens and costs: `annals usage`, `history/usage`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::word::words;

/// Parameters of `history/usage`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct UsageParams {
    /// What rows are grouped by; by default days.
    pub by: Option<UsageBy>,
    /// The time zone of days, weeks and months, such as `Europe/Berlin`; by default UTC.
    pub timezone: Option<String>,
    /// The first day of weeks, such as `sunday`; by default `monday`.
    pub week_start: Option<String>,
    /// Only responses at this time or later: RFC 3339, or a day in the time zone.
    pub date_from: Option<String>,
    /// Only responses before this time: RFC 3339, or a day in the time zone, which is included.
    pub date_to: Option<String>,
    /// Only responses of this session and its subagents: its id, with or without the prefix `claude:`.
    pub session_id: Option<String>,
    /// Only responses of sessions that began in this directory, or in one below it; an absolute path.
    pub workspace_path: Option<String>,
    /// Where costs come from; by default `auto`.
    pub cost_mode: Option<CostMode>,
    /// The most rows to return: 1000 by default, at most 10000. The total has all of them.
    pub limit: Option<usize>,
    /// The `key` of a row whose responses to return, too.
    pub why: Option<String>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

words! {
    /// What a row of a report stands for.
    UsageBy {
        /// A day.
        Day "day",
        /// A week.
        Week "week",
        /// A month.
        Month "month",
        /// A session with its subagents.
        Session "session",
        /// The directory that sessions began in.
        Project "project",
        /// The branch that was checked out.
        Branch "branch",
        /// A model.
        Model "model",
        /// A five-hour window.
        Block "block",
    }
}

words! {
    /// Where costs come from.
    CostMode {
        /// The recorded cost if there is one, else tokens times prices.
        Auto "auto",
        /// Tokens by their prices.
        Calculate "calculate",
        /// Only recorded costs.
        Recorded "recorded",
    }
}

words! {
    /// How a cost is known.
    CostKind {
        /// Lines record it.
        Recorded "recorded",
        /// It is calculated from tokens and prices.
        Calculated "calculated",
        /// Some of each.
        Mixed "mixed",
        /// It is not known: no price is known for the models.
        Unknown "unknown",
    }
}

/// The result of `history/usage`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageResult {
    /// The rows: in the order of time, or the most expensive first.
    pub rows: Vec<UsageRow>,
    /// The sum of all rows, those behind the limit too.
    pub total: UsageRow,
    /// How many rows there are.
    pub row_count: usize,
    /// What could not be read.
    pub problems: Vec<String>,
    /// The responses of the row that `why` names, the most expensive first, at most 1000; absent without `why`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub replies: Vec<UsageReply>,
    /// How many responses that row has; absent without `why`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reply_count: Option<usize>,
}

/// A row of a report: a line of `annals usage --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// What it stands for, such as `2026-01-31` or the id of a session; `total` for the total, `(none)` for responses without one.
    pub key: String,
    /// Tokens, costs and numbers of responses.
    #[serde(flatten)]
    pub sums: UsageSums,
    /// The same for each model.
    pub models: BTreeMap<String, UsageSums>,
    /// Models whose price is not known, or not for all of their tokens. Their cost is missing in `costUsd`.
    pub unpriced_models: Vec<String>,
    /// The part of subagents, which `costUsd` and the tokens include.
    pub subagents: UsageSums,
    /// How many sessions there are responses of.
    pub sessions: u64,
    /// The directory that the session began in; only for sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The time of the first response.
    pub first_at: Option<String>,
    /// The time of the last response.
    pub last_at: Option<String>,
    /// What Claude Code itself counted; only for sessions and the total, and without limits of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientUsage>,
    /// The five-hour window; only for blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<UsageWindow>,
    /// Whether a status line recorded how much of a plan is used: `costUsd` is then what the API would charge, and not what is paid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub api_equivalent: bool,
}

/// Sums of responses, each counted once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageSums {
    /// Input tokens that were neither written to nor read from the cache.
    pub input_tokens: u64,
    /// Output tokens, thinking included.
    pub output_tokens: u64,
    /// Tokens written to the cache, for all lifetimes.
    pub cache_creation_tokens: u64,
    /// Those of them that stay for five minutes.
    pub cache_creation_5m_tokens: u64,
    /// Those of them that stay for an hour.
    pub cache_creation_1h_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Output tokens spent on thinking, as far as they are recorded.
    pub thinking_tokens: u64,
    /// All tokens: input, output, written to and read from the cache.
    pub total_tokens: u64,
    /// The cost in US dollars of all responses whose cost is known; null if that of none is.
    pub cost_usd: Option<f64>,
    /// How the cost is known.
    pub cost_kind: Option<CostKind>,
    /// The part of `costUsd` that lines record.
    pub recorded_cost_usd: f64,
    /// How many responses there are.
    pub replies: u64,
    /// How many of them have no stop reason, so that their output may be more than is recorded.
    pub unfinished_replies: u64,
    /// Whether `outputTokens` is a lower bound, because some responses are unfinished.
    pub output_at_least: bool,
    /// How many have no known cost.
    pub unpriced_replies: u64,
    /// How many no transcript on disk has any more.
    pub kept_replies: u64,
    /// How many are only known from the progress of a subagent whose transcript is gone.
    pub progress_replies: u64,
    /// How many have a counter that is not a possible number, and was left out.
    pub odd_replies: u64,
    /// How many are calls of advisors.
    pub advisor_replies: u64,
    /// How many ran in fast mode.
    pub fast_replies: u64,
    /// How many have a prompt of more than 200,000 tokens.
    pub long_replies: u64,
    /// Web searches that ran on the server.
    pub web_searches: u64,
    /// Pages that the server fetched.
    pub web_fetches: u64,
}

/// What Claude Code itself counted for sessions. It includes calls that no transcript has, and is never added to other figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClientUsage {
    /// How many sessions have such a count that has all of their models.
    pub sessions: u64,
    /// What they cost by it, in US dollars.
    pub cost_usd: f64,
    /// What the transcripts of the same sessions cost.
    pub transcript_cost_usd: f64,
    /// The difference.
    pub unattributed_usd: f64,
    /// How much of the cost transcripts account for; null if it is 0.
    pub coverage_percent: Option<f64>,
}

/// A five-hour window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageWindow {
    /// Its start.
    pub starts_at: String,
    /// Its end.
    pub ends_at: String,
    /// Whether it is an estimate from the first response in it. Otherwise Claude Code reported its end.
    pub estimated: bool,
    /// Whether it is the present one.
    pub active: bool,
    /// How fast it is used; null unless it is the present one and has responses at different times.
    pub burn_rate: Option<UsageBurnRate>,
}

/// How fast the present window is used, and what it comes to if that goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageBurnRate {
    /// Tokens for each minute between the first and the last response.
    pub tokens_per_minute: u64,
    /// What an hour costs, in US dollars.
    pub cost_usd_per_hour: f64,
    /// All tokens of the window at its end.
    pub projected_tokens: u64,
    /// What the window costs at its end.
    pub projected_cost_usd: f64,
}

/// A response behind a number: a line of `annals usage --why KEY --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageReply {
    /// The transcript that it is attributed to.
    pub path: Text,
    /// The number of its first line there.
    pub line: u64,
    /// How many lines it has, with those of copies.
    pub lines: u64,
    /// In how many other places it was found.
    pub copies: u64,
    /// The session.
    pub session: String,
    /// The subagent.
    pub agent_id: Option<String>,
    /// The model.
    pub model: String,
    /// The earliest time of its lines.
    pub timestamp: Option<String>,
    /// Its tokens and cost.
    #[serde(flatten)]
    pub sums: UsageSums,
}
