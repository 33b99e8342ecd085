//! Five-hour windows: real ones where their end is known, and estimates otherwise.
//!
//! Claude Code tells when a window ends, in its status line and in old messages about a reached limit. Without that, a window is assumed to
//! begin with the first response after the one before has ended. Other machines and programs may have begun it earlier, so such a window is
//! an estimate.

use crate::money::Money;

const FIVE_HOURS: i64 = 5 * 60 * 60 * 1000;
/// Two ends that are known and differ by less than this are those of the same window.
const SAME: i64 = 10 * 60 * 1000;

/// A five-hour window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its start, in milliseconds since 1970.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// Whether it is an estimate.
    pub is_estimated: bool,
}

/// How fast the running window is used, and what it comes to if that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurnRate {
    /// Tokens for each minute between the first and the last response.
    pub tokens_per_minute: u64,
    /// What an hour costs.
    pub cost_per_hour: Money,
    /// All tokens of the window at its end.
    pub projected_tokens: u64,
    /// What the window costs at its end.
    pub projected_cost: Money,
}

impl BurnRate {
    /// Returns the rate of a window that has used so much from its first to its last response; `None` for a single moment.
    pub(crate) fn new(window: &Window, span: (i64, i64), now: i64, tokens: u64, cost: Money) -> Option<Self> {
        let minutes = i128::from((span.1 - span.0) / 60_000);
        if minutes <= 0 {
            return None;
        }
        let left = i128::from((window.end - now).max(0) / 60_000);
        let (tokens, cost) = (i128::from(tokens), cost.picos());
        Some(Self {
            tokens_per_minute: clamped(tokens / minutes),
            cost_per_hour: Money::from_picos(cost * 60 / minutes),
            projected_tokens: clamped(tokens + tokens * left / minutes),
            projected_cost: Money::from_picos(cost + cost * left / minutes),
        })
    }
}

fn clamped(amount: i128) -> u64 {
    u64::try_from(amount).unwrap_or(u64::MAX)
}

/// Returns the windows of sorted times, in order. `ends` are the ends of windows that are known.
pub fn windows(times: &[i64], ends: &[i64]) -> Vec<Window> {
    let known = known(ends);
    let mut windows: Vec<Window> = Vec::new();
    for &time in times {
        if windows.last().is_some_and(|window| time < window.end) {
            continue;
        }
        let next = known.partition_point(|window| window.end <= time);
        let next = known.get(next);
        if let Some(window) = next.filter(|window| window.start <= time) {
            windows.push(*window);
        } else {
            let end = time.saturating_add(FIVE_HOURS);
            let end = next.map_or(end, |window| end.min(window.start));
            windows.push(Window { start: time, end, is_estimated: true });
        }
    }
    windows
}

/// Returns the windows whose ends are known, without overlaps.
fn known(ends: &[i64]) -> Vec<Window> {
    let mut ends = ends.to_vec();
    ends.sort_unstable();
    let mut windows: Vec<Window> = Vec::new();
    for end in ends {
        let before = windows.last().map_or(i64::MIN, |window| window.end);
        if end < before.saturating_add(SAME) {
            continue;
        }
        let start = end.saturating_sub(FIVE_HOURS).max(before);
        windows.push(Window { start, end, is_estimated: false });
    }
    windows
}

/// Returns the window that a time is in.
pub(crate) fn window_of(windows: &[Window], time: i64) -> Option<usize> {
    let after = windows.partition_point(|window| window.start <= time);
    after.checked_sub(1).filter(|index| time < windows[*index].end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 60 * 60 * 1000;

    fn spans(times: &[i64], ends: &[i64]) -> Vec<(i64, i64, bool)> {
        let found = windows(times, ends);
        assert!(times.iter().all(|time| window_of(&found, *time).is_some()));
        found.iter().map(|window| (window.start, window.end, window.is_estimated)).collect()
    }

    #[test]
    fn a_window_begins_with_the_first_response_and_lasts_five_hours() {
        let minute = HOUR / 60;
        assert_eq!(
            spans(&[minute, HOUR, 5 * HOUR, 5 * HOUR + minute, 30 * HOUR], &[]),
            [
                (minute, 5 * HOUR + minute, true),
                (5 * HOUR + minute, 10 * HOUR + minute, true),
                (30 * HOUR, 35 * HOUR, true)
            ]
        );
        assert_eq!(windows(&[], &[HOUR]), []);
    }

    #[test]
    fn a_known_end_is_a_fact() {
        let end = 8 * HOUR;
        assert_eq!(
            spans(&[HOUR, 4 * HOUR, 7 * HOUR, 9 * HOUR], &[end, end + 1]),
            [(HOUR, 3 * HOUR, true), (3 * HOUR, end, false), (9 * HOUR, 14 * HOUR, true)]
        );
        // Windows that are known do not overlap.
        assert_eq!(
            spans(&[4 * HOUR, 9 * HOUR], &[end, end + 2 * HOUR]),
            [(3 * HOUR, end, false), (end, end + 2 * HOUR, false)]
        );
    }

    #[test]
    fn the_rate_is_that_between_the_first_and_the_last_response() {
        let window = Window { start: 0, end: 5 * HOUR, is_estimated: true };
        let cost = Money::from_dollars(6.0).unwrap();
        let rate = BurnRate::new(&window, (0, 2 * HOUR), 3 * HOUR, 1_200, cost).unwrap();
        assert_eq!((rate.tokens_per_minute, rate.projected_tokens), (10, 2_400));
        assert_eq!((rate.cost_per_hour.dollars(), rate.projected_cost.dollars()), (3.0, 12.0));
        assert_eq!(BurnRate::new(&window, (0, 0), 3 * HOUR, 1_200, cost), None);
    }
}
