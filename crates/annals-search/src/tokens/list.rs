//! The tokens of one text, in memory.

use std::ops::Range;

use super::{Token, TokenKind, for_each_token};

/// The tokens of one text, to decide queries on it and to find what they match.
#[derive(Debug, Clone)]
pub struct Tokens<'t> {
    text: &'t str,
    /// The texts of all tokens, one behind the other.
    folded: String,
    words: Vec<Place>,
    parts: Vec<Place>,
}

#[derive(Debug, Clone)]
struct Place {
    folded: Range<usize>,
    kind: TokenKind,
    position: u32,
    range: Range<usize>,
}

/// One of the two columns of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Words, pairs, singles and emoji.
    Words,
    /// Parts of words.
    Parts,
}

impl<'t> Tokens<'t> {
    /// Analyzes a text.
    pub fn of(text: &'t str) -> Self {
        // The tokens of most texts are shorter than the text, and words have about six bytes with the blank behind them.
        let mut tokens = Self {
            text,
            folded: String::with_capacity(text.len()),
            words: Vec::with_capacity(text.len() / 6),
            parts: Vec::new(),
        };
        for_each_token(text, |token| {
            let start = tokens.folded.len();
            tokens.folded.push_str(token.text);
            let folded = start..tokens.folded.len();
            let column = if token.kind == TokenKind::Part { &mut tokens.parts } else { &mut tokens.words };
            column.push(Place { folded, kind: token.kind, position: token.position, range: token.range });
        });
        tokens
    }

    /// Returns the text that was analyzed.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Returns the tokens of a column, in order of their positions.
    pub fn column(&self, column: Column) -> impl ExactSizeIterator<Item = Token<'_>> {
        (0..self.places(column).len()).map(move |index| self.token(column, index))
    }

    /// Returns where a phrase stands in a column: the first and the last token of each occurrence. With `is_prefix` the
    /// last token may go on.
    pub(crate) fn phrase(
        &self,
        column: Column,
        phrase: &[String],
        is_prefix: bool,
    ) -> impl Iterator<Item = (Token<'_>, Token<'_>)> {
        let last = phrase.len().saturating_sub(1);
        let starts = 0..self.places(column).len().saturating_sub(last);
        let has_phrase = move |&start: &usize| {
            let places = &self.places(column)[start..=start + last];
            let mut in_sequence = places.iter().zip(places[0].position..).zip(phrase).enumerate();
            in_sequence.all(|(index, ((place, position), token))| {
                let found = &self.folded[place.folded.clone()];
                let goes_on = is_prefix && index == last && found.starts_with(token.as_str());
                place.position == position && (found == token || goes_on)
            })
        };
        let ends = move |start| (self.token(column, start), self.token(column, start + last));
        starts.filter(move |_| !phrase.is_empty()).filter(has_phrase).map(ends)
    }

    fn places(&self, column: Column) -> &[Place] {
        match column {
            Column::Words => &self.words,
            Column::Parts => &self.parts,
        }
    }

    fn token(&self, column: Column, index: usize) -> Token<'_> {
        let place = &self.places(column)[index];
        Token {
            text: &self.folded[place.folded.clone()],
            kind: place.kind,
            position: place.position,
            range: place.range.clone(),
        }
    }
}
