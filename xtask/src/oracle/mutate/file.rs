//! A transcript as lines that can be changed one member at a time.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;
use serde_json::value::{RawValue, to_raw_value};

/// The session id that every case has, and every case of the oracle in `corpus/`.
pub(crate) const SESSION: &str = "aaaaaaaa-1111-4222-8333-bbbbbbbbbbbb";

/// The bytes of a line, without the line break.
pub(crate) type Line = Vec<u8>;

/// The top-level members of a JSON object. Order and spelling stay as they are: Claude Code searches the bytes of large
/// files before it parses them.
#[derive(Debug)]
pub(crate) struct Record(Vec<(String, Box<RawValue>)>);

impl Record {
    /// Parses a line; `None` if it is not a JSON object.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Builds a record from members in this order.
    pub(crate) fn new(members: impl IntoIterator<Item = (&'static str, Json)>) -> Self {
        let mut record = Self(Vec::new());
        for (key, value) in members {
            record.set(key, &value);
        }
        record
    }

    /// Returns a member's value; null if it is missing or cannot be represented.
    pub(crate) fn get(&self, key: &str) -> Json {
        let member = self.0.iter().rev().find(|(name, _)| name == key);
        member.and_then(|(_, raw)| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    /// Returns a member that is a string.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.get(key).as_str().map(str::to_owned)
    }

    /// Sets a member where it stands, or adds it at the end.
    pub(crate) fn set(&mut self, key: &str, value: &Json) {
        let raw = to_raw_value(value).expect("a JSON value can be written");
        match self.0.iter_mut().rev().find(|(name, _)| name == key) {
            Some((_, old)) => *old = raw,
            None => self.0.push((key.to_owned(), raw)),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name != key);
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.0.iter().map(|(key, _)| key.clone()).collect()
    }

    /// Returns whether the entry may be a link of the chain.
    pub(crate) fn is_chained(&self) -> bool {
        matches!(self.text("type").as_deref(), Some("user" | "assistant" | "system" | "attachment"))
    }

    /// Returns whether the entry is a user's or an assistant's message.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self.text("type").as_deref(), Some("user" | "assistant")) && self.get("message").is_object()
    }

    pub(crate) fn to_line(&self) -> Line {
        let member =
            |(key, raw): &(String, Box<RawValue>)| format!("{}:{}", Json::from(key.as_str()), raw.get());
        let members: Vec<_> = self.0.iter().map(member).collect();
        format!("{{{}}}", members.join(",")).into_bytes()
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Record(members))
    }
}

/// Splits a file into the lines that are not empty.
pub(crate) fn lines_of(bytes: &[u8]) -> Vec<Line> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// Joins lines to a file.
pub(crate) fn file_of(lines: &[Line]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_order_and_spelling() {
        let line = br#"{"b":1.50,"a":"\ud800","c":{"z":1,"y":2}}"#;
        let mut record = Record::parse(line).unwrap();
        assert_eq!(record.to_line(), line);
        record.set("b", &Json::from(2));
        record.remove("c");
        record.set("d", &Json::Null);
        assert_eq!(record.to_line(), br#"{"b":2,"a":"\ud800","d":null}"#);
    }

    #[test]
    fn only_objects_are_records() {
        for line in ["", "[1]", "null", "{\"a\":1", "{\"a\":1}{\"b\":2}"] {
            assert!(Record::parse(line.as_bytes()).is_none(), "{line}");
        }
    }
}
