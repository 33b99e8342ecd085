//! Text from strangers, made safe for a terminal.

use std::borrow::Cow;

use annals_server::{has_harmful, is_harmful};
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

fn replaced(text: &str, harmful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !has_harmful(text) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .map(|character| if harmful(character) { char::REPLACEMENT_CHARACTER } else { character })
        .collect()
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
        assert_eq!(without_escapes("a \u{1b}[2mfaint\u{1b}[22m b"), "a faint b");
        assert!(matches!(clean("天气 😀 👩‍💻"), Cow::Borrowed(_)));
    }
}
