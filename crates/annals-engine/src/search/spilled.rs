//! Output of tools that was too long for a transcript: Claude Code stored it in a file of its own, and the result has only its
//! beginning.
//!
//! Such a file is one more document of the result, beside the text that the transcript has. It may be changed or removed at any
//! time, without a change of the transcript: its document is then not shown any more, and the other one stays.

use annals_search::Part;
use annals_transcript::Entry;
use annals_transcript::entry::view::SpilledOutput;

use super::document::{self, Document};
use crate::files::TranscriptFile;
use crate::spilled::SpilledText;
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
        let most = self.limit.saturating_add(BEHIND_LIMIT) as u64;
        let SpilledText { text, .. } = SpilledText::read(&self.file, &path, most, self.guard).ok()?;
        let number = FIRST_NUMBER + result.number;
        (!text.trim().is_empty()).then(|| Document { number, text: text.into(), ..result.clone() })
    }
}

#[cfg(test)]
mod tests;
