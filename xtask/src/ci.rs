//! `cargo x ci`: all checks of CI, the fastest first.

use std::process::Command;
use std::time::Instant;

use crate::{Outcome, call, call_with, corpus, tidy};

/// What is built without default features: alone, and with each feature.
const FEATURES: [(&str, &str); 7] = [
    ("annals-transcript", ""),
    ("annals-engine", ""),
    ("annals-engine", "catalog"),
    ("annals-engine", "follow"),
    ("annals-engine", "http"),
    ("annals-engine", "search"),
    ("annals", ""),
];

pub(crate) fn run() -> Outcome {
    let cargo = env!("CARGO");
    step("formatting", || call(cargo, &["fmt", "--all", "--check"]))?;
    step("tidy", tidy::run)?;
    step("lints", || {
        call(cargo, &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])
    })?;
    step("cargo features", || {
        for (package, features) in FEATURES {
            let mut lint = vec!["clippy", "--quiet", "--package", package, "--no-default-features"];
            lint.extend(["--features", features, "--", "-D", "warnings"]);
            call(cargo, &lint)?;
        }
        Ok(())
    })?;
    step("fuzz targets", || call(cargo, &["check", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]))?;
    step("tests", || call(cargo, &["test", "--quiet", "--workspace"]))?;
    step("corpus", || corpus::run(false))?;
    step("documentation", || {
        let mut doc = Command::new(cargo);
        doc.args(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"]);
        call_with(doc.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    println!("all checks passed");
    Ok(())
}

fn step(name: &str, work: impl FnOnce() -> Outcome) -> Outcome {
    println!("── {name}");
    let start = Instant::now();
    work()?;
    println!("   {name}: {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
