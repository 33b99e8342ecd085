//! Repair: sessions that lost a part of their history get it back.
//!
//! Of lines with the same uuid Claude Code takes the last one. So a repair only appends: corrected copies of entries, and then the
//! last message once more. The old bytes stay as they are, and cutting the file undoes the repair. Only a file that is too large is written anew,
//! if the user wants that.

mod content;
mod edits;
mod in_place;
mod linking;
mod mend;
mod plan;
mod receipt;
#[cfg(test)]
mod tests;
mod thinking;
mod unnamed;
mod view_diff;

use std::io::{self, Read as _, SeekFrom};
use std::path::{Path, PathBuf};

use annals_transcript::file_state::FileState;
use annals_transcript::json::{Value, quote};
use annals_transcript::patch;
use annals_transcript::paths::SessionPaths;
use annals_transcript::write::fs::Handle;
use annals_transcript::write::{self, new_id, rewrite};

use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, open_regular};
use crate::lock::SessionLock;
use receipt::Receipt;

pub use edits::{Change, ChangeKind, RelinkReason};
pub use plan::{Plan, RepairOptions, plan};
pub(crate) use plan::{Source, has_work, plan_without_diff};
pub(crate) use receipt::{EarlierRepairs, forget};
pub use view_diff::{DiffChange, DiffMessage, DiffPart, DiffPartKind, DiffRow, ViewDiff};

/// What a repair did.
#[derive(Clone, Debug)]
pub struct RepairOutcome {
    /// The changes.
    pub plan: Plan,
    /// The receipt, if something was changed.
    pub receipt: Option<PathBuf>,
}

/// What undoing a repair did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// The file is what it was before the repair.
    Cut {
        /// Its length.
        length: u64,
    },
    /// Something was appended since the repair. The file as it was before is a session of its own.
    Fork {
        /// The new session.
        session: String,
        /// Its transcript.
        path: PathBuf,
    },
    /// The session was not repaired, or its repair was undone already.
    Nothing,
}

pub(crate) fn planned(file: &TranscriptFile, options: &RepairOptions) -> Result<Plan, Error> {
    ensure_session(file)?;
    let bytes = std::fs::read(&file.path).map_err(|source| Error::read(&file.path, source))?;
    ensure_branch(&bytes, options)?;
    Ok(plan(&bytes, options))
}

/// Does the same for callers that are not trusted with paths.
pub(crate) fn planned_inside(
    engine: &Engine,
    file: &TranscriptFile,
    options: &RepairOptions,
) -> Result<Plan, Error> {
    ensure_session(file)?;
    let mut opened = open_regular(&file.path).map_err(|source| Error::read(&file.path, source))?;
    if !engine.symlink_guard().allows_opened(&file.path, &opened) {
        let session = file.session.clone().unwrap_or_default();
        return Err(Error::new(ErrorKind::Outside { session }));
    }
    let mut bytes = Vec::new();
    opened.read_to_end(&mut bytes).map_err(|source| Error::read(&file.path, source))?;
    ensure_branch(&bytes, options)?;
    Ok(plan(&bytes, options))
}

pub(crate) fn repair(
    engine: &Engine,
    file: &TranscriptFile,
    options: &RepairOptions,
    force: bool,
) -> Result<RepairOutcome, Error> {
    let mut locked = LockedTranscript::open(engine, file, force)?;
    ensure_branch(&locked.bytes, options)?;
    let plan = plan(&locked.bytes, options);
    if plan.is_empty() {
        return Ok(RepairOutcome { plan, receipt: None });
    }
    let receipt = Receipt::of(file, &locked.bytes, &plan);
    let path = receipt.write(engine, &locked.bytes)?;
    if let Err((error, is_as_before)) = locked.write(engine, file, &plan) {
        // Otherwise the receipt stays: with it, `--undo` writes the file as it was as a new session.
        if is_as_before {
            let _ = receipt.remove(engine, &path);
        }
        return Err(error);
    }
    Ok(RepairOutcome { plan, receipt: Some(path) })
}

pub(crate) fn undo(engine: &Engine, file: &TranscriptFile, force: bool) -> Result<Undone, Error> {
    LockedTranscript::open(engine, file, force)?.undo(engine, file)
}

/// Cuts a file to what it was before a repair that failed, if nothing but a part of the repair follows. Returns whether the file is as it
/// was.
fn cut_back(transcript: &mut dyn Handle, before: &[u8], plan: &Plan) -> io::Result<bool> {
    let mut now = Vec::new();
    transcript.seek(SeekFrom::Start(0))?;
    transcript.read_to_end(&mut now)?;
    let Some(added) = now.strip_prefix(before) else { return Ok(false) };
    if !plan.appended.starts_with(added) && !plan.appended.trim_ascii_start().starts_with(added) {
        return Ok(false);
    }
    if added.is_empty() {
        return Ok(true);
    }
    // Claude Code takes no lock, and may have appended since the file was read.
    if transcript.state()?.length != now.len() as u64 {
        return Ok(false);
    }
    transcript.truncate(before.len() as u64)?;
    transcript.sync()?;
    Ok(true)
}

/// Writes the bytes that a file had before its repair as a new session beside it. Its texts stay as they are: files that they name are
/// those of the repaired session.
fn fork_of(engine: &Engine, file: &TranscriptFile, old: &[u8]) -> Result<Undone, Error> {
    let id = new_id();
    let project = file.path.parent().unwrap_or(Path::new(""));
    let path = SessionPaths::new(project, &id).transcript().to_owned();
    let own = file.session.clone().unwrap_or_default();
    let lines = old.split_inclusive(|byte| *byte == b'\n');
    let bytes: Vec<u8> = lines.flat_map(|line| with_session(line, &own, &id)).collect();
    rewrite::replace(&**engine.disk(), &path, |out| out.write_all(&bytes))?;
    Ok(Undone::Fork { session: id, path })
}

/// Returns a line with the id of the new session, if it names the old one.
fn with_session(line: &[u8], old: &str, new: &str) -> Vec<u8> {
    let named = Value::new(line.trim_ascii()).and_then(|entry| entry.text("sessionId"));
    if named.is_none_or(|named| named != old) {
        return line.to_vec();
    }
    patch::set(line, "sessionId", &quote(new)).unwrap_or_else(|_| line.to_vec())
}

/// Fails for the transcripts of subagents: Claude Code does not resume them.
fn ensure_session(file: &TranscriptFile) -> Result<(), Error> {
    match file.agent {
        Some(_) => Err(Error::new(ErrorKind::NotASession { path: file.path.clone() })),
        None => Ok(()),
    }
}

/// Fails if no message begins with the uuid that was given.
fn ensure_branch(bytes: &[u8], options: &RepairOptions) -> Result<(), Error> {
    let Some(branch) = &options.branch else { return Ok(()) };
    let session = annals_transcript::session::Session::read(bytes).unwrap_or_default();
    match session.ids_beginning(branch).len() {
        1 => Ok(()),
        found => Err(Error::not_one_entry(branch, found)),
    }
}

/// A transcript that no other annals process changes, and its bytes.
struct LockedTranscript {
    _session: Option<SessionLock>,
    transcript: Box<dyn Handle>,
    /// The file when its bytes were read.
    state: FileState,
    bytes: Vec<u8>,
}

impl LockedTranscript {
    fn open(engine: &Engine, file: &TranscriptFile, force: bool) -> Result<Self, Error> {
        ensure_session(file)?;
        engine.ensure_not_live(file, force)?;
        let session = file.session.as_deref();
        let session = session.map(|session| engine.lock_exclusive(&file.path, session)).transpose()?;
        let mut transcript = rewrite::lock_transcript(&**engine.disk(), &file.path)?;
        let failed = |source| Error::read(&file.path, source);
        let state = transcript.state().map_err(failed)?;
        let mut bytes = Vec::new();
        transcript.seek(SeekFrom::Start(0)).map_err(failed)?;
        transcript.read_to_end(&mut bytes).map_err(failed)?;
        Ok(Self { _session: session, transcript, state, bytes })
    }

    /// Carries out a plan. An error comes with whether the file is as it was before.
    fn write(&mut self, engine: &Engine, file: &TranscriptFile, plan: &Plan) -> Result<(), (Error, bool)> {
        if let Some(bytes) = &plan.rewritten {
            return self.replace(engine, file, bytes).map_err(|error| (error, true));
        }
        // The plan is about the bytes that were read: after newer messages it would take them out of the conversation.
        match self.has_grown() {
            Ok(false) => {}
            Ok(true) => {
                let kind = ErrorKind::ChangedMeanwhile { path: file.path.clone() };
                return Err((Error::new(kind), true));
            }
            Err(source) => return Err((Error::read(&file.path, source), true)),
        }
        let lines = plan.appended.trim_ascii_start();
        write::append_lines(&mut *self.transcript, &file.path, lines).map_err(|error| {
            // Half a repair may be worse than none.
            let is_cut = cut_back(&mut *self.transcript, &self.bytes, plan);
            (error.into(), is_cut.is_ok_and(|is_cut| is_cut))
        })
    }

    /// Takes back the last repair.
    fn undo(&mut self, engine: &Engine, file: &TranscriptFile) -> Result<Undone, Error> {
        let Some((path, receipt)) = Receipt::last_of(engine, file, &self.bytes) else {
            return Ok(Undone::Nothing);
        };
        let length = receipt.length_before;
        let old = receipt.old_bytes(engine, &self.bytes)?;
        let failed = |source| Error::write(&file.path, source);
        let undone = if !receipt.is_last_change(&self.bytes) || self.has_grown().map_err(failed)? {
            fork_of(engine, file, &old)?
        } else if receipt.is_rewritten() || rewrite::has_other_names(&file.path) {
            // Cutting a file would cut it under its other names, too.
            self.replace(engine, file, &old)?;
            Undone::Cut { length }
        } else {
            let transcript = &mut self.transcript;
            transcript.truncate(length).and_then(|()| transcript.sync()).map_err(failed)?;
            Undone::Cut { length }
        };
        receipt.remove(engine, &path)?;
        Ok(undone)
    }

    /// Returns whether the file is longer or shorter than what was read. Claude Code takes no lock: ask directly before a change.
    fn has_grown(&mut self) -> io::Result<bool> {
        Ok(self.transcript.state()?.length != self.bytes.len() as u64)
    }

    /// Replaces the file, all or nothing. Fails if another program has written to it since it was read.
    fn replace(&self, engine: &Engine, file: &TranscriptFile, bytes: &[u8]) -> Result<(), Error> {
        Ok(rewrite::replace_unchanged(&**engine.disk(), &file.path, self.state, bytes)?)
    }
}
