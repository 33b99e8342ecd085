//! Line breaking of prose.

use std::ops::Range;

use unicode_linebreak::linebreaks;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Breaks a line into rows that fit into a width in columns. Words stay whole, however long, so that a path can be copied.
/// Text without blanks between words is broken where its script allows.
pub(crate) fn rows(line: &str, columns: usize) -> Vec<Range<usize>> {
    // No character is wider than it has bytes. To find where lines may be broken takes long for thousands of them.
    if line.len() <= columns {
        return std::iter::once(0..line.len()).collect();
    }
    let mut rows = Vec::new();
    // The current row is `start..end`, and `width` columns wide.
    let (mut start, mut end, mut width) = (0, 0, 0);
    for (at, _) in linebreaks(line).filter(|&(at, _)| may_break(line, at)) {
        let word = &line[end..at];
        if end > start && width + word.trim_end().width() > columns {
            rows.push(start..start + line[start..end].trim_end().len());
            (start, width) = (end, 0);
        }
        (end, width) = (at, width + word.width());
    }
    rows.push(start..line.len());
    rows
}

/// Returns whether a line may be broken at an offset: between words, and beside wide characters. A break after a hyphen or a
/// slash would split names and paths.
fn may_break(line: &str, at: usize) -> bool {
    let (before, behind) = line.split_at(at);
    let last = before.chars().next_back();
    last.is_some_and(|last| last.is_whitespace() || is_wide(last))
        || behind.chars().next().is_none_or(is_wide)
}

fn is_wide(character: char) -> bool {
    character.width() == Some(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, columns: usize, expected: &[&str]) {
        let found: Vec<_> = rows(line, columns).into_iter().map(|row| &line[row]).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn lines_are_broken_between_words() {
        check("", 10, &[""]);
        check("one two three", 13, &["one two three"]);
        check("one two three", 12, &["one two", "three"]);
        check("one two three four ", 9, &["one two", "three", "four "]);
        check("a \u{3000}\u{3000}\u{3000}b", 2, &["a", "b"]);
        check("    set in by four", 10, &["    set in", "by four"]);
    }

    #[test]
    fn no_character_is_wider_than_it_has_bytes() {
        for character in '\0'..=char::MAX {
            assert!(character.width().unwrap_or(0) <= character.len_utf8(), "{character:?}");
        }
    }

    #[test]
    fn words_stay_whole() {
        check("see src/output/wrap.rs--now please", 10, &["see", "src/output/wrap.rs--now", "please"]);
        check("https://example.org/a-long/path", 4, &["https://example.org/a-long/path"]);
    }

    #[test]
    fn wide_characters_count_twice_and_need_no_blanks() {
        check("屏幕关着的时候不用画。", 10, &["屏幕关着的", "时候不用", "画。"]);
        check("tea 👩‍💻👩‍💻👩‍💻", 6, &["tea 👩‍💻", "👩‍💻👩‍💻"]);
    }
}
