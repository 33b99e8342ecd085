//! `cargo x corpus`: compares what annals makes of each case in `corpus/` with the expected result beside the case.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use annals_transcript::conversation::{Conversation, TranscriptBytes};
use annals_transcript::full_view::Step;
use annals_transcript::session::Node;
use annals_transcript::turn::Turn;
use annals_transcript::{Entry, Reader};

use crate::{Outcome, files_below, project};

pub(crate) fn run(update: bool) -> Outcome {
    let mut stale = Vec::new();
    let mut answers = 0;
    for session in files_below("corpus")?.iter().filter(|path| is_case(path)) {
        let mut found = vec![("entries.txt", entries(session)?)];
        if shows_history(session) {
            found.push(("history.txt", history(session)?));
        }
        answers += found.len();
        for (name, found) in found {
            let answer = session.with_file_name(name);
            if fs::read_to_string(&answer).unwrap_or_default() == found {
                continue;
            }
            if update {
                fs::write(&answer, found)?;
            }
            stale.push(answer.strip_prefix(project())?.display().to_string());
        }
    }
    if answers == 0 {
        return Err("there are no cases in corpus/".into());
    }
    match (stale.len(), update) {
        (0, _) => println!("{answers} answers, all as expected"),
        (changed, true) => println!("{changed} of {answers} answers written"),
        (_, false) => {
            return Err(format!("not as expected: {}; see `cargo x corpus --help`", stale.join(", ")).into());
        }
    }
    Ok(())
}

/// The oracle's cases are left out: they have answers of Claude Code, which a test compares.
fn is_case(path: &Path) -> bool {
    path.ends_with("session.jsonl") && !path.components().any(|part| part.as_os_str() == "oracle")
}

/// The names of cases of the full view begin with `history-`.
fn shows_history(session: &Path) -> bool {
    let case = session.parent().and_then(Path::file_name);
    case.is_some_and(|case| case.to_string_lossy().starts_with("history-"))
}

/// Lists the steps of the full view and the turns.
fn history(path: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let transcript = TranscriptBytes::new(fs::read(path)?);
    let conversation = Conversation::of(&transcript)?;
    let (session, duplicates) = (conversation.session(), conversation.duplicates());
    let mut text = String::new();
    for step in conversation.steps() {
        match *step {
            Step::Entry { node, live } => {
                let Node { at, kind, .. } = &session.nodes()[node];
                let live = if live { "live" } else { "not live" };
                write!(text, "line {}: {}, {live}", at.line, kind.name().unwrap_or("other"))?;
                for other in duplicates.others(node) {
                    write!(text, ", also line {}", session.nodes()[other].at.line)?;
                }
                text.push('\n');
            }
            Step::Branch { cause, entries, .. } => writeln!(text, "branch ({cause:?}), entries: {entries}")?,
            Step::Gap { .. } => text.push_str("gap\n"),
            Step::Root { kind, .. } => writeln!(text, "root: {}", kind.name())?,
        }
    }
    for Turn { number, kind, messages, tool_calls, prompt, .. } in conversation.turns() {
        let prompt = prompt.lines().next().unwrap_or_default();
        writeln!(
            text,
            "turn {number}: {}, messages: {messages}, calls: {tool_calls}, {prompt:?}",
            kind.name()
        )?;
    }
    Ok(text)
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
