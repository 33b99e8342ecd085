//! `annals stats`.

use insta::assert_snapshot;

use crate::{annals, small_home, transcript};

#[test]
fn one_session_is_counted_in_full() {
    let home = small_home();
    let counted = annals(&home, &["stats", "3e11"]);
    assert_eq!((counted.code, counted.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(counted.stdout, @"
    [home]/.claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl
    4 lines, 814 B, 2026-03-01 10:00 to 2026-03-01 10:00 (UTC)
    time: 3.0 s from the first to the last entry, 3.0 s in turns
    tokens: input 0, output 0, cache written 0, cache read 0
    Claude Code versions: 2.1.325
    turns 1, compactions 0, branches 0, gaps 0, subagents 0, failed calls 1, problems 0

    entries       number
    assistant          1
    custom-title       1
    user               2

    blocks       number
    tool_result       1
    tool_use          1

    models (replies)  number
    claude-opus-5-5        1

    tools  calls  errors
    Bash       1       1
    ");
}

#[test]
fn several_sessions_get_a_row_each_and_a_total() {
    let home = small_home();
    let other = "4e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    home.write(
        format!(".claude/projects/-p/{other}.jsonl"),
        "{\"type\":\"mode\",\"sessionId\":\"x\"}\nbroken\n",
    );
    home.write(
        format!(".claude/projects/-p/{other}/subagents/agent-a1.jsonl"),
        "{\"type\":\"user\",\"uuid\":\"x\",\"parentUuid\":null,\"timestamp\":\"2026-03-02T00:00:00Z\",\"message\":{\"content\":[]}}\n",
    );
    let counted = annals(&home, &["stats"]);
    assert_eq!((counted.code, counted.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(counted.stdout, @"
    2 sessions and 1 subagent
    7 lines, 958 B, 2026-03-01 10:00 to 2026-03-02 00:00 (UTC)
    time: 3.0 s in turns
    tokens: input 0, output 0, cache written 0, cache read 0
    Claude Code versions: 2.1.325
    turns 1, compactions 0, branches 0, gaps 0, subagents 1, failed calls 1, problems 1

    entries       number
    assistant          1
    custom-title       1
    mode               1
    user               3

    blocks       number
    tool_result       1
    tool_use          1

    models (replies)  number
    claude-opus-5-5        1

    tools  calls  errors
    Bash       1       1

    session     lines   size  replies  calls  errors  problems  last active (UTC)
    4e11a6b4        2   39 B        0      0       0         1  -
      agent a1      1  105 B        0      0       0         0  2026-03-02 00:00
    3e11a6b4        4  814 B        1      1       1         0  2026-03-01 10:00
    ");
}

#[test]
fn the_json_of_a_session_has_the_agreed_shape() {
    let home = small_home();
    let counted = annals(&home, &["stats", &transcript(), "--json"]);
    assert_eq!(counted.code, Some(0));
    assert_snapshot!(counted.stdout, @r#"{"path":".claude/projects/-home-mia-tea/3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl","session":"3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55","agentId":null,"lines":4,"bytes":814,"types":{"assistant":1,"custom-title":1,"user":2},"subtypes":{},"blocks":{"tool_result":1,"tool_use":1},"versions":["2.1.325"],"models":{"claude-opus-5-5":1},"firstAt":"2026-03-01T10:00:00.000Z","lastAt":"2026-03-01T10:00:03.000Z","tools":{"Bash":{"calls":1,"errors":1}},"turns":1,"compactions":0,"branches":0,"gaps":0,"subagents":0,"problems":0,"durationMs":3000,"activeMs":3000,"changedFiles":0,"linesAdded":0,"linesRemoved":0,"idlePauses":0,"contextTokens":null,"contextWindowTokens":null,"usage":{"inputTokens":0,"outputTokens":0,"cacheCreationTokens":0,"cacheReadTokens":0}}"#);
}
