//! The server on standard input and output: one message per line, and nothing else on standard output.

use std::io;

use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::stdio;

use crate::McpServer;

/// Serves one client until it closes our input.
pub fn serve_stdio(server: McpServer) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build()?;
    let ended = runtime.block_on(async {
        match serve_server(server, stdio()).await {
            Ok(running) => running.waiting().await.map(|_| ()).map_err(io::Error::other),
            // The client went away before it said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    });
    // The thread that reads standard input cannot be interrupted; it ends with the process.
    runtime.shutdown_background();
    ended
}
