//! `annals list`.

use clap::ValueEnum;

use super::filters::{Filters, at_least_one};

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
