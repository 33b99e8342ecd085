//! What is in one session: items, turns and tool calls.

use annals_engine::end_of_lines;
use annals_proto::{self as wire, EntryRef, ErrorCode};
use annals_transcript::full_view::Step;
use annals_transcript::turn;

use super::page::{forward, gather};
use super::{Api, LONGEST_PAGE, limit};
use crate::cancel::CancelToken;
use crate::cursor::PageCursor;
use crate::mask::Masking;
use crate::open_sessions::OpenSession;
use crate::rpc::Error;

/// How many items, and how many turns or calls, a page has by default and at most.
const ITEMS: (usize, usize) = (200, 5000);
const ROWS: (usize, usize) = (1000, 10_000);

/// Where a page starts, and in which direction it goes.
enum From {
    Start,
    Last,
    Around(EntryRef),
    Before(EntryRef),
    After(EntryRef),
    Cursor(PageCursor),
}

impl Api {
    pub(super) fn read(
        &self,
        params: &wire::ReadParams,
        cancelled: &CancelToken,
    ) -> Result<wire::ReadResult, Error> {
        let limit = limit(params.limit, ITEMS.0, ITEMS.1)?;
        let (workspace, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let file = self.transcript(&params.session_id, workspace, agent)?;
        let from = From::of(params)?;
        let cursor = match &from {
            From::Cursor(cursor) => Some(cursor.clone()),
            _ => None,
        };
        let cancelled = cancelled.clone();
        self.with_session(&file, cursor.as_ref(), move |reading| read_page(reading, &from, limit, &cancelled))
    }

    pub(super) fn turns(
        &self,
        params: &wire::TurnsParams,
        cancelled: &CancelToken,
    ) -> Result<wire::TurnsResult, Error> {
        let limit = limit(params.limit, ROWS.0, ROWS.1)?;
        let (workspace, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let file = self.transcript(&params.session_id, workspace, agent)?;
        let cursor = params.cursor.as_deref().map(|cursor| PageCursor::read(cursor, 'u')).transpose()?;
        let start = cursor.as_ref().map_or(0, |cursor| cursor.at);
        let pause = params.pause_ms.map_or(turn::PAUSE_MS, |pause| i64::try_from(pause).unwrap_or(i64::MAX));
        let cancelled = cancelled.clone();
        self.with_session(&file, cursor.as_ref(), move |reading| {
            let turns = reading.conversation.turns();
            let page = forward(start, turns.len(), limit, &cancelled, |place| {
                Ok(Some(reading.to_wire.turn(&turns[place].with_pause(pause))?))
            })?;
            let next_cursor = (page.end < turns.len()).then(|| reading.cursor('u', page.end, false));
            let is_first = start == 0;
            let lost = is_first.then(|| reading.conversation.transcript().lost_messages());
            let lost_messages = lost.filter(|lost| *lost > 0);
            Ok(wire::TurnsResult { turns: page.items, next_cursor, lost_messages })
        })
    }

    pub(super) fn tools(
        &self,
        params: &wire::ToolsParams,
        masking: Option<&Masking>,
        cancelled: &CancelToken,
    ) -> Result<wire::ToolsResult, Error> {
        let limit = limit(params.limit, ROWS.0, ROWS.1)?;
        let (workspace, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let file = self.transcript(&params.session_id, workspace, agent)?;
        let cursor = params.cursor.as_deref().map(|cursor| PageCursor::read(cursor, 't')).transpose()?;
        let start = cursor.as_ref().map_or(0, |cursor| cursor.at);
        let (name, errors) = (params.name.clone(), params.errors.unwrap_or_default());
        let (masking, cancelled) = (masking.cloned(), cancelled.clone());
        self.with_session(&file, cursor.as_ref(), move |reading| {
            let calls = reading.conversation.all_calls();
            let page = forward(start, calls.len(), limit, &cancelled, |place| {
                if errors && !reading.conversation.is_failed(&calls[place])? {
                    return Ok(None);
                }
                let call = reading.to_wire.call(&reading.conversation, &calls[place], masking.as_ref())?;
                Ok(Some(call).filter(|call| {
                    name.as_ref().is_none_or(|name| {
                        call.name.as_ref().is_some_and(|called| called.eq_ignore_ascii_case(name))
                    })
                }))
            })?;
            let next_cursor = (page.end < calls.len()).then(|| reading.cursor('t', page.end, false));
            Ok(wire::ToolsResult { calls: page.items, next_cursor })
        })
    }
}

impl From {
    fn of(params: &wire::ReadParams) -> Result<Self, Error> {
        let cursor = params.cursor.as_deref().map(|cursor| PageCursor::read(cursor, 'r')).transpose()?;
        let given = [
            params.around.clone().map(From::Around),
            params.before.clone().map(From::Before),
            params.after.clone().map(From::After),
            params.last.filter(|last| *last).map(|_| From::Last),
            cursor.map(From::Cursor),
        ];
        let mut given = given.into_iter().flatten();
        let from = given.next().unwrap_or(From::Start);
        match given.next() {
            None => Ok(from),
            Some(_) => Err(Error::invalid_params(
                "only one of `around`, `before`, `after`, `last` and `cursor` is given",
            )),
        }
    }
}

fn read_page(
    reading: &OpenSession<'_>,
    from: &From,
    limit: usize,
    cancelled: &CancelToken,
) -> Result<wire::ReadResult, Error> {
    let total = reading.conversation.steps().len();
    let items = Items { reading, cancelled };
    // The second value is the start of the page if it is empty.
    let (gathered, empty_at) = match from {
        From::Start => (items.from(0, limit, LONGEST_PAGE)?, 0),
        From::Last => (items.before(total, limit, LONGEST_PAGE)?, total),
        From::Before(entry) => {
            let place = place_of(reading, entry)?;
            (items.before(place, limit, LONGEST_PAGE)?, 0)
        }
        From::After(entry) => {
            let place = place_of(reading, entry)?;
            (items.from(place + 1, limit, LONGEST_PAGE)?, total)
        }
        From::Around(entry) => {
            let place = place_of(reading, entry)?;
            let mut gathered = items.before(place, limit / 2, LONGEST_PAGE / 2)?;
            gathered.extend(items.from(place, limit - gathered.len(), LONGEST_PAGE / 2)?);
            (gathered, place)
        }
        From::Cursor(cursor) if cursor.back => (items.before(cursor.at, limit, LONGEST_PAGE)?, 0),
        From::Cursor(cursor) => (items.from(cursor.at, limit, LONGEST_PAGE)?, total),
    };
    let start = gathered.first().map_or(empty_at, |(place, _)| *place);
    let end = start + gathered.len();
    let path = reading.snapshot.path();
    let offset = end_of_lines(path, reading.length);
    Ok(wire::ReadResult {
        items: gathered.into_iter().map(|(_, item)| item).collect(),
        total,
        start,
        previous_cursor: (start > 0).then(|| reading.cursor('r', start, true)),
        next_cursor: (end < total).then(|| reading.cursor('r', end, false)),
        offset: offset.map_err(|source| annals_engine::Error::read(path, source))?,
        queued: if end < total {
            Vec::new()
        } else {
            reading.to_wire.queued(&reading.conversation, LONGEST_PAGE)?
        },
    })
}

/// The items of an open session, with their indices.
struct Items<'r, 'a> {
    reading: &'r OpenSession<'a>,
    cancelled: &'r CancelToken,
}

impl Items<'_, '_> {
    /// Returns items from an index on, as many as a page has.
    fn from(&self, start: usize, limit: usize, bytes: usize) -> Result<Vec<Indexed>, Error> {
        let total = self.reading.conversation.steps().len();
        gather(start..total, limit, bytes, self.cancelled, |index| self.item(index))
    }

    /// Returns the items before an index, as many as a page has, in the order of the session.
    fn before(&self, end: usize, limit: usize, bytes: usize) -> Result<Vec<Indexed>, Error> {
        let end = end.min(self.reading.conversation.steps().len());
        let mut gathered = gather((0..end).rev(), limit, bytes, self.cancelled, |index| self.item(index))?;
        gathered.reverse();
        Ok(gathered)
    }

    fn item(&self, index: usize) -> Result<Option<wire::HistoryItem>, Error> {
        let OpenSession { conversation, to_wire, .. } = self.reading;
        Ok(Some(to_wire.item(conversation, &conversation.steps()[index])?))
    }
}

type Indexed = (usize, wire::HistoryItem);

/// Finds the step of an entry. An entry with several lines is found by any of them.
fn place_of(reading: &OpenSession<'_>, entry: &EntryRef) -> Result<usize, Error> {
    let session = reading.snapshot.session();
    let nodes = session.nodes();
    let node = match entry {
        EntryRef::Line(line) => nodes.iter().position(|node| node.at.line == *line),
        EntryRef::Uuid(uuid) => {
            let id = session.id(uuid);
            id.and_then(|id| nodes.iter().position(|node| node.id == Some(id)))
        }
    };
    let node = node.map(|node| reading.conversation.duplicates().content(node));
    let place = node.and_then(|node| {
        let mut steps = reading.conversation.steps().iter();
        steps.position(|step| matches!(step, Step::Entry { node: found, .. } if *found == node))
    });
    place.ok_or_else(|| Error::new(ErrorCode::NotFound, "there is no such entry in the session"))
}
