//! JSON on one line.

use std::borrow::Cow;
use std::fmt::Write;

use serde::Serialize;

/// Spells a value as JSON on one line, in the same bytes for the command line and for every transport.
///
/// What could steer a terminal or break the line is escaped, which means the same in JSON: transcripts come from
/// strangers, and there are readers that take U+2028 for the end of a line.
pub fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    let json = serde_json::to_string(value)?;
    Ok(match escaped(&json) {
        Cow::Borrowed(_) => json,
        Cow::Owned(escaped) => escaped,
    })
}

/// Returns JSON in which harmful characters are spelled as escapes. Only white space between tokens may be one outside
/// of strings, where JSON allows no escapes: it becomes a blank.
fn escaped(json: &str) -> Cow<'_, str> {
    if !has_harmful(json) {
        return Cow::Borrowed(json);
    }
    let mut spelled = String::with_capacity(json.len() + 64);
    for character in json.chars() {
        match character {
            '\t' | '\n' | '\r' => spelled.push(' '),
            harmful if is_harmful(harmful) => {
                write!(spelled, "\\u{:04x}", u32::from(harmful)).expect("text takes more text");
            }
            other => spelled.push(other),
        }
    }
    Cow::Owned(spelled)
}

/// Control characters steer the terminal, marks of direction make text read as what it is not, and separators break
/// lines where none should break.
pub fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether there is such a character in a text. Most have not even a byte with which the spelling of one begins.
pub fn has_harmful(text: &str) -> bool {
    let begins = |byte: &u8| matches!(byte, 0..0x20 | 0x7F | 0xC2 | 0xD8 | 0xE2);
    text.as_bytes().iter().fold(false, |found, byte| found | begins(byte)) && text.chars().any(is_harmful)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_the_line_or_steers_a_terminal() {
        assert_eq!(escaped("{\"a\":\t1}"), "{\"a\": 1}");
        assert_eq!(escaped("{\"a\u{7f}\":\"\u{9b}1m\u{202e}\"}"), r#"{"a\u007f":"\u009b1m\u202e"}"#);
        assert_eq!(json_line(&"a\u{2028}b\u{9b}c\u{7f}天😀").unwrap(), "\"a\\u2028b\\u009bc\\u007f天😀\"");
        for character in (0..=0xFFFF).filter_map(char::from_u32) {
            assert_eq!(has_harmful(&character.to_string()), is_harmful(character), "{character:?}");
        }
        let raw = serde_json::value::RawValue::from_string("{\"a\":\r\n1}".to_owned()).unwrap();
        assert_eq!(json_line(&raw).unwrap(), "{\"a\":  1}");
    }
}
