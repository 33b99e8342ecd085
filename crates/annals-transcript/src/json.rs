//! Reads JSON in place: values are slices of the bytes.
//!
//! A [`Value`] is a slice of its line. Looking up a member or an item skips everything else without building a tree, so key
//! order, number spelling, duplicate keys and lone surrogates stay as they are. Only strings and brackets are examined;
//! [`Value::is_valid`] checks the whole grammar.

mod block;
mod check;
mod multiline;
mod scan;

use std::borrow::Cow;
use std::fmt;

use wide::u8x16;

pub(crate) use block::{BLOCK, bytes_equal, mask_of};
pub(crate) use multiline::{MultilineObject, ObjectState};
pub(crate) use scan::{Checked, Skip, Step, Unchecked, Walk, skip_space, value_end, walk_object};

/// One JSON value, as its bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Value<'a>(&'a [u8]);

/// The bytes between the quotes of a JSON string, not decoded.
///
/// Two of them are equal if they decode to the same text, however they are escaped.
#[derive(Clone, Copy)]
pub struct JsonStr<'a>(&'a [u8]);

impl<'a> Value<'a> {
    /// Returns the value in `bytes`, without the white space around it; `None` if there is not exactly one.
    ///
    /// ```
    /// # use annals_transcript::json::Value;
    /// let value = Value::new(br#" {"a": [1, 2.50]} "#).unwrap();
    /// assert_eq!(value.get("a").unwrap().bytes(), b"[1, 2.50]");
    /// assert!(Value::new(b"{} {}").is_none());
    /// ```
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let start = skip_space(bytes, 0);
        let end = value_end(bytes, start)?;
        (skip_space(bytes, end) == bytes.len()).then(|| Self(&bytes[start..end]))
    }

    /// Wraps bytes that are known to be one value, such as those of a [`BlockSpan`](crate::session::BlockSpan).
    pub fn trusted(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the value.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns whether the bytes are valid JSON. Inside strings, lone surrogates and bytes that are not UTF-8 count as valid,
    /// because readers replace them.
    pub fn is_valid(self) -> bool {
        check::value_end(self.0, 0) == Some(self.0.len())
            || serde_json::from_slice::<serde::de::IgnoredAny>(self.0).is_ok()
    }

    /// Returns whether the value is an object.
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Returns whether the value is an array.
    pub fn is_array(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Returns whether the value is `null`.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// Returns whether the value is true as a condition in JavaScript.
    pub fn is_truthy(self) -> bool {
        match self.0 {
            b"null" | b"false" | b"\"\"" => false,
            _ => self.as_f64() != Some(0.0),
        }
    }

    /// Returns the bytes of the value as the text of a string.
    pub(crate) fn spelling(self) -> JsonStr<'a> {
        JsonStr(self.0)
    }

    /// Returns the member named `key`. As in JavaScript, the last of several members with the same key counts.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        self.members().filter(|(name, _)| name == key).last().map(|(_, value)| value)
    }

    /// Returns the members of an object in order, duplicates included; other values have none.
    pub fn members(self) -> Members<'a> {
        Members(Walk::new(self.0, b'{'))
    }

    /// Returns the items of an array; other values have none.
    pub fn items(self) -> Items<'a> {
        Items(Walk::new(self.0, b'['))
    }

    /// Calls `visit` with each item of an array and what `add` gathered from its members, in one pass over the bytes. The value
    /// must be valid JSON.
    pub(crate) fn walk_valid_items<T: Default>(
        self,
        add: impl Fn(&mut T, JsonStr<'a>, Value<'a>),
        mut visit: impl FnMut(Value<'a>, T),
    ) {
        let mut walk = Walk::new(self.0, b'[');
        while let Step::At(start) = walk.next_element(b']') {
            let mut gathered = T::default();
            let end = match self.0.get(start) {
                Some(b'{') => walk_object::<Unchecked>(self.0, start, |key, value| {
                    let end = value_end(self.0, value)?;
                    add(&mut gathered, key, Value(&self.0[value..end]));
                    Some(end)
                }),
                _ => value_end(self.0, start),
            };
            let Some(end) = end else { return };
            visit(Value(&self.0[start..end]), gathered);
            walk.move_to(end);
        }
    }

    /// Returns the string, undecoded, if the value is one.
    pub fn as_str(self) -> Option<JsonStr<'a>> {
        let inner = self.0.strip_prefix(b"\"")?;
        Some(JsonStr(inner.strip_suffix(b"\"").unwrap_or(inner)))
    }

    /// Returns the text of a string.
    pub fn as_text(self) -> Option<Cow<'a, str>> {
        self.as_str().map(JsonStr::decode)
    }

    /// Returns the boolean, if the value is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// Returns the number as a float, if the value is one.
    pub fn as_f64(self) -> Option<f64> {
        let digits = matches!(self.0.first(), Some(b'-' | b'0'..=b'9'));
        if digits { std::str::from_utf8(self.0).ok()?.parse().ok() } else { None }
    }

    /// Returns a whole number that is not negative, in any spelling (`100`, `1e2`, `100.0`).
    pub fn as_u64(self) -> Option<u64> {
        if let Some(number) = std::str::from_utf8(self.0).ok().and_then(|text| text.parse().ok()) {
            return Some(number);
        }
        let number = self.as_f64()?;
        let whole = number >= 0.0 && number.fract() == 0.0 && number < 18_446_744_073_709_551_616.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
        whole.then_some(number as u64)
    }

    /// Returns the member `key` as text, if it is a string.
    pub fn text(self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.as_text()
    }

    /// Returns the member `key` as a whole number.
    pub fn number(self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    /// Returns whether the member `key` is `true`.
    pub fn flag(self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool) == Some(true)
    }

    /// Returns the member `key` unless it is missing or `null`.
    pub fn present(self, key: &str) -> Option<Value<'a>> {
        self.get(key).filter(|value| !value.is_null())
    }

    /// Returns the strings of the array `key` and skips all other items.
    pub fn texts(self, key: &str) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        self.get(key).into_iter().flat_map(Value::items).filter_map(Value::as_text)
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({})", String::from_utf8_lossy(self.0))
    }
}

/// The members of an object; see [`Value::members`].
pub struct Members<'a>(Walk<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (JsonStr<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_member()
    }
}

/// The items of an array; see [`Value::items`].
pub struct Items<'a>(Walk<'a>);

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_item()
    }
}

impl<'a> JsonStr<'a> {
    /// Wraps the bytes between two quotes.
    pub(crate) fn new(raw: &'a [u8]) -> Self {
        Self(raw)
    }

    /// Returns the bytes between the quotes.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Returns the text. A lone surrogate or a byte that is not UTF-8 becomes U+FFFD here; both stay intact in
    /// [`raw`](Self::raw).
    ///
    /// ```
    /// # use annals_transcript::json::Value;
    /// let cut_mid_emoji = Value::new(br#""caf\u00e9 \ud83d""#).unwrap();
    /// assert_eq!(cut_mid_emoji.as_text().unwrap(), "café \u{FFFD}");
    /// ```
    pub fn decode(self) -> Cow<'a, str> {
        if memchr::memchr(b'\\', self.0).is_none() {
            return text_of(self.0);
        }
        Cow::Owned(unescape(self.0))
    }

    /// Returns the text if it has at most so many bytes, and otherwise its beginning, which has at least so many.
    ///
    /// ```
    /// # use annals_transcript::json::Value;
    /// let long = Value::new(br#""one\ntwo\nthree""#).unwrap().as_str().unwrap();
    /// let beginning = long.decode_beginning(5);
    /// assert!(long.decode().starts_with(&*beginning) && (5..13).contains(&beginning.len()));
    /// assert_eq!(long.decode_beginning(50), long.decode());
    /// ```
    pub fn decode_beginning(self, bytes: usize) -> Cow<'a, str> {
        // An escape of up to twelve bytes stands for one byte or more.
        if self.0.len() <= bytes || memchr::memchr(b'\\', self.0).is_none() {
            return self.decode();
        }
        Cow::Owned(unescape_up_to(self.0, bytes))
    }
}

impl<'a> JsonStr<'a> {
    /// Returns what a key names, escaped or not. `named` looks up decoded bytes.
    pub(crate) fn named<T>(self, named: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        named(self.0).or_else(|| if self.0.contains(&b'\\') { named(&self.decode_bytes()) } else { None })
    }

    /// Returns the decoded text as bytes. Nearly every key and id has no escapes and need not be copied.
    pub(crate) fn decode_bytes(self) -> Cow<'a, [u8]> {
        if memchr::memchr(b'\\', self.0).is_none() {
            return Cow::Borrowed(self.0);
        }
        Cow::Owned(unescape(self.0).into_bytes())
    }
}

impl PartialEq<str> for JsonStr<'_> {
    fn eq(&self, other: &str) -> bool {
        let other = other.as_bytes();
        self.0 == other || may_decode_to(self.0, other) && *self.decode_bytes() == *other
    }
}

impl PartialEq for JsonStr<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.decode() == other.decode()
    }
}

impl Eq for JsonStr<'_> {}

impl fmt::Debug for JsonStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", String::from_utf8_lossy(self.0))
    }
}

/// Returns `text` as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("text is always a JSON string")
}

/// Returns `false` for nearly all strings that do not decode to `text`, without decoding them.
#[inline]
fn may_decode_to(raw: &[u8], text: &[u8]) -> bool {
    // An escaped string is longer than its text, and its first byte is that of the text or a backslash.
    let same_start = match (raw.first(), text.first()) {
        (Some(first), Some(start)) if start.is_ascii() => first == start || *first == b'\\',
        _ => true,
    };
    same_start && raw.len() > text.len()
}

/// Converts bytes to text. Nearly all bytes are UTF-8, and checking that is faster than replacing invalid sequences.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Decodes a string with escapes.
fn unescape(raw: &[u8]) -> String {
    unescape_up_to(raw, usize::MAX)
}

/// Decodes a string until the text has so many bytes; the text may be a little longer.
fn unescape_up_to(raw: &[u8], bytes: usize) -> String {
    // What is between two escapes is not checked again: it is text if all of it is.
    let whole = if bytes >= raw.len() { str::from_utf8(raw).ok() } else { None };
    let mut text = String::with_capacity(raw.len().min(bytes.saturating_add(LONGEST_PIECE)));
    let mut rest = raw;
    while text.len() < bytes {
        let plain = next_backslash(rest).unwrap_or(rest.len());
        match whole {
            Some(whole) => text.push_str(&whole[raw.len() - rest.len()..][..plain]),
            None => text.push_str(&text_of(&rest[..plain])),
        }
        let Some((_, escaped)) = rest[plain..].split_first() else { break };
        rest = escaped;
        let Some((&escape, after)) = rest.split_first() else {
            // The string was cut off after a backslash.
            text.push(char::REPLACEMENT_CHARACTER);
            break;
        };
        rest = after;
        match escape {
            b'b' => text.push('\u{8}'),
            b'f' => text.push('\u{c}'),
            b'n' => text.push('\n'),
            b'r' => text.push('\r'),
            b't' => text.push('\t'),
            b'u' => text.push(unicode_escape(&mut rest)),
            b'"' | b'\\' | b'/' => text.push(char::from(escape)),
            // Not JSON. The byte may begin a longer UTF-8 sequence, so it is decoded with the bytes after it.
            _ => {
                text.push('\\');
                let (letter, tail) = rest_from(raw, rest);
                text.push_str(&letter);
                rest = tail;
            }
        }
    }
    text
}

/// How much longer than wanted the beginning of a text may be expected to be.
const LONGEST_PIECE: usize = 256;

/// Returns where the next escape begins. Most of them are near: a call of `memchr` would take longer than the look at one block.
fn next_backslash(bytes: &[u8]) -> Option<usize> {
    let Some(block) = bytes.first_chunk::<NEAR>() else { return memchr::memchr(b'\\', bytes) };
    match u8x16::from(*block).simd_eq(u8x16::splat(b'\\')).to_bitmask() {
        0 => Some(NEAR + memchr::memchr(b'\\', &bytes[NEAR..])?),
        found => Some(found.trailing_zeros() as usize),
    }
}

/// How far an escape is looked for before `memchr` is called.
const NEAR: usize = 16;

/// Returns the text from the byte before `rest` to the next backslash, and the bytes after it.
fn rest_from<'a>(raw: &'a [u8], rest: &[u8]) -> (Cow<'a, str>, &'a [u8]) {
    let tail = &raw[raw.len() - rest.len() - 1..];
    let end = memchr::memchr(b'\\', &tail[1..]).map_or(tail.len(), |at| at + 1);
    (String::from_utf8_lossy(&tail[..end]), &tail[end..])
}

/// Reads the digits after `\u`, and the second half of a surrogate pair if there is one.
fn unicode_escape(rest: &mut &[u8]) -> char {
    let Some(unit) = take_hex4(rest) else { return char::REPLACEMENT_CHARACTER };
    if (0xD800..0xDC00).contains(&unit)
        && let Some(mut after) = rest.strip_prefix(b"\\u")
        && let Some(low @ 0xDC00..0xE000) = take_hex4(&mut after)
    {
        *rest = after;
        let scalar = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        return char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn take_hex4(rest: &mut &[u8]) -> Option<u32> {
    let digits = rest.get(..4)?;
    let mut unit = 0;
    for &digit in digits {
        unit = unit * 16 + char::from(digit).to_digit(16)?;
    }
    *rest = &rest[4..];
    Some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(raw: &str) -> String {
        JsonStr::new(raw.as_bytes()).decode().into_owned()
    }

    #[test]
    fn strings_decode_as_javascript_reads_them() {
        assert_eq!(decoded(r#"a\n\t\"\\\/\b\f\r"#), "a\n\t\"\\/\u{8}\u{c}\r");
        assert_eq!(decoded(r"\u4f60\u597d"), "你好");
        assert_eq!(decoded(r"\ud83d\ude00!"), "😀!");
        assert_eq!(decoded(r"\ud83d"), "\u{FFFD}");
        assert_eq!(decoded(r"\ude00\ud83d\u0041"), "\u{FFFD}\u{FFFD}A");
        assert_eq!(decoded(r"\ud83d\ud83d\ude00"), "\u{FFFD}😀");
    }

    #[test]
    fn invalid_escapes_keep_the_readable_text() {
        assert_eq!(decoded(r"a\u12"), "a\u{FFFD}12");
        assert_eq!(decoded("cut\\"), "cut\u{FFFD}");
        assert_eq!(decoded(r"C:\dir\é\n"), "C:\\dir\\é\n");
        assert_eq!(JsonStr::new(b"x\xffy").decode(), "x\u{FFFD}y");
    }

    #[test]
    fn the_last_of_duplicate_keys_wins_and_escaped_keys_are_keys() {
        let value = Value::new(br#"{"a":1,"b":2,"a":3,"\u0061":4}"#).unwrap();
        assert_eq!(value.number("a"), Some(4));
        assert_eq!(value.members().count(), 4);
    }

    #[test]
    fn numbers_are_read_in_every_spelling() {
        for (spelling, number) in [
            ("100", 100),
            ("1e2", 100),
            ("100.0", 100),
            ("1E+2", 100),
            ("1e16", 10_000_000_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(Value::new(spelling.as_bytes()).unwrap().as_u64(), Some(number), "{spelling}");
        }
        for spelling in ["-1", "1.5", "true", "\"7\"", "1e300", "nan"] {
            assert_eq!(Value::new(spelling.as_bytes()).unwrap().as_u64(), None, "{spelling}");
        }
    }

    #[test]
    fn only_the_grammar_check_sees_bad_grammar() {
        let value = Value::new(br#"{"a":tru,"b":"x"}"#).unwrap();
        assert_eq!(value.text("b").unwrap(), "x");
        assert!(!value.is_valid());
        assert!(Value::new(b"{\"a\":\"\\ud800\xff\"}").unwrap().is_valid());
    }
}
