//! Roots in the middle of a file: messages that hang on nothing although others stand before them.
//!
//! [`roots`] is the one place that says why such a message hangs on nothing, and whether what stands before it is an
//! earlier part of the same conversation. The signs are stated in `docs/CHAIN.md`, section 10.

use std::ops::Range;

use crate::chain::NodeIndex;
use crate::content::Block;
use crate::entry::view::Attachment;
use crate::entry::{Entry, Flag, Kind};
use crate::json::Value;
use crate::links::Links;
use crate::session::{BlockKind, BlockSpan, NO_ENTRY, Node, Session};

/// A root in the middle of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The entry that hangs on nothing, by its first line. It may be the output of a hook, with the message below it.
    pub node: NodeIndex,
    /// The first message below it, by its first line: a prompt or a reply, or the boundary itself.
    pub opening: NodeIndex,
    /// Why it hangs on nothing.
    pub kind: RootKind,
}

/// Why a message in the middle of a file hangs on nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// It names a parent that is not in the file, or should name one and does not.
    LostLink,
    /// A compaction begins with it.
    Boundary,
    /// Claude Code cleared the context and went on in the same file, to carry out a plan.
    ContextCleared,
    /// The conversation was written again from its first prompt on, with new uuids.
    CopyOfFirstPrompt,
    /// The user went back to the start and typed another first prompt.
    RewindToStart,
    /// A program wrote the file that gives prompts no parents.
    ParentlessPrompts,
}

impl RootKind {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            RootKind::LostLink => "lost_link",
            RootKind::Boundary => "boundary",
            RootKind::ContextCleared => "context_cleared",
            RootKind::CopyOfFirstPrompt => "copy_of_first_prompt",
            RootKind::RewindToStart => "rewind_to_start",
            RootKind::ParentlessPrompts => "parentless_prompts",
        }
    }

    /// Returns whether what stands before the root is an earlier part of the same conversation. Otherwise the
    /// conversation has left it behind.
    pub fn continues(self) -> bool {
        match self {
            RootKind::LostLink
            | RootKind::Boundary
            | RootKind::ContextCleared
            | RootKind::ParentlessPrompts => true,
            RootKind::CopyOfFirstPrompt | RootKind::RewindToStart => false,
        }
    }
}

/// Returns the roots in the middle of a session's main line, in file order.
///
/// A root counts if somebody speaks below it; hook output and notices that lead nowhere do not.
pub fn roots(session: &Session) -> Vec<Root> {
    among(&Links::of(session))
}

/// Does the same with links that are known.
pub(crate) fn among(links: &Links<'_>) -> Vec<Root> {
    let trees = Trees::of(links);
    let mut roots: Vec<Root> = Vec::new();
    for node in (0..links.session.nodes().len()).filter(|&index| is_root(links, index)) {
        let is_first = links.before(node).is_none_or(|before| trees.root_of[before] == Some(node));
        if is_first {
            continue;
        }
        if let Some(opening) = Opening::below(links, node) {
            let since = roots.last().map_or(0, |root| root.node);
            let kind = kind(links, &trees, &opening, node, since);
            roots.push(Root { node, opening: opening.node, kind });
        }
    }
    roots
}

/// Says why an entry hangs on nothing: the first sign that is found decides. `since` is where the root before it stands.
fn kind(links: &Links<'_>, trees: &Trees, opening: &Opening, node: NodeIndex, since: NodeIndex) -> RootKind {
    if links.missing(node).is_some() {
        RootKind::LostLink
    } else if opening.is_boundary {
        RootKind::Boundary
    } else if opening.follows_clear || carries_out_a_plan(links, opening.node, since..node) {
        RootKind::ContextCleared
    } else if is_copy_of_first_prompt(links, trees, opening.node) {
        RootKind::CopyOfFirstPrompt
    } else if is_rewind(links, opening.node) {
        RootKind::RewindToStart
    } else if trees.has_no_links || !trees.links_prompts && is_prompt(links, opening.node) {
        RootKind::ParentlessPrompts
    } else {
        RootKind::LostLink
    }
}

/// Returns whether an entry of the main line hangs on nothing. A compaction without a parent does, whatever it names as its
/// logical parent.
fn is_root(links: &Links<'_>, index: NodeIndex) -> bool {
    let node = links.node(index);
    let is_boundary = || links.session.boundary(node).is_some() && node.parent.is_none();
    links.duplicates.is_first(index)
        && node.kind.joins_chain()
        && !node.has(Flag::Sidechain)
        && (links.parent(index).is_none() || is_boundary())
}

/// The first message below a root.
struct Opening {
    node: NodeIndex,
    is_boundary: bool,
    /// Whether a hook ran between the root and the message because the context was cleared.
    follows_clear: bool,
}

impl Opening {
    /// Finds the first message in file order that hangs on a root, directly or through hook output and notices.
    fn below(links: &Links<'_>, root: NodeIndex) -> Option<Self> {
        if links.session.boundary(links.node(root)).is_some() {
            return Some(Self { node: root, is_boundary: true, follows_clear: false });
        }
        let (mut first, mut follows_clear) = (None::<NodeIndex>, false);
        let mut waiting = vec![root];
        while let Some(index) = waiting.pop() {
            if speaks(links.node(index)) {
                first = Some(first.map_or(index, |first| first.min(index)));
                continue;
            }
            follows_clear |= has_sign(links, index, Sign::ClearHook);
            // This ends: a root hangs on nothing, so there is no circle below it.
            waiting.extend(links.children.members(index));
        }
        first.map(|node| Self { node, is_boundary: false, follows_clear })
    }
}

/// What is known of all entries together.
struct Trees {
    /// The root that an entry hangs on in the end; none in a circle.
    root_of: Vec<Option<NodeIndex>>,
    /// The first prompt of the file.
    first_prompt: Option<NodeIndex>,
    /// Whether some prompt hangs on a reply, directly or not.
    links_prompts: bool,
    /// Whether no message of the main line has a parent.
    has_no_links: bool,
}

impl Trees {
    fn of(links: &Links<'_>) -> Self {
        let count = links.session.nodes().len();
        let entries = || (0..count).filter(|&index| links.duplicates.is_first(index));
        let mut trees = Self {
            root_of: vec![None; count],
            first_prompt: entries().find(|&index| is_prompt(links, index)),
            links_prompts: false,
            has_no_links: entries()
                .map(|index| links.node(index))
                .all(|node| !node.kind.is_message() || node.has(Flag::Sidechain) || node.parent.is_none()),
        };
        for root in entries().filter(|&index| links.parent(index).is_none()) {
            trees.add(links, root);
        }
        trees
    }

    fn add(&mut self, links: &Links<'_>, root: NodeIndex) {
        let mut waiting = vec![(root, false)];
        while let Some((index, after_reply)) = waiting.pop() {
            self.root_of[index] = Some(root);
            self.links_prompts |= after_reply && is_prompt(links, index);
            let after_reply = after_reply || links.node(index).kind == Kind::Assistant;
            waiting.extend(links.children.members(index).map(|child| (child, after_reply)));
        }
    }
}

/// Returns whether a message is the prompt that Claude Code writes when it carries out a plan with a cleared context: the
/// plan was offered between the root before it and its own.
fn carries_out_a_plan(links: &Links<'_>, opening: NodeIndex, before: Range<NodeIndex>) -> bool {
    let is_offer = |&(index, sign): &(NodeIndex, Sign)| {
        sign == Sign::PlanOffered && !links.session.nodes()[index].has(Flag::Sidechain)
    };
    let signs = links.session.signs();
    let between = &signs[place_of(signs, before.start)..place_of(signs, before.end)];
    has_sign(links, opening, Sign::PlanPrompt) && between.iter().any(is_offer)
}

/// Returns whether a message is a prompt with the time of the first prompt of the file, to the millisecond.
fn is_copy_of_first_prompt(links: &Links<'_>, trees: &Trees, opening: NodeIndex) -> bool {
    let time = |index| links.node(index).time;
    let first = trees.first_prompt.filter(|&first| first != opening);
    is_prompt(links, opening) && time(opening).is_some() && first.and_then(time) == time(opening)
}

/// Returns whether Claude Code noted behind a prompt, and before anybody spoke again, that the conversation was rewound: a
/// `last-prompt` that is explicit and names no entry.
fn is_rewind(links: &Links<'_>, opening: NodeIndex) -> bool {
    let is_note = |node: &Node| {
        node.kind == Kind::LastPrompt
            && node.has(Flag::Explicit)
            && node.leaf.is_some_and(|leaf| links.session.id_texts().get(leaf) == NO_ENTRY)
    };
    let behind = links.session.nodes()[opening + 1..].iter();
    behind.take_while(|node| !speaks(node)).any(is_note)
}

/// Returns whether somebody speaks in an entry of the main line.
fn speaks(node: &Node) -> bool {
    matches!(node.kind, Kind::User | Kind::Assistant) && !node.has(Flag::Meta) && !node.has(Flag::Sidechain)
}

/// Returns whether an entry is a prompt: not a result, not a summary, not the note that the user interrupted.
fn is_prompt(links: &Links<'_>, index: NodeIndex) -> bool {
    let node = links.node(index);
    let mut blocks = links.session.blocks(node).iter();
    node.kind == Kind::User
        && speaks(node)
        && !node.has(Flag::CompactSummary)
        && !blocks.any(|block| matches!(block.kind, BlockKind::ToolResult(_)))
        && !has_sign(links, index, Sign::Interrupt)
}

fn has_sign(links: &Links<'_>, index: NodeIndex, sign: Sign) -> bool {
    let line = links.duplicates.content(index);
    let signs = links.session.signs();
    signs.get(place_of(signs, line)).is_some_and(|&found| found == (line, sign))
}

/// Returns the place of the first sign at or behind a line.
fn place_of(signs: &[(NodeIndex, Sign)], line: NodeIndex) -> usize {
    signs.partition_point(|&(index, _)| index < line)
}

/// What an entry says about the roots around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// A prompt that Claude Code writes to have a plan carried out.
    PlanPrompt,
    /// A reply that offers a plan.
    PlanOffered,
    /// A hook that ran because the context was cleared.
    ClearHook,
    /// The note that the user interrupted.
    Interrupt,
}

/// How Claude Code begins the prompt that has a plan carried out.
const PLAN_PROMPT: &[u8] = b"Implement the following plan:";
/// How Claude Code begins the note that the user interrupted.
const INTERRUPT: &[u8] = b"[Request interrupted by user";
/// The tool that offers a plan.
const PLAN_TOOL: &str = "ExitPlanMode";
/// The hook that runs when the context is cleared.
const CLEAR_HOOK: &str = "SessionStart:clear";

impl Sign {
    /// Reads the sign of an entry, if it has one.
    pub(crate) fn of(entry: &Entry<'_>, blocks: &[BlockSpan]) -> Option<Self> {
        match entry.kind() {
            Kind::User if blocks.first().is_some_and(|block| block.kind.is_text()) => Self::of_prompt(entry),
            Kind::Assistant => offers_plan(entry).then_some(Sign::PlanOffered),
            Kind::Progress | Kind::Attachment => is_clear_hook(entry).then_some(Sign::ClearHook),
            _ => None,
        }
    }

    fn of_prompt(entry: &Entry<'_>) -> Option<Self> {
        let block = entry.content().blocks().next()?;
        let text = block.value().get("text").unwrap_or(block.value()).bytes().strip_prefix(b"\"")?;
        if text.starts_with(PLAN_PROMPT) {
            Some(Sign::PlanPrompt)
        } else {
            text.starts_with(INTERRUPT).then_some(Sign::Interrupt)
        }
    }
}

fn offers_plan(entry: &Entry<'_>) -> bool {
    let is_call =
        |block: Block<'_>| matches!(block, Block::ToolUse(call) if call.name().as_deref() == Some(PLAN_TOOL));
    mentions(entry, PLAN_TOOL) && entry.content().blocks().any(is_call)
}

fn is_clear_hook(entry: &Entry<'_>) -> bool {
    let data = || match entry.kind() {
        Kind::Attachment => entry.view::<Attachment>().and_then(|attachment| attachment.payload()),
        _ => entry.body().and_then(|body| body.get("data")),
    };
    let hook = |data: Value<'_>| data.text("hookName").is_some_and(|name| name == CLEAR_HOOK);
    mentions(entry, CLEAR_HOOK) && data().is_some_and(hook)
}

/// Returns whether a word stands anywhere in an entry. It is cheap, and spares nearly all entries a closer look.
fn mentions(entry: &Entry<'_>, word: &str) -> bool {
    memchr::memmem::find(entry.bytes(), word.as_bytes()).is_some()
}

#[cfg(test)]
mod tests;
