//! The entries that a transcript already holds; an update reads only what was appended.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, SeekFrom};

use uuid::Uuid;

use super::fs::Handle;
use crate::chain::Chain;
use crate::entry::view::LastPrompt;
use crate::entry::{Entry, Flag, Kind};
use crate::file_state::FileState;
use crate::json::JsonStr;
use crate::line::{Position, Reader, read_span};
use crate::session::{NO_ENTRY, Node, Session};

/// The location of each entry of a transcript, by id, and the last entry of the conversation.
#[derive(Debug)]
pub(super) struct TranscriptIndex {
    /// Whether the transcript is a subagent's: then its conversation is the sidechain.
    subagent: bool,
    identity: Option<(u64, u64)>,
    /// The position after the last line that ends in a newline.
    end: Position,
    /// The length and hash of that line. They say whether the file is still the one that was read.
    ///
    /// A [`Checkpoint`](crate::checkpoint::Checkpoint) covers only the last bytes of the line. That is too little here: in
    /// a line that ends in a tool result the id comes before those bytes, and naming a parent that is no longer in the file
    /// would break the chain.
    last_line: Option<(u64, u64)>,
    torn: bool,
    locations: HashMap<Id, EntryLocation>,
    tip: Option<String>,
    leaf_named: bool,
}

/// An id in little memory: nearly all ids are UUIDs in lower case.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Id {
    Uuid(Uuid),
    Other(Box<str>),
}

impl Id {
    fn new(text: &str) -> Self {
        match Uuid::try_parse(text) {
            Ok(uuid) if uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text => Id::Uuid(uuid),
            _ => Id::Other(text.into()),
        }
    }
}

/// The location of an entry in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryLocation {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) kind: Kind,
}

impl TranscriptIndex {
    pub(super) fn new(subagent: bool) -> Self {
        Self {
            subagent,
            identity: None,
            end: Position { offset: 0, line: 1 },
            last_line: None,
            torn: false,
            locations: HashMap::new(),
            tip: None,
            leaf_named: false,
        }
    }

    /// Reads what was appended since the last update. Reads everything if the file was replaced or truncated.
    pub(super) fn update(&mut self, file: &mut dyn Handle) -> io::Result<()> {
        let state = file.state()?;
        if self.identity != Some(state.identity) || !self.last_line_is_unchanged(file, state.length)? {
            return self.read_all(file, state);
        }
        file.seek(SeekFrom::Start(self.end.offset))?;
        let mut reader =
            Reader::resume(file.take(state.length - self.end.offset), self.end).with_grammar_check();
        self.torn = false;
        while let Some(entry) = reader.read()? {
            self.add(&entry);
            self.torn = !entry.ends_in_newline();
            if !self.torn {
                self.last_line = Some(line_fingerprint(entry.bytes()));
                self.end = reader.position();
            }
        }
        Ok(())
    }

    /// Returns whether the last line that was read is still in its place. It is not if the file was truncated, even if it
    /// has grown again since.
    fn last_line_is_unchanged(&self, file: &mut dyn Handle, length: u64) -> io::Result<bool> {
        let Some((line, hash)) = self.last_line else { return Ok(length >= self.end.offset) };
        if length < self.end.offset {
            return Ok(false);
        }
        let mut file = file;
        let bytes = read_span(&mut file, self.end.offset - line, line)?;
        Ok(line_fingerprint(&bytes) == (line, hash))
    }

    fn read_all(&mut self, file: &mut dyn Handle, state: FileState) -> io::Result<()> {
        *self = Self { identity: Some(state.identity), ..Self::new(self.subagent) };
        file.seek(SeekFrom::Start(0))?;
        let mut session = Session::read_with(file.take(state.length), |entry, problem, _| {
            if problem.is_none() {
                self.note_leaf(entry);
            }
            self.torn = !entry.ends_in_newline();
            if !self.torn {
                self.last_line = Some(line_fingerprint(entry.bytes()));
                let Position { offset, line } = entry.at();
                self.end = Position { offset: offset + entry.bytes().len() as u64, line: line + 1 };
            }
        })?;
        if self.subagent {
            session.follow_sidechain();
        }
        self.tip = tip(&session);
        let texts = session.id_texts();
        let entries = session.nodes().iter().filter(|node| node.is_read_by_claude_code());
        let locations = entries.filter_map(|node| {
            let (offset, length) = (node.at.offset, node.length);
            let location = EntryLocation { offset, length, kind: node.kind };
            Some((Id::new(&texts.get(node.id?)), location))
        });
        self.locations = locations.collect();
        Ok(())
    }

    fn add(&mut self, entry: &Entry<'_>) {
        if entry.verify().is_some() {
            return;
        }
        self.note_leaf(entry);
        let Some(id) = entry.head().id.map(JsonStr::decode) else { return };
        let kind = entry.kind();
        let (offset, length) = (entry.at().offset, entry.bytes().len() as u64);
        self.locations.insert(Id::new(&id), EntryLocation { offset, length, kind });
        if kind.is_message() && (self.subagent || !entry.has(Flag::Sidechain)) {
            self.tip = Some(id.into_owned());
        }
    }

    fn note_leaf(&mut self, entry: &Entry<'_>) {
        self.leaf_named = names_leaf(entry).unwrap_or(self.leaf_named);
    }

    /// Adds a line that was just written to the end of the file.
    pub(super) fn add_written_line(&mut self, id: Option<(&str, Kind)>, line: &[u8]) {
        let Position { offset, line: number } = self.end;
        let length = line.len() as u64;
        self.end = Position { offset: offset + length, line: number + 1 };
        self.last_line = Some(line_fingerprint(line));
        if let Some((id, kind)) = id {
            self.locations.insert(Id::new(id), EntryLocation { offset, length, kind });
        }
    }

    /// Sets the last entry of the conversation.
    pub(super) fn set_tip(&mut self, tip: &str) {
        self.tip = Some(tip.to_owned());
    }

    pub(super) fn tip(&self) -> Option<&str> {
        self.tip.as_deref()
    }

    /// Returns whether a `last-prompt` names the leaf, which may differ from the last message of the file.
    pub(super) fn leaf_is_named(&self) -> bool {
        self.leaf_named
    }

    /// Sets whether a `last-prompt` names the leaf.
    pub(super) fn set_leaf_named(&mut self, named: bool) {
        self.leaf_named = named;
    }

    /// Returns the offset of the end of the file; `None` if its last line has no newline.
    pub(super) fn end(&self) -> Option<u64> {
        (!self.torn).then_some(self.end.offset)
    }

    pub(super) fn location(&self, id: &str) -> Option<EntryLocation> {
        self.locations.get(&Id::new(id)).copied()
    }
}

fn line_fingerprint(line: &[u8]) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    hasher.write(line);
    (line.len() as u64, hasher.finish())
}

/// Returns whether a `last-prompt` names the leaf from this entry on; `None` if the entry does not change that.
pub(super) fn names_leaf(entry: &Entry<'_>) -> Option<bool> {
    if entry.head().is_boundary() {
        return Some(false);
    }
    Some(entry.view::<LastPrompt>()?.leaf()? != NO_ENTRY)
}

/// Returns the id of the entry that a new message should have as its parent: the one that Claude Code would choose, or else
/// the last message of the main conversation.
fn tip(session: &Session) -> Option<String> {
    let chain = Chain::build(session);
    let nodes = session.nodes();
    let node = match chain.tip() {
        Some(index) => &nodes[index],
        None => nodes.iter().rev().find(|node| is_main_message(node))?,
    };
    Some(session.id_texts().get(node.id?))
}

/// Returns whether Claude Code reads an entry as a message of the main conversation, and it has an id.
fn is_main_message(node: &Node) -> bool {
    node.kind.is_message() && node.is_read_by_claude_code() && !node.has(Flag::Sidechain) && node.id.is_some()
}
