//! Blocks of many lines, such as private keys: where one ends whose first line was found.
//!
//! Lines of a key are shown in many ways: after `> ` or the number of a line, in quotation marks, joined by `<br>`. So all up
//! to the last line of the block is masked. If there is no last line, it ends with its last run of random base64.

use std::ops::Range;

use memchr::memmem;

use crate::entropy;
use crate::json::end_of_string;
use crate::plain::MARK;
use crate::rule::Form;

/// No block is longer. Keys of 16,384 bits have 13 kB, and those of PGP also contain signatures and pictures.
const LONGEST: usize = 512 * 1024;

/// How many bytes may stand between the first line and the first run: `Proc-Type: 4,ENCRYPTED`, `Comment: …`.
const FARTHEST_FIRST: usize = 512;

/// How many bytes may stand between two runs: the end of a line, and what stands before the next. If something stands before
/// the first line, such as the path of its file, as much may stand before each.
const FARTHEST_NEXT: usize = 64;

/// How much stands before the first line at most.
const LONGEST_BEFORE: usize = 1024;

/// Returns where a block ends whose content starts at `start`; it is empty if there is no base64 in it. `first` and `last` are
/// how the first and the last line of a block begin.
///
/// The work is linear in the distance to the next first line.
pub(crate) fn end_of_block(text: &[u8], start: usize, first: &[u8], last: &[u8], form: Form) -> usize {
    let near = &text[start..text.len().min(start + LONGEST)];
    let near = &near[..memmem::find(near, first).unwrap_or(near.len())];
    let last = memmem::find(near, last);
    let next = last.unwrap_or(near.len());
    let string = match form {
        Form::Json => end_of_string(&near[..next], 0),
        Form::Text => next,
    };
    if last.is_some() && string == next && runs(&near[..next]).any(|run| run.len() >= SHORTEST_RUN_IN_BLOCK) {
        return start + next;
    }
    start + end_of_runs(&near[..string], length_before(text, start, first))
}

/// Returns how many bytes stand before the first line of a block whose content starts at `start`, in the same line. `first` is how
/// the first line begins.
fn length_before(text: &[u8], start: usize, first: &[u8]) -> usize {
    let near = &text[start.saturating_sub(LONGEST_BEFORE)..start];
    let before = &near[..memmem::rfind(near, first).unwrap_or(0)];
    let line_end = memchr::memrchr2(b'\n', b'\r', before).map_or(0, |end| end + 1);
    // The same in JSON.
    let escaped_end = memmem::rfind(before, b"\\n").map_or(0, |end| end + 2);
    before.len() - line_end.max(escaped_end)
}

/// A block with a last line has a run of this length.
const SHORTEST_RUN_IN_BLOCK: usize = 16;

/// Returns where the runs of random base64 end with which a text goes on. `before` is how many bytes stand before the first line
/// of the block: as many, or those that stand before its first run, may stand before each of its lines.
fn end_of_runs(text: &[u8], before: usize) -> usize {
    // What was masked before is the beginning of the block. What stood before its lines is not known any more.
    let masked = if text.starts_with(MARK.as_bytes()) { MARK.len() } else { 0 };
    let (mut end, mut before) = (masked, if masked > 0 { 0 } else { before });
    for run in runs(text) {
        let gap = run.start - end;
        let farthest = if end == 0 { FARTHEST_FIRST } else { FARTHEST_NEXT };
        if gap > farthest + before {
            break;
        }
        if looks_random(&text[run.clone()]) {
            if end == 0 {
                before = before.min(gap);
            }
            end = run.end;
        } else if end > masked && is_behind_line(gap, before) {
            // The last line of a key is short.
            end = run.end;
        }
    }
    end
}

/// Returns whether a run begins a line: it follows a line end and what precedes each line, which may look like a run as
/// well.
fn is_behind_line(gap: usize, before: usize) -> bool {
    const FARTHEST: usize = FARTHEST_NEXT / 2;
    gap <= before + FARTHEST && (before <= FARTHEST || gap >= before)
}

/// Returns whether a text has a run of base64 that looks random.
pub(crate) fn has_random_run(text: &[u8]) -> bool {
    runs(text).any(|run| looks_random(&text[run]))
}

/// Returns whether a run of base64 looks random: the path of a file does not.
pub(crate) fn looks_random(run: &[u8]) -> bool {
    const SHORTEST: usize = 24;
    const LEAST_ENTROPY: f64 = 4.3;
    run.len() >= SHORTEST && entropy::bits_per_byte(run) >= LEAST_ENTROPY
}

/// Returns the runs of base64 that have capitals, small letters and digits. Backslashes belong to a run: JSON writes `\/`.
fn runs(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    let all = std::iter::from_fn(move || {
        let start = at + text[at..].iter().position(|&byte| is_of_run(byte))?;
        let end = start + text[start..].iter().take_while(|&&byte| is_of_run(byte)).count();
        at = end;
        Some(start..end)
    });
    all.filter(|run| is_mixed(&text[run.clone()]))
}

fn is_of_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\\".contains(&byte)
}

/// Returns whether a text has capitals, small letters and digits.
pub(crate) fn is_mixed(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_uppercase)
        && text.iter().any(u8::is_ascii_lowercase)
        && text.iter().any(u8::is_ascii_digit)
}
