//! Results of requests, and parameters of notifications.

use serde::{Deserialize, Serialize};

use crate::word::words;
use crate::{
    Agent, BackupState, ChangedFile, ChatMessage, HistoryItem, Project, QueuedPrompt, Session, TeamMessage,
    Text, ToolCall, TrashEntry, Turn, ViewNode,
};

/// Result of `history/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The sessions, most recently active first.
    pub sessions: Vec<Session>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What could not be read; absent if everything could.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub problems: Vec<String>,
}

/// Result of `history/load`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LoadResult {
    /// The messages, in the order of the conversation.
    pub messages: Vec<ChatMessage>,
    /// Messages of other agents of a team that fall on this page.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub team_messages: Vec<TeamMessage>,
    /// The prompts that are still in the queue after the last line; only on the last page, and absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub queued: Vec<QueuedPrompt>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Result of `history/read`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReadResult {
    /// The items, in the order of the conversation.
    pub items: Vec<HistoryItem>,
    /// How many items the whole history has.
    pub total: usize,
    /// The index of the first item of this page among them, from 0.
    pub start: usize,
    /// Cursor of the previous page; absent on the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_cursor: Option<String>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The end of the last whole line that was read, in bytes: `history/watch` continues from this offset.
    pub offset: u64,
    /// The prompts that are still in the queue after the last line; only on the page with the last item, and absent if there
    /// are none.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub queued: Vec<QueuedPrompt>,
}

/// Result of `history/files`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FilesResult {
    /// The files that the session changed, by path.
    pub files: Vec<ChangedFile>,
    /// Whether older versions or more files were left out, because the answer would be too long.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cut: bool,
}

/// Result of `history/file`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileResult {
    /// What is left of the version. Unless it is kept, there is no content.
    pub backup: BackupState,
    /// Its content, or what is different from the other version.
    pub nodes: Vec<ViewNode>,
    /// How many lines that has.
    pub lines: usize,
    /// The first line that is not in this answer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<usize>,
}

/// Result of `history/tools`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolsResult {
    /// The tool calls, in the order of the file.
    pub calls: Vec<ToolCall>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Result of `history/turns`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnsResult {
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// On the first page: how many messages Claude Code would not restore although they can be read; absent if it restores all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_messages: Option<usize>,
}

/// Result of `history/agents`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentsResult {
    /// The agents, in the order in which they began; those on other machines last.
    pub agents: Vec<Agent>,
    /// How many agents the session has, on this page or not.
    pub total: usize,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What could not be read; absent if everything could.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub problems: Vec<String>,
}

/// Result of `history/projects`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectsResult {
    /// The projects, most recently active first.
    pub projects: Vec<Project>,
    /// How many projects there are, listed or not.
    pub total: usize,
    /// What could not be read; absent if everything could.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub problems: Vec<String>,
}

/// Result of `history/delete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeleteResult {
    /// Whether the session existed; it is now in the trash.
    pub deleted: bool,
}

/// Result of `history/trash`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TrashResult {
    /// The entries of the trash, most recently deleted first; at most 1000.
    pub sessions: Vec<TrashEntry>,
}

/// Result of `history/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StatusResult {
    /// Always `annals`.
    pub name: String,
    /// The version of annals.
    pub version: String,
    /// The version of this protocol: it increases when something changes its meaning.
    pub protocol_version: u32,
    /// The config folders of Claude Code that the server reads.
    pub roots: Vec<Text>,
    /// The folder of annals itself, with the catalogue and the trash.
    pub home: Text,
    /// Whether changes are refused.
    pub read_only: bool,
    /// Whether requests may ask for text without masked secrets, with `reveal`; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub allow_reveal: bool,
    /// How many subscriptions all peers have together.
    pub subscriptions: usize,
    /// The methods that the server answers.
    pub methods: Vec<String>,
}

/// Result of `history/watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WatchResult {
    /// The name of the subscription, for `history/unwatch`.
    pub subscription: String,
    /// The offset in the transcript from which entries are sent; null when all sessions are watched.
    pub offset: Option<u64>,
}

/// Result of `history/unwatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UnwatchResult {
    /// Always true: an unknown subscription is an error.
    pub unwatched: bool,
}

/// Parameters of the notification `history/changed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChangedNotice {
    /// The subscription.
    pub subscription: String,
    /// Sessions that are new.
    pub added: Vec<Session>,
    /// Sessions that grew, were changed, archived or unarchived, or that Claude Code opened or closed. A session that the
    /// peer has not seen before had no conversation until now.
    pub updated: Vec<Session>,
    /// The ids of sessions whose transcripts are gone, or no longer belong to the working directory that is watched.
    pub removed: Vec<String>,
    /// What happened to the trash; absent if nothing did.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub trash: Vec<TrashNotice>,
}

/// Something that happened to an entry of the trash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TrashNotice {
    /// What happened. Words may be added; a peer ignores those that it does not know.
    pub change: TrashChange,
    /// The entry, as it is or was in the trash.
    pub entry: TrashEntry,
}

words! {
    /// What happened to an entry of the trash.
    TrashChange {
        /// It is new: a session was deleted, or its transcript was replaced.
        Trashed "trashed",
        /// It was moved back to where it was.
        Restored "restored",
        /// It was removed for good.
        Purged "purged",
    }
}

/// Parameters of the notification `history/appended`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppendedNotice {
    /// The session.
    pub session_id: String,
    /// The agent whose transcript is watched; absent for the session's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The subscription.
    pub subscription: String,
    /// The new items, in the order of the file.
    pub items: Vec<HistoryItem>,
    /// The offset at which they begin in the transcript.
    pub offset: u64,
    /// The offset at which they end; the next notification continues from here.
    pub next_offset: u64,
    /// Whether the transcript was replaced or truncated: earlier items no longer hold, and the transcript is sent again
    /// from its start.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub reset: bool,
    /// Whether the transcript is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub gone: bool,
}
