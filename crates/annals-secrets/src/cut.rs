//! Secrets of which only the beginning is there, because the text was cut.
//!
//! A list shows the first characters of a prompt. If they end inside a secret, too little of it may be left for its
//! rule. So each rule with a keyword near the end is tried again on the text with a made-up continuation.

use std::ops::Range;

use crate::masker::Masker;
use crate::prefilter::Hit;

/// How far before the end of a text a keyword may stand, in bytes. Tokens are shorter.
const NEAR: usize = 512;

/// The characters of made-up continuations: most patterns accept one of these sets, in a length of their own.
const ALPHABETS: [&str; 3] = ["5f0c8b3e92d7a146", "Q7ZK2MX9RT4W8B3C", "aQ7fZk2mX9rT4w8B3cLs"];
const LONGEST: usize = 120;

/// Continuations that some patterns need: the rest of a JWT, the host behind a password.
const ENDINGS: [&str; 3] = ["", ".eyJaQ7fZk2mX9rT4w8B3cLs.aQ7fZk2mX9rT4w8B3cLs", "@host"];

impl Masker {
    /// Returns the end of a cut text that may be the beginning of a secret.
    pub(crate) fn secret_at_cut(&self, text: &str) -> Option<(Range<usize>, usize)> {
        let near = (text.len().saturating_sub(NEAR)..=text.len()).find(|&at| text.is_char_boundary(at))?;
        let mut hits = Vec::new();
        self.prefilter.for_each_hit(&text.as_bytes()[near..], |hit| hits.push(hit));
        hits.iter().find_map(|hit| {
            let start = self.start_of_cut_secret(&text[near..], *hit)?;
            Some((near + start..text.len(), hit.rule))
        })
    }

    /// Returns where a secret begins that the rule of a keyword finds in some continuation of a text.
    fn start_of_cut_secret(&self, text: &str, hit: Hit) -> Option<usize> {
        let continuations = ALPHABETS.iter().flat_map(|alphabet| {
            (0..=LONGEST).flat_map(move |length| ENDINGS.iter().map(move |ending| (alphabet, length, ending)))
        });
        let mut continued = text.to_owned();
        continuations.into_iter().find_map(|(alphabet, length, ending)| {
            continued.truncate(text.len());
            continued.extend(alphabet.chars().cycle().take(length));
            continued.push_str(ending);
            let found = self.rules[hit.rule].match_keyword(&continued, hit.offset)?;
            let is_cut = found.secret.start < text.len() && found.secret.end > text.len();
            (found.accepted && is_cut).then_some(found.secret.start)
        })
    }
}
