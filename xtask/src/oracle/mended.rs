//! Scenarios of damaged sessions: annals repairs each, Claude Code continues it, and annals records more.

use std::fs;

use serde_json::{Value as Json, json};

use super::Scenario;
use super::drafts::{answers, at, calls, compaction, id, says, user, with};
use super::trial::Trial;
use crate::Outcome;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("repaired: a lost line", |trial| {
        talk(trial, |lines| drop(lines.remove(2)), &[&TALK[..2], &TALK[3..]].concat())
    }),
    ("repaired: an unknown parent", |trial| {
        talk(trial, |lines| set(lines, 3, "parentUuid", json!(id(99))), &TALK)
    }),
    ("repaired: no parent", |trial| talk(trial, |lines| set(lines, 3, "parentUuid", Json::Null), &TALK)),
    ("repaired: a circle", |trial| talk(trial, |lines| set(lines, 1, "parentUuid", json!(id(5))), &TALK)),
    ("repaired: glued lines", |trial| talk(trial, glue, &TALK)),
    ("repaired: NUL bytes", |trial| talk(trial, |lines| lines[2].insert_str(0, "\0\0\0"), &TALK)),
    ("repaired: no time", |trial| talk(trial, |lines| set(lines, 5, "timestamp", json!("")), &TALK)),
    ("repaired: a subagent's flag", |trial| {
        talk(trial, |lines| set(lines, 5, "isSidechain", json!(true)), &TALK)
    }),
    ("repaired: no first prompt", |trial| talk(trial, |lines| drop(lines.remove(0)), &NO_FIRST)),
    ("repaired: a signature", |trial| talk(trial, |lines| spoil_signature(lines), &TALK)),
    ("repaired: calls with the same id", repeated_calls),
    ("repaired: a lost result", lost_result),
    ("repaired: a compaction read backwards", reversed_compaction),
];

const TALK: [&str; 6] =
    ["user: One", "assistant: Two", "user: Three", "assistant: Four", "user: Five", "assistant: Six"];

const NO_FIRST: [&str; 6] = [
    "user: [The beginning of this conversation was lost.]",
    "assistant: Two",
    "user: Three",
    "assistant: Four",
    "user: Five",
    "assistant: Six",
];

/// Damages a conversation of six messages, which have the ids 1 to 6.
fn talk(trial: &Trial<'_>, damage: fn(&mut Vec<String>), expected: &[&str]) -> Outcome {
    let drafts = [
        at(1, user("One")),
        at(2, says("2", "Two")),
        at(3, user("Three")),
        at(4, says("4", "Four")),
        at(5, user("Five")),
        at(6, says("6", "Six")),
    ];
    survives(trial, &drafts, damage, expected)
}

fn repeated_calls(trial: &Trial<'_>) -> Outcome {
    let drafts = [
        user("Go"),
        calls("1", "toolu_1"),
        answers("toolu_1", "one"),
        calls("2", "toolu_2"),
        answers("toolu_2", "two"),
        says("3", "Done"),
    ];
    let damage = |lines: &mut Vec<String>| {
        for line in lines {
            *line = line.replace("\"toolu_2\"", "\"toolu_1\"");
        }
    };
    let expected = [
        "user: Go",
        "assistant: call toolu_1 ",
        "user: result toolu_1 one",
        "assistant: call toolu_1-call2 ",
        "user: result toolu_1-call2 two",
        "assistant: Done",
    ];
    survives(trial, &drafts, damage, &expected)
}

fn lost_result(trial: &Trial<'_>) -> Outcome {
    let drafts = [user("Go"), calls("1", "toolu_1"), answers("toolu_1", "one"), says("3", "Done")];
    let expected = [
        "user: Go",
        "assistant: call toolu_1 ",
        "user: result toolu_1 [The result of this call was lost.]",
        "assistant: Done",
    ];
    survives(trial, &drafts, |lines| drop(lines.remove(2)), &expected)
}

fn reversed_compaction(trial: &Trial<'_>) -> Outcome {
    let [boundary, summary] = compaction("Summary", 7, &[]);
    let drafts = [
        user("One"),
        says("2", "Two"),
        user("Three"),
        says("4", "Four"),
        boundary,
        summary,
        user("Five"),
        says("6", "Six"),
    ];
    survives(trial, &drafts, |lines| lines.reverse(), &["user: Summary | Five", "assistant: Six"])
}

/// Records a session, damages its lines and repairs it. Claude Code must then send what is expected, also after it has continued the session and
/// after annals has recorded to it; and a second repair must change nothing.
fn survives(
    trial: &Trial<'_>,
    drafts: &[Json],
    damage: impl Fn(&mut Vec<String>),
    expected: &[&str],
) -> Outcome {
    // Claude Code bridges gaps of up to five seconds.
    let slow = drafts.iter().enumerate().map(|(minute, draft)| {
        with(draft.clone(), "timestamp", &format!("2026-01-31T12:{minute:02}:00.000Z"))
    });
    let session = trial.record(&slow.collect::<Vec<_>>())?;
    let path = trial.transcript(&session)?;
    let text = fs::read_to_string(&path)?;
    let is_message = |line: &&str| line.contains("\"uuid\":");
    let mut lines: Vec<String> = text.lines().filter(is_message).map(ToOwned::to_owned).collect();
    damage(&mut lines);
    fs::write(&path, lines.join("\n") + "\n")?;
    let repair = ["repair", &*session, "--apply", "--force"];
    trial.annals(&repair)?;
    let repaired = fs::read(&path)?;
    trial.annals(&repair)?;
    if fs::read(&path)? != repaired {
        return Err("a second repair changes something".into());
    }
    trial.resume(&session)?.is(expected)?;
    trial.continue_session(&session, "More SCRIPT:qa")?;
    let continued = [expected, &["user: More SCRIPT:qa", "assistant: The answer is 42."]].concat();
    trial.resume(&session)?.is(&continued)?;
    trial.record_to(&session, &[user("Last"), says("9", "End")])?;
    trial.resume(&session)?.is(&[&continued[..], &["user: Last", "assistant: End"]].concat())
}

/// Sets a field of the entry on a line.
fn set(lines: &mut [String], index: usize, key: &str, value: Json) {
    let mut entry: Json = serde_json::from_str(&lines[index]).expect("annals records JSON");
    entry[key] = value;
    lines[index] = entry.to_string();
}

fn glue(lines: &mut Vec<String>) {
    let second = lines.remove(2);
    lines[1].push_str(&second);
}

/// Puts reasoning without a signature before a reply.
fn spoil_signature(lines: &mut [String]) {
    let mut entry: Json = serde_json::from_str(&lines[3]).expect("annals records JSON");
    let text = entry["message"]["content"][0].take();
    entry["message"]["content"] = json!([{"type": "thinking", "thinking": "Hm", "signature": ""}, text]);
    lines[3] = entry.to_string();
}
