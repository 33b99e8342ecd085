//! The masker: a prefilter over all keywords, and the rules behind it.

use std::borrow::Cow;
use std::ops::Range;

use crate::prefilter::{Hit, Prefilter};
use crate::rule::{Candidate, Rule};
use crate::rules::{self, RuleError};
use crate::{mark, overlap};

/// Finds and masks secrets. It is built once and shared by threads; it remembers nothing of the texts it has seen.
#[derive(Debug)]
pub struct Masker {
    pub(crate) rules: Vec<Rule>,
    pub(crate) prefilter: Prefilter,
}

/// A text whose secrets are masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked<'t> {
    /// The text; borrowed if nothing was masked.
    pub text: Cow<'t, str>,
    /// How many secrets were masked.
    pub count: usize,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding<'m> {
    /// The bytes that [`Masker::mask`] replaces.
    pub range: Range<usize>,
    /// The name of the rule that found it.
    pub rule: &'m str,
}

impl Default for Masker {
    fn default() -> Self {
        Self::new()
    }
}

impl Masker {
    /// Makes a masker with the built-in rules.
    pub fn new() -> Self {
        Self::from_rules(rules::built_in())
    }

    /// Makes a masker with the built-in rules and those of a TOML file, which has the form of `rules.toml`.
    ///
    /// A rule replaces a built-in rule of the same name.
    ///
    /// ```
    /// use annals_secrets::Masker;
    ///
    /// let masker = Masker::with_rules(r#"
    ///     [[rule]]
    ///     name = "badge"
    ///     keywords = ["BADGE-"]
    ///     pattern = 'BADGE-(?<secret>[0-9]{6})'
    /// "#)?;
    /// assert_eq!(masker.mask("Use BADGE-123456.").text, "Use BADGE-[masked: badge].");
    ///
    /// let error = Masker::with_rules("[[rule]]\nname = 'badge'\nkeywords = ['BADGE-']\npattern = '('").unwrap_err();
    /// assert_eq!(error.line(), 4);
    /// # Ok::<(), annals_secrets::RuleError>(())
    /// ```
    pub fn with_rules(toml: &str) -> Result<Self, RuleError> {
        Ok(Self::from_rules(rules::with_built_in(toml)?))
    }

    fn from_rules(rules: Vec<Rule>) -> Self {
        Self { prefilter: Prefilter::new(&rules), rules }
    }

    /// Masks the secrets of a whole text. Nothing is allocated if there are none.
    pub fn mask<'t>(&self, text: &'t str) -> Masked<'t> {
        let secrets = self.secrets(text);
        if secrets.is_empty() {
            return Masked { text: Cow::Borrowed(text), count: 0 };
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = 0;
        for secret in &secrets {
            out.push_str(&text[rest..secret.secret.start]);
            mark::push(&mut out, &self.rules[secret.rule].name);
            rest = secret.secret.end;
        }
        out.push_str(&text[rest..]);
        Masked { text: Cow::Owned(out), count: secrets.len() }
    }

    /// Finds the secrets of a whole text, in order and without overlaps.
    pub fn find(&self, text: &str) -> impl Iterator<Item = Finding<'_>> {
        let secrets = self.secrets(text).into_iter();
        secrets.map(|found| Finding { range: found.secret, rule: &self.rules[found.rule].name })
    }

    /// Returns the names of the rules, most specific first.
    pub fn rule_names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.name.as_str())
    }

    /// Finds the secrets of a whole text, in order and without overlaps.
    pub(crate) fn secrets(&self, text: &str) -> Vec<Candidate> {
        let mut found = Vec::new();
        // From which offset each rule tries keywords again; allocated with the first match that moves one.
        let mut resume = Vec::new();
        self.prefilter.for_each_hit(text.as_bytes(), |Hit { offset, rule }| {
            if resume.get(rule).is_some_and(|&from| offset < from) {
                return;
            }
            let Some(attempt) = self.rules[rule].match_keyword(text, offset) else { return };
            if attempt.resume() > 0 {
                resume.resize(self.rules.len(), 0);
                resume[rule] = attempt.resume();
            }
            if attempt.accepted {
                found.push(Candidate { matched: attempt.matched, secret: attempt.secret, rule });
            }
        });
        overlap::resolve(found)
    }
}
