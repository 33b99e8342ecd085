//! `cargo x oracle`: Claude Code resumes what annals writes, its SDKs list it, and annals follows what it writes.
//!
//! Every scenario has a home of its own. Most make sessions there with the built `annals`, have Claude Code resume them, and
//! compare what Claude Code then sends to a mock of the model's API with `annals show --view model` and with what was
//! meant. Others compare whole lists with those of the SDKs, or what Claude Code wrote with what `annals tail` reported.
//! With `--mutate` real transcripts that are changed at random take the place of the scenarios, see [`mutate`]; with `--repair` sessions that were
//! damaged and repaired, see [`repaired`].

mod changed;
mod claude_code;
mod differences;
mod drafts;
mod followed;
mod listed;
mod lists;
mod mcp;
mod mended;
mod mutate;
mod recorded;
mod repaired;
mod resumed;
mod served;
mod shapes;
mod trial;

use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;

use crate::{Outcome, call, project};
use claude_code::ClaudeCode;
use trial::Trial;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder with Claude Code's setup.sh [default: shared/oracle/client beside the project]
    #[arg(long, value_name = "DIR")]
    client: Option<PathBuf>,
    /// The folder in which Claude Code is installed [default: oracle in the target folder]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Fail if Claude Code cannot be installed
    #[arg(long)]
    required: bool,
    /// Compare this build of annals instead of the current source
    #[arg(long, value_name = "FILE")]
    annals: Option<PathBuf>,
    #[command(flatten)]
    mutate: mutate::Options,
    #[command(flatten)]
    repaired: repaired::RepairOptions,
    /// Only scenarios whose name contains this
    only: Option<String>,
}

/// The name of a scenario, and its function.
type Scenario = (&'static str, fn(&Trial<'_>) -> Outcome);

/// Why a scenario was skipped.
#[derive(Debug)]
struct Skipped(String);

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "skipped: {}", self.0)
    }
}

impl std::error::Error for Skipped {}

pub(crate) fn run(args: &Args) -> Outcome {
    let folder = args.client.clone().unwrap_or_else(|| project().with_file_name("shared/oracle/client"));
    let this = std::env::current_exe()?;
    let target = this.parent().and_then(|folder| folder.parent()).ok_or("not in a target folder")?;
    let claude_code =
        match ClaudeCode::set_up(&folder, &args.scratch.clone().unwrap_or(target.join("oracle"))) {
            Ok(claude_code) => claude_code,
            Err(reason) if args.required => return Err(format!("no oracle: {reason}").into()),
            Err(reason) => {
                println!("oracle skipped: {reason}");
                return Ok(());
            }
        };
    let annals = match &args.annals {
        Some(annals) => annals.canonicalize()?,
        None => built_annals(&this)?,
    };
    if args.repaired.is_asked_for() {
        return args.repaired.run(&claude_code, &annals, target);
    }
    if args.mutate.with_scenarios() {
        run_scenarios(&claude_code, &annals, args.only.as_deref())?;
    }
    args.mutate.run(&claude_code, &annals, target)
}

/// Builds annals as this program was built, and returns the path of the binary.
fn built_annals(this: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    call(env!("CARGO"), &["build", "--quiet", "--package", "annals", "--profile", profile])?;
    Ok(this.with_file_name("annals"))
}

/// Returns the names of all scenarios.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    scenarios().into_iter().map(|(name, _)| name)
}

fn scenarios() -> Vec<Scenario> {
    [
        recorded::SCENARIOS,
        changed::SCENARIOS,
        mended::SCENARIOS,
        resumed::SCENARIOS,
        listed::SCENARIOS,
        lists::SCENARIOS,
        followed::SCENARIOS,
        served::SCENARIOS,
        mcp::SCENARIOS,
    ]
    .concat()
}

fn run_scenarios(claude_code: &ClaudeCode, annals: &Path, only: Option<&str>) -> Outcome {
    let start = Instant::now();
    let scenarios = scenarios().into_iter().filter(|(name, _)| only.is_none_or(|only| name.contains(only)));
    let scenarios: Vec<_> = scenarios.collect();
    if scenarios.is_empty() {
        return Err("there is no such scenario".into());
    }
    let outcomes: Vec<_> = scenarios
        .par_iter()
        .with_max_len(1)
        .map(|(name, scenario)| {
            let outcome = Trial::new(claude_code, annals).and_then(|trial| scenario(&trial));
            match &outcome {
                Ok(()) => println!("{name}: ok"),
                Err(difference) => println!("{name}: {difference}"),
            }
            outcome.map_err(|error| error.is::<Skipped>())
        })
        .collect();
    let right = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let skipped = outcomes.iter().filter(|outcome| **outcome == Err(true)).count();
    let (total, seconds) = (scenarios.len() - skipped, start.elapsed().as_secs());
    let also = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    println!("{right} of {total} agree with Claude Code{also}, in {seconds} s");
    if right == total { Ok(()) } else { Err(format!("{} scenarios differ", total - right).into()) }
}
