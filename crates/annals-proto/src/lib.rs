//! The JSON that annals speaks: types only.
//!
//! Fields and words are added over time and never change their meaning. Unknown values are null, never invented. Times are
//! RFC 3339 in UTC with milliseconds.
//!
//! Words that annals chooses are enums. Words that Claude Code chooses, such as the type of an entry or the permission mode,
//! are text, passed on as they are in the transcript.

pub mod acp;
mod agent;
mod answer;
mod change;
mod chat;
mod check;
mod context;
mod export;
mod file;
mod history;
mod input;
mod insight;
mod lineage;
mod method;
mod model;
mod part;
mod prompt;
mod raw;
mod record;
mod repair;
mod request;
mod resume;
#[cfg(feature = "schema")]
pub mod schema;
mod search;
mod serve;
mod session;
mod stats;
mod tail;
mod text;
mod turn;
mod usage;
mod view;
mod word;

pub use agent::{Agent, AgentState};
pub use answer::{
    AgentsResult, AppendedNotice, ChangedNotice, DeleteResult, FileResult, FilesResult, ListResult,
    LoadResult, ProjectsResult, ReadResult, StatusResult, ToolsResult, TrashChange, TrashNotice, TrashResult,
    TurnsResult, UnwatchResult, WatchResult,
};
pub use change::{ChangeResult, ForkResult, Operation, TrashEntry};
pub use chat::{ChatBlock, ChatMessage, ChatRole, ChatToolCall, ChatToolStatus, TeamMessage};
pub use check::{CheckResult, Problem, ProblemCode, ProblemDetails, Severity};
pub use context::{
    CompactionEffect, ContextEstimate, ContextKind, ContextParams, ContextPart, ContextUse, TurnContext,
};
pub use export::{ExportFormat, ExportParams, ExportPlace, ExportReport, MaskedByRule};
pub use file::{BackupState, ChangedFile, FileInSession, FileVersion, RestoredFile};
pub use history::{
    Attribution, Branch, Compaction, EntryBody, ForkOrigin, HistoryItem, HistoryTool, ItemBody, ItemKind,
    RootCause, SupersededLine, Visibility,
};
pub use input::{Input, InputKind};
pub use insight::{
    DayWork, ErrorCount, ErrorExample, ErrorSignature, FileWork, Insight, InsightParams, ToolWork,
};
pub use lineage::{CopiesResult, Kinship, LineageResult, Relation};
pub use method::{CANCEL, ErrorCode, Method, notification};
pub use model::{ModelMessage, Role};
pub use part::{FileBackup, QueuedPrompt, RecordPart, ReplacedResult, TitleRecord};
pub use prompt::{Paste, Prompt};
pub use raw::RawLine;
pub use record::{PushResult, RecordResult};
pub use repair::{
    MissingEntry, RepairBranch, RepairChange, RepairCode, RepairResult, RestoredChange, RestoredDiff,
    RestoredDiffPart, RestoredDiffRow, RestoredPartKind, RestoredView, UndoResult,
};
pub use request::{
    AgentsParams, ArchiveFilter, EntryRef, FileParams, ForkParams, ListParams, LoadParams, NoParams,
    OneSessionParams, ProjectsParams, ReadParams, RenameParams, RestoreParams, SessionParams, StatsParams,
    TagParams, ToolsParams, TurnsParams, UnwatchParams, View, WatchParams,
};
pub use resume::ResumeCommand;
pub use search::{
    Behind, Correction, IndexReport, IndexStatus, SearchField, SearchHit, SearchLimit, SearchMatch,
    SearchParams, SearchPlace, SearchRanking, SearchResult, SearchRole, SearchSort,
};
pub use serve::ServerAddress;
pub use session::{Project, Root, Session, TitleSource};
pub use stats::{Stats, ToolCount};
pub use tail::{TailEvent, TailEventKind};
pub use text::Text;
pub use turn::{StartedBy, Tokens, ToolCall, ToolState, Turn, TurnKind};
pub use usage::{
    ClientUsage, CostKind, CostMode, UsageBurnRate, UsageBy, UsageParams, UsageReply, UsageResult, UsageRow,
    UsageSums, UsageWindow,
};
pub use view::{
    LocateParams, LocateResult, OpenRows, PartParams, PartResult, RowsParams, RowsResult, SkeletonParams,
    SkeletonResult, ViewAlign, ViewChange, ViewDiffLine, ViewFact, ViewFactKind, ViewHunk, ViewInline,
    ViewMark, ViewNode, ViewRow, ViewRowKind, ViewSpan, ViewTool,
};

/// The version of the protocol: it increases when something changes its meaning.
pub const PROTOCOL_VERSION: u32 = 1;
