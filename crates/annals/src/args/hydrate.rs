//! `annals hydrate`.

use std::ffi::OsString;
use std::path::PathBuf;

use super::change::Safety;
use super::push::RemoteAccess;

#[derive(Debug, clap::Args)]
pub(crate) struct Hydrate {
    /// The log: a file, an http or https address, or `-` for standard input; one JSON object per line, or one object with a
    /// list `loglines`
    #[arg(value_name = "FILE|URL")]
    pub(crate) from: String,
    /// The session to replace, or the id of a new one [default: a new session]
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// The working directory of a new session [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Accept an empty log, which otherwise counts as a failed transfer; HTTP status 404 means an empty log
    #[arg(long)]
    pub(crate) allow_empty: bool,
    #[command(flatten)]
    pub(crate) access: RemoteAccess,
    #[command(flatten)]
    pub(crate) safety: Safety,
}
