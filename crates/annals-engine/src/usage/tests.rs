//! What is kept: the store, files that grow, go and come back.

#![cfg(feature = "catalog")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals_transcript::write::fs::{Disk, RealDisk};
use annals_usage::{By, Report, ReportOptions};
use proptest::prelude::*;

use super::*;
use crate::{Home, Roots};

const ONE: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const TWO: &str = "4e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.path("projects/-src")).unwrap();
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("config").join(path)
    }

    /// Makes a project that is a link to a folder outside of the config folder.
    fn with_project_outside(self) -> Self {
        let outside = self.folder.path().join("outside");
        fs::create_dir_all(&outside).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(outside, self.path("projects/-outside")).unwrap();
        self
    }

    fn engine(&self) -> Engine {
        let roots = Roots::given(vec![self.folder.path().join("config")]).unwrap();
        Engine::open(roots, Home::at(self.folder.path().join("home")))
    }

    fn write(&self, path: &str, lines: &[String]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, lines.iter().fold(String::new(), |text, line| text + line + "\n")).unwrap();
    }

    /// Returns the number of responses, their output, and how many no transcript has any more. What was merged before makes no difference.
    fn total(&self) -> (u64, u64, u64) {
        let reports = self.reports();
        self.remove_cache();
        assert_eq!(self.reports(), reports);
        total(&self.engine().usage())
    }

    /// Returns all that reports say, and the lines of each response.
    fn reports(&self) -> Vec<String> {
        reports_of(&self.engine().usage())
    }

    /// Returns the same for a caller that is not trusted.
    fn reports_inside(&self) -> Vec<String> {
        reports_of(&self.engine().usage_inside())
    }

    fn remove_cache(&self) {
        let _ = fs::remove_file(self.engine().home().usage_ledger());
    }
}

fn reports_of(usage: &Usage) -> Vec<String> {
    assert!(usage.errors.is_empty() && usage.store_error.is_none(), "{usage:?}");
    let by = [By::Day, By::Session, By::Project, By::Branch, By::Model, By::Block];
    let reports = by.into_iter().map(|by| {
        let options = ReportOptions { by, ..ReportOptions::default() };
        let report = Report::new(&usage.ledger, &Prices::built_in(), &options);
        let rows = report.rows.iter().chain([&report.total]);
        let rows = rows.map(|row| format!("{} {:?} {:?} {:?}", row.key, row.project, row.cells, row.agents));
        rows.collect::<Vec<_>>().join("\n")
    });
    let responses = usage.ledger.responses().map(|response| {
        let (count, file) = (response.count, &usage.ledger.files[response.file as usize]);
        let [model, agent] = [count.model, file.agent].map(|name| usage.ledger.names.text(name));
        let session = &usage.ledger.sessions[response.session as usize].id;
        let (path, line, copies, is_kept) = (&file.path, count.line, response.copies, response.is_kept);
        format!(
            "{path:?} {session} {agent} {} {line} {} {model} {copies} {is_kept}",
            file.is_gone, count.lines
        )
    });
    let mut responses: Vec<_> = responses.collect();
    responses.sort();
    reports.chain(responses).collect()
}

fn total(usage: &Usage) -> (u64, u64, u64) {
    let report = Report::new(&usage.ledger, &Prices::built_in(), &ReportOptions::default());
    let cells = report.total.cells;
    (cells.replies, cells.tokens.output, cells.kept)
}

fn reply(session: &str, id: &str, output: u32) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"u{id}","sessionId":"{session}","cwd":"/src","requestId":"r{id}","message":{{"id":"m{id}","model":"claude-opus-4-8","usage":{{"output_tokens":{output}}}}}}}"#
    )
}

fn main_of(session: &str) -> String {
    format!("projects/-src/{session}.jsonl")
}

fn outside_of(session: &str) -> String {
    format!("projects/-outside/{session}.jsonl")
}

#[test]
fn sessions_subagents_and_copies_are_counted_once() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5), reply(ONE, "2", 7)]);
    world.write(&main_of(TWO), &[reply(TWO, "1", 5), reply(TWO, "3", 100)]);
    world.write(&format!("projects/-src/{ONE}/subagents/agent-a1.jsonl"), &[reply(ONE, "4", 1_000)]);
    world.write(
        &format!("projects/-src/{ONE}/subagents/workflows/w/agent-a2.jsonl"),
        &[reply(ONE, "5", 10_000)],
    );
    world.write("projects/-src/agent-a3.jsonl", &[reply(ONE, "6", 100_000)]);
    world.write(&format!("projects/-src/{ONE}/tool-results/agent-a4.jsonl"), &[reply(ONE, "7", 1)]);
    world.write("projects/-src/notes.jsonl", &[reply(ONE, "8", 1)]);
    assert_eq!(world.total(), (6, 111_112, 0));
    let usage = world.engine().usage();
    let mut sessions: Vec<_> =
        usage.ledger.sessions.iter().map(|session| (&*session.id, session.project.as_deref())).collect();
    sessions.sort_unstable();
    assert_eq!(sessions, [(ONE, Some("/src")), (TWO, Some("/src"))]);
}

#[test]
fn what_grows_is_read_on_and_what_is_deleted_stays_counted() {
    let world = World::new();
    let mut lines = vec![reply(ONE, "1", 5)];
    world.write(&main_of(ONE), &lines);
    assert_eq!(world.total(), (1, 5, 0));
    lines.push(reply(ONE, "2", 7));
    world.write(&main_of(ONE), &lines);
    assert_eq!(world.total(), (2, 12, 0));
    fs::remove_file(world.path(&main_of(ONE))).unwrap();
    assert_eq!(world.total(), (2, 12, 2));
    // A copy elsewhere has one of them.
    world.write(&main_of(TWO), &[reply(TWO, "2", 7)]);
    assert_eq!(world.total(), (2, 12, 1));
    // The file comes back.
    world.write(&main_of(ONE), &lines);
    assert_eq!(world.total(), (2, 12, 0));
}

#[test]
fn forgetting_removes_what_no_transcript_has() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5)]);
    world.write(&main_of(TWO), &[reply(TWO, "2", 7), reply(TWO, "3", 9)]);
    assert_eq!(world.total(), (3, 21, 0));
    assert_eq!(world.engine().forget_usage().unwrap(), 0);
    fs::remove_file(world.path(&main_of(ONE))).unwrap();
    world.write(&main_of(TWO), &[reply(TWO, "3", 9)]);
    assert_eq!(world.total(), (3, 21, 2));
    assert_eq!(world.engine().forget_usage().unwrap(), 2);
    assert_eq!(world.total(), (1, 9, 0));
}

#[test]
fn without_the_store_only_what_is_gone_is_lost() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5)]);
    world.write(&main_of(TWO), &[reply(TWO, "2", 7)]);
    world.total();
    fs::remove_file(world.path(&main_of(ONE))).unwrap();
    assert_eq!(world.total(), (2, 12, 1));
    fs::remove_dir_all(world.folder.path().join("home")).unwrap();
    assert_eq!(world.total(), (1, 7, 0));
}

#[test]
fn other_config_folders_are_not_mixed_in() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5)]);
    world.total();
    let other = World::new();
    let roots = Roots::given(vec![other.folder.path().join("config")]).unwrap();
    let engine = Engine::open(roots, Home::at(world.folder.path().join("home")));
    assert_eq!(total(&engine.usage()), (0, 0, 0));
    assert_eq!(engine.forget_usage().unwrap(), 0);
    assert_eq!(world.total(), (1, 5, 0));
}

#[cfg(unix)]
#[test]
fn a_count_that_leaves_files_out_loses_nothing_for_later_counts() {
    let world = World::new().with_project_outside();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5)]);
    world.write(&outside_of(TWO), &[reply(TWO, "2", 7)]);
    assert_eq!(world.total(), (2, 12, 0));
    let cache = world.engine().home().usage_ledger();
    let whole = fs::read(&cache).unwrap();
    assert_eq!(total(&world.engine().usage_inside()), (1, 5, 0));
    assert_eq!(fs::read(&cache).unwrap(), whole);
    world.remove_cache();
    assert_eq!(total(&world.engine().usage_inside()), (1, 5, 0));
    fs::remove_file(world.path(&outside_of(TWO))).unwrap();
    assert_eq!(total(&world.engine().usage()), (2, 12, 1));
    assert_eq!(world.total(), (2, 12, 1));
}

#[test]
fn a_count_that_leaves_nothing_out_is_cached_for_all() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5)]);
    assert_eq!(total(&world.engine().usage_inside()), (1, 5, 0));
    assert!(world.engine().home().usage_ledger().exists());
    assert_eq!(world.total(), (1, 5, 0));
}

#[test]
fn a_store_that_cannot_be_used_is_left_alone() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5)]);
    let store = world.engine().home().usage_store();
    fs::create_dir_all(store.parent().unwrap()).unwrap();
    fs::write(&store, "this is no database, and belongs to somebody").unwrap();
    let usage = world.engine().usage();
    assert_eq!(total(&usage), (1, 5, 0));
    assert!(usage.store_error.unwrap().to_string().contains("usage.sqlite"));
    assert_eq!(fs::read_to_string(&store).unwrap(), "this is no database, and belongs to somebody");
    fs::remove_file(&store).unwrap();
    world.total();
    rusqlite::Connection::open(&store).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let usage = world.engine().usage();
    assert_eq!(total(&usage), (1, 5, 0));
    assert!(usage.store_error.unwrap().to_string().ends_with("a newer version of annals wrote it"));
}

#[test]
fn the_store_is_for_its_owner_and_has_no_ids() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "-a-message-id", 5)]);
    world.total();
    let store = world.engine().home().usage_store();
    let wal = PathBuf::from(format!("{}-wal", store.display()));
    let bytes: Vec<u8> = [&store, &wal].iter().flat_map(|path| fs::read(path).unwrap_or_default()).collect();
    assert!(memchr::memmem::find(&bytes, b"claude-opus-4-8").is_some());
    assert!(memchr::memmem::find(&bytes, b"-a-message-id").is_none());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&store).unwrap().permissions().mode() & 0o077, 0);
    }
}

#[test]
fn several_processes_count_the_same() {
    let world = World::new();
    for number in 0..20 {
        let session = ONE.replace("3e11", &format!("{number:04}"));
        world.write(&main_of(&session), &[reply(&session, &number.to_string(), 1)]);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(world.total(), (20, 20, 0)));
        }
    });
    assert_eq!(world.total(), (20, 20, 0));
}

#[test]
fn prices_of_the_user_are_read_and_mistakes_are_told() {
    let world = World::new();
    let engine = world.engine();
    assert!(engine.prices().unwrap().of("house").is_none());
    let path = engine.home().prices();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "[[price]]\nmodel = \"house\"\ninput = 1\noutput = 1\n").unwrap();
    assert!(engine.prices().unwrap().of("house").is_some());
    fs::write(&path, "[[price]]\nmodel = \"house\"\ninput = x\n").unwrap();
    let error = engine.prices().unwrap_err().to_string();
    assert!(error.contains("prices.toml: line 3: "), "{error}");
}

#[test]
fn some_files_are_counted_without_a_store() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5)]);
    let files = [
        TranscriptFile::at(Path::new(&world.path(&main_of(ONE)))),
        TranscriptFile::at(Path::new("/nowhere.jsonl")),
    ];
    let usage = world.engine().usage_of(&files);
    assert_eq!((total(&usage), usage.errors.len()), ((1, 5, 0), 1));
    assert!(!world.engine().home().usage_store().exists());
}

fn store_of(world: &World) -> store::Store {
    store::Store::open(&world.engine().home().usage_store()).unwrap()
}

#[test]
fn what_another_process_stored_meanwhile_is_neither_forgotten_nor_replaced() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5), reply(ONE, "2", 7)]);
    world.total();
    // The file is rewritten, so that one response is kept that it no longer has.
    world.write(&main_of(ONE), &[reply(ONE, "2", 7)]);
    assert_eq!(world.total(), (2, 12, 1));
    let mut slow = store_of(&world);
    let read = slow.files().unwrap();
    let mut forgotten = read[0].count().unwrap();
    assert_eq!(forgotten.forget_left(), 1);
    // Another process counts what was appended before the slow one writes.
    world.write(&main_of(ONE), &[reply(ONE, "2", 7), reply(ONE, "3", 9)]);
    assert_eq!(world.total(), (3, 21, 1));
    assert_eq!(slow.forget(&[], &[(&read[0], forgotten)]).unwrap(), 0);
    assert_eq!(world.total(), (3, 21, 1));
    assert_eq!(forget(&world.engine()).unwrap(), 1);
    assert_eq!(world.total(), (2, 16, 0));
}

#[test]
fn what_cannot_be_decoded_is_reported_and_counted_again() {
    // What looks like the work of a newer version is left as it is; what is damaged is replaced.
    for (damage, heals) in [("x'ff00ff'", false), ("x''", true), ("substr(counted, 1, 3)", true)] {
        let world = World::new();
        world.write(&main_of(ONE), &[reply(ONE, "1", 5), reply(ONE, "2", 7)]);
        assert_eq!(world.total(), (2, 12, 0));
        let connection = rusqlite::Connection::open(world.engine().home().usage_store()).unwrap();
        assert_eq!(connection.execute(&format!("UPDATE file SET counted = {damage}"), []).unwrap(), 1);
        // As long as the cache has what was counted, the damage is not noticed.
        assert_eq!(total(&world.engine().usage()), (2, 12, 0));
        world.remove_cache();
        let usage = world.engine().usage();
        assert_eq!((total(&usage), usage.errors.len()), ((2, 12, 0), 1), "{damage}");
        world.write(&main_of(ONE), &[reply(ONE, "1", 5), reply(ONE, "2", 7), reply(ONE, "3", 9)]);
        let usage = world.engine().usage();
        assert_eq!((total(&usage), usage.errors.is_empty()), ((3, 21, 0), heals), "{damage}");
    }
}

#[test]
fn copies_that_a_repair_renamed_are_the_same_response() {
    let world = World::new();
    let copy = reply(ONE, "1", 5).replace("\"m1\"", "\"m1_copy\"").replace("\"u1\"", "\"u9\"");
    world.write(&main_of(ONE), &[reply(ONE, "1", 5), copy]);
    assert_eq!(world.total(), (1, 5, 0));
}

/// Changes of transcripts, and what other processes do.
#[derive(Clone, Debug)]
enum Step {
    Append { session: u8, message: u8, output: u32 },
    AppendToAgent { session: u8, message: u8 },
    Fork { session: u8, to: u8 },
    Rewrite { session: u8, lines: usize },
    Delete { session: u8 },
    Count,
    CountInside,
    RemoveCache,
    Forget,
}

fn some_step() -> impl Strategy<Value = Step> {
    let session = 0..5_u8;
    prop_oneof![
        6 => (session.clone(), 0..12_u8, 1..100_u32)
            .prop_map(|(session, message, output)| Step::Append { session, message, output }),
        2 => (session.clone(), 0..12_u8).prop_map(|(session, message)| Step::AppendToAgent { session, message }),
        1 => (session.clone(), session.clone()).prop_map(|(session, to)| Step::Fork { session, to }),
        1 => (session.clone(), 0..3_usize).prop_map(|(session, lines)| Step::Rewrite { session, lines }),
        1 => session.prop_map(|session| Step::Delete { session }),
        3 => Just(Step::Count),
        2 => Just(Step::CountInside),
        1 => Just(Step::RemoveCache),
        1 => Just(Step::Forget),
    ]
}

fn numbered(session: u8) -> String {
    ONE.replace("3e11", &format!("{session:04}"))
}

/// Returns the path of a session's transcript: the last two are in the project outside.
fn numbered_main(session: u8) -> String {
    if session < 3 { main_of(&numbered(session)) } else { outside_of(&numbered(session)) }
}

impl World {
    fn lines(&self, path: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(path)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn append(&self, path: &str, line: String) {
        let mut lines = self.lines(path);
        lines.push(line);
        self.write(path, &lines);
    }

    fn take(&self, step: &Step) {
        match step {
            Step::Append { session, message, output } => {
                let path = numbered_main(*session);
                let line = reply(&numbered(*session), &message.to_string(), *output);
                // Some lines have no request id, and count once in each family.
                let line = if message % 3 == 0 { line.replace("requestId", "other") } else { line };
                self.append(&path, line);
            }
            Step::AppendToAgent { session, message } => {
                let session = numbered(*session);
                let line = reply(&session, &message.to_string(), 50)
                    .replace("\"type\"", "\"isSidechain\":true,\"type\"");
                self.append(&format!("projects/-src/{session}/subagents/agent-a{message}.jsonl"), line);
            }
            Step::Fork { session, to } => {
                let [path, to_path] = [*session, *to].map(numbered_main);
                let [session, to] = [*session, *to].map(numbered);
                let origin = format!("\"forkedFrom\":{{\"sessionId\":\"{session}\"}},\"type\"");
                let lines = self.lines(&path);
                let lines = lines.iter().map(|line| line.replace(&session, &to).replace("\"type\"", &origin));
                self.write(&to_path, &lines.collect::<Vec<_>>());
            }
            Step::Rewrite { session, lines } => {
                let path = numbered_main(*session);
                let kept: Vec<_> = self.lines(&path).into_iter().rev().take(*lines).collect();
                self.write(&path, &kept);
            }
            Step::Delete { session } => {
                let _ = fs::remove_file(self.path(&numbered_main(*session)));
            }
            Step::Count => drop(self.engine().usage()),
            Step::CountInside => drop(self.engine().usage_inside()),
            Step::RemoveCache => self.remove_cache(),
            Step::Forget => drop(self.engine().forget_usage().unwrap()),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_was_merged_before_changes_no_answer(steps in prop::collection::vec(some_step(), 1..30)) {
        let world = World::new().with_project_outside();
        for step in &steps {
            world.take(step);
        }
        let (cached, inside) = (world.reports(), world.reports_inside());
        // Once more, when nothing has changed.
        prop_assert_eq!(&world.reports(), &cached);
        world.remove_cache();
        prop_assert_eq!(&world.reports_inside(), &inside);
        prop_assert_eq!(&world.reports(), &cached);
        // What a count left out is gone when the next one is made.
        world.remove_cache();
        world.take(&Step::CountInside);
        world.take(&Step::Delete { session: 4 });
        let cached = world.reports();
        world.remove_cache();
        prop_assert_eq!(&world.reports(), &cached);
    }
}

#[test]
fn a_cache_that_is_older_than_the_store_is_brought_up_to_date() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5)]);
    world.total();
    let cache = world.engine().home().usage_ledger();
    let old = fs::read(&cache).unwrap();
    world.write(&main_of(TWO), &[reply(TWO, "2", 7)]);
    world.total();
    fs::remove_file(world.path(&main_of(TWO))).unwrap();
    fs::write(&cache, &old).unwrap();
    assert_eq!(total(&world.engine().usage()), (2, 12, 1));
    // One that is newer, or of another store, is not used.
    fs::remove_file(world.engine().home().usage_store()).unwrap();
    assert_eq!(world.total(), (1, 5, 0));
}

#[test]
fn a_damaged_cache_is_not_used() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5), reply(ONE, "2", 7)]);
    world.total();
    let cache = world.engine().home().usage_ledger();
    let whole = fs::read(&cache).unwrap();
    for length in 0..whole.len() {
        fs::write(&cache, &whole[..length]).unwrap();
        assert!(cache::read(&world.engine()).is_none());
        let mut changed = whole.clone();
        changed[length] ^= 1;
        fs::write(&cache, &changed).unwrap();
        assert!(cache::read(&world.engine()).is_none());
    }
    assert_eq!(world.total(), (2, 12, 0));
}

#[test]
fn a_cache_is_not_written_for_every_new_line() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5)]);
    world.total();
    let cache = world.engine().home().usage_ledger();
    let before = fs::read(&cache).unwrap();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5), reply(ONE, "2", 7)]);
    assert_eq!(total(&world.engine().usage()), (2, 12, 0));
    assert_eq!(fs::read(&cache).unwrap(), before);
}

#[test]
fn what_is_forgotten_is_not_in_the_cache_either() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5).replace("claude-opus-4-8", "secret-model")]);
    world.total();
    fs::remove_file(world.path(&main_of(ONE))).unwrap();
    assert_eq!(world.total(), (1, 5, 1));
    world.engine().forget_usage().unwrap();
    assert!(!world.engine().home().usage_ledger().exists());
    assert_eq!(world.total(), (0, 0, 0));
    let cache = fs::read(world.engine().home().usage_ledger()).unwrap();
    assert!(memchr::memmem::find(&cache, b"secret-model").is_none());
}

/// Makes a transcript that is counted and deleted, and another one, in a folder that is used by [`engine_on`].
fn make_forgettable(folder: &Path) {
    let project = folder.join("config/projects/-src");
    fs::create_dir_all(&project).unwrap();
    let forgotten = project.join(format!("{ONE}.jsonl"));
    fs::write(&forgotten, reply(ONE, "1", 5).replace("claude-opus-4-8", "secret-model") + "\n").unwrap();
    drop(engine_on(folder, Arc::new(RealDisk)).usage());
    fs::copy(folder.join("home/usage-ledger.bin"), folder.join("old-ledger.bin")).unwrap();
    fs::remove_file(forgotten).unwrap();
    fs::write(project.join(format!("{TWO}.jsonl")), reply(TWO, "2", 7) + "\n").unwrap();
}

fn engine_on(folder: &Path, disk: Arc<dyn Disk>) -> Engine {
    let roots = Roots::given(vec![folder.join("config")]).unwrap();
    Engine::open(roots, Home::at(folder.join("home"))).with_disk(disk)
}

fn is_secret_model_cached(folder: &Path) -> bool {
    let cache = fs::read(folder.join("home/usage-ledger.bin")).unwrap_or_default();
    memchr::memmem::find(&cache, b"secret-model").is_some()
}

#[test]
fn forgetting_removes_what_another_process_caches_meanwhile() {
    let moments = testkit::faults::every_moment(
        make_forgettable,
        |disk, folder| engine_on(folder, disk).forget_usage().unwrap(),
        |folder| {
            fs::copy(folder.join("old-ledger.bin"), folder.join("home/usage-ledger.bin")).unwrap();
        },
        |folder, moment, forgotten| {
            assert_eq!((*forgotten, is_secret_model_cached(folder)), (1, false), "{moment}");
        },
    );
    assert_eq!(moments, 2, "before the store has changed, and after that");
}

#[test]
fn a_count_caches_nothing_that_is_forgotten_meanwhile() {
    let moments = testkit::faults::every_moment(
        |folder| {
            make_forgettable(folder);
            fs::remove_file(folder.join("home/usage-ledger.bin")).unwrap();
        },
        |disk, folder| drop(engine_on(folder, disk).usage()),
        |folder| {
            assert_eq!(engine_on(folder, Arc::new(RealDisk)).forget_usage().unwrap(), 1);
        },
        |folder, moment, ()| assert!(!is_secret_model_cached(folder), "{moment}"),
    );
    assert!(moments > 2, "{moments}");
}

#[test]
fn a_store_of_the_first_layout_keeps_what_it_has() {
    let world = World::new();
    world.write(&main_of(ONE), &[reply(ONE, "1", 5)]);
    world.total();
    fs::remove_file(world.path(&main_of(ONE))).unwrap();
    let connection = rusqlite::Connection::open(world.engine().home().usage_store()).unwrap();
    connection
        .execute_batch(
            "DROP INDEX file_revision; ALTER TABLE file DROP COLUMN revision; DROP TABLE store; PRAGMA user_version = 1",
        )
        .unwrap();
    drop(connection);
    assert_eq!(world.total(), (1, 5, 1));
}
