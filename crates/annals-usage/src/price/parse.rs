//! Reads tables of prices: the one that annals brings, and a user's own.

use std::fmt;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Visitor};

use super::{PriceRow, Prices, Rates};

/// The most that a million tokens may cost, in dollars. More is a mistake in the file.
const MOST: f64 = 1_000_000.0;

/// A mistake in a table of prices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct PriceError {
    /// The number of the line.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// Reads the table that annals brings.
pub(super) fn table(text: &str) -> Result<Prices, PriceError> {
    let mut prices = Prices { rows: Vec::new(), models: std::collections::HashMap::new(), own: Vec::new() };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')).skip(1);
    for (index, line) in lines {
        let fields: Vec<_> = line.split('\t').collect();
        let failed = |what: &str| PriceError { line: index + 1, message: what.to_owned() };
        let &[
            model,
            from,
            input,
            output,
            five_minutes,
            hour,
            read,
            bands,
            fast,
            us,
            regional,
            search,
            aliases,
        ] = &fields[..]
        else {
            return Err(failed("13 columns"));
        };
        let rates = rates([input, output, five_minutes, hour, read]).ok_or_else(|| failed("prices"))?;
        let bands = bands.split(' ').filter(|band| *band != "-").map(band).collect::<Option<_>>();
        let row = PriceRow {
            model: model.to_owned(),
            from: optional(from).map(str::parse).transpose().map_err(|_| failed("the day"))?,
            rates,
            bands: bands.ok_or_else(|| failed("bands"))?,
            fast: optional(fast)
                .map(|factor| thousandths(factor).ok_or_else(|| failed("fast")))
                .transpose()?,
            us: thousandths(us).ok_or_else(|| failed("us"))?,
            regional: thousandths(regional).ok_or_else(|| failed("regional"))?,
            search: optional(search)
                .map(|fee| dollars(fee, 1e12).ok_or_else(|| failed("search")))
                .transpose()?,
        };
        let aliases: Vec<_> = aliases.split(' ').filter(|alias| *alias != "-").collect();
        prices.add(row, &aliases);
    }
    Ok(prices)
}

fn optional(field: &str) -> Option<&str> {
    Some(field).filter(|field| *field != "-")
}

fn rates(fields: [&str; 5]) -> Option<Rates> {
    let mut rates = [None; 5];
    for (rate, field) in rates.iter_mut().zip(fields) {
        *rate = match optional(field) {
            Some(field) => Some(dollars(field, 1e6)?),
            None => None,
        };
    }
    let [input, output, five_minutes, hour, read] = rates;
    Some(Rates { input, output, write_5m: five_minutes, write_1h: hour, read })
}

fn band(text: &str) -> Option<(u64, Rates)> {
    let (above, prices) = text.split_once('=')?;
    let fields: Vec<_> = prices.split('/').collect();
    Some((above.parse().ok()?, rates(fields.try_into().ok()?)?))
}

fn thousandths(text: &str) -> Option<u32> {
    whole(text.parse::<f64>().ok()? * 1000.0).and_then(|number| number.try_into().ok())
}

/// Returns an amount in picodollars, of which so many are one of what is written.
fn dollars(text: &str, picos: f64) -> Option<u64> {
    whole(text.parse::<f64>().ok()? * picos)
}

fn whole(number: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just before")]
    (0.0..=1e18).contains(&number).then(|| number.round() as u64)
}

/// Reads a user's table.
pub(super) fn own(text: &str) -> Result<Vec<PriceRow>, PriceError> {
    let file: OwnFile = toml::from_str(text).map_err(|error| PriceError {
        line: error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1),
        message: error.message().to_owned(),
    })?;
    Ok(file.price.into_iter().map(OwnRow::into_row).collect())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnFile {
    #[serde(default)]
    price: Vec<OwnRow>,
}

/// A price as a user states it: dollars for a million tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnRow {
    #[serde(deserialize_with = "name")]
    model: String,
    #[serde(default, deserialize_with = "day")]
    from: Option<Date>,
    input: Amount,
    output: Amount,
    cache_write_5m: Option<Amount>,
    cache_write_1h: Option<Amount>,
    cache_read: Option<Amount>,
    long: Option<OwnLong>,
    /// The factor in fast mode.
    fast: Option<Amount>,
    /// The factor for inference in the US.
    us: Option<Amount>,
    /// Dollars for one web search.
    web_search: Option<Amount>,
}

/// What requests with a long prompt cost.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnLong {
    above: u64,
    input: Amount,
    output: Amount,
    cache_write_5m: Option<Amount>,
    cache_write_1h: Option<Amount>,
    cache_read: Option<Amount>,
}

impl OwnRow {
    fn into_row(self) -> PriceRow {
        let factor =
            |amount: Option<Amount>| amount.and_then(|amount| u32::try_from(amount.times(1000.0)).ok());
        let long = self.long.map(|long| {
            let rates = Rates {
                input: Some(long.input.times(1e6)),
                output: Some(long.output.times(1e6)),
                write_5m: per_token(long.cache_write_5m),
                write_1h: per_token(long.cache_write_1h),
                read: per_token(long.cache_read),
            };
            (long.above, rates)
        });
        PriceRow {
            model: self.model,
            from: self.from,
            rates: Rates {
                input: Some(self.input.times(1e6)),
                output: Some(self.output.times(1e6)),
                write_5m: per_token(self.cache_write_5m),
                write_1h: per_token(self.cache_write_1h),
                read: per_token(self.cache_read),
            },
            bands: long.into_iter().collect(),
            fast: factor(self.fast),
            us: factor(self.us).unwrap_or(1000),
            regional: 1000,
            search: self.web_search.map(|fee| fee.times(1e12)),
        }
    }
}

fn per_token(amount: Option<Amount>) -> Option<u64> {
    amount.map(|amount| amount.times(1e6))
}

/// A number that is not negative and not absurd.
#[derive(Clone, Copy)]
struct Amount(f64);

impl Amount {
    fn times(self, factor: f64) -> u64 {
        whole(self.0 * factor).unwrap_or(0)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = f64;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number from 0 to 1000000")
            }

            fn visit_f64<E>(self, number: f64) -> Result<f64, E> {
                Ok(number)
            }

            #[expect(clippy::cast_precision_loss, reason = "larger numbers are refused")]
            fn visit_i64<E>(self, number: i64) -> Result<f64, E> {
                Ok(number as f64)
            }
        }
        let number = deserializer.deserialize_any(Number)?;
        if !(0.0..=MOST).contains(&number) {
            return Err(D::Error::custom("a price is a number from 0 to 1000000"));
        }
        Ok(Self(number))
    }
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name.trim().is_empty() { Err(D::Error::custom("the name of the model is empty")) } else { Ok(name) }
}

fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Date>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(|_| D::Error::custom("`from` is a day such as \"2026-01-31\""))
}
