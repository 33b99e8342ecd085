//! What the work of many sessions was: days and hours, tools and how they failed, edited files, commands, agents.
//!
//! Sessions are copied when they are forked and resumed, so turns count once by the uuid that they start with, and calls once by
//! their id, over all transcripts.

mod error_class;
mod file;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use annals_transcript::tool::State;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use rayon::prelude::*;

use crate::error::Error;
use crate::files::TranscriptFile;
use crate::fork::cut_between_words;
use file::{CallFact, FileFacts, TurnFact};

pub use error_class::{ERROR_CLASSES_VERSION, ErrorClass};
pub use file::call_error;
pub(crate) use file::changed_lines_of;

/// Of each class of errors, so many calls are kept as examples: the most recent ones.
const EXAMPLES: usize = 3;
/// Errors of no known class are grouped by their first words, of at most this many characters.
const LONGEST_SIGNATURE: usize = 80;
/// So many of these groups are kept: the most frequent ones.
const SIGNATURES: usize = 20;

/// Which part of the work is looked at, and how its days are counted.
#[derive(Clone, Debug)]
pub struct InsightOptions {
    /// Only what happened at this time or later, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only what happened before this time, in milliseconds since 1970.
    pub until: Option<i64>,
    /// The zone whose days and hours are counted.
    pub zone: TimeZone,
}

impl InsightOptions {
    fn has(&self, time: Option<i64>) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        time.is_some_and(|time| {
            self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time < until)
        })
    }

    fn local(&self, time: i64) -> Option<Zoned> {
        Some(Timestamp::from_millisecond(time).ok()?.to_zoned(self.zone.clone()))
    }
}

/// What the work of some sessions was.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Insight {
    /// Sessions with at least one turn or call.
    pub sessions: u64,
    /// Turns of sessions; those of subagents do not count.
    pub turns: u64,
    /// How long they were worked on: the time between their entries, without pauses of more than half an hour.
    pub active_ms: u64,
    /// By day.
    pub days: BTreeMap<Date, DayWork>,
    /// How many turns started, by weekday from Monday and by hour.
    pub hours: [[u64; 24]; 7],
    /// By tool.
    pub tools: BTreeMap<String, ToolWork>,
    /// Calls that failed or were stopped by class, the most frequent first.
    pub errors: Vec<ErrorCount>,
    /// By file that was edited.
    pub files: BTreeMap<String, FileWork>,
    /// Turns by the branch that was checked out.
    pub branches: BTreeMap<String, u64>,
    /// Slash commands.
    pub commands: BTreeMap<String, u64>,
    /// Skills that the model used.
    pub skills: BTreeMap<String, u64>,
    /// Subagents that were started, by type.
    pub agents: BTreeMap<String, u64>,
    /// Calls by MCP server.
    pub mcp_servers: BTreeMap<String, u64>,
}

/// The work of a day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DayWork {
    /// Sessions in which a turn started.
    pub sessions: u64,
    /// Turns that started.
    pub turns: u64,
    /// How long these turns were worked on.
    pub active_ms: u64,
}

/// Calls of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolWork {
    /// How often it was called.
    pub calls: u64,
    /// How many calls failed.
    pub errors: u64,
    /// How many calls were denied, interrupted or cancelled.
    pub stopped: u64,
    /// The time that the calls with a known duration took together.
    pub total_ms: u64,
    /// How many calls have a known duration.
    pub timed: u64,
}

/// Calls that failed or were stopped, of a class.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ErrorCount {
    /// The class.
    pub class: ErrorClass,
    /// How many calls failed in this way.
    pub count: u64,
    /// Some of the most recent ones.
    pub examples: Vec<ErrorExample>,
    /// Errors of no known class by their first words, the most frequent first.
    pub signatures: Vec<(String, u64)>,
}

/// A failed call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ErrorExample {
    /// The transcript.
    pub file: TranscriptFile,
    /// The entry that made the call.
    pub uuid: Option<String>,
    /// The tool.
    pub tool: String,
    /// When, in milliseconds since 1970.
    pub time: Option<i64>,
    /// The first line of the error.
    pub text: String,
}

/// Edits of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileWork {
    /// Calls that changed it.
    pub edits: u64,
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
    /// Sessions that changed it.
    pub sessions: u64,
}

/// Reads transcripts and adds up what they tell. Transcripts that cannot be read are errors of their own. `done` is called with the
/// size of each transcript after it was read, and may end the reading: then the rest is left out.
pub(crate) fn insight(
    files: Vec<TranscriptFile>,
    options: &InsightOptions,
    done: impl Fn(u64) -> ControlFlow<()> + Sync,
) -> (Insight, Vec<Error>) {
    let is_ended = AtomicBool::new(false);
    let read = files.into_par_iter().with_max_len(1).filter_map(|file| {
        if is_ended.load(Ordering::Relaxed) {
            return None;
        }
        let size = fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
        let facts = FileFacts::read(file);
        if done(size).is_break() {
            is_ended.store(true, Ordering::Relaxed);
        }
        Some(facts)
    });
    let (mut merger, mut errors) = (Merger::new(options), Vec::new());
    let mut all = Vec::new();
    for facts in read.collect::<Vec<_>>() {
        match facts {
            Ok(facts) => all.push(facts),
            Err(error) => errors.push(error),
        }
    }
    // Which of several copies counts must not depend on the order in which the files were found.
    all.sort_by(|one, other| (one.first_time, &one.file.path).cmp(&(other.first_time, &other.file.path)));
    for facts in all {
        merger.add(facts);
    }
    (merger.finish(), errors)
}

/// Adds up what files tell.
struct Merger<'a> {
    options: &'a InsightOptions,
    insight: Insight,
    turns: HashSet<String>,
    calls: HashSet<String>,
    sessions: HashSet<String>,
    day_sessions: HashSet<(Date, String)>,
    file_sessions: HashSet<(String, String)>,
    errors: BTreeMap<ErrorClass, ErrorCount>,
    signatures: BTreeMap<String, u64>,
}

impl<'a> Merger<'a> {
    fn new(options: &'a InsightOptions) -> Self {
        Self {
            options,
            insight: Insight::default(),
            turns: HashSet::new(),
            calls: HashSet::new(),
            sessions: HashSet::new(),
            day_sessions: HashSet::new(),
            file_sessions: HashSet::new(),
            errors: BTreeMap::new(),
            signatures: BTreeMap::new(),
        }
    }

    fn add(&mut self, facts: FileFacts) {
        let session = facts.file.session.clone().unwrap_or_else(|| facts.file.path.display().to_string());
        let mut found = false;
        // The turns of a subagent are part of the turn that started it.
        for turn in facts.turns.iter().filter(|_| facts.file.agent.is_none()) {
            found |= self.add_turn(turn, &session);
        }
        for call in facts.calls {
            found |= self.add_call(call, &facts.file, &session);
        }
        self.insight.sessions += u64::from(found && self.sessions.insert(session));
    }

    fn add_turn(&mut self, turn: &TurnFact, session: &str) -> bool {
        let is_new = turn.uuid.as_ref().is_none_or(|uuid| self.turns.insert(uuid.clone()));
        if !is_new || !self.options.has(turn.time) {
            return false;
        }
        let insight = &mut self.insight;
        insight.turns += 1;
        insight.active_ms += turn.active_ms;
        for (counts, name) in [(&mut insight.branches, &turn.branch), (&mut insight.commands, &turn.command)]
        {
            if let Some(name) = name {
                *counts.entry(name.clone()).or_default() += 1;
            }
        }
        let Some(local) = turn.time.and_then(|time| self.options.local(time)) else { return true };
        let weekday = usize::try_from(local.weekday().to_monday_zero_offset()).unwrap_or(0);
        insight.hours[weekday][usize::try_from(local.hour()).unwrap_or(0)] += 1;
        let day = insight.days.entry(local.date()).or_default();
        day.turns += 1;
        day.active_ms += turn.active_ms;
        day.sessions += u64::from(self.day_sessions.insert((local.date(), session.to_owned())));
        true
    }

    fn add_call(&mut self, call: CallFact, file: &TranscriptFile, session: &str) -> bool {
        let is_new = call.id.as_ref().is_none_or(|id| self.calls.insert(id.clone()));
        if !is_new || !self.options.has(call.time) {
            return false;
        }
        let insight = &mut self.insight;
        for (counts, name) in [
            (&mut insight.skills, &call.skill),
            (&mut insight.agents, &call.agent_type),
            (&mut insight.mcp_servers, &call.mcp_server()),
        ] {
            if let Some(name) = name {
                *counts.entry(name.clone()).or_default() += 1;
            }
        }
        let tool = insight.tools.entry(call.name.clone()).or_default();
        tool.calls += 1;
        tool.total_ms += call.duration_ms.unwrap_or(0);
        tool.timed += u64::from(call.duration_ms.is_some());
        match call.state {
            State::Error => tool.errors += 1,
            State::Denied | State::Interrupted | State::Cancelled => tool.stopped += 1,
            State::Ok | State::Pending => {}
        }
        if let Some(path) = &call.changed_file
            && call.state == State::Ok
        {
            let work = insight.files.entry(path.clone()).or_default();
            work.edits += 1;
            work.added += call.added;
            work.removed += call.removed;
            work.sessions += u64::from(self.file_sessions.insert((path.clone(), session.to_owned())));
        }
        if let Some((class, text)) = call.error {
            if class == ErrorClass::Other {
                let signature = cut_between_words(&text, LONGEST_SIGNATURE, false);
                *self.signatures.entry(signature).or_default() += 1;
            }
            let error = self.errors.entry(class).or_insert_with(|| ErrorCount {
                class,
                count: 0,
                examples: Vec::new(),
                signatures: Vec::new(),
            });
            error.count += 1;
            error.examples.push(ErrorExample {
                file: file.clone(),
                uuid: call.uuid,
                tool: call.name,
                time: call.time,
                text,
            });
            if error.examples.len() > EXAMPLES {
                error.examples.sort_by_key(|example| std::cmp::Reverse(example.time));
                error.examples.truncate(EXAMPLES);
            }
        }
        true
    }

    fn finish(mut self) -> Insight {
        let mut signatures: Vec<_> = self.signatures.into_iter().collect();
        signatures.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        signatures.truncate(SIGNATURES);
        if let Some(other) = self.errors.get_mut(&ErrorClass::Other) {
            other.signatures = signatures;
        }
        let mut errors: Vec<_> = self.errors.into_values().collect();
        for error in &mut errors {
            error.examples.sort_by_key(|example| std::cmp::Reverse(example.time));
        }
        errors.sort_by_key(|error| std::cmp::Reverse(error.count));
        self.insight.errors = errors;
        self.insight
    }
}

#[cfg(test)]
mod tests;
