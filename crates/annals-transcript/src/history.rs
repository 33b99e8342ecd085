//! The full view: everything ever recorded, in conversation order, each entry once.
//!
//! Lines with the same uuid are one entry, at the place of the first line and with the content of the last; see
//! [`duplicate`](crate::duplicate).
//!
//! The live conversation is the line from the leaf back to the first entry, across compactions and across roots behind
//! which it goes on (see [`root`](mod@crate::root)). What hangs beside
//! it follows the entry it hangs on: results and hook output as they are, abandoned prompts as branches. What
//! hangs on nothing stands where it stands in the file.

use crate::chain::{Chain, NodeIndex};
use crate::entry::{Flag, Kind};
use crate::links::Links;
use crate::root::{self, Root, RootKind};
use crate::session::{BlockKind, Id, Session};

/// One step of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An entry.
    Entry {
        /// The entry: of several lines with its uuid, the one whose content counts.
        node: NodeIndex,
        /// Whether it belongs to the live conversation.
        live: bool,
    },
    /// What follows does not belong to the live conversation. It ends where an entry is live again or the next
    /// branch starts.
    Branch {
        /// Why it does not belong.
        cause: Cause,
        /// The entry that it leaves from; none if it hangs on nothing.
        from: Option<NodeIndex>,
        /// How many entries it has.
        entries: usize,
        /// The last of them: the leaf of the conversation that it was.
        last: NodeIndex,
    },
    /// The parent of the next entry is not in the file.
    Gap {
        /// The missing parent.
        missing: Id,
    },
    /// The next entry hangs on nothing although others stand before it.
    Root {
        /// Why: anything but a missing parent, which is a gap, and a compaction, which speaks for itself.
        kind: RootKind,
        /// Whether that entry belongs to the live conversation.
        live: bool,
    },
}

/// Why entries stand beside the live conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The conversation went on from somewhere else.
    LeftBehind,
    /// They are a subagent's, written into the session's own file as clients before 2.0 did.
    Subagent,
}

/// Returns the history of a session; `leaf` says which line of it is the live one.
pub fn steps(session: &Session, leaf: Option<NodeIndex>) -> Vec<Step> {
    let graph = Graph::of(session);
    let path = graph.path_to(leaf);
    Emitter::new(session, &graph, &path).run(&path)
}

/// Returns the history of a session with the conversation that the client would go on with as the live one.
pub fn of(chain: &Chain<'_>) -> Vec<Step> {
    let session = chain.session();
    let graph = Graph::of(session);
    let restored = chain.entries().into_iter().map(|line| graph.links.duplicates.first(line)).collect();
    let path = with_restored(graph.path_to(chain.leaf()), restored, session.nodes().len());
    Emitter::new(session, &graph, &path).run(&path)
}

/// Puts into the line what the client restores besides: a summary whose kept messages come last, copies of replies. Each
/// goes before the first entry of the line that stands further down in the file.
fn with_restored(path: Vec<NodeIndex>, mut restored: Vec<NodeIndex>, count: usize) -> Vec<NodeIndex> {
    let mut is_there = vec![false; count];
    for &index in &path {
        is_there[index] = true;
    }
    restored.retain(|&index| !std::mem::replace(&mut is_there[index], true));
    if restored.is_empty() {
        return path;
    }
    restored.sort_unstable();
    let mut restored = restored.into_iter().peekable();
    let mut line = Vec::with_capacity(path.len() + restored.len());
    for index in path {
        while let Some(before) = restored.next_if(|&before| before < index) {
            line.push(before);
        }
        line.push(index);
    }
    line.extend(restored);
    line
}

/// What entries hang on, and why some hang on nothing.
struct Graph<'a> {
    links: Links<'a>,
    /// In file order.
    roots: Vec<Root>,
}

impl<'a> Graph<'a> {
    fn of(session: &'a Session) -> Self {
        let links = Links::of(session);
        let roots = root::among(&links);
        Self { links, roots }
    }

    fn root(&self, index: NodeIndex) -> Option<&Root> {
        self.roots.binary_search_by_key(&index, |root| root.node).ok().map(|place| &self.roots[place])
    }

    /// Returns the line from the first entry to the leaf. Where a parent is missing, and across roots behind which the
    /// conversation goes on, it continues with the last message before the entry in the file.
    fn path_to(&self, leaf: Option<NodeIndex>) -> Vec<NodeIndex> {
        let mut seen = vec![false; self.links.session.nodes().len()];
        let mut path = Vec::new();
        let mut at = leaf.map(|leaf| self.links.duplicates.first(leaf));
        while let Some(index) = at.filter(|&index| !seen[index]) {
            seen[index] = true;
            path.push(index);
            let continues = || self.root(index).is_some_and(|root| root.kind.continues());
            let bridges = || self.links.missing(index).is_some() || continues();
            at = self.links.parent(index).or_else(|| self.links.before(index).filter(|_| bridges()));
        }
        path.reverse();
        path
    }
}

/// Puts the steps in order, each entry once.
struct Emitter<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    on_path: Vec<bool>,
    /// Replies on the path, and calls that they made, by the id's index: lines and results of these are live wherever
    /// they hang.
    replies: Vec<bool>,
    calls: Vec<bool>,
    /// Whether somebody speaks in or below an entry who does not belong to the live replies; known while the tree that
    /// it stands in is emitted.
    leads_away: Vec<bool>,
    done: Vec<bool>,
    steps: Vec<Step>,
}

impl<'a> Emitter<'a> {
    fn new(session: &'a Session, graph: &'a Graph<'a>, path: &[NodeIndex]) -> Self {
        let nodes = session.nodes();
        let mut on_path = vec![false; nodes.len()];
        let mut replies = vec![false; session.id_count()];
        for &index in path {
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
        // Further lines of an entry have no step of their own.
        let done = (0..nodes.len()).map(|index| !graph.links.duplicates.is_first(index)).collect();
        let steps = Vec::with_capacity(nodes.len());
        Self { session, graph, on_path, replies, calls, leads_away, done, steps }
    }

    fn run(mut self, path: &[NodeIndex]) -> Vec<Step> {
        let is_start = |index: &NodeIndex| {
            !self.done[*index] && !self.on_path[*index] && self.graph.links.parent(*index).is_none()
        };
        let starts: Vec<_> = (0..self.done.len()).filter(is_start).collect();
        let mut starts = starts.into_iter().peekable();
        for &index in path {
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
        // What is left hangs on itself in a circle.
        for index in 0..self.done.len() {
            if !self.done[index] {
                self.emit_tree(index, None);
            }
        }
        self.steps
    }

    /// Emits an entry beside the path and all that hangs on it. From where somebody speaks who does not belong to the
    /// live replies, it is a branch.
    fn emit_tree(&mut self, root: NodeIndex, from: Option<NodeIndex>) {
        let tree = self.tree(root);
        for &(index, parent) in tree.iter().rev() {
            self.leads_away[index] |= self.speaks(index) && !self.belongs(index);
            if let Some(parent) = parent {
                self.leads_away[parent] |= self.leads_away[index];
            }
        }
        let mut branch_end = 0;
        for (place, &(index, parent)) in tree.iter().enumerate() {
            let live = place >= branch_end && (self.belongs(index) || !self.leads_away[index]);
            if !live && place >= branch_end {
                let branch = self.tree(index);
                branch_end = place + branch.len();
                let is_side = self.graph.links.node(index).has(Flag::Sidechain);
                let cause = if is_side { Cause::Subagent } else { Cause::LeftBehind };
                let last = branch.last().map_or(index, |(last, _)| *last);
                let content = |index| self.graph.links.duplicates.content(index);
                self.steps.push(Step::Branch {
                    cause,
                    from: parent.or(from).map(content),
                    entries: branch.len(),
                    last: content(last),
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

    /// Returns what hangs on an entry and was not emitted, itself first and each entry directly behind all that hangs
    /// on its elder siblings, with what each hangs on.
    fn tree(&self, root: NodeIndex) -> Vec<(NodeIndex, Option<NodeIndex>)> {
        let mut tree = Vec::new();
        let mut waiting = vec![(root, None)];
        while let Some((index, parent)) = waiting.pop() {
            if self.done[index] || self.on_path[index] {
                continue;
            }
            tree.push((index, parent));
            // An entry hangs on one other, so that in a circle only the root is met again.
            let children = self.graph.links.children.members(index).rev().filter(|&child| child != root);
            waiting.extend(children.map(|child| (child, Some(index))));
        }
        tree
    }

    /// Returns whether an entry is a line of a live reply, or the result of one of its calls.
    fn belongs(&self, index: NodeIndex) -> bool {
        let node = self.graph.links.node(index);
        let answers = || {
            let mut blocks = self.session.blocks(node).iter();
            blocks.any(|block| {
                matches!(block.kind, BlockKind::ToolResult(_))
                    && block.tool.is_some_and(|id| self.calls[id.index()])
            })
        };
        let is_line =
            || node.kind == Kind::Assistant && node.message_id.is_some_and(|id| self.replies[id.index()]);
        is_line() || node.kind == Kind::User && answers()
    }

    fn speaks(&self, index: NodeIndex) -> bool {
        let node = self.graph.links.node(index);
        matches!(node.kind, Kind::User | Kind::Assistant) && !node.has(Flag::Meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spells a history: live entries by uuid, others in parentheses, `|` before a branch, `?` before a gap.
    fn spelled(lines: &[&str]) -> String {
        let file = lines.join("\n");
        let session = Session::read(file.as_bytes()).unwrap();
        let ids = session.id_texts();
        let chain = Chain::build(&session);
        let steps = of(&chain);
        let spell = |step: &Step| match step {
            Step::Entry { node, live } => {
                let node = &session.nodes()[*node];
                let name = node.id.map_or_else(|| format!("{:?}", node.kind), |id| ids.get(id));
                if *live { name } else { format!("({name})") }
            }
            Step::Branch { cause: Cause::LeftBehind, .. } => "|".to_owned(),
            Step::Branch { cause: Cause::Subagent, .. } => "@".to_owned(),
            Step::Gap { .. } => "?".to_owned(),
            Step::Root { kind, .. } => format!("<{}>", kind.name()),
        };
        steps.iter().map(spell).collect::<Vec<_>>().join(" ")
    }

    fn line(kind: &str, uuid: &str, parent: &str, more: &str) -> String {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"timestamp":"2026-01-01T00:00:00Z","message":{{"content":"x"{more}}}}}"#
        )
    }

    #[test]
    fn an_abandoned_prompt_is_a_branch_where_it_left() {
        let lines = [
            line("user", "u1", "", ""),
            line("assistant", "a1", "u1", ""),
            line("user", "u2", "a1", ""),
            line("assistant", "a2", "u2", ""),
            line("user", "u3", "a1", ""),
        ];
        assert_eq!(spelled(&lines.each_ref().map(String::as_str)), "u1 a1 | (u2) (a2) u3");
    }

    #[test]
    fn a_leaf_in_the_middle_leaves_the_rest_behind() {
        let lines = [
            line("user", "u1", "", ""),
            line("assistant", "a1", "u1", r#","id":"m""#),
            line("assistant", "a2", "a1", r#","id":"m""#),
            line("user", "u2", "a2", ""),
        ];
        let file = lines.join("\n");
        let session = Session::read(file.as_bytes()).unwrap();
        let shown: Vec<_> = steps(&session, Some(1));
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
        let side = |line: String| line.replace("\"uuid\"", "\"isSidechain\":true,\"uuid\"");
        let lines = [
            line("user", "u1", "", ""),
            line("assistant", "a1", "u1", ""),
            side(line("user", "s1", "", "")),
            side(line("assistant", "s2", "s1", "")),
            line("user", "u2", "a1", ""),
        ];
        assert_eq!(spelled(&lines.each_ref().map(String::as_str)), "u1 a1 @ (s1) (s2) u2");
    }

    #[test]
    fn hook_output_and_records_are_no_branches() {
        let lines = [
            line("user", "u1", "", ""),
            r#"{"type":"mode","mode":"normal"}"#.to_owned(),
            line("attachment", "h1", "u1", ""),
            line("assistant", "a1", "u1", ""),
            "noise".to_owned(),
        ];
        assert_eq!(spelled(&lines.each_ref().map(String::as_str)), "u1 h1 Mode a1 Noise");
    }

    #[test]
    fn compactions_do_not_end_the_history_and_gaps_are_shown() {
        let lines = [
            line("user", "u1", "gone", ""),
            line("assistant", "a1", "u1", ""),
            r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"a1","timestamp":"2026-01-01T00:00:00Z"}"#.to_owned(),
            line("user", "sum", "b", ""),
        ];
        assert_eq!(spelled(&lines.each_ref().map(String::as_str)), "? u1 a1 b sum");
        let lines = [
            line("user", "u1", "", ""),
            line("assistant", "a1", "u1", ""),
            line("assistant", "a2", "lost", ""),
        ];
        assert_eq!(spelled(&lines.each_ref().map(String::as_str)), "u1 a1 ? a2");
    }

    #[test]
    fn lines_of_one_uuid_are_one_entry_with_the_last_content_at_the_first_place() {
        let reply = line("assistant", "a1", "u1", r#","id":"m""#);
        let lines = [
            line("user", "u1", "", ""),
            reply.clone(),
            line("attachment", "h", "u1", ""),
            reply.replace("\"x\"", "\"y\""),
            line("user", "u2", "a1", ""),
        ];
        assert_eq!(spelled(&lines.each_ref().map(String::as_str)), "u1 h a1 u2");
        let session = Session::read(lines.join("\n").as_bytes()).unwrap();
        let steps = of(&Chain::build(&session));
        assert_eq!(steps[2], Step::Entry { node: 3, live: true });
    }

    #[test]
    fn a_duplicate_of_an_abandoned_prompt_stays_at_its_place() {
        let lines = [
            line("user", "u1", "", ""),
            line("user", "left", "u1", ""),
            line("user", "later", "u1", ""),
            line("user", "left", "u1", ""),
            line("assistant", "a1", "u1", ""),
        ];
        assert_eq!(spelled(&lines.each_ref().map(String::as_str)), "u1 | (left) | (later) a1");
    }

    #[test]
    fn cycles_and_duplicates_are_shown_once() {
        let lines =
            [line("user", "u1", "u2", ""), line("user", "u2", "u1", ""), line("user", "u2", "u1", "")];
        let shown = spelled(&lines.each_ref().map(String::as_str));
        assert_eq!(shown.matches("u1").count(), 1, "{shown}");
        assert_eq!(shown.matches("u2").count(), 1, "{shown}");
    }
}
