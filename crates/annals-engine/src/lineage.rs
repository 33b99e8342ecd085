//! Lineage: sessions that share entries, and which of them came first.
//!
//! Resuming used to copy a session into a new file; `--fork-session` and `/branch` still do, with the same uuids; the
//! SDK's fork makes new uuids and names the old ones. Titles of old clients stand in other sessions' files.

use std::collections::HashSet;

use annals_transcript::entry::view::{ContinuedIn, Summary};
use annals_transcript::json::Value;
use annals_transcript::{Entry, Kind, Reader};

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
    /// How many entries both have, or were copied from one to the other.
    pub shared: usize,
    /// The last of them, by its uuid in the session asked about: where the two part.
    pub last_shared: Option<String>,
}

/// What another session is to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kinship {
    /// The session was copied from the other.
    Origin,
    /// The other was copied from the session.
    Copy,
    /// Both have the same entries, and nothing tells which came first.
    Twin,
    /// The session goes on in the other.
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
    let own = Ancestry::read(file)?;
    let mut siblings = Selection::default();
    if let Some(folder) = file.path.parent() {
        siblings.add_project(folder);
    }
    let mut relations = Vec::new();
    for other in siblings.files {
        if other.agent.is_some() || other.path == file.path {
            continue;
        }
        // A session that cannot be read is related to nothing that we know of.
        let Ok(theirs) = Ancestry::read(&other) else { continue };
        relations.extend(own.relations_to(file, &theirs, &other));
    }
    relations.sort_by_key(|relation| (relation.kinship, std::cmp::Reverse(relation.shared)));
    Ok(relations)
}

/// What a transcript tells about where it comes from.
#[derive(Default)]
struct Ancestry {
    /// The messages in file order, with the session that each says it belongs to.
    messages: Vec<(String, Option<String>)>,
    ids: HashSet<String>,
    /// Sessions and messages that entries were copied from, with the copy.
    forked_from: Vec<(String, String, String)>,
    continued_in: Vec<String>,
    titled: Vec<String>,
}

impl Ancestry {
    fn read(file: &TranscriptFile) -> Result<Self, Error> {
        let failed = |source| Error::read(&file.path, source);
        let mut reader = Reader::new(open_regular(&file.path).map_err(failed)?);
        let mut ancestry = Self::default();
        while let Some(entry) = reader.read().map_err(failed)? {
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
                if let Some(from) = entry.body().and_then(forked_from) {
                    self.forked_from.push((from.0, from.1, id.clone()));
                }
                self.messages.push((id.clone(), head.session.map(|session| session.decode().into_owned())));
                self.ids.insert(id);
            }
            _ => {}
        }
    }

    fn relations_to(&self, file: &TranscriptFile, theirs: &Self, other: &TranscriptFile) -> Vec<Relation> {
        let mut relations = Vec::new();
        let mut add = |kinship, shared: usize, last_shared: Option<&String>| {
            let last_shared = last_shared.cloned();
            relations.push(Relation { other: other.clone(), kinship, shared, last_shared });
        };
        let shared: Vec<&String> =
            self.messages.iter().map(|(id, _)| id).filter(|id| theirs.ids.contains(*id)).collect();
        let copied_here: Vec<_> = self.copies_from(other, theirs).collect();
        let given_on: Vec<_> = theirs.copies_from(file, self).collect();
        if !copied_here.is_empty() {
            add(Kinship::Origin, copied_here.len(), copied_here.last().map(|(_, copy)| *copy));
        } else if !given_on.is_empty() {
            add(Kinship::Copy, given_on.len(), given_on.last().map(|(from, _)| *from));
        } else if !shared.is_empty() {
            add(self.who_came_first(file, theirs, other), shared.len(), shared.last().copied());
        }
        if other.session.as_ref().is_some_and(|session| self.continued_in.contains(session)) {
            add(Kinship::Continuation, shared.len(), shared.last().copied());
        }
        if theirs.titled.iter().any(|leaf| self.ids.contains(leaf) && !theirs.ids.contains(leaf)) {
            add(Kinship::TitleKeeper, 0, None);
        }
        relations
    }

    /// Returns the messages that say that they were copied from another session, as pairs of original and copy.
    fn copies_from<'a>(
        &'a self,
        other: &'a TranscriptFile,
        theirs: &'a Self,
    ) -> impl Iterator<Item = (&'a String, &'a String)> {
        let is_other = move |session: &String| other.session.as_ref() == Some(session);
        let copies = self.forked_from.iter().filter(move |(session, ..)| is_other(session));
        copies.map(|(_, from, copy)| (from, copy)).filter(|(from, _)| theirs.ids.contains(*from))
    }

    /// Decides for two files with the same entries which one is the copy: the one whose entries still name the other's
    /// session; else the one in which nothing stands between the shared entries, where the other has more; else the one
    /// that goes on where the other has ended.
    fn who_came_first(&self, file: &TranscriptFile, theirs: &Self, other: &TranscriptFile) -> Kinship {
        let names = |messages: &[(String, Option<String>)], session: &Option<String>| {
            session.is_some() && messages.iter().any(|(_, named)| named == session)
        };
        let copy_here = [
            (names(&self.messages, &other.session), names(&theirs.messages, &file.session)),
            (theirs.has_more_between(self), self.has_more_between(theirs)),
            (theirs.ids.is_subset(&self.ids), self.ids.is_subset(&theirs.ids)),
        ];
        match copy_here.into_iter().find(|(here, there)| here != there) {
            Some((true, _)) => Kinship::Origin,
            Some((false, _)) => Kinship::Copy,
            None => Kinship::Twin,
        }
    }

    /// Returns whether messages of its own stand before the last one that another file has too.
    fn has_more_between(&self, other: &Self) -> bool {
        let is_shared = |(id, _): &(String, Option<String>)| other.ids.contains(id);
        let last = self.messages.iter().rposition(is_shared).unwrap_or(0);
        !self.messages[..last].iter().all(is_shared)
    }
}

fn forked_from(body: Value<'_>) -> Option<(String, String)> {
    let from = body.get("forkedFrom")?;
    Some((from.text("sessionId")?.into_owned(), from.text("messageUuid")?.into_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::roots::Roots;

    const A: &str = "aaaaaaaa-0000-4000-8000-000000000000";
    const B: &str = "bbbbbbbb-0000-4000-8000-000000000000";

    /// Writes two sessions and tells what B is to A, how much they share, and where they part.
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
        // Old clients copied lines with the old session's id.
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
