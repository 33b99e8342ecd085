//! Scenarios of changing existing sessions.

use std::fs::{self, OpenOptions};
use std::io::Write;

use serde_json::{Value as Json, json};

use super::Scenario;
use super::drafts::{answers, at, calls, compaction, id, says, user, with};
use super::trial::{Trial, text};
use crate::Outcome;

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("fork", fork),
    ("fork up to a message", fork_up_to),
    ("fork of a compacted session", fork_of_a_compaction),
    ("fork up to each of parallel calls", fork_up_to_calls),
    ("renamed", renamed),
    ("tagged", tagged),
    ("archived", archived),
    ("deleted and restored", restored),
    ("hydrated from another session", hydrated),
    ("tombstone of the last message", tombstone_last),
    ("tombstone of a message in the middle", tombstone_middle),
    ("tombstone in the middle of a slow talk", tombstone_slow),
    ("tombstone of a message that a compaction keeps", tombstone_kept),
    ("tombstone of the entry that a last-prompt names", tombstone_named),
    ("healed after a torn line", healed_torn),
    ("healed after a missing newline", healed_newline),
];

const TALK: [&str; 6] =
    ["user: One", "assistant: Two", "user: Three", "assistant: Four", "user: Five", "assistant: Six"];

/// Records a conversation of six messages with the ids 1 to 6.
fn talk(trial: &Trial<'_>) -> Result<String, Box<dyn std::error::Error>> {
    trial.record(&[
        at(1, user("One")),
        at(2, says("2", "Two")),
        at(3, user("Three")),
        at(4, says("4", "Four")),
        at(5, user("Five")),
        at(6, says("6", "Six")),
    ])
}

/// Records one more turn; returns whether Claude Code sends it behind what it sent before.
fn goes_on(trial: &Trial<'_>, session: &str, before: &[&str]) -> Outcome {
    trial.record_to(session, &[user("Seven"), says("8", "Eight")])?;
    trial.resume(session)?.is(&[before, &["user: Seven", "assistant: Eight"]].concat())
}

fn fork(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    let fork = trial.fork(&session, &[])?;
    trial.resume(&fork)?.is(&TALK)?;
    goes_on(trial, &fork, &TALK)?;
    trial.resume(&session)?.is(&TALK)
}

fn fork_up_to(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    // Claude Code's records about the leaf of the session must not apply to the copy.
    trial.continue_session(&session, "More SCRIPT:qa")?;
    let fork = trial.fork(&session, &["--up-to", &id(4)])?;
    trial.resume(&fork)?.is(&TALK[..4])?;
    goes_on(trial, &fork, &TALK[..4])
}

fn fork_of_a_compaction(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.record_to(&session, &compaction("Summary", 7, &[5, 6]))?;
    trial.record_to(&session, &[user("Eight")])?;
    let fork = trial.fork(&session, &[])?;
    trial.record_to(&fork, &[says("9", "Nine")])?;
    trial.resume(&fork)?.is(&["user: Summary | Five", "assistant: Six", "user: Eight", "assistant: Nine"])?;
    let names_the_original = |entry: &Json| entry["compactMetadata"].to_string().contains(&id(6));
    if trial.entries(&fork)?.iter().any(names_the_original) {
        return Err("the copy keeps messages of the original".into());
    }
    Ok(())
}

/// Claude Code takes a call whose result a fork left out for interrupted.
fn fork_up_to_calls(trial: &Trial<'_>) -> Outcome {
    let session = trial.record(&[
        user("Two at once"),
        at(1, calls("1", "toolu_1")),
        at(2, calls("1", "toolu_2")),
        at(3, with(answers("toolu_1", "one"), "sourceToolAssistantUUID", &id(1))),
        at(4, with(answers("toolu_2", "two"), "sourceToolAssistantUUID", &id(2))),
        at(5, says("2", "Done")),
    ])?;
    for (last, results) in [
        (1, "user: result toolu_1 [Tool call interrupted"),
        (2, "user: result toolu_1 [Tool call interrupted"),
        (3, "user: result toolu_1 one | result toolu_2 [Tool call interrupted"),
        (4, "user: result toolu_1 one | result toolu_2 two"),
        (5, "user: result toolu_1 one | result toolu_2 two"),
    ] {
        let fork = trial.fork(&session, &["--up-to", &id(last)])?;
        let end = if last == 5 { "assistant: Done" } else { "assistant: No response requested." };
        trial.resume(&fork)?.is(&["user: Two at once", "assistant: call toolu_1", results, end])?;
    }
    Ok(())
}

fn renamed(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.annals(&["rename", &session, "A \"new\" name"])?;
    trial.resume(&session)?.is(&TALK)?;
    // Claude Code finds a session by its title, too.
    trial.continue_session("A \"new\" name", "More SCRIPT:qa")?;
    let more = [&TALK[..], &["user: More SCRIPT:qa", "assistant: The answer is 42."]].concat();
    trial.resume(&session)?.is(&more)?;
    goes_on(trial, &session, &more)
}

fn tagged(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.annals(&["tag", &session, "important"])?;
    trial.resume(&session)?.is(&TALK)?;
    trial.annals(&["tag", &session, "--remove"])?;
    trial.resume(&session)?.is(&TALK)
}

fn archived(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.annals(&["archive", &session])?;
    trial.resume(&session)?.is(&TALK)?;
    trial.annals(&["unarchive", &session])?;
    trial.resume(&session)?.is(&TALK)
}

fn restored(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.annals(&["delete", &session])?;
    if trial.resume(&session).is_ok() {
        return Err("Claude Code resumes what was deleted".into());
    }
    trial.annals(&["restore", &session])?;
    trial.resume(&session)?.is(&TALK)?;
    goes_on(trial, &session, &TALK)
}

fn hydrated(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    let log = trial.transcript(&session)?;
    let args = ["hydrate", &log.to_string_lossy(), "--project", "project"];
    let copy = text(&trial.annals(&args)?[0]["session"]);
    trial.resume(&copy)?.is(&TALK)?;
    goes_on(trial, &copy, &TALK)
}

fn tombstone_last(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.annals(&["tombstone", &session, &id(6)])?;
    let left = [&TALK[..5], &["assistant: No response requested."]].concat();
    trial.resume(&session)?.is(&left)?;
    trial.record_to(&session, &[says("8", "Another six")])?;
    trial.resume(&session)?.is(&[&TALK[..5], &["assistant: Another six"]].concat())
}

fn tombstone_middle(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.annals(&["tombstone", &session, &id(4)])?;
    let left = [&TALK[..2], &["user: Three | Five"], &TALK[5..]].concat();
    trial.resume(&session)?.is(&left)?;
    goes_on(trial, &session, &left)
}

/// Claude Code looks for a missing parent within five seconds only.
fn tombstone_slow(trial: &Trial<'_>) -> Outcome {
    let said_at = |second: &str, draft| with(draft, "timestamp", &format!("2026-01-31T12:00:{second}.000Z"));
    let session = trial.record(&[
        said_at("00", user("One")),
        said_at("10", at(2, says("2", "Two"))),
        said_at("20", user("Three")),
        said_at("30", says("4", "Four")),
    ])?;
    trial.annals(&["tombstone", &session, &id(2)])?;
    let left = ["user: One | Three", "assistant: Four"];
    trial.resume(&session)?.is(&left)?;
    goes_on(trial, &session, &left)
}

/// Claude Code keeps all of the messages that a compaction names, or none.
fn tombstone_kept(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.record_to(&session, &compaction("Summary", 7, &[5, 6]))?;
    trial.record_to(&session, &[user("Eight"), says("9", "Nine")])?;
    trial.annals(&["tombstone", &session, &id(5)])?;
    let left = ["user: Summary", "assistant: Six", "user: Eight", "assistant: Nine"];
    trial.resume(&session)?.is(&left)?;
    trial.annals(&["tombstone", &session, &id(6)])?;
    trial.resume(&session)?.is(&["user: Summary | Eight", "assistant: Nine"])
}

fn tombstone_named(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    trial.record_to(&session, &[json!({"type": "last-prompt", "lastPrompt": "Five", "leafUuid": id(6)})])?;
    trial.annals(&["tombstone", &session, &id(6)])?;
    trial.resume(&session)?.is(&[&TALK[..5], &["assistant: No response requested."]].concat())?;
    trial.record_to(&session, &[says("8", "Another six")])?;
    trial.resume(&session)?.is(&[&TALK[..5], &["assistant: Another six"]].concat())
}

fn healed_torn(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    let mut file = OpenOptions::new().append(true).open(trial.transcript(&session)?)?;
    file.write_all(br#"{"parentUuid":"00000000-0000-4000-8000-000000000006","type":"user","mess"#)?;
    goes_on(trial, &session, &TALK)
}

fn healed_newline(trial: &Trial<'_>) -> Outcome {
    let session = talk(trial)?;
    let file = OpenOptions::new().write(true).open(trial.transcript(&session)?)?;
    file.set_len(fs::metadata(trial.transcript(&session)?)?.len() - 1)?;
    goes_on(trial, &session, &TALK)
}
