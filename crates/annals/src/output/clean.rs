//! Text from strangers, made safe for a terminal.

use std::borrow::Cow;

use anstream::adapter::strip_str;

/// Returns text without the escape sequences that colour it or move the cursor: programs' output is full of them.
pub(crate) fn without_escapes(text: &str) -> Cow<'_, str> {
    if text.contains('\u{1b}') { Cow::Owned(strip_str(text).to_string()) } else { Cow::Borrowed(text) }
}

/// Returns text for one line: control characters and marks that reorder text become U+FFFD.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    replaced(text, is_harmful)
}

/// Returns text of several lines: the same, but line ends and tabs stay.
pub(crate) fn clean_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |character| !matches!(character, '\n' | '\t') && is_harmful(character))
}

/// Returns JSON in which harmful characters are spelled as escapes. Only white space between tokens may be one outside
/// of strings, where JSON allows no escapes: it becomes a blank.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    if !may_harm(json.as_bytes()) || !json.chars().any(is_harmful) {
        return Cow::Borrowed(json);
    }
    let spelled = |character: char| match character {
        '\t' | '\n' | '\r' => " ".to_owned(),
        harmful if is_harmful(harmful) => format!("\\u{:04x}", u32::from(harmful)),
        other => other.to_string(),
    };
    json.chars().map(spelled).collect()
}

fn replaced(text: &str, harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !may_harm(text.as_bytes()) || !text.chars().any(&harmful) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .map(|character| if harmful(character) { char::REPLACEMENT_CHARACTER } else { character })
        .collect()
}

/// Control characters steer the terminal, marks of direction make text read as what it is not, and separators break
/// lines where none should break.
fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether there is a byte with which the spelling of a harmful character begins: a quick look for the most part
/// of texts.
fn may_harm(text: &[u8]) -> bool {
    text.iter().fold(false, |found, byte| found | matches!(byte, 0..0x20 | 0x7F | 0xC2 | 0xD8 | 0xE2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_gets_through() {
        assert_eq!(
            clean("a\u{1b}[31mred\u{9b}1m\r\n\t"),
            "a\u{FFFD}[31mred\u{FFFD}1m\u{FFFD}\u{FFFD}\u{FFFD}"
        );
        assert_eq!(clean_lines("a\r\n\tb\u{7f}\u{202e}"), "a\u{FFFD}\n\tb\u{FFFD}\u{FFFD}");
        assert_eq!(clean("\u{61c}\u{200f}\u{2028}\u{2067}"), "\u{FFFD}".repeat(4));
        assert_eq!(escaped("{\"a\":\t1}"), "{\"a\": 1}");
        assert_eq!(escaped("{\"a\u{7f}\":\"\u{9b}1m\u{202e}\"}"), r#"{"a\u007f":"\u009b1m\u202e"}"#);
        assert_eq!(without_escapes("a \u{1b}[2mfaint\u{1b}[22m b"), "a faint b");
        for character in (0..=0x3FFF).filter_map(char::from_u32).filter(|character| is_harmful(*character)) {
            assert!(may_harm(character.to_string().as_bytes()), "{character:?}");
        }
        assert!(matches!(clean("天气 😀 👩‍💻"), Cow::Borrowed(_)));
    }
}
