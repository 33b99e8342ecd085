//! Who else writes to a session right now.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use annals_transcript::json::Value;
use annals_transcript::project::resolve;
use annals_transcript::write::fs::State;
use sysinfo::{Pid, ProcessesToUpdate, System};

use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::TranscriptFile;

/// A file that did not grow for so long is taken to be at rest.
const QUIET: Duration = Duration::from_secs(2);

/// By how many seconds the clock may have been set back since a process was started. A number that went to another
/// process goes to one that is younger by more.
const LEEWAY: u64 = 60;

/// Somebody who writes to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveWriter {
    /// A client that has the session open.
    Client {
        /// Its process.
        pid: u32,
    },
    /// Somebody who made the file grow a moment ago.
    Unknown,
}

impl std::fmt::Display for LiveWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LiveWriter::Client { pid } => write!(f, "the client has it open (process {pid})"),
            LiveWriter::Unknown => write!(f, "it is growing"),
        }
    }
}

impl Engine {
    /// Returns the client that has a session open, by the client's own registry of processes that run.
    pub fn live_client(&self, file: &TranscriptFile) -> Option<LiveWriter> {
        let session = file.session.as_deref()?;
        let mut live =
            notes_in(&root_of(&file.path)?).filter(|note| note.session == session && is_running(note));
        live.next().map(|note| LiveWriter::Client { pid: note.pid })
    }

    /// Returns the sessions that a client has open.
    pub fn live_sessions(&self) -> HashSet<String> {
        let notes = self.roots().paths().flat_map(notes_in);
        notes.filter(is_running).map(|note| note.session).collect()
    }

    /// Returns who writes to a session: a client that has it open, or anybody who makes it grow. If it was written a
    /// moment ago, this waits to see whether more comes.
    pub fn live_writer(&self, file: &TranscriptFile) -> Result<Option<LiveWriter>, Error> {
        if let Some(client) = self.live_client(file) {
            return Ok(Some(client));
        }
        let grows = is_growing(&file.path).map_err(|source| Error::read(&file.path, source))?;
        Ok(grows.then_some(LiveWriter::Unknown))
    }

    /// Makes sure that nobody writes to a session, unless the caller does not care.
    pub(crate) fn ensure_at_rest(&self, file: &TranscriptFile, force: bool) -> Result<(), Error> {
        match if force { None } else { self.live_writer(file)? } {
            Some(writer) => Err(Error::new(ErrorKind::Live { path: file.path.clone(), writer })),
            None => Ok(()),
        }
    }
}

/// Returns the client's folder that a transcript lies in, by the path given or by the one that links lead to.
pub(crate) fn root_of(transcript: &Path) -> Option<PathBuf> {
    let is_projects = |folder: &&Path| folder.file_name().is_some_and(|name| name == "projects");
    let root = |path: PathBuf| Some(path.ancestors().find(is_projects)?.parent()?.to_owned());
    std::path::absolute(transcript).ok().and_then(root).or_else(|| root(resolve(transcript)))
}

/// What the client notes about a process of its own: `sessions/<pid>.json`.
struct Note {
    session: String,
    pid: u32,
    /// When it was written, in seconds since 1970.
    started: Option<u64>,
}

/// Returns what the clients of a folder note.
fn notes_in(root: &Path) -> impl Iterator<Item = Note> + use<> {
    let entries = fs::read_dir(root.join("sessions")).into_iter().flatten().flatten();
    entries.filter_map(|entry| note(&entry.path()))
}

fn note(path: &Path) -> Option<Note> {
    let is_small = fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20);
    if !is_small || path.extension()? != "json" {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    let value = Value::new(&bytes)?;
    let named = || path.file_stem()?.to_str()?.parse().ok();
    Some(Note {
        session: value.text("sessionId")?.into_owned(),
        pid: value.number("pid").or_else(named)?.try_into().ok()?,
        started: value.number("startedAt").map(|ms| ms / 1000),
    })
}

/// Returns whether the process is still the one that wrote the note: a number may have gone to another since.
fn is_running(note: &Note) -> bool {
    let pid = Pid::from_u32(note.pid);
    let mut system = System::new();
    system.refresh_processes(ProcessesToUpdate::Some(&[pid]), true);
    system.process(pid).is_some_and(|process| {
        note.started.is_none_or(|noted| process.start_time() <= noted.saturating_add(LEEWAY))
    })
}

fn is_growing(path: &Path) -> io::Result<bool> {
    let Some(before) = State::of(path)? else { return Ok(false) };
    let age =
        before.modified.and_then(|time| SystemTime::now().duration_since(time).ok()).unwrap_or_default();
    let Some(left) = QUIET.checked_sub(age) else { return Ok(false) };
    thread::sleep(left);
    Ok(State::of(path)? != Some(before))
}
