//! Where words start and escapes end, in text that may be plain or may come from inside a JSON string.
//!
//! The same command output is `a⏎ghp_…` when it is decoded, `a\nghp_…` in a JSON string and `a\\nghp_…` in a JSON
//! string that was put into another one. A rule must see the start of a word in all three, and a masked range must
//! never cut an escape in two, or the JSON around it would no longer parse.

use std::ops::Range;

/// Returns whether a word can start at `at`: the byte before is no ASCII letter or digit, or it ends an escape.
pub(crate) fn starts_word(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    before.last().is_none_or(|byte| !byte.is_ascii_alphanumeric() || ends_escape(before))
}

/// Returns whether `text` ends with an escape whose last byte is a letter or digit: `\n`, `\u0027`, `%3D`, or a
/// terminal colour such as `ESC[31m`.
pub(crate) fn ends_escape(text: &[u8]) -> bool {
    match text {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()),
        [.., b'%', first, second] => first.is_ascii_hexdigit() && second.is_ascii_hexdigit(),
        [.., b'm'] => ends_colour(text),
        _ => false,
    }
}

/// Returns whether `text` ends with `[`, at most 16 digits and semicolons, and `m`.
fn ends_colour(text: &[u8]) -> bool {
    let parameters = text.iter().rev().skip(1).take(17);
    parameters.copied().find(|byte| !byte.is_ascii_digit() && *byte != b';') == Some(b'[')
}

/// Returns `range` with both ends moved so that it cuts neither a character nor an escape of JSON in two.
///
/// The start moves inwards, to the end of an escape that the byte before it begins: that byte stays in the text. The end
/// moves inwards over backslashes, which belong to what follows, and outwards over the rest of a `\u` escape and of a
/// character that is written as two of them.
pub(crate) fn whole_escapes(text: &str, range: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let Range { mut start, mut end } = range;
    // A rule of a user that searches bytes can match from inside a character on.
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    if start > 0 && bytes[start - 1] == b'\\' {
        start = next_character(text, start + if bytes[start..].starts_with(b"u") { 5 } else { 1 });
    } else if let Some(escape) = unicode_escape_around(bytes, start) {
        start = next_character(text, escape + 6);
    }
    if let Some(escape) = unicode_escape_around(bytes, end) {
        end = (escape + 6).min(bytes.len());
    }
    end = next_character(text, end);
    while is_low_surrogate(&bytes[end..]) {
        end += 6;
    }
    while end > start && bytes[end - 1] == b'\\' {
        end -= 1;
    }
    start..end.max(start)
}

/// Returns a range of a JSON string with both ends moved so that it cuts none of the string's own escapes in two, whatever
/// rule found it. `from` lies between two characters of the string, at the start of the range or before it.
///
/// Other than [`whole_escapes`], which guesses how the text around a secret was escaped, this reads the escapes of the string
/// one after another. The start moves inwards; the end moves outwards over a `\u` escape and inwards over any other.
pub(crate) fn whole_json_escapes(string: &[u8], from: usize, range: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = range;
    let mut at = from;
    while let Some(length) = memchr::memchr(b'\\', &string[at..end]) {
        let escape = at + length;
        let length = json_escape_length(&string[escape..]);
        at = escape + length;
        if start > escape && start < at {
            start = at;
        }
        if at > end {
            end = if length > 2 { at } else { escape };
            break;
        }
    }
    start..end.max(start)
}

/// Returns the length of the escape of JSON that `text` starts with. Two halves of a character are one escape.
fn json_escape_length(text: &[u8]) -> usize {
    let is_high_surrogate =
        matches!(text, [_, b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..]);
    let length = match text {
        [_, b'u', ..] if is_high_surrogate && text.len() > 6 && is_low_surrogate(&text[6..]) => 12,
        [_, b'u', ..] => 6,
        _ => 2,
    };
    length.min(text.len())
}

/// Returns whether `text` starts with the escape of the second half of a character, such as `\udd11`.
fn is_low_surrogate(text: &[u8]) -> bool {
    let [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', a, b, ..] = text else { return false };
    a.is_ascii_hexdigit() && b.is_ascii_hexdigit()
}

/// Returns the first offset from `at` on that lies between two characters, or the length of `text`.
fn next_character(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

/// Returns the offset of the backslash of a `\uXXXX` escape that begins before `at` and ends after it.
fn unicode_escape_around(text: &[u8], at: usize) -> Option<usize> {
    let first = at.saturating_sub(5);
    (first..at).rev().find(|&start| {
        text[start..].starts_with(b"\\u")
            && text[start + 2..].iter().take(4).filter(|byte| byte.is_ascii_hexdigit()).count() == 4
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_start_behind_anything_but_letters_and_digits() {
        for before in
            ["", " ", "\"", "=", "_", "-", "密", "\n", "\\n", "\\\\n", "\\u0027", "%3D", "\u{1b}[1;31m"]
        {
            assert!(starts_word(format!("{before}ghp_").as_bytes(), before.len()), "{before}");
        }
        for before in ["a", "9", "ta", "min", "u0027", "5m", "3D", "[12345678901234567m"] {
            assert!(!starts_word(format!("{before}ghp_").as_bytes(), before.len()), "{before}");
        }
    }

    #[test]
    fn ranges_cut_no_escape() {
        fn check(text: &str, range: Range<usize>, expected: &str) {
            assert_eq!(&text[whole_escapes(text, range)], expected, "{text}");
        }
        check(r"key=abc\n", 4..7, "abc");
        check(r"key=abc\n", 4..8, "abc");
        check(r"key=abc\\\n", 4..9, "abc");
        check(r"\nabc", 1..5, "abc");
        check(r"\u0041bc", 1..8, "bc");
        check(r"key=ab\u0041", 4..9, r"ab\u0041");
        check(r"key=ab\u0041cd", 4..12, r"ab\u0041");
        check(r"key=ab\ud83d\udd11cd", 4..12, r"ab\ud83d\udd11");
        check("key=密码", 4..8, "密码");
        check(r"\u200bkettle", 5..12, "kettle");
    }

    #[test]
    fn ranges_of_a_json_string_cut_no_escape_of_it() {
        fn check(text: &str, range: Range<usize>, expected: &str) {
            assert_eq!(&text[whole_json_escapes(text.as_bytes(), 0, range)], expected, "{text}");
        }
        check(r"\u200bkettle", 5..12, "kettle");
        check(r"\u200b", 5..6, "");
        check(r"ab\ncd", 3..6, "cd");
        check(r"ab\\ncd", 4..7, "ncd");
        check(r"ab\ncd", 0..3, "ab");
        check(r"ab\u0041cd", 0..5, r"ab\u0041");
        check(r"\ud83d\udd11cd", 6..14, "cd");
        check(r"ab\ud83d\udd11cd", 0..8, r"ab\ud83d\udd11");
        check(r"\ud83dcd", 0..7, r"\ud83dc");
        check(r"ab\u00", 0..5, r"ab\u00");
    }
}
