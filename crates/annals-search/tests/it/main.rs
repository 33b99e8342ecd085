//! Tests of the crate as a whole, with SQLite's FTS5 as the index.

mod fts;
mod queries;
mod snippets;
mod texts;
mod tokens;
