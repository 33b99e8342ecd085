//! Changes of transcripts as they happen: `annals tail --json`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Text;
use crate::word::{is_zero, words};

/// A change of a transcript, or of the session that it belongs to: a line of `annals tail --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TailEvent {
    /// What happened.
    pub event: TailEventKind,
    /// The session.
    pub session: Option<String>,
    /// The subagent that the transcript belongs to.
    pub agent_id: Option<String>,
    /// The path of the transcript.
    pub path: Text,
    /// The new title of the session; empty if it has none any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The offset of an appended entry in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The appended entry as it is in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub entry: Option<Box<RawValue>>,
    /// The appended bytes, if no entry could be read from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<Text>,
    /// The id of the entry of the trash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trash_entry: Option<String>,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

words! {
    /// What happened to a transcript. Words may be added.
    TailEventKind {
        /// It is new.
        Created "created",
        /// An entry was appended.
        Appended "appended",
        /// The session has a new title.
        Title "title",
        /// It was replaced or truncated.
        Replaced "replaced",
        /// It was removed.
        Removed "removed",
        /// The session was put into the archive of Claude Code.
        Archived "archived",
        /// The session was taken out of the archive of Claude Code.
        Unarchived "unarchived",
        /// Claude Code has opened the session.
        Opened "opened",
        /// No Claude Code has the session open any more.
        Closed "closed",
        /// The session has a new entry in the trash: it was deleted, or its transcript was replaced.
        Trashed "trashed",
        /// An entry of the trash was restored.
        Restored "restored",
        /// An entry of the trash was removed for good.
        Purged "purged",
    }
}
