//! Pushing to a server in memory that misbehaves, with pauses that take no time.

use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use annals_transcript::checkpoint::Checkpoint;
use annals_transcript::write::fs::Disk;
use testkit::faults::{FaultyDisk, every_fault};
use testkit::ingress::{Answer, Fault, Log};

use super::*;
use crate::{Home, Roots};

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const ADDRESS: &str = "https://example.org/log";

/// A server in memory. Each request takes the next fault of a list.
#[derive(Clone, Debug, Default)]
struct Server {
    log: Arc<Mutex<Log>>,
    faults: Arc<Mutex<Vec<Fault>>>,
}

impl Server {
    fn ids(&self) -> Vec<String> {
        let log = self.log.lock().unwrap();
        log.entries().iter().map(|entry| id_of(entry)).collect()
    }

    fn plan(&self, faults: impl IntoIterator<Item = Fault>) {
        let mut faults: Vec<_> = faults.into_iter().collect();
        faults.reverse();
        *self.faults.lock().unwrap() = faults;
    }
}

/// Returns the uuid of an entry, or its type.
fn id_of(entry: &[u8]) -> String {
    let entry: serde_json::Value = serde_json::from_slice(entry).unwrap();
    entry["uuid"].as_str().or(entry["type"].as_str()).unwrap().to_owned()
}

impl Ingress for Server {
    fn put(&self, address: &str, entry: &PutEntry<'_>) -> PutAnswer {
        assert_eq!(address, ADDRESS);
        let fault = self.faults.lock().unwrap().pop();
        let mut log = self.log.lock().unwrap();
        let unavailable = || PutAnswer::Unavailable { reason: "no answer".into(), retry_after: None };
        let head = |head: Option<&str>| PutAnswer::Conflict { head: head.map(str::to_owned) };
        if fault.is_none_or(Fault::stores) {
            match log.put(entry.after, entry.key, entry.body) {
                Answer::Stored if fault.is_none() => return PutAnswer::Stored,
                Answer::Conflict(head) if fault.is_none() => return PutAnswer::Conflict { head },
                _ => {}
            }
        }
        match fault {
            Some(Fault::StatusBefore(401)) => PutAnswer::Unauthorized,
            Some(Fault::OlderHead) => head(log.older_head()),
            Some(Fault::NeedlessConflict) => head(log.head()),
            Some(Fault::UnknownHead) => head(Some("unknown")),
            _ => unavailable(),
        }
    }
}

/// A session in a folder of its own.
struct World {
    folder: tempfile::TempDir,
    server: Server,
}

thread_local! {
    static PAUSES: RefCell<Vec<Duration>> = const { RefCell::new(Vec::new()) };
    static ANNOUNCED: RefCell<Vec<Duration>> = const { RefCell::new(Vec::new()) };
}

fn options() -> PushOptions {
    let wait = |pause: Duration| PAUSES.with_borrow_mut(|pauses| pauses.push(pause));
    let announce = |_: &str, pause: Duration| ANNOUNCED.with_borrow_mut(|pauses| pauses.push(pause));
    PushOptions { retry: Retry { wait, announce, ..Retry::default() }, ..PushOptions::default() }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("root/projects/-p").join(format!("{SESSION}.jsonl"))
}

fn line(id: &str) -> String {
    format!("{{\"type\":\"user\",\"uuid\":\"{id}\",\"text\":\"{}\"}}\n", "x".repeat(100))
}

fn append(folder: &Path, text: &str) {
    fs::create_dir_all(path(folder).parent().unwrap()).unwrap();
    fs::File::options()
        .create(true)
        .append(true)
        .open(path(folder))
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

fn pusher_on(folder: &Path, disk: Arc<dyn Disk>, server: &Server, options: PushOptions) -> Pusher {
    fs::create_dir_all(folder.join("root/projects")).unwrap();
    let roots = Roots::given(vec![folder.join("root")]).unwrap();
    let engine = Engine::open(roots, Home::at(folder.join("home"))).with_disk(disk);
    let file = TranscriptFile { path: path(folder), session: Some(SESSION.into()), agent: None };
    engine.pusher(&file, ADDRESS, Box::new(server.clone()), options).unwrap()
}

impl World {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), server: Server::default() }
    }

    fn with(ids: &[&str]) -> Self {
        let world = Self::new();
        world.add(ids);
        world
    }

    fn add(&self, ids: &[&str]) {
        append(self.folder.path(), &ids.iter().map(|id| line(id)).collect::<String>());
    }

    fn pusher(&self, options: PushOptions) -> Pusher {
        pusher_on(self.folder.path(), Arc::new(FaultyDisk::sound()), &self.server, options)
    }

    /// Pushes as a process of its own would.
    fn push(&self) -> Result<PushOutcome, PushError> {
        self.pusher(options()).push()
    }

    fn forget_progress(&self) {
        fs::remove_dir_all(self.folder.path().join("home/push")).unwrap();
    }
}

#[test]
fn entries_are_sent_in_order_and_each_once() {
    let world = World::with(&["a", "b"]);
    let pushed = world.push().unwrap();
    assert_eq!((pushed.sent, pushed.pending, pushed.last.as_deref()), (2, 0, Some("b")));
    assert_eq!(world.push().unwrap().sent, 0);
    // Another program appends, too: a uuid that is known, a torn line, a line that is still being written.
    append(world.folder.path(), &(line("c") + &line("a") + "{\"uuid\":\"torn\n" + line("d").trim_end()));
    assert_eq!(world.push().unwrap().sent, 1);
    append(world.folder.path(), "\n");
    assert_eq!(world.push().unwrap().sent, 1);
    assert_eq!(world.server.ids(), ["a", "b", "c", "d"]);
    let log = world.server.log.lock().unwrap();
    assert_eq!(log.entries()[0], line("a").trim_end().as_bytes(), "the bytes of the line");
}

#[test]
fn a_missing_transcript_has_nothing_to_send() {
    assert_eq!(World::new().push().unwrap(), PushOutcome::default());
}

#[test]
fn what_was_stored_without_an_answer_is_not_stored_again() {
    for fault in [Fault::DropAfter, Fault::DropBefore, Fault::HalfAnswer, Fault::StatusBefore(500)] {
        let world = World::with(&["a", "b", "c"]);
        world.server.plan([fault; 5]);
        assert_eq!(world.push().unwrap().pending, 0, "{fault:?}");
        assert_eq!(world.server.ids(), ["a", "b", "c"], "{fault:?}");
    }
}

#[test]
fn pauses_double_up_to_eight_seconds_and_the_tenth_try_is_the_last() {
    let world = World::with(&["a", "b"]);
    world.server.plan([Fault::DropBefore; 10]);
    PAUSES.with_borrow_mut(Vec::clear);
    let error = world.push().unwrap_err();
    assert!(matches!(error, PushError::Unavailable { tries: 10, .. }) && !error.is_final(), "{error}");
    let pauses = PAUSES.with_borrow(|pauses| pauses.iter().map(Duration::as_millis).collect::<Vec<_>>());
    assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 8000, 8000, 8000, 8000]);
    let announced = ANNOUNCED.take();
    assert_eq!(PAUSES.take(), announced, "each is reported to the user");
    assert_eq!(world.pusher(options()).pending().unwrap().pending, 2);
    assert_eq!(world.push().unwrap().sent, 2);
}

#[test]
fn the_head_of_the_server_says_where_to_continue() {
    let world = World::with(&["a", "b", "c"]);
    world.push().unwrap();
    world.forget_progress();
    world.add(&["d"]);
    assert_eq!(world.push().unwrap().sent, 1, "progress is not needed to find the place");
    // The server loses its newest entries.
    world.server.log.lock().unwrap().forget(2);
    world.add(&["e"]);
    assert_eq!(world.push().unwrap().pending, 0);
    assert_eq!(world.server.ids(), ["a", "b", "c", "d", "e"]);
    // The server loses everything.
    world.server.log.lock().unwrap().forget(5);
    world.add(&["f"]);
    world.push().unwrap();
    assert_eq!(world.server.ids(), ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn a_server_that_contradicts_itself_is_not_asked_for_ever() {
    for fault in [Fault::OlderHead, Fault::NeedlessConflict] {
        let world = World::with(&["a", "b", "c"]);
        world.push().unwrap();
        world.add(&["d"]);
        world.server.plan([fault; 1000]);
        assert!(matches!(world.push(), Err(PushError::Unavailable { .. })), "{fault:?}");
        world.server.plan([]);
        world.push().unwrap();
        assert_eq!(world.server.ids(), ["a", "b", "c", "d"], "{fault:?}");
    }
}

#[test]
fn an_unknown_head_and_a_refused_token_stop_the_push() {
    let world = World::with(&["a"]);
    world.server.plan([Fault::UnknownHead]);
    let error = world.push().unwrap_err();
    assert!(matches!(&error, PushError::UnknownHead { head } if head == "unknown") && error.is_final());
    world.server.plan([Fault::StatusBefore(401)]);
    let error = world.push().unwrap_err();
    assert!(matches!(error, PushError::Unauthorized) && error.is_final());
    assert_eq!(world.server.ids(), [""; 0]);
}

#[test]
fn a_rewrite_stops_the_push_until_it_is_restarted() {
    let world = World::with(&["a", "b"]);
    world.push().unwrap();
    let (file, beside) = (path(world.folder.path()), world.folder.path().join("beside"));
    let replace = |text: String| {
        fs::write(&beside, text).unwrap();
        fs::rename(&beside, &file).unwrap();
    };
    replace(line("a") + &line("b") + &line("c"));
    assert!(matches!(world.push(), Err(PushError::Rewritten { .. })));
    assert_eq!(world.server.ids(), ["a", "b"]);
    let restart = PushOptions { restart: true, ..options() };
    assert_eq!(world.pusher(restart).push().unwrap().sent, 1);
    assert_eq!(world.push().unwrap().pending, 0, "the new progress counts");
    // The entry that the server has last is gone.
    replace(line("a") + &line("b"));
    assert!(matches!(world.pusher(restart).push(), Err(PushError::UnknownHead { head }) if head == "c"));
    // A file that is cut off and grows again.
    let world = World::with(&["a", "b"]);
    world.push().unwrap();
    let file = fs::File::options().write(true).open(path(world.folder.path())).unwrap();
    file.set_len(line("a").len() as u64).unwrap();
    world.add(&["x", "y"]);
    assert!(matches!(world.push(), Err(PushError::Rewritten { .. })));
    // A pusher notices it, too, between two pushes.
    let world = World::with(&["a", "b"]);
    let mut pusher = world.pusher(options());
    pusher.push().unwrap();
    fs::remove_file(path(world.folder.path())).unwrap();
    assert!(matches!(pusher.push(), Err(PushError::Rewritten { .. })));
}

/// A restart forgets what earlier pushes stored; as long as nothing else is stored, nothing is known to be on the server.
#[test]
fn a_restart_that_fails_reports_everything_as_pending_and_can_be_repeated() {
    let world = World::with(&["a", "b"]);
    world.push().unwrap();
    world.add(&["c"]);
    let mut pusher = world.pusher(PushOptions { restart: true, ..options() });
    world.server.plan([Fault::StatusBefore(401)]);
    let report = pusher.push_and_report();
    assert!(matches!(report.error, Some(PushError::Unauthorized)));
    assert_eq!((report.outcome.sent, report.outcome.pending, report.outcome.last), (0, 3, None));
    // The progress that the restart was to forget would stop the same pusher.
    let (file, beside) = (path(world.folder.path()), world.folder.path().join("beside"));
    fs::copy(&file, &beside).unwrap();
    fs::rename(&beside, &file).unwrap();
    let mut pusher = world.pusher(PushOptions { restart: true, ..options() });
    world.server.plan([Fault::StatusBefore(401)]);
    assert_eq!(pusher.push_and_report().outcome.pending, 3);
    let report = pusher.push_and_report();
    assert!(report.error.is_none(), "{:?}", report.error);
    assert_eq!((report.outcome.sent, report.outcome.pending), (1, 0));
    assert_eq!(world.server.ids(), ["a", "b", "c"]);
    // From then on the new progress counts.
    world.add(&["d", "e"]);
    world.server.plan([Fault::StatusBefore(401)]);
    assert_eq!(pusher.push_and_report().outcome.pending, 2);
}

/// A server during whose second request the transcript is changed.
#[derive(Debug)]
struct ChangedMeanwhile {
    server: Server,
    change: fn(&Path),
    path: PathBuf,
}

impl Ingress for ChangedMeanwhile {
    fn put(&self, address: &str, entry: &PutEntry<'_>) -> PutAnswer {
        if self.server.ids().len() == 1 {
            (self.change)(&self.path);
        }
        self.server.put(address, entry)
    }
}

#[test]
fn a_rewrite_or_a_deletion_stops_a_running_push() {
    let changes: [fn(&Path); 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| {
            let beside = path.with_extension("beside");
            fs::write(&beside, line("a") + &line("b") + &line("d")).unwrap();
            fs::rename(beside, path).unwrap();
        },
        |path| {
            let length = line("a").len() + line("b").len();
            fs::File::options().write(true).open(path).unwrap().set_len(length as u64).unwrap();
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let world = World::with(&["a", "b", "c", "d"]);
        let mut pusher = world.pusher(options());
        let path = path(world.folder.path());
        pusher.ingress = Box::new(ChangedMeanwhile { server: world.server.clone(), change, path });
        assert!(matches!(pusher.push(), Err(PushError::Rewritten { .. })), "{number}");
        assert_eq!(
            world.server.ids(),
            ["a", "b"],
            "the entry that was on its way, and no later one: {number}"
        );
    }
}

#[test]
fn a_push_that_dies_after_its_first_entry_notices_a_rewrite_later() {
    let world = World::with(&["a", "b", "c"]);
    let mut pusher = world.pusher(options());
    let die = |_: &Path| panic!("killed");
    let path = path(world.folder.path());
    let server = world.server.clone();
    pusher.ingress = Box::new(ChangedMeanwhile { server, change: die, path: path.clone() });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pusher.push())).is_err());
    let beside = path.with_extension("beside");
    fs::write(&beside, line("a") + &line("c")).unwrap();
    fs::rename(beside, path).unwrap();
    assert!(matches!(world.push(), Err(PushError::Rewritten { .. })));
    assert_eq!(world.server.ids(), ["a"]);
}

#[test]
fn records_are_sent_on_request_with_a_key() {
    let world = World::with(&["a"]);
    append(world.folder.path(), "{\"type\":\"tag\"}\n{\"type\":\"mode\",\"uuid\":\"no\\nheader\"}\n");
    world.add(&["b"]);
    append(world.folder.path(), "{\"type\":\"title\"}\n");
    world.push().unwrap();
    assert_eq!(world.server.ids(), ["a", "b"]);
    let all = PushOptions { all: true, ..options() };
    world.server.plan([Fault::DropAfter, Fault::DropBefore, Fault::DropAfter]);
    assert_eq!(world.pusher(all).push().unwrap().pending, 0);
    assert_eq!(world.server.ids(), ["a", "b", "tag", "no\nheader", "title"], "what was left out comes later");
    world.forget_progress();
    world.pusher(all).push().unwrap();
    assert_eq!(world.server.ids().len(), 5, "the keys are the same");
    // From the start, they are in order.
    let other = World { folder: world.folder, server: Server::default() };
    other.pusher(PushOptions { restart: true, ..all }).push().unwrap();
    assert_eq!(other.server.ids(), ["a", "tag", "no\nheader", "b", "title"]);
}

/// A server that does no more than PUSH.md asks for: it adds a record to any log.
#[derive(Debug)]
struct AcceptsAnyRecord(Server);

impl Ingress for AcceptsAnyRecord {
    fn put(&self, address: &str, entry: &PutEntry<'_>) -> PutAnswer {
        let head = self.0.log.lock().unwrap().head().map(str::to_owned);
        let after = if entry.key.is_some() { head.as_deref() } else { entry.after };
        self.0.put(address, &PutEntry { after, ..*entry })
    }
}

#[test]
fn no_record_is_added_to_the_log_of_another_transcript() {
    let world = World::new();
    append(world.folder.path(), "{\"type\":\"title\"}\n");
    world.add(&["a", "b"]);
    let all = PushOptions { all: true, ..options() };
    world.server.log.lock().unwrap().put(None, None, line("foreign").as_bytes());
    let mut pusher = world.pusher(all);
    pusher.ingress = Box::new(AcceptsAnyRecord(world.server.clone()));
    assert!(matches!(pusher.push(), Err(PushError::UnknownHead { .. })));
    assert_eq!(world.server.ids(), ["foreign"]);
    // In a log of its own, the records in front of the first entry follow it.
    world.server.log.lock().unwrap().forget(1);
    world.pusher(all).push().unwrap();
    assert_eq!(world.server.ids(), ["a", "title", "b"]);
}

/// Such progress was saved by versions that sent records to a log that was empty.
#[test]
fn progress_that_names_no_entry_does_not_say_whose_log_it_is() {
    let world = World::new();
    append(world.folder.path(), "{\"type\":\"title\"}\n{\"type\":\"tag\"}\n");
    let all = PushOptions { all: true, ..options() };
    let mut pusher = world.pusher(all);
    pusher.ingress = Box::new(AcceptsAnyRecord(world.server.clone()));
    let file = path(world.folder.path());
    let identity = FileState::of(&file).unwrap().unwrap().identity;
    let checkpoint = Checkpoint::at(&mut fs::File::open(&file).unwrap(), identity, 0).unwrap();
    fs::create_dir_all(pusher.progress.parent().unwrap()).unwrap();
    let progress = format!(
        "{{\"version\":1,\"session\":\"{SESSION}\",\"address\":\"{ADDRESS}\",\"checkpoint\":\"{checkpoint}\",\
         \"records\":10,\"last\":null}}"
    );
    fs::write(&pusher.progress, progress).unwrap();
    world.server.log.lock().unwrap().put(None, None, line("foreign").as_bytes());
    let outcome = pusher.push().unwrap();
    assert_eq!((outcome.sent, outcome.waiting), (0, 2));
    assert_eq!(world.server.ids(), ["foreign"]);
}

#[test]
fn records_follow_the_first_entry_into_a_log_that_the_server_lost() {
    let world = World::new();
    append(world.folder.path(), "{\"type\":\"title\"}\n");
    world.add(&["a"]);
    let all = PushOptions { all: true, ..options() };
    let push = || {
        let mut pusher = world.pusher(all);
        pusher.ingress = Box::new(AcceptsAnyRecord(world.server.clone()));
        pusher.push()
    };
    push().unwrap();
    assert_eq!(world.server.ids(), ["a", "title"]);
    // The first answer says that the log is empty, the next one ends the push.
    *world.server.log.lock().unwrap() = Log::default();
    world.add(&["b"]);
    world.server.plan([Fault::NeedlessConflict, Fault::StatusBefore(401)]);
    assert!(matches!(push(), Err(PushError::Unauthorized)));
    assert_eq!(world.server.ids(), [""; 0], "no record is in front of the first entry");
    // Meanwhile the log became another's.
    world.server.log.lock().unwrap().put(None, None, line("foreign").as_bytes());
    assert!(matches!(push(), Err(PushError::UnknownHead { .. })));
    assert_eq!(world.server.ids(), ["foreign"]);
    *world.server.log.lock().unwrap() = Log::default();
    push().unwrap();
    assert_eq!(world.server.ids(), ["a", "title", "b"]);
}

#[test]
fn records_wait_for_the_first_entry_with_a_uuid() {
    let world = World::new();
    append(world.folder.path(), "{\"type\":\"title\"}\n{\"type\":\"tag\"}\n");
    let all = PushOptions { all: true, ..options() };
    world.server.log.lock().unwrap().put(None, None, line("foreign").as_bytes());
    let mut pusher = world.pusher(all);
    pusher.ingress = Box::new(AcceptsAnyRecord(world.server.clone()));
    let outcome = pusher.push().unwrap();
    assert_eq!((outcome.sent, outcome.pending, outcome.waiting), (0, 2, 2));
    assert_eq!(world.server.ids(), ["foreign"], "nothing was added to another log");
    assert_eq!(world.pusher(all).pending().unwrap(), outcome);
    assert_eq!(world.pusher(options()).pending().unwrap(), PushOutcome::default(), "they are not requested");
    // In a log of their own, they follow the entry.
    world.server.log.lock().unwrap().forget(1);
    world.add(&["a"]);
    assert_eq!(world.pusher(all).pending().unwrap().waiting, 0);
    let outcome = world.pusher(all).push().unwrap();
    assert_eq!((outcome.sent, outcome.pending, outcome.waiting), (3, 0, 0));
    assert_eq!(world.server.ids(), ["a", "title", "tag"]);
}

#[test]
fn entries_whose_uuid_cannot_be_a_header_are_counted() {
    let world = World::with(&["a", "茶 1", "b"]);
    let outcome = world.push().unwrap();
    assert_eq!((outcome.sent, outcome.pending, outcome.skipped), (2, 0, 1));
    let outcome = world.pusher(PushOptions { all: true, ..options() }).push().unwrap();
    assert_eq!((outcome.sent, outcome.skipped), (1, 0));
    assert_eq!(world.server.ids(), ["a", "b", "茶 1"]);
}

#[test]
fn bytes_that_are_not_utf8_are_sent_as_claude_code_reads_them() {
    let world = World::new();
    let folder = path(world.folder.path());
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    fs::write(folder, b"{\"type\":\"user\",\"uuid\":\"a\",\"text\":\"\xFF\"}\n").unwrap();
    assert_eq!(world.push().unwrap().sent, 1);
    let log = world.server.log.lock().unwrap();
    let expected = "{\"type\":\"user\",\"uuid\":\"a\",\"text\":\"\u{FFFD}\"}";
    assert_eq!(log.entries()[0], expected.as_bytes());
}

#[test]
fn one_process_at_a_time_pushes_a_transcript_to_an_address() {
    let world = World::with(&["a"]);
    let pusher = world.pusher(options());
    let lock = pusher.lock().unwrap();
    let name = pusher.progress.file_stem().unwrap().to_str().unwrap();
    let lock_of = |name: &str| {
        let path = world.folder.path().join(format!("home/locks/{name}.push.lock"));
        lock_file(&FaultyDisk::sound(), &path, Access::Exclusive, Duration::ZERO)
    };
    assert!(lock_of(name).unwrap_err().is_busy());
    // A subagent has a log and a lock of its own.
    let agent = progress::path(pusher.engine.home(), SESSION, Some("a1"), ADDRESS);
    assert!(lock_of(agent.file_stem().unwrap().to_str().unwrap()).is_ok());
    drop(lock);
    assert_eq!(world.push().unwrap().sent, 1);
}

#[test]
fn a_push_that_gives_way_to_another_one_says_what_is_pending() {
    let world = World::with(&["a", "b"]);
    let lock = world.pusher(options()).lock().unwrap();
    let mut second = Pusher { lock_timeout: Duration::ZERO, ..world.pusher(options()) };
    let report = second.push_and_report();
    assert!(matches!(report.error, Some(PushError::Busy)));
    assert_eq!((report.outcome.sent, report.outcome.pending), (0, 2));
    drop(lock);
}

#[test]
fn a_push_in_the_background_sends_what_was_appended_before_it_ends() {
    let world = World::with(&["a"]);
    let background = BackgroundPusher::start(world.pusher(options()));
    for id in ["b", "c", "d"] {
        world.add(&[id]);
        background.wake();
    }
    let report = background.finish();
    assert!(report.error.is_none());
    assert_eq!((report.outcome.sent, report.outcome.pending), (4, 0));
    assert_eq!(world.server.ids(), ["a", "b", "c", "d"]);
    // A failure is reported with what is pending, and the next process goes on.
    world.add(&["e", "f"]);
    world.server.plan([Fault::StatusBefore(401)]);
    let report = BackgroundPusher::start(world.pusher(options())).finish();
    assert!(matches!(report.error, Some(PushError::Unauthorized)));
    assert_eq!((report.outcome.sent, report.outcome.pending), (0, 2));
    assert_eq!(world.push().unwrap().sent, 2);
}

#[test]
fn whatever_fails_on_disk_the_server_has_each_entry_once_and_in_order() {
    let server = || Server::default();
    let failures = every_fault(
        |folder| append(folder, &(line("a") + &line("b") + &line("c"))),
        |disk, folder| {
            let server = server();
            server.plan([Fault::DropAfter]);
            let _ = pusher_on(folder, disk, &server, options()).push();
            server
        },
        |folder, fault, server| {
            let context = format!("{fault:?}");
            assert_eq!(
                fs::read_to_string(path(folder)).unwrap(),
                line("a") + &line("b") + &line("c"),
                "{context}"
            );
            append(folder, &line("d"));
            let disk = Arc::new(FaultyDisk::sound());
            pusher_on(folder, disk, server, options()).push().expect("the next push goes on");
            assert_eq!(server.ids(), ["a", "b", "c", "d"], "{context}");
        },
    );
    assert!(failures > 20, "{failures}");
}

#[test]
fn any_order_of_faults_crashes_and_growth_ends_with_equal_logs() {
    // A generator of our own: the standard library has none, and the sequence must be the same on every machine.
    let mut state = 1_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..30 {
        let world = World::new();
        let mut ids = Vec::new();
        for round in 0..20 {
            let new: Vec<_> = (0..random(4)).map(|number| format!("{round}-{number}")).collect();
            world.add(&new.iter().map(String::as_str).collect::<Vec<_>>());
            ids.extend(new);
            world.server.plan((0..random(8)).map(|_| Fault::ALL[random(Fault::ALL.len())]));
            let _ = world.push();
            if random(3) == 0 && world.folder.path().join("home/push").exists() {
                // A process that is killed has not saved its progress.
                world.forget_progress();
            }
        }
        world.server.plan([]);
        assert_eq!(world.push().unwrap().pending, 0);
        assert_eq!(world.server.ids(), ids);
    }
}
