//! The payloads of records.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Text;
use crate::word::words;

/// The payload of a record: an element of `parts` of an item that is no message.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RecordPart {
    /// A prompt enters or leaves the queue.
    QueueOperation {
        /// What happens, as Claude Code wrote it: `enqueue`, `dequeue`, `remove` or `popAll`.
        operation: Option<String>,
        /// The prompt, as blocks; absent if the operation names none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
        content: Vec<Box<RawValue>>,
        /// Why the prompt left the queue.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The queue entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        command_uuid: Option<String>,
        /// The delivery.
        #[serde(skip_serializing_if = "Option::is_none")]
        delivery_id: Option<String>,
        /// Whether the prompt is still in the queue after the last line of the transcript. Absent in `history/appended`.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        waiting: bool,
    },
    /// Files as they were before a prompt.
    FileSnapshot {
        /// The prompt.
        message_id: Option<String>,
        /// Whether it adds to an earlier snapshot of the same prompt.
        update: bool,
        /// The files.
        files: Vec<FileBackup>,
    },
    /// One more file for a snapshot.
    FileBackup {
        /// The reply that changed the file.
        message_id: Option<String>,
        /// The prompt of the snapshot.
        snapshot_message_id: Option<String>,
        /// The file.
        #[serde(flatten)]
        file: FileBackup,
    },
    /// Tool results that the model no longer sees as they were.
    ContentReplacement {
        /// The subagent; null for the main conversation.
        agent_id: Option<String>,
        /// How many results the record replaces.
        count: usize,
        /// What was replaced; at most 1000 of them.
        replacements: Vec<ReplacedResult>,
    },
    /// A title or name of the session.
    Title {
        /// Who gave it.
        source: TitleRecord,
        /// The title.
        title: Option<String>,
        /// Of a summary, a message of the session that it names.
        #[serde(skip_serializing_if = "Option::is_none")]
        leaf: Option<String>,
    },
    /// The user's tag; empty if it was removed.
    Tag {
        /// The tag.
        tag: Option<String>,
    },
    /// The newest prompt, and the leaf of the conversation.
    LastPrompt {
        /// The prompt, cut by Claude Code at about 200 characters.
        prompt: Option<String>,
        /// The leaf.
        leaf: Option<String>,
    },
    /// The input mode, or the permission mode.
    Mode {
        /// The mode, as Claude Code wrote it.
        mode: Option<String>,
    },
    /// A pull request of the session.
    PullRequest {
        /// Its number.
        number: Option<u64>,
        /// Its address.
        url: Option<String>,
        /// Its repository.
        repository: Option<String>,
    },
    /// Which lines of files the session wrote.
    Attribution {
        /// The record as it is in the file; its fields are not known.
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
        record: Box<RawValue>,
    },
}

words! {
    /// Which record gives a title.
    TitleRecord {
        /// `custom-title`: the user gave it.
        Custom "custom",
        /// `ai-title`: a model gave it.
        Ai "ai",
        /// `summary`: old versions of Claude Code gave it, often to another session.
        Summary "summary",
        /// `agent-name`: the name that the session runs under.
        AgentName "agent_name",
    }
}

/// A copy of a file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileBackup {
    /// The tracked file.
    pub path: String,
    /// The number of the version.
    pub version: Option<u64>,
    /// The name of the copy below `file-history/<session>/`; null if the file did not exist.
    pub backup: Option<String>,
    /// When the copy was made.
    pub backup_at: Option<String>,
    /// The real folder of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_parent: Option<String>,
}

/// A tool result that the model no longer sees as it was, and where the original is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReplacedResult {
    /// The call.
    pub tool_use_id: Option<String>,
    /// The name of its tool.
    pub tool: Option<String>,
    /// The line of the transcript with the original; null if the transcript does not have it.
    pub line: Option<u64>,
    /// The uuid of that line.
    pub uuid: Option<String>,
    /// How many bytes the original has in that line, as JSON.
    pub bytes: Option<u64>,
    /// The file beside the transcript with the original; null if there is none.
    pub file: Option<Text>,
    /// How many bytes that file has.
    pub file_bytes: Option<u64>,
    /// The replacement, as it is in the file.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub replacement: Box<RawValue>,
}

/// A prompt that is in the queue after the last line of a transcript: Claude Code has not sent it to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct QueuedPrompt {
    /// Its text.
    pub text: String,
    /// When it was queued.
    pub timestamp: Option<String>,
    /// The line of the transcript that queued it, from 1.
    pub line: u64,
    /// Whether the text was too long to be sent and was left out.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cut: bool,
}
