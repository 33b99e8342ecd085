//! `annals prompts`.

use std::path::PathBuf;

use jiff::Timestamp;

use super::filters::at_least_one;
use super::moment::{end, moment};

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
    /// Only prompts sent since then: a day, a month or a year (today, yesterday, monday, 2026-01-31, 2026-01), a time (2026-01-31T14:30, local unless it names its zone), or how long ago (30min, 12h, 7d, 2w, 3mo)
    #[arg(long, value_name = "DATE", value_parser = moment, allow_hyphen_values = true)]
    pub(crate) since: Option<Timestamp>,
    /// Only prompts sent before then; with a day, a month or a year, those in it too
    #[arg(long, value_name = "DATE", value_parser = end, allow_hyphen_values = true)]
    pub(crate) until: Option<Timestamp>,
}
