//! Parses times in every format that JavaScript's `Date` reads, because Claude Code uses it.
//!
//! There are two grammars. The first is that of ISO 8601, in which a date alone is in UTC and a date with a time but no
//! zone is local. Everything else goes to a lenient one that JavaScript engines inherited from browsers: numbers, names
//! of months, a time and a zone in nearly any order. Its rules were compared with what the engines answer.

use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// Parses a time as `new Date(text)` does; returns `None` if that gives an invalid date (CHAIN 1.2c).
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    match IsoParser::read(text) {
        Some(fields) => fields.timestamp(),
        None => LenientParser::read(text)?.timestamp(),
    }
}

/// The fields of a date and time, before they are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DateFields {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    millisecond: i64,
    /// The offset from UTC in minutes; `None` is local time.
    offset: Option<i64>,
}

impl DateFields {
    fn timestamp(self) -> Option<Timestamp> {
        let ends_the_day = self.hour == 24 && (self.minute, self.second, self.millisecond) == (0, 0, 0);
        let is_valid = (1..=12).contains(&self.month)
            && (1..=31).contains(&self.day)
            && (self.hour < 24 || ends_the_day)
            && self.minute < 60
            && self.second < 60;
        let first = Date::new(self.year.try_into().ok()?, self.month.try_into().ok()?, 1).ok()?;
        // The 30th of February is the 2nd of March, and 24:00 the beginning of the next day.
        let since = ((self.day - 1) * 24 + self.hour) * 60 + self.minute;
        let since = SignedDuration::from_millis((since * 60 + self.second) * 1000 + self.millisecond);
        let local = first.at(0, 0, 0, 0).checked_add(since).ok()?;
        let zone = match self.offset {
            Some(minutes) => Offset::from_seconds((minutes * 60).try_into().ok()?).ok()?.to_time_zone(),
            None => TimeZone::system(),
        };
        let time = local.to_zoned(zone).ok()?.timestamp();
        is_valid.then_some(time)
    }
}

/// Reads ISO 8601 from left to right.
struct IsoParser<'t>(&'t [u8]);

impl IsoParser<'_> {
    /// Parses a text; returns `None` if it does not begin like ISO 8601, so that the lenient grammar is tried.
    fn read(text: &str) -> Option<DateFields> {
        let mut rest = IsoParser(text.as_bytes());
        let sign = rest.symbol(b"+-");
        let year = rest.digits(if sign.is_some() { 6 } else { 4 })?;
        let mut fields = DateFields {
            year: if sign == Some(b'-') { -year } else { year },
            month: 1,
            day: 1,
            offset: Some(0),
            ..DateFields::default()
        };
        if rest.symbol(b"-").is_some() {
            fields.month = rest.digits(2)?;
            if rest.symbol(b"-").is_some() {
                fields.day = rest.digits(2)?;
            }
        }
        if rest.symbol(b"Tt").is_some() && rest.time(&mut fields).is_none() {
            // A text that begins like this is not tried with the lenient grammar: the date is invalid.
            return Some(DateFields::default());
        }
        rest.0.is_empty().then_some(fields)
    }

    fn time(&mut self, fields: &mut DateFields) -> Option<()> {
        fields.hour = self.digits(2)?;
        self.symbol(b":")?;
        fields.minute = self.digits(2)?;
        if self.symbol(b":").is_some() {
            fields.second = self.digits(2)?;
            if self.symbol(b".").is_some() {
                fields.millisecond = self.fraction()?;
            }
        }
        fields.offset = match self.symbol(b"Zz+-") {
            None => None,
            Some(b'+') => Some(self.zone()?),
            Some(b'-') => Some(-self.zone()?),
            Some(_) => Some(0),
        };
        self.0.is_empty().then_some(())
    }

    fn zone(&mut self) -> Option<i64> {
        let hours = self.digits(2)?;
        let _ = self.symbol(b":");
        let minutes = self.digits(2)?;
        (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
    }

    /// Reads the digits after a point and ignores those after the third.
    fn fraction(&mut self) -> Option<i64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        let milliseconds =
            digits.iter().zip([100, 10, 1]).map(|(digit, worth)| i64::from(digit - b'0') * worth);
        (count > 0).then(|| milliseconds.sum())
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let is_number = digits.iter().all(u8::is_ascii_digit);
        let number = digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit.wrapping_sub(b'0')));
        self.0 = rest;
        is_number.then_some(number)
    }

    fn symbol(&mut self, symbols: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        if !symbols.contains(first) {
            return None;
        }
        self.0 = rest;
        Some(*first)
    }
}

/// The fields that the lenient grammar has found so far.
#[derive(Debug, Default)]
struct LenientParser {
    /// Numbers of the date, in order.
    numbers: Vec<i64>,
    /// Numbers of the time: hours, minutes, seconds, milliseconds.
    time: Vec<i64>,
    month: Option<i64>,
    /// Whether the text has `am` (false) or `pm` (true).
    afternoon: Option<bool>,
    /// The sign of the zone and its minutes.
    zone: Option<(i64, i64)>,
}

/// Names of months and zones, by their first three letters.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const ZONES: [(&str, i64); 11] = [
    ("z", 0),
    ("ut", 0),
    ("utc", 0),
    ("gmt", 0),
    ("est", -300),
    ("edt", -240),
    ("cst", -360),
    ("cdt", -300),
    ("mst", -420),
    ("mdt", -360),
    ("pst", -480),
];

impl LenientParser {
    fn read(text: &str) -> Option<DateFields> {
        let mut found = Self::default();
        let mut rest = text;
        let mut depth = 0_usize;
        while let Some(first) = rest.chars().next() {
            let token;
            (token, rest) = rest.split_at(token_length(rest, first));
            match first {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                '0'..='9' => found.number(token, rest)?,
                'a'..='z' | 'A'..='Z' => found.word(&token.to_ascii_lowercase())?,
                '+' | '-' if found.zone.is_some() || !found.time.is_empty() => {
                    found.zone = Some((if first == '-' { -1 } else { 1 }, -1));
                }
                _ => {}
            }
        }
        found.fields()
    }

    fn number(&mut self, digits: &str, behind: &str) -> Option<()> {
        let number: i64 = digits.parse().ok()?;
        match self.zone {
            Some((sign, -1)) => {
                let minutes = if digits.len() <= 2 { number * 60 } else { number / 100 * 60 + number % 100 };
                // With a colon, the minutes follow.
                self.zone = Some((sign, minutes));
            }
            Some((_, minutes))
                if minutes > 0 && !self.time.is_empty() && behind.is_empty() && digits.len() == 2 =>
            {
                self.zone = self.zone.map(|(sign, minutes)| (sign, minutes + number));
            }
            _ if behind.starts_with(':') || matches!(self.time.len(), 1..=2) => self.time.push(number),
            _ if self.time.len() == 3 && self.numbers.len() >= 3 => {
                let scaled = format!("{digits:0<3}");
                self.time.push(scaled.get(..3)?.parse().ok()?);
            }
            _ if self.numbers.len() < 3 => self.numbers.push(number),
            _ => return None,
        }
        Some(())
    }

    /// Reads a word. Unknown words are ignored before the first number and invalid after it.
    fn word(&mut self, word: &str) -> Option<()> {
        let beginning = word.get(..3).unwrap_or(word);
        if let Some(month) = MONTHS.iter().position(|&name| name == beginning) {
            self.month = Some(i64::try_from(month).ok()? + 1);
        } else if matches!(word, "am" | "pm") && !self.time.is_empty() {
            self.afternoon = Some(word == "pm");
        } else if let Some(&(_, minutes)) = ZONES.iter().find(|(name, _)| *name == beginning)
            && (word.len() <= 3)
        {
            self.zone = Some((minutes.signum(), minutes.abs()));
        } else if !self.numbers.is_empty() || !self.time.is_empty() {
            return None;
        }
        Some(())
    }

    fn fields(self) -> Option<DateFields> {
        let [first, second, third] = first_of(&self.numbers, 1);
        let begins_with_day = (1..=31).contains(self.numbers.first()?);
        let (year, month, day) = match self.month {
            Some(month) if begins_with_day => (second, month, first),
            Some(month) => (first, month, second),
            None if begins_with_day => (third, first, second),
            None => (first, second, third),
        };
        let year = match year {
            0..=49 => year + 2000,
            50..=99 => year + 1900,
            year => year,
        };
        let [hour, minute, second, millisecond] = first_of(&self.time, 0);
        let hour = match self.afternoon {
            Some(_) if !(1..=12).contains(&hour) => return None,
            Some(afternoon) => hour % 12 + if afternoon { 12 } else { 0 },
            None => hour,
        };
        Some(DateFields {
            year,
            month,
            day,
            hour,
            minute,
            second,
            millisecond,
            offset: self.zone.map(|(sign, minutes)| sign * minutes.max(0)),
        })
    }
}

/// Returns the length of the number, the word or the other character that a text begins with.
fn token_length(text: &str, first: char) -> usize {
    let end = match first {
        '0'..='9' => text.find(|next: char| !next.is_ascii_digit()),
        'a'..='z' | 'A'..='Z' => text.find(|next: char| !next.is_ascii_alphabetic()),
        first => return first.len_utf8(),
    };
    end.unwrap_or(text.len())
}

/// Returns the first numbers of a list, with a default in place of those that it does not have.
fn first_of<const COUNT: usize>(numbers: &[i64], default: i64) -> [i64; COUNT] {
    std::array::from_fn(|index| numbers.get(index).copied().unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the engines answer, with UTC as the local zone; none is an invalid date.
    #[test]
    fn times_are_read_as_javascript_reads_them() {
        for (text, expected) in [
            ("2026-11-01T10:00:05.123Z", Some("2026-11-01T10:00:05.123Z")),
            ("2026-11-01t10:00:05z", Some("2026-11-01T10:00:05Z")),
            ("2026-11-01T10:00Z", Some("2026-11-01T10:00:00Z")),
            ("2026-11-01T10:00:05.1Z", Some("2026-11-01T10:00:05.100Z")),
            ("2026-11-01T10:00:05.1234567Z", Some("2026-11-01T10:00:05.123Z")),
            ("2026-11-01T10:00:05+01:00", Some("2026-11-01T09:00:05Z")),
            ("2026-11-01T10:00:05-0130", Some("2026-11-01T11:30:05Z")),
            ("+002026-11-01T10:00:05Z", Some("2026-11-01T10:00:05Z")),
            ("2026-11-01", Some("2026-11-01T00:00:00Z")),
            ("2026-11", Some("2026-11-01T00:00:00Z")),
            ("2026", Some("2026-01-01T00:00:00Z")),
            ("2026-02-30T10:00:00Z", Some("2026-03-02T10:00:00Z")),
            ("2026-11-01T24:00:00Z", Some("2026-11-02T00:00:00Z")),
            ("Sun, 01 Nov 2026 10:00:05 GMT", Some("2026-11-01T10:00:05Z")),
            ("Sun Nov 01 2026 10:00:05 GMT+0000 (UTC)", Some("2026-11-01T10:00:05Z")),
            ("Sun Nov 01 2026 10:00:05 GMT+0200", Some("2026-11-01T08:00:05Z")),
            ("1 Nov 2026 10:00:05 GMT", Some("2026-11-01T10:00:05Z")),
            ("0", Some("2000-01-01T00:00:00Z")),
            ("5", Some("2001-05-01T00:00:00Z")),
            ("99", Some("1999-01-01T00:00:00Z")),
            ("-1", Some("2001-01-01T00:00:00Z")),
            ("", None),
            ("abc", None),
            ("13", None),
            ("10:00:05", None),
            ("null", None),
            ("1793527205000", None),
            ("9999999999999999999", None),
            ("2026-11-01T10:00:60Z", None),
            ("2026-11-01T10:60:00Z", None),
            ("2026-11-01T25:00:00Z", None),
            ("2026-11-01T24:00:01Z", None),
            ("2026-11-01T10Z", None),
            ("2026-11-01T10:00:05 Z", None),
            ("2026-11-01T10:00:05Z foo", None),
            ("2026-11-01T10:00:05,123Z", None),
            ("2026-11-01T10:00:05+01", None),
            ("2026-11-01T10:00:05-24:00", None),
            ("20261101T100005Z", None),
            ("2026-13-01T10:00:00Z", None),
            ("2026-1-1T10:00:05Z", None),
            ("2026-11-32", None),
            ("2026-W44", None),
        ] {
            let expected: Option<Timestamp> = expected.map(|time| time.parse().unwrap());
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_time_without_zone_is_local() {
        let local: jiff::civil::DateTime = "2026-11-01T10:00:05".parse().unwrap();
        let expected = local.to_zoned(TimeZone::system()).unwrap().timestamp();
        for text in [
            "2026-11-01T10:00:05",
            "2026-11-01 10:00:05",
            "2026/11/01 10:00:05",
            "Nov 1, 2026 10:00:05",
            "11/1/2026 10:00:05 am",
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        let midnight = local.date().to_zoned(TimeZone::system()).unwrap().timestamp();
        for text in ["2026-11-1", "Nov 1 2026", "11/01/2026", "Nov 2026"] {
            assert_eq!(parse(text), Some(midnight), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_reading_fail(text in "[ -~0-9:+TZ./-]{0,30}|.{0,30}") {
            let _ = parse(&text);
        }
    }
}
