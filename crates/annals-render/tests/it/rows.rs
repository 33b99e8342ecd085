//! Transcripts as rows.

use annals_proto::{ToolState, ViewNode, ViewRow, ViewRowKind};
use annals_render::{Filter, Found, Open, Outline, Rows, text};
use annals_transcript::conversation::{Conversation, TranscriptBytes};
use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

const SESSION: &[&str] = &[
    r#"{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-01-02T03:00:00.000Z","cwd":"/home/mia","message":{"content":[{"type":"text","text":"Boil <b>it</b>\nplease"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAAC0lEQVR4nGNgwAQAABYAAQ=="}}]}}"#,
    r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-01-02T03:00:01.000Z","message":{"id":"m1","model":"claude-x","usage":{"input_tokens":3,"output_tokens":5},"content":[{"type":"thinking","thinking":"","signature":"s"}]}}"#,
    r#"{"type":"assistant","uuid":"a2","parentUuid":"a1","timestamp":"2026-01-02T03:00:02.000Z","message":{"id":"m1","content":[{"type":"text","text":"I look at **it**."}]}}"#,
    r#"{"type":"assistant","uuid":"a3","parentUuid":"a2","timestamp":"2026-01-02T03:00:03.000Z","cwd":"/home/mia","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"seq 100"}}]}}"#,
    r#"{"type":"user","uuid":"r1","parentUuid":"a3","timestamp":"2026-01-02T03:00:05.000Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Exit code 2\nNUMBERS"}]}}"#,
    r#"{"type":"system","subtype":"compact_boundary","uuid":"k1","parentUuid":null,"logicalParentUuid":"r1","timestamp":"2026-01-02T03:00:06.000Z","compactMetadata":{"trigger":"auto","preTokens":100}}"#,
    r#"{"type":"user","uuid":"s1","parentUuid":"k1","isCompactSummary":true,"timestamp":"2026-01-02T03:00:07.000Z","message":{"content":"What was"}}"#,
    r#"{"type":"ai-title","aiTitle":"Tea","sessionId":"x"}"#,
    r#"{"type":"user","uuid":"u2","parentUuid":"s1","timestamp":"2026-01-02T05:00:00.000Z","message":{"content":"Now"}}"#,
];

fn transcript(lines: usize) -> TranscriptBytes {
    let numbers: Vec<String> = (1..=100).map(|n| n.to_string()).collect();
    TranscriptBytes::new(SESSION[..lines].join("\n").replace("NUMBERS", &numbers.join("\\n")))
}

fn kinds(outline: &Outline) -> String {
    outline.rows().iter().map(|row| row.kind.word()).collect()
}

fn rows(transcript: &TranscriptBytes, open: Open) -> Vec<ViewRow> {
    let conversation = Conversation::of(transcript).unwrap();
    let outline = Outline::of(&conversation).unwrap();
    let rows = Rows::new(&conversation, &outline, None);
    (0..outline.rows().len()).map(|row| rows.row(row, open).unwrap()).collect()
}

#[test]
fn a_row_is_a_part_of_an_entry_and_a_call_has_its_result() {
    let transcript = transcript(SESSION.len());
    let conversation = Conversation::of(&transcript).unwrap();
    let outline = Outline::of(&conversation).unwrap();
    assert_eq!(kinds(&outline), "utacknriu", "{:?}", outline.rows());
    assert_eq!(outline.failed(&conversation).unwrap(), [3]);
    let turns = outline.turns(&conversation);
    assert_eq!((turns.first(), turns.last()), (Some(&0), Some(&8)));
    let session = conversation.session();
    let row_of = |uuid: &str| {
        let id = session.id(uuid).unwrap();
        let node = session.nodes().iter().position(|node| node.id == Some(id)).unwrap();
        outline.row_of(&conversation, node)
    };
    assert_eq!((row_of("a3"), row_of("r1"), row_of("u2")), (Some(3), Some(3), Some(8)));
}

#[test]
fn rows_have_what_their_kind_has() {
    let rows = rows(&transcript(SESSION.len()), Open::First);
    assert_eq!(rows[0].summary, "Boil <b>it</b> please");
    assert!(matches!(
        rows[0].nodes.as_deref(),
        Some([ViewNode::Text { .. }, ViewNode::Image { part: 1, width: Some(2), height: Some(3), .. }])
    ));
    assert_eq!((rows[1].summary.as_str(), rows[1].usage.unwrap().output_tokens), ("not stored", 5));
    assert!(matches!(rows[2].nodes.as_deref(), Some([ViewNode::P { .. }])));
    let tool = rows[3].tool.as_ref().unwrap();
    assert_eq!(
        (tool.name.as_str(), tool.title.as_str(), tool.state, tool.duration_ms),
        ("Bash", "seq 100", ToolState::Error, Some(2000))
    );
    assert_eq!(tool.facts, ["exit 2"]);
    let Some([ViewNode::More { lines: 81, part: 1, from: 0, .. }, ViewNode::Ansi { lines }]) =
        rows[3].output.as_deref()
    else {
        panic!("the last lines of an output: {:?}", rows[3].output)
    };
    assert_eq!(lines.last().unwrap()[0].text(), "100");
    assert_eq!(rows[4].compaction.as_ref().unwrap().pre_tokens, Some(100));
    assert_eq!(rows[5].cause.as_deref(), Some("compact_summary"));
    assert_eq!((rows[7].kind, rows[7].idle_ms), (ViewRowKind::Idle, Some(7_193_000)));
}

#[test]
fn a_notification_is_called_by_its_summary() {
    for (content, summary) in [
        ("<task-id>b1</task-id><summary>Tests passed</summary>", "Tests passed"),
        ("<task-id>b1</task-id><summary> </summary>", "<task-id>b1</task-id><summary> </summary>"),
        ("<task-id>b1</task-id>", "<task-id>b1</task-id>"),
    ] {
        let line = format!(
            r#"{{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-01-02T03:00:00.000Z","origin":{{"kind":"task-notification"}},"message":{{"content":"<task-notification>{content}</task-notification>"}}}}"#
        );
        let rows = rows(&TranscriptBytes::new(line), Open::Folded);
        assert_eq!(
            (rows[0].cause.as_deref(), rows[0].summary.as_str()),
            (Some("task_notification"), summary)
        );
    }
}

#[test]
fn what_was_left_out_and_images_can_be_asked_for() {
    let transcript = transcript(SESSION.len());
    let conversation = Conversation::of(&transcript).unwrap();
    let outline = Outline::of(&conversation).unwrap();
    let rows = Rows::new(&conversation, &outline, None);
    let Some(Found::Nodes(nodes)) = rows.part(3, 1).unwrap() else { panic!() };
    let mut all = String::new();
    text::nodes(&nodes, "", &mut all);
    assert_eq!(all.lines().count(), 101);
    assert!(matches!(rows.part(0, 1).unwrap(), Some(Found::Image("image/png", _))));
    assert_eq!(rows.part(0, 2).unwrap(), None);
    assert_eq!(rows.part(4, 1).unwrap(), None);
}

#[test]
fn an_outline_that_is_extended_is_that_of_the_whole_file() {
    let mut outline = Outline::default();
    for lines in 1..=SESSION.len() {
        let transcript = transcript(lines);
        let conversation = Conversation::of(&transcript).unwrap();
        outline = outline.extended(&conversation).unwrap();
        let whole = Outline::of(&conversation).unwrap();
        assert_eq!(outline.rows(), whole.rows(), "{lines} lines");
        assert_eq!(
            outline.failed(&conversation).unwrap(),
            whole.failed(&conversation).unwrap(),
            "{lines} lines"
        );
    }
}

struct HidesNow;

impl Filter for HidesNow {
    fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize) {
        let text = String::from_utf8_lossy(line);
        let masked = text.replace("Now", "***").replace("100", "***");
        let count = usize::from(masked != text);
        (Cow::Owned(masked.into_bytes()), count)
    }

    fn visible(&self, text: &str) -> Vec<(Range<usize>, String)> {
        text.match_indices("Hidden").map(|(at, word)| (at..at + word.len(), "#".to_owned())).collect()
    }
}

#[test]
fn text_is_masked_before_it_is_rendered_in_results_too() {
    let transcript = transcript(SESSION.len());
    let conversation = Conversation::of(&transcript).unwrap();
    let outline = Outline::of(&conversation).unwrap();
    let rows = Rows::new(&conversation, &outline, Some(&HidesNow));
    let prompt = rows.row(8, Open::Folded).unwrap();
    assert_eq!((prompt.summary.as_str(), prompt.masked), ("***", 1));
    let call = rows.row(3, Open::Whole).unwrap();
    assert_eq!((call.summary.as_str(), call.masked), ("Bash seq ***", 2));
    assert!(!format!("{:?}", call.output).contains("100"));
}

#[test]
fn branches_gaps_and_damage_are_rows_in_their_place() {
    let lines = [
        SESSION[0],
        r#"{"type":"user","uuid":"b1","parentUuid":"u1","timestamp":"2026-01-02T03:00:01.000Z","message":{"content":"Left"}}"#,
        r#"{"type":"user","uuid":"c1","parentUuid":"u1","timestamp":"2026-01-02T03:00:02.000Z","message":{"content":"Taken"}}"#,
        "not json <script>",
        r#"{"type":"user","uuid":"d1","parentUuid":"lost","timestamp":"2026-01-02T03:00:03.000Z","message":{"content":"After"}}"#,
    ];
    let transcript = TranscriptBytes::new(lines.join("\n"));
    let rows = rows(&transcript, Open::First);
    let shown: Vec<_> = rows.iter().map(|row| (row.kind.word(), row.summary.as_str(), row.live)).collect();
    assert!(shown.contains(&("b", "1 entry beside the conversation", false)), "{shown:?}");
    assert!(shown.contains(&("u", "Left", false)), "{shown:?}");
    assert!(shown.iter().any(|row| row.0 == "g"), "{shown:?}");
    let damage = rows.iter().find(|row| row.kind == ViewRowKind::Damage).unwrap();
    assert_eq!(damage.nodes.as_deref(), Some(&[ViewNode::Text { text: "not json <script>".into() }][..]));
}

/// Counts the lines that are masked.
#[derive(Default)]
struct Counted(Cell<usize>);

impl Filter for Counted {
    fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize) {
        self.0.set(self.0.get() + 1);
        (Cow::Borrowed(line), 0)
    }

    fn visible(&self, _: &str) -> Vec<(Range<usize>, String)> {
        Vec::new()
    }
}

#[test]
fn an_entry_with_many_calls_is_masked_once_and_so_is_one_with_many_results() {
    let list = |block: &dyn Fn(usize) -> String| (0..50).map(block).collect::<Vec<_>>().join(",");
    let calls =
        list(&|n| format!(r#"{{"type":"tool_use","id":"t{n}","name":"Bash","input":{{"command":"x"}}}}"#));
    let results = list(&|n| format!(r#"{{"type":"tool_result","tool_use_id":"t{n}","content":"done {n}"}}"#));
    let transcript = TranscriptBytes::new(format!(
        r#"{{"type":"assistant","uuid":"a1","parentUuid":null,"message":{{"id":"m1","content":[{calls}]}}}}
{{"type":"user","uuid":"r1","parentUuid":"a1","message":{{"content":[{results}]}}}}
"#
    ));
    let conversation = Conversation::of(&transcript).unwrap();
    let outline = Outline::of(&conversation).unwrap();
    let filter = Counted::default();
    let rows = Rows::new(&conversation, &outline, Some(&filter));
    assert_eq!(outline.rows().len(), 50);
    for row in 0..50 {
        let made = rows.row(row, Open::Whole).unwrap();
        let mut shown = String::new();
        text::nodes(&made.output.unwrap(), "", &mut shown);
        assert_eq!(shown.trim(), format!("done {row}"));
    }
    assert_eq!(filter.0.get(), 2);
}

/// A line with calls or results, each an id and a text.
fn line(uuid: &str, parent: &str, message: &str, blocks: &[(&str, &str)]) -> String {
    let is_call = !message.is_empty();
    let block = |(id, text): &(&str, &str)| {
        if is_call {
            format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{text}"}}}}"#)
        } else {
            format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}"#)
        }
    };
    let kind = if is_call { "assistant" } else { "user" };
    let blocks: Vec<_> = blocks.iter().map(block).collect();
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":"{parent}","message":{{"id":"{message}","content":[{}]}}}}"#,
        blocks.join(",")
    )
}

/// The command and the output of each row.
type Shown = &'static [(&'static str, &'static str)];

#[test]
fn calls_with_the_same_id_are_rows_with_their_own_results() {
    let first = line("a1", "u", "m1", &[("t", "FIRST")]);
    let again = line("a9", "a1", "m1", &[("t", "FIRST")]);
    let second = line("a2", "r1", "m2", &[("t", "SECOND")]);
    let beside = line("a2", "a1", "m1", &[("t", "SECOND")]);
    let (one, two) = (line("r1", "a1", "", &[("t", "ONE")]), line("r2", "a2", "", &[("t", "TWO")]));
    let of_both = [("t", "ONE"), ("t", "TWO")];
    let whole: Shown = &[("FIRST", "ONE"), ("SECOND", "TWO")];
    let cases: [(&[String], Shown); 9] = [
        (&[first.clone(), one.clone(), second.clone(), two.clone()], whole),
        (&[first.clone(), beside.clone(), two.clone(), one.clone()], whole),
        (&[first.clone(), beside.clone(), line("r", "a2", "", &of_both)], whole),
        (&[line("a", "u", "m", &[("t", "FIRST"), ("t", "SECOND")]), line("r", "a", "", &of_both)], whole),
        (&[first.clone(), one.clone(), second.clone()], &[("FIRST", "ONE"), ("SECOND", "")]),
        (&[first.clone(), beside, two.clone()], &[("FIRST", ""), ("SECOND", "TWO")]),
        // Lines that repeat a call have no rows.
        (&[first.clone(), again.clone(), line("r", "a9", "", &[("t", "ONE")])], &[("FIRST", "ONE")]),
        (&[first.clone(), first.clone(), one.clone(), one.clone()], &[("FIRST", "ONE")]),
        (&[first, again, one, second, two], whole),
    ];
    let prompt = r#"{"type":"user","uuid":"u","parentUuid":null,"message":{"content":"Boil it"}}"#;
    for (number, (lines, expected)) in cases.into_iter().enumerate() {
        let transcript = TranscriptBytes::new(format!("{prompt}\n{}", lines.join("\n")));
        let conversation = Conversation::of(&transcript).unwrap();
        let measured = Outline::of(&conversation).unwrap();
        let outlines = [
            Outline::unmeasured(&conversation).unwrap(),
            measured.extended(&conversation).unwrap(),
            measured,
        ];
        for outline in outlines {
            let rows = Rows::new(&conversation, &outline, None);
            let mut calls = Vec::new();
            for row in (0..outline.rows().len()).map(|row| rows.row(row, Open::Whole).unwrap()) {
                let Some(tool) = row.tool else { continue };
                let mut output = String::new();
                if tool.state == ToolState::Ok {
                    text::nodes(&row.output.unwrap(), "", &mut output);
                }
                calls.push((tool.title, output.trim().to_owned()));
            }
            let calls: Vec<_> = calls.iter().map(|(title, output)| (&**title, &**output)).collect();
            assert_eq!(calls, expected, "case {number}");
        }
    }
}
