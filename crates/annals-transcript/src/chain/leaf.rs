//! Choosing the leaf (section 3): the entry that the conversation ends with.

use std::cmp::Reverse;

use super::gather;
use super::load::{LastPrompt, Loaded};
use super::walk;
use crate::groups::Groups;
use crate::session::{NO_ENTRY, Session};

pub(super) fn choose(session: &Session, loaded: &Loaded, children: &Groups) -> Option<usize> {
    let mut chooser = Chooser { session, loaded, children, spoken: vec![None; loaded.slots.len()] };
    let tips: Vec<usize> = loaded.kept().filter(|&slot| children.count(slot) == 0).collect();
    let by_last_line = chooser.by_last_line(&tips);
    let leaf =
        loaded.last_prompt.and_then(|last| last.leaf).filter(|&id| session.id_texts().get(id) != NO_ENTRY);
    match loaded.last_prompt.zip(leaf.and_then(|id| loaded.slot(id))) {
        Some((last, named)) if chooser.is_spoken(named) && chooser.overrules(by_last_line, last, named) => {
            Some(named)
        }
        _ => by_last_line.or_else(|| chooser.by_last_messages()),
    }
}

/// Returns the nearest message on the chain of a leaf; the leaf itself if there is none.
pub(super) fn last_message(session: &Session, loaded: &Loaded, leaf: usize) -> usize {
    walk::back(loaded, leaf).find(|&slot| loaded.node(session, slot).speaks()).unwrap_or(leaf)
}

struct Chooser<'a> {
    session: &'a Session,
    loaded: &'a Loaded,
    children: &'a Groups,
    /// Whether a message stands on the chain of a slot, as far as known.
    spoken: Vec<Option<bool>>,
}

impl Chooser<'_> {
    /// Chooses by the last line of the file; none if no message stands on its chain.
    fn by_last_line(&mut self, tips: &[usize]) -> Option<usize> {
        let last = self.last_main_line();
        let spoken_last = last.filter(|&last| self.is_spoken(last));
        match (self.loaded.relinked, tips) {
            (true, &[only]) => Some(only),
            (true, _) => spoken_last,
            (false, _) if spoken_last.is_some() && self.loaded.last_named_leaf.is_some() => {
                self.only_last_message().filter(|_| !self.is_named_leaf_usable()).or(spoken_last)
            }
            (false, _) => last.and_then(|last| self.newest_from(last)),
        }
    }

    /// Returns the last line of the file that is not a subagent's.
    fn last_main_line(&self) -> Option<usize> {
        let lines = self.session.nodes().iter().rev();
        let loaded = lines.filter(|node| node.is_loaded_by_claude_code());
        let mut slots = loaded.filter_map(|node| self.loaded.slot_of(node));
        slots.find(|&slot| self.is_main(slot))
    }

    /// Returns the last line if it is the newest of all, and otherwise the newest entry that hangs below it. Of several
    /// newest ones, the first line is the newest of all, and the last line the newest below.
    fn newest_from(&mut self, last: usize) -> Option<usize> {
        let spoken = self.is_spoken(last);
        let main = self.loaded.kept().filter(|&slot| self.is_main(slot));
        if spoken && main.max_by_key(|&slot| (self.time(slot), Reverse(slot))) == Some(last) {
            return Some(last);
        }
        let below = self.spoken_main(self.below(last));
        let newest = below.into_iter().max_by_key(|&slot| (self.time(slot), slot));
        newest.or(spoken.then_some(last))
    }

    /// Returns everything that hangs below a slot, in file order.
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

    /// Chooses the newest message that no other follows; of several, the first line. If no message is the last of its
    /// branch, because there is none or all stand in circles, it is the last entry.
    fn by_last_messages(&self) -> Option<usize> {
        let last_messages = self.last_messages();
        if last_messages.is_empty() {
            return self.loaded.kept().next_back().filter(|_| self.session.names_messages());
        }
        let main = last_messages.into_iter().filter(|&slot| self.is_main(slot));
        main.max_by_key(|&slot| (self.time(slot), Reverse(slot)))
    }

    /// Returns the main entries with a message on their chains.
    fn spoken_main(&mut self, slots: Vec<usize>) -> Vec<usize> {
        slots.into_iter().filter(|&slot| self.is_main(slot) && self.is_spoken(slot)).collect()
    }

    /// Returns whether the leaf that the last `last-prompt` names has a message on its chain, or is not in the file.
    fn is_named_leaf_usable(&mut self) -> bool {
        let named = self.loaded.last_named_leaf.and_then(|id| self.loaded.slot(id));
        named.is_none_or(|slot| self.is_spoken(slot))
    }

    /// Returns the message that no other message follows, if there is only one such message.
    fn only_last_message(&self) -> Option<usize> {
        match self.last_messages()[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the messages that no message follows, directly or behind other entries.
    fn last_messages(&self) -> Vec<usize> {
        let speaks = |slot: &usize| self.loaded.node(self.session, *slot).speaks();
        // Whether a message follows a slot, or, for other entries, whether a message below was led past it.
        let mut is_followed = vec![false; self.loaded.slots.len()];
        for message in self.loaded.kept().filter(speaks) {
            let mut above = self.loaded.parent(message);
            while let Some(slot) = above
                && !std::mem::replace(&mut is_followed[slot], true)
                && !speaks(&slot)
            {
                above = self.loaded.parent(slot);
            }
        }
        self.loaded.kept().filter(speaks).filter(|&slot| !is_followed[slot]).collect()
    }

    /// Returns whether a slot is a message, and a tip or above one with no other message between.
    fn is_last_message_of_tip(&self, message: usize) -> bool {
        let speaks = |slot: usize| self.loaded.node(self.session, slot).speaks();
        let mut seen = vec![false; self.loaded.slots.len()];
        let mut waiting = if speaks(message) { vec![message] } else { Vec::new() };
        while let Some(slot) = waiting.pop() {
            if self.children.count(slot) == 0 {
                return true;
            }
            if !std::mem::replace(&mut seen[slot], true) {
                waiting.extend(self.children.members(slot).filter(|&child| !speaks(child)));
            }
        }
        false
    }

    /// Decides whether a `last-prompt` overrules the choice by the last line; it does if there is none.
    fn overrules(&self, choice: Option<usize>, last: LastPrompt, named: usize) -> bool {
        let Some(choice) = choice else { return true };
        let final_word = last.explicit && !last.overtaken;
        if self.loaded.relinked && !self.is_last_message_of_tip(named) && !final_word {
            return false;
        }
        let chain = walk::written(self.loaded, choice);
        if last.explicit {
            return final_word || !chain.contains(&named);
        }
        let parallel_calls = gather::parallel_calls(self.session, self.loaded, self.children, &chain);
        !chain.contains(&named) && !parallel_calls.contains(&named)
    }

    fn is_main(&self, slot: usize) -> bool {
        !self.loaded.node(self.session, slot).is_side()
    }

    /// An entry without time is older than all others.
    fn time(&self, slot: usize) -> i64 {
        self.loaded.node(self.session, slot).time.unwrap_or(-1)
    }

    /// Returns whether a user or assistant entry stands on the chain, in time linear over all questions.
    fn is_spoken(&mut self, slot: usize) -> bool {
        let mut passed = Vec::new();
        let mut at = Some(slot);
        let answer = loop {
            let Some(slot) = at else { break false };
            if let Some(known) = self.spoken[slot] {
                break known;
            }
            // Noted as false until the end of the chain is known, so that a cycle ends the search.
            self.spoken[slot] = Some(false);
            passed.push(slot);
            if self.loaded.node(self.session, slot).speaks() {
                break true;
            }
            at = self.loaded.parent(slot);
        };
        for slot in passed {
            self.spoken[slot] = Some(answer);
        }
        answer
    }
}
