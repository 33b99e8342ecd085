//! Versions of Claude Code, as its entries spell them.

/// Returns whether a version is older than another one. Text that is not a version is not older.
///
/// ```
/// use annals_transcript::version::is_before;
///
/// assert!(is_before("2.1.9", [2, 1, 23]));
/// assert!(!is_before("2.1.23", [2, 1, 23]));
/// assert!(!is_before("unknown", [2, 1, 23]));
/// ```
pub fn is_before(version: &str, other: [u32; 3]) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let numbers = [numbers.next(), numbers.next(), numbers.next()].map(Option::flatten);
    matches!(numbers, [Some(major), Some(minor), Some(patch)] if [major, minor, patch] < other)
}
