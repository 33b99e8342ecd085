//! Stops untrusted callers from leaving the `projects` folders through symbolic links.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::file_state::FileState;

use crate::roots::Roots;

/// The `projects` folders with all symbolic links resolved.
#[derive(Clone, Debug)]
pub struct SymlinkGuard {
    projects: Vec<PathBuf>,
    /// A cache: whether the files in a folder are inside.
    folders: HashMap<PathBuf, bool>,
}

impl SymlinkGuard {
    /// Resolves the `projects` folders of config folders.
    pub(crate) fn new(roots: &Roots) -> Self {
        let real = roots.projects().filter_map(|projects| projects.canonicalize().ok());
        Self { projects: real.collect(), folders: HashMap::new() }
    }

    /// Returns whether a path leads inside at this moment; nothing is cached.
    pub fn allows_now(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|real| self.is_inside(&real))
    }

    fn is_inside(&self, real: &Path) -> bool {
        self.projects.iter().any(|projects| real.starts_with(projects))
    }

    /// Returns whether a file that was opened by a path is inside. A file that a link led to at that moment is recognised by
    /// its identity, wherever the link leads now.
    pub fn allows_opened(&self, path: &Path, file: &File) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        let [opened, real_file] = [file.metadata(), real.symlink_metadata()]
            .map(|metadata| Some(FileState::from(metadata.ok()?).identity));
        opened == real_file && self.is_inside(&real)
    }

    /// Opens a file that is inside. Returns `None` if there is no file, or if a link leads out. Fails if the path was changed
    /// to lead to another file meanwhile; the next call opens that one.
    pub fn open(&self, path: &Path) -> io::Result<Option<(File, FileState)>> {
        // Opening a FIFO would block, so the path is examined first.
        let opened = match FileState::of(path)? {
            None => None,
            Some(_) => Some(File::open(path)?),
        };
        let state = opened.as_ref().map(File::metadata).transpose()?.map(FileState::from);
        let inside = opened.filter(|file| self.allows_opened(path, file));
        if inside.is_none()
            && FileState::of(path)?.map(|now| now.identity) != state.map(|state| state.identity)
        {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        Ok(inside.zip(state))
    }

    /// Returns whether a file is inside.
    pub fn allows(&mut self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|metadata| self.allows_file(path, metadata.is_symlink()))
    }

    /// Returns whether a file is inside, if the caller knows already whether it is a link.
    pub(crate) fn allows_file(&mut self, path: &Path, is_link: bool) -> bool {
        let Some(folder) = path.parent() else { return false };
        if is_link {
            return self.allows_now(path);
        }
        // Most sessions share their folder with others.
        if let Some(known) = self.folders.get(folder) {
            return *known;
        }
        let is_allowed = self.allows_now(folder);
        self.folders.insert(folder.to_owned(), is_allowed);
        is_allowed
    }
}
