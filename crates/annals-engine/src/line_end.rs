//! Where the last whole line of a file ends.

use std::fs::File;
use std::io;
use std::path::Path;

use annals_transcript::line::read_span;

/// The search for the end of a line reads this many bytes at once.
pub(crate) const PIECE: u64 = 64 * 1024;
/// The search for the last end of a line begins with this many bytes: most files end in a newline.
const FIRST_PIECE: u64 = 64;

/// Returns where the last whole line among the first `length` bytes of a file ends.
pub fn end_of_lines(path: &Path, length: u64) -> io::Result<u64> {
    Ok(last_line_end(&mut File::open(path)?, 0, length)?.unwrap_or(0))
}

/// Returns the end of the last whole line between two offsets of a file. The search goes backwards.
pub(crate) fn last_line_end(file: &mut File, from: u64, to: u64) -> io::Result<Option<u64>> {
    let (mut end, mut length) = (to, FIRST_PIECE);
    while end > from {
        let start = end.saturating_sub(length).max(from);
        let bytes = read_span(file, start, end - start)?;
        if let Some(newline) = memchr::memrchr(b'\n', &bytes) {
            return Ok(Some(start + newline as u64 + 1));
        }
        (end, length) = (start, PIECE);
    }
    Ok(None)
}
