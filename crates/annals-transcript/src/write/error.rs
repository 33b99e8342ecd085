//! Errors of the writer.

use std::io;
use std::path::{Path, PathBuf};

use super::draft::DraftError;

/// An error of the writer. All lines that were in the file before are still there.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("cannot {doing} {}: {source}", path.display())]
    Disk { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("draft {number}: {source}")]
    Draft { number: usize, source: DraftError },
    #[error("entry {number} of the log: {source}")]
    Log { number: usize, source: DraftError },
    #[error("the log is empty")]
    EmptyLog,
    #[error(
        "the log is a single object without a `type`, which is no entry: perhaps the message of a server"
    )]
    NotATranscript,
    #[error("there is no entry `{id}`")]
    NoEntry { id: String },
    #[error("entry `{id}` begins a compaction, which the entries behind it need")]
    Boundary { id: String },
    #[error("`{name}` cannot be the name of {what}")]
    Name { what: &'static str, name: String },
    #[error("another annals process has been writing to {} for too long", path.display())]
    Locked { path: PathBuf },
    #[error("{} was changed by somebody else while it was rewritten; nothing was replaced", path.display())]
    Changed { path: PathBuf },
    #[error("{} has {length} bytes, more than the {limit} that are rewritten", path.display())]
    TooLarge { path: PathBuf, length: u64, limit: u64 },
    #[error("a session begins with a message: {waiting} records wait for one, and more do not fit")]
    NoMessage { waiting: usize },
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }

    /// Returns a function that adds the failed operation and the path to an error of the disk.
    pub(crate) fn disk(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::new(ErrorKind::Disk { doing, path: path.to_owned(), source })
    }

    /// Returns the number of the refused draft within its batch or log, counted from 1.
    pub fn draft(&self) -> Option<usize> {
        match *self.0 {
            ErrorKind::Draft { number, .. } | ErrorKind::Log { number, .. } => Some(number),
            _ => None,
        }
    }

    /// Returns why a draft was refused.
    pub fn reason(&self) -> Option<&DraftError> {
        match &*self.0 {
            ErrorKind::Draft { source, .. } | ErrorKind::Log { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Returns whether another process writes to the file.
    pub fn is_busy(&self) -> bool {
        matches!(*self.0, ErrorKind::Locked { .. } | ErrorKind::Changed { .. })
    }

    /// Returns whether a log was refused because it is empty.
    pub fn is_empty_log(&self) -> bool {
        matches!(*self.0, ErrorKind::EmptyLog)
    }

    /// Returns whether permission to open the file is missing.
    pub fn is_forbidden(&self) -> bool {
        matches!(&*self.0, ErrorKind::Disk { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Returns whether the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(&*self.0, ErrorKind::Disk { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Returns whether the requested entry does not exist.
    pub fn is_no_entry(&self) -> bool {
        matches!(*self.0, ErrorKind::NoEntry { .. })
    }

    /// Returns whether the file is too large to be rewritten.
    pub fn is_too_large(&self) -> bool {
        matches!(*self.0, ErrorKind::TooLarge { .. })
    }
}
