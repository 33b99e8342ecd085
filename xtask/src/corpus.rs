//! `cargo x corpus`: what annals makes of each case in `corpus/`, kept beside the case.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use annals_transcript::{Entry, Reader};

use crate::{Outcome, files_below, project};

pub(crate) fn run(update: bool) -> Outcome {
    let mut stale = Vec::new();
    let mut cases = 0;
    for session in files_below("corpus")?.iter().filter(|path| is_case(path)) {
        cases += 1;
        let answer = session.with_file_name("entries.txt");
        let found = entries(session)?;
        if fs::read_to_string(&answer).unwrap_or_default() == found {
            continue;
        }
        if update {
            fs::write(&answer, found)?;
        }
        stale.push(answer.strip_prefix(project())?.display().to_string());
    }
    if cases == 0 {
        return Err("there are no cases in corpus/".into());
    }
    match (stale.len(), update) {
        (0, _) => println!("{cases} cases, all as expected"),
        (changed, true) => println!("{changed} of {cases} answers written"),
        (_, false) => {
            return Err(format!("not as expected: {}; see `cargo x corpus --help`", stale.join(", ")).into());
        }
    }
    Ok(())
}

/// The oracle's cases have answers of their own, which a test compares.
fn is_case(path: &Path) -> bool {
    path.ends_with("session.jsonl") && !path.components().any(|part| part.as_os_str() == "oracle")
}

/// Lists the entries of a file: position, length, type, and what is wrong.
fn entries(path: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut reader = Reader::new(fs::File::open(path)?);
    let mut text = String::new();
    while let Some(entry) = reader.read()? {
        let at = entry.at();
        write!(
            text,
            "line {} offset {} length {}: {}",
            at.line,
            at.offset,
            entry.bytes().len(),
            name(&entry)
        )?;
        if let Some(problem) = entry.verify() {
            write!(text, " ({problem})")?;
        }
        text.push('\n');
    }
    Ok(text)
}

fn name(entry: &Entry<'_>) -> String {
    let head = entry.head();
    let kind = head.kind.name().map_or_else(|| format!("{:?}", head.kind).to_lowercase(), str::to_owned);
    let subtype =
        head.subtype.map_or_else(String::new, |subtype| format!(":{}", subtype.decode().escape_default()));
    kind + &subtype
}
