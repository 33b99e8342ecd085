use std::fs;

use jiff::civil::date;

use super::*;
use crate::files::Selection;

const PROMPT: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"gitBranch":"main","timestamp":"2026-11-16T23:30:00.000Z","message":{"role":"user","content":"Fix it"}}"#;
const CALLS: &str = r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-11-16T23:30:10.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/天气.rs"}}]}}
{"type":"user","uuid":"r1","parentUuid":"a1","timestamp":"2026-11-16T23:30:12.000Z","toolUseResult":{"structuredPatch":[{"lines":["-a","+b","+c"," d"]}]},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}
{"type":"assistant","uuid":"a2","parentUuid":"r1","timestamp":"2026-11-16T23:30:20.000Z","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"mcp__lab__run","input":{}}]}}
{"type":"user","uuid":"r2","parentUuid":"a2","timestamp":"2026-11-16T23:30:30.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"\n<tool_use_error>Command timed out after 2m</tool_use_error>"}]}}"#;

/// Returns the insight into transcripts with these lines.
fn insight_of(transcripts: &[&str], since: Option<&str>, hours: i8) -> Insight {
    let folder = tempfile::tempdir().unwrap();
    for (index, lines) in transcripts.iter().enumerate() {
        let project = folder.path().join("projects/-src");
        fs::create_dir_all(&project).unwrap();
        let id = format!("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a5{index}");
        fs::write(project.join(format!("{id}.jsonl")), format!("{lines}\n")).unwrap();
    }
    let files = Selection::of_projects(std::iter::once(folder.path().join("projects"))).files;
    let since = since.map(|since| since.parse::<Timestamp>().unwrap().as_millisecond());
    let options = InsightOptions { since, until: None, zone: TimeZone::fixed(jiff::tz::offset(hours)) };
    let (insight, errors) = insight(files, &options, |_| ControlFlow::Continue(()));
    assert!(errors.is_empty(), "{errors:?}");
    insight
}

#[test]
fn turns_calls_errors_and_edits_are_counted() {
    let insight = insight_of(&[&format!("{PROMPT}\n{CALLS}")], None, 0);
    assert_eq!((insight.sessions, insight.turns, insight.active_ms), (1, 1, 30_000));
    assert_eq!(insight.days.keys().collect::<Vec<_>>(), [&date(2026, 11, 16)]);
    assert_eq!(insight.hours[0][23], 1, "it was a Monday");
    let edit = ToolWork { calls: 1, total_ms: 2_000, timed: 1, ..ToolWork::default() };
    let run = ToolWork { calls: 1, errors: 1, total_ms: 10_000, timed: 1, ..ToolWork::default() };
    assert_eq!((&insight.tools["Edit"], &insight.tools["mcp__lab__run"]), (&edit, &run));
    assert_eq!(insight.files["/天气.rs"], FileWork { edits: 1, added: 2, removed: 1, sessions: 1 });
    assert_eq!((insight.mcp_servers["lab"], insight.branches["main"]), (1, 1));
    let [error] = &insight.errors[..] else { panic!("one class: {:?}", insight.errors) };
    assert_eq!((error.class, error.count), (ErrorClass::Timeout, 1));
    let example = &error.examples[0];
    assert_eq!((example.uuid.as_deref(), &*example.text), (Some("a2"), "Command timed out after 2m"));
}

#[test]
fn a_copy_of_a_session_counts_nothing_twice() {
    let lines = format!("{PROMPT}\n{CALLS}");
    let insight = insight_of(&[&lines, &lines], None, 0);
    assert_eq!((insight.sessions, insight.turns, insight.tools["Edit"].calls), (1, 1, 1));
    assert_eq!(insight.files["/天气.rs"].edits, 1);
}

#[test]
fn days_and_hours_are_those_of_the_zone() {
    let insight = insight_of(&[PROMPT], None, 8);
    assert_eq!(insight.days.keys().collect::<Vec<_>>(), [&date(2026, 11, 17)]);
    assert_eq!(insight.hours[1][7], 1);
}

#[test]
fn what_is_older_is_left_out() {
    let insight = insight_of(&[&format!("{PROMPT}\n{CALLS}")], Some("2026-11-16T23:30:15Z"), 0);
    assert_eq!((insight.turns, insight.tools.len(), insight.errors.len()), (0, 1, 1));
}

#[test]
fn long_pauses_inside_a_turn_are_not_work() {
    let late = CALLS
        .replace("2026-11-16T23:30:2", "2026-11-17T23:30:2")
        .replace("2026-11-16T23:30:3", "2026-11-17T23:30:3");
    let insight = insight_of(&[&format!("{PROMPT}\n{late}")], None, 0);
    assert_eq!(insight.active_ms, 12_000 + 10_000);
}

#[test]
fn lines_that_are_written_again_are_no_more_work() {
    let once = insight_of(&[&format!("{PROMPT}\n{CALLS}")], None, 0);
    let twice = insight_of(&[&format!("{PROMPT}\n{CALLS}\n{CALLS}")], None, 0);
    assert_eq!((twice.active_ms, once.active_ms > 0), (once.active_ms, true));
}

#[test]
fn calls_that_were_stopped_and_errors_of_no_class_are_named() {
    let calls = CALLS
        .replace(r#""content":"ok""#, r#""is_error":true,"content":"The user doesn't want to proceed with this tool use. The tool use was rejected""#)
        .replace("<tool_use_error>Command timed out after 2m</tool_use_error>", "Exit code 3\\n天气 frobnicated");
    let insight = insight_of(&[&format!("{PROMPT}\n{calls}")], None, 0);
    let mut classes: Vec<_> = insight.errors.iter().map(|error| error.class.name()).collect();
    classes.sort_unstable();
    assert_eq!(classes, ["other", "rejected"]);
    let other = insight.errors.iter().find(|error| error.class == ErrorClass::Other).unwrap();
    assert_eq!(other.signatures, [("Exit code 3: 天气 frobnicated".to_owned(), 1)]);
    assert_eq!(insight.tools["Edit"].stopped, 1);
}

#[test]
fn reading_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let files = (0..20)
        .map(|number| {
            let path = folder.path().join(format!("{number}.jsonl"));
            fs::write(&path, format!("{}\n", PROMPT.replace("u1", &format!("u{number}")))).unwrap();
            TranscriptFile::at(&path)
        })
        .collect();
    let options = InsightOptions { since: None, until: None, zone: TimeZone::UTC };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (insight, _) = one_thread.install(|| insight(files, &options, |_| ControlFlow::Break(())));
    assert_eq!(insight.turns, 1);
}
