//! The model view: what the client would send to the model if a session were resumed now.
//!
//! Rules in `docs/CHAIN.md`. Messages are made of spans of the file; nothing is read until it is asked for.

use std::collections::{HashMap, HashSet};

use crate::chain::{Chain, NodeIndex};
use crate::entry::{Flag, Kind};
use crate::session::{BlockKind, BlockSpan, Id, Session};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user: prompts, tool results, what the client puts in between.
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

/// One message of the request.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
    /// The entries that it is made from, in order.
    pub entries: Vec<NodeIndex>,
}

/// One block of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A block of the file.
    Found(BlockSpan),
    /// Text that the client makes up.
    MadeText(&'static str),
    /// A result that the client makes up for a call of the file.
    MadeResult {
        /// The call.
        call: BlockSpan,
        /// What the result says.
        text: &'static str,
    },
}

/// Stands for the reply to a prompt that was never answered.
pub const NO_RESPONSE: &str = "No response requested.";
/// Stands for the result of a call that was running when the session ended.
pub const INTERRUPTED: &str = "[Tool call interrupted: the session ended before this call's result was recorded, so its \
    outcome is unknown. Check whether it took effect before relying on it or running it again.]";
/// Stands for a result that is not there.
pub const MISSING_RESULT: &str = "[Tool result missing due to internal error]";
/// Stands for a result without call at the very start.
pub const ORPHANED_RESULT: &str = "[Orphaned tool result removed due to conversation resume]";
/// Stands for a message of which nothing is left.
pub const NO_CONTENT: &str = "(no content)";

/// Returns the messages that the client would send, without the next prompt.
pub fn messages(chain: &Chain<'_>) -> Vec<Message> {
    let session = chain.session();
    let mut drafts: Vec<Draft> =
        chain.restored().into_iter().filter_map(|node| Draft::of(session, node)).collect();
    drop_unanswered_calls(&mut drafts);
    answer_last_calls(&mut drafts);
    drop_lone_thinking(&mut drafts);
    drafts.retain(|draft| !draft.is_blank());
    if drafts.last().is_some_and(|draft| draft.role == Role::User) {
        drafts.push(Draft::made(Role::Assistant, Part::MadeText(NO_RESPONSE)));
    }
    drafts.retain(|draft| !draft.is_api_error);
    let mut messages = merge(drafts);
    messages.iter_mut().for_each(put_calls_last);
    pair_results(messages)
}

/// An entry on its way into a message.
#[derive(Clone, Debug)]
struct Draft {
    role: Role,
    node: Option<NodeIndex>,
    reply: Option<Id>,
    parts: Vec<Part>,
    is_api_error: bool,
}

impl Draft {
    /// Returns what an entry contributes; nothing for those that are not sent.
    fn of(session: &Session, index: NodeIndex) -> Option<Self> {
        let node = &session.nodes()[index];
        let parts: Vec<_> = session.blocks(node).iter().map(|block| Part::Found(*block)).collect();
        let role = match node.kind {
            Kind::User => Role::User,
            Kind::Assistant => Role::Assistant,
            // Of attachments only a queued prompt has blocks: the user's own words.
            Kind::Attachment if !parts.is_empty() => Role::User,
            _ => return None,
        };
        let reply = if role == Role::Assistant { node.message_id } else { None };
        Some(Self { role, node: Some(index), reply, parts, is_api_error: node.has(Flag::ApiError) })
    }

    fn made(role: Role, part: Part) -> Self {
        Self { role, node: None, reply: None, parts: vec![part], is_api_error: false }
    }

    fn calls(&self) -> impl Iterator<Item = BlockSpan> + '_ {
        self.parts.iter().filter_map(Part::call)
    }

    fn results(&self) -> impl Iterator<Item = Id> + '_ {
        self.parts.iter().filter_map(Part::result)
    }

    /// Returns whether it is assistant text of white space only.
    fn is_blank(&self) -> bool {
        self.role == Role::Assistant && self.is_only(BlockKind::BlankText)
    }

    fn is_only(&self, kind: BlockKind) -> bool {
        let same = |part: &Part| matches!(part, Part::Found(block) if block.kind == kind);
        !self.parts.is_empty() && self.parts.iter().all(same)
    }
}

impl Part {
    /// Returns the call that the part makes.
    fn call(&self) -> Option<BlockSpan> {
        match self {
            Part::Found(block) if block.kind == BlockKind::ToolUse => Some(*block),
            _ => None,
        }
    }

    /// Returns the call that the part answers.
    fn result(&self) -> Option<Id> {
        match self {
            Part::Found(block) if matches!(block.kind, BlockKind::ToolResult(_)) => block.tool,
            Part::MadeResult { call, .. } => call.tool,
            _ => None,
        }
    }
}

/// Drops entries all of whose calls have no result, except in the last reply when only results follow it.
fn drop_unanswered_calls(drafts: &mut Vec<Draft>) {
    let answered: HashSet<Id> = drafts.iter().flat_map(Draft::results).collect();
    let last_reply = drafts.iter().rposition(|draft| draft.role == Role::Assistant);
    let running =
        last_reply.filter(|&last| drafts[last + 1..].iter().all(|draft| draft.results().next().is_some()));
    let running_id = running.and_then(|last| drafts[last].reply);
    let mut index = 0;
    drafts.retain(|draft| {
        let is_running = running == Some(index) || running_id.is_some() && draft.reply == running_id;
        index += 1;
        let mut calls = draft.calls().peekable();
        is_running
            || calls.peek().is_none()
            || calls.any(|call| call.tool.is_some_and(|id| answered.contains(&id)))
    });
}

/// Gives a made-up result to every call that is left without one.
fn answer_last_calls(drafts: &mut Vec<Draft>) {
    let answered: HashSet<Id> = drafts.iter().flat_map(Draft::results).collect();
    let open = |call: &BlockSpan| call.tool.is_none_or(|id| !answered.contains(&id));
    let calls: Vec<_> = drafts.iter().flat_map(Draft::calls).filter(open).collect();
    let result = |call| Draft::made(Role::User, Part::MadeResult { call, text: INTERRUPTED });
    drafts.extend(calls.into_iter().map(result));
}

/// Drops reasoning that nothing of the same reply goes with.
fn drop_lone_thinking(drafts: &mut Vec<Draft>) {
    let only_thinks = |draft: &Draft| draft.role == Role::Assistant && draft.is_only(BlockKind::Thinking);
    let speaking: HashSet<Id> =
        drafts.iter().filter(|draft| !only_thinks(draft)).filter_map(|draft| draft.reply).collect();
    drafts.retain(|draft| !only_thinks(draft) || draft.reply.is_some_and(|reply| speaking.contains(&reply)));
}

/// Merges user entries that follow each other, and the lines of a reply across the results that stand between them.
fn merge(drafts: Vec<Draft>) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    // Where the lines of a reply go, as long as no other words of the user stand between.
    let mut open_replies: HashMap<Id, usize> = HashMap::new();
    for draft in drafts {
        let only_results = draft.results().count() == draft.parts.len();
        let target = match draft.role {
            Role::User => {
                if !only_results {
                    open_replies.clear();
                }
                messages.len().checked_sub(1).filter(|&last| messages[last].role == Role::User)
            }
            Role::Assistant => draft.reply.and_then(|reply| open_replies.get(&reply).copied()),
        };
        let target = target.unwrap_or_else(|| {
            messages.push(Message { role: draft.role, parts: Vec::new(), entries: Vec::new() });
            messages.len() - 1
        });
        if let Some(reply) = draft.reply {
            open_replies.insert(reply, target);
        }
        messages[target].parts.extend(draft.parts);
        messages[target].entries.extend(draft.node);
    }
    messages
}

/// Within a reply the calls come after everything else.
fn put_calls_last(message: &mut Message) {
    if message.role == Role::Assistant {
        message.parts.sort_by_key(|part| part.call().is_some());
    }
}

/// Makes every call stand directly before its result and every result directly behind its call.
fn pair_results(messages: Vec<Message>) -> Vec<Message> {
    let mut paired: Vec<Message> = Vec::with_capacity(messages.len());
    let mut open: Vec<BlockSpan> = Vec::new();
    for mut message in messages {
        match message.role {
            Role::Assistant => {
                if !open.is_empty() {
                    paired.push(made_results(&open));
                }
                open = message.parts.iter().filter_map(Part::call).collect();
            }
            Role::User => {
                keep_results_of(&open, &mut message);
                open.clear();
                if message.parts.is_empty() {
                    let text = if paired.is_empty() { ORPHANED_RESULT } else { NO_CONTENT };
                    message.parts.push(Part::MadeText(text));
                }
            }
        }
        paired.push(message);
    }
    if !open.is_empty() {
        paired.push(made_results(&open));
    }
    paired
}

/// Keeps the first result of each open call, makes up those that are missing, and drops all others.
fn keep_results_of(open: &[BlockSpan], message: &mut Message) {
    let calls: HashSet<Option<Id>> = open.iter().map(|call| call.tool).collect();
    let mut seen = HashSet::new();
    message.parts.retain(|part| match part.result() {
        Some(id) => calls.contains(&Some(id)) && seen.insert(id),
        None => !matches!(part, Part::Found(block) if matches!(block.kind, BlockKind::ToolResult(_))),
    });
    let missing = open.iter().filter(|call| call.tool.is_none_or(|id| !seen.contains(&id)));
    let made: Vec<_> = missing.map(|&call| Part::MadeResult { call, text: MISSING_RESULT }).collect();
    message.parts.splice(0..0, made);
}

fn made_results(open: &[BlockSpan]) -> Message {
    let parts = open.iter().map(|&call| Part::MadeResult { call, text: MISSING_RESULT }).collect();
    Message { role: Role::User, parts, entries: Vec::new() }
}
