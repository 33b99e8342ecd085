//! What was typed.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use annals_engine::{Engine, Roots};
use clap::{Parser, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::output;

#[derive(Debug, Parser)]
#[command(name = "annals", version, about, max_term_width = 100, after_help = EXIT_CODES)]
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
        let roots =
            if self.root.is_empty() { Roots::from_environment() } else { Roots::given(self.root.clone())? };
        Ok(Engine::open(roots))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print a session
    Show(Show),
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
    /// The lines of the file as they are; on a terminal, control characters are replaced
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
