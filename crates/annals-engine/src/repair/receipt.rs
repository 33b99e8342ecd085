//! Receipts of repairs, under the folder of annals: what was changed, and the file before and after.

use std::fs;
use std::path::PathBuf;

use annals_transcript::json::{Value, quote};
use annals_transcript::write::rewrite;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::plan::Plan;
use crate::engine::Engine;
use crate::error::Error;
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
}

impl Receipt {
    /// Returns the receipt of a plan that is about to be carried out.
    pub(super) fn of(file: &TranscriptFile, bytes: &[u8], plan: &Plan) -> Self {
        let after = [bytes, &plan.appended].concat();
        let (length_before, length_after) = (bytes.len() as u64, after.len() as u64);
        let (hash_before, hash_after) = (hash(bytes), hash(&after));
        let now = Timestamp::now();
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
        let state = |length: u64, hash: &str| format!("{{\"length\":{length},\"sha256\":{}}}", quote(hash));
        let json = format!(
            "{{\"session\":{session},\"path\":{path},\"repairedAt\":{},\"before\":{},\"after\":{},\"changes\":[{}]}}\n",
            quote(&format!("{now:.3}")),
            state(length_before, &hash_before),
            state(length_after, &hash_after),
            changes.join(","),
        );
        let name = format!("{}.{}.json", key(file), now.as_millisecond());
        Self { name, json, length_before, length_after, hash_before, hash_after }
    }

    /// Writes the receipt.
    pub(super) fn write(&self, engine: &Engine) -> Result<PathBuf, Error> {
        let folder = engine.home().repairs();
        engine.make_folder(&folder)?;
        let path = folder.join(&self.name);
        rewrite::replace(&**engine.disk(), &path, |out| out.write_all(self.json.as_bytes()))?;
        Ok(path)
    }

    /// Returns the last receipt of a transcript whose old bytes are still the beginning of the file.
    pub(super) fn last_of(engine: &Engine, file: &TranscriptFile, bytes: &[u8]) -> Option<(PathBuf, Self)> {
        let own = format!("{}.", key(file));
        let names = fs::read_dir(engine.home().repairs()).ok()?.flatten().map(|entry| entry.path());
        let mut paths: Vec<PathBuf> = names
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&own)))
            .collect();
        paths.sort();
        paths.into_iter().rev().find_map(|path| {
            let receipt = Self::read(&path).filter(|receipt| receipt.describes(bytes))?;
            Some((path, receipt))
        })
    }

    fn read(path: &PathBuf) -> Option<Self> {
        let json = fs::read_to_string(path).ok()?;
        let value = Value::new(json.as_bytes())?;
        let state = |key: &str| {
            let state = value.get(key)?;
            Some((state.number("length")?, state.text("sha256")?.into_owned()))
        };
        let ((length_before, hash_before), (length_after, hash_after)) = (state("before")?, state("after")?);
        Some(Self {
            name: String::new(),
            json: String::new(),
            length_before,
            length_after,
            hash_before,
            hash_after,
        })
    }

    /// Returns whether a file has been repaired as the receipt says, whatever was appended to it since.
    fn describes(&self, bytes: &[u8]) -> bool {
        let old = usize::try_from(self.length_before).ok().and_then(|length| bytes.get(..length));
        bytes.len() as u64 > self.length_before && old.is_some_and(|old| hash(old) == self.hash_before)
    }

    /// Returns whether nothing was appended since the repair.
    pub(super) fn is_last_change(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.length_after && hash(bytes) == self.hash_after
    }
}

/// Returns the beginning of the names of a transcript's receipts: its session, or a hash of its path.
fn key(file: &TranscriptFile) -> String {
    let path = std::path::absolute(&file.path).unwrap_or_else(|_| file.path.clone());
    let path = &hash(path.to_string_lossy().as_bytes())[..16];
    file.session.as_ref().map_or_else(|| path.to_owned(), |session| format!("{session}.{path}"))
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
