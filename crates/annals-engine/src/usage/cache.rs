//! The ledger of the last count, in a file of its own: a cache, which saves the next count from merging again what has not changed.
//!
//! What follows the ledger in the file says what it was made of: a revision of the store, the config folders, the rules, and a checksum. A
//! file that does not fit is not used, and replaced.

use std::hash::BuildHasher;
use std::io::{self, Read};

use annals_transcript::write::rewrite;
use annals_usage::{Ledger, stable_hash};
use foldhash::fast::FixedState;

use super::store::{RULES, Revision};
use crate::engine::Engine;
use crate::error::Error;
use crate::files::open_regular;

/// A ledger, and the revision of the store that it was made of.
#[derive(Debug)]
pub(super) struct CachedLedger {
    pub(super) ledger: Ledger,
    pub(super) revision: Revision,
}

/// The numbers after the ledger: generation and number of the revision, the config folders, the rules, the format, and the checksum.
const NUMBERS: usize = 6;

/// Reads the ledger of the last count; `None` if there is none that can be used.
pub(super) fn read(engine: &Engine) -> Option<CachedLedger> {
    let mut file = open_regular(&engine.home().usage_ledger()).ok()?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.metadata().ok()?.len()).ok()?);
    file.read_to_end(&mut bytes).ok()?;
    let (rest, numbers) = bytes.split_last_chunk::<{ 8 * NUMBERS }>()?;
    let (numbers, _) = numbers.as_chunks::<8>();
    let [generation, number, folders, rules, format, checksum] =
        <[_; NUMBERS]>::try_from(numbers).ok()?.map(u64::from_le_bytes);
    let ledger_length = rest.len();
    let is_usable =
        [folders, rules, format] == made_by(engine) && checksum == checksum_of(&bytes[..bytes.len() - 8]);
    if !is_usable {
        return None;
    }
    bytes.truncate(ledger_length);
    let revision = Revision { generation: generation.cast_signed(), number: number.cast_signed() };
    Some(CachedLedger { ledger: Ledger::decode(bytes)?, revision })
}

/// Replaces the ledger of the last count.
pub(super) fn write(engine: &Engine, ledger: &Ledger, revision: Revision) -> Result<(), Error> {
    let mut bytes = ledger.encode();
    let [folders, rules, format] = made_by(engine);
    let Revision { generation, number } = revision;
    for number in [generation.cast_unsigned(), number.cast_unsigned(), folders, rules, format] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&checksum_of(&bytes).to_le_bytes());
    Ok(rewrite::replace(&**engine.disk(), &engine.home().usage_ledger(), |out| out.write_all(&bytes))?)
}

/// Removes the ledger of the last count.
pub(super) fn remove(engine: &Engine) -> Result<(), Error> {
    let path = engine.home().usage_ledger();
    match engine.disk().remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::read(&path, error)),
        _ => Ok(()),
    }
}

/// Returns what the revision does not say about how a ledger was made: the config folders, the rules for lines, and those of the ledger.
fn made_by(engine: &Engine) -> [u64; 3] {
    let folders: Vec<_> = engine.roots().named().map(|folder| folder.to_string_lossy()).collect();
    let folders: Vec<_> = folders.iter().map(|folder| &**folder).collect();
    [stable_hash(&folders), RULES.cast_unsigned(), Ledger::FORMAT]
}

fn checksum_of(bytes: &[u8]) -> u64 {
    FixedState::default().hash_one(bytes)
}
