//! Repairs, planned or carried out: `annals repair`, `history/repair`.

use serde::{Deserialize, Serialize};

use crate::word::{is_zero, words};
use crate::{Role, Text};

/// A repair of a session, planned or carried out: the result of `annals repair --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RepairResult {
    /// The session.
    pub session: Option<String>,
    /// The path of the transcript.
    pub path: Text,
    /// Whether the changes were written.
    pub applied: bool,
    /// The changes, in the order in which they are written. Empty if there is nothing to repair.
    pub changes: Vec<RepairChange>,
    /// How many more changes there are than `history/repair` sends; absent if it sends all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changes_left_out: usize,
    /// What Claude Code would restore before the repair.
    pub before: RestoredView,
    /// What it would restore after it.
    pub after: RestoredView,
    /// How the messages that it would restore change, message by message; absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<RestoredDiff>,
    /// Other conversations of the file, which are not restored.
    pub branches: Vec<RepairBranch>,
    /// How many more of them there are than `history/repair` sends; absent if it sends all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub branches_left_out: usize,
    /// How many messages that Claude Code restores now are left out, because another branch was chosen; absent if none is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// How many bytes are appended.
    pub appended: u64,
    /// The length of the file that takes the place of the old one; absent if lines are appended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<u64>,
    /// The receipt, if something was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Text>,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked: usize,
}

/// How the messages that Claude Code would restore change with a repair. Each line of the transcript that is restored counts as one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RestoredDiff {
    /// How many messages are the same before and after the repair.
    pub same: usize,
    /// How many messages it would restore only before the repair.
    pub removed: usize,
    /// How many messages it would restore only after the repair. A message that is changed is removed and added.
    pub added: usize,
    /// The removed and added messages with some that stay beside them, in order. There are at most about 200 rows.
    pub rows: Vec<RestoredDiffRow>,
    /// How many removed and added messages have no row, because there would be too many; absent if all have one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

/// A message of a difference, or several in a row that are not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RestoredDiffRow {
    /// What happens to it.
    pub change: RestoredChange,
    /// How many messages the row counts and does not show; absent if it shows one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folded: usize,
    /// Who speaks; absent if the row shows no message, as the other fields are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The uuid of the entry; absent if Claude Code makes the message up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The line of the entry before the repair; absent for a new entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The first parts of the message, at most eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<RestoredDiffPart>,
}

/// A part of a message in a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RestoredDiffPart {
    /// What it is.
    pub kind: RestoredPartKind,
    /// The beginning of its text, at most 4096 bytes; of a call the tool and what it is about, of other blocks their type. Empty for reasoning.
    pub beginning: String,
}

words! {
    /// What happens to a message that Claude Code restores.
    RestoredChange {
        /// It is restored before and after the repair.
        Same "same",
        /// It is restored before the repair only.
        Removed "removed",
        /// It is restored after the repair only.
        Added "added",
    }
}

words! {
    /// What a part of a message is.
    RestoredPartKind {
        /// Text.
        Text "text",
        /// Reasoning.
        Thinking "thinking",
        /// A call of a tool.
        Call "tool_use",
        /// The result of a call.
        Result "tool_result",
        /// Something else, such as an image.
        Other "other",
        /// Text that Claude Code makes up.
        MadeUp "made_up",
    }
}

/// One change of a repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RepairChange {
    /// The line of the entry before the repair; null for a new entry.
    pub line: Option<u64>,
    /// The uuid of the entry.
    pub uuid: String,
    /// What is done to it: `salvage`, `relink`, `time`, `sidechain`, `content`, `thinking`, `result`, `first_prompt`, `copy`,
    /// `boundary` or `leaf`.
    pub change: String,
    /// Why, in words.
    pub reason: String,
    /// Why, for programs that have words of their own.
    pub code: RepairCode,
    /// The rule of the API that a request with the entry would break.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

words! {
    /// Why a repair changes an entry.
    RepairCode {
        /// Claude Code cannot read its line.
        Unreadable "unreadable",
        /// Its parent is not in the file.
        ParentMissing "parent_missing",
        /// It names no parent.
        NoParent "no_parent",
        /// Its parent is a later message.
        Circle "circle",
        /// Its parent is a `progress` line that Claude Code does not find.
        ProgressParent "progress_parent",
        /// The compaction that it begins with is lost.
        LostCompaction "lost_compaction",
        /// It is sent only after the message before it.
        Order "order",
        /// It follows a result that takes the place of a lost one.
        BehindResult "behind_result",
        /// It follows the note about a lost beginning.
        BehindNote "behind_note",
        /// It has no valid time.
        NoTime "no_time",
        /// It is marked as a subagent's.
        Sidechain "sidechain",
        /// A request with it would be refused; `rule` says why.
        Refused "refused",
        /// Its reasoning is accepted only after the messages that it was made for.
        Thinking "thinking",
        /// The user wants its reasoning to be removed.
        ThinkingUnwanted "thinking_unwanted",
        /// It takes the place of a lost result.
        LostResult "lost_result",
        /// It takes the place of the first prompt.
        LostPrompt "lost_prompt",
        /// It would be sent twice.
        Copy "copy",
        /// The compaction lists messages that are linked by their parents instead.
        Boundary "boundary",
        /// Claude Code continues from the last line.
        Leaf "leaf",
    }
}

/// What Claude Code would restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RestoredView {
    /// Why it would not resume the session; null if it would.
    pub obstacle: Option<String>,
    /// The same for programs that have words of their own: `no_conversation`, `sidechain` or `no_time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle_code: Option<String>,
    /// How many messages of the conversation it would send whole.
    pub sent: usize,
    /// The messages that can be read and would not be sent whole.
    pub missing: Vec<MissingEntry>,
    /// How many more of them there are than `history/repair` sends; absent if it sends all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing_left_out: usize,
    /// The rules of the API that the request would break.
    pub refused: Vec<String>,
}

/// A message that would not be sent whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MissingEntry {
    /// Its uuid.
    pub uuid: String,
    /// Its line.
    pub line: u64,
}

/// A conversation that ends in another message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RepairBranch {
    /// The uuid of its last message.
    pub uuid: String,
    /// The line of its last message.
    pub line: u64,
    /// How many messages it has of its own.
    pub messages: usize,
}

/// A repair that was undone: the result of `annals repair --undo --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UndoResult {
    /// The session.
    pub session: Option<String>,
    /// The path of its transcript.
    pub path: Text,
    /// The length of the file, if it was cut to what it was before the repair.
    pub length: Option<u64>,
    /// The new session with the bytes before the repair, if something was appended since.
    pub fork: Option<String>,
    /// The path of its transcript.
    pub fork_path: Option<Text>,
}
