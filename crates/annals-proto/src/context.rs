//! How full the context was: `annals usage --context`, `history/context`.

use serde::{Deserialize, Serialize};

use crate::word::words;

/// Parameters of `history/context`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
    /// The most turns to return, the last ones: 1000 by default, at most 10000.
    pub limit: Option<usize>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// How full the context of a session was and what filled it: the result of `history/context`, and the object of
/// `annals usage SESSION --context --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextUse {
    /// The model of the last reply.
    pub model: Option<String>,
    /// The tokens in the context at the last reply, as that records them; null without replies.
    pub tokens: Option<u64>,
    /// The most tokens that were in the context.
    pub peak_tokens: Option<u64>,
    /// An estimate of the size of the context window, from the name of the model and the prompts.
    pub window_tokens: Option<u64>,
    /// Which part of that window was full at the last reply, in percent.
    pub filled_percent: Option<f64>,
    /// What filled it at the last reply, the most tokens first. These are estimates.
    pub parts: Vec<ContextPart>,
    /// What the estimates do not explain: the system prompt, the definitions of tools, and the error. Negative if the estimates are too high.
    pub rest_tokens: Option<i64>,
    /// Turns in which there was a reply.
    pub turns: Vec<TurnContext>,
    /// How many such turns there are.
    pub turn_count: usize,
    /// Compactions.
    pub compactions: Vec<CompactionEffect>,
    /// How estimates are made, and how wrong they are.
    pub estimate: ContextEstimate,
}

words! {
    /// What a part of the context is.
    ContextKind {
        /// What a person wrote.
        Prompt "prompt",
        /// The text of replies.
        Reply "reply",
        /// Reasoning.
        Thinking "thinking",
        /// Calls of tools, with their arguments.
        ToolCall "tool_call",
        /// The output of a tool.
        ToolResult "tool_result",
        /// Context that Claude Code added: files, reminders, output of hooks.
        Attachment "attachment",
        /// A part of the system prompt that the transcript has: instructions, lists of skills, tools and agents.
        System "system",
        /// The summary of what was compacted.
        Summary "summary",
        /// Something of a newer version.
        Other "other",
    }
}

/// A part of the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextPart {
    /// What it is.
    pub kind: ContextKind,
    /// The tool, or the type of the attachment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// An estimate of its tokens.
    pub estimated_tokens: u64,
}

/// The context of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnContext {
    /// The number of the turn.
    pub turn: usize,
    /// When it started.
    pub started_at: Option<String>,
    /// How many replies there were.
    pub replies: u64,
    /// The tokens in the context at the last of them.
    pub tokens: u64,
    /// The most tokens in the context.
    pub peak_tokens: u64,
    /// What the turn added to the context, the most tokens first. These are estimates.
    pub added: Vec<ContextPart>,
}

/// What a compaction did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompactionEffect {
    /// The uuid of its entry.
    pub uuid: Option<String>,
    /// When.
    pub timestamp: Option<String>,
    /// The turn that it fell into.
    pub turn: Option<usize>,
    /// `auto` or `manual`.
    pub trigger: Option<String>,
    /// The tokens before: as it records them, or else those of the last prompt.
    pub before_tokens: Option<u64>,
    /// The tokens after: as it records them, or else those of the next prompt.
    pub after_tokens: Option<u64>,
    /// The difference.
    pub saved_tokens: Option<u64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
}

/// How tokens are estimated from text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextEstimate {
    /// Tokens for each byte of text.
    pub tokens_per_byte: f64,
    /// How many steps from one reply to the next it was measured by; with 0 it is the usual one of the model.
    pub measured_steps: u64,
    /// How far the estimates of these steps are from the recorded growth, as a percentage of all growth; null if nothing was measured.
    pub error_percent: Option<f64>,
}
