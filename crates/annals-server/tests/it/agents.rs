//! Agents of a session: their list, and methods that read the transcript of one.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use annals_proto::{ErrorCode, Method, WatchParams};
use serde_json::{Value, json};

use crate::connections::Client;
use crate::world::{KETTLE, TEA, World, lines_at};

const AGENT: &str = "a52886dc180afb356";

/// A session that started an agent, and the transcript of the agent with a prompt, a failed call and a reply.
fn world_with_agent() -> World {
    let world = World::new();
    let call = json!({"description": "Find the leak", "prompt": "Look at the pot"});
    let calls = lines_at(5, "a5").assistant("a6", |reply| reply.id("m3").tool("t3", "Agent", call));
    append(&world.session(TEA), &calls.to_string());
    let own = lines_at(6, None)
        .user("s1", "Look at the pot")
        .assistant("s2", |reply| reply.id("m9").tool("t9", "Bash", json!({"command": "ls pot"})))
        .failure("s3", "t9", "no such pot")
        .assistant("s4", |reply| reply.id("m10").text("There is no pot."));
    append(&agent(&world), &as_sidechain(&own.to_string()));
    let meta = json!({"agentType": "Explore", "description": "Find the leak", "toolUseId": "t3",
        "worktreePath": "/home/mia/tea-leak", "finished": true, "futureField": [1]});
    fs::write(agent(&world).with_extension("meta.json"), format!("{meta:#}")).unwrap();
    world
}

fn as_sidechain(lines: &str) -> String {
    lines.replace("\"isSidechain\":false", "\"isSidechain\":true")
}

fn agent(world: &World) -> PathBuf {
    world.projects().join(format!("-home-mia-tea/{TEA}/subagents/agent-{AGENT}.jsonl"))
}

fn append(path: &std::path::Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn agents_are_listed_with_what_a_resuming_program_needs() {
    let world = world_with_agent();
    let list = world.get("history/agents", &json!({"sessionId": TEA, "workspacePath": "/home/mia/tea"}));
    assert_eq!(list["total"], 1);
    let found = &list["agents"][0];
    for (field, value) in [
        ("session", json!(TEA)),
        ("agentId", json!(AGENT)),
        ("remote", json!(false)),
        ("agentType", json!("Explore")),
        ("description", json!("Find the leak")),
        ("worktreePath", json!("/home/mia/tea-leak")),
        ("state", json!("done")),
        ("toolUseId", json!("t3")),
        ("callUuid", json!("a6")),
        ("parentAgentId", Value::Null),
        ("entries", json!(4)),
    ] {
        assert_eq!(found[field], value, "{field}");
    }
    assert_eq!(found["metadata"]["futureField"], json!([1]));
    assert_eq!(world.get("history/agents", &json!({"sessionId": KETTLE}))["agents"], json!([]));
}

#[test]
fn every_method_that_reads_a_session_reads_an_agent() {
    let world = world_with_agent();
    let params = json!({"sessionId": TEA, "agentId": AGENT});
    let read = world.get("history/read", &params);
    let uuids: Vec<_> = read["items"].as_array().unwrap().iter().map(|item| item["uuid"].clone()).collect();
    assert_eq!(uuids, ["s1", "s2", "s3", "s4"]);
    assert!(
        read["items"].as_array().unwrap().iter().all(|item| item["agentId"] == AGENT && item["turn"] == 1)
    );
    let load = world.get("history/load", &params);
    let said: Vec<_> =
        load["messages"].as_array().unwrap().iter().map(|message| &message["content"]).collect();
    assert_eq!(said, ["Look at the pot", "", "There is no pot."]);
    let model = world.get("history/load", &json!({"sessionId": TEA, "agentId": AGENT, "view": "model"}));
    assert_eq!(model["messages"][0]["content"], "Look at the pot");
    let turns = world.get("history/turns", &params);
    assert_eq!(
        (&turns["turns"][0]["prompt"], &turns["turns"][0]["errors"]),
        (&json!("Look at the pot"), &json!(1))
    );
    let tools = world.get("history/tools", &params);
    assert_eq!((&tools["calls"][0]["id"], &tools["calls"][0]["agentId"]), (&json!("t9"), &json!(AGENT)));
    let stats = world.get("history/stats", &params);
    assert_eq!((&stats["lines"], &stats["agentId"]), (&json!(4), &json!(AGENT)));
    for method in ["history/read", "history/load", "history/turns", "history/tools"] {
        let page = world.get(method, &json!({"sessionId": TEA, "agentId": AGENT, "limit": 1}));
        if let Some(cursor) = page["nextCursor"].as_str() {
            world.get(method, &json!({"sessionId": TEA, "agentId": AGENT, "cursor": cursor}));
        }
    }
}

#[test]
fn what_an_agent_writes_is_reported_with_its_id() {
    let world = world_with_agent();
    let mut client = Client::of(&world);
    let answer = client.ask("history/watch", &json!({"sessionId": TEA, "agentId": AGENT}));
    assert_eq!(answer["result"]["offset"], fs::metadata(agent(&world)).unwrap().len());
    append(&world.session(TEA), &lines_at(7, "a6").user("u9", "meanwhile").to_string());
    append(&agent(&world), &as_sidechain(&lines_at(8, "s4").user("s5", "Look again").to_string()));
    let notice = client.notice("history/appended");
    assert_eq!((&notice["sessionId"], &notice["agentId"]), (&json!(TEA), &json!(AGENT)));
    assert_eq!(notice["items"][0]["uuid"], "s5");
    let without_session = client.ask("history/watch", &json!({"agentId": AGENT}));
    assert_eq!(without_session["error"]["code"], -32602);
    client.finish();
}

#[test]
fn an_agent_that_the_session_does_not_have_is_not_found() {
    let world = world_with_agent();
    for (session, agent) in [(TEA, "a52886dc"), (TEA, "agent-a52886dc180afb356"), (KETTLE, AGENT), (TEA, "*")]
    {
        let params = json!({"sessionId": session, "agentId": agent});
        for method in ["history/read", "history/load", "history/turns", "history/tools", "history/stats"] {
            assert_eq!(world.refusal(method, &params), ErrorCode::NotFound, "{method} {params}");
        }
        let watch: WatchParams = serde_json::from_value(params).unwrap();
        assert_eq!(world.server.subscribe(&watch).unwrap_err().code, ErrorCode::NotFound);
    }
    let error = world.ask("history/read", &json!({"sessionId": TEA, "agentId": "a7"})).unwrap_err();
    assert_eq!(error.message, format!("session `{TEA}` has no transcript of an agent `a7`"));
}

#[test]
fn one_of_two_agents_with_an_id_is_named_by_its_transcript() {
    let world = world_with_agent();
    let group = agent(&world).with_file_name("workflows").join(format!("wf_1/agent-{AGENT}.jsonl"));
    append(&group, &as_sidechain(&lines_at(7, None).user("w1", "Look at the 茶壶").to_string()));
    let params = |path: &str| json!({"sessionId": TEA, "agentId": AGENT, "workspacePath": path});
    let error = world.ask("history/stats", &params("/home/mia/tea")).unwrap_err();
    assert_eq!(error.code, ErrorCode::Ambiguous);
    let data: Value = serde_json::from_str(error.data.unwrap().get()).unwrap();
    let candidates = data["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 2);
    for candidate in candidates {
        let stats = world.get("history/stats", &params(candidate.as_str().unwrap()));
        assert_eq!(&stats["path"], candidate);
    }
}

#[test]
fn an_agent_id_is_no_path() {
    let world = world_with_agent();
    let kettle = format!("../../{KETTLE}");
    let long = "a".repeat(256);
    for harm in ["", "../x", "/etc/passwd", r"..\x", "a\0b", "a\nb", &kettle, &long] {
        let params = json!({"sessionId": TEA, "agentId": harm});
        assert_eq!(world.refusal("history/read", &params), ErrorCode::InvalidParams, "{harm:?}");
    }
    for harm in ["..", ".", "secret", "a b"] {
        let params = json!({"sessionId": TEA, "agentId": harm});
        assert_eq!(world.refusal("history/read", &params), ErrorCode::NotFound, "{harm:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_agent_that_is_a_link_out_of_the_folders_is_refused_and_not_listed() {
    let world = world_with_agent();
    let outside = world.path().join("outside.jsonl");
    fs::write(&outside, lines_at(1, None).user("x1", "the secret of the house").to_string()).unwrap();
    let link = agent(&world).with_file_name("agent-a999.jsonl");
    std::os::unix::fs::symlink(&outside, link).unwrap();
    let params = json!({"sessionId": TEA, "agentId": "a999"});
    for method in ["history/read", "history/load", "history/turns", "history/tools", "history/stats"] {
        assert_eq!(world.refusal(method, &params), ErrorCode::Refused, "{method}");
    }
    assert!(world.server.subscribe(&serde_json::from_value(params).unwrap()).is_err());
    assert_eq!(world.get("history/agents", &json!({"sessionId": TEA}))["total"], 1);
}

#[test]
fn methods_that_change_sessions_take_no_agent() {
    let world = world_with_agent();
    let changes = Method::ALL.iter().filter(|method| method.is_change());
    for method in changes {
        let params = json!({"sessionId": TEA, "agentId": AGENT, "title": "T", "tag": "t"});
        assert_eq!(world.refusal(method.name(), &params), ErrorCode::InvalidParams, "{method:?}");
    }
    assert!(world.session(TEA).is_file() && agent(&world).is_file());
}

#[test]
fn many_agents_come_in_pages() {
    let world = World::new();
    let folder = world.session(TEA).with_extension("").join("subagents");
    for number in 0..7 {
        let path = folder.join(format!("agent-b{number}.jsonl"));
        append(&path, &lines_at(number, None).user("s1", "Look").to_string());
    }
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = world.get("history/agents", &json!({"sessionId": TEA, "limit": 3, "cursor": cursor}));
        assert_eq!(page["total"], 7);
        seen.extend(page["agents"].as_array().unwrap().iter().map(|agent| agent["agentId"].clone()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, ["b0", "b1", "b2", "b3", "b4", "b5", "b6"]);
    let wrong = json!({"sessionId": TEA, "cursor": "AAAA"});
    assert_eq!(world.refusal("history/agents", &wrong), ErrorCode::InvalidParams);
}
