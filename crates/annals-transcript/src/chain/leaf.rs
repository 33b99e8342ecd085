//! Chooses the leaf, which is the last entry of the conversation (CHAIN.md 3).

use std::cmp::Reverse;

use super::gather;
use super::load::{LastPrompt, LoadedEntries};
use super::walk;
use crate::groups::Groups;
use crate::session::{NO_ENTRY, Session};

pub(super) fn choose(session: &Session, loaded: &LoadedEntries, children: &Groups) -> Option<usize> {
    let mut chooser = Chooser { session, loaded, children, has_message: vec![None; loaded.slots.len()] };
    let tips: Vec<usize> = loaded.kept().filter(|&slot| children.count(slot) == 0).collect();
    let by_last_line = chooser.by_last_line(&tips);
    let leaf =
        loaded.last_prompt.and_then(|last| last.leaf).filter(|&id| session.id_texts().get(id) != NO_ENTRY);
    match loaded.last_prompt.zip(leaf.and_then(|id| loaded.slot(id))) {
        Some((last, named)) if chooser.has_message(named) && chooser.overrules(by_last_line, last, named) => {
            Some(named)
        }
        _ => by_last_line.or_else(|| chooser.by_last_messages()),
    }
}

/// Returns the last message on the chain of a leaf; the leaf itself if there is none.
pub(super) fn last_message(session: &Session, loaded: &LoadedEntries, leaf: usize) -> usize {
    walk::ancestors(loaded, leaf)
        .find(|&slot| loaded.node(session, slot).is_user_or_assistant())
        .unwrap_or(leaf)
}

struct Chooser<'a> {
    session: &'a Session,
    loaded: &'a LoadedEntries,
    children: &'a Groups,
    /// Whether there is a message on the chain of a slot; `None` if that was not yet computed.
    has_message: Vec<Option<bool>>,
}

impl Chooser<'_> {
    /// Chooses by the last line of the file; `None` if its chain has no message.
    fn by_last_line(&mut self, tips: &[usize]) -> Option<usize> {
        let last = self.last_main_line();
        let last_with_message = last.filter(|&last| self.has_message(last));
        match (self.loaded.relinked, tips) {
            (true, &[only]) => Some(only),
            (true, _) => last_with_message,
            (false, _) if last_with_message.is_some() && self.loaded.last_named_leaf.is_some() => {
                self.only_last_message().filter(|_| !self.is_named_leaf_usable()).or(last_with_message)
            }
            (false, _) => last.and_then(|last| self.newest_from(last)),
        }
    }

    /// Returns the last loaded line of the file that is not in a sidechain.
    fn last_main_line(&self) -> Option<usize> {
        let lines = self.session.nodes().iter().rev();
        let loaded = lines.filter(|node| node.is_loaded_by_claude_code());
        let mut slots = loaded.filter_map(|node| self.loaded.slot_of(node));
        slots.find(|&slot| self.is_main(slot))
    }

    /// Returns the last line if it is the newest of all entries, and otherwise the newest of its descendants. In a tie, the
    /// first line counts as the newest of all, but the last line as the newest descendant.
    fn newest_from(&mut self, last: usize) -> Option<usize> {
        let has_message = self.has_message(last);
        let main = self.loaded.kept().filter(|&slot| self.is_main(slot));
        if has_message && main.max_by_key(|&slot| (self.time(slot), Reverse(slot))) == Some(last) {
            return Some(last);
        }
        let below = self.main_with_message(self.below(last));
        let newest = below.into_iter().max_by_key(|&slot| (self.time(slot), slot));
        newest.or(has_message.then_some(last))
    }

    /// Returns all descendants of a slot, in file order.
    fn below(&self, top: usize) -> Vec<usize> {
        let mut seen = vec![false; self.loaded.slots.len()];
        let mut waiting: Vec<usize> = self.children.members(top).collect();
        while let Some(slot) = waiting.pop() {
            if slot != top && !std::mem::replace(&mut seen[slot], true) {
                waiting.extend(self.children.members(slot));
            }
        }
        (0..seen.len()).filter(|&slot| seen[slot]).collect()
    }

    /// Chooses the newest message that no other follows; the first line wins a tie. If there is no such message, because
    /// there are none or all are in cycles, it chooses the last entry.
    fn by_last_messages(&self) -> Option<usize> {
        let last_messages = self.last_messages();
        if last_messages.is_empty() {
            return self.loaded.kept().next_back().filter(|_| self.session.names_messages());
        }
        let main = last_messages.into_iter().filter(|&slot| self.is_main(slot));
        main.max_by_key(|&slot| (self.time(slot), Reverse(slot)))
    }

    /// Returns those of the slots that are main entries with a message on their chain.
    fn main_with_message(&mut self, slots: Vec<usize>) -> Vec<usize> {
        slots.into_iter().filter(|&slot| self.is_main(slot) && self.has_message(slot)).collect()
    }

    /// Returns whether the leaf that the last `last-prompt` names has a message on its chain, or is not in the file.
    fn is_named_leaf_usable(&mut self) -> bool {
        let named = self.loaded.last_named_leaf.and_then(|id| self.loaded.slot(id));
        named.is_none_or(|slot| self.has_message(slot))
    }

    /// Returns the message that no other message follows, if there is only one such message.
    fn only_last_message(&self) -> Option<usize> {
        match self.last_messages()[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the messages without another message below them.
    fn last_messages(&self) -> Vec<usize> {
        // For messages, whether a message follows; for other entries, whether the path up from a message has passed them.
        let mut is_followed = vec![false; self.loaded.slots.len()];
        for message in self.messages() {
            let mut above = self.loaded.parent(message);
            while let Some(slot) = above
                && !std::mem::replace(&mut is_followed[slot], true)
                && !self.is_message(slot)
            {
                above = self.loaded.parent(slot);
            }
        }
        self.messages().filter(|&slot| !is_followed[slot]).collect()
    }

    fn messages(&self) -> impl Iterator<Item = usize> {
        self.loaded.kept().filter(|&slot| self.is_message(slot))
    }

    fn is_message(&self, slot: usize) -> bool {
        self.loaded.node(self.session, slot).is_user_or_assistant()
    }

    /// Returns whether a slot is a message from which an entry without children is reached without passing another message.
    fn is_last_message_of_tip(&self, message: usize) -> bool {
        let mut seen = vec![false; self.loaded.slots.len()];
        let mut waiting = if self.is_message(message) { vec![message] } else { Vec::new() };
        while let Some(slot) = waiting.pop() {
            if self.children.count(slot) == 0 {
                return true;
            }
            if !std::mem::replace(&mut seen[slot], true) {
                waiting.extend(self.children.members(slot).filter(|&child| !self.is_message(child)));
            }
        }
        false
    }

    /// Returns whether the leaf that a `last-prompt` names replaces the choice by the last line. It does if there is no such
    /// choice.
    fn overrules(&self, choice: Option<usize>, last: LastPrompt, named: usize) -> bool {
        let Some(choice) = choice else { return true };
        let is_final = last.explicit && !last.overtaken;
        if self.loaded.relinked && !self.is_last_message_of_tip(named) && !is_final {
            return false;
        }
        let chain = walk::chain_by_parents(self.loaded, choice);
        if last.explicit {
            return is_final || !chain.contains(&named);
        }
        let parallel_calls = gather::parallel_calls(self.session, self.loaded, self.children, &chain);
        !chain.contains(&named) && !parallel_calls.contains(&named)
    }

    fn is_main(&self, slot: usize) -> bool {
        !self.loaded.node(self.session, slot).is_side()
    }

    /// Returns the time of an entry; an entry without time is older than all others.
    fn time(&self, slot: usize) -> i64 {
        self.loaded.node(self.session, slot).time.unwrap_or(-1)
    }

    /// Returns whether there is a message on the chain of a slot. Results are cached, so that all calls together take linear
    /// time.
    fn has_message(&mut self, slot: usize) -> bool {
        let mut passed = Vec::new();
        let mut at = Some(slot);
        let answer = loop {
            let Some(slot) = at else { break false };
            if let Some(cached) = self.has_message[slot] {
                break cached;
            }
            // A cycle ends the search: the slot counts as `false` until the end of the chain is known.
            self.has_message[slot] = Some(false);
            passed.push(slot);
            if self.is_message(slot) {
                break true;
            }
            at = self.loaded.parent(slot);
        };
        for slot in passed {
            self.has_message[slot] = Some(answer);
        }
        answer
    }
}
