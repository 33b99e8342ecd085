//! The server over HTTP, as it is started from the command line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::command::Home;

use crate::{ANNALS, SESSION, annals, small_home};

/// A server that is ended with the test.
struct Served {
    child: Child,
    /// The first line that it printed.
    line: String,
}

impl Served {
    fn start(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(ANNALS);
        command.arg("serve").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, line: line.trim_end().to_owned() }
    }

    /// Sends it a signal and returns its exit code and what it said besides.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        assert!(
            Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success()
        );
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status.code(), said)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks and returns the whole answer, head and body.
fn ask(address: &str, token: &str, start: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "{start} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_link_is_printed_for_people_and_ctrl_c_ends_it() {
    let home = small_home();
    let served = Served::start(&home, &[]);
    let rest = served.line.strip_prefix("http://").unwrap();
    let (address, token) = rest.split_once("/?token=").unwrap();
    assert!(address.starts_with("127.0.0.1:") && token.len() >= 43, "{}", served.line);
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"history/list"}"#;
    let answer = ask(address, token, "POST /rpc", request);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(SESSION), "{answer}");
    assert!(ask(address, "wrong", "POST /rpc", request).starts_with("HTTP/1.1 401 "));
    assert!(ask(address, token, "GET /", "").contains("<!doctype html>"));
    let (code, said) = served.end("-INT");
    assert_eq!((code, &said[..]), (Some(130), "Open this link in a browser; Ctrl-C ends the server.\n"));
}

#[test]
fn json_says_all_that_a_program_needs() {
    let home = small_home();
    let served = Served::start(&home, &["--json", "--read-only", "--token", "0123456789abcdef"]);
    let said: Value = serde_json::from_str(&served.line).unwrap();
    let (address, token) = (said["address"].as_str().unwrap(), said["token"].as_str().unwrap());
    assert_eq!(said["url"], format!("http://{address}/?token={token}"));
    assert_eq!((token, &said["readOnly"]), ("0123456789abcdef", &Value::Bool(true)));
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"history/delete","params":{{"sessionId":"{SESSION}"}}}}"#
    );
    assert!(ask(address, token, "POST /rpc", &request).contains("-32012"));
    assert_eq!(served.end("-TERM"), (Some(0), String::new()), "it says nothing that is not asked for");
}

#[test]
fn beyond_this_machine_it_says_what_it_exposes() {
    let home = small_home();
    let refused = annals(&home, &["serve", "--bind", "0.0.0.0"]);
    assert_eq!((refused.code, &refused.stdout[..]), (Some(2), ""));
    assert!(refused.stderr.contains("needs a token"), "{}", refused.stderr);
    let short = annals(&home, &["serve", "--bind", "0.0.0.0", "--token", "short"]);
    assert!(short.code == Some(2) && short.stderr.contains("at least 16 characters"), "{}", short.stderr);
    let served = Served::start(&home, &["--json", "--bind", "0.0.0.0", "--token", "0123456789abcdef"]);
    let (_, said) = served.end("-TERM");
    assert!(said.contains("Listening beyond this machine") && said.contains("delete all sessions"), "{said}");
}

#[test]
fn what_stands_in_the_way_is_told() {
    let home = small_home();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = annals(&home, &["serve", "--port", &port]);
    assert!(refused.code == Some(2) && refused.stderr.contains("cannot serve"), "{}", refused.stderr);
    for wrong in [&["--stdio", "--port", "1"][..], &["--stdio", "--open"], &["--port", "70000"]] {
        assert_eq!(annals(&home, &[&["serve"], wrong].concat()).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_browser_is_opened_with_a_ticket_and_not_the_token() {
    let home = small_home();
    // A browser of our own, which keeps what it was called with.
    let program = home.write(
        "bin/xdg-open",
        "#!/bin/sh\necho \"$1\" > \"$HOME/part\" && mv \"$HOME/part\" \"$HOME/opened\"\n",
    );
    assert!(Command::new("chmod").arg("+x").arg(&program).status().unwrap().success());
    let mut command = home.command(ANNALS);
    let path = format!("{}:{}", home.path().join("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).args(["serve", "--json", "--open"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let served = Served { child, line };
    let said: Value = serde_json::from_str(&served.line).unwrap();
    let opened = loop {
        if let Ok(opened) = std::fs::read_to_string(home.path().join("opened")) {
            break opened;
        }
        std::thread::yield_now();
    };
    let prefix = format!("http://{}/?token=", said["address"].as_str().unwrap());
    let ticket = opened.trim().strip_prefix(&prefix).unwrap();
    assert_ne!(ticket, said["token"]);
}
