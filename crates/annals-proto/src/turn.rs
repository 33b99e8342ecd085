use serde::{Deserialize, Serialize};

/// One round of a conversation: a line of `annals turns --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Its number, from 1.
    pub turn: usize,
    /// `new_session`, `new_round`, `resume` or `continue`.
    pub kind: String,
    /// What started it.
    pub started_by: String,
    /// The words or the command that started it.
    pub prompt: String,
    /// When it started.
    pub started_at: Option<String>,
    /// From its start to its last entry.
    pub duration_ms: Option<u64>,
    /// User and assistant entries.
    pub messages: u64,
    /// Calls made in it.
    pub tool_calls: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Tokens of its replies, each reply counted once.
    pub usage: Tokens,
    /// Whether the conversation was compacted in it.
    pub compacted: bool,
    /// How long nothing had happened before it, if that makes it a resumption.
    pub resumed_after_ms: Option<i64>,
}

/// Tokens of replies.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// Input outside the cache.
    pub input_tokens: u64,
    /// Output.
    pub output_tokens: u64,
    /// Input written to the cache.
    pub cache_creation_tokens: u64,
    /// Input read from the cache.
    pub cache_read_tokens: u64,
}

/// A tool call: a line of `annals tools --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The session, where the file's place tells it.
    pub session: Option<String>,
    /// The subagent that made the call.
    pub agent_id: Option<String>,
    /// The call.
    pub id: Option<String>,
    /// The tool.
    pub name: Option<String>,
    /// What the call is about.
    pub subject: String,
    /// `ok`, `error`, `pending`, `interrupted` or `denied`.
    pub state: String,
    /// From the call to its result.
    pub duration_ms: Option<u64>,
    /// Files that the call reads or writes, as far as its arguments say for certain.
    pub files: Vec<String>,
    /// When it was made.
    pub timestamp: Option<String>,
    /// The entry that makes the call.
    pub uuid: Option<String>,
    /// The entry with the result.
    pub result_uuid: Option<String>,
    /// The line of the call.
    pub line: u64,
}
