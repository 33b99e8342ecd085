//! Damaged lines: names the problem and finds the objects that can still be read.
//!
//! Real files have appends glued to a line without newline, records whose beginning is lost, runs of NUL bytes after a power
//! cut, and mixtures of these. An object after damaged bytes counts as an entry only if it looks like one of a transcript and
//! reaches to the end of the line or to the next object. An object inside a broken one is not an entry.

use super::{Entry, Head, LineState, Problem};
use crate::json::{Unchecked, Value, skip_space};
use crate::line::Position;

/// After this many failed attempts to read an object on one line, the rest of the line is noise. This bounds the work on
/// hostile lines.
pub(super) const ATTEMPTS: usize = 32;

/// Keys that Claude Code writes first in an object.
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

/// Reads the first entry of `rest`, which has no valid object at `start`.
pub(super) fn first_in<'a>(rest: &'a [u8], start: usize, at: Position, line: &mut LineState) -> Entry<'a> {
    let text = start + rest[start..].iter().take_while(|byte| is_filler(**byte)).count();
    if text > start
        && rest.get(text) == Some(&b'{')
        && let Some((head, end)) = Head::scan::<Unchecked>(rest, text)
    {
        (line.has_entry, line.follows_object) = (true, true);
        let bytes = &rest[..if skip_space(rest, end) == rest.len() { rest.len() } else { end }];
        return Entry {
            bytes,
            json: &rest[text..end],
            at,
            head,
            problem: Some(Problem::NulPrefix),
            is_valid: false,
        };
    }
    line.failures += 1;
    let end = next_record(rest, start, line).unwrap_or(rest.len());
    noise(rest, start, end, at, line)
}

/// Returns the bytes up to `end` as an entry without an object.
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
    Entry { bytes, json: &[], at, head: Head::default(), problem: Some(problem), is_valid: false }
}

fn is_filler(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n')
}

/// Returns the position of the next object that looks like an entry of a transcript.
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
    let Some((head, end)) = Head::scan::<Unchecked>(rest, brace) else { return false };
    let after = end + rest[end..].iter().take_while(|byte| is_filler(**byte)).count();
    head.is_typical() && matches!(rest.get(after), None | Some(b'{'))
}

/// Returns the problem with bytes that have no object.
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
