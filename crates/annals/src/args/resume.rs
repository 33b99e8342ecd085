//! `annals resume`.

use std::ffi::OsString;

#[derive(Debug, clap::Args)]
pub(crate) struct Resume {
    /// A session [default: on a terminal you choose one of this folder, otherwise the most recent one of this folder]
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// Continue in a copy, and leave the session as it is
    #[arg(long)]
    pub(crate) fork: bool,
    /// Print the command, quoted for the shell, and do not run it
    #[arg(long)]
    pub(crate) print: bool,
    /// Continue although another Claude Code has the session open, and both write to the same file, or although the session lies
    /// in the project of another folder than the one that it names
    #[arg(long)]
    pub(crate) force: bool,
    /// Arguments for Claude Code, such as a prompt or `--model NAME`
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<OsString>,
}
