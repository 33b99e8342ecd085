//! What becomes of secrets that several rules found in the same place.

use crate::rule::Candidate;

/// Sorts candidates by offset and resolves overlaps, so that no byte belongs to two.
///
/// Earlier rules are more specific: what lies inside the match of an earlier rule is dropped, such as the value of
/// `API_KEY=ghp_…`, which is a GitHub token. Where two overlap otherwise, both are masked as one, and the rule that
/// found more names it; a full stop after a token does not count.
pub(crate) fn resolve(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by_key(|candidate| (candidate.secret.start, candidate.rule));
    let mut resolved: Vec<Candidate> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        match resolved.last_mut() {
            Some(last) if candidate.secret.start < last.secret.end => *last = join(last, &candidate),
            _ => resolved.push(candidate),
        }
    }
    resolved
}

/// Returns what two overlapping candidates are together.
fn join(a: &Candidate, b: &Candidate) -> Candidate {
    let (specific, general) = if a.rule <= b.rule { (a, b) } else { (b, a) };
    if specific.matched.start <= general.secret.start && general.secret.end <= specific.matched.end {
        return specific.clone();
    }
    let is_inside = specific.matched.start <= general.secret.start;
    let is_all_but_one = is_inside && general.secret.end <= specific.matched.end + 1;
    let is_longest = is_all_but_one || specific.secret.len() >= general.secret.len();
    let longest = if is_longest { specific } else { general };
    Candidate {
        matched: a.matched.start.min(b.matched.start)..a.matched.end.max(b.matched.end),
        secret: a.secret.start.min(b.secret.start)..a.secret.end.max(b.secret.end),
        rule: longest.rule,
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn candidate(rule: usize, matched: Range<usize>, secret: Range<usize>) -> Candidate {
        Candidate { matched, secret, rule }
    }

    #[test]
    fn a_value_inside_a_more_specific_match_is_dropped() {
        let token = candidate(0, 8..50, 12..50);
        let value = candidate(1, 0..50, 8..50);
        for both in [[&value, &token], [&token, &value]] {
            assert_eq!(resolve(both.map(Clone::clone).to_vec()), vec![token.clone()]);
        }
    }

    #[test]
    fn overlaps_are_masked_as_one_and_named_by_the_longest() {
        let token = candidate(0, 20..50, 24..50);
        let value = candidate(1, 0..60, 8..60);
        assert_eq!(resolve(vec![token, value.clone()]), [value]);
        let sentence = [candidate(0, 20..50, 24..50), candidate(1, 7..51, 20..51)];
        assert_eq!(resolve(sentence.to_vec()), [candidate(0, 7..51, 20..51)]);
        let half = candidate(0, 0..20, 4..20);
        let other = candidate(1, 10..60, 15..60);
        assert_eq!(resolve(vec![other, half]), [candidate(1, 0..60, 4..60)]);
    }

    #[test]
    fn neighbours_stay_apart() {
        let both = [candidate(1, 0..10, 4..10), candidate(0, 10..20, 10..20)];
        assert_eq!(resolve(both.iter().rev().cloned().collect()), both);
    }
}
