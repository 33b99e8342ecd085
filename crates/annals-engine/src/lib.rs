//! What annals can do with session histories, without a terminal or a transport.
//!
//! Start with [`Engine`]: it knows the folders of Claude Code, finds sessions in them, counts and checks.

mod catalog;
mod check;
mod conversation;
mod engine;
mod error;
mod files;
pub mod fold;
mod follow;
mod fork;
mod git;
mod home;
mod index_file;
mod lineage;
mod live;
mod lock;
mod prompts;
mod record;
mod remote;
mod rewrite;
mod roots;
mod snapshot;
mod stats;
mod subagent;
mod tail;
mod title;
mod trash;

pub use catalog::{
    Asked, Facts, ListPlace, Listed, Listing, Place, Project, Sort, Standing, Title, TitleSource, Wanted,
    Worktree,
};
pub use check::{Checker, Finding, Issue, Severity};
pub use conversation::Conversation;
pub use engine::{Engine, Inside, Report};
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
pub use rewrite::{HydrateOptions, Hydrated, Log};
pub use roots::Roots;
pub use snapshot::Snapshot;
pub use stats::{Stats, ToolCount};
pub use subagent::{Meta, Subagent};
pub use tail::{Lines, Tail, end_of_lines};
pub use trash::{Belonging, Trashed};
