//! Notices as the system seldom gives them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::Arc;

use notify::event::{CreateKind, Flag};
use notify::{Event, EventKind, NullWatcher};

use super::notices::Inbox;
use super::*;
use crate::{Home, Roots};

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

/// Follows one session, by notices that the test gives, and returns how many entries more are told after some.
fn told_after(notices: &dyn Fn(&Path) -> Vec<Event>) -> usize {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(format!("projects/-p/{SESSION}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{}\n").unwrap();
    let engine = Engine::open(Roots::given(vec![root.path().to_owned()]).unwrap(), Home::at(root.path()));
    let mut follower = engine.follow(&FollowOptions::default());
    let inbox = Arc::new(Inbox::default());
    follower.notices = Some(Notices::with(Box::new(NullWatcher), Arc::clone(&inbox)));
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"a\":1}\n").unwrap();
    for notice in notices(&path) {
        inbox.put(Ok(notice));
    }
    follower.wait(Duration::from_millis(50), |_, _| {})
}

fn created(path: impl Into<PathBuf>) -> Event {
    Event::new(EventKind::Create(CreateKind::File)).add_path(path.into())
}

#[test]
fn only_what_is_noticed_is_looked_at() {
    assert_eq!(told_after(&|_| Vec::new()), 0);
    assert_eq!(told_after(&|path| vec![created(path.with_file_name("other.jsonl"))]), 0);
    assert_eq!(told_after(&|path| vec![created(path), created(path)]), 1);
}

#[test]
fn everything_is_looked_at_when_notices_were_lost() {
    assert_eq!(told_after(&|_| vec![Event::new(EventKind::Other).set_flag(Flag::Rescan)]), 1);
}

#[test]
fn everything_is_looked_at_when_there_are_too_many_notices() {
    let many = |path: &Path| (0..20_000).map(|number| created(path.join(number.to_string()))).collect();
    assert_eq!(told_after(&many), 1);
}

#[test]
fn that_a_file_was_opened_is_no_news() {
    let opened = EventKind::Access(notify::event::AccessKind::Open(notify::event::AccessMode::Any));
    assert_eq!(told_after(&|path| vec![Event::new(opened).add_path(path.to_owned())]), 0);
}
