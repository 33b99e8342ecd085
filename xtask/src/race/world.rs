//! A client's folder with one session and its side files, and a trash.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use memchr::memmem;
use tempfile::TempDir;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub(super) const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const OTHER: &str = "0b0b0b0b-0000-4000-8000-000000000000";
/// The working directory of the session, whose folder is `-p`.
pub(super) const PROJECT: &str = "/p";

/// A word that stands in one line or file only.
pub(super) type Mark = String;
pub(super) type Marks = BTreeSet<Mark>;

/// How a run begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) state: State,
    /// Whether the trash lies on another file system than the client's folder.
    is_far: bool,
    /// Whether there is a `sessions-index.json`.
    has_index: bool,
    /// Whether the client's folder lies in memory, where nothing waits for a disk and other moments coincide.
    is_in_memory: bool,
}

/// Where the session is at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    OnDisk,
    InTrash,
    /// An earlier version of it is in the trash.
    Both,
}

impl Setting {
    /// Returns the setting of a run. Eight runs in sequence have every state with the trash near and far.
    pub(super) fn of_seed(seed: u64) -> Self {
        let state = match seed % 4 {
            0 | 3 => State::InTrash,
            1 => State::OnDisk,
            _ => State::Both,
        };
        let is_even = |number: u64| number.is_multiple_of(2);
        Self {
            state,
            is_far: is_even(seed / 4),
            has_index: is_even(seed + seed / 2 + seed / 4),
            is_in_memory: is_even(seed + seed / 8),
        }
    }
}

pub(super) struct World {
    folder: TempDir,
    home: TempDir,
    marks: usize,
    /// What is on disk at the beginning.
    pub(super) live: Marks,
    /// What is in each entry of the trash at the beginning.
    pub(super) trashed: BTreeMap<String, Marks>,
}

impl World {
    pub(super) fn new(setting: Setting, annals: &Path) -> Result<Self> {
        let in_memory = || match Path::new("/dev/shm") {
            memory if memory.is_dir() => tempfile::tempdir_in(memory),
            _ => tempfile::tempdir(),
        };
        let folder_in = |is_in_memory: bool| if is_in_memory { in_memory() } else { tempfile::tempdir() };
        let folder = folder_in(setting.is_in_memory)?;
        let home = folder_in(setting.is_in_memory != setting.is_far)?;
        let mut world = Self { folder, home, marks: 0, live: Marks::new(), trashed: BTreeMap::new() };
        world.write(&format!("projects/-p/{OTHER}.jsonl"), "{\"type\":\"user\"}\n")?;
        if setting.has_index {
            let index = format!(
                "{{\"version\":1,\"entries\":[{{\"sessionId\":\"{OTHER}\"}},{{\"sessionId\":\"{SESSION}\"}}]}}"
            );
            world.write("projects/-p/sessions-index.json", &index)?;
        }
        if setting.state != State::OnDisk {
            let marks = world.write_session()?;
            let output = world.command(annals).args(["delete", SESSION, "--json"]).output()?;
            let told: serde_json::Value = serde_json::from_slice(&output.stdout)?;
            // Versions without entries name none.
            world.trashed.insert(told["entry"].as_str().unwrap_or_default().to_owned(), marks);
        }
        if setting.state != State::InTrash {
            world.live = world.write_session()?;
        }
        Ok(world)
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn transcript(&self) -> PathBuf {
        self.root().join(format!("projects/-p/{SESSION}.jsonl"))
    }

    pub(super) fn new_mark(&mut self) -> Mark {
        self.marks += 1;
        format!("mark-{:06}", self.marks)
    }

    fn root(&self) -> PathBuf {
        self.folder().join("root")
    }

    /// Writes a session with all that can belong to it; returns its marks.
    fn write_session(&mut self) -> Result<Marks> {
        let mut marks = Marks::new();
        for place in [
            "projects/-p/{}/subagents/agent-a1.jsonl",
            "projects/-p/{}/tool-results/x.txt",
            "file-history/{}/0123456789abcdef@v1",
            "tasks/{}/1.json",
            "debug/{}.txt",
            "todos/{}-agent-{}.json",
            "projects/-p/{}.jsonl",
        ] {
            let lines: [String; 3] = std::array::from_fn(|_| {
                let (mark, number) = (self.new_mark(), self.marks);
                let line = format!(
                    "{{\"type\":\"user\",\"uuid\":\"aaaaaaaa-0000-4000-8000-{number:012}\",\"parentUuid\":null,\"sessionId\":\"{SESSION}\",\"message\":{{\"role\":\"user\",\"content\":\"{mark}\"}}}}\n"
                );
                marks.insert(mark);
                line
            });
            self.write(&place.replace("{}", SESSION), &lines.concat())?;
        }
        Ok(marks)
    }

    /// Writes a file as if that had been an hour ago.
    fn write(&self, place: &str, text: &str) -> Result<()> {
        let path = self.root().join(place);
        fs::create_dir_all(path.parent().ok_or("a file has a folder")?)?;
        fs::write(&path, text)?;
        let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
        Ok(File::options().append(true).open(&path)?.set_modified(an_hour_ago)?)
    }

    /// Returns a command that sees these folders and nothing else of the machine's.
    pub(super) fn command(&self, annals: &Path) -> Command {
        let mut command = Command::new(annals);
        command.env_clear().env("HOME", self.folder()).env("ANNALS_HOME", self.home.path()).env("TZ", "UTC");
        command.arg("--root").arg(self.root()).current_dir(self.folder());
        command
    }

    /// Returns every mark that is in a live session, a fork or the trash.
    pub(super) fn found(&self) -> Result<Marks> {
        let mut found = Marks::new();
        for path in self.files()? {
            let bytes = fs::read(&path)?;
            for start in memmem::find_iter(&bytes, "mark-") {
                let mark = bytes.get(start..start + "mark-000000".len()).unwrap_or_default();
                found.insert(String::from_utf8_lossy(mark).into_owned());
            }
        }
        Ok(found)
    }

    /// Returns what only an operation that goes on or was interrupted leaves.
    pub(super) fn unfinished(&self) -> Result<Vec<String>> {
        let is_unfinished = |name: &str| {
            [".moving", ".purging"].iter().any(|stage| name.contains(stage)) || name.ends_with(".annals")
        };
        // An entry without a manifest holds nothing yet.
        let is_entry_to_be = |path: &str| path.ends_with("/.manifest.json.annals");
        let mut found: Vec<_> = self.files()?.iter().map(|path| path.display().to_string()).collect();
        found.retain(|path| {
            !is_entry_to_be(path) && Path::new(path).iter().any(|name| is_unfinished(&name.to_string_lossy()))
        });
        Ok(found)
    }

    /// Returns whether the other session is still in the list of sessions, if there is one, and that is whole.
    pub(super) fn index_is_whole(&self) -> bool {
        let Ok(index) = fs::read(self.root().join("projects/-p/sessions-index.json")) else { return true };
        let index: serde_json::Value = serde_json::from_slice(&index).unwrap_or_default();
        index["entries"][0]["sessionId"] == OTHER
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut waiting = vec![self.root(), self.home.path().join("trash")];
        while let Some(path) = waiting.pop() {
            match fs::read_dir(&path) {
                Ok(entries) => {
                    for entry in entries {
                        waiting.push(entry?.path());
                    }
                }
                Err(_) if path.is_file() => found.push(path),
                Err(_) => {}
            }
        }
        Ok(found)
    }
}
