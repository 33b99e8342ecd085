//! The text half of full-text search: what is indexed, without the index.
//!
//! - [`for_each_token`] turns text into tokens; its module says what a token is and how positions are given.
//! - [`Columns`] writes them so that SQLite's FTS5 stores exactly these tokens with a built-in tokenizer.
//! - [`Tokens`] keeps the tokens of one text in memory.
//!
//! ```
//! use annals_search::{Column, Tokens};
//!
//! let tokens = Tokens::of("Fix the borrow error E0502 in src/main.rs");
//! let words: Vec<_> = tokens.column(Column::Words).map(|token| token.text.to_owned()).collect();
//! assert_eq!(words, ["fix", "the", "borrow", "error", "e0502", "in", "src", "main", "rs"]);
//! ```

mod characters;
mod columns;
mod escape;
mod tokens;

pub use columns::{Columns, TOKENIZER};
pub use tokens::list::{Column, Tokens};
pub use tokens::{LONGEST_WORD, MOST_PARTS, Token, TokenKind, for_each_token};
