//! Keeps the search index up to date while the server runs.

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use annals_api::Masking;
use annals_engine::{Engine, FollowOptions, IndexOptions};

/// How long the thread waits for changes before it looks whether it should end.
const WAIT: Duration = Duration::from_secs(1);
/// Changes that follow each other closely are indexed together.
const PAUSE: Duration = Duration::from_millis(5);

/// A thread that indexes what is new. It ends when this is dropped; what it has indexed stays.
#[derive(Debug)]
pub struct IndexKeeper {
    is_over: Arc<AtomicBool>,
}

impl IndexKeeper {
    pub(crate) fn start(engine: Engine, masking: Masking, poll: bool) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let keeper = Self { is_over: is_over.clone() };
        let work = move || keep(&engine, &masking, poll, &is_over);
        thread::Builder::new().name("index".to_owned()).spawn(work)?;
        Ok(keeper)
    }
}

impl Drop for IndexKeeper {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn keep(engine: &Engine, masking: &Masking, poll: bool, is_over: &AtomicBool) {
    // Changes are followed before the first update, so that it misses none.
    let mut follower = engine.follow(&FollowOptions { only: None, poll });
    let mut is_behind = true;
    while !is_over.load(Ordering::Relaxed) {
        if is_behind {
            is_behind = !update(engine, masking, is_over);
        }
        let mut changed = BTreeSet::new();
        follower.wait(WAIT, |file, _| {
            changed.insert(file.path.clone());
        });
        if changed.is_empty() || is_behind {
            continue;
        }
        // If the changed files cannot be indexed alone, everything is compared in the next round.
        let changed: Vec<_> = changed.into_iter().collect();
        let updated = engine.update_index_files(masking, &options(), &changed);
        is_behind = !updated.is_ok_and(|report| report.is_complete && report.errors.is_empty());
        thread::sleep(PAUSE);
    }
}

/// Indexes what is new. Returns whether everything is indexed; another process may be at work, or the disk may be full.
fn update(engine: &Engine, masking: &Masking, is_over: &AtomicBool) -> bool {
    let report = engine.update_index(masking, &options(), |_| {
        if is_over.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    report.is_ok_and(|report| report.is_complete)
}

/// Returns options that never wait for another process: it may be at work for minutes, and the server has to end.
fn options() -> IndexOptions {
    IndexOptions { wait: Duration::ZERO, keeps_other_rules: true, ..IndexOptions::default() }
}
