//! One thing that a query looks for: a word, an identifier or a phrase.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::tokens::{Column, TokenKind, Tokens, for_each_token};

/// A word, an identifier or a phrase, as tokens that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The tokens in the column of words.
    pub(super) words: Vec<String>,
    /// The tokens as parts of identifiers, which are looked for in both columns: `fooBar` also finds `foo_bar`. None if
    /// only the words count.
    pub(super) parts: Vec<String>,
    /// Whether the last token may go on.
    pub(super) is_prefix: bool,
    /// Whether the term is one word, which may be misspelt.
    is_word: bool,
}

/// How a term is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Without quotes: found also as parts of identifiers.
    Bare,
    /// In quotes: found as these words only.
    Quoted,
}

impl Term {
    /// Makes a term of at most `limit` tokens; `None` if the text has no tokens. Also returns whether the term was cut.
    pub(super) fn new(text: &str, spelling: Spelling, has_star: bool, limit: usize) -> Option<(Self, bool)> {
        let mut words: Vec<(String, TokenKind, Range<usize>)> = Vec::new();
        let mut parts = Vec::new();
        let mut parts_of_word = 0;
        for_each_token(text, |token| {
            if token.kind == TokenKind::Part {
                if parts_of_word == 0 {
                    parts.pop();
                }
                parts_of_word += 1;
            } else {
                parts_of_word = 0;
                words.push((token.text.to_owned(), token.kind, token.range));
            }
            parts.push(token.text.to_owned());
        });
        let is_cut = words.len() > limit;
        words.truncate(limit);
        let (last, last_kind, last_range) = words.last()?.clone();
        // A run may go on behind the query: a last pair says all, and a last character alone is the prefix of a pair.
        let mut is_prefix = has_star && last_kind == TokenKind::Word
            || is_short_hash(&last) && spelling == Spelling::Bare && words.len() == 1;
        if last_kind == TokenKind::Single {
            let is_in_pair = words
                .iter()
                .nth_back(1)
                .is_some_and(|(_, kind, range)| *kind == TokenKind::Pair && range.end == last_range.end);
            if is_in_pair {
                words.pop();
            } else {
                is_prefix = true;
            }
        }
        let is_identifier = words.iter().all(|(_, kind, _)| *kind == TokenKind::Word);
        if is_cut || !is_identifier || spelling == Spelling::Quoted {
            parts.clear();
        }
        let is_word = is_identifier && words.len() == 1 && !has_star && spelling == Spelling::Bare;
        let words = words.into_iter().map(|(text, _, _)| text).collect();
        Some((Term { words, parts, is_prefix: is_prefix && !is_cut, is_word }, is_cut))
    }

    /// Returns how many tokens the term has in the column of words.
    pub(super) fn length(&self) -> usize {
        self.words.len()
    }

    /// Returns the term if it is one word, which may be misspelt.
    pub fn word(&self) -> Option<&str> {
        self.words.first().filter(|_| self.is_word).map(String::as_str)
    }

    /// Returns the tokens that FTS5 looks for: those of the term in the column of words, and those of its parts, if they are others.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        let parts = if self.parts == self.words { &[] } else { &*self.parts };
        self.words.iter().chain(parts).map(String::as_str)
    }

    /// Returns whether the term is one token, of which nothing is left open.
    pub fn is_one_token(&self) -> bool {
        !self.is_prefix && self.tokens().nth(1).is_none()
    }

    /// Returns whether the last token may go on.
    pub fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    /// Returns the phrases of which FTS5 looks for any, each with the columns where it does.
    pub fn phrases(&self) -> Vec<(&[String], &'static [Column])> {
        if self.parts.is_empty() {
            vec![(&self.words, &[Column::Words])]
        } else if self.parts == self.words {
            vec![(&self.words, &[Column::Words, Column::Parts])]
        } else {
            vec![(&self.words, &[Column::Words]), (&self.parts, &[Column::Words, Column::Parts])]
        }
    }

    /// Returns the expression with which FTS5 finds the documents that have the term.
    pub fn fts_match(&self) -> String {
        super::fts::render_term(self)
    }

    /// Returns whether the term occurs.
    pub(super) fn occurs_in(&self, tokens: &Tokens<'_>) -> bool {
        self.occurrences(tokens).next().is_some()
    }

    /// Returns where the term occurs in the text.
    pub(super) fn occurrences<'t>(
        &'t self,
        tokens: &'t Tokens<'_>,
    ) -> impl Iterator<Item = Range<usize>> + 't {
        let parts_as_words = if self.parts == self.words { &[] } else { &*self.parts };
        let phrase = |column, tokens_of_term| tokens.phrase(column, tokens_of_term, self.is_prefix);
        let words = phrase(Column::Words, &self.words).chain(phrase(Column::Words, parts_as_words));
        words.chain(phrase(Column::Parts, &self.parts)).map(|(first, last)| {
            let is_half_of_pair = last.kind == TokenKind::Pair && self.is_prefix;
            let end = if is_half_of_pair {
                last.range.start + first_character(&tokens.text()[last.range])
            } else {
                last.range.end
            };
            first.range.start..end
        })
    }
}

/// Returns whether a word looks like the beginning of a longer hash, such as those that git prints.
fn is_short_hash(word: &str) -> bool {
    let is_hexadecimal = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has = |is_one: fn(&u8) -> bool| word.as_bytes().iter().any(is_one);
    (7..40).contains(&word.len()) && is_hexadecimal && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// Returns how many bytes the first character that a person sees has.
fn first_character(text: &str) -> usize {
    text.graphemes(true).next().map_or(0, str::len)
}
