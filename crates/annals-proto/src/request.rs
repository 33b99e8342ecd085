//! Parameters of requests. Methods that read ignore unknown members. Methods that change files refuse them: a client that asks
//! for a dry run of a method without one must not find the change made.

use serde::{Deserialize, Serialize};

use crate::word::words;

/// Parameters of `history/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// Only sessions of this working directory; an absolute path.
    pub workspace_path: Option<String>,
    /// Only sessions with this text in their title or first prompt, ignoring case.
    pub query: Option<String>,
    /// Only sessions that called this tool.
    pub tool_name: Option<String>,
    /// Only sessions whose tools read or wrote this file.
    pub file_path: Option<String>,
    /// Only sessions active at this time or later: RFC 3339, or a day in UTC.
    pub date_from: Option<String>,
    /// Only sessions that began before this time: RFC 3339, or a day in UTC, which is included.
    pub date_to: Option<String>,
    /// Only sessions without activity since then: how long ago (`90d`, `12h`, `2w`), RFC 3339, or a day in UTC.
    pub inactive: Option<String>,
    /// The most sessions to return: 1000 by default and at most.
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    pub cursor: Option<String>,
    /// Whether to list files without a conversation too.
    pub all: Option<bool>,
    /// Which sessions, by whether they are archived; by default `include`.
    pub archived: Option<ArchiveFilter>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

words! {
    /// Which sessions a list has, by whether they are archived.
    ArchiveFilter {
        /// Archived sessions and others.
        Include "include",
        /// No archived sessions.
        Exclude "exclude",
        /// Archived sessions alone.
        Only "only",
    }
}

/// One session: parameters of `history/delete`, `history/archive` and `history/unarchive`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// One session: parameters of `history/session`, `history/files` and `history/check`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OneSessionParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Parameters of `history/stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StatsParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
}

/// Parameters of `history/agents`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentsParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// The most to return: 1000 by default, at most 10000.
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    pub cursor: Option<String>,
}

/// Parameters of `history/load`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LoadParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
    /// The most messages to return: 10000 by default and at most.
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    pub cursor: Option<String>,
    /// Which messages; by default `full`.
    pub view: Option<View>,
    /// Whether the full view also has what Claude Code added: output of commands, reminders, messages of other agents.
    pub all: Option<bool>,
    /// Loads the session as it was when its file ended with this line, from 1. With `cursor` it has no effect: the next page is of
    /// the same lines.
    pub last_line: Option<u64>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Parameters of `history/file`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// The path of the file, as `history/files` gives it.
    pub path: String,
    /// The number of the version. If several versions have it, the last one counts.
    pub version: u64,
    /// The number of an earlier version: the answer is then the difference between the two.
    pub against: Option<u64>,
    /// The first line, from 0.
    pub from: Option<usize>,
    /// How many lines: 1000 by default, at most 5000.
    pub count: Option<usize>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Which messages of a session to load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum View {
    /// All messages of the conversation that Claude Code would continue, including those before compactions.
    #[default]
    Full,
    /// The messages that Claude Code would send to the model if it resumed the session now.
    Model,
}

/// Parameters of `history/read`. At most one of `around`, `before`, `after`, `last` and `cursor` may be given; without
/// them the history is read from its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReadParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
    /// Read this entry and the items on both sides of it.
    pub around: Option<EntryRef>,
    /// Read the items before this entry.
    pub before: Option<EntryRef>,
    /// Read the items after this entry.
    pub after: Option<EntryRef>,
    /// Read the last items.
    pub last: Option<bool>,
    /// The `previousCursor` or `nextCursor` of another page.
    pub cursor: Option<String>,
    /// The most items to return: 200 by default, at most 5000.
    pub limit: Option<usize>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// An entry: its uuid, or the number of its line from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum EntryRef {
    /// Its line.
    Line(u64),
    /// Its uuid.
    Uuid(String),
}

/// Parameters of `history/tools`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolsParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
    /// Only calls of this tool.
    pub name: Option<String>,
    /// Only calls whose result says that they failed.
    pub errors: Option<bool>,
    /// The most to return: 1000 by default, at most 10000.
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    pub cursor: Option<String>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Parameters of `history/turns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnsParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// A prompt that comes more than this many milliseconds after everything before it is a `resume`: 300000 by default.
    pub pause_ms: Option<u64>,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Selects the transcript of one of the session's agents, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
    /// The most to return: 1000 by default, at most 10000.
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    pub cursor: Option<String>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Parameters of `history/projects`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectsParams {
    /// The most to return: 1000 by default, at most 10000.
    pub limit: Option<usize>,
}

/// Parameters of `history/rename`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RenameParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Its new title.
    pub title: String,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Parameters of `history/tag`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TagParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// Its new tag; null removes the tag.
    pub tag: Option<String>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Parameters of `history/fork`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkParams {
    /// The session's id, with or without the prefix `claude:`.
    pub session_id: String,
    /// Selects among several sessions with that id: the working directory, or the `path` that lists have.
    pub workspace_path: Option<String>,
    /// The last message to copy, by its uuid or a prefix of it; by default all are copied.
    pub up_to: Option<String>,
    /// The title of the copy; by default the session's title followed by `(fork)`.
    pub title: Option<String>,
    /// Whether to copy subagents, long tool output and backups of files too.
    pub with_side_files: Option<bool>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Parameters of `history/restore`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestoreParams {
    /// The id of a session in the trash, with or without the prefix `claude:`.
    pub session_id: String,
    /// The entry of the trash, as `history/trash` names it; by default the most recent of the session.
    pub entry: Option<String>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Parameters of methods that take none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NoParams {}

/// Parameters of `history/watch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WatchParams {
    /// The session whose new entries to send; without it, changes of sessions are sent.
    pub session_id: Option<String>,
    /// With `sessionId`, selects among several sessions with that id: the working directory, or the `path` that lists have.
    /// Without it, only sessions of this working directory are reported.
    pub workspace_path: Option<String>,
    /// With `sessionId`: the agent of the session whose new entries to send, by the `agentId` of `history/agents`.
    pub agent_id: Option<String>,
    /// The offset in the transcript to start from: the last `nextOffset` received. By default its current end.
    pub offset: Option<u64>,
    /// Whether text is sent without masked secrets; refused unless the server allows it.
    pub reveal: Option<bool>,
}

/// Parameters of `history/unwatch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UnwatchParams {
    /// The name that `history/watch` returned.
    pub subscription: String,
}
