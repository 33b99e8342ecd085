//! How to tell that a file was changed or replaced.

mod stamp;

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
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
