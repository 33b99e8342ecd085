//! Which session or agent an argument names.
//!
//! A name is tried in this order, and the first way that finds something decides: `latest`, an id, the beginning of an id, a title;
//! for commands that take agents, the id of an agent or the beginning of it. Commands that only read also accept what a person
//! remembers: a title in another case, a part of a title, words of the first prompt. A command that changes a session never
//! guesses: there, the same sessions are only suggested, and the beginning of one id that is the title of another session is
//! ambiguous.

mod remembered;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use annals_transcript::file_state::FileState;
use annals_transcript::paths::SessionPaths;
use annals_transcript::project::{agent_of_transcript, is_session_id, session_of_transcript};
use annals_transcript::write::new_id;

use crate::catalog::{ArchiveFilter, ListOptions};
use crate::engine::Engine;
use crate::error::{Candidate, Error, ErrorKind};
use crate::files::{Selection, TranscriptFile, agent_paths_beside, agents_below, children, remote_agents};
use crate::labels::own_target;

/// The shortest beginning of an id that names a session.
pub(crate) const SHORTEST_PREFIX: usize = 4;

/// What a command does with the session that it names.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Read,
    Change,
}

pub(crate) fn select(engine: &Engine, selector: &OsStr) -> Result<Selection, Error> {
    let mut found = Selection::default();
    // The folder with the side files of a session has its name.
    let is_id = selector.to_str().is_some_and(is_session_id);
    if Path::new(selector).is_dir() && !is_id {
        found.add_folder(Path::new(selector));
    } else {
        found.files.push(engine.transcript(selector)?);
    }
    Ok(found)
}

pub(crate) fn session(engine: &Engine, selector: &OsStr) -> Result<TranscriptFile, Error> {
    exactly_named(engine, selector, Use::Read)
}

/// Returns the session with exactly a name.
fn exactly_named(engine: &Engine, selector: &OsStr, intent: Use) -> Result<TranscriptFile, Error> {
    find_session(engine, selector, intent).map_err(|error| explain_agent(engine, selector, error))
}

pub(crate) fn session_to_read(engine: &Engine, selector: &OsStr) -> Result<TranscriptFile, Error> {
    session(engine, selector).or_else(|error| remembered::or_remembered(engine, selector, error))
}

pub(crate) fn session_by_name(
    engine: &Engine,
    name: &str,
    mask: &dyn Fn(&str) -> String,
) -> Result<TranscriptFile, Error> {
    remembered::by_masked_name(engine, name, mask)
}

pub(crate) fn transcript(engine: &Engine, selector: &OsStr) -> Result<TranscriptFile, Error> {
    let named = session_or_agent(engine, selector);
    named.or_else(|error| remembered::or_remembered(engine, selector, error))
}

/// Returns the session or the agent with exactly a name.
fn session_or_agent(engine: &Engine, selector: &OsStr) -> Result<TranscriptFile, Error> {
    match find_session(engine, selector, Use::Read) {
        Err(error) if !error.candidates().is_empty() => {
            Err(error.or_agents(&agents_named(engine, &selector.to_string_lossy())))
        }
        Err(error) if error.is_not_found() => {
            let mut found = agents_named(engine, &selector.to_string_lossy());
            match found.len() {
                0 => Err(explain_remote_agent(engine, &selector.to_string_lossy(), error)),
                1 => Ok(found.remove(0)),
                _ => Err(Error::ambiguous_agents(&selector.to_string_lossy(), &found)),
            }
        }
        found => found,
    }
}

pub(crate) fn agent_with_id(
    engine: &Engine,
    session: &TranscriptFile,
    agent: &str,
    project: Option<&Path>,
) -> Result<TranscriptFile, Error> {
    let mut found = agents_of(session, agent);
    // Who names a transcript means no other one, even if that one is gone.
    if let Some(transcript) = project.filter(|path| agent_in(path) == Some(agent)) {
        found.retain(|file| is_same_file(&file.path, transcript));
    }
    let mut guard = engine.symlink_guard();
    let is_only_one = found.len() == 1;
    found.retain(|file| guard.allows(&file.path));
    match &found[..] {
        [] => {
            let session_id = session.session.clone().unwrap_or_default();
            if is_only_one {
                return Err(Error::new(ErrorKind::Outside { session: session_id }));
            }
            let is_remote = is_remote_agent(session, agent);
            Err(Error::new(ErrorKind::NoAgent { session: session_id, agent: agent.to_owned(), is_remote }))
        }
        [file] => Ok(file.clone()),
        several => Err(Error::ambiguous_agents(agent, several)),
    }
}

/// Finds a session by its file or its name.
fn find_session(engine: &Engine, selector: &OsStr, intent: Use) -> Result<TranscriptFile, Error> {
    let path = Path::new(selector);
    if path.is_file() {
        return Ok(TranscriptFile::at(path));
    }
    let named = selector.to_str().ok_or_else(|| not_found(&selector.to_string_lossy()));
    match named.and_then(|name| session_named(engine, name, intent)) {
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
    match (project, paths.len()) {
        // Who names a transcript means no other one, even if that one is gone.
        (Some(transcript), _) if is_session_transcript(transcript) => {
            paths.retain(|path| is_same_file(path, transcript));
        }
        (Some(project), 2..) => prefer_project(engine, &mut paths, project),
        _ => {}
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

fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Returns whether a path has the name of a session's transcript. The name of a working directory may end alike.
fn is_session_transcript(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).and_then(session_of_transcript).is_some()
}

/// Keeps the transcripts of the project at a path, or of the session whose agent has its transcript there; all of them if there
/// is none such.
fn prefer_project(engine: &Engine, paths: &mut Vec<PathBuf>, project: &Path) {
    let folders = engine.folders_of(project, &mut Vec::new());
    if paths.iter().any(|path| is_of_project(path, project, &folders)) {
        paths.retain(|path| is_of_project(path, project, &folders));
    }
}

/// Returns whether a transcript lies in one of the folders of a project, or is that of the session whose agent has its transcript at
/// `project`.
fn is_of_project(transcript: &Path, project: &Path, folders: &[PathBuf]) -> bool {
    let agents = agent_in(project).map(|agent| agents_of(&TranscriptFile::at(transcript), agent));
    transcript.parent().is_some_and(|own| folders.iter().any(|one| one == own))
        || agents.is_some_and(|agents| agents.iter().any(|agent| is_same_file(&agent.path, project)))
}

pub(crate) fn session_to_change(engine: &Engine, selector: &OsStr) -> Result<TranscriptFile, Error> {
    match find_session(engine, selector, Use::Change) {
        Err(error) if error.is_not_found() && engine.finish_interrupted(&selector.to_string_lossy())? => {
            find_session(engine, selector, Use::Change)
        }
        Err(error) => {
            let error = explain_agent(engine, selector, error);
            Err(remembered::with_nearest(engine, selector, error))
        }
        found => found,
    }
}

pub(crate) fn session_to_record(engine: &Engine, selector: Option<&OsStr>) -> Result<String, Error> {
    let Some(selector) = selector else { return Ok(new_id()) };
    if let Some(id) = selector.to_str().filter(|id| is_session_id(id)) {
        return Ok(id.to_owned());
    }
    let file = exactly_named(engine, selector, Use::Change)
        .map_err(|error| remembered::with_nearest(engine, selector, error))?;
    Ok(own_target(&file)?.session_id().to_owned())
}

/// Finds a session by `latest`, its id, the beginning of its id, or its title, in this order. A session is only changed if the
/// beginning of its id is not the title of another one: who typed it may mean either.
fn session_named(engine: &Engine, selector: &str, intent: Use) -> Result<TranscriptFile, Error> {
    if selector == "latest" {
        return latest_session(engine).ok_or_else(|| not_found(selector));
    }
    let mut found = sessions_with_id(engine, selector);
    let is_id = !found.is_empty();
    if !is_id && selector.len() >= SHORTEST_PREFIX {
        found = engine.sessions();
        found.retain(|file| file.session.as_ref().is_some_and(|id| id.starts_with(selector)));
    }
    if !is_id && (found.is_empty() || intent == Use::Change) {
        let mut titled = sessions_with_title(engine, selector);
        titled.retain(|file| found.iter().all(|other| other.path != file.path));
        found.extend(titled);
    }
    match &found[..] {
        [] => Err(not_found(selector)),
        [file] => Ok(file.clone()),
        several => Err(Error::one_of(selector, several.iter().map(|file| candidate(engine, file)).collect())),
    }
}

/// Returns a session as one of several that a name may mean.
fn candidate(engine: &Engine, file: &TranscriptFile) -> Candidate {
    let row = engine.session_row(file);
    row.map_or_else(|_| Candidate::file(file), |row| Candidate::row(&row))
}

pub(crate) fn is_session_prefix(engine: &Engine, text: &str) -> bool {
    let is_hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if text.len() < SHORTEST_PREFIX || !is_hexadecimal {
        return false;
    }
    engine.sessions().iter().any(|file| file.session.as_ref().is_some_and(|id| id.starts_with(text)))
}

/// Returns the session that was active last. An archived session is returned only if all are archived, and a file without a
/// conversation only if no file has one.
fn latest_session(engine: &Engine) -> Option<TranscriptFile> {
    let (exclude, include) = (ArchiveFilter::Exclude, ArchiveFilter::Include);
    [(exclude, false), (include, false), (include, true)].into_iter().find_map(|(archived, all)| {
        let options = ListOptions { limit: Some(1), archived, all, ..ListOptions::default() };
        Some(engine.list(&options).sessions.pop()?.file)
    })
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

/// Returns the agents of a session with exactly this id. Several groups of agents may each have one.
fn agents_of(session: &TranscriptFile, agent: &str) -> Vec<TranscriptFile> {
    let mut paths = agents_below(&session.path);
    paths.extend(session.path.parent().map(agent_paths_beside).unwrap_or_default());
    paths.retain(|path| agent_in(path) == Some(agent));
    paths.sort();
    let files = paths.iter().map(|path| TranscriptFile::at(path));
    files.filter(|file| file.session.is_some() && file.session == session.session).collect()
}

/// Returns the agents of all sessions that a text names: with exactly this id, or else with an id that begins with it.
fn agents_named(engine: &Engine, selector: &str) -> Vec<TranscriptFile> {
    let id = selector.strip_prefix("agent-").unwrap_or(selector);
    let mut paths: Vec<_> =
        engine.project_folders(&mut Vec::new()).iter().flat_map(|project| agent_paths(project)).collect();
    paths.retain(|path| agent_in(path).is_some_and(|agent| agent.starts_with(id)));
    if paths.iter().any(|path| agent_in(path) == Some(id)) {
        paths.retain(|path| agent_in(path) == Some(id));
    } else if id.len() < SHORTEST_PREFIX {
        paths.clear();
    }
    paths.sort();
    paths.iter().map(|path| TranscriptFile::at(path)).collect()
}

/// Returns the transcripts of all agents of a project, by their names alone.
fn agent_paths(project: &Path) -> Vec<PathBuf> {
    // The folder of a session is called like its transcript.
    let mut folders = children(project).unwrap_or_default();
    folders.retain(|folder| folder.file_name().and_then(OsStr::to_str).is_some_and(is_session_id));
    let mut paths: Vec<_> =
        folders.iter().flat_map(|folder| agents_below(&folder.with_extension("jsonl"))).collect();
    paths.extend(agent_paths_beside(project));
    paths
}

/// Returns the agent that a path names.
fn agent_in(path: &Path) -> Option<&str> {
    agent_of_transcript(path.file_name()?.to_str()?)
}

/// Says that an argument names an agent, if no session was found and an agent was.
fn explain_agent(engine: &Engine, selector: &OsStr, error: Error) -> Error {
    if !error.is_not_found() {
        return error;
    }
    match agents_named(engine, &selector.to_string_lossy()).first() {
        Some(file) => Error::new(ErrorKind::IsAgent {
            agent: file.agent.clone().unwrap_or_default(),
            session: file.session.clone().unwrap_or_default(),
        }),
        None => error,
    }
}

/// Says that an argument names an agent on another machine, if it does: `agents` lists it, but its transcript is not here.
fn explain_remote_agent(engine: &Engine, agent: &str, error: Error) -> Error {
    match engine.sessions().into_iter().find(|session| is_remote_agent(session, agent)) {
        Some(file) => Error::new(ErrorKind::NoAgent {
            session: file.session.unwrap_or_default(),
            agent: agent.to_owned(),
            is_remote: true,
        }),
        None => error,
    }
}

/// Returns whether a session has metadata of an agent on another machine with this id.
fn is_remote_agent(session: &TranscriptFile, agent: &str) -> bool {
    remote_agents(session).iter().any(|(id, _)| id == agent)
}

/// Returns whether an argument that names no file was meant as one.
fn looks_like_a_path(path: &Path) -> bool {
    let is_nested = path.as_os_str().to_string_lossy().contains(['/', '\\']);
    is_nested || path.extension().is_some_and(|extension| extension == "jsonl")
}

fn not_found(selector: &str) -> Error {
    Error::new(ErrorKind::NotFound { selector: selector.to_owned(), nearest: Vec::new() })
}
