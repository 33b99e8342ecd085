//! From the text of a query to its tree.

use super::filter::{self, Condition, Filter};
use super::term::{Spelling, Term};
use super::{Expression, MOST_FILTERS, MOST_TERMS, MOST_TOKENS, Notice, Query, QueryError};

/// Deeper parentheses are text. FTS5 limits the depth of expressions.
const DEEPEST: usize = 8;

/// The limit of notices about one query; a query of 100 kB could cause thousands.
const MOST_NOTICES: usize = 16;

/// What closes a phrase, and opens one. Some keyboards write quotes that differ from each other.
const QUOTES: [char; 4] = ['"', '“', '”', '„'];

pub(super) fn parse(text: &str) -> Result<Query, QueryError> {
    if text.trim().is_empty() {
        return Err(QueryError::Empty);
    }
    let mut parser = Parser {
        rest: text,
        filters: Vec::new(),
        notices: Vec::new(),
        terms: 0,
        tokens: 0,
        ignored_terms: 0,
        ignored_filters: 0,
    };
    let expression = parser.alternatives(0)?;
    if parser.ignored_terms > 0 {
        parser.notices.push(Notice::TooLong { ignored: parser.ignored_terms });
    }
    if parser.ignored_filters > 0 {
        parser.notices.push(Notice::TooManyFilters { ignored: parser.ignored_filters });
    }
    if expression.is_none() && parser.filters.is_empty() {
        return Err(QueryError::NoWords);
    }
    Ok(Query { expression, filters: parser.filters, notices: parser.notices })
}

struct Parser<'q> {
    /// What is not read yet.
    rest: &'q str,
    filters: Vec<Filter>,
    notices: Vec<Notice>,
    terms: usize,
    tokens: usize,
    ignored_terms: usize,
    ignored_filters: usize,
}

/// What stands next in a query.
enum Item {
    Term(Expression),
    Or,
    Open,
    Close,
    /// A filter, or something that is ignored.
    Other,
    End,
}

impl<'q> Parser<'q> {
    /// Reads alternatives up to the end of the group that has `depth` parentheses around it.
    fn alternatives(&mut self, depth: usize) -> Result<Option<Expression>, QueryError> {
        let mut alternatives = Vec::new();
        let mut all = Vec::new();
        let (first_filter, mut filters) = (self.filters.len(), self.filters.len());
        let mut has_or = false;
        loop {
            let item = self.item(depth)?;
            match item {
                Item::Term(term) => all.push(term),
                Item::Open => all.extend(self.alternatives(depth + 1)?),
                Item::Other => {}
                Item::Or | Item::Close | Item::End => {
                    let is_or = matches!(item, Item::Or);
                    if all.is_empty() && filters == self.filters.len() && (is_or || has_or) {
                        self.notice(Notice::Ignored("OR".to_owned()));
                    }
                    filters = self.filters.len();
                    has_or |= is_or;
                    alternatives.extend(joined(std::mem::take(&mut all), Expression::All));
                    if is_or {
                        continue;
                    }
                    if matches!(item, Item::End) && depth > 0 {
                        self.notice(Notice::Unclosed('('));
                    }
                    break;
                }
            }
        }
        if has_or && !alternatives.is_empty() && self.filters.len() > first_filter {
            self.notice(Notice::FilterForAll);
        }
        Ok(joined(alternatives, Expression::Any))
    }

    fn item(&mut self, depth: usize) -> Result<Item, QueryError> {
        self.rest = self.rest.trim_start();
        if self.rest.is_empty() {
            return Ok(Item::End);
        }
        if depth < DEEPEST && self.skip('(') {
            return Ok(Item::Open);
        }
        if depth > 0 && self.skip(')') {
            return Ok(Item::Close);
        }
        let is_negated = self.skip_negation();
        if self.rest.starts_with(QUOTES) {
            let phrase = self.quoted();
            let has_star = self.skip('*');
            return Ok(self.term(phrase, Spelling::Quoted, has_star, is_negated));
        }
        if let Some(name) = filter::name_of(self.rest) {
            let start = self.rest;
            self.rest = &self.rest[name.len() + 1..];
            let value = if self.rest.starts_with(QUOTES) { self.quoted() } else { self.word(depth) };
            if !value.trim().is_empty() {
                let condition = Condition::parse(name, value).map_err(QueryError::Filter)?;
                if self.filters.len() < MOST_FILTERS {
                    self.filters.push(Filter { condition, is_negated });
                } else {
                    self.ignored_filters += 1;
                }
                return Ok(Item::Other);
            }
            self.notice(Notice::EmptyFilter(name));
            self.rest = &start[name.len() + 1..];
            return Ok(self.term(name, Spelling::Bare, false, is_negated));
        }
        let word = self.word(depth);
        match word {
            "OR" if !is_negated => return Ok(Item::Or),
            // All terms are required anyway.
            "AND" if !is_negated => return Ok(Item::Other),
            _ => {}
        }
        if let Some((name, close)) = filter::misspelt(word) {
            self.notice(Notice::UnknownFilter { name: name.to_owned(), close });
        }
        Ok(self.term(word, Spelling::Bare, word.ends_with('*'), is_negated))
    }

    /// Reads a `-` that negates what stands behind it: a letter, a digit or a quote.
    fn skip_negation(&mut self) -> bool {
        let Some(behind) = self.rest.strip_prefix('-') else { return false };
        let is_negation = behind.starts_with(|next: char| next.is_alphanumeric() || QUOTES.contains(&next));
        if is_negation {
            self.rest = behind;
        }
        is_negation
    }

    fn skip(&mut self, character: char) -> bool {
        let behind = self.rest.strip_prefix(character);
        self.rest = behind.unwrap_or(self.rest);
        behind.is_some()
    }

    /// Reads a phrase from its first quote on.
    fn quoted(&mut self) -> &'q str {
        let mut characters = self.rest.chars();
        characters.next();
        let inside = characters.as_str();
        if let Some(end) = inside.find(QUOTES) {
            let quote = inside[end..].chars().next().map_or(0, char::len_utf8);
            self.rest = &inside[end + quote..];
            return &inside[..end];
        }
        self.notice(Notice::Unclosed('"'));
        self.rest = "";
        inside
    }

    /// Reads up to a blank, a quote, or the parenthesis that closes a group; one that the word itself opens does not.
    fn word(&mut self, depth: usize) -> &'q str {
        let mut open = 0_usize;
        let ends_word = |character: char| {
            match character {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' => return depth > 0,
                _ => {}
            }
            character.is_whitespace() || QUOTES.contains(&character)
        };
        let (word, rest) = self.rest.split_at(self.rest.find(ends_word).unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    /// Makes a term, unless it has no tokens or the query has too many already.
    fn term(&mut self, text: &str, spelling: Spelling, has_star: bool, is_negated: bool) -> Item {
        if self.terms == MOST_TERMS || self.tokens == MOST_TOKENS {
            self.ignored_terms += 1;
            return Item::Other;
        }
        let Some((term, is_cut)) = Term::new(text, spelling, has_star, MOST_TOKENS - self.tokens) else {
            self.notice(Notice::Ignored(text.chars().take(60).collect()));
            return Item::Other;
        };
        self.terms += 1;
        self.tokens += term.length();
        if is_cut {
            self.ignored_terms += 1;
            // Less of a phrase matches more, so less of an excluded one would exclude too much.
            if is_negated {
                return Item::Other;
            }
        }
        let term = Expression::Term(term);
        Item::Term(if is_negated { Expression::Not(Box::new(term)) } else { term })
    }

    fn notice(&mut self, notice: Notice) {
        if self.notices.len() < MOST_NOTICES && !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }
}

/// Joins expressions, unless there are less than two.
fn joined(mut expressions: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Option<Expression> {
    if expressions.len() > 1 { Some(join(expressions)) } else { expressions.pop() }
}
