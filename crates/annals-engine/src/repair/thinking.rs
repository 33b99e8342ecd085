//! Reasoning after what a repair changes: the API accepts it only while everything before it is as it was.

use std::collections::HashSet;

use annals_transcript::Kind;
use annals_transcript::json::Value;
use annals_transcript::session::BlockKind;

use super::content;
use super::edits::{ChangeKind, Edits, set_in_message};
use super::plan::Attempt;
use crate::analysis::{Evaluation, wanted};

impl Attempt<'_, '_> {
    /// Removes reasoning after the first change: it is only accepted while everything before it is as it was. If the user asks for it, all is
    /// removed.
    pub(super) fn without_thinking(&self, best: (Edits, Evaluation)) -> (Edits, Evaluation) {
        let Some(from) = self.first_changed(&best.0) else { return best };
        let mut edits = best.0.clone();
        let mut has_changed = false;
        for &item in &self.wanted().entries[from..] {
            if self.node(item).kind != Kind::Assistant
                || !self
                    .session()
                    .blocks(self.node(item))
                    .iter()
                    .any(|block| block.kind == BlockKind::Thinking)
            {
                continue;
            }
            let json = self.json(&edits, item);
            let content = Value::new(&json).and_then(|entry| entry.get("message")?.get("content"));
            if let Some(content) = content.and_then(content::without_thinking) {
                let json = set_in_message(&json, "content", &content);
                let is_asked_for = self.planner.options.strip_thinking;
                self.change(&mut edits, item, json, ChangeKind::Thinking { is_asked_for });
                has_changed = true;
            }
        }
        if !has_changed {
            return best;
        }
        self.end(&mut edits);
        let after = self.evaluate_edits(&edits);
        if after.score() <= best.1.score() { (edits, after) } else { best }
    }

    /// Returns the position of the first message that is not what the model saw, or that follows a lost one.
    fn first_changed(&self, edits: &Edits) -> Option<usize> {
        if self.planner.options.strip_thinking {
            return Some(0);
        }
        if edits.is_empty() {
            return None;
        }
        let has_new = edits.changes().iter().any(|change| is_new(&change.kind));
        let changes = edits.changes().iter().filter(|change| is_other_content(&change.kind, has_new));
        let uuids: HashSet<&str> = changes.map(|change| &*change.uuid).collect();
        self.wanted()
            .entries
            .iter()
            .position(|&item| uuids.contains(self.uuid(item)) || wanted::follows_a_gap(self.graph(), item))
    }
}

/// Returns whether a change adds an entry.
fn is_new(change: &ChangeKind) -> bool {
    matches!(change, ChangeKind::Result | ChangeKind::FirstPrompt)
}

/// Returns whether with a change the model reads something else than before. `has_new` says whether entries are added.
fn is_other_content(change: &ChangeKind, has_new: bool) -> bool {
    match change {
        ChangeKind::Content { .. } | ChangeKind::Result | ChangeKind::FirstPrompt => true,
        ChangeKind::Relink { reason } => has_new && reason.follows_new_entry(),
        _ => false,
    }
}
