//! A server over HTTP with a few sessions, one of them hostile.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{Stage, Trouble};
use crate::project;

/// The session that grows while clients follow it.
pub(super) const SESSION: &str = "5afe0000-0000-4000-8000-000000000001";

/// The nesting depth of a value in the session.
const DEPTH: usize = 10_000;

/// A server that runs until it is dropped.
pub(super) struct Served {
    folder: tempfile::TempDir,
    child: Child,
    pub(super) address: String,
    pub(super) token: String,
}

impl Served {
    pub(super) fn start(stage: &Stage) -> Result<Self, Trouble> {
        let folder = tempfile::tempdir()?;
        let sample = project().join("corpus/sample/projects");
        for path in crate::files_below("corpus/sample/projects")? {
            let copy = folder.path().join("root/projects").join(path.strip_prefix(&sample)?);
            fs::create_dir_all(copy.parent().ok_or("a file has a folder")?)?;
            fs::copy(&path, &copy)?;
        }
        let session = folder.path().join(format!("root/projects/-home-mia-hostile/{SESSION}.jsonl"));
        fs::create_dir_all(session.parent().ok_or("a file has a folder")?)?;
        let lines: Vec<_> = hostile().iter().map(ToString::to_string).collect();
        let (open, close) = ("[".repeat(DEPTH), "]".repeat(DEPTH));
        let deep = format!("{open}\"the bottom\"{close}");
        fs::write(&session, (lines.join("\n") + "\n").replace("\"@deep\"", &deep))?;
        let mut command = Command::new(&stage.annals);
        command.args(["serve", "--json", "--root"]).arg(folder.path().join("root"));
        command.env("ANNALS_HOME", folder.path().join("home")).env("HOME", folder.path());
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line)?;
        let field = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        let (address, token) = (field("address"), field("token"));
        Ok(Self { folder, child, address, token })
    }

    /// Returns the path of the session.
    pub(super) fn session(&self) -> PathBuf {
        self.folder.path().join(format!("root/projects/-home-mia-hostile/{SESSION}.jsonl"))
    }

    /// Ends the server and checks its exit code and output.
    pub(super) fn end(mut self) -> Result<(), Trouble> {
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        let status = self.child.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(Trouble::Failed(format!("the server ended with {status}")))
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An entry of the session, as Claude Code would write it.
pub(super) fn entry(kind: &str, uuid: &str, parent: Option<&str>, content: &Value) -> Value {
    json!({
        "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": uuid, "sessionId": SESSION,
        "timestamp": "2026-03-20T09:00:00.000Z", "cwd": "/home/mia/hostile", "version": "2.1.325", "gitBranch": "main",
        "message": {"role": kind, "id": format!("m-{uuid}"), "model": "claude-opus-5-5", "content": content},
    })
}

/// Text that would run a script if the page did not insert it as text.
fn hostile() -> Vec<Value> {
    let script = "<script>window.hacked = 1</script><img src=x onerror=\"window.hacked = 2\">";
    let call = json!([
        {"type": "thinking", "thinking": format!("What does {script} do? 让我看看。"), "signature": "x"},
        {"type": "text", "text": format!("It shows as it is: {script}\n\n这是文字，不是网页。\u{202e}turned round\u{202c}")},
        {"type": "text", "text": "مرحبا بالعالم\nfrom the left"},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": format!("echo '{script}'")}},
        {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "/home/mia/天气.json"}},
        {"type": "tool_use", "id": "t3", "name": format!("mcp__{}__deep", "long-".repeat(20)), "input": {"shallow": {"list": [1, {}, []]}, "deep": "@deep"}},
    ]);
    let results = json!([
        {"type": "tool_result", "tool_use_id": "t1", "content": format!("{script}\nsecond line")},
        {"type": "tool_result", "tool_use_id": "t2", "content": "no such file", "is_error": true},
        {"type": "tool_result", "tool_use_id": "t3", "content": [{"type": "text", "text": "deep"}, {"type": "new", "deep": "@deep"}]},
    ]);
    vec![
        entry("user", "h1", None, &json!(format!("Hostile {script} 敌意"))),
        entry("assistant", "h2", Some("h1"), &call),
        entry("user", "h3", Some("h2"), &results),
        entry(
            "user",
            "c1",
            Some("h3"),
            &json!(format!("<command-name>/rename</command-name><command-args>{script}</command-args>")),
        ),
        entry(
            "user",
            "c2",
            Some("c1"),
            &json!(format!(
                "<local-command-stdout>\u{1b}[1mRenamed\u{1b}[0m {script}</local-command-stdout>"
            )),
        ),
        entry("user", "c3", Some("c2"), &json!("<task-notification>The task is done.</task-notification>")),
        entry("assistant", "h4", Some("c3"), &json!([{"type": "text", "text": "That is all."}])),
    ]
}
