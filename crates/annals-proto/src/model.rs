use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A message that the client would send on resume: a line of `annals show --view model --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// The content blocks as the client would send them, bytes that are not UTF-8 as U+FFFD; those made up for the request carry `"synthetic":true`.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
    pub parts: Vec<Box<RawValue>>,
    /// The entries that it is made from.
    pub entries: Vec<String>,
}
