//! The list of all entry types. A new type is added here, and the compiler then asks for its category.

/// Declares the enum, its names and [`Kind::ALL`] from one table.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// The kind of an entry, by its `type`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
            /// An object whose `type` is missing or not in this list. It is kept like all others.
            Other,
            /// Bytes in which no object could be read: a blank line, damage, a fragment.
            #[default]
            Noise,
        }

        impl Kind {
            /// Every type with a name, in the order of this file.
            pub const ALL: &[Kind] = &[$(Kind::$kind,)*];

            /// Returns the kind that `type` names.
            pub fn from_name(name: &str) -> Kind {
                match name {
                    $($name => Kind::$kind,)*
                    _ => Kind::Other,
                }
            }

            /// Returns the name in `type`; `None` for [`Kind::Other`] and [`Kind::Noise`].
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Kind::$kind => Some($name),)*
                    Kind::Other | Kind::Noise => None,
                }
            }
        }
    };
}

kinds! {
    /// A prompt, a tool result, or text that Claude Code wrote in the user's place.
    User = "user",
    /// One content block of a reply.
    Assistant = "assistant",
    /// A notice of Claude Code: compaction, errors, durations, local commands.
    System = "system",
    /// Context that Claude Code added for the model, or a prompt that was queued while a turn was running.
    Attachment = "attachment",
    /// Progress of a tool. Versions up to 2.1.81 wrote it as a part of the chain.
    Progress = "progress",
    /// A title, often of another session.
    Summary = "summary",
    /// The file backups with the state before a prompt.
    FileHistorySnapshot = "file-history-snapshot",
    /// One more backup for a snapshot.
    FileHistoryDelta = "file-history-delta",
    /// A prompt entering or leaving the queue.
    QueueOperation = "queue-operation",
    /// The last prompt and the leaf of the conversation.
    LastPrompt = "last-prompt",
    /// The title the user gave.
    CustomTitle = "custom-title",
    /// The title a model gave.
    AiTitle = "ai-title",
    /// The name of the agent that the session runs as.
    AgentName = "agent-name",
    /// The colour shown with that name.
    AgentColor = "agent-color",
    /// The agent definition in use.
    AgentSetting = "agent-setting",
    /// The user's tag.
    Tag = "tag",
    /// The input mode.
    Mode = "mode",
    /// The permission mode.
    PermissionMode = "permission-mode",
    /// A pull request that belongs to the session.
    PrLink = "pr-link",
    /// An artifact that belongs to the session.
    FrameLink = "frame-link",
    /// The worktree the session works in, or null after leaving it.
    WorktreeState = "worktree-state",
    /// The session moved to another working directory.
    Relocated = "relocated",
    /// Totals of cost and time so far.
    CostState = "cost-state",
    /// Tool results whose content was replaced in the model's context.
    ContentReplacement = "content-replacement",
    /// The lines that the session wrote, file by file.
    AttributionSnapshot = "attribution-snapshot",
    /// Tools called so far.
    ToolsUsed = "tools-used",
    /// A request to the model, by hashes.
    ApiRequest = "api-request",
    /// A message that requests refer to by hash.
    ApiRequestBlob = "api-request-blob",
    /// A system prompt and tool list that requests refer to by hash.
    ApiRequestShape = "api-request-shape",
    /// The remote session that mirrors this one.
    BridgeSession = "bridge-session",
    /// Where the context of a fork agent came from.
    ForkContextRef = "fork-context-ref",
    /// The session continues under another id.
    ContinuedIn = "continued-in",
    /// Prompt history is not kept for this session.
    HistorySuppression = "history-suppression",
    /// A range of messages that a summary replaces.
    CollapseCommit = "marble-origami-commit",
    /// The state of archived ranges.
    CollapseSnapshot = "marble-origami-snapshot",
    /// Archived ranges are given up.
    CollapseReset = "marble-origami-reset",
    /// A suggested prompt was taken.
    SpeculationAccept = "speculation-accept",
    /// Comments on an artifact are watched.
    ArtifactCommentMonitor = "artifact-comment-monitor",
    /// Reactions to comments on an artifact.
    ArtifactAutoreactLedger = "artifact-autoreact-ledger",
    /// An observer of the session.
    ObserverRef = "observer-ref",
    /// The model ended the session.
    EndedByModel = "ended-by-model",
    /// Developer modifications in force.
    DevMods = "dev-mods",
    /// The memory mode.
    MemoryMode = "memory-mode",
    /// The isolation of the session was fixed.
    IsolationLatch = "isolation-latch",
    /// An internal switch was fixed.
    AtisLatch = "atis-latch",
    /// A short summary of what a task is doing.
    TaskSummary = "task-summary",
    /// Workflow journal: an agent was launched.
    Launched = "launched",
    /// Workflow journal: an agent started.
    Started = "started",
    /// Workflow journal: an agent's result.
    Result = "result",
    /// Workflow journal: an agent failed.
    Failed = "failed",
    /// The id of the session, in exports.
    SessionId = "session-id",
}

impl Kind {
    /// Returns whether entries of this kind are messages: part of the conversation and restored on resume.
    pub fn is_message(self) -> bool {
        matches!(self.category(), Category::Message)
    }

    /// Returns whether entries of this kind are prompts, tool results or replies. The other messages are notices and context.
    pub fn is_prompt_or_reply(self) -> bool {
        matches!(self, Kind::User | Kind::Assistant)
    }

    /// Returns whether entries of this kind can be parents of others.
    pub fn joins_chain(self) -> bool {
        matches!(self.category(), Category::Message | Category::LegacyLink)
    }

    /// Returns whether only the last record of this kind in a file counts.
    pub fn last_one_wins(self) -> bool {
        matches!(self.category(), Category::State)
    }

    /// Returns the category of the kind. There is no wildcard, so that a new kind does not compile without a category.
    fn category(self) -> Category {
        match self {
            Kind::User | Kind::Assistant | Kind::System | Kind::Attachment => Category::Message,
            Kind::Progress => Category::LegacyLink,
            Kind::LastPrompt
            | Kind::CustomTitle
            | Kind::AiTitle
            | Kind::AgentName
            | Kind::AgentColor
            | Kind::AgentSetting
            | Kind::Tag
            | Kind::Mode
            | Kind::PermissionMode
            | Kind::WorktreeState
            | Kind::Relocated
            | Kind::CostState
            | Kind::ToolsUsed
            | Kind::BridgeSession
            | Kind::MemoryMode
            | Kind::IsolationLatch
            | Kind::AtisLatch
            | Kind::DevMods
            | Kind::TaskSummary => Category::State,
            Kind::Summary
            | Kind::FileHistorySnapshot
            | Kind::FileHistoryDelta
            | Kind::QueueOperation
            | Kind::PrLink
            | Kind::FrameLink
            | Kind::ContentReplacement
            | Kind::AttributionSnapshot
            | Kind::ApiRequest
            | Kind::ApiRequestBlob
            | Kind::ApiRequestShape
            | Kind::ForkContextRef
            | Kind::ContinuedIn
            | Kind::HistorySuppression
            | Kind::CollapseCommit
            | Kind::CollapseSnapshot
            | Kind::CollapseReset
            | Kind::SpeculationAccept
            | Kind::ArtifactCommentMonitor
            | Kind::ArtifactAutoreactLedger
            | Kind::ObserverRef
            | Kind::EndedByModel
            | Kind::Launched
            | Kind::Started
            | Kind::Failed
            | Kind::Result
            | Kind::SessionId => Category::Record,
            Kind::Other | Kind::Noise => Category::Unknown,
        }
    }
}

/// What entries of a kind are in a file.
enum Category {
    /// A message of the conversation.
    Message,
    /// A part of the chain in old files, but not a message.
    LegacyLink,
    /// A fact about the session that a later line replaces.
    State,
    /// A fact about the session beside others of its kind.
    Record,
    /// Not known.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name().unwrap()), kind);
        }
        assert_eq!(Kind::from_name("usher"), Kind::Other);
        assert_eq!((Kind::Other.name(), Kind::Noise.name()), (None, None));
    }

    #[test]
    fn only_messages_and_legacy_progress_join_chains() {
        let joining: Vec<_> = Kind::ALL.iter().filter(|kind| kind.joins_chain()).collect();
        let expected = [Kind::User, Kind::Assistant, Kind::System, Kind::Attachment, Kind::Progress];
        assert_eq!(joining, expected.iter().collect::<Vec<_>>());
        let spoken: Vec<_> = Kind::ALL.iter().filter(|kind| kind.is_prompt_or_reply()).collect();
        assert_eq!(spoken, [&Kind::User, &Kind::Assistant]);
        assert!(Kind::System.is_message() && !Kind::Progress.is_message());
        assert!(Kind::CustomTitle.last_one_wins() && !Kind::PrLink.last_one_wins());
    }
}
