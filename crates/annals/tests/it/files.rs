//! Files that a session changed, and their backups.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::command::Home;

use crate::{SESSION, annals};

const NOTES: &str = "0a1b2c3d4e5f6071";
const SCRIPT: &str = "1111222233334444";

/// A session in the folder `work` of the home, in the shape in which Claude Code records files: `notes.txt` is created in
/// answer to the first prompt and changed in answer to the second; a subagent changes `脚本 🎋.py`.
fn home_with_session() -> Home {
    let home = Home::new();
    let cwd = home.path().join("work");
    fs::create_dir(&cwd).unwrap();
    let file = |name: &str| cwd.join(name).to_str().unwrap().to_owned();
    let message = |kind: &str, id: &str, parent: Option<&str>, minute: u32, content: Value| {
        json!({"parentUuid": parent, "isSidechain": false, "type": kind, "uuid": id, "sessionId": SESSION,
            "cwd": cwd, "version": "2.1.325", "timestamp": format!("2025-06-01T10:{minute:02}:00.000Z"),
            "message": {"role": kind, "content": content}})
    };
    let call = |id: &str, name: &str, path: &str| json!([{"type": "tool_use", "id": id, "name": name, "input": {"file_path": path}}]);
    let result = |id: &str, is_error: bool| json!([{"type": "tool_result", "tool_use_id": id, "content": "done", "is_error": is_error}]);
    let backup = |name: Option<&str>, version: u32, minute: u32| json!({"backupFileName": name, "version": version, "backupTime": format!("2025-06-01T10:{minute:02}:00.000Z")});
    let snapshot = |id: &str, backups: Value| {
        json!({"type": "file-history-snapshot", "messageId": id, "isSnapshotUpdate": false,
            "snapshot": {"messageId": id, "trackedFileBackups": backups, "timestamp": "2025-06-01T10:00:00.000Z"}})
    };
    let v2 = format!("{NOTES}@v2");
    let lines = [
        snapshot("p1", json!({})),
        message("user", "p1", None, 1, json!("Write notes")),
        message("assistant", "a1", Some("p1"), 2, call("t1", "Write", &file("notes.txt"))),
        json!({"type": "file-history-delta", "messageId": "a1", "snapshotMessageId": "p1", "trackingPath": "notes.txt",
            "backup": backup(None, 1, 2), "timestamp": "2025-06-01T10:02:00.000Z"}),
        message("user", "r1", Some("a1"), 3, result("t1", false)),
        message("assistant", "b1", Some("r1"), 3, call("t2", "Edit", &file("never.txt"))),
        message("user", "s1", Some("b1"), 3, result("t2", true)),
        snapshot("p2", json!({"notes.txt": backup(Some(&v2), 2, 4)})),
        message("user", "p2", Some("s1"), 4, json!("Change them")),
        message("assistant", "a2", Some("p2"), 5, call("t3", "Edit", &file("notes.txt"))),
        message("user", "r2", Some("a2"), 6, result("t3", false)),
        snapshot(
            "p3",
            json!({
                "notes.txt": backup(Some(&format!("{NOTES}@v3")), 3, 7),
                "脚本 🎋.py": backup(Some(&format!("{SCRIPT}@v1")), 1, 6),
                "../../etc/passwd": backup(Some("../../../work/secret"), 1, 7),
                "C:\\Users\\魏\\表.csv": backup(Some("..\\secret"), 1, 7),
                "/etc/shadow": backup(Some("/etc/passwd"), 1, 7),
            }),
        ),
        message("user", "p3", Some("r2"), 7, json!("Thanks")),
    ];
    let text = |lines: &[Value]| lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    home.write(format!(".claude/projects/-work/{SESSION}.jsonl"), text(&lines));
    let agent = [
        message("assistant", "g1", None, 6, call("t9", "MultiEdit", &file("脚本 🎋.py"))),
        message("user", "g2", Some("g1"), 6, result("t9", false)),
    ];
    home.write(format!(".claude/projects/-work/{SESSION}/subagents/agent-a1.jsonl"), text(&agent));
    for (name, content) in [(v2, "one\ntwo\n"), (format!("{NOTES}@v3"), "one\nzwei\n")] {
        home.write(format!(".claude/file-history/{SESSION}/{name}"), content);
    }
    home.write("work/secret", "secret");
    home
}

fn listed(home: &Home, args: &[&str]) -> Vec<Value> {
    let ran = annals(home, &[&["files"], args, &["--json"]].concat());
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn read(home: &Home, path: &str) -> String {
    fs::read_to_string(home.path().join(path)).unwrap()
}

#[test]
fn the_files_of_a_session_are_listed_with_their_versions() {
    let home = home_with_session();
    // How wide the first column is depends on where the test runs.
    let rows = annals(&home, &["files", SESSION]).stdout;
    let rows: Vec<_> = rows.lines().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_snapshot!(rows.join("\n"), @"
    file edits versions backups changed
    /etc/shadow 0 1 0 of 1 -
    [home]/work/../../etc/passwd 0 1 0 of 1 -
    [home]/work/notes.txt 2 3 2 2025-06-01
    [home]/work/脚本 🎋.py 1 1 0 of 1 2025-06-01
    C:/Users/魏/表.csv 0 1 0 of 1 -
    ");
    let files = listed(&home, &[SESSION]);
    assert_eq!(files.len(), 5, "a call that failed changed nothing");
    let notes = files.iter().find(|file| file["path"].as_str().unwrap().ends_with("notes.txt")).unwrap();
    assert_eq!(
        notes["versions"],
        json!([
            {"version": 1, "time": "2025-06-01T10:02:00.000Z", "messageId": "p1", "backup": "no_file", "size": null},
            {"version": 2, "time": "2025-06-01T10:04:00.000Z", "messageId": "p2", "backup": "kept", "size": 8},
            {"version": 3, "time": "2025-06-01T10:07:00.000Z", "messageId": "p3", "backup": "kept", "size": 9},
        ])
    );
    assert_eq!((&notes["edits"], &notes["lastEditAt"]), (&json!(2), &json!("2025-06-01T10:06:00.000Z")));
    let script = files.iter().find(|file| file["path"].as_str().unwrap().ends_with("脚本 🎋.py")).unwrap();
    assert_eq!((&script["edits"], &script["versions"][0]["backup"]), (&json!(1), &json!("missing")));
}

#[test]
fn the_version_that_held_at_a_message_is_restored() {
    let home = home_with_session();
    let restore = |at: &str, more: &[&str]| {
        annals(&home, &[&["files", SESSION, "--at", at, "--restore", "notes.txt"], more].concat())
    };
    // A reply is answered to a prompt: the version before everything that was changed in answer to it.
    for (at, content) in
        [("p2", "one\ntwo\n"), ("a2", "one\ntwo\n"), ("r2", "one\ntwo\n"), ("p3", "one\nzwei\n")]
    {
        assert_eq!(restore(at, &["-o", "-"]).stdout, content, "{at}");
    }
    let ran = restore("a1", &["-o", "-"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    assert!(ran.stderr.contains("did not exist when that message was sent"), "{}", ran.stderr);
    // Where the file was, if nothing else is said. The transcript says where, so the path is confirmed.
    let ran = restore("p2", &[]);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"
    annals: the file would be written to [home]/work/notes.txt, of which only the end was given; nothing was written
    hint: `--yes` writes to that path; `-o OUT` writes to another file
    ");
    let ran = restore("p2", &["--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(read(&home, "work/notes.txt"), "one\ntwo\n");
    assert!(restore("p2", &[]).stderr.contains("is version 2 already"));
    // A file that is there is replaced only with `--yes`, or when its difference was confirmed.
    let ran = restore("p3", &[]);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"
    @@ -1,2 +1,2 @@
     one
    -two
    +zwei
    annals: [home]/work/notes.txt exists and is different; nothing was written
    hint: `--yes` replaces it without asking; `-o OUT` writes to another file
    ");
    assert_eq!(read(&home, "work/notes.txt"), "one\ntwo\n");
    let ran = restore("p3", &["--yes", "--json"]);
    assert_snapshot!(ran.stdout, @r#"{"path":"[home]/work/notes.txt","version":3,"output":"[home]/work/notes.txt","size":9,"written":true}"#);
    assert_eq!(read(&home, "work/notes.txt"), "one\nzwei\n");
    let left: Vec<_> =
        fs::read_dir(home.path().join("work")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn what_a_transcript_calls_a_backup_is_opened_only_in_the_backup_folder() {
    let home = home_with_session();
    for path in ["etc/passwd", "表.csv", "/etc/shadow"] {
        let ran = annals(&home, &["files", SESSION, "--at", "p3", "--restore", path, "-o", "-"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{path}");
        assert!(ran.stderr.contains("it was not opened") && !ran.stderr.contains("secret"), "{}", ran.stderr);
    }
    let refused =
        listed(&home, &[SESSION]).iter().filter(|file| file["versions"][0]["backup"] == "refused").count();
    assert_eq!(refused, 3);
}

#[cfg(unix)]
#[test]
fn links_are_followed_neither_to_a_backup_nor_to_a_target() {
    let home = home_with_session();
    let at = |path: &str| home.path().join(path);
    let backup = at(&format!(".claude/file-history/{SESSION}/{NOTES}@v2"));
    fs::remove_file(&backup).unwrap();
    std::os::unix::fs::symlink(at("work/secret"), &backup).unwrap();
    let restore = |prompt: &str, out: &str| {
        annals(&home, &["files", SESSION, "--at", prompt, "--restore", "notes.txt", "--yes", "-o", out])
    };
    assert!(restore("p2", "-").stderr.contains("it was not opened"));
    std::os::unix::fs::symlink(at("work/secret"), at("link")).unwrap();
    let ran = restore("p3", "link");
    assert!(ran.code == Some(2) && ran.stderr.contains("is not a regular file"), "{}", ran.stderr);
    assert_eq!(read(&home, "work/secret"), "secret");
    let ran = restore("p3", "nowhere/out.txt");
    assert!(ran.code == Some(2) && ran.stderr.contains("does not exist"), "{}", ran.stderr);
}

#[test]
fn the_versions_at_a_message_and_the_sessions_of_a_file_are_listed() {
    let home = home_with_session();
    let versions: Vec<_> = listed(&home, &[SESSION, "--at", "p2"])
        .iter()
        .map(|file| {
            (
                file["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(),
                file["versions"][0]["version"].clone(),
            )
        })
        .filter(|(name, _)| name == "notes.txt" || name.contains("脚本"))
        .collect();
    // The script was not tracked then, so its first version counts.
    assert_eq!(versions, [("notes.txt".to_owned(), json!(2)), ("脚本 🎋.py".to_owned(), json!(1))]);
    let sessions = listed(&home, &["--file", "notes.txt"]);
    assert_eq!(sessions.len(), 1);
    assert_eq!((&sessions[0]["session"], &sessions[0]["title"]), (&json!(SESSION), &json!("Write notes")));
    assert_eq!(annals(&home, &["files", "--file", "secret"]).code, Some(1));
    for (args, message) in [
        (&["files", SESSION, "--at", "nothing"][..], "no entry begins with `nothing`"),
        (&["files", SESSION, "--at", "p"], "3 entries begin with `p`"),
        (&["files", SESSION, "--at", "p2", "--restore", "none.txt"], "changed no file whose path ends with"),
    ] {
        let ran = annals(&home, args);
        assert!(ran.code == Some(1) && ran.stderr.contains(message), "{}", ran.stderr);
    }
}

#[test]
fn the_versions_of_a_file_are_listed_with_the_messages_that_name_them() {
    let home = home_with_session();
    let rows = annals(&home, &["files", SESSION, "--file", "notes.txt"]).stdout;
    let rows: Vec<_> = rows.lines().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_snapshot!(rows.join("\n"), @"
    file version at size state recorded
    [home]/work/notes.txt 1 p1 - did not exist 2025-06-01 10:02 +00:00
    [home]/work/notes.txt 2 p2 8 B backup kept 2025-06-01 10:04 +00:00
    [home]/work/notes.txt 3 p3 9 B backup kept 2025-06-01 10:07 +00:00
    ");
    assert_eq!(listed(&home, &[SESSION, "--file", "notes.txt"]).len(), 1);
    let none = annals(&home, &["files", SESSION, "--file", "secret"]);
    assert_eq!((none.code, &*none.stderr), (Some(1), "annals: this session changed no such file\n"));
    let hint = annals(&home, &["files", SESSION]).stderr;
    assert!(hint.contains("`--file PATH` lists the versions"), "{hint}");
}

#[test]
fn a_path_that_means_several_files_is_answered_with_these() {
    let home = Home::new();
    let backup = |name: &str| json!({"backupFileName": name, "version": 1});
    let lines = [
        json!({"type": "file-history-snapshot", "messageId": "p1", "snapshot": {"messageId": "p1", "trackedFileBackups":
            {"/a/notes.txt": backup("a@v1"), "/b/notes.txt": backup("b@v1")}}}),
        json!({"type": "user", "uuid": "p1", "parentUuid": null, "cwd": "/", "sessionId": SESSION, "message": {"role": "user", "content": "x"}}),
    ];
    home.write(
        format!(".claude/projects/-work/{SESSION}.jsonl"),
        lines.map(|line| line.to_string() + "\n").concat(),
    );
    let ran = annals(&home, &["files", SESSION, "--at", "p1", "--restore", "notes.txt", "-o", "-"]);
    assert_eq!(ran.code, Some(1));
    assert_snapshot!(ran.stderr, @"
    annals: the session changed 2 files whose paths end with `notes.txt`
    hint: /a/notes.txt
    hint: /b/notes.txt
    hint: give more of the path
    ");
}

/// Where no entry tells the working directory, a path may be the end of another one.
#[test]
fn every_file_is_listed_at_a_message_even_if_its_path_is_the_end_of_another_one() {
    let home = Home::new();
    let backup = |name: &str| json!({"backupFileName": name, "version": 1});
    let line = json!({"type": "file-history-snapshot", "messageId": "p1", "snapshot": {"messageId": "p1", "trackedFileBackups":
        {"茶.txt": backup("a@v1"), "/b/茶.txt": backup("b@v1")}}});
    home.write(format!(".claude/projects/-work/{SESSION}.jsonl"), line.to_string() + "\n");
    let files = listed(&home, &[SESSION, "--at", "p1"]);
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/b/茶.txt", "茶.txt"]);
    for (name, content) in [("a@v1", "its own"), ("b@v1", "of another")] {
        home.write(format!(".claude/file-history/{SESSION}/{name}"), content);
    }
    for (path, content) in [("茶.txt", "its own"), ("/b/茶.txt", "of another"), ("b/茶.txt", "of another")]
    {
        let ran = annals(&home, &["files", SESSION, "--at", "p1", "--restore", path, "-o", "-"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(0), content), "{path}: {}", ran.stderr);
    }
}

#[test]
fn a_backup_that_is_gone_is_said_to_be_gone() {
    let home = home_with_session();
    let folder = home.path().join(format!(".claude/file-history/{SESSION}"));
    let restore = || annals(&home, &["files", SESSION, "--at", "p2", "--restore", "notes.txt", "-o", "-"]);
    for remove in [
        |folder: &Path| fs::remove_file(folder.join(format!("{NOTES}@v2"))),
        |folder: &Path| fs::remove_dir_all(folder),
    ] {
        remove(&folder).unwrap();
        let ran = restore();
        assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
        assert_eq!(
            ran.stderr,
            "annals: the backup of this version is gone\nhint: `annals files SESSION` lists the files with their versions\n"
        );
    }
}

/// The records that Claude Code 2.1.325 wrote in a terminal, with its backups; not everyone has them.
#[test]
fn files_of_sessions_that_claude_code_wrote_are_restored() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/client/tui");
    if !corpus.is_dir() {
        return;
    }
    let home = Home::new();
    let root = corpus.to_str().unwrap();
    let run = |args: &[&str]| annals(&home, &[&["--root", root, "files", "d457d9ff"], args].concat());
    let files = run(&["--json"]).stdout;
    let files: Vec<Value> = files.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let edits: Vec<_> =
        files.iter().map(|file| (file["path"].as_str().unwrap(), file["edits"].as_u64())).collect();
    assert_eq!(
        edits,
        [("/home/dev/work/tuiproj/h.txt", Some(2)), ("/home/dev/work/tuiproj/h_new.txt", Some(1))]
    );
    // After the rewind to the third prompt, the file has the content that it had there.
    for (prompt, content) in [("89683a97", "v1\n"), ("194e45c4", "v2\n"), ("dd3c8fb7", "v1\n")] {
        let ran = run(&["--at", prompt, "--restore", "h.txt", "-o", "-"]);
        assert_eq!(ran.stdout, content, "{prompt}");
    }
    assert_eq!(run(&["--at", "7fa65b3b", "--restore", "h.txt", "-o", "-"]).code, Some(1), "it did not exist");
}
