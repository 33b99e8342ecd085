//! The official client of the Model Context Protocol, from npm: lists and calls every tool, on standard input and output and over
//! HTTP, and reads resources.

use std::process::Command;

use super::http::Served;
use super::{Stage, Trouble, Verdict, npm};
use crate::project;

const PACKAGES: [(&str, &str); 1] = [("@modelcontextprotocol/sdk", "1.32.2")];

pub(super) fn check(stage: &Stage) -> Verdict {
    let packages = npm(stage, "mcp", &PACKAGES)?.canonicalize()?.join("node_modules");
    let home = tempfile::tempdir()?;
    run(stage, &packages, home.path(), &[])?;
    let served = Served::start(stage)?;
    run(stage, &packages, home.path(), &[&format!("http://{}/mcp", served.address), &served.token])?;
    served.end()
}

/// Runs the client; it talks to a server that it starts itself, or to the one at an address.
fn run(stage: &Stage, packages: &std::path::Path, home: &std::path::Path, address: &[&str]) -> Verdict {
    // Nothing takes longer than a few seconds; what hangs must not hang for ever.
    let status = Command::new("timeout")
        .args(["300", "node"])
        .arg(project().join("xtask/src/protocols/mcp.mjs"))
        .args([packages, &stage.annals, home])
        .args(address)
        .status()?;
    if status.success() {
        return Ok(());
    }
    Err(Trouble::Failed(format!("it was answered wrongly ({status})")))
}
