//! `progress`: entries that versions up to 2.1.81 wrote while a tool was running.

use std::borrow::Cow;

use super::view;
use crate::json::Value;

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

    /// Returns the subagent of an `agent_progress`.
    pub fn agent_id(&self) -> Option<Cow<'a, str>> {
        self.data()?.text("agentId")
    }

    /// Returns the subagent's message that an `agent_progress` repeats.
    pub fn message(&self) -> Option<Value<'a>> {
        self.data()?.present("message")
    }
}
