//! Following sessions from the command line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;
use testkit::command::Home;

use crate::{ANNALS, SESSION, annals};

/// A program that is ended with the test.
struct Tail(Child, BufReader<ChildStdout>);

impl Tail {
    fn start(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(ANNALS);
        command.arg("tail").args(args).args(["--seconds", "30"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        // It follows once it has said so.
        if !args.contains(&"--json") {
            BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        }
        Self(child, out)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn record(home: &Home, text: &str) {
    let mut child = home
        .command(ANNALS)
        .args(["record", "--session", SESSION, "--project", "p"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let draft = serde_json::json!({"type": "user", "message": {"role": "user", "content": text}});
    writeln!(child.stdin.take().unwrap(), "{draft}").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_session_is_shown_as_it_grows() {
    let home = Home::new();
    home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), "{\"type\":\"mode\"}\n");
    let mut tail = Tail::start(&home, &[SESSION]);
    record(&home, "Hello 你好 \u{1b}[31mred");
    assert_eq!([tail.line(), tail.line()], ["❯", "  Hello 你好 red"]);
}

#[test]
fn the_json_of_all_sessions_has_every_entry() {
    let home = Home::new();
    home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), "{\"type\":\"mode\"}\n");
    let mut tail = Tail::start(&home, &["--all", "--json", "--poll"]);
    // It may not have begun yet: what it has not seen as old, it tells as new.
    std::thread::spawn({
        let path = home.path().join(format!(".claude/projects/-p/{SESSION}.jsonl"));
        move || {
            for number in 0..20 {
                std::thread::sleep(std::time::Duration::from_millis(100));
                let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
                writeln!(file, "{{\"type\":\"user\",\"n\":{number}}}").unwrap();
            }
        }
    });
    let first: Value = serde_json::from_str(&tail.line()).unwrap();
    let second: Value = serde_json::from_str(&tail.line()).unwrap();
    assert_eq!((&first["event"], &first["session"]), (&"appended".into(), &SESSION.into()));
    assert_eq!(second["entry"]["n"].as_u64().unwrap(), first["entry"]["n"].as_u64().unwrap() + 1);
    assert!(second["offset"].as_u64() > first["offset"].as_u64());
    let nothing = annals(&home, &["tail"]);
    assert_eq!(nothing.code, Some(2));
    assert_eq!(annals(&home, &["tail", "nope"]).code, Some(1));
}
