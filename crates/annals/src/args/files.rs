//! `annals files`.

use std::ffi::OsString;
use std::path::PathBuf;

pub(super) const FILES_HELP: &str = "\
Claude Code copies a file before it changes it, and records at each prompt which copy is the current version of the file. `--at UUID` \
names a prompt, or any message that answers it, and means the versions at the time of the prompt, before everything that was changed in answer \
to it. `annals files SESSION --file PATH` lists the versions of a file, each with the beginning of such a UUID; `annals show SESSION --json` \
prints the UUIDs of all messages.

  annals files latest
  annals files latest --file src/main.rs
  annals files latest --at 7fa65b3b
  annals files latest --at 7fa65b3b --restore src/main.rs -o old-main.rs
  annals files --file src/main.rs";

#[derive(Debug, clap::Args)]
pub(crate) struct Files {
    /// A session
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// List the versions of this file in SESSION, or without SESSION the sessions that changed it; a relative path
    /// matches the end of a recorded path
    #[arg(long, value_name = "PATH", conflicts_with_all = ["at", "restore"])]
    pub(crate) file: Option<String>,
    /// Print the edits of that file in the sessions that changed it, subagents included, the oldest first
    #[arg(long, requires = "file", conflicts_with = "session")]
    pub(crate) diff: bool,
    /// A message: its uuid, or the beginning of it. Lists the version of each file at that time
    #[arg(long, value_name = "UUID")]
    pub(crate) at: Option<String>,
    /// Restore the version of this file at that time
    #[arg(long, value_name = "PATH", requires = "at")]
    pub(crate) restore: Option<String>,
    /// Where to write the restored file; `-` is standard output [default: where the file was]
    #[arg(short, long, value_name = "OUT", requires = "restore")]
    pub(crate) output: Option<PathBuf>,
    /// Write without asking, and replace an existing file without showing the difference
    #[arg(long, requires = "restore")]
    pub(crate) yes: bool,
}
