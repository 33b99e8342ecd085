//! `annals statusline` and `annals statusline install`.

use std::fs;

use serde_json::Value;
use testkit::command::Home;

use crate::{ANNALS, annals, feed, small_home};

const INPUT: &str = r#"{"hook_event_name":"Status","session_id":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","cwd":"C:\\天气",
    "model":{"id":"claude-opus-4-8","display_name":"Opus 4.8"},"cost":{"total_cost_usd":0.4251},
    "context_window":{"context_window_size":200000,"used_percentage":71.6},"rate_limits":{"five_hour":{"used_percentage":12.5}}}"#;

const SETTINGS: &str = ".claude/settings.json";
const RECORDS: &str = ".local/share/annals/status-line.jsonl";

fn records(home: &Home) -> Vec<Value> {
    let lines = fs::read_to_string(home.path().join(RECORDS)).unwrap_or_default();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn settings(home: &Home) -> Value {
    serde_json::from_slice(&fs::read(home.path().join(SETTINGS)).unwrap()).unwrap()
}

#[test]
fn one_line_says_how_things_stand() {
    let home = small_home();
    let ran = feed(&home, &["statusline", "--no-update", "--color", "never"], INPUT.as_bytes());
    let line = "Opus 4.8 · ▰▰▰▰▰▰▰▱▱▱ 72 % of 200k · $0.43 API equivalent · 5 h 12 %\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), line, ""));
    let styled = feed(&home, &["statusline", "--no-update", "--color", "always"], INPUT.as_bytes());
    assert!(styled.stdout.contains("\u{1b}[33m▰"), "{:?}", styled.stdout);
}

#[test]
fn percentages_of_the_plan_are_recorded_once() {
    let home = small_home();
    for _ in 0..3 {
        assert_eq!(feed(&home, &["statusline", "--no-update"], INPUT.as_bytes()).code, Some(0));
    }
    let [record] = &records(&home)[..] else { panic!("one record: {:?}", records(&home)) };
    assert_eq!((&record["fiveHour"]["usedPercentage"], &record["costUsd"]), (&12.5.into(), &0.4251.into()));
}

#[test]
fn whatever_it_is_given_it_prints_one_line_and_succeeds() {
    let deep = "[".repeat(100_000);
    let long = format!(r#"{{"model":{{"display_name":"{}"}}}}"#, "天".repeat(400_000));
    let inputs =
        ["", "null", "[]", "{", "\u{0}", r#"{"model":{"display_name":"a\u001b[31m\nb"}}"#, &deep, &long];
    for input in inputs {
        let home = small_home();
        let ran = feed(&home, &["statusline", "--no-update"], input.as_bytes());
        let start: String = input.chars().take(50).collect();
        assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 1), "{start}");
        assert!(
            !ran.stdout.trim().is_empty() && !ran.stdout.contains("\u{1b}[31m"),
            "{start}: {}",
            ran.stdout
        );
    }
}

#[test]
fn amounts_that_are_not_possible_are_left_out() {
    let home = small_home();
    let input = r#"{"model":{"display_name":"Opus"},"cost":{"total_cost_usd":1e200},
        "context_window":{"used_percentage":1e300},"rate_limits":{"five_hour":{"used_percentage":1e300}}}"#;
    let ran = feed(&home, &["statusline", "--no-update", "--color", "never"], input.as_bytes());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Opus\n"));
}

#[test]
fn a_folder_that_is_not_there_leaves_the_line() {
    let home = small_home();
    let ran = feed(&home, &["statusline", "--root", "/nowhere"], INPUT.as_bytes());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "annals: no status\n"));
    // Other actions fail as all commands do.
    let update = feed(&home, &["statusline", "update", "--root", "/nowhere"], b"");
    assert_eq!(update.code, Some(2));
}

#[test]
fn a_broken_rule_for_secrets_or_a_folder_that_cannot_be_written_leaves_the_line() {
    let home = small_home();
    home.write(".local/share/annals/secrets.toml", "no rule");
    assert_eq!(feed(&home, &["statusline", "--no-update"], INPUT.as_bytes()).code, Some(0));
    let home = small_home();
    home.write(".local/share/annals", "a file where the folder should be");
    let ran = feed(&home, &["statusline", "--no-update"], INPUT.as_bytes());
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.starts_with("Opus 4.8"), "{}", ran.stdout);
}

#[test]
fn installing_sets_the_command_and_keeps_every_other_byte() {
    let home = small_home();
    let before = "{\n  \"model\": \"opus\",\n  \"天气\" : [1.50]\n}\n";
    home.write(SETTINGS, before);
    let ran = annals(&home, &["statusline", "install", "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("\"statusLine\": {"), "{}", ran.stderr);
    let line = &settings(&home)["statusLine"];
    assert_eq!(line["type"], "command");
    let command = line["command"].as_str().unwrap();
    assert!(command.contains(ANNALS) && command.ends_with(" statusline"), "{command}");
    let after = fs::read_to_string(home.path().join(SETTINGS)).unwrap();
    assert!(after.starts_with("{\n  \"model\": \"opus\",\n  \"天气\" : [1.50]"), "{after}");
    assert_eq!(fs::read_to_string(home.path().join(".claude/settings.json.annals-backup")).unwrap(), before);

    let again = annals(&home, &["statusline", "install", "--yes"]);
    assert!(again.stderr.contains("nothing was changed"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(home.path().join(SETTINGS)).unwrap(), after);
}

#[test]
fn another_status_line_is_replaced_only_after_it_was_said() {
    let home = small_home();
    let before = r#"{"statusLine": {"type": "command", "command": "mine"}}"#;
    home.write(SETTINGS, before);
    let ran = annals(&home, &["statusline", "install"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("It replaces the value that is there"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(home.path().join(SETTINGS)).unwrap(), before);
    assert_eq!(annals(&home, &["statusline", "install", "--yes"]).code, Some(0));
    assert_ne!(settings(&home)["statusLine"]["command"], "mine");
}

#[test]
fn a_second_change_keeps_the_backup_of_the_first() {
    let home = small_home();
    let mine = r#"{"statusLine": {"type": "command", "command": "mine"}}"#;
    home.write(SETTINGS, mine);
    assert_eq!(annals(&home, &["statusline", "install", "--yes"]).code, Some(0));
    home.write("other/projects/.keep", "");
    assert_eq!(annals(&home, &["statusline", "install", "--yes", "--root", "other"]).code, Some(0));
    let backup = |name: &str| fs::read_to_string(home.path().join(".claude").join(name)).unwrap();
    assert_eq!(backup("settings.json.annals-backup"), mine);
    assert!(backup("settings.json.annals-backup-2").contains("statusline"));
}

const TRANSCRIPT: &str = ".claude/projects/-home-mia-tea/5e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl";

/// Returns a line of a reply at a time: a million tokens of output, which cost 25 dollars.
fn reply(id: &str, time: jiff::Timestamp) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{id}","requestId":"r{id}","sessionId":"5e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","timestamp":"{time}","message":{{"id":"m{id}","role":"assistant","model":"claude-opus-4-8","stop_reason":"end_turn","content":[],"usage":{{"output_tokens":1000000}}}}}}"#
    ) + "\n"
}

#[test]
fn costs_of_the_day_and_the_window_are_those_of_the_last_count_and_of_new_lines() {
    let home = small_home();
    let now = jiff::Timestamp::now();
    home.write(TRANSCRIPT, reply("a", now - jiff::SignedDuration::from_secs(1)));
    let input = format!(
        r#"{{"model":{{"display_name":"Opus"}},"transcript_path":{}}}"#,
        serde_json::to_string(&home.path().join(TRANSCRIPT)).unwrap()
    );
    let line = || feed(&home, &["statusline", "--no-update"], input.as_bytes()).stdout;
    assert_eq!(line(), "Opus\n", "nothing was counted yet");
    assert_eq!(annals(&home, &["statusline", "update"]).code, Some(0));
    assert_eq!(line(), "Opus · today $25.00 · 5 h ~$25.00\n");
    // A second line of the same response, and a new response.
    let lines = [reply("a", now), reply("b", now + jiff::SignedDuration::from_secs(1))].concat();
    home.write(TRANSCRIPT, [fs::read_to_string(home.path().join(TRANSCRIPT)).unwrap(), lines].concat());
    assert_eq!(line(), "Opus · today $50.00 · 5 h ~$50.00\n");
    // More than a megabyte of lines: not all of them are read.
    let noise = format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{}\"}}}}\n", "x".repeat(1 << 20));
    home.write(TRANSCRIPT, [fs::read_to_string(home.path().join(TRANSCRIPT)).unwrap(), noise].concat());
    assert_eq!(line(), "Opus · today ≥ $25.00 · 5 h ~≥ $25.00\n");
    let counted = fs::read(home.path().join(".local/share/annals/usage-recent.json")).unwrap();
    assert_eq!(annals(&home, &["statusline", "update"]).code, Some(0));
    let again = fs::read(home.path().join(".local/share/annals/usage-recent.json")).unwrap();
    assert_eq!(counted, again, "there is at most one update a minute");
    home.write(".local/share/annals/usage-recent.json", "{damaged");
    assert_eq!(line(), "Opus\n");
}

#[test]
fn a_count_is_started_once_a_minute_and_goes_on_without_the_status_line() {
    let home = small_home();
    home.write(TRANSCRIPT, reply("a", jiff::Timestamp::now()));
    let counted = home.path().join(".local/share/annals/usage-recent.json");
    assert_eq!(feed(&home, &["statusline"], INPUT.as_bytes()).code, Some(0));
    let asked = home.path().join(".local/share/annals/usage-recent.asked");
    let first = fs::metadata(&asked).unwrap().modified().unwrap();
    for _ in 0..600 {
        if counted.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(counted.exists(), "the count did not end within half a minute");
    assert_eq!(feed(&home, &["statusline"], INPUT.as_bytes()).code, Some(0));
    assert_eq!(fs::metadata(&asked).unwrap().modified().unwrap(), first);
}

#[test]
fn no_database_is_opened() {
    let home = small_home();
    feed(&home, &["statusline", "--no-update"], INPUT.as_bytes());
    let names = fs::read_dir(home.path().join(".local/share/annals")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["status-line.jsonl"]);
}
