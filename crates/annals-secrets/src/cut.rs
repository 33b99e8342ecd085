//! Secrets of which only the beginning is there, because the text was cut.
//!
//! A list shows the first characters of a prompt. If they end inside a secret, too little of it may be left for its
//! rule. So each rule with a keyword near the end is tried again on the text with a made-up continuation.

use std::sync::LazyLock;

use crate::block::is_mixed;
use crate::mark::{self, Mark};
use crate::masker::Masker;
use crate::plain::Plain;
use crate::prefilter::Hit;
use crate::rule::{Candidate, Match};

/// How far before the end of a text a keyword may stand, in bytes. Tokens are shorter.
const NEAR: usize = 512;

/// The characters of made-up continuations: most patterns accept one of these sets.
const ALPHABETS: [&str; 4] = ["5f0c8b3e92d7a146", "Q7ZK2MX9RT4W8B3C", "aQ7fZk2mX9rT4w8B3cLs", "4917382056"];

/// How long a continuation is; few tokens are longer.
const LENGTH: usize = 120;

/// What some patterns need after a token: the rest of a JWT, the host after a password.
const ENDINGS: [&str; 3] = ["", ".eyJaQ7fZk2mX9rT4w8B3cLs.aQ7fZk2mX9rT4w8B3cLs", "@host"];

static CONTINUATIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let pairs = ALPHABETS.iter().flat_map(|alphabet| ENDINGS.iter().map(move |ending| (alphabet, ending)));
    pairs
        .map(|(alphabet, ending)| alphabet.chars().cycle().take(LENGTH).chain(ending.chars()).collect())
        .collect()
});

/// How many blanks stand between a keyword and the end of a token at most, as in `secret access key = "…`. Rules with
/// a long reach find more than tokens.
const MOST_BLANKS: usize = 4;
const LONG_REACH: usize = 1024;

/// Returns whether a text may have been cut after so many characters.
pub(crate) fn may_be_cut(text: &[u8], longest: usize) -> bool {
    text.ends_with("…".as_bytes()) || text.len() >= longest && count_characters(text) >= longest
}

/// Returns how many characters UTF-8 has.
fn count_characters(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

impl Masker {
    /// Returns the end of a text that may be the beginning of a secret, if the text may have been cut after `longest`
    /// characters.
    pub(crate) fn secret_at_cut(&self, text: &str, longest: usize) -> Option<Candidate> {
        if !may_be_cut(text.as_bytes(), longest) {
            return None;
        }
        let text = text.trim_end_matches('…');
        let near = (text.len().saturating_sub(NEAR)..=text.len()).find(|&at| text.is_char_boundary(at))?;
        let plain = Plain::with_marks(&text[near..], &mark::marks(&text.as_bytes()[near..], &self.rules));
        let cut = plain.text();
        let mut hits = Vec::new();
        self.prefilter().for_each_hit(cut.as_bytes(), |hit| hits.push(hit));
        hits.retain(|hit| self.may_reach_end(cut, *hit));
        let found = hits.iter().find_map(|hit| Some((self.start_of_cut_secret(cut, *hit)?, hit.rule)));
        let (start, rule) = found.or_else(|| self.start_before_keyword(cut))?;
        // A mark in it is left alone, and what stands before that was looked at already.
        let start = plain.between_marks(start..cut.len()).pop()?.start;
        let secret = near + plain.written(start..cut.len()).start..text.len();
        (start < cut.len()).then(|| Candidate { matched: secret.clone(), secret, rule })
    }

    /// Returns where the text starts that the rule of a mark leaves readable before it, such as `ghp_`. It is found as in a cut
    /// text: with a made-up secret after it, the rule masks all from the mark on.
    pub(crate) fn start_of_prefix(&self, text: &str, mark: &Mark) -> Option<usize> {
        let end = mark.range.start;
        let near = (end.saturating_sub(NEAR)..=end).find(|&at| text.is_char_boundary(at))?;
        let before = &text[near..end];
        let mut hits = Vec::new();
        self.prefilter().for_each_hit(before.as_bytes(), |hit| hits.push(hit));
        hits.retain(|hit| hit.rule == mark.rule);
        hits.iter().rev().find_map(|hit| {
            let found = self.match_continued(before, *hit, |found| found.secret.start == before.len())?;
            Some(near + found.matched.start)
        })
    }

    /// Returns whether a match at a keyword may go on to the end of a text.
    fn may_reach_end(&self, text: &str, hit: Hit) -> bool {
        let rule = &self.rules[hit.rule];
        let mut blanks = text.as_bytes()[hit.offset..].iter().filter(|byte| byte.is_ascii_whitespace());
        rule.reach > LONG_REACH || rule.ends.is_some() || blanks.nth(MOST_BLANKS).is_none()
    }

    /// Returns where a secret begins that the rule of a keyword finds in some continuation of a text.
    fn start_of_cut_secret(&self, text: &str, hit: Hit) -> Option<usize> {
        let only_whole = self.rules[hit.rule].only_whole;
        if only_whole && !is_mixed(&text.as_bytes()[hit.offset..]) {
            return None;
        }
        let found = self.match_continued(text, hit, |found| {
            let is_cut = found.secret.start < text.len() && found.secret.end > text.len();
            is_cut && (!only_whole || is_mixed(&text.as_bytes()[found.secret.start..]))
        });
        Some(found?.secret.start)
    }

    /// Returns a secret that the rule of a keyword finds in some continuation of a text.
    fn match_continued(&self, text: &str, hit: Hit, is_meant: impl Fn(&Match) -> bool) -> Option<Match> {
        let mut continued = text.to_owned();
        CONTINUATIONS.iter().find_map(|continuation| {
            continued.truncate(text.len());
            continued.push_str(continuation);
            let found = self.rules[hit.rule].match_keyword_at_cut(&continued, hit.offset)?;
            (found.accepted && is_meant(&found)).then_some(found)
        })
    }

    /// Returns where a secret begins whose keyword would follow it, and its rule: a long word at the end that looks random.
    fn start_before_keyword(&self, text: &str) -> Option<(usize, usize)> {
        const SHORTEST: usize = 6;
        let start = text.trim_end_matches(|character: char| character.is_ascii_alphanumeric()).len();
        let word = &text[start..];
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        if word.len() < SHORTEST || digits < 2 || digits == word.len() {
            return None;
        }
        let rules = self.rules.iter().enumerate();
        let found = rules.filter_map(|(index, rule)| {
            let missing = rule.before.0.checked_sub(word.len()).filter(|_| rule.before.0 > SHORTEST)?;
            ALPHABETS.iter().find_map(|alphabet| {
                let more: String = alphabet.chars().cycle().take(missing).collect();
                let continued = format!("{text}{more}{}{}", rule.keywords[0], "1".repeat(4));
                let keyword = text.len() + missing;
                let found = rule.match_keyword_at_cut(&continued, keyword)?;
                (found.accepted && found.secret.start == start).then_some((start, index))
            })
        });
        found.min_by_key(|(_, rule)| self.rules[*rule].before.0)
    }
}
