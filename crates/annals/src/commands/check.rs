//! `annals check`: what is wrong with transcripts.

use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{Engine, Finding, Report, Severity};

use crate::args;
use crate::commands::{read_all, select};
use crate::failure::{FOUND_NOTHING, Failure};
use crate::output;

pub(crate) fn run(engine: &Engine, args: &args::Check, global: &args::Global) -> Result<ExitCode, Failure> {
    if args.target.is_none() && !args.all {
        return Err(Failure::usage("what should be checked?", "name a session or a path, or give `--all`"));
    }
    let (files, unread) = select(engine, args.target.as_deref(), global)?;
    let (reports, code) = read_all(engine, files);
    let code = code.or(unread);
    let mut out = output::stdout_for(global.json);
    for report in &reports {
        if global.json {
            for finding in &report.findings {
                output::json_line(&mut out, &to_wire::problem(&report.file, finding))?;
            }
        } else {
            print_findings(&mut out, report)?;
        }
    }
    out.flush()?;
    let problems: usize = reports.iter().map(|report| report.findings.len()).sum();
    let files = reports.iter().filter(|report| !report.findings.is_empty()).count();
    // If nothing could be read, the error says all.
    let is_failure = reports.is_empty() && code.is_some();
    if !global.json && !is_failure {
        let of = output::count(reports.len(), "transcript");
        output::note(&match problems {
            0 => format!("no problems in {of}"),
            _ => format!("{} in {files} of {of}", output::count(problems, "problem")),
        });
    }
    let mut findings = reports.iter().flat_map(|report| &report.findings);
    let has_warnings = findings.any(|finding| finding.issue.severity() > Severity::Info);
    let code = code.or(has_warnings.then_some(FOUND_NOTHING));
    Ok(code.map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// Prints the findings of a file. Consecutive findings of one kind share a line.
fn print_findings(out: &mut impl Write, report: &Report) -> Result<(), Failure> {
    if report.findings.is_empty() {
        return Ok(());
    }
    output::heading(out, &report.file.path.to_string_lossy())?;
    for group in report.findings.chunk_by(|one, next| one.issue == next.issue) {
        let issue = &group[0].issue;
        let severity = issue.severity();
        let style = match severity {
            Severity::Info => output::DIM,
            Severity::Warning => output::YELLOW,
            Severity::Error => output::RED,
        };
        let (name, title, effect) = (severity.name(), issue.title(), issue.effect());
        writeln!(out, "  {}: {style}{name}{style:#}: {title}; {effect}", lines(group))?;
    }
    Ok(())
}

/// Returns `line 3`, `lines 3, 5 and 8`, `lines 3, 4, 5 and 96 more`.
fn lines(group: &[Finding]) -> String {
    let mut named: Vec<u64> = Vec::new();
    let mut total = 0;
    for finding in group {
        let new = finding.line.max(named.last().map_or(0, |last| last + 1))..finding.line + finding.lines;
        total += new.clone().count();
        named.extend(new.take(4));
    }
    let text = |lines: &[u64]| lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    match (total, &named[..]) {
        (1, [line, ..]) => format!("line {line}"),
        (2..=4, [first @ .., last]) => format!("lines {} and {last}", text(first)),
        _ => format!("lines {} and {} more", text(&named[..3]), output::number(total as u64 - 3)),
    }
}

#[cfg(test)]
mod tests {
    use annals_engine::Issue;

    use super::*;

    #[test]
    fn lines_are_named_as_far_as_they_are_few() {
        let finding = |line, lines| Finding { line, lines, bytes: 0, issue: Issue::InvalidUtf8 };
        assert_eq!(lines(&[finding(7, 1)]), "line 7");
        assert_eq!(lines(&[finding(7, 1), finding(7, 1)]), "line 7", "two glued objects on one line");
        assert_eq!(lines(&[finding(7, 2)]), "lines 7 and 8");
        assert_eq!(lines(&[finding(1, 1), finding(5, 2), finding(9, 1)]), "lines 1, 5, 6 and 9");
        assert_eq!(lines(&[finding(1, 1), finding(5, 4000)]), "lines 1, 5, 6 and 3,998 more");
    }
}
