//! The map of modules in ARCHITECTURE.md names every module, and only files that exist.

use std::fs;
use std::path::Path;

use crate::{files_below, project};

const DOCUMENT: &str = "ARCHITECTURE.md";

pub(super) fn complaints() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let document = fs::read_to_string(project().join(DOCUMENT))?;
    let map = document.split_once("## The code\n\n```\n").and_then(|(_, rest)| rest.split_once("\n```"));
    let (map, _) = map.ok_or("ARCHITECTURE.md has no map of modules")?;
    let mut found = Vec::new();
    for (folder, text) in sections(map) {
        let source = project().join(folder).join("src");
        if folder.starts_with("crates/") {
            let files = files_below(&format!("{folder}/src"))?;
            let files: Vec<_> = files.iter().filter_map(|path| path.strip_prefix(&source).ok()).collect();
            let complaints = complaints_of(&text, &files).into_iter();
            found.extend(complaints.map(|complaint| format!("{DOCUMENT}: {folder}: {complaint}")));
        }
    }
    Ok(found)
}

/// Returns the folder of each crate in the map, with what the map says about it: on its own line and on the indented ones
/// below.
fn sections(map: &str) -> Vec<(&str, String)> {
    let mut sections: Vec<(&str, String)> = Vec::new();
    for line in map.lines() {
        match (line.split_once(' '), sections.last_mut()) {
            (Some((folder, text)), _) if !folder.is_empty() => sections.push((folder, text.to_owned())),
            (_, Some((_, text))) => *text += line,
            (_, None) => {}
        }
    }
    sections
}

/// Complains of modules that a text does not name, and of source files that it names and that do not exist.
fn complaints_of(text: &str, files: &[&Path]) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && !"_./".contains(c));
    let words: Vec<_> = words.map(|word| word.trim_end_matches('.')).collect();
    let is_module =
        |file: &&&Path| !["lib.rs", "main.rs", "tests.rs"].iter().any(|name| file.ends_with(name));
    let is_named = |file: &Path| words.iter().any(|word| names(text, word, file));
    let unnamed =
        files.iter().filter(|file| is_source(file)).filter(is_module).filter(|file| !is_named(file));
    let unnamed = unnamed.map(|file| format!("no word about `{}`", file.display()));
    let named: Vec<_> = words.iter().map(Path::new).collect();
    let gone = named
        .iter()
        .filter(|name| is_source(name))
        .filter(|name| !files.iter().any(|file| file.ends_with(name)));
    unnamed.chain(gone.map(|name| format!("`{}` does not exist", name.display()))).collect()
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Returns whether a word of a text names a file: `chain/walk.rs` by `walk.rs`, by `chain/walk`, by `walk` in a text that has
/// `chain/` somewhere, or by `chain/` alone.
fn names(text: &str, word: &str, file: &Path) -> bool {
    let (module, folder) = (file.with_extension(""), file.parent().unwrap_or(Path::new("")));
    match word {
        "" => false,
        word if is_source(Path::new(word)) => file.ends_with(word),
        word if word.ends_with('/') => module.ancestors().any(|folder| folder.ends_with(word)),
        word if word.contains('/') => module.ends_with(word),
        word => {
            let is_listed =
                folder.file_name().is_some_and(|name| text.contains(&format!("{}/", name.display())));
            module.ends_with(word) && is_listed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_named_and_every_named_file_exists() {
        let map = "crates/tea     brewing, jug.rs.\n  pot.rs   the pot; chain/walk.rs, leaf\n           view/ what is seen\nfuzz   gone.rs";
        let sections = sections(map);
        assert_eq!(sections.iter().map(|(folder, _)| *folder).collect::<Vec<_>>(), ["crates/tea", "fuzz"]);
        let text = &sections[0].1;
        let named = [
            "lib.rs",
            "pot.rs",
            "jug.rs",
            "chain/walk.rs",
            "chain/leaf.rs",
            "chain/tests.rs",
            "view/one.rs",
            "page.html",
        ];
        assert_eq!(complaints_of(text, &named.map(Path::new)), [] as [&str; 0]);
        let others = ["pot.rs", "jug.rs", "brewing.rs", "chain/gather.rs"].map(Path::new);
        let complaints = [
            "no word about `brewing.rs`",
            "no word about `chain/gather.rs`",
            "`chain/walk.rs` does not exist",
        ];
        assert_eq!(complaints_of(text, &others), complaints);
    }
}
