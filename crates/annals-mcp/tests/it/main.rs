//! The server as a client sees it: messages in, messages out.

mod client;
mod limits;
mod tools;
