//! Requests and answers as they stand in files, and in the document that others read.
//!
//! A line that begins with `-->` is sent, one that begins with `<--` must come back. With `ANNALS_UPDATE=1` the answers are
//! written anew; read the diff. Cursors mean nothing outside: they are written as `<next>` and `<previous>`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::world::World;

#[test]
fn requests_are_answered_as_they_are_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rpc");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 3, "{paths:?}");
    for path in &paths {
        check(path);
    }
}

#[test]
fn the_examples_of_the_protocol_are_true() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/PROTOCOL.md"));
}

fn check(path: &Path) {
    let world = World::new();
    let text = fs::read_to_string(path).unwrap();
    let mut cursors = Cursors::default();
    let (mut answer, mut pairs) = (None::<String>, 0);
    let mut answered = Vec::new();
    for line in text.lines() {
        if let Some(request) = line.strip_prefix("--> ") {
            assert_eq!(answer, None, "{}: a request without an answer", path.display());
            answer = Some(shown(&world, &world.answer(&cursors.put_in(request)), &mut cursors));
            answered.push(line.to_owned());
        } else if let Some(expected) = line.strip_prefix("<-- ") {
            let found = answer.take().unwrap_or_else(|| panic!("{}: an answer to nothing", path.display()));
            let is_update = std::env::var_os("ANNALS_UPDATE").is_some();
            assert!(
                is_update || found == expected,
                "{}\n{}\nexpected {expected}\nfound    {found}",
                path.display(),
                answered.last().unwrap()
            );
            answered.push(format!("<-- {found}"));
            pairs += 1;
        } else {
            answered.push(line.to_owned());
        }
    }
    assert!(pairs > 0 && answer.is_none(), "{}", path.display());
    if std::env::var_os("ANNALS_UPDATE").is_some() {
        fs::write(path, answered.join("\n") + "\n").unwrap();
    }
}

/// Shows an answer without what differs from run to run.
fn shown(world: &World, answer: &str, cursors: &mut Cursors) -> String {
    let home = world.path().to_str().unwrap();
    cursors.take_out(answer).replace(home, "/home/mia")
}

/// The cursors that came last.
#[derive(Default)]
struct Cursors {
    next: String,
    previous: String,
}

impl Cursors {
    fn put_in(&self, request: &str) -> String {
        request.replace("<next>", &self.next).replace("<previous>", &self.previous)
    }

    fn take_out(&mut self, answer: &str) -> String {
        let value: Value = serde_json::from_str(answer).unwrap();
        let mut shown = answer.to_owned();
        for (key, kept) in [("nextCursor", &mut self.next), ("previousCursor", &mut self.previous)] {
            if let Some(cursor) = value["result"][key].as_str() {
                shown = shown.replace(cursor, &format!("<{}>", key.trim_end_matches("Cursor")));
                cursor.clone_into(kept);
            }
        }
        shown
    }
}
