//! Opens and locks files.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::error::{Error, ErrorKind};
use super::fs::{Disk, Handle};
use crate::file_state::FileState;

/// Whether a missing file is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenMode {
    Existing,
    OrCreate,
}

/// Who else may hold a lock at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// With other shared locks at the same time.
    Shared,
    /// With no other lock at the same time.
    Exclusive,
}

impl Access {
    fn try_lock(self, file: &mut dyn Handle) -> io::Result<bool> {
        match self {
            Access::Shared => file.try_lock_shared(),
            Access::Exclusive => file.try_lock(),
        }
    }
}

/// Locks a lock file, which is created if it is missing, until the handle is dropped.
pub fn lock_file(
    disk: &dyn Disk,
    path: &Path,
    access: Access,
    lock_timeout: Duration,
) -> Result<Box<dyn Handle>, Error> {
    acquire(disk, path, OpenMode::OrCreate, access, lock_timeout)
}

/// Opens a file and locks it against all other annals processes.
pub(crate) fn lock(
    disk: &dyn Disk,
    path: &Path,
    mode: OpenMode,
    lock_timeout: Duration,
) -> Result<Box<dyn Handle>, Error> {
    acquire(disk, path, mode, Access::Exclusive, lock_timeout)
}

/// Opens and locks a file. Waits at most `lock_timeout` while another process holds the lock.
fn acquire(
    disk: &dyn Disk,
    path: &Path,
    mode: OpenMode,
    access: Access,
    lock_timeout: Duration,
) -> Result<Box<dyn Handle>, Error> {
    let deadline = Instant::now() + lock_timeout;
    loop {
        let mut file = match mode {
            OpenMode::Existing => disk.open(path),
            OpenMode::OrCreate => disk.open_or_create(path),
        }
        .map_err(Error::disk("open", path))?;
        while !access.try_lock(&mut *file).map_err(Error::disk("lock", path))? {
            if Instant::now() >= deadline {
                return Err(Error::new(ErrorKind::Locked { path: path.to_owned() }));
            }
            thread::sleep(Duration::from_millis(1));
        }
        // While this process waited, the one that held the lock may have replaced the file.
        let state = file.state().map_err(Error::disk("open", path))?;
        let current = FileState::of(path).map_err(Error::disk("open", path))?;
        if current.is_some_and(|current| current.identity == state.identity) {
            return Ok(file);
        }
    }
}
