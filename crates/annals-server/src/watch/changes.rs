//! Changes of sessions that are not reported yet, and the notices that report them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use annals_engine::{Engine, SessionRow, SymlinkGuard, TranscriptFile, TranscriptKind};
use annals_proto::ChangedNotice;
use annals_transcript::paths::SessionPaths;

use super::FileEvent;
use annals_api::to_wire;

/// How many sessions one notice may report.
const MAX_SESSIONS_PER_NOTICE: usize = 200;
/// Once a notice has this many bytes, the remaining changes wait for the next notice.
const MAX_NOTICE_BYTES: usize = 256 << 10;

/// The changes to report next: one for each session, however much happened to it.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    pending: BTreeMap<PathBuf, Change>,
    /// New sessions that were not reported, because they are no conversations yet.
    unannounced: BTreeSet<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Added,
    Updated,
    Removed,
}

/// What a notice could not report.
#[derive(Debug, Default)]
pub(super) struct Remainder {
    pending: BTreeMap<PathBuf, Change>,
    unannounced: Vec<PathBuf>,
}

impl PendingChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Records what happened to a file.
    pub(super) fn record(&mut self, file: &TranscriptFile, event: FileEvent) {
        let (path, change) = match (&file.agent, event) {
            (None, FileEvent::Created) => (file.path.clone(), Change::Added),
            (None, FileEvent::Modified) => (file.path.clone(), Change::Updated),
            (None, FileEvent::Removed) => (file.path.clone(), Change::Removed),
            // Lists show the number of subagents, so the session has changed.
            (Some(_), FileEvent::Created | FileEvent::Removed) => match session_transcript(file) {
                Some(path) => (path, Change::Updated),
                None => return,
            },
            (Some(_), FileEvent::Modified) => return,
        };
        self.add(path, change);
    }

    fn add(&mut self, path: PathBuf, change: Change) {
        let is_unannounced = self.unannounced.remove(&path);
        if let Some(change) = merged(self.pending.remove(&path), change, is_unannounced) {
            self.pending.insert(path, change);
        }
    }

    /// Takes the pending changes.
    pub(super) fn take(&mut self) -> BTreeMap<PathBuf, Change> {
        std::mem::take(&mut self.pending)
    }

    /// Puts back what a notice could not report, before the changes that were recorded meanwhile. Returns whether another
    /// notice is needed at once.
    pub(super) fn put_back(&mut self, remainder: Remainder) -> bool {
        self.unannounced.extend(remainder.unannounced);
        let has_more = !remainder.pending.is_empty();
        let since = std::mem::replace(&mut self.pending, remainder.pending);
        for (path, change) in since {
            self.add(path, change);
        }
        has_more
    }
}

/// Returns the change that reports a pending change and a later one together; `None` if there is nothing to report, because
/// the subscriber never knew the session.
fn merged(pending: Option<Change>, change: Change, is_unannounced: bool) -> Option<Change> {
    match (pending, change) {
        (Some(Change::Added), Change::Removed) => None,
        (None, Change::Removed) if is_unannounced => None,
        (Some(Change::Added), _) => Some(Change::Added),
        (Some(Change::Removed), Change::Added) => Some(Change::Updated),
        (_, Change::Updated) if is_unannounced => Some(Change::Added),
        (_, change) => Some(change),
    }
}

/// Builds a notice of pending changes; `None` if there is nothing to report.
pub(super) fn build_notice(
    engine: &Engine,
    subscription: String,
    mut changes: BTreeMap<PathBuf, Change>,
) -> (Option<ChangedNotice>, Remainder) {
    let mut remainder = Remainder::default();
    if changes.is_empty() {
        return (None, remainder);
    }
    if let Some(path) = changes.keys().nth(MAX_SESSIONS_PER_NOTICE).cloned() {
        remainder.pending = changes.split_off(&path);
    }
    let mut notice = ChangedNotice { subscription, ..ChangedNotice::default() };
    let mut guard = engine.symlink_guard();
    let mut bytes = 0;
    while let Some((path, change)) = changes.pop_first() {
        if bytes > MAX_NOTICE_BYTES {
            remainder.pending.insert(path, change);
            remainder.pending.append(&mut changes);
            break;
        }
        let file = TranscriptFile::at(&path);
        if change == Change::Removed {
            notice.removed.extend(file.session);
            continue;
        }
        // A session that cannot be read now is reported when it changes again.
        let Some(listed) = session_row(engine, &file, &mut guard) else { continue };
        bytes += to_wire::weight(&listed);
        match change {
            _ if listed.facts.kind != TranscriptKind::Conversation => {
                remainder.unannounced.extend((change == Change::Added).then_some(path));
            }
            Change::Added => notice.added.push(to_wire::session(listed)),
            _ => notice.updated.push(to_wire::session(listed)),
        }
    }
    let is_empty = notice.added.is_empty() && notice.updated.is_empty() && notice.removed.is_empty();
    ((!is_empty).then_some(notice), remainder)
}

/// Returns a session as lists show it; `None` if it has no id, cannot be read, or is behind a symlink out of the config
/// folders.
fn session_row(engine: &Engine, file: &TranscriptFile, guard: &mut SymlinkGuard) -> Option<SessionRow> {
    file.session.as_ref()?;
    let listed = engine.session_row(file).ok()?;
    guard.allows(&file.path).then_some(listed)
}

/// Returns the transcript of the session that a subagent belongs to.
fn session_transcript(agent: &TranscriptFile) -> Option<PathBuf> {
    let paths = SessionPaths::of_parent(&agent.path, agent.session.as_deref()?)?;
    Some(paths.transcript().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    #[test]
    fn all_events_of_a_session_are_reported_as_one_change() {
        let path = PathBuf::from(format!("/p/{SESSION}.jsonl"));
        let file = TranscriptFile::at(&path);
        for (events, expected) in [
            (&[FileEvent::Created, FileEvent::Modified, FileEvent::Modified][..], Some(Change::Added)),
            (&[FileEvent::Modified, FileEvent::Modified], Some(Change::Updated)),
            (&[FileEvent::Created, FileEvent::Removed], None),
            (&[FileEvent::Modified, FileEvent::Removed], Some(Change::Removed)),
            (&[FileEvent::Removed, FileEvent::Created], Some(Change::Updated)),
        ] {
            let mut changes = PendingChanges::default();
            for event in events {
                changes.record(&file, *event);
            }
            assert_eq!(changes.take().get(&path).copied(), expected, "{events:?}");
        }
    }

    #[test]
    fn a_session_is_added_when_it_becomes_a_conversation() {
        let path = PathBuf::from(format!("/p/{SESSION}.jsonl"));
        let file = TranscriptFile::at(&path);
        let mut changes = PendingChanges::default();
        changes.record(&file, FileEvent::Created);
        changes.take();
        assert!(!changes.put_back(Remainder { unannounced: vec![path.clone()], ..Remainder::default() }));
        changes.record(&file, FileEvent::Modified);
        assert_eq!(changes.take().get(&path), Some(&Change::Added));
        changes.record(&file, FileEvent::Modified);
        assert_eq!(changes.take().get(&path), Some(&Change::Updated));
    }

    #[test]
    fn a_session_that_is_removed_before_it_becomes_a_conversation_is_not_reported() {
        let path = PathBuf::from(format!("/p/{SESSION}.jsonl"));
        let mut changes = PendingChanges::default();
        changes.put_back(Remainder { unannounced: vec![path.clone()], ..Remainder::default() });
        changes.record(&TranscriptFile::at(&path), FileEvent::Removed);
        assert!(changes.is_empty());
        changes.record(&TranscriptFile::at(&path), FileEvent::Modified);
        assert_eq!(changes.take().get(&path), Some(&Change::Updated), "it is not unannounced any more");
    }

    #[test]
    fn a_new_subagent_changes_its_session() {
        for agent in [format!("/p/{SESSION}/subagents/agent-a1.jsonl"), "/p/agent-a1.jsonl".to_owned()] {
            let file =
                TranscriptFile { session: Some(SESSION.to_owned()), ..TranscriptFile::at(agent.as_ref()) };
            let mut changes = PendingChanges::default();
            changes.record(&file, FileEvent::Modified);
            assert!(changes.is_empty());
            changes.record(&file, FileEvent::Created);
            let session = PathBuf::from(format!("/p/{SESSION}.jsonl"));
            assert_eq!(changes.take().get(&session), Some(&Change::Updated), "{agent}");
        }
    }
}
