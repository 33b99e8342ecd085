//! The mark that replaces a secret: `[masked: rule-name]`.
//!
//! It is plain ASCII without quotes and backslashes, so it is the same inside a JSON string, and it is never taken
//! for a secret itself: masking a masked text changes nothing.

use std::ops::Range;

use memchr::memmem;

use crate::rule::Rule;

pub(crate) const OPEN: &str = "[masked: ";

/// No name of a rule is longer.
pub(crate) const LONGEST_NAME: usize = 64;

/// Appends the mark for a secret that the rule `name` found.
pub(crate) fn push(out: &mut String, name: &str) {
    out.push_str(OPEN);
    out.push_str(name);
    out.push(']');
}

/// A mark in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) range: Range<usize>,
    /// The index of the rule that it names.
    pub(crate) rule: usize,
}

/// Returns the marks of a text, in order. Brackets with something else than the name of a rule are no mark: anybody
/// may have written them around a secret.
pub(crate) fn marks(text: &[u8], rules: &[Rule]) -> Vec<Mark> {
    memmem::find_iter(text, OPEN).filter_map(|start| mark_at(text, start, rules)).collect()
}

fn mark_at(text: &[u8], start: usize, rules: &[Rule]) -> Option<Mark> {
    let name = start + OPEN.len();
    let near = &text[name..text.len().min(name + LONGEST_NAME + 1)];
    let length = memchr::memchr(b']', near)?;
    let rule = rules.iter().position(|rule| rule.name.as_bytes() == &near[..length])?;
    Some(Mark { range: start..name + length + 1, rule })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    #[test]
    fn only_the_name_of_a_rule_makes_a_mark() {
        let rules = rules::built_in();
        let text = "ab [masked: jwt] [masked: [masked: password][masked: sk-0123456789] [masked: jwt";
        let found: Vec<_> =
            marks(text.as_bytes(), &rules).into_iter().map(|mark| &text[mark.range]).collect();
        assert_eq!(found, ["[masked: jwt]", "[masked: password]"]);
    }
}
