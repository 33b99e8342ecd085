//! What each output says of the same entries: `show`, `history/read`, `history/load`, the rows of the page and the Agent Client
//! Protocol side by side, for every case `corpus/item-*`. With `ANNALS_UPDATE=1` the answers are updated; read the diff.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::command::Home;

use crate::{ANNALS, SESSION, annals, transcript};

#[test]
fn every_output_of_odd_entries_is_as_written_down() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let folders = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let is_case = |path: &std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("item-"))
    };
    let mut cases: Vec<_> = folders.filter(is_case).collect();
    cases.sort();
    assert!(cases.len() > 10, "{cases:?}");
    let mut stale = Vec::new();
    for case in cases {
        let (answer, found) = (case.join("views.txt"), views(&case.join("session.jsonl")));
        if fs::read_to_string(&answer).unwrap_or_default() == found {
            continue;
        }
        if std::env::var_os("ANNALS_UPDATE").is_some() {
            fs::write(&answer, found).unwrap();
        } else {
            stale.push(format!("{}\n{found}", case.display()));
        }
    }
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

/// Returns what every output says of a session.
fn views(session: &Path) -> String {
    let home = Home::new();
    home.write(transcript(), fs::read(session).unwrap());
    let mut text = String::new();
    for (title, args) in [("show", &["show", SESSION][..]), ("show --expand", &["show", SESSION, "--expand"])]
    {
        writeln!(text, "== {title}\n{}", annals(&home, args).stdout.trim_end()).unwrap();
    }
    let answers = served(&home);
    section(&mut text, "history/read", &answers[0]["items"], read);
    section(&mut text, "history/load", &answers[1]["messages"], loaded);
    section(&mut text, "history/load, teamMessages", &answers[1]["teamMessages"], Value::to_string);
    section(&mut text, "history/load with all", &answers[2]["messages"], loaded);
    section(&mut text, "the page", &rows_of_the_page(&home), row);
    section(&mut text, "ACP session/load", &answers[3], told);
    text
}

fn section(text: &mut String, title: &str, items: &Value, line: fn(&Value) -> String) {
    let Some(items) = items.as_array().filter(|items| !items.is_empty()) else { return };
    writeln!(text, "== {title}").unwrap();
    for item in items {
        writeln!(text, "{}", line(item)).unwrap();
    }
}

/// Asks for everything except rows; the last answer is the list of updates that came before it.
fn served(home: &Home) -> Vec<Value> {
    let session = json!({"sessionId": SESSION});
    let open = json!({"sessionId": SESSION, "cwd": "/home/mia/tea", "mcpServers": []});
    let requests = [
        ("history/read", session.clone()),
        ("history/load", session.clone()),
        ("history/load", json!({"sessionId": SESSION, "all": true})),
        ("initialize", json!({"protocolVersion": 1})),
        ("session/load", open),
    ];
    let messages = messages(home, &requests);
    let updates = messages.iter().map(|message| message["params"]["update"].clone());
    let is_told = |update: &Value| {
        !update.is_null() && !matches!(&update["sessionUpdate"], kind if kind == "session_info_update")
    };
    let updates = updates.filter(is_told).collect();
    vec![result(&messages, 0), result(&messages, 1), result(&messages, 2), updates]
}

/// Returns all rows of the page, opened.
fn rows_of_the_page(home: &Home) -> Value {
    let skeleton = messages(home, &[("history/skeleton", json!({"sessionId": SESSION}))]);
    let revision = result(&skeleton, 0)["revision"].clone();
    let params = json!({"sessionId": SESSION, "revision": revision, "from": 0, "count": 200, "open": true});
    result(&messages(home, &[("history/rows", params)]), 0)["rows"].clone()
}

/// Sends requests to one server; the id of each is its index. Returns all messages of the server.
fn messages(home: &Home, requests: &[(&str, Value)]) -> Vec<Value> {
    let lines: String = requests
        .iter()
        .enumerate()
        .map(|(id, (method, params))| {
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
        })
        .collect();
    let requests = home.write("requests.jsonl", lines);
    let mut command = home.command(ANNALS);
    let command = command.args(["serve", "--stdio"]).stdin(fs::File::open(requests).unwrap());
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the result of the request with this id.
fn result(messages: &[Value], id: usize) -> Value {
    let found = messages.iter().find(|message| message["id"] == id).expect("it is answered");
    assert!(found["error"].is_null(), "{found}");
    found["result"].clone()
}

fn read(item: &Value) -> String {
    let mut shown = json!({});
    for key in ["kind", "role", "type", "subtype", "visibility", "inputs", "tool"] {
        if !item[key].is_null() {
            shown[key] = item[key].clone();
        }
    }
    shown["parts"] = item["parts"].as_array().map_or(0, Vec::len).into();
    shown.to_string()
}

fn loaded(message: &Value) -> String {
    let mut message = message.clone();
    for key in ["id", "timestamp", "model"] {
        message.as_object_mut().unwrap().remove(key);
    }
    message.to_string()
}

fn row(row: &Value) -> String {
    let mut row = row.clone();
    for key in ["row", "uuid", "line", "timestamp", "model", "usage", "parent", "leaf"] {
        row.as_object_mut().unwrap().remove(key);
    }
    row.to_string()
}

fn told(update: &Value) -> String {
    let mut update = update.clone();
    let update = update.as_object_mut().unwrap();
    update.remove("messageId");
    let origin = update.get_mut("_meta").and_then(|meta| meta["annals"].as_object_mut());
    if let Some(origin) = origin {
        origin.remove("uuid");
        origin.remove("timestamp");
    }
    json!(update).to_string()
}
