//! Subscriptions to all sessions, and to those of a working directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use annals_server::{HttpOptions, Options};
use serde_json::{Value, json};

use crate::connections::{Client, append};
use crate::http::client::Served;
use crate::world::{KETTLE, TEA, WEATHER, World, lines_at};

/// What the notices of a subscription said, in order.
#[derive(Debug, Default)]
struct ReportedChanges {
    /// `added`, `updated` or `removed` with the beginning of the id of a session; `trashed` and so on for the trash.
    changes: Vec<String>,
    /// The sessions as they were told last.
    rows: Vec<Value>,
}

impl ReportedChanges {
    fn add(&mut self, notice: &Value) {
        let short = |id: &Value| id.as_str().unwrap()[..4].to_owned();
        for kind in ["added", "updated"] {
            for row in notice[kind].as_array().unwrap() {
                self.changes.push(format!("{kind} {}", short(&row["id"])));
                self.rows.retain(|other| other["id"] != row["id"]);
                self.rows.push(row.clone());
            }
        }
        let removed = notice["removed"].as_array().unwrap();
        self.changes.extend(removed.iter().map(|id| format!("removed {}", short(id))));
        for change in notice["trash"].as_array().into_iter().flatten() {
            let kind = change["change"].as_str().unwrap();
            self.changes.push(format!("{kind} {}", short(&change["entry"]["session"])));
        }
    }

    fn row(&self, id: &str) -> &Value {
        self.rows.iter().find(|row| row["id"] == id).unwrap()
    }

    fn has(&self, change: &str) -> bool {
        self.changes.iter().any(|told| told == change)
    }
}

/// Reads notices until they have told enough.
fn told_until(client: &mut Client, is_enough: impl Fn(&ReportedChanges) -> bool) -> ReportedChanges {
    let mut told = ReportedChanges::default();
    while !is_enough(&told) {
        told.add(&client.notice("history/changed"));
    }
    told
}

fn worlds() -> [World; 2] {
    [false, true].map(|poll| World::with(Options { poll, ..Options::default() }))
}

fn line(uuid: &str) -> Vec<u8> {
    lines_at(10, "a5").user(uuid, format!("天气 {uuid}")).to_string().into_bytes()
}

/// Makes a file look as if nobody had written to it for an hour, so that annals does not wait to see whether it grows.
fn rest(path: &Path) {
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().append(true).open(path).unwrap().set_modified(an_hour_ago).unwrap();
}

#[test]
fn only_sessions_of_the_working_directory_are_told() {
    for world in worlds() {
        let mut client = Client::of(&world);
        client.ask("history/watch", &json!({"workspacePath": "/home/mia/tea"}));
        let weather = world.projects().join(format!("C--Users-Wei---/{WEATHER}.jsonl"));
        append(&weather, &line("w2"));
        append(&world.session(KETTLE), &line("k2"));
        let told = told_until(&mut client, |told| told.has("updated 7b0c"));
        assert_eq!(told.changes, ["updated 7b0c"]);
        // New sessions: here, elsewhere, and in the same folder with another working directory.
        let new = "00000000-0000-4000-8000-000000000007";
        let shared = "00000000-0000-4000-8000-000000000008";
        let elsewhere = "00000000-0000-4000-8000-000000000009";
        let other = lines_at(5, None).cwd("/home/mia-tea").user("o1", "Not here").to_string();
        append(&world.session(shared), other.as_bytes());
        let elsewhere = in_new_folder(world.projects().join(format!("-elsewhere/{elsewhere}.jsonl")));
        append(&elsewhere, &line("e1"));
        append(&world.session(new), &line("n1"));
        let told = told_until(&mut client, |told| told.has("added 0000"));
        assert_eq!(told.changes, ["added 0000"]);
        assert_eq!(told.row(new)["id"], new);
        // A session moves out, and back in.
        let out = world.projects().join(format!("C--Users-Wei---/{KETTLE}.jsonl"));
        fs::rename(world.session(KETTLE), &out).unwrap();
        assert_eq!(told_until(&mut client, |told| !told.changes.is_empty()).changes, ["removed 7b0c"]);
        fs::rename(&out, world.session(KETTLE)).unwrap();
        assert_eq!(told_until(&mut client, |told| !told.changes.is_empty()).changes, ["added 7b0c"]);
        // Sessions vanish: elsewhere, and here.
        fs::remove_file(&weather).unwrap();
        fs::remove_file(world.session(KETTLE)).unwrap();
        assert_eq!(told_until(&mut client, |told| !told.changes.is_empty()).changes, ["removed 7b0c"]);
        let listed = world.get("history/list", &json!({"workspacePath": "/home/mia/tea"}));
        assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "as in lists");
        client.finish();
    }
}

/// Makes the folder of a file; returns the file.
fn in_new_folder(path: PathBuf) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

#[test]
fn a_working_directory_that_has_no_session_yet_is_watched() {
    let world = World::new();
    let mut client = Client::of(&world);
    client.ask("history/watch", &json!({"workspacePath": r"D:\新\project"}));
    assert_eq!(client.ask("history/watch", &json!({"workspacePath": "relative"}))["error"]["code"], -32602);
    append(&world.session(KETTLE), &line("k2"));
    let new = "00000000-0000-4000-8000-000000000007";
    let path = in_new_folder(world.projects().join(format!("D----project/{new}.jsonl")));
    let lines = lines_at(5, None).cwd(r"d:\新\project").user("n1", "Hello").to_string();
    append(&path, lines.as_bytes());
    assert_eq!(told_until(&mut client, |told| !told.changes.is_empty()).changes, ["added 0000"]);
    client.finish();
}

#[test]
fn titles_the_archive_and_open_sessions_are_told() {
    for world in worlds() {
        let mut client = Client::of(&world);
        for params in [json!({}), json!({"workspacePath": "/home/mia/tea"})] {
            let answer = client.ask("history/watch", &params);
            let folder = world.session(KETTLE).with_extension("");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("custom-title.json"), "{\"customTitle\":\"水壶\"}").unwrap();
            let told = told_until(&mut client, |told| told.has("updated 7b0c"));
            assert_eq!(told.row(KETTLE)["title"], "水壶");
            world.get("history/archive", &json!({"sessionId": KETTLE}));
            let is = |field: &'static str, value: bool| {
                move |told: &ReportedChanges| told.has("updated 7b0c") && told.row(KETTLE)[field] == value
            };
            told_until(&mut client, is("archived", true));
            world.get("history/unarchive", &json!({"sessionId": KETTLE}));
            told_until(&mut client, is("archived", false));
            let name = format!(".claude/sessions/{}.json", std::process::id());
            let record = in_new_folder(world.path().join(name));
            fs::write(&record, json!({"pid": std::process::id(), "sessionId": KETTLE}).to_string()).unwrap();
            told_until(&mut client, is("live", true));
            // A process that does not run has nothing open.
            let dead = json!({"pid": u32::MAX >> 1, "sessionId": KETTLE});
            fs::write(&record, dead.to_string()).unwrap();
            let told = told_until(&mut client, is("live", false));
            let listed = world.get("history/list", &json!({"query": "水壶"}));
            assert_eq!(told.row(KETTLE), &listed["sessions"][0], "as in lists");
            fs::remove_file(&record).unwrap();
            fs::remove_dir_all(&folder).unwrap();
            told_until(&mut client, |told| {
                told.has("updated 7b0c") && told.row(KETTLE)["title"] == "Boil the kettle"
            });
            client.ask("history/unwatch", &json!({"subscription": answer["result"]["subscription"]}));
            client.waiting.clear();
        }
        client.finish();
    }
}

#[test]
fn what_happens_to_the_trash_is_told() {
    for world in worlds() {
        let mut client = Client::of(&world);
        client.ask("history/watch", &json!({}));
        let mut tea = Client::of(&world);
        tea.ask("history/watch", &json!({"workspacePath": "/home/mia/tea"}));
        let weather = world.projects().join(format!("C--Users-Wei---/{WEATHER}.jsonl"));
        rest(&weather);
        rest(&world.session(TEA));
        world.get("history/delete", &json!({"sessionId": WEATHER}));
        world.get("history/delete", &json!({"sessionId": TEA}));
        let is_told =
            |told: &ReportedChanges| ["removed 3e11", "trashed 3e11"].iter().all(|change| told.has(change));
        let told = told_until(&mut client, |told| is_told(told) && told.has("trashed c0ff"));
        assert!(told.has("removed c0ff"), "{told:?}");
        let mut own = told_until(&mut tea, is_told).changes;
        own.sort();
        assert_eq!(own, ["removed 3e11", "trashed 3e11"], "nothing of another working directory");
        world.get("history/restore", &json!({"sessionId": TEA}));
        let is_restored = |told: &ReportedChanges| told.has("restored 3e11") && told.has("added 3e11");
        told_until(&mut client, is_restored);
        told_until(&mut tea, is_restored);
        client.finish();
        tea.finish();
    }
}

#[test]
fn a_session_that_was_moved_is_told_as_changed_and_not_as_removed() {
    for world in worlds() {
        let mut client = Client::of(&world);
        client.ask("history/watch", &json!({}));
        let folder = world.projects().join("-moved");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{KETTLE}.jsonl"));
        fs::rename(world.session(KETTLE), &path).unwrap();
        let is_told = |told: &ReportedChanges| {
            let is_there = |row: &Value| row["path"].as_str().unwrap().contains("-moved");
            told.rows.iter().any(|row| row["id"] == KETTLE && is_there(row))
        };
        let mut told = told_until(&mut client, is_told);
        append(&world.session(TEA), &line("t9"));
        let rest = told_until(&mut client, |told| told.has("updated 3e11"));
        told.changes.extend(rest.changes);
        assert!(!told.has("removed 7b0c"), "{told:?}");
        client.finish();
    }
}

#[test]
fn a_stream_of_events_tells_of_one_working_directory() {
    let world = World::with(Options { poll: true, ..Options::default() });
    let served = Served::with(world, HttpOptions::default());
    let mut stream = served.events("?workspacePath=%2Fhome%2Fmia%2Ftea", None);
    stream.expect("ready");
    let weather = served.world.projects().join(format!("C--Users-Wei---/{WEATHER}.jsonl"));
    append(&weather, &line("w2"));
    served.world.get("history/archive", &json!({"sessionId": KETTLE}));
    let notice = stream.expect("changed").data;
    let updated = notice["updated"].as_array().unwrap();
    assert_eq!(
        (updated.len(), &updated[0]["id"], &updated[0]["archived"]),
        (1, &json!(KETTLE), &json!(true))
    );
    assert_eq!(notice.get("trash"), None, "clients of earlier versions get the same fields");
}

#[test]
fn a_title_beside_a_session_that_an_editor_has_open_is_told() {
    let world = World::new();
    let mut client = Client::of(&world);
    client.ask("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
    client.ask("session/load", &json!({"sessionId": KETTLE, "cwd": "/home/mia/tea", "mcpServers": []}));
    client.waiting.clear();
    let folder = world.session(KETTLE).with_extension("");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("custom-title.json"), "{\"customTitle\":\"水壶\"}").unwrap();
    let update = client.notice("session/update")["update"].clone();
    assert_eq!((&update["sessionUpdate"], &update["title"]), (&json!("session_info_update"), &json!("水壶")));
    client.leave();
}
