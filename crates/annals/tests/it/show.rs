//! `annals show`.

use std::fs;
use std::process::Stdio;

use testkit::corpora;

use crate::{ANNALS, SESSION, annals, small_home, transcript};

#[test]
fn the_raw_view_of_every_transcript_is_the_file() {
    let home = small_home();
    for path in corpora::transcripts() {
        let shown = home.command(ANNALS).arg("show").arg(&path).args(["--view", "raw"]).output().unwrap();
        assert!(shown.status.success(), "{}", path.display());
        assert!(shown.stdout == fs::read(&path).unwrap(), "{} is not shown as it is", path.display());
    }
}

#[test]
fn a_session_is_shown_by_id_prefix_title_and_latest() {
    let home = small_home();
    let file = fs::read_to_string(home.path().join(transcript())).unwrap();
    for selector in [SESSION, "3e11", "Tea timer", "latest"] {
        let shown = annals(&home, &["show", selector, "--view", "raw"]);
        assert_eq!((shown.code, &shown.stdout), (Some(0), &file), "{selector}");
    }
    let root = home.path().join(".claude");
    let elsewhere = testkit::command::Home::new();
    let shown = annals(&elsewhere, &["show", "latest", "--view", "raw", "--root", root.to_str().unwrap()]);
    assert_eq!((shown.code, &shown.stdout), (Some(0), &file));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let home = small_home();
    let big = home.write("big.jsonl", "{}\n".repeat(500_000));
    let mut child = home
        .command(ANNALS)
        .arg("show")
        .arg(big)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let finished = child.wait_with_output().unwrap();
    assert_eq!((finished.status.code(), finished.stderr.len()), (Some(0), 0));
}

/// On a terminal (`script` provides one), nothing in a transcript steers the terminal.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_no_control_characters() {
    let home = small_home();
    let evil = home.write("evil.jsonl", b"{\"type\":\"user\"}\n\x1b[31mred \xc2\x9b1m \x07bell\n");
    let line = format!("{ANNALS} show {} --view raw", evil.display());
    let shown = home.command("script").args(["-qec", &line, "/dev/null"]).output().unwrap();
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("\u{FFFD}[31mred \u{FFFD}1m \u{FFFD}bell"), "{text:?}");
}
