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
    /// Only prompts sent since then: a date (2026-01-31), a time (2026-01-31T14:30, local unless it names its zone), or how long ago (7d, 12h, 2w)
    #[arg(long, value_name = "DATE", value_parser = moment)]
    pub(crate) since: Option<Timestamp>,
    /// Only prompts sent before then; with a date, those of that day too
    #[arg(long, value_name = "DATE", value_parser = end)]
    pub(crate) until: Option<Timestamp>,
}
