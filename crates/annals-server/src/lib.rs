//! The history server: one dispatch for editors, agents and browsers.
//!
//! A transport reads messages and hands them to a [`Connection`]; that asks [`Server::dispatch`], which knows every method
//! and nothing of transports, and sends what comes of it. Subscriptions are the one thing that is remembered about a
//! client: [`watch`] has them. Start reading at `dispatch.rs`.

mod acp;
mod connection;
mod cursor;
mod desk;
mod dispatch;
mod http;
mod line;
mod queue;
mod room;
pub mod rpc;
mod server;
mod stdio;
pub mod to_wire;
pub mod watch;

pub use connection::{Connection, Gone, Outbox, Outgoing, outgoing};
pub use dispatch::{Context, Notifier};
pub use http::{Http, HttpError, HttpOptions, Limits};
pub use line::{has_harmful, json_line, judged};
pub use server::{Cancelled, Options, Server};
pub use stdio::{Ended, serve};
