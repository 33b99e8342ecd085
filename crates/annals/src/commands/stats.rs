//! `annals stats`: counts of entries, blocks, models, tools and errors.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{Engine, Report, Stats};

use crate::args;
use crate::commands::{read_all, select};
use crate::failure::Failure;
use crate::output::{self, Table};

pub(crate) fn run(engine: &Engine, args: &args::Stats, global: &args::Global) -> Result<ExitCode, Failure> {
    let (files, unread) = select(engine, args.target.as_deref(), global)?;
    let (reports, code) = read_all(engine, files);
    let code = code.or(unread);
    let mut out = output::stdout_for(global.json);
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
    let subagents = report.file.subagents() + report.stats.inline_subagents;
    print_counts(out, &report.stats, report.stats.duration_ms(), subagents)
}

/// Prints the total; then a row per transcript, most recently active first, subagents below their sessions.
fn print_many(out: &mut impl Write, reports: &[Report]) -> Result<(), Failure> {
    let zone = output::zone();
    let last_active = format!("?last active ({zone})");
    let mut table = Table::new(&[
        "session",
        ">lines",
        "???>size",
        "??>replies",
        "??>calls",
        "?>errors",
        ">problems",
        &last_active,
    ]);
    let mut total = Stats::default();
    for report in in_order(reports) {
        let stats = &report.stats;
        table.row(&[
            name(report),
            output::number(stats.lines),
            output::size(stats.bytes),
            output::number(stats.models.values().sum()),
            output::number(stats.tools.values().map(|tool| tool.calls).sum()),
            output::number(stats.tools.values().map(|tool| tool.errors).sum()),
            output::number(stats.problems),
            stats.last_at.map_or_else(|| "-".to_owned(), output::local_time),
        ]);
        total.merge(stats);
    }
    let agents = reports.iter().filter(|report| report.file.agent.is_some()).count();
    let sessions = output::count(reports.len() - agents, "session");
    output::heading(out, &format!("{sessions} and {}", output::count(agents, "subagent")))?;
    // The time between the first and the last entry of several sessions says nothing about any of them.
    print_counts(out, &total, None, agents as u64)?;
    writeln!(out)?;
    table.print(out)
}

/// Sorts sessions by last activity, most recent first, with their subagents below them.
fn in_order(reports: &[Report]) -> Vec<&Report> {
    let mut groups: BTreeMap<&str, Vec<&Report>> = BTreeMap::new();
    let mut others = Vec::new();
    for report in reports {
        match report.file.session.as_deref() {
            Some(session) => groups.entry(session).or_default().push(report),
            None => others.push(vec![report]),
        }
    }
    let mut groups: Vec<_> = groups.into_values().chain(others).collect();
    let last_active = |group: &Vec<&Report>| group.iter().filter_map(|report| report.stats.last_at).max();
    groups.sort_by_key(|group| std::cmp::Reverse(last_active(group)));
    for group in &mut groups {
        group.sort_by_key(|report| report.file.agent.is_some());
    }
    groups.into_iter().flatten().collect()
}

/// Returns a short name of a transcript: the beginning of its id, or the end of its path.
fn name(report: &Report) -> String {
    const LONGEST: usize = 20;
    if let Some(agent) = &report.file.agent {
        return output::cut(&format!("  agent {agent}"), LONGEST);
    }
    if let Some(session) = &report.file.session {
        return session.chars().take(8).collect();
    }
    let path = report.file.path.to_string_lossy();
    let skipped = path.chars().count().saturating_sub(LONGEST - 1);
    if skipped == 0 {
        path.into_owned()
    } else {
        path.chars().skip(skipped).fold("…".to_owned(), |name, char| name + &char.to_string())
    }
}

/// Prints the summary line and one table per kind of count.
fn print_counts(
    out: &mut impl Write,
    stats: &Stats,
    duration_ms: Option<u64>,
    subagents: u64,
) -> Result<(), Failure> {
    let span = match (stats.first_at, stats.last_at) {
        (Some(first), Some(last)) => {
            format!("{} to {} ({})", output::local_time(first), output::local_time(last), output::zone())
        }
        _ => "no times".to_owned(),
    };
    let lines = output::count(usize::try_from(stats.lines).unwrap_or(usize::MAX), "line");
    output::paragraph(out, &format!("{lines}, {}, {span}", output::size(stats.bytes)))?;
    let duration =
        duration_ms.map(|ms| format!("{} from the first to the last entry, ", output::duration(ms)));
    let active = output::duration(stats.active_ms);
    output::paragraph(out, &format!("time: {}{active} in turns", duration.unwrap_or_default()))?;
    let tokens = [
        ("input", stats.usage.input),
        ("output", stats.usage.output),
        ("cache written", stats.usage.cache_creation),
        ("cache read", stats.usage.cache_read),
    ];
    let tokens = tokens.map(|(name, count)| format!("{name} {}", output::number(count)));
    output::paragraph(out, &format!("tokens: {}", tokens.join(", ")))?;
    let versions: Vec<_> = stats.versions.iter().map(|version| output::clean(version)).collect();
    let versions = if versions.is_empty() { "-".to_owned() } else { versions.join(", ") };
    output::paragraph(out, &format!("Claude Code versions: {versions}"))?;
    let errors: u64 = stats.tools.values().map(|tool| tool.errors).sum();
    let counted = [
        ("turns", stats.turns),
        ("compactions", stats.compactions),
        ("branches", stats.branches),
        ("gaps", stats.gaps),
        ("subagents", subagents),
        ("failed calls", errors),
        ("problems", stats.problems),
    ];
    let counted: Vec<_> =
        counted.iter().map(|(name, count)| format!("{name} {}", output::number(*count))).collect();
    output::paragraph(out, &counted.join(", "))?;
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
    for table in [types, counts("blocks", &stats.blocks), counts("models (replies)", &stats.models), tools] {
        if !table.is_empty() {
            writeln!(out)?;
            table.print(out)?;
        }
    }
    Ok(())
}

fn counts(title: &str, counts: &BTreeMap<String, u64>) -> Table {
    let mut table = Table::new(&[title, ">number"]);
    for (name, number) in counts {
        table.row(&[name.clone(), output::number(*number)]);
    }
    table
}
