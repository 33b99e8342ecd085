//! `cargo x fuzz`: runs the fuzz targets of `fuzz/` with cargo-fuzz.

use std::error::Error;
use std::process::Command;

use crate::{Outcome, call_with, project};

/// The targets in `fuzz/fuzz_targets`.
const TARGETS: [&str; 7] = ["read", "grammar", "patch", "chain", "draft", "rpc_frame", "render"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The target [default: all]
    #[arg(value_parser = TARGETS)]
    target: Option<String>,
    /// How long to fuzz each target
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let cargo_fuzz = cargo_fuzz()?;
    for target in TARGETS.iter().filter(|name| args.target.as_ref().is_none_or(|target| target == *name)) {
        println!("── fuzzing {target} for {} s", args.seconds);
        let mut fuzz = cargo_fuzz();
        fuzz.args(["run", target]);
        let corpus = project().join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&corpus)?;
        fuzz.args([corpus, project().join("corpus"), project().join("crates/annals-server/tests/it/rpc")]);
        fuzz.args(["--", "-max_len=65536", "-timeout=10", &format!("-max_total_time={}", args.seconds)]);
        call_with(&mut fuzz)?;
    }
    Ok(())
}

/// Returns how cargo-fuzz is called: with the nightly toolchain, or else with the installed one and its unstable flags, which
/// cargo-fuzz needs for coverage and sanitizers.
fn cargo_fuzz() -> Result<fn() -> Command, Box<dyn Error>> {
    let nightly: fn() -> Command = || {
        let mut command = Command::new("cargo");
        command.args(["+nightly", "fuzz"]);
        command
    };
    let installed: fn() -> Command = || {
        let mut command = Command::new("cargo");
        command.arg("fuzz").env("RUSTC_BOOTSTRAP", "1");
        command
    };
    let works =
        |call: &fn() -> Command| call().arg("--version").output().is_ok_and(|output| output.status.success());
    [nightly, installed]
        .into_iter()
        .find(works)
        .ok_or_else(|| "fuzzing needs cargo-fuzz: `cargo install cargo-fuzz`".into())
}
