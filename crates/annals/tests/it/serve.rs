//! The server on standard input and output, as a client starts it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use testkit::command::Home;

use crate::{ANNALS, SESSION, annals, rest, small_home, transcript};

/// A server that is ended with the test.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(ANNALS);
        command.args(["serve", "--stdio"]).args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn send(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn request(&mut self, id: u64, method: &str, params: &Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(request.to_string().as_bytes());
    }

    fn message(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.request(id, method, params);
        let answer = self.message();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Closes the input and returns the messages that are left, the exit code and what was said on standard error.
    fn finish(mut self) -> (Vec<Value>, Option<i32>, String) {
        drop(self.input.take());
        let lines = self.output.by_ref().lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        let left = lines.collect();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (left, self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn whatever_comes_in_is_answered_and_the_server_goes_on() {
    let home = small_home();
    let mut server = Server::start(&home, &[]);
    let mut huge = br#"{"jsonrpc":"2.0","id":1,"method":"history/list","params":{"query":""#.to_vec();
    huge.resize(17 << 20, b'x');
    let mut deep = br#"{"jsonrpc":"2.0","id":1,"method":"history/list","params":"#.to_vec();
    deep.resize(100_000, b'[');
    for (line, id, code) in [
        (&b"nonsense"[..], Value::Null, -32700),
        (b"\xff\xfe\x00", Value::Null, -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,", Value::Null, -32700),
        (&deep, Value::Null, -32700),
        (&huge, Value::Null, -32017),
        (b"[]", Value::Null, -32600),
        (b"null", Value::Null, -32600),
        (b"{}", Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":true,"method":"history/status"}"#, Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":2,"method":"history/everything"}"#, json!(2), -32601),
        (br#"{"jsonrpc":"2.0","id":3,"method":"history/load","params":{"sessionId":7}}"#, json!(3), -32602),
        (
            br#"{"jsonrpc":"2.0","id":"x","method":"history/read","params":{"sessionId":"x"}}"#,
            json!("x"),
            -32602,
        ),
    ] {
        server.send(line);
        let answer = server.message();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{answer}");
    }
    assert_eq!(server.ask(9, "history/status", &json!({}))["result"]["name"], "annals");
    assert_eq!(server.finish(), (Vec::new(), Some(0), String::new()));
}

#[test]
fn ten_thousand_requests_at_once_are_all_answered() {
    let home = small_home();
    let mut server = Server::start(&home, &[]);
    // Nobody reads before all of them are written.
    for id in 0..10_000 {
        let (method, params) = match id % 100 {
            0 => ("history/load", json!({"sessionId": SESSION})),
            1 => ("history/nothing", json!({})),
            _ => ("history/status", json!({})),
        };
        server.request(id, method, &params);
    }
    let (answers, code, _) = server.finish();
    let ids: BTreeSet<_> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!((answers.len(), ids.len(), code), (10_000, 10_000, Some(0)));
    assert_eq!(answers.iter().filter(|answer| answer["result"]["messages"].is_array()).count(), 100);
    assert_eq!(answers.iter().filter(|answer| answer["error"]["code"] == -32601).count(), 100);
}

#[test]
fn the_command_line_prints_what_the_server_answers() {
    let home = small_home();
    rest(&home.path().join(transcript()));
    let mut server = Server::start(&home, &[]);
    for (command, method, params, key) in [
        (&["list"][..], "history/list", json!({}), "sessions"),
        (&["projects"], "history/projects", json!({}), "projects"),
        (&["show", SESSION], "history/read", json!({"sessionId": SESSION}), "items"),
        (&["turns", SESSION], "history/turns", json!({"sessionId": SESSION}), "turns"),
        (&["tools", SESSION], "history/tools", json!({"sessionId": SESSION}), "calls"),
    ] {
        let ran = home.run(ANNALS, &[command, &["--json"]].concat());
        let printed: Vec<_> = ran.stdout.lines().collect();
        server.request(1, method, &params);
        let mut answer = String::new();
        server.output.read_line(&mut answer).unwrap();
        let answer = answer.replace(home.path().to_str().unwrap(), "[home]");
        let expected = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"{key}":[{}]"#, printed.join(","));
        assert!(answer.starts_with(&expected) && !printed.is_empty(), "{method}\n{answer}\n{expected}");
    }
    assert_eq!(server.finish().1, Some(0));
}

#[test]
fn what_another_process_writes_is_told() {
    let home = small_home();
    let mut server = Server::start(&home, &[]);
    let offset = server.ask(1, "history/watch", &json!({"sessionId": SESSION}))["result"]["offset"].clone();
    assert_eq!(annals(&home, &["tag", SESSION, "kitchen 天气"]).code, Some(0));
    let notice = server.message();
    assert_eq!((&notice["method"], &notice["params"]["offset"]), (&json!("history/appended"), &offset));
    assert_eq!(notice["params"]["items"][0]["type"], "tag");
    assert_eq!(server.finish(), (Vec::new(), Some(0), String::new()));
}

#[test]
fn a_read_only_server_changes_nothing() {
    let home = small_home();
    let before = std::fs::read(home.path().join(transcript())).unwrap();
    let mut server = Server::start(&home, &["--read-only"]);
    let answer = server.ask(1, "history/rename", &json!({"sessionId": SESSION, "title": "Mine"}));
    assert_eq!(answer["error"]["code"], -32012);
    assert_eq!(server.ask(2, "history/status", &json!({}))["result"]["readOnly"], true);
    assert_eq!(server.finish().1, Some(0));
    assert_eq!(std::fs::read(home.path().join(transcript())).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn signals_end_it() {
    for (signal, code) in [("-TERM", 0), ("-INT", 130)] {
        let home = small_home();
        let mut server = Server::start(&home, &[]);
        server.ask(1, "history/watch", &json!({}));
        let sent = Command::new("kill").args([signal, &server.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(server.child.wait().unwrap().code(), Some(code), "{signal}");
    }
}

#[test]
fn a_client_that_has_gone_ends_it() {
    let home = small_home();
    let mut child = home
        .command(ANNALS)
        .args(["serve", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    // Whether the last of these can still be written depends on how soon it ends.
    let _ = input
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"history/status\"}\n".repeat(10).as_slice());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    drop(input);
}
