//! Money in whole numbers, so that sums do not depend on the order in which they are made.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// An amount in millionths of a millionth of a US dollar: what one token costs at 1 dollar for a million of them is a million of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(i128);

const PICOS: f64 = 1e12;

impl Money {
    /// Returns an amount of so many picodollars.
    pub fn from_picos(picos: i128) -> Self {
        Self(picos)
    }

    /// Returns the amount in picodollars.
    pub fn picos(self) -> i128 {
        self.0
    }

    /// Returns an amount of dollars, rounded to picodollars; `None` if it is negative, not a number, or more than a billion.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let is_amount = (0.0..=1e9).contains(&dollars);
        #[expect(clippy::cast_possible_truncation, reason = "checked just above")]
        is_amount.then(|| Self((dollars * PICOS).round() as i128))
    }

    /// Returns the amount in dollars.
    #[expect(clippy::cast_precision_loss, reason = "a float has enough digits to show an amount")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PICOS
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Money {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

/// Dollars with six decimals.
impl fmt::Display for Money {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let micros = (self.0.unsigned_abs() + 500_000) / 1_000_000;
        write!(formatter, "{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_printed_with_six_decimals() {
        let amount = Money::from_dollars(0.001_844).unwrap();
        assert_eq!((amount.picos(), amount.to_string()), (1_844_000_000, "0.001844".to_owned()));
        assert_eq!((Money::default() - amount).to_string(), "-0.001844");
        assert_eq!(Money::from_picos(1_999_999_500_000).to_string(), "2.000000");
        for none in [-1.0, f64::NAN, f64::INFINITY, 1e12] {
            assert_eq!(Money::from_dollars(none), None);
        }
    }
}
