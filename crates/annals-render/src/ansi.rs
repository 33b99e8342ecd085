//! Output of programs for a terminal: colours become classes, other sequences are dropped, progress that was overwritten is left out.

use std::borrow::Cow;
use std::fmt::Write;

use annals_proto::{ViewNode, ViewSpan};

use crate::code::one_piece;
use crate::{floor, visible};

/// A line has at most this many spans; the rest of it keeps its last colour.
const MOST_SPANS: usize = 200;
/// A line has at most this many bytes; the others are counted.
pub(crate) const LONGEST_LINE: usize = 16 << 10;
/// No sequence has more parameter bytes; what is longer is text that begins like one.
const LONGEST_SEQUENCE: usize = 64;

/// Renders output of a program.
pub fn ansi(text: &str) -> ViewNode {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut style = Style::default();
    ViewNode::Ansi { lines: text.split('\n').map(|line| style.line(last_state(line))).collect() }
}

/// Renders output of a program without colours, for documents that have none; see `plain_code`.
pub(crate) fn plain_ansi(text: &str) -> ViewNode {
    let shown = text.strip_suffix('\n').unwrap_or(text);
    let is_plain = memchr::memchr2(0x1b, b'\r', shown.as_bytes()).is_none();
    match is_plain.then(|| one_piece(shown)).flatten() {
        Some(lines) => ViewNode::Ansi { lines },
        None => ansi(text),
    }
}

/// Returns what a terminal shows of a line in which the cursor returned to its start: programs write their progress so. A line that
/// only ends in carriage returns is whole.
fn last_state(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit_once('\r').map_or(line, |(_, last)| last)
}

/// How text looks from here on.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a terminal has these attributes, each on or off")]
struct Style {
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    inverse: bool,
    struck: bool,
    foreground: Option<u8>,
    background: Option<u8>,
}

impl Style {
    /// Renders one line and keeps the style for the next one.
    fn line(&mut self, line: &str) -> Vec<ViewSpan> {
        let shown = &line[..floor(line, LONGEST_LINE)];
        let mut spans = Vec::new();
        let mut rest = shown;
        while let Some(escape) = memchr::memchr(0x1b, rest.as_bytes()) {
            self.push(&mut spans, &rest[..escape]);
            let length = sequence(&rest.as_bytes()[escape..]);
            if rest.as_bytes()[escape..escape + length].ends_with(b"m")
                && length > 2
                && spans.len() < MOST_SPANS
            {
                self.apply(&rest[escape + 2..escape + length - 1]);
            }
            rest = &rest[escape + length..];
        }
        self.push(&mut spans, rest);
        if shown.len() < line.len() {
            spans.push(ViewSpan::Marked("dim".into(), format!(" … {} bytes more", line.len() - shown.len())));
        }
        spans
    }

    fn push(self, spans: &mut Vec<ViewSpan>, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = visible(text);
        let class = self.class();
        match spans.last_mut() {
            Some(ViewSpan::Text(last)) if class.is_empty() => last.push_str(&text),
            Some(ViewSpan::Marked(before, last)) if *before == class => last.push_str(&text),
            _ if class.is_empty() => spans.push(ViewSpan::Text(text.into_owned())),
            _ => spans.push(ViewSpan::Marked(class, text.into_owned())),
        }
    }

    fn class(self) -> Cow<'static, str> {
        if self == Self::default() {
            return Cow::Borrowed("");
        }
        let mut class = String::new();
        let words = [
            (self.bold, "b"),
            (self.dim, "dim"),
            (self.italic, "i"),
            (self.underline, "u"),
            (self.inverse, "inv"),
            (self.struck, "st"),
        ];
        for (_, word) in words.iter().filter(|(is_set, _)| *is_set) {
            class.push_str(word);
            class.push(' ');
        }
        for (colour, prefix) in [(self.foreground, "fg"), (self.background, "bg")] {
            if let Some(colour) = colour {
                write!(class, "{prefix}{colour} ").expect("text takes more text");
            }
        }
        class.pop();
        Cow::Owned(class)
    }

    /// Applies the parameters of a sequence that changes the style.
    fn apply(&mut self, parameters: &str) {
        let mut numbers = parameters.split([';', ':']).map(|number| number.parse::<u8>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.inverse = true,
                9 => self.struck = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.inverse = false,
                29 => self.struck = false,
                30..=37 => self.foreground = Some(number - 30),
                38 => self.foreground = extended(&mut numbers),
                39 => self.foreground = None,
                40..=47 => self.background = Some(number - 40),
                48 => self.background = extended(&mut numbers),
                49 => self.background = None,
                90..=97 => self.foreground = Some(number - 90 + 8),
                100..=107 => self.background = Some(number - 100 + 8),
                _ => {}
            }
        }
    }
}

/// Reads a colour of the palette of 256 or by its red, green and blue, and returns the nearest of the 16.
fn extended(numbers: &mut impl Iterator<Item = u8>) -> Option<u8> {
    match numbers.next()? {
        5 => Some(match numbers.next()? {
            basic @ 0..=15 => basic,
            cube @ 16..=231 => {
                let cube = cube - 16;
                nearest(cube_level(cube / 36), cube_level(cube / 6 % 6), cube_level(cube % 6))
            }
            grey => nearest(8 + (grey - 232) * 10, 8 + (grey - 232) * 10, 8 + (grey - 232) * 10),
        }),
        2 => Some(nearest(numbers.next()?, numbers.next()?, numbers.next()?)),
        _ => None,
    }
}

/// Returns how bright a step of the colour cube of 256 colours is.
fn cube_level(step: u8) -> u8 {
    if step == 0 { 0 } else { 55 + step * 40 }
}

/// Returns the nearest of the 16 colours: a bit each for red, green and blue, and one for bright.
fn nearest(red: u8, green: u8, blue: u8) -> u8 {
    let most = red.max(green).max(blue);
    if most < 48 {
        return 0;
    }
    let [red, green, blue] = [red, green, blue].map(|part| u8::from(u16::from(part) * 2 > u16::from(most)));
    let colour = red | green << 1 | blue << 2;
    match colour {
        7 if most < 128 => 8,
        7 if most < 220 => 7,
        colour if most > 200 => colour + 8,
        colour => colour,
    }
}

/// Returns the length of the sequence that bytes begin with; 1 for an escape character alone. The bytes begin with one.
fn sequence(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        Some(b'[') => {
            let parameters = bytes[2..]
                .iter()
                .take(LONGEST_SEQUENCE)
                .take_while(|byte| (b' '..=b'?').contains(byte))
                .count();
            let is_last = bytes.get(2 + parameters).is_some_and(|byte| (b'@'..=b'~').contains(byte));
            if is_last { parameters + 3 } else { 1 }
        }
        // A title or a link of the terminal: up to a bell, or an escape character with a backslash.
        Some(b']') => {
            let end = bytes.iter().take(4096).position(|&byte| byte == 7);
            let string_end =
                memchr::memmem::find(&bytes[1..bytes.len().min(4096)], b"\x1b\\").map(|at| at + 2);
            end.into_iter().chain(string_end).min().map_or(1, |end| end + 1)
        }
        Some(b'(' | b')') if bytes.get(2).is_some_and(u8::is_ascii_alphanumeric) => 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Vec<(String, String)>> {
        let ViewNode::Ansi { lines } = ansi(text) else { panic!() };
        let span = |span: ViewSpan| match span {
            ViewSpan::Text(text) => (String::new(), text),
            ViewSpan::Marked(class, text) => (class.into_owned(), text),
        };
        lines.into_iter().map(|line| line.into_iter().map(span).collect()).collect()
    }

    fn owned(spans: &[(&str, &str)]) -> Vec<(String, String)> {
        spans.iter().map(|(class, text)| ((*class).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn colours_become_classes_and_other_sequences_vanish() {
        assert_eq!(
            lines("a \u{1b}[1;31mred\u{1b}[0m \u{1b}[2Kb\u{1b}]0;title\u{7}\u{1b}(B"),
            [owned(&[("", "a "), ("b fg1", "red"), ("", " b")])]
        );
        assert_eq!(
            lines("\u{1b}[38;5;196mx\u{1b}[48;2;0;0;250my")[0],
            owned(&[("fg9", "x"), ("fg9 bg12", "y")])
        );
        assert_eq!(lines("\u{1b}[32mon\noff\u{1b}[m"), [owned(&[("fg2", "on")]), owned(&[("fg2", "off")])]);
    }

    #[test]
    fn progress_is_what_a_terminal_shows_last() {
        assert_eq!(lines("10%\r50%\r100%\r\ndone\r\n"), [owned(&[("", "100%")]), owned(&[("", "done")])]);
    }

    #[test]
    fn a_line_has_a_bounded_number_of_spans_and_bytes() {
        let bomb = "\u{1b}[31mx\u{1b}[32my".repeat(50_000);
        assert!(lines(&bomb)[0].len() <= MOST_SPANS + 2);
        let long = lines(&"y".repeat(1 << 20));
        assert!(long[0].iter().map(|(_, text)| text.len()).sum::<usize>() < LONGEST_LINE + 100);
    }
}
