//! JSON on one line.

use std::borrow::Cow;
use std::fmt::Write;

use annals_render::{has_harmful, judged};
use serde::Serialize;

/// Returns a value as JSON on one line, with the same bytes for the command line and for every transport.
///
/// Characters that could control a terminal or break the line are escaped, which is equivalent in JSON: transcripts are
/// untrusted, and some readers take U+2028 for the end of a line.
pub fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    let json = serde_json::to_string(value)?;
    Ok(match escaped(&json) {
        Cow::Borrowed(_) => json,
        Cow::Owned(escaped) => escaped,
    })
}

/// Returns JSON in which harmful characters are escaped. Outside of strings, where JSON allows no escapes, only white space
/// between tokens can be harmful: it becomes a blank.
fn escaped(json: &str) -> Cow<'_, str> {
    if !has_harmful(json) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 64);
    for (character, is_harmful) in judged(json) {
        match character {
            '\t' | '\n' | '\r' => out.push(' '),
            harmful if is_harmful => {
                for unit in harmful.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}").expect("text takes more text");
                }
            }
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_the_line_or_steers_a_terminal() {
        assert_eq!(escaped("{\"a\":\t1}"), "{\"a\": 1}");
        assert_eq!(escaped("{\"a\u{7f}\":\"\u{9b}1m\u{202e}\"}"), r#"{"a\u007f":"\u009b1m\u202e"}"#);
        assert_eq!(json_line(&"a\u{2028}b\u{9b}c\u{7f}天😀").unwrap(), "\"a\\u2028b\\u009bc\\u007f天😀\"");
        assert_eq!(json_line(&"a\u{e0041}").unwrap(), r#""a\udb40\udc41""#);
        let raw = serde_json::value::RawValue::from_string("{\"a\":\r\n1}".to_owned()).unwrap();
        assert_eq!(json_line(&raw).unwrap(), "{\"a\":  1}");
    }
}
