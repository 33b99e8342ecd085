//! Editors that know agents: order, following, cancellation, and what a slow one costs.

use std::fs;

use annals_server::Options;
use serde_json::{Value, json};

use crate::connections::{Client, append};
use crate::world::{KETTLE, TEA, World, lines_at};

fn initialized(world: &World) -> Client {
    let mut client = Client::of(world);
    let answer = client.ask("initialize", &json!({"protocolVersion": 1}));
    assert_eq!(answer["result"]["protocolVersion"], 1);
    client
}

fn open(session: &str) -> Value {
    json!({"sessionId": session, "cwd": "/home/mia/tea", "mcpServers": []})
}

fn prompt(uuid: &str, text: &str) -> String {
    lines_at(10, "a5").user(uuid, text).to_string()
}

/// Returns the next thing that is said of a session, passing over what it is called.
fn said(client: &mut Client) -> Value {
    loop {
        let notice = client.notice("session/update");
        if notice["update"]["sessionUpdate"] != "session_info_update" {
            return notice["update"].clone();
        }
    }
}

fn texts(updates: &[Value]) -> Vec<&str> {
    updates.iter().filter_map(|update| update["params"]["update"]["content"]["text"].as_str()).collect()
}

#[test]
fn requests_in_a_row_are_heard_in_their_order() {
    let world = World::new();
    let mut client = Client::of(&world);
    for _ in 0..20 {
        let early = client.request("session/list", &json!({}));
        assert_eq!(client.next()["error"]["code"], -32600);
        assert!(early > 0);
    }
    // Nobody waits for the answer to `initialize` here.
    let first = client.request("initialize", &json!({"protocolVersion": 1}));
    let second = client.request("session/list", &json!({}));
    let mut answers = [client.next(), client.next()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(first), &json!(second)));
    assert_eq!(answers[1]["result"]["sessions"].as_array().unwrap().len(), 3);
    client.finish();
}

#[test]
fn histories_need_no_initialize_and_wrong_ones_do_not_count() {
    let world = World::new();
    let mut client = Client::of(&world);
    assert!(client.ask("history/list", &json!({}))["result"]["sessions"].is_array());
    for params in [json!({}), json!({"protocolVersion": "1"}), json!({"protocolVersion": -1})] {
        assert_eq!(client.ask("initialize", &params)["error"]["code"], -32602, "{params}");
        assert_eq!(client.ask("session/list", &json!({}))["error"]["code"], -32600, "{params}");
    }
    // Capabilities of whatever shape are no reason to refuse.
    for capabilities in
        [json!(null), json!(7), json!({"session": 7}), json!({"session": {"compaction": null}})]
    {
        let params = json!({"protocolVersion": 65535, "clientCapabilities": capabilities});
        assert_eq!(client.ask("initialize", &params)["result"]["protocolVersion"], 1);
    }
    client.finish();
}

#[test]
fn what_is_written_to_an_open_session_is_told_once_and_in_order() {
    let world = World::new();
    let path = world.session(TEA);
    let mut client = initialized(&world);
    let before = ["Why is 天气 empty?", "Look first.", "Let me look.", "It is not there."];
    client.ask("session/load", &open(TEA));
    assert_eq!(texts(&client.waiting).iter().filter(|text| before.contains(text)).count(), before.len());
    client.waiting.clear();
    // Half a line waits for its end, and what is said in pieces is told whole.
    let more = prompt("n1", "再试一次") + &prompt("n2", "二") + &prompt("n3", "三");
    for piece in more.as_bytes().chunks(more.len() / 5) {
        append(&path, piece);
    }
    for text in ["再试一次", "二", "三"] {
        assert_eq!(said(&mut client)["content"]["text"], text);
    }
    // Loaded again, it comes as it stands: of three prompts that hang on one reply, the last is the conversation.
    client.waiting.clear();
    client.ask("session/load", &open(TEA));
    assert_eq!(texts(&client.waiting).last(), Some(&"三"));
    client.waiting.clear();
    // What cannot be opened changes nothing.
    for (method, cwd) in [("session/load", "relative"), ("session/resume", "../up")] {
        let params = json!({"sessionId": TEA, "cwd": cwd, "mcpServers": []});
        assert_eq!(client.ask(method, &params)["error"]["code"], -32602);
    }
    append(&path, prompt("n4", "四").as_bytes());
    assert_eq!(said(&mut client)["content"]["text"], "四");
    client.ask("session/close", &json!({"sessionId": TEA}));
    append(&path, prompt("n5", "五").as_bytes());
    assert_eq!(client.ask("history/status", &json!({}))["result"]["subscriptions"], 0);
    client.waiting.retain(|message| message["params"]["update"]["sessionUpdate"] != "session_info_update");
    assert_eq!(client.waiting, [] as [Value; 0]);
    client.leave();
}

#[test]
fn a_last_line_without_its_end_is_told_once() {
    let world = World::new();
    let path = world.session(KETTLE);
    let whole = prompt("k2", "还没写完");
    append(&path, whole.trim_end().as_bytes());
    let mut client = initialized(&world);
    client.ask("session/load", &open(KETTLE));
    assert_eq!(texts(&client.waiting), ["Boil the kettle", "还没写完"]);
    client.waiting.clear();
    append(&path, format!("\n{}", prompt("k3", "下一句")).as_bytes());
    assert_eq!(said(&mut client)["content"]["text"], "下一句");
    client.leave();
}

#[test]
fn resuming_tells_what_comes_and_nothing_that_was() {
    let world = World::new();
    let path = world.session(TEA);
    let call = lines_at(5, "a5").assistant("a6", |reply| reply.tool("t3", "Bash", json!({})));
    append(&path, call.to_string().as_bytes());
    let mut client = initialized(&world);
    let answer = client.ask("session/resume", &json!({"sessionId": TEA, "cwd": "/home/mia/tea"}));
    assert_eq!(answer["result"]["_meta"]["annals"]["offset"], fs::metadata(&path).unwrap().len());
    assert_eq!(client.waiting, [] as [Value; 0]);
    // The call was made before; what comes of it is told all the same.
    append(&path, lines_at(6, "a6").result("u6", "t3", "好").to_string().as_bytes());
    let update = said(&mut client);
    assert_eq!((&update["toolCallId"], &update["status"]), (&json!("t3"), &json!("completed")));
    client.leave();
}

#[test]
fn titles_times_and_usage_are_told_when_they_change() {
    let world = World::new();
    let path = world.session(KETTLE);
    let mut client = initialized(&world);
    client.ask("session/load", &open(KETTLE));
    let info = client.waiting.pop().unwrap()["params"]["update"].clone();
    assert_eq!(
        (&info["title"], &info["updatedAt"]),
        (&json!("Boil the kettle"), &json!("2026-03-01T11:30:00.000Z"))
    );
    client.waiting.clear();
    append(&path, b"{\"type\":\"custom-title\",\"customTitle\":\"\xe8\x8c\xb6\"}\n");
    let info = client.notice("session/update")["update"].clone();
    assert_eq!((&info["sessionUpdate"], &info["title"]), (&json!("session_info_update"), &json!("茶")));
    let usage = json!({"input_tokens": 7, "cache_read_input_tokens": 250_000, "output_tokens": 3});
    let answer = lines_at(100, "k1").assistant("k2", |reply| reply.text("Done").usage(usage));
    append(&path, answer.to_string().as_bytes());
    let updates: [_; 3] = std::array::from_fn(|_| client.notice("session/update")["update"].clone());
    // The title is also looked up because it has changed, and that may find the new time before the line itself is read.
    let of_kind = |kind: &str| updates.iter().find(|update| update["sessionUpdate"] == kind).unwrap();
    let info = of_kind("session_info_update");
    let usage = of_kind("usage_update");
    assert_eq!(of_kind("agent_message_chunk")["content"]["text"], "Done");
    assert_eq!((&info["title"], &info["updatedAt"]), (&json!("茶"), &json!("2026-03-01T11:40:00.000Z")));
    assert_eq!((&usage["used"], &usage["size"]), (&json!(250_010), &json!(1_000_000)));
    client.leave();
}

#[test]
fn a_session_that_is_replaced_or_gone_is_told_so() {
    let world = World::new();
    let path = world.session(KETTLE);
    let mut client = initialized(&world);
    client.ask("session/load", &open(KETTLE));
    client.waiting.clear();
    let other = world.path().join("other");
    fs::write(&other, prompt("o1", "别的")).unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(client.notice("session/update")["update"]["_meta"]["annals"], json!({"reset": true}));
    append(&path, prompt("o2", "后来").as_bytes());
    assert_eq!(said(&mut client)["content"]["text"], "后来", "what stood there before is not told as new");
    client.waiting.clear();
    fs::remove_file(&path).unwrap();
    loop {
        let update = client.notice("session/update")["update"].clone();
        if update["_meta"]["annals"] == json!({"gone": true}) {
            break;
        }
        assert_eq!(update["sessionUpdate"], "session_info_update");
    }
    client.leave();
}

#[test]
fn a_load_is_cancelled_by_its_session_by_its_request_and_by_closing() {
    let world = World::new();
    let path = world.session(TEA);
    let lines: String = (0..3000).map(|number| prompt(&format!("n{number}"), &"水".repeat(500))).collect();
    append(&path, lines.as_bytes());
    let mut client = initialized(&world);
    for how in ["session/cancel", "$/cancel_request", "session/close"] {
        let load = client.request("session/load", &open(TEA));
        let close = match how {
            "session/close" => Some(client.request(how, &json!({"sessionId": format!("claude:{TEA}")}))),
            how => {
                let params = json!({"sessionId": TEA, "id": load});
                client.send(&json!({"jsonrpc": "2.0", "method": how, "params": params}));
                None
            }
        };
        let mut answers = Vec::new();
        while answers.len() < 1 + usize::from(close.is_some()) {
            let message = client.next();
            if message.get("id").is_some() {
                answers.push(message);
            }
        }
        let answer = answers.iter().find(|answer| answer["id"] == load).unwrap();
        assert_eq!(answer["error"]["code"], -32800, "{how}: {answer}");
    }
    // What concerns nobody is passed over.
    for params in [json!({"sessionId": KETTLE}), json!({"sessionId": "../x"}), json!({}), json!(null)] {
        client.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}));
    }
    assert_eq!(client.ask("history/status", &json!({}))["result"]["subscriptions"], 0);
    client.finish();
}

#[test]
fn a_session_that_is_loaded_twice_at_once_is_told_one_time_after_the_other() {
    let world = World::new();
    let mut client = initialized(&world);
    let loads: Vec<_> = (0..4).map(|_| client.request("session/load", &open(TEA))).collect();
    let mut messages = Vec::new();
    while messages.iter().filter(|message: &&Value| message.get("id").is_some()).count() < loads.len() {
        messages.push(client.next());
    }
    let one = messages.len() / loads.len();
    let spelled =
        |messages: &[Value]| messages.iter().map(|message| message["params"].to_string()).collect::<Vec<_>>();
    for load in messages.chunks(one) {
        assert!(load.last().unwrap().get("result").is_some());
        assert_eq!(spelled(load), spelled(&messages[..one]));
    }
    assert_eq!(client.ask("history/status", &json!({}))["result"]["subscriptions"], 1);
    client.finish();
}

#[test]
fn a_session_that_is_opened_closed_and_opened_is_open() {
    let world = World::new();
    let mut client = initialized(&world);
    for round in 0..20 {
        let first = client.request("session/resume", &open(TEA));
        let close = client.request("session/close", &json!({"sessionId": TEA}));
        let second = client.request("session/load", &open(TEA));
        let mut answers = std::collections::HashMap::new();
        while answers.len() < 3 {
            let message = client.next();
            if let Some(id) = message["id"].as_u64() {
                answers.insert(id, message.get("result").is_some());
            }
        }
        // The first may have been taken back by the second.
        assert!(answers.contains_key(&first));
        assert!(answers[&close] && answers[&second], "{round}: {answers:?}");
        assert_eq!(client.ask("history/status", &json!({}))["result"]["subscriptions"], 1, "{round}");
    }
    client.finish();
}

#[test]
fn a_client_that_does_not_read_is_not_told_without_end() {
    let world = World::new();
    let path = world.session(KETTLE);
    let count = 45;
    for number in 0..count {
        append(&path, prompt(&format!("b{number}"), &"x".repeat(1 << 20)).as_bytes());
    }
    let mut client = initialized(&world);
    let load = client.request("session/load", &open(KETTLE));
    let other = client.request("history/status", &json!({}));
    // Until nothing more finds room. Others are served meanwhile: the answer waits behind what was told.
    let mut waiting = 0;
    while client.outbox.queued() > waiting || waiting < 31 {
        waiting = client.outbox.queued();
        std::thread::yield_now();
    }
    assert!(client.outbox.queued() <= 33, "{} MiB wait", client.outbox.queued());
    assert!(world.server.free_permits() > 0, "who does not read takes no place from others");
    let (mut told, mut answered) = (0, Vec::new());
    while answered.len() < 2 {
        let message = client.next();
        match message.get("id") {
            Some(id) => answered.push(id.as_u64().unwrap()),
            None => told += usize::from(message["params"]["update"]["sessionUpdate"] == "user_message_chunk"),
        }
    }
    answered.sort_unstable();
    assert_eq!((answered, told), (vec![load, other], count + 1));
    client.finish();
}

#[test]
fn branches_and_subagents_are_not_mixed_in() {
    let world = World::new();
    let path = world.session(TEA);
    // Somebody went back to the first reply and asked something else: what came behind it is left.
    let instead = lines_at(20, "u1").user("b1", "换个问题").assistant("b2", |reply| reply.text("好"));
    append(&path, instead.to_string().as_bytes());
    let side = |uuid: &str| lines_at(22, None).user(uuid, "subagent").with("isSidechain", true).to_string();
    append(&path, side("s1").as_bytes());
    let mut client = initialized(&world);
    client.ask("session/load", &open(TEA));
    assert_eq!(texts(&client.waiting), ["Why is 天气 empty?", "换个问题", "好"]);
    client.waiting.clear();
    append(&path, (side("s2") + &prompt("n1", "听得见")).as_bytes());
    assert_eq!(said(&mut client)["content"]["text"], "听得见");
    client.leave();
}

#[test]
fn a_server_that_changes_nothing_deletes_nothing() {
    let world = World::with(Options { read_only: true, ..Options::default() });
    let mut client = Client::of(&world);
    let answer = client.ask("initialize", &json!({"protocolVersion": 1}));
    assert_eq!(answer["result"]["agentCapabilities"]["sessionCapabilities"].get("delete"), None);
    assert_eq!(client.ask("session/delete", &json!({"sessionId": TEA}))["error"]["code"], -32012);
    assert!(world.session(TEA).exists());
    client.finish();
}

#[test]
fn a_deleted_session_is_closed_and_one_that_cannot_be_stays_open() {
    let world = World::new();
    let mut client = initialized(&world);
    client.ask("session/load", &open(TEA));
    assert_eq!(client.ask("session/delete", &json!({"sessionId": KETTLE}))["result"], json!({}));
    assert_eq!(
        client.ask("session/delete", &json!({"sessionId": KETTLE}))["result"],
        json!({}),
        "gone already"
    );
    assert_eq!(client.ask("history/status", &json!({}))["result"]["subscriptions"], 1);
    assert_eq!(
        client.ask("session/delete", &json!({"sessionId": format!("claude:{TEA}")}))["result"],
        json!({})
    );
    assert_eq!(client.ask("history/status", &json!({}))["result"]["subscriptions"], 0);
    assert_eq!(client.ask("session/close", &json!({"sessionId": TEA}))["error"]["code"], -32002);
    client.finish();
}

#[test]
fn an_agent_that_cannot_be_had_is_told_so() {
    let new = json!({"cwd": "/home/mia/tea", "mcpServers": []});
    // One that is not there, one that goes at once, one that says nothing that can be read.
    for command in ["no-such-program-anywhere", "true", "echo nonsense", ""] {
        let world = World::new();
        world.server.set_agent(command.to_owned());
        let mut client = initialized(&world);
        for _ in 0..2 {
            let answer = client.ask("session/new", &new);
            assert_eq!(answer["error"]["code"], -32603, "{command}: {answer}");
        }
        // What is ours is answered all the same.
        assert_eq!(client.ask("session/list", &json!({}))["result"]["sessions"].as_array().unwrap().len(), 3);
        client.send(&json!({"jsonrpc": "2.0", "id": "agent-1", "result": {}}));
        client.send(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": TEA}}));
        client.finish();
    }
}

#[test]
fn no_id_and_no_folder_leads_anywhere_else() {
    let world = World::new();
    fs::write(world.path().join("secret.jsonl"), prompt("x", "secret")).unwrap();
    let mut client = initialized(&world);
    let methods = [
        "session/load",
        "session/resume",
        "session/close",
        "session/delete",
        "session/prompt",
        "session/set_mode",
    ];
    for id in ["../../secret", "secret", "/etc/passwd", "claude:../secret", "", "*", &format!("{TEA}\0")] {
        for method in methods {
            let answer = client.ask(method, &json!({"sessionId": id, "cwd": "/home/mia/tea"}));
            let code = answer["error"]["code"].as_i64().unwrap();
            assert!(matches!(code, -32602 | -32002), "{method} {id}: {answer}");
            assert!(!answer.to_string().contains("secret\""), "{answer}");
        }
    }
    for cwd in ["", "tea", "../tea", "/a/../b", "~"] {
        for method in ["session/load", "session/resume", "session/new"] {
            let answer = client.ask(method, &json!({"sessionId": TEA, "cwd": cwd}));
            assert_eq!(answer["error"]["code"], -32602, "{method} {cwd}");
        }
    }
    client.finish();
}

/// An agent that is a script. It gets the folder of the test as its first word.
#[cfg(unix)]
fn scripted(script: &str) -> (World, Client, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sh");
    fs::write(&path, script).unwrap();
    let world = World::new();
    world.server.set_agent(format!("sh '{}' '{}'", path.display(), folder.path().display()));
    let client = initialized(&world);
    (world, client, folder)
}

/// Says who it is, as the first of a script.
#[cfg(unix)]
const INTRODUCED: &str = r#"read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
"#;

#[cfg(unix)]
fn new() -> Value {
    json!({"cwd": "/home/mia/tea", "mcpServers": []})
}

/// Waits until a script has written a number, and returns it.
#[cfg(unix)]
fn number(folder: &tempfile::TempDir, name: &str) -> u32 {
    loop {
        let written = fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        if let Some(number) = written.strip_suffix('\n') {
            return number.parse().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Whether there is such a process, be it one that nobody has waited for.
#[cfg(unix)]
fn exists(process: u32) -> bool {
    let mut kill = std::process::Command::new("kill");
    kill.args(["-0", &process.to_string()]).stderr(std::process::Stdio::null());
    kill.status().unwrap().success()
}

#[cfg(unix)]
#[test]
fn an_agent_that_never_says_who_it_is_holds_nobody_up() {
    let (_world, mut client, folder) = scripted("echo $$ > \"$1/pid\"; exec sleep 600");
    let first = client.request("session/new", &new());
    let second = client.request("session/new", &new());
    let process = number(&folder, "pid");
    for id in [second, first] {
        client.send(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"id": id}}));
        let answer = client.next();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32800)));
    }
    // Nobody takes this back: it ends with the connection.
    client.request("session/new", &new());
    client.leave();
    assert!(!exists(process));
}

#[cfg(unix)]
#[test]
fn what_an_agent_has_started_ends_with_it() {
    let script = format!("{INTRODUCED} sleep 600 & echo $! > \"$1/pid\"; read -r line; exec sleep 600");
    let (_world, mut client, folder) = scripted(&script);
    client.request("session/new", &new());
    let process = number(&folder, "pid");
    client.leave();
    // Whoever adopts it may take a moment to notice.
    let stat = || fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    while exists(process) && !stat().contains(") Z ") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[cfg(unix)]
#[test]
fn a_request_that_an_agent_does_not_give_up_is_given_up_for_it() {
    let script = format!("{INTRODUCED} read -r line; echo $$ > \"$1/pid\"; exec sleep 600");
    let (_world, mut client, folder) = scripted(&script);
    let id = client.request("session/new", &new());
    number(&folder, "pid");
    client.send(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"id": id}}));
    assert_eq!(client.next()["error"]["code"], -32800);
    client.finish();
}

#[cfg(unix)]
#[test]
fn an_agent_that_goes_is_waited_for_before_the_next() {
    let script = format!("echo $$ > \"$1/pid\"\n{INTRODUCED} read -r line");
    let (_world, mut client, folder) = scripted(&script);
    let mut before = None;
    for _ in 0..3 {
        assert_eq!(client.ask("session/new", &new())["error"]["code"], -32603);
        let process = number(&folder, "pid");
        assert!(before.replace(process).is_none_or(|before| before != process && !exists(before)));
    }
    client.finish();
    assert!(!exists(before.unwrap()));
}

#[cfg(unix)]
#[test]
fn an_agent_that_says_too_much_at_once_is_given_up() {
    let script =
        format!("{INTRODUCED} read -r line; head -c 17000000 /dev/zero | tr '\\0' x; echo; exec sleep 600");
    let (_world, mut client, _folder) = scripted(&script);
    assert_eq!(client.ask("session/new", &new())["error"]["code"], -32603);
    client.finish();
}

#[cfg(unix)]
#[test]
fn an_agent_that_does_not_read_is_given_up() {
    let asks = "for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10; do \
        echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$i$j,\\\"method\\\":\\\"x\\\"}\"; done; done";
    let (_world, mut client, _folder) =
        scripted(&format!("{INTRODUCED} read -r line; {asks}; exec sleep 600"));
    let id = client.request("session/new", &new());
    let text = "天".repeat(100_000);
    for _ in 0..100 {
        let asked = client.next();
        if asked["id"] == id {
            assert_eq!(asked["error"]["code"], -32603);
            return client.finish();
        }
        client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"text": text}}));
    }
    assert_eq!(client.next()["error"]["code"], -32603);
    client.finish();
}

#[cfg(unix)]
#[test]
fn a_session_on_which_an_agent_works_is_not_opened_besides() {
    let resumes = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}}"#;
    let done = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;
    let script = format!(
        "read -r line; echo '{resumes}'; read -r line; echo '{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{}}}}'; \
         read -r line; echo 1 > \"$1/works\"; while [ ! -e \"$1/go\" ]; do sleep 0.01; done; echo '{done}'; exec sleep 600"
    );
    let (_world, mut client, folder) = scripted(&script);
    let asked = client.request("session/prompt", &json!({"sessionId": TEA, "prompt": []}));
    number(&folder, "works");
    for method in ["session/load", "session/resume"] {
        assert_eq!(client.ask(method, &open(TEA))["error"]["code"], -32011, "{method}");
    }
    fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(client.next()["id"], asked);
    assert!(client.ask("session/resume", &open(TEA)).get("result").is_some());
    client.finish();
}

#[cfg(unix)]
#[test]
fn an_agent_opens_a_session_once_and_hears_what_is_asked_in_order() {
    let script = r#"while read -r line; do
        echo "$line" >> "$1/log"
        id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
        echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true}}}"
    done"#;
    let (_world, mut client, folder) = scripted(script);
    for number in 0..10 {
        for method in ["session/prompt", "session/set_mode", "session/set_config_option"] {
            client.request(method, &json!({"sessionId": TEA, "number": number}));
        }
    }
    for _ in 0..30 {
        assert!(client.next().get("result").is_some());
    }
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let heard: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let methods: Vec<_> = heard.iter().map(|line| line["method"].as_str().unwrap()).collect();
    assert_eq!(methods[..2], ["initialize", "session/load"]);
    let mut expected = Vec::new();
    for number in 0..10 {
        expected.extend(
            ["session/prompt", "session/set_mode", "session/set_config_option"]
                .map(|method| (method, number)),
        );
    }
    let asked: Vec<_> = heard[2..]
        .iter()
        .map(|line| (line["method"].as_str().unwrap(), line["params"]["number"].as_i64().unwrap()))
        .collect();
    assert_eq!(asked, expected);
    client.finish();
}
