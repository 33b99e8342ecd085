//! What happened to sessions since it was told last.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use annals_engine::{Engine, TranscriptFile, TranscriptKind};
use annals_proto::ChangedNotice;
use annals_transcript::paths::SessionPaths;

use super::What;
use annals_api::to_wire;

/// How many sessions are told together.
const TOGETHER: usize = 200;
/// Once a notice has so many bytes, the rest waits for the next.
const LONGEST: usize = 256 << 10;

/// What is yet to be told: one word for each session, however much happened to it.
#[derive(Debug, Default)]
pub(super) struct Changes {
    waiting: BTreeMap<PathBuf, Change>,
    /// Sessions that are new, but no conversation yet: nobody was told of them.
    unborn: BTreeSet<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Added,
    Updated,
    Removed,
}

/// What is left when something was told.
#[derive(Debug, Default)]
pub(super) struct Left {
    waiting: BTreeMap<PathBuf, Change>,
    unborn: Vec<PathBuf>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Notes what happened to a file.
    pub(super) fn note(&mut self, file: &TranscriptFile, what: What) {
        let (path, change) = match (&file.agent, what) {
            (None, What::Created) => (file.path.clone(), Change::Added),
            (None, What::Grown) => (file.path.clone(), Change::Updated),
            (None, What::Removed) => (file.path.clone(), Change::Removed),
            // A session with one subagent more or less is another one in lists.
            (Some(_), What::Created | What::Removed) => match session_of(file) {
                Some(path) => (path, Change::Updated),
                None => return,
            },
            (Some(_), What::Grown) => return,
        };
        self.add(path, change);
    }

    fn add(&mut self, path: PathBuf, change: Change) {
        let is_unborn = self.unborn.contains(&path);
        let change = match (self.waiting.get(&path), change) {
            (Some(Change::Added), Change::Removed) => {
                self.waiting.remove(&path);
                return;
            }
            (None, Change::Removed) if is_unborn => {
                self.unborn.remove(&path);
                return;
            }
            (Some(Change::Added), _) => Change::Added,
            (Some(Change::Removed), Change::Added) => Change::Updated,
            (_, Change::Updated) if is_unborn => Change::Added,
            (_, change) => change,
        };
        self.unborn.remove(&path);
        self.waiting.insert(path, change);
    }

    /// Takes what is to be told.
    pub(super) fn take(&mut self) -> BTreeMap<PathBuf, Change> {
        std::mem::take(&mut self.waiting)
    }

    /// Puts back what was not told; returns whether there is something to tell at once.
    pub(super) fn put_back(&mut self, left: Left) -> bool {
        self.unborn.extend(left.unborn);
        let has_more = !left.waiting.is_empty();
        let since = std::mem::replace(&mut self.waiting, left.waiting);
        for (path, change) in since {
            self.add(path, change);
        }
        has_more
    }
}

/// Says what happened; none if it concerns nobody.
pub(super) fn tell(
    engine: &Engine,
    subscription: String,
    mut changes: BTreeMap<PathBuf, Change>,
) -> (Option<ChangedNotice>, Left) {
    let mut left = Left::default();
    if changes.is_empty() {
        return (None, left);
    }
    if let Some(path) = changes.keys().nth(TOGETHER).cloned() {
        left.waiting = changes.split_off(&path);
    }
    let mut notice = ChangedNotice { subscription, ..ChangedNotice::default() };
    let mut guard = engine.symlink_guard();
    let mut bytes = 0;
    while let Some((path, change)) = changes.pop_first() {
        if bytes > LONGEST {
            left.waiting.insert(path, change);
            left.waiting.append(&mut changes);
            break;
        }
        let file = TranscriptFile::at(&path);
        let Some(session) = file.session.clone() else { continue };
        if change == Change::Removed {
            notice.removed.push(session);
            continue;
        }
        // What cannot be read now, or is gone again, is told when it is touched again.
        let Ok(listed) = engine.session_row(&file) else { continue };
        if !guard.allows(&path) {
            continue;
        }
        bytes += to_wire::weight(&listed);
        match change {
            _ if listed.facts.kind != TranscriptKind::Conversation => {
                left.unborn.extend((change == Change::Added).then_some(path));
            }
            Change::Added => notice.added.push(to_wire::session(listed)),
            _ => notice.updated.push(to_wire::session(listed)),
        }
    }
    let says_nothing = notice.added.is_empty() && notice.updated.is_empty() && notice.removed.is_empty();
    ((!says_nothing).then_some(notice), left)
}

/// Returns the transcript of the session that a subagent belongs to.
fn session_of(agent: &TranscriptFile) -> Option<PathBuf> {
    let paths = SessionPaths::of_parent(&agent.path, agent.session.as_deref()?)?;
    Some(paths.transcript().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn however_much_happens_one_word_is_told() {
        let path = PathBuf::from(format!("/p/{SESSION}.jsonl"));
        let file = TranscriptFile::at(&path);
        for (happened, told) in [
            (&[What::Created, What::Grown, What::Grown][..], Some(Change::Added)),
            (&[What::Grown, What::Grown], Some(Change::Updated)),
            (&[What::Created, What::Removed], None),
            (&[What::Grown, What::Removed], Some(Change::Removed)),
            (&[What::Removed, What::Created], Some(Change::Updated)),
        ] {
            let mut changes = Changes::default();
            for what in happened {
                changes.note(&file, *what);
            }
            assert_eq!(changes.take().get(&path).copied(), told, "{happened:?}");
        }
    }

    #[test]
    fn a_session_is_added_when_it_becomes_a_conversation() {
        let path = PathBuf::from(format!("/p/{SESSION}.jsonl"));
        let file = TranscriptFile::at(&path);
        let mut changes = Changes::default();
        changes.note(&file, What::Created);
        changes.take();
        assert!(!changes.put_back(Left { unborn: vec![path.clone()], ..Left::default() }));
        changes.note(&file, What::Grown);
        assert_eq!(changes.take().get(&path), Some(&Change::Added));
        changes.note(&file, What::Grown);
        assert_eq!(changes.take().get(&path), Some(&Change::Updated));
    }

    #[test]
    fn a_subagent_more_changes_its_session() {
        for agent in [format!("/p/{SESSION}/subagents/agent-a1.jsonl"), "/p/agent-a1.jsonl".to_owned()] {
            let file =
                TranscriptFile { session: Some(SESSION.to_owned()), ..TranscriptFile::at(agent.as_ref()) };
            let mut changes = Changes::default();
            changes.note(&file, What::Grown);
            assert!(changes.is_empty());
            changes.note(&file, What::Created);
            let session = PathBuf::from(format!("/p/{SESSION}.jsonl"));
            assert_eq!(changes.take().get(&session), Some(&Change::Updated), "{agent}");
        }
    }
}
