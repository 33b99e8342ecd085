//! Parses the times of entries: quickly in the format that Claude Code writes, and in all other formats that it reads.

mod javascript;

use jiff::Timestamp;

use crate::json::JsonStr;

/// Parses a time as Claude Code does.
pub(crate) fn parse(text: JsonStr<'_>) -> Option<Timestamp> {
    parse_canonical(text.raw()).or_else(|| javascript::parse(&text.decode()))
}

/// The format that Claude Code writes; `d` is a digit.
const CANONICAL: &[u8; 24] = b"dddd-dd-ddTdd:dd:dd.dddZ";

/// Parses a time in the format that Claude Code writes, such as `2026-01-02T03:04:05.678Z`. Returns `None` for all others.
pub(crate) fn parse_canonical(text: &[u8]) -> Option<Timestamp> {
    let text: &[u8; 24] = text.try_into().ok()?;
    if !text.iter().zip(CANONICAL).all(|(byte, model)| fits(*byte, *model)) {
        return None;
    }
    let (year, month, day) = (number(&text[..4]), number(&text[5..7]), number(&text[8..10]));
    let (hour, minute, second) = (number(&text[11..13]), number(&text[14..16]), number(&text[17..19]));
    let days = days_since_1970(year, month, day);
    let is_a_day = (1..=12).contains(&month) && day > 0 && days < days_since_1970(year, month + 1, 1);
    if !is_a_day || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Timestamp::from_millisecond(seconds * 1000 + number(&text[20..23])).ok()
}

/// Returns whether a byte is what a byte of [`CANONICAL`] stands for.
#[inline]
fn fits(byte: u8, model: u8) -> bool {
    if model == b'd' { byte.is_ascii_digit() } else { byte == model }
}

/// Returns the number that digits spell.
#[inline]
fn number(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
}

/// Returns the number of days from 1 January 1970 to a day. Inside, years begin in March, so that a leap day is the last day of
/// its year. Month 13 is January of the next year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // Five months, from March or August on, have 153 days.
    let before_month = (153 * month + 2) / 5;
    let from_march_of_0 = 365 * year + leap_days + before_month + day - 1;
    from_march_of_0 - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slow(text: &str) -> Option<Timestamp> {
        text.parse().ok()
    }

    #[test]
    fn months_of_ten_thousand_years_have_the_days_that_the_parser_gives_them() {
        for year in 0..10_000 {
            for month in 1..=12 {
                for day in [1, 1 + (year + month) % 28, 28, 29, 30, 31] {
                    let text = format!("{year:04}-{month:02}-{day:02}T21:59:58.123Z");
                    let fast = parse_canonical(text.as_bytes());
                    assert_eq!(fast, slow(&text), "{text}");
                    assert!(fast.is_some() || day > 28, "{text}");
                }
            }
        }
    }

    #[test]
    fn other_spellings_and_times_that_are_none_are_left_to_the_parser() {
        for text in [
            "",
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.678+01:00",
            "2026-01-02 03:04:05.678Z",
            "2026-01-02T03:04:05.6789Z",
            "2026-02-30T03:04:05.678Z",
            "2026-13-01T03:04:05.678Z",
            "2026-00-01T03:04:05.678Z",
            "2026-01-00T03:04:05.678Z",
            "2026-01-02T24:04:05.678Z",
            "2026-01-02T03:60:05.678Z",
            "2026-01-02T03:04:60.678Z",
            "2026-01-02T03:04:0a.678Z",
        ] {
            assert_eq!(parse_canonical(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_the_parser_reads(text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\\.[0-9]{3}Z") {
            if let Some(time) = parse_canonical(text.as_bytes()) {
                prop_assert_eq!(Some(time), slow(&text));
            }
        }
    }
}
