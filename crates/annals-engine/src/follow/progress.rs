//! How far a transcript was reported, and what was appended since.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use annals_transcript::checkpoint::{Change, Checkpoint};
use annals_transcript::entry::Problem;
use annals_transcript::file_state::FileState;
use annals_transcript::{Entry, Kind, Position, Reader};

use super::{Event, OnEvent};
use crate::catalog::listed_title;
use crate::files::{TranscriptFile, is_sparse};
use crate::tail::{Lines, Tail};

/// How far a transcript was reported. There is one for each file that is followed, so it is small.
#[derive(Debug, Default)]
pub(super) struct ReportProgress {
    tail: Tail,
    /// The length of the file and the time of its last change when it was read; `None` if it has to be read.
    stamp: Option<(u64, Option<SystemTime>)>,
    /// Set once something was reported.
    report: Option<Box<Report>>,
}

// There may be ten thousand.
const _: () = assert!(size_of::<ReportProgress>() <= 72);

#[derive(Debug)]
struct Report {
    file: TranscriptFile,
    /// The title that was reported last.
    title: Option<String>,
}

/// A file that was not changed for this long is not opened before it changes.
const AT_REST: Duration = Duration::from_secs(24 * 60 * 60);
/// Files above this size are checked for holes before they are searched.
const LARGE: u64 = 64 << 20;

impl ReportProgress {
    /// Starts at the last whole line of a transcript. A file that is at rest is not opened: of ten thousand, most are. Nor
    /// is a sparse file searched.
    pub(super) fn at_end(path: &Path, state: FileState) -> Self {
        let tail = if is_at_rest(&state) { None } else { search_end(path, &state).ok().flatten() };
        let tail = tail.unwrap_or_else(|| Tail::new(Checkpoint::new(state.identity, state.length, None)));
        Self { tail, stamp: Some(stamp(&state)), report: None }
    }

    /// Returns the transcript.
    pub(super) fn file(&mut self, path: &Path) -> TranscriptFile {
        self.report(path).file.clone()
    }

    fn report(&mut self, path: &Path) -> &mut Report {
        self.report.get_or_insert_with(|| Box::new(Report { file: TranscriptFile::at(path), title: None }))
    }

    /// Reports what happened to the file. One that cannot be read now is read when it is checked again.
    pub(super) fn check(&mut self, path: &Path, state: &FileState, on_event: OnEvent<'_>) {
        if !self.is_up_to_date(state) {
            let _ = self.read(path, on_event);
        }
    }

    fn is_up_to_date(&self, state: &FileState) -> bool {
        self.stamp == Some(stamp(state)) && self.tail.checkpoint().identity() == state.identity
    }

    /// Reports the entries after those that were reported. A line without its newline waits.
    fn read(&mut self, path: &Path, on_event: OnEvent<'_>) -> io::Result<()> {
        let mut file = File::open(path)?;
        let state = FileState::from(file.metadata()?);
        if self.tail.compare(&mut file, &state)? == Change::Replaced {
            on_event(&self.report(path).file, Event::Replaced);
        }
        self.stamp = None;
        // All lines are read together: an object may span several of them.
        if let Some(lines) = self.tail.find_lines(&mut file, state.length, u64::MAX)? {
            let hash = self.report_lines(path, &mut file, &lines, on_event)?;
            if !self.tail.advance(&mut file, &state, &lines, hash)? {
                return Ok(());
            }
        }
        self.stamp = Some(stamp(&state));
        Ok(())
    }

    /// Reports the entries of lines, one at a time. Returns the hash of the lines.
    fn report_lines(
        &mut self,
        path: &Path,
        file: &mut File,
        lines: &Lines,
        on_event: OnEvent<'_>,
    ) -> io::Result<u64> {
        let start = Position { offset: lines.start(), line: 1 };
        let mut reader = Reader::resume(lines.open(file)?, start);
        let mut hasher = DefaultHasher::new();
        let mut reported = start.offset;
        loop {
            let entry = match reader.read() {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(hasher.finish()),
                Err(error) => {
                    self.tail.skip_to(reported);
                    return Err(error);
                }
            };
            hasher.write(entry.bytes());
            reported += entry.bytes().len() as u64;
            // NUL bytes of a sparse file are not reported.
            if entry.problem() != Some(Problem::Nul) {
                self.report_entry(path, &entry, on_event);
            }
        }
    }

    fn report_entry(&mut self, path: &Path, entry: &Entry<'_>, on_event: OnEvent<'_>) {
        let report = self.report(path);
        on_event(&report.file, Event::Entry { offset: entry.at().offset, bytes: entry.bytes() });
        // Claude Code records titles again after every turn, so only a title that differs is reported. Which of several
        // titles counts is decided as in lists.
        if gives_title(entry.bytes())
            && let Some(title) = listed_title(path).map(|title| title.text)
            && report.title.as_ref() != Some(&title)
        {
            on_event(&report.file, Event::Title { title: &title });
            report.title = Some(title);
        }
    }
}

impl ReportProgress {
    /// Reports the title if the file beside the transcript has changed it. A title in the transcript itself comes before
    /// the one beside it, which then changes nothing.
    pub(super) fn check_title_beside(
        &mut self,
        path: &Path,
        before: Option<&str>,
        now: Option<&str>,
        on_event: OnEvent<'_>,
    ) {
        let title = listed_title(path).map(|title| title.text).unwrap_or_default();
        let is_changed = now.map_or(before != Some(&title), |now| now == title);
        let report = self.report(path);
        if before != now && is_changed && report.title.as_ref() != Some(&title) {
            on_event(&report.file, Event::Title { title: &title });
            report.title = Some(title);
        }
    }
}

/// Returns what changes when a file is written to.
fn stamp(state: &FileState) -> (u64, Option<SystemTime>) {
    (state.length, state.modified)
}

fn is_at_rest(state: &FileState) -> bool {
    let age = state.modified.and_then(|modified| modified.elapsed().ok());
    age.is_some_and(|age| age >= AT_REST)
}

/// Searches a file for the end of its last whole line; `None` for a sparse file, in which that takes too long.
fn search_end(path: &Path, state: &FileState) -> io::Result<Option<Tail>> {
    let mut file = File::open(path)?;
    if state.length > LARGE && is_sparse(&file) {
        return Ok(None);
    }
    Tail::at_end(&mut file, state).map(Some)
}

/// Returns whether an entry may change the title of its session.
fn gives_title(bytes: &[u8]) -> bool {
    matches!(Entry::new(bytes).kind(), Kind::CustomTitle | Kind::AiTitle | Kind::AgentName | Kind::Summary)
}
