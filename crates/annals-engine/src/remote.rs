//! Logs on other machines: read whole ([`Remote`]), or written one entry at a time ([`Ingress`]).

#[cfg(feature = "http")]
mod http;
mod token;

use std::fmt;
use std::io::{self, Read};
use std::time::Duration;

#[cfg(feature = "http")]
pub use http::{AddressError, Http};
pub(crate) use token::is_visible;
pub use token::{Token, TokenError};

/// A source of logs outside of this machine. The only implementation is [`Http`] (cargo feature `http`); the engine depends on
/// this trait alone.
pub trait Remote {
    /// Opens a log. Returns `None` if there is no such log; any other failure is an error. [`io::ErrorKind::PermissionDenied`] says
    /// that the server does not accept the token, or requires one.
    fn open(&self, address: &str) -> io::Result<Option<Box<dyn Read>>>;
}

/// A server that stores the entries of a session, one at a time and in order. The only implementation is [`Http`] (cargo
/// feature `http`).
pub trait Ingress: fmt::Debug + Send {
    /// Sends one entry to the log at an address.
    fn put(&self, address: &str, entry: &PutEntry<'_>) -> PutAnswer;
}

/// An entry to be stored.
#[derive(Clone, Copy, Debug)]
pub struct PutEntry<'a> {
    /// The entry, a JSON object.
    pub body: &'a [u8],
    /// The uuid of the entry that the server should have stored last; `None` if the log should be empty.
    pub after: Option<&'a str>,
    /// For an entry without a uuid: a key that is the same whenever the same line is sent.
    pub key: Option<&'a str>,
}

/// The answer to an entry that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutAnswer {
    /// The server has stored the entry.
    Stored,
    /// The entry does not follow the last one of the server.
    Conflict {
        /// The uuid of the last entry of the server; `None` if it has none.
        head: Option<String>,
    },
    /// The server does not accept the token, or requires one.
    Unauthorized,
    /// The entry cannot be stored, however often it is sent.
    Refused {
        /// The reason.
        reason: String,
    },
    /// There was no answer, or one that says nothing about the entry: it may be stored or not.
    Unavailable {
        /// The reason.
        reason: String,
        /// The time that the server asks to wait.
        retry_after: Option<Duration>,
    },
}
