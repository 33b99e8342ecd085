//! `annals insight`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::{annals, small_home};

#[test]
fn days_hours_tools_and_errors_are_shown() {
    let shown = annals(&small_home(), &["insight"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(shown.stdout, @"
    1 session, 1 turn, 3.0 s of work

    day (UTC)   sessions  turns   time  turns per day
    2026-03-01         1      1  3.0 s  ████████████████████

    turns by hour
         0     3     6     9     12    15    18    21
    Mon  · · · · · · · · · · · · · · · · · · · · · · · ·
    Tue  · · · · · · · · · · · · · · · · · · · · · · · ·
    Wed  · · · · · · · · · · · · · · · · · · · · · · · ·
    Thu  · · · · · · · · · · · · · · · · · · · · · · · ·
    Fri  · · · · · · · · · · · · · · · · · · · · · · · ·
    Sat  · · · · · · · · · · · · · · · · · · · · · · · ·
    Sun  · · · · · · · · · · █ · · · · · · · · · · · · ·

    tool  calls  failed     rate  stopped  mean time
    Bash      1       1  100.0 %        0     500 ms

    failed because  calls  most recent           opens it
    other               1  Bash: no such folder  annals show 3e11a6b4 --at a1
    ");
}

#[test]
fn the_same_is_one_object_in_json() {
    let ran = annals(&small_home(), &["insight", "--json"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 1));
    let insight: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&insight["sessions"], &insight["turns"]), (&1.into(), &1.into()));
    assert_eq!(insight["days"][0]["date"], "2026-03-01");
    assert_eq!(insight["tools"]["Bash"]["calls"], 1);
    assert_eq!(insight["hours"].as_array().unwrap().len(), 7);
}

#[test]
fn times_and_projects_select() {
    let home = small_home();
    for (args, code) in [
        (&["--since", "2026-03-01"][..], 0),
        (&["--since", "2026-03-02"], 1),
        (&["--until", "2026-02-28"], 1),
        (&["--project", "/home/mia/tea"], 0),
        (&["--project", "/elsewhere"], 1),
        (&["3e11", "--here"], 2),
    ] {
        assert_eq!(annals(&home, &[&["insight"], args].concat()).code, Some(code), "{args:?}");
    }
}

/// A session with a subagent, whose calls both fail.
fn home_with_agent() -> testkit::command::Home {
    let home = small_home();
    let folder = ".claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55/subagents";
    let lines = [
        r#"{"type":"user","uuid":"s1","parentUuid":null,"isSidechain":true,"agentId":"a77","sessionId":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"Look"}}"#,
        r#"{"type":"assistant","uuid":"s2","parentUuid":"s1","isSidechain":true,"agentId":"a77","sessionId":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","requestId":"r9","timestamp":"2026-03-01T10:00:02.000Z","message":{"id":"m9","role":"assistant","model":"claude-opus-4-8","stop_reason":"tool_use","usage":{"input_tokens":100,"output_tokens":10,"cache_read_input_tokens":300},"content":[{"type":"tool_use","id":"t9","name":"Grep","input":{}}]}}"#,
        r#"{"type":"user","uuid":"s3","parentUuid":"s2","isSidechain":true,"agentId":"a77","sessionId":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","timestamp":"2026-03-01T10:00:04.500Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t9","is_error":true,"content":"Command timed out after 2m"}]}}"#,
    ];
    home.write(format!("{folder}/agent-a77.jsonl"), format!("{}\n", lines.join("\n")));
    home
}

#[test]
fn a_session_has_its_subagents_and_their_tokens() {
    let home = home_with_agent();
    let insight = |args: &[&str]| -> Value {
        let ran = annals(&home, &[&["insight", "--json"], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    for one in [insight(&["3e11"]), insight(&[]), insight(&["--project", "/home/mia/tea"])] {
        assert_eq!((&one["turns"], &one["tools"]["Grep"]["calls"]), (&1.into(), &1.into()), "{one}");
        assert_eq!((&one["usage"]["outputTokens"], &one["cacheHitPercent"]), (&10.into(), &75.0.into()));
        assert_eq!(one["models"]["claude-opus-4-8"]["replies"], 1, "{one}");
    }
    assert_eq!(insight(&["a77"])["tools"]["Bash"], Value::Null);
    let shown = annals(&home, &["insight", "3e11"]).stdout;
    assert!(shown.contains("410 tokens, $0.0009; 75 % of the prompts were read from the cache"), "{shown}");
}

#[test]
fn the_commands_beside_errors_open_them() {
    let home = home_with_agent();
    let shown = annals(&home, &["insight"]).stdout;
    let commands: Vec<_> = shown.lines().filter_map(|line| line.split_once("annals show ")).collect();
    assert_eq!(commands.len(), 2, "{shown}");
    for (_, arguments) in commands {
        let arguments: Vec<_> = ["show"].into_iter().chain(arguments.split_whitespace()).collect();
        let opened = annals(&home, &arguments);
        assert_eq!(
            (opened.code, opened.stdout.is_empty()),
            (Some(0), false),
            "{arguments:?}: {}",
            opened.stderr
        );
    }
}

#[test]
fn calls_are_sorted_and_limited_and_say_who_failed_when_and_why() {
    let home = home_with_agent();
    let tools = |args: &[&str]| annals(&home, &[&["tools", "--errors"], args].concat());
    assert_snapshot!(tools(&["--sort", "time"]).stdout, @"
    session     date              tool  subject  state    time  error
    3e11a6b4    2026-03-01 10:00  Bash  ls       error  500 ms  no such folder
    3e11a6b4 ↳  2026-03-01 10:00  Grep           error   2.5 s  Command timed out after 2m
    ");
    let names = |args: &[&str]| -> Vec<String> {
        let found = tools(&[&["--json"], args].concat()).stdout;
        let name =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["name"].as_str().unwrap().to_owned();
        found.lines().map(name).collect()
    };
    assert_eq!(names(&["--sort", "duration"]), ["Grep", "Bash"]);
    assert_eq!(names(&["--sort", "tool"]), ["Bash", "Grep"]);
    assert_eq!(names(&["--sort", "time", "--limit", "1"]).len(), 1);
    assert_eq!(names(&["--limit", "1"]).len(), 1);
    assert_eq!(tools(&["--since", "2026-03-02"]).code, Some(1));
    assert_eq!(names(&["--since", "2026-03-01"]).len(), 2);
    assert_eq!(tools(&["--here"]).code, Some(1), "no session was in this directory");
}
