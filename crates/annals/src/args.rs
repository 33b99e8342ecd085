//! What was typed.

use std::path::PathBuf;

use annals_engine::{Engine, Roots};
use clap::{Parser, Subcommand, ValueEnum};

use crate::failure::Failure;

/// Reads Claude Code session transcripts exactly as the client does.
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
    /// Count what sessions are made of: entries, blocks, models, tools, errors, problems
    Stats(Stats),
    /// Find damaged lines, and say what each costs
    Check(Check),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// A session: its id or at least 4 characters of it, its title, `latest`, or the path of a transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    /// What to print
    #[arg(long, value_enum, default_value_t = View::Raw)]
    pub(crate) view: View,
}

/// How a session is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    /// What the client would send to the model if the session were resumed
    Model,
    /// The lines of the file as they are; on a terminal, control characters are replaced
    Raw,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// A session, the path of a transcript, or a folder of transcripts [default: all sessions]
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// A session, the path of a transcript, or a folder of transcripts
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<String>,
    /// Check all sessions
    #[arg(long, conflicts_with = "target")]
    pub(crate) all: bool,
}
