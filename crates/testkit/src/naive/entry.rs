//! Entries and blocks, as the rules ask for them.

use jiff::Timestamp;
use serde_json::{Value, json};

/// An entry that Claude Code loads, or one that it makes up.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    /// Its place in line order.
    pub(super) order: usize,
    pub(super) value: Value,
}

impl Entry {
    pub(super) fn kind(&self) -> &str {
        text(&self.value["type"])
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.value[key] == true
    }

    pub(super) fn is_side(&self) -> bool {
        self.flag("isSidechain")
    }

    /// Returns whether it is a user or assistant entry.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.kind(), "user" | "assistant")
    }

    pub(super) fn is_attachment(&self) -> bool {
        self.kind() == "attachment"
    }

    pub(super) fn is_boundary(&self) -> bool {
        self.kind() == "system" && self.value["subtype"] == "compact_boundary"
    }

    /// Returns the time in milliseconds.
    pub(super) fn time(&self) -> Option<i64> {
        let time: Timestamp = self.value["timestamp"].as_str()?.parse().ok()?;
        Some(time.as_millisecond())
    }

    /// Returns the time in milliseconds; an entry without time is older than all others.
    pub(super) fn time_or_oldest(&self) -> i64 {
        self.time().unwrap_or(-1)
    }

    /// Returns the blocks of its message that Claude Code takes as blocks; a string is one text block.
    pub(super) fn content(&self) -> Vec<Value> {
        match &self.value["message"]["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text, "bare": true})],
            Value::Array(blocks) => blocks.iter().filter(|block| is_block(block)).cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns whether it is a message without content (1.2a). An empty array is content, and so is an empty string of the
    /// user.
    pub(super) fn is_contentless(&self) -> bool {
        let content = &self.value["message"]["content"];
        let is_empty_array = content.as_array().is_some_and(Vec::is_empty);
        let is_empty_reply = self.kind() == "assistant" && content == "";
        self.is_message() && (is_empty_reply || self.content().is_empty() && !is_empty_array)
    }

    /// Returns the id that all lines of a reply share.
    pub(super) fn reply(&self) -> Option<&str> {
        if self.kind() == "assistant" { self.value["message"]["id"].as_str() } else { None }
    }

    /// Returns whether two entries are lines of one reply, by its id.
    pub(super) fn is_of_reply(&self, other: &Entry) -> bool {
        self.reply().is_some() && self.reply() == other.reply()
    }

    /// Returns the ids of the calls that it makes.
    pub(super) fn calls(&self) -> Vec<String> {
        if self.kind() == "assistant" { calls_in(&self.content()) } else { Vec::new() }
    }

    /// Returns the ids of the calls that it answers.
    pub(super) fn results(&self) -> Vec<String> {
        let content = if self.kind() == "user" { self.content() } else { Vec::new() };
        let results = content.iter().filter(|block| is_result(block));
        results.map(|block| text(&block["tool_use_id"]).to_owned()).collect()
    }

    /// Returns whether it is a user entry that holds a result.
    pub(super) fn is_result(&self) -> bool {
        !self.results().is_empty()
    }

    /// Returns whether it is a result that Claude Code makes up.
    pub(super) fn is_made_result(&self) -> bool {
        self.content().iter().any(|block| is_result(block) && block["made"] == true)
    }

    /// Returns whether it is a user entry that starts a turn.
    pub(super) fn is_prompt(&self) -> bool {
        self.kind() == "user" && (self.flag("isMeta") || !self.is_result())
    }
}

/// Returns whether an entry is among others, by its id.
pub(super) fn holds(entries: &[&Entry], entry: &Entry) -> bool {
    entries.iter().any(|other| other.id == entry.id)
}

/// Returns whether a value is an object with a type, and with text if the type says so.
fn is_block(block: &Value) -> bool {
    block["type"].is_string() && (block["type"] != "text" || block["text"].is_string())
}

pub(super) fn is_text(block: &Value) -> bool {
    block["type"] == "text"
}

/// Returns whether a block is text of white space only. The words in which Claude Code wraps a prompt are not blank.
pub(super) fn is_blank(block: &Value) -> bool {
    is_text(block) && block["wrapped"] != true && text(&block["text"]).trim().is_empty()
}

pub(super) fn is_call(block: &Value) -> bool {
    block["type"] == "tool_use"
}

pub(super) fn is_result(block: &Value) -> bool {
    block["type"] == "tool_result"
}

pub(super) fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking"
}

/// Returns the ids of the calls among blocks.
pub(super) fn calls_in(blocks: &[Value]) -> Vec<String> {
    blocks.iter().filter(|block| is_call(block)).map(|block| text(&block["id"]).to_owned()).collect()
}

/// Returns the text of a value; an empty one if it is no string.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns an entry that Claude Code makes up around one block.
pub(super) fn made_entry(kind: &str, block: &Value) -> Entry {
    let value = json!({"type": kind, "message": {"content": [block]}});
    Entry { id: String::new(), parent: None, order: usize::MAX, value }
}

/// Returns a result block that Claude Code makes up.
pub(super) fn made_result(call: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": call, "made": true})
}

/// Returns a text block that Claude Code makes up.
pub(super) fn made_text(text: &str) -> Value {
    json!({"type": "text", "text": text, "made": true})
}
