//! `annals record`.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use testkit::command::Home;

use crate::{SESSION, annals, feed, small_home, transcript};

/// A prompt with an id.
fn prompt(id: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"{id}\",\"message\":{{\"role\":\"user\",\"content\":\"{id}\"}}}}\n"
    )
}

const RECORD: [&str; 5] = ["record", "--session", SESSION, "--project", "tea"];

/// Returns `uuid < parent` of each line of a file, or its type.
fn shape(text: &str) -> Vec<String> {
    let spell = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let shape = |line: Value| match line.get("uuid") {
        Some(id) => format!("{} < {}", spell(id), spell(&line["parentUuid"])),
        None => spell(&line["type"]),
    };
    lines.map(shape).collect()
}

/// Returns the text of the only transcript of a session's own in a home.
fn recorded(home: &Home) -> Option<String> {
    let projects = fs::read_dir(home.path().join(".claude/projects")).ok()?;
    let mut found = projects.map(|project| project.unwrap().path().join(format!("{SESSION}.jsonl")));
    fs::read_to_string(found.find(|path| path.is_file())?).ok()
}

#[test]
fn every_batch_is_answered_and_what_is_there_is_passed_over() {
    let home = Home::new();
    let ran = feed(&home, &RECORD, (prompt("a") + "\n" + &prompt("a") + &prompt("b")).as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |line: &Value| (line["written"].clone(), line["skipped"].clone(), line["last"].clone());
    assert_eq!(told(&lines[0]), (1.into(), 0.into(), "a".into()));
    assert_eq!(told(&lines[1]), (1.into(), 1.into(), "b".into()));
    assert_eq!(lines[0]["session"], SESSION);
    assert!(lines[0]["path"].as_str().unwrap().ends_with(&format!("-tea/{SESSION}.jsonl")), "{}", ran.stdout);
    assert_eq!(shape(&recorded(&home).unwrap()), ["a < -", "b < a"]);
    let again =
        feed(&home, &[&RECORD[..], &["--batch", "1"]].concat(), (prompt("a") + &prompt("c")).as_bytes());
    assert_eq!((again.code, again.stdout.lines().count()), (Some(0), 2));
    // Each batch is for itself: what is new hangs on the end.
    assert_eq!(shape(&recorded(&home).unwrap()), ["a < -", "b < a", "c < b"]);
    let shown = annals(&home, &["show", SESSION, "--view", "model"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
}

#[cfg(unix)]
#[test]
fn what_is_recorded_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let args = [&RECORD[..], &["--agent", "a1", "--agent-type", "Explore"]].concat();
    assert_eq!(feed(&home, &args, prompt("a").as_bytes()).code, Some(0));
    let mut waiting = vec![home.path().join(".claude")];
    while let Some(path) = waiting.pop() {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, expected, "{}", path.display());
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}

#[test]
fn a_new_session_is_given_an_id_and_no_input_makes_no_file() {
    let home = Home::new();
    let ran = feed(&home, &["record"], prompt("a").as_bytes());
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(told["session"].as_str().unwrap().len(), 36);
    let home = Home::new();
    let ran = feed(&home, &RECORD, b"");
    assert_eq!((ran.code, ran.stdout.contains("\"written\":0")), (Some(0), true), "{}", ran.stdout);
    assert!(!home.path().join(".claude").exists());
}

#[test]
fn records_alone_do_not_make_a_session() {
    let home = Home::new();
    let ran = feed(&home, &RECORD, b"{\"type\":\"custom-title\",\"customTitle\":\"\xE5\xA4\xA9\"}\n");
    assert_eq!(ran.code, Some(1));
    assert_snapshot!(ran.stderr, @"annals: 1 record not written: a session must begin with a message");
    assert!(!home.path().join(".claude").exists());
}

#[test]
fn a_bad_draft_is_named_by_its_line_and_keeps_its_batch_out() {
    let home = Home::new();
    assert_eq!(feed(&home, &RECORD, prompt("a").as_bytes()).code, Some(0));
    let before = recorded(&home);
    let mut messages = Vec::new();
    for bad in [
        "no json",
        "[1]",
        "{\"type\":\"user\"}",
        "{\"type\":7}",
        "{\"type\":\"user\",\"message\":{\"content\":7}}",
        "{\"type\":\"user\",\"timestamp\":\"2026-01-31 12:00Z\",\"message\":{\"content\":\"x\"}}",
        "{\"type\":\"user\",\"parentUuid\":\"nowhere\",\"message\":{\"content\":\"x\"}}",
        "{\"type\":\"user\",\"isSidechain\":true,\"message\":{\"content\":\"x\"}}",
    ] {
        let ran = feed(&home, &RECORD, format!("\n{}{bad}\n{}", prompt("b"), prompt("c")).as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{bad}");
        assert_eq!(recorded(&home), before, "{bad}");
        messages.push(ran.stderr);
    }
    let hint = messages[0].lines().last().unwrap().to_owned();
    let messages: Vec<_> = messages.iter().map(|text| text.replace(&hint, "").trim().to_owned()).collect();
    assert_snapshot!(hint, @"hint: nothing of its batch was written; `--keep-going` skips drafts that are refused");
    assert_snapshot!(messages.join("\n"), @"
    annals: line 3: not a JSON object: syntax error at byte 2
    annals: line 3: not a JSON object: it is a value of another kind
    annals: line 3: `message` is missing
    annals: line 3: `type` must be a name
    annals: line 3: `message.content` must be text, or a list of blocks
    annals: line 3: `timestamp` must be a time such as 2026-01-31T12:00:00.000Z
    annals: line 3: there is no entry `nowhere` that it could hang on
    annals: line 3: it is a subagent's entry (`isSidechain`): record it with the agent's id
    ");
}

#[test]
fn a_known_uuid_with_other_content_is_skipped_and_refused_if_strict() {
    let home = Home::new();
    assert_eq!(feed(&home, &RECORD, (prompt("a") + &prompt("b")).as_bytes()).code, Some(0));
    let before = recorded(&home);
    let changed = "{\"type\":\"user\",\"uuid\":\"a\",\"message\":{\"content\":\"other words\"}}\n";
    let ran = feed(&home, &[&RECORD[..], &["--strict"]].concat(), changed.as_bytes());
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"
    annals: line 1: there is another entry with the uuid `a` and other content
    hint: nothing of its batch was written; `--keep-going` skips drafts that are refused
    ");
    assert_eq!(recorded(&home), before);
    let ran = feed(&home, &RECORD, (changed.to_owned() + &prompt("c")).as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("\"written\":1,\"skipped\":1"), "{}", ran.stdout);
    assert_eq!(shape(&recorded(&home).unwrap()), ["a < -", "b < a", "c < a"]);
}

#[test]
fn ephemeral_progress_is_collapsed_and_counted() {
    let home = Home::new();
    let progress = |kind: &str| {
        format!(
            "{{\"type\":\"progress\",\"uuid\":\"{kind}\",\"toolUseID\":\"t\",\"data\":{{\"type\":\"{kind}\"}}}}\n"
        )
    };
    let input = prompt("a") + &progress("bash_progress") + &progress("hook_progress") + &prompt("b");
    let args = [&RECORD[..], &["--collapse-progress", "--team-name", "tea", "--agent-name", "lead"]].concat();
    let ran = feed(&home, &args, input.as_bytes());
    assert!(ran.stdout.contains("\"written\":3"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\"collapsed\":1"), "{}", ran.stdout);
    let text = recorded(&home).unwrap();
    assert_eq!(shape(&text), ["a < -", "hook_progress < a", "b < a"]);
    assert_eq!(text.matches("\"teamName\":\"tea\",\"agentName\":\"lead\"").count(), 3, "{text}");
}

#[test]
fn an_agent_of_a_session_works_in_the_directory_of_the_session() {
    let home = small_home();
    let args = ["record", "--session", SESSION, "--agent", "a1"];
    assert_eq!(feed(&home, &args, prompt("x").as_bytes()).code, Some(0));
    let side = home.path().join(transcript()).with_extension("").join("subagents/agent-a1.jsonl");
    let text = fs::read_to_string(side).unwrap();
    assert!(text.contains("\"cwd\":\"/home/mia/tea\""), "{text}");
}

#[test]
fn a_line_of_100_megabytes_is_refused_and_the_next_one_is_not() {
    let home = Home::new();
    let mut input = b"{\"type\":\"user\",\"message\":{\"content\":\"".to_vec();
    input.resize(100_000_000, b'x');
    input.extend_from_slice(b"\"}}\n");
    input.extend_from_slice(prompt("b").as_bytes());
    let ran = feed(&home, &[&RECORD[..], &["--keep-going"]].concat(), &input);
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"annals: line 1: it has 100000004 bytes, more than the 52428800 that a line may have");
    assert_eq!(shape(&recorded(&home).unwrap()), ["b < -"]);
}

#[test]
fn keeping_going_passes_over_what_is_refused_and_says_so() {
    let home = Home::new();
    let orphan = "{\"type\":\"user\",\"uuid\":\"d\",\"parentUuid\":\"c\",\"message\":{\"content\":\"x\"}}\n";
    let input = prompt("a") + "no json\n" + &prompt("b") + orphan + &prompt("e");
    let ran = feed(&home, &[&RECORD[..], &["--keep-going"]].concat(), input.as_bytes());
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"
    annals: line 2: not a JSON object: syntax error at byte 2
    annals: line 4: there is no entry `c` that it could hang on
    ");
    assert!(
        ran.stdout.contains("\"written\":3,\"skipped\":0,\"refused\":2,\"last\":\"e\""),
        "{}",
        ran.stdout
    );
    assert_eq!(shape(&recorded(&home).unwrap()), ["a < -", "b < a", "e < b"]);
}

#[test]
fn a_subagent_has_a_file_and_facts_of_its_own_once_it_has_spoken() {
    let home = small_home();
    let agent = [
        "--agent",
        "a1",
        "--group",
        "workflows/wf_1",
        "--agent-type",
        "Explore",
        "--description",
        "看 look",
        "--tool-use-id",
        "t1",
        "--worktree",
        "/w",
    ];
    let args = [&RECORD[..], &agent].concat();
    let side = home.path().join(transcript()).with_extension("");
    let ran = feed(&home, &args, b"no json\n");
    assert_eq!((ran.code, side.exists()), (Some(2), false), "{}", ran.stderr);
    for sync in ["never", "flush", "always"] {
        let ran = feed(
            &home,
            &[&args[..], &["--sync", sync, "--entrypoint", "sdk-py"]].concat(),
            prompt(sync).as_bytes(),
        );
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    }
    let folder = side.join("subagents/workflows/wf_1");
    let text = fs::read_to_string(folder.join("agent-a1.jsonl")).unwrap();
    assert_eq!(shape(&text), ["never < -", "flush < never", "always < flush"]);
    assert!(
        text.lines()
            .all(|line| line.contains("\"isSidechain\":true,\"agentId\":\"a1\"") && line.contains("sdk-py")),
        "{text}"
    );
    assert_snapshot!(fs::read_to_string(folder.join("agent-a1.meta.json")).unwrap(), @r#"{"agentType":"Explore","description":"看 look","toolUseId":"t1","worktreePath":"/w"}"#);
    for bad in [&["record", "--agent", "a1"][..], &["record", "--session", SESSION, "--group", "x"]] {
        assert_eq!(feed(&home, bad, b"").code, Some(2));
    }
    let ran = feed(&home, &["record", "--session", SESSION, "--agent", "../x"], b"");
    assert_eq!(ran.code, Some(2));
    assert_snapshot!(ran.stderr, @"annals: `../x` cannot be the name of a subagent");
    let ran = feed(&home, &["record", "--session", "tea"], b"");
    assert_snapshot!(ran.stderr, @"
    annals: no session `tea`
    hint: is it one of these?
    hint: 3e11a6b4  2026-03-01        /home/mia/tea                 Tea timer · Why is 天气 empty?
    ");
}

#[test]
fn a_session_is_continued_where_it_lies_even_from_among_its_own_files() {
    let home = small_home();
    let project = home.path().join(transcript()).parent().unwrap().to_owned();
    fs::create_dir_all(project.join(SESSION)).unwrap();
    let mut command = home.command(crate::ANNALS);
    let mut child = command
        .args(["record", "--session", SESSION])
        .current_dir(&project)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), prompt("next").as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let text = fs::read_to_string(home.path().join(transcript())).unwrap();
    assert_eq!(shape(&text)[3..], ["custom-title", "next < u2"]);
    let shown = home
        .ran(&home.command(crate::ANNALS).args(["stats", SESSION]).current_dir(&project).output().unwrap());
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
}

#[test]
fn a_byte_order_mark_before_the_first_draft_is_passed_over() {
    let home = Home::new();
    let draft = "\u{feff}{\"type\":\"user\",\"message\":{\"content\":\"x\"}}\n";
    let ran = feed(&home, &["record", "--project", "."], draft.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}
