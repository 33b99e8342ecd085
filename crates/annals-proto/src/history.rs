//! Everything that was recorded, item by item: `annals show --json`, `history/read`.

mod json;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::word::words;
use crate::{Input, Role, ToolState};

/// One item of the whole history: a line of `annals show --view full --json`, and an item of `history/read`.
///
/// In JSON an item is one flat object that has every field whatever its kind, with null for those of other kinds.
#[derive(Clone, Debug)]
pub struct HistoryItem {
    /// Who should see it.
    pub visibility: Visibility,
    /// The entry that it follows; of a gap, the missing entry; of a branch, the entry that it leaves from.
    pub parent: Option<String>,
    /// Whether it belongs to the live conversation; `None` if only its own entry was read.
    pub live: Option<bool>,
    /// Whether a subagent wrote it.
    pub sidechain: bool,
    /// The subagent that wrote it.
    pub agent_id: Option<String>,
    /// How many values were masked in it, because they look like secrets.
    pub masked: usize,
    /// What it is, with the fields that only such items have.
    pub body: ItemBody,
}

/// What an item is: `kind` in JSON. Entries are not boxed, because nearly every item is one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ItemBody {
    /// A prompt, a reply or a tool result.
    Message(EntryBody),
    /// The entry at which the conversation was compacted.
    Compaction(EntryBody),
    /// Entries that a rewind left behind, or a subagent's; they follow this item.
    Branch(Branch),
    /// An entry that others name as their parent is not in the file.
    Gap,
    /// The next entry has no parent although other entries precede it.
    Root(RootCause),
    /// An entry recovered from a damaged line.
    Salvaged(EntryBody),
    /// Any other entry: notices, context and records.
    Meta(EntryBody),
    /// A line from which no entry could be read.
    Damage(EntryBody),
}

impl ItemBody {
    /// Returns the word for it in JSON.
    pub fn kind(&self) -> ItemKind {
        match self {
            ItemBody::Message(_) => ItemKind::Message,
            ItemBody::Compaction(_) => ItemKind::Compaction,
            ItemBody::Branch(_) => ItemKind::Branch,
            ItemBody::Gap => ItemKind::Gap,
            ItemBody::Root(_) => ItemKind::Root,
            ItemBody::Salvaged(_) => ItemKind::Salvaged,
            ItemBody::Meta(_) => ItemKind::Meta,
            ItemBody::Damage(_) => ItemKind::Damage,
        }
    }

    /// Returns the entry; `None` for branches, gaps and roots.
    pub fn entry(&self) -> Option<&EntryBody> {
        match self {
            ItemBody::Message(entry)
            | ItemBody::Compaction(entry)
            | ItemBody::Salvaged(entry)
            | ItemBody::Meta(entry)
            | ItemBody::Damage(entry) => Some(entry),
            ItemBody::Branch(_) | ItemBody::Gap | ItemBody::Root(_) => None,
        }
    }
}

/// What an item that stands for an entry has besides the fields of every item.
#[derive(Clone, Debug)]
pub struct EntryBody {
    /// Who speaks; `None` where Claude Code does.
    pub role: Option<Role>,
    /// The entry's `type`.
    pub entry_type: Option<String>,
    /// The entry's `subtype`.
    pub subtype: Option<String>,
    /// The entry's uuid.
    pub uuid: Option<String>,
    /// When it was written.
    pub timestamp: Option<String>,
    /// The number of its turn; `None` for subagents shown with their session.
    pub turn: Option<usize>,
    /// The content blocks as they are in the file.
    pub parts: Vec<Box<RawValue>>,
    /// The inputs of the entry in order, without the tags around them; empty if a person typed all of it.
    pub inputs: Vec<Input>,
    /// The tool call that it makes.
    pub tool: Option<HistoryTool>,
    /// The token counters of a reply as they are in the file.
    pub usage: Option<Box<RawValue>>,
    /// The model of a reply.
    pub model: Option<String>,
    /// Where the entry was copied from.
    pub forked_from: Option<ForkOrigin>,
    /// What a compaction did.
    pub compaction: Option<Compaction>,
    /// What is wrong with the line.
    pub problem: Option<String>,
    /// The line in the file, from 1.
    pub line: Option<u64>,
    /// The other lines of the file with the same uuid.
    pub other_lines: Vec<u64>,
    /// The content of other lines with the same uuid, where it differs.
    pub superseded: Vec<SupersededLine>,
    /// Why a reply ended, as the model's API says it.
    pub stop_reason: Option<String>,
    /// The sequence at which a reply ended, if that was the reason.
    pub stop_sequence: Option<String>,
    /// The request that a reply answers.
    pub request_id: Option<String>,
    /// The name of the session's plan file.
    pub slug: Option<String>,
    /// How important a notice is, as Claude Code wrote it.
    pub level: Option<String>,
    /// Whether Claude Code added the entry.
    pub is_meta: bool,
    /// Who a reply is charged to.
    pub attribution: Option<Attribution>,
}

/// Who a reply is charged to, as Claude Code wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Attribution {
    /// The skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_server: Option<String>,
    /// The tool of that server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_tool: Option<String>,
}

/// Entries that are not on the live conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The uuid of its last entry: `annals show --leaf` shows the conversation that ends in it.
    pub leaf: Option<String>,
    /// How many entries it has.
    pub entries: usize,
}

words! {
    /// What an item is.
    ItemKind {
        /// A prompt, a reply or a tool result.
        Message "message",
        /// The entry at which the conversation was compacted.
        Compaction "compaction",
        /// Entries that a rewind left behind, or a subagent's; they follow this item.
        Branch "branch",
        /// An entry that others name as their parent is not in the file.
        Gap "gap",
        /// The next entry has no parent although other entries precede it.
        Root "root",
        /// An entry recovered from a damaged line.
        Salvaged "salvaged",
        /// Any other entry: notices, context and records.
        Meta "meta",
        /// A line from which no entry could be read.
        Damage "damage",
    }
}

words! {
    /// Who should see an item.
    Visibility {
        /// Everybody: prompts, replies, images, tool calls.
        Conversation "conversation",
        /// People, folded: output of commands, messages of other agents, notifications, hooks.
        Folded "folded",
        /// People on request: what Claude Code added for the model.
        Context "context",
        /// Not shown to people: records.
        Hidden "hidden",
    }
}

words! {
    /// Why an entry in the middle of a file has no parent: `subtype` of a root in JSON.
    RootCause {
        /// Its parent is not in the file, or it should name one and does not.
        LostLink "lost_link",
        /// A compaction starts with it.
        Boundary "boundary",
        /// Claude Code cleared the context and continued in the same file, to carry out a plan.
        ContextCleared "context_cleared",
        /// The conversation was written again from its first prompt on, with new uuids.
        CopyOfFirstPrompt "copy_of_first_prompt",
        /// The user went back to the start and typed another first prompt.
        RewindToStart "rewind_to_start",
        /// The program that wrote the file gives prompts no parents.
        ParentlessPrompts "parentless_prompts",
    }
}

/// The content of a line that another line with the same uuid replaces.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SupersededLine {
    /// The line in the file, from 1.
    pub line: u64,
    /// The entry's `type` in this line.
    #[serde(rename = "type")]
    pub entry_type: Option<String>,
    /// When this line was written.
    pub timestamp: Option<String>,
    /// The content blocks as they are in the file.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Value>"))]
    pub parts: Vec<Box<RawValue>>,
}

/// The session and the message that an entry was copied from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ForkOrigin {
    /// The session.
    pub session_id: String,
    /// The message.
    pub message_uuid: String,
}

/// A tool call and how it ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HistoryTool {
    /// The id of the call.
    pub id: Option<String>,
    /// The name of the tool.
    pub name: Option<String>,
    /// How it ended.
    pub state: ToolState,
    /// The uuid of the entry with the result.
    pub result_uuid: Option<String>,
}

/// What a compaction did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// What caused it, as Claude Code wrote it: `auto` or `manual`.
    pub trigger: Option<String>,
    /// Tokens in context before.
    pub pre_tokens: Option<u64>,
    /// Tokens in context after.
    pub post_tokens: Option<u64>,
    /// How many messages it kept.
    pub preserved: usize,
}
