//! The folder where annals keeps its own files: the trash, locks, caches. None of them lie in the folders of Claude Code.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder of annals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// Uses this folder, which need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Uses `$ANNALS_HOME`, or else `annals` in the system's folder for application data.
    pub fn from_environment() -> Self {
        Self::from_values(env::var_os("ANNALS_HOME"), dirs::data_dir())
    }

    fn from_values(given: Option<OsString>, data: Option<PathBuf>) -> Self {
        let given = given.filter(|given| !given.is_empty()).map(PathBuf::from);
        Self(given.unwrap_or_else(|| data.unwrap_or_default().join("annals")))
    }

    /// Returns the folder of deleted sessions.
    pub(crate) fn trash(&self) -> PathBuf {
        self.0.join("trash")
    }

    /// Returns the folder of the lock files of sessions.
    pub(crate) fn locks(&self) -> PathBuf {
        self.0.join("locks")
    }

    /// Returns the folder of receipts of repairs.
    pub(crate) fn repairs(&self) -> PathBuf {
        self.0.join("repairs")
    }

    /// Returns the folder of files that say how far transcripts were pushed.
    pub(crate) fn push(&self) -> PathBuf {
        self.0.join("push")
    }

    /// Returns the file of what status lines recorded.
    pub(crate) fn status_records(&self) -> PathBuf {
        self.0.join("status-line.jsonl")
    }

    /// Returns the database of search.
    #[cfg(feature = "search")]
    pub fn search_index(&self) -> PathBuf {
        self.0.join("search.sqlite")
    }

    /// Returns the database of what was counted. It has what no transcript has any more, so it is not a cache.
    pub fn usage_store(&self) -> PathBuf {
        self.0.join("usage.sqlite")
    }

    /// Returns the file with the result of the last count. It is a cache.
    #[cfg(feature = "catalog")]
    pub(crate) fn usage_ledger(&self) -> PathBuf {
        self.0.join("usage-ledger.bin")
    }

    /// Returns the file with the costs of the last hours, for status lines. It is a cache.
    pub(crate) fn recent_usage(&self) -> PathBuf {
        self.0.join("usage-recent.json")
    }

    /// Returns the file that is locked while these costs are counted.
    pub(crate) fn recent_usage_lock(&self) -> PathBuf {
        self.0.join("usage-recent.lock")
    }

    /// Returns the file whose time says when a status line last asked for a count.
    pub(crate) fn recent_usage_mark(&self) -> PathBuf {
        self.0.join("usage-recent.asked")
    }

    /// Returns the file in which a user states prices.
    pub fn prices(&self) -> PathBuf {
        self.0.join("prices.toml")
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_comes_before_the_system() {
        let home = |given: Option<&str>| Home::from_values(given.map(OsString::from), Some("data".into()));
        assert_eq!(home(Some("own")), Home::at("own"));
        assert_eq!(home(Some("")), Home::at(Path::new("data").join("annals")));
        assert_eq!(home(None).trash(), Path::new("data").join("annals").join("trash"));
    }
}
