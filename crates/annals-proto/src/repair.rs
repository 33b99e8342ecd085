//! Repairs, planned or carried out: `annals repair`, `history/repair`.

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::word::{is_zero, words};

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
        /// It hangs on a later message.
        Circle "circle",
        /// Its parent is a `progress` line that Claude Code does not find.
        ProgressParent "progress_parent",
        /// The compaction that it begins with is lost.
        LostCompaction "lost_compaction",
        /// It is sent only behind the message before it.
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
        /// Its reasoning is accepted only behind the messages that it was made for.
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
