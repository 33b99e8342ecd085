//! `annals tools`: calls and how they ended.

use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire::ToWire;
use annals_engine::{Conversation, Engine, Error};
use annals_proto::ToolCall;
use annals_transcript::tool;

use crate::args::{Global, Tools};
use crate::commands::select;
use crate::failure::{FAILED, FOUND_NOTHING, Failure};
use crate::output::conversation::{self, Detail, Printer, one_line, subject_line};
use crate::output::{self, BOLD, Table};

/// The most columns that the subject of a call takes.
const SUBJECT: usize = 200;

pub(crate) fn run(engine: &Engine, args: &Tools, global: &Global) -> Result<ExitCode, Failure> {
    let (files, unread) = select(engine, args.target.as_deref(), global)?;
    let mut out = output::stdout_for(global.json);
    let mut rows = Vec::new();
    let (mut found, mut failed) = (false, unread.is_some());
    for file in files {
        let Some(snapshot) = readable(engine.snapshot(file), &mut failed) else { continue };
        let Some(conversation) = readable(Conversation::of(&snapshot), &mut failed) else { continue };
        let to_wire = ToWire::of(&snapshot);
        for found_call in conversation.all_calls() {
            if args.errors && !conversation.is_failed(&found_call)? {
                continue;
            }
            let call = to_wire.call(&conversation, &found_call, output::mask::masking())?;
            if args.name.as_ref().is_some_and(|name| !is_named(&call, name)) {
                continue;
            }
            found = true;
            if global.json {
                output::json_line(&mut out, &call)?;
            } else if args.full {
                print_in_full(&mut out, &conversation, &found_call, &call)?;
            } else {
                rows.push(row(&call));
            }
        }
    }
    if !rows.is_empty() {
        table(&rows).print(&mut out)?;
    } else if !found && !failed {
        output::note("no matching tool calls");
    }
    out.flush()?;
    Ok(match (failed, found) {
        (true, _) => ExitCode::from(FAILED),
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(FOUND_NOTHING),
    })
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
fn print_in_full(
    out: &mut impl Write,
    conversation: &Conversation<'_>,
    call: &tool::Call,
    wire: &ToolCall,
) -> Result<(), Failure> {
    let agent = wire.agent_id.as_ref().map(|agent| format!("agent {agent}"));
    let node = &conversation.session().nodes()[call.node];
    let parts = [Some(session(wire)), agent, node.time.map(output::time_of_ms)];
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

/// Returns the table of calls. Other files than the subjects have a column only if there are some.
fn table(rows: &[[String; 6]]) -> Table {
    let titles = ["session", "tool", "~:subject", "state", "?>time", "???~other files"];
    let has_files = rows.iter().any(|[.., files]| !files.is_empty());
    let shown = if has_files { titles.len() } else { titles.len() - 1 };
    let mut table = Table::new(&titles[..shown]);
    for row in rows {
        table.row(&row[..shown]);
    }
    table
}

/// Returns the beginning of the id of the session with a call.
fn session(call: &ToolCall) -> String {
    call.session.as_deref().unwrap_or("-").chars().take(8).collect()
}

fn row(call: &ToolCall) -> [String; 6] {
    [
        session(call),
        call.name.clone().unwrap_or_default(),
        subject_line(&call.subject, SUBJECT),
        call.state.to_string(),
        call.duration_ms.map_or_else(|| "-".to_owned(), output::duration),
        // The subject of a tool that touches files is most often one of them.
        one_line(
            &call.files.iter().filter(|file| **file != call.subject).cloned().collect::<Vec<_>>().join(", "),
            SUBJECT,
        ),
    ]
}
