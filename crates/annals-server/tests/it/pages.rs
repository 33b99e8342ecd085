//! Pages: complete, stable while sessions grow, bounded in bytes.

use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::path::Path;

use annals_proto::ErrorCode;
use serde_json::{Value, json};
use testkit::transcript::Transcript;

use crate::world::{KETTLE, TEA, WEATHER, World, lines_at, minute};

/// Asks for one page after the other and returns what is in all of them.
fn all(world: &World, method: &str, params: &Value, key: &str, mut between: impl FnMut(usize)) -> Vec<Value> {
    let (mut found, mut params, mut pages) = (Vec::new(), params.clone(), 0);
    loop {
        let result = world.get(method, &params);
        found.extend(result[key].as_array().unwrap().iter().cloned());
        pages += 1;
        between(pages);
        match result.get("nextCursor") {
            None => return found,
            Some(cursor) => params["cursor"] = cursor.clone(),
        }
    }
}

fn ids(values: &[Value], key: &str) -> Vec<String> {
    values.iter().map(|value| value[key].as_str().unwrap_or_default().to_owned()).collect()
}

fn append(path: &Path, lines: &impl Display) {
    let mut file = fs::File::options().append(true).open(path).unwrap();
    file.write_all(lines.to_string().as_bytes()).unwrap();
}

#[test]
fn every_size_of_page_gives_the_same_whole() {
    let world = World::new();
    for (method, key) in [
        ("history/read", "items"),
        ("history/load", "messages"),
        ("history/tools", "calls"),
        ("history/turns", "turns"),
    ] {
        let whole = all(&world, method, &json!({"sessionId": TEA}), key, |_| {});
        assert!(!whole.is_empty());
        for limit in 1..5 {
            let found = all(&world, method, &json!({"sessionId": TEA, "limit": limit}), key, |_| {});
            assert_eq!(found, whole, "{method} by {limit}");
        }
    }
}

#[test]
fn the_history_is_read_backwards_too() {
    let world = World::new();
    let whole = all(&world, "history/read", &json!({"sessionId": TEA}), "items", |_| {});
    for limit in 1..5 {
        let mut params = json!({"sessionId": TEA, "limit": limit, "last": true});
        let mut found = Vec::new();
        loop {
            let result = world.get("history/read", &params);
            found.splice(0..0, result["items"].as_array().unwrap().iter().cloned());
            let Some(cursor) = result.get("previousCursor") else { break };
            params = json!({"sessionId": TEA, "limit": limit, "cursor": cursor});
        }
        assert_eq!(found, whole, "{limit}");
    }
}

#[test]
fn an_entry_of_two_lines_is_one_item_that_either_line_finds() {
    let world = World::new();
    let path = world.session(TEA);
    let whole = all(&world, "history/read", &json!({"sessionId": TEA}), "items", |_| {});
    let file = fs::read_to_string(&path).unwrap();
    let (place, line) =
        file.lines().enumerate().find(|(_, line)| line.contains("\"type\":\"user\"")).unwrap();
    append(&path, &format!("{line}\n"));
    let again = all(&world, "history/read", &json!({"sessionId": TEA}), "items", |_| {});
    assert_eq!(ids(&again, "uuid"), ids(&whole, "uuid"));
    let (first, last) = (place + 1, file.lines().count() + 1);
    let uuid = serde_json::from_str::<Value>(line).unwrap()["uuid"].clone();
    for around in [json!(first), json!(last), uuid] {
        let found = world.get("history/read", &json!({"sessionId": TEA, "around": around, "limit": 1}));
        let item = &found["items"][0];
        assert_eq!((&item["line"], &item["otherLines"]), (&json!(last), &json!([first])), "{around}");
    }
}

#[test]
fn pages_stay_the_same_while_the_session_grows() {
    let world = World::new();
    let before = all(&world, "history/load", &json!({"sessionId": TEA}), "messages", |_| {});
    let path = world.session(TEA);
    let mut parent = "a5".to_owned();
    let found = all(&world, "history/load", &json!({"sessionId": TEA, "limit": 1}), "messages", |page| {
        let uuid = format!("n{page}");
        append(&path, &lines_at(5 + page, &*parent).user(&uuid, format!("More {page}")));
        parent = uuid;
    });
    assert_eq!(found, before, "what came since is on no page that was begun before");
    let now = all(&world, "history/load", &json!({"sessionId": TEA}), "messages", |_| {});
    assert_eq!(now.len(), before.len() + before.len());
}

#[test]
fn pages_go_on_with_a_server_that_knows_nothing_of_the_first() {
    let world = World::new();
    let first = world.get("history/read", &json!({"sessionId": TEA, "limit": 3}));
    append(&world.session(TEA), &lines_at(9, "a5").user("n", "More"));
    // Nine other sessions push this one off the desk.
    for number in 0..9 {
        let id = format!("00000000-0000-4000-8000-00000000000{number}");
        fs::copy(world.session(KETTLE), world.session(&id)).unwrap();
        world.get("history/read", &json!({"sessionId": id}));
    }
    let second = world.get("history/read", &json!({"sessionId": TEA, "cursor": first["nextCursor"]}));
    assert_eq!(second["total"], first["total"]);
    assert_eq!(ids(second["items"].as_array().unwrap(), "uuid"), ["a3", "u2", "a4", "u3", "a5", ""]);
}

#[test]
fn a_cursor_of_a_file_that_was_replaced_is_stale() {
    let world = World::new();
    let first = world.get("history/read", &json!({"sessionId": TEA, "limit": 3}));
    let params = json!({"sessionId": TEA, "cursor": first["nextCursor"]});
    let path = world.session(TEA);
    let lines = fs::read_to_string(&path).unwrap();
    fs::write(&path, lines.replace("Tea timer", "Teatimer!")).unwrap();
    assert_eq!(world.refusal("history/read", &params), ErrorCode::StaleCursor, "as long, but another");
    fs::write(&path, &lines[..100]).unwrap();
    assert_eq!(world.refusal("history/read", &params), ErrorCode::StaleCursor, "shorter");
    let params = json!({"sessionId": KETTLE, "cursor": first["nextCursor"]});
    assert_eq!(world.refusal("history/read", &params), ErrorCode::StaleCursor, "of another session");
}

#[test]
fn the_list_is_complete_and_nothing_is_listed_twice_while_sessions_are_added() {
    let world = World::new();
    for number in 0..20 {
        let id = format!("00000000-0000-4000-8000-0000000000{number:02}");
        // Some were active at the same time.
        let prompt = lines_at(number / 3, None).user("x", "Hello");
        fs::write(world.session(&id), prompt.to_string()).unwrap();
    }
    let whole = ids(&all(&world, "history/list", &json!({}), "sessions", |_| {}), "id");
    assert_eq!(whole.len(), 23);
    for limit in [1, 2, 7] {
        let found = all(&world, "history/list", &json!({"limit": limit}), "sessions", |page| {
            let id = format!("ffffffff-{limit:04}-4000-8000-0000000000{page:02}");
            let prompt = lines_at(300 + limit + page, None).user("x", "New");
            fs::write(world.session(&id), prompt.to_string()).unwrap();
        });
        let old: Vec<_> = ids(&found, "id").into_iter().filter(|id| !id.starts_with("ffffffff")).collect();
        assert_eq!(old, whole, "{limit}");
    }
}

#[test]
fn a_page_ends_when_it_has_enough_bytes_and_the_next_goes_on() {
    let world = World::new();
    let path = world.session(KETTLE);
    let replies = (0..40).fold(Transcript::session(TEA).after("k1"), |lines, number| {
        let text = "x".repeat(300_000);
        lines.at(&minute(number)).assistant(&format!("big{number}"), |reply| reply.text(&text))
    });
    append(&path, &replies);
    for (method, key, id) in [("history/read", "items", "uuid"), ("history/load", "messages", "id")] {
        let mut sizes = Vec::new();
        let mut params = json!({"sessionId": KETTLE, "limit": 1000});
        let mut found = Vec::new();
        loop {
            let result = world.ask(method, &params).unwrap();
            sizes.push(result.get().len());
            let result: Value = serde_json::from_str(result.get()).unwrap();
            found.extend(ids(result[key].as_array().unwrap(), id));
            let Some(cursor) = result.get("nextCursor") else { break };
            params["cursor"] = cursor.clone();
        }
        assert_eq!(found.len(), 41, "{method}");
        assert!(sizes.len() > 2 && sizes.iter().all(|size| *size < 6 << 20), "{method}: {sizes:?}");
    }
}

#[test]
fn what_is_too_long_for_any_page_is_cut_and_says_so() {
    let world = World::new();
    let path = world.session(KETTLE);
    let replies = lines_at(91, "k1")
        .assistant("big", |reply| reply.id("m1").text(&"y".repeat(9 << 20)))
        .assistant("small", |reply| reply.id("m1").text("And then."));
    append(&path, &replies);
    let read = world.get("history/read", &json!({"sessionId": KETTLE, "after": "k1"}));
    let part = &read["items"][0]["parts"][0];
    assert_eq!((&part["type"], &part["of"]), (&json!("cut"), &json!("text")));
    assert!(part["bytes"].as_u64().unwrap() > 9 << 20);
    assert!(part["beginning"].as_str().unwrap().contains("yyyy"));
    assert_eq!(read["items"][1]["parts"][0]["text"], "And then.");
    let load = world.get("history/load", &json!({"sessionId": KETTLE}));
    assert_eq!(
        (&load["messages"][1]["cut"], &load["messages"][1]["content"]),
        (&json!(true), &json!("And then."))
    );
}

#[test]
fn sessions_of_one_id_are_told_apart_by_their_working_directory() {
    let world = World::new();
    let folder = world.projects().join("C--Users-Wei---");
    fs::copy(world.session(TEA), folder.join(format!("{TEA}.jsonl"))).unwrap();
    let error = world.ask("history/load", &json!({"sessionId": TEA})).unwrap_err();
    assert_eq!(error.code, ErrorCode::Ambiguous);
    let data: Value = serde_json::from_str(error.data.unwrap().get()).unwrap();
    let copy = folder.join(format!("{TEA}.jsonl"));
    assert_eq!(data, json!({"candidates": [world.session(TEA), copy]}));
    // A path that one of them lies at names it; any other leads nowhere.
    world.get("history/rename", &json!({"sessionId": TEA, "title": "A copy", "workspacePath": copy}));
    let titles = ids(world.get("history/list", &json!({}))["sessions"].as_array().unwrap(), "title");
    assert_eq!(titles.iter().filter(|title| *title == "A copy").count(), 1);
    let elsewhere = json!({"sessionId": TEA, "workspacePath": world.session(WEATHER)});
    assert_eq!(world.refusal("history/load", &elsewhere), ErrorCode::NotFound);
    let params = json!({"sessionId": TEA, "workspacePath": "/home/mia/tea"});
    assert_eq!(world.get("history/load", &params)["messages"].as_array().unwrap().len(), 3);
    // Where only one has it, the directory need not be right.
    let params = json!({"sessionId": WEATHER, "workspacePath": "/somewhere/else"});
    assert_eq!(world.get("history/load", &params)["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn forks_and_the_trash() {
    let world = World::new();
    let rest = |id: &str| {
        let an_hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        let file = fs::File::options().append(true).open(world.session(id)).unwrap();
        file.set_modified(an_hour_ago).unwrap();
    };
    let fork = world.get("history/fork", &json!({"sessionId": TEA, "upTo": "a2", "title": "Again"}));
    assert_eq!(
        (&fork["title"], &fork["forkedFrom"], &fork["entries"]),
        (&json!("Again"), &json!(TEA), &json!(3))
    );
    let loaded = world.get("history/load", &json!({"sessionId": fork["session"]}));
    assert_eq!(loaded["messages"].as_array().unwrap().len(), 2);
    assert_eq!(world.refusal("history/fork", &json!({"sessionId": TEA, "upTo": "zz"})), ErrorCode::NotFound);
    rest(TEA);
    let id = format!("claude:{TEA}");
    assert_eq!(world.get("history/delete", &json!({"sessionId": id})), json!({"deleted": true}));
    assert_eq!(world.get("history/delete", &json!({"sessionId": id})), json!({"deleted": false}));
    assert_eq!(world.refusal("history/load", &json!({"sessionId": TEA})), ErrorCode::NotFound);
    assert_eq!(ids(world.get("history/trash", &json!({}))["sessions"].as_array().unwrap(), "session"), [TEA]);
    assert_eq!(world.get("history/restore", &json!({"sessionId": id}))["session"], TEA);
    assert_eq!(world.refusal("history/restore", &json!({"sessionId": id})), ErrorCode::NotFound);
    assert_eq!(
        world.get("history/load", &json!({"sessionId": TEA}))["messages"].as_array().unwrap().len(),
        3
    );
}

#[test]
fn a_session_that_a_client_has_open_is_not_deleted() {
    let world = World::new();
    let note = json!({"pid": std::process::id(), "sessionId": TEA});
    fs::create_dir_all(world.path().join(".claude/sessions")).unwrap();
    fs::write(world.path().join(".claude/sessions/1.json"), note.to_string()).unwrap();
    assert_eq!(world.refusal("history/delete", &json!({"sessionId": TEA})), ErrorCode::Busy);
    assert_eq!(world.get("history/list", &json!({"query": "Tea"}))["sessions"][0]["live"], true);
}

#[test]
fn what_a_person_typed_is_told_from_what_the_client_put_in() {
    let world = World::new();
    let contents = [
        json!(
            "<command-name>/rename</command-name>\n<command-message>rename</command-message>\n<command-args>茶 timer</command-args>"
        ),
        json!("<local-command-stdout>Renamed</local-command-stdout>"),
        json!("<bash-input>ls -l</bash-input>"),
        json!("<system-reminder>Be kind</system-reminder>"),
        json!(
            "<teammate-message teammate_id=\"bob\" color=\"green\" summary=\"a -> b\">\nDone ✓\n</teammate-message>\n\n<agent-message from=\"eve\">Hm</agent-message>"
        ),
        json!([
            {"type": "tool_result", "tool_use_id": "t9", "content": "x"},
            {"type": "text", "text": "<teammate-message teammate_id=\"alice\">Stop</teammate-message>"}
        ]),
        json!("<ide_opened_file>a.rs</ide_opened_file>\nWhy does this fail?"),
        json!("  <b> is bold  "),
    ];
    let mut parent = "a5".to_owned();
    for (number, content) in contents.into_iter().enumerate() {
        let uuid = format!("i{number}");
        append(&world.session(TEA), &lines_at(10, &*parent).user(&uuid, content));
        parent = uuid;
    }
    let load = |params: &Value| {
        let result = world.get("history/load", params);
        let messages = result["messages"].as_array().unwrap()[3..].iter();
        let told = messages.map(|message| {
            let kinds = message["inputs"].as_array().map(|inputs| ids(inputs, "kind").join("+"));
            format!("{}: {}", kinds.unwrap_or_default(), message["content"].as_str().unwrap())
        });
        (told.collect::<Vec<_>>(), result["teamMessages"].clone())
    };
    let (told, team) = load(&json!({"sessionId": TEA}));
    let typed = [
        "command: /rename 茶 timer",
        "bash: !ls -l",
        "ide_opened_file+prompt: Why does this fail?",
        ":   <b> is bold  ",
    ];
    assert_eq!(told, typed);
    let time = "2026-03-01T10:10:00.000Z";
    assert_eq!(
        team,
        json!([
            {"teammateId": "bob", "color": "green", "summary": "a -> b", "content": "Done ✓", "timestamp": time},
            {"teammateId": "eve", "content": "Hm", "timestamp": time},
            {"teammateId": "alice", "content": "Stop", "timestamp": time},
        ])
    );
    let (told, team) = load(&json!({"sessionId": TEA, "all": true}));
    assert_eq!((told.len(), &team), (8, &Value::Null));
    assert_eq!(told[1], "output: Renamed");
    let all = world.get("history/load", &json!({"sessionId": TEA, "all": true}));
    let team = &all["messages"][7]["inputs"][0];
    assert_eq!(
        (&team["teammateId"], &team["summary"], &team["color"]),
        (&json!("bob"), &json!("a -> b"), &json!("green"))
    );
    // Pages have the same, whatever is passed over.
    for limit in 1..5 {
        for (key, count) in [("messages", 7), ("teamMessages", 3)] {
            let params = json!({"sessionId": TEA, "limit": limit});
            let (mut found, mut params) = (0, params);
            loop {
                let result = world.get("history/load", &params);
                found += result[key].as_array().map_or(0, Vec::len);
                let Some(cursor) = result.get("nextCursor") else { break };
                params["cursor"] = cursor.clone();
            }
            assert_eq!(found, count, "{key} by {limit}");
        }
    }
}

#[test]
fn a_page_of_the_list_ends_when_it_has_enough_bytes_and_the_next_goes_on() {
    let world = World::new();
    for number in 0..20 {
        let id = format!("5e551000-0000-4000-8000-{number:012}");
        let cwd = format!("/home/{}", "x".repeat(300_000));
        let prompt = Transcript::session(&id).at(&minute(number)).cwd(&cwd).user("p", "Hm");
        fs::write(world.session(&id), prompt.to_string()).unwrap();
    }
    let whole = world.ask("history/list", &json!({})).unwrap();
    assert!(whole.get().len() < 8 << 20, "{} bytes", whole.get().len());
    let found = all(&world, "history/list", &json!({}), "sessions", |_| {});
    assert_eq!(ids(&found, "id").iter().collect::<std::collections::BTreeSet<_>>().len(), 23);
}

#[test]
fn turns_have_their_prompts_whole() {
    let world = World::new();
    let long = "茶".repeat(5000);
    append(&world.session(TEA), &lines_at(10, "a5").user("long", long.as_str()));
    let turns = world.get("history/turns", &json!({"sessionId": TEA}));
    assert_eq!(turns["turns"].as_array().unwrap().last().unwrap()["prompt"], long);
}

/// Writes a session of prompts with the content that is returned for each number.
fn write_session(world: &World, id: &str, count: usize, content: impl Fn(usize) -> serde_json::Value) {
    let lines = (0..count).fold(Transcript::session(TEA), |lines, number| {
        lines.at(&minute(number)).user(&format!("p{number}"), content(number))
    });
    fs::write(world.session(id), lines.to_string()).unwrap();
}

#[test]
fn images_count_for_the_length_of_a_page() {
    let world = World::new();
    let id = "aaaaaaaa-0000-4000-8000-00000000000a";
    let data = "A".repeat(1 << 20);
    write_session(&world, id, 12, |number| {
        json!([{"type": "text", "text": format!("picture {number}")},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}])
    });
    let (mut cursor, mut seen) = (serde_json::Value::Null, Vec::new());
    loop {
        let page = world.get("history/load", &json!({"sessionId": id, "cursor": cursor}));
        let messages = page["messages"].as_array().unwrap();
        assert!(messages.len() <= 5, "{} messages of a MiB each", messages.len());
        seen.extend(messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, (0..12).map(|number| format!("picture {number}")).collect::<Vec<_>>());
}

#[test]
fn the_model_view_of_messages_has_images_of_files_as_they_are_sent() {
    let world = World::new();
    let id = "aaaaaaaa-0000-4000-8000-00000000000b";
    write_session(&world, id, 1, |_| json!("Look"));
    let file = json!({"type": "file", "filename": "/tea.png", "content": {"type": "image", "file":
        {"base64": "AAAA", "type": "image/png", "originalSize": 3}}});
    let lines = lines_at(1, "p0")
        .message("attachment", "f", json!({ "attachment": file }))
        .assistant("r", |reply| reply.text("Tea."));
    append(&world.session(id), &lines);
    let loaded = world.get("history/load", &json!({"sessionId": id, "view": "model"}));
    let blocks = loaded["messages"][0]["contentBlocks"].as_array().unwrap();
    let image = blocks.iter().find(|block| block["type"] == "image").unwrap();
    assert_eq!((&image["data"], &image["mimeType"]), (&json!("AAAA"), &json!("image/png")), "{loaded}");
}

#[test]
fn entries_that_are_too_long_are_selected_by_their_visibility() {
    let world = World::new();
    let id = "aaaaaaaa-0000-4000-8000-00000000000c";
    let long = "x".repeat(9 << 20);
    write_session(&world, id, 2, |number| match number {
        0 => json!(format!("<bash-stdout>{long}</bash-stdout>")),
        _ => json!([{"type": "text", "text": "Look at this"}, {"type": "text", "text": long}]),
    });
    let messages = |all: bool| {
        let loaded = world.get("history/load", &json!({"sessionId": id, "all": all}));
        let all = loaded["messages"].as_array().unwrap().iter();
        let shown = |message: &Value| ["id", "cut", "content"].map(|key| message[key].clone());
        all.map(shown).collect::<Vec<_>>()
    };
    let prompt = [json!("p1"), json!(true), json!("Look at this")];
    let output = [json!("p0"), json!(true), json!("")];
    assert_eq!(messages(false), std::slice::from_ref(&prompt));
    assert_eq!(messages(true), [output, prompt]);
}

#[test]
fn a_long_prompt_counts_once() {
    let world = World::new();
    let id = "aaaaaaaa-0000-4000-8000-00000000000e";
    let prompt = "x".repeat(5 << 20);
    write_session(&world, id, 1, |_| json!(prompt));
    let loaded = world.get("history/load", &json!({"sessionId": id}));
    assert_eq!(loaded["messages"][0]["content"].as_str().map(str::len), Some(prompt.len()));
    assert_eq!(loaded["messages"][0]["cut"], Value::Null);
}

#[test]
fn what_a_queue_a_teammate_or_a_notice_says_is_cut_if_it_is_too_long() {
    let world = World::new();
    let id = "aaaaaaaa-0000-4000-8000-00000000000d";
    let long = "x".repeat(9 << 20);
    let teammate = format!("<teammate-message teammate_id=\"ida\">{long}</teammate-message>");
    let summary = format!("<teammate-message teammate_id=\"ida\" summary=\"{long}\">Tea</teammate-message>");
    let command = format!("<command-name>/{long}</command-name>");
    write_session(&world, id, 3, |number| json!([&teammate, &summary, &command][number]));
    let queued = json!({"type": "queued_command", "mode": "prompt", "prompt": long, "origin": {"kind": "human"},
        "human_turn": true});
    // As JSON, each of these characters has six bytes.
    let notice = "\u{1}".repeat(2 << 20);
    let lines = lines_at(3, "p2")
        .message("attachment", "q", json!({ "attachment": queued }))
        .message("system", "n", json!({"subtype": "informational", "content": notice}))
        .assistant("r", |reply| reply.text("Yes."));
    append(&world.session(id), &lines);

    let loaded = world.get("history/load", &json!({"sessionId": id}));
    let told = |team: &Value| ["teammateId", "cut", "content", "summary"].map(|key| team[key].clone());
    let cut = [json!("ida"), json!(true), json!(""), Value::Null];
    assert_eq!(
        loaded["teamMessages"].as_array().unwrap().iter().map(told).collect::<Vec<_>>(),
        [cut.clone(), cut]
    );
    for params in [json!({"sessionId": id, "view": "model"}), json!({"sessionId": id, "all": true})] {
        let loaded = world.get("history/load", &params);
        assert!(loaded.to_string().len() < 1 << 20, "{params}");
        assert!(
            loaded["messages"].as_array().unwrap().iter().any(|message| message["cut"] == true),
            "{params}"
        );
    }
}

#[test]
fn the_files_of_a_session_are_listed_with_their_versions_up_to_a_bound() {
    let world = World::new();
    let backup = |name: Option<&str>, version: usize| json!({"backupFileName": name, "version": version, "backupTime": minute(91)});
    let snapshot = |message: &str, backups: Value| {
        json!({"type": "file-history-snapshot", "messageId": message, "isSnapshotUpdate": false,
            "snapshot": {"messageId": message, "trackedFileBackups": backups, "timestamp": minute(91)}})
    };
    let write = json!({"file_path": "/home/mia/tea/水壶 🫖.txt", "content": "on"});
    let lines = lines_at(91, "k1")
        .assistant("k2", |reply| reply.tool("t1", "Write", write))
        .at(&minute(92))
        .result("k3", "t1", "written");
    append(&world.session(KETTLE), &lines);
    let records = [
        snapshot("k1", json!({"水壶 🫖.txt": backup(None, 1)})),
        snapshot(
            "k3",
            json!({"水壶 🫖.txt": backup(Some("0a1b2c3d4e5f6071@v2"), 2), "x": backup(Some("../../x"), 1)}),
        ),
    ];
    append(&world.session(KETTLE), &records.map(|record| format!("{record}\n")).concat());
    let backups = world.path().join(".claude/file-history").join(KETTLE);
    fs::create_dir_all(&backups).unwrap();
    fs::write(backups.join("0a1b2c3d4e5f6071@v2"), "on").unwrap();
    let params = json!({"sessionId": KETTLE});
    let result = world.get("history/files", &params);
    assert_eq!(
        result,
        json!({"files": [
            {"path": "/home/mia/tea/x", "edits": 0, "lastEditAt": null, "versions": [
                {"version": 1, "time": minute(91), "messageId": "k3", "backup": "refused", "size": null},
            ]},
            {"path": "/home/mia/tea/水壶 🫖.txt", "edits": 1, "lastEditAt": minute(92), "versions": [
                {"version": 1, "time": minute(91), "messageId": "k1", "backup": "no_file", "size": null},
                {"version": 2, "time": minute(91), "messageId": "k3", "backup": "kept", "size": 2},
            ]},
        ]})
    );
    let many = (0..1500).map(|number| snapshot("k1", json!({"x": backup(None, number + 2)})).to_string());
    append(&world.session(KETTLE), &(many.collect::<Vec<_>>().join("\n") + "\n"));
    let result = world.get("history/files", &params);
    let versions = result["files"][0]["versions"].as_array().unwrap();
    assert_eq!(
        (versions.len(), &versions[999]["version"], &result["cut"]),
        (1000, &json!(1501), &json!(true))
    );
}
