//! Ids as small numbers: each text is kept once.

use std::collections::HashMap;
use std::num::NonZeroU32;

/// A handle of an id within one session. Two handles are equal when the ids are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(NonZeroU32);

impl Id {
    /// Returns the handle as an index from 0.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// All ids of a session. UUIDs, which nearly all are, take 16 bytes each instead of their text.
#[derive(Debug, Default)]
pub(super) struct Ids {
    uuids: HashMap<u128, Id>,
    others: HashMap<Box<str>, Id>,
    /// The entry before is what most entries hang on: its id needs no looking up.
    newest: Option<(u128, Id)>,
}

impl Ids {
    pub(super) fn intern(&mut self, text: &str) -> Id {
        let next =
            Id(NonZeroU32::new(u32::try_from(self.len() + 1).expect("ids fit in memory")).expect("not zero"));
        match uuid(text) {
            Some(uuid) => {
                if let Some((_, id)) = self.newest.filter(|(newest, _)| *newest == uuid) {
                    return id;
                }
                let id = *self.uuids.entry(uuid).or_insert(next);
                if id == next {
                    self.newest = Some((uuid, id));
                }
                id
            }
            None => match self.others.get(text) {
                Some(id) => *id,
                None => *self.others.entry(text.into()).or_insert(next),
            },
        }
    }

    pub(super) fn get(&self, text: &str) -> Option<Id> {
        match uuid(text) {
            Some(uuid) => self.uuids.get(&uuid).copied(),
            None => self.others.get(text).copied(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.uuids.len() + self.others.len()
    }
}

/// The texts of all ids of a session, by handle.
#[derive(Debug)]
pub struct IdTexts<'a>(Vec<IdText<'a>>);

#[derive(Clone, Copy, Debug)]
enum IdText<'a> {
    Uuid(u128),
    Other(&'a str),
}

impl IdTexts<'_> {
    /// Returns the text of an id.
    pub fn get(&self, id: Id) -> String {
        match self.0[id.index()] {
            IdText::Uuid(number) => spell_uuid(number),
            IdText::Other(text) => text.to_owned(),
        }
    }
}

impl Ids {
    /// Turns the table round: from handles to texts.
    pub(super) fn texts(&self) -> IdTexts<'_> {
        let mut texts = vec![IdText::Other(""); self.len()];
        let uuids = self.uuids.iter().map(|(number, id)| (*id, IdText::Uuid(*number)));
        let others = self.others.iter().map(|(text, id)| (*id, IdText::Other(text)));
        uuids.chain(others).for_each(|(id, text)| texts[id.index()] = text);
        IdTexts(texts)
    }
}

fn spell_uuid(number: u128) -> String {
    let hex = format!("{number:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Returns the number that a UUID spells, if it is spelled as the client does: lower case, five groups.
fn uuid(text: &str) -> Option<u128> {
    let bytes = text.as_bytes();
    if bytes.len() != 36 {
        return None;
    }
    let mut number = 0_u128;
    for (place, byte) in bytes.iter().enumerate() {
        let dash = matches!(place, 8 | 13 | 18 | 23);
        match byte {
            b'-' if dash => {}
            b'0'..=b'9' if !dash => number = number << 4 | u128::from(byte - b'0'),
            b'a'..=b'f' if !dash => number = number << 4 | u128::from(byte - b'a' + 10),
            _ => return None,
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_get_equal_handles_and_others_do_not() {
        let mut ids = Ids::default();
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
        assert_eq!(texts.map(|text| ids.intern(text)), handles);
        assert_eq!(texts.map(|text| ids.get(text).unwrap()), handles);
        assert_eq!((ids.get("unknown"), ids.len()), (None, 6));
        assert_eq!(handles.map(|id| ids.texts().get(id)), texts);
    }
}
