//! Reads and writes Claude Code transcripts. Every byte is kept, whether its entry is known or not.
//!
//! - [`Reader`] splits any source into entries and never fails on content ([`line`](mod@line)).
//! - [`Entry`] is one of them: its bytes, its [`Head`], its [`Problem`] and typed views of its body ([`entry`]).
//! - [`content`] has the blocks of messages, [`json`] reads values in place.
//! - [`patch`] changes one value of a line and no other byte.
//! - [`item`] says what an entry means to a person: role, parts, visibility; [`prompt`] finds the text that a person typed.
//! - [`lite`] reads the ends of a file for lists.
//! - [`session`] has a whole file as small nodes; [`chain`] finds the conversation in it, [`model`] the messages that Claude
//!   Code would send, [`full_view`] everything that was recorded, [`duplicate`] entries with several lines, [`second_root`] the reason
//!   why a message in the middle of a file has no parent, [`turn`] the turns, [`tool`] the calls, [`queue`] the prompts that
//!   were queued and not sent.
//! - [`conversation`] brings history, turns and calls together; start here to show a session.
//! - [`write`](mod@write) records transcripts that Claude Code can resume.
//! - [`checkpoint`] says how far a file was read, and whether it is still the same file.
//! - [`project`] names the folder of a project, [`paths`] the files of a session; [`version`] compares versions of Claude Code.
//!
//! ```
//! use annals_transcript::{Reader, entry::view::User};
//!
//! let file = concat!(
//!     r#"{"type":"user","uuid":"a","parentUuid":null,"cwd":"/src","message":{"role":"user","content":"Hello"}}"#, "\n",
//!     r#"{"type":"assistant","uuid":"b","#, "\n",
//! );
//! let mut reader = Reader::new(file.as_bytes());
//! while let Some(entry) = reader.read()? {              // an error is one of the source, nothing else
//!     if let Some(problem) = entry.problem() {          // kept, shown, still written back unchanged
//!         assert_eq!(format!("{}: {problem}", entry.at()), "line 2: object does not end on its line");
//!     }
//!     if let Some(user) = entry.view::<User>() {        // fields are read from the bytes when asked for
//!         assert_eq!(user.cwd().unwrap(), "/src");
//!         assert_eq!(entry.content().text(), "Hello");
//!     }
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod chain;
pub mod checkpoint;
pub mod content;
pub mod conversation;
pub mod duplicate;
pub mod entry;
pub mod file_state;
pub mod full_view;
mod groups;
pub mod item;
pub mod json;
pub mod line;
mod links;
pub mod lite;
pub mod model;
pub mod patch;
pub mod paths;
pub mod project;
pub mod prompt;
pub mod queue;
pub mod second_root;
pub mod session;
mod small_index;
pub mod tool;
pub mod turn;
mod utf8;
pub mod version;
pub mod write;

pub use entry::{Entry, Flag, Head, Kind, Problem};
pub use line::{Position, Reader};
pub use utf8::is_utf8;

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
