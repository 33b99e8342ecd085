//! Following sessions from the command line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use testkit::command::Home;

use crate::{ANNALS, SESSION, annals};

/// A program that is ended with the test.
struct Tail(Child, BufReader<ChildStdout>);

impl Tail {
    fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_as(home.command(ANNALS), args)
    }

    fn start_as(mut command: Command, args: &[&str]) -> Self {
        command.arg("tail").args(args);
        if !args.contains(&"--seconds") {
            command.args(["--seconds", "30"]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        // It follows once it has said so.
        if !args.contains(&"--json") {
            BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        }
        Self(child, out)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Returns the next lines, with ids cut short.
    fn lines<const COUNT: usize>(&mut self) -> [String; COUNT] {
        std::array::from_fn(|_| self.line().replace("-93c1-4d41-9f0c-2a6f0f9f7a55", "…"))
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn record(home: &Home, text: &str) {
    let mut child = home
        .command(ANNALS)
        .args(["record", "--session", SESSION, "--project", "p"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let draft = serde_json::json!({"type": "user", "message": {"role": "user", "content": text}});
    writeln!(child.stdin.take().unwrap(), "{draft}").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_session_is_shown_as_it_grows() {
    let home = Home::new();
    home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), "{\"type\":\"mode\"}\n");
    let mut tail = Tail::start(&home, &[SESSION]);
    record(&home, "Hello 你好 \u{1b}[31mred");
    assert_eq!(tail.line(), "❯ Hello 你好 red");
}

/// Entries that are appended are printed as `show` prints them, whatever the transcript.
#[test]
fn what_is_appended_is_shown_as_by_show() {
    let cases = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus")).unwrap();
    let cases = cases.map(|case| case.unwrap().path());
    let mut compared = 0;
    for case in cases.filter(|case| case.file_name().unwrap().to_string_lossy().starts_with("item-")) {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        // Whether a prompt still waits in the queue is known at the end only, and a replaced result is found in the whole file.
        if ["item-queue", "item-content-replacement"].contains(&&*name) {
            continue;
        }
        let transcript = std::fs::read_to_string(case.join("session.jsonl")).unwrap();
        let home = Home::new();
        let path = home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), "{\"type\":\"mode\"}\n");
        let mut tail = Tail::start(&home, &[SESSION, "--poll"]);
        let end = r#"{"type":"user","message":{"content":"The end"}}"#;
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(format!("{}\n{end}\n", transcript.trim_end()).as_bytes()).unwrap();
        let mut appended: Vec<String> = Vec::new();
        while appended.last().is_none_or(|line| line != "❯ The end") {
            appended.push(tail.line());
            assert!(appended.len() < 1000, "{name}: {appended:#?}");
        }
        assert_eq!(appended.pop().as_deref(), Some("❯ The end"));
        home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), &*transcript);
        let shown = annals(&home, &["show", SESSION, "--no-pager"]);
        let is_entry = |line: &&str| !line.is_empty() && !line.starts_with("── ");
        let mut lines = shown.stdout.lines();
        // The number of turns is the last line of the header.
        lines.find(|line| line.starts_with("turns "));
        let shown: Vec<_> = lines.filter(is_entry).map(str::trim_end).collect();
        let appended: Vec<_> = appended.iter().filter(|line| !line.is_empty()).map(|line| &**line).collect();
        assert_eq!(appended, shown, "{name}");
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn a_call_is_shown_again_with_how_it_ended() {
    let home = Home::new();
    let call = r#"{"type":"assistant","uuid":"a","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"steep 茶"}}]}}"#;
    let result = r#"{"type":"user","uuid":"b","parentUuid":"a","timestamp":"2026-01-01T00:00:03Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"cold"}]}}"#;
    let path = home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), "{\"type\":\"mode\"}\n");
    let mut tail = Tail::start(&home, &[SESSION]);
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "{call}").unwrap();
    assert_eq!(tail.line(), "  ▸ Bash steep 茶 → pending");
    writeln!(file, "{result}").unwrap();
    assert_eq!(tail.line(), "  ▸ Bash steep 茶 → error 2.0 s");
}

#[test]
fn a_result_that_comes_after_a_prompt_is_shown_with_its_call() {
    let home = Home::new();
    let call = r#"{"type":"assistant","uuid":"a","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"steep 茶"}}]}}"#;
    let prompt = r#"{"type":"user","uuid":"p","parentUuid":"a","timestamp":"2026-01-01T00:00:02Z","message":{"content":"Is it ready?"}}"#;
    let result = r#"{"type":"user","uuid":"b","parentUuid":"a","timestamp":"2026-01-01T00:00:03Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"warm"}]}}"#;
    // The prompt comes while the session is followed, or came before.
    for before in [1, 2] {
        let lines = [call, prompt, result].map(|line| format!("{line}\n"));
        let path = home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), lines[..before].concat());
        let mut tail = Tail::start(&home, &[SESSION, "--turns", "0"]);
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        for line in &lines[before..] {
            file.write_all(line.as_bytes()).unwrap();
            let expected =
                if line.contains("ready") { "❯ Is it ready?" } else { "  ▸ Bash steep 茶 → ok 2.0 s" };
            assert_eq!(tail.line(), expected);
        }
    }
}

#[test]
fn an_end_that_is_too_far_away_for_the_clock_is_no_end() {
    for seconds in [u64::MAX, u64::MAX / 2, 1 << 40] {
        let home = Home::new();
        home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), "{\"type\":\"mode\"}\n");
        let mut tail = Tail::start(&home, &[SESSION, "--seconds", &seconds.to_string()]);
        record(&home, "Hello");
        assert_eq!(tail.line(), "❯ Hello", "{seconds}");
    }
}

#[test]
fn the_json_of_all_sessions_has_every_entry() {
    let home = Home::new();
    home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), "{\"type\":\"mode\"}\n");
    let mut tail = Tail::start(&home, &["--all", "--json", "--poll"]);
    // It may not have begun yet: what it has not seen as old, it tells as new.
    std::thread::spawn({
        let path = home.path().join(format!(".claude/projects/-p/{SESSION}.jsonl"));
        move || {
            for number in 0..20 {
                std::thread::sleep(std::time::Duration::from_millis(100));
                let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
                writeln!(file, "{{\"type\":\"user\",\"n\":{number}}}").unwrap();
            }
        }
    });
    let first: Value = serde_json::from_str(&tail.line()).unwrap();
    let second: Value = serde_json::from_str(&tail.line()).unwrap();
    assert_eq!((&first["event"], &first["session"]), (&"appended".into(), &SESSION.into()));
    assert_eq!(second["entry"]["n"].as_u64().unwrap(), first["entry"]["n"].as_u64().unwrap() + 1);
    assert!(second["offset"].as_u64() > first["offset"].as_u64());
    let nothing = annals(&home, &["tail"]);
    assert_eq!(nothing.code, Some(2));
    assert_eq!(annals(&home, &["tail", "nope"]).code, Some(1));
    let folder = annals(&home, &["tail", ".claude/projects"]);
    assert_eq!(
        (folder.code, &*folder.stderr),
        (Some(2), "annals: cannot read .claude/projects: it is a folder\n")
    );
}

#[test]
fn sessions_of_a_client_that_has_not_run_yet_are_shown_once_it_does() {
    let home = Home::new();
    let mut tail = Tail::start(&home, &["--all"]);
    record(&home, "The first of all");
    assert_eq!(tail.lines(), ["── new: 3e11a6b4…", "── 3e11a6b4…", "❯ The first of all"]);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_for_a_while_is_neither_gone_nor_new() {
    use std::fs::{File, Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    const OTHER: &str = "0b0b0b0b-93c1-4d41-9f0c-2a6f0f9f7a55";
    let said = |text: &str| format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{text}\"}}}}\n");
    let allow = |path: &std::path::Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let home = Home::new();
    let file = home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), said("old"));
    let beside = home.write(format!(".claude/projects/-q/{OTHER}.jsonl"), said("old"));
    let folder = beside.parent().unwrap();
    let open = |path| File::options().append(true).open(path).unwrap();
    let (mut writer, mut writer_beside) = (open(&file), open(&beside));
    allow(&file, 0o000);
    allow(folder, 0o000);
    let mut tail = Tail::start_as(crate::without_privileges(&home), &["--all"]);
    allow(&file, 0o644);
    writer.write_all(said("one").as_bytes()).unwrap();
    assert_eq!(tail.lines(), ["── 3e11a6b4…", "❯ one"]);
    allow(folder, 0o755);
    assert_eq!(tail.lines(), ["── new: 0b0b0b0b…", "── 0b0b0b0b…", "❯ old"]);
    allow(folder, 0o000);
    allow(&file, 0o000);
    for (writer, text) in [(&mut writer_beside, "unseen"), (&mut writer, "two")] {
        writer.write_all(said(text).as_bytes()).unwrap();
    }
    allow(&file, 0o644);
    assert_eq!(tail.lines(), ["── 3e11a6b4…", "❯ two"]);
    allow(folder, 0o755);
    assert_eq!(tail.lines(), ["── 0b0b0b0b…", "❯ unseen"]);
}

/// Waits until all sessions are followed: only what happens from then on is told.
fn wait_until_followed(tail: &mut Tail, path: std::path::PathBuf) {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let interval = std::time::Duration::from_millis(50);
        while stopped.recv_timeout(interval) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
            writeln!(file, "{{\"type\":\"mode\"}}").unwrap();
        }
    });
    assert!(tail.line().contains("appended"));
    drop(stop);
    writer.join().unwrap();
}

#[test]
fn what_happens_around_sessions_is_told() {
    for poll in [&[][..], &["--poll"]] {
        let home = Home::new();
        let prompt =
            "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"message\":{\"content\":\"Hello\"}}\n";
        let path = home.write(format!(".claude/projects/-p/{SESSION}.jsonl"), prompt);
        let mut tail = Tail::start(&home, &[&["--all", "--json"], poll].concat());
        wait_until_followed(&mut tail, path.clone());
        let mut next = || loop {
            let event: Value = serde_json::from_str(&tail.line()).unwrap();
            if event["event"] != "appended" {
                return event;
            }
        };
        let event = |name: &str| Value::from(name);
        assert_eq!(annals(&home, &["archive", SESSION]).code, Some(0));
        let told = next();
        assert_eq!((&told["event"], &told["session"]), (&event("archived"), &event(SESSION)));
        assert_eq!(annals(&home, &["unarchive", SESSION]).code, Some(0));
        assert_eq!(next()["event"], "unarchived");
        let folder = format!(".claude/projects/-p/{SESSION}");
        home.write(format!("{folder}/custom-title.json"), "{\"customTitle\":\"天气\"}");
        let told = next();
        assert_eq!((&told["event"], &told["title"]), (&event("title"), &event("天气")));
        let pid = std::process::id();
        let record =
            home.write(".claude/sessions/1.json", format!("{{\"pid\":{pid},\"sessionId\":\"{SESSION}\"}}"));
        assert_eq!(next()["event"], "opened");
        std::fs::remove_file(record).unwrap();
        assert_eq!(next()["event"], "closed");
        crate::rest(&path);
        assert_eq!(annals(&home, &["delete", SESSION]).code, Some(0));
        let told = [next(), next()];
        let kinds = || {
            told.iter().map(|told| told["event"].as_str().unwrap()).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(kinds(), ["removed", "trashed"].into());
        assert!(
            told.iter().any(|told| told["event"] == "trashed" && told["trashEntry"].is_string()),
            "{told:?}"
        );
        assert_eq!(annals(&home, &["delete", SESSION, "--purge"]).code, Some(0));
        assert_eq!(next()["event"], "purged");
    }
}
