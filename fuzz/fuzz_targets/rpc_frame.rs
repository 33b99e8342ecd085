//! Any bytes on the server's input give an answer on one line of JSON for each request, and nothing outside of the config
//! folders is touched.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use annals_engine::{Engine, Home, Roots};
use annals_api::rpc::{Frame, Frames, Id, Incoming, answer};
use annals_api::CancelToken;
use annals_server::{Options, Server};
use libfuzzer_sys::fuzz_target;

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

static FOLDER: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("annals-fuzz-rpc-{}", std::process::id())));

static SERVER: LazyLock<Arc<Server>> = LazyLock::new(|| {
    let folder = FOLDER.join(".claude/projects/-p");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let line = r#"{"type":"user","uuid":"u","parentUuid":null,"message":{"content":"Hello"},"timestamp":"2026-03-01T10:00:00Z"}"#;
    fs::write(folder.join(format!("{SESSION}.jsonl")), format!("{line}\n")).expect("a file can be written");
    let roots = Roots::given(vec![FOLDER.join(".claude")]).expect("it is a config folder");
    Server::new(Engine::open(roots, Home::at(FOLDER.join("annals"))), Options { read_only: true, ..Options::default() })
});

fuzz_target!(|input: &[u8]| {
    let mut frames = Frames::new(input);
    while let Some(frame) = frames.read().expect("a slice can be read") {
        let Frame::Line(line) = frame else { continue };
        assert!(!line.contains(&b'\n'));
        let answered = match Incoming::read(&line) {
            Err((id, error)) => answer(&id, &Err(error)),
            Ok(Incoming::Request(request)) => {
                let outcome = SERVER.dispatch(&request.method, &request.params, &CancelToken::default());
                answer(&request.id, &outcome)
            }
            Ok(Incoming::Notification { .. } | Incoming::Response) => answer(&Id::Null, &Ok(Default::default())),
        };
        assert!(!answered.contains('\n'));
        serde_json::from_str::<serde_json::Value>(&answered).expect("an answer is JSON");
    }
});
