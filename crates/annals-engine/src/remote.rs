//! Logs that other machines keep.

#[cfg(feature = "http")]
mod http;

use std::io::{self, Read};

#[cfg(feature = "http")]
pub use http::Http;

/// A place outside of this machine that keeps logs. HTTP is the only one ([`Http`], cargo feature `http`); the engine knows
/// no more of it than this.
pub trait Remote {
    /// Opens a log. Returns `None` if the place has no such log; any other failure is an error.
    fn open(&self, address: &str) -> io::Result<Option<Box<dyn Read>>>;
}
