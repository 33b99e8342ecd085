//! JSON from a transcript that is not UTF-8.

use std::borrow::Cow;

use annals_proto::Text;

/// Returns JSON as text, with `{"bytes": <base64>}` in place of each string that is not UTF-8. Keys must be strings, so
/// their invalid bytes become U+FFFD.
pub(super) fn as_text(json: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(json) {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    let mut rest = json;
    while let Some(start) = rest.iter().position(|&byte| byte == b'"') {
        let (before, string) = rest.split_at(start);
        let (string, behind) = string.split_at(string_length(string));
        text += &String::from_utf8_lossy(before);
        if std::str::from_utf8(string).is_ok() || behind.trim_ascii_start().starts_with(b":") {
            text += &String::from_utf8_lossy(string);
        } else {
            text +=
                &serde_json::to_string(&Text::from(&decoded(string)[..])).expect("text can be serialized");
        }
        rest = behind;
    }
    Cow::Owned(text + &String::from_utf8_lossy(rest))
}

/// Returns the length of the string that bytes begin with, quotes included.
fn string_length(bytes: &[u8]) -> usize {
    let mut is_escaped = false;
    for (index, &byte) in bytes.iter().enumerate().skip(1) {
        if byte == b'"' && !is_escaped {
            return index + 1;
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    bytes.len()
}

/// Returns the bytes that a string stands for.
fn decoded(string: &[u8]) -> Vec<u8> {
    let inside = string.strip_prefix(b"\"").unwrap_or(string);
    let inside = inside.strip_suffix(b"\"").unwrap_or(inside);
    let mut bytes = Vec::new();
    for chunk in inside.utf8_chunks() {
        // Escapes are ASCII, so no escape is split between chunks.
        let text = serde_json::from_str(&format!("\"{}\"", chunk.valid()));
        bytes.extend(text.unwrap_or_else(|_| chunk.valid().to_owned()).bytes());
        bytes.extend(chunk.invalid());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_are_not_utf8_keep_their_bytes() {
        for (json, expected) in [
            (&b"{\"a\":\"b\"}"[..], r#"{"a":"b"}"#),
            (b"{\"a\":\"\xff\",\"b\":\"c\"}", r#"{"a":{"bytes":"/w=="},"b":"c"}"#),
            (b"{\"\xff\" :[\"\\\"\\n\xff\"]}", "{\"\u{FFFD}\" :[{\"bytes\":\"Igr/\"}]}"),
            (b"\"\\ud83d\xff\"", r#"{"bytes":"XHVkODNk/w=="}"#),
            (b"\"torn\xff", r#"{"bytes":"dG9ybv8="}"#),
            (b"\xff", "\u{FFFD}"),
        ] {
            assert_eq!(as_text(json), expected);
        }
    }
}
