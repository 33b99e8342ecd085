//! What was typed.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use annals_engine::{Engine, Home, Roots};
use annals_transcript::write;
use clap::{Parser, Subcommand, ValueEnum};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

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

const EXIT_CODES: &str = "Exit codes: 0 done, 1 nothing found or problems found, 2 failed, 130 interrupted.";

/// Options that every command has.
#[derive(Debug, clap::Args)]
pub(crate) struct Global {
    /// A client config folder, the one that contains `projects`; may be given several times
    /// [default: `$CLAUDE_CONFIG_DIR`, else `~/.claude` and `~/.config/claude`]
    #[arg(long, value_name = "DIR", global = true)]
    root: Vec<PathBuf>,
    /// Print JSON: one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl Global {
    /// Opens the folders that the user named, or the client's own.
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

    /// Does the same, for recording: a folder that is not there yet is made.
    pub(crate) fn recording_engine(&self) -> Result<Engine, Failure> {
        if self.root.is_empty() {
            return self.engine();
        }
        Ok(Engine::open(Roots::to_record_in(self.root.clone()), Home::from_environment()))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List sessions, the last active first
    List(List),
    /// List projects: path, sessions, size, last activity
    Projects,
    /// List the client's folders that are searched, and what is in each
    Roots,
    /// List the prompts that were typed, the newest first
    Prompts(Prompts),
    /// Print a session
    Show(Show),
    /// Follow a session, or all of them, as they grow
    Tail(Tail),
    /// List the rounds of a session: what started each, and what came of it
    Turns(Turns),
    /// List tool calls with how each ended, how long it took and which files it touched
    Tools(Tools),
    /// List the sessions that a session was copied from, into or goes on in
    Lineage(Lineage),
    /// Count what sessions are made of: entries, blocks, models, tools, errors, problems
    Stats(Stats),
    /// Find damaged lines, and say what each costs
    Check(Check),
    /// Serve histories to browsers, editors and agents
    #[command(after_help = SERVE_HELP)]
    Serve(Serve),
    /// Append to a session what is read from standard input, so that the client resumes it
    #[command(after_help = RECORD_HELP)]
    Record(Record),
    /// Give a session a title
    Rename(Rename),
    /// Give a session a tag, or take it away
    Tag(Tag),
    /// Copy a session, whole or up to a message, to go on from there in another way
    Fork(Fork),
    /// Move a session with all its files to the trash
    Delete(Delete),
    /// Bring a session back from the trash, or list what is in it
    Restore(Restore),
    /// Put a session into the client's archive
    Archive(OneSession),
    /// Take a session out of the client's archive
    Unarchive(OneSession),
    /// Take one entry out of a session; what hung on it hangs on what came before it
    Tombstone(Tombstone),
    /// Replace a session, or make it, from a log of entries kept elsewhere; what is replaced goes to the trash
    Hydrate(Hydrate),
}

const SERVE_HELP: &str = "\
Without `--stdio` the server listens on this machine only and prints a link; whoever opens it sees the sessions in a browser. Programs \
send the token in the link as `Authorization: Bearer TOKEN`. A token that stays the same is given in a file or in `ANNALS_TOKEN`.

  annals serve --open
  annals serve --port 4000 --token-file ~/.annals-token
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:$PORT/rpc \\
    --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"history/list\"}'
  curl -N -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:$PORT/events

With `--stdio` the server reads JSON-RPC 2.0 from standard input and answers on standard output, one message a line; it ends with \
its input. docs/PROTOCOL.md has the methods.

  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"history/list\"}' \\
    | annals serve --stdio";

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct Serve {
    /// Talk to one editor or agent on standard input and output
    #[arg(long, conflicts_with_all = ["port", "bind", "token", "token_file", "open"])]
    pub(crate) stdio: bool,
    /// Listen on this port; 0 takes one that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Listen on this address; beyond this machine, a token must be chosen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
    pub(crate) bind: String,
    /// Let in who knows this, at least 16 characters; others on this machine can see it in the list of processes
    /// [default: `$ANNALS_TOKEN`, else made up for each start]
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    pub(crate) token: Option<String>,
    /// Let in who knows what stands in this file
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// Open the page in a browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Refuse everything that changes a session
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Look at all files twice a second instead of waiting for the system's notice, as on network drives
    #[arg(long)]
    pub(crate) poll: bool,
    /// An agent of the Agent Client Protocol that goes on with sessions: the command that starts it
    #[arg(long, value_name = "COMMAND", requires = "stdio", conflicts_with = "read_only")]
    pub(crate) agent: Option<String>,
}

/// What keeps changes from doing harm.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Safety {
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Go on although somebody writes to the session: lines that they write meanwhile may be lost, and a client that
    /// has it open goes on writing to a file that is no longer there
    #[arg(long)]
    pub(crate) force: bool,
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
    /// Its new title
    pub(crate) title: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tag {
    /// A session
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// Its new tag
    #[arg(value_name = "TAG", required_unless_present = "remove")]
    pub(crate) new: Option<String>,
    /// Take the tag away
    #[arg(long, conflicts_with = "new")]
    pub(crate) remove: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Fork {
    /// A session
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// The last message to copy, by the beginning of its uuid
    #[arg(long, value_name = "UUID")]
    pub(crate) up_to: Option<String>,
    /// The title of the copy [default: that of the session, with `(fork)` behind it]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Copy subagents, long tool output and backups of files too
    #[arg(long)]
    pub(crate) with_side_files: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Delete {
    /// A session; with `--purge` one in the trash, or else one on disk
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// Remove it for good, from the trash if it is there: nothing brings it back. For a session on disk this asks first
    #[arg(long)]
    pub(crate) purge: bool,
    /// With `--purge`: the entry of the trash, as `annals restore` lists them [default: the newest of the session]
    #[arg(long, value_name = "ID", requires = "purge")]
    pub(crate) entry: Option<String>,
    /// Remove a session on disk for good without asking
    #[arg(long, requires = "purge")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) safety: Safety,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Restore {
    /// A session in the trash: its id or at least 4 characters of it, or its title [default: list all entries]
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// Which of the session's entries: every deletion makes one [default: the newest]
    #[arg(long, value_name = "ID", requires = "session")]
    pub(crate) entry: Option<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tombstone {
    /// A session, or the path of a transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// The entry, by the beginning of its uuid
    pub(crate) uuid: String,
    /// The largest file that is written anew, in MiB; the last line of any file is cut off in place
    #[arg(long, value_name = "MIB", default_value_t = 50)]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) safety: Safety,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Hydrate {
    /// Where the log is: a file, an http or https address, or `-` for standard input. It has one JSON object a line, or is
    /// one object with a list `loglines`
    #[arg(value_name = "FILE|URL")]
    pub(crate) from: String,
    /// A session that is there, to be replaced; or the id of a new one [default: a new one]
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// The working directory that a new session is about [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Take an empty log for what it is, and not for the sign of a failure; a server that has no log (404) has an empty one
    #[arg(long)]
    pub(crate) allow_empty: bool,
    #[command(flatten)]
    pub(crate) safety: Safety,
}

const RECORD_HELP: &str = "\
Each line is a draft: a JSON object with a `type` and, for messages, a `message`; or a record such as a title. \
`uuid`, `parentUuid`, `timestamp` and all other fields of the client are filled in where they are missing. Drafts whose \
uuid is there already are passed over. All lines up to the end, or to a blank line, are one batch: if one is refused, \
nothing of its batch is written. For every batch that was taken one line of JSON says what became of it; a refusal ends the recording.

  echo '{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"Hello\"}}' | annals record --project .";

#[derive(Debug, clap::Args)]
pub(crate) struct Record {
    /// The working directory that the session is about [default: that of a session that is there, else the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// A session that is there, to go on with; or the id of a new one [default: a new one]
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<OsString>,
    /// Record to the transcript of this subagent of the session
    #[arg(long, value_name = "ID", requires = "session")]
    pub(crate) agent: Option<String>,
    /// The folder below `subagents` that the subagent shares with others, such as `workflows/wf_1`
    #[arg(long, value_name = "PATH", requires = "agent")]
    pub(crate) group: Option<String>,
    /// Note what kind of agent it is, beside its transcript
    #[arg(long, value_name = "NAME", requires = "agent")]
    pub(crate) agent_type: Option<String>,
    /// Note what the agent was asked to do
    #[arg(long, value_name = "TEXT", requires = "agent")]
    pub(crate) description: Option<String>,
    /// Note the call that started the agent
    #[arg(long, value_name = "ID", requires = "agent")]
    pub(crate) tool_use_id: Option<String>,
    /// Note the worktree that the agent works in
    #[arg(long, value_name = "DIR", requires = "agent")]
    pub(crate) worktree: Option<PathBuf>,
    /// End a batch after so many drafts; with 1, each is on disk before the next one is read
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) batch: Option<usize>,
    /// Pass over drafts that are refused, and record the others
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// When what was written must survive a loss of power
    #[arg(long, value_enum, default_value_t = Sync::Flush)]
    pub(crate) sync: Sync,
    /// How the program that records was started; stands in every message
    #[arg(long, value_name = "NAME", default_value = "annals")]
    pub(crate) entrypoint: String,
}

/// When what was written is made to survive a loss of power.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Sync {
    /// Whenever the system gets round to it
    Never,
    /// After every batch
    Flush,
    /// After every write
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
    /// Only sessions of this working directory and of its worktrees
    #[arg(long, value_name = "PATH", conflicts_with = "here")]
    pub(crate) project: Option<PathBuf>,
    /// Only sessions of the current directory and of its worktrees
    #[arg(long)]
    pub(crate) here: bool,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", value_parser = at_least_one)]
    pub(crate) limit: Option<usize>,
    /// Only sessions active since then: a date (2026-01-31), a time (2026-01-31T14:30, local unless it names its zone), or how long ago (7d, 12h, 2w)
    #[arg(long, value_name = "DATE", value_parser = moment)]
    pub(crate) since: Option<Timestamp>,
    /// Only sessions that began before then; with a date, those of that day too
    #[arg(long, value_name = "DATE", value_parser = end)]
    pub(crate) until: Option<Timestamp>,
    /// Only sessions whose title has this in it, whatever its case
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Only sessions on this branch
    #[arg(long)]
    pub(crate) branch: Option<String>,
    /// Only sessions that used this tool, themselves or by their subagents; whatever the case of its name
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only sessions that touched this file or a file in this folder, themselves or by their subagents; `src/main.rs`
    /// is found wherever it lies
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,
    /// The order
    #[arg(long, value_enum, default_value_t = SortBy::Updated)]
    pub(crate) sort: SortBy,
    /// Also files that hold no conversation: empty ones, titles only, subagents' messages only
    #[arg(long)]
    pub(crate) all: bool,
    /// Instead, sessions whose transcripts are gone and that only the prompt history knows
    #[arg(long, conflicts_with_all = ["all", "branch", "tool", "file", "sort"])]
    pub(crate) ghosts: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Prompts {
    /// Only prompts with this text in them, or in what was pasted, whatever its case
    pub(crate) text: Option<String>,
    /// Only prompts typed in this working directory
    #[arg(long, value_name = "PATH")]
    pub(crate) project: Option<PathBuf>,
    /// At most so many
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
    /// Last active first
    Updated,
    /// Last begun first
    Created,
    /// Largest first
    Size,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".to_owned()),
        number => number.map_err(|_| "not a number".to_owned()),
    }
}

/// Reads a date in the local zone as its last moment, or whatever else is a moment.
fn end(text: &str) -> Result<Timestamp, String> {
    // A time tells its date, too.
    let has_time = text.contains([':', 'T', 't', ' ']);
    match text.parse::<Date>().and_then(Date::tomorrow) {
        Ok(day_after) if !has_time => in_local_zone(day_after.into()),
        _ => moment(text),
    }
}

/// Reads a time, or a date as its first moment, in the local zone unless it names another; or how long ago it was.
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
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 24 * 7,
        _ => return Err("neither a date (2026-01-31), nor a time, nor how long ago (7d, 12h, 2w)".to_owned()),
    };
    let ago = digits
        .parse::<i64>()
        .ok()
        .and_then(|number| number.checked_mul(hours))
        .and_then(|hours| hours.checked_mul(3600));
    let ago = ago.ok_or("too long ago")?;
    Timestamp::now().checked_sub(SignedDuration::from_secs(ago)).map_err(|_| "too long ago".to_owned())
}

fn in_local_zone(time: DateTime) -> Result<Timestamp, String> {
    time.to_zoned(TimeZone::system()).map(|zoned| zoned.timestamp()).map_err(|error| error.to_string())
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// A session: its id or at least 4 characters of it, its title, `latest`, or the path of a transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// What to print
    #[arg(long, value_enum, default_value_t = View::Full)]
    pub(crate) view: View,
    /// Only these turns: `3`, `3..`, `..5` or `3..5` (full view)
    #[arg(long, value_name = "N..M", value_parser = turn_range)]
    pub(crate) turn: Option<RangeInclusive<usize>>,
    /// The conversation that ends in this entry, by the beginning of its uuid, instead of where the client would go on
    #[arg(long, value_name = "UUID")]
    pub(crate) leaf: Option<String>,
    /// Show what subagents did, below the calls that started them (full view)
    #[arg(long)]
    pub(crate) subagents: bool,
    #[command(flatten)]
    pub(crate) pause: Pause,
    /// Unfold reasoning, summaries and what the client put in (full view)
    #[arg(long)]
    pub(crate) expand: bool,
    /// Leave out reasoning (full view)
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
    /// What the client would send to the model if the session were resumed
    Model,
    /// The lines of the file as they are; on a terminal, control characters are replaced. With `--json` one object a line:
    /// `line`, `offset`, and `text` or, if it is not UTF-8, `bytes` in base64
    Raw,
}

/// Reads `3`, `3..`, `..5` or `3..5`.
fn turn_range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let number = |text: &str, default: usize| match text {
        "" => Ok(default),
        text => text.parse().map_err(|_| format!("`{text}` is no number")),
    };
    match text.split_once("..") {
        Some((first, last)) => Ok(number(first, 1)?..=number(last, usize::MAX)?),
        None => number(text, 1).map(|turn| turn..=turn),
    }
}

#[derive(Debug, clap::Args)]
#[command(override_usage = "annals tail [OPTIONS] <SESSION>\n       annals tail [OPTIONS] --all")]
pub(crate) struct Tail {
    /// A session, or the path of a transcript
    #[arg(value_name = "SESSION", required_unless_present = "all")]
    pub(crate) session: Option<OsString>,
    /// Follow all sessions and their subagents, new ones too
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Look at all files twice a second instead of waiting for the system's notice, as on network drives
    #[arg(long)]
    pub(crate) poll: bool,
    /// End after so many seconds, when what was written until then is printed
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Turns {
    /// A session, or the path of a transcript
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
    /// After how many minutes of silence a turn counts as a resumption
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
    /// A session, the path of a transcript, or a folder of transcripts [default: all sessions]
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<OsString>,
    /// Only calls of this tool
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Only calls whose result says that they failed, denied and interrupted ones among them
    #[arg(long)]
    pub(crate) errors: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// A session, the path of a transcript, or a folder of transcripts [default: all sessions]
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// A session, the path of a transcript, or a folder of transcripts
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<OsString>,
    /// Check all sessions
    #[arg(long, conflicts_with = "target")]
    pub(crate) all: bool,
}
