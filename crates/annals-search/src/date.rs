//! Times as people write them: in queries (`before:` and `after:`), and in options such as `--since`.

use std::str::FromStr;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::{Span, Timestamp, Zoned};

/// A time as a person writes it. What it means can depend on the present time and on the time zone.
///
/// | written | meaning |
/// |---|---|
/// | `2026-01-31`, `2026/1/31` | the start of that day |
/// | `2026-01`, `2026` | the start of that month or year |
/// | `2026-01-31T14:30` | that local time |
/// | `2026-01-31T14:30Z`, `…+02:00` | that time in the zone that is given |
/// | `30min`, `12h`, `7d`, `2w`, `3mo`, `1y` | so long ago |
/// | `now`, `today`, `yesterday` | the present, the start of the day |
/// | `monday`, `mon` … | the start of the last such day; that can be today |
/// | `last monday` | the same, before today |
///
/// ```
/// use annals_search::When;
///
/// let now = jiff::civil::date(2026, 3, 10).at(15, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC)?;
/// let start = |text: &str| text.parse::<When>().unwrap().resolve(&now).unwrap().to_string();
/// assert_eq!(start("yesterday"), "2026-03-09T00:00:00Z");
/// assert_eq!(start("2d"), "2026-03-08T15:00:00Z");
/// assert_eq!("2026-02-31".parse::<When>().unwrap_err().to_string(), "`2026-02-31` does not exist");
/// # Ok::<(), jiff::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct When {
    written: String,
    meaning: Meaning,
}

#[derive(Debug, Clone, PartialEq)]
enum Meaning {
    Time(Timestamp),
    Local(DateTime),
    Period(Date, Period),
    Ago(i32, Unit),
    DaysAgo(i32),
    Last(Weekday),
    /// The same, but never today.
    Before(Weekday),
}

/// How long a date without a time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Period {
    Day,
    Month,
    Year,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// Why a text is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DateError {
    /// It has none of the forms.
    #[error(
        "`{0}` is not a date: write 2026-01-31, 2026-01, 2026-01-31T14:30, 7d, 12h, 2w, today, yesterday or monday"
    )]
    Unknown(String),
    /// There is no such day or time.
    #[error("`{0}` does not exist")]
    NoSuchDay(String),
    /// It is too long ago to be computed.
    #[error("`{0}` is too long ago")]
    OutOfRange(String),
}

impl When {
    /// Returns the time that is meant, if it is `now`. Of a day, a month or a year, it is the start.
    pub fn resolve(&self, now: &Zoned) -> Result<Timestamp, DateError> {
        self.at(now, |start, _| Ok(start))
    }

    /// Returns the end of what is meant: of a day, a month or a year, the start of the next one; any other time as it is.
    pub fn resolve_end(&self, now: &Zoned) -> Result<Timestamp, DateError> {
        self.at(now, |start, period| start.checked_add(period.span()))
    }

    /// Returns the time that is meant; `bound` chooses the date for what is a whole period.
    fn at(
        &self,
        now: &Zoned,
        bound: impl Fn(Date, Period) -> Result<Date, jiff::Error>,
    ) -> Result<Timestamp, DateError> {
        let in_zone = |time: DateTime| time.to_zoned(now.time_zone().clone()).map(|zoned| zoned.timestamp());
        let days_ago = |days: i32| {
            let day = now.date().checked_sub(Span::new().try_days(days)?)?;
            in_zone(bound(day, Period::Day)?.into())
        };
        let time = match self.meaning {
            Meaning::Time(time) => Ok(time),
            Meaning::Local(time) => in_zone(time),
            Meaning::Period(start, period) => bound(start, period).and_then(|date| in_zone(date.into())),
            Meaning::Ago(amount, unit) => {
                unit.span(amount).and_then(|span| now.checked_sub(span)).map(|zoned| zoned.timestamp())
            }
            Meaning::DaysAgo(days) => days_ago(days),
            Meaning::Last(weekday) => days_ago(i32::from(weekday.until(now.weekday()))),
            Meaning::Before(weekday) => match weekday.until(now.weekday()) {
                0 => days_ago(7),
                days => days_ago(i32::from(days)),
            },
        };
        time.map_err(|_| DateError::OutOfRange(self.written.clone()))
    }
}

impl From<Timestamp> for When {
    fn from(time: Timestamp) -> Self {
        When { written: time.to_string(), meaning: Meaning::Time(time) }
    }
}

impl Period {
    fn span(self) -> Span {
        match self {
            Period::Day => Span::new().days(1),
            Period::Month => Span::new().months(1),
            Period::Year => Span::new().years(1),
        }
    }
}

impl std::fmt::Display for When {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.written)
    }
}

impl FromStr for When {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Self, DateError> {
        let written = text.trim();
        // The error repeats the date as it was written; 60 characters are enough to recognise it.
        let shown = || written.chars().take(60).collect::<String>();
        let lower = written.to_ascii_lowercase();
        let meaning = match named(&lower).or_else(|| ago(&lower)) {
            Some(meaning) => meaning,
            None if is_period(written) => period(written).ok_or_else(|| DateError::NoSuchDay(shown()))?,
            None => time(written).ok_or_else(|| DateError::Unknown(shown()))?,
        };
        Ok(When { written: shown(), meaning })
    }
}

fn named(lower: &str) -> Option<Meaning> {
    if let Some(day) = lower.strip_prefix("last ") {
        return match named(day.trim_start())? {
            Meaning::Last(weekday) => Some(Meaning::Before(weekday)),
            _ => None,
        };
    }
    Some(match lower {
        "now" => Meaning::Ago(0, Unit::Minute),
        "today" => Meaning::DaysAgo(0),
        "yesterday" => Meaning::DaysAgo(1),
        "monday" | "mon" => Meaning::Last(Weekday::Monday),
        "tuesday" | "tue" => Meaning::Last(Weekday::Tuesday),
        "wednesday" | "wed" => Meaning::Last(Weekday::Wednesday),
        "thursday" | "thu" => Meaning::Last(Weekday::Thursday),
        "friday" | "fri" => Meaning::Last(Weekday::Friday),
        "saturday" | "sat" => Meaning::Last(Weekday::Saturday),
        "sunday" | "sun" => Meaning::Last(Weekday::Sunday),
        _ => return None,
    })
}

/// Parses a number with a unit, such as `7d`.
fn ago(lower: &str) -> Option<Meaning> {
    let digits = lower.find(|character: char| !character.is_ascii_digit())?;
    let unit = match &lower[digits..] {
        "min" => Unit::Minute,
        "h" => Unit::Hour,
        "d" => Unit::Day,
        "w" => Unit::Week,
        "mo" => Unit::Month,
        "y" => Unit::Year,
        _ => return None,
    };
    // A number that is too large for its type is too long ago, which `resolve` says.
    let amount = lower[..digits]
        .bytes()
        .try_fold(0_i32, |sum, digit| sum.checked_mul(10)?.checked_add(i32::from(digit - b'0')));
    (digits > 0).then(|| Meaning::Ago(amount.unwrap_or(i32::MAX), unit))
}

impl Unit {
    fn span(self, amount: i32) -> Result<Span, jiff::Error> {
        match self {
            Unit::Minute => Span::new().try_minutes(amount),
            Unit::Hour => Span::new().try_hours(amount),
            // A day is 24 hours here, as in the options of `list`; `yesterday` follows the calendar.
            Unit::Day => Span::new().try_hours(i64::from(amount) * 24),
            Unit::Week => Span::new().try_hours(i64::from(amount) * 24 * 7),
            Unit::Month => Span::new().try_months(amount),
            Unit::Year => Span::new().try_years(amount),
        }
    }
}

/// Returns whether a text has the form of a year, a month or a day.
fn is_period(text: &str) -> bool {
    let fields: Vec<_> = text.splitn(4, ['-', '/']).collect();
    let is_number = |field: &&str| {
        !field.is_empty() && field.len() <= 4 && field.bytes().all(|byte| byte.is_ascii_digit())
    };
    fields.len() <= 3 && fields[0].len() == 4 && fields.iter().all(is_number)
}

/// Parses a day, a month or a year.
fn period(text: &str) -> Option<Meaning> {
    let mut fields = text.split(['-', '/']);
    let year = fields.next()?.parse().ok()?;
    let (month, day) = (fields.next(), fields.next());
    let length = match (month, day) {
        (_, Some(_)) => Period::Day,
        (Some(_), None) => Period::Month,
        (None, None) => Period::Year,
    };
    let number = |field: Option<&str>| field.map_or(Some(1), |field| field.parse().ok());
    Some(Meaning::Period(Date::new(year, number(month)?, number(day)?).ok()?, length))
}

/// Parses a time of a day, in its zone if it names one.
fn time(text: &str) -> Option<Meaning> {
    let zoned = || text.parse::<Zoned>().ok().map(|zoned| Meaning::Time(zoned.timestamp()));
    let local = || text.parse::<DateTime>().ok().map(Meaning::Local);
    text.parse::<Timestamp>().ok().map(Meaning::Time).or_else(zoned).or_else(local)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves a text on Tuesday 10 March 2026, 15:00, in a zone two hours east of Greenwich.
    fn resolved(text: &str) -> Result<String, DateError> {
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        let now = Date::constant(2026, 3, 10).at(15, 0, 0, 0).to_zoned(zone).unwrap();
        let time = text.parse::<When>()?.resolve(&now)?;
        Ok(time.to_string())
    }

    #[test]
    fn days_begin_in_the_zone_of_the_present() {
        for (text, expected) in [
            ("2026-01-31", "2026-01-30T22:00:00Z"),
            ("2026/1/31", "2026-01-30T22:00:00Z"),
            ("2026-01", "2025-12-31T22:00:00Z"),
            ("2026", "2025-12-31T22:00:00Z"),
            ("2026-01-31T14:30", "2026-01-31T12:30:00Z"),
            ("2026-01-31 14:30", "2026-01-31T12:30:00Z"),
            ("2026-01-31T14:30:05Z", "2026-01-31T14:30:05Z"),
            ("2026-01-31T14:30-05:00", "2026-01-31T19:30:00Z"),
            ("now", "2026-03-10T13:00:00Z"),
            ("Today", "2026-03-09T22:00:00Z"),
            ("yesterday", "2026-03-08T22:00:00Z"),
            ("tuesday", "2026-03-09T22:00:00Z"),
            ("wed", "2026-03-03T22:00:00Z"),
            ("90min", "2026-03-10T11:30:00Z"),
            ("7d", "2026-03-03T13:00:00Z"),
            ("2w", "2026-02-24T13:00:00Z"),
            ("1mo", "2026-02-10T13:00:00Z"),
            ("1y", "2025-03-10T13:00:00Z"),
        ] {
            assert_eq!(resolved(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_range_ends_behind_the_day_the_month_or_the_year_that_it_names() {
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        let now = Date::constant(2026, 3, 10).at(15, 0, 0, 0).to_zoned(zone).unwrap();
        for (text, expected) in [
            ("2026-01-31", "2026-01-31T22:00:00Z"),
            ("2026-02", "2026-02-28T22:00:00Z"),
            ("2025", "2025-12-31T22:00:00Z"),
            ("today", "2026-03-10T22:00:00Z"),
            ("yesterday", "2026-03-09T22:00:00Z"),
            ("monday", "2026-03-09T22:00:00Z"),
            ("last monday", "2026-03-09T22:00:00Z"),
            ("2026-01-31T14:30", "2026-01-31T12:30:00Z"),
            ("2026-01-31T14:30Z", "2026-01-31T14:30:00Z"),
            ("7d", "2026-03-03T13:00:00Z"),
            ("now", "2026-03-10T13:00:00Z"),
        ] {
            let end = text.parse::<When>().unwrap().resolve_end(&now).unwrap();
            assert_eq!(end.to_string(), expected, "{text}");
        }
        assert!(matches!(
            "9999-12-31".parse::<When>().unwrap().resolve_end(&now),
            Err(DateError::OutOfRange(_))
        ));
    }

    #[test]
    fn what_is_no_time_is_explained() {
        for text in
            ["", "soon", "7", "7 d", "d", "-7d", "5m", "12:30", "昨天", "2026-", "20260-01-01", "𝟚d", "T"]
        {
            assert!(matches!(resolved(text), Err(DateError::Unknown(_))), "{text} {:?}", resolved(text));
        }
        for text in ["2026-02-31", "2026-13", "2026-00-01", "2026-1-99"] {
            assert!(matches!(resolved(text), Err(DateError::NoSuchDay(_))), "{text}");
        }
        for text in ["99999999999d", "20000y", "2147483647w"] {
            assert!(matches!(resolved(text), Err(DateError::OutOfRange(_))), "{text}");
        }
        assert!(resolved(&"9".repeat(100_000)).unwrap_err().to_string().len() < 300);
    }
}
