use std::fs;

use super::*;
use crate::files::TranscriptFile;
use crate::snapshot::Snapshot;

/// Returns the context of a session with these lines, each of which gets an uuid and follows the one before.
fn context_of(lines: &[String]) -> ContextUse {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl");
    let lines = lines.iter().enumerate().map(|(number, line)| {
        let parent = if number == 0 { "null".to_owned() } else { format!("\"u{}\"", number - 1) };
        let time = format!("2026-11-16T10:{number:02}:00.000Z");
        line.replacen('{', &format!(r#"{{"uuid":"u{number}","parentUuid":{parent},"timestamp":"{time}","#), 1)
    });
    fs::write(&path, lines.map(|line| line + "\n").collect::<String>()).unwrap();
    let mut prompts = PromptSizes::default();
    let snapshot = Snapshot::take_with(TranscriptFile::at(&path), |entry, _, _| prompts.add(entry)).unwrap();
    let conversation = Conversation::of(&snapshot).unwrap();
    let context = context_use(&conversation).unwrap();
    // A list says the same without reading entries twice.
    let expected = ContextLevel { tokens: context.tokens, window: context.window };
    assert_eq!(prompts.fill(&conversation), expected);
    context
}

fn prompt(text: &str) -> String {
    format!(r#"{{"type":"user","message":{{"role":"user","content":"{text}"}}}}"#)
}

fn reply(id: &str, prompt_tokens: u64, block: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"{id}","role":"assistant","model":"claude-opus-5-5","stop_reason":"end_turn","usage":{{"input_tokens":{},"cache_creation_input_tokens":100,"cache_read_input_tokens":200,"output_tokens":9}},"content":[{block}]}}}}"#,
        prompt_tokens - 300
    )
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{}}}}"#)
}

fn result(id: &str, bytes: usize) -> String {
    format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{}"}}]}}}}"#,
        "x".repeat(bytes)
    )
}

/// A session whose text has one token for every two bytes, beside 5,000 tokens of the system prompt.
fn session() -> Vec<String> {
    let text = |bytes: usize| format!(r#"{{"type":"text","text":"{}"}}"#, "y".repeat(bytes));
    vec![
        prompt(&"p".repeat(400)),
        reply("m1", 5_200, &call("t1")),
        result("t1", 4_000),
        // The call has six bytes: `Read` and `{}`.
        reply("m2", 7_203, &text(1_000)),
        prompt(&"q".repeat(2_000)),
        reply("m3", 8_703, &text(10)),
    ]
}

fn tokens_of(parts: &[ContextPart]) -> Vec<(&str, &str, u64)> {
    parts.iter().map(|part| (part.kind.name(), &*part.name, part.tokens)).collect()
}

#[test]
fn estimates_are_calibrated_by_the_growth_from_reply_to_reply() {
    let context = context_of(&session());
    assert_eq!((context.tokens, context.peak, context.window), (Some(8_703), Some(8_703), Some(1_000_000)));
    assert!((context.estimate.tokens_per_byte - 0.5).abs() < 0.001, "{:?}", context.estimate);
    assert_eq!(context.estimate.measured_steps, 2);
    assert!(context.estimate.error_percent.unwrap() < 0.1, "{:?}", context.estimate);
    assert_eq!(
        tokens_of(&context.parts),
        [("tool_result", "Read", 2_000), ("prompt", "", 1_200), ("reply", "", 500), ("tool_call", "", 3)],
        "the last reply is not a part of its own prompt"
    );
    assert_eq!(context.rest, Some(5_000));
}

#[test]
fn turns_say_how_full_the_context_was_and_what_they_added() {
    let context = context_of(&session());
    let turns: Vec<_> =
        context.turns.iter().map(|turn| (turn.turn, turn.replies, turn.tokens, turn.peak)).collect();
    assert_eq!(turns, [(1, 2, 7_203, 7_203), (2, 1, 8_703, 8_703)]);
    assert_eq!(tokens_of(&context.turns[1].added), [("prompt", "", 1_000), ("reply", "", 5)]);
}

#[test]
fn a_compaction_begins_a_new_context() {
    let mut lines = session();
    lines.push(r#"{"type":"system","subtype":"compact_boundary","content":"c","compactMetadata":{"trigger":"auto","preTokens":9000,"durationMs":7}}"#.replace("{\"type\"", "{\"logicalParentUuid\":\"u5\",\"type\""));
    lines.push(
        r#"{"type":"user","isCompactSummary":true,"message":{"role":"user","content":"0123456789"}}"#
            .to_owned(),
    );
    assert_eq!(context_of(&lines).tokens, None, "nothing says yet how much is left");
    lines.push(reply("m4", 5_105, r#"{"type":"text","text":"ok"}"#));
    let context = context_of(&lines);
    let [compaction] = &context.compactions[..] else { panic!("one compaction: {context:?}") };
    assert_eq!(
        (compaction.before, compaction.after, compaction.saved()),
        (Some(9_000), Some(5_105), Some(3_895))
    );
    assert_eq!((compaction.trigger.as_deref(), compaction.duration_ms), (Some("auto"), Some(7)));
    assert_eq!(tokens_of(&context.parts), [("summary", "", 5)]);
    assert_eq!((context.tokens, context.peak, context.rest), (Some(5_105), Some(8_703), Some(5_100)));
}

#[test]
fn lines_of_two_replies_that_alternate_are_two_replies() {
    let text = r#"{"type":"text","text":"ok"}"#;
    let lines = [reply("a", 1_000, text), reply("b", 1_100, text), reply("a", 1_000, text)];
    let context = context_of(&lines);
    assert_eq!(
        (context.tokens, context.turns.iter().map(|turn| turn.replies).sum::<u64>()),
        (Some(1_100), 2)
    );
}

#[test]
fn a_session_that_is_too_short_has_the_usual_estimate_and_no_error() {
    let context = context_of(&session()[..2]);
    assert_eq!((context.estimate.measured_steps, context.estimate.error_percent), (0, None));
    assert!((context.estimate.tokens_per_byte - 0.33).abs() < f64::EPSILON);
    assert!(context_of(&[prompt("hello")]).tokens.is_none());
}

#[test]
fn lines_of_a_reply_are_one_prompt_and_images_are_no_text() {
    let image = format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","data":"{}"}}}}]}}}}"#,
        "A".repeat(90_000)
    );
    let context = context_of(&[
        image,
        reply("m1", 6_600, r#"{"type":"thinking","thinking":"","signature":"AAAAAAAAAAAA"}"#),
        reply("m1", 6_600, r#"{"type":"text","text":"ok"}"#),
    ]);
    assert_eq!((context.turns[0].replies, context.rest), (1, Some(5_000)));
    assert_eq!(tokens_of(&context.parts), [("prompt", "", 1_600)]);
}

#[test]
fn newer_models_have_the_large_window() {
    let large = [
        "claude-opus-4-7",
        "claude-opus-5-20260901",
        "claude-sonnet-5",
        "claude-haiku-5-5",
        "claude-fable-5-1",
        "us.anthropic.claude-opus-4-8-20260601-v1:0",
        "claude-opus-4-8@20260601",
        "anthropic/claude-opus-4.8",
    ];
    for model in large {
        assert_eq!(context_window(Some(model), 9), 1_000_000, "{model}");
    }
    let usual = [
        "claude-opus-4-6",
        "claude-opus-4-20250514",
        "claude-sonnet-4-6",
        "claude-haiku-5",
        "claude-3-5-sonnet-20241022",
        "claude-3-opus-20240229",
        "opus",
        "gpt-5",
        "",
    ];
    for model in usual {
        assert_eq!(context_window(Some(model), 9), 200_000, "{model}");
    }
}

#[test]
fn windows_are_larger_if_the_prompt_did_not_fit() {
    let windows = [(Some("x"), 9), (Some("x[1m]"), 9), (None, 200_001), (None, 2_000_000)];
    assert_eq!(
        windows.map(|(model, used)| context_window(model, used)),
        [200_000, 1_000_000, 1_000_000, 2_000_000]
    );
}
