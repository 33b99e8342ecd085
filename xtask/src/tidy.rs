//! `cargo x tidy`: checks that documents, cases and dependencies agree with the code.

mod capabilities;
mod module_map;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use annals_proto::{ErrorCode, Method, notification};
use annals_transcript::Kind;
use annals_transcript::entry::view::AttachmentKind;

use crate::{Outcome, files_below, project, schema};

pub(crate) use module_map::update as update_module_map;

pub(crate) fn run() -> Outcome {
    let mut complaints = Vec::new();
    complaints.extend(kinds_without_a_row_or_case()?);
    complaints.extend(cases_without_a_readme()?);
    complaints.extend(arrows_that_turn_round()?);
    complaints.extend(paths_of_a_machine()?);
    complaints.extend(methods_and_codes_without_a_row()?);
    complaints.extend(schema::stale()?);
    complaints.extend(inner_types_that_serialize()?);
    complaints.extend(examples_that_never_compile()?);
    complaints.extend(rules_that_do_not_exist()?);
    complaints.extend(capabilities::complaints()?);
    complaints.extend(module_map::complaints()?);
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

/// The crates that each crate may depend on.
const LAYERS: [(&str, &[&str]); 11] = [
    ("annals-transcript", &[]),
    ("annals-proto", &[]),
    ("annals-secrets", &[]),
    ("annals-search", &[]),
    ("annals-usage", &[]),
    ("annals-engine", &["annals-transcript", "annals-search", "annals-usage"]),
    ("annals-render", &["annals-transcript", "annals-proto"]),
    (
        "annals-api",
        &[
            "annals-transcript",
            "annals-proto",
            "annals-engine",
            "annals-render",
            "annals-search",
            "annals-secrets",
            "annals-usage",
        ],
    ),
    ("annals-mcp", &["annals-proto", "annals-api"]),
    ("annals-server", &["annals-transcript", "annals-proto", "annals-engine", "annals-api"]),
    (
        "annals",
        &[
            "annals-transcript",
            "annals-proto",
            "annals-engine",
            "annals-render",
            "annals-search",
            "annals-usage",
            "annals-api",
            "annals-mcp",
            "annals-server",
        ],
    ),
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

/// A crate whose documentation has examples compiles them.
fn examples_that_never_compile() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(project().join("crates"))? {
        let folder = entry?.path();
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        if !manifest.contains("doctest = false") {
            continue;
        }
        for path in files_below(&relative(&folder.join("src")))? {
            if fs::read_to_string(&path).is_ok_and(|text| has_example(&text)) {
                found.push(format!(
                    "{} has an example that `doctest = false` never compiles",
                    relative(&path)
                ));
            }
        }
    }
    Ok(found)
}

/// Returns whether documentation in a source has a block of code that is a test.
fn has_example(source: &str) -> bool {
    let lines = source.lines().map(str::trim_start);
    let documentation =
        lines.filter_map(|line| line.strip_prefix("///").or_else(|| line.strip_prefix("//!")));
    let fences = documentation.map(str::trim).filter(|line| line.starts_with("```"));
    fences.step_by(2).any(|opening| ["```", "```rust", "```no_run"].contains(&opening))
}

/// Every rule that code cites, such as `CHAIN 6.10` or `LISTS 2.7`, stands in the document.
fn rules_that_do_not_exist() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut wrong = Vec::new();
    for name in ["CHAIN", "LISTS"] {
        let document = fs::read_to_string(project().join(format!("docs/{name}.md")))?;
        for path in files_below("crates")? {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            for rule in cited_rules(&text, name).filter(|rule| !document.contains(&format!("**{rule}**"))) {
                wrong.push(format!("{} cites {name} {rule}, which does not exist", relative(&path)));
            }
        }
    }
    Ok(wrong)
}

/// Returns the rules of a document that a text cites: `NAME 1.2`, or several as `NAME 1.2, 1.3` or `NAME 1.2 to 1.4`.
fn cited_rules<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    let citations = text.match_indices(name).map(|(at, _)| &text[at + name.len()..]);
    citations.flat_map(|behind| {
        let words = behind.trim_start_matches(".md").trim_start_matches('`').split([' ', ',']);
        words.skip(1).take_while(|word| ["", "and", "to"].contains(word) || is_rule(word)).filter_map(rule)
    })
}

/// Returns the number of a rule at the start of a word, such as `1.2` or `1.2a`.
fn rule(word: &str) -> Option<&str> {
    let number = &word[..word.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(word.len())];
    let number = number.trim_end_matches('.');
    let (section, rule) = number.split_once('.')?;
    let is_number =
        section.parse::<u32>().is_ok() && rule.trim_end_matches(char::is_alphabetic).parse::<u32>().is_ok();
    is_number.then_some(number)
}

fn is_rule(word: &str) -> bool {
    rule(word).is_some()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_arrow_turns_round() {
        assert_eq!(arrows_that_turn_round().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn examples_are_found_by_their_fences() {
        assert!(has_example("/// A cup.\n///\n/// ```\n/// brew();\n/// ```\nfn brew() {}"));
        assert!(has_example("//! ```no_run\n//! brew();\n//! ```"));
        assert!(!has_example("let fence = \"```\"; // ```\n/// A cup of ``tea``.\n"));
    }

    #[test]
    fn citations_are_found_in_every_form() {
        let text = "/// Why (LISTS 2.7). LISTS 1.4, 1.5: a\n// LISTS 6.11 to 6.13\nLISTS section 4, `docs/LISTS.md` 1.2a; LISTS.md 3.1 2 x";
        let rules: Vec<_> = cited_rules(text, "LISTS").collect();
        assert_eq!(rules, ["2.7", "1.4", "1.5", "6.11", "6.13", "1.2a", "3.1"]);
    }
}
