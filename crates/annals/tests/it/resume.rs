//! `annals resume`.

use std::path::PathBuf;

use testkit::command::{Home, Ran};

use crate::{ANNALS, SESSION, annals, rest};

const OTHER: &str = "44444444-93c1-4d41-9f0c-2a6f0f9f7a55";

/// A home whose sessions belong to folders in it, and a Claude Code that prints where and how it was started.
fn home() -> (Home, PathBuf) {
    let home = Home::new();
    let folder = home.path().canonicalize().unwrap().join("茶 & tea");
    std::fs::create_dir(&folder).unwrap();
    for (id, minute) in [(SESSION, 0), (OTHER, 5)] {
        let path = folder.to_string_lossy();
        let line = format!(
            r#"{{"type":"user","uuid":"u1","parentUuid":null,"cwd":"{path}","timestamp":"2026-03-01T10:{minute:02}:00.000Z","sessionId":"{id}","version":"2.1.325","message":{{"role":"user","content":"Boil {minute} cups"}}}}"#
        );
        let key = annals_transcript::project::folder_name(&path);
        let transcript = home.write(format!(".claude/projects/{key}/{id}.jsonl"), line + "\n");
        rest(&transcript);
    }
    home.write("claude.sh", "#!/bin/sh\npwd\necho \"config=$CLAUDE_CONFIG_DIR\"\nfor word in \"$@\"; do echo \"[$word]\"; done\nexit 7\n");
    (home, folder)
}

fn resume(home: &Home, folder: &std::path::Path, args: &[&str]) -> Ran {
    let mut command = home.command(ANNALS);
    command.env("ANNALS_CLAUDE", "sh \"$PWD/claude.sh\"".replace("$PWD", &home.path().to_string_lossy()));
    home.ran(&command.current_dir(folder).arg("resume").args(args).output().unwrap())
}

#[cfg(unix)]
#[test]
fn claude_code_runs_in_the_folder_of_the_session() {
    let (home, folder) = home();
    let ran = resume(&home, std::path::Path::new("/"), &["cups 0", "--fork", "--", "-p", "two words"]);
    let expected = format!(
        "{}\nconfig=\n[--resume]\n[{SESSION}]\n[--fork-session]\n[-p]\n[two words]\n",
        folder.to_string_lossy().replace(&*home.path().to_string_lossy(), "[home]")
    );
    // Its exit code is that of Claude Code, which annals has become.
    assert_eq!((ran.code, ran.stdout, ran.stderr), (Some(7), expected, String::new()));
}

#[cfg(unix)]
#[test]
fn without_a_name_it_is_the_most_recent_session_of_the_folder() {
    let (home, folder) = home();
    let ran = resume(&home, &folder, &[]);
    assert!(ran.stdout.contains(&format!("[{OTHER}]")), "{ran:?}");
    let ran = resume(&home, home.path(), &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.starts_with("annals: no session of this folder\nhint: "), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn the_printed_command_does_the_same_in_a_shell() {
    let (home, folder) = home();
    let print = |args: &[&str]| {
        let mut command = home.command(ANNALS);
        home.ran(&command.arg("resume").args(args).output().unwrap())
    };
    let ran = print(&["3e11", "--print"]);
    let shown = folder.to_string_lossy().replace(&*home.path().to_string_lossy(), "[home]");
    assert_eq!((ran.code, ran.stdout), (Some(0), format!("cd -- '{shown}' && claude --resume {SESSION}\n")));
    // Another config folder than the one that Claude Code would use has to be named.
    std::fs::rename(home.path().join(".claude"), home.path().join("backup")).unwrap();
    let ran = print(&["3e11", "--print", "--root", "backup"]);
    assert!(ran.stdout.contains("' && CLAUDE_CONFIG_DIR="), "{}", ran.stdout);
    let ran = print(&["3e11", "--json", "--root", "backup"]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["command"], serde_json::json!(["claude", "--resume", SESSION]));
    assert!(json["config"].as_str().unwrap().ends_with("/backup"), "{json}");
}

#[cfg(unix)]
#[test]
fn a_session_is_resumed_by_its_day() {
    let (home, folder) = home();
    let key = annals_transcript::project::folder_name(&folder.to_string_lossy());
    let later = "66666666-93c1-4d41-9f0c-2a6f0f9f7a55";
    write_session(&home, &key, later, &[folder.to_str().unwrap()]);
    let path = home.path().join(format!(".claude/projects/{key}/{later}.jsonl"));
    let line = std::fs::read_to_string(&path).unwrap().replace("2026-03-01", "2026-03-03");
    std::fs::write(&path, line).unwrap();
    rest(&path);
    let ran = resume(&home, std::path::Path::new("/"), &["--on", "2026-03-03"]);
    assert!(ran.stdout.contains(&format!("[{later}]")), "{ran:?}");
    // Several sessions are listed, and none is continued.
    let ran = resume(&home, std::path::Path::new("/"), &["--on", "2026-03-01"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.starts_with("annals: `2026-03-01` may be any of 2 sessions\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("3e11a6b4") && ran.stderr.contains("Boil 5 cups"), "{}", ran.stderr);
    let ran = resume(&home, std::path::Path::new("/"), &["--on", "2026-03-02"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.starts_with("annals: no session for `2026-03-02`\n"), "{}", ran.stderr);
    assert_eq!(resume(&home, &folder, &["--on", "7d"]).code, Some(2));
    // A session that was continued on the third day was not active on the second.
    let lines = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        lines.replace("2026-03-03", "2026-03-01") + &lines.replace("\"uuid\":\"", "\"uuid\":\"b"),
    )
    .unwrap();
    rest(&path);
    for (day, is_active) in [("2026-03-02", false), ("2026-03-03", true)] {
        let ran = resume(&home, std::path::Path::new("/"), &["--on", day]);
        assert_eq!(ran.stdout.contains(&format!("[{later}]")), is_active, "{ran:?}");
        let listed = annals(&home, &["list", "--on", day]);
        assert_eq!(listed.stdout.contains(&later[..8]), is_active, "{listed:?}");
    }
}

#[cfg(all(unix, feature = "search"))]
#[test]
fn a_session_is_resumed_by_its_content() {
    let (home, _) = home();
    let elsewhere = std::path::Path::new("/");
    let ran = resume(&home, elsewhere, &["--search", "boil 5"]);
    assert!(ran.stdout.contains(&format!("[{OTHER}]")), "{ran:?}");
    let ran = resume(&home, elsewhere, &["--search", "boil"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("`boil` may be any of 2 sessions"), "{ran:?}");
    let ran = resume(&home, elsewhere, &["--search", "boil", "--on", "2026-03-02"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("no session for `boil`"), "{ran:?}");
    assert_eq!(resume(&home, elsewhere, &["--search", "in:nowhere"]).code, Some(2));
}

#[test]
fn what_prevents_a_session_from_being_resumed_is_said_first() {
    let (home, folder) = home();
    std::fs::remove_dir(&folder).unwrap();
    let ran = annals(&home, &["resume", "3e11"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.contains("the folder of the session is gone: ") && ran.stderr.contains("mkdir -p '"),
        "{}",
        ran.stderr
    );

    std::fs::create_dir(&folder).unwrap();
    let key = annals_transcript::project::folder_name(&folder.to_string_lossy());
    let empty = "55555555-93c1-4d41-9f0c-2a6f0f9f7a55";
    home.write(
        format!(".claude/projects/{key}/{empty}.jsonl"),
        "{\"type\":\"custom-title\",\"customTitle\":\"Empty\"}\n",
    );
    let ran = annals(&home, &["resume", empty]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("Claude Code would not resume this session: "), "{}", ran.stderr);

    // This process is as good as a Claude Code that has the session open.
    let registry = format!(r#"{{"pid":{},"sessionId":"{SESSION}","cwd":"/"}}"#, std::process::id());
    home.write(format!(".claude/sessions/{}.json", std::process::id()), registry);
    let ran = annals(&home, &["resume", "3e11"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("the session is open: ") && ran.stderr.contains("--fork"), "{}", ran.stderr);
    let ran = annals(&home, &["resume", "3e11", "--fork", "--print"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");

    let mut command = home.command(ANNALS);
    command.env("ANNALS_CLAUDE", "no-such-program --flag").args(["resume", "4444"]);
    let ran = home.ran(&command.output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("cannot run `no-such-program`: there is no such program"), "{}", ran.stderr);
}

/// Writes a session with these working directories to a project.
fn write_session(home: &Home, key: &str, id: &str, cwds: &[&str]) {
    let line = |cwd: &&str| {
        let cwd = serde_json::to_string(cwd).unwrap();
        format!(
            r#"{{"type":"user","uuid":"u1","parentUuid":null,"cwd":{cwd},"timestamp":"2026-03-01T10:00:00.000Z","sessionId":"{id}","version":"2.1.325","message":{{"role":"user","content":"Boil"}}}}"#
        ) + "\n"
    };
    let lines: String = cwds.iter().map(line).collect();
    rest(&home.write(format!(".claude/projects/{key}/{id}.jsonl"), lines));
}

#[cfg(unix)]
#[test]
fn the_printed_command_is_exact_whatever_the_folder_is_called() {
    let home = Home::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    for (number, name) in [&*secret, "two\nlines", "esc\u{1b}[31m", "don't $(touch pwned)"].iter().enumerate()
    {
        let folder = home.path().canonicalize().unwrap().join(name);
        std::fs::create_dir(&folder).unwrap();
        let id = format!("{number:08}-93c1-4d41-9f0c-2a6f0f9f7a55");
        let path = folder.to_str().unwrap();
        write_session(&home, &annals_transcript::project::folder_name(path), &id, &[path]);
        let printed = home.command(ANNALS).args(["resume", &id, "--print"]).output().unwrap();
        let line = String::from_utf8(printed.stdout).unwrap();
        assert!(!line.trim_end_matches('\n').contains(char::is_control), "{line:?}");
        let script = format!("claude() {{ printf '%s|' \"$PWD\" \"$@\"; }}\n{line}");
        let ran = home.command("bash").args(["--norc", "-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(ran.stdout).unwrap(), format!("{path}|--resume|{id}|"), "{line}");
        assert!(!home.path().join("pwned").exists(), "{line}");
    }
}

#[cfg(unix)]
#[test]
fn claude_code_is_not_started_where_it_would_not_find_the_session() {
    let home = Home::new();
    let other = home.path().canonicalize().unwrap().join("other");
    std::fs::create_dir(&other).unwrap();
    write_session(&home, "-src-tea", SESSION, &[other.to_str().unwrap()]);
    let ran = annals(&home, &["resume", SESSION, "--print"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    for part in
        ["it lies in the project -src-tea, and", "/other\n", "`annals hydrate ", " --project ", "`--force`"]
    {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = annals(&home, &["resume", SESSION, "--print", "--force"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("/other && claude --resume "), "{ran:?}");
    // What the hint says does help.
    let transcript = format!(".claude/projects/-src-tea/{SESSION}.jsonl");
    let ran = annals(&home, &["hydrate", &transcript, "--project", "other", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let copy: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let copy = copy["session"].as_str().or(copy["sessionId"].as_str()).unwrap_or_else(|| panic!("{copy}"));
    let ran = annals(&home, &["resume", copy, "--print"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("/other && claude --resume "), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn a_path_that_is_no_folder_is_not_called_gone() {
    let home = Home::new();
    let file = home.write("notes", "").canonicalize().unwrap();
    let path = file.to_str().unwrap();
    write_session(&home, &annals_transcript::project::folder_name(path), SESSION, &[path]);
    let ran = annals(&home, &["resume", SESSION]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("is not a folder: ") && !ran.stderr.contains("mkdir"), "{}", ran.stderr);
    for cwd in ["-", "src/tea", "C:\\src\\tea"] {
        write_session(&home, "-", OTHER, &[cwd]);
        let ran = annals(&home, &["resume", OTHER, "--print", "--force"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{cwd}");
        assert!(ran.stderr.contains("records no absolute working directory"), "{}", ran.stderr);
    }
}
