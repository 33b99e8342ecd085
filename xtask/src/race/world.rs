//! The files of a race: a config folder with a session and its side files, and a trash; two of each if the two sides of the
//! race do not share them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use memchr::memmem;
use tempfile::TempDir;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
/// The session of the second side, where each has one of its own.
const SECOND_SESSION: &str = "4f22b7c5-a4d2-4e52-8a1d-3b7a1a0a8b66";
/// A session that no operation changes.
const OTHER: &str = "0b0b0b0b-0000-4000-8000-000000000000";
/// The working directory of the session, whose folder is `-p`.
pub(super) const PROJECT: &str = "/p";

/// A word that is in one line or file only.
pub(super) type Mark = String;
pub(super) type Marks = BTreeSet<Mark>;

/// One of the two processes of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    First,
    Second,
}

/// What the two sides of a race do not share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Apart {
    Nothing,
    /// They change two sessions of one project.
    Sessions,
    /// They change sessions with the same id in two roots.
    Roots,
    /// They change one session, and each has an `ANNALS_HOME` of its own.
    Homes,
}

/// The initial state of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) state: State,
    apart: Apart,
    /// Whether the trash lies on another file system than the config folder.
    is_far: bool,
    /// Whether there is a `sessions-index.json`.
    has_index: bool,
    /// Whether the config folder is in memory, where operations do not wait for a disk and so interleave differently.
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
    /// Returns the setting of a run. Eight consecutive runs cover every state of the session with the trash on the same and on
    /// another file system; what the sides do not share changes after eight.
    pub(super) fn of_seed(seed: u64) -> Self {
        let state = match seed % 4 {
            0 | 3 => State::InTrash,
            1 => State::OnDisk,
            _ => State::Both,
        };
        let apart = match seed / 8 % 4 {
            0 => Apart::Nothing,
            1 => Apart::Sessions,
            2 => Apart::Roots,
            _ => Apart::Homes,
        };
        let is_even = |number: u64| number.is_multiple_of(2);
        Self {
            state,
            apart,
            is_far: is_even(seed / 4),
            has_index: is_even(seed + seed / 2 + seed / 4),
            is_in_memory: is_even(seed + seed / 8 + seed / 32),
        }
    }
}

pub(super) struct World {
    folder: TempDir,
    /// What `ANNALS_HOME` is for each side; both may be the same.
    homes: [TempDir; 2],
    apart: Apart,
    marks: usize,
    /// What is on disk at the beginning.
    pub(super) live: Owned,
    /// What is in each entry of the trash at the beginning.
    pub(super) trashed: BTreeMap<String, Owned>,
    /// For each side the entry of its session that a tombstone removes, and the mark in it.
    doomed: BTreeMap<Side, (String, Mark)>,
    /// For each side the trash entry of the transcript that a `hydrate` replaced.
    replaced: BTreeMap<Side, String>,
}

/// Marks, each with the side whose session has it.
pub(super) type Owned = BTreeSet<(Side, Mark)>;

impl World {
    pub(super) fn new(setting: Setting, annals: &Path) -> Result<Self> {
        let in_memory = || match Path::new("/dev/shm") {
            memory if memory.is_dir() => tempfile::tempdir_in(memory),
            _ => tempfile::tempdir(),
        };
        let folder_in = |is_in_memory: bool| if is_in_memory { in_memory() } else { tempfile::tempdir() };
        let home = || folder_in(setting.is_in_memory != setting.is_far);
        let mut world = Self {
            folder: folder_in(setting.is_in_memory)?,
            homes: [home()?, home()?],
            apart: setting.apart,
            marks: 0,
            live: Owned::new(),
            trashed: BTreeMap::new(),
            doomed: BTreeMap::new(),
            replaced: BTreeMap::new(),
        };
        for root in world.roots() {
            write(&root.join(format!("projects/-p/{OTHER}.jsonl")), "{\"type\":\"user\"}\n")?;
            if setting.has_index {
                let entries =
                    [OTHER, SESSION, SECOND_SESSION].map(|id| format!("{{\"sessionId\":\"{id}\"}}"));
                let index = format!("{{\"version\":1,\"entries\":[{}]}}", entries.join(","));
                write(&root.join("projects/-p/sessions-index.json"), &index)?;
            }
        }
        if setting.state != State::OnDisk {
            for side in world.sides_with(&[Apart::Sessions, Apart::Roots, Apart::Homes]) {
                world.put_into_trash(side, annals)?;
            }
        }
        if setting.state != State::InTrash {
            for side in world.sides_with(&[Apart::Sessions, Apart::Roots]) {
                let marks = world.write_session(side)?;
                world.live.extend(marks);
            }
        }
        Ok(world)
    }

    /// Returns both sides if they do not share one of these things, and else the first.
    fn sides_with(&self, apart: &[Apart]) -> Vec<Side> {
        if apart.contains(&self.apart) { vec![Side::First, Side::Second] } else { vec![Side::First] }
    }

    /// Returns the side that a session belongs to: the first, if both change the same one.
    pub(super) fn owner(&self, side: Side) -> Side {
        if matches!(self.apart, Apart::Sessions | Apart::Roots) { side } else { Side::First }
    }

    /// Returns the sides that have a session of their own in the first root.
    pub(super) fn sides_in_first_root(&self) -> Vec<Side> {
        self.sides_with(&[Apart::Sessions])
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn session(&self, side: Side) -> &'static str {
        if side == Side::Second && self.apart == Apart::Sessions { SECOND_SESSION } else { SESSION }
    }

    pub(super) fn transcript(&self, side: Side) -> PathBuf {
        self.root(side).join(format!("projects/-p/{}.jsonl", self.session(side)))
    }

    pub(super) fn new_mark(&mut self) -> Mark {
        self.marks += 1;
        format!("mark-{:06}", self.marks)
    }

    /// Returns the id of the entry that a tombstone removes.
    pub(super) fn doomed_entry(&self, side: Side) -> String {
        self.doomed.get(&self.owner(side)).map(|(id, _)| id.clone()).unwrap_or_default()
    }

    /// Returns the mark in the entry that a tombstone removes.
    pub(super) fn doomed_mark(&self, side: Side) -> Option<&Mark> {
        self.doomed.get(&self.owner(side)).map(|(_, mark)| mark)
    }

    fn root(&self, side: Side) -> PathBuf {
        let has_second = side == Side::Second && self.apart == Apart::Roots;
        self.folder().join(if has_second { "second-root" } else { "root" })
    }

    fn roots(&self) -> BTreeSet<PathBuf> {
        BTreeSet::from([self.root(Side::First), self.root(Side::Second)])
    }

    fn home(&self, side: Side) -> &Path {
        let has_second = side == Side::Second && self.apart == Apart::Homes;
        self.homes[usize::from(has_second)].path()
    }

    /// Writes a session of a side and moves it to the trash.
    fn put_into_trash(&mut self, side: Side, annals: &Path) -> Result<()> {
        let marks = self.write_session(side)?;
        let output = self.command(side, annals).args(["delete", self.session(side), "--json"]).output()?;
        let told: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        // Versions without entries name none.
        let entry = told["entry"].as_str().unwrap_or_default().to_owned();
        match self.trashed.insert(entry, marks) {
            Some(_) => Err("two entries of the trash have the same id".into()),
            None => Ok(()),
        }
    }

    /// Writes the sessions that are not on disk, and replaces every transcript by a log, so that the trash has an entry with
    /// the old one.
    pub(super) fn hydrate_sessions(&mut self, annals: &Path) -> Result<()> {
        for side in self.sides_with(&[Apart::Sessions, Apart::Roots]) {
            if !self.transcript(side).exists() {
                let marks = self.write_session(side)?;
                self.live.extend(marks);
            }
            let old = fs::read(self.transcript(side))?;
            let mark = self.new_mark();
            let log = self.folder().join(format!("{mark}.jsonl"));
            write(
                &log,
                &format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{mark}\"}}}}\n"),
            )?;
            let mut hydrate = self.command(side, annals);
            hydrate.arg("hydrate").arg(log).args([
                "--session",
                self.session(side),
                "--project",
                PROJECT,
                "--json",
            ]);
            let told: serde_json::Value = serde_json::from_slice(&hydrate.output()?.stdout)?;
            let entry = told["entry"].as_str().ok_or("hydrate names no trash entry")?.to_owned();
            let old: Owned = marks_in(&old).into_iter().map(|mark| (self.owner(side), mark)).collect();
            self.live.retain(|mark| !old.contains(mark));
            self.live.insert((self.owner(side), mark));
            self.trashed.insert(entry.clone(), old);
            self.replaced.insert(self.owner(side), entry);
        }
        Ok(())
    }

    /// Returns the trash entry of the transcript that a `hydrate` replaced; an id that no entry has if there is none.
    pub(super) fn replaced_entry(&self, side: Side) -> String {
        self.replaced.get(&self.owner(side)).cloned().unwrap_or_else(|| "none".to_owned())
    }

    /// Writes a session with all that can belong to it; returns its marks. The entry that is doomed stands in the middle of
    /// the transcript, or at its end.
    fn write_session(&mut self, side: Side) -> Result<Owned> {
        let (root, session, owner) = (self.root(side), self.session(side), self.owner(side));
        let mut marks = Owned::new();
        let doomed_line = self.marks % 2 + 1;
        for place in [
            "projects/-p/{}/subagents/agent-a1.jsonl",
            "projects/-p/{}/tool-results/x.txt",
            "file-history/{}/0123456789abcdef@v1",
            "tasks/{}/1.json",
            "debug/{}.txt",
            "todos/{}-agent-{}.json",
            "projects/-p/{}.jsonl",
        ] {
            let mut lines = Vec::new();
            for line in 0..3 {
                let mark = self.new_mark();
                let id = format!("{:08}-0000-4000-8000-000000000000", self.marks);
                lines.push(format!(
                    "{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":null,\"sessionId\":\"{session}\",\"message\":{{\"role\":\"user\",\"content\":\"{mark}\"}}}}\n"
                ));
                if line == doomed_line {
                    // The transcript is written last.
                    self.doomed.insert(owner, (id, mark.clone()));
                }
                marks.insert((owner, mark));
            }
            write(&root.join(place.replace("{}", session)), &lines.concat())?;
        }
        Ok(marks)
    }

    /// Returns a command whose environment has the folders of a side and nothing else of the machine.
    pub(super) fn command(&self, side: Side, annals: &Path) -> Command {
        let mut command = Command::new(annals);
        command.env_clear().env("HOME", self.folder()).env("ANNALS_HOME", self.home(side)).env("TZ", "UTC");
        command.arg("--root").arg(self.root(side)).current_dir(self.folder());
        command
    }

    /// Returns every mark that is in a live session, a fork or the trash.
    pub(super) fn found(&self) -> Result<Marks> {
        let mut found = Marks::new();
        for path in self.files()?.into_iter().filter(|path| self.is_reachable(path)) {
            found.extend(marks_in(&fs::read(&path)?));
        }
        Ok(found)
    }

    /// Returns whether a command can bring a file back: not one in an entry of the trash that has no manifest or is being
    /// purged, nor the temporary file of an interrupted operation.
    fn is_reachable(&self, path: &Path) -> bool {
        let is_temporary =
            path.iter().any(|name| name == "copy" || name.to_string_lossy().ends_with(".annals"));
        let in_trash =
            self.homes.iter().map(|home| home.path().join("trash")).find(|trash| path.starts_with(trash));
        let is_listed = in_trash.is_none_or(|trash| {
            let name = path.strip_prefix(&trash).ok().and_then(|below| below.iter().next());
            let entry = trash.join(name.unwrap_or_default());
            entry.join("manifest.json").exists() && !entry.to_string_lossy().ends_with(".purging")
        });
        is_listed && !is_temporary
    }

    /// Returns files that exist only while an operation runs, or after it was interrupted.
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

    /// Returns whether the other session is still in every list of sessions, and these are whole.
    pub(super) fn indexes_are_whole(&self) -> bool {
        self.roots().iter().all(|root| {
            let Ok(index) = fs::read(root.join("projects/-p/sessions-index.json")) else { return true };
            let index: serde_json::Value = serde_json::from_slice(&index).unwrap_or_default();
            index["entries"][0]["sessionId"] == OTHER
        })
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut waiting: Vec<_> = self.roots().into_iter().collect();
        waiting.extend(self.homes.iter().map(|home| home.path().join("trash")));
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

/// Returns the marks in a file.
fn marks_in(bytes: &[u8]) -> Marks {
    let mark = |start: usize| bytes.get(start..start + "mark-000000".len()).unwrap_or_default();
    memmem::find_iter(bytes, "mark-").map(|start| String::from_utf8_lossy(mark(start)).into_owned()).collect()
}

/// Writes a file as if that had been an hour ago.
fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().ok_or("a file has a folder")?)?;
    fs::write(path, text)?;
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    Ok(File::options().append(true).open(path)?.set_modified(an_hour_ago)?)
}
