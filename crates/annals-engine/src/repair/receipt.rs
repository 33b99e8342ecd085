//! Receipts of repairs, under the folder of annals: what was changed, and the file before and after.

use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use annals_transcript::json::{Value, quote};
use annals_transcript::project::resolve;
use annals_transcript::write::rewrite;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::plan::Plan;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind};
use crate::files::TranscriptFile;

/// The receipt of one repair.
#[derive(Debug)]
pub(super) struct Receipt {
    name: String,
    json: String,
    pub(super) length_before: u64,
    length_after: u64,
    hash_before: String,
    hash_after: String,
    /// The name of the file with the old bytes, if the transcript was written anew.
    backup: Option<String>,
}

impl Receipt {
    /// Returns the receipt of a plan that is about to be carried out.
    pub(super) fn of(file: &TranscriptFile, bytes: &[u8], plan: &Plan) -> Self {
        let after = match &plan.rewritten {
            Some(rewritten) => rewritten.clone(),
            None => [bytes, &plan.appended].concat(),
        };
        let (length_before, length_after) = (bytes.len() as u64, after.len() as u64);
        let (hash_before, hash_after) = (hash(bytes), hash(&after));
        let now = Timestamp::now();
        let stem = format!("{}.{}", key(file.session.as_deref(), &file.path), now.as_millisecond());
        let backup = plan.rewritten.as_ref().map(|_| format!("{stem}.backup"));
        let session = file.session.as_deref().map_or_else(|| "null".to_owned(), quote);
        let path = quote(&file.path.to_string_lossy());
        let changes: Vec<String> = plan
            .changes
            .iter()
            .map(|change| {
                let line = change.line.map_or_else(|| "null".to_owned(), |line| line.to_string());
                let (kind, reason) = (quote(change.kind.name()), quote(&change.kind.reason()));
                format!(
                    "{{\"line\":{line},\"uuid\":{},\"change\":{kind},\"reason\":{reason}}}",
                    quote(&change.uuid)
                )
            })
            .collect();
        let json = format!(
            "{{\"session\":{session},\"path\":{path},\"repairedAt\":{},\"backup\":{},\"before\":{},\"after\":{},\"changes\":[{}]}}\n",
            quote(&format!("{now:.3}")),
            backup.as_deref().map_or_else(|| "null".to_owned(), quote),
            state_json(length_before, &hash_before),
            state_json(length_after, &hash_after),
            changes.join(","),
        );
        Self {
            name: format!("{stem}.json"),
            json,
            length_before,
            length_after,
            hash_before,
            hash_after,
            backup,
        }
    }

    /// Writes the receipt and, before it, a backup of the old bytes if they will not be in the file any more.
    pub(super) fn write(&self, engine: &Engine, bytes: &[u8]) -> Result<PathBuf, Error> {
        let folder = engine.home().repairs();
        engine.make_folder(&folder)?;
        if let Some(backup) = &self.backup {
            rewrite::replace(&**engine.disk(), &folder.join(backup), |out| out.write_all(bytes))?;
        }
        let path = folder.join(&self.name);
        rewrite::replace(&**engine.disk(), &path, |out| out.write_all(self.json.as_bytes()))?;
        Ok(path)
    }

    /// Removes the receipt and the backup.
    pub(super) fn remove(&self, engine: &Engine, path: &Path) -> Result<(), Error> {
        engine.disk().remove_file(path).map_err(|source| Error::write(path, source))?;
        match self.backup_path(engine) {
            Some(backup) => {
                engine.disk().remove_file(&backup).map_err(|source| Error::write(&backup, source))
            }
            None => Ok(()),
        }
    }

    /// Returns whether the transcript was written anew, so that its old bytes are in the backup.
    pub(super) fn is_rewritten(&self) -> bool {
        self.backup.is_some()
    }

    /// Returns the bytes before the repair. `bytes` are those of the file. Fails if a backup is not what was written to it.
    pub(super) fn old_bytes(&self, engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        let Some(backup) = self.backup_path(engine) else {
            return Ok(first(bytes, self.length_before).unwrap_or(bytes).to_vec());
        };
        let old = fs::read(&backup).map_err(|source| Error::read(&backup, source))?;
        if hash(&old) == self.hash_before {
            return Ok(old);
        }
        Err(Error::new(ErrorKind::DamagedBackup { path: backup }))
    }

    fn backup_path(&self, engine: &Engine) -> Option<PathBuf> {
        // The name is read from a file; it must not lead elsewhere.
        let name = self.backup.as_ref().filter(|name| !name.contains(['/', '\\']))?;
        Some(engine.home().repairs().join(name))
    }

    /// Returns the last receipt of a transcript whose old bytes are still the beginning of the file.
    pub(super) fn last_of(engine: &Engine, file: &TranscriptFile, bytes: &[u8]) -> Option<(PathBuf, Self)> {
        paths_of(engine, file).into_iter().rev().find_map(|path| {
            let receipt = Self::read(&path).filter(|receipt| receipt.describes(bytes))?;
            Some((path, receipt))
        })
    }

    fn read(path: &PathBuf) -> Option<Self> {
        Self::parse(&fs::read_to_string(path).ok()?)
    }

    fn parse(json: &str) -> Option<Self> {
        let value = Value::new(json.as_bytes())?;
        let (length_before, hash_before) = state_of(value.get("before")?)?;
        let (length_after, hash_after) = state_of(value.get("after")?)?;
        Some(Self {
            name: String::new(),
            json: String::new(),
            length_before,
            length_after,
            hash_before,
            hash_after,
            backup: value.text("backup").map(std::borrow::Cow::into_owned),
        })
    }

    /// Returns whether a file has been repaired as the receipt says, whatever was appended to it since.
    fn describes(&self, bytes: &[u8]) -> bool {
        if self.is_rewritten() {
            return self.is_applied(bytes);
        }
        let old = first(bytes, self.length_before);
        bytes.len() as u64 > self.length_before && old.is_some_and(|old| hash(old) == self.hash_before)
    }

    /// Returns whether all that the repair wrote is in a file. A receipt is written before the repair, and an old copy of a file may come
    /// back after it.
    fn is_applied(&self, bytes: &[u8]) -> bool {
        first(bytes, self.length_after).is_some_and(|new| hash(new) == self.hash_after)
    }

    /// Returns whether nothing was appended since the repair.
    pub(super) fn is_last_change(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.length_after && hash(bytes) == self.hash_after
    }
}

/// Returns the paths of a transcript's receipts, the oldest first.
fn paths_of(engine: &Engine, file: &TranscriptFile) -> Vec<PathBuf> {
    let own = format!("{}.", key(file.session.as_deref(), &file.path));
    let entries = fs::read_dir(engine.home().repairs()).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.path());
    let receipts = names.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&own) && name.ends_with(".json")
    });
    let mut paths: Vec<PathBuf> = receipts.collect();
    paths.sort();
    paths
}

/// Removes the receipts of a transcript, with the copies of it.
pub(crate) fn forget(engine: &Engine, session: &str, transcript: &Path) -> Result<(), Error> {
    let own = format!("{}.", key(Some(session), transcript));
    for entry in fs::read_dir(engine.home().repairs()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&own) {
            let path = entry.path();
            engine.disk().remove_file(&path).map_err(|source| Error::write(&path, source))?;
        }
    }
    Ok(())
}

/// What earlier repairs of a transcript dealt with.
#[derive(Debug, Default)]
pub(crate) struct EarlierRepairs {
    /// The lines that they replaced.
    lines: HashSet<u64>,
    /// What they appended.
    appended: Vec<Range<u64>>,
}

impl EarlierRepairs {
    /// Reads the receipts of a transcript, as far as its bytes are those that they describe.
    pub(crate) fn of(engine: &Engine, file: &TranscriptFile) -> Self {
        let mut found = Self::default();
        let paths = paths_of(engine, file);
        if paths.is_empty() {
            return found;
        }
        let Ok(bytes) = fs::read(&file.path) else { return found };
        for json in paths.iter().filter_map(|path| fs::read_to_string(path).ok()) {
            let Some(receipt) = Receipt::parse(&json).filter(|receipt| receipt.is_applied(&bytes)) else {
                continue;
            };
            if receipt.is_rewritten() {
                // The new file has none of the lines that were wrong.
                continue;
            }
            found.appended.push(receipt.length_before..receipt.length_after);
            let changes = Value::new(json.as_bytes()).and_then(|value| value.get("changes"));
            found
                .lines
                .extend(changes.into_iter().flat_map(Value::items).filter_map(|one| one.number("line")));
        }
        found
    }

    /// Returns whether the file was repaired after the byte at an offset was written.
    pub(crate) fn follow(&self, offset: u64) -> bool {
        self.appended.iter().any(|appended| offset < appended.start)
    }

    /// Returns whether a repair replaced a line, or wrote it.
    pub(crate) fn replaced(&self, line: Option<u64>, offset: u64) -> bool {
        line.is_some_and(|line| self.lines.contains(&line))
            || self.appended.iter().any(|appended| appended.contains(&offset))
    }
}

/// Returns the beginning of the names of a transcript's receipts: its session, or a hash of its path. The file itself may be in the trash, so
/// only its folder is resolved.
fn key(session: Option<&str>, transcript: &Path) -> String {
    // The folder of a bare file name is an empty path, which cannot be resolved.
    let absolute = std::path::absolute(transcript).unwrap_or_else(|_| transcript.to_owned());
    let (folder, name) = (absolute.parent().unwrap_or(&absolute), absolute.file_name().unwrap_or_default());
    let path = resolve(folder).join(name);
    let path = &hash(path.to_string_lossy().as_bytes())[..16];
    session.map_or_else(|| path.to_owned(), |session| format!("{session}.{path}"))
}

/// Returns the length and the hash of a file as a receipt has them.
fn state_json(length: u64, hash: &str) -> String {
    format!("{{\"length\":{length},\"sha256\":{}}}", quote(hash))
}

/// Returns the length and the hash of a file from a receipt.
fn state_of(state: Value<'_>) -> Option<(u64, String)> {
    Some((state.number("length")?, state.text("sha256")?.into_owned()))
}

/// Returns the first bytes of a file, if it has so many.
fn first(bytes: &[u8], length: u64) -> Option<&[u8]> {
    bytes.get(..usize::try_from(length).ok()?)
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_are_found_however_the_path_was_typed() {
        let folder = std::env::current_dir().unwrap();
        let name = folder.file_name().unwrap();
        let absolute = key(None, &folder.join("q.jsonl"));
        for typed in
            [Path::new("q.jsonl"), Path::new("./q.jsonl"), &Path::new("..").join(name).join("q.jsonl")]
        {
            assert_eq!(key(None, typed), absolute, "{}", typed.display());
        }
    }
}
