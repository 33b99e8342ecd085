//! `user`: prompts, tool results, injected text.

use std::borrow::Cow;

use super::view;
use crate::content::Content;
use crate::json::Value;

view!(entry:
    /// A prompt, a tool result, or text that Claude Code injected.
    User {
        /// Returns the prompt that the entry belongs to, tool results included (from 2.1.77).
        prompt_id: text "promptId",
        /// Returns the permission mode in force (from 2.1.15, and not on every prompt).
        permission_mode: text "permissionMode",
        /// Returns how the prompt came in: `typed`, `sdk`, `queued` … (from 2.1.161).
        prompt_source: text "promptSource",
        /// Returns the working directory.
        cwd: text "cwd",
        /// Returns the branch, empty outside git.
        git_branch: text "gitBranch",
        /// Returns the version of Claude Code.
        version: text "version",
        /// Returns how Claude Code was started.
        entrypoint: text "entrypoint",
        /// Returns the entry with the tool call that this result belongs to.
        source_assistant: text "sourceToolAssistantUUID",
        /// Returns the tool call that this text came with.
        source_tool_use: text "sourceToolUseID",
        /// Returns the reply that the user interrupted.
        interrupted_message: text "interruptedMessageId",
        /// Returns why a tool was refused.
        tool_denial: text "toolDenialKind",
        /// Returns the plan that was approved with this message.
        plan: text "planContent",
        /// Returns the ids of pasted images.
        image_paste_ids: value "imagePasteIds",
        /// Returns the to-do list at the time.
        todos: value "todos",
    }
);

impl<'a> User<'a> {
    /// Returns the sender of the message (from 2.1.119).
    pub fn origin(&self) -> Option<Origin<'a>> {
        self.0.present("origin").map(Origin)
    }

    /// Returns the message that this one was copied from, by session and uuid.
    pub fn forked_from(&self) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let from = self.0.get("forkedFrom")?;
        Some((from.text("sessionId")?, from.text("messageUuid")?))
    }
}

view!(part:
    /// The sender of a message.
    Origin {
        /// Returns `human`, `task-notification`, `peer`, `coordinator` …
        kind: text "kind",
        /// Returns the address of a peer.
        from: text "from",
        /// Returns the name of a peer.
        name: text "name",
    }
);

/// `toolUseResult`: what a tool returned, in one of three JSON types.
#[derive(Clone, Copy, Debug)]
pub enum ToolUseResult<'a> {
    /// The tool's own object.
    Object(Value<'a>),
    /// An error or a refusal, usually.
    Text(Value<'a>),
    /// Content blocks.
    Blocks(Content<'a>),
}

impl<'a> ToolUseResult<'a> {
    pub(crate) fn new(value: Value<'a>) -> Self {
        if value.is_array() {
            Self::Blocks(Content::new(Some(value)))
        } else if value.is_object() {
            Self::Object(value)
        } else {
            Self::Text(value)
        }
    }

    /// Returns the text of a [`ToolUseResult::Text`].
    pub fn as_text(self) -> Option<Cow<'a, str>> {
        if let Self::Text(value) = self { value.as_text() } else { None }
    }

    /// Returns the subagent that the call started.
    pub fn agent_id(self) -> Option<Cow<'a, str>> {
        if let Self::Object(object) = self { object.text("agentId") } else { None }
    }

    /// Returns the file with the output, if it was too long for the transcript.
    pub fn spilled_output(self) -> Option<SpilledOutput<'a>> {
        let Self::Object(object) = self else { return None };
        let path = object.text("persistedOutputPath")?;
        Some(SpilledOutput { path, size: object.number("persistedOutputSize") })
    }
}

/// Output in a file beside the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpilledOutput<'a> {
    /// The path of the file on the machine that wrote it. It is not trustworthy, and the file may be gone.
    pub path: Cow<'a, str>,
    /// The size of the output in bytes.
    pub size: Option<u64>,
}

impl<'a> SpilledOutput<'a> {
    /// Reads the notice that replaces such output in the text of a tool result.
    ///
    /// ```
    /// # use annals_transcript::entry::view::SpilledOutput;
    /// let text = "<persisted-output>\nOutput too large (2.9MB). Full output saved to: /tmp/x.txt\n\nPreview …";
    /// assert_eq!(SpilledOutput::in_text(text).unwrap().path, "/tmp/x.txt");
    /// ```
    pub fn in_text(text: &'a str) -> Option<Self> {
        let notice = text.trim_start().strip_prefix(NOTICE)?;
        let (_, path) = notice.split_once("saved to: ")?;
        let path = path.lines().next()?.trim_end();
        Some(Self { path: path.into(), size: None })
    }

    /// Returns whether a text that begins so may name a file with output.
    pub fn may_be_in(beginning: &str) -> bool {
        let beginning = beginning.trim_start();
        beginning.starts_with(NOTICE) || NOTICE.starts_with(beginning)
    }
}

/// What a text begins with that names a file with output.
const NOTICE: &str = "<persisted-output>";
