//! Ranking: which of the found documents comes first.
//!
//! ```text
//! score     = text × weight of the part × (1 + 0.5 × recency)
//! text      = sum over the terms of  idf × n × 2.2 / (n + 1.2 × (0.25 + 0.75 × length / average length))
//! idf       = ln(1 + (documents - found + 0.5) / (found + 0.5))
//! recency   = 1 for a document of now, half of it for each 30 days of age; 0 if its time is not known
//! ```
//!
//! `text` is BM25 with its usual constants: rare terms count more than common ones, a term that is repeated counts
//! less each time, and long documents count less than short ones. `found` is the number of documents with the term,
//! `n` how often the document has it. A recent document can gain half of its score, so recency decides between
//! texts that match about equally well, and does not bring up bad matches.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::part::Part;

/// What is known about all documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Collection {
    /// How many documents there are.
    pub documents: u32,
    /// How many tokens a document has on average.
    pub average_length: f64,
    /// The time at which the query began. Pages of the same results use the same time.
    pub now: Timestamp,
}

/// A document that a query found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found<'f> {
    /// The terms that occur in it.
    pub terms: &'f [TermCount],
    /// How many tokens it has.
    pub length: u32,
    /// What it is in its conversation.
    pub part: Part,
    /// When it was written.
    pub time: Option<Timestamp>,
}

/// How often a term occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermCount {
    /// In how many documents.
    pub documents: u32,
    /// How often in this document.
    pub here: u32,
}

/// A document with its score. Its order is the order of results: the best first.
///
/// Of equal scores the later document comes first, and of equal times the one with the larger id, which was added
/// later. So the order of different documents never depends on the order in which they were found.
#[derive(Debug, Clone, Copy)]
pub struct Ranked {
    /// The score.
    pub score: f64,
    /// When the document was written.
    pub time: Option<Timestamp>,
    /// The id of the document.
    pub document: i64,
}

const SATURATION: f64 = 1.2;
const LENGTH_SHARE: f64 = 0.75;
const RECENCY: f64 = 0.5;
const HALF_LIFE_DAYS: f64 = 30.0;

impl Part {
    /// Returns how much a match in such a part counts. What people and the model said counts more than what tools
    /// printed, which is long and often repeated.
    fn weight(self) -> f64 {
        match self {
            Part::Title => 2.0,
            Part::Prompt => 1.5,
            Part::Summary | Part::Reply => 1.2,
            Part::Thinking => 0.9,
            Part::ToolInput => 0.8,
            Part::ToolOutput => 0.6,
            Part::Notification => 0.4,
        }
    }
}

/// Scores a document; see the module for the formula. The score is finite and not negative, whatever is passed in.
///
/// ```
/// use annals_search::{Collection, Found, Part, TermCount, score};
///
/// let now = "2026-03-10T00:00:00Z".parse().unwrap();
/// let collection = Collection { documents: 1000, average_length: 100.0, now };
/// let common = [TermCount { documents: 800, here: 1 }];
/// let rare = [TermCount { documents: 3, here: 1 }];
/// let found = Found { terms: &common, length: 100, part: Part::Reply, time: None };
/// assert!(score(&collection, &Found { terms: &rare, ..found }) > score(&collection, &found));
/// ```
pub fn score(collection: &Collection, found: &Found<'_>) -> f64 {
    let average = if collection.average_length >= 1.0 { collection.average_length } else { 1.0 };
    let length = f64::from(found.length) / average;
    let damping = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * length);
    let text: f64 = found
        .terms
        .iter()
        .map(|term| {
            let here = f64::from(term.here);
            idf(collection.documents, term.documents) * here * (SATURATION + 1.0) / (here + damping)
        })
        .sum();
    text * found.part.weight() * (1.0 + RECENCY * recency(collection.now, found.time))
}

/// Returns how much a term counts that so many of all documents have.
fn idf(documents: u32, found: u32) -> f64 {
    // The counts can be of different moments.
    let others = f64::from(documents.saturating_sub(found));
    (1.0 + (others + 0.5) / (f64::from(found) + 0.5)).ln()
}

fn recency(now: Timestamp, time: Option<Timestamp>) -> f64 {
    let Some(time) = time else { return 0.0 };
    // A clock that was wrong makes no document better than those of now.
    let days = (now.duration_since(time).as_secs_f64() / 86_400.0).max(0.0);
    0.5_f64.powf(days / HALF_LIFE_DAYS)
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then(other.time.cmp(&self.time)).then(other.document.cmp(&self.document))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn now() -> Timestamp {
        "2026-03-10T12:00:00Z".parse().unwrap()
    }

    fn collection() -> Collection {
        Collection { documents: 10_000, average_length: 80.0, now: now() }
    }

    fn days_ago(days: i64) -> Timestamp {
        now() - SignedDuration::from_hours(24 * days)
    }

    const ONCE: [TermCount; 1] = [TermCount { documents: 50, here: 1 }];
    const FOUND: Found<'static> = Found { terms: &ONCE, length: 80, part: Part::Reply, time: None };

    #[track_caller]
    fn check_better(better: Found<'_>, worse: Found<'_>) {
        assert!(score(&collection(), &better) > score(&collection(), &worse));
    }

    #[test]
    fn the_formula_is_the_documented_one() {
        let found = Found { time: Some(days_ago(30)), ..FOUND };
        let idf = (1.0 + 9950.5_f64 / 50.5).ln();
        assert!((score(&collection(), &found) - idf * 1.2 * 1.25).abs() < 1e-9);
    }

    #[test]
    fn better_matches_score_higher() {
        let twice = [TermCount { here: 2, ..ONCE[0] }];
        let rare = [TermCount { documents: 5, here: 1 }];
        let two = [ONCE[0], TermCount { documents: 9000, here: 1 }];
        check_better(Found { terms: &twice, ..FOUND }, FOUND);
        check_better(Found { terms: &rare, ..FOUND }, FOUND);
        check_better(Found { terms: &two, ..FOUND }, FOUND);
        check_better(Found { length: 10, ..FOUND }, FOUND);
        check_better(Found { part: Part::Prompt, ..FOUND }, FOUND);
        check_better(Found { time: Some(days_ago(1)), ..FOUND }, Found { time: Some(days_ago(2)), ..FOUND });
        check_better(Found { time: Some(days_ago(300)), ..FOUND }, FOUND);
    }

    #[test]
    fn recency_decides_only_between_similar_matches() {
        let rare = [TermCount { documents: 5, here: 3 }];
        check_better(
            Found { terms: &rare, time: Some(days_ago(400)), ..FOUND },
            Found { time: Some(days_ago(0)), ..FOUND },
        );
    }

    #[test]
    fn scores_are_finite_whatever_is_counted() {
        for documents in [0, 1, u32::MAX] {
            for average_length in [0.0, -1.0, f64::NAN, f64::INFINITY] {
                for here in [0, u32::MAX] {
                    let collection = Collection { documents, average_length, now: now() };
                    let terms = [TermCount { documents: u32::MAX - documents, here }];
                    for time in [None, Some(Timestamp::MIN), Some(Timestamp::MAX)] {
                        for length in [0, u32::MAX] {
                            let score = score(&collection, &Found { terms: &terms, length, time, ..FOUND });
                            assert!(score.is_finite() && score >= 0.0, "{collection:?} {terms:?} {score}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn ties_have_one_order() {
        let ranked = |score, time, document| Ranked { score, time, document };
        let mut results = [
            ranked(1.0, None, 9),
            ranked(1.0, Some(days_ago(2)), 1),
            ranked(2.0, None, 2),
            ranked(1.0, Some(days_ago(1)), 3),
            ranked(1.0, Some(days_ago(2)), 4),
        ];
        let expected = [2, 3, 4, 1, 9];
        results.sort();
        assert_eq!(results.map(|result| result.document), expected);
        results.reverse();
        results.sort();
        assert_eq!(results.map(|result| result.document), expected);
    }
}
