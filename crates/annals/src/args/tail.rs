//! `annals tail`.

use std::ffi::OsString;

#[derive(Debug, clap::Args)]
#[command(override_usage = "annals tail [OPTIONS] <SESSION>\n       annals tail [OPTIONS] --all")]
pub(crate) struct Tail {
    /// A session, an agent, or the path of a transcript
    #[arg(value_name = "SESSION", required_unless_present = "all")]
    pub(crate) session: Option<OsString>,
    /// Follow all sessions and their subagents, new ones too
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// How many of the last turns are printed first; with `--json`, none are: each line is something new
    #[arg(long, short = 'n', value_name = "N", default_value_t = 3, conflicts_with = "all")]
    pub(crate) turns: usize,
    /// Check all files twice a second instead of waiting for notifications of the system: for network drives
    #[arg(long)]
    pub(crate) poll: bool,
    /// End after N seconds
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<u64>,
}
