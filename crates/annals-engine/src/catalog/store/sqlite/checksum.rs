//! Checksums of rows. SQLite does not notice a flipped bit in a value; a checksum in the row does.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::{FixedState, FoldHasher};
use rusqlite::types::{FromSqlError, FromSqlResult, ValueRef};

/// A checksum of values, one after the other.
#[derive(Clone)]
pub(super) struct Checksum(FoldHasher);

impl Checksum {
    pub(super) fn new() -> Self {
        Self(FixedState::default().build_hasher())
    }

    pub(super) fn add(&mut self, value: ValueRef<'_>) {
        let hasher = &mut self.0;
        // The type counts: NULL, zero and an empty text are different values.
        hasher.write_u8(value.data_type() as u8);
        match value {
            ValueRef::Null => {}
            ValueRef::Integer(number) => hasher.write_i64(number),
            ValueRef::Real(number) => hasher.write_u64(number.to_bits()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                hasher.write_usize(bytes.len());
                hasher.write(bytes);
            }
        }
    }

    /// Returns the checksum of the values that were added so far.
    pub(super) fn number(&self) -> i64 {
        self.0.finish().cast_signed()
    }

    /// Fails if another checksum was stored.
    pub(super) fn compare(&self, stored: ValueRef<'_>) -> FromSqlResult<()> {
        let stored = stored.as_i64()?;
        if stored == self.number() { Ok(()) } else { Err(FromSqlError::OutOfRange(stored)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_lengths_and_order_count() {
        let of = |values: &[ValueRef<'_>]| {
            let mut checksum = Checksum::new();
            for value in values {
                checksum.add(*value);
            }
            checksum.number()
        };
        let (a, ab, b) = (ValueRef::Text(b"a"), ValueRef::Text(b"ab"), ValueRef::Text(b"b"));
        let different = [
            of(&[]),
            of(&[ValueRef::Null]),
            of(&[ValueRef::Integer(0)]),
            of(&[ValueRef::Text(b"")]),
            of(&[ValueRef::Blob(b"")]),
            of(&[a, b]),
            of(&[b, a]),
            of(&[ab]),
        ];
        for (index, one) in different.iter().enumerate() {
            assert!(!different[..index].contains(one), "{index}");
        }
        assert_eq!(of(&[a, b]), of(&[a, b]));
    }
}
