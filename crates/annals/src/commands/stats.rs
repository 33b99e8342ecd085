//! `annals stats`: what sessions are made of.

use std::io::Write;
use std::process::ExitCode;

use annals_engine::{Engine, Report, Stats};

use crate::args;
use crate::commands::{read_all, select};
use crate::failure::Failure;
use crate::output::{self, Table};
use crate::to_wire;

pub(crate) fn run(engine: &Engine, args: &args::Stats, global: &args::Global) -> Result<ExitCode, Failure> {
    let files = select(engine, args.target.as_deref())?;
    let (reports, code) = read_all(engine, files);
    let mut out = output::stdout();
    if global.json {
        for report in &reports {
            output::json_line(&mut out, &to_wire::stats(report))?;
        }
    } else {
        match &reports[..] {
            [] => {}
            [report] => print_one(&mut out, report)?,
            reports => print_many(&mut out, reports)?,
        }
    }
    out.flush()?;
    Ok(code.map_or(ExitCode::SUCCESS, ExitCode::from))
}

fn print_one(out: &mut impl Write, report: &Report) -> Result<(), Failure> {
    output::heading(out, &report.file.path.to_string_lossy())?;
    let subagents = report.file.subagents();
    print_counts(out, &report.stats, subagents)
}

fn print_many(out: &mut impl Write, reports: &[Report]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        "session",
        "subagent",
        ">lines",
        ">size",
        ">replies",
        ">calls",
        ">errors",
        ">problems",
        "last active",
    ]);
    let mut total = Stats::default();
    for report in reports {
        let stats = &report.stats;
        let name =
            report.file.session.as_deref().map_or_else(|| unnamed(report), |id| id.chars().take(8).collect());
        let agent = report.file.agent.clone().unwrap_or_default();
        table.row(&[
            name,
            agent,
            output::number(stats.lines),
            output::size(stats.bytes),
            output::number(stats.models.values().sum()),
            output::number(stats.tools.values().map(|tool| tool.calls).sum()),
            output::number(stats.tools.values().map(|tool| tool.errors).sum()),
            output::number(stats.problems),
            stats.last_at.map_or_else(|| "-".to_owned(), output::time),
        ]);
        total.merge(stats);
    }
    table.print(out)?;
    writeln!(out)?;
    let agents = reports.iter().filter(|report| report.file.agent.is_some()).count();
    let sessions = reports.len() - agents;
    output::heading(
        out,
        &format!(
            "{} and {} of subagents",
            output::count(sessions, "session"),
            output::count(agents, "transcript")
        ),
    )?;
    print_counts(out, &total, agents as u64)
}

/// Returns what to call a transcript whose place does not tell its session.
fn unnamed(report: &Report) -> String {
    if report.file.agent.is_some() {
        return "-".to_owned();
    }
    report.file.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Prints the summary line and one table per kind of count.
fn print_counts(out: &mut impl Write, stats: &Stats, subagents: u64) -> Result<(), Failure> {
    let span = match (stats.first_at, stats.last_at) {
        (Some(first), Some(last)) => format!("{} to {}", output::time(first), output::time(last)),
        _ => "no times".to_owned(),
    };
    let lines = output::count(usize::try_from(stats.lines).unwrap_or(usize::MAX), "line");
    writeln!(out, "{lines}, {}, {span}", output::size(stats.bytes))?;
    let versions: Vec<_> = stats.versions.iter().map(|version| output::clean(version)).collect();
    writeln!(
        out,
        "client versions: {}",
        if versions.is_empty() { "-".to_owned() } else { versions.join(", ") }
    )?;
    writeln!(
        out,
        "compactions: {}   subagents: {subagents}   problems: {}",
        stats.compactions, stats.problems
    )?;
    let mut types = Table::new(&["entries", ">number"]);
    for (name, number) in &stats.types {
        types.row(&[name.clone(), output::number(*number)]);
        let prefix = format!("{name}:");
        for (subtype, number) in stats.subtypes.range(prefix.clone()..) {
            let Some(subtype) = subtype.strip_prefix(&prefix) else { break };
            types.row(&[format!("  {subtype}"), output::number(*number)]);
        }
    }
    let mut tools = Table::new(&["tools", ">calls", ">errors"]);
    for (name, tool) in &stats.tools {
        tools.row(&[name.clone(), output::number(tool.calls), output::number(tool.errors)]);
    }
    for mut table in
        [types, counts("blocks", &stats.blocks), counts("models (replies)", &stats.models), tools]
    {
        if !table.is_empty() {
            writeln!(out)?;
            table.print(out)?;
        }
    }
    Ok(())
}

fn counts(title: &str, counts: &std::collections::BTreeMap<String, u64>) -> Table {
    let mut table = Table::new(&[title, ">number"]);
    for (name, number) in counts {
        table.row(&[name.clone(), output::number(*number)]);
    }
    table
}
