//! `annals show` and `annals turns`.

use std::ffi::OsString;
use std::ops::RangeInclusive;

use clap::ValueEnum;

use crate::output;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct Show {
    /// A session: its id or at least 4 characters of it, its title or a part of it, words of its first prompt, `latest`, or the
    /// path of a transcript; or an agent: its id or at least 4 characters of it
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
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
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
    /// Print the beginning of the uuid before each message, for `fork --up-to`, `tombstone`, `files --at` and `--leaf` (full view)
    #[arg(long)]
    pub(crate) ids: bool,
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
pub(super) fn turn_range(text: &str) -> Result<RangeInclusive<usize>, String> {
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
pub(crate) struct Turns {
    /// A session, an agent, or the path of a transcript
    #[arg(value_name = "SESSION")]
    pub(crate) session: OsString,
    /// Another session to compare it with, such as a fork: the turns that both begin with are listed once, and then those of each
    #[arg(value_name = "OTHER")]
    pub(crate) other: Option<OsString>,
    #[command(flatten)]
    pub(crate) pause: Pause,
}

// How long a pause makes a turn a resumption.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Pause {
    /// A turn that starts more than MINUTES after the previous one ended counts as a resumption
    #[arg(long, value_name = "MINUTES", default_value_t = 5, value_parser = minutes)]
    pause: u32,
}

fn minutes(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| "it must be a whole number of minutes")
}

impl Pause {
    pub(crate) fn ms(self) -> i64 {
        i64::from(self.pause) * 60_000
    }
}
