//! What a transcript already holds, kept up to date from where it was read last.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, SeekFrom};

use uuid::Uuid;

use super::fs::Handle;
use crate::chain::Chain;
use crate::entry::view::LastPrompt;
use crate::entry::{Entry, Flag};
use crate::file_state::FileState;
use crate::json::JsonStr;
use crate::line::{Position, Reader, read_span};
use crate::session::{NO_ENTRY, Session};

/// The entries of a transcript by id, and its end.
#[derive(Debug)]
pub(super) struct Known {
    /// Whether the transcript is a subagent's, in which the side line is the only one.
    subagent: bool,
    identity: Option<(u64, u64)>,
    /// Behind the last line that ends in a newline.
    end: Position,
    /// That line, by its length and hash: it tells whether the file is still the one that was read.
    ///
    /// A [`Checkpoint`](crate::checkpoint::Checkpoint) covers only the last bytes of the line. That is too little here: in
    /// a line that ends in a tool result, the id stands before those bytes, and a parent that is no longer in the file
    /// would break the chain that is recorded.
    last_line: Option<(u64, u64)>,
    torn: bool,
    /// Where entries stand.
    places: HashMap<Id, Place>,
    tip: Option<String>,
    leaf_named: bool,
}

/// An id, in as little space as it takes: nearly all are UUIDs as the client spells them.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Id {
    Uuid(Uuid),
    Other(Box<str>),
}

impl Id {
    fn new(text: &str) -> Self {
        let as_spelled = |uuid: &Uuid| uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text;
        match Uuid::try_parse(text).ok().filter(as_spelled) {
            Some(uuid) => Id::Uuid(uuid),
            None => Id::Other(text.into()),
        }
    }
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Whether other entries may hang on it.
    pub(super) is_message: bool,
}

impl Known {
    pub(super) fn nothing(subagent: bool) -> Self {
        Self {
            subagent,
            identity: None,
            end: Position { offset: 0, line: 1 },
            last_line: None,
            torn: false,
            places: HashMap::new(),
            tip: None,
            leaf_named: false,
        }
    }

    /// Reads what was added since the last time; everything, if the file is another one or was cut.
    pub(super) fn catch_up(&mut self, file: &mut dyn Handle) -> io::Result<()> {
        let state = file.state()?;
        if self.identity != Some(state.identity) || !self.still_ends_alike(file, state.length)? {
            return self.read_all(file, state);
        }
        file.seek(SeekFrom::Start(self.end.offset))?;
        let mut reader = Reader::resume(file.take(state.length - self.end.offset), self.end);
        self.torn = false;
        while let Some(entry) = reader.read()? {
            self.add(&entry);
            self.torn = !entry.ends_in_newline();
            if !self.torn {
                self.last_line = Some(line_mark(entry.bytes()));
                self.end = reader.position();
            }
        }
        Ok(())
    }

    /// Returns whether what was read last still stands where it stood: a file may have been cut, and written to again.
    fn still_ends_alike(&self, file: &mut dyn Handle, length: u64) -> io::Result<bool> {
        let Some((line, hash)) = self.last_line else { return Ok(length >= self.end.offset) };
        if length < self.end.offset {
            return Ok(false);
        }
        let mut file = file;
        let bytes = read_span(&mut file, self.end.offset - line, line)?;
        Ok(line_mark(&bytes) == (line, hash))
    }

    fn read_all(&mut self, file: &mut dyn Handle, state: FileState) -> io::Result<()> {
        *self = Self { identity: Some(state.identity), ..Self::nothing(self.subagent) };
        file.seek(SeekFrom::Start(0))?;
        let mut session = Session::read_with(file.take(state.length), |entry, problem| {
            if problem.is_none() {
                self.note_leaf(entry);
            }
            self.torn = !entry.ends_in_newline();
            if !self.torn {
                self.last_line = Some(line_mark(entry.bytes()));
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
        let places = entries.filter_map(|node| {
            let (offset, length) = (node.at.offset, node.length);
            let place = Place { offset, length, is_message: node.kind.is_message() };
            Some((Id::new(&texts.get(node.id?)), place))
        });
        self.places = places.collect();
        Ok(())
    }

    fn add(&mut self, entry: &Entry<'_>) {
        if entry.verify().is_some() {
            return;
        }
        self.note_leaf(entry);
        let Some(id) = entry.head().id.map(JsonStr::decode) else { return };
        let is_message = entry.kind().is_message();
        let (offset, length) = (entry.at().offset, entry.bytes().len() as u64);
        self.places.insert(Id::new(&id), Place { offset, length, is_message });
        if is_message && (self.subagent || !entry.has(Flag::Sidechain)) {
            self.tip = Some(id.into_owned());
        }
    }

    fn note_leaf(&mut self, entry: &Entry<'_>) {
        self.leaf_named = names_leaf(entry).unwrap_or(self.leaf_named);
    }

    /// Notes a line that was just written behind all that is known.
    pub(super) fn wrote(&mut self, id: Option<&str>, is_message: bool, line: &[u8]) {
        let Position { offset, line: number } = self.end;
        let length = line.len() as u64;
        self.end = Position { offset: offset + length, line: number + 1 };
        self.last_line = Some(line_mark(line));
        if let Some(id) = id {
            self.places.insert(Id::new(id), Place { offset, length, is_message });
        }
    }

    /// Takes an entry as the last one of the conversation.
    pub(super) fn go_on_from(&mut self, tip: &str) {
        self.tip = Some(tip.to_owned());
    }

    pub(super) fn tip(&self) -> Option<&str> {
        self.tip.as_deref()
    }

    /// Returns whether a `last-prompt` may name another end of the conversation than its last line.
    pub(super) fn leaf_is_named(&self) -> bool {
        self.leaf_named
    }

    /// Says whether a `last-prompt` counts by now.
    pub(super) fn set_leaf_named(&mut self, named: bool) {
        self.leaf_named = named;
    }

    /// Returns the end of the file, if it ends in a whole line.
    pub(super) fn end(&self) -> Option<u64> {
        (!self.torn).then_some(self.end.offset)
    }

    pub(super) fn place(&self, id: &str) -> Option<Place> {
        self.places.get(&Id::new(id)).copied()
    }
}

fn line_mark(line: &[u8]) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    hasher.write(line);
    (line.len() as u64, hasher.finish())
}

/// Returns whether a `last-prompt` counts from an entry on; none if the entry says nothing of it.
pub(super) fn names_leaf(entry: &Entry<'_>) -> Option<bool> {
    if entry.head().is_boundary() {
        return Some(false);
    }
    Some(entry.view::<LastPrompt>()?.leaf()? != NO_ENTRY)
}

/// Returns the entry that the conversation goes on from: where the client would, or else the last one there is.
fn tip(session: &Session) -> Option<String> {
    let chain = Chain::build(session);
    let nodes = session.nodes();
    let last = || {
        nodes.iter().rev().find(|node| {
            node.kind.is_message()
                && node.is_read_by_claude_code()
                && !node.has(Flag::Sidechain)
                && node.id.is_some()
        })
    };
    let node = chain.tip().map(|index| &nodes[index]).or_else(last)?;
    Some(session.id_texts().get(node.id?))
}
