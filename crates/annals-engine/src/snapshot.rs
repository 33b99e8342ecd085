//! A session as it was when it was opened.

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;

use annals_transcript::line::read_span;
use annals_transcript::session::{Node, Session};
use annals_transcript::{Entry, Problem};

use crate::error::Error;
use crate::files::TranscriptFile;

/// One transcript: its entries in memory, their bodies on disk.
#[derive(Debug)]
pub struct Snapshot {
    file: TranscriptFile,
    session: Session,
    source: RefCell<File>,
}

impl Snapshot {
    pub(crate) fn take(file: TranscriptFile) -> Result<Self, Error> {
        Self::take_with(file, |_, _| {})
    }

    /// Does the same and shows each entry as it passes.
    pub(crate) fn take_with(
        file: TranscriptFile,
        seen: impl FnMut(&Entry<'_>, Option<Problem>),
    ) -> Result<Self, Error> {
        let failed = |source| Error::read(&file.path, source);
        let source = File::open(&file.path).map_err(failed)?;
        let mut session = Session::read_with(&source, seen).map_err(failed)?;
        if file.agent.is_some() {
            session.follow_sidechain();
        }
        Ok(Self { file, session, source: RefCell::new(source) })
    }

    /// Returns where the transcript lies.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Returns whose transcript it is.
    pub fn file(&self) -> &TranscriptFile {
        &self.file
    }

    /// Returns its entries.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Reads the bytes of an entry.
    pub fn body(&self, node: &Node) -> Result<Vec<u8>, Error> {
        self.span(node.at.offset, node.length)
    }

    /// Reads a range of the file.
    pub fn span(&self, offset: u64, length: u64) -> Result<Vec<u8>, Error> {
        read_span(&mut *self.source.borrow_mut(), offset, length)
            .map_err(|source| Error::read(self.path(), source))
    }
}
