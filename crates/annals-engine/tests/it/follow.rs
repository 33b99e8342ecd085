//! Following transcripts while they are written.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use annals_engine::{Engine, Follower, Following, Happening, Home, Roots, TranscriptFile};

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("projects/-p")).unwrap();
        Self { root }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join("projects").join(below)
    }

    fn session(&self) -> PathBuf {
        self.path(&format!("-p/{SESSION}.jsonl"))
    }

    fn follow(&self, poll: bool) -> Follower {
        self.engine().follow(&Following { only: None, poll })
    }

    fn engine(&self) -> Engine {
        Engine::open(Roots::given(vec![self.root.path().to_owned()]).unwrap(), Home::at("none"))
    }
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Waits until so much has happened, but not for ever; returns it as text, a line each.
fn happened(follower: &mut Follower, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(20);
    while told.len() < count && Instant::now() < deadline {
        follower.wait(Duration::from_millis(200), |file, happening| {
            told.push(format!("{} {}", name(file), spelled(&happening)));
        });
    }
    // What is too much would come at once.
    follower.wait(Duration::from_millis(50), |file, happening| {
        told.push(format!("{} {}", name(file), spelled(&happening)));
    });
    told
}

fn name(file: &TranscriptFile) -> String {
    file.agent.clone().unwrap_or_else(|| file.session.as_deref().unwrap_or("-")[..4].to_owned())
}

fn spelled(happening: &Happening) -> String {
    match happening {
        Happening::Created => "created".to_owned(),
        Happening::Entry { offset, bytes } => {
            format!("{offset}: {}", String::from_utf8_lossy(bytes).trim_end())
        }
        Happening::Title { title } => format!("title {title}"),
        Happening::Replaced => "replaced".to_owned(),
        Happening::Removed => "removed".to_owned(),
    }
}

#[test]
fn what_is_appended_is_told_line_by_line() {
    for poll in [false, true] {
        let place = Place::new();
        append(&place.session(), "{\"old\":1}\n{\"be");
        let mut follower = place.follow(poll);
        append(&place.session(), "gun\":1}\n{\"a\":\"天");
        assert_eq!(happened(&mut follower, 1), ["3e11 10: {\"begun\":1}"]);
        append(&place.session(), "气\"}");
        assert_eq!(happened(&mut follower, 0), [] as [&str; 0], "a line without its end waits");
        append(&place.session(), "\n{\"b\":1}{\"c\":1}\n");
        let lines = ["3e11 22: {\"a\":\"天气\"}", "3e11 37: {\"b\":1}", "3e11 44: {\"c\":1}"];
        assert_eq!(happened(&mut follower, 3), lines);
    }
}

#[test]
fn bytes_that_come_one_by_one_make_the_same_lines() {
    let place = Place::new();
    let mut follower = place.follow(false);
    let lines: Vec<_> = (0..40).map(|number| format!("{{\"n\":{number},\"t\":\"天气\"}}\n")).collect();
    let text = lines.concat();
    let path = place.session();
    let writer = std::thread::spawn({
        let text = text.clone();
        move || {
            let mut file = File::create(path).unwrap();
            for byte in text.as_bytes() {
                file.write_all(&[*byte]).unwrap();
            }
        }
    });
    let told = happened(&mut follower, 41);
    writer.join().unwrap();
    let lines: Vec<_> = told[1..].iter().map(|line| line.split_once(": ").unwrap().1).collect();
    assert_eq!(lines, text.lines().collect::<Vec<_>>());
}

#[test]
fn new_projects_and_subagents_are_picked_up_and_other_files_are_not() {
    for poll in [false, true] {
        let place = Place::new();
        let mut follower = place.follow(poll);
        let folder = place.path(&format!("-new/{SESSION}/subagents"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("agent-a1.jsonl"), "{\"x\":1}\n").unwrap();
        fs::write(folder.join("agent-a1.meta.json"), "{}").unwrap();
        fs::write(place.path("-new/notes.jsonl"), "{}\n").unwrap();
        assert_eq!(happened(&mut follower, 2), ["a1 created", "a1 0: {\"x\":1}"]);
    }
}

#[test]
fn files_that_are_replaced_cut_or_removed_are_told_so() {
    for poll in [false, true] {
        let place = Place::new();
        let path = place.session();
        append(&path, "{\"a\":1}\n{\"b\":1}\n");
        let mut follower = place.follow(poll);
        File::options().write(true).open(&path).unwrap().set_len(8).unwrap();
        assert_eq!(happened(&mut follower, 2), ["3e11 replaced", "3e11 0: {\"a\":1}"]);
        let beside = place.path("-p/beside");
        fs::write(&beside, "{\"c\":1}\n{\"d\":1}\n{\"e\":1}\n").unwrap();
        fs::rename(&beside, &path).unwrap();
        assert_eq!(happened(&mut follower, 4).len(), 4);
        fs::remove_file(&path).unwrap();
        assert_eq!(happened(&mut follower, 1), ["3e11 removed"]);
    }
}

#[test]
fn a_title_is_told_when_it_changes() {
    let place = Place::new();
    append(&place.session(), "{}\n");
    let mut follower = place.follow(false);
    for title in ["One", "One", "Two"] {
        append(&place.session(), &format!("{{\"type\":\"custom-title\",\"customTitle\":\"{title}\"}}\n"));
    }
    let told = happened(&mut follower, 5);
    let titles: Vec<_> = told.iter().filter(|told| told.contains(" title ")).collect();
    assert_eq!(told.len(), 5);
    assert_eq!(titles, ["3e11 title One", "3e11 title Two"]);
}

#[test]
fn one_session_is_followed_alone() {
    let place = Place::new();
    append(&place.session(), "{}\n");
    let only = Some(TranscriptFile::at(&place.session()));
    let mut follower = place.engine().follow(&Following { only, poll: false });
    append(&place.path("-p/0b0b0b0b-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl"), "{}\n");
    append(&place.session(), "{\"a\":1}\n");
    assert_eq!(happened(&mut follower, 1), ["3e11 3: {\"a\":1}"]);
}

#[test]
fn in_a_storm_of_files_nothing_is_lost() {
    let place = Place::new();
    let mut follower = place.follow(false);
    let folder = place.path("-p");
    let writer = std::thread::spawn(move || {
        for number in 0..5000 {
            let id = format!("{number:08x}-93c1-4d41-9f0c-2a6f0f9f7a55");
            fs::write(folder.join(format!("{id}.jsonl")), format!("{{\"n\":{number}}}\n")).unwrap();
        }
    });
    let told = happened(&mut follower, 10_000);
    writer.join().unwrap();
    let entries = told.iter().filter(|told| told.contains("{\"n\":")).count();
    let created = told.iter().filter(|told| told.ends_with("created")).count();
    assert_eq!((entries, created, told.len()), (5000, 5000, 10_000));
}
