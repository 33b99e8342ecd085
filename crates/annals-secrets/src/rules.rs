//! Rules as people write them, in TOML, and what can be wrong with them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::{fmt, iter};

use serde::Deserialize;
use toml::Spanned;

use crate::mark;
use crate::pattern::Pattern;
use crate::prefilter::SHORTEST_KEYWORD;
use crate::rule::{Patterns, Rule};

const BUILT_IN: &str = include_str!("../rules.toml");

/// How far a match can reach from its start unless the rule says otherwise.
const DEFAULT_REACH: usize = 512;

/// How deep parts of patterns can use each other; a part that uses itself stops here.
const DEEPEST_PART: usize = 4;

/// What is wrong with rules that a user wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    line: usize,
    reason: String,
}

impl RuleError {
    /// Returns the number of the line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns what is wrong, in one line.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    fn new(toml: &str, span: Range<usize>, reason: impl Into<String>) -> Self {
        let before = &toml[..span.start.min(toml.len())];
        Self { line: before.matches('\n').count() + 1, reason: reason.into() }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for RuleError {}

/// Returns a number that changes with the built-in rules, with the rules of `toml`, and with the version of this crate.
pub(crate) fn fingerprint(toml: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), BUILT_IN, toml).hash(&mut hasher);
    hasher.finish()
}

/// Returns the built-in rules.
pub(crate) fn built_in() -> Vec<Rule> {
    let file = parse_built_in();
    let allow = Arc::new(any_of(&file.allow, &file.parts));
    file.rules.iter().map(|rule| rule.build(&file.parts, &allow, Author::Annals)).collect()
}

/// Returns the rules of `toml`, then the built-in rules that they do not replace.
pub(crate) fn with_built_in(toml: &str) -> Result<Vec<Rule>, RuleError> {
    let RuleFile { mut parts, mut allow, rules } = parse_built_in();
    let added = parse(toml)?;
    parts.extend(added.parts);
    check_allow(toml, &added.allow, &parts)?;
    allow.extend(added.allow);
    let allow = Arc::new(any_of(&allow, &parts));
    for rule in &added.rules {
        rule.check(toml, &parts)?;
    }
    let is_replaced = |rule: &&RuleSource| added.rules.iter().any(|added| added.name == rule.name);
    let kept = rules.iter().filter(|rule| !is_replaced(rule));
    let added = added.rules.iter().map(|rule| rule.build(&parts, &allow, Author::User));
    Ok(added.chain(kept.map(|rule| rule.build(&parts, &allow, Author::Annals))).collect())
}

/// Who wrote a rule. Rules of annals say in `before` how much of a match precedes the keyword. A rule of a user that does not
/// say it must not silently match nothing, so its line is searched.
#[derive(Clone, Copy, PartialEq)]
enum Author {
    Annals,
    User,
}

/// Parts of patterns, by name.
type Parts = BTreeMap<String, String>;

/// A file of rules; the comment at its beginning says what the fields mean.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default)]
    parts: Parts,
    #[serde(default)]
    allow: Vec<Spanned<String>>,
    #[serde(default, rename = "rule")]
    rules: Vec<RuleSource>,
}

/// A rule as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleSource {
    name: Spanned<String>,
    keywords: Spanned<Vec<String>>,
    pattern: Spanned<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    inside_word: bool,
    before: Option<(usize, usize)>,
    #[serde(default = "default_reach")]
    reach: usize,
    #[serde(default)]
    min_length: usize,
    #[serde(default)]
    min_entropy: f64,
    #[serde(default)]
    allow: Vec<Spanned<String>>,
    #[serde(default)]
    allow_named: Vec<Spanned<String>>,
}

fn default_reach() -> usize {
    DEFAULT_REACH
}

fn parse_built_in() -> RuleFile {
    parse(BUILT_IN).expect("the masker's tests read rules.toml")
}

fn parse(toml: &str) -> Result<RuleFile, RuleError> {
    toml::from_str(toml)
        .map_err(|error| RuleError::new(toml, error.span().unwrap_or_default(), last_line(error.message())))
}

impl RuleSource {
    /// Checks what the types do not say.
    fn check(&self, toml: &str, parts: &Parts) -> Result<(), RuleError> {
        let name = self.name.get_ref();
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || name.len() > mark::LONGEST_NAME || !name.bytes().all(is_plain) {
            let reason = format!("a name has 1 to {} of the characters a-z, 0-9 and -", mark::LONGEST_NAME);
            return Err(RuleError::new(toml, self.name.span(), reason));
        }
        let keywords = self.keywords.get_ref();
        if keywords.is_empty() || keywords.iter().any(|keyword| keyword.len() < SHORTEST_KEYWORD) {
            let reason =
                format!("a rule has at least one keyword, and each at least {SHORTEST_KEYWORD} bytes");
            return Err(RuleError::new(toml, self.keywords.span(), reason));
        }
        check_pattern(toml, self.pattern.span(), &self.pattern_at_start(self.pattern.get_ref(), parts))?;
        check_allow(toml, &self.allow, parts)?;
        check_allow(toml, &self.allow_named, parts)
    }

    fn build(&self, parts: &Parts, shared_allow: &Arc<Pattern>, author: Author) -> Rule {
        let pattern = self.pattern.get_ref();
        let own_allow = (!self.allow.is_empty()).then(|| Arc::new(any_of(&self.allow, parts)));
        Rule {
            name: self.name.get_ref().clone(),
            keywords: self.keywords.get_ref().clone(),
            patterns: self.patterns(pattern, parts, author),
            cut_patterns: without_word_end(pattern).map(|open| self.patterns(open, parts, author)),
            ignore_case: self.ignore_case,
            inside_word: self.inside_word,
            before: self.before.unwrap_or_default(),
            reach: self.reach,
            min_length: self.min_length.max(1),
            min_entropy: self.min_entropy,
            allow_named: (!self.allow_named.is_empty()).then(|| any_of(&self.allow_named, parts)),
            allow: iter::once(Arc::clone(shared_allow)).chain(own_allow).collect(),
        }
    }

    fn patterns(&self, pattern: &str, parts: &Parts, author: Author) -> Patterns {
        let is_searched = author == Author::User && self.before.is_none();
        let around = is_searched.then(|| Pattern::new(expanded(pattern, parts), self.ignore_case));
        Patterns { at_start: self.pattern_at_start(pattern, parts), around }
    }

    /// Returns a pattern that is tied to the beginning of what it is given.
    fn pattern_at_start(&self, pattern: &str, parts: &Parts) -> Pattern {
        Pattern::new(format!("^{}", expanded(pattern, parts)), self.ignore_case)
    }
}

/// Returns a pattern with its parts, as one group.
fn expanded(pattern: &str, parts: &Parts) -> String {
    format!("(?:{})", expand(pattern, parts, DEEPEST_PART))
}

/// Returns the pattern for texts that are cut, if it is another one: a token of a fixed length need not end there.
fn without_word_end(pattern: &str) -> Option<&str> {
    pattern.strip_suffix(r"\b").filter(|open| !open.ends_with('\\'))
}

/// Returns a pattern that matches where any of `allow` does, without regard to case.
fn any_of(allow: &[Spanned<String>], parts: &Parts) -> Pattern {
    let allow = allow.iter().map(|allow| expand(allow.get_ref(), parts, DEEPEST_PART));
    Pattern::new(allow.collect::<Vec<_>>().join("|"), true)
}

/// Replaces each `{name}` of a part by the part. Parts may use other parts, `depth` levels deep.
fn expand(pattern: &str, parts: &Parts, depth: usize) -> String {
    let mut expanded = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        expanded.push_str(before);
        let part = after.split_once('}').and_then(|(name, after)| Some((parts.get(name)?, after)));
        if let Some((part, after)) = part.filter(|_| depth > 0) {
            expanded.push_str("(?:");
            expanded.push_str(&expand(part, parts, depth - 1));
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

fn check_allow(toml: &str, allow: &[Spanned<String>], parts: &Parts) -> Result<(), RuleError> {
    allow
        .iter()
        .try_for_each(|one| check_pattern(toml, one.span(), &any_of(std::slice::from_ref(one), parts)))
}

fn check_pattern(toml: &str, span: Range<usize>, pattern: &Pattern) -> Result<(), RuleError> {
    pattern.check().map_err(|error| RuleError::new(toml, span, last_line(&error.to_string())))
}

/// Returns the last line of a message: what is wrong, without the drawing of where.
fn last_line(message: &str) -> String {
    message.trim_end().lines().last().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_rule_is_valid() {
        let file = parse_built_in();
        for rule in &file.rules {
            rule.check(BUILT_IN, &file.parts).unwrap_or_else(|error| panic!("rules.toml, {error}"));
        }
        check_allow(BUILT_IN, &file.allow, &file.parts).unwrap();
        let mut names: Vec<_> = file.rules.iter().map(|rule| rule.name.get_ref()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), file.rules.len(), "two rules have one name");
    }

    #[test]
    fn a_bad_rule_names_its_line_and_reason() {
        fn check(toml: &str, expected: &str) {
            let error = with_built_in(toml).unwrap_err();
            assert_eq!(error.to_string(), expected, "{toml}");
        }
        let rule = "[[rule]]\nname = 'a'\nkeywords = ['abc']\n";
        check("\n[[rules]]\n", "line 2: unknown field `rules`, expected one of `parts`, `allow`, `rule`");
        check("[[rule]]\nname = 'a'\n", "line 1: missing field `keywords`");
        check(&format!("{rule}pattern = 'a(b'"), "line 4: error: unclosed group");
        check(
            &format!("{rule}pattern = '{{more}}'"),
            "line 4: error: repetition operator missing expression",
        );
        check(
            &format!("{rule}pattern = 'ab'\nallow = ['x', '[']"),
            "line 5: error: unclosed character class",
        );
        check(
            &format!("{rule}pattern = 'ab'\nallow_named = ['x', '[']"),
            "line 5: error: unclosed character class",
        );
        check("allow = [\n  'x',\n  '*']", "line 3: error: repetition operator missing expression");
        check(
            "[[rule]]\nname = 'A B'\nkeywords = ['abc']\npattern = 'ab'",
            "line 2: a name has 1 to 64 of the characters a-z, 0-9 and -",
        );
        check(
            "[[rule]]\nname = 'a'\nkeywords = ['ab']\npattern = 'ab'",
            "line 3: a rule has at least one keyword, and each at least 3 bytes",
        );
    }

    #[test]
    fn parts_are_put_in_and_counts_stay() {
        let parts = [("a", "x|{b}"), ("b", "y{2}"), ("self", "{self}")];
        let parts: Parts = parts.into_iter().map(|(name, part)| (name.to_owned(), part.to_owned())).collect();
        assert_eq!(expand("{a}{3,}{c}", &parts, DEEPEST_PART), "(?:x|(?:y{2})){3,}{c}");
        assert!(expand("{self}", &parts, DEEPEST_PART).contains("{self}"));
    }
}
