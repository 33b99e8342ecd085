//! Choosing a session on a terminal with the arrow keys.

use std::io::{self, IsTerminal};

use annals_engine::{Candidate, SessionRow};
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use super::{ago, clean, cut, cut_start, message_columns, title_line};
use crate::failure::Failure;

/// The most lines of a list at a time.
const HEIGHT: usize = 12;
/// The widths of the columns with the time and the project, and those on a terminal that has not much room for titles.
const COLUMNS: (usize, usize) = (16, 28);
const NARROW_COLUMNS: (usize, usize) = (14, 16);
/// The width from which on a terminal has room.
const WIDE: usize = 110;
/// The width of the mark before each line.
const MARK: usize = 2;

/// Returns whether a person can be asked: both what is typed and what is asked are on a terminal.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Lets the user choose one of several lines; returns its index.
pub(crate) fn one_of(question: &str, lines: &[String]) -> Result<usize, Failure> {
    let width = message_columns().unwrap_or(80);
    let lines: Vec<_> = lines.iter().map(|line| cut(line, width.saturating_sub(MARK + 1))).collect();
    let choice = dialoguer::Select::new()
        .with_prompt(clean(question))
        .items(&lines)
        .default(0)
        .max_length(HEIGHT)
        .report(false)
        .interact_opt();
    match choice {
        Ok(Some(index)) => Ok(index),
        Ok(None) => Err(Failure::not_chosen()),
        Err(dialoguer::Error::IO(error)) => Err(Failure::input(&error)),
    }
}

/// Returns a candidate on one line: the beginning of its id, when it was active, its project, its title.
pub(crate) fn candidate_line(candidate: &Candidate) -> String {
    let path = candidate.path.to_string_lossy();
    if let Some(agent) = &candidate.agent {
        return format!("agent {}  {}", clean(agent), clean(&path));
    }
    let Some(title) = &candidate.title else {
        return format!("{}  {}", clean(&candidate.session), clean(&path));
    };
    line(&candidate.session, candidate.updated_at, candidate.project.as_deref(), title)
}

/// Returns a session of a list on one line, in the same way.
pub(crate) fn session_line(row: &SessionRow) -> String {
    let title = row.facts.title.as_ref().map(|title| &*title.text).or(row.facts.first_prompt.as_deref());
    let session = row.file.session.as_deref().unwrap_or_default();
    line(session, row.facts.updated_at, row.project_path().as_deref(), title.unwrap_or("(untitled)"))
}

fn line(session: &str, time: Option<Timestamp>, project: Option<&str>, title: &str) -> String {
    const LONGEST: usize = 80;
    let session: String = session.chars().take(8).collect();
    let time = time.map_or_else(|| "-".to_owned(), |time| ago(time, Timestamp::now()));
    let is_wide = message_columns().is_none_or(|columns| columns >= WIDE);
    let (time_width, project_width) = if is_wide { COLUMNS } else { NARROW_COLUMNS };
    let project = cut_start(&clean(project.unwrap_or("-")), project_width);
    let title = cut(&clean(&title_line(title)), LONGEST);
    let (time, project) = (padded(&time, time_width), padded(&project, project_width));
    format!("{}  {time}  {project}  {title}", clean(&session))
}

/// Returns text filled with blanks up to a width in columns.
fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}
