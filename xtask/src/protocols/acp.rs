//! The official client of the Agent Client Protocol, from npm: creates a home with invented sessions, sends requests as an
//! editor would, and checks every answer, also against the published schema of the protocol.

use std::process::Command;

use super::{Stage, Trouble, Verdict, npm};
use crate::project;

const PACKAGES: [(&str, &str); 2] = [("@agentclientprotocol/sdk", "2.4.0"), ("ajv", "8.20.0")];

pub(super) fn check(stage: &Stage) -> Verdict {
    let packages = npm(stage, "acp", &PACKAGES)?.canonicalize()?.join("node_modules");
    let home = tempfile::tempdir()?;
    // Nothing takes longer than a few seconds; what hangs must not hang for ever.
    let status = Command::new("timeout")
        .args(["300", "node"])
        .arg(project().join("xtask/src/protocols/acp.mjs"))
        .args([&packages, &stage.annals])
        .arg(home.path())
        .status()?;
    if status.success() {
        return Ok(());
    }
    Err(Trouble::Failed(format!("it was answered wrongly ({status})")))
}
