//! The command line: commands, options and their help.

#[cfg(feature = "mcp")]
pub(crate) mod mcp;

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use annals_api::parse_age;
use annals_engine::{ArchiveFilter, Engine, Home, ListOptions, Roots};
use annals_transcript::write;
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Arg, Parser, Subcommand, ValueEnum};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::failure::Failure;
use crate::output;

#[derive(Debug, Parser)]
#[command(name = "annals", version = env!("ANNALS_VERSION"), about, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
All sessions come from files on this disk, in the config folders of Claude Code; `annals roots` lists these folders. \
What is deleted goes to a trash on this disk.

Exit codes: 0 done, 1 nothing found, or `check` found a warning or an error, 2 failed, 130 interrupted.";

const TAG_USAGE: &str = "annals tag [OPTIONS] <SESSION>... <TAG>
       annals tag [OPTIONS] <SESSION>... --remove
       annals tag [OPTIONS] <FILTERS> <TAG>|--remove";

const BULK_HELP: &str = "\
Several sessions are named one after the other, or selected with the filters of `annals list`, which shows the same ones. They are \
listed first, and changed after a confirmation: on a terminal, or with `--yes`. If one of them cannot be changed, the others are, and \
the exit code is 2.

  annals delete --project ~/old --all --dry-run
  annals archive --here --inactive 30d --yes";

const UNARCHIVE_HELP: &str = "\
Several sessions are named one after the other, or selected with filters among the archived ones; `annals list --archived` with the \
same filters shows them. They are listed first, and changed after a confirmation: on a terminal, or with `--yes`. If one of them cannot \
be changed, the others are, and the exit code is 2.

  annals unarchive --here --since 7d --dry-run";

/// Hides an option that has no effect in a command.
fn hidden(arg: Arg) -> Arg {
    arg.hide(true)
}

/// Describes `--all` of a command that selects only archived sessions, or only others.
fn all_of_them(arg: Arg) -> Arg {
    arg.help("All of them, also files without a conversation (empty ones, only titles, only messages of subagents)")
}

/// Options that every command has.
#[derive(Debug, clap::Args)]
pub(crate) struct Global {
    /// A config folder of Claude Code, the one that contains `projects`; may be given several times
    /// [default: `$CLAUDE_CONFIG_DIR`, else `~/.claude` and `~/.config/claude`]
    #[arg(long, value_name = "DIR", global = true)]
    root: Vec<PathBuf>,
    /// Print JSON: one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print keys, tokens and passwords as they are; otherwise they are masked
    #[arg(long, global = true)]
    pub(crate) reveal: bool,
}

impl Global {
    /// Opens the config folders given with `--root`, or the default ones.
    pub(crate) fn engine(&self) -> Result<Engine, Failure> {
        Ok(Engine::open(self.roots()?, Home::from_environment()))
    }

    fn roots(&self) -> Result<Roots, Failure> {
        if self.root.is_empty() {
            return Ok(Roots::from_environment());
        }
        let roots = Roots::given(self.root.clone())?;
        roots.missing().for_each(|error| output::complain(&error.to_string()));
        Ok(roots)
    }

    /// Returns the config folders given with `--root`, from the root of the file system.
    #[cfg(any(feature = "search", feature = "mcp"))]
    pub(crate) fn given_roots(&self) -> Vec<String> {
        let absolute = |root: &PathBuf| std::path::absolute(root).unwrap_or_else(|_| root.clone());
        self.root.iter().map(|root| absolute(root).to_string_lossy().into_owned()).collect()
    }

    /// Does the same for recording: a folder that does not exist yet is created.
    pub(crate) fn recording_engine(&self) -> Result<Engine, Failure> {
        if self.root.is_empty() {
            return self.engine();
        }
        Ok(Engine::open(Roots::to_record_in(self.root.clone()), Home::from_environment()))
    }
}

impl Command {
    /// Returns whether the command prints what is in files as it is: then nothing of it is masked.
    pub(crate) fn prints_as_is(&self) -> bool {
        matches!(self, Command::Show(show) if show.view != View::Full)
    }

    /// Returns whether the command only writes what it is given. It prints no text of transcripts, and must not fail
    /// because of the rules that mask them.
    pub(crate) fn only_writes(&self) -> bool {
        matches!(self, Command::Record(_) | Command::Hydrate(_))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List sessions, most recently active first; archived ones are left out
    List(List),
    /// List projects: path, sessions, size, last activity
    Projects,
    /// List the config folders that are searched, and what is in each
    Roots,
    /// List the prompts that were typed, most recent first
    Prompts(Prompts),
    /// Search everything that was said, thought, called and printed in sessions
    #[cfg(feature = "search")]
    #[command(after_help = SEARCH_HELP)]
    Search(Search),
    /// Show, update, rebuild or remove the index of `search`
    #[cfg(feature = "search")]
    #[command(after_help = INDEX_HELP)]
    Index(Index),
    /// Print a session
    #[command(after_help = SHOW_HELP)]
    Show(Show),
    /// Follow a session, or all of them, as they grow
    Tail(Tail),
    /// List the turns of a session: what started each, tool calls, errors, duration, tokens
    Turns(Turns),
    /// List tool calls with result state, duration and the files that each touched
    Tools(Tools),
    /// List the agents of a session: type, task, how each ended, what started it
    Agents(OneSession),
    /// List the files that a session changed, with their backups, and restore a version; or the sessions that changed a file
    #[command(after_help = FILES_HELP)]
    Files(Files),
    /// List related sessions: those that a session was copied from, copied to, or continued in
    Lineage(Lineage),
    /// Count what sessions are made of: entries, blocks, models, tools, errors, problems
    Stats(Stats),
    /// Find damaged lines and broken links, and explain the effect of each
    Check(Check),
    /// Serve session history to browsers, editors and agents
    #[command(after_help = SERVE_HELP)]
    Serve(Serve),
    /// Serve session history to agents, over the Model Context Protocol on standard input and output
    #[cfg(feature = "mcp")]
    #[command(after_help = mcp::HELP)]
    Mcp(mcp::Mcp),
    /// Append entries from standard input to a session, so that Claude Code resumes it
    #[command(after_help = RECORD_HELP)]
    Record(Record),
    /// Set the title of a session
    Rename(Rename),
    /// Set or remove the tag of sessions
    #[command(override_usage = TAG_USAGE, after_help = BULK_HELP)]
    Tag(Tag),
    /// Copy a session, whole or up to a message, to continue it in another direction
    Fork(Fork),
    /// Move sessions and all their files to the trash; the prompt history (`history.jsonl`) is kept
    #[command(after_help = BULK_HELP)]
    Delete(Delete),
    /// Restore a session from the trash, or list the trash
    Restore(Restore),
    /// Archive sessions, as Claude Code does; lists leave them out
    #[command(after_help = BULK_HELP, mut_arg("archived", hidden), mut_arg("all", all_of_them))]
    Archive(Archive),
    /// Take sessions out of the archive
    #[command(after_help = UNARCHIVE_HELP, mut_arg("archived", hidden), mut_arg("all", all_of_them))]
    Unarchive(Archive),
    /// Remove one entry from a session and link its children to its parent; this cannot be undone
    Tombstone(Tombstone),
    /// Create or replace a session from a log that is kept elsewhere; a replaced session goes to the trash
    Hydrate(Hydrate),
    /// Send a server the entries that it does not have yet
    #[command(after_help = PUSH_HELP)]
    Push(Push),
}

const SERVE_HELP: &str = "\
Without `--stdio` the server listens on this machine only and prints a link that shows the sessions in a browser. Programs \
send the token of the link as `Authorization: Bearer TOKEN`. To keep the same token, give it in a file or in `ANNALS_TOKEN`.

  annals serve --open
  annals serve --port 4000 --token-file ~/.annals-token
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:$PORT/rpc \\
    --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"history/list\"}'
  curl -N -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:$PORT/events

With `--stdio` the server reads JSON-RPC 2.0 from standard input and answers on standard output, one message per line; it ends \
when its input ends. docs/PROTOCOL.md describes the methods.

  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"history/list\"}' \\
    | annals serve --stdio";

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct Serve {
    /// Serve one editor or agent on standard input and output
    #[arg(long, conflicts_with_all = ["port", "bind", "token", "token_file", "open"])]
    pub(crate) stdio: bool,
    /// Listen on this port; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Listen on this address; any address but loopback requires `--token`, `--token-file` or `ANNALS_TOKEN`
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    pub(crate) bind: String,
    /// Access token, at least 16 characters; other users of this machine can see it in the list of processes
    /// [default: `$ANNALS_TOKEN`, else a new one for each start]
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    pub(crate) token: Option<String>,
    /// Read the access token from this file
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// Open the page in a browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Refuse everything that changes a session
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Send keys, tokens and passwords as they are to those who ask for it with `reveal`; otherwise they are masked for all
    #[arg(long)]
    pub(crate) allow_reveal: bool,
    /// Shadows the global `--reveal`, which `serve` refuses: use `--allow-reveal`
    #[arg(long, hide = true)]
    pub(crate) reveal: bool,
    /// Check all files twice a second instead of waiting for notifications of the system: for network drives
    #[arg(long)]
    pub(crate) poll: bool,
    /// Command that starts an agent of the Agent Client Protocol, which continues sessions
    #[arg(long, value_name = "COMMAND", requires = "stdio", conflicts_with = "read_only")]
    pub(crate) agent: Option<String>,
}

const FILES_HELP: &str = "\
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
    #[arg(value_name = "SESSION", required_unless_present = "file")]
    pub(crate) session: Option<OsString>,
    /// List the versions of this file in SESSION, or without SESSION the sessions that changed it; a path that is not from the
    /// root may be the end of a longer one
    #[arg(long, value_name = "PATH", conflicts_with_all = ["at", "restore"])]
    pub(crate) file: Option<String>,
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

/// Options of commands that rewrite or move files.
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

#[derive(Debug, clap::Args)]
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
pub(crate) struct OneSession {
    /// A session: its id or at least 4 characters of it, its title, `latest`, or the path of its transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
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
    /// The trash entry to restore; every deletion creates one [default: the most recent]
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

/// How a server on another machine is accessed.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoteAccess {
    /// Read the token for the server from this file [default: `$ANNALS_REMOTE_TOKEN`]
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// Send the token, or the password in the address, over http to another machine, although everyone on the way can read it
    #[arg(long)]
    pub(crate) insecure_http: bool,
}

const PUSH_HELP: &str = "\
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
    /// Forget the progress of earlier pushes, and continue behind the last entry that the server has: for a transcript
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

const RECORD_HELP: &str = "\
Each line is a draft: a JSON object with a `type` and, for messages, a `message`; or a record such as a title. Missing fields \
(`uuid`, `parentUuid`, `timestamp` and the others that Claude Code writes) are filled in. Drafts whose uuid is already in the session \
are skipped, also if their content has changed since. All lines up to the end, or to a blank line, are one batch: if one is refused, nothing of its batch is written. Each \
batch is reported as one line of JSON; a refusal ends the recording. With `--push`, a last line says what was sent and what is pending.

  echo '{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"Hello\"}}' | annals record --project .";

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct Record {
    /// The working directory of the session [default: that of the existing session, else the current directory; for a
    /// subagent, the directory and the branch of its session]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// The session to append to, or the id of a new one [default: a new session]
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// Append to the transcript of this subagent of the session
    #[arg(long, value_name = "ID", requires = "session")]
    pub(crate) agent: Option<String>,
    /// The folder below `subagents` that the subagent shares with others, such as `workflows/wf_1`
    #[arg(long, value_name = "PATH", requires = "agent")]
    pub(crate) group: Option<String>,
    /// Type of the agent, written beside its transcript
    #[arg(long, value_name = "NAME", requires = "agent")]
    pub(crate) agent_type: Option<String>,
    /// What the agent was asked to do
    #[arg(long, value_name = "TEXT", requires = "agent")]
    pub(crate) description: Option<String>,
    /// The tool call that started the agent
    #[arg(long, value_name = "ID", requires = "agent")]
    pub(crate) tool_use_id: Option<String>,
    /// The worktree that the agent works in: the working directory of its messages, also written beside its transcript
    #[arg(long, value_name = "DIR", requires = "agent")]
    pub(crate) worktree: Option<PathBuf>,
    /// End a batch after N drafts; with 1, each draft is on disk before the next one is read
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) batch: Option<usize>,
    /// Skip drafts that are refused, and record the others
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Refuse a draft whose uuid is already in the session with other content
    #[arg(long)]
    pub(crate) strict: bool,
    /// Drop progress entries of shell commands, MCP calls and waiting, which Claude Code shows only while a tool runs
    #[arg(long)]
    pub(crate) collapse_progress: bool,
    /// Value of `teamName` in every message: the team that the session belongs to
    #[arg(long, value_name = "NAME")]
    pub(crate) team_name: Option<String>,
    /// Value of `agentName` in every message: the name of the session, or of the subagent, within its team
    #[arg(long, value_name = "NAME")]
    pub(crate) agent_name: Option<String>,
    /// When written lines are synced to disk, so that they survive a loss of power
    #[arg(long, value_enum, default_value_t = Sync::Flush)]
    pub(crate) sync: Sync,
    /// Value of `entrypoint` in every message
    #[arg(long, value_name = "NAME", default_value = "annals")]
    pub(crate) entrypoint: String,
    /// Send the entries of the session to this address, too, after they are on disk; see `annals push --help`
    #[arg(long, value_name = "URL")]
    pub(crate) push: Option<String>,
    /// With `--push`: also send records without a uuid, such as titles
    #[arg(long, requires = "push")]
    pub(crate) push_all: bool,
    /// With `--push`: the pause after the first failure, in milliseconds; each further one is twice as long, up to 8 seconds
    #[arg(long, value_name = "MS", default_value_t = 500, requires = "push")]
    pub(crate) retry_delay: u64,
    #[command(flatten)]
    pub(crate) access: RemoteAccess,
}

/// When written lines are synced to disk.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Sync {
    /// The operating system decides
    Never,
    /// Before a batch is acknowledged
    Flush,
    /// The same as `flush`: `record` writes every batch before it acknowledges it
    Always,
}

impl From<Sync> for write::Sync {
    fn from(sync: Sync) -> Self {
        match sync {
            Sync::Never => write::Sync::Never,
            Sync::Flush => write::Sync::Flush,
            Sync::Always => write::Sync::Always,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Show at most N
    #[arg(long, short = 'n', value_name = "N", value_parser = at_least_one)]
    pub(crate) limit: Option<usize>,
    /// Sort order
    #[arg(long, value_enum, default_value_t = SortBy::Updated)]
    pub(crate) sort: SortBy,
    /// List deleted sessions that are only known from the prompt history
    #[arg(long, conflicts_with_all = ["all", "archived", "branch", "tool", "file", "sort"])]
    pub(crate) ghosts: bool,
    #[command(flatten)]
    pub(crate) filters: Filters,
}

/// Which sessions a list shows, or a command changes.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Filters {
    /// Only sessions of this working directory and its worktrees
    #[arg(long, value_name = "PATH", conflicts_with = "here", value_parser = PathBufValueParser::new().try_map(folder))]
    pub(crate) project: Option<PathBuf>,
    /// Only sessions of the current directory and its worktrees
    #[arg(long)]
    pub(crate) here: bool,
    /// Only sessions active since then: a date (2026-01-31), a time (2026-01-31T14:30, local unless it names its zone), or how long ago (7d, 12h, 2w)
    #[arg(long, value_name = "DATE", value_parser = moment)]
    pub(crate) since: Option<Timestamp>,
    /// Only sessions that began before then, also those that are still active; with a date, those of that day too
    #[arg(long, value_name = "DATE", value_parser = end)]
    pub(crate) until: Option<Timestamp>,
    /// Only sessions without activity since then: how long ago (90d, 12h, 2w), a date or a time
    #[arg(long, value_name = "AGE", value_parser = moment)]
    pub(crate) inactive: Option<Timestamp>,
    /// Only sessions whose title contains TEXT, ignoring case
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub(crate) title: Option<String>,
    /// Only sessions on this branch
    #[arg(long, value_parser = text)]
    pub(crate) branch: Option<String>,
    /// Only sessions that used this tool, subagents included; ignoring case
    #[arg(long, value_name = "NAME", value_parser = text)]
    pub(crate) tool: Option<String>,
    /// Only sessions that touched this file or folder, subagents included; a relative path such as `src/main.rs` matches in
    /// any project
    #[arg(long, value_name = "PATH", value_parser = file)]
    pub(crate) file: Option<String>,
    /// Only archived sessions, which are left out otherwise
    #[arg(long)]
    pub(crate) archived: bool,
    /// Everything: archived sessions, and files without a conversation (empty ones, only titles, only messages of subagents)
    #[arg(long)]
    pub(crate) all: bool,
}

impl Filters {
    /// Returns the options of a list. `by_default` says what happens to archived sessions without `--archived` and `--all`.
    pub(crate) fn options(&self, by_default: ArchiveFilter) -> Result<ListOptions, Failure> {
        let here = self.here.then(std::env::current_dir).transpose();
        let here = here.map_err(|error| Failure::working_directory(&error))?;
        let archived = match (self.archived, self.all) {
            (true, _) => ArchiveFilter::Only,
            (false, true) => ArchiveFilter::Include,
            (false, false) => by_default,
        };
        Ok(ListOptions {
            project: self.project.clone().or(here),
            since: self.since,
            until: self.until,
            inactive_since: self.inactive,
            title: self.title.clone(),
            branch: self.branch.clone(),
            tool: self.tool.clone(),
            file: self.file.clone(),
            all: self.all,
            archived,
            ..ListOptions::default()
        })
    }

    /// Returns whether some sessions may be left out.
    pub(crate) fn is_narrow(&self) -> bool {
        self.project.is_some()
            || self.here
            || self.since.is_some()
            || self.until.is_some()
            || self.inactive.is_some()
            || self.title.is_some()
            || self.branch.is_some()
            || self.tool.is_some()
            || self.file.is_some()
            || self.archived
    }

    /// Returns whether any of the options was given.
    pub(crate) fn are_given(&self) -> bool {
        self.is_narrow() || self.all
    }
}

#[cfg(feature = "search")]
const SEARCH_HELP: &str = "\
A query has words, which all have to occur, in any order, whatever their case and accents:

  annals search borrow checker                   both words
  annals search '\"borrow checker\"'             side by side
  annals search borrow -panic                    without a word; `--dry-run` is a word
  annals search 'timeout OR deadline'            one of them
  annals search 'conf*'                          words that begin so
  annals search src/main.rs:42 E0502 --dry-run   identifiers, paths and error codes, whole or in part
  annals search 天气                             Chinese, Japanese and Korean
  annals search 'fix tool:Bash is:error after:7d project:app'

Filters in a query: tool: file: role: project: branch: model: before: after: is:error in: session:. A filter with `-` before it \
excludes. `in:` takes prompt, reply, thinking, tool, input, output, title, summary and notification. Archived sessions and subagents \
are searched, too.

  annals search --regex 'error\\[E0\\d+\\]' --since 7d  reads the transcripts instead of the index
  annals search --fixed 'a \"quoted\" text'
  annals search kettle --json --flat --sort time

What is new is indexed first if it has at most 64 MB; otherwise the answer says what is missing, and `annals index update` adds it. \
Secrets are masked before they are indexed, so no search finds them; `--reveal` shows the text of hits as it is. Every hit comes with the \
command that opens it. Exit code 1 means that nothing was found.";

#[cfg(feature = "search")]
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct Search {
    /// Words, "phrases", -excluded, OR, prefix* and filters such as tool:Bash; may be left out if there are other filters
    #[arg(value_name = "QUERY", value_parser = unmarked_word)]
    pub(crate) query: Vec<String>,
    /// Find what this regular expression matches, in the text of transcripts and without the index; `(?i)` ignores case
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["query", "fixed"], allow_hyphen_values = true)]
    pub(crate) regex: Option<String>,
    /// Find exactly this text, in the text of transcripts and without the index
    #[arg(long, value_name = "TEXT", conflicts_with = "query", allow_hyphen_values = true)]
    pub(crate) fixed: Option<String>,
    /// Show at most N sessions or, with `--flat`, N hits
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    pub(crate) limit: usize,
    /// Show at most N hits of each session
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one, conflicts_with = "flat")]
    pub(crate) per_session: usize,
    /// Continue where a page ended: the position that it printed
    #[arg(long, value_name = "POSITION")]
    pub(crate) after: Option<String>,
    /// One list of hits, not grouped by session
    #[arg(long)]
    pub(crate) flat: bool,
    /// Sort order [default: relevance; time for `--regex` and `--fixed`]
    #[arg(long, value_enum)]
    pub(crate) sort: Option<SearchOrder>,
    /// Search what is indexed, and do not index what is new
    #[arg(long)]
    pub(crate) no_update: bool,
    /// Stop after this time (`500ms`, `2s`, `1min`), and say so
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(crate) max_time: Option<u64>,
    /// Stop after so many bytes of transcripts were read (`64MB`, `1GB`), and say so
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) max_bytes: Option<u64>,
    #[command(flatten)]
    pub(crate) filters: SearchFilters,
}

/// Stands before a word of a query that begins with a hyphen, so that it is not taken for an option.
#[cfg(feature = "search")]
const WORD_MARK: char = '\u{f8ff}';

/// Marks the words of a query that begin with a hyphen and are no options, such as `-panic` and `--dry-run`.
#[cfg(feature = "search")]
pub(crate) fn mark_words(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    use clap::CommandFactory;

    let mut command = Args::command();
    command.build();
    let Some(search) = command.find_subcommand("search") else { return arguments.collect() };
    let mut options: Vec<(String, bool)> =
        ["-h", "--help", "-V", "--version"].map(|name| (name.to_owned(), false)).into();
    for option in search.get_arguments().filter(|option| !option.is_positional()) {
        let takes_value = option.get_action().takes_values();
        options.extend(option.get_long().map(|name| (format!("--{name}"), takes_value)));
        options.extend(option.get_short().map(|name| (format!("-{name}"), takes_value)));
    }
    let mut is_search = None;
    let mut is_value = true; // The name of the program is no word.
    let mut are_words = false;
    let mark = |argument: OsString| {
        let Some(text) = argument.to_str().map(str::to_owned) else { return argument };
        if std::mem::take(&mut is_value) || are_words || is_search == Some(false) {
            return argument;
        }
        if !text.starts_with('-') || text == "-" {
            is_search.get_or_insert(text == "search");
            return argument;
        }
        are_words = text == "--";
        let (name, value) = text.split_once('=').map_or((&*text, None), |(name, value)| (name, Some(value)));
        match options.iter().find(|(known, _)| known == name) {
            Some((_, takes_value)) => is_value = *takes_value && value.is_none(),
            None if !are_words && is_search == Some(true) => return format!("{WORD_MARK}{text}").into(),
            None => {}
        }
        argument
    };
    arguments.map(mark).collect()
}

/// Reads a word of a query.
#[cfg(feature = "search")]
#[expect(clippy::unnecessary_wraps, reason = "clap expects a result")]
fn unmarked_word(word: &str) -> Result<String, String> {
    Ok(word.strip_prefix(WORD_MARK).unwrap_or(word).to_owned())
}

/// Which messages are searched. They have the names of the filters of `list`, and say something about messages where those say
/// it about sessions.
#[cfg(feature = "search")]
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct SearchFilters {
    /// Only in this working directory, the folders in it and its worktrees
    #[arg(long, value_name = "PATH", conflicts_with = "here", value_parser = PathBufValueParser::new().try_map(folder))]
    pub(crate) project: Option<PathBuf>,
    /// Only in the current directory, the folders in it and its worktrees
    #[arg(long)]
    pub(crate) here: bool,
    /// Only in this session: its id or at least 4 characters of it, its title, or `latest`; subagents included
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// Only what was written since then: a date (2026-01-31), a time (2026-01-31T14:30, local unless it names its zone), or how long ago (7d, 12h, 2w)
    #[arg(long, value_name = "DATE", value_parser = moment)]
    pub(crate) since: Option<Timestamp>,
    /// Only what was written before then; with a date, that day too
    #[arg(long, value_name = "DATE", value_parser = end)]
    pub(crate) until: Option<Timestamp>,
    /// Only in sessions whose title contains TEXT, ignoring case
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub(crate) title: Option<String>,
    /// Only on this branch
    #[arg(long, value_parser = text)]
    pub(crate) branch: Option<String>,
    /// Only replies of models whose name contains TEXT
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub(crate) model: Option<String>,
    /// Only calls of this tool and their results, ignoring case
    #[arg(long, value_name = "NAME", value_parser = text)]
    pub(crate) tool: Option<String>,
    /// Only calls that touched this file or folder, and their results; a relative path such as `src/main.rs` matches in any
    /// project
    #[arg(long, value_name = "PATH", value_parser = file)]
    pub(crate) file: Option<String>,
    /// Only what this role wrote
    #[arg(long, value_enum)]
    pub(crate) role: Option<SearchRole>,
    /// Only these parts of messages; may be given several times
    #[arg(long, value_name = "PART", value_enum, value_delimiter = ',')]
    pub(crate) r#in: Vec<SearchPart>,
    /// Only errors: results of calls that failed, and requests that failed
    #[arg(long)]
    pub(crate) errors: bool,
}

/// The order of hits.
#[cfg(feature = "search")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchOrder {
    /// The best first: by words, by who said them, and by age
    Relevance,
    /// The newest first
    Time,
}

/// Who wrote a message.
#[cfg(feature = "search")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchRole {
    /// Prompts and results of tools
    User,
    /// Replies, thinking and calls
    Assistant,
    /// Notices of Claude Code, and titles
    System,
}

/// A part of a conversation.
#[cfg(feature = "search")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchPart {
    /// What a person wrote
    Prompt,
    /// What the model answered
    Reply,
    /// What the model thought
    Thinking,
    /// Arguments and results of calls
    Tool,
    /// Arguments of calls
    Input,
    /// Results of calls
    Output,
    /// Titles of sessions
    Title,
    /// Summaries of compacted conversations
    Summary,
    /// Messages of Claude Code itself
    Notification,
}

#[cfg(feature = "search")]
const INDEX_HELP: &str = "\
The index is in `search.sqlite` in the folder of annals (`$ANNALS_HOME`). Everything in it is derived from transcripts, so it may be deleted at any \
time. It has the words of masked texts, and no text. `annals search` updates it if little is new, and `annals serve` keeps it \
up to date. An update that is interrupted continues where it ended.

  annals index status
  annals index update";

#[cfg(feature = "search")]
#[derive(Debug, clap::Args)]
pub(crate) struct Index {
    /// What to do with the index [default: status]
    #[command(subcommand)]
    pub(crate) action: Option<IndexAction>,
}

#[cfg(feature = "search")]
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum IndexAction {
    /// Show what the index has, and what it lacks
    Status,
    /// Index what is new
    Update,
    /// Make the index anew
    Rebuild,
    /// Remove the index
    Clear,
}

/// Parses how long something may take.
#[cfg(feature = "search")]
fn milliseconds(text: &str) -> Result<u64, String> {
    let (number, unit) = number_and_unit(text);
    let factor = match unit {
        "ms" => 1.0,
        "" | "s" => 1e3,
        "m" | "min" => 60e3,
        _ => return Err("not a time: write 500ms, 2s or 1min".to_owned()),
    };
    scaled(number, factor).ok_or_else(|| "not a time: write 500ms, 2s or 1min".to_owned())
}

/// Parses a number of bytes.
#[cfg(feature = "search")]
fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = number_and_unit(text);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err("not a size: write 500kB, 64MB or 1GB".to_owned()),
    };
    scaled(number, factor).ok_or_else(|| "not a size: write 500kB, 64MB or 1GB".to_owned())
}

#[cfg(feature = "search")]
fn number_and_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    (number, unit.trim())
}

/// Returns a number times a factor, if it is one that makes sense: positive and not endless.
#[cfg(feature = "search")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn scaled(number: &str, factor: f64) -> Option<u64> {
    let value = number.parse::<f64>().ok()? * factor;
    (1.0..1e15).contains(&value).then_some(value as u64)
}

#[derive(Debug, clap::Args)]
pub(crate) struct Prompts {
    /// Only prompts that contain this text, pasted text included; ignoring case
    pub(crate) text: Option<String>,
    /// Only prompts typed in this working directory
    #[arg(long, value_name = "PATH")]
    pub(crate) project: Option<PathBuf>,
    /// Show at most N
    #[arg(long, short = 'n', value_name = "N", value_parser = at_least_one)]
    pub(crate) limit: Option<usize>,
    /// Only prompts sent since then: a date (2026-01-31), a time (2026-01-31T14:30, local unless it names its zone), or how long ago (7d, 12h, 2w)
    #[arg(long, value_name = "DATE", value_parser = moment)]
    pub(crate) since: Option<Timestamp>,
    /// Only prompts sent before then; with a date, those of that day too
    #[arg(long, value_name = "DATE", value_parser = end)]
    pub(crate) until: Option<Timestamp>,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SortBy {
    /// Most recently active first
    Updated,
    /// Most recently created first
    Created,
    /// Largest first
    Size,
}

/// Parses the text of a filter. An empty one would select every session, which nobody means who gives a filter: a script does
/// that whose variable is not set.
fn text(value: &str) -> Result<String, String> {
    if value.trim().is_empty() {
        return Err("it is empty; leave the option out to select without it".to_owned());
    }
    Ok(value.to_owned())
}

/// Parses the path of a filter; for the same reason, it names more than the root of the disk.
fn file(path: &str) -> Result<String, String> {
    if !path.trim().is_empty() && path.trim().trim_matches(['/', '\\']).is_empty() {
        return Err("it names the whole disk; name a file or a folder".to_owned());
    }
    text(path)
}

/// Checks the path of a project, which need not be valid Unicode.
fn folder(path: PathBuf) -> Result<PathBuf, String> {
    text(&path.to_string_lossy()).map(|_| path)
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".to_owned()),
        number => number.map_err(|_| "not a number".to_owned()),
    }
}

/// Parses the end of a range: a date includes that day, in the local zone. Everything else is parsed as [`moment`] does.
fn end(text: &str) -> Result<Timestamp, String> {
    // jiff also parses the date of a text with a time.
    let has_time = text.contains([':', 'T', 't', ' ']);
    match text.parse::<Date>().and_then(Date::tomorrow) {
        Ok(day_after) if !has_time => in_local_zone(day_after.into()),
        _ => moment(text),
    }
}

/// Parses a time, a date (its first moment), or how long ago it was (`7d`); in the local zone unless the text names another.
fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(time) = text.parse::<Zoned>() {
        return Ok(time.timestamp());
    }
    if let Ok(time) = text.parse::<DateTime>() {
        return in_local_zone(time);
    }
    match parse_age(text) {
        Some(age) => Timestamp::now().checked_sub(age).map_err(|_| "too long ago".to_owned()),
        None => Err("neither a date (2026-01-31), nor a time, nor how long ago (7d, 12h, 2w)".to_owned()),
    }
}

fn in_local_zone(time: DateTime) -> Result<Timestamp, String> {
    time.to_zoned(TimeZone::system()).map(|zoned| zoned.timestamp()).map_err(|error| error.to_string())
}

const SHOW_HELP: &str = "\
  annals show latest
  annals show 50d5 --turn 3..5
  annals show 50d5 --at 7fa65b3b                 that message, with two turns before and after its own
  annals show 50d5 --at 7fa65b3b --mark 'borrow checker'";

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// A session: its id or at least 4 characters of it, its title, `latest`, or the path of a transcript; or an agent: its id
    /// or at least 4 characters of it
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// What to print
    #[arg(long, value_enum, default_value_t = View::Full)]
    pub(crate) view: View,
    /// Only these turns: `3`, `3..`, `..5` or `3..5` (full view)
    #[arg(long, value_name = "N..M", value_parser = turn_range)]
    pub(crate) turn: Option<RangeInclusive<usize>>,
    /// Open at this message (uuid or its beginning): prints its turn with two turns before and after it, and points at the
    /// message (full view)
    #[arg(long, value_name = "UUID", conflicts_with_all = ["turn", "leaf"])]
    pub(crate) at: Option<String>,
    /// Mark the words of this query, in colour on a terminal (full view)
    #[cfg(feature = "search")]
    #[arg(long, value_name = "WORDS")]
    pub(crate) mark: Option<String>,
    /// Show the conversation that ends in this entry (uuid or its beginning) instead of the one that Claude Code would resume
    #[arg(long, value_name = "UUID")]
    pub(crate) leaf: Option<String>,
    /// Show the conversations of subagents below the calls that started them (full view)
    #[arg(long)]
    pub(crate) subagents: bool,
    #[command(flatten)]
    pub(crate) pause: Pause,
    /// Print reasoning, summaries and added context in full (full view)
    #[arg(long)]
    pub(crate) expand: bool,
    /// Omit reasoning (full view)
    #[arg(long)]
    pub(crate) no_thinking: bool,
    /// How tool calls are printed (full view)
    #[arg(long, value_enum, default_value_t = output::conversation::Tools::Short)]
    pub(crate) tools: output::conversation::Tools,
}

/// How a session is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    /// Everything ever recorded, in conversation order
    Full,
    /// What Claude Code would send to the model if it resumed the session
    Model,
    /// The lines of the file as they are; on a terminal, control characters are replaced. With `--json` one object per line:
    /// `line`, `offset`, and `text` or, if it is not UTF-8, `bytes` in base64
    Raw,
}

/// Parses `3`, `3..`, `..5` or `3..5`.
fn turn_range(text: &str) -> Result<RangeInclusive<usize>, String> {
    match text.split_once("..") {
        Some((first, last)) => Ok(turn_number(first, 1)?..=turn_number(last, usize::MAX)?),
        None => turn_number(text, 1).map(|turn| turn..=turn),
    }
}

fn turn_number(text: &str, default: usize) -> Result<usize, String> {
    match text {
        "" => Ok(default),
        text => text.parse().map_err(|_| format!("`{text}` is no number")),
    }
}

#[derive(Debug, clap::Args)]
#[command(override_usage = "annals tail [OPTIONS] <SESSION>\n       annals tail [OPTIONS] --all")]
pub(crate) struct Tail {
    /// A session, an agent, or the path of a transcript
    #[arg(value_name = "SESSION", required_unless_present = "all")]
    pub(crate) session: Option<OsString>,
    /// Follow all sessions and their subagents, new ones too
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Check all files twice a second instead of waiting for notifications of the system: for network drives
    #[arg(long)]
    pub(crate) poll: bool,
    /// End after N seconds
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Turns {
    /// A session, an agent, or the path of a transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    #[command(flatten)]
    pub(crate) pause: Pause,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Lineage {
    /// A session, or the path of a transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
}

/// How long a pause makes a turn a resumption.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Pause {
    /// A turn that starts more than MINUTES after the previous one ended counts as a resumption
    #[arg(long, value_name = "MINUTES", default_value_t = 5)]
    pause: u32,
}

impl Pause {
    pub(crate) fn ms(self) -> i64 {
        i64::from(self.pause) * 60_000
    }
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
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// A session, an agent, the path of a transcript, or a folder of transcripts [default: all sessions]
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// A session, an agent, the path of a transcript, or a folder of transcripts
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<OsString>,
    /// Check all sessions
    #[arg(long, conflicts_with = "target")]
    pub(crate) all: bool,
}

#[cfg(all(test, feature = "search"))]
mod tests {
    use super::*;

    #[test]
    fn words_of_queries_may_begin_with_hyphens() {
        for (line, query) in [
            ("annals search borrow -panic --limit 5", Some("borrow -panic")),
            ("annals search --dry-run --json", Some("--dry-run")),
            ("annals --root /tmp search -note --root=/x tea", Some("-note tea")),
            ("annals search --tool Bash x -- --json", Some("x --json")),
            ("annals search --fixed --json", Some("")),
            ("annals search - x", Some("- x")),
            ("annals search --limit 0 x", None),
            ("annals list --dry-run", None),
        ] {
            let arguments = line.split(' ').map(OsString::from);
            let parsed = Args::try_parse_from(mark_words(arguments));
            let found = parsed.ok().map(|args| match args.command {
                Command::Search(search) => search.query.join(" "),
                other => format!("{other:?}"),
            });
            assert_eq!(found.as_deref(), query, "{line}");
        }
    }

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(["500ms", "2s", "1.5", "1min"].map(|text| milliseconds(text).ok()), [
            Some(500),
            Some(2000),
            Some(1500),
            Some(60_000)
        ]);
        assert_eq!(["10", "64MB", "1 GiB", "1.5k"].map(|text| bytes(text).ok()), [
            Some(10),
            Some(64_000_000),
            Some(1 << 30),
            Some(1500)
        ]);
        for wrong in ["", "s", "-1s", "2h", "0", "1e9s", "nan", "99999999999999999999"] {
            assert!(milliseconds(wrong).is_err() && bytes(&wrong.replace('s', "MB")).is_err(), "{wrong}");
        }
    }
}
