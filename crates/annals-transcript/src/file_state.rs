//! How to tell that a file was changed or replaced.

mod stamp;

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use stamp::FileStamp;

/// The identity, length and time of a file: if one of them differs, the file was changed or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Its length.
    pub length: u64,
    /// When it was last written.
    pub modified: Option<SystemTime>,
    /// Which file it is, whatever its name.
    pub identity: (u64, u64),
}

impl FileState {
    /// Returns the state of the file or folder at a path; `None` if there is nothing, or a FIFO, socket or device, which
    /// may block whoever opens it.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() || metadata.is_dir() => Ok(Some(metadata.into())),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl From<Metadata> for FileState {
    fn from(metadata: Metadata) -> Self {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(windows)]
        let identity = {
            use std::os::windows::fs::MetadataExt;
            (metadata.creation_time(), 0)
        };
        #[cfg(not(any(unix, windows)))]
        let identity = (0, 0);
        Self { length: metadata.len(), modified: metadata.modified().ok(), identity }
    }
}

/// A folder whose files are asked for their states. With many files, that is faster than by their whole paths, because the system
/// looks up each folder of a path again.
#[derive(Debug)]
pub struct OpenFolder {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    opened: Option<std::os::fd::OwnedFd>,
}

impl OpenFolder {
    /// Opens a folder. If it cannot be opened, the states of its files are asked for by their whole paths.
    pub fn new(path: &Path) -> Self {
        #[cfg(target_os = "linux")]
        let opened = {
            use rustix::fs::{Mode, OFlags, open};
            open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
        };
        Self {
            path: path.to_owned(),
            #[cfg(target_os = "linux")]
            opened,
        }
    }

    /// Returns the state of the file or folder at a path below this folder, as [`FileState::of`] does. The empty path is that of the
    /// folder itself.
    pub fn state_of(&self, path: &Path) -> io::Result<Option<FileState>> {
        #[cfg(target_os = "linux")]
        if let Some(opened) = &self.opened {
            match linux::state_of(opened, path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                // Not every system knows this system call.
                Err(_) => {}
                state => return state,
            }
        }
        FileState::of(&self.path.join(path))
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use rustix::fs::{AtFlags, FileType, StatxFlags, makedev, statx};

    use super::FileState;

    pub(super) fn state_of(folder: &OwnedFd, path: &Path) -> io::Result<Option<FileState>> {
        let flags = if path.as_os_str().is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::empty() };
        let wanted = StatxFlags::TYPE | StatxFlags::SIZE | StatxFlags::MTIME | StatxFlags::INO;
        let state = statx(folder, path, flags, wanted)?;
        if !wanted.difference(StatxFlags::from_bits_retain(state.stx_mask)).is_empty() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let kind = FileType::from_raw_mode(state.stx_mode.into());
        Ok(matches!(kind, FileType::RegularFile | FileType::Directory).then(|| FileState {
            length: state.stx_size,
            modified: system_time(state.stx_mtime.tv_sec, state.stx_mtime.tv_nsec),
            identity: (makedev(state.stx_dev_major, state.stx_dev_minor), state.stx_ino),
        }))
    }

    fn system_time(seconds: i64, nanoseconds: u32) -> Option<SystemTime> {
        let distance = Duration::from_secs(seconds.unsigned_abs());
        let time =
            if seconds < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
        time?.checked_add(Duration::from_nanos(nanoseconds.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_folder_tells_the_same_states_as_whole_paths() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("below/file"), "text").unwrap();
        fs::write(folder.path().join("old"), "").unwrap();
        let before_1970 = SystemTime::UNIX_EPOCH - std::time::Duration::from_millis(1_500);
        fs::File::open(folder.path().join("old")).unwrap().set_modified(before_1970).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("below/file", folder.path().join("link")).unwrap();
            std::os::unix::fs::symlink("/dev/null", folder.path().join("device")).unwrap();
        }
        for below in [folder.path().join("missing"), folder.path().to_owned()] {
            let opened = OpenFolder::new(&below);
            for path in ["", "below", "below/file", "old", "link", "device", "nothing", "old/file"] {
                let path = Path::new(path);
                let (open, whole) = (opened.state_of(path), FileState::of(&below.join(path)));
                assert_eq!(open.as_ref().ok(), whole.as_ref().ok(), "{path:?}");
                assert_eq!(open.is_err(), whole.is_err(), "{path:?}");
            }
        }
    }
}
