//! `annals tools`: calls and how they ended.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire::ToWire;
use annals_engine::{Conversation, Engine, Error, TranscriptFile};
use annals_proto::{ToolCall, ToolState};
use annals_transcript::tool;
use jiff::Timestamp;

use crate::args::{Global, ToolSort, Tools};
use crate::commands::{of_project, select};
use crate::failure::{FAILED, FOUND_NOTHING, Failure};
use crate::output::conversation::{self, Detail, Printer, one_line, subject_line};
use crate::output::{self, BOLD, Table};

/// The most columns that the subject of a call takes.
const SUBJECT: usize = 200;

pub(crate) fn run(engine: &Engine, args: &Tools, global: &Global) -> Result<ExitCode, Failure> {
    let (files, unread) = select(engine, args.target.as_deref(), global)?;
    let files = of_project(engine, None, args.here, files)?;
    let files = files.into_iter().enumerate().collect();
    let mut selection = Selection { engine, args, files, failed: unread.is_some() };
    let mut out = output::stdout_for(global.json);
    let limit = args.limit.unwrap_or(usize::MAX);
    let found = match (global.json, args.full, args.sort) {
        (true, _, None) => selection.calls(limit, |found| output::json_line(&mut out, &found.wire))?,
        (true, _, Some(_)) => {
            let mut calls = Vec::new();
            let found = selection.calls(usize::MAX, |found| {
                calls.push((sort_key(&found.wire, args.sort), found.wire));
                Ok(())
            })?;
            sorted(calls, limit).iter().try_for_each(|call| output::json_line(&mut out, call))?;
            found
        }
        (false, true, None) => selection.calls(limit, |found| found.print(&mut out))?,
        (false, true, Some(_)) => selection.print_sorted(&mut out, limit)?,
        (false, false, sort) => {
            // Only what the table shows is kept: arguments may be long.
            let mut rows = Vec::new();
            let most = if sort.is_none() { limit } else { usize::MAX };
            let found = selection.calls(most, |found| {
                rows.push((sort_key(&found.wire, sort), row(&found.wire)));
                Ok(())
            })?;
            if !rows.is_empty() {
                table(&sorted(rows, limit)).print(&mut out)?;
            }
            found
        }
    };
    if found == 0 && !selection.failed {
        output::note("no matching tool calls");
    }
    out.flush()?;
    Ok(match (selection.failed, found) {
        (true, _) => ExitCode::from(FAILED),
        (false, 0) => ExitCode::from(FOUND_NOTHING),
        (false, _) => ExitCode::SUCCESS,
    })
}

/// The calls that the arguments select.
struct Selection<'a> {
    engine: &'a Engine,
    args: &'a Tools,
    /// The transcripts, numbered.
    files: Vec<(usize, TranscriptFile)>,
    /// Whether a file could not be read.
    failed: bool,
}

/// A call, while its transcript is open.
struct FoundCall<'a> {
    /// The number of its transcript, and its place there.
    place: (usize, usize),
    conversation: &'a Conversation<'a>,
    call: &'a tool::Call,
    wire: ToolCall,
}

impl Selection<'_> {
    /// Does some work for each selected call, at most `limit`, in the order of the transcripts. Returns how many there were.
    fn calls(
        &mut self,
        limit: usize,
        mut work: impl FnMut(FoundCall<'_>) -> Result<(), Failure>,
    ) -> Result<usize, Failure> {
        let mut found = 0;
        for (number, file) in &self.files {
            let Some(snapshot) = readable(self.engine.snapshot(file.clone()), &mut self.failed) else {
                continue;
            };
            let Some(conversation) = readable(Conversation::of(&snapshot), &mut self.failed) else {
                continue;
            };
            let to_wire = ToWire::of(&snapshot);
            for (place, call) in conversation.all_calls().into_iter().enumerate() {
                if found == limit {
                    return Ok(found);
                }
                if !is_wanted(&conversation, &call, self.args)? {
                    continue;
                }
                let wire = to_wire.call(&conversation, &call, output::mask::masking())?;
                if self.args.name.as_ref().is_none_or(|name| is_named(&wire, name)) {
                    found += 1;
                    work(FoundCall {
                        place: (*number, place),
                        conversation: &conversation,
                        call: &call,
                        wire,
                    })?;
                }
            }
        }
        Ok(found)
    }

    /// Prints calls in full, in the order that was asked for. Only the calls that are printed are kept in memory, so their transcripts
    /// are read twice.
    fn print_sorted(&mut self, out: &mut impl Write, limit: usize) -> Result<usize, Failure> {
        let mut places = Vec::new();
        let sort = self.args.sort;
        let found = self.calls(usize::MAX, |found| {
            places.push((sort_key(&found.wire, sort), found.place));
            Ok(())
        })?;
        let order = sorted(places, limit);
        let mut printed: HashMap<_, _> = order.iter().map(|place| (*place, Vec::new())).collect();
        let with_calls: HashSet<_> = order.iter().map(|(number, _)| *number).collect();
        self.files.retain(|(number, _)| with_calls.contains(number));
        self.calls(usize::MAX, |found| match printed.get_mut(&found.place) {
            Some(text) => found.print(text),
            None => Ok(()),
        })?;
        order.iter().try_for_each(|place| out.write_all(&printed[place]))?;
        Ok(found)
    }
}

impl FoundCall<'_> {
    fn print(&self, out: &mut impl Write) -> Result<(), Failure> {
        print_in_full(out, self.conversation, self.call, &self.wire)
    }
}

/// Returns whether a call is asked for, as far as that is known before it is read.
fn is_wanted(conversation: &Conversation<'_>, call: &tool::Call, args: &Tools) -> Result<bool, Failure> {
    let time = conversation.session().nodes()[call.node].time();
    let is_in_time = args.since.is_none_or(|since| time.is_some_and(|time| time >= since.as_millisecond()));
    Ok(is_in_time && (!args.errors || conversation.is_failed(call)?))
}

/// What calls are sorted by: only the part that is asked for differs.
type SortKey = (Reverse<Option<String>>, Reverse<Option<u64>>, Option<String>, (bool, &'static str));

fn sort_key(call: &ToolCall, by: Option<ToolSort>) -> SortKey {
    let mut key = (Reverse(None), Reverse(None), None, (false, ""));
    match by {
        None => {}
        // Times are spelled so that they sort like their texts.
        Some(ToolSort::Time) => key.0 = Reverse(call.timestamp.clone()),
        Some(ToolSort::Duration) => key.1 = Reverse(call.duration_ms),
        Some(ToolSort::Tool) => key.2.clone_from(&call.name),
        Some(ToolSort::State) => key.3 = (call.state == ToolState::Ok, call.state.word()),
    }
    key
}

/// Returns the first of what is sorted. What is equal stays in its order.
fn sorted<T>(mut listed: Vec<(SortKey, T)>, limit: usize) -> Vec<T> {
    listed.sort_by(|(one, _), (other, _)| one.cmp(other));
    listed.into_iter().take(limit).map(|(_, item)| item).collect()
}

/// Returns what was read; complains if that failed, so that one file does not end the list.
fn readable<T>(read: Result<T, Error>, failed: &mut bool) -> Option<T> {
    read.inspect_err(|error| {
        output::complain(&error.to_string());
        *failed = true;
    })
    .ok()
}

/// Prints a call with its arguments and its result, below a line that says where it was made.
pub(super) fn print_in_full(
    out: &mut impl Write,
    conversation: &Conversation<'_>,
    call: &tool::Call,
    wire: &ToolCall,
) -> Result<(), Failure> {
    let agent = wire.agent_id.as_ref().map(|agent| format!("agent {agent}"));
    let node = &conversation.session().nodes()[call.node];
    let session = wire.session.as_deref().unwrap_or("-").chars().take(8).collect();
    let parts = [Some(session), agent, node.time().map(output::time_of_ms)];
    let place = parts.into_iter().flatten().collect::<Vec<_>>().join("  ");
    writeln!(out, "\n{BOLD}── {}{BOLD:#}", output::clean(&place))?;
    let detail = Detail {
        subagents: false,
        expand: false,
        thinking: false,
        tools: conversation::Tools::Full,
        ids: false,
        columns: output::prose_columns(),
    };
    let mut printer = Printer::new(out, conversation, detail);
    printer.call_alone(call)?;
    printer.finish()
}

/// Returns whether a call is of a tool, ignoring case.
fn is_named(call: &ToolCall, tool: &str) -> bool {
    call.name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(tool))
}

/// Returns the table of calls. Errors and other files than the subjects have a column only if there are some.
fn table(rows: &[[String; 8]]) -> Table {
    let titles = ["session", "??date", "tool", "~:subject", "state", "?>time", "?~error", "???~other files"];
    let has_values = |column: usize| column < OPTIONAL || rows.iter().any(|row| !row[column].is_empty());
    let shown: Vec<_> = (0..titles.len()).filter(|column| has_values(*column)).collect();
    let mut table = Table::new(&shown.iter().map(|column| titles[*column]).collect::<Vec<_>>());
    for row in rows {
        table.row(&shown.iter().map(|column| row[*column].clone()).collect::<Vec<_>>());
    }
    table
}

/// The columns from this one on are left out if they are empty.
const OPTIONAL: usize = 6;

/// Returns the beginning of the id of the session with a call. A call of a subagent is marked.
fn session(call: &ToolCall) -> String {
    let id: String = call.session.as_deref().unwrap_or("-").chars().take(8).collect();
    if call.agent_id.is_some() { format!("{id} ↳") } else { id }
}

fn row(call: &ToolCall) -> [String; 8] {
    let time = call.timestamp.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
    [
        session(call),
        time.map_or_else(|| "-".to_owned(), |time| output::local_time_of_ms(time.as_millisecond())),
        call.name.clone().unwrap_or_default(),
        subject_line(&call.subject, SUBJECT),
        call.state.to_string(),
        call.duration_ms.map_or_else(|| "-".to_owned(), output::duration),
        call.error.as_deref().map(|error| output::masked_title(error).into_owned()).unwrap_or_default(),
        // The subject of a tool that touches files is most often one of them.
        other_files(call),
    ]
}

/// Returns the files of a call that are not its subject. A name is masked before another one is next to it.
fn other_files(call: &ToolCall) -> String {
    let names = call.files.iter().filter(|file| **file != call.subject).map(|file| output::one_line(file));
    one_line(&names.collect::<Vec<_>>().join(", "), SUBJECT)
}
