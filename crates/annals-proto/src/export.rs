//! Exports of sessions, and what was masked in them: `POST /export`.

use serde::{Deserialize, Serialize};

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// One page without scripts and without anything to load.
    Html,
    /// Markdown, as forges display it.
    Md,
    /// Plain text.
    Text,
}

/// What `POST /export` writes.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch")]
pub struct ExportParams {
    /// The session.
    pub session_id: String,
    /// A working directory or a transcript, if several sessions have the id.
    #[serde(default)]
    pub workspace_path: Option<String>,
    /// An agent of the session, whose conversation is exported instead.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// The format.
    pub format: ExportFormat,
    /// The first turn; the first of the session if absent.
    #[serde(default)]
    pub from_turn: Option<usize>,
    /// The last turn; the last of the session if absent.
    #[serde(default)]
    pub to_turn: Option<usize>,
    /// Whether reasoning is left out.
    #[serde(default)]
    pub no_thinking: bool,
    /// Whether results of tools are left out.
    #[serde(default)]
    pub no_results: bool,
    /// Whether conversations of subagents are written below the calls that started them.
    #[serde(default)]
    pub subagents: bool,
    /// Whether an [`ExportReport`] follows as the last line.
    #[serde(default)]
    pub report: bool,
    /// Whether nothing is masked, if the server allows that.
    #[serde(default)]
    pub reveal: Option<bool>,
}

/// What an export has and what it does not have.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExportReport {
    /// The number of rows that were written.
    pub rows: usize,
    /// The number of parts that could not be read or masked, and are left out.
    pub left_out: usize,
    /// Where the first of these would be.
    pub left_out_at: Vec<ExportPlace>,
    /// The number of different values that were masked.
    pub masked: usize,
    /// The same by the rules that found them.
    pub rules: Vec<MaskedByRule>,
}

/// The values that a rule found.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MaskedByRule {
    /// The name of the rule.
    pub rule: String,
    /// The number of different values.
    pub count: usize,
    /// Where the first of them are.
    pub places: Vec<ExportPlace>,
}

/// A place in an export. One without any field is in what the export says about the session, such as its title.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExportPlace {
    /// The turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The agent that has the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}
