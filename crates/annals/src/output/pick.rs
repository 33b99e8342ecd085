//! Choosing a session on a terminal with the arrow keys.

use std::io::{self, IsTerminal};

use annals_engine::{Candidate, SessionRow};
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use super::{ago, clean, cut, cut_start, interrupts, message_columns, title_line};
use crate::failure::Failure;

/// The most lines of a list at a time.
const HEIGHT: usize = 12;
/// The widths of the columns with the time and the project, and those on a terminal that has not much room for titles.
const COLUMNS: (usize, usize) = (16, 28);
const NARROW_COLUMNS: (usize, usize) = (14, 16);
/// The width from which on a terminal has room.
const WIDE: usize = 110;
/// The most columns that a title and a prompt take.
const LONGEST: usize = 80;
/// The width of the mark before each line.
const MARK: usize = 2;

/// Returns whether a person can be asked: both what is typed and what is asked are on a terminal.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns the columns of a line to choose.
pub(crate) fn columns() -> usize {
    message_columns().unwrap_or(80).saturating_sub(MARK + 1)
}

/// Lets the user choose one of several lines; returns its index.
pub(crate) fn one_of(question: &str, lines: &[String]) -> Result<usize, Failure> {
    let lines: Vec<_> = lines.iter().map(|line| cut(line, columns())).collect();
    interrupts::hold();
    let choice = dialoguer::Select::new()
        .with_prompt(clean(question))
        .items(&lines)
        .default(0)
        .max_length(HEIGHT)
        .report(false)
        .interact_opt();
    if choice.is_err() {
        // The question has hidden it.
        let _ = dialoguer::console::Term::stderr().show_cursor();
    }
    interrupts::release();
    match choice {
        Ok(Some(index)) => Ok(index),
        Ok(None) => Err(Failure::not_chosen()),
        Err(dialoguer::Error::IO(error)) if error.kind() == io::ErrorKind::Interrupted => {
            Err(Failure::interrupted())
        }
        Err(dialoguer::Error::IO(error)) => Err(Failure::input(&error)),
    }
}

/// Returns a candidate on one line: the beginning of its id, when it was active, its project, its title, the first words of its
/// first prompt. It is cut to a number of columns.
pub(crate) fn candidate_line(candidate: &Candidate, columns: Option<usize>) -> String {
    let path = candidate.path.to_string_lossy();
    let longest = columns.unwrap_or(usize::MAX);
    if let Some(agent) = &candidate.agent {
        return cut(&format!("agent {}  {}", clean(agent), clean(&path)), longest);
    }
    let Some(title) = &candidate.title else {
        return cut(&format!("{}  {}", clean(&candidate.session), clean(&path)), longest);
    };
    let (project, prompt) = (candidate.project.as_deref(), candidate.first_prompt.as_deref());
    ended(start(&candidate.session, candidate.updated_at, project), title, prompt, columns)
}

/// Returns a session of a list on one line, in the same way.
pub(crate) fn session_line(row: &SessionRow, columns: Option<usize>) -> String {
    let prompt = row.facts.first_prompt.as_deref();
    let title = row.facts.title.as_ref().map(|title| &*title.text).or(prompt).unwrap_or("(untitled)");
    let session = row.file.session.as_deref().unwrap_or_default();
    let start = start(session, row.facts.updated_at, row.project_path().as_deref());
    ended(start, title, prompt, columns)
}

/// Returns the columns before the title: the beginning of the id, the time and the project.
fn start(session: &str, time: Option<Timestamp>, project: Option<&str>) -> String {
    let session: String = session.chars().take(8).collect();
    let time = time.map_or_else(|| "-".to_owned(), |time| ago(time, Timestamp::now()));
    let is_wide = message_columns().is_none_or(|columns| columns >= WIDE);
    let (time_width, project_width) = if is_wide { COLUMNS } else { NARROW_COLUMNS };
    let project = cut_start(&clean(project.unwrap_or("-")), project_width);
    let (time, project) = (padded(&time, time_width), padded(&project, project_width));
    format!("{}  {time}  {project}  ", clean(&session))
}

/// Adds a title and the first words of a prompt to the start of a line.
fn ended(start: String, title: &str, prompt: Option<&str>, columns: Option<usize>) -> String {
    let room = columns.map_or(LONGEST, |columns| columns.saturating_sub(start.width()).min(LONGEST));
    let title = clean(&title_line(title)).into_owned();
    let prompt = clean(&title_line(prompt.unwrap_or_default())).into_owned();
    start + &title_and_prompt(&title, &prompt, room)
}

/// Returns a title and the first words of a prompt, cut to a width. A long title leaves half of the room to the prompt. A prompt
/// that begins with the title takes its place.
fn title_and_prompt(title: &str, prompt: &str, room: usize) -> String {
    const BETWEEN: &str = " · ";
    if prompt.starts_with(title) {
        return cut(prompt, room);
    }
    if prompt.is_empty() {
        return cut(title, room);
    }
    let unused = room.saturating_sub(BETWEEN.width() + prompt.width());
    cut(&format!("{}{BETWEEN}{prompt}", cut(title, unused.max(room / 2))), room)
}

/// Returns text filled with blanks up to a width in columns.
fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_and_a_prompt_share_the_room() {
        for (title, prompt, room, shown) in [
            ("Tea timer", "Boil the water", 40, "Tea timer · Boil the water"),
            ("Tea timer", "Boil the water", 20, "Tea timer · Boil th…"),
            ("A timer for tea", "Boil the water", 20, "A timer f… · Boil t…"),
            ("A timer for tea", "Boil it", 22, "A timer for… · Boil it"),
            ("Boil", "Boil the water", 40, "Boil the water"),
            ("Boil the water", "Boil the water", 8, "Boil th…"),
            ("(untitled)", "", 8, "(untitl…"),
        ] {
            assert_eq!(title_and_prompt(title, prompt, room), shown);
            assert!(shown.width() <= room);
        }
    }
}
