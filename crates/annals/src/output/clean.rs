//! Untrusted text, made safe for a terminal.

use std::borrow::Cow;

use annals_api::{has_harmful, judged};
use anstream::adapter::strip_str;

use super::masked;

/// Returns text without the escape sequences that colour it or move the cursor; the output of programs often has them.
pub(crate) fn without_escapes(text: &str) -> Cow<'_, str> {
    if text.contains('\u{1b}') { Cow::Owned(strip_str(text).to_string()) } else { Cow::Borrowed(text) }
}

/// Returns text for one line: secrets are masked; control characters, marks that reorder text and invisible characters
/// become U+FFFD.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    and_then(masked(text), |text| cleaned(text, |_| false))
}

/// Returns text of several lines: the same, but line ends and tabs stay.
pub(crate) fn clean_lines(text: &str) -> Cow<'_, str> {
    and_then(masked(text), clean_masked)
}

/// Returns a piece of a text that was masked as a whole: the same without masking.
pub(crate) fn clean_masked(text: &str) -> Cow<'_, str> {
    cleaned(text, |character| matches!(character, '\n' | '\t'))
}

/// Returns a piece of one line that was masked as a whole: control characters, marks that reorder text and invisible
/// characters become U+FFFD.
pub(crate) fn clean_piece(text: &str) -> Cow<'_, str> {
    cleaned(text, |_| false)
}

/// Changes a text that may be borrowed; it stays borrowed if nothing changes.
fn and_then(text: Cow<'_, str>, change: impl Fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => change(text),
        Cow::Owned(text) => Cow::Owned(change(&text).into_owned()),
    }
}

fn cleaned(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !has_harmful(text) {
        return Cow::Borrowed(text);
    }
    let characters = judged(text).map(|(character, is_harmful)| {
        if is_harmful && !stays(character) { char::REPLACEMENT_CHARACTER } else { character }
    });
    characters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_controls_a_terminal_gets_through() {
        assert_eq!(
            clean("a\u{1b}[31mred\u{9b}1m\r\n\t"),
            "a\u{FFFD}[31mred\u{FFFD}1m\u{FFFD}\u{FFFD}\u{FFFD}"
        );
        assert_eq!(clean_lines("a\r\n\tb\u{7f}\u{202e}"), "a\u{FFFD}\n\tb\u{FFFD}\u{FFFD}");
        assert_eq!(clean("\u{61c}\u{200f}\u{2028}\u{2067}"), "\u{FFFD}".repeat(4));
        assert_eq!(without_escapes("a \u{1b}[2mfaint\u{1b}[22m b"), "a faint b");
        assert!(matches!(clean("天气 😀 👩‍💻"), Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_hides_between_what_can_be_seen() {
        for hidden in [
            "\u{200b}",
            "\u{200c}",
            "\u{200d}",
            "\u{2060}",
            "\u{2063}",
            "\u{206f}",
            "\u{feff}",
            "\u{34f}",
            "\u{180e}",
            "\u{fffa}",
            "\u{e0001}",
            "\u{e0041}",
            "\u{e007f}",
        ] {
            assert_eq!(clean(&format!("pass{hidden}word")), "pass\u{FFFD}word", "{hidden:?}");
        }
        assert_eq!(clean("天\u{200d}\u{200c}气"), "天\u{FFFD}\u{FFFD}气", "joiners in a row join nothing");
        assert_eq!(
            clean("😀\u{e0100}葛\u{e0100}\u{e0101}\u{fe0f}"),
            "😀\u{FFFD}葛\u{e0100}\u{FFFD}\u{FFFD}",
            "selectors in a row hide bytes"
        );
        assert_eq!(clean("\u{fe0f}"), "\u{FFFD}");
        // Emoji, Persian, Hindi, Sinhala, and a form of a Han character.
        for good in ["👩‍👩‍👧‍👦 🏳️‍🌈 ❤️ 1️⃣", "می‌خواهم", "क्‍ष", "ශ්‍රී", "葛\u{e0100}"]
        {
            assert!(matches!(clean(good), Cow::Borrowed(_)), "{good:?}");
        }
    }
}
