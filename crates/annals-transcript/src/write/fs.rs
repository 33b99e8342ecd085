//! The operations on files that annals uses to change anything. Tests replace the disk by one that fails.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::file_state::FileState;

/// A file system. Every change that annals makes goes through this trait.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Opens a file for reading and appending; creates it, readable only by its owner, if it is missing.
    fn open_or_create(&self, path: &Path) -> io::Result<Box<dyn Handle>>;
    /// Opens an existing file for reading and appending.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Handle>>;
    /// Creates an empty file or empties an existing one. It gets the permissions of `like`, or is readable only by its owner.
    fn create(&self, path: &Path, like: Option<&Path>) -> io::Result<Box<dyn Handle>>;
    /// Creates a folder and its missing parents, accessible only by their owner.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Creates one folder, accessible only by its owner; fails with `AlreadyExists` if the name is taken.
    fn create_new_folder(&self, path: &Path) -> io::Result<()>;
    /// Renames a file or folder; replaces an existing file.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames a file or folder; fails with `AlreadyExists` if the name is taken.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Creates a hard link to a file; fails with `AlreadyExists` if the name is taken.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Creates a symbolic link to `target`.
    fn symlink(&self, target: &Path, path: &Path) -> io::Result<()>;
    /// Sets the permissions and the modification time of a file or folder.
    fn set_attributes(&self, path: &Path, permissions: Permissions, modified: SystemTime) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Syncs a folder, so that files created, renamed and removed in it survive a loss of power.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
}

/// An open file.
pub trait Handle: Read + Seek + fmt::Debug + Send {
    /// Appends to the file in one operation; returns the number of bytes written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Truncates the file.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Syncs the file, so that its content survives a loss of power.
    fn sync(&mut self) -> io::Result<()>;
    /// Locks the file exclusively until the handle is dropped; returns whether the lock was free. The lock is advisory: it
    /// only affects processes that lock the file as well.
    fn try_lock(&mut self) -> io::Result<bool>;
    /// Locks the file shared: others may lock it shared as well, but not exclusively.
    fn try_lock_shared(&mut self) -> io::Result<bool>;
    /// Releases the lock before the handle is dropped.
    fn unlock(&mut self) -> io::Result<()>;
    /// Returns the state of the file.
    fn state(&self) -> io::Result<FileState>;
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open_or_create(&self, path: &Path) -> io::Result<Box<dyn Handle>> {
        opened(path, appending().create(true))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Handle>> {
        opened(path, &appending())
    }

    fn create(&self, path: &Path, like: Option<&Path>) -> io::Result<Box<dyn Handle>> {
        let mut handle = opened(path, appending().create(true))?;
        handle.truncate(0)?;
        if let Some(permissions) = like.and_then(permissions) {
            fs::set_permissions(path, permissions)?;
        }
        Ok(handle)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }

    fn create_new_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match rename_without_replacing(from, to) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => rename_if_free(from, to),
            result => result,
        }
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::symlink(target, path);
        #[cfg(not(unix))]
        return Err(io::Error::new(io::ErrorKind::Unsupported, format!("{target:?} <- {path:?}")));
    }

    fn set_attributes(&self, path: &Path, permissions: Permissions, modified: SystemTime) -> io::Result<()> {
        match File::open(path) {
            Ok(file) => {
                file.set_modified(modified)?;
                file.set_permissions(permissions)
            }
            // The current permissions do not allow opening it, but the new ones may.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                fs::set_permissions(path, permissions)?;
                File::open(path)?.set_modified(modified)
            }
            Err(error) => Err(error),
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        // On Windows, a folder cannot be opened as a file.
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }
}

/// Renames in one system call that fails if the new name is taken; returns `Unsupported` where there is no such call.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(|error| match error {
        // Some file systems do not support the flag.
        Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => io::ErrorKind::Unsupported.into(),
        error => error.into(),
    })
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_without_replacing(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames with operations that every file system has. It relies on two rules of the system: renaming a folder fails if
/// the target is a folder that is not empty, and a hard link never replaces a file.
fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    if from.symlink_metadata()?.is_dir() {
        return fs::rename(from, to);
    }
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

fn appending() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn opened(path: &Path, options: &OpenOptions) -> io::Result<Box<dyn Handle>> {
    let file = options.open(path)?;
    Ok(Box::new(RealHandle { lock: lock_file(path)?, path: path.to_owned(), file }))
}

fn permissions(path: &Path) -> Option<Permissions> {
    Some(fs::metadata(path).ok()?.permissions())
}

/// An open file of the operating system.
#[derive(Debug)]
struct RealHandle {
    file: File,
    path: PathBuf,
    /// The file that is locked instead, on systems where a lock would prevent others from reading the file itself.
    lock: Option<File>,
}

/// Opens the file to lock instead of the file at a path. On Windows locks are mandatory and would stop Claude Code as well,
/// so annals locks a file in the user's temporary folder there.
fn lock_file(path: &Path) -> io::Result<Option<File>> {
    if cfg!(unix) {
        return Ok(None);
    }
    let folder = std::env::temp_dir().join("annals-locks");
    fs::create_dir_all(&folder)?;
    let name = crate::project::folder_name(&path.canonicalize()?.to_string_lossy());
    File::create(folder.join(name)).map(Some)
}

impl Handle for RealHandle {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        // On Windows, a file that is open for appending cannot be truncated.
        if cfg!(windows) {
            return OpenOptions::new().write(true).open(&self.path)?.set_len(length);
        }
        self.file.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        is_acquired(self.lock.as_ref().unwrap_or(&self.file).try_lock())
    }

    fn try_lock_shared(&mut self) -> io::Result<bool> {
        is_acquired(self.lock.as_ref().unwrap_or(&self.file).try_lock_shared())
    }

    fn unlock(&mut self) -> io::Result<()> {
        self.lock.as_ref().unwrap_or(&self.file).unlock()
    }

    fn state(&self) -> io::Result<FileState> {
        self.file.metadata().map(FileState::from)
    }
}

fn is_acquired(locked: Result<(), TryLockError>) -> io::Result<bool> {
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl Read for RealHandle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Seek for RealHandle {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Implements [`Write`] for an open file by appending to it.
#[derive(Debug)]
pub struct AppendWriter<'a>(pub &'a mut dyn Handle);

impl Write for AppendWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways to rename: with one system call, and with operations that every file system has.
    const RENAMES: [fn(&Path, &Path) -> io::Result<()>; 2] =
        [|from, to| RealDisk.rename_new(from, to), rename_if_free];

    #[test]
    fn a_new_name_never_takes_the_place_of_an_old_one() {
        for rename in RENAMES {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            let is_taken = |from: &str, to: &str| {
                rename(&path(from), &path(to)).is_err_and(|e| e.kind() == io::ErrorKind::AlreadyExists)
            };
            fs::write(path("a"), "a").unwrap();
            fs::write(path("b"), "b").unwrap();
            fs::create_dir(path("folder")).unwrap();
            fs::create_dir(path("empty")).unwrap();
            assert!(is_taken("a", "b") && is_taken("a", "folder") && is_taken("folder", "empty"));
            assert_eq!(
                (fs::read(path("a")).unwrap(), fs::read(path("b")).unwrap()),
                (b"a".into(), b"b".into())
            );
            rename(&path("a"), &path("c")).unwrap();
            rename(&path("folder"), &path("renamed")).unwrap();
            assert!(!path("a").exists() && path("c").is_file() && path("renamed").is_dir());
            assert_eq!(rename(&path("a"), &path("d")).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }
}
