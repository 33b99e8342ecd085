//! `annals resume`.

use std::ffi::OsString;

use super::moment::{Period, period};

#[derive(Debug, clap::Args)]
pub(crate) struct Resume {
    /// A session [default: on a terminal you choose one of this folder, otherwise the most recent one of this folder]
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// Continue the session in which `annals search` finds this; if there are several, you choose on a terminal, and elsewhere
    /// they are listed
    #[cfg(feature = "search")]
    #[arg(long, value_name = "QUERY", conflicts_with = "session", allow_hyphen_values = true)]
    pub(crate) search: Option<String>,
    /// Continue the session that was active on this day: today, yesterday, tuesday, 2026-01-31; if there are several, you choose
    /// on a terminal, and elsewhere they are listed
    #[arg(long, value_name = "DAY", value_parser = period, allow_hyphen_values = true, conflicts_with = "session")]
    pub(crate) on: Option<Period>,
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
