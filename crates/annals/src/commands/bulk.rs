//! Changes of one session or of several: selecting them, a table, a confirmation, and a result for each.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use annals_engine::{ArchiveFilter, Engine, SessionRow, TranscriptFile};
use annals_proto::ChangeResult;

use super::change::{name, report};
use super::{choose, list};
use crate::args::{Filters, Global};
use crate::failure::{FAILED, Failure};
use crate::output::{self, Progress};

/// Which sessions a command changes, and how it describes that.
pub(crate) struct Plan<'a> {
    /// Sessions by their names.
    pub(crate) names: &'a [OsString],
    /// Filters that select sessions instead.
    pub(crate) filters: &'a Filters,
    /// What the filters do with archived sessions without `--archived` and `--all`.
    pub(crate) archived: ArchiveFilter,
    /// Whether `--all` changes nothing about that: for all other sessions the command would have no effect.
    pub(crate) is_archive_fixed: bool,
    /// Says what is done with sessions, such as `archive 3 sessions`.
    pub(crate) describe: &'a dyn Fn(&str) -> String,
    /// Whether nothing is changed.
    pub(crate) dry_run: bool,
    /// Whether the user has confirmed the change of several sessions.
    pub(crate) yes: bool,
}

impl Plan<'_> {
    /// Returns whether one session is named, which is changed without a table and a question.
    pub(crate) fn is_one(&self) -> bool {
        self.names.len() == 1 && !self.filters.are_given()
    }
}

/// What was done to a session: for programs and, on one line or more, for people.
pub(crate) type Change = (ChangeResult, String);

/// Changes the sessions of a plan. One that is named is changed at once. Several are listed first, and changed when the user
/// confirms it: exactly those that were listed, whatever has been added meanwhile.
pub(crate) fn run(
    engine: &Engine,
    plan: &Plan<'_>,
    global: &Global,
    change: impl Fn(&TranscriptFile) -> Result<Change, Failure>,
) -> Result<ExitCode, Failure> {
    let (rows, mut failures) = match (plan.names, plan.filters.are_given()) {
        ([], false) => {
            let hint =
                "name a session, or select sessions with filters such as `--here`; `--all` selects all";
            return Err(Failure::usage("no session was named", hint));
        }
        ([one], false) => {
            let (changed, text) = change(&choose::session_to_change(engine, one, global)?)?;
            return report(&changed, &text, global);
        }
        (names, false) => named(engine, names),
        ([], true) => (filtered(engine, plan)?, Failures::default()),
        (_, true) => {
            let hint = "`annals list` with the same filters shows what they select";
            return Err(Failure::usage("sessions are named or selected with filters, not both", hint));
        }
    };
    if !rows.is_empty() {
        announce(plan, &rows, global)?;
        change_all(plan, &rows, global, change, &mut failures)?;
    }
    Ok(failures.finish())
}

/// Failures of single sessions. Each is reported at once; hints are printed once, at the end.
#[derive(Default)]
struct Failures {
    count: usize,
    hints: Vec<String>,
}

impl Failures {
    fn add(&mut self, session: &str, failure: Failure) {
        let Failure::Message { text, hints, .. } = failure else { return };
        self.count += 1;
        output::complain(&if text.contains(session) { text } else { format!("{session}: {text}") });
        for hint in hints {
            if !self.hints.contains(&hint) {
                self.hints.push(hint);
            }
        }
    }

    fn finish(self) -> ExitCode {
        self.hints.iter().for_each(|hint| output::hint(hint));
        if self.count == 0 { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
    }
}

/// Returns the sessions that are named, each once.
fn named(engine: &Engine, names: &[OsString]) -> (Vec<SessionRow>, Failures) {
    let (mut rows, mut failures) = (Vec::<SessionRow>::new(), Failures::default());
    for name in names {
        let found = engine.session_to_change(name).and_then(|file| engine.session_row(&file));
        match found {
            Ok(row) if rows.iter().any(|other| is_same(&other.file.path, &row.file.path)) => {}
            Ok(row) => rows.push(row),
            Err(error) => failures.add(&name.to_string_lossy(), error.into()),
        }
    }
    (rows, failures)
}

fn is_same(one: &PathBuf, other: &PathBuf) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Returns the sessions that the filters select. Fails if there are none, or if some folder cannot be read.
fn filtered(engine: &Engine, plan: &Plan<'_>) -> Result<Vec<SessionRow>, Failure> {
    let mut options = plan.filters.options(plan.archived)?;
    if plan.is_archive_fixed && !plan.filters.archived {
        options.archived = plan.archived;
    }
    let listing = list::read(engine, &options);
    if !listing.errors.is_empty() {
        let hint = "name the sessions instead";
        return Err(Failure::usage("nothing was changed, because not everything could be read", hint));
    }
    if plan.is_archive_fixed {
        // No option would add the others, and nothing is to be done with them.
        list::note_without_conversation(&listing);
    } else {
        list::note_left_out(&listing, false);
    }
    if listing.sessions.is_empty() {
        return Err(list::nothing(engine, plan.filters, &listing));
    }
    Ok(listing.sessions)
}

/// Prints what will be done with which sessions, and asks for confirmation.
fn announce(plan: &Plan<'_>, rows: &[SessionRow], global: &Global) -> Result<(), Failure> {
    let size = output::size(rows.iter().map(|row| row.size).sum());
    let what = (plan.describe)(&output::count(rows.len(), "session"));
    let is_asked = !plan.dry_run && !plan.yes;
    if !global.json {
        let mut out = output::stdout();
        let will = if plan.dry_run { "would" } else { "will" };
        writeln!(out, "{will} {} (transcripts: {size}):", output::clean(&what))?;
        list::print(&mut out, rows)?;
        out.flush()?;
    } else if is_asked && io::stdin().is_terminal() {
        // Standard output is for JSON.
        list::print(&mut io::stderr(), rows)?;
    }
    if !is_asked {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        let hint = "`--yes` confirms it, `--dry-run` changes nothing";
        return Err(Failure::usage("changing several sessions needs a confirmation", hint));
    }
    if output::ask(&format!("{what}?"))? { Ok(()) } else { Err(Failure::declined()) }
}

/// Changes every session and prints the results. A failure does not stop the others.
fn change_all(
    plan: &Plan<'_>,
    rows: &[SessionRow],
    global: &Global,
    change: impl Fn(&TranscriptFile) -> Result<Change, Failure>,
    failures: &mut Failures,
) -> Result<(), Failure> {
    let progress = Progress::of_sessions(rows.len(), plan.dry_run);
    let mut printed = Ok(());
    for row in rows {
        match change(&row.file) {
            Ok((changed, text)) if printed.is_ok() => {
                // A reader that has gone must not keep the other sessions from being changed.
                printed = progress.suspend(|| print(&changed, &text, plan.dry_run, global));
            }
            Ok(_) => {}
            Err(failure) => progress.suspend(|| failures.add(&name(&row.file), failure)),
        }
        progress.advance();
    }
    progress.finish();
    printed
}

/// Prints the result of one session among several: the first line of its text. A dry run has printed the table already.
fn print(changed: &ChangeResult, text: &str, dry_run: bool, global: &Global) -> Result<(), Failure> {
    if dry_run && !global.json {
        return Ok(());
    }
    report(changed, text.lines().next().unwrap_or_default(), global).map(|_| ())
}
