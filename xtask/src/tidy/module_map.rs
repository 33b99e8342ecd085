//! The list of modules in ARCHITECTURE.md: one line for each source file, with the first sentence of its documentation.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::{Outcome, files_below, project};

const DOCUMENT: &str = "ARCHITECTURE.md";
/// What stands before the list and after it.
const START: &str = "<!-- `cargo x modules` writes this list -->\n\n```\n";
const END: &str = "```\n";
/// The crates, from those that depend on nothing to the binary.
const CRATES: [&str; 12] = [
    "annals-transcript",
    "annals-search",
    "annals-usage",
    "annals-engine",
    "annals-proto",
    "annals-secrets",
    "annals-render",
    "annals-api",
    "annals-server",
    "annals-mcp",
    "annals",
    "testkit",
];
/// The most characters of a sentence that is not cut at its colon.
const LONGEST: usize = 110;
/// How many columns the paths have.
const PATH_COLUMNS: usize = 36;

/// Writes the list.
pub(crate) fn update() -> Outcome {
    let path = project().join(DOCUMENT);
    let document = fs::read_to_string(&path)?;
    let (before, _, after) = parts(&document).ok_or("ARCHITECTURE.md has no list of modules")?;
    Ok(fs::write(&path, format!("{before}{START}{}{END}{after}", list()?))?)
}

pub(super) fn complaints() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let document = fs::read_to_string(project().join(DOCUMENT))?;
    let list = list()?;
    let undescribed = list.lines().filter(|line| line.ends_with(' ')).map(str::trim);
    let mut found: Vec<_> = undescribed.map(|path| format!("{path} has no documentation")).collect();
    if parts(&document).is_none_or(|(_, written, _)| written != list) {
        found.push(format!("{DOCUMENT}: the list of modules is stale: run `cargo x modules`"));
    }
    Ok(found)
}

/// Returns the text before the list, the list, and the text after it.
fn parts(document: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = document.split_once(START)?;
    // Only the fence at the end begins a line with a backquote.
    let end = if rest.starts_with(END) { 0 } else { rest.find(&format!("\n{END}"))? + 1 };
    Some((before, &rest[..end], &rest[end + END.len()..]))
}

fn list() -> Result<String, Box<dyn std::error::Error>> {
    let mut list = String::new();
    for name in CRATES {
        let folder = format!("crates/{name}/src");
        let source = project().join(&folder);
        let mut files = files_below(&folder)?;
        files.retain(|path| is_module(path));
        files.sort_by_key(|path| path.with_extension(""));
        writeln!(list, "{folder}")?;
        for path in files {
            let below = path.strip_prefix(&source)?.display().to_string().replace('\\', "/");
            let sentence = first_sentence(&fs::read_to_string(&path)?);
            writeln!(list, "  {below:PATH_COLUMNS$} {sentence}")?;
        }
    }
    Ok(list)
}

fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
        && !path.components().any(|part| ["tests", "tests.rs"].iter().any(|name| part.as_os_str() == *name))
}

/// Returns the first sentence of the documentation of a module, without links; of a long one, what stands before the colon.
fn first_sentence(source: &str) -> String {
    let lines = source.lines().skip_while(|line| !line.starts_with("//!"));
    let paragraph = lines.map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<_> = paragraph.take_while(|line| !line.is_empty()).collect();
    let text = without_links(&paragraph.join(" "));
    let sentence = text.split(". ").next().unwrap_or_default();
    let sentence = match sentence.split_once(": ") {
        Some((beginning, _)) if sentence.chars().count() > LONGEST => beginning,
        _ => sentence,
    };
    sentence.trim_end_matches(['.', ':']).to_owned()
}

/// Returns a text with the words of links alone.
fn without_links(text: &str) -> String {
    let mut words = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let (name, after) = link.split_once(']').unwrap_or((link, ""));
        words += before;
        words += name;
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
    }
    words + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_described_by_the_first_sentence_of_its_documentation() {
        for (source, sentence) in [
            ("//! Brews tea. Hot.\n\nuse std;", "Brews tea"),
            ("#![allow(x)]\n//! Brews\n//! [`Tea`]: hot\n", "Brews `Tea`: hot"),
            ("//! Brews [tea](crate::Tea) or [`Mate`](x). Hot.", "Brews tea or `Mate`"),
            ("//! Brews tea\n//!\n//! Hot.\n", "Brews tea"),
            ("use std;\n", ""),
        ] {
            assert_eq!(first_sentence(source), sentence, "{source}");
        }
        assert_eq!(first_sentence(&format!("//! Brews: {}", "tea ".repeat(40))), "Brews");
    }

    #[test]
    fn the_list_is_found_between_its_marks() {
        let document = |list: &str| format!("# Tea\n{START}{list}{END}The end\n```\n");
        for list in ["", "crates/tea/src\n  pot.rs  The pot\n"] {
            let document = document(list);
            let (before, found, after) = parts(&document).unwrap();
            assert_eq!((before, found, after), ("# Tea\n", list, "The end\n```\n"));
        }
        assert_eq!(parts("# Tea\n"), None);
    }

    #[test]
    fn tests_are_no_modules() {
        let are_modules = ["pot.rs", "pot/lid.rs"].iter().all(|path| is_module(Path::new(path)));
        assert!(are_modules && !is_module(Path::new("pot/tests.rs")) && !is_module(Path::new("pot.html")));
    }
}
