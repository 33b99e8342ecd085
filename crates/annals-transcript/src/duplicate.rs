//! What is written more than once: lines that have the same uuid, and conversations that were copied into their own file.
//!
//! Claude Code reads lines with the same uuid as one entry, with the position of the first line and the content of the last one.
//! The full view does the same and lists the other lines.
//!
//! A copy has new uuids and the old times. Claude Code continues the copy, and the full view has both; [`copied`] says which entries
//! of the original need not be shown twice.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use crate::chain::NodeIndex;
use crate::conversation::{Transcript, block_bytes};
use crate::entry::view::Attachment;
use crate::entry::{Entry, Flag, Kind};
use crate::json::Value;
use crate::session::{BlockKind, Node, Session};
use crate::small_index::SmallIndex;

/// The entries of a session that have several lines.
///
/// ```
/// use annals_transcript::duplicate::Duplicates;
/// use annals_transcript::session::Session;
///
/// let file = br#"{"type":"user","uuid":"a","message":{"content":"Draft"}}
/// {"type":"user","uuid":"b","message":{"content":"Next"}}
/// {"type":"user","uuid":"a","message":{"content":"Final"}}"#;
/// let session = Session::read(&file[..])?;
/// let duplicates = Duplicates::of(&session);
/// assert_eq!((duplicates.first(2), duplicates.content(0)), (0, 2));
/// assert_eq!(duplicates.others(2).collect::<Vec<_>>(), [0]);
/// assert_eq!(duplicates.others(1).count(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Duplicates {
    entries: Vec<Lines>,
    /// The index in `entries` of every line that shares its uuid with another one.
    entry_of: HashMap<NodeIndex, usize>,
}

/// The lines of one entry.
#[derive(Debug)]
struct Lines {
    /// All lines, at least two, in file order.
    all: Vec<NodeIndex>,
    content: NodeIndex,
}

impl Duplicates {
    /// Finds the entries of a session that have several lines.
    pub fn of(session: &Session) -> Self {
        let mut found = Self::default();
        let mut firsts: Vec<Option<SmallIndex>> = vec![None; session.id_count()];
        for (index, node) in session.nodes().iter().enumerate() {
            let Some(id) = node.id else { continue };
            match firsts[id.index()] {
                None => firsts[id.index()] = Some(SmallIndex::new(index)),
                Some(first) => found.add(first.index(), index),
            }
        }
        for lines in &mut found.entries {
            lines.content = last_loaded(session, &lines.all).unwrap_or(lines.content);
        }
        found
    }

    /// Returns the first line of the entry that a line belongs to: the position of the entry in the file.
    pub fn first(&self, line: NodeIndex) -> NodeIndex {
        self.lines(line).map_or(line, |lines| lines.all[0])
    }

    /// Returns whether a line is the first one of its entry.
    pub fn is_first(&self, line: NodeIndex) -> bool {
        self.first(line) == line
    }

    /// Returns the line whose content counts: the last one that Claude Code loads, or else the last one.
    pub fn content(&self, line: NodeIndex) -> NodeIndex {
        self.lines(line).map_or(line, |lines| lines.content)
    }

    /// Returns the other lines of the entry that a line belongs to, in file order.
    pub fn others(&self, line: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
        let all = self.lines(line).map_or(&[][..], |lines| &lines.all);
        all.iter().copied().filter(move |&other| other != line)
    }

    /// Returns the lines of each entry that has several, in file order.
    pub fn entries(&self) -> impl Iterator<Item = &[NodeIndex]> {
        self.entries.iter().map(|lines| &lines.all[..])
    }

    fn lines(&self, line: NodeIndex) -> Option<&Lines> {
        self.entry_of.get(&line).map(|&entry| &self.entries[entry])
    }

    fn add(&mut self, first: NodeIndex, line: NodeIndex) {
        let next = self.entries.len();
        let entry = *self.entry_of.entry(first).or_insert(next);
        if entry == next {
            self.entries.push(Lines { all: vec![first], content: first });
        }
        let lines = &mut self.entries[entry];
        lines.all.push(line);
        lines.content = line;
        self.entry_of.insert(line, entry);
    }
}

/// Returns the last of some lines that Claude Code loads into a conversation.
fn last_loaded(session: &Session, lines: &[NodeIndex]) -> Option<NodeIndex> {
    lines.iter().rev().find(|&&line| session.nodes()[line].is_loaded_by_claude_code()).copied()
}

/// Returns what has to be equal for two lines of an entry to have the same content: the type, and the bytes of a message's
/// content, a notice's text or an attachment's payload.
pub fn content<'a>(entry: &Entry<'a>) -> (Kind, &'a [u8]) {
    let content = match entry.kind() {
        Kind::User | Kind::Assistant => entry.head().content,
        Kind::System => entry.body().and_then(|body| body.get("content")),
        Kind::Attachment => entry.view::<Attachment>().and_then(|attachment| attachment.payload()),
        _ => None,
    };
    (entry.kind(), content.map_or(&[], Value::bytes))
}

/// Returns the entries that were written again when their whole conversation was copied into the same file: those before the
/// copy of the first prompt that have the kind, the time and the blocks of an entry after it, byte for byte (CHAIN.md 10.4).
///
/// ```
/// use annals_transcript::conversation::TranscriptBytes;
/// use annals_transcript::duplicate::copied;
///
/// let file = r#"{"type":"user","uuid":"a","timestamp":"2026-01-02T03:04:05.000Z","message":{"content":"Hi"}}
/// {"type":"assistant","uuid":"b","parentUuid":"a","timestamp":"2026-01-02T03:04:06.000Z","message":{"content":"Only here"}}
/// {"type":"user","uuid":"c","timestamp":"2026-01-02T03:04:05.000Z","message":{"content":"Hi"}}"#;
/// assert_eq!(copied(&TranscriptBytes::new(file))?.into_iter().collect::<Vec<_>>(), [0]);
/// # Ok::<(), std::convert::Infallible>(())
/// ```
pub fn copied<T: Transcript>(transcript: &T) -> Result<HashSet<NodeIndex>, T::Error> {
    let session = transcript.session();
    let Some(start) = copy_of_first_prompt(session) else { return Ok(HashSet::new()) };
    // Only what may be the same by its kind, time and length is read. A copy has a line for each block, where the original may
    // have several blocks in a line.
    let copies: HashSet<_> =
        (start..session.nodes().len()).flat_map(|index| block_keys(session, index)).collect();
    let originals: Vec<_> = (0..start).filter(|&index| has_copies(session, index, &copies)).collect();
    let wanted: HashSet<_> = originals.iter().flat_map(|&index| block_keys(session, index)).collect();
    // A transcript cannot be written so that contents collide: the hashes have a random key.
    let hashes = RandomState::new();
    let mut copied_contents = HashSet::new();
    for index in start..session.nodes().len() {
        if block_keys(session, index).any(|block| wanted.contains(&block)) {
            copied_contents.extend(block_contents(transcript, index, &hashes)?);
        }
    }
    let mut found = HashSet::new();
    for index in originals {
        if block_contents(transcript, index, &hashes)?.iter().all(|content| copied_contents.contains(content))
        {
            found.insert(index);
        }
    }
    Ok(found)
}

/// What tells blocks of messages apart without reading them: kind and time of the entry, kind and length of the block.
type BlockKey = (Kind, Option<i64>, BlockKind, u64);

/// Returns the keys of the blocks of an entry; none if it is no prompt or reply with a time (CHAIN.md 10.4).
fn block_keys(session: &Session, index: NodeIndex) -> impl Iterator<Item = BlockKey> {
    let node = &session.nodes()[index];
    let is_message = node.kind.is_prompt_or_reply() && node.time().is_some();
    let blocks = session.blocks(node).iter().filter(move |_| is_message);
    blocks.map(|block| (node.kind, node.time(), block.kind, block.length))
}

/// Returns whether an entry has blocks, and each of them may have a copy.
fn has_copies(session: &Session, index: NodeIndex, copies: &HashSet<BlockKey>) -> bool {
    let mut blocks = block_keys(session, index).peekable();
    blocks.peek().is_some() && blocks.all(|block| copies.contains(&block))
}

/// The content of a block: the fields of [`BlockKey`] with a hash in place of the length.
type BlockContent = (Kind, Option<i64>, BlockKind, u64);

/// Reads the contents of the blocks of an entry.
fn block_contents<T: Transcript>(
    transcript: &T,
    index: NodeIndex,
    hashes: &RandomState,
) -> Result<Vec<BlockContent>, T::Error> {
    let session = transcript.session();
    let node = &session.nodes()[index];
    let body = transcript.body(node)?;
    let blocks = session.blocks(node).iter();
    let contents = blocks
        .map(|block| (node.kind, node.time(), block.kind, hashes.hash_one(block_bytes(&body, node, block))));
    Ok(contents.collect())
}

/// Returns the first entry without a parent that has the time of the first prompt of the file and another uuid.
fn copy_of_first_prompt(session: &Session) -> Option<NodeIndex> {
    let first = session.nodes().iter().find(|node| is_start(node))?;
    session
        .nodes()
        .iter()
        .position(|node| is_start(node) && node.time() == first.time() && node.id != first.id)
}

/// Returns whether an entry is a prompt with a time and without a parent.
fn is_start(node: &Node) -> bool {
    node.kind == Kind::User && node.parent.is_none() && node.time().is_some() && !node.has(Flag::Sidechain)
}

#[cfg(test)]
mod tests {
    use testkit::transcript::Transcript as Lines;

    use super::*;
    use crate::conversation::TranscriptBytes;

    #[test]
    fn only_what_a_copy_has_again_is_copied() {
        let original = conversation(lines(), ["a", "b"], "Ho").assistant("c", |reply| reply.text("Left"));
        assert_eq!(copied_in(&with_copy(&original, "Ho")), [0, 1]);
        assert_eq!(copied_in(&original), [0; 0]);
        assert_eq!(copied_in(&with_copy(&original, "Other words")), [0]);
        assert_eq!(copied_in(&with_copy(&original, "No")), [0], "words of the same length are not a copy");
    }

    #[test]
    fn entries_that_occur_twice_with_their_uuids_are_not_copies() {
        let twice = conversation(conversation(lines(), ["a", "b"], "Ho"), ["a", "b"], "Ho");
        assert_eq!(copied_in(&twice), [0; 0]);
    }

    fn lines() -> Lines {
        Lines::session("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55")
    }

    /// Adds a prompt and a reply with these uuids, always with the same times.
    fn conversation(lines: Lines, [prompt, reply]: [&str; 2], words: &str) -> Lines {
        let lines = lines.at("2026-03-01T10:00:00Z").after(None).user(prompt, "Hi");
        lines.assistant(reply, |reply| reply.text(words))
    }

    /// Adds a copy of the conversation in which the reply has some words, and one more reply.
    fn with_copy(original: &Lines, words: &str) -> Lines {
        let copy = conversation(original.clone(), ["d", "e"], words);
        copy.at("2026-03-01T10:00:09Z").assistant("f", |reply| reply.text("More"))
    }

    fn copied_in(file: &Lines) -> Vec<NodeIndex> {
        let mut found: Vec<_> =
            copied(&TranscriptBytes::new(file.to_string())).unwrap().into_iter().collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn a_line_that_claude_code_does_not_load_gives_no_content_to_one_that_it_does() {
        let file = [
            r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"content":"read"}}"#,
            r#"{"type":"progress","uuid":"a","parentUuid":null}"#,
            r#"{"type":"progress","uuid":"p","parentUuid":"a"}"#,
            r#"{"type":"progress","uuid":"p","parentUuid":"a"}"#,
            r#"{"type":"mode"}"#,
            r#"{"type":"mode"}"#,
        ];
        let session = Session::read(file.join("\n").as_bytes()).unwrap();
        let duplicates = Duplicates::of(&session);
        let contents: Vec<_> = (0..6).map(|line| duplicates.content(line)).collect();
        assert_eq!(contents, [0, 0, 3, 3, 4, 5]);
        assert_eq!(duplicates.entries().collect::<Vec<_>>(), [&[0, 1][..], &[2, 3]]);
    }

    #[test]
    fn contents_are_compared_without_the_fields_around_them() {
        let user = r#"{"type":"user","timestamp":"x","message":{"content":"Hi"}}"#;
        assert!(same(user, r#"{"type":"user","message":{"role":"user","content":"Hi"}}"#));
        assert!(!same(user, r#"{"type":"user","message":{"content":"Ho"}}"#));
        assert!(!same(user, r#"{"type":"assistant","message":{"content":"Hi"}}"#));
        assert!(!same(r#"{"type":"system","content":"a"}"#, r#"{"type":"system","content":"b"}"#));
        let [date, file] = ["date", "file"]
            .map(|name| format!(r#"{{"type":"attachment","attachment":{{"type":"{name}"}}}}"#));
        assert!(!same(&date, &file));
        assert!(same(r#"{"type":"progress","n":1}"#, r#"{"type":"progress","n":2}"#));
    }

    /// Returns whether two lines have the same content.
    fn same(one: &str, other: &str) -> bool {
        content(&Entry::new(one.as_bytes())) == content(&Entry::new(other.as_bytes()))
    }
}
