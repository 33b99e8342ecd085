//! What is counted in one file.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

use crate::hash::stable_hash;
use crate::money::Money;
use crate::names::Names;
use crate::reply::{Counters, Flag, Flags, NO_TIME, ReplyCount, advisor_hash, message_hash};

/// One line of a reply, or one call of an advisor in it.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The message id, which all lines of a reply share.
    pub message: Option<&'a str>,
    /// The request id.
    pub request: Option<&'a str>,
    /// The uuid of the line.
    pub uuid: Option<&'a str>,
    /// Which call of an advisor in the reply it is.
    pub advisor: Option<u32>,
    /// The time in milliseconds since 1970, or [`NO_TIME`].
    pub time: i64,
    /// The model.
    pub model: &'a str,
    /// The branch that was checked out, or nothing.
    pub branch: &'a str,
    /// The agent that an `agent_progress` line names, or nothing.
    pub agent: &'a str,
    /// The service tier, or nothing.
    pub tier: &'a str,
    /// Where it was computed, or nothing.
    pub geography: &'a str,
    /// The counters.
    pub counters: Counters,
    /// The cost that the line has.
    pub recorded: Option<Money>,
    /// Facts about it.
    pub flags: Flags,
    /// The number of the line, from 1.
    pub line: u64,
}

impl Default for Line<'_> {
    fn default() -> Self {
        Self {
            message: None,
            request: None,
            uuid: None,
            advisor: None,
            time: NO_TIME,
            model: "",
            branch: "",
            agent: "",
            tier: "",
            geography: "",
            counters: Counters::default(),
            recorded: None,
            flags: Flags::default(),
            line: 1,
        }
    }
}

/// What is known about a file beside its replies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// The session that its first line names.
    pub session: Option<String>,
    /// The first working directory.
    pub cwd: Option<String>,
    /// The hash of the first uuid, which copies of the file share; 0 if there is none.
    pub first_uuid: u64,
    /// The session that its first line was copied from.
    pub forked_from: Option<String>,
    /// The last record of what Claude Code itself counted.
    pub client: Option<ClientCost>,
    /// The ends of five-hour windows that messages about a reached limit name, in milliseconds since 1970.
    pub resets: Vec<i64>,
}

/// What Claude Code itself counted for a session: `cost-state`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientCost {
    /// The cost of everything.
    pub cost: Money,
    /// Whether Claude Code did not know what a model costs.
    pub has_unknown_model: bool,
    /// The models, with tokens and cost of each.
    pub models: Vec<ClientModel>,
}

impl ClientCost {
    /// Returns the cost, if there is one.
    pub(crate) fn of(client: Option<&Self>) -> Option<Money> {
        client.map(|client| client.cost)
    }
}

/// What Claude Code itself counted for a model of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientModel {
    /// The name of the model; it may end in `[1m]`.
    pub name: String,
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens written to the cache.
    pub writes: u64,
    /// Tokens read from the cache.
    pub read: u64,
    /// Its cost.
    pub cost: Money,
}

/// The replies of one file, each with all of its lines merged.
#[derive(Clone, Debug, Default)]
pub struct FileCount {
    /// What is known beside the replies.
    pub facts: FileFacts,
    names: Names,
    replies: Vec<ReplyCount>,
    /// Where each reply is. It is made when a line is added, since most files that are read from the store get none.
    places: HashMap<(u64, u64, u16), usize, FixedState>,
}

impl PartialEq for FileCount {
    fn eq(&self, other: &Self) -> bool {
        self.facts == other.facts && self.names == other.names && self.replies == other.replies
    }
}

impl FileCount {
    /// Returns a count from its parts.
    pub(crate) fn from_parts(facts: FileFacts, names: Names, replies: Vec<ReplyCount>) -> Self {
        Self { facts, names, replies, places: HashMap::default() }
    }

    /// Returns the names that the replies refer to.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the replies in the order of their first lines.
    pub fn replies(&self) -> &[ReplyCount] {
        &self.replies
    }

    /// Adds a line. A line without a message id and without a uuid is a reply of its own.
    pub fn add(&mut self, line: &Line<'_>) {
        let mut reply = ReplyCount {
            message: self.message_of(line),
            request: line.request.filter(|id| !id.is_empty()).map_or(0, |id| stable_hash(&["request", id])),
            time: line.time,
            counters: line.counters,
            recorded: line.recorded,
            model: self.names.id(line.model),
            branch: self.names.id(line.branch),
            agent: self.names.id(line.agent),
            tier: self.names.id(line.tier),
            geography: self.names.id(line.geography),
            flags: line.flags,
            line: line.line,
            lines: 1,
        };
        reply.flags.set(Flag::NoMessage, line.message.is_none());
        reply.flags.set(Flag::Advisor, line.advisor.is_some());
        self.add_reply(reply);
    }

    fn message_of(&self, line: &Line<'_>) -> u64 {
        let message = match (line.message, line.uuid) {
            (Some(id), _) => message_hash(original_message(id)),
            (None, Some(uuid)) => stable_hash(&["uuid", uuid]),
            (None, None) => {
                let file = self.facts.first_uuid.to_string();
                stable_hash(&["line", &file, &line.line.to_string()])
            }
        };
        line.advisor.map_or(message, |index| advisor_hash(message, index))
    }

    fn add_reply(&mut self, reply: ReplyCount) {
        if self.places.len() != self.replies.len() {
            self.places = self.replies.iter().enumerate().map(|(at, reply)| (reply.key(), at)).collect();
        }
        if let Some(&at) = self.places.get(&reply.key()) {
            self.replies[at].merge(&reply);
            if !reply.flags.has(Flag::Left) {
                self.replies[at].flags.remove(Flag::Left);
            }
        } else {
            self.places.insert(reply.key(), self.replies.len());
            self.replies.push(reply);
        }
    }

    /// Adds the replies of an earlier version of the file that it does not have any more: they were counted, and stay so.
    pub fn keep_from(&mut self, earlier: &FileCount) {
        let mut known: HashSet<_> = self.replies.iter().map(ReplyCount::key).collect();
        for old in &earlier.replies {
            let mut kept = *old;
            for name in kept.names_mut() {
                *name = self.names.id(earlier.names.text(*name));
            }
            if known.insert(kept.key()) {
                kept.flags.set(Flag::Left, true);
                self.add_reply(kept);
            }
        }
        self.facts.cwd = self.facts.cwd.take().or_else(|| earlier.facts.cwd.clone());
        self.facts.client = self.facts.client.take().or_else(|| earlier.facts.client.clone());
    }

    /// Returns only what the file does not have any more, so that all else can be counted again by other rules.
    #[must_use]
    pub fn only_left(mut self) -> Self {
        self.replies.retain(|reply| reply.flags.has(Flag::Left));
        Self::from_parts(FileFacts::default(), self.names, self.replies)
    }

    /// Removes the replies that the file does not have any more. Returns how many there were.
    pub fn forget_left(&mut self) -> usize {
        let before = self.replies.len();
        self.replies.retain(|reply| !reply.flags.has(Flag::Left));
        self.places.clear();
        self.drop_unused_names();
        before - self.replies.len()
    }

    /// Removes the names that no reply refers to.
    fn drop_unused_names(&mut self) {
        let names = std::mem::take(&mut self.names);
        for reply in &mut self.replies {
            for name in reply.names_mut() {
                *name = self.names.id(names.text(*name));
            }
        }
    }
}

/// The ending that a repair gives to the message ids of copies of a reply, so that Claude Code does not send them.
pub const COPY_SUFFIX: &str = "_copy";

/// Returns the message id of the reply that a line belongs to, be it a copy that a repair renamed.
pub fn original_message(id: &str) -> &str {
    id.trim_end_matches(COPY_SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(message: &'static str, output: u32) -> Line<'static> {
        Line {
            message: Some(message),
            counters: Counters { output, ..Counters::default() },
            ..Line::default()
        }
    }

    fn outputs(count: &FileCount) -> Vec<u32> {
        count.replies().iter().map(|reply| reply.counters.output).collect()
    }

    #[test]
    fn the_lines_of_a_reply_are_one() {
        let mut count = FileCount::default();
        for line in [line("a", 1), line("b", 5), line("a", 9), line("a", 2)] {
            count.add(&line);
        }
        assert_eq!(outputs(&count), [9, 5]);
        assert_eq!(count.replies()[0].lines, 3);
    }

    #[test]
    fn lines_without_ids_are_replies_of_their_own() {
        let mut count = FileCount::default();
        let without = Line { message: None, ..line("", 1) };
        count.add(&Line { uuid: Some("u"), ..without });
        count.add(&Line { uuid: Some("u"), ..without });
        count.add(&Line { line: 3, ..without });
        count.add(&Line { line: 4, ..without });
        assert_eq!(outputs(&count), [1, 1, 1]);
    }

    #[test]
    fn calls_of_advisors_are_replies_of_their_own() {
        let mut count = FileCount::default();
        for _ in 0..2 {
            count.add(&line("a", 1));
            count.add(&Line { advisor: Some(0), ..line("a", 2) });
            count.add(&Line { advisor: Some(1), ..line("a", 3) });
        }
        assert_eq!(outputs(&count), [1, 2, 3]);
    }

    #[test]
    fn what_a_rewritten_file_has_lost_stays_counted_until_it_is_forgotten() {
        let (mut earlier, mut now) = (FileCount::default(), FileCount::default());
        earlier.add(&Line { model: "x", ..line("a", 1) });
        earlier.add(&line("b", 2));
        now.add(&line("b", 2));
        now.keep_from(&earlier);
        now.keep_from(&earlier);
        assert_eq!(outputs(&now), [2, 1]);
        assert_eq!(now.names().text(now.replies()[1].model), "x");
        assert_eq!(outputs(&now.clone().only_left()), [1]);
        let mut again = now.clone();
        again.add(&line("a", 1));
        assert_eq!(again.forget_left(), 0);
        assert_eq!((now.forget_left(), outputs(&now)), (1, vec![2]));
        assert!(!now.names().iter().any(|name| name == "x"), "names of what was forgotten are forgotten");
        now.add(&line("b", 3));
        assert_eq!(outputs(&now), [3]);
    }
}
