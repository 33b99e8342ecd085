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
/// Stands for calls that were made before under the same id.
pub const INTERRUPTED_CALL: &str = "[Tool use interrupted]";
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
        chain.entries().into_iter().filter_map(|node| Draft::of(session, node)).collect();
    drop_empty_replies(&mut drafts);
    move_results_behind_calls(&mut drafts);
    drop_unanswered_calls(&mut drafts);
    answer_last_calls(&mut drafts);
    drop_empty_replies(&mut drafts);
    answer_last_prompt(&mut drafts);
    cut_at_boundary(&mut drafts);
    drafts.retain(|draft| !draft.is_made_up_error && draft.speaker != Speaker::Attachment);
    let mut messages = merge(drafts);
    messages.iter_mut().for_each(sort_parts);
    pair_results(messages)
}

/// An entry on its way into a message.
#[derive(Clone, Debug)]
struct Draft {
    speaker: Speaker,
    node: Option<NodeIndex>,
    reply: Option<Reply>,
    parts: Vec<Part>,
    is_made_up_error: bool,
    is_compact_summary: bool,
}

/// Who contributes a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
    /// A command that ran in the client: sent as the user's, but no message until then.
    LocalCommand,
    /// Context: not sent as a message, but it tells a running turn from a finished one.
    Attachment,
    /// A compaction: what stands before it is not sent.
    Boundary,
}

/// What the lines of one reply share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reply {
    Id(Id),
    /// All lines without id that have a request.
    Nameless,
}

impl Draft {
    /// Returns what an entry contributes; nothing for those that are not sent.
    fn of(session: &Session, index: NodeIndex) -> Option<Self> {
        let node = &session.nodes()[index];
        let parts: Vec<_> = session.blocks(node).iter().map(|block| Part::Found(*block)).collect();
        let speaker = match node.kind {
            Kind::User => Speaker::User,
            Kind::Assistant => Speaker::Assistant,
            Kind::System if session.boundary(node).is_some() => Speaker::Boundary,
            Kind::System if node.has(Flag::LocalCommand) && !node.has(Flag::DisplayOnly) => {
                Speaker::LocalCommand
            }
            Kind::Attachment if node.has(Flag::HumanTurn) => Speaker::User,
            Kind::Attachment => Speaker::Attachment,
            _ => return None,
        };
        let nameless = node.has(Flag::Request).then_some(Reply::Nameless);
        let reply = node.message_id.map(Reply::Id).or(nameless).filter(|_| speaker == Speaker::Assistant);
        let is_made_up_error = node.has(Flag::ApiError) && node.has(Flag::Synthetic);
        let is_compact_summary = node.has(Flag::CompactSummary);
        Some(Self { speaker, node: Some(index), reply, parts, is_made_up_error, is_compact_summary })
    }

    fn made(speaker: Speaker, part: Part) -> Self {
        let parts = vec![part];
        Self { speaker, node: None, reply: None, parts, is_made_up_error: false, is_compact_summary: false }
    }

    fn calls(&self) -> impl Iterator<Item = BlockSpan> + '_ {
        let parts = if self.speaker == Speaker::Assistant { &self.parts[..] } else { &[] };
        parts.iter().filter_map(Part::call)
    }

    fn results(&self) -> impl Iterator<Item = Id> + '_ {
        let parts = if self.speaker == Speaker::User { &self.parts[..] } else { &[] };
        parts.iter().filter_map(Part::result)
    }

    fn has_results(&self) -> bool {
        self.results().next().is_some()
    }

    /// Returns whether it is the user's and no result: what starts a turn.
    fn is_prompt(&self) -> bool {
        self.speaker == Speaker::User && !self.has_results()
    }

    /// Returns whether it belongs to the same reply as another, by id.
    fn is_of_reply(&self, other: &Draft) -> bool {
        matches!(self.reply, Some(Reply::Id(_))) && self.reply == other.reply
    }

    /// Returns whether it is assistant text of white space only.
    fn is_blank(&self) -> bool {
        self.speaker == Speaker::Assistant && self.is_only(BlockKind::BlankText)
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

    fn is_result(&self) -> bool {
        match self {
            Part::Found(block) => matches!(block.kind, BlockKind::ToolResult(_)),
            Part::MadeResult { .. } => true,
            Part::MadeText(_) => false,
        }
    }
}

/// Moves a result that stands before its call behind the last line of the call's reply, unless something that
/// interrupts a turn stands between.
fn move_results_behind_calls(drafts: &mut Vec<Draft>) {
    let mut calls: HashMap<Id, Vec<usize>> = HashMap::new();
    let mut last_lines: HashMap<Reply, usize> = HashMap::new();
    // How many drafts before a place interrupt a turn; boundaries counted apart.
    let (mut interrupts, mut boundaries) = (vec![0], vec![0]);
    for (place, draft) in drafts.iter().enumerate() {
        for id in draft.calls().filter_map(|call| call.tool) {
            calls.entry(id).or_default().push(place);
        }
        last_lines.extend(draft.reply.filter(|reply| *reply != Reply::Nameless).map(|reply| (reply, place)));
        let interrupting = draft.is_prompt() || draft.speaker == Speaker::LocalCommand;
        interrupts.push(interrupts[place] + usize::from(interrupting));
        boundaries.push(boundaries[place] + usize::from(draft.speaker == Speaker::Boundary));
    }
    let mut moved: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, draft) in drafts.iter().enumerate() {
        let later = |id: Id| {
            let places = calls.get(&id)?;
            places.get(places.partition_point(|&call| call <= place)).copied()
        };
        let Some(call) = draft.results().filter_map(later).min() else { continue };
        let last_line =
            drafts[call].reply.and_then(|reply| last_lines.get(&reply)).map_or(call, |&last| last.max(call));
        if interrupts[last_line] == interrupts[place + 1] && boundaries[last_line] == boundaries[call] {
            moved.entry(last_line).or_default().push(place);
        }
    }
    if moved.is_empty() {
        return;
    }
    let is_moved: HashSet<usize> = moved.values().flatten().copied().collect();
    let mut order = Vec::with_capacity(drafts.len());
    for place in 0..drafts.len() {
        if !is_moved.contains(&place) {
            order.push(place);
        }
        order.extend(moved.remove(&place).unwrap_or_default());
    }
    *drafts = order.into_iter().map(|place| drafts[place].clone()).collect();
}

/// Drops entries all of whose calls have no result, except in the last reply; and nothing of the last turn if that
/// stands in the middle of its tool calls.
fn drop_unanswered_calls(drafts: &mut Vec<Draft>) {
    let answered: HashSet<Id> = drafts.iter().flat_map(Draft::results).collect();
    let start = drafts.iter().rposition(Draft::is_prompt).map_or(0, |prompt| prompt + 1);
    let turn = &drafts[start..];
    let last = turn.iter().rposition(|draft| draft.speaker == Speaker::Assistant);
    let is_last_reply: Vec<bool> = turn
        .iter()
        .enumerate()
        .map(|(place, draft)| last.is_some_and(|last| place == last || draft.is_of_reply(&turn[last])))
        .collect();
    let is_running = is_in_tool_loop(turn, &is_last_reply);
    let mut place = 0_usize;
    drafts.retain(|draft| {
        let in_turn = place.checked_sub(start);
        place += 1;
        let mut calls = draft.calls().peekable();
        in_turn.is_some_and(|place| is_running || is_last_reply[place])
            || calls.peek().is_none()
            || calls.any(|call| call.tool.is_some_and(|id| answered.contains(&id)))
    });
}

/// Returns whether a turn stands in the middle of its tool calls: something came back already, and either a result is
/// the last thing, or the model was calling tools and nothing else since.
fn is_in_tool_loop(turn: &[Draft], is_last_reply: &[bool]) -> bool {
    let came_back = |draft: &Draft| draft.has_results() || draft.speaker == Speaker::Attachment;
    if !turn.iter().any(came_back) {
        return false;
    }
    let calls_last =
        turn.iter().zip(is_last_reply).any(|(draft, is_last)| *is_last && draft.calls().next().is_some());
    let end = turn.iter().rposition(|draft| draft.speaker != Speaker::Attachment).map_or(0, |last| last + 1);
    let start = turn[..end].iter().rposition(came_back).map_or(0, |mark| mark + 1);
    let talks = |draft: &Draft| draft.speaker == Speaker::Assistant && draft.calls().next().is_none();
    turn.last().is_some_and(Draft::has_results) || calls_last && !turn[start..end].iter().any(talks)
}

/// Gives a made-up result to every call of the last reply that is left without one.
fn answer_last_calls(drafts: &mut Vec<Draft>) {
    let answered: HashSet<Id> = drafts.iter().flat_map(Draft::results).collect();
    let Some(last) = drafts.iter().rposition(|draft| draft.speaker == Speaker::Assistant) else { return };
    let lines = drafts.iter().enumerate();
    let lines = lines.filter(|(place, draft)| *place == last || draft.is_of_reply(&drafts[last]));
    let open = |call: &BlockSpan| call.tool.is_none_or(|id| !answered.contains(&id));
    let calls: Vec<_> = lines.flat_map(|(_, draft)| draft.calls()).filter(open).collect();
    let result = |call| Draft::made(Speaker::User, Part::MadeResult { call, text: INTERRUPTED });
    drafts.extend(calls.into_iter().map(result));
}

/// Drops replies of blank text, and reasoning that nothing of the same reply goes with.
fn drop_empty_replies(drafts: &mut Vec<Draft>) {
    let only_thinks =
        |draft: &Draft| draft.speaker == Speaker::Assistant && draft.is_only(BlockKind::Thinking);
    let by_id = |draft: &Draft| draft.reply.filter(|reply| *reply != Reply::Nameless);
    let has_more = |draft: &&Draft| !draft.parts.is_empty() && !only_thinks(draft);
    let speaking: HashSet<Reply> = drafts.iter().filter(has_more).filter_map(by_id).collect();
    drafts.retain(|draft| {
        let alone = only_thinks(draft) && by_id(draft).is_none_or(|reply| !speaking.contains(&reply));
        !draft.is_blank() && !alone
    });
}

/// Puts a reply behind the last message if that is the user's; not behind a compact summary with context behind it.
fn answer_last_prompt(drafts: &mut Vec<Draft>) {
    let has_context = drafts.last().is_some_and(|draft| draft.speaker == Speaker::Attachment);
    let is_message = |draft: &Draft| matches!(draft.speaker, Speaker::User | Speaker::Assistant);
    let Some(last) = drafts.iter().rposition(is_message) else { return };
    if drafts[last].speaker == Speaker::User && !(drafts[last].is_compact_summary && has_context) {
        drafts.insert(last + 1, Draft::made(Speaker::Assistant, Part::MadeText(NO_RESPONSE)));
    }
}

/// Drops what stands before the last compaction, and its mark.
fn cut_at_boundary(drafts: &mut Vec<Draft>) {
    if let Some(last) = drafts.iter().rposition(|draft| draft.speaker == Speaker::Boundary) {
        drafts.drain(..=last);
    }
}

/// Merges user entries that follow each other, and the lines of a reply across the results that stand between them.
fn merge(drafts: Vec<Draft>) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    // Where further lines of a reply go, as long as no message of the user without results stands between.
    let mut open_replies: HashMap<Reply, usize> = HashMap::new();
    for draft in drafts {
        let role = if draft.speaker == Speaker::Assistant { Role::Assistant } else { Role::User };
        let target = match role {
            Role::User => messages.len().checked_sub(1).filter(|&last| messages[last].role == Role::User),
            Role::Assistant => {
                if messages
                    .last()
                    .is_some_and(|last| last.role == Role::User && !last.parts.iter().any(Part::is_result))
                {
                    open_replies.clear();
                }
                draft.reply.and_then(|reply| open_replies.get(&reply).copied())
            }
        };
        let target = target.unwrap_or_else(|| {
            messages.push(Message { role, parts: Vec::new(), entries: Vec::new() });
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

/// Within a reply the calls come after everything else; within a user message the results come before it.
fn sort_parts(message: &mut Message) {
    match message.role {
        Role::Assistant if alternates(&message.parts) => {}
        Role::Assistant => message.parts.sort_by_key(|part| part.call().is_some()),
        Role::User => message.parts.sort_by_key(|part| !part.is_result()),
    }
}

/// Returns whether reasoning stands before the first call, only reasoning between calls, and a call last.
fn alternates(parts: &[Part]) -> bool {
    let thinks = |part: &Part| matches!(part, Part::Found(block) if block.kind == BlockKind::Thinking);
    let Some(first) = parts.iter().position(|part| part.call().is_some()) else { return false };
    let (before, rest) = parts.split_at(first);
    let only_both = rest.iter().all(|part| part.call().is_some() || thinks(part));
    before.iter().any(thinks) && only_both && rest.last().is_some_and(|part| part.call().is_some())
}

/// Makes every call stand directly before its result and every result directly behind its call.
fn pair_results(messages: Vec<Message>) -> Vec<Message> {
    let mut paired: Vec<Message> = Vec::with_capacity(messages.len());
    let mut open: Vec<BlockSpan> = Vec::new();
    let mut called = HashSet::new();
    for mut message in messages {
        match message.role {
            Role::Assistant => {
                if !open.is_empty() {
                    paired.push(made_results(&open));
                }
                keep_first_calls(&mut called, &mut message);
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

/// Drops calls whose id was called before. A message of which nothing is left, or that had nothing, says so.
fn keep_first_calls(called: &mut HashSet<Id>, message: &mut Message) {
    if message.parts.is_empty() {
        message.parts.push(Part::MadeText(NO_CONTENT));
    }
    message.parts.retain(|part| part.call().and_then(|call| call.tool).is_none_or(|id| called.insert(id)));
    if message.parts.is_empty() {
        message.parts.push(Part::MadeText(INTERRUPTED_CALL));
    }
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
