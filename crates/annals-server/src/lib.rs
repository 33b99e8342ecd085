//! The history server: transports, connections and subscriptions. The only async, the only socket.
//!
//! `stdio.rs` passes the lines that it reads to a [`Connection`], which offers each request to its protocols (`history_protocol.rs`,
//! `acp.rs`). `http.rs` has no connection: it answers `history/*` alone. Requests run on threads that may block, through
//! [`Server::work`]; `annals-api` decides what they answer. [`watch`] has the subscriptions.

mod acp;
mod budget;
mod connection;
mod history_protocol;
mod http;
#[cfg(feature = "search")]
mod indexer;
mod protocol;
mod queue;
mod server;
mod stdio;
pub mod watch;

pub use connection::{Connection, Disconnected, Outbox, Outgoing, outgoing};
pub use http::{Http, HttpError, HttpOptions, Limits};
#[cfg(feature = "search")]
pub use indexer::IndexKeeper;
pub use server::{Options, Server};
pub use stdio::{StopReason, serve};
