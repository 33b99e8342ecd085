//! The text half of full-text search: everything but the index.
//!
//! - [`tokens`]: [`for_each_token`] turns text into tokens, each with its position and its place.
//! - [`columns`]: [`Columns`] writes them so that SQLite's FTS5 stores exactly these tokens with a built-in tokenizer.
//! - [`query`]: [`Query::parse`] reads what a person types; [`Query::fts_match`] asks FTS5 for it, and [`Query::matches`] decides the same
//!   in memory. [`When`] reads the times of filters.
//! - [`Snippet`] is the line of a text that shows why it was found.
//! - [`rank`]: [`score`] says how well a document matches, and [`Ranked`] in which order documents are shown.
//! - [`corrections`] finds the words that a misspelt one may be meant for.
//!
//! ```
//! use annals_search::{Query, Tokens};
//!
//! let tokens = Tokens::of("Fix the borrow error E0502 in src/main.rs");
//! let query = Query::parse("e0502 main.rs -panic").unwrap();
//! assert!(query.matches(&tokens));
//! ```

mod characters;
pub mod columns;
mod date;
mod escape;
mod part;
pub mod query;
pub mod rank;
mod snippet;
pub mod tokens;
mod typo;

pub use columns::{Columns, TOKENIZER};
pub use date::{DateError, When};
pub use part::Part;
pub use query::{
    Condition, Expression, Filter, FilterError, FtsMatch, MOST_FILTERS, MOST_TERMS, MOST_TOKENS, Match,
    Notice, Query, QueryError, Role, Term,
};
pub use rank::{Collection, Found, Ranked, TermCount, score};
pub use snippet::Snippet;
pub use tokens::{Column, LONGEST_WORD, MOST_PARTS, Token, TokenKind, Tokens, for_each_token};
pub use typo::{Correction, corrections};
