//! The leaf, section 3 of `docs/CHAIN.md`.

use super::{
    entry::{Entry, holds},
    gather::is_context,
    load::{File, LastPrompt},
};

/// The id in a `last-prompt` that names no entry.
const NO_ENTRY: &str = "00000000-0000-0000-0000-000000000000";

impl File {
    /// Returns the written chain of an entry, the entry itself first.
    pub(super) fn written_chain<'f>(&'f self, leaf: &'f Entry) -> Vec<&'f Entry> {
        let mut chain = vec![leaf];
        let mut at = leaf;
        while let Some(parent) = self.parent(at).filter(|parent| !holds(&chain, parent)) {
            chain.push(parent);
            at = parent;
        }
        chain
    }

    /// Returns whether the written chain of an entry has a message ("spoken").
    fn is_spoken(&self, entry: &Entry) -> bool {
        self.written_chain(entry).iter().any(|entry| entry.is_message())
    }

    /// Returns the entry in which the conversation ends.
    pub(super) fn leaf(&self) -> Option<&Entry> {
        let by_last_line = self.choice_by_last_line();
        if let Some(last) = &self.last_prompt
            && let Some(named) = last.leaf.as_ref().filter(|leaf| *leaf != NO_ENTRY)
            && let Some(leaf) = self.entry(named)
            && self.is_spoken(leaf)
            && self.overrules(last, leaf, by_last_line)
        {
            return Some(leaf);
        }
        by_last_line.or_else(|| match &self.last_messages()[..] {
            [] => self.entries.last().filter(|_| self.names_messages),
            messages => first_newest(messages.iter().copied().filter(|message| !message.is_side())),
        })
    }

    /// Returns the leaf by the last line, before a `last-prompt` is considered (3.3 to 3.5).
    fn choice_by_last_line(&self) -> Option<&Entry> {
        match (self.relinked, &self.tips()[..]) {
            (true, [only]) => Some(*only),
            (true, _) => self.last_main_line().filter(|last| self.is_spoken(last)),
            (false, _) => self.last_main_line().and_then(|last| self.choice_at_last_line(last)),
        }
    }

    /// Returns the entries without children (3.2).
    fn tips(&self) -> Vec<&Entry> {
        self.entries.iter().filter(|entry| self.children(entry).is_empty()).collect()
    }

    /// Returns the last main entry, by lines (3.1).
    fn last_main_line(&self) -> Option<&Entry> {
        let mut entries = self.lines.iter().rev().filter_map(|id| self.entry(id));
        entries.find(|entry| !entry.is_side())
    }

    /// Returns the last entry if a `last-prompt` names a leaf (3.4) or if it is the newest of all; else the newest entry below
    /// it, or itself if there is none (3.5).
    fn choice_at_last_line<'f>(&'f self, last: &'f Entry) -> Option<&'f Entry> {
        let is_spoken = self.is_spoken(last);
        let newest = first_newest(self.entries.iter().filter(|entry| !entry.is_side()));
        let is_newest = newest.is_some_and(|newest| newest.id == last.id);
        if is_spoken && self.named_leaf.is_some() {
            let only = self.only_last_message().filter(|_| !self.is_named_leaf_usable());
            return Some(only.unwrap_or(last));
        }
        if is_spoken && is_newest {
            return Some(last);
        }
        self.newest_below(last).or(is_spoken.then_some(last))
    }

    /// Returns the newest spoken main entry whose written chain contains another entry (3.5).
    fn newest_below(&self, entry: &Entry) -> Option<&Entry> {
        let is_below = |other: &&Entry| other.id != entry.id && holds(&self.written_chain(other), entry);
        let below = self.entries.iter().filter(is_below);
        last_newest(below.filter(|other| !other.is_side() && self.is_spoken(other)))
    }

    /// Returns whether the last named leaf is unknown or spoken (3.4).
    fn is_named_leaf_usable(&self) -> bool {
        let leaf = self.named_leaf.as_ref().and_then(|leaf| self.entry(leaf));
        leaf.is_none_or(|leaf| self.is_spoken(leaf))
    }

    /// Returns the message that no other message follows, if there is only one.
    fn only_last_message(&self) -> Option<&Entry> {
        match self.last_messages()[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the messages that no message follows, directly or behind other entries (3.6).
    fn last_messages(&self) -> Vec<&Entry> {
        let messages = || self.entries.iter().filter(|entry| entry.is_message());
        let followed: Vec<&Entry> = messages().filter_map(|entry| self.message_above(entry)).collect();
        messages().filter(|entry| !holds(&followed, entry)).collect()
    }

    /// Returns the message that an entry follows, directly or behind other entries.
    fn message_above(&self, entry: &Entry) -> Option<&Entry> {
        let mut passed: Vec<&Entry> = Vec::new();
        let mut above = self.parent(entry);
        while let Some(at) = above.filter(|at| !at.is_message() && !holds(&passed, at)) {
            passed.push(at);
            above = self.parent(at);
        }
        above.filter(|at| at.is_message())
    }

    /// Returns whether the leaf that a `last-prompt` names replaces the choice (3.8 to 3.11).
    fn overrules(&self, last: &LastPrompt, leaf: &Entry, choice: Option<&Entry>) -> bool {
        let Some(choice) = choice else { return true };
        if last.explicit && !last.overtaken {
            return true;
        }
        let is_last_of_tip = self.tips().iter().any(|tip| self.last_message(tip).id == leaf.id);
        if self.relinked && !(leaf.is_message() && is_last_of_tip) {
            return false;
        }
        let mut chain = self.written_chain(choice);
        chain.reverse();
        !(holds(&chain, leaf) || !last.explicit && self.is_beside_calls(&chain, leaf))
    }

    /// Returns whether an entry stands beside a chain in the middle of parallel calls (3.11): a line with a call of a reply
    /// on the chain other than its last line there, a result whose parent is such a line, or context below such a result.
    fn is_beside_calls(&self, chain: &[&Entry], entry: &Entry) -> bool {
        let mut above = self.written_chain(entry).into_iter().skip_while(|entry| is_context(entry));
        let result = above.next().filter(|entry| entry.is_result());
        let answered = result.and_then(|result| self.parent(result));
        is_parallel_call(chain, entry) || answered.is_some_and(|line| is_parallel_call(chain, line))
    }

    /// Returns the nearest message on the written chain of the leaf (3.12); the leaf itself if there is none.
    pub(super) fn last_message<'f>(&'f self, leaf: &'f Entry) -> &'f Entry {
        self.written_chain(leaf).into_iter().find(|entry| entry.is_message()).unwrap_or(leaf)
    }

    /// Returns the trailers of the last message, by time (3.13): system and attachment entries below it that are reached
    /// through such entries only.
    pub(super) fn trailers<'f>(&'f self, last: &'f Entry) -> Vec<&'f Entry> {
        let mut reached = vec![last];
        let mut next = 0;
        while next < reached.len() {
            for child in self.children(reached[next]) {
                if !child.is_message() && !holds(&reached, child) {
                    reached.push(child);
                }
            }
            next += 1;
        }
        let mut trailers = reached.split_off(1);
        trailers.sort_by_key(|entry| entry.time_or_oldest());
        trailers
    }
}

/// Returns whether an entry has a call and belongs to a reply on a chain, of which it is not the last line there.
fn is_parallel_call(chain: &[&Entry], entry: &Entry) -> bool {
    let last_line = chain.iter().rfind(|line| line.is_of_reply(entry));
    !entry.calls().is_empty() && last_line.is_some_and(|last| last.id != entry.id)
}

/// Returns the entry with the greatest time; of several, the last.
fn last_newest<'f>(entries: impl Iterator<Item = &'f Entry>) -> Option<&'f Entry> {
    entries.max_by_key(|entry| entry.time_or_oldest())
}

/// Returns the entry with the greatest time; of several, the first.
fn first_newest<'f>(entries: impl Iterator<Item = &'f Entry>) -> Option<&'f Entry> {
    entries.min_by_key(|entry| -entry.time_or_oldest())
}
