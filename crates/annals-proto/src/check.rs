use serde::{Deserialize, Serialize};

use crate::Text;
use crate::word::words;

/// Something wrong in a transcript: a line of `annals check --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The session, if the path of the file names it.
    pub session: Option<String>,
    /// The transcript.
    pub path: Text,
    /// The line, from 1; of several adjacent lines, the first.
    pub line: u64,
    /// How many adjacent lines are affected.
    pub lines: u64,
    /// What is wrong, in words.
    pub problem: String,
    /// How much it matters.
    pub severity: Severity,
    /// What is lost because of it, in words.
    pub effect: String,
    /// Whether the file can be repaired without further loss.
    pub repairable: bool,
}

words! {
    /// How much a problem matters.
    Severity {
        /// Nothing is lost.
        Info "info",
        /// Something may be lost or shown wrongly.
        Warning "warning",
        /// Claude Code cannot read part of the history.
        Error "error",
    }
}
