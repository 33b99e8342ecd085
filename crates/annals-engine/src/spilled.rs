//! Output of tools that was too long for a transcript: Claude Code stored it in a file of its own, in the folder of the session.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use annals_transcript::entry::view::SpilledOutput;
use annals_transcript::paths::SessionPaths;

use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, open_regular};
use crate::symlink_guard::SymlinkGuard;

/// A file with output that was too long for the transcript.
#[derive(Debug)]
pub struct SpilledFile {
    file: File,
    length: u64,
}

impl SpilledFile {
    /// Opens a file that [`TranscriptFile::spilled_output`] returned. With a guard, no file outside of the config folders is opened.
    pub(crate) fn open(
        transcript: &TranscriptFile,
        path: &Path,
        guard: Option<&SymlinkGuard>,
    ) -> Result<Self, Error> {
        let file = open_regular(path).map_err(Error::reading(path))?;
        if guard.is_some_and(|guard| !guard.allows_opened(path, &file)) {
            let session = transcript.session.clone().unwrap_or_default();
            return Err(Error::new(ErrorKind::Outside { session }));
        }
        let length = file.metadata().map_err(Error::reading(path))?.len();
        Ok(Self { file, length })
    }

    /// Returns how long the file was when it was opened.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads so many bytes from an offset on, and fewer at the end of the file.
    pub fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))?;
        file.take(length as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The beginning of output that was too long for the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpilledText {
    /// The text.
    pub text: String,
    /// How many bytes of the file follow it.
    pub left: u64,
}

impl SpilledText {
    /// Reads the beginning of a file that [`TranscriptFile::spilled_output`] returned: at most so many bytes. With a guard, no file outside
    /// of the config folders is read.
    pub(crate) fn read(
        transcript: &TranscriptFile,
        path: &Path,
        most: u64,
        guard: Option<&SymlinkGuard>,
    ) -> Result<Self, Error> {
        let SpilledFile { file, length } = SpilledFile::open(transcript, path, guard)?;
        let mut beginning = Vec::new();
        file.take(most).read_to_end(&mut beginning).map_err(Error::reading(path))?;
        if beginning.len() as u64 == most {
            beginning.truncate(end_of_words(&beginning));
        }
        let left = length.saturating_sub(beginning.len() as u64);
        Ok(Self { text: String::from_utf8_lossy(&beginning).into_owned(), left })
    }
}

/// Returns how much to keep of the beginning of a text. A token that is cut is not recognised as a secret any more. So the text ends after a sign
/// that no token has: white space, a quotation mark of JSON in one line, or a character of another script.
fn end_of_words(beginning: &[u8]) -> usize {
    let last =
        beginning.iter().rposition(|byte| byte.is_ascii_whitespace() || *byte == b'"' || !byte.is_ascii());
    let end = last.map_or(0, |last| last + usize::from(!beginning[last].is_ascii_whitespace()));
    match std::str::from_utf8(&beginning[..end]) {
        // The last character is cut, too.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => end,
    }
}

impl TranscriptFile {
    /// Returns the folder with output that was too long for the transcript; that of a subagent is in the folder of its session.
    pub(crate) fn spilled_outputs(&self) -> Option<PathBuf> {
        let session = self.session.as_deref()?;
        let paths = match self.agent {
            Some(_) => SessionPaths::of_parent(&self.path, session)?,
            None => SessionPaths::of(&self.path),
        };
        Some(paths.tool_results())
    }

    /// Returns the file with output that was too long for the transcript, if it still exists.
    ///
    /// The path in the transcript is not trusted and may come from another machine. So only its file name is used, and only in
    /// the session's own folder; a symbolic link that leads out of it counts as gone.
    pub(crate) fn spilled_output(&self, spilled: &SpilledOutput<'_>) -> Option<PathBuf> {
        let name = spilled.path.rsplit(['/', '\\']).next();
        let name = name.filter(|name| !name.is_empty() && !name.starts_with('.'))?;
        let folder = self.spilled_outputs()?;
        Some(folder.join(name)).filter(|path| is_file_below(path, &folder))
    }
}

/// Returns whether a path is a file in a folder, wherever symbolic links lead.
fn is_file_below(path: &Path, folder: &Path) -> bool {
    let found = path.canonicalize().ok().zip(folder.canonicalize().ok());
    found.is_some_and(|(path, folder)| path.starts_with(folder) && path.is_file())
}
