//! Which other processes write to a session right now.

use std::collections::HashMap;
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

/// If a file has not changed for this long, annals assumes that no process writes to it.
const QUIET: Duration = Duration::from_secs(2);

/// A process counts as the writer of its record if it started at most this many seconds after the record: the clock may
/// have been set back since. A process that got the same pid later is younger by more.
const CLOCK_TOLERANCE: u64 = 60;

/// Whether a process writes to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// No process that annals can see writes to it.
    NotLive,
    /// A process writes to it.
    Live(LiveWriter),
    /// annals cannot find out.
    Unknown(UnknownReason),
}

/// A process that writes to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiveWriter {
    /// A Claude Code that has the session open.
    ClaudeCode {
        /// Its process id.
        pid: u32,
    },
    /// An unknown process: the file is growing.
    Unknown,
}

/// Why annals cannot find out whether Claude Code has a session open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownReason {
    /// Claude Code's registry of its processes (`sessions/`), or a file in it, cannot be read.
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// The error, in words.
        reason: String,
    },
    /// A process has registered the session, and annals, which runs in another PID namespace (a container), cannot see it.
    AnotherNamespace {
        /// The process id in its own namespace.
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
        write!(f, "annals cannot find out whether Claude Code has it open: ")?;
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
    /// Whether annals sees all processes of the machine, under the same process ids as everybody else.
    pub is_whole_machine: bool,
    /// When the machine was started, in seconds since 1970.
    pub boot_time: u64,
}

impl ProcessView {
    /// The initial PID namespace of Linux, which sees all processes; its inode number is fixed (`PROC_PID_INIT_INO`).
    const FIRST_NAMESPACE: &str = "pid:[4026531836]";

    /// Returns the view that this process has.
    pub fn of_machine() -> Self {
        let namespace = fs::read_link("/proc/self/ns/pid").ok();
        let is_first = namespace.is_some_and(|name| name.as_os_str() == Self::FIRST_NAMESPACE);
        Self { is_whole_machine: is_first || !cfg!(target_os = "linux"), boot_time: System::boot_time() }
    }
}

pub(crate) fn registered_writer(engine: &Engine, file: &TranscriptFile) -> Option<LiveWriter> {
    match engine.registered_liveness(file) {
        Liveness::Live(writer) => Some(writer),
        Liveness::NotLive | Liveness::Unknown(_) => None,
    }
}

pub(crate) fn live_sessions(engine: &Engine) -> HashMap<String, usize> {
    let records = engine.roots().paths().flat_map(process_records).filter_map(Result::ok);
    let mut sessions = HashMap::new();
    for record in records.filter(ProcessFile::is_running) {
        *sessions.entry(record.session).or_default() += 1;
    }
    sessions
}

pub(crate) fn liveness(engine: &Engine, file: &TranscriptFile) -> Result<Liveness, Error> {
    match engine.registered_liveness(file) {
        Liveness::NotLive => {}
        known => return Ok(known),
    }
    let grows = is_growing(&file.path).map_err(|source| Error::read(&file.path, source))?;
    Ok(if grows { Liveness::Live(LiveWriter::Unknown) } else { Liveness::NotLive })
}

impl Engine {
    /// Fails if another process writes to a session, or may do so. With `force` it never fails.
    pub(crate) fn ensure_not_live(&self, file: &TranscriptFile, force: bool) -> Result<(), Error> {
        let path = file.path.clone();
        match if force { Liveness::NotLive } else { self.liveness(file)? } {
            Liveness::NotLive => Ok(()),
            Liveness::Live(writer) => Err(Error::new(ErrorKind::Live { path, writer })),
            Liveness::Unknown(reason) => Err(Error::new(ErrorKind::LivenessUnknown { path, reason })),
        }
    }

    /// Returns what Claude Code's registry of its processes says about a session.
    fn registered_liveness(&self, file: &TranscriptFile) -> Liveness {
        let (Some(session), Some(root)) = (file.session.as_deref(), ConfigFolder::of_transcript(&file.path))
        else {
            return Liveness::NotLive;
        };
        let mut unknown = None;
        for record in process_records(root.root()) {
            match record {
                Ok(record) if record.session != session => {}
                Ok(record) if record.is_running() => {
                    return Liveness::Live(LiveWriter::ClaudeCode { pid: record.pid });
                }
                Ok(record) if record.may_be_elsewhere(self.processes()) => {
                    unknown = Some(UnknownReason::AnotherNamespace { pid: record.pid });
                }
                Ok(_) => {}
                Err(unreadable) => unknown = Some(unreadable),
            }
        }
        unknown.map_or(Liveness::NotLive, Liveness::Unknown)
    }
}

/// A file of Claude Code's registry, `sessions/<pid>.json`: a process and the session that it has open.
#[derive(Debug)]
pub(crate) struct ProcessFile {
    pub(crate) session: String,
    pid: u32,
    /// When the process started, in seconds since 1970.
    started: Option<u64>,
    /// When the file was last changed, in seconds since 1970.
    modified: Option<u64>,
}

impl ProcessFile {
    /// Returns whether the process, which annals does not find, may run in a namespace that annals cannot see. It does not
    /// if the machine was booted after the record was written.
    fn may_be_elsewhere(&self, processes: ProcessView) -> bool {
        let written = self.started.or(self.modified);
        !processes.is_whole_machine && written.is_none_or(|written| written >= processes.boot_time)
    }

    /// Parses a record. Returns `None` if it names no session or no process.
    fn parse(path: &Path, bytes: &[u8], modified: Option<u64>) -> Option<Self> {
        let value = Value::new(bytes)?;
        Some(Self {
            session: value.text("sessionId")?.into_owned(),
            pid: value.number("pid").or_else(|| pid_in_name(path))?.try_into().ok()?,
            started: value.number("startedAt").map(|ms| ms / 1000),
            modified,
        })
    }

    /// Returns whether the process still runs. Its pid may belong to another process by now, which started later.
    pub(crate) fn is_running(&self) -> bool {
        process_start(self.pid)
            .is_some_and(|start| self.started.is_none_or(|own| start <= own.saturating_add(CLOCK_TOLERANCE)))
    }
}

/// Returns the records of a config folder; a file or folder that cannot be read is an error among them.
fn process_records(root: &Path) -> Vec<Result<ProcessFile, UnknownReason>> {
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

/// Reads a record. Returns `None` if the file is something else, or was removed meanwhile.
pub(crate) fn read_record(path: &Path) -> Result<Option<ProcessFile>, UnknownReason> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Ok(None);
    }
    let (bytes, modified) = match read_small_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        result => result.map_err(|error| unreadable(path, &error))?,
    };
    let is_truncated = !Value::new(&bytes).is_some_and(Value::is_valid);
    if is_truncated && writer_may_run(path, modified) {
        let reason = "it is not complete".to_owned();
        return Err(UnknownReason::Unreadable { path: path.to_owned(), reason });
    }
    Ok(ProcessFile::parse(path, &bytes, modified))
}

/// Reads a file and the time of its last change, in seconds since 1970. Records are small, so a large file is no record and
/// counts as empty.
fn read_small_file(path: &Path) -> io::Result<(Vec<u8>, Option<u64>)> {
    let metadata = fs::metadata(path)?;
    let is_small = metadata.is_file() && metadata.len() < 1 << 20;
    let bytes = if is_small { fs::read(path)? } else { Vec::new() };
    let since_epoch = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok((bytes, since_epoch.map(|since| since.as_secs())))
}

/// Returns whether the process that a record is named for may still run and have written it. A truncated record of such a
/// process may be about any session.
fn writer_may_run(path: &Path, modified: Option<u64>) -> bool {
    let latest_start = modified.unwrap_or(u64::MAX).saturating_add(CLOCK_TOLERANCE);
    let pid = pid_in_name(path).and_then(|pid| pid.try_into().ok());
    pid.and_then(process_start).is_some_and(|start| start <= latest_start)
}

/// Returns the process id in the name of a record.
fn pid_in_name(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// Returns when a process started, in seconds since 1970, or `None` if there is no such process.
fn process_start(pid: u32) -> Option<u64> {
    let pid = Pid::from_u32(pid);
    let mut system = System::new();
    system.refresh_processes(ProcessesToUpdate::Some(&[pid]), true);
    system.process(pid).map(sysinfo::Process::start_time)
}

/// Returns whether a file grows. If it was changed within the last moments, this waits to see whether it changes again.
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
            let record = ProcessFile { session: String::new(), pid: 1, started, modified };
            assert_eq!(record.may_be_elsewhere(processes(is_whole_machine)), may_be_elsewhere, "{record:?}");
        }
    }
}
