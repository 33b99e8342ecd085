//! `annals index`.

use clap::Subcommand;

pub(super) const INDEX_HELP: &str = "\
The index is in `search.sqlite` in the folder of annals (`$ANNALS_HOME`). Everything in it is derived from transcripts, so it may be deleted at any \
time. It has the words of masked texts, and no text. `annals search` updates it if little is new, and `annals serve` keeps it \
up to date. An update that is interrupted continues where it ended.

  annals index status
  annals index update";

#[derive(Debug, clap::Args)]
pub(crate) struct Index {
    /// What to do with the index [default: status]
    #[command(subcommand)]
    pub(crate) action: Option<IndexAction>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum IndexAction {
    /// Show what the index has, and what it lacks
    Status,
    /// Index what is new
    Update,
    /// Rebuild the index from all transcripts
    Rebuild,
    /// Remove the index
    Clear,
}
