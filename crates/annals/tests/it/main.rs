//! The program as its users meet it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod agents;
mod bad_input;
mod bulk;
mod check;
mod completions;
mod conversation;
mod conversations;
mod entries;
mod export;
mod files;
mod independent_count;
mod insight;
#[cfg(target_os = "linux")]
mod layout;
mod list;
#[cfg(feature = "mcp")]
mod mcp;
mod operations;
mod oracle;
mod places;
mod processes;
mod prompts;
mod push;
mod record;
mod resume;
mod search;
mod secrets;
#[cfg(unix)]
mod serve;
mod serve_http;
mod show;
mod stats;
mod statusline;
mod tail;
#[cfg(target_os = "linux")]
mod terminal;
mod usage;
mod views;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use testkit::command::{Home, Ran};

const ANNALS: &str = env!("CARGO_BIN_EXE_annals");

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

fn annals(home: &Home, args: &[&str]) -> Ran {
    home.run(ANNALS, args)
}

/// Runs annals on input that it reads from a pipe.
fn feed(home: &Home, args: &[&str], input: &[u8]) -> Ran {
    let mut command = home.command(ANNALS);
    let mut child = command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who has seen enough closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    home.ran(&child.wait_with_output().unwrap())
}

/// Returns annals as a command for which files may be forbidden: to root nothing is, so it then runs as nobody.
#[cfg(unix)]
fn without_privileges(home: &Home) -> std::process::Command {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // The program may lie where nobody may look: it is copied to the home.
    let program = home.path().join("annals");
    // By a program of its own: a file that this process has just written may still be open in a child of another test.
    assert!(home.command("cp").arg(ANNALS).arg(&program).status().unwrap().success());
    let mut command = home.command(program.to_str().unwrap());
    if std::fs::metadata(home.path()).unwrap().uid() == 0 {
        command.uid(65534).gid(65534);
    }
    command
}

/// Makes a file look as if nobody had written to it for an hour.
fn rest(path: &Path) {
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options().append(true).open(path).unwrap().set_modified(an_hour_ago).unwrap();
}

/// A home with one session of two messages and a title, written by hand.
fn small_home() -> Home {
    let home = Home::new();
    let lines = [
        r#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"Why is 天气 empty?"},"uuid":"u1","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/mia/tea","sessionId":"s","version":"2.1.325"}"#,
        r#"{"parentUuid":"u1","isSidechain":false,"message":{"id":"m1","model":"claude-opus-5-5","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]},"type":"assistant","uuid":"a1","timestamp":"2026-03-01T10:00:02.500Z","version":"2.1.325"}"#,
        r#"{"parentUuid":"a1","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"no such folder","is_error":true}]},"uuid":"u2","timestamp":"2026-03-01T10:00:03.000Z","version":"2.1.325"}"#,
        r#"{"type":"custom-title","customTitle":"Tea timer","sessionId":"s"}"#,
    ];
    home.write(transcript(), lines.join("\n") + "\n");
    home
}

/// Where the small home keeps its session.
fn transcript() -> String {
    format!(".claude/projects/-home-mia-tea/{SESSION}.jsonl")
}
