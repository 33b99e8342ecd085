//! The store of the catalogue: what is kept from one list to the next, so that a file that has not changed is not read
//! again.
//!
//! Everything in a store is derived from transcripts and may be deleted at any time. No failure of a store is an error: a
//! list that cannot load something reads the transcripts instead.

#[cfg(feature = "catalog")]
mod sqlite;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use annals_transcript::file_state::{FileStamp, FileState};

use super::activity::Activity;
use super::facts::Facts;
use super::folder::FoundTranscript;
use crate::fold::FileFold;

/// What is kept of transcripts, by path.
pub(super) trait Store: Send {
    /// Loads the facts of all files.
    fn all_facts(&self) -> HashMap<OsString, StoredValue<Box<Facts>>>;

    /// Loads the facts of one file.
    fn facts(&self, path: &Path) -> Option<StoredValue<Box<Facts>>>;

    /// Loads what was done in one file.
    fn activity(&self, path: &Path) -> Option<StoredValue<FileFold<Activity>>>;

    /// Saves the facts of files.
    fn save_facts(&mut self, rows: &[(&FoundTranscript, &Facts)]);

    /// Saves what was done in files.
    fn save_activity(&mut self, rows: &[(&FoundTranscript, &FileFold<Activity>)]);

    /// Removes everything that is stored about files.
    fn remove(&mut self, paths: &[&Path]);

    /// Removes everything that is stored about files, and about those in folders with these paths, so that no text of it is left in
    /// the store.
    fn forget(&mut self, paths: &[&Path]);
}

/// Opens the store in a folder. Returns `None` if there can be none; lists are made without it then.
#[cfg(feature = "catalog")]
pub(super) fn open(folder: &Path) -> Option<Box<dyn Store>> {
    Some(Box::new(sqlite::SqliteStore::open(folder)?))
}

/// Removes the store in a folder.
pub(super) fn remove(folder: &Path) {
    #[cfg(feature = "catalog")]
    sqlite::SqliteStore::remove_from(folder);
    #[cfg(not(feature = "catalog"))]
    let _ = folder;
}

/// Without the cargo feature `catalog` there is no store.
#[cfg(not(feature = "catalog"))]
pub(super) fn open(_: &Path) -> Option<Box<dyn Store>> {
    None
}

/// Something that is stored about a file, and the state of the file that it describes.
#[derive(Clone, Debug)]
pub(super) struct StoredValue<T> {
    pub(super) value: T,
    stamp: FileStamp,
}

/// How a stored value relates to the file as it is now.
pub(super) enum Freshness {
    /// The file is unchanged.
    Same,
    /// The file is longer. Whether it begins as it did is known once it is read.
    Grown,
    /// There is another file, or a shorter one.
    Stale,
}

impl<T> StoredValue<T> {
    pub(super) fn freshness(&self, state: &FileState) -> Freshness {
        let now = FileStamp::of(state);
        if now == self.stamp {
            return Freshness::Same;
        }
        let is_same_file = now.identity() == self.stamp.identity();
        if is_same_file && now.length > self.stamp.length { Freshness::Grown } else { Freshness::Stale }
    }
}
