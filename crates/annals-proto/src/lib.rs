//! The JSON that annals speaks: types only.
//!
//! Fields are added freely and never change their meaning. Unknown values are null, never invented. Times are
//! RFC 3339 in UTC with milliseconds.

pub mod acp;
mod answer;
mod change;
mod check;
mod follow;
mod history;
mod lineage;
mod method;
mod model;
mod prompt;
mod raw;
mod record;
mod request;
#[cfg(feature = "schema")]
pub mod schema;
mod serving;
mod session;
mod stats;
mod text;
mod turn;

pub use answer::{
    AppendedNotice, CameIn, ChangedNotice, ChatBlock, ChatMessage, ChatToolCall, DeleteResult, ListResult,
    LoadResult, ProjectsResult, ReadResult, StatusResult, TeamMessage, ToolsResult, TrashResult, TurnsResult,
    UnwatchResult, WatchResult,
};
pub use change::{Changed, Forked, Trashed};
pub use check::Problem;
pub use follow::Followed;
pub use history::{Compaction, ForkedFrom, HistoryItem, HistoryTool, Superseded};
pub use lineage::Relation;
pub use method::{CANCEL, ErrorCode, Method, notification};
pub use model::ModelMessage;
pub use prompt::{Pasted, Prompt};
pub use raw::RawLine;
pub use record::Recorded;
pub use request::{
    EntryRef, ForkParams, ListParams, LoadParams, NoParams, ProjectsParams, ReadParams, RenameParams,
    RestoreParams, SessionParams, TagParams, ToolsParams, TurnsParams, UnwatchParams, View, WatchParams,
};
pub use serving::Serving;
pub use session::{Project, Root, Session};
pub use stats::{Stats, ToolCount};
pub use text::Text;
pub use turn::{Tokens, ToolCall, Turn};

/// The version of the protocol: it grows when something changes its meaning.
pub const PROTOCOL_VERSION: u32 = 1;
