//! Finds keys, tokens and passwords in text and masks them.
