//! The head of an entry: the fields that lists, chains and counts need, read in one pass without allocations.

use jiff::Timestamp;

use super::kind::Kind;
use super::time;
use crate::json::{JsonStr, Skip, Value, walk_object};

/// The top-level fields of an entry. Strings are slices of the line.
///
/// If a key occurs twice, the last one counts, as in Claude Code.
///
/// ```
/// use annals_transcript::{Entry, Flag, Kind};
///
/// let entry = Entry::new(br#"{"type":"user","uuid":"b","parentUuid":"a","isMeta":true}"#);
/// let head = entry.head();
/// assert_eq!((head.kind, &*head.parent.unwrap().decode()), (Kind::User, "a"));
/// assert!(head.has(Flag::Meta));
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Head<'a> {
    /// The kind of entry.
    pub kind: Kind,
    /// `type` as written.
    pub type_name: Option<JsonStr<'a>>,
    /// The subtype: `subtype`, the type of an attachment or of progress data, or the operation on a queue.
    pub subtype: Option<JsonStr<'a>>,
    /// `uuid`.
    pub id: Option<JsonStr<'a>>,
    /// `parentUuid`; see [`Flag::NullParent`] for an explicit null.
    pub parent: Option<JsonStr<'a>>,
    /// `logicalParentUuid`: the last entry before a compaction.
    pub logical_parent: Option<JsonStr<'a>>,
    /// `timestamp` as written.
    pub timestamp: Option<JsonStr<'a>>,
    /// `sessionId`.
    pub session: Option<JsonStr<'a>>,
    /// `agentId`.
    pub agent: Option<JsonStr<'a>>,
    /// `message.id`: shared by all lines of one reply.
    pub message_id: Option<JsonStr<'a>>,
    /// `message.content`, or `message` itself where old exports put the content.
    pub content: Option<Value<'a>>,
    /// `message.model`.
    pub(crate) model: Option<JsonStr<'a>>,
    /// `message.usage`, unless it is null.
    pub(crate) usage: Option<Value<'a>>,
    /// `toolUseResult`: what a tool returned to Claude Code.
    pub tool_use_result: Option<Value<'a>>,
    /// `requestId`.
    pub request: Option<JsonStr<'a>>,
    /// `leafUuid`: the message that a record refers to.
    pub leaf: Option<JsonStr<'a>>,
    /// `cwd`: the working directory.
    pub cwd: Option<JsonStr<'a>>,
    /// `gitBranch`: the branch that was checked out.
    pub git_branch: Option<JsonStr<'a>>,
    /// `version`: the version of Claude Code that wrote the entry.
    pub version: Option<JsonStr<'a>>,
    /// `entrypoint`: how Claude Code was started.
    pub entrypoint: Option<JsonStr<'a>>,
    /// `permissionMode`: of a prompt, or in a record of its own.
    pub permission_mode: Option<JsonStr<'a>>,
    /// `forkedFrom.sessionId`: the session that the entry was copied from.
    pub forked_from: Option<JsonStr<'a>>,
    /// `origin.kind`: where a prompt came from.
    pub origin: Option<JsonStr<'a>>,
    flags: u32,
}

/// A boolean fact about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Flag {
    /// `isSidechain`: the entry belongs to a subagent.
    Sidechain,
    /// `isMeta`: Claude Code injected the entry.
    Meta,
    /// `isCompactSummary`: the entry replaces compacted messages.
    CompactSummary,
    /// `isVisibleInTranscriptOnly`.
    TranscriptOnly,
    /// `isApiErrorMessage`: Claude Code wrote the reply because a request failed.
    ApiError,
    /// `isAbortedMidStream`: a reply cut off by the user.
    Aborted,
    /// `isSnapshotUpdate`.
    SnapshotUpdate,
    /// `isDisplayOnly`: local output that no model sees.
    DisplayOnly,
    /// `explicit` of a `last-prompt`.
    Explicit,
    /// `leafUuid` is present and null: with [`Flag::Explicit`], the conversation was rewound to before its first message.
    NullLeaf,
    /// `parentUuid` is present and null: the entry has no parent on purpose.
    NullParent,
    /// `message` is present and not null.
    Message,
    /// `message` is an object, which is where Claude Code looks for content.
    MessageObject,
    /// `isVirtual`: shown to the user, never sent.
    Virtual,
    /// `requestId` is present.
    Request,
    /// The model of a reply is `<synthetic>`: Claude Code wrote it. Only set in a [`Node`](crate::session::Node).
    Synthetic,
    /// A command that ran in Claude Code itself. Only set in a [`Node`](crate::session::Node).
    LocalCommand,
    /// A queued prompt is sent as the user's own words. Only set in a [`Node`](crate::session::Node).
    HumanTurn,
    /// A prompt reports what a background task did. Only set in a [`Node`](crate::session::Node).
    Notification,
    /// An injected entry that tells the model to ignore the local commands after it. Only set in a
    /// [`Node`](crate::session::Node).
    Caveat,
    /// The content of a message is an array without blocks. Only set in a [`Node`](crate::session::Node).
    NoBlocks,
    /// A message in which Claude Code finds no content, so that it does not load it. Only set in a
    /// [`Node`](crate::session::Node).
    Contentless,
    /// A user entry with the name or the output of a local command. Only set in a
    /// [`Node`](crate::session::Node).
    CommandText,
    /// A user entry that Claude Code delivers with a reply: [`Flag::TurnCompanion`] or [`Flag::FromTool`]. Only set in a
    /// [`Node`](crate::session::Node).
    Companion,
    /// `turnCompanion`.
    TurnCompanion,
    /// `sourceToolUseID` is a string: the entry comes from a tool.
    FromTool,
    /// `toolDenialKind` is present: a call was denied or interrupted.
    ToolDenial,
}

impl Flag {
    pub(crate) fn bit(self) -> u32 {
        1 << self as u8
    }
}

impl<'a> Head<'a> {
    /// Returns whether a flag is set.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags & flag.bit() != 0
    }

    /// Returns all flags as bits.
    pub(crate) fn flags(&self) -> u32 {
        self.flags
    }

    /// Returns whether the entry is a compaction boundary.
    pub fn is_boundary(&self) -> bool {
        self.kind == Kind::System && self.subtype.is_some_and(|subtype| subtype == *"compact_boundary")
    }

    /// Returns the time of the entry, if `timestamp` is a valid time.
    pub fn time(&self) -> Option<Timestamp> {
        self.timestamp.and_then(time::parse)
    }

    /// Returns whether the object has the fields that entries of its type have in a transcript. Lines of other programs with
    /// the same `type`, and messages copied into progress lines, do not have them.
    pub(crate) fn is_typical(&self) -> bool {
        let linked = self.parent.is_some() || self.has(Flag::NullParent) || self.session.is_some();
        match self.kind {
            Kind::Other
            | Kind::Noise
            | Kind::Launched
            | Kind::Started
            | Kind::Result
            | Kind::Failed
            | Kind::SessionId => false,
            Kind::FileHistorySnapshot | Kind::FileHistoryDelta => true,
            kind if kind.joins_chain() => self.id.is_some() && linked,
            _ => self.session.is_some() || self.leaf.is_some(),
        }
    }

    /// Reads the head of the object at `at`; returns it with the position after the object.
    pub(super) fn scan<S: Skip>(bytes: &'a [u8], at: usize) -> Option<(Self, usize)> {
        let mut head = Head { kind: Kind::Other, ..Head::default() };
        let (mut attachment_type, mut data_type, mut operation) = (None, None, None);
        let end = walk_object::<S>(bytes, at, |key, value| match Field::of(key) {
            Some(Field::Message) => head.scan_message::<S>(bytes, value),
            Some(Field::ForkedFrom) => nested::<S>(bytes, value, "sessionId", &mut head.forked_from),
            Some(Field::Origin) => nested::<S>(bytes, value, "kind", &mut head.origin),
            Some(Field::Attachment) => nested::<S>(bytes, value, "type", &mut attachment_type),
            Some(Field::Data) => nested::<S>(bytes, value, "type", &mut data_type),
            field => {
                let end = S::value_end(bytes, value)?;
                let found = Value::trusted(&bytes[value..end]);
                match field {
                    Some(Field::Operation) => operation = found.as_str(),
                    Some(field) => head.store(field, found),
                    None => {}
                }
                Some(end)
            }
        })?;
        if let Some(name) = head.type_name {
            head.kind = Kind::from_name(&name.decode());
        }
        match head.kind {
            Kind::Attachment => head.subtype = attachment_type,
            Kind::Progress => head.subtype = data_type,
            Kind::QueueOperation => head.subtype = operation,
            _ => {}
        }
        Some((head, end))
    }

    /// Reads the message at `at`; returns the position after it. Reading its members, too, detects torn lines: most of them
    /// end inside the message.
    fn scan_message<S: Skip>(&mut self, bytes: &'a [u8], at: usize) -> Option<usize> {
        (self.message_id, self.content, self.model, self.usage) = (None, None, None, None);
        if bytes.get(at) != Some(&b'{') {
            let end = S::value_end(bytes, at)?;
            let message = Value::trusted(&bytes[at..end]);
            self.content = Some(message);
            self.set(Flag::Message, !message.is_null());
            self.set(Flag::MessageObject, false);
            return Some(end);
        }
        self.set(Flag::Message, true);
        self.set(Flag::MessageObject, true);
        walk_object::<S>(bytes, at, |name, value| {
            let end = S::value_end(bytes, value)?;
            let found = Value::trusted(&bytes[value..end]);
            match name.named(MessageField::named) {
                Some(MessageField::Id) => self.message_id = found.as_str(),
                Some(MessageField::Content) => self.content = Some(found),
                Some(MessageField::Model) => self.model = found.as_str(),
                Some(MessageField::Usage) => self.usage = Some(found).filter(|usage| !usage.is_null()),
                None => {}
            }
            Some(end)
        })
    }

    /// Stores the value of a top-level member.
    fn store(&mut self, field: Field, value: Value<'a>) {
        let text = value.as_str();
        let on = value.bytes() == b"true";
        match field {
            Field::Type => self.type_name = text,
            Field::Subtype => self.subtype = text,
            Field::Uuid => self.id = text,
            Field::ParentUuid => {
                self.parent = reference(value);
                self.set(Flag::NullParent, self.parent.is_none());
            }
            Field::LogicalParentUuid => self.logical_parent = text,
            Field::Timestamp => self.timestamp = time_text(value),
            Field::SessionId => self.session = text,
            Field::AgentId => self.agent = text,
            Field::RequestId => {
                self.request = text;
                self.set(Flag::Request, text.is_some());
            }
            Field::LeafUuid => {
                self.leaf = reference(value);
                self.set(Flag::NullLeaf, value.is_null());
            }
            Field::Cwd => self.cwd = text,
            Field::GitBranch => self.git_branch = text,
            Field::Version => self.version = text,
            Field::Entrypoint => self.entrypoint = text,
            Field::PermissionMode => self.permission_mode = text,
            Field::IsSidechain => self.set(Flag::Sidechain, value.is_truthy()),
            Field::IsMeta => self.set(Flag::Meta, on),
            Field::IsCompactSummary => self.set(Flag::CompactSummary, on),
            Field::IsVisibleInTranscriptOnly => self.set(Flag::TranscriptOnly, on),
            Field::IsApiErrorMessage => self.set(Flag::ApiError, on),
            Field::IsAbortedMidStream => self.set(Flag::Aborted, on),
            Field::IsSnapshotUpdate => self.set(Flag::SnapshotUpdate, on),
            Field::IsDisplayOnly => self.set(Flag::DisplayOnly, on),
            Field::Explicit => self.set(Flag::Explicit, on),
            Field::IsVirtual => self.set(Flag::Virtual, on),
            Field::TurnCompanion => self.set(Flag::TurnCompanion, on),
            Field::SourceToolUseId => self.set(Flag::FromTool, text.is_some()),
            Field::ToolDenialKind => self.set(Flag::ToolDenial, true),
            Field::ToolUseResult => self.tool_use_result = Some(value),
            Field::Message
            | Field::ForkedFrom
            | Field::Origin
            | Field::Attachment
            | Field::Data
            | Field::Operation => {}
        }
    }

    fn set(&mut self, flag: Flag, on: bool) {
        self.flags = if on { self.flags | flag.bit() } else { self.flags & !flag.bit() };
    }
}

/// A top-level key that is part of the head: a plain number, so that it is passed in a register.
#[derive(Clone, Copy)]
enum Field {
    Type,
    Subtype,
    Uuid,
    ParentUuid,
    LogicalParentUuid,
    Timestamp,
    SessionId,
    AgentId,
    RequestId,
    LeafUuid,
    Cwd,
    GitBranch,
    Version,
    Entrypoint,
    PermissionMode,
    IsSidechain,
    IsMeta,
    IsCompactSummary,
    IsVisibleInTranscriptOnly,
    IsApiErrorMessage,
    IsAbortedMidStream,
    IsSnapshotUpdate,
    IsDisplayOnly,
    Explicit,
    IsVirtual,
    TurnCompanion,
    SourceToolUseId,
    ToolDenialKind,
    ToolUseResult,
    Message,
    ForkedFrom,
    Origin,
    Attachment,
    Data,
    Operation,
}

impl Field {
    /// Returns the field that a key names, escaped or not.
    fn of(key: JsonStr<'_>) -> Option<Self> {
        key.named(Self::named)
    }

    /// Returns the field that the decoded bytes of a key name.
    fn named(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"type" => Field::Type,
            b"subtype" => Field::Subtype,
            b"uuid" => Field::Uuid,
            b"parentUuid" => Field::ParentUuid,
            b"logicalParentUuid" => Field::LogicalParentUuid,
            b"timestamp" => Field::Timestamp,
            b"sessionId" => Field::SessionId,
            b"agentId" => Field::AgentId,
            b"requestId" => Field::RequestId,
            b"leafUuid" => Field::LeafUuid,
            b"cwd" => Field::Cwd,
            b"gitBranch" => Field::GitBranch,
            b"version" => Field::Version,
            b"entrypoint" => Field::Entrypoint,
            b"permissionMode" => Field::PermissionMode,
            b"isSidechain" => Field::IsSidechain,
            b"isMeta" => Field::IsMeta,
            b"isCompactSummary" => Field::IsCompactSummary,
            b"isVisibleInTranscriptOnly" => Field::IsVisibleInTranscriptOnly,
            b"isApiErrorMessage" => Field::IsApiErrorMessage,
            b"isAbortedMidStream" => Field::IsAbortedMidStream,
            b"isSnapshotUpdate" => Field::IsSnapshotUpdate,
            b"isDisplayOnly" => Field::IsDisplayOnly,
            b"explicit" => Field::Explicit,
            b"isVirtual" => Field::IsVirtual,
            b"turnCompanion" => Field::TurnCompanion,
            b"sourceToolUseID" => Field::SourceToolUseId,
            b"toolDenialKind" => Field::ToolDenialKind,
            b"toolUseResult" => Field::ToolUseResult,
            b"origin" => Field::Origin,
            b"message" => Field::Message,
            b"forkedFrom" => Field::ForkedFrom,
            b"attachment" => Field::Attachment,
            b"data" => Field::Data,
            b"operation" => Field::Operation,
            _ => return None,
        })
    }
}

/// A key of a message that is part of the head.
#[derive(Clone, Copy)]
enum MessageField {
    Id,
    Content,
    Model,
    Usage,
}

impl MessageField {
    /// Returns the field that the decoded bytes of a key name.
    fn named(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"id" => MessageField::Id,
            b"content" => MessageField::Content,
            b"model" => MessageField::Model,
            b"usage" => MessageField::Usage,
            _ => return None,
        })
    }
}

/// Returns the text from which JavaScript reads a time: it converts numbers to text, and an array with one item to that item.
fn time_text(value: Value<'_>) -> Option<JsonStr<'_>> {
    if value.is_array() {
        let mut items = value.items();
        return items.next().filter(|_| items.next().is_none()).and_then(Value::as_str);
    }
    value.as_str().or_else(|| value.as_f64().map(|_| value.spelling()))
}

/// Returns the id that a member refers to. As in Claude Code, the empty string and other values that are false in JavaScript
/// refer to nothing, and other values that are not strings refer to an entry that cannot exist.
fn reference(value: Value<'_>) -> Option<JsonStr<'_>> {
    if value.is_truthy() { Some(value.as_str().unwrap_or_else(|| value.spelling())) } else { None }
}

/// Skips the value at `at` and stores its member `key` in `slot`, if it is an object with such a string. Returns the position
/// after the value.
fn nested<'a, S: Skip>(
    bytes: &'a [u8],
    at: usize,
    key: &str,
    slot: &mut Option<JsonStr<'a>>,
) -> Option<usize> {
    *slot = None;
    if bytes.get(at) != Some(&b'{') {
        return S::value_end(bytes, at);
    }
    walk_object::<S>(bytes, at, |name, value| {
        let end = S::value_end(bytes, value)?;
        if name == *key {
            *slot = Value::trusted(&bytes[value..end]).as_str();
        }
        Some(end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Unchecked;

    fn head(json: &str) -> Head<'_> {
        let (head, end) = Head::scan::<Unchecked>(json.as_bytes(), 0).unwrap();
        assert_eq!(end, json.len());
        head
    }

    #[test]
    fn a_head_has_the_top_level_fields() {
        let head = head(concat!(
            r#"{"parentUuid":"p","isSidechain":true,"message":{"role":"assistant","content":[{"type":"x","id":"no"}],"id":"msg_1"},"#,
            r#""toolUseResult":{"uuid":"no","isMeta":true},"type":"assistant","uuid":"u","timestamp":"2026-01-02T03:04:05.678Z","#,
            r#""sessionId":"s","agentId":"a","requestId":"r"}"#
        ));
        assert_eq!(head.kind, Kind::Assistant);
        let texts = [head.parent, head.id, head.session, head.agent, head.request, head.message_id];
        assert_eq!(texts.map(|text| text.unwrap().decode().into_owned()), ["p", "u", "s", "a", "r", "msg_1"]);
        assert_eq!(head.time().unwrap().as_millisecond(), 1_767_323_045_678);
        assert!(head.has(Flag::Sidechain) && head.has(Flag::Message));
        assert_eq!(head.content.unwrap().bytes(), br#"[{"type":"x","id":"no"}]"#);
        assert!(!head.has(Flag::Meta) && !head.has(Flag::NullParent));
    }

    #[test]
    fn subtypes_come_from_where_the_type_keeps_them() {
        for (json, subtype) in [
            (r#"{"type":"system","subtype":"compact_boundary"}"#, Some("compact_boundary")),
            (r#"{"attachment":{"x":{"type":"no"},"type":"file"},"type":"attachment"}"#, Some("file")),
            (r#"{"type":"progress","data":{"type":"hook_progress"}}"#, Some("hook_progress")),
            (r#"{"type":"queue-operation","operation":"enqueue"}"#, Some("enqueue")),
            (r#"{"type":"user","data":{"type":"no"}}"#, None),
            (r#"{"type":"attachment","attachment":{"type":"file"},"data":{"type":"no"}}"#, Some("file")),
            (r#"{"type":"attachment","attachment":{"type":"no"},"attachment":{}}"#, None),
        ] {
            assert_eq!(
                head(json).subtype.map(|text| text.decode().into_owned()).as_deref(),
                subtype,
                "{json}"
            );
        }
    }

    #[test]
    fn the_last_of_duplicate_keys_counts_and_a_null_parent_is_told_from_none() {
        let twice =
            head(r#"{"type":"user","uuid":"a","uuid":"b","parentUuid":null,"isMeta":true,"isMeta":false}"#);
        assert_eq!(twice.id.unwrap().decode(), "b");
        let replaced = head(r#"{"message":{"id":"m","content":[]},"message":null}"#);
        assert!(replaced.message_id.is_none() && !replaced.has(Flag::Message));
        assert!(replaced.content.is_some_and(Value::is_null));
        assert!(twice.has(Flag::NullParent) && !twice.has(Flag::Meta));
        let changed = head(r#"{"parentUuid":null,"parentUuid":"p","\u0074ype":"us\u0065r"}"#);
        assert!(!changed.has(Flag::NullParent) && !head("{}").has(Flag::NullParent));
        assert_eq!((changed.kind, changed.parent.unwrap().decode().as_ref()), (Kind::User, "p"));
    }
}
