//! The counters of one reply, as one file has them, and how two copies of them are merged.

use crate::hash::stable_hash;
use crate::money::Money;
use crate::names::NameId;

/// The time of a reply whose lines have none.
pub const NO_TIME: i64 = i64::MAX;

/// What the API counted for one response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Input tokens that were neither written to nor read from the cache.
    pub input: u32,
    /// Output tokens, thinking included.
    pub output: u32,
    /// Tokens written to the cache for five minutes.
    pub write_5m: u32,
    /// Tokens written to the cache for an hour.
    pub write_1h: u32,
    /// Tokens written to the cache, without a record of how long they stay there.
    pub write_unsplit: u32,
    /// Tokens read from the cache.
    pub read: u32,
    /// Output tokens spent on thinking.
    pub thinking: u32,
    /// Web searches that ran on the server.
    pub web_searches: u32,
    /// Pages that the server fetched.
    pub web_fetches: u32,
}

impl Counters {
    /// Returns all tokens written to the cache.
    pub fn writes(&self) -> u64 {
        u64::from(self.write_5m) + u64::from(self.write_1h) + u64::from(self.write_unsplit)
    }

    /// Returns the size of the prompt: new input, cache writes and cache reads.
    pub fn prompt(&self) -> u64 {
        u64::from(self.input) + self.writes() + u64::from(self.read)
    }

    /// Sets the cache writes from the total and the parts that `usage` has. What the parts do not explain has no known lifetime; if they are
    /// more than the total, they count: some versions of Claude Code wrote a total of 0.
    pub fn set_writes(&mut self, total: u32, five_minutes: u32, hour: u32) {
        let parts = five_minutes.saturating_add(hour);
        (self.write_5m, self.write_1h) = (five_minutes, hour);
        self.write_unsplit = total.saturating_sub(parts);
    }

    /// Returns what decides which of two copies says how cache writes are split.
    fn writes_rank(&self) -> (u64, u32, u32) {
        (self.writes(), self.write_1h, self.write_5m)
    }

    /// Merges the counters of a copy: the maximum of each. How cache writes are split is taken from the copy with more of them.
    fn merge(&mut self, other: &Self) {
        if other.writes_rank() > self.writes_rank() {
            self.write_5m = other.write_5m;
            self.write_1h = other.write_1h;
            self.write_unsplit = other.write_unsplit;
        }
        self.input = self.input.max(other.input);
        self.output = self.output.max(other.output);
        self.read = self.read.max(other.read);
        self.thinking = self.thinking.max(other.thinking);
        self.web_searches = self.web_searches.max(other.web_searches);
        self.web_fetches = self.web_fetches.max(other.web_fetches);
    }
}

/// A fact about a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Flag {
    /// A line has a stop reason: the counters are final.
    Finished = 1,
    /// The lines belong to a subagent.
    Sidechain = 1 << 1,
    /// It is known from `agent_progress` lines of the parent session.
    Progress = 1 << 2,
    /// The lines were copied from another session.
    Copy = 1 << 3,
    /// It is an extra call of an advisor, with a model of its own.
    Advisor = 1 << 4,
    /// It ran in fast mode.
    Fast = 1 << 5,
    /// A counter was not a whole number that is possible, and was left out.
    Odd = 1 << 6,
    /// Its file exists, but does not have it any more.
    Left = 1 << 7,
    /// It has no message id; the uuid of its line stands for one.
    NoMessage = 1 << 8,
}

/// A set of [`Flag`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// Returns the set as a number.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// Returns the set with this number.
    pub fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns whether a flag is in the set.
    pub fn has(self, flag: Flag) -> bool {
        self.0 & flag as u16 != 0
    }

    /// Adds a flag, if the condition holds.
    pub fn set(&mut self, flag: Flag, condition: bool) {
        self.0 |= u16::from(condition) * flag as u16;
    }

    /// Removes a flag.
    pub fn remove(&mut self, flag: Flag) {
        self.0 &= !(flag as u16);
    }

    /// Returns the flags that decide which session owns a reply. In one file, lines that differ in them are not merged.
    fn kind(self) -> u16 {
        let kinds = [Flag::Sidechain, Flag::Progress, Flag::Copy, Flag::NoMessage];
        self.0 & kinds.iter().fold(0, |bits, flag| bits | *flag as u16)
    }
}

/// One reply as one file has it: its lines, merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplyCount {
    /// The hash of the message id, or of the line's uuid if there is none.
    pub message: u64,
    /// The hash of the request id; 0 if there is none.
    pub request: u64,
    /// The earliest time of its lines, in milliseconds since 1970, or [`NO_TIME`].
    pub time: i64,
    /// The counters.
    pub counters: Counters,
    /// The cost that a line has.
    pub recorded: Option<Money>,
    /// The model.
    pub model: NameId,
    /// The branch that was checked out.
    pub branch: NameId,
    /// The agent that an `agent_progress` line names.
    pub agent: NameId,
    /// The service tier.
    pub tier: NameId,
    /// Where it was computed.
    pub geography: NameId,
    /// Facts about it.
    pub flags: Flags,
    /// The number of its first line.
    pub line: u64,
    /// How many lines it has.
    pub lines: u32,
}

impl ReplyCount {
    /// Returns the names that it refers to, to be replaced.
    pub(crate) fn names_mut(&mut self) -> [&mut NameId; 5] {
        [&mut self.model, &mut self.branch, &mut self.agent, &mut self.tier, &mut self.geography]
    }

    /// Returns the same for all lines of one reply in one file.
    pub(crate) fn key(&self) -> (u64, u64, u16) {
        (self.message, self.request, self.flags.kind())
    }

    /// Returns how close to the final record of its response it is.
    fn finality(&self) -> (bool, u32) {
        (self.flags.has(Flag::Finished), self.counters.output)
    }

    /// Merges a copy that comes later: in the same file, or in one that does not own the response. What it is attributed to
    /// stays; the counters grow.
    pub fn merge(&mut self, other: &Self) {
        if other.finality() > self.finality() && other.model != 0 {
            self.model = other.model;
            self.tier = other.tier;
            self.geography = other.geography;
        }
        self.counters.merge(&other.counters);
        self.time = self.time.min(other.time);
        self.recorded = self.recorded.max(other.recorded);
        self.lines = self.lines.saturating_add(other.lines);
        for flag in [Flag::Finished, Flag::Fast, Flag::Odd] {
            self.flags.set(flag, other.flags.has(flag));
        }
    }
}

/// Returns the hash of a message id.
pub(crate) fn message_hash(id: &str) -> u64 {
    stable_hash(&["message", id])
}

/// Returns the hash that stands for the message id of an advisor's call: the reply that it belongs to, and which one it is.
pub(crate) fn advisor_hash(message: u64, index: u32) -> u64 {
    stable_hash(&["advisor", &message.to_string(), &index.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(total: u32, five_minutes: u32, hour: u32) -> Counters {
        let mut counters = Counters::default();
        counters.set_writes(total, five_minutes, hour);
        counters
    }

    #[test]
    fn cache_writes_are_split_as_far_as_their_parts_go() {
        let parts = |found: Counters| (found.write_5m, found.write_1h, found.write_unsplit);
        assert_eq!(parts(counters(10, 0, 0)), (0, 0, 10));
        assert_eq!(parts(counters(10, 3, 4)), (3, 4, 3));
        assert_eq!(parts(counters(0, 3, 4)), (3, 4, 0));
        assert_eq!(counters(10, 3, 4).writes(), 10);
    }

    #[test]
    fn copies_give_the_maximum_of_each_counter_in_any_order() {
        let one = Counters { input: 5, output: 2, read: 9, ..counters(10, 10, 0) };
        let other = Counters { input: 4, output: 80, read: 9, web_searches: 1, ..counters(10, 0, 10) };
        let mut merged = one;
        merged.merge(&other);
        let mut reversed = other;
        reversed.merge(&one);
        assert_eq!(merged, reversed);
        assert_eq!((merged.input, merged.output, merged.write_1h, merged.web_searches), (5, 80, 10, 1));
    }

    #[test]
    fn a_reply_keeps_its_place_and_takes_the_final_model() {
        let first = ReplyCount { time: 20, model: 1, branch: 3, line: 7, lines: 1, ..ReplyCount::default() };
        let mut last = ReplyCount { time: 10, model: 2, branch: 4, line: 8, lines: 1, ..first };
        last.flags.set(Flag::Finished, true);
        let mut merged = first;
        merged.merge(&last);
        assert_eq!((merged.time, merged.model, merged.branch, merged.line, merged.lines), (10, 2, 3, 7, 2));
        assert!(merged.flags.has(Flag::Finished));
    }
}
