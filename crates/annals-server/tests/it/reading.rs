//! What a client learns of a session: typed words, empty messages, payloads of records, the queue, figures.

use std::fs;

use annals_api::CancelToken;
use annals_api::rpc::Params;
use annals_engine::{Engine, Home, Roots};
use annals_server::{Options, Server};
use serde_json::{Value, json};
use testkit::transcript::Transcript;

use crate::world::{TEA, World, lines_at};

/// Returns a world whose tea session has these lines instead.
fn world_of(lines: &Transcript) -> World {
    let world = World::new();
    fs::write(world.session(TEA), lines.to_string()).unwrap();
    world
}

fn messages(world: &World, all: bool) -> Vec<Value> {
    let result = world.get("history/load", &json!({"sessionId": TEA, "all": all}));
    result["messages"].as_array().unwrap().clone()
}

fn items(world: &World) -> Vec<Value> {
    world.get("history/read", &json!({"sessionId": TEA}))["items"].as_array().unwrap().clone()
}

fn texts(values: &[Value], key: &str) -> Vec<String> {
    values.iter().map(|value| value[key].as_str().unwrap_or("?").to_owned()).collect()
}

#[test]
fn calls_of_tools_on_the_server_are_listed_and_counted() {
    let search = |id: &str| json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "tea"}});
    let result = |id: &str, content: Value| json!({"type": "web_search_tool_result", "tool_use_id": id, "content": content});
    let failed = json!({"type": "web_search_tool_result_error", "error_code": "unavailable"});
    let world = world_of(
        &lines_at(0, None)
            .user("u1", "Look it up")
            .assistant("a1", |reply| reply.id("m1").block(search("s1")).block(result("s1", json!([]))))
            .assistant("a2", |reply| reply.id("m1").block(search("s2")).block(result("s2", failed))),
    );
    let tools = |params: Value| world.get("history/tools", &params)["calls"].as_array().unwrap().clone();
    let all = tools(json!({"sessionId": TEA}));
    assert_eq!(texts(&all, "name"), ["web_search", "web_search"]);
    assert_eq!(
        (texts(&all, "state"), texts(&all, "subject")),
        (vec!["ok".to_owned(), "error".to_owned()], vec!["tea".to_owned(); 2])
    );
    assert_eq!(texts(&tools(json!({"sessionId": TEA, "errors": true})), "id"), ["s2"]);
    let stats = world.get("history/stats", &json!({"sessionId": TEA}));
    assert_eq!(stats["tools"]["web_search"], json!({"calls": 2, "errors": 1}));
}

/// Claude Code makes the folder with its first session.
#[test]
fn a_server_that_starts_before_the_first_session_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join(".claude");
    fs::create_dir(&root).unwrap();
    let engine =
        Engine::open(Roots::to_record_in(vec![root.clone()]), Home::at(folder.path().join("annals")));
    let server = Server::new(engine, Options::default());
    let get = |method: &str, params: Value| {
        let result = server.dispatch(method, &Params::of(&params).unwrap(), &CancelToken::default());
        serde_json::from_str::<Value>(result.unwrap().get()).unwrap()
    };
    assert_eq!(get("history/list", json!({}))["sessions"], json!([]));
    let path = root.join(format!("projects/-home-mia-tea/{TEA}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, lines_at(0, None).user("u1", "Boil the kettle").to_string()).unwrap();
    assert_eq!(get("history/list", json!({}))["sessions"][0]["id"], TEA);
    assert_eq!(get("history/read", json!({"sessionId": TEA}))["items"].as_array().unwrap().len(), 1);
}

#[test]
fn the_content_of_a_prompt_is_what_was_typed_and_editor_context_is_an_input() {
    let selection = "<ide_selection>lines 1 to 3 of 茶.rs</ide_selection>";
    let opened = "<ide_opened_file>The user opened tea.rs</ide_opened_file>";
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}});
    let world = world_of(
        &lines_at(0, None)
            .user("u1", format!("{selection}Why so hot?"))
            .user("u2", json!([{"type": "text", "text": opened}, {"type": "text", "text": "Explain"}, image]))
            .user(
                "u3",
                format!("{opened}<command-name>/tea</command-name><command-args>green</command-args>"),
            )
            .user("u4", selection),
    );
    for all in [false, true] {
        let found = messages(&world, all);
        assert_eq!(texts(&found[..3], "content"), ["Why so hot?", "Explain", "/tea green"], "{all}");
        assert_eq!(texts(found[0]["inputs"].as_array().unwrap(), "kind"), ["ide_selection", "prompt"]);
        assert_eq!(found[0]["inputs"][0]["text"], "lines 1 to 3 of 茶.rs");
        let blocks = found[1]["contentBlocks"].as_array().unwrap();
        assert_eq!((&blocks[0]["content"], &blocks[1]["type"]), (&json!("Explain"), &json!("image")));
    }
    // Nobody typed the last message: it is context, which is shown on request.
    assert_eq!(messages(&world, false).len(), 3);
    let all = messages(&world, true);
    assert_eq!((&all[3]["content"], &all[3]["inputs"][0]["kind"]), (&json!(""), &json!("ide_selection")));
}

#[test]
fn messages_that_nobody_typed_keep_their_text() {
    let news = "<task-notification>done</task-notification>";
    let world = world_of(
        &lines_at(0, None).user("u1", "Brew").user("u2", "[Request interrupted by user]").user("u3", news),
    );
    assert_eq!(texts(&messages(&world, false), "content"), ["Brew", "[Request interrupted by user]"]);
    assert_eq!(texts(&messages(&world, true), "content")[2], "done");
}

#[test]
fn empty_messages_are_kept() {
    let world = world_of(
        &lines_at(0, None)
            .user("u1", "Brew")
            .assistant("a1", |reply| reply)
            .user("u2", Value::Null)
            .assistant("a2", |reply| reply.text(""))
            .user("u3", json!([]))
            .assistant("a3", |reply| reply.thinking(""))
            .user("u4", "")
            .assistant("a4", |reply| reply.text("Done")),
    );
    for all in [false, true] {
        let found = messages(&world, all);
        assert_eq!(texts(&found, "id"), ["u1", "a1", "u2", "a2", "u3", "a3", "u4", "a4"], "{all}");
        assert_eq!(texts(&found, "content"), ["Brew", "", "", "", "", "", "", "Done"]);
        assert_eq!(found[1]["model"], "claude-opus-5-5");
    }
}

#[test]
fn lines_that_claude_code_added_are_messages_on_request() {
    let world = world_of(
        &lines_at(0, None)
            .user("u1", "Caveat: …")
            .with("isMeta", true)
            .user("u2", "<system-reminder>Be brief</system-reminder>")
            .user("u3", "Brew")
            .message("system", "s1", json!({"subtype": "informational", "content": "Hm", "isMeta": true}))
            .assistant("a1", |reply| reply.text("Done")),
    );
    assert_eq!(texts(&messages(&world, false), "id"), ["u3", "a1"]);
    let all = messages(&world, true);
    assert_eq!(texts(&all, "id"), ["u1", "u2", "u3", "s1", "a1"]);
    assert_eq!(texts(&all, "content"), ["Caveat: …", "Be brief", "Brew", "Hm", "Done"]);
    assert_eq!(all[0]["inputs"], json!([{"kind": "injected", "text": "Caveat: …"}]));
}

#[test]
fn items_have_stop_reason_request_slug_level_and_attribution() {
    let boundary =
        json!({"subtype": "compact_boundary", "level": "info", "isMeta": false, "slug": "brew-tea"});
    let mut lines = lines_at(0, None)
        .user("u1", "Brew")
        .with("slug", "brew-tea")
        .assistant("a1", |reply| reply.text("Done"))
        .with("requestId", "req_1")
        .with("attributionSkill", "brew")
        .with("attributionMcpServer", "kettle");
    let message = json!({"id": "m1", "model": "x", "content": [], "stop_reason": "stop_sequence", "stop_sequence": "END"});
    lines =
        lines.with("message", message).message("system", "s1", boundary).user("u2", "x").with("isMeta", true);
    let found = items(&world_of(&lines));
    let item = |uuid: &str| found.iter().find(|item| item["uuid"] == uuid).unwrap();
    assert_eq!(item("u1")["slug"], "brew-tea");
    assert_eq!(item("u1").get("stopReason"), None);
    let reply = item("a1");
    assert_eq!(
        (&reply["stopReason"], &reply["stopSequence"], &reply["requestId"]),
        (&json!("stop_sequence"), &json!("END"), &json!("req_1"))
    );
    assert_eq!(reply["attribution"], json!({"skill": "brew", "mcpServer": "kettle"}));
    let boundary = item("s1");
    assert_eq!((&boundary["kind"], &boundary["level"]), (&json!("compaction"), &json!("info")));
    assert_eq!((&boundary["slug"], boundary.get("isMeta")), (&json!("brew-tea"), None));
    assert_eq!(item("u2")["isMeta"], true);
}

#[test]
fn payloads_of_records_are_typed_parts() {
    let backup = json!({"backupFileName": "9c0d@v1", "version": 1, "backupTime": "2026-03-01T10:00:04.000Z"});
    let new = json!({"backupFileName": null, "version": 1, "backupTime": "2026-03-01T10:00:05.000Z"});
    let snapshot = json!({"messageId": "u1", "trackedFileBackups": {"a.rs": backup, "C:\\新.rs": new}, "timestamp": "2026-03-01T10:00:00.000Z"});
    let records = [
        ("file-history-snapshot", json!({"messageId": "u1", "snapshot": snapshot, "isSnapshotUpdate": true})),
        (
            "file-history-delta",
            json!({"messageId": "a1", "snapshotMessageId": "u1", "trackingPath": "b.rs", "backup": backup}),
        ),
        (
            "queue-operation",
            json!({"operation": "remove", "content": "And 茶", "reason": "absorbed_mid_turn", "commandUuid": "c", "deliveryId": "d"}),
        ),
        ("custom-title", json!({"customTitle": "Tea"})),
        ("ai-title", json!({"aiTitle": "Tea"})),
        ("agent-name", json!({"agentName": "brewer"})),
        ("summary", json!({"summary": "Tea", "leafUuid": "u1"})),
        ("tag", json!({"tag": "kitchen"})),
        ("last-prompt", json!({"lastPrompt": "Brew", "leafUuid": "a1"})),
        ("mode", json!({"mode": "normal"})),
        ("permission-mode", json!({"permissionMode": "plan"})),
        ("pr-link", json!({"prNumber": 7, "prUrl": "https://example.org/7", "prRepository": "mia/tea"})),
        ("attribution-snapshot", json!({"files": {"a.rs": 3}})),
        ("atis-latch", json!({"atis": ""})),
    ];
    let lines = lines_at(0, None).user("u1", "Brew");
    let lines = records.into_iter().fold(lines, |lines, (kind, fields)| lines.record(kind, fields));
    let found = items(&world_of(&lines));
    let parts: Vec<_> = found[1..].iter().map(|item| item["parts"].clone()).collect();
    let file = |path: &str, backup: Value, second: u8| json!({"path": path, "version": 1, "backup": backup, "backupAt": format!("2026-03-01T10:00:0{second}.000Z")});
    let mut one_more = file("b.rs", json!("9c0d@v1"), 4);
    one_more["type"] = json!("file_backup");
    one_more["messageId"] = json!("a1");
    one_more["snapshotMessageId"] = json!("u1");
    let expected = [
        json!([{"type": "file_snapshot", "messageId": "u1", "update": true, "files": [file("C:\\新.rs", Value::Null, 5), file("a.rs", json!("9c0d@v1"), 4)]}]),
        json!([one_more]),
        json!([{"type": "queue_operation", "operation": "remove", "content": [{"type": "text", "text": "And 茶"}], "reason": "absorbed_mid_turn", "commandUuid": "c", "deliveryId": "d"}]),
        json!([{"type": "title", "source": "custom", "title": "Tea"}]),
        json!([{"type": "title", "source": "ai", "title": "Tea"}]),
        json!([{"type": "title", "source": "agent_name", "title": "brewer"}]),
        json!([{"type": "title", "source": "summary", "title": "Tea", "leaf": "u1"}]),
        json!([{"type": "tag", "tag": "kitchen"}]),
        json!([{"type": "last_prompt", "prompt": "Brew", "leaf": "a1"}]),
        json!([{"type": "mode", "mode": "normal"}]),
        json!([{"type": "mode", "mode": "plan"}]),
        json!([{"type": "pull_request", "number": 7, "url": "https://example.org/7", "repository": "mia/tea"}]),
        json!([{"type": "attribution", "record": {"type": "attribution-snapshot", "files": {"a.rs": 3}, "sessionId": TEA}}]),
        json!([]),
    ];
    assert_eq!(parts, expected);
    // A snapshot has its time inside.
    assert_eq!(found[1]["timestamp"], "2026-03-01T10:00:00.000Z");
    assert_eq!(found[4]["timestamp"], Value::Null);
}

#[test]
fn replaced_results_name_their_originals() {
    let lines = lines_at(0, None)
        .user("u1", "Brew")
        .assistant("a1", |reply| reply.tool("toolu_1", "Bash", json!({"command": "ls"})))
        .result("r1", "toolu_1", "tea.rs")
        .record("content-replacement", json!({"replacements": [{"kind": "tool-result", "toolUseId": "toolu_1", "replacement": "[cleared]"}, {"toolUseId": "toolu_9"}]}));
    let world = world_of(&lines);
    let beside = world.session(TEA).with_extension("").join("tool-results/toolu_1.txt");
    fs::create_dir_all(beside.parent().unwrap()).unwrap();
    fs::write(&beside, "tea.rs, and more").unwrap();
    let item = &items(&world)[3];
    assert_eq!((&item["kind"], &item["visibility"]), (&json!("meta"), &json!("folded")));
    let part = &item["parts"][0];
    assert_eq!((&part["type"], &part["count"]), (&json!("content_replacement"), &json!(2)));
    let [found, missing] = &part["replacements"].as_array().unwrap()[..] else { panic!("{part}") };
    assert_eq!((&found["toolUseId"], &found["tool"]), (&json!("toolu_1"), &json!("Bash")));
    assert_eq!((&found["line"], &found["uuid"], &found["fileBytes"]), (&json!(3), &json!("r1"), &json!(16)));
    assert_eq!(found["file"], beside.to_str().unwrap());
    assert_eq!(found["bytes"], json!("tea.rs".len()));
    assert_eq!(found["replacement"]["replacement"], "[cleared]");
    assert_eq!((&missing["line"], &missing["file"]), (&Value::Null, &Value::Null));
}

#[test]
fn what_is_still_queued_is_told_with_the_end_of_a_session() {
    let operation = |name: &str, text: Option<&str>| {
        let mut fields = json!({"operation": name, "timestamp": "2026-03-01T10:00:30.000Z"});
        if let Some(text) = text {
            fields["content"] = json!(text);
        }
        fields
    };
    let lines = lines_at(0, None)
        .user("u1", "Brew")
        .record("queue-operation", operation("enqueue", Some("Warm the pot 🫖")))
        .record("queue-operation", operation("enqueue", Some("And milk")))
        .record("queue-operation", operation("dequeue", None))
        .user("u2", "And milk")
        .assistant("a1", |reply| reply.text("Done"));
    let world = world_of(&lines);
    let waiting = json!([{"text": "Warm the pot 🫖", "timestamp": "2026-03-01T10:00:30.000Z", "line": 2}]);
    for method in ["history/load", "history/read"] {
        assert_eq!(world.get(method, &json!({"sessionId": TEA}))["queued"], waiting, "{method}");
        let first = world.get(method, &json!({"sessionId": TEA, "limit": 1}));
        assert_eq!(first.get("queued"), None, "{method}");
        let last = world.get(method, &json!({"sessionId": TEA, "limit": 100, "cursor": first["nextCursor"]}));
        assert_eq!(last["queued"], waiting, "{method}");
    }
    let marked: Vec<_> = items(&world).iter().map(|item| item["parts"][0]["waiting"].clone()).collect();
    assert_eq!(
        marked,
        [&Value::Null, &json!(true), &Value::Null, &Value::Null, &Value::Null, &Value::Null]
            .map(Clone::clone)
    );
    let listed = world.get("history/list", &json!({}));
    let queued = |id: &str| {
        listed["sessions"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap()["queued"].clone()
    };
    assert_eq!((queued(TEA), queued(crate::world::KETTLE)), (json!(1), json!(0)));
}

#[test]
fn a_queue_that_is_too_long_is_cut() {
    let long = "x".repeat(3 << 20);
    let lines = lines_at(0, None)
        .user("u1", "Brew")
        .record("queue-operation", json!({"operation": "enqueue", "content": long}))
        .record("queue-operation", json!({"operation": "enqueue", "content": long}))
        .record("queue-operation", json!({"operation": "enqueue", "content": "And milk"}));
    let result = world_of(&lines).get("history/load", &json!({"sessionId": TEA}));
    let queued = result["queued"].as_array().unwrap();
    let found: Vec<_> =
        queued.iter().map(|one| (one["text"].as_str().unwrap().len(), one["cut"] == true)).collect();
    assert_eq!(found, [(3 << 20, false), (0, true), (8, false)]);
}

#[test]
fn a_pause_is_as_long_as_the_client_says() {
    let world = world_of(
        &lines_at(0, None)
            .user("u1", "Brew")
            .at(&crate::world::minute(3))
            .user("u2", "Milk")
            .at(&crate::world::minute(13))
            .user("u3", "Sugar"),
    );
    let turns = |pause: Value| {
        world.get("history/turns", &json!({"sessionId": TEA, "pauseMs": pause}))["turns"].clone()
    };
    let kinds = |turns: &Value| texts(turns.as_array().unwrap(), "kind");
    assert_eq!(kinds(&turns(Value::Null)), ["new_session", "new_round", "resume"]);
    assert_eq!(kinds(&turns(json!(60_000))), ["new_session", "resume", "resume"]);
    assert_eq!(turns(json!(60_000))[1]["resumedAfterMs"], 180_000);
    assert_eq!(kinds(&turns(json!(600_000))), ["new_session", "new_round", "new_round"]);
    assert_eq!(turns(json!(600_000))[2]["resumedAfterMs"], Value::Null);
    assert_eq!(kinds(&turns(json!(u64::MAX))), ["new_session", "new_round", "new_round"]);
}

#[test]
fn stats_have_durations_and_tokens_and_calls_have_their_input() {
    let usage = |output: u64| json!({"input_tokens": 10, "output_tokens": output, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30});
    let input = json!({"command": "ls 茶", "timeout": 1.50});
    let world = world_of(
        &lines_at(0, None)
            .user("u1", "Brew")
            .at(&crate::world::minute(1))
            .assistant("a1", |reply| reply.id("m1").usage(usage(1)).text("Look"))
            .assistant("a2", |reply| reply.id("m1").usage(usage(5)).tool("t1", "Bash", input.clone()))
            .at(&crate::world::minute(30))
            .user("u2", "Milk")
            .at(&crate::world::minute(31))
            .assistant("a3", |reply| reply.id("m2").usage(usage(7)).text("Done")),
    );
    let stats = world.get("history/stats", &json!({"sessionId": TEA}));
    assert_eq!(
        (&stats["durationMs"], &stats["activeMs"]),
        (&json!(31 * 60_000), &json!(60_000 + 1000 + 60_000))
    );
    let tokens =
        json!({"inputTokens": 20, "outputTokens": 12, "cacheCreationTokens": 40, "cacheReadTokens": 60});
    assert_eq!(stats["usage"], tokens);
    let calls = world.get("history/tools", &json!({"sessionId": TEA}));
    assert_eq!(calls["calls"][0]["input"], input);
}
