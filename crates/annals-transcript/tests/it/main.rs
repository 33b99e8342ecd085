//! What must hold for any input, and for every transcript at hand.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod chain_props;
mod corpora;
mod draft_props;
mod faults;
mod fields;
mod grammar;
mod known_entries;
mod project_names;
mod props;
mod queue_props;
mod recorder;
mod rewrite_limit;
mod rewrites;
mod rules;
