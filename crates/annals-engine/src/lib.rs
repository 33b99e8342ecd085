//! What annals can do with session histories, without a terminal or a transport.
//!
//! Start with [`Engine`]: it knows the folders of Claude Code, finds sessions in them, counts and checks.

mod belongings;
mod catalog;
mod check;
mod engine;
mod error;
mod files;
mod follow;
mod fork;
mod git;
mod home;
mod index_file;
mod lineage;
mod live;
mod lock;
mod lookup;
mod prompts;
mod record;
mod remote;
mod report;
mod rewrite;
mod roots;
mod snapshot;
mod stats;
mod subagent;
mod symlink_guard;
mod tail;
mod title;
mod trash;

pub use belongings::Belonging;
pub use catalog::{
    Asked, Facts, ListPlace, Listed, Listing, Place, Project, Sort, Standing, Title, TitleSource, Wanted,
    Worktree,
};
pub use check::{Checker, Finding, Issue, Severity};
pub use engine::Engine;
pub use error::{Candidate, Error};
pub use files::{Selection, TranscriptFile, open_regular};
pub use follow::{Follower, Following, Happening};
pub use fork::{Fork, Forked};
pub use home::Home;
pub use lineage::{Kinship, Relation};
pub use live::{Doubt, LiveWriter, Liveness, ProcessView};
pub use prompts::{Ghost, Pasted, Prompt, Typed};
pub use record::{FORMAT_VERSION, Recording};
#[cfg(feature = "http")]
pub use remote::Http;
pub use remote::Remote;
pub use report::Report;
pub use rewrite::{HydrateOptions, Hydrated, Log};
pub use roots::Roots;
pub use snapshot::{Conversation, Snapshot};
pub use stats::{Stats, ToolCount};
pub use subagent::{Meta, Subagent};
pub use symlink_guard::SymlinkGuard;
pub use tail::{Lines, Tail, end_of_lines};
pub use trash::Trashed;
