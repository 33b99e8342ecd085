//! How a session is continued: `annals resume --json`.

use serde::{Deserialize, Serialize};

use crate::Text;

/// How a session is continued: what `annals resume --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResumeCommand {
    /// The folder to run the command in.
    pub folder: Text,
    /// The value of `CLAUDE_CONFIG_DIR` for the command, if it has to be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Text>,
    /// The program and its arguments.
    pub command: Vec<String>,
}
