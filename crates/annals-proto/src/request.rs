//! Parameters of requests. Fields that a server does not know are passed over.

use serde::{Deserialize, Serialize};

/// Parameters of `history/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ListParams {
    /// Only sessions of this working directory; an absolute path.
    pub workspace_path: Option<String>,
    /// Only sessions with this text in their title or first prompt, whatever its case.
    pub query: Option<String>,
    /// Only sessions that called this tool.
    pub tool_name: Option<String>,
    /// Only sessions whose tools read or wrote this file.
    pub file_path: Option<String>,
    /// Only sessions active at this time or later: RFC 3339, or a day in UTC.
    pub date_from: Option<String>,
    /// Only sessions begun before this time: RFC 3339, or a day in UTC, which is included.
    pub date_to: Option<String>,
    /// At most so many; 1000 unless given, and at most.
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// Also files without a conversation.
    pub all: Option<bool>,
}

/// Names one session: parameters of `history/delete` and `history/stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// The session's id, with or without `claude:` before it.
    pub session_id: String,
    /// Where several have that id: the working directory, or the transcript as lists have it in `path`.
    pub workspace_path: Option<String>,
}

/// Parameters of `history/load`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LoadParams {
    /// The session's id, with or without `claude:` before it.
    pub session_id: String,
    /// Where several have that id: the working directory, or the transcript as lists have it in `path`.
    pub workspace_path: Option<String>,
    /// At most so many messages; 10000 unless given, and at most.
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// Which messages; all that were said unless given.
    pub view: Option<View>,
    /// Also, among all that were said, what the client has put in by itself: output of commands, reminders, messages of
    /// other agents.
    pub all: Option<bool>,
}

/// Which messages of a session are loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum View {
    /// All that was said in the conversation that the client would go on with, before compactions too.
    #[default]
    Full,
    /// What the client would send to the model if it resumed the session now.
    Model,
}

/// Parameters of `history/read`. At most one of `around`, `before`, `after`, `last` and `cursor` is given; without any of
/// them the history is read from its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReadParams {
    /// The session's id, with or without `claude:` before it.
    pub session_id: String,
    /// Where several have that id: the working directory, or the transcript as lists have it in `path`.
    pub workspace_path: Option<String>,
    /// Items on both sides of this entry, and the entry.
    pub around: Option<EntryRef>,
    /// Items before this entry.
    pub before: Option<EntryRef>,
    /// Items behind this entry.
    pub after: Option<EntryRef>,
    /// The last items.
    pub last: Option<bool>,
    /// A page before or behind another.
    pub cursor: Option<String>,
    /// At most so many items; 200 unless given, at most 5000.
    pub limit: Option<usize>,
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
    /// The session's id, with or without `claude:` before it.
    pub session_id: String,
    /// Where several have that id: the working directory, or the transcript as lists have it in `path`.
    pub workspace_path: Option<String>,
    /// Only calls of this tool.
    pub name: Option<String>,
    /// Only calls whose result says that they failed.
    pub errors: Option<bool>,
    /// At most so many; 1000 unless given, at most 10000.
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// Parameters of `history/turns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnsParams {
    /// The session's id, with or without `claude:` before it.
    pub session_id: String,
    /// Where several have that id: the working directory, or the transcript as lists have it in `path`.
    pub workspace_path: Option<String>,
    /// At most so many; 1000 unless given, at most 10000.
    pub limit: Option<usize>,
    /// Where the page before ended.
    pub cursor: Option<String>,
}

/// Parameters of `history/projects`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectsParams {
    /// At most so many; 1000 unless given, at most 10000.
    pub limit: Option<usize>,
}

/// Parameters of `history/rename`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RenameParams {
    /// The session's id, with or without `claude:` before it.
    pub session_id: String,
    /// Where several have that id: the working directory, or the transcript as lists have it in `path`.
    pub workspace_path: Option<String>,
    /// Its new title.
    pub title: String,
}

/// Parameters of `history/tag`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TagParams {
    /// The session's id, with or without `claude:` before it.
    pub session_id: String,
    /// Where several have that id: the working directory, or the transcript as lists have it in `path`.
    pub workspace_path: Option<String>,
    /// Its new tag; null takes the old one away.
    pub tag: Option<String>,
}

/// Parameters of `history/fork`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForkParams {
    /// The session's id, with or without `claude:` before it.
    pub session_id: String,
    /// Where several have that id: the working directory, or the transcript as lists have it in `path`.
    pub workspace_path: Option<String>,
    /// The last message to copy, by its uuid or the beginning of it; all of them unless given.
    pub up_to: Option<String>,
    /// The title of the copy; that of the session with `(fork)` behind it unless given.
    pub title: Option<String>,
    /// Whether subagents, long tool output and backups of files are copied too.
    pub with_side_files: Option<bool>,
}

/// Parameters of `history/restore`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RestoreParams {
    /// The id of a session in the trash, with or without `claude:` before it.
    pub session_id: String,
    /// Which of the session's entries, as `history/trash` names them; the newest unless given.
    pub entry: Option<String>,
}

/// Parameters of methods that need none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NoParams {}

/// Parameters of `history/watch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WatchParams {
    /// The session whose new entries are wanted; without it, changes of all sessions are.
    pub session_id: Option<String>,
    /// Where several have that id: the working directory, or the transcript as lists have it in `path`.
    pub workspace_path: Option<String>,
    /// From where in the transcript on: `nextOffset` of what was received last. From its present end unless given.
    pub offset: Option<u64>,
}

/// Parameters of `history/unwatch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UnwatchParams {
    /// The subscription, as `history/watch` named it.
    pub subscription: String,
}
