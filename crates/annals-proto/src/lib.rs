//! The JSON that annals speaks: types only.
//!
//! Fields are added freely and never change their meaning. Unknown values are null, never invented. Times are
//! RFC 3339 in UTC with milliseconds.

mod change;
mod check;
mod follow;
mod history;
mod lineage;
mod model;
mod prompt;
mod record;
mod session;
mod stats;
mod text;
mod turn;

pub use change::{Changed, Forked, Trashed};
pub use check::Problem;
pub use follow::Followed;
pub use history::{Compaction, ForkedFrom, HistoryItem, HistoryTool};
pub use lineage::Relation;
pub use model::ModelMessage;
pub use prompt::{Pasted, Prompt};
pub use record::Recorded;
pub use session::{Project, Root, Session};
pub use stats::{Stats, ToolCount};
pub use text::Text;
pub use turn::{Tokens, ToolCall, Turn};
