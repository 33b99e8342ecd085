//! Which sessions belong to a working directory, decided one by one as they change.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{ProjectFilter, SessionRow};
use crate::engine::Engine;
use crate::trash::TrashEntry;

/// A working directory. It includes the sessions that a list with [`project`](super::ListOptions::project) shows.
#[derive(Debug)]
pub struct Workspace {
    engine: Engine,
    path: PathBuf,
    filter: ProjectFilter,
    /// The folders that may hold its sessions.
    folders: HashSet<PathBuf>,
    /// Folders that do not.
    others: HashSet<PathBuf>,
}

pub(crate) fn workspace(engine: &Engine, path: &Path) -> Workspace {
    let folders = engine.folders_of(path, &mut Vec::new()).into_iter().collect();
    Workspace {
        engine: engine.clone(),
        path: path.to_owned(),
        filter: ProjectFilter::new(path),
        folders,
        others: HashSet::new(),
    }
}

impl Workspace {
    /// Returns whether a session belongs to it.
    pub fn includes(&mut self, row: &SessionRow) -> bool {
        self.includes_at(&row.file.path, row.facts.cwd.as_deref())
    }

    /// Returns whether a deleted session belongs to it.
    pub fn includes_trashed(&mut self, entry: &TrashEntry) -> bool {
        let project = entry.project.as_ref().map(|path| path.to_string_lossy().into_owned());
        self.includes_at(&entry.transcript, project.as_deref())
    }

    fn includes_at(&mut self, transcript: &Path, cwd: Option<&str>) -> bool {
        let Some(folder) = transcript.parent() else { return false };
        let key = folder.file_name().unwrap_or_default().to_string_lossy();
        self.has_folder(folder, cwd) && self.filter.includes_cwd(cwd, &key)
    }

    /// Returns whether a folder may hold sessions of it. Folders are searched again for one that is new, and for one that was
    /// ruled out and has a session which names the directory.
    fn has_folder(&mut self, folder: &Path, cwd: Option<&str>) -> bool {
        let names_it = cwd.is_some_and(|cwd| self.filter.matches(cwd));
        if !self.folders.contains(folder) && (names_it || !self.others.contains(folder)) {
            self.folders = self.engine.folders_of(&self.path, &mut Vec::new()).into_iter().collect();
            self.others.insert(folder.to_owned());
        }
        self.folders.contains(folder)
    }
}
