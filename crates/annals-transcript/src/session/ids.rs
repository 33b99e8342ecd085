//! Interns ids: each is a small number, and its text is stored once.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;

use super::reserve_for_rest;
use crate::small_index::SmallIndex;

/// A handle of an id within one session. Two handles are equal if and only if the ids are; a session that has grown has the same handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(SmallIndex);

impl Id {
    fn at(index: usize) -> Self {
        Self(SmallIndex::new(index))
    }

    /// Returns the handle as an index from 0.
    pub fn index(self) -> usize {
        self.0.index()
    }
}

/// All ids of a session.
///
/// A session may have millions of ids, and a hash table of all of them would miss the processor's caches at every lookup. An
/// entry mostly refers to ids that occurred a few entries before, so a small cache of recent ids finds nearly all of them. An
/// id that it does not find gets a new handle; at the end, [`IdInterner::unify`] gives every id one handle: its number in the
/// order in which ids occur first. So an id has the same handle after its file has grown.
#[derive(Clone, Debug, Default)]
pub(super) struct IdInterner {
    /// The bytes of all texts as [`PackedId`] stores them, without gaps.
    packed: Vec<u8>,
    /// The offset at which each text ends.
    ends: Vec<usize>,
    /// The hash of each text, until `unify` has been called.
    hashes: Vec<u32>,
    /// Recent ids with their hashes, by the lowest bits of the hash.
    cache: Vec<Option<(u32, Id)>>,
    /// A hasher with a random key, so that nobody can construct a transcript in which all ids have the same hash.
    hasher: RandomState,
}

/// The size of the cache; a power of two.
const CACHE_SIZE: u32 = 1024;

impl IdInterner {
    /// Returns a handle for a text: the existing one if it is in the cache, and otherwise a new one.
    pub(super) fn intern(&mut self, text: &str) -> Id {
        let packed = PackedId::of(text);
        let hash = self.hash(packed.bytes());
        let slot = (hash % CACHE_SIZE) as usize;
        if let Some(&Some((cached_hash, id))) = self.cache.get(slot)
            && cached_hash == hash
            && self.packed(id) == packed.bytes()
        {
            return id;
        }
        let id = Id::at(self.len());
        self.cache.resize(CACHE_SIZE as usize, None);
        self.cache[slot] = Some((hash, id));
        self.hashes.push(hash);
        self.packed.extend_from_slice(packed.bytes());
        self.ends.push(self.packed.len());
        id
    }

    /// Makes room for the ids in the rest of a file of which the first `read` bytes of `all` were read.
    pub(super) fn reserve(&mut self, read: u64, all: u64) {
        reserve_for_rest(&mut self.packed, read, all);
        reserve_for_rest(&mut self.ends, read, all);
        reserve_for_rest(&mut self.hashes, read, all);
    }

    /// Prepares for further ids after `unify` has been called.
    pub(super) fn reopen(&mut self) {
        let hash = |index: usize| self.hash(self.packed(Id::at(index)));
        self.hashes = (0..self.len()).map(hash).collect();
    }

    #[expect(clippy::cast_possible_truncation, reason = "half of the bits are enough")]
    fn hash(&self, packed: &[u8]) -> u32 {
        self.hasher.hash_one(packed) as u32
    }

    /// Removes all handles of a text but the first one, and numbers the others anew. Returns the new handle of each old one, by its index.
    pub(super) fn unify(&mut self) -> Vec<Id> {
        let mut handles = self.first_handles();
        let (mut kept, mut end, mut next) = (0, 0, 0);
        for index in 0..handles.len() {
            let text = next..self.ends[index];
            next = text.end;
            let first = handles[index].index();
            if first != index {
                // The first one has its new number already.
                handles[index] = handles[first];
                continue;
            }
            let length = text.len();
            self.packed.copy_within(text, end);
            end += length;
            self.ends[kept] = end;
            handles[index] = Id::at(kept);
            kept += 1;
        }
        self.packed.truncate(end);
        self.ends.truncate(kept);
        self.cache.clear();
        handles
    }

    /// Returns, for each handle by its index, the first handle with the same text.
    fn first_handles(&mut self) -> Vec<Id> {
        let mut firsts: Vec<Id> = (0..self.len()).map(Id::at).collect();
        let hashes = std::mem::take(&mut self.hashes);
        let mut by_hash: Vec<(u32, Id)> = hashes.into_iter().zip(firsts.iter().copied()).collect();
        by_hash.sort_unstable();
        let mut different: Vec<Id> = Vec::new();
        for same_hash in by_hash.chunk_by(|one, next| one.0 == next.0).filter(|same| same.len() > 1) {
            different.clear();
            for &(_, id) in same_hash {
                match different.iter().find(|&&first| self.packed(first) == self.packed(id)) {
                    Some(&first) => firsts[id.index()] = first,
                    None => different.push(id),
                }
            }
        }
        firsts
    }

    /// Returns the first handle of a text, if it was interned.
    pub(super) fn get(&self, text: &str) -> Option<Id> {
        let packed = PackedId::of(text);
        (0..self.len()).map(Id::at).find(|&id| self.packed(id) == packed.bytes())
    }

    /// Returns the number of handles.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the texts of all ids.
    pub(super) fn texts(&self) -> IdTexts<'_> {
        IdTexts(self)
    }

    fn packed(&self, id: Id) -> &[u8] {
        let start = id.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.packed[start..self.ends[id.index()]]
    }
}

/// The texts of all ids of a session, by handle.
#[derive(Clone, Copy, Debug)]
pub struct IdTexts<'a>(&'a IdInterner);

impl IdTexts<'_> {
    /// Returns the text of an id.
    pub fn get(&self, id: Id) -> String {
        match self.0.packed(id) {
            [UUID, uuid @ ..] => spell_uuid(uuid),
            text => String::from_utf8_lossy(text).into_owned(),
        }
    }
}

/// The stored form of a text. A UUID, as nearly all ids are, takes 16 bytes after a marker byte that no text begins with.
enum PackedId<'a> {
    Uuid([u8; 17]),
    Other(&'a str),
}

/// The marker byte: it never occurs in UTF-8.
const UUID: u8 = 0xFF;

impl<'a> PackedId<'a> {
    /// Packs a text. Only UUIDs in the spelling of Claude Code (lower case, five groups) are packed as such, so that the
    /// spelling of others is not lost.
    fn of(text: &'a str) -> Self {
        uuid(text.as_bytes()).map_or(PackedId::Other(text), PackedId::Uuid)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            PackedId::Uuid(bytes) => bytes,
            PackedId::Other(text) => text.as_bytes(),
        }
    }
}

fn uuid(text: &[u8]) -> Option<[u8; 17]> {
    let text: &[u8; 36] = text.try_into().ok()?;
    let mut packed = [UUID; 17];
    let mut digits = 0;
    for (byte, at) in packed[1..].iter_mut().zip(DIGITS) {
        let (high, low) = (DIGIT[text[at] as usize], DIGIT[text[at + 1] as usize]);
        digits |= high | low;
        *byte = high << 4 | low;
    }
    (digits < 16 && DASHES.iter().all(|&at| text[at] == b'-')).then_some(packed)
}

fn spell_uuid(bytes: &[u8]) -> String {
    let number = bytes.iter().fold(0_u128, |number, &byte| number << 8 | u128::from(byte));
    let hex = format!("{number:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The offsets of the pairs of digits and of the dashes in a UUID.
const DIGITS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const DASHES: [usize; 4] = [8, 13, 18, 23];

/// The value of each byte as a lower-case hexadecimal digit; 16 for other bytes.
const DIGIT: [u8; 256] = {
    let mut worth = [16; 256];
    let mut digit = 0;
    while digit < 16 {
        worth[b"0123456789abcdef"[digit as usize] as usize] = digit;
        digit += 1;
    }
    worth
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_get_equal_handles_and_others_do_not() {
        let mut ids = IdInterner::default();
        let texts = [
            "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55",
            "3E11A6B4-93C1-4D41-9F0C-2A6F0F9F7A55",
            "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a56",
            "3e11a6b493c1-4d41-9f0c-2a6f0f9f7a55-",
            "u1",
            "",
        ];
        let handles = texts.map(|text| ids.intern(text));
        assert_eq!(handles.map(Id::index), [0, 1, 2, 3, 4, 5]);
        for number in 0..100_000 {
            ids.intern(&format!("id {number}"));
        }
        let again = texts.map(|text| ids.intern(text));
        let unified = ids.unify();
        assert_eq!(handles.map(|id| unified[id.index()]), handles);
        assert_eq!(again.map(|id| unified[id.index()]), handles);
        assert_eq!((unified[100_005].index(), ids.len()), (100_005, 100_006));
        assert_eq!(ids.texts().get(unified[100_005]), "id 99999");
        assert_eq!(texts.map(|text| ids.get(text).unwrap()), handles);
        assert_eq!(ids.get("unknown"), None);
        assert_eq!(handles.map(|id| ids.texts().get(id)), texts);
    }

    /// The cache of one interner may have a text that that of another one has lost.
    #[test]
    fn handles_are_numbered_in_the_order_of_their_texts() {
        let numbers = || (0..5000).map(|number| number * number % 2500);
        let mut expected: Vec<i32> = Vec::new();
        numbers().for_each(|number| {
            if !expected.contains(&number) {
                expected.push(number);
            }
        });
        for length in [10, 3000, 5000] {
            let mut ids = IdInterner::default();
            let handles: Vec<Id> =
                numbers().take(length).map(|number| ids.intern(&number.to_string())).collect();
            let unified = ids.unify();
            for (number, handle) in numbers().zip(handles) {
                let handle = unified[handle.index()];
                assert_eq!(ids.texts().get(handle), number.to_string());
                assert_eq!(expected[handle.index()], number);
            }
        }
    }
}
