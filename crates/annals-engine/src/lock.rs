//! The lock of a session.
//!
//! An operation that changes a session or the trash takes its locks in one order: first the lock of the session, then, if
//! the transcript is on disk, the lock of the transcript. Operations that move or replace files take the session lock
//! exclusively, operations that only add to a session share it. The exclusive lock also covers the session's entries in the
//! trash; the stage in the name of an entry's folder says which operation was in progress.
//!
//! The lock of a session is a file under the folder of annals, one for each session id, so that it exists whether the
//! session is on disk, in the trash or nowhere. Sessions of several roots that have the same id share it, because they
//! share the names of their entries in the trash. It is empty and never removed: a process that waits for it has it open,
//! and would get the removed file while others make and lock a new one of the same name.

use std::path::{Path, PathBuf};

use annals_transcript::write::fs::Handle;
use annals_transcript::write::{Access, Options, lock_file};

use crate::engine::Engine;
use crate::error::Error;
use crate::files::TranscriptFile;

/// A session lock. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct SessionLock {
    _file: Box<dyn Handle>,
}

impl Engine {
    /// Returns the lock file of a session.
    pub(crate) fn session_lock(&self, session: &str) -> PathBuf {
        self.home().locks().join(format!("{session}.lock"))
    }

    /// Takes the lock of a session. If others hold it, this waits for a limited time.
    pub(crate) fn lock_session(&self, session: &str, access: Access) -> Result<SessionLock, Error> {
        self.make_folder(&self.home().locks())?;
        let path = self.session_lock(session);
        let file = lock_file(&**self.disk(), &path, access, Options::default().lock_timeout)?;
        Ok(SessionLock { _file: file })
    }

    /// Locks a session for an operation that moves or replaces its files, and first finishes operations that were
    /// interrupted.
    pub(crate) fn lock_exclusive(&self, transcript: &Path, session: &str) -> Result<SessionLock, Error> {
        let lock = self.lock_session(session, Access::Exclusive)?;
        self.finish_moves(transcript, session)?;
        Ok(lock)
    }

    /// Locks a session for an operation that only adds to it, and first finishes operations that were interrupted. Returns
    /// `None` if the file belongs to no session.
    pub(crate) fn lock_shared(&self, file: &TranscriptFile) -> Result<Option<SessionLock>, Error> {
        let Some(session) = file.session.as_deref() else { return Ok(None) };
        loop {
            let lock = self.lock_session(session, Access::Shared)?;
            if !self.has_interrupted_moves(&file.path, session) {
                return Ok(Some(lock));
            }
            drop(lock);
            self.lock_exclusive(&file.path, session)?;
        }
    }
}
