//! `cargo x tidy`: checks that documents, cases and dependencies agree with the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use annals_proto::{ErrorCode, Method, notification};
use annals_transcript::Kind;
use annals_transcript::entry::view::AttachmentKind;

use crate::{Outcome, files_below, project, schema};

pub(crate) fn run() -> Outcome {
    let mut complaints = Vec::new();
    complaints.extend(kinds_without_a_row_or_case()?);
    complaints.extend(cases_without_a_readme()?);
    complaints.extend(arrows_that_turn_round()?);
    complaints.extend(paths_of_a_machine()?);
    complaints.extend(methods_and_codes_without_a_row()?);
    complaints.extend(schema::stale()?);
    complaints.extend(inner_types_that_serialize()?);
    if complaints.is_empty() {
        return Ok(());
    }
    Err(complaints.join("\n         ").into())
}

/// Every entry type has a row in FORMAT.md and a case in the corpus; every attachment type has a row.
fn kinds_without_a_row_or_case() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let format = fs::read_to_string(project().join("docs/FORMAT.md"))?;
    let mut missing = Vec::new();
    let attachments = AttachmentKind::ALL.iter().filter_map(|kind| kind.name());
    for name in Kind::ALL.iter().filter_map(|kind| kind.name()).chain(attachments) {
        if !format.contains(&format!("| `{name}`")) {
            missing.push(format!("docs/FORMAT.md has no row for `{name}`"));
        }
    }
    for name in Kind::ALL.iter().filter_map(|kind| kind.name()) {
        if !project().join("corpus").join(format!("kind-{name}/session.jsonl")).is_file() {
            missing.push(format!("corpus/ has no case kind-{name}"));
        }
    }
    Ok(missing)
}

/// Every method, notification and error code has a row in PROTOCOL.md.
fn methods_and_codes_without_a_row() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let protocol = fs::read_to_string(project().join("docs/PROTOCOL.md"))?;
    let names = Method::ALL.iter().map(|method| method.name()).chain(notification::ALL.iter().copied());
    let rows = names.map(|name| format!("| `{name}` |"));
    let rows = rows.chain(ErrorCode::ALL.iter().map(|code| format!("| {} |", code.number())));
    Ok(rows
        .filter(|row| !protocol.lines().any(|line| line.starts_with(row)))
        .map(|row| format!("docs/PROTOCOL.md has no row {row}"))
        .collect())
}

/// Every case says in one line what it shows.
fn cases_without_a_readme() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut missing = Vec::new();
    for entry in fs::read_dir(project().join("corpus"))? {
        let case = entry?.path();
        let readme = fs::read_to_string(case.join("README")).unwrap_or_default();
        if readme.trim().is_empty() || readme.trim().lines().count() != 1 {
            missing.push(format!("{} has no README of one line", case.strip_prefix(project())?.display()));
        }
    }
    Ok(missing)
}

/// A crate may depend only on those that stand before it in this list.
const LAYERS: [(&str, &[&str]); 6] = [
    ("annals-transcript", &[]),
    ("annals-proto", &[]),
    ("annals-engine", &["annals-transcript"]),
    ("annals-api", &["annals-transcript", "annals-proto", "annals-engine"]),
    ("annals-server", &["annals-transcript", "annals-proto", "annals-engine", "annals-api"]),
    ("annals", &["annals-transcript", "annals-proto", "annals-engine", "annals-api", "annals-server"]),
];

fn arrows_that_turn_round() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut wrong = Vec::new();
    for (name, allowed) in LAYERS {
        let manifest = fs::read_to_string(project().join("crates").join(name).join("Cargo.toml"))?;
        let (_, dependencies) = manifest.split_once("[dependencies]").unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        let used: BTreeSet<_> = dependencies
            .lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|used| used.starts_with("annals"))
            .collect();
        for used in used.into_iter().filter(|used| !allowed.contains(used)) {
            wrong.push(format!("{name} must not depend on {used}"));
        }
    }
    Ok(wrong)
}

/// Wire types live in annals-proto: no inner type is `Serialize` (invariant 7).
fn inner_types_that_serialize() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    for folder in ["crates/annals-transcript/src", "crates/annals-engine/src"] {
        for path in files_below(folder)? {
            if fs::read_to_string(&path)?.contains("Serialize") {
                found.push(format!("{} serializes an inner type", relative(&path)));
            }
        }
    }
    Ok(found)
}

/// No document and no source contains a path of a developer's machine.
fn paths_of_a_machine() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let marks = ["work", "root", "farm"].map(|folder| format!("/{folder}/"));
    let mut found = Vec::new();
    let mut files = vec![project().join("README.md"), project().join("ARCHITECTURE.md")];
    for folder in ["crates", "docs", "xtask", "fuzz/fuzz_targets", ".ci"] {
        files.extend(files_below(folder)?);
    }
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let is_start = |at: usize| text[..at].ends_with(['"', '`', ' ', '(', '=']);
        if marks.iter().any(|mark| text.match_indices(mark).any(|(at, _)| is_start(at))) {
            found.push(format!("{} names a path of a machine", relative(&path)));
        }
    }
    Ok(found)
}

fn relative(path: &Path) -> String {
    path.strip_prefix(project()).unwrap_or(path).display().to_string()
}
