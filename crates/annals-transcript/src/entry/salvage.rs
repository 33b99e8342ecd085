//! Lines that are not one sound object: what is wrong with them, and which objects can still be read.
//!
//! Seen in the wild: an append glued to a line without newline, the tail of a record whose head was lost, NUL
//! runs after a power cut, and mixtures. An object behind noise counts as an entry only when it looks like a
//! transcript's and runs to the end of the line or to the next object; an object inside a broken one does not.

use super::{Entry, Head, Problem};
use crate::json::{Value, skip_space};
use crate::line::Position;

/// Objects tried behind noise on one line before the rest is taken as noise: bounds the work on hostile lines.
const ATTEMPTS: usize = 32;

/// Keys that the client writes first in an object.
const FIRST_KEYS: [&[u8]; 8] = [
    b"type\"",
    b"parentUuid\"",
    b"logicalParentUuid\"",
    b"isSidechain\"",
    b"sessionId\"",
    b"uuid\"",
    b"messageId\"",
    b"timestamp\"",
];

/// Reads the first entry of `rest`, whose object at `start` is not sound or not there.
pub(super) fn first_in(rest: &[u8], start: usize, at: Position) -> Entry<'_> {
    let text = start + rest[start..].iter().take_while(|byte| is_filler(**byte)).count();
    if text > start
        && rest.get(text) == Some(&b'{')
        && let Some((head, end)) = Head::scan(rest, text)
    {
        let bytes = &rest[..if skip_space(rest, end) == rest.len() { rest.len() } else { end }];
        return Entry { bytes, json: &rest[text..end], at, head, problem: Some(Problem::NulPrefix) };
    }
    let end = next_record(rest, start).unwrap_or(rest.len());
    let bytes = &rest[..end];
    Entry {
        bytes,
        json: &[],
        at,
        head: Head::default(),
        problem: Some(diagnose(&bytes[start..], end == rest.len())),
    }
}

fn is_filler(byte: u8) -> bool {
    byte == 0 || byte.is_ascii_whitespace()
}

/// Returns where the next object that looks like a transcript's starts.
fn next_record(rest: &[u8], start: usize) -> Option<usize> {
    let mut attempts = ATTEMPTS;
    for brace in memchr::memmem::find_iter(rest, b"{\"") {
        if brace <= start || !FIRST_KEYS.iter().any(|key| rest[brace + 2..].starts_with(key)) {
            continue;
        }
        if is_record(rest, brace) {
            return Some(brace);
        }
        attempts -= 1;
        if attempts == 0 {
            break;
        }
    }
    None
}

fn is_record(rest: &[u8], brace: usize) -> bool {
    let Some((head, end)) = Head::scan(rest, brace) else { return false };
    let after = end + rest[end..].iter().take_while(|byte| is_filler(**byte)).count();
    head.is_typical() && matches!(rest.get(after), None | Some(b'{'))
}

/// Names what is wrong with bytes that hold no entry.
fn diagnose(noise: &[u8], at_line_end: bool) -> Problem {
    let trimmed = noise.trim_ascii();
    let finished = !at_line_end || noise.ends_with(b"\n");
    if trimmed.is_empty() {
        Problem::Blank
    } else if trimmed.iter().all(|byte| is_filler(*byte)) {
        Problem::Nul
    } else if Value::new(trimmed).is_some_and(|value| !value.is_object() && value.is_valid()) {
        Problem::NotObject
    } else if trimmed.starts_with(b"{") {
        match (Value::new(trimmed), finished) {
            (Some(_), _) => Problem::Syntax,
            (None, true) => Problem::Unclosed,
            (None, false) => Problem::Torn,
        }
    } else if trimmed.ends_with(b"}") {
        Problem::Headless
    } else {
        Problem::Garbage
    }
}
