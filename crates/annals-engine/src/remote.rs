//! Logs on other machines.

#[cfg(feature = "http")]
mod http;

use std::io::{self, Read};

#[cfg(feature = "http")]
pub use http::Http;

/// A source of logs outside of this machine. The only implementation is [`Http`] (cargo feature `http`); the engine depends on
/// this trait alone.
pub trait Remote {
    /// Opens a log. Returns `None` if there is no such log; any other failure is an error.
    fn open(&self, address: &str) -> io::Result<Option<Box<dyn Read>>>;
}
