//! `cargo x recall`: thousands of sampled queries, answered by the index and by a scan of all texts.

use std::process::Command;

use crate::{Outcome, call_with};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many queries are sampled
    #[arg(long, default_value_t = 2000)]
    queries: u64,
    /// The seed of the sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the test of the engine with more queries, on all transcripts that there are.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut test = Command::new(env!("CARGO"));
    // The build of all other tests: to optimize it would take longer than the queries.
    test.args(["test", "--quiet", "--package", "annals-engine", "--lib", "--"]);
    test.args(["--nocapture", "search::recall"]);
    test.env("ANNALS_RECALL_QUERIES", args.queries.to_string());
    test.env("ANNALS_RECALL_SEED", args.seed.to_string());
    call_with(&mut test)
}
