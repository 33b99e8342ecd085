//! A second opinion: a program in Python, which shares no code, counts the same tokens.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use annals_engine::{Engine, Home, Roots, TranscriptFile};
use annals_usage::{By, Prices, Report, ReportOptions};
use serde_json::{Value, json};
use testkit::corpora;
use testkit::generate::Random;

/// Python reads neither what is balanced but no JSON nor nesting beyond its stack.
const NOT_FOR_PYTHON: [&str; 2] = ["damage-bad-syntax", "quirk-deep-nesting"];

#[test]
fn tokens_of_all_corpora_equal_those_of_an_independent_program() {
    let files: Vec<_> = corpora::transcripts()
        .into_iter()
        .filter(|path| !NOT_FOR_PYTHON.iter().any(|name| path.to_string_lossy().contains(name)))
        .collect();
    if corpora::beside().is_empty() {
        eprintln!("no corpora beside the checkout: only the project's own is counted");
    }
    compare(&files);
}

#[test]
fn tokens_of_generated_files_with_copies_equal_those_of_an_independent_program() {
    for seed in 0..30 {
        let folder = tempfile::tempdir().unwrap();
        let files = generate(folder.path(), &mut Random::new(seed));
        eprintln!("seed {seed}");
        compare(&files);
    }
}

/// Compares the counts of all files together, and of each file alone.
fn compare(files: &[PathBuf]) {
    let theirs = theirs(files);
    assert_eq!(theirs.len(), files.len() + 1);
    assert_eq!(ours(files), theirs[0]);
    for (file, theirs) in files.iter().zip(&theirs[1..]) {
        assert_eq!(ours(std::slice::from_ref(file)), *theirs, "{}", file.display());
    }
}

/// Returns what annals counts: for each model, tokens and responses.
fn ours(files: &[PathBuf]) -> Value {
    let engine = Engine::open(Roots::default(), Home::at("none"));
    let files: Vec<_> = files.iter().map(|path| TranscriptFile::at(path)).collect();
    let usage = engine.usage_of(&files);
    assert!(usage.errors.is_empty(), "{:?}", usage.errors);
    let options = ReportOptions { by: By::Model, ..ReportOptions::default() };
    let report = Report::new(&usage.ledger, &Prices::built_in(), &options);
    let rows = report.rows.iter().map(|row| {
        let tokens = &row.cells.tokens;
        let counted = json!({
            "replies": row.cells.replies,
            "input": tokens.input,
            "output": tokens.output,
            "read": tokens.read,
            "writes": tokens.writes(),
            "hour": tokens.write_1h,
        });
        (row.key.clone(), counted)
    });
    json!(rows.collect::<BTreeMap<_, _>>())
}

/// Returns what the program in Python counts: for all files, and for each of them.
fn theirs(files: &[PathBuf]) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../annals/tests/it/independent_usage.py");
    let mut python = Command::new("python3")
        .arg("-B")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tests need Python 3");
    let mut input = python.stdin.take().unwrap();
    for file in files {
        writeln!(input, "{}", file.display()).unwrap();
    }
    drop(input);
    let counted = python.wait_with_output().unwrap();
    assert!(counted.status.success());
    let lines = String::from_utf8(counted.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes sessions, forks, subagents and copies with few different ids, so that they meet in every way.
fn generate(folder: &Path, random: &mut Random) -> Vec<PathBuf> {
    let session = |number: u64| format!("0000000{number}-0000-4000-8000-000000000000");
    let mut files = Vec::new();
    for number in 0..4 {
        let (own, other) = (session(number), session(random.below(4)));
        let names = [format!("{own}.jsonl"), format!("{own}/subagents/agent-a{number}.jsonl")];
        for (is_agent, name) in names.iter().enumerate() {
            let fork = random.below(3) == 0;
            let mut lines: Vec<_> =
                (0..random.below(30)).map(|_| line(random, &own, is_agent == 1).to_string()).collect();
            if fork {
                let origin = json!({"sessionId": other});
                let first = json!({"type": "user", "uuid": format!("f{number}"), "sessionId": own, "forkedFrom": origin});
                lines.insert(0, first.to_string());
            }
            let text = lines.join("\n") + "\n";
            let path = folder.join("projects/-p").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            files.push(path);
        }
    }
    files
}

fn line(random: &mut Random, session: &str, is_agent: bool) -> Value {
    let request = random.below(4);
    let mut usage = json!({"input_tokens": random.below(50), "output_tokens": random.below(500), "cache_read_input_tokens": random.below(3)});
    if random.below(2) == 0 {
        usage["cache_creation_input_tokens"] = json!(random.below(100));
        usage["cache_creation"] = json!({"ephemeral_1h_input_tokens": random.below(60), "ephemeral_5m_input_tokens": random.below(60)});
    }
    if random.below(8) == 0 {
        usage["output_tokens"] =
            random.pick(&[json!(-1), json!("7"), json!(1.5), json!(null), json!(1e20), json!(3.0)]).clone();
    }
    if random.below(8) == 0 {
        usage["iterations"] =
            json!([{"type": "message"}, {"type": "advisor_message", "model": "advisor", "output_tokens": 9}]);
    }
    let mut line = json!({
        "type": "assistant",
        "uuid": format!("u{}", random.below(40)),
        "sessionId": session,
        "isSidechain": is_agent || random.below(6) == 0,
        "message": {"id": format!("m{}", random.below(12)), "model": "claude-opus-4-8", "usage": usage},
    });
    // A message has one request, or another one in a replay of a subagent: a line without one belongs to the earliest.
    if request > 0 {
        let side = line["isSidechain"] == json!(true) && random.below(2) == 0;
        line["requestId"] = json!(format!("r-{}{}", line["message"]["id"], if side { "-side" } else { "" }));
        line["timestamp"] = json!(if side { "2026-01-01T11:00:00.000Z" } else { "2026-01-01T10:00:00.000Z" });
    }
    if random.below(10) == 0 {
        line["message"].as_object_mut().unwrap().remove("id");
    }
    if random.below(10) == 0 {
        line = json!({"type": "progress", "sessionId": session, "data": {"type": "agent_progress", "agentId": "a", "message": line}});
    }
    line
}
