//! Session history for agents, over the Model Context Protocol. MCP and nothing else: every answer comes from [`Api::dispatch`],
//! so that secrets are masked, sizes are bounded and no link is followed out of the config folders.
//!
//! `tools.rs` lists the tools, each in a file of `tools/`. `server.rs` answers the protocol, and `history.rs` is the one place that calls
//! the API. [`serve_stdio`] serves one client; [`HttpService`] answers requests of a server that owns the socket and has checked who
//! asks.

mod excerpt;
mod history;
mod http;
mod resources;
mod server;
mod stdio;
mod tools;

#[cfg(doc)]
use annals_api::Api;

pub use http::HttpService;
pub use server::McpServer;
pub use stdio::serve_stdio;
