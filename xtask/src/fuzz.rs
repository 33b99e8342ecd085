//! `cargo x fuzz`: runs the fuzz targets of `fuzz/` with cargo-fuzz on the nightly toolchain.

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
    let installed = Command::new("cargo").args(["+nightly", "fuzz", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return Err("fuzzing needs the nightly toolchain and cargo-fuzz: `cargo install cargo-fuzz`".into());
    }
    for target in TARGETS.iter().filter(|name| args.target.as_ref().is_none_or(|target| target == *name)) {
        println!("── fuzzing {target} for {} s", args.seconds);
        let mut fuzz = Command::new("cargo");
        fuzz.args(["+nightly", "fuzz", "run", target]);
        let corpus = project().join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&corpus)?;
        fuzz.args([corpus, project().join("corpus"), project().join("crates/annals-server/tests/it/rpc")]);
        fuzz.args(["--", "-max_len=65536", "-timeout=10", &format!("-max_total_time={}", args.seconds)]);
        call_with(&mut fuzz)?;
    }
    Ok(())
}
