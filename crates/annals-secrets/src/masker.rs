//! The masker: a prefilter over all keywords, and the rules that it selects.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem::Finder;

use crate::json::JsonForm;
use crate::mark::Mark;
use crate::markup::{self, Addresses};
use crate::plain::Plain;
use crate::prefilter::{Hit, Prefilter, Signs};
use crate::rule::{Candidate, Form, Match, Rule};
use crate::rules::{self, RuleError};
use crate::strings::Strings;
use crate::{mark, overlap};

/// How many secrets that were found last may end where another word starts. Rules look few bytes back.
const RECENT: usize = 4;

/// Finds and masks secrets. It is built once and shared by threads; it remembers nothing of the texts it has seen.
#[derive(Debug)]
pub struct Masker {
    pub(crate) rules: Vec<Rule>,
    pub(crate) form: JsonForm,
    /// What finds the names of the [`JsonForm::free`] members.
    free_names: Vec<Finder<'static>>,
    /// The rules of the user, as they were given.
    added: Box<str>,
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

impl Finding<'_> {
    /// Returns what [`Masker::mask`] writes in place of the secret.
    pub fn mark(&self) -> String {
        let mut text = String::new();
        mark::push(&mut text, self.rule);
        text
    }
}

impl Default for Masker {
    fn default() -> Self {
        Self::new()
    }
}

impl Masker {
    /// Makes a masker with the built-in rules.
    pub fn new() -> Self {
        Self::from_rules(rules::built_in(), "")
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
        Ok(Self::from_rules(rules::with_built_in(toml)?, toml))
    }

    /// Sets what the JSON consists of that [`Masker::mask_json`] masks.
    #[must_use]
    pub fn with_form(self, form: JsonForm) -> Self {
        Self { free_names: form.free_names(), form, prefilter: OnceLock::new(), ..self }
    }

    fn from_rules(rules: Vec<Rule>, toml: &str) -> Self {
        let form = JsonForm::default();
        Self { rules, form, free_names: Vec::new(), added: toml.into(), prefilter: OnceLock::new() }
    }

    pub(crate) fn prefilter(&self) -> &Prefilter {
        self.prefilter.get_or_init(|| Prefilter::new(&self.rules, &self.form))
    }

    /// Masks the secrets of a whole text. Nothing is allocated if there are none.
    pub fn mask<'t>(&self, text: &'t str) -> Masked<'t> {
        self.masked(text, &self.secrets(text))
    }

    /// Masks the secrets of a text that may have been cut after `longest` characters, or earlier if it ends with `…`: the
    /// beginning of a secret at its end is masked, too.
    ///
    /// ```
    /// use annals_secrets::Masker;
    ///
    /// let masked = Masker::new().mask_cut("Deploy with ghp_Q7fZk2…", 300);
    /// assert_eq!(masked.text, "Deploy with ghp_[masked: github-token]…");
    /// ```
    pub fn mask_cut<'t>(&self, text: &'t str, longest: usize) -> Masked<'t> {
        let mut secrets = self.secrets(text);
        let end = secrets.last().map_or(0, |last| last.secret.end);
        secrets.extend(self.secret_at_cut(text, longest).filter(|cut| cut.secret.start >= end));
        self.masked(text, &secrets)
    }

    fn masked<'t>(&self, text: &'t str, secrets: &[Candidate]) -> Masked<'t> {
        if secrets.is_empty() {
            return Masked { text: Cow::Borrowed(text), count: 0 };
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = 0;
        for secret in secrets {
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

    /// Returns a number that changes with the rules: what was derived from masked text is out of date when it differs.
    pub fn fingerprint(&self) -> u64 {
        rules::fingerprint(&self.added)
    }

    /// Returns the [`fingerprint`](Self::fingerprint) of a masker with the built-in rules alone, without making one.
    ///
    /// ```
    /// # use annals_secrets::Masker;
    /// assert_eq!(Masker::fingerprint_of_built_in(), Masker::new().fingerprint());
    /// ```
    pub fn fingerprint_of_built_in() -> u64 {
        rules::fingerprint("")
    }

    /// Returns whether a mark that replaces a secret may contain this text, ignoring the case of ASCII letters.
    pub fn may_write(&self, text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        let mut mark = String::new();
        self.rule_names().any(|name| {
            mark.clear();
            mark::push(&mut mark, name);
            mark.to_ascii_lowercase().contains(&text)
        })
    }

    /// Returns the names of the rules, most specific first.
    pub fn rule_names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| &*rule.name)
    }

    /// Finds the secrets of a whole text, in order and without overlaps.
    fn secrets(&self, text: &str) -> Vec<Candidate> {
        self.scan(text, Form::Text).0
    }

    /// Finds the secrets of a whole text, in order and without overlaps, and says what else was seen in it.
    ///
    /// A private key without its last line may go on after a token of another rule: how far depends on whether the token is masked
    /// already. So a text with such a key, or with marks, is read again with what was found as marks, until nothing is left: masking a
    /// masked text changes nothing.
    pub(crate) fn scan(&self, text: &str, form: Form) -> (Vec<Candidate>, Signs) {
        let (found, seen) = self.candidates(text, None, form);
        let mut marks = if seen.mark { mark::marks(text.as_bytes(), &self.rules) } else { Vec::new() };
        let found = if marks.is_empty() { found } else { self.candidates_beside(&marks, text, form) };
        let mut secrets = self.resolved(found, text, &marks, &seen, form);
        let may_go_on = !secrets.is_empty() && (!marks.is_empty() || self.may_have_block(text));
        let mut newest = if may_go_on { secrets.clone() } else { Vec::new() };
        for _ in 0..MOST_ROUNDS {
            if newest.is_empty() {
                break;
            }
            marks.extend(newest.iter().map(|new| Mark { range: new.secret.clone(), rule: new.rule }));
            marks.sort_by_key(|mark| mark.range.start);
            let found = self.candidates_beside(&marks, text, form);
            newest = self.resolved(found, text, &marks, &seen, form);
            newest.retain(|new| is_apart(&new.secret, &marks));
            secrets.extend(newest.iter().cloned());
        }
        secrets.sort_by_key(|secret| secret.secret.start);
        (secrets, seen)
    }

    /// Returns whether a text has what the first line of a block begins with.
    fn may_have_block(&self, text: &str) -> bool {
        let blocks = self.rules.iter().filter(|rule| rule.ends.is_some());
        blocks.flat_map(|rule| &rule.keywords).any(|keyword| text.contains(&**keyword))
    }

    fn candidates_beside(&self, marks: &[Mark], text: &str, form: Form) -> Vec<Candidate> {
        self.candidates_as_read(&Plain::with_marks(text, marks), form)
    }

    /// Returns the secrets among what was found in a text as it is written, and in the same text as a person sees it.
    fn resolved(
        &self,
        mut found: Vec<Candidate>,
        text: &str,
        marks: &[Mark],
        seen: &Signs,
        form: Form,
    ) -> Vec<Candidate> {
        // Both forms count: what a program reads from the text, and what a person sees.
        if let Some(plain) = Plain::of(text, seen.escape, marks) {
            found.extend(self.candidates_as_read(&plain, form));
        }
        for line in markup::lines(text, &seen.markup, form) {
            found.extend(self.candidates_in_markup(text, line, marks, form));
        }
        found.retain_mut(|found| self.leave_prefix(text, marks, found));
        overlap::resolve(found)
    }

    /// Finds all that the rules match in a text as it is read.
    fn candidates_as_read(&self, plain: &Plain, form: Form) -> Vec<Candidate> {
        let (mut found, _) = self.candidates(plain.text(), Some(plain), form);
        for candidate in &mut found {
            candidate.matched = plain.written(candidate.matched.clone());
            candidate.secret = plain.written(candidate.secret.clone());
        }
        found
    }

    /// Finds all that the rules match in a line as it is read where it is rendered, and in the addresses of its links.
    fn candidates_in_markup(
        &self,
        text: &str,
        line: Range<usize>,
        marks: &[Mark],
        form: Form,
    ) -> Vec<Candidate> {
        let first = marks.partition_point(|mark| mark.range.start < line.start);
        let marks = marks[first..].iter().take_while(|mark| mark.range.end <= line.end).map(|mark| {
            let range = mark.range.start - line.start..mark.range.end - line.start;
            Mark { range, rule: mark.rule }
        });
        let marks: Vec<_> = marks.collect();
        let line_text = &text[line.clone()];
        let has_link = line_text.contains("](");
        let ways = [Some(Addresses::ReadOver), has_link.then_some(Addresses::Read)];
        let read =
            ways.into_iter().flatten().map(|addresses| markup::read(line_text, form, &marks, addresses));
        let mut found: Vec<_> = read.flat_map(|plain| self.candidates_as_read(&plain, Form::Text)).collect();
        for candidate in &mut found {
            candidate.move_by(line.start);
        }
        found
    }

    /// Finds all that the rules match in a text, in order of their keywords. `plain` is what the text was made by.
    fn candidates(&self, text: &str, plain: Option<&Plain>, form: Form) -> (Vec<Candidate>, Signs) {
        let mut found: Vec<Candidate> = Vec::new();
        // From which offset each rule tries keywords again; allocated with the first match that moves one.
        let mut resume = Vec::new();
        let strings = Strings::of(text);
        let has_free = OnceCell::new();
        let seen = self.prefilter().for_each_hit(text.as_bytes(), |Hit { offset, rule: index }| {
            if resume.get(index).is_some_and(|&from| offset < from) {
                return;
            }
            let rule = &self.rules[index];
            if form == Form::Json
                && !rule.is_open_ended
                && self.form.keeps_member_at(text.as_bytes(), offset)
                && !has_free.get_or_init(|| self.has_free_member(text.as_bytes()))
            {
                return;
            }
            if let Some((end, attempts)) = rule.match_surroundings(text, offset, form) {
                for attempt in &attempts {
                    self.add(&mut found, text, plain, index, attempt);
                }
                resume.resize(self.rules.len(), 0);
                resume[index] = end;
                return;
            }
            let attempt = if form == Form::Json && rule.is_open_ended {
                strings.match_keyword(rule, offset)
            } else {
                rule.match_keyword(text, offset, |at| starts_word_here(at, plain, &found), form)
            };
            let Some(mut attempt) = attempt else { return };
            attempt.accepted = self.add(&mut found, text, plain, index, &attempt);
            let resume_at = rule.resume_after(&attempt);
            if resume_at > 0 {
                resume.resize(self.rules.len(), 0);
                resume[index] = resume_at;
            }
        });
        (found, seen)
    }

    /// Returns whether JSON has a free member anywhere.
    fn has_free_member(&self, json: &[u8]) -> bool {
        self.free_names.iter().any(|name| name.find(json).is_some())
    }

    /// Adds what a rule matched to what was found, if it is a secret. Returns whether it is.
    fn add(
        &self,
        found: &mut Vec<Candidate>,
        text: &str,
        plain: Option<&Plain>,
        index: usize,
        attempt: &Match,
    ) -> bool {
        let parts = plain.map_or_else(Vec::new, |plain| plain.between_marks(attempt.secret.clone()));
        if parts.len() <= 1 {
            if attempt.accepted {
                let Match { matched, secret, .. } = attempt.clone();
                found.push(Candidate { matched, secret, rule: index });
            }
            return attempt.accepted;
        }
        // Marks are left alone, and what stands beside them is masked if it alone is a secret. A value that begins with a mark is
        // known to be one.
        let is_secret = attempt.accepted || parts[0].is_empty();
        let is_accepted =
            |part: &Range<usize>| is_secret && self.rules[index].accepts(&text.as_bytes()[part.clone()]);
        let before = found.len();
        let parts = parts.into_iter().filter(is_accepted);
        found.extend(parts.map(|part| Candidate { matched: part.clone(), secret: part, rule: index }));
        found.len() > before
    }

    /// Takes from a secret what a more specific rule left readable before its mark. Returns whether a secret is left.
    fn leave_prefix(&self, text: &str, marks: &[Mark], found: &mut Candidate) -> bool {
        let mark = marks.binary_search_by_key(&found.secret.end, |mark| mark.range.start);
        let Some(mark) = mark.ok().map(|mark| &marks[mark]).filter(|mark| mark.rule < found.rule) else {
            return true;
        };
        let Some(prefix) = self.start_of_prefix(text, mark) else { return true };
        found.secret.end = prefix.max(found.secret.start);
        !found.secret.is_empty() && self.rules[found.rule].accepts(&text.as_bytes()[found.secret.clone()])
    }
}

/// Returns whether a word starts at an offset where the text does not show it: after a terminal sequence, and after a secret.
fn starts_word_here(at: usize, plain: Option<&Plain>, found: &[Candidate]) -> bool {
    plain.is_some_and(|plain| plain.is_behind_sequence(at))
        || found.iter().rev().take(RECENT).any(|other| other.secret.end == at)
}

/// How often a text is read again with what was found as marks. Texts that need more were made for it.
const MOST_ROUNDS: usize = 8;

/// Returns whether a range touches no byte of a mark.
fn is_apart(range: &Range<usize>, marks: &[Mark]) -> bool {
    let after = marks.partition_point(|mark| mark.range.end <= range.start);
    marks.get(after).is_none_or(|mark| range.end <= mark.range.start)
}

#[cfg(test)]
mod tests;
