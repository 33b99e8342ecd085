//! The lines that link a conversation: parents, times, compactions, and the last message.

use std::collections::HashSet;

use annals_transcript::json::{Value, quote};
use annals_transcript::{Flag, Kind};

use super::edits::{ChangeKind, Edits, RelinkReason, set, time_text};
use super::plan::Attempt;
use crate::analysis::graph::{Break, ItemIndex, Link};

/// How far a plan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// Only broken links are mended.
    Links,
    /// All messages of the conversation are put into one line.
    Line,
    /// The messages that a compaction kept are in this line, too, and the compaction no longer names them.
    WithoutKept,
}

impl Level {
    /// All levels, the least first.
    pub(super) const ALL: [Level; 3] = [Level::Links, Level::Line, Level::WithoutKept];
}

impl Attempt<'_, '_> {
    /// Returns the lines that link the conversation.
    pub(super) fn linked(&self, level: Level, names_leaf: bool) -> Edits {
        let mut edits = self.planner.named.clone();
        let line = self.line(level);
        let on_path: HashSet<ItemIndex> = self.analysis.path.iter().copied().collect();
        let mut before: Option<ItemIndex> =
            line.first().and_then(|&first| self.graph().items[first].parent.item());
        for (index, &item) in line.iter().enumerate() {
            if !self.graph().items[item].is_loaded {
                let json = self.json(&edits, item);
                self.change(&mut edits, item, json, ChangeKind::Salvage);
            }
            match level {
                Level::Links => {
                    if on_path.contains(&item)
                        || !matches!(self.graph().items[item].parent, Link::Written(_) | Link::Root)
                    {
                        self.relink(&mut edits, item);
                    }
                }
                Level::Line | Level::WithoutKept if index > 0 => self.relink_to(&mut edits, item, before),
                Level::Line | Level::WithoutKept => self.relink(&mut edits, item),
            }
            if self.graph().items[item].is_flagged {
                let json = set(&self.json(&edits, item), "isSidechain", "false");
                self.change(&mut edits, item, json, ChangeKind::Sidechain);
            }
            before = Some(item);
        }
        if level == Level::WithoutKept {
            self.drop_kept(&mut edits);
        }
        self.give_time(&mut edits, self.wanted().leaf);
        self.end(&mut edits);
        if names_leaf {
            edits.last_prompt = Some(self.last_prompt(self.uuid(self.wanted().leaf)));
        }
        edits
    }

    /// Returns the entries of the conversation in one line, with the boundary before them.
    fn line(&self, level: Level) -> Vec<ItemIndex> {
        let mut line: Vec<ItemIndex> = self.wanted().boundary.into_iter().collect();
        line.extend(&self.wanted().entries);
        if level == Level::Links {
            return line;
        }
        // Lines of a reply that were added after it come before what follows it, and the leaf stays last.
        if let Some(at) = line.iter().position(|&item| item == self.wanted().leaf) {
            let after: Vec<ItemIndex> = line.drain(at + 1..).collect();
            line.splice(at..at, after);
        }
        line
    }

    /// Gives an entry the parent that it is meant to have.
    fn relink(&self, edits: &mut Edits, item: ItemIndex) {
        if self.graph().is_parent_written(item) {
            return;
        }
        let reason = match self.graph().items[item].parent {
            Link::Mended(_, Break::Missing) => RelinkReason::Missing,
            Link::Mended(_, Break::NoParent) => RelinkReason::NoParent,
            Link::Mended(_, Break::Circle) => RelinkReason::Circle,
            Link::Written(_) => RelinkReason::Progress,
            Link::Root | Link::Lost => {
                if !self.node(item).has(Flag::CompactSummary) {
                    return;
                }
                RelinkReason::LostCompaction
            }
        };
        let parent = self.graph().items[item].parent.item();
        self.set_parent(edits, item, parent, reason);
    }

    fn relink_to(&self, edits: &mut Edits, item: ItemIndex, parent: Option<ItemIndex>) {
        let named = self.node(item).parent;
        if named.is_some() && named == parent.map(|parent| self.graph().items[parent].id) {
            return;
        }
        self.set_parent(edits, item, parent, RelinkReason::Order);
    }

    fn set_parent(
        &self,
        edits: &mut Edits,
        item: ItemIndex,
        parent: Option<ItemIndex>,
        reason: RelinkReason,
    ) {
        let parent = parent.map_or_else(|| "null".to_owned(), |parent| quote(self.uuid(parent)));
        let json = set(&self.json(edits, item), "parentUuid", &parent);
        self.change(edits, item, json, ChangeKind::Relink { reason });
    }

    /// Gives the last message a time, without which Claude Code refuses the session.
    fn give_time(&self, edits: &mut Edits, item: ItemIndex) {
        if self.node(item).time().is_some() {
            return;
        }
        let before = self.graph().upwards(item).find_map(|one| self.node(one).time());
        let any = before.or_else(|| {
            self.session().nodes().iter().filter_map(annals_transcript::session::Node::time).max()
        });
        let time = any.map_or(0, |time| time + 1);
        let json = set(&self.json(edits, item), "timestamp", &quote(&time_text(time)));
        self.change(edits, item, json, ChangeKind::Time);
    }

    /// Removes from all compactions the list of messages that they kept.
    fn drop_kept(&self, edits: &mut Edits) {
        for item in (0..self.graph().items.len()).filter(|&item| self.graph().is_boundary(item)) {
            let keeps = self
                .session()
                .boundary(self.node(item))
                .is_some_and(|kept| kept.segment.is_some() || kept.messages.is_some());
            if !keeps {
                continue;
            }
            let json = self.json(edits, item);
            let Some(metadata) = Value::new(&json).and_then(|entry| entry.get("compactMetadata")) else {
                continue;
            };
            let members: Vec<String> = metadata
                .members()
                .filter(|(key, _)| !matches!(&*key.decode(), "preservedSegment" | "preservedMessages"))
                .map(|(key, value)| {
                    format!("{}:{}", quote(&key.decode()), String::from_utf8_lossy(value.bytes()))
                })
                .collect();
            let json = set(&json, "compactMetadata", &format!("{{{}}}", members.join(",")));
            self.change(edits, item, json, ChangeKind::Boundary);
        }
    }

    /// Returns a `last-prompt` that names the leaf: a copy of the last one of the file.
    fn last_prompt(&self, leaf: &str) -> Vec<u8> {
        let mut records = self.session().nodes().iter().filter(|node| node.kind == Kind::LastPrompt);
        let old = records.rfind(|node| node.is_read_by_claude_code()).map(|node| self.planner.json_of(node));
        let old = old.unwrap_or_else(|| {
            let json = self.json(&Edits::default(), self.wanted().leaf);
            let session = Value::new(&json).and_then(|entry| entry.text("sessionId")).unwrap_or_default();
            format!("{{\"type\":\"last-prompt\",\"sessionId\":{}}}", quote(&session)).into_bytes()
        });
        let json = set(&old, "leafUuid", &quote(leaf));
        if Value::new(&json).is_some_and(|record| record.flag("explicit")) {
            set(&json, "explicit", "false")
        } else {
            json
        }
    }
}
