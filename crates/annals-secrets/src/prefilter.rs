//! Finds all keywords of all rules in one pass, so that text without a keyword costs no regular expression.
//!
//! Every second byte of the text is looked at together with the three bytes after it. A keyword starts there or one
//! byte earlier. Two tables say which groups of keywords have the first two of the four bytes, and which have the last
//! two: in most places, no group has both. Where one has, a hash of the three bytes at the start finds the keyword.
//!
//! An Aho–Corasick automaton over the same keywords takes longer to build, which counts for a program that shows one
//! session and ends.

use std::iter;
use std::ops::Range;

use crate::json::{self, JsonForm};
use crate::pattern::Text;
use crate::rule::Rule;
use crate::{mark, markup};

/// How many bytes of a keyword are hashed; no keyword is shorter.
pub(crate) const SHORTEST_KEYWORD: usize = 3;

/// How many bytes are looked at together; the groups of every second one fit into the eight bytes of a number.
const CHUNK: usize = 16;

/// How many groups of keywords there are. Each has a bit for keywords that start at the byte looked at, and one for
/// those that start one byte earlier.
const GROUPS: usize = 4;
const STARTS_HERE: u8 = 0b0101_0101;
const STARTS_EARLIER: u8 = 0b1010_1010;

/// One bit for each of the 65,536 hashes.
const WORDS: usize = 1024;

/// The keywords of all rules, and what else is looked for in the same pass.
#[derive(Debug)]
pub(crate) struct Prefilter {
    /// For each pair of bytes, the groups in which it can be the first two of four bytes.
    first_pairs: Pairs,
    /// For each pair of bytes, the groups in which it can be the last two.
    last_pairs: Pairs,
    /// A bit for each hash with which a keyword starts.
    starts: Box<[u64; WORDS]>,
    /// All keywords, sorted by the hash of their first bytes.
    keywords: Vec<Keyword>,
    /// For each upper half of a hash, where its keywords begin.
    buckets: Box<[usize]>,
}

/// One keyword of one rule, or a text with another meaning.
#[derive(Debug)]
struct Keyword {
    hash: u16,
    /// The [`folded_start`] of the text, and a mask for it: a short text has fewer bytes.
    start: u64,
    start_mask: u64,
    text: Box<[u8]>,
    ignore_case: bool,
    meaning: Meaning,
}

/// What a keyword means.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// The rule with this index must be tried.
    Rule(usize),
    /// See [`Signs::escape`].
    Escape,
    /// See [`Signs::mark`].
    Mark,
    /// See [`Signs::hidden`].
    Hidden,
    /// See [`Signs::markup`].
    Markup,
    /// The key of a text that may have been cut after this many characters: see [`Signs::cuts`] if it was.
    CutKey(usize),
}

/// Texts that belong to no rule and are found in the same pass.
const SIGNS: [(&[u8], Meaning); 5] = [
    (b"\\u00", Meaning::Escape),
    (mark::OPEN.as_bytes(), Meaning::Mark),
    (json::KEY_BEGINS[0], Meaning::Hidden),
    (json::KEY_BEGINS[1], Meaning::Hidden),
    (json::BYTES_MEMBER, Meaning::Hidden),
];

/// A keyword in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Where the keyword starts.
    pub(crate) offset: usize,
    /// The index of the rule that has it.
    pub(crate) rule: usize,
}

/// A text in JSON that may have been cut after this many characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CutText {
    pub(crate) range: Range<usize>,
    pub(crate) longest: usize,
}

/// What a text has somewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    /// An escape such as `\u0068`, which may stand for a letter of a keyword or of a secret.
    pub(crate) escape: bool,
    /// The beginning of a mark.
    pub(crate) mark: bool,
    /// The beginning of something in JSON that rules do not see: the lines of a private key in strings of their own, or
    /// text that is not UTF-8, in base64.
    pub(crate) hidden: bool,
    /// Where [`markup::signs`] begin.
    pub(crate) markup: Vec<usize>,
    /// Texts that may have been cut, so that a secret at their end is not seen by the rules.
    pub(crate) cuts: Vec<CutText>,
}

impl Signs {
    /// Adds what was seen in the part of the same text that begins at an offset.
    pub(crate) fn join(&mut self, other: Self, offset: usize) {
        self.escape |= other.escape;
        self.mark |= other.mark;
        self.hidden |= other.hidden;
        self.markup.extend(other.markup.into_iter().map(|at| at + offset));
        self.cuts.extend(other.cuts.into_iter().map(|CutText { range, longest }| CutText {
            range: range.start + offset..range.end + offset,
            longest,
        }));
    }
}

impl Prefilter {
    pub(crate) fn new(rules: &[Rule], form: &JsonForm) -> Self {
        let signs = SIGNS.iter().map(|&(text, meaning)| Keyword::new(text, false, meaning));
        let cut_keys = form.cut.iter().map(|(key, longest)| {
            Keyword::new(format!("\"{key}\":").as_bytes(), false, Meaning::CutKey(*longest))
        });
        let of_rules = rules.iter().enumerate().flat_map(|(index, rule)| keywords_of(index, rule));
        let markup = markup::signs().map(|text| Keyword::new(&text, false, Meaning::Markup));
        let mut keywords: Vec<_> = of_rules.chain(signs).chain(markup).chain(cut_keys).collect();
        let (first_pairs, last_pairs) = pairs(&keywords);
        keywords.sort_by_key(|keyword| keyword.hash);
        let mut starts = Box::new([0; WORDS]);
        for keyword in &keywords {
            starts[usize::from(keyword.hash) / 64] |= 1 << (keyword.hash % 64);
        }
        let buckets = (0..=256u32)
            .map(|bucket| keywords.partition_point(|keyword| u32::from(keyword.hash) < bucket << 8));
        let buckets = buckets.collect();
        Self { first_pairs, last_pairs, starts, keywords, buckets }
    }

    /// Calls `report` with each keyword of `text`, in the order of their offsets. Returns what was seen.
    pub(crate) fn for_each_hit(&self, text: &[u8], mut report: impl FnMut(Hit)) -> Signs {
        let mut seen = Signs::default();
        let mut try_at = |offset| {
            let Some(start) = text.get(offset..) else { return };
            if let Some(hash) = hash_of_start(start).filter(|hash| self.may_start(*hash)) {
                self.report_keywords_at(text, offset, hash, &mut seen, &mut report);
            }
        };
        let mut offset = 0;
        // A keyword that starts with the last byte of a chunk is found at the first place of the next one. After the end of the
        // text are zeros: the tables allow any bytes after a keyword.
        let mut last = [0; CHUNK + 2];
        while offset < text.len() {
            let rest = &text[offset..];
            let chunk = if let Some(chunk) = rest.first_chunk() {
                chunk
            } else {
                last[..rest.len()].copy_from_slice(rest);
                &last
            };
            let mut places = self.places(chunk);
            while places != 0 {
                let place = places.trailing_zeros() / 8;
                let [groups, ..] = (places >> (8 * place)).to_le_bytes();
                places &= !(0xff << (8 * place));
                let at = offset + 2 * place as usize;
                if groups & STARTS_EARLIER != 0 {
                    // Before the first byte nothing starts.
                    try_at(at.wrapping_sub(1));
                }
                if groups & STARTS_HERE != 0 {
                    try_at(at);
                }
            }
            offset += CHUNK;
        }
        seen
    }

    /// Returns which groups of keywords may start at every second byte of a chunk, or one byte earlier. The first place is in the
    /// lowest byte.
    #[inline]
    fn places(&self, chunk: &[u8; CHUNK + 2]) -> u64 {
        let pair = |at: usize| *chunk[at..].first_chunk().expect("two bytes more are there");
        let groups = |at: usize| self.first_pairs.groups(pair(at)) & self.last_pairs.groups(pair(at + 2));
        (0..CHUNK).step_by(2).rev().fold(0, |places, at| places << 8 | u64::from(groups(at)))
    }

    fn may_start(&self, hash: u16) -> bool {
        self.starts[usize::from(hash) / 64] & (1 << (hash % 64)) != 0
    }

    #[inline(never)]
    fn report_keywords_at(
        &self,
        text: &[u8],
        offset: usize,
        hash: u16,
        seen: &mut Signs,
        report: &mut impl FnMut(Hit),
    ) {
        let bucket = usize::from(hash >> 8);
        let start = folded_start(&text[offset..]);
        for keyword in &self.keywords[self.buckets[bucket]..self.buckets[bucket + 1]] {
            if (keyword.start ^ start) & keyword.start_mask != 0 || !keyword.starts(&text[offset..]) {
                continue;
            }
            match keyword.meaning {
                Meaning::Rule(rule) => report(Hit { offset, rule }),
                Meaning::Escape => seen.escape = true,
                Meaning::Mark => seen.mark = true,
                Meaning::Hidden => seen.hidden = true,
                Meaning::Markup => seen.markup.push(offset),
                Meaning::CutKey(longest) => {
                    let range = json::cut_text_at(text, offset + keyword.text.len(), longest);
                    seen.cuts.extend(range.map(|range| CutText { range, longest }));
                }
            }
        }
    }
}

/// Returns the groups in which each pair of bytes is the first two, and those in which it is the last two of four.
fn pairs(keywords: &[Keyword]) -> (Pairs, Pairs) {
    // The shortest keywords are the first group: if one of them starts earlier, anything can be the last two bytes.
    let (shortest, mut others): (Vec<_>, Vec<_>) =
        keywords.iter().partition(|keyword| keyword.text.len() == SHORTEST_KEYWORD);
    let (mut first, mut last) = (Pairs::new(0), Pairs::new(0b10));
    // Keywords that begin alike come into one group, which then has fewer pairs.
    others.sort_by_key(|keyword| &keyword.text);
    let groups = others.chunks(others.len().div_ceil(GROUPS - 1).max(1));
    for (group, keywords) in iter::once(&*shortest).chain(groups).enumerate() {
        let here = 1 << (2 * group);
        let earlier = here << 1;
        for keyword in keywords {
            let [a, b, c, d] = [0, 1, 2, 3].map(|at| keyword.bytes_at(at));
            first.add(&a, &b, here);
            last.add(&c, &d, here);
            first.add(&b, &c, earlier);
            if group > 0 {
                last.add(&d, &keyword.bytes_at(4), earlier);
            }
        }
    }
    (first, last)
}

/// The groups of each pair of bytes.
#[derive(Debug)]
struct Pairs(Box<[u8; 1 << 16]>);

impl Pairs {
    /// Makes a table in which all pairs have the same groups.
    fn new(groups: u8) -> Self {
        let groups = vec![groups; 1 << 16].into_boxed_slice();
        Self(groups.try_into().expect("there is one for each pair"))
    }

    /// Adds all pairs of a byte of `first` and one of `second` to some groups.
    fn add(&mut self, first: &[u8], second: &[u8], groups: u8) {
        for &first in first {
            for &second in second {
                self.0[usize::from(u16::from_le_bytes([first, second]))] |= groups;
            }
        }
    }

    fn groups(&self, pair: [u8; 2]) -> u8 {
        self.0[usize::from(u16::from_le_bytes(pair))]
    }
}

fn keywords_of(index: usize, rule: &Rule) -> impl Iterator<Item = Keyword> {
    // A built-in rule names the forms of its keywords itself.
    let escaped = rule.keywords.iter().filter(|_| rule.is_open_ended).filter_map(|text| json_escaped(text));
    let texts = rule.keywords.iter().cloned().chain(escaped.map(Text::from));
    texts.map(move |text| Keyword::new(text.as_bytes(), rule.ignore_case, Meaning::Rule(index)))
}

/// Returns a text as it is written in a JSON string; `None` if it is the same there.
fn json_escaped(text: &str) -> Option<String> {
    let has_escape = text.contains(|character| matches!(character, '"' | '\\' | '\0'..='\x1f'));
    has_escape.then(|| text.chars().map(json_escaped_character).collect())
}

fn json_escaped_character(character: char) -> String {
    match character {
        '"' | '\\' => format!("\\{character}"),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\0'..='\x1f' => format!("\\u{:04x}", u32::from(character)),
        _ => character.to_string(),
    }
}

impl Keyword {
    fn new(text: &[u8], ignore_case: bool, meaning: Meaning) -> Self {
        let hash = hash_of_start(text).expect("short keywords are refused when rules are read");
        let bytes = u32::try_from(text.len().min(8)).unwrap_or(8);
        let start_mask = u64::MAX >> (64 - 8 * bytes);
        Self { hash, start: folded_start(text), start_mask, text: text.into(), ignore_case, meaning }
    }

    /// Returns the bytes that this keyword may have at an offset; after its end, any.
    fn bytes_at(&self, at: usize) -> Vec<u8> {
        match self.text.get(at) {
            Some(byte) if self.ignore_case => vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()],
            Some(&byte) => vec![byte],
            None => (0..=u8::MAX).collect(),
        }
    }

    fn starts(&self, text: &[u8]) -> bool {
        let Some(start) = text.get(..self.text.len()) else { return false };
        if !self.ignore_case {
            return *start == *self.text;
        }
        start.eq_ignore_ascii_case(&self.text)
    }
}

/// Returns the first eight bytes of a text, so that those of texts which differ in the case of letters alone are equal.
#[inline]
fn folded_start(text: &[u8]) -> u64 {
    let bytes = text.first_chunk().copied().unwrap_or_else(|| {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text);
        bytes
    });
    u64::from_le_bytes(bytes) | u64::from_le_bytes([0x20; 8])
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
        let prefilter = Prefilter::new(&rules, &JsonForm::default());
        for (index, rule) in rules.iter().enumerate() {
            for (keyword, before) in
                rule.keywords.iter().flat_map(|keyword| (0..2 * CHUNK).map(move |before| (keyword, before)))
            {
                for behind in ["", "x", " and much more text"] {
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
        let prefilter = Prefilter::new(&rules::built_in(), &JsonForm::default());
        let hits = |text: &str| {
            let mut count = 0;
            prefilter.for_each_hit(text.as_bytes(), |_| count += 1);
            count
        };
        assert_eq!((hits("ghp_"), hits("GHP_"), hits("passwd"), hits("PassWD")), (1, 0, 1, 1));
    }

    #[test]
    fn what_rules_do_not_see_is_seen_at_every_offset() {
        let prefilter = Prefilter::new(&rules::built_in(), &JsonForm::default());
        for (sign, escape, hidden) in [
            ("", false, false),
            (r"\u00", true, false),
            ("[masked: ", false, false),
            ("-----BEGIN ", false, true),
            ("Private-Lines:", false, true),
            (r#"{"bytes":""#, false, true),
        ] {
            for before in 0..2 * CHUNK {
                let text = format!("{}{sign} and much more text", " ".repeat(before));
                let seen = prefilter.for_each_hit(text.as_bytes(), |_| ());
                let mark = sign.starts_with("[masked");
                assert_eq!(seen, Signs { escape, mark, hidden, ..Signs::default() }, "{text}");
            }
        }
    }

    #[test]
    fn texts_that_may_have_been_cut_are_seen_at_every_offset() {
        let form = JsonForm { cut: &[("title", 8)], ..JsonForm::default() };
        let prefilter = Prefilter::new(&rules::built_in(), &form);
        for (json, cut) in [
            (r#""title":"a…""#, Some("a…")),
            (r#""title": "abcdefgh""#, Some("abcdefgh")),
            (r#""title":"\"abcdef""#, Some(r#"\"abcdef"#)),
            (r#""title":"abcdefg""#, None),
            (r#""title":"茶茶茶""#, None),
            (r#""title":null"#, None),
            (r#""titles":"abcdefgh""#, None),
        ] {
            for before in 0..2 * CHUNK {
                let text = format!("{}{json} and much more text", " ".repeat(before));
                let seen = prefilter.for_each_hit(text.as_bytes(), |_| ());
                let found: Vec<_> = seen.cuts.iter().map(|cut| &text[cut.range.clone()]).collect();
                assert_eq!(found, Vec::from_iter(cut), "{text}");
            }
        }
    }
}
