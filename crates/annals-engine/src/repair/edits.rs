//! Lines to append: copies of entries with changes, and new entries.

use std::collections::{HashMap, HashSet};

use annals_transcript::json::{Value, quote};
use annals_transcript::patch;
use jiff::Timestamp;

/// What is changed, and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// What is done.
    pub kind: ChangeKind,
    /// The uuid of the entry.
    pub uuid: String,
    /// The line of the entry in the file before the repair; `None` for a new entry.
    pub line: Option<u64>,
}

/// What a repair does to an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It is written again because Claude Code cannot read its line.
    Salvage,
    /// It gets another parent.
    Relink {
        /// Why.
        reason: RelinkReason,
    },
    /// It gets a time.
    Time,
    /// It is no longer marked as a subagent's.
    Sidechain,
    /// Something in its content is replaced because a request with it would be refused.
    Content {
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// Its reasoning is removed.
    Thinking {
        /// Whether the user asked for it; otherwise something before it was changed.
        is_asked_for: bool,
    },
    /// It is a new result for a call whose result is lost.
    Result,
    /// It is a new first prompt.
    FirstPrompt,
    /// It gets another reply id, so that the copy of a message is not sent twice.
    Copy,
    /// A compaction no longer lists the messages that it kept; they are linked instead.
    Boundary,
    /// It is written again as the last line, so that Claude Code continues from it.
    Leaf,
}

/// Why an entry gets another parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelinkReason {
    /// Its parent is not in the file.
    Missing,
    /// It names no parent.
    NoParent,
    /// Its parent is a later message.
    Circle,
    /// Its parent is a `progress` entry that Claude Code does not find.
    Progress,
    /// The compaction that it begins with is lost.
    LostCompaction,
    /// It is sent only after the message before it.
    Order,
    /// It follows a result that takes the place of a lost one.
    BehindResult,
    /// It follows the note about a lost beginning.
    BehindNote,
}

impl RelinkReason {
    /// Returns it in words.
    pub fn words(self) -> &'static str {
        match self {
            RelinkReason::Missing => "its parent is not in the file; it continues the message before it",
            RelinkReason::NoParent => "it names no parent; it continues the message before it",
            RelinkReason::Circle => "its parent is a later message; it continues the message before it",
            RelinkReason::Progress => "its parent is a progress line that Claude Code does not find",
            RelinkReason::LostCompaction => "the compaction that it begins with is lost",
            RelinkReason::Order => "it is linked to the message before it, so that it is sent",
            RelinkReason::BehindResult => "it follows the result that takes the place of a lost one",
            RelinkReason::BehindNote => "it follows the note about the lost beginning",
        }
    }

    /// Returns whether its parent is an entry that the repair adds.
    pub(super) fn follows_new_entry(self) -> bool {
        matches!(self, RelinkReason::BehindResult | RelinkReason::BehindNote)
    }
}

impl ChangeKind {
    /// Returns the name of the change in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            ChangeKind::Salvage => "salvage",
            ChangeKind::Relink { .. } => "relink",
            ChangeKind::Time => "time",
            ChangeKind::Sidechain => "sidechain",
            ChangeKind::Content { .. } => "content",
            ChangeKind::Thinking { .. } => "thinking",
            ChangeKind::Result => "result",
            ChangeKind::FirstPrompt => "first_prompt",
            ChangeKind::Copy => "copy",
            ChangeKind::Boundary => "boundary",
            ChangeKind::Leaf => "leaf",
        }
    }

    /// Returns why the change is made, in words.
    pub fn reason(&self) -> String {
        match self {
            ChangeKind::Salvage => {
                "Claude Code cannot read its line; it is written again on a line of its own".to_owned()
            }
            ChangeKind::Relink { reason } => reason.words().to_owned(),
            ChangeKind::Time => "it has no valid time; it gets that of the entry before it".to_owned(),
            ChangeKind::Sidechain => {
                "it is marked as a subagent's, but belongs to the conversation".to_owned()
            }
            ChangeKind::Content { rule } => format!("a request with it would be refused ({rule})"),
            ChangeKind::Thinking { is_asked_for: true } => {
                "its reasoning is removed, as `--strip-thinking` asks".to_owned()
            }
            ChangeKind::Thinking { is_asked_for: false } => {
                "its reasoning is removed: the API accepts it only after the messages that it was made for"
                    .to_owned()
            }
            ChangeKind::Result => {
                "the result of a call is lost; a note takes its place, so that the call is sent".to_owned()
            }
            ChangeKind::FirstPrompt => {
                "the conversation begins with a reply; a note takes the place of the first prompt".to_owned()
            }
            ChangeKind::Copy => {
                "it is a copy of a message of the conversation, which would be sent twice".to_owned()
            }
            ChangeKind::Boundary => {
                "the messages that the compaction kept are linked by their parents instead".to_owned()
            }
            ChangeKind::Leaf => {
                "it is the last message; it becomes the last line, so that Claude Code continues from it"
                    .to_owned()
            }
        }
    }
}

/// The lines that a repair appends.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits {
    lines: Vec<(String, Vec<u8>)>,
    /// The index of the line of each uuid.
    index: HashMap<String, usize>,
    changes: Changes,
    /// The uuid of the message that becomes the last line.
    pub(super) leaf: Option<String>,
    /// A `last-prompt` that names it, if the file has one that names another.
    pub(super) last_prompt: Option<Vec<u8>>,
}

impl Edits {
    /// Returns whether nothing is appended.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.leaf.is_none() && self.last_prompt.is_none()
    }

    /// Returns the changes, in the order in which they were made.
    pub(super) fn changes(&self) -> &[Change] {
        &self.changes.list
    }

    /// Returns the changed line of an entry.
    pub(super) fn get(&self, uuid: &str) -> Option<&[u8]> {
        self.index.get(uuid).map(|&index| &self.lines[index].1[..])
    }

    /// Returns the line that a changed entry has in the file.
    pub(super) fn line_of(&self, uuid: &str) -> Option<u64> {
        self.changes.lines.get(uuid).copied().flatten()
    }

    /// Replaces the line of an entry and notes the change.
    pub(super) fn put(&mut self, uuid: &str, json: Vec<u8>, kind: ChangeKind, line: Option<u64>) {
        if let Some(&index) = self.index.get(uuid) {
            self.lines[index].1 = json;
        } else {
            self.index.insert(uuid.to_owned(), self.lines.len());
            self.lines.push((uuid.to_owned(), json));
        }
        self.changes.add(Change { kind, uuid: uuid.to_owned(), line });
    }

    /// Makes an entry the last line, unless that was done.
    pub(super) fn end_with(&mut self, uuid: &str, line: Option<u64>) {
        if self.leaf.is_none() {
            self.leaf = Some(uuid.to_owned());
            self.changes.add(Change { kind: ChangeKind::Leaf, uuid: uuid.to_owned(), line });
        }
    }

    /// Returns the bytes to append to a file, which ends in a newline or not.
    pub(super) fn appended(&self, ends_in_newline: bool, leaf: Option<&[u8]>) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.is_empty() {
            return bytes;
        }
        if !ends_in_newline {
            bytes.push(b'\n');
        }
        for (_, line) in self.lines.iter().filter(|(uuid, _)| Some(uuid) != self.leaf.as_ref()) {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        for line in [leaf, self.last_prompt.as_deref()].into_iter().flatten() {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        bytes
    }
}

/// Changes, each once, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    pub(super) list: Vec<Change>,
    noted: HashSet<Change>,
    /// The line of each changed entry in the file, as it was first found.
    lines: HashMap<String, Option<u64>>,
}

impl Changes {
    /// Adds a change of one round of planning. A later round finds an entry in a line that an earlier one appended; it is named by the line that
    /// it has in the file.
    pub(super) fn add_of_round(&mut self, mut change: Change) {
        change.line = *self.lines.entry(change.uuid.clone()).or_insert(change.line);
        self.add(change);
    }

    pub(super) fn add(&mut self, change: Change) {
        self.lines.entry(change.uuid.clone()).or_insert(change.line);
        if self.noted.insert(change.clone()) {
            self.list.push(change);
        }
    }
}

/// Returns the object of an entry on one line.
pub(super) fn on_one_line(json: &[u8]) -> Vec<u8> {
    if memchr::memchr2(b'\n', b'\r', json).is_none() {
        return json.to_vec();
    }
    let mut out = Vec::with_capacity(json.len());
    // A line break outside of a string is white space, and inside of one it is not JSON.
    out.extend(json.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')));
    out
}

/// Sets a top-level member of an object.
pub(super) fn set(json: &[u8], key: &str, value: &str) -> Vec<u8> {
    patch::set(json, key, value).unwrap_or_else(|_| json.to_vec())
}

/// Sets a member of `message`.
pub(super) fn set_in_message(json: &[u8], key: &str, value: &str) -> Vec<u8> {
    patch::set_in_document(json, &["message", key], value).unwrap_or_else(|_| json.to_vec())
}

/// Returns the fields that every entry of a session has, as further members.
pub(super) fn common_fields(entry: &[u8]) -> String {
    let mut fields = String::new();
    let Some(entry) = Value::new(entry) else { return fields };
    for key in ["userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug"] {
        let value = entry.get(key).filter(|value| value.is_valid());
        if let Some(value) = value.and_then(|value| std::str::from_utf8(value.bytes()).ok()) {
            fields.extend([",", &quote(key), ":", value]);
        }
    }
    fields
}

/// Returns a new user entry; `fields` are those that [`common_fields`] takes from another entry.
pub(super) fn new_user_entry(
    fields: &str,
    uuid: &str,
    parent: Option<&str>,
    time: &str,
    content: &str,
    is_meta: bool,
) -> Vec<u8> {
    let parent = parent.map_or_else(|| "null".to_owned(), quote);
    let mut json = format!(
        "{{\"parentUuid\":{parent},\"isSidechain\":false,\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":{content}}}"
    );
    if is_meta {
        json.push_str(",\"isMeta\":true");
    }
    json.extend([",\"uuid\":", &quote(uuid), ",\"timestamp\":", &quote(time)]);
    json.push_str(fields);
    json.push('}');
    json.into_bytes()
}

/// Returns a time as entries have it.
pub(super) fn time_text(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map_or_else(|_| "1970-01-01T00:00:00.000Z".to_owned(), |time| format!("{time:.3}"))
}
