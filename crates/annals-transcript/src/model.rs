//! The model view: the messages that Claude Code would send to the model if a session were resumed now.
//!
//! `docs/CHAIN.md`, section 6, states the rules. [`messages`] applies them one after the other, in a module each. Messages
//! are made of spans of the file; nothing is read until a caller asks for it.
//!
//! ```
//! use annals_transcript::chain::Chain;
//! use annals_transcript::model::{self, Role};
//! use annals_transcript::session::Session;
//!
//! let file = br#"{"type":"user","uuid":"a","parentUuid":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"content":"Hi"}}"#;
//! let session = Session::read(&file[..])?;
//! let messages = model::messages(&Chain::build(&session));
//! let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
//! assert_eq!(roles, [Role::User, Role::Assistant], "a reply is put behind a prompt that was never answered");
//! # Ok::<(), std::io::Error>(())
//! ```

mod attachments;
mod block;
mod ending;
mod fragment;
mod merge;
mod open_calls;
mod pair;
mod part;
mod replies;
mod split_replies;

use crate::chain::{Chain, NodeIndex};
use crate::session::index;
use crate::small_index::SmallIndex;
pub use block::{block_as_sent, text_with_newline};
use fragment::{Fragment, Speaker};
pub use part::{Part, Placeholder, Wrapper};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user: prompts, tool results, and what Claude Code adds.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the role's name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// The messages of the request, in order.
#[derive(Clone, Debug, Default)]
pub struct Messages<'s> {
    /// The role of each message, and where its parts and its entries end in the lists below.
    ends: Vec<(Role, u32, u32)>,
    /// The parts of all messages.
    parts: Vec<Part<'s>>,
    /// The entries of all messages.
    entries: Vec<NodeIndex>,
}

/// One message of the request.
#[derive(Clone, Copy, Debug)]
pub struct Message<'m> {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: &'m [Part<'m>],
    /// The entries that the message is made of, in order.
    pub entries: &'m [NodeIndex],
}

impl<'s> Messages<'s> {
    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the messages in order.
    pub fn iter(&self) -> impl Iterator<Item = Message<'_>> {
        let (mut parts_from, mut entries_from) = (0, 0);
        self.ends.iter().map(move |&(role, parts, entries)| {
            let parts_here = std::mem::replace(&mut parts_from, parts as usize)..parts as usize;
            let entries_here = std::mem::replace(&mut entries_from, entries as usize)..entries as usize;
            Message { role, parts: &self.parts[parts_here], entries: &self.entries[entries_here] }
        })
    }

    fn push(&mut self, role: Role, parts: &[Part<'s>], entries: impl Iterator<Item = SmallIndex>) {
        self.parts.extend(parts);
        self.entries.extend(entries.map(SmallIndex::index));
        self.ends.push((role, index(self.parts.len()), index(self.entries.len())));
    }
}

/// Returns the messages that Claude Code would send, without the next prompt.
pub fn messages<'s>(chain: &Chain<'s>) -> Messages<'s> {
    let session = chain.session();
    let entries = chain.entries();
    let mut fragments: Vec<Fragment<'s>> = Vec::with_capacity(entries.len());
    fragments.extend(entries.into_iter().filter_map(|node| Fragment::of(session, node))); // CHAIN 6.1
    replies::drop_empty(session, &mut fragments); // CHAIN 6.3
    split_replies::regroup(session, &mut fragments); // CHAIN 6.4
    let answered = open_calls::answered(session, &fragments);
    open_calls::drop_unanswered(session, &mut fragments, &answered); // CHAIN 6.5
    open_calls::answer_last(session, &mut fragments, &answered); // CHAIN 6.6
    replies::drop_empty(session, &mut fragments); // CHAIN 6.3
    ending::answer_last_prompt(&mut fragments); // CHAIN 6.7
    cut_at_boundary(&mut fragments); // CHAIN 6.8
    fragments.retain(|fragment| !fragment.is_unsent); // CHAIN 6.9
    attachments::move_up(&mut fragments); // CHAIN 6.9a
    let groups = merge::group(session, fragments.iter()); // CHAIN 6.10
    pair::messages(session, &fragments, &groups) // CHAIN 6.11 to 6.13
}

/// Drops everything up to the last compaction, its boundary included (CHAIN 6.8).
fn cut_at_boundary(fragments: &mut Vec<Fragment<'_>>) {
    if let Some(last) = fragments.iter().rposition(|fragment| fragment.speaker == Speaker::Boundary) {
        fragments.drain(..=last);
    }
}
