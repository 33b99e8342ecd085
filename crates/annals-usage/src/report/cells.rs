//! The sums of a row.

use crate::ledger::Response;
use crate::money::Money;
use crate::reply::{Counters, Flag, NO_TIME};

/// Sums of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Input tokens that were neither written to nor read from the cache.
    pub input: u64,
    /// Output tokens, thinking included.
    pub output: u64,
    /// Tokens written to the cache for five minutes.
    pub write_5m: u64,
    /// Tokens written to the cache for an hour.
    pub write_1h: u64,
    /// Tokens written to the cache for an unknown time.
    pub write_unsplit: u64,
    /// Tokens read from the cache.
    pub read: u64,
    /// Output tokens spent on thinking.
    pub thinking: u64,
}

impl Tokens {
    /// Returns all tokens written to the cache.
    pub fn writes(&self) -> u64 {
        self.write_5m + self.write_1h + self.write_unsplit
    }

    /// Returns all tokens. Those of thinking are part of the output.
    pub fn total(&self) -> u64 {
        self.input + self.output + self.writes() + self.read
    }

    fn add(&mut self, counters: &Counters) {
        self.input += u64::from(counters.input);
        self.output += u64::from(counters.output);
        self.write_5m += u64::from(counters.write_5m);
        self.write_1h += u64::from(counters.write_1h);
        self.write_unsplit += u64::from(counters.write_unsplit);
        self.read += u64::from(counters.read);
        self.thinking += u64::from(counters.thinking);
    }

    fn merge(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.write_5m += other.write_5m;
        self.write_1h += other.write_1h;
        self.write_unsplit += other.write_unsplit;
        self.read += other.read;
        self.thinking += other.thinking;
    }
}

/// What responses cost, and how that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The cost of all responses whose cost is known.
    pub known: Money,
    /// The part that lines record.
    pub recorded: Money,
    /// How many responses have a recorded cost.
    pub recorded_replies: u64,
    /// How many responses have a cost that is calculated.
    pub calculated_replies: u64,
    /// How many responses have no known price.
    pub unpriced: u64,
    /// How many responses have no recorded cost, where only recorded costs are asked for.
    pub not_recorded: u64,
}

/// How a cost is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostKind {
    /// Lines record it.
    Recorded,
    /// It is calculated from tokens and prices.
    Calculated,
    /// Some of each.
    Mixed,
    /// It is not known.
    Unknown,
}

impl Cost {
    /// Returns how the cost is known.
    pub fn kind(&self) -> CostKind {
        match (self.recorded_replies > 0, self.calculated_replies > 0) {
            (true, true) => CostKind::Mixed,
            (true, false) => CostKind::Recorded,
            (false, true) => CostKind::Calculated,
            (false, false) => CostKind::Unknown,
        }
    }

    /// Returns the cost; `None` if that of no response is known.
    pub fn amount(&self) -> Option<Money> {
        (self.kind() != CostKind::Unknown).then_some(self.known)
    }

    /// Returns whether the cost of some responses is missing in it.
    pub fn is_partial(&self) -> bool {
        self.unpriced + self.not_recorded > 0
    }
}

/// What a response costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PricedReply {
    Recorded(Money),
    Calculated(Money),
    Unpriced,
    NotRecorded,
}

impl PricedReply {
    pub(super) fn cost(self) -> Option<Money> {
        match self {
            PricedReply::Recorded(cost) | PricedReply::Calculated(cost) => Some(cost),
            PricedReply::Unpriced | PricedReply::NotRecorded => None,
        }
    }
}

/// The sums of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// How many responses.
    pub replies: u64,
    /// Their tokens.
    pub tokens: Tokens,
    /// What they cost.
    pub cost: Cost,
    /// How many have no stop reason: their output is at least what is recorded.
    pub unfinished: u64,
    /// The output of those.
    pub unfinished_output: u64,
    /// How many no transcript on disk has any more.
    pub kept: u64,
    /// How many are only known from `agent_progress` lines.
    pub progress: u64,
    /// How many have a counter that was not a possible number.
    pub odd: u64,
    /// How many are calls of advisors.
    pub advisor: u64,
    /// How many ran in fast mode.
    pub fast: u64,
    /// How many have a prompt of more than 200,000 tokens.
    pub long: u64,
    /// Web searches that ran on the server.
    pub web_searches: u64,
    /// Pages that the server fetched.
    pub web_fetches: u64,
    /// The time of the first one, in milliseconds since 1970.
    pub first: Option<i64>,
    /// The time of the last one.
    pub last: Option<i64>,
}

impl Cells {
    /// Returns the part of the responses that are unfinished, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
    pub fn unfinished_share(&self) -> f64 {
        if self.replies == 0 { 0.0 } else { self.unfinished as f64 / self.replies as f64 }
    }

    /// Returns the sums of one response.
    pub fn of(response: &Response, cost: Option<Money>) -> Self {
        let mut cells = Self::default();
        let priced = match (cost, response.count.recorded) {
            (Some(cost), Some(recorded)) if cost == recorded => PricedReply::Recorded(cost),
            (Some(cost), _) => PricedReply::Calculated(cost),
            (None, _) => PricedReply::Unpriced,
        };
        cells.add(response, &priced);
        cells
    }

    pub(super) fn add(&mut self, response: &Response, priced: &PricedReply) {
        let count = &response.count;
        self.replies += 1;
        self.tokens.add(&count.counters);
        let is_unfinished = u64::from(!count.flags.has(Flag::Finished));
        self.unfinished += is_unfinished;
        self.unfinished_output += is_unfinished * u64::from(count.counters.output);
        self.kept += u64::from(response.is_kept);
        self.progress += u64::from(response.is_progress());
        self.odd += u64::from(count.flags.has(Flag::Odd));
        self.advisor += u64::from(count.flags.has(Flag::Advisor));
        self.fast += u64::from(count.flags.has(Flag::Fast));
        self.long += u64::from(prompt_is_long(&count.counters));
        self.web_searches += u64::from(count.counters.web_searches);
        self.web_fetches += u64::from(count.counters.web_fetches);
        if count.time != NO_TIME {
            self.first = Some(self.first.map_or(count.time, |first| first.min(count.time)));
            self.last = self.last.max(Some(count.time));
        }
        self.add_cost(*priced);
    }

    fn add_cost(&mut self, priced: PricedReply) {
        let cost = &mut self.cost;
        match priced {
            PricedReply::Recorded(amount) => {
                cost.known += amount;
                cost.recorded += amount;
                cost.recorded_replies += 1;
            }
            PricedReply::Calculated(amount) => {
                cost.known += amount;
                cost.calculated_replies += 1;
            }
            PricedReply::Unpriced => cost.unpriced += 1,
            PricedReply::NotRecorded => cost.not_recorded += 1,
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.tokens.merge(&other.tokens);
        self.cost.known += other.cost.known;
        self.cost.recorded += other.cost.recorded;
        for (mine, theirs) in [
            (&mut self.replies, other.replies),
            (&mut self.cost.recorded_replies, other.cost.recorded_replies),
            (&mut self.cost.calculated_replies, other.cost.calculated_replies),
            (&mut self.cost.unpriced, other.cost.unpriced),
            (&mut self.cost.not_recorded, other.cost.not_recorded),
            (&mut self.unfinished, other.unfinished),
            (&mut self.unfinished_output, other.unfinished_output),
            (&mut self.kept, other.kept),
            (&mut self.progress, other.progress),
            (&mut self.odd, other.odd),
            (&mut self.advisor, other.advisor),
            (&mut self.fast, other.fast),
            (&mut self.long, other.long),
            (&mut self.web_searches, other.web_searches),
            (&mut self.web_fetches, other.web_fetches),
        ] {
            *mine += theirs;
        }
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = self.last.max(other.last);
    }
}

/// Returns whether the prompt of a response is longer than the windows of most models were.
pub(super) fn prompt_is_long(counters: &Counters) -> bool {
    counters.prompt() > 200_000
}
