//! The server as a client sees it: messages in, messages out.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod client;
mod limits;
mod tools;
