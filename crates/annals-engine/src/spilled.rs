//! Output of tools that was too long for a transcript: Claude Code stored it in a file of its own, in the folder of the session.

use std::io::Read;
use std::path::{Path, PathBuf};

use annals_transcript::entry::view::SpilledOutput;
use annals_transcript::paths::SessionPaths;

use crate::error::{Error, ErrorKind};
use crate::files::{TranscriptFile, open_regular};
use crate::symlink_guard::SymlinkGuard;

/// So many bytes at most are left out at the end of what was read.
const LONGEST_TAIL: usize = 4 << 10;

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
        let failed = |source| Error::read(path, source);
        let file = open_regular(path).map_err(failed)?;
        if guard.is_some_and(|guard| !guard.allows_opened(path, &file)) {
            let session = transcript.session.clone().unwrap_or_default();
            return Err(Error::new(ErrorKind::Outside { session }));
        }
        let length = file.metadata().map_err(failed)?.len();
        let mut beginning = Vec::new();
        file.take(most).read_to_end(&mut beginning).map_err(failed)?;
        if beginning.len() as u64 == most {
            beginning.truncate(end_of_words(&beginning));
        }
        let left = length.saturating_sub(beginning.len() as u64);
        Ok(Self { text: String::from_utf8_lossy(&beginning).into_owned(), left })
    }
}

/// Returns how much to keep of the beginning of a text. A word that is cut may be a secret, and is not recognised as one any more, so the text
/// ends at white space. Some output has none, such as JSON in one line: so much of it is left out that hardly any secret is cut and still there.
fn end_of_words(beginning: &[u8]) -> usize {
    let tail = beginning.len().saturating_sub(LONGEST_TAIL);
    if let Some(end) = beginning[tail..].iter().rposition(u8::is_ascii_whitespace) {
        return tail + end;
    }
    let is_inside_character = |end: &usize| beginning.get(*end).is_some_and(|byte| byte & 0xC0 == 0x80);
    // A character has at most four bytes; a file need not be text.
    (tail.saturating_sub(3)..=tail).rev().find(|end| !is_inside_character(end)).unwrap_or(tail)
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
