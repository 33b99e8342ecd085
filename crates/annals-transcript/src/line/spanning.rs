//! Objects that span several lines (CHAIN.md 1.1).

use std::io;
use std::ops::Range;

use super::{Position, first_line};
use crate::json::{MultilineObject, ObjectState, Value};

/// Counts the bytes that were read ahead from lines that begin an object, without finding its end.
#[derive(Debug, Default)]
pub(super) struct LookAhead {
    wasted_bytes: u64,
}

impl LookAhead {
    /// Returns whether another object may be read ahead. The bound keeps the work on hostile files linear; no transcript has so
    /// many torn lines.
    pub(super) fn is_allowed(&self, at: Position) -> bool {
        self.wasted_bytes <= (1 << 20) + 4 * at.offset
    }
}

/// The longest object that spans lines and is read as one entry: a torn object must not fill the memory.
const LONGEST_SPAN: usize = 64 * 1024 * 1024;

/// Access to the current line and the lines after it, which may have to be read first. Offsets count from the start of the
/// current line.
pub(super) trait LinesAhead {
    /// Returns bytes that were read.
    fn bytes(&self, range: Range<usize>) -> &[u8];

    /// Returns the end of the line that begins at an offset; `None` at the end of the source.
    fn line_end(&mut self, from: usize) -> io::Result<Option<usize>>;
}

impl LinesAhead for &[u8] {
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self[range]
    }

    fn line_end(&mut self, from: usize) -> io::Result<Option<usize>> {
        let line = first_line(&self[from..]);
        Ok((!line.is_empty()).then_some(from + line.len()))
    }
}

/// Returns the length of all lines of an object that begins in the first of them (CHAIN.md 1.1); `first` is the length of that
/// line. Returns `None` if the object ends in the first line, never ends, or is not JSON: then only the first line is damaged.
pub(super) fn spanned_lines(
    ahead: &mut impl LinesAhead,
    first: usize,
    looked_ahead: &mut LookAhead,
) -> io::Result<Option<usize>> {
    let mut object = MultilineObject::default();
    let (mut end, mut next) = (0, first);
    while next <= LONGEST_SPAN {
        match object.read(ahead.bytes(end..next)) {
            ObjectState::Closed(length) if end > 0 && is_object(ahead.bytes(0..end + length)) => {
                return Ok(Some(next));
            }
            ObjectState::Open => {
                end = next;
                let Some(line_end) = ahead.line_end(end)? else { break };
                next = line_end;
            }
            ObjectState::Closed(_) | ObjectState::Broken => break,
        }
    }
    looked_ahead.wasted_bytes += next as u64;
    Ok(None)
}

/// Returns whether bytes are one object and valid JSON.
fn is_object(bytes: &[u8]) -> bool {
    Value::new(bytes).is_some_and(|value| value.is_object() && value.is_valid())
}
