//! Lines byte for byte: `annals show --view raw --json`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// A line of a transcript, byte for byte: a line of `annals show --view raw --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RawLine {
    /// Its number, from 1.
    pub line: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// Its text, without the newline at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64, instead of `text`, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
}

impl RawLine {
    /// Takes the bytes of a line, without the newline at its end.
    pub fn new(line: u64, offset: u64, bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self { line, offset, text: Some(text.to_owned()), bytes: None },
            Err(_) => Self { line, offset, text: None, bytes: Some(STANDARD.encode(bytes)) },
        }
    }
}
