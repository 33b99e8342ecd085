//! What one pass over a transcript counts.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;

use annals_transcript::full_view::{Cause, Step};
use annals_transcript::turn::{LONG_PAUSE_MS, Turn};
use rayon::prelude::*;

use crate::check::Checker;
use crate::context::PromptSizes;
use crate::error::Error;
use crate::files::TranscriptFile;
use crate::snapshot::{Conversation, Snapshot};
use crate::stats::Stats;

/// What was counted in one transcript.
#[derive(Clone, Debug)]
pub struct Report {
    /// The transcript.
    pub file: TranscriptFile,
    /// Its counts.
    pub stats: Stats,
}

pub(crate) fn read_all(files: Vec<TranscriptFile>, done: impl Fn(u64) + Sync) -> Vec<Result<Report, Error>> {
    let sized = files.into_iter().enumerate().map(|(place, file)| {
        let size = fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
        (size, place, file)
    });
    let mut queue: Vec<_> = sized.collect();
    queue.sort_by_key(|(size, ..)| Reverse(*size));
    let read = queue.into_par_iter().with_max_len(1).map(|(size, place, file)| {
        let report = read(file);
        done(size);
        (place, report)
    });
    read.collect::<BTreeMap<_, _>>().into_values().collect()
}

pub(crate) fn read(file: TranscriptFile) -> Result<Report, Error> {
    let (mut stats, mut checker) = (Stats::default(), Checker::default());
    let mut prompts = PromptSizes::default();
    let snapshot = Snapshot::take_with(file, |entry, problem, _| {
        stats.add(entry);
        prompts.add(entry);
        checker.add(entry, problem);
    })?;
    stats.finish();
    let conversation = Conversation::of(&snapshot)?;
    let count =
        |wanted: fn(&Step) -> bool| conversation.steps().iter().filter(|step| wanted(step)).count() as u64;
    stats.turns = conversation.turns().len() as u64;
    stats.active_ms = conversation.turns().iter().filter_map(Turn::duration_ms).sum();
    let pauses = conversation.turns().iter().filter_map(|turn| turn.idle_ms);
    stats.idle_pauses = pauses.filter(|idle| *idle >= LONG_PAUSE_MS).count() as u64;
    stats.context = prompts.fill(&conversation);
    stats.branches = count(|step| matches!(step, Step::Branch { cause: Cause::LeftBehind, .. }));
    stats.inline_subagents = count(|step| matches!(step, Step::Branch { cause: Cause::Subagent, .. }));
    stats.gaps = count(|step| matches!(step, Step::Gap { .. }));
    checker.add_duplicates(&snapshot)?;
    checker.add_roots(snapshot.session(), |_| true);
    stats.problems = checker.finish().len() as u64;
    Ok(Report { file: snapshot.file().clone(), stats })
}
