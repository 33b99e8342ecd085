//! `annals list`.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{ArchiveFilter, Engine, ListOptions, Listing, SessionRow, Sort, with_upper_drive};
use jiff::Timestamp;

use crate::args::{Filters, Global, List, SortBy};
use crate::failure::{FAILED, Failure};
use crate::output::{self, Progress, Table};

/// How many sessions a terminal shows if no limit is given.
const ON_TERMINAL: usize = 50;
/// The widest title, in columns, if the output is not a terminal.
const MAX_TITLE: usize = 80;

pub(crate) fn run(engine: &Engine, args: &List, global: &Global) -> Result<ExitCode, Failure> {
    let wanted = ListOptions {
        sort: match args.sort {
            SortBy::Updated => Sort::Updated,
            SortBy::Created => Sort::Created,
            SortBy::Size => Sort::Size,
        },
        limit: args.limit,
        ..args.filters.options(ArchiveFilter::Exclude)?
    };
    if args.ghosts {
        return ghosts(engine, &wanted, global);
    }
    let mut listing = read(engine, &wanted);
    let is_empty = listing.sessions.is_empty();
    if global.json {
        let mut out = output::json_stdout();
        for listed in std::mem::take(&mut listing.sessions) {
            output::json_line(&mut out, &to_wire::session(listed))?;
        }
        out.flush()?;
    } else {
        let shown = &listing.sessions[..shown(&listing, args)];
        let mut out = output::stdout();
        print(&mut out, shown)?;
        out.flush()?;
        drop(out);
        note_shown(shown.len(), listing.sessions.len());
        note_partial(shown);
    }
    note_left_out(&listing, args.limit.is_some());
    match (listing.errors.is_empty(), is_empty) {
        (false, _) => Ok(ExitCode::from(FAILED)),
        (true, true) => Err(nothing(engine, &args.filters, &listing)),
        (true, false) => Ok(ExitCode::SUCCESS),
    }
}

/// Returns how many sessions of a list are shown: on a terminal, without a limit, the most recent ones.
fn shown(listing: &Listing, args: &List) -> usize {
    let all = listing.sessions.len();
    if args.limit.is_none() && io::stdout().is_terminal() { all.min(ON_TERMINAL) } else { all }
}

/// Notes how many sessions there are if not all are shown; on a terminal also how one of them is continued.
fn note_shown(shown: usize, all: usize) {
    if shown < all {
        let all = output::count(all, "session");
        output::note(&format!(
            "the first {shown} of {all}; `--limit N` shows more; pipe to `cat` to list all"
        ));
    }
    if shown > 0 {
        output::suggest(
            "`annals resume SESSION` continues one in Claude Code, `annals show SESSION` prints it",
        );
    }
}

/// Lists sessions with a progress bar, and complains about what cannot be read.
pub(super) fn read(engine: &Engine, wanted: &ListOptions) -> Listing {
    let progress = Progress::new();
    let listing = engine.list_with_progress(wanted, |done, total| {
        progress.set(done, total);
        ControlFlow::Continue(())
    });
    progress.finish();
    for error in &listing.errors {
        output::complain(&error.to_string());
    }
    listing
}

/// Notes how many sessions of a list were not read completely.
fn note_partial(sessions: &[SessionRow]) {
    let partial = sessions.iter().filter(|listed| listed.facts.is_partial).count();
    if partial > 0 {
        let sessions = output::count(partial, "session");
        output::note(&format!(
            "partial: {sessions} so large that a part was not read, which may have another title or branch"
        ));
    }
}

/// Notes how many archived sessions and how many files without a conversation a list leaves out.
pub(super) fn note_left_out(listing: &Listing, is_limited: bool) {
    note_archived(listing, is_limited);
    note_without_conversation(listing);
}

fn note_archived(listing: &Listing, is_limited: bool) {
    if listing.archived_left_out > 0 {
        // A list with a limit does not read all files.
        let at_least = if is_limited { "at least " } else { "" };
        let left_out = output::count(listing.archived_left_out, "archived session");
        output::note(&format!(
            "{at_least}{left_out} left out; `--archived` selects these, `--all` everything"
        ));
    }
}

/// Notes how many files without a conversation a list leaves out.
pub(super) fn note_without_conversation(listing: &Listing) {
    if listing.without_conversation > 0 {
        let left_out = output::count(listing.without_conversation, "file");
        output::note(&format!("{left_out} without a conversation left out; `--all` lists them"));
    }
}

/// Returns the failure of an empty list: no session matches the filters, all that match are archived, or there are none at
/// all.
pub(super) fn nothing(engine: &Engine, filters: &Filters, listing: &Listing) -> Failure {
    if listing.archived_left_out > 0 {
        return Failure::without_hint("all sessions that match are archived".to_owned());
    }
    if filters.is_narrow() && engine.root_summaries().iter().any(|root| root.sessions > 0) {
        return Failure::without_hint("no session matches".to_owned());
    }
    super::nothing_in(engine, "no sessions", "projects")
}

/// Prints a table of sessions.
pub(super) fn print(out: &mut impl Write, sessions: &[SessionRow]) -> Result<(), Failure> {
    let now = Timestamp::now();
    let mut table = Table::new(&["session", "~title", "??~/project", "active", "???>size", "?~"]);
    // Many sessions are of one project, whose path is masked once.
    let mut projects: HashMap<&str, String> = HashMap::new();
    for listed in sessions {
        let facts = &listed.facts;
        let id = listed.file.session.as_deref().unwrap_or_default();
        let project = facts.cwd.as_deref().unwrap_or(&listed.project_key);
        let masked_project = projects.entry(project).or_insert_with(|| {
            let shown = facts.cwd.as_deref().map_or_else(|| project.to_owned(), with_upper_drive);
            output::masked(&shown).into_owned()
        });
        table.masked_row([
            output::masked(&id.chars().take(8).collect::<String>()).into_owned(),
            title(listed),
            masked_project.clone(),
            facts.updated_at.map_or_else(String::new, |time| output::ago(time, now)),
            output::size(listed.size),
            marks(listed),
        ]);
    }
    if table.is_empty() { Ok(()) } else { table.print(out) }
}

/// Returns the title of a session, masked, or why it has none.
fn title(listed: &SessionRow) -> String {
    let facts = &listed.facts;
    match (&facts.title, facts.kind.reason()) {
        _ if listed.error.is_some() => "(cannot be read)".to_owned(),
        (Some(title), reason) => {
            let line = output::cut(&output::title_line(&title.text), MAX_TITLE);
            reason.map_or(line.clone(), |reason| format!("{line} ({reason})"))
        }
        (None, Some(reason)) => format!("({reason})"),
        (None, None) => "(untitled)".to_owned(),
    }
}

/// Lists sessions that are only known from the prompt history.
fn ghosts(engine: &Engine, wanted: &ListOptions, global: &Global) -> Result<ExitCode, Failure> {
    let (ghosts, errors) = engine.ghosts(wanted);
    for error in &errors {
        output::complain(&error.to_string());
    }
    let now = Timestamp::now();
    let mut out = output::stdout();
    let mut table = Table::new(&["session", "~first prompt", "?~/project", "active", "??>prompts"]);
    for ghost in &ghosts {
        if global.json {
            output::json_line(&mut out, &to_wire::ghost(ghost))?;
            continue;
        }
        table.row(&[
            ghost.session.chars().take(8).collect(),
            output::cut(&output::title_line(&ghost.first_prompt), MAX_TITLE),
            ghost.project.as_deref().map(with_upper_drive).unwrap_or_default(),
            ghost.last_at.map_or_else(String::new, |time| output::ago(time, now)),
            output::number(ghost.prompts as u64),
        ]);
    }
    if !table.is_empty() {
        table.print(&mut out)?;
    }
    out.flush()?;
    match (errors.is_empty(), ghosts.is_empty()) {
        (false, _) => Ok(ExitCode::from(FAILED)),
        (true, true) => Err(no_ghosts(engine, wanted)),
        (true, false) => Ok(ExitCode::SUCCESS),
    }
}

/// Returns why the list is empty: no prompt history, no deleted session, or none that matches.
fn no_ghosts(engine: &Engine, wanted: &ListOptions) -> Failure {
    if engine.prompts().prompts.is_empty() {
        return super::nothing_in(engine, "no prompt history", "history.jsonl");
    }
    let (any, _) = engine.ghosts(&ListOptions { limit: Some(1), ..ListOptions::default() });
    let is_filtered = !any.is_empty() && wanted.limit != Some(0);
    Failure::without_hint(if is_filtered {
        "no deleted session matches".to_owned()
    } else {
        "all sessions of the prompt history still exist".to_owned()
    })
}

/// Returns the marks of a session: open, archived, its tag, which is masked.
fn marks(listed: &SessionRow) -> String {
    let mut marks = Vec::new();
    if listed.writers > 0 {
        marks.push("open".to_owned());
    }
    if listed.is_archived {
        marks.push("archived".to_owned());
    }
    if listed.facts.is_partial {
        marks.push("partial".to_owned());
    }
    if let Some(tag) = &listed.facts.tag {
        marks.push(format!("#{}", output::one_line(tag)));
    }
    marks.join(" ")
}
