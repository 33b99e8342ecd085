//! `annals usage`.

use std::ffi::OsString;
use std::path::PathBuf;

use annals_search::{DateError, When};
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Subcommand, ValueEnum};
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use super::filters::{at_least_one, file, folder, text};

pub(super) const USAGE_HELP: &str = "\
Every response of the API counts once, however many lines and files it occurs in: forks, resumed sessions and subagents included. \
Costs are list prices of the API, which is not what a subscription pays. What was counted stays counted when Claude Code deletes a transcript: \
it is in `usage.sqlite` in the folder of annals (`$ANNALS_HOME`), which is not a cache. Prices of your own go to `prices.toml` there.";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Usage {
    /// What to do instead of a report
    #[command(subcommand)]
    pub(crate) action: Option<UsageAction>,
    /// Only this session with its subagents; or the path of a transcript or of a folder of transcripts, which are counted without the
    /// others [default: all sessions]
    #[arg(value_name = "SESSION|PATH")]
    pub(crate) target: Option<OsString>,
    /// Show how full the context of SESSION was, what filled it and what compactions saved; SESSION may be an agent or a path, too
    #[arg(long, requires = "target", conflicts_with_all = ["by", "why", "breakdown", "csv", "since", "until", "project", "here", "branch", "title", "tool", "file"])]
    pub(crate) context: bool,
    /// Group by
    #[arg(long, value_enum, default_value_t = UsageBy::Day)]
    pub(crate) by: UsageBy,
    /// Show the models of each row
    #[arg(long)]
    pub(crate) breakdown: bool,
    /// List the responses behind the row with this key, each with its transcript and line
    #[arg(long, value_name = "KEY", conflicts_with_all = ["breakdown", "csv", "limit"], value_parser = text)]
    pub(crate) why: Option<String>,
    /// Show at most N rows, of days and other times the latest; the total has all of them
    #[arg(long, short = 'n', value_name = "N", value_parser = at_least_one)]
    pub(crate) limit: Option<usize>,
    /// The time zone of days, weeks and months, such as `Asia/Shanghai` or `UTC` [default: the local one]
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    pub(crate) timezone: Option<TimeZone>,
    /// The first day of weeks
    #[arg(long, value_name = "DAY", default_value = "monday", value_parser = weekday)]
    pub(crate) week_start: Weekday,
    /// Where costs come from
    #[arg(long, value_enum, default_value_t = UsageCostMode::Auto)]
    pub(crate) cost_mode: UsageCostMode,
    /// Print comma-separated values
    #[arg(long)]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) filters: UsageFilters,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UsageAction {
    /// Remove what was counted in transcripts that do not exist any more; lists it, and asks first
    Forget(UsageForget),
}

#[derive(Debug, clap::Args)]
pub(crate) struct UsageForget {
    /// Remove it without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

// Which responses count.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct UsageFilters {
    /// Only responses since then: a day, a month or a year (today, yesterday, monday, 2026-01-31, 2026-01), a time
    /// (2026-01-31T14:30), or how long ago (30min, 12h, 7d, 2w, 3mo)
    #[arg(long, value_name = "DATE", value_parser = when, allow_hyphen_values = true)]
    pub(crate) since: Option<When>,
    /// Only responses before then; a day, a month or a year is included
    #[arg(long, value_name = "DATE", value_parser = when, allow_hyphen_values = true)]
    pub(crate) until: Option<When>,
    /// Only sessions of this working directory and its worktrees
    #[arg(long, value_name = "PATH", conflicts_with = "here", value_parser = PathBufValueParser::new().try_map(folder))]
    pub(crate) project: Option<PathBuf>,
    /// Only sessions of the current directory and its worktrees
    #[arg(long)]
    pub(crate) here: bool,
    /// Only responses on this branch
    #[arg(long, value_parser = text)]
    pub(crate) branch: Option<String>,
    /// Only sessions whose title contains TEXT, ignoring case
    #[arg(long, value_name = "TEXT", value_parser = text)]
    pub(crate) title: Option<String>,
    /// Only sessions that used this tool, subagents included; ignoring case
    #[arg(long, value_name = "NAME", value_parser = text)]
    pub(crate) tool: Option<String>,
    /// Only sessions that touched this file or folder, subagents included
    #[arg(long, value_name = "PATH", value_parser = file)]
    pub(crate) file: Option<String>,
}

/// What rows are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UsageBy {
    /// A day, from midnight to midnight
    Day,
    /// A week of ISO 8601, or one that begins on `--week-start`
    Week,
    /// A month
    Month,
    /// A session with its subagents, the most expensive first
    Session,
    /// The directory that sessions began in
    Project,
    /// The branch that was checked out
    Branch,
    /// A model
    Model,
    /// A five-hour window of a subscription: exact where its end was recorded, an estimate otherwise
    Block,
}

/// Where costs come from.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UsageCostMode {
    /// The recorded cost if there is one, else tokens times prices
    Auto,
    /// Tokens by their prices
    Calculate,
    /// Only recorded costs
    Recorded,
}

/// Parses a time, which is resolved when the time zone is known.
fn when(text: &str) -> Result<When, DateError> {
    text.parse()
}

fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name)
        .map_err(|_| "not the name of a time zone, such as `Europe/Berlin` or `UTC`".to_owned())
}

fn weekday(name: &str) -> Result<Weekday, String> {
    annals_api::weekday(name).ok_or_else(|| "not a day, such as `monday` or `sun`".to_owned())
}
