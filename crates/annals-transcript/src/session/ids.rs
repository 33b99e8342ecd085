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
    texts: Texts,
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
        let hash = hash(self.hasher, packed.bytes());
        let slot = (hash % CACHE_SIZE) as usize;
        if let Some(&Some((cached_hash, id))) = self.cache.get(slot)
            && cached_hash == hash
            && self.texts.get(id) == packed.bytes()
        {
            return id;
        }
        let id = Id::at(self.len());
        self.cache.resize(CACHE_SIZE as usize, None);
        self.cache[slot] = Some((hash, id));
        self.texts.push(packed.bytes());
        id
    }

    /// Makes room for the ids in the rest of a file of which the first `read` bytes of `all` were read.
    pub(super) fn reserve(&mut self, read: u64, all: u64) {
        reserve_for_rest(&mut self.texts.bytes, read, all);
        reserve_for_rest(&mut self.texts.lengths, read, all);
        reserve_for_rest(&mut self.texts.starts, read, all);
    }

    /// Removes all handles of a text but the first one, and numbers the others anew. Returns the new handle of each old one, by its index.
    pub(super) fn unify(&mut self) -> Vec<Id> {
        let mut handles = self.first_handles();
        let mut kept = 0;
        self.texts.retain(|index| {
            let first = handles[index].index();
            // The first one has its new number already.
            handles[index] = if first == index { Id::at(kept) } else { handles[first] };
            kept += usize::from(first == index);
            first == index
        });
        self.cache.clear();
        handles
    }

    /// Returns, for each handle by its index, the first handle with the same text.
    fn first_handles(&self) -> Vec<Id> {
        let hashes = self.texts.iter().map(|text| hash(self.hasher, text));
        let mut by_hash: Vec<(u32, Id)> = Vec::with_capacity(self.len());
        by_hash.extend(hashes.zip((0..).map(Id::at)));
        by_hash.sort_unstable();
        let mut firsts: Vec<Id> = (0..self.len()).map(Id::at).collect();
        let mut different: Vec<Id> = Vec::new();
        for same_hash in by_hash.chunk_by(|one, next| one.0 == next.0).filter(|same| same.len() > 1) {
            different.clear();
            for &(_, id) in same_hash {
                match different.iter().find(|&&first| self.texts.get(first) == self.texts.get(id)) {
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
        self.texts.iter().position(|text| text == packed.bytes()).map(Id::at)
    }

    /// Returns the number of handles.
    pub(super) fn len(&self) -> usize {
        self.texts.lengths.len()
    }

    /// Returns the texts of all ids.
    pub(super) fn texts(&self) -> IdTexts<'_> {
        IdTexts(self)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "half of the bits are enough")]
fn hash(hasher: RandomState, packed: &[u8]) -> u32 {
    hasher.hash_one(packed) as u32
}

/// Texts without gaps. A session has several for each entry, so that an offset for each of them would take a lot of memory: only every
/// sixteenth has one, and each has its length in a byte.
#[derive(Clone, Debug, Default)]
struct Texts {
    /// The bytes of all texts as [`PackedId`] stores them.
    bytes: Vec<u8>,
    /// The length of each text; [`LONG`] if it is in `long`.
    lengths: Vec<u8>,
    /// Where every [`GROUP`]th text starts.
    starts: Vec<u64>,
    /// The indices of long texts with their lengths, in order.
    long: Vec<(usize, usize)>,
}

/// How many texts share an offset.
const GROUP: usize = 16;
/// The length of all texts that are as long as this or longer.
const LONG: u8 = u8::MAX;

impl Texts {
    fn push(&mut self, text: &[u8]) {
        let index = self.lengths.len();
        if index.is_multiple_of(GROUP) {
            self.starts.push(self.bytes.len() as u64);
        }
        let length = u8::try_from(text.len()).unwrap_or(LONG);
        if length == LONG {
            self.long.push((index, text.len()));
        }
        self.lengths.push(length);
        self.bytes.extend_from_slice(text);
    }

    fn get(&self, id: Id) -> &[u8] {
        let index = id.index();
        let first = index / GROUP * GROUP;
        let start = usize::try_from(self.starts[index / GROUP]).expect("an offset in memory");
        let start = start + (first..index).map(|before| self.length(before)).sum::<usize>();
        &self.bytes[start..start + self.length(index)]
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..];
        (0..self.lengths.len()).map(move |index| {
            let (text, behind) = rest.split_at(self.length(index));
            rest = behind;
            text
        })
    }

    fn length(&self, index: usize) -> usize {
        match self.lengths[index] {
            LONG => {
                let found = self.long.binary_search_by_key(&index, |(index, _)| *index);
                self.long[found.expect("it was added with the text")].1
            }
            short => usize::from(short),
        }
    }

    /// Removes the texts for whose indices `is_kept` returns false.
    fn retain(&mut self, mut is_kept: impl FnMut(usize) -> bool) {
        let Self { mut bytes, lengths, long, .. } = std::mem::take(self);
        let mut long = long.into_iter().peekable();
        let (mut start, mut end) = (0, 0);
        let mut kept = Self { lengths: Vec::with_capacity(lengths.len()), ..Self::default() };
        kept.starts.reserve_exact(lengths.len().div_ceil(GROUP));
        for (index, &short) in lengths.iter().enumerate() {
            let length = long.next_if(|long| long.0 == index).map_or(usize::from(short), |long| long.1);
            if is_kept(index) {
                if kept.lengths.len().is_multiple_of(GROUP) {
                    kept.starts.push(end as u64);
                }
                if short == LONG {
                    kept.long.push((kept.lengths.len(), length));
                }
                kept.lengths.push(short);
                bytes.copy_within(start..start + length, end);
                end += length;
            }
            start += length;
        }
        bytes.truncate(end);
        *self = Self { bytes, ..kept };
    }
}

/// The texts of all ids of a session, by handle.
#[derive(Clone, Copy, Debug)]
pub struct IdTexts<'a>(&'a IdInterner);

impl IdTexts<'_> {
    /// Returns the text of an id.
    pub fn get(&self, id: Id) -> String {
        match self.0.texts.get(id) {
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
            &"l".repeat(255),
            &"l".repeat(300),
        ];
        let handles = texts.map(|text| ids.intern(text));
        assert_eq!(handles.map(Id::index), [0, 1, 2, 3, 4, 5, 6, 7]);
        for number in 0..100_000 {
            ids.intern(&format!("id {number}"));
        }
        let again = texts.map(|text| ids.intern(text));
        let unified = ids.unify();
        assert_eq!(handles.map(|id| unified[id.index()]), handles);
        assert_eq!(again.map(|id| unified[id.index()]), handles);
        assert_eq!((unified[100_007].index(), ids.len()), (100_007, 100_008));
        assert_eq!(ids.texts().get(unified[100_007]), "id 99999");
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
