//! Rules as people write them, in TOML, and what can be wrong with them.
//!
//! To read the built-in rules from `rules.toml` would take longer than a short list does. So `rules/built_in.rs` has them as
//! constants, which a test compares with the file and writes anew.

#[rustfmt::skip]
#[expect(clippy::too_many_lines, reason = "there is one line for each rule")]
mod built_in;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::{fmt, iter};

use serde::Deserialize;
use toml::Spanned;

use crate::mark;
use crate::pattern::{Anchor, Parts, Pattern, Text};
use crate::prefilter::SHORTEST_KEYWORD;
use crate::rule::{Patterns, Rule};

/// How far a match can reach from its start unless the rule says otherwise.
const DEFAULT_REACH: usize = 512;

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

/// The text of the built-in rules. [`mod@built_in`] has them as constants, so that no program parses it when it starts.
const BUILT_IN: &str = include_str!("../rules.toml");

/// Returns a number that changes with the built-in rules, with the rules of `toml`, and with the version of this crate.
pub(crate) fn fingerprint(toml: &str) -> u64 {
    static BUILT_IN_ALONE: LazyLock<u64> = LazyLock::new(|| hash_with(""));
    if toml.is_empty() { *BUILT_IN_ALONE } else { hash_with(toml) }
}

fn hash_with(toml: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_PKG_VERSION"), BUILT_IN, toml).hash(&mut hasher);
    hasher.finish()
}

/// Returns the built-in rules.
pub(crate) fn built_in() -> Vec<Rule> {
    let parts = Arc::new(Parts(built_in::parts()));
    let allow = Arc::new(any_of(built_in::allow(), &parts));
    built_in::rules().into_iter().map(|rule| rule.build(&parts, &allow, Author::Annals)).collect()
}

/// Returns the rules of `toml`, then the built-in rules that they do not replace.
pub(crate) fn with_built_in(toml: &str) -> Result<Vec<Rule>, RuleError> {
    let added = parse(toml)?;
    let parts = Arc::new(Parts(built_in::parts().into_iter().chain(added.parts()).collect()));
    check_allow(toml, &added.allow, &parts)?;
    let allow = built_in::allow().into_iter().chain(texts(&added.allow)).collect();
    let allow = Arc::new(any_of(allow, &parts));
    for rule in &added.rules {
        rule.check(toml, &parts)?;
    }
    let replaced: Vec<_> = added.rules.iter().map(|rule| &**rule.name.get_ref()).collect();
    let kept = built_in::rules().into_iter().filter(|rule| !replaced.contains(&&*rule.name));
    let added = added.rules.iter().map(|rule| rule.text().build(&parts, &allow, Author::User));
    Ok(added.chain(kept.map(|rule| rule.build(&parts, &allow, Author::Annals))).collect())
}

/// Who wrote a rule. Rules of annals say in `before` how much of a match precedes the keyword. A rule of a user that does not
/// say it must not silently match nothing, so its line is searched.
#[derive(Clone, Copy, PartialEq)]
enum Author {
    Annals,
    User,
}

/// A rule; the comment at the beginning of `rules.toml` says what the fields mean.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of rules.toml")]
struct RuleText {
    name: Text,
    keywords: Vec<Text>,
    pattern: Text,
    ignore_case: bool,
    inside_word: bool,
    before: Option<(usize, usize)>,
    reach: usize,
    in_object: bool,
    in_column: bool,
    only_whole: bool,
    ends: Option<Text>,
    min_length: usize,
    min_entropy: f64,
    allow: Vec<Text>,
    allow_named: Vec<Text>,
}

/// A file of rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default)]
    parts: BTreeMap<String, String>,
    #[serde(default)]
    allow: Vec<Spanned<String>>,
    #[serde(default, rename = "rule")]
    rules: Vec<RuleSource>,
}

/// A rule as it is written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of rules.toml")]
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
    in_object: bool,
    #[serde(default)]
    in_column: bool,
    #[serde(default)]
    only_whole: bool,
    ends: Option<String>,
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

fn parse(toml: &str) -> Result<RuleFile, RuleError> {
    toml::from_str(toml)
        .map_err(|error| RuleError::new(toml, error.span().unwrap_or_default(), last_line(error.message())))
}

impl RuleFile {
    fn parts(&self) -> impl Iterator<Item = (Text, Text)> {
        self.parts.iter().map(|(name, part)| (name.clone().into(), part.clone().into()))
    }
}

impl RuleSource {
    /// Checks what the types do not say.
    fn check(&self, toml: &str, parts: &Arc<Parts>) -> Result<(), RuleError> {
        let name = self.name.get_ref();
        if !is_rule_name(name) {
            let reason = format!("a name has 1 to {} of the characters a-z, 0-9 and -", mark::LONGEST_NAME);
            return Err(RuleError::new(toml, self.name.span(), reason));
        }
        let keywords = self.keywords.get_ref();
        if keywords.is_empty() || keywords.iter().any(|keyword| keyword.len() < SHORTEST_KEYWORD) {
            let reason =
                format!("a rule has at least one keyword, and each at least {SHORTEST_KEYWORD} bytes");
            return Err(RuleError::new(toml, self.keywords.span(), reason));
        }
        let pattern = self.pattern.get_ref().clone().into();
        let pattern = Pattern::new(vec![pattern], Anchor::Start, self.ignore_case, parts);
        check_pattern(toml, self.pattern.span(), &pattern)?;
        check_allow(toml, &self.allow, parts)?;
        check_allow(toml, &self.allow_named, parts)
    }

    fn text(&self) -> RuleText {
        RuleText {
            name: self.name.get_ref().clone().into(),
            keywords: self.keywords.get_ref().iter().map(|keyword| keyword.clone().into()).collect(),
            pattern: self.pattern.get_ref().clone().into(),
            ignore_case: self.ignore_case,
            inside_word: self.inside_word,
            before: self.before,
            reach: self.reach,
            in_object: self.in_object,
            in_column: self.in_column,
            only_whole: self.only_whole,
            ends: self.ends.clone().map(Text::from),
            min_length: self.min_length,
            min_entropy: self.min_entropy,
            allow: texts(&self.allow).collect(),
            allow_named: texts(&self.allow_named).collect(),
        }
    }
}

fn is_rule_name(name: &str) -> bool {
    let has_only_plain = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    has_only_plain && (1..=mark::LONGEST_NAME).contains(&name.len())
}

fn texts(texts: &[Spanned<String>]) -> impl Iterator<Item = Text> {
    texts.iter().map(|text| text.get_ref().clone().into())
}

impl RuleText {
    fn build(self, parts: &Arc<Parts>, shared_allow: &Arc<Pattern>, author: Author) -> Rule {
        let cut_patterns = without_word_end(&self.pattern).map(|open| self.patterns(&open, parts, author));
        let own_allow = (!self.allow.is_empty()).then(|| Arc::new(any_of(self.allow.clone(), parts)));
        Rule {
            patterns: self.patterns(&self.pattern, parts, author),
            cut_patterns,
            name: self.name,
            keywords: self.keywords,
            ignore_case: self.ignore_case,
            inside_word: self.inside_word,
            before: self.before.unwrap_or_default(),
            reach: self.reach,
            in_object: self.in_object,
            in_column: self.in_column,
            only_whole: self.only_whole,
            ends: self.ends,
            min_length: self.min_length.max(1),
            min_entropy: self.min_entropy,
            is_open_ended: author == Author::User,
            allow_named: (!self.allow_named.is_empty()).then(|| any_of(self.allow_named, parts)),
            allow: iter::once(Arc::clone(shared_allow)).chain(own_allow).collect(),
        }
    }

    fn patterns(&self, pattern: &Text, parts: &Arc<Parts>, author: Author) -> Patterns {
        let is_searched = author == Author::User && self.before.is_none() || self.in_object;
        let around = is_searched.then(|| self.anchored(pattern, Anchor::Anywhere, parts));
        Patterns { at_start: self.anchored(pattern, Anchor::Start, parts), around }
    }

    fn anchored(&self, pattern: &Text, anchor: Anchor, parts: &Arc<Parts>) -> Pattern {
        Pattern::new(vec![pattern.clone()], anchor, self.ignore_case, parts)
    }
}

/// Returns the pattern for texts that are cut, if it is another one: a token of a fixed length need not end there.
fn without_word_end(pattern: &Text) -> Option<Text> {
    let length = pattern.strip_suffix(r"\b").filter(|open| !open.ends_with('\\'))?.len();
    Some(match pattern {
        Text::Borrowed(pattern) => Text::Borrowed(&pattern[..length]),
        Text::Owned(pattern) => Text::Owned(pattern[..length].to_owned()),
    })
}

/// Returns a pattern that matches where any of `allow` does, without regard to case.
fn any_of(allow: Vec<Text>, parts: &Arc<Parts>) -> Pattern {
    Pattern::new(allow, Anchor::Anywhere, true, parts)
}

fn check_allow(toml: &str, allow: &[Spanned<String>], parts: &Arc<Parts>) -> Result<(), RuleError> {
    allow.iter().try_for_each(|one| {
        check_pattern(toml, one.span(), &any_of(vec![one.get_ref().clone().into()], parts))
    })
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
        let file = parse(BUILT_IN).unwrap();
        let parts = Arc::new(Parts(file.parts().collect()));
        for rule in &file.rules {
            rule.check(BUILT_IN, &parts).unwrap_or_else(|error| panic!("rules.toml, {error}"));
        }
        check_allow(BUILT_IN, &file.allow, &parts).unwrap();
        let mut names: Vec<_> = file.rules.iter().map(|rule| rule.name.get_ref()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), file.rules.len(), "two rules have one name");
    }

    /// `ANNALS_UPDATE=1 cargo test -p annals-secrets built_in` writes the constants anew.
    #[test]
    fn the_built_in_rules_are_those_of_the_file() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/rules/built_in.rs");
        let expected = constants(&parse(BUILT_IN).unwrap());
        if std::env::var_os("ANNALS_UPDATE").is_some() {
            std::fs::write(path, &expected).unwrap();
        }
        assert!(
            std::fs::read_to_string(path).unwrap() == expected,
            "rules.toml was changed; set ANNALS_UPDATE=1"
        );
    }

    /// Returns the source of `built_in.rs`.
    fn constants(file: &RuleFile) -> String {
        let list = |texts: Vec<Text>| {
            let texts: Vec<_> = texts.iter().map(|text| format!("{text:?}.into()")).collect();
            format!("vec![{}]", texts.join(", "))
        };
        let part = |(name, part): (Text, Text)| format!("        ({name:?}.into(), {part:?}.into()),\n");
        let parts = file.parts().map(part).collect::<Vec<_>>().concat();
        let rule = |rule: &RuleSource| format!("        {},\n", constant(rule.text(), &list));
        let rules = file.rules.iter().map(rule).collect::<Vec<_>>().concat();
        format!(
            "//! The built-in rules. This file is made from `rules.toml` by a test of `rules.rs`.\n\n\
             use super::{{RuleText, Text}};\n\n\
             pub(super) fn parts() -> Vec<(Text, Text)> {{\n    vec![\n{parts}    ]\n}}\n\n\
             pub(super) fn allow() -> Vec<Text> {{\n    {}\n}}\n\n\
             pub(super) fn rules() -> Vec<RuleText> {{\n    vec![\n{rules}    ]\n}}\n",
            list(texts(&file.allow).collect())
        )
    }

    fn constant(rule: RuleText, list: &impl Fn(Vec<Text>) -> String) -> String {
        let RuleText {
            name,
            keywords,
            pattern,
            ignore_case,
            inside_word,
            before,
            reach,
            in_object,
            in_column,
            only_whole,
            ends,
            min_length,
            min_entropy,
            allow,
            allow_named,
        } = rule;
        let [keywords, allow, allow_named] = [keywords, allow, allow_named].map(list);
        format!(
            "RuleText {{ name: {name:?}.into(), keywords: {keywords}, pattern: {pattern:?}.into(), ignore_case: {ignore_case}, \
             inside_word: {inside_word}, before: {before:?}, reach: {reach}, in_object: {in_object}, in_column: {in_column}, only_whole: {only_whole}, ends: {}, min_length: {min_length}, \
             min_entropy: {min_entropy:?}, allow: {allow}, allow_named: {allow_named} }}",
            ends.map_or("None".to_owned(), |ends| format!("Some({ends:?}.into())"))
        )
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
}
