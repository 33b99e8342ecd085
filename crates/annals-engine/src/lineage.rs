//! Lineage: sessions that share entries, and which of them came first.
//!
//! Old versions of Claude Code copied a session into a new file when they resumed it. `--fork-session` and `/branch` still copy,
//! and keep the uuids; the SDK's fork makes new uuids and names the old ones. Old versions also wrote the title of a session
//! into the files of other sessions.

use std::collections::HashSet;
use std::ops::ControlFlow;

use annals_transcript::entry::view::{ContinuedIn, Summary};
use annals_transcript::json::Value;
use annals_transcript::{Entry, Kind, Reader};

use crate::catalog;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::{Selection, TranscriptFile, open_regular};

/// How another session is related to one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Relation {
    /// The other session.
    pub other: TranscriptFile,
    /// How it is related.
    pub kinship: Kinship,
    /// How many entries both sessions have, or were copied from one to the other.
    pub shared: usize,
    /// The uuid of the last of them in the session that was asked about: here the two diverge.
    pub last_shared: Option<String>,
}

/// What the other session is to the session that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kinship {
    /// The session was copied from the other.
    Origin,
    /// The other was copied from the session.
    Copy,
    /// Both have the same entries, and it is not known which came first.
    Twin,
    /// The session continues in the other.
    Continuation,
    /// The other holds a title of the session.
    TitleKeeper,
}

impl Kinship {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kinship::Origin => "origin",
            Kinship::Copy => "copy",
            Kinship::Twin => "twin",
            Kinship::Continuation => "continuation",
            Kinship::TitleKeeper => "title",
        }
    }
}

pub(crate) fn lineage(file: &TranscriptFile) -> Result<Vec<Relation>, Error> {
    let mut siblings = Selection::default();
    if let Some(folder) = file.path.parent() {
        siblings.add_project(folder);
    }
    relations(file, siblings.files, || ControlFlow::Continue(()))
}

/// Returns the sessions of any project that have entries in common with a session, the closest first. Only those are read that have a
/// message without a parent in common with it, according to the catalogue. `go_on` is asked between files, and may end the reading.
pub(crate) fn copies_of(
    engine: &Engine,
    file: &TranscriptFile,
    mut go_on: impl FnMut() -> ControlFlow<()>,
) -> Result<Vec<Relation>, Error> {
    let copies = catalog::copies(engine, &mut go_on);
    let mut groups = copies.groups.into_iter();
    let Some(group) = groups.find(|group| group.iter().any(|other| other.path == file.path)) else {
        return Ok(Vec::new());
    };
    let mut relations = relations(file, group, go_on)?;
    relations.retain(|relation| relation.shared > 0);
    Ok(relations)
}

fn relations(
    file: &TranscriptFile,
    others: Vec<TranscriptFile>,
    mut go_on: impl FnMut() -> ControlFlow<()>,
) -> Result<Vec<Relation>, Error> {
    let own = Ancestry::read(file)?;
    let mut relations = Vec::new();
    for other in others {
        if other.agent.is_some() || other.path == file.path {
            continue;
        }
        if go_on().is_break() {
            break;
        }
        // The relations of a session that cannot be read are not known.
        let Ok(theirs) = Ancestry::read(&other) else { continue };
        relations.extend(own.relations_to(file, &theirs, &other));
    }
    relations.sort_by_key(|relation| (relation.kinship, std::cmp::Reverse(relation.shared)));
    Ok(relations)
}

/// The parts of a transcript that say where it comes from.
#[derive(Default)]
struct Ancestry {
    /// The messages in file order.
    messages: Vec<Message>,
    ids: HashSet<String>,
    copies: Vec<CopiedMessage>,
    continued_in: Vec<String>,
    /// The ids of messages whose sessions have a title in this transcript.
    titled: Vec<String>,
}

/// A message, with the session that its line names.
struct Message {
    id: String,
    session: Option<String>,
}

/// A message that names the message it was copied from.
struct CopiedMessage {
    original_session: String,
    original: String,
    copy: String,
}

impl Ancestry {
    fn read(file: &TranscriptFile) -> Result<Self, Error> {
        let mut reader = Reader::new(open_regular(&file.path).map_err(Error::reading(&file.path))?);
        let mut ancestry = Self::default();
        while let Some(entry) = reader.read().map_err(Error::reading(&file.path))? {
            ancestry.add(&entry);
        }
        Ok(ancestry)
    }

    fn add(&mut self, entry: &Entry<'_>) {
        let head = entry.head();
        match head.kind {
            Kind::Summary => {
                self.titled.extend(entry.view::<Summary>().and_then(|record| record.leaf()).map(Into::into));
            }
            Kind::ContinuedIn => {
                self.continued_in
                    .extend(entry.view::<ContinuedIn>().and_then(|record| record.session()).map(Into::into));
            }
            kind if kind.is_message() => {
                let Some(id) = head.id.map(|id| id.decode().into_owned()) else { return };
                self.copies.extend(entry.body().and_then(|body| CopiedMessage::read(body, &id)));
                let session = head.session.map(|session| session.decode().into_owned());
                self.messages.push(Message { id: id.clone(), session });
                self.ids.insert(id);
            }
            _ => {}
        }
    }

    fn relations_to(&self, file: &TranscriptFile, theirs: &Self, other: &TranscriptFile) -> Vec<Relation> {
        let shared: Vec<&str> =
            self.messages.iter().map(|message| &*message.id).filter(|id| theirs.ids.contains(*id)).collect();
        let mut found = Vec::new();
        found.extend(self.copy_relation(file, theirs, other, &shared));
        if other.session.as_ref().is_some_and(|session| self.continued_in.contains(session)) {
            found.push((Kinship::Continuation, shared.clone()));
        }
        if theirs.titled.iter().any(|leaf| self.ids.contains(leaf) && !theirs.ids.contains(leaf)) {
            found.push((Kinship::TitleKeeper, Vec::new()));
        }
        found.into_iter().map(|(kinship, shared)| Relation::new(other, kinship, &shared)).collect()
    }

    /// Returns whether one of two sessions is a copy of the other, with the ids of the entries that both have. Entries that
    /// name their original decide; if there are none, `shared` entries with the same id do.
    fn copy_relation<'a>(
        &'a self,
        file: &TranscriptFile,
        theirs: &'a Self,
        other: &TranscriptFile,
        shared: &[&'a str],
    ) -> Option<(Kinship, Vec<&'a str>)> {
        let from_other: Vec<_> = self.copies_from(other, theirs).map(|copied| &*copied.copy).collect();
        if !from_other.is_empty() {
            return Some((Kinship::Origin, from_other));
        }
        let to_other: Vec<_> = theirs.copies_from(file, self).map(|copied| &*copied.original).collect();
        if !to_other.is_empty() {
            return Some((Kinship::Copy, to_other));
        }
        let is_shared = !shared.is_empty();
        is_shared.then(|| (self.which_came_first(file, theirs, other), shared.to_vec()))
    }

    /// Returns the messages that name a message of another session as their original.
    fn copies_from(&self, other: &TranscriptFile, theirs: &Self) -> impl Iterator<Item = &CopiedMessage> {
        self.copies.iter().filter(|copied| {
            other.session.as_ref() == Some(&copied.original_session) && theirs.ids.contains(&copied.original)
        })
    }

    /// Decides for two files with the same entries which one is the copy: the file whose entries still name the session of
    /// the other; else the file without messages of its own between the shared ones, if the other file has some; else the
    /// file that has all messages of the other and more.
    fn which_came_first(&self, file: &TranscriptFile, theirs: &Self, other: &TranscriptFile) -> Kinship {
        // Each pair says whether this file is the copy, and whether the other one is.
        let is_copy = [
            (self.names_session(other), theirs.names_session(file)),
            (theirs.has_more_between(self), self.has_more_between(theirs)),
            (theirs.ids.is_subset(&self.ids), self.ids.is_subset(&theirs.ids)),
        ];
        match is_copy.into_iter().find(|(this, other)| this != other) {
            Some((true, _)) => Kinship::Origin,
            Some((false, _)) => Kinship::Copy,
            None => Kinship::Twin,
        }
    }

    /// Returns whether any message names the session of another file as its own.
    fn names_session(&self, other: &TranscriptFile) -> bool {
        other.session.is_some() && self.messages.iter().any(|message| message.session == other.session)
    }

    /// Returns whether there are messages that only this file has before the last one that both have.
    fn has_more_between(&self, other: &Self) -> bool {
        let last = self.messages.iter().rposition(|message| other.ids.contains(&message.id)).unwrap_or(0);
        self.messages[..last].iter().any(|message| !other.ids.contains(&message.id))
    }
}

impl Relation {
    fn new(other: &TranscriptFile, kinship: Kinship, shared: &[&str]) -> Self {
        let last_shared = shared.last().map(|&id| id.to_owned());
        Self { other: other.clone(), kinship, shared: shared.len(), last_shared }
    }
}

impl CopiedMessage {
    fn read(body: Value<'_>, id: &str) -> Option<Self> {
        let from = body.get("forkedFrom")?;
        Some(Self {
            original_session: from.text("sessionId")?.into_owned(),
            original: from.text("messageUuid")?.into_owned(),
            copy: id.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::ops::ControlFlow;

    use crate::roots::Roots;

    const A: &str = "aaaaaaaa-0000-4000-8000-000000000000";
    const B: &str = "bbbbbbbb-0000-4000-8000-000000000000";

    /// Writes two sessions and returns what B is to A, how many entries they share, and where they diverge.
    fn relation(a: &[String], b: &[String]) -> Vec<(&'static str, usize, Option<String>)> {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("projects/-p");
        fs::create_dir_all(&folder).unwrap();
        for (session, lines) in [(A, a), (B, b)] {
            fs::write(folder.join(format!("{session}.jsonl")), lines.join("\n")).unwrap();
        }
        let engine = crate::Engine::open(
            Roots::given(vec![home.path().to_owned()]).unwrap(),
            crate::Home::at(home.path()),
        );
        let file = engine.session(A.as_ref()).unwrap();
        let relations = engine.lineage(&file).unwrap();
        relations
            .into_iter()
            .map(|relation| (relation.kinship.name(), relation.shared, relation.last_shared))
            .collect()
    }

    fn message(uuid: &str, session: &str, more: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":null,"sessionId":"{session}","message":{{}}{more}}}"#
        )
    }

    #[test]
    fn copies_are_told_from_originals() {
        let fork = |uuid: &str| format!(r#","forkedFrom":{{"sessionId":"{A}","messageUuid":"{uuid}"}}"#);
        // Old versions of Claude Code copied lines with the old session's id.
        let old = [message("1", A, ""), message("2", A, ""), message("3", B, "")];
        assert_eq!(relation(&old[..2], &old), [("copy", 2, Some("2".to_owned()))]);
        // `/branch` keeps uuids and names their origin.
        let branch = [message("1", B, &fork("1")), message("9", B, "")];
        assert_eq!(
            relation(&[message("1", A, ""), message("2", A, "")], &branch),
            [("copy", 1, Some("1".to_owned()))]
        );
        // The SDK makes new uuids.
        let sdk = [message("x", B, &fork("1")), message("y", B, &fork("2"))];
        assert_eq!(
            relation(&[message("1", A, ""), message("2", A, "")], &sdk),
            [("copy", 2, Some("2".to_owned()))]
        );
        // `--fork-session` keeps uuids and names nothing, but copies only what is on the chain.
        let fork_session = [message("1", B, ""), message("3", B, ""), message("9", B, "")];
        let whole = [message("1", A, ""), message("2", A, ""), message("3", A, ""), message("4", A, "")];
        assert_eq!(relation(&whole, &fork_session), [("copy", 2, Some("3".to_owned()))]);
        assert_eq!(relation(&whole[..1], &fork_session), [("copy", 1, Some("1".to_owned()))]);
        assert_eq!(
            relation(&[message("1", A, ""), message("5", A, "")], &fork_session[..2]),
            [("twin", 1, Some("1".to_owned()))]
        );
        let origin = [message("1", B, ""), message("2", B, "")];
        let copy = [message("x", A, &fork("1").replace(A, B))];
        assert_eq!(relation(&copy, &origin), [("origin", 1, Some("x".to_owned()))]);
    }

    #[test]
    fn reading_ends_when_the_caller_says_so() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("projects/-p");
        fs::create_dir_all(&folder).unwrap();
        for session in [A, B, "cccccccc-0000-4000-8000-000000000000"] {
            fs::write(folder.join(format!("{session}.jsonl")), message("1", session, "")).unwrap();
        }
        let mut selection = super::Selection::default();
        selection.add_project(&folder);
        let file = selection.files.iter().find(|file| file.session.as_deref() == Some(A)).unwrap().clone();
        for most in 0..=2 {
            let mut asked = 0;
            let go_on = || {
                asked += 1;
                if asked > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let found = super::relations(&file, selection.files.clone(), go_on).unwrap();
            assert_eq!(found.len(), most);
        }
    }

    #[test]
    fn continuations_and_titles_elsewhere_are_relations_too() {
        let goes_on = format!(r#"{{"type":"continued-in","sessionId":"{A}","continuedInSessionId":"{B}"}}"#);
        assert_eq!(
            relation(&[message("1", A, ""), goes_on], &[message("2", B, "")]),
            [("continuation", 0, None)]
        );
        let title = r#"{"type":"summary","summary":"T","leafUuid":"1"}"#.to_owned();
        assert_eq!(relation(&[message("1", A, "")], &[title]), [("title", 0, None)]);
        assert_eq!(relation(&[message("1", A, "")], &[message("2", B, "")]), []);
    }
}
