//! Text without what programs put between its characters: terminal colours, escapes of plain characters, and marks.
//!
//! `grep --color` writes `ESC[01;31mghp_ESC[m…`, and JSON may spell any letter as an escape: `g\u0068p_…`. Whoever
//! reads the text sees the token, so the rules look at the text as it is read. A mark of a text that was masked before is read
//! as one character, so that a rule finds what stands on both sides of it.

use std::iter;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};

use crate::mark::Mark;

/// What is read in place of a mark. It belongs to no word and to no token.
pub(crate) const MARK: &str = "\u{fffc}";

/// A text as it is read, and where each byte of it is written.
#[derive(Debug)]
pub(crate) struct Plain {
    text: String,
    /// Pieces in order: where they start in `text`, and the range that is written. In a piece that is written as it is
    /// read, both are equally long; otherwise the piece has one character.
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    start: usize,
    written: Range<usize>,
    kind: PieceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    /// Text that is written as it is read.
    Text,
    /// One character, and what is written in place of it.
    Escape,
    /// One character in place of a mark.
    Mark,
}

/// What stands at an offset in place of plain text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Special {
    /// A terminal sequence or markup of so many bytes, which nobody reads.
    Terminal(usize),
    /// A backspace, written with so many bytes: the character before it is not read either.
    Erased(usize),
    /// An escape of so many bytes, and the character that it stands for.
    Escape(usize, char),
    /// A mark of so many bytes.
    Mark(usize),
}

impl Special {
    /// Returns how many bytes are written.
    pub(crate) fn length(self) -> usize {
        match self {
            Special::Terminal(length)
            | Special::Erased(length)
            | Special::Escape(length, _)
            | Special::Mark(length) => length,
        }
    }
}

impl Plain {
    /// Returns the text as it is read; `None` if that is how it is written. The caller knows its marks, and whether it has an
    /// escape: `\u00` somewhere.
    pub(crate) fn of(text: &str, has_escape: bool, marks: &[Mark]) -> Option<Self> {
        let bytes = text.as_bytes();
        if !has_escape && memchr(0x1b, bytes).is_none() {
            return None;
        }
        let specials = specials(bytes, has_escape).into_iter();
        let mut specials: Vec<_> = specials.filter_map(|at| Some((at, special_at(&bytes[at..])?))).collect();
        if specials.is_empty() {
            return None;
        }
        specials.extend(marks.iter().map(mark_as_special));
        specials.sort_by_key(|(at, _)| *at);
        Some(Self::with_specials(text, specials))
    }

    /// Returns the text in which each mark is read as one character, and nothing else is different.
    pub(crate) fn with_marks(text: &str, marks: &[Mark]) -> Self {
        Self::with_specials(text, marks.iter().map(mark_as_special))
    }

    /// Returns the content of a JSON string as a program reads it. What is no escape of JSON stays as it is.
    pub(crate) fn of_json_string(string: &str) -> Self {
        let bytes = string.as_bytes();
        let mut at = 0;
        let escapes = iter::from_fn(|| {
            let escape = at + memchr(b'\\', &bytes[at..])?;
            let special = json_escape(&bytes[escape..]);
            at = escape + special.as_ref().map_or(1, |(length, _)| *length);
            Some((
                escape,
                special.map_or(Special::Escape(1, '\\'), |(length, read)| Special::Escape(length, read)),
            ))
        });
        Self::with_specials(string, escapes)
    }

    /// Returns a text with some of its bytes read differently; `specials` are in order.
    pub(crate) fn with_specials(text: &str, specials: impl IntoIterator<Item = (usize, Special)>) -> Self {
        let mut plain = Self { text: String::with_capacity(text.len()), pieces: Vec::new() };
        let mut rest = 0;
        for (at, special) in specials {
            if at < rest {
                continue;
            }
            plain.push(&text[rest..at], rest..at);
            rest = at + special.length();
            match special {
                Special::Terminal(_) | Special::Erased(_) => {}
                Special::Escape(_, character) => {
                    plain.push_piece(character.encode_utf8(&mut [0; 4]), at..rest, PieceKind::Escape);
                }
                Special::Mark(_) => plain.push_piece(MARK, at..rest, PieceKind::Mark),
            }
        }
        plain.push(&text[rest..], rest..text.len());
        plain
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

    /// Returns where the text or the escape is read that is written at an offset; `None` inside of an escape.
    pub(crate) fn read(&self, written: usize) -> Option<usize> {
        let after = self.pieces.partition_point(|piece| piece.written.start <= written);
        let piece = &self.pieces[after.checked_sub(1)?];
        let behind = written - piece.written.start;
        let is_read = match piece.kind {
            PieceKind::Text => written < piece.written.end,
            PieceKind::Escape => behind == 0,
            PieceKind::Mark => false,
        };
        is_read.then_some(piece.start + behind)
    }

    /// Returns a range of the text without the marks in it: one range more than there are marks.
    pub(crate) fn between_marks(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let first = self.pieces.partition_point(|piece| piece.start < range.start);
        let inside = self.pieces[first..].iter().take_while(|piece| piece.start < range.end);
        let mut between = Vec::new();
        let mut start = range.start;
        for mark in inside.filter(|piece| piece.kind == PieceKind::Mark) {
            between.push(start..mark.start);
            start = mark.start + MARK.len();
        }
        between.push(start..range.end.max(start));
        between
    }

    /// Returns where one byte of the text is written.
    fn byte(&self, at: usize) -> Range<usize> {
        let after = self.pieces.partition_point(|piece| piece.start <= at);
        let Some(piece) = after.checked_sub(1).map(|index| &self.pieces[index]) else { return 0..0 };
        if piece.kind != PieceKind::Text {
            return piece.written.clone();
        }
        let at = piece.written.start + (at - piece.start);
        at..at + 1
    }

    fn push(&mut self, text: &str, written: Range<usize>) {
        if !text.is_empty() {
            self.push_piece(text, written, PieceKind::Text);
        }
    }

    fn push_piece(&mut self, text: &str, written: Range<usize>, kind: PieceKind) {
        self.pieces.push(Piece { start: self.text.len(), written, kind });
        self.text.push_str(text);
    }
}

fn mark_as_special(mark: &Mark) -> (usize, Special) {
    (mark.range.start, Special::Mark(mark.range.len()))
}

/// Returns the length of an escape of JSON, and the character that it stands for. Half a character is read as the sign for
/// text that cannot be read.
fn json_escape(text: &[u8]) -> Option<(usize, char)> {
    match text {
        [_, b'n', ..] => Some((2, '\n')),
        [_, b'r', ..] => Some((2, '\r')),
        [_, b't', ..] => Some((2, '\t')),
        [_, b'b', ..] => Some((2, '\u{8}')),
        [_, b'f', ..] => Some((2, '\u{c}')),
        [_, character @ (b'"' | b'\\' | b'/'), ..] => Some((2, char::from(*character))),
        [_, b'u', digits @ ..] => {
            let first = utf16_unit(digits)?;
            let second = digits.get(4..).and_then(|rest| utf16_unit(rest.strip_prefix(b"\\u")?));
            let both = [first, second.unwrap_or_default()];
            match char::decode_utf16(both).next()? {
                Ok(character) => Some((if character.len_utf16() == 2 { 12 } else { 6 }, character)),
                Err(_) => Some((6, char::REPLACEMENT_CHARACTER)),
            }
        }
        _ => None,
    }
}

/// Returns the number that four hexadecimal digits are.
fn utf16_unit(digits: &[u8]) -> Option<u16> {
    u16::from_str_radix(std::str::from_utf8(digits.get(..4)?).ok()?, 16).ok()
}

/// Returns where something may be written in place of plain text, in order. Most backslashes begin other escapes, such as
/// `\n`, and are not looked at.
fn specials(text: &[u8], has_escape: bool) -> Vec<usize> {
    // An escape begins with all backslashes before its `u`.
    let escapes = has_escape
        .then(|| memmem::find_iter(text, b"\\u00").map(|last| last - backslashes_before(text, last)));
    let mut specials: Vec<_> = memchr_iter(0x1b, text).chain(escapes.into_iter().flatten()).collect();
    specials.sort_unstable();
    specials
}

/// Returns how many backslashes a text begins with.
pub(crate) fn backslashes(text: &[u8]) -> usize {
    text.iter().take_while(|&&byte| byte == b'\\').count()
}

/// Returns how many backslashes stand before an offset.
pub(crate) fn backslashes_before(text: &[u8], at: usize) -> usize {
    text[..at].iter().rev().take_while(|byte| **byte == b'\\').count()
}

pub(crate) fn special_at(text: &[u8]) -> Option<Special> {
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

/// Returns the length of a sequence after the escape character: `[`, parameters and a letter, a change of the character set, or
/// a title or a link of the terminal.
fn terminal_sequence(text: &[u8]) -> Option<usize> {
    match text {
        [b'[', rest @ ..] => {
            // In JSON a quote ends the string, and a backslash begins an escape.
            let near = rest.iter().take(LONGEST_SEQUENCE);
            let length = near.take_while(|&&byte| matches!(byte, b' '..=b'?') && byte != b'"').count();
            let last = *rest.get(length)?;
            (matches!(last, b'@'..=b'~') && last != b'\\').then_some(length + 2)
        }
        [b'(' | b')', b'0' | b'A' | b'B', ..] => Some(2),
        // A title or a link of the terminal.
        [b']', rest @ ..] => {
            let near = &rest[..rest.len().min(LONGEST_COMMAND)];
            let near =
                &near[..near.iter().position(|byte| matches!(byte, b'"' | b'\n')).unwrap_or(near.len())];
            let ends = COMMAND_ENDS.iter().filter_map(|end| Some(memmem::find(near, end)? + end.len()));
            ends.min().map(|end| end + 1)
        }
        _ => None,
    }
}

/// What a title or a link of the terminal ends with, also as JSON writes it.
const COMMAND_ENDS: [&[u8]; 5] = [b"\x07", b"\x1b\\", b"\\u0007", b"\\u001b\\\\", b"\\u001B\\\\"];

/// No title or link of the terminal is longer.
const LONGEST_COMMAND: usize = 4096;

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
            let plain = Plain::of(text, true, &[]).unwrap();
            assert_eq!(plain.text(), expected, "{text}");
            assert_eq!(&text[plain.written(0..3)], written);
        }
        for text in
            ["", "abc", r"\n\t", r"\u0022\u0027\u005c\u003c", "\u{1b}", "\u{1b}[31", r"\u00", r"\u5bc6"]
        {
            assert!(Plain::of(text, true, &[]).is_none(), "{text}");
        }
    }

    #[test]
    fn json_strings_are_read_as_programs_read_them() {
        for (text, expected) in [
            (r#"a\nb\tc\"d\\e\/f"#, "a\nb\tc\"d\\e/f"),
            (r"\u0068\u5bc6\ud83d\udd11!", "h密🔑!"),
            (r"\ud83d\u0068 \ud83d", "\u{fffd}h \u{fffd}"),
            (r"\x \u12 \", r"\x \u12 \"),
        ] {
            let plain = Plain::of_json_string(text);
            assert_eq!(plain.text(), expected, "{text}");
            assert_eq!(plain.written(0..expected.len()), 0..text.len());
        }
        let plain = Plain::of_json_string(r"a\nbc");
        assert_eq!(
            (plain.read(0), plain.read(1), plain.read(2), plain.read(4)),
            (Some(0), Some(1), None, Some(3))
        );
    }
}
