//! Changes that replace a transcript: removing one entry, or writing all of it from a log.

use std::io::{self, BufRead, BufReader, Read};

use annals_transcript::json::Value;
use annals_transcript::write::rewrite::{self, RemovalMethod};
use annals_transcript::write::{Options, Target};

use crate::engine::Engine;
use crate::error::Error;
use crate::files::TranscriptFile;
use crate::remote::Remote;
use crate::snapshot::Snapshot;
use crate::trash::TrashEntry;

/// How a session is replaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct HydrateOptions {
    /// Replace the session even if another process writes to it.
    pub force: bool,
    /// Replace the session even if the log is empty.
    pub allow_empty: bool,
}

/// What hydrating a session did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HydrateOutcome {
    /// How many entries the session has now.
    pub entries: usize,
    /// The trash entry with the transcript that was replaced.
    pub replaced: Option<TrashEntry>,
}

pub(crate) fn entry_id(file: &TranscriptFile, beginning: &str) -> Result<String, Error> {
    let snapshot = Snapshot::take(file.clone())?;
    Ok(snapshot.session().id_texts().get(snapshot.entry(beginning)?))
}

pub(crate) fn rehearse_removal(file: &TranscriptFile, id: &str, limit: u64) -> Result<RemovalMethod, Error> {
    Ok(rewrite::rehearse_removal(&file.path, id, limit)?)
}

pub(crate) fn remove_entry(
    engine: &Engine,
    file: &TranscriptFile,
    id: &str,
    limit: u64,
    force: bool,
) -> Result<RemovalMethod, Error> {
    engine.ensure_not_live(file, force)?;
    let session = file.session.as_deref();
    let _session = session.map(|session| engine.lock_exclusive(&file.path, session)).transpose()?;
    let lock_timeout = Options::default().lock_timeout;
    Ok(rewrite::remove_entry(&**engine.disk(), &file.path, id, limit, lock_timeout)?)
}

pub(crate) fn rehearse_hydrate(
    target: &Target,
    log: impl IntoIterator<Item = io::Result<Vec<u8>>>,
    options: HydrateOptions,
) -> Result<usize, Error> {
    Ok(rewrite::rehearse_hydrate(&target.path(), log, options.allow_empty)?)
}

pub(crate) fn hydrate(
    engine: &Engine,
    target: &Target,
    log: impl IntoIterator<Item = io::Result<Vec<u8>>>,
    options: HydrateOptions,
) -> Result<HydrateOutcome, Error> {
    let file = TranscriptFile::at(&target.path());
    if file.path.exists() {
        engine.ensure_not_live(&file, options.force)?;
    }
    let _session = engine.lock_exclusive(&file.path, target.session_id())?;
    let mut replaced = None;
    let hydrated = rewrite::hydrate(&**engine.disk(), &file.path, log, options.allow_empty, || {
        replaced = Some(engine.keep_copy(&file)?);
        Ok::<_, Error>(())
    });
    match hydrated {
        Ok(entries) => {
            let replaced = replaced.map(|kept| kept.complete(engine)).transpose()?;
            Ok(HydrateOutcome { entries, replaced })
        }
        Err(error) => {
            // Nothing was replaced. If this fails, too, a needless copy stays in the trash.
            let _ = replaced.map(|kept| engine.discard(&kept.entry));
            Err(error)
        }
    }
}

/// A stream of log entries: JSON objects, one per line, or one object with a list `loglines`.
pub struct Log {
    entries: Box<dyn Iterator<Item = io::Result<Vec<u8>>>>,
    is_missing: bool,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Log")
    }
}

impl Log {
    /// Reads a log from any source.
    pub fn read(source: impl Read + 'static) -> io::Result<Self> {
        let mut source = BufReader::new(source);
        let mut first = Vec::new();
        while is_blank(&first) && read_bounded_line(&mut source, &mut first)? > 0 {}
        if Value::new(&first).is_none() {
            // This is an object that spans several lines, or no JSON at all.
            source.by_ref().take(LONGEST_LINE + 1).read_to_end(&mut first)?;
            ensure_bounded(first.len())?;
        }
        // Lines after a list are entries, too, so that nothing is skipped silently.
        let rest = std::iter::from_fn(move || next_line(&mut source).transpose());
        let rest = rest.filter(|line| !line.as_ref().is_ok_and(|line| is_blank(line)));
        let entries = Box::new(first_entries(&first).into_iter().map(Ok).chain(rest));
        Ok(Self { entries, is_missing: false })
    }

    /// Reads a log from another machine. A log that does not exist is empty.
    pub fn fetch(remote: &dyn Remote, address: &str) -> io::Result<Self> {
        match remote.open(address)? {
            Some(log) => Self::read(log),
            None => Ok(Self { is_missing: true, ..Self::read(io::empty())? }),
        }
    }

    /// Returns whether there is no such log on the other machine.
    pub fn is_missing(&self) -> bool {
        self.is_missing
    }
}

/// Returns the entries in the first bytes of a log: the items of `loglines`, or else one per line.
fn first_entries(bytes: &[u8]) -> Vec<Vec<u8>> {
    let whole = Value::new(bytes).filter(|value| value.is_valid());
    match whole.and_then(|value| value.get("loglines")).filter(|list| list.is_array()) {
        Some(list) => list.items().map(|item| item.bytes().to_vec()).collect(),
        None => bytes.split(|byte| *byte == b'\n').filter(|line| !is_blank(line)).map(Vec::from).collect(),
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// An entry of a log must not be longer than this: a source that never ends must not fill the memory.
const LONGEST_LINE: u64 = 256 * 1024 * 1024;

/// Reads the next line. Returns `None` at the end.
fn next_line(source: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let count = read_bounded_line(source, &mut line)?;
    Ok((count > 0).then_some(line))
}

/// Appends the next line, including its newline, and returns how many bytes were read.
fn read_bounded_line(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let count = source.take(LONGEST_LINE + 1).read_until(b'\n', line)?;
    ensure_bounded(line.len())?;
    Ok(count)
}

fn ensure_bounded(length: usize) -> io::Result<()> {
    if length as u64 > LONGEST_LINE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the log has a line of more than 256 MiB"));
    }
    Ok(())
}

impl Iterator for Log {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next()
    }
}
