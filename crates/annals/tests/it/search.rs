//! Search: what people type, and what they get.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::command::{Home, Ran};
use testkit::transcript::Transcript;

use crate::{ANNALS, annals};

const KETTLE: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
const WEATHER: &str = "0b0b0b0b-0000-4000-8000-000000000000";

fn path(session: &str) -> String {
    format!(".claude/projects/-home-mia-tea/{session}.jsonl")
}

/// A home with two sessions and a subagent, in English, Chinese, Japanese and Korean.
fn home() -> Home {
    let home = Home::new();
    let kettle = Transcript::session(KETTLE)
        .at("2025-06-01T10:00:00Z")
        .user("11111111-0000-4000-8000-000000000000", "Why does the kettle not boil? 为什么水壶不沸腾？")
        .assistant("11111112-0000-4000-8000-000000000000", |reply| {
            reply
                .thinking("Perhaps the borrow checker knows")
                .text("Let me look at `getUserName` first.")
                .tool(
                    "t1",
                    "Bash",
                    json!({"command": "cargo test --dry-run", "description": "Run \"all\" tests\nonce"}),
                )
        })
        .failure(
            "11111113-0000-4000-8000-000000000000",
            "t1",
            "error[E0502]: cannot borrow in src/main.rs:42",
        )
        .assistant("11111114-0000-4000-8000-000000000000", |reply| {
            reply.text("The kettle borrows the plug twice. ポットは二度プラグを借りる。 주전자 👍🏽")
        })
        .title("Kettle 水壶");
    home.write(path(KETTLE), kettle.to_string());
    let weather = Transcript::session(WEATHER)
        .cwd("/home/mia/weather")
        .at("2025-06-03T10:00:00Z")
        .user("22222221-0000-4000-8000-000000000000", "天气预报为什么是空的？")
        .assistant("22222222-0000-4000-8000-000000000000", |reply| {
            reply.text("The forecast is empty because the kettle of the 天气 service timed out.")
        });
    home.write(path(WEATHER), weather.to_string());
    let agent = Transcript::session(KETTLE)
        .at("2025-06-01T10:01:00Z")
        .user("33333331-0000-4000-8000-000000000000", "Measure the thermostat")
        .with("isSidechain", true)
        .with("agentId", "a1");
    home.write(
        format!(".claude/projects/-home-mia-tea/{KETTLE}/subagents/agent-a1.jsonl"),
        agent.to_string(),
    );
    home
}

/// Returns the hits of a search.
fn hits(home: &Home, args: &[&str]) -> Vec<Value> {
    let ran = home.command(ANNALS).args(["search", "--json"]).args(args).output().unwrap();
    let lines = String::from_utf8(ran.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the snippets of a search, one list.
fn snippets(home: &Home, args: &[&str]) -> Vec<String> {
    let found = hits(home, &[args, &["--flat", "--limit", "100"]].concat());
    found.iter().map(|hit| hit["snippet"].as_str().unwrap().to_owned()).collect()
}

fn check(ran: &Ran, code: i32, stderr: &[&str]) {
    assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
    for part in stderr {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}

#[test]
fn hits_stand_below_their_sessions_with_the_command_that_opens_them() {
    let ran = annals(&home(), &["search", "kettle"]);
    assert_snapshot!(ran.stdout, @"
    Kettle 水壶
    /home/mia/tea · 3e11a6b4 · 2025-06-01 · 3 matches
      title           Kettle 水壶
                      annals show 3e11a6b4
      prompt          Why does the kettle not boil? 为什么水壶不沸腾？
                      2025-06-01 10:00  annals show 3e11a6b4 --at 11111111 --mark kettle
      reply           The kettle borrows the plug twice. ポットは二度プラグを借りる。 주전자 👍🏽
                      2025-06-01 10:00  annals show 3e11a6b4 --at 11111114 --mark kettle

    天气预报为什么是空的？
    /home/mia/weather · 0b0b0b0b · 2025-06-03
      reply           The forecast is empty because the kettle of the 天气 service timed out.
                      2025-06-03 10:00  annals show 0b0b0b0b --at 22222222 --mark kettle
    ");
    assert_snapshot!(ran.stderr, @"4 matches in 2 sessions");
}

#[test]
fn a_message_that_forks_have_is_one_hit_with_all_its_sessions() {
    let home = home();
    let forks: Vec<_> = (0..4)
        .map(|_| {
            let forked = annals(&home, &["fork", KETTLE, "--json"]);
            let forked: Value = serde_json::from_str(forked.stdout.lines().next().unwrap()).unwrap();
            forked["session"].as_str().unwrap().to_owned()
        })
        .collect();
    let found = hits(&home, &["沸腾"]);
    assert_eq!((found.len(), &found[0]["copies"]), (1, &json!(4)));
    let sessions = |hit: &Value| {
        let places = hit["alsoIn"].as_array().unwrap();
        assert!(places.iter().all(|place| place["uuid"].is_string()), "{places:?}");
        let others = places.iter().map(|place| place["session"].as_str().unwrap());
        let mut all: Vec<_> = others.chain(hit["session"].as_str()).map(str::to_owned).collect();
        all.sort();
        all
    };
    let mut all = [forks.clone(), vec![KETTLE.to_owned()]].concat();
    all.sort();
    assert_eq!(sessions(&found[0]), all);
    // Each session finds it and names the others.
    for fork in &all {
        let found = hits(&home, &["沸腾", "--session", fork]);
        assert_eq!((found.len(), found[0]["session"].as_str()), (1, Some(&**fork)));
        assert_eq!(sessions(&found[0]), all);
    }
    let printed = annals(&home, &["search", "沸腾", "--session", KETTLE]).stdout;
    let line = printed.lines().find(|line| line.contains("also in")).unwrap();
    assert!(line.trim_start().starts_with("also in 4 sessions: ") && line.ends_with(", …"), "{printed}");
    let named = line.trim_end_matches(", …").rsplit(": ").next().unwrap().split(", ");
    let is_fork = |name: &str| forks.iter().any(|fork| fork.starts_with(name));
    assert_eq!(named.filter(|name| is_fork(name)).count(), 3, "{line}");
    // A pattern finds the same.
    let scanned = hits(&home, &["--fixed", "沸腾"]);
    assert_eq!((scanned.len(), sessions(&scanned[0])), (1, all));
}

/// Runs the commands that a search prints; returns them.
#[cfg(unix)]
fn run_printed(home: &Home, args: &[&str]) -> Vec<String> {
    let printed = home.command(ANNALS).arg("search").args(args).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let commands = printed.lines().filter_map(|line| Some(&line[line.find("annals show")?..]));
    let run = |command: &str| {
        let line = command.replacen("annals", ANNALS, 1);
        let ran = home.ran(&home.command("sh").args(["-c", &line]).output().unwrap());
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
        command.to_owned()
    };
    commands.map(run).collect()
}

#[cfg(unix)]
#[test]
fn printed_commands_run() {
    let home = home();
    let write = |project: &str, session: &str| {
        let text = format!("is there a --dry-run for samovars in {project}");
        let lines = Transcript::session(session).user("44444441-0000-4000-8000-000000000000", text.as_str());
        home.write(format!(".claude/projects/{project}/{session}.jsonl"), lines.to_string());
    };
    write("-a", "12345678-aaaa-4000-8000-000000000000");
    write("-b", "12345678-aabb-4000-8000-000000000000");
    let commands = run_printed(&home, &["samovars"]);
    assert_eq!(commands.len(), 2);
    assert!(commands.iter().any(|command| command.contains("show 12345678-aab --at")), "{commands:?}");
    let commands = run_printed(&home, &["--dry-run"]);
    assert!(commands.iter().all(|command| command.contains("--mark='--dry-run'")), "{commands:?}");
    assert_eq!(commands.len(), 3);
    // The same id in two projects.
    write("-c", "12345678-aabb-4000-8000-000000000000");
    let commands = run_printed(&home, &["samovars"]);
    assert!(commands.iter().any(|command| command.contains(".jsonl")), "{commands:?}");
    for query in ["samovars\nthere".to_owned(), format!("samovars {}", "is there a ".repeat(40))] {
        let commands = run_printed(&home, &[&query]);
        assert!(!commands.is_empty() && !commands.concat().contains("--mark"), "{commands:?}");
    }
}

#[test]
fn an_index_that_is_damaged_is_made_anew_before_the_answer() {
    let home = home();
    assert_eq!(hits(&home, &["kettle"]).len(), 4);
    let index = home.path().join(".local/share/annals/search.sqlite");
    let connection = rusqlite::Connection::open(&index).unwrap();
    connection.execute("UPDATE text_data SET block = x'00' WHERE id > 10", []).unwrap();
    drop(connection);
    assert_eq!(hits(&home, &["kettle"]).len(), 4);
}

#[cfg(target_os = "linux")]
#[test]
fn an_index_is_searched_where_nothing_can_be_written() {
    let home = home();
    assert_eq!(hits(&home, &["kettle"]).len(), 4);
    // As on a full disk, every file that would grow fails.
    let line = format!("trap '' XFSZ; ulimit -f 0; {ANNALS} search kettle --json --no-update");
    let ran = home.ran(&home.command("sh").args(["-c", &line]).output().unwrap());
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 4), "{}", ran.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn hits_fit_terminals_of_80_and_200_columns() {
    let home = home();
    let print = |columns: usize, args: &str| {
        let line = format!("stty cols {columns} rows 40; NO_COLOR=1 {ANNALS} search {args}");
        crate::show::run_on_terminal(&home, &line)
    };
    assert_snapshot!(print(80, "天气"), @"
    天气预报为什么是空的？
    /home/mia/weather · 0b0b0b0b · 2025-06-03 · 2 matches
      prompt          天气预报为什么是空的？
        2025-06-03 10:00  annals show 0b0b0b0b --at 22222221 --mark 天气
      reply           …is empty because the kettle of the 天气 service timed out.
        2025-06-03 10:00  annals show 0b0b0b0b --at 22222222 --mark 天气
    2 matches in 1 session
    hint: `annals resume SESSION` continues a session in Claude Code
    ");
    assert_snapshot!(print(200, "天气"), @"
    天气预报为什么是空的？
    /home/mia/weather · 0b0b0b0b · 2025-06-03 · 2 matches
      prompt          天气预报为什么是空的？
                      2025-06-03 10:00  annals show 0b0b0b0b --at 22222221 --mark 天气
      reply           The forecast is empty because the kettle of the 天气 service timed out.
                      2025-06-03 10:00  annals show 0b0b0b0b --at 22222222 --mark 天气
    2 matches in 1 session
    hint: `annals resume SESSION` continues a session in Claude Code
    ");
    for columns in [40, 80, 200] {
        let printed = print(columns, "kettle OR 天气 OR borrow");
        for line in
            printed.lines().filter(|line| !line.contains("annals show") && !line.starts_with("hint: "))
        {
            assert!(unicode_width::UnicodeWidthStr::width(line) <= columns, "{columns}: {line}");
        }
    }
    let long = print(80, "'kettle plug'");
    assert!(long.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 80), "{long}");
    let coloured = crate::show::on_terminal(&home, 80, "search 沸腾");
    assert!(coloured.contains("不\u{1b}[1m\u{1b}[4m\u{1b}[33m沸腾\u{1b}[0m？"), "{coloured:?}");
}

#[test]
fn one_line_per_hit_is_printed_as_json() {
    let home = home();
    let printed = annals(&home, &["search", "e0502", "--json"]).stdout;
    assert_snapshot!(
        printed.split("\"score\":").next().unwrap(),
        @r#"{"session":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","uuid":"11111113-0000-4000-8000-000000000000","turn":1,"role":"user","field":"output","tool":"Bash","error":true,"timestamp":"2025-06-01T10:00:02.000Z","#
    );
    let found = hits(&home, &["e0502"]);
    let keys =
        ["session", "uuid", "turn", "role", "field", "timestamp", "score", "snippet", "title", "projectPath"];
    assert!(keys.iter().all(|key| found[0].get(key).is_some()), "{found:?}");
    let agent = &hits(&home, &["thermostat"])[0];
    assert_eq!(
        (&agent["agentId"], &agent["session"], &agent["title"]),
        (&json!("a1"), &json!(KETTLE), &json!("Kettle 水壶"))
    );
}

#[test]
fn words_phrases_filters_and_scripts_are_found() {
    let home = home();
    for (query, found) in [
        (&["kettle"][..], 4),
        (&["KETTLE", "plug"], 1),
        (&["\"borrow checker\""], 1),
        (&["kettle", "-plug"], 3),
        (&["plug OR forecast"], 2),
        (&["borr*"], 3),
        (&["userName"], 1),
        (&["--dry-run"], 1),
        (&["src/main.rs:42"], 1),
        (&["E0502"], 1),
        (&["天气"], 2),
        (&["水壶"], 2),
        (&["プラグ"], 1),
        (&["주전자"], 1),
        (&["👍"], 1),
        (&["kettle", "role:user"], 1),
        (&["kettle", "--role", "assistant"], 2),
        (&["borrow", "--in", "thinking"], 1),
        (&["borrow", "--in", "thinking,output"], 2),
        (&["--tool", "bash"], 2),
        (&["--errors"], 1),
        (&["kettle", "--since", "2025-06-02"], 1),
        (&["kettle", "--until", "2025-06-01"], 2),
        (&["kettle", "--project", "/home/mia/weather"], 1),
        (&["kettle", "--session", "3e11"], 3),
        (&["kettle", "--title", "WATER"], 0),
        (&["kettle", "--title", "水壶"], 3),
        (&["kettle", "--branch", "main"], 3),
        (&["kettle", "--branch", "side"], 0),
        (&["kettle", "--model", "opus"], 2),
        (&["--regex", "E0\\d+"], 1),
        (&["--regex", "(?i)KETTLE"], 4),
        (&["--fixed", "error[E0502]"], 1),
        (&["--fixed", "\"all\" tests\nonce"], 1),
        (&["--fixed", "天气预报"], 1),
        (&["--fixed", "Kettle"], 1),
        (&["--fixed", "borrow", "--tool", "Bash"], 1),
        (&["--fixed", "kettle", "--project", "/home/mia/weather"], 1),
        (&["--fixed", "kettle", "--since", "2025-06-02"], 1),
    ] {
        assert_eq!(snippets(&home, query).len(), found, "{query:?}");
    }
}

#[test]
fn patterns_find_decoded_text_whatever_the_json_spells() {
    let home = Home::new();
    let line = r#"{"type":"user","uuid":"u1","timestamp":"2025-06-01T10:00:00.000Z","message":{"content":"say \u4e2d\u6587 and \"quote\"\nnext\ttab C:\\dir \/slash \u0061bc"}}"#;
    home.write(path(KETTLE), format!("{line}\n"));
    for pattern in ["中文", "\"quote\"\nnext", "\ttab", "C:\\dir", " /slash", "abc", "say 中"] {
        assert_eq!(snippets(&home, &["--fixed", pattern]).len(), 1, "{pattern}");
    }
    assert_eq!(snippets(&home, &["--regex", "^next"]).len(), 1, "lines have their own starts");
    assert_eq!(snippets(&home, &["--fixed", "u4e2d"]).len(), 0);
    assert!(!home.path().join(".local/share/annals/search.sqlite").exists(), "patterns need no index");
}

#[test]
fn show_opens_at_a_message_with_two_turns_around_it() {
    let home = Home::new();
    let mut lines = Transcript::session(KETTLE);
    for turn in 1..=9 {
        lines = lines
            .user(&format!("{turn}{turn}{turn}{turn}-u"), format!("Prompt number {turn}"))
            .assistant(&format!("{turn}{turn}{turn}{turn}-a"), |reply| {
                reply.thinking("secretly").text("Reply")
            });
    }
    home.write(path(KETTLE), lines.to_string());
    let shown = annals(&home, &["show", "3e11", "--at", "5555-a"]).stdout;
    let prompts: Vec<_> = (1..=9).filter(|turn| shown.contains(&format!("Prompt number {turn}"))).collect();
    assert_eq!(prompts, [3, 4, 5, 6, 7]);
    let (before, after) = shown.split_once("┄┄ here ┄┄").unwrap();
    assert!(before.ends_with("❯ Prompt number 5\n"), "{shown}");
    assert!(after.starts_with("\n∴ secretly\n● Reply\n"), "what is found is not folded: {shown}");
    let json = annals(&home, &["show", "3e11", "--at", "5555-a", "--json"]).stdout;
    assert_eq!(json.lines().count(), 10);
    check(&annals(&home, &["show", "3e11", "--at", "0000"]), 1, &["0000"]);
    check(&annals(&home, &["show", "3e11", "--at", "5555-a", "--view", "raw"]), 2, &["only the full view"]);
    check(&annals(&home, &["show", "3e11", "--mark", "?!"]), 2, &["--mark", "no words"]);
}

#[test]
fn show_opens_a_result_at_its_call() {
    let shown = annals(&home(), &["show", "3e11", "--at", "11111113-0000-4000-8000-000000000000"]).stdout;
    let (_, after) = shown.split_once("┄┄ here ┄┄").unwrap();
    assert!(after.contains("▸ Bash") && after.contains("error[E0502]: cannot borrow"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn show_marks_words_on_a_terminal() {
    let shown = crate::show::on_terminal(&home(), 80, "show 3e11 --mark '沸腾 plug'");
    for word in ["沸腾", "plug"] {
        assert!(shown.contains(&format!("\u{1b}[1m\u{1b}[4m\u{1b}[33m{word}\u{1b}[0m")), "{shown:?}");
    }
}

#[test]
fn the_printed_commands_work() {
    let home = home();
    let printed = annals(&home, &["search", "borrow"]).stdout;
    let commands: Vec<_> =
        printed.lines().filter_map(|line| Some(&line[line.find("annals show ")? + 7..])).collect();
    assert_eq!(commands.len(), 2, "{printed}");
    for command in commands {
        let args: Vec<_> = command.split(' ').collect();
        let shown = annals(&home, &args);
        assert!(shown.code == Some(0) && shown.stdout.contains("┄┄ here ┄┄"), "{command}: {}", shown.stderr);
    }
}

#[test]
fn bad_input_gets_a_clear_message_and_a_guess() {
    let home = home();
    let run = |args: &[&str]| annals(&home, &[&["search"], args].concat());
    check(&run(&[]), 2, &["the query is empty", "hint: name what to find"]);
    check(&run(&["  "]), 2, &["the query is empty"]);
    check(&run(&["?!"]), 2, &["no words", "--fixed"]);
    check(&run(&["kettle \"not closed"]), 1, &["`\"` is not closed", "nothing found"]);
    check(&run(&["\"kettle not"]), 0, &["`\"` is not closed", "1 match"]);
    check(&run(&["tools:Bash"]), 1, &["`tools:` is searched as text; the filter is `tool:`"]);
    check(&run(&["kettle", "--josn"]), 1, &["`--josn` is no option"]);
    check(&run(&["role:me"]), 2, &["`role:` takes user, assistant, system, not `me`"]);
    check(&run(&["after:soon"]), 2, &["`soon` is not a date"]);
    check(&run(&["x", "--since", "soon"]), 2, &["`soon` is not a date"]);
    check(&run(&["x", "--after", "soon"]), 2, &["no cursor of a search"]);
    check(&run(&["x", "--max-time", "soon"]), 2, &["not a time"]);
    check(&run(&["x", "--limit", "0"]), 2, &["at least 1"]);
    check(&run(&["--regex", "("]), 2, &["not a regular expression: unclosed group", "--fixed"]);
    check(&run(&["--regex", ""]), 2, &["the pattern is empty"]);
    check(&run(&["--regex", "(a{1000}){1000}"]), 2, &["the pattern is too large"]);
    check(&run(&["x", "--fixed", "y"]), 2, &["cannot be used with"]);
    check(&run(&["ketle"]), 1, &["nothing found", "did you mean `kettle`?"]);
    check(&run(&[&"kettle ".repeat(15_000)]), 0, &["the query is too long"]);
    check(&run(&["--fixed", &"x".repeat(100_000)]), 1, &["nothing found"]);
    check(&run(&["\u{1b}[31mkettle"]), 0, &["4 matches"]);
}

#[test]
fn pages_stay_the_same_while_the_index_grows() {
    let home = Home::new();
    let session = |number: usize| format!("{number:08x}-0000-4000-8000-000000000000");
    let write = |number: usize| {
        let lines = Transcript::session(&session(number))
            .at(&format!("2025-06-01T10:{number:02}:00Z"))
            .user(&format!("{number:08x}-1111-4000-8000-000000000000"), format!("kettle number {number}"));
        home.write(path(&session(number)), lines.to_string());
    };
    (0..10).for_each(write);
    for args in [&["kettle"][..], &["--fixed", "kettle"]] {
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        for page in 0.. {
            write(20 + all.len());
            let more = after.iter().flat_map(|after| ["--after", after]).collect::<Vec<_>>();
            let ran = annals(&home, &[&["search", "--json", "--limit", "3"], args, &more].concat());
            let sessions = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            all.extend(sessions.map(|hit| hit["session"].as_str().unwrap().to_owned()));
            after =
                ran.stderr.split("--after ").nth(1).map(|rest| rest.split('`').next().unwrap().to_owned());
            assert!(page < 20, "pages end");
            if after.is_none() {
                break;
            }
        }
        let mut different = all.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), all.len(), "no session is on two pages: {all:?}");
        assert!((0..10).all(|number| all.contains(&session(number))), "{all:?}");
    }
}

#[test]
fn limits_hold_and_are_said() {
    let home = home();
    let ran = annals(&home, &["search", "--fixed", "kettle", "--max-bytes", "1"]);
    assert!(ran.stderr.contains("stopped at `--max-bytes`"), "{}", ran.stderr);
    annals(&home, &["index", "update"]);
    let ran = annals(&home, &["search", "kettle", "--max-bytes", "1"]);
    check(&ran, 0, &["at least 4 matches in 2 sessions", "stopped at `--max-bytes`", "--after"]);
    let ran = annals(&home, &["search", "--regex", "(?s).{10}kettle", "--max-time", "1ms"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
}

#[test]
fn the_index_is_updated_first_unless_that_is_refused() {
    let home = home();
    check(&annals(&home, &["search", "kettle", "--no-update"]), 2, &["no search index yet", "--no-update"]);
    check(&annals(&home, &["search", "kettle"]), 0, &["4 matches"]);
    let mut file = OpenOptions::new().append(true).open(home.path().join(path(WEATHER))).unwrap();
    let line =
        Transcript::session(WEATHER).at("2025-06-04T10:00:00Z").user("u9", "one more kettle").to_string();
    file.write_all(line.as_bytes()).unwrap();
    let behind = annals(&home, &["search", "kettle", "--no-update"]);
    check(&behind, 0, &["4 matches", "not searched: ", "in 1 transcript"]);
    check(&annals(&home, &["search", "kettle"]), 0, &["5 matches"]);
}

#[test]
fn the_index_is_shown_updated_rebuilt_and_removed() {
    let home = home();
    let index = |action: &str| annals(&home, &["index", action]);
    assert!(index("status").stdout.contains("not made yet"));
    check(&index("update"), 0, &["indexed 3 transcripts: 10 new documents"]);
    check(&index("update"), 0, &["up to date"]);
    let status = annals(&home, &["index", "--json"]).stdout;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(
        (&status["exists"], &status["files"], &status["behind"]["files"]),
        (&json!(true), &json!(3), &json!(0))
    );
    check(&index("rebuild"), 0, &["indexed 3 transcripts: 10 new documents"]);
    check(&index("clear"), 0, &["the search index was removed"]);
    check(&index("clear"), 0, &["there is no search index"]);
}

#[test]
fn several_processes_search_and_index_at_once() {
    let home = home();
    let start = || {
        let mut command = home.command(ANNALS);
        command
            .args(["search", "kettle", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let running: Vec<_> = (0..4).map(|_| start()).collect();
    for child in running {
        let ran = home.ran(&child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 4), "{}", ran.stderr);
    }
}

#[test]
fn a_purged_session_leaves_nothing_in_the_index() {
    let home = home();
    annals(&home, &["index", "update"]);
    check(&annals(&home, &["delete", KETTLE, "--purge", "--yes", "--force"]), 0, &[]);
    let status = annals(&home, &["index", "--json"]).stdout;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["files"], &status["documents"]), (&json!(1), &json!(2)));
    check(&annals(&home, &["search", "plug", "--no-update"]), 1, &["nothing found"]);
}

#[test]
fn secrets_are_neither_found_nor_shown_nor_indexed() {
    let home = Home::new();
    let token = ["npm", "_Q7fZk2mX9rT4w8B3cLs5Vn1Yd6Hj0Gp3Ae8U"].concat();
    let password = "Zq8vTr2LmX9w";
    let lines = Transcript::session(KETTLE)
        .user("u1", format!("publish the kettle with {token} now"))
        .assistant("a1", |reply| {
            reply.tool("t1", "Login", json!({"user": "mia", "password": password, "site": "kettle"}))
        });
    home.write(path(KETTLE), lines.to_string());
    let all = ["search", "kettle", "--json", "--flat"];
    let masked = annals(&home, &all).stdout;
    assert_eq!(masked.lines().count(), 2);
    assert!(
        masked.contains("[masked: ") && !masked.contains(&token) && !masked.contains(password),
        "{masked}"
    );
    let revealed = annals(&home, &[&all[..], &["--reveal"]].concat()).stdout;
    assert!(revealed.contains(&token) && revealed.contains(password), "{revealed}");
    for secret in [&token[..], password, &token[4..]] {
        check(&annals(&home, &["search", secret]), 1, &["nothing found"]);
        check(&annals(&home, &["search", secret, "--reveal"]), 1, &["nothing found"]);
        check(&annals(&home, &["search", "--fixed", secret]), 1, &["nothing found"]);
        check(&annals(&home, &["search", "--fixed", secret, "--reveal"]), 0, &["1 match"]);
    }
    check(&annals(&home, &["search", "--fixed", "[masked: npm-token]"]), 0, &["1 match"]);
    let index = fs::read(home.path().join(".local/share/annals/search.sqlite")).unwrap();
    let index = String::from_utf8_lossy(&index).to_lowercase();
    for secret in [&token[4..], password] {
        assert!(!index.contains(&secret.to_lowercase()), "the index has a secret");
    }
    assert!(index.contains("kettle"), "the index has words");
}

#[test]
fn new_rules_for_secrets_make_the_index_anew() {
    let home = home();
    let annals_home = home.path().join("annals");
    let run = |args: &[&str]| {
        let ran = home.command(ANNALS).args(args).env("ANNALS_HOME", &annals_home).output().unwrap();
        home.ran(&ran)
    };
    check(&run(&["search", "thermostat"]), 0, &["1 match"]);
    let rules = "[[rule]]\nname = 'part'\nkeywords = ['thermostat']\npattern = 'thermostat'\n";
    home.write("annals/secrets.toml", rules);
    check(&run(&["search", "thermostat"]), 1, &["nothing found"]);
    check(&run(&["search", "measure"]), 0, &["1 match"]);
    home.write("annals/secrets.toml", "[[rule]]");
    check(&run(&["search", "thermostat", "--reveal"]), 2, &["secrets.toml"]);
}

#[test]
fn text_of_transcripts_does_not_control_the_terminal() {
    let home = Home::new();
    let lines =
        Transcript::session(KETTLE).user("u1", "kettle \u{1b}[31mred\u{202e} \u{7} end").title("T\u{1b}[2J");
    home.write(path(KETTLE), lines.to_string());
    let printed = annals(&home, &["search", "kettle"]).stdout;
    assert!(!printed.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{printed:?}");
}
