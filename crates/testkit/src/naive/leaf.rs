//! The leaf, section 3 of `docs/CHAIN.md`.

use super::{
    entry::{Entry, holds},
    gather::{continues, is_context},
    load::{File, NO_ID},
};

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
        self.choice_by_records().or_else(|| self.choice_by_last_messages())
    }

    /// Returns the leaf that the last `last-prompt` names, if it is in the file.
    fn named_leaf(&self) -> Option<&Entry> {
        self.entry(self.last_prompt.leaf.as_ref()?)
    }

    /// Returns the last main entry; `None` if it was forgotten or has no id (3.1).
    fn last_line(&self) -> Option<&Entry> {
        self.entry(self.last_line_id()?)
    }

    fn last_line_id(&self) -> Option<&str> {
        self.main_lines.last().map(|line| &*line.id).filter(|id| *id != NO_ID)
    }

    /// Returns the leaf by the last `last-prompt` and the last line (3.4, 3.5).
    fn choice_by_records(&self) -> Option<&Entry> {
        let named = self.named_leaf();
        let is_final = self.last_prompt.explicit && named.is_some_and(|named| !named.is_side());
        if self.relinked && !is_final {
            return None;
        }
        let named =
            if named.is_some_and(|named| self.is_passed(named, true)) { self.last_line() } else { named };
        let choice = if self.relinked { named } else { named.or_else(|| self.choice_by_last_line()) };
        choice.filter(|choice| self.is_spoken(choice))
    }

    /// Returns the last line, or the newest entry below it (3.5).
    fn choice_by_last_line(&self) -> Option<&Entry> {
        let last = self.last_line_id()?;
        let newest = first_newest(self.main_lines.iter());
        if self.has_last_prompt || newest.is_none_or(|newest| newest.id == NO_ID || newest.id == last) {
            return self.last_line();
        }
        let others = self.entries.iter().filter(|entry| !entry.is_side() && entry.id != last);
        let below = others.filter(|entry| {
            self.written_chain(entry).iter().any(|above| above.parent.as_deref() == Some(last))
        });
        last_newest(below).or_else(|| self.last_line())
    }

    /// Returns the leaf among the messages that no message follows (3.6), or the newest entry if there are none (3.7).
    fn choice_by_last_messages(&self) -> Option<&Entry> {
        let messages = self.last_messages();
        match &messages[..] {
            [] => first_newest(self.entries.iter().filter(|entry| !entry.is_side()))
                .filter(|_| self.names_messages),
            [only] => Some(*only),
            _ => {
                let named = self
                    .named_leaf()
                    .filter(|named| holds(&messages, named) && !self.is_passed(named, false));
                let choice = named.or_else(|| self.last_line()).filter(|choice| self.is_spoken(choice));
                choice.or_else(|| first_newest(messages.iter().copied().filter(|message| !message.is_side())))
            }
        }
    }

    /// Returns the messages above tips that no message is a child of (3.6).
    fn last_messages(&self) -> Vec<&Entry> {
        let tips: Vec<&Entry> = self.entries.iter().filter(|entry| self.children(entry).is_empty()).collect();
        let above: Vec<&Entry> = tips.into_iter().filter_map(|tip| self.message_above(tip)).collect();
        let above = self.entries.iter().filter(|entry| holds(&above, entry));
        above.filter(|entry| !self.children(entry).iter().any(|child| child.is_message())).collect()
    }

    /// Returns the nearest message on the written chain of an entry.
    fn message_above<'f>(&'f self, entry: &'f Entry) -> Option<&'f Entry> {
        self.written_chain(entry).into_iter().find(|entry| entry.is_message())
    }

    /// Returns whether the last line continues from a named leaf (3.8 to 3.11).
    fn is_passed(&self, named: &Entry, directly: bool) -> bool {
        let Some(last) = self.last_line().filter(|last| last.id != named.id && !self.last_prompt.explicit)
        else {
            return false;
        };
        let chain = self.written_chain(last);
        directly && holds(&chain, named)
            || !self.last_prompt.was_explicit && self.is_beside_calls(&chain, named)
            || self.is_beside_split_reply(&chain, named)
    }

    /// Returns whether an entry belongs to parallel calls that a chain passes (3.9, 3.10).
    fn is_beside_calls(&self, chain: &[&Entry], entry: &Entry) -> bool {
        let Some(above) = self.written_chain(entry).into_iter().find(|entry| !is_context(entry)) else {
            return false;
        };
        let answered = above.results();
        let line =
            if above.is_result() { self.parent(above) } else { Some(above).filter(|it| it.id == entry.id) };
        let Some(line) = line.filter(|line| line.reply().is_some() && !line.calls().is_empty()) else {
            return false;
        };
        let run = self.run_above(line);
        for (place, &other) in chain.iter().enumerate() {
            if other.is_of_reply(line) && other.id != line.id && !other.calls().is_empty() {
                let above_other =
                    chain[place + 1..].iter().take_while(|entry| continues(entry, line.reply()));
                if holds(&run, other) || above_other.into_iter().any(|entry| entry.id == line.id) {
                    return true;
                }
            }
        }
        let calls = line.calls();
        let below = chain.iter().position(|other| other.id == line.id).filter(|&place| place > 0);
        let other_results = below.map(|place| chain[place - 1].results()).unwrap_or_default();
        answered.iter().any(|call| calls.contains(call))
            && other_results.iter().any(|call| calls.contains(call) && !answered.contains(call))
    }

    /// Returns whether an entry is the end of a reply that is split by context from which a chain goes on (3.11).
    fn is_beside_split_reply(&self, chain: &[&Entry], entry: &Entry) -> bool {
        let mut run = self.run_above(entry);
        while run.last().is_some_and(|above| above.reply().is_none()) {
            run.pop();
        }
        let between: Vec<&Entry> = run.iter().copied().filter(|above| above.reply().is_none()).collect();
        let fork = between.first().and_then(|fork| chain.iter().position(|entry| entry.id == fork.id));
        let Some(fork) = fork.filter(|_| entry.reply().is_some()) else { return false };
        between.iter().all(|entry| is_silent(entry))
            && entry.calls().is_empty()
            && run.iter().all(|entry| entry.calls().is_empty())
            && chain[..fork].iter().any(|entry| speaks(entry))
            && chain[..fork].last().is_some_and(|first| first.time() > entry.time())
            && self.children(entry).is_empty()
            && self.children(chain[0]).iter().all(|entry| entry.is_side() || is_context(entry))
    }

    /// Returns the entries above a line that continue its reply.
    fn run_above<'f>(&'f self, line: &'f Entry) -> Vec<&'f Entry> {
        let above = self.written_chain(line).into_iter().skip(1);
        above.take_while(|entry| continues(entry, line.reply())).collect()
    }

    /// Returns the nearest message on the written chain of the leaf (3.12); the leaf itself if there is none.
    pub(super) fn last_message<'f>(&'f self, leaf: &'f Entry) -> &'f Entry {
        self.written_chain(leaf).into_iter().find(|entry| entry.is_message()).unwrap_or(leaf)
    }

    /// Returns the trailers of the last message that are not on a path (3.13): system and attachment entries below it that
    /// are reached through such entries only, those of one entry by time, each followed by its own.
    pub(super) fn trailers<'f>(&'f self, last: &'f Entry, path: &[&'f Entry]) -> Vec<&'f Entry> {
        let mut trailers: Vec<&Entry> = Vec::new();
        self.add_trailers(last, path, &mut trailers);
        trailers
    }

    fn add_trailers<'f>(&'f self, entry: &'f Entry, path: &[&'f Entry], trailers: &mut Vec<&'f Entry>) {
        let mut below = self.children(entry);
        below.sort_by_key(|entry| entry.time_or_oldest());
        for child in below {
            if !child.is_message() && !holds(path, child) && !holds(trailers, child) {
                trailers.push(child);
                self.add_trailers(child, path, trailers);
            }
        }
    }
}

/// Returns the entry with the greatest time; of several, the last. Entries without time do not count.
fn last_newest<'f>(entries: impl Iterator<Item = &'f Entry>) -> Option<&'f Entry> {
    entries.filter(|entry| entry.time().is_some()).max_by_key(|entry| entry.time())
}

/// Returns the entry with the greatest time; of several, the first. Entries without time do not count.
fn first_newest<'f>(entries: impl Iterator<Item = &'f Entry>) -> Option<&'f Entry> {
    entries.filter(|entry| entry.time().is_some()).min_by_key(|entry| -entry.time_or_oldest())
}

/// Returns whether an entry is context without the output of a local command.
fn is_silent(entry: &Entry) -> bool {
    !entry.is_message() && entry.value["subtype"] != "local_command"
}

/// Returns whether an entry is a line of a reply or a prompt.
fn speaks(entry: &Entry) -> bool {
    entry.kind() == "assistant" || entry.kind() == "user" && !entry.flag("isMeta") && !entry.is_result()
}
