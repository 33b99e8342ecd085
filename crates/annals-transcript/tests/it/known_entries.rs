//! What a recorder knows of the entries that its file holds.

use std::path::Path;
use std::sync::Arc;

use annals_transcript::write::{Agent, Draft, Recorder, Target};
use serde_json::{Value, json};
use testkit::faults::FaultyDisk;

use crate::recorder::{draft, envelope, options, prompt, target};

fn recorder(target: Target) -> Recorder {
    Recorder::builder(target).envelope(envelope()).options(options()).open().unwrap()
}

/// Returns the parent of an entry.
fn parent_of(path: &Path, id: &str) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.find(|line| line["uuid"] == id).unwrap()["parentUuid"].clone()
}

#[test]
fn only_a_known_message_at_the_front_moves_the_start() {
    let progress = || draft(&json!({"type": "progress", "uuid": "p", "data": {"type": "hook_progress"}}));
    for (front, parent) in [(progress as fn() -> Draft, "c"), (|| prompt("a"), "a")] {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = recorder(target(folder.path()));
        recorder.append(vec![prompt("a"), progress(), prompt("b"), prompt("c")]).unwrap();
        recorder.append(vec![front(), prompt("new")]).unwrap();
        recorder.flush().unwrap();
        assert_eq!(parent_of(&target(folder.path()).path(), "new"), parent);
    }
}

#[test]
fn kept_messages_behind_a_new_boundary_do_not_move_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = recorder(target(folder.path()));
    recorder.append(vec![prompt("a"), prompt("b"), prompt("c")]).unwrap();
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "boundary", "parentUuid": null,
        "content": "Conversation compacted", "compactMetadata": {"trigger": "auto"}});
    let summary = json!({"type": "user", "uuid": "summary", "isCompactSummary": true,
        "message": {"role": "user", "content": "So far"}});
    let batch = vec![draft(&boundary), draft(&summary), prompt("b"), prompt("c"), prompt("new")];
    let told = recorder.append(batch).unwrap();
    assert_eq!((told.written, told.skipped), (3, 2));
    recorder.flush().unwrap();
    let path = target(folder.path()).path();
    assert_eq!(parent_of(&path, "boundary"), Value::Null);
    assert_eq!(parent_of(&path, "summary"), "boundary");
    assert_eq!(parent_of(&path, "new"), "summary");
}

#[test]
fn an_agents_lines_start_where_the_caller_says() {
    let folder = tempfile::tempdir().unwrap();
    let target = target(folder.path()).with_agent(Agent::new("a1").unwrap());
    let mut recorder = recorder(target.clone());
    recorder.append(vec![prompt("a"), prompt("b")]).unwrap();
    recorder.append(vec![prompt("c").with_parent("a"), prompt("d")]).unwrap();
    recorder.flush().unwrap();
    assert_eq!((parent_of(&target.path(), "c"), parent_of(&target.path(), "d")), ("a".into(), "c".into()));
}

#[test]
fn a_batch_costs_no_more_reading_in_a_long_session() {
    let bytes_read = |entries: usize| {
        let folder = tempfile::tempdir().unwrap();
        let disk = FaultyDisk::sound();
        let open = || {
            let recorder = Recorder::builder(target(folder.path())).envelope(envelope()).options(options());
            recorder.disk(Arc::new(disk.clone())).open().unwrap()
        };
        let mut recorder = open();
        recorder.append((0..entries).map(|number| prompt(&format!("p{number}"))).collect()).unwrap();
        recorder.flush().unwrap();
        let before = disk.bytes_read();
        for id in ["new", "newer"] {
            recorder.append(vec![prompt(id)]).unwrap();
            recorder.flush().unwrap();
        }
        let by_batches = disk.bytes_read() - before;
        // A recorder that is opened anew knows nothing of the file yet.
        open().append(vec![prompt("newest")]).unwrap();
        (by_batches, disk.bytes_read() - before - by_batches)
    };
    let ((short, opened), (long, opened_long)) = (bytes_read(300), bytes_read(3000));
    assert!(long <= short + 4096, "{short} bytes in a short session, {long} in a long one");
    assert!(opened_long > 5 * opened && opened > 10_000, "{opened}, {opened_long}: reading is counted");
}
