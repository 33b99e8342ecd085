//! The masker: a prefilter over all keywords, and the rules behind it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::OnceLock;

use crate::json::JsonForm;
use crate::mark::Mark;
use crate::plain::Plain;
use crate::prefilter::{Hit, Prefilter, Seen};
use crate::rule::{Candidate, Match, Rule};
use crate::rules::{self, RuleError};
use crate::{mark, overlap};

/// How many secrets that were found last may end where another word starts. Rules look few bytes back.
const RECENT: usize = 4;

/// Finds and masks secrets. It is built once and shared by threads; it remembers nothing of the texts it has seen.
#[derive(Debug)]
pub struct Masker {
    pub(crate) rules: Vec<Rule>,
    pub(crate) form: JsonForm,
    /// Is built when it is first needed, when the form is known.
    prefilter: OnceLock<Prefilter>,
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

    /// Sets what the JSON consists of that [`Masker::mask_json`] masks.
    #[must_use]
    pub fn with_form(self, form: JsonForm) -> Self {
        Self { form, prefilter: OnceLock::new(), ..self }
    }

    fn from_rules(rules: Vec<Rule>) -> Self {
        Self { rules, form: JsonForm::default(), prefilter: OnceLock::new() }
    }

    pub(crate) fn prefilter(&self) -> &Prefilter {
        self.prefilter.get_or_init(|| Prefilter::new(&self.rules, &self.form))
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
        self.rules.iter().map(|rule| &*rule.name)
    }

    /// Finds the secrets of a whole text, in order and without overlaps.
    fn secrets(&self, text: &str) -> Vec<Candidate> {
        self.scan(text).0
    }

    /// Finds the secrets of a whole text, in order and without overlaps, and says what else was seen in it.
    pub(crate) fn scan(&self, text: &str) -> (Vec<Candidate>, Seen) {
        let (mut found, seen) = self.candidates(text, |_| false);
        // Both forms count: what a program reads from the text, and what a person sees.
        if let Some(plain) = Plain::of(text, seen.escape) {
            let (hidden, _) = self.candidates(plain.text(), |at| plain.is_behind_sequence(at));
            found.extend(hidden.into_iter().map(|candidate| Candidate {
                matched: plain.written(candidate.matched),
                secret: plain.written(candidate.secret),
                rule: candidate.rule,
            }));
        }
        (overlap::resolve(found), seen)
    }

    /// Finds all that the rules match in a text, in order of their keywords. A word can also start where `starts_word`
    /// says so.
    fn candidates(&self, text: &str, starts_word: impl Fn(usize) -> bool) -> (Vec<Candidate>, Seen) {
        let mut found: Vec<Candidate> = Vec::new();
        // From which offset each rule tries keywords again; allocated with the first match that moves one.
        let mut resume = Vec::new();
        let marks = OnceCell::new();
        let seen = self.prefilter().for_each_hit(text.as_bytes(), |Hit { offset, rule }| {
            if resume.get(rule).is_some_and(|&from| offset < from) {
                return;
            }
            let ends_secret = |at| found.iter().rev().take(RECENT).any(|other| other.secret.end == at);
            let starts_word = |at| starts_word(at) || ends_secret(at);
            let Some(mut attempt) = self.rules[rule].match_keyword(text, offset, starts_word) else { return };
            let marks = || marks.get_or_init(|| mark::marks(text.as_bytes(), &self.rules));
            attempt.accepted = attempt.accepted && !self.is_marked(text, marks(), &attempt, rule);
            let resume_at = self.rules[rule].resume_after(&attempt);
            if resume_at > 0 {
                resume.resize(self.rules.len(), 0);
                resume[rule] = resume_at;
            }
            if attempt.accepted {
                found.push(Candidate { matched: attempt.matched, secret: attempt.secret, rule });
            }
        });
        (found, seen)
    }

    /// Returns whether what a rule found is a mark, or what a more specific rule left readable before its mark.
    pub(crate) fn is_marked(&self, text: &str, marks: &[Mark], found: &Match, rule: usize) -> bool {
        let first = marks.partition_point(|mark| mark.range.end <= found.matched.start);
        let Some(mark) = marks.get(first) else { return false };
        let is_prefix =
            || mark.rule < rule && self.rules[mark.rule].has_keyword(&text.as_bytes()[found.secret.clone()]);
        mark.range.start < found.matched.end || mark.range.start == found.matched.end && is_prefix()
    }
}

#[cfg(test)]
mod tests;
