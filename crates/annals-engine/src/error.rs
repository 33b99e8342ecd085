//! Why the engine could not do what it was asked.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the engine. Content of transcripts is never the cause.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ErrorKind {
    #[error("cannot read {}: {}", path.display(), reason(source))]
    Read { path: PathBuf, source: io::Error },
    #[error("no session `{selector}`")]
    NotFound { selector: String },
    #[error("no entry, or more than one, begins with `{id}`")]
    NoEntry { id: String },
    #[error("`{selector}` may be any of {} sessions", candidates.len())]
    Ambiguous { selector: String, candidates: Vec<Candidate> },
    #[error("{} has no `projects` folder", path.display())]
    NoProjects { path: PathBuf },
}

/// Words the usual causes; the rest is worded by the system.
fn reason(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => source.to_string(),
    }
}

/// A session that an ambiguous name may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The session.
    pub session: String,
    /// Its transcript.
    pub path: PathBuf,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }

    /// Says that a file or folder could not be read.
    pub fn read(path: &Path, source: io::Error) -> Self {
        Self::new(ErrorKind::Read { path: path.to_owned(), source })
    }

    /// Returns whether there is no such session.
    pub fn is_not_found(&self) -> bool {
        matches!(*self.0, ErrorKind::NotFound { .. })
    }

    /// Returns whether there is no such entry.
    pub fn is_no_entry(&self) -> bool {
        matches!(*self.0, ErrorKind::NoEntry { .. })
    }

    /// Returns whether a folder given as a client's is none.
    pub fn is_no_projects(&self) -> bool {
        matches!(*self.0, ErrorKind::NoProjects { .. })
    }

    /// Returns the sessions that an ambiguous name may mean; none for other errors.
    pub fn candidates(&self) -> &[Candidate] {
        match &*self.0 {
            ErrorKind::Ambiguous { candidates, .. } => candidates,
            _ => &[],
        }
    }
}
