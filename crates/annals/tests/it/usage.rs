//! `annals usage`.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::command::Home;

use crate::{SESSION, annals};

const OTHER: &str = "4e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

/// A line of a reply.
fn line(session: &str, id: &str, model: &str, time: &str, usage: &Value) -> Value {
    json!({
        "type": "assistant", "uuid": format!("u-{id}"), "sessionId": session, "requestId": format!("r-{id}"), "cwd": "/home/mia/茶 timer",
        "gitBranch": "main", "timestamp": time,
        "message": {"id": format!("m-{id}"), "role": "assistant", "model": model, "content": [], "stop_reason": "end_turn", "usage": usage},
    })
}

fn tokens(input: u64, output: u64) -> Value {
    json!({"input_tokens": input, "output_tokens": output, "cache_creation_input_tokens": 1000, "cache_read_input_tokens": 2000})
}

fn write(home: &Home, session: &str, lines: &[Value]) {
    let text = lines.iter().fold(String::new(), |text, line| format!("{text}{line}\n"));
    home.write(format!(".claude/projects/-p/{session}.jsonl"), &text);
}

/// Two sessions: one with a reply of two lines, the other with a copy of it, an unfinished reply and a model without a price.
fn world() -> Home {
    let home = Home::new();
    let reply = |session| {
        line(session, "1", "claude-opus-4-8", "2026-06-01T10:00:00.000Z", &tokens(1_000_000, 100_000))
    };
    let mut first = reply(SESSION);
    first["message"]["usage"]["output_tokens"] = json!(1);
    write(&home, SESSION, &[first, reply(SESSION)]);
    let mut copy = reply(OTHER);
    copy["forkedFrom"] = json!({"sessionId": SESSION, "messageUuid": "u-1"});
    let mut unfinished = line(OTHER, "2", "claude-sonnet-4-6", "2026-06-02T10:00:00.000Z", &tokens(10, 20));
    unfinished["message"]["stop_reason"] = json!(null);
    unfinished["gitBranch"] = json!("kettle");
    let unknown = line(OTHER, "3", "teapot-9", "2026-06-02T23:30:00.000Z", &tokens(5, 5));
    write(&home, OTHER, &[copy, unfinished, unknown]);
    home
}

fn rows(home: &Home, args: &[&str]) -> Vec<Value> {
    let args = [&["usage", "--json", "--timezone", "UTC"], args].concat();
    let ran = annals(home, &args);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_report_by_day_has_totals_and_says_what_it_does_not_know() {
    let home = world();
    let ran = annals(&home, &["usage", "--timezone", "UTC", "--breakdown"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(ran.stdout, @"
    day (UTC)            replies      input     output  cache written  cache read     tokens           cost
    2026-06-01                 1  1,000,000    100,000          1,000       2,000  1,103,000          $7.51  ████████████
      claude-opus-4-8          1  1,000,000    100,000          1,000       2,000  1,103,000          $7.51
    2026-06-02                 2         15       ≥ 25          2,000       4,000      6,040  ≥ $0.0047 + ?
      claude-sonnet-4-6        1         10       ≥ 20          1,000       2,000      3,030      ≥ $0.0047
      teapot-9                 1          5          5          1,000       2,000      3,010        unknown
    total                      3  1,000,015  ≥ 100,025          3,000       6,000  1,109,040    ≥ $7.51 + ?

    ≥: 33 % of the responses have no stop reason, so their output is at least what is recorded
    no price is known for teapot-9; `prices.toml` can state it
    ");
}

#[test]
fn every_grouping_has_the_same_total() {
    let home = world();
    let sum =
        |rows: &[Value], key: &str| rows.iter().map(|row| row[key].as_f64().unwrap_or(0.0)).sum::<f64>();
    let days = rows(&home, &[]);
    assert_eq!((days.len(), sum(&days, "replies")), (2, 3.0));
    for by in ["day", "week", "month", "session", "project", "branch", "model", "block"] {
        let found = rows(&home, &["--by", by]);
        for key in [
            "inputTokens",
            "outputTokens",
            "cacheCreationTokens",
            "cacheReadTokens",
            "totalTokens",
            "replies",
            "costUsd",
        ] {
            let (one, other) = (sum(&found, key), sum(&days, key));
            assert!((one - other).abs() < 1e-9, "{by} {key}: {one} {other}");
        }
    }
    let keys = |by: &str| {
        rows(&home, &["--by", by])
            .iter()
            .map(|row| row["key"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys("week"), ["2026-W23"]);
    assert_eq!(keys("session"), [SESSION, OTHER]);
    assert_eq!(keys("project"), ["/home/mia/茶 timer"]);
    assert_eq!(keys("branch"), ["main", "kettle"]);
    assert_eq!(keys("model"), ["claude-opus-4-8", "claude-sonnet-4-6", "teapot-9"]);
}

#[test]
fn a_row_has_the_fields_that_are_promised() {
    let home = world();
    let found = rows(&home, &["--by", "model"]);
    let opus = &found[0];
    // 1,000,000 input at 5, 100,000 output at 25, 1,000 written at 6.25 and 2,000 read at 0.5 dollars for a million.
    assert_eq!(opus["costUsd"], json!(7.50725));
    assert_eq!(
        (&opus["outputTokens"], &opus["outputAtLeast"], &opus["costKind"]),
        (&json!(100_000), &json!(false), &json!("calculated"))
    );
    assert_eq!(opus["models"]["claude-opus-4-8"]["totalTokens"], opus["totalTokens"]);
    assert_eq!((&found[1]["outputAtLeast"], &found[1]["unfinishedReplies"]), (&json!(true), &json!(1)));
    let teapot = &found[2];
    assert_eq!(
        (&teapot["costUsd"], &teapot["costKind"], &teapot["unpricedModels"]),
        (&json!(null), &json!("unknown"), &json!(["teapot-9"]))
    );
    assert_eq!(rows(&home, &["--by", "block"])[0]["window"]["estimated"], json!(true));
}

#[test]
fn responses_are_filtered() {
    let home = world();
    let replies =
        |args: &[&str]| rows(&home, args).iter().map(|row| row["replies"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(replies(&["--since", "2026-06-02"]), 2);
    assert_eq!(replies(&["--until", "2026-06-01"]), 1);
    assert_eq!(replies(&["--branch", "kettle"]), 1);
    assert_eq!(replies(&["--project", "/home/mia/茶 timer"]), 3);
    assert_eq!(replies(&[OTHER]), 2);
    // The end of the day in another zone.
    let tokyo = annals(&home, &["usage", "--json", "--timezone", "Asia/Tokyo", "--since", "2026-06-03"]);
    assert!(tokyo.stdout.starts_with(r#"{"key":"2026-06-03","#), "{}", tokyo.stdout);
    // A folder is counted for itself.
    let folder = home.path().join(".claude/projects/-p");
    assert_eq!(replies(&[folder.to_str().unwrap()]), 3);
    let none = annals(&home, &["usage", "--since", "2027"]);
    assert_eq!((none.code, none.stderr.trim()), (Some(1), "annals: no responses were counted"));
}

#[test]
fn a_number_is_traced_to_its_lines() {
    let home = world();
    let found = rows(&home, &["--why", "2026-06-01"]);
    let [reply] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        (&reply["session"], &reply["line"], &reply["lines"], &reply["copies"]),
        (&json!(SESSION), &json!(1), &json!(3), &json!(1))
    );
    assert_eq!(reply["costUsd"], json!(7.50725));
    let table = annals(&home, &["usage", "--by", "model", "--why", "teapot-9"]);
    assert!(table.stdout.contains("unknown") && table.stdout.contains(OTHER), "{}", table.stdout);
    assert_eq!(annals(&home, &["usage", "--why", "2020-01-01"]).code, Some(1));
}

#[test]
fn what_is_gone_stays_counted_until_it_is_forgotten() {
    let home = world();
    assert_eq!(rows(&home, &[]).len(), 2);
    fs::remove_file(home.path().join(format!(".claude/projects/-p/{OTHER}.jsonl"))).unwrap();
    let kept = |home: &Home| rows(home, &["--by", "month"])[0]["keptReplies"].clone();
    assert_eq!(kept(&home), json!(2));
    let asked = crate::feed(&home, &["usage", "forget"], b"n\n");
    assert!(asked.stderr.contains("nothing was forgotten"), "{}", asked.stderr);
    assert_eq!(kept(&home), json!(2));
    let forgot = annals(&home, &["usage", "forget", "--yes"]);
    assert!(forgot.stdout.contains("4e11a6b4") && forgot.stderr.contains("forgot 2 responses"), "{forgot:?}");
    assert_eq!(rows(&home, &[]).len(), 1);
    let nothing = annals(&home, &["usage", "forget", "--yes"]);
    assert!(nothing.stderr.starts_with("nothing to forget"), "{}", nothing.stderr);
}

#[test]
fn values_are_separated_by_commas_and_prices_are_the_users() {
    let home = world();
    let prices = annals(&home, &["usage", "--by", "model", "--csv"]);
    assert_snapshot!(prices.stdout, @"
    key,inputTokens,outputTokens,cacheCreationTokens,cacheCreation1hTokens,cacheReadTokens,totalTokens,costUsd,costKind,replies,unfinishedReplies,unpricedModels
    claude-opus-4-8,1000000,100000,1000,0,2000,1103000,7.507250,calculated,1,0,
    claude-sonnet-4-6,10,20,1000,0,2000,3030,0.004680,calculated,1,1,
    teapot-9,5,5,1000,0,2000,3010,,unknown,1,0,teapot-9
    ");
    let store = home.path().join("annals");
    fs::create_dir_all(&store).unwrap();
    fs::write(store.join("prices.toml"), "[[price]]\nmodel = \"teapot-9\"\ninput = 1\noutput = -1\n")
        .unwrap();
    let wrong =
        home.ran(&home.command(crate::ANNALS).env("ANNALS_HOME", &store).arg("usage").output().unwrap());
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("prices.toml: line 4: a price is a number from 0 to 1000000"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn keys_that_the_table_prints_are_keys_and_times_are_local() {
    let home = world();
    let printed = annals(&home, &["usage", "--by", "block", "--timezone", "Asia/Tokyo"]).stdout;
    let first = printed.lines().nth(1).unwrap();
    let key = &first[..=first.find('~').unwrap()];
    for key in [key, key.trim_end_matches('~').trim_end(), &key[..16]] {
        let args = ["usage", "--by", "block", "--timezone", "Asia/Tokyo", "--why", key];
        let why = annals(&home, &args);
        assert_eq!(why.code, Some(0), "{key}: {}", why.stderr);
        assert!(why.stdout.starts_with("time (Asia/Tokyo)"), "{}", why.stdout);
        let time = why.stdout.lines().nth(1).unwrap();
        assert!(time.starts_with(&key[..16]), "the window begins with its first response: {key} {time}");
    }
}

#[test]
fn costs_are_equivalents_where_a_plan_was_recorded_and_its_windows_are_facts() {
    let home = world();
    let by_model = |home: &Home| annals(home, &["usage", "--by", "model", "--timezone", "UTC"]).stdout;
    assert!(by_model(&home).lines().next().unwrap().contains("cost"));
    let end: jiff::Timestamp = "2026-06-01T16:00:00Z".parse().unwrap();
    let record = format!(
        "{{\"time\":\"2026-06-01T12:00:00.000Z\",\"session\":null,\"costUsd\":null,\"fiveHour\":{{\"usedPercentage\":12.5,\"resetsAt\":{}}},\"sevenDay\":null}}\n",
        end.as_second()
    );
    home.write(".local/share/annals/status-line.jsonl", &record);
    let shown = by_model(&home);
    assert!(shown.lines().next().unwrap().contains("API equivalent"), "{shown}");
    assert!(shown.contains("API equivalent: what the API would charge"), "{shown}");
    assert_eq!(rows(&home, &["--by", "model"])[0]["apiEquivalent"], json!(true));
    let windows = rows(&home, &["--by", "block"]);
    let known: Vec<_> = windows.iter().filter(|row| row["window"]["estimated"] == json!(false)).collect();
    assert!(known.iter().all(|row| row["window"]["endsAt"] == json!("2026-06-01T16:00:00Z")), "{windows:?}");
}

#[test]
fn the_context_of_a_session_is_shown() {
    let home = crate::small_home();
    let line = |number: usize, rest: &str| {
        let parent = if number == 0 { "null".to_owned() } else { format!("\"c{}\"", number - 1) };
        format!(
            "{{\"uuid\":\"c{number}\",\"parentUuid\":{parent},\"timestamp\":\"2026-06-01T10:0{number}:00.000Z\",{rest}}}\n"
        )
    };
    let reply = |tokens: u64, block: &str| {
        format!(
            "\"type\":\"assistant\",\"message\":{{\"id\":\"m{tokens}\",\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"usage\":{{\"input_tokens\":{tokens},\"output_tokens\":5}},\"content\":[{block}]}}"
        )
    };
    let lines = [
        line(0, "\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"Why 天气?\"}"),
        line(1, &reply(5_000, "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Read\",\"input\":{}}")),
        line(
            2,
            &format!(
                "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"{}\"}}]}}",
                "x".repeat(7_994)
            ),
        ),
        line(3, &reply(7_000, "{\"type\":\"text\",\"text\":\"Because\"}")),
    ];
    let id = "6e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    home.write(format!(".claude/projects/-p/{id}.jsonl"), lines.concat());
    let shown = annals(&home, &["usage", id, "--context"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(shown.stdout, @"
    claude-opus-5-5: 7,000 of about 1,000,000 tokens (0 %) at the last reply
    at most 7,000 tokens; figures with ~ are estimates: 0.25 tokens for each byte of text, measured over 1 step from reply to reply; compared with their recorded growth they are 0 % off

    in the context                                    tokens  share
    results of Read                                   ~1,999   28 %
    prompts                                               ~3    0 %
    tool calls                                            ~2    0 %
    rest: system prompt, tools, what is not recorded  ~4,996   71 %

    turn  started           replies  tokens  full            added
       1  2026-06-01 10:00        2   7,000  ▰▱▱▱▱▱▱▱▱▱ 0 %  results of Read ~1,999, prompts ~3, replies ~2
    ");
    let json = annals(&home, &["usage", id, "--context", "--json"]).stdout;
    let context: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&context["tokens"], &context["windowTokens"]), (&json!(7_000), &json!(1_000_000)));
    assert_eq!(context["parts"][0], json!({"kind": "tool_result", "name": "Read", "estimatedTokens": 1_999}));
    assert_eq!(annals(&home, &["usage", "--context"]).code, Some(2), "it needs a session");
    let none = annals(&home, &["usage", "3e11", "--context"]);
    assert_eq!(none.code, Some(1), "{}", none.stderr);
}

#[test]
fn forks_and_indexes_change_no_total() {
    let home = world();
    let total = || {
        let found = rows(&home, &["--by", "month"]);
        ["replies", "totalTokens", "costUsd"].map(|key| found[0][key].clone())
    };
    let before = total();
    assert_eq!(annals(&home, &["fork", SESSION]).code, Some(0));
    assert_eq!(total(), before, "a fork repeats responses");
    let copy = fs::read(home.path().join(format!(".claude/projects/-p/{OTHER}.jsonl"))).unwrap();
    home.write(".claude/projects/-q/7e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl", copy);
    assert_eq!(total(), before, "a copy repeats them, too");
    #[cfg(feature = "search")]
    for action in ["update", "clear"] {
        annals(&home, &["index", action]);
        assert_eq!(total(), before, "the index {action}");
    }
}
