//! The server as its clients meet it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod abuse;
mod acp;
mod agents;
mod changes;
mod connections;
mod export;
mod golden;
mod http;
mod load;
mod pages;
mod reading;
mod secrets;
mod view;
mod world;
