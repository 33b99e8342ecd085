//! Chooses the leaf, which is the last entry of the conversation (CHAIN.md 3).

use std::cmp::Reverse;

use super::load::LoadedEntries;
use super::reply::{self, is_context};
use super::walk;
use crate::entry::{Flag, Kind};
use crate::groups::Groups;
use crate::session::{Id, Node, Session};

pub(super) fn choose(session: &Session, loaded: &LoadedEntries, children: &Groups) -> Option<usize> {
    let last_line = main_lines(session, loaded).next_back().and_then(|line| line.id);
    let last = last_line.and_then(|id| loaded.slot(id));
    let named = loaded.last_prompt.leaf.and_then(|id| loaded.slot(id));
    let chooser = Chooser { session, loaded, children, last_line, last, named };
    chooser.by_records().or_else(|| chooser.by_last_messages())
}

/// Returns the last message on the chain of a leaf; the leaf itself if there is none (CHAIN 3.12).
pub(super) fn last_message(session: &Session, loaded: &LoadedEntries, leaf: usize) -> usize {
    message_above(session, loaded, leaf).unwrap_or(leaf)
}

fn message_above(session: &Session, loaded: &LoadedEntries, leaf: usize) -> Option<usize> {
    walk::ancestors(loaded, leaf).find(|&slot| loaded.node(session, slot).is_user_or_assistant())
}

/// Returns the loaded lines of the file that are not in a sidechain; a compaction may have discarded them since (CHAIN 3.1).
fn main_lines<'s>(session: &'s Session, loaded: &LoadedEntries) -> impl DoubleEndedIterator<Item = &'s Node> {
    let lines = session.nodes().iter().filter(|node| node.is_loaded_by_claude_code() && !node.is_side());
    lines.filter(move |node| node.id.is_none_or(|id| loaded.has_read(id)))
}

struct Chooser<'a> {
    session: &'a Session,
    loaded: &'a LoadedEntries,
    children: &'a Groups,
    /// The id of the last main line, which may be discarded, and its slot.
    last_line: Option<Id>,
    last: Option<usize>,
    /// The leaf that the last `last-prompt` names.
    named: Option<usize>,
}

impl Chooser<'_> {
    /// Chooses by the last `last-prompt` and by the last line; `None` if the chain of the choice has no message (CHAIN 3.3,
    /// 3.4).
    fn by_records(&self) -> Option<usize> {
        let is_final = self.loaded.last_prompt.explicit && self.named.is_some_and(|slot| self.is_main(slot));
        if self.loaded.relinked && !is_final {
            return None;
        }
        let named = match self.named {
            Some(named) if self.is_passed(named, true) => self.last,
            named => named,
        };
        let choice = if self.loaded.relinked { named } else { named.or_else(|| self.by_last_line()) };
        choice.filter(|&slot| self.has_message(slot))
    }

    /// Returns the last line; in a file without `last-prompt`, the newest entry below it, unless it is the newest of all
    /// (CHAIN 3.5).
    fn by_last_line(&self) -> Option<usize> {
        let last_line = self.last_line?;
        // The first line wins a tie.
        let timed = main_lines(self.session, self.loaded).filter(|line| line.time().is_some());
        let newest = timed.rev().max_by_key(|line| line.time()).and_then(|line| line.id);
        if self.loaded.has_last_prompt || newest.is_none_or(|newest| newest == last_line) {
            return self.last;
        }
        self.newest_below(last_line).or(self.last)
    }

    /// Returns the newest main entry below an id, which may be discarded; the last line wins a tie.
    fn newest_below(&self, top: Id) -> Option<usize> {
        let mut is_below = vec![None; self.loaded.slots.len()];
        let mut passed = Vec::new();
        for slot in self.loaded.kept() {
            let mut at = Some(slot);
            let answer = loop {
                let Some(slot) = at else { break false };
                if let Some(known) = is_below[slot] {
                    break known;
                }
                // A cycle ends the search: the slot counts as `false` until the end of its chain is known.
                is_below[slot] = Some(false);
                passed.push(slot);
                let parent = self.loaded.slots[slot].parent;
                if parent == Some(top) {
                    break true;
                }
                at = parent.and_then(|id| self.loaded.slot(id));
            };
            for slot in passed.drain(..) {
                is_below[slot] = Some(answer);
            }
        }
        let below = self.loaded.kept().filter(|&slot| is_below[slot] == Some(true));
        below
            .filter(|&slot| self.is_main(slot) && Some(slot) != self.last && self.time(slot).is_some())
            .max_by_key(|&slot| (self.time(slot), slot))
    }

    /// Chooses among the messages that no other follows: the only one, the one that a `last-prompt` names, or the one above
    /// the last line, and else the newest; the first line wins a tie. If there is no such message, because there are none or
    /// all are in cycles, it chooses the newest entry (CHAIN 3.6, 3.7).
    fn by_last_messages(&self) -> Option<usize> {
        let last_messages = self.last_messages();
        match last_messages[..] {
            [] => self.newest(self.loaded.kept()).filter(|_| self.session.names_messages()),
            [only] => Some(only),
            _ => {
                let named = self.named.filter(|named| last_messages.contains(named));
                let named = named.filter(|&named| !self.is_passed(named, false));
                let choice = named.or(self.last).filter(|&slot| self.has_message(slot));
                choice.or_else(|| self.newest(last_messages.into_iter()))
            }
        }
    }

    /// Returns the newest main entry; the first line wins a tie.
    fn newest(&self, slots: impl Iterator<Item = usize>) -> Option<usize> {
        let timed = slots.filter(|&slot| self.is_main(slot) && self.time(slot).is_some());
        timed.max_by_key(|&slot| (self.time(slot), Reverse(slot)))
    }

    /// Returns the messages without a message as a child that are reached from an entry without children, without passing
    /// another message (CHAIN 3.2).
    fn last_messages(&self) -> Vec<usize> {
        let slots = self.loaded.slots.len();
        let mut has_message_child = vec![false; slots];
        for parent in self
            .loaded
            .kept()
            .filter(|&slot| self.is_message(slot))
            .filter_map(|slot| self.loaded.parent(slot))
        {
            has_message_child[parent] = true;
        }
        let (mut is_passed, mut is_last) = (vec![false; slots], vec![false; slots]);
        for tip in self.loaded.kept().filter(|&slot| self.children.count(slot) == 0) {
            let mut at = Some(tip);
            while let Some(slot) = at.filter(|&slot| !self.is_message(slot))
                && !std::mem::replace(&mut is_passed[slot], true)
            {
                at = self.loaded.parent(slot);
            }
            if let Some(message) = at.filter(|&slot| self.is_message(slot)) {
                is_last[message] = !has_message_child[message];
            }
        }
        self.loaded.kept().filter(|&slot| is_last[slot]).collect()
    }

    /// Returns whether the conversation went on from the leaf that a `last-prompt` names to the last line, although the leaf
    /// may be beside the chain of that line. `directly` says whether being on the chain counts (CHAIN 3.8).
    fn is_passed(&self, named: usize, directly: bool) -> bool {
        let last_prompt = &self.loaded.last_prompt;
        let Some(last) = self.last.filter(|&last| last != named && !last_prompt.explicit) else {
            return false;
        };
        let chain: Vec<usize> = walk::ancestors(self.loaded, last).collect();
        directly && chain.contains(&named)
            || !last_prompt.was_explicit && self.is_beside_calls(&chain, named)
            || self.is_beside_split_reply(&chain, named)
    }

    /// Returns whether an entry belongs to parallel calls that a chain passes: it is a line with a call, a result of one, or
    /// context below such a result. The chain passes another line with a call of the same reply, above or below that line
    /// with nothing but the reply's own entries between them, or a result of another call of the same line (CHAIN 3.9, 3.10).
    fn is_beside_calls(&self, chain: &[usize], entry: usize) -> bool {
        let above =
            walk::ancestors(self.loaded, entry).find(|&slot| !is_context(self.session, self.node(slot)));
        let is_result = above.is_some_and(|slot| reply::has_result(self.session, self.node(slot)));
        let answered: Vec<Id> = match above.filter(|_| is_result) {
            Some(result) => reply::results(self.session, self.node(result)).collect(),
            None => Vec::new(),
        };
        let line = if is_result {
            above.and_then(|slot| self.loaded.parent(slot))
        } else {
            above.filter(|&above| above == entry)
        };
        let Some(line) = line else { return false };
        let calls: Vec<Id> = reply::calls(self.session, self.node(line)).collect();
        let Some(id) = reply::of(self.node(line)).filter(|_| !calls.is_empty()) else { return false };
        let run: Vec<usize> = self.run_above(line, id).collect();
        let (mut is_line_below, mut below) = (false, None);
        for &slot in chain {
            let node = self.node(slot);
            let has_other_call = slot != line
                && reply::of(node) == Some(id)
                && reply::calls(self.session, node).next().is_some();
            if slot == line
                && (is_line_below || below.is_some_and(|below| self.answers_others(below, &calls, &answered)))
                || has_other_call && run.contains(&slot)
            {
                return true;
            }
            is_line_below = has_other_call || is_line_below && reply::continues(self.session, node, Some(id));
            below = Some(slot);
        }
        false
    }

    /// Returns whether some of the calls are answered, and an entry answers others of them.
    fn answers_others(&self, entry: usize, calls: &[Id], answered: &[Id]) -> bool {
        let mut results = reply::results(self.session, self.node(entry));
        answered.iter().any(|call| calls.contains(call))
            && results.any(|call| calls.contains(&call) && !answered.contains(&call))
    }

    /// Returns whether an entry is the end of a reply without calls whose lines are split by context, while a chain goes on
    /// from that context with newer messages and nothing follows either of the two (CHAIN 3.11).
    fn is_beside_split_reply(&self, chain: &[usize], entry: usize) -> bool {
        let Some(id) = reply::of(self.node(entry)) else { return false };
        let run: Vec<usize> = self.run_above(entry, id).collect();
        let Some(first_line) = run.iter().rposition(|&slot| reply::of(self.node(slot)).is_some()) else {
            return false;
        };
        let (lines, between): (Vec<usize>, Vec<usize>) =
            run[..=first_line].iter().partition(|&&slot| reply::of(self.node(slot)).is_some());
        let Some(fork) = between.first().and_then(|fork| chain.iter().position(|slot| slot == fork)) else {
            return false;
        };
        let other = &chain[..fork];
        !self.has_calls(entry)
            && !lines.into_iter().any(|slot| self.has_calls(slot))
            && between.iter().all(|&slot| self.is_silent(slot))
            && other.iter().any(|&slot| self.speaks(slot))
            && other.last().is_some_and(|&slot| self.time(slot) > self.time(entry))
            && self.children.members(entry).next().is_none()
            && !self.last.is_some_and(|last| self.is_followed_by_message(last))
    }

    fn has_calls(&self, slot: usize) -> bool {
        reply::calls(self.session, self.node(slot)).next().is_some()
    }

    /// Returns whether an entry is context that Claude Code writes between the lines of a reply.
    fn is_silent(&self, slot: usize) -> bool {
        let node = self.node(slot);
        matches!(node.kind, Kind::System | Kind::Attachment) && !node.has(Flag::LocalCommand)
    }

    /// Returns whether an entry is a reply or a prompt.
    fn speaks(&self, slot: usize) -> bool {
        let node = self.node(slot);
        let is_prompt =
            node.kind == Kind::User && !node.has(Flag::Meta) && !reply::has_result(self.session, node);
        node.kind == Kind::Assistant || is_prompt
    }

    /// Returns whether a message that is neither context nor of a subagent has an entry as its parent.
    fn is_followed_by_message(&self, slot: usize) -> bool {
        let mut children = self.children.members(slot);
        children.any(|child| self.is_main(child) && !is_context(self.session, self.node(child)))
    }

    /// Returns the ancestors of a line up to the first that is not part of the reply: its lines, results, context.
    fn run_above(&self, line: usize, id: Id) -> impl Iterator<Item = usize> {
        let above = walk::ancestors(self.loaded, line).skip(1);
        above.take_while(move |&slot| reply::continues(self.session, self.node(slot), Some(id)))
    }

    fn has_message(&self, slot: usize) -> bool {
        message_above(self.session, self.loaded, slot).is_some()
    }

    fn is_message(&self, slot: usize) -> bool {
        self.node(slot).is_user_or_assistant()
    }

    fn is_main(&self, slot: usize) -> bool {
        !self.node(slot).is_side()
    }

    fn time(&self, slot: usize) -> Option<i64> {
        self.node(slot).time()
    }

    fn node(&self, slot: usize) -> &Node {
        self.loaded.node(self.session, slot)
    }
}
