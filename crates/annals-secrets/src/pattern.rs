//! Regular expressions whose parts are put in and which are compiled when they are first needed.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use regex::bytes::{Regex, RegexBuilder};

/// A text that is a constant or was read from a file.
pub(crate) type Text = Cow<'static, str>;

/// How deep parts of patterns can use each other; a part that uses itself stops here.
const DEEPEST_PART: usize = 4;

/// A regular expression over bytes: classes and case are ASCII.
///
/// Most texts need few of the rules. Compiling all of them would cost more than showing a short session.
#[derive(Debug)]
pub(crate) struct Pattern {
    alternatives: Vec<Text>,
    anchor: Anchor,
    ignore_case: bool,
    parts: Arc<Parts>,
    compiled: OnceLock<Regex>,
}

/// Where a pattern can match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// At the beginning of what it is given.
    Start,
    /// Anywhere.
    Anywhere,
}

/// Parts of patterns with their names. Of several parts with the same name, the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Parts(pub(crate) Vec<(Text, Text)>);

impl Pattern {
    /// Makes a pattern that matches where one of the alternatives does. Each `{name}` of a part stands for the part.
    pub(crate) fn new(
        alternatives: Vec<Text>,
        anchor: Anchor,
        ignore_case: bool,
        parts: &Arc<Parts>,
    ) -> Self {
        Self { alternatives, anchor, ignore_case, parts: Arc::clone(parts), compiled: OnceLock::new() }
    }

    /// Returns the compiled expression. Call [`Pattern::check`] first if the source is a user's.
    pub(crate) fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            self.compile()
                .expect("built-in patterns are checked by a test, those of users when they are read")
        })
    }

    /// Compiles the expression now, and says what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), regex::Error> {
        let compiled = self.compile()?;
        let _ = self.compiled.set(compiled);
        Ok(())
    }

    fn compile(&self) -> Result<Regex, regex::Error> {
        RegexBuilder::new(&self.source()).unicode(false).case_insensitive(self.ignore_case).build()
    }

    fn source(&self) -> String {
        let expanded = self.alternatives.iter().map(|pattern| self.parts.expand(pattern, DEEPEST_PART));
        let source = expanded.collect::<Vec<_>>().join("|");
        match self.anchor {
            Anchor::Start => format!("^(?:{source})"),
            Anchor::Anywhere => format!("(?:{source})"),
        }
    }
}

impl Parts {
    /// Replaces each `{name}` of a part by the part. Parts may use other parts, `depth` levels deep.
    fn expand(&self, pattern: &str, depth: usize) -> String {
        let mut expanded = String::with_capacity(pattern.len());
        let mut rest = pattern;
        while let Some((before, after)) = rest.split_once('{') {
            expanded.push_str(before);
            let part = after.split_once('}').and_then(|(name, after)| Some((self.get(name)?, after)));
            if let Some((part, after)) = part.filter(|_| depth > 0) {
                expanded.push_str("(?:");
                expanded.push_str(&self.expand(part, depth - 1));
                expanded.push(')');
                rest = after;
            } else {
                expanded.push('{');
                rest = after;
            }
        }
        expanded.push_str(rest);
        expanded
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(other, _)| other == name).map(|(_, part)| &**part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_put_in_and_counts_stay() {
        let parts = [("a", "x"), ("a", "x|{b}"), ("b", "y{2}"), ("self", "{self}")];
        let parts = Parts(parts.map(|(name, part)| (name.into(), part.into())).to_vec());
        assert_eq!(parts.expand("{a}{3,}{c}", DEEPEST_PART), "(?:x|(?:y{2})){3,}{c}");
        assert!(parts.expand("{self}", DEEPEST_PART).contains("{self}"));
    }
}
