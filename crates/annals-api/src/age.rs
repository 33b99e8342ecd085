//! How long ago something was, as people write it: `12h`, `90d`, `2w`.

use jiff::SignedDuration;

const HOUR: u64 = 60 * 60;

/// Parses an age: a number of hours (`12h`), days of 24 hours (`90d`) or weeks (`2w`). Returns `None` for any other text. A number
/// that is too large gives the longest duration, which lies before every representable time.
///
/// ```
/// use annals_api::parse_age;
///
/// assert_eq!(parse_age("2w"), parse_age("14d"));
/// assert_eq!(parse_age("2026-01-31"), None);
/// ```
pub fn parse_age(text: &str) -> Option<SignedDuration> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit = match unit {
        "h" => HOUR,
        "d" => 24 * HOUR,
        "w" => 7 * 24 * HOUR,
        _ => return None,
    };
    if number.is_empty() {
        return None;
    }
    let seconds = number.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(unit);
    Some(SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_of_hours_days_or_weeks() {
        for (text, hours) in [("0h", 0), ("12h", 12), ("90d", 90 * 24), ("2w", 14 * 24), ("007d", 7 * 24)] {
            assert_eq!(parse_age(text), Some(SignedDuration::from_hours(hours)), "{text}");
        }
        for text in ["", "d", "7", "-1d", "+1d", "1.5d", " 7d", "7d ", "7D", "７d", "7天", "7m", "2026-01-31"]
        {
            assert_eq!(parse_age(text), None, "{text}");
        }
    }

    #[test]
    fn an_age_that_is_too_large_lies_before_every_time() {
        for text in ["9223372036854775807h", "99999999999999999999999999w"] {
            let age = parse_age(text).unwrap();
            assert_eq!(age, SignedDuration::from_secs(i64::MAX), "{text}");
            assert!(jiff::Timestamp::MAX.checked_sub(age).is_err(), "{text}");
        }
    }
}
