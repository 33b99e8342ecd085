//! Notifications that the operating system seldom sends.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::Arc;

use notify::event::{CreateKind, Flag};
use notify::{Event, EventKind, NullWatcher};

use super::watcher::Inbox;
use super::*;
use crate::{Home, Roots};

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

/// Appends an entry to a session that is followed, sends notifications, and returns how many events are reported.
fn events_after(notifications: &dyn Fn(&Path) -> Vec<Event>) -> usize {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(format!("projects/-p/{SESSION}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{}\n").unwrap();
    let engine = Engine::open(Roots::given(vec![root.path().to_owned()]).unwrap(), Home::at(root.path()));
    let mut follower = engine.follow(&FollowOptions::default());
    let inbox = Arc::new(Inbox::default());
    follower.watcher = Some(FileWatcher::with(Box::new(NullWatcher), Arc::clone(&inbox)));
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"a\":1}\n").unwrap();
    for notification in notifications(&path) {
        inbox.put(Ok(notification));
    }
    follower.wait(Duration::from_millis(50), |_, _| {})
}

fn created(path: impl Into<PathBuf>) -> Event {
    Event::new(EventKind::Create(CreateKind::File)).add_path(path.into())
}

#[test]
fn only_paths_that_changed_are_checked() {
    assert_eq!(events_after(&|_| Vec::new()), 0);
    assert_eq!(events_after(&|path| vec![created(path.with_file_name("other.jsonl"))]), 0);
    assert_eq!(events_after(&|path| vec![created(path), created(path)]), 1);
}

#[test]
fn all_files_are_checked_when_notifications_were_lost() {
    assert_eq!(events_after(&|_| vec![Event::new(EventKind::Other).set_flag(Flag::Rescan)]), 1);
}

#[test]
fn all_files_are_checked_when_there_are_too_many_notifications() {
    let many = |path: &Path| (0..20_000).map(|number| created(path.join(number.to_string()))).collect();
    assert_eq!(events_after(&many), 1);
}

#[test]
fn opening_a_file_is_not_a_change() {
    let opened = EventKind::Access(notify::event::AccessKind::Open(notify::event::AccessMode::Any));
    assert_eq!(events_after(&|path| vec![Event::new(opened).add_path(path.to_owned())]), 0);
}
