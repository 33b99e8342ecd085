//! Texts that are too long to be rendered as a whole, such as an output of 50 MB: one pass counts their lines, and only the lines that
//! are asked for are decoded, masked and rendered.
//!
//! A line with more than [`LONGEST_LINE`] bytes is divided, so that every piece of it can be asked for. Memory is bounded by one
//! chunk and the lines of an answer.

use std::ops::Range;

use annals_proto::ViewNode;
use annals_transcript::json::Value;

use crate::assembled::{Signs, Source, mask_lines};
use crate::cut::{Keep, kept_lines};
use crate::row::Filter;
use crate::{FIRST_BYTES, FIRST_LINES, Target, line_count, slice};

/// Longer lines are divided.
pub(crate) const LONGEST_LINE: usize = 4 << 10;
/// How many bytes are read at once.
const CHUNK: usize = 1 << 20;
/// The offset of every line with a multiple of this number is remembered.
const STEP: usize = 64;
/// The most bytes of an answer.
const MOST_BYTES: usize = 512 << 10;
/// How much of the text before the lines of an answer is masked together with them, and how much of the text after them: a secret such as a
/// private key spans lines, and is recognised by its first and last one. No key is masked further than 512 KiB from its first line,
/// which can be more in JSON.
const CONTEXT_BEFORE: u64 = 1025 << 10;
const CONTEXT_AFTER: u64 = 64 << 10;
/// No escape of JSON is longer: two halves of a character.
const LONGEST_ESCAPE: usize = 12;
/// How far from its beginning a content block has the text that it is about.
pub(crate) const BEGINNING: usize = 4 << 10;

/// How the bytes of a text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Plain,
    /// As in a string of JSON, up to its quotation mark.
    Json,
}

/// Reads bytes: the offset of the first one, and how many. Fewer are returned only at the end of the file.
pub(crate) type ReadBytes<'r, E> = &'r dyn Fn(u64, usize) -> Result<Vec<u8>, E>;

/// A text that is read in pieces.
pub(crate) struct LongText<'r, E> {
    pub(crate) form: Form,
    /// Where it begins, and where it ends at the latest.
    pub(crate) range: Range<u64>,
    pub(crate) read: ReadBytes<'r, E>,
}

/// Some lines of a long text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The lines.
    pub nodes: Vec<ViewNode>,
    /// How many lines the whole text has.
    pub lines: usize,
    /// The first line after these, if there is one.
    pub next: Option<usize>,
    /// How many values were masked in these lines.
    pub masked: usize,
}

/// A line, or a part of a line that is too long.
struct Line<'b> {
    offset: u64,
    raw: &'b [u8],
    /// Whether a line break follows the text.
    is_whole: bool,
}

/// What one pass finds out about a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    /// How many lines there are.
    count: usize,
    /// The offset of every line with a multiple of [`STEP`].
    marks: Vec<u64>,
    /// Where the text ends.
    pub(crate) end: u64,
}

/// What a part of the bytes of a text begins with.
enum Next {
    /// A line of so many bytes, and how many bytes lead to the next one.
    Line { length: usize, skip: usize, is_whole: bool },
    /// The end, with the rest of the last line.
    End { length: usize },
    /// More bytes are needed.
    More,
}

impl<E> LongText<'_, E> {
    /// Counts the lines.
    pub(crate) fn count(&self) -> Result<Lines, E> {
        let mut lines = Lines::default();
        lines.end = self.each(self.range.start, |line| {
            if lines.count.is_multiple_of(STEP) {
                lines.marks.push(line.offset);
            }
            lines.count += 1;
            true
        })?;
        Ok(lines)
    }

    /// Renders the lines from one on: at most so many, and fewer if they are long.
    pub(crate) fn piece(
        &self,
        lines: &Lines,
        from: usize,
        count: usize,
        filter: Option<&dyn Filter>,
        target: Target,
    ) -> Result<Piece, E> {
        let nothing = Piece { nodes: Vec::new(), lines: lines.count, next: None, masked: 0 };
        let Some(&near) = lines.marks.get(from / STEP).filter(|_| from < lines.count) else {
            return Ok(nothing);
        };
        let first = lines.marks.partition_point(|&mark| mark + CONTEXT_BEFORE <= near).saturating_sub(1);
        let mut number = first * STEP;
        let mut texts: Vec<(String, bool)> = Vec::new();
        let mut shown = 0..0;
        let mut bytes = 0;
        let mut end = None;
        self.each(lines.marks[first], |line| {
            match end {
                Some(end) if line.offset >= end + CONTEXT_AFTER => return false,
                None if number == from => shown = texts.len()..texts.len(),
                _ => {}
            }
            if number >= from && end.is_none() {
                if shown.len() >= count || (bytes + line.raw.len() > MOST_BYTES && !shown.is_empty()) {
                    end = Some(line.offset);
                } else {
                    shown.end += 1;
                    bytes += line.raw.len();
                }
            }
            texts.push((decoded(line.raw, self.form), line.is_whole));
            number += 1;
            true
        })?;
        let masked = filter.map_or(0, |filter| mask_lines(&mut texts, &shown, filter));
        let next = from + shown.len();
        let mut text = String::new();
        for (line, _) in &texts[shown] {
            text.push_str(line);
            text.push('\n');
        }
        let mut nodes = vec![target.ansi(&text)];
        let signs = Signs::of_text(&text);
        let assembled =
            filter.map_or(0, |filter| Source::new(text.as_bytes(), &signs).mask(&mut nodes, filter));
        Ok(Piece {
            nodes,
            masked: masked + assembled,
            next: Some(next).filter(|&next| next < lines.count),
            ..nothing
        })
    }

    /// Renders the first or the last lines, as many as an open row shows; the rest of them is this part of the row. Returns how many values
    /// were masked in them, and where the text ends, too.
    pub(crate) fn first(
        &self,
        keep: Keep,
        part: usize,
        filter: Option<&dyn Filter>,
        target: Target,
    ) -> Result<(Vec<ViewNode>, usize, u64), E> {
        let lines = self.count()?;
        let from = if keep == Keep::First { 0 } else { lines.count.saturating_sub(FIRST_LINES) };
        let Piece { nodes, masked, .. } = self.piece(&lines, from, FIRST_LINES, filter, target)?;
        let kept = kept_lines(&nodes, keep, FIRST_LINES, FIRST_BYTES);
        let first = if keep == Keep::First { 0 } else { line_count(&nodes) - kept };
        let mut nodes = slice(&nodes, first, kept).0;
        let left = lines.count.saturating_sub(kept);
        if left > 0 {
            let all = usize::try_from(lines.end - self.range.start).unwrap_or(usize::MAX);
            let bytes = all.saturating_sub(crate::byte_count(&nodes));
            let from = if keep == Keep::First { kept } else { 0 };
            let more = ViewNode::More { lines: left, bytes, part, from };
            nodes.insert(if keep == Keep::First { nodes.len() } else { 0 }, more);
        }
        Ok((nodes, masked, lines.end))
    }

    /// Calls `visit` with one line after another until it returns false. Returns where the text ends, or where it was left.
    fn each(&self, from: u64, mut visit: impl FnMut(Line<'_>) -> bool) -> Result<u64, E> {
        let mut offset = from;
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let read_from = offset + bytes.len() as u64;
            let wanted =
                usize::try_from(self.range.end.saturating_sub(read_from)).unwrap_or(CHUNK).min(CHUNK);
            let chunk = if wanted == 0 { Vec::new() } else { (self.read)(read_from, wanted)? };
            let is_last = chunk.len() < wanted || wanted < CHUNK;
            bytes.extend_from_slice(&chunk);
            let mut at = 0;
            loop {
                let (length, skip, is_whole) = match next_line(&bytes[at..], is_last, self.form) {
                    Next::More => break,
                    Next::End { length } => {
                        if length > 0 {
                            visit(Line { offset, raw: &bytes[at..at + length], is_whole: false });
                        }
                        return Ok(offset + length as u64);
                    }
                    Next::Line { length, skip, is_whole } => (length, skip, is_whole),
                };
                if !visit(Line { offset, raw: &bytes[at..at + length], is_whole }) {
                    return Ok(offset);
                }
                at += skip;
                offset += skip as u64;
            }
            bytes.drain(..at);
        }
    }
}

/// Finds the first line. `is_last` says that no bytes follow these.
fn next_line(bytes: &[u8], is_last: bool, form: Form) -> Next {
    match form {
        Form::Plain => next_plain_line(bytes, is_last),
        Form::Json => next_json_line(bytes, is_last),
    }
}

fn next_plain_line(bytes: &[u8], is_last: bool) -> Next {
    let near = &bytes[..bytes.len().min(LONGEST_LINE + 1)];
    if let Some(length) = memchr::memchr(b'\n', near) {
        return Next::Line { length, skip: length + 1, is_whole: true };
    }
    if bytes.len() > LONGEST_LINE {
        let length = boundary(bytes, LONGEST_LINE);
        return Next::Line { length, skip: length, is_whole: false };
    }
    if is_last { Next::End { length: bytes.len() } } else { Next::More }
}

fn next_json_line(bytes: &[u8], is_last: bool) -> Next {
    let mut at = 0;
    loop {
        let near = &bytes[at..bytes.len().min(LONGEST_LINE + 1).max(at)];
        let Some(found) = memchr::memchr2(b'\\', b'"', near) else {
            if bytes.len() > LONGEST_LINE {
                let length = boundary(bytes, LONGEST_LINE).max(at);
                return Next::Line { length, skip: length, is_whole: false };
            }
            // Damaged JSON may have no end.
            return if is_last { Next::End { length: bytes.len() } } else { Next::More };
        };
        let start = at + found;
        if bytes[start] == b'"' {
            return Next::End { length: start };
        }
        if bytes.len() - start < LONGEST_ESCAPE && !is_last {
            return Next::More;
        }
        let length = escape_length(&bytes[start..]);
        if is_line_break(&bytes[start..start + length]) {
            return Next::Line { length: start, skip: start + length, is_whole: true };
        }
        at = start + length;
        if at > LONGEST_LINE {
            let length = if start > 0 { start } else { at };
            return Next::Line { length, skip: length, is_whole: false };
        }
    }
}

fn is_line_break(escape: &[u8]) -> bool {
    escape == b"\\n" || escape.eq_ignore_ascii_case(b"\\u000a")
}

/// Returns the length of the escape of JSON that bytes begin with. Two halves of a character are one.
fn escape_length(bytes: &[u8]) -> usize {
    let length = match bytes {
        [
            _,
            b'u',
            b'd' | b'D',
            b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B',
            _,
            _,
            b'\\',
            b'u',
            b'd' | b'D',
            b'c'..=b'f' | b'C'..=b'F',
            ..,
        ] => LONGEST_ESCAPE,
        [_, b'u', ..] => 6,
        _ => 2,
    };
    length.min(bytes.len())
}

/// Returns the last offset up to `at` that is not inside of a character.
fn boundary(bytes: &[u8], at: usize) -> usize {
    (at.saturating_sub(3)..=at).rev().find(|&at| bytes[at] & 0xc0 != 0x80).unwrap_or(at)
}

fn decoded(raw: &[u8], form: Form) -> String {
    match form {
        Form::Json if memchr::memchr(b'\\', raw).is_some() => {
            let quoted = [b"\"", raw, b"\""].concat();
            Value::trusted(&quoted).as_text().map(std::borrow::Cow::into_owned).unwrap_or_default()
        }
        _ => String::from_utf8_lossy(raw).into_owned(),
    }
}

/// Returns where the value of a key begins, from an offset on.
fn after_key(block: &[u8], key: &[u8], from: usize) -> Option<usize> {
    let at = from + memchr::memmem::find(&block[from..], key)? + key.len();
    let blanks = block[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    Some(at + blanks)
}

/// Returns where the text of a result begins, after its quotation mark; `None` if the beginning of the block does not show it.
pub(crate) fn text_of_result(block: &[u8]) -> Option<usize> {
    let block = &block[..block.len().min(BEGINNING)];
    let content = after_key(block, b"\"content\":", 0)?;
    match block.get(content)? {
        b'"' => Some(content + 1),
        b'[' => {
            let text = after_key(block, b"\"text\":", content)?;
            (block.get(text) == Some(&b'"')).then_some(text + 1)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn text_of(nodes: &[ViewNode]) -> String {
        let mut text = String::new();
        crate::text::nodes(nodes, "", &mut text);
        text
    }

    /// Reads bytes that begin at an offset of 7; so many at once at most.
    fn with<T>(form: Form, bytes: &[u8], work: impl FnOnce(&LongText<'_, Infallible>) -> T) -> T {
        let read = |offset: u64, length: usize| {
            let rest = &bytes[usize::try_from(offset - 7).unwrap().min(bytes.len())..];
            Ok(rest[..rest.len().min(length)].to_vec())
        };
        work(&LongText { form, range: 7..7 + bytes.len() as u64, read: &read })
    }

    fn lines(form: Form, bytes: &[u8]) -> Vec<(String, bool)> {
        let mut found = Vec::new();
        with(form, bytes, |text| {
            text.each(7, |line| {
                found.push((decoded(line.raw, form), line.is_whole));
                true
            })
        })
        .unwrap();
        found
    }

    fn joined(lines: &[(String, bool)]) -> String {
        lines
            .iter()
            .map(|(line, is_whole)| if *is_whole { format!("{line}\n") } else { line.clone() })
            .collect()
    }

    #[test]
    fn lines_end_at_line_breaks_and_at_the_quotation_mark() {
        let found = lines(Form::Json, br#"a\\nb\n\u000Ac\"d\ud83d\ude00","is_error":true}"#);
        let expected = [("a\\nb", true), ("", true), ("c\"d😀", false)];
        assert_eq!(found, expected.map(|(line, is_whole)| (line.to_owned(), is_whole)));
        assert_eq!(lines(Form::Json, b"\"}"), []);
        assert_eq!(lines(Form::Plain, b"a\n\nb\n").len(), 3);
    }

    #[test]
    fn long_lines_are_divided_between_characters() {
        for word in ["x", "茶", r"\u8336", r"\ud83d\ude00", r"\\", "a茶\\\""] {
            let written = word.repeat(3 * LONGEST_LINE);
            let found = lines(Form::Json, format!("{written}\"}}").as_bytes());
            let whole = serde_json_text(&written);
            assert_eq!(joined(&found), whole, "{word}");
            assert!(found.len() > 2 && found.iter().all(|(line, _)| line.len() <= LONGEST_LINE), "{word}");
        }
    }

    fn serde_json_text(written: &str) -> String {
        Value::new(format!("\"{written}\"").as_bytes()).unwrap().as_text().unwrap().into_owned()
    }

    #[test]
    fn any_text_is_the_same_in_pieces() {
        let mut random = fastrand::Rng::with_seed(7);
        let words = ["x", "\n", "\r", "茶", "😀", "\"", "\\", "\\n", " ", "\t", "\u{1}", "abcdefgh"];
        for round in 0..60 {
            let count = random.usize(..if round % 10 == 0 { 400_000 } else { 3000 });
            let is_long = random.bool();
            let word =
                |random: &mut fastrand::Rng| words[random.usize(if is_long { 2 } else { 0 }..words.len())];
            let text: String = (0..count).map(|_| word(&mut random)).collect();
            let mut json = Vec::new();
            for character in text.chars() {
                match character {
                    '\n' if random.bool() => json.extend(b"\\n"),
                    '\n' => json.extend(b"\\u000a"),
                    '"' => json.extend(b"\\\""),
                    '\\' => json.extend(b"\\\\"),
                    '\u{1}' => json.extend(b"\\u0001"),
                    '😀' if random.bool() => json.extend(b"\\ud83d\\uDE00"),
                    other => json.extend(other.to_string().bytes()),
                }
            }
            json.extend(b"\",\"is_error\":false}");
            assert_eq!(joined(&lines(Form::Json, &json)), text, "round {round}");
            assert_eq!(joined(&lines(Form::Plain, text.as_bytes())), text, "round {round}");
            let numbered = lines(Form::Json, &json);
            with(Form::Json, &json, |long| {
                let counted = long.count().unwrap();
                assert_eq!(counted.count, numbered.len());
                let from = random.usize(..=numbered.len());
                let piece = long.piece(&counted, from, 50, None, Target::Viewer).unwrap();
                let next = piece.next.unwrap_or(numbered.len());
                assert!(next > from || from == numbered.len());
                assert_eq!(line_count(&piece.nodes), (next - from).max(usize::from(from < numbered.len())));
            });
        }
    }

    struct HidesKeys;

    impl Filter for HidesKeys {
        fn entry<'l>(&self, line: &'l [u8]) -> (std::borrow::Cow<'l, [u8]>, usize) {
            (line.into(), 0)
        }

        fn visible(&self, text: &str) -> Vec<(Range<usize>, String)> {
            // As in the rules for private keys, a key without a last line ends with the text.
            let end = |begin: usize| text[begin..].find("END").map_or(text.len(), |end| begin + end + 3);
            text.match_indices("BEGIN").map(|(begin, _)| (begin..end(begin), "[key]".to_owned())).collect()
        }
    }

    #[test]
    fn a_secret_is_masked_in_every_piece_that_has_a_part_of_it() {
        let before = "line\n".repeat(1000);
        let key = format!("BEGIN\n{}END", "secret\n".repeat(100));
        let text = format!("{before}{key}\n{before}");
        with(Form::Plain, text.as_bytes(), |long| {
            let counted = long.count().unwrap();
            for (from, count) in [(0, 5000), (1000, 3), (1003, 1), (1050, 20), (1101, 1), (990, 12)] {
                let piece = long.piece(&counted, from, count, Some(&HidesKeys), Target::Viewer).unwrap();
                let shown = text_of(&piece.nodes);
                assert!(!shown.contains("secret") && !shown.contains("END"), "{from}: {shown}");
                assert_eq!(piece.masked, 1, "{from}");
                assert_eq!(line_count(&piece.nodes), count.min(2102 - from), "{from}");
            }
            let piece = long.piece(&counted, 0, 10, Some(&HidesKeys), Target::Viewer).unwrap();
            assert_eq!((piece.masked, piece.next, piece.lines), (0, Some(10), 2102));
        });
    }

    /// Private keys are masked up to 512 KiB from their first line.
    #[test]
    fn a_long_key_is_masked_in_every_piece() {
        let key = format!("line\nBEGIN\n{}END\n", "secret\n".repeat(70_000));
        with(Form::Plain, key.as_bytes(), |long| {
            let counted = long.count().unwrap();
            for from in [1, 500, 9_000, 35_000, 69_000] {
                let piece = long.piece(&counted, from, 100, Some(&HidesKeys), Target::Viewer).unwrap();
                assert!(!text_of(&piece.nodes).contains("secret"), "{from}");
            }
        });
    }

    #[test]
    fn a_secret_in_a_divided_line_is_masked() {
        let text =
            format!("{}BEGIN{}END{}", "x".repeat(LONGEST_LINE - 2), "secret".repeat(2000), "y".repeat(9));
        with(Form::Plain, text.as_bytes(), |long| {
            let counted = long.count().unwrap();
            for from in 0..counted.count {
                let piece = long.piece(&counted, from, 1, Some(&HidesKeys), Target::Viewer).unwrap();
                let shown = text_of(&piece.nodes);
                assert!(!shown.contains("secret") && !shown.contains("BE"), "{from}: {shown}");
            }
        });
    }

    #[test]
    fn an_open_row_shows_the_end_that_tells_most() {
        let text: String = (0..5000).map(|n| n.to_string() + "\n").collect();
        with(Form::Plain, text.as_bytes(), |long| {
            let (nodes, ..) = long.first(Keep::Last, 1, None, Target::Viewer).unwrap();
            let [ViewNode::More { lines: 4980, part: 1, from: 0, .. }, ViewNode::Ansi { lines }] = &nodes[..]
            else {
                panic!("{nodes:?}")
            };
            assert_eq!(lines.last().unwrap()[0].text(), "4999");
            let (nodes, ..) = long.first(Keep::First, 1, None, Target::Viewer).unwrap();
            let [ViewNode::Ansi { lines }, ViewNode::More { lines: 4980, from: 20, .. }] = &nodes[..] else {
                panic!("{nodes:?}")
            };
            assert_eq!(lines[0][0].text(), "0");
        });
        with(Form::Plain, "x".repeat(30_000).as_bytes(), |long| {
            let (nodes, ..) = long.first(Keep::First, 1, None, Target::Viewer).unwrap();
            assert!(matches!(nodes[..], [_, ViewNode::More { lines: 7, from: 1, .. }]), "{nodes:?}");
        });
    }

    #[test]
    fn the_text_of_a_result_is_found_in_its_beginning() {
        let found = |block: &str| text_of_result(block.as_bytes()).map(|at| block[at..].to_owned());
        assert_eq!(found(r#"{"tool_use_id":"t","type":"tool_result","content": "abc"#).unwrap(), "abc");
        assert_eq!(found(r#"{"content":[{"type":"text","text":"abc"#).unwrap(), "abc");
        assert_eq!(found(r#"{"content":[{"type":"image","source":{"data":"abc"#), None);
        assert_eq!(found(r#"{"tool_use_id":"\"content\":\"x"}"#), None);
    }
}
