//! Embeds the files of the viewer, if `cargo x web` has built them. It never builds them itself: annals compiles without Node.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let dist = folder("CARGO_MANIFEST_DIR").join("../../web/dist");
    // A path that does not exist would count as changed in every build; `cargo x web` marks this file as changed instead.
    println!("cargo::rerun-if-changed=build.rs");
    if dist.is_dir() {
        println!("cargo::rerun-if-changed={}", dist.display());
    }
    let mut files = Vec::new();
    find(&dist, "", &mut files);
    files.sort();
    // Copies, because `cargo x web` may replace the files while cargo compiles what names them.
    let out = folder("OUT_DIR");
    let mut source = String::from("static VIEWER: &[(&str, &[u8])] = &[\n");
    for (number, (path, file)) in files.iter().enumerate() {
        let copy = format!("viewer-{number}");
        fs::copy(file, out.join(&copy)).expect("a file of the viewer is read and its copy written");
        writeln!(source, "    ({path:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{copy}\"))),")
            .expect("a string takes everything");
    }
    source += "];\n";
    fs::write(out.join("viewer.rs"), source).expect("the folder of the build is there to be written to");
}

/// Returns a folder that a variable of cargo names.
fn folder(variable: &str) -> PathBuf {
    PathBuf::from(env::var_os(variable).expect("cargo sets it"))
}

/// Finds the files below a folder, each with its path in URLs. A folder that is not there has none.
fn find(folder: &Path, below: &str, files: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = format!("{below}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            find(&entry.path(), &path, files);
        } else {
            files.push((path, entry.path()));
        }
    }
}
