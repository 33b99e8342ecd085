//! Tells the program which commit it was built from, for `annals --version`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A package that lies in another project's repository was not built from one of its commits.
    let is_of_this_repository = git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_some();
    let commit = git(&["log", "-1", "--format=%h %cs"]).filter(|_| is_of_this_repository);
    let version = env!("CARGO_PKG_VERSION");
    let spelled = commit.map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=ANNALS_VERSION={spelled}");
    // Git appends to this file with every commit and every change of branch.
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| is_of_this_repository && Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
}

/// Returns what git prints; `None` if it fails or is not installed.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}
