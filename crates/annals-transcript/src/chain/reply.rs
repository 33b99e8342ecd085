//! What belongs to a reply: its lines, the results of its calls, and context (CHAIN.md 5).

use crate::entry::{Flag, Kind};
use crate::session::{BlockKind, Id, Node, Session};

/// Returns the reply that an entry is a line of.
pub(super) fn of(node: &Node) -> Option<Id> {
    node.message_id.filter(|_| node.kind == Kind::Assistant)
}

/// Returns the calls that an entry makes.
pub(super) fn calls<'a>(session: &'a Session, node: &'a Node) -> impl Iterator<Item = Id> + 'a {
    let blocks = if node.kind == Kind::Assistant { session.blocks(node) } else { &[] };
    blocks.iter().filter(|block| block.kind == BlockKind::ToolUse).filter_map(|block| block.tool)
}

/// Returns whether an entry is a user entry with a result.
pub(super) fn has_result(session: &Session, node: &Node) -> bool {
    node.kind == Kind::User && session.has_results(node)
}

/// Returns the calls that an entry answers.
pub(super) fn results<'a>(session: &'a Session, node: &'a Node) -> impl Iterator<Item = Id> + Clone + 'a {
    let blocks = if node.kind == Kind::User { session.blocks(node) } else { &[] };
    blocks.iter().filter(|block| block.is_result()).filter_map(|block| block.tool)
}

/// Returns whether an entry is context: a system entry other than a boundary, an attachment, or injected text.
pub(super) fn is_context(session: &Session, node: &Node) -> bool {
    match node.kind {
        Kind::Attachment => true,
        Kind::System => session.boundary(node).is_none(),
        Kind::User => node.has(Flag::Meta) && !has_result(session, node),
        _ => false,
    }
}

/// Returns whether an entry continues a reply instead of beginning something else: a line of it, a result, or context.
pub(super) fn continues(session: &Session, node: &Node, reply: Option<Id>) -> bool {
    match node.kind {
        Kind::Assistant => reply.is_some() && of(node) == reply,
        Kind::User => node.has(Flag::Meta) || has_result(session, node),
        _ => is_context(session, node),
    }
}
