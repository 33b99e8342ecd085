//! The folder of a project: which files in it are sessions, decided by their names and metadata alone (LISTS 6.1).

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::file_state::FileState;
use annals_transcript::project::{is_agent_transcript, is_session_id, session_of_transcript};
use jiff::{SignedDuration, Timestamp};
use rayon::prelude::*;

use crate::error::Error;
use crate::files::TranscriptFile;

/// The transcripts in the folder of a project.
#[derive(Debug, Default)]
pub(super) struct Folder {
    /// Transcripts of sessions.
    sessions: Vec<FoundTranscript>,
    /// Transcripts of subagents beside them, where old versions of Claude Code put them.
    agents: Vec<FoundTranscript>,
    /// Why the rest could not be read.
    error: Option<io::Error>,
}

/// A transcript that may be listed.
#[derive(Clone, Debug)]
pub(super) struct FoundTranscript {
    pub(super) path: PathBuf,
    pub(super) state: FileState,
    /// Whether it has a folder of its own, with subagents and side files.
    pub(super) has_folder: bool,
    /// Whether the file is a link to another one.
    pub(super) is_link: bool,
}

impl Folder {
    /// Reads folders on all cores: returns the sessions in them, and the subagents beside those by folder.
    pub(super) fn read_all(
        paths: &[PathBuf],
        errors: &mut Vec<Error>,
    ) -> (Vec<FoundTranscript>, HashMap<PathBuf, Vec<FoundTranscript>>) {
        let (mut sessions, mut agents) = (Vec::new(), HashMap::new());
        let read: Vec<_> = paths.par_iter().map(|path| Self::read(path)).collect();
        for (path, folder) in paths.iter().zip(read) {
            sessions.extend(folder.sessions);
            if !folder.agents.is_empty() {
                agents.insert(path.clone(), folder.agents);
            }
            errors.extend(folder.error.map(|source| Error::read(path, source)));
        }
        (sessions, agents)
    }

    /// Returns the subagents beside sessions in a folder, as far as it can be read.
    pub(super) fn agents_in(path: &Path) -> (PathBuf, Vec<FoundTranscript>) {
        (path.to_owned(), Self::read(path).agents)
    }

    /// Returns the ids of the sessions in a folder, as far as it can be read.
    pub(super) fn session_ids(path: &Path) -> Vec<String> {
        let names = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter_map(|name| session_of_transcript(name.to_str()?).map(str::to_owned)).collect()
    }

    fn read(path: &Path) -> Self {
        match fs::read_dir(path) {
            Ok(entries) => Self::of(entries),
            Err(error) => Self { error: Some(error), ..Self::default() },
        }
    }

    /// Takes the transcripts from the entries of a folder, up to the first error.
    fn of(entries: impl Iterator<Item = io::Result<DirEntry>>) -> Self {
        let mut found = Self::default();
        let mut folders = HashSet::new();
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    found.error = Some(error);
                    break;
                }
            };
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if session_of_transcript(name).is_some() {
                found.sessions.extend(FoundTranscript::at(&entry));
            } else if is_agent_transcript(name) {
                found.agents.extend(FoundTranscript::at(&entry));
            } else if is_session_id(name) {
                folders.insert(name.to_owned());
            }
        }
        // The store is filled fastest in the order of its key.
        found.sessions.sort_unstable_by(|one, other| one.path.as_os_str().cmp(other.path.as_os_str()));
        for session in &mut found.sessions {
            session.has_folder =
                session.path.file_stem().is_some_and(|id| id.to_str().is_some_and(|id| folders.contains(id)));
        }
        found
    }
}

impl FoundTranscript {
    /// Describes the transcript at a path. Returns `None` if there is no file.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let state = FileState::of(path).ok().flatten()?;
        Some(Self { path: path.to_owned(), state, has_folder: false, is_link: path.is_symlink() })
    }

    /// Describes the file of a folder's entry. Returns `None` if it is gone or is a FIFO, socket or device, which could block
    /// on open. A folder, a dangling link and a file without readable metadata are kept: the error of reading them is
    /// reported.
    fn at(entry: &DirEntry) -> Option<Self> {
        let path = entry.path();
        let itself = entry.metadata();
        let is_link = itself.as_ref().is_ok_and(fs::Metadata::is_symlink);
        let metadata = match itself {
            Ok(_) if is_link => fs::metadata(&path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            itself => itself,
        };
        let state = match metadata {
            Ok(metadata) if metadata.is_file() || metadata.is_dir() => metadata.into(),
            Ok(_) => return None,
            Err(_) => FileState { length: 0, modified: None, identity: (0, 0) },
        };
        Some(Self { path, state, has_folder: false, is_link })
    }

    pub(super) fn into_transcript(self) -> TranscriptFile {
        let session = self.path.file_stem().map(|id| id.to_string_lossy().into_owned());
        TranscriptFile { path: self.path, session, agent: None }
    }

    /// Returns whether it is the transcript of a subagent.
    pub(super) fn is_agent(&self) -> bool {
        self.path.file_name().and_then(OsStr::to_str).is_some_and(is_agent_transcript)
    }

    /// Returns the latest time that an entry of the file can have. Some file systems and archives round times to two
    /// seconds (LISTS 6.4).
    pub(super) fn latest(&self) -> Option<Timestamp> {
        let written = Timestamp::try_from(self.state.modified?).ok()?;
        Some(written.saturating_add(SignedDuration::from_secs(2)).unwrap_or(written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_the_id_of_an_agent_is_no_transcript() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["agent-.jsonl", "agent-a1.jsonl", "agent-a1.meta.json", "notes.jsonl"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = Folder::read(folder.path());
        assert_eq!(found.agents.len(), 1);
        assert!(found.agents[0].path.ends_with("agent-a1.jsonl") && found.agents[0].is_agent());
        assert!(found.sessions.is_empty());
    }

    #[test]
    fn a_folder_that_breaks_off_while_it_is_read_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let session = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl";
        fs::write(folder.path().join(session), "").unwrap();
        let whole = Folder::read(folder.path());
        assert_eq!((whole.sessions.len(), whole.error.is_none()), (1, true));
        let breaks_off =
            || fs::read_dir(folder.path()).unwrap().chain([Err(io::Error::other("the disk failed"))]);
        let read = Folder::of(breaks_off());
        assert_eq!(read.sessions.len(), 1);
        assert_eq!(read.error.unwrap().to_string(), "the disk failed");
        let mut errors = Vec::new();
        let gone = folder.path().join("gone");
        Folder::read_all(&[folder.path().to_owned(), gone], &mut errors);
        assert_eq!(errors.len(), 1);
    }
}
