//! Files with metadata of agents. Only some of their fields are known, so all of them stay readable.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use annals_transcript::json::Value;
use annals_transcript::paths::agent_meta;

use crate::files::open_regular;
use crate::symlink_guard::SymlinkGuard;

/// Metadata is small: a file of this size or more is something else.
const TOO_LARGE: u64 = 1 << 20;

/// A JSON object with metadata of an agent, as it is in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata(Vec<u8>);

impl Metadata {
    /// Returns the metadata in a file; `None` if it is not a JSON object.
    fn new(bytes: Vec<u8>) -> Option<Self> {
        let is_object = Value::new(&bytes).is_some_and(|value| value.is_object() && value.is_valid());
        is_object.then_some(Self(bytes))
    }

    /// Returns the object.
    pub fn value(&self) -> Option<Value<'_>> {
        Value::new(&self.0)
    }

    /// Returns a field that is text.
    pub fn text(&self, key: &str) -> Option<String> {
        Some(self.value()?.text(key)?.into_owned())
    }

    /// Returns a field that is a number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.value()?.number(key)
    }

    /// Returns whether a field is true.
    pub fn flag(&self, key: &str) -> bool {
        self.value().is_some_and(|value| value.flag(key))
    }
}

/// Reads files with metadata, with a guard only those inside of the config folders.
pub(super) struct MetadataReader<'a> {
    guard: Option<&'a SymlinkGuard>,
}

impl<'a> MetadataReader<'a> {
    pub(super) fn new(guard: Option<&'a SymlinkGuard>) -> Self {
        Self { guard }
    }

    /// Returns the metadata beside a subagent's transcript. Old versions of Claude Code wrote none.
    pub(super) fn of_transcript(&self, transcript: &Path) -> Option<Metadata> {
        self.read(&agent_meta(transcript)).flatten()
    }

    /// Reads a file: `None` if it may not or cannot be read, `Some(None)` if it has no metadata.
    #[expect(
        clippy::option_option,
        reason = "a file without metadata is listed, one that cannot be read is not"
    )]
    pub(super) fn read(&self, path: &Path) -> Option<Option<Metadata>> {
        let file = open(path, self.guard).ok()??;
        if file.metadata().ok()?.len() >= TOO_LARGE {
            return Some(None);
        }
        let mut bytes = Vec::new();
        file.take(TOO_LARGE).read_to_end(&mut bytes).ok()?;
        Some(Metadata::new(bytes))
    }
}

/// Opens a regular file. With a guard, returns `None` for a file outside of the config folders.
pub(super) fn open(path: &Path, guard: Option<&SymlinkGuard>) -> io::Result<Option<File>> {
    match guard {
        None => open_regular(path).map(Some),
        Some(guard) => Ok(guard.open(path)?.map(|(file, _)| file)),
    }
}
