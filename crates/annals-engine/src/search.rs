//! Search: everything that was said, thought, called and printed in sessions, found by words.
//!
//! [`document`] decides which texts an entry gives, [`index`] stores their words, [`mod@update`] reads what was appended to
//! transcripts since the last time, with [`listing`] to notice that nothing was, and [`find`] answers queries; [`filter`] has their filters, [`facts`] what they ask about documents, [`term_matches`] which have one term and how well they match, from [`postings`]. [`mod@scan`] searches the transcripts
//! themselves. [`spilled`] reads output that stands in files of its own. What words and queries are is decided by
//! `annals-search`. The index has no texts: what a hit shows is read from its transcript, and a hit whose transcript does not
//! have that text any more is left out.

mod document;
mod facts;
mod filter;
mod find;
mod index;
mod listing;
mod postings;
mod scan;
mod spilled;
mod term_matches;
mod update;

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use annals_search::{Part, Query, Role, Snippet};
use annals_transcript::write::fs::Handle;
use annals_transcript::write::{Access, lock_file};
use jiff::Zoned;

use crate::database::{is_broken, is_damaged, remove_file};
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::TranscriptFile;
use index::Index;
pub use scan::{Pattern, PatternError};

/// Changes text before it is indexed and shown, such as one that masks secrets.
pub trait TextFilter: Sync {
    /// Returns the text as it may be indexed and shown.
    fn filter<'t>(&self, text: &'t str) -> Cow<'t, str>;

    /// Returns the arguments of a call, which are JSON, as they may be indexed and shown. The name of an argument may say that
    /// its value is a secret. The texts in them are filtered again.
    fn filter_arguments<'t>(&self, json: &'t [u8]) -> Cow<'t, [u8]> {
        Cow::Borrowed(json)
    }

    /// Returns a number that changes with the rules. An index that was made by other rules is made anew.
    fn fingerprint(&self) -> u64;

    /// Returns whether a filtered text may contain this text where the original does not, ignoring the case of ASCII letters.
    /// A search for that text may skip originals without it only if this is `false`.
    fn may_write(&self, _text: &str) -> bool {
        true
    }
}

/// Text as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unfiltered;

impl TextFilter for Unfiltered {
    fn filter<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }

    fn fingerprint(&self) -> u64 {
        0
    }

    fn may_write(&self, _text: &str) -> bool {
        false
    }
}

/// How to update the index.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// How many bytes of each text are indexed; what follows in a longer output of a tool is not found. The index is made
    /// anew if this changes.
    pub text_limit: usize,
    /// How long to wait while another process updates the index.
    pub wait: Duration,
    /// Whether to make the index anew.
    pub rebuild: bool,
    /// Whether the same pass over new bytes brings the catalogue up to date with what was done in sessions (tools, files, numbers of
    /// messages), so that lists that ask for it read nothing.
    pub feeds_catalog: bool,
    /// Whether an index that was made by other rules is left alone. A server has the rules that it started with, and must not
    /// replace what others have indexed with newer ones.
    pub keeps_other_rules: bool,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            text_limit: 256 * 1024,
            wait: Duration::from_secs(10),
            rebuild: false,
            feeds_catalog: true,
            keeps_other_rules: false,
        }
    }
}

/// How far an update is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexProgress {
    /// The bytes of transcripts that were indexed.
    pub bytes: u64,
    /// The bytes that were not indexed when the update began.
    pub total: u64,
}

/// What an update did.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct IndexReport {
    /// How many documents are new.
    pub documents: u64,
    /// How many transcripts were read.
    pub files: usize,
    /// How many transcripts are gone.
    pub removed: usize,
    /// How many bytes were read.
    pub bytes: u64,
    /// How many bytes of text were found in them, filtered and cut.
    pub text_bytes: u64,
    /// Whether the index was made anew: there was none, or it was damaged, of another version or made by other rules.
    pub is_rebuilt: bool,
    /// Whether everything was read. It was not if the caller stopped it.
    pub is_complete: bool,
    /// Transcripts and folders that could not be read. What was indexed of them before stays.
    pub errors: Vec<Error>,
}

/// What the index has, and what it lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexStatus {
    /// Whether there is an index that can be searched.
    pub exists: bool,
    /// How many documents it has: parts of messages, each once.
    pub documents: u64,
    /// How many transcripts it knows.
    pub files: usize,
    /// The size of its database in bytes.
    pub size: u64,
    /// What it lacks.
    pub behind: Behind,
}

/// How much of the transcripts is not indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Behind {
    /// How many transcripts are new, longer, changed or gone.
    pub files: usize,
    /// How many of their bytes are not indexed.
    pub bytes: u64,
}

/// How to search.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    /// The order of hits.
    pub order: Order,
    /// How many hits of one session are shown together; `None` shows hits of all sessions in one list.
    pub per_session: Option<usize>,
    /// At most so many sessions, or hits in one list.
    pub limit: usize,
    /// Where the page begins: [`SearchAnswer::next`] of the page before.
    pub after: Option<SearchCursor>,
    /// How wide snippets are, in columns of a terminal.
    pub snippet_width: usize,
    /// Only hits whose transcript is really in a config folder of Claude Code, after resolving links.
    pub inside: bool,
    /// Whether to compare the index with the transcripts, which needs the state of every file.
    pub measure_behind: bool,
    /// The present time, for filters such as `after:7d` and for the order.
    pub now: Zoned,
    /// Whether hits show text as it is in the transcript, unfiltered. What is found does not depend on it.
    pub reveal: bool,
    /// When to stop. The answer then has what was found so far, and says that it was cut.
    pub deadline: Option<Instant>,
    /// At most about so many bytes of transcripts are read.
    pub max_bytes: Option<u64>,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            order: Order::Relevance,
            per_session: Some(3),
            limit: 20,
            after: None,
            snippet_width: 160,
            inside: false,
            measure_behind: false,
            now: Zoned::now(),
            reveal: false,
            deadline: None,
            max_bytes: None,
        }
    }
}

impl SearchOptions {
    /// Returns the limit that is reached after so many bytes were read.
    fn reached(&self, bytes: u64) -> Option<Limit> {
        if self.max_bytes.is_some_and(|most| bytes >= most) {
            return Some(Limit::Bytes);
        }
        self.deadline.filter(|deadline| Instant::now() >= *deadline).map(|_| Limit::Time)
    }
}

/// The order of hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The best first: by words, by who said them, and by age.
    #[default]
    Relevance,
    /// The newest first.
    Time,
}

/// What was found.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SearchAnswer {
    /// The hits of this page. Those of one session follow each other, unless they are in one list.
    pub hits: Vec<Hit>,
    /// How many documents match.
    pub total: u64,
    /// How many sessions have them, as far as they were ranked.
    pub sessions: usize,
    /// Which matches were ranked.
    pub ranking: Ranking,
    /// What the index lacks, if that was asked for.
    pub behind: Option<Behind>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<SearchCursor>,
    /// Words that may be meant instead, if nothing was found.
    pub corrections: Vec<MisspeltWord>,
    /// The limit that cut the answer; there may be more hits, and the numbers may be too small.
    pub cut: Option<Limit>,
    /// Transcripts and folders that could not be read, if the files themselves were searched.
    pub errors: Vec<Error>,
}

/// A limit of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`SearchOptions::deadline`].
    Time,
    /// [`SearchOptions::max_bytes`].
    Bytes,
}

/// Which matches were ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ranking {
    /// All of them.
    #[default]
    All,
    /// There are many, and only those that were indexed last were ranked.
    Newest,
}

/// A word that was not found, and those that may be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MisspeltWord {
    /// The word, as the index has words: in lower case, without accents.
    pub word: String,
    /// Words of the index that are close to it, the best first.
    pub corrections: Vec<String>,
}

/// A part of a message that matches.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Hit {
    /// The transcript, with the session and the agent that it belongs to.
    pub file: TranscriptFile,
    /// The entry, by its uuid.
    pub entry: Option<String>,
    /// What it is in the conversation.
    pub part: Part,
    /// Who wrote it.
    pub role: Role,
    /// The tool that was called.
    pub tool: Option<String>,
    /// The working directory.
    pub project: Option<String>,
    /// The time of the entry.
    pub time: Option<jiff::Timestamp>,
    /// Whether it is an error.
    pub is_error: bool,
    /// Whether the text stands in a file of its own beside the transcript, because it was too long for an entry.
    pub is_spilled: bool,
    /// How good the hit is: larger is better. It has no meaning beyond this answer.
    pub score: f64,
    /// A line of the text, filtered, with the matches in it.
    pub snippet: Snippet,
    /// Other transcripts in which the same message stands, copies and forks, whatever sessions the query selects.
    pub copies: Vec<Copy>,
    /// How many further transcripts have it, which were not read for the hit.
    pub more_copies: usize,
    /// How many matches of the session were ranked.
    pub in_session: usize,
}

impl Hit {
    /// Adds the transcripts that another hit of the same part is in, too.
    fn add_copies(&mut self, other: Self) {
        for copy in other.copies {
            if !self.is_in(&copy.file) {
                self.copies.push(copy);
            }
        }
        self.more_copies = self.more_copies.max(other.more_copies);
    }

    /// Returns whether it is known that the message stands in a transcript.
    fn is_in(&self, file: &TranscriptFile) -> bool {
        self.file == *file || self.copies.iter().any(|copy| copy.file == *file)
    }
}

/// Another transcript in which a message stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copy {
    /// The transcript.
    pub file: TranscriptFile,
    /// The entry, by its uuid.
    pub entry: Option<String>,
}

/// A position in what was found. Documents that are indexed later are on none of the following pages. By time, they change nothing
/// else; by relevance, they change how rare words are, so that hits close to the position may be shown again or left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchCursor {
    /// The index that was searched.
    generation: u64,
    /// The last document that the index had.
    newest: i64,
    /// The time of the first page, in milliseconds.
    now: i64,
    /// The last hit that was shown, or the first of the last session.
    score: f64,
    document: i64,
}

impl fmt::Display for SearchCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { generation, newest, now, score, document } = self;
        write!(formatter, "{generation:x}.{newest:x}.{now:x}.{:x}.{document:x}", score.to_bits())
    }
}

/// The text is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no cursor of a search")]
pub struct CursorError;

impl FromStr for SearchCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let numbers: Result<Vec<_>, _> =
            text.split('.').map(|number| u64::from_str_radix(number, 16)).collect();
        let Ok(&[generation, newest, now, score, document]) = numbers.as_deref() else {
            return Err(CursorError);
        };
        Ok(Self {
            generation,
            newest: newest.cast_signed(),
            now: now.cast_signed(),
            score: f64::from_bits(score),
            document: document.cast_signed(),
        })
    }
}

pub(crate) fn update(
    engine: &Engine,
    filter: &dyn TextFilter,
    options: &IndexOptions,
    progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> Result<IndexReport, Error> {
    let _lock = lock(engine, options.wait)?;
    let path = engine.home().search_index();
    let mut updated = if options.rebuild && path.exists() {
        update::rebuild(engine, &path, filter, options, progress)
    } else {
        update::update(engine, &path, filter, options, progress)
    };
    if !options.rebuild && updated.as_ref().is_err_and(is_broken) {
        remove_file(&path);
        updated = update::update(engine, &path, filter, options, progress);
    }
    updated.map_err(|error| Error::index(&path, error))
}

pub(crate) fn update_files(
    engine: &Engine,
    filter: &dyn TextFilter,
    options: &IndexOptions,
    paths: &[PathBuf],
) -> Result<IndexReport, Error> {
    let _lock = lock(engine, options.wait)?;
    let path = engine.home().search_index();
    match update::update_files(engine, &path, filter, options, paths) {
        Ok(Some(report)) => Ok(report),
        Ok(None) => Err(Error::new(ErrorKind::NoIndex)),
        Err(error) if is_broken(&error) => {
            remove_file(&path);
            Err(Error::new(ErrorKind::NoIndex))
        }
        Err(error) => Err(Error::index(&path, error)),
    }
}

/// Removes everything that stands only in transcripts that do not exist any more, or in an earlier version of this one, so that no
/// word of it is left in the file.
pub(crate) fn forget(engine: &Engine, transcript: &Path) -> Result<(), Error> {
    let path = engine.home().search_index();
    if !Index::exists(&path) {
        return Ok(());
    }
    let _lock = lock(engine, IndexOptions::default().wait)?;
    match update::forget(&path, transcript) {
        Err(error) if is_broken(&error) => {
            remove_file(&path);
            Ok(())
        }
        forgotten => forgotten.map_err(|error| Error::index(&path, error)),
    }
}

pub(crate) fn status(engine: &Engine, filter: &dyn TextFilter) -> Result<IndexStatus, Error> {
    let path = engine.home().search_index();
    let status = match status_of(engine, &path, filter) {
        Err(error) if is_broken(&error) => Ok(None),
        status => status,
    };
    let nothing = || IndexStatus { behind: update::missing(engine), ..IndexStatus::default() };
    status.map(|status| status.unwrap_or_else(nothing)).map_err(|error| Error::index(&path, error))
}

/// Returns the status of an index that can be searched. It stays open for the search that may follow.
fn status_of(engine: &Engine, path: &Path, filter: &dyn TextFilter) -> rusqlite::Result<Option<IndexStatus>> {
    let index = engine.open_indexes().take(path)?;
    let Some(index) = index.filter(|index| index.settings.rules == filter.fingerprint()) else {
        return Ok(None);
    };
    let status = IndexStatus {
        exists: true,
        documents: index.documents()?,
        files: index.number_of_files()?,
        size: path.metadata().map_or(0, |metadata| metadata.len()),
        behind: update::behind(engine, &index)?,
    };
    engine.open_indexes().put(index);
    Ok(Some(status))
}

pub(crate) fn clear(engine: &Engine) -> Result<(), Error> {
    let path = engine.home().search_index();
    if Index::exists(&path) {
        let _lock = lock(engine, IndexOptions::default().wait)?;
        remove_file(&path);
    }
    Ok(())
}

pub(crate) fn search(
    engine: &Engine,
    query: &Query,
    filter: &dyn TextFilter,
    options: &SearchOptions,
) -> Result<SearchAnswer, Error> {
    let path = engine.home().search_index();
    let answer = engine.open_indexes().take(&path).and_then(|index| {
        let index = index.filter(|index| index.settings.rules == filter.fingerprint());
        let Some(index) = index else { return Ok(None) };
        let find = || find::find(engine, &index, query, filter, options);
        let answer = interrupted_at(options.deadline, &index, find)?;
        engine.open_indexes().put(index);
        Ok(Some(answer))
    });
    match answer {
        Ok(Some(answer)) => answer,
        Ok(None) => Err(Error::new(ErrorKind::NoIndex)),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) => {
            Err(Error::new(ErrorKind::OutOfTime))
        }
        // A database that cannot be written to is read without what was written last, and may seem damaged for that reason.
        Err(error) if is_damaged(&error) && !Index::is_write_protected(&path) => {
            remove_damaged(engine, &path);
            Err(Error::new(ErrorKind::NoIndex))
        }
        Err(error) => Err(Error::index(&path, error)),
    }
}

/// Indexes that stay open between searches, with the pages that were read and the statements that were prepared.
#[derive(Debug, Default)]
pub(crate) struct OpenIndexes(Mutex<Vec<Index>>);

impl OpenIndexes {
    /// So many stay open. On Windows none does, because nobody could replace or remove its file meanwhile.
    const MOST: usize = if cfg!(windows) { 0 } else { 2 };

    /// Opens the index, unless one is open. Returns `None` if there is none of this version.
    fn take(&self, path: &Path) -> rusqlite::Result<Option<Index>> {
        let open = std::mem::take(&mut *self.lock());
        let mut current = open.into_iter().filter(|index| index.is_current(path));
        let taken = current.next();
        self.lock().extend(current);
        taken.map_or_else(|| Index::open(path), |index| Ok(Some(index)))
    }

    fn put(&self, index: Index) {
        let mut open = self.lock();
        if open.len() < Self::MOST {
            open.push(index);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Index>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does work with an index; statements that still run at the deadline fail.
fn interrupted_at<T>(deadline: Option<Instant>, index: &Index, work: impl FnOnce() -> T) -> T {
    let Some(deadline) = deadline else { return work() };
    let handle = index.connection.get_interrupt_handle();
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            // The sender is dropped when the work is done.
            if is_done.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                handle.interrupt();
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}

pub(crate) fn scan(
    engine: &Engine,
    pattern: &Pattern,
    query: &Query,
    filter: &dyn TextFilter,
    options: &SearchOptions,
) -> Result<SearchAnswer, Error> {
    scan::scan(engine, pattern, query.filters(), filter, options)
}

/// Removes a damaged index, unless another process is at work on it, which then finds the damage itself.
fn remove_damaged(engine: &Engine, path: &Path) {
    if let Ok(_lock) = lock(engine, Duration::ZERO) {
        remove_file(path);
    }
}

/// Takes the lock of the index, which whoever writes to it holds.
fn lock(engine: &Engine, wait: Duration) -> Result<Box<dyn Handle>, Error> {
    engine.make_folder(&engine.home().locks())?;
    let path = engine.home().locks().join("search.lock");
    let lock = lock_file(&**engine.disk(), &path, Access::Exclusive, wait)
        .map_err(|error| if error.is_busy() { Error::new(ErrorKind::IndexBusy) } else { error.into() })?;
    Index::clean_up(&**engine.disk(), &engine.home().search_index());
    Ok(lock)
}

#[cfg(test)]
mod recall;
#[cfg(test)]
mod tests;
