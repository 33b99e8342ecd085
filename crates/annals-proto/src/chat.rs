//! Messages as people see them: `history/load`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Input;
use crate::word::{is_zero, words};

/// One message as people see it: a prompt, or a reply with its tool calls and their results.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChatMessage {
    /// The uuid of its first entry; for an entry without one, `line-` and its line number.
    pub id: String,
    /// Who speaks.
    pub role: ChatRole,
    /// Its text blocks, joined by line breaks. In the full view, a prompt is as it was typed, without the tags that
    /// Claude Code puts around it.
    pub content: String,
    /// Its thinking, joined by line breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
    /// The tool calls that it makes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tool_calls: Vec<ChatToolCall>,
    /// The order of text, thinking, calls and images in a reply, and of text and images in a prompt that has images.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub content_blocks: Vec<ChatBlock>,
    /// When its first entry was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The model of a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The inputs of the message in order, without the tags around them; absent if a person typed all of it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub inputs: Vec<Input>,
    /// Whether it is the summary that replaces the messages before a compaction.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub summary: bool,
    /// Whether parts of it were left out because the message is too long.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cut: bool,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

words! {
    /// Who speaks in a message of `history/load`.
    ChatRole {
        /// A person, or Claude Code in the person's place.
        User "user",
        /// The model.
        Assistant "assistant",
        /// Claude Code: notices and context, only with `all`.
        System "system",
    }
}

/// A message of another agent of a team.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TeamMessage {
    /// The agent that sent it.
    pub teammate_id: String,
    /// The colour in which Claude Code shows that agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The agent's own short summary of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The text of the message.
    pub content: String,
    /// When it was received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Whether the text was too long to be sent and was left out.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cut: bool,
    /// How many values were masked in it, because they look like secrets; absent if none was.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub masked: usize,
}

/// A tool call with its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChatToolCall {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// Its arguments, as they are in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub input: Option<Box<RawValue>>,
    /// The result, as it is in the file: text or blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub result: Option<Box<RawValue>>,
    /// The text of the result, if the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether it has ended, and how.
    pub status: ChatToolStatus,
}

words! {
    /// Whether a call has ended, and how.
    ChatToolStatus {
        /// The tool succeeded.
        Completed "completed",
        /// The tool failed, or the call was interrupted or denied.
        Failed "failed",
        /// There is no result.
        Pending "pending",
    }
}

/// A run of text, thinking or calls in a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ChatBlock {
    /// Text.
    Text {
        /// The text.
        content: String,
    },
    /// Thinking.
    Thought {
        /// The thinking.
        content: String,
        /// Always true: it is not being written any more.
        is_complete: bool,
    },
    /// Tool calls.
    Tools {
        /// The ids of the calls.
        tool_call_ids: Vec<String>,
    },
    /// An image or a document.
    Image {
        /// Its media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its bytes in base64; absent if they are not in the transcript.
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<String>,
        /// Its address, if its bytes are not in the transcript.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
}
