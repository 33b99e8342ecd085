//! `annals serve`.

use std::path::PathBuf;

pub(super) const SERVE_HELP: &str = "\
Without `--stdio` the server listens on this machine only and prints a link that shows the sessions in a browser. Programs \
send the token of the link as `Authorization: Bearer TOKEN`. To keep the same token, give it in a file or in `ANNALS_TOKEN`.

  annals serve --open
  annals serve --port 4000 --token-file ~/.annals-token
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:$PORT/rpc \\
    --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"history/list\"}'
  curl -N -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:$PORT/events

With `--stdio` the server reads JSON-RPC 2.0 from standard input and answers on standard output, one message per line; it ends \
when its input ends. docs/PROTOCOL.md describes the methods.

  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"history/list\"}' \\
    | annals serve --stdio";

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct Serve {
    /// Serve one editor or agent on standard input and output
    #[arg(long, conflicts_with_all = ["port", "bind", "token", "token_file", "open"])]
    pub(crate) stdio: bool,
    /// Listen on this port; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Listen on this address; any address but loopback requires `--token`, `--token-file` or `ANNALS_TOKEN`
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    pub(crate) bind: String,
    /// Access token, at least 16 characters; other users of this machine can see it in the list of processes
    /// [default: `$ANNALS_TOKEN`, else a new one for each start]
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    pub(crate) token: Option<String>,
    /// Read the access token from this file
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// Open the page in a browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Refuse everything that changes a session
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Send keys, tokens and passwords as they are to those who ask for it with `reveal`; otherwise they are masked for all
    #[arg(long)]
    pub(crate) allow_reveal: bool,
    /// Check all files twice a second instead of waiting for notifications of the system: for network drives
    #[arg(long)]
    pub(crate) poll: bool,
    /// Command that starts an agent of the Agent Client Protocol, which continues sessions
    #[arg(long, value_name = "COMMAND", requires = "stdio", conflicts_with = "read_only")]
    pub(crate) agent: Option<String>,
}
