use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Text;
use crate::word::{is_zero, words};

/// A change of a transcript: a line of `annals tail --json`.
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
    /// The new title of the session.
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
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

words! {
    /// What happened to a transcript.
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
    }
}
