//! `annals push`.

use std::ffi::OsString;
use std::path::PathBuf;

pub(super) const PUSH_HELP: &str = "\
The entries are sent in the order of the file, one `PUT` each. An entry is stored once, even if annals or the server is killed while it \
is sent: the server keeps the uuid of its last entry, and annals continues behind it. The transcript is never changed. docs/PUSH.md \
describes the requests, and what a server has to do.

  annals push latest 'https://example.org/sessions/{session}' \\
    --token-file ~/.log-token";

#[derive(Debug, clap::Args)]
pub(crate) struct Push {
    /// A session, or the path of a transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// The address of the log; `{session}` and `{agent}` in it are replaced by the ids of the session and the subagent
    #[arg(value_name = "URL")]
    pub(crate) address: String,
    /// Also send records without a uuid, such as titles; the server has to recognise them by their `Idempotency-Key`
    #[arg(long)]
    pub(crate) all: bool,
    /// Forget the progress of earlier pushes, and continue after the last entry that the server has: for a transcript
    /// that was rewritten
    #[arg(long)]
    pub(crate) restart: bool,
    /// Print how many entries would be sent, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The pause after the first failure, in milliseconds; each further one is twice as long, up to 8 seconds
    #[arg(long, value_name = "MS", default_value_t = 500)]
    pub(crate) retry_delay: u64,
    #[command(flatten)]
    pub(crate) access: RemoteAccess,
}

// How a server on another machine is accessed.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoteAccess {
    /// Read the token for the server from this file [default: `$ANNALS_REMOTE_TOKEN`]
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// Send the token, or the password in the address, over http to another machine, although anyone on the network path can read it
    #[arg(long)]
    pub(crate) insecure_http: bool,
}
