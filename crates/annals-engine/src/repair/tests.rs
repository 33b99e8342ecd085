use std::collections::BTreeSet;
use std::fs;

use annals_transcript::chain::Chain;
use annals_transcript::model;
use annals_transcript::session::Session;

use super::*;
use crate::analysis::graph::Places;
use crate::analysis::{Analysis, Branch, Evaluation, MissingMessage};
use crate::request_rules::FileVerdicts;
use crate::scratch::Scratch;

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
    let missing = repaired(glued.as_bytes()).before.missing;
    assert!(missing.contains(&MissingMessage { uuid: "u2".to_owned(), line: 2 }), "{missing:?}");
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

/// A prompt, a reply with two parallel calls and their results, and four more messages.
fn with_parallel_calls() -> Vec<(&'static str, &'static str, &'static str, i64, &'static str)> {
    vec![
        ("user", "u1", "", 0, "One"),
        ("assistant", "c1", "u1", 60, r#"[{"type":"tool_use","id":"t1","name":"Read","input":{}}]"#),
        ("assistant", "c2", "c1", 61, r#"[{"type":"tool_use","id":"t2","name":"Read","input":{}}]"#),
        ("user", "r1", "c1", 70, r#"[{"type":"tool_result","tool_use_id":"t1","content":"x"}]"#),
        ("user", "r2", "c2", 71, r#"[{"type":"tool_result","tool_use_id":"t2","content":"y"}]"#),
        ("assistant", "a2", "r2", 120, TEXT),
        ("user", "u3", "a2", 180, "Three"),
        ("assistant", "a3", "u3", 240, TEXT),
    ]
}

/// Returns lines of which those at some indices are moved to the end, as one reply.
fn moved(mut lines: Vec<(&str, &str, &str, i64, &str)>, indices: std::ops::Range<usize>) -> String {
    let moved: Vec<_> = lines.drain(indices).collect();
    file(&[lines, moved].concat()).replace("m-c2", "m-c1")
}

#[test]
fn calls_that_were_moved_behind_their_results_are_not_the_end() {
    // The clock was set back after the calls, so that a result seems to be older than its call, too.
    let mut lines = with_parallel_calls();
    lines[1].3 = 1000;
    lines[2].3 = 1001;
    check(&moved(lines.clone(), 1..4), 8, &[("leaf", "a3")]);
    check(&moved(lines, 1..3), 8, &[("leaf", "a3")]);
}

#[test]
fn results_of_calls_with_one_id_in_one_reply_answer_each_of_them() {
    // The results hang on each other, behind the last line of the reply.
    let mut lines = with_parallel_calls();
    lines[2].4 = lines[1].4;
    (lines[3].2, lines[4].2) = ("c2", "r1");
    lines[4].4 = r#"[{"type":"tool_result","tool_use_id":"t1","content":"y"}]"#;
    lines[5].2 = "r2";
    let text = file(&lines).replace("m-c2", "m-c1");
    check(&text, 8, &[("content", "c2"), ("content", "r1"), ("leaf", "a3")]);
}

#[test]
fn an_entry_without_a_time_stays_behind_its_parent_wherever_that_stands() {
    let lines = conversation();
    let without_time = entry(lines[3]).replace(r#","timestamp":"2026-01-01T00:03:00.000Z""#, "");
    let text = moved(lines.clone(), 1..3).replace(&entry(lines[3]), &without_time);
    check(&text, 6, &[]);
}

#[test]
fn a_message_whose_parent_is_lost_continues_lines_that_were_moved_behind_it() {
    let mut lines = conversation();
    lines.remove(3);
    check(&moved(lines, 1..3), 5, &[("relink", "u3"), ("leaf", "a3")]);
    // A branch that is newer than the message is none of these.
    let mut lines = conversation();
    lines.remove(3);
    (lines[1].3, lines[2].3) = (1000, 1001);
    let plan = plan(moved(lines, 1..3).as_bytes(), &RepairOptions::default());
    assert_eq!(plan.after.sent, 3, "{:?}", plan.changes);
}

#[test]
fn in_a_large_file_an_entry_that_spans_lines_is_written_again() {
    let filler = format!("{{\"type\":\"filler\",\"x\":\"{}\"}}\n", "y".repeat(5 << 20));
    let lines = conversation();
    let spanning = entry(lines[2]).replacen(',', ",\n ", 3);
    let text = file(&lines).replace(&entry(lines[2]), &spanning);
    check(&text, 6, &[]);
    check(&(text + &filler), 6, &[("salvage", "u2"), ("leaf", "a3")]);
}

#[test]
fn the_end_of_a_copied_beginning_is_not_the_end_of_the_conversation() {
    // Nothing hangs on the first of two results, so that it could be the last message, as after a repair.
    let two = r#"[{"type":"tool_use","id":"t1","name":"Read","input":{}},{"type":"tool_use","id":"t2","name":"Read","input":{}}]"#;
    let result = |id: &str| format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}]"#);
    let (first, second) = (result("t1"), result("t2"));
    let lines = [
        ("user", "u1", "", 0, "One"),
        ("assistant", "a1", "u1", 60, two),
        ("user", "r1", "a1", 120, &*first),
        ("user", "r2", "a1", 180, &*second),
        ("assistant", "a2", "r2", 240, TEXT),
    ];
    check(&(file(&lines) + &file(&lines[..3])), 5, &[("leaf", "a2")]);
}

#[test]
fn a_newer_end_takes_the_place_of_an_older_one() {
    let mut lines = conversation();
    lines[4].2 = "a1";
    let flagged = file(&lines[4..]).replace("\"isSidechain\":false", "\"isSidechain\":true");
    let file = file(&lines[..4]) + &flagged;
    check(&file, 4, &[("sidechain", "u3"), ("sidechain", "a3"), ("leaf", "a3")]);
}

#[test]
fn a_link_to_a_later_message_without_a_time_is_cut() {
    let mut lines = conversation();
    lines[2].2 = "a3";
    lines.remove(3);
    let file = file(&lines).replace("2026-01-01T00:05:00.000Z", "");
    check(&file, 5, &[("relink", "u2"), ("relink", "u3"), ("time", "a3"), ("leaf", "a3")]);
}

#[test]
fn messages_that_a_compaction_summarised_are_not_missed() {
    let boundary_and_summary: Vec<String> =
        compacted().lines().skip(3).take(2).map(|line| line.replace("00:02:0", "00:06:0")).collect();
    let after = [("user", "u4", "c", 420, "Four"), ("assistant", "a4", "u4", 480, TEXT)];
    let sound = file(&conversation()) + &boundary_and_summary.join("\n") + "\n" + &file(&after);
    let mut lines: Vec<&str> = sound.lines().collect();
    lines.reverse();
    check(&(lines.join("\n") + "\n"), 3, &[("leaf", "a4")]);
}

#[test]
fn a_copied_compaction_keeps_its_messages_and_brings_nothing_else_back() {
    let lines = conversation();
    let kept = r#""preservedSegment":{"headUuid":"u2","anchorUuid":"c","tailUuid":"a2"},"preservedMessages":{"anchorUuid":"c","uuids":["u2","a2"],"allUuids":["u2","a2"]}"#;
    let compaction: String = compacted()
        .lines()
        .skip(3)
        .take(2)
        .map(|line| {
            let line = line.replace("00:02:0", "00:03:3").replace("\"a1\"", "\"a2\"");
            line.replace(r#""trigger":"manual""#, &format!(r#""trigger":"manual",{kept}"#)) + "\n"
        })
        .collect();
    let mut after = lines[4..].to_vec();
    after[0].2 = "c";
    let first = file(&lines[..4]) + &compaction + &file(&after);
    // The beginning was written again under other uuids. The compaction still names the messages by their old ones.
    let copy = ["u1", "a1", "u2", "a2", "b", "c", "u3", "a3"].iter().fold(first.clone(), |copy, uuid| {
        let fields = ["uuid", "parentUuid", "logicalParentUuid"];
        fields.iter().fold(copy, |copy, field| {
            copy.replace(&format!("\"{field}\":\"{uuid}\""), &format!("\"{field}\":\"{uuid}-copy\""))
        })
    });
    let rest = [("user", "u4", "a3-copy", 420, "Four"), ("assistant", "a4", "u4", 480, TEXT)];
    let file = first + &copy + &file(&rest);
    let plan = repaired(file.as_bytes());
    assert_eq!((plan.before.sent, plan.before.missing.len()), (5, 2), "the summary and what follows it");
    assert_eq!((plan.after.sent, &plan.after.missing[..]), (7, &[][..]), "with the messages that were kept");
    let last = file.lines().count() as u64;
    assert!(plan.changes.iter().all(|change| change.line <= Some(last)), "{:?}", plan.changes);
    let leaves = plan.changes.iter().filter(|change| change.kind == ChangeKind::Leaf);
    assert_eq!(leaves.count(), 1, "a change is named once");
}

#[test]
fn calls_with_the_same_id_in_parallel_get_their_own_results() {
    let call = |id: &str| format!(r#"[{{"type":"tool_use","id":"{id}","name":"Read","input":{{}}}}]"#);
    let result = |id: &str| format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}]"#);
    let (t1, t2) = ((call("t1"), result("t1")), (call("t2"), result("t2")));
    let lines = [
        ("user", "u1", "", 0, "One"),
        ("assistant", "a1", "u1", 60, &*t1.0),
        ("user", "r1", "a1", 120, &*t1.1),
        ("assistant", "a2", "r1", 180, &*t1.0),
        ("assistant", "a3", "a2", 181, &*t2.0),
        ("user", "r2", "a2", 240, &*t1.1),
        ("user", "r3", "a3", 241, &*t2.1),
        ("assistant", "a4", "r3", 300, TEXT),
    ];
    // Both calls are lines of one reply.
    let text = file(&lines).replace("m-a3", "m-a2");
    check(&text, 8, &[("content", "a2"), ("content", "r2"), ("leaf", "a4")]);
    // The calls of one reply have the same id: each result keeps the call that it hangs on.
    let text = file(&lines).replace("m-a3", "m-a2").replace("\"t2\"", "\"t1\"");
    let plan = repaired(text.as_bytes());
    let appended = String::from_utf8(plan.appended).unwrap();
    let line =
        |uuid: &str| appended.lines().find(|line| line.contains(&format!(r#""uuid":"{uuid}""#))).unwrap();
    for (uuid, id) in [("a2", "t1-call2"), ("r2", "t1-call2"), ("a3", "t1-call3"), ("r3", "t1-call3")] {
        assert!(line(uuid).contains(&format!("\"{id}\"")), "{uuid}: {}", line(uuid));
    }
    assert_eq!(plan.after.missing, []);
}

#[test]
fn of_two_calls_with_the_same_id_and_one_result_both_are_sent() {
    let call = r#"[{"type":"tool_use","id":"t1","name":"Read","input":{}}]"#;
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"x"}]"#;
    let mut lines = conversation();
    (lines[1].4, lines[2].0, lines[2].1, lines[2].4) = (call, "assistant", "a9", call);
    (lines[3].0, lines[3].1, lines[3].2, lines[3].4) = ("user", "r1", "a9", result);
    (lines[4].0, lines[4].2, lines[4].4) = ("assistant", "r1", TEXT);
    let plan = repaired(file(&lines[..5]).replace("m-a9", "m-a1").as_bytes());
    assert_eq!((plan.before.missing.len(), &plan.after.missing[..]), (1, &[][..]), "{:?}", kinds(&plan));
    assert!(plan.changes.iter().any(|change| change.kind == ChangeKind::Result));
}

#[test]
fn a_call_whose_copy_is_sent_is_not_lost() {
    let call = r#"[{"type":"tool_use","id":"t1","name":"Read","input":{}}]"#;
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"x"}]"#;
    let first = [
        ("user", "u1", "", 0, "One"),
        ("assistant", "a1", "u1", 60, call),
        ("user", "r1", "a1", 120, result),
    ];
    let rest = [("assistant", "a2", "r9", 180, TEXT), ("user", "u3", "a2", 240, "Three")];
    // The beginning was written again under other uuids, with the same reply id, and the rest hangs on that.
    let copy = file(&first).replace("u1", "u9").replace("\"uuid\":\"a1\"", "\"uuid\":\"a9\"");
    let copy = copy.replace("\"parentUuid\":\"a1\"", "\"parentUuid\":\"a9\"").replace("r1", "r9");
    let plan = repaired((file(&first) + &copy + &file(&rest)).as_bytes());
    assert_eq!((&plan.before.missing[..], &plan.after.missing[..]), (&[][..], &[][..]));
    assert_eq!(kinds(&plan), [("copy", "a1"), ("leaf", "u3")]);
}

#[test]
fn a_message_without_a_uuid_does_not_become_the_end_of_the_conversation() {
    let lines: Vec<String> = conversation().into_iter().map(entry).collect();
    let unnamed = entry(("user", "x", "a1", 90, "Lost")).replace(r#""uuid":"x","#, "");
    for unnamed in [
        unnamed.clone(),
        unnamed.replace(r#""type":"user","#, ""),
        format!("[{}]", entry(("user", "x", "a1", 90, "Lost"))),
    ] {
        let file = [&lines[..2], &[unnamed], &lines[2..]].concat().join("\n") + "\n";
        let plan = repaired(file.as_bytes());
        assert_eq!((plan.before.sent, plan.after.sent), (6, 6), "{file}");
        assert!(!kinds(&plan).contains(&("leaf", "x")), "{:?}", kinds(&plan));
    }
}

#[test]
fn a_message_without_a_uuid_does_not_take_the_place_of_another_one_that_is_lost() {
    let calls = &with_parallel_calls()[..6];
    let later = [
        ("user", "u3", "a2", 1800, "Important"),
        ("assistant", "a3", "u3", 1860, TEXT),
        ("assistant", "a4", "lost", 3000, TEXT),
        ("user", "u5", "a4", 3060, "Five"),
    ];
    // Without a prompt in between the conversation has gone on, too.
    for lines in [[calls, &later].concat(), [calls, &later[2..]].concat()] {
        let text = file(&lines).replace("m-c2", "m-c1").replace(r#""uuid":"r1","#, "");
        let plan = repaired(text.as_bytes());
        let is_lost = |uuid: &str| plan.after.missing.iter().any(|missing| missing.uuid == uuid);
        assert!(lines.iter().all(|line| !is_lost(line.1)), "{:?}", plan.after.missing);
        assert!(kinds(&plan).contains(&("relink", "a4")), "{:?}", kinds(&plan));
    }
    // The message that follows directly names the uuid that a message lost.
    let text = file(&conversation()).replace(r#""uuid":"a2","#, "");
    check(&text, 6, &[("salvage", "a2"), ("leaf", "a3")]);
}

#[test]
fn a_line_without_a_uuid_that_is_sent_with_its_reply_is_not_sent_twice() {
    let unsigned = r#"[{"type":"thinking","thinking":"hm","signature":""}]"#;
    for content in [TEXT, unsigned] {
        let mut lines = with_parallel_calls();
        lines[1].4 = content;
        lines.remove(3);
        let text = file(&lines).replace("m-c2", "m-c1").replace(r#""uuid":"c1","#, "");
        let plan = repaired(text.as_bytes());
        let salvaged = plan.changes.iter().filter(|change| change.kind == ChangeKind::Salvage);
        assert_eq!((salvaged.count(), &plan.after.missing[..]), (0, &[][..]), "{:?}", kinds(&plan));
        // Of a large file Claude Code may not read the line.
        let filler = format!("{{\"type\":\"filler\",\"x\":\"{}\"}}\n", "y".repeat(5 << 20));
        let plan = super::plan((text + &filler).as_bytes(), &RepairOptions::default());
        assert!(kinds(&plan).iter().any(|(kind, _)| *kind == "salvage"), "{:?}", kinds(&plan));
    }
}

#[test]
fn no_message_is_exchanged_for_another_one() {
    // One message a second, so that Claude Code bridges what is lost. A prompt is there twice, and the prompt after its reply is torn.
    let one = |number: i64, uuid: &str| {
        let parent = if number == 0 { String::new() } else { format!("e{}", number - 1) };
        let (kind, content) = if number % 2 == 0 { ("user", "Prompt") } else { ("assistant", TEXT) };
        entry((kind, uuid, &parent, number, content))
    };
    let mut lines: Vec<String> = (0..16).map(|number| one(number, &format!("e{number}"))).collect();
    lines.insert(11, one(10, "copy"));
    let torn = lines[13].len() - 30;
    lines[13].truncate(torn);
    let text = lines.join("\n") + "\n";
    let plan = repaired(text.as_bytes());
    let restored = |appended: &[u8]| {
        let session = Session::read(&[text.as_bytes(), appended].concat()[..]).unwrap();
        let chain = Chain::build(&session);
        model::messages(&chain)
            .iter()
            .flat_map(|message| message.entries.to_vec())
            .filter_map(|node| session.nodes()[node].id)
            .map(|id| session.id_texts().get(id))
            .collect::<BTreeSet<_>>()
    };
    let (before, after) = (restored(&[]), restored(&plan.appended));
    assert!(before.len() > 10 && before.is_subset(&after), "{before:?} {after:?}");
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
fn reasoning_that_the_user_wants_to_be_removed_is_removed_for_this_reason() {
    let mut lines = conversation();
    lines[3].4 = r#"[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"Yes"}]"#;
    let options = RepairOptions { strip_thinking: true, ..RepairOptions::default() };
    let plan = plan(file(&lines).as_bytes(), &options);
    assert_eq!(kinds(&plan), [("thinking", "a2"), ("leaf", "a3")]);
    assert_eq!(plan.changes[0].kind.reason(), "its reasoning is removed, as `--strip-thinking` asks");
}

#[test]
fn another_branch_can_be_chosen() {
    let mut lines = conversation();
    lines[4].2 = "a1";
    let text = file(&lines);
    let options = RepairOptions { branch: Some("a2".to_owned()), ..RepairOptions::default() };
    let chosen = plan(text.as_bytes(), &options);
    assert_eq!(kinds(&chosen), [("leaf", "a2")]);
    assert_eq!((chosen.before.sent, &chosen.before.missing[..]), (4, &[][..]), "what is restored now");
    assert_eq!((chosen.after.sent, chosen.left_out), (4, 2), "u3 and a3 are left out");
    assert_eq!(chosen.branches, [Branch { uuid: "a3".to_owned(), line: 6, messages: 2, is_newer: true }]);
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

/// A conversation with a compaction in the middle, and the boundary as a line.
fn compacted() -> String {
    let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"a1","isSidechain":false,"timestamp":"2026-01-01T00:02:00.000Z","sessionId":"s","content":"Conversation compacted","compactMetadata":{"trigger":"manual"}}"#;
    let summary = entry(("user", "c", "b", 121, "What was said so far"))
        .replace("\"isSidechain\"", "\"isCompactSummary\":true,\"isSidechain\"");
    let lines = conversation();
    let before = file(&lines[..2]);
    let title = "{\"type\":\"custom-title\",\"customTitle\":\"Tea\",\"sessionId\":\"s\"}\n";
    let mut after = lines[3..].to_vec();
    after[0].2 = "gone";
    format!("{before}{title}{boundary}\n{summary}\n{}", file(&after))
}

#[test]
fn a_file_that_is_written_anew_has_each_entry_once_and_nothing_that_is_not_sent() {
    let text = compacted();
    let options = RepairOptions { in_place: true, ..RepairOptions::default() };
    let plan = plan(text.as_bytes(), &options);
    let new = String::from_utf8(plan.rewritten.unwrap()).unwrap();
    let ids: Vec<String> = new
        .lines()
        .map(|line| Value::new(line.as_bytes()).unwrap().text("uuid").unwrap_or_default().into_owned())
        .collect();
    assert_eq!(ids, ["", "b", "c", "a2", "u3", "a3"], "{new}");
    let again = super::plan(new.as_bytes(), &options);
    assert!(again.is_empty(), "a second repair changes nothing: {again:?}");
    assert_eq!((plan.after.sent, again.after.sent, again.after.missing.len()), (4, 4, 0));
}

#[test]
fn a_file_that_is_written_anew_keeps_messages_without_a_uuid() {
    // Claude Code does not read it, and the conversation goes on without it: the reply hangs on what came before.
    let typed = entry(("user", "x", "a3", 360, "typed")).replace("\"uuid\":\"x\",", "");
    let reply = entry(("assistant", "a4", "a3", 420, TEXT));
    let sound = compacted().replace("\"gone\"", "\"c\"");
    let text = format!("{sound}{typed}\n{reply}\n{}\n", entry(("user", "u5", "a4", 480, "Four")));
    let options = RepairOptions { in_place: true, ..RepairOptions::default() };
    let new = String::from_utf8(plan(text.as_bytes(), &options).rewritten.unwrap()).unwrap();
    assert!(new.contains("typed"), "{new}");
    // If the repair itself writes it again with a uuid, it stays once.
    let salvaged = format!("{}{typed}\n{}\n", compacted(), entry(("assistant", "a4", "x", 420, TEXT)));
    let new = String::from_utf8(plan(salvaged.as_bytes(), &options).rewritten.unwrap()).unwrap();
    assert_eq!(new.matches("typed").count(), 1, "{new}");
}

#[test]
fn a_file_that_would_not_become_smaller_is_not_written_anew() {
    let options = RepairOptions { in_place: true, ..RepairOptions::default() };
    assert!(plan(file(&conversation()).as_bytes(), &options).is_empty());
}

fn receipts(scratch: &Scratch) -> usize {
    fs::read_dir(scratch.engine.home().repairs()).map_or(0, Iterator::count)
}

/// Returns a session whose link is broken, with a long line that a later one replaced: a repair in place makes it smaller.
fn broken() -> String {
    let mut lines = conversation();
    lines[3].2 = "a3";
    let replaced = entry((
        "assistant",
        "a3",
        "u3",
        300,
        &format!("[{{\"type\":\"text\",\"text\":\"{}\"}}]", "x".repeat(2000)),
    ));
    replaced + "\n" + &file(&lines)
}

const LATER: &str = "{\"type\":\"mode\"}\n";

#[test]
fn what_is_appended_while_a_repair_is_planned_stays_the_end_of_the_file() {
    let scratch = Scratch::new(&broken());
    let file = scratch.file();
    let mut locked = LockedTranscript::open(&scratch.engine, &file, true).unwrap();
    let plan = plan(&locked.bytes, &RepairOptions::default());
    assert!(!plan.appended.is_empty());
    scratch.append(LATER);
    let (error, is_as_before) = locked.write(&scratch.engine, &file, &plan).unwrap_err();
    assert!(error.to_string().contains("was changed meanwhile") && is_as_before, "{error}");
    assert_eq!(scratch.text(), broken() + LATER);
}

#[test]
fn what_is_appended_while_a_repair_is_undone_stays() {
    let scratch = Scratch::new(&broken());
    let file = scratch.file();
    scratch.engine.repair(&file, &RepairOptions::default(), true).unwrap();
    let mut locked = LockedTranscript::open(&scratch.engine, &file, true).unwrap();
    scratch.append(LATER);
    let now = scratch.text();
    assert!(matches!(locked.undo(&scratch.engine, &file), Ok(Undone::Fork { .. })));
    assert_eq!(scratch.text(), now);
}

/// Returns a session whose second prompt hangs on an entry that is not there.
fn cut_off() -> String {
    let mut lines = conversation();
    lines[2].2 = "gone";
    file(&lines)
}

#[cfg(unix)]
#[test]
fn undoing_a_repair_does_not_cut_the_file_under_its_other_names() {
    let scratch = Scratch::new(&cut_off());
    scratch.engine.repair(&scratch.file(), &RepairOptions::default(), true).unwrap();
    let (repaired, other) = (scratch.text(), scratch.folder.path().join("other"));
    fs::hard_link(scratch.file().path, &other).unwrap();
    assert!(matches!(scratch.engine.undo_repair(&scratch.file(), true).unwrap(), Undone::Cut { .. }));
    assert_eq!((scratch.text(), fs::read_to_string(&other).unwrap()), (cut_off(), repaired));
}

#[test]
fn a_receipt_of_a_repair_that_is_not_in_the_file_hides_no_problem() {
    let lines: Vec<String> = conversation().into_iter().map(entry).collect();
    let glued = file(&conversation()).replace(&format!("{}\n", lines[2]), &lines[2]);
    let scratch = Scratch::new(&glued);
    let findings_of_line_3 = || {
        let checked = crate::check::check(&scratch.engine, scratch.file(), true).unwrap();
        checked.findings.iter().filter(|finding| finding.line == Some(3)).count()
    };
    let before = findings_of_line_3();
    assert!(before > 0);
    scratch.engine.repair(&scratch.file(), &RepairOptions::default(), true).unwrap();
    assert_eq!(findings_of_line_3(), 0);
    // The old file comes back, and the session goes on.
    let next = entry(("user", "u4", "a3", 360, "Four"));
    fs::write(scratch.file().path, format!("{glued}{next}\n")).unwrap();
    assert_eq!(findings_of_line_3(), before);
}

#[test]
fn a_damaged_backup_is_not_restored() {
    let scratch = Scratch::new(&broken());
    let options = RepairOptions { in_place: true, ..RepairOptions::default() };
    assert!(scratch.engine.repair(&scratch.file(), &options, true).unwrap().plan.rewritten.is_some());
    let mut entries =
        fs::read_dir(scratch.engine.home().repairs()).unwrap().map(|entry| entry.unwrap().path());
    let backup = entries.find(|path| path.extension().is_some_and(|ending| ending == "backup")).unwrap();
    let sound = fs::read(&backup).unwrap();
    fs::write(&backup, &sound[..100]).unwrap();
    let repaired = scratch.text();
    let error = scratch.engine.undo_repair(&scratch.file(), true).unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
    assert_eq!((scratch.text(), receipts(&scratch)), (repaired, 2), "all is as it was");
    fs::write(&backup, sound).unwrap();
    scratch.engine.undo_repair(&scratch.file(), true).unwrap();
    assert_eq!(scratch.text(), broken());
}

#[cfg(unix)]
#[test]
fn a_repair_through_a_symbolic_link_is_undone_by_the_real_path() {
    let scratch = Scratch::new(&broken());
    let link = scratch.folder.path().join("link");
    std::os::unix::fs::symlink(scratch.folder.path().join("projects/-tea"), &link).unwrap();
    let by_link = TranscriptFile::at(&link.join(scratch.file().path.file_name().unwrap()));
    scratch.engine.repair(&by_link, &RepairOptions::default(), true).unwrap();
    assert!(matches!(scratch.engine.undo_repair(&scratch.file(), true), Ok(Undone::Cut { .. })));
}

#[test]
fn a_purge_keeps_the_receipts_while_another_version_is_in_the_trash() {
    let scratch = Scratch::new(&broken());
    let options = RepairOptions { in_place: true, ..RepairOptions::default() };
    scratch.engine.repair(&scratch.file(), &options, true).unwrap();
    let repaired = scratch.text();
    let first = scratch.engine.delete(&scratch.file(), true).unwrap();
    fs::write(scratch.file().path, file(&conversation())).unwrap();
    let second = scratch.engine.delete(&scratch.file(), true).unwrap();
    scratch.engine.purge(&second).unwrap();
    assert_eq!(receipts(&scratch), 2);
    scratch.engine.restore(&first).unwrap();
    assert_eq!(scratch.text(), repaired);
    scratch.engine.undo_repair(&scratch.file(), true).unwrap();
    assert_eq!(scratch.text(), broken());
    scratch.engine.repair(&scratch.file(), &options, true).unwrap();
    let last = scratch.engine.delete(&scratch.file(), true).unwrap();
    scratch.engine.purge(&last).unwrap();
    assert_eq!(receipts(&scratch), 0);
}

/// Returns a reply with many calls that have the same ids in pairs, and half of the results; the ids have characters that the API refuses.
fn with_calls(count: usize) -> String {
    let call = |n: usize| format!(r#"{{"type":"tool_use","id":"t.{}","name":"Read","input":{{}}}}"#, n / 2);
    let result = |n: usize| format!(r#"{{"type":"tool_result","tool_use_id":"t.{n}","content":"a"}}"#);
    let array = |blocks: Vec<String>| format!("[{}]", blocks.join(","));
    let calls = array((0..count).map(call).collect());
    let results = array((0..count / 2).map(result).collect());
    file(&[
        ("user", "u1", "", 0, "Hi"),
        ("assistant", "a1", "u1", 1, &calls),
        ("user", "u2", "a1", 2, &results),
        ("assistant", "a2", "u2", 3, TEXT),
    ])
}

#[test]
fn the_work_grows_with_the_calls_of_a_message_and_not_with_their_square() {
    let bytes_read = |count: usize| {
        plan::BYTES_READ.set(0);
        let plan = repaired(with_calls(count).as_bytes());
        assert!(plan.after.missing.is_empty() && plan.after.violations.is_empty(), "{:?}", plan.after);
        plan::BYTES_READ.get()
    };
    let (few, many) = (bytes_read(40), bytes_read(160));
    assert!(many < 6 * few, "{few} bytes for 40 calls, {many} bytes for 160");
}

#[test]
fn a_check_knows_without_a_plan_whether_there_is_one() {
    let links = |file: &str| file.replace(r#""parentUuid":"u2""#, r#""parentUuid":"lost""#);
    let sound = file(&conversation());
    let files = [sound.clone(), links(&sound), with_calls(4), with_calls(4).replace("t.", "t")];
    let mut outcomes = std::collections::HashSet::new();
    for file in files {
        let session = Session::read(file.as_bytes()).unwrap();
        let analysis = Analysis::of(&session, &Places::new(), None).unwrap();
        let bytes = file.as_bytes();
        let (mut verdicts, mut spans) = (FileVerdicts::default(), Vec::new());
        Session::read_with(bytes, |entry, _, blocks| {
            spans.extend(blocks.iter().map(|block| (entry.kind(), *block)));
        })
        .unwrap();
        for (kind, block) in &spans {
            let start = usize::try_from(block.offset).unwrap();
            let end = start + usize::try_from(block.length).unwrap();
            verdicts.add(*kind, block, &bytes[start..end], true);
        }
        let evaluation =
            analysis.evaluate(&session, |block, role, _| verdicts.of(block, role).unwrap_or_default());
        let has_work = has_work(&bytes, &analysis, &evaluation, &verdicts);
        assert_eq!(has_work, Some(!repaired(bytes).is_empty()), "{file}");
        outcomes.insert(has_work);
    }
    assert_eq!(outcomes.len(), 2, "a file with something to repair, and one without");
    let torn =
        Session::read(&b"{\"type\":\"user\",\"uuid\":\"a\",\"message\":{\"content\":\"a\"}}\n{\"ty"[..])
            .unwrap();
    let analysis = Analysis::of(&torn, &Places::new(), None).unwrap();
    let known = has_work(&&b""[..], &analysis, &Evaluation::default(), &FileVerdicts::default());
    assert_eq!(known, None, "a damaged line may hold a message");
}
