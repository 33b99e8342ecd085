//! Queries: what a person types, as a tree.
//!
//! | written | found |
//! |---|---|
//! | `borrow checker` | texts with both words, anywhere |
//! | `"borrow checker"` | texts with exactly these words side by side |
//! | `foo_bar`, `src/main.rs:42`, `--dry-run` | texts with the words of it side by side, whatever separates them |
//! | `user`, `userName` | also parts of identifiers: `user` is in `getUserName`, `userName` is `user_name`; not in quotes |
//! | `conf*` | words with this prefix; `"foo ba"*` works as well |
//! | `e1e4ee0` | a short hash is found in the longer one |
//! | `-word`, `-"a phrase"` | texts without it; `-` negates only directly before a letter, a digit or a quote |
//! | `a b OR c` | texts with both `a` and `b`, and texts with `c` |
//! | `(a OR b) c` | a parenthesis at the start of a word groups; `AND` says what holds anyway |
//! | `tool:Bash`, `-role:user` | see [`Filter`]; `name:` is text unless the name is known |
//!
//! Case and accents do not matter, and punctuation only separates. Nothing that is typed makes parsing
//! fail, except for a query without words and filters, and a filter with a value that it does not take. What is guessed or ignored is
//! a [`Notice`].

use std::fmt;
use std::ops::Range;

mod filter;
mod fts;
mod parser;
mod term;

pub use filter::{Condition, Filter, FilterError, Role};
pub use fts::FtsMatch;
pub use term::Term;

use crate::tokens::Tokens;

/// A query has at most so many terms; more are ignored, with a notice.
pub const MOST_TERMS: usize = 64;

/// A query has at most so many filters; more are ignored, with a notice.
pub const MOST_FILTERS: usize = 64;

/// The terms of a query have at most so many tokens; more are ignored, with a notice.
pub const MOST_TOKENS: usize = 256;

/// A parsed query.
///
/// ```
/// use annals_search::{FtsMatch, Query, Tokens};
///
/// let query = Query::parse("getUser \"borrow checker\" -panic role:assistant").unwrap();
/// assert_eq!(
///     query.fts_match(),
///     FtsMatch::Rows(
///         "(((words : \"getuser\" OR \"get user\") AND words : \"borrow checker\") \
///          NOT \"panic\")".to_owned()
///     )
/// );
/// assert!(query.matches(&Tokens::of("The borrow checker rejects getUserName.")));
/// assert_eq!(query.filters().len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    expression: Option<Expression>,
    filters: Vec<Filter>,
    notices: Vec<Notice>,
}

/// The text of a query, as a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// A term occurs.
    Term(Term),
    /// All of them match; there are at least two.
    All(Vec<Expression>),
    /// At least one of them matches; there are at least two.
    Any(Vec<Expression>),
    /// It does not match.
    Not(Box<Expression>),
}

/// Why a text is no query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// There is nothing but blanks.
    #[error("the query is empty")]
    Empty,
    /// There is neither a word nor a filter.
    #[error("the query has no words: punctuation is not searched")]
    NoWords,
    /// A filter has a value that it does not take.
    #[error(transparent)]
    Filter(FilterError),
}

/// What was guessed or ignored when a query was parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A quote or a parenthesis is not closed; it reaches to the end.
    Unclosed(char),
    /// This has no words, or is an `OR` without something on both sides.
    Ignored(String),
    /// The query has too many words; so many terms at its end are ignored or cut.
    TooLong {
        /// How many terms.
        ignored: usize,
    },
    /// The query has too many filters; so many at its end are ignored.
    TooManyFilters {
        /// How many filters.
        ignored: usize,
    },
    /// This looks like a filter, but is searched as text.
    UnknownFilter {
        /// The name as it is written.
        name: String,
        /// The filter that may be meant.
        close: &'static str,
    },
    /// The filter has no value, and its name is searched as text.
    EmptyFilter(&'static str),
    /// There are filters beside an `OR`; they hold for the whole query.
    FilterForAll,
}

/// Where a term of a query occurs in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The bytes of the text.
    pub range: Range<usize>,
    /// The number of the term in [`Query::terms`].
    pub term: usize,
}

impl Query {
    /// Parses a query.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        parser::parse(text)
    }

    /// Returns a query that has only filters.
    pub fn of_filters(filters: Vec<Filter>) -> Self {
        Self { expression: None, filters, notices: Vec::new() }
    }

    /// Adds a filter, as if it stood in the query.
    pub fn add_filter(&mut self, condition: Condition) {
        self.filters.push(Filter { condition, is_negated: false });
    }

    /// Returns the text of the query; `None` if it has only filters.
    pub fn expression(&self) -> Option<&Expression> {
        self.expression.as_ref()
    }

    /// Returns the filters, in the order in which they are written.
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// Returns what was guessed or ignored.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Returns the terms that are looked for, without those that are excluded.
    pub fn terms(&self) -> Vec<&Term> {
        let mut terms = Vec::new();
        if let Some(expression) = &self.expression {
            expression.collect_terms(&mut terms);
        }
        terms
    }

    /// Returns what FTS5 is asked, for a table as [`crate::Columns`] describes it. It finds the rows that
    /// [`matches`](Self::matches) accepts.
    pub fn fts_match(&self) -> FtsMatch {
        self.expression.as_ref().map_or(FtsMatch::Everything, fts::render)
    }

    /// Returns whether the text of the query matches a text. Filters are not considered.
    pub fn matches(&self, tokens: &Tokens<'_>) -> bool {
        self.expression.as_ref().is_none_or(|expression| expression.matches(tokens))
    }

    /// Returns where the terms occur in a text, in order.
    ///
    /// ```
    /// use annals_search::{Query, Tokens};
    ///
    /// let text = "数据库: getUser";
    /// let found = Query::parse("user 据").unwrap().find(&Tokens::of(text));
    /// let found: Vec<_> = found.into_iter().map(|found| (&text[found.range], found.term)).collect();
    /// assert_eq!(found, [("据", 1), ("User", 0)]);
    /// ```
    pub fn find(&self, tokens: &Tokens<'_>) -> Vec<Match> {
        let terms = self.terms().into_iter().enumerate();
        let mut found: Vec<_> = terms
            .flat_map(|(term, it)| it.occurrences(tokens).map(move |range| Match { range, term }))
            .collect();
        found.sort_by_key(|found| (found.range.start, found.range.end, found.term));
        found
    }
}

impl Expression {
    fn matches(&self, tokens: &Tokens<'_>) -> bool {
        match self {
            Expression::Term(term) => term.occurs_in(tokens),
            Expression::All(all) => all.iter().all(|one| one.matches(tokens)),
            Expression::Any(any) => any.iter().any(|one| one.matches(tokens)),
            Expression::Not(inner) => !inner.matches(tokens),
        }
    }

    fn collect_terms<'e>(&'e self, terms: &mut Vec<&'e Term>) {
        match self {
            Expression::Term(term) => terms.push(term),
            Expression::All(several) | Expression::Any(several) => {
                for one in several {
                    one.collect_terms(terms);
                }
            }
            Expression::Not(_) => {}
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Unclosed(mark) => write!(formatter, "`{mark}` is not closed; it reaches to the end"),
            Notice::Ignored(text) => write!(formatter, "`{text}` is ignored"),
            Notice::TooLong { ignored } => {
                write!(formatter, "the query is too long; {ignored} terms are ignored or cut")
            }
            Notice::TooManyFilters { ignored } => write!(
                formatter,
                "the query has more than {MOST_FILTERS} filters; the last {ignored} are ignored"
            ),
            Notice::UnknownFilter { name, close } => {
                write!(formatter, "`{name}:` is searched as text; the filter is `{close}:`")
            }
            Notice::EmptyFilter(name) => {
                write!(
                    formatter,
                    "`{name}:` has no value and is searched as text; write it without a blank: `{name}:VALUE`"
                )
            }
            Notice::FilterForAll => formatter.write_str("filters hold for the whole query, also beside OR"),
        }
    }
}

#[cfg(test)]
mod tests;
