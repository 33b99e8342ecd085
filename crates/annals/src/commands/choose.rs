//! The session that an argument names. On a terminal, a name that may mean several sessions, or that is near to the name of some,
//! is a question.

use std::ffi::OsStr;

use annals_engine::{Engine, Error, ListOptions, Selection, SessionRow, TranscriptFile};

use crate::args::Global;
use crate::failure::Failure;
use crate::output::pick;

/// The most sessions that are offered to choose from if no name was given.
const MOST_RECENT: usize = 200;

/// Returns the session or agent that a command reads.
pub(crate) fn transcript(engine: &Engine, name: &OsStr, global: &Global) -> Result<TranscriptFile, Failure> {
    engine.transcript(name).or_else(|error| ask(error, global))
}

/// Returns the session that a command reads.
pub(crate) fn session(engine: &Engine, name: &OsStr, global: &Global) -> Result<TranscriptFile, Failure> {
    engine.session_to_read(name).or_else(|error| ask(error, global))
}

/// Returns the session that a command changes: nothing is changed that was not named exactly, or chosen.
pub(crate) fn session_to_change(
    engine: &Engine,
    name: &OsStr,
    global: &Global,
) -> Result<TranscriptFile, Failure> {
    engine.session_to_change(name).or_else(|error| ask(error, global))
}

/// Returns a session of a project without a name: on a terminal the one that the user chooses, or else the most recent.
pub(crate) fn recent(
    engine: &Engine,
    options: ListOptions,
    global: &Global,
) -> Result<TranscriptFile, Failure> {
    let may_ask = !global.json && pick::is_possible();
    let limit = if may_ask { MOST_RECENT } else { 1 };
    let mut sessions = engine.list(&ListOptions { limit: Some(limit), ..options }).sessions;
    let columns = Some(pick::columns());
    let lines: Vec<_> = sessions.iter().map(|row| pick::session_line(row, columns)).collect();
    match lines.len() {
        0 => Err(Failure::no_session_here()),
        1 => Ok(sessions.swap_remove(0).file),
        _ => Ok(sessions.swap_remove(pick::one_of("Choose a session", &lines)?).file),
    }
}

/// Returns the one session that something selects. If it selects several, the user chooses one on a terminal; elsewhere that is an
/// error which lists them.
pub(crate) fn one_of(
    rows: &[SessionRow],
    selector: &str,
    global: &Global,
) -> Result<TranscriptFile, Failure> {
    match rows {
        [] => Err(Failure::nothing_selected(selector)),
        [row] => Ok(row.file.clone()),
        several => ask(Error::several_sessions(selector, several), global),
    }
}

/// Returns the transcript of the session that the user chooses, for commands that take folders too.
pub(crate) fn ask_to_select(error: Error, global: &Global) -> Result<Selection, Failure> {
    let mut selected = Selection::default();
    selected.files.push(ask(error, global)?);
    Ok(selected)
}

fn ask(error: Error, global: &Global) -> Result<TranscriptFile, Failure> {
    let is_vague = !error.candidates().is_empty();
    let candidates = if is_vague { error.candidates() } else { error.nearest() };
    if candidates.is_empty() || global.json || !pick::is_possible() {
        return Err(error.into());
    }
    let question =
        if is_vague { error.to_string() } else { format!("{error}; choose one of these, or press Esc") };
    let columns = Some(pick::columns());
    let lines: Vec<_> = candidates.iter().map(|candidate| pick::candidate_line(candidate, columns)).collect();
    let chosen = &candidates[pick::one_of(&question, &lines)?];
    Ok(TranscriptFile::at(&chosen.path))
}
