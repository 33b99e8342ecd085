//! What the folder of a project had when its transcripts were indexed, so that the next comparison asks for states of files and
//! reads no folder.
//!
//! Creating, renaming or removing a file changes the modification time of its folder. If the times of all folders are those
//! of the listing, the project has the same files, and only their states can differ: a file that grows does not change its folder.
//!
//! The times of a file system advance in steps, so that a folder may change twice at the same time. A folder is therefore
//! listed only if it did not change for a while before it was read.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use annals_transcript::file_state::{FileState, OpenFolder};

use super::index::{path_bytes, stored_path};

/// A folder that changed less than this before it was read may have changed again without another time: FAT has steps of
/// two seconds, and clocks of servers differ a little.
const SETTLED: Duration = Duration::from_secs(3);

/// If the states of more transcripts differ, the folders are read and listed again.
const MOST_CHANGED: usize = 64;

/// The state of a file as numbers: length, modification time in nanoseconds, and identity.
pub(super) type Stamp = [u64; 4];

/// Returns the state of a file as numbers.
pub(super) fn stamp(state: &FileState) -> Stamp {
    let since_1970 = state.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = since_1970.and_then(|time| u64::try_from(time.as_nanos()).ok());
    let (device, inode) = state.identity;
    [state.length, modified.unwrap_or_default(), device, inode]
}

/// The folders and transcripts of a project with their states, as bytes: for each the length of its path below the project, the
/// path and the state. A path that is longer than 64 KiB is not listed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    folders: Vec<u8>,
    files: Vec<u8>,
}

/// What differs from a listing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// These transcripts have other states; none if everything is the same.
    Files(Vec<PathBuf>),
    /// There may be other files, so that the folders have to be read.
    Folders,
}

impl Listing {
    /// Lists a project. Folders have the states that they had before they were read. Returns `None` if there
    /// is none, or one that changed shortly before `now`.
    pub(super) fn new(
        project: &Path,
        folders: &[(PathBuf, FileState)],
        files: &[(PathBuf, Stamp)],
        now: SystemTime,
    ) -> Option<Self> {
        let mut listing = Self::default();
        if folders.is_empty() {
            return None;
        }
        for (path, state) in folders {
            let is_settled = |time| now.duration_since(time).is_ok_and(|age| age >= SETTLED);
            state.modified.filter(|time| is_settled(*time))?;
            add(&mut listing.folders, path.strip_prefix(project).ok()?, &stamp(state))?;
        }
        for (path, state) in files {
            add(&mut listing.files, path.strip_prefix(project).ok()?, state)?;
        }
        Some(listing)
    }

    /// Returns the bytes that are stored.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let [folders, files] =
            [&self.folders, &self.files].map(|records| (records.len() as u64).to_le_bytes());
        [&folders[..], &files, &self.folders, &self.files].concat()
    }

    /// Reads stored bytes; `None` if they are not those of a listing.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (length_of_folders, rest) = bytes.split_first_chunk::<8>()?;
        let (length_of_files, rest) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length_of_folders)).ok()?;
        let (folders, files) = rest.split_at_checked(length)?;
        let is_whole = |records: &[u8]| Records(records).all(|record| record.is_some());
        // Without the folder of the project itself, nothing would tell that there are new files.
        let is_valid = !folders.is_empty()
            && files.len() as u64 == u64::from_le_bytes(*length_of_files)
            && is_whole(folders)
            && is_whole(files);
        is_valid.then(|| Self { folders: folders.to_owned(), files: files.to_owned() })
    }

    /// Compares a project with the listing.
    pub(super) fn compare(&self, project: &Path) -> Difference {
        let folder = OpenFolder::new(project);
        let is_same = |path: &Path, listed: &Stamp| {
            let state = folder.state_of(path).ok().flatten();
            state.map(|state| stamp(&state) == *listed)
        };
        let folders_are_same = Records(&self.folders)
            .flatten()
            .all(|(path, listed)| is_same(&stored_path(path), &listed) == Some(true));
        if !folders_are_same {
            return Difference::Folders;
        }
        let mut changed = Vec::new();
        for (path, listed) in Records(&self.files).flatten() {
            let path = stored_path(path);
            match is_same(&path, &listed) {
                Some(true) => {}
                Some(false) if changed.len() < MOST_CHANGED => changed.push(project.join(path)),
                // It was removed a moment ago, or cannot be read.
                _ => return Difference::Folders,
            }
        }
        Difference::Files(changed)
    }
}

/// Adds a path and its state; `None` if the path is too long.
fn add(records: &mut Vec<u8>, path: &Path, state: &Stamp) -> Option<()> {
    let path = path_bytes(path);
    records.extend(u16::try_from(path.len()).ok()?.to_le_bytes());
    records.extend(path);
    for number in state {
        records.extend(number.to_le_bytes());
    }
    Some(())
}

/// Paths with their states; `None` and no more where the bytes are not those of one.
struct Records<'b>(&'b [u8]);

impl<'b> Records<'b> {
    fn record(&mut self) -> Option<(&'b [u8], Stamp)> {
        let (length, rest) = self.0.split_first_chunk::<2>()?;
        let (path, mut rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        let mut state = Stamp::default();
        for number in &mut state {
            let (bytes, others) = rest.split_first_chunk::<8>()?;
            *number = u64::from_le_bytes(*bytes);
            rest = others;
        }
        self.0 = rest;
        Some((path, state))
    }
}

impl<'b> Iterator for Records<'b> {
    type Item = Option<(&'b [u8], Stamp)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let record = self.record();
        if record.is_none() {
            self.0 = &[];
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A project with a transcript in it and one in a folder below, both listed as if they were old.
    fn listed() -> (tempfile::TempDir, Listing) {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join("below")).unwrap();
        fs::write(project.path().join("a.jsonl"), "a").unwrap();
        fs::write(project.path().join("below/b.jsonl"), "b").unwrap();
        let listing = list(project.path(), SystemTime::now() + SETTLED * 2).unwrap();
        (project, listing)
    }

    fn list(project: &Path, now: SystemTime) -> Option<Listing> {
        let state = |path: &str| {
            let path = if path.is_empty() { project.to_owned() } else { project.join(path) };
            let state = FileState::of(&path).unwrap().unwrap();
            (path, state)
        };
        let file = |path: &str| {
            let (path, state) = state(path);
            (path, stamp(&state))
        };
        let folders = [state(""), state("below")];
        Listing::new(project, &folders, &[file("a.jsonl"), file("below/b.jsonl")], now)
    }

    #[test]
    fn files_that_grow_are_told_from_folders_that_change() {
        let (project, listing) = listed();
        let project = project.path();
        assert_eq!(listing.compare(project), Difference::Files(Vec::new()));
        fs::write(project.join("below/b.jsonl"), "longer").unwrap();
        assert_eq!(listing.compare(project), Difference::Files(vec![project.join("below/b.jsonl")]));
        fs::write(project.join("below/c.jsonl"), "new").unwrap();
        assert_eq!(listing.compare(project), Difference::Folders);
    }

    #[test]
    fn files_that_are_removed_or_renamed_and_new_folders_are_noticed() {
        type Change = fn(&Path);
        let changes: [Change; 4] = [
            |project| fs::remove_file(project.join("a.jsonl")).unwrap(),
            |project| fs::rename(project.join("a.jsonl"), project.join("below/a.jsonl")).unwrap(),
            |project| fs::create_dir(project.join("other")).unwrap(),
            |project| fs::remove_dir_all(project).unwrap(),
        ];
        for change in changes {
            let (project, listing) = listed();
            change(project.path());
            assert_eq!(listing.compare(project.path()), Difference::Folders);
        }
    }

    #[test]
    fn a_folder_that_changed_a_moment_ago_is_not_listed() {
        let (project, _) = listed();
        assert_eq!(list(project.path(), SystemTime::now()), None);
        assert_eq!(list(project.path(), UNIX_EPOCH), None);
    }

    #[test]
    fn stored_bytes_are_read_again_and_damaged_ones_are_refused() {
        let (_project, listing) = listed();
        let bytes = listing.to_bytes();
        assert_eq!(Listing::parse(&bytes).as_ref(), Some(&listing));
        for end in 0..bytes.len() {
            assert_eq!(Listing::parse(&bytes[..end]), None, "{end}");
        }
        assert_eq!(Listing::parse(&[0; 16]), None);
        assert_eq!(Listing::parse(&[255; 100]), None);
    }
}
