//! What was recorded and pushed: `annals record`, `annals push`.

use serde::{Deserialize, Serialize};

use crate::Text;

/// The result of recording a batch of drafts: a line of `annals record`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecordResult {
    /// The session.
    pub session: String,
    /// The path of the transcript.
    pub path: Text,
    /// How many entries were appended.
    pub written: usize,
    /// How many entries the transcript already had.
    pub skipped: usize,
    /// How many drafts were refused. Without `--keep-going` the first refusal is an error, so this is 0.
    pub refused: usize,
    /// The uuid of the entry that is the parent of the next message.
    pub last: Option<String>,
    /// How many progress entries were dropped by `--collapse-progress`.
    #[serde(default)]
    pub collapsed: usize,
}

/// The result of sending the entries of a session to a server: `annals push`, and the last line of `annals record --push`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PushResult {
    /// The session.
    pub session: String,
    /// The path of the transcript.
    pub path: Text,
    /// The address of the log, without user, password and query.
    pub address: String,
    /// How many entries were stored.
    pub pushed: usize,
    /// How many entries the server does not have yet.
    pub pending: usize,
    /// The uuid of the last entry that the server has, as far as it is known.
    pub last: Option<String>,
    /// How many entries are not sent because their uuid cannot be the value of an HTTP header.
    #[serde(default)]
    pub skipped: usize,
    /// Why entries are pending.
    pub error: Option<String>,
    /// Whether nothing was sent on purpose.
    pub dry_run: bool,
}
