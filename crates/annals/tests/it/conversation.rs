//! `annals show`, `turns`, `tools` and `lineage` on the sample.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::command::{Home, Ran};
use testkit::corpora;
use testkit::transcript::Transcript;

use crate::{SESSION, annals, feed, rest, small_home};

/// Runs annals on the sample that newcomers see.
fn on_sample(args: &[&str]) -> Ran {
    let sample = corpora::own().join("sample");
    let ran = Home::new().run(
        crate::ANNALS,
        &[&["--root", sample.to_str().expect("the project lies at a readable path")], args].concat(),
    );
    assert_eq!(ran.stderr, "", "{args:?}");
    ran
}

/// Shows a transcript.
fn shown(transcript: &impl ToString, args: &[&str]) -> String {
    let home = Home::new();
    home.write("s.jsonl", transcript.to_string());
    let ran = crate::annals(&home, &[&["show", "s.jsonl"], args].concat());
    // Some transcripts here have messages that a resume would lose, which `show` mentions.
    let mut told = ran.stderr.lines().filter(|line| !line.starts_with("Claude Code would lose"));
    assert_eq!((ran.code, told.next()), (Some(0), None));
    ran.stdout
}

#[test]
fn a_conversation_reads_from_top_to_bottom() {
    assert_snapshot!(on_sample(&["show", "Tea presets"]).stdout, @r#"
    Tea presets
    session  a6ad034d-44e0-4c06-8f1e-c7794055cdb3
    project  /home/mia/tea-timer
    branch   steep-presets
    model    claude-opus-5-5
    time     2026-11-16 08:02 +00:00 to 2026-11-16 08:04 +00:00
    turns    3
    tokens   138,251: input 88, output 1,654, cache written 3,813, cache read 132,696; $0.0790

    ── 1  2026-11-16 08:02 +00:00
    ❯ The timer only knows "3 minutes". Add presets for green, oolong and black tea 🍵
    · context: environment, model, session_context, date
      ∴ thinking (not kept)
    ● I will find where the three minutes come from and look at the timer.
      ▸ Grep 180 → ok 12.1 s
      ▸ Read /home/mia/tea-timer/src/timer.ts → ok 5.6 s
      ▸ Read /home/mia/tea-timer/src/presets.ts → error 6.1 s
    ● There is no preset file yet, so I will create one and then wire it up. Two steps:
      ▸ TaskCreate Three teas with seconds and degrees → ok 2.9 s
      ▸ TaskCreate One button for each preset → ok 3.8 s
      ▸ Write /home/mia/tea-timer/src/presets.ts → ok 1.9 s
    ● Now the tests.
      ▸ Bash npm test → error 1.9 s

    ── 2  2026-11-16 08:02 +00:00  queued
    ❯ (queued) Please keep the old default when nothing is chosen
      ∴ thinking (not kept)
    ● The menu still draws one button. I keep `180` as the default, as you ask.
      ▸ Edit /home/mia/tea-timer/src/menu.ts → ok 3.1 s
      ▸ Bash npm test → ok 2.6 s
      ▸ TaskUpdate 2 → ok 739 ms
    ● Presets for green, oolong and black tea are in `src/presets.ts`, the menu shows a button for each, and 180 seconds stay the default. All 12 tests pass ✅
    ❯ /rename Tea presets
      The session is now called Tea presets

    ── 3  2026-11-16 08:04 +00:00
    ❯ Commit this, but do not push.
      ▸ Bash git add -A && git commit -m "Add tea presets" → ok 1.4 s
    ● Committed as `4be19d2`, not pushed.
    "#);
}

#[test]
fn compactions_are_shown_where_they_happened() {
    assert_snapshot!(on_sample(&["show", "50d5", "--turn", "3..4", "--no-thinking", "--tools", "none"]).stdout, @"

    ── 3  2026-11-17 13:25 +00:00
    ❯ And the dial? 屏幕关着的时候不用画。
    ● I would stop drawing on `visibilitychange` and start again when the page shows. Shall I?
    ┄┄ compacted (manual): 41,877 → 3,911 tokens, 2 messages kept ┄┄

    ── 4  2026-11-17 13:25 +00:00  compact summary
      [summary of what was compacted, 4 lines] This session is being continued from a previous conversatio…
    · context: added by Claude Code
    ❯ /compact
      The conversation was compacted
    ");
}

#[test]
fn subagents_are_shown_below_the_calls_that_started_them() {
    assert_snapshot!(on_sample(&["show", "50d5", "--turn", "1", "--subagents"]).stdout, @"

    ── 1  2026-11-17 13:20 +00:00
    ❯ Battery drains fast on phones. Find out why before you change anything.
    · context: environment, model, session_context, date
      ∴ thinking (not kept)
    ● An agent can search for wake-ups while I think about the ring.
      ▸ Agent Find wake-ups → ok 17.9 s
      │ agent aae67b75d78bd72ac Explore: Find wake-ups
      │ 
      │ ── 1  2026-11-17 13:20 +00:00
      │ ❯ List every place in src that wakes up more than once a second, with file and line.
      │ ● Searching for intervals and frames.
      │   ▸ Grep setInterval|requestAnimationFrame → ok 822 ms
      │   ▸ Read /home/mia/tea-timer/src/clock.ts → ok 3.0 s
      │ ● Two places wake up more than once a second: `src/dial.ts:14` on every frame and `src/clock.ts:8` every 50 ms. `src/beep.ts` is fine.
    ● Let me measure that on the emulator.
      ▸ Bash node tools/trace.mjs --seconds 60 → ok 1.6 s
      ∴ thinking (not kept)
    ● The dial redraws on every frame even while the screen is off; the clock adds twenty ticks a second. Together they keep the processor awake.
    ");
    let beside = on_sample(&["show", "25503d97", "--subagents"]).stdout;
    assert!(beside.contains("│ agent a60e04e"), "{beside}");
    let inline = on_sample(&["show", "2af4"]).stdout;
    assert!(inline.contains("┄┄ subagent: 4 entries ┄┄"), "{inline}");
}

#[test]
fn calls_in_full_show_changes_and_spilled_output() {
    let full = on_sample(&["show", "50d5", "--tools", "full"]).stdout;
    assert!(full.contains("      - ") && full.contains("      + "), "{full}");
    assert!(full.contains("000000 ms  wake  clock.tick") && !full.contains("<persisted-output>"), "{full}");
    let short = on_sample(&["show", "50d5"]).stdout;
    assert!(!short.contains("clock.tick"), "{short}");
}

#[test]
fn the_sample_has_a_file_to_restore() {
    let versions = on_sample(&["files", "a6ad", "--file", "presets.ts"]).stdout;
    assert!(
        versions.lines().last().is_some_and(|row| row.contains("  32d39eb0  ") && row.contains("kept")),
        "{versions}"
    );
    let restored =
        on_sample(&["files", "a6ad", "--at", "32d39eb0", "--restore", "presets.ts", "-o", "-"]).stdout;
    assert!(restored.contains("乌龙茶"), "{restored}");
}

#[test]
fn turns_and_tools_are_tables() {
    assert_snapshot!(on_sample(&["turns", "50d5"]).stdout, @"
    turn  started (UTC)     by                          prompt                                                                                                                                                                                                    calls  errors    time  output
       1  2026-11-17 13:20  prompt                      Battery drains fast on phones. Find out why before you change anything.                                                                                                                                       2       0  39.6 s     546
       2  2026-11-17 13:22  prompt                      Makes sense. Slow the clock down to one tick a second.                                                                                                                                                        4       1  21.2 s   1,115
       3  2026-11-17 13:25  prompt                      And the dial? 屏幕关着的时候不用画。                                                                                                                                                                          0       0   1.7 s     342
       4  2026-11-17 13:25  compact summary (continue)  This session is being continued from a previous conversation that ran out of context. Summary: The battery drains because `src/dial.ts` draws on every frame and `src/clock.ts` ticked every 50 ms. The…      0       0   7.6 s       0
       5  2026-11-17 13:26  prompt                      Yes, do that.                                                                                                                                                                                                 3       0  15.3 s     952
    ");
    assert_snapshot!(on_sample(&["tools", "a6ad", "--errors"]).stdout, @"
    session   date              tool  subject                             state   time  error
    a6ad034d  2026-11-16 08:02  Read  /home/mia/tea-timer/src/presets.ts  error  6.1 s  There is no file /home/mia/tea-timer/src/presets.ts.
    a6ad034d  2026-11-16 08:02  Bash  npm test                            error  1.9 s  Exit code 1: FAIL test/menu.test.ts
    ");
    let resumed = on_sample(&["turns", "50d5", "--pause", "0", "--json"]).stdout;
    assert!(resumed.contains(r#""kind":"resume""#), "{resumed}");
    let none = crate::annals(&crate::small_home(), &["tools", "latest", "--name", "Nothing"]);
    assert_eq!((none.code, none.stderr.as_str()), (Some(1), "no matching tool calls\n"));
}

#[test]
fn the_json_of_a_conversation_has_the_agreed_shapes() {
    let first = |args: &[&str]| on_sample(args).stdout.lines().next().unwrap_or_default().to_owned();
    assert_snapshot!(first(&["turns", "a6ad", "--json"]), @r#"{"turn":1,"uuid":"87efe19a-2f52-4629-bba6-035a04a7682d","kind":"new_session","startedBy":"prompt","prompt":"The timer only knows /"3 minutes/". Add presets for green, oolong and black tea 🍵","startedAt":"2026-11-16T08:02:13.562Z","durationMs":38939,"messages":19,"toolCalls":7,"errors":2,"usage":{"inputTokens":33,"outputTokens":567,"cacheCreationTokens":1604,"cacheReadTokens":47625},"compacted":false,"resumedAfterMs":null}"#);
    assert_snapshot!(first(&["tools", "a6ad", "--name", "Edit", "--json"]), @r#"{"session":"a6ad034d-44e0-4c06-8f1e-c7794055cdb3","agentId":null,"id":"toolu_01mfi38XqCcTkwyteJgCxbhu","name":"Edit","subject":"/home/mia/tea-timer/src/menu.ts","state":"ok","durationMs":3135,"files":["/home/mia/tea-timer/src/menu.ts"],"timestamp":"2026-11-16T08:02:55.358Z","uuid":"e2c291e7-71e6-4ef6-8467-69a61d69945e","resultUuid":"50cfc8ad-e658-432c-9de1-95db737ff41d","line":38,"input":{"replace_all":false,"file_path":"/home/mia/tea-timer/src/menu.ts","old_string":"buttons([start])","new_string":"buttons(presets.map(choose))"}}"#);
    let item = on_sample(&["show", "a6ad", "--json"]).stdout;
    let item = item.lines().find(|line| line.contains("\"tool\":{")).unwrap_or_default().to_owned();
    assert_snapshot!(item, @r#"{"kind":"message","role":"assistant","visibility":"conversation","type":"assistant","subtype":null,"uuid":"cca8c005-b35e-4e55-9eb1-963ccf10781e","parent":"12e95818-0f89-4c28-a810-2967fd5c94fa","timestamp":"2026-11-16T08:02:20.311Z","turn":1,"live":true,"sidechain":false,"agentId":null,"parts":[{"type":"tool_use","id":"toolu_01KFkhL7i41wwXX61JZfZrMk","name":"Grep","input":{"pattern":"180","path":"/home/mia/tea-timer/src","output_mode":"content"}}],"tool":{"id":"toolu_01KFkhL7i41wwXX61JZfZrMk","name":"Grep","state":"ok","resultUuid":"c0b3357e-518a-4455-bd4e-31c174671019"},"usage":{"input_tokens":5,"cache_creation_input_tokens":347,"cache_read_input_tokens":11198,"output_tokens":15,"output_tokens_details":{"thinking_tokens":0},"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_5m_input_tokens":347,"ephemeral_1h_input_tokens":0},"inference_geo":"","iterations":[],"speed":"standard"},"model":"claude-opus-5-5","forkedFrom":null,"compaction":null,"problem":null,"leaf":null,"entries":null,"line":12,"stopReason":"tool_use","requestId":"req_018BdHT9NzbBwu6GmEmP7pRp"}"#);
}

#[test]
fn what_is_not_there_is_said() {
    let home = crate::small_home();
    let turn = crate::annals(&home, &["show", "latest", "--turn", "9"]);
    assert_eq!(
        (turn.code, turn.stderr.as_str()),
        (Some(1), "annals: there is no such turn: the session has 1 turn\n")
    );
    assert_eq!(crate::annals(&home, &["show", "latest", "--turn", "x"]).code, Some(2));
    assert_eq!(crate::annals(&home, &["show", "latest", "--turn", "1", "--view", "model"]).code, Some(2));
    home.write("notes.jsonl", "just text\n");
    let notes = crate::annals(&home, &["show", "notes.jsonl"]);
    assert_eq!((notes.code, notes.stderr.as_str()), (Some(1), "annals: this file has no entries\n"));
}

#[test]
fn folded_parts_are_unfolded_on_request() {
    let summary = on_sample(&["show", "50d5", "--turn", "4", "--expand"]).stdout;
    assert!(summary.contains("draws on every frame"), "{summary}");
}

#[test]
fn another_leaf_gives_another_conversation() {
    let home = Home::new();
    let lines =
        Transcript::session("s").user("a", "first").user("b", "abandoned").after("a").user("c", "instead");
    home.write("s.jsonl", lines.to_string());
    let shown = crate::annals(&home, &["show", "s.jsonl"]).stdout;
    assert!(shown.contains("left behind: 1 entry"), "{shown}");
    let model = |args: &[&str]| {
        crate::annals(&home, &[&["show", "s.jsonl", "--view", "model", "--json"], args].concat()).stdout
    };
    assert!(model(&[]).contains("instead") && !model(&[]).contains("abandoned"));
    assert!(model(&["--leaf", "b"]).contains("abandoned") && !model(&["--leaf", "b"]).contains("instead"));
    let unknown = crate::annals(&home, &["show", "s.jsonl", "--leaf", "zzz"]);
    assert_eq!(
        (unknown.code, unknown.stderr.lines().next()),
        (Some(1), Some("annals: no entry begins with `zzz`"))
    );
}

#[test]
fn copies_of_a_session_are_named() {
    let home = crate::small_home();
    let copy = "4e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";
    let file = std::fs::read_to_string(home.path().join(crate::transcript())).unwrap();
    home.write(
        format!(".claude/projects/-home-mia-tea/{copy}.jsonl"),
        file + "{\"type\":\"user\",\"uuid\":\"new\",\"parentUuid\":\"u2\"}\n",
    );
    assert_snapshot!(crate::annals(&home, &["lineage", crate::SESSION]).stdout, @"
    session   relation              shared entries  last shared entry
    4e11a6b4  copy of this session               3  u2
    ");
    assert_eq!(crate::annals(&home, &["lineage", copy, "--json"]).stdout.matches("\"origin\"").count(), 1);
    assert_eq!(crate::annals(&crate::small_home(), &["lineage", "latest"]).code, Some(1));
}

#[test]
fn a_subagent_in_the_same_file_is_shown_on_request() {
    let lines = Transcript::session("s")
        .user("u1", "Ask an agent")
        .after(None)
        .user("s1", "Look around")
        .with("isSidechain", true)
        .assistant("s2", |reply| reply.text("Nothing there"))
        .with("isSidechain", true)
        .after("u1")
        .assistant("a1", |reply| reply.text("It found nothing"))
        .after(None)
        .user("s3", "Look again")
        .with("isSidechain", true)
        .record("mode", json!({"mode": "normal"}));
    assert_snapshot!(shown(&lines, &[]), @"
    Ask an agent
    session  s.jsonl
    project  
    branch   main
    model    claude-opus-5-5
    time     2026-03-01 10:00 +00:00 to 2026-03-01 10:00 +00:00
    turns    1

    ── 1  2026-03-01 10:00 +00:00
    ❯ Ask an agent
    ┄┄ subagent: 2 entries ┄┄
    ● It found nothing
    ┄┄ subagent: 1 entry ┄┄
    ");
    assert_snapshot!(shown(&lines, &["--subagents"]), @"
    Ask an agent
    session  s.jsonl
    project  
    branch   main
    model    claude-opus-5-5
    time     2026-03-01 10:00 +00:00 to 2026-03-01 10:00 +00:00
    turns    1

    ── 1  2026-03-01 10:00 +00:00
    ❯ Ask an agent
    ┄┄ subagent: 2 entries ┄┄
    ┊ to the agent ❯ Look around
    ┊ ● Nothing there
    ┄┄ back to the conversation ┄┄
    ● It found nothing
    ┄┄ subagent: 1 entry ┄┄
    ┊ to the agent ❯ Look again
    ");
}

#[test]
fn branches_end_where_the_conversation_goes_on() {
    let lines = Transcript::session("s")
        .user("u1", "Begin")
        .assistant("a1", |reply| reply.text("Begun"))
        .user("left", "Go left")
        .message("attachment", "date", json!({"attachment": {"type": "date"}}))
        .after("a1")
        .user("right", "Go right");
    assert_snapshot!(shown(&lines, &[]), @"
    Begin
    session  s.jsonl
    project  
    branch   main
    model    claude-opus-5-5
    time     2026-03-01 10:00 +00:00 to 2026-03-01 10:00 +00:00
    turns    2

    ── 1  2026-03-01 10:00 +00:00
    ❯ Begin
    ● Begun
    ┄┄ left behind: 2 entries (--leaf date) ┄┄
    ┊ ❯ Go left
    ┊ · context: date
    ┄┄ back to the conversation ┄┄

    ── 2  2026-03-01 10:00 +00:00
    ❯ Go right
    ");
    let turn = shown(&lines, &["--turn", "1"]);
    assert!(turn.contains("Begun") && !turn.contains("left") && !turn.contains("right"), "{turn}");
    let again = lines.after("a1").user("right", "Go right");
    assert_snapshot!(shown(&again, &[]), @"
    Begin
    session  s.jsonl
    project  
    branch   main
    model    claude-opus-5-5
    time     2026-03-01 10:00 +00:00 to 2026-03-01 10:00 +00:00
    turns    2

    ── 1  2026-03-01 10:00 +00:00
    ❯ Begin
    ● Begun
    ┄┄ left behind: 2 entries (--leaf date) ┄┄
    ┊ ❯ Go left
    ┊ · context: date
    ┄┄ back to the conversation ┄┄

    ── 2  2026-03-01 10:00 +00:00
    ❯ Go right
      (the same entry is also on line 5)
    ");
}

#[test]
fn lines_of_one_uuid_are_one_item_that_names_the_others() {
    let lines = Transcript::session("s")
        .user("u1", "Plan a tea party")
        .assistant("a1", |reply| reply.text("Which day?"))
        .user("u2", "Sunday")
        .after("u1")
        .assistant("a1", |reply| reply.text("Which day suits you?"))
        .user("u2", "Sunday")
        .assistant("a2", |reply| reply.text("Sunday it is."));
    assert_snapshot!(shown(&lines, &[]), @"
    Plan a tea party
    session  s.jsonl
    project  
    branch   main
    model    claude-opus-5-5
    time     2026-03-01 10:00 +00:00 to 2026-03-01 10:00 +00:00
    turns    2

    ── 1  2026-03-01 10:00 +00:00
    ❯ Plan a tea party
    ● Which day suits you?
      (the same entry is also on line 2)
      [superseded, line 2] Which day?

    ── 2  2026-03-01 10:00 +00:00
    ❯ Sunday
      (the same entry is also on line 3)
    ● Sunday it is.
    ");
    let expanded = shown(&lines, &["--expand"]);
    assert!(expanded.contains("  [superseded, line 2]\n● Which day?\n"), "{expanded}");
    let json = shown(&lines, &["--json"]);
    let items: Vec<serde_json::Value> =
        json.lines().map(|item| serde_json::from_str(item).unwrap()).collect();
    let told: Vec<_> = items
        .iter()
        .map(|item| (item["uuid"].as_str().unwrap(), &item["line"], &item["otherLines"]))
        .collect();
    let null = serde_json::Value::Null;
    assert_eq!(
        told,
        [
            ("u1", &1.into(), &null),
            ("a1", &4.into(), &vec![2].into()),
            ("u2", &5.into(), &vec![3].into()),
            ("a2", &6.into(), &null),
        ]
    );
    assert_eq!(
        items[1]["superseded"],
        json!([{
            "line": 2, "type": "assistant", "timestamp": "2026-03-01T10:00:01.000Z",
            "parts": [{"type": "text", "text": "Which day?"}],
        }])
    );
    assert!(items[2].get("superseded").is_none(), "both lines say the same");
}

#[test]
fn roots_in_the_middle_are_shown_for_what_they_are() {
    let case = |name: &str| {
        let session = corpora::own().join(format!("history-{name}/session.jsonl"));
        shown(&std::fs::read_to_string(session).unwrap(), &["--tools", "none"])
    };
    assert_snapshot!(case("context-cleared-without-hooks"), @"
    Plan a timer for black tea.
    session  s.jsonl
    project  
    branch   main
    model    claude-sonnet-4-5
    time     2026-02-20 08:00 +00:00 to 2026-02-20 08:00 +00:00
    turns    2

    ── 1  2026-02-20 08:00 +00:00
    ❯ Plan a timer for black tea.
    ● I have looked around.
    ┄┄ context cleared ┄┄

    ── 2  2026-02-20 08:00 +00:00
    ❯ Implement the following plan:

      # Black tea timer
    ● Done.
    ");
    assert_snapshot!(case("rewind-to-start"), @"
    Paint the kettle red.
    session  s.jsonl
    project  
    branch   main
    model    claude-sonnet-4-5
    time     2026-02-20 08:00 +00:00 to 2026-02-20 08:00 +00:00
    turns    1
    ┄┄ left behind: 8 entries (--leaf 5d0c7c13) ┄┄
    ┊ ❯ Paint the kettle red.
    ┊ ● It is red.
    ┊ ❯ Brighter.
    ┊ ● It is brighter.
    ┄┄ rewound to the start ┄┄

    ── 1  2026-02-20 08:00 +00:00
    ❯ Paint the kettle blue.
    ● It is blue.
    ");
    let lost = case("lost-link");
    assert!(
        lost.contains("80 degrees.\n┄┄ the next entry has lost its link to what came before ┄┄\n\n── 3"),
        "{lost}"
    );
    let cleared =
        std::fs::read_to_string(corpora::own().join("history-context-cleared/session.jsonl")).unwrap();
    let json = shown(&cleared, &["--json"]);
    let root = json.lines().find(|item| item.contains("\"kind\":\"root\"")).unwrap();
    let root: serde_json::Value = serde_json::from_str(root).unwrap();
    assert_eq!((&root["subtype"], &root["live"]), (&"context_cleared".into(), &true.into()));
}

#[test]
fn records_and_a_subagents_entries_belong_to_no_turn() {
    let around = |is_subagents: bool| {
        let lines = Transcript::session("s")
            .user("u1", "Hello")
            .message("attachment", "c1", json!({"attachment": {"type": "date"}}))
            .with("isSidechain", is_subagents)
            .record("mode", json!({"mode": "normal"}))
            .after("u1")
            .assistant("a1", |reply| reply.text("Hi"));
        let json = shown(&lines, &["--json"]);
        let items = json.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        items.map(|item| (item["live"] == true, item["turn"].as_u64())).collect::<Vec<_>>()
    };
    assert_eq!(around(false), [(true, Some(1)), (true, Some(1)), (true, None), (true, Some(1))]);
    assert_eq!(around(true), [(true, Some(1)), (true, None), (true, None), (true, Some(1))]);
}

#[test]
fn subagents_that_no_known_call_started_come_last_and_each_once() {
    let home = crate::small_home();
    let agents = format!(".claude/projects/-home-mia-tea/{}/subagents", crate::SESSION);
    let says = |text: &str| Transcript::session("s").user("s1", text).with("isSidechain", true).to_string();
    home.write(format!("{agents}/agent-a1.jsonl"), says("Started by a call"));
    home.write(format!("{agents}/agent-a1.meta.json"), r#"{"toolUseId":"t1","description":"Known"}"#);
    home.write(format!("{agents}/agent-a2.jsonl"), says("Started by nobody"));
    assert_snapshot!(crate::annals(&home, &["show", "latest", "--subagents"]).stdout, @"
    Tea timer
    session  3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55
    project  /home/mia/tea
    model    claude-opus-5-5
    time     2026-03-01 10:00 +00:00 to 2026-03-01 10:00 +00:00
    turns    1

    ── 1  2026-03-01 10:00 +00:00
    ❯ Why is 天气 empty?
      ▸ Bash ls → error 500 ms
      │ agent a1 Known
      │ 
      │ ── 1  2026-03-01 10:00 +00:00
      │ ❯ Started by a call
      │ agent a2 (no call is known to have started it)
      │ 
      │ ── 1  2026-03-01 10:00 +00:00
      │ ❯ Started by nobody
    ");
    let turn = crate::annals(&home, &["show", "latest", "--subagents", "--turn", "1"]).stdout;
    assert!(turn.contains("Started by a call") && !turn.contains("Started by nobody"), "{turn}");
    assert!(!crate::annals(&home, &["show", "latest"]).stdout.contains("Started by"));
}

/// A transcript with something of every kind that is printed.
fn of_every_kind() -> Vec<String> {
    let bodies = [
        r#""type":"user","message":{"content":"Look at this\nand that"}"#,
        r#""type":"user","message":{"content":[{"type":"image","source":{"media_type":"image/png","data":"AAAA"}},{"type":"document","source":{"media_type":"application/pdf","data":""}}]}"#,
        r#""type":"user","isMeta":true,"message":{"content":"A note\nof two lines"}"#,
        r#""type":"system","subtype":"informational","content":"Something is new""#,
        r#""type":"attachment","attachment":{"type":"hook_success","hookName":"Start","content":"went well"}"#,
        r#""type":"attachment","attachment":{"type":"hook_blocking_error","hookName":"Guard","blockingError":{"blockingError":"not allowed"},"stderr":"noise"}"#,
        r#""type":"attachment","attachment":{"type":"hook_non_blocking_error","hookName":"Lint","stderr":"two warnings"}"#,
        r#""type":"attachment","attachment":{"type":"hook_system_message","hookName":"Stop","content":"See you"}"#,
        r#""type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"Let me think"},{"type":"thinking","thinking":""},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"  \n"},{"type":"text","text":"First\nsecond"},{"type":"server_tool_use","name":"web_search"},{"type":"new_block"}]}"#,
        r#""type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls","timeout":5}}]}"#,
        r#""type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"tea.rs\nnew.rs"},{"type":"image","source":{"media_type":"image/png","data":"AAAA"}}]}]}"#,
        r#""type":"assistant","message":{"id":"m3","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"cd /tmp\nls"}}]}"#,
        r#""type":"assistant","message":{"id":"m4","content":[{"type":"tool_use","id":"t3","name":"TodoWrite","input":{"todos":[{"content":"Boil","status":"completed"},{"content":"Steep","status":"in_progress"},{"content":"Pour","status":"pending"}]}}]}"#,
        r#""type":"assistant","message":{"id":"m5","content":[{"type":"tool_use","id":"t4","name":"MultiEdit","input":{"file_path":"tea.rs","edits":[{"old_string":"green","new_string":"oolong\nblack"}]}}]}"#,
        r#""type":"assistant","message":{"id":"m6","content":[{"type":"tool_use","id":"t5","name":"Write","input":{"file_path":"new.rs","content":"one\ntwo"}}]}"#,
        r#""type":"user","message":{"content":"[Request interrupted by user]"}"#,
        r#""type":"system","subtype":"api_error","retryAttempt":2,"maxRetries":10"#,
        r#""type":"assistant","isApiErrorMessage":true,"message":{"id":"m7","content":[{"type":"text","text":"Overloaded"}]}"#,
        r#""type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":9000}"#,
        r#""type":"user","message":{"content":"<bash-input>ls</bash-input>"}"#,
        r#""type":"user","message":{"content":"<bash-stdout>a.txt</bash-stdout>"}"#,
    ];
    let entry = |(n, body): (usize, &&str)| {
        let parent = if n == 0 { "null".to_owned() } else { format!("\"e{}\"", n - 1) };
        let time = format!("2026-03-01T10:{:02}:00Z", if n < 19 { 0 } else { 7 });
        format!(r#"{{"uuid":"e{n}","parentUuid":{parent},"timestamp":"{time}",{body}}}"#)
    };
    let mut lines: Vec<_> = bodies.iter().enumerate().map(entry).collect();
    lines.extend(
        [
            r#"{"type":"assistant","uuid":"last","parentUuid":"lost-and-never-found","timestamp":"2026-03-01T10:00:00Z","message":{"content":"Behind a gap"}}"#,
            "noise",
            r#"{"type":"attachment","uuid":"context","parentUuid":"last","timestamp":"2026-03-01T10:00:00Z","attachment":{"type":"file","filename":"a.txt"}}"#,
        ]
        .map(str::to_owned),
    );
    lines
}

#[test]
fn everything_that_is_shown_has_its_line() {
    assert_snapshot!(shown(&of_every_kind().join("\n"), &[]), @"
    Look at this and that
    session  s.jsonl
    time     2026-03-01 10:00 +00:00 to 2026-03-01 10:07 +00:00
    turns    2

    ── 1  2026-03-01 10:00 +00:00
    ❯ Look at this
      and that
      [image image/png, 3 B]
      [document application/pdf, 0 B]
    · context: added by Claude Code
    · Something is new
    · context: hook Start
      [hook, 1 line] not allowed
      ✗ hook Lint: two warnings
      hook Stop: See you
      ∴ thinking (3 words)
      ∴ thinking (not kept)
      ∴ thinking (encrypted)
    ● First
      second
      ▸ web_search
      [new_block]
      ▸ Bash ls → error 0 ms
      ▸ Bash cd /tmp ls → interrupted
      ▸ TodoWrite → interrupted
          [x] Boil
          [~] Steep
          [ ] Pour
      ▸ MultiEdit tea.rs → interrupted
      ▸ Write new.rs → interrupted
      interrupted by the user
      request failed, attempt 2 of 10
    ✗ Overloaded
    ┄┄ compacted (auto): 9,000 tokens before ┄┄

    ── 2  2026-03-01 10:07 +00:00  bash  after 7 min 0 s
    ! ls
      a.txt
    ┄┄ the parent of the next entry is missing (lost-and…) ┄┄
    ● Behind a gap
    ┄┄ line 23: no JSON at all ┄┄
    · context: file a.txt
    ");
}

#[test]
fn a_long_result_is_cut() {
    let long = (1..=42).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let lines = Transcript::session("s")
        .assistant("a1", |reply| reply.tool("t", "Bash", json!({"command": "seq 42"})))
        .result("r1", "t", long);
    let full = shown(&lines, &["--tools", "full"]);
    assert!(full.ends_with("\n      40\n      … 2 lines more\n"), "{full}");
}

#[test]
fn an_argument_that_the_line_of_its_call_cuts_is_printed_in_full() {
    let command = format!("for f in {}; do make $f; done # 到此为止", "one two three ".repeat(10).trim_end());
    let query = format!("{} the end of the query", "tea ".repeat(40));
    let path = format!("/home/mia/{}/tea.rs", "deep/".repeat(30));
    let edit = json!({"file_path": path, "old_string": "a", "new_string": "b"});
    let lines = Transcript::session("s")
        .assistant("a1", |reply| reply.tool("t1", "Bash", json!({"command": command})))
        .assistant("a2", |reply| reply.tool("t2", "mcp__tea__search", json!({"query": query})))
        .assistant("a3", |reply| reply.tool("t3", "Edit", edit))
        .assistant("a4", |reply| reply.tool("t4", "Bash", json!({"command": "ls"})));
    let full = shown(&lines, &["--tools", "full"]);
    assert!(full.contains(&format!("\n      command: {command}\n")), "{full}");
    assert!(full.contains(&format!("\n      query: {query}\n")), "{full}");
    assert!(full.contains(&format!("\n      {path}\n")), "{full}");
    assert!(!full.contains("command: ls"), "what is on the line already is not repeated: {full}");
}

#[test]
fn what_is_asked_for_is_unfolded_or_left_out() {
    assert_snapshot!(shown(&of_every_kind().join("\n"), &["--expand", "--tools", "full"]), @r#"
    Look at this and that
    session  s.jsonl
    time     2026-03-01 10:00 +00:00 to 2026-03-01 10:07 +00:00
    turns    2

    ── 1  2026-03-01 10:00 +00:00
    ❯ Look at this
      and that
      [image image/png, 3 B]
      [document application/pdf, 0 B]
      [added by Claude Code]
      A note
      of two lines
    · Something is new
      [hook Start]
          went well
      [hook]
      not allowed
      ✗ hook Lint: two warnings
      hook Stop: See you
    ∴ Let me think
      ∴ thinking (not kept)
      ∴ thinking (encrypted)
    ● First
      second
      ▸ web_search
      [new_block]
      ▸ Bash ls → error 0 ms
          timeout: 5
          tea.rs
          new.rs
          [image image/png, 3 B]
      ▸ Bash cd /tmp ls → interrupted
          command: cd /tmp
          ls
      ▸ TodoWrite → interrupted
          [x] Boil
          [~] Steep
          [ ] Pour
      ▸ MultiEdit tea.rs → interrupted
          - green
          + oolong
          + black
      ▸ Write new.rs → interrupted
          + one
          + two
      interrupted by the user
      request failed, attempt 2 of 10
    ✗ Overloaded
    ┄┄ compacted (auto): 9,000 tokens before ┄┄

    ── 2  2026-03-01 10:07 +00:00  bash  after 7 min 0 s
    ! ls
      a.txt
    ┄┄ the parent of the next entry is missing (lost-and…) ┄┄
    ● Behind a gap
    ┄┄ line 23: no JSON at all ┄┄
      [file a.txt]
          {"type":"file","filename":"a.txt"}
    "#);
    assert_snapshot!(shown(&of_every_kind().join("\n"), &["--no-thinking", "--tools", "none"]), @"
    Look at this and that
    session  s.jsonl
    time     2026-03-01 10:00 +00:00 to 2026-03-01 10:07 +00:00
    turns    2

    ── 1  2026-03-01 10:00 +00:00
    ❯ Look at this
      and that
      [image image/png, 3 B]
      [document application/pdf, 0 B]
    · context: added by Claude Code
    · Something is new
    · context: hook Start
      [hook, 1 line] not allowed
      ✗ hook Lint: two warnings
      hook Stop: See you
    ● First
      second
      [new_block]
      interrupted by the user
      request failed, attempt 2 of 10
    ✗ Overloaded
    ┄┄ compacted (auto): 9,000 tokens before ┄┄

    ── 2  2026-03-01 10:07 +00:00  bash  after 7 min 0 s
    ! ls
      a.txt
    ┄┄ the parent of the next entry is missing (lost-and…) ┄┄
    ● Behind a gap
    ┄┄ line 23: no JSON at all ┄┄
    · context: file a.txt
    ");
}

#[test]
fn the_json_of_subagents_names_them_and_numbers_no_turns() {
    let home = crate::small_home();
    let agent = format!(".claude/projects/-home-mia-tea/{}/subagents/agent-a1", crate::SESSION);
    let lines = Transcript::session("s")
        .after("gone")
        .user("s1", "Look around")
        .with("isSidechain", true)
        .with("agentId", "a1")
        .user("s2", "Look left")
        .with("isSidechain", true)
        .after("s1")
        .assistant("s3", |reply| reply.text("Nothing there"))
        .with("isSidechain", true)
        .with("agentId", "a1");
    home.write(format!("{agent}.jsonl"), lines.to_string());
    home.write(format!("{agent}.meta.json"), r#"{"toolUseId":"t1"}"#);
    let told = |args: &[&str]| {
        let json = crate::annals(&home, &[args, &["--json"]].concat()).stdout;
        let item = |line: &str| {
            let item: serde_json::Value = serde_json::from_str(line).unwrap();
            let word = |key: &str| item[key].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {} {}\n",
                word("kind"),
                word("uuid"),
                word("agentId"),
                item["sidechain"],
                item["turn"]
            )
        };
        json.lines().map(item).collect::<String>()
    };
    assert_snapshot!(told(&["show", "latest", "--subagents"]), @"
    message u1 - false 1
    message a1 - false 1
    gap - a1 true null
    message s1 a1 true null
    branch - a1 true null
    message s2 a1 true null
    message s3 a1 true null
    message u2 - false 1
    meta - - false null
    ");
    assert_snapshot!(told(&["show", &format!("{agent}.jsonl")]), @"
    gap - a1 true null
    message s1 a1 true 1
    branch - a1 true null
    message s2 a1 true null
    message s3 a1 true 1
    ");
}

#[test]
fn the_json_of_what_is_not_utf8_keeps_its_bytes() {
    let home = Home::new();
    let lines = [
        r#"{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-03-01T10:00:00Z","message":{"content":"log?.txt"}}"#,
        r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-03-01T10:00:00Z","message":{"content":[{"type":"text","text":"?"}]}}"#,
    ];
    let file: Vec<u8> = lines.join("\n").bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
    home.write("s.jsonl", file);
    let json = |args: &[&str]| crate::annals(&home, &[&["show", "s.jsonl", "--json"], args].concat()).stdout;
    let full = json(&[]);
    assert!(full.contains(r#""parts":[{"type":"text","text":{"bytes":"bG9n/y50eHQ="}}]"#), "{full}");
    assert!(full.contains(r#""parts":[{"type":"text","text":{"bytes":"/w=="}}]"#), "{full}");
    let model = json(&["--view", "model"]);
    assert!(model.contains("\"text\":\"log\u{FFFD}.txt\""), "the client sends what it could read: {model}");
}

#[test]
fn the_model_view_reads_as_messages() {
    let mut lines = of_every_kind();
    // Without the compaction, all of it is sent.
    lines.retain(|line| !line.contains("compact_boundary"));
    let lines: Vec<_> = lines.iter().map(|line| line.replace("\"e18\"", "\"e17\"")).collect();
    assert_snapshot!(shown(&lines[..20].join("\n"), &["--view", "model"]), @"
    ── user
      Look at this
      and that
      [image image/png, 3 B]
      [document application/pdf, 0 B]
      A note
      of two lines
    ── assistant
      ∴ Let me think
      ∴ thinking (not kept)
      ∴ thinking (encrypted)
        
      First
      second
      [new_block]
    ── assistant
      ▸ Bash t1 ls
    ── user
      ◂ t1 error
        tea.rs
        new.rs
      [Request interrupted by user]
    ── assistant
      Overloaded
    ── user
      <bash-input>ls</bash-input>
      <bash-stdout>a.txt</bash-stdout>
    ── assistant
      No response requested.
      (made up by Claude Code)
    ");
}

#[test]
fn the_turns_of_two_forks_are_compared() {
    let home = Home::new();
    let line = |kind: &str, uuid: &str, parent: &str, minute: u32, text: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"timestamp":"2025-03-01T10:{minute:02}:00.000Z","cwd":"/src","message":{{"role":"{kind}","content":"{text}"}}}}"#
        ) + "\n"
    };
    let path = home.write(
        format!(".claude/projects/-src/{SESSION}.jsonl"),
        [
            line("user", "u1", "", 0, "Boil the water"),
            line("assistant", "a1", "u1", 1, "It boils."),
            line("user", "u2", "a1", 2, "Make green tea"),
        ]
        .concat(),
    );
    rest(&path);
    let fork = annals(&home, &["fork", SESSION, "--up-to", "a1", "--json"]).stdout;
    let fork: Value = serde_json::from_str(&fork).unwrap();
    let fork = fork["session"].as_str().or(fork["sessionId"].as_str()).unwrap().to_owned();
    let draft = r#"{"type":"user","message":{"role":"user","content":"Make black tea"}}"#;
    assert_eq!(
        feed(&home, &["record", "--project", "/src", "--session", &fork], draft.as_bytes()).code,
        Some(0)
    );

    let compared = annals(&home, &["turns", SESSION, &fork]);
    let rows: Vec<_> = compared.stdout.lines().skip(1).collect();
    let prompts = ["Boil the water", "Make green tea", "Make black tea"];
    assert!(
        rows.len() == 3 && rows.iter().zip(prompts).all(|(row, prompt)| row.contains(prompt)),
        "{rows:#?}"
    );
    let names: Vec<_> = rows.iter().map(|row| row.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, ["both", &SESSION[..8], &fork[..8]]);
    assert!(compared.stderr.contains("1 shared turn at the beginning"), "{}", compared.stderr);
    let json = annals(&home, &["turns", SESSION, &fork, "--json"]).stdout;
    let sessions: Vec<Value> =
        json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["sessions"].clone()).collect();
    assert_eq!(sessions, [json!([SESSION, fork]), json!([SESSION]), json!([fork])]);
    // One session alone has no such column, and no such field.
    assert!(!annals(&home, &["turns", SESSION, "--json"]).stdout.contains("\"sessions\""));
}

#[test]
fn failed_commands_are_printed_with_their_output() {
    let home = small_home();
    let full = annals(&home, &["tools", "--errors", "--name", "bash", "--full"]).stdout;
    assert_eq!(
        full,
        "\n── 3e11a6b4  2026-03-01 10:00 +00:00\n  ▸ Bash ls → error 500 ms\n      no such folder\n"
    );
    // Sorted: the most recent first, whatever the order of the files.
    let later = std::fs::read_to_string(home.path().join(crate::transcript())).unwrap();
    let later = later.replace("2026-03-01", "2026-03-02").replace("\"ls\"", "\"ls later\"");
    home.write(crate::transcript().replace("3e11a6b4", "4e11a6b4"), later);
    let sorted = |more: &[&str]| {
        let ran = annals(&home, &[&["tools", "--full", "--sort", "time"][..], more].concat());
        let commands =
            ran.stdout.lines().filter_map(|line| line.strip_prefix("  ▸ Bash ")?.split(" →").next());
        commands.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(sorted(&[]), ["ls later", "ls"]);
    assert_eq!(sorted(&["--limit", "1"]), ["ls later"]);
}
