//! The two small files beside a transcript that lists read: the title that the user gave, and the mark of the archive.

use std::fs;
use std::path::{Path, PathBuf};

use annals_transcript::json::Value;
use annals_transcript::paths::SessionPaths;
use annals_transcript::project::Role;

use crate::catalog::{is_archived, title_beside};
use crate::files::role_below;

/// What the files beside a transcript say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SideFiles {
    pub(super) title: Option<String>,
    pub(super) is_archived: bool,
}

impl SideFiles {
    /// Reads the files beside a transcript. Returns `None` while one of them is being written.
    pub(super) fn read(transcript: &Path) -> Option<Self> {
        let paths = SessionPaths::of(transcript);
        if is_incomplete(&paths.custom_title()) || is_incomplete(&paths.archived()) {
            return None;
        }
        Some(Self { title: title_beside(transcript), is_archived: is_archived(transcript) })
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether something is missing that was there before.
    pub(super) fn lacks(&self, before: &Self) -> bool {
        (before.title.is_some() && self.title.is_none()) || (before.is_archived && !self.is_archived)
    }
}

/// Returns whether a small file exists and is not whole JSON.
fn is_incomplete(path: &Path) -> bool {
    let is_small = fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20);
    is_small && fs::read(path).is_ok_and(|bytes| !Value::new(&bytes).is_some_and(Value::is_valid))
}

/// Returns the transcript that a file below a `projects` folder describes; `None` if it is another file.
pub(super) fn described_transcript(projects: &Path, path: &Path) -> Option<PathBuf> {
    match role_below(projects, path) {
        Role::CustomTitle { session } | Role::Archived { session } => {
            let project = path.parent()?.parent()?;
            Some(SessionPaths::new(project, &session).transcript().to_owned())
        }
        _ => None,
    }
}
