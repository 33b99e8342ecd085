//! Turns, their tokens, and calls of tools: `annals turns`, `annals tools`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::word::{is_zero, words};

/// One turn of a conversation: a line of `annals turns --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Its number, from 1.
    pub turn: usize,
    /// The uuid of the entry that started it; absent if the entry has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uuid: Option<String>,
    /// How it relates to the turn before.
    pub kind: TurnKind,
    /// What started it.
    pub started_by: StartedBy,
    /// The text or the command that started it.
    pub prompt: String,
    /// When it started.
    pub started_at: Option<String>,
    /// The time from its start to the end of its work.
    pub duration_ms: Option<u64>,
    /// How many user and assistant entries it has.
    pub messages: u64,
    /// How many tool calls were made in it.
    pub tool_calls: u64,
    /// How many of the calls failed.
    pub errors: u64,
    /// Tokens of its replies, each reply counted once.
    pub usage: Tokens,
    /// Whether the conversation was compacted in it.
    pub compacted: bool,
    /// The pause before it, if it is a `resume`.
    pub resumed_after_ms: Option<i64>,
    /// The sessions that have the turn, if two sessions are compared; otherwise absent.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sessions: Vec<String>,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

words! {
    /// How a turn relates to the turn before.
    TurnKind {
        /// The first turn.
        NewSession "new_session",
        /// A person speaks again.
        NewRound "new_round",
        /// A person speaks again after a pause.
        Resume "resume",
        /// Claude Code continues by itself: after a compaction, at the news of a task, for another agent.
        Continue "continue",
    }
}

words! {
    /// What started a turn.
    StartedBy {
        /// Words that a person typed.
        Prompt "prompt",
        /// Words that a person typed while a turn ran.
        Queued "queued",
        /// A slash command.
        Command "command",
        /// A shell command typed in bash mode.
        Bash "bash",
        /// Lines selected in an editor.
        IdeSelection "ide_selection",
        /// A file opened in an editor.
        IdeOpenedFile "ide_opened_file",
        /// News of a background task.
        TaskNotification "task_notification",
        /// The summary that replaces the messages before a compaction.
        CompactSummary "compact_summary",
        /// The text of a skill.
        Skill "skill",
        /// A message of another agent.
        Teammate "teammate",
        /// Output of a hook.
        Hook "hook",
        /// Anything else.
        Other "other",
    }
}

/// Tokens of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The session, if the path of the file names it.
    pub session: Option<String>,
    /// The subagent that made the call.
    pub agent_id: Option<String>,
    /// The id of the call.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: Option<String>,
    /// What the call is about: a command, a file, a pattern.
    pub subject: String,
    /// How it ended.
    pub state: ToolState,
    /// The first line of the error, if it failed or was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The time from the call to its result.
    pub duration_ms: Option<u64>,
    /// Files that the call reads or writes, as far as its arguments name them.
    pub files: Vec<String>,
    /// When it was made.
    pub timestamp: Option<String>,
    /// The uuid of the entry that makes the call.
    pub uuid: Option<String>,
    /// The uuid of the entry with the result.
    pub result_uuid: Option<String>,
    /// The line of the call in the file, from 1.
    pub line: u64,
    /// Its arguments, as they are in the file. In `history/tools`, arguments of more than 8 MiB are cut, like long parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub input: Option<Box<RawValue>>,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

words! {
    /// How a tool call ended.
    ToolState {
        /// The tool succeeded.
        Ok "ok",
        /// The tool failed.
        Error "error",
        /// There is no result.
        Pending "pending",
        /// The user stopped it, or the conversation continued without a result.
        Interrupted "interrupted",
        /// The user or a rule denied it.
        Denied "denied",
        /// It did not run, because another call of the same reply failed.
        Cancelled "cancelled",
    }
}
