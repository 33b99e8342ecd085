//! Every capability in `docs/CAPABILITIES.md` names a test, and every test that is named there exists.
//!
//! annals was specified by five lists of requirements, which are not part of the project: A of the format and of turns, B of how
//! Claude Code stores sessions, C of entries and analyses, D of compactions, E of histories in editors. `requirements.tsv` says
//! by list and number which of them a capability covers.

use std::fs;
use std::path::Path;

use crate::{oracle, project, protocols};

const DOCUMENT: &str = "docs/CAPABILITIES.md";

/// The first line of every table of capabilities.
const HEADER: &str = "| capability | command, method or function | test |";

/// Requirements by list and number, a tab, and the capability that covers them. A capability without a line covers none.
const REQUIREMENTS: &str = include_str!("requirements.tsv");

/// The lists of requirements, and how many each has.
const DESCRIPTIONS: [(char, usize); 5] = [('A', 81), ('B', 98), ('C', 40), ('D', 39), ('E', 52)];

/// What stands in place of a test that is still to be written.
const TO_DO: &str = "TODO";

/// A row: a capability, and the cell that names its tests.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    capability: &'a str,
    tests: &'a str,
}

pub(super) fn complaints() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let document = fs::read_to_string(project().join(DOCUMENT))?;
    let (rows, mut found) = rows(&document);
    found.extend(rows.iter().flat_map(|row| complaints_of_tests(row, exists)));
    found.extend(complaints_of_items(REQUIREMENTS, &rows));
    Ok(found.into_iter().map(|complaint| format!("{DOCUMENT}: {complaint}")).collect())
}

/// Returns the rows of all tables of capabilities, and a complaint for each that does not have three cells.
fn rows(document: &str) -> (Vec<Row<'_>>, Vec<String>) {
    let (mut rows, mut complaints, mut is_inside) = (Vec::new(), Vec::new(), false);
    for line in document.lines() {
        if !line.starts_with('|') || line == HEADER {
            is_inside = line == HEADER;
        } else if is_inside && !line.starts_with("|---") {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            match cells[..] {
                [capability, _, tests] => rows.push(Row { capability, tests }),
                _ => complaints.push(format!("not three cells: {line}")),
            }
        }
    }
    (rows, complaints)
}

/// Complains of a row without a test, and of tests that do not exist.
fn complaints_of_tests(row: &Row<'_>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let Row { capability, tests } = row;
    if *tests == TO_DO {
        return vec![format!("no test yet for “{capability}”")];
    }
    let names: Vec<_> = tests.split('`').skip(1).step_by(2).collect();
    if names.is_empty() {
        return vec![format!("no test is named for “{capability}”")];
    }
    let missing = names.into_iter().filter(|name| !exists(name));
    missing.map(|name| format!("there is no test `{name}`, which “{capability}” names")).collect()
}

/// Complains of requirements that no capability covers, or more than one, and of capabilities that have no row.
fn complaints_of_items(requirements: &str, rows: &[Row<'_>]) -> Vec<String> {
    let lines: Vec<_> = requirements.lines().filter_map(|line| line.split_once('\t')).collect();
    let covered: Vec<_> = lines.iter().flat_map(|(items, _)| items.split(", ")).collect();
    let has_row = |capability: &str| rows.iter().any(|row| row.capability == capability);
    let gone = lines.iter().filter(|(_, capability)| !has_row(capability));
    let gone = gone.map(|(items, capability)| format!("requirements.tsv: no row “{capability}” ({items})"));
    let items = DESCRIPTIONS
        .iter()
        .flat_map(|(letter, count)| (1..=*count).map(move |number| format!("{letter}{number}")));
    let is_known = |item: &str| {
        DESCRIPTIONS.iter().any(|(letter, count)| {
            let number = item.strip_prefix(*letter).and_then(|number| number.parse::<usize>().ok());
            number.is_some_and(|number| (1..=*count).contains(&number))
        })
    };
    let unknown = covered.iter().filter(|item| !is_known(item));
    let unknown = unknown.map(|item| format!("there is no item `{item}`")).collect::<Vec<_>>();
    let wrong = items.filter_map(|item| match covered.iter().filter(|covered| **covered == item).count() {
        0 => Some(format!("no row covers item {item}")),
        1 => None,
        count => Some(format!("{count} rows cover item {item}")),
    });
    gone.chain(wrong).chain(unknown).collect()
}

/// Returns whether a test exists, in any of the forms that the document explains.
fn exists(name: &str) -> bool {
    if let Some(scenario) = name.strip_prefix("cargo x oracle ") {
        return oracle::names().any(|name| name == scenario);
    }
    if let Some(client) = name.strip_prefix("cargo x protocols ") {
        return protocols::names().any(|name| name == client);
    }
    if name.starts_with("corpus/") {
        return project().join(name).join("session.jsonl").is_file();
    }
    match name.split_once("::") {
        Some((path, function)) => source(path).is_some_and(|source| has_test(&source, function)),
        None => name.contains("/tests/it/rpc/") && project().join("crates").join(name).is_file(),
    }
}

/// Reads a source file, which is named as it lies below `crates` or below the project.
fn source(path: &str) -> Option<String> {
    let folders = [project().join("crates"), project().to_owned()];
    let is_source = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    folders
        .iter()
        .map(|folder| folder.join(path))
        .filter(|path| is_source(path))
        .find_map(|path| fs::read_to_string(path).ok())
}

/// Returns whether a source file has a function of this name that is marked as a test.
fn has_test(source: &str, function: &str) -> bool {
    let lines: Vec<_> = source.lines().map(str::trim_start).collect();
    let is_function = |line: &str| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")
            .and_then(|rest| rest.strip_prefix(function))
            .is_some_and(|rest| rest.starts_with('('))
    };
    let is_marked = |at: usize| {
        let above =
            lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        above.into_iter().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    };
    (0..lines.len()).any(|at| is_function(lines[at]) && is_marked(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tests: &str) -> Row<'_> {
        Row { capability: "It brews", tests }
    }

    #[test]
    fn rows_are_found_in_tables_of_capabilities_only() {
        let document = format!(
            "# Tea\n\n| form | what |\n|---|---|\n| a | b |\n\n{HEADER}\n|---|---|---|\n| It brews | `brew` | `x.rs::y` |\n| half | a row |\n\n| c | d |\n"
        );
        let (rows, complaints) = rows(&document);
        assert_eq!(rows, [row("`x.rs::y`")]);
        assert_eq!(complaints, ["not three cells: | half | a row |"]);
    }

    #[test]
    fn a_row_needs_a_test_that_exists() {
        let exists = |name: &str| name == "x.rs::here";
        for (tests, complaints) in [
            ("`x.rs::here`", &[][..]),
            ("TODO", &["no test yet for “It brews”"]),
            ("", &["no test is named for “It brews”"]),
            ("by hand", &["no test is named for “It brews”"]),
            (
                "`x.rs::here`, `x.rs::gone`, `corpus/gone`",
                &[
                    "there is no test `x.rs::gone`, which “It brews” names",
                    "there is no test `corpus/gone`, which “It brews” names",
                ],
            ),
        ] {
            assert_eq!(complaints_of_tests(&row(tests), exists), complaints, "{tests}");
        }
    }

    #[test]
    fn every_item_is_covered_once() {
        let all: Vec<_> = DESCRIPTIONS
            .iter()
            .flat_map(|(letter, count)| (1..=*count).map(move |number| format!("{letter}{number}")))
            .collect();
        let all = format!("{}\tIt brews\n", all.join(", "));
        let complaints = |lines: &str| complaints_of_items(lines, &[row("")]);
        assert_eq!(complaints(&all), [] as [&str; 0]);
        assert_eq!(complaints(&all.replace("B7, ", "")), ["no row covers item B7"]);
        let more = format!("{all}E52, E53\tIt brews\ntea\tIt brews\n");
        let expected = ["2 rows cover item E52", "there is no item `E53`", "there is no item `tea`"];
        assert_eq!(complaints(&more), expected);
        let gone = all.replace("E52\tIt brews", "E52\tIt cools");
        assert_eq!(complaints(&gone).len(), 1, "a capability without a row is named once");
    }

    #[test]
    fn only_functions_that_are_marked_are_tests() {
        let source = "#[test]\nfn plain() {}\n\n    /// LISTS 1.1\n    #[cfg(unix)]\n    #[test]\n    // Why.\n    fn inner(x: u8) {}\n#[tokio::test(flavor = \"x\")]\nasync fn later() {}\nfn helper() {}\n#[test]\n\nfn apart() {}\n";
        for (name, is_test) in [
            ("plain", true),
            ("inner", true),
            ("later", true),
            ("helper", false),
            ("apart", false),
            ("pla", false),
            ("gone", false),
        ] {
            assert_eq!(has_test(source, name), is_test, "{name}");
        }
    }

    #[test]
    fn tests_of_every_form_are_found() {
        for (name, is_there) in [
            ("annals/tests/it/list.rs::filters_leave_out_what_does_not_fit", true),
            ("annals-transcript/tests/it/props.rs::quoted_text_decodes_to_itself", true),
            ("xtask/src/tidy/capabilities.rs::tests_of_every_form_are_found", true),
            ("annals/tests/it/list.rs::gone", false),
            ("annals/tests/it/list.rs::titles", false),
            ("annals/tests/it/gone.rs::filters_leave_out_what_does_not_fit", false),
            ("annals-server/tests/it/rpc/load.txt", true),
            ("annals-server/tests/it/rpc/gone.txt", false),
            ("annals/Cargo.toml", false),
            ("corpus/kind-user", true),
            ("corpus/oracle/cases/plain", true),
            ("corpus/oracle", false),
            ("cargo x oracle fork up to a message", true),
            ("cargo x oracle fork up to", false),
            ("cargo x protocols browser", true),
            ("cargo x protocols telnet", false),
        ] {
            assert_eq!(exists(name), is_there, "{name}");
        }
    }
}
