//! Choosing the leaf: the entry that the conversation ends with.

use super::load::{LastPrompt, Loaded};
use super::{gather, walk};
use crate::entry::{Flag, Kind};
use crate::session::Session;

pub(super) fn choose(session: &Session, loaded: &Loaded) -> Option<usize> {
    let tip = last_tip(session, loaded);
    match loaded.last_prompt.and_then(|last| Some((last, loaded.slot(last.leaf)?))) {
        Some((last, named)) if names_the_leaf(session, loaded, tip, last, named) => Some(named),
        _ => tip,
    }
}

/// Returns the last entry in file order on which nothing hangs and which ends a chain with a message in it.
fn last_tip(session: &Session, loaded: &Loaded) -> Option<usize> {
    let is_main = |slot: usize| !session.nodes()[loaded.slots[slot].node].has(Flag::Sidechain);
    let mut has_child = vec![false; loaded.slots.len()];
    for slot in loaded.kept().filter(|&slot| is_main(slot)) {
        if let Some(parent) = loaded.parent(slot) {
            has_child[parent] = true;
        }
    }
    let mut speaking = Speaking::new(session, loaded);
    let tip = loaded.kept().rev().find(|&slot| !has_child[slot] && is_main(slot) && speaking.on_chain(slot));
    tip.or_else(|| loaded.kept().rev().find(|&slot| is_main(slot) && speaking.is(slot)))
}

/// Decides whether a `last-prompt` overrules the tip.
fn names_the_leaf(
    session: &Session,
    loaded: &Loaded,
    tip: Option<usize>,
    last: LastPrompt,
    named: usize,
) -> bool {
    let Some(tip) = tip else { return true };
    let written = walk::written(loaded, tip);
    if last.explicit {
        return !last.overtaken || !written.contains(&named);
    }
    !gather::with_siblings(session, loaded, &written).contains(&named)
}

/// Answers whether a user or assistant entry stands on a chain, in time linear over all questions.
struct Speaking<'a> {
    session: &'a Session,
    loaded: &'a Loaded,
    known: Vec<Option<bool>>,
}

impl<'a> Speaking<'a> {
    fn new(session: &'a Session, loaded: &'a Loaded) -> Self {
        Self { session, loaded, known: vec![None; loaded.slots.len()] }
    }

    fn is(&self, slot: usize) -> bool {
        matches!(self.session.nodes()[self.loaded.slots[slot].node].kind, Kind::User | Kind::Assistant)
    }

    fn on_chain(&mut self, slot: usize) -> bool {
        let mut passed = Vec::new();
        let mut at = Some(slot);
        let answer = loop {
            let Some(slot) = at else { break false };
            if let Some(known) = self.known[slot] {
                break known;
            }
            // Noted as false until the end of the chain is known, so that a cycle ends the search.
            self.known[slot] = Some(false);
            passed.push(slot);
            if self.is(slot) {
                break true;
            }
            at = self.loaded.parent(slot);
        };
        for slot in passed {
            self.known[slot] = Some(answer);
        }
        answer
    }
}
