//! Who else writes to a session right now.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use annals_transcript::file_state::FileState;
use annals_transcript::json::Value;
use annals_transcript::paths::ConfigFolder;
use sysinfo::{Pid, ProcessesToUpdate, System};

use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::TranscriptFile;

/// A file that did not grow for so long is taken to be at rest.
const QUIET: Duration = Duration::from_secs(2);

/// By how many seconds the clock may have been set back since a process was started. A number that went to another
/// process goes to one that is younger by more.
const LEEWAY: u64 = 60;

/// Whether somebody writes to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Nobody, as far as can be seen.
    NotLive,
    /// Somebody does.
    Live(LiveWriter),
    /// What would tell cannot be seen.
    Unknown(UnknownReason),
}

/// Somebody who writes to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiveWriter {
    /// A client that has the session open.
    ClaudeCode {
        /// Its process.
        pid: u32,
    },
    /// Somebody who made the file grow a moment ago.
    Unknown,
}

/// Why it cannot be told whether a client has a session open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownReason {
    /// The client's registry of its processes, or a file in it, cannot be read.
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The process that has noted the session is not seen from the PID namespace (the container) that annals runs in.
    AnotherNamespace {
        /// The process, by its number in its own namespace.
        pid: u32,
    },
}

impl fmt::Display for LiveWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiveWriter::ClaudeCode { pid } => write!(f, "Claude Code has it open (process {pid})"),
            LiveWriter::Unknown => write!(f, "it is growing"),
        }
    }
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it cannot be told whether Claude Code has it open: ")?;
        match self {
            UnknownReason::Unreadable { path, reason } => {
                write!(f, "cannot read {}: {reason}", path.display())
            }
            UnknownReason::AnotherNamespace { pid } => {
                write!(f, "process {pid} opened it and is not seen from the container that annals runs in")
            }
        }
    }
}

/// Which processes annals can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessView {
    /// Whether annals sees all processes of the machine, and by the numbers that all others see.
    pub is_whole_machine: bool,
    /// When the machine was started, in seconds since 1970.
    pub boot_time: u64,
}

impl ProcessView {
    /// The number that Linux gives to the first PID namespace, in which the machine was started (`PROC_PID_INIT_INO`).
    const FIRST_NAMESPACE: &str = "pid:[4026531836]";

    /// Looks at the machine.
    pub fn of_machine() -> Self {
        let namespace = fs::read_link("/proc/self/ns/pid").ok();
        let is_first = namespace.is_some_and(|name| name.as_os_str() == Self::FIRST_NAMESPACE);
        Self { is_whole_machine: is_first || !cfg!(target_os = "linux"), boot_time: System::boot_time() }
    }
}

pub(crate) fn registered_writer(engine: &Engine, file: &TranscriptFile) -> Option<LiveWriter> {
    match engine.registered(file) {
        Liveness::Live(writer) => Some(writer),
        Liveness::NotLive | Liveness::Unknown(_) => None,
    }
}

pub(crate) fn live_sessions(engine: &Engine) -> HashSet<String> {
    let records = engine.roots().paths().flat_map(process_records).filter_map(Result::ok);
    records.filter(is_running).map(|record| record.session).collect()
}

pub(crate) fn liveness(engine: &Engine, file: &TranscriptFile) -> Result<Liveness, Error> {
    match engine.registered(file) {
        Liveness::NotLive => {}
        known => return Ok(known),
    }
    let grows = is_growing(&file.path).map_err(|source| Error::read(&file.path, source))?;
    Ok(if grows { Liveness::Live(LiveWriter::Unknown) } else { Liveness::NotLive })
}

impl Engine {
    /// Makes sure that nobody writes to a session, unless the caller does not care.
    pub(crate) fn ensure_not_live(&self, file: &TranscriptFile, force: bool) -> Result<(), Error> {
        let path = file.path.clone();
        match if force { Liveness::NotLive } else { self.liveness(file)? } {
            Liveness::NotLive => Ok(()),
            Liveness::Live(writer) => Err(Error::new(ErrorKind::Live { path, writer })),
            Liveness::Unknown(reason) => Err(Error::new(ErrorKind::LivenessUnknown { path, reason })),
        }
    }

    /// Returns what the client's registry tells about a session.
    fn registered(&self, file: &TranscriptFile) -> Liveness {
        let (Some(session), Some(root)) = (file.session.as_deref(), ConfigFolder::of_transcript(&file.path))
        else {
            return Liveness::NotLive;
        };
        let mut doubt = None;
        for record in process_records(root.root()) {
            match record {
                Ok(record) if record.session != session => {}
                Ok(record) if is_running(&record) => {
                    return Liveness::Live(LiveWriter::ClaudeCode { pid: record.pid });
                }
                Ok(record) if record.may_be_elsewhere(self.processes()) => {
                    doubt = Some(UnknownReason::AnotherNamespace { pid: record.pid });
                }
                Ok(_) => {}
                Err(unreadable) => doubt = Some(unreadable),
            }
        }
        doubt.map_or(Liveness::NotLive, Liveness::Unknown)
    }
}

/// What the client notes about a process of its own: `sessions/<pid>.json`.
#[derive(Debug)]
struct ProcessRecord {
    session: String,
    pid: u32,
    /// When it was written, in seconds since 1970.
    started: Option<u64>,
    /// When the file was last changed.
    modified: Option<u64>,
}

impl ProcessRecord {
    /// Returns whether a process that is not found may run all the same, where annals cannot see it: not if the machine
    /// was started since.
    fn may_be_elsewhere(&self, processes: ProcessView) -> bool {
        let noted = self.started.or(self.modified);
        !processes.is_whole_machine && noted.is_none_or(|noted| noted >= processes.boot_time)
    }
}

/// Returns what the clients of a folder note, and what of it cannot be read. A folder that is not there has no notes.
fn process_records(root: &Path) -> Vec<Result<ProcessRecord, UnknownReason>> {
    let folder = ConfigFolder::new(root).running();
    match fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => entries.iter().filter_map(|entry| read_record(&entry.path()).transpose()).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => vec![Err(unreadable(&folder, &error))],
    }
}

fn unreadable(path: &Path, error: &io::Error) -> UnknownReason {
    let reason = match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    UnknownReason::Unreadable { path: path.to_owned(), reason }
}

/// Reads a note; none if the file is something else, or gone meanwhile.
fn read_record(path: &Path) -> Result<Option<ProcessRecord>, UnknownReason> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Ok(None);
    }
    let read = || {
        let metadata = fs::metadata(path)?;
        let is_small = metadata.is_file() && metadata.len() < 1 << 20;
        Ok((if is_small { fs::read(path)? } else { Vec::new() }, metadata.modified().ok()))
    };
    let (bytes, modified) = match read() {
        Err(error) if io::Error::kind(&error) == io::ErrorKind::NotFound => return Ok(None),
        result => result.map_err(|error| unreadable(path, &error))?,
    };
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
    let named = || path.file_stem()?.to_str()?.parse().ok();
    let parse = || {
        let value = Value::new(&bytes)?;
        Some(ProcessRecord {
            session: value.text("sessionId")?.into_owned(),
            pid: value.number("pid").or_else(named)?.try_into().ok()?,
            started: value.number("startedAt").map(|ms| ms / 1000),
            modified: modified.and_then(seconds),
        })
    };
    let found = parse();
    // A note that is cut off, of a process that was started before the note was written and still runs: nobody knows which
    // session that process has open.
    let is_cut_off = !Value::new(&bytes).is_some_and(Value::is_valid);
    let pid = if is_cut_off { named().and_then(|pid: u64| pid.try_into().ok()) } else { None };
    let written = modified.and_then(seconds).unwrap_or(u64::MAX);
    let is_its_own = |started: &u64| *started <= written.saturating_add(LEEWAY);
    match pid.and_then(start_of_process).filter(is_its_own) {
        Some(_) => {
            Err(UnknownReason::Unreadable { path: path.to_owned(), reason: "it is not complete".to_owned() })
        }
        None => Ok(found),
    }
}

/// Returns when the process of this number was started, in seconds since 1970; none if there is no such process.
fn start_of_process(pid: u32) -> Option<u64> {
    let pid = Pid::from_u32(pid);
    let mut system = System::new();
    system.refresh_processes(ProcessesToUpdate::Some(&[pid]), true);
    system.process(pid).map(sysinfo::Process::start_time)
}

/// Returns whether the process is still the one that wrote the note: a number may have gone to another since.
fn is_running(record: &ProcessRecord) -> bool {
    let is_it = |started: u64| record.started.is_none_or(|noted| started <= noted.saturating_add(LEEWAY));
    start_of_process(record.pid).is_some_and(is_it)
}

fn is_growing(path: &Path) -> io::Result<bool> {
    let Some(before) = FileState::of(path)? else { return Ok(false) };
    let age =
        before.modified.and_then(|time| SystemTime::now().duration_since(time).ok()).unwrap_or_default();
    let Some(left) = QUIET.checked_sub(age) else { return Ok(false) };
    thread::sleep(left);
    Ok(FileState::of(path)? != Some(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_run_unseen_in_another_namespace_since_the_machine_was_started() {
        let processes = |is_whole_machine: bool| ProcessView { is_whole_machine, boot_time: 1000 };
        for (started, modified, is_whole_machine, may_be_elsewhere) in [
            (Some(1500), None, false, true),
            (Some(1500), None, true, false),
            (Some(900), Some(1500), false, false),
            (None, Some(1500), false, true),
            (None, Some(900), false, false),
            (None, None, false, true),
        ] {
            let record = ProcessRecord { session: String::new(), pid: 1, started, modified };
            assert_eq!(record.may_be_elsewhere(processes(is_whole_machine)), may_be_elsewhere, "{record:?}");
        }
    }
}
