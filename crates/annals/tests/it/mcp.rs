//! `annals mcp` and `annals mcp install`.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::command::Home;

use crate::{ANNALS, SESSION, annals, feed, small_home};

const SETTINGS: &str = ".claude.json";
const BACKUP: &str = ".claude.json.annals-backup";

fn install(home: &Home, args: &[&str]) -> testkit::command::Ran {
    annals(home, &[&["mcp", "install", "--yes"], args].concat())
}

fn read(home: &Home, path: &str) -> String {
    fs::read_to_string(home.path().join(path)).unwrap()
}

fn names(home: &Home) -> Vec<String> {
    let names =
        fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != ".claude").collect();
    names.sort();
    names
}

#[test]
fn a_client_on_standard_input_is_answered_and_nothing_else_is_printed() {
    let home = small_home();
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_session", "arguments": {"session": SESSION}}}),
    ];
    let input = lines.map(|line| line.to_string() + "\n").concat();
    let mut command = home.command(ANNALS);
    let file = home.write("requests", input);
    let output = command.arg("mcp").stdin(fs::File::open(file).unwrap()).output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(answers[0]["result"]["serverInfo"]["name"], "annals");
    assert!(
        answers[1]["result"]["content"][0]["text"].as_str().unwrap().contains("Tea timer"),
        "{}",
        answers[1]
    );
}

#[test]
fn a_client_that_says_nothing_ends_it() {
    let ran = feed(&small_home(), &["mcp"], b"");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn agents_see_no_secrets() {
    let ran = annals(&small_home(), &["mcp", "--reveal"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`annals mcp` has no `--reveal`"), "{}", ran.stderr);
}

#[test]
fn installing_keeps_every_other_byte_and_a_backup() {
    let home = small_home();
    let before = "{\n\t\"numStartups\": 1.50,\r\n  \"mcpServers\": {\n    \"other\": { \"command\": \"\\u0078\" }\n  },\n  \"天气\" : null\n}\n\n";
    home.write(SETTINGS, before);
    let ran = install(&home, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("[home]/.claude.json"), "{}", ran.stderr);
    let after = read(&home, SETTINGS);
    let end = "{ \"command\": \"\\u0078\" }";
    let (start, rest) = before.split_at(before.find(end).unwrap() + end.len());
    assert!(after.starts_with(start) && after.ends_with(rest), "{after}");
    let entry = serde_json::from_str::<Value>(&after).unwrap()["mcpServers"]["annals"].clone();
    assert_eq!((&entry["type"], &entry["args"]), (&json!("stdio"), &json!(["mcp"])));
    assert_eq!(entry["command"].as_str().unwrap(), fs::canonicalize(ANNALS).unwrap().to_str().unwrap());
    assert_eq!(read(&home, BACKUP), before);
    assert_eq!(names(&home), [SETTINGS, BACKUP], "nothing else is left");
}

#[test]
fn a_second_install_changes_nothing() {
    let home = small_home();
    home.write(SETTINGS, "{}");
    assert_eq!(install(&home, &[]).code, Some(0));
    let (settings, backup) = (read(&home, SETTINGS), read(&home, BACKUP));
    let ran = install(&home, &[]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("nothing was changed"), "{}", ran.stderr);
    assert_eq!((read(&home, SETTINGS), read(&home, BACKUP)), (settings, backup));
}

#[test]
fn a_missing_file_is_created_without_a_backup() {
    let home = small_home();
    assert_eq!(install(&home, &[]).code, Some(0));
    assert!(
        serde_json::from_str::<Value>(&read(&home, SETTINGS)).unwrap()["mcpServers"]["annals"].is_object()
    );
    assert_eq!(names(&home), [SETTINGS]);
}

#[test]
fn a_broken_file_is_left_alone() {
    for broken in [
        "{\"a\": 1",
        "{\"a\": 1,}",
        "[]",
        "// note\n{}",
        "{\"mcpServers\": []}",
        "{\"mcpServers\": null}",
        "\u{0}",
    ] {
        let home = small_home();
        home.write(SETTINGS, broken);
        let ran = install(&home, &[]);
        assert_eq!(ran.code, Some(2), "{broken}");
        assert!(ran.stderr.contains("nothing was changed") && !ran.stderr.contains("note"), "{}", ran.stderr);
        assert_eq!((read(&home, SETTINGS), names(&home)), (broken.to_owned(), vec![SETTINGS.to_owned()]));
    }
}

#[test]
fn without_a_terminal_only_yes_writes() {
    let home = small_home();
    home.write(SETTINGS, "{}");
    let mut command = home.command(ANNALS);
    let output = command.args(["mcp", "install"]).stdin(Stdio::null()).output().unwrap();
    let ran = home.ran(&output);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("\"annals\": {") && ran.stderr.contains("`--yes`"), "{}", ran.stderr);
    assert_eq!((read(&home, SETTINGS), names(&home)), ("{}".to_owned(), vec![SETTINGS.to_owned()]));
}

#[test]
fn the_config_folder_and_the_project_are_honoured() {
    let home = small_home();
    home.write("other/projects/.keep", "");
    let mut command = home.command(ANNALS);
    let status = command
        .args(["mcp", "install", "--yes"])
        .env("CLAUDE_CONFIG_DIR", home.path().join("other"))
        .output()
        .unwrap()
        .status;
    assert!(status.success());
    assert!(read(&home, "other/.claude.json").contains("annals") && !home.path().join(SETTINGS).exists());

    assert_eq!(install(&home, &["--project"]).code, Some(0));
    let entry =
        serde_json::from_str::<Value>(&read(&home, ".mcp.json")).unwrap()["mcpServers"]["annals"].clone();
    assert_eq!(entry["command"], "annals", "a file that others share has no path of this machine");

    home.write(".claude/.config.json", "{}");
    assert_eq!(install(&home, &[]).code, Some(0));
    assert!(read(&home, ".claude/.config.json").contains("annals"), "an old settings file comes first");
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let home = small_home();
    let real = home.write("dotfiles/claude.json", "{}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, home.path().join(SETTINGS)).unwrap();
    assert_eq!(install(&home, &[]).code, Some(0));
    assert!(home.path().join(SETTINGS).is_symlink());
    assert!(read(&home, "dotfiles/claude.json").contains("annals"));
    let mode = |path: &str| home.path().join(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("dotfiles/claude.json"), mode("dotfiles/claude.json.annals-backup")), (0o600, 0o600));

    fs::remove_file(&real).unwrap();
    let ran = install(&home, &[]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("leads nowhere"), "{}", ran.stderr);
}
