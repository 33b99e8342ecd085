//! A client's folder with two sessions, one of which has everything that can belong to a session.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use annals_engine::{Engine, Home, Roots, TranscriptFile};
use annals_transcript::write::fs::Disk;
use testkit::faults::FaultyDisk;
use testkit::transcript::Transcript;

pub(crate) const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
pub(crate) const OTHER: &str = "0b0b0b0b-0000-4000-8000-000000000000";
pub(crate) const FIRST: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub(crate) const SECOND: &str = "aaaaaaaa-0000-4000-8000-000000000002";

/// Returns a transcript of one message, which is the parent of those that are added to it.
pub(crate) fn message(id: &str, session: &str) -> Transcript {
    Transcript::session(session).at("2026-01-01T00:00:00Z").user(id, format!("text of {id}"))
}

/// Where the transcript of a session lies.
pub(crate) fn transcript(folder: &Path, session: &str) -> PathBuf {
    folder.join("root/projects/-p").join(format!("{session}.jsonl"))
}

/// The files of the session, each with content of its own.
pub(crate) fn belongings() -> Vec<(String, String)> {
    let agent = message("bbbbbbbb-0000-4000-8000-000000000001", SESSION).with("agentId", "a1").to_string();
    let old = message("bbbbbbbb-0000-4000-8000-000000000002", SESSION).with("agentId", "old").to_string();
    let session = message(FIRST, SESSION).user(SECOND, format!("text of {SECOND}")).to_string();
    let at = |place: &str, content: &str| (place.replace("{}", SESSION), content.to_owned());
    vec![
        at("projects/-p/{}/subagents/workflows/wf_1/agent-a1.jsonl", &agent),
        at("projects/-p/{}/subagents/workflows/wf_1/agent-a1.meta.json", "{\"agentType\":\"Explore\"}"),
        at("projects/-p/{}/tool-results/x.txt", "long output"),
        at("projects/-p/agent-old.jsonl", &old),
        at("projects/-p/agent-old.meta.json", "{\"agentType\":\"old\"}"),
        at("file-history/{}/0123456789abcdef@v1", "a backup"),
        at("tasks/{}/1.json", "a task"),
        at("debug/{}.txt", "a log"),
        at("todos/{}-agent-{}.json", "to do"),
        at("projects/-p/{}.jsonl", &session),
    ]
}

/// Makes the folder. Nothing in it was written a moment ago.
pub(crate) fn make(folder: &Path) {
    let root = folder.join("root");
    let index = format!(
        "{{\"version\":1,\"entries\":[{{\"sessionId\":\"{OTHER}\",\"n\":1.50}},{{\"sessionId\":\"{SESSION}\"}}]}}"
    );
    let others = [
        (format!("projects/-p/{OTHER}.jsonl"), message("cccccccc", OTHER).to_string()),
        (format!("projects/-p/{OTHER}/custom-title.json"), "{\"customTitle\":\"The other\"}".to_owned()),
        (format!("file-history/{OTHER}/x@v1"), "another backup".to_owned()),
        ("projects/-p/sessions-index.json".to_owned(), index),
        ("history.jsonl".to_owned(), "{}\n".to_owned()),
    ];
    for (path, content) in belongings().into_iter().chain(others) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
        File::options().append(true).open(&path).unwrap().set_modified(an_hour_ago).unwrap();
    }
    fs::create_dir_all(root.join("session-env").join(SESSION)).unwrap();
}

/// Returns an engine on the folder.
pub(crate) fn engine(folder: &Path, disk: Arc<dyn Disk>) -> Engine {
    let roots = Roots::given(vec![folder.join("root")]).unwrap();
    Engine::open(roots, Home::at(folder.join("home"))).with_disk(disk)
}

/// Returns an engine on the folder with a disk that works.
pub(crate) fn real(folder: &Path) -> Engine {
    engine(folder, Arc::new(FaultyDisk::sound()))
}

/// Returns the session with everything.
pub(crate) fn session(folder: &Path) -> TranscriptFile {
    TranscriptFile::at(&transcript(folder, SESSION))
}

/// Everything below a folder: files with their content, folders without.
pub(crate) type Tree = BTreeMap<PathBuf, Option<String>>;

/// Returns everything below a folder, by path from there.
pub(crate) fn tree(folder: &Path) -> Tree {
    let mut found = Tree::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let content = path.is_file().then(|| fs::read_to_string(&path).unwrap());
        found.insert(path.strip_prefix(folder).unwrap().to_owned(), content);
    }
    found
}

/// Returns the client's folder as it was made.
pub(crate) fn made() -> &'static Tree {
    static MADE: LazyLock<Tree> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        tree(&folder.path().join("root"))
    });
    &MADE
}
