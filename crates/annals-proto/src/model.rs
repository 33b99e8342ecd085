//! Messages that Claude Code would send on resume: `annals show --view model --json`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::word::words;

/// A message that Claude Code would send on resume: a line of `annals show --view model --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelMessage {
    /// Who speaks.
    pub role: Role,
    /// The content blocks as Claude Code would send them, with U+FFFD for bytes that are not UTF-8. Blocks that Claude Code
    /// makes up for the request have `"synthetic":true`.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
    pub parts: Vec<Box<RawValue>>,
    /// The uuids of the entries that it is made from.
    pub entries: Vec<String>,
}

words! {
    /// Who speaks.
    Role {
        /// A person, or Claude Code in the person's place.
        User "user",
        /// The model.
        Assistant "assistant",
    }
}
