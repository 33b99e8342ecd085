//! Prose for a terminal: Markdown as it is written, styled by its marks and wrapped to the width.
//!
//! Marks stay where they are: meaning is never in a style alone, and without styles the text is as it was written.

use std::fmt::Write;
use std::ops::Range;

use anstyle::Style;

use super::wrap::rows;
use super::{BOLD, CYAN, DIM};

/// Returns the lines of a text with styles. Prose is wrapped to `columns`, if given; code and tables are not.
pub(crate) fn lines(text: &str, columns: Option<usize>) -> Vec<String> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let mark = fence_mark(line);
        if fence.is_some() || mark.is_some() {
            lines.push(format!("{DIM}{line}{DIM:#}"));
            let closes = mark == Some(line.trim()) && fence.is_some_and(|open| line.trim().starts_with(open));
            fence = if closes { None } else { fence.or(mark) };
            continue;
        }
        let spans = spans(line);
        match columns.filter(|_| !line.trim_start().starts_with('|')) {
            Some(columns) => wrap(line, &spans, columns, &mut lines),
            None => lines.push(styled(line, 0..line.len(), &spans)),
        }
    }
    lines
}

/// Returns the backticks or tildes that a line begins with, if they open or close a block of code.
fn fence_mark(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3 && !line[length..].contains('`')).then(|| &line[..length])
}

/// Wraps a line. The further rows of a list item are indented to its text.
fn wrap(line: &str, spans: &[(Range<usize>, Style)], columns: usize, lines: &mut Vec<String>) {
    let hang = hang(line).min(columns / 2);
    let (marker, text) = line.split_at(hang);
    for (index, row) in rows(text, columns - hang).into_iter().enumerate() {
        let before = if index == 0 { marker } else { &" ".repeat(hang) };
        let row = styled(line, row.start + hang..row.end + hang, spans);
        lines.push(format!("{before}{row}"));
    }
}

/// Returns the indent of the text of a line: its blanks, and the mark of a list item or a quotation.
fn hang(line: &str) -> usize {
    let text = line.trim_start_matches(' ');
    let digits = text.len() - text.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    let is_number = (1..4).contains(&digits) && text[digits..].starts_with(['.', ')']);
    let mark = if is_number { digits + 1 } else { usize::from(text.starts_with(['-', '*', '+', '>'])) };
    let blanks = text[mark..].len() - text[mark..].trim_start_matches(' ').len();
    let indent = line.len() - text.len();
    if mark > 0 && blanks > 0 { indent + mark + blanks } else { indent }
}

/// Returns the styled ranges of a line: a heading as a whole, or code and bold text.
fn spans(line: &str) -> Vec<(Range<usize>, Style)> {
    let hashes = line.len() - line.trim_start_matches('#').len();
    if (1..=6).contains(&hashes) && line[hashes..].starts_with(' ') {
        return vec![(0..line.len(), BOLD)];
    }
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(found) = line[at..].find(['`', '*']) {
        at += found;
        let rest = &line[at..];
        let mark = &rest[..rest.len() - rest.trim_start_matches(&rest[..1]).len()];
        let style = if mark.starts_with('`') { Some(CYAN) } else { Some(BOLD).filter(|_| mark == "**") };
        let inside = &rest[mark.len()..];
        let end =
            inside.find(mark).filter(|&end| end > 0 && (style == Some(CYAN) || is_tight(&inside[..end])));
        match style.zip(end) {
            Some((style, end)) => {
                let length = mark.len() + end + mark.len();
                spans.push((at..at + length, style));
                at += length;
            }
            None => at += mark.len(),
        }
    }
    spans
}

/// Returns whether a text neither begins nor ends with a blank, as bold text must not.
fn is_tight(text: &str) -> bool {
    text.trim().len() == text.len()
}

/// Returns a part of a line with the styles that lie in it.
fn styled(line: &str, part: Range<usize>, spans: &[(Range<usize>, Style)]) -> String {
    let mut text = String::new();
    let mut at = part.start;
    for (span, style) in spans {
        let span = span.start.max(part.start)..span.end.min(part.end);
        if !span.is_empty() {
            let _ = write!(text, "{}{style}{}{style:#}", &line[at..span.start], &line[span.clone()]);
            at = span.end;
        }
    }
    text + &line[at..part.end]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spells styles as tags.
    fn spelled(text: &str, columns: Option<usize>) -> String {
        let mut all = lines(text, columns).join("\n");
        for (style, name) in [(BOLD, "b"), (CYAN, "c"), (DIM, "d")] {
            all = all.replace(&style.to_string(), &format!("<{name}>"));
        }
        all.replace(&format!("{BOLD:#}"), "</>")
    }

    #[test]
    fn headings_code_and_stress_are_styled_and_their_marks_stay() {
        for (text, expected) in [
            ("## Tea", "<b>## Tea</>"),
            ("#hashtag", "#hashtag"),
            ("run `npm test` **now**!", "run <c>`npm test`</> <b>**now**</>!"),
            ("```not``` a fence", "<c>```not```</> a fence"),
            ("``a`b`` and `open", "<c>``a`b``</> and `open"),
            (
                "`**` is no stress, nor 2 ** 3 ** 4, *this* or ****",
                "<c>`**`</> is no stress, nor 2 ** 3 ** 4, *this* or ****",
            ),
            ("- **一**：`二`", "- <b>**一**</>：<c>`二`</>"),
        ] {
            assert_eq!(spelled(text, None), expected);
            assert_eq!(spelled(text, Some(80)), expected);
        }
    }

    #[test]
    fn prose_is_wrapped_and_code_and_tables_are_not() {
        let text = "one two three\n```rust\nlet one = two + three;\n````x\n```\n| one | two | three |\n  12. one two three";
        let expected = "one two\nthree\n<d>```rust</>\n<d>let one = two + three;</>\n<d>````x</>\n<d>```</>\n| one | two | three |\n  12. one\n      two\n      three";
        assert_eq!(spelled(text, Some(12)), expected);
        assert_eq!(spelled("a **b c** d", Some(5)), "a <b>**b</>\n<b>c**</> d");
        assert_eq!(spelled("- a", Some(1)), "-\na");
    }
}
