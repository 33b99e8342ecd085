use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Text;

/// What a transcript is made of: a line of `annals stats --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The transcript.
    pub path: Text,
    /// The session, where the file's place tells it.
    pub session: Option<String>,
    /// The subagent whose transcript it is.
    pub agent_id: Option<String>,
    /// Lines of the file.
    pub lines: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Entries by `type`.
    pub types: BTreeMap<String, u64>,
    /// Entries by `type:subtype`.
    pub subtypes: BTreeMap<String, u64>,
    /// Content blocks by `type`.
    pub blocks: BTreeMap<String, u64>,
    /// Client versions, in the order first seen.
    pub versions: Vec<String>,
    /// Replies by model.
    pub models: BTreeMap<String, u64>,
    /// The earliest time.
    pub first_at: Option<String>,
    /// The latest time.
    pub last_at: Option<String>,
    /// Calls by tool.
    pub tools: BTreeMap<String, ToolCount>,
    /// Rounds of the conversation.
    pub turns: u64,
    /// Compactions.
    pub compactions: u64,
    /// Lines of conversation that were left behind.
    pub branches: u64,
    /// Entries whose parent is not in the file.
    pub gaps: u64,
    /// Subagents with a transcript of their own.
    pub subagents: u64,
    /// How many problems `annals check` reports.
    pub problems: u64,
}

/// Calls of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCount {
    /// How often it was called.
    pub calls: u64,
    /// How many of the calls failed.
    pub errors: u64,
}
