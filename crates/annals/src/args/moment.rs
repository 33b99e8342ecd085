//! Times as they are given to options.

use annals_api::parse_age;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Parses the end of a range: a date includes that day, in the local zone. Everything else is parsed as [`moment`] does.
pub(super) fn end(text: &str) -> Result<Timestamp, String> {
    // jiff also parses the date of a text with a time.
    let has_time = text.contains([':', 'T', 't', ' ']);
    match text.parse::<Date>().and_then(Date::tomorrow) {
        Ok(day_after) if !has_time => in_local_zone(day_after.into()),
        _ => moment(text),
    }
}

/// Parses a time, a date (its first moment), or how long ago it was (`7d`); in the local zone unless the text names another.
pub(super) fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(time) = text.parse::<Zoned>() {
        return Ok(time.timestamp());
    }
    if let Ok(time) = text.parse::<DateTime>() {
        return in_local_zone(time);
    }
    match parse_age(text) {
        Some(age) => Timestamp::now().checked_sub(age).map_err(|_| "too long ago".to_owned()),
        None => Err("neither a date (2026-01-31), nor a time, nor how long ago (7d, 12h, 2w)".to_owned()),
    }
}

fn in_local_zone(time: DateTime) -> Result<Timestamp, String> {
    time.to_zoned(TimeZone::system()).map(|zoned| zoned.timestamp()).map_err(|error| error.to_string())
}
