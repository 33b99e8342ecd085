//! Titles that old versions wrote as `summary` records, often those of other sessions (LISTS 3.3).

use std::io::{self, Read, Seek};

use memchr::memmem::{self, Finder};

use super::Lite;
use super::ends::{CHUNK, with_buffer};
use crate::entry::Entry;
use crate::entry::view::Summary;
use crate::json::quote;
use crate::line::read_into;
use crate::version::is_before;

/// How many summaries of a file are looked at: more than any file of Claude Code has.
const LIMIT: usize = 64;

/// The first version that continues a session in its own file (LISTS 3.4).
const CONTINUES_IN_PLACE: [u32; 3] = [1, 0, 128];

/// The summaries of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Summaries {
    /// The lines whose leaf was not searched for yet, in file order.
    unverified: Vec<Vec<u8>>,
    /// The last one whose leaf is in the file. It stands before the unverified ones.
    own: Option<String>,
}

impl Summaries {
    /// Adds the next summary of the file.
    pub(super) fn add(&mut self, line: &[u8]) {
        if self.unverified.len() < LIMIT {
            self.unverified.push(line.to_vec());
        }
    }

    /// Adds the summaries of the tail of the file.
    pub(super) fn append(&mut self, tail: Summaries) {
        self.unverified.extend(tail.unverified);
    }

    /// Searches for leaves in these bytes instead of the file: the last summary whose leaf is in them counts.
    pub(super) fn verify_in(&mut self, bytes: &[u8]) {
        let own = self
            .unverified
            .drain(..)
            .rev()
            .filter_map(|line| text_and_leaf(&line))
            .find(|(_, leaf)| memmem::find(bytes, leaf.as_bytes()).is_some());
        self.own = own.map(|(text, _)| text).or(self.own.take());
    }

    /// Returns the last summary whose leaf is in the file.
    pub(super) fn last_of_session(&self, file: &mut (impl Read + Seek)) -> io::Result<Option<String>> {
        for line in self.unverified.iter().rev() {
            if let Some((text, leaf)) = text_and_leaf(line)
                && contains(file, leaf.as_bytes())?
            {
                return Ok(Some(text));
            }
        }
        Ok(self.own.clone())
    }
}

impl Lite {
    /// Verifies the summaries of the head by the head alone, if its version allows it (LISTS 3.4).
    pub(super) fn verify_first_summaries(&mut self, head: &[u8]) {
        if self.version.as_deref().is_some_and(|version| !is_before(version, CONTINUES_IN_PLACE)) {
            self.summaries.verify_in(head);
        }
    }
}

/// Returns the text of a summary, and how the id of its leaf is spelled in the entry that has it.
fn text_and_leaf(line: &[u8]) -> Option<(String, String)> {
    let summary: Summary<'_> = Entry::new(line).view()?;
    Some((summary.summary()?.into_owned(), format!("\"uuid\":{}", quote(&summary.leaf()?))))
}

/// Returns whether a file has these bytes in it. Bytes that are longer than a chunk are not found.
pub(super) fn contains(file: &mut (impl Read + Seek), needle: &[u8]) -> io::Result<bool> {
    let finder = Finder::new(needle);
    with_buffer(|buffer| {
        let (mut offset, mut kept) = (0, 0);
        while needle.len() <= CHUNK {
            let read = read_into(file, offset, &mut buffer[kept..])?.len();
            if finder.find(&buffer[..kept + read]).is_some() {
                return Ok(true);
            }
            if read < buffer.len() - kept {
                break;
            }
            offset += read as u64;
            // The needle may start in the last bytes of this buffer and end in the next one.
            kept = needle.len() - 1;
            buffer.copy_within(buffer.len() - kept.., 0);
        }
        Ok(false)
    })
}
