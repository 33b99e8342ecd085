//! `cargo x race`: runs operations at the same time, and kills operations. The two sides of a race change one session, two
//! sessions, sessions with the same id in two roots, or one session with an `ANNALS_HOME` for each side.
//!
//! Every file and line of a session, and everything that an operation adds, carries a mark of its own. However the
//! operations interleave, every mark must be found afterwards in a live session, in an entry of the trash or in a
//! fork, unless a purge or a tombstone reported that it removed it; and nothing may be left that only an interrupted operation leaves.

mod operation;
mod run;
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use crate::{Outcome, call, project};
use operation::Operation;
use run::{Race, Trouble};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often each pair runs. The runs vary the place of the trash, the state of the session, and what the two sides share; 32 runs cover all combinations
    #[arg(long, default_value_t = 100)]
    runs: u64,
    /// Only this race: two operations such as `delete+restore`, `serve` or `kill-delete`
    #[arg(long, value_name = "RACE")]
    only: Option<String>,
    /// The seed of the first run; each further run has the next one
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many races run at a time. They mostly wait for the disk
    #[arg(long, default_value_t = 4)]
    jobs: usize,
    /// The annals to run [default: a debug build]
    #[arg(long, value_name = "FILE")]
    annals: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let annals = if let Some(annals) = &args.annals {
        annals.canonicalize()?
    } else {
        call(env!("CARGO"), &["build", "--quiet", "--package", "annals"])?;
        project().join("target/debug/annals")
    };
    let races: Vec<_> =
        races().filter(|race| args.only.as_ref().is_none_or(|only| race.is_named(only))).collect();
    if races.is_empty() {
        return Err("there is no such race".into());
    }
    let bar = ProgressBar::new(args.runs * races.len() as u64)
        .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {eta}")?);
    // Hundreds of runs take an hour: each race is reported when it ends.
    println!("{:20} {:>6} {:>8}", "race", "runs", "troubles");
    let run_all = |race: &Race| -> Result<_, String> {
        let mut troubles = Vec::new();
        for seed in args.seed..args.seed + args.runs {
            troubles.extend(run::run(*race, seed, &annals).map_err(|error| error.to_string())?);
            bar.inc(1);
        }
        bar.suspend(|| println!("{:20} {:>6} {:>8}", race.name(), args.runs, troubles.len()));
        Ok((race.name(), troubles))
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.jobs).build()?;
    let results = pool.install(|| races.par_iter().map(run_all).collect::<Result<BTreeMap<_, _>, _>>())?;
    bar.finish_and_clear();
    conclude(&results)
}

/// Every pair of operations, requests that are sent to one server at once, and every operation that is killed.
fn races() -> impl Iterator<Item = Race> {
    let all: &'static [Operation] = &Operation::ALL;
    let with = |first: Operation| move |second: &Operation| Race::Pair(first, *second);
    let pairs = (0..all.len()).flat_map(move |number| all[number..].iter().map(with(all[number])));
    pairs.chain([Race::Server]).chain(all.iter().map(|operation| Race::Kill(*operation)))
}

/// Prints what went wrong and how to repeat it; anything is an error.
fn conclude(results: &BTreeMap<String, Vec<Trouble>>) -> Outcome {
    let total: usize = results.values().map(Vec::len).sum();
    if total == 0 {
        return Ok(());
    }
    for (name, troubles) in results {
        for trouble in troubles.iter().take(3) {
            println!("\ncargo x race --only {name} --seed {} --runs 1\n{}", trouble.seed, trouble.text);
        }
    }
    Err(format!("{total} runs lost something or left something unfinished").into())
}
