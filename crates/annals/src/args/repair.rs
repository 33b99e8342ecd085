//! `annals repair`.

use std::ffi::OsString;

pub(super) const REPAIR_HELP: &str = "\
A session is repaired by appending lines: corrected copies of entries, and then the last message once more. Claude Code takes the last of \
several lines with the same uuid. The old bytes stay as they are, so that `--undo` can cut the file back.

Without `--apply` nothing is changed: the plan is printed.";

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Repair {
    /// A session, or the path of a transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// Carry out the plan
    #[arg(long, conflicts_with = "undo")]
    pub(crate) apply: bool,
    /// Undo the last repair: cut the file back, or, if something was appended since, write the old file as a new session
    #[arg(long, conflicts_with_all = ["branch", "strip_thinking"])]
    pub(crate) undo: bool,
    /// The last message of the conversation to continue: its uuid, or the beginning of it [default: the newest]
    #[arg(long, value_name = "UUID")]
    pub(crate) branch: Option<String>,
    /// Remove all reasoning, for a session that is refused because of it
    #[arg(long)]
    pub(crate) strip_thinking: bool,
    /// Rewrite the file, for example one over 5 MiB, without replaced lines and messages before the last compaction. A backup is kept, with which `--undo` restores it. A file that would not become smaller is repaired by appending
    #[arg(long, conflicts_with = "undo")]
    pub(crate) in_place: bool,
    /// Write although another program writes to the session
    #[arg(long)]
    pub(crate) force: bool,
}
