use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Text;

/// Something that happened to a transcript: a line of `annals tail --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Followed {
    /// `created`, `appended`, `title`, `replaced` or `removed`.
    pub event: String,
    /// The session.
    pub session: Option<String>,
    /// The subagent, if it is one's transcript.
    pub agent_id: Option<String>,
    /// The transcript.
    pub path: Text,
    /// What the session is called from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where an entry that was appended starts in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The entry as it stands in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub entry: Option<Box<RawValue>>,
    /// Its bytes, where no entry could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<Text>,
}
