//! `annals rename`, `tag`, `fork`, `archive`, `unarchive` and `tombstone`.

use std::ffi::OsString;

use clap::Arg;

use super::filters::Filters;

pub(super) const TAG_USAGE: &str = "annals tag [OPTIONS] <SESSION>... <TAG>
       annals tag [OPTIONS] <SESSION>... --remove
       annals tag [OPTIONS] <FILTERS> <TAG>|--remove";

pub(super) const BULK_HELP: &str = "\
Several sessions are named one after the other, or selected with the filters of `annals list`, which shows the same ones. They are \
listed first, and changed after a confirmation: on a terminal, or with `--yes`. If one of them cannot be changed, the others are, and \
the exit code is 2.

  annals delete --project ~/old --all --dry-run
  annals archive --here --inactive 30d --yes";

pub(super) const UNARCHIVE_HELP: &str = "\
Several sessions are named one after the other, or selected with filters among the archived ones; `annals list --archived` with the \
same filters shows them. They are listed first, and changed after a confirmation: on a terminal, or with `--yes`. If one of them cannot \
be changed, the others are, and the exit code is 2.

  annals unarchive --here --since 7d --dry-run";

/// Hides an option that has no effect in a command.
pub(super) fn hidden(arg: Arg) -> Arg {
    arg.hide(true)
}

/// Describes `--all` of a command that selects only archived sessions, or only others.
pub(super) fn all_of_them(arg: Arg) -> Arg {
    arg.help("Select all sessions, including files without a conversation (empty ones, only titles, only messages of subagents)")
}

#[derive(Debug, clap::Args)]
pub(crate) struct Rename {
    /// A session
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// The new title
    pub(crate) title: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tag {
    /// Sessions, and the new tag as the last argument
    #[arg(value_name = "SESSION|TAG")]
    pub(crate) names: Vec<OsString>,
    /// Remove the tag; all arguments are sessions
    #[arg(long)]
    pub(crate) remove: bool,
    /// Print what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change several sessions without asking; also if the tag could be the id of a session
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) filters: Filters,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Fork {
    /// A session
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// The last message to copy: its uuid, or the beginning of it
    #[arg(long, value_name = "UUID")]
    pub(crate) up_to: Option<String>,
    /// The title of the copy [default: the session's title followed by `(fork)`]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Also copy subagents, spilled tool output and file backups
    #[arg(long)]
    pub(crate) with_side_files: bool,
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("archived", hidden), mut_arg("all", all_of_them))]
pub(crate) struct Archive {
    /// Sessions: their ids or at least 4 characters of them, their titles, `latest`, or the paths of their transcripts
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<OsString>,
    /// Print what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change several sessions without asking
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) filters: Filters,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tombstone {
    /// A session, or the path of a transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// The entry: its uuid, or the beginning of it
    pub(crate) uuid: String,
    /// Refuse to rewrite files larger than this, in MiB; the last line of a file of any size is removed in place
    #[arg(long, value_name = "MIB", default_value_t = 50)]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) safety: Safety,
}

// Options of commands that rewrite or move files.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Safety {
    /// Print what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Continue although another program writes to the session: lines that it writes meanwhile may be lost, and Claude Code,
    /// if it has the session open, continues to write to a file that is no longer there
    #[arg(long)]
    pub(crate) force: bool,
}
