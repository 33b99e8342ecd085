//! The full view: everything ever recorded, in conversation order, each entry once.
//!
//! Lines with the same uuid are one entry, at the position of the first line and with the content of the last; see
//! [`duplicate`](crate::duplicate).
//!
//! The live conversation is the path from the leaf back to the first entry, across compactions and across roots after which
//! it continues (see [`second_root`]). Entries beside this path follow their parent: results and hook output as
//! live entries, abandoned prompts as branches. Entries without a parent keep their position in the file.
//!
//! ```
//! use annals_transcript::chain::Chain;
//! use annals_transcript::full_view::{self, Step};
//! use annals_transcript::session::Session;
//!
//! let file = br#"{"type":"user","uuid":"a","parentUuid":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"content":"Hi"}}
//! {"type":"user","uuid":"b","parentUuid":"a","timestamp":"2026-01-02T03:05:05.000Z","message":{"content":"Left"}}
//! {"type":"user","uuid":"c","parentUuid":"a","timestamp":"2026-01-02T03:06:05.000Z","message":{"content":"Taken"}}"#;
//! let session = Session::read(&file[..])?;
//! let steps = full_view::of(&Chain::build(&session));
//! let Step::Branch { from: Some(from), entries: 1, .. } = steps[1] else { panic!() };
//! assert_eq!(from.index(), 0);
//! assert_eq!(steps[2..], [Step::Entry { node: 1, live: false }, Step::Entry { node: 2, live: true }]);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::collections::HashSet;

use crate::chain::{Chain, NodeIndex};
use crate::entry::{Flag, Kind};
use crate::links::Links;
use crate::second_root::{self, RootKind, SecondRoot};
use crate::session::{BlockKind, BlockSpan, Id, Session, index as small};
pub use crate::small_index::SmallIndex;

/// One step of the full view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An entry.
    Entry {
        /// The entry. If several lines have its uuid, it is the one whose content counts.
        node: NodeIndex,
        /// Whether it belongs to the live conversation.
        live: bool,
    },
    /// A branch begins: the following entries do not belong to the live conversation. It ends at the next live entry or the
    /// next branch.
    Branch {
        /// Why it is not live.
        cause: Cause,
        /// The parent of its first entry; `None` if that has none. Indices take four bytes here: most steps are entries, and a session may
        /// have millions of them.
        from: Option<SmallIndex>,
        /// The number of its entries.
        entries: u32,
        /// The last of them.
        last: u32,
    },
    /// The parent of the next entry is not in the file.
    Gap {
        /// The missing parent.
        missing: Id,
    },
    /// The next entry has no parent although others come before it.
    Root {
        /// Why it has none. A missing parent is a [`Step::Gap`] instead, and a compaction boundary has no such step.
        kind: RootKind,
        /// Whether that entry belongs to the live conversation.
        live: bool,
    },
}

/// Why a branch is not part of the live conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The conversation continued from an earlier entry.
    LeftBehind,
    /// It belongs to a subagent: versions before 2.0 wrote subagents into the session's own file.
    Subagent,
}

/// Returns the full view of a session; the live conversation is the one that Claude Code would continue.
pub fn of(chain: &Chain<'_>) -> Vec<Step> {
    let session = chain.session();
    let graph = Graph::of(session);
    let restored =
        chain.entries().into_iter().map(|line| small(graph.links.duplicates.first(line))).collect();
    let path = with_restored(graph.path_to(chain.leaf()), restored, session.nodes().len());
    Emitter::new(session, &graph, &path).run(&path)
}

/// Returns the steps without the entries that a copy of the whole conversation in the same file has again (see
/// [`copied`](crate::duplicate::copied)), and without the branches that have no other ones.
pub(crate) fn without_copied(steps: &[Step], copied: &HashSet<NodeIndex>) -> Vec<Step> {
    let mut kept: Vec<Step> = Vec::with_capacity(steps.len());
    // The last branch, if it has not ended yet, is dropped again unless one of its entries is kept.
    let drop_empty_branch =
        |kept: &mut Vec<Step>| _ = kept.pop_if(|step| matches!(step, Step::Branch { .. }));
    for step in steps {
        match *step {
            Step::Entry { node, .. } if copied.contains(&node) => continue,
            Step::Entry { live: false, .. } => {}
            _ => drop_empty_branch(&mut kept),
        }
        kept.push(*step);
    }
    drop_empty_branch(&mut kept);
    kept
}

/// Adds the entries to the path that Claude Code restores although they are not on it, such as a summary before kept messages
/// or other lines of a reply. Each is inserted before the first entry of the path that comes later in the file.
/// Indices take four bytes here, too.
fn with_restored(path: Vec<u32>, mut restored: Vec<u32>, count: usize) -> Vec<u32> {
    let mut is_on_path = vec![false; count];
    for &index in &path {
        is_on_path[index as usize] = true;
    }
    restored.retain(|&index| !std::mem::replace(&mut is_on_path[index as usize], true));
    if restored.is_empty() {
        return path;
    }
    restored.sort_unstable();
    let mut restored = restored.into_iter().peekable();
    let mut whole = Vec::with_capacity(path.len() + restored.len());
    for index in path {
        while let Some(before) = restored.next_if(|&before| before < index) {
            whole.push(before);
        }
        whole.push(index);
    }
    whole.extend(restored);
    whole
}

/// The links between entries, and why some entries have no parent.
struct Graph<'a> {
    links: Links<'a>,
    /// The roots in the middle of the file, in file order.
    roots: Vec<SecondRoot>,
}

impl<'a> Graph<'a> {
    fn of(session: &'a Session) -> Self {
        let links = Links::of(session);
        let roots = second_root::find(&links);
        Self { links, roots }
    }

    fn root(&self, index: NodeIndex) -> Option<&SecondRoot> {
        self.roots.binary_search_by_key(&index, |root| root.node).ok().map(|found| &self.roots[found])
    }

    /// Returns the path from the first entry to the leaf. Where a parent is missing, and at roots after which the conversation
    /// continues, it proceeds with the last message before the entry in the file.
    fn path_to(&self, leaf: Option<NodeIndex>) -> Vec<u32> {
        let mut seen = vec![false; self.links.session.nodes().len()];
        let mut path = Vec::new();
        let mut at = leaf.map(|leaf| self.links.duplicates.first(leaf));
        while let Some(index) = at.filter(|&index| !seen[index]) {
            seen[index] = true;
            path.push(small(index));
            at = self.links.parent(index).or_else(|| self.bridged_parent(index));
        }
        path.reverse();
        path
    }

    /// Returns the entry that replaces the parent of one that has none, if the conversation continues across it.
    fn bridged_parent(&self, index: NodeIndex) -> Option<NodeIndex> {
        let is_missing = self.links.missing(index).is_some();
        let continues = is_missing || self.root(index).is_some_and(|root| root.kind.continues());
        self.links.before(index).filter(|_| continues)
    }
}

/// Puts the steps in order, each entry once.
struct Emitter<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    on_path: Vec<bool>,
    /// The replies on the path and their calls, by the index of the id: all lines and results of these are live, whatever
    /// their parent is.
    replies: Vec<bool>,
    calls: Vec<bool>,
    /// Whether an entry or one below it is a message that does not belong to the live replies. It is only set while the tree
    /// of the entry is emitted.
    leads_away: Vec<bool>,
    done: Vec<bool>,
    steps: Vec<Step>,
}

impl<'a> Emitter<'a> {
    fn new(session: &'a Session, graph: &'a Graph<'a>, path: &[u32]) -> Self {
        let nodes = session.nodes();
        let mut on_path = vec![false; nodes.len()];
        let mut replies = vec![false; session.id_count()];
        for index in path.iter().map(|&index| index as usize) {
            on_path[index] = true;
            if let Some(id) = graph.links.node(index).message_id {
                replies[id.index()] = true;
            }
        }
        let mut calls = vec![false; session.id_count()];
        for node in nodes.iter().filter(|node| node.message_id.is_some_and(|id| replies[id.index()])) {
            let made = session.blocks(node).iter().filter(|block| block.kind == BlockKind::ToolUse);
            made.filter_map(|block| block.tool).for_each(|id| calls[id.index()] = true);
        }
        let leads_away = vec![false; nodes.len()];
        // The other lines of an entry have no step of their own.
        let done = (0..nodes.len()).map(|index| !graph.links.duplicates.is_first(index)).collect();
        let steps = Vec::with_capacity(nodes.len());
        Self { session, graph, on_path, replies, calls, leads_away, done, steps }
    }

    fn run(mut self, path: &[u32]) -> Vec<Step> {
        let starts: Vec<u32> =
            (0..self.done.len()).filter(|&index| self.starts_tree(index)).map(small).collect();
        let mut starts = starts.into_iter().map(|start| start as usize).peekable();
        for index in path.iter().map(|&index| index as usize) {
            while let Some(start) = starts.next_if(|&start| start < index) {
                self.emit_tree(start, None);
            }
            self.emit(index, true);
            for child in self.graph.links.children.members(index) {
                if !self.on_path[child] {
                    self.emit_tree(child, Some(index));
                }
            }
        }
        starts.for_each(|start| self.emit_tree(start, None));
        // Only cycles are left.
        for index in 0..self.done.len() {
            if !self.done[index] {
                self.emit_tree(index, None);
            }
        }
        self.steps
    }

    /// Returns whether an entry beside the path has no parent and was not yet emitted.
    fn starts_tree(&self, index: NodeIndex) -> bool {
        !self.done[index] && !self.on_path[index] && self.graph.links.parent(index).is_none()
    }

    /// Emits an entry beside the path and all entries below it. A message that does not belong to the live replies starts a
    /// branch.
    fn emit_tree(&mut self, root: NodeIndex, from: Option<NodeIndex>) {
        let tree = self.tree(root);
        for &(index, parent) in tree.iter().rev() {
            self.leads_away[index] |= self.is_not_injected(index) && !self.belongs(index);
            if let Some(parent) = parent {
                self.leads_away[parent] |= self.leads_away[index];
            }
        }
        let mut branch_end = 0;
        for (position, &(index, parent)) in tree.iter().enumerate() {
            let live = position >= branch_end && (self.belongs(index) || !self.leads_away[index]);
            if !live && position >= branch_end {
                let branch = self.tree(index);
                branch_end = position + branch.len();
                let is_side = self.graph.links.node(index).has(Flag::Sidechain);
                let cause = if is_side { Cause::Subagent } else { Cause::LeftBehind };
                let last = branch.last().map_or(index, |(last, _)| *last);
                let duplicates = &self.graph.links.duplicates;
                self.steps.push(Step::Branch {
                    cause,
                    from: parent.or(from).map(|from| SmallIndex::new(duplicates.content(from))),
                    entries: small(branch.len()),
                    last: small(duplicates.content(last)),
                });
            }
            self.emit(index, live);
        }
    }

    fn emit(&mut self, index: NodeIndex, live: bool) {
        self.done[index] = true;
        if let Some(missing) = self.graph.links.missing(index) {
            self.steps.push(Step::Gap { missing });
        } else if let Some(root) = self.graph.root(index).filter(|root| root.kind != RootKind::Boundary) {
            self.steps.push(Step::Root { kind: root.kind, live });
        }
        self.steps.push(Step::Entry { node: self.graph.links.duplicates.content(index), live });
    }

    /// Returns an entry and all entries below it that were not yet emitted, depth first, each with its parent.
    fn tree(&self, root: NodeIndex) -> Vec<(NodeIndex, Option<NodeIndex>)> {
        let mut tree = Vec::new();
        let mut waiting = vec![(root, None)];
        while let Some((index, parent)) = waiting.pop() {
            if self.done[index] || self.on_path[index] {
                continue;
            }
            tree.push((index, parent));
            // An entry has one parent, so in a cycle only the root is met again.
            let children = self.graph.links.children.members(index).rev().filter(|&child| child != root);
            waiting.extend(children.map(|child| (child, Some(index))));
        }
        tree
    }

    /// Returns whether an entry is a line of a live reply, or the result of one of its calls.
    fn belongs(&self, index: NodeIndex) -> bool {
        let node = self.graph.links.node(index);
        match node.kind {
            Kind::Assistant => node.message_id.is_some_and(|id| self.replies[id.index()]),
            Kind::User => self.session.blocks(node).iter().any(|block| self.is_live_result(block)),
            _ => false,
        }
    }

    fn is_live_result(&self, block: &BlockSpan) -> bool {
        matches!(block.kind, BlockKind::ToolResult(_)) && block.tool.is_some_and(|id| self.calls[id.index()])
    }

    /// Returns whether an entry is a prompt, a tool result or a reply, and not injected text.
    fn is_not_injected(&self, index: NodeIndex) -> bool {
        let node = self.graph.links.node(index);
        node.kind.is_prompt_or_reply() && !node.has(Flag::Meta)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use testkit::transcript::Transcript as Lines;

    use super::*;
    use crate::conversation::{Transcript, TranscriptBytes};
    use crate::duplicate;

    fn lines() -> Lines {
        Lines::session("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55")
    }

    /// Spells the full view of a file: live entries by uuid, others in parentheses, `|` before a branch, `?` before a gap.
    fn spelled(file: &Lines) -> String {
        let session = Session::read(file.to_string().as_bytes()).unwrap();
        let steps = of(&Chain::build(&session));
        steps.iter().map(|step| spelled_step(&session, step)).collect::<Vec<_>>().join(" ")
    }

    fn spelled_step(session: &Session, step: &Step) -> String {
        match step {
            Step::Entry { node, live } => {
                let node = &session.nodes()[*node];
                let name =
                    node.id.map_or_else(|| format!("{:?}", node.kind), |id| session.id_texts().get(id));
                if *live { name } else { format!("({name})") }
            }
            Step::Branch { cause: Cause::LeftBehind, .. } => "|".to_owned(),
            Step::Branch { cause: Cause::Subagent, .. } => "@".to_owned(),
            Step::Gap { .. } => "?".to_owned(),
            Step::Root { kind, .. } => format!("<{}>", kind.name()),
        }
    }

    #[test]
    fn an_abandoned_prompt_is_a_branch_where_it_left() {
        let file = lines().user("u1", "x").assistant("a1", |reply| reply.text("x")).user("u2", "x");
        let file = file.assistant("a2", |reply| reply.text("x")).after("a1").user("u3", "x");
        assert_eq!(spelled(&file), "u1 a1 | (u2) (a2) u3");
    }

    #[test]
    fn a_leaf_in_the_middle_leaves_the_rest_behind() {
        let file = lines()
            .user("u1", "x")
            .assistant("a1", |reply| reply.id("m").text("x"))
            .assistant("a2", |reply| reply.id("m").text("x"))
            .user("u2", "x");
        let session = Session::read(file.to_string().as_bytes()).unwrap();
        let shown = of(&Chain::ending_in(&session, session.id("a1").unwrap()).unwrap());
        let [
            ..,
            Step::Entry { node: 2, live: true },
            Step::Branch { entries: 1, last: 3, .. },
            Step::Entry { node: 3, live: false },
        ] = shown[..]
        else {
            panic!("{shown:?}")
        };
    }

    #[test]
    fn a_subagent_in_the_same_file_stands_where_it_was_written() {
        let file = lines()
            .user("u1", "x")
            .assistant("a1", |reply| reply.text("x"))
            .after(None)
            .user("s1", "x")
            .with("isSidechain", true)
            .assistant("s2", |reply| reply.text("x"))
            .with("isSidechain", true)
            .after("a1")
            .user("u2", "x");
        assert_eq!(spelled(&file), "u1 a1 @ (s1) (s2) u2");
    }

    #[test]
    fn hook_output_and_records_are_no_branches() {
        let file = lines()
            .user("u1", "x")
            .record("mode", json!({"mode": "normal"}))
            .message("attachment", "h1", json!({"attachment": {"type": "hook_success"}}))
            .after("u1")
            .assistant("a1", |reply| reply.text("x"));
        assert_eq!(spelled(&file), "u1 h1 Mode a1");
    }

    #[test]
    fn damaged_lines_are_steps() {
        let session = Session::read(format!("{}noise", lines().user("u1", "x")).as_bytes()).unwrap();
        let steps = of(&Chain::build(&session));
        assert_eq!(steps[1..], [Step::Entry { node: 1, live: true }]);
    }

    #[test]
    fn compactions_do_not_end_the_full_view_and_gaps_are_shown() {
        let file = lines()
            .after("gone")
            .user("u1", "x")
            .assistant("a1", |reply| reply.text("x"))
            .after(None)
            .message("system", "b", json!({"subtype": "compact_boundary", "logicalParentUuid": "a1"}))
            .user("sum", "x");
        assert_eq!(spelled(&file), "? u1 a1 b sum");
        let file = lines().user("u1", "x").assistant("a1", |reply| reply.text("x"));
        let file = file.after("lost").assistant("a2", |reply| reply.text("x"));
        assert_eq!(spelled(&file), "u1 a1 ? a2");
    }

    #[test]
    fn lines_of_one_uuid_are_one_entry_with_the_last_content_at_the_first_place() {
        let file = lines()
            .user("u1", "x")
            .assistant("a1", |reply| reply.id("m").text("x"))
            .after("u1")
            .message("attachment", "h", json!({"attachment": {"type": "hook_success"}}))
            .after("u1")
            .assistant("a1", |reply| reply.id("m").text("y"))
            .user("u2", "x");
        assert_eq!(spelled(&file), "u1 h a1 u2");
        let session = Session::read(file.to_string().as_bytes()).unwrap();
        let steps = of(&Chain::build(&session));
        assert_eq!(steps[2], Step::Entry { node: 3, live: true });
    }

    /// Claude Code keeps the ids of replies when it copies a conversation, so that the original counts as live, too.
    #[test]
    fn what_was_copied_is_shown_once() {
        let first = "2026-03-01T10:00:00Z";
        let original = lines()
            .at(first)
            .user("u1", "x")
            .assistant("a1", |reply| reply.id("m").text("x"))
            .assistant("lost", |reply| reply.id("m").text("x"))
            .after("a1")
            .user("u2", "x");
        let copied = original
            .clone()
            .at(first)
            .after(None)
            .user("c1", "x")
            .assistant("c2", |reply| reply.id("m").text("x"))
            .at("2026-03-01T10:00:03Z")
            .user("c3", "x")
            .user("new", "x");
        let transcript = TranscriptBytes::new(copied.to_string());
        let session = transcript.session();
        let steps = without_copied(&of(&Chain::build(session)), &duplicate::copied(&transcript).unwrap());
        let shown: Vec<_> = steps.iter().map(|step| spelled_step(session, step)).collect();
        let shown: Vec<_> = shown.iter().filter(|step| !step.starts_with('<')).collect();
        assert_eq!(shown, ["lost", "c1", "c2", "c3", "new"]);
        let original = TranscriptBytes::new(original.to_string());
        let steps = of(&Chain::build(original.session()));
        assert_eq!(without_copied(&steps, &duplicate::copied(&original).unwrap()), steps);
    }

    #[test]
    fn a_duplicate_of_an_abandoned_prompt_stays_at_its_place() {
        let file = lines().user("u1", "x").user("left", "x").after("u1").user("later", "x");
        let file = file.after("u1").user("left", "x").after("u1").assistant("a1", |reply| reply.text("x"));
        assert_eq!(spelled(&file), "u1 | (left) | (later) a1");
    }

    #[test]
    fn cycles_and_duplicates_are_shown_once() {
        let file = lines().after("u2").user("u1", "x").user("u2", "x").after("u1").user("u2", "x");
        let shown = spelled(&file);
        assert_eq!(shown.matches("u1").count(), 1, "{shown}");
        assert_eq!(shown.matches("u2").count(), 1, "{shown}");
    }
}
