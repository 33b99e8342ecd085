//! A client over a pipe in memory, and sessions that it asks about.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use annals_api::{Api, Options};
use annals_engine::{Engine, Home, Roots};
use annals_mcp::{HttpService, McpServer};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use testkit::transcript::Transcript;

pub(crate) const TEA: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

pub(crate) struct Client {
    folder: tempfile::TempDir,
    service: HttpService,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    /// A client of a server with these files, whose paths are below the config folder.
    pub(crate) fn new(files: &[(String, Vec<u8>)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(".claude");
        for (path, content) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let engine = Engine::open(Roots::given(vec![root]).unwrap(), Home::at(folder.path().join("annals")));
        // Even on an API that may do everything, the tools only read and mask.
        let api = Api::new(engine, Options { read_only: false, allow_reveal: true });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { folder, service: HttpService::new(McpServer::new(Arc::new(api))), runtime }
    }

    /// A client of a server with one session.
    pub(crate) fn of(transcript: &Transcript) -> Self {
        Self::new(&[(format!("projects/-home-mia-tea/{TEA}.jsonl"), transcript.to_string().into_bytes())])
    }

    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.folder.path().join(".claude")
    }

    /// Sends a request; returns the whole answer.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let request = http::Request::post("http://127.0.0.1/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .body(Full::new(bytes::Bytes::from(body)))
            .unwrap();
        let answer = self.runtime.block_on(async {
            let response = self.service.clone().answer(request).await;
            response.into_body().collect().await.unwrap().to_bytes()
        });
        serde_json::from_slice(&answer).unwrap_or_else(|_| panic!("{method}: {answer:?}"))
    }

    /// Calls a tool; returns its text, and whether it is an error.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let content = result["content"].as_array().unwrap_or_else(|| panic!("{tool} {arguments}: {answer}"));
        assert_eq!(content.len(), 1, "{answer}");
        (content[0]["text"].as_str().unwrap().to_owned(), result["isError"].as_bool().unwrap_or_default())
    }

    /// Calls a tool that must succeed.
    pub(crate) fn get(&self, tool: &str, arguments: &Value) -> Value {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool} {arguments}: {text}");
        assert!(text.len() <= 40_000, "{tool} {arguments} has {} bytes", text.len());
        serde_json::from_str(&text).unwrap()
    }

    /// Calls a tool that must refuse; returns why.
    pub(crate) fn refusal(&self, tool: &str, arguments: &Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(is_error, "{tool} {arguments}: {text}");
        text
    }
}

/// Returns the content of every file below a folder.
pub(crate) fn contents(folder: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// Two turns: a failed call, an edit, a written file; and a title.
pub(crate) fn tea() -> Transcript {
    let edit = json!({"file_path": "/home/mia/tea/tea.rs", "old_string": "let minutes = 3;\nbrew();\n", "new_string": "let minutes = 5;\nbrew();\n"});
    Transcript::session(TEA)
        .user("u1", "Why is 天气 empty?")
        .assistant("a1", |reply| reply.id("m1").thinking("Look first."))
        .assistant("a2", |reply| reply.id("m1").text("Let me look at the kettle."))
        .assistant("a3", |reply| reply.id("m1").tool("t1", "Bash", json!({"command": "ls kettle"})))
        .failure("u2", "t1", "no such file")
        .assistant("a4", |reply| reply.id("m2").tool("t2", "Edit", edit))
        .result("u3", "t2", "The file was updated.")
        .user("u4", "Now write the notes")
        .assistant("a5", |reply| {
            reply.id("m3").tool(
                "t3",
                "Write",
                json!({"file_path": "/home/mia/tea/notes.md", "content": "# Notes\n绿茶\n"}),
            )
        })
        .result("u5", "t3", "The file was created.")
        .assistant("a6", |reply| reply.id("m4").text("Done."))
        .title("Tea timer")
}
