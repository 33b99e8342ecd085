//! Changes one value of a line; every other byte stays.
//!
//! ```
//! let titled = annals_transcript::patch::set(b"{\"type\":\"tag\",\"tag\":\"old\"}\n", "tag", "\"new\"")?;
//! assert_eq!(titled, b"{\"type\":\"tag\",\"tag\":\"new\"}\n");
//! # Ok::<(), annals_transcript::patch::Error>(())
//! ```

use std::fmt;

use crate::entry::Entry;
use crate::json::{Unchecked, Value, quote, value_end, walk_object};

/// Returns `line` with the top-level member `key` set to `value`, which is JSON.
///
/// An existing value is replaced in place; if the key occurs several times, the last one is. A missing key is added after the
/// last member. White space, line end, byte order mark and all other members keep their bytes.
///
/// ```
/// let line = b"{ \"a\":1.50, \"sessionId\":\"old\" }\r\n";
/// let forked = annals_transcript::patch::set(line, "sessionId", "\"new\"")?;
/// assert_eq!(forked, b"{ \"a\":1.50, \"sessionId\":\"new\" }\r\n");
/// let tagged = annals_transcript::patch::set(line, "tag", "null")?;
/// assert_eq!(tagged, b"{ \"a\":1.50, \"sessionId\":\"old\",\"tag\":null }\r\n");
/// # Ok::<(), annals_transcript::patch::Error>(())
/// ```
pub fn set(line: &[u8], key: &str, value: &str) -> Result<Vec<u8>, Error> {
    if value.contains(['\n', '\r']) || !Value::new(value.as_bytes()).is_some_and(Value::is_valid) {
        return Err(Error::Value);
    }
    let entry = Entry::new(line);
    let body = entry.body().ok_or(Error::NoObject)?.bytes();
    if entry.bytes().len() != line.len() {
        return Err(Error::SeveralObjects);
    }
    let start = body.as_ptr().addr() - line.as_ptr().addr();
    let splice = Splice::find(body, key).ok_or(Error::NoObject)?;
    let (from, to) = (start + splice.from, start + splice.to);
    let label = if splice.found { String::new() } else { format!("{}{}:", splice.comma, quote(key)) };
    Ok([&line[..from], label.as_bytes(), value.as_bytes(), &line[to..]].concat())
}

/// Returns a JSON document with the member at the end of a path of keys set to `value`, which is JSON. Every other byte stays. Objects on
/// the path that are missing are added; the document may span lines.
///
/// ```
/// let settings = b"{\n  \"servers\": {\"a\": 1}\n}\n";
/// let changed = annals_transcript::patch::set_in_document(settings, &["servers", "b"], "2")?;
/// assert_eq!(changed, b"{\n  \"servers\": {\"a\": 1,\"b\":2}\n}\n");
/// # Ok::<(), annals_transcript::patch::Error>(())
/// ```
pub fn set_in_document(document: &[u8], path: &[&str], value: &str) -> Result<Vec<u8>, Error> {
    if !is_json(value.as_bytes()) {
        return Err(Error::Value);
    }
    let text = document.strip_prefix("\u{feff}".as_bytes()).unwrap_or(document).trim_ascii();
    if !is_json(text) {
        return Err(Error::NoObject);
    }
    let mut from = text.as_ptr().addr() - document.as_ptr().addr();
    let mut to = from + text.len();
    for (depth, key) in path.iter().enumerate() {
        let splice = Splice::find(&document[from..to], key).ok_or(Error::NoObject)?;
        (from, to) = (from + splice.from, from + splice.to);
        if !splice.found {
            let nested = path[depth + 1..].iter().rev();
            let added = nested.fold(value.to_owned(), |value, key| format!("{{{}:{value}}}", quote(key)));
            let added = format!("{}{}:{added}", splice.comma, quote(key));
            return Ok([&document[..from], added.as_bytes(), &document[to..]].concat());
        }
    }
    Ok([&document[..from], value.as_bytes(), &document[to..]].concat())
}

/// Returns whether bytes are one value and valid JSON.
fn is_json(bytes: &[u8]) -> bool {
    Value::new(bytes).is_some_and(Value::is_valid)
}

/// Why a line could not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no object in the line.
    NoObject,
    /// There is more than one object in the line, so it is not clear which one to change.
    SeveralObjects,
    /// The new value is not JSON on one line.
    Value,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::NoObject => "the line holds no JSON object",
            Error::SeveralObjects => "the line holds more than one JSON object",
            Error::Value => "the new value is not JSON on one line",
        })
    }
}

impl std::error::Error for Error {}

/// The range of bytes of an object that a new value replaces; empty for a new member.
struct Splice {
    from: usize,
    to: usize,
    /// Whether the object has the key.
    found: bool,
    comma: &'static str,
}

impl Splice {
    fn find(body: &[u8], key: &str) -> Option<Self> {
        let mut splice = Splice { from: 1, to: 1, found: false, comma: "" };
        walk_object::<Unchecked>(body, 0, |name, value| {
            let end = value_end(body, value)?;
            if name == *key {
                splice = Splice { from: value, to: end, found: true, comma: "" };
            } else if !splice.found {
                splice = Splice { from: end, to: end, found: false, comma: "," };
            }
            Some(end)
        })?;
        Some(splice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, key: &str, value: &str, expected: &str) {
        let patched = set(line.as_bytes(), key, value).unwrap();
        assert_eq!(String::from_utf8(patched).unwrap(), expected);
    }

    #[test]
    fn values_are_replaced_where_they_stand() {
        check(r#"{"a":1,"b":{"a":2},"c":3}"#, "a", "[]", r#"{"a":[],"b":{"a":2},"c":3}"#);
        check("\u{feff}{\"a\" : 1.0 }\n", "a", "2", "\u{feff}{\"a\" : 2 }\n");
        check(r#"{"a":1,"a":2}"#, "a", "3", r#"{"a":1,"a":3}"#);
        check(r#"{"\u0061":"\ud800"}"#, "a", "3", r#"{"\u0061":3}"#);
    }

    #[test]
    fn missing_keys_are_added_behind_the_last_member() {
        check("{}", "a", "1", r#"{"a":1}"#);
        check("{ }\n", "a", "1", "{\"a\":1 }\n");
        check(r#"{"b":2 }"#, "a \"quoted\" key", "1", r#"{"b":2,"a \"quoted\" key":1 }"#);
    }

    #[test]
    fn documents_keep_every_other_byte() {
        let check = |document: &str, path: &[&str], expected: &str| {
            let changed = set_in_document(document.as_bytes(), path, "7").unwrap();
            assert_eq!(String::from_utf8(changed).unwrap(), expected);
        };
        let pretty = "{\n\t\"a\": {\n\t\t\"b\": 1.0,\n\t\t\"c\": \"\\u00e9\"\n\t},\r\n\t\"z\": [ ]\n}\n\n";
        check(pretty, &["a", "b"], &pretty.replace("1.0", "7"));
        check(pretty, &["a", "d"], &pretty.replace("\"\\u00e9\"", "\"\\u00e9\",\"d\":7"));
        check(pretty, &["y", "d"], &pretty.replace("[ ]", "[ ],\"y\":{\"d\":7}"));
        check("\u{feff} {}\n", &["a", "b"], "\u{feff} {\"a\":{\"b\":7}}\n");
        check(r#"{"a":{"b":1},"a":{"b":2}}"#, &["a", "b"], r#"{"a":{"b":1},"a":{"b":7}}"#);
    }

    #[test]
    fn documents_that_are_no_objects_are_refused() {
        fn refused(document: &[u8]) -> Error {
            set_in_document(document, &["a", "b"], "7").unwrap_err()
        }

        for document in [
            "",
            "[]",
            "{",
            "{\"a\":1,}",
            "{}{}",
            "// no\n{}",
            "{\"a\":null}",
            "{\"a\":[1]}",
            "{\"a\":\"{}\"}",
        ] {
            assert_eq!(refused(document.as_bytes()), Error::NoObject, "{document}");
        }
        assert_eq!(set_in_document(b"{}", &["a"], "{"), Err(Error::Value));
    }

    #[test]
    fn what_cannot_be_changed_safely_is_refused() {
        assert_eq!(set(b"nonsense\n", "a", "1"), Err(Error::NoObject));
        assert_eq!(set(b"{\"a\":1", "a", "1"), Err(Error::NoObject));
        assert_eq!(set(b"{}{}\n", "a", "1"), Err(Error::SeveralObjects));
        assert_eq!(set(b"{}\n{}\n", "a", "1"), Err(Error::SeveralObjects));
        for value in ["", "{", "1 2", "[1,\n2]", "nope"] {
            assert_eq!(set(b"{}\n", "a", value), Err(Error::Value), "{value:?}");
        }
    }
}
