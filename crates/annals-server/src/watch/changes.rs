//! Changes of sessions that are not reported yet, and the notices that report them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use annals_engine::{
    Engine, SessionRow, SymlinkGuard, TranscriptFile, TranscriptKind, TrashChange, TrashEntry,
};
use annals_proto::ChangedNotice;
use annals_transcript::paths::SessionPaths;

use super::FileEvent;
use super::members::{Members, Membership};
use annals_api::to_wire;

/// How many sessions one notice may report.
const MAX_SESSIONS_PER_NOTICE: usize = 200;
/// Once a notice has this many bytes, the remaining changes wait for the next notice.
const MAX_NOTICE_BYTES: usize = 256 << 10;

/// The changes to report next: one for each session and each entry of the trash, however much happened to it.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    pending: Changes,
    /// New sessions that were not reported, because they are no conversations yet.
    unannounced: BTreeSet<PathBuf>,
}

/// Changes that are not reported yet.
#[derive(Debug, Default)]
pub(super) struct Changes {
    sessions: BTreeMap<PathBuf, Change>,
    /// What happened to entries of the trash, by their names, which are never used again.
    trash: BTreeMap<(String, String), (TrashChange, TrashEntry)>,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.trash.is_empty()
    }
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
    pending: Changes,
    unannounced: Vec<PathBuf>,
    /// Sessions that are being moved to the trash or from it. What is beside them is known after the move, which is a change, too.
    moving: Vec<PathBuf>,
}

impl PendingChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Records what happened to a file.
    pub(super) fn record(&mut self, file: &TranscriptFile, event: FileEvent) {
        let (path, change) = match (&file.agent, event) {
            (None, FileEvent::Created) => (file.path.clone(), Change::Added),
            (None, FileEvent::Modified | FileEvent::DescriptionChanged) => {
                (file.path.clone(), Change::Updated)
            }
            (None, FileEvent::Removed) => (file.path.clone(), Change::Removed),
            // Lists show the number of subagents, so the session has changed.
            (Some(_), FileEvent::Created | FileEvent::Removed) => match session_transcript(file) {
                Some(path) => (path, Change::Updated),
                None => return,
            },
            (Some(_), FileEvent::Modified | FileEvent::DescriptionChanged) => return,
        };
        self.add(path, change);
    }

    fn add(&mut self, path: PathBuf, change: Change) {
        let is_unannounced = self.unannounced.remove(&path);
        if let Some(change) = merged(self.pending.sessions.remove(&path), change, is_unannounced) {
            self.pending.sessions.insert(path, change);
        }
    }

    /// Records what happened to an entry of the trash. An entry that is gone before it was reported is not reported.
    pub(super) fn record_trash(&mut self, change: TrashChange, entry: &TrashEntry) {
        let name = (entry.session.clone(), entry.entry.clone());
        let before = self.pending.trash.insert(name.clone(), (change, entry.clone()));
        if before.is_some_and(|(before, _)| before == TrashChange::Trashed) && change != TrashChange::Trashed
        {
            self.pending.trash.remove(&name);
        }
    }

    /// Takes the pending changes.
    pub(super) fn take(&mut self) -> Changes {
        std::mem::take(&mut self.pending)
    }

    /// Puts back what a notice could not report, before the changes that were recorded meanwhile. Returns whether another
    /// notice is needed at once.
    pub(super) fn put_back(&mut self, remainder: Remainder) -> bool {
        self.unannounced.extend(remainder.unannounced);
        let has_more = !remainder.pending.is_empty();
        let since = std::mem::replace(&mut self.pending, remainder.pending);
        for (path, change) in since.sessions {
            self.add(path, change);
        }
        for (change, entry) in since.trash.into_values() {
            self.record_trash(change, &entry);
        }
        for path in remainder.moving {
            self.pending.sessions.entry(path).or_insert(Change::Updated);
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

/// Builds a notice of pending changes, for a subscriber of all sessions or of a working directory with its members; `None`
/// if there is nothing to report.
pub(super) fn build_notice(
    engine: &Engine,
    subscription: String,
    mut changes: Changes,
    members: Option<&mut Members>,
) -> (Option<ChangedNotice>, Remainder) {
    let mut remainder = Remainder::default();
    if changes.is_empty() {
        return (None, remainder);
    }
    if let Some(path) = changes.sessions.keys().nth(MAX_SESSIONS_PER_NOTICE).cloned() {
        remainder.pending.sessions = changes.sessions.split_off(&path);
    }
    if let Some(name) = changes.trash.keys().nth(MAX_SESSIONS_PER_NOTICE).cloned() {
        remainder.pending.trash = changes.trash.split_off(&name);
    }
    let notice = ChangedNotice { subscription, ..ChangedNotice::default() };
    let mut builder = NoticeBuilder { engine, guard: engine.symlink_guard(), members, notice, bytes: 0 };
    for (change, entry) in changes.trash.into_values() {
        builder.add_trash(change, &entry);
    }
    while let Some((path, change)) = changes.sessions.pop_first() {
        if builder.bytes > MAX_NOTICE_BYTES {
            remainder.pending.sessions.insert(path, change);
            remainder.pending.sessions.append(&mut changes.sessions);
            break;
        }
        match builder.add(&path, change) {
            Announcement::Done => {}
            Announcement::NoConversation => remainder.unannounced.push(path),
            Announcement::Moving => remainder.moving.push(path),
        }
    }
    (builder.finish(), remainder)
}

/// Whether a change was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Announcement {
    Done,
    /// The session is new, and has no conversation yet.
    NoConversation,
    /// The files of the session are being moved.
    Moving,
}

struct NoticeBuilder<'a> {
    engine: &'a Engine,
    guard: SymlinkGuard,
    /// The sessions of the working directory, if only these are reported.
    members: Option<&'a mut Members>,
    notice: ChangedNotice,
    bytes: usize,
}

impl NoticeBuilder<'_> {
    /// Adds what happened to a session.
    fn add(&mut self, path: &Path, change: Change) -> Announcement {
        let file = TranscriptFile::at(path);
        if change == Change::Removed {
            self.add_removed(path, &file);
            return Announcement::Done;
        }
        // A session that cannot be read now is reported when it changes again.
        let Some(row) = session_row(self.engine, &file, &mut self.guard) else { return Announcement::Done };
        if row.facts.kind != TranscriptKind::Conversation {
            return if change == Change::Added { Announcement::NoConversation } else { Announcement::Done };
        }
        // Asked after the row was read, because the move may have begun meanwhile.
        if change == Change::Updated && self.engine.is_moving(&file) {
            return Announcement::Moving;
        }
        self.add_row(row, change);
        Announcement::Done
    }

    /// Adds a session as it is now. In a working directory, it depends on its members whether the session is new.
    fn add_row(&mut self, row: SessionRow, change: Change) {
        let membership = match &mut self.members {
            Some(members) => members.note(&row),
            None if change == Change::Added => Membership::Joined,
            None => Membership::Member,
        };
        let is_new = change == Change::Added || membership == Membership::Joined;
        match membership {
            Membership::Stranger => return,
            Membership::Left => return self.notice.removed.extend(row.file.session),
            Membership::Joined | Membership::Member => {}
        }
        self.bytes += to_wire::weight(&row);
        let list = if is_new { &mut self.notice.added } else { &mut self.notice.updated };
        list.push(to_wire::session(row));
    }

    /// Adds a session whose transcript is gone. If it was moved, or a copy of it is elsewhere, that one is reported as
    /// changed instead: peers know sessions by their ids.
    fn add_removed(&mut self, path: &Path, file: &TranscriptFile) {
        let is_known = self.members.as_mut().is_none_or(|members| members.forget(path));
        let Some(session) = file.session.clone().filter(|_| is_known) else { return };
        let elsewhere: Vec<_> = self.rows_elsewhere(&session);
        if elsewhere.is_empty() {
            self.notice.removed.push(session);
            return;
        }
        for row in elsewhere {
            if !self.is_reported(&row) {
                self.add_row(row, Change::Updated);
            }
        }
    }

    fn is_reported(&self, row: &SessionRow) -> bool {
        let path = Some(row.file.path.as_path().into());
        self.notice.added.iter().chain(&self.notice.updated).any(|listed| listed.path == path)
    }

    /// Returns the sessions with this id that are reported to the subscriber.
    fn rows_elsewhere(&mut self, session: &str) -> Vec<SessionRow> {
        let files = self.engine.transcripts_with_id(session);
        let rows = files.iter().filter_map(|file| session_row(self.engine, file, &mut self.guard));
        let conversations = rows.filter(|row| row.facts.kind == TranscriptKind::Conversation);
        let mut rows: Vec<_> = conversations.collect();
        if let Some(members) = &mut self.members {
            rows.retain(|row| members.includes(row));
        }
        rows
    }

    fn add_trash(&mut self, change: TrashChange, entry: &TrashEntry) {
        if self.members.as_mut().is_none_or(|members| members.includes_trashed(entry)) {
            self.notice.trash.push(to_wire::trash_notice(change, entry));
        }
    }

    /// Returns the notice; `None` if it reports nothing.
    fn finish(self) -> Option<ChangedNotice> {
        let ChangedNotice { added, updated, removed, trash, .. } = &self.notice;
        let is_empty = added.is_empty() && updated.is_empty() && removed.is_empty() && trash.is_empty();
        (!is_empty).then_some(self.notice)
    }
}

/// Returns a session as lists show it; `None` if it has no id, cannot be read, or is reached through a symlink out of the config
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
            assert_eq!(changes.take().sessions.get(&path).copied(), expected, "{events:?}");
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
        assert_eq!(changes.take().sessions.get(&path), Some(&Change::Added));
        changes.record(&file, FileEvent::Modified);
        assert_eq!(changes.take().sessions.get(&path), Some(&Change::Updated));
    }

    #[test]
    fn a_session_that_is_removed_before_it_becomes_a_conversation_is_not_reported() {
        let path = PathBuf::from(format!("/p/{SESSION}.jsonl"));
        let mut changes = PendingChanges::default();
        changes.put_back(Remainder { unannounced: vec![path.clone()], ..Remainder::default() });
        changes.record(&TranscriptFile::at(&path), FileEvent::Removed);
        assert!(changes.is_empty());
        changes.record(&TranscriptFile::at(&path), FileEvent::Modified);
        assert_eq!(
            changes.take().sessions.get(&path),
            Some(&Change::Updated),
            "it is not unannounced any more"
        );
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
            assert_eq!(changes.take().sessions.get(&session), Some(&Change::Updated), "{agent}");
        }
    }

    #[test]
    fn a_session_that_is_being_deleted_is_not_reported_without_its_title() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join(".claude/projects/-p");
        let trash = home.path().join("annals/trash");
        let moving = trash.join(format!("{SESSION}.20260102T030405006.moving"));
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(&moving).unwrap();
        let path = project.join(format!("{SESSION}.jsonl"));
        let line = r#"{"type":"user","uuid":"u","parentUuid":null,"message":{"content":"Brew"}}"#;
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let roots = annals_engine::Roots::given(vec![home.path().join(".claude")]).unwrap();
        let engine = Engine::open(roots, annals_engine::Home::at(home.path().join("annals")));
        let locks = home.path().join("annals/locks");
        std::fs::create_dir_all(&locks).unwrap();
        let lock = std::fs::File::create(locks.join(format!("{SESSION}.lock"))).unwrap();
        lock.lock().unwrap();
        let agent = TranscriptFile {
            session: Some(SESSION.to_owned()),
            ..TranscriptFile::at(&project.join(format!("{SESSION}/subagents/agent-a1.jsonl")))
        };
        let mut changes = PendingChanges::default();
        // The folder of the session is moved before its transcript.
        changes.record(&agent, FileEvent::Removed);
        let (notice, remainder) = build_notice(&engine, String::new(), changes.take(), None);
        assert!(notice.is_none(), "{notice:?}");
        assert!(!changes.put_back(remainder), "the end of the move is waited for");
        lock.unlock().unwrap();
        let (notice, _) = build_notice(&engine, String::new(), changes.take(), None);
        assert_eq!(notice.unwrap().updated.len(), 1, "an interrupted move is not waited for");
        std::fs::rename(&path, moving.join("transcript")).unwrap();
        changes.record(&TranscriptFile::at(&path), FileEvent::Removed);
        let (notice, _) = build_notice(&engine, String::new(), changes.take(), None);
        let notice = notice.unwrap();
        assert_eq!((notice.updated.len(), &notice.removed[..]), (0, &[SESSION.to_owned()][..]));
    }
}
