//! Replaces what a transcript says by invented labels, so that a case can be kept without anyone's words in it.
//!
//! Equal strings get equal labels, times keep their order, and words of the format stay.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::super::claude_code::MODEL;
use super::change::{NOISE, PIXEL, TEXTS};
use super::file::{Line, Record, SESSION};

/// Returns the file with labels in place of all strings but those of the format and those in `kept`.
pub(crate) fn relabel(lines: &[Line], kept: &BTreeSet<String>) -> Vec<Line> {
    let mut labels = Labels { times: times_of(lines), ..Labels::new(kept) };
    lines.iter().map(|line| labels.line(line)).collect()
}

/// Returns the strings that would be replaced, sorted.
pub(crate) fn texts_of(lines: &[Line]) -> Vec<String> {
    let kept = BTreeSet::new();
    let mut labels = Labels::new(&kept);
    for line in lines {
        labels.line(line);
    }
    labels.given.into_keys().collect()
}

/// Strings with a meaning to Claude Code, in a value or as a key below `input` and the like.
#[rustfmt::skip] // One word per line would fill pages.
const WORDS: &[&str] = &[
    // Types of records, attachments, blocks and sources.
    "user", "assistant", "system", "attachment", "progress", "summary", "last-prompt", "padding", "message",
    "file-history-snapshot", "queue-operation", "custom-title", "ai-title", "agent-name", "mode",
    "permission-mode", "queued_command", "date", "date_change", "hook_success", "task_reminder", "text",
    "thinking", "redacted_thinking", "tool_use", "tool_result", "tool_reference", "image", "document",
    "server_tool_use", "mcp_tool_use", "fallback", "base64", "image/png", "weird", "direct", "ephemeral",
    "web_search_tool_result", "advisor_tool_result",
    // Subtypes and modes.
    "compact_boundary", "microcompact_boundary", "local_command", "turn_duration", "informational",
    "api_error", "away_summary", "stop_hook_summary", "auto", "manual", "prompt", "bash", "human",
    "task-notification", "external", "peer", "coordinator", "end_turn", "tool_use_id", "stop_sequence",
    "max_tokens", "refusal", "enqueue", "dequeue", "remove", "info", "standard",
    // Tools and their inputs.
    "Agent", "Task", "Bash", "Read", "Write", "Edit", "Grep", "Glob", "TodoWrite", "SendMessage",
    "ToolSearch", "ExitPlanMode", "AskUserQuestion", "web_search", "to", "recipient", "content", "type",
    "command", "<synthetic>",
    // What mutations write.
    "t", "c2ln", "2026", "2026-11-01", "unknown", "M:added", "M:again", "M:answer", "M:summary", "M:prompt",
    "M:queued", "M:system", "toolu_new", "srvtoolu_1", "Conversation compacted",
    "99999999-0000-4000-8000-000000000000", "00000000-0000-0000-0000-000000000000",
    "2020-01-01T00:00:00.000Z", "2030-01-01T00:00:00.000Z", "2.1.325", "/project",
];

/// Markers that Claude Code looks for at the beginning of a text.
const MARKERS: &[&str] = &[
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-message",
    "bash-input",
    "bash-stdout",
    "system-reminder",
    "task-notification",
    "tool_use_error",
];

/// Keys of the format, as they stand in lines that are cut.
#[rustfmt::skip] // One word per line would fill pages.
const KEYS: &[&str] = &[
    "parentUuid", "isSidechain", "type", "uuid", "timestamp", "userType", "cwd", "sessionId", "version",
    "gitBranch", "message", "id", "role", "model", "content", "text", "thinking", "signature",
    "stop_reason", "stop_sequence", "usage", "requestId", "name", "input", "tool_use_id", "is_error",
    "toolUseResult", "sourceToolAssistantUUID", "subtype", "level", "isMeta", "isCompactSummary",
    "compactMetadata", "logicalParentUuid", "attachment", "leafUuid", "lastPrompt", "explicit", "origin",
    "kind", "caller",
];

/// Keys of objects in which keys are free: tools and hooks choose them.
const FREE: &[&str] =
    &["input", "toolUseResult", "snapshot", "structuredContent", "mcpMeta", "trackedFileBackups"];

struct Labels<'a> {
    kept: &'a BTreeSet<String>,
    /// Times in the order of time, each with its label.
    times: BTreeMap<String, String>,
    given: BTreeMap<String, String>,
}

impl<'a> Labels<'a> {
    fn new(kept: &'a BTreeSet<String>) -> Self {
        Self { kept, times: BTreeMap::new(), given: BTreeMap::new() }
    }

    /// Relabels the records of a line, of which there may be several, and what is no record behind them.
    fn line(&mut self, line: &Line) -> Line {
        let (mut relabelled, mut done) = (Line::new(), 0);
        let mut records = serde_json::Deserializer::from_slice(line).into_iter::<Record>();
        while let Some(record) = records.next().and_then(Result::ok).filter(|record| !is_lossy(record)) {
            relabelled.extend(self.record(record));
            done = records.byte_offset();
        }
        relabelled.extend(self.other(&String::from_utf8_lossy(&line[done..])).into_bytes());
        relabelled
    }

    fn record(&mut self, mut record: Record) -> Line {
        for key in record.keys() {
            let value = record.get(&key);
            record.set(&key, &self.value(value, &key, false));
        }
        record.to_line()
    }

    fn other(&mut self, text: &str) -> String {
        if text.trim_matches(['\0', ' ', '\r']).is_empty() || text == "null" {
            text.to_owned()
        } else if text.trim_start().starts_with(['{', '[', '"']) {
            self.literals(text)
        } else {
            NOISE.to_owned()
        }
    }

    fn value(&mut self, value: Json, key: &str, free: bool) -> Json {
        let free = free || FREE.contains(&key);
        match value {
            Json::String(text) => self.string(&text, key).into(),
            Json::Array(values) => values.into_iter().map(|value| self.value(value, key, free)).collect(),
            Json::Object(members) => self.members(members, free).into(),
            other => other,
        }
    }

    fn members(&mut self, members: Map<String, Json>, free: bool) -> Map<String, Json> {
        let renamed = |(key, value): (String, Json)| {
            let name = if free { self.string(&key, "") } else { key.clone() };
            (name, self.value(value, &key, free))
        };
        members.into_iter().map(renamed).collect()
    }

    /// Relabels the string literals of a line that is not JSON as a whole. The last literal may be cut.
    fn literals(&mut self, text: &str) -> String {
        let mut relabelled = String::new();
        let mut rest = text;
        while let Some((before, literal)) = rest.split_once('"') {
            let end = end_of_literal(literal);
            let (literal, behind) = literal.split_at(end.unwrap_or(literal.len()));
            let quoted = format!("\"{literal}\"");
            let said = serde_json::from_str(&quoted).unwrap_or_else(|_| literal.to_owned());
            let said = if KEYS.contains(&&*said) { said } else { self.string(&said, "") };
            let written = Json::from(said).to_string();
            relabelled.push_str(before);
            relabelled.push_str(if end.is_some() { &written } else { &written[..written.len() - 1] });
            rest = behind.strip_prefix('"').unwrap_or(behind);
        }
        relabelled + rest
    }

    fn string(&mut self, text: &str, key: &str) -> String {
        let ours = [SESSION, MODEL, PIXEL].contains(&text) || TEXTS.contains(&text) || WORDS.contains(&text);
        let is_padding = text.bytes().all(|byte| byte == b'x');
        if ours || is_padding || text.trim().is_empty() || self.kept.contains(text) {
            return text.to_owned();
        }
        if let Some(time) = self.times.get(text) {
            return time.clone();
        }
        let next = self.given.len() + 1;
        self.given.entry(text.to_owned()).or_insert_with(|| label(text, key, next)).clone()
    }
}

/// Returns the label of a string: of the same form, if the form matters to Claude Code.
fn label(text: &str, key: &str, number: usize) -> String {
    if is_uuid(text) {
        return format!("00000000-0000-4000-8000-{number:012}");
    }
    if key == "data" {
        return PIXEL.to_owned();
    }
    if let Some(prefix) =
        ["toolu_", "srvtoolu_", "msg_", "req_"].iter().find(|prefix| text.starts_with(**prefix))
    {
        return format!("{prefix}{number}");
    }
    let marker = MARKERS.iter().find(|marker| text.starts_with(&format!("<{marker}>")));
    match marker {
        Some(marker) => format!("<{marker}>M:{number}</{marker}>"),
        None => format!("M:{number}"),
    }
}

/// Returns whether a value cannot be parsed to be written again: a lone surrogate cannot.
fn is_lossy(record: &Record) -> bool {
    let line = String::from_utf8(record.to_line()).unwrap_or_default();
    serde_json::from_str::<Json>(&line).is_err()
}

/// Returns where a string literal ends, which begins behind its quotation mark.
fn end_of_literal(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.char_indices().all(|(at, char)| {
            matches!(at, 8 | 13 | 18 | 23) == (char == '-') && (char == '-' || char.is_ascii_hexdigit())
        })
}

/// Returns the times of a file with new ones in the same order, a second apart.
fn times_of(lines: &[Line]) -> BTreeMap<String, String> {
    let text: Vec<_> = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let literals = text.iter().flat_map(|text| text.split('"'));
    let times: BTreeSet<_> = literals.filter(|text| is_time(text)).collect();
    let label = |(number, time): (usize, &str)| {
        (time.to_owned(), format!("2026-11-01T10:{:02}:{:02}.000Z", number / 60, number % 60))
    };
    times.into_iter().enumerate().map(label).collect()
}

/// Returns whether a string is a time as Claude Code writes it; those sort by time.
fn is_time(text: &str) -> bool {
    const FORM: &str = "0000-00-00T00:00:00.000Z";
    let same = |(char, form): (char, char)| if form == '0' { char.is_ascii_digit() } else { char == form };
    text.len() == FORM.len() && text.chars().zip(FORM.chars()).all(same) && !WORDS.contains(&text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn relabelled(lines: &[&str]) -> String {
        let lines: Vec<Line> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        let lines = relabel(&lines, &BTreeSet::new());
        String::from_utf8(super::super::file::file_of(&lines)).unwrap()
    }

    #[test]
    fn no_text_of_the_source_remains() {
        let entry = json!({
            "type": "assistant", "uuid": "5e0c8f1e-1111-4222-8333-444455556666", "cwd": "/home/secret",
            "timestamp": "2025-03-04T05:06:07.890Z", "toolUseResult": {"secretKey": {"secret": ["secret"]}},
            "message": {"id": "msg_secret", "model": MODEL, "content": [
                {"type": "text", "text": "secret"},
                {"type": "tool_use", "id": "toolu_secret", "name": "mcp__secret", "input": {"secret": "secret", "command": "s"}},
                {"type": "image", "source": {"type": "base64", "data": "secret", "media_type": "image/secret"}},
            ]},
        });
        let line = entry.to_string();
        let surrogate = r#"{"type":"user","secret":"x","message":"secret \ud800 secret"}"#
            .replace("\"secret\":", "\"n\":");
        let glued = format!("{line}{line}");
        let lines = [
            &*line,
            &line[..line.len() - 9],
            &glued,
            &surrogate,
            "secret",
            "\"secret\"",
            "{\"n\":\"a \\\" secret",
        ];
        let relabelled = relabelled(&lines);
        assert!(!relabelled.contains("secret"), "{relabelled}");
        assert!(!relabelled.contains("5e0c8f1e") && !relabelled.contains("2025"), "{relabelled}");
    }

    #[test]
    fn equal_strings_get_equal_labels_of_the_same_form() {
        let relabelled = relabelled(&[
            r#"{"uuid":"5e0c8f1e-1111-4222-8333-444455556666","text":"Hello"}"#,
            r#"{"parentUuid":"5e0c8f1e-1111-4222-8333-444455556666","text":"Hello","more":"<bash-input>ls -l</bash-input>"}"#,
            r#"{"id":"toolu_01abc","sessionId":"aaaaaaaa-1111-4222-8333-bbbbbbbbbbbb"}"#,
        ]);
        let expected = "{\"uuid\":\"00000000-0000-4000-8000-000000000001\",\"text\":\"M:2\"}\n\
            {\"parentUuid\":\"00000000-0000-4000-8000-000000000001\",\"text\":\"M:2\",\"more\":\"<bash-input>M:3</bash-input>\"}\n\
            {\"id\":\"toolu_4\",\"sessionId\":\"aaaaaaaa-1111-4222-8333-bbbbbbbbbbbb\"}\n";
        assert_eq!(relabelled, expected);
    }

    #[test]
    fn times_keep_their_order() {
        let relabelled = relabelled(&[
            r#"{"timestamp":"2025-05-05T00:00:00.000Z"}"#,
            r#"{"timestamp":"2025-04-05T00:00:00.000Z"}"#,
            r#"{"timestamp":"2025-05-05T00:00:00.000Z"}"#,
            r#"{"timestamp":"2026"}"#,
        ]);
        let expected = "{\"timestamp\":\"2026-11-01T10:00:01.000Z\"}\n{\"timestamp\":\"2026-11-01T10:00:00.000Z\"}\n\
            {\"timestamp\":\"2026-11-01T10:00:01.000Z\"}\n{\"timestamp\":\"2026\"}\n";
        assert_eq!(relabelled, expected);
    }

    #[test]
    fn what_mutations_write_stays() {
        for line in
            [NOISE, "\0\0\0", "{}", "null", "[1,2]", "{\"type\":\"user\"}", "{\"text\":\"(no content)\"}"]
        {
            assert_eq!(relabelled(&[line]), format!("{line}\n"));
        }
    }

    #[test]
    fn texts_that_are_to_be_kept_are_kept() {
        let line = br#"{"one":"first words","two":"second words"}"#.to_vec();
        let lines = relabel(std::slice::from_ref(&line), &BTreeSet::from(["first words".to_owned()]));
        assert_eq!(lines, [br#"{"one":"first words","two":"M:1"}"#.to_vec()]);
        assert_eq!(texts_of(&[line]), ["first words", "second words"]);
    }
}
