//! curl sends requests over HTTP, and follows a session.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::http::{SESSION, Served, entry};
use super::{Stage, Verdict, program};

pub(super) fn check(stage: &Stage) -> Verdict {
    program(&["curl"])?;
    let served = Served::start(stage)?;
    let bearer = format!("Authorization: Bearer {}", served.token);
    let curl = |args: &[&str]| {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--max-time", "60"]).args(args);
        command
    };
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "history/list", "params": {"query": "敌意"}}).to_string();
    let rpc = format!("http://{}/rpc", served.address);
    let kind = "Content-Type: application/json";
    let output = curl(&["--header", &bearer, "--header", kind, "--data", &request, &rpc]).output()?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    if answer["result"]["sessions"][0]["id"] != SESSION {
        return Err(format!("the list has not the session: {answer}").into());
    }
    let status = curl(&["--output", "/dev/null", "--write-out", "%{http_code}", &rpc]).output()?.stdout;
    if status != b"401" {
        return Err(format!("without a token: {}", String::from_utf8_lossy(&status)).into());
    }

    let events = format!("http://{}/events?sessionId={SESSION}", served.address);
    let mut following =
        curl(&["--no-buffer", "--header", &bearer, &events]).stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(following.stdout.take().ok_or("no output")?).lines();
    let mut wait_for = |text: &str| lines.by_ref().map_while(Result::ok).any(|line| line.contains(text));
    let is_ready = wait_for("event: ready");
    let line = entry("user", "h5", Some("h4"), &json!("Heard by curl"));
    writeln!(File::options().append(true).open(served.session())?, "{line}")?;
    let is_told = is_ready && wait_for("Heard by curl");
    following.kill()?;
    following.wait()?;
    if !is_told {
        return Err("what was written was not told".into());
    }
    served.end()
}
