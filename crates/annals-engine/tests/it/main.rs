//! What operations on sessions do to files, whatever the disk does.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod faults;
mod follow;
mod lists;
mod operations;
mod world;
