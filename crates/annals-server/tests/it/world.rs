//! A small world: two projects, three sessions, and a server that looks at them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals_api::Cancelled;
use annals_api::rpc::{Incoming, Outcome, Params, Request, answer};
use annals_engine::{Engine, Home, Roots};
use annals_proto::ErrorCode;
use annals_server::{Options, Server};
use serde_json::{Value, json};

pub(crate) const TEA: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
pub(crate) const KETTLE: &str = "7b0c2f9e-1111-4222-8333-abcdefabcdef";
pub(crate) const WEATHER: &str = "c0ffee00-0000-4000-8000-000000000001";

pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) server: Arc<Server>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(".claude");
        for (path, lines) in [
            (format!("-home-mia-tea/{TEA}"), tea()),
            (format!("-home-mia-tea/{KETTLE}"), kettle()),
            (format!("C--Users-Wei---/{WEATHER}"), weather()),
        ] {
            let path = root.join(format!("projects/{path}.jsonl"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, lines.join("\n") + "\n").unwrap();
        }
        let roots = Roots::given(vec![root]).unwrap();
        let engine = Engine::open(roots, Home::at(folder.path().join("annals")));
        Self { server: Server::new(engine, options), folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn projects(&self) -> PathBuf {
        self.path().join(".claude/projects")
    }

    /// Returns where a session of the first project lies.
    pub(crate) fn session(&self, id: &str) -> PathBuf {
        self.projects().join(format!("-home-mia-tea/{id}.jsonl"))
    }

    pub(crate) fn ask(&self, method: &str, params: &Value) -> Outcome {
        self.server.dispatch(method, &Params::of(params).unwrap(), &Cancelled::default())
    }

    /// Asks for something that must be there.
    pub(crate) fn get(&self, method: &str, params: &Value) -> Value {
        let result = self.ask(method, params).unwrap_or_else(|error| panic!("{method} {params}: {error:?}"));
        serde_json::from_str(result.get()).unwrap()
    }

    /// Asks for something that must be refused.
    pub(crate) fn refusal(&self, method: &str, params: &Value) -> ErrorCode {
        match self.ask(method, params) {
            Err(error) => error.code,
            Ok(result) => panic!("{method} {params}: {result}"),
        }
    }

    /// Answers a line as it came in.
    pub(crate) fn answer(&self, line: &str) -> String {
        match Incoming::read(line.as_bytes()) {
            Err((id, error)) => answer(&id, &Err(error)),
            Ok(Incoming::Request(Request { id, method, params })) => {
                answer(&id, &self.server.dispatch(&method, &params, &Cancelled::default()))
            }
            Ok(other) => panic!("{other:?} has no answer"),
        }
    }
}

pub(crate) fn entry(kind: &str, uuid: &str, parent: Option<&str>, minute: usize, message: Value) -> Value {
    let mut entry = json!({
        "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": uuid,
        "timestamp": format!("2026-03-01T{:02}:{:02}:00.000Z", 10 + minute / 60, minute % 60),
        "cwd": "/home/mia/tea", "sessionId": TEA, "version": "2.1.325", "gitBranch": "main",
    });
    entry["message"] = message;
    entry
}

pub(crate) fn reply(uuid: &str, parent: &str, minute: usize, id: &str, block: Value) -> Value {
    let mut message = json!({"id": id, "role": "assistant", "model": "claude-opus-5-5"});
    message["content"] = Value::Array(vec![block]);
    entry("assistant", uuid, Some(parent), minute, message)
}

fn lines(entries: &[Value]) -> Vec<String> {
    entries.iter().map(ToString::to_string).collect()
}

/// A prompt, a reply in four lines with a call that went well and one that failed, and a last word.
fn tea() -> Vec<String> {
    let result = |uuid, parent, minute, id, text, is_error: bool| {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error});
        entry("user", uuid, Some(parent), minute, json!({"role": "user", "content": [block]}))
    };
    lines(&[
        entry("user", "u1", None, 0, json!({"role": "user", "content": "Why is 天气 empty?"})),
        reply("a1", "u1", 1, "m1", json!({"type": "thinking", "thinking": "Look first.", "signature": "x"})),
        reply("a2", "a1", 1, "m1", json!({"type": "text", "text": "Let me look."})),
        reply(
            "a3",
            "a2",
            1,
            "m1",
            json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}),
        ),
        result("u2", "a3", 2, "t1", "tea.rs", false),
        reply(
            "a4",
            "u2",
            2,
            "m1",
            json!({"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "/home/mia/tea/天气.json"}}),
        ),
        result("u3", "a4", 3, "t2", "no such file", true),
        reply("a5", "u3", 4, "m2", json!({"type": "text", "text": "It is not there."})),
        json!({"type": "custom-title", "customTitle": "Tea timer", "sessionId": TEA}),
    ])
}

fn kettle() -> Vec<String> {
    lines(&[entry("user", "k1", None, 90, json!({"role": "user", "content": "Boil the kettle"}))])
}

fn weather() -> Vec<String> {
    let mut prompt =
        entry("user", "w1", None, 30, json!({"role": "user", "content": "湿度显示成 0.7 了 ☀️"}));
    prompt["cwd"] = json!(r"C:\Users\Wei\天气");
    lines(&[prompt])
}
