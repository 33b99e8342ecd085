//! Recorders as processes of their own: killed at any moment, and side by side.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use testkit::command::Home;

use crate::{ANNALS, SESSION, feed};

/// Where the session of a recorder in this home lies.
fn path(home: &Home) -> PathBuf {
    let projects: Vec<_> = fs::read_dir(home.path().join(".claude/projects"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    projects[0].join(format!("{SESSION}.jsonl"))
}

fn start(home: &Home, sync: &str) -> Child {
    let mut command = home.command(ANNALS);
    command.args(["record", "--session", SESSION, "--project", ".", "--batch", "1", "--sync", sync]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn prompt(id: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"{id}\",\"message\":{{\"content\":\"{}\"}}}}\n",
        "text ".repeat(20)
    )
}

/// Returns the ids of whole lines in order, and how many lines are not whole.
fn read(path: &Path) -> (Vec<String>, usize) {
    let text = fs::read_to_string(path).unwrap_or_default();
    let (mut ids, mut broken) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        match serde_json::from_str::<Value>(line) {
            Ok(entry) if line.ends_with('\n') => ids.push(entry["uuid"].as_str().unwrap().to_owned()),
            _ => broken += 1,
        }
    }
    (ids, broken)
}

#[test]
fn a_recorder_that_is_killed_at_any_moment_tears_one_line_at_most() {
    let home = Home::new();
    assert!(
        feed(&home, &["record", "--session", SESSION, "--project", "."], prompt("first").as_bytes()).code
            == Some(0)
    );
    let path = path(&home);
    let mut before = fs::read(&path).unwrap();
    let mut promised = vec!["first".to_owned()];
    for round in 0..200_u64 {
        let mut child = start(&home, "never");
        let mut stdin = child.stdin.take().unwrap();
        let feeder = thread::spawn(move || {
            for number in 0.. {
                if stdin.write_all(prompt(&format!("{round}-{number}")).as_bytes()).is_err() {
                    return;
                }
            }
        });
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, first_told) = mpsc::channel();
        let told = thread::spawn(move || {
            let lines = stdout.lines().map_while(Result::ok).inspect(|_| _ = sender.send(()));
            let told = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
            told.map(|told| told["last"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        });
        // Any moment: in every other round from the start of the process on, else from its first lines on.
        if round % 2 == 1 {
            first_told.recv().expect("it writes as long as it lives");
        }
        thread::sleep(Duration::from_micros(round.wrapping_mul(7919) % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        feeder.join().unwrap();
        promised.extend(told.join().unwrap());
        let after = fs::read(&path).unwrap();
        assert!(after.starts_with(&before), "round {round}: what was there is untouched");
        let (_, broken) = read(&path);
        let newly_broken = after[before.len()..].split_inclusive(|byte| *byte == b'\n');
        let newly_broken = newly_broken.filter(|line| serde_json::from_slice::<Value>(line).is_err()).count();
        // A line that was torn before is ended by the next recorder, on a line of its own.
        assert!(newly_broken <= 1, "round {round}: {newly_broken} of {broken}");
        before = after;
    }
    let ran = feed(&home, &["record", "--session", SESSION, "--project", "."], prompt("final").as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let (ids, broken) = read(&path);
    let distinct: HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "no line is there twice");
    assert!(promised.iter().all(|id| distinct.contains(id)), "what was said to be written is there");
    assert_eq!(ids.last().map(String::as_str), Some("final"));
    assert!(broken <= 200 && ids.len() > 100, "{broken} broken, {} whole", ids.len());
}

/// Feeds recorders side by side, each with its own drafts.
fn record_side_by_side(home: &Home, processes: usize, drafts: usize) {
    let children: Vec<_> = (0..processes)
        .map(|process| {
            let mut child = start(home, "never");
            let mut stdin = child.stdin.take().unwrap();
            thread::spawn(move || {
                for number in 0..drafts {
                    stdin.write_all(prompt(&format!("{process}-{number}")).as_bytes()).unwrap();
                }
                drop(stdin);
                let told = BufReader::new(child.stdout.take().unwrap()).lines().count();
                assert!(child.wait().unwrap().success());
                assert_eq!(told, drafts);
            })
        })
        .collect();
    for child in children {
        child.join().unwrap();
    }
}

#[test]
fn two_and_eight_processes_on_one_session_lose_and_mix_nothing() {
    for (processes, drafts) in [(2, 100), (8, 25)] {
        let home = Home::new();
        record_side_by_side(&home, processes, drafts);
        let text = fs::read_to_string(path(&home)).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), processes * drafts);
        for (line, before) in lines[1..].iter().zip(&lines) {
            assert_eq!(line["parentUuid"], before["uuid"], "one chain from end to end");
        }
        for process in 0..processes {
            let own =
                lines.iter().filter_map(|line| line["uuid"].as_str()?.strip_prefix(&format!("{process}-")));
            let expected: Vec<_> = (0..drafts).map(|number| number.to_string()).collect();
            assert_eq!(own.collect::<Vec<_>>(), expected, "in the order in which they came");
        }
    }
}

#[test]
fn a_process_beside_another_program_that_appends_loses_and_mixes_nothing() {
    let home = Home::new();
    assert_eq!(
        feed(&home, &["record", "--session", SESSION, "--project", "."], prompt("first").as_bytes()).code,
        Some(0)
    );
    let path = path(&home);
    let stranger = {
        let path = path.clone();
        thread::spawn(move || {
            let mut file = File::options().append(true).open(path).unwrap();
            for number in 0..500 {
                let line = prompt(&format!("stranger-{number}")).replacen('{', "{\"parentUuid\":null,", 1);
                file.write_all(line.as_bytes()).unwrap();
                thread::sleep(Duration::from_micros(200));
            }
        })
    };
    record_side_by_side(&home, 1, 200);
    stranger.join().unwrap();
    let (ids, broken) = read(&path);
    assert_eq!((ids.len(), broken), (701, 0));
    let count = |beginning: &str| ids.iter().filter(|id| id.starts_with(beginning)).count();
    assert_eq!((count("stranger-"), count("0-")), (500, 200));
}
