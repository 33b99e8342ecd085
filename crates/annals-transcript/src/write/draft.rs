//! Drafts: entries as a caller gives them, before the recorder fills in what the client would write.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use crate::entry::{Flag, Kind};
use crate::json::{Value, quote};
use crate::session::NO_ENTRY;
use crate::{Entry, Problem};

/// An entry to be recorded: a JSON object with a `type`, and what else the caller knows.
///
/// Fields that the client writes and the caller leaves out are filled in when the draft is recorded; all others are
/// kept as given, byte for byte but for line breaks between them.
///
/// ```
/// use annals_transcript::write::Draft;
///
/// let draft = Draft::parse(br#"{"type":"user","message":{"role":"user","content":"Hello"},"myField":1.50}"#)?;
/// assert!(Draft::parse(br#"{"type":"user","message":"Hello"}"#).is_err());
/// # Ok::<(), annals_transcript::write::DraftError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Draft {
    /// The object, on one line.
    json: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) id: Option<String>,
    pub(super) parent: Parent,
    /// Whether it is a `compact_boundary`, which begins a chain of its own.
    pub(super) boundary: bool,
    /// Whether it names the call that it answers.
    pub(super) answers: bool,
}

/// What an entry hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parent {
    /// The last entry of the conversation.
    Last,
    /// Nothing.
    Nothing,
    /// This entry.
    Entry(String),
}

/// Why a draft is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DraftError {
    /// The bytes are not one JSON object.
    #[error("not a JSON object: {0}")]
    NotAnObject(String),
    /// A field is missing.
    #[error("`{0}` is missing")]
    MissingField(&'static str),
    /// A field is not what it has to be.
    #[error("`{field}` must be {expected}")]
    InvalidField {
        /// The field.
        field: &'static str,
        /// What it has to be.
        expected: &'static str,
    },
    /// It names a parent that is nowhere.
    #[error("there is no entry `{0}` that it could hang on")]
    NoParent(String),
    /// It names a parent that nothing hangs on.
    #[error("nothing can hang on `{0}`: it is not a message")]
    NotAMessage(String),
    /// Its id is taken by an entry that says something else.
    #[error("there is another entry with the uuid `{0}` and other content")]
    IdTaken(String),
    /// It is longer than a line may be.
    #[error("it has {length} bytes, more than the {limit} that a line may have")]
    TooLong {
        /// Its length.
        length: usize,
        /// The most that is written.
        limit: usize,
    },
    /// It is a subagent's, and the recorder is not.
    #[error("it is a subagent's entry (`isSidechain`): record it with the agent's id")]
    Sidechain,
}

impl Draft {
    /// Reads a draft and checks that the client could read it back.
    pub fn parse(bytes: &[u8]) -> Result<Self, DraftError> {
        std::str::from_utf8(bytes).map_err(|error| DraftError::NotAnObject(error.to_string()))?;
        serde_json::from_slice::<serde::de::IgnoredAny>(bytes).map_err(|error| not_json(&error))?;
        let json = on_one_line(bytes);
        let entry = Entry::new(&json);
        let body = entry.body().filter(|_| entry.problem() != Some(Problem::NotObject));
        let body = body.ok_or_else(|| DraftError::NotAnObject("it is a value of another kind".to_owned()))?;
        check(body, entry.kind())?;
        let text = |key| body.present(key).and_then(Value::as_text).map(String::from);
        let parent = match body.get("parentUuid") {
            None => Parent::Last,
            Some(value) if value.is_null() => Parent::Nothing,
            Some(_) => text("parentUuid").map_or(Parent::Nothing, Parent::Entry),
        };
        // A result hangs on the call that it answers.
        let answered = text("sourceToolAssistantUUID").filter(|_| entry.kind() == Kind::User);
        let answers = answered.is_some();
        let parent = match (parent, answered) {
            (Parent::Last, Some(call)) => Parent::Entry(call),
            (parent, _) => parent,
        };
        let boundary =
            entry.kind() == Kind::System && body.text("subtype").as_deref() == Some("compact_boundary");
        let (kind, id) = (entry.kind(), text("uuid"));
        Ok(Self { json, kind, id, parent, boundary, answers })
    }

    /// Returns what it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns its id, if the caller gave one.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the draft with an entry to hang on.
    #[must_use]
    pub fn with_parent(mut self, parent: &str) -> Self {
        self.parent = Parent::Entry(parent.to_owned());
        self
    }

    pub(super) fn body(&self) -> Value<'_> {
        Value::trusted(&self.json)
    }

    pub(super) fn length(&self) -> usize {
        self.json.len()
    }

    /// Returns whether an entry on disk says the same, but for what depends on where and when it is recorded.
    pub(super) fn says_the_same_as(&self, recorded: Value<'_>) -> bool {
        let (said, there) = (members(self.body()), members(recorded));
        said.iter()
            .filter(|(key, _)| !PLACE_AND_TIME.contains(&&***key))
            .all(|(key, value)| there.get(key).is_some_and(|there| is_same(*value, *there, DEEPEST)))
    }
}

/// How deep two values are compared; what lies deeper has to be the same byte for byte.
const DEEPEST: usize = 128;

/// Returns whether two values mean the same, whatever their spelling.
fn is_same(one: Value<'_>, other: Value<'_>, depth: usize) -> bool {
    if one.bytes() == other.bytes() {
        return true;
    }
    if depth == 0 {
        return false;
    }
    if let (Some(one), Some(other)) = (one.as_str(), other.as_str()) {
        // What cannot be decoded cannot be compared but by its bytes, which differ.
        let text = one.decode();
        return !text.contains(char::REPLACEMENT_CHARACTER) && text == other.decode();
    }
    if one.is_array() && other.is_array() {
        return one.items().count() == other.items().count()
            && one.items().zip(other.items()).all(|(one, other)| is_same(one, other, depth - 1));
    }
    if one.is_object() && other.is_object() {
        let (one, other) = (members(one), members(other));
        return one.len() == other.len()
            && one
                .iter()
                .all(|(key, value)| other.get(key).is_some_and(|there| is_same(*value, *there, depth - 1)));
    }
    match (one.as_f64(), other.as_f64()) {
        // Beyond what a float tells apart, digits count.
        (Some(one), Some(other)) => one.abs() < 9e15 && one.to_bits() == other.to_bits(),
        _ => false,
    }
}

/// Returns the members of an object by their keys; of several, the last.
fn members(object: Value<'_>) -> BTreeMap<Cow<'_, str>, Value<'_>> {
    object.members().map(|(key, value)| (key.decode(), value)).collect()
}

/// Fields that say where and when an entry stands, not what it says.
const PLACE_AND_TIME: [&str; 12] = [
    "agentId",
    "parentUuid",
    "logicalParentUuid",
    "isSidechain",
    "timestamp",
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "session_id",
    "version",
    "gitBranch",
];

/// Drafts of what the client records.
impl Draft {
    /// A prompt.
    pub fn user(text: &str) -> Self {
        Self::made("user", &[("message", json!({"role": "user", "content": text}))])
    }

    /// One part of a reply: lines of the same reply share its id.
    pub fn assistant(reply: &str, block: &Json) -> Self {
        let message = json!({"id": reply, "type": "message", "role": "assistant", "content": [block]});
        Self::made("assistant", &[("message", message)])
    }

    /// The title that the user gave the session.
    pub fn title(title: &str) -> Self {
        Self::made("custom-title", &[("customTitle", json!(title))])
    }

    /// The user's tag; an empty one takes it away.
    pub fn tag(tag: &str) -> Self {
        Self::made("tag", &[("tag", json!(tag))])
    }

    /// The input mode.
    pub fn mode(mode: &str) -> Self {
        Self::made("mode", &[("mode", json!(mode))])
    }

    /// A prompt entering or leaving the queue: `enqueue`, `dequeue`, `remove`, `popAll`.
    pub fn queue_operation(operation: &str, content: Option<&str>) -> Self {
        let content = content.map(|content| ("content", json!(content)));
        let fields: Vec<_> = [("operation", json!(operation))].into_iter().chain(content).collect();
        Self::made("queue-operation", &fields)
    }

    /// Which file backups stand for the state before a message; an update replaces an earlier one of that message.
    pub fn file_history(message: &str, backups: &Json, time: Timestamp, update: bool) -> Self {
        let time = spell_time(time);
        let snapshot = json!({"messageId": message, "trackedFileBackups": backups, "timestamp": time});
        let fields =
            [("messageId", json!(message)), ("snapshot", snapshot), ("isSnapshotUpdate", json!(update))];
        Self::made("file-history-snapshot", &fields)
    }

    /// Which lines of which files the session wrote.
    pub fn attribution(fields: &[(&str, Json)]) -> Self {
        Self::made("attribution-snapshot", fields)
    }

    /// Tool results whose content was replaced in the model's context.
    pub fn content_replacement(replacements: &Json) -> Self {
        Self::made("content-replacement", &[("replacements", replacements.clone())])
    }

    /// The newest prompt, and the entry that the conversation ends with.
    pub fn last_prompt(prompt: &str, leaf: &str) -> Self {
        Self::made("last-prompt", &[("lastPrompt", json!(prompt)), ("leafUuid", json!(leaf))])
    }

    /// Says that no earlier `last-prompt` counts, as the client does when a conversation goes on from an older entry.
    pub(super) fn no_last_prompt() -> Self {
        Self::made("last-prompt", &[("leafUuid", json!(NO_ENTRY)), ("explicit", json!(true))])
    }

    /// A pull request that belongs to the session.
    pub fn pr_link(number: u64, url: &str, repository: &str) -> Self {
        let fields =
            [("prNumber", json!(number)), ("prUrl", json!(url)), ("prRepository", json!(repository))];
        Self::made("pr-link", &fields)
    }

    fn made(kind: &str, fields: &[(&str, Json)]) -> Self {
        let members: Vec<_> = [("type", json!(kind))].iter().chain(fields).map(member).collect();
        Self::parse(format!("{{{}}}", members.join(",")).as_bytes()).expect("drafts made here are sound")
    }
}

/// Spells a member; in an object made by `serde_json` the order would be that of the alphabet.
fn member((key, value): &(&str, Json)) -> String {
    format!("{}:{value}", quote(key))
}

/// A compaction: what came before is replaced by a summary, but for the messages that are kept.
#[derive(Clone, Debug, Default)]
pub struct Compaction {
    /// `manual` or `auto`.
    pub trigger: String,
    /// The size of the conversation before.
    pub tokens_before: Option<u64>,
    /// What stands for the conversation.
    pub summary: String,
    /// The messages that stay in the conversation behind the summary, in order.
    pub kept: Vec<String>,
}

impl Compaction {
    /// Returns the boundary and the summary, of which the second is to have the id given.
    pub(super) fn drafts(&self, summary: &str) -> Vec<Draft> {
        let mut metadata = json!({"trigger": self.trigger});
        if let Some(tokens) = self.tokens_before {
            metadata["preTokens"] = tokens.into();
        }
        if let (Some(head), Some(tail)) = (self.kept.first(), self.kept.last()) {
            metadata["preservedSegment"] = json!({"headUuid": head, "anchorUuid": summary, "tailUuid": tail});
            metadata["preservedMessages"] =
                json!({"anchorUuid": summary, "uuids": self.kept, "allUuids": self.kept});
        }
        let boundary = [
            ("subtype", json!("compact_boundary")),
            ("content", json!("Conversation compacted")),
            ("isMeta", json!(false)),
            ("level", json!("info")),
            ("compactMetadata", metadata),
        ];
        let summary = [
            ("message", json!({"role": "user", "content": self.summary})),
            ("uuid", json!(summary)),
            ("isVisibleInTranscriptOnly", json!(true)),
            ("isCompactSummary", json!(true)),
        ];
        vec![Draft::made("system", &boundary), Draft::made("user", &summary)]
    }
}

/// What the client writes into every message: where and by whom it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The working directory.
    pub cwd: String,
    /// The version of the program that records.
    pub version: String,
    /// How the program was started, such as `cli`.
    pub entrypoint: String,
    /// The branch that is checked out; empty outside a repository.
    pub git_branch: String,
}

/// Where an entry is to stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) session: &'a str,
    pub(super) agent: Option<&'a str>,
    pub(super) envelope: &'a Envelope,
    pub(super) id: Option<&'a str>,
    pub(super) parent: Option<&'a str>,
    pub(super) logical_parent: Option<&'a str>,
    pub(super) time: Timestamp,
}

impl Draft {
    /// Adds the line that is recorded for the draft: the caller's fields, and those of the client that are missing.
    pub(super) fn render(&self, place: &Place<'_>, out: &mut Vec<u8>) {
        let mut line = LineWriter { out, empty: true };
        line.out.push(b'{');
        let has = |key: &str| self.body().get(key).is_some();
        let linked = self.kind.joins_chain();
        if linked {
            line.member("parentUuid", &optional(place.parent));
            if self.boundary && !has("logicalParentUuid") {
                line.member("logicalParentUuid", &optional(place.logical_parent));
            }
            line.member("isSidechain", if place.agent.is_some() { "true" } else { "false" });
            if let Some(agent) = place.agent {
                line.member("agentId", &quote(agent));
            }
        }
        if !linked && let Some(name) = self.body().get("type") {
            // Those who look for records at the end of a file expect their type first.
            line.raw_member(b"type", name.bytes());
        }
        for (key, value) in self.body().members() {
            let decided = match &*key.decode() {
                "type" => !linked,
                "parentUuid" | "isSidechain" => linked,
                "agentId" => linked && place.agent.is_some(),
                "sessionId" => true,
                _ => false,
            };
            if !decided {
                line.raw_member(key.raw(), value.bytes());
            }
        }
        let time = quote(&spell_time(place.time));
        if linked {
            let id = place.id.map(quote).expect("entries of a chain are given an id");
            let envelope = place.envelope;
            for (key, value) in [
                ("uuid", id),
                ("timestamp", time),
                ("userType", quote("external")),
                ("entrypoint", quote(&envelope.entrypoint)),
                ("cwd", quote(&envelope.cwd)),
                ("sessionId", quote(place.session)),
                ("version", quote(&envelope.version)),
                ("gitBranch", quote(&envelope.git_branch)),
            ] {
                if key == "sessionId" || !has(key) {
                    line.member(key, &value);
                }
            }
        } else {
            if matches!(self.kind, Kind::QueueOperation | Kind::PrLink) && !has("timestamp") {
                line.member("timestamp", &time);
            }
            if names_its_session(self.kind) || has("sessionId") {
                line.member("sessionId", &quote(place.session));
            }
        }
        line.out.extend_from_slice(b"}\n");
    }
}

/// Returns whether a record says which session it belongs to.
fn names_its_session(kind: Kind) -> bool {
    !matches!(kind, Kind::FileHistorySnapshot | Kind::FileHistoryDelta | Kind::Summary | Kind::ForkContextRef)
}

struct LineWriter<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl LineWriter<'_> {
    fn member(&mut self, key: &str, value: &str) {
        self.raw_member(key.as_bytes(), value.as_bytes());
    }

    fn raw_member(&mut self, key: &[u8], value: &[u8]) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
        for part in [b"\"", key, b"\":", value] {
            self.out.extend_from_slice(part);
        }
    }
}

fn optional(id: Option<&str>) -> String {
    id.map_or_else(|| "null".to_owned(), quote)
}

/// Spells a time as the client does: UTC, with milliseconds.
pub(super) fn spell_time(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Checks that fields that the client reads are what it expects.
fn check(body: Value<'_>, kind: Kind) -> Result<(), DraftError> {
    let wrong = |field, expected| Err(DraftError::InvalidField { field, expected });
    match body.get("type").map(Value::as_text) {
        None => return Err(DraftError::MissingField("type")),
        Some(name) if name.as_ref().is_none_or(|name| name.is_empty()) => return wrong("type", "a name"),
        Some(_) => {}
    }
    if body.get("uuid").is_some_and(|id| id.as_text().is_none_or(|id| id.is_empty() || id == NO_ENTRY)) {
        return wrong("uuid", "the id of an entry");
    }
    if body.get("parentUuid").is_some_and(|id| !id.is_null() && id.as_str().is_none()) {
        return wrong("parentUuid", "the id of an entry, or null");
    }
    if kind.joins_chain() {
        if body
            .get("timestamp")
            .is_some_and(|time| !time.as_text().is_some_and(|time| is_clients_time(&time)))
        {
            return wrong("timestamp", "a time such as 2026-01-31T12:00:00.000Z");
        }
        if body.get("isSidechain").is_some_and(|flag| flag.as_bool().is_none()) {
            return wrong("isSidechain", "true or false");
        }
    }
    match kind {
        Kind::User | Kind::Assistant => check_message(body, kind),
        Kind::Attachment if !body.get("attachment").is_some_and(Value::is_object) => {
            wrong("attachment", "an object")
        }
        Kind::System if body.text("subtype").is_none() => wrong("subtype", "a name"),
        Kind::System if body.present("compactMetadata").is_some_and(|value| !value.is_object()) => {
            wrong("compactMetadata", "an object")
        }
        Kind::System if body.present("content").is_some_and(|value| value.as_str().is_none()) => {
            wrong("content", "text")
        }
        _ => check_record(body, kind),
    }
}

/// Checks the fields of records that the client reads without looking.
fn check_record(body: Value<'_>, kind: Kind) -> Result<(), DraftError> {
    let texts: &[&'static str] = match kind {
        Kind::CustomTitle => &["customTitle"],
        Kind::AiTitle => &["aiTitle"],
        Kind::AgentName => &["agentName"],
        Kind::AgentColor => &["agentColor"],
        Kind::AgentSetting => &["agentSetting"],
        Kind::Tag => &["tag"],
        Kind::Mode => &["mode"],
        Kind::PermissionMode => &["permissionMode"],
        Kind::QueueOperation => &["operation"],
        Kind::Summary => &["summary", "leafUuid"],
        Kind::FileHistorySnapshot => &["messageId"],
        Kind::PrLink => &["prUrl"],
        _ => &[],
    };
    for &field in texts {
        match body.get(field) {
            None => return Err(DraftError::MissingField(field)),
            Some(value) if value.as_str().is_none() => {
                return Err(DraftError::InvalidField { field, expected: "text" });
            }
            Some(_) => {}
        }
    }
    let wrong = |field, expected| Err(DraftError::InvalidField { field, expected });
    match kind {
        Kind::FileHistorySnapshot if !body.get("snapshot").is_some_and(Value::is_object) => {
            wrong("snapshot", "an object")
        }
        Kind::LastPrompt if body.present("leafUuid").is_some_and(|leaf| leaf.as_str().is_none()) => {
            wrong("leafUuid", "the id of an entry")
        }
        Kind::LastPrompt if body.present("lastPrompt").is_some_and(|prompt| prompt.as_str().is_none()) => {
            wrong("lastPrompt", "text")
        }
        Kind::ContentReplacement if !body.get("replacements").is_some_and(Value::is_array) => {
            wrong("replacements", "a list")
        }
        _ => Ok(()),
    }
}

/// Returns whether a time is spelled so that the client, which is JavaScript, reads it.
fn is_clients_time(text: &str) -> bool {
    let is_like = |text: &str, shape: &str| {
        let same =
            |(byte, shape): (u8, u8)| if shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
        text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(same)
    };
    let Some((second, rest)) = text.split_at_checked(19) else { return false };
    let fraction =
        rest.strip_prefix('.').map_or(0, |rest| 1 + rest.bytes().take_while(u8::is_ascii_digit).count());
    let zone = &rest[fraction..];
    is_like(second, "0000-00-00T00:00:00")
        && fraction != 1
        && (zone == "Z" || is_like(zone, "+00:00") || is_like(zone, "-00:00"))
        && text.parse::<Timestamp>().is_ok()
}

fn check_message(body: Value<'_>, kind: Kind) -> Result<(), DraftError> {
    let wrong = |field, expected| Err(DraftError::InvalidField { field, expected });
    let Some(message) = body.get("message") else { return Err(DraftError::MissingField("message")) };
    if !message.is_object() {
        return wrong("message", "an object");
    }
    let expected = kind.name().expect("messages have a name");
    if message.get("role").is_some_and(|role| role.as_text().as_deref() != Some(expected)) {
        return wrong("message.role", if kind == Kind::User { "`user`" } else { "`assistant`" });
    }
    let Some(content) = message.get("content") else { return Err(DraftError::MissingField("message.content")) };
    if content.as_str().is_some() {
        return Ok(());
    }
    if !content.is_array() || content.items().next().is_none() {
        return wrong("message.content", "text, or a list of blocks");
    }
    content.items().try_for_each(check_block)
}

/// Checks what a request could not go without.
fn check_block(block: Value<'_>) -> Result<(), DraftError> {
    let wrong = |expected| Err(DraftError::InvalidField { field: "message.content", expected });
    let is_text = |key| block.get(key).is_some_and(|value| value.as_str().is_some());
    match block.text("type").as_deref() {
        None => wrong("text, or a list of blocks that each have a `type`"),
        Some("text") if !is_text("text") => wrong("a list in which every `text` block has a `text`"),
        Some("thinking") if !is_text("thinking") => {
            wrong("a list in which every `thinking` block has a `thinking`")
        }
        Some("tool_use")
            if !is_text("id") || !is_text("name") || !block.get("input").is_some_and(Value::is_object) =>
        {
            wrong("a list in which every `tool_use` block has an `id`, a `name` and an `input`")
        }
        Some("tool_result") if !is_text("tool_use_id") => {
            wrong("a list in which every `tool_result` block has a `tool_use_id`")
        }
        Some(_) => Ok(()),
    }
}

/// Says why bytes are not JSON, and where: callers know the line, if it is one.
pub(super) fn not_json(error: &serde_json::Error) -> DraftError {
    let (text, column) = (error.to_string(), error.column());
    let place = format!(" at line 1 column {column}");
    DraftError::NotAnObject(match text.strip_suffix(&place) {
        Some(problem) => format!("{problem}, at byte {column}"),
        None => text,
    })
}

/// Returns the JSON without line breaks, which can stand between its tokens only.
pub(super) fn on_one_line(json: &[u8]) -> Vec<u8> {
    let json = json.trim_ascii();
    if memchr::memchr2(b'\n', b'\r', json).is_none() {
        return json.to_vec();
    }
    json.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect()
}

/// Returns whether a draft says that it is a subagent's.
pub(super) fn is_sidechain(draft: &Draft) -> bool {
    Entry::new(&draft.json).has(Flag::Sidechain)
}
