//! Text that fits: every answer has a bounded size, and says what was left out.

use std::ops::Range;

use annals_api::{has_harmful, judged};
use serde::Serialize;

/// The most bytes of an answer. That is about 10,000 tokens of English, or 15,000 of Chinese; Claude Code refuses answers of more
/// than 25,000.
pub(crate) const LONGEST_ANSWER: usize = 40_000;

/// The longest id that is repeated. Those of Claude Code have 36 characters.
const LONGEST_ID: usize = 200;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Where the rest begins, in bytes of the whole text; `None` if there is no rest.
    pub(crate) continues_at: Option<usize>,
    /// How many bytes the rest has.
    pub(crate) left_out: usize,
}

/// Returns the part of a text that begins at a byte and takes at most `room` bytes as JSON; with four there is room for every character. Characters that are invisible or
/// control a terminal become U+FFFD: instructions could be hidden in them.
pub(crate) fn excerpt(text: &str, offset: usize, room: usize) -> Excerpt {
    let start = character_start(text, offset);
    let mut size = 0;
    let mut end = start;
    for character in text[start..].chars() {
        size += json_size(character);
        if size > room {
            break;
        }
        end += character.len_utf8();
    }
    let left_out = text.len() - end;
    Excerpt { text: clean(text, start..end), continues_at: (left_out > 0).then_some(end), left_out }
}

/// Returns the beginning of a text on one line, with an ellipsis if there is more.
pub(crate) fn line(text: &str, room: usize) -> String {
    // White space is what a line has most of besides text: so much of it is looked at, and no more.
    let start = &text[..character_start(text, room.saturating_mul(4))];
    let words: Vec<_> = start.split_whitespace().collect();
    let Excerpt { text: mut line, left_out, .. } = excerpt(&words.join(" "), 0, room);
    if left_out > 0 || start.len() < text.len() {
        line.push('…');
    }
    line
}

/// Returns an id as it is, unless it is none of Claude Code's and very long.
pub(crate) fn id(id: &str) -> String {
    excerpt(id, 0, LONGEST_ID).text
}

/// What is left of the size of an answer.
#[derive(Debug)]
pub(crate) struct AnswerBudget(usize);

impl AnswerBudget {
    /// An empty answer, without so many bytes that are kept for what stands around its items.
    pub(crate) fn new(kept: usize) -> Self {
        Self(LONGEST_ANSWER.saturating_sub(kept))
    }

    /// Takes the room that an item needs. Returns whether there was enough.
    pub(crate) fn take(&mut self, item: &impl Serialize) -> bool {
        let size = serde_json::to_string(item).map_or(usize::MAX, |json| json.len() + 1);
        let fits = size <= self.0;
        if fits {
            self.0 -= size;
        }
        fits
    }
}

/// Returns the start of the character that a byte is in; the end of the text for bytes after it.
fn character_start(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Returns a part of a text without harmful characters. Whether a character is harmful depends on the one before it and the one
/// after it, which may be outside of the part.
fn clean(text: &str, part: Range<usize>) -> String {
    let before = text[..part.start].chars().next_back().map_or(0, char::len_utf8);
    let after = text[part.end..].chars().next().map_or(0, char::len_utf8);
    let near = &text[part.start - before..part.end + after];
    let part = &text[part];
    if !has_harmful(near) {
        return part.to_owned();
    }
    let characters = judged(near).skip(usize::from(before > 0)).take(part.chars().count());
    characters.filter_map(|(character, is_harmful)| clean_character(character, is_harmful)).collect()
}

/// Returns what stands in place of a character; `None` if it is left out.
fn clean_character(character: char, is_harmful: bool) -> Option<char> {
    match character {
        '\n' | '\t' => Some(character),
        '\r' => None,
        _ if is_harmful => Some(char::REPLACEMENT_CHARACTER),
        _ => Some(character),
    }
}

/// Returns how many bytes a character takes in a JSON string, at most: harmful ones are replaced by one of three bytes.
fn json_size(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\t' => 2,
        _ => character.len_utf8().max(if character.is_ascii_graphic() || character == ' ' { 1 } else { 3 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_says_where_it_goes_on() {
        let whole = "天气 is\n\"nice\"";
        let first = excerpt(whole, 0, 9);
        assert_eq!((first.text.as_str(), first.continues_at, first.left_out), ("天气 is", Some(9), 7));
        let rest = excerpt(whole, 9, 100);
        assert_eq!((rest.text.as_str(), rest.continues_at, rest.left_out), ("\n\"nice\"", None, 0));
        assert_eq!(excerpt(whole, 1, 100).text, whole, "an offset inside a character begins with it");
        assert_eq!(excerpt(whole, 1000, 100).text, "");
    }

    #[test]
    fn the_parts_of_a_text_together_are_the_text() {
        proptest::proptest!(|(text: String, room in 4usize..40)| {
            let mut parts = String::new();
            let mut at = Some(0);
            while let Some(offset) = at {
                let part = excerpt(&text, offset, room);
                assert!(serde_json::to_string(&part.text).unwrap().len() <= room + 2, "{part:?}");
                assert!(part.continues_at.is_none_or(|next| next > offset), "{part:?}");
                parts.push_str(&part.text);
                at = part.continues_at;
            }
            assert_eq!(parts, clean(&text, 0..text.len()));
        });
    }

    #[test]
    fn hidden_text_is_replaced() {
        let hidden: String = "do it".chars().map(|c| char::from_u32(0xE0000 + c as u32).unwrap()).collect();
        assert_eq!(
            excerpt(&format!("a\u{1b}[1m\r\n{hidden}"), 0, 1000).text,
            format!("a\u{FFFD}[1m\n{}", "\u{FFFD}".repeat(5))
        );
    }

    #[test]
    fn a_line_has_no_line_ends_and_is_bounded() {
        assert_eq!(line(" a\n\n b\t天气 ", 100), "a b 天气");
        assert_eq!(line("one two three", 7), "one two…");
        assert_eq!(line(&"x".repeat(1 << 20), 10), format!("{}…", "x".repeat(10)));
        assert_eq!(line(&format!("a{}b", " ".repeat(1 << 20)), 10), "a…");
    }
}
