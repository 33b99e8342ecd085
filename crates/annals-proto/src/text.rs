//! Text that may not be UTF-8.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Text, or `{"bytes": <base64>}` where it is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Text {
    /// Text.
    Text(String),
    /// Bytes that are not text.
    Bytes {
        /// The bytes in base64.
        bytes: String,
    },
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Text::Text(text.to_owned()),
            Err(_) => Text::Bytes { bytes: STANDARD.encode(bytes) },
        }
    }
}

impl From<&Path> for Text {
    fn from(path: &Path) -> Self {
        Text::from(path.as_os_str().as_encoded_bytes())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn paths_that_are_not_utf8_keep_their_bytes() {
        let json =
            |path: &[u8]| serde_json::to_string(&Text::from(Path::new(OsStr::from_bytes(path)))).unwrap();
        assert_eq!(json("天气.jsonl".as_bytes()), "\"天气.jsonl\"");
        assert_eq!(json(b"\xff"), r#"{"bytes":"/w=="}"#);
    }
}
