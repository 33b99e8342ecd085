use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use annals_search::Tokens;
use annals_transcript::Reader;
use proptest::prelude::*;
use serde_json::json;
use testkit::faults::{Fault, every_fault};
use testkit::generate::{self, Random};
use testkit::transcript::Transcript;

use super::facts::FactsReader;
use super::term_matches::TermMatches;
use super::*;
use crate::catalog::Activities;
use crate::fold::{self, AnyFold};
use crate::{Home, Roots};

const FIRST: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const SECOND: &str = "0b0b0b0b-0000-4000-8000-000000000000";

/// A config folder, and the folder of annals beside it.
pub(super) struct World {
    folder: Folder,
}

/// A folder that is removed at the end, or that of another process.
enum Folder {
    Own(tempfile::TempDir),
    Of(PathBuf),
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Folder::Own(folder) => folder.path(),
            Folder::Of(path) => path,
        }
    }
}

impl World {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("root/projects/-p")).unwrap();
        Self { folder: Folder::Own(folder) }
    }

    pub(super) fn path(&self, session: &str) -> PathBuf {
        self.folder.path().join("root/projects/-p").join(format!("{session}.jsonl"))
    }

    #[expect(clippy::needless_pass_by_value, reason = "a transcript is made where it is written")]
    pub(super) fn write(&self, session: &str, text: impl ToString) {
        fs::write(self.path(session), text.to_string()).unwrap();
    }

    pub(super) fn engine(&self) -> Engine {
        self.engine_with_home("home")
    }

    fn engine_with_home(&self, home: &str) -> Engine {
        let roots = Roots::given(vec![self.folder.path().join("root")]).unwrap();
        Engine::open(roots, Home::at(self.folder.path().join(home)))
    }

    fn index(&self) -> PathBuf {
        self.engine().home().search_index()
    }

    #[cfg(unix)]
    /// Gives all folders of transcripts a time long ago, later ones with each call. As on a clock without steps, a folder that
    /// changed between two calls has another time.
    fn age_folders(&self) {
        static AGED: AtomicUsize = AtomicUsize::new(0);
        let seconds = AGED.fetch_add(1, Ordering::Relaxed) as u64;
        let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000 + seconds);
        let mut folders = vec![self.folder.path().join("root/projects")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                folders.extend(entry.file_type().unwrap().is_dir().then(|| entry.path()));
            }
            fs::File::open(&folder).unwrap().set_modified(time).unwrap();
        }
    }

    #[cfg(unix)]
    /// Returns how many projects have a listing.
    fn listings(&self) -> usize {
        let index = Index::open(&self.index()).unwrap().unwrap();
        index.projects().unwrap().into_values().flatten().count()
    }

    #[cfg(unix)]
    fn behind(&self) -> Behind {
        self.engine().index_status(&Unfiltered).unwrap().behind
    }

    pub(super) fn update(&self) -> IndexReport {
        update_with(&self.engine(), &Unfiltered)
    }

    /// Updates the index, and returns the snippets of what a query finds.
    fn find(&self, query: &str) -> Vec<String> {
        self.update();
        snippets(&self.search(query, &SearchOptions::default()))
    }

    pub(super) fn search(&self, query: &str, options: &SearchOptions) -> SearchAnswer {
        self.engine().search(&Query::parse(query).unwrap(), &Unfiltered, options).unwrap()
    }
}

pub(super) fn update_with(engine: &Engine, filter: &dyn TextFilter) -> IndexReport {
    let report =
        engine.update_index(filter, &IndexOptions::default(), |_| ControlFlow::Continue(())).unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    report
}

fn snippets(answer: &SearchAnswer) -> Vec<String> {
    answer.hits.iter().map(|hit| hit.snippet.text.clone()).collect()
}

fn flat() -> SearchOptions {
    SearchOptions { per_session: None, limit: usize::MAX, ..SearchOptions::default() }
}

/// A session with a call that fails.
fn session(id: &str) -> Transcript {
    Transcript::session(id)
        .user("u1", "Why does the kettle not 沸騰?")
        .assistant("a1", |reply| {
            reply.thinking("Perhaps the borrow checker").text("Let me look at getUserName").tool(
                "t1",
                "Bash",
                json!({"command": "cargo test > out.log"}),
            )
        })
        .failure("u2", "t1", "error[E0502]: cannot borrow in src/main.rs:42")
        .title("Kettle 水壺")
}

/// Everything that an index has, without the numbers of rows.
fn dump(path: &Path) -> BTreeMap<i64, String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT id, identity, \
         (SELECT group_concat(place, '|') FROM (SELECT cast(path AS TEXT) || offset || ' ' || length || ' ' || has_subject AS place \
          FROM (SELECT id AS document, file, offset, length, has_subject FROM documents \
          UNION ALL SELECT document, file, offset, length, has_subject FROM copies) p \
          JOIN files ON files.id = p.file WHERE document = documents.id ORDER BY 1)) || ' ' || number, \
         file, EXISTS (SELECT 1 FROM copies WHERE document = id) FROM documents";
    let name = |name: i64| -> String {
        connection.query_row("SELECT name FROM names WHERE id = ?1", [name], |row| row.get(0)).unwrap()
    };
    let mut rows = BTreeMap::new();
    let mut identities = BTreeMap::new();
    let known = RefCell::default();
    let facts_of = FactsReader::new(&connection, &known);
    let mut number_of_facts = 0;
    let last = connection.query_row("SELECT last_document FROM settings", [], |row| row.get(0)).unwrap();
    let mut count = |_, _: &_| {
        number_of_facts += 1;
        Ok(())
    };
    facts_of.each_up_to(last, &mut count).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let mut found = statement.query([]).unwrap();
    while let Some(row) = found.next().unwrap() {
        let document: i64 = row.get(0).unwrap();
        let facts = facts_of.of(document).unwrap().unwrap();
        let (file, has_copies): (i64, bool) = (row.get(3).unwrap(), row.get(4).unwrap());
        assert_eq!(facts.file, file, "{facts:?}");
        assert!(facts.has_copies || !has_copies, "{facts:?}");
        let size = "SELECT sz FROM text_docsize WHERE id = ?1";
        let size: Vec<u8> = connection.query_row(size, [document], |row| row.get(0)).unwrap();
        assert_eq!(postings::Varints(&size).sum::<u64>(), u64::from(facts.tokens), "{facts:?}");
        let mut files = BTreeSet::new();
        facts_of.has_file(document, |file| !files.insert(name(file))).unwrap();
        let names = [facts.tool, facts.project, facts.branch, facts.model].map(|number| number.map(name));
        let facts = (facts.part, facts.role, facts.is_error, facts.time, names, files);
        let places: String = row.get(2).unwrap();
        let identity: i64 = row.get(1).unwrap();
        identities.insert(document, identity);
        assert_eq!(rows.insert(identity, format!("{facts:?} {places}")), None);
    }
    assert_eq!(number_of_facts, rows.len());
    connection
        .execute_batch("CREATE VIRTUAL TABLE temp.tokens USING fts5vocab(main, text, instance)")
        .unwrap();
    let mut statement =
        connection.prepare("SELECT doc, col, offset, term FROM tokens ORDER BY 1, 2, 3").unwrap();
    let mut tokens = statement.query([]).unwrap();
    while let Some(row) = tokens.next().unwrap() {
        if let Some(identity) = identities.get(&row.get(0).unwrap()) {
            let token: (String, i64, String) =
                (row.get(1).unwrap(), row.get(2).unwrap(), row.get(3).unwrap());
            write!(rows.get_mut(identity).unwrap(), "{token:?}").unwrap();
        }
    }
    // A term is stored for every document, so the number of rows is the same as well.
    let rows_of = |table: &str| -> u64 {
        connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!(rows_of("text"), rows.len() as u64);
    rows
}

/// Fails unless the index is the one that would be made from scratch.
pub(super) fn assert_like_new(world: &World) {
    let anew = world.engine_with_home("anew");
    anew.clear_index().unwrap();
    update_with(&anew, &Unfiltered);
    let (now, new) = (dump(&world.index()), dump(&anew.home().search_index()));
    assert_eq!(now.keys().collect::<Vec<_>>(), new.keys().collect::<Vec<_>>());
    assert_eq!(now, new);
}

#[test]
fn every_part_is_found_with_its_place() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    assert_eq!(world.find("沸騰"), ["Why does the kettle not 沸騰?"]);
    assert_eq!(world.find("\"borrow checker\""), ["Perhaps the borrow checker"]);
    assert_eq!(world.find("user"), ["Let me look at getUserName"]);
    assert_eq!(world.find("\"cargo test\""), ["cargo test > out.log"]);
    assert_eq!(world.find("src/main.rs:42 e0502"), ["error[E0502]: cannot borrow in src/main.rs:42"]);
    assert_eq!(world.find("水壺"), ["Kettle 水壺"]);
    let answer = world.search("kettle", &SearchOptions::default());
    assert_eq!((answer.total, answer.sessions, answer.ranking), (2, 1, Ranking::All));
    let prompt = answer.hits.iter().find(|hit| hit.part == Part::Prompt).unwrap();
    assert_eq!((prompt.file.session.as_deref(), prompt.entry.as_deref()), (Some(FIRST), Some("u1")));
    assert_eq!((prompt.role, prompt.in_session), (Role::User, 2));
    assert_eq!(&prompt.snippet.text[prompt.snippet.matches[0].clone()], "kettle");
    assert_eq!(prompt.time.unwrap().to_string(), "2026-03-01T10:00:00Z");
}

#[test]
fn filters_select_documents() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.write(
        SECOND,
        Transcript::session(SECOND).cwd("/srv/app").at("2026-05-01T00:00:00Z").user("x", "A kettle in May"),
    );
    world.update();
    for (query, expected) in [
        ("kettle role:user", 2),
        ("kettle in:title", 1),
        ("kettle -in:title", 2),
        ("kettle in:title in:prompt", 3),
        ("tool:bash", 2),
        ("tool:bash in:output", 1),
        ("borrow is:error", 1),
        ("borrow -is:error", 1),
        ("file:out.log", 2),
        ("file:/home/mia/tea", 2),
        ("file:main.rs", 0),
        ("kettle project:app", 1),
        ("kettle project:/srv/app", 1),
        ("kettle project:ap", 0),
        ("kettle branch:main", 2),
        ("kettle branch:other", 0),
        ("model:opus", 3),
        ("-model:opus", 4),
        ("kettle after:2026-04-01", 1),
        ("kettle before:2026-04-01", 1),
        ("kettle after:2026-02-01 before:2026-04-01", 1),
        ("kettle session:3e11", 2),
        ("kettle -session:3e11", 1),
        ("kettle session:3e11 session:0b0b", 3),
        ("-kettle", 4),
        ("session:ffff", 0),
        ("-role:user -role:assistant", 1),
        ("-kettle -in:reply -in:thinking", 2),
        ("kettle -after:2026-04-01", 2),
        ("kettle -after:2026-04-01 -before:2026-04-01", 1),
        ("-tool:bash", 5),
        ("kettle role:user role:system", 3),
        ("kettle -file:out.log", 3),
        ("-file:out.log -is:error", 5),
        ("tool:nothing", 0),
    ] {
        let answer = world.search(query, &flat());
        assert_eq!((answer.total, answer.hits.len() as u64), (expected, expected), "{query}");
    }
}

#[test]
fn copies_and_forks_are_one_hit_with_several_places() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    let engine = world.engine();
    let fork = engine.fork(&engine.session(FIRST.as_ref()).unwrap(), &crate::ForkOptions::default()).unwrap();
    let again =
        engine.fork(&engine.session(fork.session.as_ref()).unwrap(), &crate::ForkOptions::default()).unwrap();
    world.update();
    let answer = world.search("沸騰", &SearchOptions::default());
    assert_eq!((answer.total, answer.hits.len()), (1, 1));
    let hit = &answer.hits[0];
    let mut sessions: Vec<_> = hit.copies.iter().map(|copy| copy.file.session.clone().unwrap()).collect();
    sessions.extend(hit.file.session.clone());
    sessions.sort();
    let mut expected = [FIRST.to_owned(), fork.session.clone(), again.session.clone()];
    expected.sort();
    assert_eq!(sessions, expected);
    // Each session has it, whichever was indexed first, and the others are named.
    for session in expected {
        let answer = world.search(&format!("沸騰 session:{session}"), &SearchOptions::default());
        assert_eq!((answer.total, answer.hits.len()), (1, 1));
        assert_eq!(answer.hits[0].file.session.as_deref(), Some(&*session));
        assert_eq!(answer.hits[0].copies.len(), 2);
        assert!(answer.hits[0].copies.iter().all(|copy| copy.file.session.as_deref() != Some(&*session)));
    }
    fs::remove_file(world.path(FIRST)).unwrap();
    assert_eq!(world.update().removed, 1);
    let answer = world.search("沸騰", &SearchOptions::default());
    assert_eq!((answer.total, answer.hits[0].copies.len()), (1, 1));
    assert_like_new(&world);
}

/// Writes a session whose first prompt stands in so many other sessions, too. Returns the ids of all of them.
fn copied(world: &World, copies: usize) -> Vec<String> {
    let ids: Vec<_> =
        (0..=copies).map(|number| format!("{number:08x}-0000-4000-8000-000000000000")).collect();
    for (number, id) in ids.iter().enumerate() {
        let prompt =
            Transcript::session(id).at("2026-03-01T10:00:00Z").user(&format!("u{number}"), "Boil 沸騰");
        world.write(id, prompt);
    }
    ids
}

#[test]
fn a_hit_counts_every_copy_and_names_a_bounded_number() {
    let world = World::new();
    let ids = copied(&world, 20);
    world.update();
    let query = Query::of_filters(Vec::new());
    let scanned = world
        .engine()
        .scan(&Pattern::fixed("沸騰").unwrap(), &query, &Unfiltered, &SearchOptions::default())
        .unwrap();
    for answer in [world.search("沸騰", &SearchOptions::default()), scanned] {
        assert_eq!((answer.total, answer.hits.len()), (1, 1));
        let hit = &answer.hits[0];
        assert_eq!((hit.copies.len(), hit.more_copies), (16, 4));
        for copy in &hit.copies {
            let number = ids.iter().position(|id| copy.file.session.as_ref() == Some(id)).unwrap();
            assert_eq!(copy.entry, Some(format!("u{number}")));
        }
    }
    // A copy that was changed meanwhile is not named.
    fs::write(world.path(&ids[1]), fs::read_to_string(world.path(&ids[1])).unwrap().replace("Boil", "Brew"))
        .unwrap();
    let hit = world.search("沸騰", &SearchOptions::default()).hits.remove(0);
    assert!(hit.copies.iter().all(|copy| copy.file.session.as_ref() != Some(&ids[1])));
}

#[test]
fn copies_in_other_config_folders_are_not_named() {
    let (world, other) = (World::new(), World::new());
    copied(&world, 1);
    copied(&other, 2);
    let roots = |worlds: &[&World]| {
        Roots::given(worlds.iter().map(|world| world.folder.path().join("root")).collect()).unwrap()
    };
    let home = world.folder.path().join("annals");
    update_with(&Engine::open(roots(&[&world, &other]), Home::at(&home)), &Unfiltered);
    let copies = |roots, query: &str| {
        let engine = Engine::open(roots, Home::at(&home));
        let options = SearchOptions::default();
        let answer = engine.search(&Query::parse(query).unwrap(), &Unfiltered, &options).unwrap();
        (answer.total, answer.hits[0].copies.len())
    };
    assert_eq!(copies(roots(&[&world, &other]), "沸騰"), (1, 4));
    assert_eq!(copies(roots(&[&world]), "沸騰"), (1, 1));
    assert_eq!(copies(roots(&[&world]), "沸騰 session:00000001"), (1, 1));
}

#[test]
fn growth_and_titles_that_are_repeated_add_nothing_twice() {
    let world = World::new();
    let first = session(FIRST);
    world.write(FIRST, &first);
    assert_eq!(world.update().documents, 6);
    let grown = first.clone().user("u3", "And the herbs?").title("Kettle 水壺");
    world.write(FIRST, &grown);
    let report = world.update();
    let added = grown.to_string().len() - first.to_string().len();
    assert_eq!((report.documents, report.files, report.bytes), (1, 1, added as u64));
    assert_eq!(world.search("水壺", &flat()).total, 1);
    assert_eq!(world.update().files, 0);
    assert_like_new(&world);
}

#[test]
fn a_result_has_the_tool_of_a_call_that_was_indexed_before() {
    let world = World::new();
    let call = Transcript::session(FIRST)
        .assistant("a1", |reply| reply.tool("t1", "Read", json!({"file_path": "src/茶 \"x\".rs"})));
    world.write(FIRST, &call);
    world.update();
    world.write(FIRST, call.result("u1", "t1", "fn brew() {}"));
    world.update();
    let answer = world.search("brew tool:read file:\"茶 “x”.rs\"", &flat());
    assert_eq!(answer.total, 0);
    let answer = world.search("brew tool:read file:src", &flat());
    assert_eq!((answer.total, answer.hits[0].tool.as_deref()), (1, Some("Read")));
    assert_like_new(&world);
}

#[test]
fn files_that_were_replaced_truncated_or_deleted_leave_nothing_behind() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.write(SECOND, Transcript::session(SECOND).user("x", "A second kettle").user("y", "to be cut"));
    assert_eq!(world.find("kettle").len(), 3);
    world.write(SECOND, Transcript::session(SECOND).user("x", "A second kettle"));
    assert_eq!(world.find("cut").len(), 0);
    assert_like_new(&world);
    world.write(
        FIRST,
        Transcript::session(FIRST).user("z", "Something else about a teapot, as long as the other was"),
    );
    assert_eq!(world.find("teapot").len(), 1);
    assert_eq!(world.find("borrow").len(), 0);
    assert_like_new(&world);
    fs::remove_file(world.path(SECOND)).unwrap();
    assert_eq!(world.update().removed, 1);
    assert_eq!(world.find("second").len(), 0);
    assert_like_new(&world);
}

#[test]
fn a_hit_whose_transcript_changed_is_not_shown() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    let text = fs::read_to_string(world.path(FIRST)).unwrap();
    world.write(FIRST, text.replace("沸騰", "冷却"));
    let answer = world.search("沸騰", &SearchOptions { measure_behind: true, ..SearchOptions::default() });
    assert_eq!((answer.total, answer.hits.len()), (1, 0));
    assert_eq!(answer.behind.unwrap().files, 1);
    fs::remove_file(world.path(FIRST)).unwrap();
    assert_eq!(world.search("沸騰", &SearchOptions::default()).hits.len(), 0);
}

/// Masks a word.
struct Mask(&'static str);

impl TextFilter for Mask {
    fn filter<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.contains(self.0) { text.replace(self.0, "[masked]").into() } else { Cow::Borrowed(text) }
    }

    fn fingerprint(&self) -> u64 {
        self.0.len() as u64 + 1
    }
}

#[test]
fn masked_text_is_neither_found_nor_shown_and_other_rules_make_the_index_anew() {
    let world = World::new();
    world.write(FIRST, Transcript::session(FIRST).user("u", "The key is hunter2 for the kettle"));
    let engine = world.engine();
    update_with(&engine, &Mask("hunter2"));
    let search = |query: &str, filter: &dyn TextFilter| {
        engine.search(&Query::parse(query).unwrap(), filter, &SearchOptions::default())
    };
    assert_eq!(search("hunter2", &Mask("hunter2")).unwrap().total, 0);
    assert_eq!(
        snippets(&search("kettle", &Mask("hunter2")).unwrap()),
        ["The key is [masked] for the kettle"]
    );
    assert!(search("kettle", &Mask("kettle")).unwrap_err().is_no_index());
    assert!(!engine.index_status(&Mask("kettle")).unwrap().exists);
    assert!(update_with(&engine, &Mask("kettle")).is_rebuilt);
    assert_eq!(search("kettle", &Mask("kettle")).unwrap().total, 0);
    assert_eq!(search("hunter2", &Mask("kettle")).unwrap().total, 1);
}

#[test]
fn a_server_leaves_an_index_of_other_rules_alone() {
    let world = World::new();
    world.write(FIRST, Transcript::session(FIRST).user("u", "The key is hunter2 for the kettle"));
    let engine = world.engine();
    update_with(&engine, &Mask("hunter2"));
    let options = IndexOptions { keeps_other_rules: true, ..IndexOptions::default() };
    let report = engine.update_index(&Mask("kettle"), &options, |_| ControlFlow::Continue(())).unwrap();
    assert!(!report.is_rebuilt && report.is_complete && report.files == 0);
    assert!(engine.index_status(&Mask("hunter2")).unwrap().exists);
}

#[test]
fn text_is_indexed_up_to_the_limit() {
    let world = World::new();
    let long = format!("{} needle", "hay ".repeat(100));
    world.write(FIRST, Transcript::session(FIRST).user("u", long));
    let engine = world.engine();
    let total = |text_limit| {
        let options = IndexOptions { text_limit, ..IndexOptions::default() };
        engine.update_index(&Unfiltered, &options, |_| ControlFlow::Continue(())).unwrap();
        let answer = world.search("needle", &flat());
        assert_eq!(answer.hits.len() as u64, answer.total);
        answer.total
    };
    assert_eq!((total(100), total(1000), total(100)), (0, 1, 0));
}

#[test]
fn files_of_other_roots_stay_and_are_not_found() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    let other = World::new();
    other.write(SECOND, Transcript::session(SECOND).user("x", "Another kettle"));
    let roots = |folders: &[&World]| {
        let folders = folders.iter().map(|world| world.folder.path().join("root")).collect();
        Engine::open(Roots::given(folders).unwrap(), Home::at(world.folder.path().join("home")))
    };
    let total = |engine: &Engine| {
        let query = Query::parse("kettle").unwrap();
        let answer = engine.search(&query, &Unfiltered, &SearchOptions::default()).unwrap();
        assert_eq!(answer.hits.len() as u64, answer.total);
        answer.total
    };
    assert_eq!(update_with(&roots(&[&other]), &Unfiltered).removed, 0);
    assert_eq!(
        [total(&roots(&[&other])), total(&roots(&[&world])), total(&roots(&[&world, &other]))],
        [1, 2, 3]
    );
}

#[test]
fn pages_show_each_hit_once_while_the_index_grows() {
    let world = World::new();
    for number in 0..30 {
        let id = format!("dddddddd-0000-4000-8000-{number:012}");
        let text = format!("kettle {}", "and more words ".repeat(number % 7));
        let lines =
            Transcript::session(&id).at(&format!("2026-03-{:02}T{:02}:00:00Z", 1 + number % 28, number % 24));
        world.write(&id, lines.user("u", text.as_str()).user("v", format!("kettle again {number}")));
    }
    world.update();
    for (order, per_session, expected) in [
        (Order::Relevance, None, 60),
        (Order::Relevance, Some(1), 30),
        (Order::Time, None, 60),
        (Order::Time, Some(2), 60),
    ] {
        let mut seen = BTreeSet::new();
        let mut options = SearchOptions { order, per_session, limit: 7, ..SearchOptions::default() };
        let mut pages = 0;
        loop {
            let answer = world.search("kettle", &options);
            assert_eq!(answer.total, 60);
            for hit in &answer.hits {
                assert!(seen.insert((hit.file.path.clone(), hit.entry.clone())), "{order:?}");
            }
            pages += 1;
            // What is indexed between two pages changes nothing.
            if pages == 2 && order == Order::Time {
                let id = format!("eeeeeeee-0000-4000-8000-{:012}", per_session.unwrap_or(0));
                world.write(&id, Transcript::session(&id).user("new", format!("kettle {id}")));
                world.update();
            }
            let Some(next) = answer.next else { break };
            options.after = Some(next.to_string().parse().unwrap());
        }
        assert_eq!(seen.len(), expected, "{order:?} {per_session:?}");
        for number in 0..2 {
            let id = format!("eeeeeeee-0000-4000-8000-{:012}", number * 2);
            let _ = fs::remove_file(world.path(&id));
        }
        world.update();
    }
    let cursor = world.search("kettle", &SearchOptions { limit: 7, ..SearchOptions::default() }).next;
    let anew = IndexOptions { rebuild: true, ..IndexOptions::default() };
    world.engine().update_index(&Unfiltered, &anew, |_| ControlFlow::Continue(())).unwrap();
    let options = SearchOptions { after: cursor, ..SearchOptions::default() };
    let query = Query::parse("kettle").unwrap();
    assert!(world.engine().search(&query, &Unfiltered, &options).unwrap_err().is_stale_cursor());
}

#[test]
fn newer_prompts_come_before_older_output() {
    let world = World::new();
    world.write(
        FIRST,
        Transcript::session(FIRST).at("2025-01-01T00:00:00Z").result("u", "t", "the kettle works"),
    );
    world
        .write(SECOND, Transcript::session(SECOND).at("2026-01-01T00:00:00Z").user("u", "the kettle works!"));
    assert_eq!(world.find("kettle"), ["the kettle works!", "the kettle works"]);
}

#[test]
fn many_matches_are_counted_and_the_newest_are_ranked() {
    let world = World::new();
    let mut lines = Transcript::session(FIRST);
    for number in 0..4_100 {
        lines = lines.user(&format!("u{number}"), format!("kettle {number}"));
    }
    world.write(FIRST, lines);
    world.update();
    let few = |order| SearchOptions { order, limit: 10, ..flat() };
    let answer = world.search("kettle", &few(Order::Relevance));
    assert_eq!((answer.total, answer.hits.len(), answer.ranking), (4_100, 10, Ranking::Newest));
    let answer = world.search("kettle", &few(Order::Time));
    assert_eq!((answer.total, answer.hits.len(), answer.ranking), (4_100, 10, Ranking::All));
    assert_eq!(answer.hits[0].entry.as_deref(), Some("u4099"));
    // Without words, filters decide alone.
    let answer = world.search("role:user", &few(Order::Relevance));
    assert_eq!((answer.total, answer.hits.len(), answer.ranking), (4_100, 10, Ranking::Newest));
}

#[test]
fn many_matches_are_the_same_however_they_are_found() {
    let world = World::new();
    let mut lines = Transcript::session(FIRST);
    for number in 0..4_100 {
        lines = lines.user(&format!("u{number}"), format!("a kettle {number}"));
    }
    world.write(FIRST, lines);
    world.update();
    let few = SearchOptions { limit: 2, ..flat() };
    for query in [
        "kettle",
        "kett*",
        "a kettle",
        "\"a kettle\"",
        "kettle OR pot",
        "kettle -pot",
        "-pot",
        "kettle role:user",
        "role:user",
    ] {
        let answer = world.search(query, &few);
        let entries: Vec<_> = answer.hits.iter().filter_map(|hit| hit.entry.as_deref()).collect();
        assert_eq!((answer.total, answer.ranking), (4_100, Ranking::Newest), "{query}");
        assert_eq!(entries, ["u4099", "u4098"], "{query}");
    }
    let all = SearchOptions { limit: usize::MAX, ..flat() };
    let oldest = |query| {
        let answer = world.search(query, &all);
        (answer.hits.len(), answer.hits.last().and_then(|hit| hit.entry.clone()))
    };
    let newest = (2_000, Some("u2100".to_owned()));
    assert_eq!((oldest("kettle"), oldest("\"a kettle\"")), (newest.clone(), newest));
}

/// Returns how well some of the documents that have a term match.
fn relevance_of(found: &TermMatches, documents: &[i64], facts: &FactsReader<'_>) -> Vec<(i64, f64)> {
    let tokens = |document| facts.of(document).unwrap().unwrap().tokens;
    let counts = found.counts_in(documents);
    counts.map(|(document, counts)| (document, found.relevance(counts, tokens(document)))).collect()
}

#[test]
fn one_term_is_found_and_ranked_as_fts5_finds_and_ranks_it() {
    let world = World::new();
    for (session, seed) in [(FIRST, 3), (SECOND, 4)] {
        generate::session(&mut fs::File::create(world.path(session)).unwrap(), seed, 200_000).unwrap();
    }
    world.write("third", session("third").user("u8", "a user of `user_name` and UserName"));
    world.update();
    // A word of a phrase may stand before it, too.
    world.write("fifth", session("fifth").user("u8", "error is error, of user of"));
    // Its places need several pages.
    world.write("fourth", Transcript::session("fourth").user("u9", "the user ".repeat(20_000)));
    world.update();
    // Documents that were removed count no more.
    world.write(SECOND, session(SECOND));
    world.update();
    let index = Index::open(&world.index()).unwrap().unwrap();
    let connection = &index.connection;
    let known = RefCell::default();
    let facts = FactsReader::new(connection, &known);
    let mut ranked = 0;
    for word in [
        "user",
        "\"user\"",
        "name",
        "kettle",
        "the",
        "error",
        "to",
        "沸騰",
        "nowhere",
        "user_name",
        "UserName",
        "\"a user\"",
        "\"user of\"",
        "\"why does the kettle not\"",
        "\"the the\"",
        "src/main.rs:42",
        "getUserName",
        "\"user a\"",
        "\"is error\"",
        "\"error of user\"",
    ] {
        let query = Query::parse(word).unwrap();
        let Some(annals_search::Expression::Term(term)) = query.expression() else { panic!("{word}") };
        let sql = "SELECT rowid, -bm25(text, 1.0, 0.7) FROM text WHERE text MATCH ?1 ORDER BY rowid";
        let mut statement = connection.prepare(sql).unwrap();
        let expected = statement.query_map([term.fts_match()], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let expected: Vec<(i64, f64)> = expected.collect::<Result<_, _>>().unwrap();
        let documents: Vec<i64> = expected.iter().map(|(document, _)| *document).collect();
        let found = TermMatches::of(connection, term).unwrap();
        assert_eq!(found.documents(), documents, "{word}");
        let ranked_by_term = relevance_of(&found, &documents, &facts);
        assert_eq!(ranked_by_term.len(), expected.len(), "{word}");
        for (found, expected) in ranked_by_term.iter().zip(&expected) {
            assert_eq!(found.0, expected.0, "{word}");
            assert!((found.1 / expected.1 - 1.0).abs() < 1e-12, "{word}: {found:?} {expected:?}");
        }
        let every_other: Vec<i64> = documents.iter().copied().step_by(2).collect();
        let found = relevance_of(&found, &every_other, &facts);
        assert_eq!(found.iter().map(|(document, _)| *document).collect::<Vec<_>>(), every_other, "{word}");
        ranked += expected.len();
    }
    assert!(ranked > 50, "{ranked}");
}

#[test]
fn words_are_counted_again_when_documents_were_added_or_removed() {
    let world = World::new();
    world.write(FIRST, Transcript::session(FIRST).user("u1", "a kettle").user("u2", "the kettle"));
    world.update();
    let index = Index::open(&world.index()).unwrap().unwrap();
    let counted = || ["kettle", "pot"].map(|word| index.has_many(format!("\"{word}\""), 2).unwrap());
    assert_eq!((counted(), counted()), ([true, false], [true, false]));
    world.write(SECOND, Transcript::session(SECOND).user("u1", "a pot").user("u2", "the pot"));
    world.update();
    assert_eq!((counted(), counted()), ([true, true], [true, true]));
    world.write(FIRST, Transcript::session(FIRST).user("u1", "a kettle"));
    world.update();
    assert_eq!((counted(), counted()), ([false, true], [false, true]));
}

#[test]
fn what_filters_leave_is_ranked_as_without_them() {
    let world = World::new();
    generate::session(&mut fs::File::create(world.path(FIRST)).unwrap(), 3, 200_000).unwrap();
    world.update();
    let scores = |query: &str| -> BTreeMap<String, f64> {
        let hits = world.search(query, &flat()).hits.into_iter();
        hits.map(|hit| (format!("{:?} {:?} {:?}", hit.entry, hit.part, hit.snippet), hit.score)).collect()
    };
    for query in ["the", "the a", "\"the\" OR kettle", "th*", "the -kettle"] {
        let all = scores(query);
        let filtered = scores(&format!("{query} role:assistant"));
        assert!(
            !filtered.is_empty() && filtered.len() < all.len(),
            "{query}: {} of {}",
            filtered.len(),
            all.len()
        );
        for (hit, score) in &filtered {
            assert!((score - all[hit]).abs() < 1e-9, "{query}: {hit}");
        }
    }
}

#[test]
fn misspelt_words_are_corrected() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    let answer = world.search("ketle borow", &SearchOptions::default());
    let words: Vec<_> = answer.corrections.iter().map(|word| (&*word.word, &word.corrections[..])).collect();
    assert_eq!(words, [("ketle", &["kettle".to_owned()][..]), ("borow", &["borrow".to_owned()][..])]);
}

#[test]
fn subagents_belong_to_their_session() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    let folder = world.path(FIRST).with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let lines = Transcript::session(FIRST).user("s", "Explore the samovar").with("agentId", "a1");
    fs::write(folder.join("agent-a1.jsonl"), lines.to_string()).unwrap();
    world.update();
    let answer = world.search("samovar OR kettle", &SearchOptions::default());
    assert_eq!((answer.total, answer.sessions), (3, 1));
    assert!(answer.hits.iter().any(|hit| hit.file.agent.as_deref() == Some("a1")));
}

#[test]
fn what_the_index_lacks_is_known() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    let length = fs::metadata(world.path(FIRST)).unwrap().len();
    let status = || world.engine().index_status(&Unfiltered).unwrap();
    assert_eq!((status().exists, status().behind), (false, Behind { files: 1, bytes: length }));
    world.update();
    assert_eq!((status().exists, status().documents, status().files), (true, 6, 1));
    assert_eq!(status().behind, Behind::default());
    world.write(FIRST, session(FIRST).user("u9", "more"));
    let grown = fs::metadata(world.path(FIRST)).unwrap().len();
    assert_eq!(status().behind, Behind { files: 1, bytes: grown - length });
    fs::remove_file(world.path(FIRST)).unwrap();
    assert_eq!(status().behind, Behind { files: 1, bytes: 0 });
    world.engine().clear_index().unwrap();
    assert_eq!((status().exists, world.index().exists()), (false, false));
}

#[cfg(unix)]
#[test]
fn what_the_index_lacks_is_known_without_reading_folders() {
    let world = World::new();
    let agents = world.path(FIRST).with_extension("").join("subagents");
    fs::create_dir_all(&agents).unwrap();
    world.write(FIRST, session(FIRST));
    world.write(SECOND, session(SECOND));
    world.age_folders();
    world.update();
    assert_eq!((world.listings(), world.behind()), (1, Behind::default()));
    // A file that grows does not change its folder.
    let length = |session| fs::metadata(world.path(session)).unwrap().len();
    let before = length(FIRST);
    world.write(FIRST, session(FIRST).user("u9", "more"));
    assert_eq!(world.behind(), Behind { files: 1, bytes: length(FIRST) - before });
    assert_eq!((world.update().files, world.behind()), (1, Behind::default()));
    // A new file does, wherever it is.
    let agent = agents.join("agent-a1.jsonl");
    fs::write(&agent, session(FIRST).to_string()).unwrap();
    let agent_length = fs::metadata(&agent).unwrap().len();
    assert_eq!(world.behind(), Behind { files: 1, bytes: agent_length });
    world.age_folders();
    assert_eq!((world.update().files, world.listings(), world.behind()), (1, 1, Behind::default()));
    // So does one that is removed or takes the place of another.
    fs::remove_file(&agent).unwrap();
    assert_eq!(world.behind(), Behind { files: 1, bytes: 0 });
    fs::write(agents.join("new"), session(FIRST).user("u9", "other").to_string()).unwrap();
    fs::rename(agents.join("new"), &agent).unwrap();
    assert_eq!(world.behind().files, 1);
    world.update();
    world.age_folders();
    world.update();
    assert_eq!((world.listings(), world.behind()), (1, Behind::default()));
    // A project that is gone is noticed by what the index has of it.
    fs::remove_dir_all(world.folder.path().join("root/projects/-p")).unwrap();
    assert_eq!(world.behind(), Behind { files: 3, bytes: 0 });
    assert_eq!((world.update().removed, world.listings(), world.behind()), (3, 0, Behind::default()));
}

#[cfg(unix)]
#[test]
fn a_listing_is_kept_only_if_everything_is_indexed() {
    use std::os::unix::fs::PermissionsExt;

    let world = World::new();
    generate::session(&mut fs::File::create(world.path(FIRST)).unwrap(), 3, 60_000).unwrap();
    world.age_folders();
    let engine = world.engine();
    let stop = |_| ControlFlow::Break(());
    assert!(!engine.update_index(&Unfiltered, &IndexOptions::default(), stop).unwrap().is_complete);
    assert_eq!(world.listings(), 0);
    assert_eq!(world.behind().files, 1);
    // A dangling link may lead to a transcript later, which changes no folder.
    let elsewhere = world.folder.path().join("elsewhere.jsonl");
    std::os::unix::fs::symlink(&elsewhere, world.path(SECOND)).unwrap();
    world.age_folders();
    world.update();
    assert_eq!((world.listings(), world.behind()), (0, Behind::default()));
    fs::write(&elsewhere, session(SECOND).to_string()).unwrap();
    assert_eq!(world.behind().files, 1);
    world.update();
    world.age_folders();
    world.update();
    assert_eq!(world.listings(), 1);
    // A folder that changed a moment ago may change again at the same time.
    fs::create_dir(world.folder.path().join("root/projects/-p/new")).unwrap();
    world.update();
    let index = Index::open(&world.index()).unwrap().unwrap();
    let project = world.folder.path().join("root/projects/-p");
    let listing = index.projects().unwrap().remove(&project).unwrap().unwrap();
    assert_eq!(listing.compare(&project), listing::Difference::Folders);
    // Nothing tells whether an unreadable folder has transcripts; the superuser can read it.
    let hidden = world.folder.path().join("root/projects/-p/new");
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&hidden).is_err() {
        world.age_folders();
        let report = engine
            .update_index(&Unfiltered, &IndexOptions::default(), |_| ControlFlow::Continue(()))
            .unwrap();
        assert_eq!(report.errors.len(), 1);
        let index = Index::open(&world.index()).unwrap().unwrap();
        let listing = index.projects().unwrap().remove(&project).unwrap().unwrap();
        assert_eq!(listing.compare(&project), listing::Difference::Folders);
    }
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn an_update_that_is_stopped_goes_on_later() {
    let world = World::new();
    generate::session(&mut fs::File::create(world.path(FIRST)).unwrap(), 3, 60_000).unwrap();
    let engine = world.engine();
    let mut updates = 0;
    loop {
        let report =
            engine.update_index(&Unfiltered, &IndexOptions::default(), |_| ControlFlow::Break(())).unwrap();
        if report.is_complete {
            break;
        }
        updates += 1;
        assert!(updates < 1000);
    }
    assert!(updates > 2, "{updates}");
    assert_like_new(&world);
}

/// The documents of transcripts, with their texts.
fn all_documents(world: &World) -> BTreeMap<i64, String> {
    let mut documents = BTreeMap::new();
    for file in world.engine().transcripts().files {
        let mut reader = Reader::new(fs::File::open(&file.path).unwrap());
        while let Some(entry) = reader.read().unwrap() {
            let Some(body) = entry.body() else { continue };
            let offset = entry.at().offset + entry.offset_of(body);
            let setting = document::Setting::of(&entry);
            for document in document::documents(&entry) {
                let identity =
                    document::identity(&file.path, offset, &entry, &setting, &document, &document.text);
                documents.insert(identity, document.text.into_owned());
            }
        }
    }
    documents
}

/// Fails unless the index finds exactly the documents that a query matches.
fn assert_finds_all(world: &World, documents: &BTreeMap<i64, String>, query: &str) {
    let Ok(parsed) = Query::parse(query) else { return };
    let right: BTreeSet<_> = documents
        .iter()
        .filter(|(_, text)| parsed.matches(&Tokens::of(text)))
        .map(|(identity, _)| *identity)
        .collect();
    let answer = world.search(query, &SearchOptions { limit: 1, ..flat() });
    assert_eq!(answer.total, right.len() as u64, "{query}");
    let index = Index::open(&world.index()).unwrap().unwrap();
    let found: BTreeSet<i64> = match parsed.fts_match() {
        annals_search::FtsMatch::Rows(rows) => {
            let sql = "SELECT identity FROM text JOIN documents ON id = text.rowid WHERE text MATCH ?1";
            let mut statement = index.connection.prepare(sql).unwrap();
            statement.query_map([rows], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
        }
        _ => return,
    };
    assert_eq!(found, right, "{query}");
}

/// Returns pieces of texts as queries: words, phrases, parts of words, single characters.
fn sampled_queries(documents: &BTreeMap<i64, String>, random: &mut Random, number: usize) -> Vec<String> {
    let texts: Vec<_> = documents.values().collect();
    let sample = |random: &mut Random| {
        let characters: Vec<char> = random.pick(&texts).chars().take(5_000).collect();
        let start = usize::try_from(random.below(characters.len() as u64)).unwrap();
        let length = usize::try_from(1 + random.below(14)).unwrap();
        let piece: String = characters[start..].iter().take(length).collect();
        match random.below(4) {
            0 => format!("\"{}\"", piece.replace('"', " ")),
            1 => format!("{}*", piece.replace(['"', ':', '(', ')'], " ")),
            _ => piece.replace(['"', ':', '(', ')', '-'], " "),
        }
    };
    (0..number).map(|_| sample(random)).collect()
}

#[test]
fn the_index_finds_what_a_scan_of_all_texts_finds() {
    let world = World::new();
    for (number, path) in testkit::corpora::transcripts().into_iter().enumerate() {
        let is_own = path.starts_with(testkit::corpora::own());
        if is_own && fs::metadata(&path).unwrap().len() < 300_000 {
            fs::copy(path, world.path(&format!("cccccccc-0000-4000-8000-{number:012}"))).unwrap();
        }
    }
    generate::session(&mut fs::File::create(world.path(FIRST)).unwrap(), 5, 300_000).unwrap();
    world.update();
    let documents = all_documents(&world);
    assert_eq!(world.engine().index_status(&Unfiltered).unwrap().documents, documents.len() as u64);
    let mut random = Random::new(7);
    for query in sampled_queries(&documents, &mut random, 40) {
        assert_finds_all(&world, &documents, &query);
    }
    for query in ["请看", "三つ", "函数", "main.rs", "C:\\work\\天气", "-parser", "parser OR green", "😀"]
    {
        assert_finds_all(&world, &documents, query);
    }
}

#[test]
fn a_damaged_index_gives_right_answers_or_is_made_anew() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    generate::session(&mut fs::File::create(world.path(SECOND)).unwrap(), 9, 100_000).unwrap();
    let right = world.find("kettle");
    let whole = fs::read(world.index()).unwrap();
    let mut random = Random::new(11);
    let mut damaged = vec![
        Vec::new(),
        b"not a database".to_vec(),
        vec![0xff; 50_000],
        whole[..whole.len() / 2].to_vec(),
        whole[..5_000].to_vec(),
        whole[..100].to_vec(),
    ];
    damaged.extend((0..8).map(|_| {
        let mut bytes = whole.clone();
        for _ in 0..2_000 {
            let at = usize::try_from(random.below(bytes.len() as u64)).unwrap();
            bytes[at] = u8::try_from(random.below(256)).unwrap();
        }
        bytes
    }));
    for (number, bytes) in damaged.into_iter().enumerate() {
        fs::write(world.index(), bytes).unwrap();
        let query = Query::parse("kettle").unwrap();
        match world.engine().search(&query, &Unfiltered, &SearchOptions::default()) {
            Ok(answer) => {
                assert!(snippets(&answer).iter().all(|snippet| right.contains(snippet)), "{number}");
            }
            Err(error) => assert!(error.is_no_index(), "{number}: {error}"),
        }
        // An update notices what it reads; what it does not read can be made anew.
        let options = IndexOptions { rebuild: number % 2 == 1, ..IndexOptions::default() };
        let updated = world.engine().update_index(&Unfiltered, &options, |_| ControlFlow::Continue(()));
        updated.unwrap();
        if number < 6 || options.rebuild {
            assert_eq!(world.find("kettle"), right, "{number}");
        }
    }
}

#[test]
fn another_version_is_made_anew() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    let connection = rusqlite::Connection::open(world.index()).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    drop(connection);
    let query = Query::parse("kettle").unwrap();
    let searched = world.engine().search(&query, &Unfiltered, &SearchOptions::default());
    assert!(searched.unwrap_err().is_no_index());
    assert!(world.update().is_rebuilt);
    assert_like_new(&world);
}

#[cfg(unix)]
#[test]
fn the_index_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    let index = Index::open(&world.index()).unwrap().unwrap();
    index.documents().unwrap();
    for entry in fs::read_dir(world.index().parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with("search.sqlite") {
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_a_clear_error() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    fs::write(world.folder.path().join("home"), "a file in the way").unwrap();
    let updated =
        world.engine().update_index(&Unfiltered, &IndexOptions::default(), |_| ControlFlow::Continue(()));
    assert!(updated.unwrap_err().to_string().contains("home"));
    let query = Query::parse("kettle").unwrap();
    assert!(world.engine().search(&query, &Unfiltered, &SearchOptions::default()).unwrap_err().is_no_index());
}

#[test]
fn a_second_updater_waits_or_says_that_another_one_is_at_work() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    let engine = world.engine();
    let impatient = IndexOptions { wait: Duration::ZERO, ..IndexOptions::default() };
    let mut was_busy = 0;
    let update = engine.update_index(&Unfiltered, &IndexOptions::default(), |_| {
        let second = world.engine().update_index(&Unfiltered, &impatient, |_| ControlFlow::Continue(()));
        was_busy += usize::from(second.unwrap_err().is_index_busy());
        // Others read meanwhile.
        assert_eq!(world.search("水壺", &flat()).total, 1);
        ControlFlow::Continue(())
    });
    assert!(update.unwrap().is_complete);
    assert_eq!(was_busy, 1);
}

#[test]
fn two_updaters_and_a_reader_agree() {
    let world = World::new();
    let mut text = Vec::new();
    generate::session(&mut text, 21, 150_000).unwrap();
    world.write(FIRST, String::from_utf8(text[..40_000].to_vec()).unwrap_or_default());
    world.update();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for cut in [60_000, 90_000, text.len()] {
                    if fs::metadata(world.path(FIRST)).unwrap().len() < cut as u64 {
                        fs::write(world.path(FIRST), &text[..cut]).unwrap();
                    }
                    world.update();
                }
            });
        }
        for _ in 0..20 {
            let answer = world.search("parser", &SearchOptions::default());
            assert!(answer.hits.iter().all(|hit| hit.snippet.text.to_lowercase().contains("parser")));
        }
    });
    fs::write(world.path(FIRST), &text).unwrap();
    world.update();
    assert_like_new(&world);
}

thread_local! {
    /// How many pages a database has at most that this thread opens to write to, as on a disk that is full then.
    pub(super) static MOST_PAGES: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Bounds a database to [`MOST_PAGES`].
pub(super) fn bound_size(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    let Some(most) = MOST_PAGES.get() else { return Ok(()) };
    connection.query_row(&format!("PRAGMA max_page_count = {most}"), [], |_| Ok(()))
}

/// How many statements and commits are left before the process is killed; 0 if it is not.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Ends the process without any cleaning up, as a kill does, when this was called so often.
pub(super) fn kill_point() {
    let left = LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
    if left == Ok(1) {
        std::process::abort();
    }
}

/// Says what is done in which folder, and after how many statements it is killed; the tests below run themselves with it.
const KILLED: &str = "ANNALS_TEST_KILLED";

/// Does the task of a process that is to be killed. Returns whether this is such a process.
fn is_killed_process() -> bool {
    let Ok(task) = std::env::var(KILLED) else { return false };
    let [task, after, folder] = task.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!() };
    let world = World { folder: Folder::Of(folder.into()) };
    LEFT.store(after.parse().unwrap(), Ordering::Relaxed);
    match task {
        "update" => drop(world.update()),
        "rebuild" => drop(rebuild(&world).unwrap()),
        "forget" => forget(&world.engine(), &world.path(FIRST)).unwrap(),
        other => panic!("{other}"),
    }
    true
}

/// Runs a task in a process that is killed after a number of statements. Returns whether it was.
fn run_killed(test: &str, task: &str, after: usize, world: &World) -> bool {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("search::tests::{test}")]);
    child.env(KILLED, format!("{task} {after} {}", world.folder.path().display()));
    child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    !child.status().unwrap().success()
}

#[test]
fn an_update_that_is_killed_loses_nothing_but_time() {
    if is_killed_process() {
        return;
    }
    let test = "an_update_that_is_killed_loses_nothing_but_time";
    let world = World::new();
    world.write(SECOND, session(SECOND));
    let other = "aaaaaaaa-0000-4000-8000-000000000000";
    world.write(other, Transcript::session(other).user("o", "An obsolete samovar"));
    world.update();
    // Files are removed and replaced, and enough is new that segments are merged at the end.
    fs::remove_file(world.path(other)).unwrap();
    world.write(SECOND, session(SECOND).user("u9", "水壺 once more"));
    generate::session(&mut fs::File::create(world.path(FIRST)).unwrap(), 13, 90_000).unwrap();
    // What the project has is stored as well.
    #[cfg(unix)]
    world.age_folders();
    let mut after = 1;
    let mut kills = 0;
    // Each process gets further than the one before: what it committed stays.
    while run_killed(test, "update", after, &world) {
        kills += 1;
        after += after / 2 + 1;
        let found = world.search("水壺", &SearchOptions::default());
        assert!((1..=2).contains(&found.total), "{found:?}");
        assert_eq!(found.hits.len() as u64, found.total);
        #[cfg(unix)]
        assert!(world.listings() == 0 || world.behind() == Behind::default());
        assert!(kills < 100);
    }
    assert!(kills > 8, "{kills}");
    #[cfg(unix)]
    assert_eq!((world.listings(), world.behind()), (1, Behind::default()));
    assert_eq!(world.update().files, 0);
    assert_like_new(&world);
}

#[test]
fn a_first_update_that_is_killed_can_be_repeated() {
    if is_killed_process() {
        return;
    }
    let world = World::new();
    world.write(FIRST, session(FIRST));
    for after in 1..40 {
        run_killed("a_first_update_that_is_killed_can_be_repeated", "update", after, &world);
        if after % 5 == 0 {
            world.update();
            assert_like_new(&world);
            world.engine().clear_index().unwrap();
        }
    }
}

/// Returns whether a word is anywhere in the files of the index.
fn is_in_files_of_index(world: &World, needle: &str) -> bool {
    let folder = world.index().parent().unwrap().to_owned();
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files = files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("search."));
    files.any(|path| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
    })
}

#[test]
fn purging_a_session_leaves_none_of_its_words_in_the_index() {
    let world = World::new();
    let text = "hunter2 is the zanzibarpassword of zanzibarperson";
    let secret = Transcript::session(FIRST)
        .cwd("/zanzibarfolder")
        .user("u1", text)
        .assistant("a1", |reply| reply.tool("t", "Read", json!({"file_path": "/zanzibarfile"})));
    world.write(FIRST, &secret);
    generate::session(&mut fs::File::create(world.path(SECOND)).unwrap(), 9, 100_000).unwrap();
    world.update();
    assert!(is_in_files_of_index(&world, "zanzibarpassword"));
    let engine = world.engine();
    let trashed = engine.delete(&engine.session(FIRST.as_ref()).unwrap(), false).unwrap();
    // Whether an update came in between or not.
    for is_updated in [false, true] {
        if is_updated {
            world.write(FIRST, &secret);
            world.update();
            fs::remove_file(world.path(FIRST)).unwrap();
            world.update();
        }
        forget(&engine, &world.path(FIRST)).unwrap();
        for word in ["hunter2", "zanzibarpassword", "zanzibar"] {
            assert!(!is_in_files_of_index(&world, word), "{word}");
        }
        assert_like_new(&world);
    }
    world.write(FIRST, session(FIRST));
    world.update();
    engine.purge(&trashed).unwrap();
    assert_eq!(world.search("水壺", &flat()).total, 1);
    assert_like_new(&world);
}

/// The result of a call, and what was said then.
fn with_result(transcript: Transcript) -> Transcript {
    transcript.at("2026-03-01T11:00:00Z").result("u1", "t1", "fn brew() {}").user("u2", "And the pot?")
}

/// A resumed session may have a result without its call: which tool it was, and about which file, only the other transcript says.
#[test]
fn purging_one_of_two_copies_leaves_no_name_that_only_it_had() {
    for purged_is_first in [true, false] {
        let world = World::new();
        let input = json!({"notebook_path": "/zanzibarfile"});
        let call = Transcript::session(FIRST)
            .assistant("a1", |reply| reply.text("I look").tool("t1", "NotebookRead", input));
        let mut sessions = [(FIRST, with_result(call)), (SECOND, with_result(Transcript::session(SECOND)))];
        sessions.sort_by_key(|(session, _)| (*session == FIRST) != purged_is_first);
        for (session, transcript) in sessions {
            world.write(session, transcript);
            world.update();
        }
        assert_eq!(world.search("brew", &flat()).total, 1);
        assert_eq!(world.search("brew tool:notebookread file:zanzibarfile", &flat()).total, 1);
        fs::remove_file(world.path(FIRST)).unwrap();
        forget(&world.engine(), &world.path(FIRST)).unwrap();
        assert_eq!(world.search("brew", &flat()).total, 1);
        assert_eq!(world.search("brew tool:notebookread", &flat()).total, 0);
        for name in ["NotebookRead", "zanzibarfile"] {
            assert!(!is_in_files_of_index(&world, name), "{name}");
        }
        assert_like_new(&world);
    }
}

#[test]
fn purging_a_session_leaves_none_of_its_text_in_the_catalogue() {
    let world = World::new();
    let lines = Transcript::session(FIRST)
        .user("u1", "the zanzibarprompt")
        .assistant("a1", |reply| reply.tool("t", "Read", json!({"file_path": "/zanzibarfile"})))
        .title("the zanzibartitle");
    world.write(FIRST, &lines);
    let agents = world.path(FIRST).with_extension("").join("subagents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("agent-a1.jsonl"), lines.to_string()).unwrap();
    generate::session(&mut fs::File::create(world.path(SECOND)).unwrap(), 9, 100_000).unwrap();
    world.update();
    let engine = world.engine();
    let all = crate::ListOptions { all: true, ..crate::ListOptions::default() };
    assert_eq!(engine.list(&all).sessions.len(), 2);
    let catalogue = engine.home().path().join("catalog.sqlite");
    let has =
        |word: &str| fs::read(&catalogue).unwrap().windows(word.len()).any(|seen| seen == word.as_bytes());
    assert!(["zanzibarprompt", "zanzibartitle", "zanzibarfile"].into_iter().all(has));
    let trashed = engine.delete(&engine.session(FIRST.as_ref()).unwrap(), false).unwrap();
    engine.purge(&trashed).unwrap();
    for word in ["zanzibar", FIRST] {
        assert!(!has(word), "{word}");
    }
    assert!(has(SECOND), "other sessions stay");
}

#[test]
fn purging_a_session_removes_a_catalogue_that_another_process_keeps_busy() {
    let world = World::new();
    world.write(FIRST, Transcript::session(FIRST).user("u1", "the zanzibarprompt"));
    let engine = world.engine();
    assert_eq!(engine.list(&crate::ListOptions::default()).sessions.len(), 1);
    let catalogue = engine.home().path().join("catalog.sqlite");
    let trashed = engine.delete(&engine.session(FIRST.as_ref()).unwrap(), false).unwrap();
    let other = rusqlite::Connection::open(&catalogue).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    engine.purge(&trashed).unwrap();
    assert!(!catalogue.exists());
}

#[test]
fn names_are_stored_filtered_and_found_by_filters() {
    let world = World::new();
    let line = r#"{"type":"assistant","uuid":"a1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p/zanzibar","gitBranch":"fix/zanzibar","message":{"id":"m","model":"x","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/k/zanzibar.rs"}}]}}"#;
    world.write(FIRST, format!("{line}\n"));
    let (engine, mask) = (world.engine(), Mask("zanzibar"));
    update_with(&engine, &mask);
    assert!(!is_in_files_of_index(&world, "zanzibar"));
    for query in ["branch:fix/zanzibar", "file:/k/zanzibar.rs", "file:zanzibar.rs", "project:/p/zanzibar"] {
        let answer = engine.search(&Query::parse(query).unwrap(), &mask, &flat()).unwrap();
        assert_eq!(answer.total, 1, "{query}");
    }
}

#[test]
fn a_change_inside_a_file_of_the_same_length_is_noticed() {
    let world = World::new();
    let lines = |word: &str| {
        let pad = "tea ".repeat(500);
        Transcript::session(FIRST)
            .user("u1", pad.as_str())
            .user("u2", word)
            .user("u3", pad.as_str())
            .to_string()
    };
    let path = world.path(FIRST);
    fs::write(&path, lines("kettle")).unwrap();
    assert_eq!(world.find("kettle").len(), 1);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut &file, lines("teapot").as_bytes()).unwrap();
    file.set_modified(std::time::SystemTime::now() + Duration::from_secs(5)).unwrap();
    assert_eq!(
        world.engine().index_status(&Unfiltered).unwrap().behind.bytes,
        path.metadata().unwrap().len()
    );
    assert_eq!(world.find("teapot").len(), 1);
    assert_eq!(world.search("kettle", &flat()).total, 0);
    assert_like_new(&world);
}

/// A change inside of a file that also grew is not noticed, because noticing it would need all of its bytes with each append. What
/// is shown is right in any case.
#[test]
fn a_change_inside_a_file_that_grew_shows_nothing_wrong_and_is_found_after_a_rebuild() {
    let world = World::new();
    let lines = |word: &str| {
        let pad = "tea ".repeat(500);
        Transcript::session(FIRST).user("u1", pad.as_str()).user("u2", word).user("u3", pad.as_str())
    };
    let path = world.path(FIRST);
    fs::write(&path, lines("kettle").to_string()).unwrap();
    assert_eq!(world.find("kettle").len(), 1);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let grown = lines("teapot").user("u4", "samovar").to_string();
    std::io::Write::write_all(&mut &file, grown.as_bytes()).unwrap();
    assert_eq!(world.find("samovar").len(), 1);
    assert_eq!(world.search("kettle", &flat()).hits.len(), 0);
    rebuild(&world).unwrap();
    assert_eq!(world.search("kettle", &flat()).total, 0);
    assert_eq!(world.search("teapot", &flat()).hits.len(), 1);
    assert_like_new(&world);
}

fn rebuild(world: &World) -> Result<IndexReport, Error> {
    let anew = IndexOptions { rebuild: true, ..IndexOptions::default() };
    world.engine().update_index(&Unfiltered, &anew, |_| ControlFlow::Continue(()))
}

/// Returns the names of the files of the index.
fn files_of_index(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.index().parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("search.")).collect();
    names.sort();
    names
}

#[test]
fn a_rebuild_that_fails_or_is_stopped_leaves_the_index_as_it_was() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    let before = fs::read(world.index()).unwrap();
    generate::session(&mut fs::File::create(world.path(SECOND)).unwrap(), 3, 100_000).unwrap();
    let options = IndexOptions { rebuild: true, ..IndexOptions::default() };
    // The disk is full half-way.
    MOST_PAGES.set(Some(20));
    let failed = rebuild(&world);
    MOST_PAGES.set(None);
    assert!(failed.unwrap_err().to_string().contains("full"));
    assert_eq!(files_of_index(&world), ["search.sqlite"]);
    assert_eq!(fs::read(world.index()).unwrap(), before);
    // The caller stops it; meanwhile others search the old one.
    let stopped = world.engine().update_index(&Unfiltered, &options, |_| {
        assert_eq!(world.search("水壺", &flat()).hits.len(), 1);
        ControlFlow::Break(())
    });
    assert!(!stopped.unwrap().is_complete);
    assert_eq!(world.search("水壺", &flat()).hits.len(), 1);
    assert_eq!(world.engine().index_status(&Unfiltered).unwrap().documents, 6);
    let rebuilt = rebuild(&world).unwrap();
    assert!(rebuilt.is_complete && rebuilt.is_rebuilt);
    assert_eq!(files_of_index(&world), ["search.sqlite"]);
    assert_like_new(&world);
}

#[test]
fn a_rebuild_that_is_killed_leaves_an_index_and_no_rest() {
    if is_killed_process() {
        return;
    }
    let test = "a_rebuild_that_is_killed_leaves_an_index_and_no_rest";
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    let mut after = 1;
    while run_killed(test, "rebuild", after, &world) {
        assert_eq!(world.search("水壺", &flat()).hits.len(), 1, "{after}");
        after += after / 3 + 1;
    }
    assert!(after > 8, "{after}");
    assert!(run_killed(test, "rebuild", 5, &world));
    assert!(files_of_index(&world).iter().any(|name| name.contains("new")));
    world.update();
    assert!(!files_of_index(&world).iter().any(|name| name.contains("new")));
    assert_like_new(&world);
}

/// The index stays open between two searches of an engine.
#[test]
fn an_engine_that_goes_on_searching_sees_every_change_by_others() {
    let world = World::new();
    let engine = world.engine();
    let total =
        || engine.search(&Query::parse("水壺").unwrap(), &Unfiltered, &flat()).map(|found| found.total);
    world.write(FIRST, session(FIRST));
    world.update();
    assert_eq!(total().unwrap(), 1);
    world.write(SECOND, Transcript::session(SECOND).user("u", "水壺 again"));
    world.update();
    assert_eq!(total().unwrap(), 2);
    fs::remove_file(world.path(SECOND)).unwrap();
    rebuild(&world).unwrap();
    assert_eq!(total().unwrap(), 1);
    world.engine().clear_index().unwrap();
    assert!(total().unwrap_err().is_no_index());
    world.update();
    assert_eq!(total().unwrap(), 1);
    // The engine itself writes beside the connection that it keeps open.
    world.write(SECOND, Transcript::session(SECOND).user("u", "水壺 again"));
    update_with(&engine, &Unfiltered);
    world.write(FIRST, session(FIRST).user("u9", "水壺 once more"));
    world.update();
    assert_eq!(total().unwrap(), 3);
}

/// Whatever fails while a new index takes the place of the old one, one of the two is there.
#[test]
fn an_exchange_that_fails_leaves_an_index() {
    let at = |folder: &Path| World { folder: Folder::Of(folder.to_owned()) };
    let finds = |world: &World| {
        let answer = world.engine().search(&Query::parse("水壺").unwrap(), &Unfiltered, &flat());
        answer.is_ok_and(|answer| answer.hits.len() == 1)
    };
    let failures = every_fault(
        |folder| {
            fs::create_dir_all(folder.join("root/projects/-p")).unwrap();
            at(folder).write(FIRST, session(FIRST));
            at(folder).update();
        },
        |disk, folder| {
            let anew = IndexOptions { rebuild: true, ..IndexOptions::default() };
            let engine = at(folder).engine().with_disk(disk);
            drop(engine.update_index(&Unfiltered, &anew, |_| ControlFlow::Continue(())));
        },
        |folder, fault, ()| {
            let world = at(folder);
            // Whoever is killed, or whose disk stays broken, takes nothing back; the next update does.
            assert!(finds(&world) || matches!(fault, Fault::Crash | Fault::ForGood), "{fault:?}");
            assert!(!world.update().is_rebuilt && finds(&world), "{fault:?}");
            assert_eq!(files_of_index(&world), ["search.sqlite"]);
        },
    );
    assert!(failures > 6, "{failures}");
}

/// A database that cannot be written to is read without what was written last, and may seem damaged for that reason.
#[cfg(unix)]
#[test]
fn an_index_that_cannot_be_written_to_is_never_removed() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    let mut bytes = fs::read(world.index()).unwrap();
    // The header says that there is a write-ahead log; everything else is damaged.
    bytes[4_000..].fill(0xff);
    fs::write(world.index(), &bytes).unwrap();
    // SQLite follows no link to the file that processes share. Permissions would not stop an administrator.
    let shared = world.index().with_extension("sqlite-shm");
    std::os::unix::fs::symlink("nowhere", &shared).unwrap();
    let query = Query::parse("kettle").unwrap();
    let search = || world.engine().search(&query, &Unfiltered, &SearchOptions::default());
    assert!(search().unwrap_err().to_string().contains("search.sqlite"));
    assert!(
        world
            .engine()
            .update_index(&Unfiltered, &IndexOptions::default(), |_| ControlFlow::Continue(()))
            .is_err()
    );
    assert_eq!(fs::read(world.index()).unwrap(), bytes);
    // When it can be written to, it is damaged.
    fs::remove_file(&shared).unwrap();
    assert!(search().unwrap_err().is_no_index());
    assert!(!world.index().exists());
}

#[test]
fn an_index_that_cannot_be_made_anew_stays() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    fs::create_dir(world.index().with_extension("new.sqlite")).unwrap();
    let anew = IndexOptions { rebuild: true, ..IndexOptions::default() };
    let rebuilt = world.engine().update_index(&Unfiltered, &anew, |_| ControlFlow::Continue(()));
    assert!(rebuilt.unwrap_err().to_string().contains("search.sqlite"));
    assert_eq!(world.search("水壺", &flat()).total, 1);
    fs::remove_dir(world.index().with_extension("new.sqlite")).unwrap();
    world.engine().update_index(&Unfiltered, &anew, |_| ControlFlow::Continue(())).unwrap();
    assert_like_new(&world);
}

/// A statement that SQLite refuses says nothing about the file.
#[test]
fn no_query_removes_the_index() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    let filters =
        |name: &str| (0..5_000).map(|number| format!("{name}:x{number} ")).collect::<Vec<_>>().concat();
    for name in ["-tool", "tool", "-file", "file", "-session", "-branch", "-before:1d -role:user -tool"] {
        let query = format!("kettle {}", filters(name));
        let _ = world.engine().search(&Query::parse(&query).unwrap(), &Unfiltered, &flat());
        assert_eq!(world.search("水壺", &flat()).total, 1, "{name}");
    }
    // Those that are not written in the query are not bounded.
    let mut query = Query::parse("kettle").unwrap();
    for number in 0..5_000 {
        query.add_filter(annals_search::Condition::Project(format!("/nowhere/{number}")));
    }
    assert_eq!(world.engine().search(&query, &Unfiltered, &flat()).unwrap().total, 0);
    assert_eq!(world.search("水壺", &flat()).total, 1);
    let error = rusqlite::Connection::open(world.index()).unwrap().prepare("SELECT nothing").unwrap_err();
    assert!(!is_damaged(&error));
}

#[test]
fn forgetting_that_is_killed_can_be_repeated() {
    if is_killed_process() {
        return;
    }
    let world = World::new();
    world.write(FIRST, Transcript::session(FIRST).user("u1", "zanzibarpassword"));
    generate::session(&mut fs::File::create(world.path(SECOND)).unwrap(), 9, 30_000).unwrap();
    world.update();
    fs::remove_file(world.path(FIRST)).unwrap();
    let mut after = 1;
    while run_killed("forgetting_that_is_killed_can_be_repeated", "forget", after, &world) {
        assert_eq!(world.search("zanzibarpassword", &flat()).hits.len(), 0);
        after += 1;
    }
    assert!(after > 5, "{after}");
    assert!(!is_in_files_of_index(&world, "zanzibarpassword"));
    assert_like_new(&world);
}

#[test]
fn a_transcript_that_replaced_a_purged_version_is_read_again() {
    let world = World::new();
    world.write(FIRST, Transcript::session(FIRST).user("u1", "zanzibarpassword"));
    world.update();
    let other = world.folder.path().join("other");
    fs::write(&other, session(FIRST).to_string()).unwrap();
    fs::rename(other, world.path(FIRST)).unwrap();
    forget(&world.engine(), &world.path(FIRST)).unwrap();
    assert!(!is_in_files_of_index(&world, "zanzibarpassword"));
    assert_eq!(world.find("水壺").len(), 1);
    assert_like_new(&world);
}

#[test]
fn words_of_removed_documents_go_when_there_are_many() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    let mut lines = Transcript::session(SECOND);
    for number in 0..40 {
        lines = lines.user(&format!("u{number}"), format!("obsoleteword {number}"));
    }
    world.write(SECOND, lines);
    world.update();
    fs::remove_file(world.path(SECOND)).unwrap();
    world.update();
    assert!(!is_in_files_of_index(&world, "obsoleteword"));
    assert_like_new(&world);
}

#[test]
fn named_files_are_updated_alone() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    let engine = world.engine();
    let update = |paths: &[PathBuf]| {
        let report = engine.update_index_files(&Unfiltered, &IndexOptions::default(), paths)?;
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        Ok::<_, Error>((report.documents, report.files, report.removed))
    };
    let (first, second) = (world.path(FIRST), world.path(SECOND));
    assert!(update(std::slice::from_ref(&first)).unwrap_err().is_no_index());
    world.update();
    world.write(FIRST, session(FIRST).user("u8", "a first samovar"));
    world.write(SECOND, Transcript::session(SECOND).user("u9", "a second samovar"));
    assert_eq!(update(std::slice::from_ref(&second)).unwrap(), (1, 1, 0));
    assert_eq!(world.search("samovar", &flat()).total, 1);
    // Nothing is new; and what is no transcript of the config folders is not indexed.
    let title = first.with_extension("title");
    fs::write(&title, "x").unwrap();
    assert_eq!(update(&[second.clone(), title, world.index()]).unwrap(), (0, 0, 0));
    assert_eq!(update(&[first.clone(), second.clone()]).unwrap(), (1, 1, 0));
    fs::remove_file(&second).unwrap();
    assert_eq!(update(&[second.clone(), second]).unwrap(), (0, 0, 2));
    assert_eq!(world.search("samovar", &flat()).total, 1);
    assert_like_new(&world);
}

#[test]
fn the_same_pass_feeds_the_catalogue() {
    let world = World::new();
    let path = world.path(FIRST);
    let stored = || Activities::open(world.engine().home().path()).load(&path);
    let read = || {
        let mut activity = stored();
        activity.restart();
        fold::update(&path, &mut [&mut activity]).unwrap();
        activity
    };
    let lines = session(FIRST);
    world.write(FIRST, &lines);
    let alone = IndexOptions { feeds_catalog: false, ..IndexOptions::default() };
    world.engine().update_index(&Unfiltered, &alone, |_| ControlFlow::Continue(())).unwrap();
    assert_ne!(stored(), read());
    // The catalogue is behind the index, then they are at the same place, then the catalogue is gone.
    let lines = lines.user("u7", "more");
    world.write(FIRST, &lines);
    world.update();
    assert_eq!(stored(), read());
    let lines = lines.assistant("a7", |reply| reply.tool("t7", "Write", json!({"file_path": "/new"})));
    world.write(FIRST, &lines);
    let options = IndexOptions::default();
    world.engine().update_index_files(&Unfiltered, &options, std::slice::from_ref(&path)).unwrap();
    assert_eq!(stored(), read());
    assert!(stored().state.has_tool("Write"));
    remove_file(&world.engine().home().path().join("catalog.sqlite"));
    world.write(FIRST, lines.user("u8", "and more"));
    world.update();
    assert_eq!(stored(), read());
    assert_like_new(&world);
}

#[test]
fn a_full_disk_is_an_error_and_what_was_committed_stays() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    generate::session(&mut fs::File::create(world.path(SECOND)).unwrap(), 3, 200_000).unwrap();
    let engine = world.engine();
    let text_limit = IndexOptions::default().text_limit;
    let mut failures = 0;
    for more_pages in [0, 5, 10, 20, 1_000_000] {
        let mut index = Index::open_to_write(&world.index(), 0, text_limit).unwrap().unwrap();
        let pages: i64 = index.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        let most = pages + more_pages;
        let set = format!("PRAGMA max_page_count = {most}");
        index.connection.query_row(&set, [], |_| Ok(())).unwrap();
        let updated =
            update::update_opened(&engine, &mut index, &Unfiltered, &IndexOptions::default(), &mut |_| {
                ControlFlow::Continue(())
            });
        drop(index);
        match updated {
            Ok(report) => assert!(report.is_complete),
            Err(error) => {
                assert!(!is_broken(&error));
                let message = Error::index(&world.index(), error).to_string();
                assert!(message.contains("full"), "{message}");
                failures += 1;
            }
        }
        assert_eq!(world.search("水壺", &flat()).hits.len(), 1);
    }
    assert!((1..5).contains(&failures), "{failures}");
    assert_like_new(&world);
}

#[test]
fn an_index_in_a_folder_that_cannot_be_written_is_searched() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    world.update();
    let folder = world.folder.path().join("a 100% 茶?#&");
    fs::create_dir(&folder).unwrap();
    let copied = folder.join("search.sqlite");
    fs::copy(world.index(), &copied).unwrap();
    let index = Index::open_write_protected(&copied).unwrap().unwrap();
    assert_eq!(index.documents().unwrap(), 6);
    let found: i64 = index
        .connection
        .query_row("SELECT count(*) FROM text WHERE text MATCH 'kettle'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(found, 2);
    drop(index);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "nothing is written");
}

#[test]
fn flipped_bits_show_nothing_wrong() {
    let world = World::new();
    world.write(FIRST, session(FIRST));
    let shown = |answer: &SearchAnswer| -> Vec<String> {
        let hit = |hit: &Hit| {
            format!(
                "{:?}",
                (
                    &hit.file,
                    &hit.entry,
                    hit.part,
                    hit.role,
                    &hit.project,
                    hit.time,
                    hit.is_error,
                    &hit.snippet.text
                )
            )
        };
        answer.hits.iter().map(hit).collect()
    };
    world.update();
    let right = shown(&world.search("kettle OR borrow", &flat()));
    assert_eq!(right.len(), 4);
    let whole = fs::read(world.index()).unwrap();
    let query = Query::parse("kettle OR borrow").unwrap();
    let mut random = Random::new(5);
    for _ in 0..400 {
        let mut bytes = whole.clone();
        let bit = usize::try_from(random.below(bytes.len() as u64 * 8)).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
        remove_file(&world.index());
        fs::write(world.index(), bytes).unwrap();
        match world.engine().search(&query, &Unfiltered, &flat()) {
            Ok(answer) => assert!(shown(&answer).iter().all(|hit| right.contains(hit)), "bit {bit}"),
            Err(error) => assert!(
                error.is_no_index() || error.to_string().contains("search.sqlite"),
                "bit {bit}: {error}"
            ),
        }
    }
}

/// Lines as they occur in transcripts.
fn line() -> impl Strategy<Value = String> {
    let time = (0..3_u32).prop_map(|second| format!("2026-01-01T00:00:0{second}.000Z"));
    let word =
        prop::sample::select(vec!["kettle", "foo_bar", "getUser", "数据库", "データ", "한국어", "E0502"]);
    (0..9_u32, time, word, 0..3_u32).prop_map(|(kind, time, word, id)| match kind {
        0 | 1 => format!(r#"{{"type":"user","uuid":"u{id}","timestamp":"{time}","cwd":"/p","message":{{"content":"about {word}"}}}}"#),
        2 | 3 => format!(r#"{{"type":"assistant","uuid":"a{id}","timestamp":"{time}","message":{{"id":"m","model":"x","content":[{{"type":"text","text":"{word}"}},{{"type":"tool_use","id":"t{id}","name":"Read","input":{{"file_path":"/{word}"}}}}]}}}}"#),
        4 => format!(r#"{{"type":"user","timestamp":"{time}","message":{{"content":[{{"type":"tool_result","tool_use_id":"t{id}","content":"{word} printed"}}]}}}}"#),
        5 => format!(r#"{{"type":"custom-title","customTitle":"{word}","sessionId":"s"}}"#),
        6 => format!(r#"{{"type":"summary","summary":"{word}"}}{{"type":"mode"}}"#),
        7 => "not json".to_owned(),
        _ => String::new(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_order_of_growth_gives_the_index_of_the_whole(
        first in prop::collection::vec(line(), 0..10),
        second in prop::collection::vec(line(), 0..10),
        cuts in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..5),
    ) {
        let world = World::new();
        let texts = [first.join("\n") + "\n", second.join("\n") + "\n"];
        let mut lengths = [0, 0];
        for (is_second, cut) in cuts {
            let number = usize::from(is_second);
            lengths[number] = cut.index(texts[number].len() + 1).max(lengths[number]);
            let path = world.path([FIRST, SECOND][number]);
            fs::write(path, &texts[number].as_bytes()[..lengths[number]]).unwrap();
            #[cfg(unix)]
            if lengths[number] % 2 == 0 {
                world.age_folders();
            }
            world.update();
        }
        world.write(SECOND, &texts[1]);
        world.update();
        world.write(FIRST, &texts[0]);
        world.update();
        assert_like_new(&world);
        let documents = all_documents(&world);
        for query in ["kettle", "user", "数据", "bar", "\"foo bar\"", "데", "국", "read*"] {
            assert_finds_all(&world, &documents, query);
        }
    }
}
