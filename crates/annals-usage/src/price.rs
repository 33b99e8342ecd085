//! What models cost: a dated table, and a file in which users state prices of their own.

mod parse;
mod spelling;

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::money::Money;
use crate::names::{NameId, Names};
use crate::reply::{Counters, Flag, ReplyCount};

pub use parse::PriceError;
use spelling::Spelling;

const BUILT_IN: &str = include_str!("../prices.tsv");

/// What tokens cost, in picodollars each; `None` where no source states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// An input token.
    pub input: Option<u64>,
    /// An output token.
    pub output: Option<u64>,
    /// A token written to the cache for five minutes, or for an unknown time.
    pub write_5m: Option<u64>,
    /// A token written to the cache for an hour.
    pub write_1h: Option<u64>,
    /// A token read from the cache.
    pub read: Option<u64>,
}

/// The price of a model from a day on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceRow {
    /// The model.
    pub model: String,
    /// The first day; `None` for the beginning of time.
    pub from: Option<Date>,
    /// What tokens cost.
    pub rates: Rates,
    /// What they cost if the whole prompt has more tokens than the first number; the last one that fits counts.
    pub bands: Vec<(u64, Rates)>,
    /// The factor in fast mode, in thousandths; `None` if the model has no fast mode.
    pub fast: Option<u32>,
    /// The factor for inference in the US, in thousandths.
    pub us: u32,
    /// The factor of regional endpoints, in thousandths.
    pub regional: u32,
    /// What a web search costs, in picodollars.
    pub search: Option<u64>,
}

/// The prices of models.
#[derive(Clone, Debug)]
pub struct Prices {
    rows: Vec<PriceRow>,
    /// The rows of each model, by all of its names in lower case, in the order of their days.
    models: HashMap<String, Vec<usize>>,
    /// Models whose price is the user's own.
    own: Vec<String>,
}

/// The prices of one model, with the factors that its spelling stands for.
#[derive(Clone, Debug)]
pub struct Price<'a> {
    /// From which time on, in milliseconds, each row is valid.
    rows: Vec<(i64, &'a PriceRow)>,
    spelling: Spelling,
}

impl Prices {
    /// Returns the prices that annals knows.
    pub fn built_in() -> Self {
        parse::table(BUILT_IN).expect("a test reads the table")
    }

    /// Returns the prices with those of a user's file. Its rows for a model replace all others of that model.
    pub fn with_own(mut self, toml: &str) -> Result<Self, PriceError> {
        let rows = parse::own(toml)?;
        let replaced: Vec<_> = rows.iter().map(|row| row.model.to_lowercase()).collect();
        for model in &replaced {
            self.models.remove(model);
        }
        for row in rows {
            self.add(row, &[]);
        }
        self.own = replaced;
        Ok(self)
    }

    /// Returns whether a user has stated what a model costs.
    pub fn is_own(&self, model: &str) -> bool {
        self.own.contains(&model.to_lowercase())
    }

    /// Returns all rows.
    pub fn rows(&self) -> &[PriceRow] {
        &self.rows
    }

    /// Returns the price of a model in any of its spellings; `None` if it is not known.
    pub fn of(&self, model: &str) -> Option<Price<'_>> {
        let (rows, spelling) = Spelling::find(model, |name| self.models.get(name))?;
        let rows = rows.iter().map(|row| &self.rows[*row]);
        let mut rows: Vec<_> = rows.map(|row| (row.from.map_or(i64::MIN, start_of), row)).collect();
        rows.sort_by_key(|(from, _)| *from);
        Some(Price { rows, spelling })
    }

    /// Returns the prices of the models in a table of names.
    pub(crate) fn of_names<'a>(&'a self, names: &'a Names) -> PricesOfNames<'a> {
        let length = names.iter().len();
        PricesOfNames { prices: self, names, is_known: vec![false; length], found: vec![None; length] }
    }

    fn add(&mut self, row: PriceRow, aliases: &[&str]) {
        let index = self.rows.len();
        for name in std::iter::once(&row.model[..]).chain(aliases.iter().copied()) {
            self.models.entry(name.to_lowercase()).or_default().push(index);
        }
        self.rows.push(row);
    }
}

/// The prices of models by the numbers of their names, looked up when they are asked for: few names are those of models.
pub(crate) struct PricesOfNames<'a> {
    prices: &'a Prices,
    names: &'a Names,
    /// Whether the price was looked up.
    is_known: Vec<bool>,
    found: Vec<Option<Price<'a>>>,
}

impl<'a> PricesOfNames<'a> {
    /// Returns the price of a model.
    pub(crate) fn of(&mut self, model: NameId) -> Option<&Price<'a>> {
        let place = model as usize;
        if !*self.is_known.get(place)? {
            self.is_known[place] = true;
            self.found[place] = self.prices.of(self.names.text(model));
        }
        self.found[place].as_ref()
    }
}

fn start_of(day: Date) -> i64 {
    day.to_zoned(TimeZone::UTC).map_or(i64::MIN, |start| start.timestamp().as_millisecond())
}

impl Price<'_> {
    /// Returns the row that is valid at a time. A response without a time has the newest price.
    pub fn row_at(&self, time: i64) -> &PriceRow {
        let later = self.rows.partition_point(|(from, _)| *from <= time);
        self.rows[later.saturating_sub(1)].1
    }

    /// Returns what a reply costs; `None` if the price of a part of it is not stated.
    pub fn cost(&self, reply: &ReplyCount, is_us: bool) -> Option<Money> {
        let row = self.row_at(reply.time);
        let is_fast = reply.flags.has(Flag::Fast) || self.spelling.is_fast;
        let fast = if is_fast { row.fast? } else { 1000 };
        let us = if is_us { row.us } else { 1000 };
        let tokens = row.tokens(&reply.counters)?;
        let factors = [fast, us, self.spelling.factor(row)];
        // To divide such large numbers takes most of the time, and nearly all factors are one.
        let factors = factors.iter().filter(|factor| **factor != 1000);
        let scaled = factors.fold(tokens, |cost, factor| cost * i128::from(*factor) / 1000);
        Some(Money::from_picos(scaled + times(reply.counters.web_searches, row.search)?))
    }
}

impl PriceRow {
    /// Returns what the tokens of a request cost, before factors. The size of the whole prompt decides on the band.
    fn tokens(&self, counters: &Counters) -> Option<i128> {
        let prompt = counters.prompt();
        let band = self.bands.iter().rev().find(|(above, _)| prompt > *above);
        let rates = band.map_or(&self.rates, |(_, rates)| rates);
        Some(
            times(counters.input, rates.input)?
                + times(counters.output, rates.output)?
                + times(counters.write_5m, rates.write_5m)?
                + times(counters.write_unsplit, rates.write_5m)?
                + times(counters.write_1h, rates.write_1h)?
                + times(counters.read, rates.read)?,
        )
    }
}

/// Returns an amount at a rate, which must be known only if there is something to pay for.
fn times(amount: u32, rate: Option<u64>) -> Option<i128> {
    match amount {
        0 => Some(0),
        amount => rate.map(|rate| i128::from(amount) * i128::from(rate)),
    }
}

/// Returns the number of the name of US geography, if there is one.
pub(crate) fn us_geography(names: &Names) -> Option<NameId> {
    names.find("us")
}

#[cfg(test)]
mod tests;
