//! Agents: their list, and commands that take one in place of a session.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::command::Home;
use testkit::transcript::Transcript;

use crate::{ANNALS, SESSION, annals, small_home};

/// The small home with an agent that the session started, one that this agent started, and one on another machine.
fn home_with_agents() -> Home {
    let home = small_home();
    let folder = format!(".claude/projects/-home-mia-tea/{SESSION}");
    let lines = |at: &str, prompt: &str, call: &str| {
        Transcript::session(SESSION)
            .at(at)
            .user("s1", prompt)
            .assistant("s2", |reply| reply.id("m8").tool(call, "Bash", json!({"command": "ls pot"})))
            .failure("s3", call, "no such pot")
            .assistant("s4", |reply| reply.id("m9").text("There is no pot."))
            .to_string()
            .replace("\"isSidechain\":false", "\"isSidechain\":true")
    };
    let looks = lines("2026-03-01T10:00:10.000Z", "Look at the pot", "t7");
    home.write(format!("{folder}/subagents/agent-a52886dc180afb356.jsonl"), looks);
    let meta = json!({"agentType": "Explore", "description": "Find the leak in the 茶壶", "toolUseId": "t1",
        "worktreePath": "/home/mia/tea-leak", "finished": true});
    home.write(format!("{folder}/subagents/agent-a52886dc180afb356.meta.json"), meta.to_string());
    let nested = lines("2026-03-01T10:00:20.000Z", "Read the manual", "t8");
    home.write(format!("{folder}/subagents/agent-a5299999.jsonl"), nested);
    let meta = json!({"agentType": "general-purpose", "toolUseId": "t7"});
    home.write(format!("{folder}/subagents/agent-a5299999.meta.json"), meta.to_string());
    home.write(
        format!("{folder}/remote-agents/far.meta.json"),
        r#"{"description":"Brew elsewhere","pot":"红"}"#,
    );
    home
}

#[test]
fn the_agents_of_a_session_are_a_table() {
    let home = home_with_agents();
    assert_snapshot!(annals(&home, &["agents", "latest"]).stdout, @"
    agent              type             description                state    started by         entries   time  output  worktree
    a52886dc180afb356  Explore          Find the leak in the 茶壶  failed   session                  4  3.0 s       0  /home/mia/tea-leak
    a5299999           general-purpose                             failed   a52886dc180afb356        4  3.0 s       0
    far                (remote)         Brew elsewhere             unknown  -                        -      -       -
    ");
    let none = annals(&small_home(), &["agents", "latest"]);
    assert_eq!((none.code, none.stderr.as_str()), (Some(1), "this session has no agents\n"));
}

#[test]
fn an_agent_without_metadata_is_headed_by_the_call_that_started_it() {
    let home = Home::new();
    let project = ".claude/projects/-home-mia-tea";
    let task =
        json!({"subagent_type": "Explore", "description": "Find the leak", "prompt": "Look at the pot"});
    let session = Transcript::session(SESSION)
        .user("u1", "Why is it wet?")
        .assistant("a1", |reply| reply.tool("t1", "Task", task))
        .result("u2", "t1", "There is no pot.")
        .with("toolUseResult", json!({"status": "completed", "agentId": "a52886dc"}));
    home.write(format!("{project}/{SESSION}.jsonl"), session.to_string());
    let agent = Transcript::session(SESSION).user("s1", "Look at the pot");
    let agent = agent.to_string().replace("\"isSidechain\":false", "\"isSidechain\":true");
    home.write(format!("{project}/{SESSION}/subagents/agent-a52886dc.jsonl"), agent);
    let listed = annals(&home, &["agents", SESSION]).stdout;
    assert!(listed.contains("Explore  Find the leak"), "{listed}");
    let shown = annals(&home, &["show", "a52886dc"]).stdout;
    assert!(shown.starts_with("Explore: Find the leak\n"), "{shown}");
}

#[test]
fn an_agent_on_another_machine_is_named_as_one_without_a_transcript() {
    let ran = annals(&home_with_agents(), &["show", "far"]);
    assert_eq!(ran.code, Some(1));
    assert_snapshot!(ran.stderr, @"annals: session `3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55` has no transcript of an agent `far`: it runs on another machine, and only its metadata is here");
}

#[cfg(target_os = "linux")]
#[test]
fn the_table_of_agents_fits_the_terminal() {
    let home = home_with_agents();
    let widest = |columns: usize| {
        let command = format!("stty cols {columns} rows 40; {ANNALS} agents latest --root .claude");
        let shown = crate::show::run_on_terminal(&home, &command);
        shown.lines().map(|line| unicode_width::UnicodeWidthStr::width(line.trim_end())).max().unwrap_or(0)
    };
    assert!(widest(200) > 100);
    assert!(widest(80) <= 90, "with the codes for bold");
}

#[test]
fn the_json_of_agents_is_that_of_the_protocol() {
    let home = home_with_agents();
    let lines: Vec<Value> = annals(&home, &["agents", "latest", "--json"])
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "history/agents", "params": {"sessionId": SESSION}});
    let answer = crate::feed(&home, &["serve", "--stdio"], format!("{request}\n").as_bytes()).stdout;
    let answer: Value = serde_json::from_str(answer.lines().next().unwrap()).unwrap();
    assert_eq!(answer["result"]["agents"], Value::from(lines.clone()));
    let ids: Vec<_> = lines.iter().map(|agent| (&agent["agentId"], &agent["state"])).collect();
    assert_eq!(
        json!(ids),
        json!([["a52886dc180afb356", "failed"], ["a5299999", "failed"], ["far", "unknown"]])
    );
    assert_eq!(lines[1]["parentAgentId"], "a52886dc180afb356");
}

#[test]
fn an_agent_is_named_like_a_session() {
    let home = home_with_agents();
    for name in ["a528", "a52886dc180afb356", "agent-a5288"] {
        assert!(annals(&home, &["show", name]).stdout.contains("❯ Look at the pot"), "{name}");
        assert!(annals(&home, &["turns", name]).stdout.contains("Look at the pot"), "{name}");
        assert!(
            annals(&home, &["tools", name, "--json"]).stdout.contains("\"agentId\":\"a52886dc180afb356\"")
        );
        assert!(annals(&home, &["stats", name]).stdout.contains("4 lines"), "{name}");
        assert_eq!(annals(&home, &["check", name]).code, Some(0), "{name}");
        let raw = annals(&home, &["show", name, "--view", "raw"]).stdout;
        assert_eq!(raw.lines().count(), 4, "{name}");
        let model = annals(&home, &["show", name, "--view", "model", "--json"]).stdout;
        assert!(model.contains("Look at the pot"), "{name}");
        let followed = annals(&home, &["tail", name, "--seconds", "0"]).stderr;
        assert!(followed.contains("agent a52886dc180afb356"), "{followed}");
    }
}

#[test]
fn agents_below_an_agent_are_shown_in_place_with_type_and_worktree() {
    let home = home_with_agents();
    let nested = annals(&home, &["show", "a528", "--subagents"]).stdout;
    assert!(nested.contains("│ agent a5299999 general-purpose\n"), "{nested}");
    assert!(!annals(&home, &["show", "a529", "--subagents"]).stdout.contains("│ agent"), "it started none");
    let all = annals(&home, &["show", "latest", "--subagents"]).stdout;
    let heading = "│ agent a52886dc180afb356 Explore: Find the leak in the 茶壶 in /home/mia/tea-leak\n";
    assert!(all.contains(heading), "{all}");
}

#[test]
fn an_ambiguous_agent_lists_its_candidates() {
    let home = home_with_agents();
    let ran = annals(&home, &["show", "a52"]);
    assert_eq!(
        (ran.code, ran.stderr.lines().next()),
        (Some(1), Some("annals: no session `a52`")),
        "too short"
    );
    home.write(".claude/projects/-p/agent-a5299990.jsonl", "");
    let ran = annals(&home, &["turns", "a5299"]);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"
    annals: `a5299` may be any of 2 agents
    hint: agent a5299999  [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55/subagents/agent-a5299999.jsonl
    hint: agent a5299990  [home]/.claude/projects/-p/agent-a5299990.jsonl
    hint: give more of the id or the title, or the path of the transcript
    ");
}

#[test]
fn commands_that_change_sessions_refuse_an_agent() {
    let home = home_with_agents();
    for args in [
        &["rename", "a528", "Pot"][..],
        &["tag", "a528", "pot"],
        &["delete", "agent-a528"],
        &["delete", "a528", "--purge", "--yes"],
        &["archive", "a528"],
        &["unarchive", "a528"],
        &["fork", "a528"],
        &["tombstone", "a528", "s1"],
        &["agents", "a528"],
        &["lineage", "a528"],
    ] {
        let ran = annals(&home, args);
        assert_ne!(ran.code, Some(0), "{args:?}");
        let message =
            format!("annals: `a52886dc180afb356` is an agent of session `{SESSION}`, not a session\n");
        assert!(ran.stderr.starts_with(&message), "{args:?}: {}", ran.stderr);
    }
    assert!(annals(&home, &["show", "a528"]).stdout.contains("Look at the pot"), "nothing happened to it");
}
