//! `attachment`: context that Claude Code added for the model, and queued prompts.

use std::borrow::Cow;

use super::user::Origin;
use super::view;
use crate::content::Content;
use crate::json::Value;

view!(entry:
    /// Context for the model.
    Attachment {
        /// Returns the text that Claude Code sent to the model, in pieces (from 2.1.3xx).
        rendered: value "rendered",
        /// Returns the role in which it was sent.
        rendered_role: text "renderedRole",
    }
);

impl<'a> Attachment<'a> {
    /// Returns the payload, with its own `type`.
    pub fn payload(&self) -> Option<Value<'a>> {
        self.0.present("attachment")
    }

    /// Returns the kind of attachment.
    pub fn kind(&self) -> AttachmentKind {
        let name = self.payload().and_then(|payload| payload.text("type"));
        name.map_or(AttachmentKind::Other, |name| AttachmentKind::from_name(&name))
    }

    /// Returns the queued prompt, if it is one.
    pub fn queued_command(&self) -> Option<QueuedCommand<'a>> {
        if self.kind() == AttachmentKind::QueuedCommand { self.payload().map(QueuedCommand) } else { None }
    }
}

view!(part:
    /// A prompt that was queued while a turn was running and delivered in the middle of it.
    QueuedCommand {
        /// Returns the prompt: text, or blocks with images.
        prompt: content "prompt",
        /// Returns `prompt`, `bash`, `task-notification` …
        mode: text "commandMode",
        /// Returns the queue entry that it came from.
        source: text "source_uuid",
        /// Returns the delivery.
        delivery: text "delivery_id",
        /// Returns the run of a task.
        run: text "runId",
        /// Returns when it was queued.
        queued_at: time "timestamp",
        /// Returns whether Claude Code injected it.
        is_meta: flag "isMeta",
        /// Returns the ids of pasted images.
        image_paste_ids: value "imagePasteIds",
        /// Returns whether a person's turn was running.
        human_turn: value "humanTurn",
    }
);

impl<'a> QueuedCommand<'a> {
    /// Returns the sender.
    pub fn origin(&self) -> Option<Origin<'a>> {
        self.0.present("origin").map(Origin)
    }

    /// Returns the text of the prompt.
    pub fn text(&self) -> Cow<'a, str> {
        let content: Content<'a> = self.prompt();
        content.text()
    }
}

/// Declares the enum and its names from one table.
macro_rules! attachment_kinds {
    ($($kind:ident = $name:literal,)*) => {
        /// Every attachment type that is known.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum AttachmentKind {
            $(#[doc = concat!("`", $name, "`")] $kind,)*
            /// A type that is not in this list, or none.
            Other,
        }

        impl AttachmentKind {
            /// Every type with a name.
            pub const ALL: &[AttachmentKind] = &[$(AttachmentKind::$kind,)*];

            /// Returns the type with a name.
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name => Self::$kind,)*
                    _ => Self::Other,
                }
            }

            /// Returns the name; `None` for [`AttachmentKind::Other`].
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$kind => Some($name),)*
                    Self::Other => None,
                }
            }
        }
    };
}

attachment_kinds! {
    AgentListingDelta = "agent_listing_delta",
    AsyncHookResponse = "async_hook_response",
    AutoMode = "auto_mode",
    AutoModeExit = "auto_mode_exit",
    BashOutputAudienceNote = "bash_output_audience_note",
    BatchingReminderSent = "batching_reminder_sent",
    BudgetUsd = "budget_usd",
    CommandPermissions = "command_permissions",
    CompactFileReference = "compact_file_reference",
    CredentialOrg = "credential_org",
    Date = "date",
    DateChange = "date_change",
    DeferredToolsDelta = "deferred_tools_delta",
    DeferredToolsRecord = "deferred_tools_record",
    Diagnostics = "diagnostics",
    Directory = "directory",
    DynamicSkill = "dynamic_skill",
    EditedTextFile = "edited_text_file",
    Environment = "environment",
    File = "file",
    GoalStatus = "goal_status",
    HookAdditionalContext = "hook_additional_context",
    HookBlockingError = "hook_blocking_error",
    HookCancelled = "hook_cancelled",
    HookNonBlockingError = "hook_non_blocking_error",
    HookPermissionDecision = "hook_permission_decision",
    HookSuccess = "hook_success",
    HookSystemMessage = "hook_system_message",
    InlinedImagePaths = "inlined_image_paths",
    Instructions = "instructions",
    InvokedSkills = "invoked_skills",
    Language = "language",
    McpInstructionsDelta = "mcp_instructions_delta",
    Model = "model",
    NestedMemory = "nested_memory",
    OpenedFileInIde = "opened_file_in_ide",
    OutputStyle = "output_style",
    PlanMode = "plan_mode",
    PlanModeExit = "plan_mode_exit",
    PlanModeReentry = "plan_mode_reentry",
    PromptSnapshot = "prompt_snapshot",
    QueuedCommand = "queued_command",
    ReadTruncationNotice = "read_truncation_notice",
    RemoteSessionChange = "remote_session_change",
    SelectedLinesInIde = "selected_lines_in_ide",
    SessionContext = "session_context",
    SilentTurnReminder = "silent_turn_reminder",
    SkillListing = "skill_listing",
    StructuredOutput = "structured_output",
    TaskReminder = "task_reminder",
    TaskStatus = "task_status",
    ThinkingDrop = "thinking_drop",
    TodoReminder = "todo_reminder",
    TotalTokensReminder = "total_tokens_reminder",
    UltraEffortEnter = "ultra_effort_enter",
    UltraEffortExit = "ultra_effort_exit",
}
