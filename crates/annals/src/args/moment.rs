//! Times as they are given to options: the forms of [`When`], in the local zone unless they name another one.

use annals_search::{DateError, When};
use jiff::{Timestamp, Zoned};

/// A day, a month or a year: its start, and the start of the next one.
#[derive(Clone, Debug)]
pub(crate) struct Period {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// What was given.
    pub(crate) written: String,
}

/// Parses a time, or the start of a day, a month or a year.
pub(super) fn moment(text: &str) -> Result<Timestamp, DateError> {
    text.parse::<When>()?.resolve(&Zoned::now())
}

/// Parses the end of a range: a day, a month or a year is included.
pub(super) fn end(text: &str) -> Result<Timestamp, DateError> {
    text.parse::<When>()?.resolve_end(&Zoned::now())
}

/// What a day, a month or a year may be written as.
const FORMS: &str = "write today, yesterday, monday, 2026-01-31, 2026-01 or 2026";

/// Parses a day, a month or a year.
pub(super) fn period(text: &str) -> Result<Period, String> {
    let now = Zoned::now();
    let bounds = text.parse::<When>().and_then(|when| Ok((when.resolve(&now)?, when.resolve_end(&now)?)));
    let (start, end) = bounds.map_err(|error| match error {
        DateError::Unknown(_) => format!("it is no day, month or year: {FORMS}"),
        error => error.to_string(),
    })?;
    if start == end {
        return Err(format!("it is a time, not a day: {FORMS}"));
    }
    Ok(Period { start, end, written: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_a_day_a_month_or_a_year() {
        for (text, hours) in [("2026-01-31", 24), ("2026-02", 28 * 24), ("2026", 365 * 24)] {
            let Period { start, end, .. } = period(text).unwrap();
            // The clocks may be changed in between.
            let length = (end.as_second() - start.as_second()) / 3600;
            assert!((hours - 1..=hours + 1).contains(&length), "{text}: {length} hours");
        }
        assert!(period("tuesday").is_ok() && period("yesterday").is_ok());
        for wrong in ["7d", "2026-01-31T14:30", "now", "someday"] {
            assert!(period(wrong).unwrap_err().ends_with("2026-01 or 2026"), "{wrong}");
        }
    }
}
