//! The mutations: each changes a transcript in one way that a random generator chooses.

#![expect(clippy::ptr_arg, clippy::unnecessary_wraps, reason = "all mutations have the same signature")]

use fastrand::Rng;
use serde_json::{Value as Json, json};

use super::super::claude_code::MODEL;
use super::file::{Line, Record, SESSION};

/// A kind of mutation. `apply` returns what it did, or `None` if it does not fit the file.
pub(crate) struct Mutation {
    pub(crate) name: &'static str,
    /// How often it is chosen, compared with others.
    weight: usize,
    apply: fn(&mut Vec<Line>, &mut Rng) -> Option<String>,
}

pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation { name: "drop", weight: 2, apply: drop_one },
    Mutation { name: "drop several", weight: 1, apply: drop_several },
    Mutation { name: "duplicate", weight: 1, apply: duplicate },
    Mutation { name: "duplicate at the end", weight: 1, apply: duplicate_at_the_end },
    Mutation { name: "swap", weight: 1, apply: swap },
    Mutation { name: "move", weight: 1, apply: move_one },
    Mutation { name: "splice", weight: 1, apply: splice },
    Mutation { name: "cut the file", weight: 1, apply: cut_file },
    Mutation { name: "cut a line", weight: 1, apply: cut_line },
    Mutation { name: "glue lines", weight: 1, apply: glue },
    Mutation { name: "noise", weight: 1, apply: noise },
    Mutation { name: "field", weight: 3, apply: change_field },
    Mutation { name: "flag", weight: 1, apply: set_flag },
    Mutation { name: "content", weight: 2, apply: replace_content },
    Mutation { name: "add text", weight: 1, apply: add_text },
    Mutation { name: "block", weight: 2, apply: change_block },
    Mutation { name: "time", weight: 2, apply: change_time },
    Mutation { name: "id", weight: 2, apply: change_id },
    Mutation { name: "parent", weight: 2, apply: change_parent },
    Mutation { name: "rewind", weight: 1, apply: rewind },
    Mutation { name: "compact", weight: 1, apply: compact },
    Mutation { name: "last prompt", weight: 1, apply: add_last_prompt },
    Mutation { name: "unspoken", weight: 1, apply: add_unspoken },
    Mutation { name: "grow", weight: 1, apply: grow },
];

/// Texts that mean something to Claude Code, and some that do not.
pub(crate) const TEXTS: &[&str] = &[
    "",
    "  ",
    "(no content)",
    "No response requested.",
    "[Request interrupted by user]",
    "<local-command-caveat>x</local-command-caveat>",
    "<command-name>/x</command-name>",
    "<local-command-stdout>y</local-command-stdout>",
    "<bash-input>ls</bash-input>",
    "<system-reminder>z</system-reminder>",
    "M:new",
];

/// A picture of one pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Applies up to three mutations and returns the name of each and what it did.
pub(crate) fn mutate(lines: &mut Vec<Line>, rng: &mut Rng) -> Vec<(&'static str, String)> {
    let count = one_of(rng, &[0, 1, 1, 1, 2, 2, 3]);
    (0..count).filter_map(|_| mutate_once(lines, rng)).collect()
}

fn mutate_once(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<(&'static str, String)> {
    // Most mutations fit most files; a file that none of these fits has hardly anything to change.
    (0..20).find_map(|_| {
        let mutation = weighted(rng);
        (mutation.apply)(lines, rng).map(|done| (mutation.name, done))
    })
}

fn weighted(rng: &mut Rng) -> &'static Mutation {
    let sum: usize = MUTATIONS.iter().map(|mutation| mutation.weight).sum();
    let mut left = rng.usize(..sum);
    for mutation in MUTATIONS {
        match left.checked_sub(mutation.weight) {
            Some(rest) => left = rest,
            None => return mutation,
        }
    }
    unreachable!("the number is smaller than the sum of the weights")
}

// Lines.

fn drop_one(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, _) = any_entry(lines, rng)?;
    lines.remove(at);
    Some(format!("line {}", at + 1))
}

fn drop_several(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let range = any_range(lines, 2..=8, rng)?;
    lines.drain(range.clone());
    Some(format!("lines {} to {}", range.start + 1, range.end))
}

fn duplicate(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, _) = any_entry(lines, rng)?;
    lines.insert(at + 1, lines[at].clone());
    Some(format!("line {}", at + 1))
}

fn duplicate_at_the_end(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, _) = any_entry(lines, rng)?;
    lines.push(lines[at].clone());
    Some(format!("line {}", at + 1))
}

fn swap(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let ((one, _), (other, _)) = (any_entry(lines, rng)?, any_entry(lines, rng)?);
    lines.swap(one, other);
    Some(format!("lines {} and {}", one + 1, other + 1))
}

fn move_one(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (from, _) = any_entry(lines, rng)?;
    let line = lines.remove(from);
    let to = rng.usize(..=lines.len());
    lines.insert(to, line);
    Some(format!("line {} to {}", from + 1, to + 1))
}

fn splice(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let range = any_range(lines, 1..=6, rng)?;
    let moved: Vec<_> = lines.drain(range.clone()).collect();
    let to = rng.usize(..=lines.len());
    lines.splice(to..to, moved);
    Some(format!("lines {} to {} moved to {}", range.start + 1, range.end, to + 1))
}

fn cut_file(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let kept = (lines.len() > 1).then(|| rng.usize(1..lines.len()))?;
    lines.truncate(kept);
    Some(format!("behind line {kept}"))
}

fn cut_line(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, _) = any_entry(lines, rng)?;
    let kept = rng.usize(1..lines[at].len());
    lines[at].truncate(kept);
    Some(format!("line {} behind byte {kept}", at + 1))
}

fn glue(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, _) = any_entry(lines, rng)?;
    let next = (at + 1 < lines.len()).then(|| lines.remove(at + 1))?;
    lines[at].extend(next);
    Some(format!("lines {} and {}", at + 1, at + 2))
}

fn noise(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let nul = "\0".repeat(30);
    let noise = [NOISE, &nul, "", "{}", "[1,2]", "\"x\"", "null", "{\"type\":\"user\"}"];
    let noise = one_of(rng, &noise);
    let at = rng.usize(..=lines.len());
    lines.insert(at, noise.as_bytes().to_vec());
    Some(format!("{noise:?} as line {}", at + 1))
}

/// A line that is not JSON.
pub(crate) const NOISE: &str = "garbage {";

/// Above 5 MiB Claude Code does not parse what stands before the last compaction.
fn grow(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let size: usize = lines.iter().map(Vec::len).sum();
    let missing = (5 * 1024 * 1024 + 10_000_usize).checked_sub(size)?;
    let padding = json!({"type": "padding", "text": "x".repeat(missing)});
    let at = rng.usize(..=lines.len());
    lines.insert(at, padding.to_string().into_bytes());
    Some(format!("a record of {missing} bytes as line {}", at + 1))
}

// Members of entries.

fn change_field(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, mut entry) = any_entry(lines, rng)?;
    let key = rng.choice(entry.keys())?;
    let values = [
        json!(null),
        json!(""),
        json!(0),
        json!(1),
        json!(true),
        json!(false),
        json!("x"),
        json!([]),
        json!({}),
    ];
    // One time in ten the field is removed.
    let value = (rng.usize(..10) > 0).then(|| one_of(rng, &values));
    match &value {
        Some(value) => entry.set(&key, value),
        None => entry.remove(&key),
    }
    lines[at] = entry.to_line();
    let value = value.map_or("removed".to_owned(), |value| value.to_string());
    Some(format!("{key} of line {}: {value}", at + 1))
}

fn set_flag(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    const FLAGS: [&str; 7] = [
        "isMeta",
        "isSidechain",
        "isCompactSummary",
        "isVisibleInTranscriptOnly",
        "isApiErrorMessage",
        "isVirtual",
        "isDisplayOnly",
    ];
    let (at, mut entry) = any_entry(lines, rng)?;
    let flag = one_of(rng, &FLAGS);
    let value = one_of(rng, &[json!(true), json!(true), json!(true), json!(false), json!(1)]);
    entry.set(flag, &value);
    lines[at] = entry.to_line();
    Some(format!("{flag} of line {}: {value}", at + 1))
}

fn change_time(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, mut entry) = any_entry(lines, rng)?;
    let how = one_of(rng, &["as another", "as those around", "early", "late", "not a time", "removed"]);
    let time = match how {
        "as another" => any_entry(lines, rng)?.1.get("timestamp"),
        "as those around" => entry.get("timestamp"),
        "early" => json!("2020-01-01T00:00:00.000Z"),
        "late" => json!("2030-01-01T00:00:00.000Z"),
        _ => one_of(rng, &[json!("x"), json!("2026"), json!("2026-11-01"), json!(5), json!(null)]),
    };
    match how {
        "removed" => entry.remove("timestamp"),
        _ => entry.set("timestamp", &time),
    }
    lines[at] = entry.to_line();
    if how == "as those around" {
        let around = at.saturating_sub(3)..(at + 3).min(lines.len());
        for line in &mut lines[around] {
            if let Some(mut entry) = Record::parse(line).filter(Record::is_chained) {
                entry.set("timestamp", &time);
                *line = entry.to_line();
            }
        }
    }
    Some(format!("of line {}: {how}", at + 1))
}

fn change_id(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, mut entry) = any_entry(lines, rng)?;
    let how = one_of(rng, &["uuid of another", "reply of another", "no reply", "no request"]);
    match how {
        "uuid of another" => entry.set("uuid", &any_entry(lines, rng)?.1.get("uuid")),
        "no request" => entry.remove("requestId"),
        _ => {
            let mut message = entry.get("message");
            let other = any_message(lines, rng)?.1.get("message")["id"].clone();
            let id = message.as_object_mut().filter(|message| message.contains_key("id"))?;
            match how {
                "no reply" => id.remove("id"),
                _ => id.insert("id".into(), other),
            };
            entry.set("message", &message);
        }
    }
    lines[at] = entry.to_line();
    Some(format!("line {}: {how}", at + 1))
}

fn change_parent(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, mut entry) = any_entry(lines, rng)?;
    let how = one_of(rng, &["none", "unknown", "any", "later", "itself", "removed"]);
    let parent = match how {
        "unknown" => json!("99999999-0000-4000-8000-000000000000"),
        "any" => any_entry(lines, rng)?.1.get("uuid"),
        "later" => any_entry(&lines[at..], rng)?.1.get("uuid"),
        "itself" => entry.get("uuid"),
        _ => Json::Null,
    };
    match how {
        "removed" => entry.remove("parentUuid"),
        _ => entry.set("parentUuid", &parent),
    }
    lines[at] = entry.to_line();
    Some(format!("of line {}: {how}", at + 1))
}

// Content.

fn replace_content(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, mut entry) = any_message(lines, rng)?;
    let (one, other) = (one_of(rng, TEXTS), one_of(rng, TEXTS));
    let contents =
        [json!(one), json!([text(one)]), json!([text(one), text(other)]), json!([]), json!(null), json!(5)];
    let content = one_of(rng, &contents);
    set_content(&mut entry, &content);
    lines[at] = entry.to_line();
    Some(format!("of line {}: {content}", at + 1))
}

fn add_text(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, mut entry) = any_message(lines, rng)?;
    let added = one_of(rng, TEXTS);
    let content = match entry.get("message")["content"].take() {
        Json::Array(mut blocks) => {
            blocks.insert(rng.usize(..=blocks.len()), text(added));
            Json::Array(blocks)
        }
        Json::String(old) => Json::String(format!("{added}{old}")),
        _ => return None,
    };
    set_content(&mut entry, &content);
    lines[at] = entry.to_line();
    Some(format!("{added:?} to line {}", at + 1))
}

fn change_block(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, mut entry) = any_message(lines, rng)?;
    let Json::Array(mut blocks) = entry.get("message")["content"].take() else { return None };
    let block = (!blocks.is_empty()).then(|| rng.usize(..blocks.len()))?;
    let how =
        one_of(rng, &["drop", "duplicate", "shuffle", "add", "type", "id", "copy from another", "error"]);
    match how {
        "drop" => drop(blocks.remove(block)),
        "duplicate" => blocks.insert(block, blocks[block].clone()),
        "shuffle" => rng.shuffle(&mut blocks),
        "add" => blocks.insert(block, new_block(rng)),
        "copy from another" => {
            let other = any_message(lines, rng)?.1.get("message")["content"].take();
            blocks.splice(block..block, other.as_array()?.iter().cloned());
        }
        _ => change_member_of_block(blocks[block].as_object_mut()?, how, lines, rng)?,
    }
    set_content(&mut entry, &Json::Array(blocks));
    lines[at] = entry.to_line();
    Some(format!("{} of line {}: {how}", block + 1, at + 1))
}

fn change_member_of_block(
    block: &mut serde_json::Map<String, Json>,
    member: &str,
    lines: &[Line],
    rng: &mut Rng,
) -> Option<()> {
    const TYPES: [&str; 6] = ["text", "tool_use", "tool_result", "thinking", "redacted_thinking", "weird"];
    match member {
        "type" => block.insert("type".into(), one_of(rng, &TYPES).into()),
        "error" => block.insert("is_error".into(), true.into()),
        _ => {
            let key = if block.get("type")? == "tool_result" { "tool_use_id" } else { "id" };
            block.insert(key.into(), rng.choice(call_ids(lines))?.into())
        }
    };
    Some(())
}

/// Returns the ids of all tool calls and results.
fn call_ids(lines: &[Line]) -> Vec<String> {
    let messages = lines.iter().filter_map(|line| Record::parse(line)).filter(Record::is_message);
    let blocks = messages.flat_map(|entry| super::compare::blocks(&entry.get("message")["content"]));
    let id = |block: Json| block["id"].as_str().or(block["tool_use_id"].as_str()).map(str::to_owned);
    blocks.filter_map(id).collect()
}

fn new_block(rng: &mut Rng) -> Json {
    let blocks = [
        text("M:added"),
        json!({"type": "thinking", "thinking": "t", "signature": "c2ln"}),
        json!({"type": "tool_use", "id": "toolu_new", "name": "Bash", "input": {}}),
        json!({"type": "tool_result", "tool_use_id": "toolu_new", "content": "x"}),
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}),
        json!({"type": "weird", "x": 1}),
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
    ];
    one_of(rng, &blocks)
}

// Entries that Claude Code writes.

fn rewind(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, entry) = any_entry(lines, rng)?;
    let time = last_time(lines);
    let prompt = new_entry(
        rng,
        "user",
        &entry.get("uuid"),
        &time,
        "message",
        json!({"role": "user", "content": "M:again"}),
    );
    let reply = json!({"id": format!("msg_{}", rng.u32(..)), "type": "message", "role": "assistant", "model": MODEL,
        "content": [text("M:answer")], "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": 4}});
    let reply = new_entry(rng, "assistant", &prompt.get("uuid"), &time, "message", reply);
    lines.push(prompt.to_line());
    let answered = rng.bool();
    if answered {
        lines.push(reply.to_line());
    }
    Some(format!("to line {}{}", at + 1, if answered { ", answered" } else { "" }))
}

fn compact(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, entry) = any_entry(lines, rng)?;
    let time = entry.get("timestamp");
    let mut boundary = new_entry(rng, "system", &Json::Null, &time, "subtype", json!("compact_boundary"));
    let summary = json!({"role": "user", "content": "M:summary"});
    let mut summary = new_entry(rng, "user", &boundary.get("uuid"), &time, "message", summary);
    summary.set("isCompactSummary", &json!(true));
    summary.set("isVisibleInTranscriptOnly", &json!(true));
    boundary.set("content", &json!("Conversation compacted"));
    boundary.set("logicalParentUuid", &entry.get("uuid"));
    let anchors = [summary.get("uuid"), summary.get("uuid"), boundary.get("uuid")];
    let (how, kept) = kept_messages(&lines[..=at], &one_of(rng, &anchors), rng);
    boundary.set("compactMetadata", &kept);
    relink(&mut lines[at + 1..], &entry.get("uuid"), &summary.get("uuid"));
    lines.insert(at + 1, summary.to_line());
    lines.insert(at + 1, boundary.to_line());
    Some(format!("behind line {}, keeping {how}", at + 1))
}

/// Returns the metadata of a compaction that keeps up to four of the last entries.
fn kept_messages(lines: &[Line], anchor: &Json, rng: &mut Rng) -> (&'static str, Json) {
    let entries = lines.iter().filter_map(|line| Record::parse(line)).filter(Record::is_chained);
    let mut kept: Vec<_> = entries.map(|entry| entry.get("uuid")).collect();
    kept.drain(..kept.len().saturating_sub(rng.usize(1..=4)));
    let mut metadata = json!({"trigger": "auto", "preTokens": 9});
    let how = one_of(rng, &["nothing", "nothing", "a segment", "a segment", "messages"]);
    match how {
        "a segment" => {
            metadata["preservedSegment"] =
                json!({"headUuid": kept.first(), "anchorUuid": anchor, "tailUuid": kept.last()});
        }
        "messages" => {
            metadata["preservedMessages"] = json!({"anchorUuid": anchor, "uuids": &kept, "allUuids": &kept});
        }
        _ => {}
    }
    (how, metadata)
}

fn add_last_prompt(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, entry) = any_entry(lines, rng)?;
    let leaves =
        [entry.get("uuid"), json!("00000000-0000-0000-0000-000000000000"), json!("unknown"), json!(null)];
    let leaf = one_of(rng, &leaves);
    let mut record = Record::new([
        ("type", json!("last-prompt")),
        ("lastPrompt", json!("M:prompt")),
        ("leafUuid", leaf.clone()),
        ("sessionId", json!(SESSION)),
    ]);
    if rng.usize(..10) < 3 {
        record.set("explicit", &json!(true));
    }
    let to = one_of(rng, &[at + 1, lines.len()]);
    lines.insert(to, record.to_line());
    let leaf = if leaf == entry.get("uuid") { format!("line {}", at + 1) } else { leaf.to_string() };
    Some(format!("{leaf} as line {}", to + 1))
}

/// Adds an entry that is no message, sometimes between an entry and its children.
fn add_unspoken(lines: &mut Vec<Line>, rng: &mut Rng) -> Option<String> {
    let (at, entry) = any_entry(lines, rng)?;
    let (parent, time) = (entry.get("uuid"), entry.get("timestamp"));
    let how = one_of(
        rng,
        &["local_command", "turn_duration", "informational", "date", "queued", "queued by a human"],
    );
    let attachment = match how {
        "date" => Some(json!({"type": "date", "date": "2026-11-01"})),
        "queued" => Some(json!({"type": "queued_command", "prompt": "M:queued", "commandMode": "prompt"})),
        "queued by a human" => {
            Some(json!({"type": "queued_command", "prompt": "M:queued", "commandMode": "prompt",
            "humanTurn": true, "origin": {"kind": "human"}}))
        }
        _ => None,
    };
    let added = if let Some(attachment) = attachment {
        new_entry(rng, "attachment", &parent, &time, "attachment", attachment)
    } else {
        let mut added = new_entry(rng, "system", &parent, &time, "subtype", json!(how));
        added.set("content", &json!("M:system"));
        added
    };
    if rng.usize(..10) < 6 {
        relink(&mut lines[at + 1..], &parent, &added.get("uuid"));
    }
    lines.insert(at + 1, added.to_line());
    Some(format!("{how} behind line {}", at + 1))
}

// Choosing and building.

fn one_of<T: Clone>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.usize(..values.len())].clone()
}

/// Chooses an entry that may be a link of the chain.
fn any_entry(lines: &[Line], rng: &mut Rng) -> Option<(usize, Record)> {
    any_record(lines, rng, Record::is_chained)
}

/// Chooses a user's or an assistant's message.
fn any_message(lines: &[Line], rng: &mut Rng) -> Option<(usize, Record)> {
    any_record(lines, rng, Record::is_message)
}

fn any_record(lines: &[Line], rng: &mut Rng, fits: fn(&Record) -> bool) -> Option<(usize, Record)> {
    let records = lines.iter().enumerate().filter_map(|(at, line)| Some((at, Record::parse(line)?)));
    rng.choice(records.filter(|(_, record)| fits(record)).collect::<Vec<_>>())
}

fn any_range(
    lines: &[Line],
    length: std::ops::RangeInclusive<usize>,
    rng: &mut Rng,
) -> Option<std::ops::Range<usize>> {
    let start = (!lines.is_empty()).then(|| rng.usize(..lines.len()))?;
    Some(start..(start + rng.usize(length)).min(lines.len()))
}

fn text(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

fn set_content(entry: &mut Record, content: &Json) {
    let mut message = entry.get("message");
    message["content"] = content.clone();
    entry.set("message", &message);
}

/// Makes children of one entry children of another.
fn relink(lines: &mut [Line], from: &Json, to: &Json) {
    for line in lines {
        if let Some(mut entry) = Record::parse(line).filter(|entry| entry.get("parentUuid") == *from) {
            entry.set("parentUuid", to);
            *line = entry.to_line();
        }
    }
}

fn last_time(lines: &[Line]) -> Json {
    let mut times =
        lines.iter().rev().filter_map(|line| Record::parse(line)).map(|entry| entry.get("timestamp"));
    times.find(Json::is_string).unwrap_or_else(|| json!("2026-11-01T10:00:00.000Z"))
}

/// Builds an entry as Claude Code writes it, with a new uuid and one member of its own.
fn new_entry(
    rng: &mut Rng,
    kind: &str,
    parent: &Json,
    time: &Json,
    key: &'static str,
    value: Json,
) -> Record {
    Record::new([
        ("parentUuid", parent.clone()),
        ("isSidechain", json!(false)),
        ("type", json!(kind)),
        (key, value),
        ("uuid", json!(format!("77777777-0000-4000-8000-{:012}", rng.u32(..)))),
        ("timestamp", time.clone()),
        ("userType", json!("external")),
        ("cwd", json!("/project")),
        ("sessionId", json!(SESSION)),
        ("version", json!("2.1.325")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A conversation with a call in every other turn.
    fn conversation() -> Vec<Line> {
        (0..40_usize)
            .map(|index| {
                let id = |index: usize| format!("00000000-0000-4000-8000-{index:012}");
                let content = match index % 4 {
                    0 => json!(format!("prompt {index}")),
                    1 => json!([{"type": "tool_use", "id": format!("toolu_{index}"), "name": "Bash", "input": {}}]),
                    2 => json!([{"type": "tool_result", "tool_use_id": format!("toolu_{}", index - 1), "content": "ok"}]),
                    _ => json!([text("answer")]),
                };
                let role = if index % 2 == 0 { "user" } else { "assistant" };
                let message = json!({"role": role, "content": content, "id": format!("msg_{index}")});
                Record::new([
                    ("parentUuid", if index == 0 { Json::Null } else { json!(id(index - 1)) }),
                    ("type", json!(role)),
                    ("message", message),
                    ("uuid", json!(id(index))),
                    ("timestamp", json!(format!("2026-11-01T10:00:{index:02}.000Z"))),
                ])
                .to_line()
            })
            .collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_file() {
        let mutated = |seed| {
            let mut lines = conversation();
            let done = mutate(&mut lines, &mut Rng::with_seed(seed));
            (lines, done)
        };
        let files: Vec<_> = (0..60).map(mutated).collect();
        assert_eq!(files, (0..60).map(mutated).collect::<Vec<_>>());
        let changed = files.iter().filter(|(lines, _)| *lines != conversation()).count();
        assert!(changed > 40, "only {changed} of 60 files were changed");
    }

    #[test]
    fn every_mutation_fits_a_conversation_and_changes_it() {
        for mutation in MUTATIONS.iter().filter(|mutation| mutation.name != "grow") {
            let changes = (0..40).filter(|seed| {
                let mut lines = conversation();
                let done = (mutation.apply)(&mut lines, &mut Rng::with_seed(*seed));
                done.is_some() && lines != conversation()
            });
            assert!(changes.count() > 3, "{} hardly ever changes a file", mutation.name);
        }
    }

    #[test]
    fn lines_stay_records_unless_a_mutation_is_about_bytes() {
        let about_bytes = ["cut a line", "glue lines", "noise", "grow"];
        for mutation in MUTATIONS.iter().filter(|mutation| !about_bytes.contains(&mutation.name)) {
            for seed in 0..20 {
                let mut lines = conversation();
                (mutation.apply)(&mut lines, &mut Rng::with_seed(seed));
                let records = lines.iter().filter(|line| Record::parse(line).is_some()).count();
                assert_eq!(records, lines.len(), "{} with seed {seed}", mutation.name);
            }
        }
    }

    #[test]
    fn a_file_grows_beyond_five_mebibytes_once() {
        let mut lines = conversation();
        assert!(grow(&mut lines, &mut Rng::with_seed(1)).is_some());
        assert!(lines.iter().map(Vec::len).sum::<usize>() > 5 * 1024 * 1024);
        assert!(lines.iter().all(|line| Record::parse(line).is_some()));
        assert_eq!(grow(&mut lines, &mut Rng::with_seed(1)), None);
    }

    #[test]
    fn nothing_fits_an_empty_file_but_noise_and_padding() {
        for mutation in MUTATIONS.iter().filter(|mutation| !["noise", "grow"].contains(&mutation.name)) {
            assert_eq!((mutation.apply)(&mut Vec::new(), &mut Rng::with_seed(1)), None, "{}", mutation.name);
        }
    }
}
