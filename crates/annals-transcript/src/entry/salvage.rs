//! Lines that are not one sound object: what is wrong with them, and which objects can still be read.
//!
//! Seen in the wild: an append glued to a line without newline, the tail of a record whose head was lost, NUL
//! runs after a power cut, and mixtures. An object behind noise counts as an entry only when it looks like a
//! transcript's and runs to the end of the line or to the next object; an object inside a broken one does not.

use super::{Entry, Head, LineState, Problem};
use crate::json::{Value, skip_space};
use crate::line::Position;

/// How often an object may turn out to be none on one line before the rest is taken as noise: bounds the work on
/// hostile lines.
pub(super) const ATTEMPTS: usize = 32;

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
pub(super) fn first_in<'a>(rest: &'a [u8], start: usize, at: Position, line: &mut LineState) -> Entry<'a> {
    let text = start + rest[start..].iter().take_while(|byte| is_filler(**byte)).count();
    if text > start
        && rest.get(text) == Some(&b'{')
        && let Some((head, end)) = Head::scan(rest, text)
    {
        (line.has_entry, line.follows_object) = (true, true);
        let bytes = &rest[..if skip_space(rest, end) == rest.len() { rest.len() } else { end }];
        return Entry { bytes, json: &rest[text..end], at, head, problem: Some(Problem::NulPrefix) };
    }
    line.failures += 1;
    let end = next_record(rest, start, line).unwrap_or(rest.len());
    noise(rest, start, end, at, line)
}

/// Returns the bytes up to `end` as an entry without object.
pub(super) fn noise<'a>(
    rest: &'a [u8],
    start: usize,
    end: usize,
    at: Position,
    line: &mut LineState,
) -> Entry<'a> {
    let bytes = &rest[..end];
    let found = diagnose(&bytes[start.min(end)..], end == rest.len());
    let behind =
        std::mem::take(&mut line.follows_object) && !matches!(found, Problem::Torn | Problem::Unclosed);
    let problem = if behind { Problem::Trailing } else { found };
    line.has_entry = true;
    Entry { bytes, json: &[], at, head: Head::default(), problem: Some(problem) }
}

fn is_filler(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n')
}

/// Returns where the next object that looks like a transcript's starts.
fn next_record(rest: &[u8], start: usize, line: &mut LineState) -> Option<usize> {
    for brace in memchr::memmem::find_iter(rest, b"{\"") {
        if brace <= start || !FIRST_KEYS.iter().any(|key| rest[brace + 2..].starts_with(key)) {
            continue;
        }
        if is_record(rest, brace) {
            return Some(brace);
        }
        line.failures += 1;
        if line.failures >= ATTEMPTS {
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
