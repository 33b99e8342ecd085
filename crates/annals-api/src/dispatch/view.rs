//! What a viewer asks for: all rows of a session in a few bytes each, some rows with their content, more of one row.
//!
//! Rows are found once for an open session; when its file has grown, only what is new is read. A revision names the rows that a
//! viewer knows by their number and a hash, so that the server remembers nothing about viewers.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use annals_engine::{Snapshot, SpilledFile, SymlinkGuard, end_of_lines};
use annals_proto::{self as wire, ErrorCode, OpenRows};
use annals_render::{Filter, Found, Open, Outline, Piece, Rows, StoredText, line_count, slice};
use annals_transcript::checkpoint::{Change, Checkpoint};
use annals_transcript::entry::view::SpilledOutput;
use annals_transcript::full_view::Step;

use super::page::gather;
use super::{Api, LONGEST_PAGE};
use crate::cancel::CancelToken;
use crate::mask::Masking;
use crate::open_sessions::OpenSession;
use crate::rpc::Error;

/// The most rows of an answer.
const MOST_ROWS: usize = 200;
/// How many lines of a part an answer has by default and at most.
const LINES: (usize, usize) = (1000, 5000);
/// The most sessions whose rows are kept.
const MOST_OUTLINES: usize = 8;

/// The rows of the sessions that were viewed last, the most recent one at the end. They are a cache.
#[derive(Debug, Default)]
pub(super) struct Outlines(Mutex<Vec<(PathBuf, Checkpoint, Arc<Outline>)>>);

impl Outlines {
    /// Returns the rows of an open session.
    fn of(&self, reading: &OpenSession<'_>) -> Result<Arc<Outline>, Error> {
        let path = reading.snapshot.path();
        let kept = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let place = all.iter().position(|(kept, _, _)| kept == path);
            place.map(|place| all.remove(place))
        };
        let outline = match &kept {
            Some((_, checkpoint, outline)) if *checkpoint == reading.checkpoint => outline.clone(),
            // The file may have been replaced by another one.
            Some((_, checkpoint, outline))
                if checkpoint.offset() <= reading.length
                    && matches!(checkpoint.compare_path(path), Ok(Change::Same | Change::Grown)) =>
            {
                Arc::new(outline.extended(&reading.conversation)?)
            }
            _ => Arc::new(Outline::of(&reading.conversation)?),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((path.to_owned(), reading.checkpoint, outline.clone()));
        if all.len() > MOST_OUTLINES {
            all.remove(0);
        }
        Ok(outline)
    }
}

impl Api {
    pub(super) fn skeleton(&self, params: &wire::SkeletonParams) -> Result<wire::SkeletonResult, Error> {
        let (workspace, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let file = self.transcript(&params.session_id, workspace, agent)?;
        let known = params.revision.clone().zip(params.from);
        let outlines = self.outlines.clone();
        self.with_session(&file, None, move |reading| {
            let outline = outlines.of(reading)?;
            // Rows that the viewer has are not sent again, if they are still the same.
            let from = known.as_ref().map_or(0, |(revision, from)| {
                let count = count_of(reading, &outline, revision).unwrap_or(0);
                if *from <= count { *from } else { 0 }
            });
            skeleton(reading, &outline, from)
        })
    }

    pub(super) fn rows(
        &self,
        params: wire::RowsParams,
        masking: Option<&Masking>,
        cancelled: &CancelToken,
    ) -> Result<wire::RowsResult, Error> {
        let (workspace, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let file = self.transcript(&params.session_id, workspace, agent)?;
        let (outlines, masking, cancelled) = (self.outlines.clone(), masking.cloned(), cancelled.clone());
        let guard = self.engine.symlink_guard();
        self.with_session(&file, None, move |reading| {
            let outline = outlines.of(reading)?;
            let count = count_of(reading, &outline, &params.revision).ok_or_else(stale)?;
            let end = params.from.saturating_add(params.count.min(MOST_ROWS)).min(count);
            let rows = with_rows(reading, &outline, masking.as_ref(), &guard, |rows| {
                gather(params.from..end, MOST_ROWS, LONGEST_PAGE, &cancelled, |row| {
                    Ok(Some(rows.row(row, open_of(params.open.as_ref(), row))?))
                })
            })?;
            Ok(wire::RowsResult { rows: rows.into_iter().map(|(_, row)| row).collect() })
        })
    }

    pub(super) fn part(
        &self,
        params: wire::PartParams,
        masking: Option<&Masking>,
    ) -> Result<wire::PartResult, Error> {
        let (workspace, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let file = self.transcript(&params.session_id, workspace, agent)?;
        let (outlines, masking) = (self.outlines.clone(), masking.cloned());
        let guard = self.engine.symlink_guard();
        self.with_session(&file, None, move |reading| {
            let outline = outlines.of(reading)?;
            let count = count_of(reading, &outline, &params.revision).ok_or_else(stale)?;
            with_rows(reading, &outline, masking.as_ref(), &guard, |rows| part_of(rows, count, &params))
        })
    }

    pub(super) fn locate(&self, params: wire::LocateParams) -> Result<wire::LocateResult, Error> {
        let (workspace, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let file = self.transcript(&params.session_id, workspace, agent)?;
        let outlines = self.outlines.clone();
        self.with_session(&file, None, move |reading| {
            let outline = outlines.of(reading)?;
            let given = [
                params.uuid.is_some(),
                params.line.is_some(),
                params.turn.is_some(),
                params.call_id.is_some(),
            ];
            if given.iter().filter(|given| **given).count() != 1 {
                return Err(Error::invalid_params("one of `uuid`, `line`, `turn` and `callId` is given"));
            }
            let row = row_of(reading, &outline, &params);
            let row =
                row.ok_or_else(|| Error::new(ErrorCode::NotFound, "there is no such entry in the session"))?;
            Ok(wire::LocateResult { row, revision: revision(reading, &outline, outline.rows().len()) })
        })
    }
}

/// Calls `work` with the renderer of the rows of a session.
fn with_rows<T>(
    reading: &OpenSession<'_>,
    outline: &Outline,
    masking: Option<&Masking>,
    guard: &SymlinkGuard,
    work: impl FnOnce(&Rows<'_, '_, Snapshot>) -> Result<T, Error>,
) -> Result<T, Error> {
    let filter = masking.map(|masking| masking as &dyn Filter);
    let rows = Rows::new(&reading.conversation, outline, filter);
    work(&rows.with_stored_outputs(&|spilled| stored(reading, spilled, guard)))
}

/// Returns how much of a row is rendered.
fn open_of(open: Option<&OpenRows>, row: usize) -> Open {
    match open {
        Some(OpenRows::All(true)) => Open::First,
        Some(OpenRows::Rows(rows)) if rows.contains(&row) => Open::First,
        _ => Open::Folded,
    }
}

/// Returns a part of a row, which is one of the first `count` rows: some of its lines, or an image.
fn part_of(
    rows: &Rows<'_, '_, Snapshot>,
    count: usize,
    params: &wire::PartParams,
) -> Result<wire::PartResult, Error> {
    if params.row >= count {
        return Err(no_part());
    }
    let wanted = params.count.unwrap_or(LINES.0).clamp(1, LINES.1);
    let from = params.from.unwrap_or(0);
    if let Some(Piece { nodes, lines, next, .. }) = rows.piece(params.row, params.part, from, wanted)? {
        return Ok(wire::PartResult { nodes, lines, next, media: None, data: None });
    }
    match rows.part(params.row, params.part)?.ok_or_else(no_part)? {
        Found::Image(media, data) => Ok(wire::PartResult {
            nodes: Vec::new(),
            lines: 0,
            next: None,
            media: Some(media.to_owned()),
            data: Some(data),
        }),
        Found::Nodes(nodes) => {
            let (shown, next) = slice(&nodes, from, wanted);
            Ok(wire::PartResult { nodes: shown, lines: line_count(&nodes), next, media: None, data: None })
        }
    }
}

fn no_part() -> Error {
    Error::new(ErrorCode::NotFound, "there is no such part in the session")
}

/// A file with output, as the renderer reads it.
struct Stored(SpilledFile);

impl StoredText for Stored {
    fn length(&self) -> u64 {
        self.0.length()
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        self.0.read(offset, length)
    }
}

/// Opens output that was too long for a transcript. A file that cannot be read, or is outside of the config folders, counts as gone: what
/// the transcript has of it is shown.
fn stored(
    reading: &OpenSession<'_>,
    spilled: &SpilledOutput<'_>,
    guard: &SymlinkGuard,
) -> Option<Box<dyn StoredText>> {
    let found = reading.snapshot.spilled_output(spilled, Some(guard)).ok().flatten()?;
    Some(Box::new(Stored(found)))
}

fn skeleton(
    reading: &OpenSession<'_>,
    outline: &Outline,
    from: usize,
) -> Result<wire::SkeletonResult, Error> {
    let path = reading.snapshot.path();
    let offset = end_of_lines(path, reading.length);
    let rows = &outline.rows()[from..];
    Ok(wire::SkeletonResult {
        revision: revision(reading, outline, outline.rows().len()),
        total: outline.rows().len(),
        from,
        kinds: rows.iter().map(|row| row.kind.word()).collect(),
        lines: rows.iter().map(|row| row.lines).collect(),
        turns: outline.turns(&reading.conversation),
        failed: outline.failed(&reading.conversation)?,
        left: outline.left(),
        offset: offset.map_err(|source| annals_engine::Error::read(path, source))?,
    })
}

fn row_of(reading: &OpenSession<'_>, outline: &Outline, params: &wire::LocateParams) -> Option<usize> {
    let session = reading.snapshot.session();
    if let Some(turn) = params.turn {
        return outline.turns(&reading.conversation).get(turn.checked_sub(1)?).copied();
    }
    if let Some(call) = &params.call_id {
        return outline.row_of_call(session.id(call)?);
    }
    let node = match (&params.uuid, params.line) {
        (Some(uuid), _) => {
            let id = session.id(uuid)?;
            session.nodes().iter().position(|node| node.id == Some(id))?
        }
        (None, Some(line)) => session.nodes().iter().position(|node| node.at.line == line)?,
        (None, None) => return None,
    };
    outline.row_of(&reading.conversation, node)
}

/// Names the first rows of a session: their number, and a hash of what they are and where they stand in the file.
fn revision(reading: &OpenSession<'_>, outline: &Outline, count: usize) -> String {
    let nodes = reading.snapshot.session().nodes();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for row in &outline.rows()[..count] {
        let step = match outline.step(row) {
            Step::Entry { node, live } => nodes[*node].at.offset << 1 | u64::from(*live),
            Step::Branch { entries, last, .. } => u64::from(*entries) << 32 ^ nodes[*last as usize].at.offset,
            Step::Gap { .. } | Step::Root { .. } => 1,
        };
        hash = hash_with(hash, row.kind as u64 | u64::from(row.part) << 8);
        hash = hash_with(hash, step);
    }
    format!("{count}-{hash:016x}")
}

fn hash_with(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
}

/// Returns how many rows a revision names, if the session still has the same ones.
fn count_of(reading: &OpenSession<'_>, outline: &Outline, known: &str) -> Option<usize> {
    let count = known.split_once('-')?.0.parse().ok()?;
    (count <= outline.rows().len() && revision(reading, outline, count) == known).then_some(count)
}

fn stale() -> Error {
    Error::new(
        ErrorCode::StaleCursor,
        "the rows of the session are no longer those of this revision: ask for its skeleton again",
    )
}
