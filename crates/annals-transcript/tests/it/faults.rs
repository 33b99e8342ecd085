//! Every change of a file, with every operation failing in every way: earlier lines are intact, at most one line is
//! torn, nothing is half replaced, locks are released.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use annals_transcript::write::fs::{Disk, RealDisk};
use annals_transcript::write::{Error, Recorder, rewrite};
use testkit::faults::{Fault, every_fault};

use crate::recorder::{envelope, options, prompt, target};

const BEFORE: &str = concat!(
    r#"{"type":"user","uuid":"a","parentUuid":null,"timestamp":"2026-01-01T00:00:00Z","message":{"content":"x"}}"#,
    "\n",
    r#"{"type":"user","uuid":"b","parentUuid":"a","timestamp":"2026-01-01T00:00:01Z","message":{"content":"x"}}"#,
    "\n"
);
const PATIENCE: Duration = Duration::from_secs(1);

fn nothing(_: &Path) {}

fn before(folder: &Path) {
    fs::write(target(folder).path(), BEFORE).unwrap();
}

fn torn_before(folder: &Path) {
    fs::write(target(folder).path(), BEFORE.trim_end()).unwrap();
}

fn read(folder: &Path) -> String {
    fs::read_to_string(target(folder).path()).unwrap_or_default()
}

/// Records six messages in two batches; a batch that could not be written is tried again once.
fn record(disk: Arc<dyn Disk>, folder: &Path) -> Result<(), Error> {
    let mut recorder =
        Recorder::builder(target(folder)).envelope(envelope()).options(options()).disk(disk).open()?;
    for batch in [["1", "2", "3"], ["4", "5", "6"]] {
        recorder.append(batch.map(prompt).to_vec())?;
        recorder.flush().or_else(|_| recorder.flush())?;
    }
    Ok(())
}

/// Returns the ids of the lines after what was there; whole lines that are not JSON are counted.
fn recorded(text: &str, before: &str) -> (Vec<String>, usize, bool) {
    let rest = text.strip_prefix(before).expect("what was there before is untouched");
    let mut lines: Vec<&str> = rest.split('\n').collect();
    let torn = !lines.pop().unwrap_or_default().is_empty();
    let (mut ids, mut broken) = (Vec::new(), 0);
    for line in lines.into_iter().filter(|line| !line.is_empty()) {
        match serde_json::from_str::<serde_json::Value>(line) {
            Ok(entry) => ids.push(entry["uuid"].as_str().unwrap().to_owned()),
            Err(_) => broken += 1,
        }
    }
    (ids, broken, torn)
}

fn check_recording(folder: &Path, before: &str, fault: Fault, result: &Result<(), Error>) {
    let (ids, broken, torn) = recorded(&read(folder), before);
    let all = ["1", "2", "3", "4", "5", "6"];
    assert_eq!(ids, all[..ids.len()], "{fault:?}: in order, none twice");
    assert!(broken + usize::from(torn) <= 1, "{fault:?}: {broken} broken, torn: {torn}");
    if result.is_ok() {
        assert_eq!(ids.len(), 6, "{fault:?}: what is said to be written is written");
    }
    // Whoever comes next is not kept out, and glues nothing to what was left.
    record(Arc::new(RealDisk), folder).unwrap();
    let (ids, broken, torn) = recorded(&read(folder), before);
    assert_eq!((&ids[..], torn), (&all.map(String::from)[..], false), "{fault:?}");
    assert!(broken <= 1, "{fault:?}");
}

#[test]
fn recording_survives_any_fault() {
    let fresh =
        every_fault(nothing, record, |folder, fault, result| check_recording(folder, "", fault, result));
    let more =
        every_fault(before, record, |folder, fault, result| check_recording(folder, BEFORE, fault, result));
    let healed = every_fault(torn_before, record, |folder, fault, result| {
        check_recording(folder, BEFORE.trim_end(), fault, result);
    });
    assert!(fresh > 50 && more > 50 && healed > 50, "{fresh} {more} {healed}");
}

/// Checks that a file is either as it was or as it should be, and that `act` says which.
fn all_or_nothing<T>(before: &str, after: &str, act: impl Fn(Arc<dyn Disk>, &Path) -> Result<T, Error>) {
    let set_up = |folder: &Path| fs::write(target(folder).path(), before).unwrap();
    let faults = every_fault(set_up, &act, |folder, fault, result| {
        let text = read(folder);
        assert!(text == before || text == after, "{fault:?}: {text}");
        if result.is_ok() {
            assert_eq!(text, after, "{fault:?}");
        }
        if text == before {
            act(Arc::new(RealDisk), folder).expect("locks are released");
        }
        let left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(read(folder), after);
        assert!(left.len() == 1 || text == after, "{fault:?}: {left:?}");
    });
    assert!(faults > 20, "{faults}");
}

#[test]
fn taking_an_entry_out_survives_any_fault() {
    let lines: Vec<&str> = BEFORE.split_inclusive('\n').collect();
    let remove = |id: &'static str| {
        move |disk: Arc<dyn Disk>, folder: &Path| {
            let path = target(folder).path();
            rewrite::remove_entry(&*disk, &path, id, rewrite::REWRITE_LIMIT, PATIENCE)
        }
    };
    all_or_nothing(BEFORE, &lines[1].replace("\"a\"", "null"), remove("a"));
    all_or_nothing(BEFORE, lines[0], remove("b"));
}

#[test]
fn replacing_a_session_survives_any_fault() {
    let hydrate = |log: Vec<&'static str>| {
        move |disk: Arc<dyn Disk>, folder: &Path| {
            let log = log.iter().map(|line| Ok(line.as_bytes().to_vec()));
            rewrite::hydrate::<Error>(&*disk, &target(folder).path(), log, true, || Ok(()))
        }
    };
    all_or_nothing(
        BEFORE,
        "{\"type\":\"x\"}\n{\"a\": 1}\n",
        hydrate(vec!["{\"type\":\"x\"}", "{\"a\":\n 1}"]),
    );
    all_or_nothing(BEFORE, "", hydrate(vec![]));
}
