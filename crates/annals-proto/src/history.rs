use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::CameIn;

/// One item of the whole history: a line of `annals show --view full --json`, and an item of `history/read`.
///
/// In `history/appended` items are made from their entries alone: what only the whole conversation tells (`turn`, `live`,
/// `line`) is null there, and calls are `pending`, as their results are yet to come. An item whose `uuid` came before takes the
/// place of that one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HistoryItem {
    /// `message`, `compaction`, `branch`, `gap`, `root`, `salvaged`, `meta` or `damage`.
    pub kind: String,
    /// `user` or `assistant`, for those that speak.
    pub role: Option<String>,
    /// Who should see it: `conversation` (everybody), `folded` (people, folded: output of commands, messages of other agents,
    /// notifications, hooks), `context` (on request: what Claude Code added for the model) or `hidden` (records).
    pub visibility: String,
    /// The entry's `type`.
    #[serde(rename = "type")]
    pub entry_type: Option<String>,
    /// What divides the type further. Of a root, why the next entry hangs on nothing although others stand before it:
    /// `context_cleared`, `parentless_prompts`, `rewind_to_start`, `copy_of_first_prompt` or `lost_link`.
    pub subtype: Option<String>,
    /// The entry.
    pub uuid: Option<String>,
    /// What it hangs on; of a gap, the entry that is missing; of a branch, the entry that it leaves from.
    pub parent: Option<String>,
    /// When it was written.
    pub timestamp: Option<String>,
    /// The number of the turn that it belongs to; none for subagents shown with their session.
    pub turn: Option<usize>,
    /// Whether it belongs to the live conversation.
    pub live: Option<bool>,
    /// Whether it is a subagent's.
    pub sidechain: bool,
    /// The subagent.
    pub agent_id: Option<String>,
    /// The content blocks as they stand in the file; a string that is not UTF-8 is `{"bytes": <base64>}`.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
    pub parts: Vec<Box<RawValue>>,
    /// What came in with it, one after the other and without the tags around it, where that is not just what a person
    /// typed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub inputs: Vec<CameIn>,
    /// The call that it makes, with how it ended.
    pub tool: Option<HistoryTool>,
    /// The token counters of a reply as they stand in the file.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub usage: Option<Box<RawValue>>,
    /// The model of a reply.
    pub model: Option<String>,
    /// The session and the message that the entry was copied from.
    pub forked_from: Option<ForkedFrom>,
    /// What a compaction did.
    pub compaction: Option<Compaction>,
    /// What is wrong with the line.
    pub problem: Option<String>,
    /// The last entry of a branch: `annals show --leaf` shows the conversation that ends in it.
    pub leaf: Option<String>,
    /// How many entries a branch has.
    pub entries: Option<usize>,
    /// The line in the file, from 1; none for branches, gaps and roots.
    pub line: Option<u64>,
    /// The other lines of the file with the same `uuid`. Such lines are one item, at the place of the first line and with the
    /// content of the last.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub other_lines: Vec<u64>,
    /// What other lines with the same `uuid` say, where that is something else.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub superseded: Vec<Superseded>,
}

/// The content of a line that another line with the same `uuid` has replaced.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Superseded {
    /// The line in the file, from 1.
    pub line: u64,
    /// The entry's `type` in this line.
    #[serde(rename = "type")]
    pub entry_type: Option<String>,
    /// When this line was written.
    pub timestamp: Option<String>,
    /// The content blocks as they stand in the file.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
    pub parts: Vec<Box<RawValue>>,
}

/// Where a copied entry comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForkedFrom {
    /// The session.
    pub session_id: String,
    /// The message.
    pub message_uuid: String,
}

/// A call and how it ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HistoryTool {
    /// The call.
    pub id: Option<String>,
    /// The tool.
    pub name: Option<String>,
    /// `ok`, `error`, `pending`, `interrupted` or `denied`.
    pub state: String,
    /// The entry with the result.
    pub result_uuid: Option<String>,
}

/// What a compaction did.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// `auto` or `manual`.
    pub trigger: Option<String>,
    /// Tokens in context before.
    pub pre_tokens: Option<u64>,
    /// Tokens in context after.
    pub post_tokens: Option<u64>,
    /// How many messages it kept.
    pub preserved: usize,
}
