//! `annals list`.

use std::collections::HashSet;
use std::io::Write;
use std::process::ExitCode;

use annals_engine::{Engine, Listed, Sort, Wanted};
use annals_server::to_wire;
use jiff::Timestamp;

use crate::args::{Global, List, SortBy};
use crate::failure::{FAILED, Failure};
use crate::output::{self, Progress, Table};

/// How many columns a title takes where there is no terminal to fit.
const LONGEST_TITLE: usize = 80;

pub(crate) fn run(engine: &Engine, args: &List, global: &Global) -> Result<ExitCode, Failure> {
    let here = args.here.then(std::env::current_dir).transpose()?;
    let wanted = Wanted {
        project: args.project.clone().or(here),
        since: args.since,
        until: args.until,
        title: args.title.clone(),
        branch: args.branch.clone(),
        tool: args.tool.clone(),
        file: args.file.clone(),
        all: args.all,
        sort: match args.sort {
            SortBy::Updated => Sort::Updated,
            SortBy::Created => Sort::Created,
            SortBy::Size => Sort::Size,
        },
        limit: args.limit,
        ..Wanted::default()
    };
    if args.ghosts {
        return ghosts(engine, &wanted, global);
    }
    let progress = Progress::new();
    let listing = engine.list_telling(&wanted, |done, total| progress.at(done, total));
    progress.finish();
    for error in &listing.errors {
        output::complain(&error.to_string());
    }
    let live = engine.live_sessions();
    if global.json {
        let mut out = output::json_stdout();
        for listed in &listing.sessions {
            output::json_line(&mut out, &to_wire::session(listed, is_live(listed, &live)))?;
        }
        out.flush()?;
    } else {
        let mut out = output::stdout();
        print(&mut out, &listing.sessions, &live)?;
        out.flush()?;
    }
    if listing.without_conversation > 0 && !global.json {
        let left_out = output::count(listing.without_conversation, "file");
        output::note(&format!("{left_out} without a conversation left out; `--all` lists them"));
    }
    match (listing.errors.is_empty(), listing.sessions.is_empty()) {
        (false, _) => Ok(ExitCode::from(FAILED)),
        (true, true) => Err(nothing(engine, args)),
        (true, false) => Ok(ExitCode::SUCCESS),
    }
}

/// Says what was looked for and where.
fn nothing(engine: &Engine, args: &List) -> Failure {
    let mut places = engine.places();
    // A folder that is not there matters only if none is.
    if places.iter().any(|place| place.errors.is_empty()) {
        places.retain(|place| place.errors.is_empty());
    }
    let places: Vec<_> =
        places.iter().map(|place| place.path.join("projects").display().to_string()).collect();
    let asked = args.project.is_some()
        || args.here
        || args.since.is_some()
        || args.until.is_some()
        || args.title.is_some()
        || args.branch.is_some()
        || args.tool.is_some()
        || args.file.is_some();
    match (&places[..], asked) {
        ([], _) => Failure::nothing("no sessions found: there is no home folder to look in"),
        (places, false) => Failure::nothing(format!("no sessions found in {}", places.join(" or "))),
        (places, true) => Failure::without_hint(format!("no session in {} fits", places.join(" or "))),
    }
}

fn is_live(listed: &Listed, live: &HashSet<String>) -> bool {
    listed.file.session.as_ref().is_some_and(|session| live.contains(session))
}

fn print(out: &mut impl Write, sessions: &[Listed], live: &HashSet<String>) -> Result<(), Failure> {
    let now = Timestamp::now();
    let mut table = Table::new(&["session", "~title", "~project", "active", ">size", ""]);
    for listed in sessions {
        let facts = &listed.facts;
        let title = match (&facts.title, facts.standing.reason()) {
            _ if listed.error.is_some() => "(cannot be read)".to_owned(),
            (_, Some(reason)) => format!("({reason})"),
            (Some(title), None) => {
                output::cut(&output::one_line(&output::without_escapes(&title.text)), LONGEST_TITLE)
            }
            (None, None) => "(untitled)".to_owned(),
        };
        table.row(&[
            listed.file.session.as_deref().unwrap_or_default().chars().take(8).collect(),
            title,
            facts.cwd.clone().unwrap_or_else(|| listed.project_key.clone()),
            facts.updated_at.map_or_else(String::new, |time| output::ago(time, now)),
            output::size(listed.size),
            marks(listed, is_live(listed, live)),
        ]);
    }
    if table.is_empty() { Ok(()) } else { table.print(out) }
}

/// Lists sessions that only the prompt history knows.
fn ghosts(engine: &Engine, wanted: &Wanted, global: &Global) -> Result<ExitCode, Failure> {
    let (ghosts, errors) = engine.ghosts(wanted);
    for error in &errors {
        output::complain(&error.to_string());
    }
    let now = Timestamp::now();
    let mut out = output::stdout();
    let mut table = Table::new(&["session", "~first prompt", "~project", "active", ">prompts"]);
    for ghost in &ghosts {
        if global.json {
            output::json_line(&mut out, &to_wire::ghost(ghost))?;
            continue;
        }
        table.row(&[
            ghost.session.chars().take(8).collect(),
            output::cut(&output::one_line(&ghost.first_prompt), LONGEST_TITLE),
            ghost.project.clone().unwrap_or_default(),
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
        (true, true) => Err(Failure::without_hint(
            "every session that the prompt history names is still there".to_owned(),
        )),
        (true, false) => Ok(ExitCode::SUCCESS),
    }
}

/// Returns what else is to be said of a session.
fn marks(listed: &Listed, is_live: bool) -> String {
    let mut marks = Vec::new();
    if is_live {
        marks.push("open".to_owned());
    }
    if listed.is_archived() {
        marks.push("archived".to_owned());
    }
    if let Some(tag) = &listed.facts.tag {
        marks.push(format!("#{tag}"));
    }
    marks.join(" ")
}
