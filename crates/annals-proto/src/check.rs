//! What is wrong with a transcript: `annals check`, `history/check`.

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::word::words;

/// Something wrong in a transcript: a line of `annals check --json`, and in the result of `history/check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The session, if the path of the file names it.
    pub session: Option<String>,
    /// The transcript, or the folder that the problem is about.
    pub path: Text,
    /// The line, from 1; of several adjacent lines, the first. Null if the file as a whole, or a folder, has the problem.
    pub line: Option<u64>,
    /// How many adjacent lines are affected; 0 for a file or a folder.
    pub lines: u64,
    /// What is wrong, in words.
    pub problem: String,
    /// How much it matters.
    pub severity: Severity,
    /// What is lost because of it, in words.
    pub effect: String,
    /// Whether the file can be repaired without further loss.
    pub repairable: bool,
    /// The command that helps; null if there is none.
    pub help: Option<String>,
}

/// Result of `history/check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// What is wrong with the session, in the order of its lines, at most 10,000.
    pub findings: Vec<Problem>,
    /// How many there are.
    pub total: usize,
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
