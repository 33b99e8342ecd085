//! Whether bytes are UTF-8, 64 bytes at a time.
//!
//! The high bits of the bytes of a block become one mask each. Arithmetic on the masks then tells where characters of several bytes have to
//! continue, without a branch per character: text in any script takes hardly more time than ASCII.

use wide::u8x16;

use crate::json::{BLOCK, bytes_equal, mask_of};

/// Returns whether bytes are UTF-8.
pub fn is_utf8(bytes: &[u8]) -> bool {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut open = UnfinishedCharacter::default();
    for block in blocks {
        let Some(next) = open.after(block) else { return false };
        open = next;
    }
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    // A character that does not end with the bytes would have to continue in the zeros, or after them.
    open.after(&last).is_some_and(|open| open.due == 0)
}

/// What the last bytes of a block demand of the first ones of the next.
#[derive(Clone, Copy, Default)]
struct UnfinishedCharacter {
    /// The bytes that have to continue a character.
    due: u64,
    /// One if the first byte follows E0, ED, F0 or F4, after which not every continuation is allowed.
    after_e0: u64,
    after_ed: u64,
    after_f0: u64,
    after_f4: u64,
}

impl UnfinishedCharacter {
    /// Checks a block; `None` if it is not UTF-8.
    #[inline]
    fn after(self, block: &[u8; BLOCK]) -> Option<Self> {
        // Masks are made of the highest bits of bytes.
        let high = mask_of(block, |lane| lane);
        if high == 0 {
            return (self.due == 0).then(Self::default);
        }
        let second = mask_of(block, twice);
        let (leads, continuing) = (high & second, high & !second);
        let third = mask_of(block, |lane| twice(twice(lane)));
        let fourth = mask_of(block, |lane| twice(twice(twice(lane))));
        let (of_three, of_four) = (leads & third, leads & third & fourth);
        if leads << 1 | of_three << 2 | of_four << 3 | self.due != continuing {
            return None;
        }
        let mut open = Self { due: leads >> 63 | of_three >> 62 | of_four >> 61, ..Self::default() };
        // C0 and C1 would begin characters that one byte is enough for.
        if leads != of_three && mask_of(block, |lane| at_most(lane, 0xC1)) & leads != 0 {
            return None;
        }
        if (of_three | self.after_e0 | self.after_ed) != 0 {
            let (e0, ed) = (bytes_equal(block, 0xE0), bytes_equal(block, 0xED));
            let too_small = (e0 << 1 | self.after_e0) & !third;
            let surrogates = (ed << 1 | self.after_ed) & third;
            if too_small | surrogates != 0 {
                return None;
            }
            (open.after_e0, open.after_ed) = (e0 >> 63, ed >> 63);
        }
        if (of_four | self.after_f0 | self.after_f4) != 0 {
            let (f0, f4) = (bytes_equal(block, 0xF0), bytes_equal(block, 0xF4));
            let too_small = (f0 << 1 | self.after_f0) & !(third | fourth);
            let too_large = (f4 << 1 | self.after_f4) & (third | fourth);
            if too_small | too_large | mask_of(block, |lane| at_least(lane, 0xF5)) != 0 {
                return None;
            }
            (open.after_f0, open.after_f4) = (f0 >> 63, f4 >> 63);
        }
        Some(open)
    }
}

/// Moves each bit one place up. What is moved out of a byte into the next one does not matter: masks are made of the highest bits only.
#[inline]
fn twice(lane: u8x16) -> u8x16 {
    lane + lane
}

#[inline]
fn at_most(lane: u8x16, most: u8) -> u8x16 {
    lane.min(u8x16::splat(most)).simd_eq(lane)
}

#[inline]
fn at_least(lane: u8x16, least: u8) -> u8x16 {
    lane.max(u8x16::splat(least)).simd_eq(lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bytes at which a rule begins or ends.
    const BORDERS: [u8; 20] = [
        0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEF,
        0xF0, 0xF4, 0xF5,
    ];

    #[track_caller]
    fn assert_as_std(bytes: &[u8]) {
        assert_eq!(is_utf8(bytes), str::from_utf8(bytes).is_ok(), "{bytes:x?}");
    }

    #[test]
    fn every_short_sequence_is_accepted_if_it_is_utf8_wherever_it_stands() {
        for number in 0..BORDERS.len().pow(4) {
            let digit = |place: u32| BORDERS[number / BORDERS.len().pow(place) % BORDERS.len()];
            let sequence = [digit(0), digit(1), digit(2), digit(3)];
            assert_as_std(&sequence);
            // At the border of two blocks, and at the end of a block that is the last one.
            let before = 64 - number % 5;
            let text = [&[b'a'; 64][..before], &sequence, &[b'a'; 70][..number % 70]].concat();
            assert_as_std(&text);
            assert_as_std(&text[..text.len().min(64)]);
        }
    }

    #[test]
    fn characters_are_recognised_wherever_they_stand() {
        for before in 0..140 {
            for text in
                ["", "é", "日本", "😀", "😀é日", "\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}"]
            {
                let text = format!("{}{text}{}", "a".repeat(before), "b".repeat(100));
                assert!(is_utf8(text.as_bytes()), "{text}");
                for at in before..before + 24 {
                    let mut bytes = text.clone().into_bytes();
                    bytes.insert(at, 0xE6);
                    assert_as_std(&bytes);
                    bytes.truncate(at + 1);
                    assert_as_std(&bytes);
                }
            }
        }
    }
}
