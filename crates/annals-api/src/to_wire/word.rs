//! From the enums of the engine to the words of the wire, by exhaustive matches: a new variant has to choose its word.

use annals_engine::{
    AgentState, BrokenLink, ChangeKind, DiffChange, DiffPartKind, Issue, Kinship, RelinkReason, Severity,
    TitleSource, TrashChange, Unlisted,
};
use annals_proto as wire;
pub use annals_render::tool_state;
use annals_transcript::Problem;
use annals_transcript::item::Visibility;
use annals_transcript::model::Role;
use annals_transcript::prompt::InputKind;
use annals_transcript::second_root::RootKind;
use annals_transcript::tool::State;
use annals_transcript::turn::{StartedBy, TurnKind};

/// Returns what happened to an entry of the trash.
pub(super) fn trash_change(change: TrashChange) -> wire::TrashChange {
    match change {
        TrashChange::Trashed => wire::TrashChange::Trashed,
        TrashChange::Restored => wire::TrashChange::Restored,
        TrashChange::Purged => wire::TrashChange::Purged,
    }
}

/// Returns what is wrong.
pub(super) fn problem_code(issue: &Issue) -> wire::ProblemCode {
    use wire::ProblemCode as Code;
    match issue {
        Issue::Damage(problem) => match problem {
            Problem::Blank => Code::Blank,
            Problem::Nul => Code::Nul,
            Problem::NulPrefix => Code::NulPrefix,
            Problem::Glued => Code::Glued,
            Problem::Trailing => Code::Trailing,
            Problem::Torn => Code::Torn,
            Problem::Unclosed => Code::Unclosed,
            Problem::Headless => Code::Headless,
            Problem::Syntax => Code::Syntax,
            Problem::NotObject => Code::NotObject,
            Problem::Garbage => Code::Garbage,
        },
        Issue::ByteOrderMark => Code::ByteOrderMark,
        Issue::CarriageReturns => Code::CarriageReturns,
        Issue::NoFinalNewline => Code::NoFinalNewline,
        Issue::InvalidUtf8 => Code::InvalidUtf8,
        Issue::NoEntries => Code::NoEntries,
        Issue::MissingField(_) => Code::MissingField,
        Issue::Root(RootKind::CopyOfFirstPrompt) => Code::FirstPromptCopy,
        Issue::Root(RootKind::ParentlessPrompts) => Code::ParentlessPrompts,
        Issue::Root(_) => Code::LostRoot,
        Issue::Replaced { .. } => Code::SameUuid,
        Issue::Link { broken, .. } => match broken {
            BrokenLink::Missing => Code::ParentMissing,
            BrokenLink::NoParent => Code::NoParent,
            BrokenLink::Own => Code::OwnParent,
            BrokenLink::Circle => Code::Circle,
            BrokenLink::Progress => Code::ProgressParent,
        },
        Issue::Lost { .. } => Code::Lost,
        Issue::NotResumable(_) => Code::NotResumable,
        Issue::NewerBranch { .. } => Code::NewerBranch,
        Issue::CallWithoutResult => Code::CallWithoutResult,
        Issue::ResultWithoutCall => Code::ResultWithoutCall,
        Issue::RepeatedCall => Code::RepeatedCall,
        Issue::RepeatedResult => Code::RepeatedResult,
        Issue::SentTwice { .. } => Code::SentTwice,
        Issue::Refused(_) => Code::Refused,
        Issue::FutureTimes { .. } => Code::FutureTimes,
        Issue::AncientTimes { .. } => Code::AncientTimes,
        Issue::BackwardTimes { .. } => Code::BackwardTimes,
        Issue::Unlisted(Unlisted::FileName) => Code::UnlistedFileName,
        Issue::Unlisted(Unlisted::SidechainFirst) => Code::UnlistedSidechain,
        Issue::Unlisted(Unlisted::LatePrompt) => Code::UnlistedPrompt,
        Issue::Unlisted(Unlisted::Spacing) => Code::UnlistedSpacing,
        Issue::NoSession => Code::NoSession,
        Issue::SpilledOutputGone { .. } => Code::OutputGone,
        Issue::Large { .. } => Code::Large,
        Issue::OpenToOthers { .. } => Code::OpenToOthers,
        Issue::SharedFolder { .. } => Code::SharedFolder,
        Issue::Cleanup { .. } => Code::Cleanup,
    }
}

/// Returns why a repair changes an entry.
pub(super) fn repair_code(kind: &ChangeKind) -> wire::RepairCode {
    use wire::RepairCode as Code;
    match kind {
        ChangeKind::Salvage => Code::Unreadable,
        ChangeKind::Relink { reason } => match reason {
            RelinkReason::Missing => Code::ParentMissing,
            RelinkReason::NoParent => Code::NoParent,
            RelinkReason::Circle => Code::Circle,
            RelinkReason::Progress => Code::ProgressParent,
            RelinkReason::LostCompaction => Code::LostCompaction,
            RelinkReason::Order => Code::Order,
            RelinkReason::BehindResult => Code::BehindResult,
            RelinkReason::BehindNote => Code::BehindNote,
        },
        ChangeKind::Time => Code::NoTime,
        ChangeKind::Sidechain => Code::Sidechain,
        ChangeKind::Content { .. } => Code::Refused,
        ChangeKind::Thinking { is_asked_for: true } => Code::ThinkingUnwanted,
        ChangeKind::Thinking { is_asked_for: false } => Code::Thinking,
        ChangeKind::Result => Code::LostResult,
        ChangeKind::FirstPrompt => Code::LostPrompt,
        ChangeKind::Copy => Code::Copy,
        ChangeKind::Boundary => Code::Boundary,
        ChangeKind::Leaf => Code::Leaf,
    }
}

/// Returns what happens to a message that Claude Code restores.
pub(super) fn view_change(change: DiffChange) -> wire::RestoredChange {
    match change {
        DiffChange::Same => wire::RestoredChange::Same,
        DiffChange::Removed => wire::RestoredChange::Removed,
        DiffChange::Added => wire::RestoredChange::Added,
    }
}

/// Returns what a part of such a message is.
pub(super) fn view_part_kind(kind: DiffPartKind) -> wire::RestoredPartKind {
    match kind {
        DiffPartKind::Text => wire::RestoredPartKind::Text,
        DiffPartKind::Thinking => wire::RestoredPartKind::Thinking,
        DiffPartKind::Call => wire::RestoredPartKind::Call,
        DiffPartKind::Result => wire::RestoredPartKind::Result,
        DiffPartKind::Other => wire::RestoredPartKind::Other,
        DiffPartKind::MadeUp => wire::RestoredPartKind::MadeUp,
    }
}

/// Returns who speaks.
pub(super) fn role(role: Role) -> wire::Role {
    match role {
        Role::User => wire::Role::User,
        Role::Assistant => wire::Role::Assistant,
    }
}

/// Returns who speaks in a chat; without a role, Claude Code does.
pub(crate) fn chat_role(role: Option<Role>) -> wire::ChatRole {
    match role {
        Some(Role::User) => wire::ChatRole::User,
        Some(Role::Assistant) => wire::ChatRole::Assistant,
        None => wire::ChatRole::System,
    }
}

/// Returns who should see an item.
pub(super) fn visibility(visibility: Visibility) -> wire::Visibility {
    match visibility {
        Visibility::Conversation => wire::Visibility::Conversation,
        Visibility::Folded => wire::Visibility::Folded,
        Visibility::Context => wire::Visibility::Context,
        Visibility::Hidden => wire::Visibility::Hidden,
    }
}

/// Returns why an entry in the middle of a file has no parent.
pub(super) fn root_cause(kind: RootKind) -> wire::RootCause {
    match kind {
        RootKind::LostLink => wire::RootCause::LostLink,
        RootKind::Boundary => wire::RootCause::Boundary,
        RootKind::ContextCleared => wire::RootCause::ContextCleared,
        RootKind::CopyOfFirstPrompt => wire::RootCause::CopyOfFirstPrompt,
        RootKind::RewindToStart => wire::RootCause::RewindToStart,
        RootKind::ParentlessPrompts => wire::RootCause::ParentlessPrompts,
    }
}

/// Returns what an input is.
pub fn input_kind(kind: InputKind) -> wire::InputKind {
    match kind {
        InputKind::Prompt => wire::InputKind::Prompt,
        InputKind::Queued => wire::InputKind::Queued,
        InputKind::IdeSelection => wire::InputKind::IdeSelection,
        InputKind::IdeOpenedFile => wire::InputKind::IdeOpenedFile,
        InputKind::Command => wire::InputKind::Command,
        InputKind::Bash => wire::InputKind::Bash,
        InputKind::TaskNotification => wire::InputKind::TaskNotification,
        InputKind::CompactSummary => wire::InputKind::CompactSummary,
        InputKind::Skill => wire::InputKind::Skill,
        InputKind::Teammate => wire::InputKind::Teammate,
        InputKind::Hook => wire::InputKind::Hook,
        InputKind::ToolResult => wire::InputKind::ToolResult,
        InputKind::Output => wire::InputKind::Output,
        InputKind::Interrupt => wire::InputKind::Interrupt,
        InputKind::Injected => wire::InputKind::Injected,
    }
}

/// Returns how an agent ended.
pub(super) fn agent_state(state: AgentState) -> wire::AgentState {
    match state {
        AgentState::Running => wire::AgentState::Running,
        AgentState::Done => wire::AgentState::Done,
        AgentState::Failed => wire::AgentState::Failed,
        AgentState::Stopped => wire::AgentState::Stopped,
        AgentState::Unfinished => wire::AgentState::Unfinished,
        AgentState::Unknown => wire::AgentState::Unknown,
    }
}

/// Returns whether a tool call has ended in a chat, and how.
pub(crate) fn chat_tool_status(state: State) -> wire::ChatToolStatus {
    match state {
        State::Ok => wire::ChatToolStatus::Completed,
        State::Error | State::Denied | State::Interrupted | State::Cancelled => wire::ChatToolStatus::Failed,
        State::Pending => wire::ChatToolStatus::Pending,
    }
}

/// Returns how a turn relates to the turn before.
pub(super) fn turn_kind(kind: TurnKind) -> wire::TurnKind {
    match kind {
        TurnKind::NewSession => wire::TurnKind::NewSession,
        TurnKind::NewRound => wire::TurnKind::NewRound,
        TurnKind::Resume => wire::TurnKind::Resume,
        TurnKind::Continue => wire::TurnKind::Continue,
    }
}

/// Returns what started a turn.
pub(super) fn started_by(started_by: StartedBy) -> wire::StartedBy {
    let StartedBy::Input(kind) = started_by else { return wire::StartedBy::Other };
    match kind {
        InputKind::Prompt => wire::StartedBy::Prompt,
        InputKind::Queued => wire::StartedBy::Queued,
        InputKind::IdeSelection => wire::StartedBy::IdeSelection,
        InputKind::IdeOpenedFile => wire::StartedBy::IdeOpenedFile,
        InputKind::Command => wire::StartedBy::Command,
        InputKind::Bash => wire::StartedBy::Bash,
        InputKind::TaskNotification => wire::StartedBy::TaskNotification,
        InputKind::CompactSummary => wire::StartedBy::CompactSummary,
        InputKind::Skill => wire::StartedBy::Skill,
        InputKind::Teammate => wire::StartedBy::Teammate,
        InputKind::Hook => wire::StartedBy::Hook,
        InputKind::ToolResult | InputKind::Output | InputKind::Interrupt | InputKind::Injected => {
            wire::StartedBy::Other
        }
    }
}

/// Returns where a title comes from.
pub(super) fn title_source(source: Option<TitleSource>) -> wire::TitleSource {
    match source {
        Some(TitleSource::Custom | TitleSource::Earlier | TitleSource::Agent) => wire::TitleSource::Custom,
        Some(TitleSource::Ai) => wire::TitleSource::Ai,
        Some(TitleSource::Summary) => wire::TitleSource::Summary,
        Some(TitleSource::Prompt) => wire::TitleSource::Prompt,
        Some(TitleSource::Reply) => wire::TitleSource::Reply,
        None => wire::TitleSource::None,
    }
}

/// Returns how much a finding matters.
pub(super) fn severity(severity: Severity) -> wire::Severity {
    match severity {
        Severity::Info => wire::Severity::Info,
        Severity::Warning => wire::Severity::Warning,
        Severity::Error => wire::Severity::Error,
    }
}

/// Returns what another session is to one.
pub(super) fn kinship(kinship: Kinship) -> wire::Kinship {
    match kinship {
        Kinship::Origin => wire::Kinship::Origin,
        Kinship::Copy => wire::Kinship::Copy,
        Kinship::Twin => wire::Kinship::Twin,
        Kinship::Continuation => wire::Kinship::Continuation,
        Kinship::TitleKeeper => wire::Kinship::Title,
    }
}
