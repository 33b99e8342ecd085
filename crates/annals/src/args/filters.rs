//! Which sessions a list shows, or a command changes.

use std::path::PathBuf;

use annals_engine::{ArchiveFilter, ListOptions};
use clap::builder::{PathBufValueParser, TypedValueParser};
use jiff::Timestamp;

use super::moment::{Period, end, moment, period};
use crate::failure::Failure;

// Which sessions a list shows, or a command changes.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Filters {
    /// Only sessions of this working directory and its worktrees
    #[arg(long, value_name = "PATH", conflicts_with = "here", value_parser = PathBufValueParser::new().try_map(folder))]
    pub(crate) project: Option<PathBuf>,
    /// Only sessions of the current directory and its worktrees
    #[arg(long)]
    pub(crate) here: bool,
    /// Only sessions active since then: a day, a month or a year (today, yesterday, monday, 2026-01-31, 2026-01), a time (2026-01-31T14:30, local unless it names its zone), or how long ago (30min, 12h, 7d, 2w, 3mo)
    #[arg(long, value_name = "DATE", value_parser = moment, allow_hyphen_values = true)]
    pub(crate) since: Option<Timestamp>,
    /// Only sessions that began before then, also those that are still active; with a day, a month or a year, those in it too
    #[arg(long, value_name = "DATE", value_parser = end, allow_hyphen_values = true)]
    pub(crate) until: Option<Timestamp>,
    /// Only sessions active on this day, or in this month or year: today, yesterday, tuesday, 2026-01-31, 2026-01
    #[arg(long, value_name = "DAY", value_parser = period, allow_hyphen_values = true, conflicts_with_all = ["since", "until"])]
    pub(crate) on: Option<Period>,
    /// Only sessions without activity since then: how long ago (90d, 12h, 2w), a day or a time, as for `--since`
    #[arg(long, value_name = "AGE", value_parser = moment, allow_hyphen_values = true)]
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
    /// Include archived sessions and files without a conversation (empty ones, only titles, only messages of subagents)
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
            active_in: self.on.as_ref().map(|on| on.start..on.end),
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
            || self.on.is_some()
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

/// Parses the text of a filter. An empty text is refused: it would select every session, and mostly comes from a script in which
/// a variable is not set.
pub(super) fn text(value: &str) -> Result<String, String> {
    if value.trim().is_empty() {
        return Err("it is empty; leave the option out to select without it".to_owned());
    }
    Ok(value.to_owned())
}

/// Parses the path of a filter; for the same reason, it names more than the root of the disk.
pub(super) fn file(path: &str) -> Result<String, String> {
    if !path.trim().is_empty() && path.trim().trim_matches(['/', '\\']).is_empty() {
        return Err("it names the whole disk; name a file or a folder".to_owned());
    }
    text(path)
}

/// Checks the path of a project, which need not be valid Unicode.
pub(super) fn folder(path: PathBuf) -> Result<PathBuf, String> {
    text(&path.to_string_lossy()).map(|_| path)
}

pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".to_owned()),
        number => number.map_err(|_| "not a number".to_owned()),
    }
}
