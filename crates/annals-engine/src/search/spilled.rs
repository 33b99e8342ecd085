//! Output of tools that was too long for a transcript: Claude Code stored it in a file of its own, and the result has only its
//! beginning.
//!
//! Such a file is one more document of the result, beside the text that the transcript has. It may be changed or removed at any
//! time, without a change of the transcript: its document is then not shown any more, and the other one stays.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use annals_search::Part;
use annals_transcript::Entry;
use annals_transcript::entry::view::SpilledOutput;

use super::document::{self, Document};
use crate::files::TranscriptFile;
use crate::symlink_guard::SymlinkGuard;

/// The documents of files have their numbers behind those of all parts.
const FIRST_NUMBER: usize = 1 << 30;

/// Files of so many results in one entry are read. Claude Code writes one result into each.
const MOST_FILES: usize = 16;

/// So many bytes behind the limit are read, too, so that a secret that crosses the limit is masked as a whole.
const BEHIND_LIMIT: usize = 64 << 10;

impl Document<'_> {
    /// Returns whether the text is that of a file beside the transcript.
    pub(super) fn is_spilled(&self) -> bool {
        is_spilled(self.number)
    }
}

/// Returns whether a document with this number has the text of a file beside the transcript.
pub(super) fn is_spilled(number: usize) -> bool {
    number >= FIRST_NUMBER
}

/// Returns the number of the part that a document belongs to.
pub(super) fn part_number(number: usize) -> usize {
    if is_spilled(number) { number - FIRST_NUMBER } else { number }
}

/// The output that was stored beside one transcript.
#[derive(Debug)]
pub(super) struct SpilledOutputs<'g> {
    file: TranscriptFile,
    /// Whether there is a folder with such files.
    exist: bool,
    guard: Option<&'g SymlinkGuard>,
    /// How many bytes of each file are searched.
    limit: usize,
}

impl<'g> SpilledOutputs<'g> {
    /// Looks for the output of a transcript. With a guard, no link out of the config folders is followed.
    pub(super) fn of(file: &TranscriptFile, guard: Option<&'g SymlinkGuard>, limit: usize) -> Self {
        let exist = file.spilled_outputs().is_some_and(|folder| folder.is_dir());
        Self { file: file.clone(), exist, guard, limit }
    }

    /// Returns whether there may be any.
    pub(super) fn exist(&self) -> bool {
        self.exist
    }

    /// Returns the documents of an entry in order, each followed by that of its file. A file is read when its document is asked
    /// for, so that one of them is in memory at a time.
    pub(super) fn documents<'e>(&self, entry: &Entry<'e>) -> impl Iterator<Item = Document<'e>> {
        let mut left = if self.exist { MOST_FILES } else { 0 };
        document::documents(entry).into_iter().flat_map(move |document| {
            let spilled = if left > 0 { self.document(&document) } else { None };
            left -= usize::from(spilled.is_some());
            [Some(document), spilled].into_iter().flatten()
        })
    }

    /// Returns the document of the file that a result names, if it can be read.
    fn document<'e>(&self, result: &Document<'e>) -> Option<Document<'e>> {
        if result.part != Part::ToolOutput {
            return None;
        }
        let path = self.file.spilled_output(&SpilledOutput::in_text(&result.text)?)?;
        let text = self.read(&path).ok().filter(|text| !text.trim().is_empty())?;
        Some(Document { number: FIRST_NUMBER + result.number, text: text.into(), ..result.clone() })
    }

    /// Reads the beginning of a file. A word that is cut may be a secret that nothing recognises any more, and is left out.
    fn read(&self, path: &Path) -> io::Result<String> {
        let most = self.limit.saturating_add(BEHIND_LIMIT);
        let mut bytes = Vec::new();
        self.open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > most {
            let end = bytes.iter().rposition(u8::is_ascii_whitespace).unwrap_or(0);
            bytes.truncate(end);
        }
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        // Whoever writes to the folder may put a link to any file there, and Claude Code writes none.
        if !fs::symlink_metadata(path)?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        match self.guard {
            Some(guard) => {
                guard.open(path)?.map(|(file, _)| file).ok_or_else(|| io::ErrorKind::NotFound.into())
            }
            None => File::open(path),
        }
    }
}

#[cfg(test)]
mod tests;
