//! A second opinion: Python's JSON parser counts the same.

use std::path::Path;
use std::process::Command;

use testkit::command::Home;
use testkit::corpora;

/// Python reads neither what is balanced but no JSON (annals counts it and `check` reports it) nor nesting
/// beyond its stack.
const NOT_FOR_PYTHON: [&str; 2] = ["damage-bad-syntax", "quirk-deep-nesting"];

#[test]
fn counts_of_every_transcript_equal_those_of_an_independent_program() {
    let files = corpora::transcripts();
    if corpora::beside().is_empty() {
        eprintln!("no corpora beside the checkout: only the project's own is counted");
    }
    let files: Vec<_> = files
        .iter()
        .filter_map(|path| path.to_str())
        .filter(|path| !NOT_FOR_PYTHON.iter().any(|name| path.contains(name)))
        .collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/independent_count.py");
    let counted = Command::new("python3").arg(script).args(&files).output().expect("the tests need Python 3");
    assert!(counted.status.success(), "{}", String::from_utf8_lossy(&counted.stderr));
    let counted = String::from_utf8(counted.stdout).unwrap();
    assert_eq!(counted.lines().count(), files.len());
    let home = Home::new();
    for line in counted.lines() {
        let theirs: serde_json::Value = serde_json::from_str(line).unwrap();
        let path = theirs["path"].as_str().unwrap();
        let ran = crate::annals(&home, &["stats", "--json", path]);
        let ours: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        for key in ["lines", "types", "blocks"] {
            assert_eq!(ours[key], theirs[key], "{key} of {path}");
        }
    }
}
