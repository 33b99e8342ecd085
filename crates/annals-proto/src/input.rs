//! What a message says to the model, without the tags around it.

use serde::{Deserialize, Serialize};

use crate::word::words;

/// One thing that a user message or an attachment says to the model, without the tags around it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// What it is.
    pub kind: InputKind,
    /// What it says; of a command, its arguments.
    pub text: String,
    /// The name of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The agent of a team that sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teammate_id: Option<String>,
    /// The colour in which Claude Code shows that agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The agent's own short summary of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

words! {
    /// What an input is.
    InputKind {
        /// Words that a person typed.
        Prompt "prompt",
        /// Words that a person typed while a turn ran.
        Queued "queued",
        /// A slash command.
        Command "command",
        /// A shell command typed in bash mode.
        Bash "bash",
        /// Output of a slash command or of bash mode.
        Output "output",
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
        /// The result of a tool call.
        ToolResult "tool_result",
        /// The note that the user interrupted Claude Code.
        Interrupt "interrupt",
        /// Other text that Claude Code added.
        Injected "injected",
        /// A notice of Claude Code; in `history/load` only with `all`.
        Notice "notice",
        /// Context that Claude Code added for the model, by its name; in `history/load` only with `all`.
        Context "context",
    }
}
