//! The model view equals what the client sent, case by case.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use testkit::command::Home;
use testkit::corpora;

/// Cases that differ; `docs/CHAIN.md` says what is known of each.
const KNOWN_DIFFERENCES: [&str; 2] = ["sendmessage-input", "tool-reference"];

#[test]
fn the_model_view_is_what_the_client_sent() {
    let mut differing = Vec::new();
    let mut cases = 0;
    for folder in ["cases", "random", "reduced", "content", "remaining"] {
        for case in corpora::folders(&corpora::own().join("oracle").join(folder)) {
            cases += 1;
            let difference = match folder {
                "content" => difference_in_blocks(&case),
                // The answers of the first set keep labels only.
                "cases" => difference(&case, labels),
                _ => difference(&case, whole),
            };
            if let Some(difference) = difference {
                let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if !KNOWN_DIFFERENCES.contains(&name.as_str()) {
                    eprintln!("{name}: {difference}");
                }
                differing.push(name);
            }
        }
    }
    assert!(cases >= 801, "the cases are there");
    assert_eq!(differing, KNOWN_DIFFERENCES, "no other case differs, and none of these has come to agree");
}

/// How a text is compared.
type Spelling = fn(&str) -> String;

/// A case, and what annals printed for it.
struct Trial {
    expected: Value,
    /// Whether the client resumed it.
    resumable: bool,
    ran: Output,
}

impl Trial {
    fn of(case: &Path) -> Self {
        let expected = parse(&fs::read(case.join("expected.json")).expect("a case has an answer"));
        let session = expected["session_id"].as_str().expect("an answer names its session");
        let home = Home::new();
        let transcript = fs::read(case.join("session.jsonl")).expect("a case has a transcript");
        home.write(format!(".claude/projects/-p/{session}.jsonl"), with_padding(transcript));
        let ran = home
            .command(crate::ANNALS)
            .args(["show", session, "--view", "model", "--json"])
            .output()
            .expect("annals can be run");
        Self { resumable: expected["resumable"] == true, expected, ran }
    }

    /// Returns what annals said if it would refuse a session that the client resumes, or the other way round.
    fn refused(&self) -> Option<String> {
        let said = String::from_utf8_lossy(&self.ran.stderr);
        let is_same = self.ran.status.code() == Some(i32::from(!self.resumable));
        (!is_same).then(|| format!("the client would resume it: {}; annals: {said}", self.resumable))
    }

    fn theirs(&self) -> impl Iterator<Item = &Value> {
        self.expected["messages"].as_array().filter(|_| self.resumable).into_iter().flatten()
    }

    fn ours(&self) -> impl Iterator<Item = Value> {
        self.ran.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(parse)
    }
}

/// Puts as many bytes as it says in place of `@PAD:N@`: only large files show some rules.
fn with_padding(transcript: Vec<u8>) -> Vec<u8> {
    let is_mark = |bytes: &[u8]| bytes == b"@PAD:";
    let Some(start) = transcript.windows(5).position(is_mark) else { return transcript };
    let (before, rest) = transcript.split_at(start);
    let rest = &rest[b"@PAD:".len()..];
    let end = rest.iter().position(|&byte| byte == b'@').expect("the mark ends");
    let count: usize = str::from_utf8(&rest[..end]).expect("it is text").parse().expect("it is a number");
    [before, &vec![b'x'; count], &rest[end + 1..]].concat()
}

/// Compares one case block by block, to the last character; returns the first message that differs.
fn difference_in_blocks(case: &Path) -> Option<String> {
    let trial = Trial::of(case);
    if let Some(refused) = trial.refused() {
        return Some(refused);
    }
    let theirs =
        without_last_newline(trial.theirs().filter_map(|message| blocks(message, "content")).collect());
    let ours: Vec<Value> = trial.ours().collect();
    let ours = without_last_newline(ours.iter().filter_map(|message| blocks(message, "parts")).collect());
    let place = (0..ours.len().max(theirs.len())).find(|&place| ours.get(place) != theirs.get(place))?;
    Some(format!("message {place}: the client {:?}, annals {:?}", theirs.get(place), ours.get(place)))
}

/// Returns the role of a message and its blocks, without what the client renders by itself; none if nothing is left.
fn blocks(message: &Value, key: &str) -> Option<(String, Vec<Value>)> {
    let role = message["role"].as_str().unwrap_or_default().to_owned();
    let blocks = match &message[key] {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        other => other.as_array().cloned().unwrap_or_default(),
    };
    let blocks: Vec<Value> = blocks.into_iter().filter_map(compared).collect();
    (role != "system" && !blocks.is_empty()).then_some((role, blocks))
}

/// Returns what is compared of a block: of reasoning only that it is there, of text no more than the text.
fn compared(mut block: Value) -> Option<Value> {
    if matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking")) {
        return Some(block["type"].clone());
    }
    if block["type"] == "text" {
        let is_reminder = block["text"].as_str().is_some_and(|text| text.starts_with("<system-reminder>"));
        return (!is_reminder)
            .then(|| serde_json::json!({"text": block["text"], "wrapped": block["wrapped"]}));
    }
    if let Some(block) = block.as_object_mut() {
        block.retain(|key, value| {
            !(matches!(&**key, "cache_control" | "synthetic") || key == "is_error" && value.is_null())
        });
    }
    Some(block)
}

/// The next prompt, which is left out here, was joined to the last text by a newline.
fn without_last_newline(mut messages: Vec<(String, Vec<Value>)>) -> Vec<(String, Vec<Value>)> {
    if let Some((role, blocks)) = messages.last_mut()
        && role == "user"
        && let Some(last) = blocks.last_mut()
        && let Some(text) = last["text"].as_str()
    {
        last["text"] = text.trim_end_matches('\n').into();
    }
    messages
}

/// Compares one case; returns the first message that differs.
fn difference(case: &Path, spelling: Spelling) -> Option<String> {
    let trial = Trial::of(case);
    if let Some(refused) = trial.refused() {
        return Some(refused);
    }
    let mut theirs: Vec<String> = trial.theirs().map(|message| client_message(message, spelling)).collect();
    // The next prompt, which is left out here, was joined to the last text by a newline.
    if let Some(last) = theirs.last_mut().filter(|last| last.ends_with('\n')) {
        last.pop();
    }
    let ours: Vec<String> = trial.ours().map(|message| our_message(&message, spelling)).collect();
    let place = (0..ours.len().max(theirs.len())).find(|&place| ours.get(place) != theirs.get(place))?;
    Some(format!("message {place}: the client {:?}, annals {:?}", theirs.get(place), ours.get(place)))
}

/// Reads JSON in which a lone surrogate may stand, which this parser refuses and the client does not.
fn parse(json: &[u8]) -> Value {
    let text = String::from_utf8_lossy(json).replace("\\ud83d", "?");
    serde_json::from_str(&text).expect("it is JSON")
}

/// Spells a message of the client.
fn client_message(message: &Value, spelling: Spelling) -> String {
    let parts = message["parts"].as_array().into_iter().flatten().map(|part| {
        let text = |key: &str| spelling(part[key].as_str().unwrap_or_default());
        if let Some(id) = part["tool_use"].as_str() {
            format!("call {id}")
        } else if let Some(id) = part["tool_result"].as_str() {
            format!("result {id} {}", spelling(&flat(&part["text"])))
        } else if part.get("synthetic").is_some() {
            text("synthetic")
        } else if part.get("thinking").is_some() {
            "thinking".to_owned()
        } else if part.get("image").is_some() {
            "image".to_owned()
        } else if let Some(block) = part["block"].as_str() {
            block.to_owned()
        } else {
            text("text")
        }
    });
    format!("{}: {}", message["role"].as_str().unwrap_or_default(), parts.collect::<Vec<_>>().join(", "))
}

fn our_message(message: &Value, spelling: Spelling) -> String {
    let parts = message["parts"].as_array().into_iter().flatten().map(|part| {
        match part["type"].as_str().unwrap_or_default() {
            "text" => spelling(part["text"].as_str().unwrap_or_default()),
            "tool_use" => format!("call {}", part["id"].as_str().unwrap_or_default()),
            "tool_result" => format!(
                "result {} {}",
                part["tool_use_id"].as_str().unwrap_or_default(),
                spelling(&flat(&part["content"]))
            ),
            other => other.to_owned(),
        }
    });
    format!("{}: {}", message["role"].as_str().unwrap_or_default(), parts.collect::<Vec<_>>().join(", "))
}

/// Returns the text of a result, whose content may be blocks.
fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn whole(text: &str) -> String {
    text.to_owned()
}

/// Returns the labels in a text (`M:u1`, `R:r2`), or how it begins if it has none.
fn labels(text: &str) -> String {
    let found: Vec<_> = text
        .match_indices(['M', 'R'])
        .filter(|(at, _)| text[at + 1..].starts_with(':'))
        .map(|(at, _)| {
            let rest = &text[at + 2..];
            let end = rest
                .find(|character: char| !character.is_alphanumeric() && character != '_')
                .unwrap_or(rest.len());
            text[at..at + 2 + end].to_owned()
        })
        .filter(|label| label.len() > 2)
        .collect();
    if found.is_empty() { text.chars().take(30).collect() } else { found.join(", ") }
}
