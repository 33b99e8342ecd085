//! Requests and answers as they stand in files, and in the document that others read.
//!
//! A line that begins with `-->` is sent, those that begin with `<--` must come back. One that begins with `+++` appends a
//! line to a file of the project of the first session: its path, a blank, and the line. ACP requests
//! go through a connection, because notifications may precede their answer. With `ANNALS_UPDATE=1` the answers are
//! written again; read the diff. Cursors mean nothing outside: they are written as `<next>` and `<previous>`. `<secret>` is an
//! invented token that is made at run time. A file with the line `=== allow-reveal` is sent to a server that reveals secrets.
//!
//! `rpc` has the answers of today, `rpc-compat` those that clients of earlier versions were written against.

use std::fs;
use std::path::{Path, PathBuf};

use annals_server::Options;
use serde_json::Value;
use testkit::secrets::invented;

use crate::connections::Client;
use crate::world::World;

/// A field that answers have now and did not have when the pairs of `rpc-compat` were recorded.
struct Addition {
    method: &'static str,
    /// The field as it is spelled, once for each value that it has in the pairs.
    spellings: &'static [&'static str],
    reason: &'static str,
}

/// All differences from `rpc-compat` that are intended.
const ADDITIONS: &[Addition] = &[
    Addition {
        method: "history/read",
        spellings: &[r#""visibility":"conversation","#, r#""visibility":"hidden","#],
        reason: "items say who should see them, so that a client need not derive it from `kind` and `type`",
    },
    Addition {
        method: "history/read",
        spellings: &[r#"{"type":"title","source":"custom","title":"Tea timer"}"#],
        reason: "records have their payload as a part, where `parts` was empty",
    },
    Addition {
        method: "history/list",
        spellings: &[r#","queued":0"#],
        reason: "lists say how many prompts are still in the queue",
    },
    Addition {
        method: "session/list",
        spellings: &[r#","queued":0"#],
        reason: "`_meta.annals` has the fields of `history/list`",
    },
    Addition {
        method: "history/stats",
        spellings: &[
            r#","durationMs":240000,"activeMs":240000"#,
            r#","usage":{"inputTokens":0,"outputTokens":0,"cacheCreationTokens":0,"cacheReadTokens":0}"#,
        ],
        reason: "figures include how long a session took and how many tokens its replies have",
    },
    Addition {
        method: "history/tools",
        spellings: &[r#","input":{"command":"ls"}"#, r#","input":{"file_path":"/home/mia/tea/天气.json"}"#],
        reason: "calls have their arguments",
    },
    Addition {
        method: "history/tools",
        spellings: &[r#""error":"no such file","#],
        reason: "calls that failed have the first line of their error",
    },
    Addition {
        method: "history/turns",
        spellings: &[r#","uuid":"u1""#],
        reason: "turns name the entry that started them",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/session","#],
        reason: "one session can be described without listing all",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/agents","#],
        reason: "the agents of a session are listed",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/check","#],
        reason: "a method says what is wrong with a session",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/files","#],
        reason: "a method lists the files that a session changed",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/file","#],
        reason: "a method returns the content of a version of a file",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/usage","#],
        reason: "a method counts tokens and costs",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/insight","#],
        reason: "a method adds up what the work was",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/context","#],
        reason: "a method says what fills the context",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/search","#],
        reason: "a method searches what was said and printed",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/archive","history/unarchive","#],
        reason: "sessions are archived for clients, too",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/skeleton","history/rows","history/part","history/locate","#],
        reason: "a viewer is sent rows",
    },
    Addition {
        method: "history/status",
        spellings: &[r#""history/repair","history/lineage","history/copies","#],
        reason: "a viewer shows what a repair would change, and where else entries are",
    },
    Addition {
        method: "history/stats",
        spellings: &[
            r#","changedFiles":0,"linesAdded":0,"linesRemoved":0,"idlePauses":0,"contextTokens":null,"contextWindowTokens":null"#,
        ],
        reason: "figures include what was edited, how full the context is, and long pauses",
    },
];

/// A request of a file, the answers that stand below it, and the answers that came.
struct Exchange {
    request: String,
    expected: Vec<String>,
    found: Vec<String>,
}

#[test]
fn requests_are_answered_as_they_are_written_down() {
    let paths = pairs_in("rpc");
    assert!(paths.len() > 3, "{paths:?}");
    for path in &paths {
        check(path);
    }
}

#[test]
fn the_examples_of_the_protocol_are_true() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/PROTOCOL.md"));
}

/// The pairs of `rpc-compat` are never updated: clients were written against them.
#[test]
fn clients_of_earlier_versions_get_the_same_bytes_but_for_listed_additions() {
    let paths = pairs_in("rpc-compat");
    assert!(paths.len() > 3, "{paths:?}");
    let mut removed = vec![0; ADDITIONS.len()];
    for path in &paths {
        for exchange in replay(path) {
            let method = method_of(&exchange.request);
            let found = exchange.found.iter().map(|answer| without_additions(&method, answer, &mut removed));
            assert_same(path, &exchange.request, &exchange.expected, &found.collect::<Vec<_>>());
        }
    }
    for (addition, removed) in ADDITIONS.iter().zip(removed) {
        assert!(removed > 0, "nothing was added to {} ({})", addition.method, addition.reason);
    }
}

/// Returns an answer without the fields that were added since, and counts them for each addition.
fn without_additions(method: &str, answer: &str, removed: &mut [usize]) -> String {
    let mut answer = answer.to_owned();
    for (addition, removed) in ADDITIONS.iter().zip(removed) {
        for spelling in addition.spellings.iter().filter(|_| addition.method == method) {
            *removed += answer.matches(spelling).count();
            answer = answer.replace(spelling, "");
        }
    }
    answer
}

fn pairs_in(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(folder);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn check(path: &Path) {
    let exchanges = replay(path);
    assert!(!exchanges.is_empty(), "{}", path.display());
    if std::env::var_os("ANNALS_UPDATE").is_some() {
        return update(path, &exchanges);
    }
    for Exchange { request, expected, found } in &exchanges {
        assert_same(path, request, expected, found);
    }
}

fn assert_same(path: &Path, request: &str, expected: &[String], found: &[String]) {
    let [expected, found] = [expected, found].map(|answers| answers.join("\n         "));
    assert!(found == expected, "{}\n{request}\nexpected {expected}\nfound    {found}", path.display());
}

/// Sends the requests of a file in order, to one server and over one connection.
fn replay(path: &Path) -> Vec<Exchange> {
    let text = fs::read_to_string(path).unwrap();
    let allow_reveal = text.lines().any(|line| line == "=== allow-reveal");
    let world = World::with(Options { allow_reveal, ..Options::default() });
    let mut placeholders = Placeholders::new();
    let mut client = Client::of(&world);
    let mut exchanges: Vec<Exchange> = Vec::new();
    for line in text.lines() {
        if let Some(request) = line.strip_prefix("--> ") {
            let answers = said(&world, &mut client, &placeholders.fill_in(request));
            let found = answers.iter().map(|answer| shown(&world, answer, &mut placeholders)).collect();
            exchanges.push(Exchange { request: request.to_owned(), expected: Vec::new(), found });
        } else if let Some((path, text)) = line.strip_prefix("+++ ").and_then(|line| line.split_once(' ')) {
            append_line(&world.projects().join("-home-mia-tea").join(path), &placeholders.fill_in(text));
        } else if let Some(answer) = line.strip_prefix("<-- ") {
            exchanges.last_mut().expect("a request stands first").expected.push(answer.to_owned());
        }
    }
    client.finish();
    exchanges
}

fn append_line(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let old = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, format!("{old}{text}\n")).unwrap();
}

/// Writes the answers that came in place of those of a file.
fn update(path: &Path, exchanges: &[Exchange]) {
    let text = fs::read_to_string(path).unwrap();
    let mut exchanges = exchanges.iter();
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("<-- ")) {
        lines.push(line.to_owned());
        if line.starts_with("--> ") {
            let found = exchanges.next().into_iter().flat_map(|exchange| &exchange.found);
            lines.extend(found.map(|answer| format!("<-- {answer}")));
        }
    }
    fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// Returns the method of a request; an empty text for what is no request.
fn method_of(request: &str) -> String {
    let message: Value = serde_json::from_str(request).unwrap_or_default();
    message["method"].as_str().unwrap_or_default().to_owned()
}

/// Returns everything that is said to a request, the answer last.
fn said(world: &World, client: &mut Client, request: &str) -> Vec<String> {
    if annals_proto::acp::Method::from_name(&method_of(request)).is_none() {
        return vec![world.answer(request)];
    }
    let message: Value = serde_json::from_str(request).unwrap();
    client.send(&message);
    let mut said = Vec::new();
    loop {
        let text = client.next_text();
        let is_answer = serde_json::from_str::<Value>(&text).unwrap()["id"] == message["id"];
        said.push(text);
        if is_answer {
            return said;
        }
    }
}

/// Shows an answer without what differs from run to run.
fn shown(world: &World, answer: &str, placeholders: &mut Placeholders) -> String {
    let home = world.path().to_str().unwrap();
    placeholders.take_out(answer).replace(home, "/home/mia")
}

/// What is not in the files as it is.
struct Placeholders {
    /// The cursors that came last.
    next: String,
    previous: String,
    /// A token that no scanner should find in this repository.
    secret: String,
}

impl Placeholders {
    fn new() -> Self {
        let (secret, _) = invented(0, "ghp_", "");
        Self { next: String::new(), previous: String::new(), secret }
    }

    fn fill_in(&self, text: &str) -> String {
        let filled = text.replace("<next>", &self.next).replace("<previous>", &self.previous);
        filled.replace("<secret>", &self.secret)
    }

    fn take_out(&mut self, answer: &str) -> String {
        let value: Value = serde_json::from_str(answer).unwrap();
        let mut shown = answer.replace(&self.secret, "<secret>");
        for (key, kept) in [("nextCursor", &mut self.next), ("previousCursor", &mut self.previous)] {
            if let Some(cursor) = value["result"][key].as_str() {
                shown = shown.replace(cursor, &format!("<{}>", key.trim_end_matches("Cursor")));
                cursor.clone_into(kept);
            }
        }
        shown
    }
}
