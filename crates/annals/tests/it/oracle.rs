//! The model view equals what the client sent, case by case.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::command::Home;
use testkit::corpora;

/// Cases that differ; `docs/CHAIN.md` says what is known of each.
const KNOWN_DIFFERENCES: [&str; 9] = [
    "given-72-004",
    "harsh-2-317",
    "tiny-1-125",
    "tiny-1-190",
    "tiny-2-065",
    "tiny-2-148",
    "tiny-2-172",
    "tiny-2-197",
    "tiny-2-221",
];

#[test]
fn the_model_view_is_what_the_client_sent() {
    let mut differing = Vec::new();
    let mut cases = 0;
    for folder in ["cases", "random", "reduced", "remaining"] {
        for case in corpora::folders(&corpora::own().join("oracle").join(folder)) {
            cases += 1;
            // The answers of the first set keep labels only.
            let spelling = if folder == "cases" { labels } else { whole };
            if let Some(difference) = difference(&case, spelling) {
                let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if !KNOWN_DIFFERENCES.contains(&name.as_str()) {
                    eprintln!("{name}: {difference}");
                }
                differing.push(name);
            }
        }
    }
    assert!(cases >= 301, "the cases are there");
    assert_eq!(differing, KNOWN_DIFFERENCES, "no other case differs, and none of these has come to agree");
}

/// How a text is compared.
type Spelling = fn(&str) -> String;

/// Compares one case; returns the first message that differs.
fn difference(case: &Path, spelling: Spelling) -> Option<String> {
    let expected = parse(&fs::read(case.join("expected.json")).expect("a case has an answer"));
    let session = expected["session_id"].as_str().expect("an answer names its session");
    let home = Home::new();
    home.write(
        format!(".claude/projects/-p/{session}.jsonl"),
        fs::read(case.join("session.jsonl")).expect("a case has a transcript"),
    );
    let ran = home
        .command(crate::ANNALS)
        .args(["show", session, "--view", "model", "--json"])
        .output()
        .expect("annals can be run");
    let resumable = expected["resumable"] == true;
    if ran.status.code() != Some(i32::from(!resumable)) {
        return Some(format!(
            "the client would resume it: {resumable}; annals: {}",
            String::from_utf8_lossy(&ran.stderr)
        ));
    }
    let messages = expected["messages"].as_array().filter(|_| resumable);
    let mut theirs: Vec<String> =
        messages.into_iter().flatten().map(|message| client_message(message, spelling)).collect();
    // The next prompt, which is left out here, was joined to the last text by a newline.
    if let Some(last) = theirs.last_mut().filter(|last| last.ends_with('\n')) {
        last.pop();
    }
    let ours: Vec<String> = {
        let lines = ran.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| our_message(&parse(line), spelling)).collect()
    };
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
