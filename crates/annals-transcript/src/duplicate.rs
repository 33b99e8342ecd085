//! Entries with several lines: lines that have the same uuid.
//!
//! Claude Code reads such lines as one entry, with the position of the first line and the content of the last one. The full
//! view does the same and lists the other lines.

use std::collections::HashMap;

use crate::chain::NodeIndex;
use crate::entry::view::Attachment;
use crate::entry::{Entry, Kind};
use crate::json::Value;
use crate::session::Session;
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let same = |one: &str, other: &str| {
            content(&Entry::new(one.as_bytes())) == content(&Entry::new(other.as_bytes()))
        };
        let user = r#"{"type":"user","timestamp":"x","message":{"content":"Hi"}}"#;
        assert!(same(user, r#"{"type":"user","message":{"role":"user","content":"Hi"}}"#));
        assert!(!same(user, r#"{"type":"user","message":{"content":"Ho"}}"#));
        assert!(!same(user, r#"{"type":"assistant","message":{"content":"Hi"}}"#));
        assert!(!same(r#"{"type":"system","content":"a"}"#, r#"{"type":"system","content":"b"}"#));
        let attachment = |name: &str| format!(r#"{{"type":"attachment","attachment":{{"type":"{name}"}}}}"#);
        assert!(!same(&attachment("date"), &attachment("file")));
        assert!(same(r#"{"type":"progress","n":1}"#, r#"{"type":"progress","n":2}"#));
    }
}
