//! Tokens as SQLite's FTS5 stores them.
//!
//! The table has the columns of [`Columns`] and the tokenizer [`TOKENIZER`]. That tokenizer ends a token at every
//! ASCII character that is no letter or digit, takes every byte above 127 as part of a token, and makes ASCII letters
//! small. Tokens have no ASCII but small letters and digits, so each of them is its own encoding: written with
//! blanks between them, they come out of FTS5 as they went in, one position each. No two tokens are
//! written alike, and the beginning of a token is written as the beginning of its bytes, so `prefix*` works.
//!
//! Nothing is registered on a connection, and any other program with FTS5 can read the table.

use crate::tokens::{TokenKind, for_each_token};

/// The value of the option `tokenize` of the FTS5 table.
pub const TOKENIZER: &str = "ascii";

/// Takes the position that is free between the parts of two words. The analyzer gives no such token.
const GAP: &str = "·";

/// The values of one row of the FTS5 table. They are reused from text to text.
///
/// ```
/// use annals_search::Columns;
///
/// let mut columns = Columns::default();
/// columns.fill("parseQuery in src/main.rs:42 又快又好");
/// assert_eq!(columns.words, "parsequery in src main rs 42 又快 快又 又好 好");
/// assert_eq!(columns.parts, "parse query");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// The tokens of the column `words`.
    pub words: String,
    /// The tokens of the column `parts`.
    pub parts: String,
}

impl Columns {
    /// Replaces the values by those of another text.
    pub fn fill(&mut self, text: &str) {
        self.fill_and_report(text, |_| {});
    }

    /// Replaces the values by those of another text, and calls `on_word` with each of its words: neither pairs of characters
    /// nor parts, singles and emoji are words.
    pub fn fill_and_report(&mut self, text: &str, mut on_word: impl FnMut(&str)) {
        self.words.clear();
        self.parts.clear();
        self.words.reserve(text.len());
        let mut next_part = 0;
        for_each_token(text, |token| {
            if token.kind != TokenKind::Part {
                push(&mut self.words, token.text);
                if token.kind == TokenKind::Word {
                    on_word(token.text);
                }
                return;
            }
            if token.position != next_part {
                push(&mut self.parts, GAP);
            }
            push(&mut self.parts, token.text);
            next_part = token.position + 1;
        });
    }
}

#[inline]
fn push(column: &mut String, token: &str) {
    if !column.is_empty() {
        column.push(' ');
    }
    column.push_str(token);
}
