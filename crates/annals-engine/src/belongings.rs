//! The files on disk that belong to a session.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use annals_transcript::paths::{ConfigFolder, SessionPaths, agent_meta};
use annals_transcript::project::resolve;

use crate::error::Error;
use crate::files::{Selection, TranscriptFile, children, project_folders};
use crate::labels::own_target;

/// A file or folder that belongs to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belonging {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes, including everything in a folder.
    pub size: u64,
}

pub(crate) fn belongings(file: &TranscriptFile) -> Result<Vec<Belonging>, Error> {
    let transcript = own_target(file)?.path();
    let session = file.session.as_deref().unwrap_or_default();
    let mut paths = vec![SessionPaths::of(&transcript).folder()];
    let mut agents = Selection::default();
    agents.add_subagents(file);
    // Old versions of Claude Code wrote subagents beside the session; later ones write them to its folder.
    let beside =
        agents.files.into_iter().map(|agent| agent.path).filter(|path| path.parent() == transcript.parent());
    paths.extend(beside.flat_map(|path| [agent_meta(&path), path]));
    let config = ConfigFolder::of_transcript(&transcript);
    if let Some(config) = config.filter(|config| !has_copy(config, &transcript)) {
        paths.extend(config.files_of(session));
    }
    paths.push(transcript);
    paths.retain(|path| path.symlink_metadata().is_ok());
    Ok(paths.into_iter().map(|path| Belonging { size: size(&path), path }).collect())
}

/// Returns whether another project of a config folder has a transcript of the same session.
fn has_copy(config: &ConfigFolder, transcript: &Path) -> bool {
    let (Some(name), Some(folder)) = (transcript.file_name(), transcript.parent()) else { return false };
    // The transcript may itself be a link to a transcript in another project, which then counts as a copy.
    let own = resolve(folder).join(name);
    let folders = project_folders(&config.projects()).unwrap_or_default();
    folders.iter().any(|folder| is_other_file(folder, name, &own))
}

/// Returns whether a folder has a file of this name that is not the file at `own`, under whatever path.
fn is_other_file(folder: &Path, name: &OsStr, own: &Path) -> bool {
    let path = folder.join(name);
    path.is_file() && resolve(folder).join(name) != own && resolve(&path) != own
}

/// Returns the size of a file, or of everything in a folder, in bytes.
pub(crate) fn size(path: &Path) -> u64 {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {
            children(path).unwrap_or_default().iter().map(|child| size(child)).sum()
        }
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}
