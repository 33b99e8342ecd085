//! Drafts: entries as a caller gives them, before the recorder adds the fields that Claude Code writes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use crate::entry::view::Progress;
use crate::entry::{Flag, Kind};
use crate::json::{Value, quote};
use crate::session::NO_ENTRY;
use crate::{Entry, Problem};

/// An entry to be recorded: a JSON object with a `type` and any other fields that the caller knows.
///
/// The recorder adds the fields that Claude Code writes and the caller left out. It keeps all given fields byte for byte;
/// only line breaks between them are removed.
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
    /// Whether it is a `compact_boundary`, which has no parent.
    pub(super) boundary: bool,
    /// Whether it is a tool result that names the entry with its call.
    pub(super) answers: bool,
}

/// The parent of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parent {
    /// The last entry of the conversation.
    Last,
    /// None.
    Nothing,
    /// The entry with this id.
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
    /// A field has a value that Claude Code cannot read.
    #[error("`{field}` must be {expected}")]
    InvalidField {
        /// The field.
        field: &'static str,
        /// The values that are valid.
        expected: &'static str,
    },
    /// The parent that it names does not exist.
    #[error("there is no entry `{0}` that it could hang on")]
    NoParent(String),
    /// The parent that it names is not a message.
    #[error("nothing can hang on `{0}`: it is not a message")]
    NotAMessage(String),
    /// Another entry with other content has its id, and the recorder is strict.
    #[error("there is another entry with the uuid `{0}` and other content")]
    IdTaken(String),
    /// It is longer than a line may be.
    #[error("it has {length} bytes, more than the {limit} that a line may have")]
    TooLong {
        /// Its length.
        length: usize,
        /// The longest line that the recorder writes.
        limit: usize,
    },
    /// It belongs to a subagent, but the recorder writes to a session's own transcript.
    #[error("it is a subagent's entry (`isSidechain`): record it with the agent's id")]
    Sidechain,
}

impl Draft {
    /// Parses a draft and checks that Claude Code could read it.
    pub fn parse(bytes: &[u8]) -> Result<Self, DraftError> {
        std::str::from_utf8(bytes).map_err(|error| DraftError::NotAnObject(error.to_string()))?;
        serde_json::from_slice::<serde::de::IgnoredAny>(bytes).map_err(|error| not_json(&error))?;
        let json = on_one_line(bytes);
        let entry = Entry::new(&json);
        let body = entry.body().filter(|_| entry.problem() != Some(Problem::NotObject));
        let body = body.ok_or_else(|| DraftError::NotAnObject("it is a value of another kind".to_owned()))?;
        check(body, entry.kind())?;
        let parent = match body.get("parentUuid") {
            None => Parent::Last,
            Some(value) if value.is_null() => Parent::Nothing,
            Some(_) => owned_text(body, "parentUuid").map_or(Parent::Nothing, Parent::Entry),
        };
        // The parent of a tool result is the entry with the call.
        let answered = owned_text(body, "sourceToolAssistantUUID").filter(|_| entry.kind() == Kind::User);
        let answers = answered.is_some();
        let parent = match (parent, answered) {
            (Parent::Last, Some(call)) => Parent::Entry(call),
            (parent, _) => parent,
        };
        let boundary = entry.head().is_boundary();
        let (kind, id) = (entry.kind(), owned_text(body, "uuid"));
        Ok(Self { json, kind, id, parent, boundary, answers })
    }

    /// Returns the kind of entry.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the id, if the caller gave one.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Sets the parent.
    #[must_use]
    pub fn with_parent(mut self, parent: &str) -> Self {
        self.parent = Parent::Entry(parent.to_owned());
        self
    }

    pub(super) fn body(&self) -> Value<'_> {
        Value::trusted(&self.json)
    }

    /// Returns whether the caller gave a field.
    fn has(&self, key: &str) -> bool {
        self.body().get(key).is_some()
    }

    pub(super) fn length(&self) -> usize {
        self.json.len()
    }

    /// Returns whether it is progress that Claude Code shows only while a tool runs.
    pub(super) fn is_ephemeral_progress(&self) -> bool {
        self.kind == Kind::Progress
            && Entry::new(&self.json).view::<Progress>().is_some_and(|progress| progress.is_ephemeral())
    }

    /// Returns whether a recorded entry has all fields of the draft with the same values, apart from those that depend on
    /// where and when it was recorded.
    pub(super) fn has_same_content_as(&self, recorded: Value<'_>) -> bool {
        let (given, recorded) = (members(self.body()), members(recorded));
        given
            .iter()
            .filter(|(key, _)| !CONTEXT_FIELDS.contains(&&***key))
            .all(|(key, value)| recorded.get(key).is_some_and(|other| is_same(*value, *other, MAX_DEPTH)))
    }
}

/// Values nested deeper than this are the same only if their bytes are.
const MAX_DEPTH: usize = 128;

/// Returns whether two values are equal as JSON, however they are spelled.
fn is_same(one: Value<'_>, other: Value<'_>, depth: usize) -> bool {
    if one.bytes() == other.bytes() {
        return true;
    }
    if depth == 0 {
        return false;
    }
    if let (Some(one), Some(other)) = (one.as_str(), other.as_str()) {
        // Text that cannot be decoded is compared by its bytes, and those differ.
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
        // Larger numbers may be different and still round to the same float.
        (Some(one), Some(other)) => one.abs() < 9e15 && one.to_bits() == other.to_bits(),
        _ => false,
    }
}

/// Returns the members of an object by key. The last of several members with the same key counts.
fn members(object: Value<'_>) -> BTreeMap<Cow<'_, str>, Value<'_>> {
    object.members().map(|(key, value)| (key.decode(), value)).collect()
}

/// Fields that depend on where and when an entry is recorded, not on its content.
const CONTEXT_FIELDS: [&str; 14] = [
    "agentId",
    "agentName",
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
    "teamName",
];

/// Drafts of the entries that Claude Code records.
impl Draft {
    /// Returns a prompt.
    pub fn user(text: &str) -> Self {
        Self::build("user", &[("message", json!({"role": "user", "content": text}))])
    }

    /// Returns one block of a reply. All lines of a reply have the same reply id.
    pub fn assistant(reply: &str, block: &Json) -> Self {
        let message = json!({"id": reply, "type": "message", "role": "assistant", "content": [block]});
        Self::build("assistant", &[("message", message)])
    }

    /// Returns the title that the user gave the session.
    pub fn title(title: &str) -> Self {
        Self::build("custom-title", &[("customTitle", json!(title))])
    }

    /// Returns the user's tag; an empty tag removes the earlier one.
    pub fn tag(tag: &str) -> Self {
        Self::build("tag", &[("tag", json!(tag))])
    }

    /// Returns the input mode.
    pub fn mode(mode: &str) -> Self {
        Self::build("mode", &[("mode", json!(mode))])
    }

    /// Returns a record that a prompt entered or left the queue: `enqueue`, `dequeue`, `remove` or `popAll`.
    pub fn queue_operation(operation: &str, content: Option<&str>) -> Self {
        let content = content.map(|content| ("content", json!(content)));
        let fields: Vec<_> = [("operation", json!(operation))].into_iter().chain(content).collect();
        Self::build("queue-operation", &fields)
    }

    /// Returns the file backups from before a message. An update replaces the earlier snapshot of the same message.
    pub fn file_history(message: &str, backups: &Json, time: Timestamp, update: bool) -> Self {
        let time = format_time(time);
        let snapshot = json!({"messageId": message, "trackedFileBackups": backups, "timestamp": time});
        let fields =
            [("messageId", json!(message)), ("snapshot", snapshot), ("isSnapshotUpdate", json!(update))];
        Self::build("file-history-snapshot", &fields)
    }

    /// Returns a record of the lines that the session wrote, file by file.
    pub fn attribution(fields: &[(&str, Json)]) -> Self {
        Self::build("attribution-snapshot", fields)
    }

    /// Returns a record of tool results whose content was replaced in the model's context.
    pub fn content_replacement(replacements: &Json) -> Self {
        Self::build("content-replacement", &[("replacements", replacements.clone())])
    }

    /// Returns the last prompt and the leaf of the conversation.
    pub fn last_prompt(prompt: &str, leaf: &str) -> Self {
        Self::build("last-prompt", &[("lastPrompt", json!(prompt)), ("leafUuid", json!(leaf))])
    }

    /// Returns a `last-prompt` that cancels the earlier ones, as Claude Code writes it when a conversation continues from an
    /// older entry.
    pub(super) fn no_last_prompt() -> Self {
        Self::build("last-prompt", &[("leafUuid", json!(NO_ENTRY)), ("explicit", json!(true))])
    }

    /// Returns a link to a pull request of the session.
    pub fn pr_link(number: u64, url: &str, repository: &str) -> Self {
        let fields =
            [("prNumber", json!(number)), ("prUrl", json!(url)), ("prRepository", json!(repository))];
        Self::build("pr-link", &fields)
    }

    fn build(kind: &str, fields: &[(&str, Json)]) -> Self {
        let members: Vec<_> = [("type", json!(kind))].iter().chain(fields).map(member).collect();
        Self::parse(format!("{{{}}}", members.join(",")).as_bytes()).expect("drafts made here are sound")
    }
}

/// Returns a member as JSON. Members are joined by hand because `serde_json` would sort them by key.
fn member((key, value): &(&str, Json)) -> String {
    format!("{}:{value}", quote(key))
}

/// A compaction: a summary replaces everything before it except the messages that are kept.
#[derive(Clone, Debug, Default)]
pub struct Compaction {
    /// `manual` or `auto`.
    pub trigger: String,
    /// The number of tokens in the conversation before the compaction.
    pub tokens_before: Option<u64>,
    /// The text that replaces the conversation.
    pub summary: String,
    /// The ids of the messages that stay in the conversation after the summary, in order.
    pub kept: Vec<String>,
}

impl Compaction {
    /// Returns the boundary and the summary; `summary` is the id of the latter.
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
        vec![Draft::build("system", &boundary), Draft::build("user", &summary)]
    }
}

/// The fields that Claude Code writes into every message to say where it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// The working directory.
    pub cwd: String,
    /// The version of the recording program.
    pub version: String,
    /// How the program was started, such as `cli`.
    pub entrypoint: String,
    /// The git branch that is checked out; empty outside a repository.
    pub git_branch: String,
    /// The team that the session belongs to, if any.
    pub team_name: Option<String>,
    /// The name of the session, or of the agent, within its team.
    pub agent_name: Option<String>,
}

/// The values of the fields that the recorder adds to a draft.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecorderFields<'a> {
    pub(super) session: &'a str,
    pub(super) agent: Option<&'a str>,
    pub(super) envelope: &'a Envelope,
    pub(super) id: Option<&'a str>,
    pub(super) parent: Option<&'a str>,
    pub(super) logical_parent: Option<&'a str>,
    pub(super) time: Timestamp,
}

impl Draft {
    /// Writes the line for the draft to `out`: the caller's fields and the added ones.
    pub(super) fn render(&self, added: &RecorderFields<'_>, out: &mut Vec<u8>) {
        let mut line = LineWriter { out, empty: true };
        line.out.push(b'{');
        if self.kind.joins_chain() {
            self.write_links(added, &mut line);
            self.write_given_fields(added, &mut line);
            self.write_envelope(added, &mut line);
        } else {
            if let Some(name) = self.body().get("type") {
                // Claude Code searches the end of a file for records by their beginning, which is the type.
                line.raw_member(b"type", name.bytes());
            }
            self.write_given_fields(added, &mut line);
            self.write_record_fields(added, &mut line);
        }
        line.out.extend_from_slice(b"}\n");
    }

    /// Writes the fields that Claude Code writes first in entries of a chain.
    fn write_links(&self, added: &RecorderFields<'_>, line: &mut LineWriter<'_>) {
        line.member("parentUuid", &optional(added.parent));
        if self.boundary && !self.has("logicalParentUuid") {
            line.member("logicalParentUuid", &optional(added.logical_parent));
        }
        line.member("isSidechain", if added.agent.is_some() { "true" } else { "false" });
        if let Some(agent) = added.agent {
            line.member("agentId", &quote(agent));
        }
    }

    /// Writes the fields that the caller gave, without those that the recorder adds.
    fn write_given_fields(&self, added: &RecorderFields<'_>, line: &mut LineWriter<'_>) {
        let is_linked = self.kind.joins_chain();
        for (key, value) in self.body().members() {
            let is_added = match &*key.decode() {
                "type" => !is_linked,
                "parentUuid" | "isSidechain" => is_linked,
                "agentId" => (is_linked || self.names_agent()) && added.agent.is_some(),
                "sessionId" => true,
                _ => false,
            };
            if !is_added {
                line.raw_member(key.raw(), value.bytes());
            }
        }
    }

    /// Writes the fields of every entry of a chain that the caller did not give.
    fn write_envelope(&self, added: &RecorderFields<'_>, line: &mut LineWriter<'_>) {
        let (envelope, time) = (added.envelope, format_time(added.time));
        for (key, value) in [
            ("uuid", added.id.expect("entries of a chain are given an id")),
            ("timestamp", time.as_str()),
            ("userType", "external"),
            ("entrypoint", envelope.entrypoint.as_str()),
            ("cwd", envelope.cwd.as_str()),
            ("sessionId", added.session),
            ("version", envelope.version.as_str()),
            ("gitBranch", envelope.git_branch.as_str()),
        ] {
            if key == "sessionId" || !self.has(key) {
                line.member(key, &quote(value));
            }
        }
        for (key, value) in [("teamName", &envelope.team_name), ("agentName", &envelope.agent_name)] {
            if let Some(value) = value.as_deref().filter(|_| !self.has(key)) {
                line.member(key, &quote(value));
            }
        }
    }

    /// Writes the fields that some records have.
    fn write_record_fields(&self, added: &RecorderFields<'_>, line: &mut LineWriter<'_>) {
        if matches!(self.kind, Kind::QueueOperation | Kind::PrLink) && !self.has("timestamp") {
            line.member("timestamp", &quote(&format_time(added.time)));
        }
        if has_session_id(self.kind) || self.has("sessionId") {
            line.member("sessionId", &quote(added.session));
        }
        if let Some(agent) = added.agent.filter(|_| self.names_agent()) {
            line.member("agentId", &quote(agent));
        }
    }

    /// Returns whether it is a record that says by `agentId` whether it is the session's or an agent's.
    fn names_agent(&self) -> bool {
        self.kind == Kind::ContentReplacement
    }
}

/// Returns whether Claude Code writes the session's id into records of a kind.
fn has_session_id(kind: Kind) -> bool {
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

/// Formats a time as Claude Code does: UTC, with milliseconds.
pub(super) fn format_time(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Checks that the fields that Claude Code reads have values that it can read.
fn check(body: Value<'_>, kind: Kind) -> Result<(), DraftError> {
    match body.get("type").map(Value::as_text) {
        None => return Err(DraftError::MissingField("type")),
        Some(name) if name.as_ref().is_none_or(|name| name.is_empty()) => return invalid("type", "a name"),
        Some(_) => {}
    }
    if body.get("uuid").is_some_and(|id| id.as_text().is_none_or(|id| id.is_empty() || id == NO_ENTRY)) {
        return invalid("uuid", "the id of an entry");
    }
    if body.get("parentUuid").is_some_and(|id| !id.is_null() && id.as_str().is_none()) {
        return invalid("parentUuid", "the id of an entry, or null");
    }
    if kind.joins_chain() {
        if body
            .get("timestamp")
            .is_some_and(|time| !time.as_text().is_some_and(|time| is_claude_code_time(&time)))
        {
            return invalid("timestamp", "a time such as 2026-01-31T12:00:00.000Z");
        }
        if body.get("isSidechain").is_some_and(|flag| flag.as_bool().is_none()) {
            return invalid("isSidechain", "true or false");
        }
    }
    match kind {
        Kind::User | Kind::Assistant => check_message(body, kind),
        Kind::Attachment if !body.get("attachment").is_some_and(Value::is_object) => {
            invalid("attachment", "an object")
        }
        Kind::System if body.text("subtype").is_none() => invalid("subtype", "a name"),
        Kind::System if body.present("compactMetadata").is_some_and(|value| !value.is_object()) => {
            invalid("compactMetadata", "an object")
        }
        Kind::System if body.present("content").is_some_and(|value| value.as_str().is_none()) => {
            invalid("content", "text")
        }
        _ => check_record(body, kind),
    }
}

/// Checks the fields of records: Claude Code reads them without checking their types.
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
    match kind {
        Kind::FileHistorySnapshot if !body.get("snapshot").is_some_and(Value::is_object) => {
            invalid("snapshot", "an object")
        }
        Kind::LastPrompt if body.present("leafUuid").is_some_and(|leaf| leaf.as_str().is_none()) => {
            invalid("leafUuid", "the id of an entry")
        }
        Kind::LastPrompt if body.present("lastPrompt").is_some_and(|prompt| prompt.as_str().is_none()) => {
            invalid("lastPrompt", "text")
        }
        Kind::ContentReplacement if !body.get("replacements").is_some_and(Value::is_array) => {
            invalid("replacements", "a list")
        }
        _ => Ok(()),
    }
}

fn invalid(field: &'static str, expected: &'static str) -> Result<(), DraftError> {
    Err(DraftError::InvalidField { field, expected })
}

/// Returns whether a text is a time in a format that Claude Code, which is JavaScript, reads on every system.
fn is_claude_code_time(text: &str) -> bool {
    let Some((second, rest)) = text.split_at_checked(19) else { return false };
    let fraction =
        rest.strip_prefix('.').map_or(0, |rest| 1 + rest.bytes().take_while(u8::is_ascii_digit).count());
    let zone = &rest[fraction..];
    has_format(second, "0000-00-00T00:00:00")
        && fraction != 1
        && (zone == "Z" || has_format(zone, "+00:00") || has_format(zone, "-00:00"))
        && text.parse::<Timestamp>().is_ok()
}

/// Returns whether a text has a digit wherever `format` has a zero, and is the same everywhere else.
fn has_format(text: &str, format: &str) -> bool {
    text.len() == format.len()
        && text.bytes().zip(format.bytes()).all(|(byte, model)| match model {
            b'0' => byte.is_ascii_digit(),
            model => byte == model,
        })
}

fn check_message(body: Value<'_>, kind: Kind) -> Result<(), DraftError> {
    let Some(message) = body.get("message") else { return Err(DraftError::MissingField("message")) };
    if !message.is_object() {
        return invalid("message", "an object");
    }
    let expected = kind.name().expect("messages have a name");
    if message.get("role").is_some_and(|role| role.as_text().as_deref() != Some(expected)) {
        return invalid("message.role", if kind == Kind::User { "`user`" } else { "`assistant`" });
    }
    let Some(content) = message.get("content") else {
        return Err(DraftError::MissingField("message.content"));
    };
    if content.as_str().is_some() {
        return Ok(());
    }
    if !content.is_array() || content.items().next().is_none() {
        return invalid("message.content", "text, or a list of blocks");
    }
    content.items().try_for_each(check_block)
}

/// Returns whether a member is a string.
fn has_text(value: Value<'_>, key: &str) -> bool {
    value.get(key).is_some_and(|member| member.as_str().is_some())
}

/// Returns a member that is a string.
fn owned_text(value: Value<'_>, key: &str) -> Option<String> {
    value.text(key).map(Cow::into_owned)
}

/// Checks a content block: Claude Code relies on these fields.
fn check_block(block: Value<'_>) -> Result<(), DraftError> {
    match block.text("type").as_deref() {
        None => invalid("message.content", "text, or a list of blocks that each have a `type`"),
        Some("text") if !has_text(block, "text") => {
            invalid("message.content", "a list in which every `text` block has a `text`")
        }
        Some("thinking") if !has_text(block, "thinking") => {
            invalid("message.content", "a list in which every `thinking` block has a `thinking`")
        }
        Some("tool_use")
            if !has_text(block, "id")
                || !has_text(block, "name")
                || !block.get("input").is_some_and(Value::is_object) =>
        {
            invalid(
                "message.content",
                "a list in which every `tool_use` block has an `id`, a `name` and an `input`",
            )
        }
        Some("tool_result") if !has_text(block, "tool_use_id") => {
            invalid("message.content", "a list in which every `tool_result` block has a `tool_use_id`")
        }
        Some(_) => Ok(()),
    }
}

/// Returns the error for bytes that are not JSON, with the offset of the problem. Callers add the line number.
pub(super) fn not_json(error: &serde_json::Error) -> DraftError {
    let place = match (error.line(), error.column()) {
        (0 | 1, column) => format!("at byte {column}"),
        (line, column) => format!("at line {line}, byte {column}"),
    };
    let problem = if error.is_eof() { "it ends too early" } else { "syntax error" };
    DraftError::NotAnObject(format!("{problem} {place}"))
}

/// Returns JSON without line breaks. In valid JSON they occur only between tokens, where they have no meaning.
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
