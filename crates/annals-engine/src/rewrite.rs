//! Changes that replace a transcript: one entry taken out, or all of it put in from elsewhere.

use std::io::{self, BufRead, BufReader, Read};

use annals_transcript::json::Value;
use annals_transcript::write::rewrite::{self, Removed};
use annals_transcript::write::{Options, Target};

use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::TranscriptFile;
use crate::remote::Remote;
use crate::snapshot::Snapshot;
use crate::trash::TrashEntry;

/// How a session is replaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct HydrateOptions {
    /// Replace it although somebody writes to it.
    pub force: bool,
    /// Replace it although the log is empty.
    pub allow_empty: bool,
}

/// A session that was replaced, or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HydrateOutcome {
    /// How many entries it has.
    pub entries: usize,
    /// The entry of the trash that has what was there before.
    pub replaced: Option<TrashEntry>,
}

pub(crate) fn entry_id(file: &TranscriptFile, beginning: &str) -> Result<String, Error> {
    let snapshot = Snapshot::take(file.clone())?;
    match snapshot.session().ids_beginning(beginning)[..] {
        [id] => Ok(snapshot.session().id_texts().get(id)),
        _ => Err(Error::new(ErrorKind::NoEntry { id: beginning.to_owned() })),
    }
}

pub(crate) fn rehearse_removal(file: &TranscriptFile, id: &str, limit: u64) -> Result<Removed, Error> {
    Ok(rewrite::rehearse_removal(&file.path, id, limit)?)
}

pub(crate) fn remove_entry(
    engine: &Engine,
    file: &TranscriptFile,
    id: &str,
    limit: u64,
    force: bool,
) -> Result<Removed, Error> {
    engine.ensure_not_live(file, force)?;
    let session = file.session.as_deref();
    let _session = session.map(|session| engine.lock_exclusive(&file.path, session)).transpose()?;
    let patience = Options::default().patience;
    Ok(rewrite::remove_entry(&**engine.disk(), &file.path, id, limit, patience)?)
}

pub(crate) fn rehearse_hydrate(
    target: &Target,
    log: impl IntoIterator<Item = io::Result<Vec<u8>>>,
    options: HydrateOptions,
) -> Result<usize, Error> {
    Ok(rewrite::rehearse(&target.path(), log, options.allow_empty)?)
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
    let keep_old = || {
        replaced = Some(engine.keep_copy(&file)?);
        Ok::<_, Error>(())
    };
    match rewrite::hydrate(&**engine.disk(), &file.path, log, options.allow_empty, keep_old) {
        Ok(entries) => {
            let replaced = replaced.map(|kept| kept.complete(engine)).transpose()?;
            Ok(HydrateOutcome { entries, replaced })
        }
        Err(error) => {
            // Nothing was replaced. If this fails, too, the trash has a copy too many.
            let _ = replaced.map(|kept| engine.discard(&kept.trashed));
            Err(error)
        }
    }
}

/// A log of entries that is read as it comes: JSON objects, one a line, or one object with a list `loglines`.
pub struct Log(Box<dyn Iterator<Item = io::Result<Vec<u8>>>>);

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
        while first.trim_ascii().is_empty() && read_bounded_line(&mut source, &mut first)? > 0 {}
        if Value::new(&first).is_none() {
            // An object that is spread over several lines, or no JSON at all.
            source.by_ref().take(LONGEST_LINE + 1).read_to_end(&mut first)?;
            ensure_bounded(first.len())?;
        }
        let list = Value::new(&first).and_then(|value| value.get("loglines")).filter(|list| list.is_array());
        let is_blank = |line: &[u8]| line.trim_ascii().is_empty();
        let rest = std::iter::from_fn(move || {
            let mut line = Vec::new();
            let read = read_bounded_line(&mut source, &mut line);
            read.map(|count| (count > 0).then_some(line)).transpose()
        });
        let rest = rest.filter(move |line| !line.as_ref().is_ok_and(|line| is_blank(line)));
        let beginning: Vec<_> = match list {
            // What follows the list is read as entries, too: whatever it is, it is not passed over.
            Some(list) if Value::new(&first).is_some_and(Value::is_valid) => {
                list.items().map(|item| Ok(item.bytes().to_vec())).collect()
            }
            _ => first
                .split(|byte| *byte == b'\n')
                .filter(|line| !is_blank(line))
                .map(|line| Ok(line.to_vec()))
                .collect(),
        };
        Ok(Self(Box::new(beginning.into_iter().chain(rest))))
    }

    /// Reads a log from another machine. One that has no such log has an empty one.
    pub fn fetch(remote: &dyn Remote, address: &str) -> io::Result<Self> {
        match remote.open(address)? {
            Some(log) => Self::read(log),
            None => Self::read(io::empty()),
        }
    }
}

/// No entry of a log is longer than this: a source that never ends must not fill the memory.
const LONGEST_LINE: u64 = 256 * 1024 * 1024;

/// Reads a line, with its end; returns how many bytes it has.
fn read_bounded_line(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let count = source.take(LONGEST_LINE + 1).read_until(b'\n', line)?;
    ensure_bounded(line.len())?;
    Ok(count)
}

fn ensure_bounded(length: usize) -> io::Result<()> {
    let is_bounded = length as u64 <= LONGEST_LINE;
    let too_long = || io::Error::new(io::ErrorKind::InvalidData, "the log has a line of more than 256 MiB");
    is_bounded.then_some(()).ok_or_else(too_long)
}

impl Iterator for Log {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}
