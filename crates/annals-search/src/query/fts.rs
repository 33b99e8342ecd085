//! Queries as expressions of FTS5.

use super::{Expression, Term};
use crate::tokens::Column;

/// What FTS5 is asked to find the documents that a query matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FtsMatch {
    /// The query has no text: its filters decide alone.
    Everything,
    /// The rows that the expression matches.
    Rows(String),
    /// All rows but those that the expression matches. FTS5 cannot say that alone: `rowid NOT IN (SELECT …)`.
    AllRowsBut(String),
}

/// Renders an expression for the columns `words` and `parts`.
///
/// FTS5 knows `a NOT b`, but not `NOT b`. An expression is therefore rendered as the rows that it matches, or as those
/// that it does not match, by De Morgan's laws.
pub(super) fn render(expression: &Expression) -> FtsMatch {
    match expression {
        Expression::Term(term) => FtsMatch::Rows(render_term(term)),
        Expression::Not(inner) => complement(render(inner)),
        Expression::All(all) => conjunction(all.iter().map(render)),
        // `a OR b` is all but what neither matches.
        Expression::Any(any) => complement(conjunction(any.iter().map(render).map(complement))),
    }
}

fn complement(rendered: FtsMatch) -> FtsMatch {
    match rendered {
        // Only an empty query matches everything, and it is not rendered.
        FtsMatch::Everything => FtsMatch::Everything,
        FtsMatch::Rows(rows) => FtsMatch::AllRowsBut(rows),
        FtsMatch::AllRowsBut(rows) => FtsMatch::Rows(rows),
    }
}

fn conjunction(all: impl Iterator<Item = FtsMatch>) -> FtsMatch {
    let (mut rows, mut excluded) = (Vec::new(), Vec::new());
    for rendered in all {
        match rendered {
            FtsMatch::Everything => {}
            FtsMatch::Rows(one) => rows.push(one),
            FtsMatch::AllRowsBut(one) => excluded.push(one),
        }
    }
    match (rows.is_empty(), excluded.is_empty()) {
        (true, true) => FtsMatch::Everything,
        (true, false) => FtsMatch::AllRowsBut(joined(&excluded, " OR ")),
        (false, true) => FtsMatch::Rows(joined(&rows, " AND ")),
        (false, false) => {
            FtsMatch::Rows(format!("({} NOT {})", joined(&rows, " AND "), joined(&excluded, " OR ")))
        }
    }
}

fn joined(expressions: &[String], operator: &str) -> String {
    match expressions {
        [one] => one.clone(),
        several => format!("({})", several.join(operator)),
    }
}

pub(super) fn render_term(term: &Term) -> String {
    let star = if term.is_prefix { " *" } else { "" };
    let mut phrases = Vec::new();
    for (tokens, columns) in term.phrases() {
        // A phrase without a column is looked for in all of them, which are these two. FTS5 then skips the positions of a document
        // in which a word alone is looked for.
        let column = if *columns == [Column::Words] { "words : " } else { "" };
        // Tokens have no quotes and no blanks, so nothing is escaped.
        phrases.push(format!("{column}\"{}\"{star}", tokens.join(" ")));
    }
    joined(&phrases, " OR ")
}
