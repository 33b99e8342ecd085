//! Sessions that share entries: `annals lineage`, `history/lineage`, `history/copies`.

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::word::words;

/// A related session: a line of `annals lineage --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Relation {
    /// The other session.
    pub session: Option<String>,
    /// The path of its transcript.
    pub path: Text,
    /// How it is related.
    pub kinship: Kinship,
    /// How many entries both sessions have.
    pub shared: usize,
    /// The uuid of the last of them, after which the two differ.
    pub last_shared: Option<String>,
}

/// Result of `history/lineage`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LineageResult {
    /// The sessions that have entries in common with it, the closest first, at most 1,000.
    pub relations: Vec<Relation>,
    /// How many there are.
    pub total: usize,
}

/// Result of `history/copies`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CopiesResult {
    /// Groups of sessions that have entries in common, such as copies and forks: the paths of their transcripts.
    pub groups: Vec<Vec<Text>>,
    /// What could not be read.
    pub problems: Vec<String>,
}

words! {
    /// What another session is to the session that was asked about.
    Kinship {
        /// The session was copied from the other.
        Origin "origin",
        /// The other was copied from the session.
        Copy "copy",
        /// Both have the same entries, and it is unknown which came first.
        Twin "twin",
        /// The session continues in the other.
        Continuation "continuation",
        /// The other holds a title of the session.
        Title "title",
    }
}
