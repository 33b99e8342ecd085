//! Rules of `docs/CHAIN.md` that no case of the corpus shows alone.

use annals_transcript::chain::Chain;
use annals_transcript::content::Block;
use annals_transcript::full_view::{self, Step};
use annals_transcript::json::Value;
use annals_transcript::model::{self, Part, Placeholder};
use annals_transcript::session::{BlockSpan, Session};

/// Spells an entry that is a child of another one; `more` are further fields.
fn line(kind: &str, uuid: &str, parent: &str, second: u8, more: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"timestamp":"2026-01-01T00:00:{second:02}Z",{more}}}"#
    )
}

/// Spells a prompt that says its own name.
fn prompt(uuid: &str, parent: &str, second: u8) -> String {
    line("user", uuid, parent, second, &format!(r#""message":{{"content":"{uuid}"}}"#))
}

/// Spells a line of a reply that makes calls, or says its own name if it makes none.
fn reply(uuid: &str, parent: &str, second: u8, calls: &[&str]) -> String {
    let call = |id: &&str| format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}"#);
    let mut blocks: Vec<_> = calls.iter().map(call).collect();
    if blocks.is_empty() {
        blocks.push(format!(r#"{{"type":"text","text":"{uuid}"}}"#));
    }
    let message = format!(r#""message":{{"id":"m","content":[{}]}}"#, blocks.join(","));
    line("assistant", uuid, parent, second, &message)
}

fn result(uuid: &str, parent: &str, second: u8, call: &str) -> String {
    let block = format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"{uuid}"}}"#);
    line("user", uuid, parent, second, &format!(r#""message":{{"content":[{block}]}}"#))
}

fn boundary(uuid: &str, parent: &str, second: u8, metadata: &str) -> String {
    let more = format!(r#""subtype":"compact_boundary","compactMetadata":{{{metadata}}}"#);
    line("system", uuid, parent, second, &more)
}

/// Makes an entry a subagent's.
fn side(line: &str) -> String {
    line.replace("\"uuid\"", "\"isSidechain\":true,\"uuid\"")
}

fn timeless(line: &str) -> String {
    line.replace("2026-01-01", "some day")
}

fn read(file: &str) -> Session {
    Session::read(file.as_bytes()).expect("a slice can be read")
}

/// Spells the entries that the client restores.
fn restored(lines: &[String]) -> String {
    let session = read(&lines.join("\n"));
    let chain = Chain::build(&session);
    let ids = session.id_texts();
    let uuids = chain.entries().into_iter().filter_map(|node| session.nodes()[node].id);
    uuids.map(|id| ids.get(id)).collect::<Vec<_>>().join(" ")
}

/// Spells the full view: entries that are not live in parentheses, `|` before a branch, `?` before a gap.
fn shown(lines: &[String]) -> String {
    let session = read(&lines.join("\n"));
    let ids = session.id_texts();
    let spelled = full_view::of(&Chain::build(&session)).into_iter().map(|step| match step {
        Step::Entry { node, live } => {
            let name = session.nodes()[node].id.map(|id| ids.get(id)).unwrap_or_default();
            if live { name } else { format!("({name})") }
        }
        Step::Branch { .. } => "|".to_owned(),
        Step::Gap { .. } => "?".to_owned(),
        Step::Root { kind, .. } => format!("<{}>", kind.name()),
    });
    spelled.collect::<Vec<_>>().join(" ")
}

/// Spells what is sent, a line for each message.
fn sent(lines: &[String]) -> String {
    let file = lines.join("\n");
    let session = read(&file);
    let ids = session.id_texts();
    let place = |place: u64| usize::try_from(place).expect("the file is in memory");
    let found = |block: &BlockSpan| {
        let bytes = &file.as_bytes()[place(block.offset)..place(block.offset + block.length)];
        match Block::new(Value::new(bytes).expect("a span holds a value")) {
            Block::Text(text) => text.text().into_owned(),
            Block::ToolUse(call) => format!("call {}", call.id().unwrap_or_default()),
            Block::ToolResult(result) => format!("result {}", result.tool_use_id().unwrap_or_default()),
            other => panic!("{other:?}"),
        }
    };
    let part = |part: &Part| match part {
        Part::Block(block) => found(block),
        Part::BlockWithNewline(block) => found(block) + "\\n",
        Part::Wrapped { wrapper, .. } => format!("wrapped {}", wrapper.name()),
        Part::Placeholder(made) => format!("made up: {}", made.text()),
        Part::PlaceholderResult { call, text } => {
            let text = if *text == Placeholder::Interrupted { "interrupted" } else { "missing" };
            format!("{text} {}", call.tool.map_or_else(|| "without id".to_owned(), |id| ids.get(id)))
        }
    };
    let message = |message: model::Message| {
        let parts: Vec<_> = message.parts.iter().map(part).collect();
        format!("{}: {}\n", message.role.name(), parts.join(", "))
    };
    model::messages(&Chain::build(&session)).iter().map(message).collect()
}

/// Rule 2.0.
#[test]
fn a_large_file_still_finds_what_its_last_boundary_keeps() {
    let kept = r#""preservedMessages":{"anchorUuid":"sum","uuids":["a1"]}"#;
    let filler = format!("{{\"type\":\"filler\",\"x\":\"{}\"}}", "y".repeat(5 * 1024 * 1024));
    let lines = [
        filler,
        prompt("u1", "", 1),
        reply("a1", "u1", 2, &[]),
        boundary("b", "", 3, kept),
        prompt("sum", "b", 4),
        prompt("u2", "sum", 5),
    ];
    assert_eq!(restored(&lines), "b sum a1 u2");
}

/// Rules 3.5 and 3.6.
#[test]
fn an_entry_without_time_counts_as_oldest() {
    let below_last_line = [timeless(&prompt("later", "last", 9)), prompt("last", "", 1)];
    assert_eq!(restored(&below_last_line), "last");
    let tips = [
        prompt("timed", "", 1),
        timeless(&prompt("timeless", "", 9)),
        line("system", "alone", "", 2, r#""subtype":"informational""#),
    ];
    assert_eq!(restored(&tips), "timed");
}

/// Rule 5.3.
#[test]
fn a_dead_end_is_never_a_subagents() {
    let note = line("user", "note", "a1", 3, r#""isMeta":true,"message":{"content":"note"}"#);
    let around = |note: String| {
        [
            prompt("u1", "", 1),
            reply("a1", "u1", 2, &["t"]),
            note,
            result("r", "a1", 4, "t"),
            prompt("u2", "r", 5),
        ]
    };
    assert_eq!(restored(&around(note.clone())), "u1 a1 note r u2");
    assert_eq!(restored(&around(side(&note))), "u1 a1 r u2");
}

/// Rule 6.9.
#[test]
fn a_command_for_display_only_is_not_sent() {
    let command = line("system", "c", "a1", 3, r#""subtype":"local_command","content":"/status""#);
    let with = |command: String| [prompt("u1", "", 1), reply("a1", "u1", 2, &[]), command];
    assert_eq!(sent(&with(command.clone())), "user: u1\nassistant: a1\nuser: /status\n");
    let display_only = command.replace("\"content\"", "\"isDisplayOnly\":true,\"content\"");
    assert_eq!(sent(&with(display_only)), "user: u1\nassistant: a1\n");
}

/// Rule 6.4.
#[test]
fn a_result_does_not_move_over_a_boundary() {
    let with = |between: String| {
        [
            prompt("u1", "", 1),
            result("r", "u1", 2, "t"),
            reply("a1", "r", 3, &["t"]),
            between,
            reply("a2", "between", 5, &[]),
        ]
    };
    let moved = sent(&with(line("attachment", "between", "a1", 4, r#""attachment":{"type":"date"}"#)));
    assert_eq!(
        moved,
        "user: u1\nassistant: a2, call t\nuser: result t\nassistant: made up: No response requested.\n"
    );
    assert_eq!(sent(&with(boundary("between", "a1", 4, ""))), "assistant: a2\n");
}

/// Rules 6.6 and 6.13. Claude Code writes no such call; nothing is known of what it would send.
#[test]
fn a_made_up_result_stays_even_if_its_call_has_no_id() {
    let nameless = reply("a1", "u1", 2, &["t"]).replace(r#""id":"t","#, "");
    assert_eq!(
        sent(&[prompt("u1", "", 1), nameless]),
        "user: u1\nassistant: call \nuser: missing without id, interrupted without id\n\
         assistant: made up: No response requested.\n"
    );
}

/// Rule 6.6: unlike in rule 6.5, a prompt after the reply changes nothing.
#[test]
fn the_last_reply_of_the_whole_list_was_interrupted() {
    let lines = [
        prompt("u1", "", 1),
        reply("a1", "u1", 2, &["answered", "open"]),
        result("r", "a1", 3, "answered"),
        prompt("u2", "r", 4),
    ];
    assert_eq!(
        sent(&lines),
        "user: u1\nassistant: call answered, call open\nuser: result answered, interrupted open, u2\n\
         assistant: made up: No response requested.\n"
    );
}

/// Section 9.
#[test]
fn a_gap_is_not_bridged_onto_a_subagents_entry() {
    let lines =
        [prompt("u1", "", 1), reply("a1", "u1", 2, &[]), side(&prompt("s1", "", 3)), prompt("u2", "lost", 4)];
    assert_eq!(shown(&lines), "u1 a1 | (s1) ? u2");
}

/// Section 9.
#[test]
fn results_of_live_calls_are_live_wherever_they_hang() {
    let lines = |call: &str| {
        [prompt("u1", "", 1), reply("a1", "u1", 2, &["t"]), result("r", "u1", 3, call), prompt("u2", "a1", 4)]
    };
    assert_eq!(shown(&lines("t")), "u1 a1 r u2");
    assert_eq!(shown(&lines("unknown")), "u1 | (r) a1 u2");
}

/// Section 9.
#[test]
fn a_compaction_in_force_is_live_although_what_it_keeps_comes_last() {
    let kept = r#""preservedMessages":{"anchorUuid":"s","uuids":["u2","a2"]}"#;
    let lines = [
        prompt("u1", "", 1),
        reply("a1", "u1", 2, &[]),
        prompt("u2", "a1", 3),
        reply("a2", "u2", 4, &[]),
        boundary("b", "", 5, kept),
        prompt("s", "b", 6),
    ];
    assert_eq!(shown(&lines), "u1 a1 u2 a2 b s");
}

/// Section 9.
#[test]
fn context_belongs_to_what_it_leads_to() {
    let context = |parent: &str| line("attachment", "c", parent, 3, r#""attachment":{"type":"date"}"#);
    let note = line("user", "note", "a1", 3, r#""isMeta":true,"message":{"content":"note"}"#);
    let start = || [prompt("u1", "", 1), reply("a1", "u1", 2, &[])];
    let alone = [context("a1"), note, prompt("u2", "a1", 5)];
    assert_eq!(shown(&[&start()[..], &alone].concat()), "u1 a1 c note u2");
    let leading_away = [context("a1"), prompt("left", "c", 4), prompt("u2", "a1", 5)];
    assert_eq!(shown(&[&start()[..], &leading_away].concat()), "u1 a1 | (c) (left) u2");
}

/// Section 9.
#[test]
fn a_branch_leaves_from_the_entry_it_hangs_on() {
    let lines = [
        prompt("u1", "", 1),
        reply("a1", "u1", 2, &["t"]),
        result("r", "a1", 3, "t"),
        prompt("left", "r", 4),
        reply("a2", "a1", 5, &[]),
    ];
    assert_eq!(shown(&lines), "u1 a1 r | (left) a2");
    let session = read(&lines.join("\n"));
    let steps = full_view::of(&Chain::build(&session));
    assert!(
        steps
            .iter()
            .any(|step| matches!(step, Step::Branch { from: Some(from), last: 3, .. } if from.index() == 2)),
        "{steps:?}"
    );
}

/// Section 9.
#[test]
fn an_entry_that_hangs_on_itself_hangs_on_nothing() {
    assert_eq!(shown(&[prompt("u1", "u1", 1)]), "? u1");
}
