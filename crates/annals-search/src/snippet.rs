//! Snippets: the piece of a text that shows best why it was found.

use std::cmp::Reverse;
use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};
use unicode_width::UnicodeWidthStr;

use crate::characters::{Class, is_unspaced};
use crate::escape;
use crate::query::Match;

/// One line of a text, for people.
///
/// The line is at most as wide as asked for, in columns of a terminal. Blanks of all kinds, line ends included, are
/// one blank; control characters, terminal sequences and everything else that has no width are left out. The
/// line is cut between words, or between characters where a script has no blanks or a word is long, and never inside
/// of what a person sees as one character. An ellipsis stands where it is cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The line.
    pub text: String,
    /// The bytes of the line that match, in order; none of them touch.
    pub matches: Vec<Range<usize>>,
}

const ELLIPSIS: &str = "…";

/// Narrower snippets have no ellipsis, because little else would fit.
const WIDTH_FOR_ELLIPSIS: usize = 8;

/// What a person sees as one character has fewer bytes; more are marks upon marks, shown as one replacement character.
const LONGEST_CHARACTER: usize = 64;

/// A word with more characters is cut like a text without blanks.
const LONGEST_WORD: usize = 24;

impl Snippet {
    /// Chooses the window with the most different terms, then with the most matches, then the first one, and adds what
    /// stands around it. `matches` are those of [`crate::Query::find`]; without any, the text is shown from its start.
    ///
    /// ```
    /// use annals_search::{Query, Snippet, Tokens};
    ///
    /// let text = "A long story about other things.\nThen the borrow checker\tcomplained about it again.";
    /// let found = Query::parse("checker borrow").unwrap().find(&Tokens::of(text));
    /// let snippet = Snippet::new(text, &found, 36);
    /// assert_eq!(snippet.text, "…the borrow checker complained…");
    /// assert_eq!(snippet.matches.iter().map(|range| &snippet.text[range.clone()]).collect::<Vec<_>>(), ["borrow", "checker"]);
    /// ```
    pub fn new(text: &str, matches: &[Match], width: usize) -> Self {
        let budget = width - if width >= WIDTH_FOR_ELLIPSIS { 2 } else { 0 };
        let core = best_window(text, matches, budget).unwrap_or(0..0);
        let cells = Cells::around(text, &core, width);
        let shown = cells.choose(&core, width, budget);
        cells.write(shown, matches, width >= WIDTH_FOR_ELLIPSIS)
    }
}

/// Returns the range from the first to the last match of the best window of so many columns.
fn best_window(text: &str, matches: &[Match], budget: usize) -> Option<Range<usize>> {
    let columns = Columns::of(text, matches, budget);
    let start = |index: usize| columns.at(matches[index].range.start);
    // A match that is too wide counts for the window that it begins.
    let end = |index: usize| columns.at(matches[index].range.end).min(start(index) + budget);
    let mut by_start: Vec<usize> = (0..matches.len()).collect();
    by_start.sort_by_key(|&index| matches[index].range.start);
    let mut by_end = by_start.clone();
    by_end.sort_by_key(|&index| end(index));

    let terms = matches.iter().map(|found| found.term + 1).max()?;
    let mut counts = vec![0_usize; terms];
    let (mut different, mut total, mut next) = (0, 0, 0);
    let mut best = None;
    for &first in &by_start {
        while let Some(&added) = by_end.get(next).filter(|&&added| end(added) <= start(first) + budget) {
            counts[matches[added].term] += 1;
            different += usize::from(counts[matches[added].term] == 1);
            total += 1;
            next += 1;
        }
        let score = (different, total, Reverse(matches[first].range.start));
        if best.is_none_or(|(score_of_best, _)| score > score_of_best) {
            best = Some((score, first));
        }
        counts[matches[first].term] -= 1;
        different -= usize::from(counts[matches[first].term] == 0);
        total -= 1;
    }
    let (_, first) = best?;
    let from = matches[first].range.start;
    let is_inside =
        |index: &usize| matches[*index].range.start >= from && end(*index) <= start(first) + budget;
    let to = (0..matches.len()).filter(is_inside).map(|index| matches[index].range.end).max()?;
    Some(from..to)
}

/// The columns at which matches begin and end, if the text were one line.
struct Columns {
    /// Offsets in order, with their columns.
    points: Vec<(usize, usize)>,
}

impl Columns {
    fn of(text: &str, matches: &[Match], budget: usize) -> Self {
        let mut offsets: Vec<_> =
            matches.iter().flat_map(|found| [found.range.start, found.range.end]).collect();
        offsets.sort_unstable();
        offsets.dedup();
        // Only the distances between matches count.
        let (mut column, mut last) = (0, offsets.first().copied().unwrap_or_default());
        let points = offsets.into_iter().map(|offset| {
            // No window reaches across a wide gap, so it is not measured.
            let is_wide = offset - last > LONGEST_CHARACTER * (budget + 1);
            column += if is_wide { budget + 1 } else { columns_of(text, last..offset, budget + 1) };
            last = offset;
            (offset, column)
        });
        Self { points: points.collect() }
    }

    fn at(&self, offset: usize) -> usize {
        self.points.binary_search_by_key(&offset, |point| point.0).map_or(0, |index| self.points[index].1)
    }
}

/// Returns how many columns a range of a text takes, but no more than `most`.
fn columns_of(text: &str, range: Range<usize>, most: usize) -> usize {
    // The last of these bytes may have a mark behind it, and is one column even then.
    let beginning = &text.as_bytes()[range.start..range.end.min(range.start + most)];
    if beginning.iter().all(|byte| is_plain(*byte)) {
        return beginning.len();
    }
    let mut columns = 0;
    for cell in cells(text, range) {
        columns += cell.width;
        if columns >= most {
            return most;
        }
    }
    columns
}

/// Returns whether a byte is one column, unless a mark follows it. A line end of two bytes is one column, and so is not plain.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

/// What a person sees as one character, or a blank.
#[derive(Debug)]
struct Cell<'t> {
    text: &'t str,
    width: usize,
    range: Range<usize>,
}

/// Returns the characters of a range of a text that are shown. Two blanks can follow each other.
fn cells(text: &str, range: Range<usize>) -> impl Iterator<Item = Cell<'_>> {
    let mut sequence_end = 0;
    characters(text, range).filter_map(move |range| {
        let (start, written) = (range.start, &text[range.clone()]);
        if written == "\u{1b}" {
            sequence_end = start + escape::length(&text.as_bytes()[start..]);
        }
        let is_control = |character: char| character.is_control() || Class::of(character) == Class::Ignored;
        let (shown, width) = match written {
            _ if start < sequence_end => return None,
            _ if matches!(written.as_bytes(), [b'!'..=b'~']) => (written, 1),
            _ if written.chars().all(char::is_whitespace) => (" ", 1),
            _ if written.chars().all(is_control) => return None,
            _ if written.len() > LONGEST_CHARACTER => ("\u{fffd}", 1),
            _ => (written, written.width()),
        };
        (width > 0).then_some(Cell { text: shown, width, range })
    })
}

/// Returns what a person sees as characters of a range of a text. Most text is plain, and each byte of it is one.
fn characters(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let Range { mut start, end } = range;
    let bytes = &text.as_bytes()[..end];
    std::iter::from_fn(move || {
        let is_alone = match bytes.get(start..)? {
            [byte] => is_plain(*byte),
            [byte, next, ..] => is_plain(*byte) && is_plain(*next),
            [] => return None,
        };
        let length = if is_alone { 1 } else { text[start..end].graphemes(true).next()?.len() };
        start += length;
        Some(start - length..start)
    })
}

/// The characters around the window, more of them than fit.
struct Cells<'t> {
    cells: Vec<Cell<'t>>,
    /// Whether there is more text before and behind them.
    goes_on: (bool, bool),
}

impl<'t> Cells<'t> {
    fn around(text: &'t str, core: &Range<usize>, width: usize) -> Self {
        let from = start_of_context(text, core.start, width);
        let mut all: Vec<Cell<'_>> = Vec::new();
        let (mut columns, mut is_cut) = (0, false);
        // What has no width is counted as well, so that no text is read to its end.
        let limit = (core.end + LONGEST_CHARACTER * (width + 1)).min(text.len());
        let to = (limit..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
        for cell in cells(text, from..to) {
            let is_second_blank = cell.text == " " && all.last().is_none_or(|last| last.text == " ");
            if is_second_blank {
                continue;
            }
            if columns > width {
                is_cut = true;
                break;
            }
            if cell.range.start >= core.end {
                columns += cell.width;
            }
            all.push(cell);
        }
        // The last character may be cut in two, or be a blank with nothing behind it.
        if !is_cut && all.last().is_some_and(|last| to < text.len() || last.text == " ") {
            all.pop();
        }
        Self { cells: all, goes_on: (from > 0, is_cut || to < text.len()) }
    }

    /// Returns which cells are shown.
    fn choose(&self, core: &Range<usize>, width: usize, budget: usize) -> Range<usize> {
        let columns = |cells: &[Cell<'_>]| cells.iter().map(|cell| cell.width).sum::<usize>();
        if self.goes_on == (false, false) && columns(&self.cells) <= width {
            return 0..self.cells.len();
        }
        let first = self.cells.partition_point(|cell| cell.range.end <= core.start);
        let last = self.cells.partition_point(|cell| cell.range.start < core.end).max(first);
        let (mut shown, mut free) = (first..first, budget);
        let fits = |index: usize, free: usize| self.cells.get(index).is_some_and(|cell| cell.width <= free);
        while shown.end < last && fits(shown.end, free) {
            free -= self.cells[shown.end].width;
            shown.end += 1;
        }
        if shown.end < last {
            return shown;
        }
        // A third of what is left stands before the matches, and all that the text behind them leaves free.
        let mut free_before = free / 3;
        for is_second_time in [false, true] {
            while let Some(before) = shown.start.checked_sub(1).filter(|&before| fits(before, free_before)) {
                free_before -= self.cells[before].width;
                free -= self.cells[before].width;
                shown.start = before;
            }
            while !is_second_time && fits(shown.end, free) {
                free -= self.cells[shown.end].width;
                shown.end += 1;
            }
            free_before = free;
        }
        self.between_words(shown, first..last)
    }

    /// Moves both ends inwards to the end of a word, unless it is far away.
    fn between_words(&self, shown: Range<usize>, core: Range<usize>) -> Range<usize> {
        let start = (shown.start..=core.start).take(LONGEST_WORD).find(|&at| !self.is_inside_word(at));
        let end = (core.end..=shown.end).rev().take(LONGEST_WORD).find(|&at| !self.is_inside_word(at));
        start.unwrap_or(shown.start)..end.unwrap_or(shown.end)
    }

    /// Returns whether a word of a script with blanks goes on from the cell before to the cell at an index.
    fn is_inside_word(&self, at: usize) -> bool {
        let is_letter = |cell: &Cell<'_>| {
            cell.text.chars().next().is_some_and(|first| first.is_alphanumeric() && !is_unspaced(first))
        };
        let before = at.checked_sub(1).map_or(self.goes_on.0, |before| is_letter(&self.cells[before]));
        before && self.cells.get(at).map_or(self.goes_on.1, is_letter)
    }

    fn write(&self, mut shown: Range<usize>, matches: &[Match], has_ellipsis: bool) -> Snippet {
        let is_blank = |index: usize| self.cells[index].text == " ";
        while !shown.is_empty() && is_blank(shown.start) {
            shown.start += 1;
        }
        while !shown.is_empty() && is_blank(shown.end - 1) {
            shown.end -= 1;
        }
        let mut snippet = Snippet::default();
        if has_ellipsis && (shown.start > 0 || self.goes_on.0) {
            snippet.text.push_str(ELLIPSIS);
        }
        let marks = self.marks(shown.clone(), matches);
        for (cell, is_marked) in self.cells[shown.clone()].iter().zip(marks) {
            let start = snippet.text.len();
            snippet.text.push_str(cell.text);
            match snippet.matches.last_mut() {
                Some(last) if is_marked && last.end == start => last.end = snippet.text.len(),
                _ if is_marked => snippet.matches.push(start..snippet.text.len()),
                _ => {}
            }
        }
        if has_ellipsis && (shown.end < self.cells.len() || self.goes_on.1) {
            snippet.text.push_str(ELLIPSIS);
        }
        snippet
    }

    /// Returns of each shown cell whether a match covers some of it.
    fn marks(&self, shown: Range<usize>, matches: &[Match]) -> Vec<bool> {
        let cells = &self.cells[shown];
        let mut marks = vec![false; cells.len()];
        for found in matches {
            let first = cells.partition_point(|cell| cell.range.end <= found.range.start);
            let last = cells.partition_point(|cell| cell.range.start < found.range.end);
            marks[first.min(last)..last].fill(true);
        }
        marks
    }
}

/// Returns the offset at which the text before the window begins that may be shown.
fn start_of_context(text: &str, core: usize, width: usize) -> usize {
    let mut cursor = GraphemeCursor::new(core, text.len(), true);
    let mut start = core;
    let is_boundary = matches!(cursor.is_boundary(text, 0), Ok(true));
    for _ in 0..width + usize::from(!is_boundary) {
        // Two plain bytes are two characters.
        if let [.., before, last] = text.as_bytes()[..start]
            && is_plain(before)
            && is_plain(last)
        {
            start -= 1;
            continue;
        }
        cursor.set_cursor(start);
        let Ok(Some(before)) = cursor.prev_boundary(text, 0) else { break };
        start = before;
    }
    end_of_sequence_around(text, start)
}

/// Returns the end of the terminal sequence that begins before an offset and covers it, or the offset.
fn end_of_sequence_around(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let from = at.saturating_sub(LONGEST_CHARACTER);
    let escape = (from..at).rev().find(|&start| bytes[start] == 0x1b);
    escape.map_or(at, |start| at.max(start + escape::length(&bytes[start..])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Query, Tokens};

    /// Makes a snippet, and puts brackets around what matches.
    fn snippet(text: &str, query: &str, width: usize) -> String {
        let matches = Query::parse(query).unwrap().find(&Tokens::of(text));
        let Snippet { mut text, matches } = Snippet::new(text, &matches, width);
        assert!(text.width() <= width, "{text}");
        for range in matches.iter().rev() {
            text.insert(range.end, ']');
            text.insert(range.start, '[');
        }
        text
    }

    #[test]
    fn plain_text_takes_as_many_columns_as_its_characters() {
        for text in
            ["", "fn main() {\n\tprint(\"~\");\n}", "a\r\nb", "\u{1b}[31mred", "茶 é", "a\u{7}b\u{7f}"]
        {
            let columns: usize = cells(text, 0..text.len()).map(|cell| cell.width).sum();
            for most in [0, 1, 2, 3, 1_000] {
                assert_eq!(columns_of(text, 0..text.len(), most), columns.min(most), "{text:?}");
            }
        }
    }

    #[test]
    fn what_stands_before_a_match_begins_between_two_characters() {
        for text in ["", "ab", "a\tb\r\n\r\nc", "xe\u{301}y", "茶👩‍👩‍👧x", "🇩🇪🇫🇷a🇯🇵", "\u{301}a", "👍🏽\u{200d}b"]
        {
            let boundaries: Vec<_> =
                text.grapheme_indices(true).map(|(start, _)| start).chain([text.len()]).collect();
            for core in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
                for width in 0..6 {
                    let before = boundaries.partition_point(|&boundary| boundary < core);
                    let is_boundary = boundaries.contains(&core);
                    let first = before.saturating_sub(width + usize::from(!is_boundary));
                    assert_eq!(
                        start_of_context(text, core, width),
                        boundaries[first.min(before)],
                        "{text:?} {core} {width}"
                    );
                }
            }
        }
    }

    #[test]
    fn short_texts_are_shown_whole() {
        assert_eq!(snippet("  fix\n\tthe bug ", "bug", 40), "fix the [bug]");
        assert_eq!(snippet("fix the bug", "bug", 11), "fix the [bug]");
        assert_eq!(snippet("\u{1b}[31mfoo\u{1b}[0m\u{7}bar\r\nbaz\u{202e}", "baz", 40), "foobar [baz]");
    }

    #[test]
    fn the_window_has_the_most_different_terms() {
        let text = format!(
            "alpha alpha alpha {} beta gamma alpha {} gamma beta",
            "x ".repeat(100),
            "y ".repeat(100)
        );
        assert_eq!(snippet(&text, "alpha beta", 30), "…x x [beta] gamma [alpha] y y y y…");
        assert_eq!(snippet(&text, "alpha", 30), "[alpha] [alpha] [alpha] x x x x x…");
    }

    #[test]
    fn texts_are_cut_between_words() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        assert_eq!(snippet(text, "six", 24), "…five [six] seven eight…");
        assert_eq!(snippet(text, "one", 24), "[one] two three four…");
        assert_eq!(snippet(text, "twelve", 24), "…nine ten eleven [twelve]");
        assert_eq!(snippet(text, "zero", 24), "one two three four…");
    }

    #[test]
    fn scripts_without_blanks_are_cut_between_characters() {
        let text = "我们需要一个可以检索所有会话内容的工具，它应该很快";
        assert_eq!(snippet(text, "检索", 16), "…以[检索]所有会话…");
        let text = "一".repeat(100_000) + "检索" + &"二".repeat(100_000);
        assert_eq!(snippet(&text, "检索", 16), "…一[检索]二二二二…");
    }

    #[test]
    fn long_words_and_lines_are_cut() {
        let blob = "0123456789".repeat(100_000);
        assert_eq!(snippet(&format!("{blob} needle {blob}"), "needle", 20), "…[needle]…");
        assert_eq!(snippet(&format!("{blob}/needle/{blob}"), "needle", 24), "…/[needle]/…");
        assert_eq!(snippet(&blob, &format!("{}*", &blob[..20]), 10), "[01234567]…");
        assert_eq!(snippet("needle in a haystack", "needle", 3), "[nee]");
        assert_eq!(snippet("宽字", "宽", 1), "");
        assert_eq!(snippet("x", "x", 0), "");
    }

    #[test]
    fn what_is_seen_as_one_character_stays_whole() {
        let family = "👩‍👩‍👧‍👦";
        let text = format!("{} {family} {}", "word ".repeat(20), "word ".repeat(20));
        assert_eq!(snippet(&text, "👧", 12), format!("…[{family}] word…"));
        let hidden =
            format!("match {}", "a\u{200b}\u{200b}\u{200b}".repeat(9) + &"\u{200b}".repeat(1000) + "b");
        assert_eq!(snippet(&hidden, "match", 20), "[match]…");
        let accents = format!("a{} match", "\u{301}".repeat(100_000));
        assert_eq!(snippet(&accents, "match", 20), "\u{fffd} [match]");
    }
}
