//! The mark that replaces a secret: `[masked: rule-name]`.
//!
//! It is plain ASCII without quotes and backslashes, so it is the same inside a JSON string, and it is never taken
//! for a secret itself: masking a masked text changes nothing.

use std::ops::Range;

use memchr::memmem;

const OPEN: &str = "[masked: ";

/// No name of a rule is longer, so a mark that covers an offset starts at most this many bytes before it.
pub(crate) const LONGEST_NAME: usize = 64;

/// Appends the mark for a secret that the rule `name` found.
pub(crate) fn push(out: &mut String, name: &str) {
    out.push_str(OPEN);
    out.push_str(name);
    out.push(']');
}

/// Returns whether a mark overlaps or touches `range`.
///
/// What touches a mark was looked at when the mark was made; taking its remains for another secret would mask a little
/// more each time.
pub(crate) fn touches(text: &[u8], range: &Range<usize>) -> bool {
    let first = range.start.saturating_sub(OPEN.len() + LONGEST_NAME + 1);
    let last = text.len().min(range.end + OPEN.len());
    memmem::find_iter(&text[first..last], OPEN).any(|at| end_of_mark(text, first + at) >= range.start)
}

/// Returns the offset behind the mark that opens at `start`.
fn end_of_mark(text: &[u8], start: usize) -> usize {
    let name = start + OPEN.len();
    let end = text.len().min(name + LONGEST_NAME + 1);
    memchr::memchr(b']', &text[name..end]).map_or(name, |close| name + close + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_seen_where_they_overlap_or_touch() {
        let text = b"ab [masked: jwt] cd";
        for (range, expected) in
            [(0..2, false), (0..3, true), (0..19, true), (12..15, true), (16..19, true), (17..19, false)]
        {
            assert_eq!(touches(text, &range), expected, "{range:?}");
        }
    }
}
