//! Which session an argument names.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::file_state::FileState;
use annals_transcript::paths::SessionPaths;
use annals_transcript::project::is_session_id;
use annals_transcript::write::new_id;

use crate::catalog::{ArchiveFilter, ListOptions};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{Selection, TranscriptFile};
use crate::title::own_target;

/// The shortest beginning of an id that names a session.
pub(crate) const SHORTEST_PREFIX: usize = 4;

pub(crate) fn select(engine: &Engine, selector: &OsStr) -> Result<Selection, Error> {
    let mut found = Selection::default();
    // The folder with the side files of a session has its name.
    let is_id = selector.to_str().is_some_and(is_session_id);
    if Path::new(selector).is_dir() && !is_id {
        found.add_folder(Path::new(selector));
    } else {
        found.files.push(engine.session(selector)?);
    }
    Ok(found)
}

pub(crate) fn session(engine: &Engine, selector: &OsStr) -> Result<TranscriptFile, Error> {
    let path = Path::new(selector);
    if path.is_file() {
        return Ok(TranscriptFile::at(path));
    }
    let named = selector.to_str().ok_or_else(|| not_found(&selector.to_string_lossy()));
    match named.and_then(|name| session_named(engine, name)) {
        // A session comes before a folder: its side files lie in one of the same name.
        Err(error) if error.is_not_found() && path.exists() => Ok(TranscriptFile::at(path)),
        Err(error) if error.is_not_found() && looks_like_a_path(path) => {
            Err(Error::read(path, io::ErrorKind::NotFound.into()))
        }
        found => found,
    }
}

pub(crate) fn session_with_id(
    engine: &Engine,
    id: &str,
    project: Option<&Path>,
) -> Result<TranscriptFile, Error> {
    if !is_session_id(id) {
        return Err(not_found(id));
    }
    let mut paths = distinct_transcripts(engine, id);
    if let (Some(project), 2..) = (project, paths.len()) {
        prefer_project(engine, &mut paths, project);
    }
    match &paths[..] {
        [] => Err(not_found(id)),
        [path] if !engine.symlink_guard().allows(path) => {
            Err(Error::new(ErrorKind::Outside { session: id.to_owned() }))
        }
        [path] => Ok(TranscriptFile { path: path.clone(), session: Some(id.to_owned()), agent: None }),
        several => Err(Error::ambiguous(id, several.iter().map(|path| (id, path)))),
    }
}

/// Returns the transcripts of a session, each file once. They need not be readable: opening one says why.
fn distinct_transcripts(engine: &Engine, id: &str) -> Vec<PathBuf> {
    let mut paths: Vec<_> = transcripts_with_id(engine, id).collect();
    paths.retain(|path| !path.is_dir() && !matches!(FileState::of(path), Ok(None)));
    // The folder of a project may be a link to the folder of another one.
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    paths
}

/// Keeps the transcript at a path, or else those of the project at that path; all of them if there is none such.
fn prefer_project(engine: &Engine, paths: &mut Vec<PathBuf>, project: &Path) {
    if paths.iter().any(|path| path == project) {
        paths.retain(|path| path == project);
        return;
    }
    let folders = engine.folders_of(project, &mut Vec::new());
    let is_of_project =
        |path: &PathBuf| path.parent().is_some_and(|own| folders.iter().any(|one| one == own));
    if paths.iter().any(is_of_project) {
        paths.retain(is_of_project);
    }
}

pub(crate) fn session_to_change(engine: &Engine, selector: &OsStr) -> Result<TranscriptFile, Error> {
    match engine.session(selector) {
        Err(error) if error.is_not_found() && engine.finish_interrupted(&selector.to_string_lossy())? => {
            engine.session(selector)
        }
        found => found,
    }
}

pub(crate) fn session_to_record(engine: &Engine, selector: Option<&OsStr>) -> Result<String, Error> {
    let Some(selector) = selector else { return Ok(new_id()) };
    if let Some(id) = selector.to_str().filter(|id| is_session_id(id)) {
        return Ok(id.to_owned());
    }
    let file = engine.session(selector)?;
    Ok(own_target(&file)?.session_id().to_owned())
}

/// Finds a session by `latest`, its id, the beginning of its id, or its title, in this order.
fn session_named(engine: &Engine, selector: &str) -> Result<TranscriptFile, Error> {
    if selector == "latest" {
        return latest_session(engine).ok_or_else(|| not_found(selector));
    }
    let mut found = sessions_with_id(engine, selector);
    if found.is_empty() && selector.len() >= SHORTEST_PREFIX {
        found = engine.sessions();
        found.retain(|file| file.session.as_ref().is_some_and(|id| id.starts_with(selector)));
    }
    if found.is_empty() {
        found = sessions_with_title(engine, selector);
    }
    match &found[..] {
        [] => Err(not_found(selector)),
        [file] => Ok(file.clone()),
        several => {
            let candidates =
                several.iter().map(|file| (file.session.clone().unwrap_or_default(), &file.path));
            Err(Error::ambiguous(selector, candidates))
        }
    }
}

/// Returns the session that was active last. An archived session is returned only if all are archived, and a file without a
/// conversation only if no file has one.
fn latest_session(engine: &Engine) -> Option<TranscriptFile> {
    let latest = |archived, all| {
        let options = ListOptions { limit: Some(1), archived, all, ..ListOptions::default() };
        engine.list(&options).sessions.pop()
    };
    let (exclude, include) = (ArchiveFilter::Exclude, ArchiveFilter::Include);
    let row = latest(exclude, false).or_else(|| latest(include, false)).or_else(|| latest(include, true));
    row.map(|row| row.file)
}

/// Returns the transcripts of a session: there may be copies in several projects.
pub(crate) fn sessions_with_id(engine: &Engine, id: &str) -> Vec<TranscriptFile> {
    if !is_session_id(id) {
        return Vec::new();
    }
    let paths = transcripts_with_id(engine, id).filter(|path| path.is_file());
    paths.map(|path| TranscriptFile::at(&path)).collect()
}

/// Returns where a session of this id would lie in each project.
fn transcripts_with_id(engine: &Engine, id: &str) -> impl Iterator<Item = PathBuf> {
    let folders = engine.project_folders(&mut Vec::new());
    folders.into_iter().map(move |folder| SessionPaths::new(&folder, id).transcript().to_owned())
}

/// Returns the sessions with exactly this title.
fn sessions_with_title(engine: &Engine, title: &str) -> Vec<TranscriptFile> {
    let mut listing =
        engine.list(&ListOptions { title: Some(title.to_owned()), all: true, ..ListOptions::default() });
    listing.sessions.retain(|row| row.facts.title.as_ref().is_some_and(|it| it.text == title));
    listing.sessions.into_iter().map(|row| row.file).collect()
}

/// Returns whether an argument that names no file was meant as one.
fn looks_like_a_path(path: &Path) -> bool {
    let is_nested = path.as_os_str().to_string_lossy().contains(['/', '\\']);
    is_nested || path.extension().is_some_and(|extension| extension == "jsonl")
}

fn not_found(selector: &str) -> Error {
    Error::new(ErrorKind::NotFound { selector: selector.to_owned() })
}
