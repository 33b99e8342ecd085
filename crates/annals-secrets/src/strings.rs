//! The strings of JSON, and how rules of users match in them.
//!
//! A pattern of a user may be `KETTLE-\S+`. In JSON text it would go on after a line end, which is written as `\n`, and after
//! the end of the string. So it is given the string as a program reads it. Only if the keyword is in the name of a
//! member, the pattern is given the JSON text, and what it matched of the member's value is the secret.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;

use crate::json::end_of_string;
use crate::plain::Plain;
use crate::rule::{Form, Match, Rule};

/// The strings of a JSON text. They are looked for when a rule needs them first.
#[derive(Debug)]
pub(crate) struct Strings<'t> {
    json: &'t str,
    all: OnceCell<Vec<Range<usize>>>,
    /// The string in which a keyword was found last, as it is read.
    last: RefCell<Option<(usize, Plain)>>,
}

impl<'t> Strings<'t> {
    pub(crate) fn of(json: &'t str) -> Self {
        Self { json, all: OnceCell::new(), last: RefCell::new(None) }
    }

    /// Tries a rule of a user at a keyword.
    pub(crate) fn match_keyword(&self, rule: &Rule, offset: usize) -> Option<Match> {
        // Text outside of strings is no JSON, or a quotation mark is part of the keyword.
        let Some(string) = self.string_at(offset).or_else(|| self.string_at(offset + 1)) else {
            return self.match_as_written(rule, offset);
        };
        let Some(behind) =
            self.json.as_bytes()[string.end..].strip_prefix(b"\"").map(<[u8]>::trim_ascii_start)
        else {
            return self.match_in(rule, &string, offset);
        };
        let [b':', behind @ ..] = behind else { return self.match_in(rule, &string, offset) };
        let mut found = self.match_as_written(rule, offset)?;
        if found.secret.end <= string.end {
            return Some(found);
        }
        let [b'"', behind @ ..] = behind.trim_ascii_start() else { return None };
        let start = self.json.len() - behind.len();
        let value = start..end_of_string(self.json.as_bytes(), start);
        found.secret = found.secret.start.max(value.start)..found.secret.end.min(value.end);
        found.accepted =
            !found.secret.is_empty() && rule.accepts(&self.json.as_bytes()[found.secret.clone()]);
        (!found.secret.is_empty()).then_some(found)
    }

    fn match_as_written(&self, rule: &Rule, offset: usize) -> Option<Match> {
        rule.match_keyword(self.json, offset, |_| false, Form::Json)
    }

    /// Tries a rule at a keyword in the content of a string.
    fn match_in(&self, rule: &Rule, string: &Range<usize>, offset: usize) -> Option<Match> {
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(start, _)| *start != string.start) {
            *last = Some((string.start, Plain::of_json_string(&self.json[string.clone()])));
        }
        let (start, plain) = last.as_ref()?;
        let found = rule.match_keyword(plain.text(), plain.read(offset - start)?, |_| false, Form::Text)?;
        let [matched, secret] = [found.matched, found.secret].map(|range| {
            let written = plain.written(range);
            start + written.start..start + written.end
        });
        Some(Match { matched, secret, accepted: found.accepted })
    }

    /// Returns the content of the string that an offset is in.
    fn string_at(&self, offset: usize) -> Option<Range<usize>> {
        let all = self.all.get_or_init(|| strings(self.json.as_bytes()));
        let after = all.partition_point(|string| string.start <= offset);
        all[..after].last().filter(|string| offset < string.end).cloned()
    }
}

/// Returns the contents of all strings of a JSON text, in order.
fn strings(json: &[u8]) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(quote) = memchr::memchr(b'"', &json[at..]) {
        let start = at + quote + 1;
        let end = end_of_string(json, start);
        all.push(start..end);
        at = (end + 1).min(json.len());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_in_whole_and_broken_json() {
        let found = |json: &'static str| {
            strings(json.as_bytes()).into_iter().map(|range| &json[range]).collect::<Vec<_>>()
        };
        assert_eq!(found(r#"{"a":["b\"c","\\"],"":1}"#), ["a", r#"b\"c"#, r"\\", ""]);
        assert_eq!(found(r#"{"a":"b"#), ["a", "b"]);
        assert_eq!(found("\"\\"), ["\\"]);
        assert!(found("{}").is_empty());
    }
}
