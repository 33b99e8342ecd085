//! How to reach a server: `annals serve --json`.

use serde::{Deserialize, Serialize};

/// How to reach a server: what `annals serve --json` prints when it listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServerAddress {
    /// The address of the page for a browser, with the token.
    pub url: String,
    /// The IP address and the port.
    pub address: String,
    /// The token that programs send as `Authorization: Bearer`.
    pub token: String,
    /// Whether changes are refused.
    pub read_only: bool,
}
