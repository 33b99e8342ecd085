//! `cargo x protocols`: official clients talk to the built `annals serve`.
//!
//! Their packages are installed with npm below the target folder; each is a script that makes a home with invented sessions,
//! asks as an editor would, and checks every answer, also against the schema that the protocol is published with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::{Outcome, call, project};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where packages are installed and kept [default: protocols in the target folder]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Fail if node or a package cannot be had
    #[arg(long)]
    required: bool,
}

/// What is installed: versions that do not change by themselves.
const PACKAGES: [(&str, &str); 2] = [("@agentclientprotocol/sdk", "2.4.0"), ("ajv", "8.20.0")];

pub(crate) fn run(args: &Args) -> Outcome {
    let start = Instant::now();
    let this = std::env::current_exe()?;
    let target = this.parent().and_then(|folder| folder.parent()).ok_or("not in a target folder")?;
    let scratch = args.scratch.clone().unwrap_or(target.join("protocols"));
    let packages = match install(&scratch) {
        Ok(packages) => packages,
        Err(reason) if args.required => return Err(format!("no clients: {reason}").into()),
        Err(reason) => {
            println!("protocols skipped: {reason}");
            return Ok(());
        }
    };
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    call(env!("CARGO"), &["build", "--quiet", "--package", "annals", "--profile", profile])?;
    let annals = this.with_file_name("annals");
    let home = tempfile::tempdir()?;
    let script = project().join("xtask/src/protocols/acp.mjs");
    // Nothing takes longer than a few seconds; what hangs must not hang for ever.
    let status = Command::new("timeout")
        .arg("300")
        .arg("node")
        .arg(script)
        .args([&packages, &annals])
        .arg(home.path())
        .status()?;
    if !status.success() {
        return Err(format!("a client was answered wrongly ({status})").into());
    }
    println!("all clients are answered as they should be, in {} s", start.elapsed().as_secs());
    Ok(())
}

/// Installs the packages, if they are not yet, and returns their folder. An error says why they cannot be had.
fn install(scratch: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    Command::new("node").arg("--version").output().map_err(|error| format!("node: {error}"))?;
    fs::create_dir_all(scratch)?;
    let scratch = scratch.canonicalize()?;
    let packages = scratch.join("node_modules");
    let is_there = |(name, version): &(&str, &str)| {
        let manifest = fs::read_to_string(packages.join(name).join("package.json")).unwrap_or_default();
        manifest.contains(&format!("\"version\": \"{version}\""))
    };
    if PACKAGES.iter().all(is_there) {
        return Ok(packages);
    }
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix"])
        .arg(&scratch)
        .args(PACKAGES.map(|(name, version)| format!("{name}@{version}")))
        // Without a network, say so soon.
        .envs([("npm_config_fetch_retries", "1"), ("npm_config_fetch_retry_mintimeout", "1000")])
        .output()
        .map_err(|error| format!("npm: {error}"))?;
    if output.status.success() && PACKAGES.iter().all(is_there) {
        return Ok(packages);
    }
    // Half an installation would be in the way the next time.
    let _ = fs::remove_dir_all(&packages);
    let said = String::from_utf8_lossy(&output.stderr);
    let error = said.lines().find(|line| line.to_lowercase().contains("error"));
    Err(format!("npm install failed: {}", error.or(said.lines().last()).unwrap_or_default()).into())
}
