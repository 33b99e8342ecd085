//! Times as they are given to options: the forms of [`When`], in the local zone unless they name another one.

use annals_search::{DateError, When};
use jiff::{Timestamp, Zoned};

/// Parses a time, or the start of a day, a month or a year.
pub(super) fn moment(text: &str) -> Result<Timestamp, DateError> {
    text.parse::<When>()?.resolve(&Zoned::now())
}

/// Parses the end of a range: a day, a month or a year is included.
pub(super) fn end(text: &str) -> Result<Timestamp, DateError> {
    text.parse::<When>()?.resolve_end(&Zoned::now())
}
