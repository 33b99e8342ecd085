//! Counts of what is in a transcript: `annals stats`, `history/stats`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Text, Tokens};

/// Counts of what is in a transcript: a line of `annals stats --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The path of the transcript.
    pub path: Text,
    /// The session, if the path of the file names it.
    pub session: Option<String>,
    /// The subagent that the transcript belongs to.
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
    /// The versions of Claude Code that wrote it, in order of first appearance.
    pub versions: Vec<String>,
    /// Replies by model.
    pub models: BTreeMap<String, u64>,
    /// The earliest time.
    pub first_at: Option<String>,
    /// The latest time.
    pub last_at: Option<String>,
    /// Tool calls by tool.
    pub tools: BTreeMap<String, ToolCount>,
    /// Turns of the conversation.
    pub turns: u64,
    /// Compactions.
    pub compactions: u64,
    /// Branches of the conversation that a rewind left behind.
    pub branches: u64,
    /// Entries whose parent is not in the file.
    pub gaps: u64,
    /// Subagents with a transcript of their own.
    pub subagents: u64,
    /// How many problems `annals check` reports.
    pub problems: u64,
    /// The time from the earliest to the latest time; null if no entry has one.
    pub duration_ms: Option<u64>,
    /// The time that its turns took together: without the time between the end of a turn and the next prompt.
    pub active_ms: u64,
    /// Files that its calls changed. Subagents are counted in their own transcripts.
    pub changed_files: u64,
    /// Lines that these calls added.
    pub lines_added: u64,
    /// Lines that these calls removed.
    pub lines_removed: u64,
    /// Pauses of half an hour or longer before a turn.
    pub idle_pauses: u64,
    /// The tokens in its context, as `tokens` of `history/context`.
    pub context_tokens: Option<u64>,
    /// The size of the context window in tokens, as `windowTokens` of `history/context`: an estimate.
    pub context_window_tokens: Option<u64>,
    /// Tokens of its replies, branches included, each reply counted once. Subagents are counted in their own transcripts.
    pub usage: Tokens,
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
