//! Roots in the middle of a file: messages without a parent although other messages come before them.
//!
//! [`second_roots`] is the only function that decides why such a message has no parent, and whether the messages before it are an
//! earlier part of the same conversation. `docs/CHAIN.md`, section 10, lists the signs that it uses.
//!
//! ```
//! use annals_transcript::second_root::{RootKind, second_roots};
//! use annals_transcript::session::Session;
//!
//! let file = br#"{"type":"user","uuid":"a","parentUuid":null,"message":{"content":"Hi"}}
//! {"type":"assistant","uuid":"b","parentUuid":"a","message":{"content":"Hello"}}
//! {"type":"user","uuid":"c","parentUuid":"gone","message":{"content":"And now?"}}"#;
//! let found = second_roots(&Session::read(&file[..])?);
//! assert_eq!((found[0].node, found[0].kind), (2, RootKind::LostLink));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::chain::NodeIndex;
use crate::content::Block;
use crate::entry::view::Attachment;
use crate::entry::{Entry, Flag, Kind};
use crate::links::Links;
use crate::session::{BlockKind, BlockSpan, NO_ENTRY, Node, Session};
use crate::small_index::SmallIndex;

/// A root in the middle of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecondRoot {
    /// The entry without a parent, by its first line. It may be the output of a hook, with the message below it.
    pub node: NodeIndex,
    /// The first message below it, by its first line: a prompt or a reply, or the boundary itself.
    pub opening: NodeIndex,
    /// Why it has no parent.
    pub kind: RootKind,
}

/// Why a message in the middle of a file has no parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// It names a parent that is not in the file, or should name one and does not.
    LostLink,
    /// A compaction begins with it.
    Boundary,
    /// Claude Code cleared the context and continued in the same file, to carry out a plan.
    ContextCleared,
    /// The whole conversation was written again with new uuids.
    CopyOfFirstPrompt,
    /// The user went back to the start and typed another first prompt.
    RewindToStart,
    /// The file was written by a program that gives prompts no parents.
    ParentlessPrompts,
}

impl RootKind {
    /// Returns its name in outputs.
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

    /// Returns whether the messages before the root are an earlier part of the same conversation. Otherwise they are an
    /// abandoned branch.
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

/// Returns the roots in the middle of a session's main line, in file order. A root without a prompt or reply below it, such
/// as hook output, is not returned.
pub fn second_roots(session: &Session) -> Vec<SecondRoot> {
    find(&Links::of(session))
}

/// Does the same with links that were already built.
pub(crate) fn find(links: &Links<'_>) -> Vec<SecondRoot> {
    let trees = Trees::of(links);
    let mut roots: Vec<SecondRoot> = Vec::new();
    for node in (0..links.session.nodes().len()).filter(|&index| is_root(links, index)) {
        let is_first =
            links.before(node).is_none_or(|before| trees.root_of[before] == Some(SmallIndex::new(node)));
        if is_first {
            continue;
        }
        if let Some(opening) = Opening::below(links, node) {
            let since = roots.last().map_or(0, |root| root.node);
            let kind = kind(links, &trees, &opening, node, since);
            roots.push(SecondRoot { node, opening: opening.node, kind });
        }
    }
    roots
}

/// Returns why an entry has no parent: the first sign that is found decides (CHAIN.md 10). `since` is the root before it.
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

/// Returns whether an entry of the main line is a root. A compaction boundary without a parent is one even if its logical
/// parent is in the file.
fn is_root(links: &Links<'_>, index: NodeIndex) -> bool {
    let node = links.node(index);
    let is_boundary = links.session.boundary(node).is_some() && node.parent.is_none();
    links.duplicates.is_first(index)
        && node.kind.joins_chain()
        && !node.has(Flag::Sidechain)
        && (links.parent(index).is_none() || is_boundary)
}

/// The first message below a root.
struct Opening {
    node: NodeIndex,
    is_boundary: bool,
    /// Whether a hook ran between the root and the message because the context was cleared.
    follows_clear: bool,
}

impl Opening {
    /// Finds the first message in file order below a root, directly or below hook output and notices.
    fn below(links: &Links<'_>, root: NodeIndex) -> Option<Self> {
        if links.session.boundary(links.node(root)).is_some() {
            return Some(Self { node: root, is_boundary: true, follows_clear: false });
        }
        let (mut first, mut follows_clear) = (None::<NodeIndex>, false);
        let mut waiting = vec![root];
        while let Some(index) = waiting.pop() {
            if is_main_and_not_injected(links.node(index)) {
                first = Some(first.map_or(index, |first| first.min(index)));
                continue;
            }
            follows_clear |= has_sign(links, index, Sign::ClearHook);
            // This ends: a root has no parent, so it is in no cycle.
            waiting.extend(links.children.members(index));
        }
        first.map(|node| Self { node, is_boundary: false, follows_clear })
    }
}

/// Facts about all entries of a file.
struct Trees {
    /// The root of the tree that an entry belongs to; `None` in a cycle.
    root_of: Vec<Option<SmallIndex>>,
    /// The first prompt of the file.
    first_prompt: Option<NodeIndex>,
    /// Whether any prompt is a descendant of a reply.
    links_prompts: bool,
    /// Whether no message of the main line has a parent.
    has_no_links: bool,
}

impl Trees {
    fn of(links: &Links<'_>) -> Self {
        let count = links.session.nodes().len();
        let entries = (0..count).filter(|&index| links.duplicates.is_first(index));
        let mut trees = Self {
            root_of: vec![None; count],
            first_prompt: entries.clone().find(|&index| is_prompt(links, index)),
            links_prompts: false,
            has_no_links: entries
                .clone()
                .map(|index| links.node(index))
                .all(|node| !node.kind.is_message() || node.has(Flag::Sidechain) || node.parent.is_none()),
        };
        for root in entries.filter(|&index| links.parent(index).is_none()) {
            trees.add(links, root);
        }
        trees
    }

    fn add(&mut self, links: &Links<'_>, root: NodeIndex) {
        let mut waiting = vec![(root, false)];
        let tree = Some(SmallIndex::new(root));
        while let Some((index, after_reply)) = waiting.pop() {
            self.root_of[index] = tree;
            self.links_prompts |= after_reply && is_prompt(links, index);
            let after_reply = after_reply || links.node(index).kind == Kind::Assistant;
            waiting.extend(links.children.members(index).map(|child| (child, after_reply)));
        }
    }
}

/// Returns whether a message is the prompt that Claude Code writes to carry out a plan with a cleared context. Such a plan was
/// offered between the previous root and this one.
fn carries_out_a_plan(links: &Links<'_>, opening: NodeIndex, before: Range<NodeIndex>) -> bool {
    let signs = links.session.signs();
    let between = &signs[sign_index(signs, before.start)..sign_index(signs, before.end)];
    has_sign(links, opening, Sign::PlanPrompt)
        && between.iter().any(|&(index, sign)| is_plan_offer(links.session, index, sign))
}

fn is_plan_offer(session: &Session, index: NodeIndex, sign: Sign) -> bool {
    sign == Sign::PlanOffered && !session.nodes()[index].has(Flag::Sidechain)
}

/// Returns whether a message is a prompt with the time of the first prompt of the file, to the millisecond.
fn is_copy_of_first_prompt(links: &Links<'_>, trees: &Trees, opening: NodeIndex) -> bool {
    let first = trees.first_prompt.filter(|&first| first != opening);
    let time = links.node(opening).time();
    is_prompt(links, opening) && time.is_some() && first.and_then(|first| links.node(first).time()) == time
}

/// Returns whether Claude Code recorded that the conversation was rewound: between the prompt and the next message there is
/// an explicit `last-prompt` that names no entry.
fn is_rewind(links: &Links<'_>, opening: NodeIndex) -> bool {
    let after = links.session.nodes()[opening + 1..].iter();
    after.take_while(|node| !is_main_and_not_injected(node)).any(|node| is_rewind_record(links.session, node))
}

fn is_rewind_record(session: &Session, node: &Node) -> bool {
    node.kind == Kind::LastPrompt
        && node.has(Flag::Explicit)
        && session.leaf(node).is_some_and(|leaf| session.id_texts().get(leaf) == NO_ENTRY)
}

/// Returns whether an entry of the main line is a prompt, a tool result or a reply, and not injected text.
fn is_main_and_not_injected(node: &Node) -> bool {
    node.kind.is_prompt_or_reply() && !node.has(Flag::Meta) && !node.has(Flag::Sidechain)
}

/// Returns whether an entry is a prompt: not a tool result, a summary or the note that the user interrupted.
fn is_prompt(links: &Links<'_>, index: NodeIndex) -> bool {
    let node = links.node(index);
    let mut blocks = links.session.blocks(node).iter();
    node.kind == Kind::User
        && is_main_and_not_injected(node)
        && !node.has(Flag::CompactSummary)
        && !blocks.any(|block| matches!(block.kind, BlockKind::ToolResult(_)))
        && !has_sign(links, index, Sign::Interrupt)
}

fn has_sign(links: &Links<'_>, index: NodeIndex, sign: Sign) -> bool {
    let line = links.duplicates.content(index);
    let signs = links.session.signs();
    signs.get(sign_index(signs, line)).is_some_and(|&found| found == (line, sign))
}

/// Returns the index of the first sign at or after a line.
fn sign_index(signs: &[(NodeIndex, Sign)], line: NodeIndex) -> usize {
    signs.partition_point(|&(index, _)| index < line)
}

/// Evidence in an entry for why a root near it has no parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// A prompt that Claude Code writes to carry out a plan.
    PlanPrompt,
    /// A reply that offers a plan.
    PlanOffered,
    /// A hook that ran because the context was cleared.
    ClearHook,
    /// The note that the user interrupted.
    Interrupt,
}

/// The beginning of the prompt that Claude Code writes to carry out a plan.
const PLAN_PROMPT: &[u8] = b"Implement the following plan:";
/// The beginning of the note that Claude Code writes when the user interrupts.
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
    static NAME: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(PLAN_TOOL));
    let is_call =
        |block: Block<'_>| matches!(block, Block::ToolUse(call) if call.name().as_deref() == Some(PLAN_TOOL));
    mentions(entry, &NAME) && entry.content().blocks().any(is_call)
}

fn is_clear_hook(entry: &Entry<'_>) -> bool {
    static NAME: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(CLEAR_HOOK));
    mentions(entry, &NAME) && hook_name(entry).is_some_and(|name| name == CLEAR_HOOK)
}

fn hook_name<'a>(entry: &Entry<'a>) -> Option<Cow<'a, str>> {
    let data = match entry.kind() {
        Kind::Attachment => entry.view::<Attachment>()?.payload()?,
        _ => entry.body()?.get("data")?,
    };
    data.text("hookName")
}

/// Returns whether a word occurs anywhere in an entry. This is cheap and rules out nearly all entries without parsing them.
fn mentions(entry: &Entry<'_>, word: &Finder<'_>) -> bool {
    word.find(entry.bytes()).is_some()
}

#[cfg(test)]
mod tests;
