//! The model view: what the client would send to the model if a session were resumed now.
//!
//! Rules in `docs/CHAIN.md`. Messages are made of spans of the file; nothing is read until it is asked for.

mod block;

use std::collections::BTreeSet;

use crate::chain::{Chain, NodeIndex};
use crate::entry::{Flag, Kind};
use crate::groups::Groups;
use crate::place::Place;
use crate::session::{BlockKind, BlockSpan, Id, Session, index};
pub use block::{block_as_sent, text_with_newline};

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
    /// All text of an entry, in words of Claude Code that are not reproduced here.
    Wrapped {
        /// The blocks of the entry, text and other.
        blocks: &'s [BlockSpan],
        /// What the words say about the text.
        wrapper: Wrapper,
    },
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

/// What Claude Code says about a text that it wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// It reports what a background task did; the user did not write it.
    Notification,
    /// The user sent it while a turn was running.
    Queued,
}

impl Wrapper {
    /// Returns its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Wrapper::Notification => "notification",
            Wrapper::Queued => "queued",
        }
    }
}

/// What the client makes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Stands for the reply to a prompt that was never answered.
    NoResponse,
    /// Stands for the result of a call that was running when the session ended.
    Interrupted,
    /// Stands for calls that cannot be sent: made before under the same id, or to the server and without result.
    InterruptedCall,
    /// Stands for a reply that holds nothing but what the advisor said.
    AdvisorResponse,
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
            Made::AdvisorResponse => "[Advisor response]",
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
    drop_unanswered_calls(session, &mut drafts, &answered);
    answer_last_calls(session, &mut drafts, &answered);
    drop_empty_replies(session, &mut drafts);
    answer_last_prompt(&mut drafts);
    cut_at_boundary(&mut drafts);
    drafts.retain(|draft| !draft.is_unsent);
    move_attachments_up(&mut drafts);
    let (roles, members) = merge(session, drafts.iter());
    pair_results(session, &drafts, &roles, &members)
}

/// An entry on its way into a message.
#[derive(Clone, Copy, Debug)]
struct Draft<'s> {
    speaker: Speaker,
    node: Option<Place>,
    reply: Option<Reply>,
    /// A part that does not stand in the file as it is: it comes before the blocks.
    made: Option<Part<'s>>,
    /// The blocks of the file.
    blocks: &'s [BlockSpan],
    /// Which of the blocks are sent.
    sends: Sends,
    /// Whether it counts in the conversation but is not sent: an error that Claude Code made up, or a virtual message.
    is_unsent: bool,
    is_meta: bool,
    is_compact_summary: bool,
    local_command: LocalCommand,
}

/// Which blocks of an entry are sent as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sends {
    All,
    /// Text is in the part that is made.
    AllButText,
    Nothing,
}

/// What an entry of the user says about local commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocalCommand {
    Nothing,
    /// That the commands behind it are not meant for the model.
    Caveat,
    /// The name of one, or what it printed.
    Text,
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
    /// Returns what an entry contributes; nothing for those that Claude Code does not look at.
    fn of(session: &'s Session, place: NodeIndex) -> Option<Self> {
        let node = &session.nodes()[place];
        let attached = session.attached(place);
        let is_wrapped = node.has(Flag::HumanTurn) && attached.is_empty();
        let blocks = match node.kind {
            Kind::Attachment if !is_wrapped => attached,
            _ => session.blocks(node),
        };
        let speaker = match node.kind {
            Kind::User => Speaker::User,
            Kind::Assistant => Speaker::Assistant,
            Kind::System if session.boundary(node).is_some() => Speaker::Boundary,
            Kind::System if node.has(Flag::LocalCommand) && !node.has(Flag::DisplayOnly) => {
                Speaker::LocalCommand
            }
            Kind::Attachment => Speaker::Attachment,
            _ => return None,
        };
        let nameless = node.has(Flag::Request).then_some(Reply::Nameless);
        let (made, sends) = match speaker {
            Speaker::User
                if node.has(Flag::Notification) && blocks.iter().any(|block| block.kind.is_text()) =>
            {
                (Some(Part::Wrapped { blocks, wrapper: Wrapper::Notification }), Sends::AllButText)
            }
            Speaker::Attachment if is_wrapped => {
                (Some(Part::Wrapped { blocks, wrapper: Wrapper::Queued }), Sends::AllButText)
            }
            Speaker::Assistant if is_thinking_and_blank(blocks) => (None, Sends::AllButText),
            Speaker::LocalCommand if !says_something(blocks) => {
                (Some(Part::MadeText(Made::NoContent)), Sends::Nothing)
            }
            _ => (None, Sends::All),
        };
        Some(Self {
            speaker,
            node: Some(Place::at(place)),
            reply: node.message_id.map(Reply::Id).or(nameless).filter(|_| speaker == Speaker::Assistant),
            made,
            blocks,
            sends,
            is_unsent: match speaker {
                Speaker::User => node.has(Flag::Virtual) || node.has(Flag::NoBlocks),
                Speaker::Assistant => {
                    node.has(Flag::Virtual) || node.has(Flag::ApiError) && node.has(Flag::Synthetic)
                }
                Speaker::LocalCommand | Speaker::Attachment | Speaker::Boundary => false,
            },
            is_meta: node.has(Flag::Meta),
            is_compact_summary: node.has(Flag::CompactSummary),
            local_command: match () {
                () if node.has(Flag::Caveat) => LocalCommand::Caveat,
                () if node.has(Flag::CommandText) => LocalCommand::Text,
                () => LocalCommand::Nothing,
            },
        })
    }

    fn made(speaker: Speaker, part: Part<'s>) -> Self {
        Self {
            speaker,
            node: None,
            reply: None,
            made: Some(part),
            blocks: &[],
            sends: Sends::All,
            is_unsent: false,
            is_meta: false,
            is_compact_summary: false,
            local_command: LocalCommand::Nothing,
        }
    }

    fn parts(&self) -> impl Iterator<Item = Part<'s>> + Clone + use<'s> {
        let sends = self.sends;
        let sent = self.blocks.iter().filter(move |block| match sends {
            Sends::All => block.kind != BlockKind::Malformed,
            Sends::AllButText => block.kind != BlockKind::Malformed && !block.kind.is_text(),
            Sends::Nothing => false,
        });
        self.made.into_iter().chain(sent.map(Part::Found))
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

    /// Returns whether it starts a turn: it is the user's and no result, or was injected.
    fn is_prompt(&self) -> bool {
        self.speaker == Speaker::User && (self.is_meta || !self.has_results())
    }

    /// Returns the reply that it is a line of, if that has an id.
    fn named_reply(&self) -> Option<Id> {
        match self.reply {
            Some(Reply::Id(id)) => Some(id),
            _ => None,
        }
    }

    /// Returns whether it is the model's and all its blocks are of certain kinds.
    fn is_only(&self, kinds: impl Fn(BlockKind) -> bool) -> bool {
        let mut found = self.blocks.iter().filter(|block| block.kind != BlockKind::Malformed).peekable();
        self.speaker == Speaker::Assistant && found.peek().is_some() && found.all(|block| kinds(block.kind))
    }

    /// Returns whether it is a reply of blank text.
    fn is_blank(&self) -> bool {
        self.is_only(is_blank)
    }

    /// Returns whether it is a reply that says nothing by itself: reasoning, or a placeholder.
    fn is_hollow(&self) -> bool {
        self.is_only(|kind| is_blank(kind) || matches!(kind, BlockKind::Thinking | BlockKind::NoContentText))
    }
}

/// Returns whether a reply is nothing but reasoning and blank text, of which Claude Code drops the text.
fn is_thinking_and_blank(blocks: &[BlockSpan]) -> bool {
    blocks.iter().all(|block| block.kind == BlockKind::Thinking || is_blank(block.kind))
        && blocks.iter().any(|block| block.kind == BlockKind::Thinking)
}

/// Returns whether a local command has text. Claude Code puts a placeholder in place of empty text and of other values.
fn says_something(blocks: &[BlockSpan]) -> bool {
    matches!(blocks, [block] if block.is_bare && block.kind.is_text() && block.kind != BlockKind::EmptyText)
}

fn is_blank(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::BlankText | BlockKind::EmptyText)
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
            Part::Joined(_) | Part::Wrapped { .. } | Part::MadeText(_) => false,
        }
    }

    fn is_text(self) -> bool {
        match self {
            Part::Found(block) | Part::Joined(block) => block.kind.is_text(),
            Part::Wrapped { .. } | Part::MadeText(_) => true,
            Part::MadeResult { .. } => false,
        }
    }

    /// Returns what kind of block of the file it is.
    fn kind(self) -> Option<BlockKind> {
        match self {
            Part::Found(block) | Part::Joined(block) => Some(block.kind),
            Part::Wrapped { .. } | Part::MadeText(_) | Part::MadeResult { .. } => None,
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
        let is_said = draft.speaker == Speaker::User && !draft.has_results();
        let interrupting = is_said || draft.speaker == Speaker::LocalCommand;
        interrupts.push(interrupts[place] + u32::from(interrupting));
        boundaries.push(boundaries[place] + u32::from(draft.speaker == Speaker::Boundary));
    }
    let beginnings = beginnings(session, drafts);
    // What moves, with the line that it moves behind.
    let mut moved: Vec<(usize, usize)> = Vec::new();
    for (place, draft) in drafts.iter().enumerate() {
        // A result whose call stands before it is in its place, even if the id is called again later.
        let later = |id: Id| {
            let is_called_before = calls.members(id.index()).next().is_some_and(|first| first < place);
            if is_called_before { None } else { calls.first_above(id.index(), place) }
        };
        let Some(call) = draft.results().filter_map(later).min() else { continue };
        // The call is sent with the first line of its reply.
        if beginnings[call] < place {
            continue;
        }
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
fn drop_unanswered_calls(session: &Session, drafts: &mut Vec<Draft<'_>>, answered: &[bool]) {
    let start = drafts.iter().rposition(Draft::is_prompt).map_or(0, |prompt| prompt + 1);
    let mut is_last_reply = vec![false; drafts.len()];
    for place in last_reply(session, drafts) {
        is_last_reply[place] = true;
    }
    let is_running = is_in_tool_loop(&drafts[start..], &is_last_reply[start..]);
    let mut places = 0..drafts.len();
    drafts.retain(|draft| {
        let in_turn = places.next().filter(|&place| place >= start);
        let mut calls = draft.calls().peekable();
        in_turn.is_some_and(|place| is_running || is_last_reply[place])
            || calls.peek().is_none()
            || calls.any(|call| call.tool.is_some_and(|id| answered[id.index()]))
    });
}

/// Returns for each draft where the first one of its message stands: a line that comes after another reply belongs to the
/// message that its own reply began.
fn beginnings(session: &Session, drafts: &[Draft<'_>]) -> Vec<usize> {
    let (places, roles, members) = spoken_messages(session, drafts);
    let mut beginnings: Vec<usize> = (0..drafts.len()).collect();
    for message in 0..roles.len() {
        let mut lines = members.members(message).map(|member| places[member]).peekable();
        let first = lines.peek().copied().unwrap_or_default();
        lines.for_each(|line| beginnings[line] = first);
    }
    beginnings
}

/// Returns where the lines of the last reply stand.
fn last_reply(session: &Session, drafts: &[Draft<'_>]) -> Vec<usize> {
    let (places, roles, members) = spoken_messages(session, drafts);
    let last = roles.iter().rposition(|&role| role == Role::Assistant);
    last.into_iter().flat_map(|last| members.members(last)).map(|member| places[member]).collect()
}

/// Merges what is said into messages, as for the request. Returns where the drafts stand that are said, who speaks in each
/// message, and which of those drafts it is made of.
fn spoken_messages(session: &Session, drafts: &[Draft<'_>]) -> (Vec<usize>, Vec<Role>, Groups) {
    let is_spoken = |draft: &Draft| !matches!(draft.speaker, Speaker::Attachment | Speaker::Boundary);
    let places: Vec<usize> = (0..drafts.len()).filter(|&place| is_spoken(&drafts[place])).collect();
    let (roles, members) = merge(session, places.iter().map(|&place| &drafts[place]));
    (places, roles, members)
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
fn answer_last_calls(session: &Session, drafts: &mut Vec<Draft<'_>>, answered: &[bool]) {
    let open = |call: &&BlockSpan| call.tool.is_none_or(|id| !answered[id.index()]);
    let lines = last_reply(session, drafts);
    let calls: Vec<_> = lines.into_iter().flat_map(|place| drafts[place].calls()).filter(open).collect();
    let result = |call| Draft::made(Speaker::User, Part::MadeResult { call, text: Made::Interrupted });
    drafts.extend(calls.into_iter().map(result));
}

/// Drops replies of blank text, and reasoning and placeholders that nothing of the same reply goes with.
fn drop_empty_replies(session: &Session, drafts: &mut Vec<Draft<'_>>) {
    let mut is_speaking = vec![false; session.id_count()];
    for draft in drafts.iter().filter(|draft| !draft.blocks.is_empty() && !draft.is_hollow()) {
        if let Some(id) = draft.named_reply() {
            is_speaking[id.index()] = true;
        }
    }
    drafts.retain(|draft| {
        let alone = || draft.named_reply().is_none_or(|id| !is_speaking[id.index()]);
        !(draft.is_blank() || draft.is_hollow() && alone())
    });
}

/// Puts a reply behind the last message if that is the user's and asks for one, or behind context if there is no message.
/// Local commands that were run after the last prompt stay behind that reply.
fn answer_last_prompt(drafts: &mut Vec<Draft<'_>>) {
    let has_context = drafts.last().is_some_and(|draft| draft.speaker == Speaker::Attachment);
    let is_message = |draft: &&Draft| matches!(draft.speaker, Speaker::User | Speaker::Assistant);
    let asks = match drafts.iter().rfind(is_message) {
        Some(last) => {
            last.speaker == Speaker::User
                && !(last.is_compact_summary && has_context)
                && !ends_in_local_commands(drafts)
        }
        None => drafts.iter().any(|draft| draft.speaker == Speaker::Attachment),
    };
    if asks {
        let is_system = |draft: &Draft| matches!(draft.speaker, Speaker::LocalCommand | Speaker::Boundary);
        let end = drafts.iter().rposition(|draft| !is_system(draft)).map_or(0, |last| last + 1);
        drafts.insert(end, Draft::made(Speaker::Assistant, Part::MadeText(Made::NoResponse)));
    }
}

/// Returns whether nothing follows the last caveat but local commands, which ask for no reply.
fn ends_in_local_commands(drafts: &[Draft<'_>]) -> bool {
    let is_message = |draft: &&Draft| matches!(draft.speaker, Speaker::User | Speaker::Assistant);
    let mut said = drafts.iter().rev().filter(is_message);
    let before_commands = said.find(|draft| draft.local_command != LocalCommand::Text);
    before_commands.is_some_and(|draft| draft.local_command == LocalCommand::Caveat)
}

/// Drops what stands before the last compaction, and its mark.
fn cut_at_boundary(drafts: &mut Vec<Draft<'_>>) {
    if let Some(last) = drafts.iter().rposition(|draft| draft.speaker == Speaker::Boundary) {
        drafts.drain(..=last);
    }
}

/// Moves attachments up to the reply or the result that they follow, past prompts and local commands, and context past the
/// queued prompts of the user. Drops those of which nothing is sent as the user's.
fn move_attachments_up(drafts: &mut Vec<Draft<'_>>) {
    let is_attachment = |draft: &Draft| draft.speaker == Speaker::Attachment;
    drafts.retain(|draft| !is_attachment(draft) || draft.parts().next().is_some());
    let ends_run = |draft: &Draft| draft.speaker == Speaker::Assistant || draft.has_results();
    // Of context only images are sent; a prompt begins with text.
    let begins_with_text = |draft: &Draft| draft.parts().next().is_some_and(Part::is_text);
    let is_context = |draft: &Draft| is_attachment(draft) && !begins_with_text(draft);
    for run in drafts.split_inclusive_mut(ends_run) {
        let end = run.len() - usize::from(run.last().is_some_and(ends_run));
        run[..end].sort_by_key(|draft| (!is_context(draft), !is_attachment(draft)));
    }
}

/// Merges user entries that follow each other, and the lines of a reply across the results that stand between them.
/// Returns who speaks in each message, and the drafts that it is made of.
fn merge<'s: 'd, 'd>(
    session: &Session,
    drafts: impl ExactSizeIterator<Item = &'d Draft<'s>>,
) -> (Vec<Role>, Groups) {
    let mut roles: Vec<Role> = Vec::new();
    let mut message_of: Vec<Place> = Vec::with_capacity(drafts.len());
    // Where further lines of a reply go, as long as no message of the user stands between that has neither results nor
    // only attachments: lines of replies before that go to messages of their own.
    let mut message_of_reply: Vec<Option<Place>> = vec![None; session.id_count() + 1];
    let mut open_from = Place::at(0);
    let (mut has_result, mut has_prompt) = (false, false);
    for draft in drafts {
        let role = if draft.speaker == Speaker::Assistant { Role::Assistant } else { Role::User };
        let reply = draft.reply.map(Reply::index);
        let follows_user = roles.last() == Some(&Role::User);
        let target = match role {
            Role::User => follows_user.then(|| Place::at(roles.len() - 1)),
            Role::Assistant => {
                if follows_user && has_prompt && !has_result {
                    open_from = Place::at(roles.len());
                }
                reply.and_then(|reply| message_of_reply[reply]).filter(|&message| message >= open_from)
            }
        };
        let target = target.unwrap_or_else(|| {
            roles.push(role);
            (has_result, has_prompt) = (false, false);
            Place::at(roles.len() - 1)
        });
        has_result |= role == Role::User && draft.parts().any(Part::is_result);
        has_prompt |= role == Role::User && draft.speaker != Speaker::Attachment;
        if let Some(reply) = reply {
            message_of_reply[reply] = Some(target);
        }
        message_of.push(target);
    }
    let pairs = message_of.iter().enumerate().map(|(draft, &message)| (message.index(), draft));
    let members = Groups::of(roles.len(), pairs);
    (roles, members)
}

/// Within a reply the calls come after everything else.
fn sort_reply(parts: &mut [Part<'_>]) {
    if !alternates(parts) {
        parts.sort_by_key(|part| part.call().is_some());
    }
}

/// Returns whether reasoning stands directly before and directly behind calls: then all of the reply stays as it is.
fn alternates(parts: &[Part<'_>]) -> bool {
    let mut others = parts.iter().enumerate().filter(|(_, part)| part.call().is_none()).peekable();
    while let Some((place, part)) = others.next() {
        let Some(&(next, behind)) = others.peek() else { return false };
        if next > place + 1 && [part, behind].iter().all(|part| part.kind() == Some(BlockKind::Thinking)) {
            return true;
        }
    }
    false
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
        match role {
            Role::Assistant => {
                parts.extend(drafts.clone().flat_map(Draft::parts));
                if drafts.clone().nth(1).is_some() {
                    // Only a reply of one line keeps blank text.
                    parts.retain(|part| !part.kind().is_some_and(is_blank));
                }
                sort_reply(&mut parts);
                messages.push_results(&calls.close());
                drop_unsendable(&mut parts);
                calls.keep_first(&mut parts);
            }
            Role::User => {
                join(&mut parts, drafts.clone());
                let count = parts.len();
                calls.keep_results(&mut parts);
                let is_orphaned = parts.len() < count;
                drop_blank_text(&mut parts);
                if parts.is_empty() {
                    let is_first_orphan = is_orphaned && messages.is_empty();
                    let made = if is_first_orphan { Made::OrphanedResult } else { Made::NoContent };
                    parts.push(Part::MadeText(made));
                }
            }
        }
        messages.push(role, &parts, drafts.filter_map(|draft| draft.node));
    }
    messages.push_results(&calls.close());
    messages
}

/// Joins the parts of user entries that follow each other: with each entry the results come to the front, and where text
/// meets text a newline is put between them.
fn join<'s: 'd, 'd>(parts: &mut Vec<Part<'s>>, drafts: impl Iterator<Item = &'d Draft<'s>>) {
    let mut is_sorted = false;
    for (place, draft) in drafts.enumerate() {
        if draft.parts().next().is_some_and(Part::is_text) {
            // From the second entry on, text stands behind all results.
            let mut behind = parts.iter_mut().rev();
            let last = if is_sorted { behind.find(|part| !part.is_result()) } else { behind.next() };
            if let Some(last) = last
                && let Part::Found(text) = *last
                && text.kind.is_text()
            {
                *last = Part::Joined(text);
            }
        }
        parts.extend(draft.parts());
        is_sorted = place > 0;
    }
    if is_sorted {
        parts.sort_by_key(|part| !part.is_result());
    }
}

/// Drops text without a character in it that can be seen, unless a bare string is all that is said.
fn drop_blank_text(parts: &mut Vec<Part<'_>>) {
    let is_bare = matches!(parts[..], [Part::Found(BlockSpan { is_bare: true, .. })]);
    if !is_bare {
        parts.retain(|part| !part.kind().is_some_and(is_blank));
    }
}

/// Drops what Claude Code does not send of a reply. If nothing is left, a placeholder says so.
fn drop_unsendable(parts: &mut Vec<Part<'_>>) {
    parts.retain(|part| !matches!(part.kind(), Some(BlockKind::Fallback | BlockKind::EmptyText)));
    if parts.is_empty() {
        parts.push(Part::MadeText(Made::NoContent));
        return;
    }
    let answers = |kind: BlockKind, parts: &[Part<'_>]| -> BTreeSet<Option<Id>> {
        let found = parts.iter().filter_map(|part| match part {
            Part::Found(block) if block.kind == kind => Some(block.tool),
            _ => None,
        });
        found.collect()
    };
    let is_server_call = |part: &Part<'_>, ids: &BTreeSet<Option<Id>>| matches!(part, Part::Found(block) if block.kind == BlockKind::ServerToolUse && ids.contains(&block.tool));
    let advised = answers(BlockKind::AdvisorResult, parts);
    parts.retain(|part| part.kind() != Some(BlockKind::AdvisorResult) && !is_server_call(part, &advised));
    if parts.is_empty() {
        parts.push(Part::MadeText(Made::AdvisorResponse));
        return;
    }
    let answered = answers(BlockKind::ServerToolResult, parts);
    parts.retain(|part| match part.kind() {
        Some(BlockKind::ServerToolUse) => is_server_call(part, &answered),
        Some(BlockKind::ToolResult(_)) => false,
        _ => true,
    });
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

    /// Opens the calls of a reply and drops those whose id was called before. A message of which nothing is left says so.
    fn keep_first(&mut self, parts: &mut Vec<Part<'s>>) {
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
