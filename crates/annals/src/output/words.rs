//! Marks words in text that is printed.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::iter::Peekable;
use std::ops::Range;

use annals_search::{Query, Tokens};
use anstyle::{AnsiColor, Style};

use crate::failure::Failure;

/// What matches is shown so.
pub(crate) const MARK: Style = AnsiColor::Yellow.on_default().bold().underline();

/// Passes lines on, with the words of a query marked. Styles around a word stay.
pub(crate) struct MarkedWords<W: Write> {
    out: W,
    query: Query,
    /// The line that has not ended yet.
    line: Vec<u8>,
}

impl<W: Write> MarkedWords<W> {
    pub(crate) fn new(out: W, words: &str) -> Result<Self, Failure> {
        let query = Query::parse(words).map_err(|error| {
            Failure::usage(
                &format!("`--mark`: {error}"),
                "name the words to be marked, as in `annals search`",
            )
        })?;
        Ok(Self { out, query, line: Vec::new() })
    }

    fn end_line(&mut self) -> io::Result<()> {
        let line = String::from_utf8_lossy(&self.line);
        let marked = mark(&line, &self.query);
        self.line.clear();
        self.out.write_all(marked.as_bytes())
    }
}

impl<W: Write> Write for MarkedWords<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.out.flush()
    }
}

/// Marks the words of a query in a line that may have styles.
fn mark(line: &str, query: &Query) -> String {
    let (plain, styles) = split(line);
    let matches = joined(query.find(&Tokens::of(&plain)).into_iter().map(|found| found.range));
    let mut marked = MarkedLine {
        plain: &plain,
        styles: styles.into_iter().peekable(),
        at: 0,
        text: String::with_capacity(line.len()),
        current_styles: String::new(),
    };
    for range in matches {
        marked.copy_to(range.start, false);
        marked.text.push_str(&MARK.to_string());
        marked.copy_to(range.end, true);
        let _ = write!(marked.text, "{MARK:#}{}", marked.current_styles);
    }
    marked.copy_to(plain.len(), false);
    marked.text
}

/// A line that is copied with its styles and with marks.
struct MarkedLine<'l> {
    plain: &'l str,
    /// The styles that are not copied yet, each with its offset in the plain text.
    styles: Peekable<std::vec::IntoIter<(usize, &'l str)>>,
    /// How much of the plain text is copied.
    at: usize,
    text: String,
    /// The styles that apply at the end of the copied text.
    current_styles: String,
}

impl MarkedLine<'_> {
    /// Copies text and styles up to an offset. In a match, each style is followed by the style of marks, and one at the end of the
    /// match belongs to what follows.
    fn copy_to(&mut self, end: usize, in_match: bool) {
        while let Some((offset, style)) =
            self.styles.next_if(|&(offset, _)| offset < end || offset == end && !in_match)
        {
            self.text.push_str(&self.plain[self.at..offset]);
            self.at = offset;
            if matches!(style, "\u{1b}[0m" | "\u{1b}[m") {
                self.current_styles.clear();
            } else {
                self.current_styles.push_str(style);
            }
            self.text.push_str(style);
            if in_match {
                self.text.push_str(&MARK.to_string());
            }
        }
        self.text.push_str(&self.plain[self.at..end]);
        self.at = end;
    }
}

/// Joins ranges that overlap or touch; they are in the order of their starts.
fn joined(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges.filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Splits a line into its text and its styles, each with its offset in the text.
fn split(line: &str) -> (String, Vec<(usize, &str)>) {
    let mut plain = String::with_capacity(line.len());
    let mut styles = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find("\u{1b}[") {
        let (text, sequence) = rest.split_at(start);
        plain.push_str(text);
        let end = sequence.find('m').map_or(sequence.len(), |end| end + 1);
        styles.push((plain.len(), &sequence[..end]));
        rest = &sequence[end..];
    }
    plain.push_str(rest);
    (plain, styles)
}

#[cfg(test)]
mod tests {
    use super::super::{BOLD, CYAN};
    use super::*;

    fn check(line: &str, words: &str, expected: &str) {
        let mut out = Vec::new();
        let mut marked = MarkedWords::new(&mut out, words).unwrap();
        // In pieces, as printers write.
        line.as_bytes().chunks(3).for_each(|piece| marked.write_all(piece).unwrap());
        marked.flush().unwrap();
        drop(marked);
        let found = String::from_utf8(out).unwrap();
        let found = found.replace(&MARK.to_string(), "<").replace(&format!("{MARK:#}"), ">");
        let found = found.replace(&BOLD.to_string(), "*").replace(&CYAN.to_string(), "#");
        assert_eq!(found, expected, "{line} {words}");
    }

    #[test]
    fn words_are_marked_line_by_line() {
        check("the borrow\nchecker, Borrow", "borrow", "the <borrow>\nchecker, <Borrow>");
        check("为什么天气是空的", "天气", "为什么<天气>是空的");
        check("getUserName", "user", "get<User>Name");
        check("nothing", "tool:Bash else", "nothing");
    }

    #[test]
    fn styles_around_words_stay() {
        let bold = format!("{BOLD}a borrow b{BOLD:#} borrow");
        check(&bold, "borrow", "*a <borrow>* b> <borrow>");
        let inside = format!("bor{CYAN}row{CYAN:#} x");
        check(&inside, "borrow", "<bor#<row>#> x");
    }

    #[test]
    fn what_is_no_query_is_refused() {
        assert!(MarkedWords::new(Vec::new(), "?!").is_err());
    }
}
