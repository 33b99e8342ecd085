use super::*;

/// Lines of a conversation: each is `(type, uuid, parent, second, content)`.
fn file(lines: &[(&str, &str, &str, i64, &str)]) -> String {
    lines.iter().map(|line| entry(*line) + "\n").collect()
}

fn entry((kind, uuid, parent, second, content): (&str, &str, &str, i64, &str)) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    let (minute, second) = (second / 60, second % 60);
    let content = if content.starts_with('[') { content.to_owned() } else { format!("\"{content}\"") };
    let id = if kind == "assistant" { format!("\"id\":\"m-{uuid}\",") } else { String::new() };
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"isSidechain":false,"timestamp":"2026-01-01T00:{minute:02}:{second:02}.000Z","sessionId":"s","message":{{{id}"role":"{kind}","content":{content}}}}}"#
    )
}

const TEXT: &str = r#"[{"type":"text","text":"Yes"}]"#;

fn conversation() -> Vec<(&'static str, &'static str, &'static str, i64, &'static str)> {
    vec![
        ("user", "u1", "", 0, "One"),
        ("assistant", "a1", "u1", 60, TEXT),
        ("user", "u2", "a1", 120, "Two"),
        ("assistant", "a2", "u2", 180, TEXT),
        ("user", "u3", "a2", 240, "Three"),
        ("assistant", "a3", "u3", 300, TEXT),
    ]
}

/// Plans, applies and checks that a second repair changes nothing. Returns the plan.
fn repaired(file: &[u8]) -> Plan {
    let plan = plan(file, &RepairOptions::default());
    let after = [file, &plan.appended].concat();
    assert!(super::plan(&after, &RepairOptions::default()).is_empty(), "a second repair changes nothing");
    plan
}

fn kinds(plan: &Plan) -> Vec<(&'static str, &str)> {
    plan.changes.iter().map(|change| (change.kind.name(), &*change.uuid)).collect()
}

/// Checks a damaged file: what is changed, and that everything is sent afterwards.
fn check(file: &str, sent: usize, expected: &[(&str, &str)]) {
    let plan = repaired(file.as_bytes());
    assert_eq!(kinds(&plan), expected);
    assert_eq!((plan.after.sent, &plan.after.missing[..]), (sent, &[][..]), "all of it is sent");
    assert_eq!((plan.after.obstacle, &plan.after.violations[..]), (None, &[][..]));
}

#[test]
fn a_sound_session_is_left_alone() {
    check(&file(&conversation()), 6, &[]);
}

#[test]
fn an_entry_whose_parent_is_lost_continues_the_message_before_it() {
    let mut lines = conversation();
    lines.remove(2);
    check(&file(&lines), 5, &[("relink", "a2"), ("leaf", "a3")]);
    let mut lines = conversation();
    lines[3].2 = "";
    check(&file(&lines), 6, &[("relink", "a2"), ("leaf", "a3")]);
    let mut lines = conversation();
    lines[3].2 = "a3";
    check(&file(&lines), 6, &[("relink", "a2"), ("leaf", "a3")]);
}

#[test]
fn glued_and_hidden_entries_are_written_again() {
    let lines: Vec<String> = conversation().into_iter().map(entry).collect();
    let glued = format!("{}\n{}{}\n{}\n{}\n{}\n", lines[0], lines[1], lines[2], lines[3], lines[4], lines[5]);
    check(&glued, 6, &[("salvage", "u2"), ("leaf", "a3")]);
    let hidden = file(&conversation()).replace(&lines[2], &format!("\0\0{}", lines[2]));
    check(&hidden, 6, &[("salvage", "u2"), ("leaf", "a3")]);
    let array = file(&conversation()).replace(&lines[2], &format!("[{}]", lines[2]));
    check(&array, 6, &[("salvage", "u2"), ("leaf", "a3")]);
}

#[test]
fn lines_in_another_order_only_need_the_leaf_at_the_end() {
    let mut lines = conversation();
    lines.reverse();
    let prompt = "{\"type\":\"last-prompt\",\"leafUuid\":\"u1\",\"sessionId\":\"s\"}\n";
    check(&file(&lines), 6, &[]);
    check(&(prompt.to_owned() + &file(&lines)), 6, &[("leaf", "a3")]);
    let again = file(&conversation()) + prompt + &file(&conversation()[..3]);
    check(&again, 6, &[("leaf", "a3")]);
}

#[test]
fn a_rewind_is_not_repaired() {
    let mut lines = conversation();
    lines[4].2 = "a1";
    check(&file(&lines), 4, &[]);
}

#[test]
fn the_last_message_needs_a_time_and_must_not_be_a_subagents() {
    let lines: Vec<String> = conversation().into_iter().map(entry).collect();
    let no_time = file(&conversation()).replace("2026-01-01T00:05:00.000Z", "");
    check(&no_time, 6, &[("time", "a3"), ("leaf", "a3")]);
    let flagged = lines[5].replace("\"isSidechain\":false", "\"isSidechain\":true");
    check(&file(&conversation()).replace(&lines[5], &flagged), 6, &[("sidechain", "a3"), ("leaf", "a3")]);
}

#[test]
fn a_lost_result_is_replaced_by_a_note() {
    let mut lines = conversation();
    lines[3].4 = r#"[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]"#;
    let plan = repaired(file(&lines).as_bytes());
    let made = plan.changes.iter().find(|change| change.kind == ChangeKind::Result).unwrap();
    assert_eq!(made.line, None);
    assert_eq!((plan.before.missing.len(), plan.after.missing.len()), (1, 0));
    assert!(String::from_utf8_lossy(&plan.appended).contains("The result of this call was lost."));
}

#[test]
fn a_conversation_does_not_begin_with_a_reply() {
    let plan = repaired(file(&conversation()[1..]).as_bytes());
    assert_eq!(plan.before.violations, [(crate::Rule::FirstUser, 1)]);
    assert_eq!(plan.after.violations, []);
}

#[test]
fn content_that_the_api_refuses_is_replaced() {
    let think = r#"[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"Yes"}]"#;
    for (content, rule) in [
        (think, "thinking-signature"),
        (r#"[{"type":"tool_use","id":"t:1","name":"my tool","input":"x"}]"#, "call-id"),
        (r#"[{"type":"weird","x":1},{"type":"text","text":"Yes"}]"#, "block-type"),
    ] {
        let mut lines = conversation();
        lines[1].4 = content;
        let plan = repaired(file(&lines).as_bytes());
        assert!(
            plan.changes.iter().any(|change| change.kind == ChangeKind::Content { rule }),
            "{rule}: {plan:?}"
        );
        assert_eq!(plan.after.violations, []);
    }
}

#[test]
fn reasoning_behind_a_lost_message_is_removed() {
    let think = r#"[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"Yes"}]"#;
    let mut lines = conversation();
    (lines[1].4, lines[5].4) = (think, think);
    lines.remove(2);
    check(&file(&lines), 5, &[("relink", "a2"), ("leaf", "a3"), ("thinking", "a3")]);
    let restored = file(
        &conversation()
            .into_iter()
            .map(|mut line| {
                if line.1 == "a2" {
                    line.2 = "";
                }
                if line.1 == "a3" {
                    line.4 = think;
                }
                line
            })
            .collect::<Vec<_>>(),
    );
    check(&restored, 6, &[("relink", "a2"), ("leaf", "a3")]);
}

#[test]
fn another_branch_can_be_chosen() {
    let mut lines = conversation();
    lines[4].2 = "a1";
    let text = file(&lines);
    let options = RepairOptions { branch: Some("a2".to_owned()), ..RepairOptions::default() };
    let chosen = plan(text.as_bytes(), &options);
    assert_eq!(kinds(&chosen), [("leaf", "a2")]);
    assert_eq!(chosen.branches, [Branch { uuid: "a3".to_owned(), line: 6, messages: 2 }]);
}

#[test]
fn any_bytes_are_planned_without_a_panic() {
    for bytes in [
        &b""[..],
        b"\0\0",
        b"{",
        b"[]",
        b"{}\n{}",
        b"{\"type\":\"user\"}",
        b"[{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":\"u\"}]",
    ] {
        repaired(bytes);
    }
}
