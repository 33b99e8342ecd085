//! The conversation graph as it was meant: the parent of each entry, with broken links mended.
//!
//! Links that lead to an entry of the file are trusted. A link that leads nowhere, into a circle or to an entry that was
//! written later gets a new parent: the entry before it in the order of the conversation.

use std::collections::HashMap;

use annals_transcript::second_root::{RootKind, second_roots};
use annals_transcript::session::{BlockKind, Id, Node, Session};
use annals_transcript::{Flag, Kind};

use super::order::{self, Order};

/// The index of an item in [`Graph::items`].
pub(crate) type ItemIndex = usize;

/// One entry of the conversation: all lines with its uuid.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The node of the line whose content counts.
    pub(crate) node: usize,
    /// The offset at which the entry is first in the file.
    pub(crate) place: u64,
    /// Its uuid.
    pub(crate) id: Id,
    /// Whether Claude Code loads it; otherwise it has to be written again.
    pub(crate) is_loaded: bool,
    /// Whether it belongs to a subagent.
    pub(crate) is_side: bool,
    /// Whether it is marked as a subagent's and is not.
    pub(crate) is_flagged: bool,
    /// Its parent.
    pub(crate) parent: Link,
}

/// The parent of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// An entry, as the file says.
    Written(ItemIndex),
    /// An entry that the file does not name; why it was chosen.
    Mended(ItemIndex, Break),
    /// Nothing: the conversation begins here.
    Root,
    /// Nothing: the parent that it names is lost, and so is everything before it.
    Lost,
}

/// Why a link was mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    /// The parent is not in the file.
    Missing,
    /// The entry names no parent.
    NoParent,
    /// The entry is its own ancestor, or its parent is a later one.
    Circle,
}

impl Link {
    /// Returns the parent.
    pub(crate) fn item(self) -> Option<ItemIndex> {
        match self {
            Link::Written(item) | Link::Mended(item, _) => Some(item),
            Link::Root | Link::Lost => None,
        }
    }
}

/// All entries of a session, and their parents.
#[derive(Debug)]
pub(crate) struct Graph<'s> {
    pub(crate) session: &'s Session,
    pub(crate) items: Vec<Item>,
    /// The item of each uuid, by the index of the id.
    by_id: Vec<Option<ItemIndex>>,
    /// Entries that are passed over: `progress` and messages without content, with their parents.
    bridges: HashMap<Id, (Option<Id>, u64)>,
    /// All items in the order of the conversation.
    pub(crate) sequence: Vec<ItemIndex>,
    /// The position of each item in `sequence`.
    position: Vec<usize>,
    /// For each item another one with the same content under another uuid.
    twins: Vec<Option<ItemIndex>>,
    /// Whether a link was taken from a copy, so that an entry may come before its parent.
    has_forward_links: bool,
}

/// Lines that were moved to the end of the file, with what continues them there.
struct MovedLines {
    /// The last child of each entry, by the file.
    last_child: Vec<Option<ItemIndex>>,
    /// How many more entries may be looked at: each search reads the rest of the conversation.
    most: usize,
}

impl MovedLines {
    fn of(graph: &Graph<'_>, order: Order) -> Self {
        let mut last_child = vec![None; graph.items.len()];
        for &item in graph.sequence.iter().filter(|_| order == Order::File) {
            if let Some(parent) = graph.items[item].parent.item() {
                last_child[parent] = Some(item);
            }
        }
        Self { last_child, most: 64 }
    }

    /// Returns the last descendant of `before`, if all descendants come after `item` in the file although they are older. They were moved there, and
    /// `item`, whose parent is lost, continues the last of them.
    fn end_after(&mut self, graph: &Graph<'_>, before: ItemIndex, item: ItemIndex) -> Option<ItemIndex> {
        let child = self.last_child[before]?;
        let time = graph.node(item).time()?;
        let is_after = graph.position(child) > graph.position(item) && graph.node(child).time()? < time;
        if !is_after || graph.items[child].is_side || self.most == 0 {
            return None;
        }
        self.most -= 1;
        let mut is_below = vec![false; graph.items.len()];
        is_below[child] = true;
        let mut end = None;
        for &one in &graph.sequence[graph.position(child)..] {
            is_below[one] |= graph.items[one].parent.item().is_some_and(|parent| is_below[parent]);
            if !is_below[one] {
                continue;
            }
            if one == item || graph.node(one).time().is_some_and(|other| other > time) {
                return None;
            }
            end = Some(one);
        }
        end.filter(|&end| !graph.descends_from(end, item))
    }
}

/// What two entries have in common if one is a copy of the other, but for their time: type, reply, and the kinds, calls and lengths of blocks.
type Content = (Kind, Option<Id>, Vec<(BlockKind, Option<Id>, u64)>);

/// The entries that make each call, in the order of the conversation.
pub(crate) struct Calls(Vec<(Id, ItemIndex)>);

impl Calls {
    /// Returns the entries that make a call, each with the call.
    pub(super) fn callers(&self, call: Id) -> &[(Id, ItemIndex)] {
        members(&self.0, &call)
    }

    /// Returns the last entry before a position of the conversation that makes a call.
    pub(super) fn last_before(&self, graph: &Graph<'_>, call: Id, position: usize) -> Option<ItemIndex> {
        let callers = self.callers(call);
        let before = callers.partition_point(|&(_, one)| graph.position(one) < position);
        callers[..before].last().map(|&(_, one)| one)
    }
}

/// Returns the members of a group in a list that is sorted by group, each with the group.
pub(super) fn members<'m, G: Ord>(pairs: &'m [(G, ItemIndex)], group: &G) -> &'m [(G, ItemIndex)] {
    let rest = &pairs[pairs.partition_point(|(other, _)| other < group)..];
    &rest[..rest.partition_point(|(other, _)| other == group)]
}

/// Places of entries that were written again because they could not be read: they belong in the place of the broken line.
pub(crate) type Places = HashMap<String, u64>;

impl<'s> Graph<'s> {
    /// Reads the graph of a session and mends it.
    pub(crate) fn of(session: &'s Session, places: &Places) -> Self {
        let mut graph = Self::read(session, places);
        graph.cut_circles(Order::File);
        let links = graph.written_links();
        let order = order::choose(&graph.keys(), &links);
        if order != Order::File {
            graph = Self::read(session, places);
            graph.cut_circles(order);
        }
        graph.cut_backward(order);
        graph.sequence = order::sequence(&graph.keys(), &graph.parents(), order);
        graph.number();
        graph.classify_side();
        graph.find_twins();
        graph.mend(order);
        // Mending may have moved whole parts of the conversation.
        graph.sequence = order::sequence(&graph.keys(), &graph.parents(), order);
        graph.number();
        graph
    }

    /// Returns the node of an item.
    pub(crate) fn node(&self, item: ItemIndex) -> &'s Node {
        &self.session.nodes()[self.items[item].node]
    }

    /// Returns the item of a uuid.
    pub(crate) fn item(&self, id: Id) -> Option<ItemIndex> {
        self.by_id[id.index()]
    }

    /// Returns the text of an item's uuid.
    pub(crate) fn uuid(&self, item: ItemIndex) -> String {
        self.session.id_texts().get(self.items[item].id)
    }

    /// Returns the position of an item in the order of the conversation.
    pub(crate) fn position(&self, item: ItemIndex) -> usize {
        self.position[item]
    }

    /// Returns whether an item is a prompt, a result or a reply of the main conversation.
    pub(crate) fn is_message(&self, item: ItemIndex) -> bool {
        self.node(item).kind.is_prompt_or_reply() && !self.items[item].is_side
    }

    /// Returns whether the entry is the beginning of what follows a compaction.
    pub(crate) fn is_boundary(&self, item: ItemIndex) -> bool {
        self.session.boundary(self.node(item)).is_some()
    }

    /// Returns the other entry with the same content.
    pub(crate) fn twin(&self, item: ItemIndex) -> Option<ItemIndex> {
        self.twins[item]
    }

    /// Returns the path from an item to the beginning, the beginning first.
    pub(crate) fn path(&self, leaf: ItemIndex) -> Vec<ItemIndex> {
        let mut path: Vec<ItemIndex> = self.upwards(leaf).collect();
        path.reverse();
        path
    }

    /// Returns an item, its parent, and so on up to the beginning.
    pub(crate) fn upwards(&self, item: ItemIndex) -> impl Iterator<Item = ItemIndex> + '_ {
        let steps = std::iter::successors(Some(item), |&one| self.items[one].parent.item());
        // Links that were taken from copies might close a circle.
        steps.take(self.items.len())
    }

    /// Returns whether Claude Code finds the parent that an item is meant to have.
    pub(crate) fn is_parent_written(&self, item: ItemIndex) -> bool {
        let node = self.node(item);
        match self.items[item].parent {
            Link::Root => node.parent.is_none(),
            Link::Lost | Link::Mended(..) => false,
            Link::Written(parent) => {
                let Some(named) = node.parent else { return false };
                if named == self.items[parent].id {
                    return true;
                }
                // Claude Code passes over `progress` entries only if they come before the entry.
                let bridges = self.bridge_path(named);
                bridges
                    .iter()
                    .all(|id| self.bridges.get(id).is_some_and(|(_, place)| *place < node.at.offset))
            }
        }
    }

    fn read(session: &'s Session, places: &Places) -> Self {
        let mut graph = Self {
            session,
            items: Vec::new(),
            by_id: vec![None; session.id_count()],
            bridges: HashMap::new(),
            sequence: Vec::new(),
            position: Vec::new(),
            twins: Vec::new(),
            has_forward_links: false,
        };
        for (index, node) in session.nodes().iter().enumerate() {
            graph.add(index, node, places);
        }
        graph.bridges.retain(|id, _| graph.by_id[id.index()].is_none());
        for item in 0..graph.items.len() {
            graph.items[item].parent = graph.written_parent(item);
        }
        graph
    }

    fn add(&mut self, index: usize, node: &Node, places: &Places) {
        let is_readable = node.problem.is_none_or(annals_transcript::Problem::is_readable);
        let (true, Some(id)) = (is_readable, node.id) else { return };
        if node.kind == Kind::Progress || node.kind.is_message() && node.has(Flag::Contentless) {
            self.bridges.entry(id).or_insert((node.parent, node.at.offset));
            return;
        }
        if !node.kind.is_message() {
            return;
        }
        let is_loaded = node.is_loaded_by_claude_code();
        if let Some(item) = self.by_id[id.index()] {
            let item = &mut self.items[item];
            if is_loaded || !item.is_loaded {
                (item.node, item.is_loaded, item.is_side) = (index, is_loaded, node.has(Flag::Sidechain));
            }
            return;
        }
        // Nearly no session has such places, and the text of an id costs time.
        let has_own_place = !places.is_empty();
        let own_place = has_own_place.then(|| places.get(&self.session.id_texts().get(id))).flatten();
        let place = own_place.copied().unwrap_or(node.at.offset);
        self.by_id[id.index()] = Some(self.items.len());
        let is_side = node.has(Flag::Sidechain);
        self.items.push(Item {
            node: index,
            place,
            id,
            is_loaded,
            is_side,
            is_flagged: false,
            parent: Link::Root,
        });
    }

    /// Returns the parent of an entry by the file alone. A parent that is not there is `Lost`.
    fn written_parent(&self, item: ItemIndex) -> Link {
        let Some(mut id) = self.node(item).parent else { return Link::Root };
        for _ in 0..=self.bridges.len() {
            if let Some(parent) = self.by_id[id.index()] {
                return if parent == item { Link::Lost } else { Link::Written(parent) };
            }
            match self.bridges.get(&id) {
                Some((Some(next), _)) => id = *next,
                Some((None, _)) => return Link::Root,
                None => return Link::Lost,
            }
        }
        Link::Lost
    }

    fn bridge_path(&self, mut id: Id) -> Vec<Id> {
        let mut path = Vec::new();
        while let Some((next, _)) = self.bridges.get(&id) {
            path.push(id);
            match next {
                Some(next) if path.len() <= self.bridges.len() => id = *next,
                _ => break,
            }
        }
        path
    }

    fn keys(&self) -> Vec<order::Key> {
        let mut keys: Vec<order::Key> = (0..self.items.len())
            .map(|item| order::Key { place: self.items[item].place, time: self.node(item).time() })
            .collect();
        order::fill_times(&mut keys, &self.parents());
        keys
    }

    fn parents(&self) -> Vec<Option<ItemIndex>> {
        self.items.iter().map(|item| item.parent.item()).collect()
    }

    fn written_links(&self) -> Vec<(ItemIndex, ItemIndex)> {
        (0..self.items.len()).filter_map(|item| Some((item, self.items[item].parent.item()?))).collect()
    }

    fn number(&mut self) {
        self.position = vec![0; self.items.len()];
        for (position, &item) in self.sequence.iter().enumerate() {
            self.position[item] = position;
        }
    }

    /// Cuts every circle at the first entry whose parent comes later.
    fn cut_circles(&mut self, order: Order) {
        let keys = self.keys();
        let mut state = vec![0u8; self.items.len()];
        for start in 0..self.items.len() {
            let mut path = Vec::new();
            let mut item = Some(start);
            while let Some(current) = item.filter(|&current| state[current] == 0) {
                state[current] = 1;
                path.push(current);
                item = self.items[current].parent.item();
            }
            if let Some(closing) = item.filter(|&closing| state[closing] == 1) {
                let from = path.iter().position(|&member| member == closing).unwrap_or(0);
                let circle = &path[from..];
                let mut sorted = circle.to_vec();
                sorted.sort_by(|&one, &other| order::compare(&keys, order, one, other));
                let backward = sorted.iter().copied().find(|&member| {
                    let parent = self.items[member].parent.item();
                    parent.is_some_and(|parent| order::compare(&keys, order, member, parent).is_lt())
                });
                if let Some(wrong) = backward.or(sorted.first().copied()) {
                    self.items[wrong].parent = Link::Lost;
                }
            }
            for member in path {
                state[member] = 2;
            }
        }
    }

    /// Cuts links to entries that were written later by their place and by their time: no entry has a parent that is not there yet. The entry
    /// has to have a time itself, and a result is never older than its call.
    fn cut_backward(&mut self, order: Order) {
        let keys = self.keys();
        for item in 0..self.items.len() {
            let Link::Written(parent) = self.items[item].parent else { continue };
            let (own, other) = (self.node(item).time(), keys[parent].time);
            let is_later = matches!((own, other), (Some(own), Some(other)) if own < other);
            if self.answers(item, parent) {
                continue;
            }
            // A compaction may keep messages that are older than itself, and link them after its boundary or its summary.
            if self.node(parent).has(Flag::CompactSummary) || self.is_boundary(parent) {
                continue;
            }
            let place_order = if order == Order::Reversed { Order::Reversed } else { Order::File };
            if is_later && order::compare(&keys, place_order, item, parent).is_lt() {
                self.items[item].parent = Link::Lost;
            }
        }
    }

    /// Returns whether an entry has the result of a call that another one makes.
    fn answers(&self, item: ItemIndex, caller: ItemIndex) -> bool {
        let results = self.session.blocks(self.node(item)).iter();
        let mut results = results.filter(|block| matches!(block.kind, BlockKind::ToolResult(_)));
        results.any(|result| result.tool.is_some_and(|call| self.makes_call(caller, call)))
    }

    /// Returns whether an entry makes a call.
    pub(super) fn makes_call(&self, item: ItemIndex, call: Id) -> bool {
        let blocks = self.session.blocks(self.node(item)).iter();
        blocks.filter(|block| block.kind == BlockKind::ToolUse).any(|block| block.tool == Some(call))
    }

    /// Finds entries that are marked as a subagent's although they are part of the main conversation.
    fn classify_side(&mut self) {
        let has_agent_call = self.has_agent_calls();
        for position in 0..self.sequence.len() {
            let item = self.sequence[position];
            if !self.items[item].is_side {
                continue;
            }
            let is_main = match self.items[item].parent {
                Link::Written(parent) | Link::Mended(parent, _) => !self.items[parent].is_side,
                Link::Lost => {
                    self.previous(position, Self::is_speech).is_some_and(|one| !self.items[one].is_side)
                }
                // In old versions the first prompt of a subagent has no parent.
                Link::Root => !(has_agent_call && self.is_prompt(item)),
            };
            let node = self.node(item);
            if is_main && !node.has(Flag::Virtual) {
                self.items[item].is_side = false;
                self.items[item].is_flagged = true;
            }
        }
    }

    /// Returns whether the file has calls that start subagents. Old versions write these into the same file.
    fn has_agent_calls(&self) -> bool {
        let sides = self.items.iter().filter(|item| item.is_side).count();
        let main = self.items.len() - sides;
        sides > 0
            && main > 0
            && (0..self.items.len()).any(|item| {
                self.items[item].is_side && self.items[item].parent == Link::Root && self.is_prompt(item)
            })
    }

    fn is_reply(&self, item: ItemIndex) -> bool {
        self.node(item).kind == Kind::Assistant
    }

    fn is_speech(&self, item: ItemIndex) -> bool {
        self.node(item).kind.is_prompt_or_reply()
    }

    pub(crate) fn is_prompt(&self, item: ItemIndex) -> bool {
        let node = self.node(item);
        node.kind == Kind::User && !self.session.has_results(node)
    }

    fn previous(&self, position: usize, is_wanted: impl Fn(&Self, ItemIndex) -> bool) -> Option<ItemIndex> {
        self.sequence[..position].iter().rev().copied().find(|&item| is_wanted(self, item))
    }

    /// Finds messages that were written twice under different uuids.
    fn find_twins(&mut self) {
        self.twins = vec![None; self.items.len()];
        let is_copied =
            |item: &ItemIndex| self.node(*item).kind.is_prompt_or_reply() && !self.items[*item].is_side;
        let timed = self.sequence.iter().copied().filter(is_copied);
        let mut timed: Vec<(i64, ItemIndex)> =
            timed.filter_map(|item| Some((self.node(item).time()?, item))).collect();
        // Nearly all entries have a time of their own, so that few are compared. Those of one time stay in the order of the conversation.
        timed.sort_by_key(|&(time, _)| time);
        for same_time in timed.chunk_by(|one, next| one.0 == next.0).filter(|same| same.len() > 1) {
            let mut seen: HashMap<Content, ItemIndex> = HashMap::new();
            for &(_, item) in same_time {
                if let Some(other) = seen.insert(self.content(item), item) {
                    self.twins[item] = Some(other);
                    self.twins[other].get_or_insert(item);
                }
            }
        }
    }

    fn content(&self, item: ItemIndex) -> Content {
        let node = self.node(item);
        let blocks = self.session.blocks(node).iter();
        (node.kind, node.message_id, blocks.map(|block| (block.kind, block.tool, block.length)).collect())
    }

    /// Gives a parent to every entry of the main conversation that lost its own.
    fn mend(&mut self, order: Order) {
        let legit = self.legitimate_roots(order);
        let calls = self.calls();
        let mut has_child = vec![false; self.items.len()];
        self.parents().into_iter().flatten().for_each(|parent| has_child[parent] = true);
        let mut moved = MovedLines::of(self, order);
        for position in 0..self.sequence.len() {
            let item = self.sequence[position];
            if self.items[item].is_side || self.items[item].parent.item().is_some() {
                continue;
            }
            let cause = match self.items[item].parent {
                Link::Root if legit[item] => continue,
                Link::Root => Break::NoParent,
                _ if self.is_circle(item) => Break::Circle,
                _ => Break::Missing,
            };
            if self.node(item).has(Flag::CompactSummary) {
                // Its boundary is lost. What comes before it was compacted away.
                self.items[item].parent = Link::Lost;
                continue;
            }
            let before = || {
                let before = self.before(item, &calls, &has_child)?;
                Some(moved.end_after(self, before, item).unwrap_or(before))
            };
            let parent = self.parent_of_twin(item).or_else(before);
            if let Some(parent) = parent {
                has_child[parent] = true;
                self.has_forward_links |= self.position[parent] > position;
            }
            self.items[item].parent = match parent {
                Some(parent) => Link::Mended(parent, cause),
                None if cause == Break::NoParent => Link::Root,
                None => Link::Lost,
            };
        }
    }

    /// Returns whether an entry names itself as its parent.
    pub(crate) fn is_own_parent(&self, item: ItemIndex) -> bool {
        self.node(item).parent == Some(self.items[item].id)
    }

    /// Returns whether an entry names a parent that is in the file, which was cut because it closed a circle.
    fn is_circle(&self, item: ItemIndex) -> bool {
        matches!(self.written_parent(item), Link::Written(_)) || self.is_own_parent(item)
    }

    /// Returns the parent that the same message has where it was written another time.
    fn parent_of_twin(&self, item: ItemIndex) -> Option<ItemIndex> {
        let twin = self.twin(item)?;
        let parent = self.items[twin].parent.item()?;
        let parent = self
            .twin(parent)
            .filter(|&other| {
                self.position(other) < self.position(item) && self.position(other) > self.position(twin)
            })
            .unwrap_or(parent);
        (!self.descends_from(parent, item)).then_some(parent)
    }

    /// Returns the entry before another one in the conversation.
    fn before(&self, item: ItemIndex, calls: &Calls, has_child: &[bool]) -> Option<ItemIndex> {
        let position = self.position[item];
        let call = self.call_of(item, calls).filter(|&call| !self.descends_from(call, item));
        let before = self
            .previous(position, |graph, one| !graph.items[one].is_side && !graph.descends_from(one, item));
        match (before, call) {
            (Some(before), Some(call)) if before != call && !self.descends_from(before, call) => Some(call),
            (Some(before), _) if self.has_message_before(before) => {
                Some(self.unanswered(item, before, has_child).unwrap_or(before))
            }
            (_, call) => call,
        }
    }

    /// Returns the prompt that a reply answers, if another reply stands between them: two clients wrote at the same time.
    fn unanswered(&self, item: ItemIndex, before: ItemIndex, has_child: &[bool]) -> Option<ItemIndex> {
        let is_other_reply = self.is_reply(item)
            && self.is_reply(before)
            && self.node(item).message_id != self.node(before).message_id;
        let since = self.items[before].parent.item().filter(|_| is_other_reply)?;
        let between = self.sequence.get(self.position[since] + 1..self.position[item])?;
        let prompt = between.iter().rev().copied().find(|&one| {
            self.is_message(one) && self.node(one).kind == Kind::User && !self.descends_from(one, item)
        })?;
        (!has_child[prompt]).then_some(prompt)
    }

    fn has_message_before(&self, item: ItemIndex) -> bool {
        self.upwards(item).any(|one| self.is_message(one) || self.is_boundary(one))
    }

    /// Returns the entries that make each call, in the order of the conversation.
    pub(crate) fn calls(&self) -> Calls {
        let mut calls = Vec::new();
        for &item in self.sequence.iter().filter(|&&item| !self.items[item].is_side) {
            let blocks = self.session.blocks(self.node(item)).iter();
            let made = blocks.filter(|block| block.kind == BlockKind::ToolUse).filter_map(|block| block.tool);
            calls.extend(made.map(|call| (call, item)));
        }
        calls.sort_by_key(|&(call, _)| call);
        Calls(calls)
    }

    /// Returns the last entry before a result that makes the call that it answers.
    fn call_of(&self, item: ItemIndex, calls: &Calls) -> Option<ItemIndex> {
        let blocks = self.session.blocks(self.node(item)).iter();
        let answered = blocks.filter(|block| matches!(block.kind, BlockKind::ToolResult(_)));
        let position = self.position[item];
        let callers = answered.filter_map(|block| calls.last_before(self, block.tool?, position));
        callers.max_by_key(|&one| self.position[one])
    }

    /// Returns whether an entry is another one or one of its descendants.
    fn descends_from(&self, item: ItemIndex, above: ItemIndex) -> bool {
        let is_too_high =
            |one: ItemIndex| !self.has_forward_links && self.position[one] < self.position[above];
        let mut steps = 0;
        for one in self.upwards(item).take_while(|&one| !is_too_high(one)) {
            if one == above {
                return true;
            }
            steps += 1;
        }
        // In a circle, each entry descends from each.
        steps == self.items.len()
    }

    /// Returns which entries without a parent begin a conversation of their own: the first, and those that Claude Code writes
    /// after a compaction, a cleared context or a rewind.
    fn legitimate_roots(&self, order: Order) -> Vec<bool> {
        let mut is_legitimate = vec![true; self.items.len()];
        if order == Order::File {
            for root in second_roots(self.session) {
                let lost = matches!(root.kind, RootKind::LostLink | RootKind::ParentlessPrompts);
                let id = self.session.nodes()[root.node].id;
                if let Some(item) = id.filter(|_| lost).and_then(|id| self.item(id)) {
                    is_legitimate[item] = false;
                }
            }
        }
        let first_prompt =
            self.sequence.iter().copied().find(|&item| self.is_message(item) && self.is_prompt(item));
        let mut has_message = false;
        for &item in &self.sequence {
            let is_root = self.items[item].parent == Link::Root && !self.items[item].is_side;
            let is_copy = first_prompt.is_some_and(|first| {
                self.node(first).time() == self.node(item).time() && self.is_prompt(item)
            });
            let is_speech =
                self.node(item).kind == Kind::Assistant || self.session.has_results(self.node(item));
            if is_root
                && has_message
                && !self.is_boundary(item)
                && !is_copy
                && (order != Order::File || is_speech || self.items[item].is_flagged)
            {
                is_legitimate[item] = false;
            }
            has_message |= self.is_message(item);
        }
        is_legitimate
    }
}
