//! What is wrong with a transcript: `annals check`, `history/check`.

use serde::{Deserialize, Serialize};

use crate::Text;
use crate::word::words;

/// Something wrong in a transcript: a line of `annals check --json`, and in the result of `history/check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The session, if the path of the file names it.
    pub session: Option<String>,
    /// The transcript, or the folder that the problem is about.
    pub path: Text,
    /// The line, from 1; of several adjacent lines, the first. Null if the file as a whole, or a folder, has the problem.
    pub line: Option<u64>,
    /// How many adjacent lines are affected; 0 for a file or a folder.
    pub lines: u64,
    /// What is wrong, in words.
    pub problem: String,
    /// What is wrong, for programs that have words of their own.
    pub code: ProblemCode,
    /// What `problem` and `effect` name besides; absent if they name nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ProblemDetails>,
    /// How much it matters.
    pub severity: Severity,
    /// What is lost because of it, in words.
    pub effect: String,
    /// Whether the file can be repaired without further loss.
    pub repairable: bool,
    /// The command that helps; null if there is none.
    pub help: Option<String>,
}

/// What the words about a problem name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProblemDetails {
    /// How many messages, files, transcripts or sessions it is about, or how many bytes a file has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Another line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// A field of a message, a rule of the API, or why Claude Code does not resume a session: `no_conversation`, `sidechain` or `no_time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// After how many days without a change a session is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u64>,
    /// When that can happen; absent at the next start of Claude Code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Whether anything is lost because of it; absent if `code` says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<bool>,
}

/// Result of `history/check`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// What is wrong with the session, in the order of its lines, at most 10,000.
    pub findings: Vec<Problem>,
    /// How many there are.
    pub total: usize,
}

words! {
    /// What is wrong in a transcript.
    ProblemCode {
        /// A line has only white space.
        Blank "blank",
        /// There are NUL bytes instead of text.
        Nul "nul",
        /// There are NUL bytes before an object.
        NulPrefix "nul_prefix",
        /// An object follows other bytes on one line.
        Glued "glued",
        /// Something follows an object on its line.
        Trailing "trailing",
        /// The last line is cut off.
        Torn "torn",
        /// An object does not end on its line.
        Unclosed "unclosed",
        /// The beginning of an object is lost.
        Headless "headless",
        /// A line is not valid JSON.
        Syntax "syntax",
        /// A line is JSON and not an object.
        NotObject "not_object",
        /// A line is no JSON at all.
        Garbage "garbage",
        /// The file begins with a byte order mark.
        ByteOrderMark "byte_order_mark",
        /// Lines end in CR LF.
        CarriageReturns "carriage_returns",
        /// The last line does not end in a newline.
        NoFinalNewline "no_final_newline",
        /// Bytes are not UTF-8.
        InvalidUtf8 "invalid_utf8",
        /// No line has an entry.
        NoEntries "no_entries",
        /// A message lacks the field `name`.
        MissingField "missing_field",
        /// A message lost its link to what came before it.
        LostRoot "lost_root",
        /// The first prompt was written again.
        FirstPromptCopy "first_prompt_copy",
        /// No prompt of the file has a parent.
        ParentlessPrompts "parentless_prompts",
        /// The line `line` has the same uuid; `costs` says whether the contents differ.
        SameUuid "same_uuid",
        /// The parent of a message is not in the file.
        ParentMissing "parent_missing",
        /// A message names no parent.
        NoParent "no_parent",
        /// A message is its own parent.
        OwnParent "own_parent",
        /// The parent of a message is a later one.
        Circle "circle",
        /// The parent of a message is a `progress` line that Claude Code does not find.
        ProgressParent "progress_parent",
        /// Claude Code would lose `count` messages up to `line`.
        Lost "lost",
        /// Claude Code would not resume the session, because of `name`.
        NotResumable "not_resumable",
        /// A branch has `count` messages that are newer than those of the conversation.
        NewerBranch "newer_branch",
        /// A call has no result.
        CallWithoutResult "call_without_result",
        /// A result has no call.
        ResultWithoutCall "result_without_call",
        /// Another call has the same id.
        RepeatedCall "repeated_call",
        /// A call has another result before this one.
        RepeatedResult "repeated_result",
        /// `count` messages would be sent twice.
        SentTwice "sent_twice",
        /// The API would refuse the request: it breaks the rule `name`.
        Refused "refused",
        /// `count` messages have a time in the future.
        FutureTimes "future_times",
        /// `count` messages have a time before there was a Claude Code.
        AncientTimes "ancient_times",
        /// `count` messages are older than the one before.
        BackwardTimes "backward_times",
        /// Lists do not show the session: its file name is no UUID.
        UnlistedFileName "unlisted_file_name",
        /// Lists do not show the session: its first line is a subagent's.
        UnlistedSidechain "unlisted_sidechain",
        /// Lists do not show the session: its first prompt ends too late.
        UnlistedPrompt "unlisted_prompt",
        /// Lists do not show the session: its JSON has white space.
        UnlistedSpacing "unlisted_spacing",
        /// The session of a subagent is gone.
        NoSession "no_session",
        /// `count` files with output of tools are gone.
        OutputGone "output_gone",
        /// The file has `count` bytes, so that Claude Code reads only a part of it.
        Large "large",
        /// Every user of the machine can read `count` transcripts.
        OpenToOthers "open_to_others",
        /// Sessions of the working directories `paths` are in one folder.
        SharedFolder "shared_folder",
        /// Claude Code deletes `count` sessions after `days` days.
        Cleanup "cleanup",
    }
}

words! {
    /// How much a problem matters.
    Severity {
        /// Nothing is lost.
        Info "info",
        /// Something may be lost or shown wrongly.
        Warning "warning",
        /// Claude Code cannot read part of the history.
        Error "error",
    }
}
