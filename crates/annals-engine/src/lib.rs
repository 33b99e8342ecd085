//! What annals can do with session histories, without a terminal or a transport.
//!
//! Start with [`Engine`]: it knows the folders of Claude Code, finds sessions in them, counts and checks.
//!
//! # Cargo features
//!
//! All of them are on by default.
//!
//! | feature | what it adds | what it brings | without it |
//! |---|---|---|---|
//! | `catalog` | a cache for lists, `catalog.sqlite`, and what was counted, `usage.sqlite`, in the [`Home`] of annals | SQLite | lists and counts are the same, and slower; responses of deleted transcripts are not counted |
//! | `search` | `Engine::search` and its index, `search.sqlite` in the [`Home`] of annals; needs `catalog` | `annals-search` | they are absent |
//! | `follow` | `Engine::follow`, `Follower`, `Tail`: growth of transcripts as it happens | file watching | they are absent |
//! | `http` | `Http`: logs at http and https addresses | TLS | only other [`Remote`]s and [`Ingress`]es |

mod analysis;
mod belongings;
mod catalog;
mod check;
mod context;
#[cfg(feature = "catalog")]
mod database;
mod engine;
mod error;
mod file_history;
mod files;
pub mod fold;
#[cfg(feature = "follow")]
mod follow;
mod fork;
mod git;
mod home;
mod index_file;
mod insight;
mod labels;
mod line_end;
mod lineage;
mod live;
mod lock;
mod lookup;
mod prompts;
mod push;
mod recording;
mod remote;
mod repair;
mod replaced;
mod report;
mod request_rules;
mod resume;
mod rewrite;
mod roots;
#[cfg(test)]
mod scratch;
#[cfg(feature = "search")]
mod search;
mod snapshot;
mod spilled;
mod stats;
mod status_line;
mod subagent;
mod symlink_guard;
#[cfg(feature = "follow")]
mod tail;
mod trash;
mod usage;

pub use analysis::{Branch, MissingMessage, View};
pub use belongings::Belonging;
pub use catalog::{
    ArchiveFilter, Copies, Facts, FileFilter, LONGEST_PROMPT, ListOptions, ListPosition, Listing, Project,
    ProjectFilter, RootSummary, SessionRow, SessionTitle, Sort, Title, TitleSource, TranscriptKind,
    Workspace, Worktree, with_upper_drive,
};
pub use check::{
    BrokenLink, CheckedFile, Checker, Finding, FolderFinding, Issue, Remedy, Severity, Unlisted,
};
pub use context::{
    Calibration, CompactionEffect, ContextLevel, ContextPart, ContextUse, PartKind, TurnContext,
    context_window,
};
pub use engine::Engine;
pub use error::{Candidate, Error};
pub use file_history::{Backup, ChangedFile, FileHistory, FileVersion};
pub use files::{Selection, TranscriptFile, open_regular};
#[cfg(feature = "follow")]
pub use follow::{Event, FollowOptions, Follower};
pub use fork::{Fork, ForkOptions};
pub use home::Home;
pub use insight::{
    DayWork, ERROR_CLASSES_VERSION, ErrorClass, ErrorCount, ErrorExample, FileWork, Insight, InsightOptions,
    ToolWork, call_error,
};
pub use line_end::end_of_lines;
pub use lineage::{Kinship, Relation};
pub use live::{LiveWriter, Liveness, ProcessView, UnknownReason};
pub use prompts::{Ghost, Paste, Prompt, PromptHistory};
pub use push::{
    BackgroundPusher, PushError, PushOptions, PushOutcome, PushReport, Pusher, Retry, without_secrets,
};
pub use recording::{FORMAT_VERSION, Recording};
#[cfg(feature = "http")]
pub use remote::{AddressError, Http};
pub use remote::{Ingress, PutAnswer, PutEntry, Remote, Token, TokenError};
pub use repair::{
    Change, ChangeKind, DiffChange, DiffMessage, DiffPart, DiffPartKind, DiffRow, Plan, RelinkReason,
    RepairOptions, RepairOutcome, Undone, ViewDiff, plan as plan_repair,
};
pub use replaced::ReplacedResult;
pub use report::Report;
pub use request_rules::{Rule, Violation, check as check_request};
pub use resume::{ResumeFolder, Resumption};
pub use rewrite::{HydrateOptions, HydrateOutcome, Log};
pub use roots::Roots;
#[cfg(feature = "search")]
pub use search::{
    Behind, Copy, CursorError, Hit, IndexOptions, IndexProgress, IndexReport, IndexStatus, Limit,
    MisspeltWord, Order, Pattern, PatternError, Ranking, SearchAnswer, SearchCursor, SearchOptions,
    TextFilter, Unfiltered,
};
pub use snapshot::{Conversation, Snapshot};
pub use spilled::{SpilledFile, SpilledText};
pub use stats::{Stats, ToolCount};
pub use status_line::{ContextFill, PlanRecords, PlanWindow, PromptCache, StatusInput, StatusRecord};
pub use subagent::{AgentState, Agents, Meta, Metadata, RemoteAgent, Subagent};
pub use symlink_guard::SymlinkGuard;
#[cfg(feature = "follow")]
pub use tail::{Lines, Tail};
pub use trash::{TrashChange, TrashEntry};
pub use usage::{RecentCosts, Usage};
