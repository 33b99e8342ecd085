use annals_usage::ReplyCount;

use super::*;

const SESSION: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

fn counted(lines: &[&str]) -> FileCount {
    let mut count = FileCount::default();
    let mut counter = LineCounter { count: &mut count, session: Some(SESSION) };
    for (number, line) in (1..).zip(lines) {
        counter.add_line(line.as_bytes(), number).unwrap();
    }
    count
}

/// Returns the one reply of a line with these counters.
fn usage(counters: &str) -> ReplyCount {
    let line = format!(r#"{{"type":"assistant","message":{{"id":"m","model":"x","usage":{{{counters}}}}}}}"#);
    let count = counted(&[&line]);
    let [reply] = count.replies() else { panic!("{counters}") };
    *reply
}

#[test]
fn all_counters_are_read() {
    let reply = usage(
        r#""input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":100,"cache_read_input_tokens":4,
        "cache_creation":{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":60},
        "server_tool_use":{"web_search_requests":7,"web_fetch_requests":8},"service_tier":"standard",
        "inference_geo":"us","speed":"fast","output_tokens_details":{"thinking_tokens":1}"#,
    );
    let expected = Counters {
        input: 1,
        output: 2,
        write_5m: 30,
        write_1h: 60,
        write_unsplit: 10,
        read: 4,
        thinking: 1,
        web_searches: 7,
        web_fetches: 8,
    };
    assert_eq!(reply.counters, expected);
    assert!(reply.flags.has(Flag::Fast) && !reply.flags.has(Flag::Odd));
}

#[test]
fn a_counter_that_is_no_whole_number_is_left_out_and_noted() {
    for (counter, expected, is_odd) in [
        ("5", 5, false),
        ("5.0", 5, false),
        ("5e2", 500, false),
        ("null", 0, false),
        ("-5", 0, true),
        ("5.5", 0, true),
        ("\"5\"", 0, true),
        ("true", 0, true),
        ("{}", 0, true),
        ("4294967295", u32::MAX, false),
        ("4294967296", 0, true),
        ("1e300", 0, true),
    ] {
        let reply = usage(&format!(r#""input_tokens":{counter},"output_tokens":3"#));
        assert_eq!((reply.counters.input, reply.flags.has(Flag::Odd)), (expected, is_odd), "{counter}");
        assert_eq!(reply.counters.output, 3);
    }
    assert_eq!(usage("").counters, Counters::default());
    assert_eq!(usage(r#""cache_creation":7,"server_tool_use":null"#).counters, Counters::default());
}

#[test]
fn only_replies_of_models_count() {
    let reply = r#"{"type":"assistant","message":{"id":"m","model":"x","usage":{"output_tokens":1}}}"#;
    assert_eq!(counted(&[reply]).replies().len(), 1);
    for none in [
        reply.replace("\"x\"", "\"<synthetic>\""),
        reply.replace("\"message\"", "\"isApiErrorMessage\":true,\"message\""),
        reply.replace("assistant", "user"),
        reply.replace("{\"output_tokens\":1}", "null"),
        reply.replace("{\"output_tokens\":1}", "[]"),
        reply.replace("\"type\":\"assistant\",", ""),
        r#"{"type":"user","toolUseResult":{"usage":{"output_tokens":1}}}"#.to_owned(),
        r#"{"type":"assistant","message":"usage \"usage\""}"#.to_owned(),
    ] {
        assert_eq!(counted(&[&none]).replies().len(), 0, "{none}");
    }
    // Old lines have no type.
    let old = reply.replace("\"type\":\"assistant\",", "").replace("\"id\"", "\"role\":\"assistant\",\"id\"");
    let old = old.replace("\"message\"", "\"costUSD\":0.25,\"message\"");
    assert_eq!(counted(&[&old]).replies()[0].recorded, Money::from_dollars(0.25));
}

#[test]
fn calls_of_advisors_count_and_other_iterations_do_not() {
    let line = r#"{"type":"assistant","message":{"id":"m","model":"x","usage":{"output_tokens":1,"iterations":[
        {"type":"message","output_tokens":1},{"type":"advisor_message","model":"y","output_tokens":5},
        {"type":"fallback_message","output_tokens":9},{"type":"advisor_message","model":"y","output_tokens":6}]}}}"#;
    let count = counted(&[line, line]);
    let outputs: Vec<_> = count
        .replies()
        .iter()
        .map(|reply| (count.names().text(reply.model), reply.counters.output))
        .collect();
    assert_eq!(outputs, [("x", 1), ("y", 5), ("y", 6)]);
}

#[test]
fn the_progress_of_an_agent_is_its_message() {
    let line = r#"{"type":"progress","sessionId":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","gitBranch":"main","data":{"type":"agent_progress","agentId":"a1",
        "message":{"type":"assistant","uuid":"u","timestamp":"2026-01-02T00:00:00.000Z","requestId":"r","message":{"id":"m","model":"x","usage":{"output_tokens":3}}}}}"#;
    let count = counted(&[line]);
    let [reply] = count.replies() else { panic!("one reply") };
    assert!(
        reply.flags.has(Flag::Progress) && reply.flags.has(Flag::Sidechain) && !reply.flags.has(Flag::Copy)
    );
    assert_eq!((count.names().text(reply.agent), count.names().text(reply.branch)), ("a1", "main"));
    assert_eq!(reply.time, 1_767_312_000_000);
    assert_eq!(counted(&[&line.replace("\"assistant\"", "\"user\"")]).replies().len(), 0);
}

#[test]
fn facts_come_from_the_first_lines_that_have_them() {
    let facts = counted(&[
        r#"{"type":"mode","sessionId":"s"}"#,
        r#"{"type":"user","uuid":"u1","cwd":"/src","sessionId":"t","forkedFrom":{"sessionId":"o"}}"#,
        r#"{"type":"user","uuid":"u2","cwd":"/elsewhere"}"#,
    ])
    .facts;
    assert_eq!((facts.session.as_deref(), facts.cwd.as_deref()), (Some("s"), Some("/src")));
    assert_eq!((facts.first_uuid, facts.forked_from.as_deref()), (stable_hash(&["uuid", "u1"]), Some("o")));
}

#[test]
fn the_last_cost_state_and_the_ends_of_windows_are_kept() {
    let state = |session: &str, cost: &str| {
        format!(
            r#"{{"type":"cost-state","sessionId":"{session}","totalCostUSD":{cost},"modelUsage":{{"x[1m]":{{"inputTokens":5,"costUSD":0.5}}}}}}"#
        )
    };
    let limit = r#"{"type":"assistant","message":{"model":"<synthetic>","usage":{},"content":[{"type":"text","text":"Claude AI usage limit reached|1755806400"}]}}"#;
    let facts =
        counted(&[&state(SESSION, "1"), limit, &state(SESSION, "2.5"), limit, &state("other", "9")]).facts;
    let client = facts.client.unwrap();
    assert_eq!((client.cost, client.models[0].input), (Money::from_dollars(2.5).unwrap(), 5));
    assert_eq!(facts.resets, [1_755_806_400_000]);
    assert_eq!(counted(&[&state(SESSION, "\"much\"")]).facts.client, None);
}

#[test]
fn lines_that_are_not_one_object_are_told() {
    let mut count = FileCount::default();
    let mut counter = LineCounter { count: &mut count, session: None };
    for line in ["{} {\"usage\":1", "\0\0{}", "text", "[]", r#"{"usage":1}{"usage":2}"#] {
        assert!(counter.add_line(line.as_bytes(), 100).is_err(), "{line}");
    }
    for line in ["", " \r", "{\"a\":1}\r"] {
        assert!(counter.add_line(line.as_bytes(), 100).is_ok(), "{line}");
    }
}
