//! Text without what programs put between its characters: terminal colours, and escapes of plain characters.
//!
//! `grep --color` writes `ESC[01;31mghp_ESC[m…`, and JSON may spell any letter as an escape: `g\u0068p_…`. Whoever
//! reads the text sees the token, so the rules look at the text as it is read.

use std::ops::Range;

use memchr::{memchr_iter, memmem};

/// A text as it is read, and where each byte of it is written.
#[derive(Debug)]
pub(crate) struct Plain {
    text: String,
    /// Pieces in order: where they start in `text`, and the range that is written. In a piece that is written as it is
    /// read, both are equally long; otherwise the piece has one byte.
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    start: usize,
    written: Range<usize>,
    is_escape: bool,
}

/// What stands at an offset in place of plain text.
enum Special {
    /// A terminal sequence of so many bytes, which nobody reads.
    Terminal(usize),
    /// An escape of so many bytes, and the character that it stands for.
    Escape(usize, char),
}

impl Plain {
    /// Returns the text as it is read; `None` if that is how it is written. The caller knows whether it has an escape:
    /// `\u00` somewhere.
    pub(crate) fn of(text: &str, has_escape: bool) -> Option<Self> {
        let bytes = text.as_bytes();
        if !has_escape && memchr::memchr(0x1b, bytes).is_none() {
            return None;
        }
        let mut plain = Self { text: String::with_capacity(text.len()), pieces: Vec::new() };
        let mut rest = 0;
        for at in specials(bytes, has_escape) {
            let (length, character) = match special_at(&bytes[at..]) {
                Some(Special::Terminal(length)) => (length, None),
                Some(Special::Escape(length, character)) => (length, Some(character)),
                None => continue,
            };
            if at < rest {
                continue;
            }
            plain.push(&text[rest..at], rest..at);
            rest = at + length;
            if let Some(character) = character {
                plain.push_escape(character, at..rest);
            }
        }
        if rest == 0 {
            return None;
        }
        plain.push(&text[rest..], rest..text.len());
        Some(plain)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns where a range of the text is written.
    pub(crate) fn written(&self, range: Range<usize>) -> Range<usize> {
        let start = self.byte(range.start).start;
        let end = if range.is_empty() { start } else { self.byte(range.end - 1).end };
        start..end
    }

    /// Returns whether a terminal sequence stands before a byte of the text.
    pub(crate) fn is_behind_sequence(&self, at: usize) -> bool {
        let Ok(index) = self.pieces.binary_search_by_key(&at, |piece| piece.start) else { return false };
        let before = index.checked_sub(1).map_or(0, |before| self.pieces[before].written.end);
        before < self.pieces[index].written.start
    }

    /// Returns where one byte of the text is written.
    fn byte(&self, at: usize) -> Range<usize> {
        let after = self.pieces.partition_point(|piece| piece.start <= at);
        let Some(piece) = after.checked_sub(1).map(|index| &self.pieces[index]) else { return 0..0 };
        if piece.is_escape {
            return piece.written.clone();
        }
        let at = piece.written.start + (at - piece.start);
        at..at + 1
    }

    fn push(&mut self, text: &str, written: Range<usize>) {
        if !text.is_empty() {
            self.pieces.push(Piece { start: self.text.len(), written, is_escape: false });
            self.text.push_str(text);
        }
    }

    fn push_escape(&mut self, character: char, written: Range<usize>) {
        self.pieces.push(Piece { start: self.text.len(), written, is_escape: true });
        self.text.push(character);
    }
}

/// Returns where something may stand in place of plain text, in order. Most backslashes begin other escapes, such as
/// `\n`, and are not looked at.
fn specials(text: &[u8], has_escape: bool) -> Vec<usize> {
    // An escape begins with all backslashes before its `u`.
    let first_backslash =
        |last: usize| last - text[..last].iter().rev().take_while(|&&byte| byte == b'\\').count();
    let escapes = has_escape.then(|| memmem::find_iter(text, b"\\u00").map(first_backslash));
    let mut specials: Vec<_> = memchr_iter(0x1b, text).chain(escapes.into_iter().flatten()).collect();
    specials.sort_unstable();
    specials
}

/// Returns how many backslashes a text begins with.
fn backslashes(text: &[u8]) -> usize {
    text.iter().take_while(|&&byte| byte == b'\\').count()
}

fn special_at(text: &[u8]) -> Option<Special> {
    if text[0] == 0x1b {
        return Some(Special::Terminal(1 + terminal_sequence(&text[1..])?));
    }
    let backslashes = backslashes(text);
    let [b'u', b'0', b'0', high, low, behind @ ..] = &text[backslashes..] else { return None };
    let code = char::from(*high).to_digit(16)? * 16 + char::from(*low).to_digit(16)?;
    let character = char::from_u32(code)?;
    let length = backslashes + 5;
    match character {
        '\u{1b}' => Some(Special::Terminal(length + terminal_sequence(behind)?)),
        // The rules know these as escapes: decoded, they would end the string or begin another escape.
        '"' | '\'' | '\\' | '<' | '>' | '&' => None,
        ' '..='~' => Some(Special::Escape(length, character)),
        _ => None,
    }
}

/// Returns the length of a sequence behind the escape character: `[`, parameters and a letter, or a change of the
/// character set.
fn terminal_sequence(text: &[u8]) -> Option<usize> {
    match text {
        [b'[', rest @ ..] => {
            // In JSON a quote ends the string, and a backslash begins an escape.
            let is_parameter = |byte: &&u8| (b' '..=b'?').contains(*byte) && **byte != b'"';
            let is_last = |byte: &&u8| (b'@'..=b'~').contains(*byte) && **byte != b'\\';
            let length = rest.iter().take(LONGEST_SEQUENCE).take_while(is_parameter).count();
            rest.get(length).filter(is_last).map(|_| length + 2)
        }
        [b'(' | b')', b'0' | b'A' | b'B', ..] => Some(2),
        _ => None,
    }
}

/// No sequence has more parameters.
const LONGEST_SEQUENCE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_escapes_are_read_over_and_ranges_lead_back() {
        for (text, expected, written) in [
            ("a\u{1b}[01;31m\u{1b}[Kbc\u{1b}[m d", "abc d", "a\u{1b}[01;31m\u{1b}[Kbc"),
            (r"a\u001b[31mbc\u001B[0m d", "abc d", r"a\u001b[31mbc"),
            (r"a\u0062c\n\\u0064", r"abc\nd", r"a\u0062c"),
            ("\u{1b}(Babc", "abc", "abc"),
        ] {
            let plain = Plain::of(text, true).unwrap();
            assert_eq!(plain.text(), expected, "{text}");
            assert_eq!(&text[plain.written(0..3)], written);
        }
        for text in
            ["", "abc", r"\n\t", r"\u0022\u0027\u005c\u003c", "\u{1b}", "\u{1b}[31", r"\u00", r"\u5bc6"]
        {
            assert!(Plain::of(text, true).is_none(), "{text}");
        }
    }
}
