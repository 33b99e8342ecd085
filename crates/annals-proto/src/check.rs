use serde::{Deserialize, Serialize};

use crate::Text;

/// Something wrong in a transcript: a line of `annals check --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The session, where the file's place tells it.
    pub session: Option<String>,
    /// The transcript.
    pub path: Text,
    /// The line, counted from 1; the first one if several in a row are concerned.
    pub line: u64,
    /// How many lines are concerned.
    pub lines: u64,
    /// What it is.
    pub problem: String,
    /// `info`, `warning` or `error`.
    pub severity: String,
    /// What it costs.
    pub effect: String,
    /// Whether the file can be mended without losing anything more.
    pub repairable: bool,
}
