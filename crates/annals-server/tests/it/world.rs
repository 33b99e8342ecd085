//! A small world: two projects, three sessions, and a server that looks at them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals_api::CancelToken;
use annals_api::rpc::{Incoming, Outcome, Params, Request, answer};
use annals_engine::{Engine, Home, Roots};
use annals_proto::ErrorCode;
use annals_server::{Options, Server};
use serde_json::{Value, json};
use testkit::transcript::Transcript;

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
            fs::write(path, lines.to_string()).unwrap();
        }
        let roots = Roots::given(vec![root]).unwrap();
        let engine = Engine::open(roots, Home::at(folder.path().join("annals")));
        Self { server: Server::new(engine, options), folder }
    }

    /// A world with other files, whose paths are below the config folder.
    pub(crate) fn of_files(files: &[(String, Vec<u8>)], options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(".claude");
        for (path, content) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let engine = Engine::open(Roots::given(vec![root]).unwrap(), Home::at(folder.path().join("annals")));
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
        self.server.dispatch(method, &Params::of(params).unwrap(), &CancelToken::default())
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
                answer(&id, &self.server.dispatch(&method, &params, &CancelToken::default()))
            }
            Ok(other) => panic!("{other:?} has no answer"),
        }
    }
}

/// Returns a time on the day of all sessions, so many minutes after 10 o'clock.
pub(crate) fn minute(minute: usize) -> String {
    format!("2026-03-01T{:02}:{:02}:00.000Z", 10 + minute / 60, minute % 60)
}

/// Starts lines of the tea session with a message at this minute that follows another one.
pub(crate) fn lines_at<'a>(at: usize, parent: impl Into<Option<&'a str>>) -> Transcript {
    Transcript::session(TEA).at(&minute(at)).after(parent)
}

/// A prompt, a reply in four lines with a call that succeeded and one that failed, a second reply, and a title.
fn tea() -> Transcript {
    let file = json!({"file_path": "/home/mia/tea/天气.json"});
    Transcript::session(TEA)
        .user("u1", "Why is 天气 empty?")
        .at(&minute(1))
        .assistant("a1", |reply| reply.id("m1").thinking("Look first."))
        .at(&minute(1))
        .assistant("a2", |reply| reply.id("m1").text("Let me look."))
        .at(&minute(1))
        .assistant("a3", |reply| reply.id("m1").tool("t1", "Bash", json!({"command": "ls"})))
        .at(&minute(2))
        .result("u2", "t1", "tea.rs")
        .at(&minute(2))
        .assistant("a4", |reply| reply.id("m1").tool("t2", "Read", file))
        .at(&minute(3))
        .failure("u3", "t2", "no such file")
        .at(&minute(4))
        .assistant("a5", |reply| reply.id("m2").text("It is not there."))
        .title("Tea timer")
}

fn kettle() -> Transcript {
    lines_at(90, None).user("k1", "Boil the kettle")
}

fn weather() -> Transcript {
    lines_at(30, None).cwd(r"C:\Users\Wei\天气").user("w1", "湿度显示成 0.7 了 ☀️")
}
