//! A big session as a folder of pages with an index.
//!
//! A page begins with a turn, and ends before the turn in which it would get too long; a turn that is longer than several pages is split
//! between two rows. A page is kept in memory until it is whole, because its list of turns stands at its start.

use std::collections::HashMap;
use std::path::Path;

use annals_api::export::{About, Document, Format, Place, Sink, TurnRef, index_of_pages, page_name};
use annals_proto::ViewRow;

use super::file::Files;
use crate::failure::Failure;

/// A page with more bytes ends before the next turn.
const PAGE_BYTES: usize = 1 << 20;
/// A page with more bytes ends before the next row.
const MOST_PAGE_BYTES: usize = 4 * PAGE_BYTES;

/// The pages of a session.
pub(super) struct Pages<'a> {
    files: Files<'a>,
    folder: &'a Path,
    about: &'a About,
    format: Format,
    /// The turns of the session by the entry that starts them.
    turn_by_uuid: HashMap<&'a str, &'a TurnRef>,
    body: String,
    /// The turns that begin on the page that is being made.
    turns: Vec<TurnRef>,
    /// The turns of the pages that are written.
    written: Vec<Vec<TurnRef>>,
}

impl<'a> Pages<'a> {
    pub(super) fn new(files: Files<'a>, folder: &'a Path, about: &'a About, format: Format) -> Self {
        let turn = |turn: &'a TurnRef| Some((turn.uuid.as_deref()?, turn));
        Self {
            files,
            folder,
            about,
            format,
            turn_by_uuid: about.turns.iter().filter_map(turn).collect(),
            body: String::new(),
            turns: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Writes the last page and the index.
    pub(super) fn finish(mut self, document: &dyn Document, masked: Option<&str>) -> Result<(), Failure> {
        self.write_page(document, false)?;
        let text = index_of_pages(self.format, self.about, &self.written, masked);
        self.files
            .write(&self.folder.join(self.format.index_name()), |out| Ok(out.write_all(text.as_bytes())?))
    }

    fn write_page(&mut self, document: &dyn Document, has_next: bool) -> Result<(), Failure> {
        let place = Place { number: self.written.len() + 1, has_next };
        let about = About {
            title: self.about.title.clone(),
            facts: self.about.facts.clone(),
            turns: std::mem::take(&mut self.turns),
        };
        let (mut start, mut end) = (String::new(), String::new());
        document.begin(&about, Some(&place), &mut start);
        document.end(Some(&place), None, &mut end);
        let path = self.folder.join(page_name(place.number, self.format.ending()));
        let body = std::mem::take(&mut self.body);
        self.files.write(&path, |out| {
            [&start, &body, &end].into_iter().try_for_each(|text| Ok(out.write_all(text.as_bytes())?))
        })?;
        self.written.push(about.turns);
        Ok(())
    }
}

impl Sink for Pages<'_> {
    type Error = Failure;

    fn before_row(&mut self, row: &ViewRow, document: &dyn Document) -> Result<(), Failure> {
        let turn = row.uuid.as_deref().and_then(|uuid| self.turn_by_uuid.remove(uuid));
        let longest = if turn.is_some() { PAGE_BYTES } else { MOST_PAGE_BYTES };
        if self.body.len() >= longest {
            self.write_page(document, true)?;
        }
        self.turns.extend(turn.cloned());
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.body.push_str(text);
        Ok(())
    }
}
