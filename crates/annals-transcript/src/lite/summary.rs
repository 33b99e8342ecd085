//! Titles that old versions wrote as `summary` records, often those of other sessions (LISTS 3.3).

use std::io::{self, Read, Seek};
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::Lite;
use super::ends::{CHUNK, with_buffer};
use crate::entry::Entry;
use crate::entry::view::Summary;
use crate::json::{quote, skip_space};
use crate::line::read_into;
use crate::version::is_before;

/// How many summaries of a file are looked at: more than any file of Claude Code has.
const LIMIT: usize = 64;

/// The first version that continues a session in its own file (LISTS 3.4).
const CONTINUES_IN_PLACE: [u32; 3] = [1, 0, 128];

/// How many blanks there may be around the colon of an id that two reads of the file divide.
const BLANKS: usize = 64;

static ID: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"uuid\""));

/// The last summary of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifiedSummary {
    /// Its text; `None` if the file has no summary of its own.
    pub text: Option<String>,
    /// Whether a summary follows whose leaf was not found. It counts once the leaf is there.
    pub is_open: bool,
}

/// The summaries of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Summaries {
    /// The lines whose leaf was not searched for yet, in file order.
    unverified: Vec<Vec<u8>>,
    /// The last one whose leaf is in the file. It is before the unverified ones.
    own: Option<String>,
    /// Whether a summary after that one has a leaf that was searched for and not found.
    is_open: bool,
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
        let mut leaves = Leaf::of(&self.unverified);
        mark_ids(bytes, &mut leaves);
        let verified = self.last_verified(leaves);
        self.unverified.clear();
        (self.own, self.is_open) = (verified.text, verified.is_open);
    }

    /// Returns the last summary whose leaf is in these parts of the file.
    pub(super) fn last_of_session(
        &self,
        file: &mut (impl Read + Seek),
        spans: &[Range<u64>],
    ) -> io::Result<VerifiedSummary> {
        let mut leaves = Leaf::of(&self.unverified);
        for span in spans.iter().filter(|_| !self.unverified.is_empty()) {
            search(file, span.clone(), &mut leaves)?;
        }
        Ok(self.last_verified(leaves))
    }

    /// Returns the last one whose leaf was found, or the one that was found before.
    fn last_verified(&self, mut leaves: Vec<Leaf>) -> VerifiedSummary {
        let is_open = leaves.last().map_or(self.is_open, |last| !last.is_found);
        let last = leaves.iter().rposition(|leaf| leaf.is_found);
        let text = last.map(|last| leaves.swap_remove(last).summary).or_else(|| self.own.clone());
        VerifiedSummary { text, is_open }
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

/// A summary whose leaf is searched for.
struct Leaf {
    summary: String,
    /// How the id of the leaf is spelled in the entry that has it.
    id: String,
    is_found: bool,
}

impl Leaf {
    /// Returns the leaves of summaries that have a text and a leaf.
    fn of(lines: &[Vec<u8>]) -> Vec<Self> {
        lines.iter().filter_map(|line| Self::of_line(line)).collect()
    }

    fn of_line(line: &[u8]) -> Option<Self> {
        let summary: Summary<'_> = Entry::new(line).view()?;
        let (text, id) = (summary.summary()?.into_owned(), quote(&summary.leaf()?));
        Some(Self { summary: text, id, is_found: false })
    }
}

/// Marks the leaves whose id is in these bytes, as the value of `uuid`. There may be blanks on both sides of the colon.
fn mark_ids(bytes: &[u8], leaves: &mut [Leaf]) {
    if leaves.is_empty() {
        return;
    }
    for at in ID.find_iter(bytes) {
        let colon = skip_space(bytes, at + ID.needle().len());
        if bytes.get(colon) == Some(&b':') {
            let value = &bytes[skip_space(bytes, colon + 1)..];
            for leaf in leaves.iter_mut() {
                leaf.is_found |= value.starts_with(leaf.id.as_bytes());
            }
        }
    }
}

/// Marks the leaves whose id is in a part of a file. An id that is longer than a chunk is not found.
fn search(file: &mut (impl Read + Seek), span: Range<u64>, leaves: &mut [Leaf]) -> io::Result<()> {
    // An id may start in the last bytes of a buffer and end in the next one.
    let longest = leaves.iter().map(|leaf| leaf.id.len()).max().unwrap_or(0);
    let overlap = (ID.needle().len() + BLANKS + longest).min(CHUNK);
    with_buffer(|buffer| {
        let (mut offset, mut kept) = (span.start, 0);
        while offset < span.end {
            let left = usize::try_from(span.end - offset).unwrap_or(usize::MAX);
            let end = buffer.len().min(left.saturating_add(kept));
            let read = read_into(file, offset, &mut buffer[kept..end])?.len();
            mark_ids(&buffer[..kept + read], leaves);
            if read < end - kept {
                break;
            }
            offset += read as u64;
            let filled = kept + read;
            kept = overlap.min(filled);
            buffer.copy_within(filled - kept..filled, 0);
        }
        Ok(())
    })
}
