//! Numbers of tokens.

use crate::entry::view::{Assistant, Usage};
use crate::json::Value;

/// Numbers of tokens. Each reply counts once, with the numbers of its last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tokens {
    /// Input tokens that were neither read from nor written to the cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens written to the cache.
    pub cache_creation: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
}

/// The keys of the numbers, in the order of the fields.
const COUNTERS: [&str; 4] =
    ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

impl Tokens {
    /// Reads the numbers in a line of a reply. Only the last line of a reply counts.
    pub fn of(reply: &Assistant<'_>) -> Self {
        Self::of_usage(reply.usage())
    }

    /// Reads the numbers from the counters in a line of a reply.
    pub fn of_usage(usage: Option<Usage<'_>>) -> Self {
        Self::of_counters(usage.map(|usage| usage.value()))
    }

    /// Returns the numbers in the value of `usage`.
    pub(crate) fn of_counters(usage: Option<Value<'_>>) -> Self {
        let mut tokens = Self::default();
        for (key, value) in usage.into_iter().flat_map(Value::members) {
            let counter = key.named(|key| COUNTERS.iter().position(|counter| counter.as_bytes() == key));
            let number = match counter {
                Some(0) => &mut tokens.input,
                Some(1) => &mut tokens.output,
                Some(2) => &mut tokens.cache_creation,
                Some(_) => &mut tokens.cache_read,
                None => continue,
            };
            *number = value.as_u64().unwrap_or(0);
        }
        tokens
    }

    /// Adds other numbers to these.
    pub fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_creation = self.cache_creation.saturating_add(other.cache_creation);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
    }
}
