//! Finds the ends of values like [`scan`](super::scan), and checks their grammar in the same pass.
//!
//! Every function returns `None` for bytes that are not a valid value. It may also return `None` for a valid value: white space
//! inside a container and containers nested more than 63 deep are left to `serde_json`, which reads every byte on its own. A
//! value that is accepted here is one that `serde_json` accepts.
//!
//! A container is read 64 bytes at a time, as in [`block`](super::block). Without white space, whether a token may be in its
//! place depends on the byte before it and on whether it is in an object, so one operation on masks checks all tokens of a block
//! at once. Only brackets, words and numbers, and escapes other than `\n` are looked at one by one.

use wide::u8x16;

use super::block::{BLOCK, block_at, bytes_equal, escaped_bytes, mask_of, parities};

/// The number of bytes of a string without escapes that are examined together.
const SHORT: usize = 32;

/// Returns the position after the valid value that starts at `at`.
#[inline]
pub(super) fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b'{' | b'[' => container_end(bytes, at),
        _ => scalar_end(bytes, at),
    }
}

/// Returns the position after the valid string whose opening quote is at `at`.
///
/// This function handles strings without escapes, as nearly all are, and calls [`escaped_string_end`] for the others.
#[inline]
pub(super) fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut from = at + 1;
    while let Some(block) = bytes.get(from..)?.first_chunk::<SHORT>() {
        let (lanes, _) = block.as_chunks::<16>();
        let special = ends_plain_text(lanes[0]) | ends_plain_text(lanes[1]) << 16;
        if special != 0 {
            let first = from + special.trailing_zeros() as usize;
            if bytes[first] == b'"' {
                return Some(first + 1);
            }
            break;
        }
        from += SHORT;
    }
    escaped_string_end(bytes, from)
}

/// Returns a mask of the quotes, backslashes and control characters.
#[inline]
fn ends_plain_text(lane: [u8; 16]) -> u32 {
    let lane = u8x16::from(lane);
    // With this bit flipped, a quote is a space, and control characters still come before it.
    let flipped = lane ^ u8x16::splat(b'"' ^ b' ');
    let ends = flipped.min(u8x16::splat(b' ')).simd_eq(flipped);
    (ends | equal(lane, b'\\')).to_bitmask()
}

/// Returns the position after the valid string that continues at `at`, where no byte is escaped.
#[inline(never)]
fn escaped_string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut padding = [0; BLOCK];
    let mut escaped = 0;
    while let Some(block) = block_at(bytes, at, &mut padding) {
        let text = Text::of(block, escaped);
        let length = text.quotes.trailing_zeros();
        if !text.is_valid(lowest(length), bytes, at) {
            return None;
        }
        if text.quotes != 0 {
            return Some(at + length as usize + 1);
        }
        escaped = text.escapes_next;
        at += BLOCK;
    }
    None
}

/// Returns the position after the valid word or number at `at`.
fn scalar_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b't' => word_end(bytes, at, b"true"),
        b'f' => word_end(bytes, at, b"false"),
        b'n' => word_end(bytes, at, b"null"),
        b'-' => integer_end(bytes, at + 1),
        _ => integer_end(bytes, at),
    }
}

/// Returns the position after a word, if it is at `at`.
fn word_end(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes[at..].starts_with(word).then_some(at + word.len())
}

/// Returns the position after the number whose first digit is at `at`.
fn integer_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = match bytes.get(at)? {
        b'0' => at + 1,
        _ => digits_end(bytes, at)?,
    };
    if bytes.get(end) == Some(&b'.') {
        end = digits_end(bytes, end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
        end = digits_end(bytes, end + 1 + usize::from(signed))?;
    }
    Some(end)
}

/// Returns the position after one or more digits.
fn digits_end(bytes: &[u8], at: usize) -> Option<usize> {
    let length = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (length > 0).then_some(at + length)
}

/// Returns the position after the valid container whose opening bracket is at `at`.
fn container_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut state = State::before_container();
    let mut padding = [0; BLOCK];
    while let Some(block) = block_at(bytes, at, &mut padding) {
        let text = Text::of(block, state.escaped);
        // Most blocks are inside a string. No token is before the next block then, as none was before this one.
        if state.in_string != 0 && text.is_plain() {
            state.escaped = text.escapes_next;
            at += BLOCK;
            continue;
        }
        match state.read(&text, bytes, at) {
            Outcome::Open => at += BLOCK,
            Outcome::Closed(length) => return Some(at + length),
            Outcome::Rejected => return None,
        }
    }
    None
}

/// The result of reading a block.
enum Outcome {
    /// The container continues in the next block.
    Open,
    /// The container ends after this many bytes of the block.
    Closed(usize),
    /// The container is not valid, or cannot be checked here.
    Rejected,
}

/// The state before a block.
struct State {
    /// The open containers, from the lowest bit outwards: one for an object, zero for an array. The highest one marks the end.
    containers: u64,
    /// All ones if the block starts inside a string.
    in_string: u64,
    /// One if the first byte of the block is escaped.
    escaped: u64,
    /// One if the block starts inside a key.
    in_key: u64,
    /// The tokens of the block before. Only the last byte of each mask counts.
    before: Tokens,
}

/// Masks of the bytes outside of strings by what they allow after them.
#[derive(Clone, Copy, Default)]
struct Tokens {
    /// Opening brackets.
    opens: u64,
    commas: u64,
    colons: u64,
    /// The closing quotes of keys.
    keys: u64,
    /// The last bytes of values; for words and numbers, all bytes.
    values: u64,
    /// The bytes of words and numbers.
    scalars: u64,
    /// The bytes whose innermost container is an object. An opening bracket belongs to the container that it opens.
    objects: u64,
}

/// Returns a mask of the bytes that follow those of `mask`; `before` is the same mask of the block before.
#[inline]
fn behind(mask: u64, before: u64) -> u64 {
    mask << 1 | before >> (BLOCK - 1)
}

/// Returns the lowest `count` ones.
#[inline]
fn lowest(count: u32) -> u64 {
    1_u64.checked_shl(count).map_or(u64::MAX, |bit| bit - 1)
}

impl State {
    /// Returns the state before a container, which may be where a value is expected, as after a colon.
    fn before_container() -> Self {
        let before = Tokens { colons: u64::MAX, ..Tokens::default() };
        Self { containers: 1, in_string: 0, escaped: 0, in_key: 0, before }
    }

    /// Reads one block, which is at `at` of `bytes`.
    fn read(&mut self, text: &Text<'_>, bytes: &[u8], at: usize) -> Outcome {
        let block = text.block;
        let strings = parities(text.quotes) ^ self.in_string;
        let (opening, closing) = (text.quotes & strings, text.quotes & !strings);
        let outside = !(strings | closing);
        // The two kinds of brackets differ in one bit.
        let opens = mask_of(block, |lane| equal(lane | u8x16::splat(0x20), b'{')) & outside;
        let closes = mask_of(block, |lane| equal(lane | u8x16::splat(0x20), b'}')) & outside;
        let Some((objects, length)) = self.read_brackets(block, opens, closes) else {
            return Outcome::Rejected;
        };
        let commas = bytes_equal(block, b',') & outside;
        let colons = bytes_equal(block, b':') & outside;
        let scalars = outside & !(opens | closes | commas | colons);

        let before = self.before;
        let first_scalars = scalars & !behind(scalars, before.scalars);
        let after_opens = behind(opens, before.opens);
        let after_starts = after_opens | behind(commas, before.commas);
        let starts_in_objects = after_starts & behind(objects, before.objects);
        // A sum with a mask of strings carries from the opening quote of each key through the key to its closing quote.
        let (sum, overflow) = strings.overflowing_add(opening & starts_in_objects);
        let (sum, overflow_again) = sum.overflowing_add(self.in_key);
        let keys = sum & !strings;
        let values = closes | closing & !keys | scalars;
        let after_values = behind(values, before.values);

        let misplaced = (colons ^ behind(keys, before.keys))
            | commas & !after_values
            | closes & !(after_values | after_opens)
            | (opens | opening | first_scalars) & !(after_starts | behind(colons, before.colons))
            | (opens | first_scalars) & starts_in_objects;
        let inside = length.map_or(u64::MAX, lowest);
        if misplaced & inside != 0
            || !text.is_valid(inside, bytes, at)
            || !are_scalars(first_scalars & inside, bytes, at)
        {
            return Outcome::Rejected;
        }
        if let Some(length) = length {
            return Outcome::Closed(length as usize);
        }
        self.in_string = (strings >> (BLOCK - 1)).wrapping_neg();
        self.escaped = text.escapes_next;
        self.in_key = u64::from(overflow | overflow_again);
        self.before = Tokens { opens, commas, colons, keys, values, scalars, objects };
        Outcome::Open
    }

    /// Reads the brackets of a block. Returns the mask of the bytes in objects, and the length up to the end of the container if
    /// it ends in this block.
    #[inline]
    fn read_brackets(&mut self, block: &[u8; BLOCK], opens: u64, closes: u64) -> Option<(u64, Option<u32>)> {
        let mut objects = (self.before.objects >> (BLOCK - 1)).wrapping_neg();
        let mut brackets = opens | closes;
        while brackets != 0 {
            let at = brackets.trailing_zeros();
            let is_object = u64::from(block[at as usize] >> 5 & 1);
            if opens >> at & 1 != 0 {
                if self.containers >> 63 != 0 {
                    return None;
                }
                self.containers = self.containers << 1 | is_object;
            } else {
                if self.containers & 1 != is_object {
                    return None;
                }
                self.containers >>= 1;
                if self.containers == 1 {
                    return Some((objects, Some(at + 1)));
                }
            }
            let from_here = u64::MAX << at;
            objects = objects & !from_here | (self.containers & 1).wrapping_neg() & from_here;
            brackets &= brackets - 1;
        }
        Some((objects, None))
    }
}

/// Returns whether a valid word or number begins at each of the `first` bytes, and nothing but a comma or a bracket follows it.
#[inline]
fn are_scalars(mut first: u64, bytes: &[u8], at: usize) -> bool {
    while first != 0 {
        let end = scalar_end(bytes, at + first.trailing_zeros() as usize);
        if !end.and_then(|end| bytes.get(end)).is_some_and(|next| matches!(next, b',' | b'}' | b']')) {
            return false;
        }
        first &= first - 1;
    }
    true
}

/// The masks of a block that matter in strings.
struct Text<'a> {
    block: &'a [u8; BLOCK],
    /// Quotes that are not escaped.
    quotes: u64,
    /// The bytes after a backslash that is not escaped itself.
    escaped: u64,
    /// One if the first byte after the block is escaped.
    escapes_next: u64,
    /// Quotes and backslashes, which may be escaped.
    escapable: u64,
}

impl<'a> Text<'a> {
    #[inline]
    fn of(block: &'a [u8; BLOCK], escaped: u64) -> Self {
        let slashes = bytes_equal(block, b'\\');
        let quotes = bytes_equal(block, b'"');
        let (escaped, escapes_next) = escaped_bytes(slashes, escaped);
        Self { block, quotes: quotes & !escaped, escaped, escapes_next, escapable: slashes | quotes }
    }

    /// Returns whether the block is text of a string which does not end in it, with no other escapes than the usual ones.
    #[inline]
    fn is_plain(&self) -> bool {
        let letters = mask_of(self.block, |lane| equal(lane, b'n') | equal(lane, b't'));
        (self.quotes | self.escaped & !(self.escapable | letters)) == 0 && !self.has_control()
    }

    /// Returns whether the bytes in `mask` have no control character and no bad escape. The block is at `at` of `bytes`.
    #[inline]
    fn is_valid(&self, mask: u64, bytes: &[u8], at: usize) -> bool {
        if self.has_control() && mask_of(self.block, is_control) & mask != 0 {
            return false;
        }
        let letters = self.escaped & mask & !self.escapable;
        letters == 0 || are_escapes(letters & !bytes_equal(self.block, b'n'), bytes, at)
    }

    /// Returns whether there is a control character in the block: a byte below 0x20, which is not allowed in strings.
    #[inline]
    fn has_control(&self) -> bool {
        let (lanes, _) = self.block.as_chunks::<16>();
        let [first, second, third, fourth] = [lanes[0], lanes[1], lanes[2], lanes[3]].map(u8x16::from);
        is_control(first.min(second).min(third.min(fourth))).to_bitmask() != 0
    }
}

/// Returns whether the bytes of a mask may follow a backslash.
#[inline]
fn are_escapes(mut letters: u64, bytes: &[u8], at: usize) -> bool {
    while letters != 0 {
        let at = at + letters.trailing_zeros() as usize;
        let is_valid = match bytes.get(at) {
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'/') => true,
            Some(b'u') => {
                bytes.get(at + 1..at + 5).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            }
            _ => false,
        };
        if !is_valid {
            return false;
        }
        letters &= letters - 1;
    }
    true
}

#[inline]
fn equal(lane: u8x16, byte: u8) -> u8x16 {
    lane.simd_eq(u8x16::splat(byte))
}

#[inline]
fn is_control(lane: u8x16) -> u8x16 {
    lane.min(u8x16::splat(0x1F)).simd_eq(lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a text is accepted here if and only if `serde_json` accepts it.
    #[track_caller]
    fn assert_checked(text: &[u8]) {
        let is_valid = serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
        let accepted = value_end(text, 0) == Some(text.len());
        assert_eq!(accepted, is_valid, "{}", String::from_utf8_lossy(text));
    }

    /// Calls `check` with every sequence of up to `length` tokens.
    fn sequences(tokens: &[&str], length: usize, sequence: &mut String, check: &mut impl FnMut(&str)) {
        check(sequence);
        if length == 0 {
            return;
        }
        for token in tokens {
            let before = sequence.len();
            sequence.push_str(token);
            sequences(tokens, length - 1, sequence, check);
            sequence.truncate(before);
        }
    }

    #[test]
    fn every_short_sequence_of_tokens_is_accepted_if_it_is_valid() {
        let tokens = ["{", "}", "[", "]", ",", ":", "\"a\"", "1", "null"];
        // The text before the tokens moves them over the borders of blocks.
        let mut pad = 0;
        for open in ["{", "[", "{\"a\":1,", "{\"a\":", "[1,", "[{\"a\":1}"] {
            sequences(&tokens, 4, &mut String::from(open), &mut |sequence| {
                assert_checked(sequence.as_bytes());
                pad = (pad + 1) % 67;
                assert_checked(format!("[\"{}\",{sequence}]", "x".repeat(pad)).as_bytes());
            });
        }
    }

    #[test]
    fn every_short_number_is_accepted_if_it_is_valid() {
        let tokens = ["-", "+", "0", "1", "9", ".", "e", "E", "x"];
        sequences(&tokens, 5, &mut String::new(), &mut |number| {
            assert_checked(number.as_bytes());
            assert_checked(format!("[{number}]").as_bytes());
        });
    }

    #[test]
    fn every_byte_is_checked_everywhere_in_a_string_and_after_every_backslash() {
        let key = br#"{"0123456789012345678901234567890123456789":["012345678901234567890123456789012345678901234567890123456789"]}"#;
        for at in 0..key.len() {
            for byte in 0..=u8::MAX {
                let mut text = key.to_vec();
                text[at] = byte;
                assert_or_left_to_serde(&text);
                text.insert(at, b'\\');
                assert_or_left_to_serde(&text);
                text.splice(at + 2..at + 2, *b"d8Fg");
                assert_or_left_to_serde(&text);
            }
        }
    }

    #[test]
    fn every_byte_is_checked_inside_a_long_string_and_after_a_backslash_there() {
        let text = format!("[\"{}\"]", "x".repeat(300));
        for at in 60..200 {
            for byte in 0..=u8::MAX {
                let mut text = text.clone().into_bytes();
                text[at] = byte;
                assert_checked(&text);
                text[at - 1] = b'\\';
                assert_checked(&text);
            }
        }
    }

    /// Checks the same, but white space in containers may be left to `serde_json`.
    #[track_caller]
    fn assert_or_left_to_serde(text: &[u8]) {
        let is_valid = serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
        let accepted = value_end(text, 0) == Some(text.len());
        let has_space = text.iter().any(u8::is_ascii_whitespace);
        assert!(accepted == is_valid || is_valid && has_space, "{}", String::from_utf8_lossy(text));
    }

    #[test]
    fn escapes_are_checked_wherever_they_are() {
        let escapes = [r"\n", r#"\""#, r"\\", r"\/", r"\u00aF", r"\ud800", r"\u12g4", r"\x", r"\u123", r"\"];
        for escape in escapes {
            for pad in 0..140 {
                let text = format!("\"{}{escape}{}\"", "x".repeat(pad), "y".repeat(pad % 7));
                assert_checked(text.as_bytes());
                assert_checked(format!("[{text}]").as_bytes());
                assert_checked(format!("{{{text}:1}}").as_bytes());
                assert_checked(format!("\"{}{escape}", "x".repeat(pad)).as_bytes());
            }
        }
    }

    #[test]
    fn deep_containers_are_left_to_serde() {
        for depth in 1..100 {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            let accepted = value_end(text.as_bytes(), 0).is_some();
            assert_eq!(accepted, depth <= 63, "{depth}");
            let objects = "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
            assert_eq!(value_end(objects.as_bytes(), 0).is_some(), depth <= 63, "{depth}");
        }
        assert_eq!(value_end(b"[{]}", 0), None);
        assert_eq!(value_end(b"{\"a\":[1}]", 0), None);
    }

    #[test]
    fn bytes_after_the_value_do_not_matter() {
        for value in [r#"{"a":[1,2]}"#, r#"["x"]"#, r#""text""#, "12", "true"] {
            for rest in ["\n", ",\"b\":{}}", "]\\\"", " \u{1}\u{1}{", "\"open"] {
                let text = format!("{value}{rest}");
                assert_eq!(value_end(text.as_bytes(), 0), Some(value.len()), "{text}");
            }
        }
    }
}
