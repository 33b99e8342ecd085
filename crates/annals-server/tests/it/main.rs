//! The server as its clients meet it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod abuse;
mod acp;
mod connections;
mod golden;
mod http;
mod pages;
mod secrets;
mod world;
