//! What is wrong with a session, what the consequences are, and what helps.
//!
//! `lines.rs` looks at each line while the file is read once. `conversation.rs` reports what Claude Code would lose, which it learns from
//! the analysis that a repair works with, and `remedy.rs` whether a repair helps. `surroundings.rs` looks at the file itself and at what lies beside it, and `cleanup.rs` at what
//! Claude Code will delete.

mod cleanup;
mod conversation;
mod issue;
mod lines;
mod remedy;
mod surroundings;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::mpsc;

use annals_transcript::session::BlockSpan;
use annals_transcript::{Entry, Problem};
use jiff::Timestamp;
use rayon::prelude::*;

use crate::analysis::Analysis;
use crate::analysis::graph::Places;
use crate::engine::Engine;
use crate::error::Error;
use crate::files::TranscriptFile;
use crate::repair::EarlierRepairs;
use crate::request_rules::FileVerdicts;
use crate::snapshot::Snapshot;

pub use issue::{BrokenLink, Issue, Severity, Unlisted};
pub use lines::Checker;
pub use remedy::Remedy;

/// An issue of a transcript, with the lines that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, or the first of several lines, counted from 1; `None` for the file as a whole.
    pub line: Option<u64>,
    /// How many lines in a row have the issue.
    pub lines: u64,
    /// How many bytes are affected.
    pub bytes: u64,
    /// The issue.
    pub issue: Issue,
    /// What can be done about it.
    pub remedy: Remedy,
}

impl Finding {
    fn of_file(issue: Issue) -> Self {
        Self { line: None, lines: 0, bytes: 0, issue, remedy: Remedy::OfIssue }
    }

    fn at(line: u64, issue: Issue) -> Self {
        Self::of_lines(line, 1, 0, issue)
    }

    fn of_lines(line: u64, lines: u64, bytes: u64, issue: Issue) -> Self {
        Self { line: Some(line), lines, bytes, issue, remedy: Remedy::OfIssue }
    }
}

/// What was found in one transcript.
#[derive(Clone, Debug)]
pub struct CheckedFile {
    /// The transcript.
    pub file: TranscriptFile,
    /// What is wrong with it, in the order of lines; what concerns the whole file comes last.
    pub findings: Vec<Finding>,
}

/// What was found about a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderFinding {
    /// The folder.
    pub path: PathBuf,
    /// The issue.
    pub issue: Issue,
}

/// Checks one transcript. `is_alone` is false if it is checked together with all others: what nearly all of them have is then reported for
/// the config folder as a whole.
pub(crate) fn check(engine: &Engine, file: TranscriptFile, is_alone: bool) -> Result<CheckedFile, Error> {
    let mut lines = LinePass::default();
    let snapshot = Snapshot::take_with(file, |entry, problem, blocks| lines.add(entry, problem, blocks))?;
    finish(engine, &snapshot, lines, is_alone)
}

/// Does the same for callers that are not trusted with paths.
pub(crate) fn check_inside(engine: &Engine, file: TranscriptFile) -> Result<CheckedFile, Error> {
    let mut lines = LinePass::default();
    let guard = engine.symlink_guard();
    let snapshot = Snapshot::take_inside_with(file, &guard, |entry, problem, blocks| {
        lines.add(entry, problem, blocks);
    })?;
    finish(engine, &snapshot, lines, true)
}

/// Checks transcripts on all cores, and hands over each result as soon as it and all before it are there.
pub(crate) fn check_all(
    engine: &Engine,
    files: Vec<TranscriptFile>,
    is_alone: bool,
    mut each: impl FnMut(Result<CheckedFile, Error>),
) {
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let files = files.into_iter().enumerate().par_bridge();
            files.for_each_with(sender, |sender, (index, file)| {
                // Nobody waits for the result any more if the receiver is gone.
                let _ = sender.send((index, check(engine, file, is_alone)));
            });
        });
        let mut waiting = std::collections::BTreeMap::new();
        let mut next = 0;
        for (index, checked) in receiver {
            waiting.insert(index, checked);
            while let Some(checked) = waiting.remove(&next) {
                each(checked);
                next += 1;
            }
        }
    });
}

/// Returns what is wrong with the config folders: what concerns many sessions.
pub(crate) fn check_folders(engine: &Engine) -> Vec<FolderFinding> {
    let now = Timestamp::now();
    let mut found = surroundings::shared_folders(engine);
    for root in engine.root_folders() {
        found.extend(surroundings::open_to_others(root));
        found.extend(cleanup::next_of(root, now));
    }
    found
}

/// What one pass over the lines of a transcript finds.
#[derive(Default)]
struct LinePass {
    checker: Checker,
    surroundings: surroundings::Signs,
    verdicts: FileVerdicts,
}

impl LinePass {
    fn add(&mut self, entry: &Entry<'_>, problem: Option<Problem>, blocks: &[BlockSpan]) {
        let is_utf8 = self.checker.add(entry, problem);
        self.surroundings.add(entry, problem);
        for block in blocks {
            // Blocks lie inside of their entry.
            let start = usize::try_from(block.offset - entry.at().offset).unwrap_or(usize::MAX);
            let length = usize::try_from(block.length).unwrap_or(usize::MAX);
            let bytes = &entry.bytes()[start..start + length];
            self.verdicts.add(entry.kind(), block, bytes, is_utf8 && problem.is_none());
        }
    }
}

fn finish(
    engine: &Engine,
    snapshot: &Snapshot,
    mut lines: LinePass,
    is_alone: bool,
) -> Result<CheckedFile, Error> {
    let (file, session) = (snapshot.file(), snapshot.session());
    let repairs = EarlierRepairs::of(engine, file);
    lines.checker.add_duplicates(snapshot)?;
    let mut findings = Vec::new();
    let analysis = Analysis::of(session, &Places::new(), None).filter(|_| file.agent.is_none());
    let evaluation = if let Some(analysis) = &analysis {
        lines.checker.add_roots(session, |kind| !kind.continues());
        let evaluation = conversation::evaluation(analysis, snapshot, &lines.verdicts)?;
        findings.extend(conversation::findings(analysis, &evaluation));
        Some(evaluation)
    } else {
        lines.checker.add_roots(session, |_| true);
        None
    };
    let length = lines.checker.length();
    let of_lines = lines.checker.finish_after(session, &repairs);
    // The analysis knows what a message without a parent continues.
    let analysed = analysis.is_some().then_some(Issue::MissingField("parentUuid"));
    findings.extend(of_lines.into_iter().filter(|finding| analysed.as_ref() != Some(&finding.issue)));
    findings.extend(lines.surroundings.finish(snapshot));
    let known = analysis.as_ref().zip(evaluation.as_ref());
    remedy::note(&mut findings, snapshot, length, &lines.verdicts, known)?;
    findings.sort_by_key(|finding| finding.line.unwrap_or(u64::MAX));
    if is_alone {
        findings.extend(cleanup::of_session(file, Timestamp::now()));
    }
    Ok(CheckedFile { file: file.clone(), findings })
}
