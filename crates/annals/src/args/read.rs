//! `annals agents`, `lineage`, `tools`, `stats`, `insight` and `check`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;
use jiff::Timestamp;

use super::filters::at_least_one;
use super::moment::{end, moment};

#[derive(Debug, clap::Args)]
pub(crate) struct OneSession {
    /// A session: its id or at least 4 characters of it, its title or a part of it, words of its first prompt, `latest`, or the
    /// path of its transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Lineage {
    /// A session, or the path of a transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tools {
    /// A session, an agent, the path of a transcript, or a folder of transcripts [default: all sessions]
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<OsString>,
    /// Only calls of this tool
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Only calls that failed, were denied, interrupted or cancelled
    #[arg(long)]
    pub(crate) errors: bool,
    /// Only calls since then: a day, a month or a year (today, monday, 2026-01-31, 2026-01), a time, or how long ago (12h, 7d, 2w)
    #[arg(long, value_name = "DATE", value_parser = moment, allow_hyphen_values = true)]
    pub(crate) since: Option<Timestamp>,
    /// Only calls in sessions of the current directory and its worktrees
    #[arg(long, conflicts_with = "target")]
    pub(crate) here: bool,
    /// The order of calls [default: that of the transcripts]
    #[arg(long, value_enum)]
    pub(crate) sort: Option<ToolSort>,
    /// Show at most N calls
    #[arg(long, short = 'n', value_name = "N", value_parser = at_least_one)]
    pub(crate) limit: Option<usize>,
    /// Print each call with its arguments and its result, as `show --tools full` does; JSON always has the arguments
    #[arg(long)]
    pub(crate) full: bool,
}

/// The order of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolSort {
    /// The most recent first
    Time,
    /// The longest first
    Duration,
    /// By the name of the tool
    Tool,
    /// Those that failed first
    State,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// A session, an agent, the path of a transcript, or a folder of transcripts [default: all sessions]
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Insight {
    /// A session, an agent, the path of a transcript, or a folder of transcripts [default: all sessions]
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<OsString>,
    /// Only sessions of this working directory and its worktrees
    #[arg(long, value_name = "PATH", conflicts_with_all = ["target", "here"])]
    pub(crate) project: Option<PathBuf>,
    /// Only sessions of the current directory and its worktrees
    #[arg(long, conflicts_with = "target")]
    pub(crate) here: bool,
    /// Only what happened since then: a day, a month or a year (today, monday, 2026-01-31, 2026-01), a time, or how long ago (12h, 7d, 2w)
    #[arg(long, value_name = "DATE", value_parser = moment, allow_hyphen_values = true)]
    pub(crate) since: Option<Timestamp>,
    /// Only what happened before then; a day, a month or a year is included
    #[arg(long, value_name = "DATE", value_parser = end, allow_hyphen_values = true)]
    pub(crate) until: Option<Timestamp>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Sessions, agents, paths of transcripts, or folders of transcripts
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) targets: Vec<OsString>,
    /// Check all sessions
    #[arg(long, conflicts_with = "targets")]
    pub(crate) all: bool,
}
