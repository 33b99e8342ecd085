//! What operations on sessions do to files, whatever the disk does.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

#[cfg(feature = "catalog")]
mod catalogue;
mod faults;
#[cfg(feature = "follow")]
mod follow;
mod independent_usage;
mod lists;
mod operations;
mod world;
