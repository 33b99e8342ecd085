//! `annals insight`: what the work of many sessions was.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{Engine, ErrorCount, Insight, InsightOptions, TranscriptFile};
use annals_usage::{By, Report, ReportOptions, ReportRow};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::args::{self, Global};
use crate::commands::{of_project, select, usage};
use crate::failure::{FAILED, FOUND_NOTHING, Failure};
use crate::output::{self, DIM, GREEN, Table};

/// So many rows of each table are printed; `--json` has all of them.
const ROWS: usize = 12;
/// So many days are printed, the most recent ones.
const DAYS: usize = 14;
/// From no turn to the most turns of an hour.
const SHADES: [&str; 5] = ["·", "░", "▒", "▓", "█"];
/// The hours above the map, two columns each.
const HOURS: &str = "0     3     6     9     12    15    18    21";
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

pub(crate) fn run(engine: &Engine, args: &args::Insight, global: &Global) -> Result<ExitCode, Failure> {
    let Work { files, sessions, is_everything, unread } = work(engine, args, global)?;
    let options = InsightOptions {
        since: args.since.map(Timestamp::as_millisecond),
        until: args.until.map(Timestamp::as_millisecond),
        zone: TimeZone::system(),
    };
    let usage = if is_everything { engine.usage() } else { engine.usage_of(&files) };
    let report = Report::new(
        &usage.ledger,
        &engine.prices()?,
        &ReportOptions {
            by: By::Model,
            since: options.since,
            until: options.until,
            sessions,
            ..ReportOptions::default()
        },
    );
    let progress = output::Progress::over(&files);
    let (insight, errors) = engine.insight(files, &options, |bytes| {
        progress.add(bytes);
        ControlFlow::Continue(())
    });
    progress.finish();
    let problems: Vec<_> =
        errors.iter().chain(&usage.errors).chain(&usage.store_error).map(ToString::to_string).collect();
    for problem in &problems {
        output::complain(problem);
    }
    let has_failed = unread.is_some() || !problems.is_empty();
    let is_empty = insight.sessions == 0;
    let mut out = output::stdout_for(global.json);
    if global.json {
        let insight = to_wire::insight(insight, &report, output::zone(), usize::MAX, problems);
        output::json_line(&mut out, &insight)?;
    } else if is_empty {
        output::note("no turns and no tool calls");
    } else {
        print(&mut out, &insight, &report, &usage::labelled_cost(engine, &report.total.cells))?;
    }
    out.flush()?;
    Ok(match (has_failed, is_empty) {
        (true, _) => ExitCode::from(FAILED),
        (false, true) => ExitCode::from(FOUND_NOTHING),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// The work that is looked at.
struct Work {
    files: Vec<TranscriptFile>,
    /// The sessions whose tokens count; `None` for all that are counted.
    sessions: Option<HashSet<String>>,
    /// Whether tokens are those of all sessions as they are kept; otherwise those of the files alone.
    is_everything: bool,
    /// The exit code, if a folder could not be read.
    unread: Option<u8>,
}

/// Returns the transcripts that are asked for. A session has its subagents with it.
fn work(engine: &Engine, args: &args::Insight, global: &Global) -> Result<Work, Failure> {
    let (files, unread) = select(engine, args.target.as_deref(), global)?;
    let Some(target) = &args.target else {
        let files = of_project(engine, args.project.clone(), args.here, files)?;
        let is_all = args.project.is_none() && !args.here;
        let sessions = (!is_all).then(|| files.iter().filter_map(|file| file.session.clone()).collect());
        return Ok(Work { files, sessions, is_everything: true, unread });
    };
    match &files[..] {
        [TranscriptFile { session: Some(session), agent: None, .. }] if !Path::new(target).exists() => {
            let sessions = Some(HashSet::from([session.clone()]));
            let found = engine.with_subagents(files[0].clone());
            for error in &found.errors {
                output::complain(&error.to_string());
            }
            let unread = unread.or((!found.errors.is_empty()).then_some(FAILED));
            Ok(Work { files: found.files, sessions, is_everything: true, unread })
        }
        _ => Ok(Work { files, sessions: None, is_everything: false, unread }),
    }
}

fn print(out: &mut impl Write, insight: &Insight, usage: &Report, cost: &str) -> Result<(), Failure> {
    let sessions = output::count(usize::try_from(insight.sessions).unwrap_or(usize::MAX), "session");
    let turns = output::count(usize::try_from(insight.turns).unwrap_or(usize::MAX), "turn");
    output::heading(out, &format!("{sessions}, {turns}, {} of work", output::duration(insight.active_ms)))?;
    print_usage(out, &usage.total, cost)?;
    print_days(out, insight)?;
    print_hours(out, &insight.hours)?;
    print_models(out, usage)?;
    print_tools(out, insight)?;
    print_errors(out, &insight.errors)?;
    print_files(out, insight)?;
    let counts = [
        ("branch", "turns", &insight.branches),
        ("command", "turns", &insight.commands),
        ("skill", "calls", &insight.skills),
        ("agent type", "started", &insight.agents),
        ("MCP server", "calls", &insight.mcp_servers),
    ];
    for (name, unit, counts) in counts {
        print_counts(out, name, unit, counts)?;
    }
    Ok(())
}

/// Prints how many tokens were used, and which part of the prompts came from the cache.
fn print_usage(out: &mut impl Write, total: &ReportRow, cost: &str) -> Result<(), Failure> {
    if total.cells.replies == 0 {
        return Ok(());
    }
    let tokens = output::number(total.cells.tokens.total());
    let cached = to_wire::cache_hit_percent(&total.cells.tokens)
        .map(|percent| format!("; {percent:.0} % of the prompts were read from the cache"))
        .unwrap_or_default();
    output::paragraph(out, &format!("{tokens} tokens, {cost}{cached}"))
}

fn print_models(out: &mut impl Write, usage: &Report) -> Result<(), Failure> {
    let models = &usage.total.models;
    let mut table = Table::new(&["model", ">replies", "?>output", ">tokens", "?>from cache", ">cost"]);
    for model in models.iter().take(ROWS) {
        let cached = to_wire::cache_hit_percent(&model.cells.tokens);
        table.row(&[
            usage::model_name(&model.name),
            output::number(model.cells.replies),
            output::number(model.cells.tokens.output),
            output::number(model.cells.tokens.total()),
            cached.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.0} %")),
            usage::cost(&model.cells),
        ]);
    }
    print_table(out, &table, models.len(), ROWS)
}

fn print_days(out: &mut impl Write, insight: &Insight) -> Result<(), Failure> {
    let most = insight.days.values().map(|day| day.turns).max().unwrap_or(1);
    let day = format!("day ({})", output::zone());
    let mut table = Table::new(&[&day, ">sessions", ">turns", ">time", "?turns per day"]);
    for (date, work) in insight.days.iter().rev().take(DAYS).collect::<Vec<_>>().into_iter().rev() {
        table.row(&[
            date.to_string(),
            output::number(work.sessions),
            output::number(work.turns),
            output::duration(work.active_ms),
            bar(work.turns, most),
        ]);
    }
    print_table(out, &table, insight.days.len(), DAYS)
}

/// Returns a bar of at most 20 columns.
fn bar(count: u64, most: u64) -> String {
    let length = (count * 20).div_ceil(most.max(1));
    "█".repeat(usize::try_from(length).unwrap_or(0))
}

/// Prints when turns started: a row for each weekday, two columns for each hour.
fn print_hours(out: &mut impl Write, hours: &[[u64; 24]; 7]) -> Result<(), Failure> {
    let most = hours.iter().flatten().copied().max().unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    writeln!(out, "\nturns by hour")?;
    writeln!(out, "     {HOURS}")?;
    for (name, hours) in WEEKDAYS.iter().zip(hours) {
        let cells: Vec<_> = hours.iter().map(|count| cell(*count, most)).collect();
        writeln!(out, "{name}  {}", cells.join(" "))?;
    }
    Ok(())
}

/// Returns the shade of a number of turns.
fn cell(count: u64, most: u64) -> String {
    let shade = usize::try_from((count * 4).div_ceil(most.max(1))).unwrap_or(4).min(4);
    let style = if shade == 0 { DIM } else { GREEN };
    format!("{style}{}{style:#}", SHADES[shade])
}

fn print_tools(out: &mut impl Write, insight: &Insight) -> Result<(), Failure> {
    let mut tools: Vec<_> = insight.tools.iter().collect();
    tools.sort_by_key(|(_, work)| Reverse(work.calls));
    let mut table = Table::new(&["tool", ">calls", ">failed", ">rate", "?>stopped", "?>mean time"]);
    for (name, work) in tools.iter().take(ROWS) {
        table.row(&[
            (*name).clone(),
            output::number(work.calls),
            output::number(work.errors),
            percent(work.errors, work.calls),
            output::number(work.stopped),
            work.total_ms.checked_div(work.timed).map_or_else(|| "-".to_owned(), output::duration),
        ]);
    }
    print_table(out, &table, tools.len(), ROWS)
}

fn percent(part: u64, whole: u64) -> String {
    let tenths = (part * 1000 + whole / 2) / whole.max(1);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Prints failed calls by class, each with the command that opens the most recent one.
fn print_errors(out: &mut impl Write, errors: &[ErrorCount]) -> Result<(), Failure> {
    let mut table = Table::new(&["failed because", ">calls", "~most recent", "??opens it"]);
    for error in errors.iter().take(ROWS) {
        let example = error.examples.first();
        let opens = example.and_then(|example| {
            let name = example.file.agent.as_ref().or(example.file.session.as_ref())?;
            let uuid: String = example.uuid.as_ref()?.chars().take(8).collect();
            let name: String = name.chars().take(8).collect();
            Some(output::command(&format!("annals show {name} --at {uuid}")))
        });
        table.row(&[
            error.class.name().replace('_', " "),
            output::number(error.count),
            example
                .map(|example| format!("{}: {}", example.tool, output::masked_title(&example.text)))
                .unwrap_or_default(),
            opens.unwrap_or_default(),
        ]);
    }
    print_table(out, &table, errors.len(), ROWS)?;
    let signatures: Vec<_> = errors.iter().flat_map(|error| &error.signatures).collect();
    let repeated: Vec<_> = signatures.into_iter().filter(|(_, count)| *count > 1).collect();
    let mut table = Table::new(&["~other errors that were repeated", ">calls"]);
    for (text, count) in repeated.iter().take(ROWS) {
        table.row(&[output::masked_title(text).into_owned(), output::number(*count)]);
    }
    print_table(out, &table, repeated.len(), ROWS)
}

fn print_files(out: &mut impl Write, insight: &Insight) -> Result<(), Failure> {
    let mut files: Vec<_> = insight.files.iter().collect();
    files.sort_by_key(|(_, work)| Reverse(work.edits));
    let mut table = Table::new(&["~/edited file", ">edits", ">lines +", ">lines -", "?>sessions"]);
    for (path, work) in files.iter().take(ROWS) {
        table.row(&[
            (*path).clone(),
            output::number(work.edits),
            output::number(work.added),
            output::number(work.removed),
            output::number(work.sessions),
        ]);
    }
    print_table(out, &table, files.len(), ROWS)
}

fn print_counts(
    out: &mut impl Write,
    name: &str,
    unit: &str,
    counts: &BTreeMap<String, u64>,
) -> Result<(), Failure> {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| Reverse(**count));
    let mut table = Table::new(&[&format!("~{name}"), &format!(">{unit}")]);
    for (name, count) in sorted.iter().take(ROWS) {
        table.row(&[(*name).clone(), output::number(**count)]);
    }
    print_table(out, &table, sorted.len(), ROWS)
}

/// Prints a table that is not empty behind a blank line, and how many rows are not shown.
fn print_table(out: &mut impl Write, table: &Table, rows: usize, shown: usize) -> Result<(), Failure> {
    if table.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    table.print(out)?;
    if rows > shown {
        writeln!(out, "{DIM}{} more; `--json` has all{DIM:#}", output::number((rows - shown) as u64))?;
    }
    Ok(())
}
