//! Cursors: opaque text that says where a page ends.
//!
//! A cursor holds everything that the next page needs, so that the server keeps no state. A forged cursor is refused or
//! leads to some page of a session that the peer may read anyway.

use annals_engine::ListPosition;
use annals_proto::ErrorCode;
use annals_transcript::checkpoint::Checkpoint;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;

use crate::rpc::Error;

/// Separates the parts of a cursor. No id, key or number contains it.
const BETWEEN: char = '\n';

/// A position in a list of a session at a length: pages stay the same while the file grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCursor {
    /// The letter of the list that is paged.
    pub list: char,
    /// The file at the length that the list was made from.
    pub checkpoint: Checkpoint,
    /// The index at which the page begins, or with `back` the index at which it ends.
    pub at: usize,
    /// Whether the page is before that index.
    pub back: bool,
}

impl PageCursor {
    /// Returns the cursor as text.
    pub fn write(&self) -> String {
        let Self { list, checkpoint, at, back } = self;
        seal(&[&list.to_string(), &checkpoint.to_string(), &at.to_string(), &back.to_string()])
    }

    /// Reads a cursor of a list, and refuses cursors of other lists.
    pub fn read(cursor: &str, list: char) -> Result<Self, Error> {
        let parts = open(cursor)?;
        let [found, checkpoint, at, back] = &parts[..] else { return Err(unreadable()) };
        if *found != list.to_string() {
            return Err(unreadable());
        }
        let checkpoint = Checkpoint::parse(checkpoint).ok_or_else(unreadable)?;
        Ok(Self { list, checkpoint, at: number(at)?, back: number(back)? })
    }
}

/// Returns the cursor of a position in the list of sessions.
pub(crate) fn write_place(place: &ListPosition) -> String {
    let updated = place.updated.map(|time| time.to_string()).unwrap_or_default();
    seal(&["s", &updated, place.session.as_deref().unwrap_or_default(), &place.project_key])
}

/// Reads the cursor of a position in the list of sessions.
pub fn read_place(cursor: &str) -> Result<ListPosition, Error> {
    let parts = open(cursor)?;
    let [kind, updated, session, project_key] = &parts[..] else { return Err(unreadable()) };
    if kind != "s" {
        return Err(unreadable());
    }
    let updated: Option<Timestamp> = if updated.is_empty() { None } else { Some(number(updated)?) };
    Ok(ListPosition { updated, session: Some(session.clone()), project_key: project_key.clone() })
}

/// Returns the cursor of an index in the list of a session's agents.
pub(crate) fn write_agent_index(index: usize) -> String {
    seal(&["a", &index.to_string()])
}

/// Reads the cursor of an index in the list of a session's agents.
pub(crate) fn read_agent_index(cursor: &str) -> Result<usize, Error> {
    let parts = open(cursor)?;
    match &parts[..] {
        [kind, index] if kind == "a" => number(index),
        _ => Err(unreadable()),
    }
}

/// Returns the error of a cursor whose file was replaced.
pub(crate) fn stale() -> Error {
    Error::new(ErrorCode::StaleCursor, "the session was replaced or cut off: begin again without a cursor")
}

fn seal(parts: &[&str]) -> String {
    URL_SAFE_NO_PAD.encode(parts.join(&BETWEEN.to_string()))
}

fn open(cursor: &str) -> Result<Vec<String>, Error> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| unreadable())?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable())?;
    Ok(text.split(BETWEEN).map(str::to_owned).collect())
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, Error> {
    text.parse().map_err(|_| unreadable())
}

fn unreadable() -> Error {
    Error::invalid_params("`cursor` is none that this method has given")
}

#[cfg(test)]
mod tests {
    use annals_transcript::checkpoint::Fingerprint;

    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was_written_and_nothing_else_is_taken() {
        let checkpoint = Checkpoint::new((1, u64::MAX), 1 << 40, Fingerprint::from_number(-1));
        let page = PageCursor { list: 'r', checkpoint, at: 17, back: true };
        assert_eq!(PageCursor::read(&page.write(), 'r').unwrap(), page);
        let place = ListPosition {
            updated: Some("2026-03-01T10:00:00.123456789Z".parse().unwrap()),
            session: Some("3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55".to_owned()),
            project_key: "-home-mia-茶".to_owned(),
        };
        assert_eq!(read_place(&write_place(&place)).unwrap(), place);
        let timeless = ListPosition { updated: None, ..place.clone() };
        assert_eq!(read_place(&write_place(&timeless)).unwrap(), timeless);
        for wrong in ["", "!", "AAAA", "../../etc/passwd", &page.write()[1..], &write_place(&place)] {
            assert_eq!(PageCursor::read(wrong, 'r').unwrap_err().code, ErrorCode::InvalidParams, "{wrong}");
        }
        assert!(PageCursor::read(&page.write(), 'l').is_err(), "of another list");
        assert!(read_place(&page.write()).is_err());
        assert_eq!(read_agent_index(&write_agent_index(17)).unwrap(), 17);
        for wrong in ["", "!", &page.write(), &write_place(&place)] {
            assert_eq!(read_agent_index(wrong).unwrap_err().code, ErrorCode::InvalidParams, "{wrong}");
        }
    }
}
