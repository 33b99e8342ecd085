//! `annals delete` and `annals restore`.

use std::ffi::OsString;

use super::change::Safety;
use super::filters::Filters;

#[derive(Debug, clap::Args)]
pub(crate) struct Delete {
    /// Sessions; with `--purge`, one session in the trash or, if the trash has none, on disk
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<OsString>,
    /// Remove it permanently, from the trash if it is there; asks first for a session on disk
    #[arg(long)]
    pub(crate) purge: bool,
    /// With `--purge`: the trash entry, as listed by `annals restore` [default: the session's most recent one]
    #[arg(long, value_name = "ID", requires = "purge")]
    pub(crate) entry: Option<String>,
    /// Delete several sessions, or permanently remove one on disk, without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) safety: Safety,
    #[command(flatten)]
    pub(crate) filters: Filters,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Restore {
    /// A session in the trash: its id or at least 4 characters of it, or its title [default: list all entries]
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// The trash entry to restore; every deletion creates one [default: the most recent; required with `--replace`]
    #[arg(long, value_name = "ID", requires = "session")]
    pub(crate) entry: Option<String>,
    /// Swap the transcript on disk for one that `hydrate` replaced; the current one goes to the trash
    #[arg(long, requires = "entry")]
    pub(crate) replace: bool,
    /// With `--replace`: continue although another program writes to the session
    #[arg(long, requires = "replace")]
    pub(crate) force: bool,
    /// Print what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
