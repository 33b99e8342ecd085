//! Secrets: no protocol sends one unless the server allows it and the request asks for it.

use std::collections::BTreeSet;
use std::fs;

use annals_proto::Method;
use annals_server::{HttpOptions, Options};
use serde_json::{Value, json};
use testkit::secrets::{AI_TITLE, ASSEMBLED, CUT, EVERYWHERE, SUMMARY, SecretWorld, invented};
use testkit::transcript::Transcript;

use crate::connections::{Client, append};
use crate::http::client::Served;
use crate::world::World;

const FORBIDDEN: i64 = -32020;

/// A server for sessions with a secret in every place that holds text.
fn world(allow_reveal: bool) -> (World, SecretWorld) {
    let secrets = SecretWorld::new();
    let options = Options { allow_reveal, poll: true, ..Options::default() };
    (World::of_files(&secrets.files, options), secrets)
}

/// Appends all lines of the session to it once more, and a last prompt.
fn append_everything(world: &World) {
    let path = world.session(EVERYWHERE);
    let end = Transcript::session(EVERYWHERE).after("a4").user("end", "THE END").to_string();
    append(&path, &[fs::read(&path).unwrap(), end.into_bytes()].concat());
}

/// Every method that answers with text.
fn requests() -> Vec<(&'static str, Value)> {
    let mut requests = vec![
        ("history/list", json!({})),
        ("history/list", json!({"all": true})),
        ("history/projects", json!({})),
        ("history/usage", json!({"by": "project"})),
        ("history/usage", json!({"by": "branch"})),
        ("history/usage", json!({"by": "model"})),
        ("history/insight", json!({})),
        // By relevance, the score would depend on the time.
        ("history/search", json!({"query": "see", "perSession": 20, "snippetWidth": 500, "sort": "time"})),
    ];
    for session in [EVERYWHERE, AI_TITLE, SUMMARY, CUT] {
        for (method, more) in [
            ("history/load", json!({})),
            ("history/load", json!({"all": true})),
            ("history/load", json!({"view": "model"})),
            ("history/read", json!({})),
            ("history/skeleton", json!({})),
            ("history/turns", json!({})),
            ("history/tools", json!({})),
            ("history/session", json!({})),
            ("history/stats", json!({})),
            ("history/agents", json!({})),
            ("history/files", json!({})),
            ("history/check", json!({})),
            ("history/repair", json!({})),
            ("history/context", json!({})),
        ] {
            let mut params = more;
            params["sessionId"] = json!(session);
            requests.push((method, params));
        }
    }
    requests
}

fn with_reveal(params: &Value) -> Value {
    let mut params = params.clone();
    params["reveal"] = json!(true);
    params
}

/// The methods that [`requests`] does not have.
const NOT_REQUESTED: [Method; 17] = [
    // It needs the copy of a file: see `versions_of_files_are_masked`.
    Method::HistoryFile,
    // They need the revision of a skeleton: see `rows_and_parts_are_masked`.
    Method::HistoryRows,
    Method::HistoryPart,
    Method::HistoryLocate,
    // Tested with what they change.
    Method::HistoryFork,
    Method::HistoryDelete,
    Method::HistoryTrash,
    // Tested as subscriptions.
    Method::HistoryWatch,
    Method::HistoryUnwatch,
    // Their answers have no text of transcripts.
    Method::HistoryRename,
    Method::HistoryTag,
    Method::HistoryArchive,
    Method::HistoryUnarchive,
    Method::HistoryRestore,
    Method::HistoryStatus,
    Method::HistoryLineage,
    Method::HistoryCopies,
];

#[test]
fn every_method_is_tested_for_secrets() {
    let requested: BTreeSet<_> = requests().iter().map(|(method, _)| *method).collect();
    for method in Method::ALL {
        assert_ne!(requested.contains(method.name()), NOT_REQUESTED.contains(method), "{method:?}");
    }
}

#[test]
fn no_method_answers_with_a_secret_unless_it_may() {
    let ((masked_world, secrets), (open_world, _)) = (world(false), world(true));
    let (mut client, mut open_client) = (Client::of(&masked_world), Client::of(&open_world));
    let mut revealed = BTreeSet::new();
    for (method, params) in requests() {
        let masked = client.ask(method, &params);
        assert!(masked["result"].is_object(), "{method} {params}: {masked}");
        let leaked = secrets.found_in(&masked.to_string());
        assert!(leaked.is_empty(), "{method} {params} answers with the secrets of {leaked:?}");
        let refused = client.ask(method, &with_reveal(&params));
        assert_eq!(refused["error"]["code"], FORBIDDEN, "{method} {params}: {refused}");
        // A server that allows it masks, too, unless it is asked.
        let masked = open_client.ask(method, &params);
        assert!(secrets.found_in(&masked.to_string()).is_empty(), "{method} {params}");
        let answer = open_client.ask(method, &with_reveal(&params));
        assert!(
            !answer.to_string().contains("[masked: ") && answer["result"].is_object(),
            "{method}: {answer}"
        );
        revealed.extend(secrets.found_in(&answer.to_string()));
        check_counts(&masked["result"], &answer["result"]);
    }
    let elsewhere = [
        "result for programs",
        "overwritten file",
        "error for programs",
        "queue",
        "last prompt",
        "hidden title of a model",
        "unknown record",
        "torn line",
        "description of an agent",
        "prompt in an agent",
        "reply of an agent",
        "prompt history",
        "pasted text",
        "prompt of a deleted session",
        "line that is not UTF-8",
        "output of a hook",
        "error of a request",
    ];
    let missing: Vec<_> = secrets
        .secrets
        .iter()
        .map(|(place, _)| *place)
        .filter(|place| !revealed.contains(place) && !elsewhere.contains(place))
        .collect();
    assert!(missing.is_empty(), "no method reveals the secrets of {missing:?}");
    client.finish();
    open_client.finish();
}

/// Secrets are masked before text is split into nodes: none is found in the rows, nor in the parts that are asked for.
#[test]
fn rows_and_parts_are_masked() {
    let ((masked_world, secrets), (open_world, _)) = (world(false), world(true));
    let (mut client, mut open_client) = (Client::of(&masked_world), Client::of(&open_world));
    for session in [EVERYWHERE, AI_TITLE, SUMMARY, CUT] {
        let skeleton = client.ask("history/skeleton", &json!({"sessionId": session}));
        let revision = &skeleton["result"]["revision"];
        let rows = json!({"sessionId": session, "revision": revision, "from": 0, "count": 200, "open": true});
        let answer = client.ask("history/rows", &rows).to_string();
        assert_eq!(secrets.found_in(&answer), Vec::<&str>::new(), "{answer}");
        let shown = open_client.ask("history/rows", &with_reveal(&rows)).to_string();
        assert!(session != EVERYWHERE || !secrets.found_in(&shown).is_empty(), "{shown}");
        for row in 0..skeleton["result"]["total"].as_u64().unwrap() {
            for part in 0..2 {
                let params = json!({"sessionId": session, "revision": revision, "row": row, "part": part});
                let answer = client.ask("history/part", &params).to_string();
                assert_eq!(secrets.found_in(&answer), Vec::<&str>::new(), "{answer}");
            }
        }
    }
    client.finish();
    open_client.finish();
}

/// Markdown and terminals put tokens together when they are shown: no answer has one that the reader of it puts together.
#[test]
fn no_answer_has_a_secret_that_only_rendering_puts_together() {
    let secrets = SecretWorld::assembled();
    let world = World::of_files(&secrets.files, Options::default());
    let mut client = Client::of(&world);
    let check = |what: &str, answer: &str| {
        assert_eq!(secrets.found_in(answer), Vec::<&str>::new(), "{what}: {answer}");
    };
    let session = json!({"sessionId": ASSEMBLED});
    let skeleton = client.ask("history/skeleton", &session);
    let (revision, total) = (&skeleton["result"]["revision"], skeleton["result"]["total"].as_u64().unwrap());
    let rows = |open: bool| json!({"sessionId": ASSEMBLED, "revision": revision, "from": 0, "count": 200, "open": open});
    let load = json!({"sessionId": ASSEMBLED, "cwd": "/home/mia/tea", "mcpServers": []});
    for (method, params) in [
        ("history/rows", rows(true)),
        ("history/rows", rows(false)),
        ("history/read", session.clone()),
        ("history/load", session.clone()),
        ("history/turns", session.clone()),
        ("history/watch", json!({"sessionId": ASSEMBLED, "offset": 0})),
        ("initialize", json!({"protocolVersion": 1})),
        ("session/load", load),
    ] {
        let answer = client.ask(method, &params);
        assert!(answer["result"].is_object(), "{method}: {answer}");
        // What is sent before the answer, such as the updates of a session that is loaded, belongs to it.
        let sent = std::mem::take(&mut client.waiting).iter().map(Value::to_string).collect::<String>();
        let all = format!("{answer}{sent}");
        check(method, &all);
        if !["initialize", "history/watch"].contains(&method) {
            let count = all.matches("[masked: github-token]").count();
            assert!(count >= secrets.secrets.len(), "{method} masks {count}: {all}");
        }
    }
    let mut masked = 0;
    for (row, part) in (0..total).flat_map(|row| [(row, 0), (row, 1)]) {
        let params = json!({"sessionId": ASSEMBLED, "revision": revision, "row": row, "part": part});
        let answer = client.ask("history/part", &params).to_string();
        check("history/part", &answer);
        masked += usize::from(answer.contains("[masked: github-token]"));
    }
    assert!(masked >= 5 * secrets.secrets.len(), "{masked} parts are masked");
    client.leave();
}

/// A version of a file is masked as a whole, before it is compared with another one or cut into lines.
#[test]
fn versions_of_files_are_masked() {
    let (world, secrets) = world(false);
    let (token, _) = invented(99, "ghp_", "");
    let session = world.session(EVERYWHERE);
    let folder = world.path().join(".claude/file-history").join(EVERYWHERE);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a@v1"), "one\n").unwrap();
    fs::write(folder.join("a@v2"), format!("one\ntoken = {token}\n")).unwrap();
    for version in [1, 2] {
        let snapshot = json!({"type": "file-history-snapshot", "messageId": format!("m{version}"), "snapshot": {
            "messageId": format!("m{version}"),
            "trackedFileBackups": {"/home/mia/a.txt": {"backupFileName": format!("a@v{version}"), "version": version}},
        }});
        append(&session, format!("{snapshot}\n").as_bytes());
    }
    let mut client = Client::of(&world);
    for more in [json!({}), json!({"against": 1}), json!({"from": 1, "count": 1})] {
        let mut params = json!({"sessionId": EVERYWHERE, "path": "/home/mia/a.txt", "version": 2});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = client.ask("history/file", &params).to_string();
        assert!(answer.contains("masked: ") && !answer.contains(&token), "{params}: {answer}");
        assert!(secrets.found_in(&answer).is_empty());
    }
    client.finish();
}

/// Checks that items say how many values were masked, exactly where they differ from those that are revealed.
fn check_counts(masked: &Value, revealed: &Value) {
    for (list, items) in masked.as_object().unwrap() {
        let (Some(items), Some(open)) = (items.as_array(), revealed[list].as_array()) else { continue };
        assert_eq!(items.len(), open.len());
        for (item, open) in items.iter().zip(open).filter(|(item, _)| item.is_object()) {
            assert_eq!(item != open, item["masked"].as_u64().is_some_and(|count| count > 0), "{item}");
            assert!(open.get("masked").is_none());
        }
    }
}

#[test]
fn no_search_leads_to_a_secret() {
    let ((masked_world, secrets), (open_world, _)) = (world(false), world(true));
    for (_, secret) in &secrets.secrets {
        for params in [json!({"query": secret}), json!({"query": secret, "match": "fixed"})] {
            let answer = masked_world.get("history/search", &params);
            assert_eq!(answer["total"], 0, "{params}: {answer}");
        }
        let words = open_world.get("history/search", &with_reveal(&json!({"query": secret})));
        assert_eq!(words["total"], 0, "the index has no secrets, whoever asks");
    }
    let found = |(_, secret): &(&'static str, String)| {
        let params = with_reveal(&json!({"query": secret, "match": "fixed"}));
        open_world.get("history/search", &params)["total"].as_u64().unwrap() > 0
    };
    assert!(secrets.secrets.iter().filter(|secret| found(secret)).count() > 10);
    // What the index has on disk.
    let index = fs::read(open_world.path().join("annals/search.sqlite")).unwrap();
    let index = String::from_utf8_lossy(&index);
    for (place, secret) in &secrets.secrets {
        assert!(!index.to_lowercase().contains(&secret.to_lowercase()), "{place}");
    }
}

#[test]
fn the_trash_and_results_of_changes_are_masked() {
    let (world, secrets) = world(false);
    let mut client = Client::of(&world);
    for (method, params) in [
        ("history/fork", json!({"sessionId": EVERYWHERE})),
        ("history/delete", json!({"sessionId": EVERYWHERE})),
        ("history/trash", json!({})),
    ] {
        let answer = client.ask(method, &params);
        assert!(answer["result"].is_object(), "{answer}");
        assert!(secrets.found_in(&answer.to_string()).is_empty(), "{method}: {answer}");
    }
    assert_eq!(client.ask("history/trash", &json!({"reveal": true}))["error"]["code"], FORBIDDEN);
    client.finish();
}

#[test]
fn the_status_says_whether_reveal_is_allowed() {
    for allowed in [false, true] {
        let (world, _) = world(allowed);
        let mut client = Client::of(&world);
        let status = client.ask("history/status", &json!({}));
        assert_eq!(status["result"].get("allowReveal"), allowed.then_some(&json!(true)));
        client.finish();
    }
}

/// Returns everything that is sent up to a message with this text in it.
fn heard_until(client: &mut Client, text: &str) -> String {
    let mut heard = std::mem::take(&mut client.waiting).iter().map(Value::to_string).collect::<String>();
    while !heard.contains(text) {
        heard += &client.next_text();
    }
    heard
}

#[test]
fn subscriptions_are_masked_unless_they_may_see_everything() {
    for (allow, reveal) in [(false, false), (true, false), (true, true)] {
        let (world, secrets) = world(allow);
        let mut client = Client::of(&world);
        for params in [json!({"sessionId": EVERYWHERE, "offset": 0}), json!({})] {
            let params = if reveal { with_reveal(&params) } else { params };
            let watched = client.ask("history/watch", &params);
            assert!(watched["result"].is_object(), "{watched}");
        }
        append_everything(&world);
        let mut heard = heard_until(&mut client, "THE END");
        heard += &heard_until(&mut client, "history/changed");
        let found = secrets.found_in(&heard);
        assert_eq!(!found.is_empty(), reveal, "{found:?}");
        assert_eq!(heard.contains("\"masked\":"), !reveal);
        client.leave();
    }
    let (world, _) = world(false);
    let mut client = Client::of(&world);
    let refused = client.ask("history/watch", &with_reveal(&json!({})));
    assert_eq!(refused["error"]["code"], FORBIDDEN);
    client.finish();
}

#[test]
fn streams_of_events_and_requests_over_http_are_masked() {
    for (allow, reveal) in [(false, false), (true, true)] {
        let (world, secrets) = world(allow);
        let served = Served::with(world, HttpOptions::default());
        let more = if reveal { "&reveal=true" } else { "" };
        let mut events = served.events(&format!("?sessionId={EVERYWHERE}&offset=0{more}"), None);
        append_everything(&served.world);
        let mut heard = String::new();
        while !heard.contains("THE END") {
            heard += &events.block().unwrap();
        }
        let params = json!({"sessionId": EVERYWHERE, "reveal": reveal});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "history/read", "params": params});
        let answer = served.rpc(request.to_string().as_bytes()).to_string();
        for text in [heard, answer] {
            assert_eq!(!secrets.found_in(&text).is_empty(), reveal, "{:?}", secrets.found_in(&text));
            assert_eq!(text.contains("[masked: "), !reveal);
        }
        if !allow {
            assert_eq!(served.get(&format!("/events?sessionId={EVERYWHERE}&reveal=true")).status, 403);
        }
    }
}

/// Opens the session with the Agent Client Protocol, appends to it, and returns all that is said and the answers.
fn acp(world: &World, meta: &Value) -> (String, Vec<Value>) {
    let mut client = Client::of(world);
    client.ask("initialize", &json!({"protocolVersion": 1}));
    let params = json!({"sessionId": EVERYWHERE, "cwd": "/home/mia/tea", "mcpServers": [], "_meta": meta});
    let answers = ["session/list", "session/load"].map(|method| client.ask(method, &params)).to_vec();
    let mut heard = answers.iter().map(Value::to_string).collect::<String>();
    if answers[1]["result"].is_object() {
        append_everything(world);
        heard += &heard_until(&mut client, "THE END");
    }
    client.leave();
    (heard, answers)
}

#[test]
fn editors_get_no_secret_unless_they_may() {
    let ((masked_world, secrets), (open_world, _)) = (world(false), world(true));
    let (heard, answers) = acp(&masked_world, &Value::Null);
    assert!(answers.iter().all(|answer| answer["result"].is_object()), "{answers:?}");
    let leaked = secrets.found_in(&heard);
    assert!(leaked.is_empty(), "the Agent Client Protocol sends the secrets of {leaked:?}");
    assert!(heard.contains("\"masked\":"), "updates say how many values were masked");
    let meta = json!({"annals": {"reveal": true}});
    let (heard, _) = acp(&open_world, &meta);
    let revealed = secrets.found_in(&heard);
    for place in [
        "prompt",
        "thinking",
        "argument",
        "argument that its name tells",
        "result for programs",
        "overwritten file",
        "old text",
        "task",
        "title",
        "title of a model",
        "queued prompt",
        "notice",
        "message of a teammate",
    ] {
        assert!(revealed.contains(&place), "{place}: {revealed:?}");
    }
    assert!(!heard.contains("[masked: "));
    let (_, answers) = acp(&masked_world, &meta);
    assert!(answers.iter().all(|answer| answer["error"]["code"] == FORBIDDEN), "{answers:?}");
}
