use serde::{Deserialize, Serialize};

/// Where a server is reached: what `annals serve --json` prints when it listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Serving {
    /// The page, for a browser; the token is in it.
    pub url: String,
    /// The address and the port.
    pub address: String,
    /// What programs send as `Authorization: Bearer`.
    pub token: String,
    /// Whether changes are refused.
    pub read_only: bool,
}
