use std::fs;

use annals_transcript::Problem;
use annals_transcript::chain::Obstacle;

use super::*;
use crate::repair::RepairOptions;
use crate::request_rules::Rule;
use crate::scratch::{ID, Scratch};

impl Scratch {
    fn findings(&self) -> Vec<(Option<u64>, Issue)> {
        let findings = self.engine.check(self.file()).unwrap().findings;
        findings.into_iter().map(|finding| (finding.line, finding.issue)).collect()
    }
}

/// Lines of a conversation, an hour apart: each is `(type, uuid, parent, content)`.
fn text(lines: &[(&str, &str, &str, &str)]) -> String {
    let numbered = lines.iter().enumerate();
    numbered.map(|(hour, line)| entry(hour, *line) + "\n").collect()
}

fn entry(hour: usize, (kind, uuid, parent, content): (&str, &str, &str, &str)) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    let content = if content.starts_with('[') {
        content.to_owned()
    } else {
        format!(r#"[{{"type":"text","text":"{content}"}}]"#)
    };
    let id = if kind == "assistant" { format!("\"id\":\"m-{uuid}\",") } else { String::new() };
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"isSidechain":false,"timestamp":"2026-01-01T{hour:02}:00:00.000Z","sessionId":"{ID}","cwd":"/tea","message":{{{id}"role":"{kind}","content":{content}}}}}"#
    )
}

const CONVERSATION: [(&str, &str, &str, &str); 6] = [
    ("user", "u1", "", "One"),
    ("assistant", "a1", "u1", "Yes"),
    ("user", "u2", "a1", "Two"),
    ("assistant", "a2", "u2", "Yes"),
    ("user", "u3", "a2", "Three"),
    ("assistant", "a3", "u3", "Yes"),
];

/// Checks the findings of a conversation of which one line is another.
fn check_with(at: usize, line: (&str, &str, &str, &str), expected: &[(u64, Issue)]) {
    let mut lines = CONVERSATION;
    lines[at] = line;
    check_text(&text(&lines), expected);
}

fn check_text(text: &str, expected: &[(u64, Issue)]) {
    let expected: Vec<_> = expected.iter().map(|(line, issue)| (Some(*line), issue.clone())).collect();
    assert_eq!(Scratch::new(text).findings(), expected, "{text}");
}

fn link(broken: BrokenLink) -> Issue {
    Issue::Link { broken, costs: true }
}

#[test]
fn a_sound_session_has_no_findings() {
    check_text(&text(&CONVERSATION), &[]);
}

#[test]
fn broken_links_are_reported_with_what_they_cost() {
    let lost = |messages, to| Issue::Lost { messages, to };
    check_with(
        3,
        ("assistant", "a2", "gone", "Yes"),
        &[(1, lost(3, 3)), (4, link(BrokenLink::Missing)), (4, Issue::Refused(Rule::FirstUser))],
    );
    check_with(4, ("user", "u3", "", "Three"), &[(1, lost(4, 4)), (5, link(BrokenLink::NoParent))]);
    check_with(4, ("user", "u3", "u3", "Three"), &[(1, lost(4, 4)), (5, link(BrokenLink::Own))]);
    check_with(4, ("user", "u3", "a3", "Three"), &[(1, lost(4, 4)), (5, link(BrokenLink::Circle))]);
}

#[test]
fn a_gap_that_claude_code_bridges_costs_nothing() {
    let lines = text(&CONVERSATION).replace("\"parentUuid\":\"a2\"", "\"parentUuid\":\"gone\"");
    let close = lines.replace("T04:00:00.000Z", "T03:00:01.000Z");
    check_text(&close, &[(5, Issue::Link { broken: BrokenLink::Missing, costs: false })]);
}

#[test]
fn a_session_that_is_refused_says_why() {
    let no_time = text(&CONVERSATION).replace("2026-01-01T05:00:00.000Z", "soon");
    let found = Scratch::new(&no_time).findings();
    assert!(found.contains(&(Some(6), Issue::NotResumable(Obstacle::NoTime))), "{found:?}");
}

#[test]
fn calls_and_results_that_are_left_out_are_reported() {
    let call = r#"[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]"#;
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"done"}]"#;
    check_with(3, ("assistant", "a2", "u2", call), &[(4, Issue::CallWithoutResult)]);
    check_with(4, ("user", "u3", "a2", result), &[(5, Issue::ResultWithoutCall)]);
    let mut lines = CONVERSATION;
    (lines[1].3, lines[2].3, lines[4].3) = (call, result, result);
    check_text(&text(&lines), &[(5, Issue::RepeatedResult)]);
    lines[3].3 = call;
    let found = Scratch::new(&text(&lines)).findings();
    assert!(found.contains(&(Some(4), Issue::RepeatedCall)), "{found:?}");
}

#[test]
fn requests_that_the_api_refuses_are_reported() {
    let thinking = r#"[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"Yes"}]"#;
    check_with(3, ("assistant", "a2", "u2", thinking), &[(4, Issue::Refused(Rule::Signature))]);
    check_with(4, ("user", "u3", "a2", "[{\"type\":\"weird\"}]"), &[(5, Issue::Refused(Rule::BlockType))]);
}

#[test]
fn two_conversations_at_the_same_time_are_reported_and_a_rewind_is_not() {
    let mut lines = CONVERSATION.to_vec();
    lines[4].2 = "a1";
    check_text(&text(&lines), &[]);
    lines.push(("user", "u9", "a2", "Other"));
    lines.push(("assistant", "a9", "u9", "Yes"));
    lines.push(("user", "u4", "a3", "Four"));
    let issue = Issue::NewerBranch { messages: 4, leaf: "a9".to_owned() };
    check_text(&text(&lines), &[(8, issue.clone())]);
    assert!(!issue.is_repairable(), "a repair without `--branch` leaves the branch out");
    assert!(issue.effect().contains("--branch"), "{}", issue.effect());
}

#[test]
fn times_that_cannot_be_true_are_counted() {
    let future = text(&CONVERSATION).replace("2026-01-01T05", "2126-01-01T05");
    check_text(&future, &[(6, Issue::FutureTimes { messages: 1 })]);
    let ancient = text(&CONVERSATION).replace("2026-01-01T00", "1970-01-01T00");
    check_text(&ancient, &[(1, Issue::AncientTimes { messages: 1 })]);
    let back = text(&CONVERSATION).replace("2026-01-01T03", "2025-12-31T03");
    check_text(&back, &[(4, Issue::BackwardTimes { messages: 1 })]);
}

#[test]
fn what_a_repair_replaced_is_not_reported_again() {
    let lines: Vec<String> = CONVERSATION.iter().enumerate().map(|(hour, line)| entry(hour, *line)).collect();
    let think = r#"[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"Yes"}]"#;
    let refused = entry(5, ("assistant", "a3", "u3", think));
    let glued = format!("{}\n{}{}\n\0\0\n{}\n{}\n", lines[0], lines[1], lines[2], lines[4], refused);
    let scratch = Scratch::new(&glued);
    let before = scratch.findings();
    assert!(before.len() >= 4, "{before:?}");
    let outcome = scratch.engine.repair(&scratch.file(), &RepairOptions::default(), true).unwrap();
    assert!(outcome.receipt.is_some());
    assert_eq!(scratch.findings(), []);
}

#[test]
fn sessions_that_lists_do_not_show_say_why() {
    let late = format!("{{\"type\":\"mode\",\"x\":\"{}\"}}\n", "x".repeat(70_000)) + &text(&CONVERSATION);
    let scratch = Scratch::new(&late);
    assert_eq!(scratch.findings(), [(None, Issue::Unlisted(Unlisted::LatePrompt))]);
    fs::write(scratch.file().path, late + "{\"type\":\"custom-title\",\"customTitle\":\"Tea\"}\n").unwrap();
    assert_eq!(scratch.findings(), []);
    let spaced = text(&CONVERSATION).replace("\"type\":\"", "\"type\": \"");
    assert_eq!(Scratch::new(&spaced).findings(), [(None, Issue::Unlisted(Unlisted::Spacing))]);
    let side = entry(0, CONVERSATION[0]).replace("Sidechain\":false", "Sidechain\":true").replace("u1", "s1");
    let first = Scratch::new(&(side + "\n" + &text(&CONVERSATION))).findings();
    assert!(first.contains(&(None, Issue::Unlisted(Unlisted::SidechainFirst))), "{first:?}");
    let scratch = Scratch::new("");
    let copy = scratch.folder.path().join("projects/-tea/copy.jsonl");
    fs::write(&copy, text(&CONVERSATION)).unwrap();
    let found = scratch.engine.check(TranscriptFile::at(&copy)).unwrap().findings;
    assert_eq!(found[0].issue, Issue::Unlisted(Unlisted::FileName));
}

#[test]
fn files_that_are_gone_are_reported() {
    let spilled = text(&CONVERSATION).replacen(
        "\"cwd\":\"/tea\"",
        "\"toolUseResult\":{\"persistedOutputPath\":\"/x/tool-results/a.txt\"},\"cwd\":\"/tea\"",
        1,
    );
    let scratch = Scratch::new(&spilled);
    assert_eq!(scratch.findings(), [(Some(1), Issue::SpilledOutputGone { files: 1 })]);
    let results = scratch.folder.path().join(format!("projects/-tea/{ID}/tool-results"));
    fs::create_dir_all(&results).unwrap();
    fs::write(results.join("a.txt"), "").unwrap();
    assert_eq!(scratch.findings(), []);
    let agents = scratch.folder.path().join(format!("projects/-tea/{ID}/subagents"));
    fs::create_dir_all(&agents).unwrap();
    let agent = agents.join("agent-a1.jsonl");
    fs::write(&agent, text(&CONVERSATION[..1])).unwrap();
    let check = || scratch.engine.check(TranscriptFile::at(&agent)).unwrap().findings;
    assert_eq!(check(), []);
    fs::remove_file(scratch.file().path).unwrap();
    assert_eq!(check(), [Finding::of_file(Issue::NoSession)]);
}

#[test]
fn large_files_and_shared_folders_are_reported() {
    let record = format!("{{\"type\":\"mode\",\"x\":\"{}\"}}\n", "x".repeat(6 << 20));
    let large = text(&CONVERSATION) + &record;
    let bytes = large.len() as u64;
    assert_eq!(Scratch::new(&large).findings(), [(None, Issue::Large { bytes })]);
    let scratch = Scratch::new("");
    let folder = scratch.folder.path().join("projects/-a-b");
    fs::create_dir_all(&folder).unwrap();
    for (id, cwd) in [("1111", "/a/b"), ("2222", "/a-b")] {
        let lines = text(&CONVERSATION).replace("/tea", cwd);
        fs::write(folder.join(format!("{id}a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl")), lines).unwrap();
    }
    let paths = vec!["/a-b".to_owned(), "/a/b".to_owned()];
    let found = scratch.engine.check_folders();
    assert_eq!(found[0], FolderFinding { path: folder, issue: Issue::SharedFolder { paths } });
}

#[cfg(unix)]
#[test]
fn transcripts_that_all_users_can_read_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new(&text(&CONVERSATION));
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for folder in scratch.file().path.ancestors().skip(1).take(3) {
        mode(folder, 0o755);
    }
    mode(&scratch.file().path, 0o600);
    assert_eq!(scratch.engine.check_folders(), []);
    mode(&scratch.file().path, 0o644);
    // Whether the folder of temporary files itself is open depends on the machine.
    let found = scratch.engine.check_folders();
    let path = scratch.folder.path().join("projects");
    let open = FolderFinding { path, issue: Issue::OpenToOthers { transcripts: 1 } };
    assert!(found.is_empty() || found == [open], "{found:?}");
    mode(scratch.folder.path(), 0o700);
    assert_eq!(scratch.engine.check_folders(), [], "nobody else can enter the folder");
}

#[test]
fn results_come_in_the_order_of_the_files() {
    let scratch = Scratch::new(&text(&CONVERSATION));
    let missing = TranscriptFile::at(&scratch.folder.path().join("nowhere.jsonl"));
    let files = vec![scratch.file(), missing, scratch.file()];
    let mut seen = Vec::new();
    scratch.engine.check_all(files, false, |checked| seen.push(checked.is_ok()));
    assert_eq!(seen, [true, false, true]);
}

#[test]
fn commands_never_contain_what_a_transcript_says() {
    let branch = |leaf: &str| Issue::NewerBranch { messages: 1, leaf: leaf.to_owned() };
    assert_eq!(branch("a-1").help("S", "P").as_deref(), Some("annals repair S --branch a-1"));
    assert_eq!(branch("$(reboot)").help("S", "P"), None);
}

#[test]
fn nul_bytes_in_the_place_of_a_message_are_an_error_only_until_the_repair() {
    let lines: Vec<String> = CONVERSATION.iter().enumerate().map(|(hour, line)| entry(hour, *line)).collect();
    let scratch = Scratch::new(&format!("{}\n\0\0\0\n{}\n", lines[..2].join("\n"), lines[3..].join("\n")));
    assert_eq!(worst(&scratch.engine, scratch.file()), Some(Severity::Error));
    scratch.engine.repair(&scratch.file(), &RepairOptions::default(), true).unwrap();
    assert_eq!(worst(&scratch.engine, scratch.file()), None);
    let elsewhere = Scratch::new("");
    assert_eq!(
        worst(&elsewhere.engine, scratch.file()),
        Some(Severity::Info),
        "without the receipt, the bytes are still named"
    );
}

#[test]
fn a_reply_without_a_uuid_is_not_reported_after_the_repair() {
    let reply = entry(0, ("assistant", "a1", "", "Yes")).replace(r#""uuid":"a1","parentUuid":null,"#, "");
    let scratch = Scratch::new(&(reply + "\n"));
    assert_eq!(worst(&scratch.engine, scratch.file()), Some(Severity::Warning));
    scratch.engine.repair(&scratch.file(), &RepairOptions::default(), true).unwrap();
    assert_eq!(scratch.findings(), []);
}

/// Returns the severity of the worst finding.
fn worst(engine: &Engine, file: TranscriptFile) -> Option<Severity> {
    engine.check(file).unwrap().findings.iter().map(Finding::severity).max()
}

/// Checks that one finding of a file is harmless, or that nothing can be done about it, and that a repair agrees.
fn check_remedy(text: &str, issue: &Issue, remedy: Remedy, severity: Severity) {
    let scratch = Scratch::new(text);
    assert!(scratch.engine.repair_plan(&scratch.file(), &RepairOptions::default()).unwrap().is_empty());
    let findings = scratch.engine.check(scratch.file()).unwrap().findings;
    let finding = findings.iter().find(|finding| finding.issue == *issue).expect("it is still reported");
    assert_eq!((finding.remedy, finding.severity()), (remedy, severity));
    assert_eq!((finding.is_repairable(), finding.help("S", "P")), (false, None));
}

#[test]
fn a_repair_that_would_do_nothing_is_not_advised() {
    let sound = text(&CONVERSATION);
    let no_time = sound.replace("2026-01-01T02:00:00.000Z", "");
    check_remedy(&no_time, &Issue::MissingField("timestamp"), Remedy::NotNeeded, Severity::Info);
    let lines: Vec<&str> = sound.lines().collect();
    let nul = format!("{}\n\0\0\0\n{}\n", lines[..3].join("\n"), lines[3..].join("\n"));
    check_remedy(&nul, &Issue::Damage(Problem::Nul), Remedy::NotNeeded, Severity::Info);
    let nul_end = sound.clone() + "\0\0\0\n";
    check_remedy(&nul_end, &Issue::Damage(Problem::Nul), Remedy::NotNeeded, Severity::Info);
    let record = r#"{"type":"mode","mode":"normal"}"#;
    let glued = sound.replace(lines[2], &format!("{}{record}", lines[2]));
    check_remedy(&glued, &Issue::Damage(Problem::Glued), Remedy::NotNeeded, Severity::Info);
    let torn = sound.clone() + r#"{"type":"user","uuid":"u4"#;
    check_remedy(&torn, &Issue::Damage(Problem::Torn), Remedy::None, Severity::Warning);
}

#[test]
fn a_repair_that_brings_something_back_is_advised() {
    let sound = text(&CONVERSATION);
    let lines: Vec<&str> = sound.lines().collect();
    let glued = sound.replace(&format!("{}\n", lines[2]), lines[2]);
    let scratch = Scratch::new(&glued);
    let findings = scratch.engine.check(scratch.file()).unwrap().findings;
    let finding = findings.iter().find(|finding| finding.issue == Issue::Damage(Problem::Glued)).unwrap();
    assert_eq!((finding.severity(), finding.is_repairable()), (Severity::Error, true));
    assert_eq!(finding.help("S", "P").as_deref(), Some("annals repair S --apply"));
}
