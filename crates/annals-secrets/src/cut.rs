//! Secrets of which only the beginning is there, because the text was cut.
//!
//! A list shows the first characters of a prompt. If they end inside a secret, too little of it may be left for its
//! rule. So each rule with a keyword near the end is tried again on the text with a made-up continuation.

use std::ops::Range;
use std::sync::LazyLock;

use crate::mark::{self, Mark};
use crate::masker::Masker;
use crate::prefilter::Hit;

/// How far before the end of a text a keyword may stand, in bytes. Tokens are shorter.
const NEAR: usize = 512;

/// The characters of made-up continuations: most patterns accept one of these sets.
const ALPHABETS: [&str; 4] = ["5f0c8b3e92d7a146", "Q7ZK2MX9RT4W8B3C", "aQ7fZk2mX9rT4w8B3cLs", "4917382056"];

/// How long a continuation is; few tokens are longer.
const LENGTH: usize = 120;

/// What some patterns need behind a token: the rest of a JWT, the host behind a password.
const ENDINGS: [&str; 3] = ["", ".eyJaQ7fZk2mX9rT4w8B3cLs.aQ7fZk2mX9rT4w8B3cLs", "@host"];

static CONTINUATIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let with_ending = |alphabet: &str, ending: &str| {
        alphabet.chars().cycle().take(LENGTH).chain(ending.chars()).collect::<String>()
    };
    ALPHABETS
        .iter()
        .flat_map(|alphabet| ENDINGS.iter().map(move |ending| with_ending(alphabet, ending)))
        .collect()
});

/// How many blanks stand between a keyword and the end of a token at most, as in `secret access key = "…`. Rules with
/// a long reach find more than tokens.
const MOST_BLANKS: usize = 4;
const LONG_REACH: usize = 1024;

impl Masker {
    /// Returns the end of a cut text that may be the beginning of a secret.
    pub(crate) fn secret_at_cut(&self, text: &str) -> Option<(Range<usize>, usize)> {
        let near = (text.len().saturating_sub(NEAR)..=text.len()).find(|&at| text.is_char_boundary(at))?;
        let (cut, near) = (&text[near..], near);
        let mut hits = Vec::new();
        self.prefilter().for_each_hit(cut.as_bytes(), |hit| hits.push(hit));
        hits.retain(|hit| self.may_reach_end(cut, *hit));
        if hits.is_empty() {
            return None;
        }
        let marks = mark::marks(cut.as_bytes(), &self.rules);
        hits.iter().find_map(|hit| {
            let start = self.start_of_cut_secret(cut, *hit, &marks)?;
            Some((near + start..text.len(), hit.rule))
        })
    }

    /// Returns whether a match at a keyword may go on to the end of a text.
    fn may_reach_end(&self, text: &str, hit: Hit) -> bool {
        let blanks = || text.as_bytes()[hit.offset..].iter().filter(|byte| byte.is_ascii_whitespace());
        self.rules[hit.rule].reach > LONG_REACH || blanks().nth(MOST_BLANKS).is_none()
    }

    /// Returns where a secret begins that the rule of a keyword finds in some continuation of a text.
    fn start_of_cut_secret(&self, text: &str, hit: Hit, marks: &[Mark]) -> Option<usize> {
        let mut continued = text.to_owned();
        CONTINUATIONS.iter().find_map(|continuation| {
            continued.truncate(text.len());
            continued.push_str(continuation);
            let found = self.rules[hit.rule].match_keyword_at_cut(&continued, hit.offset)?;
            let is_cut = found.secret.start < text.len() && found.secret.end > text.len();
            let is_secret = found.accepted && !self.is_marked(&continued, marks, &found, hit.rule);
            (is_secret && is_cut).then_some(found.secret.start)
        })
    }
}
