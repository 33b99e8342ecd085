//! Usage: every response of the transcripts once. `docs/USAGE.md` states the rules.
//!
//! [`count`] finds the transcripts, reads what was appended to them, stores what is counted of each, and merges everything in a
//! [`Ledger`]. The crate `annals-usage` has the rules by which copies merge, prices and reports.

#[cfg(feature = "catalog")]
mod cache;
mod line;
mod read;
mod recent;
#[cfg(feature = "catalog")]
mod store;
mod walk;

use std::io;

use annals_usage::{CountedFile, Ledger, Prices};
use rayon::prelude::*;

use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::TranscriptFile;

use read::FileProgress;

pub(crate) use line::TokenCount;
pub use recent::RecentCosts;
pub(crate) use recent::{claim_update, costs as recent_costs, update as update_recent};

/// What was counted.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Every response once.
    pub ledger: Ledger,
    /// What could not be read.
    pub errors: Vec<Error>,
    /// Why what was counted before is left out, and nothing is stored.
    pub store_error: Option<Error>,
}

/// Counts transcripts without storing anything.
pub(crate) fn count_files(files: &[TranscriptFile]) -> Usage {
    let read: Vec<_> = files.par_iter().map(count_file).collect();
    let mut usage = Usage::default();
    let mut counted = Vec::new();
    for file in read {
        match file {
            Ok(file) => counted.push(file),
            Err(error) => usage.errors.push(error),
        }
    }
    usage.ledger = Ledger::build(counted);
    usage
}

fn count_file(file: &TranscriptFile) -> Result<CountedFile, Error> {
    let (progress, _) = read::update(&file.path, file.session.as_deref(), FileProgress::default())
        .map_err(|error| Error::read(&file.path, error))?;
    Ok(CountedFile {
        path: file.path.clone(),
        session: file.session.clone(),
        agent: file.agent.clone(),
        count: progress.count,
        ..CountedFile::default()
    })
}

/// Counts all transcripts. Without SQLite, each time from their starts.
#[cfg(not(feature = "catalog"))]
pub(crate) fn count(engine: &Engine, is_inside: bool) -> Usage {
    let walk::Transcripts { found, errors, .. } = walk::transcripts(engine, is_inside);
    let files: Vec<_> = found
        .into_iter()
        .map(|found| TranscriptFile { path: found.path, session: found.session, agent: found.agent })
        .collect();
    let mut usage = count_files(&files);
    usage.errors.extend(errors);
    usage
}

/// Without SQLite, nothing is kept that could be forgotten.
#[cfg(not(feature = "catalog"))]
#[expect(clippy::unnecessary_wraps, reason = "with SQLite it can fail")]
pub(crate) fn forget(_: &Engine) -> Result<usize, Error> {
    Ok(0)
}

#[cfg(feature = "catalog")]
mod update;
#[cfg(feature = "catalog")]
pub(crate) use update::{count, forget};

/// Returns the prices that annals knows, with the user's own.
pub(crate) fn prices(engine: &Engine) -> Result<Prices, Error> {
    let path = engine.home().prices();
    let prices = Prices::built_in();
    match std::fs::read_to_string(&path) {
        Ok(own) => prices
            .with_own(&own)
            .map_err(|error| Error::new(ErrorKind::Prices { path, reason: error.to_string() })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(prices),
        Err(error) => Err(Error::read(&path, error)),
    }
}

#[cfg(test)]
mod tests;
