//! Scenarios of recording.

use std::thread;
use std::time::Duration;

use serde_json::json;

use super::Scenario;
use super::drafts::{answers, at, block, calls, compaction, id, says, thinks, user, with};
use super::trial::{Trial, text};
use crate::Outcome;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("plain", plain),
    ("calls", tool_calls),
    ("parallel calls that name what they answer", parallel_calls_by_source),
    ("parallel calls in a line", parallel_calls_in_a_line),
    ("reasoning", reasoning),
    ("a subagent, and a fork with it", subagent),
    ("two compactions that keep messages", compactions),
    ("a compaction that keeps nothing, and a way back before it", compaction_that_keeps_nothing),
    ("a compaction in a large file", compaction_in_a_large_file),
    ("2,000 messages", long),
    ("continued by Claude Code, then by annals", continued_by_claude_code),
    ("begun by Claude Code with calls, forked and continued by annals", begun_with_calls),
    ("begun by Claude Code with parallel calls, forked and continued by annals", begun_with_parallel_calls),
    ("begun by Claude Code with a subagent, forked and continued by annals", begun_with_a_subagent),
    ("compacted by Claude Code, continued by annals", compacted_by_claude_code),
    ("rewound, and a fork of it", rewound),
    ("beside Claude Code", beside),
];

fn plain(trial: &Trial<'_>) -> Outcome {
    let session =
        trial.record(&[user("Hello"), says("1", "Hi"), user("And now?"), says("2", "天气 \u{1f600}\n\"")])?;
    trial.resume(&session)?.is(&[
        "user: Hello",
        "assistant: Hi",
        "user: And now?",
        "assistant: 天气 \u{1f600}\n\"",
    ])
}

fn tool_calls(trial: &Trial<'_>) -> Outcome {
    let session = trial.record(&[
        user("List"),
        says("1", "Let me see"),
        calls("1", "toolu_1"),
        answers("toolu_1", "a.txt"),
        calls("2", "toolu_2"),
        answers("toolu_2", "b.txt"),
        says("3", "Two files"),
    ])?;
    trial.resume(&session)?.is(&[
        "user: List",
        "assistant: Let me see | call toolu_1 Bash {\"command\":\"echo toolu_1\"}",
        "user: result toolu_1 a.txt",
        "assistant: call toolu_2",
        "user: result toolu_2 b.txt",
        "assistant: Two files",
    ])
}

fn parallel_calls_by_source(trial: &Trial<'_>) -> Outcome {
    let session = trial.record(&[
        user("Three at once"),
        says("1", "Yes"),
        at(1, calls("1", "toolu_1")),
        at(2, calls("1", "toolu_2")),
        at(3, calls("1", "toolu_3")),
        with(answers("toolu_2", "two"), "sourceToolAssistantUUID", &id(2)),
        with(answers("toolu_1", "one"), "sourceToolAssistantUUID", &id(1)),
        with(answers("toolu_3", "three"), "sourceToolAssistantUUID", &id(3)),
        says("2", "Done"),
    ])?;
    trial.resume(&session)?.is(&PARALLEL)
}

fn parallel_calls_in_a_line(trial: &Trial<'_>) -> Outcome {
    let session = trial.record(&[
        user("Three at once"),
        says("1", "Yes"),
        calls("1", "toolu_1"),
        calls("1", "toolu_2"),
        calls("1", "toolu_3"),
        answers("toolu_2", "two"),
        answers("toolu_1", "one"),
        answers("toolu_3", "three"),
        says("2", "Done"),
    ])?;
    trial.resume(&session)?.is(&PARALLEL)
}

const PARALLEL: [&str; 4] = [
    "user: Three at once",
    "assistant: Yes | call toolu_1 Bash {\"command\":\"echo toolu_1\"} | call toolu_2 Bash \
     {\"command\":\"echo toolu_2\"} | call toolu_3 Bash",
    "user: result toolu_2 two | result toolu_1 one | result toolu_3 three",
    "assistant: Done",
];

fn reasoning(trial: &Trial<'_>) -> Outcome {
    let session = trial.record(&[
        user("Think"),
        thinks("1", "first this"),
        calls("1", "toolu_1"),
        answers("toolu_1", "out"),
        block("2", &json!({"type": "redacted_thinking", "data": "UkVEQUNURUQ="})),
        thinks("2", "then that"),
        says("2", "Thought"),
    ])?;
    trial.resume(&session)?.is(&[
        "user: Think",
        "assistant: thinking first this | call toolu_1",
        "user: result toolu_1 out",
        "assistant: redacted_thinking | thinking then that | Thought",
    ])
}

fn subagent(trial: &Trial<'_>) -> Outcome {
    let input = json!({"description": "look around", "prompt": "Look around", "subagent_type": "Explore"});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Agent", "input": input});
    let session = trial.record(&[user("Delegate"), block("1", &call)])?;
    let options = ["--agent", "a1b2c3", "--agent-type", "Explore", "--description", "look around"];
    let options = [&options[..], &["--tool-use-id", "toolu_1"]].concat();
    let work =
        [user("Look around"), calls("2", "toolu_2"), answers("toolu_2", "7 files"), says("3", "Seven files")];
    trial.record_with(&session, &options, &work)?;
    trial.record_to(&session, &[answers("toolu_1", "Seven files"), says("4", "There are seven")])?;
    let fork = trial.fork(&session, &["--with-side-files"])?;
    for session in [session, fork] {
        trial.resume(&session)?.is(&[
            "user: Delegate",
            "assistant: call toolu_1 Agent",
            "user: result toolu_1 Seven files",
            "assistant: There are seven",
        ])?;
        let seen = trial.subagents_by_typescript(&session)?;
        if seen != json!({"a1b2c3": ["user", "assistant", "user", "assistant"]}) {
            return Err(format!("the SDK sees subagents {seen}").into());
        }
    }
    Ok(())
}

/// After a compaction, an agent that keeps its messages in memory sends the kept ones again behind the boundary.
fn compactions(trial: &Trial<'_>) -> Outcome {
    let talk = [at(1, user("One")), at(2, says("2", "Two")), at(3, user("Three")), at(4, says("4", "Four"))];
    let session = trial.record(&talk)?;
    let kept = &talk[2..];
    let more =
        [at(6, user("Six")), at(7, says("7", "Seven")), at(8, user("Eight")), at(9, says("9", "Nine"))];
    let first = [&compaction("Summary of one", 5, &[3, 4])[..], kept, &more].concat();
    skipped(&trial.record_to(&session, &first)?, 2)?;
    trial.resume(&session)?.is(&[
        "user: Summary of one | Three",
        "assistant: Four",
        "user: Six",
        "assistant: Seven",
        "user: Eight",
        "assistant: Nine",
    ])?;
    let kept = &more[2..];
    skipped(&trial.record_to(&session, &compaction("Summary of two", 10, &[8, 9]))?, 0)?;
    skipped(&trial.record_to(&session, &[kept, &[at(11, user("Eleven"))]].concat())?, 2)?;
    skipped(&trial.record_to(&session, &[says("12", "Twelve")])?, 0)?;
    trial.resume(&session)?.is(&[
        "user: Summary of two | Eight",
        "assistant: Nine",
        "user: Eleven",
        "assistant: Twelve",
    ])
}

/// Fails unless this many drafts were skipped.
fn skipped(recorded: &serde_json::Value, expected: u64) -> Outcome {
    let skipped = recorded["skipped"].as_u64();
    if skipped == Some(expected) { Ok(()) } else { Err(format!("{skipped:?} were skipped").into()) }
}

fn compaction_that_keeps_nothing(trial: &Trial<'_>) -> Outcome {
    let talk = [user("One"), at(2, says("2", "Two")), user("Three"), says("4", "Four")];
    let session = trial.record(&talk)?;
    trial.record_to(
        &session,
        &[&compaction("Summary", 5, &[])[..], &[user("Six"), says("7", "Seven")]].concat(),
    )?;
    trial.resume(&session)?.is(&["user: Summary | Six", "assistant: Seven"])?;
    trial.record_to(&session, &[with(user("Back"), "parentUuid", &id(2)), says("8", "Eight")])?;
    trial.resume(&session)?.is(&["user: One", "assistant: Two", "user: Back", "assistant: Eight"])
}

/// Of a file of more than 5 MiB Claude Code reads only what stands behind the last boundary, and what that keeps.
fn compaction_in_a_large_file(trial: &Trial<'_>) -> Outcome {
    let large = "word ".repeat(1_300_000);
    let talk = [user(&large), says("2", "Two"), at(3, user("Three")), at(4, says("4", "Four"))];
    let session = trial.record(&talk)?;
    trial.record_to(&session, &compaction("Summary", 5, &[3, 4]))?;
    trial.record_to(&session, &[&talk[2..], &[user("Six")]].concat())?;
    trial.record_to(&session, &[says("7", "Seven")])?;
    let fork = trial.fork(&session, &[])?;
    for session in [session, fork] {
        trial.resume(&session)?.is(&[
            "user: Summary | Three",
            "assistant: Four",
            "user: Six",
            "assistant: Seven",
        ])?;
    }
    Ok(())
}

fn long(trial: &Trial<'_>) -> Outcome {
    let texts: Vec<_> = (0..2000).map(|number| format!("message {number}")).collect();
    let is_user = |index: usize| index.is_multiple_of(2);
    let drafts: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| if is_user(index) { user(text) } else { says(&index.to_string(), text) })
        .collect();
    let session = trial.record(&drafts)?;
    let role = |index| if is_user(index) { "user" } else { "assistant" };
    let expected: Vec<_> =
        texts.iter().enumerate().map(|(index, text)| format!("{}: {text}", role(index))).collect();
    trial.resume(&session)?.is(&expected.iter().map(String::as_str).collect::<Vec<_>>())
}

fn continued_by_claude_code(trial: &Trial<'_>) -> Outcome {
    let session = trial.record(&[user("Hello"), says("1", "Hi")])?;
    trial.continue_session(&session, "Go on SCRIPT:qa")?;
    trial.record_to(&session, &[user("And on"), says("2", "Yes")])?;
    trial.resume(&session)?.is(&[
        "user: Hello",
        "assistant: Hi",
        "user: Go on SCRIPT:qa",
        "assistant: The answer is 42.",
        "user: And on",
        "assistant: Yes",
    ])
}

fn begun_with_calls(trial: &Trial<'_>) -> Outcome {
    begun_by_claude_code(trial, "Begin SCRIPT:tools", "assistant: All tools done.")
}

fn begun_with_parallel_calls(trial: &Trial<'_>) -> Outcome {
    begun_by_claude_code(trial, "Begin SCRIPT:parallel", "assistant: Parallel done.")
}

fn begun_with_a_subagent(trial: &Trial<'_>) -> Outcome {
    begun_by_claude_code(trial, "Begin SCRIPT:subfg", "assistant: fg done")
}

fn begun_by_claude_code(trial: &Trial<'_>, prompt: &str, last: &str) -> Outcome {
    let session = trial.begin_session(prompt)?;
    let fork = trial.fork(&session, &[])?;
    for session in [session, fork] {
        trial.resume(&session)?.ends_with(&[last])?;
        let more = [user("And on"), calls("1", "toolu_1"), answers("toolu_1", "out"), says("2", "Yes")];
        trial.record_to(&session, &more)?;
        trial.resume(&session)?.ends_with(&[
            last,
            "user: And on",
            "assistant: call toolu_1",
            "user: result toolu_1 out",
            "assistant: Yes",
        ])?;
    }
    Ok(())
}

fn compacted_by_claude_code(trial: &Trial<'_>) -> Outcome {
    let session = trial.record(&[user("One"), says("2", "Two"), user("Three"), says("4", "Four")])?;
    trial.continue_session(&session, "/compact")?;
    trial.record_to(&session, &[user("Five"), says("6", "Six")])?;
    trial.resume(&session)?.is(&[
        "user: This session is being continued",
        "assistant: Four",
        "user: <local-command-caveat>",
        "assistant: Six",
    ])
}

/// Claude Code names the leaf in a record, which no longer counts when a message is recorded below an older one.
fn rewound(trial: &Trial<'_>) -> Outcome {
    let session = trial.record(&[user("One"), at(2, says("2", "Two")), user("Three"), says("4", "Four")])?;
    trial.continue_session(&session, "Five SCRIPT:qa")?;
    let other = with(user("Other three"), "parentUuid", &id(2));
    trial.record_to(&session, &[other, says("6", "Other four")])?;
    let rewound = ["user: One", "assistant: Two", "user: Other three", "assistant: Other four"];
    let fork = trial.fork(&session, &[])?;
    for session in [session, fork] {
        trial.resume(&session)?.is(&rewound)?;
        trial.record_to(&session, &[user("Five"), says("7", "Six")])?;
        trial.resume(&session)?.is(&[&rewound[..], &["user: Five", "assistant: Six"]].concat())?;
    }
    Ok(())
}

/// Both write to one session at the same time. The talk branches, as between two processes of Claude Code; but every line stays whole, and
/// both know where it goes on.
fn beside(trial: &Trial<'_>) -> Outcome {
    let session = trial.record(&[user("Hello"), says("1", "Hi")])?;
    let since = trial.claude_code().index_length();
    let mut claude_code = trial.start_continuing(&session, "Go on SCRIPT:tools")?;
    let mut number = 0;
    while claude_code.try_wait()?.is_none() {
        if !trial.claude_code().requests(&session, since).is_empty() {
            number += 2;
            let noted = says(&format!("noted{number}"), "Noted");
            trial.record_to(&session, &[at(number - 1, user("Meanwhile")), at(number, noted)])?;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let there: Vec<_> = trial.entries(&session)?.iter().map(|entry| text(&entry["uuid"])).collect();
    if number == 0 || !(1..=number).all(|number| there.contains(&id(number))) {
        return Err(format!("not all of {number} messages recorded beside Claude Code are there").into());
    }
    trial.resume(&session)?;
    trial.record_to(&session, &[user("And on"), says("3", "Yes")])?;
    trial.resume(&session)?.ends_with(&["user: And on", "assistant: Yes"])
}
