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
    hint: name a session by its id or the first 4 or more characters of it, its title, `latest`, or the path of its transcript; commands that only read also take a part of the title or words of the first prompt. `annals restore` lists deleted sessions, `annals agents SESSION` the ids of agents
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
    hint: 3e11a6b4  2026-03-01        /home/mia/tea                 Tea timer · Why is 天气 empty?
    hint: 3e11ffff-0000-4000-8000-000000000000  [home]/.claude/projects/-p/3e11ffff-0000-4000-8000-000000000000.jsonl
    hint: give more of the id or the title, or the path of the transcript
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
    hint: name the config folder of Claude Code with `--root DIR`, or a transcript by its path
    ");
}

#[test]
fn a_machine_without_history_says_so() {
    let ran = annals(&Home::new(), &["stats"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert_snapshot!(ran.stderr, @"
    annals: no sessions found in [home]/.claude/projects or [home]/.config/claude/projects
    hint: name the config folder of Claude Code with `--root DIR`; `annals roots` lists those that are searched
    ");
    let home = Home::new();
    let ran = annals(&home, &["stats", "--root", "."]);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"
    annals: [home] has no `projects` folder
    hint: a config folder of Claude Code is the one that contains `projects`; `stats`, `check` and `tools` take any other as a path
    ");
}

#[test]
fn a_binary_file_is_read_and_reported() {
    let home = Home::new();
    let noise: Vec<u8> = (0..200_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
    home.write("noise.jsonl", noise);
    let (codes, message) = on(&home, "noise.jsonl");
    assert_eq!((codes, message.as_str()), (vec![1, 0, 1], "annals: this file has no entries\n"));
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

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_named() {
    use std::os::unix::fs::PermissionsExt;

    let home = Home::new();
    let secret = home.write("secret.jsonl", "{}\n");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    let ran = home.ran(&crate::without_privileges(&home).args(["stats", "secret.jsonl"]).output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"annals: cannot read secret.jsonl: permission denied");
}

/// Whatever a transcript or a path says, nothing that a command prints steers the terminal.
#[test]
fn no_command_passes_control_characters_on() {
    let home = Home::new();
    // JSON allows all but the first unescaped.
    let evil = "a\\u001b[31mb\u{9b}c\u{202e}d\u{7f}";
    let bodies = [
        r#""type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"EVIL"}"#,
        r#""type":"user","version":"EVIL","message":{"content":"EVIL"}"#,
        r#""type":"user","message":{"content":"<bash-stdout>EVIL</bash-stdout>"}"#,
        r#""type":"user","message":{"content":"<command-name>/EVIL</command-name><command-args>EVIL</command-args>"}"#,
        r#""type":"user","message":{"content":"<ide_selection>EVIL</ide_selection>"}"#,
        r#""type":"user","message":{"content":[{"type":"image","source":{"media_type":"EVIL","data":"EVIL"}}]}"#,
        r#""type":"user","isMeta":true,"message":{"content":"EVIL"}"#,
        r#""type":"assistant","message":{"id":"m1","model":"EVIL","content":[{"type":"text","text":"EVIL"}]}"#,
        r#""type":"assistant","message":{"id":"m2","content":[{"type":"thinking","thinking":"EVIL"},{"type":"text","text":"EVIL"}]}"#,
        r#""type":"assistant","message":{"id":"m3","content":[{"type":"EVIL"},{"type":"server_tool_use","name":"EVIL"}]}"#,
        r#""type":"assistant","isApiErrorMessage":true,"message":{"id":"m4","content":[{"type":"text","text":"EVIL"}]}"#,
        r#""type":"assistant","message":{"id":"m5","content":[{"type":"tool_use","id":"EVIL","name":"EVIL","input":{"command":"EVIL","EVIL":"EVIL","todos":[{"content":"EVIL"}]}}]}"#,
        r#""type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"EVIL","content":[{"type":"text","text":"EVIL"},{"type":"EVIL"}]}]}"#,
        r#""type":"assistant","message":{"id":"m6","content":[{"type":"tool_use","id":"e","name":"Edit","input":{"old_string":"EVIL","new_string":"EVIL"}}]}"#,
        r#""type":"assistant","message":{"id":"m7","content":[{"type":"tool_use","id":"f","name":"MultiEdit","input":{"edits":[{"old_string":"EVIL","new_string":"EVIL"}]}}]}"#,
        r#""type":"assistant","message":{"id":"m8","content":[{"type":"tool_use","id":"w","name":"Write","input":{"content":"EVIL"}}]}"#,
        r#""type":"system","subtype":"EVIL","content":"EVIL""#,
        r#""type":"system","subtype":"EVIL""#,
        r#""type":"system","subtype":"local_command","content":"<local-command-stdout>EVIL</local-command-stdout>""#,
        r#""type":"attachment","attachment":{"type":"EVIL","filename":"EVIL"}"#,
        r#""type":"attachment","attachment":{"type":"hook_cancelled","hookName":"EVIL","stderr":"EVIL"}"#,
        r#""type":"attachment","attachment":{"type":"hook_system_message","hookName":"EVIL","content":"EVIL"}"#,
        r#""type":"attachment","attachment":{"type":"queued_command","prompt":"EVIL"}"#,
    ];
    let entry = |(n, body): (usize, &&str)| {
        let parent = if n == 0 { "gone EVIL".to_owned() } else { format!("{} EVIL", n - 1) };
        let (uuid, time) = (format!("{n} EVIL"), format!("2026-03-01T10:00:{n:02}Z"));
        format!(r#"{{"uuid":"{uuid}","parentUuid":"{parent}","timestamp":"{time}",{body}}}"#)
    };
    let mut lines: Vec<String> = bodies.iter().enumerate().map(entry).collect();
    lines.insert(
        3,
        r#"{"type":"user","uuid":"left EVIL","parentUuid":"1 EVIL","message":{"content":"EVIL"}}"#.to_owned(),
    );
    lines.push(r#"{"type":"EVIL","sessionId":"x"}"#.to_owned());
    lines.push("broken EVIL".to_owned());
    let name = "evil\u{1b}[31m\u{9b}.jsonl";
    home.write(name, lines.join("\n").replace("EVIL", evil));
    for command in [
        &["show"][..],
        &["show", "--expand"],
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
                assert_harmless(&home, &args);
            }
        }
    }
}

/// The words that a sidecar has for a subagent come from strangers too.
#[test]
fn titles_of_subagents_pass_no_control_characters_on() {
    let home = small_home();
    let agent = format!(".claude/projects/-home-mia-tea/{}/subagents/agent-a1", crate::SESSION);
    home.write(format!("{agent}.jsonl"), r#"{"type":"user","uuid":"s","message":{"content":"x"}}"#);
    home.write(format!("{agent}.meta.json"), r#"{"description":"a\u001b[31mb\u202ec"}"#);
    let shown = assert_harmless(&home, &["show", "latest", "--subagents"]);
    assert!(shown.contains("agent a1 a"), "{shown}");
}

/// Runs a command and returns what it prints, in which nothing steers the terminal.
fn assert_harmless(home: &Home, args: &[&str]) -> String {
    let ran = home.command(crate::ANNALS).args(args).output().expect("annals can be run");
    let printed = String::from_utf8([ran.stdout, ran.stderr].concat()).expect("it prints UTF-8");
    let harmful = |character: &char| character.is_control() && *character != '\n' || *character == '\u{202e}';
    assert_eq!(printed.chars().find(harmful), None, "{args:?}: {printed:?}");
    printed
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

#[test]
fn arguments_are_repeated_without_what_steers_a_terminal() {
    let home = Home::new();
    for arguments in [
        vec!["\u{1b}]0;owned\u{7}"],
        vec!["list", "--\u{1b}[2J"],
        vec!["list", "--limit", "\u{1b}[31m5\u{9b}1m"],
        vec!["list", "--sort", "\u{202e}dezis\u{e0041}"],
        vec!["show", "a", "b\u{1b}[5mc"],
        vec!["tail", "--seconds", "\u{1b}[8m"],
        vec!["show", "\u{1b}[31mred"],
        vec!["list", "--root", "/\u{1b}[31mred"],
        vec!["list", "--since", "\u{1b}[31mred\nannals: done"],
    ] {
        let ran = annals(&home, &arguments);
        assert!(matches!(ran.code, Some(1 | 2)) && !ran.stderr.is_empty(), "{arguments:?}: {ran:?}");
        let is_harmful = |character: char| {
            character != '\n' && character.is_control() || matches!(character, '\u{202e}' | '\u{e0041}')
        };
        assert!(!ran.stderr.contains(is_harmful), "{:?}", ran.stderr);
        assert!(!ran.stderr.contains("\nannals: done"), "{:?}", ran.stderr);
    }
    let help = annals(&home, &["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
}

#[cfg(unix)]
#[test]
fn devices_and_fifos_are_refused() {
    let home = small_home();
    let fifo = home.path().join("pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for target in ["/dev/zero", "/dev/null", "pipe.jsonl"] {
        for command in ["show", "stats", "check", "turns", "tools", "tail", "lineage"] {
            let ran = annals(&home, &[command, target]);
            assert_eq!(ran.code, Some(2), "{command} {target}: {ran:?}");
            let expected = format!("annals: cannot read {target}: it is not a regular file\n");
            assert!(ran.stderr.contains(&expected), "{command}: {}", ran.stderr);
        }
        for more in ["--view=raw", "--view=model", "--json"] {
            assert_eq!(annals(&home, &["show", target, more]).code, Some(2), "{target} {more}");
        }
    }
}

#[test]
fn the_version_names_the_commit_where_there_is_one() {
    let home = Home::new();
    let version = annals(&home, &["--version"]).stdout;
    let rest = version.trim_end().strip_prefix(concat!("annals ", env!("CARGO_PKG_VERSION"))).unwrap();
    // `(4424afe 2026-11-17)`, or nothing in a package without a repository.
    let is_commit = rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')')).is_some_and(|commit| {
        let (hash, date) = commit.split_once(' ').unwrap();
        hash.len() >= 7
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
            && date.len() == "2026-11-17".len()
    });
    assert!(rest.is_empty() || is_commit, "{version}");
}

#[test]
fn messages_name_what_is_expected() {
    let home = small_home();
    for (args, expected) in [
        (&["turns", crate::SESSION, "--pause", "x"][..], "it must be a whole number of minutes"),
        (&["show", crate::SESSION, "--view", "raw", "--subagents"], "only the full view has subagents"),
        (&["files"], "`--file PATH`"),
    ] {
        let ran = annals(&home, args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
    let unarchived = annals(&home, &["unarchive", crate::SESSION]);
    assert_eq!(unarchived.stdout, format!("{} is not archived\n", crate::SESSION));
    assert_eq!(annals(&home, &["archive", crate::SESSION]).stdout, format!("archived {}\n", crate::SESSION));
    let again = annals(&home, &["archive", crate::SESSION]);
    assert_eq!(again.stdout, format!("{} is already archived\n", crate::SESSION));
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_has_no_summary() {
    let ran = annals(&small_home(), &["check", "/dev/zero"]);
    assert_eq!(ran.code, Some(2));
    assert!(!ran.stderr.contains("no problems"), "{}", ran.stderr);
}
