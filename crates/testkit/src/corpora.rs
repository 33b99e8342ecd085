//! Transcripts for tests: the project's own, and larger ones beside a checkout if there are any.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the project's `corpus` folder.
pub fn own() -> PathBuf {
    project().join("corpus")
}

/// Returns the folders of transcripts beside a checkout that exist: real ones, and cases with known answers. Tests read them in place and say so when they are missing.
pub fn beside() -> Vec<PathBuf> {
    let shared = project().join("../shared");
    ["corpus", "oracle"].iter().map(|name| shared.join(name)).filter(|path| path.is_dir()).collect()
}

/// Returns every `.jsonl` file of all corpora.
pub fn transcripts() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in [own()].into_iter().chain(beside()) {
        collect(&folder, &mut found);
    }
    found.sort();
    found
}

/// Returns the folders in a folder, in order.
pub fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a corpus folder can be read");
    let paths = entries.map(|entry| entry.expect("a corpus folder can be listed").path());
    let mut folders: Vec<_> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn project() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/testkit lies two folders deep").to_owned()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a corpus folder can be read") {
        let path = entry.expect("a corpus folder can be listed").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
}
