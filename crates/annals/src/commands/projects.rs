//! `annals projects` and `annals roots`.

use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{Engine, ListOptions, Project};
use jiff::Timestamp;

use crate::args::Global;
use crate::failure::{FAILED, FOUND_NOTHING, Failure};
use crate::output::{self, Table};

pub(crate) fn run(engine: &Engine, global: &Global) -> Result<ExitCode, Failure> {
    let (projects, errors) = engine.projects(&ListOptions::default());
    for error in &errors {
        output::complain(&error.to_string());
    }
    let now = Timestamp::now();
    let mut out = output::stdout();
    let mut table = Table::new(&["~/project", ">sessions", "???>size", "?active", "??~~notes"]);
    for project in &projects {
        if global.json {
            output::json_line(&mut out, &to_wire::project(project))?;
            continue;
        }
        let mut notes = Vec::new();
        if let Some(worktree) = &project.worktree {
            notes.push(format!("worktree of {}", worktree.of));
        }
        if !project.shares_folder_with.is_empty() {
            notes.push(format!("shares its folder with {}", project.shares_folder_with.join(", ")));
        }
        table.row(&[
            name(project, &projects),
            output::number(project.sessions as u64),
            output::size(project.size),
            project.updated_at.map_or_else(String::new, |time| output::ago(time, now)),
            notes.join("; "),
        ]);
    }
    if !table.is_empty() {
        table.print(&mut out)?;
    }
    out.flush()?;
    match (errors.is_empty(), projects.is_empty()) {
        (false, _) => Ok(ExitCode::from(FAILED)),
        (true, true) => Err(super::nothing_in(engine, "no sessions", "projects")),
        (true, false) => Ok(ExitCode::SUCCESS),
    }
}

/// Returns the name of a project. A worktree is listed below its repository and named by the rest of its path.
fn name(project: &Project, projects: &[Project]) -> String {
    let Some(path) = &project.path else { return format!("({})", project.keys.join(", ")) };
    let repository = project.worktree.as_ref().map(|worktree| &worktree.of);
    match repository.filter(|of| projects.iter().any(|other| other.path.as_ref() == Some(of))) {
        Some(of) => {
            let below = path.strip_prefix(of.as_str()).and_then(|rest| rest.strip_prefix(['/', '\\']));
            format!("└ {}", below.unwrap_or(path))
        }
        None => path.clone(),
    }
}

pub(crate) fn roots(engine: &Engine, global: &Global) -> Result<ExitCode, Failure> {
    let places = engine.root_summaries();
    let mut out = output::stdout();
    let mut table = Table::new(&["~/folder", "?>projects", ">sessions", "~notes"]);
    for place in &places {
        if global.json {
            output::json_line(&mut out, &to_wire::root(place))?;
            continue;
        }
        let notes: Vec<_> = place.errors.iter().map(ToString::to_string).collect();
        table.row(&[
            place.path.display().to_string(),
            output::number(place.projects as u64),
            output::number(place.sessions as u64),
            if notes.is_empty() && place.sessions == 0 { "empty".to_owned() } else { notes.join("; ") },
        ]);
    }
    if !table.is_empty() {
        table.print(&mut out)?;
    }
    out.flush()?;
    let found = places.iter().any(|place| place.sessions > 0);
    Ok(if found { ExitCode::SUCCESS } else { ExitCode::from(FOUND_NOTHING) })
}
