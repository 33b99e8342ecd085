//! What the writer asks of a disk. Tests put a disk that fails in its place.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::file_state::FileState;

/// The operations on files and folders by which annals changes anything.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Opens a file for reading and appending, and makes it if it is not there: readable by its owner alone.
    fn open_or_create(&self, path: &Path) -> io::Result<Box<dyn Handle>>;
    /// Opens a file that is there, for reading and appending.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Handle>>;
    /// Makes an empty file, in place of one that may be there, with the permissions of another or its owner's alone.
    fn create(&self, path: &Path, like: Option<&Path>) -> io::Result<Box<dyn Handle>>;
    /// Makes a folder and those above it that are missing, open to their owner alone.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes one folder, open to its owner alone; fails with `AlreadyExists` if the name is taken.
    fn create_new_folder(&self, path: &Path) -> io::Result<()>;
    /// Gives a file or folder another name, in place of a file that may be there.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file or folder another name; fails with `AlreadyExists` if the name is taken.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name, a hard link; fails with `AlreadyExists` if the name is taken.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes a symbolic link that leads to `target`.
    fn symlink(&self, target: &Path, path: &Path) -> io::Result<()>;
    /// Sets the permissions and the time of the last change of a file or folder.
    fn set_attributes(&self, path: &Path, permissions: Permissions, modified: SystemTime) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes names given, changed and removed in a folder survive a loss of power.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
}

/// An open file.
pub trait Handle: Read + Seek + fmt::Debug + Send {
    /// Writes at the end of the file, as one operation; returns how many bytes found room.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file off.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Makes what was written survive a loss of power.
    fn sync(&mut self) -> io::Result<()>;
    /// Takes the file for this process among all that do the same, until the handle is dropped; returns whether it
    /// was free.
    fn try_lock(&mut self) -> io::Result<bool>;
    /// Takes the file together with others that do the same, but with nobody who took it by `try_lock`.
    fn try_lock_shared(&mut self) -> io::Result<bool>;
    /// Gives back what was taken, before the handle is dropped.
    fn unlock(&mut self) -> io::Result<()>;
    /// Returns the state of the file.
    fn state(&self) -> io::Result<FileState>;
}

/// The disk of the machine.
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
            // The permissions that it has do not let it be opened; those that it gets may.
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
        // Windows has no such thing: a folder cannot be opened as a file.
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }
}

/// Renames in one operation of the system that fails if the new name is taken; `Unsupported` where there is none.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(|error| match error {
        // Some file systems know no flags.
        Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => io::ErrorKind::Unsupported.into(),
        error => error.into(),
    })
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_without_replacing(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Renames by operations that every file system has: a folder never takes the place of one that is not empty, and a hard
/// link never that of a file.
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

/// A file of the machine.
#[derive(Debug)]
struct RealHandle {
    file: File,
    path: PathBuf,
    /// What is locked instead of the file, where a lock would keep others from reading it.
    lock: Option<File>,
}

/// On Windows a lock binds everybody, the client too. There a file in the user's temporary folder stands for it.
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
        // A file open for appending cannot be cut off on Windows.
        if cfg!(windows) {
            return OpenOptions::new().write(true).open(&self.path)?.set_len(length);
        }
        self.file.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn try_lock(&mut self) -> io::Result<bool> {
        was_free(self.lock.as_ref().unwrap_or(&self.file).try_lock())
    }

    fn try_lock_shared(&mut self) -> io::Result<bool> {
        was_free(self.lock.as_ref().unwrap_or(&self.file).try_lock_shared())
    }

    fn unlock(&mut self) -> io::Result<()> {
        self.lock.as_ref().unwrap_or(&self.file).unlock()
    }

    fn state(&self) -> io::Result<FileState> {
        self.file.metadata().map(FileState::from)
    }
}

fn was_free(locked: Result<(), TryLockError>) -> io::Result<bool> {
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

/// An open file as something to write to, at its end.
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

    /// Both ways to rename: by the system's own operation, and by those that every file system has.
    const WAYS: [fn(&Path, &Path) -> io::Result<()>; 2] =
        [|from, to| RealDisk.rename_new(from, to), rename_if_free];

    #[test]
    fn a_new_name_never_takes_the_place_of_an_old_one() {
        for rename in WAYS {
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
