//! Lists of sessions and projects.

use std::ops::ControlFlow;
use std::path::PathBuf;

use annals_engine::{ArchiveFilter, ListOptions, SessionRow};
use annals_proto as wire;
use annals_search::{DateError, When};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::{Api, LONGEST_PAGE, limit};
use crate::cancel::CancelToken;
use crate::cursor::{read_place, write_place};
use crate::rpc::Error;
use crate::to_wire;

/// The most sessions of a page.
const MOST_SESSIONS: usize = 1000;
/// How many projects are listed by default and at most.
const PROJECTS: (usize, usize) = (1000, 10_000);
/// The most problems that are reported.
const MOST_PROBLEMS: usize = 20;

impl Api {
    pub(super) fn list(
        &self,
        params: &wire::ListParams,
        cancelled: &CancelToken,
    ) -> Result<wire::ListResult, Error> {
        let limit = limit(params.limit, MOST_SESSIONS, MOST_SESSIONS)?;
        let wanted = ListOptions {
            project: workspace(params.workspace_path.as_deref())?,
            since: params.date_from.as_deref().map(|date| moment(date, Day::Start)).transpose()?,
            until: params.date_to.as_deref().map(|date| moment(date, Day::End)).transpose()?,
            inactive_since: params.inactive.as_deref().map(inactive_since).transpose()?,
            text: given(params.query.as_ref()),
            tool: given(params.tool_name.as_ref()),
            file: given(params.file_path.as_ref()),
            all: params.all.unwrap_or_default(),
            archived: params.archived.map(archive_filter).unwrap_or_default(),
            after: params.cursor.as_deref().map(read_place).transpose()?,
            limit: Some(limit + 1),
            // A session outside of the config folders could not be loaded either.
            inside: true,
            ..ListOptions::default()
        };
        let mut listing = self.engine.list_with_progress(&wanted, |_, _| match cancelled.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        cancelled.check()?;
        let next_cursor = end_page(&mut listing.sessions, limit);
        Ok(wire::ListResult {
            sessions: listing.sessions.into_iter().map(to_wire::session).collect(),
            next_cursor,
            problems: problems(&listing.errors),
        })
    }

    /// Describes one session as lists do.
    pub(super) fn describe_session(&self, params: &wire::OneSessionParams) -> Result<wire::Session, Error> {
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        Ok(to_wire::session(self.engine.session_row(&file)?))
    }

    pub(super) fn projects(&self, params: &wire::ProjectsParams) -> Result<wire::ProjectsResult, Error> {
        let limit = limit(params.limit, PROJECTS.0, PROJECTS.1)?;
        let (projects, errors) =
            self.engine.projects(&ListOptions { inside: true, ..ListOptions::default() });
        let total = projects.len();
        Ok(wire::ProjectsResult {
            projects: projects.iter().take(limit).map(to_wire::project).collect(),
            total,
            problems: problems(&errors),
        })
    }
}

pub(super) fn problems(errors: &[annals_engine::Error]) -> Vec<String> {
    errors.iter().take(MOST_PROBLEMS).map(ToString::to_string).collect()
}

/// Truncates a page at `limit` sessions or at `LONGEST_PAGE` bytes; returns the cursor of the next page.
pub fn end_page(sessions: &mut Vec<SessionRow>, limit: usize) -> Option<String> {
    let (mut count, mut bytes) = (0, 0);
    while count < sessions.len().min(limit) && bytes < LONGEST_PAGE {
        bytes += to_wire::weight(&sessions[count]);
        count += 1;
    }
    let has_more = sessions.len() > count;
    sessions.truncate(count);
    sessions.last().filter(|_| has_more).map(|last| write_place(&last.position()))
}

/// Returns the filter that a word stands for.
fn archive_filter(word: wire::ArchiveFilter) -> ArchiveFilter {
    match word {
        wire::ArchiveFilter::Exclude => ArchiveFilter::Exclude,
        wire::ArchiveFilter::Only => ArchiveFilter::Only,
        _ => ArchiveFilter::Include,
    }
}

/// Returns a filter; editors send an empty text for no filter.
fn given(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).cloned()
}

/// Reads the path of a working directory; an empty one is no path. The path selects sessions; nothing below it is opened
/// except the list of worktrees of a repository.
pub fn workspace(path: Option<&str>) -> Result<Option<PathBuf>, Error> {
    let Some(path) = path.filter(|path| !path.is_empty()) else { return Ok(None) };
    let goes_up = path.split(['/', '\\']).any(|name| name == "..");
    if !is_absolute(path) || goes_up || path.contains('\0') {
        return Err(Error::invalid_params("`workspacePath` is not an absolute path"));
    }
    Ok(Some(PathBuf::from(path)))
}

/// Returns whether a path is absolute on Unix or on Windows.
pub fn is_absolute(path: &str) -> bool {
    let is_drive =
        matches!(path.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    path.starts_with('/') || path.starts_with("\\\\") || is_drive
}

/// Which end of a day a date means.
#[derive(Clone, Copy)]
pub(super) enum Day {
    Start,
    End,
}

/// Reads a time, the start or the end of a day, a month or a year, or how long ago something was. What has no offset is in UTC.
pub(super) fn moment(text: &str, day: Day) -> Result<Timestamp, Error> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    // jiff ignores the name of a zone here.
    if text.contains('[') {
        return Err(no_moment());
    }
    // A text that jiff cannot read may be a time as people write it.
    let Ok(time) = text.parse::<DateTime>() else { return remembered_moment(text, day) };
    let is_day = !text.contains([':', 'T', 't', ' ']);
    let moment = match day {
        Day::End if is_day => time.checked_add(1.day()),
        _ => Ok(time),
    };
    let moment = moment.and_then(|time| time.to_zoned(TimeZone::UTC)).map(|zoned| zoned.timestamp());
    // The first and the last day cannot be represented as times; peers send them for "no bound".
    let bound = if time.year() < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Ok(moment.unwrap_or(bound))
}

/// Reads a time as people write it: `7d`, `yesterday`, `monday`, `2026-01`.
fn remembered_moment(text: &str, day: Day) -> Result<Timestamp, Error> {
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let time = text.parse::<When>().and_then(|when| match day {
        Day::Start => when.resolve(&now),
        Day::End => when.resolve_end(&now),
    });
    time.map_err(|_| no_moment())
}

fn no_moment() -> Error {
    Error::invalid_params(
        "a date is a day (2026-01-31, yesterday, monday), a month (2026-01), a time (2026-01-31T12:00:00Z) or how long ago something \
         was (7d, 12h)",
    )
}

/// Reads since when sessions are inactive: how long ago, a time, or the start of a day in UTC.
fn inactive_since(text: &str) -> Result<Timestamp, Error> {
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let time = text.parse::<When>().and_then(|when| when.resolve(&now));
    time.map_err(|error| match error {
        DateError::OutOfRange(_) => Error::invalid_params("`inactive` is too long ago"),
        _ => Error::invalid_params(
            "`inactive` is how long ago (90d, 12h, 2w), a day (2026-01-31) or a time (2026-01-31T12:00:00Z)",
        ),
    })
}

#[cfg(test)]
mod tests {
    use annals_proto::ErrorCode;
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn working_directories_are_absolute_on_any_system() {
        for path in ["/home/mia/茶", r"C:\Users\Wei\天气", "c:/x", r"\\server\share"] {
            assert_eq!(workspace(Some(path)).unwrap(), Some(PathBuf::from(path)), "{path}");
        }
        for none in [None, Some("")] {
            assert_eq!(workspace(none).unwrap(), None);
        }
        for path in ["x", "./x", "../x", "/a/../b", r"C:\a\..\b", "C:x", "/a\0b", "~"] {
            assert_eq!(workspace(Some(path)).unwrap_err().code, ErrorCode::InvalidParams, "{path}");
        }
    }

    #[test]
    fn inactivity_is_an_age_a_day_or_a_time() {
        let day = SignedDuration::from_hours(24);
        let before = Timestamp::now();
        let week_ago = inactive_since("1w").unwrap();
        assert!(before - day * 7 <= week_ago && week_ago <= Timestamp::now() - day * 7);
        assert_eq!(inactive_since("2026-01-31").unwrap().to_string(), "2026-01-31T00:00:00Z");
        assert_eq!(inactive_since("2026-01-31T12:00:00+08:00").unwrap().to_string(), "2026-01-31T04:00:00Z");
        assert_eq!(inactive_since("2026-01-31T23:00").unwrap().to_string(), "2026-01-31T23:00:00Z");
        for wrong in ["", "d", "-1d", "soon", "99999999999999999999w"] {
            assert_eq!(inactive_since(wrong).unwrap_err().code, ErrorCode::InvalidParams, "{wrong}");
        }
    }

    #[test]
    fn a_time_without_an_offset_is_in_utc() {
        for text in ["2026-03-01T23:00", "2026-03-01t23:00:00", "2026-03-01 23:00:00.0", "20260301T2300"] {
            for day in [Day::Start, Day::End] {
                assert_eq!(moment(text, day).unwrap().to_string(), "2026-03-01T23:00:00Z", "{text}");
            }
        }
    }

    #[test]
    fn a_day_that_cannot_be_represented_is_no_bound() {
        for (text, bound) in [("-009999-01-01", Timestamp::MIN), ("9999-12-31", Timestamp::MAX)] {
            for day in [Day::Start, Day::End] {
                assert_eq!(moment(text, day).unwrap(), bound, "{text}");
            }
        }
    }

    #[test]
    fn a_day_is_included_to_its_end() {
        for (text, day, expected) in [
            ("2026-01-31", Day::Start, "2026-01-31T00:00:00Z"),
            ("2026-01-31", Day::End, "2026-02-01T00:00:00Z"),
            ("2026-01-31T12:00:00+08:00", Day::End, "2026-01-31T04:00:00Z"),
            ("0000-01-01", Day::Start, "0000-01-01T00:00:00Z"),
            ("2026-01", Day::End, "2026-02-01T00:00:00Z"),
        ] {
            assert_eq!(moment(text, day).unwrap().to_string(), expected, "{text}");
        }
        assert_eq!(moment("9999-12-31", Day::End).unwrap(), Timestamp::MAX);
        for people in ["7d", "yesterday", "last monday"] {
            assert!(moment(people, Day::Start).unwrap() <= moment(people, Day::End).unwrap(), "{people}");
        }
        let endless = "last ".repeat(1 << 20);
        assert_eq!(super::moment(&endless, Day::Start).unwrap_err().code, ErrorCode::InvalidParams);
        for wrong in
            ["", "the other day", "2026-13-01", "9999-12-31T", "2026-01-31[Asia/Tokyo]", "2026-01-31+08:00"]
        {
            assert_eq!(moment(wrong, Day::Start).unwrap_err().code, ErrorCode::InvalidParams, "{wrong}");
        }
    }
}
