//! Requests and answers as they stand in files, and in the document that others read.
//!
//! A line that begins with `-->` is sent, those that begin with `<--` must come back. What is not asked of histories
//! goes through a connection, which may say more than the answer. With `ANNALS_UPDATE=1` the answers are
//! written anew; read the diff. Cursors mean nothing outside: they are written as `<next>` and `<previous>`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::connections::Client;
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
    let mut client = Client::of(&world);
    let (mut asked, mut pairs) = ("", 0);
    let mut answers: Vec<String> = Vec::new();
    let mut answered = Vec::new();
    let is_update = std::env::var_os("ANNALS_UPDATE").is_some();
    for line in text.lines() {
        if let Some(request) = line.strip_prefix("--> ") {
            assert!(answers.is_empty(), "{}\n{asked}\nwithout {answers:#?}", path.display());
            asked = line;
            answered.push(line.to_owned());
            answers = said(&world, &mut client, &cursors.put_in(request));
            for answer in &mut answers {
                *answer = shown(&world, answer, &mut cursors);
            }
            if is_update {
                answered.extend(answers.drain(..).map(|answer| format!("<-- {answer}")));
            }
        } else if let Some(expected) = line.strip_prefix("<-- ") {
            pairs += 1;
            if is_update {
                continue;
            }
            assert!(!answers.is_empty(), "{}\n{asked}\nexpected {expected}", path.display());
            let found = answers.remove(0);
            assert!(found == expected, "{}\n{asked}\nexpected {expected}\nfound    {found}", path.display());
        } else {
            answered.push(line.to_owned());
        }
    }
    assert!((pairs > 0 || is_update) && answers.is_empty(), "{}", path.display());
    client.finish();
    if is_update {
        fs::write(path, answered.join("\n") + "\n").unwrap();
    }
}

/// Returns everything that is said to a request, the answer last.
fn said(world: &World, client: &mut Client, request: &str) -> Vec<String> {
    let message: Result<Value, _> = serde_json::from_str(request);
    let method = message.as_ref().ok().and_then(|message| message["method"].as_str()).unwrap_or_default();
    let Ok(message) = message
        .as_ref()
        .map_err(drop)
        .and_then(|message| annals_proto::acp::Method::from_name(method).map(|_| message).ok_or(()))
    else {
        return vec![world.answer(request)];
    };
    client.send(message);
    let mut said = Vec::new();
    loop {
        let text = client.next_text();
        let is_answer = serde_json::from_str::<Value>(&text).unwrap()["id"] == message["id"];
        said.push(text);
        if is_answer {
            return said;
        }
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
