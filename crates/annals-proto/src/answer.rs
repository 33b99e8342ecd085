//! Results of requests, and parameters of notifications.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{HistoryItem, Project, Session, Text, ToolCall, Trashed, Turn};

/// Result of `history/list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListResult {
    /// The sessions, the last active first.
    pub sessions: Vec<Session>,
    /// Where the next page begins; absent behind the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What could not be read; absent if all could.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub problems: Vec<String>,
}

/// Result of `history/load`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LoadResult {
    /// The messages, in the order in which they were said.
    pub messages: Vec<ChatMessage>,
    /// What other agents of a team have said meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub team_messages: Vec<TeamMessage>,
    /// Where the next page begins; absent behind the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One message, as people see it: a prompt, or a reply with the calls that it made and what came of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChatMessage {
    /// The uuid of its first entry; for an entry without one, `line-` and its line.
    pub id: String,
    /// `user` or `assistant`; with `all`, also `system` for notices and context.
    pub role: String,
    /// Its text blocks, joined by line breaks. In the full view, a prompt is as it was typed, without the tags that the
    /// client has put around it.
    pub content: String,
    /// Its thinking, joined by line breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
    /// The calls that it makes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tool_calls: Vec<ChatToolCall>,
    /// The order of text, thinking, calls and images in a reply, and of text and images in a prompt that has images.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub content_blocks: Vec<ChatBlock>,
    /// When its first entry was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The model of a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What came in with it, one after the other and without the tags around it, where that is not just what a person
    /// typed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub inputs: Vec<CameIn>,
    /// Whether it is the summary that stands for what was compacted away.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub summary: bool,
    /// Whether something in it was too long to be sent and was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cut: bool,
}

/// What another agent of a team has said.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TeamMessage {
    /// Who has said it.
    pub teammate_id: String,
    /// In which colour the client shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// In a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// In all words.
    pub content: String,
    /// When it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// Something that came in with a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CameIn {
    /// What it is: `prompt`, `queued`, `command`, `bash`, `output`, `ide_selection`, `ide_opened_file`,
    /// `task_notification`, `compact_summary`, `skill`, `teammate`, `hook`, `interrupt` or `injected`; with `all`, also
    /// `notice` (a notice of Claude Code) and `context` (the name of what it added for the model).
    pub kind: String,
    /// What it says; of a command, its arguments.
    pub text: String,
    /// The name of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The agent of a team that sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teammate_id: Option<String>,
    /// In which colour the client shows that agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// What the agent says in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// A call, and what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChatToolCall {
    /// The call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, as they stand in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub input: Option<Box<RawValue>>,
    /// What the tool answered, as it stands in the file: text or blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub result: Option<Box<RawValue>>,
    /// The text of the answer, if the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `completed`, `failed` or `pending`.
    pub status: String,
}

/// A run of text, thinking or calls in a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ChatBlock {
    /// Text.
    Text {
        /// The text.
        content: String,
    },
    /// Thinking.
    Thought {
        /// The thinking.
        content: String,
        /// Always true: it is not being written any more.
        is_complete: bool,
    },
    /// Calls.
    Tools {
        /// The calls, by their ids.
        tool_call_ids: Vec<String>,
    },
    /// An image or a document.
    Image {
        /// Its media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its bytes in base64; absent if they are not in the transcript.
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<String>,
        /// Where it lies, if its bytes are not in the transcript.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
}

/// Result of `history/read`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReadResult {
    /// The items, in the order of the conversation.
    pub items: Vec<HistoryItem>,
    /// How many items the history has.
    pub total: usize,
    /// The place of the first item of this page among them, from 0.
    pub start: usize,
    /// Leads to the page before; absent on the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_cursor: Option<String>,
    /// Leads to the page behind; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The length of the transcript that was read, up to its last whole line: `history/watch` goes on from here.
    pub offset: u64,
}

/// Result of `history/tools`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolsResult {
    /// The calls, in the order of the file.
    pub calls: Vec<ToolCall>,
    /// Where the next page begins; absent behind the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Result of `history/turns`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnsResult {
    /// The rounds.
    pub turns: Vec<Turn>,
    /// Where the next page begins; absent behind the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Result of `history/projects`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectsResult {
    /// The projects, the last active first.
    pub projects: Vec<Project>,
    /// How many there are.
    pub total: usize,
    /// What could not be read; absent if all could.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub problems: Vec<String>,
}

/// Result of `history/delete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeleteResult {
    /// Whether there was such a session; it is in the trash now.
    pub deleted: bool,
}

/// Result of `history/trash`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TrashResult {
    /// The sessions in the trash, the last deleted first; at most 1000.
    pub sessions: Vec<Trashed>,
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
    /// The version of this protocol: it grows when something changes its meaning.
    pub protocol_version: u32,
    /// The client's folders that are looked at.
    pub roots: Vec<Text>,
    /// The folder of annals itself: catalogue and trash.
    pub home: Text,
    /// Whether changes are refused.
    pub read_only: bool,
    /// How many subscriptions there are, of all clients.
    pub subscriptions: usize,
    /// The methods that are answered.
    pub methods: Vec<String>,
}

/// Result of `history/watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WatchResult {
    /// Names the subscription.
    pub subscription: String,
    /// From where in the transcript on entries are sent; null for all sessions.
    pub offset: Option<u64>,
}

/// Result of `history/unwatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UnwatchResult {
    /// Always true: what is not there is an error.
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
    /// Sessions that went on or were changed. One that a client does not know was without conversation until now.
    pub updated: Vec<Session>,
    /// The ids of sessions whose transcripts are gone.
    pub removed: Vec<String>,
}

/// Parameters of the notification `history/appended`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppendedNotice {
    /// The session.
    pub session_id: String,
    /// The subscription.
    pub subscription: String,
    /// The new items, in the order of the file.
    pub items: Vec<HistoryItem>,
    /// Where they begin in the transcript.
    pub offset: u64,
    /// Where they end: what comes next begins here.
    pub next_offset: u64,
    /// Whether the transcript was replaced or cut off: what was received before no longer holds, and is sent again from
    /// its start.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub reset: bool,
    /// Whether the transcript is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub gone: bool,
}
