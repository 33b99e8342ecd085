//! Days, weeks and months in a time zone.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};

/// A length of time of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// From midnight to midnight, also where that is 23 or 25 hours.
    Day,
    /// Seven days.
    Week,
    /// A month.
    Month,
}

/// Which day weeks begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weeks {
    /// The first day.
    pub start: Weekday,
}

impl Default for Weeks {
    /// Weeks of ISO 8601 begin on Monday.
    fn default() -> Self {
        Self { start: Weekday::Monday }
    }
}

/// Finds the period that a time is in.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    zone: TimeZone,
    period: Period,
    weeks: Weeks,
    /// The period that was found last: most times are in the same one as the time before.
    last: (i64, i64),
}

impl Calendar {
    pub(crate) fn new(zone: TimeZone, period: Period, weeks: Weeks) -> Self {
        Self { zone, period, weeks, last: (0, 0) }
    }

    /// Returns when the period of a time begins, in milliseconds; `None` if the calendar does not have the time.
    pub(crate) fn start_of(&mut self, time: i64) -> Option<i64> {
        if !(self.last.0..self.last.1).contains(&time) {
            let day = Timestamp::from_millisecond(time).ok()?.to_zoned(self.zone.clone()).date();
            let (first, length) = self.first_day(day)?;
            let after = first.checked_add(length).ok()?;
            self.last = (self.midnight(first)?, self.midnight(after)?);
        }
        Some(self.last.0)
    }

    /// Returns when a day begins.
    fn midnight(&self, day: Date) -> Option<i64> {
        Some(day.to_zoned(self.zone.clone()).ok()?.timestamp().as_millisecond())
    }

    fn first_day(&self, day: Date) -> Option<(Date, Span)> {
        Some(match self.period {
            Period::Day => (day, 1.day()),
            Period::Week => {
                let past = self.weeks.start.until(day.weekday());
                (day.checked_sub(i64::from(past).days()).ok()?, 1.week())
            }
            Period::Month => (day.first_of_month(), 1.month()),
        })
    }

    /// Returns the name of the period that begins at a time: `2026-01-31`, `2026-W05` or `2026-01`. A week that does not begin on
    /// Monday is named by its first day.
    pub(crate) fn name_of(&self, start: i64) -> String {
        let Ok(time) = Timestamp::from_millisecond(start) else { return String::new() };
        let day = time.to_zoned(self.zone.clone()).date();
        match self.period {
            Period::Week if self.weeks.start == Weekday::Monday => {
                let week = day.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Period::Day | Period::Week => day.to_string(),
            Period::Month => format!("{:04}-{:02}", day.year(), day.month()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(zone: &str, period: Period, start: Weekday, times: &[&str]) -> Vec<String> {
        let zone = TimeZone::get(zone).unwrap();
        let mut calendar = Calendar::new(zone, period, Weeks { start });
        let name = |time: &&str| {
            let time: Timestamp = time.parse().unwrap();
            let start = calendar.start_of(time.as_millisecond()).unwrap();
            calendar.name_of(start)
        };
        times.iter().map(name).collect()
    }

    #[test]
    fn days_begin_at_local_midnight_also_where_clocks_change() {
        let times = [
            "2026-03-28T22:59:59Z",
            "2026-03-28T23:00:00Z",
            "2026-03-29T21:59:59Z",
            "2026-03-29T22:00:00Z",
            "2026-10-24T22:00:00Z",
            "2026-10-25T22:59:59Z",
            "2026-10-25T23:00:00Z",
        ];
        assert_eq!(
            names("Europe/Berlin", Period::Day, Weekday::Monday, &times),
            [
                "2026-03-28",
                "2026-03-29",
                "2026-03-29",
                "2026-03-30",
                "2026-10-25",
                "2026-10-25",
                "2026-10-26"
            ]
        );
        // There is no midnight on this day.
        assert_eq!(
            names(
                "America/Santiago",
                Period::Day,
                Weekday::Monday,
                &["2026-09-06T03:59:59Z", "2026-09-06T04:00:00Z"]
            ),
            ["2026-09-05", "2026-09-06"]
        );
    }

    #[test]
    fn weeks_are_those_of_iso_8601_unless_another_day_is_the_first() {
        let times = ["2027-01-01T12:00:00Z", "2026-12-27T12:00:00Z"];
        assert_eq!(names("UTC", Period::Week, Weekday::Monday, &times), ["2026-W53", "2026-W52"]);
        assert_eq!(names("UTC", Period::Week, Weekday::Sunday, &times), ["2026-12-27", "2026-12-27"]);
        assert_eq!(names("UTC", Period::Month, Weekday::Monday, &times), ["2027-01", "2026-12"]);
    }
}
