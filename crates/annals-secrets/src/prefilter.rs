//! Finds all keywords of all rules in one pass, so that text without a keyword costs no regular expression.
//!
//! For each offset of the text, the three bytes there are hashed, and one bit of a table says whether a keyword may
//! start with them. This is as fast as an Aho–Corasick automaton over the same keywords, and is built in a fraction of
//! the time, which counts for a program that shows one session and ends.

use crate::rule::Rule;

/// How many bytes of a keyword are hashed; no keyword is shorter.
pub(crate) const SHORTEST_KEYWORD: usize = 3;

/// One bit for each of the 65,536 hashes.
const WORDS: usize = 1024;

/// The keywords of all rules.
#[derive(Debug)]
pub(crate) struct Prefilter {
    /// A bit for each hash with which a keyword starts: small enough to stay in the first cache.
    starts: Box<[u64; WORDS]>,
    /// All keywords, sorted by the hash of their first bytes.
    keywords: Vec<Keyword>,
    /// For each upper half of a hash, where its keywords begin.
    buckets: Box<[usize]>,
}

/// One keyword of one rule.
#[derive(Debug)]
struct Keyword {
    hash: u16,
    text: Box<[u8]>,
    ignore_case: bool,
    rule: usize,
}

/// A keyword in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Where the keyword starts.
    pub(crate) offset: usize,
    /// The index of the rule that has it.
    pub(crate) rule: usize,
}

impl Prefilter {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let mut keywords: Vec<_> =
            rules.iter().enumerate().flat_map(|(at, rule)| keywords_of(at, rule)).collect();
        keywords.sort_by_key(|keyword| keyword.hash);
        let mut starts = Box::new([0; WORDS]);
        for keyword in &keywords {
            starts[usize::from(keyword.hash) / 64] |= 1 << (keyword.hash % 64);
        }
        let first = |bucket: u32| keywords.partition_point(|keyword| u32::from(keyword.hash) < bucket << 8);
        let buckets = (0..=256).map(first).collect();
        Self { starts, keywords, buckets }
    }

    /// Calls `report` with each keyword of `text`, in the order of their offsets.
    pub(crate) fn for_each_hit(&self, text: &[u8], mut report: impl FnMut(Hit)) {
        // Eight bytes are read at once and hold the starts of six keywords; most of them hold none.
        const STARTS: usize = 6;
        let mut offset = 0;
        while let Some(&bytes) = text[offset..].first_chunk::<8>() {
            let word = u64::from_le_bytes(bytes);
            let bit = |at: usize| u32::from(self.may_start(hash(word >> (8 * at)))) << at;
            let mut starts = (0..STARTS).fold(0, |starts, at| starts | bit(at));
            while starts != 0 {
                self.report_keywords_at(text, offset + starts.trailing_zeros() as usize, &mut report);
                starts &= starts - 1;
            }
            offset += STARTS;
        }
        (offset..text.len()).for_each(|offset| self.report_keywords_at(text, offset, &mut report));
    }

    fn may_start(&self, hash: u16) -> bool {
        self.starts[usize::from(hash) / 64] & (1 << (hash % 64)) != 0
    }

    fn report_keywords_at(&self, text: &[u8], offset: usize, report: &mut impl FnMut(Hit)) {
        let Some(hash) = hash_of_start(&text[offset..]) else { return };
        if !self.may_start(hash) {
            return;
        }
        let bucket = usize::from(hash >> 8);
        for keyword in &self.keywords[self.buckets[bucket]..self.buckets[bucket + 1]] {
            if keyword.hash == hash && keyword.starts(&text[offset..]) {
                report(Hit { offset, rule: keyword.rule });
            }
        }
    }
}

fn keywords_of(index: usize, rule: &Rule) -> impl Iterator<Item = Keyword> {
    rule.keywords.iter().map(move |keyword| Keyword {
        hash: hash_of_start(keyword.as_bytes()).expect("short keywords are refused when rules are read"),
        text: keyword.as_bytes().into(),
        ignore_case: rule.ignore_case,
        rule: index,
    })
}

impl Keyword {
    fn starts(&self, text: &[u8]) -> bool {
        text.get(..self.text.len()).is_some_and(|start| {
            if self.ignore_case { start.eq_ignore_ascii_case(&self.text) } else { *start == *self.text }
        })
    }
}

/// Returns a hash of the first three bytes, or none of a shorter text.
fn hash_of_start(text: &[u8]) -> Option<u16> {
    text.first_chunk::<SHORTEST_KEYWORD>()
        .map(|&[a, b, c]| hash(u64::from_le_bytes([a, b, c, 0, 0, 0, 0, 0])))
}

/// Returns a hash of the lowest three bytes without regard to case.
fn hash(bytes: u64) -> u16 {
    // Multiplication by an odd constant spreads the bytes over bits 24 to 40 and beyond.
    let spread = ((bytes | 0x0020_2020) & 0x00ff_ffff).wrapping_mul(0x9E37_79B1);
    let [_, _, _, low, high, ..] = spread.to_le_bytes();
    u16::from_le_bytes([low, high])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    #[test]
    fn every_keyword_is_found_at_every_offset() {
        let rules = rules::built_in();
        let prefilter = Prefilter::new(&rules);
        for (index, rule) in rules.iter().enumerate() {
            for (keyword, before) in
                rule.keywords.iter().flat_map(|keyword| (0..9).map(move |before| (keyword, before)))
            {
                for behind in ["", " and much more text"] {
                    let text = format!("{}{keyword}{behind}", " ".repeat(before));
                    let mut hits = Vec::new();
                    prefilter.for_each_hit(text.as_bytes(), |hit| hits.push(hit));
                    assert!(hits.contains(&Hit { offset: before, rule: index }), "{text}");
                    assert!(hits.is_sorted_by_key(|hit| hit.offset), "{text}");
                }
            }
        }
    }

    #[test]
    fn case_counts_unless_the_rule_ignores_it() {
        let prefilter = Prefilter::new(&rules::built_in());
        let hits = |text: &str| {
            let mut count = 0;
            prefilter.for_each_hit(text.as_bytes(), |_| count += 1);
            count
        };
        assert_eq!((hits("ghp_"), hits("GHP_"), hits("passwd"), hits("PassWD")), (1, 0, 1, 1));
    }
}
