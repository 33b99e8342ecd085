//! The analyzer: from text to tokens, each with its position and its place in the text.
//!
//! # What is a token
//!
//! A **word** is a run of letters and digits, folded: lower case, without accents, compatibility forms as plain ones
//! (`Ｆｕｌｌ` is `full`). Everything else separates words, so `snake_case`, `a::b`, `src/main.rs:42`, `--dry-run` and
//! URLs are sequences of words and are found as phrases: whole, or any part. Invisible characters and
//! terminal colours separate nothing.
//!
//! A word with humps, such as `camelCase` or `HTTPServer`, also gives its **parts** (`camel`, `case`). A part begins
//! at a capital behind something else, and at the last of several capitals before a small letter. Digits belong to
//! the letters before them, so that `E0502`, `sha256` and hashes stay whole.
//!
//! Scripts without blanks between words (Han, kana, Hangul, Thai and others) give overlapping **pairs** of characters,
//! and a **single** for the last character of each run: `全文検索` is `全文 文検 検索 索`.
//! A word of two characters is one pair, a longer one a phrase of pairs, and one character is the prefix of a token:
//! of a pair, or of the single that ends the run.
//!
//! **Emoji** are tokens of one character, without skin tones and joiners; a flag is one token.
//!
//! A word longer than [`LONGEST_WORD`] bytes (a blob in hexadecimal) is one token: its beginning. It has no parts, and
//! neither has a word of more than [`MOST_PARTS`] parts. Pairs and emoji need no bound.
//!
//! # Positions
//!
//! There are two columns. `words` has words, pairs, singles and emoji, and each token has the next position: what
//! stands side by side in the text is adjacent, so a phrase is found if and only if its tokens follow each other.
//! `parts` has the parts of words with humps. The parts of one word are adjacent; a position is left free between two
//! words, so no phrase matches across them. A word without humps is in `words` only.

use std::ops::Range;

use unicode_normalization::char::{compose, is_combining_mark};

use crate::characters::{Case, Class, fold, fold_to_one, is_unspaced};
use crate::escape;

mod list;

pub use list::{Column, Tokens};

/// How many bytes of a word are kept, folded.
pub const LONGEST_WORD: usize = 128;

/// A word with more humps than this is no identifier.
pub const MOST_PARTS: usize = 16;

/// A token of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'t> {
    /// The folded text. It has no ASCII but small letters and digits.
    pub text: &'t str,
    /// What the token is, and with it the column.
    pub kind: TokenKind,
    /// The position in its column, from 0.
    pub position: u32,
    /// The bytes of the text that the token stands for; both ends lie between characters.
    pub range: Range<usize>,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A word.
    Word,
    /// A part of the word before it; the only kind that belongs to the column `parts`.
    Part,
    /// Two characters of a script without blanks.
    Pair,
    /// The last character of a run of such a script.
    Single,
    /// An emoji, or another sign.
    Emoji,
}

/// Calls `sink` with the tokens of a text, in order; the parts of a word come behind the word.
///
/// ```
/// use annals_search::{TokenKind, for_each_token};
///
/// let mut words = Vec::new();
/// let mut parts = Vec::new();
/// for_each_token("Café: getUserName() 数据库", |token| match token.kind {
///     TokenKind::Part => parts.push((token.text.to_owned(), token.position)),
///     _ => words.push(token.text.to_owned()),
/// });
/// assert_eq!(words, ["cafe", "getusername", "数据", "据库", "库"]);
/// assert_eq!(parts, [("get".to_owned(), 0), ("user".to_owned(), 1), ("name".to_owned(), 2)]);
/// ```
pub fn for_each_token(text: &str, sink: impl FnMut(Token<'_>)) {
    let mut scanner = Scanner {
        text,
        out: Output { sink, next_word: 0, next_part: 0 },
        word: Word::default(),
        run: Run::default(),
        folded: String::new(),
    };
    scanner.scan();
}

struct Scanner<'t, F> {
    text: &'t str,
    out: Output<F>,
    /// The word that is being read, unless it is plain ASCII.
    word: Word,
    /// The run of unspaced characters that is being read.
    run: Run,
    /// Scratch space for lower case.
    folded: String,
}

/// What a byte is to the scanner: one bit each, so that a word knows what it contains. Separators have none.
const LOWER: u8 = 1;
const DIGIT: u8 = 2;
const UPPER: u8 = 4;
const ESCAPE: u8 = 8;
const WIDE: u8 = 16;
const LETTER: u8 = LOWER | DIGIT | UPPER;

const BYTES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte {
            0x1b => ESCAPE,
            0x30..=0x39 => DIGIT,
            0x41..=0x5a => UPPER,
            0x61..=0x7a => LOWER,
            0x80.. => WIDE,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> u8 {
    BYTES[usize::from(byte)]
}

impl<F: FnMut(Token<'_>)> Scanner<'_, F> {
    fn scan(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match class(byte) {
                0 => {
                    self.end_all();
                    at += 1;
                }
                WIDE => at = self.wide(at),
                ESCAPE => {
                    let sequence = &bytes[at..at + escape::length(&bytes[at..])];
                    if !escape::is_style(sequence) {
                        self.end_all();
                    }
                    at += sequence.len();
                }
                _ => at = self.ascii(at),
            }
        }
        self.end_all();
    }

    /// Reads a run of ASCII letters and digits, and returns where it ends.
    fn ascii(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut end = start;
        let mut seen = 0;
        let next = loop {
            let next = bytes.get(end).map_or(0, |&byte| class(byte));
            if next & LETTER == 0 {
                break next;
            }
            seen |= next;
            end += 1;
        };
        self.end_run();
        if next == 0 && self.word.is_empty() {
            self.ascii_word(start..end, seen);
        } else {
            for (offset, &byte) in bytes[start..end].iter().enumerate() {
                let at = start + offset;
                self.word.push(char::from(byte.to_ascii_lowercase()), ascii_case(byte), at..at + 1);
            }
        }
        end
    }

    /// Emits a word that is all ASCII: the fast path.
    fn ascii_word(&mut self, range: Range<usize>, seen: u8) {
        let written = &self.text[range.start..range.end.min(range.start + LONGEST_WORD)];
        if seen & UPPER == 0 {
            self.out.token(written, TokenKind::Word, range);
            return;
        }
        self.folded.clear();
        self.folded.push_str(written);
        self.folded.make_ascii_lowercase();
        self.out.token(&self.folded, TokenKind::Word, range.clone());
        if seen & LOWER != 0 && range.len() <= LONGEST_WORD {
            let parts = Parts::of(written.bytes().map(ascii_case));
            self.out.parts(&self.folded, &parts, range.end, |index| {
                (index, range.start + index..range.start + index + 1)
            });
        }
    }

    /// Reads one character that is not ASCII, and returns where it ends.
    fn wide(&mut self, start: usize) -> usize {
        let mut following = self.text[start..].chars();
        let Some(character) = following.next() else { return self.text.len() };
        let end = start + character.len_utf8();
        if let Some((letter, case)) = fold_to_one(character) {
            self.end_run();
            self.word.push(letter, case, start..end);
            return end;
        }
        match Class::of(character) {
            Class::Unspaced => {
                self.end_word();
                self.run.push(character, start..end, &mut self.out);
            }
            Class::Letter => {
                let mut is_accent = true;
                fold(character, |folded, case| {
                    is_accent = false;
                    self.folded(folded, case, start..end);
                });
                if is_accent {
                    self.word.extend_to(end);
                    self.run.extend_to(end);
                }
            }
            Class::Emoji => {
                self.end_all();
                self.out.token(&self.text[start..end], TokenKind::Emoji, start..end);
            }
            Class::Regional => {
                self.end_all();
                let other_half = following.next().filter(|&next| Class::of(next) == Class::Regional);
                let end = end + other_half.map_or(0, char::len_utf8);
                self.out.token(&self.text[start..end], TokenKind::Emoji, start..end);
                return end;
            }
            Class::Ignored => {}
            Class::Separator => self.end_all(),
        }
        end
    }

    /// Takes a folded character that stands for `range`.
    fn folded(&mut self, character: char, case: Case, range: Range<usize>) {
        if case == Case::None && self.run.compose(character, range.end) {
            return;
        }
        if is_unspaced(character) {
            self.end_word();
            self.run.push(character, range, &mut self.out);
        } else if case != Case::None || !is_combining_mark(character) {
            self.end_run();
            self.word.push(character, case, range);
        } else if !self.word.is_empty() {
            self.word.push(character, case, range);
        } else {
            self.run.extend_to(range.end);
        }
    }

    #[inline]
    fn end_all(&mut self) {
        self.end_word();
        self.end_run();
    }

    // Most words are written by the fast path, so that there is mostly nothing to end.
    #[inline]
    fn end_run(&mut self) {
        if self.run.last.is_some() {
            self.run.end(&mut self.out);
        }
    }

    #[inline]
    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.write_word();
        }
    }

    fn write_word(&mut self) {
        let word = &self.word;
        self.out.token(&word.text, TokenKind::Word, word.range.clone());
        if !word.is_cut {
            let parts = Parts::of(word.letters.iter().map(|letter| letter.case));
            let place = |index: usize| (word.letters[index].offset, word.letters[index].written.clone());
            self.out.parts(&word.text, &parts, word.range.end, place);
        }
        self.word.clear();
    }
}

fn ascii_case(byte: u8) -> Case {
    match class(byte) {
        UPPER => Case::Upper,
        LOWER => Case::Lower,
        _ => Case::None,
    }
}

/// Gives tokens their positions.
struct Output<F> {
    sink: F,
    next_word: u32,
    next_part: u32,
}

impl<F: FnMut(Token<'_>)> Output<F> {
    /// Emits a token of the column `words`.
    fn token(&mut self, text: &str, kind: TokenKind, range: Range<usize>) {
        (self.sink)(Token { text, kind, position: self.next_word, range });
        self.next_word += 1;
    }

    /// Emits the parts of a word. `place` says where the character with an index begins in the word, and for what it
    /// stands in the text.
    fn parts(
        &mut self,
        word: &str,
        parts: &Parts,
        end: usize,
        place: impl Fn(usize) -> (usize, Range<usize>),
    ) {
        for (index, &start) in parts.starts().iter().enumerate() {
            let (from, first) = place(usize::from(start));
            let (to, end) = match parts.starts().get(index + 1) {
                Some(&next) => {
                    let (to, behind) = place(usize::from(next));
                    // One character can be folded to several letters, and two parts share it.
                    (to, place(usize::from(next) - 1).1.end.max(behind.start))
                }
                None => (word.len(), end),
            };
            let (text, position) = (&word[from..to], self.next_part);
            (self.sink)(Token { text, kind: TokenKind::Part, position, range: first.start..end });
            self.next_part += 1;
        }
        if !parts.starts().is_empty() {
            self.next_part += 1;
        }
    }
}

/// Where the parts of a word begin, as numbers of characters; nothing if it has no humps, or too many.
struct Parts {
    starts: [u8; MOST_PARTS],
    count: usize,
}

impl Parts {
    fn of(cases: impl Iterator<Item = Case>) -> Self {
        let mut parts = Parts { starts: [0; MOST_PARTS], count: 1 };
        let (mut before, mut last) = (Case::Upper, Case::Upper);
        let mut has_lower = false;
        for (index, case) in cases.enumerate() {
            has_lower |= case == Case::Lower;
            let start = match (before, last, case) {
                (_, Case::Lower | Case::None, Case::Upper) => index,
                (Case::Upper, Case::Upper, Case::Lower) if index > 1 => index - 1,
                _ => 0,
            };
            if start > 0 {
                let Some(next) = parts.starts.get_mut(parts.count) else {
                    return Parts { count: 0, ..parts };
                };
                *next = u8::try_from(start).expect("a word with parts has at most LONGEST_WORD characters");
                parts.count += 1;
            }
            (before, last) = (last, case);
        }
        if parts.count == 1 || !has_lower {
            parts.count = 0;
        }
        parts
    }

    fn starts(&self) -> &[u8] {
        &self.starts[..self.count]
    }
}

/// A word that is being read, with characters other than ASCII or with something invisible in it.
#[derive(Default)]
struct Word {
    text: String,
    letters: Vec<Letter>,
    range: Range<usize>,
    is_cut: bool,
}

struct Letter {
    case: Case,
    /// Where it begins in the folded word.
    offset: usize,
    /// The character of the text that it is folded from.
    written: Range<usize>,
}

impl Word {
    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn push(&mut self, character: char, case: Case, range: Range<usize>) {
        if self.text.is_empty() {
            self.range = range.clone();
        }
        self.range.end = range.end;
        self.is_cut |= self.text.len() + character.len_utf8() > LONGEST_WORD;
        if !self.is_cut {
            self.letters.push(Letter { case, offset: self.text.len(), written: range });
            self.text.push(character);
        }
    }

    /// Adds an accent to the range of the word.
    fn extend_to(&mut self, end: usize) {
        if !self.is_empty() {
            self.range.end = end;
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.letters.clear();
        self.is_cut = false;
    }
}

/// The last two characters of a run of unspaced characters; the pairs before them are emitted.
#[derive(Default)]
struct Run {
    before: Option<(char, Range<usize>)>,
    last: Option<(char, Range<usize>)>,
}

impl Run {
    fn push<F: FnMut(Token<'_>)>(&mut self, character: char, range: Range<usize>, out: &mut Output<F>) {
        self.emit_pair(out);
        self.before = self.last.replace((character, range));
    }

    /// Joins a mark or the letter of a syllable with the character before it; returns whether the two are one.
    fn compose(&mut self, character: char, end: usize) -> bool {
        let Some((last, range)) = &mut self.last else { return false };
        let Some(composed) = compose(*last, character) else { return false };
        *last = composed;
        range.end = end;
        true
    }

    fn extend_to(&mut self, end: usize) {
        if let Some((_, range)) = &mut self.last {
            range.end = end;
        }
    }

    fn end<F: FnMut(Token<'_>)>(&mut self, out: &mut Output<F>) {
        self.emit_pair(out);
        self.before = None;
        if let Some((character, range)) = self.last.take() {
            out.token(character.encode_utf8(&mut [0; 4]), TokenKind::Single, range);
        }
    }

    fn emit_pair<F: FnMut(Token<'_>)>(&self, out: &mut Output<F>) {
        let (Some((first, from)), Some((second, to))) = (&self.before, &self.last) else { return };
        let mut pair = [0; 8];
        let length = first.encode_utf8(&mut pair).len();
        let length = length + second.encode_utf8(&mut pair[length..]).len();
        let pair = str::from_utf8(&pair[..length]).expect("two characters are UTF-8");
        out.token(pair, TokenKind::Pair, from.start..to.end);
    }
}

#[cfg(test)]
mod tests;
