//! Which sessions Claude Code has open, by its registry of running processes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::files::children;
use crate::live::{ProcessFile, read_record};

/// The sessions that were open when the registry was last read.
#[derive(Debug)]
pub(super) struct RegisteredSessions {
    /// The folders `sessions` of the config folders, whether they exist or not.
    folders: Vec<PathBuf>,
    /// The session of each record whose process runs.
    by_record: BTreeMap<PathBuf, String>,
}

/// The sessions that were opened and closed since the registry was read before.
#[derive(Debug, Default)]
pub(super) struct OpenChanges {
    pub(super) opened: Vec<String>,
    pub(super) closed: Vec<String>,
}

impl RegisteredSessions {
    pub(super) fn read(folders: Vec<PathBuf>) -> Self {
        let mut open = Self { folders, by_record: BTreeMap::new() };
        open.check();
        open
    }

    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_record.is_empty()
    }

    pub(super) fn contains(&self, session: &str) -> bool {
        self.by_record.values().any(|open| open == session)
    }

    /// Reads the registry again. A session is closed when no process that runs has a record of it. What a record says that
    /// cannot be read now, because it is being written, has not changed.
    pub(super) fn check(&mut self) -> OpenChanges {
        let by_record = self.folders.iter().flat_map(|folder| self.read_folder(folder)).collect();
        let before = std::mem::replace(&mut self.by_record, by_record);
        let [before, now] =
            [&before, &self.by_record].map(|records| records.values().cloned().collect::<BTreeSet<_>>());
        OpenChanges {
            opened: now.difference(&before).cloned().collect(),
            closed: before.difference(&now).cloned().collect(),
        }
    }

    /// Returns the records in a folder whose processes run, with the session of each.
    fn read_folder(&self, folder: &Path) -> Vec<(PathBuf, String)> {
        let Ok(paths) = children(folder) else {
            let known = self.by_record.iter().filter(|(path, _)| path.parent() == Some(folder));
            return known.map(|(path, session)| (path.clone(), session.clone())).collect();
        };
        let records = paths.into_iter().filter_map(|path| {
            let session = match read_record(&path) {
                Ok(record) => record.filter(ProcessFile::is_running)?.session,
                Err(_) => self.by_record.get(&path)?.clone(),
            };
            Some((path, session))
        });
        records.collect()
    }
}
