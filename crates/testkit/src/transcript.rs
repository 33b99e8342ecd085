//! Builds transcripts for tests: a test states the fields that it is about, the builder adds the others as Claude Code writes
//! them.
//!
//! ```ignore
//! let lines = Transcript::session(ID)
//!     .user("u1", "What is here?")
//!     .assistant("a1", |reply| reply.text("Let me look.").tool("t1", "Bash", json!({"command": "ls"})))
//!     .result("u2", "t1", "tea.rs")
//!     .title("Tea timer")
//!     .to_string();
//! ```

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// A transcript in the making. Every method that adds an entry makes the last message its parent and gives it a time one
/// second later; [`after`](Self::after) and [`at`](Self::at) choose another parent and another time for the next message.
/// `Display` writes the lines.
#[derive(Clone, Debug)]
pub struct Transcript {
    session: String,
    cwd: String,
    version: String,
    parent: Option<String>,
    time: Timestamp,
    entries: Vec<Entry>,
}

/// The fields of one line, in the order in which they are written.
#[derive(Clone, Debug, Default)]
struct Entry(Vec<(String, Value)>);

/// The message of an assistant entry.
#[derive(Clone, Debug)]
pub struct Reply {
    id: String,
    blocks: Vec<Value>,
    usage: Option<Value>,
}

impl Transcript {
    /// Starts a session with this id on 1 March 2026, 10:00 UTC, in `/home/mia/tea`.
    pub fn session(id: &str) -> Self {
        Self {
            session: id.to_owned(),
            cwd: "/home/mia/tea".to_owned(),
            version: "2.1.325".to_owned(),
            parent: None,
            time: Timestamp::constant(1_772_359_200, 0),
            entries: Vec::new(),
        }
    }

    /// Sets the working directory of the messages that follow.
    #[must_use]
    pub fn cwd(self, cwd: &str) -> Self {
        Self { cwd: cwd.to_owned(), ..self }
    }

    /// Sets the version of Claude Code that writes the messages that follow.
    #[must_use]
    pub fn version(self, version: &str) -> Self {
        Self { version: version.to_owned(), ..self }
    }

    /// Sets the time of the next message.
    #[must_use]
    pub fn at(self, time: &str) -> Self {
        Self { time: time.parse().expect("a time as in RFC 3339"), ..self }
    }

    /// Sets the parent of the next message; `None` starts a new conversation.
    #[must_use]
    pub fn after<'a>(self, parent: impl Into<Option<&'a str>>) -> Self {
        Self { parent: parent.into().map(str::to_owned), ..self }
    }

    /// Adds a prompt: a text, or a list of blocks.
    #[must_use]
    pub fn user(self, uuid: &str, content: impl Into<Value>) -> Self {
        self.message("user", uuid, json!({"message": {"role": "user", "content": content.into()}}))
    }

    /// Adds a reply, or one line of a reply: lines with the same message id are one reply.
    #[must_use]
    pub fn assistant(self, uuid: &str, build: impl FnOnce(Reply) -> Reply) -> Self {
        let reply = build(Reply { id: format!("msg_{uuid}"), blocks: Vec::new(), usage: None });
        let mut message =
            json!({"id": reply.id, "role": "assistant", "model": "claude-opus-5-5", "content": reply.blocks});
        if let Some(usage) = reply.usage {
            message["usage"] = usage;
        }
        self.message("assistant", uuid, json!({ "message": message }))
    }

    /// Adds the result of a call.
    #[must_use]
    pub fn result(self, uuid: &str, call: &str, content: impl Into<Value>) -> Self {
        self.user(uuid, json!([tool_result(call, content.into(), false)]))
    }

    /// Adds the result of a call that failed.
    #[must_use]
    pub fn failure(self, uuid: &str, call: &str, content: impl Into<Value>) -> Self {
        self.user(uuid, json!([tool_result(call, content.into(), true)]))
    }

    /// Adds a message of any type, such as `attachment` or `system`, with these fields.
    #[must_use]
    pub fn message(mut self, kind: &str, uuid: &str, fields: Value) -> Self {
        let mut entry = Entry::default();
        entry.set("parentUuid", json!(self.parent));
        entry.set("isSidechain", json!(false));
        entry.set("type", json!(kind));
        entry.set_all(fields);
        entry.set("uuid", json!(uuid));
        entry.set("timestamp", json!(format!("{:.3}", self.time)));
        entry.set("cwd", json!(self.cwd));
        entry.set("sessionId", json!(self.session));
        entry.set("version", json!(self.version));
        entry.set("gitBranch", json!("main"));
        self.parent = Some(uuid.to_owned());
        self.time += SignedDuration::from_secs(1);
        self.entries.push(entry);
        self
    }

    /// Adds the title that a person gave to the session.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        self.record("custom-title", json!({ "customTitle": title }))
    }

    /// Adds a record: an entry that is not part of the conversation.
    #[must_use]
    pub fn record(mut self, kind: &str, fields: Value) -> Self {
        let mut entry = Entry::default();
        entry.set("type", json!(kind));
        entry.set_all(fields);
        entry.set("sessionId", json!(self.session));
        self.entries.push(entry);
        self
    }

    /// Sets a field of the last entry, whether it has the field or not.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.last().set(key, value.into());
        self
    }

    /// Removes a field from the last entry.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        self.last().0.retain(|(name, _)| name != key);
        self
    }

    fn last(&mut self) -> &mut Entry {
        self.entries.last_mut().expect("an entry was added before")
    }
}

impl Reply {
    /// Sets the message id, which all lines of a reply share.
    #[must_use]
    pub fn id(self, id: &str) -> Self {
        Self { id: id.to_owned(), ..self }
    }

    /// Sets the numbers of tokens.
    #[must_use]
    pub fn usage(self, usage: Value) -> Self {
        Self { usage: Some(usage), ..self }
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.block(json!({"type": "text", "text": text}))
    }

    /// Adds thinking.
    #[must_use]
    pub fn thinking(self, text: &str) -> Self {
        self.block(json!({"type": "thinking", "thinking": text, "signature": "x"}))
    }

    /// Adds a tool call.
    #[must_use]
    pub fn tool(self, id: &str, name: &str, input: Value) -> Self {
        let mut call = json!({"type": "tool_use", "id": id, "name": name});
        call["input"] = input;
        self.block(call)
    }

    /// Adds a block of any kind.
    #[must_use]
    pub fn block(mut self, block: Value) -> Self {
        self.blocks.push(block);
        self
    }
}

fn tool_result(call: &str, content: Value, is_error: bool) -> Value {
    let mut result = json!({"type": "tool_result", "tool_use_id": call, "is_error": is_error});
    result["content"] = content;
    result
}

impl Entry {
    fn set(&mut self, key: &str, value: Value) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    fn set_all(&mut self, fields: Value) {
        let Value::Object(fields) = fields else { panic!("fields are an object: {fields}") };
        for (key, value) in fields {
            self.set(&key, value);
        }
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (key, value)) in self.0.iter().enumerate() {
            let separator = if number == 0 { '{' } else { ',' };
            write!(f, "{separator}{}:{value}", Value::from(key.as_str()))?;
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(transcript: &Transcript) -> Vec<Value> {
        transcript.to_string().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_message_has_the_fields_and_the_order_of_claude_code() {
        assert_eq!(
            Transcript::session("s").user("u1", "天气 \"?\"").to_string(),
            r#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"content":"天气 \"?\"","role":"user"},"uuid":"u1","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/mia/tea","sessionId":"s","version":"2.1.325","gitBranch":"main"}"#
                .to_owned()
                + "\n"
        );
    }

    #[test]
    fn each_message_follows_the_last_one_and_records_are_no_parents() {
        let transcript = Transcript::session("s")
            .user("u1", "Look")
            .title("Tea")
            .assistant("a1", |reply| reply.id("m").text("Now").tool("t1", "Bash", json!({"command": "ls"})))
            .result("u2", "t1", "tea.rs")
            .after("u1")
            .at("2026-03-02T00:00:00Z")
            .user("u3", "Instead")
            .after(None)
            .failure("u4", "t1", "no");
        let lines = parsed(&transcript);
        let parents: Vec<_> = lines.iter().map(|line| (&line["uuid"], &line["parentUuid"])).collect();
        let null = Value::Null;
        assert_eq!(
            parents,
            [
                (&json!("u1"), &null),
                (&null, &null),
                (&json!("a1"), &json!("u1")),
                (&json!("u2"), &json!("a1")),
                (&json!("u3"), &json!("u1")),
                (&json!("u4"), &null),
            ]
        );
        assert_eq!(lines[2]["message"]["content"][1]["input"]["command"], "ls");
        assert_eq!(lines[3]["message"]["content"][0]["is_error"], false);
        assert_eq!(lines[5]["message"]["content"][0]["is_error"], true);
        assert_eq!(lines[5]["timestamp"], "2026-03-02T00:00:01.000Z");
        assert_eq!(lines[1], json!({"type": "custom-title", "customTitle": "Tea", "sessionId": "s"}));
    }

    #[test]
    fn single_fields_can_be_set_and_removed() {
        let transcript = Transcript::session("s")
            .cwd("/p")
            .version("2.0.0")
            .message("attachment", "f", json!({"attachment": {"type": "file"}}))
            .with("isSidechain", true)
            .with("agentId", "a1")
            .without("gitBranch");
        let line = &parsed(&transcript)[0];
        assert_eq!((&line["isSidechain"], &line["agentId"]), (&json!(true), &json!("a1")));
        assert_eq!(
            (&line["cwd"], &line["version"], line.get("gitBranch")),
            (&json!("/p"), &json!("2.0.0"), None)
        );
        assert_eq!(line["attachment"], json!({"type": "file"}));
    }
}
