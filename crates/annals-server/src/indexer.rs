//! Keeps the search index up to date while the server runs.

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use annals_api::Masking;
use annals_engine::{Engine, Error, FollowOptions, IndexOptions, IndexReport};

/// How long the thread waits for changes before it looks whether it should end.
const WAIT: Duration = Duration::from_secs(1);
/// Changes that follow each other closely are indexed together.
const PAUSE: Duration = Duration::from_millis(5);
/// How long nothing is tried again after the first failure. Each failure doubles it.
const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// A thread that indexes what is new. It ends when this is dropped; what it has indexed stays.
#[derive(Debug)]
pub struct IndexKeeper {
    is_over: Arc<AtomicBool>,
}

impl IndexKeeper {
    pub(crate) fn start(engine: Engine, masking: Masking, poll: bool) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let keeper = Self { is_over: is_over.clone() };
        let thread = thread::Builder::new().name("index".to_owned());
        thread.spawn(move || keep(&engine, &masking, poll, &is_over))?;
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
    let mut schedule = Schedule::new(Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        if let Some(task) = schedule.next(Instant::now()) {
            let outcome = Outcome::of(&run(&task, engine, masking, is_over));
            schedule.finish(&task, outcome, Instant::now());
            thread::sleep(PAUSE);
        }
        follower.wait(schedule.patience(Instant::now()), |file, _| schedule.add(&file.path));
    }
}

/// Runs a task. It never waits for another process: that may be at work for minutes, and the server has to end.
fn run(task: &Task, engine: &Engine, masking: &Masking, is_over: &AtomicBool) -> Result<IndexReport, Error> {
    let options = IndexOptions { wait: Duration::ZERO, keeps_other_rules: true, ..IndexOptions::default() };
    match task {
        Task::All => engine.update_index(masking, &options, |_| {
            if is_over.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }),
        Task::Files(paths) => engine.update_index_files(masking, &options, paths),
    }
}

/// What is to be indexed next, and when what failed is tried again.
#[derive(Debug)]
struct Schedule {
    /// Whether all transcripts are compared with the index: at the start, and after a failure.
    compares_all: bool,
    /// Transcripts that changed since they were indexed.
    changed: BTreeSet<PathBuf>,
    /// Whether the index could not be updated at all: the disk may be full, or another process at work.
    is_failing: bool,
    /// How often all transcripts were compared without success.
    failures: u32,
    /// All transcripts are not compared before this time.
    not_before: Instant,
}

/// What is indexed at a time.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    All,
    Files(Vec<PathBuf>),
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// Everything is indexed but some transcripts, which could not be read.
    Unread,
    Failed,
}

impl Outcome {
    fn of(updated: &Result<IndexReport, Error>) -> Self {
        match updated {
            Ok(report) if report.is_complete && report.errors.is_empty() => Self::Done,
            Ok(report) if report.is_complete => Self::Unread,
            _ => Self::Failed,
        }
    }
}

impl Schedule {
    fn new(now: Instant) -> Self {
        Self { compares_all: true, changed: BTreeSet::new(), is_failing: false, failures: 0, not_before: now }
    }

    /// Adds a transcript that changed. It stays until it is indexed.
    fn add(&mut self, path: &std::path::Path) {
        if !self.changed.contains(path) {
            self.changed.insert(path.to_owned());
        }
    }

    /// Returns what to do now.
    fn next(&self, now: Instant) -> Option<Task> {
        if self.compares_all && now >= self.not_before {
            return Some(Task::All);
        }
        let can_update = !self.is_failing && !self.changed.is_empty();
        can_update.then(|| Task::Files(self.changed.iter().cloned().collect()))
    }

    /// Records how a task ended. Nothing changes the schedule while a task runs.
    fn finish(&mut self, task: &Task, outcome: Outcome, now: Instant) {
        self.is_failing = outcome == Outcome::Failed;
        if outcome != Outcome::Failed {
            self.changed.clear();
        }
        match (task, outcome) {
            (Task::All, Outcome::Done) => {
                self.compares_all = false;
                self.failures = 0;
            }
            (Task::Files(_), Outcome::Done) => {}
            // A transcript that cannot be read, or an index that cannot be written, is tried again, less and less often.
            (_, Outcome::Unread | Outcome::Failed) => {
                self.compares_all = true;
                self.not_before = now + delay(self.failures);
                self.failures = self.failures.saturating_add(1);
            }
        }
    }

    /// Returns how long to wait for changes before there may be something to do.
    fn patience(&self, now: Instant) -> Duration {
        if self.compares_all { self.not_before.saturating_duration_since(now).min(WAIT) } else { WAIT }
    }
}

/// Returns how long to wait after a failure that followed so many others.
fn delay(failures: u32) -> Duration {
    FIRST_DELAY.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn files(paths: &[&str]) -> Task {
        Task::Files(paths.iter().map(PathBuf::from).collect())
    }

    #[test]
    fn changed_files_are_indexed_alone_after_everything_was_compared() {
        let now = Instant::now();
        let mut schedule = Schedule::new(now);
        schedule.add(Path::new("early"));
        assert_eq!(schedule.next(now), Some(Task::All));
        schedule.finish(&Task::All, Outcome::Done, now);
        assert_eq!(schedule.next(now), None);
        schedule.add(Path::new("b"));
        schedule.add(Path::new("a"));
        schedule.add(Path::new("a"));
        assert_eq!(schedule.next(now), Some(files(&["a", "b"])));
        schedule.finish(&schedule.next(now).unwrap(), Outcome::Done, now);
        assert_eq!(schedule.next(now), None);
        assert_eq!(schedule.patience(now), WAIT);
    }

    #[test]
    fn an_index_that_cannot_be_updated_is_tried_less_and_less_often() {
        let mut now = Instant::now();
        let mut schedule = Schedule::new(now);
        let mut delays = Vec::new();
        for _ in 0..40 {
            assert_eq!(schedule.next(now), Some(Task::All));
            schedule.finish(&Task::All, Outcome::Failed, now);
            // Changes do not make it try earlier.
            schedule.add(Path::new("a"));
            assert_eq!(schedule.next(now), None);
            let delay = schedule.not_before.duration_since(now);
            assert_eq!(schedule.patience(now), delay.min(WAIT));
            assert_eq!(
                schedule.next(schedule.not_before.checked_sub(Duration::from_millis(1)).unwrap()),
                None
            );
            delays.push(delay);
            now = schedule.not_before;
        }
        assert!(delays.is_sorted());
        assert_eq!((delays[0], delays[1], delays[39]), (FIRST_DELAY, FIRST_DELAY * 2, LONGEST_DELAY));
        // After a success, the next failure is the first one again.
        schedule.finish(&Task::All, Outcome::Done, now);
        schedule.add(Path::new("a"));
        schedule.finish(&schedule.next(now).unwrap(), Outcome::Failed, now);
        assert_eq!(schedule.not_before.duration_since(now), FIRST_DELAY);
    }

    #[test]
    fn changed_files_that_could_not_be_indexed_are_tried_again() {
        let now = Instant::now();
        let mut schedule = Schedule::new(now);
        schedule.finish(&Task::All, Outcome::Done, now);
        schedule.add(Path::new("a"));
        schedule.finish(&schedule.next(now).unwrap(), Outcome::Failed, now);
        assert_eq!(schedule.next(now), None);
        assert_eq!(schedule.next(now + FIRST_DELAY), Some(Task::All));
        assert!(schedule.changed.contains(Path::new("a")));
    }

    #[test]
    fn a_transcript_that_cannot_be_read_is_tried_again_and_delays_no_other() {
        let now = Instant::now();
        let mut schedule = Schedule::new(now);
        schedule.finish(&Task::All, Outcome::Unread, now);
        assert_eq!(schedule.next(now), None);
        schedule.add(Path::new("a"));
        assert_eq!(schedule.next(now), Some(files(&["a"])));
        schedule.finish(&schedule.next(now).unwrap(), Outcome::Done, now);
        assert_eq!(schedule.next(now), None);
        assert_eq!(schedule.next(now + FIRST_DELAY), Some(Task::All));
        schedule.finish(&Task::All, Outcome::Unread, now);
        assert_eq!(schedule.not_before.duration_since(now), FIRST_DELAY * 2);
    }
}
