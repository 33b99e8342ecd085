//! Finds all transcripts with one look at each: their names say what they are, and nothing is opened.

use std::collections::HashSet;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::file_state::FileState;
use annals_transcript::paths::SessionPaths;
use annals_transcript::project::{agent_of_transcript, is_session_id, session_of_transcript};
use rayon::prelude::*;

use crate::engine::Engine;
use crate::error::Error;

/// A transcript on disk.
#[derive(Debug)]
pub(super) struct DiskTranscript {
    pub(super) path: PathBuf,
    #[cfg_attr(
        not(feature = "catalog"),
        expect(dead_code, reason = "only what is stored is compared with it")
    )]
    pub(super) state: FileState,
    /// The session that the path names; old subagents have none.
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    is_link: bool,
}

/// The transcripts of the config folders.
#[derive(Debug, Default)]
pub(super) struct Transcripts {
    pub(super) found: Vec<DiskTranscript>,
    /// The paths of those that links lead to from outside, which are left out.
    pub(super) outside: HashSet<PathBuf>,
    /// What could not be read.
    pub(super) errors: Vec<Error>,
}

/// Returns the transcripts in the config folders. If it is to stay inside of them, no link that leads out of them is followed.
pub(super) fn transcripts(engine: &Engine, is_inside: bool) -> Transcripts {
    let mut all = walk_all(engine);
    if is_inside {
        let mut guard = engine.symlink_guard();
        let (inside, outside) =
            all.found.into_iter().partition(|found| guard.allows_file(&found.path, found.is_link));
        all.found = inside;
        let outside: Vec<DiskTranscript> = outside;
        all.outside = outside.into_iter().map(|found| found.path).collect();
    }
    all
}

fn walk_all(engine: &Engine) -> Transcripts {
    let mut errors = Vec::new();
    let folders = engine.project_folders(&mut errors);
    let read: Vec<_> = folders.par_iter().map(|folder| Walk::over(folder)).collect();
    let mut found = Vec::new();
    for walk in read {
        found.extend(walk.found);
        errors.extend(walk.errors);
    }
    Transcripts { found, errors, outside: HashSet::new() }
}

#[derive(Default)]
struct Walk {
    found: Vec<DiskTranscript>,
    errors: Vec<Error>,
}

impl Walk {
    fn over(project: &Path) -> Self {
        let mut walk = Self::default();
        for (entry, name) in walk.entries(project) {
            if let Some(session) = session_of_transcript(&name) {
                walk.add(&entry, Some(session), None);
            } else if let Some(agent) = agent_of_transcript(&name) {
                walk.add(&entry, None, Some(agent));
            } else if is_session_id(&name) {
                walk.add_agents(&SessionPaths::new(project, &name).subagents(), &name);
            }
        }
        walk
    }

    /// Adds the transcripts of a session's subagents, which may be in folders of their own.
    fn add_agents(&mut self, folder: &Path, session: &str) {
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for (entry, name) in self.entries(&folder) {
                if let Some(agent) = agent_of_transcript(&name) {
                    self.add(&entry, Some(session), Some(agent));
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                }
            }
        }
    }

    /// Adds a regular file; a link is followed.
    fn add(&mut self, entry: &DirEntry, session: Option<&str>, agent: Option<&str>) {
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        match metadata(entry, &path, is_link) {
            Ok(metadata) if metadata.is_file() => self.found.push(DiskTranscript {
                state: metadata.into(),
                session: session.map(str::to_owned),
                agent: agent.map(str::to_owned),
                is_link,
                path,
            }),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.errors.push(Error::read(&path, error));
            }
            _ => {}
        }
    }

    /// Returns the entries of a folder whose names are text; none if there is no folder. Other names are not those of transcripts.
    fn entries(&mut self, folder: &Path) -> Vec<(DirEntry, String)> {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.unwrap_or_else(|error| {
            if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
                self.errors.push(Error::read(folder, error));
            }
            Vec::new()
        });
        entries
            .into_iter()
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)))
            .map(|(name, entry)| (entry, name))
            .collect()
    }
}

/// Returns the metadata of what an entry of a folder leads to. On Unix, the folder is still open, which saves looking up its path; Windows
/// may report an earlier length that way.
fn metadata(entry: &DirEntry, path: &Path, is_link: bool) -> io::Result<Metadata> {
    if cfg!(unix) && !is_link { entry.metadata() } else { fs::metadata(path) }
}
