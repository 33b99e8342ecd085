//! The scanner: finds the ends of strings, values and containers.
//!
//! Most bytes of a transcript are inside containers and strings that are skipped. [`block`](super::block) finds the ends of
//! containers; this module finds the ends of strings, 32 bytes at a time. The few bytes between them are read one by one.

use wide::u8x16;

use super::block::container_end;
use super::{JsonStr, Value, check};

/// The number of bytes of a string that are examined together.
const BLOCK: usize = 32;

/// How strings and values are skipped.
pub(crate) trait Skip {
    /// Returns the position after the string whose opening quote is at `at`.
    fn string_end(bytes: &[u8], at: usize) -> Option<usize>;

    /// Returns the position after the value that starts at `at`.
    fn value_end(bytes: &[u8], at: usize) -> Option<usize>;
}

/// Finds the ends of values and does not check what is in them.
pub(crate) struct Unchecked;

/// Finds the ends of values and checks their grammar. Returns `None` for all values that are not valid, and for a few that are
/// (see [`check`]).
pub(crate) struct Checked;

impl Skip for Unchecked {
    #[inline]
    fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
        string_end(bytes, at)
    }

    #[inline]
    fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
        value_end(bytes, at)
    }
}

impl Skip for Checked {
    #[inline]
    fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
        check::string_end(bytes, at)
    }

    #[inline]
    fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
        check::value_end(bytes, at)
    }
}

/// Returns the first position from `at` on that is not JSON white space.
pub(crate) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// Returns the position after the value that starts at `at`, or `None` if it does not end.
pub(crate) fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b'{' => container_end(bytes, at, b'{', b'}'),
        b'[' => container_end(bytes, at, b'[', b']'),
        _ => scalar_end(bytes, at),
    }
}

/// Returns the position after the string whose opening quote is at `at`.
///
/// This function handles strings without escaped quotes, as nearly all are, and calls [`escaped_string_end`] for the others.
#[inline]
pub(crate) fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut from = at + 1;
    while let Some(block) = bytes.get(from..)?.first_chunk::<BLOCK>() {
        let quotes = quotes_in(block);
        if quotes != 0 {
            let quote = from + quotes.trailing_zeros() as usize;
            if bytes[quote - 1] == b'\\' {
                break;
            }
            return Some(quote + 1);
        }
        from += BLOCK;
    }
    escaped_string_end(bytes, at, from)
}

/// Returns the position after the string whose opening quote is at `at`; there is no quote before `from`.
///
/// Only quotes stop the search; the backslashes before a quote say whether it is escaped.
#[inline(never)]
fn escaped_string_end(bytes: &[u8], at: usize, mut from: usize) -> Option<usize> {
    while let Some(block) = bytes.get(from..)?.first_chunk::<BLOCK>() {
        let mut quotes = quotes_in(block);
        while quotes != 0 {
            let quote = from + quotes.trailing_zeros() as usize;
            if !is_escaped(&bytes[at + 1..quote]) {
                return Some(quote + 1);
            }
            quotes &= quotes - 1;
        }
        from += BLOCK;
    }
    let mut quotes = (from..bytes.len()).filter(|&quote| bytes[quote] == b'"');
    quotes.find(|&quote| !is_escaped(&bytes[at + 1..quote])).map(|quote| quote + 1)
}

/// Returns whether the byte after `before` is escaped: an odd number of backslashes precedes it.
#[inline]
fn is_escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// Returns a mask with a bit for each quote.
#[inline]
fn quotes_in(block: &[u8; BLOCK]) -> u32 {
    let (lanes, _) = block.as_chunks::<16>();
    let quotes = [lanes[0], lanes[1]].map(|lane| u8x16::from(lane).simd_eq(u8x16::splat(b'"')).to_bitmask());
    quotes[0] | quotes[1] << 16
}

/// Returns the position after the word or number at `at`.
fn scalar_end(bytes: &[u8], at: usize) -> Option<usize> {
    let length = bytes[at..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        .count();
    (length > 0).then_some(at + length)
}

/// Calls `visit` with each key of the object at `at` and the position of its value; `visit` returns the position after the
/// value. Returns the position after the object, or `None` if the object is malformed.
#[inline]
pub(crate) fn walk_object<'a, S: Skip>(
    bytes: &'a [u8],
    at: usize,
    mut visit: impl FnMut(JsonStr<'a>, usize) -> Option<usize>,
) -> Option<usize> {
    let mut walk = Walk { bytes, at: at + 1, first: true };
    loop {
        match walk.next_key::<S>() {
            Step::At((key, value)) => walk.at = visit(key, value)?,
            Step::End => return Some(walk.at),
            Step::Broken => return None,
        }
    }
}

/// A position between the members of an object or the items of an array.
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    first: bool,
}

/// What comes next in a container.
pub(crate) enum Step<T> {
    /// A member or an item.
    At(T),
    /// The closing bracket.
    End,
    /// Bytes that are not allowed there.
    Broken,
}

impl<'a> Walk<'a> {
    /// Starts after the opening bracket, or at the end if `bytes` do not begin with it.
    pub(super) fn new(bytes: &'a [u8], open: u8) -> Self {
        let at = if bytes.first() == Some(&open) { 1 } else { bytes.len() };
        Self { bytes, at, first: true }
    }

    /// Starts at a key in the middle of an object.
    pub(crate) fn at_key(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, first: true }
    }

    /// Returns the position. It is after the object once [`next_key`](Self::next_key) has returned [`Step::End`].
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Continues at a position, which is after a value.
    pub(crate) fn move_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(crate) fn next_member(&mut self) -> Option<(JsonStr<'a>, Value<'a>)> {
        match self.next_key::<Unchecked>() {
            Step::At((key, start)) => self.value_at(start).map(|value| (key, value)),
            Step::End | Step::Broken => None,
        }
    }

    pub(super) fn next_item(&mut self) -> Option<Value<'a>> {
        match self.next_element(b']') {
            Step::At(start) => self.value_at(start),
            Step::End | Step::Broken => None,
        }
    }

    fn value_at(&mut self, start: usize) -> Option<Value<'a>> {
        let end = value_end(self.bytes, start);
        self.at = end.unwrap_or(self.bytes.len());
        end.map(|end| Value::trusted(&self.bytes[start..end]))
    }

    /// Returns the next key and the position of its value.
    #[expect(clippy::inline_always, reason = "a call for each key costs 5 % of the time of reading heads")]
    #[inline(always)]
    pub(crate) fn next_key<S: Skip>(&mut self) -> Step<(JsonStr<'a>, usize)> {
        let start = match self.next_element(b'}') {
            Step::At(start) => start,
            Step::End => return Step::End,
            Step::Broken => return Step::Broken,
        };
        let Some(end) = self.key_end::<S>(start) else { return Step::Broken };
        let colon = skip_space(self.bytes, end);
        if self.bytes.get(colon) != Some(&b':') {
            return Step::Broken;
        }
        Step::At((JsonStr::new(&self.bytes[start + 1..end - 1]), skip_space(self.bytes, colon + 1)))
    }

    #[inline]
    fn key_end<S: Skip>(&self, start: usize) -> Option<usize> {
        if self.bytes.get(start) == Some(&b'"') { S::string_end(self.bytes, start) } else { None }
    }

    /// Skips the comma or the closing bracket; returns the position of the next element.
    #[inline]
    pub(super) fn next_element(&mut self, close: u8) -> Step<usize> {
        let at = skip_space(self.bytes, self.at);
        match self.bytes.get(at) {
            Some(&byte) if byte == close => {
                self.at = at + 1;
                Step::End
            }
            Some(_) if std::mem::take(&mut self.first) => Step::At(at),
            Some(b',') => Step::At(skip_space(self.bytes, at + 1)),
            _ => Step::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second opinion, one byte at a time.
    fn naive_container_end(bytes: &[u8]) -> Option<usize> {
        let (open, close) = if bytes[0] == b'{' { (b'{', b'}') } else { (b'[', b']') };
        let (mut depth, mut in_string, mut escaped) = (0, false, false);
        for (at, &byte) in bytes.iter().enumerate() {
            let literal = std::mem::take(&mut escaped);
            match byte {
                b'\\' if in_string && !literal => escaped = true,
                b'"' if !literal => in_string = !in_string,
                _ if in_string => {}
                _ if byte == open => depth += 1,
                _ if byte == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns an endless supply of bytes that matter to the scanner.
    fn random_bytes() -> impl Iterator<Item = u8> {
        let alphabet = br#"{}[]"\ax,:"#;
        let mut seed = 42_u64;
        std::iter::repeat_with(move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            alphabet[(seed >> 33) as usize % alphabet.len()]
        })
    }

    fn assert_ends_agree(mut text: Vec<u8>, round: usize) {
        text.insert(0, if round.is_multiple_of(2) { b'{' } else { b'[' });
        // Long runs of plain text push the interesting bytes over block borders.
        text.splice(1..1, std::iter::repeat_n(b' ', round % 67));
        assert_eq!(value_end(&text, 0), naive_container_end(&text), "{}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn containers_end_where_a_byte_by_byte_reading_says() {
        let mut random = random_bytes();
        for round in 0..20_000 {
            assert_ends_agree(random.by_ref().take(round % 300).collect(), round);
        }
    }

    /// Backslashes outside strings send the scanner to its byte-by-byte path, so here there are none.
    #[test]
    fn containers_with_sound_strings_end_there_too() {
        let mut random = random_bytes();
        for round in 0..20_000 {
            let (mut in_string, mut escaped) = (false, false);
            let mut keep = |byte: u8| {
                let literal = std::mem::take(&mut escaped);
                escaped = byte == b'\\' && in_string && !literal;
                in_string ^= byte == b'"' && !literal;
                byte != b'\\' || in_string
            };
            let text = random.by_ref().filter(|&byte| keep(byte)).take(round % 300);
            assert_ends_agree(text.collect(), round);
        }
    }

    #[test]
    fn quotes_behind_any_number_of_backslashes_are_told_apart() {
        for slashes in 0..200 {
            let text = format!("{{\"k\":\"{}\"}}\"}}", "\\".repeat(slashes));
            let end = naive_container_end(text.as_bytes());
            assert_eq!(value_end(text.as_bytes(), 0), end, "{slashes} backslashes");
            let string = format!("\"{}\" \"", "\\".repeat(slashes));
            let expected = if slashes % 2 == 0 { slashes + 2 } else { slashes + 4 };
            assert_eq!(string_end(string.as_bytes(), 0), Some(expected), "{slashes} backslashes");
        }
    }
}
