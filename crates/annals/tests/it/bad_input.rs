//! Bad input gets a clear line and an exit code, never a panic.

use std::fs;
use std::io::{BufWriter, Write};

use insta::assert_snapshot;
use testkit::command::Home;

use crate::{annals, small_home};

/// Runs all commands on a target; returns the exit codes and the first message, which must be one line.
fn on(home: &Home, target: &str) -> (Vec<i32>, String) {
    let mut codes = Vec::new();
    let mut message = String::new();
    for command in ["show", "stats", "check"] {
        let ran = annals(home, &[command, target]);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        codes.push(ran.code.expect("it was not killed"));
        if message.is_empty() {
            message = ran.stderr;
        }
    }
    (codes, message)
}

#[test]
fn a_missing_file_is_named() {
    let (codes, message) = on(&Home::new(), "./gone.jsonl");
    assert_eq!(codes, [2, 2, 2]);
    assert_snapshot!(message, @"annals: cannot read ./gone.jsonl: there is no such file");
}

#[test]
fn a_missing_session_is_named() {
    let (codes, message) = on(&small_home(), "ffff");
    assert_eq!(codes, [1, 1, 1]);
    assert_snapshot!(message, @"
    annals: no session `ffff`
    hint: a session is named by its id, 4 or more of its first characters, its title, or `latest`
    ");
}

#[test]
fn an_ambiguous_session_lists_its_candidates() {
    let home = small_home();
    home.write(".claude/projects/-p/3e11ffff-0000-4000-8000-000000000000.jsonl", "");
    let (codes, message) = on(&home, "3e11");
    assert_eq!(codes, [2, 2, 2]);
    assert_snapshot!(message, @"
    annals: `3e11` may be any of 2 sessions
    hint: 3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55  [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl
    hint: 3e11ffff-0000-4000-8000-000000000000  [home]/.claude/projects/-p/3e11ffff-0000-4000-8000-000000000000.jsonl
    ");
}

#[test]
fn a_folder_is_read_by_stats_and_check_and_refused_by_show() {
    let home = small_home();
    let (codes, message) = on(&home, ".claude");
    assert_eq!(codes, [2, 0, 0]);
    assert_snapshot!(message, @"annals: cannot read .claude: it is a folder");
    fs::create_dir(home.path().join("empty")).unwrap();
    let nothing = annals(&home, &["stats", "empty"]);
    assert_eq!(nothing.code, Some(1));
    assert_snapshot!(nothing.stderr, @"
    annals: no transcripts in empty
    hint: name the client's folder with `--root DIR`, or a transcript by its path
    ");
}

#[test]
fn a_machine_without_history_says_so() {
    let ran = annals(&Home::new(), &["stats"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert_snapshot!(ran.stderr, @"
    annals: no sessions found
    hint: name the client's folder with `--root DIR`, or a transcript by its path
    ");
    let home = Home::new();
    let ran = annals(&home, &["stats", "--root", "."]);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"
    annals: . has no `projects` folder
    hint: a client's folder is the one that contains `projects`; for any other, name it as a path
    ");
}

#[test]
fn a_binary_file_is_read_and_reported() {
    let home = Home::new();
    let noise: Vec<u8> = (0..200_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
    home.write("noise.jsonl", noise);
    let (codes, message) = on(&home, "noise.jsonl");
    assert_eq!((codes, message.as_str()), (vec![1, 0, 1], "annals: there is no entry in this file\n"));
}

#[test]
fn a_line_of_300_megabytes_is_read() {
    let home = Home::new();
    let path = home.path().join("long.jsonl");
    let mut out = BufWriter::new(fs::File::create(&path).unwrap());
    out.write_all(br#"{"type":"user","uuid":"u","parentUuid":null,"timestamp":"2026-03-01T10:00:00Z","message":{"content":""#).unwrap();
    for _ in 0..300 {
        out.write_all(&vec![b'x'; 1_000_000]).unwrap();
    }
    out.write_all(b"\"}}\n{\"type\":\"mode\"}\n").unwrap();
    out.flush().unwrap();
    let ran = annals(&home, &["stats", "long.jsonl"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("2 lines, 300.00 MB"), "{}", ran.stdout);
}

/// As root, nothing is forbidden; the program then runs as nobody.
#[cfg(unix)]
#[test]
fn a_file_without_permission_is_named() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let home = Home::new();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let secret = home.write("secret.jsonl", "{}\n");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    // The program may lie where nobody may look: it is copied to the home.
    let program = home.path().join("annals");
    // By a program of its own: a file that this process has just written may still be open in a child of another test.
    assert!(home.command("cp").arg(crate::ANNALS).arg(&program).status().unwrap().success());
    let mut command = home.command(program.to_str().unwrap());
    if fs::metadata(home.path()).unwrap().uid() == 0 {
        command.uid(65534).gid(65534);
    }
    let ran = home.ran(&command.args(["stats", "secret.jsonl"]).output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"annals: cannot read secret.jsonl: permission denied");
}

/// Whatever a transcript or a path says, nothing that a command prints steers the terminal.
#[test]
fn no_command_passes_control_characters_on() {
    let home = Home::new();
    let evil = "a\\u001b[31mb\\u009bc\\u202ed\\u007f";
    let lines = [
        format!(
            r#"{{"type":"user","uuid":"u","parentUuid":null,"timestamp":"2026-03-01T10:00:00Z","version":"{evil}","message":{{"content":"{evil}"}}}}"#
        ),
        format!(
            r#"{{"type":"assistant","uuid":"a","parentUuid":"u","timestamp":"2026-03-01T10:00:01Z","message":{{"id":"m","model":"{evil}","content":[{{"type":"text","text":"{evil}"}},{{"type":"tool_use","id":"{evil}","name":"{evil}","input":{{"command":"{evil}"}}}},{{"type":"{evil}"}}]}}}}"#
        ),
        format!(
            r#"{{"type":"system","subtype":"{evil}","uuid":"s","parentUuid":"a","timestamp":"2026-03-01T10:00:02Z","content":"{evil}"}}"#
        ),
        format!(
            r#"{{"type":"attachment","uuid":"t","parentUuid":"s","timestamp":"2026-03-01T10:00:03Z","attachment":{{"type":"{evil}","filename":"{evil}"}}}}"#
        ),
        format!(r#"{{"type":"{evil}","sessionId":"x"}}"#),
        "broken \u{1b}[31m".to_owned(),
    ];
    let name = "evil\u{1b}[31m\u{9b}.jsonl";
    home.write(name, lines.join("\n"));
    for command in [
        &["show"][..],
        &["show", "--tools", "full"],
        &["show", "--view", "model"],
        &["turns"],
        &["tools"],
        &["stats"],
        &["check"],
    ] {
        for json in [&[][..], &["--json"]] {
            for target in [name, "./missing\u{1b}[31m.jsonl"] {
                let args = [command, json, &[target]].concat();
                let ran = home.command(crate::ANNALS).args(&args).output().unwrap();
                let printed = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
                let harmful = |character: &char| {
                    character.is_control() && *character != '\n' || *character == '\u{202e}'
                };
                assert_eq!(printed.chars().find(harmful), None, "{args:?}: {printed:?}");
            }
        }
    }
}

#[test]
fn a_failure_outweighs_problems() {
    let home = Home::new();
    home.write("d/bad.jsonl", "{\"type\":\"mode\",\"sessionId\":\"s\"}\nbroken\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", home.path().join("d/gone.jsonl")).unwrap();
    let ran = annals(&home, &["check", "d"]);
    assert_eq!(ran.code, Some(if cfg!(unix) { 2 } else { 1 }), "{}", ran.stderr);
    assert!(ran.stdout.contains("no JSON at all"), "{}", ran.stdout);
}
