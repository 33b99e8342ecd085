use serde::{Deserialize, Serialize};

use crate::Text;

/// What became of a batch of drafts: a line of `annals record`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// The session.
    pub session: String,
    /// The transcript.
    pub path: Text,
    /// How many entries were new.
    pub written: usize,
    /// How many were there already.
    pub skipped: usize,
    /// How many were refused; only with `--keep-going`, without which one refusal ends everything.
    pub refused: usize,
    /// The entry that the next message should hang on.
    pub last: Option<String>,
}
