//! One rule: what a kind of secret looks like, and how it differs from text that only resembles it.

use std::ops::Range;
use std::sync::Arc;

use regex::bytes::Captures;

use crate::block::{end_of_block, has_random_run};
use crate::boundary::{ends_escape, starts_word, whole_escapes};
use crate::pattern::{Pattern, Text};
use crate::plain::backslashes_before;
use crate::{columns, entropy};

/// No placeholder is longer. A private key has every short text somewhere, and so do allow patterns in it.
const LONGEST_PLACEHOLDER: usize = 256;

/// How many bytes of a name before a match are looked at.
const LONGEST_NAME: usize = 64;

/// How many bytes of a match may precede the keyword of a rule that does not say how many.
const FARTHEST_BEFORE: usize = 256;

/// A rule as it is applied; `rules.toml` documents the fields.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of rules.toml, or follows from one")]
pub(crate) struct Rule {
    pub(crate) name: Text,
    pub(crate) keywords: Vec<Text>,
    pub(crate) patterns: Patterns,
    /// The same without a condition on what follows the secret, for texts that are cut; `None` if there is no condition.
    pub(crate) cut_patterns: Option<Patterns>,
    pub(crate) ignore_case: bool,
    pub(crate) inside_word: bool,
    /// How many bytes of a match precede the keyword, at least and at most.
    pub(crate) before: (usize, usize),
    pub(crate) reach: usize,
    /// Whether all matches in the object of the keyword are secrets.
    pub(crate) in_object: bool,
    /// Whether the pattern names a column of a table, and the cells below it are secrets.
    pub(crate) in_column: bool,
    /// Whether the beginning of a secret at a cut is masked only if it has small letters, capitals and digits.
    pub(crate) only_whole: bool,
    /// What the last line of a block begins with, if the secret is a block.
    pub(crate) ends: Option<Text>,
    pub(crate) min_length: usize,
    pub(crate) min_entropy: f64,
    /// Whether another secret may begin anywhere in a value: the value of a user's rule may be all of a line.
    pub(crate) is_open_ended: bool,
    /// Values that are no secrets: the list that all rules share, and the rule's own.
    pub(crate) allow: Vec<Arc<Pattern>>,
    /// Names with values that are no secrets.
    pub(crate) allow_named: Option<Pattern>,
}

impl Candidate {
    /// Moves it from an offset in a part of a text to that in the whole text; the part begins at `start`.
    pub(crate) fn move_by(&mut self, start: usize) {
        for range in [&mut self.matched, &mut self.secret] {
            *range = range.start + start..range.end + start;
        }
    }
}

/// What a text is in which rules are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Anything.
    Text,
    /// JSON: no secret goes on after the end of its string.
    Json,
}

/// The pattern of a rule, in the forms in which it is tried.
#[derive(Debug)]
pub(crate) struct Patterns {
    /// Matches at the beginning of what it is given only.
    pub(crate) at_start: Pattern,
    /// Matches anywhere: for a user's rule that does not say how much of a match precedes the keyword, and for rules that look
    /// for their secrets in a whole object.
    pub(crate) around: Option<Pattern>,
}

/// A secret that one rule found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    /// All that the pattern matched: names and prefixes too.
    pub(crate) matched: Range<usize>,
    /// What is to be masked.
    pub(crate) secret: Range<usize>,
    /// The index of the rule.
    pub(crate) rule: usize,
}

/// What the pattern of a rule matched, whether or not it is a secret.
#[derive(Debug, Clone)]
pub(crate) struct Match {
    pub(crate) matched: Range<usize>,
    pub(crate) secret: Range<usize>,
    /// Whether the secret is long and random enough, and none that is allowed.
    pub(crate) accepted: bool,
}

impl Rule {
    /// Returns the offset from which keywords are tried again after a match.
    ///
    /// A keyword inside a secret begins no other. Where a long value was rejected, its first half is not tried again
    /// from each keyword in it: otherwise `token=token=token=…` would cost the reach of the rule each six bytes. The values
    /// of built-in rules end where another could begin; after that of a user's rule, the next keyword is tried.
    pub(crate) fn resume_after(&self, found: &Match) -> usize {
        const LONG: usize = 128;
        match found.secret.len() {
            _ if found.accepted => found.secret.end,
            length if length > LONG && !self.is_open_ended => found.secret.start + length / 2,
            _ => 0,
        }
    }

    /// Tries the pattern around the keyword at `offset`. The work is bounded by `reach`, whatever the text is.
    ///
    /// `also_starts_word` says where a word can start besides the places that the text shows.
    pub(crate) fn match_keyword(
        &self,
        text: &str,
        offset: usize,
        also_starts_word: impl Fn(usize) -> bool,
        form: Form,
    ) -> Option<Match> {
        self.match_patterns(&self.patterns, text, offset, also_starts_word, form)
    }

    /// Does the same as [`match_keyword`](Self::match_keyword) in a text that continues a cut one.
    pub(crate) fn match_keyword_at_cut(&self, text: &str, offset: usize) -> Option<Match> {
        let patterns = self.cut_patterns.as_ref().unwrap_or(&self.patterns);
        self.match_patterns(patterns, text, offset, |_| false, Form::Text)
    }

    fn match_patterns(
        &self,
        patterns: &Patterns,
        text: &str,
        offset: usize,
        also_starts_word: impl Fn(usize) -> bool,
        form: Form,
    ) -> Option<Match> {
        if let Some((_, mut found)) = self.match_surroundings(text, offset, form) {
            return found.pop();
        }
        let around =
            patterns.around.as_ref().and_then(|pattern| self.match_around(pattern, text, offset, form));
        if around.as_ref().is_some_and(|found| found.accepted) {
            return around;
        }
        self.starts(text, offset, also_starts_word)
            .find_map(|start| self.match_at(&patterns.at_start, text, start, form))
            .or(around)
    }

    /// Searches the object or the table in which a keyword stands. Returns its end, and all that may be secrets in it; `None` if
    /// this rule looks near its keyword only.
    pub(crate) fn match_surroundings(
        &self,
        text: &str,
        offset: usize,
        form: Form,
    ) -> Option<(usize, Vec<Match>)> {
        if self.in_object {
            return Some(self.matches_in_object(text, offset, form));
        }
        self.in_column.then(|| self.matches_in_column(text, offset))
    }

    /// Returns the end of the table whose head the keyword may be in, and the cells below the names that the pattern matches.
    fn matches_in_column(&self, text: &str, offset: usize) -> (usize, Vec<Match>) {
        let name = self.patterns.at_start.regex();
        let (end, cells) = columns::cells_below(text, offset, |head| name.is_match(head.as_bytes()));
        count_work(&text.as_bytes()[offset.min(end)..end]);
        let found = cells.into_iter().map(|cell| {
            let secret = whole_escapes(text, cell);
            let accepted = self.accepts(&text.as_bytes()[secret.clone()]);
            Match { matched: secret.clone(), secret, accepted }
        });
        (end, found.collect())
    }

    fn matches_in_object(&self, text: &str, offset: usize, form: Form) -> (usize, Vec<Match>) {
        let object = object_around(text.as_bytes(), offset, self.reach);
        let near = &text.as_bytes()[object.clone()];
        count_work(near);
        let Some(pattern) = &self.patterns.around else { return (object.end, Vec::new()) };
        let found = pattern.regex().captures_iter(near);
        let found = found.map(|captures| self.found(text, object.clone(), &captures, form));
        (object.end, found.collect())
    }

    /// Searches the line of the keyword for a match that begins before it and contains it.
    fn match_around(&self, pattern: &Pattern, text: &str, offset: usize, form: Form) -> Option<Match> {
        let regex = pattern.regex();
        let start = start_of_line(text, offset);
        let end = text.len().min(offset + self.reach);
        let near = &text.as_bytes()[start..end];
        count_work(near);
        let keyword = offset - start;
        let mut before = regex.find_iter(near).take_while(|found| found.start() < keyword);
        let found = before.find(|found| found.end() > keyword)?;
        let captures = regex.captures_at(near, found.start())?;
        Some(self.found(text, start..end, &captures, form))
    }

    /// Returns where a match can start whose keyword stands at `offset`.
    fn starts(
        &self,
        text: &str,
        offset: usize,
        also_starts_word: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = usize> {
        let (min, max) = self.before;
        let can_start =
            move |at: usize| self.inside_word || starts_word(text.as_bytes(), at) || also_starts_word(at);
        (min..=max.min(offset))
            .rev()
            .map(move |before| offset - before)
            .filter(move |&start| can_start(start))
    }

    fn match_at(&self, pattern: &Pattern, text: &str, start: usize, form: Form) -> Option<Match> {
        let bytes = text.as_bytes();
        let end = bytes.len().min(start + self.reach);
        let near = &bytes[start..end];
        // Words follow the names of these rules most of the time: then their patterns need not be compiled.
        if self.only_whole && !has_long_word(near, self.min_length) {
            return None;
        }
        count_work(near);
        let regex = pattern.regex();
        // Most attempts fail or match too little, as `tokens": 12` does; this one allocates nothing. A match that goes on
        // after the reach may still be long enough.
        let whole = regex.find(near)?;
        if whole.len() < self.min_length && whole.end() < near.len() {
            let matched = start + whole.start()..start + whole.end();
            return Some(Match { secret: matched.clone(), matched, accepted: false });
        }
        let captures = regex.captures(near)?;
        Some(self.found(text, start..end, &captures, form))
    }

    /// Returns what was matched in a part of a text.
    fn found(&self, text: &str, part: Range<usize>, captures: &Captures<'_>, form: Form) -> Match {
        let bytes = text.as_bytes();
        let whole = captures.get_match();
        let quoted = captures.name("quoted");
        let secret = quoted.or(captures.name("secret")).unwrap_or(whole);
        let mut secret = part.start + secret.start()..part.start + secret.end();
        if secret.end == part.end {
            secret.end = end_of_token(bytes, part.end);
        }
        if let Some(ends) = &self.ends {
            let first = self.keywords[0].as_bytes();
            secret.end = end_of_block(bytes, secret.start, first, ends.as_bytes(), form);
        }
        let value = whole_escapes(text, secret.clone());
        let mut accepted = self.accepts(&bytes[value.clone()]);
        if quoted.is_some() {
            // A value in quotation marks ends with its own one, whatever is in it. That it is a secret is seen from its first part:
            // `"required|min:8"` and `"a sentence"` begin with words.
            let first_part = secret.clone();
            if let Some(end) = end_of_quoted(bytes, secret.start, form) {
                secret.end = end;
                let word = bytes[secret.clone()].iter().position(u8::is_ascii_whitespace);
                let word = &bytes[secret.start..word.map_or(end, |length| secret.start + length)];
                accepted |= first_part.len() < self.min_length && self.accepts(word);
            } else {
                accepted &= !bytes.get(first_part.end).is_some_and(|next| b"([{".contains(next));
            }
        }
        let matched = part.start + whole.start()..(part.start + whole.end()).max(secret.end);
        let secret = whole_escapes(text, secret);
        let accepted = accepted && !secret.is_empty() && !self.allows_named(bytes, matched.start..secret.end);
        Match { matched, secret, accepted }
    }

    /// Returns whether a text that the pattern matched is a secret.
    pub(crate) fn accepts(&self, secret: &[u8]) -> bool {
        secret.len() >= self.min_length
            && (self.min_entropy <= 0.0 || entropy::bits_per_byte(secret) >= self.min_entropy)
            && (secret.len() > LONGEST_PLACEHOLDER
                || self.is_real_block(secret)
                || !self.allow.iter().any(|allow| allow.regex().is_match(secret)))
    }

    /// Returns whether a text is a block with a key in it, whatever else stands there, such as a comment with `example`.
    fn is_real_block(&self, secret: &[u8]) -> bool {
        self.ends.is_some() && has_random_run(secret)
    }

    /// Returns whether the name of a value says that it is no secret. `named` begins in the name and ends with the value.
    fn allows_named(&self, text: &[u8], named: Range<usize>) -> bool {
        let Some(allow) = &self.allow_named else { return false };
        allow.regex().is_match(&text[start_of_name(text, named.start)..named.end])
    }
}

#[cfg(test)]
thread_local! {
    /// How many bytes patterns were given.
    pub(crate) static SEARCHED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts the bytes that a pattern is given, in tests.
fn count_work(near: &[u8]) {
    #[cfg(test)]
    SEARCHED.set(SEARCHED.get() + near.len());
    #[cfg(not(test))]
    let _ = near;
}

/// Returns whether a text has a word of so many bytes with digits and letters.
fn has_long_word(text: &[u8], length: usize) -> bool {
    let mut words = text.split(|byte| byte.is_ascii_whitespace() || b"\"'`".contains(byte));
    words.any(|word| {
        word.len() >= length
            && word.iter().any(u8::is_ascii_digit)
            && word.iter().any(u8::is_ascii_alphabetic)
    })
}

/// Returns where a name starts that goes on at `at`, or what is near it of a long one.
fn start_of_name(text: &[u8], at: usize) -> usize {
    let first = at.saturating_sub(LONGEST_NAME);
    let mut starts = (first + 1..=at).rev();
    starts.find(|&at| !is_of_name(text[at - 1]) || ends_escape(&text[..at])).unwrap_or(first)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Returns where the line of a keyword starts, or what is near it of a long line.
fn start_of_line(text: &str, keyword: usize) -> usize {
    let first = keyword.saturating_sub(FARTHEST_BEFORE);
    let first = (first..keyword).find(|&at| text.is_char_boundary(at)).unwrap_or(keyword);
    text.as_bytes()[first..keyword]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(first, |line_end| first + line_end + 1)
}

/// Returns the text from brace to brace in which an offset lies, at most `reach` bytes before and after it.
fn object_around(text: &[u8], at: usize, reach: usize) -> Range<usize> {
    let first = at.saturating_sub(reach);
    let start = memchr::memrchr2(b'{', b'}', &text[first..at]).map_or(first, |brace| first + brace + 1);
    let behind = &text[at..text.len().min(at + reach)];
    start..at + memchr::memchr2(b'{', b'}', behind).unwrap_or(behind.len())
}

/// Returns where a token ends that goes on after the reach of its rule.
fn end_of_token(text: &[u8], from: usize) -> usize {
    // The same bytes as in the part `value`: what is left of a value would else look like one beside its mark.
    let is_token =
        |byte: &u8| (0x21..0x7f).contains(byte) && !b"\"'`\\,;&<>(){}[]|".contains(byte) || *byte > 0x7f;
    from + text[from..].iter().take_while(|byte| is_token(byte)).count()
}

/// Returns where a value ends that starts after a quotation mark, which may be escaped; `None` if the mark that closes it is
/// not in the same line.
fn end_of_quoted(text: &[u8], start: usize, form: Form) -> Option<usize> {
    /// No value in quotation marks is longer.
    const LONGEST: usize = 8192;
    let before = &text[..start];
    let quote = match before {
        [.., b'u', b'0', b'0', b'2', b'2' | b'7'] => &before[before.len() - 5..],
        _ => &before[before.len().checked_sub(1)?..],
    };
    let is_string = quote == b"\"" && form == Form::Json && !before.ends_with(b"\\\"");
    let depth = backslashes_before(text, start - quote.len());
    let mut at = start;
    while at < text.len().min(start + LONGEST) {
        let backslashes = text[at..].iter().take_while(|byte| **byte == b'\\').count();
        let next = at + backslashes;
        let rest = &text[next..];
        if rest.starts_with(quote) {
            match backslashes {
                // Outside of other quotation marks, each two backslashes are one.
                _ if depth == 0 && backslashes % 2 == 0 => return Some(next),
                _ if backslashes == depth => return Some(at),
                _ if backslashes < depth => return None,
                _ => {}
            }
        }
        match rest.first()? {
            b'\n' | b'\r' => return None,
            b'n' | b'r' if backslashes > 0 && !is_string => return None,
            b'"' if form == Form::Json && backslashes % 2 == 0 => return None,
            _ => {}
        }
        at = next + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_has_digits_and_letters() {
        for (text, expected) in [
            ("token 8f3kQ2mZ9x", true),
            ("token \"8f3kQ2mZ9x\"", true),
            ("token 8f3kQ2mZ9", false),
            ("token abcdefghij", false),
            ("token 1234567890", false),
            ("token 8f3kQ 2mZ9x", false),
        ] {
            assert_eq!(has_long_word(text.as_bytes(), 10), expected, "{text}");
        }
    }
}
