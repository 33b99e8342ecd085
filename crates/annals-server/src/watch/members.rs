//! The sessions of a working directory that is watched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use annals_engine::{Engine, ListOptions, SessionRow, TrashEntry, Workspace};

/// The sessions that belong to a working directory, as far as its subscriber knows. So a session that leaves it, or whose
/// transcript is gone, is reported to those subscribers alone that have it.
#[derive(Debug)]
pub(super) struct Members {
    workspace: Workspace,
    transcripts: BTreeSet<PathBuf>,
}

/// What a change of a session is for the working directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Membership {
    /// It belongs to the directory and did not before.
    Joined,
    Member,
    /// It belonged to the directory and does not any more.
    Left,
    Stranger,
}

impl Members {
    /// Lists the sessions of a working directory.
    pub(super) fn list(engine: &Engine, path: &Path) -> Self {
        let project = Some(path.to_owned());
        let listing = engine.list(&ListOptions { project, inside: true, ..ListOptions::default() });
        let paths = listing.sessions.into_iter().map(|row| row.file.path);
        let transcripts = paths.map(|path| std::path::absolute(&path).unwrap_or(path)).collect();
        Self { workspace: engine.workspace(path), transcripts }
    }

    /// Takes note of a session that is new or has changed.
    pub(super) fn note(&mut self, row: &SessionRow) -> Membership {
        let path = &row.file.path;
        match (self.workspace.includes(row), self.transcripts.contains(path)) {
            (true, true) => Membership::Member,
            (true, false) => {
                self.transcripts.insert(path.clone());
                Membership::Joined
            }
            (false, true) => {
                self.transcripts.remove(path);
                Membership::Left
            }
            (false, false) => Membership::Stranger,
        }
    }

    pub(super) fn includes(&mut self, row: &SessionRow) -> bool {
        self.workspace.includes(row)
    }

    /// Forgets a transcript that is gone; returns whether it belonged to the directory.
    pub(super) fn forget(&mut self, path: &Path) -> bool {
        self.transcripts.remove(path)
    }

    pub(super) fn includes_trashed(&mut self, entry: &TrashEntry) -> bool {
        self.workspace.includes_trashed(entry)
    }
}
