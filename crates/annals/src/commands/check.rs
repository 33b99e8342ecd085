//! `annals check`: what is wrong with transcripts.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{CheckedFile, Engine, Error, Finding, FolderFinding, Severity, TranscriptFile};
use annals_proto::Problem;

use crate::args;
use crate::commands::select;
use crate::failure::{FAILED, FOUND_NOTHING, Failure};
use crate::output::{self, clean};

pub(crate) fn run(engine: &Engine, args: &args::Check, global: &args::Global) -> Result<ExitCode, Failure> {
    if args.targets.is_empty() && !args.all {
        return Err(Failure::usage("what should be checked?", "name sessions or paths, or give `--all`"));
    }
    let (files, unread) = selected(engine, &args.targets, global)?;
    let mut printer = Printer {
        out: output::stdout_for(global.json),
        is_json: global.json,
        counts: Counts { code: unread, ..Counts::default() },
        failure: None,
    };
    // Each argument names one session: what nearly all sessions have is reported for each of them.
    let is_alone = files.len() <= args.targets.len();
    let progress = output::Progress::over(&files);
    engine.check_all(files, is_alone, |checked| {
        if let Ok(checked) = &checked {
            progress.add(checked.file.path.metadata().map_or(0, |metadata| metadata.len()));
        }
        progress.suspend(|| printer.add(checked));
    });
    progress.finish();
    if args.all {
        engine.check_folders().iter().for_each(|finding| printer.add_folder(finding));
    }
    printer.finish()
}

/// Returns the transcripts that the arguments name, each once; without arguments, those of all sessions.
fn selected(
    engine: &Engine,
    targets: &[OsString],
    global: &args::Global,
) -> Result<(Vec<TranscriptFile>, Option<u8>), Failure> {
    if targets.is_empty() {
        return select(engine, None, global);
    }
    let (mut files, mut code) = (Vec::new(), None);
    for target in targets {
        let (found, unread) = select(engine, Some(target), global)?;
        files.extend(found);
        code = code.or(unread);
    }
    // A session may be given by its id and by its path, and a path in several ways.
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.path.canonicalize().unwrap_or_else(|_| file.path.clone())));
    Ok((files, code))
}

/// Prints what is found as soon as it is found.
struct Printer<W> {
    out: W,
    is_json: bool,
    counts: Counts,
    /// Why nothing can be printed any more.
    failure: Option<Failure>,
}

#[derive(Default)]
struct Counts {
    transcripts: usize,
    with_problems: usize,
    problems: usize,
    has_warnings: bool,
    code: Option<u8>,
}

impl<W: Write> Printer<W> {
    fn add(&mut self, checked: Result<CheckedFile, Error>) {
        match checked {
            Ok(checked) => {
                self.counts.transcripts += 1;
                self.counts.with_problems += usize::from(!checked.findings.is_empty());
                let printed = if self.is_json { self.print_json(&checked) } else { self.print(&checked) };
                self.keep_failure(printed);
                let issues = checked.findings.iter().map(Finding::severity);
                self.count(issues);
            }
            Err(error) => {
                output::complain(&error.to_string());
                self.counts.code = Some(FAILED);
            }
        }
    }

    fn add_folder(&mut self, finding: &FolderFinding) {
        let problem = to_wire::folder_problem(finding);
        let printed = if self.is_json {
            output::json_line(&mut self.out, &problem)
        } else {
            self.print_folder(finding, &problem)
        };
        self.keep_failure(printed);
        self.count(std::iter::once(finding.issue.severity()));
    }

    fn count(&mut self, severities: impl Iterator<Item = Severity>) {
        for severity in severities {
            self.counts.problems += 1;
            self.counts.has_warnings |= severity > Severity::Info;
        }
    }

    fn keep_failure(&mut self, printed: Result<(), impl Into<Failure>>) {
        if let Err(failure) = printed {
            self.failure.get_or_insert(failure.into());
        }
    }

    fn print_json(&mut self, checked: &CheckedFile) -> Result<(), Failure> {
        for finding in &checked.findings {
            output::json_line(&mut self.out, &to_wire::problem(&checked.file, finding))?;
        }
        Ok(self.out.flush()?)
    }

    /// Prints the findings of a file. Consecutive findings of one kind share a line.
    fn print(&mut self, checked: &CheckedFile) -> Result<(), Failure> {
        if checked.findings.is_empty() {
            return Ok(());
        }
        output::heading(&mut self.out, &checked.file.path.to_string_lossy())?;
        let mut helps: Vec<String> = Vec::new();
        for group in
            checked.findings.chunk_by(|one, next| (&one.issue, one.remedy) == (&next.issue, next.remedy))
        {
            let problem = to_wire::problem(&checked.file, &group[0]);
            self.print_problem(&format!("{}: ", lines(group)), group[0].severity(), &problem)?;
            helps.extend(problem.help.filter(|help| !helps.contains(help)));
        }
        for help in helps {
            self.print_help(&help)?;
        }
        Ok(self.out.flush()?)
    }

    fn print_folder(&mut self, finding: &FolderFinding, problem: &Problem) -> Result<(), Failure> {
        output::heading(&mut self.out, &finding.path.to_string_lossy())?;
        self.print_problem("", finding.issue.severity(), problem)?;
        problem.help.as_ref().map_or(Ok(()), |help| self.print_help(help))
    }

    /// Prints the command that helps; it may be one of the system.
    fn print_help(&mut self, help: &str) -> Result<(), Failure> {
        let help = if help.starts_with("annals ") { output::command(help) } else { help.to_owned() };
        output::paragraph(&mut self.out, &format!("  help: {}", clean(&help)))
    }

    fn print_problem(&mut self, place: &str, severity: Severity, problem: &Problem) -> Result<(), Failure> {
        let style = match severity {
            Severity::Info => output::DIM,
            Severity::Warning => output::YELLOW,
            Severity::Error => output::RED,
        };
        let (name, title, effect) = (severity.name(), clean(&problem.problem), &problem.effect);
        let before = format!("  {place}");
        let text = format!("{before}{name}: {title}; {effect}");
        output::styled_paragraph(&mut self.out, &text, before.len()..before.len() + name.len(), style)
    }

    fn finish(mut self) -> Result<ExitCode, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.out.flush()?;
        let Counts { transcripts, with_problems, problems, has_warnings, code } = self.counts;
        // If nothing could be read, the error says all.
        let is_failure = transcripts == 0 && code.is_some();
        if !self.is_json && !is_failure {
            let of = output::count(transcripts, "transcript");
            output::note(&match problems {
                0 => format!("no problems in {of}"),
                _ => format!("{} in {with_problems} of {of}", output::count(problems, "problem")),
            });
        }
        let code = code.or(has_warnings.then_some(FOUND_NOTHING));
        Ok(code.map_or(ExitCode::SUCCESS, ExitCode::from))
    }
}

/// Returns `line 3`, `lines 3, 5 and 8`, `lines 3, 4, 5 and 96 more`; `file` for the file as a whole.
fn lines(group: &[Finding]) -> String {
    let mut named: Vec<u64> = Vec::new();
    let mut total = 0;
    for (line, finding) in group.iter().filter_map(|finding| Some((finding.line?, finding))) {
        let new = line.max(named.last().map_or(0, |last| last + 1))..line + finding.lines;
        total += new.clone().count();
        named.extend(new.take(4));
    }
    let text = |lines: &[u64]| lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    match (total, &named[..]) {
        (0, _) => "file".to_owned(),
        (1, [line, ..]) => format!("line {line}"),
        (2..=4, [first @ .., last]) => format!("lines {} and {last}", text(first)),
        _ => format!("lines {} and {} more", text(&named[..3]), output::number(total as u64 - 3)),
    }
}

#[cfg(test)]
mod tests {
    use annals_engine::{Issue, Remedy};

    use super::*;

    #[test]
    fn lines_are_named_as_far_as_they_are_few() {
        let finding = |line, lines| Finding {
            line: Some(line),
            lines,
            bytes: 0,
            issue: Issue::InvalidUtf8,
            remedy: Remedy::OfIssue,
        };
        assert_eq!(lines(&[finding(7, 1)]), "line 7");
        assert_eq!(lines(&[finding(7, 1), finding(7, 1)]), "line 7", "two glued objects on one line");
        assert_eq!(lines(&[finding(7, 2)]), "lines 7 and 8");
        assert_eq!(lines(&[finding(1, 1), finding(5, 2), finding(9, 1)]), "lines 1, 5, 6 and 9");
        assert_eq!(lines(&[finding(1, 1), finding(5, 4000)]), "lines 1, 5, 6 and 3,998 more");
    }
}
