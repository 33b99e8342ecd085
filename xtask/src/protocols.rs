//! `cargo x protocols`: real clients talk to the built `annals serve`.

mod acp;
mod browser;
mod curl;
mod http;
mod mcp;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Outcome, call, web};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fail if a client is not available
    #[arg(long)]
    required: bool,
    /// Only checks whose name contains this
    only: Option<String>,
}

/// What a check needs: the server, and a place for its client.
struct Stage {
    /// The built program.
    annals: PathBuf,
    /// The folder in which clients are installed, and their output is kept.
    folder: PathBuf,
}

/// Why a check did not pass.
enum Trouble {
    /// The client is not available on this machine.
    Missing(String),
    /// The client got a wrong answer.
    Failed(String),
}

type Verdict = Result<(), Trouble>;
type Check = fn(&Stage) -> Verdict;

impl<E: std::fmt::Display> From<E> for Trouble {
    fn from(error: E) -> Self {
        Trouble::Failed(error.to_string())
    }
}

/// The clients, and how each is tested.
const CHECKS: &[(&str, Check)] =
    &[("acp", acp::check), ("mcp", mcp::check), ("curl", curl::check), ("browser", browser::check)];

/// Returns the names of all checks.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|(name, _)| *name)
}

pub(crate) fn run(args: &Args) -> Outcome {
    let this = std::env::current_exe()?;
    let target = this.parent().and_then(Path::parent).ok_or("not in a target folder")?;
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    if web::has_node() {
        web::build()?;
    }
    call(env!("CARGO"), &["build", "--quiet", "--package", "annals", "--profile", profile])?;
    let stage = Stage { annals: this.with_file_name("annals"), folder: target.join("protocols") };
    fs::create_dir_all(&stage.folder)?;
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        if args.only.as_ref().is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let start = Instant::now();
        match check(&stage) {
            Ok(()) => println!("{name}: ok, {:.0} s", start.elapsed().as_secs_f64()),
            Err(Trouble::Missing(reason)) if !args.required => println!("{name} skipped: {reason}"),
            Err(Trouble::Missing(reason) | Trouble::Failed(reason)) => {
                println!("{name}: {reason}");
                failed.push(*name);
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

/// Returns the first of some programs that can be run.
fn program<'a>(names: &[&'a str]) -> Result<&'a str, Trouble> {
    let runs = |name: &&&str| {
        let mut command = Command::new(name);
        let command = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let found = names.iter().find(runs).copied();
    found.ok_or_else(|| Trouble::Missing(format!("there is no {}", names.join(" or "))))
}

/// Installs npm packages in fixed versions, unless they are installed. Returns the folder in which scripts find them.
fn npm(stage: &Stage, folder: &str, packages: &[(&str, &str)]) -> Result<PathBuf, Trouble> {
    program(&["node"])?;
    program(&["npm"])?;
    let folder = stage.folder.join(folder);
    let modules = folder.join("node_modules");
    let is_there = |(name, version): &(&str, &str)| {
        let manifest = fs::read_to_string(modules.join(name).join("package.json")).unwrap_or_default();
        manifest.contains(&format!("\"version\": \"{version}\""))
    };
    if packages.iter().all(is_there) {
        return Ok(folder);
    }
    fs::create_dir_all(&folder)?;
    let mut install = Command::new("npm");
    install.args(["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix"]);
    install.arg(&folder).args(packages.iter().map(|(name, version)| format!("{name}@{version}")));
    // Without a network, say so soon.
    install.envs([("npm_config_fetch_retries", "1"), ("npm_config_fetch_retry_mintimeout", "1000")]);
    let output = install.output()?;
    if output.status.success() && packages.iter().all(is_there) {
        return Ok(folder);
    }
    // Half an installation would be in the way the next time.
    let _ = fs::remove_dir_all(&modules);
    let said = String::from_utf8_lossy(&output.stderr);
    let error = said.lines().find(|line| line.to_lowercase().contains("error"));
    let reason = error.or(said.lines().last()).unwrap_or_default();
    Err(Trouble::Missing(format!("npm install failed: {reason}")))
}
