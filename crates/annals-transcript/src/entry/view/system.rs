//! `system`: notices of Claude Code, by subtype.

use std::borrow::Cow;

use super::view;
use crate::json::Value;

view!(entry:
    /// A notice of Claude Code.
    System {
        /// Returns `subtype`; versions before 2.0 did not write it.
        subtype: text "subtype",
        /// Returns the text shown to the user.
        content: text "content",
        /// Returns `info`, `warning`, `error`, `suggestion` or `notice`.
        level: text "level",
        /// Returns the last entry before a compaction.
        logical_parent: text "logicalParentUuid",
        /// Returns the tool call or hook that the notice is about.
        tool_use_id: text "toolUseID",
        /// Returns how long a turn took.
        duration_ms: number "durationMs",
        /// Returns how many messages a turn had.
        message_count: number "messageCount",
        /// Returns the address of a remote session.
        url: text "url",
        /// Returns the model that refused.
        original_model: text "originalModel",
        /// Returns the model that continued instead.
        fallback_model: text "fallbackModel",
    }
);

/// Every subtype of `system` that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemKind<'a> {
    /// The conversation was compacted: the model no longer sees the messages before.
    CompactBoundary(CompactBoundary<'a>),
    /// Old tool results were cleared; the chain continues.
    MicrocompactBoundary(MicrocompactBoundary<'a>),
    /// How long a turn took.
    TurnDuration,
    /// What the hooks at the end of a turn did.
    StopHookSummary(StopHookSummary<'a>),
    /// A request failed and is tried again.
    ApiError(RetriedError<'a>),
    /// What happened while the user was away.
    AwaySummary,
    /// A command that ran in Claude Code itself, or its output.
    LocalCommand,
    /// State of a remote session.
    BridgeStatus,
    /// A remark to the user.
    Informational,
    /// A model refused and another one continued.
    ModelRefusalFallback,
    /// A scheduled task started.
    ScheduledTaskFire,
    /// Agents were stopped.
    AgentsKilled,
    /// The model refused.
    ApiRefusal,
    /// The session started.
    SessionStart,
    /// An error.
    Error,
    /// A subtype that is not in this list, or none.
    Other,
}

impl<'a> System<'a> {
    /// Returns the notice by its subtype.
    pub fn kind(&self) -> SystemKind<'a> {
        match self.subtype().as_deref() {
            Some("compact_boundary") => {
                SystemKind::CompactBoundary(CompactBoundary(self.metadata("compactMetadata")))
            }
            Some("microcompact_boundary") => {
                SystemKind::MicrocompactBoundary(MicrocompactBoundary(self.metadata("microcompactMetadata")))
            }
            Some("turn_duration") => SystemKind::TurnDuration,
            Some("stop_hook_summary") => SystemKind::StopHookSummary(StopHookSummary(self.0)),
            Some("api_error") => SystemKind::ApiError(RetriedError(self.0)),
            Some("away_summary") => SystemKind::AwaySummary,
            Some("local_command") => SystemKind::LocalCommand,
            Some("bridge_status") => SystemKind::BridgeStatus,
            Some("informational") => SystemKind::Informational,
            Some("model_refusal_fallback") => SystemKind::ModelRefusalFallback,
            Some("scheduled_task_fire") => SystemKind::ScheduledTaskFire,
            Some("agents_killed") => SystemKind::AgentsKilled,
            Some("api_refusal") => SystemKind::ApiRefusal,
            Some("session_start") => SystemKind::SessionStart,
            Some("error") => SystemKind::Error,
            _ => SystemKind::Other,
        }
    }

    /// Returns the metadata object; an empty one if it is missing, so that a boundary without metadata is still a boundary.
    fn metadata(&self, key: &str) -> Value<'a> {
        self.0.present(key).unwrap_or(Value::trusted(b"{}"))
    }
}

view!(part:
    /// `compactMetadata`: what a compaction did.
    CompactBoundary {
        /// Returns `auto` or `manual`.
        trigger: text "trigger",
        /// Returns the tokens in context before.
        pre_tokens: number "preTokens",
        /// Returns the tokens in context after.
        post_tokens: number "postTokens",
        /// Returns how long it took.
        duration_ms: number "durationMs",
        /// Returns the tokens dropped by all compactions so far.
        cumulative_dropped_tokens: number "cumulativeDroppedTokens",
    }
);

impl<'a> CompactBoundary<'a> {
    /// Returns the messages that the model still sees, as the first and last of a segment.
    pub fn preserved_segment(&self) -> Option<PreservedSegment<'a>> {
        self.0.present("preservedSegment").map(PreservedSegment)
    }

    /// Returns the messages that the model still sees, as a list.
    pub fn preserved_messages(&self) -> Option<PreservedMessages<'a>> {
        self.0.present("preservedMessages").map(PreservedMessages)
    }
}

view!(part:
    /// A segment of messages that a compaction keeps.
    PreservedSegment {
        /// Returns the first kept message.
        head: text "headUuid",
        /// Returns the message that becomes the parent of the first kept message.
        anchor: text "anchorUuid",
        /// Returns the last kept message.
        tail: text "tailUuid",
    }
);

view!(part:
    /// Messages that a compaction keeps.
    PreservedMessages {
        /// Returns the message that becomes the parent of the first kept message.
        anchor: text "anchorUuid",
        /// Returns the kept messages in order.
        ids: texts "uuids",
        /// Returns the kept messages and all entries that belong to them.
        all_ids: texts "allUuids",
    }
);

view!(part:
    /// `microcompactMetadata`: which tool results were cleared.
    MicrocompactBoundary {
        /// Returns `auto` or `manual`.
        trigger: text "trigger",
        /// Returns the tokens in context before.
        pre_tokens: number "preTokens",
        /// Returns the tokens saved.
        tokens_saved: number "tokensSaved",
        /// Returns the calls whose results were cleared.
        compacted_tool_ids: texts "compactedToolIds",
        /// Returns the attachments that were cleared.
        cleared_attachments: texts "clearedAttachmentUUIDs",
    }
);

view!(part:
    /// What the hooks at the end of a turn did.
    StopHookSummary {
        /// Returns how many hooks ran.
        hook_count: number "hookCount",
        /// Returns their error messages.
        hook_errors: texts "hookErrors",
        /// Returns whether a hook stopped the turn.
        prevented_continuation: flag "preventedContinuation",
        /// Returns the reason that a hook gave.
        stop_reason: text "stopReason",
        /// Returns whether there was output.
        has_output: flag "hasOutput",
    }
);

impl<'a> StopHookSummary<'a> {
    /// Returns the commands that ran.
    pub fn commands(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        self.0.get("hookInfos").into_iter().flat_map(Value::items).filter_map(|hook| hook.text("command"))
    }
}

view!(part:
    /// A failed request that is tried again.
    RetriedError {
        /// Returns the error as a JSON value.
        error: value "error",
        /// Returns what caused it.
        cause: value "cause",
        /// Returns how long until the next attempt.
        retry_in_ms: float "retryInMs",
        /// Returns the number of the attempt.
        retry_attempt: number "retryAttempt",
        /// Returns how many attempts there will be.
        max_retries: number "maxRetries",
    }
);
