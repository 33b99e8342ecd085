//! Agents of a session: `annals agents`, `history/agents`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::word::words;
use crate::{Text, Tokens};

/// An agent of a session: a line of `annals agents --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// The session that it belongs to.
    pub session: Option<String>,
    /// Its id, which other methods take as `agentId`.
    pub agent_id: String,
    /// Whether it runs on another machine, so that only its metadata is here.
    pub remote: bool,
    /// The kind of agent, such as `Explore`.
    pub agent_type: Option<String>,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its task, in a few words.
    pub description: Option<String>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The worktree that it worked in.
    pub worktree_path: Option<String>,
    /// The branch of that worktree.
    pub worktree_branch: Option<String>,
    /// The folders between `subagents/` and its transcript, such as `workflows/wf_1`.
    pub group: Option<Text>,
    /// How it ended.
    pub state: AgentState,
    /// The call that started it.
    pub tool_use_id: Option<String>,
    /// The uuid of the entry that makes that call.
    pub call_uuid: Option<String>,
    /// The agent that started it, and whose transcript has that entry; null if the session itself did.
    pub parent_agent_id: Option<String>,
    /// How deep it is nested, from 1.
    pub spawn_depth: Option<u64>,
    /// The earliest time in its transcript.
    pub started_at: Option<String>,
    /// The latest time in its transcript.
    pub updated_at: Option<String>,
    /// The time between the two.
    pub duration_ms: Option<u64>,
    /// Entries of its transcript.
    pub entries: u64,
    /// Bytes of its transcript.
    pub size: u64,
    /// Tokens of its replies, each reply counted once; null for a remote agent.
    pub usage: Option<Tokens>,
    /// The path of its transcript; for a remote agent, of its metadata.
    pub path: Text,
    /// The file with its metadata as it is; null if there is none.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub metadata: Option<Box<RawValue>>,
}

words! {
    /// How an agent ended, as far as the files of its session can tell.
    AgentState {
        /// Claude Code has the session open, and nothing says that the agent has ended.
        Running "running",
        /// It finished its task.
        Done "done",
        /// It ended with an error.
        Failed "failed",
        /// The user or Claude Code stopped it, or the call that was to start it was denied.
        Stopped "stopped",
        /// Nothing says how it ended, and Claude Code does not have the session open.
        Unfinished "unfinished",
        /// The files of this machine do not tell: it runs on another one.
        Unknown "unknown",
    }
}
