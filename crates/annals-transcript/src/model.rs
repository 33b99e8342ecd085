//! The model view: what the client would send to the model if a session were resumed now.
//!
//! Rules in `docs/CHAIN.md`. Messages are made of spans of the file; nothing is read until it is asked for.

use crate::chain::{Chain, NodeIndex};
use crate::entry::{Flag, Kind};
use crate::groups::Groups;
use crate::place::Place;
use crate::session::{BlockKind, BlockSpan, Id, Session, index};

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

/// The messages of the request, in order; what they are made of stands in two lists, message by message.
#[derive(Clone, Debug, Default)]
pub struct Messages<'s> {
    /// Each with where its parts and its entries end.
    ends: Vec<(Role, u32, u32)>,
    parts: Vec<Part<'s>>,
    entries: Vec<NodeIndex>,
}

/// One message of the request.
#[derive(Clone, Copy, Debug)]
pub struct Message<'m> {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: &'m [Part<'m>],
    /// The entries that it is made from, in order.
    pub entries: &'m [NodeIndex],
}

/// One block of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'s> {
    /// A block of the file.
    Found(&'s BlockSpan),
    /// Text of the file with a newline behind it: it meets the text of the next user entry.
    Joined(&'s BlockSpan),
    /// Text that the client makes up.
    MadeText(Made),
    /// A result that the client makes up for a call of the file.
    MadeResult {
        /// The call.
        call: &'s BlockSpan,
        /// What the result says.
        text: Made,
    },
}

/// What the client makes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Stands for the reply to a prompt that was never answered.
    NoResponse,
    /// Stands for the result of a call that was running when the session ended.
    Interrupted,
    /// Stands for calls that were made before under the same id.
    InterruptedCall,
    /// Stands for a result that is not there.
    MissingResult,
    /// Stands for a result without call at the very start.
    OrphanedResult,
    /// Stands for a message of which nothing is left.
    NoContent,
}

impl Made {
    /// Returns its words.
    pub fn text(self) -> &'static str {
        match self {
            Made::NoResponse => "No response requested.",
            Made::Interrupted => {
                "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is \
                 unknown. Check whether it took effect before relying on it or running it again.]"
            }
            Made::InterruptedCall => "[Tool use interrupted]",
            Made::MissingResult => "[Tool result missing due to internal error]",
            Made::OrphanedResult => "[Orphaned tool result removed due to conversation resume]",
            Made::NoContent => "(no content)",
        }
    }
}

impl<'s> Messages<'s> {
    /// Returns how many messages there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is none.
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

    fn push(&mut self, role: Role, parts: &[Part<'s>], entries: impl Iterator<Item = Place>) {
        self.parts.extend(parts);
        self.entries.extend(entries.map(Place::index));
        self.ends.push((role, index(self.parts.len()), index(self.entries.len())));
    }

    /// Adds a message of made-up results, if there are any.
    fn push_results(&mut self, results: &[Part<'s>]) {
        if !results.is_empty() {
            self.push(Role::User, results, std::iter::empty());
        }
    }
}

/// Returns the messages that the client would send, without the next prompt.
pub fn messages<'s>(chain: &Chain<'s>) -> Messages<'s> {
    let session = chain.session();
    let entries = chain.entries();
    let mut drafts: Vec<Draft<'s>> = Vec::with_capacity(entries.len());
    drafts.extend(entries.into_iter().filter_map(|node| Draft::of(session, node)));
    drop_empty_replies(session, &mut drafts);
    move_results_behind_calls(session, &mut drafts);
    let answered = answered(session, &drafts);
    drop_unanswered_calls(&mut drafts, &answered);
    answer_last_calls(&mut drafts, &answered);
    drop_empty_replies(session, &mut drafts);
    answer_last_prompt(&mut drafts);
    cut_at_boundary(&mut drafts);
    drafts.retain(|draft| !draft.is_made_up_error && draft.speaker != Speaker::Attachment);
    let (roles, members) = merge(session, &drafts);
    pair_results(session, &drafts, &roles, &members)
}

/// An entry on its way into a message.
#[derive(Clone, Copy, Debug)]
struct Draft<'s> {
    speaker: Speaker,
    node: Option<Place>,
    reply: Option<Reply>,
    /// What it says: blocks of the file, or a part that is made up.
    found: &'s [BlockSpan],
    made: Option<Part<'s>>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Id(Id),
    /// All lines without id that have a request.
    Nameless,
}

impl Reply {
    /// Returns a small number for it: 0, or that of its id plus 1.
    fn index(self) -> usize {
        match self {
            Reply::Nameless => 0,
            Reply::Id(id) => id.index() + 1,
        }
    }
}

impl<'s> Draft<'s> {
    /// Returns what an entry contributes; nothing for those that are not sent.
    fn of(session: &'s Session, place: NodeIndex) -> Option<Self> {
        let node = &session.nodes()[place];
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
        Some(Self {
            speaker,
            node: Some(Place::at(place)),
            reply: node.message_id.map(Reply::Id).or(nameless).filter(|_| speaker == Speaker::Assistant),
            found: session.blocks(node),
            made: None,
            is_made_up_error: node.has(Flag::ApiError) && node.has(Flag::Synthetic),
            is_compact_summary: node.has(Flag::CompactSummary),
        })
    }

    fn made(speaker: Speaker, part: Part<'s>) -> Self {
        Self {
            speaker,
            node: None,
            reply: None,
            found: &[],
            made: Some(part),
            is_made_up_error: false,
            is_compact_summary: false,
        }
    }

    fn parts(&self) -> impl Iterator<Item = Part<'s>> + Clone + use<'s> {
        self.found.iter().map(Part::Found).chain(self.made)
    }

    fn calls(&self) -> impl Iterator<Item = &'s BlockSpan> + Clone + use<'s> {
        let is_models = self.speaker == Speaker::Assistant;
        self.parts().filter(move |_| is_models).filter_map(Part::call)
    }

    fn results(&self) -> impl Iterator<Item = Id> + use<'s> {
        let is_users = self.speaker == Speaker::User;
        self.parts().filter(move |_| is_users).filter_map(Part::result)
    }

    fn has_results(&self) -> bool {
        self.results().next().is_some()
    }

    /// Returns whether it is the user's and no result: what starts a turn.
    fn is_prompt(&self) -> bool {
        self.speaker == Speaker::User && !self.has_results()
    }

    /// Returns the reply that it is a line of, if that has an id.
    fn named_reply(&self) -> Option<Id> {
        match self.reply {
            Some(Reply::Id(id)) => Some(id),
            _ => None,
        }
    }

    /// Returns whether it belongs to the same reply as another, by id.
    fn is_of_reply(&self, other: &Draft<'_>) -> bool {
        self.named_reply().is_some() && self.reply == other.reply
    }

    /// Returns whether it is the model's and has blocks of one kind only.
    fn is_only(&self, kind: BlockKind) -> bool {
        let is_all = !self.found.is_empty() && self.found.iter().all(|block| block.kind == kind);
        self.speaker == Speaker::Assistant && is_all
    }
}

impl<'s> Part<'s> {
    /// Returns the call that the part makes.
    fn call(self) -> Option<&'s BlockSpan> {
        match self {
            Part::Found(block) if block.kind == BlockKind::ToolUse => Some(block),
            _ => None,
        }
    }

    /// Returns the call that the part answers.
    fn result(self) -> Option<Id> {
        match self {
            Part::Found(block) if matches!(block.kind, BlockKind::ToolResult(_)) => block.tool,
            Part::MadeResult { call, .. } => call.tool,
            _ => None,
        }
    }

    fn is_result(self) -> bool {
        match self {
            Part::Found(block) => matches!(block.kind, BlockKind::ToolResult(_)),
            Part::MadeResult { .. } => true,
            Part::Joined(_) | Part::MadeText(_) => false,
        }
    }

    /// Returns the text of the file that it is.
    fn text(self) -> Option<&'s BlockSpan> {
        match self {
            Part::Found(block) if matches!(block.kind, BlockKind::Text | BlockKind::BlankText) => Some(block),
            _ => None,
        }
    }
}

/// Moves a result that stands before its call behind the last line of the call's reply, unless something that
/// interrupts a turn stands between.
fn move_results_behind_calls(session: &Session, drafts: &mut Vec<Draft<'_>>) {
    let places = drafts.iter().enumerate();
    let calls = places.flat_map(|(place, draft)| {
        draft.calls().filter_map(|call| call.tool).map(move |id| (id.index(), place))
    });
    let calls = Groups::of(session.id_count(), calls);
    let mut last_lines = vec![0; session.id_count()];
    // How many drafts before a place interrupt a turn; boundaries counted apart.
    let (mut interrupts, mut boundaries) = (vec![0_u32], vec![0_u32]);
    for (place, draft) in drafts.iter().enumerate() {
        if let Some(id) = draft.named_reply() {
            last_lines[id.index()] = index(place);
        }
        let interrupting = draft.is_prompt() || draft.speaker == Speaker::LocalCommand;
        interrupts.push(interrupts[place] + u32::from(interrupting));
        boundaries.push(boundaries[place] + u32::from(draft.speaker == Speaker::Boundary));
    }
    // What moves, with the line that it moves behind.
    let mut moved: Vec<(usize, usize)> = Vec::new();
    for (place, draft) in drafts.iter().enumerate() {
        let later = |id: Id| calls.first_above(id.index(), place);
        let Some(call) = draft.results().filter_map(later).min() else { continue };
        let last_line = drafts[call].named_reply().map_or(call, |id| last_lines[id.index()] as usize);
        if interrupts[last_line] == interrupts[place + 1] && boundaries[last_line] == boundaries[call] {
            moved.push((last_line, place));
        }
    }
    if moved.is_empty() {
        return;
    }
    let mut is_moved = vec![false; drafts.len()];
    for &(_, place) in &moved {
        is_moved[place] = true;
    }
    moved.sort_by_key(|&(last_line, _)| last_line);
    let mut moved = moved.into_iter().peekable();
    let mut order = Vec::with_capacity(drafts.len());
    for place in 0..drafts.len() {
        if !is_moved[place] {
            order.push(drafts[place]);
        }
        while let Some((_, from)) = moved.next_if(|&(last_line, _)| last_line == place) {
            order.push(drafts[from]);
        }
    }
    *drafts = order;
}

/// Returns whether there is a result for a call, by the id's index.
fn answered(session: &Session, drafts: &[Draft<'_>]) -> Vec<bool> {
    let mut answered = vec![false; session.id_count()];
    drafts.iter().flat_map(Draft::results).for_each(|id| answered[id.index()] = true);
    answered
}

/// Drops entries all of whose calls have no result, except in the last reply; and nothing of the last turn if that
/// stands in the middle of its tool calls.
fn drop_unanswered_calls(drafts: &mut Vec<Draft<'_>>, answered: &[bool]) {
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
            || calls.any(|call| call.tool.is_some_and(|id| answered[id.index()]))
    });
}

/// Returns whether a turn stands in the middle of its tool calls: something came back already, and either a result is
/// the last thing, or the model was calling tools and nothing else since.
fn is_in_tool_loop(turn: &[Draft<'_>], is_last_reply: &[bool]) -> bool {
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
fn answer_last_calls(drafts: &mut Vec<Draft<'_>>, answered: &[bool]) {
    let Some(last) = drafts.iter().rposition(|draft| draft.speaker == Speaker::Assistant) else { return };
    let lines = drafts.iter().enumerate();
    let lines = lines.filter(|(place, draft)| *place == last || draft.is_of_reply(&drafts[last]));
    let open = |call: &&BlockSpan| call.tool.is_none_or(|id| !answered[id.index()]);
    let calls: Vec<_> = lines.flat_map(|(_, draft)| draft.calls()).filter(open).collect();
    let result = |call| Draft::made(Speaker::User, Part::MadeResult { call, text: Made::Interrupted });
    drafts.extend(calls.into_iter().map(result));
}

/// Drops replies of blank text, and reasoning that nothing of the same reply goes with.
fn drop_empty_replies(session: &Session, drafts: &mut Vec<Draft<'_>>) {
    let mut is_speaking = vec![false; session.id_count()];
    for draft in drafts.iter().filter(|draft| !draft.found.is_empty() && !draft.is_only(BlockKind::Thinking))
    {
        if let Some(id) = draft.named_reply() {
            is_speaking[id.index()] = true;
        }
    }
    drafts.retain(|draft| {
        let alone = || draft.named_reply().is_none_or(|id| !is_speaking[id.index()]);
        !(draft.is_only(BlockKind::BlankText) || draft.is_only(BlockKind::Thinking) && alone())
    });
}

/// Puts a reply behind the last message if that is the user's; not behind a compact summary with context behind it.
fn answer_last_prompt(drafts: &mut Vec<Draft<'_>>) {
    let has_context = drafts.last().is_some_and(|draft| draft.speaker == Speaker::Attachment);
    let is_message = |draft: &Draft| matches!(draft.speaker, Speaker::User | Speaker::Assistant);
    let Some(last) = drafts.iter().rposition(is_message) else { return };
    if drafts[last].speaker == Speaker::User && !(drafts[last].is_compact_summary && has_context) {
        drafts.insert(last + 1, Draft::made(Speaker::Assistant, Part::MadeText(Made::NoResponse)));
    }
}

/// Drops what stands before the last compaction, and its mark.
fn cut_at_boundary(drafts: &mut Vec<Draft<'_>>) {
    if let Some(last) = drafts.iter().rposition(|draft| draft.speaker == Speaker::Boundary) {
        drafts.drain(..=last);
    }
}

/// Merges user entries that follow each other, and the lines of a reply across the results that stand between them.
/// Returns who speaks in each message, and the drafts that it is made of.
fn merge(session: &Session, drafts: &[Draft<'_>]) -> (Vec<Role>, Groups) {
    let mut roles: Vec<Role> = Vec::new();
    let mut message_of: Vec<Place> = Vec::with_capacity(drafts.len());
    // Where further lines of a reply go, as long as no message of the user without results stands between: lines of
    // replies before that go to messages of their own.
    let mut message_of_reply: Vec<Option<Place>> = vec![None; session.id_count() + 1];
    let mut open_from = Place::at(0);
    let mut last_has_result = false;
    for draft in drafts {
        let role = if draft.speaker == Speaker::Assistant { Role::Assistant } else { Role::User };
        let reply = draft.reply.map(Reply::index);
        let follows_user = roles.last() == Some(&Role::User);
        let target = match role {
            Role::User => follows_user.then(|| Place::at(roles.len() - 1)),
            Role::Assistant => {
                if follows_user && !last_has_result {
                    open_from = Place::at(roles.len());
                }
                reply.and_then(|reply| message_of_reply[reply]).filter(|&message| message >= open_from)
            }
        };
        let target = target.unwrap_or_else(|| {
            roles.push(role);
            last_has_result = false;
            Place::at(roles.len() - 1)
        });
        last_has_result |= role == Role::User && draft.parts().any(Part::is_result);
        if let Some(reply) = reply {
            message_of_reply[reply] = Some(target);
        }
        message_of.push(target);
    }
    let pairs = message_of.iter().enumerate().map(|(draft, &message)| (message.index(), draft));
    let members = Groups::of(roles.len(), pairs);
    (roles, members)
}

/// Within a reply the calls come after everything else; within a user message the results come before it.
fn sort_parts(role: Role, parts: &mut [Part<'_>]) {
    match role {
        Role::Assistant if alternates(parts) => {}
        Role::Assistant => parts.sort_by_key(|part| part.call().is_some()),
        Role::User => parts.sort_by_key(|part| !part.is_result()),
    }
}

/// Returns whether reasoning stands before the first call, only reasoning between calls, and a call last.
fn alternates(parts: &[Part<'_>]) -> bool {
    let thinks = |part: &Part<'_>| matches!(part, Part::Found(block) if block.kind == BlockKind::Thinking);
    let Some(first) = parts.iter().position(|part| part.call().is_some()) else { return false };
    let (before, rest) = parts.split_at(first);
    let only_both = rest.iter().all(|part| part.call().is_some() || thinks(part));
    before.iter().any(thinks) && only_both && rest.last().is_some_and(|part| part.call().is_some())
}

/// Makes every call stand directly before its result and every result directly behind its call.
fn pair_results<'s>(
    session: &Session,
    drafts: &[Draft<'s>],
    roles: &[Role],
    members: &Groups,
) -> Messages<'s> {
    let mut messages = Messages::default();
    let mut calls = Calls::of(session);
    let mut parts = Vec::new();
    for (message, &role) in roles.iter().enumerate() {
        let drafts = members.members(message).map(|draft| &drafts[draft]);
        parts.clear();
        for draft in drafts.clone() {
            if role == Role::User {
                join_text(&mut parts, draft);
            }
            parts.extend(draft.parts());
        }
        sort_parts(role, &mut parts);
        match role {
            Role::Assistant => {
                messages.push_results(&calls.close());
                calls.keep_first(&mut parts);
            }
            Role::User => {
                calls.keep_results(&mut parts);
                if parts.is_empty() {
                    let made = if messages.is_empty() { Made::OrphanedResult } else { Made::NoContent };
                    parts.push(Part::MadeText(made));
                }
            }
        }
        messages.push(role, &parts, drafts.filter_map(|draft| draft.node));
    }
    messages.push_results(&calls.close());
    messages
}

/// Where text of a user entry meets text of the next, a newline is put between them. Results do not stand between: they
/// come before everything else.
fn join_text<'s>(parts: &mut [Part<'s>], next: &Draft<'s>) {
    let last = parts.iter_mut().rev().find(|part| !part.is_result());
    if let (Some(last), Some(first)) = (last, next.parts().next())
        && let (Some(text), Some(_)) = (last.text(), first.text())
    {
        *last = Part::Joined(text);
    }
}

/// The calls made so far.
struct Calls<'s> {
    /// Those of the last message, and whether they have no result yet, by the id's index.
    open: Vec<&'s BlockSpan>,
    is_open: Vec<bool>,
    /// Whether a call was made, by the id's index.
    is_made: Vec<bool>,
}

impl<'s> Calls<'s> {
    fn of(session: &Session) -> Self {
        let ids = session.id_count();
        Self { open: Vec::new(), is_open: vec![false; ids], is_made: vec![false; ids] }
    }

    /// Opens the calls of a reply and drops those whose id was called before. A message of which nothing is left, or
    /// that had nothing, says so.
    fn keep_first(&mut self, parts: &mut Vec<Part<'s>>) {
        if parts.is_empty() {
            parts.push(Part::MadeText(Made::NoContent));
        }
        parts.retain(|part| {
            let Some(call) = part.call() else { return true };
            let is_first = call.tool.is_none_or(|id| !std::mem::replace(&mut self.is_made[id.index()], true));
            if is_first {
                self.open.push(call);
                if let Some(id) = call.tool {
                    self.is_open[id.index()] = true;
                }
            }
            is_first
        });
        if parts.is_empty() {
            parts.push(Part::MadeText(Made::InterruptedCall));
        }
    }

    /// Keeps the first result of each open call, makes up those that are missing, and drops all others.
    fn keep_results(&mut self, parts: &mut Vec<Part<'s>>) {
        parts.retain(|part| match part.result() {
            Some(id) => std::mem::take(&mut self.is_open[id.index()]),
            None => !matches!(part, Part::Found(block) if matches!(block.kind, BlockKind::ToolResult(_))),
        });
        parts.splice(0..0, self.close());
    }

    /// Closes the open calls and makes up results for those that have none.
    fn close(&mut self) -> Vec<Part<'s>> {
        let is_open = &mut self.is_open;
        let unanswered = self
            .open
            .drain(..)
            .filter(|call| call.tool.is_none_or(|id| std::mem::take(&mut is_open[id.index()])));
        unanswered.map(|call| Part::MadeResult { call, text: Made::MissingResult }).collect()
    }
}
