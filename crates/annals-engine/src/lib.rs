//! What annals can do with session histories, without a terminal or a transport.
//!
//! Start with [`Engine`]: it knows the client's folders, finds sessions in them, counts and checks.

mod check;
mod conversation;
mod engine;
mod error;
mod files;
mod lineage;
mod roots;
mod snapshot;
mod stats;
mod subagent;

pub use check::{Checker, Finding, Issue, Severity};
pub use conversation::Conversation;
pub use engine::{Engine, Report};
pub use error::{Candidate, Error};
pub use files::{Selection, TranscriptFile};
pub use lineage::{Kinship, Relation};
pub use roots::Roots;
pub use snapshot::Snapshot;
pub use stats::{Stats, ToolCount};
pub use subagent::{Meta, Subagent};
