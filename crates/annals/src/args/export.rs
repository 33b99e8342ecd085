//! `annals export`.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use annals_api::export;
use clap::ValueEnum;

use super::show::turn_range;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct Export {
    /// Sessions: ids or at least 4 characters of them, titles, `latest`, or paths of transcripts
    #[arg(value_name = "SESSION", required_unless_present = "project")]
    pub(crate) sessions: Vec<OsString>,
    /// All sessions of the project in this folder, instead of some; they become a folder of files with an index
    #[arg(long, value_name = "PATH", conflicts_with = "sessions")]
    pub(crate) project: Option<PathBuf>,
    /// Output format [default: from the file extension, else HTML]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// The file to write, or the folder for several sessions or for pages; `-` is standard output
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Write a session as a folder of pages with an index; sessions of more than 16 MB are split unless `-o` names a file
    #[arg(long)]
    pub(crate) split: bool,
    /// Which entries to write
    #[arg(long, value_enum, default_value_t = ExportView::Full)]
    pub(crate) view: ExportView,
    /// Only these turns: `3`, `3..`, `..5` or `3..5`
    #[arg(long, value_name = "N..M", value_parser = turn_range)]
    pub(crate) turn: Option<RangeInclusive<usize>>,
    /// Write the conversations of subagents below the calls that started them
    #[arg(long)]
    pub(crate) subagents: bool,
    /// Write what Claude Code added for the model, too: reminders, attachments, injected text
    #[arg(long)]
    pub(crate) context: bool,
    /// Omit reasoning
    #[arg(long)]
    pub(crate) no_thinking: bool,
    /// Omit the results of tools
    #[arg(long)]
    pub(crate) no_results: bool,
    /// Omit the changes that edits made
    #[arg(long)]
    pub(crate) no_diffs: bool,
    /// Omit images; HTML contains them otherwise, and the other formats name them
    #[arg(long)]
    pub(crate) no_images: bool,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) force: bool,
}

/// The formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One page for a browser, without scripts and without anything to load
    Html,
    /// Markdown, as forges display it
    Md,
    /// A line about the session, then one line for each item of `history/read`
    Json,
    /// Plain text
    Text,
}

impl From<Format> for export::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Html => Self::Html,
            Format::Md => Self::Md,
            Format::Json => Self::Json,
            Format::Text => Self::Text,
        }
    }
}

/// Which entries an export has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportView {
    /// Everything ever recorded
    Full,
    /// The entries that Claude Code would send to the model if it resumed the session
    Model,
}
