//! The server over HTTP, as it is started from the command line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::command::Home;

use crate::{ANNALS, SESSION, annals, small_home};

const TOKEN: &str = "0123456789abcdef";

/// A server that is ended with the test.
struct Served {
    child: Child,
    /// The first line that it printed.
    line: String,
}

impl Served {
    fn start(home: &Home, args: &[&str]) -> Self {
        Self::with(home, args, |_| {})
    }

    fn with(home: &Home, args: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let mut command = home.command(ANNALS);
        command.arg("serve").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        change(&mut command);
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
    let (places, rest) = said.split_once('\n').unwrap();
    assert!(places.starts_with("Serving the sessions in ") && places.ends_with("projects."), "{places}");
    assert_eq!((code, rest), (Some(130), "Open this link in a browser; Ctrl-C ends the server.\n"));
}

#[test]
fn json_says_all_that_a_program_needs() {
    let home = small_home();
    let served = Served::start(&home, &["--json", "--read-only", "--token", TOKEN]);
    let said: Value = serde_json::from_str(&served.line).unwrap();
    let (address, token) = (said["address"].as_str().unwrap(), said["token"].as_str().unwrap());
    assert_eq!(said["url"], format!("http://{address}/?token={token}"));
    assert_eq!((token, &said["readOnly"]), (TOKEN, &Value::Bool(true)));
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"history/delete","params":{{"sessionId":"{SESSION}"}}}}"#
    );
    assert!(ask(address, token, "POST /rpc", &request).contains("-32012"));
    assert_eq!(served.end("-TERM"), (Some(0), String::new()), "it says nothing that is not asked for");
}

/// The checks of `/rpc` hold for `/mcp`: token, `Host` and `Origin`.
#[cfg(feature = "mcp")]
#[test]
fn agents_are_answered_behind_the_same_checks() {
    let home = small_home();
    let served = Served::start(&home, &["--json", "--token", TOKEN]);
    let said: Value = serde_json::from_str(&served.line).unwrap();
    let address = said["address"].as_str().unwrap();
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"get_session","arguments":{{"session":"{SESSION}"}}}}}}"#
    );
    let post = |headers: &str, token: &str| {
        ask(
            address,
            token,
            &format!(
                "POST /mcp HTTP/1.1\r\nAccept: application/json, text/event-stream{headers}\r\nX-Start:"
            ),
            &call,
        )
    };
    let answer = post("", TOKEN);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("Tea timer"), "{answer}");
    assert!(answer.contains("\r\ncache-control: no-store\r\n"), "{answer}");
    assert!(post("", "wrong-wrong-wrong").starts_with("HTTP/1.1 401 "));
    assert!(post("\r\nOrigin: http://evil.example", TOKEN).starts_with("HTTP/1.1 403 "));
    assert!(post("\r\nHost: evil.example", TOKEN).starts_with("HTTP/1.1 400 "), "a second Host");
}

#[test]
fn beyond_this_machine_it_says_what_it_exposes() {
    let home = small_home();
    let refused = annals(&home, &["serve", "--bind", "0.0.0.0"]);
    assert_eq!((refused.code, &refused.stdout[..]), (Some(2), ""));
    assert!(refused.stderr.contains("needs a token"), "{}", refused.stderr);
    let short = annals(&home, &["serve", "--bind", "0.0.0.0", "--token", "short"]);
    assert!(short.code == Some(2) && short.stderr.contains("at least 16 characters"), "{}", short.stderr);
    let served = Served::start(&home, &["--json", "--bind", "0.0.0.0", "--token", TOKEN]);
    let (_, said) = served.end("-TERM");
    assert!(said.contains("Other machines can reach") && said.contains("delete all sessions"), "{said}");
}

#[test]
fn what_stands_in_the_way_is_told() {
    let home = small_home();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (args, said) in [
        (
            ["--port", &port],
            format!(
                "annals: cannot serve on `127.0.0.1`, port {port}: another program listens there\n\
                 hint: without `--port`, annals chooses a free one\n"
            ),
        ),
        (
            ["--bind", "192.0.2.1"],
            "annals: cannot serve on `192.0.2.1`, port 0: this machine does not have that address\n\
             hint: `127.0.0.1` is for this machine alone, `0.0.0.0` for all machines that can reach this one\n"
                .to_owned(),
        ),
        (
            ["--bind", "127.0.0.1:4000"],
            "annals: cannot serve on `127.0.0.1:4000`: there is no such address\n\
             hint: `--bind` takes an address or a name, and no port\n"
                .to_owned(),
        ),
    ] {
        let refused = annals(&home, &[&["serve"], &args[..]].concat());
        assert_eq!((refused.code, refused.stderr), (Some(2), said));
    }
    for wrong in [&["--stdio", "--port", "1"][..], &["--stdio", "--open"], &["--port", "70000"]] {
        assert_eq!(annals(&home, &[&["serve"], wrong].concat()).code, Some(2), "{wrong:?}");
    }
}

/// Starts a server with a program of ours in the place of the one that opens browsers.
fn open_with(home: &Home, script: &str) -> Served {
    let program = home.write("bin/xdg-open", format!("#!/bin/sh\n{script}\n"));
    assert!(Command::new("chmod").arg("+x").arg(&program).status().unwrap().success());
    let path = format!("{}:{}", home.path().join("bin").display(), std::env::var("PATH").unwrap());
    Served::with(home, &["--json", "--open"], |command| {
        command.env("PATH", path).env("ANNALS_TOKEN", TOKEN);
    })
}

/// Waits for a file and returns what stands in it.
fn wait_for(path: &Path) -> String {
    loop {
        if let Ok(text) = std::fs::read_to_string(path) {
            break text;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_browser_is_opened_with_a_ticket_and_not_the_token() {
    let home = small_home();
    let script = r#"echo "$1 $ANNALS_TOKEN" > "$HOME/part" && mv "$HOME/part" "$HOME/opened""#;
    let served = open_with(&home, script);
    let said: Value = serde_json::from_str(&served.line).unwrap();
    assert_eq!(said["token"], TOKEN);
    let opened = wait_for(&home.path().join("opened"));
    let prefix = format!("http://{}/?token=", said["address"].as_str().unwrap());
    let ticket = opened.trim().strip_prefix(&prefix).unwrap();
    assert!(!ticket.contains(TOKEN), "{ticket}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_browser_that_does_not_start_is_told_and_leaves_no_process() {
    for (code, expected) in [(3, "No browser could be started: open the link yourself.\n"), (0, "")] {
        let home = small_home();
        let script = format!("echo $$ > \"$HOME/part\" && mv \"$HOME/part\" \"$HOME/pid\"; exit {code}");
        let mut served = open_with(&home, &script);
        let process = Path::new("/proc").join(wait_for(&home.path().join("pid")).trim());
        while process.exists() {
            std::thread::yield_now();
        }
        let mut said = vec![0; expected.len()];
        served.child.stderr.as_mut().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(String::from_utf8_lossy(&said), expected);
        assert_eq!(served.end("-TERM"), (Some(0), String::new()));
    }
}

#[test]
fn a_token_is_taken_from_a_file_or_the_environment() {
    let home = small_home();
    let other = "fedcba9876543210";
    let token_of = |served: &Served| serde_json::from_str::<Value>(&served.line).unwrap()["token"].clone();
    let environment = |token: &'static str| {
        move |command: &mut Command| {
            command.env("ANNALS_TOKEN", token);
        }
    };
    for text in [TOKEN.to_owned(), format!("{TOKEN}\n"), format!("{TOKEN}\r\n")] {
        let file = home.write("天/token", text);
        let args = ["--json", "--token-file", file.to_str().unwrap()];
        assert_eq!(token_of(&Served::with(&home, &args, environment(other))), TOKEN);
    }
    assert_eq!(token_of(&Served::with(&home, &["--json"], environment(TOKEN))), TOKEN);
    let given = Served::with(&home, &["--json", "--token", TOKEN], environment(other));
    assert_eq!(token_of(&given), TOKEN);
    let made_up = token_of(&Served::with(&home, &["--json"], environment("")));
    assert!(made_up.as_str().unwrap().len() >= 43, "{made_up}");
}

#[test]
fn what_is_wrong_with_a_token_is_told_without_it() {
    let home = small_home();
    let long = "s3cret".repeat(1000);
    for (content, reason) in [
        ("", "at least 16 characters"),
        ("\n", "at least 16 characters"),
        ("s3cret", "at least 16 characters"),
        ("s3cret s3cret s3cret", "at least 16 characters"),
        (&long, "it is too long"),
    ] {
        let file = home.write("token", content);
        let ran = annals(&home, &["serve", "--token-file", file.to_str().unwrap()]);
        assert!(ran.code == Some(2) && ran.stderr.contains(reason), "{}", ran.stderr);
        assert!(!ran.stderr.contains("s3cret") && ran.stdout.is_empty(), "{}", ran.stderr);
    }
    let missing = annals(&home, &["serve", "--token-file", "nowhere"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.starts_with("annals: cannot read the token in `nowhere`: "), "{}", missing.stderr);
    let mut short = home.command(ANNALS);
    let output = short.arg("serve").env("ANNALS_TOKEN", "s3cret").output().unwrap();
    let ran = home.ran(&output);
    assert!(ran.code == Some(2) && !ran.stderr.contains("s3cret"), "{}", ran.stderr);
    let both = annals(&home, &["serve", "--token", TOKEN, "--token-file", "token"]);
    assert!(both.code == Some(2) && !both.stderr.contains(TOKEN), "{}", both.stderr);
}
