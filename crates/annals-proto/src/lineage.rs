use serde::{Deserialize, Serialize};

use crate::Text;

/// A related session: a line of `annals lineage --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Relation {
    /// The other session.
    pub session: Option<String>,
    /// Its transcript.
    pub path: Text,
    /// What it is to the session asked about: `origin`, `copy`, `twin`, `continuation` or `title`.
    pub kinship: String,
    /// How many entries both have.
    pub shared: usize,
    /// The last of them: where the two part.
    pub last_shared: Option<String>,
}
