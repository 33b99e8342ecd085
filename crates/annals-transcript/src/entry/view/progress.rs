//! `progress`: entries that versions up to 2.1.81 wrote while a tool was running.

use std::borrow::Cow;

use super::view;
use crate::json::Value;

/// The kinds of progress that only say how far a tool has come.
const EPHEMERAL: [&str; 4] = ["bash_progress", "mcp_progress", "powershell_progress", "sleep_progress"];

view!(entry:
    /// Progress of a tool or hook. Messages inside are copies of lines in the agent's own file.
    Progress {
        /// Returns the id of the call.
        tool_use_id: text "toolUseID",
        /// Returns the id of the call that started that one.
        parent_tool_use_id: text "parentToolUseID",
        /// Returns the payload.
        data: value "data",
    }
);

impl<'a> Progress<'a> {
    /// Returns `bash_progress`, `hook_progress`, `agent_progress` …
    pub fn data_type(&self) -> Option<Cow<'a, str>> {
        self.data()?.text("type")
    }

    /// Returns whether it reports only how far a tool has come, so that the result of the tool replaces it: a screen shows the
    /// last one, while the tool runs. Progress of agents and hooks is not ephemeral.
    pub fn is_ephemeral(&self) -> bool {
        let kind = self.data_type();
        kind.is_some_and(|kind| EPHEMERAL.contains(&&*kind))
    }

    /// Returns the subagent of an `agent_progress`.
    pub fn agent_id(&self) -> Option<Cow<'a, str>> {
        self.data()?.text("agentId")
    }

    /// Returns the subagent's message that an `agent_progress` repeats.
    pub fn message(&self) -> Option<Value<'a>> {
        self.data()?.present("message")
    }
}
